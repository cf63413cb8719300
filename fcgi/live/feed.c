/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times and tracks of one publisher. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/feed.h"
#include "fcgi/live/flv.h"
#include "fcgi/live/rtmp.h"

enum {
	AHEAD_MS = 10000, BACK_MS = 1000,	/* beyond which a clock has leapt */
	DRIFT_MS = 100,
	UNANNOUNCED_MS = 1000,			/* until a track that nothing has announced is not waited for */
	FRAME_MS = 33,				/* of the first frame, as long as there is no second one */
	SHIFT_MAX_MS = 10000,
	HELD_MAX = 4 << 20,
};

/* A frame that waits until all tracks are known: the first sound comes some frames behind the first picture, and the
 * next key frame seconds later. */
struct held { struct held *next; bool video; int64_t at; struct flv frame; uint8_t bytes[]; };

struct feed {
	const char *fault;
	struct setup video, audio;		/* as they came last */
	bool has_video, has_audio, announced;
	struct flv_metadata metadata;

	bool heard;				/* is there a clock? */
	uint32_t raw;				/* the last time as it was sent */
	int64_t clock, first;			/* ms: the last one without wrapping, the first one */

	int64_t session;			/* that may begin; 0: none */
	bool wanted, running;
	int64_t passed;				/* ms that the clock has gone on, a leap for BACK_MS */
	int64_t zero;				/* ms of the clock at which the session began */
	int64_t video_ms, frame_ms, samples;	/* last frame, how long the last one was, samples since zero */
	bool sounds;
	int64_t dropped;

	struct held *held, **last;		/* in order */
	size_t held_bytes;
};

struct feed *
feed_new(void)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (f == NULL)
		abort();
	f->wanted = true;
	return f;
}

static void
let_go(struct feed *f)
{
	struct held *h;

	while ((h = f->held) != NULL) {
		f->held = h->next;
		free(h);
	}
	f->held_bytes = 0;
}

void
feed_free(struct feed *f)
{
	if (f != NULL)
		let_go(f);
	free(f);
}

const char *
feed_fault(const struct feed *f)
{
	return f->fault;
}

const struct setup *
feed_setup(const struct feed *f, bool video)
{
	if (video)
		return f->has_video ? &f->video : NULL;
	return f->has_audio ? &f->audio : NULL;
}

int64_t
feed_dropped(const struct feed *f)
{
	return f->dropped;
}

int64_t
feed_passed(const struct feed *f)
{
	return f->passed;
}

void
feed_begin(struct feed *f, int64_t session)
{
	f->session = session;
}

void
feed_pause(struct feed *f)
{
	let_go(f);
	f->running = false;
	f->wanted = true;
	f->session = 0;
}

/* Ends what runs: what comes now does not fit behind it. */
static enum feed_says
begin_anew(struct feed *f)
{
	let_go(f);
	f->running = false;
	if (f->wanted)
		return FEED_FINE;
	f->session = 0;
	f->wanted = true;
	return FEED_BEGINS;
}

/* Puts a time on the clock, which wraps at 2^32 ms.  True: it has leapt. */
static bool
tick(struct feed *f, uint32_t ms, int64_t *at)
{
	bool leaps;

	*at = f->heard ? f->clock + (int32_t)(ms - f->raw) : ms;
	leaps = f->heard && (*at > f->clock + AHEAD_MS || *at < f->clock - BACK_MS);
	if (f->heard)
		f->passed += leaps ? BACK_MS : *at > f->clock ? *at - f->clock : 0;
	if (!f->heard || leaps)
		f->first = *at;
	if (!f->heard || leaps || *at > f->clock) {
		f->clock = *at;
		f->raw = ms;
	}
	f->heard = true;
	return leaps;
}

static enum feed_says
take_setup(struct feed *f, const struct flv *v, struct setup *s, bool *has)
{
	struct setup read;

	f->fault = setup_read(&read, v->codec, v->data, v->n);
	if (f->fault != NULL)
		return FEED_REFUSED;
	if (*has && read.codec == s->codec && read.n == s->n && memcmp(read.bytes, s->bytes, read.n) == 0)
		return FEED_FINE;
	/* What is held needs the one before. */
	if (*has)
		let_go(f);
	*s = read;
	*has = true;
	return f->running ? begin_anew(f) : FEED_FINE;
}

/* Are all tracks known that the session will have? */
static bool
complete(const struct feed *f)
{
	bool all = f->announced && (!f->metadata.audio || f->has_audio) && (!f->metadata.video || f->has_video);

	return all || (f->has_audio && f->has_video) || f->clock - f->first >= UNANNOUNCED_MS;
}

static bool
start(struct feed *f, struct packager *p, int64_t at)
{
	f->running = true;
	f->wanted = false;
	f->zero = at;
	f->video_ms = -1;
	f->frame_ms = FRAME_MS;
	f->sounds = false;
	return packager_begin(p, f->session, f->has_video ? &f->video : NULL, f->has_audio ? &f->audio : NULL,
	    moment_now());
}

static enum feed_says
take_video(struct feed *f, struct packager *p, int64_t at, const struct flv *v)
{
	struct cmaf_frame frame = { .shift = v->shift * (CMAF_VIDEO_SCALE / 1000), .size = (uint32_t)v->n,
		.key = v->key };
	int64_t ms;

	if (!f->running) {
		if (!v->key || f->session == 0)
			return FEED_FINE;
		if (!start(f, p, at))
			return FEED_DISK;
	}
	ms = at - f->zero;
	if (ms <= f->video_ms || v->shift > SHIFT_MAX_MS || v->shift < -SHIFT_MAX_MS) {
		f->dropped++;
		return FEED_FINE;
	}
	if (f->video_ms >= 0 && ms - f->video_ms < BACK_MS)
		f->frame_ms = ms - f->video_ms;
	f->video_ms = ms;
	frame.duration = f->frame_ms * (CMAF_VIDEO_SCALE / 1000);
	return packager_video(p, ms * (CMAF_VIDEO_SCALE / 1000), &frame, v->data) ? FEED_FINE : FEED_DISK;
}

/* Samples since the beginning at that frame.  False: it lies before what is there already. */
static bool
count_samples(struct feed *f, int64_t ms)
{
	int64_t clock = ms * f->audio.rate / 1000, drift = (int64_t)DRIFT_MS * f->audio.rate / 1000;

	if (!f->sounds || clock > f->samples + drift)
		f->samples = clock;
	f->sounds = true;
	return clock >= f->samples - drift;
}

static enum feed_says
take_audio(struct feed *f, struct packager *p, int64_t at, const struct flv *v)
{
	struct cmaf_frame frame = { .duration = f->audio.frame_samples, .size = (uint32_t)v->n, .key = true };
	int64_t samples;

	if (!f->running) {
		if (f->has_video || f->session == 0)
			return FEED_FINE;
		if (!start(f, p, at))
			return FEED_DISK;
	}
	if (at < f->zero)
		return FEED_FINE;
	if (!count_samples(f, at - f->zero)) {
		f->dropped++;
		return FEED_FINE;
	}
	samples = f->samples;
	f->samples += frame.duration;
	return packager_audio(p, samples, &frame, v->data) ? FEED_FINE : FEED_DISK;
}

/* From the first frame on that a session can begin with. */
static void
hold(struct feed *f, bool video, int64_t at, const struct flv *v)
{
	struct held *h;

	if (f->held == NULL && (video ? !v->key : f->has_video))
		return;
	if (v->n > HELD_MAX - f->held_bytes) {
		let_go(f);
		return;
	}
	h = malloc(sizeof(*h) + v->n);
	if (h == NULL)
		abort();
	*h = (struct held){ .video = video, .at = at, .frame = *v };
	memcpy(h->bytes, v->data, v->n);
	h->frame.data = h->bytes;
	*(f->held != NULL ? f->last : &f->held) = h;
	f->last = &h->next;
	f->held_bytes += v->n;
}

static enum feed_says
take_frame(struct feed *f, struct packager *p, bool video, int64_t at, const struct flv *v)
{
	enum feed_says says = FEED_FINE;
	struct held *h;

	if (!f->running && f->session != 0 && !complete(f)) {
		hold(f, video, at, v);
		return FEED_FINE;
	}
	for (h = f->held; h != NULL && says == FEED_FINE; h = h->next)
		says = h->video ? take_video(f, p, h->at, &h->frame) : take_audio(f, p, h->at, &h->frame);
	let_go(f);
	if (says != FEED_FINE)
		return says;
	return video ? take_video(f, p, at, v) : take_audio(f, p, at, v);
}

static enum feed_says
refuse(struct feed *f, const char *why)
{
	f->fault = why;
	return FEED_REFUSED;
}

/* A setup has no time of its own: encoders send it with 0 at any moment. */
static enum feed_says
take_tag(struct feed *f, struct packager *p, bool video, uint32_t ms, const struct flv *v)
{
	struct setup *s = video ? &f->video : &f->audio;
	bool *has = video ? &f->has_video : &f->has_audio;
	int64_t at;

	if (v->kind == FLV_NOTHING)
		return FEED_FINE;
	if (v->codec == FLV_OTHER_CODEC || (v->codec == FLV_AAC) == video)
		return refuse(f, "This codec is not known: H.264, HEVC or AV1 with AAC are.");
	if (v->kind == FLV_SETUP)
		return take_setup(f, v, s, has);
	if (!*has || s->codec != v->codec)
		return FEED_FINE;
	if (tick(f, ms, &at) && begin_anew(f) == FEED_BEGINS)
		return FEED_BEGINS;
	return take_frame(f, p, video, at, v);
}

enum feed_says
feed_take(struct feed *f, struct packager *p, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct flv_metadata metadata;
	struct flv v;

	if (kind == RTMP_DATA) {
		if (flv_metadata(bytes, n, &metadata)) {
			f->metadata = metadata;
			f->announced = true;
		}
		return FEED_FINE;
	}
	if (!(kind == RTMP_VIDEO ? flv_video(bytes, n, &v) : flv_audio(bytes, n, &v)))
		return refuse(f, "A frame is cut off.");
	return take_tag(f, p, kind == RTMP_VIDEO, ms, &v);
}
