/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing parts, and joining them. */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/log.h"
#include "core/store.h"
#include "fcgi/upload/s3_ahead.h"
#include "fcgi/upload/s3_part.h"

enum {
	LOOK = 8 << 20,		/* bytes between two looks at the room on the disk, */
	PIECE = 1 << 20,	/* and in one go through a part */
	TICK_MS = 2000, TICK_SHARE = 10,	/* between signs of life on the row, as of a PUT */
	MIN_RATE = 1024, WINDOW_MS = 60000,	/* bytes per second over so long, or the client is given up */
};

static const char *
path_of(struct arena *mem, struct uuid upload_id, const char *name)
{
	return arena_printf(mem, "%s/%s", store_incoming(mem, upload_id), name);
}

static enum s3_error
by_errno(const char *what)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return S3_NO_SPACE;
	log_text(LOG_LEVEL_ERROR, "upload", "%s: %m", what);
	return S3_INTERNAL;
}

bool
s3_file_new(struct s3_file *f, struct uuid upload_id, const char *name)
{
	f->name = name;
	f->path = path_of(f->mem, upload_id, name);
	f->fd = -1;
	if (mkdir(store_incoming(f->mem, upload_id), 0700) != 0 && errno != EEXIST)
		return false;
	f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return f->fd >= 0;
}

static enum s3_error
take_piece(struct s3_file *f, const void *bytes, size_t n, int64_t received)
{
	bool fine;

	if (received > f->limit)
		return S3_TOO_LARGE;
	if (received / LOOK != (received - (int64_t)n) / LOOK && store_incoming_free() == 0)
		return S3_NO_SPACE;
	room_turn(f->in->room, f->seat, TURN_WRITE);
	fine = disk_write(f->fd, bytes, n);
	room_turn_over(f->in->room, f->seat, TURN_WRITE, (int64_t)n);
	atomic_store(&f->seat->received, received);
	return fine ? S3_FINE : by_errno("cannot write a part");
}

/*
 * Says on the row that bytes come, if the database has a moment: its life counts from the last of them.  Those of a
 * part are added when all of it is here.
 */
static enum s3_error
tick(struct s3_file *f, int64_t received, int64_t *next)
{
	struct db *db = links_try(f->in->links);
	int64_t n;

	*next = clock_ms() + TICK_MS + TICK_SHARE * room_taken(f->in->room);
	if (db == NULL)
		return S3_FINE;
	n = db_run(db, "UPDATE uploads SET received_bytes = IF(multipart_attempt = attempt, received_bytes, ?), "
	    "expires_at = " SQL_NOW " + ?, version = version + 1, updated_at = " SQL_NOW " WHERE id = ? AND attempt = ? AND status = "
	    "'uploading'", ARGS(INT(received), INT(f->in->conf->upload_lifetime * 1000), ID(f->seat->upload_id),
	    INT(f->attempt)));
	links_give(f->in->links, db);
	return n == 0 ? S3_NO_SUCH_UPLOAD : S3_FINE;
}

static enum s3_error
ended_early(const struct s3_file *f, const struct s3_body *b)
{
	if (b->error != S3_FINE)
		return b->error;
	if (f->seat->ended == ERR_UPLOAD_SUPERSEDED)
		return f->is_whole ? S3_CONFLICT : S3_NO_SUCH_UPLOAD;
	return f->seat->ended != ERR_NONE ? S3_SLOW_DOWN : S3_INCOMPLETE;
}

static enum s3_error
sync_file(struct s3_file *f, int64_t bytes)
{
	bool fine;

	room_turn(f->in->room, f->seat, TURN_SYNC);
	fine = fsync(f->fd) == 0;
	room_turn_over(f->in->room, f->seat, TURN_SYNC, bytes);
	return fine ? S3_FINE : by_errno("cannot sync a part");
}

enum s3_error
s3_file_take(struct s3_file *f, struct s3_body *b)
{
	enum s3_error error = S3_FINE;
	SHA256_CTX hash;
	int64_t waited = 0, from = 0, start, next = clock_ms() + TICK_MS;
	const void *bytes;
	int n = 0;

	s3_ahead_begin(&hash);
	while (error == S3_FINE) {
		start = clock_ms();
		if ((n = s3_body_read(b, f->seat, &bytes)) <= 0)
			break;
		waited += clock_ms() - start;
		if (f->is_whole)
			s3_ahead_add(&hash, bytes, (size_t)n);
		error = take_piece(f, bytes, (size_t)n, b->received);
		if (error == S3_FINE && clock_ms() >= next)
			error = tick(f, b->received, &next);
		if (waited >= WINDOW_MS) {
			if (b->received - from < waited * MIN_RATE / 1000)
				error = S3_INCOMPLETE;
			waited = 0;
			from = b->received;
		}
	}
	s3_ahead_end(&hash, f->sha256);
	if (error == S3_FINE && n < 0)
		error = ended_early(f, b);
	if (error == S3_FINE)
		error = s3_body_check(b);
	return error != S3_FINE ? error : sync_file(f, b->received);
}

static bool
hash_part(struct s3_file *f, SHA256_CTX *hash, int fd, int64_t size)
{
	char *piece = malloc(PIECE);
	int64_t at = 0;
	ssize_t n = 1;

	if (piece == NULL)
		abort();
	while (at < size && n > 0) {
		room_turn(f->in->room, f->seat, TURN_WRITE);
		n = pread(fd, piece, PIECE, at);
		if (n > 0)
			s3_ahead_add(hash, piece, (size_t)n);
		room_turn_over(f->in->room, f->seat, TURN_WRITE, n > 0 ? n : 0);
		at += n > 0 ? n : 0;
	}
	free(piece);
	if (n == 0)
		errno = EIO;		/* shorter than its row says */
	return at == size;
}

bool
s3_file_hash(struct s3_file *f, struct uuid upload_id, const struct s3_part *part, SHA256_CTX *hash)
{
	int fd = open(path_of(f->mem, upload_id, part->file), O_RDONLY | O_CLOEXEC);
	bool fine = fd >= 0 && hash_part(f, hash, fd, part->size);

	if (fd >= 0)
		close(fd);
	return fine;
}

/* Shares the blocks where the file system can and they lie so that it does; else the kernel copies. */
static bool
append_part(struct s3_file *f, int fd, int64_t at, int64_t size)
{
	struct file_clone_range range = { .src_fd = fd, .dest_offset = (uint64_t)at };
	loff_t from = 0, to = at;
	ssize_t n;

	if (ioctl(f->fd, FICLONERANGE, &range) == 0)
		return true;
	if (store_incoming_free() < size) {
		errno = ENOSPC;
		return false;
	}
	while (from < size) {
		room_turn(f->in->room, f->seat, TURN_WRITE);
		n = copy_file_range(fd, &from, f->fd, &to, size - from < LOOK ? (size_t)(size - from) : LOOK, 0);
		room_turn_over(f->in->room, f->seat, TURN_WRITE, n > 0 ? n : 0);
		if (n == 0)
			errno = EIO;
		if (n <= 0 && errno != EINTR)
			return false;
	}
	return true;
}

static bool
join_part(struct s3_file *f, const char *path, int64_t at, int64_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool fine = fd >= 0 && append_part(f, fd, at, size);

	if (fd >= 0)
		close(fd);
	return fine;
}

enum s3_error
s3_file_join(struct s3_file *f, struct uuid upload_id, const struct s3_part *const *part, size_t n)
{
	SHA256_CTX hash;
	size_t ahead = s3_ahead_find(f->mem, upload_id, f->attempt, part, n, &hash), i;
	int64_t at = 0;
	bool fine = true;

	if (n == 1) {
		unlink(f->path);
		fine = link(path_of(f->mem, upload_id, part[0]->file), f->path) == 0;
	}
	for (i = 0; i < n && fine; i++) {
		fine = n == 1 || join_part(f, path_of(f->mem, upload_id, part[i]->file), at, part[i]->size);
		if (fine && i >= ahead)
			fine = s3_file_hash(f, upload_id, part[i], &hash);
		at += part[i]->size;
	}
	s3_ahead_end(&hash, f->sha256);
	return fine ? sync_file(f, n == 1 ? 0 : at) : by_errno("cannot join the parts of an upload");
}

void
s3_file_close(struct s3_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void
s3_file_remove(struct arena *mem, struct uuid upload_id, const char *name)
{
	unlink(path_of(mem, upload_id, name));
}
