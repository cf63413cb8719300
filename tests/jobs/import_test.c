/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports: from an address to an asset, over lines that break, from servers that lie. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/role.h"
#include "core/scratch.h"
#include "core/store.h"
#include "jobs/import_name.h"
#include "tests/inside.h"
#include "tests/jobs/intake.h"

static const char film[] = "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:r=25:d=2 -f lavfi -i "
    "sine=440:r=48000:d=2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -f mp4 \"$f\"";

static struct { const char *path, *log, *go; int port, forbidden; pid_t pid, runner; struct conf conf; } source;

/* Where the files are, for who may go there. */
static void
begin(struct world *w)
{
	const char *script = arena_printf(w->mem, "%s/tests/jobs/import_source.py", getenv("KINOTHEK_SRC"));
	char line[32] = "";
	int out[2];

	source.path = make(w, film);
	source.log = arena_printf(w->mem, "%s.log", source.path);
	source.go = arena_printf(w->mem, "%s.go", source.log);
	unlink(source.log);
	unlink(source.go);
	assert_int_equal(pipe(out), 0);
	source.pid = fork();
	if (source.pid == 0) {
		dup2(out[1], 1);
		close(out[0]);
		execlp("python3", "python3", script, source.path, source.log, NULL);
		_exit(127);
	}
	close(out[1]);
	assert_true(read(out[0], line, sizeof(line) - 1) > 0);
	close(out[0]);
	assert_int_equal(sscanf(line, "%d %d", &source.port, &source.forbidden), 2);
	source.conf = *w->conf;
	source.conf.import_private_hosts = "127.0.0.1";
	source.conf.job_kinds = "import,purge";
	w->conf = &source.conf;
}

static int
setup(void **state)
{
	int status = world_setup(state);

	begin(*state);
	return status;
}

static int
teardown(void **state)
{
	kill(source.pid, SIGKILL);
	waitpid(source.pid, NULL, 0);
	if (source.runner != 0)		/* of a test that has failed */
		kill(source.runner, SIGKILL);
	return world_teardown(state);
}

static const char *
order(struct world *w, const char *path, const char *more)
{
	return arena_printf(w->mem, "{\"files\":[{\"url\":\"http://127.0.0.1:%d%s\",\"name\":\"Council\"%s}]}",
	    source.port, path,
	    more);
}

/* The address of an import that was taken. */
static const char *
made(struct world *w, const char *token, const char *body)
{
	struct req *r = call_as(w, token, "POST", "/v2/uploads/imports", body);

	if (r->status != 201)
		fail_msg("%s: %s", body, buf_string(&r->out));
	assert_string_equal(text(w, r, "data.status"), "waiting");
	return arena_printf(w->mem, "/v2/uploads/imports/%s", text(w, r, "data.id"));
}

static struct req *
imported(struct world *w, const char *token, const char *body)
{
	const char *at = made(w, token, body);

	drain(w, w->conf);
	return call_as(w, token, "GET", at, NULL);
}

/* What was asked for that path, a line each. */
static int
asked(struct world *w, const char *like)
{
	char line[512];
	FILE *f = fopen(source.log, "re");
	int n = 0;

	(void)w;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += strncmp(line, like, strlen(like)) == 0;
	if (f != NULL)
		fclose(f);
	return n;
}

/* The asset of the first file is that film, whole. */
static void
is_the_film(struct world *w, const struct req *r)
{
	const char *id = text(w, r, "data.files.0.mediaId"), *path;
	struct uuid media_id;

	if (id == NULL)
		fail_msg("%s", buf_string(&r->out));
	assert_string_equal(text(w, r, "data.status"), "completed");
	assert_true(uuid_parse(id, &media_id));
	path = world_file(w->mem, store_key_original(w->mem, media_id));
	assert_int_equal(system(arena_printf(w->mem, "cmp '%s' '%s'", path, source.path)), 0);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "/v2/media/%s", id), NULL)->status, 200);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'ingest'", ARGS(ID(media_id))), 1);
}

static const char *
failure(struct world *w, const char *path)
{
	struct req *r = imported(w, w->token, order(w, path, ""));

	assert_string_equal(text(w, r, "data.files.0.status"), "failed");
	assert_string_equal(text(w, r, "data.status"), "failed");
	assert_null(text(w, r, "data.files.0.mediaId"));
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	return text(w, r, "data.files.0.error.code");
}

static void
one_without_a_language_has_those_of_the_tenant(void **state)
{
	struct world *w = *state;
	struct req *r;

	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings",
	    "{\"transcriptionLanguages\":[\"fr\"]}")->status, 200);
	r = imported(w, w->token, order(w, "/named?token=1", ""));
	is_the_film(w, r);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", text(w, r, "data.files.0.mediaId")), NULL);
	assert_string_equal(text(w, r, "data.languageCode"), "fr");
}

static void
an_address_becomes_an_asset(void **state)
{
	struct world *w = *state;
	struct req *r = imported(w, w->token, order(w, "/named?token=1", ",\"transcriptionLanguageCode\":\"de\""));
	const char *id;

	is_the_film(w, r);
	id = text(w, r, "data.files.0.mediaId");
	assert_string_equal(text(w, r, "data.files.0.id"), id);
	assert_string_equal(text(w, r, "data.files.0.receivedBytes"), text(w, r, "data.files.0.fileSize"));
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", id), NULL);
	assert_string_equal(text(w, r, "data.name"), "Council");
	assert_string_equal(text(w, r, "data.languageCode"), "de");
	assert_string_equal(text(w, r, "data.channels.0.id"), uuid_text(w->mem, w->channel_id));
	r = call(w, "GET", arena_printf(w->mem, "/v2/uploads/%s", id), NULL);
	assert_string_equal(text(w, r, "data.type"), "import");
	assert_string_equal(text(w, r, "data.status"), "completed");
	assert_string_equal(text(w, r, "data.fileName"), "Rät €.mp4");
}

static void
what_has_come_is_not_fetched_again(void **state)
{
	struct world *w = *state;

	is_the_film(w, imported(w, w->token, order(w, "/breaks.mp4", "")));
	assert_int_equal(asked(w, "/breaks.mp4 - -"), 1);
	assert_int_equal(asked(w, "/breaks.mp4 bytes="), 2);
}

static void
a_file_that_has_changed_is_fetched_anew(void **state)
{
	struct world *w = *state;

	is_the_film(w, imported(w, w->token, order(w, "/changes.mp4", "")));
	assert_int_equal(asked(w, "/changes.mp4 bytes="), 1);
	assert_int_equal(asked(w, "/changes.mp4"), 2);
}

static void
a_server_that_goes_on_with_another_file_is_asked_for_all_of_it(void **state)
{
	struct world *w = *state;

	is_the_film(w, imported(w, w->token, order(w, "/deaf.mp4", "")));
	assert_int_equal(asked(w, "/deaf.mp4 bytes="), 1);
	assert_int_equal(asked(w, "/deaf.mp4"), 3);
	is_the_film(w, imported(w, w->token, order(w, "/deaf-longer.mp4", "")));
	assert_int_equal(asked(w, "/deaf-longer.mp4 bytes="), 1);
}

/* No limit of ours is to blame: the file is another one now. */
static void
a_server_that_goes_on_with_more_than_it_announced_is_asked_for_all_of_it(void **state)
{
	struct world *w = *state;
	struct req *r;

	is_the_film(w, imported(w, w->token, order(w, "/grows-range.mp4", "")));
	is_the_film(w, imported(w, w->token, order(w, "/grows-body.mp4", "")));
	/* Who says so is asked at once. */
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ? AND t.kind = 'import' AND t.attempt > 1",
	    ARGS(ID(w->tenant_id))), 0);
	is_the_film(w, imported(w, w->token, order(w, "/grows.mp4", "")));
	assert_int_equal(asked(w, "/grows.mp4 - -"), 2);
	assert_int_equal(asked(w, "/grows.mp4 bytes="), 1);
	r = imported(w, w->token, order(w, "/grows-on.mp4", ""));
	assert_string_equal(text(w, r, "data.files.0.status"), "waiting");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_changed");
	assert_int_equal(asked(w, "/grows-on.mp4 - -"), 2);
	assert_int_equal(asked(w, "/grows-on.mp4 bytes="), 2);
}

static void
needs_ytdlp(void)
{
	if (system("/usr/bin/python3 -c 'import yt_dlp' 2>/dev/null") != 0)
		skip();
}

/* Who is silent is asked again soon, for the rest if the rest is to be had. */
static void
a_server_that_falls_silent_is_asked_for_the_rest(void **state)
{
	struct world *w = *state;

	source.conf.import_silence = 1;
	is_the_film(w, imported(w, w->token, order(w, "/stalls.mp4", "")));
	assert_int_equal(asked(w, "/stalls.mp4 - -"), 1);
	assert_int_equal(asked(w, "/stalls.mp4 bytes="), 1);
	is_the_film(w, imported(w, w->token, order(w, "/stalls-changes.mp4", "")));
	assert_int_equal(asked(w, "/stalls-changes.mp4 bytes="), 1);
	assert_int_equal(asked(w, "/stalls-changes.mp4"), 2);
	is_the_film(w, imported(w, w->token, order(w, "/stalls-plain.mp4", "")));
	assert_int_equal(asked(w, "/stalls-plain.mp4 - -"), 2);
}

/* A byte now and then would hold a place for a day. */
static void
a_server_that_drips_is_given_up_and_one_that_is_slow_is_not(void **state)
{
	struct world *w = *state;
	const char *message;
	struct req *r;

	source.conf.import_silence = 3;
	is_the_film(w, imported(w, w->token, order(w, "/slow.mp4", "")));
	assert_int_equal(asked(w, "/slow.mp4"), 1);
	source.conf.import_silence = 1;
	r = imported(w, w->token, order(w, "/drips.mp4", ""));
	assert_string_equal(text(w, r, "data.files.0.status"), "waiting");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_unavailable");
	message = text(w, r, "data.files.0.errorMessages.0");
	assert_non_null(strstr(message, "too slowly after "));
	assert_string_equal(text(w, r, "data.files.0.error.detail"), message);
	/* Once for each run of the job: drain() has two. */
	assert_int_equal(asked(w, "/drips.mp4"), 2);
}

static void
a_film_that_drips_from_a_page_is_given_up(void **state)
{
	struct world *w = *state;
	struct req *r;

	needs_ytdlp();
	source.conf.import_silence = 1;
	r = imported(w, w->token, order(w, "/watch-drips", ""));
	assert_string_equal(text(w, r, "data.files.0.status"), "waiting");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_unavailable");
	assert_string_equal(text(w, r, "data.files.0.errorMessages.0"), "The server took too long.");
}

/* yt-dlp quotes addresses where it tells what was wrong. */
static void
what_is_told_of_a_page_names_no_address(void **state)
{
	struct world *w = *state;
	struct req *r;

	needs_ytdlp();
	r = imported(w, w->token, order(w, "/watch-moved?key=SECRET", ""));
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_refused");
	assert_non_null(strstr(text(w, r, "data.files.0.errorMessages.0"), "yt-dlp says: "));
	assert_non_null(strstr(text(w, r, "data.files.0.errorMessages.0"), "is not allowed"));
	assert_null(strstr(text(w, r, "data.files.0.errorMessages.0"), "media.example.org"));
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ? AND CONCAT_WS(' ', t.args, t.error, t.log_tail) "
	    "LIKE '%SECRET%'", ARGS(ID(w->tenant_id))), 0);
}

static void
start(struct world *w)
{
	source.runner = drain_begin(w, w->conf);
}

static void
finish(void)
{
	drain_end(source.runner);
	source.runner = 0;
}

static void
let_go(void)
{
	FILE *f = fopen(source.go, "we");

	assert_non_null(f);
	fclose(f);
}

/* Waits until so much of it has come. */
static struct req *
coming(struct world *w, const char *at, int percent)
{
	const int64_t until = clock_ms() + 120000;
	struct req *r;

	do {
		usleep(50000);
		r = call(w, "GET", at, NULL);
		if (clock_ms() > until)
			fail_msg("%s", buf_string(&r->out));
	} while (atoi(text(w, r, "data.files.0.progress")) < percent);
	return r;
}

static void
how_far_a_file_is_can_be_seen_while_it_comes(void **state)
{
	struct world *w = *state;
	const char *at = made(w, w->token, order(w, "/held.mp4", "")), *id;
	struct req *r;

	start(w);
	r = coming(w, at, 40);
	assert_in_range(atoi(text(w, r, "data.files.0.progress")), 40, 50);
	assert_string_equal(text(w, r, "data.files.0.status"), "importing");
	assert_null(text(w, r, "data.files.0.mediaId"));
	assert_null(text(w, r, "data.files.0.errorMessages.0"));
	id = text(w, r, "data.files.0.uploadId");
	assert_non_null(id);
	let_go();
	finish();
	r = call(w, "GET", at, NULL);
	is_the_film(w, r);
	assert_string_equal(text(w, r, "data.files.0.progress"), "100");
	assert_string_equal(text(w, r, "data.files.0.uploadId"), id);
	r = call(w, "GET", arena_printf(w->mem, "/v2/uploads/%s", id), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.type"), "import");
	/* The asset stays when its upload goes, and is whole all the same. */
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "/v2/uploads/%s", id), NULL)->status, 200);
	r = call(w, "GET", at, NULL);
	assert_null(text(w, r, "data.files.0.uploadId"));
	assert_string_equal(text(w, r, "data.files.0.progress"), "100");
}

static void
where_no_length_is_told_it_grows_all_the_same(void **state)
{
	struct world *w = *state;
	const char *at = made(w, w->token, order(w, "/held-unsaid.mp4", ""));
	struct req *r;

	start(w);
	r = coming(w, at, 20);
	/* 16 MiB beside the 64 that nobody knows of. */
	assert_string_equal(text(w, r, "data.files.0.progress"), "20");
	assert_null(text(w, r, "data.files.0.fileSize"));
	let_go();
	finish();
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.status"), "completed");
	assert_string_equal(text(w, r, "data.files.0.progress"), "100");
}

static void
how_far_a_film_of_a_page_is_can_be_seen_while_it_comes(void **state)
{
	struct world *w = *state;
	const char *at;
	struct req *r;

	needs_ytdlp();
	/* It is told although nothing more comes. */
	source.conf.import_silence = 300;
	at = made(w, w->token, order(w, "/watch-held", ""));
	start(w);
	r = coming(w, at, 10);
	assert_in_range(atoi(text(w, r, "data.files.0.progress")), 10, 50);
	/* Its upload begins when the film is whole. */
	assert_null(text(w, r, "data.files.0.uploadId"));
	let_go();
	finish();
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.status"), "completed");
	assert_string_equal(text(w, r, "data.files.0.progress"), "100");
	assert_string_equal(text(w, r, "data.files.0.uploadId"), text(w, r, "data.files.0.mediaId"));
}

/* Files below a directory. */
static int
files_in(struct world *w, const char *dir)
{
	FILE *f = popen(arena_printf(w->mem, "find '%s' -type f | wc -l", dir), "re");
	int n = -1;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void
cancelled_while_it_comes(struct world *w, const char *path)
{
	const char *at = made(w, w->token, order(w, path, ""));
	struct uuid id;
	struct req *r;
	int64_t begun;

	start(w);
	r = coming(w, at, 10);
	begun = clock_ms();
	assert_true(uuid_parse(text(w, r, "data.files.0.id"), &id));
	assert_true(files_in(w, w->conf->data_dir) > 0);
	r = call(w, "PUT", arena_printf(w->mem, "%s/cancel", at), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.files.0.status"), "cancelled");
	finish();
	/* Its server would have held it for ever. */
	assert_in_range(clock_ms() - begun, 0, 30000);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.status"), "cancelled");
	assert_null(text(w, r, "data.files.0.mediaId"));
	assert_null(text(w, r, "data.files.0.errorMessages.0"));
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ? AND t.state <> 'succeeded' AND NOT (t.kind = "
	    "'import' AND t.state = 'cancelled')", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(access(arena_printf(w->mem, "%s/%s", w->conf->data_dir, store_key_upload(w->mem, id)), F_OK),
	    -1);
	assert_null(world_file(w->mem, store_key_original(w->mem, id)));
	assert_int_equal(files_in(w, scratch_here(w->mem)), 0);
}

static void
a_fetch_that_is_cancelled_stops_soon_and_leaves_nothing(void **state)
{
	cancelled_while_it_comes(*state, "/held.mp4");
}

static void
a_search_of_a_page_that_is_cancelled_stops_soon_and_leaves_nothing(void **state)
{
	needs_ytdlp();
	cancelled_while_it_comes(*state, "/watch-held");
}

static void
of_several_files_each_has_its_own_end(void **state)
{
	struct world *w = *state;
	struct req *r = imported(w, w->token, arena_printf(w->mem, "{\"files\":["
	    "{\"url\":\"http://127.0.0.1:%d/film.mp4\",\"name\":\"One\"},"
	    "{\"url\":\"http://127.0.0.1:%d/none?key=SECRET\",\"name\":\"Two\"},"
	    "{\"url\":\"http://127.0.0.1:%d/named\",\"name\":\"Three\"}]}", source.port, source.port, source.port));
	static const char *const statuses[] = { "completed", "failed", "completed" };

	assert_string_equal(text(w, r, "data.status"), "failed");
	for (int i = 0; i < 3; i++) {
		const char *at = arena_printf(w->mem, "data.files.%d", i);

		assert_string_equal(text(w, r, arena_printf(w->mem, "%s.status", at)), statuses[i]);
		assert_int_equal(text(w, r, arena_printf(w->mem, "%s.mediaId", at)) == NULL, i == 1);
		assert_int_equal(text(w, r, arena_printf(w->mem, "%s.uploadId", at)) == NULL, i == 1);
		assert_int_equal(text(w, r, arena_printf(w->mem, "%s.errorMessages.0", at)) == NULL, i != 1);
		assert_string_equal(text(w, r, arena_printf(w->mem, "%s.progress", at)), i == 1 ? "0" : "100");
	}
	assert_string_equal(text(w, r, "data.files.1.errorMessages.0"), "The server answers with status 404.");
	assert_null(text(w, r, "data.files.1.errorMessages.1"));
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 2);
}

/* What is behind it may open the file to whoever has it. */
static void
the_query_of_an_address_is_told_to_its_owner_alone(void **state)
{
	struct world *w = *state;
	struct uuid id;
	const char *token = world_member(w, "CreateContent ViewChannel", "Contributor", &id), *plain, *at;
	struct req *r;

	plain = arena_printf(w->mem, "http://127.0.0.1:%d/none", source.port);
	at = made(w, token, order(w, "/none?X-Amz-Signature=SECRET#SECRET", ""));
	drain(w, w->conf);
	r = call_as(w, token, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.url"), arena_printf(w->mem, "%s?X-Amz-Signature=SECRET#SECRET",
	    plain));
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.url"), plain);
	assert_null(strstr(buf_string(&r->out), "SECRET"));
	r = call(w, "GET", "/v2/uploads/imports", NULL);
	assert_non_null(text(w, r, "data.0.id"));
	assert_null(strstr(buf_string(&r->out), "SECRET"));
	r = call(w, "PUT", arena_printf(w->mem, "%s/cancel", at), NULL);
	assert_int_equal(r->status, 200);
	assert_null(strstr(buf_string(&r->out), "SECRET"));
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ? AND CONCAT_WS(' ', t.args, t.error, t.log_tail) "
	    "LIKE '%SECRET%'", ARGS(ID(w->tenant_id))), 0);
}

static void
a_length_that_is_not_told_is_no_matter(void **state)
{
	struct world *w = *state;

	is_the_film(w, imported(w, w->token, order(w, "/unsaid.mp4", "")));
}

static void
why_it_has_failed_is_told(void **state)
{
	struct world *w = *state;

	assert_string_equal(failure(w, "/page"), "source_is_page");
	/* With yt-dlp or without it, whoever reads that knows what to do. */
	assert_non_null(strstr(text(w, imported(w, w->token, order(w, "/page", "")), "data.files.0.error.remedy"),
	    "The operator may install yt-dlp."));
	assert_string_equal(failure(w, "/none"), "source_refused");
	assert_string_equal(failure(w, "/status/501"), "source_refused");
	assert_string_equal(failure(w, "/inside"), "address_forbidden");
	assert_string_equal(failure(w, "/text.mp4"), "format_not_allowed");
	assert_string_equal(failure(w, "/empty.mp4"), "empty_file");
	assert_int_equal(asked(w, "/none"), 1);
}

/* A film that stands on a page; its streams in ms. */
static void
is_a_film(struct world *w, const char *path, const char *name)
{
	struct req *r = imported(w, w->token, order(w, path, ""));
	const char *id = text(w, r, "data.files.0.mediaId"), *file;
	struct uuid media_id;

	if (id == NULL)
		fail_msg("%s: %s", path, buf_string(&r->out));
	assert_true(uuid_parse(id, &media_id));
	file = world_file(w->mem, store_key_original(w->mem, media_id));
	assert_int_equal(system(arena_printf(w->mem, "ffprobe -v error -show_entries stream=codec_name -of csv=p=0 "
	    "'%s' | sort | tr '\\n' ' ' | grep -qx 'aac h264 '", file)), 0);
	r = call(w, "GET", arena_printf(w->mem, "/v2/uploads/%s", id), NULL);
	assert_string_equal(text(w, r, "data.fileName"), name);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s", id), NULL)->status, 200);
	drain(w, w->conf);
}

static void
a_film_on_a_page_becomes_an_asset(void **state)
{
	struct world *w = *state;

	needs_ytdlp();
	is_a_film(w, "/watch", "Sitting of the council ⧸ part 1.mp4");
	is_a_film(w, "/watch-parts", "Sitting of the council ⧸ part 1.mp4");
	is_a_film(w, "/watch-streams", "Sitting of the council ⧸ part 1.mkv");
}

static void
a_page_leads_to_no_other_place(void **state)
{
	struct world *w = *state;
	int before;

	needs_ytdlp();
	assert_string_equal(failure(w, "/watch-inside"), "address_forbidden");
	assert_int_equal(asked(w, "canary"), 0);
	assert_string_equal(failure(w, "/watch-file"), "source_refused");
	assert_string_equal(failure(w, "/watch-two"), "source_is_page");
	assert_string_equal(failure(w, "/watch-gone"), "source_refused");
	source.conf.import_pages = false;
	before = asked(w, "/watch ");
	assert_string_equal(failure(w, "/watch"), "source_is_page");
	assert_int_equal(asked(w, "/watch "), before + 1);
}

static void
a_server_that_is_busy_is_asked_again_later(void **state)
{
	struct world *w = *state;
	const char *at = made(w, w->token, order(w, "/busy", ""));
	struct req *r;

	drain(w, w->conf);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.status"), "waiting");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_unavailable");
}

static void
refused(struct world *w, const char *url, const char *code)
{
	struct req *r = call(w, "POST", "/v2/uploads/imports", arena_printf(w->mem,
	    "{\"files\":[{\"url\":\"%s\",\"name\":\"x\"}]}", url));

	if (r->status != 422 || !has_fault(r, "/files/0/url", code))
		fail_msg("%s: %s", url, buf_string(&r->out));
}

static void
addresses_inside_and_those_that_are_none_are_refused_at_once(void **state)
{
	static const char *const hosts[] = { INSIDE_HOSTS }, *const urls[] = { "http://127.0.0.2/a.mp4",
	    "http://0x7f000002/a", "http://93.184.216.34:22/a" };
	static const char *const wrong[] = { "ftp://example.org/a", "file:///etc/passwd",
	    "http://user:pass@example.org/a", "http://user@127.0.0.2/a", "https://", "http:///a.mp4", "http:/example.org/a",
	    "example.org/a.mp4", "http://example.org:0/a", "http://example.org:65536/a", "http://example.org:8o/a",
	    "http://[::1/a", "http://:80/a", "http://exa mple.org/a" };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		refused(w, urls[i], "address_forbidden");
	source.conf.import_private_hosts = "127.0.0.3";
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (!inside_is_name(hosts[i]))
			refused(w, arena_printf(w->mem, "http://%s:%d/a", hosts[i], source.forbidden),
			    inside_code(hosts[i]));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refused(w, wrong[i], "format");
	assert_int_equal(number(w, "FROM imports t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	source.conf.import_private_hosts = NULL;
	assert_int_equal(call(w, "POST", "/v2/uploads/imports", order(w, "/film.mp4", ""))->status, 422);
	made(w, w->token, "{\"files\":[{\"url\":\"http://media.example.org/a.mp4\",\"name\":\"x\"}]}");
}

/* All ways to say where nobody may go: at once where the address alone tells, else when it is fetched. */
static void
nobody_is_led_inside(void **state)
{
	static const char *const urls[] = { "http://localhost:PORT/a", "http://127.0.0.2:PORT/a", "http://127.2:PORT/a",
	    "http://2130706434:PORT/a", "http://0x7f.2:PORT/a", "http://0177.0.0.2:PORT/a", "http://[::1]:PORT/a",
	    "http://[::ffff:127.0.0.2]:PORT/a", "http://[64:ff9b::7f00:2]:PORT/a", "http://0.0.0.0:PORT/a", "http://169.254.169.254/a",
	    "http://[fd00::1]/a", "http://100.64.0.1/a", "http://10.0.0.1/a", "http://192.168.0.1/a",
	    "http://good@127.0.0.2:PORT/a", "http://media.example.org#@127.0.0.2:PORT/a", "http://media.example.org\\@127.0.0.2:PORT/a",
	    "http://127.0.0.2:PORT\\@media.example.org/a", "http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.2:PORT/a",
	    "gopher://127.0.0.2:PORT/a", "dict://127.0.0.2:PORT/a", "ftp://127.0.0.2:PORT/a", "rtsp://127.0.0.2:PORT/a",
	    "file:///etc/passwd", "data:video/mp4;base64,AAAA", "htt://127.0.0.2/a",
	    "http://127.0.0.2:PORT/a\r\nHost: media.example.org" };
	/* Those that are written wrongly, whatever they mean. */
	static const size_t wrong = 15;
	static const int statuses[] = { 301, 302, 303, 307, 308 };
	struct world *w = *state;

	source.conf.import_private_hosts = "127.0.0.3";
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		const char *port = strstr(urls[i], "PORT"), *url = port == NULL ? urls[i] : arena_printf(w->mem,
		    "%.*s%d%s", (int)(port - urls[i]), urls[i], source.forbidden, port + 4);
		struct buf body = BUF(w->mem);
		struct req *r;

		buf_text(&body, "{\"files\":[{\"name\":\"x\",\"url\":");
		buf_json(&body, url);
		buf_text(&body, "}]}");
		r = call(w, "POST", "/v2/uploads/imports", buf_string(&body));
		if (r->status == 201) {
			const char *at = arena_printf(w->mem, "/v2/uploads/imports/%s", text(w, r, "data.id")), *code;

			drain(w, w->conf);
			r = call(w, "GET", at, NULL);
			code = text(w, r, "data.files.0.error.code");
			/* A part behind "#" is none of the address: that one is a name that nobody has. */
			if (code == NULL || strcmp(code, strchr(url, '#') != NULL ? "source_unavailable" :
			    "address_forbidden") != 0)
				fail_msg("%s: %s", url, buf_string(&r->out));
			assert_null(strstr(text(w, r, "data.files.0.error.detail"), "127."));
			call(w, "PUT", arena_printf(w->mem, "%s/cancel", at), NULL);
		} else if (r->status != 422 || !has_fault(r, "/files/0/url", strchr(url, '\n') != NULL ?
		    "control_characters" : i < wrong ? "address_forbidden" : "format")) {
			fail_msg("%s: %s", url, buf_string(&r->out));
		}
	}
	source.conf.import_private_hosts = "127.0.0.1";
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		assert_string_equal(failure(w, arena_printf(w->mem, "/moved/%d", statuses[i])), "address_forbidden");
	assert_string_equal(failure(w, "/moved-later"), "address_forbidden");
	assert_string_equal(failure(w, "/refresh"), "source_is_page");
	assert_string_equal(failure(w, "/list.mp4"), "format_not_allowed");
	assert_int_equal(asked(w, "/moved/"), 5);
	assert_int_equal(asked(w, "canary"), 0);
}

/* Of servers that lie or never end nothing becomes an asset, and nothing stays. */
static void
what_a_server_makes_up_is_no_file(void **state)
{
	struct world *w = *state;
	struct req *r;

	assert_string_equal(failure(w, "/round"), "source_refused");
	assert_int_equal(asked(w, "/round"), 11);
	/* Bytes are taken as they come: who asks for no compression inflates nothing. */
	assert_string_equal(failure(w, "/bomb.mp4"), "format_not_allowed");
	source.conf.upload_max_size = 4 << 20;
	assert_string_equal(failure(w, "/endless.mp4"), "file_too_large");
	r = imported(w, w->token, order(w, "/lies.mp4", ""));
	assert_string_equal(text(w, r, "data.files.0.status"), "waiting");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_unavailable");
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

/* A day from its first byte on, however often it was tried. */
static void
a_file_that_has_not_come_in_a_day_has_failed(void **state)
{
	struct world *w = *state;
	const char *at = made(w, w->token, order(w, "/half.mp4", ""));
	struct req *r;

	drain(w, w->conf);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.status"), "waiting");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "source_unavailable");
	db_run(w->db, "UPDATE uploads SET created_at = created_at - 86400000 WHERE tenant_id = ?", ARGS(ID(
	    w->tenant_id)));
	db_run(w->db, "UPDATE jobs SET run_at = 0 WHERE tenant_id = ? AND state = 'delayed'", ARGS(ID(w->tenant_id)));
	drain(w, w->conf);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.status"), "failed");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "time_limit");
}

static void
only_who_may_put_assets_there_gets_them(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id;
	const char *token = world_member(w, "CreateContent ViewChannel", "Contributor", &id), *at;
	struct req *r;

	/* Of another tenant, and without a role in it. */
	r = call_as(w, token, "POST", "/v2/uploads/imports", arena_printf(w->mem, "{\"channel\":\"%s\",%s",
	    uuid_text(w->mem, other->channel_id), order(w, "/film.mp4", "") + 1));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/channel", "not_found"));
	at = made(w, token, order(w, "/film.mp4", ""));
	assert_int_equal(call_as(w, other->token, "GET", at, NULL)->status, 404);
	world_role(w, w->channel_id, id, NULL);
	role_changed(w->db, w->tenant_id);
	drain(w, w->conf);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.files.0.status"), "failed");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "channel_unavailable");
	assert_int_equal(asked(w, "/film.mp4"), 0);
}

static void
what_is_cancelled_does_not_come(void **state)
{
	struct world *w = *state;
	const char *at = made(w, w->token, order(w, "/film.mp4", "")), *done = made(w, w->token, order(w, "/named",
	    ""));
	struct req *r = call(w, "PUT", arena_printf(w->mem, "%s/cancel", at), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "cancelled");
	drain(w, w->conf);
	assert_int_equal(asked(w, "/film.mp4"), 0);
	assert_string_equal(text(w, call(w, "GET", at, NULL), "data.files.0.status"), "cancelled");
	/* What is an asset stays one. */
	assert_string_equal(text(w, call(w, "PUT", arena_printf(w->mem, "%s/cancel", done), NULL), "data.status"),
	    "completed");
	is_the_film(w, call(w, "GET", done, NULL));
}

static void
there_is_no_room_beyond_the_quota(void **state)
{
	struct world *w = *state;

	db_run(w->db, "UPDATE tenants SET storage_quota = 1000 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_string_equal(failure(w, "/film.mp4"), "quota_full");
}

/* The one for which there is no room brings no byte. */
static void
of_two_that_come_at_once_the_quota_has_room_for_one(void **state)
{
	static const char file[] = "{\"url\":\"http://127.0.0.1:%d/together.mp4\",\"name\":\"Council\"}";
	struct world *w = *state;
	struct conf conf = *w->conf;
	struct stat st;
	int round;

	assert_int_equal(stat(source.path, &st), 0);
	conf.job_slots = 2;
	w->conf = &conf;
	for (round = 0; round < 4; round++) {
		const char *one = arena_printf(w->mem, file, source.port);
		struct req *r;

		db_run(w->db, "DELETE FROM uploads WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
		world_quota(w, st.st_size * 3 / 2);
		r = imported(w, w->token, arena_printf(w->mem, "{\"files\":[%s,%s]}", one, one));
		assert_string_equal(text(w, r, "data.status"), "failed");
		assert_int_equal(number(w, "FROM import_files f JOIN imports m ON m.id = f.import_id WHERE "
		    "m.tenant_id = ? AND f.status = 'completed'", ARGS(ID(w->tenant_id))), round + 1);
		assert_int_equal(number(w, "FROM uploads WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
		assert_non_null(strstr(buf_string(&r->out), "\"quota_full\""));
	}
}

static void
the_same_file_is_taken_once_where_the_tenant_wants_it(void **state)
{
	struct world *w = *state;
	struct req *r;

	db_run(w->db, "UPDATE tenants SET duplicate_check = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	is_the_film(w, imported(w, w->token, order(w, "/film.mp4", "")));
	r = imported(w, w->token, order(w, "/named", ""));
	assert_string_equal(text(w, r, "data.files.0.status"), "failed");
	assert_string_equal(text(w, r, "data.files.0.error.code"), "duplicate_file");
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

static void
a_file_is_called_as_its_server_says(void **state)
{
	static const struct { const char *disposition, *url, *name; } cases[] = {
		{ NULL, "https://a.example/x/film%20one.mp4?sig=/y.mp4#z", "film one.mp4" },
		{ NULL, "https://a.example", "file" }, { NULL, "https://a.example/", "file" }, { NULL, "https://a.example/%00", "file" },
		{ NULL, "https://a.example/%ff.mp4", "file" }, { NULL, "https://a.example/..%2f..%2fetc%2fpasswd", "passwd" },
		{ "attachment", "https://a.example/b.mp4", "b.mp4" },
		{ "attachment; filename=c.mp4", "https://a.example/b", "c.mp4" },
		{ "attachment; filename=\"a \\\"b\\\"; c.mp4\"", "https://a.example/b", "a \"b\"; c.mp4" },
		{ "attachment; FILENAME = \"..\\\\..\\\\d.mp4\"", "https://a.example/b", "d.mp4" },
		{ "attachment; filename=\"o.mp4\"; filename*=UTF-8''%e2%82%ac.mp4", "https://a.example/b", "€.mp4" },
		{ "attachment; filename*=UTF-8''%zz", "https://a.example/b", "b" },
		{ "attachment; filename=\"\"", "https://a.example/b", "b" }, { "attachment; filename=\"unended", "https://a.example/b", "unended" },
		{ "attachment; filename=\".hidden\"", "https://a.example/b", "hidden" }, { ";;;=;", "https://a.example/b", "b" },
		{ "attachment; filename=\"voil\xe0.mp4\"", "https://a.example/b", "b" },
		{ "attachment; filename=\"\xa4\xa2\xa4\xa4\"", "https://a.example/b", "b" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(import_name(w->mem, cases[i].disposition, cases[i].url), cases[i].name);
}

int
main(void)
{
#define SOURCE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_file_is_called_as_its_server_says),
		SOURCE_TEST(an_address_becomes_an_asset),
		SOURCE_TEST(one_without_a_language_has_those_of_the_tenant),
		SOURCE_TEST(what_has_come_is_not_fetched_again),
		SOURCE_TEST(a_file_that_has_changed_is_fetched_anew),
		SOURCE_TEST(a_server_that_goes_on_with_another_file_is_asked_for_all_of_it),
		SOURCE_TEST(a_server_that_goes_on_with_more_than_it_announced_is_asked_for_all_of_it),
		SOURCE_TEST(a_server_that_falls_silent_is_asked_for_the_rest),
		SOURCE_TEST(a_server_that_drips_is_given_up_and_one_that_is_slow_is_not),
		SOURCE_TEST(a_film_that_drips_from_a_page_is_given_up),
		SOURCE_TEST(what_is_told_of_a_page_names_no_address),
		SOURCE_TEST(how_far_a_file_is_can_be_seen_while_it_comes),
		SOURCE_TEST(where_no_length_is_told_it_grows_all_the_same),
		SOURCE_TEST(how_far_a_film_of_a_page_is_can_be_seen_while_it_comes),
		SOURCE_TEST(a_fetch_that_is_cancelled_stops_soon_and_leaves_nothing),
		SOURCE_TEST(a_search_of_a_page_that_is_cancelled_stops_soon_and_leaves_nothing),
		SOURCE_TEST(of_several_files_each_has_its_own_end),
		SOURCE_TEST(the_query_of_an_address_is_told_to_its_owner_alone),
		SOURCE_TEST(a_length_that_is_not_told_is_no_matter),
		SOURCE_TEST(why_it_has_failed_is_told),
		SOURCE_TEST(a_film_on_a_page_becomes_an_asset),
		SOURCE_TEST(a_page_leads_to_no_other_place),
		SOURCE_TEST(a_server_that_is_busy_is_asked_again_later),
		SOURCE_TEST(addresses_inside_and_those_that_are_none_are_refused_at_once),
		SOURCE_TEST(nobody_is_led_inside),
		SOURCE_TEST(what_a_server_makes_up_is_no_file),
		SOURCE_TEST(a_file_that_has_not_come_in_a_day_has_failed),
		SOURCE_TEST(only_who_may_put_assets_there_gets_them),
		SOURCE_TEST(what_is_cancelled_does_not_come),
		SOURCE_TEST(there_is_no_room_beyond_the_quota),
		SOURCE_TEST(of_two_that_come_at_once_the_quota_has_room_for_one),
		SOURCE_TEST(the_same_file_is_taken_once_where_the_tenant_wants_it),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
