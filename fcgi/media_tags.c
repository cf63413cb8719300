/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The labels of assets. */
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "fcgi/media.h"

/* Without regard to case, as far as ASCII goes. */
static bool
has(const struct strings *tags, const char *tag)
{
	size_t i;

	for (i = 0; i < tags->n; i++)
		if (strcasecmp(tags->at[i], tag) == 0)
			return true;
	return false;
}

static bool
all_in(const struct strings *some, const struct strings *others)
{
	size_t i;

	for (i = 0; i < some->n; i++)
		if (!has(others, some->at[i]))
			return false;
	return true;
}

bool
media_same_tags(struct req *r, const char *now, const char *given)
{
	struct strings a = strings_parse(r->mem, now), b = strings_parse(r->mem, given);

	return all_in(&a, &b) && all_in(&b, &a);
}

/* Without blanks at its ends, which the database would not tell apart. */
static const char *
trimmed(struct arena *mem, const char *tag)
{
	const char *end = tag + strlen(tag);

	tag += strspn(tag, " ");
	while (end > tag && end[-1] == ' ')
		end--;
	return arena_copy_n(mem, tag, (size_t)(end - tag));
}

void
media_set_tags(struct req *r, struct uuid media_id, const char *json)
{
	struct strings tags = strings_parse(r->mem, json);
	size_t i;

	db_run(r->db, "DELETE FROM media_tags WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < tags.n; i++) {
		tags.at[i] = trimmed(r->mem, tags.at[i]);
		db_run(r->db, "INSERT INTO tags (id, tenant_id, name, created_at) VALUES (?, ?, ?, ?) ON DUPLICATE KEY "
		    "UPDATE id = id", ARGS(ID(uuid_new()), ID(r->who->tenant_id), STR(tags.at[i]), TIME(r->now)));
		db_run(r->db, "INSERT INTO media_tags (media_id, tag_id) SELECT ?, id FROM tags WHERE tenant_id = ? "
		    "AND name_key = LOWER(?) ON DUPLICATE KEY UPDATE tag_id = tag_id", ARGS(ID(media_id),
		    ID(r->who->tenant_id), STR(tags.at[i])));
	}
	asset_summarise(r->db, media_id, SUM_TAGS);
}
