/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Excerpts of assets and their vectors. */
#include <string.h>

#include "core/excerpts.h"
#include "core/job.h"
#include "core/search.h"

/* Bytes from which on an excerpt is long enough; a silence between two, ms; and for how long a job is waited for. */
enum { EXCERPT_LEAST = 350, SILENCE = 10 * 1000 };
#define WAITS_MS "3600000"

/* before, whole: bytes of the paragraph that it is a part of. */
struct passage { const char *text; struct position start, end; int64_t page; size_t before, whole; };
static const struct field passage_fields[] = {
	FIELD(struct passage, text, .doc = "As it is shown"), FIELD(struct passage, start, .doc = "When"),
	FIELD(struct passage, end, .doc = "Until when"),
	FIELD(struct passage, page, .sql = "COALESCE(t.page, 0)", .doc = "Of a document"),
};
static const struct record passage_record = RECORD("ExcerptPassage", struct passage, passage_fields);

struct source { int64_t layer; const char *digest; };
static const struct field source_fields[] = {
	FIELD(struct source, layer, .doc = "Its number"), FIELD(struct source, digest, .doc = "Of its texts"),
};
static const struct record source_record = RECORD("ExcerptSource", struct source, source_fields);

struct owner { struct uuid tenant_id; };
static const struct field owner_fields[] = { FIELD(struct owner, tenant_id, .doc = "The tenant") };
static const struct record owner_record = RECORD("ExcerptOwner", struct owner, owner_fields);

static const struct field unserved_fields[] = {
	FIELD(struct excerpt_unserved, text, .doc = "What is said"),
	FIELD(struct excerpt_unserved, layer, .doc = "Where it is said"),
	FIELD(struct excerpt_unserved, excerpt, .doc = "Its number there"),
};
static const struct record unserved_record = RECORD("ExcerptUnserved", struct excerpt_unserved, unserved_fields);

#define LAYER_BIT(layer) | 1 << layer
enum { LAYERS = 0 EXCERPT_LAYERS(LAYER_BIT) };
/* Layers that are not made of their texts as they are.  Binds: engine, asset, the layers. */
#define TO_DO "FROM search_layers t LEFT JOIN excerpt_layers e ON e.media_id = t.media_id AND e.layer = t.layer AND e.digest = " \
	"t.digest AND e.engine = ? WHERE t.media_id = ? AND ((1 << t.layer) & ?) <> 0 AND e.media_id IS NULL"

/* The job, unless one waits. */
static void
add(struct db *db, struct uuid media_id)
{
	struct job_place place = { .priority = PRIORITY_BULK };
	const struct owner *o;

	db_run(db, "INSERT IGNORE INTO excerpt_runs (media_id, run) SELECT id, 0 FROM media WHERE id = ?",
	    ARGS(ID(media_id)));
	if (db_run(db, "UPDATE excerpt_runs SET wanted_at = " SQL_NOW " WHERE media_id = ? AND (wanted_at IS NULL OR "
	    "wanted_at < " SQL_NOW " - " WAITS_MS ")", ARGS(ID(media_id))) != 1)
		return;
	o = db_row(db, &owner_record, "FROM media t WHERE t.id = ?", ARGS(ID(media_id)));
	if (o == NULL)
		return;
	place.tenant_id = o->tenant_id;
	job_add(db, embed, place, .media_id = media_id);
}

void
excerpts_follow(struct db *db, struct uuid media_id, struct excerpt_engines engines)
{
	if (db_number(db, "SELECT 1 " TO_DO " LIMIT 1", ARGS(STR(engines.built_in), ID(media_id), INT(LAYERS)),
	    0) == 1 || (engines.served != NULL && db_number(db, "SELECT 1 FROM excerpt_layers WHERE media_id = ? AND "
	    "(served_by IS NULL OR served_by <> ?) LIMIT 1", ARGS(ID(media_id), STR(engines.served)), 0) == 1))
		add(db, media_id);
}

void
excerpts_again(struct db *db, struct uuid media_id)
{
	db_run(db, "UPDATE excerpt_layers SET digest = '', served_by = NULL WHERE media_id = ?", ARGS(ID(media_id)));
	add(db, media_id);
}

/* The asset first, as by who deletes it. */
static bool
is_there(struct db *db, struct uuid media_id)
{
	return db_number(db, "SELECT 1 FROM media WHERE id = ? LOCK IN SHARE MODE", ARGS(ID(media_id)), 0) == 1;
}

int64_t
excerpts_begin(struct db *db, struct uuid media_id)
{
	if (!is_there(db, media_id))
		return 0;
	db_run(db, "INSERT INTO excerpt_runs (media_id, run) VALUES (?, 1) ON DUPLICATE KEY UPDATE run = run + 1, "
	    "wanted_at = NULL", ARGS(ID(media_id)));
	return db_number(db, "SELECT run FROM excerpt_runs WHERE media_id = ?", ARGS(ID(media_id)), 0);
}

/* An excerpt as it grows. */
struct growing { struct buf text; struct excerpt_text is; };
struct cutter { struct arena *mem; struct excerpt_text *at; size_t n, room; struct growing g; bool is_cut; };

static void
finish(struct cutter *c)
{
	struct excerpt_text *more;

	if (c->g.text.len == 0)
		return;
	if (c->n == EXCERPTS_MAX) {
		c->is_cut = true;
	} else {
		if (c->n == c->room) {
			c->room = c->room * 2 + 64;
			more = arena_array(c->mem, c->room, sizeof(*more));
			if (c->n > 0)
				memcpy(more, c->at, c->n * sizeof(*more));
			c->at = more;
		}
		c->g.is.text = arena_copy_n(c->mem, buf_string(&c->g.text), c->g.text.len);
		c->at[c->n++] = c->g.is;
	}
	c->g = (struct growing){ .text = BUF(c->mem) };
}

/* Where a text is cut that has no room: behind a sentence, else before a word, else between two characters. */
static size_t
cut(const char *text, size_t size, size_t room)
{
	size_t i;

	if (size <= room)
		return size;
	for (i = room; i > room / 3; i--)
		if (text[i] == ' ' && strchr(".!?", text[i - 1]) != NULL)
			return i;
	for (i = room; i > room / 3; i--)
		if ((unsigned char)text[i] <= ' ')
			return i;
	return utf8_prefix(text, room);
}

/* When so many bytes of a passage are over, if all of its paragraph take the same time. */
static struct position
moment_at(const struct passage *p, size_t bytes)
{
	if (!p->start.set || !p->end.set || p->whole == 0)
		return p->start;
	return (struct position){ p->start.ms + (p->end.ms - p->start.ms) * (int64_t)(p->before + bytes) /
	    (int64_t)p->whole, true };
}

/* A long paragraph is several passages, each with the times of the whole. */
static void
find_paragraphs(struct passage *p, size_t n)
{
	size_t i, k, from;

	for (from = 0; from < n; from = i) {
		size_t whole = 0;

		for (i = from; i < n && p[i].start.ms == p[from].start.ms && p[i].end.ms == p[from].end.ms; i++) {
			p[i].before = whole;
			whole += strlen(p[i].text);
		}
		for (k = from; k < i; k++)
			p[k].whole = whole;
	}
}

/* Is the passage about something else than what stands before it? */
static bool
begins_anew(const struct cutter *c, const struct passage *p)
{
	const struct excerpt_text *is = &c->g.is;

	return is->page != p->page || (is->end.set && p->start.set && p->start.ms - is->end.ms > SILENCE) ||
	    c->g.text.len + strlen(p->text) > EXCERPT_BYTES;
}

static void
take(struct cutter *c, const struct passage *p)
{
	size_t size = strlen(p->text), at, n;

	if (c->g.text.len > 0 && begins_anew(c, p))
		finish(c);
	for (at = strspn(p->text, " \t\r\n"); at < size; at += strspn(p->text + at, " \t\r\n")) {
		n = cut(p->text + at, size - at, EXCERPT_BYTES - c->g.text.len);
		if (c->g.text.len == 0)
			c->g.is = (struct excerpt_text){ .start = moment_at(p, at), .page = p->page };
		else
			buf_char(&c->g.text, ' ');
		buf_add(&c->g.text, p->text + at, n);
		at += n;
		c->g.is.end = moment_at(p, at);
		if (c->g.text.len >= EXCERPT_LEAST)
			finish(c);
	}
}

const struct excerpt_layer *
excerpts_next(struct db *db, struct arena *mem, struct uuid media_id, const char *engine, int after)
{
	struct cutter c = { .mem = mem, .g = { .text = BUF(mem) } };
	struct arena *own = db_arena(db);
	struct excerpt_layer *l = NULL;
	const struct source *s;
	struct passage *p;
	size_t n, i;

	db_use(db, mem);
	s = db_row(db, &source_record, TO_DO " AND t.layer > ? ORDER BY t.layer LIMIT 1", ARGS(STR(engine),
	    ID(media_id), INT(LAYERS), INT(after)));
	if (s != NULL) {
		p = db_rows(db, &passage_record, "FROM search_passages t WHERE t.media_id = ? AND t.layer = ? ORDER BY "
		    "t.passage", ARGS(ID(media_id), INT(s->layer)), &n);
		find_paragraphs(p, n);
		for (i = 0; i < n && !c.is_cut; i++)
			take(&c, &p[i]);
		finish(&c);
		l = NEW(mem, struct excerpt_layer);
		*l = (struct excerpt_layer){ (int)s->layer, s->digest, c.at, c.n, c.is_cut };
	}
	db_use(db, own);
	return l;
}

static bool
is_ours(struct db *db, struct uuid media_id, int64_t run)
{
	return is_there(db, media_id) && db_number(db, "SELECT run FROM excerpt_runs WHERE media_id = ? FOR UPDATE",
	    ARGS(ID(media_id)), 0) == run;
}

static struct arg
null_or(bool set, int64_t n)
{
	return set ? INT(n) : (struct arg){ .kind = ARG_NULL };
}

bool
excerpts_put(struct db *db, struct uuid media_id, int64_t run, const char *engine, const struct excerpt_layer *l,
    size_t from, const struct meaning *m, size_t n)
{
	size_t i;

	if (!is_ours(db, media_id, run))
		return false;
	for (i = 0; i < n; i++) {
		const struct excerpt_text *e = &l->at[from + i];

		db_run(db, "REPLACE INTO excerpts (media_id, layer, excerpt, engine, start, end, page, text, meaning, "
		    "plane0, plane1, plane2, plane3) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(media_id),
		    INT(l->layer), INT((int64_t)(from + i)), STR(engine), null_or(e->start.set, e->start.ms),
		    null_or(e->end.set, e->end.ms), null_or(e->page > 0, e->page), STR(e->text),
		    BYTES(m[i].parts != NULL ? m[i].parts : (const int8_t *)"", m[i].n), INT((int64_t)m[i].planes[0]),
		    INT((int64_t)m[i].planes[1]), INT((int64_t)m[i].planes[2]), INT((int64_t)m[i].planes[3])));
	}
	return true;
}

bool
excerpts_end(struct db *db, struct uuid media_id, int64_t run, const char *engine, const struct excerpt_layer *l)
{
	if (!is_ours(db, media_id, run))
		return false;
	db_run(db, "DELETE FROM excerpts WHERE media_id = ? AND layer = ? AND (excerpt >= ? OR meaning = '')",
	    ARGS(ID(media_id), INT(l->layer), INT((int64_t)l->n)));
	db_run(db, "REPLACE INTO excerpt_layers (media_id, layer, digest, engine) VALUES (?, ?, ?, ?)",
	    ARGS(ID(media_id), INT(l->layer), STR(l->digest), STR(engine)));
	return true;
}

const struct excerpt_unserved *
excerpts_unserved(struct db *db, struct arena *mem, struct uuid media_id, const char *served, size_t *n)
{
	struct arena *own = db_arena(db);
	const struct excerpt_unserved *e;

	db_use(db, mem);
	e = db_rows(db, &unserved_record, "FROM excerpts t WHERE t.media_id = ? AND (t.served_by IS NULL OR "
	    "t.served_by <> ?) ORDER BY t.layer, t.excerpt LIMIT ?", ARGS(ID(media_id), STR(served), INT(EXCERPTS_SERVED)), n);
	db_use(db, own);
	return e;
}

bool
excerpts_serve(struct db *db, struct uuid media_id, int64_t run, const char *served, const struct excerpt_unserved *e,
    const struct meaning *m, size_t n)
{
	size_t i;

	if (!is_ours(db, media_id, run))
		return false;
	for (i = 0; i < n; i++)
		db_run(db, "UPDATE excerpts SET served_by = ?, served_meaning = ?, served_plane0 = ?, served_plane1 = "
		    "?, served_plane2 = ?, served_plane3 = ? WHERE media_id = ? AND layer = ? AND excerpt = ?",
		    ARGS(STR(served), BYTES(m[i].parts, m[i].n), INT((int64_t)m[i].planes[0]),
		    INT((int64_t)m[i].planes[1]), INT((int64_t)m[i].planes[2]), INT((int64_t)m[i].planes[3]), ID(media_id),
		    INT(e[i].layer), INT(e[i].excerpt)));
	/* not all of them are of the one any more that had made all */
	db_run(db, "UPDATE excerpt_layers SET served_by = NULL WHERE media_id = ? AND served_by <> ?",
	    ARGS(ID(media_id), STR(served)));
	return true;
}

bool
excerpts_served(struct db *db, struct uuid media_id, int64_t run, const char *served)
{
	if (!is_ours(db, media_id, run))
		return false;
	db_run(db, "UPDATE excerpt_layers SET served_by = ? WHERE media_id = ?", ARGS(STR(served), ID(media_id)));
	return true;
}
