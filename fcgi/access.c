/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What callers may do in which channels: audiences, kept while the tenant's access_version stays. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/mentions.h"

enum { PLACES = 64, ASKED = 16 };

static const struct field channel_view_fields[] = {
	FIELD(struct channel_view, id,         .on = SERVER, .required = true, .doc = "Channel"),
	FIELD(struct channel_view, name,       .on = SERVER, .required = true, .doc = "Its name"),
	FIELD(struct channel_view, visibility, .on = SERVER, .required = true, .one_of = "private shared public",
	    .doc = "Who sees its assets"),
	FIELD(struct channel_view, is_closing, .on = HIDDEN | COMPUTED, .doc = "Is it being deleted?"),
	FIELD(struct channel_view, permissions, .on = HIDDEN | COMPUTED, .doc = "Of the caller"),
};
const struct record channel_view_record = RECORD("ChannelReference", struct channel_view, channel_view_fields);

/* A row of the question who may do what.  Without any channel one row is left, for the version. */
struct channel_row { struct uuid id; const char *name, *visibility; bool is_closing; int64_t role, version,
    channels; };

static const struct field channel_row_fields[] = {
	FIELD(struct channel_row, id, .doc = "Channel"),
	FIELD(struct channel_row, name, .doc = "Its name"),
	FIELD(struct channel_row, visibility, .doc = "Its visibility"),
	FIELD(struct channel_row, is_closing, .sql = "t.closing_at > 0", .doc = "Is it being deleted?"),
	FIELD(struct channel_row, role, .sql = "m.role", .doc = "Number of the strongest role of the principal"),
	FIELD(struct channel_row, version, .sql = "n.access_version", .doc = "Of the tenant"),
	FIELD(struct channel_row, channels, .sql = "(SELECT COUNT(*) FROM channels c WHERE c.tenant_id = n.id)",
	    .doc = "Of the tenant"),
};
/*
 * What the caller sees, with its strongest role there, 0 for none: beginning with its roles, so that neither channels
 * that it does not see nor their members are looked at.  Binds: ID(principal) twice, among_roles, ID(tenant),
 * INT(SuperAdmin), among_channels.
 */
#define SEEN_SQL(among_roles, among_channels) "(SELECT u.channel_id, MAX(u.role) AS role FROM (SELECT o.channel_id, " \
	"o.role + 0 AS role FROM " ROLE_HOLDERS_SQL " h STRAIGHT_JOIN memberships o ON o.principal_id = h.id" \
	among_roles " UNION ALL SELECT c.id, 0 FROM channels c WHERE c.tenant_id = ? AND (? OR c.visibility = " \
	"'public')" among_channels ") u GROUP BY u.channel_id) m JOIN channels t ON t.id = m.channel_id"
#define ASKED_SQL "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

static const struct record channel_row_record = RECORD("ChannelRow", struct channel_row, channel_row_fields);

static struct audience *
place(struct uuid principal_id)
{
	static struct audience kept[PLACES];

	return &kept[principal_id.b[15] % PLACES];
}

static unsigned
permissions_of(const struct req *r, const struct channel_row *row)
{
	if (r->who->is_super_admin)
		return ROLE_ALL;
	return role_numbered(row->role) | (strcmp(row->visibility, "public") == 0 ? ROLE_PUBLIC : 0);
}

static struct channel_view
view_of(const struct req *r, const struct channel_row *row)
{
	return (struct channel_view){ row->id, row->name, row->visibility, permissions_of(r, row), row->is_closing };
}

/* Ids, names and all in one block, which `at` begins. */
static void
keep(struct req *r, struct audience *a, const struct channel_row *rows, size_t n)
{
	size_t size = n * sizeof(*a->at), i;
	char *end;

	for (i = 0; i < n; i++)
		size += strlen(rows[i].name) + strlen(rows[i].visibility) + 2;
	free(a->at);
	a->at = malloc(size + 1);
	if (a->at == NULL)
		abort();
	end = (char *)(a->at + n);
	for (i = 0; i < n; i++) {
		a->at[i] = view_of(r, &rows[i]);
		a->at[i].name = memcpy(end, rows[i].name, strlen(rows[i].name) + 1);
		end += strlen(end) + 1;
		a->at[i].visibility = memcpy(end, rows[i].visibility, strlen(rows[i].visibility) + 1);
		end += strlen(end) + 1;
	}
	a->n = n;
}

const struct audience *
access_read(struct req *r)
{
	struct audience *a = place(r->who->id);
	const struct channel_row *rows;
	size_t n, i;

	if (db_in_transaction(r->db))
		abort();
	/* One statement: the rows are those of the version that stands beside them. */
	rows = db_rows(r->db, &channel_row_record, "FROM tenants n LEFT JOIN (" SEEN_SQL("", "") ") ON t.tenant_id = "
	    "n.id WHERE n.id = ? ORDER BY t.id LIMIT 4097", ARGS(ID(r->who->id), ID(r->who->id),
	    ID(r->who->tenant_id), INT(r->who->is_super_admin), ID(r->who->tenant_id)), &n);
	if (n == 0) {
		a->version = -1;
		a->n = 0;
		a->everywhere = 0;
		a->sees_all = a->too_many = false;
		return a;
	}
	a->principal_id = r->who->id;
	a->is_super_admin = r->who->is_super_admin;
	a->version = rows[0].version;
	a->too_many = n > AUDIENCE_MAX;
	a->sees_all = r->who->is_super_admin || (!a->too_many && rows[0].channels == (int64_t)n &&
	    !uuid_is_none(rows[0].id));
	keep(r, a, rows, uuid_is_none(rows[0].id) ? 0 : a->too_many ? AUDIENCE_MAX : n);
	a->everywhere = a->sees_all ? ROLE_ALL : 0;
	for (i = 0; i < a->n; i++)
		a->everywhere &= (unsigned)a->at[i].permissions;
	return a;
}

const struct audience *
access_last(struct req *r)
{
	struct audience *a = place(r->who->id);

	if (a->version >= 0 && uuid_equal(a->principal_id, r->who->id) && a->is_super_admin == r->who->is_super_admin)
		return a;
	return access_read(r);
}

static const struct channel_view *
known(const struct audience *a, struct uuid channel_id)
{
	return bsearch(&channel_id, a->at, a->n, sizeof(*a->at), uuid_order);
}

/* The channels in question, from the database: some at a time, the last id standing in for those that are missing. */
static struct list
ask(struct req *r, const struct ids *ids)
{
	struct channel_view *out = arena_array(r->mem, ids->n + 1, sizeof(*out));
	struct arg args[2 * ASKED + 6] = { ID(r->who->id), ID(r->who->id), [ASKED + 2] = ID(r->who->tenant_id),
	    INT(r->who->is_super_admin), [2 * ASKED + 4] = ID(r->who->tenant_id), { .kind = ARG_END } };
	const struct channel_row *rows;
	struct list list = { out, 0 };
	size_t at, i, n;

	for (at = 0; at < ids->n; at += ASKED) {
		for (i = 0; i < ASKED; i++)
			args[i + 2] = args[i + ASKED + 4] = ID(ids->at[at + i < ids->n ? at + i : ids->n - 1]);
		rows = db_rows(r->db, &channel_row_record, "FROM " SEEN_SQL(" AND o.channel_id IN " ASKED_SQL,
		    " AND c.id IN " ASKED_SQL) " JOIN tenants n ON n.id = t.tenant_id WHERE n.id = ? ORDER BY t.id",
		    args, &n);
		for (i = 0; i < n; i++)
			out[list.n++] = view_of(r, &rows[i]);
	}
	return list;
}

struct list
access_visible(struct req *r, const struct ids *ids)
{
	const struct channel_view *c;
	struct channel_view *out;
	struct list list;
	size_t i;

	if (r->audience->too_many)
		return ask(r, ids);
	list = (struct list){ out = arena_array(r->mem, ids->n + 1, sizeof(*out)), 0 };
	for (i = 0; i < ids->n; i++)
		if ((c = known(r->audience, ids->at[i])) != NULL)
			out[list.n++] = *c;
	return list;
}

unsigned
access_by(struct req *r, const struct ids *ids)
{
	unsigned permissions = r->audience->everywhere;
	struct list list;
	size_t i;

	if (r->who->is_super_admin)
		return ROLE_ALL;
	list = access_visible(r, ids);
	for (i = 0; i < list.n; i++)
		permissions |= (unsigned)((const struct channel_view *)list.rows)[i].permissions;
	return permissions;
}

bool
access_granted(struct req *r, unsigned permissions, enum scope scope)
{
	if ((permissions & SCOPE_BIT(scope)) != 0)
		return true;
	refuse(r, ERR_FORBIDDEN, "You do not have the permission %s here.", scope_name(scope));
	return false;
}

bool
access_channel(struct req *r, struct uuid channel_id, enum scope scope)
{
	struct ids one = { &channel_id, 1 };

	if (known(r->audience, channel_id) == NULL && db_number(r->db,
	    "SELECT 1 FROM channels WHERE id = ? AND tenant_id = ?", ARGS(ID(channel_id), ID(r->who->tenant_id)),
	    0) != 1) {
		refuse(r, ERR_NOT_FOUND, "There is no channel with this id.");
		return false;
	}
	return access_granted(r, access_by(r, &one), scope);
}

bool
access_into(struct req *r, struct uuid channel_id)
{
	struct list seen;

	if (!access_channel(r, channel_id, SCOPE_CREATE_CONTENT))
		return false;
	seen = access_visible(r, &(struct ids){ &channel_id, 1 });
	if (seen.n == 0 || !((const struct channel_view *)seen.rows)->is_closing)
		return true;
	refuse(r, ERR_CHANNEL_CLOSING, NULL);
	return false;
}

bool
access_somewhere(struct req *r, enum scope scope)
{
	const struct audience *a = r->audience;
	unsigned permissions = a->is_super_admin ? ROLE_ALL : 0;
	size_t i;

	for (i = 0; i < a->n; i++)
		permissions |= (unsigned)a->at[i].permissions;
	if (a->too_many && (permissions & SCOPE_BIT(scope)) == 0 && db_number(r->db,
	    "SELECT 1 FROM " ROLE_HOLDERS_SQL " h JOIN memberships m ON m.principal_id = h.id JOIN channels c ON c.id = "
	    "m.channel_id WHERE c.tenant_id = ? AND FIND_IN_SET(m.role, ?) > 0 LIMIT 1", ARGS(ID(r->who->id),
	    ID(r->who->id), ID(r->who->tenant_id), STR(role_names(r->mem, scope))), 0) == 1)
		return true;
	return access_granted(r, permissions, scope);
}

int
access_few(struct req *r, enum scope scope, struct arg *channels)
{
	const struct audience *a = r->audience;
	size_t i;
	int k = 0, at;

	for (i = 0; r->who->scopes & SCOPE_BIT(scope) && i < a->n && k <= ACCESS_FEW; i++)
		if (a->at[i].permissions & SCOPE_BIT(scope) && ++k <= ACCESS_FEW)
			channels[k - 1] = ID(a->at[i].id);
	if ((a->too_many && r->who->scopes & SCOPE_BIT(scope)) || k > ACCESS_FEW)
		return -1;
	for (at = k; at < ACCESS_FEW; at++)
		channels[at] = k > 0 ? channels[0] : ID((struct uuid){ { 0 } });
	return k;
}

void *
access_rows(struct req *r, const struct record *record, const char *const from[3], const struct arg *args, size_t *n)
{
	struct arg all[24 + ACCESS_FEW + 1], *a = all;
	int k;

	while (args->kind != ARG_END)
		*a++ = *args++;
	*a++ = ID(r->who->tenant_id);
	a->kind = ARG_END;
	if (r->audience->everywhere & r->who->scopes & SCOPE_BIT(SCOPE_VIEW_CHANNEL))
		return db_rows(r->db, record, from[0], all, n);
	k = access_few(r, SCOPE_VIEW_CHANNEL, a);
	if (k >= 0) {
		a[ACCESS_FEW].kind = ARG_END;
		return db_rows(r->db, record, from[1], all, n);
	}
	*a++ = ID(r->who->id);
	*a++ = ID(r->who->id);
	*a++ = STR(role_names(r->mem, SCOPE_VIEW_CHANNEL));
	a->kind = ARG_END;
	return db_rows(r->db, record, from[2], all, n);
}

struct seen { struct uuid id; };
static const struct field seen_fields[] = { FIELD(struct seen, id, .sql = "t.id", .doc = "An asset") };
static const struct record seen_record = RECORD("SeenAsset", struct seen, seen_fields);

const bool *
access_seen(struct req *r, const struct ids *media_ids)
{
	static const char *const sql[] = ACCESS_ROWS("FROM (SELECT DISTINCT id FROM " MENTIONED_IDS ") x STRAIGHT_JOIN "
	    "media t ON t.id = UNHEX(x.id)" ACCESS_LIVE, "");
	bool *seen = arena_array(r->mem, media_ids->n + 1, sizeof(*seen));
	const struct seen *rows;
	size_t n, i, k;

	if (media_ids->n == 0)
		return seen;
	rows = access_rows(r, &seen_record, sql, ARGS(STR(mentions_json(r->mem, media_ids->at, media_ids->n))), &n);
	for (i = 0; i < media_ids->n; i++)
		for (k = 0; k < n && !seen[i]; k++)
			seen[i] = uuid_equal(rows[k].id, media_ids->at[i]);
	return seen;
}
