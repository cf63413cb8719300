/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Field tables: their check at start, names, JSON out, schemas.  Decoding is in decode.c, SQL in db.c. */
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"

enum { MAX_FIELDS = 64 };

/* Three ways to write a record: whole, as a row of a list, or as it is stored. */
enum how { WHOLE, BRIEF, STORED, WAYS };

/* A member that is written, and the text before its value: `,"camelName":`. */
struct part {
	const struct field *field;
	const char *text;
	size_t len;
	bool may_be_absent;		/* left out when null */
};

/* What the fields are called, and the parts for each way of writing; made once per record and process. */
struct keys {
	const struct record *record;
	char *name[MAX_FIELDS], *text[MAX_FIELDS];
	struct part parts[WAYS][MAX_FIELDS];
	size_t n[WAYS];
};

/*
 * An open hash by address; records are static, so nothing is ever removed.  Threads look things up without a lock: what
 * one finds is whole, and a table that was outgrown stays for who still looks there.
 */
struct table {
	const struct table *outgrown;
	size_t room, n;
	_Atomic(struct keys *) at[];
};

static _Atomic(struct table *) table;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void
broken(const struct record *r, const char *field, const char *why)
{
	fprintf(stderr, "level=error what=record record=%s field=%s text=\"%s\"\n", r->name, field, why);
	abort();
}

static char *
camel(const struct field *f)
{
	char *out = strdup(f->json != NULL ? f->json : f->name), *from, *to;

	if (out == NULL)
		abort();
	if (f->json != NULL)
		return out;
	for (from = to = out; *from != '\0'; from++)
		*to++ = *from == '_' && from[1] != '\0' ? (char)toupper((unsigned char)*++from) : *from;
	*to = '\0';
	return out;
}

static bool
is_written(const struct field *f, enum how how)
{
	if (how == STORED)
		return (f->on & COMPUTED) == 0;
	return (f->on & (HIDDEN | INPUT_ONLY)) == 0 && !(how == BRIEF && f->on & DETAIL);
}

static struct keys *
keys_make(const struct record *r)
{
	struct keys *k = calloc(1, sizeof(*k));
	size_t i;
	int how;

	if (k == NULL || r->n > MAX_FIELDS)
		broken(r, "-", "over 64 fields");
	k->record = r;
	for (i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		k->name[i] = camel(f);
		if (asprintf(&k->text[i], ",\"%s\":", k->name[i]) < 0)
			abort();
		for (how = 0; how < WAYS; how++)
			if (is_written(f, (enum how)how))
				k->parts[how][k->n[how]++] = (struct part){ f, k->text[i], strlen(k->text[i]),
				    how == STORED || (f->on & OMIT_NULL) != 0 };
	}
	return k;
}

/* Where the record is, or would be. */
static _Atomic(struct keys *) *
place_of(struct table *t, const struct record *r)
{
	size_t i = ((uintptr_t)r >> 4) % t->room;
	struct keys *k;

	while ((k = atomic_load_explicit(&t->at[i], memory_order_acquire)) != NULL && k->record != r)
		i = (i + 1) % t->room;
	return &t->at[i];
}

static struct table *
table_grow(const struct table *old)
{
	size_t room = old != NULL ? old->room * 2 : 128, i;
	struct table *t = calloc(1, sizeof(*t) + room * sizeof(t->at[0]));

	if (t == NULL)
		abort();
	t->outgrown = old;
	t->room = room;
	for (i = 0; old != NULL && i < old->room; i++)
		if (old->at[i] != NULL)
			*place_of(t, ((struct keys *)old->at[i])->record) = (struct keys *)old->at[i];
	t->n = old != NULL ? old->n : 0;
	return t;
}

static const struct keys *
keys_add(const struct record *r)
{
	struct table *t;
	struct keys *k;

	pthread_mutex_lock(&table_lock);
	t = table;
	if (t == NULL || t->n * 2 >= t->room)
		table = t = table_grow(t);
	k = *place_of(t, r);
	if (k == NULL) {
		k = keys_make(r);
		atomic_store_explicit(place_of(t, r), k, memory_order_release);
		t->n++;
	}
	pthread_mutex_unlock(&table_lock);
	return k;
}

static const struct keys *
keys_of(const struct record *r)
{
	struct table *t = atomic_load_explicit(&table, memory_order_acquire);
	const struct keys *k = t != NULL ? atomic_load_explicit(place_of(t, r), memory_order_acquire) : NULL;

	return k != NULL ? k : keys_add(r);
}

const char *
record_json_name(const struct record *r, const struct field *f)
{
	return keys_of(r)->name[f - r->fields];
}

const struct field *
record_field(const struct record *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->fields[i].name, name) == 0)
			return &r->fields[i];
	return NULL;
}

uint64_t
record_bit(const struct record *r, const char *name)
{
	const struct field *f = record_field(r, name);

	if (f == NULL)
		broken(r, name, "asked for a field that is not there");
	return (uint64_t)1 << (f - r->fields);
}

bool
ids_have(const struct ids *ids, struct uuid id)
{
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (uuid_equal(ids->at[i], id))
			return true;
	return false;
}

/* Members are at most 8 bytes apart from their neighbours: a larger hole is a member that no field names. */
static void
check_holes(const struct record *r)
{
	size_t end = 0;

	while (end < r->size) {
		const struct field *next = NULL;
		size_t i;

		for (i = 0; i < r->n; i++)
			if (r->fields[i].offset >= end && (next == NULL || r->fields[i].offset < next->offset))
				next = &r->fields[i];
		if ((next != NULL ? next->offset : r->size) >= end + 8)
			broken(r, next != NULL ? next->name : "last", "a member before this one is in no field");
		if (next == NULL)
			return;
		end = next->offset + next->size;
	}
}

void
record_check(const struct record *r)
{
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		if (f->doc == NULL)
			broken(r, f->name, "no doc");
		if ((f->kind == KIND_NESTED || f->kind == KIND_LIST) && f->of == NULL)
			broken(r, f->name, "nested without .of");
		for (k = 0; k < i; k++)
			if (strcmp(record_json_name(r, f), record_json_name(r, &r->fields[k])) == 0)
				broken(r, f->name, "two fields of one name");
		if (f->of != NULL && f->of != r)
			record_check(f->of);
	}
	check_holes(r);
}

/* Whole thousandths, as most numbers are that people set.  False: it is none of them. */
static bool
put_thousandths(struct buf *b, double x)
{
	int64_t n = fabs(x) < 1e12 ? llround(x * 1000) : 0, part = llabs(n % 1000);
	char digits[] = { '.', (char)('0' + part / 100), (char)('0' + part / 10 % 10), (char)('0' + part % 10) };

	if (n == 0 || (double)n / 1000 != x)
		return false;
	if (n < 0)
		buf_char(b, '-');
	buf_int(b, llabs(n) / 1000);
	if (part > 0)
		buf_add(b, digits, part % 100 == 0 ? 2 : part % 10 == 0 ? 3 : 4);
	return true;
}

/* Shortest of the forms that read back as the same number. */
static void
put_real(struct buf *b, double x)
{
	char text[40];
	int precision;

	if (put_thousandths(b, x))
		return;
	for (precision = 6; precision <= 17; precision += precision < 15 ? 9 : 2) {
		snprintf(text, sizeof(text), "%.*g", precision, x);
		if (precision == 17 || strtod(text, NULL) == x)
			break;
	}
	buf_text(b, text);
}

static void
put_position(struct buf *b, int64_t ms)
{
	char part[5] = { '.', (char)('0' + ms % 1000 / 100), (char)('0' + ms % 100 / 10), (char)('0' + ms % 10), '\0' };

	buf_int(b, ms / 1000);
	buf_add(b, part, 4);
}

static void
put_strings(struct buf *b, const struct strings *s)
{
	size_t i;

	if (s->at == NULL) {
		buf_text(b, "null");
		return;
	}
	buf_char(b, '[');
	for (i = 0; i < s->n; i++) {
		if (i > 0)
			buf_char(b, ',');
		buf_json(b, s->at[i]);
	}
	buf_char(b, ']');
}

static void
put_ids(struct buf *b, const struct ids *ids)
{
	char text[UUID_TEXT];
	size_t i;

	buf_char(b, '[');
	for (i = 0; i < ids->n; i++) {
		buf_text(b, i > 0 ? ",\"" : "\"");
		buf_add(b, uuid_format(ids->at[i], text), UUID_TEXT - 1);
		buf_char(b, '"');
	}
	buf_char(b, ']');
}

static void render(struct buf *, const struct record *, const void *, enum how);

static void
put_list(struct buf *b, const struct record *of, const struct list *list, enum how how)
{
	size_t i;

	buf_char(b, '[');
	for (i = 0; i < list->n; i++) {
		if (i > 0)
			buf_char(b, ',');
		render(b, of, (const char *)list->rows + i * of->size, how);
	}
	buf_char(b, ']');
}

static bool
is_null(const struct field *f, const void *at)
{
	switch (f->kind) {
	case KIND_STRING: return *(const char *const *)at == NULL;
	case KIND_REAL: return f->on & OMIT_NULL && *(const double *)at == 0;
	case KIND_BOOL: return f->on & OMIT_NULL && !*(const bool *)at;
	case KIND_NUMBER: return !((const struct number *)at)->set;
	case KIND_UUID: return uuid_is_none(*(const struct uuid *)at);
	case KIND_MOMENT: return ((const struct moment *)at)->ms == 0;
	case KIND_POSITION: return !((const struct position *)at)->set;
	case KIND_STRINGS: return ((const struct strings *)at)->at == NULL;
	case KIND_IDS: return ((const struct ids *)at)->at == NULL;
	case KIND_JSON: return ((const struct json *)at)->text == NULL;
	case KIND_NESTED: return ((const struct nested *)at)->row == NULL;
	case KIND_LIST: return f->on & OMIT_NULL && ((const struct list *)at)->rows == NULL;
	default: return false;
	}
}

static void
put_value(struct buf *b, const struct field *f, const void *at, enum how how)
{
	char text[UUID_TEXT];

	if (is_null(f, at)) {
		buf_text(b, "null");
		return;
	}
	switch (f->kind) {
	case KIND_STRING: buf_json(b, *(const char *const *)at); break;
	case KIND_INT: buf_int(b, *(const int64_t *)at); break;
	case KIND_BOOL: buf_text(b, *(const bool *)at ? "true" : "false"); break;
	case KIND_REAL: put_real(b, *(const double *)at); break;
	case KIND_NUMBER: buf_int(b, ((const struct number *)at)->n); break;
	case KIND_UUID:
		buf_char(b, '"');
		buf_add(b, uuid_format(*(const struct uuid *)at, text), UUID_TEXT - 1);
		buf_char(b, '"');
		break;
	case KIND_MOMENT:
		buf_char(b, '"');
		buf_add(b, moment_format(*(const struct moment *)at, text), MOMENT_TEXT - 1);
		buf_char(b, '"');
		break;
	case KIND_POSITION: put_position(b, ((const struct position *)at)->ms); break;
	case KIND_STRINGS: put_strings(b, at); break;
	case KIND_IDS: put_ids(b, at); break;
	case KIND_JSON: buf_text(b, ((const struct json *)at)->text); break;
	case KIND_NESTED: render(b, f->of, ((const struct nested *)at)->row, how); break;
	case KIND_LIST: put_list(b, f->of, at, how); break;
	}
}

static void
render(struct buf *b, const struct record *r, const void *row, enum how how)
{
	const struct keys *keys = keys_of(r);
	const struct part *p = keys->parts[how], *end = p + keys->n[how];
	size_t no_comma = 1;

	buf_char(b, '{');
	for (; p < end; p++) {
		const void *at = (const char *)row + p->field->offset;

		if (p->may_be_absent && is_null(p->field, at))
			continue;
		buf_add(b, p->text + no_comma, p->len - no_comma);
		no_comma = 0;
		put_value(b, p->field, at, how);
	}
	buf_char(b, '}');
}

void
record_render(struct buf *b, const struct record *r, const void *row, bool brief)
{
	render(b, r, row, brief ? BRIEF : WHOLE);
}

void
record_store(struct buf *b, const struct record *r, const void *row)
{
	render(b, r, row, STORED);
}

void
record_value(struct buf *b, const struct field *f, const void *row)
{
	put_value(b, f, (const char *)row + f->offset, STORED);
}

void *
record_overlay(struct arena *mem, const struct record *r, const void *row, const void *from, uint64_t given)
{
	char *out = arena_alloc(mem, r->size);
	size_t i;

	memcpy(out, row, r->size);
	for (i = 0; i < r->n; i++)
		if (given >> i & 1)
			memcpy(out + r->fields[i].offset, (const char *)from + r->fields[i].offset, r->fields[i].size);
	return out;
}

uint64_t
record_differs(struct arena *mem, const struct record *r, const void *a, const void *b, uint64_t given)
{
	uint64_t out = 0;
	size_t i;

	for (i = 0; i < r->n; i++) {
		struct buf x = BUF(mem), y = BUF(mem);

		if ((given >> i & 1) == 0)
			continue;
		record_value(&x, &r->fields[i], a);
		record_value(&y, &r->fields[i], b);
		if (strcmp(buf_string(&x), buf_string(&y)) != 0)
			out |= (uint64_t)1 << i;
	}
	return out;
}

const char *
record_operators(const struct field *f)
{
	if (f->ops != NULL)
		return f->ops;
	if (f->where != NULL || f->kind == KIND_UUID || f->kind == KIND_BOOL || f->one_of != NULL)
		return "= !=";
	return f->kind == KIND_STRING ? "= != ~" : "= != >= <=";
}

/* A schema that is being printed. */
struct schema { struct buf *b; unsigned on; };

static bool
is_taken(const struct schema *s)
{
	return (s->on & (CREATE | PATCH | QUERY)) != 0;
}

bool
record_schema_has(const struct field *f, unsigned on)
{
	if (on & (CREATE | PATCH | QUERY))
		return (f->on & on) != 0;
	return (f->on & (HIDDEN | INPUT_ONLY | on)) == 0;
}

static bool
has_details(const struct record *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (record_schema_has(&r->fields[i], 0) && (r->fields[i].on & DETAIL || (r->fields[i].of != NULL &&
		    r->fields[i].of != r && has_details(r->fields[i].of))))
			return true;
	return false;
}

const char *
record_schema_name(struct arena *mem, const struct record *r, unsigned on)
{
	size_t n = strlen(r->name), i;
	bool whole = on != PATCH || (n > 5 && strcmp(r->name + n - 5, "Patch") == 0);

	for (i = 0; i < r->n; i++)	/* what is omitted when null is sent as well */
		whole &= (r->fields[i].on & on) != 0 && (r->fields[i].on & OMIT_NULL) == 0;
	if (on == 0 || (on == DETAIL && !has_details(r)) || whole)
		return r->name;
	return arena_printf(mem, "%s%s", r->name, on == DETAIL ? "Brief" : on == PATCH ? "Patch" : "New");
}

/* Can it be null there?  Absent members of a query are absent. */
static bool
may_be_null(const struct schema *s, const struct field *f)
{
	if (f->required || s->on & QUERY || f->kind == KIND_INT || f->kind == KIND_BOOL || f->kind == KIND_REAL)
		return false;
	return is_taken(s) || ((f->on & OMIT_NULL) == 0 && f->kind != KIND_LIST);
}

static void
schema_words(struct buf *b, const char *words, const char *between, bool or_null)
{
	buf_text(b, ",\"enum\":[");
	while (*words != '\0') {
		size_t n = strcspn(words, between);

		buf_json_n(b, words, n);
		words += n;
		words += strspn(words, between);
		if (*words != '\0')
			buf_char(b, ',');
	}
	buf_text(b, or_null ? ",null]" : "]");
}

static void
schema_type(struct buf *b, const char *type, bool or_null, const char *format)
{
	buf_printf(b, or_null ? "\"type\":[\"%s\",\"null\"]" : "\"type\":\"%s\"", type);
	if (format != NULL)
		buf_printf(b, ",\"format\":\"%s\"", format);
}

static void
schema_limits(struct buf *b, const char *low, int64_t min, const char *high, int64_t max)
{
	if (min != 0)
		buf_printf(b, ",\"%s\":%lld", low, (long long)min);
	if (max != 0)
		buf_printf(b, ",\"%s\":%lld", high, (long long)max);
}

static void
schema_string(const struct schema *s, const struct field *f, bool or_null)
{
	schema_type(s->b, "string", or_null, f->format);
	if (f->one_of != NULL)
		schema_words(s->b, f->one_of, " ", or_null);
	else if (f->known != NULL)
		schema_words(s->b, f->known, "|", or_null);
	else
		schema_limits(s->b, "minLength", f->min, "maxLength", f->max != 0 || !is_taken(s) ? f->max : 65535);
}

/* The decoder takes no integer below .min, 0 included. */
static void
schema_integer(const struct schema *s, const struct field *f, bool or_null)
{
	schema_type(s->b, "integer", or_null, "int64");
	if (is_taken(s) && f->min == 0)
		buf_text(s->b, ",\"minimum\":0");
	schema_limits(s->b, "minimum", f->min, "maximum", f->max);
}

static void
schema_strings(const struct schema *s, const struct field *f, bool or_null)
{
	struct field each = { .kind = KIND_STRING, .min = is_taken(s), .max = f->item_max != 0 ||
	    !is_taken(s) ? f->item_max : 255, .one_of = f->one_of };

	schema_type(s->b, "array", or_null, NULL);
	buf_text(s->b, ",\"items\":{");
	schema_string(s, &each, false);
	buf_char(s->b, '}');
	schema_limits(s->b, "minItems", f->min, "maxItems", f->max);
}

/* What is inside of something that is taken is taken like a new one. */
static void
schema_ref(const struct schema *s, const struct field *f, bool array, bool or_null)
{
	const char *name = record_schema_name(s->b->mem, f->of, is_taken(s) ? CREATE : s->on);

	if (array) {
		schema_type(s->b, "array", or_null, NULL);
		buf_printf(s->b, ",\"items\":{\"$ref\":\"#/components/schemas/%s\"}", name);
		schema_limits(s->b, "minItems", f->min, "maxItems", f->max);
	} else if (or_null) {
		buf_printf(s->b, "\"anyOf\":[{\"$ref\":\"#/components/schemas/%s\"},{\"type\":\"null\"}]", name);
	} else {
		buf_printf(s->b, "\"allOf\":[{\"$ref\":\"#/components/schemas/%s\"}]", name);
	}
}

static void
schema_json(const struct schema *s, const struct field *f, bool or_null)
{
	const char *format = f->format != NULL ? f->format : "";
	bool array = strcmp(format, "array") == 0;

	if (strcmp(format, "strings") == 0) {
		schema_strings(s, f, or_null);
	} else if (f->of != NULL) {
		schema_ref(s, f, array, or_null);
	} else if (array) {
		schema_type(s->b, "array", or_null, NULL);
		buf_text(s->b, ",\"items\":{}");
	} else if (strcmp(format, "object") == 0) {
		schema_type(s->b, "object", or_null, NULL);
		buf_text(s->b, ",\"additionalProperties\":{\"type\":\"string\"}");
	} else {
		buf_text(s->b, "\"type\":[\"object\",\"array\",\"string\",\"number\",\"boolean\",\"null\"],"
		    "\"items\":{}");
	}
}

static void
schema_value(const struct schema *s, const struct field *f)
{
	bool or_null = may_be_null(s, f);

	switch (f->kind) {
	case KIND_STRING: schema_string(s, f, or_null); break;
	case KIND_INT: case KIND_NUMBER: schema_integer(s, f, or_null); break;
	case KIND_BOOL: schema_type(s->b, "boolean", false, NULL); break;
	case KIND_REAL: schema_type(s->b, "number", false, "double"); break;
	case KIND_UUID: schema_type(s->b, "string", or_null, "uuid"); break;
	case KIND_MOMENT: schema_type(s->b, "string", or_null, "date-time"); break;
	case KIND_POSITION:
		schema_type(s->b, "number", or_null, "double");
		buf_text(s->b, ",\"minimum\":0");
		break;
	case KIND_STRINGS: schema_strings(s, f, or_null); break;
	case KIND_IDS:
		schema_type(s->b, "array", or_null, NULL);
		buf_text(s->b, ",\"items\":{\"type\":\"string\",\"format\":\"uuid\"}");
		schema_limits(s->b, "minItems", f->min, "maxItems", f->max);
		break;
	case KIND_JSON: schema_json(s, f, or_null); break;
	case KIND_NESTED: schema_ref(s, f, false, or_null); break;
	case KIND_LIST: schema_ref(s, f, true, or_null); break;
	}
	if (is_taken(s) && f->preset != NULL)
		buf_printf(s->b, ",\"default\":%s", f->preset);
	else if (s->on & (CREATE | QUERY) && f->kind == KIND_BOOL && !f->required)
		buf_text(s->b, ",\"default\":false");
}

void
record_schema_value(struct buf *b, const struct field *f, unsigned on)
{
	const struct schema s = { b, on };

	buf_char(b, '{');
	schema_value(&s, f);
	buf_char(b, '}');
}

static void
schema_required(const struct schema *s, const struct record *r)
{
	bool any = false;
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];
		bool must = is_taken(s) ? s->on & CREATE && f->required : (f->on & OMIT_NULL) == 0;

		if (!record_schema_has(f, s->on) || !must)
			continue;
		buf_text(s->b, any ? "," : ",\"required\":[");
		any = true;
		buf_json(s->b, record_json_name(r, f));
	}
	if (any)
		buf_char(s->b, ']');
}

void
record_schema(struct buf *b, const struct record *r, unsigned on, uint64_t read_only)
{
	const struct schema s = { b, on };
	bool first = true;
	size_t i;

	buf_text(b, is_taken(&s) ? "{\"type\":\"object\",\"additionalProperties\":false" : "{\"type\":\"object\"");
	schema_required(&s, r);
	buf_text(b, ",\"properties\":{");
	for (i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		if (!record_schema_has(f, on))
			continue;
		if (!first)
			buf_char(b, ',');
		first = false;
		buf_json(b, record_json_name(r, f));
		buf_text(b, ":{");
		schema_value(&s, f);
		if (read_only >> i & 1)
			buf_text(b, ",\"readOnly\":true");
		buf_text(b, ",\"description\":");
		buf_json(b, f->doc);
		buf_char(b, '}');
	}
	buf_text(b, "}}");
}
