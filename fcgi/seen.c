/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a principal may be told of events. */
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/seen.h"

struct req *
seen_by(struct arena *mem, struct db *db, const struct conf *conf, struct principal *who)
{
	struct req *r = NEW(mem, struct req);

	r->mem = mem;
	r->db = db;
	r->conf = conf;
	r->who = who;
	r->method = GET;
	r->uri = "/";
	r->client_fd = -1;
	r->now = moment_now();
	r->headers = BUF(mem);
	r->out = BUF(mem);
	r->audience = access_last(r);
	if (r->audience->version != db_number(db, "SELECT access_version FROM tenants WHERE id = ?",
	    ARGS(ID(who->tenant_id)), -2))
		r->audience = access_read(r);
	return r;
}

struct asker { const char *shortcode, *name, *client_scopes; bool is_super_admin; };
static const struct field asker_fields[] = {
	FIELD(struct asker, shortcode, .sql = "n.shortcode", .doc = "Of the tenant"),
	FIELD(struct asker, name, .sql = "p.name", .doc = "Who it is"),
	FIELD(struct asker, client_scopes, .sql = "c.scopes", .doc = "If it is a client"),
	FIELD(struct asker, is_super_admin, .sql = SEEN_SUPER_ADMIN, .doc = "As of now"),
};
static const struct record asker_record = RECORD("Asker", struct asker, asker_fields);

struct req *
seen_anew(struct arena *mem, struct db *db, const struct conf *conf, struct uuid tenant_id, struct uuid principal_id,
    const char *scopes)
{
	const struct asker *a = db_row(db, &asker_record, "FROM principals p JOIN tenants n ON n.id = p.tenant_id "
	    SEEN_JOIN " WHERE p.id = ? AND p.tenant_id = ? AND " SEEN_LIVE, ARGS(ID(principal_id), ID(tenant_id)));
	struct principal *who = NEW(mem, struct principal);

	if (a == NULL)
		return NULL;
	*who = (struct principal){ .id = principal_id, .tenant_id = tenant_id, .shortcode = a->shortcode,
	    .name = a->name, .is_super_admin = a->is_super_admin, .scopes = scope_bits(scopes) };
	if (a->client_scopes != NULL)
		who->scopes &= scope_bits(a->client_scopes);
	return seen_by(mem, db, conf, who);
}

/* How an asset is read; which decides what is told of it, too. */
static const struct route *
reading(void)
{
	static const struct route *found;

	if (found == NULL)
		found = api_route_of(GET, media_object.path);
	return found;
}

bool
seen_may(struct req *r, struct uuid media_id, const struct route *route)
{
	enum access access;
	int tries;

	r->route = route;
	r->kind = &media_object;
	r->id[0] = media_id;
	for (tries = 0; (access = object_load(r)) == ACCESS_OLD && tries < 10; tries++)
		r->audience = access_read(r);
	return (r->who->scopes & SCOPE_BIT(route->scope)) != 0 && access == ACCESS_FINE && db_failure(r->db) == DB_FINE;
}

enum access
seen_load(struct req *r, struct uuid media_id, const struct route *route)
{
	r->route = route;
	r->method = route->method;
	r->kind = &media_object;
	r->id[0] = media_id;
	if (route->scope != SCOPE_ANY_TOKEN && (r->who->scopes & SCOPE_BIT(route->scope)) == 0)
		return ACCESS_REFUSED;
	return object_load(r);
}

bool
seen_do(struct req *r, const char *body)
{
	r->refused = false;
	r->now = moment_now();
	r->headers = BUF(r->mem);
	r->out = BUF(r->mem);
	r->faults.n = 0;
	if (record_decode(r->mem, r->route->in, r->method == METHOD_PATCH ? PATCH : CREATE, body, strlen(body), &r->in,
	    &r->given, &r->faults) != DECODED)
		return false;
	r->route->run(r);
	return !r->refused && db_failure(r->db) == DB_FINE;
}

/* NULL: the principal may not see it. */
static struct media *
load(struct req *r, struct uuid media_id)
{
	return seen_may(r, media_id, reading()) ? r->object : NULL;
}

/* {"media":…} and what the event says beside it. */
static const char *
with_asset(struct req *r, const struct event *e)
{
	struct media *m = load(r, e->media_id);
	struct buf b = BUF(r->mem);

	if (m == NULL)
		return NULL;
	asset_view(r, m, false);
	buf_text(&b, "{\"media\":");
	record_render(&b, &media_record, m, false);
	buf_printf(&b, "%s%s", e->data.text[1] == '}' ? "" : ",", e->data.text + 1);
	return buf_string(&b);
}

/* What the run has answered stands in its row, as long as there is one. */
static const char *
with_output(struct req *r, const struct event *e)
{
	const char *output = db_text(r->db, "SELECT output FROM flow_runs WHERE id = ? AND tenant_id = ? AND "
	    "media_id = ?", ARGS(ID(e->object_id), ID(e->tenant_id), ID(e->media_id)));
	struct buf b = BUF(r->mem);

	if (output == NULL)
		return e->data.text;
	buf_text(&b, "{\"output\":");
	buf_json(&b, output);
	buf_printf(&b, ",%s", e->data.text + 1);
	return buf_string(&b);
}

static bool
may(struct req *r, const struct event *e, unsigned scope)
{
	return (access_by(r, &e->channel_ids) & SCOPE_BIT(scope)) != 0;
}

const char *
seen_event(struct req *r, const struct event *e)
{
	const struct event_type *type = event_type(e->type);

	if (type == NULL || e->is_audit || (r->who->scopes & SCOPE_BIT(type->scope)) == 0 ||
	    (r->who->scopes & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) == 0)
		return NULL;
	if (uuid_is_none(e->media_id))
		return r->who->is_super_admin || uuid_equal(e->principal_id, r->who->id) ? e->data.text : NULL;
	if (!may(r, e, type->scope))
		return NULL;
	if (strcmp(e->type, "media.deleted") == 0)
		return e->data.text;
	if (strncmp(e->type, "media.", 6) == 0)
		return with_asset(r, e);
	if (load(r, e->media_id) == NULL || db_failure(r->db) != DB_FINE)
		return NULL;
	return strcmp(e->type, "flowRun.finished") == 0 ? with_output(r, e) : e->data.text;
}
