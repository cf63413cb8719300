/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Field tables.  A record describes a C struct once; from that one table come the SELECT list and the reading of rows,
 * INSERT and UPDATE, the strict decoding of JSON bodies and queries, the JSON that is sent, filter and sort, and the
 * schemas of the API document.
 *
 *	struct subtitle { struct uuid id, media_id; const char *language_code; struct moment created_at; };
 *	static const struct field subtitle_fields[] = {
 *		FIELD(struct subtitle, id, .on = SERVER, .doc = "Unique id"), …
 *	};
 *	static const struct record subtitle_record = RECORD("Subtitle", struct subtitle, subtitle_fields);
 *
 * The kind of a field follows from the C type of its member; a type without a kind does not compile.
 * One name: the member is the SQL column, and its camelCase form the JSON member.
 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/text.h"

struct record;

struct number { int64_t n; bool set; };			/* an integer that may be null */
/* a list of strings; JSON array in SQL too; at == NULL is null */
struct strings { const char **at; size_t n; };
/* ids; JSON array; in SQL one after the other, BINARY; at == NULL is null */
struct ids { struct uuid *at; size_t n; };
struct json { const char *text; };			/* JSON kept as it is; NULL is null */
struct nested { void *row; };				/* one record (.of), JSON in SQL; NULL is null */
struct list { void *rows; size_t n; };			/* an array of records (.of), contiguous; JSON in SQL */

enum kind {
	KIND_STRING = 1,	/* const char *: UTF-8, NULL is null */
	KIND_INT,		/* int64_t, within ±2^53 */
	KIND_BOOL,		/* bool; with OMIT_NULL, false is null */
	KIND_REAL,		/* double, finite; with OMIT_NULL, 0 is null */
	KIND_NUMBER,		/* struct number */
	KIND_UUID,		/* struct uuid: BINARY(16) */
	KIND_MOMENT,		/* struct moment: BIGINT ms; RFC 3339 on the wire */
	KIND_POSITION,		/* struct position: BIGINT ms; seconds on the wire */
	KIND_STRINGS, KIND_IDS, KIND_JSON, KIND_NESTED,
	KIND_LIST,		/* struct list; with OMIT_NULL, one without rows is null */
};

#define KIND_OF(x) _Generic((x), const char *: KIND_STRING, int64_t: KIND_INT, bool: KIND_BOOL, double: KIND_REAL, \
	struct number: KIND_NUMBER, struct uuid: KIND_UUID, struct moment: KIND_MOMENT, \
	struct position: KIND_POSITION, struct strings: KIND_STRINGS, struct ids: KIND_IDS, struct json: KIND_JSON, \
	struct nested: KIND_NESTED, struct list: KIND_LIST)

/* Who may set a field, and what else it is good for.  Nothing: read-only for clients. */
enum {
	CREATE = 1 << 0,	/* in the body of POST and PUT */
	PATCH = 1 << 1,		/* in the body of PATCH */
	QUERY = 1 << 2,		/* in the query string */
	SERVER = 1 << 3,	/* set by us when a row is inserted */
	FILTER = 1 << 4,	/* in filter= */
	SORT = 1 << 5,		/* in sort= */
	DETAIL = 1 << 6,	/* left out of lists */
	HIDDEN = 1 << 7,	/* read from the row, never sent */
	COMPUTED = 1 << 8,	/* no column: the handler fills it in */
	OMIT_NULL = 1 << 9,	/* left out instead of null */
	INPUT_ONLY = 1 << 10,	/* taken, never sent, no column */
	ASCII = 1 << 11,	/* a column of ASCII, which SQL cannot compare with anything else */
	/* a text as it comes; other strings of a body are one line each, see utf8_line() */
	MULTILINE = 1 << 13,
	/* an int64_t of a record inside of a body: which of its members there were, as record_bit()s */
	GIVEN = 1 << 14,
	LISTED = 1 << 12,	/* read for lists alone: the opposite of DETAIL */
};

struct field {
	const char *name;
	size_t offset, size;
	enum kind kind;
	unsigned on;
	bool required;			/* on POST and PUT; never null in an answer */
	/* strings: characters; numbers: value; lists: items; max 0 = no own limit (strings: 65,535) */
	int64_t min, max;
	int64_t item_max;		/* lists of strings: characters of each; 0 = 255 */
	const char *one_of;		/* allowed words, separated by blanks */
	const char *known;		/* the same with | between, for the document alone: the handler checks them */
	const char *json;		/* where the camelCase rule does not reach */
	const char *sql;		/* an expression instead of t.<name> */
	/* filter by this condition, each ? of it the value, instead of comparing the column */
	const char *where;
	const char *key;		/* of SORT: the index of what the list has in common, this column and the id */
	const char *ops;		/* filter operators, e.g. "= !="; default: all that suit the kind */
	const char *format;		/* OpenAPI format where the kind gives none: "uri", "email", … */
	/* of nested and list; of KIND_JSON: what it holds, for the document; there .format "array" makes it a list of
	 * them, "strings" a list of strings, which is also what a body may set then, and "object" names with texts */
	const struct record *of;
	const char *doc;		/* one sentence, required */
	/* what holds when it is left out, as JSON, for the document; of a bool: false */
	const char *preset;
};

struct record {
	const char *name;		/* in the API document, PascalCase */
	size_t size;
	const struct field *fields;
	size_t n;
};

#define FIELD(type, member, ...) { .name = #member, .offset = offsetof(type, member), \
	.size = sizeof(((type *)0)->member), .kind = KIND_OF(((type *)0)->member), __VA_ARGS__ }
#define RECORD(called, type, table) { .name = (called), .size = sizeof(type), .fields = (table), \
	.n = sizeof(table) / sizeof((table)[0]) }

/* Ends the program, naming the field, when a table has a hole: a member of the struct in no field, a field without doc,
 * two fields of one name, over 64 fields, a nested one without .of.  Called for every record at start. */
void record_check(const struct record *);

const struct field *record_field(const struct record *, const char *name);
/* The JSON member of a field, in static storage made at first use. */
const char *record_json_name(const struct record *, const struct field *);
/* Bit of a field in a `given` mask. */
uint64_t record_bit(const struct record *, const char *name);

/* Is it one of them? */
bool ids_have(const struct ids *, struct uuid id);

/* One fault of the input; `pointer` is a JSON pointer ("/tags/3") or the name of a query parameter. */
struct input_fault { const char *pointer, *code, *detail; };
struct faults { struct input_fault at[32]; int n; };		/* more than 32 are counted, not kept */
void fault_add(struct faults *, struct arena *, const char *pointer, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Members that were unknown to a body, but are sent in the record of the answer: read_only instead. */
void faults_read_only(struct faults *, const struct record *sent);

enum decoded { DECODED, NOT_JSON, HAS_FAULTS };

/*
 * Decodes a JSON object into a new struct of the record: only members whose field is `on` (CREATE or PATCH) are taken;
 * others, unknown ones and duplicates are faults.  Absent required fields are faults for CREATE.  Strings come in NFC
 * as sent, checked for length in characters, for control characters, to be one line unless the field has MULTILINE
 * (items of lists are always one), and, where .min is not 0, for blanks alone.  *given has a bit per member that was
 * present (null counts as present).  NOT_JSON: syntax, depth over 32, duplicate keys, NaN, bytes after the end, not
 * UTF-8; the one fault says in which line and column, and what was wanted there.
 */
enum decoded record_decode(struct arena *, const struct record *, unsigned on, const char *json, size_t n,
    void **row, uint64_t *given, struct faults *);

/* A JSON object of another program: as strict as record_decode() with CREATE, but members that are unknown are passed
 * over.  NULL: not JSON, or any fault. */
void *record_decode_foreign(struct arena *, const struct record *, const char *json, size_t n, uint64_t *given);

/* The member of a JSON object, as JSON.  NULL: it has none, or is no object. */
const char *json_member(struct arena *, const char *json, const char *name);

/* JSON we wrote ourselves (job arguments, stored columns): every field is taken.  NULL if it does not parse. */
void *record_parse(struct arena *, const struct record *, const char *json);
/* The same for a stored array. */
struct list record_parse_list(struct arena *, const struct record *, const char *json);
/* What another program wrote, read leniently: the objects of an array, or the one that stands for it.  Members that are
 * unknown are passed over, those of another type count as absent; fields of struct json take any.  No rows: not JSON,
 * or neither. */
struct list record_glean(struct arena *, const struct record *, const char *json);
/* A new struct: `row` with the members that `given` names taken from `from`, as a PATCH wants it. */
void *record_overlay(struct arena *, const struct record *, const void *row, const void *from, uint64_t given);
/* The members of `given` whose values differ between two structs. */
uint64_t record_differs(struct arena *, const struct record *, const void *a, const void *b, uint64_t given);

/* A stored array of strings. */
struct strings strings_parse(struct arena *, const char *json);
/* Whole, strict JSON (RFC 8259, depth 32, no duplicate keys, no lone surrogates, no NUL)? */
bool json_valid(struct arena *, const char *json, size_t n);

/* Name and value pairs of a query, decoded already; lists come comma-separated or repeated; names without regard to
 * case. */
struct pair { const char *name, *value; };
enum decoded record_decode_query(struct arena *, const struct record *, const struct pair *, size_t n,
    void **row, uint64_t *given, struct faults *);

/* Appends the struct as a JSON object.  In lists (`brief`) DETAIL fields are left out. */
void record_render(struct buf *, const struct record *, const void *row, bool brief);
/* One member's value as JSON: what a JSON column holds. */
void record_value(struct buf *, const struct field *, const void *row);
/* Every stored member, HIDDEN ones too: the form record_parse() reads. */
void record_store(struct buf *, const struct record *, const void *row);

/*
 * The JSON schema (OpenAPI 3.1) of the record as sent (on = 0), as sent in lists (DETAIL: without these), or as taken
 * (CREATE, PATCH or QUERY).  What is sent may grow, so programs must bear further members; what is taken is all there
 * is. Members whose bit is in `read_only` are marked so.
 */
void record_schema(struct buf *, const struct record *, unsigned on, uint64_t read_only);
/* The schema of one field's value. */
void record_schema_value(struct buf *, const struct field *, unsigned on);
/* Its name among the schemas of the document: "Media", in lists "MediaBrief" if it has details, and, taken, "MediaNew"
 * or "MediaPatch" unless it is all taken. */
const char *record_schema_name(struct arena *, const struct record *, unsigned on);
/* Is the field in that schema? */
bool record_schema_has(const struct field *, unsigned on);

/* The operators of filter= that suit the field, blank-separated. */
const char *record_operators(const struct field *);

#endif
