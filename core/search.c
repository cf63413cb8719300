/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passages and words of assets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "core/job.h"
#include "core/search.h"

/* Bytes of a passage, more or less; words of a layer, of which the others are not found; words in one statement. */
enum { PASSAGE_MAX = 8000, WORDS_MAX = 100000, BATCH = 5000, PIECE = 256 << 10, PIECE_MEMORY = 128 << 20 };

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

/* A layer of an asset that is being indexed. */
struct indexing {
	struct db *db;
	struct arena *mem, *own;	/* for all of it; for a piece of its text */
	struct uuid media_id;
	int layer;
	int64_t number;			/* of the next passage */
	struct entries words;
};

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
take(struct indexing *x, const char *word)
{
	struct entries *e = &x->words;
	struct entry *more;

	if (e->n == e->room) {
		gather(e);
		if (e->n * 2 >= e->room) {
			e->room = e->room * 2 + 64;
			more = arena_array(x->mem, e->room, sizeof(*more));
			if (e->n > 0)
				memcpy(more, e->at, e->n * sizeof(*more));
			e->at = more;
		}
	}
	e->at[e->n++] = (struct entry){ arena_copy(x->mem, word), x->number, 1 };
}

static void
put_words(const struct indexing *x)
{
	const struct entries *e = &x->words;
	const size_t n = e->n < WORDS_MAX ? e->n : WORDS_MAX;
	struct buf b;
	size_t i, from;

	for (from = 0; from < n; from += BATCH) {
		b = BUF(x->mem);
		for (i = from; i < n && i < from + BATCH; i++) {
			buf_text(&b, i == from ? "[[" : ",[");
			buf_json(&b, e->at[i].word);
			buf_printf(&b, ",%lld,%lld]", (long long)e->at[i].passage, (long long)e->at[i].times);
		}
		buf_char(&b, ']');
		db_run(x->db, "INSERT INTO search_words (tenant_id, word, media_id, layer, passage, times) SELECT "
		    "m.tenant_id, j.word, m.id, ?, j.passage, j.times FROM media m JOIN JSON_TABLE(?, '$[*]' COLUMNS "
		    "(word VARCHAR(80) PATH '$[0]', passage INT PATH '$[1]', times INT PATH '$[2]')) j WHERE m.id = ?",
		    ARGS(INT(x->layer), STR(buf_string(&b)), ID(x->media_id)));
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

/* A piece of a row of the layer, which is several passages if it is long. */
static void
put_piece(struct indexing *x, const struct passage *p, const char *text, size_t size)
{
	size_t n, i = 0, k = 0, from = 0, to;
	const struct folded *f = fold_words(x->own, text, &n);

	while (from < size && k < n) {
		to = cut(f, n, &i, from, size);
		if (to - from > PASSAGE_MAX * 2)
			to = from + utf8_prefix(text + from, PASSAGE_MAX);
		db_run(x->db, "INSERT INTO search_passages (media_id, layer, passage, start, end, page, text) "
		    "VALUES (?, ?, ?, ?, ?, ?, ?)", ARGS(ID(x->media_id), INT(x->layer), INT(x->number), position(p->start),
		    position(p->end), p->page > 0 ? INT(p->page) : (struct arg){ .kind = ARG_NULL },
		    STR(arena_copy_n(x->own, text + from, to - from))));
		for (; k < n && f[k].from < to; k++) {
			take(x, f[k].word);
			if (f[k].other != NULL)
				take(x, f[k].other);
		}
		i = k > i ? k : i;
		from = to;
		x->number++;
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

/* What folding a piece of a row takes is given back. */
static void
put_row(struct indexing *x, const struct passage *p)
{
	const char *at = p->text;
	size_t n, left = strlen(at);

	for (; left > 0; at += n, left -= n) {
		n = piece_of(at, left);
		put_piece(x, p, arena_copy_n(x->own, at, n), n);
		arena_reset(x->own);
	}
}

bool
search_index(struct db *db, struct uuid media_id)
{
	struct arena *own;
	struct indexing x;
	struct passage *p;
	size_t i, k, n;

	/* Of two jobs the later one sees what the earlier one has seen, or more. */
	if (db_number(db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(media_id)), 0) == 0)
		return false;
	db_run(db, "DELETE FROM search_words WHERE media_id = ?", ARGS(ID(media_id)));
	db_run(db, "DELETE FROM search_passages WHERE media_id = ?", ARGS(ID(media_id)));
	own = arena_new(PIECE_MEMORY);
	for (i = 0; i < LAYERS; i++) {
		x = (struct indexing){ .db = db, .mem = db_arena(db), .own = own, .media_id = media_id,
		    .layer = layers[i].number };
		p = db_rows(db, &passage_record, layers[i].from, ARGS(ID(media_id)), &n);
		for (k = 0; k < n; k++)
			if (p[k].text != NULL)
				put_row(&x, &p[k]);
		gather(&x.words);
		put_words(&x);
	}
	arena_free(own);
	return true;
}
