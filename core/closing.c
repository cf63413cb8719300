/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assets leave a channel that is being deleted, and it goes. */
#include "core/audit.h"
#include "core/closing.h"
#include "core/event.h"
#include "core/role.h"

struct held { struct uuid id; };
static const struct field held_fields[] = { FIELD(struct held, id, .doc = "Asset") };
static const struct record held_record = RECORD("HeldAsset", struct held, held_fields);

size_t
closing_hold(struct db *db, struct uuid channel_id, struct uuid *last)
{
	const struct held *rows;
	size_t n;

	rows = db_rows(db, &held_record, "FROM (SELECT x.media_id FROM media_channels x WHERE x.channel_id = ? ORDER "
	    "BY x.media_id LIMIT ?) x STRAIGHT_JOIN media t ON t.id = x.media_id ORDER BY t.id FOR UPDATE",
	    ARGS(ID(channel_id), INT(CLOSING_BATCH)), &n);
	if (n > 0)
		*last = rows[n - 1].id;
	return n;
}

/* Whether it is soft-deleted goes with the asset, for lists that are made from there. */
static void
put_elsewhere(struct db *db, const struct closing *c, struct uuid last, struct arg now)
{
	if (!uuid_is_none(c->to))
		db_run(db, "INSERT INTO media_channels (media_id, channel_id, is_deleted, created_at) SELECT "
		    "x.media_id, ?, x.is_deleted, ? FROM media_channels x WHERE x.channel_id = ? AND x.media_id <= ? "
		    "ON DUPLICATE KEY UPDATE channel_id = VALUES(channel_id)", ARGS(ID(c->to), now,
		    ID(c->channel_id), ID(last)));
	else if (!uuid_is_none(c->home))
		db_run(db, "INSERT INTO media_channels (media_id, channel_id, is_deleted, created_at) SELECT "
		    "x.media_id, ?, x.is_deleted, ? FROM media_channels x WHERE x.channel_id = ? AND x.media_id <= ? "
		    "AND NOT EXISTS (SELECT 1 FROM media_channels mc WHERE mc.media_id = x.media_id AND mc.channel_id "
		    "<> x.channel_id)", ARGS(ID(c->home), now, ID(c->channel_id), ID(last)));
}

void
closing_let_go(struct db *db, const struct closing *c, struct uuid last)
{
	struct arg id = ID(c->channel_id), now = TIME(moment_now());

	put_elsewhere(db, c, last, now);
	db_run(db, "UPDATE media_channels x JOIN media t ON t.id = x.media_id SET t.channel_ids = (SELECT "
	    "GROUP_CONCAT(mc.channel_id ORDER BY mc.channel_id SEPARATOR '') FROM media_channels mc WHERE mc.media_id "
	    "= t.id AND mc.channel_id <> ?), t.version = t.version + 1, t.updated_at = ? WHERE x.channel_id = ? AND "
	    "x.media_id <= ?", ARGS(id, now, id, ID(last)));
	db_run(db, EVENT_ADD_SQL "FROM media_channels x JOIN media t ON t.id = x.media_id WHERE x.channel_id = ? AND "
	    "x.media_id <= ? AND t.deleted_at = 0", ARGS(ID(c->tenant_id), STR("media.updated"), ID(c->principal_id),
	    STR("{\"modified\":[\"channels\"]}"), now, id, ID(last)));
	db_run(db, "DELETE FROM media_channels WHERE channel_id = ? AND media_id <= ?", ARGS(id, ID(last)));
}

void
closing_end(struct db *db, const struct closing *c)
{
	const char *data = uuid_is_none(c->to) ? NULL : arena_printf(db_arena(db), "{\"moveTo\":\"%s\"}",
	    uuid_text(db_arena(db), c->to));

	if (db_run(db, "DELETE FROM channels WHERE id = ?", ARGS(ID(c->channel_id))) != 1)
		return;
	audit_add(db, &(struct audited){ c->tenant_id, c->principal_id, c->channel_id, c->address, "channel.deleted",
	    data });
	role_changed(db, c->tenant_id);
}
