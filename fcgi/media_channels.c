/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which channels an asset is in. */
#include "core/asset.h"
#include "fcgi/access.h"
#include "fcgi/media.h"

static bool
is_listed(const struct ids *ids, struct uuid id)
{
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (uuid_equal(ids->at[i], id))
			return true;
	return false;
}

bool
media_may_move(struct req *r, const struct ids *now, const struct ids *wanted)
{
	size_t i;

	for (i = 0; i < now->n; i++)
		if (!is_listed(wanted, now->at[i]) && !access_channel(r, now->at[i], SCOPE_CREATE_CONTENT))
			return false;
	for (i = 0; i < wanted->n; i++) {
		if (is_listed(now, wanted->at[i]))
			continue;
		if (db_number(r->db, "SELECT 1 FROM channels WHERE id = ? AND tenant_id = ?",
		    ARGS(ID(wanted->at[i]), ID(r->who->tenant_id)), 0) != 1)
			fault(r, arena_printf(r->mem, "/channelIds/%zu", i), "not_found", "there is no such channel");
		else if (!access_channel(r, wanted->at[i], SCOPE_CREATE_CONTENT))
			return false;
	}
	return true;
}

void
media_set_channels(struct req *r, struct uuid media_id, const struct ids *wanted)
{
	size_t i;

	db_run(r->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < wanted->n; i++)
		db_run(r->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, ?) "
		    "ON DUPLICATE KEY UPDATE channel_id = channel_id", ARGS(ID(media_id), ID(wanted->at[i]),
		    TIME(r->now)));
	asset_summarise(r->db, media_id, SUM_CHANNELS);
}
