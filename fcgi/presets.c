/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search/presets: searches that people keep, for themselves or for all of the tenant */
#include "core/principal.h"
#include "fcgi/access.h"
#include "fcgi/search_query.h"

enum { PRESETS_MAX = 200 };	/* of a principal */

static const struct field query_fields[] = { SEARCH_LIMITS(CREATE | OMIT_NULL) };
static const struct record query_record = RECORD("SearchPresetQuery", struct search_limits, query_fields);

struct preset {
	struct uuid id, tenant_id, principal_id;
	const char *name;
	struct nested query;
	bool is_shared, is_own;
	struct moment created_at, updated_at;
	int64_t version;
};
static const struct field preset_fields[] = {
	FIELD(struct preset, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct preset, name,         .on = CREATE, .required = true, .min = 1, .max = 255, .doc = "Shown to people"),
	FIELD(struct preset, query,        .on = CREATE, .required = true, .of = &query_record,
	    .doc = "Parameters of a search, as they are sent to it"),
	FIELD(struct preset, is_shared,    .on = CREATE, .required = false, .doc = "May all of the tenant use it? What they find by it is what they may see"),
	FIELD(struct preset, is_own,       .on = COMPUTED, .required = true, .doc = "Did the caller make it? Others cannot change it"),
	FIELD(struct preset, created_at,   .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct preset, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct preset, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct preset, tenant_id,    .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct preset, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
};
static const struct record preset_record = RECORD("SearchPreset", struct preset, preset_fields);

const struct object preset_object = {
	.path = "/v2/search/presets/{presetId}", .reach = REACH_OWNER, .record = &preset_record,
	.from = "FROM search_presets t WHERE t.id = ?",
};

static int
presets_list(struct req *r)
{
	struct preset *rows;
	size_t n, i;

	rows = db_list(r->db, &preset_record, "FROM search_presets t WHERE t.tenant_id = ? AND (t.principal_id = ? OR "
	    "t.is_shared = 1)", ARGS(ID(r->who->tenant_id), ID(r->who->id)), &r->page, &n);
	for (i = 0; i < n; i++)
		rows[i].is_own = uuid_equal(rows[i].principal_id, r->who->id);
	return reply_list(r, &preset_record, rows, n);
}

static int
preset_get(struct req *r)
{
	struct preset *p = r->object;

	p->is_own = uuid_equal(p->principal_id, r->who->id);
	return reply(r, 200, &preset_record, p);
}

/* A channel that the caller does not see is refused here as it would be by the search. */
static bool
is_fine(struct req *r, const struct preset *p)
{
	search_check(r, "/query/", p->query.row);
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return r->faults.n == 0;
}

static int
preset_create(struct req *r)
{
	struct preset *p = r->in;

	principal_hold(r->db, r->who->id);
	if (db_number(r->db, "SELECT COUNT(*) FROM search_presets WHERE principal_id = ?", ARGS(ID(r->who->id)), 0) >=
	    PRESETS_MAX)
		return refuse(r, ERR_TOO_MANY_PRESETS, NULL);
	if (!is_fine(r, p))
		return r->status;
	p->id = uuid_new();
	p->tenant_id = r->who->tenant_id;
	p->principal_id = r->who->id;
	p->created_at = p->updated_at = r->now;
	p->version = 1;
	p->is_own = true;
	db_insert(r->db, "search_presets", &preset_record, p);
	return reply_created(r, &preset_record, p, p->id);
}

/* All of it at once: what is left out is gone. */
static int
preset_put(struct req *r)
{
	const struct preset *now = r->object;
	struct preset *p = r->in, *changed;

	if (!is_fine(r, p))
		return r->status;
	db_update(r->db, "search_presets", &preset_record, p, record_bit(&preset_record, "name") |
	    record_bit(&preset_record, "query") | record_bit(&preset_record, "is_shared"), now->id);
	changed = object_again(r);
	if (changed == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	changed->is_own = uuid_equal(changed->principal_id, r->who->id);
	return reply(r, 200, &preset_record, changed);
}

static int
preset_delete(struct req *r)
{
	const struct preset *p = r->object;

	db_run(r->db, "DELETE FROM search_presets WHERE id = ? AND tenant_id = ?", ARGS(ID(p->id),
	    ID(r->who->tenant_id)));
	return reply_deleted(r, p->id, true);
}

const struct route presets_routes[] = {
	{
		GET, "/v2/search/presets", SCOPE_VIEW_CHANNEL, presets_list, NULL, &preset_record,
		"List the searches that the caller has kept, and those that others share",
		.flags = LIST, .fails = "422", .id = "listSearchPresets",
	},
	{
		POST, "/v2/search/presets", SCOPE_VIEW_CHANNEL, preset_create, &preset_record, &preset_record,
		"Keep a search", .success = 201, .fails = "409 422", .codes = "too_many_presets", .id = "createSearchPreset",
	},
	{
		GET, "/v2/search/presets/{presetId}", SCOPE_VIEW_CHANNEL, preset_get, NULL, &preset_record,
		"Get a search that the caller has kept", .flags = CONDITIONAL, .fails = "404", .id = "getSearchPreset",
	},
	{
		PUT, "/v2/search/presets/{presetId}", SCOPE_VIEW_CHANNEL, preset_put, &preset_record, &preset_record,
		"Put another search in its place",
		.flags = CONDITIONAL, .fails = "404 412 422", .id = "replaceSearchPreset",
	},
	{
		METHOD_DELETE, "/v2/search/presets/{presetId}", SCOPE_VIEW_CHANNEL, preset_delete, NULL,
		&deleted_record, "Forget a search",
		.flags = CONDITIONAL, .fails = "404 412", .id = "deleteSearchPreset",
	},
	{ 0 }
};
