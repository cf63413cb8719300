/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Start codes and headers of sound in front of frames, which packets of 188 bytes carry. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/flv.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/ts.h"
#include "fcgi/live/ts_put.h"
#include "media/bytes.h"

enum {
	PACKET = 188, PROGRAM_PID = 0x1000, VIDEO_PID = 0x100, AUDIO_PID = 0x101,
	TICKS = 90,			/* a millisecond */
	AHEAD = 63000,			/* of what is decoded before the clock, in ticks: a decoder waits for so long */
	TABLES_MS = 200,
	SETS_MAX = 2048,		/* bytes of parameter sets */
};

struct bytes { uint8_t *at; size_t n, room; };

struct ts_put {
	struct bytes out, pes;
	uint8_t counters[4];		/* of the programs, the program, video, audio */
	uint8_t sets[SETS_MAX];		/* parameter sets, behind start codes */
	size_t sets_n;
	unsigned size_bytes;		/* in front of each unit of a frame */
	uint8_t audio[2];
	bool has_video, has_audio;
	bool said;			/* tables, at: */
	uint32_t said_ms;
};

static uint8_t *
room(struct bytes *b, size_t n)
{
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->at = realloc(b->at, b->room);
		if (b->at == NULL)
			abort();
	}
	b->n += n;
	return b->at + b->n - n;
}

static void
put(struct bytes *b, const void *bytes, size_t n)
{
	if (n > 0)
		memcpy(room(b, n), bytes, n);
}

struct ts_put *
ts_put_new(void)
{
	struct ts_put *t = calloc(1, sizeof(*t));

	if (t == NULL)
		abort();
	return t;
}

void
ts_put_free(struct ts_put *t)
{
	if (t == NULL)
		return;
	free(t->out.at);
	free(t->pes.at);
	free(t);
}

size_t
ts_put_out(const struct ts_put *t, const uint8_t **bytes)
{
	*bytes = t->out.at;
	return t->out.n;
}

void
ts_put_sent(struct ts_put *t, size_t n)
{
	memmove(t->out.at, t->out.at + n, t->out.n - n);
	t->out.n -= n;
}

/* --- tables */

/* One section, in a packet of its own. */
static void
put_table(struct ts_put *t, unsigned pid, uint8_t *counter, uint8_t *section, size_t n)
{
	uint8_t *p = room(&t->out, PACKET);
	uint32_t sum;

	section[1] = 0xb0;
	section[2] = (uint8_t)(n - 3 + 4);
	sum = ts_checksum(section, n);
	memset(p, 0xff, PACKET);
	memcpy(p, (uint8_t[]){ 0x47, (uint8_t)(0x40 | pid >> 8), (uint8_t)pid, (uint8_t)(0x10 | (*counter)++ % 16), 0
	    }, 5);
	memcpy(p + 5, section, n);
	memcpy(p + 5 + n, (uint8_t[]){ (uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8), (uint8_t)sum
	    }, 4);
}

static void
put_tables(struct ts_put *t)
{
	const unsigned clock = t->has_video ? VIDEO_PID : AUDIO_PID;
	uint8_t programs[12] = { 0, 0, 0, 0, 1, 0xc1, 0, 0, 0, 1, 0xe0 | PROGRAM_PID >> 8, PROGRAM_PID & 255 };
	uint8_t program[22] = { 2, 0, 0, 0, 1, 0xc1, 0, 0, (uint8_t)(0xe0 | clock >> 8), (uint8_t)clock, 0xf0, 0 };
	size_t n = 12;

	if (t->has_video) {
		memcpy(program + n, (uint8_t[]){ 0x1b, 0xe0 | VIDEO_PID >> 8, VIDEO_PID & 255, 0xf0, 0 }, 5);
		n += 5;
	}
	if (t->has_audio) {
		memcpy(program + n, (uint8_t[]){ 0x0f, 0xe0 | AUDIO_PID >> 8, AUDIO_PID & 255, 0xf0, 0 }, 5);
		n += 5;
	}
	put_table(t, 0, &t->counters[0], programs, sizeof(programs));
	put_table(t, PROGRAM_PID, &t->counters[1], program, n);
}

/* --- frames */

static void
put_time(struct bytes *b, unsigned mark, uint64_t ticks)
{
	put(b, (uint8_t[]){ (uint8_t)(mark << 4 | (ticks >> 29 & 14) | 1), (uint8_t)(ticks >> 22),
	    (uint8_t)((ticks >> 14 & 254) | 1), (uint8_t)(ticks >> 7), (uint8_t)((ticks << 1 & 254) | 1) }, 5);
}

/* The head of a frame; one of video says no length. */
static void
begin_pes(struct ts_put *t, unsigned stream, uint64_t shown, uint64_t decoded, size_t n)
{
	const bool both = shown != decoded;
	const size_t length = stream == 0xe0 ? 0 : 3 + 5 + n;

	t->pes.n = 0;
	put(&t->pes, (uint8_t[]){ 0, 0, 1, (uint8_t)stream, (uint8_t)(length >> 8), (uint8_t)length, 0x80,
	    both ? 0xc0 : 0x80, both ? 10 : 5 }, 9);
	put_time(&t->pes, both ? 3 : 2, shown);
	if (both)
		put_time(&t->pes, 1, decoded);
}

/* With the clock in the first packet, and what the last one does not need as stuffing in front. */
static void
put_pes(struct ts_put *t, unsigned pid, uint8_t *counter, bool key, bool with_clock, uint64_t clock)
{
	const uint8_t *from = t->pes.at;
	size_t left = t->pes.n, extra, part;
	bool first = true;
	uint8_t *p;

	for (; left > 0; first = false) {
		const bool tells = first && (with_clock || key);

		/* Its length, flags and the clock. */
		extra = tells ? with_clock ? 8 : 2 : 0;
		part = left < PACKET - 4 - extra ? left : PACKET - 4 - extra;
		extra = PACKET - 4 - part;
		p = room(&t->out, PACKET);
		memcpy(p, (uint8_t[]){ 0x47, (uint8_t)((first ? 0x40 : 0) | pid >> 8), (uint8_t)pid,
		    (uint8_t)((extra > 0 ? 0x30 : 0x10) | (*counter)++ % 16) }, 4);
		memset(p + 4, 0xff, extra);
		if (extra > 0)
			p[4] = (uint8_t)(extra - 1);
		if (extra > 1)
			p[5] = (uint8_t)((tells && key ? 0x40 : 0) | (tells && with_clock ? 0x10 : 0));
		if (tells && with_clock)
			memcpy(p + 6, (uint8_t[]){ (uint8_t)(clock >> 25), (uint8_t)(clock >> 17), (uint8_t)(clock >>
			    9),
			    (uint8_t)(clock >> 1), (uint8_t)(clock << 7 | 0x7e), 0 }, 6);
		memcpy(p + 4 + extra, from, part);
		from += part;
		left -= part;
	}
}

/* avcC: sets with their sizes, twice. */
static bool
take_sets(struct ts_put *t, const uint8_t *p, size_t n)
{
	size_t at = 6, sets, size, i, kind;

	if (n < 7)
		return false;
	t->size_bytes = (p[4] & 3u) + 1;
	t->sets_n = 0;
	for (kind = 0, sets = p[5] & 31; kind < 2; kind++) {
		for (i = 0; i < sets; i++) {
			if (n - at < 2)
				return false;
			size = (size_t)bytes_big(p + at, 2);
			at += 2;
			if (size > n - at || t->sets_n + 4 + size > SETS_MAX)
				return false;
			memcpy(t->sets + t->sets_n, (uint8_t[]){ 0, 0, 0, 1 }, 4);
			memcpy(t->sets + t->sets_n + 4, p + at, size);
			t->sets_n += 4 + size;
			at += size;
		}
		if (kind == 0 && n - at < 1)
			return false;
		sets = kind == 0 ? p[at++] : 0;
	}
	t->has_video = true;
	return true;
}

static void
put_picture(struct ts_put *t, uint64_t at, const struct flv *v)
{
	static const uint8_t delimiter[6] = { 0, 0, 0, 1, 9, 0xf0 };
	const uint8_t *p = v->data;
	size_t left = v->n, size;

	begin_pes(t, 0xe0, (uint64_t)((int64_t)at + (int64_t)v->shift * TICKS), at, 0);
	put(&t->pes, delimiter, sizeof(delimiter));
	if (v->key)
		put(&t->pes, t->sets, t->sets_n);
	while (left > t->size_bytes) {
		size = (size_t)bytes_big(p, t->size_bytes);
		p += t->size_bytes;
		left -= t->size_bytes;
		size = size < left ? size : left;
		put(&t->pes, (uint8_t[]){ 0, 0, 0, 1 }, 4);
		put(&t->pes, p, size);
		p += size;
		left -= size;
	}
	put_pes(t, VIDEO_PID, &t->counters[2], v->key, true, at - AHEAD);
}

/* Kind, rate and channels are in two bytes of what a decoder is set up with. */
static void
put_sound(struct ts_put *t, uint64_t at, const struct flv *v)
{
	const unsigned kind = t->audio[0] >> 3, rate = (t->audio[0] & 7u) << 1 | t->audio[1] >> 7,
	    channels = t->audio[1] >> 3 & 15;
	const size_t n = v->n + 7;
	/* What is more than AAC-LC is found out by who decodes it. */
	const unsigned profile = kind >= 1 && kind <= 4 ? kind - 1 : 1;

	begin_pes(t, 0xc0, at, at, n);
	put(&t->pes, (uint8_t[]){ 0xff, 0xf1, (uint8_t)(profile << 6 | rate << 2 | channels >> 2),
	    (uint8_t)(channels << 6 | n >> 11), (uint8_t)(n >> 3), (uint8_t)(n << 5 | 0x1f), 0xfc }, 7);
	put(&t->pes, v->data, v->n);
	put_pes(t, AUDIO_PID, &t->counters[3], false, !t->has_video, at - AHEAD);
}

static bool
take_setup(struct ts_put *t, int kind, const struct flv *v)
{
	t->said = false;
	if (kind == RTMP_VIDEO)
		return v->codec == FLV_AVC && take_sets(t, v->data, v->n);
	if (v->codec != FLV_AAC || v->n < 2)
		return false;
	memcpy(t->audio, v->data, 2);
	return t->has_audio = true;
}

bool
ts_put_tag(struct ts_put *t, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	const bool video = kind == RTMP_VIDEO;
	const uint64_t at = (uint64_t)ms * TICKS + 2 * AHEAD;
	struct flv v;

	if (!(video ? flv_video(bytes, n, &v) : flv_audio(bytes, n, &v)))
		return false;
	if (v.kind == FLV_NOTHING)
		return true;
	if (v.kind == FLV_SETUP)
		return take_setup(t, kind, &v);
	if (v.codec != (video ? FLV_AVC : FLV_AAC))
		return false;
	if (!(video ? t->has_video : t->has_audio))
		return true;
	if (!t->said || (video && v.key) || ms - t->said_ms >= TABLES_MS) {
		put_tables(t);
		t->said = true;
		t->said_ms = ms;
	}
	if (video)
		put_picture(t, at, &v);
	else
		put_sound(t, at, &v);
	return true;
}
