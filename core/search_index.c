/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passages and words of assets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/fold.h"
#include "core/search.h"
#include "core/search_index.h"

/* Bytes of a passage, more or less; words of a layer, of which the others are not found. */
enum { PASSAGE_MAX = 8000, WORDS_MAX = 100000, PIECE = 256 << 10, PIECE_MEMORY = 128 << 20, LAYER_MEMORY = 512 << 20 };
/* Rows of a transaction, which hold up who changes the asset; and bytes of the texts among them. */
enum { ROWS = 2000, BYTES_AT_ONCE = 1 << 20 };
/* To be counted up when texts are cut or folded otherwise: then no layer is what it was. */
#define MADE_AS "1"

struct source { const char *text; double start, end; int64_t page; };
static const struct field source_fields[] = {
	FIELD(struct source, text, .sql = "t.text", .doc = "As it is shown"),
	FIELD(struct source, start, .sql = "COALESCE(t.start, -1)", .doc = "Seconds"),
	FIELD(struct source, end, .sql = "COALESCE(t.end, -1)", .doc = "Seconds"),
	FIELD(struct source, page, .sql = "COALESCE(t.page, 0)", .doc = "Of a document"),
};
static const struct record source_record = RECORD("SearchSource", struct source, source_fields);

/* A word of a layer, with the first passage that has it. */
struct entry { const char *word; int64_t passage, times; };
static const struct field entry_fields[] = {
	FIELD(struct entry, word, .doc = "As it is folded"),
	FIELD(struct entry, passage, .doc = "The first that has it"),
	FIELD(struct entry, times, .doc = "How often it is there"),
};
static const struct record entry_record = RECORD("SearchEntry", struct entry, entry_fields);
struct entries { struct entry *at; size_t n, room; };

/* A part of the text of a source. */
struct passage { const struct source *of; const char *text; size_t size; };

/* What a layer has, what of it is not in the table yet, and what is to go from there. */
struct search_content {
	const char *digest;
	struct passage *passages;
	size_t n, room;
	struct entries words, gone;
};

static const struct layer { int number; const char *from; } layers[] = {
#define LAYER(id, number, name, derived, weight, word, sql) { number, "FROM (" sql ") t" },
	SEARCH_LAYERS(LAYER)
#undef LAYER
};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]) };

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
take(struct arena *mem, struct search_content *c, const char *word)
{
	struct entries *e = &c->words;
	struct entry *more;

	if (e->n == e->room) {
		gather(e);
		if (e->n * 2 >= e->room) {
			e->room = e->room * 2 + 64;
			more = arena_array(mem, e->room, sizeof(*more));
			if (e->n > 0)
				memcpy(more, e->at, e->n * sizeof(*more));
			e->at = more;
		}
	}
	e->at[e->n++] = (struct entry){ arena_copy(mem, word), (int64_t)c->n, 1 };
}

static void
add_passage(struct arena *mem, struct search_content *c, const struct passage *p)
{
	struct passage *more;

	if (c->n == c->room) {
		c->room = c->room * 2 + 16;
		more = arena_array(mem, c->room, sizeof(*more));
		if (c->n > 0)
			memcpy(more, c->passages, c->n * sizeof(*more));
		c->passages = more;
	}
	c->passages[c->n++] = *p;
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

/* A piece of a source, which is several passages if it is long.  own: what folding it takes. */
static void
take_piece(struct arena *mem, struct arena *own, struct search_content *c, const struct source *s, const char *text,
    size_t size)
{
	size_t n, i = 0, k = 0, from = 0, to;
	const struct folded *f = fold_words(own, arena_copy_n(own, text, size), &n);

	while (from < size && k < n) {
		to = cut(f, n, &i, from, size);
		if (to - from > PASSAGE_MAX * 2)
			to = from + utf8_prefix(text + from, PASSAGE_MAX);
		for (; k < n && f[k].from < to; k++) {
			take(mem, c, f[k].word);
			if (f[k].other != NULL)
				take(mem, c, f[k].other);
		}
		add_passage(mem, c, &(struct passage){ s, text + from, to - from });
		i = k > i ? k : i;
		from = to;
	}
	arena_reset(own);
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

static void
take_source(struct arena *mem, struct arena *own, struct search_content *c, const struct source *s)
{
	const char *at = s->text;
	size_t n, left = strlen(at);

	for (; left > 0; at += n, left -= n) {
		n = piece_of(at, left);
		take_piece(mem, own, c, s, at, n);
	}
}

/* Of all that the layer is made from. */
static const char *
digest(struct arena *mem, const struct source *s, size_t n)
{
	struct buf b = BUF(mem);
	size_t i;

	buf_text(&b, MADE_AS);
	for (i = 0; i < n; i++)
		if (s[i].text != NULL)
			buf_printf(&b, "\n%.3f %.3f %lld %s", s[i].start, s[i].end, (long long)s[i].page,
			    digest_text(mem, s[i].text, strlen(s[i].text)));
	return digest_text(mem, buf_string(&b), strlen(buf_string(&b)));
}

/* Of the words as they are to be, those that the table has so already need not be written; others of it go. */
static void
compare(struct arena *mem, struct search_content *c, struct entry *old, size_t n)
{
	size_t i, k = 0, at = 0;
	int order;

	c->gone.at = arena_array(mem, n + 1, sizeof(*old));
	if (n > 0)
		qsort(old, n, sizeof(*old), by_word);
	for (i = 0; i < c->words.n; i++) {
		order = -1;
		while (at < n && (order = strcmp(c->words.at[i].word, old[at].word)) > 0)
			c->gone.at[c->gone.n++] = old[at++];
		if (at < n && order == 0) {
			const struct entry *was = &old[at++];

			if (was->passage == c->words.at[i].passage && was->times == c->words.at[i].times)
				continue;
		}
		c->words.at[k++] = c->words.at[i];
	}
	c->words.n = k;
	while (at < n)
		c->gone.at[c->gone.n++] = old[at++];
}

/* The layer as it is now; NULL: it is what it was. */
static const struct search_content *
look(struct db *db, struct search_index *x)
{
	const struct layer *l = &layers[x->layer];
	struct search_content *c;
	struct source *s;
	struct entry *old;
	struct arena *own;
	const char *last;
	size_t i, n;

	s = db_rows(db, &source_record, l->from, ARGS(ID(x->media_id)), &n);
	c = NEW(x->mem, struct search_content);
	c->digest = digest(x->mem, s, n);
	last = db_text(db, "SELECT digest FROM search_layers WHERE media_id = ? AND layer = ?", ARGS(ID(x->media_id),
	    INT(l->number)));
	if (last != NULL && strcmp(last, c->digest) == 0)
		return NULL;
	own = arena_new(PIECE_MEMORY);
	for (i = 0; i < n; i++)
		if (s[i].text != NULL)
			take_source(x->mem, own, c, &s[i]);
	arena_free(own);
	gather(&c->words);
	c->words.n = c->words.n < WORDS_MAX ? c->words.n : WORDS_MAX;
	old = db_rows(db, &entry_record, "FROM search_words t WHERE t.media_id = ? AND t.layer = ?",
	    ARGS(ID(x->media_id), INT(l->number)), &n);
	compare(x->mem, c, old, n);
	return c;
}

static void
put_position(struct buf *b, double seconds)
{
	if (seconds < 0)
		buf_text(b, ",null");
	else
		buf_printf(b, ",%lld", llround(seconds * 1000));
}

/* Some passages; how many. */
static size_t
put_passages(struct db *db, const struct search_index *x)
{
	const struct search_content *c = x->content;
	struct buf b = BUF(db_arena(db));
	size_t i;

	for (i = x->passages; i < c->n && i - x->passages < ROWS && b.len < BYTES_AT_ONCE; i++) {
		const struct passage *p = &c->passages[i];

		buf_printf(&b, "%s[%zu", i == x->passages ? "[" : ",", i);
		put_position(&b, p->of->start);
		put_position(&b, p->of->end);
		buf_printf(&b, ",%lld,", (long long)p->of->page);
		buf_json_n(&b, p->text, p->size);
		buf_char(&b, ']');
	}
	buf_char(&b, ']');
	db_run(db, "INSERT INTO search_passages (media_id, layer, passage, start, end, page, text) SELECT m.id, ?, "
	    "j.n, j.start, j.end, NULLIF(j.page, 0), j.text FROM media m JOIN JSON_TABLE(?, '$[*]' COLUMNS (n INT PATH "
	    "'$[0]', start BIGINT PATH '$[1]', end BIGINT PATH '$[2]', page INT PATH '$[3]', text MEDIUMTEXT CHARACTER "
	    "SET utf8mb4 PATH '$[4]')) j WHERE m.id = ? ON DUPLICATE KEY UPDATE start = j.start, end = j.end, page = "
	    "NULLIF(j.page, 0), text = j.text", ARGS(INT(layers[x->layer].number), STR(buf_string(&b)), ID(x->media_id)));
	return i - x->passages;
}

/* JSON of some of the words from `from` on; how many. */
static const char *
some_words(struct arena *mem, const struct entries *e, size_t from, size_t *n)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = from; i < e->n && i - from < ROWS; i++) {
		buf_text(&b, i == from ? "[[" : ",[");
		buf_json(&b, e->at[i].word);
		buf_printf(&b, ",%lld,%lld]", (long long)e->at[i].passage, (long long)e->at[i].times);
	}
	buf_char(&b, ']');
	*n = i - from;
	return buf_string(&b);
}

#define WORDS_SQL "JSON_TABLE(?, '$[*]' COLUMNS (word VARCHAR(80) CHARACTER SET utf8mb4 PATH '$[0]', " \
	"passage INT PATH '$[1]', times INT PATH '$[2]')) j"

static size_t
put_words(struct db *db, const struct search_index *x)
{
	size_t n;
	const char *json = some_words(db_arena(db), &x->content->words, x->words, &n);

	db_run(db, "INSERT INTO search_words (tenant_id, word, media_id, layer, passage, times) SELECT m.tenant_id, "
	    "CAST(j.word AS BINARY), m.id, ?, j.passage, j.times FROM media m JOIN " WORDS_SQL " WHERE m.id = ? ON "
	    "DUPLICATE KEY UPDATE passage = j.passage, times = j.times",
	    ARGS(INT(layers[x->layer].number), STR(json), ID(x->media_id)));
	return n;
}

static size_t
drop_words(struct db *db, const struct search_index *x)
{
	size_t n;
	const char *json = some_words(db_arena(db), &x->content->gone, x->gone, &n);

	db_run(db, "DELETE w FROM " WORDS_SQL " STRAIGHT_JOIN media m STRAIGHT_JOIN search_words w ON w.tenant_id = "
	    "m.tenant_id AND w.word = CAST(j.word AS BINARY) AND w.media_id = m.id AND w.layer = ? WHERE m.id = ?",
	    ARGS(STR(json), INT(layers[x->layer].number), ID(x->media_id)));
	return n;
}

/* A part of the layer; how many rows.  0: all of it is written. */
static size_t
put_some(struct db *db, struct search_index *x)
{
	const struct search_content *c = x->content;
	int64_t rows;
	size_t n;

	if (x->passages < c->n) {
		x->passages += n = put_passages(db, x);
	} else if (x->words < c->words.n) {
		x->words += n = put_words(db, x);
	} else if (x->gone < c->gone.n) {
		x->gone += n = drop_words(db, x);
	} else {
		rows = db_run(db, "DELETE FROM search_passages WHERE media_id = ? AND layer = ? AND passage >= ? "
		    "ORDER BY "
		    "passage LIMIT ?", ARGS(ID(x->media_id), INT(layers[x->layer].number), INT((int64_t)c->n), INT(ROWS)));
		n = rows > 0 ? (size_t)rows : 0;
	}
	return n;
}

/* The layer is what its texts are now. */
static void
finish(struct db *db, struct search_index *x)
{
	db_run(db, "INSERT INTO search_layers (media_id, layer, digest) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE "
	    "digest = ?", ARGS(ID(x->media_id), INT(layers[x->layer].number), STR(x->content->digest),
	    STR(x->content->digest)));
	x->content = NULL;
	x->layer++;
}

/* The asset first, as by who deletes it.  False: it is gone, or another run has begun. */
static bool
is_ours(struct db *db, const struct search_index *x)
{
	return db_number(db, "SELECT 1 FROM media WHERE id = ? LOCK IN SHARE MODE", ARGS(ID(x->media_id)), 0) == 1 &&
	    db_number(db, "SELECT run FROM search_runs WHERE media_id = ? FOR UPDATE", ARGS(ID(x->media_id)), 0) ==
	    x->run;
}

void
search_index_begin(struct search_index *x, struct uuid media_id)
{
	*x = (struct search_index){ .media_id = media_id, .mem = arena_new(LAYER_MEMORY) };
}

void
search_index_end(struct search_index *x)
{
	arena_free(x->mem);
}

static bool
begin(struct db *db, struct search_index *x)
{
	if (db_number(db, "SELECT 1 FROM media WHERE id = ? LOCK IN SHARE MODE", ARGS(ID(x->media_id)), 0) != 1)
		return false;
	db_run(db, "INSERT INTO search_runs (media_id, run) VALUES (?, 1) ON DUPLICATE KEY UPDATE run = run + 1",
	    ARGS(ID(x->media_id)));
	x->run = db_number(db, "SELECT run FROM search_runs WHERE media_id = ?", ARGS(ID(x->media_id)), 0);
	return true;
}

/* Goes on to the next layer that is not what it was.  It may take long, and locks nothing. */
static void
look_on(struct db *db, struct search_index *x)
{
	struct arena *mem = db_arena(db);

	for (; x->layer < LAYERS && x->content == NULL; x->layer += x->content == NULL) {
		arena_reset(x->mem);
		db_use(db, x->mem);
		x->content = look(db, x);
		db_use(db, mem);
	}
	x->passages = x->words = x->gone = 0;
}

bool
search_index_some(struct db *db, struct search_index *x)
{
	size_t rows = 0, n = 1;

	if (x->run == 0)
		return begin(db, x);
	if (x->content == NULL) {
		look_on(db, x);
		return x->content != NULL;
	}
	if (!is_ours(db, x))
		return false;
	/* From here on the layer is neither what it was nor what it is to be. */
	if (x->passages + x->words + x->gone == 0)
		db_run(db, "DELETE FROM search_layers WHERE media_id = ? AND layer = ?", ARGS(ID(x->media_id),
		    INT(layers[x->layer].number)));
	for (; n > 0 && rows < ROWS; rows += n)
		n = put_some(db, x);
	if (n == 0)
		finish(db, x);
	return true;
}
