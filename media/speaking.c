/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From turns to paragraphs. */
#include <stdlib.h>
#include <string.h>

#include "media/quality.h"
#include "media/speaking.h"

/* ms that a word may be away from a turn; words that are too few to be a turn of their own. */
enum { NEAR = 2000, FEW = 1 };

/* How far a moment is from the next turn of somebody, ms. */
static int64_t
distance(const struct list *turns, int64_t at)
{
	const struct turn *t = turns->rows;
	size_t low = 0, high = turns->n;
	int64_t before, after;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (t[middle].end.ms < at)
			low = middle + 1;
		else
			high = middle;
	}
	after = low < turns->n ? (t[low].start.ms <= at ? 0 : t[low].start.ms - at) : INT64_MAX;
	before = low > 0 ? at - t[low - 1].end.ms : INT64_MAX;
	return before < after ? before : after;
}

/* Who speaks then; -1: nobody. */
static int
who(const struct list *speakers, int64_t at)
{
	const struct speaker *s = speakers->rows;
	int64_t least = NEAR + 1, d;
	int best = -1;

	for (size_t i = 0; i < speakers->n; i++) {
		d = distance(&s[i].turns, at);
		if (d < least) {
			least = d;
			best = (int)i;
		}
	}
	return best;
}

static int64_t
middle_of(const struct word *w)
{
	return (w->start.ms + w->end.ms) / 2;
}

/* Who speaks in the words: single ones, and those without anybody, go with what is before them, or else behind. */
static int *
by_word(struct arena *mem, const struct paragraph *p, const struct list *speakers)
{
	const struct word *w = p->words.rows;
	int *out = arena_array(mem, p->words.n, sizeof(*out)), first = -1;
	size_t i, k;

	for (i = 0; i < p->words.n; i++)
		out[i] = who(speakers, middle_of(&w[i]));
	for (i = 0; i < p->words.n; i = k) {
		for (k = i + 1; k < p->words.n && out[k] == out[i]; k++)
			;
		if (i > 0 && (out[i] < 0 || (k - i <= FEW && k < p->words.n && out[k] == out[i - 1])))
			for (size_t j = i; j < k; j++)
				out[j] = out[i - 1];
	}
	for (i = 0; i < p->words.n && first < 0; i++)
		first = out[i];
	for (i = 0; i < p->words.n && out[i] < 0; i++)
		out[i] = first;
	return out;
}

/* Who speaks longest; -1: nobody. */
static int
longest(struct arena *mem, const struct paragraph *p, const int *by, const struct list *speakers)
{
	const struct word *w = p->words.rows;
	int64_t *sum = arena_array(mem, speakers->n, sizeof(*sum));
	int best = -1;

	if (p->words.n == 0)
		return who(speakers, (p->start.ms + p->end.ms) / 2);
	for (size_t i = 0; i < p->words.n; i++)
		if (by[i] >= 0)
			sum[by[i]] += w[i].end.ms - w[i].start.ms + 1;
	for (size_t i = 0; i < speakers->n; i++)
		if (sum[i] > 0 && (best < 0 || sum[i] > sum[best]))
			best = (int)i;
	return best;
}

static const char *
text_of(struct arena *mem, const struct word *w, size_t n)
{
	struct buf b = BUF(mem);

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && !transcript_is_wide(w[i].text))
			buf_char(&b, ' ');
		buf_text(&b, w[i].text);
	}
	return buf_string(&b);
}

static struct paragraph
part(struct arena *mem, const struct paragraph *p, size_t from, size_t to)
{
	struct word *w = p->words.rows;
	struct paragraph out = *p;

	if (from == 0 && to == p->words.n)
		return out;
	if (from > 0) {
		out.id = uuid_new();
		out.start = w[from].start;
	}
	if (to < p->words.n)
		out.end = w[to - 1].end;
	out.words = (struct list){ w + from, to - from };
	out.text = text_of(mem, w + from, to - from);
	return out;
}

struct list
speaking_assign(struct arena *mem, const struct list *paragraphs, const struct list *speakers, bool divide)
{
	const struct paragraph *p = paragraphs->rows;
	const struct speaker *s = speakers->rows;
	struct list out = { NULL, 0 };
	size_t i, from, to, room = 0;
	struct paragraph *into;

	for (i = 0; i < paragraphs->n; i++)
		room += p[i].words.n + 1;
	out.rows = into = arena_array(mem, room, sizeof(*into));
	for (i = 0; i < paragraphs->n; i++) {
		const int *by = by_word(mem, &p[i], speakers);

		if (p[i].speaker_source != NULL) {
			into[out.n++] = p[i];
			continue;
		}
		if (p[i].speaker != NULL || !divide || p[i].words.n == 0) {
			const int one = p[i].speaker == NULL ? longest(mem, &p[i], by, speakers) : -1;

			into[out.n] = p[i];
			into[out.n++].speaker_id = one >= 0 ? s[one].speaker_id : (struct uuid){ { 0 } };
			continue;
		}
		for (from = 0; from < p[i].words.n; from = to) {
			for (to = from + 1; to < p[i].words.n && by[to] == by[from]; to++)
				;
			into[out.n] = part(mem, &p[i], from, to);
			into[out.n++].speaker_id = by[from] >= 0 ? s[by[from]].speaker_id : (struct uuid){ { 0 } };
		}
	}
	return out;
}

void
speaking_name(struct list *paragraphs, const struct list *speakers)
{
	struct paragraph *p = paragraphs->rows;

	for (size_t i = 0; i < paragraphs->n; i++) {
		const struct speaker *s = speakers_find(speakers, p[i].speaker_id);

		if (s != NULL)
			p[i].speaker = s->name;
		p[i].speaker_id = s != NULL ? s->shown_id : (struct uuid){ { 0 } };
	}
}

struct list
speaking_shown(struct arena *mem, const struct list *speakers)
{
	const struct speaker *s = speakers->rows;
	struct list out = { arena_array(mem, speakers->n, sizeof(*s)), 0 };
	struct speaker *whole;

	for (size_t i = 0; i < speakers->n; i++) {
		if (!uuid_equal(s[i].shown_id, s[i].speaker_id))
			continue;
		whole = (struct speaker *)out.rows + out.n++;
		*whole = s[i];
		for (size_t k = 0; k < speakers->n; k++)
			if (uuid_equal(s[k].merged_into, s[i].speaker_id))
				whole->turns = speaking_union(mem, &whole->turns, &s[k].turns);
		whole->duration = (struct position){ speaking_overlap(&whole->turns, &whole->turns), true };
	}
	return out;
}

struct list
speaking_join(struct arena *mem, const struct list *turns, int64_t gap)
{
	const struct turn *t = turns->rows;
	struct turn *out = arena_array(mem, turns->n, sizeof(*out));
	size_t n = 0;

	for (size_t i = 0; i < turns->n; i++)
		if (n > 0 && t[i].start.ms <= out[n - 1].end.ms + gap)
			out[n - 1].end.ms = t[i].end.ms > out[n - 1].end.ms ? t[i].end.ms : out[n - 1].end.ms;
		else
			out[n++] = t[i];
	return (struct list){ out, n };
}

struct list
speaking_without(struct arena *mem, const struct list *turns, int64_t from, int64_t to)
{
	const struct turn *t = turns->rows;
	struct turn *out = arena_array(mem, turns->n * 2, sizeof(*out));
	size_t n = 0;

	for (size_t i = 0; i < turns->n; i++) {
		if (t[i].end.ms <= from || t[i].start.ms >= to) {
			out[n++] = t[i];
			continue;
		}
		if (t[i].start.ms < from)
			out[n++] = (struct turn){ t[i].start, { from, true } };
		if (t[i].end.ms > to)
			out[n++] = (struct turn){ { to, true }, t[i].end };
	}
	return (struct list){ out, n };
}

static int
earlier(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return (x->start.ms > y->start.ms) - (x->start.ms < y->start.ms);
}

struct list
speaking_union(struct arena *mem, const struct list *a, const struct list *b)
{
	struct turn *both = arena_array(mem, a->n + b->n, sizeof(*both));

	if (a->n > 0)
		memcpy(both, a->rows, a->n * sizeof(*both));
	if (b->n > 0)
		memcpy(both + a->n, b->rows, b->n * sizeof(*both));
	qsort(both, a->n + b->n, sizeof(*both), earlier);
	return speaking_join(mem, &(struct list){ both, a->n + b->n }, 0);
}

int64_t
speaking_overlap(const struct list *a, const struct list *b)
{
	const struct turn *x = a->rows, *y = b->rows;
	int64_t sum = 0, from, to;
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n) {
		from = x[i].start.ms > y[k].start.ms ? x[i].start.ms : y[k].start.ms;
		to = x[i].end.ms < y[k].end.ms ? x[i].end.ms : y[k].end.ms;
		sum += to > from ? to - from : 0;
		if (x[i].end.ms < y[k].end.ms)
			i++;
		else
			k++;
	}
	return sum;
}

struct list
speaking_paragraphs(struct db *db, const struct conf *conf, const struct transcript *t)
{
	struct list paragraphs = record_parse_list(db_arena(db), &paragraph_record, t->paragraphs.text), speakers;

	if (t->paragraphs.text == NULL || strstr(t->paragraphs.text, "\"speakerId\"") == NULL)
		return paragraphs;
	speakers = speakers_of(db, conf, t->media_id, t->language_code);
	speaking_name(&paragraphs, &speakers);
	return paragraphs;
}

void
speaking_follow(struct db *db, struct uuid media_id, void (*changed)(void *user, const struct transcript *), void *user)
{
	struct arena *mem = db_arena(db);
	const struct list speakers = speakers_of(db, NULL, media_id, "en");
	struct transcript *t;
	size_t n;

	t = db_rows(db, &transcript_record, "FROM transcripts t WHERE t.media_id = ? AND t.status = 'completed' FOR "
	    "UPDATE", ARGS(ID(media_id)), &n);
	for (size_t i = 0; i < n; i++) {
		const struct list before = record_parse_list(mem, &paragraph_record, t[i].paragraphs.text),
		    now = speaking_assign(mem, &before, &speakers, strcmp(t[i].source, "machine") == 0);
		const char *text = transcript_json(mem, &now);

		if (strcmp(text, transcript_json(mem, &before)) == 0)
			continue;
		t[i].paragraphs.text = text;
		db_run(db, "UPDATE transcripts SET paragraphs = ?, cue_count = ?, version = version + 1, updated_at = "
		    "? WHERE id = ?", ARGS(STR(text), INT(transcript_cues(mem, &now)), TIME(moment_now()), ID(t[i].id)));
		changed(user, &t[i]);
	}
}

void
speaking_renamed(struct db *db, struct uuid media_id, void (*visit)(void *user, const struct transcript *), void *user)
{
	const struct transcript *t;
	size_t n;

	t = db_rows_brief(db, &transcript_record, "FROM transcripts t WHERE t.media_id = ? AND t.status = 'completed' "
	    "AND t.paragraphs LIKE '%\"speakerId\"%'", ARGS(ID(media_id)), &n);
	for (size_t i = 0; i < n; i++)
		if (quality_shows(&t[i]))
			visit(user, &t[i]);
}
