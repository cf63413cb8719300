/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The master playlist: several steps of an ingest, which may run at once, add to what it names. */
#include "core/asset.h"
#include "jobs/master.h"
#include "media/playlist.h"

void
master_lock(struct job *j, const struct asset_args *in)
{
	db_number(j->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(in->media_id)), 0);
}

enum outcome
master_write(struct job *j, const struct asset_args *in)
{
	static const char name[] = "master.m3u8";
	const struct rendition_row *rows;
	struct rendition_row playlist;
	size_t n;

	rows = db_rows(j->db, &rendition_row_record, "FROM renditions t WHERE t.media_id = ? AND t.generation = ? "
	    "ORDER BY t.height DESC, t.file", ARGS(ID(in->media_id), STR(in->generation)), &n);
	if (!step_write(j, name, playlist_master(j->mem, rows, n, step_file(j, in, name))) ||
	    !step_store(j, in, (const char *const[]){ name, NULL }))
		return step_not_stored(j, "The playlist");
	playlist = step_row(j, in, "playlist", name, PLAYLIST_TYPE);
	rendition_put(j->db, &playlist);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
