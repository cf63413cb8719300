/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of an asset: into the store, then into the table. */
#include <inttypes.h>
#include <string.h>

#include "jobs/pictures.h"
#include "jobs/step.h"

void
pictures_drop(struct image_files *files, const char *kind)
{
	size_t i, n = 0;

	for (i = 0; i < files->n; i++)
		if (strcmp(files->at[i].kind, kind) != 0)
			files->at[n++] = files->at[i];
	files->n = n;
}

bool
pictures_store(struct job *j, const struct asset_args *in, const struct image_files *files)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		if (!step_store(j, in, (const char *const[]){ files->at[i].name, NULL }))
			return false;
	return true;
}

void
pictures_put(struct job *j, const struct asset_args *in, const struct image_files *files)
{
	const struct image_file *f;
	struct rendition_row row;

	for (f = files->at; f < files->at + files->n; f++) {
		row = step_row(j, in, f->kind, f->name, f->mime_type);
		row.label = arena_printf(j->mem, "%" PRId64 " px", f->width > f->height ? f->width : f->height);
		row.width = (struct number){ f->width, true };
		row.height = (struct number){ f->height, true };
		rendition_put(j->db, &row);
	}
}
