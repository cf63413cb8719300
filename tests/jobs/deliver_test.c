/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Webhooks are told of events: signed, what their owners may see; and what they answer has its consequences. */
#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "core/event.h"
#include "core/role.h"
#include "jobs/deliver.h"
#include "tests/jobs/receivers.h"

static void
an_event_is_sent_once_with_the_asset_as_its_owner_reads_it(void **state)
{
	struct world *w = *state;
	const struct heard *h;

	hook(w, w->token, "/ok", NULL);
	rename_cat(w);
	deliver_due(w);
	deliver_due(w);
	assert_int_equal(ears->n, 1);
	h = heard("/ok", 0);
	assert_string_equal(member(w, h, "type"), "media.updated");
	assert_memory_equal(member(w, h, "data.media.name"), "Cat ", 4);
	assert_string_equal(member(w, h, "data.media.id"), uuid_text(w->mem, cat));
	assert_string_equal(member(w, h, "data.modified.0"), "name");
	assert_non_null(member(w, h, "timestamp"));
	assert_string_equal(h->id, db_text(w->db, "SELECT MAX(id) FROM events WHERE is_audit = 0", NO_ARGS));
	assert_string_equal(delivery(w, "status"), "succeeded");
	assert_string_equal(delivery(w, "response_status"), "204");
	assert_string_equal(delivery(w, "attempt"), "1");
	assert_null(strstr(delivery(w, "request_headers"), "v1,"));
}

static atomic_int asked;

/* The name service, of which libcurl asks as well: turning.example leads to a receiver once, and elsewhere then. */
int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **all)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)(void *)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	if (host != NULL && strcmp(host, "turning.example") == 0 && (hints == NULL ||
	    (hints->ai_flags & AI_NUMERICHOST) == 0))
		host = asked++ == 0 ? "127.0.0.1" : "127.0.0.2";
	return next(host, service, hints, all);
}

/* The log of the newest delivery, as its owner reads it. */
static struct req *
log_of(struct world *w, const char *id)
{
	return call(w, "GET", arena_printf(w->mem, "/v2/webhooks/%s/deliveries/%s", id, delivery(w,
	    "LOWER(INSERT(INSERT(INSERT(INSERT(HEX(id), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-'))")), NULL);
}

/* Is each header that the log has among those that came, and no signature? */
static void
same_headers(struct world *w, const struct req *r, const struct heard *h)
{
	static const char *const names[] = { "content-type", "user-agent", "webhook-id", "webhook-timestamp" };
	json_object *logged = json_tokener_parse(text(w, r, "data.requestHeaders"));
	const char *line;
	size_t i;

	assert_int_equal(json_object_object_length(logged), sizeof(names) / sizeof(names[0]));
	json_object_put(logged);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		line = text(w, r, arena_printf(w->mem, "data.requestHeaders.%s", names[i]));
		assert_non_null(strcasestr(h->head, arena_printf(w->mem, "\r\n%s: %s\r\n", names[i], line)));
	}
	assert_non_null(strstr(h->signature, "v1,"));
	assert_null(strstr(buf_string(&r->out), "v1,"));
}

/* And of the last attempt, though the asset has changed since the first. */
static void
the_log_has_each_byte_that_was_sent_and_no_signature(void **state)
{
	struct world *w = *state;
	const char *id = hook(w, w->token, "/fail", NULL), *path;
	const char *body = "{\"name\":\"K\u00e4tzchen \\\"\U0001F600\\\" \\\\ <b>&\","
	    "\"description\":\"two\\nlines \u2028\"}";
	const struct heard *h;
	struct req *r;
	int i;

	path = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, cat));
	rename_cat(w);
	for (i = 0; i < 2; i++) {
		deliver_due(w);
		r = log_of(w, id);
		h = heard("/fail", i);
		assert_string_equal(text(w, r, "data.requestBody"), h->body);
		assert_string_equal(text(w, r, "data.requestUrl"),
		    arena_printf(w->mem, "http://127.0.0.1:%d/fail", receiver_port));
		assert_string_equal(text(w, r, "data.responseBody"), "Oh no");
		same_headers(w, r, h);
		assert_int_equal(call(w, "PATCH", path, body)->status, 200);
		db_run(w->db, "DELETE FROM webhook_progress", NO_ARGS);
		db_run(w->db, "INSERT INTO webhook_progress (id, settled) SELECT 1, MAX(id) FROM events", NO_ARGS);
		db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	}
	assert_non_null(strstr(heard("/fail", 1)->body, "K\xc3\xa4tzchen"));
	r = call(w, "GET", arena_printf(w->mem, "/v2/webhooks/%s/deliveries", id), NULL);
	assert_null(text(w, r, "data.0.requestBody"));
}

static void
both_secrets_sign_for_a_day_after_a_rotation(void **state)
{
	struct world *w = *state;
	const char *id = hook(w, w->token, "/ok", NULL), *now, *before;
	const struct heard *h;
	struct webhook_message m;

	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/webhooks/%s/secret", id), NULL)->status, 200);
	rename_cat(w);
	deliver_due(w);
	h = heard("/ok", 0);
	m = (struct webhook_message){ h->id, atoll(h->timestamp), h->body };
	now = webhook_signature(w->conf, w->mem, db_text(w->db, "SELECT sealed FROM webhooks WHERE is_active = 1",
	    NO_ARGS), &m);
	before = webhook_signature(w->conf, w->mem, db_text(w->db, "SELECT sealed_before FROM webhooks WHERE "
	    "is_active = 1",
	    NO_ARGS), &m);
	assert_string_equal(h->signature, arena_printf(w->mem, "%s %s", now, before));
	db_run(w->db, "UPDATE webhooks SET rotated_at = rotated_at - 86400001", NO_ARGS);
	rename_cat(w);
	deliver_due(w);
	assert_null(strchr(heard("/ok", 1)->signature, ' '));
}

/* Asked for three times: the receiver knows the first one, whatever answers did not come. */
static void
a_rotation_that_is_repeated_leaves_the_first_secret_signing(void **state)
{
	struct world *w = *state;
	const char *id = hook(w, w->token, "/ok", NULL), *first, *before = NULL;
	const char *of_hook = "SELECT sealed FROM webhooks WHERE is_active = 1";
	struct webhook_message m;
	const struct heard *h;
	int i;

	first = db_text(w->db, of_hook, NO_ARGS);
	for (i = 0; i < 3; i++) {
		before = db_text(w->db, of_hook, NO_ARGS);
		assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/webhooks/%s/secret", id), NULL)->status, 200);
	}
	rename_cat(w);
	deliver_due(w);
	h = heard("/ok", 0);
	m = (struct webhook_message){ h->id, atoll(h->timestamp), h->body };
	assert_string_equal(h->signature, arena_printf(w->mem, "%s %s %s", webhook_signature(w->conf, w->mem,
	    db_text(w->db, of_hook, NO_ARGS), &m), webhook_signature(w->conf, w->mem, before, &m),
	    webhook_signature(w->conf, w->mem, first, &m)));
	db_run(w->db, "UPDATE webhooks SET rotated_at = rotated_at - 86400001 WHERE is_active = 1", NO_ARGS);
	before = db_text(w->db, of_hook, NO_ARGS);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/webhooks/%s/secret", id), NULL)->status, 200);
	assert_string_equal(db_text(w->db, "SELECT sealed_before FROM webhooks WHERE is_active = 1", NO_ARGS), before);
}

static void
who_may_not_see_it_is_told_nothing_and_the_log_is_silent(void **state)
{
	struct world *w = *state;
	struct uuid member_id;
	const char *member_token = world_member(w, "ViewChannel", "Viewer", &member_id), *hook_id = hook(w,
	    member_token, "/ok",
	    NULL);

	rename_cat(w);
	world_role(w, w->channel_id, member_id, NULL);
	deliver_due(w);
	assert_int_equal(ears->n, 0);
	assert_null(text(w, call_as(w, member_token, "GET", arena_printf(w->mem,
	    "/v2/webhooks/%s/deliveries?filter=status!%%3Dsucceeded", hook_id), NULL), "data.0.id"));
	world_role(w, w->channel_id, member_id, "Viewer");
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(ears->n, 1);
}

static void
a_deletion_is_told_without_the_asset_to_those_who_could_see_it(void **state)
{
	struct world *w = *state;
	struct uuid outsider, other = world_media(w, "video", "Dog");
	const char *path;

	hook(w, world_member(w, "ViewChannel", "Viewer", NULL), "/viewer", "[\"media.deleted\"]");
	hook(w, world_member(w, "ViewChannel", "Viewer", &outsider), "/outsider", NULL);
	world_role(w, w->channel_id, outsider, NULL);
	path = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, cat));
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	path = arena_printf(w->mem, "/v2/media/%s?permanent=true", uuid_text(w->mem, other));
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	deliver_due(w);
	assert_int_equal(times_heard("/outsider"), 0);
	assert_int_equal(times_heard("/viewer"), 2);
	assert_null(member(w, heard("/viewer", 0), "data.media"));
	assert_non_null(member(w, heard("/viewer", 0), "data.mediaId"));
	assert_string_not_equal(member(w, heard("/viewer", 0), "data.permanent"), member(w, heard("/viewer", 1),
	    "data.permanent"));
}

static void
scopes_bound_what_is_told(void **state)
{
	struct world *w = *state;
	hook(w, world_member(w, "ViewChannel", "Viewer", NULL), "/narrow", "[\"metadata.updated\"]");
	hook(w, world_member(w, "ViewChannel ViewMetadata", "Viewer", NULL), "/wide", "[\"metadata.updated\"]");
	event_add(w->db, &(struct event_new){ .tenant_id = w->tenant_id, .media_id = cat, .type = "metadata.updated",
	    .data = "{\"kind\":\"transcript\"}" });
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/narrow"), 0);
	assert_int_equal(times_heard("/wide"), 1);
	assert_string_equal(member(w, heard("/wide", 0), "data.kind"), "transcript");
}

static void
what_was_before_a_webhook_was_made_is_not_sent(void **state)
{
	struct world *w = *state;

	rename_cat(w);
	hook(w, w->token, "/ok", NULL);
	db_run(w->db, "UPDATE webhooks SET created_at = (SELECT MAX(created_at) FROM events WHERE type = "
	    "'media.updated') + 1 WHERE is_active = 1", NO_ARGS);
	deliver_due(w);
	assert_int_equal(ears->n, 0);
}

static void
other_tenants_hear_nothing(void **state)
{
	struct world *w = *state, *other = world_other(w);

	hook(other, other->token, "/other", NULL);
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(ears->n, 0);
}

static int64_t
waits(struct world *w)
{
	return db_number(w->db, "SELECT next_attempt_at - updated_at FROM webhook_deliveries WHERE event <> 'ping' "
	    "AND status = 'waiting' ORDER BY id DESC LIMIT 1", NO_ARGS, -1);
}

/* One event to a receiver; what becomes of the delivery. */
static void
one(struct world *w, const char *where)
{
	hook(w, w->token, where, NULL);
	rename_cat(w);
	db_run(w->db, "UPDATE webhooks SET is_active = url LIKE CONCAT('%', ?)", ARGS(STR(where)));
	deliver_due(w);
}

static void
failures_are_tried_again_by_the_table_with_the_same_id(void **state)
{
	struct world *w = *state;
	int i;

	hook(w, w->token, "/fail", NULL);
	rename_cat(w);
	for (i = 1; i <= 10; i++) {
		deliver_due(w);
		assert_int_equal(times_heard("/fail"), i);
		assert_string_equal(heard("/fail", i - 1)->id, heard("/fail", 0)->id);
		assert_string_equal(delivery(w, "status"), i < 10 ? "waiting" : "failed");
		if (i < 10)
			assert_true(waits(w) > 0);
		db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	}
	assert_string_equal(delivery(w, "response_body"), "Oh no");
	assert_string_equal(delivery(w, "next_attempt_at"), "0");
}

static void
redirects_are_failures_and_lead_nowhere(void **state)
{
	struct world *w = *state;

	hook(w, w->token, "/redirect", NULL);
	hook(w, w->token, "/round", NULL);
	hook(w, w->token, "/astray", NULL);
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/redirect"), 1);
	assert_int_equal(times_heard("/round"), 1);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE response_status = 500", NO_ARGS);
	deliver_due(w);
	assert_int_equal(times_heard("/astray"), 2);
	assert_int_equal(ears->canary, 0);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'waiting' AND response_status IN (302, "
	    "307)", NO_ARGS), 3);
}

static void
who_says_gone_is_told_no_more(void **state)
{
	struct world *w = *state;

	one(w, "/gone");
	assert_string_equal(delivery(w, "status"), "failed");
	assert_int_equal(number(w, "FROM webhooks WHERE tenant_id = ? AND is_active = 0 AND disabled_reason = 'gone'",
	    ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND is_audit = 1 AND type = 'webhook.disabled'",
	    ARGS(ID(w->tenant_id))), 1);
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(ears->n, 1);
}

static void
who_asks_to_wait_is_waited_for(void **state)
{
	struct world *w = *state;

	one(w, "/busy");
	assert_int_equal(ears->n, 1);
	assert_in_range(waits(w), 1000000, 1100000);
}

static void
an_answer_without_end_is_cut_and_one_that_breaks_is_a_failure(void **state)
{
	struct world *w = *state;

	one(w, "/huge");
	assert_string_equal(delivery(w, "status"), "succeeded");
	assert_string_equal(delivery(w, "LENGTH(response_body)"), "2048");
	one(w, "/cut");
	assert_string_equal(delivery(w, "status"), "waiting");
	assert_non_null(delivery(w, "error"));
}

static void
five_days_of_failures_disable_it_and_a_success_forgets_them(void **state)
{
	struct world *w = *state;
	const char *set = "UPDATE webhooks SET failing_since = " SQL_NOW " - 5 * 86400000 + ?, failed_at = " SQL_NOW
	    " - 86400000 WHERE is_active = 1";

	hook(w, w->token, "/fail", NULL);
	db_run(w->db, set, ARGS(INT(3600000)));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(number(w, "FROM webhooks WHERE is_active = 1", NO_ARGS), 1);
	db_run(w->db, set, ARGS(INT(-1000)));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(number(w, "FROM webhooks WHERE tenant_id = ? AND is_active = 0 AND disabled_reason = "
	    "'failing'",
	    ARGS(ID(w->tenant_id))), 1);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'waiting'", NO_ARGS), 0);
	assert_int_equal(times_heard("/fail"), 2);
	hook(w, w->token, "/ok", NULL);
	db_run(w->db, set, ARGS(INT(-1000)));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(number(w, "FROM webhooks WHERE is_active = 1 AND failing_since = 0", NO_ARGS), 1);
}

/* A ping that failed, say, and then nothing for a week. */
static void
days_on_which_nothing_was_sent_disable_nothing(void **state)
{
	struct world *w = *state;

	hook(w, w->token, "/fail", NULL);
	db_run(w->db, "UPDATE webhooks SET failing_since = " SQL_NOW " - 7 * 86400000, failed_at = " SQL_NOW
	    " - 7 * 86400000", NO_ARGS);
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/fail"), 1);
	assert_int_equal(number(w, "FROM webhooks WHERE is_active = 1 AND disabled_reason IS NULL AND failing_since > "
	    SQL_NOW " - 3600000", NO_ARGS), 1);
}

/* They count as quiet only when two whole ones have gone by. */
static void
two_quiet_days_are_forgiven_and_less_is_not(void **state)
{
	static const struct { int64_t ago; bool kept; } cases[] = { { 2 * 86400000 - 600000, true },
	    { 2 * 86400000 + 600000, false } };
	struct world *w = *state;
	size_t i;

	hook(w, w->token, "/fail", NULL);
	for (i = 0; i < 2; i++) {
		db_run(w->db, "UPDATE webhooks SET failing_since = " SQL_NOW " - 4 * 86400000, failed_at = " SQL_NOW
		    " - ? WHERE is_active = 1", ARGS(INT(cases[i].ago)));
		rename_cat(w);
		deliver_due(w);
		assert_int_equal(times_heard("/fail"), i + 1);
		assert_int_equal(number(w, "FROM webhooks WHERE is_active = 1 AND failed_at > " SQL_NOW " - 3600000",
		    NO_ARGS), 1);
		assert_int_equal(number(w, "FROM webhooks WHERE is_active = 1 AND failing_since < " SQL_NOW
		    " - 3 * 86400000", NO_ARGS), cases[i].kept);
	}
}

/* One delivery that is on its way. */
static struct sending *
on_its_way(struct world *w, struct deliveries *d)
{
	struct sending *m;

	*d = (struct deliveries){ .db = w->db, .conf = w->conf, .mem = w->mem };
	m = queue_choose(d);
	assert_true(m != NULL && m->next == NULL);
	db_begin(w->db);
	assert_true(queue_take(d, m));
	assert_true(db_commit(w->db));
	return m;
}

/* What came of it. */
static void
answered(struct world *w, struct deliveries *d, struct sending *m, int status)
{
	m->answer = (struct web_answer){ .end = WEB_ANSWERED, .status = status, .type = "", .body = "" };
	db_begin(w->db);
	queue_settle(d, m);
	assert_true(db_commit(w->db));
	arena_free(m->mem);
	pace_forget(&d->paces);
}

/* Events become deliveries, of which none is sent. */
static void
fan(struct world *w)
{
	struct fan *f = fan_open();
	bool more;

	do
		fan_out(f, w->db, w->mem, &more);
	while (more);
	fan_close(f);
}

static void
what_an_address_answers_is_not_held_against_the_one_in_its_place(void **state)
{
	static const int statuses[] = { 500, 410 };
	struct world *w = *state;
	const char *id = hook(w, w->token, "/OK", NULL), *path = arena_printf(w->mem, "/v2/webhooks/%s", id), *url;
	struct deliveries d;
	struct sending *m;
	int i;

	for (i = 0; i < 2; i++) {
		rename_cat(w);
		fan(w);
		m = on_its_way(w, &d);
		/* Another one, though not to all who compare. */
		url = arena_printf(w->mem, "{\"url\":\"http://127.0.0.1:%d/%s\"}", receiver_port, i == 0 ? "ok" : "oK");
		assert_int_equal(call(w, "PATCH", path, url)->status, 200);
		answered(w, &d, m, statuses[i]);
		assert_int_equal(number(w, "FROM webhooks WHERE tenant_id = ? AND is_active = 1 AND failing_since = 0",
		    ARGS(ID(w->tenant_id))), 1);
		deliver_due(w);
	}
	assert_string_equal(delivery(w, "status"), "failed");
	assert_int_equal(times_heard("/OK") + times_heard("/ok") + times_heard("/oK"), 2);
}

static void
what_fails_once_is_tried_again_where_the_webhook_leads_then(void **state)
{
	struct world *w = *state;
	const char *path = arena_printf(w->mem, "/v2/webhooks/%s", hook(w, w->token, "/fail", NULL)), *url;

	rename_cat(w);
	deliver_due(w);
	url = arena_printf(w->mem, "{\"url\":\"http://127.0.0.1:%d/ok\"}", receiver_port);
	assert_int_equal(call(w, "PATCH", path, url)->status, 200);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(times_heard("/fail"), 1);
	assert_string_equal(delivery(w, "status"), "succeeded");
	assert_non_null(strstr(delivery(w, "request_url"), "/ok"));
}

static void
of_a_webhook_that_is_deleted_meanwhile_nothing_waits(void **state)
{
	struct world *w = *state;
	const char *id = hook(w, w->token, "/ok", NULL);
	struct deliveries d;
	struct sending *m;

	rename_cat(w);
	fan(w);
	m = on_its_way(w, &d);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "/v2/webhooks/%s", id), NULL)->status, 200);
	answered(w, &d, m, 500);
	assert_string_equal(delivery(w, "status"), "waiting");
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(ears->n, 0);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'waiting'", NO_ARGS), 0);
}

static void
a_type_that_is_not_asked_for_any_more_is_not_sent(void **state)
{
	struct world *w = *state;
	const char *id = hook(w, w->token, "/fail", NULL), *path = arena_printf(w->mem, "/v2/webhooks/%s", id);

	rename_cat(w);
	deliver_due(w);
	rename_cat(w);
	fan(w);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'waiting'", NO_ARGS), 2);
	assert_int_equal(call(w, "PATCH", path, "{\"events\":[\"media.deleted\"]}")->status, 200);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(times_heard("/fail"), 2);
	assert_string_equal(member(w, heard("/fail", 1), "type"), "ping");
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE event = 'media.updated'", NO_ARGS), 1);
	assert_string_equal(delivery(w, "status"), "failed");
	assert_string_equal(delivery(w, "attempt"), "1");
}

static void
webhooks_of_who_may_not_sign_in_stop(void **state)
{
	struct world *w = *state;
	struct uuid id;

	hook(w, world_member(w, "ViewChannel", "Viewer", &id), "/ok", NULL);
	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(id)));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/ok"), 0);
	assert_string_equal(delivery(w, "status"), "failed");
	db_run(w->db, "UPDATE clients SET revoked_at = 0 WHERE id = ?", ARGS(ID(id)));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/ok"), 1);
}

/* Nobody shows a token when a webhook is told: what the last one of its owner said counts, for a month. */
static void
a_super_admin_by_a_provider_is_told_as_long_as_its_tokens_say_so(void **state)
{
	static const int64_t days[] = { 0, 29, 31, -1 };
	struct world *w = *state;
	struct uuid id;
	size_t i;

	hook(w, world_member(w, "ViewChannel", "Viewer", &id), "/ok", NULL);
	world_role(w, w->channel_id, id, NULL);
	db_run(w->db, "INSERT INTO provider_users (id, tenant_id, subject_hash, issuer, sub, created_at) VALUES "
	    "(?, ?, UNHEX(SHA2('told', 256)), 'https://login.example', 'told', 1)", ARGS(ID(id), ID(w->tenant_id)));
	for (i = 0; i < 4; i++) {
		db_run(w->db, "UPDATE provider_users SET super_admin_at = IF(? < 0, 0, " SQL_NOW " - ? * 86400000) "
		    "WHERE id = ?", ARGS(INT(days[i]), INT(days[i]), ID(id)));
		rename_cat(w);
		deliver_due(w);
		assert_int_equal(times_heard("/ok"), i < 2 ? i + 1 : 2);
	}
}

static void
what_was_tried_stays_in_the_log_when_there_is_nothing_left_to_tell(void **state)
{
	struct world *w = *state;
	const char *path;

	hook(w, w->token, "/fail", NULL);
	rename_cat(w);
	deliver_due(w);
	path = arena_printf(w->mem, "/v2/media/%s?permanent=true", uuid_text(w->mem, cat));
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'waiting'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE event = 'media.updated' AND status = 'failed' AND "
	    "attempt = 1 AND error IS NOT NULL AND next_attempt_at = 0", NO_ARGS), 1);
}

static void
a_secret_that_cannot_be_read_is_said_in_the_log(void **state)
{
	struct world *w = *state;

	hook(w, w->token, "/ok", NULL);
	db_run(w->db, "UPDATE webhooks SET sealed = 'x' WHERE is_active = 1", NO_ARGS);
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/ok"), 0);
	assert_string_equal(delivery(w, "status"), "failed");
	assert_string_equal(delivery(w, "attempt"), "1");
	assert_non_null(strstr(delivery(w, "error"), "secret"));
}

static void
a_private_address_that_nobody_has_allowed_is_never_spoken_to(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;

	hook(w, w->token, "/ok", NULL);
	conf.webhook_private_hosts = NULL;
	w->conf = &conf;
	rename_cat(w);
	db_run(w->db, "UPDATE webhooks SET url = ? WHERE is_active = 1", ARGS(STR(arena_printf(w->mem,
	    "https://127.0.0.1:%d/",
	    canary_port))));
	deliver_due(w);
	assert_int_equal(ears->canary + times_heard("/ok"), 0);
	assert_non_null(delivery(w, "error"));
}

/* The receiver is there at both of its addresses, of which one alone is allowed. */
static void
a_name_that_turns_is_asked_for_once_and_judged_each_time(void **state)
{
	struct world *w = *state;

	asked = 0;
	hook(w, w->token, "/ok", NULL);
	db_run(w->db, "UPDATE webhooks SET url = ? WHERE is_active = 1", ARGS(STR(arena_printf(w->mem,
	    "http://turning.example:%d/ok", receiver_port))));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(asked, 1);
	assert_int_equal(times_heard("/ok"), 1);
	assert_string_equal(heard("/ok", 0)->at, "127.0.0.1");
	assert_string_equal(delivery(w, "status"), "succeeded");
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(asked, 2);
	assert_int_equal(times_heard("/ok"), 1);
	assert_string_equal(delivery(w, "error"), "The address does not lead to a public server.");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, receivers_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_event_is_sent_once_with_the_asset_as_its_owner_reads_it),
		TEST(the_log_has_each_byte_that_was_sent_and_no_signature),
		TEST(both_secrets_sign_for_a_day_after_a_rotation),
		TEST(a_rotation_that_is_repeated_leaves_the_first_secret_signing),
		TEST(who_may_not_see_it_is_told_nothing_and_the_log_is_silent),
		TEST(a_deletion_is_told_without_the_asset_to_those_who_could_see_it),
		TEST(scopes_bound_what_is_told),
		TEST(what_was_before_a_webhook_was_made_is_not_sent),
		TEST(other_tenants_hear_nothing),
		TEST(failures_are_tried_again_by_the_table_with_the_same_id),
		TEST(redirects_are_failures_and_lead_nowhere),
		TEST(who_says_gone_is_told_no_more),
		TEST(who_asks_to_wait_is_waited_for),
		TEST(an_answer_without_end_is_cut_and_one_that_breaks_is_a_failure),
		TEST(five_days_of_failures_disable_it_and_a_success_forgets_them),
		TEST(days_on_which_nothing_was_sent_disable_nothing),
		TEST(two_quiet_days_are_forgiven_and_less_is_not),
		TEST(what_an_address_answers_is_not_held_against_the_one_in_its_place),
		TEST(what_fails_once_is_tried_again_where_the_webhook_leads_then),
		TEST(of_a_webhook_that_is_deleted_meanwhile_nothing_waits),
		TEST(a_type_that_is_not_asked_for_any_more_is_not_sent),
		TEST(webhooks_of_who_may_not_sign_in_stop),
		TEST(a_super_admin_by_a_provider_is_told_as_long_as_its_tokens_say_so),
		TEST(what_was_tried_stays_in_the_log_when_there_is_nothing_left_to_tell),
		TEST(a_secret_that_cannot_be_read_is_said_in_the_log),
		TEST(a_private_address_that_nobody_has_allowed_is_never_spoken_to),
		TEST(a_name_that_turns_is_asked_for_once_and_judged_each_time),
	};

	return cmocka_run_group_tests(tests, receivers_open, receivers_close);
}
