/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The labels of assets. */
#include "core/asset.h"
#include "fcgi/media.h"

void
media_set_tags(struct req *r, struct uuid media_id, const char *json)
{
	struct strings tags = strings_parse(r->mem, json);
	size_t i;

	db_run(r->db, "DELETE FROM media_tags WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < tags.n; i++) {
		db_run(r->db, "INSERT INTO tags (id, tenant_id, name, created_at) VALUES (?, ?, ?, ?) ON DUPLICATE KEY "
		    "UPDATE id = id", ARGS(ID(uuid_new()), ID(r->who->tenant_id), STR(tags.at[i]), TIME(r->now)));
		db_run(r->db, "INSERT INTO media_tags (media_id, tag_id) SELECT ?, id FROM tags WHERE tenant_id = ? "
		    "AND name_key = LOWER(?) ON DUPLICATE KEY UPDATE tag_id = tag_id", ARGS(ID(media_id),
		    ID(r->who->tenant_id), STR(tags.at[i])));
	}
	asset_summarise(r->db, media_id, SUM_TAGS);
}
