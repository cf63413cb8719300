/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing parts, and joining them. */
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/log.h"
#include "core/quota.h"
#include "core/store.h"
#include "fcgi/upload/s3_ahead.h"
#include "fcgi/upload/s3_part.h"

enum {
	LOOK = 8 << 20,		/* bytes between two looks at the room on the disk, */
	PIECE = 1 << 20,	/* and in one go through a part */
	SHARED_MIN = 5 << 20,	/* a part that is as long as all but the last one may be */
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

static bool
make_folder(struct arena *mem, struct uuid upload_id)
{
	return mkdir(store_incoming(mem, upload_id), 0700) == 0 || errno == EEXIST;
}

bool
s3_file_new(struct s3_file *f, struct uuid upload_id, const char *name)
{
	int tries = 0;

	f->name = name;
	f->path = path_of(f->mem, upload_id, name);
	f->fd = -1;
	/* Who cleans up takes the folder away as soon as nothing lies in it. */
	do {
		if (!make_folder(f->mem, upload_id))
			return false;
		f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (f->fd < 0 && errno == ENOENT && ++tries < 10);
	return f->fd >= 0;
}

static const char *
shared_path(const struct s3_file *f, struct uuid upload_id, int64_t slot)
{
	return path_of(f->mem, upload_id, arena_printf(f->mem, "%" PRId64 ".shared.%" PRId64, f->attempt, slot));
}

static bool
open_shared(struct s3_file *f, struct uuid upload_id, int64_t slot, int flags)
{
	f->path = shared_path(f, upload_id, slot);
	f->slot = slot;
	f->fd = open(f->path, O_RDWR | O_CLOEXEC | flags, 0600);
	return f->fd >= 0;
}

/* 0 bytes: all, however long it is.  By the time we have the lock the name may be that of another file, or of none. */
static bool
claim(const struct s3_file *f, int64_t from, int64_t bytes)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = bytes };
	struct stat here, there;

	return fcntl(f->fd, F_OFD_SETLK, &range) == 0 && fstat(f->fd, &here) == 0 && stat(f->path, &there) == 0 &&
	    here.st_dev == there.st_dev && here.st_ino == there.st_ino && here.st_nlink == 1;
}

static bool
take_place(struct s3_file *f, struct uuid upload_id, int64_t number, int64_t slot, int flags)
{
	f->at = (number - 1) * slot;
	if (open_shared(f, upload_id, slot, flags) && claim(f, f->at, slot) && lseek(f->fd, f->at, SEEK_SET) == f->at)
		return true;
	s3_file_close(f);
	return false;
}

bool
s3_file_share(struct s3_file *f, struct uuid upload_id, const char *name, int64_t number, int64_t size)
{
	if (size < SHARED_MIN || number > f->in->conf->upload_max_size / size)
		return false;
	if (!make_folder(f->mem, upload_id))
		return false;
	f->name = name;
	return take_place(f, upload_id, number, size, O_CREAT);
}

bool
s3_file_reclaim(struct s3_file *f, struct uuid upload_id, const struct s3_part *part)
{
	return take_place(f, upload_id, part->number, part->slot, 0);
}

/* Are all that lie in the file of the first one where they belong?  And in none, if that has its own. */
static bool
lie_well(const struct s3_part *const *part, size_t n)
{
	const int64_t slot = n > 0 ? part[0]->slot : 0;
	int64_t at = 0;
	bool fine = slot > 0;

	for (size_t i = 0; i < n && fine; i++) {
		fine = part[i]->slot != slot || at == (part[i]->number - 1) * slot;
		at += part[i]->size;
	}
	return fine;
}

bool
s3_file_gather(struct s3_file *f, struct uuid upload_id, const char *name, const struct s3_part *const *part, size_t n)
{
	const char *path = path_of(f->mem, upload_id, name);

	if (!lie_well(part, n))
		return false;
	if (open_shared(f, upload_id, part[0]->slot, 0) && claim(f, 0, 0) && link(f->path, path) == 0) {
		f->name = name;
		f->path = path;
		return true;
	}
	s3_file_close(f);
	return false;
}

int
s3_file_hold(const struct s3_file *f)
{
	const struct quota_upload u = { f->seat->upload_id, f->seat->tenant_id, f->attempt };
	struct db *db = NULL;
	const int folder = open(store_incoming(f->mem, u.id), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
		db = links_ask(f->in->links);
	if (db != NULL) {
		quota_settle(db, &u);
		links_give(f->in->links, db);
	}
	while (folder >= 0 && flock(folder, LOCK_SH) != 0 && errno == EINTR)
		continue;
	return folder;
}

enum s3_error
s3_file_reserve(struct s3_file *f, int64_t until, int64_t step)
{
	const struct quota_upload u = { f->seat->upload_id, f->seat->tenant_id, f->attempt };

	switch (links_reserve(f->in->links, &u, until, step, &f->granted)) {
	case HOLD_FULL:
		return S3_NO_SPACE;
	case HOLD_OVER:
		return f->is_whole ? S3_CONFLICT : S3_NO_SUCH_UPLOAD;
	case HOLD_AWAY:
		return S3_UNAVAILABLE;
	default:
		return S3_FINE;
	}
}

void
s3_file_release(struct s3_file *f)
{
	const struct quota_upload u = { f->seat->upload_id, f->seat->tenant_id, f->attempt };
	struct db *db = f->granted > f->counted && f->granted < INT64_MAX ? links_ask(f->in->links) : NULL;

	if (db == NULL)
		return;
	quota_release(db, &u, f->granted - f->counted);
	links_give(f->in->links, db);
	f->granted = f->counted;
}

static enum s3_error
take_piece(struct s3_file *f, const void *bytes, size_t n, int64_t received)
{
	bool fine;

	enum s3_error error;

	if (received > f->limit)
		return S3_TOO_LARGE;
	error = s3_file_reserve(f, received, QUOTA_STEP);
	if (error != S3_FINE)
		return error;
	if (received / LOOK != (received - (int64_t)n) / LOOK && store_incoming_free() == 0)
		return S3_NO_SPACE;
	/* Parts without a row are weighed nowhere else; each may be on its way twice. */
	if (received / PIECE != (received - (int64_t)n) / PIECE &&
	    room_received(f->in->room, f->seat->upload_id) / 2 > f->total + LOOK / 2)
		return S3_SLOW_DOWN;
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

	hash_begin(&hash);
	while (error == S3_FINE) {
		start = clock_ms();
		if ((n = s3_body_read(b, f->seat, &bytes)) <= 0)
			break;
		waited += clock_ms() - start;
		if (f->is_whole)
			hash_add(&hash, bytes, (size_t)n);
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
	hash_end(&hash, f->sha256);
	if (error == S3_FINE && n < 0)
		error = ended_early(f, b);
	if (error == S3_FINE)
		error = s3_body_check(b);
	return error != S3_FINE ? error : sync_file(f, b->received);
}

/* In a shared file another part is behind it. */
static bool
hash_part(struct s3_file *f, SHA256_CTX *hash, int fd, int64_t from, int64_t size)
{
	char *piece = malloc(PIECE);
	int64_t at = 0;
	ssize_t n = 1;

	if (piece == NULL)
		abort();
	while (at < size && n > 0) {
		room_turn(f->in->room, f->seat, TURN_WRITE);
		n = pread(fd, piece, size - at < PIECE ? (size_t)(size - at) : PIECE, from + at);
		if (n > 0)
			hash_add(hash, piece, (size_t)n);
		room_turn_over(f->in->room, f->seat, TURN_WRITE, n > 0 ? n : 0);
		at += n > 0 ? n : 0;
	}
	free(piece);
	if (n == 0)
		errno = EIO;		/* shorter than its row says */
	return at == size;
}

static const char *
path_of_part(const struct s3_file *f, struct uuid upload_id, const struct s3_part *part)
{
	return part->slot == 0 ? path_of(f->mem, upload_id, part->file) : shared_path(f, upload_id, part->slot);
}

static int64_t
begin_of(const struct s3_part *part)
{
	return part->slot * (part->number - 1);
}

bool
s3_file_hash(struct s3_file *f, struct uuid upload_id, const struct s3_part *part, SHA256_CTX *hash)
{
	int fd = open(path_of_part(f, upload_id, part), O_RDONLY | O_CLOEXEC);
	bool fine = fd >= 0 && hash_part(f, hash, fd, begin_of(part), part->size);

	if (fd >= 0)
		close(fd);
	return fine;
}

/* Shares the blocks where the file system can and they lie so that it does; else the kernel copies. */
static bool
append_part(struct s3_file *f, int fd, int64_t begin, int64_t at, int64_t size)
{
	struct file_clone_range range = { .src_fd = fd, .src_offset = (uint64_t)begin, .src_length = (uint64_t)size,
	    .dest_offset = (uint64_t)at };
	const loff_t end = begin + size;
	loff_t from = begin, to = at;
	ssize_t n;

	if (ioctl(f->fd, FICLONERANGE, &range) == 0)
		return true;
	if (store_incoming_free() < size) {
		errno = ENOSPC;
		return false;
	}
	while (from < end) {
		room_turn(f->in->room, f->seat, TURN_WRITE);
		n = copy_file_range(fd, &from, f->fd, &to, end - from < LOOK ? (size_t)(end - from) : LOOK, 0);
		room_turn_over(f->in->room, f->seat, TURN_WRITE, n > 0 ? n : 0);
		if (n == 0)
			errno = EIO;
		if (n <= 0 && errno != EINTR)
			return false;
	}
	return true;
}

static bool
join_part(struct s3_file *f, struct uuid upload_id, const struct s3_part *part, int64_t at)
{
	int fd = open(path_of_part(f, upload_id, part), O_RDONLY | O_CLOEXEC);
	bool fine = fd >= 0 && append_part(f, fd, begin_of(part), at, part->size);

	if (fd >= 0)
		close(fd);
	return fine;
}

enum s3_error
s3_file_join(struct s3_file *f, struct uuid upload_id, const struct s3_part *const *part, size_t n)
{
	const bool alone = n == 1 && part[0]->slot == 0;
	SHA256_CTX hash;
	size_t ahead = s3_ahead_find(f->mem, upload_id, f->attempt, part, n, &hash), i;
	int64_t at = 0, copied = 0;
	bool fine = true;

	if (alone) {
		unlink(f->path);
		fine = link(path_of(f->mem, upload_id, part[0]->file), f->path) == 0;
	}
	for (i = 0; i < n && fine; i++) {
		if (!alone && (f->slot == 0 || part[i]->slot != f->slot)) {
			fine = join_part(f, upload_id, part[i], at);
			copied += part[i]->size;
		}
		if (fine && i >= ahead)
			fine = s3_file_hash(f, upload_id, part[i], &hash);
		at += part[i]->size;
	}
	hash_end(&hash, f->sha256);
	/* A place behind the last one may have been given back. */
	fine = fine && (f->slot == 0 || ftruncate(f->fd, at) == 0);
	return fine ? sync_file(f, copied) : by_errno("cannot join the parts of an upload");
}

void
s3_file_close(struct s3_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->slot = 0;
}

bool
s3_file_vacate(struct s3_file *f)
{
	fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, f->at, f->slot);
	return claim(f, 0, 0);
}

void
s3_file_unlink(struct s3_file *f)
{
	unlink(f->path);
}

void
s3_file_remove(struct arena *mem, struct uuid upload_id, const char *name)
{
	unlink(path_of(mem, upload_id, name));
}
