/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/history: how far the caller has watched what, so that it can go on there */
#include "core/role.h"
#include "fcgi/access.h"

/* Of a principal; the oldest go.  Seconds by which players are late at the end. */
enum { HISTORY_MAX = 1000, LATE_MS = 1000 };

struct item {
	struct uuid id, media_id;
	struct position position, duration;
	bool is_finished;
	struct moment watched_at, created_at, updated_at;
};
/* Whoever is at the credits does not come back for them. */
#define FINISHED_SQL "h.position * 100 >= t.duration * 95"
static const struct field item_fields[] = {
	FIELD(struct item, id,          .on = SERVER, .required = true, .doc = "That of the asset: there is one item of each"),
	FIELD(struct item, media_id,    .on = SERVER | FILTER, .required = true, .sql = "h.media_id", .doc = "The asset"),
	FIELD(struct item, position,    .on = CREATE, .required = true, .sql = "h.position",
	    .doc = "How far it was watched, in seconds; up to a second behind the end is the end"),
	FIELD(struct item, duration,    .on = SERVER, .sql = "t.duration", .doc = "Of the asset, in seconds"),
	FIELD(struct item, is_finished, .on = SERVER | FILTER, .required = true, .sql = "COALESCE(" FINISHED_SQL ", 0)",
	    .doc = "Is no more than a twentieth left?"),
	FIELD(struct item, watched_at,  .on = SERVER | SORT, .required = true, .sql = "h.watched_at", .doc = "When it was last watched"),
	FIELD(struct item, created_at,  .on = SERVER, .required = true, .sql = "h.created_at", .doc = "When it was first watched"),
	FIELD(struct item, updated_at,  .on = SERVER, .required = true, .sql = "h.watched_at", .doc = "As watchedAt"),
};
static const struct record item_record = RECORD("HistoryItem", struct item, item_fields);

#define WATCHED "FROM watched h JOIN media t ON t.id = h.media_id AND t.deleted_at = 0 WHERE h.principal_id = ?"

/* What the caller may not see any more is left out, and is there again with the right to see it. */
static int
history_list(struct req *r)
{
	struct item *rows;
	size_t n;

	if (r->page.sort == NULL)
		r->page.sort = "watchedAt:desc";
	if (r->audience->everywhere & SCOPE_BIT(SCOPE_VIEW_CHANNEL))
		rows = db_list(r->db, &item_record, WATCHED, ARGS(ID(r->who->id)), &r->page, &n);
	else
		rows = db_list(r->db, &item_record, WATCHED " AND " ACCESS_VIEW_SQL, ARGS(ID(r->who->id),
		    ID(r->who->id), ID(r->who->id), STR(role_names(r->mem, SCOPE_VIEW_CHANNEL))), &r->page, &n);
	return reply_list(r, &item_record, rows, n);
}

static struct item *
find(struct req *r)
{
	return db_row(r->db, &item_record, WATCHED " AND h.media_id = ?", ARGS(ID(r->who->id), ID(r->id[0])));
}

static void
forget_oldest(struct req *r)
{
	if (db_number(r->db, "SELECT COUNT(*) FROM watched WHERE principal_id = ?", ARGS(ID(r->who->id)), 0) >
	    HISTORY_MAX)
		db_run(r->db, "DELETE FROM watched WHERE principal_id = ? ORDER BY watched_at, media_id LIMIT 1",
		    ARGS(ID(r->who->id)));
}

static int
history_put(struct req *r)
{
	const struct item *in = r->in;
	int64_t duration = db_number(r->db, "SELECT duration FROM media WHERE id = ?", ARGS(ID(r->id[0])), -1),
	    ms = in->position.ms < duration ? in->position.ms : duration;
	struct item *now;

	if (duration < 0)
		return refuse(r, ERR_NO_DURATION, NULL);
	if (in->position.ms > duration + LATE_MS) {
		fault(r, "/position", "too_large", "the asset ends at %.3f seconds", (double)duration / 1000);
		return refuse(r, ERR_INVALID, NULL);
	}
	if (db_run(r->db, "INSERT INTO watched (principal_id, media_id, position, created_at, watched_at) VALUES (?, "
	    "?, ?, ?, ?) ON DUPLICATE KEY UPDATE position = ?, watched_at = ?", ARGS(ID(r->who->id), ID(r->id[0]),
	    INT(ms), TIME(r->now), TIME(r->now), INT(ms), TIME(r->now))) == 1)
		forget_oldest(r);
	now = find(r);
	return now != NULL ? reply(r, 200, &item_record, now) : refuse(r, ERR_NOT_FOUND, NULL);
}

struct forgotten { struct uuid media_id; };
static const struct field forgotten_fields[] = { FIELD(struct forgotten, media_id, .doc = "The asset") };
static const struct record forgotten_record = RECORD("Forgotten", struct forgotten, forgotten_fields);

/* Also what the caller cannot see any more. */
static int
history_delete(struct req *r)
{
	const struct forgotten *f;
	struct uuid *ids;
	size_t n, i;

	f = db_rows(r->db, &forgotten_record, "FROM watched t WHERE t.principal_id = ? FOR UPDATE",
	    ARGS(ID(r->who->id)), &n);
	db_run(r->db, "DELETE FROM watched WHERE principal_id = ?", ARGS(ID(r->who->id)));
	ids = arena_array(r->mem, n + 1, sizeof(*ids));
	for (i = 0; i < n; i++)
		ids[i] = f[i].media_id;
	return reply_deleted_all(r, ids, n, true);
}

const struct route history_routes[] = {
	{
		GET, "/v2/history", SCOPE_ANY_TOKEN, history_list, NULL, &item_record,
		"List what the caller has watched and how far, the latest first",
		.flags = LIST, .fails = "422", .id = "listHistory",
	},
	{
		PUT, "/v2/media/{mediaId}/history", SCOPE_ANY_TOKEN, history_put, &item_record, &item_record,
		"Remember how far the caller has watched an asset; the latest 1,000 assets are kept",
		.flags = BELOW | FOR_VIEWERS | BESIDE, .fails = "403 404 422", .codes = "no_duration",
		.id = "updateMediaHistory",
	},
	{
		METHOD_DELETE, "/v2/history", SCOPE_ANY_TOKEN, history_delete, NULL, &deleted_record,
		"Forget what the caller has watched; answers the assets",
		.id = "deleteHistory",
	},
	{ 0 }
};
