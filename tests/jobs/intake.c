/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See intake.h. */
#include <sys/stat.h>
#include <sys/wait.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/jail.h"
#include "core/store.h"
#include "jobs/runner.h"
#include "media/sniff.h"
#include "tests/jobs/intake.h"

#define INGEST "ingest,first_rendition,renditions,thumbnail,storyboard,scenes,video_texts,chapters,waveform,tracks,subtitles,variants,image_texts," \
	"keywords,entities,summary,pages,page_texts,publish,purge"

static const struct { const char *name; enum outcome (*run)(struct job *); } functions[] = {
#define FUNCTION(kind, ...) { #kind, kind##_run },
	JOB_KINDS(FUNCTION)
#undef FUNCTION
};
#define N_KINDS (sizeof(functions) / sizeof(functions[0]))

const char *
make(struct world *w, const char *command)
{
	const char *path = arena_printf(w->mem, "%s/made-%p", w->conf->data_dir, (const void *)command);

	setenv("f", path, 1);
	if (system(command) != 0)
		fail_msg("%s", command);
	return path;
}

struct uuid
take_in(struct world *w, const char *file)
{
	struct uuid id = world_media(w, "video", "Asset");
	struct sniff s = sniff_file(file);
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	db_run(w->db, "UPDATE media SET status = 'processing', generation = NULL, type = ?, mime_type = ?, "
	    "file_size = ? WHERE id = ?", ARGS(STR(s.type != NULL ? s.type : "video"),
	    STR(s.mime_type != NULL ? s.mime_type : "video/mp4"), INT(st.st_size), ID(id)));
	assert_true(store_put(w->mem, file, arena_printf(w->mem, "originals/%s", uuid_text(w->mem, id))));
	ingest_start(w->db, w->tenant_id, id);
	assert_int_equal(db_failure(w->db), DB_FINE);
	return id;
}

pid_t
drain_begin(struct world *w, const struct conf *given)
{
	struct conf conf = *given;
	struct run_kind kinds[N_KINDS];
	struct run_options options = { .drain = true, .back_off_ms = 3600000 };
	pid_t pid;
	int status;
	size_t i;

	for (i = 0; i < N_KINDS; i++)
		kinds[i] = (struct run_kind){ job_kind(functions[i].name), functions[i].run };
	conf.job_kinds = given->job_kinds != NULL ? given->job_kinds : INGEST;
	/* A runner that drains waits for what is due soon, and for what others run: what earlier tests have left. */
	db_run(w->db, "UPDATE jobs SET run_at = run_at + 86400000 WHERE state = 'delayed' AND run_at > " SQL_NOW,
	    NO_ARGS);
	db_run(w->db, "UPDATE jobs SET state = 'cancelled' WHERE state IN ('waiting', 'running') AND tenant_id <> ?",
	    ARGS(ID(w->tenant_id)));
	mkdir(conf.run_dir, 0700);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (status = 1; status < NSIG; status++)
			signal(status, SIG_DFL);
		db_abandon(w->db);
		_exit(run_jobs(&conf, kinds, N_KINDS, &options));
	}
	return pid;
}

void
drain_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* What waits because it failed, but for want of space. */
static const char *
failed_for_a_moment(struct world *w)
{
	return db_text(w->db, "SELECT CONCAT(kind, ': ', error) FROM jobs WHERE tenant_id = ? AND state = 'delayed' "
	    "AND JSON_VALUE(error, '$.code') <> 'no_space' LIMIT 1", ARGS(ID(w->tenant_id)));
}

void
drain(struct world *w, const struct conf *conf)
{
	const char *why;
	int tries;

	drain_end(drain_begin(w, conf));
	for (tries = 0; tries < 1 && (why = failed_for_a_moment(w)) != NULL; tries++) {
		print_message("tried again: %s\n", why);
		db_run(w->db, "UPDATE jobs SET run_at = 0 WHERE tenant_id = ? AND state = 'delayed' AND "
		    "JSON_VALUE(error, '$.code') <> 'no_space'", ARGS(ID(w->tenant_id)));
		drain_end(drain_begin(w, conf));
	}
}

const char *
media_column(struct world *w, struct uuid id, const char *name)
{
	return db_text(w->db, arena_printf(w->mem, "SELECT %s FROM media WHERE id = ?", name), ARGS(ID(id)));
}

int64_t
published_rows(struct world *w, struct uuid id, const char *kind)
{
	return number(w, "FROM renditions r JOIN media m ON m.id = r.media_id AND m.generation = r.generation WHERE "
	    "m.id = ? AND r.kind = ?", ARGS(ID(id), STR(kind)));
}

int
intake_open(void **state)
{
	static struct arena *mem;

	mem = arena_new(1 << 20);
	if (getenv("KINOTHEK_BUILD") != NULL)
		setenv("KINOTHEK_LIBEXEC", getenv("KINOTHEK_BUILD"), 0);
	return world_open(state) != 0 || jail_check(mem, false) != NULL;
}
