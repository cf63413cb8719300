/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deleting assets, softly or for good, and bringing them back. */
#include <errno.h>
#include <string.h>

#include "core/asset.h"
#include "core/event.h"
#include "core/job.h"
#include "core/log.h"
#include "core/store.h"
#include "fcgi/media.h"

static const struct field deletion_fields[] = {
	FIELD(struct deletion, permanent, .on = QUERY, .doc = "Remove it from storage for good"),
};
const struct record deletion_record = RECORD("Deletion", struct deletion, deletion_fields);

struct running { struct uuid id; };
static const struct field running_fields[] = { FIELD(struct running, id, .doc = "Job") };
static const struct record running_record = RECORD("RunningJob", struct running, running_fields);

/* Rows go at once; the files go by a job that waits for the steps that run, and looks itself whether more have
 * begun. */
static void
delete_for_good(struct req *r, struct uuid media_id)
{
	struct job_place place = { .tenant_id = r->who->tenant_id, .media_id = media_id, .priority = PRIORITY_BULK };
	struct strings pictures = asset_pictures(r->db, media_id);
	const struct running *jobs;
	struct job_wait *waits;
	const char **keys;
	size_t n_keys = 2, n, i;

	keys = arena_array(r->mem, pictures.n + 2, sizeof(*keys));
	keys[0] = store_key_original(r->mem, media_id);
	keys[1] = store_key_play(r->mem, media_id, NULL);
	for (i = 0; i < pictures.n; i++)
		keys[n_keys++] = store_key_thumbnail(r->mem, media_id, pictures.at[i]);
	jobs = db_rows(r->db, &running_record, "FROM jobs t WHERE t.media_id = ? AND t.state = 'running'",
	    ARGS(ID(media_id)), &n);
	waits = arena_array(r->mem, n, sizeof(*waits));
	for (i = 0; i < n; i++)
		waits[i] = (struct job_wait){ jobs[i].id, false };
	place.waits = (struct job_waits){ waits, n };
	db_run(r->db, "UPDATE jobs SET cancel_requested = 1 WHERE media_id = ? AND state = 'running'",
	    ARGS(ID(media_id)));
	db_run(r->db, "DELETE FROM jobs WHERE media_id = ? AND state <> 'running'", ARGS(ID(media_id)));
	db_run(r->db, "DELETE FROM media WHERE id = ? AND tenant_id = ?", ARGS(ID(media_id), ID(r->who->tenant_id)));
	job_add(r->db, purge, place, .keys = { keys, n_keys });
}

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
mark_deleted(struct req *r, struct uuid media_id, bool is_deleted)
{
	db_run(r->db, "UPDATE media_channels SET is_deleted = ? WHERE media_id = ?", ARGS(INT(is_deleted),
	    ID(media_id)));
}

int64_t
media_delete_one(struct req *r, struct uuid media_id, const struct ids *channel_ids, bool permanent)
{
	int64_t bytes = permanent ? asset_bytes(r->db, media_id) : 0;

	if (permanent) {
		delete_for_good(r, media_id);
	} else {
		db_run(r->db, "UPDATE media SET deleted_at = ?, version = version + 1, updated_at = ? WHERE id = ? AND "
		    "tenant_id = ?", ARGS(TIME(r->now), TIME(r->now), ID(media_id), ID(r->who->tenant_id)));
		mark_deleted(r, media_id, true);
	}
	asset_serve_later(r->db, r->who->tenant_id, media_id);
	event_add(r->db, &(struct event_new){ .tenant_id = r->who->tenant_id, .media_id = media_id,
	    .type = "media.deleted", .principal_id = r->who->id, .channel_ids = *channel_ids, .data = arena_printf(
	    r->mem, "{\"mediaId\":\"%s\",\"permanent\":%s}", uuid_text(r->mem, media_id), permanent ? "true" :
	    "false") });
	return bytes;
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
	mark_deleted(r, m->id, false);
	asset_serve_later(r->db, r->who->tenant_id, m->id);
	r->committed = move_files;
	event(r, m->id, "media.restored", NULL);
	usage_add(r->db, r->who->tenant_id, 1, 0);
	return asset_reply(r, true);
}
