/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Glossaries of tenants: from a text to their row. */
#include <stdlib.h>
#include <string.h>

#include "core/glossary.h"
#include "core/text.h"

struct glossary { struct strings terms; };
static const struct field glossary_fields[] = {
	FIELD(struct glossary, terms, .doc = "The most important first"),
};
static const struct record glossary_record = RECORD("Glossary", struct glossary, glossary_fields);

/* A term and where it stood, to find those that come twice. */
struct place { const char *term; size_t line; };

static int
by_term(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->term, y->term);

	return order != 0 ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int
by_line(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

/* What is wrong with the term, or NULL. */
static const char *
fault_of(const char *term, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)term[i] < ' ' || term[i] == 0x7f)
			return "has a control character";
	return utf8_valid(term, n) ? NULL : "is not UTF-8";
}

/* Sorted by term, then by line: of those that are alike the first one stays. */
static void
keep_once(struct place *p, size_t n, struct arena *mem, struct strings *terms)
{
	size_t kept = 0, i;

	qsort(p, n, sizeof(*p), by_term);
	for (i = 0; i < n; i++)
		if (kept == 0 || strcmp(p[kept - 1].term, p[i].term) != 0)
			p[kept++] = p[i];
	qsort(p, kept, sizeof(*p), by_line);
	*terms = (struct strings){ arena_array(mem, kept, sizeof(const char *)), kept };
	for (i = 0; i < kept; i++)
		terms->at[i] = p[i].term;
}

bool
glossary_parse(struct arena *mem, const char *text, size_t n, struct strings *terms, const char **fault)
{
	struct place *p = arena_array(mem, GLOSSARY_MAX + 1, sizeof(*p));
	const char *at = text, *end = text + n, *next, *last, *wrong;
	size_t line, count = 0;

	for (line = 1; at < end; at = next + 1, line++) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next == NULL ? end : next;
		for (last = next; at < last && strchr(" \t\r", at[0]) != NULL && at[0] != '\0';)
			at++;
		while (last > at && strchr(" \t\r", last[-1]) != NULL && last[-1] != '\0')
			last--;
		if (at == last)
			continue;
		wrong = fault_of(at, (size_t)(last - at));
		if (wrong == NULL && count == GLOSSARY_MAX)
			wrong = arena_printf(mem, "is one too many: a glossary has %d terms at most", GLOSSARY_MAX);
		p[count] = (struct place){ arena_copy_n(mem, at, (size_t)(last - at)), line };
		if (wrong == NULL && utf8_length(p[count].term) > GLOSSARY_TERM_MAX)
			wrong = arena_printf(mem, "is longer than %d characters", GLOSSARY_TERM_MAX);
		if (wrong != NULL) {
			*fault = arena_printf(mem, "line %zu %s", line, wrong);
			return false;
		}
		count++;
	}
	keep_once(p, count, mem, terms);
	return true;
}

struct strings
glossary_read(struct db *db, struct uuid tenant_id)
{
	const struct glossary *g = db_row(db, &glossary_record, "FROM tenant_glossaries t WHERE t.tenant_id = ?",
	    ARGS(ID(tenant_id)));

	return g != NULL ? g->terms : (struct strings){ NULL, 0 };
}

void
glossary_write(struct db *db, struct uuid tenant_id, const struct strings *terms)
{
	struct buf json = BUF(db_arena(db));
	size_t i;

	if (terms->n == 0) {
		db_run(db, "DELETE FROM tenant_glossaries WHERE tenant_id = ?", ARGS(ID(tenant_id)));
		return;
	}
	for (i = 0; i < terms->n; i++) {
		buf_char(&json, i == 0 ? '[' : ',');
		buf_json(&json, terms->at[i]);
	}
	buf_char(&json, ']');
	db_run(db, "INSERT INTO tenant_glossaries (tenant_id, terms, updated_at) VALUES (?, ?, ?) ON DUPLICATE KEY "
	    "UPDATE terms = VALUES(terms), updated_at = VALUES(updated_at)", ARGS(ID(tenant_id), STR(buf_string(&json)),
	    TIME(moment_now())));
}
