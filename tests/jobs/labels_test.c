/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pictures show: a server sees them, and its answer is a stranger's word. */
#include <string.h>

#include "core/asset.h"
#include "core/store.h"
#include "tests/jobs/sounds.h"

static struct asset_args args;

/* A film of three scenes, the first and the last red and the second blue, and the job that looks at it. */
static struct job
film(struct world *w, const char *mode)
{
	struct job j = { .mem = w->mem, .db = w->db, .id = uuid_new(), .tenant_id = w->tenant_id,
	    .media_id = world_media(w, "video", "Walls"), .attempt = 1 };
	const char *path = arena_printf(w->mem, "%s/walls.mp4", sounds_dir());
	struct conf *c = NEW(w->mem, struct conf);

	*c = *with_peer(w, mode);
	c->engine[ENGINE_vision] = c->engine[ENGINE_complete];
	j.conf = c;
	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
	run((const char *[]){ "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
	    "color=red:s=320x180:r=5:d=4[a];color=blue:s=320x180:r=5:d=4[b];color=red:s=320x180:r=5:d=4[c];[a][b][c]concat=n=3",
	    "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", path, NULL });
	assert_true(store_put(w->mem, path, arena_printf(w->mem, "originals/%s", uuid_text(w->mem, j.media_id))));
	j.work_dir = arena_printf(w->mem, "%s/work", sounds_dir());
	run((const char *[]){ "mkdir", "-p", j.work_dir, NULL });
	metadata_put(w->db, j.media_id, "scenes", "test", "{\"items\":[{\"start\":0,\"end\":4},{\"start\":4,\"end\":8},"
	    "{\"start\":8,\"end\":12}]}");
	args = (struct asset_args){ j.media_id, "g" };
	j.in = &args;
	return j;
}

static enum outcome
look(struct job *j)
{
	enum outcome outcome;

	db_begin(j->db);
	outcome = labels_run(j);
	if (outcome == DONE)
		assert_true(db_commit(j->db));
	else
		db_rollback(j->db);
	return outcome;
}

static struct req *
metadata(struct world *w, struct uuid media)
{
	return call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata?expand=labels", uuid_text(w->mem, media)),
	    NULL);
}

static void
things_are_told_with_the_scenes_where_they_are(void **state)
{
	struct world *w = *state;
	struct job j = film(w, "/v1");
	const char *log;
	struct req *r;

	peer_log(w, "DELETE");
	if (look(&j) != DONE)
		fail_msg("%s", j.detail);
	r = metadata(w, j.media_id);
	assert_string_equal(text(w, r, "data.labels.engine"), "test-model by HTTP");
	assert_string_equal(text(w, r, "data.labels.count"), "4");
	assert_string_equal(text(w, r, "data.labels.items.0.name"), "red wall");
	assert_string_equal(text(w, r, "data.labels.items.0.category"), "object");
	assert_string_equal(text(w, r, "data.labels.items.0.instances.0.end"), "4.000");
	assert_string_equal(text(w, r, "data.labels.items.0.instances.1.start"), "8.000");
	assert_null(text(w, r, "data.labels.items.0.instances.2.start"));
	assert_string_equal(text(w, r, "data.labels.items.1.name"), "standing");
	assert_string_equal(text(w, r, "data.labels.items.1.category"), "action");
	assert_string_equal(text(w, r, "data.labels.items.1.instances.2.start"), "8.000");
	assert_string_equal(text(w, r, "data.labels.items.3.name"), "blue wall");
	log = peer_log(w, "GET");
	assert_int_equal(occurrences(log, "\"url\":\"/v1/chat/completions\""), 1);
	assert_int_equal(occurrences(log, "data:image/jpeg;base64,"), 3);
	assert_non_null(strstr(log, "\"authorization\":\"Bearer secret\""));
	assert_int_equal(db_number(w->db, "SELECT tokens FROM engine_usage WHERE tenant_id = ? AND family = 'vision'",
	    ARGS(ID(w->tenant_id)), 0), 123);
}

static void
what_no_answer_should_say_is_left_out(void **state)
{
	struct world *w = *state;
	struct job j = film(w, "/hostile/v1");
	struct req *r;

	if (look(&j) != DONE)
		fail_msg("%s", j.detail);
	r = metadata(w, j.media_id);
	assert_string_equal(text(w, r, "data.labels.count"), "1");
	assert_string_equal(text(w, r, "data.labels.items.0.name"), "wall");
	assert_string_equal(text(w, r, "data.labels.items.0.instances.0.start"), "0.000");
	assert_null(text(w, r, "data.labels.items.0.instances.1.start"));
}

static void
an_answer_of_no_use_fails_with_a_reason_and_the_rest_is_unharmed(void **state)
{
	static const struct { const char *mode; enum outcome outcome; enum reason reason; } all[] = {
		{ "/wrongjson/v1", RETRY, REASON_OUTPUT_INVALID }, { "/uncited/v1", RETRY, REASON_OUTPUT_INVALID },
		{ "/empty/v1", GIVE_UP, REASON_ENGINE_REFUSED }, { "/denied/v1", GIVE_UP, REASON_ENGINE_REFUSED },
		{ "/broken/v1", RETRY, REASON_ENGINE_UNAVAILABLE },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct job j = film(w, all[i].mode);
		struct req *r;

		assert_int_equal(look(&j), all[i].outcome);
		assert_int_equal(j.reason, all[i].reason);
		r = metadata(w, j.media_id);
		assert_null(text(w, r, "data.labels.count"));
		assert_string_equal(text(w, r, "data.scenes.count"), "3");
	}
}

static void
a_tenant_has_so_many_tokens_and_a_server_that_is_away_its_rest(void **state)
{
	struct world *w = *state;
	struct job j = film(w, "/v1");
	struct conf few = *j.conf;

	few.engine[ENGINE_vision].daily_tokens = 10;
	j.conf = &few;
	peer_log(w, "DELETE");
	assert_int_equal(look(&j), RETRY);
	assert_int_equal(j.reason, REASON_ENGINE_UNAVAILABLE);
	few.engine[ENGINE_vision].daily_tokens = 0;
	db_run(w->db, "INSERT INTO engine_rests (family, failures, rests_until) VALUES ('vision', 5, " SQL_NOW
	    " + 60000)", NO_ARGS);
	assert_int_equal(look(&j), RETRY);
	assert_string_equal(peer_log(w, "GET"), "[]");
	db_run(w->db, "DELETE FROM engine_rests", NO_ARGS);
}

/* Without a server nothing is asked, and nothing is told; what was deleted meanwhile does not come back. */
static void
nothing_is_told_where_nobody_sees(void **state)
{
	struct world *w = *state;
	struct job j = film(w, "/v1");
	struct conf blind = *j.conf;
	struct rendition_row form = { .generation = "g", .kind = "image", .label = "320", .width = { 320, true },
	    .height = { 180, true }, .mime_type = "image/jpeg", .file = "g/r.1/320.jpg" };
	const char *path = arena_printf(w->mem, "%s/wall.jpg", sounds_dir());

	blind.engine[ENGINE_vision].name = "none";
	j.conf = &blind;
	peer_log(w, "DELETE");
	assert_int_equal(look(&j), DONE);
	assert_string_equal(peer_log(w, "GET"), "[]");
	assert_null(text(w, metadata(w, j.media_id), "data.labels.count"));
	/* A picture, of which nobody has told what stands on it, or that has been deleted meanwhile. */
	blind.engine[ENGINE_vision].name = "http";
	db_run(w->db, "DELETE FROM metadata WHERE media_id = ?", ARGS(ID(j.media_id)));
	run((const char *[]){ "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "color=green:s=320x180",
	    "-frames:v", "1", path, NULL });
	assert_true(store_put(w->mem, path, store_key_play(w->mem, j.media_id, form.file)));
	form.media_id = j.media_id;
	rendition_put(w->db, &form);
	assert_int_equal(look(&j), DONE);
	assert_int_equal(occurrences(peer_log(w, "GET"), "data:image/jpeg;base64,"), 1);
	assert_null(text(w, metadata(w, j.media_id), "data.labels.count"));
	metadata_put(w->db, j.media_id, "imageTexts", "test", "{\"items\":[]}");
	assert_int_equal(look(&j), DONE);
	assert_string_equal(text(w, metadata(w, j.media_id), "data.labels.items.0.name"), "green wall");
	/* One that is too large to be sent is a failure that is told, and makes nothing of what nobody saw. */
	db_run(w->db, "DELETE FROM metadata WHERE media_id = ? AND kind = 'labels'", ARGS(ID(j.media_id)));
	run((const char *[]){ "truncate", "-s", "5M", path, NULL });
	form.file = "g/r.2/320.jpg";
	assert_true(store_put(w->mem, path, store_key_play(w->mem, j.media_id, form.file)));
	db_run(w->db, "UPDATE renditions SET file = ? WHERE media_id = ?", ARGS(STR(form.file), ID(j.media_id)));
	assert_int_not_equal(look(&j), DONE);
	assert_null(text(w, metadata(w, j.media_id), "data.labels.count"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(things_are_told_with_the_scenes_where_they_are),
		WORLD_TEST(what_no_answer_should_say_is_left_out),
		WORLD_TEST(an_answer_of_no_use_fails_with_a_reason_and_the_rest_is_unharmed),
		WORLD_TEST(a_tenant_has_so_many_tokens_and_a_server_that_is_away_its_rest),
		WORLD_TEST(nothing_is_told_where_nobody_sees),
	};

	return cmocka_run_group_tests(tests, sounds_open, sounds_close);
}
