/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/webhooks: who is told of events, where, and of which */
#include <string.h>

#include "core/webhook.h"
#include "fcgi/webhook.h"

static const struct field webhook_fields[] = {
	FIELD(struct webhook, id,              .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct webhook, url,             .on = CREATE | PATCH, .required = true, .min = 1, .max = 2048, .format = "uri",
	    .doc = "Where events are sent by POST: https, on a public server, which is looked at each time. A ping "
	    "follows each change"),
	FIELD(struct webhook, events,          .on = CREATE | PATCH, .max = 40, .item_max = 60, .one_of = WEBHOOK_EVENTS,
	    .preset = WEBHOOK_DEFAULT_JSON, .doc = "Types of the events that it gets; pings come unasked. Of a type "
	    "that is taken away nothing more is sent, what waits included"),
	FIELD(struct webhook, is_active,       .on = CREATE | PATCH | FILTER, .preset = "true",
	    .doc = "false: nothing is sent. Setting it true again forgets disabledReason, and what has failed before"),
	FIELD(struct webhook, description,     .on = CREATE | PATCH | MULTILINE, .max = 1000, .doc = "For people"),
	FIELD(struct webhook, disabled_reason, .on = SERVER | OMIT_NULL, .one_of = "gone failing",
	    .doc = "Why it is not active though nobody set it so: gone = the receiver has answered 410; failing = "
	    "all attempts of five days have failed"),
	FIELD(struct webhook, secret,          .on = COMPUTED | OMIT_NULL | DETAIL,
	    .doc = "Key of the signatures, by Standard Webhooks; shown when the webhook is made and when it is "
	    "rotated, never again"),
	FIELD(struct webhook, principal_id,    .on = SERVER | FILTER, .required = true, .doc = "Who made it: it is told what this one may see at that moment"),
	FIELD(struct webhook, created_at,      .on = SERVER, .required = true, .doc = "When it was made; earlier events are not sent"),
	FIELD(struct webhook, updated_at,      .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct webhook, tenant_id,       .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct webhook, scopes,          .on = SERVER | HIDDEN, .doc = "Of the token that made it"),
	FIELD(struct webhook, sealed,          .on = SERVER | HIDDEN, .doc = "The key"),
	FIELD(struct webhook, sealed_before,   .on = SERVER | HIDDEN, .doc = "The key before"),
	FIELD(struct webhook, failing_since,   .on = SERVER | HIDDEN, .doc = "First failure since the last success"),
	FIELD(struct webhook, rotated_at,      .on = SERVER | HIDDEN, .doc = "When the key was changed"),
	FIELD(struct webhook, version,         .on = SERVER | HIDDEN, .doc = "Grows with each change"),
};
const struct record webhook_record = RECORD("Webhook", struct webhook, webhook_fields);

const struct object webhook_object = {
	.path = "/v2/webhooks/{webhookId}", .reach = REACH_OWNER, .record = &webhook_record,
	.from = "FROM webhooks t WHERE t.id = ?",
};

/* The address may hold a secret of the receiver: its host is enough. */
static void
note(struct req *r, const char *type, const struct webhook *w)
{
	const char *host = strstr(w->url, "://");
	struct buf b = BUF(r->mem);

	host = host != NULL ? host + 3 : w->url;
	buf_text(&b, "{\"host\":");
	buf_json(&b, arena_copy_n(r->mem, host, strcspn(host, "/?#")));
	buf_printf(&b, ",\"isActive\":%s}", w->is_active ? "true" : "false");
	audit(r, type, w->id, buf_string(&b));
}

static int
webhooks_list(struct req *r)
{
	struct webhook *rows;
	size_t n;

	if (r->who->is_super_admin)
		rows = db_list(r->db, &webhook_record, "FROM webhooks t WHERE t.tenant_id = ?",
		    ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &webhook_record, "FROM webhooks t WHERE t.tenant_id = ? AND t.principal_id = ?",
		    ARGS(ID(r->who->tenant_id), ID(r->who->id)), &r->page, &n);
	return reply_list(r, &webhook_record, rows, n);
}

static int
webhook_get(struct req *r)
{
	return reply(r, 200, &webhook_record, r->object);
}

/* Those who make one at the same time do so one after the other. */
static bool
has_room(struct req *r)
{
	int64_t most;

	db_number(r->db, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE", ARGS(ID(r->who->tenant_id)), 0);
	most = db_number(r->db, "SELECT webhooks_per_principal FROM tenants WHERE id = ?",
	    ARGS(ID(r->who->tenant_id)), 0);
	if (db_number(r->db, "SELECT COUNT(*) FROM webhooks WHERE tenant_id = ? AND principal_id = ?",
	    ARGS(ID(r->who->tenant_id), ID(r->who->id)), 0) < most &&
	    db_number(r->db, "SELECT COUNT(*) FROM webhooks WHERE tenant_id = ?", ARGS(ID(r->who->tenant_id)), 0) <
	    WEBHOOK_TENANT_MAX)
		return true;
	refuse(r, ERR_TOO_MANY_WEBHOOKS, NULL);
	return false;
}

/* False: refused. */
static bool
is_fine(struct req *r, const struct webhook *w, bool url_is_new)
{
	if (url_is_new)
		fault_address(r, "/url", webhook_refuse_url(r->conf, r->mem, w->url));
	if (w->events.n == 0)
		fault(r, "/events", "length", "name at least one type");
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->faults.n == 0;
}

static int
webhook_create(struct req *r)
{
	struct webhook *w = r->in;

	if ((r->given & record_bit(&webhook_record, "is_active")) == 0)
		w->is_active = true;
	if (w->events.at == NULL)
		w->events = strings_parse(r->mem, WEBHOOK_DEFAULT_JSON);
	if (!is_fine(r, w, true) || !has_room(r))
		return r->status;
	w->id = uuid_new();
	w->tenant_id = r->who->tenant_id;
	w->principal_id = r->who->id;
	w->scopes = scope_text(r->mem, r->who->scopes);
	w->sealed = webhook_key(r->conf, r->mem, &w->secret);
	w->created_at = w->updated_at = r->now;
	w->version = 1;
	db_insert(r->db, "webhooks", &webhook_record, w);
	note(r, "webhook.created", w);
	if (w->is_active)
		webhook_ping(r->db, w->tenant_id, w->id, w->principal_id);
	r->cache_control = "no-store";
	return reply_created(r, &webhook_record, w, w->id);
}

/* Whoever has a say in where it goes lends it the scopes of its own token, and no more. */
static const char *
scopes_then(struct req *r, const struct webhook *w)
{
	unsigned mine = r->who->scopes;

	return scope_text(r->mem, uuid_equal(w->principal_id, r->who->id) ? mine : mine & scope_bits(w->scopes));
}

static int
webhook_patch(struct req *r)
{
	const struct webhook *w = r->object;
	struct webhook *would = patched(r);
	uint64_t changed;

	if (would->events.at == NULL)
		would->events = strings_parse(r->mem, WEBHOOK_DEFAULT_JSON);
	changed = record_differs(r->mem, &webhook_record, w, would, r->given);
	if (!is_fine(r, would, changed & record_bit(&webhook_record, "url")))
		return r->status;
	if (changed == 0)
		return reply(r, 200, &webhook_record, w);
	would->scopes = scopes_then(r, w);
	if (would->is_active) {
		would->disabled_reason = NULL;
		would->failing_since.ms = changed & record_bit(&webhook_record, "url") || !w->is_active ? 0 :
		    w->failing_since.ms;
	}
	db_update(r->db, "webhooks", &webhook_record, would, changed | record_bit(&webhook_record, "scopes") |
	    record_bit(&webhook_record, "disabled_reason") | record_bit(&webhook_record, "failing_since"), w->id);
	note(r, "webhook.updated", would);
	if (would->is_active)
		webhook_ping(r->db, w->tenant_id, w->id, w->principal_id);
	return reply(r, 200, &webhook_record, object_again(r));
}

/* Its deliveries go with the log, by their age: there may be a million. */
static int
webhook_delete(struct req *r)
{
	const struct webhook *w = r->object;

	db_run(r->db, "DELETE FROM webhooks WHERE id = ? AND tenant_id = ?", ARGS(ID(w->id), ID(r->who->tenant_id)));
	note(r, "webhook.deleted", w);
	return reply_deleted(r, w->id, true);
}

static int
webhook_pinged(struct req *r)
{
	const struct webhook *w = r->object;

	if (!w->is_active)
		return refuse(r, ERR_WEBHOOK_INACTIVE, NULL);
	webhook_ping(r->db, w->tenant_id, w->id, w->principal_id);
	return reply(r, 200, &webhook_record, w);
}

/* Who asks again, since the answer did not come, has receivers that know the first secret alone: it goes on to sign. */
static int
webhook_rotate(struct req *r)
{
	const struct webhook *w = r->object;
	struct webhook *again;
	const char *secret, *sealed = webhook_key(r->conf, r->mem, &secret);

	db_run(r->db, "UPDATE webhooks SET sealed_before = IF(rotated_at > ?, CONCAT(sealed, ' ', "
	    "SUBSTRING_INDEX(sealed_before, ' ', -1)), sealed), sealed = ?, rotated_at = ?, version = version + 1, "
	    "updated_at = ? WHERE id = ?", ARGS(INT(r->now.ms - WEBHOOK_OVERLAP_MS), STR(sealed), TIME(r->now),
	    TIME(r->now), ID(w->id)));
	note(r, "webhook.rotated", w);
	again = object_again(r);
	if (again != NULL)
		again->secret = secret;
	r->cache_control = "no-store";
	return reply(r, 200, &webhook_record, again);
}

const struct route webhooks_routes[] = {
	{
		GET, "/v2/webhooks", SCOPE_VIEW_CHANNEL, webhooks_list, NULL, &webhook_record,
		"List the webhooks of the caller, or all of the tenant for a SuperAdmin",
		.flags = LIST, .fails = "403 422",
	},
	{
		POST, "/v2/webhooks", SCOPE_VIEW_CHANNEL, webhook_create, &webhook_record, &webhook_record,
		"Have events sent to an address, which gets a ping",
		.success = 201, .fails = "403 409 422", .codes = "too_many_webhooks",
	},
	{
		GET, "/v2/webhooks/{webhookId}", SCOPE_VIEW_CHANNEL, webhook_get, NULL, &webhook_record,
		    "Get a webhook",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/webhooks/{webhookId}", SCOPE_VIEW_CHANNEL, webhook_patch, &webhook_record,
		&webhook_record, "Change a webhook, which gets a ping",
		.flags = CONDITIONAL, .fails = "403 404 412 422",
	},
	{
		METHOD_DELETE, "/v2/webhooks/{webhookId}", SCOPE_VIEW_CHANNEL, webhook_delete, NULL, &deleted_record,
		"Delete a webhook: nothing more is sent",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{
		PUT, "/v2/webhooks/{webhookId}/ping", SCOPE_VIEW_CHANNEL, webhook_pinged, NULL, &webhook_record,
		"Send a ping, unless one waits already; the deliveries tell what came of it",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412", .codes = "webhook_inactive",
	},
	{
		PUT, "/v2/webhooks/{webhookId}/secret", SCOPE_VIEW_CHANNEL, webhook_rotate, NULL, &webhook_record,
		"Make a new secret, which the answer shows; for 24 hours the old one signs, too, also when this is repeated",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 412", .id = "rotateWebhookSecret",
	},
	{ 0 }
};
