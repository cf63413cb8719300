/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek job: restart and cancel the work of the runners, and have it done anew. */
#include <string.h>

#include "cli/cli.h"
#include "core/asset.h"
#include "core/job.h"
#include "core/plan.h"

/* A retry or a cancellation: what it does, and how it is told. */
struct change {
	bool (*make)(struct db *, struct uuid);
	struct uuid id;
	const char *refused, *done;
};

static int
change_job(struct cli *c, void *arg)
{
	const struct change *change = arg;
	const struct job_row *j;

	j = db_row(c->db, &job_record, "FROM jobs t WHERE t.id = ?", ARGS(ID(change->id)));
	if (j == NULL)
		return db_failure(c->db) != DB_FINE ? 0 : cli_fail(c, EX_NOINPUT, "there is no job %s", c->arg[0]);
	if (!change->make(c->db, change->id))
		return db_failure(c->db) != DB_FINE
		    ? 0
		    : cli_fail(c, EX_DATAERR, "job %s is %s: %s", c->arg[0], j->status, change->refused);
	if (!uuid_is_none(j->media_id))
		asset_summarise(c->db, j->media_id, SUM_INGEST);
	return 0;
}

static int
run_change(struct cli *c, struct change change)
{
	int status;

	if (!cli_id(c, c->arg[0], &change.id))
		return EX_USAGE;
	status = cli_transaction(c, change_job, &change);
	if (status != 0)
		return status;
	job_wake(c->conf->run_dir);
	printf(c->json ? "{\"id\":\"%s\",\"done\":\"%s\"}\n" : "job %s: %s\n", c->arg[0], change.done);
	return 0;
}

int
job_retry(struct cli *c)
{
	return run_change(c,
	    (struct change){
		.make = job_restart, .refused = "only failed and cancelled jobs start again that no other "
					       "has taken the place of",
		.done = "starts again" });
}

int
job_cancel_command(struct cli *c)
{
	return run_change(
	    c, (struct change){ .make = job_cancel, .refused = "it has ended already", .done = "is cancelled" });
}

/* A list of words as an option gives it; none when it was not given. */
static struct strings
listed(const struct cli *c, const char *option)
{
	const char *p = cli_option(c, option);
	struct strings words = { NULL, 0 };
	size_t n;

	if (p == NULL)
		return words;
	words.at = arena_array(c->mem, strlen(p) + 1, sizeof(*words.at));
	for (; *p != '\0'; p += n, p += *p == ',') {
		n = strcspn(p, ",");
		if (n > 0)
			words.at[words.n++] = arena_copy_n(c->mem, p, n);
	}
	return words;
}

struct rerun_of {
	struct uuid media_id;
	struct strings makes, languages;
};

static int
rerun(struct cli *c, void *arg)
{
	const struct rerun_of *what = arg;
	enum rerun came = plan_rerun(c->db, c->conf, what->media_id, what->makes, what->languages);

	if (db_failure(c->db) != DB_FINE)
		return 0;
	switch (came) {
	case RERUN_ADDED:
		return 0;
	case RERUN_NO_ASSET:
		return cli_fail(c, EX_NOINPUT, "there is no asset %s", c->arg[0]);
	case RERUN_OVER:
		return cli_fail(c, EX_DATAERR, "the files of its last ingest are not there; ingest the asset again");
	case RERUN_RUNNING:
		return cli_fail(c, EX_DATAERR, "it is queued or running already; see kinothek job list");
	case RERUN_LANGUAGES:
		return cli_fail(c, EX_DATAERR, "an asset has transcripts in %d languages at most", PLAN_LANGUAGES);
	case RERUN_NOTHING:
		break;
	}
	return cli_fail(c, EX_DATAERR, "the asset has nothing that it could be made of");
}

int
job_rerun(struct cli *c)
{
	struct rerun_of what = { .makes = listed(c, "only"), .languages = listed(c, "languages") };
	int status;
	size_t i;

	if (!cli_id(c, c->arg[0], &what.media_id))
		return EX_USAGE;
	for (i = 0; i < what.makes.n; i++)
		if (!word_in(PLAN_MAKES, what.makes.at[i], strlen(what.makes.at[i])))
			return cli_fail(c, EX_USAGE, "there is no analysis %s; there are: " PLAN_MAKES,
			    what.makes.at[i]);
	for (i = 0; i < what.languages.n; i++)
		if (strcmp(what.languages.at[i], "translate-en") != 0 && !language_valid(what.languages.at[i]))
			return cli_fail(c, EX_USAGE, "%s is no language; en, de-CH or translate-en are",
			    what.languages.at[i]);
	if (cli_option(c, "only") != NULL && what.makes.n == 0)
		return cli_fail(c, EX_USAGE, "--only needs one of: " PLAN_MAKES);
	/* As the API does: languages are asked for in order to be transcribed. */
	for (i = 0; i < what.makes.n && strcmp(what.makes.at[i], "transcripts") != 0; i++)
		continue;
	if (what.languages.n > 0 && i > 0 && i == what.makes.n)
		what.makes.at[what.makes.n++] = "transcripts";
	status = cli_transaction(c, rerun, &what);
	if (status != 0)
		return status;
	job_wake(c->conf->run_dir);
	printf(c->json ? "{\"mediaId\":\"%s\",\"done\":\"is made anew\"}\n" : "asset %s: is made anew\n", c->arg[0]);
	return 0;
}
