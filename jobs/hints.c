/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints for engines: name, tags, description and pages of an asset, and the glossary of its tenant. */
#include <string.h>

#include "core/glossary.h"
#include "core/text.h"
#include "jobs/hints.h"

enum { TEXTS_MAX = 1000 };

struct described { const char *name, *description; struct strings tags; };
static const struct field described_fields[] = {
	FIELD(struct described, name, .doc = "Shown to people"),
	FIELD(struct described, tags, .doc = "Names"),
	FIELD(struct described, description, .doc = "Shown to people"),
};
static const struct record described_record = RECORD("described", struct described, described_fields);

/* Whatever is called text in what was read from pages and pictures. */
struct seen { struct strings texts; };
static const struct field seen_fields[] = {
	FIELD(struct seen, texts, .sql = "JSON_EXTRACT(t.data, '$**.text')", .doc = "Of pages"),
};
static const struct record seen_record = RECORD("seen", struct seen, seen_fields);

struct texts { struct strings list; size_t bytes; };

static void
add(struct job *j, struct texts *t, const char *text)
{
	size_t n = text == NULL ? 0 : strlen(text), room = HINTS_TEXTS - t->bytes;

	if (n > HINTS_TEXT)
		n = HINTS_TEXT;
	if (n > room)
		n = room;
	n = n == 0 ? 0 : utf8_prefix(text, n);
	if (n == 0 || t->list.n == TEXTS_MAX)
		return;
	t->list.at[t->list.n++] = arena_copy_n(j->mem, text, n);
	t->bytes += n;
}

static void
add_all(struct job *j, struct texts *t, const struct strings *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		add(j, t, list->at[i]);
}

const struct hints *
hints_read(struct job *j)
{
	struct hints *h = NEW(j->mem, struct hints);
	const struct described *d = db_row(j->db, &described_record, "FROM media t WHERE t.id = ?",
	    ARGS(ID(j->media_id)));
	struct texts t = { { arena_array(j->mem, TEXTS_MAX, sizeof(const char *)), 0 }, 0 };
	struct strings glossary = glossary_read(j->db, j->tenant_id);
	const struct seen *s;
	size_t n, i;

	if (d != NULL) {
		add(j, &t, d->name);
		add_all(j, &t, &d->tags);
		add(j, &t, d->description);
	}
	s = db_rows(j->db, &seen_record, "FROM metadata t WHERE t.media_id = ? AND t.kind IN ('documentContent', "
	    "'videoTexts', 'imageTexts') AND LENGTH(t.data) < 4194304", ARGS(ID(j->media_id)), &n);
	for (i = 0; i < n; i++)
		add_all(j, &t, &s[i].texts);
	h->texts = t.list;
	hints_choose(j->mem, h, &glossary);
	return h;
}
