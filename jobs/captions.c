/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The captions of a transcript as a file: those that come by themselves are written with the transcript, these because
 * a person wants them.  Safe to run twice, and in any order with others of its kind: it looks at the row, not at what
 * was asked for, and its files are named by its run.  Whoever changes words or names adds a job in that transaction: a
 * file of what is not so any more is not put in the place of its own.
 */
#include <string.h>

#include "core/asset.h"
#include "core/store.h"
#include "media/quality.h"
#include "media/speaking.h"
#include "jobs/captions.h"
#include "jobs/step.h"

#define WHOSE "FROM transcripts t WHERE t.id = ? AND t.media_id = ?"

static const char *
text_of(struct job *j, const struct list *paragraphs)
{
	struct buf vtt = BUF(j->mem);

	transcript_write(&vtt, TRANSCRIPT_VTT, paragraphs, NULL, true);
	return buf_string(&vtt);
}

bool
captions_write(struct job *j, const struct transcript *t, const struct list *paragraphs, struct caption *c)
{
	const char *vtt = text_of(j, paragraphs);

	*c = (struct caption){ .language_code = transcript_language(t->language_code),
	    .label = transcript_label(j->mem, t->language_code),
	    .file = caption_file(j->mem, t->id, job_run_name(j->mem, j->id, j->fence)) };
	return store_write(j->mem, vtt, strlen(vtt), store_key_play(j->mem, j->media_id, c->file));
}

void
captions_again(void *job, const struct transcript *t)
{
	struct job *j = job;
	struct job_place place = { .tenant_id = j->tenant_id, .media_id = t->media_id };

	job_add(j->db, captions, place, .media_id = t->media_id, .transcript_id = t->id);
}

enum outcome
captions_run(struct job *j)
{
	const struct captions_args *in = j->in;
	const struct transcript *t = db_row(j->db, &transcript_record, WHOSE, ARGS(ID(in->transcript_id),
	    ID(in->media_id)));
	struct list paragraphs, now;
	const char *text;
	struct caption c;

	if (t == NULL || !quality_shows(t))
		return DONE;
	paragraphs = speaking_paragraphs(j->db, j->conf, t);
	job_pause(j);
	if (!captions_write(j, t, &paragraphs, &c))
		return step_not_stored(j, "The captions");
	text = text_of(j, &paragraphs);
	if (!job_resume(j))
		return RETRY;
	t = db_row_suffix(j->db, &transcript_record, WHOSE, " FOR UPDATE", ARGS(ID(in->transcript_id),
	    ID(in->media_id)));
	if (t != NULL)
		now = speaking_paragraphs(j->db, j->conf, t);
	if (t != NULL && quality_shows(t) && strcmp(text_of(j, &now), text) == 0)
		caption_replace(j->db, j->tenant_id, in->media_id, in->transcript_id, &c);
	else
		step_unwanted(j, store_key_play(j->mem, in->media_id, c.file));
	return DONE;
}
