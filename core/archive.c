/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * By zlib; the checksums by libdeflate, which takes an eighth of the time.  What is stored is read once, in pieces
 * that a processor's cache holds, and written where it stays.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <libdeflate.h>
#include <zlib.h>

#include "core/archive.h"

enum {
	PIECE = 256 << 10,		/* bytes */
	WRITE_BACK = 8 << 20,		/* bytes after which the kernel is told to write, so that a sync is short */
	NEEDED = 20, NEEDED_WIDE = 45,	/* versions of the format */
	UNIX = 3 << 8, UTF_8 = 1 << 11,
	NONE_16 = 0xffff,		/* see there, in 64 bits */
};
#define NONE_32 UINT64_C(0xffffffff)

struct member {
	const char *name;
	bool deflated, wide;
	int64_t size, packed, at;	/* bytes, and where its head begins */
	uint32_t crc;
	time_t changed_at;		/* s */
};

/* Where its bytes come from: a file, or, with a negative fd, memory. */
struct source { int fd; const char *bytes; size_t left; };

static void
put(struct buf *b, uint64_t x, int bytes)
{
	for (; bytes > 0; bytes--, x >>= 8)
		buf_char(b, (char)(x & 0xff));
}

/* As on the clock of this machine, every other second since 1980. */
static void
put_time(struct buf *b, time_t at)
{
	struct tm tm;

	if (localtime_r(&at, &tm) == NULL || tm.tm_year < 80 || tm.tm_year > 207) {
		put(b, 1 << 21 | 1 << 16, 4);
		return;
	}
	put(b, (uint64_t)(tm.tm_hour << 11 | tm.tm_min << 5 | tm.tm_sec / 2), 2);
	put(b, (uint64_t)((tm.tm_year - 80) << 9 | (tm.tm_mon + 1) << 5 | tm.tm_mday), 2);
}

/* What the head of a member and the directory say alike; `extra` bytes follow the name. */
static void
put_member(struct buf *b, const struct member *m, int extra)
{
	put(b, m->wide ? NEEDED_WIDE : NEEDED, 2);
	put(b, UTF_8, 2);
	put(b, m->deflated ? Z_DEFLATED : 0, 2);
	put_time(b, m->changed_at);
	put(b, m->crc, 4);
	put(b, m->wide ? NONE_32 : (uint64_t)m->packed, 4);
	put(b, m->wide ? NONE_32 : (uint64_t)m->size, 4);
	put(b, strlen(m->name), 2);
	put(b, (uint64_t)extra, 2);
}

/* Numbers in 64 bits, behind the name. */
static void
put_wide(struct buf *b, const struct member *m, bool in_directory)
{
	put(b, 1, 2);
	put(b, in_directory ? 24 : 16, 2);
	put(b, (uint64_t)m->size, 8);
	put(b, (uint64_t)m->packed, 8);
	if (in_directory)
		put(b, (uint64_t)m->at, 8);
}

static void
put_head(struct buf *b, const struct member *m)
{
	put(b, 0x04034b50, 4);
	put_member(b, m, m->wide ? 20 : 0);
	buf_text(b, m->name);
	if (m->wide)
		put_wide(b, m, false);
}

/* An ordinary file, for all to read. */
static void
put_entry(struct buf *b, const struct member *m)
{
	put(b, 0x02014b50, 4);
	put(b, UNIX | NEEDED_WIDE, 2);
	put_member(b, m, m->wide ? 28 : 0);
	put(b, 0, 6);		/* no comment, the first disk, no hint */
	put(b, (uint64_t)(S_IFREG | 0644) << 16, 4);
	put(b, m->wide ? NONE_32 : (uint64_t)m->at, 4);
	buf_text(b, m->name);
	if (m->wide)
		put_wide(b, m, true);
}

static bool
write_at(struct archive *a, const void *bytes, size_t n, int64_t at)
{
	const char *from = bytes;

	if (a->fd < 0) {
		if ((size_t)at + n > a->out.len) {
			buf_room(&a->out, (size_t)at + n - a->out.len);
			a->out.len = (size_t)at + n;
			a->out.text[a->out.len] = '\0';
		}
		if (n > 0)
			memcpy(a->out.text + at, bytes, n);
		return true;
	}
	while (n > 0) {
		ssize_t done = pwrite(a->fd, from, n, at);

		if (done < 0 && errno != EINTR)
			return false;
		from += done > 0 ? done : 0;
		at += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static bool
append(struct archive *a, const void *bytes, size_t n)
{
	const int64_t before = a->at / WRITE_BACK;

	if (!write_at(a, bytes, n, a->at))
		return false;
	a->at += (int64_t)n;
	if (a->fd >= 0 && a->at / WRITE_BACK != before)
		sync_file_range(a->fd, before * WRITE_BACK, WRITE_BACK, SYNC_FILE_RANGE_WRITE);
	return true;
}

static bool
deflate_piece(struct archive *a, z_stream *z, unsigned char *bytes, size_t n)
{
	unsigned char packed[32768];

	z->next_in = bytes;
	z->avail_in = (uInt)n;
	do {
		z->next_out = packed;
		z->avail_out = sizeof(packed);
		if (deflate(z, n == 0 ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
			abort();
		if (!append(a, packed, sizeof(packed) - z->avail_out))
			return false;
	} while (z->avail_out == 0);
	return true;
}

static ssize_t
read_piece(struct source *s, unsigned char *piece)
{
	const size_t n = s->left < PIECE ? s->left : PIECE;

	if (s->fd >= 0)
		return read(s->fd, piece, PIECE);
	if (n > 0)
		memcpy(piece, s->bytes, n);
	s->bytes += n;
	s->left -= n;
	return (ssize_t)n;
}

/* z: NULL: as it is.  A file that has another length than it had is EIO. */
static bool
take(struct archive *a, struct member *m, struct source *source, z_stream *z, unsigned char *piece)
{
	const int64_t from = a->at;
	int64_t read_bytes = 0;
	ssize_t n;

	do {
		n = read_piece(source, piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (z != NULL ? !deflate_piece(a, z, piece, (size_t)n) : !append(a, piece, (size_t)n)))
			return false;
		m->crc = libdeflate_crc32(m->crc, piece, (size_t)n);
		read_bytes += n;
		a->bytes += n;
		if (a->taken != NULL)
			a->taken(a->user, a->bytes);
	} while (n != 0);
	m->packed = a->at - from;
	errno = EIO;
	return read_bytes == m->size;
}

/* The head is written when its numbers are known, in front of what has been. */
static bool
add(struct archive *a, struct member *m, struct source *source, z_stream *z)
{
	struct buf head = BUF(a->directory.mem);
	unsigned char *piece = malloc(PIECE);
	bool fine;

	if (piece == NULL)
		abort();
	put_head(&head, m);
	a->at += (int64_t)head.len;
	fine = take(a, m, source, z, piece);
	free(piece);
	head.len = 0;
	put_head(&head, m);
	return fine && write_at(a, head.text, head.len, m->at);
}

/* Of which size and time are known. */
static bool
add_member(struct archive *a, struct member *m, struct source *source)
{
	z_stream z = { .zalloc = Z_NULL };
	bool fine;

	if (m->deflated && deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
	    Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	m->at = a->at;
	m->wide = m->at > a->narrow || (m->deflated ? (int64_t)deflateBound(&z, (uLong)m->size) : m->size) > a->narrow;
	fine = add(a, m, source, m->deflated ? &z : NULL);
	if (m->deflated)
		deflateEnd(&z);
	if (!fine)
		return false;
	put_entry(&a->directory, m);
	a->members++;
	return true;
}

static bool
add_open(struct archive *a, struct member *m, int fd)
{
	struct source source = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return false;
	m->size = st.st_size;
	m->changed_at = st.st_mtime;
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return add_member(a, m, &source);
}

/* Closes it, and errno stays what it was. */
static bool
give_up(struct archive *a)
{
	const int saved = errno;

	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	errno = saved;
	return false;
}

bool
archive_begin(struct archive *a, struct arena *mem, const char *path)
{
	a->at = a->bytes = a->members = 0;
	a->directory = BUF(mem);
	a->out = BUF(mem);
	a->fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	return path == NULL || a->fd >= 0;
}

bool
archive_add(struct archive *a, const char *name, const char *path, bool deflated)
{
	struct member m = { .name = name, .deflated = deflated };
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	bool fine = fd >= 0 && add_open(a, &m, fd);

	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return fine || give_up(a);
}

bool
archive_add_bytes(struct archive *a, const char *name, const void *bytes, size_t n, time_t changed_at, bool deflated)
{
	struct member m = { .name = name, .deflated = deflated, .size = (int64_t)n, .changed_at = changed_at };
	struct source source = { .fd = -1, .bytes = bytes, .left = n };

	return add_member(a, &m, &source) || give_up(a);
}

/* Where the directory is, for who reads 64 bits. */
static void
put_end_wide(struct buf *b, const struct archive *a, int64_t size)
{
	put(b, 0x06064b50, 4);
	put(b, 44, 8);
	put(b, UNIX | NEEDED_WIDE, 2);
	put(b, NEEDED_WIDE, 2);
	put(b, 0, 8);
	put(b, (uint64_t)a->members, 8);
	put(b, (uint64_t)a->members, 8);
	put(b, (uint64_t)size, 8);
	put(b, (uint64_t)a->at, 8);
	put(b, 0x07064b50, 4);
	put(b, 0, 4);
	put(b, (uint64_t)(a->at + size), 8);
	put(b, 1, 4);
}

bool
archive_end(struct archive *a)
{
	struct buf *b = &a->directory;
	const int64_t size = (int64_t)b->len;
	const bool wide = a->at > a->narrow || size > a->narrow || a->members >= NONE_16;
	int fd = a->fd;

	if (wide)
		put_end_wide(b, a, size);
	put(b, 0x06054b50, 4);
	put(b, 0, 4);
	put(b, wide ? NONE_16 : (uint64_t)a->members, 2);
	put(b, wide ? NONE_16 : (uint64_t)a->members, 2);
	put(b, wide ? NONE_32 : (uint64_t)size, 4);
	put(b, wide ? NONE_32 : (uint64_t)a->at, 4);
	put(b, 0, 2);
	if (!append(a, b->text, b->len))
		return give_up(a);
	a->fd = -1;
	return fd < 0 || close(fd) == 0;
}
