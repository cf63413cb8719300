/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that meet on two connections: what is committed was allowed when it was, and one of two wins. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/closing.h"
#include "core/quota.h"
#include "core/role.h"
#include "core/speakers.h"
#include "core/voices.h"
#include "tests/walk.h"

/* A request of another process, which has a connection of its own. */
struct runner { pid_t pid; struct outcome { int status; char answer[4096]; } *outcome; };

static struct runner
begin(struct world *w, struct req *r, const char *token, const char *method, const char *uri, const char *body)
{
	struct runner runner = { .outcome = mmap(NULL, sizeof(*runner.outcome), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0) };

	assert_true(runner.outcome != MAP_FAILED);
	fflush(NULL);
	runner.pid = fork();
	assert_true(runner.pid >= 0);
	if (runner.pid > 0)
		return runner;
	r->method_name = method;
	r->uri = uri;
	r->authorization = arena_printf(w->mem, "Bearer %s", token);
	r->body = body;
	r->body_size = body != NULL ? strlen(body) : 0;
	r->content_type = "application/json";
	r->mem = w->mem;
	r->conf = w->conf;
	r->client = "127.0.0.1";
	r->client_fd = -1;
	r->loopback = true;
	r->db = db_open(w->conf, DB_API);
	runner.outcome->status = api_run(r);
	snprintf(runner.outcome->answer, sizeof(runner.outcome->answer), "%s", buf_string(&r->out));
	_exit(0);
}

/* The status, and the body unless that is NULL. */
static int
answered(struct runner *r, char *answer)
{
	int status = 0;

	assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
	assert_int_equal(status, 0);
	status = r->outcome->status;
	if (answer != NULL)
		memcpy(answer, r->outcome->answer, sizeof(r->outcome->answer));
	munmap(r->outcome, sizeof(*r->outcome));
	return status;
}

static int
ended(struct runner *r)
{
	return answered(r, NULL);
}

/* A connection beside that of the world. */
static struct db *
beside(struct world *w)
{
	struct db *db = db_open(w->conf, DB_API);

	db_use(db, w->mem);
	db_begin(db);
	return db;
}

static const char *
to(struct world *w, struct uuid media_id)
{
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media_id));
}

static const char *
name_of(struct world *w, struct uuid media_id)
{
	return db_text(w->db, "SELECT name FROM media WHERE id = ?", ARGS(ID(media_id)));
}

static void
take_role(struct world *w, struct db *db, struct uuid principal_id)
{
	db_run(db, "DELETE FROM memberships WHERE principal_id = ?", ARGS(ID(principal_id)));
	role_changed(db, w->tenant_id);
}

/* What one statement of a transaction sees of roles may never have been: nobody may remember it. */
static void
a_role_given_in_a_transaction_that_is_rolled_back_was_never_given(void **state)
{
	struct world *w = *state;
	struct uuid id, media = world_media(w, "video", "Cat");
	const char *member = world_member(w, SCOPE_NAMES, NULL, &id), *path;

	path = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media));
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 403);
	db_begin(w->db);
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, 'Viewer', 1)",
	    ARGS(ID(w->channel_id), ID(id)));
	role_changed(w->db, w->tenant_id);
	db_rollback(w->db);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 403);
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, 'Viewer', 1)",
	    ARGS(ID(w->channel_id), ID(id)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(call_as(w, member, "PATCH", path, "{\"name\":\"Dog\"}")->status, 403);
	assert_int_equal(call_as(w, member, "GET", path, NULL)->status, 200);
}

static void
a_role_that_is_being_taken_away_changes_nothing_any_more(void **state)
{
	struct world *w = *state;
	struct uuid id, media = world_media(w, "video", "Cat");
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &id);
	struct runner r;
	struct db *db;

	assert_int_equal(call_as(w, member, "GET", to(w, media), NULL)->status, 200);
	db = beside(w);
	take_role(w, db, id);
	r = begin(w, NEW(w->mem, struct req), member, "PATCH", to(w, media), "{\"name\":\"Dog\"}");
	usleep(300000);
	assert_true(db_commit(db));
	assert_int_equal(ended(&r), 403);
	assert_string_equal(name_of(w, media), "Cat");
	db_close(db);
}

static struct uuid
make_channel(struct world *w, const char *name)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, ?, 1, 1)",
	    ARGS(ID(id), ID(w->tenant_id), STR(name)));
	role_changed(w->db, w->tenant_id);
	return id;
}

/* Until a request has come to the row that somebody holds. */
static void
until_it_waits(struct world *w)
{
	int tries;

	for (tries = 0; tries < 800 && world_waits(w->db) == 0; tries++)
		usleep(150000);
	assert_true(tries < 800);
}

/* A request that is to put an asset into a channel waits for that channel's row, after it was judged and before it
 * writes. */
struct waiting { struct uuid media, principal_id; const char *token; struct db *in_the_way; struct runner runner; };

static struct waiting
wait_in_between(struct world *w)
{
	struct waiting s = { .media = world_media(w, "video", "Cat") };
	struct uuid channel_id = make_channel(w, "Other");

	s.token = world_member(w, SCOPE_NAMES, "Contributor", &s.principal_id);
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, "
	    "'Contributor', 1)", ARGS(ID(channel_id), ID(s.principal_id)));
	role_changed(w->db, w->tenant_id);
	s.in_the_way = beside(w);
	db_number(s.in_the_way, "SELECT 1 FROM channels WHERE id = ? FOR UPDATE", ARGS(ID(channel_id)), 0);
	s.runner = begin(w, NEW(w->mem, struct req), s.token, "PATCH", to(w, s.media), arena_printf(w->mem,
	    "{\"name\":\"Dog\",\"channelIds\":[\"%s\",\"%s\"]}", uuid_text(w->mem, w->channel_id), uuid_text(w->mem,
	    channel_id)));
	until_it_waits(w);
	assert_int_equal(s.runner.outcome->status, 0);
	return s;
}

static void
a_role_is_taken_away_before_a_request_or_after_its_commit(void **state)
{
	struct world *w = *state;
	struct waiting s = wait_in_between(w);
	struct db *taker = beside(w);

	db_number(taker, "SELECT access_version FROM tenants WHERE id = ? FOR UPDATE NOWAIT", ARGS(ID(w->tenant_id)),
	    0);
	if (db_failure(taker) == DB_FINE)
		fail_msg("a role can be taken away between the judgement and the commit of a request");
	db_rollback(taker);
	db_rollback(s.in_the_way);
	assert_int_equal(ended(&s.runner), 200);
	db_begin(taker);
	take_role(w, taker, s.principal_id);
	assert_true(db_commit(taker));
	assert_int_equal(call_as(w, s.token, "PATCH", to(w, s.media), "{\"name\":\"Bird\"}")->status, 403);
	assert_string_equal(name_of(w, s.media), "Dog");
	db_close(taker);
	db_close(s.in_the_way);
}

static void
requests_of_a_tenant_do_not_wait_for_each_other_to_be_judged(void **state)
{
	struct world *w = *state;
	struct uuid other = world_media(w, "video", "Cat");
	struct waiting s = wait_in_between(w);

	assert_int_equal(call(w, "PATCH", to(w, other), "{\"name\":\"Dog\"}")->status, 200);
	assert_int_equal(s.runner.outcome->status, 0);
	db_rollback(s.in_the_way);
	assert_int_equal(ended(&s.runner), 200);
	db_close(s.in_the_way);
}

static void
show_channel(struct world *w, struct db *db, const char *visibility)
{
	db_begin(db);
	db_run(db, "UPDATE channels SET visibility = ? WHERE id = ?", ARGS(STR(visibility), ID(w->channel_id)));
	role_changed(db, w->tenant_id);
	assert_true(db_commit(db));
}

enum { ASSETS = 7, ROUNDS = 30 };

/* Lists in one process until the other has told it to stop: how many it was, and how many showed a part or too much. */
struct seen { _Atomic int stop, epoch, lists, partial, late; };

static void
list_until_stopped(struct world *w, const char *token, struct seen *seen)
{
	w->db = db_open(w->conf, DB_API);
	while (!seen->stop) {
		int epoch = seen->epoch;
		struct world own = *w;
		struct req *r;
		long n;

		own.mem = arena_new(64 << 20);
		db_use(own.db, own.mem);
		r = call_as(&own, token, "GET", "/v2/media?perpage=50", NULL);
		/* 503: it changed three times while it was read, as happens where this process waits for its turn. */
		n = r->status == 503 ? 0 : r->status == 200 ? atol(text(&own, r, "pagination.total")) : -1;
		seen->partial += (n != 0 && n != ASSETS) || (text(&own, r, "data.0.id") != NULL) != (n == ASSETS);
		seen->late += epoch % 2 == 1 && epoch == seen->epoch && n != 0;
		seen->lists += r->status == 200;
		arena_free(own.mem);
	}
	_exit(0);
}

/* An epoch is odd while the channel is private: no list that lies in one shows anything. */
static void
a_list_shows_what_was_visible_when_it_was_read(void **state)
{
	struct world *w = *state;
	const char *token = world_member(w, SCOPE_NAMES, NULL, NULL);
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct db *db = beside(w);
	pid_t pid;
	int i;

	assert_true(seen != MAP_FAILED);
	db_rollback(db);
	for (i = 0; i < ASSETS; i++)
		world_media(w, "video", "Cat");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		list_until_stopped(w, token, seen);
	for (i = 0; i < ROUNDS || seen->lists <= 10; i++) {
		show_channel(w, db, "public");
		usleep(10000);
		show_channel(w, db, "private");
		seen->epoch++;
		usleep(10000);
		seen->epoch++;
	}
	seen->stop = 1;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(seen->lists > 10);
	assert_int_equal(seen->partial, 0);
	assert_int_equal(seen->late, 0);
	db_close(db);
	munmap(seen, sizeof(*seen));
}

/* What the asset says of its channels is what they say of it. */
static void
check_channels(struct world *w, struct uuid media, struct uuid one, struct uuid two)
{
	assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(media))), 1);
	assert_int_equal(number(w, "FROM media m JOIN media_channels c ON c.media_id = m.id AND c.channel_id = "
	    "m.channel_ids WHERE m.id = ? AND c.channel_id IN (?, ?)", ARGS(ID(media), ID(one), ID(two))), 1);
}

static void
of_two_moves_of_an_asset_at_once_one_wins_and_the_other_hears_of_it(void **state)
{
	struct world *w = *state;
	struct uuid one = make_channel(w, "One"), two = make_channel(w, "Two"), media = world_media(w, "video", "Cat");
	const char *home = arena_printf(w->mem, "{\"channelIds\":[\"%s\"]}", uuid_text(w->mem, w->channel_id));
	const char *bodies[] = { arena_printf(w->mem, "{\"channelIds\":[\"%s\"]}", uuid_text(w->mem, one)),
	    arena_printf(w->mem, "{\"channelIds\":[\"%s\"]}", uuid_text(w->mem, two)) };
	int round, i, sum;

	for (round = 0; round < 10; round++) {
		const char *etag = call(w, "PATCH", to(w, media), home)->etag;
		struct runner r[2];

		for (i = 0; i < 2; i++) {
			struct req *req = NEW(w->mem, struct req);

			req->if_match = etag;
			r[i] = begin(w, req, w->token, "PATCH", to(w, media), bodies[i]);
		}
		for (sum = i = 0; i < 2; i++)
			sum += ended(&r[i]);
		assert_int_equal(sum, 200 + 412);
		check_channels(w, media, one, two);
	}
	for (round = 0; round < 10; round++) {
		struct runner r[2];

		for (i = 0; i < 2; i++)
			r[i] = begin(w, NEW(w->mem, struct req), w->token, "PATCH", to(w, media), bodies[i]);
		for (i = 0; i < 2; i++)
			assert_int_equal(ended(&r[i]), 200);
		check_channels(w, media, one, two);
	}
}

static void
of_two_owners_who_leave_at_once_one_stays(void **state)
{
	struct world *w = *state;
	struct uuid channel_id = make_channel(w, "Two owners"), ids[2];
	const char *tokens[2], *channel = uuid_text(w->mem, channel_id);
	int round, i, sum;

	for (i = 0; i < 2; i++)
		tokens[i] = world_member(w, SCOPE_NAMES, NULL, &ids[i]);
	for (round = 0; round < 8; round++) {
		struct runner r[2];

		for (i = 0; i < 2; i++)
			world_role(w, channel_id, ids[i], "Channel Owner");
		role_changed(w->db, w->tenant_id);
		for (i = 0; i < 2; i++)
			r[i] = begin(w, NEW(w->mem, struct req), tokens[i], "DELETE", arena_printf(w->mem,
			    "/v2/channels/%s/members/%s", channel, uuid_text(w->mem, ids[i])), NULL);
		for (sum = i = 0; i < 2; i++)
			sum += ended(&r[i]);
		assert_int_equal(sum, 200 + 409);
		assert_int_equal(number(w, "FROM memberships WHERE channel_id = ? AND role = 'Channel Owner'",
		    ARGS(ID(channel_id))), 1);
	}
}

static const char *
design_path(struct world *w, struct uuid *id)
{
	*id = world_object(w, &design_object).ids[0];
	return arena_printf(w->mem, "/v2/designs/%s", uuid_text(w->mem, *id));
}

/* Until somebody has written it, who need not have committed. */
static void
wait_for_channel(struct world *w, const char *name)
{
	struct db *db = db_open(w->conf, DB_API);
	int tries;

	db_use(db, w->mem);
	db_run(db, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", NO_ARGS);
	for (tries = 0; tries < 6000 && db_number(db, "SELECT COUNT(*) FROM channels WHERE tenant_id = ? AND name = ?",
	    ARGS(ID(w->tenant_id), STR(name)), 0) == 0; tries++)
		usleep(20000);
	db_close(db);
}

/* A channel is made with a design while something is done to that design: one of the two is refused, whichever comes
 * first.  What keeps the former from its commit is somebody who holds the row of its owner. */
static void
choose_beside(struct world *w, const char *method, const char *query, const char *body)
{
	struct db *in_the_way = beside(w);
	struct runner chooses, other;
	struct uuid design;
	const char *path = design_path(w, &design);
	int chosen, done;

	db_number(in_the_way, "SELECT 1 FROM principals WHERE id = ? FOR UPDATE", ARGS(ID(w->client_id)), 0);
	chooses = begin(w, NEW(w->mem, struct req), w->token, "POST", "/v2/channels", arena_printf(w->mem,
	    "{\"name\":\"Green %s\",\"channelDesignId\":\"%s\"}", method, uuid_text(w->mem, design)));
	wait_for_channel(w, arena_printf(w->mem, "Green %s", method));
	other = begin(w, NEW(w->mem, struct req), w->token, method, arena_printf(w->mem, "%s%s", path, query), body);
	usleep(300000);
	db_rollback(in_the_way);
	chosen = ended(&chooses);
	done = ended(&other);
	if (!(chosen == 201 && done == 409) && !(chosen == 422 && done == 200))
		fail_msg("%s: %d beside %d", method, chosen, done);
	assert_int_equal(number(w, "FROM channels c LEFT JOIN designs d ON d.id = c.channel_design_id AND "
	    "d.is_template = 0 WHERE c.tenant_id = ? AND c.channel_design_id IS NOT NULL AND d.id IS NULL",
	    ARGS(ID(w->tenant_id))), 0);
	db_close(in_the_way);
}

static void
a_design_that_is_being_chosen_stays_and_becomes_no_template(void **state)
{
	struct world *w = *state;

	choose_beside(w, "DELETE", "", NULL);
	choose_beside(w, "PATCH", "", "{\"isTemplate\":true}");
}

static void
what_is_becoming_a_template_or_going_is_not_chosen(void **state)
{
	static const char *const changes[] = { "UPDATE designs SET is_template = 1 WHERE id = ?",
	    "DELETE FROM designs WHERE id = ?" };
	struct world *w = *state;
	const char *channel = arena_printf(w->mem, "/v2/channels/%s", uuid_text(w->mem, make_channel(w, "One")));
	struct uuid design;
	struct runner r;
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct db *db = beside(w);

		design_path(w, &design);
		db_run(db, changes[i], ARGS(ID(design)));
		r = begin(w, NEW(w->mem, struct req), w->token, "PATCH", channel, arena_printf(w->mem,
		    "{\"channelDesignId\":\"%s\"}", uuid_text(w->mem, design)));
		usleep(300000);
		assert_true(db_commit(db));
		assert_int_equal(ended(&r), 422);
		db_close(db);
	}
}

/* Whoever makes a story of an asset while that goes, or while its role there is taken away, has come too late. */
static void
what_is_going_or_being_hidden_is_put_into_no_story(void **state)
{
	struct world *w = *state;
	struct uuid id, elsewhere = make_channel(w, "Elsewhere");
	const char *member = world_member(w, SCOPE_NAMES, "Contributor", &id);
	int i;

	world_role(w, elsewhere, id, "Contributor");
	for (i = 0; i < 2; i++) {
		struct uuid media = world_media(w, "video", "Cat");
		struct db *db = beside(w);
		struct runner r;

		db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(media)));
		if (i == 0) {
			db_run(db, "DELETE FROM media WHERE id = ?", ARGS(ID(media)));
		} else {
			db_run(db, "DELETE FROM memberships WHERE principal_id = ? AND channel_id = ?", ARGS(ID(id),
			    ID(w->channel_id)));
			role_changed(db, w->tenant_id);
		}
		r = begin(w, NEW(w->mem, struct req), member, "POST", "/v2/stories", arena_printf(w->mem,
		    "{\"name\":\"A day\",\"kind\":\"static\",\"scenes\":[{\"id\":\"a\",\"mediaId\":\"%s\",\"start\":0,"
		    "\"end\":1}],\"startSceneId\":\"a\"}", uuid_text(w->mem, media)));
		usleep(300000);
		assert_true(db_commit(db));
		assert_int_equal(ended(&r), 422);
		assert_int_equal(number(w, "FROM mentions WHERE media_id = ?", ARGS(ID(media))), 0);
		db_close(db);
	}
	assert_int_equal(number(w, "FROM stories WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

/* Who takes a design away from its channels waits for those alone that have it. */
static void
a_design_is_taken_away_beside_a_channel_that_is_choosing_it(void **state)
{
	struct world *w = *state;
	struct uuid design, has = make_channel(w, "Has it"), chooses = make_channel(w, "Chooses it");
	const char *path = design_path(w, &design);
	struct runner r;
	struct db *db;

	db_run(w->db, "UPDATE channels SET channel_design_id = ? WHERE id = ?", ARGS(ID(design), ID(has)));
	db = beside(w);
	db_number(db, "SELECT 1 FROM channels WHERE id = ? FOR UPDATE", ARGS(ID(chooses)), 0);
	r = begin(w, NEW(w->mem, struct req), w->token, "DELETE", arena_printf(w->mem, "%s?detach=true", path), NULL);
	assert_int_equal(ended(&r), 200);
	assert_int_equal(number(w, "FROM channels WHERE tenant_id = ? AND channel_design_id IS NOT NULL",
	    ARGS(ID(w->tenant_id))), 0);
	db_rollback(db);
	db_close(db);
}

static const char *
below(struct world *w, struct uuid channel_id, struct uuid media_id)
{
	return arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, channel_id), uuid_text(w->mem,
	    media_id));
}

/* A request that changes the asset's channels waits between its judgement and its commit. */
static struct runner
wait_with(struct world *w, struct db *in_the_way, struct uuid media, const char *method, const char *uri,
    const char *body)
{
	struct runner r;

	db_number(in_the_way, "SELECT COUNT(*) FROM media_channels WHERE media_id = ? FOR UPDATE", ARGS(ID(media)), 0);
	r = begin(w, NEW(w->mem, struct req), w->token, method, uri, body);
	until_it_waits(w);
	assert_int_equal(r.outcome->status, 0);
	return r;
}

/* Of many assets, all of them in the other one, too, where there is one. */
static struct uuid
many(struct world *w, struct uuid other)
{
	struct uuid id = make_channel(w, "Many");

	world_fill(w, id, CLOSING_BATCH + 1);
	if (uuid_is_none(other))
		return id;
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) SELECT media_id, ?, 1 FROM "
	    "media_channels WHERE channel_id = ?", ARGS(ID(other), ID(id)));
	db_run(w->db, "UPDATE media SET channel_ids = CONCAT(LEAST(?, ?), GREATEST(?, ?)) WHERE channel_ids = ?",
	    ARGS(ID(id), ID(other), ID(id), ID(other), ID(id)));
	return id;
}

static void
an_asset_that_is_losing_its_other_channel_keeps_the_one_that_is_to_close(void **state)
{
	struct world *w = *state;
	struct uuid other = make_channel(w, "Other"), id = many(w, other), media;
	struct db *in_the_way = beside(w);
	struct runner removal, deletion;

	assert_true(uuid_parse(text(w, call(w, "GET", "/v2/media?perpage=1", NULL), "data.0.id"), &media));
	removal = wait_with(w, in_the_way, media, "DELETE", below(w, other, media), NULL);
	deletion = begin(w, NEW(w->mem, struct req), w->token, "DELETE", arena_printf(w->mem, "/v2/channels/%s",
	    uuid_text(w->mem, id)), NULL);
	usleep(300000);
	db_rollback(in_the_way);
	assert_int_equal(ended(&removal), 200);
	assert_int_equal(ended(&deletion), 409);
	assert_int_equal(number(w, "FROM channels WHERE id = ? AND closing_at = 0", ARGS(ID(id))), 1);
	db_close(in_the_way);
}

static void
an_asset_enters_a_channel_before_it_closes_or_not_at_all(void **state)
{
	struct world *w = *state;
	struct uuid id = many(w, (struct uuid){ { 0 } }), media = world_media(w, "video", "Cat");
	const char *deletion_uri = arena_printf(w->mem, "/v2/channels/%s?moveTo=%s", uuid_text(w->mem, id),
	    uuid_text(w->mem, w->channel_id));
	const char *body = arena_printf(w->mem, "{\"channelIds\":[\"%s\"]}", uuid_text(w->mem, id));
	struct db *in_the_way = beside(w);
	struct runner entry, deletion;
	int round, entered;

	entry = wait_with(w, in_the_way, media, "PATCH", to(w, media), body);
	deletion = begin(w, NEW(w->mem, struct req), w->token, "DELETE", deletion_uri, NULL);
	usleep(300000);
	assert_int_equal(deletion.outcome->status, 0);
	db_rollback(in_the_way);
	assert_int_equal(ended(&entry), 200);
	assert_int_equal(ended(&deletion), 202);
	assert_int_equal(number(w, "FROM media_channels WHERE channel_id = ?", ARGS(ID(id))), CLOSING_BATCH + 2);
	for (round = 0; round < 6; round++) {
		media = world_media(w, "video", "Cat");
		db_run(w->db, "UPDATE channels SET closing_at = 0, closing_to = NULL WHERE id = ?", ARGS(ID(id)));
		role_changed(w->db, w->tenant_id);
		deletion = begin(w, NEW(w->mem, struct req), w->token, "DELETE", deletion_uri, NULL);
		entry = begin(w, NEW(w->mem, struct req), w->token, "PUT", below(w, id, media), NULL);
		entered = ended(&entry);
		assert_int_equal(ended(&deletion), 202);
		assert_true(entered == 200 || entered == 409);
		assert_int_equal(number(w, "FROM media_channels WHERE channel_id = ? AND media_id = ?", ARGS(ID(id),
		    ID(media))), entered == 200);
	}
	db_close(in_the_way);
}

static struct runner
begin_tag(struct world *w, const char *key, const char *body)
{
	struct req *r = NEW(w->mem, struct req);

	r->idempotency_key = key;
	return begin(w, r, w->token, "POST", "/v2/tags", body);
}

static int64_t
count_tags(struct world *w)
{
	return number(w, "FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
}

static void
of_two_requests_with_one_idempotency_key_at_once_one_is_done(void **state)
{
	struct world *w = *state;
	int round, i;

	for (round = 0; round < 8; round++) {
		const char *key = arena_printf(w->mem, "k%d", round);
		const char *body = arena_printf(w->mem, "{\"name\":\"T%d\"}", round);
		struct runner r[2];
		char answers[2][4096];

		for (i = 0; i < 2; i++)
			r[i] = begin_tag(w, key, body);
		for (i = 0; i < 2; i++)
			assert_int_equal(answered(&r[i], answers[i]), 201);
		assert_string_equal(answers[0], answers[1]);
		assert_int_equal(count_tags(w), round + 1);
	}
}

/* Who copies it meanwhile has what there was. */
static void
of_two_recalculations_of_a_chapter_at_once_one_is_done(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), chapter = uuid_new();
	const char *at = arena_printf(w->mem, "%s/chapters/%s", to(w, media), uuid_text(w->mem, chapter));
	int round, i;

	db_run(w->db, "UPDATE media SET ingest_job_id = id, generation = ? WHERE id = ?",
	    ARGS(STR(uuid_text(w->mem, media)), ID(media)));
	db_run(w->db, "INSERT INTO chapters (id, media_id, name, type, created_at, updated_at) VALUES (?, ?, "
	    "'Chapters', 'autogenerated', 1, 1)", ARGS(ID(chapter), ID(media)));
	for (round = 1; round <= 4; round++) {
		struct runner r[3];

		for (i = 0; i < 3; i++)
			r[i] = begin(w, NEW(w->mem, struct req), w->token, "PUT", arena_printf(w->mem, "%s/%s", at,
			    i < 2 ? "recalculate" : "copy"), i < 2 ? NULL : "{}");
		for (i = 0; i < 3; i++)
			assert_int_equal(ended(&r[i]), 200);
		assert_int_equal(number(w, "FROM jobs WHERE media_id = ? AND kind = 'chapters'", ARGS(ID(media))),
		    round);
		assert_int_equal(number(w, "FROM chapters WHERE media_id = ? AND type <> 'autogenerated'",
		    ARGS(ID(media))), round);
		db_run(w->db, "UPDATE jobs SET state = 'succeeded' WHERE media_id = ?", ARGS(ID(media)));
	}
}

/* The first holds its row: that is all the second can see of it. */
static void
while_the_first_with_an_idempotency_key_runs_the_second_is_told_so(void **state)
{
	static const char body[] = "{\"name\":\"Cats\"}";
	struct world *w = *state;
	struct req *r = NEW(w->mem, struct req);
	struct db *db;

	r->idempotency_key = "k";
	assert_int_equal(call_req(w, r, w->token, "POST", "/v2/tags", body)->status, 201);
	db_run(w->db, "DELETE FROM tags WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	db = beside(w);
	db_run(db, "UPDATE idempotent_answers SET expires_at = 1", NO_ARGS);
	r = NEW(w->mem, struct req);
	r->idempotency_key = "k";
	call_req(w, r, w->token, "POST", "/v2/tags", body);
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "idempotency_key_in_use");
	assert_true(r->retry_after > 0);
	assert_int_equal(count_tags(w), 0);
	db_run(db, "DELETE FROM idempotent_answers", NO_ARGS);
	assert_true(db_commit(db));
	db_close(db);
	r = NEW(w->mem, struct req);
	r->idempotency_key = "k";
	assert_int_equal(call_req(w, r, w->token, "POST", "/v2/tags", body)->status, 201);
}

/* Killed anywhere, a request has been done and says so, or neither: sent again, it has been done once. */
static void
a_request_that_was_killed_is_done_once_when_it_is_sent_again(void **state)
{
	struct world *w = *state;
	int round;

	for (round = 0; round < 40; round++) {
		const char *key = arena_printf(w->mem, "k%d", round);
		const char *body = arena_printf(w->mem, "{\"name\":\"T%d\"}", round);
		struct runner killed = begin_tag(w, key, body), again;

		usleep((useconds_t)(round * 700));
		kill(killed.pid, SIGKILL);
		waitpid(killed.pid, NULL, 0);
		do {
			again = begin_tag(w, key, body);
		} while (ended(&again) == 409);		/* the server may still end the first */
		assert_int_equal(count_tags(w), round + 1);
	}
	assert_int_equal(number(w, "FROM idempotent_answers WHERE answer IS NULL", NO_ARGS), 0);
}

/* However many a principal asks at once, no more are open than may be. */
static void
of_questions_at_once_no_more_are_taken_than_may_wait(void **state)
{
	static const char body[] = "{\"prompt\":\"Which remedy was prescribed?\"}";
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	struct uuid media = world_media(w, "video", "Cat");
	int round, i, taken;

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'x', 'completed', ?, 1, 1)", ARGS(ID(uuid_new()), ID(media),
	    STR("[{\"start\":20,\"end\":30,\"text\":\"The physician prescribed a remedy.\"}]")));
	world_embed(w, media);
	conf.engine[ENGINE_complete].name = "http";
	w->conf = &conf;
	for (round = 0; round < 8; round++) {
		struct runner r[6];

		db_run(w->db, "DELETE FROM chats WHERE principal_id = ?", ARGS(ID(w->client_id)));
		for (i = 0; i < 6; i++)
			r[i] = begin(w, NEW(w->mem, struct req), w->token, "POST", "/v2/chats", body);
		for (i = taken = 0; i < 6; i++)
			taken += ended(&r[i]) == 201;
		assert_int_equal(taken, 3);
	}
	w->conf = was;
}

static const char *
import_of_a_hundred(struct world *w)
{
	struct buf b = BUF(w->mem);

	buf_text(&b, "{\"files\":[");
	for (int i = 0; i < 100; i++)
		buf_printf(&b, "%s{\"url\":\"https://a.example.org/%d\",\"name\":\"x\"}", i > 0 ? "," : "", i);
	buf_text(&b, "]}");
	return buf_string(&b);
}

/* Room for two is left, of many that ask at once. */
static void
of_what_a_principal_may_have_no_more_is_made_at_once(void **state)
{
	struct world *w = *state;
	const struct { const char *path, *body, *two_go; int most; } kinds[] = {
		{ "/v2/downloads", arena_printf(w->mem, "{\"title\":\"x\",\"selectedMediaIds\":[\"%s\"]}",
		    uuid_text(w->mem, world_media(w, "video", "Cat"))), "DELETE FROM downloads LIMIT 2", 100 },
		{ "/v2/search/presets", "{\"name\":\"x\",\"query\":{\"text\":\"cat\"}}", "DELETE FROM search_presets "
		    "LIMIT 2", 200 },
		{ "/v2/uploads/imports", import_of_a_hundred(w), "DELETE FROM import_files ORDER BY import_id "
		    "LIMIT 200", 10 },
	};
	int round, i, taken;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (i = 0; i < kinds[k].most; i++)
			assert_int_equal(call(w, "POST", kinds[k].path, kinds[k].body)->status, 201);
		for (round = 0; round < 6; round++) {
			struct runner r[6];

			db_run(w->db, kinds[k].two_go, NO_ARGS);
			for (i = 0; i < 6; i++)
				r[i] = begin(w, NEW(w->mem, struct req), w->token, "POST", kinds[k].path,
				    kinds[k].body);
			for (i = taken = 0; i < 6; i++)
				taken += ended(&r[i]) == 201;
			if (taken != 2)
				fail_msg("%s: %d", kinds[k].path, taken);
		}
	}
}

static struct uuid
voice(struct world *w, const char *name)
{
	const struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO voices (id, tenant_id, name, created_at) VALUES (?, ?, ?, 1)", ARGS(ID(id),
	    ID(w->tenant_id), STR(name)));
	return id;
}

static void
voices_that_nobody_is_called_by_go_without_waiting_for_others(void **state)
{
	struct world *w = *state;
	const struct uuid media = world_media(w, "video", "Talk"), ann = voice(w, "Ann"), speaker = speakers_new(w->db,
	    w->tenant_id, media);
	struct db *in_the_way;

	voice(w, "Bob");
	db_run(w->db, "UPDATE speakers SET label = 'Ann', source = 'human', voice_id = ? WHERE id = ?", ARGS(ID(ann),
	    ID(speaker)));
	in_the_way = beside(w);
	db_number(in_the_way, "SELECT 1 FROM voices WHERE id = ? FOR UPDATE", ARGS(ID(ann)), 0);
	voices_tidy(w->db, w->tenant_id);
	assert_int_equal(db_failure(w->db), DB_FINE);
	db_close(in_the_way);
	assert_int_equal(number(w, "FROM voices WHERE tenant_id = ? AND name IS NOT NULL", ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(number(w, "FROM voices WHERE id = ? AND name = 'Ann'", ARGS(ID(ann))), 1);
}

/* However many share it at once: one background channel, and one link of each. */
static void
of_shares_of_an_asset_at_once_each_caller_has_one_link_and_all_one_channel(void **state)
{
	struct world *w = *state;
	struct uuid media, one, two;
	const char *tokens[2], *path, *link[2];
	int round, i;

	tokens[0] = world_member(w, SCOPE_NAMES, "Publisher", &one);
	tokens[1] = world_member(w, SCOPE_NAMES, "Publisher", &two);
	role_changed(w->db, w->tenant_id);
	for (round = 0; round < 10; round++) {
		struct runner r[4];
		char answer[4][4096];

		media = world_media(w, "video", "Cat");
		path = arena_printf(w->mem, "%s/share", to(w, media));
		for (i = 0; i < 4; i++)
			r[i] = begin(w, NEW(w->mem, struct req), tokens[i % 2], "PUT", path, NULL);
		for (i = 0; i < 4; i++)
			assert_int_equal(answered(&r[i], answer[i]), 200);
		for (i = 0; i < 2; i++) {
			link[i] = strstr(answer[i], "/s/");
			assert_memory_equal(link[i], strstr(answer[i + 2], "/s/"), 46);
		}
		assert_memory_not_equal(link[0], link[1], 46);
		assert_int_equal(number(w, "FROM shares WHERE media_id = ?", ARGS(ID(media))), 2);
		assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'media.updated'",
		    ARGS(ID(media))), 2);
	}
}

/* Who has a file of those bytes in a channel of its own, and the call that makes it an asset. */
struct uploader { const char *token, *complete, *id; };

static struct uploader
uploader(struct world *w, const char *name)
{
	struct uuid id, channel_id = uuid_new();
	struct uploader u = { .token = world_member(w, "CreateContent ViewChannel", NULL, &id) };
	struct req *r;

	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, created_at, updated_at) VALUES (?, ?, ?, "
	    "'private', 1, 1)", ARGS(ID(channel_id), ID(w->tenant_id), STR(name)));
	world_role(w, channel_id, id, "Publisher");
	r = call_as(w, u.token, "POST", "/v2/uploads", "{\"fileName\":\"a.mp4\",\"type\":\"put\"}");
	assert_int_equal(r->status, 201);
	u.id = text(w, r, "data.id");
	assert_true(uuid_parse(u.id, &id));
	db_run(w->db, "UPDATE uploads SET status = 'uploaded', sha256 = UNHEX(SHA2('a film', 256)), media_type = "
	    "'video', mime_type = 'video/mp4', received_bytes = 6 WHERE id = ?", ARGS(ID(id)));
	u.complete = arena_printf(w->mem, "{\"channelId\":\"%s\"}", uuid_text(w->mem, channel_id));
	return u;
}

static void
of_the_same_file_of_two_at_once_one_is_taken_and_the_other_hears_no_more(void **state)
{
	struct world *w = *state;
	struct uploader u[2] = { uploader(w, "One"), uploader(w, "Two") };
	char answer[2][sizeof(((struct outcome *)0)->answer)];
	struct runner r[2];
	struct db *db;
	int status[2], lost;

	db_run(w->db, "UPDATE tenants SET duplicate_check = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	role_changed(w->db, w->tenant_id);
	/* Both are at their last step when it opens. */
	db = beside(w);
	db_number(db, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE", ARGS(ID(w->tenant_id)), 0);
	for (int i = 0; i < 2; i++)
		r[i] = begin(w, NEW(w->mem, struct req), u[i].token, "PUT", arena_printf(w->mem,
		    "/v2/uploads/%s/complete", u[i].id), u[i].complete);
	usleep(300000);
	assert_true(db_commit(db));
	for (int i = 0; i < 2; i++)
		status[i] = answered(&r[i], answer[i]);
	assert_int_equal(status[0] + status[1], 200 + 409);
	lost = status[0] == 409 ? 0 : 1;
	assert_non_null(strstr(answer[lost], "duplicate_file"));
	assert_null(strstr(answer[lost], u[1 - lost].id));
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
	/* The file of the one who was refused is its own still. */
	assert_string_equal(text(w, call_as(w, u[lost].token, "GET", arena_printf(w->mem, "/v2/uploads/%s", u[lost].id),
	    NULL), "data.status"), "uploaded");
	assert_int_equal(call_as(w, u[lost].token, "GET", arena_printf(w->mem, "/v2/uploads/%s", u[1 - lost].id),
	    NULL)->status, 404);
	db_close(db);
}

/* Each would fit by itself. */
static void
uploads_that_are_announced_at_once_never_reserve_more_than_the_quota(void **state)
{
	struct world *w = *state;
	int round, i, taken;

	world_quota(w, 1000);
	for (round = 0; round < 8; round++) {
		struct runner r[6];

		db_run(w->db, "DELETE FROM uploads WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
		for (i = 0; i < 6; i++)
			r[i] = begin(w, NEW(w->mem, struct req), w->token, "POST", "/v2/uploads",
			    "{\"fileName\":\"a.mp4\",\"type\":\"put\",\"fileSize\":400}");
		for (i = taken = 0; i < 6; i++) {
			const int status = ended(&r[i]);

			taken += status == 201;
			assert_true(status == 201 || status == 507);
		}
		assert_int_equal(taken, 2);
		assert_int_equal(number(w, "FROM uploads WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 2);
	}
}

struct taker { struct world *w; struct quota_upload u; pthread_barrier_t *all; int64_t got; enum db_failure failure; };

static void *
take_quota(void *user)
{
	struct taker *t = user;
	struct arena *mem = arena_new(1 << 20);
	struct db *db = db_open(t->w->conf, DB_JOBS);

	db_use(db, mem);
	db_number(db, "SELECT 1", NO_ARGS, 0);
	pthread_barrier_wait(t->all);
	t->got = quota_reserve(db, &t->u, 100, 400);
	t->failure = db_failure(db);
	db_close(db);
	arena_free(mem);
	return NULL;
}

/* Of a thousand bytes each wants 400, and takes a hundred as well. */
static void
bodies_of_unknown_length_that_begin_at_once_never_reserve_more_than_the_quota(void **state)
{
	enum { TAKERS = 8, QUOTA = 1000 };
	struct world *w = *state;

	world_quota(w, QUOTA);
	for (int round = 0; round < 8; round++) {
		struct taker t[TAKERS];
		pthread_t thread[TAKERS];
		pthread_barrier_t all;
		int64_t sum = 0;

		db_run(w->db, "DELETE FROM uploads WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
		pthread_barrier_init(&all, NULL, TAKERS);
		for (int i = 0; i < TAKERS; i++) {
			struct req *r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"a.mp4\",\"type\":\"put\"}");

			t[i] = (struct taker){ .w = w, .u = { .tenant_id = w->tenant_id, .attempt = 1 }, .all = &all };
			assert_true(uuid_parse(text(w, r, "data.id"), &t[i].u.id));
		}
		db_run(w->db, "UPDATE uploads SET status = 'uploading', attempt = 1 WHERE tenant_id = ?",
		    ARGS(ID(w->tenant_id)));
		for (int i = 0; i < TAKERS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, take_quota, &t[i]), 0);
		for (int i = 0; i < TAKERS; i++) {
			pthread_join(thread[i], NULL);
			assert_int_equal(t[i].failure, DB_FINE);
			assert_true(t[i].got == 0 || (t[i].got >= 100 && t[i].got <= 400));
			sum += t[i].got;
		}
		pthread_barrier_destroy(&all);
		assert_in_range(sum, QUOTA - 99, QUOTA);
		assert_int_equal(db_number(w->db, "SELECT SUM(reserved_bytes) FROM uploads WHERE tenant_id = ?",
		    ARGS(ID(w->tenant_id)), 0), sum);
	}
}

/* What all who make or delete assets wait for is taken last. */
static void
an_upload_that_is_being_announced_keeps_nobody_of_its_tenant_waiting(void **state)
{
	struct world *w = *state;
	struct db *in_the_way = db_open(w->conf, DB_ADMIN), *other = beside(w);
	enum db_failure failure;
	struct runner r;

	world_quota(w, 1000);
	db_use(in_the_way, w->mem);
	/* Nobody adds a row of this tenant while it reads them so. */
	db_run(in_the_way, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", NO_ARGS);
	db_begin(in_the_way);
	db_number(in_the_way, "SELECT COUNT(*) FROM uploads FORCE INDEX (by_tenant) WHERE tenant_id = ? FOR UPDATE",
	    ARGS(ID(w->tenant_id)), 0);
	r = begin(w, NEW(w->mem, struct req), w->token, "POST", "/v2/uploads",
	    "{\"fileName\":\"a.mp4\",\"type\":\"put\",\"fileSize\":400}");
	until_it_waits(w);
	db_number(other, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE NOWAIT", ARGS(ID(w->tenant_id)), 0);
	failure = db_failure(other);
	assert_int_equal(r.outcome->status, 0);
	db_rollback(other);
	db_rollback(in_the_way);
	assert_int_equal(ended(&r), 201);
	if (failure != DB_FINE)
		fail_msg("an upload that has not begun yet is in the way of all that makes or deletes assets");
	db_close(other);
	db_close(in_the_way);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_role_given_in_a_transaction_that_is_rolled_back_was_never_given),
		WORLD_TEST(a_role_that_is_being_taken_away_changes_nothing_any_more),
		WORLD_TEST(a_role_is_taken_away_before_a_request_or_after_its_commit),
		WORLD_TEST(requests_of_a_tenant_do_not_wait_for_each_other_to_be_judged),
		WORLD_TEST(a_list_shows_what_was_visible_when_it_was_read),
		WORLD_TEST(of_two_owners_who_leave_at_once_one_stays),
		WORLD_TEST(a_design_that_is_being_chosen_stays_and_becomes_no_template),
		WORLD_TEST(what_is_becoming_a_template_or_going_is_not_chosen),
		WORLD_TEST(what_is_going_or_being_hidden_is_put_into_no_story),
		WORLD_TEST(a_design_is_taken_away_beside_a_channel_that_is_choosing_it),
		WORLD_TEST(an_asset_that_is_losing_its_other_channel_keeps_the_one_that_is_to_close),
		WORLD_TEST(an_asset_enters_a_channel_before_it_closes_or_not_at_all),
		WORLD_TEST(of_two_requests_with_one_idempotency_key_at_once_one_is_done),
		WORLD_TEST(voices_that_nobody_is_called_by_go_without_waiting_for_others),
		WORLD_TEST(of_questions_at_once_no_more_are_taken_than_may_wait),
		WORLD_TEST(of_what_a_principal_may_have_no_more_is_made_at_once),
		WORLD_TEST(of_two_recalculations_of_a_chapter_at_once_one_is_done),
		WORLD_TEST(while_the_first_with_an_idempotency_key_runs_the_second_is_told_so),
		WORLD_TEST(a_request_that_was_killed_is_done_once_when_it_is_sent_again),
		WORLD_TEST(of_the_same_file_of_two_at_once_one_is_taken_and_the_other_hears_no_more),
		WORLD_TEST(uploads_that_are_announced_at_once_never_reserve_more_than_the_quota),
		WORLD_TEST(bodies_of_unknown_length_that_begin_at_once_never_reserve_more_than_the_quota),
		WORLD_TEST(an_upload_that_is_being_announced_keeps_nobody_of_its_tenant_waiting),
		WORLD_TEST(of_two_moves_of_an_asset_at_once_one_wins_and_the_other_hears_of_it),
		WORLD_TEST(of_shares_of_an_asset_at_once_each_caller_has_one_link_and_all_one_channel),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
