/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Once an hour, while originals are due that were not read for scrub.days: reads them again, no faster than scrub.rate,
 * and writes down in the ledger what it finds.  Killed at any moment, the next one goes on where the ledger ends.
 */
#include <string.h>
#include <time.h>

#include "core/ledger.h"
#include "core/log.h"
#include "jobs/run.h"

enum { RUN_MS = 10 * 60 * 1000, MEMORY = 4 << 20 };

struct pace {
	struct job *job;
	int64_t rate;		/* bytes a second */
	int64_t bytes;		/* read since began */
	int64_t began;		/* ms of clock_ms() */
	int percent;
};

static void
rest(void *at, size_t bytes)
{
	struct pace *p = at;
	int64_t ahead;

	p->bytes += (int64_t)bytes;
	ahead = p->bytes * 1000 / p->rate - (clock_ms() - p->began);
	job_progress(p->job, p->percent);
	if (ahead > 0)
		nanosleep(&(struct timespec){ ahead / 1000, ahead % 1000 * 1000000 }, NULL);
}

static void
tell(struct job *j, const struct original *o, enum examined found)
{
	static const char *const words[] = { [EXAMINED_MISSING] = "is missing", [EXAMINED_CHANGED] = "is not what came",
		[EXAMINED_UNREADABLE] = "cannot be read from its disk", [EXAMINED_UNKNOWN] = "could not be looked at" };

	if (found == EXAMINED_INTACT)
		return;
	job_log(j, "the original of %s %s", uuid_text(j->mem, o->media_id), words[found]);
	log_text(found == EXAMINED_UNKNOWN ? LOG_LEVEL_WARN : LOG_LEVEL_ERROR, "jobs", "the original of %s %s",
	    uuid_text(j->mem, o->media_id), words[found]);
}

enum outcome
scrub_run(struct job *j)
{
	struct pace p = { .job = j, .rate = j->conf->scrub_rate };
	const struct digest_pace pace = { rest, &p, true };
	const int64_t began = clock_ms();
	struct arena *mem = arena_new(MEMORY), *own = j->mem;
	struct ledger_place at = { 0 };
	struct original o;
	enum examined found;
	int n = 0;

	job_pause(j);
	db_use(j->db, mem);
	while (clock_ms() - began < RUN_MS && ledger_next(j->db, j->conf, &at, &o)) {
		p.bytes = 0;
		p.began = clock_ms();
		p.percent = (int)((clock_ms() - began) * 99 / RUN_MS);
		found = ledger_examine(mem, &o, j->work_dir, &pace);
		ledger_note(j->db, &o, found);
		tell(j, &o, found);
		job_progress(j, p.percent);
		n++;
		arena_reset(mem);
	}
	db_use(j->db, own);
	arena_free(mem);
	if (n > 0)
		job_log(j, "%d originals were looked at", n);
	return job_resume(j) ? DONE : RETRY;
}
