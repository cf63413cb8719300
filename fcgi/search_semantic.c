/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /v2/search/semantic: assets that say what is looked for in other words.  The excerpts of what the caller may see, the
 * right being part of each statement, are compared by their signatures, some hundred assets at a time and the newest
 * first, for as long as a request may take; the nearest of them are judged by their vectors.
 */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/meaning.h"
#include "core/excerpts.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/media.h"
#include "fcgi/search_query.h"

/* Excerpts that are judged; assets of a statement; how long it goes on, ms; assets that are told, and excerpts of each;
 * excerpts of an asset that others are to be like. */
enum { NEAREST = 400, ASSETS = 500, LOOK_MS = 1500, TOLD = 100, PARTS = 5, SEED_PARTS = 500 };
/* Below it two texts have nothing to do with each other. */
static const double score_least = 0.1;

struct semantic_query { const char *text; struct uuid media_id, channel_id; struct strings fields, asset_types; };
static const struct field query_fields[] = {
	FIELD(struct semantic_query, text, .on = QUERY, .max = 2000,
	    .doc = "What is looked for, in any words; this or mediaId"),
	FIELD(struct semantic_query, media_id, .on = QUERY, .doc = "Others that say what this asset says"),
	FIELD(struct semantic_query, fields, .on = QUERY, .max = 10, .known = "name|description|transcript|document_content|"
	    "video_text|image_text", .doc = "Where it is said; without it everywhere"),
	FIELD(struct semantic_query, asset_types, .on = QUERY, .max = 10, .known = "video|audio|image|document",
	    .doc = "Only assets of these types"),
	FIELD(struct semantic_query, channel_id, .on = QUERY, .doc = "Only assets in this channel"),
};
static const struct record query_record = RECORD("SemanticQuery", struct semantic_query, query_fields);

struct semantic_passage { const char *field, *text; struct position start, end; struct number page; double score; };
static const struct field passage_fields[] = {
	FIELD(struct semantic_passage, field, .required = true, .doc = "Where it is said, as in `fields`"),
	FIELD(struct semantic_passage, text, .required = true, .doc = "What is said there"),
	FIELD(struct semantic_passage, start, .on = OMIT_NULL, .doc = "When, in seconds"),
	FIELD(struct semantic_passage, end, .on = OMIT_NULL, .doc = "Until when"),
	FIELD(struct semantic_passage, page, .on = OMIT_NULL, .doc = "Of a document, from 1"),
	FIELD(struct semantic_passage, score, .required = true, .doc = "How near its meaning is, up to 1"),
};
static const struct record passage_record = RECORD("SemanticPassage", struct semantic_passage, passage_fields);

struct semantic_result {
	struct uuid id;
	const char *name;
	double score;
	struct nested thumbnail;
	struct list passages;
};
static const struct field result_fields[] = {
	FIELD(struct semantic_result, id, .required = true, .doc = "The asset"),
	FIELD(struct semantic_result, name, .required = true, .doc = "What it is called"),
	FIELD(struct semantic_result, score, .required = true, .doc = "That of its best passage"),
	FIELD(struct semantic_result, thumbnail, .on = OMIT_NULL, .of = &thumbnail_record, .doc = "Poster"),
	FIELD(struct semantic_result, passages, .required = true, .of = &passage_record,
	    .doc = "What it says about that, up to five, the best first"),
};
static const struct record result_record = RECORD("SemanticResult", struct semantic_result, result_fields);

/* An excerpt, by its signature. */
struct near { struct uuid media_id; int64_t layer, excerpt, distance; };
static const struct field near_fields[] = {
	FIELD(struct near, media_id, .doc = "The asset"), FIELD(struct near, layer, .doc = "Where it is said"),
	FIELD(struct near, excerpt, .doc = "Its number there"), FIELD(struct near, distance, .doc = "Bits that differ"),
};
static const struct record near_record = RECORD("SemanticNear", struct near, near_fields);

/* The same with what it says. */
struct said {
	struct uuid media_id;
	int64_t layer;
	struct position start, end;
	struct number page;
	const char *text, *vector;
	double score;
};
static const struct field said_fields[] = {
	FIELD(struct said, media_id, .doc = "The asset"), FIELD(struct said, layer, .doc = "Where it is said"),
	FIELD(struct said, start, .doc = "When"), FIELD(struct said, end, .doc = "Until when"),
	FIELD(struct said, page, .doc = "Of a document"), FIELD(struct said, text, .doc = "What is said"),
	FIELD(struct said, vector, .sql = "LOWER(HEX(t.meaning))", .doc = "What it means"),
};
static const struct record said_record = RECORD("SemanticSaid", struct said, said_fields);

struct edge { struct uuid id; };
static const struct field edge_fields[] = { FIELD(struct edge, id, .sql = "t.id", .doc = "An asset") };
static const struct record edge_record = RECORD("SemanticEdge", struct edge, edge_fields);

struct vector { const char *vector; };
static const struct field vector_fields[] = {
	FIELD(struct vector, vector, .sql = "LOWER(HEX(t.meaning))", .doc = "Its parts"),
};
static const struct record vector_record = RECORD("SemanticVector", struct vector, vector_fields);

struct shown { struct uuid id; const char *name; struct json thumbnail; };
static const struct field shown_fields[] = {
	FIELD(struct shown, id, .doc = "An asset"), FIELD(struct shown, name, .doc = "What it is called"),
	FIELD(struct shown, thumbnail, .doc = "Poster"),
};
static const struct record shown_record = RECORD("SemanticShown", struct shown, shown_fields);

struct looking {
	struct req *r;
	const char *engine, *types;
	unsigned layers;
	struct meaning meaning;
	struct near *near;
	size_t n;
	bool exact;
};

static struct meaning
kept(struct arena *mem, const char *hex)
{
	const size_t n = strlen(hex) / 2;
	unsigned char *bytes = arena_alloc(mem, n + 1);

	hex_decode(hex, bytes, n);
	return meaning_kept(bytes, n);
}

static int
nearest_first(const void *a, const void *b)
{
	const struct near *x = a, *y = b;
	int order;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	order = memcmp(&y->media_id, &x->media_id, sizeof(x->media_id));
	if (order != 0)
		return order;
	return x->layer != y->layer ? (x->layer > y->layer) - (x->layer < y->layer) :
	    (x->excerpt > y->excerpt) - (x->excerpt < y->excerpt);
}

/* Keeps the nearest of both. */
static void
merge(struct looking *l, const struct near *more, size_t n)
{
	if (n == 0)
		return;
	if (l->near == NULL)
		l->near = arena_array(l->r->mem, (size_t)2 * NEAREST, sizeof(*l->near));
	memcpy(l->near + l->n, more, n * sizeof(*l->near));
	qsort(l->near, l->n + n, sizeof(*l->near), nearest_first);
	l->n = l->n + n < NEAREST ? l->n + n : NEAREST;
}

/* Of the assets from the first id on, up to the second, which is outside. */
static void
look_at(struct looking *l, struct uuid from, struct uuid to)
{
	static const char *const sql[] = ACCESS_ROWS("FROM (SELECT s.media_id, s.layer, s.excerpt, "
	    "BIT_COUNT(s.plane0 ^ ?) + BIT_COUNT(s.plane1 ^ ?) + BIT_COUNT(s.plane2 ^ ?) + BIT_COUNT(s.plane3 ^ ?) AS distance "
	    "FROM media t FORCE INDEX (by_id) STRAIGHT_JOIN excerpts s FORCE INDEX (by_planes) ON s.media_id = t.id AND s.engine = ? AND ((1 << "
	    "s.layer) & ?) <> 0 AND t.id >= ? AND t.id < ? AND t.id <> ? AND (? IS NULL OR FIND_IN_SET(t.type, ?) > 0) AND "
	    "(? IS NULL OR EXISTS (SELECT 1 FROM media_channels o WHERE o.media_id = t.id AND o.channel_id = ? AND "
	    "o.is_deleted = 0))" ACCESS_LIVE,
	    " ORDER BY distance LIMIT 400) t");
	const struct semantic_query *in = l->r->in;
	const uint64_t *p = l->meaning.planes;
	const struct near *more;
	size_t n;

	more = access_rows(l->r, &near_record, sql, ARGS(INT((int64_t)p[0]), INT((int64_t)p[1]), INT((int64_t)p[2]),
	    INT((int64_t)p[3]), STR(l->engine), INT(l->layers), BYTES(from.b, sizeof(from.b)), BYTES(to.b, sizeof(to.b)),
	    BYTES(in->media_id.b, sizeof(in->media_id.b)), STR(l->types), STR(l->types), ID(in->channel_id),
	    ID(in->channel_id)), &n);
	merge(l, more, n);
}

/* In steps that are as large as the last one was quick: a statement may take two seconds, and a book has a thousand
 * times the excerpts of a clip. */
static void
look(struct looking *l)
{
	struct uuid to, from;
	const struct edge *e;
	const int64_t until = clock_ms() + LOOK_MS;
	int64_t began, step = ASSETS / 16;

	memset(&to, 0xff, sizeof(to));
	do {
		began = clock_ms();
		e = db_row(l->r->db, &edge_record, "FROM media t FORCE INDEX (by_id) WHERE t.tenant_id = ? AND "
		    "t.deleted_at = 0 AND t.id < ? ORDER BY t.id DESC LIMIT 1 OFFSET ?", ARGS(ID(l->r->who->tenant_id),
		    BYTES(to.b, sizeof(to.b)), INT(step - 1)));
		from = e != NULL ? e->id : (struct uuid){ { 0 } };
		look_at(l, from, to);
		to = from;
		began = clock_ms() - began;
		if (began > LOOK_MS / 5)
			step = step > 8 ? step / 4 : 2;
		else if (began < LOOK_MS / 15 && step < ASSETS)
			step *= 2;
	} while (e != NULL && clock_ms() < until && db_failure(l->r->db) == DB_FINE);
	l->exact = e == NULL;
}

static const char *
near_json(const struct looking *l)
{
	struct buf b = BUF(l->r->mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < l->n; i++)
		buf_printf(&b, "%s[\"%s\",%lld,%lld]", i > 0 ? "," : "",
		    hex_encode(l->r->mem, l->near[i].media_id.b, 16),
		    (long long)l->near[i].layer, (long long)l->near[i].excerpt);
	buf_char(&b, ']');
	return buf_string(&b);
}

static int
best_first(const void *a, const void *b)
{
	const struct said *x = a, *y = b;
	int order;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	order = memcmp(&y->media_id, &x->media_id, sizeof(x->media_id));
	return order != 0 ? order : (x->start.ms > y->start.ms) - (x->start.ms < y->start.ms);
}

/* What the nearest say, the best first. */
static struct said *
judge(const struct looking *l, size_t *n)
{
	struct req *r = l->r;
	struct said *s;
	struct meaning m;
	size_t i, k = 0;

	s = db_rows(r->db, &said_record, "FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$[0]', layer INT PATH "
	    "'$[1]', excerpt INT PATH '$[2]')) i STRAIGHT_JOIN media a ON a.id = UNHEX(i.id) AND a.tenant_id = ? "
	    "STRAIGHT_JOIN excerpts t ON t.media_id = a.id AND t.layer = i.layer AND t.excerpt = i.excerpt AND t.engine = ?",
	    ARGS(STR(near_json(l)), ID(r->who->tenant_id), STR(l->engine)), n);
	for (i = 0; i < *n; i++) {
		m = kept(r->mem, s[i].vector);
		s[i].score = meaning_cosine(&l->meaning, &m);
		if (s[i].score >= score_least)
			s[k++] = s[i];
	}
	*n = k;
	if (k > 0)
		qsort(s, k, sizeof(*s), best_first);
	return s;
}

static struct semantic_result *
result_of(struct req *r, struct semantic_result *all, size_t *n, struct uuid id)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (uuid_equal(all[i].id, id))
			return &all[i];
	if (*n == TOLD)
		return NULL;
	all[*n] = (struct semantic_result){ .id = id, .name = "", .passages.rows = arena_array(r->mem, PARTS,
	    sizeof(struct semantic_passage)) };
	return &all[(*n)++];
}

/* Each asset once. */
static struct semantic_result *
sum_up(struct req *r, const struct said *s, size_t n, size_t *n_results)
{
	struct semantic_result *all = arena_array(r->mem, TOLD, sizeof(*all)), *one;
	size_t i;

	*n_results = 0;
	for (i = 0; i < n; i++) {
		one = result_of(r, all, n_results, s[i].media_id);
		if (one == NULL || one->passages.n == PARTS)
			continue;
		if (one->passages.n == 0)
			one->score = s[i].score;
		((struct semantic_passage *)one->passages.rows)[one->passages.n++] = (struct semantic_passage){
			search_layer_name(s[i].layer), s[i].text, s[i].start, s[i].end, s[i].page, s[i].score };
	}
	return all;
}

/* Names and posters of a page. */
static void
show(struct req *r, struct semantic_result *all, size_t n)
{
	struct search_hit *hits = arena_array(r->mem, n + 1, sizeof(*hits));
	const struct shown *s;
	size_t i, k, rows;

	for (i = 0; i < n; i++)
		hits[i].id = all[i].id;
	s = db_rows(r->db, &shown_record, "FROM " SEARCH_IDS " STRAIGHT_JOIN media t ON t.id = UNHEX(i.id) AND "
	    "t.tenant_id = ?", ARGS(STR(search_ids_json(r->mem, hits, n)), ID(r->who->tenant_id)), &rows);
	for (k = 0; k < rows; k++)
		for (i = 0; i < n; i++)
			if (uuid_equal(all[i].id, s[k].id)) {
				all[i].name = s[k].name;
				all[i].thumbnail.row = asset_thumbnail(r, s[k].id, s[k].thumbnail);
			}
}

static const struct vector *
vectors(const struct looking *l, struct uuid media_id, unsigned layers, size_t *n)
{
	return db_rows(l->r->db, &vector_record, "FROM excerpts t WHERE t.media_id = ? AND t.engine = ? AND ((1 << "
	    "t.layer) & ?) <> 0 ORDER BY t.layer, t.excerpt LIMIT ?", ARGS(ID(media_id), STR(l->engine), INT(layers),
	    INT(SEED_PARTS)), n);
}

/* What an asset says as a whole.  False: it is not there, or the caller does not see it. */
static bool
mean_of_asset(struct looking *l, struct uuid media_id)
{
	static const char *const sql[] = ACCESS_ROWS("FROM (SELECT ? AS id) x STRAIGHT_JOIN media t ON t.id = x.id"
	    ACCESS_LIVE, "");
	struct req *r = l->r;
	const struct vector *v;
	struct meaning *all;
	size_t n, i;

	access_rows(r, &edge_record, sql, ARGS(ID(media_id)), &n);
	if (n == 0)
		return false;
	/* what it is called counts where it says nothing */
	v = vectors(l, media_id, l->layers & ~(1U << SEARCH_NAME), &n);
	if (n == 0)
		v = vectors(l, media_id, l->layers, &n);
	all = arena_array(r->mem, n + 1, sizeof(*all));
	for (i = 0; i < n; i++)
		all[i] = kept(r->mem, v[i].vector);
	l->meaning = meaning_mean(r->mem, all, n);
	return true;
}

static void
check(struct req *r, struct looking *l)
{
	const struct semantic_query *in = r->in;
	const struct search_limits limits = { .fields = in->fields, .asset_types = in->asset_types,
	    .channel_id = in->channel_id };

	search_check(r, "", &limits);
	l->layers = search_layers_of(r, &limits);
	l->types = search_commas(r->mem, &in->asset_types);
	if ((in->text != NULL) == !uuid_is_none(in->media_id))
		fault(r, "text", "required", "either text or mediaId says what is looked for");
	else if (in->text != NULL)
		l->meaning = meaning_by_glosses(r->mem, in->text);
	else if (!mean_of_asset(l, in->media_id))
		fault(r, "mediaId", "not_allowed", "names an asset that is not there, or that you may not see");
}

static int
semantic(struct req *r)
{
	struct looking l = { .r = r, .engine = meaning_glosses_name(r->mem), .exact = true };
	struct semantic_result *all;
	struct said *s;
	size_t n, from, here;

	check(r, &l);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (l.meaning.n > 0)
		look(&l);
	s = judge(&l, &n);
	all = sum_up(r, s, n, &n);
	from = page_cut(r, n, &here);
	r->page.total_exact = l.exact && l.n < NEAREST && n < TOLD;
	show(r, all + from, here);
	return reply_list(r, &result_record, all + from, here);
}

const struct route search_semantic_routes[] = {
	{
		GET, "/v2/search/semantic", SCOPE_VIEW_CHANNEL, semantic, &query_record, &result_record,
		"List assets that say something in whatever words, or what another one says, the nearest first",
		.flags = LIST, .fails = "422", .id = "searchSemantic",
	},
	{ 0 }
};
