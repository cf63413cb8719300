/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes on their way in, and how far they are safe.  The hash of what is there is worked out again when it is taken
 * over, at 2 GB/s: OpenSSL 3.0 cannot write down the state of one, and what was read again is known to be there.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static void
hash_begin(struct partial *p)
{
	if (p->hash == NULL)
		p->hash = EVP_MD_CTX_new();
	if (p->hash == NULL || !EVP_DigestInit_ex(p->hash, EVP_sha256(), NULL))
		abort();
}

/* Of all bytes so far; more may follow. */
static void
hash_now(const struct partial *p, unsigned char sha256[32])
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();

	if (copy == NULL || !EVP_MD_CTX_copy_ex(copy, p->hash) || !EVP_DigestFinal_ex(copy, sha256, NULL))
		abort();
	EVP_MD_CTX_free(copy);
}

static void
begin(struct partial *p, struct arena *mem, struct uuid upload_id, int64_t attempt)
{
	*p = (struct partial){ .fd = -1, .mem = mem, .dir = store_incoming(mem, upload_id), .synced_at = clock_ms() };
	p->path = arena_printf(mem, "%s/%" PRId64, p->dir, attempt);
	p->synced_path = arena_printf(mem, "%s" SYNCED, p->path);
	p->fresh_path = arena_printf(mem, "%s" SYNCED ".new", p->path);
	hash_begin(p);
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

/* What was said at a sync.  0: nothing can be read there. */
static int64_t
read_synced(const struct partial *p, int64_t attempt, char hex[65])
{
	FILE *f = fopen(arena_printf(p->mem, "%s/%" PRId64 SYNCED, p->dir, attempt), "re");
	int64_t offset = 0;

	if (f != NULL && fscanf(f, "%" SCNd64 " %64s", &offset, hex) != 2)
		offset = 0;
	if (f != NULL)
		fclose(f);
	return offset;
}

/* Takes the first `n` bytes of the file into the hash.  False: they are not there. */
static bool
hash_again(struct partial *p, int64_t n)
{
	char *piece = arena_raw(p->mem, PIECE);
	int64_t at = 0;
	ssize_t got = 1;

	while (at < n && got > 0) {
		got = pread(p->fd, piece, n - at < PIECE ? (size_t)(n - at) : PIECE, at);
		if (got > 0)
			EVP_DigestUpdate(p->hash, piece, (size_t)got);
		at += got > 0 ? got : 0;
	}
	return at == n;
}

/* Bytes behind the last sync, or with another hash, count for nothing. */
static bool
take_over(struct partial *p, int64_t attempt, int64_t latest)
{
	int64_t said = latest_before(p, attempt, SYNCED), offset;
	unsigned char sha256[32];
	char hex[65] = "";

	p->fd = open(arena_printf(p->mem, "%s/%" PRId64, p->dir, latest), O_RDWR | O_CLOEXEC);
	if (p->fd < 0 || flock(p->fd, LOCK_EX | LOCK_NB) != 0)
		return false;
	offset = said >= 0 ? read_synced(p, said, hex) : 0;
	if (offset > 0 && hash_again(p, offset)) {
		hash_now(p, sha256);
		if (strcmp(hex_encode(p->mem, sha256, sizeof(sha256)), hex) == 0)
			p->offset = p->synced = offset;
	}
	if (p->offset == 0)
		hash_begin(p);
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

/* First the bytes, then the word that they are there. */
static bool
sync_now(struct partial *p)
{
	unsigned char sha256[32];
	char line[100];
	int fd, n, i;
	bool fine;

	p->spoiled |= fdatasync(p->fd) != 0;
	if (p->spoiled)
		return false;
	hash_now(p, sha256);
	n = snprintf(line, sizeof(line), "%" PRId64 " ", p->offset);
	for (i = 0; i < 32; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%02x", sha256[i]);
	fd = open(p->fresh_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = write(fd, line, (size_t)n) == n && fdatasync(fd) == 0;
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
	if (p->marked == NULL)
		p->marked = EVP_MD_CTX_new();
	if (p->marked == NULL || !EVP_MD_CTX_copy_ex(p->marked, p->hash))
		abort();
	p->mark = p->offset;
}

/* First the word that less is there: what is behind it counts for nothing then. */
bool
partial_rewind(struct partial *p)
{
	if (p->spoiled || p->marked == NULL || !EVP_MD_CTX_copy_ex(p->hash, p->marked))
		return false;
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
	EVP_DigestUpdate(p->hash, bytes, n);
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
	EVP_MD_CTX_free(p->hash);
	EVP_MD_CTX_free(p->marked);
	p->hash = p->marked = NULL;
}

void
partial_close(struct partial *p)
{
	end(p);
	p->path = NULL;
}

/* Room that was reserved for what has not come goes back. */
bool
partial_keep(struct partial *p)
{
	bool fine = p->fd >= 0 && !p->spoiled && ftruncate(p->fd, p->offset) == 0 && sync_now(p);

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
