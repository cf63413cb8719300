/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of one encoder after the other become one stream, which each target gets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/livestream_target.h"
#include "fcgi/live/amf.h"
#include "fcgi/live/flv.h"
#include "fcgi/live/relay.h"
#include "fcgi/live/simulcast.h"

enum {
	AHEAD_MS = 10000, BACK_MS = 1000,	/* beyond which a clock has leapt */
	TOLD_MS = 5000,				/* between two that say numbers alone */
	METADATA = 1024, HEAD = 5,
};

struct target {
	struct target *next;
	struct uuid id;
	char url[LIVESTREAM_TARGET_URL + 1];
	struct relay *relay;
	bool named;
	bool told;
	struct relay_news news;		/* that the desk has */
	int64_t told_at;
};

struct simulcast {
	const struct conf *conf;
	struct target *targets;
	bool leaps;
	uint32_t raw;			/* last time of the encoder as it was sent, and what is made of it */
	int64_t clock;
	struct setup setup[2];		/* video, audio: as they were told last */
	bool has[2];
	struct frame *frames[3];	/* the same, and the metadata, as targets get it */
};

struct simulcast *
simulcast_new(const struct conf *conf)
{
	struct simulcast *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->conf = conf;
	s->leaps = true;
	return s;
}

static void
target_free(struct target *t)
{
	relay_end(t->relay);
	free(t);
}

void
simulcast_free(struct simulcast *s)
{
	struct target *t;
	size_t i;

	while ((t = s->targets) != NULL) {
		s->targets = t->next;
		target_free(t);
	}
	for (i = 0; i < 3; i++)
		frame_drop(s->frames[i]);
	free(s);
}

/* --- which there are */

static void
begin(struct simulcast *s, struct target *t, const char *url)
{
	size_t i;

	snprintf(t->url, sizeof(t->url), "%s", url);
	t->relay = relay_new(s->conf, url);
	t->told = false;
	t->news = (struct relay_news){ .status = RELAY_WAITS };
	for (i = 0; i < 3; i++)
		if (s->frames[i] != NULL)
			relay_put(t->relay, s->frames[i]);
}

void
simulcast_want(struct simulcast *s, struct uuid id, const char *url)
{
	struct target *t;

	for (t = s->targets; t != NULL && !uuid_equal(t->id, id); t = t->next)
		continue;
	if (t == NULL) {
		t = calloc(1, sizeof(*t));
		if (t == NULL)
			abort();
		t->id = id;
		t->next = s->targets;
		s->targets = t;
		begin(s, t, url);
	} else if (strcmp(t->url, url) != 0) {
		relay_end(t->relay);
		begin(s, t, url);
	}
	t->named = true;
}

void
simulcast_named_all(struct simulcast *s)
{
	struct target **t = &s->targets, *old;

	while ((old = *t) != NULL) {
		if (old->named) {
			old->named = false;
			t = &old->next;
			continue;
		}
		*t = old->next;
		target_free(old);
	}
}

/* --- what they get */

static void
put(struct simulcast *s, struct frame *f)
{
	struct target *t;

	for (t = s->targets; t != NULL; t = t->next)
		relay_put(t->relay, f);
}

static void
put_setup(struct simulcast *s, size_t i, int kind, const struct buf *b)
{
	frame_drop(s->frames[i]);
	s->frames[i] = frame_new(kind, FRAME_SETUP, s->clock, (const uint8_t *)b->text, b->len);
	put(s, s->frames[i]);
}

static void
put_metadata(struct simulcast *s)
{
	static const double codecs[] = { [FLV_AVC] = 7, [FLV_HEVC] = 0x68766331, [FLV_AV1] = 0x61763031,
		[FLV_AAC] = 10 };
	char room[METADATA];
	struct buf b = BUF_OVER(room);

	amf_put_string(&b, "@setDataFrame");
	amf_put_string(&b, "onMetaData");
	amf_put_begin(&b);
	amf_put_key(&b, "encoder");
	amf_put_string(&b, "Kinothek");
	if (s->has[0]) {
		amf_put_key(&b, "width");
		amf_put_number(&b, s->setup[0].width);
		amf_put_key(&b, "height");
		amf_put_number(&b, s->setup[0].height);
		amf_put_key(&b, "videocodecid");
		amf_put_number(&b, codecs[s->setup[0].codec]);
	}
	if (s->has[1]) {
		amf_put_key(&b, "audiosamplerate");
		amf_put_number(&b, s->setup[1].rate);
		amf_put_key(&b, "audiocodecid");
		amf_put_number(&b, codecs[s->setup[1].codec]);
	}
	amf_put_end(&b);
	put_setup(s, 0, RTMP_DATA, &b);
}

/* As encoders send it: FLV knows H.264 and AAC, and the rest goes by four letters. */
static void
put_track(struct simulcast *s, size_t i)
{
	static const uint8_t avc[HEAD] = { 0x17 }, aac[2] = { 0xaf };
	static const uint8_t hevc[HEAD] = { 0x90, 'h', 'v', 'c', '1' }, av1[HEAD] = { 0x90, 'a', 'v', '0', '1' };
	const struct setup *now = &s->setup[i];
	char room[HEAD + SETUP_MAX + 1];
	struct buf b = BUF_OVER(room);

	if (i == 1)
		buf_add(&b, (const char *)aac, sizeof(aac));
	else
		buf_add(&b, (const char *)(now->codec == FLV_AVC ? avc : now->codec == FLV_HEVC ? hevc : av1), HEAD);
	buf_add(&b, (const char *)now->bytes, now->n);
	put_setup(s, i + 1, i == 0 ? RTMP_VIDEO : RTMP_AUDIO, &b);
}

static bool
same_setup(const struct setup *a, const struct setup *b)
{
	return a->codec == b->codec && a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

static void
look_at_setups(struct simulcast *s, const struct feed *source)
{
	bool changed = false;
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct setup *now = feed_setup(source, i == 0);

		if (now == NULL || (s->has[i] && same_setup(now, &s->setup[i])))
			continue;
		s->setup[i] = *now;
		s->has[i] = changed = true;
		put_track(s, i);
	}
	if (changed)
		put_metadata(s);
}

void
simulcast_leap(struct simulcast *s)
{
	s->leaps = true;
}

/* A time on the clock that all encoders share: what leaps goes on a second later. */
static int64_t
on_clock(struct simulcast *s, uint32_t ms)
{
	int64_t at = s->clock + (int32_t)(ms - s->raw);

	if (s->leaps || at > s->clock + AHEAD_MS || at < s->clock - BACK_MS) {
		s->leaps = false;
		s->raw = ms;
		return s->clock += BACK_MS;
	}
	if (at > s->clock) {
		s->clock = at;
		s->raw = ms;
	}
	return at;
}

void
simulcast_media(struct simulcast *s, const struct feed *source, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct frame *f;
	struct flv v;

	if (kind == RTMP_DATA || !(kind == RTMP_VIDEO ? flv_video(bytes, n, &v) : flv_audio(bytes, n, &v)))
		return;
	look_at_setups(s, source);
	if (v.kind != FLV_FRAME)
		return;
	f = frame_new(kind, v.key ? FRAME_KEY : FRAME_OTHER, on_clock(s, ms), bytes, n);
	put(s, f);
	frame_drop(f);
}

/* --- what is told of them */

static void
tell(struct target *t, struct desk *desk, const struct desk_stream *stream, const struct relay_news *news, int64_t now)
{
	struct desk_note n = { .word = DESK_TARGET_TOLD, .stream = *stream, .target = t->id };

	n.on = !t->told || news->status != t->news.status || news->reason != t->news.reason || news->retry_at !=
	    t->news.retry_at;
	if (!n.on && (now - t->told_at < TOLD_MS || (news->bytes == t->news.bytes && news->dropped == t->news.dropped)))
		return;
	n.news = (struct livestream_target_news){ .sends = news->status == RELAY_SENDS, .fails = news->status ==
	    RELAY_FAILS, .retry_ms = news->retry_at > now ? news->retry_at - now : 0, .bytes = news->bytes -
	    t->news.bytes, .dropped = news->dropped - t->news.dropped };
	snprintf(n.news.reason, sizeof(n.news.reason), "%s", news->reason != NULL ? news->reason : "");
	desk_put(desk, &n);
	t->news = *news;
	t->told = true;
	t->told_at = now;
}

void
simulcast_tell(struct simulcast *s, struct desk *desk, const struct desk_stream *stream, int64_t now)
{
	struct relay_news news;
	struct target *t;

	for (t = s->targets; t != NULL; t = t->next) {
		relay_look(t->relay, &news);
		tell(t, desk, stream, &news, now);
	}
}
