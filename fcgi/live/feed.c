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
	RATE_MS = 2000,				/* over which pictures are counted */
	STRANGE_MS = 5000,			/* that frames may come of a codec that nothing has described */
	KEPT_MAX = 8 << 20,			/* bytes of frames that wait for their session, */
	KEPT_MS = 11000, KEPT_SOUND_MS = 2000,	/* and for how long; without pictures */
};

struct kept {
	struct kept *next;
	bool video;
	int64_t at;
	struct flv v;
	uint8_t bytes[];
};

struct feed {
	const char *fault;
	struct setup video, audio;		/* as they came last */
	bool has_video, has_audio, announced;
	struct flv_metadata metadata;

	bool heard;				/* is there a clock? */
	uint32_t raw;				/* the last time as it was sent */
	int64_t clock, first;			/* ms: the last one without wrapping, the first one */

	struct kept *kept, **kept_last;		/* from a key frame on */
	size_t kept_bytes;

	int64_t session;			/* that may begin; 0: none */
	bool wanted, running;
	int64_t passed;				/* ms that the clock has gone on, a leap for BACK_MS */
	int64_t zero;				/* ms of the clock at which the session began */
	int64_t video_ms, frame_ms, samples;	/* last frame, how long the last one was, samples since zero */
	int64_t rate_from, rate_n;		/* ms of the session; pictures since then */
	double rate;				/* of the last stretch that is over */
	bool sounds;
	bool strange;				/* frames come that nobody could decode, */
	uint32_t strange_from;			/* since then; ms as they were sent */
	int64_t dropped;
};

struct feed *
feed_new(void)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (f == NULL)
		abort();
	f->wanted = true;
	f->kept_last = &f->kept;
	return f;
}

static void
forget_kept(struct feed *f)
{
	struct kept *k;

	while ((k = f->kept) != NULL) {
		f->kept = k->next;
		free(k);
	}
	f->kept_last = &f->kept;
	f->kept_bytes = 0;
}

/* What has come since the last key frame is in no session. */
static void
drop_kept(struct feed *f)
{
	const struct kept *k;

	for (k = f->kept; k != NULL; k = k->next)
		f->dropped += k->video || !f->has_video;
	forget_kept(f);
}

void
feed_free(struct feed *f)
{
	if (f != NULL)
		forget_kept(f);
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

/* Pictures that have stopped are seen by the sound that goes on. */
double
feed_frame_rate(const struct feed *f)
{
	return f->clock - f->zero - f->video_ms > 2 * RATE_MS ? 0 : f->rate;
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
	f->running = false;
	f->wanted = true;
	f->session = 0;
}

/* Ends what runs: what comes now does not fit behind it. */
static enum feed_says
begin_anew(struct feed *f)
{
	drop_kept(f);
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
	if (*has)
		drop_kept(f);
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
	const struct moment then = { moment_now().ms - (f->clock - at) };

	f->running = true;
	f->wanted = false;
	f->zero = at;
	f->video_ms = -1;
	f->frame_ms = FRAME_MS;
	f->rate_n = 0;
	f->rate = 0;
	f->sounds = false;
	return packager_begin(p, f->session, f->has_video ? &f->video : NULL, f->has_audio ? &f->audio : NULL, then);
}

static void
count_picture(struct feed *f, int64_t ms)
{
	if (f->rate_n == 0) {
		f->rate_from = ms;
	} else if (ms - f->rate_from >= RATE_MS) {
		f->rate = (double)(f->rate_n * 100000 / (ms - f->rate_from)) / 100;
		f->rate_from = ms;
		f->rate_n = 0;
	}
	f->rate_n++;
}

static enum feed_says
take_video(struct feed *f, struct packager *p, int64_t at, const struct flv *v)
{
	struct cmaf_frame frame = { .shift = v->shift * (CMAF_VIDEO_SCALE / 1000), .size = (uint32_t)v->n,
		.key = v->key };
	int64_t ms;

	ms = at - f->zero;
	if (ms <= f->video_ms || v->shift > SHIFT_MAX_MS || v->shift < -SHIFT_MAX_MS) {
		f->dropped++;
		return FEED_FINE;
	}
	if (f->video_ms >= 0 && ms - f->video_ms < BACK_MS)
		f->frame_ms = ms - f->video_ms;
	f->video_ms = ms;
	count_picture(f, ms);
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

static enum feed_says
take_frame(struct feed *f, struct packager *p, bool video, int64_t at, const struct flv *v)
{
	return video ? take_video(f, p, at, v) : take_audio(f, p, at, v);
}

static bool
keeps_too_much(const struct feed *f, int64_t at)
{
	return f->kept_bytes > KEPT_MAX ||
	    (f->kept != NULL && at - f->kept->at > (f->kept->video ? KEPT_MS : KEPT_SOUND_MS));
}

/* Pictures cannot begin without a key frame: what is too much for waiting waits for the next one. */
static void
keep(struct feed *f, bool video, int64_t at, const struct flv *v)
{
	struct kept *k;

	if (video && v->key) {
		drop_kept(f);
	} else if (f->kept == NULL && (video || f->has_video)) {
		f->dropped += video;
		return;
	}
	f->kept_bytes += sizeof(*k) + v->n;
	if (keeps_too_much(f, at)) {
		drop_kept(f);
		f->dropped += video || !f->has_video;
		return;
	}
	k = malloc(sizeof(*k) + v->n);
	if (k == NULL)
		abort();
	*k = (struct kept){ .video = video, .at = at, .v = *v };
	memcpy(k->bytes, v->data, v->n);
	k->v.data = k->bytes;
	*f->kept_last = k;
	f->kept_last = &k->next;
}

/* If it may: with the key frame that is kept, and what has come behind it. */
static enum feed_says
begin(struct feed *f, struct packager *p)
{
	enum feed_says says = FEED_FINE;
	const struct kept *k;

	if (f->kept == NULL || f->kept->video != f->has_video || f->session == 0 || !complete(f))
		return FEED_FINE;
	if (!start(f, p, f->kept->at))
		return FEED_DISK;
	for (k = f->kept; k != NULL && says == FEED_FINE; k = k->next)
		says = take_frame(f, p, k->video, k->at, &k->v);
	forget_kept(f);
	return says;
}

static enum feed_says
refuse(struct feed *f, const char *why)
{
	f->fault = why;
	return FEED_REFUSED;
}

/* Without the description of their codec, which may still come. */
static enum feed_says
take_strange(struct feed *f, bool video, uint32_t ms)
{
	f->dropped += video || !f->has_video;
	if (!f->strange) {
		f->strange = true;
		f->strange_from = ms;
	}
	return (int32_t)(ms - f->strange_from) < STRANGE_MS ? FEED_FINE :
	    refuse(f, "The encoder does not describe the codec of what it sends.");
}

/* A setup has no time of its own: encoders send it with 0 at any moment. */
static enum feed_says
take_tag(struct feed *f, struct packager *p, bool video, uint32_t ms, const struct flv *v)
{
	struct setup *s = video ? &f->video : &f->audio;
	bool *has = video ? &f->has_video : &f->has_audio;
	enum feed_says says = FEED_FINE;
	int64_t at;

	if (v->kind == FLV_NOTHING)
		return FEED_FINE;
	if (v->codec == FLV_OTHER_CODEC || (v->codec == FLV_AAC) == video)
		return refuse(f, "This codec is not known: H.264, HEVC or AV1 with AAC are.");
	if (v->kind == FLV_SETUP)
		return take_setup(f, v, s, has);
	if (!*has || s->codec != v->codec)
		return take_strange(f, video, ms);
	f->strange = f->strange && !video;
	if (!f->running && (says = begin(f, p)) != FEED_FINE)
		return says;
	if (tick(f, ms, &at))
		says = begin_anew(f);
	if (f->running)
		return take_frame(f, p, video, at, v);
	keep(f, video, at, v);
	return says == FEED_BEGINS ? says : begin(f, p);
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
