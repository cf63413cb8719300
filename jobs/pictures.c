/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of an asset: into the store, then into the table. */
#include <inttypes.h>
#include <string.h>

#include "core/asset.h"
#include "core/store.h"
#include "jobs/pictures.h"

static const char *
key_of(struct job *j, const struct asset_args *in, const char *name)
{
	return arena_printf(j->mem, "play/%s/%s/%s", uuid_text(j->mem, in->media_id), in->generation, name);
}

bool
picture_store(struct job *j, const struct asset_args *in, const char *name)
{
	return store_put(j->mem, arena_printf(j->mem, "%s/%s", j->work_dir, name), key_of(j, in, name));
}

bool
pictures_store(struct job *j, const struct asset_args *in, const struct image_files *files)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		if (!picture_store(j, in, files->at[i].name))
			return false;
	return true;
}

void
pictures_put(struct job *j, const struct asset_args *in, const struct image_files *files)
{
	const struct image_file *f;
	struct rendition_row row;

	for (f = files->at; f < files->at + files->n; f++) {
		row = (struct rendition_row){ .media_id = in->media_id, .generation = in->generation, .kind = f->kind,
		    .width = { f->width, true }, .height = { f->height, true }, .mime_type = f->mime_type,
		    .file_size = store_size(j->mem, key_of(j, in, f->name)),
		    .file = arena_printf(j->mem, "%s/%s", in->generation, f->name),
		    .label = arena_printf(j->mem, "%" PRId64 " px", f->width > f->height ? f->width : f->height) };
		rendition_put(j->db, &row);
	}
}
