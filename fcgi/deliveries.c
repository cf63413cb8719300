/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/webhooks/{webhookId}/deliveries: what was sent, what came back, and once more */
#include <string.h>

#include "core/webhook.h"
#include "fcgi/webhook.h"

struct delivery {
	struct uuid id, tenant_id, principal_id, webhook_id;
	const char *event, *message_id, *status;
	int64_t attempt;
	const char *request_url, *request_body;
	struct json request_headers;
	struct number response_status;
	const char *response_body, *error;
	struct number duration_ms;
	struct moment next_attempt_at, created_at, updated_at;
	int64_t version;
};
static const struct field delivery_fields[] = {
	FIELD(struct delivery, id,              .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct delivery, event,           .on = SERVER, .required = true, .doc = "Type of the event, or ping"),
	FIELD(struct delivery, message_id,      .on = SERVER, .required = true,
	    .sql = "COALESCE(t.event_id, CONCAT('ping_', LOWER(HEX(t.id))))",
	    .doc = "webhook-id: the number of the event, the same in every attempt"),
	FIELD(struct delivery, status,          .on = SERVER | FILTER, .required = true, .one_of = "waiting sending succeeded failed", .doc = "State"),
	FIELD(struct delivery, attempt,         .on = SERVER, .required = true, .doc = "Attempts so far"),
	FIELD(struct delivery, request_url,     .on = SERVER | DETAIL | OMIT_NULL, .format = "uri",
	    .doc = "Where the last attempt went; not in lists"),
	FIELD(struct delivery, request_headers, .on = SERVER | DETAIL | OMIT_NULL, .format = "object",
	    .doc = "Headers of the last attempt; not in lists. Without the signature: with it, whoever reads this "
	    "could send it once more in our name"),
	FIELD(struct delivery, request_body,    .on = SERVER | DETAIL | OMIT_NULL,
	    .doc = "What the last attempt sent, byte for byte; not in lists"),
	FIELD(struct delivery, response_status, .on = SERVER | OMIT_NULL, .doc = "What the receiver answered last"),
	FIELD(struct delivery, response_body,   .on = SERVER | DETAIL | OMIT_NULL, .doc = "The first 2,048 bytes of that answer; not in lists"),
	FIELD(struct delivery, error,           .on = SERVER | OMIT_NULL, .doc = "Why there was no answer, or nothing is sent any more"),
	FIELD(struct delivery, duration_ms,     .on = SERVER | OMIT_NULL, .doc = "How long the last attempt took, in milliseconds"),
	FIELD(struct delivery, next_attempt_at, .on = SERVER | OMIT_NULL, .sql = "IF(t.status = 'waiting', t.next_attempt_at, 0)",
	    .doc = "When it is tried next"),
	FIELD(struct delivery, created_at,      .on = SERVER, .required = true, .doc = "When it was due first; it stays in the log for seven days"),
	FIELD(struct delivery, updated_at,      .on = SERVER, .required = true, .doc = "Last attempt"),
	FIELD(struct delivery, tenant_id,       .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct delivery, principal_id,    .on = SERVER | HIDDEN, .doc = "Who made the webhook"),
	FIELD(struct delivery, webhook_id,      .on = SERVER | HIDDEN, .doc = "The webhook"),
	FIELD(struct delivery, version,         .on = HIDDEN, .sql = "(t.next_attempt_at * 4000 + t.attempt % 1000 * 4 + t.status)",
	    .doc = "Another one after each step"),
};
static const struct record delivery_record = RECORD("Delivery", struct delivery, delivery_fields);

/* What was never tried is not there yet: whether its owner may see it is decided then. */
const struct object delivery_object = {
	.path = "/v2/webhooks/{webhookId}/deliveries/{deliveryId}", .reach = REACH_OWNER, .record = &delivery_record,
	.from = "FROM webhook_deliveries t JOIN webhooks w ON w.id = t.webhook_id AND w.tenant_id = t.tenant_id WHERE "
	    "w.id = ? AND t.id = ? AND t.is_logged = 1",
};

static int
deliveries_list(struct req *r)
{
	struct delivery *rows;
	size_t n;

	rows = db_list(r->db, &delivery_record, "FROM webhook_deliveries t WHERE t.webhook_id = ? AND t.tenant_id = ? "
	    "AND t.is_logged = 1", ARGS(ID(r->id[0]), ID(r->who->tenant_id)), &r->page, &n);
	return reply_list(r, &delivery_record, rows, n);
}

static int
delivery_get(struct req *r)
{
	return reply(r, 200, &delivery_record, r->object);
}

static int
delivery_retry(struct req *r)
{
	const struct delivery *d = r->object;

	if (strcmp(d->status, "sending") == 0)
		return refuse(r, ERR_DELIVERY_RUNNING, NULL);
	if (db_number(r->db, "SELECT is_active FROM webhooks WHERE id = ?", ARGS(ID(d->webhook_id)), 0) == 0)
		return refuse(r, ERR_WEBHOOK_INACTIVE, NULL);
	db_run(r->db, "UPDATE webhook_deliveries SET status = 'waiting', next_attempt_at = " SQL_NOW
	    ", updated_at = ? WHERE id = ?", ARGS(TIME(r->now), ID(d->id)));
	webhook_work(r->db);
	return reply(r, 200, &delivery_record, object_again(r));
}

const struct route deliveries_routes[] = {
	{
		GET, "/v2/webhooks/{webhookId}/deliveries", SCOPE_VIEW_CHANNEL, deliveries_list, NULL, &delivery_record,
		"List what was sent to a webhook within seven days",
		.flags = LIST | BELOW, .fails = "403 404 422", .id = "listWebhookDeliveries",
	},
	{
		GET, "/v2/webhooks/{webhookId}/deliveries/{deliveryId}", SCOPE_VIEW_CHANNEL, delivery_get, NULL,
		&delivery_record, "Get a delivery",
		.flags = CONDITIONAL, .fails = "403 404", .id = "getWebhookDelivery",
	},
	{
		PUT, "/v2/webhooks/{webhookId}/deliveries/{deliveryId}/retry", SCOPE_VIEW_CHANNEL, delivery_retry, NULL,
		&delivery_record, "Send it again now, whatever came of it before",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412", .codes = "webhook_inactive delivery_running",
		.id = "retryWebhookDelivery",
	},
	{ 0 }
};
