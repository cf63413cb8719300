/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of contents: chapters, the tree of their entries, and what these lead to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "fcgi/entry.h"
#include "tests/inside.h"
#include "tests/world.h"

/* An asset of a minute. */
static const char *
asset(struct world *w)
{
	struct uuid id = world_media(w, "video", "Council");

	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(id)));
	return arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, id));
}

/* The address of a new one below it. */
static const char *
make(struct world *w, const char *collection, const char *body)
{
	struct req *r = call(w, "POST", collection, body);

	if (r->status != 201)
		fail_msg("%s %s: %s", collection, body, buf_string(&r->out));
	return arena_printf(w->mem, "%s/%s", collection, text(w, r, "data.id"));
}

static const char *
chapter(struct world *w, const char *of)
{
	return make(w, arena_printf(w->mem, "%s/chapters", of), "{\"name\":\"Agenda\"}");
}

static const char *
id_of(const char *address)
{
	return strrchr(address, '/') + 1;
}

/* An entry at the end of those below `parent`, or at the top. */
static const char *
entry(struct world *w, const char *of, const char *title, const char *parent)
{
	return make(w, arena_printf(w->mem, "%s/entries", of), parent == NULL ? arena_printf(w->mem,
	    "{\"title\":\"%s\"}", title) : arena_printf(w->mem, "{\"title\":\"%s\",\"parentId\":\"%s\"}", title,
	    id_of(parent)));
}

/* The tree as a line: "A1 B2 (C1 D2)"; what is below something follows it in brackets. */
static void
put_below(struct world *w, struct buf *b, const struct req *r, int n, const char *parent)
{
	bool first = true;
	int i;

	for (i = 0; i < n; i++) {
		const char *of = text(w, r, arena_printf(w->mem, "data.entries.%d.parentId", i)),
		    *id = text(w, r, arena_printf(w->mem, "data.entries.%d.id", i));
		struct buf below = BUF(w->mem);

		if (strcmp(of != NULL ? of : "", parent) != 0)
			continue;
		buf_printf(b, "%s%s%s", first ? "" : " ", text(w, r, arena_printf(w->mem, "data.entries.%d.title", i)),
		    text(w, r, arena_printf(w->mem, "data.entries.%d.sortNumber", i)));
		first = false;
		put_below(w, &below, r, n, id);
		if (below.len > 0)
			buf_printf(b, " (%s)", buf_string(&below));
	}
}

static const char *
tree(struct world *w, const char *of)
{
	struct req *r = call(w, "GET", of, NULL);
	struct buf b = BUF(w->mem);
	int n = 0;

	assert_int_equal(r->status, 200);
	while (text(w, r, arena_printf(w->mem, "data.entries.%d.id", n)) != NULL)
		n++;
	put_below(w, &b, r, n, "");
	return buf_string(&b);
}

static int
status(struct world *w, const char *method, const char *address, const char *body)
{
	return call(w, method, address, body)->status;
}

static void
a_chapter_is_made_renamed_listed_and_deleted(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of);
	struct req *r;

	r = call(w, "GET", c, NULL);
	assert_string_equal(text(w, r, "data.type"), "usergenerated");
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.entries"), "[ ]");
	r = call(w, "PUT", c, "{\"description\":\"Of the council\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.name"), "Agenda");
	assert_string_equal(text(w, r, "data.description"), "Of the council");
	assert_int_equal(status(w, "PUT", c, "{\"name\":null}"), 422);
	assert_int_equal(status(w, "PUT", c, "{\"name\":\"Minutes\",\"description\":null}"), 200);
	r = call(w, "GET", arena_printf(w->mem, "%s/chapters?sort=name&filter=name=Minutes", of), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.name"), "Minutes");
	assert_null(text(w, r, "data.0.entries"));
	assert_int_equal(status(w, "DELETE", c, NULL), 200);
	assert_int_equal(status(w, "GET", c, NULL), 404);
}

static void
the_list_in_the_context_of_a_channel_is_there_where_the_asset_is(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *list = arena_printf(w->mem, "%s/chapters?channelId=", of);

	chapter(w, of);
	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "%s%s", list, uuid_text(w->mem, w->channel_id)),
	    NULL), "pagination.total"), "1");
	assert_int_equal(status(w, "GET", arena_printf(w->mem, "%s%s", list, uuid_text(w->mem, uuid_new())),
	    NULL), 404);
}

static void
entries_stand_in_the_order_of_the_tree_without_gaps(void **state)
{
	struct world *w = *state;
	const char *c = chapter(w, asset(w)), *a = entry(w, c, "A", NULL), *b = entry(w, c, "B", NULL), *d;
	struct req *r;

	entry(w, c, "C", b);
	d = entry(w, c, "D", b);
	entry(w, c, "E", d);
	assert_string_equal(tree(w, c), "A1 B2 (C1 D2 (E1))");
	/* Each is followed by what is below it. */
	r = call(w, "GET", c, NULL);
	assert_string_equal(text(w, r, "data.entries.2.title"), "C");
	assert_string_equal(text(w, r, "data.entries.4.title"), "E");
	make(w, arena_printf(w->mem, "%s/entries", c), "{\"title\":\"F\",\"sortNumber\":1}");
	assert_string_equal(tree(w, c), "F1 A2 B3 (C1 D2 (E1))");
	make(w, arena_printf(w->mem, "%s/entries", c), "{\"title\":\"G\",\"sortNumber\":2147483648}");
	assert_string_equal(tree(w, c), "F1 A2 B3 (C1 D2 (E1)) G4");
	/* Up to the top, to a place; and down again, to the end. */
	assert_int_equal(status(w, "PUT", d, "{\"title\":\"D\",\"parentId\":null,\"sortNumber\":2}"), 201);
	assert_string_equal(tree(w, c), "F1 D2 (E1) A3 B4 (C1) G5");
	assert_int_equal(status(w, "PUT", a, arena_printf(w->mem, "{\"title\":\"A\",\"parentId\":\"%s\"}", id_of(b))),
	    201);
	assert_string_equal(tree(w, c), "F1 D2 (E1) B3 (C1 A2) G4");
	/* Without a place it stays. */
	assert_int_equal(status(w, "PUT", d, "{\"title\":\"DD\"}"), 201);
	assert_string_equal(tree(w, c), "F1 DD2 (E1) B3 (C1 A2) G4");
	assert_int_equal(status(w, "DELETE", d, NULL), 200);
	assert_string_equal(tree(w, c), "F1 B2 (C1 A2) G3");
	assert_int_equal(status(w, "DELETE", b, NULL), 200);
	assert_string_equal(tree(w, c), "F1 G2");
	assert_int_equal(status(w, "GET", a, NULL), 404);
}

static void
no_entry_is_below_itself_or_one_of_another_chapter(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *other = chapter(w, of), *a = entry(w, c, "A", NULL),
	    *b = entry(w, c, "B", a), *d = entry(w, c, "C", b), *x = entry(w, other, "X", NULL);
	const char *const parents[] = { id_of(a), id_of(b), id_of(d) };
	struct req *r;
	size_t i;

	for (i = 0; i < 3; i++) {
		r = call(w, "PUT", a, arena_printf(w->mem, "{\"title\":\"A\",\"parentId\":\"%s\"}", parents[i]));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/parentId", "cycle"));
	}
	r = call(w, "PUT", a, arena_printf(w->mem, "{\"title\":\"A\",\"parentId\":\"%s\"}", id_of(x)));
	assert_true(has_fault(r, "/parentId", "not_found"));
	for (i = 0; i < 3; i++) {
		static const char *const numbers[] = { "0", "-1", "1.5" };

		assert_int_equal(status(w, "PUT", a, arena_printf(w->mem, "{\"title\":\"A\",\"sortNumber\":%s}",
		    numbers[i])),
		    422);
	}
	assert_string_equal(tree(w, c), "A1 (B1 (C1))");
}

/* A swap, a cycle of two that only both together make, and one bad among good ones. */
static void
many_are_changed_at_once_or_none(void **state)
{
	struct world *w = *state;
	const char *c = chapter(w, asset(w)), *all = arena_printf(w->mem, "%s/entries", c), *a = entry(w, c, "A", NULL),
	    *b = entry(w, c, "B", NULL), *d = entry(w, c, "C", NULL);
	struct req *r;

	r = call(w, "PATCH", all, arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\",\"sortNumber\":1},{\"id\":\"%s\","
	    "\"sortNumber\":3,\"title\":\"AA\"}]}", id_of(d), id_of(a)));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.ok"), "true");
	assert_string_equal(r->etag, call(w, "GET", c, NULL)->etag);
	assert_string_equal(tree(w, c), "C1 B2 AA3");
	r = call(w, "PATCH", all, arena_printf(w->mem,
	    "{\"entries\":[{\"id\":\"%s\",\"parentId\":\"%s\"},{\"id\":\"%s\","
	    "\"parentId\":\"%s\"}]}", id_of(a), id_of(b), id_of(b), id_of(a)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/entries/0/parentId", "cycle"));
	r = call(w, "PATCH", all, arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\",\"title\":\"X\"},{\"id\":\"%s\","
	    "\"title\":null},{\"id\":\"%s\"},{\"id\":\"%s\",\"title\":\"Y\"}]}", id_of(a), id_of(b),
	    uuid_text(w->mem, uuid_new()), id_of(a)));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/entries/2/id", "not_found"));
	assert_true(has_fault(r, "/entries/3/id", "duplicate"));
	r = call(w, "PATCH", all, arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\",\"title\":\"X\"},{\"id\":\"%s\","
	    "\"title\":null}]}", id_of(a), id_of(b)));
	assert_true(has_fault(r, "/entries/1/title", "required"));
	r = call(w, "PATCH", all, "{\"entries\":[{\"title\":\"X\"}]}");
	assert_true(has_fault(r, "/entries/0/id", "required"));
	assert_string_equal(tree(w, c), "C1 B2 AA3");
	/* What was below one and goes below another: the chain turns round, which no order of single steps could do. */
	assert_int_equal(status(w, "PATCH", all, arena_printf(w->mem,
	    "{\"entries\":[{\"id\":\"%s\",\"parentId\":\"%s\"},"
	    "{\"id\":\"%s\",\"parentId\":\"%s\"}]}", id_of(a), id_of(b), id_of(b), id_of(d))), 200);
	assert_string_equal(tree(w, c), "C1 (B1 (AA1))");
	assert_int_equal(status(w, "PATCH", all, arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\",\"parentId\":null},"
	    "{\"id\":\"%s\",\"parentId\":\"%s\"},{\"id\":\"%s\",\"parentId\":\"%s\"}]}", id_of(a), id_of(d), id_of(b),
	    id_of(b), id_of(a))), 200);
	assert_string_equal(tree(w, c), "AA1 (B1 (C1))");
}

/* Ids of another tenant, chapter and kind, in each place of a body that names several. */
static void
what_belongs_elsewhere_is_not_there(void **state)
{
	struct world *w = *state, *foreign = world_other(w);
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *theirs = chapter(foreign,
	    asset(foreign)), *elsewhere = chapter(w, of);
	const char *const ids[] = {
		id_of(entry(foreign, theirs, "X", NULL)), id_of(entry(w, elsewhere, "Y", NULL)), id_of(theirs),
		    id_of(c),
		id_of(make(w, arena_printf(w->mem, "%s/sections", of), "{\"type\":\"marker\",\"time\":1}")),
		uuid_text(w->mem, uuid_new()),
	};
	static const char *const places[] = { "id", "parentId", "sectionId" };
	size_t i, k;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (k = 0; k < sizeof(ids) / sizeof(ids[0]); k++) {
			const char *rest = i == 0 ? "" : arena_printf(w->mem, ",\"id\":\"%s\"", id_of(a));
			struct req *r = call(w, "PATCH", arena_printf(w->mem, "%s/entries", c), arena_printf(w->mem,
			    "{\"entries\":[{\"%s\":\"%s\"%s}]}", places[i], ids[k], rest));

			assert_int_equal(r->status, 422);
			assert_true(has_fault(r, arena_printf(w->mem, "/entries/0/%s", places[i]), "not_found"));
		}
	assert_string_equal(tree(w, c), "A1");
}

/* A section in the context of a chapter. */
static const char *
section(struct world *w, const char *of, const char *chapter_address, const char *rest)
{
	return make(w, arena_printf(w->mem, "%s/sections", of), arena_printf(w->mem, "{\"chapterId\":\"%s\",%s}",
	    id_of(chapter_address), rest));
}

static void
an_entry_leads_to_one_section_and_a_section_has_one_entry(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *b = entry(w, c, "B", NULL),
	    *s = section(w, of, c, "\"type\":\"marker\",\"time\":1"), *t = section(w, of, c,
	    "\"type\":\"timerange\",\"start\":2,\"end\":3"), *elsewhere = section(w, of, chapter(w, of),
	    "\"type\":\"marker\",\"time\":1");
	struct req *r;

	r = call(w, "PUT", arena_printf(w->mem, "%s/sections/%s", a, id_of(s)), NULL);
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.section.id"), id_of(s));
	assert_string_equal(text(w, call(w, "GET", s, NULL), "data.entryId"), id_of(a));
	assert_string_equal(text(w, call(w, "GET", c, NULL), "data.entries.0.section.time"), "1.000");
	r = call(w, "PUT", arena_printf(w->mem, "%s/sections/%s", b, id_of(s)), NULL);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "section_linked");
	r = call(w, "PUT", arena_printf(w->mem, "%s/sections/%s", b, id_of(elsewhere)), NULL);
	assert_string_equal(text(w, r, "data.code"), "section_elsewhere");
	/* Another one in its place. */
	assert_int_equal(status(w, "PUT", arena_printf(w->mem, "%s/sections/%s", a, id_of(t)), NULL), 201);
	assert_null(text(w, call(w, "GET", s, NULL), "data.entryId"));
	/* Two change theirs in one go. */
	assert_int_equal(status(w, "PUT", arena_printf(w->mem, "%s/sections/%s", b, id_of(s)), NULL), 201);
	assert_int_equal(status(w, "PATCH", arena_printf(w->mem, "%s/entries", c), arena_printf(w->mem,
	    "{\"entries\":[{\"id\":"
	    "\"%s\",\"sectionId\":\"%s\"},{\"id\":\"%s\",\"sectionId\":\"%s\"}]}", id_of(a), id_of(s), id_of(b),
	    id_of(t))), 200);
	assert_string_equal(text(w, call(w, "GET", a, NULL), "data.section.id"), id_of(s));
	assert_string_equal(text(w, call(w, "GET", b, NULL), "data.section.id"), id_of(t));
	r = call(w, "PATCH", arena_printf(w->mem, "%s/entries", c), arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\","
	    "\"sectionId\":\"%s\"}]}", id_of(a), id_of(t)));
	assert_true(has_fault(r, "/entries/0/sectionId", "section_linked"));
	assert_int_equal(status(w, "DELETE", arena_printf(w->mem, "%s/sections/%s", a, id_of(t)), NULL), 404);
	assert_int_equal(status(w, "DELETE", arena_printf(w->mem, "%s/sections/%s", a, id_of(s)), NULL), 200);
	assert_null(text(w, call(w, "GET", a, NULL), "data.section.id"));
	/* The entry goes, the section stays; the chapter goes with both. */
	assert_int_equal(status(w, "DELETE", b, NULL), 200);
	assert_null(text(w, call(w, "GET", t, NULL), "data.entryId"));
	assert_int_equal(status(w, "DELETE", c, NULL), 200);
	assert_int_equal(status(w, "GET", t, NULL), 404);
	assert_int_equal(status(w, "GET", elsewhere, NULL), 200);
}

static void
a_copy_has_the_same_tree_and_sections_of_its_own(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *b = entry(w, c, "B", a), *copy;
	struct req *r, *now;

	section(w, of, c, "\"type\":\"marker\",\"time\":5");
	assert_int_equal(status(w, "PUT", arena_printf(w->mem, "%s/sections/%s", b, id_of(section(w, of, c,
	    "\"type\":\"timerange\",\"start\":2,\"end\":3,\"title\":\"Vote\""))), NULL), 201);
	r = call(w, "PUT", arena_printf(w->mem, "%s/copy", c), "{\"name\":\"Mine\"}");
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.name"), "Mine");
	copy = arena_printf(w->mem, "%s/chapters/%s", of, text(w, r, "data.id"));
	assert_string_not_equal(copy, c);
	assert_string_equal(tree(w, copy), "A1 (B1)");
	now = call(w, "GET", copy, NULL);
	assert_string_equal(buf_string(&r->out), buf_string(&now->out));
	assert_string_equal(text(w, now, "data.entries.1.section.title"), "Vote");
	assert_string_equal(text(w, now, "data.entries.1.section.chapterId"), id_of(copy));
	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "%s/sections?includeLinked=true&chapterId=%s",
	    of,
	    id_of(copy)), NULL), "pagination.total"), "2");
	assert_int_equal(status(w, "DELETE", c, NULL), 200);
	assert_string_equal(tree(w, copy), "A1 (B1)");
}

static void
an_autogenerated_chapter_is_changed_by_nobody_but_may_go(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *s = section(w, of, c,
	    "\"type\":\"timerange\",\"start\":1,\"end\":2"), *other = make(w, arena_printf(w->mem, "%s/sections", of),
	    "{\"type\":\"marker\",\"time\":1}");
	const char *link = arena_printf(w->mem, "%s/sections/%s", a, id_of(s));
	const struct { const char *method, *uri, *body; int status; } tries[] = {
		{ "PUT", c, "{\"name\":\"X\"}", 422 },
		{ "POST", arena_printf(w->mem, "%s/entries", c), "{\"title\":\"X\"}", 422 },
		{ "PUT", a, "{\"title\":\"X\"}", 422 },
		{ "PATCH", arena_printf(w->mem, "%s/entries", c), arena_printf(w->mem,
		    "{\"entries\":[{\"id\":\"%s\"}]}",
		    id_of(a)), 403 },
		{ "DELETE", a, NULL, 403 },
		{ "PUT", link, NULL, 422 },
		{ "DELETE", link, NULL, 403 },
		{ "PATCH", s, "{\"title\":\"X\"}", 422 },
		{ "PATCH", s, "{\"chapterId\":null}", 422 },
		{ "POST", arena_printf(w->mem, "%s/split", s), "{\"splitAt\":1.5}", 422 },
		{ "DELETE", s, NULL, 403 },
		{ "POST", arena_printf(w->mem, "%s/sections", of), arena_printf(w->mem,
		    "{\"type\":\"marker\",\"time\":1,\"chapterId\":\"%s\"}", id_of(c)), 422 },
		{ "PATCH", other, arena_printf(w->mem, "{\"chapterId\":\"%s\"}", id_of(c)), 422 },
	};
	struct uuid id;
	size_t i;

	assert_true(uuid_parse(id_of(c), &id));
	db_run(w->db, "UPDATE chapters SET type = 'autogenerated' WHERE id = ?", ARGS(ID(id)));
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct req *r = call(w, tries[i].method, tries[i].uri, tries[i].body);

		if (r->status != tries[i].status || strcmp(text(w, r, "data.code"), "chapter_not_editable") != 0)
			fail_msg("%s %s: %s", tries[i].method, tries[i].uri, buf_string(&r->out));
	}
	assert_string_equal(tree(w, c), "A1");
	assert_string_equal(text(w, call(w, "PUT", arena_printf(w->mem, "%s/copy", c), NULL), "data.type"),
	    "usergenerated");
	assert_int_equal(status(w, "DELETE", c, NULL), 200);
}

/* Whatever hangs on an asset goes with it, linked or not. */
static void
an_asset_goes_with_all_that_hangs_on_it(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *s = make(w,
	    arena_printf(w->mem, "%s/sections", of), arena_printf(w->mem,
	    "{\"type\":\"marker\",\"time\":1,\"chapterId\":\"%s\"}", id_of(c)));

	struct uuid media, id;

	assert_true(uuid_parse(id_of(of), &media));
	assert_true(uuid_parse(id_of(c), &id));
	entry(w, c, "B", a);
	assert_int_equal(status(w, "PUT", arena_printf(w->mem, "%s/sections/%s", a, id_of(s)), NULL), 201);
	assert_int_equal(status(w, "DELETE", arena_printf(w->mem, "%s?permanent=true", of), NULL), 200);
	assert_int_equal(number(w, "FROM chapters WHERE media_id = ?", ARGS(ID(media))), 0);
	assert_int_equal(number(w, "FROM sections WHERE media_id = ?", ARGS(ID(media))), 0);
	assert_int_equal(number(w, "FROM entries WHERE chapter_id = ?", ARGS(ID(id))), 0);
}

/* A model in C does the same: lists of children. */
enum { NODES = 40, STEPS = 600 };
struct model { int parent[NODES], n[NODES + 1], child[NODES + 1][NODES]; };

static void
model_out(struct model *m, int at)
{
	int p = m->parent[at] + 1, i;

	for (i = 0; m->child[p][i] != at; i++)
		;
	memmove(&m->child[p][i], &m->child[p][i + 1], (size_t)(m->n[p] - i - 1) * sizeof(int));
	m->n[p]--;
}

static void
model_in(struct model *m, int at, int parent, int number)
{
	int p = parent + 1, i = number == 0 || number > m->n[p] + 1 ? m->n[p] : number - 1;

	memmove(&m->child[p][i + 1], &m->child[p][i], (size_t)(m->n[p] - i) * sizeof(int));
	m->child[p][i] = at;
	m->n[p]++;
	m->parent[at] = parent;
}

static void
model_put(struct buf *b, const struct model *m, int p)
{
	int i;

	for (i = 0; i < m->n[p]; i++) {
		buf_printf(b, "%sN%d.%d", i > 0 ? " " : "", m->child[p][i], i + 1);
		if (m->n[m->child[p][i] + 1] > 0) {
			buf_text(b, " (");
			model_put(b, m, m->child[p][i] + 1);
			buf_char(b, ')');
		}
	}
}

static bool
model_below(const struct model *m, int at, int of)
{
	while (at >= 0 && at != of)
		at = m->parent[at];
	return at == of;
}

static void
a_thousand_moves_end_as_the_model_says(void **state)
{
	struct world *w = *state;
	const char *c = chapter(w, asset(w)), *nodes[NODES];
	struct model *m = NEW(w->mem, struct model);
	unsigned seed = 7;
	int i;

	for (i = 0; i < NODES; i++) {
		nodes[i] = entry(w, c, arena_printf(w->mem, "N%d.", i), NULL);
		model_in(m, i, -1, 0);
	}
	for (i = 0; i < STEPS; i++) {
		int at = rand_r(&seed) % NODES, parent = rand_r(&seed) % (NODES + 1) - 1,
		    number = rand_r(&seed) % 6 + 1;
		bool round = parent >= 0 && model_below(m, parent, at);
		struct req *r = call(w, "PUT", nodes[at], arena_printf(w->mem,
		    "{\"title\":\"N%d.\",\"parentId\":%s%s%s,"
		    "\"sortNumber\":%d}", at, parent < 0 ? "" : "\"", parent < 0 ? "null" : id_of(nodes[parent]),
		    parent < 0 ? "" : "\"", number));

		assert_int_equal(r->status, round ? 422 : 201);
		if (!round) {
			model_out(m, at);
			model_in(m, at, parent, number);
		}
		if (i % 50 == 0 || i == STEPS - 1) {
			struct buf b = BUF(w->mem);

			model_put(&b, m, 0);
			assert_string_equal(tree(w, c), buf_string(&b));
		}
	}
}

/* Of the connection so far. */
static int64_t
commits(struct world *w)
{
	return db_number(w->db, "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = "
	    "'COM_COMMIT'", NO_ARGS, 0);
}

/* All of a chapter, renamed and in the other order. */
static void
two_hundred_entries_change_in_one_transaction_of_few_statements(void **state)
{
	enum { MANY = 200 };
	struct world *w = *state;
	const char *c = chapter(w, asset(w)), *ids[MANY];
	struct buf b = BUF(w->mem);
	int64_t statements, transactions;
	struct req *r;
	int i;

	for (i = 0; i < MANY; i++)
		ids[i] = id_of(entry(w, c, arena_printf(w->mem, "E%d", i), NULL));
	buf_text(&b, "{\"entries\":[");
	for (i = 0; i < MANY; i++)
		buf_printf(&b, "%s{\"id\":\"%s\",\"title\":\"F%d\",\"sortNumber\":%d}", i > 0 ? "," : "", ids[i], i,
		    MANY - i);
	buf_text(&b, "]}");
	transactions = commits(w);
	statements = world_statements(w);
	r = call(w, "PATCH", arena_printf(w->mem, "%s/entries", c), buf_string(&b));
	assert_int_equal(r->status, 200);
	assert_in_range(world_statements(w) - statements - 1, 4, 12);
	assert_int_equal(commits(w) - transactions, 1);
	r = call(w, "GET", c, NULL);
	assert_string_equal(text(w, r, "data.entries.0.title"), "F199");
	assert_string_equal(text(w, r, "data.entries.199.title"), "F0");
}

/* A chain of a thousand; all 1,000 at once; and no more statements for them than for one. */
static void
deep_and_large_ones_are_one_transaction_of_few_statements(void **state)
{
	enum { MANY = 1000 };
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *above = NULL;
	struct buf b = BUF(w->mem);
	const struct entry *rows;
	struct uuid id;
	int64_t before;
	struct req *r;
	int i;

	assert_true(uuid_parse(id_of(c), &id));
	for (i = 0; i < MANY; i++)
		above = entry(w, c, arena_printf(w->mem, "E%d", i), above);
	rows = db_rows(w->db, &entry_record, "FROM entries t JOIN chapters c ON c.id = t.chapter_id WHERE "
	    "t.chapter_id = ?",
	    ARGS(ID(id)), &(size_t){ 0 });
	buf_text(&b, "{\"entries\":[");
	for (i = 0; i < MANY; i++)
		buf_printf(&b, "%s{\"id\":\"%s\",\"parentId\":null,\"title\":\"\xf0\x9f\x8e\xac "
		    "\\\"%d\\\\\",\"description\":\"\\u00e4\\n\"}",
		    i > 0 ? "," : "", uuid_text(w->mem, rows[i].id), i);
	buf_text(&b, "]}");
	before = world_statements(w);
	r = call(w, "PATCH", arena_printf(w->mem, "%s/entries", c), buf_string(&b));
	assert_int_equal(r->status, 200);
	assert_in_range(world_statements(w) - before - 1, 4, 12);
	r = call(w, "GET", c, NULL);
	assert_string_equal(text(w, r, "data.entries.999.title"), "\xf0\x9f\x8e\xac \"999\\");
	assert_string_equal(text(w, r, "data.entries.999.description"), "\xc3\xa4\n");
	assert_string_equal(text(w, r, "data.entries.999.sortNumber"), "1000");
	db_run(w->db, "INSERT INTO sections (id, media_id, chapter_id, entry_id, type, time, created_at, updated_at) "
	    "SELECT UNHEX(REPLACE(UUID(), '-', '')), c.media_id, c.id, e.id, 'marker', 1000, 1, 1 FROM entries e JOIN "
	    "chapters c ON c.id = e.chapter_id WHERE c.id = ?", ARGS(ID(id)));
	before = world_statements(w);
	r = call(w, "PUT", arena_printf(w->mem, "%s/copy", c), NULL);
	assert_int_equal(r->status, 200);
	assert_in_range(world_statements(w) - before - 1, 4, 10);
	assert_string_equal(text(w, r, "data.entries.999.title"), "\xf0\x9f\x8e\xac \"999\\");
	assert_int_equal(number(w, "FROM entries e JOIN chapters c ON c.id = e.chapter_id WHERE c.media_id = (SELECT "
	    "media_id FROM chapters WHERE id = ?)", ARGS(ID(id))), 2 * MANY);
	assert_int_equal(number(w, "FROM sections t JOIN entries e ON e.id = t.entry_id AND e.chapter_id = "
	    "t.chapter_id WHERE t.media_id = (SELECT media_id FROM chapters WHERE id = ?)", ARGS(ID(id))), 2 * MANY);
}

/* One answer tells all of them, and one that moves writes none of the others'. */
static void
long_texts_stay_and_grow_no_more(void **state)
{
	static const char received[] = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE "
	    "VARIABLE_NAME = 'BYTES_RECEIVED'";
	struct world *w = *state;
	const char *c = chapter(w, asset(w)), *a = entry(w, c, "A", NULL);
	struct uuid id;
	int64_t before;
	struct req *r;

	assert_true(uuid_parse(id_of(c), &id));
	db_run(w->db, "INSERT INTO entries (id, chapter_id, sort_number, title, description, created_at, updated_at) "
	    "SELECT UNHEX(REPLACE(UUID(), '-', '')), ?, 2 + a.d + 10 * b.d, 'B', REPEAT('x', 10000), 1, 1 FROM " TEN_SQL
	    " a, " TEN_SQL " b", ARGS(ID(id)));
	before = db_number(w->db, received, NO_ARGS, 0);
	assert_int_equal(call(w, "PUT", a, "{\"title\":\"C\",\"sortNumber\":101}")->status, 201);
	assert_in_range(db_number(w->db, received, NO_ARGS, 0) - before, 100, 100000);
	assert_int_equal(number(w, "FROM entries WHERE chapter_id = ? AND title = 'B' AND sort_number < 101 AND "
	    "LENGTH(description) = 10000", ARGS(ID(id))), 100);
	assert_int_equal(number(w, "FROM entries WHERE chapter_id = ? AND title = 'C' AND sort_number = 101 AND "
	    "description IS NULL", ARGS(ID(id))), 1);
	db_run(w->db, "UPDATE entries SET description = REPEAT('x', 65000) WHERE chapter_id = ? AND title = 'B'",
	    ARGS(ID(id)));
	db_run(w->db, "INSERT INTO entries (id, chapter_id, sort_number, title, description, created_at, updated_at) "
	    "SELECT UNHEX(REPLACE(UUID(), '-', '')), chapter_id, sort_number + 101, 'D', description, 1, 1 FROM entries WHERE "
	    "chapter_id = ? AND sort_number < 41", ARGS(ID(id)));
	db_run(w->db, "UPDATE entries SET sort_number = sort_number - 1 WHERE chapter_id = ? AND title = 'D'",
	    ARGS(ID(id)));
	assert_int_equal(call(w, "PUT", a, "{\"title\":\"CC\"}")->status, 409);
	r = call(w, "POST", arena_printf(w->mem, "%s/entries", c), "{\"title\":\"D\"}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "too_many_entries");
	assert_int_equal(call(w, "PUT", a, "{\"title\":\"E\",\"sortNumber\":1}")->status, 201);
}

/* Whatever shows a chapter is asked for again when something in it has changed. */
static void
a_chapter_is_of_another_version_when_something_in_it_changes(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *s = section(w, of, c,
	    "\"type\":\"marker\",\"time\":1"), *link = arena_printf(w->mem, "%s/sections/%s", a, id_of(s));
	const struct { const char *method, *uri, *body; } changes[] = {
		{ "PUT", link, NULL }, { "PATCH", s, "{\"time\":2}" },
		{ "POST", arena_printf(w->mem, "%s/split", s), "{\"splitAt\":3}" }, { "DELETE", link, NULL },
		{ "PATCH", s, "{\"chapterId\":null}" }, { "PATCH", s, arena_printf(w->mem, "{\"chapterId\":\"%s\"}",
		    id_of(c)) },
		{ "DELETE", s, NULL }, { "PUT", a, "{\"title\":\"B\"}" }, { "DELETE", a, NULL },
	};
	const char *etag = call(w, "GET", c, NULL)->etag, *next;
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct req *r = call(w, changes[i].method, changes[i].uri, changes[i].body);

		if (r->status > 201)
			fail_msg("%s %s: %s", changes[i].method, changes[i].uri, buf_string(&r->out));
		next = call(w, "GET", c, NULL)->etag;
		assert_string_not_equal(next, etag);
		etag = next;
	}
}

/* What it leads to is part of an entry: who has read it before the link changed writes nothing over that, and who asks
 * again is told. */
static void
an_entry_is_of_another_version_when_what_it_leads_to_changes(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *b = entry(w, c, "B", NULL),
	    *s = section(w, of, c, "\"type\":\"marker\",\"time\":1"), *t = section(w, of, c,
	    "\"type\":\"marker\",\"time\":2"), *link = arena_printf(w->mem, "%s/sections/%s", a, id_of(s));
	const struct { const char *method, *uri, *body; bool links; } changes[] = {
		{ "PUT", link, NULL, true }, { "PATCH", s, "{\"time\":3}", false },
		{ "PATCH", s, "{\"title\":\"Here\"}", false }, { "DELETE", link, NULL, true },
		{ "PUT", a, arena_printf(w->mem, "{\"title\":\"A\",\"sectionId\":\"%s\"}", id_of(t)), true },
		{ "PATCH", arena_printf(w->mem, "%s/entries", c), arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\","
		    "\"sectionId\":\"%s\"},{\"id\":\"%s\",\"sectionId\":\"%s\"}]}", id_of(b), id_of(t), id_of(a),
		    id_of(s)), true },
		{ "DELETE", s, NULL, true },
	};
	struct req *r, *again;
	const char *etag;
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		etag = call(w, "GET", a, NULL)->etag;
		r = call(w, changes[i].method, changes[i].uri, changes[i].body);
		if (r->status > 201)
			fail_msg("%s %s: %s", changes[i].method, changes[i].uri, buf_string(&r->out));
		again = NEW(w->mem, struct req);
		again->if_none_match = etag;
		assert_int_equal(call_req(w, again, w->token, "GET", a, NULL)->status, 200);
		again = NEW(w->mem, struct req);
		again->if_match = etag;
		r = call_req(w, again, w->token, "PUT", a, "{\"title\":\"A\"}");
		if (r->status != (changes[i].links ? 412 : 201))
			fail_msg("%s %s: %d", changes[i].method, changes[i].uri, r->status);
	}
	/* Linking takes the tag of the entry, which it answers with. */
	s = section(w, of, c, "\"type\":\"marker\",\"time\":1");
	again = NEW(w->mem, struct req);
	again->if_match = etag;
	assert_int_equal(call_req(w, again, w->token, "PUT", arena_printf(w->mem, "%s/sections/%s", a, id_of(s)),
	    NULL)->status, 412);
	again = NEW(w->mem, struct req);
	again->if_match = call(w, "GET", a, NULL)->etag;
	r = call_req(w, again, w->token, "PUT", arena_printf(w->mem, "%s/sections/%s", a, id_of(s)), NULL);
	assert_int_equal(r->status, 201);
	assert_string_equal(r->etag, call(w, "GET", a, NULL)->etag);
	again = NEW(w->mem, struct req);
	again->if_match = r->etag;
	assert_int_equal(call_req(w, again, w->token, "DELETE", arena_printf(w->mem, "%s/sections/%s", a, id_of(s)),
	    NULL)->status, 200);
}

/* Else the import would write over it. */
static void
what_an_import_fills_is_changed_when_that_is_over(void **state)
{
	struct world *w = *state;
	const char *of = asset(w), *c = chapter(w, of), *a = entry(w, c, "A", NULL), *list = arena_printf(w->mem,
	    "%s/entries", c);
	const struct { const char *method, *uri, *body; int then; } changes[] = {
		{ "PUT", c, "{\"name\":\"Other\"}", 200 }, { "POST", list, "{\"title\":\"B\"}", 201 },
		{ "PATCH", list, arena_printf(w->mem, "{\"entries\":[{\"id\":\"%s\",\"title\":\"C\"}]}", id_of(a)),
		    200 },
		{ "PUT", a, "{\"title\":\"D\"}", 201 }, { "DELETE", a, NULL, 200 },
	};
	struct uuid id, job;
	struct req *r;
	size_t i;
	int over;

	assert_true(uuid_parse(id_of(c), &id));
	job = job_add(w->db, agenda, (struct job_place){ .tenant_id = w->tenant_id }, .chapter_id = id,
	    .url = "https://oparl.example/m/1");
	db_run(w->db, "UPDATE chapters SET status = 'calculating', import_job_id = ? WHERE id = ?", ARGS(ID(job),
	    ID(id)));
	for (over = 0; over < 2; over++) {
		for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
			r = call(w, changes[i].method, changes[i].uri, changes[i].body);
			if (r->status != (over ? changes[i].then : 409))
				fail_msg("%s %s: %s", changes[i].method, changes[i].uri, buf_string(&r->out));
			if (!over)
				assert_string_equal(text(w, r, "data.code"), "calculating");
		}
		db_run(w->db, "UPDATE chapters SET status = 'ready' WHERE id = ?", ARGS(ID(id)));
	}
}

static void
an_import_is_calculating_as_long_as_its_job_goes_on(void **state)
{
	static const char *const bad[] = { "ftp://oparl.example/m", "file:///etc/passwd", "//oparl.example",
	    "meeting", "http://me@oparl.example/m", "https://oparl.example:0/m", "https:///m" };
	static const char *const hosts[] = { INSIDE_HOSTS };
	struct world *w = *state;
	const char *of = asset(w), *imports = arena_printf(w->mem, "%s/chapters/imports", of), *address;
	struct uuid id;
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = call(w, "POST", imports, arena_printf(w->mem, "{\"url\":\"%s\"}", bad[i]));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/url", "format"));
	}
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		if (inside_is_name(hosts[i]))
			continue;
		r = call(w, "POST", imports, arena_printf(w->mem, "{\"url\":\"http://%s/m\"}", hosts[i]));
		assert_int_equal(r->status, 422);
		assert_true(has_fault(r, "/url", inside_code(hosts[i])));
	}
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'agenda' AND tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	r = call(w, "POST", imports, "{\"url\":\"https://oparl.example/m/1\"}");
	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.status"), "calculating");
	assert_string_equal(text(w, r, "data.type"), "usergenerated");
	address = arena_printf(w->mem, "%s/chapters/%s", of, text(w, r, "data.id"));
	assert_string_equal(r->location, address);
	assert_string_equal(text(w, call(w, "GET", address, NULL), "data.status"), "calculating");
	assert_true(uuid_parse(text(w, r, "data.id"), &id));
	assert_int_equal(number(w, "FROM jobs j JOIN chapters c ON c.import_job_id = j.id WHERE j.kind = 'agenda' AND "
	    "j.state = 'ready' AND c.id = ? AND j.media_id = c.media_id", ARGS(ID(id))), 1);
	db_run(w->db, "UPDATE jobs SET state = 'cancelled' WHERE kind = 'agenda' AND tenant_id = ?",
	    ARGS(ID(w->tenant_id)));
	assert_string_equal(text(w, call(w, "GET", address, NULL), "data.status"), "failed");
	db_run(w->db, "DELETE FROM jobs WHERE kind = 'agenda' AND tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_string_equal(text(w, call(w, "GET", address, NULL), "data.status"), "failed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_chapter_is_made_renamed_listed_and_deleted),
		WORLD_TEST(the_list_in_the_context_of_a_channel_is_there_where_the_asset_is),
		WORLD_TEST(entries_stand_in_the_order_of_the_tree_without_gaps),
		WORLD_TEST(no_entry_is_below_itself_or_one_of_another_chapter),
		WORLD_TEST(many_are_changed_at_once_or_none),
		WORLD_TEST(what_belongs_elsewhere_is_not_there),
		WORLD_TEST(an_entry_leads_to_one_section_and_a_section_has_one_entry),
		WORLD_TEST(a_copy_has_the_same_tree_and_sections_of_its_own),
		WORLD_TEST(an_autogenerated_chapter_is_changed_by_nobody_but_may_go),
		WORLD_TEST(an_asset_goes_with_all_that_hangs_on_it),
		WORLD_TEST(a_thousand_moves_end_as_the_model_says),
		WORLD_TEST(two_hundred_entries_change_in_one_transaction_of_few_statements),
		WORLD_TEST(deep_and_large_ones_are_one_transaction_of_few_statements),
		WORLD_TEST(long_texts_stay_and_grow_no_more),
		WORLD_TEST(a_chapter_is_of_another_version_when_something_in_it_changes),
		WORLD_TEST(an_entry_is_of_another_version_when_what_it_leads_to_changes),
		WORLD_TEST(what_an_import_fills_is_changed_when_that_is_over),
		WORLD_TEST(an_import_is_calculating_as_long_as_its_job_goes_on),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
