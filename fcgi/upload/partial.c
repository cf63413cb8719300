/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes on their way in, and how far they are safe.  The state of their hash is written down with that, and goes on
 * where the file has not changed since.  Else something was killed, and what is there is read again: then it is known
 * to be there.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store.h"
#include "fcgi/upload/partial.h"

enum {
	WRITE_BACK = 8 << 20,	/* bytes after which the kernel is told to write, so that syncs are short */
	/* A sync comes with both behind the last one: so a fast transfer has none, and a crash costs little. */
	SYNC_BYTES = 16 << 20,
	SYNC_MS = 10000,
	PIECE = 65536,
};

#define SYNCED ".synced"

/* Behind the line that says how far, and the hash there. */
struct state {
	int64_t offset;
	struct timespec changed;	/* the file, when it was synced */
	SHA256_CTX hash;
	unsigned char sum[32];		/* of all this */
};

/* Of all bytes so far; more may follow. */
static void
hash_now(const struct partial *p, unsigned char sha256[32])
{
	SHA256_CTX copy = p->hash;

	hash_end(&copy, sha256);
}

static void
sum_up(const struct state *s, unsigned char sum[32])
{
	SHA256_CTX all;

	hash_begin(&all);
	hash_add(&all, s, offsetof(struct state, sum));
	hash_end(&all, sum);
}

static void
begin(struct partial *p, struct arena *mem, struct uuid upload_id, int64_t attempt)
{
	*p = (struct partial){ .fd = -1, .mem = mem, .dir = store_incoming(mem, upload_id), .synced_at = clock_ms(),
	    .mark = -1 };
	p->path = arena_printf(mem, "%s/%" PRId64, p->dir, attempt);
	p->synced_path = arena_printf(mem, "%s" SYNCED, p->path);
	p->fresh_path = arena_printf(mem, "%s" SYNCED ".new", p->path);
	hash_begin(&p->hash);
}

/* The number in front of a name in the directory; -1: it is no file of ours. */
static int64_t
attempt_of(const char *name)
{
	char digits[24];
	size_t n = strspn(name, "0123456789");
	int64_t attempt;

	if (n == 0 || n >= sizeof(digits))
		return -1;
	snprintf(digits, sizeof(digits), "%.*s", (int)n, name);
	return int_parse(digits, &attempt) ? attempt : -1;
}

/*
 * What attempts before that one left behind; one that still runs writes on into nothing and fails at its end.  A later
 * one may be here already, if we were held up: its file is the one that counts.
 */
static void
delete_before(const char *path, int64_t attempt)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int64_t n;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if ((n = attempt_of(e->d_name)) >= 0 && n < attempt)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		closedir(dir);
}

void
partial_forget(struct arena *mem, struct uuid upload_id, int64_t attempt)
{
	const char *dir = store_incoming(mem, upload_id);

	delete_before(dir, attempt);
	rmdir(dir);
}

/* An earlier attempt that ends takes the directory with it when it is empty: then once more. */
static bool
make_file(struct partial *p)
{
	int tries;

	for (tries = 0; tries < 3 && p->fd < 0; tries++) {
		if (mkdir(p->dir, 0700) != 0 && errno != EEXIST)
			return false;
		p->fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (p->fd < 0 && errno != ENOENT)
			return false;
	}
	return p->fd >= 0 && flock(p->fd, LOCK_EX | LOCK_NB) == 0;
}

bool
partial_new(struct partial *p, struct arena *mem, struct uuid upload_id, int64_t attempt)
{
	begin(p, mem, upload_id, attempt);
	delete_before(p->dir, attempt);
	return make_file(p);
}

/* Said now rather than after hours; a file system that cannot reserve is checked as the bytes come. */
bool
partial_reserve(struct partial *p, int64_t size)
{
	p->reserved = fallocate(p->fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0;
	return p->reserved || (errno != ENOSPC && errno != EDQUOT);
}

/* The latest attempt before `attempt` that has left a file of that ending; -1: none. */
static int64_t
latest_before(const struct partial *p, int64_t attempt, const char *ending)
{
	DIR *dir = opendir(p->dir);
	struct dirent *e;
	int64_t n, latest = -1;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		n = attempt_of(e->d_name);
		if (n > latest && n < attempt && strcmp(e->d_name + strspn(e->d_name, "0123456789"), ending) == 0)
			latest = n;
	}
	if (dir != NULL)
		closedir(dir);
	return latest;
}

/* What was said at a sync.  0: nothing can be read there.  What is torn of the state shows in its sum. */
static int64_t
read_synced(const struct partial *p, int64_t attempt, char hex[65], struct state *s)
{
	FILE *f = fopen(arena_printf(p->mem, "%s/%" PRId64 SYNCED, p->dir, attempt), "re");
	int64_t offset = 0;

	if (f != NULL && fscanf(f, "%" SCNd64 " %64s", &offset, hex) != 2)
		offset = 0;
	if (f != NULL && (fgetc(f) != '\n' || fread(s, sizeof(*s), 1, f) != 1))
		memset(s, 0, sizeof(*s));
	if (f != NULL)
		fclose(f);
	return offset;
}

/* Goes on with the hash that was written down.  False: the file is not what it was then. */
static bool
hash_on(struct partial *p, int64_t n, const struct state *s)
{
	unsigned char sum[32];
	struct stat st;

	sum_up(s, sum);
	if (memcmp(sum, s->sum, sizeof(sum)) != 0 || s->offset != n || fstat(p->fd, &st) != 0 || st.st_size < n ||
	    st.st_mtim.tv_sec != s->changed.tv_sec || st.st_mtim.tv_nsec != s->changed.tv_nsec)
		return false;
	p->hash = s->hash;
	return true;
}

/* Takes the first `n` bytes of the file into the hash.  False: they are not there, or not those. */
static bool
hash_again(struct partial *p, int64_t n, const char *hex)
{
	char *piece = arena_raw(p->mem, PIECE);
	unsigned char sha256[32];
	int64_t at = 0;
	ssize_t got = 1;

	while (at < n && got > 0) {
		got = pread(p->fd, piece, n - at < PIECE ? (size_t)(n - at) : PIECE, at);
		if (got > 0)
			hash_add(&p->hash, piece, (size_t)got);
		at += got > 0 ? got : 0;
	}
	hash_now(p, sha256);
	return at == n && strcmp(hex_encode(p->mem, sha256, sizeof(sha256)), hex) == 0;
}

/* Bytes behind the last sync, or with another hash, count for nothing. */
static bool
take_over(struct partial *p, int64_t attempt, int64_t latest)
{
	int64_t said = latest_before(p, attempt, SYNCED), offset;
	struct state s = { .offset = 0 };
	char hex[65] = "";

	p->fd = open(arena_printf(p->mem, "%s/%" PRId64, p->dir, latest), O_RDWR | O_CLOEXEC);
	if (p->fd < 0 || flock(p->fd, LOCK_EX | LOCK_NB) != 0)
		return false;
	offset = said >= 0 ? read_synced(p, said, hex, &s) : 0;
	if (offset > 0 && (hash_on(p, offset, &s) || hash_again(p, offset, hex)))
		p->offset = p->synced = offset;
	else
		hash_begin(&p->hash);
	return ftruncate(p->fd, p->offset) == 0 && lseek(p->fd, p->offset, SEEK_SET) == p->offset &&
	    rename(arena_printf(p->mem, "%s/%" PRId64, p->dir, latest), p->path) == 0 &&
	    (p->offset == 0 || rename(arena_printf(p->mem, "%s/%" PRId64 SYNCED, p->dir, said), p->synced_path) == 0);
}

bool
partial_resume(struct partial *p, struct arena *mem, struct uuid upload_id, int64_t attempt)
{
	int64_t latest;

	begin(p, mem, upload_id, attempt);
	latest = latest_before(p, attempt, "");
	if (latest < 0 ? !make_file(p) : !take_over(p, attempt, latest))
		return false;
	delete_before(p->dir, attempt);
	return true;
}

/* What read_synced() reads; its length. */
static size_t
write_down(const struct partial *p, const struct stat *st, char *word)
{
	struct state s = { .offset = p->offset, .changed = st->st_mtim, .hash = p->hash };
	unsigned char sha256[32];
	int n, i;

	hash_now(p, sha256);
	n = sprintf(word, "%" PRId64 " ", p->offset);
	for (i = 0; i < 32; i++)
		n += sprintf(word + n, "%02x", sha256[i]);
	word[n++] = '\n';
	sum_up(&s, s.sum);
	memcpy(word + n, &s, sizeof(s));
	return (size_t)n + sizeof(s);
}

/* First the bytes, then the word that they are there. */
static bool
sync_now(struct partial *p)
{
	char word[100 + sizeof(struct state)];
	struct stat st;
	size_t n;
	int fd;
	bool fine;

	p->spoiled |= fdatasync(p->fd) != 0;
	if (p->spoiled || fstat(p->fd, &st) != 0)
		return false;
	n = write_down(p, &st, word);
	fd = open(p->fresh_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = write(fd, word, n) == (ssize_t)n && fdatasync(fd) == 0;
	close(fd);
	p->synced_at = clock_ms();
	if (!fine || rename(p->fresh_path, p->synced_path) != 0)
		return false;
	p->synced = p->offset;
	return true;
}

void
partial_mark(struct partial *p)
{
	p->marked = p->hash;
	p->mark = p->offset;
}

/* First the word that less is there: what is behind it counts for nothing then. */
bool
partial_rewind(struct partial *p)
{
	if (p->spoiled || p->mark < 0)
		return false;
	p->hash = p->marked;
	p->offset = p->mark;
	return sync_now(p) && ftruncate(p->fd, p->offset) == 0 && lseek(p->fd, p->offset, SEEK_SET) == p->offset;
}

bool
partial_write(struct partial *p, const void *bytes, size_t n)
{
	int64_t before = p->offset / WRITE_BACK;
	const char *at = bytes, *end = at + n;
	ssize_t done;

	while (at < end) {
		done = write(p->fd, at, (size_t)(end - at));
		if (done < 0 && errno != EINTR)
			return false;
		at += done > 0 ? done : 0;
	}
	hash_add(&p->hash, bytes, n);
	p->offset += (int64_t)n;
	if (p->offset / WRITE_BACK != before)
		sync_file_range(p->fd, before * WRITE_BACK, WRITE_BACK, SYNC_FILE_RANGE_WRITE);
	return p->offset - p->synced < SYNC_BYTES || clock_ms() - p->synced_at < SYNC_MS || sync_now(p);
}

bool
partial_finish(struct partial *p, unsigned char sha256[32])
{
	hash_now(p, sha256);
	p->spoiled |= fsync(p->fd) != 0;
	return !p->spoiled;
}

static void
end(struct partial *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

void
partial_close(struct partial *p)
{
	end(p);
	p->path = NULL;
}

/* What was written down at the last sync: no room was left to write down more. */
static bool
fall_back(struct partial *p)
{
	unlink(p->fresh_path);
	p->offset = p->synced;
	return p->synced > 0 && p->fd >= 0 && ftruncate(p->fd, p->synced) == 0;
}

/* Room that was reserved for what has not come goes back. */
bool
partial_keep(struct partial *p)
{
	bool fine = p->fd >= 0 && !p->given && !p->spoiled && ftruncate(p->fd, p->offset) == 0 && sync_now(p);

	fine = fine || (!p->given && fall_back(p));
	end(p);
	return fine;
}

void
partial_drop(struct partial *p)
{
	end(p);
	unlink(p->path);
	unlink(p->synced_path);
	unlink(p->fresh_path);
	rmdir(p->dir);
}

/* By its name, once more, as soon as it is ours: it may have got another one in between. */
int
partial_hold(struct arena *mem, struct uuid upload_id, int64_t attempt)
{
	const char *path = arena_printf(mem, "%s/%" PRId64, store_incoming(mem, upload_id), attempt);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && access(path, R_OK) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool
is_locked(int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	const bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

bool
partial_is_locked(struct arena *mem, struct uuid upload_id)
{
	DIR *dir = opendir(store_incoming(mem, upload_id));
	struct dirent *e;
	bool locked = false;

	while (dir != NULL && !locked && (e = readdir(dir)) != NULL)
		locked = attempt_of(e->d_name) >= 0 && is_locked(dirfd(dir), e->d_name);
	if (dir != NULL)
		closedir(dir);
	return locked;
}

int64_t
partial_held(struct arena *mem, struct uuid upload_id)
{
	DIR *dir = opendir(store_incoming(mem, upload_id));
	struct dirent *e;
	struct stat st;
	int64_t held = 0;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (attempt_of(e->d_name) >= 0 && fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			held += (int64_t)st.st_blocks * 512;
	if (dir != NULL)
		closedir(dir);
	return held;
}
