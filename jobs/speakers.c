/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who speaks when: the sound as samples, the voices in it, and by whom each paragraph is.  Safe to run twice: whoever
 * is known in the asset already is found again by when it speaks, and keeps its number and all that people have said of
 * it; all is written in one transaction.
 */
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/voices.h"
#include "media/quality.h"
#include "media/speaking.h"
#include "jobs/captions.h"
#include "jobs/engines/conversation.h"
#include "jobs/recognition.h"
#include "jobs/samples.h"
#include "jobs/step.h"

#define WANTED "SELECT n.speaker_recognition FROM media m JOIN tenants n ON n.id = m.tenant_id WHERE m.id = ? AND " \
	"n.id = ?"

static void
progress(void *user, int percent)
{
	job_progress(user, SAMPLES_SHARE + percent * (99 - SAMPLES_SHARE) / 100);
}

/* What the one of the asset and its parts, which people have merged with it, have spoken of these turns. */
static int64_t
share(const struct told *t, const struct list *before, const struct speaker *whole)
{
	const struct speaker *s = before->rows;
	int64_t sum = 0;

	for (size_t i = 0; i < before->n; i++)
		if (&s[i] == whole || uuid_equal(s[i].merged_into, whole->speaker_id))
			sum += speaking_overlap(&t->turns, &s[i].turns);
	return sum;
}

/* The one that has spoken most of them, of a whole and its parts. */
static const struct speaker *
nearest(const struct told *t, const struct list *before, const struct speaker *whole)
{
	const struct speaker *s = before->rows, *best = whole;

	for (size_t i = 0; i < before->n; i++)
		if (uuid_equal(s[i].merged_into, whole->speaker_id) && speaking_overlap(&t->turns, &s[i].turns) >
		    speaking_overlap(&t->turns, &best->turns))
			best = &s[i];
	return best;
}

/* The one of the asset that has spoken in more than half of these turns; NULL: none has. */
static const struct speaker *
known_by_turns(const struct told *t, const struct list *before)
{
	const struct speaker *s = before->rows;
	const struct turn *at = t->turns.rows;
	int64_t all = 0;

	for (size_t i = 0; i < t->turns.n; i++)
		all += at[i].end.ms - at[i].start.ms;
	for (size_t i = 0; i < before->n; i++)
		if (uuid_is_none(s[i].merged_into) && share(t, before, &s[i]) * 2 > all)
			return nearest(t, before, &s[i]);
	return NULL;
}

static int64_t
next_number(const struct list *before)
{
	const struct speaker *s = before->rows;

	return before->n > 0 ? s[before->n - 1].number + 1 : 1;
}

/* Who is not heard any more has no turns, or is gone. */
static void
put_silent(struct job *j, const struct list *before, const struct speaker *s)
{
	struct speaker silent = *s;

	silent.turns = (struct list){ NULL, 0 };
	if (speakers_touched(j->db, j->media_id, before, s))
		speakers_put(j->db, j->media_id, &silent);
	else
		speakers_drop(j->db, s->speaker_id);
}

static void
add_print(struct job *j, struct recognised *to, const struct told *more)
{
	struct voiceprint *sum;

	if (more->print == NULL)
		return;
	sum = (struct voiceprint *)voiceprint_from(j->mem, more->print->at, more->print->n * sizeof(float));
	if (to->print != NULL)
		voiceprint_add(sum, to->print);
	to->speech += more->speech;
	to->print = sum;
}

/* Two voices of now may be one of before. */
static size_t
put_voices(struct job *j, const struct conversation *c, const struct list *before, struct recognised *who)
{
	struct speaker *now = arena_array(j->mem, c->n, sizeof(*now));
	const struct speaker *old = before->rows;
	int64_t number = next_number(before);
	size_t n = 0, i, k;

	for (i = 0; i < c->n; i++) {
		const struct speaker *known = known_by_turns(&c->voices[i], before);

		for (k = 0; known != NULL && k < n && !uuid_equal(now[k].speaker_id, known->speaker_id); k++)
			;
		if (known != NULL && k < n) {
			now[k].turns = speaking_union(j->mem, &now[k].turns, &c->voices[i].turns);
			add_print(j, &who[k], &c->voices[i]);
			continue;
		}
		now[n++] = (struct speaker){ .speaker_id = known != NULL ? known->speaker_id :
		    speakers_new(j->db, j->tenant_id, j->media_id), .number = known != NULL ? known->number : number++,
		    .turns = c->voices[i].turns };
		who[n - 1] = (struct recognised){ now[n - 1].speaker_id, c->voices[i].speech, c->voices[i].print };
	}
	for (i = 0; i < n; i++)
		speakers_put(j->db, j->media_id, &now[i]);
	for (i = 0; i < before->n; i++) {
		for (k = 0; k < n && !uuid_equal(now[k].speaker_id, old[i].speaker_id); k++)
			;
		if (k == n)
			put_silent(j, before, &old[i]);
	}
	return n;
}

static void
changed(void *job, const struct transcript *t)
{
	struct job *j = job;

	if (quality_shows(t))
		captions_again(j, t);
	metadata_changed(j->db, j->media_id, "transcripts");
}

static void
go_on(void *user, int percent)
{
	job_progress(user, 99);
}

/* How those who speak sound; engine: NULL when nobody is to be known again.  That voices are told apart is worth having
 * without: False when another attempt may bring it. */
static bool
add_prints(struct job *j, const struct engine *engine, struct conversation *c)
{
	c->progress = go_on;
	if (engine == NULL || c->n == 0 || engine->run.voiceprint(c) == DONE)
		return true;
	if (job_may_mend(j, &c->fault))
		return false;
	job_warn(j, &(struct warning){ .reason = c->fault.reason, .detail = arena_printf(j->mem, "Voices are told "
	    "apart, but those of people who were named elsewhere are not known: %s", c->fault.detail != NULL ?
	    c->fault.detail : reason_info(c->fault.reason)->code) });
	return true;
}

enum outcome
speakers_run(struct job *j)
{
	struct conversation c = { .mem = j->mem, .conf = j->conf, .progress = progress, .user = j };
	const struct engine *engine, *prints;
	struct recognised *who;
	const char *maker;
	struct list before;
	size_t n;
	enum outcome outcome;
	bool fine;

	/* The tenant may have changed its mind since. */
	if (db_number(j->db, WANTED, ARGS(ID(j->media_id), ID(j->tenant_id)), 0) == 0 ||
	    (engine = engine_for(j, ENGINE_diarize)) == NULL)
		return DONE;
	prints = engine_for(j, ENGINE_voiceprint);
	step_dead(j);
	job_pause(j);
	outcome = samples_make(j, &c.pcm, &c.length);
	if (outcome != DONE)
		return outcome;
	outcome = engine_tell_apart(engine, &c);
	fine = outcome == DONE && add_prints(j, prints, &c);
	close(c.pcm);
	if (c.note != NULL)
		job_log(j, "%s", c.note);
	if (!fine)
		return job_fault(j, &c.fault);
	maker = prints != NULL ? prints->version(j->mem, j->conf) : NULL;
	job_log(j, "%s: %zu voices, %s", engine->version(j->mem, j->conf), c.n, maker != NULL ?
	    arena_printf(j->mem, "as %s hears them", maker) : "which nobody is to know again");
	if (!job_resume(j))
		return RETRY;
	/* As the API does: who changes what hangs on an asset holds its row. */
	if (db_number(j->db, "SELECT COUNT(*) FROM media WHERE id = ? FOR UPDATE", ARGS(ID(j->media_id)), 0) == 0 ||
	    !voices_hold(j->db, j->tenant_id))
		return DONE;
	before = speakers_of(j->db, NULL, j->media_id, "en");
	who = arena_array(j->mem, c.n, sizeof(*who));
	n = put_voices(j, &c, &before, who);
	if (prints != NULL && recognition_run(j, prints, maker, who, n))
		speaking_renamed(j->db, j->media_id, captions_again, j);
	speaking_follow(j->db, j->media_id, changed, j);
	metadata_changed(j->db, j->media_id, "speakers");
	return DONE;
}
