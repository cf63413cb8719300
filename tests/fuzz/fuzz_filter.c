/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists: filter, sort and cursor, a line each, and then a text that the last row of the page holds.  This file stands
 * where the database would: whatever is asked, SQL is made of the record's own words, with an argument for each mark,
 * and a cursor that we gave is taken with its own sort alone.
 */
#include <stdlib.h>
#include <string.h>

#include "core/db_list.h"
#include "tests/fuzz/fuzz.h"

struct row {
	struct uuid id, channel_id;
	const char *name, *code, *type, *tag, *text;
	int64_t count;
	struct number size;
	bool is_open;
	struct moment at;
	struct position length;
};
static const struct field row_fields[] = {
	FIELD(struct row, id, .on = SERVER, .doc = "Id"),
	FIELD(struct row, channel_id, .on = FILTER, .doc = "Id of another"),
	FIELD(struct row, name, .on = FILTER | SORT | SERVER, .key = "by_name", .doc = "Text"),
	FIELD(struct row, code, .on = FILTER | SORT | ASCII, .doc = "ASCII that may be null"),
	FIELD(struct row, type, .on = FILTER, .one_of = "video audio", .doc = "Word"),
	FIELD(struct row, tag, .on = FILTER, .ops = "= !=",
	    .where = "EXISTS (SELECT a FROM b WHERE b.c = t.id AND b.d = ?)", .doc = "Subquery"),
	FIELD(struct row, text, .on = FILTER, .ops = "~", .where = "t.e LIKE ? OR t.f LIKE ?", .doc = "Two marks"),
	FIELD(struct row, count, .on = FILTER | SORT, .required = true, .sql = "COALESCE(t.g, 0)", .doc = "Integer"),
	FIELD(struct row, size, .on = FILTER | SORT, .key = "by_size", .doc = "Number or null"),
	FIELD(struct row, is_open, .on = FILTER, .doc = "Flag"),
	FIELD(struct row, at, .on = FILTER | SORT, .doc = "Time"),
	FIELD(struct row, length, .on = FILTER | SORT, .doc = "Position"),
};
static const struct record row_record = RECORD("Row", struct row, row_fields);

static const char words[] = "FROM WHERE AND OR NOT IS NULL LIKE ESCAPE ORDER BY ASC DESC LIMIT OFFSET EXISTS SELECT "
    "COUNT FORCE INDEX COALESCE t a b c d e f g h x id channel_id name code type count size is_open at length by_name "
    "by_size 0 1 9000000000000000";

struct db {
	struct arena *mem;
	const char *text;			/* in the last row */
	bool null;
	struct arg args[80];			/* of the last page */
	int n;
};

static void
made_of_our_words(const char *sql)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t n;

	for (; *sql != '\0'; sql += n) {
		n = strspn(sql, letters);
		if (n > 0 ? !word_in(words, sql, n) : *sql == '\'' ? strncmp(sql, "'!'", 3) != 0 &&
		    strncmp(sql, "''", 2) != 0 : strchr(" .,`?*()<>=-", *sql) == NULL)
			abort();
		n = n > 0 ? n : *sql != '\'' ? 1 : sql[1] == '!' ? 3 : 2;
	}
}

static void
statement(struct db *db, const char *from, const char *suffix, const struct arg *args)
{
	int marks = 0;
	const char *p;

	made_of_our_words(from);
	made_of_our_words(suffix);
	for (p = from; *p != '\0'; p++)
		marks += *p == '?';
	for (p = suffix; *p != '\0'; p++)
		marks += *p == '?';
	for (db->n = 0; args[db->n].kind != ARG_END; db->n++)
		db->args[db->n] = args[db->n];
	if (marks != db->n)
		abort();
}

struct arena *
db_arena(struct db *db)
{
	return db->mem;
}

void *
db_rows_suffix(struct db *db, const struct record *r, const char *from, const char *suffix, const struct arg *args,
    bool brief, size_t limit, size_t *n)
{
	struct row *rows = arena_array(db->mem, limit, sizeof(*rows));
	size_t i;

	statement(db, from, suffix, args);
	for (i = 0; i < limit; i++) {
		rows[i] = (struct row){ .id = { { 1 } }, .name = db->text, .code = db->null ? NULL : db->text,
		    .count = -(int64_t)i, .size = { 7, !db->null }, .at = { 1790000000000 },
		    .length = { 1500, !db->null } };
	}
	*n = limit;
	return rows;
}

int64_t
db_number_suffix(struct db *db, const char *sql, const char *suffix, const struct arg *args, int64_t otherwise)
{
	struct db counted = *db;

	statement(&counted, sql, suffix, args);
	return 20000;
}

static struct page
ask(struct db *db, const char *filter, const char *sort, const char *after)
{
	struct page page = { .perpage = 2, .filter = filter, .sort = sort, .after = after, .total = -1 };
	size_t n;

	db->n = 0;
	db_list(db, &row_record, "FROM x t WHERE t.h = ?", ARGS(INT(1)), &page, &n);
	if ((page.fault != NULL) != (db->n == 0) || (page.fault != NULL && page.fault_detail == NULL))
		abort();
	return page;
}

/* The next page begins behind the last row: its id is the last argument but two, and its value, if any, before that. */
static void
follow(struct db *db, const char *filter, const char *sort, const char *next)
{
	bool sorted = sort != NULL && *sort != '\0';
	const struct arg *a;
	struct page page;

	if (next == NULL)
		return;
	page = ask(db, filter, sort, next);
	if (page.fault != NULL)
		abort();
	a = &db->args[db->n - 3];
	if (a->kind != ARG_UUID || a->id.b[0] != 1)
		abort();
	if (sorted && strncmp(next, "~", 1) != 0 && (a[-1].kind == ARG_TEXT ? strcmp(a[-1].text, db->text) != 0 :
	    a[-1].kind != ARG_INT))
		abort();
	if (ask(db, filter, sorted ? NULL : "at", next).fault == NULL)
		abort();
}

static void
values(struct arena *mem, const char *filter)
{
	const char *value;
	size_t i;

	for (i = 0; (value = db_filter_value(mem, filter, "name", i)) != NULL; i++)
		if (strstr(filter, value) == NULL)
			abort();
	if (db_filters_for(filter, "type", "video") && db_filter_value(mem, filter, "type", 0) == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	char *text, *part[3];
	struct page page;
	struct db db;
	int i;

	if (mem == NULL)
		mem = arena_new((size_t)64 << 20);
	text = arena_copy_n(mem, data, n);
	for (i = 0; i < 3; i++)
		if ((part[i] = strsep(&text, "\n")) != NULL && *part[i] == '\0')
			part[i] = NULL;
	db = (struct db){ .mem = mem, .text = "", .null = text == NULL };
	/* What a column of ASCII can hold. */
	if (text != NULL && utf8_valid(text, strlen(text)) && strlen(text) == utf8_length(text))
		db.text = text;
	page = ask(&db, part[0], part[1], part[2]);
	if (page.fault == NULL)
		follow(&db, part[0], part[1], page.next);
	values(mem, part[0] != NULL ? part[0] : "");
	arena_reset(mem);
	return 0;
}
