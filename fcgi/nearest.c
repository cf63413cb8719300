/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Excerpts by what they mean: first their signatures, then their vectors. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/nearest.h"

/* Assets of a statement; how long it goes on, ms. */
enum { ASSETS = 500, LOOK_MS = 1500 };
/* Below it two texts have nothing to do with each other. */
static const double score_least = 0.1;

/* An excerpt, by its signature. */
struct near { struct uuid media_id; int64_t layer, excerpt, distance; };
static const struct field near_fields[] = {
	FIELD(struct near, media_id, .doc = "The asset"), FIELD(struct near, layer, .doc = "Where it is said"),
	FIELD(struct near, excerpt, .doc = "Its number there"), FIELD(struct near, distance, .doc = "Bits that differ"),
};
static const struct record near_record = RECORD("Near", struct near, near_fields);

static const struct field said_fields[] = {
	FIELD(struct nearest_said, media_id, .doc = "The asset"), FIELD(struct nearest_said, layer, .doc = "Where it is said"),
	FIELD(struct nearest_said, excerpt, .doc = "Its number there"),
	FIELD(struct nearest_said, start, .doc = "When"), FIELD(struct nearest_said, end, .doc = "Until when"),
	FIELD(struct nearest_said, page, .doc = "Of a document"), FIELD(struct nearest_said, text, .doc = "What is said"),
	FIELD(struct nearest_said, vector, .sql = "LOWER(HEX(t.meaning))", .doc = "What it means"),
	FIELD(struct nearest_said, engine, .sql = "t.engine", .doc = "What has made that"),
};
static const struct record said_record = RECORD("NearSaid", struct nearest_said, said_fields);
static const struct field served_fields[] = {
	FIELD(struct nearest_said, media_id, .doc = "The asset"), FIELD(struct nearest_said, layer, .doc = "Where it is said"),
	FIELD(struct nearest_said, excerpt, .doc = "Its number there"),
	FIELD(struct nearest_said, start, .doc = "When"), FIELD(struct nearest_said, end, .doc = "Until when"),
	FIELD(struct nearest_said, page, .doc = "Of a document"), FIELD(struct nearest_said, text, .doc = "What is said"),
	FIELD(struct nearest_said, vector, .sql = "LOWER(HEX(t.served_meaning))", .doc = "What it means"),
	FIELD(struct nearest_said, engine, .sql = "t.served_by", .doc = "What has made that"),
};
static const struct record served_record = RECORD("NearServed", struct nearest_said, served_fields);

struct edge { struct uuid id; };
static const struct field edge_fields[] = { FIELD(struct edge, id, .sql = "t.id", .doc = "An asset") };
static const struct record edge_record = RECORD("NearEdge", struct edge, edge_fields);

struct looking {
	struct req *r;
	const struct nearest_scope *scope;
	const struct nearest_vector *vector;
	struct near *near;
	size_t n;
	bool exact;
};

const char *
nearest_ids(struct arena *mem, const struct ids *ids)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < ids->n; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", hex_encode(mem, ids->at[i].b, sizeof(ids->at[i].b)));
	return ids->n > 0 ? buf_string(&b) : NULL;
}

struct meaning
nearest_kept(struct arena *mem, const char *hex)
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

/* By an index, the column of an engine's name and those of its signatures. */
#define LOOK_AT(key, by, plane) ACCESS_ROWS("FROM (SELECT s.media_id, s.layer, s.excerpt, BIT_COUNT(s." plane "0 ^ ?) + " \
	"BIT_COUNT(s." plane "1 ^ ?) + BIT_COUNT(s." plane "2 ^ ?) + BIT_COUNT(s." plane "3 ^ ?) AS distance FROM media t FORCE " \
	"INDEX (by_id) STRAIGHT_JOIN excerpts s FORCE INDEX (" key ") ON s.media_id = t.id AND s." by " = ? AND ((1 << s.layer) " \
	"& ?) <> 0 AND t.id >= ? AND t.id < ? AND t.id <> ? AND (? IS NULL OR FIND_IN_SET(t.type, ?) > 0) AND (? IS NULL OR " \
	"FIND_IN_SET(HEX(t.id), ?) > 0) AND (? IS NULL OR EXISTS (SELECT 1 FROM media_channels o WHERE o.media_id = t.id AND " \
	"FIND_IN_SET(HEX(o.channel_id), ?) > 0 AND o.is_deleted = 0))" ACCESS_LIVE, " ORDER BY distance LIMIT 400) t")

/* Of the assets from the first id on, up to the second, which is outside. */
static void
look_at(struct looking *l, struct uuid from, struct uuid to)
{
	static const char *const built_in[] = LOOK_AT("by_planes", "engine", "plane"), *const served[] =
	    LOOK_AT("by_served_planes", "served_by", "served_plane");
	const struct nearest_scope *in = l->scope;
	const char *assets = nearest_ids(l->r->mem, &in->media_ids), *channels = nearest_ids(l->r->mem,
	    &in->channel_ids);
	const uint64_t *p = l->vector->meaning.planes;
	const struct near *more;
	size_t n;

	more = access_rows(l->r, &near_record, l->vector->served ? served : built_in, ARGS(INT((int64_t)p[0]),
	    INT((int64_t)p[1]), INT((int64_t)p[2]),
	    INT((int64_t)p[3]), STR(l->vector->engine), INT(in->layers), BYTES(from.b, sizeof(from.b)), BYTES(to.b, sizeof(to.b)),
	    BYTES(in->but_id.b, sizeof(in->but_id.b)), STR(in->types), STR(in->types), STR(assets), STR(assets),
	    STR(channels), STR(channels)), &n);
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
	const struct nearest_said *x = a, *y = b;
	int order;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	order = memcmp(&y->media_id, &x->media_id, sizeof(x->media_id));
	return order != 0 ? order : (x->start.ms > y->start.ms) - (x->start.ms < y->start.ms);
}

/* What the nearest say, the best first. */
static struct nearest_said *
judge(const struct looking *l, size_t *n)
{
	struct req *r = l->r;
	struct nearest_said *s;
	struct meaning m;
	size_t i, k = 0;

	s = db_rows(r->db, l->vector->served ? &served_record : &said_record, "FROM JSON_TABLE(?, '$[*]' COLUMNS (id "
	    "CHAR(32) PATH '$[0]', layer INT PATH '$[1]', excerpt INT PATH '$[2]')) i STRAIGHT_JOIN media a ON a.id = "
	    "UNHEX(i.id) AND a.tenant_id = ? STRAIGHT_JOIN excerpts t ON t.media_id = a.id AND t.layer = i.layer AND "
	    "t.excerpt = i.excerpt AND IF(?, t.served_by, t.engine) = ? AND (? IS NULL OR t.served_by IS NULL OR t.served_by "
	    "<> ?)", ARGS(STR(near_json(l)), ID(r->who->tenant_id), INT(l->vector->served), STR(l->vector->engine),
	    STR(l->scope->but_served), STR(l->scope->but_served)), n);
	for (i = 0; i < *n; i++) {
		m = nearest_kept(r->mem, s[i].vector);
		s[i].score = meaning_cosine(&l->vector->meaning, &m);
		if (s[i].score >= score_least)
			s[k++] = s[i];
	}
	*n = k;
	if (k > 0)
		qsort(s, k, sizeof(*s), best_first);
	return s;
}

struct nearest_said *
nearest_find(struct req *r, const struct nearest_vector *vector, const struct nearest_scope *scope, size_t *n,
    bool *exact)
{
	struct looking l = { .r = r, .vector = vector, .scope = scope, .exact = true };
	struct nearest_said *s;

	if (vector->meaning.n > 0)
		look(&l);
	s = judge(&l, n);
	*exact = l.exact && l.n < NEAREST;
	return s;
}

static struct nearest_said *
both_of(struct req *r, const struct nearest_said *a, size_t n, const struct nearest_said *b, size_t m)
{
	struct nearest_said *both = arena_array(r->mem, n + m + 1, sizeof(*both));
	size_t i, k = 0;

	for (i = 0; i < n || i < m; i++) {
		if (i < n)
			both[k++] = a[i];
		if (i < m)
			both[k++] = b[i];
	}
	return both;
}

struct nearest_said *
nearest_by(struct req *r, const struct nearest_vectors *v, const struct nearest_scope *scope, size_t *n, bool *exact)
{
	struct nearest_scope rest = *scope;
	struct nearest_said *served, *s;
	size_t m;
	bool all;

	if (v->served.meaning.n == 0)
		return nearest_find(r, &v->built_in, scope, n, exact);
	served = nearest_find(r, &v->served, scope, n, exact);
	rest.but_served = v->served.engine;
	s = nearest_find(r, &v->built_in, &rest, &m, &all);
	s = both_of(r, served, *n, s, m);
	*n += m;
	*exact = *exact && all;
	return s;
}
