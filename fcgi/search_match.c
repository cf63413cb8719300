/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which assets have the words.  The words are asked for one after the other, the rarest first, and rights and limits
 * are conditions of that first statement: whatever is counted or ranked afterwards the caller may see.  Of a word that
 * more than 10,000 assets have the newest 10,000 are looked at.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "fcgi/access.h"
#include "fcgi/media.h"
#include "fcgi/search_query.h"

/* Words that begin alike; assets whose passages are read for a phrase, how many at once, and for how long: about as
 * long as a statement may take. */
enum { PREFIXES = 32, PHRASES = 400, AT_ONCE = 10, PASSAGES_MEMORY = 256 << 20, FOLDED_MEMORY = 16 << 20,
    LISTEN_MS = 1500, FEW_BYTES = 2 };

struct posting { struct uuid media_id; int64_t layer, times; const char *word; };
static const struct field posting_fields[] = {
	FIELD(struct posting, media_id, .sql = "t.id", .doc = "An asset"),
	FIELD(struct posting, layer, .sql = "w.layer", .doc = "Where it is said"),
	FIELD(struct posting, times, .sql = "w.times", .doc = "How often"),
	FIELD(struct posting, word, .sql = "w.word", .doc = "As it is folded"),
};
static const struct record posting_record = RECORD("Posting", struct posting, posting_fields);

struct word { const char *word; };
static const struct field word_fields[] = { FIELD(struct word, word, .doc = "As it is folded") };
static const struct record word_record = RECORD("Word", struct word, word_fields);

struct said { struct uuid media_id; int64_t layer; const char *text; };
static const struct field said_fields[] = {
	FIELD(struct said, media_id, .doc = "An asset"),
	FIELD(struct said, layer, .doc = "Where it is said"),
	FIELD(struct said, text, .doc = "A passage"),
};
static const struct record said_record = RECORD("Said", struct said, said_fields);

/* Binds: WORDS_ONE tenant, word, layers; WORDS_MANY words, tenant, layers; ASSETS tenant. */
#define LAYERS " AND ((1 << w.layer) & ?) <> 0"
#define WORDS_ONE "FROM search_words w STRAIGHT_JOIN media t ON t.id = w.media_id WHERE w.tenant_id = ? AND w.word = ?" LAYERS
#define WORDS_MANY "FROM " SEARCH_WORDS " STRAIGHT_JOIN search_words w ON w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) " \
	"STRAIGHT_JOIN media t ON t.id = w.media_id WHERE 1" LAYERS
#define ASSETS "FROM (SELECT 1 AS layer, 1 AS times, '' AS word) w STRAIGHT_JOIN media t FORCE INDEX (by_id) WHERE t.tenant_id = ?"
#define ALIKE " AND t.deleted_at = 0 AND (? IS NULL OR FIND_IN_SET(t.type, ?) > 0) AND (? IS NULL OR t.duration >= ?) AND " \
	"(? IS NULL OR t.duration <= ?) AND (? IS NULL OR t.file_size >= ?) AND (? IS NULL OR t.file_size <= ?) AND " \
	"(? = 0 OR t.created_at >= ?) AND (? = 0 OR t.created_at <= ?) AND (? IS NULL OR EXISTS (SELECT 1 FROM media_channels " \
	"mc WHERE mc.media_id = t.id AND mc.channel_id = ?)) AND (? = 0 OR (SELECT COUNT(*) FROM media_tags mt WHERE " \
	"mt.media_id = t.id AND FIND_IN_SET(HEX(mt.tag_id), ?) > 0) = ?)"
#define BY_WORD " ORDER BY w.media_id DESC LIMIT ?"
#define BY_ID " ORDER BY t.id DESC LIMIT ?"
#define FEW_SEE " AND " ACCESS_FEW_SQL
#define MANY_SEE " AND " ACCESS_VIEW_SQL

enum source { ONE, MANY, ANY };
static const char *const statements[3][3] = {
	{ WORDS_ONE ALIKE BY_WORD, WORDS_ONE ALIKE FEW_SEE BY_WORD, WORDS_ONE ALIKE MANY_SEE BY_WORD },
	{ WORDS_MANY ALIKE BY_WORD, WORDS_MANY ALIKE FEW_SEE BY_WORD, WORDS_MANY ALIKE MANY_SEE BY_WORD },
	{ ASSETS ALIKE BY_ID, ASSETS ALIKE FEW_SEE BY_ID, ASSETS ALIKE MANY_SEE BY_ID },
};

struct match {
	struct req *r;
	struct search_query *q;
	const struct search_limits *limits;
	unsigned layers;
	struct ids tags;
	struct search_hit *hits;
	size_t n;
	bool cut;		/* more words begin so than were looked for */
	bool exact;
};

/* Of a word in the name of an asset, and elsewhere; often is better than once. */
static double
weight(const struct search_term *t, const struct posting *p)
{
	static const double by_layer[] = { [SEARCH_NAME] = 8, [SEARCH_TAG] = 6, [SEARCH_DESCRIPTION] = 3 };
	const size_t n = sizeof(by_layer) / sizeof(by_layer[0]);
	double w = (size_t)p->layer < n && by_layer[p->layer] > 0 ? by_layer[p->layer] : 1;

	return t == NULL ? 1 : w * (1 + log((double)p->times)) * search_is(t, p->word);
}

const char *
search_words_json(struct arena *mem, const struct strings *words)
{
	struct buf b = BUF(mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < words->n; i++) {
		buf_text(&b, i > 0 ? "," : "");
		buf_json(&b, words->at[i]);
	}
	buf_char(&b, ']');
	return buf_string(&b);
}

const char *
search_ids_json(struct arena *mem, const struct search_hit *h, size_t n)
{
	struct buf b = BUF(mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s\"%s\"", i > 0 ? "," : "", hex_encode(mem, h[i].id.b, sizeof(h[i].id.b)));
	buf_char(&b, ']');
	return buf_string(&b);
}

static struct arg
null_or(bool set, int64_t n)
{
	return set ? INT(n) : (struct arg){ .kind = ARG_NULL };
}

static struct arg *
twice(struct arg *a, struct arg value)
{
	a[0] = a[1] = value;
	return a + 2;
}

static const char *
comma(struct arena *mem, const struct strings *s)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < s->n; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", s->at[i]);
	return s->n > 0 ? buf_string(&b) : NULL;
}

/* The binds of ALIKE. */
static struct arg *
alike(struct match *m, struct arg *a)
{
	const struct search_limits *l = m->limits;
	struct arena *mem = m->r->mem;
	struct strings tags = { arena_array(mem, m->tags.n + 1, sizeof(*tags.at)), m->tags.n };
	size_t i;

	for (i = 0; i < tags.n; i++)
		tags.at[i] = hex_encode(mem, m->tags.at[i].b, sizeof(m->tags.at[i].b));
	a = twice(a, STR(comma(mem, &l->asset_types)));
	a = twice(a, null_or(l->duration_from.set, l->duration_from.ms));
	a = twice(a, null_or(l->duration_to.set, l->duration_to.ms));
	a = twice(a, null_or(l->file_size_from.set, l->file_size_from.n));
	a = twice(a, null_or(l->file_size_to.set, l->file_size_to.n));
	a = twice(a, TIME(l->created_from));
	a = twice(a, TIME(l->created_to));
	a = twice(a, ID(l->channel_id));
	*a++ = INT((int64_t)tags.n);
	*a++ = STR(tags.n > 0 ? comma(mem, &tags) : "");
	*a++ = INT((int64_t)tags.n);
	return a;
}

/* What has the word (NULL: all), newest first, of what the caller sees. */
static struct posting *
postings(struct match *m, const struct search_term *t, int64_t limit, size_t *n)
{
	struct req *r = m->r;
	enum source source = t == NULL ? ANY : t->forms.n == 1 ? ONE : MANY;
	struct arg args[64], *a = args;
	int see = 0, k;

	if (source == MANY)
		*a++ = STR(search_words_json(r->mem, &t->forms));
	*a++ = ID(r->who->tenant_id);
	if (source == ONE)
		*a++ = BYTES(t->forms.at[0], strlen(t->forms.at[0]));
	if (source != ANY)
		*a++ = INT(m->layers);
	a = alike(m, a);
	if ((r->audience->everywhere & r->who->scopes & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) == 0) {
		k = access_few(r, SCOPE_VIEW_CHANNEL, a);
		see = k < 0 ? 2 : 1;
		if (k < 0) {
			a = twice(a, ID(r->who->id));
			*a++ = STR(role_names(r->mem, SCOPE_VIEW_CHANNEL));
		} else
			a += ACCESS_FEW;
	}
	*a++ = INT(limit);
	a->kind = ARG_END;
	return db_rows(r->db, &posting_record, statements[source][see], args, n);
}

static int
by_id(const void *a, const void *b)
{
	return memcmp(b, a, sizeof(struct uuid));
}

static int
best_first(const void *a, const void *b)
{
	const struct search_hit *x = a, *y = b;

	return x->score != y->score ? (x->score < y->score) - (x->score > y->score) :
	    memcmp(&y->id, &x->id, sizeof(x->id));
}

/* Each asset once, by its id. */
static struct search_hit *
sum(struct match *m, const struct search_term *t, const struct posting *p, size_t n, size_t *out)
{
	struct search_hit *h = arena_array(m->r->mem, n + 1, sizeof(*h));
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		h[i] = (struct search_hit){ p[i].media_id, weight(t, &p[i]) };
	if (n > 0)
		qsort(h, n, sizeof(*h), by_id);
	for (i = 0; i < n; i++)
		if (k > 0 && memcmp(&h[k - 1].id, &h[i].id, sizeof(h[i].id)) == 0)
			h[k - 1].score += h[i].score;
		else
			h[k++] = h[i];
	*out = k;
	return h;
}

/* Of the hits those that have the word too, or that lack it. */
static void
narrow(struct match *m, const struct search_term *t)
{
	struct req *r = m->r;
	struct search_hit *also;
	struct posting *p;
	size_t n, i, k = 0, at = 0;
	bool has;

	if (m->n == 0)
		return;
	p = db_rows(r->db, &posting_record, "FROM " SEARCH_IDS " STRAIGHT_JOIN " SEARCH_WORDS
	    " STRAIGHT_JOIN search_words w ON w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) AND w.media_id = "
	    "UNHEX(i.id) STRAIGHT_JOIN media t ON t.id = w.media_id WHERE 1" LAYERS, ARGS(STR(search_ids_json(r->mem,
	    m->hits, m->n)), STR(search_words_json(r->mem, &t->forms)), ID(r->who->tenant_id), INT(m->layers)), &n);
	also = sum(m, t, p, n, &n);
	for (i = 0; i < m->n; i++) {
		while (at < n && by_id(&also[at], &m->hits[i]) < 0)
			at++;
		has = at < n && by_id(&also[at], &m->hits[i]) == 0;
		if (has == t->is_excluded)
			continue;
		m->hits[k] = m->hits[i];
		m->hits[k++].score += has ? also[at].score : 0;
	}
	m->n = k;
}

static bool
says(struct arena *mem, const struct search_query *q, const struct search_phrase *p, const char *text)
{
	size_t n, i, k;
	const struct folded *f = fold_words(mem, text, &n);
	bool found = false;

	for (i = 0; i + p->n <= n && !found; i++) {
		for (k = 0; k < p->n; k++) {
			const struct search_term *t = &q->terms[p->first + k];

			if (search_is(t, f[i + k].word) == 0 &&
			    (f[i + k].other == NULL || search_is(t, f[i + k].other) == 0))
				break;
		}
		found = k == p->n;
	}
	arena_reset(mem);
	return found;
}

/* What texts are read into, and each of them folded. */
struct ear { struct arena *texts, *folded; };

/* Do the hits from `from` on say the phrase?  In memory of its own: texts of ten assets may be long. */
static void
listen(struct match *m, const struct search_phrase *p, const struct ear *ear, size_t from, size_t many, bool *has)
{
	const char *ids = search_ids_json(m->r->mem, m->hits + from, many);
	const struct said *s;
	size_t n, i, k;

	db_use(m->r->db, ear->texts);
	s = db_rows(m->r->db, &said_record, "FROM " SEARCH_IDS " STRAIGHT_JOIN search_passages t ON t.media_id = "
	    "UNHEX(i.id) WHERE ((1 << t.layer) & ?) <> 0", ARGS(STR(ids), INT(m->layers)), &n);
	for (i = 0; i < n; i++)
		for (k = from; k < from + many; k++)
			if (!has[k] && uuid_equal(m->hits[k].id, s[i].media_id))
				has[k] = says(ear->folded, m->q, p, s[i].text);
	db_use(m->r->db, m->r->mem);
	arena_reset(ear->texts);
}

static void
forget(void *mem)
{
	arena_free(mem);
}

/* Of too many assets that have all of its words the best are looked at. */
static void
say(struct match *m, const struct search_phrase *p)
{
	bool excluded = m->q->terms[p->first].is_excluded;
	const struct ear ear = { arena_new(PASSAGES_MEMORY), arena_new(FOLDED_MEMORY) };
	const int64_t until = clock_ms() + LISTEN_MS;
	bool *has;
	size_t i, k = 0;

	arena_defer(m->r->mem, forget, ear.texts);
	arena_defer(m->r->mem, forget, ear.folded);
	if (m->n > PHRASES) {
		qsort(m->hits, m->n, sizeof(*m->hits), best_first);
		m->n = PHRASES;
		m->exact = false;
		qsort(m->hits, m->n, sizeof(*m->hits), by_id);
	}
	has = arena_array(m->r->mem, m->n + 1, sizeof(*has));
	for (i = 0; i < m->n; i += AT_ONCE) {
		if (clock_ms() > until) {	/* those behind it have come earlier */
			m->n = i;
			m->exact = false;
			break;
		}
		listen(m, p, &ear, i, m->n - i < AT_ONCE ? m->n - i : AT_ONCE, has);
	}
	for (i = 0; i < m->n; i++)
		if (has[i] != excluded)
			m->hits[k++] = m->hits[i];
	m->n = k;
}

/* Words of the tenant that begin with it; whose assets they are is asked later. */
static void
expand(struct match *m, struct search_term *t)
{
	struct req *r = m->r;
	const char *word = t->forms.at[0];
	size_t len = strlen(word), n, i;
	const char *end = arena_printf(r->mem, "%s\xff", word);
	struct strings forms = { arena_array(r->mem, t->forms.n + PREFIXES, sizeof(*forms.at)), t->forms.n };
	const struct word *w;

	memcpy(forms.at, t->forms.at, t->forms.n * sizeof(*forms.at));
	if (t->is_prefix && len >= FEW_BYTES) {
		w = db_rows(r->db, &word_record, "FROM (SELECT DISTINCT s.word FROM search_words s WHERE "
		    "s.tenant_id = ? AND s.word > ? AND s.word < ? LIMIT ?) t", ARGS(ID(r->who->tenant_id), BYTES(word, len),
		    BYTES(end, len + 1), INT(PREFIXES + 1)), &n);
		m->cut |= n > PREFIXES;
		for (i = 0; i < n && i < PREFIXES; i++)
			forms.at[forms.n++] = w[i].word;
	}
	t->forms = forms;
}

/* How many rows the word has, up to a limit: the rarest goes first. */
static int64_t
rows_of(struct match *m, const struct search_term *t)
{
	return db_number(m->r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM " SEARCH_WORDS
	    " STRAIGHT_JOIN search_words w ON w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) LIMIT 10001) c",
	    ARGS(STR(search_words_json(m->r->mem, &t->forms)), ID(m->r->who->tenant_id)), 0);
}

static const struct search_term *
rarest(struct match *m)
{
	const struct search_term *t, *best = NULL;
	int64_t rows, least = 0;
	size_t i;

	for (i = 0; i < m->q->n; i++) {
		t = &m->q->terms[i];
		if (t->is_excluded)
			continue;
		rows = m->q->wanted > 1 ? rows_of(m, t) : 0;
		if (best == NULL || rows < least) {
			best = t;
			least = rows;
		}
	}
	return best;
}

static void
find(struct match *m)
{
	const struct search_term *first = m->q->has_text ? rarest(m) : NULL, *t;
	struct posting *p;
	size_t n, i;

	m->exact = !m->cut;
	p = postings(m, first, SEARCH_EXACT + 1, &n);
	if (n > SEARCH_EXACT) {
		m->exact = false;
		n = SEARCH_EXACT;
	}
	m->hits = sum(m, first, p, n, &m->n);
	for (i = 0; i < m->q->n; i++) {
		t = &m->q->terms[i];
		if (t != first && !(t->is_excluded && t->is_in_phrase))
			narrow(m, t);
	}
	for (i = 0; i < m->q->n_phrases; i++)
		say(m, &m->q->phrases[i]);
}

/* A word that nothing the caller sees has may be misspelled: those that are there instead.  False: it is right. */
static bool
correct(struct match *m, struct search_term *t)
{
	struct strings near = { 0 }, forms;
	const struct word *w;
	size_t n, i;

	if (t->is_excluded)
		return false;
	postings(m, t, 1, &n);
	if (n == 0)
		near = search_misspelled(m->r->mem, t->forms.at[0]);
	if (near.n == 0)
		return false;
	w = db_rows(m->r->db, &word_record, "FROM " SEARCH_WORDS
	    " STRAIGHT_JOIN search_words t WHERE t.tenant_id = ? AND t.word = CAST(j.word AS BINARY) GROUP BY t.word LIMIT 32",
	    ARGS(STR(search_words_json(m->r->mem, &near)), ID(m->r->who->tenant_id)), &n);
	forms = (struct strings){ arena_array(m->r->mem, t->forms.n + n, sizeof(*forms.at)), t->forms.n };
	memcpy(forms.at, t->forms.at, t->forms.n * sizeof(*forms.at));
	for (i = 0; i < n; i++)
		forms.at[forms.n++] = w[i].word;
	t->forms = forms;
	return n > 0;
}

struct search_hit *
search_match(struct req *r, struct search_query *q, const struct search_limits *limits, unsigned layers, size_t *n,
    bool *exact)
{
	struct match m = { .r = r, .q = q, .limits = limits, .layers = layers, .exact = true };
	bool again = false;
	size_t i;

	m.tags = media_tag_ids(r, &limits->tags, false);
	if (m.tags.n == limits->tags.n && (!q->has_text || q->wanted > 0)) {
		for (i = 0; i < q->n; i++)
			expand(&m, &q->terms[i]);
		find(&m);
		for (i = 0; m.n == 0 && i < q->n; i++)
			again = correct(&m, &q->terms[i]) || again;
		if (again)
			find(&m);
	}
	if (m.n > 0)
		qsort(m.hits, m.n, sizeof(*m.hits), best_first);
	*n = m.n;
	*exact = m.exact;
	return m.hits;
}
