/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The best program that reads what the API reads and renders nothing: the API's own statements, prepared, binary, into
 * buffers that hold everything; the answer is as many bytes as the API's, made once.  What the API takes longer than
 * this is its own doing.
 *
 * STATEMENTS has a line for each statement of a kind of request, in their order: name of the kind, bytes of the
 * answer, the arguments (I: the id at the end of the address, J: the one before it, T: the tenant, N: null, or a
 * number), the SQL; separated by tabs.  An address is /readonly/NAME/..., behind which any address of the API fits.
 */
#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/responder.h"

enum { MAX_ARGS = 16, MAX_STATEMENTS = 8, CELL = 4096, ID_TEXT = 36 };

struct statement {
	char name[8], sql[16384], recipe[64], *body;
	size_t bytes;
	MYSQL_STMT *handle;
	MYSQL_BIND in[MAX_ARGS], *out;
	long long numbers[MAX_ARGS];
	bool takes_id;
};

static struct statement statements[MAX_STATEMENTS];
static size_t n_statements;
static unsigned char tenant[16], asked[16], above[16];
static const char *socket_of_db;

static void
must(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "readonly: %s\n", what);
	exit(1);
}

/* 32 hexadecimal digits, with or without hyphens. */
static bool
id_of(const char *text, unsigned char out[16])
{
	int i = 0;

	for (; i < 32 && *text != '\0'; text++) {
		int digit = *text >= '0' && *text <= '9' ? *text - '0' : *text >= 'a' && *text <= 'f' ? *text - 'a' +
		    10 : -1;

		if (*text == '-')
			continue;
		if (digit < 0)
			return false;
		out[i / 2] = (unsigned char)(i % 2 == 0 ? digit << 4 : out[i / 2] | digit);
		i++;
	}
	return i == 32;
}

static void
read_statements(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[20000];

	must(f != NULL, path);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct statement *s = &statements[n_statements++];

		must(n_statements <= MAX_STATEMENTS, "too many statements");
		must(sscanf(line, "%7[^\t]\t%zu\t%63[^\t]\t%16383[^\n]", s->name, &s->bytes, s->recipe, s->sql) == 4,
		    "four columns are wanted");
		s->body = calloc(1, s->bytes);
		must(s->body != NULL, "no memory");
	}
	must(n_statements > 0, "no statements");
	fclose(f);
}

static void
bind_args(struct statement *s)
{
	char recipe[sizeof(s->recipe)], *word, *rest = recipe;
	unsigned n = 0;

	memcpy(recipe, s->recipe, sizeof(recipe));
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		MYSQL_BIND *b = &s->in[n];

		must(n < MAX_ARGS, "too many arguments");
		s->numbers[n] = atoll(word);
		b->buffer_type = *word == 'N' ? MYSQL_TYPE_NULL : strchr("IJT", *word) != NULL ? MYSQL_TYPE_BLOB :
		    MYSQL_TYPE_LONGLONG;
		b->buffer = *word == 'I' ? asked : *word == 'J' ? above : *word == 'T' ? tenant :
		    (void *)&s->numbers[n];
		b->buffer_length = 16;
		n++;
	}
	must(n == mysql_stmt_param_count(s->handle), "the API's query takes other arguments now: see tests/bench");
	must(mysql_stmt_bind_param(s->handle, s->in) == 0, mysql_stmt_error(s->handle));
}

static void
bind_columns(struct statement *s)
{
	MYSQL_RES *columns = mysql_stmt_result_metadata(s->handle);
	unsigned n = mysql_stmt_field_count(s->handle), i;

	must(columns != NULL, mysql_stmt_error(s->handle));
	s->out = calloc(n, sizeof(*s->out));
	must(s->out != NULL, "no memory");
	for (i = 0; i < n; i++) {
		const MYSQL_FIELD *f = mysql_fetch_field_direct(columns, i);
		MYSQL_BIND *b = &s->out[i];

		b->buffer_type = f->type == MYSQL_TYPE_DOUBLE ? MYSQL_TYPE_DOUBLE :
		    IS_NUM(f->type) ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_STRING;
		b->buffer_length = b->buffer_type == MYSQL_TYPE_STRING ? CELL : 8;
		b->buffer = calloc(1, b->buffer_length);
		b->length = calloc(1, sizeof(*b->length));
		b->is_null = calloc(1, sizeof(*b->is_null));
		must(b->buffer != NULL && b->length != NULL && b->is_null != NULL, "no memory");
	}
	mysql_free_result(columns);
	must(mysql_stmt_bind_result(s->handle, s->out) == 0, mysql_stmt_error(s->handle));
}

static void
begin(void)
{
	MYSQL *my = mysql_init(NULL);
	size_t i;

	mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	must(mysql_real_connect(my, NULL, "root", NULL, "kinothek", 0, socket_of_db, 0) != NULL, mysql_error(my));
	must(mysql_query(my, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED") == 0 &&
	    mysql_query(my, "SET SESSION optimizer_switch = 'materialization=off'") == 0, mysql_error(my));
	for (i = 0; i < n_statements; i++) {
		struct statement *s = &statements[i];

		s->handle = mysql_stmt_init(my);
		must(mysql_stmt_prepare(s->handle, s->sql, strlen(s->sql)) == 0, mysql_stmt_error(s->handle));
		bind_args(s);
		bind_columns(s);
	}
}

static void
run(struct statement *s)
{
	int got, rows = 0;

	must(mysql_stmt_execute(s->handle) == 0, mysql_stmt_error(s->handle));
	while ((got = mysql_stmt_fetch(s->handle)) == 0)
		rows++;
	must(got == MYSQL_NO_DATA && rows > 0, "a row is missing, or longer than its buffer");
	mysql_stmt_free_result(s->handle);
}

/* The id of the last asset, chapter or the like that an address names, and the one that it is below. */
static void
read_ids(const char *uri)
{
	size_t n = 0;

	for (; *uri != '\0'; uri++) {
		unsigned char id[16];

		n = strchr("/=?", *uri) != NULL ? 0 : n + 1;
		if (n != ID_TEXT || !id_of(uri + 1 - ID_TEXT, id))
			continue;
		memcpy(above, asked, sizeof(above));
		memcpy(asked, id, sizeof(asked));
	}
}

static void
answer(const char *uri, struct answer *answer)
{
	static const char prefix[] = "/readonly/";
	const char *name = uri + strlen(prefix);
	size_t i, ran = 0;

	must(strncmp(uri, prefix, strlen(prefix)) == 0, "an address begins with /readonly/");
	read_ids(name);
	for (i = 0; i < n_statements; i++) {
		struct statement *s = &statements[i];
		size_t n = strlen(s->name);

		if (strncmp(name, s->name, n) != 0 || name[n] != '/')
			continue;
		run(s);
		ran++;
		*answer = (struct answer){ "application/json", s->body, s->bytes };
	}
	must(ran > 0, "there is no such kind of request");
}

int
main(int argc, char **argv)
{
	int workers = argc == 6 ? atoi(argv[2]) : 0;

	if (workers < 1 || !id_of(argv[5], tenant)) {
		fprintf(stderr, "usage: readonly SOCKET WORKERS DB_SOCKET STATEMENTS TENANT_ID\n");
		return 64;
	}
	socket_of_db = argv[3];
	read_statements(argv[4]);
	responder_run(argv, argv[1], workers, begin, answer);
	return 0;
}
