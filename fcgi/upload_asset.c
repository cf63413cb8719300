/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a file that has arrived becomes an asset, or goes. */
#include <string.h>

#include "core/asset.h"
#include "core/channel.h"
#include "core/job.h"
#include "core/spoken.h"
#include "core/store.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/uploads.h"

struct home { struct uuid default_channel_id; };
static const struct field home_fields[] = {
	FIELD(struct home, default_channel_id, .doc = "Channel of uploads that name none"),
};
static const struct record home_record = RECORD("UploadHome", struct home, home_fields);

struct rules { struct number left; bool duplicate_check; };
static const struct field rules_fields[] = {
	FIELD(struct rules, left, .sql = "CAST(t.storage_quota - s.storage_used AS SIGNED)", .doc = "Bytes of the quota; none: it has none"),
	FIELD(struct rules, duplicate_check, .doc = "Refuse a file that is there already"),
};
static const struct record rules_record = RECORD("UploadRules", struct rules, rules_fields);

/* None after refusing. */
static struct uuid
default_channel(struct req *r)
{
	const struct home *h = db_row(r->db, &home_record, "FROM tenants t WHERE t.id = ?",
	    ARGS(ID(r->who->tenant_id)));
	const struct uuid none = { { 0 } };

	if (h != NULL && !uuid_is_none(h->default_channel_id))
		return h->default_channel_id;
	refuse(r, h == NULL ? ERR_NOT_FOUND : ERR_NO_DEFAULT_CHANNEL, NULL);
	return none;
}

/* The one language the asset is in, as far as its uploader said so. */
static const char *
spoken(const struct upload *u)
{
	size_t i;

	for (i = 0; i < u->transcript_language_codes.n; i++)
		if (spoken_names(u->transcript_language_codes.at[i]))
			return u->transcript_language_codes.at[i];
	return NULL;
}

/* Named only to who may see it. */
struct twin { struct uuid id; struct ids channel_ids; };
static const struct field twin_fields[] = {
	FIELD(struct twin, id, .doc = "Asset"),
	FIELD(struct twin, channel_ids, .doc = "Where it is"),
};
static const struct record twin_record = RECORD("Twin", struct twin, twin_fields);

/* Called when the row of the usage is locked, so that of two like files at once the second one sees the first.  What is
 * still on its way counts against uploads that begin, not against one that is all here. */
static bool
is_welcome(struct req *r, const struct upload *u, int64_t more)
{
	const struct rules *rules = db_row(r->db, &rules_record, "FROM tenants t JOIN tenant_usage s ON s.tenant_id "
	    "= t.id WHERE t.id = ?", ARGS(ID(u->tenant_id)));
	const struct twin *twin;

	if (rules != NULL && rules->left.set && rules->left.n < more) {
		refuse(r, ERR_NO_SPACE, "The storage quota of the tenant has no room for this file.");
		return false;
	}
	if (rules == NULL || !rules->duplicate_check)
		return true;
	twin = db_row(r->db, &twin_record, "FROM media t JOIN uploads u ON u.sha256 = t.sha256 AND u.id = ? "
	    "WHERE t.tenant_id = ? AND t.deleted_at = 0 AND t.id <> u.id ORDER BY t.created_at, t.id LIMIT 1",
	    ARGS(ID(u->id), ID(u->tenant_id)));
	if (twin != NULL && access_by(r, &twin->channel_ids) & SCOPE_BIT(SCOPE_VIEW_CHANNEL))
		refuse(r, ERR_DUPLICATE_FILE, "An identical file is there already: asset %s.",
		    uuid_text(r->mem, twin->id));
	else if (twin != NULL)
		refuse(r, ERR_DUPLICATE_FILE, NULL);
	return twin == NULL;
}

static void
make_asset(struct req *r, const struct upload *u, struct uuid channel_id, const char *name)
{
	db_run(r->db, "INSERT INTO media (id, tenant_id, type, name, language_code, transcript_language_codes, "
	    "original_file_name, mime_type, file_size, sha256, verified_at, examined_at, created_by_id, created_by_name, "
	    "created_at, updated_at) SELECT u.id, u.tenant_id, u.media_type, ?, ?, u.transcript_language_codes, u.file_name, "
	    "u.mime_type, u.received_bytes, u.sha256, ?, ?, u.principal_id, u.principal_name, ?, ? FROM uploads u WHERE "
	    "u.id = ?", ARGS(STR(name != NULL ? name : asset_name_from(r->mem, u->file_name)), STR(spoken(u)),
	    TIME(r->now), TIME(r->now), TIME(r->now), TIME(r->now), ID(u->id)));
	db_run(r->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, ?)",
	    ARGS(ID(u->id), ID(channel_id), TIME(r->now)));
	ingest_start(r->db, u->tenant_id, u->id);
	asset_summarise(r->db, u->id, SUM_CHANNELS | SUM_TAGS);
	event(r, u->id, "media.created", arena_printf(r->mem, "{\"mediaId\":\"%s\"}", uuid_text(r->mem, u->id)));
}

struct uuid
upload_channel(struct req *r, struct uuid wanted, const char *pointer)
{
	const struct uuid none = { { 0 } };
	struct uuid channel_id = wanted;

	if (uuid_is_none(wanted))
		channel_id = default_channel(r);
	else if (access_visible(r, &(struct ids){ &wanted, 1 }).n == 0)
		fault(r, pointer, "not_found", "there is no such channel");
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	if (r->refused)
		return none;
	return access_into(r, channel_id) ? channel_id : none;
}

bool
upload_may_finish(struct req *r, const struct upload *u)
{
	db_number(r->db, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE", ARGS(ID(u->tenant_id)), 0);
	return is_welcome(r, u, u->received_bytes);
}

bool
upload_finish(struct req *r, const struct upload *u, struct uuid wanted, const char *name)
{
	struct uuid channel_id = upload_channel(r, wanted, "/channelId");

	if (uuid_is_none(channel_id))
		return false;
	db_run(r->db, "UPDATE uploads SET status = 'completed', media_id = id, version = version + 1, updated_at = ? "
	    "WHERE id = ?", ARGS(TIME(r->now), ID(u->id)));
	channel_of_user(r->db, u->tenant_id, r->who->id, r->client);
	make_asset(r, u, channel_id, name);
	usage_add(r->db, u->tenant_id, 1, u->received_bytes);
	return is_welcome(r, u, 0);
}

bool
upload_drop(struct req *r, struct uuid id)
{
	const struct job_place place = { .tenant_id = r->who->tenant_id };
	const char **keys = arena_array(r->mem, 2, sizeof(*keys));

	if (db_run(r->db, "UPDATE uploads SET status = 'cancelled', version = version + 1, updated_at = ? WHERE id = ? "
	    "AND status IN ('waiting', 'uploading', 'uploaded')", ARGS(TIME(r->now), ID(id))) <= 0)
		return false;
	keys[0] = store_key_upload(r->mem, id);
	keys[1] = store_key_original(r->mem, id);
	job_add(r->db, purge, place, .keys = { keys, 2 });
	return true;
}
