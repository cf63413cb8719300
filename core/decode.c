/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON and queries into records.  json-c parses; before it, json_valid() refuses what json-c lets through even in
 * strict mode: single quotes, NaN, trailing bytes, lone surrogates, NUL, capital literals.  Duplicate keys show as a
 * tree with fewer members than the text.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/record.h"

enum { MAX_DEPTH = 32, MAX_KEYS = 10000 };
static const int64_t MAX_INT = INT64_C(1) << 53;

/* at, wanted: the first thing that is not as it should be. */
struct scan { const char *p, *end; size_t members; int depth; const char *at, *wanted; struct keys *keys; };

static bool
wants(struct scan *s, const char *at, const char *what)
{
	if (s->wanted == NULL) {
		s->at = at;
		s->wanted = what;
	}
	return false;
}

static void
blank(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool
eat(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

static bool
scan_digits(struct scan *s)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > from || wants(s, s->p, "a digit is wanted");
}

static bool
scan_number(struct scan *s)
{
	if (!eat(s, "-") && (s->p >= s->end || *s->p < '0' || *s->p > '9'))
		return wants(s, s->p, "a value is wanted: an object, an array, a text in double quotes, a number, "
		    "true, false or null");
	if (!eat(s, "0") && !scan_digits(s))
		return false;
	if (eat(s, ".") && !scan_digits(s))
		return false;
	if (eat(s, "e") || eat(s, "E")) {
		if (!eat(s, "+"))
			eat(s, "-");
		return scan_digits(s);
	}
	return true;
}

/* Four hex digits, or -1. */
static int
scan_unit(struct scan *s)
{
	int value = 0, i;

	if (s->end - s->p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		char c = *s->p++;
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 :
		    -1;

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static bool
scan_escape(struct scan *s)
{
	const char *at = s->p - 1;
	int unit, low;

	if (s->p >= s->end)
		return wants(s, s->p, "the text does not end");
	if (*s->p != 'u')
		return strchr("\"\\/bfnrt", *s->p++) != NULL || wants(s, at, "there is no such escape");
	s->p++;
	unit = scan_unit(s);
	if (unit == 0)
		return wants(s, at, "\\u0000 is not taken");
	if (unit < 0)
		return wants(s, at, "four hex digits are wanted after \\u");
	if (unit < 0xd800 || unit > 0xdfff)
		return true;
	low = unit < 0xdc00 && eat(s, "\\u") ? scan_unit(s) : -1;
	return (low >= 0xdc00 && low <= 0xdfff) || wants(s, at, "half of a surrogate pair");
}

static bool
scan_string(struct scan *s)
{
	if (!eat(s, "\""))
		return false;
	while (s->p < s->end && *s->p != '"') {
		if ((unsigned char)*s->p < 0x20)
			return wants(s, s->p, "a control character, line breaks included, is written as an escape "
			    "inside a text");
		if (*s->p++ == '\\' && !scan_escape(s))
			return false;
	}
	return eat(s, "\"") || wants(s, s->p, "the text does not end");
}

static bool scan_value(struct scan *);
static void keep_key(struct scan *, const char *object, const char *from);

static bool
scan_key(struct scan *s, const char *object)
{
	const char *from = s->p;

	s->members++;
	if (!scan_string(s))
		return wants(s, s->p, "the name of a member in double quotes is wanted");
	if (s->keys != NULL)
		keep_key(s, object, from);
	blank(s);
	return eat(s, ":") || wants(s, s->p, "a colon is wanted");
}

static bool
scan_items(struct scan *s, const char *close, bool object)
{
	const char *from = s->p;

	blank(s);
	if (eat(s, close))
		return true;
	do {
		blank(s);
		if ((object && !scan_key(s, from)) || !scan_value(s))
			return false;
		blank(s);
	} while (eat(s, ","));
	return eat(s, close) || wants(s, s->p, object ? "a comma or } is wanted" : "a comma or ] is wanted");
}

static bool
scan_value(struct scan *s)
{
	bool fine;

	blank(s);
	if (s->p >= s->end)
		return wants(s, s->p, "a value is missing: this is the end");
	if (++s->depth > MAX_DEPTH)
		return wants(s, s->p, "nested deeper than 32 levels");
	if (eat(s, "{"))
		fine = scan_items(s, "}", true);
	else if (eat(s, "["))
		fine = scan_items(s, "]", false);
	else if (*s->p == '"')
		fine = scan_string(s);
	else
		fine = eat(s, "true") || eat(s, "false") || eat(s, "null") || scan_number(s);
	s->depth--;
	return fine;
}

/* Names of members and the objects they are in: kept only when one is there twice, to find out where. */
struct key { const char *object, *at; size_t n; };
struct keys { struct key *at; size_t n; };

static void
keep_key(struct scan *s, const char *object, const char *from)
{
	s->keys->at[s->keys->n++] = (struct key){ object, from, (size_t)(s->p - from) };
}

static int
compare_keys(const void *a_, const void *b_)
{
	const struct key *a = a_, *b = b_;
	int order;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	order = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);
	return order != 0 ? order : a->n != b->n ? (a->n < b->n ? -1 : 1) : a->at < b->at ? -1 : 1;
}

static void
find_twin(struct arena *mem, struct scan *s, const char *json, size_t n)
{
	struct keys keys = { NULL, 0 };
	struct scan again = { .p = json, .end = json + n, .keys = &keys };
	const char *first = NULL;
	size_t i;

	if (s->members <= MAX_KEYS) {
		keys.at = arena_array(mem, s->members, sizeof(*keys.at));
		scan_value(&again);
	}
	if (keys.n > 1)
		qsort(keys.at, keys.n, sizeof(*keys.at), compare_keys);
	for (i = 1; i < keys.n; i++)
		if (keys.at[i].object == keys.at[i - 1].object && keys.at[i].n == keys.at[i - 1].n &&
		    memcmp(keys.at[i].at, keys.at[i - 1].at, keys.at[i].n) == 0 && (first == NULL ||
		    keys.at[i].at < first))
			first = keys.at[i].at;
	/* Otherwise one is spelled with escapes, or there are too many. */
	wants(s, first != NULL ? first : json, "the name of a member is there twice");
}

static size_t
count_members(json_object *o)
{
	size_t n = 0, i;

	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, value) {
			(void)key;
			n += 1 + count_members(value);
		}
	} else if (json_object_is_type(o, json_type_array)) {
		for (i = 0; i < json_object_array_length(o); i++)
			n += count_members(json_object_array_get_idx(o, i));
	}
	return n;
}

static void
put_json(void *o)
{
	json_object_put(o);
}

/* The tree, freed with the arena.  False: not JSON, and *s says where and why.  (A JSON null is a NULL tree.) */
static bool
parse_scanned(struct arena *mem, const char *json, size_t n, json_object **tree, struct scan *s)
{
	struct json_tokener *tokener;
	size_t valid = utf8_prefix(json, n);

	*s = (struct scan){ .p = json, .end = json + n };
	*tree = NULL;
	if (valid < n)
		return wants(s, json + valid, "this is not UTF-8");
	if (n > INT32_MAX || !scan_value(s))
		return wants(s, s->p, "a value is wanted");
	blank(s);
	if (s->p != s->end)
		return wants(s, s->p, "nothing may follow the value");
	tokener = json_tokener_new_ex(MAX_DEPTH + 1);
	if (tokener == NULL)
		abort();
	*tree = json_tokener_parse_ex(tokener, json, (int)n);
	if (*tree == NULL && json_tokener_get_error(tokener) == json_tokener_continue)
		/* a bare number ends only with what follows it */
		*tree = json_tokener_parse_ex(tokener, "\n", 1);
	json_tokener_free(tokener);
	if (*tree != NULL)
		arena_defer(mem, put_json, *tree);
	if (count_members(*tree) == s->members)
		return true;
	find_twin(mem, s, json, n);
	return false;
}

static bool
parse(struct arena *mem, const char *json, size_t n, json_object **tree)
{
	struct scan s;

	return parse_scanned(mem, json, n, tree, &s);
}

bool
json_valid(struct arena *mem, const char *json, size_t n)
{
	json_object *tree;

	return parse(mem, json, n, &tree);
}

/* Lines and columns, in characters, as editors count them. */
static void
fault_at(struct faults *faults, struct arena *mem, const char *json, const struct scan *s)
{
	size_t line = 1, column = 1;
	const char *p;

	for (p = json; p < s->at; p++) {
		column += ((unsigned char)*p & 0xc0) != 0x80;
		if (*p == '\n') {
			line++;
			column = 1;
		}
	}
	fault_add(faults, mem, "", "syntax", "line %zu, column %zu: %s", line, column, s->wanted);
}

void
fault_add(struct faults *faults, struct arena *mem, const char *pointer, const char *code, const char *format, ...)
{
	va_list args;

	if (faults->n < (int)(sizeof(faults->at) / sizeof(faults->at[0]))) {
		va_start(args, format);
		faults->at[faults->n] = (struct input_fault){ arena_copy(mem, pointer), code, arena_vprintf(mem, format,
		    args) };
		va_end(args);
	}
	faults->n++;
}

/* One decoding.  faults == NULL: our own JSON, taken as it is. */
struct decode {
	struct arena *mem;
	unsigned on;
	struct faults *faults;
	bool foreign;			/* members that are unknown are passed over */
};

static void
bad(struct decode *d, const char *pointer, const char *code, const char *detail)
{
	if (d->faults != NULL)
		fault_add(d->faults, d->mem, pointer, code, "%s", detail);
}

/* Those of ASCII but for blanks, and those from U+0080 to U+009F. */
static bool
has_controls(const char *text)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < 0x20 && strchr("\t\n\r", *text) == NULL) || *text == 0x7f ||
		    ((unsigned char)*text == 0xc2 && (unsigned char)text[1] < 0xa0))
			return true;
	return false;
}

static void
out_of_bounds(struct decode *d, const char *pointer, const char *code, const char *bound, int64_t n, const char *what)
{
	fault_add(d->faults, d->mem, pointer, code, "%s %lld %s%s", bound, (long long)n, what, n == 1 ? "" : "s");
}

/* "red, green" */
static const char *
listed(struct arena *mem, const char *words)
{
	struct buf b = BUF(mem);

	for (; *words != '\0'; words++) {
		if (*words == ' ')
			buf_char(&b, ',');
		buf_char(&b, *words);
	}
	return buf_string(&b);
}

/* What a client sets.  What it asks for finds also what is older than this rule. */
static bool
is_line(const struct decode *d, const struct field *f)
{
	return !d->foreign && (d->on & QUERY) == 0 && (f->on & MULTILINE) == 0;
}

static void
take_string(struct decode *d, const struct field *f, const char *pointer, const char *text, const char **out)
{
	int64_t n = (int64_t)utf8_length(text), max = f->max ? f->max : 65535;

	*out = arena_copy(d->mem, text);
	if (d->faults == NULL)
		return;
	if (n < f->min)
		out_of_bounds(d, pointer, "too_short", "at least", f->min, "character");
	else if (n > max)
		out_of_bounds(d, pointer, "too_long", "at most", max, "character");
	else if (has_controls(text))
		bad(d, pointer, "control_characters", "control characters are not allowed");
	else if (is_line(d, f) && !utf8_line(text))
		bad(d, pointer, "control_characters", "one line is wanted, without tabs and without controls of the "
		    "direction of writing");
	else if (f->min > 0 && utf8_blank(text))
		bad(d, pointer, "blank", "something that can be seen is wanted, not blanks alone");
	else if (f->one_of != NULL && !word_in(f->one_of, text, strlen(text)))
		fault_add(d->faults, d->mem, pointer, "not_allowed", "one of: %s", listed(d->mem, f->one_of));
}

static void
take_int(struct decode *d, const struct field *f, const char *pointer, int64_t n, int64_t *out)
{
	*out = n;
	if (d->faults == NULL)
		return;
	if (n < f->min || (n < -MAX_INT))
		fault_add(d->faults, d->mem, pointer, "too_small", "at least %lld", (long long)f->min);
	else if (n > (f->max ? f->max : MAX_INT))
		fault_add(d->faults, d->mem, pointer, "too_large", "at most %lld", (long long)(f->max ? f->max :
		    MAX_INT));
}

/* json-c clamps integers that do not fit: read the text instead. */
static bool
whole(json_object *v, int64_t *out)
{
	double x = json_object_get_double(v);

	if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double))
		return false;
	if (!isfinite(x) || x != floor(x) || fabs(x) > (double)MAX_INT)
		return false;
	*out = json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : (int64_t)x;
	return true;
}

static void
take_strings(struct decode *d, const struct field *f, const char *pointer, json_object *v, struct strings *out)
{
	struct field each = { .name = f->name, .min = d->faults != NULL, .max = f->item_max ? f->item_max : 255,
	    .one_of = f->one_of };
	size_t i, n = json_object_array_length(v);

	if (d->faults != NULL && (int64_t)n > (f->max ? f->max : 1000)) {
		out_of_bounds(d, pointer, "too_many", "at most", f->max ? f->max : 1000, "item");
		return;
	}
	if ((int64_t)n < f->min && d->faults != NULL)
		out_of_bounds(d, pointer, "too_few", "at least", f->min, "item");
	out->at = arena_array(d->mem, n + 1, sizeof(*out->at));
	for (i = 0; i < n; i++) {
		json_object *item = json_object_array_get_idx(v, i);

		if (json_object_is_type(item, json_type_string))
			take_string(d, &each, arena_printf(d->mem, "%s/%zu", pointer, i), json_object_get_string(item),
			    &out->at[out->n++]);
		else
			bad(d, arena_printf(d->mem, "%s/%zu", pointer, i), "type", "a string is wanted");
	}
}

static void
take_ids(struct decode *d, const struct field *f, const char *pointer, json_object *v, struct ids *out)
{
	struct strings text = { NULL, 0 };
	size_t i;

	take_strings(d, f, pointer, v, &text);
	out->at = arena_array(d->mem, text.n + 1, sizeof(*out->at));
	out->n = text.n;
	for (i = 0; i < text.n; i++)
		if (text.at[i] == NULL || !uuid_parse(text.at[i], &out->at[i]))
			bad(d, arena_printf(d->mem, "%s/%zu", pointer, i), "format",
			    "an id is wanted: 36 characters, in lower case");
}

/* JSON that is kept as it is, but for a list of strings, which is held to its limits. */
static void
take_json(struct decode *d, const struct field *f, const char *pointer, json_object *v, struct json *out)
{
	struct strings checked = { NULL, 0 };

	if (d->faults != NULL && f->format != NULL && strcmp(f->format, "strings") == 0) {
		if (!json_object_is_type(v, json_type_array)) {
			bad(d, pointer, "type", "an array is wanted");
			return;
		}
		take_strings(d, f, pointer, v, &checked);
	}
	out->text = arena_copy(d->mem, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN |
	    JSON_C_TO_STRING_NOSLASHESCAPE));
}

static void *take_object(struct decode *, const struct record *, const char *, json_object *, void *, uint64_t *);

static void
take_list(struct decode *d, const struct field *f, const char *pointer, json_object *v, struct list *out)
{
	struct decode inner = { d->mem, CREATE, d->faults, d->foreign };
	size_t i, n = json_object_array_length(v);

	if (d->faults != NULL && (int64_t)n > (f->max ? f->max : 1000)) {
		out_of_bounds(d, pointer, "too_many", "at most", f->max ? f->max : 1000, "item");
		return;
	}
	if ((int64_t)n < f->min && d->faults != NULL)
		out_of_bounds(d, pointer, "too_few", "at least", f->min, "item");
	out->rows = arena_array(d->mem, n, f->of->size);
	out->n = n;
	for (i = 0; i < n; i++)
		take_object(&inner, f->of, d->faults == NULL ? pointer : arena_printf(d->mem, "%s/%zu", pointer, i),
		    json_object_array_get_idx(v, i),
		    (char *)out->rows + i * f->of->size, NULL);
}

/* The scalar kinds that are written as strings. */
static bool
take_text(struct decode *d, const struct field *f, const char *pointer, const char *text, void *at)
{
	switch (f->kind) {
	case KIND_STRING:
		take_string(d, f, pointer, text, at);
		return true;
	case KIND_UUID:
		if (!uuid_parse(text, at))
			bad(d, pointer, "format", "an id is wanted: 36 characters, in lower case");
		return true;
	case KIND_MOMENT:
		if (!moment_parse(text, at))
			bad(d, pointer, "format", "a time of RFC 3339 is wanted, as 2026-11-20T10:26:53Z");
		else if (((const struct moment *)at)->ms == 0)	/* which says that there is none */
			bad(d, pointer, "too_small", "a time after the beginning of 1970 is wanted");
		return true;
	default:
		return false;
	}
}

static bool
take_number(struct decode *d, const struct field *f, const char *pointer, json_object *v, void *at)
{
	double x = json_object_get_double(v);
	int64_t n;

	switch (f->kind) {
	case KIND_INT: case KIND_NUMBER:
		if (!whole(v, &n)) {
			bad(d, pointer, "type", "an integer within 2^53 is wanted");
			return true;
		}
		take_int(d, f, pointer, n, f->kind == KIND_INT ? at : &((struct number *)at)->n);
		if (f->kind == KIND_NUMBER)
			((struct number *)at)->set = true;
		return true;
	case KIND_REAL:
		if (!isfinite(x))
			bad(d, pointer, "too_large", "a finite number is wanted");
		else
			*(double *)at = x;
		return true;
	case KIND_POSITION:
		if (x < 0)
			bad(d, pointer, "too_small", "seconds are wanted, not negative");
		else if (!isfinite(x) || x > (double)MAX_INT / 1000)
			bad(d, pointer, "too_large", arena_printf(d->mem, "at most %lld seconds",
			    (long long)MAX_INT / 1000));
		else
			*(struct position *)at = (struct position){ llround(x * 1000), true };
		return true;
	default:
		return false;
	}
}

static const char *
wanted(enum kind kind)
{
	switch (kind) {
	case KIND_STRING: case KIND_UUID: case KIND_MOMENT: return "a string is wanted";
	case KIND_INT: case KIND_NUMBER: return "an integer is wanted";
	case KIND_REAL: case KIND_POSITION: return "a number is wanted";
	case KIND_BOOL: return "true or false is wanted";
	case KIND_STRINGS: case KIND_IDS: case KIND_LIST: return "an array is wanted";
	default: return "an object is wanted";
	}
}

static void
take_value(struct decode *d, const struct field *f, const char *pointer, json_object *v, void *at)
{
	enum json_type type = json_object_get_type(v);
	struct decode inner = { d->mem, CREATE, d->faults, d->foreign };

	if (f->kind == KIND_JSON)
		take_json(d, f, pointer, v, at);
	else if (v == NULL && (f->required || f->kind == KIND_INT || f->kind == KIND_BOOL || f->kind == KIND_REAL))
		bad(d, pointer, "required", "this may not be null");
	else if (v == NULL)
		return;
	else if (type == json_type_string && take_text(d, f, pointer, json_object_get_string(v), at))
		return;
	else if ((type == json_type_int || type == json_type_double) && take_number(d, f, pointer, v, at))
		return;
	else if (type == json_type_boolean && f->kind == KIND_BOOL)
		*(bool *)at = json_object_get_boolean(v);
	else if (type == json_type_array && f->kind == KIND_STRINGS)
		take_strings(d, f, pointer, v, at);
	else if (type == json_type_array && f->kind == KIND_IDS)
		take_ids(d, f, pointer, v, at);
	else if (type == json_type_array && f->kind == KIND_LIST)
		take_list(d, f, pointer, v, at);
	else if (type == json_type_object && f->kind == KIND_NESTED)
		((struct nested *)at)->row = take_object(&inner, f->of, pointer, v, arena_alloc(d->mem, f->of->size),
		    NULL);
	else
		bad(d, pointer, "type", wanted(f->kind));
}

static const struct field *
by_json_name(const struct record *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strcmp(record_json_name(r, &r->fields[i]), name) == 0)
			return &r->fields[i];
	return NULL;
}

static void
missing(struct decode *d, const struct record *r, const char *pointer, uint64_t given)
{
	size_t i;

	if (d->faults == NULL || d->on != CREATE)
		return;
	for (i = 0; i < r->n; i++)
		if (r->fields[i].on & CREATE && r->fields[i].required && (given >> i & 1) == 0)
			bad(d, arena_printf(d->mem, "%s/%s", pointer, record_json_name(r, &r->fields[i])), "required",
			    "this is required");
}

/* ~ and / in a member's name, as JSON pointers want them (RFC 6901). */
static const char *
pointer_to(struct decode *d, const char *parent, const char *name)
{
	struct buf b = BUF(d->mem);

	buf_text(&b, parent);
	buf_char(&b, '/');
	for (; *name != '\0' && b.len < 200; name++)
		buf_add(&b, *name == '~' ? "~0" : *name == '/' ? "~1" : name, *name == '~' || *name == '/' ? 2 : 1);
	return buf_string(&b);
}

#define READ_ONLY "this member cannot be set here"

/* Says what there is instead. */
static void
unknown(struct decode *d, const struct record *r, const char *pointer)
{
	struct buf b = BUF(d->mem);
	size_t i;

	if (d->faults == NULL)
		return;
	for (i = 0; i < r->n; i++)
		if (r->fields[i].on & d->on)
			buf_printf(&b, "%s%s", b.len ? ", " : "", record_json_name(r, &r->fields[i]));
	fault_add(d->faults, d->mem, pointer, "unknown", "there is no such member%s%s", b.len ? "; there are: " : "",
	    buf_string(&b));
}

void
faults_read_only(struct faults *faults, const struct record *sent)
{
	size_t i;
	int k;

	for (k = 0; k < faults->n && k < (int)(sizeof(faults->at) / sizeof(faults->at[0])); k++) {
		struct input_fault *f = &faults->at[k];

		for (i = 0; i < sent->n && strcmp(f->code, "unknown") == 0; i++)
			if ((sent->fields[i].on & (HIDDEN | INPUT_ONLY)) == 0 && *f->pointer == '/' &&
			    strcmp(f->pointer + 1, record_json_name(sent, &sent->fields[i])) == 0)
				*f = (struct input_fault){ f->pointer, "read_only", READ_ONLY };
	}
}

static void *
take_object(struct decode *d, const struct record *r, const char *pointer, json_object *o, void *row, uint64_t *given)
{
	uint64_t seen = 0;
	size_t i;

	if (!json_object_is_type(o, json_type_object)) {
		bad(d, pointer, "type", *pointer != '\0' ? "an object is wanted" : "the body is to be a JSON object");
		return row;
	}
	json_object_object_foreach(o, key, value) {
		const struct field *f = by_json_name(r, key);
		const char *at = d->faults == NULL ? pointer : pointer_to(d, pointer, key);

		if (f == NULL && d->foreign)
			continue;
		if (f == NULL || (d->faults != NULL && (f->on & (d->on | HIDDEN)) == HIDDEN))
			unknown(d, r, at);
		else if (d->faults != NULL && (f->on & d->on) == 0)
			bad(d, at, "read_only", READ_ONLY);
		else {
			seen |= (uint64_t)1 << (f - r->fields);
			take_value(d, f, at, value, (char *)row + f->offset);
		}
	}
	missing(d, r, pointer, seen);
	if (given != NULL)
		*given = seen;
	for (i = 0; i < r->n; i++)
		if (r->fields[i].on & GIVEN)
			*(int64_t *)((char *)row + r->fields[i].offset) = (int64_t)seen;
	return row;
}

enum decoded
record_decode(struct arena *mem, const struct record *r, unsigned on, const char *json, size_t n,
    void **row, uint64_t *given, struct faults *faults)
{
	struct decode d = { mem, on, faults, false };
	json_object *tree;
	struct scan s;

	if (!parse_scanned(mem, json, n, &tree, &s)) {
		fault_at(faults, mem, json, &s);
		return NOT_JSON;
	}
	*row = take_object(&d, r, "", tree, arena_alloc(mem, r->size), given);
	return faults->n > 0 ? HAS_FAULTS : DECODED;
}

void *
record_decode_foreign(struct arena *mem, const struct record *r, const char *json, size_t n, uint64_t *given)
{
	struct faults faults = { .n = 0 };
	struct decode d = { mem, CREATE, &faults, true };
	json_object *tree;
	void *row;

	if (!parse(mem, json, n, &tree))
		return NULL;
	row = take_object(&d, r, "", tree, arena_alloc(mem, r->size), given);
	return faults.n > 0 ? NULL : row;
}

const char *
json_member(struct arena *mem, const char *json, const char *name)
{
	json_object *tree, *value;

	if (!parse(mem, json, strlen(json), &tree) || !json_object_is_type(tree, json_type_object) ||
	    !json_object_object_get_ex(tree, name, &value))
		return NULL;
	return arena_copy(mem, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
	    JSON_C_TO_STRING_NOSLASHESCAPE));
}

void *
record_parse(struct arena *mem, const struct record *r, const char *json)
{
	struct decode d = { mem, 0, NULL, false };
	json_object *tree;

	if (json == NULL || !parse(mem, json, strlen(json), &tree) || !json_object_is_type(tree, json_type_object))
		return NULL;
	return take_object(&d, r, "", tree, arena_alloc(mem, r->size), NULL);
}

struct list
record_parse_list(struct arena *mem, const struct record *r, const char *json)
{
	struct decode d = { mem, 0, NULL, false };
	struct field f = { .kind = KIND_LIST, .of = r };
	struct list out = { NULL, 0 };
	json_object *tree;

	if (json != NULL && parse(mem, json, strlen(json), &tree) && json_object_is_type(tree, json_type_array))
		take_list(&d, &f, "", tree, &out);
	return out;
}

struct list
record_glean(struct arena *mem, const struct record *r, const char *json)
{
	struct decode d = { mem, CREATE, NULL, true };
	struct field f = { .kind = KIND_LIST, .of = r };
	struct list out = { NULL, 0 };
	json_object *tree;

	if (json == NULL || !parse(mem, json, strlen(json), &tree))
		return out;
	if (json_object_is_type(tree, json_type_array))
		take_list(&d, &f, "", tree, &out);
	else if (json_object_is_type(tree, json_type_object))
		out = (struct list){ take_object(&d, r, "", tree, arena_alloc(mem, r->size), NULL), 1 };
	return out;
}

struct strings
strings_parse(struct arena *mem, const char *json)
{
	struct decode d = { mem, 0, NULL, false };
	struct field f = { .kind = KIND_STRINGS };
	struct strings out = { NULL, 0 };
	json_object *tree;

	if (json != NULL && parse(mem, json, strlen(json), &tree) && json_object_is_type(tree, json_type_array))
		take_strings(&d, &f, "", tree, &out);
	return out;
}

/* Comma-separated values, repeated parameters: both add to the list. */
static void
query_strings(struct decode *d, const struct field *f, const char *name, const char *value, struct strings *out)
{
	struct field each = { .name = f->name, .min = 1, .max = 255, .one_of = f->one_of };
	const char **at = arena_array(d->mem, out->n + strlen(value) + 2, sizeof(*at));

	if (out->n > 0)
		memcpy(at, out->at, out->n * sizeof(*at));
	out->at = at;
	while (*value != '\0') {
		size_t n = strcspn(value, ",");

		take_string(d, &each, name, arena_copy_n(d->mem, value, n), &out->at[out->n++]);
		value += n + (value[n] == ',');
	}
	if (f->max != 0 && (int64_t)out->n > f->max)
		fault_add(d->faults, d->mem, name, "too_many", "at most %lld", (long long)f->max);
}

static void
query_value(struct decode *d, const struct field *f, const char *name, const char *value, void *at)
{
	int64_t n;

	if (take_text(d, f, name, value, at))
		return;
	switch (f->kind) {
	case KIND_STRINGS:
		query_strings(d, f, name, value, at);
		break;
	case KIND_BOOL:
		if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
			bad(d, name, "type", "true or false is wanted");
		*(bool *)at = strcmp(value, "true") == 0;
		break;
	case KIND_INT: case KIND_NUMBER:
		if (!int_parse(value, &n)) {
			bad(d, name, "type", "an integer is wanted");
			break;
		}
		take_int(d, f, name, n, f->kind == KIND_INT ? at : &((struct number *)at)->n);
		if (f->kind == KIND_NUMBER)
			((struct number *)at)->set = true;
		break;
	case KIND_POSITION:
		if (!position_parse(value, &((struct position *)at)->ms))
			bad(d, name, "type", "seconds are wanted, as 12.5");
		((struct position *)at)->set = true;
		break;
	default:
		bad(d, name, "type", "this cannot be given in a query");
	}
}

enum decoded
record_decode_query(struct arena *mem, const struct record *r, const struct pair *pairs, size_t n,
    void **row, uint64_t *given, struct faults *faults)
{
	struct decode d = { mem, QUERY, faults, false };
	uint64_t seen = 0;
	size_t i, k;

	*row = arena_alloc(mem, r->size);
	for (i = 0; i < n; i++) {
		const struct field *f = NULL;

		for (k = 0; k < r->n && f == NULL; k++)
			if (r->fields[k].on & QUERY && strcasecmp(record_json_name(r, &r->fields[k]),
			    pairs[i].name) == 0)
				f = &r->fields[k];
		if (f == NULL) {
			fault_add(faults, mem, pairs[i].name, "unknown", "there is no such parameter");
			continue;
		}
		if (seen >> (f - r->fields) & 1 && f->kind != KIND_STRINGS)
			fault_add(faults, mem, pairs[i].name, "duplicate", "given twice");
		seen |= (uint64_t)1 << (f - r->fields);
		query_value(&d, f, pairs[i].name, pairs[i].value, (char *)*row + f->offset);
	}
	for (k = 0; k < r->n; k++)
		if (r->fields[k].on & QUERY && r->fields[k].required && (seen >> k & 1) == 0)
			fault_add(faults, mem, record_json_name(r, &r->fields[k]), "required", "this is required");
	if (given != NULL)
		*given = seen;
	return faults->n > 0 ? HAS_FAULTS : DECODED;
}
