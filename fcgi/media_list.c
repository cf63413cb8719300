/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of assets. */
#include <stdlib.h>
#include <string.h>

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
#define IN_CHANNELS " AND " ACCESS_FEW_SQL
enum { FEW = ACCESS_FEW, LITTLE = 4096, EXACT = 10000 };

/* What is live in a few channels, or in those of a JSON array of hexadecimal ids: by an index alone. */
#define LIVE_IN_FEW "media_channels t FORCE INDEX (by_live) WHERE t.channel_id IN (?, ?, ?, ?, ?, ?, ?, ?)"
#define LIVE_IN_MANY "JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$')) j STRAIGHT_JOIN media_channels t FORCE " \
	"INDEX (by_live) ON t.channel_id = UNHEX(j.id) WHERE 1"
#define COUNT_OF(live) "SELECT COUNT(*) FROM (SELECT DISTINCT t.media_id FROM " live " AND t.is_deleted = 0 LIMIT ?) c"
#define IDS_OF(live) "FROM " live " AND t.is_deleted = 0 LIMIT ?"
struct seen { struct uuid media_id; };
static const struct field seen_fields[] = { FIELD(struct seen, media_id, .doc = "An asset that somebody sees") };
static const struct record seen_record = RECORD("Seen", struct seen, seen_fields);

/* As many as a page can hold. */
#define TEN "?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
#define THOSE "FROM media t FORCE INDEX (PRIMARY) STRAIGHT_JOIN tenants n ON n.id = t.tenant_id STRAIGHT_JOIN tenant_usage u " \
	"ON u.tenant_id = t.tenant_id WHERE t.id IN (" TEN ", " TEN ", " TEN ", " TEN ", " TEN ") AND t.tenant_id = ? AND " \
	"t.deleted_at = 0"
enum { MOST = 50 };

static const char *
many_channels(struct req *r, enum scope scope)
{
	const struct audience *a = r->audience;
	struct buf b = BUF(r->mem);
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->at[i].permissions & SCOPE_BIT(scope))
			buf_printf(&b, "%s\"%s\"", b.len > 0 ? "," : "[", hex_encode(r->mem, a->at[i].id.b, 16));
	buf_char(&b, ']');
	return buf_string(&b);
}

static int
newest_first(const void *a, const void *b)
{
	return memcmp(b, a, sizeof(struct uuid));
}

/* Each once, the newest first: how many. */
static size_t
put_in_order(struct seen *ids, size_t n)
{
	size_t i, k = 0;

	qsort(ids, n, sizeof(*ids), newest_first);
	for (i = 0; i < n; i++)
		if (k == 0 || memcmp(&ids[k - 1], &ids[i], sizeof(*ids)) != 0)
			ids[k++] = ids[i];
	return k;
}

static struct media *
assets(struct req *r, const struct seen *ids, size_t k, size_t *n)
{
	struct page all = { .perpage = MOST };
	struct arg args[MOST + 2];
	size_t i;

	for (i = 0; i < MOST; i++)
		args[i] = ID(ids[i < k ? i : k - 1].media_id);
	args[MOST] = ID(r->who->tenant_id);
	args[MOST + 1].kind = ARG_END;
	return db_list(r->db, &media_record, THOSE, args, &all, n);
}

/*
 * The newest of those who see little: the ids of all that they see come first, from the index alone, so that nothing
 * else is looked at, and they are the total as well.  Two plain statements take a fraction of one that makes temporary
 * tables of them.  False: they see much, or all is left to the walk through the assets; their total is known in any
 * case.
 */
static bool
page_of_little(struct req *r, const struct arg *channels, size_t k, struct media **rows, size_t *n)
{
	bool few = k == FEW;
	struct page *p = &r->page;
	struct arg args[FEW + 2];
	struct uuid after;
	struct seen *ids;
	size_t seen, from = 0, here;

	if (p->after != NULL && !uuid_parse(p->after, &after))
		return false;
	memcpy(args, channels, k * sizeof(*args));
	args[k] = INT(LITTLE + 1);
	args[k + 1].kind = ARG_END;
	ids = db_rows(r->db, &seen_record, few ? IDS_OF(LIVE_IN_FEW) : IDS_OF(LIVE_IN_MANY), args, &seen);
	if (seen > LITTLE) {
		args[k] = INT(EXACT + 1);
		p->total = db_number(r->db, few ? COUNT_OF(LIVE_IN_FEW) : COUNT_OF(LIVE_IN_MANY), args, 0);
		return false;
	}
	if (ids != NULL)
		seen = put_in_order(ids, seen);
	p->total = (int64_t)seen;
	if (p->after == NULL)
		from = (size_t)(p->page * p->perpage);
	else
		while (from < seen && memcmp(&ids[from], &after, sizeof(after)) >= 0)
			from++;
	*n = 0;
	if (from >= seen)
		return true;
	here = seen - from < (size_t)p->perpage ? seen - from : (size_t)p->perpage;
	*rows = assets(r, ids + from, here, n);
	if (from + here < seen)
		p->next = uuid_text(r->mem, ids[from + here - 1].media_id);
	return true;
}

/* Past those that they do not see. */
static struct media *
page_of_much(struct req *r, int which, const struct arg *channels, size_t *n)
{
	static const char *const few[] = { NEWEST IN_CHANNELS, LIVE IN_CHANNELS, DELETED IN_CHANNELS };
	static const char *const many[] = { NEWEST " AND " ACCESS_VIEW_SQL, LIVE " AND " ACCESS_VIEW_SQL, DELETED
	    " AND " ACCESS_ROLE_SQL };
	struct arg args[FEW + 2] = { ID(r->who->tenant_id) };
	struct media *rows;

	if (channels == NULL)
		rows = db_list(r->db, &media_record, many[which], ARGS(ID(r->who->tenant_id), ID(r->who->id),
		    ID(r->who->id), STR(role_names(r->mem, which == 2 ? SCOPE_CREATE_CONTENT : SCOPE_VIEW_CHANNEL))), &r->page, n);
	else {
		memcpy(args + 1, channels, FEW * sizeof(*args));
		rows = db_list(r->db, &media_record, few[which], args, &r->page, n);
	}
	if (r->page.total > EXACT) {
		r->page.total = EXACT;
		r->page.total_exact = false;
	}
	return rows;
}

static struct media *
page_of(struct req *r, bool deleted, size_t *n)
{
	static const char *const all[] = { NEWEST, LIVE, DELETED };
	/* Soft-deleted assets are there for those who may recover them. */
	enum scope scope = deleted ? SCOPE_CREATE_CONTENT : SCOPE_VIEW_CHANNEL;
	int which = deleted ? 2 : r->page.sort != NULL || r->page.filter != NULL, k;
	struct arg channels[FEW];
	struct media *rows;

	if (r->audience->everywhere & SCOPE_BIT(scope) && r->who->scopes & SCOPE_BIT(scope))
		return db_list(r->db, &media_record, all[which], ARGS(ID(r->who->tenant_id)), &r->page, n);
	k = access_few(r, scope, channels);
	if (which == 0 && k > 0 && page_of_little(r, channels, FEW, &rows, n))
		return rows;
	if (which == 0 && k < 0 && !r->audience->too_many &&
	    page_of_little(r, ARGS(STR(many_channels(r, scope))), 1, &rows, n))
		return rows;
	return page_of_much(r, which, k < 0 ? NULL : channels, n);
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

bool
media_filters_hidden(struct req *r)
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
		hidden = media_filters_hidden(r);
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

/* Begins with the channel, however many assets the tenant has. */
#define NEWEST_IN "FROM media_channels mc FORCE INDEX (by_channel) STRAIGHT_JOIN media t ON t.id = mc.media_id AND " \
	"t.deleted_at = 0 STRAIGHT_JOIN tenants n ON n.id = t.tenant_id STRAIGHT_JOIN tenant_usage u ON u.tenant_id = " \
	"t.tenant_id WHERE mc.channel_id = ?"

static struct media *
page_in(struct req *r, bool deleted, size_t *n)
{
	struct arg args[FEW + 2] = { ID(r->who->tenant_id) };
	size_t i;

	if (!deleted && r->page.sort == NULL && r->page.filter == NULL)
		return db_list(r->db, &media_record, NEWEST_IN, ARGS(ID(r->id[0])), &r->page, n);
	for (i = 1; i <= FEW; i++)
		args[i] = ID(r->id[0]);
	args[FEW + 1].kind = ARG_END;
	return db_list(r->db, &media_record, deleted ? DELETED IN_CHANNELS : LIVE IN_CHANNELS, args, &r->page, n);
}

int
channel_media_list(struct req *r)
{
	bool deleted = db_filters_for(r->page.filter, "status", "softDeleted");
	struct ids channel = { r->id, 1 };
	struct media *m;
	size_t n, i;

	if (media_filters_hidden(r)) {
		fault(r, "filter", "not_allowed", "channelId names no channel that you may see");
		return refuse(r, ERR_INVALID, NULL);
	}
	/* Soft-deleted assets are there for those who may recover them. */
	if (deleted && !access_granted(r, access_by(r, &channel) & r->who->scopes, SCOPE_CREATE_CONTENT))
		return r->status;
	m = page_in(r, deleted, &n);
	for (i = 0; i < n; i++)
		asset_view(r, &m[i], true);
	return reply_list(r, &media_record, m, n);
}
