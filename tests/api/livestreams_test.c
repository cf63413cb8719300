/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Livestreams: who may do what with them, and how they go from state to state. */
#include <string.h>

#include "core/livestream.h"
#include "core/livestream_target.h"
#include "core/store.h"
#include "tests/api/livestreams.h"
#include "tests/inside.h"

static void
its_languages_are_those_of_the_tenant_where_it_names_none(void **state)
{
	struct world *w = *state;

	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings",
	    "{\"transcriptionLanguages\":[\"de\"]}")->status, 200);
	assert_string_equal(text(w, created(w, "{\"name\":\"Council\"}"), "data.transcriptLanguageCodes"),
	    "[ \"de\" ]");
	assert_string_equal(text(w, created(w, "{\"name\":\"Council\",\"transcriptLanguageCodes\":[]}"),
	    "data.transcriptLanguageCodes"), "[ ]");
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ? AND t.language_code = 'de'",
	    ARGS(ID(w->tenant_id))), 1);
}

static void
a_new_one_has_an_asset_from_the_start(void **state)
{
	struct world *w = *state;
	struct req *r = created(w, "{\"name\":\"Council\",\"description\":\"Of cats\",\"withDvr\":true,"
	    "\"transcriptLanguageCodes\":[\"de\"]}"), *m;
	const char *media = text(w, r, "data.mediaId");

	assert_string_equal(text(w, r, "data.status"), "created");
	assert_string_equal(text(w, r, "data.source"), "rtmp");
	assert_string_equal(text(w, r, "data.withDvr"), "true");
	assert_string_equal(text(w, r, "data.channelIds.0"), uuid_text(w->mem, w->channel_id));
	assert_null(text(w, r, "data.playlistUrl"));
	assert_string_equal(text(w, r, "data.playouts.0.type"), "page");
	m = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", media), NULL);
	assert_int_equal(m->status, 200);
	assert_string_equal(text(w, m, "data.name"), "Council");
	assert_string_equal(text(w, m, "data.description"), "Of cats");
	assert_string_equal(text(w, m, "data.status"), "processing");
	assert_string_equal(text(w, m, "data.languageCode"), "de");
	assert_null(text(w, m, "data.ingestJob"));
	assert_string_equal(text(w, call(w, "GET", "/v2/media", NULL), "data.0.id"), media);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/media/%s/ingest", media), NULL)->status, 422);
	assert_int_equal(number(w, "FROM events WHERE type = 'media.created' AND media_id = ?", ARGS(ID(id_of(w, r,
	    "data.mediaId")))), 1);
	assert_int_equal(db_number(w->db, "SELECT media_count FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), -1), 1);
}

static void
the_address_for_encoders_names_tls_where_it_is_taken(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	const char *plain = text(w, created(w, "{\"name\":\"Plain\"}"), "data.inputs.0.url"), *url;

	assert_memory_equal(plain, "rtmp://", 7);
	conf.live_rtmps_listen = "[::]:1936,0.0.0.0:443";
	w->conf = &conf;
	url = text(w, created(w, "{\"name\":\"By TLS\"}"), "data.inputs.1.url");
	assert_memory_equal(url, "rtmps://", 8);
	assert_string_equal(url + strlen(url) - 10, ":1936/live");
	conf.live_url = "rtmps://live.example.org/live";
	assert_string_equal(text(w, created(w, "{\"name\":\"Named\"}"), "data.inputs.1.url"), conf.live_url);
	w->conf = was;
}

/* The one that it is listened at, where the settings name none; neither: it is refused. */
static void
the_address_of_srt_is_ours_with_the_port_that_is_listened_at(void **state)
{
	static const char body[] = "{\"name\":\"Council\",\"source\":\"srt\"}";
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	const char *url = text(w, created(w, "{\"name\":\"Plain\"}"), "data.inputs.0.url"), *ours;

	assert_int_equal(strncmp(url, "rtmp://", 7), 0);
	ours = arena_printf(w->mem, "srt://%.*s:9000?streamid=", (int)(strlen(url) - strlen("rtmp:///live")), url + 7);
	w->conf = &conf;
	assert_int_equal(call(w, "POST", "/v2/livestreams", body)->status, 422);
	conf.live_srt_listen = "[::]:9000";
	url = text(w, created(w, body), "data.inputs.0.url");
	assert_int_equal(strncmp(url, ours, strlen(ours)), 0);
	conf.live_srt_url = "srt://live.example.org:9001";
	url = text(w, created(w, body), "data.inputs.0.url");
	assert_int_equal(strncmp(url, "srt://live.example.org:9001?streamid=", 37), 0);
	w->conf = was;
}

/* Of each kind the first one's is that of both, unless the settings name another place. */
static void
the_second_address_may_be_at_another_place(void **state)
{
	static const struct { const char *body, *first, *second; } kinds[] = {
		{ "{\"name\":\"Council\"}", "rtmp://one.example.org/live", "rtmp://two.example.org/live" },
		{ "{\"name\":\"Council\",\"source\":\"srt\"}", "srt://one.example.org:9000?streamid=",
		    "srt://two.example.org:9000?streamid=" },
	};
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	struct req *r;
	size_t i;

	conf.live_url = kinds[0].first;
	conf.live_srt_url = "srt://one.example.org:9000";
	w->conf = &conf;
	for (i = 0; i < 2; i++) {
		r = created(w, kinds[i].body);
		assert_int_equal(strncmp(text(w, r, "data.inputs.0.url"), kinds[i].first, strlen(kinds[i].first)), 0);
		assert_int_equal(strncmp(text(w, r, "data.inputs.1.url"), kinds[i].first, strlen(kinds[i].first)), 0);
	}
	conf.live_second_url = kinds[0].second;
	conf.live_srt_second_url = "srt://two.example.org:9000";
	for (i = 0; i < 2; i++) {
		r = created(w, kinds[i].body);
		assert_string_equal(text(w, r, "data.inputs.0.primary"), "true");
		assert_int_equal(strncmp(text(w, r, "data.inputs.0.url"), kinds[i].first, strlen(kinds[i].first)), 0);
		assert_int_equal(strncmp(text(w, r, "data.inputs.1.url"), kinds[i].second, strlen(kinds[i].second)), 0);
	}
	w->conf = was;
}

static void
an_address_of_srt_holds_a_pass_phrase_that_lies_nowhere(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	const char *key, *phrase;
	struct livestream_key *keys;
	struct uuid id;
	struct req *r;
	size_t n;

	conf.live_srt_url = "srt://live.example.org:9000";
	w->conf = &conf;
	r = created(w, "{\"name\":\"Council\",\"source\":\"srt\"}");
	id = id_of(w, r, "data.id");
	key = text(w, r, "data.inputs.0.streamKey");
	phrase = text(w, r, "data.inputs.0.passphrase");
	assert_int_equal(strlen(phrase), 43);
	assert_string_equal(text(w, r, "data.inputs.0.url"), arena_printf(w->mem,
	    "srt://live.example.org:9000?streamid=%s&passphrase=%s&pbkeylen=32", key, phrase));
	assert_string_not_equal(phrase, text(w, r, "data.inputs.1.passphrase"));
	assert_string_equal(phrase, livestream_phrase(&conf, w->mem, key));
	assert_null(text(w, created(w, "{\"name\":\"Plain\"}"), "data.inputs.0.passphrase"));
	/* Both of its keys are good as long as it is open. */
	livestream_keys_open(w->db, &n);
	assert_int_equal(n, 0);
	assert_int_equal(put(w, id, "/start"), 200);
	keys = livestream_keys_open(w->db, &n);
	assert_int_equal(n, 2);
	assert_true(uuid_equal(keys[0].livestream_id, id));
	assert_int_equal(put(w, id, "/stop"), 200);
	livestream_keys_open(w->db, &n);
	assert_int_equal(n, 0);
	w->conf = was;
}

static struct livestream *
by_key(struct world *w, const char *key)
{
	return livestream_by_hash(w->db, livestream_key_hash(w->mem, key));
}

static void
keys_are_kept_as_sums_and_shown_to_who_may_write(void **state)
{
	struct world *w = *state;
	struct uuid viewer;
	const char *token = world_member(w, "ViewChannel CreateContent", "Viewer", &viewer);
	struct req *r = created(w, "{\"name\":\"Council\"}");
	struct uuid id = id_of(w, r, "data.id");
	const char *first = text(w, r, "data.inputs.0.streamKey"), *second = text(w, r, "data.inputs.1.streamKey");
	struct livestream *l;

	assert_string_equal(r->cache_control, "no-store");
	assert_int_equal(strlen(first), 32);
	assert_string_not_equal(first, second);
	assert_string_equal(text(w, r, "data.inputs.0.primary"), "true");
	assert_string_equal(text(w, r, "data.inputs.1.primary"), "false");
	assert_memory_equal(text(w, r, "data.inputs.0.url"), "rtmp://", 7);
	assert_int_equal(number(w, "FROM livestream_inputs WHERE key_sealed LIKE CONCAT('%', ?, '%')",
	    ARGS(STR(first))), 0);
	l = by_key(w, first);
	assert_non_null(l);
	assert_true(uuid_equal(l->id, id) && l->is_primary && !l->is_old_key);
	l = by_key(w, second);
	assert_true(l != NULL && !l->is_primary);
	assert_null(by_key(w, "nonsense"));
	assert_null(by_key(w, ""));
	r = call_as(w, token, "GET", path(w, id, ""), NULL);
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.inputs.0.streamKey"));
	assert_null(strstr(buf_string(&r->out), first));
	assert_null(text(w, call(w, "GET", "/v2/livestreams", NULL), "data.0.inputs"));
	world_role(w, w->channel_id, viewer, "Contributor");
	assert_string_equal(text(w, call_as(w, token, "GET", path(w, id, ""), NULL), "data.inputs.0.streamKey"), first);
	token = world_member(w, "ViewChannel", "Contributor", &viewer);
	assert_null(text(w, call_as(w, token, "GET", path(w, id, ""), NULL), "data.inputs.0.streamKey"));
}

static void
a_key_that_was_changed_is_known_as_an_old_one(void **state)
{
	struct world *w = *state;
	struct req *r = created(w, "{\"name\":\"Council\"}");
	struct uuid id = id_of(w, r, "data.id");
	const char *old = text(w, r, "data.inputs.0.streamKey"), *new;
	struct livestream *l;

	r = call(w, "PUT", path(w, id, "/key"), NULL);
	assert_int_equal(r->status, 200);
	new = text(w, r, "data.inputs.0.streamKey");
	assert_string_not_equal(new, old);
	l = by_key(w, old);
	assert_true(l != NULL && l->is_old_key);
	l = by_key(w, new);
	assert_true(l != NULL && !l->is_old_key && l->is_primary);
	assert_int_equal(number(w, "FROM events WHERE type = 'livestream.rotated' AND object_id = ?", ARGS(ID(id))), 1);
	assert_int_equal(put(w, id, "/stop"), 200);
	assert_int_equal(put(w, id, "/key"), 409);
}

static void
each_step_has_its_order_and_may_be_repeated(void **state)
{
	struct world *w = *state;
	struct uuid id = made(w);
	struct req *r;

	r = call(w, "PUT", path(w, id, "/publish"), NULL);
	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), "livestream_not_started"));
	assert_int_equal(put(w, id, "/start"), 200);
	assert_string_equal(status(w, id), "starting");
	assert_int_equal(put(w, id, "/start"), 200);
	assert_int_equal(told(w, id, "starting"), 1);
	assert_true(livestream_ready(w->db, id));
	assert_false(livestream_ready(w->db, id));
	assert_string_equal(status(w, id), "waitingForSignal");
	assert_int_equal(put(w, id, "/start"), 200);
	assert_int_equal(put(w, id, "/publish"), 200);
	assert_int_equal(put(w, id, "/publish"), 200);
	assert_string_equal(status(w, id), "waitingForSignal");
	assert_int_equal(livestream_claim(w->db, id, NODE), 1);
	assert_true(livestream_signal(w->db, id, NODE, true));
	assert_false(livestream_signal(w->db, id, NODE, true));
	assert_string_equal(status(w, id), "live");
	assert_int_equal(put(w, id, "/stop"), 200);
	assert_int_equal(put(w, id, "/stop"), 200);
	assert_string_equal(status(w, id), "finishing");
	assert_int_equal(told(w, id, "finishing"), 1);
	r = call(w, "PUT", path(w, id, "/start"), NULL);
	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), "livestream_over"));
	assert_int_equal(put(w, id, "/publish"), 409);
	assert_false(livestream_signal(w->db, id, NODE, true));
}

static void
viewers_get_the_playlist_when_it_is_published_and_something_comes(void **state)
{
	struct world *w = *state;
	struct uuid viewer, id = started(w);
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer), *get = path(w, id, ""), *url;

	assert_int_equal(livestream_claim(w->db, id, NODE), 1);
	assert_null(member(w, id, "playlistUrl"));
	assert_true(livestream_signal(w->db, id, NODE, true));
	assert_string_equal(status(w, id), "waitingForSignal");
	assert_string_equal(member(w, id, "hasSignal"), "true");
	assert_non_null(member(w, id, "playlistUrl"));
	assert_null(text(w, call_as(w, token, "GET", get, NULL), "data.playlistUrl"));
	assert_int_equal(put(w, id, "/publish"), 200);
	assert_string_equal(status(w, id), "live");
	url = text(w, call_as(w, token, "GET", get, NULL), "data.playlistUrl");
	assert_non_null(url);
	assert_non_null(strstr(url, arena_printf(w->mem, "/%s/%s", uuid_text(w->mem, media_of(w, id)),
	    livestream_play_file(w->mem, w->conf, id, LIVESTREAM_LOW_PLAYLIST))));
	assert_string_equal(text(w, call_as(w, token, "GET", get, NULL), "data.playouts.0.type"), "hls");
	assert_string_equal(text(w, call_as(w, token, "GET", "/v2/livestreams", NULL), "data.0.playlistUrl"), url);
}

static void
a_break_interrupts_it_and_the_same_address_goes_on(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);

	assert_true(livestream_signal(w->db, id, NODE, false));
	assert_string_equal(status(w, id), "interrupted");
	assert_non_null(member(w, id, "interruptedAt"));
	assert_true(livestream_signal(w->db, id, NODE, true));
	assert_string_equal(status(w, id), "live");
	assert_null(member(w, id, "interruptedAt"));
	assert_true(livestream_release(w->db, id, NODE));
	assert_string_equal(status(w, id), "interrupted");
	assert_false(livestream_signal(w->db, id, NODE, true));
	assert_int_equal(livestream_claim(w->db, id, OTHER), 2);
	assert_true(livestream_signal(w->db, id, OTHER, true));
	assert_string_equal(status(w, id), "live");
	assert_int_equal(told(w, id, "live"), 3);
	assert_int_equal(told(w, id, "interrupted"), 2);
}

static void
what_ends_becomes_an_asset_by_one_job(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w), orphan = live(w), gone;

	assert_false(livestream_end(w->db, id, NODE));
	assert_int_equal(put(w, id, "/stop"), 200);
	tend(w);
	assert_int_equal(jobs(w, id), 0);
	assert_false(livestream_end(w->db, id, OTHER));
	assert_true(livestream_end(w->db, id, NODE));
	assert_false(livestream_end(w->db, id, NODE));
	tend(w);
	assert_int_equal(jobs(w, id), 1);
	assert_int_equal(put(w, orphan, "/stop"), 200);
	later(w, "beat_at", orphan, LIVESTREAM_DEAD_MS + 1000);
	tend(w);
	assert_int_equal(jobs(w, orphan), 1);
	gone = media_of(w, orphan);
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE media_id = ?", ARGS(ID(gone)));
	tend(w);
	assert_string_equal(status(w, orphan), "failed");
	assert_string_equal(member(w, orphan, "failure"), "damaged");
	assert_string_equal(status(w, id), "finishing");
}

static void
one_that_nothing_came_of_ends_at_once(void **state)
{
	struct world *w = *state;
	struct uuid id = started(w);
	const char *media = uuid_text(w->mem, media_of(w, id));

	assert_int_equal(put(w, id, "/stop"), 200);
	assert_string_equal(status(w, id), "finished");
	assert_string_equal(member(w, id, "failure"), "empty");
	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "/v2/media/%s", media), NULL), "data.status"),
	    "failed");
	assert_int_equal(number(w, "FROM events WHERE type = 'media.failed' AND media_id = ?", ARGS(ID(media_of(w,
	    id)))), 1);
}

static void
its_asset_stays_as_long_as_it_runs(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w);
	const char *media = uuid_text(w->mem, media_of(w, id)), *one = arena_printf(w->mem, "/v2/media/%s", media),
	    *many = arena_printf(w->mem, "{\"mediaIds\":[\"%s\"]}", media);
	struct req *r = call(w, "DELETE", one, NULL);

	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), "livestream_running"));
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s?permanent=true", one), NULL)->status, 409);
	assert_int_equal(call(w, "DELETE", "/v2/media", many)->status, 409);
	assert_int_equal(call(w, "DELETE", path(w, id, ""), NULL)->status, 409);
	assert_int_equal(put(w, id, "/stop"), 200);
	assert_int_equal(call(w, "DELETE", one, NULL)->status, 409);
	assert_true(livestream_done(w->db, id, NULL));
	assert_int_equal(call(w, "DELETE", one, NULL)->status, 200);
	assert_int_equal(call(w, "GET", path(w, id, ""), NULL)->status, 404);
	assert_string_equal(text(w, call(w, "GET", "/v2/livestreams", NULL), "pagination.total"), "0");
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/recover", one), NULL)->status, 200);
	assert_string_equal(status(w, id), "finished");
}

static void
deleting_one_takes_an_empty_asset_along_and_leaves_a_recording(void **state)
{
	struct world *w = *state;
	struct uuid empty = made(w), full = live(w);
	const char *bare = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media_of(w, empty))),
	    *kept = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media_of(w, full)));

	assert_int_equal(call(w, "DELETE", path(w, empty, ""), NULL)->status, 200);
	assert_int_equal(call(w, "GET", bare, NULL)->status, 404);
	assert_int_equal(put(w, full, "/stop"), 200);
	db_run(w->db, "UPDATE media SET file_size = 5 WHERE id = ?", ARGS(ID(media_of(w, full))));
	assert_true(livestream_done(w->db, full, NULL));
	assert_int_equal(call(w, "DELETE", path(w, full, ""), NULL)->status, 200);
	assert_int_equal(call(w, "GET", path(w, full, ""), NULL)->status, 404);
	assert_int_equal(call(w, "GET", kept, NULL)->status, 200);
	assert_int_equal(db_number(w->db, "SELECT media_count FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)), -1), 1);
}

static void
only_so_many_are_started_at_a_time(void **state)
{
	struct world *w = *state;
	struct uuid first = made(w), second = made(w);
	struct req *r;

	db_run(w->db, "UPDATE tenants SET livestreams_open = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(put(w, first, "/start"), 200);
	r = call(w, "PUT", path(w, second, "/start"), NULL);
	assert_int_equal(r->status, 409);
	assert_non_null(strstr(buf_string(&r->out), "too_many_livestreams"));
	assert_string_equal(status(w, second), "created");
	assert_int_equal(put(w, first, "/start"), 200);
	assert_int_equal(put(w, first, "/stop"), 200);
	assert_int_equal(put(w, second, "/start"), 200);
	db_run(w->db, "UPDATE tenants SET livestreams_open = 9, storage_quota = 0 WHERE id = ?",
	    ARGS(ID(w->tenant_id)));
	assert_int_equal(put(w, made(w), "/start"), 507);
}

static void
one_that_lasts_too_long_or_gets_nothing_is_stopped(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w), idle = started(w);
	int64_t longest = db_number(w->db, "SELECT livestream_duration FROM tenants WHERE id = ?",
	    ARGS(ID(w->tenant_id)), 0);

	assert_int_equal(longest, 36000);
	later(w, "live_at", id, longest * 1000 - 60000);
	later(w, "started_at", idle, LIVESTREAM_IDLE_MS - 60000);
	tend(w);
	assert_string_equal(status(w, id), "live");
	assert_string_equal(status(w, idle), "waitingForSignal");
	later(w, "live_at", id, 61000);
	later(w, "started_at", idle, 61000);
	tend(w);
	assert_string_equal(status(w, id), "finishing");
	assert_string_equal(member(w, id, "failure"), "duration");
	assert_string_equal(status(w, idle), "finished");
	assert_string_equal(member(w, idle, "failure"), "idle");
}

static void
one_that_is_announced_begins_by_itself(void **state)
{
	struct world *w = *state;
	struct req *r = created(w, arena_printf(w->mem, "{\"name\":\"Council\",\"startsAt\":\"%s\"}", in_time(w,
	    3600000)));
	struct uuid id = id_of(w, r, "data.id"), hidden;
	const char *gone;

	tend(w);
	assert_string_equal(status(w, id), "created");
	hidden = id_of(w, created(w, arena_printf(w->mem, "{\"name\":\"Council\",\"startsAt\":\"%s\"}", in_time(w,
	    3600000))), "data.id");
	gone = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media_of(w, hidden)));
	assert_int_equal(call(w, "DELETE", gone, NULL)->status, 200);
	later(w, "starts_at", id, 3660000);
	later(w, "starts_at", hidden, 3660000);
	/* Not while the tenant has as many as it may. */
	db_run(w->db, "UPDATE tenants SET livestreams_open = 0 WHERE id = ?", ARGS(ID(w->tenant_id)));
	tend(w);
	assert_string_equal(status(w, id), "created");
	db_run(w->db, "UPDATE tenants SET livestreams_open = 9 WHERE id = ?", ARGS(ID(w->tenant_id)));
	tend(w);
	assert_string_equal(status(w, id), "starting");
	assert_non_null(member(w, id, "publishedAt"));
	assert_string_equal(livestream_get(w->db, hidden)->status, "created");
}

static void
changes_are_those_of_the_asset_and_bad_ones_change_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = made(w);
	const char *media = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, media_of(w, id))), *tag;
	struct req *r;

	r = call(w, "PATCH", path(w, id, ""), arena_printf(w->mem, "{\"name\":\"Assembly\",\"startsAt\":\"%s\"}",
	    in_time(w, 60000)));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, call(w, "GET", media, NULL), "data.name"), "Assembly");
	assert_int_equal(number(w, "FROM events WHERE type = 'media.updated' AND media_id = ? AND JSON_VALUE(data, "
	    "'$.modified[0]') = 'name'", ARGS(ID(media_of(w, id)))), 1);
	assert_int_equal(told(w, id, "created"), 1);
	assert_int_equal(call(w, "PATCH", media, "{\"name\":\"Diet\"}")->status, 200);
	r = call(w, "GET", path(w, id, ""), NULL);
	assert_string_equal(text(w, r, "data.name"), "Diet");
	tag = r->etag;
	assert_int_equal(call(w, "PATCH", media, "{\"name\":\"Thing\"}")->status, 200);
	assert_string_not_equal(call(w, "GET", path(w, id, ""), NULL)->etag, tag);
	r = call(w, "PATCH", path(w, id, ""), "{\"startsAt\":\"2020-01-01T00:00:00Z\",\"name\":\"Old\"}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/startsAt", "too_small"));
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"startsAt\":\"2099-01-01T00:00:00Z\"}")->status, 422);
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"source\":\"srt\"}")->status, 422);
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"channelIds\":[]}")->status, 422);
	assert_string_equal(member(w, id, "name"), "Thing");
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"startsAt\":null,\"withDvr\":true}")->status, 200);
	assert_null(member(w, id, "startsAt"));
	assert_int_equal(put(w, id, "/start"), 200);
	assert_true(has_fault(call(w, "PATCH", path(w, id, ""), "{\"withDvr\":false}"), "/withDvr", "not_allowed"));
	assert_int_equal(put(w, id, "/publish"), 200);
	r = call(w, "PATCH", path(w, id, ""), arena_printf(w->mem, "{\"startsAt\":\"%s\"}", in_time(w, 60000)));
	assert_true(has_fault(r, "/startsAt", "not_allowed"));
	r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"source\":\"srt\"}");
	assert_true(has_fault(r, "/source", "not_allowed"));
	r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"startsAt\":\"2020-01-01T00:00:00Z\"}");
	assert_true(has_fault(r, "/startsAt", "too_small"));
	r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"transcriptLanguageCodes\":[\"!\"]}");
	assert_int_equal(r->status, 422);
}

static void
refusals_of_encoders_are_shown_to_who_may_write(void **state)
{
	struct world *w = *state;
	struct uuid viewer, id = live(w);
	const char *token = world_member(w, "ViewChannel", "Viewer", &viewer);

	assert_null(member(w, id, "lastRefusal"));
	livestream_refused(w->db, id, "192.0.2.7", "busy");
	livestream_refused(w->db, id, "192.0.2.8", "bitrate");
	assert_string_equal(member(w, id, "lastRefusal.address"), "192.0.2.8");
	assert_string_equal(member(w, id, "lastRefusal.reason"), "bitrate");
	assert_int_equal(told(w, id, "live"), 2);
	assert_null(strstr(buf_string(&call_as(w, token, "GET", path(w, id, ""), NULL)->out), "192.0.2.8"));
	assert_int_equal(number(w, "FROM events WHERE data LIKE '%192.0.2%'", NO_ARGS), 0);
}

static void
lists_show_what_the_caller_sees(void **state)
{
	struct world *w = *state;
	struct uuid viewer;
	const char *token = world_member(w, "ViewChannel", NULL, &viewer);
	struct uuid id = live(w);

	made(w);
	assert_string_equal(text(w, call(w, "GET", "/v2/livestreams", NULL), "pagination.total"), "2");
	assert_string_equal(text(w, call(w, "GET", "/v2/livestreams?filter=status=live", NULL), "data.0.id"),
	    uuid_text(w->mem, id));
	assert_string_equal(text(w, call_as(w, token, "GET", "/v2/livestreams", NULL), "pagination.total"), "0");
	assert_int_equal(call_as(w, token, "GET", path(w, id, ""), NULL)->status, 403);
	world_role(w, w->channel_id, viewer, "Viewer");
	assert_string_equal(text(w, call_as(w, token, "GET", "/v2/livestreams", NULL), "pagination.total"), "2");
	assert_string_equal(text(w, call(world_other(w), "GET", "/v2/livestreams", NULL), "pagination.total"), "0");
}

/* --- where it is sent on to */

static const char *
target_path(struct world *w, struct uuid id, struct uuid target)
{
	return path(w, id, arena_printf(w->mem, "/targets/%s", uuid_text(w->mem, target)));
}

static struct uuid
target_of(struct world *w, struct uuid id, const char *url)
{
	struct req *r = call(w, "POST", path(w, id, "/targets"), arena_printf(w->mem,
	    "{\"title\":\"Elsewhere\",\"url\":\"%s\"}",
	    url));

	assert_int_equal(r->status, 201);
	return id_of(w, r, "data.id");
}

static void
the_key_of_a_target_is_shown_to_nobody(void **state)
{
	struct world *w = *state;
	struct uuid id = made(w), target = target_of(w, id, "rtmps://live.example.org:444/app/in/s3cret?more=s3cret");
	struct req *r = call(w, "GET", target_path(w, id, target), NULL);
	const char *sealed = db_text(w->db, "SELECT sealed FROM livestream_targets WHERE id = ?", ARGS(ID(target)));

	assert_string_equal(text(w, r, "data.url"), "rtmps://live.example.org:444/app/in/***");
	assert_string_equal(text(w, r, "data.status"), "waiting");
	assert_null(strstr(buf_string(&call(w, "GET", path(w, id, "/targets"), NULL)->out), "s3cret"));
	r = call(w, "PATCH", target_path(w, id, target),
	    "{\"title\":\"There\",\"url\":\"rtmps://live.example.org:444/app/in/***\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.title"), "There");
	assert_string_equal(db_text(w->db, "SELECT sealed FROM livestream_targets WHERE id = ?", ARGS(ID(target))),
	    sealed);
	assert_null(strstr(sealed, "s3cret"));
	assert_int_equal(number(w, "FROM events WHERE INSTR(data, 's3cret') > 0", NO_ARGS), 0);
	r = call(w, "PATCH", target_path(w, id, target), "{\"url\":\"rtmp://live.example.org/app/another\"}");
	assert_string_equal(text(w, r, "data.url"), "rtmp://live.example.org/app/***");
}

static void
target_refused(struct world *w, struct uuid id, const char *url, const char *code)
{
	struct req *r = call(w, "POST", path(w, id, "/targets"), arena_printf(w->mem,
	    "{\"title\":\"No\",\"url\":\"%s\"}", url));

	if (r->status != 422 || !has_fault(r, "/url", code))
		fail_msg("%s: %s", url, buf_string(&r->out));
}

static void
addresses_that_cannot_be_are_refused(void **state)
{
	static const char *const hosts[] = { INSIDE_HOSTS }, *const ports[] = { "rtmp://1.1.1.1:22/app/key",
	    "rtmp://1.1.1.1:3306/app/key", "srt://1.1.1.1:6379" };
	static const char *const wrong[] = { "http://live.example.org/app/key", "rtmp://live.example.org/key",
		"rtmp://live.example.org/app/", "rtmp://live.example.org/app/?key", "rtmp://live.example.org",
		"rtmp://me:word@live.example.org/app/key", "rtmp://me@127.0.0.1/app/key", "rtmp://live.example.org:x/app/key",
		"rtmp:/live.example.org/app/key", "rtmp://live.example.org/app/k#y", "rtmpx://live.example.org/app/key",
		"srt://live.example.org?streamid=a", "srt://live.example.org:9000/path",
		"srt://live.example.org:9000?passphrase=short", "srt://live.example.org:9000?pbkeylen=8",
		"srt://live.example.org:9000?mode=listener", "srt://live.example.org:9000?localip=1",
		"srt://live.example.org:9000?streamid=%zz", "srt://live.example.org:9000?streamid=a%00b" };
	struct world *w = *state;
	struct uuid id = made(w);
	size_t i;

	for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		target_refused(w, id, ports[i], "address_forbidden");
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (inside_is_name(hosts[i]))
			continue;
		target_refused(w, id, arena_printf(w->mem, "rtmp://%s/app/key", hosts[i]), inside_code(hosts[i]));
		target_refused(w, id, arena_printf(w->mem, "rtmps://%s/app/key", hosts[i]), inside_code(hosts[i]));
		target_refused(w, id, arena_printf(w->mem, "srt://%s:9000", hosts[i]), inside_code(hosts[i]));
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		target_refused(w, id, wrong[i], "format");
	target_of(w, id, "rtmp://1.1.1.1/app/key");
	target_of(w, id, "srt://live.example.org:9000");
	target_of(w, id,
	    "srt://live.example.org:9000/?streamid=%23!::r=a,m=publish&passphrase=0123456789&latency=200&mode=caller");
}

static void
targets_are_few(void **state)
{
	struct world *w = *state;
	struct uuid id = made(w);
	struct req *r;
	int i;

	for (i = 0; i < LIVESTREAM_TARGETS; i++)
		target_of(w, id, "rtmps://live.example.org/app/key");
	r = call(w, "POST", path(w, id, "/targets"), "{\"title\":\"One "
	    "more\",\"url\":\"rtmps://live.example.org/app/key\"}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "too_many_targets");
	assert_int_equal(put(w, id, "/stop"), 200);
	r = call(w, "POST", path(w, id, "/targets"), "{\"title\":\"One "
	    "more\",\"url\":\"rtmps://live.example.org/app/key\"}");
	assert_string_equal(text(w, r, "data.code"), "livestream_over");
}

static size_t
sent_by(struct world *w, const char *node)
{
	size_t n;

	livestream_targets_of(w->db, w->conf, node, &n);
	return n;
}

static void
the_node_that_holds_it_sends_what_is_published(void **state)
{
	struct world *w = *state;
	struct uuid id = started(w), target = target_of(w, id, "rtmps://live.example.org/app/key");
	size_t n;

	assert_int_equal(livestream_claim(w->db, id, NODE), 1);
	assert_true(livestream_signal(w->db, id, NODE, true));
	assert_int_equal(sent_by(w, NODE), 0);
	assert_int_equal(put(w, id, "/publish"), 200);
	assert_int_equal(sent_by(w, NODE), 1);
	assert_string_equal(livestream_targets_of(w->db, w->conf, NODE, &n)->url, "rtmps://live.example.org/app/key");
	assert_int_equal(sent_by(w, OTHER), 0);
	assert_int_equal(call(w, "PATCH", target_path(w, id, target), "{\"enabled\":false}")->status, 200);
	assert_int_equal(sent_by(w, NODE), 0);
	assert_int_equal(call(w, "PATCH", target_path(w, id, target), "{\"enabled\":true}")->status, 200);
	assert_int_equal(sent_by(w, NODE), 1);
	assert_int_equal(put(w, id, "/stop"), 200);
	assert_int_equal(sent_by(w, NODE), 0);
}

static int64_t
removed(struct world *w, struct uuid target)
{
	return number(w, "FROM events WHERE tenant_id = ? AND object_id = ? AND is_audit = 1 AND type = "
	    "'livestream.targetRemoved'", ARGS(ID(w->tenant_id), ID(target)));
}

static void
a_target_that_is_taken_away_stands_in_the_audit(void **state)
{
	struct world *w = *state;
	struct uuid id = made(w), target = target_of(w, id, "rtmps://live.example.org/app/key");

	assert_int_equal(removed(w, target), 0);
	assert_int_equal(call(w, "DELETE", target_path(w, id, target), NULL)->status, 200);
	assert_int_equal(removed(w, target), 1);
}

static const char *
of_target(struct world *w, struct uuid id, struct uuid target, const char *member)
{
	return text(w, call(w, "GET", target_path(w, id, target), NULL), arena_printf(w->mem, "data.%s", member));
}

/* As in a copy of the database that another installation runs on. */
static void
a_target_whose_address_cannot_be_read_says_so(void **state)
{
	struct world *w = *state;
	struct uuid id = live(w), target = target_of(w, id, "rtmps://live.example.org/app/key");
	int64_t before = told(w, id, "live");
	int i;

	db_run(w->db, "UPDATE livestream_targets SET sealed = REVERSE(sealed) WHERE id = ?", ARGS(ID(target)));
	for (i = 0; i < 2; i++) {
		assert_int_equal(sent_by(w, NODE), 0);
		assert_string_equal(of_target(w, id, target, "status"), "failed");
		assert_string_equal(of_target(w, id, target, "reason"), "sealed");
		assert_null(of_target(w, id, target, "retryAt"));
		assert_int_equal(told(w, id, "live"), before + 1);
	}
	assert_int_equal(call(w, "PATCH", target_path(w, id, target),
	    "{\"url\":\"rtmps://live.example.org/app/new\"}")->status, 200);
	assert_string_equal(of_target(w, id, target, "status"), "waiting");
	assert_int_equal(sent_by(w, NODE), 1);
}

static void
how_it_goes_is_told_once(void **state)
{
	const struct livestream_target_news fails = { .fails = true, .reason = "unreachable", .retry_ms = 2000 },
	    sends = { .sends = true, .bytes = 1000, .dropped = 2 };
	struct world *w = *state;
	struct uuid id = live(w), target = target_of(w, id, "rtmps://live.example.org/app/key");
	int64_t before = told(w, id, "live");

	livestream_target_tell(w->db, id, target, NODE, &fails);
	assert_string_equal(of_target(w, id, target, "status"), "failed");
	assert_string_equal(of_target(w, id, target, "reason"), "unreachable");
	assert_non_null(of_target(w, id, target, "retryAt"));
	assert_int_equal(told(w, id, "live"), before + 1);
	livestream_target_tell(w->db, id, target, NODE, &fails);
	assert_int_equal(told(w, id, "live"), before + 1);
	livestream_target_tell(w->db, id, target, NODE, &sends);
	livestream_target_tell(w->db, id, target, NODE, &sends);
	assert_int_equal(told(w, id, "live"), before + 2);
	assert_string_equal(of_target(w, id, target, "status"), "sending");
	assert_null(of_target(w, id, target, "reason"));
	assert_null(of_target(w, id, target, "retryAt"));
	assert_string_equal(of_target(w, id, target, "bytesSent"), "2000");
	assert_string_equal(of_target(w, id, target, "droppedFrames"), "4");
	livestream_target_tell(w->db, id, target, OTHER, &fails);
	assert_string_equal(of_target(w, id, target, "status"), "sending");
	assert_true(livestream_release(w->db, id, NODE));
	assert_string_equal(of_target(w, id, target, "status"), "waiting");
}

static int64_t
captioners(struct world *w, struct uuid id)
{
	return number(w, "FROM jobs WHERE kind = 'live_captions' AND JSON_VALUE(args, '$.livestreamId') = ?",
	    ARGS(STR(uuid_text(w->mem, id))));
}

/* By default there are none; nor in a language that the engine does not know. */
static void
captions_are_wanted_where_they_can_be_made(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	const struct conf *was = w->conf;
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"captionsLanguageCode\":\"en\"}");
	struct uuid id;

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/captionsLanguageCode", "not_allowed"));
	conf.live_captions = true;
	w->conf = &conf;
	r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"captionsLanguageCode\":\"de\"}");
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/captionsLanguageCode", "not_allowed"));
	r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\",\"captionsLanguageCode\":\"no such thing\"}");
	assert_true(has_fault(r, "/captionsLanguageCode", "format"));
	r = created(w, "{\"name\":\"Council\",\"captionsLanguageCode\":\"en-v2\"}");
	assert_string_equal(text(w, r, "data.captionsLanguageCode"), "en");
	id = id_of(w, r, "data.id");
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"captionsLanguageCode\":\"de\"}")->status, 422);
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"captionsLanguageCode\":null}")->status, 200);
	assert_null(member(w, id, "captionsLanguageCode"));
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"captionsLanguageCode\":\"en-GB\"}")->status, 200);
	assert_string_equal(member(w, id, "captionsLanguageCode"), "en-GB");
	assert_int_equal(put(w, id, "/start"), 200);
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"captionsLanguageCode\":null}")->status, 422);
	w->conf = was;
}

static void
captions_begin_with_the_signal_and_again_when_their_job_has_ended(void **state)
{
	static const char later[] = "UPDATE livestreams SET captions_at = captions_at - 11000 WHERE id = ?";
	struct world *w = *state;
	struct uuid id = made(w), without = made(w);

	db_run(w->db, "UPDATE livestreams SET captions_language_code = 'en' WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(put(w, id, "/start"), 200);
	assert_int_equal(put(w, without, "/start"), 200);
	assert_int_equal(livestream_claim(w->db, id, NODE), 1);
	assert_int_equal(livestream_claim(w->db, without, NODE), 1);
	assert_int_equal(captioners(w, id), 0);
	assert_true(livestream_signal(w->db, id, NODE, true));
	assert_true(livestream_signal(w->db, without, NODE, true));
	assert_int_equal(captioners(w, id), 1);
	assert_int_equal(captioners(w, without), 0);
	assert_string_equal(member(w, id, "captions"), "waiting");
	livestream_captions(w->db, id, "running");
	assert_string_equal(member(w, id, "captions"), "running");
	/* One that is there is enough, whatever comes and goes. */
	db_run(w->db, later, ARGS(ID(id)));
	assert_true(livestream_signal(w->db, id, NODE, false));
	assert_true(livestream_signal(w->db, id, NODE, true));
	tend(w);
	assert_int_equal(captioners(w, id), 1);
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE kind = 'live_captions'", NO_ARGS);
	tend(w);
	assert_int_equal(captioners(w, id), 2);
	assert_string_equal(member(w, id, "captions"), "waiting");
	/* Not at once, */
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE kind = 'live_captions'", NO_ARGS);
	tend(w);
	/* not when the engine cannot do it, */
	db_run(w->db, later, ARGS(ID(id)));
	livestream_captions(w->db, id, "failed");
	tend(w);
	/* and not when somebody has cancelled it. */
	livestream_captions(w->db, id, "running");
	db_run(w->db, "UPDATE jobs SET state = 'cancelled' WHERE kind = 'live_captions'", NO_ARGS);
	tend(w);
	assert_int_equal(captioners(w, id), 2);
	/* What is silent has nothing to be written down. */
	db_run(w->db, "UPDATE jobs SET state = 'failed' WHERE kind = 'live_captions'", NO_ARGS);
	assert_true(livestream_signal(w->db, id, NODE, false));
	tend(w);
	assert_int_equal(captioners(w, id), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_new_one_has_an_asset_from_the_start),
		WORLD_TEST(its_languages_are_those_of_the_tenant_where_it_names_none),
		WORLD_TEST(the_address_for_encoders_names_tls_where_it_is_taken),
		WORLD_TEST(the_address_of_srt_is_ours_with_the_port_that_is_listened_at),
		WORLD_TEST(the_second_address_may_be_at_another_place),
		WORLD_TEST(an_address_of_srt_holds_a_pass_phrase_that_lies_nowhere),
		WORLD_TEST(keys_are_kept_as_sums_and_shown_to_who_may_write),
		WORLD_TEST(a_key_that_was_changed_is_known_as_an_old_one),
		WORLD_TEST(each_step_has_its_order_and_may_be_repeated),
		WORLD_TEST(viewers_get_the_playlist_when_it_is_published_and_something_comes),
		WORLD_TEST(a_break_interrupts_it_and_the_same_address_goes_on),
		WORLD_TEST(what_ends_becomes_an_asset_by_one_job),
		WORLD_TEST(one_that_nothing_came_of_ends_at_once),
		WORLD_TEST(its_asset_stays_as_long_as_it_runs),
		WORLD_TEST(deleting_one_takes_an_empty_asset_along_and_leaves_a_recording),
		WORLD_TEST(only_so_many_are_started_at_a_time),
		WORLD_TEST(one_that_lasts_too_long_or_gets_nothing_is_stopped),
		WORLD_TEST(one_that_is_announced_begins_by_itself),
		WORLD_TEST(changes_are_those_of_the_asset_and_bad_ones_change_nothing),
		WORLD_TEST(refusals_of_encoders_are_shown_to_who_may_write),
		WORLD_TEST(lists_show_what_the_caller_sees),
		WORLD_TEST(the_key_of_a_target_is_shown_to_nobody),
		WORLD_TEST(addresses_that_cannot_be_are_refused),
		WORLD_TEST(targets_are_few),
		WORLD_TEST(the_node_that_holds_it_sends_what_is_published),
		WORLD_TEST(a_target_that_is_taken_away_stands_in_the_audit),
		WORLD_TEST(a_target_whose_address_cannot_be_read_says_so),
		WORLD_TEST(how_it_goes_is_told_once),
		WORLD_TEST(captions_are_wanted_where_they_can_be_made),
		WORLD_TEST(captions_begin_with_the_signal_and_again_when_their_job_has_ended),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
