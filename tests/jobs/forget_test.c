/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A voice that thousands of assets know leaves them in short transactions, by a job. */
#include <signal.h>
#include <unistd.h>

#include "core/speakers.h"
#include "core/voices.h"
#include "media/transcript.h"
#include "tests/jobs/runners.h"

enum { ASSETS = 4 * VOICES_BATCH + 20 };

/* By number, each heard in one asset with a transcript: the first one is named by a person, the others by a job. */
struct known { struct uuid media[ASSETS], speakers[ASSETS]; };

static struct uuid
asset(struct runners *t, struct uuid *speaker_id)
{
	struct turn turn = { { 0, true }, { 3000, true } };
	struct uuid id = world_media(t->world, "video", "Talk");
	struct speaker s = { .number = 1, .turns = { &turn, 1 } };

	s.speaker_id = *speaker_id = speakers_new(t->db, t->world->tenant_id, id);
	speakers_put(t->db, id, &s);
	db_run(t->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, quality, "
	    "captions, paragraphs, created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', 'good', 'automatic', "
	    "'[{\"speakerId\":\"x\",\"start\":0,\"end\":1,\"text\":\"Hello\"}]', 1, 1)", ARGS(ID(uuid_new()), ID(id)));
	return id;
}

static void
patch(struct runners *t, const char *path, const char *body)
{
	assert_int_equal(call(t->world, "PATCH", path, body)->status, 200);
}

static const char *
speaker_path(struct runners *t, struct uuid id, const char *rest)
{
	return arena_printf(t->mem, "/v2/speakers/%s%s", uuid_text(t->mem, id), rest);
}

static struct known *
known(struct runners *t)
{
	struct known *k = NEW(t->mem, struct known);
	int i;

	patch(t, "/v2/tenants/current/settings", "{\"speakerRecognition\":true}");
	db_begin(t->db);
	for (i = 0; i < ASSETS; i++)
		k->media[i] = asset(t, &k->speakers[i]);
	assert_true(db_commit(t->db));
	patch(t, speaker_path(t, k->speakers[0], ""), "{\"label\":\"Ann\"}");
	db_run(t->db, "UPDATE speakers s JOIN voices v ON v.tenant_id = s.tenant_id SET s.label = 'Ann', "
	    "s.voice_id = v.id, s.source = 'machine' WHERE s.tenant_id = ? AND s.label IS NULL", ARGS(ID(t->world->tenant_id)));
	db_run(t->db, "INSERT INTO voiceprints (speaker_id, tenant_id, engine, speech, print) SELECT id, "
	    "tenant_id, 'x', 20000, 'x' FROM speakers WHERE tenant_id = ?", ARGS(ID(t->world->tenant_id)));
	db_run(t->db, "DELETE FROM jobs", NO_ARGS);
	db_run(t->db, "DELETE FROM search_pending", NO_ARGS);
	t->conf.job_kinds = "forget";
	return k;
}

static int64_t
left(struct runners *t, const char *table)
{
	return db_number(t->db, arena_printf(t->mem, "SELECT COUNT(*) FROM %s WHERE tenant_id = ?", table),
	    ARGS(ID(t->world->tenant_id)), -1);
}

static int64_t
called(struct runners *t, const char *label)
{
	return number(t->world, "FROM speakers WHERE tenant_id = ? AND label = ?", ARGS(ID(t->world->tenant_id),
	    STR(label)));
}

/* Of so many assets each has been told of once, by job and by event. */
static void
told(struct runners *t, int64_t assets)
{
	const struct arg tenant = ID(t->world->tenant_id);

	assert_int_equal(db_number(t->db, "SELECT COUNT(DISTINCT media_id) FROM jobs WHERE tenant_id = ? AND kind = "
	    "'captions'", ARGS(tenant), 0), assets);
	assert_int_equal(number(t->world, "FROM jobs WHERE tenant_id = ? AND kind = 'captions'", ARGS(tenant)), assets);
	assert_int_equal(number(t->world, "FROM jobs WHERE tenant_id = ? AND kind = 'index'", ARGS(tenant)), assets);
	assert_int_equal(number(t->world, "FROM events WHERE tenant_id = ? AND type = 'metadata.updated' AND "
	    "principal_id IS NULL AND data LIKE '%speakers%'", ARGS(tenant)), assets - 1);
}

/* Has the server locks to wait for, of whom holds the asset? */
static void
wait_for_waiting(struct runners *t)
{
	for (int i = 0; i < 12000 && db_number(t->db, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE "
	    "trx_state = 'LOCK WAIT'", NO_ARGS, 0) == 0; i++)
		usleep(10000);
}

static void
a_name_is_taken_from_all_assets_though_the_job_is_killed_between(void **state)
{
	struct runners *t = *state;
	struct known *k = known(t);
	struct db *other = db_open(&t->conf, DB_API);
	int n;

	assert_int_equal(call(t->world, "DELETE", speaker_path(t, k->speakers[0], "?names=true"), NULL)->status, 200);
	assert_int_equal(called(t, "Ann"), ASSETS - 1);
	/* Somebody is at work on one of the third batch. */
	db_use(other, t->mem);
	db_begin(other);
	db_number(other, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(k->media[2 * VOICES_BATCH + 10])), 0);
	n = runner_start(t);
	for (int i = 0; i < 12000 && called(t, "Ann") > ASSETS - 1 - 2 * VOICES_BATCH; i++)
		usleep(10000);
	wait_for_waiting(t);
	kill(t->pids[n], SIGKILL);
	assert_int_equal(runner_wait(t, n), -SIGKILL);
	db_rollback(other);
	db_close(other);
	assert_int_equal(called(t, "Ann"), ASSETS - 1 - 2 * VOICES_BATCH);
	assert_int_equal(left(t, "voices"), 1);
	told(t, 2 * VOICES_BATCH + 1);
	runner_drain(t);
	assert_int_equal(called(t, "Ann") + left(t, "voices") + left(t, "voiceprints"), 0);
	told(t, ASSETS);
	assert_int_equal(number(t->world, "FROM jobs WHERE kind = 'forget' AND state = 'succeeded'", NO_ARGS), 1);
}

static void
voices_of_a_tenant_that_opts_out_leave_all_names(void **state)
{
	struct runners *t = *state;

	known(t);
	db_run(t->db, "INSERT INTO voices (id, tenant_id, name, created_at) SELECT id, tenant_id, HEX(id), 1 "
	    "FROM speakers WHERE tenant_id = ?", ARGS(ID(t->world->tenant_id)));
	db_run(t->db, "UPDATE speakers SET proposed_id = id, likeness = 0.5 WHERE tenant_id = ?",
	    ARGS(ID(t->world->tenant_id)));
	db_run(t->db, "INSERT INTO speaker_rejections SELECT s.id, v.id FROM speakers s JOIN voices v ON v.tenant_id = "
	    "s.tenant_id AND v.name = 'Ann' WHERE s.tenant_id = ?", ARGS(ID(t->world->tenant_id)));
	patch(t, "/v2/tenants/current/settings", "{\"speakerRecognition\":false}");
	runner_drain(t);
	assert_int_equal(called(t, "Ann"), ASSETS);
	assert_int_equal(left(t, "voices") + left(t, "voiceprints"), 0);
	assert_int_equal(number(t->world, "FROM speakers WHERE tenant_id = ? AND (likeness <> 0 OR voice_id IS "
	    "NOT NULL OR proposed_id IS NOT NULL)", ARGS(ID(t->world->tenant_id))), 0);
	assert_int_equal(number(t->world, "FROM jobs WHERE kind = 'captions'", NO_ARGS), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_is_taken_from_all_assets_though_the_job_is_killed_between),
		TEST(voices_of_a_tenant_that_opts_out_leave_all_names),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
