/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of a chapter are changed: one or many, all or none. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/outline.h"

static const struct field entry_change_fields[] = {
	FIELD(struct entry_change, id,          .on = CREATE, .required = true, .doc = "The entry"),
	FIELD(struct entry_change, title,       .on = CREATE, .min = 1, .max = 1000, .doc = "Shown to people"),
	FIELD(struct entry_change, description, .on = CREATE | MULTILINE, .max = 10000, .doc = "For people"),
	FIELD(struct entry_change, sort_number, .on = CREATE, .min = 1,
	    .doc = "Place among those with the same parent, from 1; one that is too large means the last"),
	FIELD(struct entry_change, parent_id,   .on = CREATE, .doc = "Entry of the chapter that it stands below; null: at the top"),
	FIELD(struct entry_change, section_id,  .on = CREATE, .doc = "Section in the chapter's context that it leads to; null: none"),
	FIELD(struct entry_change, given,       .on = HIDDEN | GIVEN, .doc = "Which members there were"),
};
const struct record entry_change_record = RECORD("EntryChange", struct entry_change, entry_change_fields);

/* A section in the context of the chapter. */
struct linked { struct uuid id, entry_id, then; };
static const struct field linked_fields[] = {
	FIELD(struct linked, id, .doc = "Section"),
	FIELD(struct linked, entry_id, .doc = "What leads to it now"),
	FIELD(struct linked, then, .sql = "t.entry_id", .doc = "And afterwards"),
};
static const struct record linked_record = RECORD("LinkedSection", struct linked, linked_fields);

static bool
has(const struct entry_change *c, const char *member)
{
	return ((uint64_t)c->given & record_bit(&entry_change_record, member)) != 0;
}

/* A title that is null is none: that is a fault of the input. */
static void
change_text(struct req *r, struct outline_node *node, const struct entry_change *c, const char *pointer)
{
	struct entry *e = &node->entry;

	if (has(c, "title") && c->title == NULL)
		fault(r, arena_printf(r->mem, "%s/title", pointer), "required", "this may not be null");
	else if (has(c, "title") && (e->title == NULL || strcmp(e->title, c->title) != 0)) {
		e->title = c->title;
		node->is_touched = node->is_reworded = true;
	}
	if (has(c, "description") && (c->description == NULL || e->description == NULL ||
	    strcmp(c->description, e->description) != 0) && c->description != e->description) {
		e->description = c->description;
		node->is_touched = node->is_reworded = true;
	}
}

static void
change_place(struct req *r, struct outline *o, int64_t at, const struct entry_change *c, const char *pointer)
{
	int64_t now = o->at[at].parent, parent = now;

	if (has(c, "parent_id")) {
		parent = outline_find(o, c->parent_id);
		if (parent < 0 && !uuid_is_none(c->parent_id))
			fault(r, arena_printf(r->mem, "%s/parentId", pointer), "not_found", "the chapter has no such "
			    "entry");
	}
	if (o->at[at].is_new || has(c, "sort_number") || parent != now)
		outline_move(o, at, parent, has(c, "sort_number") ? c->sort_number : 0);
}

static struct linked *
section_of(struct linked *all, size_t n, struct uuid id)
{
	return n == 0 ? NULL : bsearch(&id, all, n, sizeof(*all), uuid_order);
}

static void
take_away(struct linked *all, size_t n, struct uuid entry_id)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (uuid_equal(all[i].then, entry_id))
			all[i].then = (struct uuid){ { 0 } };
}

/* What an entry leads to is part of it. */
static void
touch(struct outline *o, struct uuid entry_id)
{
	int64_t at = outline_find(o, entry_id);

	if (at >= 0)
		o->at[at].is_touched = true;
}

/* Those that say something of their section first let go of the one that they have, so that two may change them. */
static void
change_links(struct req *r, struct outline *o, struct linked *all, size_t n_all, const struct entry_change *c,
    const int64_t *at, const char *const *pointers, size_t n)
{
	struct linked *s;
	size_t i;

	for (i = 0; i < n; i++)
		if (has(&c[i], "section_id"))
			take_away(all, n_all, o->at[at[i]].entry.id);
	for (i = 0; i < n; i++) {
		const char *pointer = arena_printf(r->mem, "%s/sectionId", pointers[i]);

		if (!has(&c[i], "section_id") || uuid_is_none(c[i].section_id))
			continue;
		s = section_of(all, n_all, c[i].section_id);
		if (s == NULL)
			fault(r, pointer, "not_found", "there is no such section in the context of this chapter");
		else if (!uuid_is_none(s->then))
			fault(r, pointer, "section_linked", "another entry leads to this section");
		else
			s->then = o->at[at[i]].entry.id;
	}
	for (s = all; s < all + n_all; s++)
		if (!uuid_equal(s->entry_id, s->then)) {
			touch(o, s->entry_id);
			touch(o, s->then);
		}
}

/* An entry leads to one section at most, at any moment: first all are let go. */
static void
write_links(struct req *r, const struct linked *all, size_t n)
{
	struct buf b = BUF(r->mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < n; i++) {
		if (uuid_equal(all[i].entry_id, all[i].then))
			continue;
		buf_printf(&b, "%s{\"id\":\"%s\"", b.len > 1 ? "," : "", hex_encode(r->mem, all[i].id.b,
		    sizeof(all[i].id.b)));
		if (!uuid_is_none(all[i].then))
			buf_printf(&b, ",\"entry\":\"%s\"", hex_encode(r->mem, all[i].then.b, sizeof(all[i].then.b)));
		buf_char(&b, '}');
	}
	buf_char(&b, ']');
	if (b.len == 2)
		return;
	db_run(r->db, "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$.id')) j STRAIGHT_JOIN sections t ON "
	    "t.id = UNHEX(j.id) SET t.entry_id = NULL", ARGS(STR(buf_string(&b))));
	db_run(r->db, "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$.id', entry CHAR(32) PATH '$.entry')) j "
	    "STRAIGHT_JOIN sections t ON t.id = UNHEX(j.id) SET t.entry_id = UNHEX(j.entry), t.version = t.version + "
	    "1, t.updated_at = ?", ARGS(STR(buf_string(&b)), TIME(r->now)));
}

bool
entries_change(struct req *r, struct outline *o, const struct entry_change *c, const int64_t *at,
    const char *const *pointers, size_t n)
{
	struct linked *all = NULL;
	bool links = false;
	const size_t before = outline_texts(o);
	size_t n_all = 0, texts, i;
	int64_t round;

	for (i = 0; i < n; i++) {
		change_text(r, &o->at[at[i]], &c[i], pointers[i]);
		change_place(r, o, at[i], &c[i], pointers[i]);
		links |= has(&c[i], "section_id");
	}
	if (links)
		all = db_rows(r->db, &linked_record, "FROM sections t WHERE t.chapter_id = ? ORDER BY t.id",
		    ARGS(ID(o->chapter_id)), &n_all);
	change_links(r, o, all, n_all, c, at, pointers, n);
	round = r->faults.n > 0 ? -1 : outline_number(r->mem, o);
	for (i = 0; i < n && round >= 0; i++)
		if (at[i] == round)
			fault(r, arena_printf(r->mem, "%s/parentId", pointers[i]), "cycle", "it would be below itself");
	if (r->faults.n > 0) {
		refuse(r, ERR_INVALID, NULL);
		return false;
	}
	texts = outline_texts(o);
	if (texts > ENTRY_TEXTS_MAX && texts > before) {
		refuse(r, ERR_TOO_MANY_ENTRIES, "The entries of a chapter may have %d bytes of text together.",
		    ENTRY_TEXTS_MAX);
		return false;
	}
	outline_write(r, o);
	write_links(r, all, n_all);
	return true;
}
