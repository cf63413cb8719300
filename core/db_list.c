/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One page of a list: filter, order, cursor and total, put together from field tables. */
#include <string.h>
#include <strings.h>

#include "core/db_list.h"

enum { MAX_LIST_ARGS = 64 };

struct query {
	struct arena *mem;
	const struct record *record;
	struct page *page;
	struct buf where;			/* " AND …" of the filter */
	struct arg args[MAX_LIST_ARGS];
	int n;
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

/* "name, type, …": the fields that carry the flag. */
static const char *
allowed(struct query *q, unsigned flag)
{
	struct buf b = BUF(q->mem);
	size_t i;

	for (i = 0; i < q->record->n; i++)
		if (q->record->fields[i].on & flag)
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

static bool
in_words(const char *words, const char *word, size_t n)
{
	while (*words != '\0') {
		size_t len = strcspn(words, " ");

		if (len == n && memcmp(words, word, n) == 0)
			return true;
		words += len;
		words += strspn(words, " ");
	}
	return false;
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
		if (suits(f, value) && (f->one_of == NULL || (*value != '\0' && in_words(f->one_of, value, strlen(value)))))
			*out = STR(value);
	}
	if (out->kind == ARG_END)
		refuse(q, "filter", f->one_of != NULL ? arena_printf(q->mem, "%s is one of: %s",
		    record_json_name(q->record, f), f->one_of) :
		    arena_printf(q->mem, "'%s' is no value of %s", value, record_json_name(q->record, f)));
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

static void
add_condition(struct query *q, const struct field *f, const char *op, size_t op_len, const char *value)
{
	struct arg a;

	if (!in_words(record_operators(f), op, op_len)) {
		refuse(q, "filter", arena_printf(q->mem, "%s takes %s", record_json_name(q->record, f), record_operators(f)));
		return;
	}
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
	add_arg(q, a);
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

bool
db_filters_for(const char *p, const char *name, const char *value)
{
	size_t n, op, len, wanted = strlen(value);

	for (; p != NULL && *p != '\0'; p += n + op + len, p += *p == '+') {
		n = name_length(p);
		op = op_length(p + n);
		len = value_length(p + n + op);
		if (n == strlen(name) && strncasecmp(p, name, n) == 0 && op == 1 && p[n] == '=' && len == wanted &&
		    memcmp(p + n + op, value, len) == 0)
			return true;
		if (n + op + len == 0)
			return false;
	}
	return false;
}

const char *
db_filter_value(struct arena *mem, const char *p, const char *name, size_t i)
{
	size_t n, op, len;

	for (; p != NULL && *p != '\0'; p += n + op + len, p += *p == '+') {
		n = name_length(p);
		op = op_length(p + n);
		len = value_length(p + n + op);
		if (n == strlen(name) && strncasecmp(p, name, n) == 0 && i-- == 0)
			return arena_copy_n(mem, p + n + op, len);
		if (n + op + len == 0)
			return NULL;
	}
	return NULL;
}

static void
add_filter(struct query *q, const char *p)
{
	while (p != NULL && *p != '\0' && q->page->fault == NULL) {
		size_t name = name_length(p), op = op_length(p + name), value = value_length(p + name + op);
		const struct field *f = named(q, p, name, FILTER);

		if (f == NULL || name == 0)
			refuse(q, "filter", arena_printf(q->mem, "one of: %s", allowed(q, FILTER)));
		else if (op == 0)
			refuse(q, "filter", "an operator is wanted: = != >= <= ~");
		else
			add_condition(q, f, p + name, op, arena_copy_n(q->mem, p + name + op, value));
		p += name + op + value;
		p += *p == '+';
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
		refuse(q, "sort", arena_printf(q->mem, "one of: %s; with :desc or :asc", allowed(q, SORT)));
		return;
	}
	q->descending = strcasecmp(sort + n, ":desc") == 0;
	if (!q->descending && sort[n] != '\0' && strcasecmp(sort + n, ":asc") != 0)
		refuse(q, "sort", "the direction is asc or desc");
}

/* What rows are ordered by; null counts as the smallest, so that a cursor can name it. */
static const char *
sort_column(struct query *q)
{
	const char *c = column(q, q->sort);

	if (q->sort->required || (q->sort->on & SERVER))
		return c;
	return arena_printf(q->mem, q->sort->kind == KIND_STRING ? "COALESCE(%s, '')" : "COALESCE(%s, -1)", c);
}

/* Cursor: base64url of the sort value, a dot, the id.  Without sort: the id alone. */
static const char *
cursor_of(struct query *q, const void *row)
{
	const struct field *id = record_field(q->record, "id");
	const char *text = uuid_text(q->mem, *(const struct uuid *)((const char *)row + id->offset));
	const void *at;
	const char *value;

	if (q->sort == NULL)
		return text;
	at = (const char *)row + q->sort->offset;
	switch (q->sort->kind) {
	case KIND_STRING: value = *(const char *const *)at != NULL ? *(const char *const *)at : ""; break;
	case KIND_INT: value = arena_printf(q->mem, "%lld", (long long)*(const int64_t *)at); break;
	case KIND_NUMBER: value = arena_printf(q->mem, "%lld", (long long)(((const struct number *)at)->set ?
	    ((const struct number *)at)->n : -1)); break;
	case KIND_MOMENT: value = arena_printf(q->mem, "%lld", (long long)((const struct moment *)at)->ms); break;
	case KIND_POSITION: value = arena_printf(q->mem, "%lld", (long long)(((const struct position *)at)->set ?
	    ((const struct position *)at)->ms : -1)); break;
	default: return NULL;
	}
	return arena_printf(q->mem, "%s.%s", base64url_encode(q->mem, value, strlen(value)), text);
}

static void
add_after(struct query *q, struct buf *where)
{
	const char *after = q->page->after, *dot = strchr(after, '.'), *less = q->descending ? "<" : ">";
	unsigned char *bytes;
	struct uuid id;
	struct arg value;
	int64_t number;
	long n;

	if (!uuid_parse(dot != NULL ? dot + 1 : after, &id) || (dot != NULL) != (q->sort != NULL)) {
		refuse(q, "after", "not a cursor of this list");
		return;
	}
	if (q->sort == NULL) {
		buf_text(where, " AND t.id < ?");
		add_arg(q, ID(id));
		return;
	}
	n = base64url_decode(q->mem, after, (size_t)(dot - after), &bytes);
	if (n < 0 || (q->sort->kind != KIND_STRING ? !int_parse((char *)bytes, &number) :
	    !utf8_valid((char *)bytes, (size_t)n) || !suits(q->sort, (char *)bytes))) {
		refuse(q, "after", "not a cursor of this list");
		return;
	}
	value = q->sort->kind == KIND_STRING ? STR((char *)bytes) : INT(number);
	buf_printf(where, " AND %s %s= ? AND (%s %s ? OR t.id %s ?)", sort_column(q), less, sort_column(q), less, less);
	add_arg(q, value);
	add_arg(q, value);
	add_arg(q, ID(id));
}

static const char *
order(struct query *q)
{
	const char *way = q->descending ? "DESC" : "ASC";

	if (q->sort == NULL)
		return " ORDER BY t.id DESC LIMIT ? OFFSET ?";
	return arena_printf(q->mem, " ORDER BY %s %s, t.id %s LIMIT ? OFFSET ?", sort_column(q), way, way);
}

/* Only counts where it must: a page that is not full tells the total by itself. */
static void
count(struct db *db, struct query *q, const char *from, int n_filter, size_t got)
{
	struct page *p = q->page;
	struct arg kept = q->args[n_filter];

	if (p->total >= 0 && q->where.len == 0)
		return;
	if (p->after == NULL && p->next == NULL && (got > 0 || p->page == 0)) {
		p->total = p->page * p->perpage + (int64_t)got;
		return;
	}
	q->args[n_filter].kind = ARG_END;
	p->total = db_number_suffix(db, "SELECT COUNT(*) ", arena_printf(q->mem, "%s%s", from, buf_string(&q->where)),
	    q->args, 0);
	q->args[n_filter] = kept;
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
	rows = db_rows_suffix(db, r, from, buf_string(&suffix), q.args, true, (size_t)page->perpage + 1, n);
	if (*n > (size_t)page->perpage) {
		*n = (size_t)page->perpage;
		page->next = cursor_of(&q, rows + (*n - 1) * r->size);
	}
	count(db, &q, from, n_filter, *n);
	return rows;
}
