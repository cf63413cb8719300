/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has a server say what a question means.  Safe to run twice: it writes the same vector.  Where the server does not say
 * it the question goes, so that whoever asks it again has it asked again.
 */
#include <string.h>

#include "core/models.h"
#include "core/question.h"
#include "jobs/engines/excerpt.h"
#include "jobs/run.h"

enum { MEMORY = 64 << 20 };

struct question { const char *text; };
static const struct field question_fields[] = { FIELD(struct question, text, .doc = "What was looked for") };
static const struct record question_record = RECORD("QuestionText", struct question, question_fields);

struct answering {
	struct arena *mem;
	const struct question_args *in;
	const char *text;
	const struct meaning *meaning;
};

static bool
read_text(struct job *j, void *at)
{
	struct answering *a = at;
	const struct question *q;

	q = db_row(j->db, &question_record, "FROM questions t WHERE t.tenant_id = ? AND t.engine = ? AND t.digest = ? "
	    "AND t.meaning IS NULL", ARGS(ID(j->tenant_id), STR(a->in->engine), STR(a->in->digest)));
	a->text = q != NULL ? arena_copy(a->mem, q->text) : NULL;
	return false;
}

static bool
put(struct job *j, void *at)
{
	const struct answering *a = at;
	const struct meaning *m = a->meaning;

	if (m == NULL)
		db_run(j->db, "DELETE FROM questions WHERE tenant_id = ? AND engine = ? AND digest = ? AND meaning "
		    "IS NULL",
		    ARGS(ID(j->tenant_id), STR(a->in->engine), STR(a->in->digest)));
	else
		db_run(j->db, "UPDATE questions SET text = NULL, meaning = ?, plane0 = ?, plane1 = ?, plane2 = ?, "
		    "plane3 = ? WHERE tenant_id = ? AND engine = ? AND digest = ?", ARGS(BYTES(m->parts, m->n),
		    INT((int64_t)m->planes[0]), INT((int64_t)m->planes[1]), INT((int64_t)m->planes[2]),
		    INT((int64_t)m->planes[3]), ID(j->tenant_id), STR(a->in->engine), STR(a->in->digest)));
	return false;
}

/* The settings, or the choice of the tenant, may be others than when it was asked. */
static bool
is_chosen(const struct models_embed *by, const char *engine)
{
	return by->name != NULL && strcmp(by->name, engine) == 0;
}

enum outcome
question_run(struct job *j)
{
	struct answering a = { .mem = arena_new(MEMORY), .in = j->in };
	const struct models_embed by = models_embed(j->db, j->conf, j->tenant_id);
	struct excerpt x = { .mem = a.mem, .conf = j->conf, .model = by.model, .texts = &a.text, .n = 1 };

	job_batches(j, read_text, &a, sizeof(a));
	if (a.text != NULL) {
		if (is_chosen(&by, a.in->engine) && excerpt_ask(j, &x))
			a.meaning = x.meanings;
		else if (x.fault.detail != NULL)
			job_log(j, "%s", x.fault.detail);
		job_batches(j, put, &a, sizeof(a));
	}
	arena_free(a.mem);
	return DONE;
}
