/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who and what is named in an asset, with the names that its tenant knows: its users, its glossary, its tags, and the
 * channels of the asset.  Only what its words name is told, and not of whom it was known.  Safe to run twice: the row
 * is replaced, by what was made of the words that are there.
 */
#include "core/glossary.h"
#include "media/entities.h"
#include "jobs/gist.h"

enum { NAMES_MAX = 20000 };

struct named { const char *name, *category; };
static const struct field named_fields[] = {
	FIELD(struct named, name, .doc = "As it is written"),
	FIELD(struct named, category, .doc = "What it names"),
};
static const struct record named_record = RECORD("KnownName", struct named, named_fields);

static struct entity_name *
known(struct job *j, struct uuid media_id, size_t *n)
{
	const struct strings glossary = glossary_read(j->db, j->tenant_id);
	const struct named *rows;
	struct entity_name *all;
	size_t rows_n, i;

	rows = db_rows(j->db, &named_record, "FROM ((SELECT p.name, 'person' AS category FROM principals p WHERE "
	    "p.tenant_id = ? AND p.kind = 'user' LIMIT 10000) UNION ALL (SELECT g.name, 'term' FROM tags g WHERE "
	    "g.tenant_id = ? AND g.gone_at = 0 LIMIT 5000) UNION ALL (SELECT c.name, 'term' FROM channels c JOIN "
	    "media_channels x ON x.channel_id = c.id WHERE c.tenant_id = ? AND x.media_id = ?)) t", ARGS(ID(j->tenant_id), ID(j->tenant_id),
	    ID(j->tenant_id), ID(media_id)), &rows_n);
	all = arena_array(j->mem, rows_n + glossary.n, sizeof(*all));
	*n = 0;
	for (i = 0; i < rows_n; i++)
		if (rows[i].name != NULL)
			all[(*n)++] = (struct entity_name){ rows[i].name, rows[i].category };
	for (i = 0; i < glossary.n && *n < NAMES_MAX; i++)
		all[(*n)++] = (struct entity_name){ glossary.at[i], "term" };
	return all;
}

enum outcome
entities_make(struct job *j, struct uuid media_id, const struct words *w)
{
	const struct entity_name *names;
	struct entity *e;
	size_t n_names, n;

	names = known(j, media_id, &n_names);
	job_pause(j);
	e = entities_find(w->prose, names, n_names, &n);
	return words_put(j, media_id, w, "entities", "kinothek entities 1", entities_json(j->mem, e, n)) ? DONE :
	    RETRY;
}

enum outcome
entities_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct words w = words_read(j, in->media_id);

	return entities_make(j, in->media_id, &w);
}
