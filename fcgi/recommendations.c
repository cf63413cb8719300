/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /v2/recommendations: assets that have to do with others, and why.  Each reason is a statement of its own over what
 * the caller may see, the right being part of it, and looks at a bounded number of rows; what they find is summed up.
 * Nothing is kept, so nobody's history is in what others are told.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "fcgi/access.h"
#include "fcgi/media.h"
#include "fcgi/mentions.h"
#include "fcgi/search_query.h"

/* Assets that one may begin with; channels of each, and names of all; their words that are looked for, and bytes of
 * such a word; what is told; items of a history. */
enum { SEEDS = 10, LABELS = 10, WORDS = 200, WORD_MIN = 4, TOLD = 100, HISTORY = 1000 };
static const double by_channel = 1, by_tag = 2, by_name = 3, by_meeting = 4, by_words = 6, by_history = 100;

struct seeds_query { struct strings media_ids, section_ids, channel_ids; };
static const struct field seeds_fields[] = {
	FIELD(struct seeds_query, media_ids, .on = QUERY, .max = SEEDS, .doc = "Assets like these"),
	FIELD(struct seeds_query, section_ids, .on = QUERY, .max = SEEDS, .doc = "Assets about what is said in these sections"),
	FIELD(struct seeds_query, channel_ids, .on = QUERY, .max = SEEDS, .doc = "Assets in these channels"),
};
static const struct record seeds_record = RECORD("RecommendationQuery", struct seeds_query, seeds_fields);

struct reason { const char *code, *detail; struct uuid section_id; struct position start; };
static const struct field reason_fields[] = {
	FIELD(struct reason, code, .required = true, .one_of = "same_topic same_speaker similar_text same_channel watched_next",
	    .doc = "What counted most"),
	FIELD(struct reason, detail, .required = true, .doc = "The tag, meeting, name, words or channel that both have"),
	FIELD(struct reason, section_id, .on = OMIT_NULL, .doc = "The section asked for that it is about"),
	FIELD(struct reason, start, .on = OMIT_NULL, .doc = "Where to begin, in seconds"),
};
static const struct record reason_record = RECORD("RecommendationReason", struct reason, reason_fields);

struct recommendation { struct nested media; double score; struct nested reason; };
static const struct field recommendation_fields[] = {
	FIELD(struct recommendation, media, .required = true, .of = &media_record, .doc = "The asset, as in lists"),
	FIELD(struct recommendation, score, .required = true, .doc = "How well it fits, to be compared with others of the same answer"),
	FIELD(struct recommendation, reason, .required = true, .of = &reason_record, .doc = "Why"),
};
static const struct record recommendation_record = RECORD("Recommendation", struct recommendation,
    recommendation_fields);

/* What is begun with: an asset, or a section of it. */
struct seed { struct uuid id, section_id; struct ids channel_ids; struct position from, to; const char *text; };
static const struct field seed_fields[] = {
	FIELD(struct seed, id, .sql = "t.id", .doc = "The asset"),
	FIELD(struct seed, section_id, .sql = "x.id", .doc = "Section, or none"),
	FIELD(struct seed, channel_ids, .doc = "Channels of the asset"),
	FIELD(struct seed, from, .sql = "x.position", .doc = "Where the section begins"),
	FIELD(struct seed, to, .sql = "x.end", .doc = "Where it ends; of a point nowhere"),
	FIELD(struct seed, text, .sql = "x.text", .doc = "What it is called"),
};
static const struct record seed_record = RECORD("RecommendationSeed", struct seed, seed_fields);

/* An asset that one reason leads to. */
struct lead { struct uuid id; const char *detail; struct position at; };
static const struct field lead_fields[] = {
	FIELD(struct lead, id, .sql = "t.id", .doc = "An asset"),
	FIELD(struct lead, detail, .sql = "x.detail", .doc = "By what"),
	FIELD(struct lead, at, .sql = "x.at", .doc = "Where in it"),
};
static const struct record lead_record = RECORD("RecommendationLead", struct lead, lead_fields);

struct label { struct uuid id; const char *name; };
static const struct field label_fields[] = {
	FIELD(struct label, id, .doc = "Tag or speaker"), FIELD(struct label, name, .doc = "What it is called"),
};
static const struct record label_record = RECORD("RecommendationLabel", struct label, label_fields);

struct term { const char *word; double times; };
static const struct field term_fields[] = {
	FIELD(struct term, word, .doc = "As it is folded"), FIELD(struct term, times, .sql = "SUM(t.times)", .doc = "How often"),
};
static const struct record term_record = RECORD("RecommendationTerm", struct term, term_fields);

struct said { const char *text; };
static const struct field said_fields[] = { FIELD(struct said, text, .doc = "A passage") };
static const struct record said_record = RECORD("RecommendationPassage", struct said, said_fields);

struct seen { struct uuid media_id; };
static const struct field seen_fields[] = { FIELD(struct seen, media_id, .doc = "An asset") };
static const struct record seen_record = RECORD("RecommendationSeen", struct seen, seen_fields);

/* What one reason counts for an asset; then, summed up, all of them with the best one. */
struct found { struct uuid id; double score, best; struct reason reason; };

struct finding {
	struct req *r;
	struct seed *seeds;
	size_t n_seeds;
	struct uuid *left_out;
	size_t n_left_out;
	struct found *found;
	size_t n, room;
};

static void
count(struct finding *f, struct uuid id, double score, const struct reason *reason)
{
	struct found *more;

	if (f->n == f->room) {
		f->room = f->room * 2 + 64;
		more = arena_array(f->r->mem, f->room, sizeof(*more));
		if (f->n > 0)
			memcpy(more, f->found, f->n * sizeof(*more));
		f->found = more;
	}
	f->found[f->n++] = (struct found){ id, score, score, *reason };
}

/* The best reason of an asset first, the same each time. */
static int
by_asset(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order = memcmp(&x->id, &y->id, sizeof(x->id));

	if (order == 0)
		order = (x->best < y->best) - (x->best > y->best);
	return order != 0 ? order : strcmp(x->reason.detail, y->reason.detail);
}

static int
best_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->score != y->score ? (x->score < y->score) - (x->score > y->score) :
	    memcmp(&y->id, &x->id, sizeof(x->id));
}

/* Each asset once; what is begun with or was watched not at all, but for what somebody is to go on with. */
static void
sum_up(struct finding *f)
{
	size_t i, k = 0, kept = 0;

	if (f->n == 0)
		return;
	qsort(f->left_out, f->n_left_out, sizeof(*f->left_out), uuid_order);
	qsort(f->found, f->n, sizeof(*f->found), by_asset);
	for (i = 1; i < f->n; i++)
		if (uuid_equal(f->found[k].id, f->found[i].id))
			f->found[k].score += f->found[i].score;
		else
			f->found[++k] = f->found[i];
	for (i = 0; i <= k; i++)
		if (strcmp(f->found[i].reason.code, "watched_next") == 0 || bsearch(&f->found[i].id, f->left_out,
		    f->n_left_out, sizeof(*f->left_out), uuid_order) == NULL)
			f->found[kept++] = f->found[i];
	f->n = kept;
	qsort(f->found, f->n, sizeof(*f->found), best_first);
}

static const char *
seed_ids(const struct finding *f)
{
	struct uuid *ids = arena_array(f->r->mem, f->n_seeds + 1, sizeof(*ids));
	size_t i;

	for (i = 0; i < f->n_seeds; i++)
		ids[i] = f->seeds[i].id;
	return mentions_json(f->r->mem, ids, f->n_seeds);
}

/* The newest assets of each tag of those that are begun with. */
static void
by_tags(struct finding *f)
{
	static const char *const from[] = ACCESS_ROWS("FROM (SELECT o.media_id, ? AS detail, NULL AS at FROM "
	    "media_tags o WHERE o.tag_id = ? ORDER BY o.media_id DESC LIMIT 500) x STRAIGHT_JOIN media t ON t.id = "
	    "x.media_id" ACCESS_LIVE,
	    " ORDER BY t.id DESC LIMIT 100");
	struct req *r = f->r;
	const struct label *tags;
	const struct lead *l;
	size_t n, i, k, many;

	tags = db_rows(r->db, &label_record, "FROM tags t WHERE t.tenant_id = ? AND t.gone_at = 0 AND t.id IN (SELECT "
	    "mt.tag_id FROM " MENTIONED_IDS " JOIN media_tags mt ON mt.media_id = UNHEX(j.id)) ORDER BY t.name, t.id "
	    "LIMIT 10",
	    ARGS(ID(r->who->tenant_id), STR(seed_ids(f))), &n);
	for (i = 0; i < n; i++) {
		l = access_rows(r, &lead_record, from, ARGS(STR(tags[i].name), ID(tags[i].id)), &many);
		for (k = 0; k < many; k++)
			count(f, l[k].id, by_tag, &(struct reason){ .code = "same_topic", .detail = tags[i].name });
	}
}

/* The newest in which somebody is heard by the same name, from where they are heard first. */
static void
by_speakers(struct finding *f)
{
	static const char *const from[] = ACCESS_ROWS("FROM (SELECT s.media_id, ? AS detail, ROUND(1000 * "
	    "JSON_VALUE(h.turns, '$[0].start')) AS at FROM speakers s JOIN media_speakers h ON h.media_id = s.media_id "
	    "AND h.speaker_id = s.id WHERE s.tenant_id = ? AND s.label = ? AND " SEARCH_CALLED_SQL " ORDER BY s.id DESC "
	    "LIMIT 500) x STRAIGHT_JOIN media t ON t.id = x.media_id" ACCESS_LIVE, " ORDER BY t.id DESC LIMIT 100");
	struct req *r = f->r;
	struct reason reason = { .code = "same_speaker" };
	const struct label *names;
	const struct lead *l;
	size_t n, i, k, many;

	if ((search_layers_of(r, &(struct search_limits){ 0 }) & 1U << SEARCH_SPEAKER) == 0)
		return;
	names = db_rows(r->db, &label_record, "FROM (SELECT MIN(s.id) AS id, s.label AS name, SUM(h.duration) AS "
	    "duration FROM " MENTIONED_IDS " JOIN media_speakers h ON h.media_id = UNHEX(j.id) JOIN speakers s ON s.id = "
	    "h.speaker_id WHERE s.label IS NOT NULL AND " SEARCH_CALLED_SQL " GROUP BY s.label) t ORDER BY t.duration "
	    "DESC, t.id LIMIT ?", ARGS(STR(seed_ids(f)), INT(LABELS)), &n);
	for (i = 0; i < n; i++) {
		reason.detail = names[i].name;
		l = access_rows(r, &lead_record, from, ARGS(STR(reason.detail), ID(r->who->tenant_id),
		    STR(reason.detail)), &many);
		for (k = 0; k < many; k++) {
			reason.start = l[k].at;
			count(f, l[k].id, by_name, &reason);
		}
	}
}

/* What is in a story or on the agenda of a meeting together. */
static void
by_meetings(struct finding *f)
{
	static const char *const from[] = ACCESS_ROWS("FROM (SELECT DISTINCT o.media_id, COALESCE(g.name, s.name) AS "
	    "detail, NULL AS at FROM " MENTIONED_IDS " JOIN mentions x ON x.media_id = UNHEX(j.id) JOIN mentions o "
	    "ON o.object_id = x.object_id LEFT JOIN meetings g ON g.id = x.object_id LEFT JOIN stories s ON s.id = "
	    "x.object_id LIMIT 500) x STRAIGHT_JOIN media t ON t.id = x.media_id" ACCESS_LIVE, " ORDER BY t.id DESC LIMIT "
	    "100");
	const struct lead *l;
	size_t n, i;

	l = access_rows(f->r, &lead_record, from, ARGS(STR(seed_ids(f))), &n);
	for (i = 0; i < n; i++)
		if (l[i].detail != NULL)
			count(f, l[i].id, by_meeting, &(struct reason){ .code = "same_topic", .detail = l[i].detail });
}

/* The newest of the channels. */
static void
by_channels(struct finding *f, const struct ids *channel_ids)
{
	static const char *const from[] = ACCESS_ROWS("FROM (SELECT o.media_id, ? AS detail, NULL AS at FROM "
	    "media_channels o WHERE o.channel_id = ? AND o.is_deleted = 0 ORDER BY o.media_id DESC LIMIT 100) x "
	    "STRAIGHT_JOIN media t ON t.id = x.media_id" ACCESS_LIVE, " ORDER BY t.id DESC");
	const struct list seen = access_visible(f->r, channel_ids);
	const struct channel_view *c = seen.rows;
	const struct lead *l;
	size_t i, k, n;

	for (i = 0; i < seen.n && i < LABELS; i++) {
		l = access_rows(f->r, &lead_record, from, ARGS(STR(c[i].name), ID(c[i].id)), &n);
		for (k = 0; k < n; k++)
			count(f, l[k].id, by_channel, &(struct reason){ .code = "same_channel", .detail = c[i].name });
	}
}

static int
often_first(const void *a, const void *b)
{
	const struct term *x = a, *y = b;

	return x->times != y->times ? (x->times < y->times) - (x->times > y->times) : strcmp(x->word, y->word);
}

static int
by_word(const void *a, const void *b)
{
	return strcmp(((const struct term *)a)->word, ((const struct term *)b)->word);
}

/* Words of a section: of what it is called and of what is said while it lasts. */
static struct term *
words_of_section(struct req *r, const struct seed *s, unsigned layers, size_t *n)
{
	const struct said *p;
	struct buf b = BUF(r->mem);
	const struct folded *w;
	struct term *out;
	size_t i, many;

	p = db_rows(r->db, &said_record, "FROM search_passages t WHERE t.media_id = ? AND ((1 << t.layer) & ?) <> 0 "
	    "AND t.start < ? AND t.end > ? LIMIT 500", ARGS(ID(s->id), INT(layers), INT(s->to.set ? s->to.ms :
	    s->from.ms + 1),
	    INT(s->from.ms)), &many);
	buf_text(&b, s->text != NULL ? s->text : "");
	for (i = 0; i < many && b.len < 100000; i++)
		buf_printf(&b, " %s", p[i].text);
	w = fold_words(r->mem, buf_string(&b), n);
	out = arena_array(r->mem, *n + 1, sizeof(*out));
	for (i = 0; i < *n; i++)
		out[i] = (struct term){ w[i].word, 1 };
	qsort(out, *n, sizeof(*out), by_word);
	for (i = many = 0; i < *n; i++)
		if (many > 0 && strcmp(out[many - 1].word, out[i].word) == 0)
			out[many - 1].times++;
		else
			out[many++] = out[i];
	*n = many;
	return out;
}

static struct term *
words_of(struct req *r, const struct seed *s, size_t *n)
{
	const unsigned layers = search_layers_of(r, &(struct search_limits){ 0 });

	if (!uuid_is_none(s->section_id))
		return words_of_section(r, s, layers, n);
	return db_rows(r->db, &term_record, "FROM search_words t WHERE t.media_id = ? AND ((1 << t.layer) & ?) <> 0 "
	    "AND LENGTH(t.word) >= ? GROUP BY t.word ORDER BY SUM(t.times) DESC, t.word LIMIT ?", ARGS(ID(s->id),
	    INT(layers),
	    INT(WORD_MIN), INT(WORDS)), n);
}

static const char *
terms_json(struct arena *mem, struct term *t, size_t n)
{
	struct strings words = { arena_array(mem, WORDS, sizeof(*words.at)), 0 };
	size_t i;

	qsort(t, n, sizeof(*t), often_first);
	for (i = 0; i < n && words.n < WORDS; i++)
		if (strlen(t[i].word) >= WORD_MIN)
			words.at[words.n++] = t[i].word;
	return search_words_json(mem, &words);
}

/* Rows of one word, each asset once: the fewer of all assets have it, the more it says. */
static void
count_word(struct finding *f, const struct seed *s, const struct lead *l, size_t n, double all)
{
	struct reason reason = { .code = "similar_text", .detail = l->detail, .section_id = s->section_id };
	double score = log((all + 1) / (double)n);
	size_t i;

	for (i = 0; i < n && score > 0; i++) {
		reason.start = l[i].at;
		count(f, l[i].id, score < by_words ? score : by_words, &reason);
	}
}

/*
 * Words that few have.  Which words are rare is asked of the index, at most some rows of each; who has them of what the
 * caller sees, and of that alone it is counted how rare they are.
 */
static void
by_rare_words(struct finding *f, const struct seed *s)
{
	static const char *const from[] = ACCESS_ROWS("FROM (SELECT w.media_id, w.word AS detail, MIN(p.start) AS at "
	    "FROM " SEARCH_WORDS
	    " STRAIGHT_JOIN search_words w ON w.tenant_id = ? AND w.word = CAST(j.word AS BINARY) AND ((1 << "
	    "w.layer) & ?) <> 0 AND " SEARCH_HOLDS_SQL("w") " LEFT JOIN search_passages p ON p.media_id = w.media_id AND p.layer = w.layer AND "
	    "p.passage = w.passage WHERE (SELECT 1 FROM search_words o WHERE o.tenant_id = ? AND o.word = "
	    "CAST(j.word AS BINARY) LIMIT 1 OFFSET 50) IS NULL GROUP BY w.word, w.media_id) x STRAIGHT_JOIN media t "
	    "ON t.id = x.media_id" ACCESS_LIVE, " ORDER BY x.detail, t.id DESC LIMIT 5000");
	struct req *r = f->r;
	double all = (double)db_number(r->db, "SELECT media_count FROM tenant_usage WHERE tenant_id = ?",
	    ARGS(ID(r->who->tenant_id)), 0);
	const struct lead *l;
	struct term *words;
	size_t n, i, k;

	words = words_of(r, s, &n);
	if (n == 0)
		return;
	l = access_rows(r, &lead_record, from, ARGS(STR(terms_json(r->mem, words, n)), ID(r->who->tenant_id),
	    INT(search_layers_of(r, &(struct search_limits){ 0 })), ID(r->who->tenant_id)), &n);
	for (i = 0; i < n; i = k) {
		for (k = i + 1; k < n && strcmp(l[k].detail, l[i].detail) == 0; k++)
			;
		/* One is where it comes from; what most have says nothing. */
		if (k - i > 1 && (double)(k - i) * 2 <= all + 1)
			count_word(f, s, l + i, k - i, all);
	}
}

/* The page of what was found, each asset as in the list of all. */
static int
answer(struct finding *f)
{
	static const char *const from[] = ACCESS_ROWS("FROM " SEARCH_IDS " STRAIGHT_JOIN media t ON t.id = UNHEX(i.id) "
	    "STRAIGHT_JOIN tenants n ON n.id = t.tenant_id STRAIGHT_JOIN tenant_usage u ON u.tenant_id = "
	    "t.tenant_id" ACCESS_LIVE, "");
	struct req *r = f->r;
	struct recommendation *out;
	struct search_hit *hits;
	struct media *m;
	size_t at, here, i, k, n, told = 0;

	sum_up(f);
	at = page_cut(r, f->n < TOLD ? f->n : TOLD, &here);
	hits = arena_array(r->mem, here + 1, sizeof(*hits));
	out = arena_array(r->mem, here + 1, sizeof(*out));
	for (i = 0; i < here; i++)
		hits[i].id = f->found[at + i].id;
	m = access_rows(r, &media_record, from, ARGS(STR(search_ids_json(r->mem, hits, here))), &n);
	for (k = 0; k < n; k++)
		asset_view(r, &m[k], true);
	for (i = 0; i < here; i++)
		for (k = 0; k < n; k++)
			if (uuid_equal(m[k].id, hits[i].id))
				out[told++] = (struct recommendation){ { &m[k] }, f->found[at + i].score,
				    { &f->found[at + i].reason } };
	return reply_list(r, &recommendation_record, out, told);
}

/* Each once.  What is none is a fault. */
static struct ids
ids_of(struct req *r, const char *parameter, const struct strings *given)
{
	struct ids ids = { arena_array(r->mem, given->n + 1, sizeof(*ids.at)), 0 };
	size_t i;

	for (i = 0; i < given->n; i++)
		if (!uuid_parse(given->at[i], &ids.at[ids.n]))
			fault(r, parameter, "format", "'%s' is no id", given->at[i]);
		else if (!ids_have(&ids, ids.at[ids.n]))
			ids.n++;
	return ids;
}

/* They are not told themselves. */
static void
add_seeds(struct finding *f, const char *parameter, const char *const from[3], const struct strings *given)
{
	struct req *r = f->r;
	const struct ids ids = ids_of(r, parameter, given);
	const struct seed *s;
	size_t n, i;

	if (ids.n == 0)
		return;
	s = access_rows(r, &seed_record, from, ARGS(STR(mentions_json(r->mem, ids.at, ids.n))), &n);
	for (i = 0; i < n; i++) {
		f->seeds[f->n_seeds++] = s[i];
		f->left_out[f->n_left_out++] = s[i].id;
	}
	if (n < ids.n)
		fault(r, parameter, "not_allowed", "names something that is not there, or that you may not see");
}

static void
follow_seeds(struct finding *f)
{
	size_t i;

	if (f->n_seeds == 0)
		return;
	by_tags(f);
	by_speakers(f);
	by_meetings(f);
	for (i = 0; i < f->n_seeds; i++) {
		by_rare_words(f, &f->seeds[i]);
		by_channels(f, &f->seeds[i].channel_ids);
	}
}

static struct finding
begin(struct req *r)
{
	return (struct finding){ .r = r, .seeds = arena_array(r->mem, 2 * SEEDS + 1, sizeof(struct seed)),
	    .left_out = arena_array(r->mem, HISTORY + 2 * SEEDS + 1, sizeof(struct uuid)) };
}

#define NO_SECTION "NULL AS position, NULL AS end, NULL AS text"

static int
recommend(struct req *r)
{
	static const char *const of_media[] = ACCESS_ROWS("FROM (SELECT DISTINCT UNHEX(j.id) AS media_id, NULL AS id, "
	    "" NO_SECTION
	    " FROM " MENTIONED_IDS ") x STRAIGHT_JOIN media t ON t.id = x.media_id" ACCESS_LIVE, "");
	static const char *const of_sections[] = ACCESS_ROWS("FROM (SELECT DISTINCT s.media_id, s.id, s.position, "
	    "s.end, CONCAT_WS(' ', s.title, s.description) AS text FROM " MENTIONED_IDS " JOIN sections s ON s.id = "
	    "UNHEX(j.id)) x STRAIGHT_JOIN media t ON t.id = x.media_id" ACCESS_LIVE, "");
	const struct seeds_query *in = r->in;
	struct finding f = begin(r);
	const struct ids channels = ids_of(r, "channelIds", &in->channel_ids);

	add_seeds(&f, "mediaIds", of_media, &in->media_ids);
	add_seeds(&f, "sectionIds", of_sections, &in->section_ids);
	if (access_visible(r, &channels).n < channels.n)
		fault(r, "channelIds", "not_allowed", "names no channel that you may see");
	if (in->media_ids.n + in->section_ids.n + in->channel_ids.n == 0)
		fault(r, "mediaIds", "required", "say what the assets are to have to do with");
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	follow_seeds(&f);
	by_channels(&f, &channels);
	return answer(&f);
}

/* What the caller has begun comes first, then what is like what it has watched last. */
static int
recommend_to_me(struct req *r)
{
	static const char *const liked[] = ACCESS_ROWS("FROM (SELECT h.media_id, NULL AS id, h.position, h.watched_at, "
	    "NULL AS end, NULL AS text FROM watched h WHERE h.principal_id = ? ORDER BY h.watched_at DESC, "
	    "h.media_id LIMIT 50) x STRAIGHT_JOIN media t ON t.id = x.media_id" ACCESS_LIVE, " ORDER BY x.watched_at DESC, "
	    "t.id LIMIT 10");
	static const char *const begun[] = ACCESS_ROWS("FROM (SELECT h.media_id, h.position AS at, h.watched_at, "
	    "'Go on where you have stopped' AS detail FROM watched h WHERE h.principal_id = ? AND h.position > 0 ORDER BY "
	    "h.watched_at DESC, h.media_id LIMIT 50) x STRAIGHT_JOIN media t ON t.id = x.media_id AND x.at * 100 < "
	    "t.duration * 95" ACCESS_LIVE,
	    " ORDER BY x.watched_at DESC, t.id LIMIT 10");
	struct finding f = begin(r);
	const struct seed *s;
	const struct seen *seen;
	const struct lead *l;
	size_t n, i;

	l = access_rows(r, &lead_record, begun, ARGS(ID(r->who->id)), &n);
	for (i = 0; i < n; i++)
		count(&f, l[i].id, by_history - (double)i, &(struct reason){ .code = "watched_next", .detail =
		    l[i].detail,
		    .start = l[i].at });
	s = access_rows(r, &seed_record, liked, ARGS(ID(r->who->id)), &f.n_seeds);
	for (i = 0; i < f.n_seeds; i++) {
		f.seeds[i] = s[i];
		f.seeds[i].section_id = (struct uuid){ { 0 } };
	}
	seen = db_rows(r->db, &seen_record, "FROM watched t WHERE t.principal_id = ? LIMIT 1000",
	    ARGS(ID(r->who->id)), &n);
	for (i = 0; i < n; i++)
		f.left_out[f.n_left_out++] = seen[i].media_id;
	follow_seeds(&f);
	return answer(&f);
}

const struct route recommendations_routes[] = {
	{
		GET, "/v2/recommendations", SCOPE_VIEW_CHANNEL, recommend, &seeds_record, &recommendation_record,
		"List assets that have to do with assets, sections or channels, the best first, and why",
		.flags = LIST, .fails = "422", .id = "listRecommendations",
	},
	{
		GET, "/v2/recommendations/user/current", SCOPE_VIEW_CHANNEL, recommend_to_me, NULL,
		    &recommendation_record,
		"List what the caller may want to watch: what it has begun, and what is like the last that it has "
		    "watched",
		.flags = LIST, .fails = "422", .id = "listOwnRecommendations",
	},
	{ 0 }
};
