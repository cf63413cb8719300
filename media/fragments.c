/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxes of a fragmented MP4.  The writer ran confined, but its output is trusted no more than an upload. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/fragments.h"
#include "core/text.h"

enum { FRAGMENTS_MAX = 100000, BOX_MAX = 32 << 20 };

/* The longest fragment: so many of them, times 1000, still fit. */
#define UNITS_MAX (INT64_C(1) << 36)

struct bytes { const unsigned char *at; size_t n; };

/* What moov says about the track. */
struct track { uint32_t timescale, default_duration; int64_t skip; const char *codecs, *setup; };

static uint32_t
u32(struct bytes b, size_t at)
{
	return at + 4 <= b.n ? (uint32_t)b.at[at] << 24 | (uint32_t)b.at[at + 1] << 16 | (uint32_t)b.at[at + 2] << 8 |
	    b.at[at + 3] : 0;
}

static uint64_t
u64(struct bytes b, size_t at)
{
	return (uint64_t)u32(b, at) << 32 | u32(b, at + 4);
}

/* Takes the next box off `rest`: its four letters and its contents. */
static bool
box_next(struct bytes *rest, char type[5], struct bytes *inside)
{
	uint64_t size = u32(*rest, 0);
	size_t head = 8;

	if (rest->n < 8)
		return false;
	if (size == 1) {
		size = u64(*rest, 8);
		head = 16;
	}
	if (size < head || size > rest->n)
		return false;
	memcpy(type, rest->at + 4, 4);
	type[4] = '\0';
	*inside = (struct bytes){ rest->at + head, (size_t)size - head };
	rest->at += size;
	rest->n -= (size_t)size;
	return true;
}

/* The first box of a path such as "trak/mdia/mdhd". */
static bool
box_find(struct bytes in, const char *path, struct bytes *found)
{
	char type[5];

	while (box_next(&in, type, found)) {
		if (strncmp(type, path, 4) != 0)
			continue;
		return path[4] == '\0' || box_find(*found, path + 5, found);
	}
	return false;
}

/* The audio object type: first five bits of the decoder's own description (tag 5) in the elementary stream
 * descriptor. */
static int
aac_type(struct bytes esds)
{
	size_t i = 4;

	while (i + 2 < esds.n) {
		unsigned char tag = esds.at[i++];
		size_t len = 0;

		for (int k = 0; k < 4 && i < esds.n; k++) {
			len = len << 7 | (esds.at[i] & 0x7f);
			if ((esds.at[i++] & 0x80) == 0)
				break;
		}
		if (tag == 0x05)
			return i < esds.n ? esds.at[i] >> 3 : 0;
		i += tag == 0x03 ? 3 : tag == 0x04 ? 13 : len;		/* 3 and 4 hold the following ones */
	}
	return 0;
}

/* An entry of stsd: fixed fields, then boxes. */
static const char *
codecs_of(struct arena *mem, struct bytes stsd, const char **setup)
{
	struct bytes entry, rest = { stsd.at + 8, stsd.n >= 8 ? stsd.n - 8 : 0 }, box;
	char type[5];

	if (!box_next(&rest, type, &entry))
		return NULL;
	if (strcmp(type, "avc1") == 0 && entry.n > 78 &&
	    box_find((struct bytes){ entry.at + 78, entry.n - 78 }, "avcC", &box) && box.n >= 4) {
		*setup = hex_encode(mem, box.at, box.n);
		return arena_printf(mem, "avc1.%02x%02x%02x", box.at[1], box.at[2], box.at[3]);
	}
	if (strcmp(type, "mp4a") == 0 && entry.n > 28 &&
	    box_find((struct bytes){ entry.at + 28, entry.n - 28 }, "esds", &box))
		return arena_printf(mem, "mp4a.40.%d", aac_type(box));
	return NULL;
}

/* 0: it does not say. */
static uint32_t
scale_of(struct bytes moov)
{
	struct bytes box;

	return box_find(moov, "trak/mdia/mdhd", &box) ? u32(box, box.n > 0 && box.at[0] == 1 ? 20 : 12) : 0;
}

static bool
track_read(struct arena *mem, struct bytes moov, struct track *t)
{
	struct bytes box;

	t->timescale = scale_of(moov);
	if (box_find(moov, "mvex/trex", &box))
		t->default_duration = u32(box, 12);
	if (box_find(moov, "trak/edts/elst", &box) && u32(box, 4) == 1)
		t->skip = box.at[0] == 1 ? (int64_t)u64(box, 16) : (int32_t)u32(box, 12);
	if (box_find(moov, "trak/mdia/minf/stbl/stsd", &box))
		t->codecs = codecs_of(mem, box, &t->setup);
	return t->timescale > 0 && t->codecs != NULL && t->skip >= -1;
}

/* Sum of the durations of the samples of one traf, and their number.  -1: it cannot be. */
static int64_t
traf_duration(struct bytes traf, uint32_t fallback, int64_t *samples)
{
	struct bytes box, rest = traf;
	int64_t sum = 0, all;
	char type[5];

	while (box_next(&rest, type, &box)) {
		const uint32_t flags = u32(box, 0) & 0xffffff;

		if (strcmp(type, "tfhd") == 0 && (flags & 0x8) != 0) {
			fallback = u32(box, 8 + ((flags & 0x1) ? 8 : 0) + ((flags & 0x2) ? 4 : 0));
		} else if (strcmp(type, "trun") == 0) {
			const uint32_t n = u32(box, 4);
			const size_t row = 4 * ((flags >> 8 & 1) + (flags >> 9 & 1) + (flags >> 10 & 1) +
			    (flags >> 11 & 1));
			const size_t first = 8 + ((flags & 0x1) ? 4 : 0) + ((flags & 0x4) ? 4 : 0);

			if (row > 0 && (box.n < first || (box.n - first) / row < n))
				return -1;
			*samples += n;
			for (uint32_t i = 0; i < n && (flags & 0x100) != 0; i++)
				sum += u32(box, first + i * row);
			if ((flags & 0x100) == 0 && (__builtin_mul_overflow(n, fallback, &all) ||
			    __builtin_add_overflow(sum, all, &sum)))
				return -1;
		}
	}
	return sum <= UNITS_MAX ? sum : -1;
}

static struct bytes
bytes_read(struct arena *mem, int fd, int64_t offset, int64_t n)
{
	struct bytes b = { NULL, 0 };
	unsigned char *room;

	if (n <= 0 || n > BOX_MAX)
		return b;
	room = arena_alloc(mem, (size_t)n);
	if (pread(fd, room, (size_t)n, offset) == n)
		b = (struct bytes){ room, (size_t)n };
	return b;
}

/* The box at an offset of the file: its size and letters. */
static int64_t
head_read(int fd, int64_t offset, int64_t file_size, char type[5])
{
	unsigned char raw[16];
	ssize_t n = pread(fd, raw, sizeof(raw), offset);
	struct bytes head = { raw, n > 0 ? (size_t)n : 0 };
	uint64_t size = u32(head, 0);

	if (n < 8)
		return -1;
	memcpy(type, raw + 4, 4);
	type[4] = '\0';
	if (size == 1)
		size = u64(head, 8);
	if (size == 0 || size < 8 || size > (uint64_t)(file_size - offset))
		return -1;
	return (int64_t)size;
}

/* The n fragments with room for as many more. */
static struct fragment *
doubled(struct arena *mem, const struct fragment *at, size_t n)
{
	struct fragment *more = arena_array(mem, n > 0 ? 2 * n : 1, sizeof(*more));

	return n > 0 ? memcpy(more, at, n * sizeof(*more)) : more;
}

/* Walks the file; false when something does not fit. */
static bool
walk(struct arena *mem, int fd, struct fragments *f, struct track *t)
{
	struct fragment *at = NULL;
	int64_t size;
	char type[5];

	for (int64_t offset = 0; offset < f->file_size; offset += size) {
		struct bytes box, traf;

		if ((size = head_read(fd, offset, f->file_size, type)) < 0)
			return false;
		if (strcmp(type, "moov") == 0) {
			box = bytes_read(mem, fd, offset + 8, size - 8);
			if (t->timescale != 0 || !track_read(mem, box, t))
				return false;
			f->init_size = offset + size;
		} else if (strcmp(type, "moof") == 0) {
			box = bytes_read(mem, fd, offset + 8, size - 8);
			if (t->timescale == 0 || f->n >= FRAGMENTS_MAX || !box_find(box, "traf", &traf))
				return false;
			/* A power of two: so many there is room for. */
			if ((f->n & (f->n - 1)) == 0)
				f->at = at = doubled(mem, at, f->n);
			at[f->n].offset = offset;
			at[f->n].size = size;
			at[f->n].samples = 0;
			at[f->n].duration = traf_duration(traf, t->default_duration, &at[f->n].samples);
			if (at[f->n++].duration < 0)
				return false;
		} else if (strcmp(type, "mdat") == 0 && f->n > 0) {
			at[f->n - 1].size = offset + size - at[f->n - 1].offset;
		}
	}
	return f->n > 0;
}

const struct fragments *
fragments_read(struct arena *mem, const char *path)
{
	struct fragments *f = NEW(mem, struct fragments);
	struct track t = { 0 };
	struct stat st;
	bool fine;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	f->file_size = fstat(fd, &st) == 0 ? st.st_size : 0;
	fine = walk(mem, fd, f, &t);
	close(fd);
	if (!fine)
		return NULL;
	f->timescale = t.timescale;
	f->codecs = t.codecs;
	/* In video the edit list only undoes the delay of reordering: no frame is dropped. */
	f->skip = t.skip > 0 && strncmp(t.codecs, "mp4a", 4) == 0 ? t.skip : 0;
	f->delay = t.skip > 0 && f->skip == 0 ? t.skip : 0;
	f->setup = t.setup;
	for (size_t i = 0; i < f->n; i++)
		f->duration += f->at[i].duration;
	f->duration -= f->skip < f->duration ? f->skip : 0;
	return f;
}

int64_t
fragment_time(const unsigned char *bytes, size_t n)
{
	struct bytes box;
	uint64_t time;

	if (!box_find((struct bytes){ bytes, n }, "moof/traf/tfdt", &box) || box.n < 8 ||
	    (box.at[0] == 1 && box.n < 12))
		return -1;
	time = box.at[0] == 1 ? u64(box, 4) : u32(box, 4);
	return time <= INT64_MAX / 1000 ? (int64_t)time : -1;
}

int64_t
fragment_scale(const unsigned char *bytes, size_t n)
{
	struct bytes moov;

	return box_find((struct bytes){ bytes, n }, "moov", &moov) ? scale_of(moov) : 0;
}

bool
fragment_move(unsigned char *bytes, size_t n, int64_t decode_time)
{
	struct bytes box;
	unsigned char *at;
	int size;

	if (!box_find((struct bytes){ bytes, n }, "moof/traf/tfdt", &box) || box.n < 8 || decode_time < 0)
		return false;
	size = box.at[0] == 1 ? 8 : 4;
	if ((size_t)size + 4 > box.n || (size == 4 && decode_time > UINT32_MAX))
		return false;
	at = bytes + (box.at - bytes) + 4;
	for (int i = 0; i < size; i++)
		at[i] = (unsigned char)(decode_time >> 8 * (size - 1 - i));
	return true;
}
