/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Webhooks: who has them, how many, where they may lead, and what is shown of their secrets. */
#include <string.h>

#include "core/seal.h"
#include "core/webhook.h"
#include "tests/inside.h"
#include "tests/world.h"

static const char *
body(struct world *w, const char *url)
{
	return arena_printf(w->mem, "{\"url\":\"%s\"}", url);
}

static const char *
made(struct world *w, const char *token)
{
	struct req *r = call_as(w, token, "POST", "/v2/webhooks", body(w, "https://receiver.example/in?token=abc"));

	assert_int_equal(r->status, 201);
	return text(w, r, "data.id");
}

static const char *
path(struct world *w, const char *id, const char *rest)
{
	return arena_printf(w->mem, "/v2/webhooks/%s%s", id, rest);
}

static int64_t
pings(struct world *w, const char *id)
{
	struct uuid webhook;

	assert_true(uuid_parse(id, &webhook));
	return number(w, "FROM webhook_deliveries WHERE event = 'ping' AND webhook_id = ?", ARGS(ID(webhook)));
}

static void
a_new_webhook_shows_its_secret_once_and_gets_a_ping(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/webhooks", body(w, "https://receiver.example/"));
	const char *secret = text(w, r, "data.secret"), *id = text(w, r, "data.id");

	assert_int_equal(r->status, 201);
	assert_memory_equal(secret, "whsec_", 6);
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(r->location, path(w, id, ""));
	assert_string_equal(text(w, r, "data.isActive"), "true");
	assert_string_equal(text(w, r, "data.events.4"), "media.restored");
	assert_int_equal(pings(w, id), 1);
	assert_null(text(w, call(w, "GET", path(w, id, ""), NULL), "data.secret"));
	assert_null(text(w, call(w, "GET", "/v2/webhooks", NULL), "data.0.secret"));
	assert_int_equal(number(w, "FROM webhooks WHERE sealed LIKE CONCAT('%', ?, '%')", ARGS(STR(secret + 6))), 0);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'deliver' AND state = 'ready'", NO_ARGS), 1);
}

static void
a_rotated_secret_is_new_and_the_old_one_is_kept_beside_it(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token), *sealed, *before;
	struct req *r;

	sealed = db_text(w->db, "SELECT sealed FROM webhooks WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	r = call(w, "PUT", path(w, id, "/secret"), NULL);
	assert_int_equal(r->status, 200);
	assert_memory_equal(text(w, r, "data.secret"), "whsec_", 6);
	assert_string_equal(r->cache_control, "no-store");
	before = db_text(w->db, "SELECT sealed_before FROM webhooks WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_string_equal(before, sealed);
	assert_int_equal(number(w, "FROM webhooks WHERE tenant_id = ? AND sealed = sealed_before",
	    ARGS(ID(w->tenant_id))), 0);
}

static void
refused(struct world *w, const char *id, const char *url, const char *code)
{
	struct req *r = call(w, "POST", "/v2/webhooks", body(w, url));

	if (r->status != 422 || !has_fault(r, "/url", code))
		fail_msg("%s: %s", url, buf_string(&r->out));
	assert_int_equal(call(w, "PATCH", path(w, id, ""), body(w, url))->status, 422);
}

static void
only_addresses_of_https_are_taken(void **state)
{
	struct world *w = *state;
	static const char *const wrong[] = { "http://receiver.example/", "ftp://receiver.example/", "https://",
	    "receiver", "https:///x", "https://:443/", "https://a:b@receiver.example/", "https://receiver.example@127.0.0.1/",
	    "https://m\\u00fcller.example/", "https://a\\\\@b.example/", "javascript:alert(1)", "file:///etc/passwd",
	    " https://receiver.example/", "https:/receiver.example/", "https://receiver.example:0/", "https://receiver.example:x/",
	    "gopher://receiver.example/", "dict://receiver.example/", "rtsp://receiver.example/", "data:text/plain,x",
	    "htt://receiver.example/", "http://93.184.216.34/" };
	static const char *const hosts[] = { INSIDE_HOSTS };
	static const char *const inside[] = { "https://93.184.216.34:22/", "https://93.184.216.34:25/",
	    "https://93.184.216.34:3306/", "https://93.184.216.34:6379/", "https://127.0.0.1#@receiver.example/", "http://127.0.0.1/" };
	const char *id = made(w, w->token);
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refused(w, id, wrong[i], "format");
	for (i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		refused(w, id, inside[i], "address_forbidden");
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (!inside_is_name(hosts[i]))
			refused(w, id, arena_printf(w->mem, "https://%s/", hosts[i]), inside_code(hosts[i]));
	refused(w, id, "https://receiver.example/\\r\\nX: y", "control_characters");
	assert_int_equal(number(w, "FROM webhooks WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

static void
http_is_taken_where_the_administrator_names_private_hosts(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;

	conf.webhook_private_hosts = "127.0.0.1:8099,receiver.lan";
	w->conf = &conf;
	assert_int_equal(call(w, "POST", "/v2/webhooks", body(w, "http://127.0.0.1:8099/"))->status, 201);
	assert_int_equal(call(w, "POST", "/v2/webhooks", body(w, "http://receiver.lan/"))->status, 201);
	assert_int_equal(call(w, "POST", "/v2/webhooks", body(w, "https://93.184.216.34/"))->status, 201);
	assert_int_equal(call(w, "POST", "/v2/webhooks", body(w, "http://93.184.216.34/"))->status, 422);
	assert_int_equal(call(w, "POST", "/v2/webhooks", body(w, "http://127.0.0.1:8100/"))->status, 422);
}

/* Its address was fine once, and it can be changed in all other ways. */
static void
a_webhook_whose_address_is_not_allowed_any_more_can_be_switched_off(void **state)
{
	struct world *w = *state;
	struct conf conf = *w->conf;
	const char *id;

	conf.webhook_private_hosts = "127.0.0.1:8099";
	w->conf = &conf;
	id = text(w, call(w, "POST", "/v2/webhooks", body(w, "http://127.0.0.1:8099/")), "data.id");
	conf.webhook_private_hosts = NULL;
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"isActive\":false}")->status, 200);
	assert_true(has_fault(call(w, "PATCH", path(w, id, ""), "{\"url\":\"http://127.0.0.1:8099/x\"}"), "/url",
	    "address_forbidden"));
}

static void
types_that_are_none_are_refused(void **state)
{
	struct world *w = *state;

	assert_true(has_fault(call(w, "POST", "/v2/webhooks",
	    "{\"url\":\"https://r.example/\",\"events\":[\"media.eaten\"]}"),
	    "/events/0", "not_allowed"));
	assert_true(has_fault(call(w, "POST", "/v2/webhooks",
	    "{\"url\":\"https://r.example/\",\"events\":[\"ingest.progress\"]}"),
	    "/events/0", "not_allowed"));
	assert_true(has_fault(call(w, "POST", "/v2/webhooks", "{\"url\":\"https://r.example/\",\"events\":[]}"),
	    "/events",
	    "length"));
}

static void
a_principal_has_as_many_as_the_tenant_allows(void **state)
{
	struct world *w = *state;
	const char *other = world_member(w, "ViewChannel", "Viewer", NULL);
	struct req *r;
	int i;

	for (i = 0; i < 10; i++)
		made(w, w->token);
	for (i = 0; i < 50; i++) {
		r = call(w, "POST", "/v2/webhooks", body(w, "https://receiver.example/"));
		assert_int_equal(r->status, 409);
	}
	assert_string_equal(text(w, r, "data.code"), "too_many_webhooks");
	made(w, other);
	db_run(w->db, "UPDATE tenants SET webhooks_per_principal = 11 WHERE id = ?", ARGS(ID(w->tenant_id)));
	made(w, w->token);
	assert_int_equal(call(w, "POST", "/v2/webhooks", body(w, "https://receiver.example/"))->status, 409);
}

static void
a_tenant_has_a_thousand_at_most(void **state)
{
	struct world *w = *state;
	const char *token;
	int i;

	for (i = 0; i < WEBHOOK_TENANT_MAX; i++)
		db_run(w->db, "INSERT INTO webhooks (id, tenant_id, principal_id, scopes, url, events, is_active, "
		    "sealed, created_at, updated_at) VALUES (?, ?, ?, '', 'https://r.example/', '[]', 0, 'x', 1, 1)",
		    ARGS(ID(uuid_new()),
		    ID(w->tenant_id), ID(w->client_id)));
	token = world_member(w, "ViewChannel", "Viewer", NULL);
	assert_int_equal(call_as(w, token, "POST", "/v2/webhooks", body(w, "https://receiver.example/"))->status, 409);
}

static void
others_do_not_see_it_and_super_admins_do(void **state)
{
	struct world *w = *state;
	const char *viewer = world_member(w, "ViewChannel", "Viewer", NULL), *other = world_member(w, "ViewChannel",
	    "Viewer",
	    NULL), *id = made(w, viewer);

	assert_int_equal(call_as(w, other, "GET", path(w, id, ""), NULL)->status, 404);
	assert_int_equal(call_as(w, other, "PUT", path(w, id, "/secret"), NULL)->status, 404);
	assert_int_equal(call_as(w, other, "GET", path(w, id, "/deliveries"), NULL)->status, 404);
	assert_null(text(w, call_as(w, other, "GET", "/v2/webhooks", NULL), "data.0.id"));
	assert_string_equal(text(w, call_as(w, viewer, "GET", "/v2/webhooks", NULL), "data.0.id"), id);
	assert_string_equal(text(w, call(w, "GET", "/v2/webhooks", NULL), "data.0.id"), id);
	assert_int_equal(call(w, "DELETE", path(w, id, ""), NULL)->status, 200);
	assert_int_equal(call_as(w, viewer, "GET", path(w, id, ""), NULL)->status, 404);
	assert_int_equal(call_as(w, viewer, "DELETE", path(w, id, ""), NULL)->status, 404);
}

static void
what_changes_pings_once_while_none_is_under_way(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token);

	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"description\":\"x\"}")->status, 200);
	assert_int_equal(call(w, "PUT", path(w, id, "/ping"), NULL)->status, 200);
	assert_int_equal(pings(w, id), 1);
	db_run(w->db, "UPDATE webhook_deliveries SET status = 'succeeded' WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"description\":\"x\"}")->status, 200);
	assert_int_equal(pings(w, id), 1);
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"url\":\"https://other.example/\"}")->status, 200);
	assert_int_equal(pings(w, id), 2);
	db_run(w->db, "UPDATE webhook_deliveries SET status = 'succeeded' WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(call(w, "PATCH", path(w, id, ""), "{\"isActive\":false}")->status, 200);
	assert_int_equal(call(w, "PUT", path(w, id, "/ping"), NULL)->status, 409);
	assert_int_equal(pings(w, id), 2);
}

static void
who_activates_it_again_forgets_why_it_was_not(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token);
	struct req *r;

	db_run(w->db, "UPDATE webhooks SET is_active = 0, disabled_reason = 'failing', failing_since = 5 WHERE "
	    "tenant_id = ?",
	    ARGS(ID(w->tenant_id)));
	assert_string_equal(text(w, call(w, "GET", path(w, id, ""), NULL), "data.disabledReason"), "failing");
	assert_string_equal(text(w, call(w, "PATCH", path(w, id, ""), "{\"description\":\"y\"}"),
	    "data.disabledReason"),
	    "failing");
	r = call(w, "PATCH", path(w, id, ""), "{\"isActive\":true}");
	assert_null(text(w, r, "data.disabledReason"));
	assert_int_equal(number(w, "FROM webhooks WHERE tenant_id = ? AND failing_since = 0", ARGS(ID(w->tenant_id))),
	    1);
}

static void
a_token_lends_no_more_scopes_than_it_has(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token), *narrow = world_member(w, "ViewChannel", "Viewer", NULL);

	assert_string_equal(db_text(w->db, "SELECT scopes FROM webhooks WHERE tenant_id = ?", ARGS(ID(w->tenant_id))),
	    "ViewChannel ViewMetadata CreateContent ManageSharingOptions ManageChannel");
	db_run(w->db, "UPDATE principals SET is_super_admin = 1 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	token_forget();
	assert_int_equal(call_as(w, narrow, "PATCH", path(w, id, ""), "{\"url\":\"https://other.example/\"}")->status,
	    200);
	assert_string_equal(db_text(w->db, "SELECT scopes FROM webhooks WHERE tenant_id = ?", ARGS(ID(w->tenant_id))),
	    "ViewChannel");
}

static const char *
one_delivery(struct world *w, const char *id, const char *status, int attempt)
{
	struct uuid webhook, delivery = uuid_new();

	assert_true(uuid_parse(id, &webhook));
	db_run(w->db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event_id, event, "
	    "status, attempt, request_url, request_body, "
	    "request_headers, response_status, response_body, duration_ms, created_at, updated_at) VALUES (?, ?, ?, "
	    "?, ?, "
	    "'media.created', ?, ?, 'https://receiver.example/', '{\"type\":1}', '{\"webhook-id\":\"9\"}', 500, 'Oh no', 12, 1, 1)", ARGS(ID(delivery),
	    ID(w->tenant_id),
	    ID(webhook), ID(w->client_id), INT(moment_now().ms + attempt), STR(status), INT(attempt)));
	assert_int_equal(db_failure(w->db), DB_FINE);
	return uuid_text(w->mem, delivery);
}

/* However much waits for its first attempt. */
static void
a_page_of_the_log_costs_what_is_on_it(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token);
	int i;

	one_delivery(w, id, "failed", 10);
	db_begin(w->db);
	for (i = 0; i < 2000; i++)
		db_run(w->db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event, status, "
		    "event_id, created_at, updated_at) SELECT ?, tenant_id, id, principal_id, 'media.created', "
		    "'waiting', ?, 1, 1 FROM webhooks WHERE tenant_id = ?", ARGS(ID(uuid_new()), INT(1 + i),
		    ID(w->tenant_id)));
	assert_true(db_commit(w->db));
	assert_in_range(world_rows_read(w, path(w, id, "/deliveries?perpage=1")), 1, 100);
	assert_in_range(world_rows_read(w, path(w, id, "/deliveries?filter=status%3Dwaiting")), 1, 100);
}

static void
the_log_tells_what_was_sent_and_what_came_back(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token), *d = one_delivery(w, id, "failed", 10), *hidden = one_delivery(w, id,
	    "waiting", 0);
	struct req *r = call(w, "GET", path(w, id, "/deliveries?filter=status%3Dfailed"), NULL);

	assert_string_equal(text(w, r, "data.0.id"), d);
	assert_string_equal(text(w, r, "data.0.responseStatus"), "500");
	assert_null(text(w, r, "data.0.responseBody"));
	assert_null(text(w, r, "data.1.id"));
	r = call(w, "GET", path(w, id, arena_printf(w->mem, "/deliveries/%s", d)), NULL);
	assert_string_equal(text(w, r, "data.responseBody"), "Oh no");
	assert_string_equal(text(w, r, "data.requestHeaders.webhook-id"), "9");
	assert_string_equal(text(w, r, "data.requestUrl"), "https://receiver.example/");
	assert_string_equal(text(w, r, "data.requestBody"), "{\"type\":1}");
	assert_int_equal(call(w, "GET", path(w, id, arena_printf(w->mem, "/deliveries/%s", hidden)), NULL)->status,
	    404);
}

static void
a_delivery_is_retried_unless_it_is_under_way(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token), *d = one_delivery(w, id, "succeeded", 1), *busy = one_delivery(w, id,
	    "sending", 2);
	struct req *r = call(w, "PUT", path(w, id, arena_printf(w->mem, "/deliveries/%s/retry", d)), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "waiting");
	assert_non_null(text(w, r, "data.nextAttemptAt"));
	r = call(w, "PUT", path(w, id, arena_printf(w->mem, "/deliveries/%s/retry", busy)), NULL);
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "delivery_running");
	call(w, "PATCH", path(w, id, ""), "{\"isActive\":false}");
	r = call(w, "PUT", path(w, id, arena_printf(w->mem, "/deliveries/%s/retry", d)), NULL);
	assert_string_equal(text(w, r, "data.code"), "webhook_inactive");
}

/* Or who asks again would be told that nothing has changed. */
static void
each_step_of_a_delivery_has_an_etag_of_its_own(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token), *waiting = one_delivery(w, id, "waiting", 3), *etag;
	const char *uri = path(w, id, arena_printf(w->mem, "/deliveries/%s", waiting));

	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 32503680000000 WHERE attempt = 3", NO_ARGS);
	etag = call(w, "GET", uri, NULL)->etag;
	assert_string_equal(call(w, "GET", uri, NULL)->etag, etag);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/retry", uri), NULL)->status, 200);
	assert_string_not_equal(call(w, "GET", uri, NULL)->etag, etag);
}

static void
the_audit_names_the_host_and_no_more_of_the_address(void **state)
{
	struct world *w = *state;
	const char *id = made(w, w->token);
	struct req *r;

	call(w, "PUT", path(w, id, "/secret"), NULL);
	call(w, "DELETE", path(w, id, ""), NULL);
	r = call(w, "GET", "/v2/audit?filter=type%3Dwebhook.created", NULL);
	assert_string_equal(text(w, r, "data.0.objectId"), id);
	assert_string_equal(text(w, r, "data.0.data.host"), "receiver.example");
	assert_null(strstr(buf_string(&r->out), "abc"));
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ? AND type IN ('webhook.rotated', 'webhook.deleted')",
	    ARGS(ID(w->tenant_id))), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_new_webhook_shows_its_secret_once_and_gets_a_ping),
		WORLD_TEST(a_rotated_secret_is_new_and_the_old_one_is_kept_beside_it),
		WORLD_TEST(only_addresses_of_https_are_taken),
		WORLD_TEST(http_is_taken_where_the_administrator_names_private_hosts),
		WORLD_TEST(a_webhook_whose_address_is_not_allowed_any_more_can_be_switched_off),
		WORLD_TEST(types_that_are_none_are_refused),
		WORLD_TEST(a_principal_has_as_many_as_the_tenant_allows),
		WORLD_TEST(a_tenant_has_a_thousand_at_most),
		WORLD_TEST(others_do_not_see_it_and_super_admins_do),
		WORLD_TEST(what_changes_pings_once_while_none_is_under_way),
		WORLD_TEST(who_activates_it_again_forgets_why_it_was_not),
		WORLD_TEST(a_token_lends_no_more_scopes_than_it_has),
		WORLD_TEST(a_page_of_the_log_costs_what_is_on_it),
		WORLD_TEST(the_log_tells_what_was_sent_and_what_came_back),
		WORLD_TEST(a_delivery_is_retried_unless_it_is_under_way),
		WORLD_TEST(each_step_of_a_delivery_has_an_etag_of_its_own),
		WORLD_TEST(the_audit_names_the_host_and_no_more_of_the_address),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
