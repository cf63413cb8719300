/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prepared statements, and rows into structs.  The connection is in db_link.c, lists are in db_list.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/conf.h"
#include "core/db_link.h"
#include "core/db_list.h"
#include "core/db_watch.h"

enum { MAX_STATEMENTS = 250, MAX_ARGS = 192, MAX_COLUMNS = 64, TEXT_FIRST = 64, TEXT_KEPT = 16384, PAGE_ROWS = 64 };
enum { STATEMENTS = 5 };	/* that a request may need as long as one may take */

/* Where one column of a row lands before it goes into the struct.  A text's room grows to what it has seen. */
struct cell {
	const struct field *field;
	union { int64_t n; double real; struct uuid id; } value;
	char *text;			/* NULL: not a text */
	unsigned long room, length;
	my_bool is_null;
};

struct statement {
	struct statement *next;
	const struct record *record;	/* NULL: no columns, or one plain one */
	char *text;			/* whole SQL */
	const char *asked;		/* the part of it behind the columns */
	const char *literal;		/* address it was asked with */
	MYSQL_STMT *handle;
	MYSQL_BIND *out;
	struct cell *cells;
	unsigned n_columns, n_args;
};

static void
statement_free(struct statement *s, bool tell_server)
{
	unsigned i;

	for (i = 0; i < s->n_columns; i++)
		free(s->cells[i].text);
	if (tell_server && s->handle != NULL)
		mysql_stmt_close(s->handle);
	free(s->text);
	free(s->out);
	free(s->cells);
	free(s);
}

void
db_drop_statements(struct db *db, bool tell_server)
{
	struct statement *s, *next;
	size_t i;

	for (i = 0; i < sizeof(db->buckets) / sizeof(db->buckets[0]); i++) {
		for (s = db->buckets[i]; s != NULL; s = next) {
			next = s->next;
			statement_free(s, tell_server);
		}
		db->buckets[i] = NULL;
	}
	db->n_statements = 0;
}

/*
 * Of the last call.  An error that a cluster raises by itself, or that comes behind rows, stands in the connection
 * alone, whatever call was under way; a call that failed without a word may have done nothing.
 */
static void
fail_statement(struct db *db, const struct statement *s)
{
	if (mysql_stmt_errno(s->handle) != 0)
		db_fail(db, (int)mysql_stmt_errno(s->handle), mysql_stmt_error(s->handle), s->text);
	else if (mysql_errno(db->my) != 0)
		db_fail(db, (int)mysql_errno(db->my), mysql_error(db->my), s->text);
	else
		db_fail(db, 2013, "the answer ended early", s->text);
}

static bool
is_column(const struct field *f, bool brief)
{
	return (f->on & (COMPUTED | INPUT_ONLY)) == 0 && (f->on & (brief ? DETAIL : LISTED)) == 0;
}

static void
select_list(struct buf *b, const struct record *r, bool brief)
{
	const char *between = "SELECT ";
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (!is_column(&r->fields[i], brief))
			continue;
		buf_text(b, between);
		if (r->fields[i].sql != NULL)
			buf_text(b, r->fields[i].sql);
		else
			buf_printf(b, "t.`%s`", r->fields[i].name);
		between = ", ";
	}
	buf_char(b, ' ');
}

/* Looks again where the cell is: a text may have moved. */
static void
bind_cell(MYSQL_BIND *out, struct cell *c)
{
	out->buffer = c->text != NULL ? c->text : (void *)&c->value;
	out->buffer_length = c->text != NULL ? c->room : sizeof(c->value);
	out->length = &c->length;
	out->is_null = &c->is_null;
}

static void
text_room(struct cell *c, unsigned long room)
{
	free(c->text);
	c->text = malloc(room);
	if (c->text == NULL)
		abort();
	c->room = room;
}

static void
bind_column(MYSQL_BIND *out, struct cell *c, const struct field *f)
{
	c->field = f;
	switch (f->kind) {
	case KIND_INT: case KIND_BOOL: case KIND_NUMBER: case KIND_MOMENT: case KIND_POSITION:
		out->buffer_type = MYSQL_TYPE_LONGLONG;
		break;
	case KIND_REAL: out->buffer_type = MYSQL_TYPE_DOUBLE; break;
	case KIND_UUID: out->buffer_type = MYSQL_TYPE_BLOB; break;
	default:
		out->buffer_type = f->kind == KIND_IDS ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
		text_room(c, TEXT_FIRST);
	}
	bind_cell(out, c);
}

static void
bind_columns(struct statement *s, const struct record *r, bool brief)
{
	size_t i;

	s->out = calloc(r->n, sizeof(*s->out));
	s->cells = calloc(r->n, sizeof(*s->cells));
	if (s->out == NULL || s->cells == NULL)
		abort();
	for (i = 0; i < r->n; i++) {
		if (!is_column(&r->fields[i], brief))
			continue;
		bind_column(&s->out[s->n_columns], &s->cells[s->n_columns], &r->fields[i]);
		s->n_columns++;
	}
}

static size_t
bucket(const struct db *db, const struct record *r, const char *literal, const char *suffix)
{
	uintptr_t h = (uintptr_t)r * 31 + (uintptr_t)literal;

	for (; *suffix != '\0'; suffix++)
		h = h * 33 + (unsigned char)*suffix;
	return (h ^ h >> 9) % (sizeof(db->buckets) / sizeof(db->buckets[0]));
}

/*
 * The prepared statement of prefix + literal + suffix.  A hit is by address, then by text: an address may come again
 * with another text when SQL was put together in an arena.
 */
static struct statement *
prepare(struct db *db, const struct record *r, const char *literal, const char *suffix, bool brief)
{
	const size_t at = bucket(db, r, literal, suffix), n = strlen(literal);
	struct statement *s;
	struct buf text = BUF(db->mem);
	size_t columns;

	for (s = db->buckets[at]; s != NULL; s = s->next)
		if (s->record == r && s->literal == literal && strncmp(s->asked, literal, n) == 0 &&
		    strcmp(s->asked + n, suffix) == 0)
			return s;
	if (db->n_statements >= MAX_STATEMENTS)
		db_drop_statements(db, true);
	if (r != NULL)
		select_list(&text, r, brief);
	columns = text.len;
	buf_text(&text, literal);
	buf_text(&text, suffix);
	s = calloc(1, sizeof(*s));
	if (s == NULL || (s->text = strdup(buf_string(&text))) == NULL)
		abort();
	s->asked = s->text + columns;
	s->record = r;
	s->literal = literal;
	s->handle = mysql_stmt_init(db->my);
	if (s->handle == NULL)
		abort();
	if (mysql_stmt_prepare(s->handle, s->text, text.len) != 0) {
		fail_statement(db, s);
		statement_free(s, true);
		return NULL;
	}
	s->n_args = (unsigned)mysql_stmt_param_count(s->handle);
	if (r != NULL)
		bind_columns(s, r, brief);
	s->next = db->buckets[at];
	db->buckets[at] = s;
	db->n_statements++;
	return s;
}

static void
bind_arg(MYSQL_BIND *b, const struct arg *a)
{
	static my_bool yes = 1;

	b->buffer = (void *)(uintptr_t)&a->n;
	switch (a->kind) {
	case ARG_INT:
		b->buffer_type = MYSQL_TYPE_LONGLONG;
		break;
	case ARG_REAL:
		b->buffer_type = MYSQL_TYPE_DOUBLE;
		break;
	case ARG_UUID:
		b->buffer_type = MYSQL_TYPE_BLOB;
		b->buffer_length = 16;
		if (uuid_is_none(a->id))
			b->is_null = &yes;
		break;
	case ARG_TEXT: case ARG_BYTES:
		b->buffer_type = a->kind == ARG_TEXT ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
		b->buffer = (void *)(uintptr_t)a->text;
		b->buffer_length = a->text == NULL ? 0 : a->kind == ARG_TEXT ? strlen(a->text) : a->len;
		if (a->text == NULL)
			b->is_null = &yes;
		break;
	default:
		b->buffer_type = MYSQL_TYPE_NULL;
	}
}

static bool
run_once(struct db *db, struct statement *s, const struct arg *args)
{
	MYSQL_BIND in[MAX_ARGS];
	unsigned n = 0;

	memset(in, 0, sizeof(in[0]) * (s->n_args < MAX_ARGS ? s->n_args + 1 : MAX_ARGS));
	for (; n < MAX_ARGS && args[n].kind != ARG_END; n++)
		if (n < s->n_args)
			bind_arg(&in[n], &args[n]);
	if (n != s->n_args) {
		db_fail(db, 2034, "wrong number of arguments", s->text);
		return false;
	}
	if ((n == 0 || mysql_stmt_bind_param(s->handle, in) == 0) && mysql_stmt_execute(s->handle) == 0)
		return true;
	fail_statement(db, s);
	return false;
}

/* A connection that has ended before it took the statement, or one that may be asked twice. */
static bool
may_repeat(const struct db *db, const struct record *r, const char *literal)
{
	return db->spent && db->failure != DB_LIMIT && ((db->err != 2013 && db->err != 2055 && db->err != 1180) ||
	    r != NULL || strncmp(literal, "SELECT", 6) == 0);
}

/* Does it keep others from rows until the end of its transaction? */
static bool
takes_rows(const struct record *r, const char *literal, const char *suffix)
{
	return (r == NULL && strncmp(literal, "SELECT", 6) != 0) || strstr(literal, "FOR UPDATE") != NULL ||
	    strstr(suffix, "FOR UPDATE") != NULL;
}

/*
 * Prepares if needed and executes.  A connection that turns out to be dead outside of a transaction is dialled once
 * again, if nothing can have been done over it.
 */
static struct statement *
execute(struct db *db, const struct record *r, const char *literal, const char *suffix, const struct arg *args,
    bool brief)
{
	bool may_redial = !db->in_transaction;
	struct statement *s;

	if (db->in_transaction && takes_rows(r, literal, suffix))
		db_hold(db);

	for (;;) {
		if (db->failure != DB_FINE)
			return NULL;
		if (db->mem == NULL)
			abort();
		if (!db_dial(db))
			return NULL;
		if (db->client >= 0)
			watch_begin(db->client, mysql_get_socket(db->my), db_statement_limit(db) * STATEMENTS * 1000);
		s = prepare(db, r, literal, suffix, brief);
		if (s != NULL && run_once(db, s, args))
			return s;
		if (!may_redial || !may_repeat(db, r, literal))
			return NULL;
		may_redial = false;
		db_forgive(db);
	}
}

/* A text that did not fit into its cell is fetched again, at its true length. */
static void
fetch_again(struct db *db, struct statement *s, unsigned i, char *text)
{
	MYSQL_BIND again = { .buffer_type = s->out[i].buffer_type, .buffer = text,
	    .buffer_length = s->cells[i].length };
	unsigned long length = 0;

	again.length = &length;
	if (mysql_stmt_fetch_column(s->handle, &again, i, 0) != 0)
		fail_statement(db, s);
}

/* For the next row: makes room for texts as long as this row's. */
static void
widen(struct db *db, struct statement *s)
{
	bool moved = false;
	unsigned i;

	for (i = 0; i < s->n_columns; i++) {
		struct cell *c = &s->cells[i];

		if (c->text == NULL || c->is_null || c->length <= c->room || c->room >= TEXT_KEPT)
			continue;
		text_room(c, c->length * 2 < TEXT_KEPT ? c->length * 2 : TEXT_KEPT);
		bind_cell(&s->out[i], c);
		moved = true;
	}
	if (moved && mysql_stmt_bind_result(s->handle, s->out) != 0)
		fail_statement(db, s);
}

static void
put_cell(struct db *db, const struct cell *c, const char *text, void *at)
{
	const struct field *f = c->field;

	switch (f->kind) {
	case KIND_STRING: *(const char **)at = text; break;
	case KIND_INT: *(int64_t *)at = c->value.n; break;
	case KIND_BOOL: *(bool *)at = c->value.n != 0; break;
	case KIND_REAL: *(double *)at = c->value.real; break;
	case KIND_NUMBER: *(struct number *)at = (struct number){ c->value.n, true }; break;
	case KIND_UUID: *(struct uuid *)at = c->value.id; break;
	case KIND_MOMENT: ((struct moment *)at)->ms = c->value.n; break;
	case KIND_POSITION: *(struct position *)at = (struct position){ c->value.n, true }; break;
	case KIND_JSON: ((struct json *)at)->text = text; break;
	case KIND_IDS: *(struct ids *)at = (struct ids){ (struct uuid *)(void *)(uintptr_t)text,
	    c->length / sizeof(struct uuid) }; break;
	case KIND_STRINGS: *(struct strings *)at = strings_parse(db->mem, text); break;
	case KIND_NESTED: ((struct nested *)at)->row = record_parse(db->mem, f->of, text); break;
	case KIND_LIST: *(struct list *)at = record_parse_list(db->mem, f->of, text); break;
	}
}

/* The cells into *row; all texts of a row in one piece of memory. */
static void
put_row(struct db *db, struct statement *s, char *row)
{
	const struct cell *c;
	bool short_of_room = false;
	size_t need = 0;
	char *text;
	unsigned i;

	for (i = 0, c = s->cells; i < s->n_columns; i++, c++)
		if (c->text != NULL && !c->is_null) {
			need += c->length + 1;
			short_of_room |= c->length > c->room;
		}
	text = arena_raw(db->mem, need);
	for (i = 0, c = s->cells; i < s->n_columns; i++, c++) {
		if (c->is_null)
			continue;
		if (c->text != NULL) {
			if (c->length <= c->room)
				memcpy(text, c->text, c->length);
			else
				fetch_again(db, s, i, text);
			text[c->length] = '\0';
		}
		put_cell(db, c, text, row + c->field->offset);
		if (c->text != NULL)
			text += c->length + 1;
	}
	if (short_of_room)
		widen(db, s);
}

/* Reads what is left: an error may come behind the rows that were wanted. */
static void
finish(struct db *db, struct statement *s)
{
	int got = db->failure == DB_FINE ? 0 : MYSQL_NO_DATA;

	while (got == 0 || got == MYSQL_DATA_TRUNCATED)
		got = mysql_stmt_fetch(s->handle);
	if (got != MYSQL_NO_DATA)
		fail_statement(db, s);
	mysql_stmt_free_result(s->handle);
}

/* True when a row was read into *row. */
static bool
fetch(struct db *db, struct statement *s, void *row)
{
	int got = mysql_stmt_fetch(s->handle);

	if (got == MYSQL_NO_DATA)
		return false;
	if (got != 0 && got != MYSQL_DATA_TRUNCATED) {
		fail_statement(db, s);
		return false;
	}
	put_row(db, s, row);
	return db->failure == DB_FINE;
}

void *
db_rows_suffix(struct db *db, const struct record *r, const char *from, const char *suffix, const struct arg *args,
    bool brief, size_t limit, size_t *n)
{
	struct statement *s = execute(db, r, from, suffix, args, brief);
	size_t room = limit <= PAGE_ROWS ? limit : 16;
	char *rows;

	*n = 0;
	if (s == NULL)
		return NULL;
	if (mysql_stmt_bind_result(s->handle, s->out) != 0)
		fail_statement(db, s);
	rows = arena_array(db->mem, room, r->size);
	while (db->failure == DB_FINE && *n < limit) {
		if (*n == room) {
			char *more = arena_array(db->mem, room * 2, r->size);

			memcpy(more, rows, room * r->size);
			room *= 2;
			rows = more;
		}
		if (!fetch(db, s, rows + *n * r->size))
			break;
		++*n;
	}
	finish(db, s);
	if (db->failure != DB_FINE || *n == 0) {
		*n = 0;
		return NULL;
	}
	return rows;
}

void *
db_row(struct db *db, const struct record *r, const char *from, const struct arg *args)
{
	size_t n;

	return db_rows_suffix(db, r, from, "", args, false, 1, &n);
}

void *
db_row_suffix(struct db *db, const struct record *r, const char *from, const char *suffix, const struct arg *args)
{
	size_t n;

	return db_rows_suffix(db, r, from, suffix, args, false, 1, &n);
}

void *
db_rows(struct db *db, const struct record *r, const char *from, const struct arg *args, size_t *n)
{
	return db_rows_suffix(db, r, from, "", args, false, SIZE_MAX, n);
}

void *
db_rows_brief(struct db *db, const struct record *r, const char *from, const struct arg *args, size_t *n)
{
	return db_rows_suffix(db, r, from, "", args, true, SIZE_MAX, n);
}

int64_t
db_number_suffix(struct db *db, const char *sql, const char *suffix, const struct arg *args, int64_t otherwise)
{
	struct statement *s = execute(db, NULL, sql, suffix, args, false);
	MYSQL_BIND out = { .buffer_type = MYSQL_TYPE_LONGLONG };
	my_bool is_null = 0;
	int64_t cell = 0, n = otherwise;
	int got;

	if (s == NULL)
		return otherwise;
	out.buffer = &cell;
	out.is_null = &is_null;
	got = mysql_stmt_bind_result(s->handle, &out) == 0 ? mysql_stmt_fetch(s->handle) : 1;
	if (got == 0 && !is_null)
		n = cell;
	else if (got == 1)
		fail_statement(db, s);
	finish(db, s);
	return db->failure == DB_FINE ? n : otherwise;
}

int64_t
db_number(struct db *db, const char *sql, const struct arg *args, int64_t otherwise)
{
	return db_number_suffix(db, sql, "", args, otherwise);
}

const char *
db_text(struct db *db, const char *sql, const struct arg *args)
{
	static const struct field column = { .name = "text", .kind = KIND_STRING, .doc = "" };
	static const struct record one = { .name = "Text", .fields = &column, .n = 1 };
	struct statement *s = execute(db, NULL, sql, "", args, false);
	const char *text = NULL;

	if (s == NULL)
		return NULL;
	if (s->out == NULL)
		bind_columns(s, &one, false);
	if (mysql_stmt_bind_result(s->handle, s->out) != 0)
		fail_statement(db, s);
	else
		fetch(db, s, &text);
	finish(db, s);
	return db->failure == DB_FINE ? text : NULL;
}

int64_t
db_run_suffix(struct db *db, const char *sql, const char *suffix, const struct arg *args)
{
	struct statement *s;
	int64_t n;

	if (db->in_transaction && db->wrote_last)
		abort();
	s = execute(db, NULL, sql, suffix, args, false);
	if (s == NULL)
		return -1;
	n = (int64_t)mysql_stmt_affected_rows(s->handle);
	if (mysql_stmt_field_count(s->handle) > 0)
		mysql_stmt_free_result(s->handle);
	return n;
}

int64_t
db_run(struct db *db, const char *sql, const struct arg *args)
{
	return db_run_suffix(db, sql, "", args);
}

int64_t
db_run_last(struct db *db, const char *sql, const struct arg *args)
{
	int64_t n;

	db->wrote_last = false;
	n = db_run(db, sql, args);
	db->wrote_last = db->in_transaction;
	return n;
}

/* The argument that stores a field. */
static struct arg
field_arg(struct db *db, const struct field *f, const void *row)
{
	const void *at = (const char *)row + f->offset;
	struct buf b = BUF(db->mem);

	switch (f->kind) {
	case KIND_STRING: return STR(*(const char *const *)at);
	case KIND_INT: return INT(*(const int64_t *)at);
	case KIND_BOOL: return INT(*(const bool *)at);
	case KIND_REAL: return REAL(*(const double *)at);
	case KIND_NUMBER: return ((const struct number *)at)->set ? INT(((const struct number *)at)->n) : STR(NULL);
	case KIND_UUID: return ID(*(const struct uuid *)at);
	case KIND_MOMENT: return TIME(*(const struct moment *)at);
	case KIND_POSITION: return ((const struct position *)at)->set ? INT(((const struct position *)at)->ms) :
	    STR(NULL);
	case KIND_IDS: return BYTES(((const struct ids *)at)->at, ((const struct ids *)at)->n * sizeof(struct uuid));
	case KIND_JSON: return STR(((const struct json *)at)->text);
	case KIND_STRINGS: if (((const struct strings *)at)->at == NULL) return STR(NULL); break;
	case KIND_NESTED: if (((const struct nested *)at)->row == NULL) return STR(NULL); break;
	case KIND_LIST: break;
	}
	record_value(&b, f, row);
	return STR(buf_string(&b));
}

static bool
is_stored(const struct field *f)
{
	return (f->on & (COMPUTED | INPUT_ONLY)) == 0 && f->sql == NULL;
}

/* Rows matched; -2: a unique key is taken, which is no failure; -1: failed. */
static int64_t
run_or_taken(struct db *db, const char *sql, const char *suffix, const struct arg *args)
{
	int64_t matched;

	if (db->failure != DB_FINE)
		return -1;
	db->may_be_taken = true;
	matched = db_run_suffix(db, sql, suffix, args);
	db->may_be_taken = false;
	if (matched >= 0 || db->err != 1062)
		return matched;
	db->failure = DB_FINE;
	db->err = 0;
	return -2;
}

bool
db_insert(struct db *db, const char *table, const struct record *r, const void *row)
{
	struct arg args[MAX_COLUMNS + 1];
	struct buf b = BUF(db->mem);
	int n = 0;
	size_t i;

	buf_printf(&b, " `%s` (", table);
	for (i = 0; i < r->n; i++) {
		if (!is_stored(&r->fields[i]))
			continue;
		buf_printf(&b, n == 0 ? "`%s`" : ", `%s`", r->fields[i].name);
		args[n++] = field_arg(db, &r->fields[i], row);
	}
	args[n].kind = ARG_END;
	buf_text(&b, ") VALUES (?");
	while (--n > 0)
		buf_text(&b, ", ?");
	buf_char(&b, ')');
	return run_or_taken(db, "INSERT INTO", buf_string(&b), args) >= 0;
}

int64_t
db_update(struct db *db, const char *table, const struct record *r, const void *row, uint64_t given, struct uuid id)
{
	struct arg args[MAX_COLUMNS + 3];
	struct buf b = BUF(db->mem);
	int n = 0;
	size_t i;

	buf_printf(&b, " `%s` SET ", table);
	for (i = 0; i < r->n; i++) {
		if ((given >> i & 1) == 0 || !is_stored(&r->fields[i]))
			continue;
		buf_printf(&b, "`%s` = ?, ", r->fields[i].name);
		args[n++] = field_arg(db, &r->fields[i], row);
	}
	buf_text(&b, "version = version + 1, updated_at = ? WHERE id = ?");
	args[n++] = TIME(moment_now());
	args[n++] = ID(id);
	args[n].kind = ARG_END;
	return run_or_taken(db, "UPDATE", buf_string(&b), args);
}
