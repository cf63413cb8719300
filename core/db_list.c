/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One page of a list: filter, order, cursor and total, put together from field tables. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/db_list.h"

enum { MAX_LIST_ARGS = DB_FILTER_ARGS, MAX_CONDITIONS = 8, MAX_SUBQUERIES = 2, EXACT = 10000, MAX_HINTED = 64 };

/* In the place of a value that is null. */
static const char null_mark[] = "~";

struct query {
	struct arena *mem;
	const struct record *record;
	struct page *page;
	struct buf where;			/* " AND …" of the filter */
	struct arg args[MAX_LIST_ARGS];
	int n, conditions, subqueries;
	const struct field *sort;		/* NULL: by id */
	bool descending;
};

static void
refuse(struct query *q, const char *parameter, const char *detail)
{
	if (q->page->fault == NULL) {
		q->page->fault = parameter;
		q->page->fault_detail = detail;
	}
}

static void
add_arg(struct query *q, struct arg a)
{
	if (q->n < MAX_LIST_ARGS - 1)
		q->args[q->n++] = a;
	else
		refuse(q, "filter", "too many conditions");
	q->args[q->n].kind = ARG_END;
}

static bool is_filter(const struct field *f) { return (f->on & FILTER) != 0; }
static bool is_sort(const struct field *f) { return (f->on & SORT) != 0; }
static bool is_subquery(const struct field *f) { return f->on & FILTER && f->where != NULL &&
    strstr(f->where, "SELECT") != NULL; }

/* "name, type, …" */
static const char *
listed(struct query *q, bool (*is)(const struct field *))
{
	struct buf b = BUF(q->mem);
	size_t i;

	for (i = 0; i < q->record->n; i++)
		if (is(&q->record->fields[i]))
			buf_printf(&b, b.len ? ", %s" : "%s", record_json_name(q->record, &q->record->fields[i]));
	return buf_string(&b);
}

static const struct field *
named(struct query *q, const char *name, size_t n, unsigned flag)
{
	size_t i;

	for (i = 0; i < q->record->n; i++) {
		const struct field *f = &q->record->fields[i];
		const char *json = record_json_name(q->record, f);

		if (f->on & flag && strlen(json) == n && strncasecmp(json, name, n) == 0)
			return f;
	}
	return NULL;
}

static const char *
column(struct query *q, const struct field *f)
{
	return f->sql != NULL ? f->sql : arena_printf(q->mem, "t.`%s`", f->name);
}

static size_t
name_length(const char *p)
{
	size_t n = 0;

	while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z'))
		n++;
	return n;
}

static size_t
op_length(const char *p)
{
	if ((*p == '!' || *p == '>' || *p == '<') && p[1] == '=')
		return 2;
	return *p == '=' || *p == '~';
}

/* A plus that was sent as it is arrives as a blank, and then the next condition is part of the value. */
static bool
holds_condition(struct query *q, const char *value)
{
	const char *p = value;
	size_t n;

	while ((p = strchr(p, ' ')) != NULL) {
		n = name_length(++p);
		if (op_length(p + n) > 0 && named(q, p, n, FILTER) != NULL)
			return true;
	}
	return false;
}

static const char *
wanted_form(struct query *q, const struct field *f)
{
	if (f->one_of != NULL)
		return arena_printf(q->mem, "one of %s", f->one_of);
	switch (f->kind) {
	case KIND_UUID: return "an id: 36 characters, in lower case";
	case KIND_MOMENT: return "a time as 2026-01-31T12:00:00Z; send the + of an offset as %2B";
	case KIND_POSITION: return "seconds, as 90 or 12.5";
	case KIND_INT: case KIND_NUMBER: return "a whole number";
	case KIND_BOOL: return "true or false";
	default: return "ASCII letters and digits";
	}
}

static bool
suits(const struct field *f, const char *value)
{
	for (; f->on & ASCII && *value != '\0'; value++)
		if ((unsigned char)*value >= 0x80)
			return false;
	return true;
}

/* The value as the field's kind, or a fault. */
static bool
value_arg(struct query *q, const struct field *f, const char *value, struct arg *out)
{
	struct uuid id;
	struct moment m;
	int64_t n;

	switch (f->kind) {
	case KIND_UUID:
		*out = uuid_parse(value, &id) ? ID(id) : (struct arg){ .kind = ARG_END };
		break;
	case KIND_MOMENT:
		*out = moment_parse(value, &m) ? TIME(m) : (struct arg){ .kind = ARG_END };
		break;
	case KIND_POSITION:
		*out = position_parse(value, &n) ? INT(n) : (struct arg){ .kind = ARG_END };
		break;
	case KIND_INT: case KIND_NUMBER:
		*out = int_parse(value, &n) ? INT(n) : (struct arg){ .kind = ARG_END };
		break;
	case KIND_BOOL:
		*out = strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ? INT(value[0] == 't') :
		    (struct arg){ .kind = ARG_END };
		break;
	default:
		*out = (struct arg){ .kind = ARG_END };
		if (suits(f, value) && (f->one_of == NULL || (*value != '\0' && word_in(f->one_of, value,
		    strlen(value)))))
			*out = STR(value);
	}
	if (out->kind == ARG_END)
		refuse(q, "filter", arena_printf(q->mem, "'%s' is no value of %s: wanted is %s", value,
		    record_json_name(q->record, f), wanted_form(q, f)));
	return out->kind != ARG_END;
}

/* LIKE with % _ and the escape itself taken literally. */
static struct arg
contains(struct query *q, const char *value)
{
	struct buf b = BUF(q->mem);

	buf_char(&b, '%');
	for (; *value != '\0'; value++) {
		if (strchr("%_!", *value) != NULL)
			buf_char(&b, '!');
		buf_char(&b, *value);
	}
	buf_char(&b, '%');
	return STR(buf_string(&b));
}

/* Each costs a look at every row that the others leave, and a subquery another one into the index. */
static bool
has_room(struct query *q, const struct field *f)
{
	if (++q->conditions > MAX_CONDITIONS)
		refuse(q, "filter", arena_printf(q->mem, "at most %d conditions are taken", MAX_CONDITIONS));
	if (is_subquery(f) && ++q->subqueries > MAX_SUBQUERIES)
		refuse(q, "filter", arena_printf(q->mem, "at most %d conditions on %s are taken together",
		    MAX_SUBQUERIES, listed(q, is_subquery)));
	return q->page->fault == NULL;
}

static void
add_condition(struct query *q, const struct field *f, const char *op, size_t op_len, const char *value)
{
	const char *mark;
	struct arg a;

	if (op_len == 0 || !word_in(record_operators(f), op, op_len)) {
		refuse(q, "filter", arena_printf(q->mem, "%s takes one of these behind its name: %s",
		    record_json_name(q->record, f), record_operators(f)));
		return;
	}
	if (holds_condition(q, value)) {
		refuse(q, "filter", arena_printf(q->mem, "the value '%s' holds a further condition: send the + between "
		    "them as %%2B", value));
		return;
	}
	if (!has_room(q, f))
		return;
	if (*op == '~' && suits(f, value))
		a = contains(q, value);
	else if (!value_arg(q, f, value, &a))
		return;
	if (f->where != NULL)
		buf_printf(&q->where, *op == '!' ? " AND NOT (%s)" : " AND (%s)", f->where);
	else if (*op == '~')
		buf_printf(&q->where, " AND %s LIKE ? ESCAPE '!'", column(q, f));
	else if (*op == '!')
		buf_printf(&q->where, " AND NOT (%s <=> ?)", column(q, f));
	else
		buf_printf(&q->where, " AND %s %.*s ?", column(q, f), (int)op_len, op);
	for (mark = f->where != NULL ? strchr(f->where, '?') : ""; mark != NULL; mark = *mark != '\0' ? strchr(mark + 1,
	    '?') : NULL)
		add_arg(q, a);
}

/* A plus ends the value only where a further condition follows it: "name=C++" is one. */
static size_t
value_length(const char *p)
{
	size_t n;

	for (n = 0; p[n] != '\0'; n++)
		if (p[n] == '+' && name_length(p + n + 1) > 0 && op_length(p + n + 1 + name_length(p + n + 1)) > 0)
			break;
	return n;
}

struct condition { const char *name, *op, *value; size_t name_n, op_n, value_n; };

/* Takes the next one from *p.  False when there is none. */
static bool
next_condition(const char **p, struct condition *c)
{
	if (*p == NULL || **p == '\0')
		return false;
	c->name = *p;
	c->name_n = name_length(*p);
	c->op = c->name + c->name_n;
	c->op_n = op_length(c->op);
	c->value = c->op + c->op_n;
	c->value_n = value_length(c->value);
	*p = c->value + c->value_n;
	*p += **p == '+';
	return true;
}

static bool
is_on(const struct condition *c, const char *name)
{
	return c->name_n == strlen(name) && strncasecmp(c->name, name, c->name_n) == 0;
}

bool
db_filters_for(const char *p, const char *name, const char *value)
{
	struct condition c;

	while (next_condition(&p, &c))
		if (is_on(&c, name) && c.op_n == 1 && *c.op == '=' && c.value_n == strlen(value) &&
		    memcmp(c.value, value, c.value_n) == 0)
			return true;
	return false;
}

const char *
db_filter_value(struct arena *mem, const char *p, const char *name, size_t i)
{
	struct condition c;

	while (next_condition(&p, &c))
		if (is_on(&c, name) && i-- == 0)
			return arena_copy_n(mem, c.value, c.value_n);
	return NULL;
}

static void
add_filter(struct query *q, const char *p)
{
	struct condition c;

	while (q->page->fault == NULL && next_condition(&p, &c)) {
		const struct field *f = named(q, c.name, c.name_n, FILTER);

		if (f == NULL)
			refuse(q, "filter", arena_printf(q->mem, "'%.*s' begins with no property that can be filtered "
			    "by; these can: %s", (int)(c.name_n + c.op_n + c.value_n), c.name, listed(q, is_filter)));
		else
			add_condition(q, f, c.op, c.op_n, arena_copy_n(q->mem, c.value, c.value_n));
	}
}

static void
read_sort(struct query *q)
{
	const char *sort = q->page->sort;
	size_t n;

	q->descending = true;
	if (sort == NULL || *sort == '\0')
		return;
	n = strcspn(sort, ":");
	q->sort = named(q, sort, n, SORT);
	if (q->sort == NULL) {
		refuse(q, "sort", arena_printf(q->mem, "there is no sort by '%.*s' here; there is: %s; with :desc or "
		    ":asc", (int)n, sort, listed(q, is_sort)));
		return;
	}
	q->descending = strcasecmp(sort + n, ":desc") == 0;
	if (!q->descending && sort[n] != '\0' && strcasecmp(sort + n, ":asc") != 0)
		refuse(q, "sort", "behind the property stands :asc, :desc or nothing");
}

/* Cursor: base64url of the sort value, a dot, the id; a tilde for a value that is null.  Without sort: the id alone. */
static const char *
cursor_of(struct query *q, const void *row)
{
	const struct field *id = record_field(q->record, "id");
	const void *at = (const char *)row + id->offset;
	const char *text = id->kind == KIND_INT ? arena_printf(q->mem, "%lld", (long long)*(const int64_t *)at) :
	    uuid_text(q->mem, *(const struct uuid *)at);
	const char *value;

	if (q->sort == NULL)
		return text;
	at = (const char *)row + q->sort->offset;
	switch (q->sort->kind) {
	case KIND_STRING: value = *(const char *const *)at; break;
	case KIND_INT: value = arena_printf(q->mem, "%lld", (long long)*(const int64_t *)at); break;
	case KIND_NUMBER: value = ((const struct number *)at)->set ? arena_printf(q->mem, "%lld",
	    (long long)((const struct number *)at)->n) : NULL; break;
	case KIND_MOMENT: value = arena_printf(q->mem, "%lld", (long long)((const struct moment *)at)->ms); break;
	case KIND_POSITION: value = ((const struct position *)at)->set ? arena_printf(q->mem, "%lld",
	    (long long)((const struct position *)at)->ms) : NULL; break;
	default: return NULL;
	}
	return arena_printf(q->mem, "%s.%s", value != NULL ? base64url_encode(q->mem, value, strlen(value)) : null_mark,
	    text);
}

/* What lies behind a row in an order in which null comes first, as ranges of the index.  NULL: the value is null. */
static void
behind(struct query *q, struct buf *where, const struct arg *value, struct arg id)
{
	const char *c = column(q, q->sort), *less = q->descending ? "<" : ">";
	bool nulls = q->descending && !q->sort->required && (q->sort->on & SERVER) == 0;

	if (value == NULL && q->descending) {
		/* Nothing is that small, but with one range alone all that are null would be looked up and sorted. */
		buf_printf(where, " AND (%s IS NULL AND t.id < ? OR %s < %s)", c, c,
		    q->sort->kind == KIND_STRING ? "''" : "-9000000000000000");
	} else if (value == NULL) {
		buf_printf(where, " AND (%s IS NULL AND t.id > ? OR %s IS NOT NULL)", c, c);
	} else {
		if (nulls)
			buf_printf(where, " AND (%s <= ? OR %s IS NULL) AND (%s < ? OR %s IS NULL OR t.id < ?)", c, c,
			    c, c);
		else
			buf_printf(where, " AND %s %s= ? AND (%s %s ? OR t.id %s ?)", c, less, c, less, less);
		add_arg(q, *value);
		add_arg(q, *value);
	}
	add_arg(q, id);
}

/* The value of a cursor as the kind of its column. */
static bool
cursor_value(struct query *q, const char *text, size_t n, struct arg *value)
{
	unsigned char *bytes;
	int64_t number;
	long len = base64url_decode(q->mem, text, n, &bytes);

	if (len < 0)
		return false;
	if (q->sort->kind == KIND_STRING) {
		*value = STR((char *)bytes);
		return utf8_valid((char *)bytes, (size_t)len) && suits(q->sort, (char *)bytes);
	}
	if (!int_parse((char *)bytes, &number))
		return false;
	*value = INT(number);
	return true;
}

/* Ids are UUIDs, or numbers. */
static bool
cursor_id(struct query *q, const char *text, struct arg *id)
{
	struct uuid uuid;
	int64_t number;

	if (record_field(q->record, "id")->kind == KIND_INT ? int_parse(text, &number) : uuid_parse(text, &uuid)) {
		*id = record_field(q->record, "id")->kind == KIND_INT ? INT(number) : ID(uuid);
		return true;
	}
	return false;
}

static void
add_after(struct query *q, struct buf *where)
{
	static const char fault[] = "not a cursor of this list: take it from a next link, with the same sort";
	const char *after = q->page->after, *dot = strchr(after, '.');
	struct arg value, id;

	if (!cursor_id(q, dot != NULL ? dot + 1 : after, &id) || (dot != NULL) != (q->sort != NULL)) {
		refuse(q, "after", fault);
	} else if (q->sort == NULL) {
		buf_text(where, " AND t.id < ?");
		add_arg(q, id);
	} else if (dot == after + 1 && *after == *null_mark) {
		behind(q, where, NULL, id);
	} else if (cursor_value(q, after, (size_t)(dot - after), &value)) {
		behind(q, where, &value, id);
	} else {
		refuse(q, "after", fault);
	}
}

static const char *
order(struct query *q)
{
	const char *way = q->descending ? "DESC" : "ASC";

	if (q->sort == NULL)
		return " ORDER BY t.id DESC LIMIT ? OFFSET ?";
	return arena_printf(q->mem, " ORDER BY %s %s, t.id %s LIMIT ? OFFSET ?", column(q, q->sort), way, way);
}

/*
 * Left alone, MariaDB reads an index from its beginning to the cursor: it takes the columns that all rows of the list
 * have in common for the better condition.  With a filter its choice is better than ours.  Statements are found by the
 * address of their text, so it is made once.
 */
static const char *
with_index(struct query *q, const char *from)
{
	static char *made[MAX_HINTED];
	const char *t = strstr(from, " t "), *text;
	size_t i;

	if (q->sort == NULL || q->sort->key == NULL || q->where.len > 0 || t == NULL)
		return from;
	text = arena_printf(q->mem, "%.*sFORCE INDEX (%s) %s", (int)(t + 3 - from), from, q->sort->key, t + 3);
	for (i = 0; i < MAX_HINTED && made[i] != NULL; i++)
		if (strcmp(made[i], text) == 0)
			return made[i];
	if (i == MAX_HINTED)
		return text;
	made[i] = strdup(text);
	if (made[i] == NULL)
		abort();
	return made[i];
}

/* Only counts where it must, a page that is not full tells the total by itself, and no further than to EXACT. */
static void
count(struct db *db, struct query *q, const char *from, int n_filter, size_t got)
{
	struct page *p = q->page;
	struct arg kept[2] = { q->args[n_filter], q->args[n_filter + 1] };

	if (p->total >= 0 && q->where.len == 0)
		return;
	if (p->after == NULL && p->next == NULL && (got > 0 || p->page == 0)) {
		p->total = p->page * p->perpage + (int64_t)got;
	} else {
		q->args[n_filter] = INT(EXACT + 1);
		q->args[n_filter + 1].kind = ARG_END;
		p->total = db_number_suffix(db, "SELECT COUNT(*) FROM (SELECT 1 ", arena_printf(q->mem,
		    "%s%s LIMIT ?) c", from, buf_string(&q->where)), q->args, 0);
		q->args[n_filter] = kept[0];
		q->args[n_filter + 1] = kept[1];
	}
	p->total_exact = p->total <= EXACT;
	if (!p->total_exact)
		p->total = EXACT;
}

const char *
db_filter(struct db *db, const struct record *r, struct page *page, struct arg *args)
{
	struct arena *mem = db_arena(db);
	struct query q = { .mem = mem, .record = r, .page = page, .where = BUF(mem) };

	page->fault = NULL;
	add_filter(&q, page->filter);
	if (page->fault != NULL)
		return NULL;
	memcpy(args, q.args, ((size_t)q.n + 1) * sizeof(*args));
	return buf_string(&q.where);
}

void *
db_list(struct db *db, const struct record *r, const char *from, const struct arg *args, struct page *page, size_t *n)
{
	struct arena *mem = db_arena(db);
	struct query q = { .mem = mem, .record = r, .page = page, .where = BUF(mem) };
	struct buf suffix = BUF(mem);
	int n_filter;
	char *rows;

	*n = 0;
	page->fault = page->next = NULL;
	page->total_exact = true;
	for (; args->kind != ARG_END; args++)
		add_arg(&q, *args);
	add_filter(&q, page->filter);
	read_sort(&q);
	n_filter = q.n;
	buf_text(&suffix, buf_string(&q.where));
	if (page->after != NULL && page->fault == NULL)
		add_after(&q, &suffix);
	if (page->fault != NULL)
		return NULL;
	buf_text(&suffix, order(&q));
	add_arg(&q, INT(page->perpage + 1));
	add_arg(&q, INT(page->after != NULL ? 0 : page->page * page->perpage));
	rows = db_rows_suffix(db, r, with_index(&q, from), buf_string(&suffix), q.args, true, (size_t)page->perpage + 1,
	    n);
	if (*n > (size_t)page->perpage) {
		*n = (size_t)page->perpage;
		page->next = cursor_of(&q, rows + (*n - 1) * r->size);
	}
	count(db, &q, from, n_filter, *n);
	return rows;
}
