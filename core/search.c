/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passages and words of assets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "core/job.h"
#include "core/search.h"

/* Bytes of a passage, more or less; words of a layer, of which the others are not found; words in one statement. */
enum { PASSAGE_MAX = 8000, WORDS_MAX = 100000, BATCH = 5000,
    PIECE = 256 << 10, PIECE_MEMORY = 128 << 20 };

struct passage { const char *text; double start, end; int64_t page; };
static const struct field passage_fields[] = {
	FIELD(struct passage, text, .sql = "t.text", .doc = "As it is shown"),
	FIELD(struct passage, start, .sql = "COALESCE(t.start, -1)", .doc = "Seconds"),
	FIELD(struct passage, end, .sql = "COALESCE(t.end, -1)", .doc = "Seconds"),
	FIELD(struct passage, page, .sql = "COALESCE(t.page, 0)", .doc = "Of a document"),
};
static const struct record passage_record = RECORD("SearchPassage", struct passage, passage_fields);

static const struct layer { int number; const char *word, *from; } layers[] = {
#define LAYER(id, number, name, derived, word, sql) { number, "\"" word "\"", "FROM (" sql ") t" },
	SEARCH_LAYERS(LAYER)
#undef LAYER
};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]) };

struct owner { struct uuid tenant_id; };
static const struct field owner_fields[] = { FIELD(struct owner, tenant_id, .doc = "The tenant") };
static const struct record owner_record = RECORD("SearchOwner", struct owner, owner_fields);

void
search_changed(struct db *db, struct uuid media_id, int priority)
{
	const struct owner *o;
	struct job_place place = { .priority = priority };

	if (db_run(db, "INSERT IGNORE INTO search_pending (media_id) VALUES (?)", ARGS(ID(media_id))) != 1)
		return;
	o = db_row(db, &owner_record, "FROM media t WHERE t.id = ?", ARGS(ID(media_id)));
	if (o == NULL)
		return;
	place.tenant_id = o->tenant_id;
	job_add(db, index, place, .media_id = media_id);
}

void
search_told(struct db *db, struct uuid media_id, const char *type, const char *data)
{
	size_t i;
	bool has = strcmp(type, "media.created") == 0;

	if (!has && strcmp(type, "media.updated") != 0 && strcmp(type, "metadata.updated") != 0)
		return;
	for (i = 0; !has && data != NULL && i < LAYERS; i++)
		has = strstr(data, layers[i].word) != NULL;
	if (has)
		search_changed(db, media_id, PRIORITY_NORMAL);
}

/* A word of a layer, with the first passage that has it. */
struct entry { const char *word; int64_t passage, times; };
struct entries { struct entry *at; size_t n, room; };

static int
by_word(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->word, y->word);

	return order != 0 ? order : (x->passage > y->passage) - (x->passage < y->passage);
}

/* Each word once. */
static void
gather(struct entries *e)
{
	size_t i, k = 0;

	if (e->n == 0)
		return;
	qsort(e->at, e->n, sizeof(*e->at), by_word);
	for (i = 1; i < e->n; i++)
		if (strcmp(e->at[k].word, e->at[i].word) == 0)
			e->at[k].times += e->at[i].times;
		else
			e->at[++k] = e->at[i];
	e->n = k + 1;
}

/* Of words that come often one of each is kept before there is more room. */
static void
take(struct arena *mem, struct entries *e, const char *word, int64_t passage)
{
	struct entry *more;
	bool full = false;

	if (e->n == e->room) {
		gather(e);
		full = e->n * 2 >= e->room;
	}
	if (full) {
		e->room = e->room * 2 + 64;
		more = arena_array(mem, e->room, sizeof(*more));
		if (e->n > 0)
			memcpy(more, e->at, e->n * sizeof(*more));
		e->at = more;
	}
	e->at[e->n++] = (struct entry){ arena_copy(mem, word), passage, 1 };
}

static void
put_words(struct db *db, struct uuid media_id, int layer, const struct entries *e)
{
	struct buf b;
	size_t i, from;

	for (from = 0; from < e->n; from += BATCH) {
		b = BUF(db_arena(db));
		for (i = from; i < e->n && i < from + BATCH; i++) {
			buf_text(&b, i == from ? "[[" : ",[");
			buf_json(&b, e->at[i].word);
			buf_printf(&b, ",%lld,%lld]", (long long)e->at[i].passage, (long long)e->at[i].times);
		}
		buf_char(&b, ']');
		db_run(db, "INSERT INTO search_words (tenant_id, word, media_id, layer, passage, times) SELECT "
		    "m.tenant_id, j.word, m.id, ?, j.passage, j.times FROM media m JOIN JSON_TABLE(?, '$[*]' COLUMNS "
		    "(word VARCHAR(80) PATH '$[0]', passage INT PATH '$[1]', times INT PATH '$[2]')) j WHERE m.id = ?", ARGS(INT(layer),
		    STR(buf_string(&b)), ID(media_id)));
	}
}

/* Where the next passage ends: behind a word. */
static size_t
cut(const struct folded *f, size_t n, size_t *i, size_t from, size_t size)
{
	size_t to = size;

	if (size - from <= PASSAGE_MAX) {
		*i = n;
		return size;
	}
	for (; *i < n && f[*i].to - from <= PASSAGE_MAX; (*i)++)
		to = f[*i].to;
	return to;
}

static struct arg
position(double seconds)
{
	const struct arg none = { .kind = ARG_NULL };

	return seconds < 0 ? none : INT(llround(seconds * 1000));
}

/* A piece of a row of a layer, which is several passages if it is long.  Its words are kept in `keep`. */
static void
put_text(struct db *db, struct arena *keep, struct uuid media_id, int layer, const struct passage *p,
    int64_t *number, struct entries *e)
{
	struct arena *mem = db_arena(db);
	size_t n, i = 0, k = 0, from = 0, to, size = strlen(p->text);
	const struct folded *f = fold_words(mem, p->text, &n);

	while (from < size && k < n) {
		to = cut(f, n, &i, from, size);
		if (to - from > PASSAGE_MAX * 2)
			to = from + utf8_prefix(p->text + from, PASSAGE_MAX);
		db_run(db, "INSERT INTO search_passages (media_id, layer, passage, start, end, page, text) VALUES (?, "
		    "?, ?, ?, ?, ?, ?)", ARGS(ID(media_id), INT(layer), INT(*number), position(p->start), position(p->end),
		    p->page > 0 ? INT(p->page) : (struct arg){ .kind = ARG_NULL },
		    STR(arena_copy_n(mem, p->text + from, to - from))));
		for (; k < n && f[k].from < to; k++) {
			take(keep, e, f[k].word, *number);
			if (f[k].other != NULL)
				take(keep, e, f[k].other, *number);
		}
		i = k > i ? k : i;
		from = to;
		++*number;
	}
}

/* Up to a blank, if there is one. */
static size_t
piece_of(const char *text, size_t left)
{
	size_t n = PIECE;

	if (left <= PIECE)
		return left;
	while (n > PIECE / 2 && (unsigned char)text[n] > ' ')
		n--;
	return n > PIECE / 2 ? n : utf8_prefix(text, PIECE);
}

/* A row of a layer: what folding a piece of it takes is given back. */
static void
put_row(struct db *db, struct uuid media_id, int layer, const struct passage *row, int64_t *number, struct entries *e)
{
	struct arena *mem = db_arena(db), *own = arena_new(PIECE_MEMORY);
	struct passage piece = *row;
	const char *at = row->text;
	size_t n, left = strlen(at);

	db_use(db, own);
	for (; left > 0; at += n, left -= n) {
		n = piece_of(at, left);
		piece.text = arena_copy_n(own, at, n);
		put_text(db, mem, media_id, layer, &piece, number, e);
		arena_reset(own);
	}
	db_use(db, mem);
	arena_free(own);
}

bool
search_index(struct db *db, struct uuid media_id)
{
	struct passage *p;
	struct entries e;
	size_t i, k, n;
	int64_t number;

	/* Of two jobs the later one sees what the earlier one has seen, or more. */
	if (db_number(db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(media_id)), 0) == 0)
		return false;
	db_run(db, "DELETE FROM search_words WHERE media_id = ?", ARGS(ID(media_id)));
	db_run(db, "DELETE FROM search_passages WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < LAYERS; i++) {
		e = (struct entries){ 0 };
		number = 0;
		p = db_rows(db, &passage_record, layers[i].from, ARGS(ID(media_id)), &n);
		for (k = 0; k < n; k++)
			if (p[k].text != NULL)
				put_row(db, media_id, layers[i].number, &p[k], &number, &e);
		gather(&e);
		e.n = e.n < WORDS_MAX ? e.n : WORDS_MAX;
		put_words(db, media_id, layers[i].number, &e);
	}
	return true;
}
