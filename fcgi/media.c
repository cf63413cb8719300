/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media and /v2/media/{mediaId}.  The list, labels, channels and deletion are in files of their own: see
 * media.h. */
#include <string.h>

#include "core/asset.h"
#include "fcgi/access.h"
#include "fcgi/media.h"

struct context { struct uuid channel_id; };
static const struct field context_fields[] = {
	FIELD(struct context, channel_id, .on = QUERY, .doc = "Channel in whose context it is shown: one that it is in"),
};
static const struct record context_record = RECORD("MediaContext", struct context, context_fields);

static int
media_get(struct req *r)
{
	const struct context *in = r->in;
	const struct media *m = r->object;

	if (uuid_is_none(in->channel_id))
		return asset_reply(r, false);
	if (asset_is_seen_in(r, &m->channel_ids, in->channel_id))
		return asset_reply_in(r, in->channel_id);
	return refuse(r, ERR_NOT_FOUND, "The asset is not in this channel.");
}

/* What says the same as before changes nothing and is no event. */
static int
media_patch(struct req *r)
{
	const struct media *m = r->object;
	struct media *would = patched(r);
	const struct ids given = media_channels_without(r, &would->channel_ids, m->share_channel_id);
	struct strings had = strings_parse(r->mem, m->tags.text), names = had;
	struct ids wanted;
	uint64_t changed, tags = record_bit(&media_record, "tags"), channels = record_bit(&media_record, "channel_ids");

	if (r->given & record_bit(&media_record, "language_code") && would->language_code != NULL &&
	    !language_valid(would->language_code))
		fault(r, "/languageCode", "format", "a BCP 47 tag is wanted, for example en or de-CH");
	if (r->given & channels && !media_may_move(r, &m->channel_ids, &given))
		return r->status;
	if (r->given & tags) {
		names = strings_parse(r->mem, would->tags.text);
		names = media_tags_meant(r, "/tags", &names);
	}
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (r->given & channels)
		would->channel_ids = media_channels_meant(r, &m->channel_ids, &given);
	changed = record_differs(r->mem, &media_record, m, would, r->given);
	if (changed & tags && media_same_tags(&had, &names))
		changed &= ~tags;
	if (changed == 0)
		return asset_reply(r, false);
	db_update(r->db, "media", &media_record, would, changed & ~(tags | channels), m->id);
	if (changed & tags) {
		wanted = media_tag_ids(r, &names, true);
		media_set_tags(r, m->id, &wanted);
	}
	if (changed & channels && !media_set_channels(r, m->id, &would->channel_ids))
		return r->status;
	if (changed & channels)		/* clients read them as channels */
		changed = (changed & ~channels) | record_bit(&media_record, "channels");
	event_modified(r, m->id, &media_record, changed);
	return asset_reply(r, true);
}

static int
media_ingest(struct req *r)
{
	const struct media *m = r->object;
	const char *status = db_text(r->db, "SELECT ingest_status FROM media WHERE id = ?", ARGS(ID(m->id)));

	if (status == NULL || strcmp(status, "queued") == 0 || strcmp(status, "running") == 0)
		return refuse(r, ERR_INGEST_RUNNING, NULL);
	ingest_start(r->db, r->who->tenant_id, m->id);
	event_modified(r, m->id, &media_record, record_bit(&media_record, "ingest_job"));
	return asset_reply(r, true);
}

const struct route media_routes[] = {
	{
		GET, "/v2/media", SCOPE_VIEW_CHANNEL, media_list, NULL, &media_record,
		"List the assets the caller may see",
		.flags = LIST | OWN_AUDIENCE, .fails = "403 422",
	},
	{
		GET, "/v2/media/{mediaId}", SCOPE_VIEW_CHANNEL, media_get, &context_record, &media_record,
		"Get an asset",
		.flags = CONDITIONAL | WITH_DELETED, .fails = "403 404 422",
	},
	{
		METHOD_PATCH, "/v2/media/{mediaId}", SCOPE_CREATE_CONTENT, media_patch, &media_record, &media_record,
		"Change basic properties of an asset",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "last_channel channel_closing",
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}", SCOPE_CREATE_CONTENT, media_delete, &deletion_record,
		&deleted_record,
		"Delete an asset, softly unless permanent",
		.flags = CONDITIONAL | WITH_DELETED, .fails = "403 404 409 412", .codes = "already_deleted "
		    "livestream_running",
	},
	{
		PUT, "/v2/media/{mediaId}/recover", SCOPE_CREATE_CONTENT, media_recover, NULL, &media_record,
		"Recover a soft-deleted asset",
		.flags = ACTION | CONDITIONAL | WITH_DELETED, .fails = "403 404 412 422", .codes = "not_soft_deleted",
	},
	{
		PUT, "/v2/media/{mediaId}/ingest", SCOPE_CREATE_CONTENT, media_ingest, NULL, &media_record,
		"Ingest an asset again",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 412 422", .codes = "ingest_running",
	},
	{ 0 }
};
