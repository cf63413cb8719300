/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captions of a livestream while it lasts: stretches of speech from the recording as it grows, through the engine, into
 * a rendition beside what is played.  It reads files and holds up nobody; what it does not get done within half a
 * minute is left out.  It ends with the livestream, or when nothing has come for a minute: the next signal begins it
 * anew.  Safe to run twice: a run goes on at the edge, and what another one has written stays as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/livestream.h"
#include "core/spoken.h"
#include "core/store.h"
#include "jobs/engines/engine.h"
#include "jobs/hints.h"
#include "jobs/live_rendition.h"
#include "jobs/live_sound.h"
#include "jobs/step.h"
#include "media/language.h"

enum {
	ROUND_MEM = 64 << 20, STRETCH_MEM = 256 << 20,
	PAUSE_MS = 200,
	LEAST_MS = 700,			/* of new sound, for each of which FFmpeg is started */
	LOOK_MS = 3000,			/* at the row */
	SILENT_MS = 60 * 1000,		/* without a signal; then it ends */
	ABSENT_MS = 60 * 1000,		/* until there has to be a recording */
	LAST_MS = 15 * 1000,		/* for what is left when the livestream has ended */
	YOUNG_MS = 30 * 1000,		/* what has just begun is listened to from the beginning */
	SESSIONS = 4,			/* claims that may have brought nothing */
	REFUSALS = 3,			/* in a row */
};

struct subject {
	struct uuid id, media_id;
	const char *status, *language;
	bool with_dvr, has_signal;
	int64_t session;
};
static const struct field subject_fields[] = {
	FIELD(struct subject, id, .doc = "The livestream"),
	FIELD(struct subject, media_id, .doc = "Its asset"),
	FIELD(struct subject, status, .doc = "State"),
	FIELD(struct subject, language, .sql = "t.captions_language_code", .doc = "Of the captions"),
	FIELD(struct subject, with_dvr, .doc = "Viewers can go back"),
	FIELD(struct subject, has_signal, .doc = "Something comes in"),
	FIELD(struct subject, session, .doc = "The last one"),
};
static const struct record subject_record = RECORD("CaptionedLivestream", struct subject, subject_fields);

/* What is looked at again and again; open: it is not over. */
struct row { struct uuid id; bool open, has_signal; int64_t session; };

struct captioner {
	struct job *job;
	const struct engine *engine;
	const char *language, *kept, *how;	/* how: what was told last */
	const struct hints *hints;
	struct live_sound sound;
	struct live_rendition rendition;
	struct arena *mem, *heard;		/* of a round; of a stretch */
	struct row row;				/* as it was last */
	int64_t session;			/* that is listened to; 0: none */
	int64_t began, look_at, signal_at, found_at, over_at;	/* ms of clock_ms(); 0: never */
	int refusals;
	struct fault fault;
	int error;				/* errno of what could not be written */

	/* Of the stretch that is heard. */
	struct span span;
	struct segment *segments;
	size_t n, room;
};

/* --- what the row says */

static bool
is_open(const struct subject *s)
{
	return s != NULL && word_in("waitingForSignal live interrupted", s->status, strlen(s->status));
}

static bool
read_row(struct job *j, void *at)
{
	struct row *r = at;
	const struct subject *s = db_row(j->db, &subject_record, "FROM livestreams t WHERE t.id = ?", ARGS(ID(r->id)));

	*r = (struct row){ r->id, is_open(s), s != NULL && s->has_signal, s != NULL ? s->session : 0 };
	return false;
}

struct told { struct uuid id; const char *how; };

static bool
tell_row(struct job *j, void *at)
{
	const struct told *t = at;

	livestream_captions(j->db, t->id, t->how);
	return false;
}

static void
tell(struct captioner *c, const char *how, const char *why)
{
	struct told t = { c->row.id, how };

	if (c->how != NULL && strcmp(c->how, how) == 0)
		return;
	c->how = how;
	job_log(c->job, "%s%s%s", how, why != NULL ? ": " : "", why != NULL ? why : "");
	job_batches(c->job, tell_row, &t, sizeof(t));
}

static void
look(struct captioner *c, int64_t now)
{
	if (now < c->look_at)
		return;
	job_batches(c->job, read_row, &c->row, sizeof(c->row));
	c->look_at = now + LOOK_MS;
	if (c->row.has_signal || c->signal_at == 0)
		c->signal_at = now;
	if (!c->row.open && c->over_at == 0)
		c->over_at = now;
}

/* --- a stretch of speech */

/* Also while an engine works: those who watch wait for the next segment, with captions or without. */
static void
follow(struct captioner *c, bool more)
{
	job_progress(c->job, 50);
	c->error = live_rendition_follow(&c->rendition, more) ? 0 : errno;
}

static void
on_progress(void *user, int percent)
{
	(void)percent;
	follow(user, true);
}

static void
on_heard(void *user, const struct segment *heard)
{
	struct captioner *c = user;
	struct segment s = engine_copy(c->heard, heard), *more;

	engine_drop_repetition(&s);
	if (s.words.n == 0)
		return;
	if (c->n == c->room) {
		c->room = c->room == 0 ? 16 : c->room * 2;
		more = arena_array(c->heard, c->room, sizeof(*more));
		if (c->n > 0)
			memcpy(more, c->segments, c->n * sizeof(*more));
		c->segments = more;
	}
	c->segments[c->n++] = s;
}

/* A file of the samples that is gone with its descriptor.  -1 with errno. */
static int
write_samples(struct captioner *c)
{
	const char *name = arena_printf(c->heard, "%s/stretch.s16le", c->job->work_dir);
	const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t n;
	const int16_t *samples = live_sound_samples(&c->sound, c->span, &n);

	if (fd < 0)
		return -1;
	unlink(name);
	if (write(fd, samples, n * sizeof(*samples)) == (ssize_t)(n * sizeof(*samples)))
		return fd;
	close(fd);
	return -1;
}

/* By a server within what its tenant may have. */
static enum outcome
ask(struct captioner *c, struct hearing *h)
{
	const bool costs = strcmp(c->engine->name, "http") == 0;
	struct allowance_use use = { .family = ENGINE_transcribe, .requests = 1 };
	enum outcome outcome;

	if (costs && !engine_may_cost(c->job, &use, &h->fault))
		return RETRY;
	outcome = engine_hear_stretch(c->engine, h);
	use.failed = outcome != DONE && h->fault.reason == REASON_ENGINE_UNAVAILABLE;
	if (costs)
		engine_cost(c->job, &use);
	return outcome;
}

static void
add_cues(struct captioner *c)
{
	const struct list paragraphs = transcript_paragraphs(c->heard, c->segments, c->n);
	size_t n, i;
	struct transcript_cue *cues = transcript_cue_list(c->heard, &paragraphs, &n);

	for (i = 0; i < n; i++) {
		cues[i].start += c->span.start;
		cues[i].end += c->span.start;
		live_rendition_add(&c->rendition, c->session, &cues[i]);
	}
}

/* A server that is away is tried again with the next stretch; one that refuses them will refuse the others. */
static void
note_failure(struct captioner *c, const struct fault *f)
{
	c->refusals = fault_is_final(f) ? c->refusals + 1 : 0;
	c->fault = *f;
	if (f->detail != NULL)
		c->fault.detail = arena_copy(c->job->mem, f->detail);
	c->fault.log = NULL;
	tell(c, fault_is_final(f) ? "failed" : "unavailable", c->fault.detail);
}

static void
hear(struct captioner *c)
{
	struct hearing h = { .mem = c->heard, .conf = c->job->conf, .pcm = write_samples(c), .length = c->span.end -
	    c->span.start, .language = c->language, .hints = c->hints, .work_dir = c->job->work_dir, .heard = on_heard,
	    .progress = on_progress, .user = c, .hurried = true };

	c->segments = NULL;
	c->n = c->room = 0;
	if (h.pcm < 0) {
		fault_of_errno(c->heard, errno, &h.fault, "The samples could not be written.");
		note_failure(c, &h.fault);
	} else if (ask(c, &h) != DONE) {
		note_failure(c, &h.fault);
	} else {
		c->refusals = 0;
		add_cues(c);
		tell(c, c->sound.left_out > 0 ? "behind" : "running", NULL);
	}
	if (h.pcm >= 0)
		close(h.pcm);
	arena_reset(c->heard);
}

/* --- the recording */

static const char *
recording(struct captioner *c, int64_t session)
{
	return arena_printf(c->mem, "%s/%" PRId64 ".audio.mp4", c->kept, session);
}

/* The next session that has brought sound, if there is one already; 0: there is none. */
static int64_t
next_session(struct captioner *c)
{
	const int64_t last = c->row.session > c->session + SESSIONS ? c->row.session : c->session + SESSIONS;
	int64_t s;

	for (s = c->session + 1; s <= last; s++)
		if (access(recording(c, s), R_OK) == 0)
			return s;
	return 0;
}

/* What was recorded before this run has been played. */
static bool
open_first(struct captioner *c)
{
	const int64_t least = c->row.session > SESSIONS ? c->row.session - SESSIONS : 0;
	int64_t s;

	for (s = c->row.session + 1; s > least; s--) {
		if (!live_sound_open(&c->sound, recording(c, s), false))
			continue;
		if (c->sound.came > YOUNG_MS)
			live_sound_open(&c->sound, recording(c, s), true);
		c->session = s;
		return true;
	}
	return false;
}

static void
take(struct captioner *c, bool over)
{
	struct fault fault = { 0 };

	if (!live_sound_take(c->mem, &c->sound, over ? 0 : LEAST_MS, &fault))
		job_log(c->job, "a piece of the sound was left out: %s", fault.detail != NULL ? fault.detail : "");
	if (c->sound.left_out > 0) {
		job_log(c->job, "%" PRId64 " s were left out, since the engine is slower than the speech",
		    c->sound.left_out / 1000);
		tell(c, "behind", NULL);
	}
}

/* What has come is heard, stretch by stretch.  over: nothing more comes of this session. */
static void
listen_to(struct captioner *c, bool over)
{
	take(c, over);
	while (c->refusals < REFUSALS && live_sound_next(c->mem, &c->sound, over, &c->span)) {
		hear(c);
		c->sound.left_out = 0;
		arena_reset(c->mem);
		follow(c, true);
		take(c, over);
	}
}

/* --- the run */

static bool
is_over(const struct captioner *c, int64_t now)
{
	return c->over_at != 0 && (c->rendition.ended || now - c->over_at > LAST_MS);
}

/* False: it is over. */
static bool
turn(struct captioner *c)
{
	const int64_t now = clock_ms();
	int64_t next;

	arena_reset(c->mem);
	look(c, now);
	if (c->session == 0 && open_first(c))
		c->found_at = now;
	next = c->session > 0 ? next_session(c) : 0;
	if (c->session > 0)
		listen_to(c, next > 0 || !c->row.open);
	if (next > 0 && live_sound_open(&c->sound, recording(c, next), false))
		c->session = next;
	if (c->session > 0)
		follow(c, c->row.open);
	return c->refusals < REFUSALS && !is_over(c, now) && now - c->signal_at < SILENT_MS &&
	    (c->found_at != 0 || now - c->began < ABSENT_MS) && (c->error == 0 || c->error == ENOSPC);
}

/* Pictures alone have nothing to be written down; of another machine's files there is nothing at all here. */
static enum outcome
without_sound(struct captioner *c)
{
	const char *pictures = arena_printf(c->job->mem, "%s/%" PRId64 ".video.mp4", c->kept, c->row.session);

	if (access(pictures, R_OK) == 0) {
		tell(c, "failed", "There is no sound in it.");
		return job_resume(c->job) ? DONE : RETRY;
	}
	tell(c, "unavailable", "What is recorded is not on this machine.");
	return job_retry(c->job, REASON_STORAGE, "What is recorded is not on this machine.");
}

static enum outcome
conclude(struct captioner *c)
{
	const int error = c->error;

	if (c->refusals >= REFUSALS)
		return job_fault(c->job, &c->fault);
	if (c->over_at == 0 && c->found_at == 0 && clock_ms() - c->signal_at < SILENT_MS)
		return without_sound(c);
	if (c->over_at == 0 && error != 0 && error != ENOENT) {
		errno = error;
		return step_not_stored(c->job, "The captions");
	}
	return job_resume(c->job) ? DONE : RETRY;
}

/* In the attributes of a playlist: a name has no quotes. */
static const char *
tag_of(struct arena *mem, const char *language)
{
	const char *code = transcript_language(language);

	if (strcasecmp(language, SPOKEN_ANY) == 0)
		return "NAME=\"Captions\"";
	return arena_printf(mem, "NAME=\"%s\",LANGUAGE=\"%s\"", transcript_label(mem, code), code);
}

/* Why there can be none; NULL: there can. */
static const char *
hindrance(struct job *j, const struct engine *e, const char *language)
{
	if (!j->conf->live_captions)
		return "The settings have no captions of livestreams.";
	if (e == NULL)
		return "There is no engine for speech: neither engine.transcribe of the operator nor the setting "
		    "engines of the tenant chooses one.";
	return e->knows(j->conf, language) ? NULL : "The engine does not know the language.";
}

enum outcome
live_captions_run(struct job *j)
{
	const struct livestream_args *in = j->in;
	const struct subject *s = db_row(j->db, &subject_record, "FROM livestreams t WHERE t.id = ?",
	    ARGS(ID(in->livestream_id)));
	struct captioner c = { .job = j, .engine = engine_chosen(j->conf, ENGINE_transcribe), .row.id =
	    in->livestream_id, .began = clock_ms() };
	const char *play, *why;

	if (!is_open(s) || s->language == NULL)
		return DONE;
	why = hindrance(j, c.engine, s->language);
	if (why != NULL) {
		tell(&c, "off", why);
		return job_resume(j) ? DONE : RETRY;
	}
	c.language = s->language;
	c.hints = hints_read(j);
	play = store_growing(j->mem, store_key_play(j->mem, s->media_id, livestream_play_file(j->mem, j->conf, s->id,
	    NULL)));
	c.kept = store_growing(j->mem, store_key_live(j->mem, s->media_id, NULL));
	if (play == NULL || c.kept == NULL)
		return step_not_stored(j, "The captions");
	step_begin(j);
	c.mem = arena_new(ROUND_MEM);
	c.heard = arena_new(STRETCH_MEM);
	live_sound_begin(&c.sound, arena_printf(j->mem, "%s/sound.mp4", j->work_dir));
	live_rendition_begin(&c.rendition, play, tag_of(j->mem, s->language), s->with_dvr);
	while (turn(&c))
		usleep(PAUSE_MS * 1000);
	live_sound_end(&c.sound);
	live_rendition_end(&c.rendition);
	arena_free(c.mem);
	arena_free(c.heard);
	return conclude(&c);
}
