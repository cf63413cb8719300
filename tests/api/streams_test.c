/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams that stay open: what each is told and when, how they end, and what a client that is slow or hostile costs. */
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/client.h"
#include "core/role.h"
#include "fcgi/events/stream.h"
#include "tests/api/listeners.h"

enum { MEMORY = 64 << 20, SECOND = 1000, MINUTE = 60 * SECOND };

static struct streams *
streams(struct world *w)
{
	return streams_new(w->conf, w->db, arena_new(MEMORY));
}

static void
end_streams(struct world *w, struct streams *s)
{
	streams_free(s);
	db_use(w->db, w->mem);
}

/* Of the SuperAdmin. */
static struct listener
of_asset(struct world *w, struct uuid media_id)
{
	return (struct listener){ .token = w->token, .uri = asset_path(w, media_id, "/events") };
}

static int
listen_to(struct world *w, struct streams *s, struct uuid media_id)
{
	return listener_open(w, s, of_asset(w, media_id));
}

/* Until so many were told, by a client that takes so many bytes at a time. */
static void
is_told(struct world *w, struct streams *s, int fd, int want, size_t most)
{
	struct told t = { .n = 0 };
	int64_t end = clock_ms() + 2 * MINUTE;

	while (t.n < want && clock_ms() < end) {
		streams_attend(s);
		assert_true(told_take(w, &t, fd, most));
	}
	assert_int_equal(t.n, want);
}

/* Until all have lost their connections. */
static void
are_dropped(struct streams *s, const int *fds, int n)
{
	int64_t end = clock_ms() + 2 * MINUTE;
	int i;

	for (i = 0; i < n && clock_ms() < end;) {
		if (listener_is_dropped(fds[i]))
			i++;
		else
			streams_attend(s);
	}
	assert_int_equal(i, n);
}

/* More than a connection takes at once, and more than is kept for it. */
static void
a_client_that_was_away_is_told_all_of_it_as_fast_as_it_takes_it(void **state)
{
	enum { MANY = 1500 };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	struct listener asset = of_asset(w, id), tenant = { .token = w->token, .uri = "/v2/events" };
	int one, all;

	asset.last = tenant.last = events_here(w, w->token);
	write_many(w, id, MANY);
	one = listener_open(w, s, asset);
	all = listener_open(w, s, tenant);
	is_told(w, s, all, MANY, 4096);
	is_told(w, s, one, MANY, 512);
	end_streams(w, s);
	close(one);
	close(all);
}

static void
a_client_that_is_slower_than_its_events_loses_none_of_them(void **state)
{
	enum { MANY = 2000 };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	int slow = listen_to(w, s, id), other = listen_to(w, s, id);

	write_many(w, id, MANY);
	is_told(w, s, other, MANY, 4096);		/* while the slow one takes nothing */
	is_told(w, s, slow, MANY, 4096);
	write_many(w, id, 1);
	is_told(w, s, slow, 1, 4096);
	end_streams(w, s);
	close(slow);
	close(other);
}

/* However many there are before it: who comes last has begun before the first has got all. */
static void
clients_that_were_away_are_told_in_turns(void **state)
{
	enum { CLIENTS = 25, MANY = 600 };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	struct listener l = of_asset(w, id);
	struct told told[CLIENTS] = { { .n = 0 } };
	int fds[CLIENTS], most = 0, i;

	l.last = events_here(w, w->token);
	write_many(w, id, MANY);
	for (i = 0; i < CLIENTS; i++)
		fds[i] = listener_open(w, s, l);
	while (most < MANY) {
		streams_attend(s);
		for (i = 0; i < CLIENTS; i++) {
			int before;

			do {
				before = told[i].n;
				assert_true(told_take(w, &told[i], fds[i], 4096));
			} while (told[i].n > before);
			most = told[i].n > most ? told[i].n : most;
		}
	}
	for (i = 0; i < CLIENTS; i++) {
		assert_true(told[i].n > 0);
		close(fds[i]);
	}
	end_streams(w, s);
}

/* A channel of many assets that is deleted, say, while many follow the tenant. */
static void
many_events_for_many_streams_take_no_more_memory_than_for_one(void **state)
{
	enum { STREAMS = 60, EVENTS = 150, LITTLE = 6 << 20 };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams_new(w->conf, w->db, arena_new(LITTLE));
	int fds[STREAMS], i;

	for (i = 0; i < STREAMS; i++)
		fds[i] = listener_open(w, s, (struct listener){ .token = w->token, .uri = "/v2/events" });
	for (i = 0; i < EVENTS; i++)
		event_add_job(w->db, id, "media.updated", "{\"modified\":[\"tags\"]}");
	event_add_job(w->db, id, "media.ready", NULL);
	for (i = 0; i < STREAMS; i++) {
		listener_hears(w, s, fds[i], "event: media.ready");
		close(fds[i]);
	}
	end_streams(w, s);
}

/* The program keeps no more of it than that. */
static void
what_a_client_does_not_take_is_kept_up_to_32_kb(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct subscription what = { .tenant_id = w->tenant_id };
	struct req *r = call(w, "GET", asset_path(w, id, ""), NULL);
	struct stream *t;
	char *text = arena_alloc(w->mem, 4096);
	size_t most = 0;
	int ends[2], i;

	memset(text, 'x', 4096);
	r->subscription = &what;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	t = stream_new(ends[0], -1, 1, r);
	for (i = 0; i < 10000 && !t->broken; i++) {
		stream_tell(t, w->mem, text, 4096);
		most = t->rest_n > most ? t->rest_n : most;
	}
	assert_true(t->broken && t->ends);
	assert_in_range(most, 1, 32768);
	assert_in_range(i, 1, 24);		/* of 4 kB; the kernel has the others */
	stream_free(t);
	close(ends[1]);
}

/* Half of them take nothing, the others a byte now and then. */
static void
a_thousand_that_hardly_read_take_little_hold_up_nobody_and_are_dropped(void **state)
{
	enum { CROWD = 1000, MANY = 150, EACH = 8192 };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	struct rlimit files;
	int *crowd = arena_array(w->mem, CROWD, sizeof(int)), reader, i, steps;
	size_t before;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (i = 0; i < CROWD; i++)
		crowd[i] = listen_to(w, s, id);
	reader = listen_to(w, s, id);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	write_many(w, id, MANY);
	is_told(w, s, reader, MANY, 4096);
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd - before, 0, CROWD * EACH);
	for (steps = 0; steps < 4; steps++) {
		for (i = 0; i < CROWD; i += 2)
			assert_int_equal(recv(crowd[i], &(char){ 0 }, 1, MSG_DONTWAIT), 1);
		clock_goes_on(10 * SECOND);
		streams_attend(s);
	}
	are_dropped(s, crowd, CROWD);
	write_many(w, id, 1);
	is_told(w, s, reader, 1, 4096);
	for (i = 0; i < CROWD; i++)
		close(crowd[i]);
	close(reader);
	end_streams(w, s);
}

static void
a_stream_on_which_nothing_happens_has_a_heartbeat_and_ends_after_an_hour(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	struct listener l = of_asset(w, id);
	const char *heard;
	int fd;

	l.lives = 7200;
	fd = listener_open(w, s, l);
	listener_hears(w, s, fd, "retry: 3000");
	clock_goes_on(15 * SECOND);
	heard = listener_hears(w, s, fd, ":\n\n");
	assert_null(strstr(heard, "event:"));
	clock_goes_on(60 * MINUTE);
	listener_hears(w, s, fd, "event: end\ndata: {\"reason\":\"hour\"}\n\n");
	are_dropped(s, &fd, 1);
	end_streams(w, s);
	close(fd);
}

static void
a_stream_ends_with_its_token(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	struct listener l = of_asset(w, id);
	int lives = listen_to(w, s, id), dies;

	l.lives = 90;
	dies = listener_open(w, s, l);
	event_add_job(w->db, id, "media.updated", NULL);
	listener_hears(w, s, dies, "event: media.updated");
	clock_goes_on(90 * SECOND);
	event_add_job(w->db, id, "media.ready", NULL);
	listener_hears(w, s, dies, "\"reason\":\"token_expired\"");
	listener_hears(w, s, lives, "event: media.ready");
	event_add_job(w->db, id, "media.failed", NULL);
	listener_hears(w, s, lives, "event: media.failed");
	are_dropped(s, &dies, 1);
	end_streams(w, s);
	close(lives);
	close(dies);
}

static void
a_stream_that_is_judged_again_takes_nothing_from_its_limits(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct conf few = *w->conf;
	struct streams *s = streams_new(&few, w->db, arena_new(MEMORY));
	int fd = listen_to(w, s, id), i;

	few.limit_client = few.limit_user = 1;
	few.limit_local = true;
	for (i = 0; i < 3; i++) {
		role_changed(w->db, w->tenant_id);
		event_add_job(w->db, id, "media.updated", NULL);
		listener_hears(w, s, fd, "event: media.updated");
	}
	end_streams(w, s);
	close(fd);
}

/* Before it is told another thing. */
static void
who_loses_the_role_is_told_so_and_nothing_more(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), viewer, channel = w->channel_id;
	struct streams *s = streams(w);
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer), *heard;
	int asset = listener_open(w, s, (struct listener){ .token = token, .uri = asset_path(w, id, "/events") });
	int tenant = listener_open(w, s, (struct listener){ .token = token, .uri = "/v2/events" });
	int other = listener_open(w, s, (struct listener){ .token = w->token, .uri = "/v2/events" });

	event_add_job(w->db, id, "media.updated", NULL);
	listener_hears(w, s, asset, "event: media.updated");
	listener_hears(w, s, tenant, "event: media.updated");
	world_role(w, channel, viewer, NULL);
	event_add_job(w->db, id, "media.ready", NULL);
	heard = listener_hears(w, s, asset, "\"reason\":\"forbidden\"");
	assert_null(strstr(heard, "media.ready"));
	listener_hears(w, s, other, "event: media.ready");
	world_role(w, channel, viewer, "Viewer");
	event_add_job(w->db, id, "media.failed", NULL);
	heard = listener_hears(w, s, tenant, "event: media.failed");
	assert_null(strstr(heard, "media.ready"));
	end_streams(w, s);
	close(asset);
	close(tenant);
	close(other);
}

/* Whatever is remembered of its token, and though no event has come. */
static void
a_stream_is_judged_each_minute_by_its_token_as_it_is_then(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), viewer;
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer);
	struct streams *s = streams(w);
	int fd = listener_open(w, s, (struct listener){ .token = token, .uri = asset_path(w, id, "/events") });

	clock_goes_on(30 * SECOND);
	token_forget();
	assert_int_equal(call_as(w, token, "GET", "/v2/events", NULL)->status, 200);
	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(viewer)));
	clock_goes_on(30 * SECOND);
	listener_hears(w, s, fd, "event: end\n");
	are_dropped(s, &fd, 1);
	end_streams(w, s);
	close(fd);
}

/* Its streams were opened while it was there. */
static void
an_asset_that_goes_where_a_client_sees_nothing_is_told_no_more_of(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), stays = world_media(w, "video", "Two");
	const char *token = world_member(w, "ViewChannel", "Viewer", NULL), *heard, *other;
	struct streams *s = streams(w);
	int tenant = listener_open(w, s, (struct listener){ .token = token, .uri = "/v2/events" });
	int asset = listener_open(w, s, (struct listener){ .token = token, .uri = asset_path(w, id, "/events") });
	struct req *r;

	other = text(w, call(w, "POST", "/v2/channels", "{\"name\":\"Other\"}"), "data.id");
	r = call(w, "PUT", arena_printf(w->mem, "/v2/channels/%s/media/%s", other, uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	event_add_job(w->db, id, "media.ready", NULL);
	listener_hears(w, s, asset, "event: media.ready");
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, w->channel_id),
	    uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	event_add_job(w->db, id, "media.failed", NULL);
	event_add_job(w->db, stays, "media.restored", NULL);
	heard = listener_hears(w, s, tenant, "event: media.restored");
	assert_null(strstr(heard, "media.failed"));
	clock_goes_on(MINUTE);
	heard = listener_hears(w, s, asset, "\"reason\":\"forbidden\"");
	assert_null(strstr(heard, "media.failed"));
	end_streams(w, s);
	close(tenant);
	close(asset);
}

static void
put_into(struct world *w, struct uuid id, struct uuid channel)
{
	struct req *r = call(w, "PUT", arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, channel),
	    uuid_text(w->mem, id)), NULL);

	assert_int_equal(r->status, 200);
}

static void
move(struct world *w, struct uuid id, struct uuid from, struct uuid to)
{
	const char *asset = uuid_text(w->mem, id);
	struct req *r;

	put_into(w, id, to);
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, from), asset), NULL);
	assert_int_equal(r->status, 200);
}

static struct uuid
other_channel(struct world *w)
{
	struct uuid id;

	assert_true(uuid_parse(text(w, call(w, "POST", "/v2/channels", "{\"name\":\"Other\"}"), "data.id"), &id));
	return id;
}

/* Each of its events is judged by the roles of then, wherever the asset was when the stream was judged. */
static void
who_lost_a_role_while_the_asset_was_elsewhere_is_not_told_when_it_is_back(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), other = other_channel(w), viewer;
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer), *heard;
	struct streams *s = streams(w);
	int all = listener_open(w, s, (struct listener){ .token = w->token, .uri = "/v2/events" });
	int asset;

	world_role(w, other, viewer, "Viewer");
	asset = listener_open(w, s, (struct listener){ .token = token, .uri = asset_path(w, id, "/events") });
	move(w, id, w->channel_id, other);
	world_role(w, w->channel_id, viewer, NULL);
	event_add_job(w->db, id, "media.restored", NULL);
	listener_hears(w, s, asset, "event: media.restored");
	move(w, id, other, w->channel_id);
	event_add_job(w->db, id, "media.ready", NULL);
	listener_hears(w, s, all, "event: media.ready");
	clock_goes_on(MINUTE);
	heard = listener_hears(w, s, asset, "\"reason\":\"forbidden\"");
	assert_null(strstr(heard, "media.ready"));
	end_streams(w, s);
	close(all);
	close(asset);
}

/* Though it sees the asset by another one: that it is in this one is not its business any more. */
static void
a_stream_of_a_channel_ends_with_the_role_in_it(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), other = other_channel(w), viewer;
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer), *heard;
	struct streams *s = streams(w);
	int fd;

	world_role(w, other, viewer, "Viewer");
	put_into(w, id, other);
	fd = listener_open(w, s, (struct listener){ .token = token, .uri = arena_printf(w->mem,
	    "/v2/events?channelId=%s", uuid_text(w->mem, other)) });
	event_add_job(w->db, id, "media.restored", NULL);
	listener_hears(w, s, fd, "event: media.restored");
	world_role(w, other, viewer, NULL);
	event_add_job(w->db, id, "media.ready", NULL);
	heard = listener_hears(w, s, fd, "\"reason\":\"forbidden\"");
	assert_null(strstr(heard, "media.ready"));
	end_streams(w, s);
	close(fd);
}

/* What one turn asks of the database. */
static int64_t
asked_in_a_turn(struct world *w, struct streams *s)
{
	static const char count[] = "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.SESSION_STATUS "
	    "WHERE VARIABLE_NAME = 'QUESTIONS'";
	int64_t before = db_number(w->db, count, NO_ARGS, -1);

	clock_goes_on(SECOND);
	streams_attend(s);
	db_use(w->db, w->mem);
	return db_number(w->db, count, NO_ARGS, -1) - before;
}

/* More than fcgi/access.c knows the channels of. */
static void
whoever_was_told_of_a_channel_is_told_of_it_again_without_a_question(void **state)
{
	enum { CLIENTS = 90, FEW = 20 };
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One"), two = world_media(w, "video", "Two");
	struct streams *s = streams(w);
	int fds[CLIENTS], i;

	for (i = 0; i < CLIENTS; i++)
		fds[i] = listener_open(w, s, (struct listener){ .token = world_member(w, "ViewChannel", "Viewer", NULL),
		    .uri = "/v2/events" });
	/* the last one has changed the roles */
	event_add_job(w->db, id, "media.updated", NULL);
	for (i = 0; i < CLIENTS; i++)
		listener_hears(w, s, fds[i], "event: media.updated");
	event_add_job(w->db, id, "media.ready", NULL);
	event_add_job(w->db, two, "media.restored", NULL);
	assert_in_range(asked_in_a_turn(w, s), 1, FEW);
	for (i = 0; i < CLIENTS; i++) {
		listener_hears(w, s, fds[i], "event: media.restored");
		close(fds[i]);
	}
	end_streams(w, s);
}

/* Its caller has named no number, so only this program knows where it began. */
static void
a_list_that_waits_from_now_on_tells_what_it_waited_for(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams(w);
	int tenant = listener_waits(w, s, (struct listener){ .token = w->token, .uri = "/v2/events?wait=25" });
	int asset = listener_waits(w, s, (struct listener){ .token = w->token, .uri = asset_path(w, id,
	    "/events?wait=25") });

	event_add_job(w->db, id, "media.ready", NULL);
	assert_non_null(strstr(listener_hears(w, s, tenant, "\"next\":"), "\"media.ready\""));
	assert_non_null(strstr(listener_hears(w, s, asset, "\"next\":"), "\"media.ready\""));
	end_streams(w, s);
	close(tenant);
	close(asset);
}

static void
requests_that_become_no_stream_leave_nothing_behind(void **state)
{
	struct world *w = *state;
	struct arena *mem = arena_new(MEMORY);
	struct streams *s = streams_new(w->conf, w->db, mem);
	size_t used = arena_used(mem);
	int i;

	for (i = 0; i < 20; i++) {
		assert_non_null(streams_reader(s));
		assert_int_equal(streams_attend(s), -1);
	}
	assert_int_equal(arena_used(mem), used);
	end_streams(w, s);
	arena_free(mem);
}

static void
a_stream_of_a_channel_is_told_of_its_assets_alone(void **state)
{
	struct world *w = *state;
	struct uuid here = world_media(w, "video", "One"), there = world_media(w, "video", "Two"), other;
	struct streams *s = streams(w);
	const char *name = text(w, call(w, "POST", "/v2/channels", "{\"name\":\"Other\"}"), "data.id"), *heard;
	int fd;

	assert_true(uuid_parse(name, &other));
	db_run(w->db, "UPDATE media SET channel_ids = ? WHERE id = ?", ARGS(ID(other), ID(there)));
	fd = listener_open(w, s, (struct listener){ .token = w->token, .uri = arena_printf(w->mem,
	    "/v2/events?type=media.ready,media.failed&channelId=%s", uuid_text(w->mem, w->channel_id)) });
	event_add_job(w->db, there, "media.ready", NULL);
	event_add_job(w->db, here, "media.updated", NULL);
	event_add_job(w->db, here, "media.failed", NULL);
	heard = listener_hears(w, s, fd, "event: media.failed");
	assert_null(strstr(heard, "media.ready"));
	assert_null(strstr(heard, "media.updated"));
	end_streams(w, s);
	close(fd);
}

/* What is told meanwhile has no number that a client could come back with and miss what is late. */
static void
what_commits_late_is_told_then_and_nobody_is_led_past_it(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct db *late = db_open(w->conf, DB_JOBS);
	struct streams *s = streams(w);
	int fd = listen_to(w, s, id);
	const char *heard, *last;

	listener_hears(w, s, fd, "retry: 3000");
	db_use(late, w->mem);
	db_begin(late);
	event_add_job(late, id, "media.ready", NULL);
	event_add_job(w->db, id, "media.updated", NULL);
	last = arena_printf(w->mem, "id: %lld\n", (long long)db_number(w->db, "SELECT MAX(id) FROM events WHERE "
	    "tenant_id = ?", ARGS(ID(w->tenant_id)), 0));
	heard = listener_hears(w, s, fd, "event: media.updated");
	assert_null(strstr(heard, "id: "));
	clock_goes_on(MINUTE);
	heard = listener_hears(w, s, fd, ":\n\n");
	assert_null(strstr(heard, "id: "));
	assert_true(db_commit(late));
	heard = listener_hears(w, s, fd, last);
	assert_non_null(strstr(heard, "event: media.ready"));
	db_close(late);
	end_streams(w, s);
	close(fd);
}

/* Nothing can be told then, and nobody has to come back for that. */
static void
a_database_that_is_away_for_a_while_ends_no_stream(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct conf conf = *w->conf;
	struct db *db = db_open(&conf, DB_API);
	struct streams *s = streams_new(&conf, db, arena_new(MEMORY));
	const char *heard;
	int fd = listen_to(w, s, id), i;

	listener_hears(w, s, fd, "retry: 3000");
	conf.db_socket = "/nowhere";
	db_rest(db);
	for (i = 0; i < 8; i++) {
		clock_goes_on(20 * SECOND);
		streams_attend(s);
	}
	conf.db_socket = w->conf->db_socket;
	event_add_job(w->db, id, "media.updated", NULL);
	heard = listener_hears(w, s, fd, "event: media.updated");
	assert_null(strstr(heard, "event: end"));
	end_streams(w, s);
	db_close(db);
	close(fd);
}

static int
set_back(void **state)
{
	clock_set_back();
	token_forget();
	return world_teardown(state);
}

#define STREAM_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, set_back)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STREAM_TEST(a_client_that_was_away_is_told_all_of_it_as_fast_as_it_takes_it),
		STREAM_TEST(a_client_that_is_slower_than_its_events_loses_none_of_them),
		STREAM_TEST(clients_that_were_away_are_told_in_turns),
		STREAM_TEST(many_events_for_many_streams_take_no_more_memory_than_for_one),
		STREAM_TEST(what_a_client_does_not_take_is_kept_up_to_32_kb),
		STREAM_TEST(a_thousand_that_hardly_read_take_little_hold_up_nobody_and_are_dropped),
		STREAM_TEST(a_stream_on_which_nothing_happens_has_a_heartbeat_and_ends_after_an_hour),
		STREAM_TEST(a_stream_ends_with_its_token),
		STREAM_TEST(a_stream_that_is_judged_again_takes_nothing_from_its_limits),
		STREAM_TEST(who_loses_the_role_is_told_so_and_nothing_more),
		STREAM_TEST(a_stream_is_judged_each_minute_by_its_token_as_it_is_then),
		STREAM_TEST(an_asset_that_goes_where_a_client_sees_nothing_is_told_no_more_of),
		STREAM_TEST(who_lost_a_role_while_the_asset_was_elsewhere_is_not_told_when_it_is_back),
		STREAM_TEST(a_stream_of_a_channel_ends_with_the_role_in_it),
		STREAM_TEST(whoever_was_told_of_a_channel_is_told_of_it_again_without_a_question),
		STREAM_TEST(a_list_that_waits_from_now_on_tells_what_it_waited_for),
		STREAM_TEST(requests_that_become_no_stream_leave_nothing_behind),
		STREAM_TEST(a_stream_of_a_channel_is_told_of_its_assets_alone),
		STREAM_TEST(what_commits_late_is_told_then_and_nobody_is_led_past_it),
		STREAM_TEST(a_database_that_is_away_for_a_while_ends_no_stream),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
