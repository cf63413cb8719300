/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which assets have the words.  The words are asked for one after the other, the rarest first, and rights and limits
 * are conditions of that first statement: whatever is counted or ranked afterwards the caller may see.  Of a word that
 * more than 10,000 assets have which the caller sees, the newest 10,000 are looked at.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "fcgi/access.h"
#include "fcgi/media.h"
#include "fcgi/search_query.h"
#include "media/label.h"

/* Words that begin alike; assets whose passages are read for a phrase, how many at once, and for how long: about as
 * long as a statement may take, as all that is looked for before. */
enum { PREFIXES = 32, PHRASES = 400, AT_ONCE = 10, PASSAGES_MEMORY = 256 << 20, FOLDED_MEMORY = 16 << 20,
    LISTEN_MS = 1500, TAKE_MS = 1500, FEW_BYTES = 2, FILTER_ARGS = DB_FILTER_ARGS + SEARCH_SPEAKERS };

/* What a word counts for: where it is, and often is better than once. */
#define LAYER_WEIGHT(id, number, name, derived, weight, word, sql) " WHEN " #number " THEN " #weight
#define WEIGHT "CASE w.layer" SEARCH_LAYERS(LAYER_WEIGHT) " END * (1 + LN(w.times))"

static const struct field said_once_fields[] = {
	FIELD(struct search_hit, id, .sql = "w.media_id", .doc = "An asset"),
	FIELD(struct search_hit, score, .sql = "SUM(" WEIGHT ")", .doc = "By the one word"),
};
static const struct field said_variously_fields[] = {
	FIELD(struct search_hit, id, .sql = "w.media_id", .doc = "An asset"),
	FIELD(struct search_hit, score, .sql = "w.score", .doc = "By all words that count as it"),
};
static const struct field any_fields[] = {
	FIELD(struct search_hit, id, .sql = "t.id", .doc = "An asset"),
	FIELD(struct search_hit, score, .sql = "1", .doc = "All the same"),
};
static const struct record found_records[] = {
	RECORD("SaidOnce", struct search_hit, said_once_fields),
	RECORD("SaidVariously", struct search_hit, said_variously_fields),
	RECORD("AnyAsset", struct search_hit, any_fields),
};

struct edge { struct uuid id; };
static const struct field edge_fields[] = { FIELD(struct edge, id, .doc = "The oldest of some assets") };
static const struct record edge_record = RECORD("SearchEdge", struct edge, edge_fields);

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

/* Words that count as one, and how much each of them: one bind. */
#define FORMS_SQL "JSON_TABLE(?, '$[*]' COLUMNS (word VARCHAR(80) CHARACTER SET utf8mb4 PATH '$[0]', share DOUBLE PATH '$[1]')) j"
#define LAYERS " AND ((1 << w.layer) & ?) <> 0 AND " SEARCH_HOLDS_SQL("w")
/* Binds: ONE tenant, word, range, layers; MANY forms, tenant, range, layers; ANY tenant, range.  A range is two ids, of
 * which the second is outside. */
#define WORDS_ONE "FROM search_words w STRAIGHT_JOIN media t ON t.id = w.media_id WHERE w.tenant_id = ? AND w.word = ? AND " \
	"w.media_id >= ? AND w.media_id < ?" LAYERS
#define WORDS_MANY "FROM (SELECT w.media_id, SUM(" WEIGHT " * j.share) AS score FROM " FORMS_SQL " STRAIGHT_JOIN search_words w ON " \
	"w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) AND w.media_id >= ? AND w.media_id < ? WHERE 1" LAYERS \
	" GROUP BY w.media_id) w STRAIGHT_JOIN media t ON t.id = w.media_id WHERE 1"
#define ASSETS "FROM media t FORCE INDEX (by_id) WHERE t.tenant_id = ? AND t.id >= ? AND t.id < ?"
#define ALIKE " AND t.deleted_at = 0 AND (? IS NULL OR FIND_IN_SET(t.type, ?) > 0) AND (? IS NULL OR t.duration >= ?) AND " \
	"(? IS NULL OR t.duration <= ?) AND (? IS NULL OR t.file_size >= ?) AND (? IS NULL OR t.file_size <= ?) AND " \
	"(? = 0 OR t.created_at >= ?) AND (? = 0 OR t.created_at <= ?) AND (? IS NULL OR EXISTS (SELECT 1 FROM media_channels " \
	"mc WHERE mc.media_id = t.id AND mc.channel_id = ?)) AND (? = 0 OR (SELECT COUNT(*) FROM media_tags mt WHERE " \
	"mt.media_id = t.id AND FIND_IN_SET(HEX(mt.tag_id), ?) > 0) = ?)"
/* Of all, of those in a few channels, or in many. */
enum source { ONE, MANY, ANY };	/* of found_records, too */
#define FEW_SEE " AND " ACCESS_FEW_SQL
#define MANY_SEE " AND " ACCESS_VIEW_SQL
#define BY_WORD " GROUP BY w.media_id ORDER BY w.media_id DESC LIMIT ?"
#define BY_WORDS " ORDER BY w.media_id DESC LIMIT ?"
#define BY_ID " ORDER BY t.id DESC LIMIT ?"
static const char *const statements[3][3] = {
	{ WORDS_ONE ALIKE BY_WORD, WORDS_ONE ALIKE FEW_SEE BY_WORD, WORDS_ONE ALIKE MANY_SEE BY_WORD },
	{ WORDS_MANY ALIKE BY_WORDS, WORDS_MANY ALIKE FEW_SEE BY_WORDS, WORDS_MANY ALIKE MANY_SEE BY_WORDS },
	{ ASSETS ALIKE BY_ID, ASSETS ALIKE FEW_SEE BY_ID, ASSETS ALIKE MANY_SEE BY_ID },
};
/* What the conditions of a filter are put between. */
static const char *const heads[] = { WORDS_ONE ALIKE, WORDS_MANY ALIKE, ASSETS ALIKE };
static const char *const tails[3][3] = { { BY_WORD, FEW_SEE BY_WORD, MANY_SEE BY_WORD },
    { BY_WORDS, FEW_SEE BY_WORDS, MANY_SEE BY_WORDS }, { BY_ID, FEW_SEE BY_ID, MANY_SEE BY_ID } };

struct match {
	struct req *r;
	struct search_query *q;
	const struct search_limits *limits;
	unsigned layers;
	const char *filter;		/* " AND …" of the page and of who is heard, and its binds */
	struct arg filtered[FILTER_ARGS];
	struct ids tags;
	struct search_hit *hits;
	size_t n;
	int64_t until;		/* of clock_ms(): what is not found by then is left */
	bool cut;		/* more words begin so than were looked for */
	bool exact;
};

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

const char *
search_commas(struct arena *mem, const struct strings *s)
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
	a = twice(a, STR(search_commas(mem, &l->asset_types)));
	a = twice(a, null_or(l->duration_from.set, l->duration_from.ms));
	a = twice(a, null_or(l->duration_to.set, l->duration_to.ms));
	a = twice(a, null_or(l->file_size_from.set, l->file_size_from.n));
	a = twice(a, null_or(l->file_size_to.set, l->file_size_to.n));
	a = twice(a, TIME(l->created_from));
	a = twice(a, TIME(l->created_to));
	a = twice(a, ID(l->channel_id));
	*a++ = INT((int64_t)tags.n);
	*a++ = STR(tags.n > 0 ? search_commas(mem, &tags) : "");
	*a++ = INT((int64_t)tags.n);
	return a;
}

static const char *
forms_json(struct arena *mem, const struct search_term *t)
{
	struct buf b = BUF(mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < t->forms.n; i++) {
		buf_text(&b, i > 0 ? ",[" : "[");
		buf_json(&b, t->forms.at[i]);
		buf_text(&b, i < t->exact ? ",1]" : ",0.5]");
	}
	buf_char(&b, ']');
	return buf_string(&b);
}

/* Ids from the first on, up to the second. */
struct range { struct uuid from, to; };

/* What has the word (NULL: all), newest first, of what the caller sees among those of the range. */
static struct search_hit *
among(struct match *m, const struct search_term *t, const struct range *range, int64_t limit, size_t *n)
{
	struct req *r = m->r;
	enum source source = t == NULL ? ANY : t->forms.n == 1 ? ONE : MANY;
	struct arg args[FILTER_ARGS + 48], *a = args;
	const struct arg *f;
	int see = 0, k;

	if (source == MANY)
		*a++ = STR(forms_json(r->mem, t));
	*a++ = ID(r->who->tenant_id);
	if (source == ONE)
		*a++ = BYTES(t->forms.at[0], strlen(t->forms.at[0]));
	*a++ = BYTES(range->from.b, sizeof(range->from.b));
	*a++ = BYTES(range->to.b, sizeof(range->to.b));
	if (source != ANY)
		*a++ = INT(m->layers);
	a = alike(m, a);
	for (f = m->filtered; f->kind != ARG_END; f++)
		*a++ = *f;
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
	return db_rows(r->db, &found_records[source], *m->filter == '\0' ? statements[source][see] :
	    arena_printf(r->mem, "%s%s%s", heads[source], m->filter, tails[source][see]), args, n);
}

/* The oldest of the next 20,000 assets of the tenant before that id; none: there are fewer. */
static struct uuid
edge(struct match *m, struct uuid to)
{
	const struct edge *e = db_row(m->r->db, &edge_record, "FROM media t FORCE INDEX (by_id) WHERE t.tenant_id = ? "
	    "AND t.deleted_at = 0 AND t.id < ? ORDER BY t.id DESC LIMIT 1 OFFSET 20000", ARGS(ID(m->r->who->tenant_id),
	    BYTES(to.b, sizeof(to.b))));

	return e != NULL ? e->id : (struct uuid){ { 0 } };
}

/* How many rows the word has, up to a limit: the rarest goes first. */
static int64_t
rows_of(struct match *m, const struct search_term *t)
{
	return db_number(m->r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM " SEARCH_WORDS
	    " STRAIGHT_JOIN search_words w ON w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) LIMIT 10001) c",
	    ARGS(STR(search_words_json(m->r->mem, &t->forms)), ID(m->r->who->tenant_id)), 0);
}

/* The same of all assets.  Where many have the word they are looked at some at a time, the newest first, until there
 * are enough or it has taken too long: one statement would take longer the more of them the caller does not see. */
static struct search_hit *
found(struct match *m, const struct search_term *t, int64_t limit, size_t *n)
{
	const bool all = t != NULL && rows_of(m, t) <= SEARCH_EXACT;
	struct search_hit *hits = NULL, *more, *both;
	struct range range;
	size_t k;

	memset(&range.from, 0xff, sizeof(range.from));
	*n = 0;
	do {
		range.to = range.from;
		memset(&range.from, 0, sizeof(range.from));
		if (!all)
			range.from = edge(m, range.to);
		more = among(m, t, &range, limit - (int64_t)*n, &k);
		if (*n > 0 && k > 0) {
			both = arena_array(m->r->mem, *n + k, sizeof(*both));
			memcpy(both, hits, *n * sizeof(*both));
			memcpy(both + *n, more, k * sizeof(*both));
			more = both;
		}
		hits = k > 0 ? more : hits;
		*n += k;
		if (!uuid_is_none(range.from) && clock_ms() > m->until) {
			m->exact = false;
			break;
		}
	} while (!uuid_is_none(range.from) && (int64_t)*n < limit && db_failure(m->r->db) == DB_FINE);
	return hits;
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

/* Of the hits, which are by their ids, those that have the word too, or that lack it. */
static void
narrow(struct match *m, const struct search_term *t)
{
	struct req *r = m->r;
	struct search_hit *also;
	size_t n, i, k = 0, at = 0;
	bool has;

	if (m->n == 0)
		return;
	also = db_rows(r->db, &found_records[MANY], "FROM (SELECT w.media_id, SUM(" WEIGHT
	    " * j.share) AS score FROM " SEARCH_IDS " STRAIGHT_JOIN " FORMS_SQL " STRAIGHT_JOIN search_words w ON w.tenant_id = ? "
	    "AND w.word = CAST(j.word AS BINARY) AND w.media_id = UNHEX(i.id) WHERE 1" LAYERS " GROUP BY w.media_id) w",
	    ARGS(STR(search_ids_json(r->mem, m->hits, m->n)), STR(forms_json(r->mem, t)), ID(r->who->tenant_id),
	    INT(m->layers)), &n);
	if (n > 0)
		qsort(also, n, sizeof(*also), by_id);
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
	    "UNHEX(i.id) WHERE ((1 << t.layer) & ?) <> 0 AND " SEARCH_HOLDS_SQL("t"), ARGS(STR(ids), INT(m->layers)), &n);
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
	size_t i;

	m->exact = !m->cut;
	m->hits = found(m, first, SEARCH_EXACT + 1, &m->n);
	if (m->n > SEARCH_EXACT) {
		m->exact = false;
		m->n = SEARCH_EXACT;
	}
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
	found(m, t, 1, &n);
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

/* Only where all of them are heard. */
static void
hear(struct match *m)
{
	const struct strings *names = &m->limits->speakers;
	struct buf b = BUF(m->r->mem);
	struct arg *a = m->filtered;
	size_t i;

	if (names->n == 0)
		return;
	while (a->kind != ARG_END)
		a++;
	buf_text(&b, m->filter);
	for (i = 0; i < names->n; i++) {
		buf_text(&b, " AND EXISTS (SELECT 1 FROM speakers s WHERE s.tenant_id = t.tenant_id AND s.media_id = "
		    "t.id AND s.label = ? AND " SEARCH_CALLED_SQL ")");
		*a++ = STR(label_clean(m->r->mem, names->at[i]));
	}
	a->kind = ARG_END;
	m->filter = buf_string(&b);
}

/* Two spellings of its name are one tag. */
static void
each_once(struct ids *ids)
{
	struct ids once = { ids->at, 0 };
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (!ids_have(&once, ids->at[i]))
			once.at[once.n++] = ids->at[i];
	*ids = once;
}

struct search_hit *
search_match(struct req *r, struct search_query *q, const struct search_limits *limits, unsigned layers, size_t *n,
    bool *exact)
{
	struct match m = { .r = r, .q = q, .limits = limits, .layers = layers, .exact = true,
	    .until = clock_ms() + TAKE_MS };
	bool again = false, known;
	size_t i;

	*n = 0;
	*exact = true;
	m.filter = db_filter(r->db, &media_record, &r->page, m.filtered);
	if (m.filter == NULL)
		return NULL;
	hear(&m);
	m.tags = media_tag_ids(r, &limits->tags, false);
	known = m.tags.n == limits->tags.n;
	each_once(&m.tags);
	if (known && (!q->has_text || q->wanted > 0)) {
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
