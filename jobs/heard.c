/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers of servers in rows; see heard.h. */
#include <string.h>

#include "jobs/heard.h"

struct part { struct arena *mem; const char *engine, *answer; struct span span; };

static bool
find(struct job *j, void *at)
{
	struct part *p = at;
	const char *answer = db_text(j->db, "SELECT answer FROM heard_answers WHERE job_id = ? AND start = ? AND end = "
	    "? AND engine = ?", ARGS(ID(j->id), INT(p->span.start), INT(p->span.end), STR(p->engine)));

	p->answer = answer != NULL ? arena_copy(p->mem, answer) : NULL;
	return false;
}

const char *
heard_find(struct job *j, struct arena *mem, const char *engine, struct span span)
{
	struct part p = { .mem = mem, .engine = engine, .span = span };

	job_batches(j, find, &p, sizeof(p));
	return p.answer;
}

/* A row of the job that has another fence is of a run that goes on elsewhere. */
static bool
keep(struct job *j, void *at)
{
	const struct part *p = at;

	db_run(j->db, "REPLACE INTO heard_answers (job_id, start, end, media_id, engine, answer) SELECT t.id, ?, ?, ?, "
	    "?, ? FROM jobs t WHERE t.id = ? AND t.fence = ?", ARGS(INT(p->span.start), INT(p->span.end),
	    ID(j->media_id), STR(p->engine), STR(p->answer), ID(j->id), INT(j->fence)));
	return false;
}

void
heard_keep(struct job *j, const char *engine, struct span span, const char *answer)
{
	struct part p = { .engine = engine, .span = span, .answer = answer };

	job_batches(j, keep, &p, sizeof(p));
}

void
heard_forget(struct db *db, struct uuid job_id)
{
	db_run(db, "DELETE FROM heard_answers WHERE job_id = ?", ARGS(ID(job_id)));
}
