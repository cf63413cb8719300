/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passages by words and by meaning.  Which assets have the words is one statement, of which the right is a part; their
 * excerpts are weighed here.  Both orders count alike: what stands high in either is taken.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/chat.h"
#include "core/excerpts.h"
#include "core/fold.h"
#include "core/search.h"
#include "fcgi/access.h"
#include "fcgi/nearest.h"
#include "fcgi/passages.h"
#include "fcgi/search_query.h"
#include "media/prose.h"

/* Words of a question; assets and excerpts that are weighed; of each order so many count; so many at once are asked by
 * whom they are; assets where somebody is heard; passages of one asset; how many assets more than these make no word
 * rarer. */
enum {
	WORDS = 32, ASSETS = 30, EXCERPTS = 3000, RANKED = 50, LOOKED_AT = 500, SPOKEN = 500, OF_ONE = 4, COMMON = 5000,
};
static const double k1 = 1.2, b_length = 0.75, usual_bytes = 600, rank_damp = 60;

/* A word of the question; df: assets of the tenant that have it. */
struct wanted { const char *word, *other; double idf; };

struct asset { struct uuid id; double score; };
static const struct field asset_fields[] = {
	FIELD(struct asset, id, .sql = "t.id", .doc = "It"),
	FIELD(struct asset, score, .sql = "SUM((1 + LN(w.times)) * j.share)", .doc = "By its words"),
};
static const struct record asset_record = RECORD("PassagesAsset", struct asset, asset_fields);

static const struct field said_fields[] = {
	FIELD(struct nearest_said, media_id, .doc = "The asset"),
	FIELD(struct nearest_said, layer, .doc = "Where it is said"),
	FIELD(struct nearest_said, excerpt, .doc = "Its number there"),
	FIELD(struct nearest_said, start, .doc = "When"),
	FIELD(struct nearest_said, end, .doc = "Until when"),
	FIELD(struct nearest_said, page, .doc = "Of a document"),
	FIELD(struct nearest_said, text, .doc = "What is said"),
};
static const struct record said_record = RECORD("PassagesSaid", struct nearest_said, said_fields);

struct spoken { struct uuid media_id; struct position start, end; };
static const struct field spoken_fields[] = {
	FIELD(struct spoken, media_id, .sql = "h.media_id", .doc = "The asset"),
	FIELD(struct spoken, start, .sql = "CAST(j.start * 1000 AS SIGNED)", .doc = "ms"),
	FIELD(struct spoken, end, .sql = "CAST(j.end * 1000 AS SIGNED)", .doc = "ms"),
};
static const struct record spoken_record = RECORD("PassagesSpoken", struct spoken, spoken_fields);

struct heard { struct uuid media_id; };
static const struct field heard_fields[] = { FIELD(struct heard, media_id, .doc = "The asset") };
static const struct record heard_record = RECORD("PassagesHeard", struct heard, heard_fields);

struct shown { struct uuid id; const char *name, *type; };
static const struct field shown_fields[] = {
	FIELD(struct shown, id, .doc = "The asset"), FIELD(struct shown, name, .doc = "What it is called"),
	FIELD(struct shown, type, .doc = "Its type"),
};
static const struct record shown_record = RECORD("PassagesShown", struct shown, shown_fields);

struct finding_passages {
	struct req *r;
	unsigned layers;
	const char *types, *channels, *speakers;
	struct ids assets;		/* none: all */
	struct wanted words[WORDS];
	size_t n_words;
	struct nearest_said *all;	/* .score: by both orders */
	size_t n;
};

static bool
is_wanted(const struct finding_passages *f, const char *word)
{
	size_t i;

	for (i = 0; i < f->n_words; i++)
		if (strcmp(f->words[i].word, word) == 0)
			return true;
	return false;
}

/* The question as words of which some say nothing of what it is about; NULL: all of them do, and so all count. */
static const struct prose *
telling(struct arena *mem, const char *question)
{
	struct prose_reader *r = prose_begin(mem);
	const struct prose *p;

	prose_show(r, question, (struct place){ -1, -1, 0 }, 1, false);
	p = prose_end(r, NULL);
	for (size_t i = 0; i < p->n_vocables; i++)
		if (!p->vocables[i].common)
			return p;
	return NULL;
}

/* What is in any talk would find something whatever is asked. */
static bool
says_nothing(const struct prose *p, const char *word)
{
	for (size_t i = 0; p != NULL && i < p->n_vocables; i++)
		if (p->vocables[i].common && strcmp(p->vocables[i].folded, word) == 0)
			return true;
	return false;
}

static void
read_words(struct finding_passages *f, const char *question)
{
	const struct prose *p = telling(f->r->mem, question);
	struct folded *w;
	size_t n, i;
	int64_t df;

	w = fold_words(f->r->mem, question, &n);
	for (i = 0; i < n && f->n_words < WORDS; i++) {
		if (strlen(w[i].word) < 2 || is_wanted(f, w[i].word) || says_nothing(p, w[i].word))
			continue;
		df = db_number(f->r->db, "SELECT COUNT(*) FROM (SELECT DISTINCT s.media_id FROM search_words s WHERE "
		    "s.tenant_id = ? AND s.word = CAST(? AS BINARY) LIMIT 5000) t", ARGS(ID(f->r->who->tenant_id),
		    STR(w[i].word)), 0);
		f->words[f->n_words++] = (struct wanted){ w[i].word, w[i].other, log(1 + (double)COMMON / ((double)df
		    + 1)) };
	}
}

/* [["word",share],…] */
static const char *
words_json(const struct finding_passages *f)
{
	struct buf b = BUF(f->r->mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < f->n_words; i++) {
		buf_text(&b, i > 0 ? ",[" : "[");
		buf_json(&b, f->words[i].word);
		buf_printf(&b, ",%.4f]", f->words[i].idf);
		if (f->words[i].other != NULL) {
			buf_text(&b, ",[");
			buf_json(&b, f->words[i].other);
			buf_printf(&b, ",%.4f]", f->words[i].idf);
		}
	}
	buf_char(&b, ']');
	return buf_string(&b);
}

static const char *
ids_json(struct arena *mem, const struct ids *ids)
{
	struct search_hit *hits = arena_array(mem, ids->n + 1, sizeof(*hits));
	size_t i;

	for (i = 0; i < ids->n; i++)
		hits[i].id = ids->at[i];
	return search_ids_json(mem, hits, ids->n);
}

#define WORDS_SQL "FROM JSON_TABLE(?, '$[*]' COLUMNS (word VARCHAR(80) CHARACTER SET utf8mb4 PATH '$[0]', share DOUBLE " \
	"PATH '$[1]')) j STRAIGHT_JOIN search_words w ON w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) AND ((1 << " \
	"w.layer) & ?) <> 0 "
/* Of many words in many assets each is asked for: by a key. */
#define AMONG_SQL "STRAIGHT_JOIN (SELECT DISTINCT UNHEX(i.id) AS id FROM " SEARCH_IDS ") x ON x.id = w.media_id "
#define ASSETS_SQL "STRAIGHT_JOIN media t ON t.id = w.media_id AND (? IS NULL OR FIND_IN_SET(t.type, ?) > 0) AND (? IS " \
	"NULL OR EXISTS (SELECT 1 FROM media_channels o WHERE o.media_id = t.id AND FIND_IN_SET(HEX(o.channel_id), ?) > 0 " \
	"AND o.is_deleted = 0))" ACCESS_LIVE
#define BEST_SQL " GROUP BY t.id ORDER BY SUM((1 + LN(w.times)) * j.share) DESC LIMIT 30"

/* Those that the caller sees and that have the words, the best first. */
static const struct asset *
assets_with(const struct finding_passages *f, size_t *n)
{
	static const char *const all[] = ACCESS_ROWS(WORDS_SQL ASSETS_SQL, BEST_SQL), *const among[] =
	    ACCESS_ROWS(WORDS_SQL AMONG_SQL ASSETS_SQL, BEST_SQL);
	const struct arg words = STR(words_json(f)), tenant = ID(f->r->who->tenant_id), layers = INT(f->layers),
	    types = STR(f->types), channels = STR(f->channels);

	if (f->assets.n == 0)
		return access_rows(f->r, &asset_record, all, ARGS(words, tenant, layers, types, types, channels,
		    channels), n);
	return access_rows(f->r, &asset_record, among, ARGS(words, tenant, layers, STR(ids_json(f->r->mem,
	    &f->assets)), types, types, channels, channels), n);
}

static double
bm25(const struct finding_passages *f, const char *text)
{
	const double length = (double)strlen(text) / usual_bytes;
	struct folded *w;
	double score = 0, times;
	size_t n, i, k;

	w = fold_words(f->r->mem, text, &n);
	for (i = 0; i < f->n_words; i++) {
		for (times = 0, k = 0; k < n; k++)
			times += strcmp(w[k].word, f->words[i].word) == 0 || (w[k].other != NULL &&
			    strcmp(w[k].other, f->words[i].word) == 0) || (f->words[i].other != NULL &&
			    strcmp(w[k].word, f->words[i].other) == 0);
		score += f->words[i].idf * times * (k1 + 1) / (times + k1 * (1 - b_length + b_length * length));
	}
	return score;
}

static int
best_first(const void *a, const void *b)
{
	const struct nearest_said *x = a, *y = b;
	int order;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	order = memcmp(&y->media_id, &x->media_id, sizeof(x->media_id));
	if (order != 0)
		return order;
	return x->layer != y->layer ? (x->layer > y->layer) - (x->layer < y->layer) :
	    (x->excerpt > y->excerpt) - (x->excerpt < y->excerpt);
}

static struct nearest_said *
by_words(const struct finding_passages *f, size_t *n)
{
	const struct asset *a;
	struct search_hit hits[ASSETS];
	struct nearest_said *s;
	size_t n_assets, i, k = 0;

	*n = 0;
	if (f->n_words == 0)
		return NULL;
	a = assets_with(f, &n_assets);
	for (i = 0; i < n_assets; i++)
		hits[i].id = a[i].id;
	s = db_rows(f->r->db, &said_record, "FROM " SEARCH_IDS " STRAIGHT_JOIN excerpts t ON t.media_id = UNHEX(i.id) "
	    "AND ((1 << t.layer) & ?) <> 0 LIMIT ?", ARGS(STR(search_ids_json(f->r->mem, hits, n_assets)), INT(f->layers),
	    INT(EXCERPTS)), n);
	for (i = 0; i < *n; i++) {
		s[i].score = bm25(f, s[i].text);
		if (s[i].score > 0)
			s[k++] = s[i];
	}
	*n = k;
	if (k > 0)
		qsort(s, k, sizeof(*s), best_first);
	return s;
}

/* When one of the speakers is heard in the assets of these, by asset.  A name by a voice that is forgotten with its
 * names is none. */
static const struct spoken *
turns_in(const struct finding_passages *f, const struct nearest_said *s, size_t n, size_t *n_turns)
{
	struct search_hit *hits = arena_array(f->r->mem, n, sizeof(*hits));
	size_t i;

	for (i = 0; i < n; i++)
		hits[i].id = s[i].media_id;
	return db_rows(f->r->db, &spoken_record, "FROM (SELECT DISTINCT id FROM " SEARCH_IDS ") x STRAIGHT_JOIN "
	    "media_speakers h ON h.media_id = UNHEX(x.id) JOIN speakers s ON s.id = h.speaker_id LEFT JOIN speakers w ON "
	    "w.id = s.merged_into LEFT JOIN voices v ON v.id = s.voice_id AND v.takes_names = 1 LEFT JOIN voices u ON "
	    "u.id = w.voice_id AND u.takes_names = 1 JOIN JSON_TABLE(h.turns, '$[*]' COLUMNS (start DOUBLE PATH "
	    "'$.start', end DOUBLE PATH '$.end')) j WHERE s.forgotten_at = 0 AND (w.id IS NULL OR w.forgotten_at = 0) AND "
	    "JSON_CONTAINS(?, JSON_QUOTE(COALESCE(IF(u.id IS NULL, w.label, NULL), IF(v.id IS NULL, s.label, NULL)))) "
	    "ORDER BY h.media_id", ARGS(STR(search_ids_json(f->r->mem, hits, n)), STR(f->speakers)), n_turns);
}

static bool
is_spoken(const struct nearest_said *s, const struct spoken *turns, size_t n)
{
	size_t low = 0, high = n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (memcmp(&turns[middle].media_id, &s->media_id, sizeof(s->media_id)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && uuid_equal(turns[low].media_id, s->media_id); low++)
		if (s->start.set && s->start.ms < turns[low].end.ms && s->end.ms > turns[low].start.ms)
			return true;
	return false;
}

/* Of the best, as many as count: what others say, or nobody is known to, is none of them. */
static size_t
by_speakers(const struct finding_passages *f, struct nearest_said *s, size_t n)
{
	const struct spoken *turns;
	size_t from, to, n_turns, i, kept = 0;

	for (from = 0; from < n && kept < RANKED; from = to) {
		to = n - from > LOOKED_AT ? from + LOOKED_AT : n;
		turns = turns_in(f, s + from, to - from, &n_turns);
		for (i = from; i < to; i++)
			if (is_spoken(&s[i], turns, n_turns))
				s[kept++] = s[i];
	}
	return kept;
}

/* Adds what one order says. */
static void
rank(struct finding_passages *f, struct nearest_said *s, size_t n)
{
	struct nearest_said *a;
	size_t i, k;

	if (f->speakers != NULL)
		n = by_speakers(f, s, n);
	for (i = 0; i < n && i < RANKED; i++) {
		for (k = 0; k < f->n; k++) {
			a = &f->all[k];
			if (uuid_equal(a->media_id, s[i].media_id) && a->layer == s[i].layer && a->excerpt ==
			    s[i].excerpt)
				break;
		}
		if (k == f->n) {
			f->all[f->n] = s[i];
			f->all[f->n++].score = 0;
		}
		f->all[k].score += 1 / (rank_damp + (double)i);
	}
}

static struct chat_context *
context_of(struct req *r, struct list *all, struct uuid id)
{
	struct chat_context *c = all->rows;
	const struct shown *s;
	size_t i;

	for (i = 0; i < all->n; i++)
		if (uuid_equal(c[i].media_id, id))
			return &c[i];
	s = db_row(r->db, &shown_record, "FROM media t WHERE t.id = ? AND t.tenant_id = ?", ARGS(ID(id),
	    ID(r->who->tenant_id)));
	if (s == NULL)
		return NULL;
	c[all->n] = (struct chat_context){ .media_id = id,
	    .parts.rows = arena_array(r->mem, OF_ONE, sizeof(struct chat_part)) };
	c[all->n].presentation.row = NEW(r->mem, struct chat_presentation);
	*(struct chat_presentation *)c[all->n].presentation.row = (struct chat_presentation){ s->name, s->type };
	return &c[all->n++];
}

static struct list
contexts(struct finding_passages *f)
{
	struct arena *mem = f->r->mem;
	struct list all = { arena_array(mem, CHAT_PASSAGES, sizeof(struct chat_context)), 0 };
	struct chat_context *c;
	struct chat_place *place;
	size_t i;
	int ref = 0;

	for (i = 0; i < f->n && ref < CHAT_PASSAGES; i++) {
		c = context_of(f->r, &all, f->all[i].media_id);
		if (c == NULL || c->parts.n == OF_ONE)
			continue;
		place = NEW(mem, struct chat_place);
		*place = (struct chat_place){ f->all[i].start, f->all[i].end, f->all[i].page };
		((struct chat_part *)c->parts.rows)[c->parts.n++] = (struct chat_part){ f->all[i].text, { place },
		    arena_printf(mem, "%d", ++ref) };
	}
	return all;
}

/* Where somebody is called by one of the names, the newest: speakers and their parts are of one asset.  Which of their
 * names count is asked when it comes to what they say. */
static struct ids
assets_of(const struct finding_passages *f, const struct ids *among)
{
	struct ids ids;
	size_t n, i;
	const struct heard *h = db_rows(f->r->db, &heard_record, "FROM (SELECT DISTINCT s.media_id FROM JSON_TABLE(?, "
	    "'$[*]' COLUMNS (name VARCHAR(100) CHARACTER SET utf8mb4 PATH '$')) j STRAIGHT_JOIN speakers s ON s.tenant_id = "
	    "? AND s.label = j.name COLLATE utf8mb4_unicode_520_ci WHERE s.forgotten_at = 0 ORDER BY s.media_id DESC LIMIT ?) "
	    "t", ARGS(STR(f->speakers), ID(f->r->who->tenant_id), INT(SPOKEN)), &n);

	ids = (struct ids){ arena_array(f->r->mem, n + 1, sizeof(*ids.at)), 0 };
	for (i = 0; i < n; i++)
		if (among->n == 0 || ids_have(among, h[i].media_id))
			ids.at[ids.n++] = h[i].media_id;
	return ids;
}

struct list
passages_find(struct req *r, const char *question, const struct nearest_vector *served,
    const struct passages_scope *scope)
{
	const struct search_limits everywhere = { 0 };
	struct finding_passages f = { .r = r, .layers = search_layers_of(r, &everywhere) };
	struct nearest_vectors v = {
	    .built_in = { .engine = meaning_glosses_name(r->mem), .meaning = meaning_by_glosses(r->mem, question) } };
	struct nearest_scope near;
	struct nearest_said *s;
	size_t n;
	bool exact;

	f.types = search_commas(r->mem, &scope->asset_types);
	f.assets = scope->media_ids;
	f.channels = nearest_ids(r->mem, &scope->channel_ids);
	f.all = arena_array(r->mem, (size_t)2 * RANKED, sizeof(*f.all));
	f.speakers = scope->speakers.n > 0 ? search_words_json(r->mem, &scope->speakers) : NULL;
	if (f.speakers != NULL && (f.assets = assets_of(&f, &scope->media_ids)).n == 0)
		return (struct list){ NULL, 0 };
	near = (struct nearest_scope){ .layers = f.layers, .types = f.types, .media_ids = f.assets,
	    .channel_ids = scope->channel_ids };
	read_words(&f, question);
	s = by_words(&f, &n);
	rank(&f, s, n);
	if (served != NULL)
		v.served = *served;
	s = nearest_by(r, &v, &near, &n, &exact);
	rank(&f, s, n);
	if (f.n > 0)
		qsort(f.all, f.n, sizeof(*f.all), best_first);
	return contexts(&f);
}
