/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of a chapter's entries. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/outline.h"

struct outline
outline_load(struct db *db, struct uuid chapter_id, size_t more)
{
	struct arena *mem = db_arena(db);
	struct outline o = { .chapter_id = chapter_id };
	struct entry *rows;
	size_t n, i;

	rows = db_rows_brief(db, &entry_record, "FROM entries t WHERE t.chapter_id = ?", ARGS(ID(chapter_id)), &n);
	o.at = arena_array(mem, n + more + 1, sizeof(*o.at));
	o.ids = arena_array(mem, n + 1, sizeof(*o.ids));
	for (i = 0; i < n; i++) {
		o.at[i].entry = rows[i];
		o.ids[i] = (struct outline_id){ rows[i].id, (int64_t)i };
	}
	o.n = o.n_ids = n;
	qsort(o.ids, n, sizeof(*o.ids), uuid_order);
	for (i = 0; i < n; i++)
		o.at[i].parent = outline_find(&o, rows[i].parent_id);
	return o;
}

int64_t
outline_find(const struct outline *o, struct uuid id)
{
	const struct outline_id *found = bsearch(&id, o->ids, o->n_ids, sizeof(*o->ids), uuid_order);

	return found != NULL ? found->at : -1;
}

int64_t
outline_add(struct outline *o, const struct entry *e)
{
	o->at[o->n] = (struct outline_node){ .entry = *e, .parent = -1, .is_new = true };
	return (int64_t)o->n++;
}

void
outline_move(struct outline *o, int64_t at, int64_t parent, int64_t wanted)
{
	o->at[at].parent = parent;
	o->at[at].is_moving = true;
	o->at[at].wanted = wanted == 0 ? INT64_MAX : wanted;
	o->at[at].said = ++o->said;
}

/* Is it below itself? */
static bool
goes_round(const struct outline *o, int64_t at)
{
	int64_t up = o->at[at].parent;
	size_t steps;

	for (steps = 0; up >= 0 && steps <= o->n; steps++)
		up = o->at[up].parent;
	return up >= 0;
}

/* By parent; then those that stay where they are before those that move, each in their order. */
static int
by_place(const void *a, const void *b)
{
	const struct outline_node *x = *(struct outline_node *const *)a, *y = *(struct outline_node *const *)b;
	int64_t p = x->wanted, q = y->wanted;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->is_moving != y->is_moving)
		return x->is_moving ? 1 : -1;
	if (!x->is_moving) {
		p = x->entry.sort_number;
		q = y->entry.sort_number;
	} else if (p == q) {
		p = x->said;
		q = y->said;
	}
	return p < q ? -1 : p > q;
}

/* The children of one parent, `stay` of them where they were: each that moves gets the number that it wants, if there
 * are so many. */
static void
number(struct outline *o, struct outline_node **child, size_t stay, size_t n)
{
	size_t fixed = 0, moving = stay;
	int64_t place;

	for (place = 1; fixed < stay || moving < n; place++) {
		struct outline_node *next = fixed == stay || (moving < n && child[moving]->wanted <= place) ?
		    child[moving++] : child[fixed++];
		struct uuid none = { { 0 } }, parent = next->parent < 0 ? none : o->at[next->parent].entry.id;

		if (next->entry.sort_number != place || !uuid_equal(next->entry.parent_id, parent))
			next->is_touched = true;
		next->entry.sort_number = place;
		next->entry.parent_id = parent;
	}
}

int64_t
outline_number(struct arena *mem, struct outline *o)
{
	struct outline_node **all = arena_array(mem, o->n + 1, sizeof(struct outline_node *));
	size_t n = 0, from, stay, to, i;
	int64_t round = -1;

	for (i = 0; i < o->n; i++) {
		if (o->at[i].is_moving && goes_round(o, (int64_t)i) && (round < 0 || o->at[i].said < o->at[round].said))
			round = (int64_t)i;
		if (!o->at[i].is_removed)
			all[n++] = &o->at[i];
	}
	if (round >= 0)
		return round;
	qsort(all, n, sizeof(struct outline_node *), by_place);
	for (from = 0; from < n; from = to) {
		stay = 0;
		for (to = from; to < n && all[to]->parent == all[from]->parent; to++)
			stay += !all[to]->is_moving;
		number(o, all + from, stay, to - from);
	}
	return -1;
}

/* Each is walked up to where it is known, and what was walked is known then. */
size_t
outline_remove(struct arena *mem, struct outline *o, int64_t at)
{
	enum { UNKNOWN, BELOW_IT, ELSEWHERE } *is = arena_array(mem, o->n, sizeof(*is)), found;
	size_t n = 0, i;
	int64_t up, last;

	is[at] = BELOW_IT;
	for (i = 0; i < o->n; i++) {
		for (up = (int64_t)i; up >= 0 && is[up] == UNKNOWN; up = o->at[up].parent)
			;
		found = up < 0 ? ELSEWHERE : is[up];
		for (last = up, up = (int64_t)i; up != last; up = o->at[up].parent)
			is[up] = found;
		o->at[i].is_removed = found == BELOW_IT;
		n += o->at[i].is_removed;
	}
	return n;
}

size_t
outline_texts(const struct outline *o)
{
	size_t bytes = 0, i;

	for (i = 0; i < o->n; i++) {
		const struct entry *e = &o->at[i].entry;

		if (!o->at[i].is_removed)
			bytes += (e->title != NULL ? strlen(e->title) : 0) + (e->description != NULL ?
			    strlen(e->description) : 0);
	}
	return bytes;
}

/* One entry that moves gives all behind it other numbers: their texts would be more than a statement may hold. */
static void
put_node(struct buf *b, const struct outline_node *node)
{
	const struct entry *e = &node->entry;

	buf_printf(b, "%s{\"id\":\"%s\",\"number\":%lld", b->len > 1 ? "," : "", hex_encode(b->mem, e->id.b,
	    sizeof(e->id.b)), (long long)e->sort_number);
	if (!uuid_is_none(e->parent_id))
		buf_printf(b, ",\"parent\":\"%s\"", hex_encode(b->mem, e->parent_id.b, sizeof(e->parent_id.b)));
	if (node->is_reworded) {
		buf_text(b, ",\"title\":");
		buf_json(b, e->title);
	}
	if (node->is_reworded && e->description != NULL) {
		buf_text(b, ",\"description\":");
		buf_json(b, e->description);
	}
	buf_char(b, '}');
}

#define WRITTEN "JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$.id', parent CHAR(32) PATH '$.parent', number BIGINT PATH " \
	"'$.number', title VARCHAR(1000) PATH '$.title', description TEXT PATH '$.description')) j"

void
outline_write(struct req *r, const struct outline *o)
{
	struct buf touched = BUF(r->mem), removed = BUF(r->mem);
	size_t i;

	buf_char(&touched, '[');
	buf_char(&removed, '[');
	for (i = 0; i < o->n; i++) {
		const struct outline_node *node = &o->at[i];

		if (node->is_removed)
			put_node(&removed, node);
		else if (node->is_new)
			db_insert(r->db, "entries", &entry_record, &node->entry);
		else if (node->is_touched)
			put_node(&touched, node);
	}
	buf_char(&touched, ']');
	buf_char(&removed, ']');
	if (touched.len > 2)
		db_run(r->db, "UPDATE " WRITTEN " STRAIGHT_JOIN entries t ON t.id = UNHEX(j.id) SET t.parent_id = "
		    "UNHEX(j.parent), t.sort_number = j.number, t.description = IF(j.title IS NULL, t.description, j.description), "
		    "t.title = COALESCE(j.title, t.title), "
		    "t.version = t.version + 1, t.updated_at = ? WHERE t.chapter_id = ?",
		    ARGS(STR(buf_string(&touched)),
		    TIME(r->now), ID(o->chapter_id)));
	if (removed.len == 2)
		return;
	db_run(r->db, "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$.id')) j STRAIGHT_JOIN sections t ON "
	    "t.entry_id = UNHEX(j.id) SET t.entry_id = NULL, t.version = t.version + 1, t.updated_at = ?",
	    ARGS(STR(buf_string(&removed)), TIME(r->now)));
	db_run(r->db, "DELETE t FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$.id')) j STRAIGHT_JOIN "
	    "entries t ON t.id = UNHEX(j.id) WHERE t.chapter_id = ?", ARGS(STR(buf_string(&removed)),
	    ID(o->chapter_id)));
}

/* In the order of by_place() the children of one parent are neighbours.  The walk follows each to its first child, else
 * to its neighbour, else up to where there is one: it needs no stack, however deep that is. */
struct list
outline_list(struct arena *mem, struct outline *o)
{
	struct outline_node **all = arena_array(mem, o->n + 1, sizeof(struct outline_node *));
	size_t *first = arena_array(mem, o->n + 1, sizeof(*first)), *place = arena_array(mem, o->n + 1, sizeof(*place)),
	    i;
	struct entry *rows = arena_array(mem, o->n + 1, sizeof(*rows));
	struct list list = { rows, 0 };

	for (i = 0; i < o->n; i++)
		all[i] = &o->at[i];
	qsort(all, o->n, sizeof(struct outline_node *), by_place);
	all[o->n] = NULL;
	for (i = o->n; i > 0; i--) {
		first[all[i - 1]->parent + 1] = i;		/* counted from 1; 0: it has no child */
		place[all[i - 1] - o->at] = i;
	}
	for (i = first[0]; i > 0 && list.n < o->n;) {
		const struct outline_node *node = all[i - 1];

		rows[list.n++] = node->entry;
		i = first[node - o->at + 1];
		while (i == 0) {
			const struct outline_node *next = all[place[node - o->at]];

			if (next != NULL && next->parent == node->parent)
				i = place[next - o->at];
			else if (node->parent >= 0)
				node = &o->at[node->parent];
			else
				break;
		}
	}
	return list;
}
