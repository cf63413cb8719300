/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the boxes of a stranger's MP4; reads headers alone, trusts no size. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/bytes.h"
#include "media/document.h"
#include "media/mend.h"

enum { HOLES_MAX = 1000, WINDOW = 1 << 20, BOXES_MAX = 1 << 20 };

struct hole { int64_t from, to; };

/* Bytes of the box that begins there, as far as the file goes; 0: none does. */
static int64_t
box_size(int fd, int64_t at, int64_t end)
{
	unsigned char b[16] = { 0 };
	uint64_t size;

	if (end - at < 8 || pread(fd, b, sizeof(b), at) < 8)
		return end - at;
	for (int i = 4; i < 8; i++)
		if (!isalnum(b[i]) && b[i] != ' ')
			return 0;
	size = bytes_big(b, 4);
	if (size == 1)
		size = bytes_big(b + 8, 8);
	if (size == 0 || size > (uint64_t)(end - at))
		return end - at;
	return size >= 8 ? (int64_t)size : 0;
}

/* Where the next fragment begins; `end`: nowhere. */
static int64_t
next_fragment(int fd, int64_t at, int64_t end)
{
	static const char sign[] = "moof\0\0\0\x10mfhd";
	static char bytes[WINDOW];
	ssize_t n;

	while (at < end && (n = pread(fd, bytes, sizeof(bytes), at)) >= 16) {
		const char *found = memmem(bytes + 4, (size_t)n - 4, sign, sizeof(sign) - 1);

		if (found != NULL)
			return at + (found - bytes) - 4;
		at += n - 15;
	}
	return end;
}

/* Where readers would stop before a fragment. */
static size_t
find_holes(int fd, int64_t end, struct hole *holes)
{
	int64_t at = 0, size;
	size_t n = 0;

	for (int boxes = 0; at < end && boxes < BOXES_MAX && n < HOLES_MAX; boxes++) {
		size = box_size(fd, at, end);
		if (size == 0) {
			holes[n] = (struct hole){ at, next_fragment(fd, at, end) };
			if (holes[n].to == end)
				break;
			at = holes[n].to;
			/* What is too short for a box of its own. */
			n += holes[n].to - holes[n].from >= 8;
		} else {
			at += size;
		}
	}
	return n;
}

static bool
bridge(int fd, const struct hole *h)
{
	const uint64_t size = (uint64_t)(h->to - h->from);
	unsigned char b[16] = { 0, 0, 0, 1, 'f', 'r', 'e', 'e' };

	for (int i = 0; i < 8; i++)
		b[8 + i] = (unsigned char)(size >> (56 - 8 * i));
	if (size < 16)
		memcpy(b, b + 12, 4);
	return pwrite(fd, b, size < 16 ? 8 : 16, h->from) > 0;
}

bool
mend_fragments(struct arena *mem, const char *path, const char *out, bool *mended)
{
	struct hole *holes = arena_array(mem, HOLES_MAX, sizeof(*holes));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool fine = true;
	struct stat st;
	size_t n = 0;

	*mended = false;
	if (fd == -1)
		return false;
	if (fstat(fd, &st) == 0)
		n = find_holes(fd, st.st_size, holes);
	close(fd);
	if (n == 0)
		return true;
	if (!document_copy(path, out) || (fd = open(out, O_WRONLY | O_CLOEXEC)) == -1)
		return false;
	for (size_t i = 0; i < n && fine; i++)
		fine = bridge(fd, &holes[i]);
	fine = close(fd) == 0 && fine;
	*mended = fine;
	return fine;
}
