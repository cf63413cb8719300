/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stages of one size, each with the sum of itself and the one before it: what a crash has torn is none. */
#include <sys/file.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "core/store.h"
#include "fcgi/upload/s3_ahead.h"

enum {
	NAME = 80,		/* as of upload_parts.file */
	ROWS = 64,		/* parts asked for at once */
	MOST = 256 << 20,	/* bytes behind which the client is to get its answer */
};

struct stage {
	SHA256_CTX state;
	char file[NAME];
	unsigned char sum[32];
};

static int
open_stages(struct arena *mem, struct uuid upload_id, int64_t attempt, int flags)
{
	return open(arena_printf(mem, "%s/%" PRId64 ".ahead", store_incoming(mem, upload_id), attempt),
	    flags | O_CLOEXEC, 0600);
}

/* NULL: that of none, which the first one follows. */
static void
sum_up(const struct stage *r, const struct stage *before, unsigned char sum[32])
{
	SHA256_CTX all;

	hash_begin(&all);
	if (before != NULL)
		hash_add(&all, before->sum, sizeof(before->sum));
	hash_add(&all, r, offsetof(struct stage, sum));
	hash_end(&all, sum);
}

/* The stage of that number, from 1 on, if it is one. */
static bool
read_stage(int fd, int64_t number, const struct stage *before, struct stage *r)
{
	unsigned char sum[32];

	if (pread(fd, r, sizeof(*r), (number - 1) * (int64_t)sizeof(*r)) != (ssize_t)sizeof(*r))
		return false;
	sum_up(r, before, sum);
	return memcmp(sum, r->sum, sizeof(sum)) == 0 && memchr(r->file, '\0', NAME) != NULL;
}

static bool
write_stage(int fd, int64_t number, const struct stage *before, struct stage *r, const char *file)
{
	memset(r->file, 0, NAME);
	if (strlen(file) >= NAME)
		return false;
	memcpy(r->file, file, strlen(file));
	sum_up(r, before, r->sum);
	return pwrite(fd, r, sizeof(*r), (number - 1) * (int64_t)sizeof(*r)) == (ssize_t)sizeof(*r);
}

/* The last good one, before the part that has just come, which may stand for another; 0: none. */
static int64_t
find_last(int fd, int64_t number, struct stage *last)
{
	const int64_t end = lseek(fd, 0, SEEK_END) / (int64_t)sizeof(*last), n = end < number ? end : number - 1;
	struct stage before;

	if (n > 1 && pread(fd, &before, sizeof(before), (n - 2) * (int64_t)sizeof(before)) != (ssize_t)sizeof(before))
		return 0;
	return n > 0 && read_stage(fd, n, n > 1 ? &before : NULL, last) ? n : 0;
}

static struct s3_part *
parts_behind(struct s3 *s, int64_t number, size_t *n)
{
	struct s3_part *part;

	*n = 0;
	if (!s3_take_link(s))
		return NULL;
	part = s3_parts_of(s, number, ROWS, n);
	s3_give_link(s);
	return part;
}

static void
follow(struct s3 *s, int fd, int64_t attempt, int64_t last, struct stage *before)
{
	struct s3_file f = { .in = s->c->in, .mem = s->c->mem, .seat = &s->seat, .attempt = attempt };
	struct stage r = *before;
	const struct s3_part *part;
	int64_t bytes = 0;
	size_t n, i;

	do {
		part = parts_behind(s, last, &n);
		for (i = 0; i < n && part[i].number == last + 1 && bytes < MOST && s->seat.ended == ERR_NONE; i++) {
			if (!s3_file_hash(&f, s->c->upload_id, &part[i], &r.state) ||
			    !write_stage(fd, last + 1, last > 0 ? before : NULL, &r, part[i].file))
				return;
			*before = r;
			bytes += part[i].size;
			last++;
		}
	} while (n > 0 && i > 0 && bytes < MOST && s->seat.ended == ERR_NONE);
}

void
s3_ahead_go_on(struct s3 *s, int64_t attempt, int64_t number)
{
	int fd = open_stages(s->c->mem, s->c->upload_id, attempt, O_RDWR | (number == 1 ? O_CREAT : 0));
	struct stage last = { .file = "" };
	int64_t n;

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		n = find_last(fd, number, &last);
		if (n == 0)
			hash_begin(&last.state);
		if (ftruncate(fd, n * (int64_t)sizeof(last)) == 0)
			follow(s, fd, attempt, n, &last);
	}
	close(fd);
}

size_t
s3_ahead_find(struct arena *mem, struct uuid upload_id, int64_t attempt, const struct s3_part *const *part, size_t n,
    SHA256_CTX *state)
{
	int fd = open_stages(mem, upload_id, attempt, O_RDONLY);
	struct stage r[2];
	size_t i = 0;

	hash_begin(state);
	while (fd >= 0 && i < n && read_stage(fd, (int64_t)i + 1, i > 0 ? &r[(i - 1) % 2] : NULL, &r[i % 2]) &&
	    strcmp(r[i % 2].file, part[i]->file) == 0)
		*state = r[i++ % 2].state;
	if (fd >= 0)
		close(fd);
	return i;
}
