/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avcC and hvcC (ISO/IEC 14496-15), av1C (AV1 in ISO BMFF), AudioSpecificConfig (ISO/IEC 14496-3), and so much of the
 * parameter sets in them (H.264 7.3.2.1, H.265 7.3.2.2, AV1 5.5.1) as the size of the picture needs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/live/setup.h"
#include "media/bytes.h"

enum { SIDE_MAX = 16384, SPS_MAX = 1024 };

static const char cut_off[] = "The description of the codec is cut off.";
static const char no_size[] = "The description of the codec names no size that can be.";

/* Bits from the highest of a byte on.  Behind the end there are zeros, and .past is set. */
struct bits { const uint8_t *at; size_t n, i; bool past; };

static uint32_t
bits(struct bits *b, unsigned n)
{
	uint32_t x = 0;

	for (; n > 0; n--, b->i++) {
		x <<= 1;
		if (b->i / 8 < b->n)
			x |= b->at[b->i / 8] >> (7 - b->i % 8) & 1;
		else
			b->past = true;
	}
	return x;
}

static void
skip_bits(struct bits *b, unsigned n)
{
	for (; n > 32; n -= 32)
		bits(b, 32);
	bits(b, n);
}

/* Exp-Golomb, unsigned; signed ones are only passed over here, for which it is the same. */
static uint32_t
golomb(struct bits *b)
{
	unsigned zeros = 0;

	while (!b->past && bits(b, 1) == 0)
		if (++zeros > 31) {
			b->past = true;
			return 0;
		}
	return (1u << zeros) - 1 + bits(b, zeros);
}

/* A parameter set without the bytes that keep start codes out of it. */
static struct bits
unescaped(const uint8_t *bytes, size_t n, uint8_t out[SPS_MAX])
{
	struct bits b = { out, 0, 0, false };
	size_t i, zeros = 0;

	for (i = 0; i < n && b.n < SPS_MAX; i++) {
		if (zeros >= 2 && bytes[i] == 3) {
			zeros = 0;
			continue;
		}
		zeros = bytes[i] == 0 ? zeros + 1 : 0;
		out[b.n++] = bytes[i];
	}
	return b;
}

static const char *
sized(struct setup *s, bool past, uint64_t width, uint64_t height)
{
	if (past || width < 16 || height < 16 || width > SIDE_MAX || height > SIDE_MAX)
		return no_size;
	s->width = (unsigned)width;
	s->height = (unsigned)height;
	return NULL;
}

static void
skip_scaling_list(struct bits *b, unsigned n)
{
	int32_t last = 8, next = 8, delta;
	uint32_t code;
	unsigned i;

	for (i = 0; i < n && !b->past; i++) {
		if (next != 0) {
			code = golomb(b);
			delta = (code & 1) != 0 ? (int32_t)((code + 1) / 2) : -(int32_t)(code / 2);
			next = (int32_t)(((int64_t)last + delta) & 255);
		}
		last = next == 0 ? last : next;
	}
}

static bool
is_high(unsigned profile)
{
	static const uint8_t high[] = { 100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135 };

	return memchr(high, (int)profile, sizeof(high)) != NULL;
}

/* What profiles above Main say about colours and depth.  False: not the one way that all players know. */
static bool
avc_colours(struct bits *b)
{
	uint32_t format = golomb(b), i;
	bool common = format == 1;

	if (format == 3)
		bits(b, 1);
	common = golomb(b) == 0 && common;
	common = golomb(b) == 0 && common;
	bits(b, 1);
	if (bits(b, 1) != 0)
		for (i = 0; i < (format == 3 ? 12 : 8); i++)
			if (bits(b, 1) != 0)
				skip_scaling_list(b, i < 6 ? 16 : 64);
	return common;
}

static void
avc_order(struct bits *b)
{
	uint32_t type = golomb(b), n, i;

	if (type == 0) {
		golomb(b);
	} else if (type == 1) {
		bits(b, 1);
		golomb(b);
		golomb(b);
		n = golomb(b);
		for (i = 0; i < n && i < 256; i++)
			golomb(b);
	}
}

static const char *
avc_sps(struct setup *s, const uint8_t *bytes, size_t n)
{
	uint8_t plain[SPS_MAX];
	struct bits b = unescaped(bytes, n, plain);
	uint32_t profile, columns, rows, frames_only, crop[4] = { 0 }, i;

	skip_bits(&b, 8);
	profile = bits(&b, 8);
	skip_bits(&b, 16);
	golomb(&b);
	if (is_high(profile) && !avc_colours(&b))
		return "Only H.264 with 4:2:0 and 8 bits plays everywhere: set the encoder to the profile high.";
	golomb(&b);
	avc_order(&b);
	golomb(&b);
	bits(&b, 1);
	columns = golomb(&b);
	rows = golomb(&b);
	frames_only = bits(&b, 1);
	s->interlaced = frames_only == 0;
	if (frames_only == 0)
		bits(&b, 1);
	bits(&b, 1);
	if (bits(&b, 1) != 0)
		for (i = 0; i < 4; i++)
			crop[i] = golomb(&b);
	if (columns >= SIDE_MAX / 16 || rows >= SIDE_MAX / 16)
		return no_size;
	for (i = 0; i < 4; i++)
		if (crop[i] > SIDE_MAX)
			return no_size;
	return sized(s, b.past, (uint64_t)((int64_t)(columns + 1) * 16 - 2 * ((int64_t)crop[0] + crop[1])),
	    (uint64_t)((2 - (int64_t)frames_only) * ((int64_t)(rows + 1) * 16 - 2 * ((int64_t)crop[2] + crop[3]))));
}

static const char *
read_avc(struct setup *s)
{
	const uint8_t *p = s->bytes;
	size_t n;

	if (s->n < 8 || p[0] != 1 || (p[4] & 3) == 2 || (p[5] & 31) == 0)
		return cut_off;
	n = (size_t)bytes_big(p + 6, 2);
	if (n < 4 || n > s->n - 8)
		return cut_off;
	snprintf(s->codecs, sizeof(s->codecs), "avc1.%02x%02x%02x", p[1], p[2], p[3]);
	return avc_sps(s, p + 8, n);
}

enum { HEVC_PROFILE = 12 };	/* bytes */

/* What an SPS says, as far as its depths. */
struct hevc {
	uint8_t profile[HEVC_PROFILE];		/* space, tier, profile, compatibilities, constraints and level */
	uint32_t layers;			/* besides the first */
	bool nested;
	uint32_t format, width, height, crop[4], depths[2];
	bool past;
};

static void
skip_hevc_layers(struct bits *b, uint32_t layers)
{
	bool profile[8] = { 0 }, level[8] = { 0 };
	uint32_t i;

	for (i = 0; i < layers; i++) {
		profile[i] = bits(b, 1) != 0;
		level[i] = bits(b, 1) != 0;
	}
	if (layers > 0)
		skip_bits(b, 2 * (8 - layers));
	for (i = 0; i < layers; i++)
		skip_bits(b, (profile[i] ? 88u : 0u) + (level[i] ? 8u : 0u));
}

static struct hevc
read_hevc_sps(const uint8_t *bytes, size_t n)
{
	uint8_t plain[SPS_MAX];
	struct bits b = unescaped(bytes, n, plain);
	struct hevc h = { 0 };
	uint32_t i;

	skip_bits(&b, 16 + 4);
	h.layers = bits(&b, 3);
	h.nested = bits(&b, 1) != 0;
	for (i = 0; i < HEVC_PROFILE; i++)
		h.profile[i] = (uint8_t)bits(&b, 8);
	skip_hevc_layers(&b, h.layers);
	golomb(&b);
	h.format = golomb(&b);
	if (h.format == 3)
		bits(&b, 1);
	h.width = golomb(&b);
	h.height = golomb(&b);
	if (bits(&b, 1) != 0)
		for (i = 0; i < 4; i++)
			h.crop[i] = golomb(&b);
	for (i = 0; i < 2; i++)
		h.depths[i] = golomb(&b);
	h.past = b.past || h.layers > 6;
	return h;
}

static const char *
hevc_sps(struct setup *s, const uint8_t *bytes, size_t n)
{
	const struct hevc h = read_hevc_sps(bytes, n);
	uint32_t i, wide, high;

	if (h.format != 1)
		return "Only HEVC with 4:2:0 plays: set the encoder to the profile main or main10.";
	for (i = 0; i < 4; i++)
		if (h.crop[i] > SIDE_MAX)
			return no_size;
	wide = 2 * (h.crop[0] + h.crop[1]);
	high = 2 * (h.crop[2] + h.crop[3]);
	if (h.width > SIDE_MAX || h.height > SIDE_MAX || wide > h.width || high > h.height)
		return no_size;
	return sized(s, h.past, h.width - wide, h.height - high);
}

void
setup_hevc_head(const uint8_t *sps, size_t n, uint8_t head[SETUP_HEVC_HEAD])
{
	const struct hevc h = read_hevc_sps(sps, n);

	memset(head, 0, SETUP_HEVC_HEAD);
	if (h.past || h.format > 3 || h.depths[0] > 7 || h.depths[1] > 7)
		return;
	head[0] = 1;
	memcpy(head + 1, h.profile, HEVC_PROFILE);
	/* Nothing is known of slices, of who decodes beside others, and of the rate. */
	head[13] = 0xf0;
	head[15] = 0xfc;
	head[16] = (uint8_t)(0xfc | h.format);
	head[17] = (uint8_t)(0xf8 | h.depths[0]);
	head[18] = (uint8_t)(0xf8 | h.depths[1]);
	head[21] = (uint8_t)((h.layers + 1) << 3 | (h.nested ? 4 : 0) | 3);
}

/* "hvc1.1.6.L93.B0": profile, its compatibilities from the lowest bit on, tier and level, constraints to the last that
 * is not zero. */
static void
hevc_codecs(struct setup *s)
{
	static const char *const spaces[] = { "", "A", "B", "C" };
	const uint8_t *p = s->bytes;
	uint32_t given = (uint32_t)bytes_big(p + 2, 4), turned = 0;
	int i, n, last = 5;

	for (i = 0; i < 32; i++)
		turned |= (given >> i & 1) << (31 - i);
	n = snprintf(s->codecs, sizeof(s->codecs), "hvc1.%s%d.%X.%c%d", spaces[p[1] >> 6], p[1] & 31, turned,
	    (p[1] & 32) != 0 ? 'H' : 'L', p[12]);
	while (last >= 0 && p[6 + last] == 0)
		last--;
	for (i = 0; i <= last; i++)
		n += snprintf(s->codecs + n, sizeof(s->codecs) - (size_t)n, ".%X", p[6 + i]);
}

static const char *
read_hevc(struct setup *s)
{
	const uint8_t *p = s->bytes;
	size_t at = 23, n, sets, i, j;

	if (s->n < 23 || p[0] != 1)
		return cut_off;
	hevc_codecs(s);
	for (i = 0; i < p[22]; i++) {
		if (s->n - at < 3)
			return cut_off;
		sets = (size_t)bytes_big(p + at + 1, 2);
		j = at;
		at += 3;
		for (; sets > 0; sets--) {
			if (s->n - at < 2)
				return cut_off;
			n = (size_t)bytes_big(p + at, 2);
			at += 2;
			if (n > s->n - at)
				return cut_off;
			if ((p[j] & 63) == 33)
				return hevc_sps(s, p + at, n);
			at += n;
		}
	}
	return cut_off;
}

static void
av1_model(struct bits *b, bool timed, unsigned delay_bits)
{
	uint32_t points = bits(b, 5) + 1, i;

	for (i = 0; i < points && !b->past; i++) {
		skip_bits(b, 12);
		if (bits(b, 5) > 7)
			bits(b, 1);
		if (timed && bits(b, 1) != 0)
			skip_bits(b, 2 * delay_bits + 1);
	}
}

/* The model of the decoder in the sequence header; false where what stands in it is not passed over here. */
static bool
av1_points(struct bits *b)
{
	bool timing = bits(b, 1) != 0, model = false, delays;
	unsigned delay_bits = 0;

	if (timing) {
		skip_bits(b, 64);
		if (bits(b, 1) != 0)
			golomb(b);
		model = bits(b, 1) != 0;
		if (model) {
			delay_bits = bits(b, 5) + 1;
			skip_bits(b, 32 + 10);
		}
	}
	delays = bits(b, 1) != 0;
	if (delays)
		return false;
	av1_model(b, model, delay_bits);
	return true;
}

static const char *
av1_sequence(struct setup *s, const uint8_t *bytes, size_t n)
{
	struct bits b = { bytes, n, 0, false };
	uint32_t reduced, wide, high;

	skip_bits(&b, 3 + 1);
	reduced = bits(&b, 1);
	if (reduced != 0)
		skip_bits(&b, 5);
	else if (!av1_points(&b))
		return "This form of AV1 is not known.";
	wide = bits(&b, 4) + 1;
	high = bits(&b, 4) + 1;
	wide = bits(&b, wide) + 1;
	high = bits(&b, high) + 1;
	return sized(s, b.past, wide, high);
}

static const char *
read_av1(struct setup *s)
{
	const uint8_t *p = s->bytes;
	size_t at = 4, n = 0;
	unsigned shift, level;

	if (s->n < 6 || p[0] != 0x81)
		return cut_off;
	/* The sequence header comes first: type 1, with its size behind it. */
	if ((p[at] >> 3 & 15) != 1 || (p[at] & 2) == 0)
		return cut_off;
	at += (p[at] & 4) != 0 ? 2 : 1;
	for (shift = 0; at < s->n && shift < 28; shift += 7) {
		n |= (size_t)(p[at] & 127) << shift;
		if ((p[at++] & 128) == 0)
			break;
	}
	if (at >= s->n || n > s->n - at)
		return cut_off;
	level = p[1] & 31;
	snprintf(s->codecs, sizeof(s->codecs), "av01.%d.%02u%c.%s", p[1] >> 5, level, (p[2] & 128) != 0 ? 'H' : 'M',
	    (p[2] & 64) == 0 ? "08" : (p[2] & 32) != 0 ? "12" : "10");
	return av1_sequence(s, p + at, n);
}

static const char *
read_aac(struct setup *s)
{
	static const unsigned rates[] = { 96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025,
		8000, 7350 };
	struct bits b = { s->bytes, s->n, 0, false };
	uint32_t type = bits(&b, 5), rate;

	if (type == 31)
		type = 32 + bits(&b, 6);
	rate = bits(&b, 4);
	s->rate = rate == 15 ? bits(&b, 24) : rate < sizeof(rates) / sizeof(*rates) ? rates[rate] : 0;
	s->channels = bits(&b, 4);
	/* With a copy of the band (5, 29) the rate is that of the core, and so are the samples of its frames. */
	if (type == 5 || type == 29) {
		if (bits(&b, 4) == 15)
			skip_bits(&b, 24);
		bits(&b, 5);
	}
	s->frame_samples = bits(&b, 1) != 0 ? 960 : 1024;
	if (b.past)
		return cut_off;
	if (type != 2 && type != 5 && type != 29)
		return "Only AAC-LC and HE-AAC play: set the encoder to one of them.";
	if (s->rate < 7350 || s->rate > 96000 || s->channels < 1 || s->channels > 2)
		return "Only sound with one or two channels plays everywhere: set the encoder to stereo.";
	snprintf(s->codecs, sizeof(s->codecs), "mp4a.40.%u", type);
	return NULL;
}

const char *
setup_read(struct setup *s, enum flv_codec codec, const uint8_t *bytes, size_t n)
{
	memset(s, 0, sizeof(*s));
	if (n == 0 || n > SETUP_MAX)
		return cut_off;
	s->codec = codec;
	s->n = n;
	memcpy(s->bytes, bytes, n);
	switch (codec) {
	case FLV_AVC:
		return read_avc(s);
	case FLV_HEVC:
		return read_hevc(s);
	case FLV_AV1:
		return read_av1(s);
	case FLV_AAC:
		return read_aac(s);
	default:
		return "This codec is not known: H.264, HEVC or AV1 with AAC are.";
	}
}
