/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deleting assets, softly or for good, and bringing them back. */
#include <errno.h>
#include <string.h>

#include "core/asset.h"
#include "core/event.h"
#include "core/livestream.h"
#include "core/log.h"
#include "core/store.h"
#include "fcgi/media.h"

static const struct field deletion_fields[] = {
	FIELD(struct deletion, permanent, .on = QUERY, .doc = "Remove it from storage for good"),
};
const struct record deletion_record = RECORD("Deletion", struct deletion, deletion_fields);

void
media_move_files(struct req *r, struct uuid media_id)
{
	db_begin(r->db);
	if (!asset_serve(r->db, media_id))
		log_text(LOG_LEVEL_WARN, "store", "files of %s: %s", uuid_text(r->mem, media_id), strerror(errno));
	db_commit(r->db);
	db_forgive(r->db);
}

static void
move_files(struct req *r)
{
	media_move_files(r, r->id[0]);
}

/* Where it is, for pages that are made from there: media_list.c. */
static void
mark_there(struct req *r, struct uuid media_id)
{
	db_run(r->db, "UPDATE media_channels SET is_deleted = 0 WHERE media_id = ?", ARGS(ID(media_id)));
}

int64_t
media_delete_one(struct req *r, struct uuid media_id, const struct ids *channel_ids, bool permanent)
{
	return asset_delete(r->db, &(struct asset_deletion){ .tenant_id = r->who->tenant_id, .media_id = media_id,
	    .principal_id = r->who->id, .channel_ids = *channel_ids, .permanent = permanent, .at = r->now });
}

int
media_delete(struct req *r)
{
	const struct deletion *in = r->in;
	const struct media *m = r->object;
	bool was_there = m->deleted_at.ms == 0;
	int64_t bytes;

	if (!in->permanent && !was_there)
		return refuse(r, ERR_ALREADY_DELETED, NULL);
	if (livestream_runs(r->db, m->id))
		return refuse(r, ERR_LIVESTREAM_RUNNING, NULL);
	bytes = media_delete_one(r, m->id, &m->channel_ids, in->permanent);
	r->committed = move_files;
	usage_add(r->db, r->who->tenant_id, was_there ? -1 : 0, -bytes);
	return reply_deleted(r, m->id, in->permanent);
}

int
media_recover(struct req *r)
{
	const struct media *m = r->object;

	if (m->deleted_at.ms == 0)
		return refuse(r, ERR_NOT_SOFT_DELETED, NULL);
	db_run(r->db, "UPDATE media SET deleted_at = 0, version = version + 1, updated_at = ? WHERE id = ? AND "
	    "tenant_id = ?", ARGS(TIME(r->now), ID(m->id), ID(r->who->tenant_id)));
	mark_there(r, m->id);
	asset_serve_later(r->db, r->who->tenant_id, m->id);
	r->committed = move_files;
	event(r, m->id, "media.restored", NULL);
	usage_add(r->db, r->who->tenant_id, 1, 0);
	return asset_reply(r, true);
}
