/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vectors of what an asset says, by the built-in engine, and then, where there is one, by a server.  What that one does
 * not tell is found by the former.  Safe to run twice: it makes them of the texts as they are now, layer by layer, and
 * what is made already is passed over.  No transaction is open while the engine works.
 */
#include "core/excerpts.h"
#include "core/models.h"
#include "jobs/engines/excerpt.h"
#include "jobs/run.h"

enum { LAYER_MEMORY = 256 << 20, SOME_MEMORY = 64 << 20 };

/* Where it is. */
struct way {
	struct uuid media_id;
	const char *engine;
	struct arena *mem;			/* of a layer */
	int64_t run;				/* 0: the asset is gone, or another run has begun */
	const struct excerpt_layer *layer;	/* NULL: all are made */
	int after;
	size_t from, n;
	const struct meaning *meanings;
	/* of a server, whose name is NULL where there is none */
	const char *served, *model;
	const struct excerpt_unserved *unserved;
};

static bool
begin(struct job *j, void *at)
{
	struct way *w = at;

	w->run = excerpts_begin(j->db, w->media_id);
	return false;
}

static bool
next(struct job *j, void *at)
{
	struct way *w = at;

	w->layer = excerpts_next(j->db, w->mem, w->media_id, w->engine, w->after);
	return false;
}

static bool
put(struct job *j, void *at)
{
	struct way *w = at;

	if (!excerpts_put(j->db, w->media_id, w->run, w->engine, w->layer, w->from, w->meanings, w->n))
		w->run = 0;
	return false;
}

static bool
end(struct job *j, void *at)
{
	struct way *w = at;

	if (!excerpts_end(j->db, w->media_id, w->run, w->engine, w->layer))
		w->run = 0;
	return false;
}

/* Some excerpts of the layer at a time. */
static void
make_layer(struct job *j, struct way *w)
{
	const struct excerpt_layer *l = w->layer;
	struct arena *mem = arena_new(SOME_MEMORY);
	struct meaning m[EXCERPTS_AT_ONCE];
	size_t i;

	for (w->from = 0; w->run != 0 && w->from < l->n; w->from += w->n) {
		w->n = l->n - w->from < EXCERPTS_AT_ONCE ? l->n - w->from : EXCERPTS_AT_ONCE;
		for (i = 0; i < w->n; i++)
			m[i] = meaning_by_glosses(mem, l->at[w->from + i].text);
		w->meanings = m;
		job_batches(j, put, w, sizeof(*w));
		job_progress(j, (int)((w->from + w->n) * 100 / l->n));
		arena_reset(mem);
	}
	if (w->run != 0)
		job_batches(j, end, w, sizeof(*w));
	if (l->is_cut)
		job_log(j, "layer %d is longer than %d excerpts: the rest is not found by what it means", l->layer,
		    EXCERPTS_MAX);
	arena_free(mem);
}

static bool
next_unserved(struct job *j, void *at)
{
	struct way *w = at;

	w->unserved = excerpts_unserved(j->db, w->mem, w->media_id, w->served, &w->n);
	return false;
}

static bool
put_served(struct job *j, void *at)
{
	struct way *w = at;

	if (!excerpts_serve(j->db, w->media_id, w->run, w->served, w->unserved, w->meanings, w->n))
		w->run = 0;
	return false;
}

static bool
end_served(struct job *j, void *at)
{
	struct way *w = at;

	if (!excerpts_served(j->db, w->media_id, w->run, w->served))
		w->run = 0;
	return false;
}

/* Some of them.  False: there is a fault. */
static bool
ask(struct job *j, struct way *w, struct fault *fault)
{
	const char *texts[EXCERPT_BATCH];
	struct excerpt x = { .mem = w->mem, .conf = j->conf, .model = w->model, .texts = texts, .n = w->n };
	size_t i;

	for (i = 0; i < w->n; i++)
		texts[i] = w->unserved[i].text;
	if (!excerpt_ask(j, &x)) {
		*fault = x.fault;
		fault->detail = fault->detail != NULL ? arena_copy(j->mem, fault->detail) : NULL;
		return false;
	}
	w->meanings = x.meanings;
	job_batches(j, put_served, w, sizeof(*w));
	return true;
}

static enum outcome
serve(struct job *j, struct way *w)
{
	struct fault fault;

	while (w->run != 0) {
		arena_reset(w->mem);
		job_batches(j, next_unserved, w, sizeof(*w));
		if (w->n == 0)
			break;
		if (!ask(j, w, &fault))
			return job_may_mend(j, &fault) ? job_fault(j, &fault) : DONE;
	}
	if (w->run != 0)
		job_batches(j, end_served, w, sizeof(*w));
	return DONE;
}

enum outcome
embed_run(struct job *j)
{
	const struct embed_args *in = j->in;
	const struct models_embed by = models_embed(j->db, j->conf, j->tenant_id);
	struct way w = { .media_id = in->media_id, .engine = meaning_glosses_name(j->mem),
	    .mem = arena_new(LAYER_MEMORY), .served = by.name, .model = by.model };
	enum outcome outcome = DONE;

	job_batches(j, begin, &w, sizeof(w));
	while (w.run != 0) {
		job_batches(j, next, &w, sizeof(w));
		if (w.layer == NULL)
			break;
		w.after = w.layer->layer;
		make_layer(j, &w);
		arena_reset(w.mem);
	}
	if (w.served != NULL)
		outcome = serve(j, &w);
	arena_free(w.mem);
	return outcome;
}
