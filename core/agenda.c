/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agendas of OParl: what the documents say, and the tree that numbers make. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/agenda.h"
#include "core/buf.h"
#include "core/fnv.h"
#include "core/record.h"

enum { NUMBER_MAX = 60, KEY_PARTS = 12, DIGITS = 9,	/* bytes; deeper than any agenda */
	AGAIN = 1000 };			/* items */

/* A Meeting, an item, a page of either, or something else: members of all of them. */
struct document {
	const char *id, *type, *name, *start, *end, *message, *meeting;
	struct json number, order, is_public, deleted, agenda_item, data, links, location, organization;
};
static const struct field document_fields[] = {
	FIELD(struct document, id, .doc = "Address"),
	FIELD(struct document, type, .doc = "Address of its type"),
	FIELD(struct document, name, .doc = "Of the meeting or of the item"),
	FIELD(struct document, start, .doc = "Planned, or as it was"),
	FIELD(struct document, end, .doc = "The same"),
	FIELD(struct document, message, .doc = "Of an error"),
	FIELD(struct document, meeting, .doc = "Of an item"),
	FIELD(struct document, number, .doc = "Free text, or a number"),
	FIELD(struct document, order, .doc = "An integer, or digits"),
	FIELD(struct document, is_public, .json = "public", .doc = "false: not for us"),
	FIELD(struct document, deleted, .doc = "true: all else may be missing"),
	FIELD(struct document, agenda_item, .doc = "Items of a meeting"),
	FIELD(struct document, data, .doc = "Of a page"),
	FIELD(struct document, links, .doc = "Of a page"),
	FIELD(struct document, location, .doc = "Where a meeting is held: an object, or its address"),
	FIELD(struct document, organization, .doc = "Who meets: addresses, the first of which leads"),
};
static const struct record document_record = RECORD("OparlDocument", struct document, document_fields);

struct links { const char *next; };
static const struct field links_fields[] = { FIELD(struct links, next, .doc = "The page behind this one") };
static const struct record links_record = RECORD("OparlLinks", struct links, links_fields);

struct place { const char *description, *room, *street_address, *postal_code, *locality; };
static const struct field place_fields[] = {
	FIELD(struct place, description, .doc = "In words"),
	FIELD(struct place, room, .doc = "Where in the building"),
	FIELD(struct place, street_address, .doc = "Street and number"),
	FIELD(struct place, postal_code, .doc = "Of the town"),
	FIELD(struct place, locality, .doc = "Town"),
};
static const struct record place_record = RECORD("OparlLocation", struct place, place_fields);

enum type { OTHER, MEETING, ITEM, FAILURE };

/* UTF-8 without BOM and control characters, which stand raw inside of texts. */
static const char *
clean(struct arena *mem, const char *text, size_t *n)
{
	struct buf b = BUF(mem);
	bool latin = !utf8_valid(text, *n);
	size_t i = *n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	for (; i < *n; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (latin && c >= 0x80)
			buf_char(&b, (char)(0xc0 | c >> 6));
		buf_char(&b, c < ' ' || c == 0x7f ? ' ' : latin && c >= 0x80 ? (char)(0x80 | (c & 0x3f)) : (char)c);
	}
	*n = b.len;
	return buf_string(&b);
}

/* One line without blanks at its ends and with one at a time between. */
static const char *
line_of(struct arena *mem, const char *text)
{
	const char *p = text != NULL ? utf8_to_line(mem, text) : "";
	struct buf b = BUF(mem);

	for (; *p != '\0'; p++) {
		bool wide = strncmp(p, "\xc2\xa0", 2) == 0;	/* no-break */

		if (*p != ' ' && !wide)
			buf_char(&b, *p);
		else if (b.len > 0 && b.text[b.len - 1] != ' ')
			buf_char(&b, ' ');
		p += wide;
	}
	while (b.len > 0 && b.text[b.len - 1] == ' ')
		b.len--;
	return arena_copy_n(mem, b.len > 0 ? b.text : "", b.len);
}

/* A text, or a number as it is written; "" for anything else. */
static const char *
text_of(struct arena *mem, const struct json *v)
{
	struct strings one;

	if (v->text == NULL)
		return "";
	if (strspn(v->text, "-+.0123456789eE") == strlen(v->text))
		return v->text;
	one = *v->text == '"' ? strings_parse(mem, arena_printf(mem, "[%s]", v->text)) : (struct strings){ NULL, 0 };
	return one.n == 1 && one.at[0] != NULL ? one.at[0] : "";
}

static int64_t
order_of(struct arena *mem, const struct json *v)
{
	const char *text = text_of(mem, v);
	size_t n = strlen(text);

	return n > 0 && n <= 15 && strspn(text, "0123456789") == n ? strtoll(text, NULL, 10) : -1;
}

static bool
is(const struct json *v, const char *word)
{
	return v->text != NULL && strcmp(v->text, word) == 0;
}

/* By the last part of its address, in whatever case; where there is none, by what it has. */
static enum type
type_of(const struct document *d)
{
	const char *slash = d->type != NULL ? strrchr(d->type, '/') : NULL, *name = slash != NULL ? slash + 1 : d->type;

	if (name == NULL || *name == '\0')
		return d->agenda_item.text != NULL ? MEETING : d->number.text != NULL || d->name != NULL ? ITEM : OTHER;
	return strcasecmp(name, "Meeting") == 0 ? MEETING : strcasecmp(name, "AgendaItem") == 0 ? ITEM :
	    strcasecmp(name, "Error") == 0 ? FAILURE : OTHER;
}

/* Among the last ones: what moves from a page to the next while they are read, or a page that is sent again. */
static bool
is_there(const struct agenda *a, const char *id)
{
	size_t i;

	for (i = a->n; id != NULL && i > 0 && a->n - i < AGAIN; i--)
		if (a->at[i - 1].id != NULL && strcmp(a->at[i - 1].id, id) == 0)
			return true;
	return false;
}

static struct moment
moment_of(const char *text)
{
	struct moment m = { 0 };

	return text != NULL && moment_parse(text, &m) ? m : (struct moment){ 0 };
}

/* What is not public, deleted, or has no name is none of it. */
static void
add_item(struct arena *mem, struct agenda *a, const struct document *d)
{
	struct agenda_item item = { .id = d->id, .number = line_of(mem, text_of(mem, &d->number)),
	    .name = line_of(mem, d->name), .start = moment_of(d->start), .end = moment_of(d->end),
	    .order = order_of(mem, &d->order), .parent = -1 };
	struct agenda_item *more;

	if (strlen(item.number) > NUMBER_MAX)
		item.number = arena_copy_n(mem, item.number, utf8_prefix(item.number, NUMBER_MAX));
	if (is(&d->is_public, "false") || is(&d->deleted, "true") || (*item.number == '\0' && *item.name == '\0'))
		return;
	if (a->n == a->room) {
		a->room = a->room * 2 + 64;
		more = arena_array(mem, a->room, sizeof(*more));
		if (a->n > 0)
			memcpy(more, a->at, a->n * sizeof(*more));
		a->at = more;
	}
	a->at[a->n++] = item;
}

static void
add_part(struct arena *mem, struct buf *b, const char *separator, const char *text)
{
	const char *line = line_of(mem, text);

	if (*line == '\0')
		return;
	buf_text(b, b->len > 0 ? separator : "");
	buf_text(b, line);
}

/* In words, or else as an address is written. */
static const char *
location_of(struct arena *mem, const struct json *v)
{
	struct list found = { 0 };
	const struct place *p;
	struct buf b = BUF(mem);

	if (v->text != NULL && *v->text == '{')
		found = record_glean(mem, &place_record, v->text);
	if (found.n == 0)
		return NULL;
	p = found.rows;
	add_part(mem, &b, "", p->description);
	if (b.len == 0) {
		add_part(mem, &b, "", p->room);
		add_part(mem, &b, ", ", p->street_address);
		add_part(mem, &b, ", ", p->postal_code);
		add_part(mem, &b, p->postal_code != NULL ? " " : ", ", p->locality);
	}
	return b.len > 0 ? buf_string(&b) : NULL;
}

/* The first of the addresses, or the only one. */
static const char *
leading(struct arena *mem, const struct json *v)
{
	struct strings all = { NULL, 0 };
	const char *one;

	if (v->text != NULL && *v->text == '[')
		all = strings_parse(mem, v->text);
	one = all.n > 0 ? all.at[0] : text_of(mem, v);
	return one != NULL && *one != '\0' ? one : NULL;
}

/* What is said of the meeting itself; an end before the start is midnight of a day whose end nobody knows. */
static void
describe(struct arena *mem, struct agenda *a, const struct document *d)
{
	if (a->name == NULL && d->name != NULL)
		a->name = line_of(mem, d->name);
	if (a->start.ms == 0) {
		a->start = moment_of(d->start);
		a->end = moment_of(d->end);
		if (a->end.ms <= a->start.ms)
			a->end = (struct moment){ 0 };
	}
	if (a->location == NULL)
		a->location = location_of(mem, &d->location);
	if (a->organization == NULL)
		a->organization = leading(mem, &d->organization);
}

static const char *
take_meeting(struct arena *mem, struct agenda *a, const struct document *d, bool listed, const char **next)
{
	struct list items = record_glean(mem, &document_record, d->agenda_item.text);
	const struct document *rows = items.rows;
	size_t i;

	if (is(&d->deleted, "true"))
		return "The meeting has been deleted there.";
	describe(mem, a, d);
	/* some lists leave out what the meeting by itself has */
	if (items.n == 0 && listed && d->id != NULL && !a->followed) {
		a->followed = true;
		*next = d->id;
		return NULL;
	}
	if (items.n == 0)
		return a->may_be_empty ? NULL : "The meeting has no agenda there.";
	for (i = 0; i < items.n && a->n <= AGENDA_MAX; i++)
		add_item(mem, a, &rows[i]);
	return NULL;
}

/* Of a page: items of one meeting, or a meeting.  One that was read before, once more, is over. */
static const char *
take_list(struct arena *mem, struct agenda *a, const struct document *rows, size_t n, const char **next)
{
	const struct document *meeting = NULL;
	size_t i, fresh = 0;

	for (i = 0; i < n && a->n <= AGENDA_MAX; i++) {
		const struct document *d = &rows[i];
		enum type type = type_of(d);

		if (type == MEETING && !is(&d->deleted, "true")) {
			if (meeting != NULL)
				return "There are several meetings in this list: name one of them.";
			meeting = d;
		}
		if (type != ITEM || is_there(a, d->id))
			continue;
		if (d->meeting != NULL && a->meeting == NULL)
			a->meeting = d->meeting;
		if (d->meeting != NULL && strcmp(d->meeting, a->meeting) != 0)
			return "This list has items of several meetings: name the meeting itself.";
		add_item(mem, a, d);
		fresh++;
	}
	if (meeting != NULL) {
		*next = NULL;
		return take_meeting(mem, a, meeting, true, next);
	}
	if (fresh == 0)
		*next = NULL;
	return NULL;
}

static const char *
take_page(struct arena *mem, struct agenda *a, const struct document *d, const char **next)
{
	struct list rows = record_glean(mem, &document_record, d->data.text),
	    links = record_glean(mem, &links_record, d->links.text);

	if (links.n == 1)
		*next = ((const struct links *)links.rows)->next;
	if (*next != NULL && **next == '\0')
		*next = NULL;
	return take_list(mem, a, rows.rows, rows.n, next);
}

static const char *
take_one(struct arena *mem, struct agenda *a, const struct document *d, const char **next)
{
	switch (d->data.text != NULL ? OTHER : type_of(d)) {
	case MEETING:
		return take_meeting(mem, a, d, false, next);
	case FAILURE:
		return arena_printf(mem, "The server says: %.200s", d->message != NULL ? line_of(mem, d->message) :
		    "an error, and not which.");
	case ITEM:
		if (d->meeting == NULL || a->followed)
			return "This is one item; name its meeting.";
		a->followed = true;
		*next = d->meeting;
		return NULL;
	case OTHER:
		break;
	}
	if (d->data.text != NULL)
		return take_page(mem, a, d, next);
	return is(&d->deleted, "true") ? "The meeting has been deleted there." :
	    "This is neither a meeting nor a list of agenda items.";
}

const char *
agenda_take(struct arena *mem, struct agenda *a, const char *text, size_t n, const char **next)
{
	const char *json = clean(mem, text, &n), *wrong;
	struct list rows = record_glean(mem, &document_record, json);

	*next = NULL;
	if (rows.rows == NULL)
		return "What is there is no JSON as OParl wants it.";
	wrong = json[strspn(json, " ")] == '[' ? take_list(mem, a, rows.rows, rows.n, next) : take_one(mem, a,
	    rows.rows, next);
	return wrong == NULL && a->n > AGENDA_MAX ? "The agenda has more than 10,000 items." : wrong;
}

const char *
agenda_name(struct arena *mem, const char *text, size_t n)
{
	struct list rows = record_glean(mem, &document_record, clean(mem, text, &n));
	const struct document *d = rows.rows;

	return rows.n == 1 && d->name != NULL && *line_of(mem, d->name) != '\0' ? line_of(mem, d->name) : NULL;
}

static int
by_order(const void *a, const void *b)
{
	const struct agenda_item *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->parent < y->parent ? -1 : x->parent > y->parent;	/* their places so far */
}

static void
sort(struct agenda *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		if (a->at[i].order < 0)
			return;
		a->at[i].parent = (int64_t)i;
	}
	if (a->n > 0)
		qsort(a->at, a->n, sizeof(*a->at), by_order);
}

/* What is written before a number, and the part of the agenda that it stands for. */
static const char *
part_of(const char *p, char *part)
{
	static const char *const words[] = { "TOP", "Tagesordnungspunkt" };
	static const struct { const char *text; char part; } parts[] = { { "N\xc3\x96", 'n' }, { "\xc3\x96", 'o' },
	    { "N", 'n' } };
	size_t i, n;

	for (i = 0; i < 2; i++) {
		n = strlen(words[i]);
		if (strncasecmp(p, words[i], n) == 0 && strchr(" .:0123456789", p[n]) != NULL)
			p += n + strspn(p + n, " .:");
	}
	*part = '-';
	for (i = 0; i < 3; i++) {
		n = strlen(parts[i].text);
		if (strncmp(p, parts[i].text, n) == 0 && p[n + strspn(p + n, " ")] >= '0' &&
		    p[n + strspn(p + n, " ")] <= '9') {
			*part = parts[i].part;
			return p + n;
		}
	}
	return p;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* "TOP 7.1." is "-7.1.", "11a" is "-11.a.": each part ends in a dot, so a beginning is one of whole parts.  NULL: there
 * is nothing in it. */
static const char *
key_of(struct arena *mem, const char *number)
{
	static const char digits[] = "0123456789";
	struct buf b = BUF(mem);
	char part;
	const char *p = part_of(number, &part);
	size_t n, parts = 0;

	buf_char(&b, part);
	while (*p != '\0' && parts < KEY_PARTS) {
		if ((n = strspn(p, digits)) > 0) {
			size_t zeros = strspn(p, "0") < n ? strspn(p, "0") : n - 1;

			buf_add(&b, p + zeros, n - zeros < DIGITS ? n - zeros : DIGITS);
			buf_char(&b, '.');
			parts++;
			p += n;
			continue;
		}
		for (n = 0; is_letter(p[n]); n++)
			buf_char(&b, p[n] >= 'A' && p[n] <= 'Z' ? (char)(p[n] | 0x20) : p[n]);
		if (n > 0) {
			buf_char(&b, '.');
			parts++;
		}
		p += n + (n == 0);
	}
	return b.len > 1 ? buf_string(&b) : NULL;
}

/* Keys and the last item that has each; open addressing. */
struct keys { const char **key; int64_t *at; size_t mask; };

static size_t
slot(const struct keys *k, const char *key, size_t n)
{
	size_t i;

	for (i = fnv1a(FNV_EMPTY, key, n) & k->mask; k->key[i] != NULL; i = (i + 1) & k->mask)
		if (strncmp(k->key[i], key, n) == 0 && k->key[i][n] == '\0')
			break;
	return i;
}

/* Of the longest beginning that there is. */
static int64_t
parent_of(const struct keys *k, const char *key)
{
	size_t n = strlen(key), i;

	while (n > 1) {
		for (n--; n > 1 && key[n - 1] != '.'; n--)
			continue;
		i = slot(k, key, n);
		if (n > 1 && k->key[i] != NULL)
			return k->at[i];
	}
	return -1;
}

static void
place_unnumbered(struct agenda *a, const char *const *key)
{
	int64_t before = -1, after;
	size_t i, next;

	for (i = 0; i < a->n; i++) {
		if (key[i] != NULL) {
			before = a->at[i].parent;
			continue;
		}
		for (next = i; next < a->n && key[next] == NULL; next++)
			continue;
		after = next < a->n ? a->at[next].parent : -1;
		for (; i < next; i++)
			a->at[i].parent = before == after ? before : -1;
		i--;
	}
}

void
agenda_order(struct arena *mem, struct agenda *a)
{
	const char **key = arena_array(mem, a->n + 1, sizeof(*key));
	struct keys k = { .mask = 1 };
	size_t i, at;

	sort(a);
	while (k.mask < a->n * 2)
		k.mask = k.mask * 2 + 1;
	k.key = arena_array(mem, k.mask + 1, sizeof(*k.key));
	k.at = arena_array(mem, k.mask + 1, sizeof(*k.at));
	for (i = 0; i < a->n; i++) {
		a->at[i].parent = -1;
		key[i] = key_of(mem, a->at[i].number);
		if (key[i] == NULL)
			continue;
		a->at[i].parent = parent_of(&k, key[i]);
		at = slot(&k, key[i], strlen(key[i]));
		k.key[at] = key[i];
		k.at[at] = (int64_t)i;
	}
	place_unnumbered(a, key);
}
