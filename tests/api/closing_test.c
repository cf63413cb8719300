/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A channel of many assets is deleted by a job: what is refused meanwhile, and what becomes of the assets. */
#include <sys/wait.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/closing.h"
#include "core/role.h"
#include "fcgi/channel.h"
#include "jobs/run.h"
#include "tests/world.h"

enum { MANY = 2 * CLOSING_BATCH + 500, DIES = 3 };

static int pauses_left;			/* of a run that is to die; 0: of one that lives */

/* These stand in for the runner, in a process of their own: a fault there is its end, never one of the test's. */
static void
commit(struct job *j)
{
	if (pauses_left > 0 && --pauses_left == 0)
		_exit(DIES);
	if (!db_commit(j->db))
		_exit(EXIT_FAILURE);
}

void
job_batches(struct job *j, bool (*batch)(struct job *, void *), void *at, size_t size)
{
	void *before = arena_alloc(j->mem, size);
	bool more;

	do {
		memcpy(before, at, size);
		more = batch(j, at);
		if (db_failure(j->db) == DB_AGAIN) {
			db_rollback(j->db);
			memcpy(at, before, size);
			more = true;
		} else
			commit(j);
		db_begin(j->db);
	} while (more);
}

void
job_progress(struct job *j, int percent)
{
	(void)j;
	if (percent < 0 || percent > 99)
		_exit(EXIT_FAILURE);
}

enum outcome
job_retry(struct job *j, enum reason reason, const char *format, ...)
{
	(void)j;
	(void)reason;
	(void)format;
	return RETRY;
}

static const char *
path_of(struct world *w, struct uuid channel, const char *below)
{
	return arena_printf(w->mem, "/v2/channels/%s%s", uuid_text(w->mem, channel), below);
}

static const char *
path_to(struct world *w, struct uuid channel, struct uuid to)
{
	return path_of(w, channel, arena_printf(w->mem, "?moveTo=%s", uuid_text(w->mem, to)));
}

static struct uuid
make(struct world *w, const char *name)
{
	struct req *r = call(w, "POST", "/v2/channels", arena_printf(w->mem, "{\"name\":\"%s\"}", name));
	struct uuid id;

	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	return id;
}

static struct uuid
make_full(struct world *w, const char *name, int64_t n)
{
	struct uuid id = make(w, name);

	world_fill(w, id, n);
	return id;
}

static void
refused(struct world *w, const struct req *r, int status, const char *code)
{
	if (r->status != status || strcmp(text(w, r, "data.code"), code) != 0)
		fail_msg("%d %s instead of %d %s", r->status, buf_string(&r->out), status, code);
}

/* All assets of the channel are in that one, too. */
static void
also_in(struct world *w, struct uuid channel, struct uuid other)
{
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) SELECT media_id, ?, 1 FROM "
	    "media_channels WHERE channel_id = ?", ARGS(ID(other), ID(channel)));
	db_run(w->db, "UPDATE media SET channel_ids = CONCAT(LEAST(?, ?), GREATEST(?, ?)) WHERE channel_ids = ?",
	    ARGS(ID(channel), ID(other), ID(channel), ID(other), ID(channel)));
	assert_int_equal(db_failure(w->db), DB_FINE);
}

static struct uuid
some_media_of(struct world *w, struct uuid channel)
{
	struct uuid id;

	assert_true(uuid_parse(text(w, call(w, "GET", path_of(w, channel, "/media?perpage=1"), NULL), "data.0.id"),
	    &id));
	return id;
}

static const char *
media_path(struct world *w, struct uuid media)
{
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media));
}

static const char *
only(struct world *w, struct uuid channel)
{
	return arena_printf(w->mem, "{\"channelIds\":[\"%s\"]}", uuid_text(w->mem, channel));
}

static const char *
both(struct world *w, struct uuid one, struct uuid other)
{
	return arena_printf(w->mem, "{\"channelIds\":[\"%s\",\"%s\"]}", uuid_text(w->mem, one),
	    uuid_text(w->mem, other));
}

static int64_t
jobs_of(struct world *w)
{
	return number(w, "FROM jobs WHERE tenant_id = ? AND kind = 'closing' AND state = 'ready'",
	    ARGS(ID(w->tenant_id)));
}

/* The job once, on a connection of its own: with pauses, it dies before the commit of so many transactions. */
static pid_t
run_beside(struct world *w, struct uuid channel, int pauses)
{
	struct closing_args args = { channel, w->client_id, "127.0.0.1" };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct job j = { .mem = w->mem, .db = db_open(w->conf, DB_JOBS), .conf = w->conf, .in = &args,
		    .tenant_id = w->tenant_id };

		pauses_left = pauses;
		db_use(j.db, j.mem);
		db_begin(j.db);
		_exit(closing_run(&j) == DONE && db_commit(j.db) ? 0 : EXIT_FAILURE);
	}
	return pid;
}

static void
expect_end(pid_t pid, int code)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), code);
}

static void
run(struct world *w, struct uuid channel)
{
	expect_end(run_beside(w, channel, 0), 0);
}

/* What the asset says of its channels is what they say of it, of every asset of the tenant. */
static void
check_places(struct world *w)
{
	assert_int_equal(number(w, "FROM media m WHERE m.tenant_id = ? AND COALESCE(m.channel_ids, '') <> (SELECT "
	    "COALESCE(GROUP_CONCAT(mc.channel_id ORDER BY mc.channel_id SEPARATOR ''), '-') FROM media_channels mc "
	    "WHERE mc.media_id = m.id)", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(number(w, "FROM media m WHERE m.tenant_id = ? AND m.channel_ids IS NULL",
	    ARGS(ID(w->tenant_id))), 0);
}

/* Every asset has left once, with one event. */
static void
check_moved(struct world *w, struct uuid to, int64_t n)
{
	assert_int_equal(number(w, "FROM media WHERE tenant_id = ? AND channel_ids = ? AND version = 2",
	    ARGS(ID(w->tenant_id), ID(to))), n);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND type = 'media.updated' AND principal_id = ? "
	    "AND data = '{\"modified\":[\"channels\"]}'", ARGS(ID(w->tenant_id), ID(w->client_id))), n);
	check_places(w);
}

static int64_t
audits(struct world *w, const char *type, struct uuid channel, struct uuid to)
{
	return number(w, "FROM events WHERE is_audit = 1 AND type = ? AND object_id = ? AND principal_id = ? AND "
	    "address = '127.0.0.1' AND data = ?", ARGS(STR(type), ID(channel), ID(w->client_id), STR(arena_printf(w->mem,
	    "{\"moveTo\":\"%s\"}", uuid_text(w->mem, to)))));
}

static void
a_channel_of_few_assets_is_gone_with_the_answer(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Few", CLOSING_BATCH), to = make(w, "Archive");
	struct req *r = call(w, "DELETE", path_to(w, id, to), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.permanent"), "true");
	assert_int_equal(call(w, "GET", path_of(w, id, ""), NULL)->status, 404);
	check_moved(w, to, CLOSING_BATCH);
	assert_int_equal(jobs_of(w), 0);
}

static void
one_of_many_is_deleted_by_a_job_that_moves_each_asset_once(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), to = make(w, "Archive"), elsewhere = make(w, "Elsewhere");
	int64_t used = db_number(w->db,
	    "SELECT media_count * 100000 + storage_used FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), -1);
	struct req *r = call(w, "DELETE", path_to(w, id, to), NULL);

	assert_int_equal(r->status, 202);
	assert_string_equal(text(w, r, "data.isClosing"), "true");
	assert_string_equal(r->location, path_of(w, id, ""));
	assert_int_equal(r->retry_after, 5);
	assert_string_equal(text(w, call(w, "GET", r->location, NULL), "data.isClosing"), "true");
	assert_int_equal(number(w, "FROM media WHERE channel_ids = ?", ARGS(ID(id))), MANY);
	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	assert_int_equal(jobs_of(w), 1);
	refused(w, call(w, "DELETE", path_of(w, id, ""), NULL), 409, "channel_closing");
	refused(w, call(w, "DELETE", path_to(w, id, elsewhere), NULL), 409, "channel_closing");
	run(w, id);
	assert_int_equal(call(w, "GET", path_of(w, id, ""), NULL)->status, 404);
	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 404);
	check_moved(w, to, MANY);
	assert_int_equal(audits(w, "channel.closing", id, to), 1);
	assert_int_equal(audits(w, "channel.deleted", id, to), 1);
	assert_int_equal(db_number(w->db, "SELECT media_count * 100000 + storage_used FROM tenant_usage WHERE "
	    "tenant_id = ?", ARGS(ID(w->tenant_id)), -2), used);
	run(w, id);
	assert_int_equal(audits(w, "channel.deleted", id, to), 1);
}

static void
a_job_that_dies_anywhere_is_taken_up_by_the_next_one(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), to = make(w, "Archive");
	int64_t left;

	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	expect_end(run_beside(w, id, 1), DIES);
	assert_int_equal(number(w, "FROM media_channels WHERE channel_id = ?", ARGS(ID(id))), MANY);
	expect_end(run_beside(w, id, 2), DIES);
	left = number(w, "FROM media_channels WHERE channel_id = ?", ARGS(ID(id)));
	assert_int_equal(left, MANY - CLOSING_BATCH);
	check_places(w);
	assert_string_equal(text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.isClosing"), "true");
	run(w, id);
	check_moved(w, to, MANY);
	assert_int_equal(audits(w, "channel.deleted", id, to), 1);
}

static void
of_two_jobs_at_once_each_asset_is_moved_by_one(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), to = make(w, "Archive");
	pid_t pids[3];
	int i;

	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	for (i = 0; i < 3; i++)
		pids[i] = run_beside(w, id, 0);
	for (i = 0; i < 3; i++)
		expect_end(pids[i], 0);
	check_moved(w, to, MANY);
	assert_int_equal(audits(w, "channel.deleted", id, to), 1);
}

static void
another_job_begins_where_one_has_failed(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), to = make(w, "Archive");

	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE tenant_id = ? AND kind = 'closing'",
	    ARGS(ID(w->tenant_id)));
	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	assert_int_equal(jobs_of(w), 1);
	db_run(w->db, "DELETE FROM jobs WHERE tenant_id = ? AND kind = 'closing'", ARGS(ID(w->tenant_id)));
	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	assert_int_equal(jobs_of(w), 1);
}

static const char *
id_member(struct world *w, const char *name, struct uuid id)
{
	return arena_printf(w->mem, "{\"%s\":\"%s\"}", name, uuid_text(w->mem, id));
}

static void
a_closing_channel_is_not_changed_and_has_no_new_members(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), who;
	const char *member, *role = "{\"role\":\"Contributor\"}";

	world_member(w, SCOPE_NAMES, NULL, &who);
	world_role(w, id, who, "Viewer");
	member = path_of(w, id, arena_printf(w->mem, "/members/%s", uuid_text(w->mem, who)));
	assert_int_equal(call(w, "DELETE", path_to(w, id, w->channel_id), NULL)->status, 202);
	refused(w, call(w, "PATCH", path_of(w, id, ""), "{\"name\":\"Other\"}"), 409, "channel_closing");
	refused(w, call(w, "PUT", path_of(w, id, "/visibility"), "{\"visibility\":\"shared\"}"), 409,
	    "channel_closing");
	refused(w, call(w, "POST", path_of(w, id, "/members"), arena_printf(w->mem,
	    "{\"principalId\":\"%s\",\"role\":\"Viewer\"}", uuid_text(w->mem, who))), 409, "channel_closing");
	refused(w, call(w, "PUT", member, role), 409, "channel_closing");
	refused(w, call(w, "DELETE", member, NULL), 409, "channel_closing");
	assert_int_equal(call(w, "GET", member, NULL)->status, 200);
	refused(w, call(w, "PATCH", "/v2/tenants/current/settings", id_member(w, "defaultChannelId", id)), 409,
	    "channel_closing");
}


static void
nothing_is_put_into_a_closing_channel(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), media = world_media(w, "video", "Cat"), few = make(w, "Few");
	struct made u = world_object(w, &upload_object);

	assert_int_equal(call(w, "DELETE", path_to(w, id, w->channel_id), NULL)->status, 202);
	refused(w, call(w, "PUT", path_of(w, id, arena_printf(w->mem, "/media/%s", uuid_text(w->mem, media))), NULL),
	    409,
	    "channel_closing");
	refused(w, call(w, "PATCH", media_path(w, media), both(w, id, w->channel_id)), 409, "channel_closing");
	refused(w, call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", uuid_text(w->mem, u.ids[0])),
	    id_member(w, "channelId", id)), 409, "channel_closing");
	refused(w, call(w, "DELETE", path_to(w, few, id), NULL), 409, "channel_closing");
	assert_int_equal(number(w, "FROM media_channels WHERE channel_id = ?", ARGS(ID(id))), MANY);
	assert_int_equal(call(w, "PATCH", media_path(w, some_media_of(w, id)), "{\"name\":\"Dog\"}")->status, 200);
}

static void
where_assets_go_stays_until_they_are_there(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), to = make(w, "Archive");

	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	refused(w, call(w, "DELETE", path_of(w, to, ""), NULL), 409, "channel_awaits");
	refused(w, call(w, "DELETE", path_to(w, to, w->channel_id), NULL), 409, "channel_awaits");
	run(w, id);
	assert_int_equal(call(w, "DELETE", path_to(w, to, w->channel_id), NULL)->status, 202);
}

static void
a_closing_channel_is_not_the_last_one_of_an_asset(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), other = make(w, "Other"), media;
	const char *in_other, *in_it;

	also_in(w, id, other);
	assert_int_equal(call(w, "DELETE", path_of(w, id, ""), NULL)->status, 202);
	media = some_media_of(w, id);
	in_other = path_of(w, other, arena_printf(w->mem, "/media/%s", uuid_text(w->mem, media)));
	in_it = path_of(w, id, arena_printf(w->mem, "/media/%s", uuid_text(w->mem, media)));
	refused(w, call(w, "DELETE", in_other, NULL), 409, "last_channel");
	refused(w, call(w, "PATCH", media_path(w, media), only(w, id)), 409, "last_channel");
	assert_int_equal(call(w, "DELETE", in_it, NULL)->status, 200);
	run(w, id);
	assert_int_equal(number(w, "FROM media WHERE tenant_id = ? AND channel_ids = ?", ARGS(ID(w->tenant_id),
	    ID(other))), MANY);
	check_places(w);
}

static void
a_few_assets_do_not_lose_their_last_channel_beside_a_closing_one(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), other = make(w, "Other"), few = make(w, "Few"), media;

	also_in(w, id, other);
	media = some_media_of(w, id);
	assert_int_equal(call(w, "PATCH", media_path(w, media), both(w, id, few))->status, 200);
	assert_int_equal(call(w, "DELETE", path_of(w, id, ""), NULL)->status, 202);
	refused(w, call(w, "DELETE", path_of(w, few, ""), NULL), 409, "last_channel");
	assert_int_equal(call(w, "DELETE", path_to(w, few, other), NULL)->status, 200);
	run(w, id);
	assert_int_equal(number(w, "FROM media WHERE tenant_id = ? AND channel_ids = ?", ARGS(ID(w->tenant_id),
	    ID(other))), MANY);
}

static void
without_move_to_no_live_asset_may_be_in_it_alone(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), other = make(w, "Other");
	struct req *r = call(w, "DELETE", path_of(w, id, ""), NULL);

	refused(w, r, 409, "last_channel");
	assert_non_null(strstr(text(w, r, "message"), "1000 or more assets"));
	assert_string_equal(text(w, call(w, "GET", path_of(w, id, ""), NULL), "data.isClosing"), "false");
	also_in(w, id, other);
	assert_int_equal(call(w, "PATCH", media_path(w, some_media_of(w, id)), only(w, id))->status, 200);
	r = call(w, "DELETE", path_of(w, id, ""), NULL);
	refused(w, r, 409, "last_channel");
	assert_non_null(strstr(text(w, r, "message"), "1 assets"));
}

static void
what_is_soft_deleted_in_it_alone_goes_to_the_default_channel_recovered_or_not(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), other = make(w, "Other"), media[2];
	int i;

	also_in(w, id, other);
	for (i = 0; i < 2; i++) {
		media[i] = world_media(w, "video", "Cat");
		assert_int_equal(call(w, "PATCH", media_path(w, media[i]), only(w, id))->status, 200);
		assert_int_equal(call(w, "DELETE", media_path(w, media[i]), NULL)->status, 200);
	}
	assert_int_equal(call(w, "DELETE", path_of(w, id, ""), NULL)->status, 202);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/recover", media_path(w, media[1])), NULL)->status,
	    200);
	run(w, id);
	for (i = 0; i < 2; i++)
		assert_int_equal(number(w, "FROM media m JOIN media_channels mc ON mc.media_id = m.id AND "
		    "mc.channel_id = m.channel_ids AND mc.is_deleted = (m.deleted_at > 0) WHERE m.id = ? AND m.channel_ids = ?",
		    ARGS(ID(media[i]), ID(w->channel_id))), 1);
	check_places(w);
}

static void
without_move_to_there_is_one_at_a_time(void **state)
{
	struct world *w = *state;
	struct uuid one = make_full(w, "One", MANY), two = make(w, "Two");

	also_in(w, one, two);
	assert_int_equal(call(w, "DELETE", path_of(w, one, ""), NULL)->status, 202);
	refused(w, call(w, "DELETE", path_of(w, two, ""), NULL), 409, "channel_closing");
	assert_int_equal(call(w, "DELETE", path_to(w, two, w->channel_id), NULL)->status, 202);
	run(w, one);
	run(w, two);
	assert_int_equal(number(w, "FROM media WHERE tenant_id = ? AND channel_ids = ?", ARGS(ID(w->tenant_id),
	    ID(w->channel_id))), MANY);
	check_places(w);
}

static void
its_roles_hold_until_an_asset_has_left(void **state)
{
	struct world *w = *state;
	struct uuid id = make_full(w, "Many", MANY), to = make(w, "Archive"), who;
	const char *viewer = world_member(w, SCOPE_NAMES, NULL, &who);
	int64_t seen;

	world_role(w, id, who, "Viewer");
	assert_int_equal(call(w, "DELETE", path_to(w, id, to), NULL)->status, 202);
	expect_end(run_beside(w, id, 2), DIES);
	assert_string_equal(text(w, call_as(w, viewer, "GET", path_of(w, id, ""), NULL), "data.isClosing"), "true");
	assert_int_equal(call_as(w, viewer, "GET", media_path(w, some_media_of(w, id)), NULL)->status, 200);
	assert_int_equal(call_as(w, viewer, "GET", media_path(w, some_media_of(w, to)), NULL)->status, 403);
	seen = atoll(text(w, call_as(w, viewer, "GET", "/v2/media", NULL), "pagination.total"));
	assert_int_equal(seen, MANY - CLOSING_BATCH);
	run(w, id);
	assert_string_equal(text(w, call_as(w, viewer, "GET", "/v2/media", NULL), "pagination.total"), "0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_channel_of_few_assets_is_gone_with_the_answer),
		WORLD_TEST(one_of_many_is_deleted_by_a_job_that_moves_each_asset_once),
		WORLD_TEST(a_job_that_dies_anywhere_is_taken_up_by_the_next_one),
		WORLD_TEST(of_two_jobs_at_once_each_asset_is_moved_by_one),
		WORLD_TEST(another_job_begins_where_one_has_failed),
		WORLD_TEST(a_closing_channel_is_not_changed_and_has_no_new_members),
		WORLD_TEST(nothing_is_put_into_a_closing_channel),
		WORLD_TEST(where_assets_go_stays_until_they_are_there),
		WORLD_TEST(a_closing_channel_is_not_the_last_one_of_an_asset),
		WORLD_TEST(a_few_assets_do_not_lose_their_last_channel_beside_a_closing_one),
		WORLD_TEST(without_move_to_no_live_asset_may_be_in_it_alone),
		WORLD_TEST(what_is_soft_deleted_in_it_alone_goes_to_the_default_channel_recovered_or_not),
		WORLD_TEST(without_move_to_there_is_one_at_a_time),
		WORLD_TEST(its_roles_hold_until_an_asset_has_left),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
