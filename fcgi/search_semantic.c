/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search/semantic: assets that say what is looked for in other words. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/asset.h"
#include "core/excerpts.h"
#include "core/job.h"
#include "core/models.h"
#include "core/question.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/media.h"
#include "fcgi/nearest.h"
#include "fcgi/search_query.h"

/* Assets that are told, and excerpts of each; excerpts of an asset that others are to be like; how long
 * a vector of a question is waited for. */
enum { TOLD = 100, PARTS = 5, SEED_PARTS = 500, WAIT_MS = 1500 };

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

struct semantic_passage {
	const char *field, *text;
	struct position start, end;
	struct number page;
	double score;
	const char *engine;
};
static const struct field passage_fields[] = {
	FIELD(struct semantic_passage, field, .required = true, .doc = "Where it is said, as in `fields`"),
	FIELD(struct semantic_passage, text, .required = true, .doc = "What is said there"),
	FIELD(struct semantic_passage, start, .on = OMIT_NULL, .doc = "When, in seconds"),
	FIELD(struct semantic_passage, end, .on = OMIT_NULL, .doc = "Until when"),
	FIELD(struct semantic_passage, page, .on = OMIT_NULL, .doc = "Of a document, from 1"),
	FIELD(struct semantic_passage, score, .required = true, .doc = "How near its meaning is, up to 1"),
	FIELD(struct semantic_passage, engine, .required = true,
	    .doc = "What has found it: scores of different ones are not to be compared"),
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

struct edge { struct uuid id; };
static const struct field edge_fields[] = { FIELD(struct edge, id, .sql = "t.id", .doc = "An asset") };
static const struct record edge_record = RECORD("SemanticSeed", struct edge, edge_fields);

struct vector { const char *vector; };
static const struct field vector_fields[] = {
	FIELD(struct vector, vector, .sql = "LOWER(HEX(t.meaning))", .doc = "Its parts"),
};
static const struct record vector_record = RECORD("SemanticVector", struct vector, vector_fields);
static const struct field served_fields[] = {
	FIELD(struct vector, vector, .sql = "LOWER(HEX(t.served_meaning))", .doc = "Its parts"),
};
static const struct record served_record = RECORD("SemanticServed", struct vector, served_fields);

struct shown { struct uuid id; const char *name; struct json thumbnail; };
static const struct field shown_fields[] = {
	FIELD(struct shown, id, .doc = "An asset"), FIELD(struct shown, name, .doc = "What it is called"),
	FIELD(struct shown, thumbnail, .doc = "Poster"),
};
static const struct record shown_record = RECORD("SemanticShown", struct shown, shown_fields);

struct looking { struct req *r; struct nearest_scope scope; struct nearest_vector built_in, served; };

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
sum_up(struct req *r, const struct nearest_said *s, size_t n, size_t *n_results)
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
			search_layer_name(s[i].layer), s[i].text, s[i].start, s[i].end, s[i].page, s[i].score,
			s[i].engine };
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
vectors(const struct looking *l, const struct nearest_vector *v, struct uuid media_id, unsigned layers, size_t *n)
{
	return db_rows(l->r->db, v->served ? &served_record : &vector_record, "FROM excerpts t WHERE t.media_id = ? "
	    "AND IF(?, t.served_by, t.engine) = ? AND ((1 << t.layer) & ?) <> 0 ORDER BY t.layer, t.excerpt LIMIT ?",
	    ARGS(ID(media_id), INT(v->served), STR(v->engine), INT(layers), INT(SEED_PARTS)), n);
}

/* What an asset says as a whole, to one engine. */
static void
mean(const struct looking *l, struct nearest_vector *to, struct uuid media_id)
{
	struct arena *mem = l->r->mem;
	const struct vector *v;
	struct meaning *all;
	size_t n, i;

	/* what it is called counts where it says nothing */
	v = vectors(l, to, media_id, l->scope.layers & ~(1U << SEARCH_NAME), &n);
	if (n == 0)
		v = vectors(l, to, media_id, l->scope.layers, &n);
	all = arena_array(mem, n + 1, sizeof(*all));
	for (i = 0; i < n; i++)
		all[i] = nearest_kept(mem, v[i].vector);
	to->meaning = meaning_mean(mem, all, n);
}

/* False: it is not there, or the caller does not see it. */
static bool
mean_of_asset(struct looking *l, struct uuid media_id)
{
	static const char *const sql[] = ACCESS_ROWS("FROM (SELECT ? AS id) x STRAIGHT_JOIN media t ON t.id = x.id"
	    ACCESS_LIVE, "");
	size_t n;

	access_rows(l->r, &edge_record, sql, ARGS(ID(media_id)), &n);
	if (n == 0)
		return false;
	mean(l, &l->built_in, media_id);
	if (l->served.engine != NULL)
		mean(l, &l->served, media_id);
	return true;
}

static void
check(struct req *r, struct looking *l)
{
	const struct semantic_query *in = r->in;
	const struct search_limits limits = { .fields = in->fields, .asset_types = in->asset_types,
	    .channel_id = in->channel_id };

	search_check(r, "", &limits);
	l->scope = (struct nearest_scope){ .layers = search_layers_of(r, &limits),
	    .types = search_commas(r->mem, &in->asset_types), .but_id = in->media_id };
	if (!uuid_is_none(in->channel_id)) {
		l->scope.channel_ids = (struct ids){ NEW(r->mem, struct uuid), 1 };
		l->scope.channel_ids.at[0] = in->channel_id;
	}
	if ((in->text != NULL) == !uuid_is_none(in->media_id))
		fault(r, "text", "required", "either text or mediaId says what is looked for");
	else if (in->text != NULL)
		l->built_in.meaning = meaning_by_glosses(r->mem, in->text);
	else if (!mean_of_asset(l, in->media_id))
		fault(r, "mediaId", "not_allowed", "names an asset that is not there, or that you may not see");
}

/* The server's vector of the question is asked for by a job, and mostly there soon.  What is not waited for, or too
 * long, is there the next time. */
static void *
ask(struct req *r)
{
	const struct semantic_query *in = r->in;
	const struct timespec nap = { .tv_nsec = 40 * 1000 * 1000 };
	const char *engine = models_embed(r->db, r->conf, r->who->tenant_id).name;
	const int64_t until = clock_ms() + WAIT_MS;
	bool wait;

	db_begin(r->db);
	wait = question_ask(r->db, r->who->tenant_id, engine, in->text);
	if (!db_commit(r->db)) {
		db_forgive(r->db);
		return r;
	}
	job_wake(r->conf->run_dir);
	while (wait && clock_ms() < until && db_failure(r->db) == DB_FINE &&
	    question_meaning(r->db, r->mem, r->who->tenant_id, engine, in->text).n == 0)
		nanosleep(&nap, NULL);
	return r;
}

static int
semantic(struct req *r)
{
	const struct semantic_query *in = r->in;
	struct looking l = { .r = r, .built_in = { .engine = meaning_glosses_name(r->mem) },
	    .served = { .engine = models_embed(r->db, r->conf, r->who->tenant_id).name, .served = true } };
	struct semantic_result *all;
	struct nearest_said *s;
	size_t n, from, here;
	bool exact;

	check(r, &l);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (in->text != NULL && l.served.engine != NULL) {
		l.served.meaning = question_meaning(r->db, r->mem, r->who->tenant_id, l.served.engine, in->text);
		if (l.served.meaning.n == 0 && r->made == NULL)
			return aside(r, ask);
	}
	s = nearest_by(r, &(struct nearest_vectors){ l.built_in, l.served }, &l.scope, &n, &exact);
	all = sum_up(r, s, n, &n);
	from = page_cut(r, n, &here);
	r->page.total_exact = exact && n < TOLD;
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
