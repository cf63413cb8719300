/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which channels an asset is in. */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "fcgi/access.h"
#include "fcgi/media.h"

static bool
is_visible(struct req *r, struct uuid id)
{
	return access_visible(r, &(struct ids){ &id, 1 }).n > 0;
}

struct ids
media_channels_without(struct req *r, const struct ids *ids, struct uuid channel_id)
{
	struct ids out = { arena_array(r->mem, ids->n + 1, sizeof(*out.at)), 0 };
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (!uuid_equal(ids->at[i], channel_id))
			out.at[out.n++] = ids->at[i];
	return out;
}

struct ids
media_channels_meant(struct req *r, const struct ids *now, const struct ids *given)
{
	struct ids out = { arena_array(r->mem, now->n + given->n + 1, sizeof(*out.at)), 0 };
	size_t i;

	for (i = 0; i < given->n; i++)
		if (!ids_have(&out, given->at[i]))
			out.at[out.n++] = given->at[i];
	for (i = 0; i < now->n; i++)
		if (!is_visible(r, now->at[i]) && !ids_have(&out, now->at[i]))
			out.at[out.n++] = now->at[i];
	qsort(out.at, out.n, sizeof(*out.at), uuid_order);
	return out;
}

bool
media_may_move(struct req *r, const struct ids *now, const struct ids *given)
{
	size_t i;

	for (i = 0; i < now->n; i++)
		if (!ids_have(given, now->at[i]) && is_visible(r, now->at[i]) &&
		    !access_channel(r, now->at[i], SCOPE_CREATE_CONTENT))
			return false;
	for (i = 0; i < given->n; i++) {
		if (!is_visible(r, given->at[i]))
			fault(r, arena_printf(r->mem, "/channelIds/%zu", i), "not_found", "there is no such channel");
		else if (!ids_have(now, given->at[i]) && !access_into(r, given->at[i]))
			return false;
	}
	return true;
}

bool
media_set_channels(struct req *r, struct uuid media_id, const struct ids *wanted)
{
	size_t i;

	db_run(r->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < wanted->n; i++)
		db_run(r->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, ?) "
		    "ON DUPLICATE KEY UPDATE channel_id = channel_id", ARGS(ID(media_id), ID(wanted->at[i]),
		    TIME(r->now)));
	if (db_number(r->db, "SELECT 1 FROM media_channels mc JOIN channels c ON c.id = mc.channel_id AND c.closing_at "
	    "= 0 WHERE mc.media_id = ? LIMIT 1", ARGS(ID(media_id)), 0) != 1) {
		refuse(r, ERR_LAST_CHANNEL,
		    "It is the asset's last channel that stays: put it into another one first.");
		return false;
	}
	asset_summarise(r->db, media_id, SUM_CHANNELS);
	return true;
}
