/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxes of ISO/IEC 14496-12.  A box is begun, filled and ended, which writes its length. */
#include "fcgi/live/cmaf.h"

enum { TRACK = 1 };

/* Flags of a sample: depends on no other one; depends, and is no place to begin. */
enum { SAMPLE_KEY = 0x02000000, SAMPLE_OTHER = 0x01010000 };

static void
put(struct buf *b, uint64_t x, unsigned n)
{
	char bytes[8];
	unsigned i;

	for (i = 0; i < n; i++)
		bytes[i] = (char)(x >> 8 * (n - 1 - i));
	buf_add(b, bytes, n);
}

static void
zeros(struct buf *b, unsigned n)
{
	for (; n > 8; n -= 8)
		put(b, 0, 8);
	put(b, 0, n);
}

static size_t
begin(struct buf *b, const char *type)
{
	size_t at = b->len;

	put(b, 0, 4);
	buf_text(b, type);
	return at;
}

/* A box that has a version and flags. */
static size_t
begin_full(struct buf *b, const char *type, unsigned version, uint32_t flags)
{
	size_t at = begin(b, type);

	put(b, version, 1);
	put(b, flags, 3);
	return at;
}

static void
write_at(struct buf *b, size_t at, uint32_t x)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		b->text[at + i] = (char)(x >> (24 - 8 * i));
}

static void
end(struct buf *b, size_t at)
{
	write_at(b, at, (uint32_t)(b->len - at));
}

static bool
is_sound(const struct setup *s)
{
	return s->codec == FLV_AAC;
}

int64_t
cmaf_scale(const struct setup *s)
{
	return is_sound(s) ? (int64_t)s->rate : CMAF_VIDEO_SCALE;
}

static void
matrix(struct buf *b)
{
	static const uint32_t unity[9] = { 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000 };
	size_t i;

	for (i = 0; i < 9; i++)
		put(b, unity[i], 4);
}

static void
put_mvhd(struct buf *b)
{
	size_t at = begin_full(b, "mvhd", 0, 0);

	zeros(b, 8);
	put(b, 1000, 4);
	put(b, 0, 4);
	put(b, 0x10000, 4);
	put(b, 0x0100, 2);
	zeros(b, 10);
	matrix(b);
	zeros(b, 24);
	put(b, TRACK + 1, 4);
	end(b, at);
}

static void
put_tkhd(struct buf *b, const struct setup *s)
{
	size_t at = begin_full(b, "tkhd", 0, 3);

	zeros(b, 8);
	put(b, TRACK, 4);
	zeros(b, 4 + 4 + 8 + 2 + 2);
	put(b, is_sound(s) ? 0x0100 : 0, 2);
	zeros(b, 2);
	matrix(b);
	put(b, (uint64_t)s->width << 16, 4);
	put(b, (uint64_t)s->height << 16, 4);
	end(b, at);
}

static void
put_mdhd(struct buf *b, const struct setup *s)
{
	size_t at = begin_full(b, "mdhd", 0, 0);

	zeros(b, 8);
	put(b, (uint64_t)cmaf_scale(s), 4);
	zeros(b, 4);
	put(b, 0x55c4, 2);	/* "und" */
	zeros(b, 2);
	end(b, at);
}

static void
put_hdlr(struct buf *b, const struct setup *s)
{
	size_t at = begin_full(b, "hdlr", 0, 0);

	zeros(b, 4);
	buf_text(b, is_sound(s) ? "soun" : "vide");
	zeros(b, 12 + 1);
	end(b, at);
}

/* Descriptors of ISO/IEC 14496-1, whose lengths take four bytes here. */
static void
descriptor(struct buf *b, unsigned tag, size_t n)
{
	put(b, tag, 1);
	put(b, 0x808080, 3);
	put(b, n, 1);
}

static void
put_esds(struct buf *b, const struct setup *s)
{
	size_t at = begin_full(b, "esds", 0, 0), n = s->n < 64 ? s->n : 64;

	descriptor(b, 3, 3 + 5 + 13 + 5 + n + 5 + 1);
	put(b, TRACK, 2);
	put(b, 0, 1);
	descriptor(b, 4, 13 + 5 + n);
	put(b, 0x40, 1);	/* AAC */
	put(b, 0x15, 1);	/* a stream of sound */
	zeros(b, 3 + 4 + 4);
	descriptor(b, 5, n);
	buf_add(b, s->bytes, n);
	descriptor(b, 6, 1);
	put(b, 2, 1);
	end(b, at);
}

static void
put_sound_entry(struct buf *b, const struct setup *s)
{
	size_t at = begin(b, "mp4a");

	zeros(b, 6);
	put(b, 1, 2);
	zeros(b, 8);
	put(b, s->channels, 2);
	put(b, 16, 2);
	zeros(b, 4);
	put(b, (uint64_t)(s->rate < 65536 ? s->rate : 0) << 16, 4);
	put_esds(b, s);
	end(b, at);
}

static void
put_video_entry(struct buf *b, const struct setup *s)
{
	const char *entry = s->codec == FLV_AVC ? "avc1" : s->codec == FLV_HEVC ? "hvc1" : "av01";
	const char *inner = s->codec == FLV_AVC ? "avcC" : s->codec == FLV_HEVC ? "hvcC" : "av1C";
	size_t at = begin(b, entry), box;

	zeros(b, 6);
	put(b, 1, 2);
	zeros(b, 16);
	put(b, s->width, 2);
	put(b, s->height, 2);
	put(b, 0x480000, 4);
	put(b, 0x480000, 4);
	zeros(b, 4);
	put(b, 1, 2);
	zeros(b, 32);
	put(b, 0x18, 2);
	put(b, 0xffff, 2);
	box = begin(b, inner);
	buf_add(b, s->bytes, s->n);
	end(b, box);
	end(b, at);
}

/* The tables of samples are empty: all samples are in fragments. */
static void
put_stbl(struct buf *b, const struct setup *s)
{
	static const char *const tables[] = { "stts", "stsc", "stco" };
	size_t at = begin(b, "stbl"), box = begin_full(b, "stsd", 0, 0), i;

	put(b, 1, 4);
	if (is_sound(s))
		put_sound_entry(b, s);
	else
		put_video_entry(b, s);
	end(b, box);
	for (i = 0; i < 3; i++) {
		box = begin_full(b, tables[i], 0, 0);
		zeros(b, 4);
		end(b, box);
	}
	box = begin_full(b, "stsz", 0, 0);
	zeros(b, 8);
	end(b, box);
	end(b, at);
}

static void
put_minf(struct buf *b, const struct setup *s)
{
	size_t at = begin(b, "minf"), box, inner, url;

	box = is_sound(s) ? begin_full(b, "smhd", 0, 0) : begin_full(b, "vmhd", 0, 1);
	zeros(b, is_sound(s) ? 4 : 8);
	end(b, box);
	box = begin(b, "dinf");
	inner = begin_full(b, "dref", 0, 0);
	put(b, 1, 4);
	url = begin_full(b, "url ", 0, 1);
	end(b, url);
	end(b, inner);
	end(b, box);
	put_stbl(b, s);
	end(b, at);
}

static void
put_trak(struct buf *b, const struct setup *s)
{
	size_t at = begin(b, "trak"), mdia;

	put_tkhd(b, s);
	mdia = begin(b, "mdia");
	put_mdhd(b, s);
	put_hdlr(b, s);
	put_minf(b, s);
	end(b, mdia);
	end(b, at);
}

static void
put_mvex(struct buf *b)
{
	size_t at = begin(b, "mvex"), trex = begin_full(b, "trex", 0, 0);

	put(b, TRACK, 4);
	put(b, 1, 4);
	zeros(b, 12);
	end(b, trex);
	end(b, at);
}

void
cmaf_init(struct buf *b, const struct setup *s)
{
	size_t at = begin(b, "ftyp");

	buf_text(b, "iso6");
	put(b, 0, 4);
	buf_text(b, "iso6cmfcmp41");
	end(b, at);
	at = begin(b, "moov");
	put_mvhd(b);
	put_trak(b, s);
	put_mvex(b);
	end(b, at);
}

void
cmaf_fragment(struct buf *b, uint32_t number, int64_t decode_time, const struct cmaf_frame *f, size_t n)
{
	size_t moof = begin(b, "moof"), at = begin_full(b, "mfhd", 0, 0), traf, place, bytes = 0, i;

	put(b, number, 4);
	end(b, at);
	traf = begin(b, "traf");
	at = begin_full(b, "tfhd", 0, 0x020000);	/* places count from the moof */
	put(b, TRACK, 4);
	end(b, at);
	at = begin_full(b, "tfdt", 1, 0);
	put(b, (uint64_t)decode_time, 8);
	end(b, at);
	/* Of each sample: duration, size, flags, shift, which may be negative. */
	at = begin_full(b, "trun", 1, 0x000f01);
	put(b, n, 4);
	place = b->len;
	put(b, 0, 4);
	for (i = 0; i < n; i++) {
		put(b, (uint64_t)f[i].duration, 4);
		put(b, f[i].size, 4);
		put(b, f[i].key ? SAMPLE_KEY : SAMPLE_OTHER, 4);
		put(b, (uint64_t)(int64_t)f[i].shift, 4);
		bytes += f[i].size;
	}
	end(b, at);
	end(b, traf);
	end(b, moof);
	write_at(b, place, (uint32_t)(b->len - moof + 8));
	put(b, bytes + 8, 4);
	buf_text(b, "mdat");
}
