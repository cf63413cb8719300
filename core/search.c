/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which assets are to be indexed anew. */
#include <string.h>

#include "core/job.h"
#include "core/search.h"

/* As an event tells them. */
static const char *const words[] = {
#define LAYER(id, number, name, derived, weight, word, sql) "\"" word "\"",
	SEARCH_LAYERS(LAYER)
#undef LAYER
};
enum { LAYERS = sizeof(words) / sizeof(words[0]) };

struct owner { struct uuid tenant_id; };
static const struct field owner_fields[] = { FIELD(struct owner, tenant_id, .doc = "The tenant") };
static const struct record owner_record = RECORD("SearchOwner", struct owner, owner_fields);

void
search_changed(struct db *db, struct uuid media_id, int priority)
{
	const struct owner *o;
	struct job_place place = { .priority = priority };

	if (db_run(db, "INSERT IGNORE INTO search_pending (media_id) VALUES (?)", ARGS(ID(media_id))) != 1)
		return;
	o = db_row(db, &owner_record, "FROM media t WHERE t.id = ?", ARGS(ID(media_id)));
	if (o == NULL)
		return;
	place.tenant_id = o->tenant_id;
	job_add(db, index, place, .media_id = media_id);
}

void
search_renew(struct db *db, struct uuid media_id, int priority)
{
	db_run(db, "DELETE FROM search_layers WHERE media_id = ?", ARGS(ID(media_id)));
	search_changed(db, media_id, priority);
}

void
search_told(struct db *db, struct uuid media_id, const char *type, const char *data)
{
	size_t i;
	bool has = strcmp(type, "media.created") == 0;

	if (!has && strcmp(type, "media.updated") != 0 && strcmp(type, "metadata.updated") != 0)
		return;
	for (i = 0; !has && data != NULL && i < LAYERS; i++)
		has = strstr(data, words[i]) != NULL;
	if (has)
		search_changed(db, media_id, PRIORITY_NORMAL);
}
