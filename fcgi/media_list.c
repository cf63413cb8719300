/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of assets. */
#include "fcgi/access.h"
#include "fcgi/media.h"

/* What a page is judged and counted by; an empty one does not bring it. */
struct usage { int64_t access_version, media_count; };
static const struct field usage_fields[] = {
	FIELD(struct usage, access_version, .sql = "n.access_version", .doc = "Of the tenant"),
	FIELD(struct usage, media_count, .doc = "Assets that are not soft-deleted"),
};
static const struct record usage_record = RECORD("Usage", struct usage, usage_fields);

/* The rows of tenant and usage are one for all assets of a page, and cost next to nothing. */
#define ASSETS(hint, state) "FROM media t " hint "JOIN tenants n ON n.id = t.tenant_id JOIN tenant_usage u ON " \
	"u.tenant_id = t.tenant_id WHERE t.tenant_id = ? AND t.deleted_at " state
/* Left alone, MariaDB walks the primary key, through the assets of all other tenants, to have the newest first. */
#define LIVE ASSETS("IGNORE INDEX FOR ORDER BY (PRIMARY) ", "= 0")
#define DELETED ASSETS("IGNORE INDEX FOR ORDER BY (PRIMARY) ", "> 0")
#define NEWEST ASSETS("FORCE INDEX (by_id) ", "= 0")
#define IN_CHANNELS " AND EXISTS (SELECT 1 FROM media_channels mc WHERE mc.media_id = t.id AND " \
	"mc.channel_id IN (?, ?, ?, ?, ?, ?, ?, ?))"
enum { FEW = 8 };

static struct media *
page_of(struct req *r, bool deleted, size_t *n)
{
	static const char *const all[] = { NEWEST, LIVE, DELETED };
	static const char *const few[] = { NEWEST IN_CHANNELS, LIVE IN_CHANNELS, DELETED IN_CHANNELS };
	static const char *const many[] = { NEWEST " AND " ACCESS_VIEW_SQL, LIVE " AND " ACCESS_VIEW_SQL, DELETED
	    " AND " ACCESS_ROLE_SQL };
	/* Soft-deleted assets are there for those who may recover them. */
	enum scope scope = deleted ? SCOPE_CREATE_CONTENT : SCOPE_VIEW_CHANNEL;
	int which = deleted ? 2 : r->page.sort != NULL || r->page.filter != NULL;
	const struct audience *a = r->audience;
	struct arg args[FEW + 2] = { ID(r->who->tenant_id) };
	size_t i, k = 0;

	if (a->everywhere & SCOPE_BIT(scope) && r->who->scopes & SCOPE_BIT(scope))
		return db_list(r->db, &media_record, all[which], ARGS(ID(r->who->tenant_id)), &r->page, n);
	for (i = 0; r->who->scopes & SCOPE_BIT(scope) && i < a->n && k <= FEW; i++)
		if (a->at[i].permissions & SCOPE_BIT(scope) && ++k <= FEW)
			args[k] = ID(a->at[i].id);
	if ((a->too_many && r->who->scopes & SCOPE_BIT(scope)) || k > FEW)
		return db_list(r->db, &media_record, many[which], ARGS(ID(r->who->tenant_id), ID(r->who->id),
		    STR(role_names(r->mem, scope))), &r->page, n);
	for (i = k; i < FEW; i++)
		args[i + 1] = k > 0 ? args[k] : ID((struct uuid){ { 0 } });
	args[FEW + 1].kind = ARG_END;
	return db_list(r->db, &media_record, few[which], args, &r->page, n);
}

static struct usage
usage_of(struct req *r, const struct media *m, size_t n)
{
	const struct usage *u;

	if (n > 0)
		return (struct usage){ m[0].access_version, m[0].media_count };
	u = db_row(r->db, &usage_record, "FROM tenant_usage t JOIN tenants n ON n.id = t.tenant_id WHERE "
	    "t.tenant_id = ?", ARGS(ID(r->who->tenant_id)));
	return u != NULL ? *u : (struct usage){ -2, 0 };
}

/* Whether an asset is in a channel that the caller does not see is not told by a filter either. */
static bool
filters_by_hidden_channel(struct req *r)
{
	struct uuid id;
	const char *value;
	size_t i;

	for (i = 0; !r->who->is_super_admin && (value = db_filter_value(r->mem, r->page.filter, "channelId",
	    i)) != NULL; i++)
		if (uuid_parse(value, &id) && access_visible(r, &(struct ids){ &id, 1 }).n == 0)
			return true;
	return false;
}

/*
 * The page is read with what this process last knew of the caller's channels; its rows say whether that still holds.
 * If not, both are read once more.  The total of an unfiltered list stands in the usage row for those who see all.
 */
int
media_list(struct req *r)
{
	bool deleted = db_filters_for(r->page.filter, "status", "softDeleted");
	struct media *m;
	struct usage u;
	size_t n, i;
	bool hidden;
	int tries = 0;

	do {
		if (tries++ > 0)
			r->audience = access_read(r);
		hidden = filters_by_hidden_channel(r);
		r->page.total = r->page.filter == NULL && r->audience->sees_all ? 0 : -1;
		m = hidden ? (n = 0, NULL) : page_of(r, deleted, &n);
		u = usage_of(r, m, n);
	} while (u.access_version != r->audience->version && r->page.fault == NULL && db_failure(r->db) == DB_FINE &&
	    tries < 3);
	if (u.access_version != r->audience->version && r->page.fault == NULL)
		return refuse(r, ERR_UNAVAILABLE, "Roles are changing right now; try again.");
	if (hidden) {
		fault(r, "filter", "not_allowed", "channelId names no channel that you may see");
		return refuse(r, ERR_INVALID, NULL);
	}
	if (r->page.filter == NULL && r->audience->sees_all)
		r->page.total = u.media_count;
	for (i = 0; i < n; i++)
		asset_view(r, &m[i], true);
	return reply_list(r, &media_record, m, n);
}
