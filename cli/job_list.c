/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek job list, job show: what the runners do, for whom, and why it failed. */
#include <string.h>

#include "cli/cli.h"
#include "core/job.h"

enum { FILE_CHARACTERS = 40, REACH = 200 };

static const char states[] = "waiting delayed queued running succeeded failed cancelled";

/* A job with what it is about. */
struct listed {
	struct uuid id, media_id, ingest_id;
	const char *kind, *status, *tenant_shortcode, *media_name, *file_name, *runner, *log_tail;
	int64_t progress, attempt, max_attempts, dependants;
	struct nested error;
	struct json warnings;
	struct moment created_at, started_at, finished_at;
};
static const struct field listed_fields[] = {
	FIELD(struct listed, id, .doc = "Job"),
	FIELD(struct listed, kind, .doc = "What it does"),
	FIELD(struct listed, status, .sql = "IF(t.state = 'ready', 'queued', t.state)", .doc = "State"),
	FIELD(struct listed, progress, .doc = "Percent"),
	FIELD(struct listed, attempt, .doc = "Attempts so far"),
	FIELD(struct listed, max_attempts, .doc = "Attempts after which it has failed"),
	FIELD(struct listed, tenant_shortcode, .sql = "n.shortcode", .doc = "Whose work it is"),
	FIELD(struct listed, media_id, .doc = "The asset it works on"),
	FIELD(struct listed, media_name, .sql = "m.name", .doc = "As people call it"),
	FIELD(struct listed, file_name, .sql = "m.original_file_name", .doc = "As it was uploaded"),
	FIELD(struct listed, ingest_id, .doc = "First job of the ingest that it is a step of"),
	FIELD(struct listed, error, .of = &job_error_record, .doc = "Why the last attempt failed"),
	FIELD(struct listed, warnings, .doc = "What it tells although it has succeeded"),
	FIELD(struct listed, dependants, .on = COMPUTED, .doc = "How many failed because of it alone"),
	FIELD(struct listed, runner, .on = OMIT_NULL, .doc = "Who works on it, or did"),
	FIELD(struct listed, log_tail, .on = OMIT_NULL, .doc = "Last lines of its log"),
	FIELD(struct listed, created_at, .doc = "When it was added"),
	FIELD(struct listed, started_at, .doc = "When the last attempt began"),
	FIELD(struct listed, finished_at, .doc = "When it ended"),
};
static const struct record listed_record = RECORD("ListedJob", struct listed, listed_fields);
#define LISTED "FROM jobs t LEFT JOIN tenants n ON n.id = t.tenant_id LEFT JOIN media m ON m.id = t.media_id "
#define IS_DEPENDANT "(t.state = 'failed' AND JSON_VALUE(t.error, '$.code') = 'dependency_failed')"

struct one { struct uuid id; const char *kind, *state; };
static const struct field one_fields[] = {
	FIELD(struct one, id, .doc = "Job"),
	FIELD(struct one, kind, .doc = "What it does"),
	FIELD(struct one, state, .doc = "State"),
};
static const struct record one_record = RECORD("OneJob", struct one, one_fields);

/* What failed because of this one, and because of that, each counted once. */
static int64_t
count_dependants(struct cli *c, struct uuid id)
{
	struct uuid reached[REACH] = { id };
	const struct one *w;
	size_t at, i, k, n, all = 1;

	for (at = 0; at < all; at++) {
		w = db_rows(c->db, &one_record, "FROM jobs t JOIN job_waits w ON w.job_id = t.id WHERE w.on_id = ? AND "
		    "w.needed = 1 AND " IS_DEPENDANT, ARGS(ID(reached[at])), &n);
		for (i = 0; i < n; i++) {
			for (k = 0; k < all && !uuid_equal(reached[k], w[i].id); k++)
				continue;
			if (k == all && all < REACH)
				reached[all++] = w[i].id;
		}
	}
	return (int64_t)all - 1;
}

static void
add_dependants(struct cli *c, struct listed *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(rows[i].status, "failed") == 0 || strcmp(rows[i].status, "cancelled") == 0)
			rows[i].dependants = count_dependants(c, rows[i].id);
}

static const struct job_warning *
warnings_of(const struct cli *c, const struct listed *j, size_t *n)
{
	struct list told = record_parse_list(c->mem, &job_warning_record, j->warnings.text);

	*n = told.n;
	return told.rows;
}

/* Why it failed, or what it tells although it has not. */
static const char *
reason(const struct cli *c, const struct listed *j)
{
	const struct job_error *error = j->error.row;
	const struct job_warning *told;
	size_t n;

	if (error != NULL && error->code != NULL)
		return error->code;
	told = warnings_of(c, j, &n);
	return n == 0 ? "-" : arena_printf(c->mem, "warning: %s", told[0].code);
}

static void
print_row(const struct cli *c, struct buf *b, const struct listed *j)
{
	buf_printf(b, "%s\t%s\t%s\t%lld %%\t%lld/%lld\t%s\t%s\t%s\t%s\t%s", uuid_text(c->mem, j->id), j->kind,
	    j->status, (long long)j->progress, (long long)j->attempt, (long long)j->max_attempts,
	    cli_time(c->mem, j->created_at), cli_cell(c->mem, j->tenant_shortcode, FILE_CHARACTERS),
	    uuid_is_none(j->media_id) ? "-" : uuid_text(c->mem, j->media_id), cli_cell(c->mem, j->file_name,
	    FILE_CHARACTERS), reason(c, j));
	if (j->dependants > 0)
		buf_printf(b, ", and %lld that needed it", (long long)j->dependants);
	buf_char(b, '\n');
}

static bool
is_state(const char *word)
{
	const char *p = strstr(states, word);
	size_t n = strlen(word);

	return p != NULL && n > 3 && (p == states || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0');
}

/* What is listed; an exit status. */
struct wanted { const char *state, *tenant; struct uuid media_id; int64_t most; };

static int
take_wanted(const struct cli *c, struct wanted *w)
{
	const char *limit = cli_option(c, "limit"), *media = cli_option(c, "media");

	*w = (struct wanted){ cli_option(c, "state"), cli_option(c, "tenant"), .most = 20 };
	if (limit != NULL && (!int_parse(limit, &w->most) || w->most < 1 || w->most > 10000))
		return cli_fail(c, EX_USAGE, "--limit must be a whole number from 1 to 10000");
	if (w->state != NULL && !is_state(w->state))
		return cli_fail(c, EX_USAGE, "there is no state %s; there are: %s", w->state, states);
	if (w->state != NULL && strcmp(w->state, "queued") == 0)
		w->state = "ready";
	return media == NULL || cli_id(c, media, &w->media_id) ? 0 : EX_USAGE;
}

int
job_list(struct cli *c)
{
	struct listed *rows;
	struct buf b = BUF(c->mem);
	struct wanted w;
	size_t n, i;
	int status = take_wanted(c, &w);

	if (status != 0)
		return status;
	if (w.tenant != NULL && db_number(c->db, "SELECT COUNT(*) FROM tenants WHERE shortcode = ?",
	    ARGS(STR(w.tenant)), 1) == 0)
		return cli_fail(c, EX_NOINPUT, "there is no tenant %s", w.tenant);
	rows = db_rows(c->db, &listed_record, LISTED "WHERE (? IS NULL OR t.state = ?) AND (? IS NULL OR n.shortcode "
	    "= ?) AND (? IS NULL OR t.media_id = ?) AND (? OR NOT COALESCE(" IS_DEPENDANT ", 0)) ORDER BY t.id DESC LIMIT ?",
	    ARGS(STR(w.state), STR(w.state), STR(w.tenant), STR(w.tenant), ID(w.media_id), ID(w.media_id),
	    INT(cli_option(c, "all") != NULL), INT(w.most)), &n);
	add_dependants(c, rows, n);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	for (i = 0; i < n; i++)
		rows[i].log_tail = NULL;		/* job show has it */
	if (c->json)
		return cli_json_rows(c, &listed_record, rows, n);
	buf_text(&b, "JOB\tKIND\tSTATE\tDONE\tATTEMPT\tCREATED\tTENANT\tASSET\tFILE\tREASON\n");
	for (i = 0; i < n; i++)
		print_row(c, &b, &rows[i]);
	cli_table(c->mem, buf_string(&b));
	return 0;
}

static void
line(const char *name, const char *value)
{
	if (value != NULL && value[0] != '\0' && strcmp(value, "-") != 0)
		printf("%-12s %s\n", name, value);
}

/* Jobs that it waits for, and that have not ended. */
static void
print_waits(struct cli *c, const struct listed *j)
{
	const struct one *w;
	size_t i, n;

	w = db_rows(c->db, &one_record, "FROM jobs t JOIN job_waits w ON w.on_id = t.id WHERE w.job_id = ? AND t.state "
	    "NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY t.id", ARGS(ID(j->id)), &n);
	for (i = 0; i < n; i++)
		line("waits for", arena_printf(c->mem, "%s %s, %s", uuid_text(c->mem, w[i].id), w[i].kind, w[i].state));
}

static void
print_warnings(struct cli *c, const struct listed *j)
{
	const struct job_warning *told;
	size_t i, n;

	told = warnings_of(c, j, &n);
	for (i = 0; i < n; i++) {
		line("warning", told[i].code);
		line("", told[i].detail);
	}
}

/* How long it took is a matter of seconds. */
static const char *
second(struct cli *c, struct moment at)
{
	char text[MOMENT_TEXT];

	if (at.ms == 0)
		return "-";
	moment_format(at, text);
	text[10] = ' ';
	return arena_copy_n(c->mem, text, 19);
}

static void
print_log(struct cli *c, const char *log)
{
	size_t n;

	if (log == NULL)
		return;
	puts("log");
	for (; *log != '\0'; log += n + (log[n] == '\n')) {
		n = strcspn(log, "\n");
		printf("    %s\n", cli_cell(c->mem, arena_copy_n(c->mem, log, n), n + 1));
	}
}

static void
print_job(struct cli *c, const struct listed *j)
{
	const struct job_error *error = j->error.row;

	line("job", uuid_text(c->mem, j->id));
	line("kind", j->kind);
	line("state", arena_printf(c->mem, "%s, %lld %%, attempt %lld of %lld", j->status, (long long)j->progress,
	    (long long)j->attempt, (long long)j->max_attempts));
	line("tenant", j->tenant_shortcode);
	line("asset", uuid_is_none(j->media_id) ? NULL : arena_printf(c->mem, "%s  %s", uuid_text(c->mem, j->media_id),
	    cli_cell(c->mem, j->media_name, SIZE_MAX)));
	line("file", cli_cell(c->mem, j->file_name, SIZE_MAX));
	line("ingest", uuid_is_none(j->ingest_id) ? NULL : uuid_text(c->mem, j->ingest_id));
	line("created", second(c, j->created_at));
	line("started", second(c, j->started_at));
	line("finished", second(c, j->finished_at));
	line("runner", j->runner);
	if (error != NULL) {
		line("reason", error->code);
		line("", error->detail);
		line("remedy", error->remedy);
	}
	print_warnings(c, j);
	if (j->dependants > 0)
		line("with it", arena_printf(c->mem, "%lld jobs failed that needed it", (long long)j->dependants));
	print_waits(c, j);
	print_log(c, j->log_tail);
}

int
job_show(struct cli *c)
{
	struct listed *j;
	struct uuid id;

	if (!cli_id(c, c->arg[0], &id))
		return EX_USAGE;
	j = db_row(c->db, &listed_record, LISTED "WHERE t.id = ?", ARGS(ID(id)));
	if (j == NULL)
		return db_failure(c->db) != DB_FINE ? cli_fail_db(c) :
		    cli_fail(c, EX_NOINPUT, "there is no job %s", c->arg[0]);
	add_dependants(c, j, 1);
	if (c->json) {
		struct buf b = BUF(c->mem);

		record_render(&b, &listed_record, j, false);
		puts(buf_string(&b));
	} else {
		print_job(c, j);
	}
	return db_failure(c->db) != DB_FINE ? cli_fail_db(c) : 0;
}
