/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets, tables, and what becomes of the packets of a track: pictures between start codes, AAC behind headers. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/rtmp.h"
#include "fcgi/live/setup.h"
#include "fcgi/live/ts.h"
#include "media/bytes.h"

enum {
	PACKET = 188, SYNC = 0x47, SECTION_MAX = 1024, NO_PID = 0x1fff,
	LOST_MAX = 1 << 20,		/* bytes before there is a track; encoders name them ten times a second */
	VIDEO_MAX = 8 << 20, AUDIO_MAX = 64 << 10,
	SET_MAX = 512, SETS = 4,	/* of one parameter set; pictures' sets */
	TICKS = 90,			/* a millisecond */
	HEADER = 8,			/* of a tag of pictures, at most */
	SAMPLES = 1024,			/* in a frame of AAC */
};
enum { AVC = 0x1b, HEVC = 0x24, ADTS = 0x0f };

/* What is between start codes. */
enum unit { UNIT_OTHER, UNIT_KEY, UNIT_VPS, UNIT_SPS, UNIT_PPS, UNIT_DELIMITER };

struct bytes { uint8_t *at; size_t n, room; };
struct set { uint8_t at[SET_MAX]; size_t n; };

/* A table that may come in several packets. */
struct section { uint8_t at[SECTION_MAX]; size_t n; bool open; };

struct track {
	unsigned pid;
	bool video, open;	/* open: a packet of it has begun and none is missing since */
	uint8_t counter;
	bool counted;
	size_t max;
	struct bytes pes;
};

struct ts {
	ts_media *media;
	void *user;
	const char *fault;
	uint8_t packet[PACKET];
	size_t have, lost;
	unsigned program_pid;
	size_t chosen;
	struct section programs, program;
	struct track video, audio;

	bool timed;
	int64_t clock;		/* ticks: the last time, without wrapping */

	struct bytes tag;
	bool hevc;
	struct set vps, sps, pps[SETS];		/* vps: of HEVC alone */
	size_t n_pps;
	bool sets_changed;

	struct bytes rest;	/* of sound: a frame that goes on in the next packet */
	uint8_t config[2];
	bool configured;
};

static bool
put(struct bytes *b, const void *from, size_t n, size_t max)
{
	if (n > max || b->n > max - n)
		return false;
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->at = realloc(b->at, b->room);
		if (b->at == NULL)
			abort();
	}
	if (n > 0)
		memcpy(b->at + b->n, from, n);
	b->n += n;
	return true;
}

struct ts *
ts_new(ts_media *media, void *user)
{
	struct ts *t = calloc(1, sizeof(*t));

	if (t == NULL)
		abort();
	t->media = media;
	t->user = user;
	t->program_pid = NO_PID;
	t->video = (struct track){ .pid = NO_PID, .video = true, .max = VIDEO_MAX };
	t->audio = (struct track){ .pid = NO_PID, .max = AUDIO_MAX };
	return t;
}

void
ts_free(struct ts *t)
{
	if (t == NULL)
		return;
	free(t->video.pes.at);
	free(t->audio.pes.at);
	free(t->tag.at);
	free(t->rest.at);
	free(t);
}

void
ts_choose(struct ts *t, size_t program)
{
	t->chosen = program;
}

static void
tell(struct ts *t, int type, int64_t ticks, const uint8_t *bytes, size_t n)
{
	if (t->fault == NULL && !t->media(t->user, type, (uint32_t)(ticks / TICKS), bytes, n))
		t->fault = "No more is taken.";
}

/* Times have 33 bits: of those that a time may be, the one next to the last.  The first has room before it. */
static int64_t
unwrapped(struct ts *t, uint64_t time)
{
	const uint64_t all = UINT64_C(1) << 33;
	uint64_t ahead = (time - (uint64_t)t->clock) & (all - 1);

	if (!t->timed)
		t->clock = (int64_t)(time + all);
	else
		t->clock += ahead < all / 2 ? (int64_t)ahead : (int64_t)ahead - (int64_t)all;
	t->timed = true;
	return t->clock;
}

/* --- pictures */

static enum unit
unit_of(const struct ts *t, const uint8_t *unit)
{
	static const enum unit avc[32] = { [5] = UNIT_KEY, [7] = UNIT_SPS, [8] = UNIT_PPS, [9] = UNIT_DELIMITER };
	static const enum unit hevc[64] = { [16] = UNIT_KEY, UNIT_KEY, UNIT_KEY, UNIT_KEY, UNIT_KEY, UNIT_KEY,
		[32] = UNIT_VPS, UNIT_SPS, UNIT_PPS, UNIT_DELIMITER };

	return t->hevc ? hevc[unit[0] >> 1 & 63] : avc[unit[0] & 31];
}

/* Does it differ from the one before? */
static bool
replace(struct set *set, const uint8_t *unit, size_t n)
{
	if (n == set->n && memcmp(unit, set->at, n) == 0)
		return false;
	memcpy(set->at, unit, n);
	set->n = n;
	return true;
}

static void
keep_set(struct ts *t, enum unit kind, const uint8_t *unit, size_t n)
{
	size_t i;

	if (n < 4 || n > SET_MAX)
		return;
	if (kind != UNIT_PPS) {
		if (!replace(kind == UNIT_VPS ? &t->vps : &t->sps, unit, n))
			return;
		t->n_pps = 0;
		t->sets_changed = true;
		return;
	}
	for (i = 0; i < t->n_pps; i++)
		if (n == t->pps[i].n && memcmp(unit, t->pps[i].at, n) == 0)
			return;
	/* A further one, or more than are kept: then another one in the place of the first. */
	replace(&t->pps[t->n_pps < SETS ? t->n_pps++ : 0], unit, n);
	t->sets_changed = true;
}

/* How a tag of pictures begins; returns its length. */
static size_t
head_of(const struct ts *t, uint8_t head[HEADER], bool key, bool is_setup, int32_t shift)
{
	static const uint8_t letters[4] = { 'h', 'v', 'c', '1' };
	size_t n = 0;

	head[n++] = (uint8_t)((key ? 0x10 : 0x20) | (t->hevc ? 0x80 | (is_setup ? 0 : 1) : 7));
	if (t->hevc) {
		memcpy(head + n, letters, sizeof(letters));
		n += sizeof(letters);
	} else {
		head[n++] = is_setup ? 0 : 1;
	}
	if (t->hevc && is_setup)
		return n;
	head[n++] = (uint8_t)(shift >> 16);
	head[n++] = (uint8_t)(shift >> 8);
	head[n++] = (uint8_t)shift;
	return n;
}

static void
put_sets(struct ts *t, const struct set *sets, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		put(&t->tag, (uint8_t[]){ (uint8_t)(sets[i].n >> 8), (uint8_t)sets[i].n }, 2, VIDEO_MAX);
		put(&t->tag, sets[i].at, sets[i].n, VIDEO_MAX);
	}
}

static void
put_avc_setup(struct ts *t)
{
	const uint8_t *sps = t->sps.at;

	put(&t->tag, (uint8_t[]){ 1, sps[1], sps[2], sps[3], 0xff, 0xe1 }, 6, VIDEO_MAX);
	put_sets(t, &t->sps, 1);
	put(&t->tag, (uint8_t[]){ (uint8_t)t->n_pps }, 1, VIDEO_MAX);
	put_sets(t, t->pps, t->n_pps);
}

/* Of an SPS that says too little what is told is refused behind the tag. */
static void
put_hevc_setup(struct ts *t)
{
	uint8_t head[SETUP_HEVC_HEAD];

	setup_hevc_head(t->sps.at, t->sps.n, head);
	put(&t->tag, head, sizeof(head), VIDEO_MAX);
	put(&t->tag, (uint8_t[]){ 3, 0x80 | 32, 0, 1 }, 4, VIDEO_MAX);
	put_sets(t, &t->vps, 1);
	put(&t->tag, (uint8_t[]){ 0x80 | 33, 0, 1 }, 3, VIDEO_MAX);
	put_sets(t, &t->sps, 1);
	put(&t->tag, (uint8_t[]){ 0x80 | 34, 0, (uint8_t)t->n_pps }, 3, VIDEO_MAX);
	put_sets(t, t->pps, t->n_pps);
}

/* avcC or hvcC, in front of the first frame that needs it. */
static void
tell_sets(struct ts *t, int64_t at)
{
	uint8_t head[HEADER];

	t->sets_changed = false;
	t->tag.n = 0;
	put(&t->tag, head, head_of(t, head, true, true, 0), VIDEO_MAX);
	if (t->hevc)
		put_hevc_setup(t);
	else
		put_avc_setup(t);
	tell(t, RTMP_VIDEO, at, t->tag.at, t->tag.n);
}

/* Where the next start code begins, or n. */
static size_t
start_code(const uint8_t *p, size_t from, size_t n)
{
	size_t i;

	for (i = from; i + 3 <= n; i++)
		if (p[i] == 0 && p[i + 1] == 0 && p[i + 2] == 1)
			return i;
	return n;
}

/* The next unit between start codes.  False: there is none. */
static bool
next_unit(const uint8_t *p, size_t n, size_t *at, const uint8_t **unit, size_t *size)
{
	size_t begin = start_code(p, *at, n), end;

	if (begin + 3 >= n)
		return false;
	begin += 3;
	*at = end = start_code(p, begin, n);
	/* Start codes of four bytes, and zeros behind a unit. */
	while (end > begin && p[end - 1] == 0)
		end--;
	*unit = p + begin;
	*size = end - begin;
	return true;
}

static void
put_unit(struct ts *t, const uint8_t *unit, size_t n)
{
	const uint8_t size[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

	put(&t->tag, size, sizeof(size), 2 * VIDEO_MAX);
	put(&t->tag, unit, n, 2 * VIDEO_MAX);
}

static void
take_picture(struct ts *t, int64_t shown, int64_t decoded, const uint8_t *p, size_t n)
{
	const int32_t shift = (int32_t)(shown / TICKS - decoded / TICKS);
	const uint8_t *unit;
	uint8_t head[HEADER];
	size_t at = 0, size, head_size;
	bool key = false;
	enum unit kind;

	while (next_unit(p, n, &at, &unit, &size)) {
		kind = size > 0 ? unit_of(t, unit) : UNIT_OTHER;
		if (kind == UNIT_VPS || kind == UNIT_SPS || kind == UNIT_PPS)
			keep_set(t, kind, unit, size);
		key = key || kind == UNIT_KEY;
	}
	if (t->sps.n == 0 || t->n_pps == 0 || (t->hevc && t->vps.n == 0))
		return;
	if (t->sets_changed)
		tell_sets(t, decoded);
	head_size = head_of(t, head, key, false, shift);
	t->tag.n = 0;
	put(&t->tag, head, head_size, VIDEO_MAX);
	at = 0;
	while (next_unit(p, n, &at, &unit, &size)) {
		kind = size > 0 ? unit_of(t, unit) : UNIT_DELIMITER;
		if (kind == UNIT_OTHER || kind == UNIT_KEY)
			put_unit(t, unit, size);
	}
	if (t->tag.n > head_size)
		tell(t, RTMP_VIDEO, decoded, t->tag.at, t->tag.n);
}

/* --- AAC */

static void
take_frame(struct ts *t, int64_t at, const uint8_t *p, size_t head, size_t n)
{
	const unsigned type = (p[2] >> 6) + 1u, rate = p[2] >> 2 & 15, channels = (p[2] & 1u) << 2 | p[3] >> 6;
	const uint8_t config[2] = { (uint8_t)(type << 3 | rate >> 1), (uint8_t)(rate << 7 | channels << 3) };

	if (!t->configured || memcmp(config, t->config, sizeof(config)) != 0) {
		memcpy(t->config, config, sizeof(config));
		t->configured = true;
		tell(t, RTMP_AUDIO, at, (uint8_t[]){ 0xaf, 0, config[0], config[1] }, 4);
	}
	t->tag.n = 0;
	put(&t->tag, (uint8_t[]){ 0xaf, 1 }, 2, AUDIO_MAX);
	put(&t->tag, p + head, n - head, AUDIO_MAX);
	tell(t, RTMP_AUDIO, at, t->tag.at, t->tag.n);
}

/* The time is that of the first frame that begins in the packet; one that began before it came earlier. */
static void
take_sound(struct ts *t, int64_t at, const uint8_t *bytes, size_t n)
{
	static const unsigned rates[16] = { 96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025,
		8000, 7350 };
	size_t i = 0, size, head, before = t->rest.n;
	int64_t samples = 0;
	const uint8_t *p;
	unsigned rate;

	if (n == 0)
		return;
	put(&t->rest, bytes, n, 2 * AUDIO_MAX);
	p = t->rest.at;
	while (t->rest.n - i >= 7) {
		head = (p[i + 1] & 1) != 0 ? 7 : 9;
		size = (p[i + 3] & 3u) << 11 | (unsigned)p[i + 4] << 3 | p[i + 5] >> 5;
		rate = rates[p[i + 2] >> 2 & 15];
		if (p[i] != 0xff || (p[i + 1] & 0xf6) != 0xf0 || size <= head || rate == 0) {
			i++;
			continue;
		}
		if (size > t->rest.n - i)
			break;
		if (i < before)
			take_frame(t, at - (int64_t)SAMPLES * 1000 * TICKS / rate, p + i, head, size);
		else
			take_frame(t, at + samples++ * SAMPLES * 1000 * TICKS / rate, p + i, head, size);
		i += size;
	}
	memmove(t->rest.at, t->rest.at + i, t->rest.n - i);
	t->rest.n -= i;
}

/* --- packets of tracks */

static uint64_t
time_of(const uint8_t *p)
{
	return (uint64_t)(p[0] >> 1 & 7) << 30 | (uint64_t)p[1] << 22 | (uint64_t)(p[2] >> 1) << 15 |
	    (uint64_t)p[3] << 7 | p[4] >> 1;
}

static void
take_pes(struct ts *t, struct track *track)
{
	const uint8_t *p = track->pes.at;
	const size_t n = track->pes.n;
	size_t head;
	uint64_t shown, decoded;
	int64_t at;

	track->open = false;
	track->pes.n = 0;
	if (n < 14 || p[0] != 0 || p[1] != 0 || p[2] != 1 || (p[6] & 0xc0) != 0x80)
		return;
	head = 9 + (size_t)p[8];
	/* What has no time cannot be shown. */
	if (head > n || (p[7] & 0x80) == 0 || p[8] < 5 || ((p[7] & 0x40) != 0 && p[8] < 10))
		return;
	shown = time_of(p + 9);
	decoded = (p[7] & 0x40) != 0 ? time_of(p + 14) : shown;
	at = unwrapped(t, decoded);
	/* Shown at or behind the time of decoding, by no more than a few frames. */
	shown = (shown - decoded) & ((UINT64_C(1) << 33) - 1);
	if (track->video)
		take_picture(t, at + (int64_t)(shown < (UINT64_C(1) << 32) ? shown : 0), at, p + head, n - head);
	else
		take_sound(t, at, p + head, n - head);
}

/* Sound says how long it is, and need not wait for the next packet. */
static bool
is_whole(const struct bytes *pes)
{
	size_t n = pes->n >= 6 ? (size_t)bytes_big(pes->at + 4, 2) : 0;

	return n > 0 && pes->n >= 6 + n;
}

static void
take_payload(struct ts *t, struct track *track, bool begins, const uint8_t *p, size_t n)
{
	if (begins) {
		if (track->open)
			take_pes(t, track);
		track->pes.n = 0;
		track->open = true;
	}
	if (!track->open)
		return;
	if (!put(&track->pes, p, n, track->max)) {
		t->fault = "A frame is too long.";
		return;
	}
	if (is_whole(&track->pes))
		take_pes(t, track);
}

/* --- tables */

uint32_t
ts_checksum(const uint8_t *p, size_t n)
{
	uint32_t sum = UINT32_MAX;
	size_t i;
	int bit;

	for (i = 0; i < n; i++)
		for (sum ^= (uint32_t)p[i] << 24, bit = 0; bit < 8; bit++)
			sum = sum << 1 ^ ((sum >> 31) != 0 ? UINT32_C(0x04c11db7) : 0);
	return sum;
}

/* A track that comes anew begins anew. */
static void
set_pid(struct track *track, unsigned pid)
{
	if (track->pid == pid)
		return;
	track->pid = pid;
	track->open = track->counted = false;
	track->pes.n = 0;
}

/* Parameter sets are those of one codec. */
static void
set_codec(struct ts *t, bool hevc)
{
	if (t->hevc == hevc)
		return;
	t->hevc = hevc;
	t->vps.n = t->sps.n = t->n_pps = 0;
	set_pid(&t->video, NO_PID);
}

static void
read_program(struct ts *t, const uint8_t *p, size_t n)
{
	unsigned video = NO_PID, audio = NO_PID, pid;
	bool hevc = false;
	size_t i;

	if (n < 16 || p[0] != 2)
		return;
	for (i = 12 + (size_t)(bytes_big(p + 10, 2) & 0xfff); i + 5 + 4 <= n;
	    i += 5 + (size_t)(bytes_big(p + i + 3, 2) & 0xfff)) {
		pid = (unsigned)bytes_big(p + i + 1, 2) & 0x1fff;
		if ((p[i] == AVC || p[i] == HEVC) && video == NO_PID) {
			video = pid;
			hevc = p[i] == HEVC;
		} else if (p[i] == ADTS && audio == NO_PID)
			audio = pid;
	}
	if (video == NO_PID && audio == NO_PID) {
		t->fault = "Only H.264, HEVC and AAC are taken by this way.";
		return;
	}
	set_codec(t, hevc);
	set_pid(&t->video, video);
	set_pid(&t->audio, audio);
}

/* The one that was chosen, of those that are no table of the network. */
static void
read_programs(struct ts *t, const uint8_t *p, size_t n)
{
	size_t i, place = 0;

	if (n < 12 || p[0] != 0)
		return;
	for (i = 8; i + 4 + 4 <= n; i += 4)
		if (bytes_big(p + i, 2) != 0 && place++ == t->chosen) {
			t->program_pid = (unsigned)bytes_big(p + i + 2, 2) & 0x1fff;
			return;
		}
}

static void
take_section(struct ts *t, struct section *s, bool begins, const uint8_t *p, size_t n)
{
	size_t length;

	if (begins) {
		if (n == 0 || p[0] >= n)
			return;
		n -= 1 + (size_t)p[0];
		p += 1 + (size_t)p[0];
		s->n = 0;
		s->open = true;
	}
	if (!s->open || n > SECTION_MAX - s->n) {
		s->open = false;
		return;
	}
	memcpy(s->at + s->n, p, n);
	s->n += n;
	if (s->n < 3)
		return;
	length = 3 + (size_t)(bytes_big(s->at + 1, 2) & 0xfff);
	if (s->n < length)
		return;
	s->open = false;
	if (ts_checksum(s->at, length) != 0)
		return;
	if (s == &t->programs)
		read_programs(t, s->at, length);
	else
		read_program(t, s->at, length);
}

/* --- packets */

static void
track_packet(struct ts *t, struct track *track, const uint8_t *packet, const uint8_t *p, size_t n)
{
	const uint8_t counter = packet[3] & 15;

	/* Sent twice, which may be. */
	if (track->counted && counter == track->counter)
		return;
	if (track->counted && counter != ((track->counter + 1) & 15)) {
		track->open = false;
		t->rest.n = track->video ? t->rest.n : 0;
	}
	track->counter = counter;
	track->counted = true;
	take_payload(t, track, (packet[1] & 0x40) != 0, p, n);
}

static void
take_packet(struct ts *t, const uint8_t *packet)
{
	const unsigned pid = (unsigned)bytes_big(packet + 1, 2) & 0x1fff, adaptation = packet[3] >> 4 & 3;
	const size_t head = 4 + (adaptation == 3 ? 1 + (size_t)packet[4] : 0);
	const bool begins = (packet[1] & 0x40) != 0;

	/* Damaged, scrambled, or without a payload. */
	if ((packet[1] & 0x80) != 0 || (packet[3] & 0xc0) != 0 || (adaptation & 1) == 0 || head >= PACKET ||
	    pid == NO_PID)
		return;
	if (pid == 0)
		take_section(t, &t->programs, begins, packet + head, PACKET - head);
	else if (pid == t->program_pid)
		take_section(t, &t->program, begins, packet + head, PACKET - head);
	else if (pid == t->video.pid)
		track_packet(t, &t->video, packet, packet + head, PACKET - head);
	else if (pid == t->audio.pid)
		track_packet(t, &t->audio, packet, packet + head, PACKET - head);
}

const char *
ts_take(struct ts *t, const uint8_t *bytes, size_t n)
{
	size_t part;

	if (t->video.pid == NO_PID && t->audio.pid == NO_PID && (t->lost += n) > LOST_MAX)
		t->fault = "This is no MPEG transport stream.";
	while (n > 0 && t->fault == NULL) {
		if (t->have == 0 && *bytes != SYNC) {
			bytes++;
			n--;
			continue;
		}
		part = n < PACKET - t->have ? n : PACKET - t->have;
		memcpy(t->packet + t->have, bytes, part);
		t->have += part;
		bytes += part;
		n -= part;
		if (t->have < PACKET)
			break;
		t->have = 0;
		take_packet(t, t->packet);
	}
	return t->fault;
}
