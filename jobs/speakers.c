/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who speaks when: the sound as samples, the voices in it, and by whom each paragraph is.  Safe to run twice: whoever
 * is known in the asset already is found again by when it speaks, and keeps its number; all is written in one
 * transaction.
 */
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "media/quality.h"
#include "media/speaking.h"
#include "jobs/engines/conversation.h"
#include "jobs/samples.h"
#include "jobs/step.h"

#define WANTED "SELECT n.speaker_recognition FROM media m JOIN tenants n ON n.id = m.tenant_id WHERE m.id = ? AND " \
	"n.id = ?"

static void
progress(void *user, int percent)
{
	job_progress(user, SAMPLES_SHARE + percent * (99 - SAMPLES_SHARE) / 100);
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
		if (speaking_overlap(&t->turns, &s[i].turns) * 2 > all)
			return &s[i];
	return NULL;
}

static int64_t
next_number(const struct list *before)
{
	const struct speaker *s = before->rows;

	return before->n > 0 ? s[before->n - 1].number + 1 : 1;
}

/* Two voices of now may be one of before, which a person has joined. */
static void
put_voices(struct job *j, const struct conversation *c, const struct list *before)
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
			continue;
		}
		now[n++] = (struct speaker){ .speaker_id = known != NULL ? known->speaker_id :
		    speakers_new(j->db, j->tenant_id), .number = known != NULL ? known->number : number++,
		    .turns = c->voices[i].turns };
	}
	for (i = 0; i < n; i++)
		speakers_put(j->db, j->media_id, &now[i]);
	for (i = 0; i < before->n; i++) {
		for (k = 0; k < n && !uuid_equal(now[k].speaker_id, old[i].speaker_id); k++)
			;
		if (k == n)
			speakers_drop(j->db, j->media_id, old[i].speaker_id);
	}
}

static void
changed(void *job, const struct transcript *t)
{
	struct job *j = job;
	struct job_place place = { .tenant_id = j->tenant_id, .media_id = j->media_id };

	if (quality_shows(t)) {
		job_add(j->db, captions, place, .media_id = j->media_id, .transcript_id = t->id);
	}
	metadata_changed(j->db, j->media_id, "transcripts");
}

enum outcome
speakers_run(struct job *j)
{
	struct conversation c = { .mem = j->mem, .conf = j->conf, .progress = progress, .user = j };
	const struct engine *engine = engine_chosen(j->conf, ENGINE_diarize);
	struct list before;
	enum outcome outcome;

	/* The tenant may have changed its mind since. */
	if (db_number(j->db, WANTED, ARGS(ID(j->media_id), ID(j->tenant_id)), 0) == 0)
		return DONE;
	step_dead(j);
	job_pause(j);
	outcome = samples_make(j, &c.pcm, &c.length);
	if (outcome != DONE)
		return outcome;
	outcome = engine_tell_apart(engine, &c);
	close(c.pcm);
	if (c.note != NULL)
		job_log(j, "%s", c.note);
	if (outcome != DONE)
		return job_fault(j, &c.fault);
	job_log(j, "%s: %zu voices", engine->version(j->mem, j->conf), c.n);
	if (!job_resume(j))
		return RETRY;
	/* As the API does: who changes what hangs on an asset holds its row. */
	if (db_number(j->db, "SELECT COUNT(*) FROM media WHERE id = ? FOR UPDATE", ARGS(ID(j->media_id)), 0) == 0 ||
	    db_number(j->db, WANTED, ARGS(ID(j->media_id), ID(j->tenant_id)), 0) == 0)
		return DONE;
	before = speakers_of(j->db, NULL, j->media_id, "en");
	put_voices(j, &c, &before);
	speaking_follow(j->db, j->media_id, changed, j);
	metadata_changed(j->db, j->media_id, "speakers");
	return DONE;
}
