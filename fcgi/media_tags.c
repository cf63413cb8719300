/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The labels of assets. */
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "fcgi/media.h"
#include "media/label.h"

struct tag_key { struct uuid id; };
static const struct field tag_key_fields[] = { FIELD(struct tag_key, id, .doc = "The tag") };
static const struct record tag_key_record = RECORD("TagKey", struct tag_key, tag_key_fields);

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
media_same_tags(const struct strings *a, const struct strings *b)
{
	return all_in(a, b) && all_in(b, a);
}

const char *
media_tag_meant(struct req *r, const char *pointer, const char *given)
{
	const char *tag = label_clean(r->mem, given);

	if (*tag == '\0')
		fault(r, pointer, "blank", "a name that can be seen is wanted");
	if (utf8_length(tag) > MEDIA_TAG_MAX)
		fault(r, pointer, "too_long", "at most %d characters", MEDIA_TAG_MAX);
	return tag;
}

struct strings
media_tags_meant(struct req *r, const char *pointer, const struct strings *given)
{
	struct strings tags = { arena_array(r->mem, given->n + 1, sizeof(*tags.at)), 0 };
	size_t i;

	for (i = 0; i < given->n; i++) {
		const char *tag = media_tag_meant(r, arena_printf(r->mem, "%s/%zu", pointer, i), given->at[i]);

		if (!has(&tags, tag))
			tags.at[tags.n++] = tag;
	}
	return tags;
}

/* Looked for without a lock first: assets that have a tag in common do not wait for each other.  None: there is none,
 * and none was to be made. */
static struct uuid
find(struct req *r, const char *tag, bool make)
{
	static const char *const by_name[] = { "FROM tags t WHERE t.tenant_id = ? AND t.name_key = LOWER(?)",
	    "FROM tags t WHERE t.tenant_id = ? AND t.name_key = LOWER(?) LOCK IN SHARE MODE" };
	const struct arg *args = ARGS(ID(r->who->tenant_id), STR(tag));
	const struct tag_key *found = db_row(r->db, &tag_key_record, by_name[0], args);

	if (found == NULL && make) {
		db_run(r->db, "INSERT INTO tags (id, tenant_id, name, created_at) VALUES (?, ?, ?, ?) ON DUPLICATE KEY "
		    "UPDATE id = id", ARGS(ID(uuid_new()), ID(r->who->tenant_id), STR(tag), TIME(r->now)));
		found = db_row(r->db, &tag_key_record, by_name[1], args);
	}
	return found != NULL ? found->id : (struct uuid){ { 0 } };
}

struct ids
media_tag_ids(struct req *r, const struct strings *tags, bool make)
{
	struct ids ids = { arena_array(r->mem, tags->n + 1, sizeof(*ids.at)), 0 };
	size_t i;

	for (i = 0; i < tags->n; i++) {
		ids.at[ids.n] = find(r, tags->at[i], make);
		ids.n += !uuid_is_none(ids.at[ids.n]);
	}
	return ids;
}

/* One that has gone in the meantime is not there to be given. */
void
media_set_tags(struct req *r, struct uuid media_id, const struct ids *tags)
{
	size_t i;

	db_run(r->db, "DELETE FROM media_tags WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < tags->n; i++)
		db_run(r->db, "INSERT INTO media_tags (media_id, tag_id) SELECT ?, id FROM tags WHERE id = ? ON "
		    "DUPLICATE KEY UPDATE tag_id = tag_id", ARGS(ID(media_id), ID(tags->at[i])));
	asset_summarise(r->db, media_id, SUM_TAGS);
}
