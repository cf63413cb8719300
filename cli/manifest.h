/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a backup holds.  The file "manifest" is written last, so that a directory without a whole one is no backup:
 *
 *	kinothek-backup 1
 *	id 01900000-0000-7000-8000-000000000000
 *	made 2026-11-20T10:26:53.123Z
 *	schema 44
 *	tenant 01900000-0000-7000-8000-000000000001 town
 *	file {sha256} {size} {path below the directory}
 *	end {sha256 of all lines above}
 */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "core/digest.h"
#include "core/text.h"

struct manifest_file { const char *path, *sha256; int64_t size; };
struct manifest_tenant { struct uuid id; const char *shortcode; };
struct manifest {
	struct uuid id;
	struct moment made_at;
	int64_t schema;			/* number of the newest migration in the dump */
	struct manifest_tenant *tenants;
	struct manifest_file *files;	/* by path */
	size_t n_tenants, n_files, room;
};

/* NULL with a sentence in *fault when there is none, or it is cut off, changed, or of a later format. */
struct manifest *manifest_read(struct arena *, const char *dir, const char **fault);

/* Adds a file at the end; the caller sorts. */
void manifest_add(struct arena *, struct manifest *, const struct manifest_file *);
void manifest_sort(struct manifest *);
/* The entry of a path in a sorted manifest, or NULL. */
const struct manifest_file *manifest_find(const struct manifest *, const char *path);

/* In one step, and on the disk when it returns.  False with errno. */
bool manifest_write(struct arena *, const struct manifest *, const char *dir);

#endif
