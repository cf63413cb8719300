/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/channels/{channelId}/media: what is in a channel.  The list is in media_list.c. */
#include <stdlib.h>

#include "fcgi/channel.h"
#include "fcgi/media.h"

enum { CHANNELS_MAX = 100 };

/* Any asset beside any channel of the tenant, held while it is moved. */
const struct object channel_asset_object = {
	.path = "/v2/channels/{channelId}/media/{mediaId}", .reach = REACH_BESIDE_CHANNEL, .record = &media_record,
	.from = "FROM media t JOIN channels c ON c.tenant_id = t.tenant_id WHERE c.id = ? AND t.id = ?",
};

/* Those of the asset without that of the path. */
static struct ids
others(struct req *r, const struct media *m)
{
	struct ids out = { arena_array(r->mem, m->channel_ids.n + 1, sizeof(*out.at)), 0 };
	size_t i;

	for (i = 0; i < m->channel_ids.n; i++)
		if (!uuid_equal(m->channel_ids.at[i], r->id[0]))
			out.at[out.n++] = m->channel_ids.at[i];
	return out;
}

/* False: refused. */
static bool
move(struct req *r, const struct media *m, const struct ids *channels)
{
	db_update(r->db, "media", &media_record, m, 0, m->id);
	if (!media_set_channels(r, m->id, channels))
		return false;
	event_modified(r, m->id, &media_record, record_bit(&media_record, "channels"));
	return true;
}

static int
channel_media_add(struct req *r)
{
	const struct media *m = r->object;
	struct ids channels = others(r, m);

	if (channels.n < m->channel_ids.n)
		return asset_reply(r, false);
	if (channels.n >= CHANNELS_MAX) {
		fault(r, "channelId", "too_many", "an asset may be in %d channels", CHANNELS_MAX);
		return refuse(r, ERR_INVALID, NULL);
	}
	channels.at[channels.n++] = r->id[0];
	qsort(channels.at, channels.n, sizeof(*channels.at), uuid_order);
	return move(r, m, &channels) ? asset_reply(r, true) : r->status;
}

static int
channel_media_remove(struct req *r)
{
	const struct media *m = r->object;
	struct ids channels = others(r, m);

	if (channels.n == m->channel_ids.n)
		return refuse(r, ERR_NOT_FOUND, "The asset is not in this channel.");
	return move(r, m, &channels) ? reply_deleted(r, m->id, false) : r->status;
}

const struct route channel_media_routes[] = {
	{
		GET, "/v2/channels/{channelId}/media", SCOPE_VIEW_CHANNEL, channel_media_list, NULL, &media_record,
		"List the assets of a channel",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		PUT, "/v2/channels/{channelId}/media/{mediaId}", SCOPE_CREATE_CONTENT, channel_media_add, NULL,
		&media_record,
		"Put an asset into a channel, beside those that it is in",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412 422", .codes = "channel_closing",
		.id = "addChannelMedia",
	},
	{
		METHOD_DELETE, "/v2/channels/{channelId}/media/{mediaId}", SCOPE_CREATE_CONTENT, channel_media_remove,
		NULL, &deleted_record,
		"Take an asset out of a channel that is not its last one",
		.flags = CONDITIONAL | WITH_CLOSING, .fails = "403 404 409 412", .codes = "last_channel",
		.id = "removeChannelMedia",
	},
	{ 0 }
};
