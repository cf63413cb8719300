/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search: assets by what they are called and what is said and shown in them, and channels by their names */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/fold.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/media.h"
#include "fcgi/search_query.h"

/* Bytes of a highlight, more or less, and before its first mark; highlights of an asset, and passages of a page. */
enum { SHOWN = 240, BEFORE = 60, HIGHLIGHTS = 5, MARKS = 20 };

static const struct field limits_fields[] = { SEARCH_LIMITS(QUERY) };
static const struct record limits_record = RECORD("SearchQuery", struct search_limits, limits_fields);
#define LAYER_BLANK(id, number, name, derived, weight, word, sql) " " name

struct mark { int64_t from, to; };
static const struct field mark_fields[] = {
	FIELD(struct mark, from, .required = true, .doc = "Characters of the text before it"),
	FIELD(struct mark, to, .required = true, .doc = "Characters of the text up to its end"),
};
static const struct record mark_record = RECORD("SearchMark", struct mark, mark_fields);

struct highlight {
	const char *field, *text;
	struct list marks;
	struct position start, end;
	struct number page;
};
static const struct field highlight_fields[] = {
	FIELD(struct highlight, field, .required = true, .doc = "Where it is said, as in `fields`"),
	FIELD(struct highlight, text, .required = true, .doc = "What is said there, cut if it is long"),
	FIELD(struct highlight, marks, .required = true, .of = &mark_record, .doc = "The words that were looked for"),
	FIELD(struct highlight, start, .on = OMIT_NULL, .doc = "When it is said or shown, in seconds"),
	FIELD(struct highlight, end, .on = OMIT_NULL, .doc = "Until when"),
	FIELD(struct highlight, page, .on = OMIT_NULL, .doc = "Of a document, from 1"),
};
static const struct record highlight_record = RECORD("SearchHighlight", struct highlight, highlight_fields);

struct result {
	const char *type;
	struct uuid id;
	const char *name;
	double score;
	struct nested thumbnail;
	struct list highlights;
};
static const struct field result_fields[] = {
	FIELD(struct result, type, .required = true, .one_of = "mediaasset channel", .doc = "What it is"),
	FIELD(struct result, id, .required = true, .doc = "Of the asset or channel"),
	FIELD(struct result, name, .required = true, .doc = "What it is called"),
	FIELD(struct result, score, .required = true, .doc = "How well it fits, to be compared with others of the same search"),
	FIELD(struct result, thumbnail, .on = OMIT_NULL, .of = &thumbnail_record, .doc = "Poster of an asset"),
	FIELD(struct result, highlights, .required = true, .of = &highlight_record, .doc = "Where the words are, up to five places"),
};
static const struct record result_record = RECORD("SearchResult", struct result, result_fields);

struct shown { struct uuid id; const char *name; struct json thumbnail; };
static const struct field shown_fields[] = {
	FIELD(struct shown, id, .doc = "An asset"), FIELD(struct shown, name, .doc = "What it is called"),
	FIELD(struct shown, thumbnail, .doc = "Poster"),
};
static const struct record shown_record = RECORD("Shown", struct shown, shown_fields);

struct passage {
	struct uuid media_id;
	int64_t layer;
	struct position start, end;
	struct number page;
	const char *text;
};
static const struct field passage_fields[] = {
	FIELD(struct passage, media_id, .doc = "An asset"), FIELD(struct passage, layer, .doc = "Where it is said"),
	FIELD(struct passage, start, .doc = "When"), FIELD(struct passage, end, .doc = "Until when"),
	FIELD(struct passage, page, .doc = "Of a document"), FIELD(struct passage, text, .doc = "What is said"),
};
static const struct record passage_record = RECORD("ShownPassage", struct passage, passage_fields);

static const struct layer { int number; const char *name; bool is_derived; } layers[] = {
#define LAYER(id, number, name, derived, weight, word, sql) { number, name, derived },
	SEARCH_LAYERS(LAYER)
#undef LAYER
};
enum { LAYERS = sizeof(layers) / sizeof(layers[0]) };

const char *
search_layer_name(int64_t number)
{
	for (size_t i = 0; i < LAYERS; i++)
		if (layers[i].number == number)
			return layers[i].name;
	return NULL;
}

unsigned
search_layers_of(struct req *r, const struct search_limits *in)
{
	unsigned bits = 0;
	size_t i, k;

	for (i = 0; i < LAYERS; i++)
		for (k = 0; k < (in->fields.n > 0 ? in->fields.n : 1); k++)
			if ((in->fields.n == 0 || strcmp(in->fields.at[k], layers[i].name) == 0) &&
			    (!layers[i].is_derived || r->who->scopes & SCOPE_BIT(SCOPE_VIEW_METADATA)))
				bits |= 1U << layers[i].number;
	return bits;
}

static void
check_words(struct req *r, const char *pointer, const struct strings *words, const char *known)
{
	size_t i;

	for (i = 0; i < words->n; i++)
		if (!word_in(known, words->at[i], strlen(words->at[i])))
			fault(r, pointer, "not_allowed", "one of: %s", known);
}

void
search_check(struct req *r, const char *at, const struct search_limits *in)
{
	check_words(r, arena_printf(r->mem, "%sfields", at), &in->fields, &(SEARCH_LAYERS(LAYER_BLANK))[1]);
	check_words(r, arena_printf(r->mem, "%sassetTypes", at), &in->asset_types, SEARCH_ASSET_TYPES);
	if (in->speakers.n > 0 && (r->who->scopes & SCOPE_BIT(SCOPE_VIEW_METADATA)) == 0)
		fault(r, arena_printf(r->mem, "%sspeakers", at), "not_allowed", "needs the scope ViewMetadata");
	if (!uuid_is_none(in->channel_id) && access_visible(r, &(struct ids){ (struct uuid[]){ in->channel_id },
	    1 }).n == 0)
		fault(r, arena_printf(r->mem, "%schannelId", at), "not_allowed", "names no channel that you may see");
	if (media_filters_hidden(r))
		fault(r, "filter", "not_allowed", "channelId names no channel that you may see");
}

static bool
is_about(const struct search_query *q, const struct folded *f)
{
	const struct search_term *t;

	for (t = q->terms; t < q->terms + q->n; t++)
		if (!t->is_excluded && (search_is(t, f->word) > 0 || (f->other != NULL && search_is(t, f->other) > 0)))
			return true;
	return false;
}

/* The words of a text that were looked for, and so much of it as is around the first.  False: it has none. */
static bool
highlight(struct req *r, const struct search_query *q, const char *text, struct highlight *h)
{
	struct mark *marks = arena_array(r->mem, MARKS, sizeof(*marks));
	size_t n, i, from = 0, to = 0, size = strlen(text), k = 0;
	const struct folded *f = fold_words(r->mem, text, &n);

	for (i = 0; i < n && k < MARKS; i++) {
		if ((k > 0 && f[i].to > to) || !is_about(q, &f[i]))
			continue;
		if (k == 0) {
			from = size > SHOWN && f[i].from > BEFORE ? utf8_prefix(text, f[i].from - BEFORE) : 0;
			to = size - f[i].to <= SHOWN - BEFORE ? size : utf8_prefix(text, f[i].to + SHOWN - BEFORE);
		}
		marks[k].from = (int64_t)utf8_length(arena_copy_n(r->mem, text + from, f[i].from - from));
		marks[k].to = marks[k].from + (int64_t)utf8_length(arena_copy_n(r->mem, text + f[i].from,
		    f[i].to - f[i].from));
		k++;
	}
	h->text = arena_copy_n(r->mem, text + from, to - from);
	h->marks = (struct list){ marks, k };
	return k > 0;
}

/* All that was looked for. */
static const char *
forms_json(struct req *r, const struct search_query *q)
{
	struct strings all = { 0 };
	size_t i, k, n = 0;

	for (i = 0; i < q->n; i++)
		n += q->terms[i].forms.n;
	all.at = arena_array(r->mem, n + 1, sizeof(*all.at));
	for (i = 0; i < q->n; i++)
		for (k = 0; !q->terms[i].is_excluded && k < q->terms[i].forms.n; k++)
			all.at[all.n++] = q->terms[i].forms.at[k];
	return search_words_json(r->mem, &all);
}

static void
show_passage(struct req *r, const struct search_query *q, const struct passage *p, struct result *result)
{
	struct highlight h = { .start = p->start, .end = p->end, .page = p->page }, *all = result->highlights.rows;

	h.field = search_layer_name(p->layer);
	if (h.field != NULL && result->highlights.n < HIGHLIGHTS && highlight(r, q, p->text, &h))
		all[result->highlights.n++] = h;
}

static const char *
assets_json(struct req *r, const struct result *all, size_t n)
{
	struct search_hit *hits = arena_array(r->mem, n + 1, sizeof(*hits));
	size_t i;

	for (i = 0; i < n; i++)
		hits[i].id = all[i].id;
	return search_ids_json(r->mem, hits, n);
}

/* Names, posters and places of the assets of a page. */
static void
show(struct req *r, const struct search_query *q, unsigned bits, struct result *all, size_t n)
{
	const char *ids = assets_json(r, all, n);
	const struct shown *s;
	const struct passage *p;
	size_t k, i, rows;

	s = db_rows(r->db, &shown_record, "FROM " SEARCH_IDS " STRAIGHT_JOIN media t ON t.id = UNHEX(i.id) AND "
	    "t.tenant_id = ?", ARGS(STR(ids), ID(r->who->tenant_id)), &rows);
	for (k = 0; k < rows; k++)
		for (i = 0; i < n; i++)
			if (uuid_equal(all[i].id, s[k].id)) {
				all[i].name = s[k].name;
				all[i].thumbnail.row = asset_thumbnail(r, s[k].id, s[k].thumbnail);
			}
	p = db_rows(r->db, &passage_record, "FROM (SELECT DISTINCT w.media_id, w.layer, w.passage FROM " SEARCH_IDS
	    " STRAIGHT_JOIN " SEARCH_WORDS " STRAIGHT_JOIN search_words w ON "
	    "w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) AND w.media_id = UNHEX(i.id) AND ((1 << w.layer) & ?) <> 0 "
	    "AND " SEARCH_HOLDS_SQL("w") " LIMIT 500) h STRAIGHT_JOIN search_passages t ON t.media_id = h.media_id AND t.layer = h.layer AND t.passage = "
	    "h.passage ORDER BY t.media_id, t.layer, t.passage", ARGS(STR(ids), STR(forms_json(r, q)),
	    ID(r->who->tenant_id), INT(bits)), &rows);
	for (k = 0; k < rows; k++)
		for (i = 0; i < n; i++)
			if (uuid_equal(all[i].id, p[k].media_id))
				show_passage(r, q, &p[k], &all[i]);
}

static bool
begins_with(const struct search_term *t, const char *word)
{
	return t->is_prefix && strncmp(word, t->forms.at[0], strlen(t->forms.at[0])) == 0;
}

/* Does the name of the channel have all the words, and none that must not be there? */
static bool
is_called(struct req *r, const struct search_query *q, const char *name)
{
	size_t n, i;
	const struct folded *f = fold_words(r->mem, name, &n);
	const struct search_term *t;

	for (t = q->terms; t < q->terms + q->n; t++) {
		for (i = 0; i < n; i++)
			if (search_is(t, f[i].word) > 0 || (f[i].other != NULL && search_is(t, f[i].other) > 0) ||
			    begins_with(t, f[i].word))
				break;
		if ((i < n) == t->is_excluded)
			return false;
	}
	return q->wanted > 0;
}

static bool
wants_channels(const struct req *r)
{
	const struct search_limits *in = r->in;
	size_t i;
	bool by_name = in->fields.n == 0;

	for (i = 0; i < in->fields.n; i++)
		by_name = by_name || strcmp(in->fields.at[i], "name") == 0;
	return by_name && r->page.filter == NULL && (in->type == NULL || strcmp(in->type, "mediaasset") != 0) &&
	    in->asset_types.n == 0 && in->tags.n == 0 && in->speakers.n == 0 && uuid_is_none(in->channel_id) &&
	    !in->duration_from.set && !in->duration_to.set && !in->file_size_from.set && !in->file_size_to.set &&
	    in->created_from.ms == 0 && in->created_to.ms == 0;
}

/* Of those that the caller sees; they come first. */
static size_t
channels(struct req *r, const struct search_query *q, struct result *out)
{
	const struct audience *a = r->audience;
	const struct channel_view *c;
	size_t n = 0;

	for (c = a->at; c < a->at + a->n; c++)
		if (is_called(r, q, c->name))
			out[n++] = (struct result){ .type = "channel", .id = c->id, .name = c->name, .score = 10 };
	return n;
}

/* Behind the cursor, as long as what it names is found; else by the number of the page. */
static size_t
page_begin(struct req *r, const struct result *all, size_t n)
{
	struct page *p = &r->page;
	struct uuid after;
	size_t i;

	if (p->after != NULL && !uuid_parse(p->after, &after)) {
		p->fault = "after";
		p->fault_detail = "is not a cursor of this list";
		return n;
	}
	for (i = 0; p->after != NULL && i < n; i++)
		if (uuid_equal(all[i].id, after))
			return i + 1;
	i = (size_t)(p->page * p->perpage);
	return i < n ? i : n;
}

static int
search(struct req *r)
{
	const struct search_limits *in = r->in;
	unsigned bits = search_layers_of(r, in);
	struct search_query q = { 0 };
	struct search_hit *h = NULL;
	struct result *all;
	size_t n = 0, k = 0, i, from, here;
	bool exact = true;

	search_check(r, "", in);
	if (r->page.sort != NULL)
		fault(r, "sort", "not_allowed", "the best come first");
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (in->text != NULL)
		search_parse(r->mem, in->text, &q);
	if (in->type == NULL || strcmp(in->type, "channel") != 0)
		h = search_match(r, &q, in, bits, &n, &exact);
	all = arena_array(r->mem, n + r->audience->n + 1, sizeof(*all));
	if (wants_channels(r))
		k = channels(r, &q, all);
	for (i = 0; i < n; i++)
		all[k + i] = (struct result){ .type = "mediaasset", .id = h[i].id, .name = "", .score = h[i].score };
	n += k;
	from = page_begin(r, all, n);
	here = n - from < (size_t)r->page.perpage ? n - from : (size_t)r->page.perpage;
	for (i = from; i < from + here; i++)
		all[i].highlights.rows = arena_array(r->mem, HIGHLIGHTS, sizeof(struct highlight));
	show(r, &q, bits, all + from, here);
	r->page.total = (int64_t)n;
	r->page.total_exact = exact;
	r->page.next = from + here < n ? uuid_text(r->mem, all[from + here - 1].id) : NULL;
	return reply_list(r, &result_record, all + from, here);
}

const struct route search_routes[] = {
	{
		GET, "/v2/search", SCOPE_VIEW_CHANNEL, search, &limits_record, &result_record,
		"Search assets and channels, the best first",
		.flags = LIST, .fails = "422", .id = "search", .filtered = &media_record,
	},
	{ 0 }
};
