/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paragraphs with other texts, and the way back. */
#include <string.h>

#include "media/alignment.h"
#include "media/revision.h"

/* What a word is given where nothing says how long it was. */
enum { WORD_MS = 400 };

/* Characters of a paragraph that can be changed. */
enum { PARAGRAPH_MAX = 20000 };

static const struct field change_fields[] = {
	FIELD(struct paragraph_change, id, .on = CREATE, .required = true, .doc = "Of the paragraph"),
	FIELD(struct paragraph_change, text, .on = CREATE | MULTILINE, .max = PARAGRAPH_MAX,
	    .doc = "All of its text: a blank line begins a further paragraph, and without a word it goes; "
	    "left out: it stays"),
	FIELD(struct paragraph_change, speaker_id, .on = CREATE,
	    .doc = "By whom it is, of the speakers of the asset, whatever the voices say; null: by the voices; "
	    "left out: it stays"),
	FIELD(struct paragraph_change, given, .on = HIDDEN | GIVEN, .doc = "Which members there were"),
};
const struct record paragraph_change_record = RECORD("ParagraphChange", struct paragraph_change, change_fields);

static const struct field hunk_fields[] = {
	FIELD(struct hunk, at, .doc = "Index of the first"),
	FIELD(struct hunk, count, .doc = "How many there are now"),
	FIELD(struct hunk, was, .of = &paragraph_record, .doc = "What was in their place"),
};
static const struct record hunk_record = RECORD("Hunk", struct hunk, hunk_fields);

/* A paragraph to be: its words are n of the run's from `from` on.  start, end: where there was one. */
struct part { struct paragraph is; size_t from, n; };

/* Paragraphs side by side that change, as one text. */
struct run {
	struct arena *mem;
	struct word *words, *old;
	struct part *parts;
	size_t n, n_old, n_parts;
	int64_t before, behind;			/* ms between which it is */
};

/* Between two words that stay: the older words there, and when it ends. */
struct gap { size_t old, old_end; int64_t end; };

const struct paragraph *
revision_paragraph(const struct list *paragraphs, struct uuid id)
{
	const struct paragraph *p = paragraphs->rows;
	size_t i;

	for (i = 0; i < paragraphs->n; i++)
		if (uuid_equal(p[i].id, id))
			return &p[i];
	return NULL;
}

static const char *
text_of(struct arena *mem, const struct word *w, size_t n)
{
	struct buf out = BUF(mem);
	size_t i;

	for (i = 0; i < n; i++) {
		if (i > 0 && !transcript_is_wide(w[i].text))
			buf_char(&out, ' ');
		buf_text(&out, w[i].text);
	}
	return buf_string(&out);
}

/* The text up to the next blank line, and where the rest begins. */
static const char *
next_part(struct arena *mem, const char **text)
{
	const char *from = *text, *end = from, *line;

	while ((end = strchr(end, '\n')) != NULL) {
		line = end + 1 + strspn(end + 1, " \t\r");
		if (*line == '\n') {
			*text = line + 1;
			return arena_copy_n(mem, from, (size_t)(end - from));
		}
		end++;
	}
	*text = from + strlen(from);
	return from;
}

static const struct paragraph_change *
change_of(const struct paragraph_change *c, size_t n, struct uuid id)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (c[i].text != NULL && uuid_equal(c[i].id, id))
			return &c[i];
	return NULL;
}

static bool
same_words(const struct list *a, const struct list *b)
{
	const struct word *v = a->rows, *w = b->rows;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(v[i].text, w[i].text) != 0)
			return false;
	return true;
}

/* Does it say anything else, in other words or in more paragraphs? */
static bool
differs(struct arena *mem, const struct paragraph *p, const struct paragraph_change *c)
{
	const char *rest = c->text, *first = next_part(mem, &rest);
	const struct list now = transcript_words(mem, first), heard = transcript_words(mem, p->text), read =
	    transcript_words(mem, transcript_reading(mem, p));

	return rest[strspn(rest, " \t\r\n")] != '\0' || (!same_words(&now, &heard) && !same_words(&now, &read));
}

/* Adds the paragraphs that a text makes in the place of an older one.  The first keeps its id. */
static void
add_parts(struct run *r, const struct paragraph *old, const char *text)
{
	bool first = true;

	while (*text != '\0') {
		const struct list words = transcript_words(r->mem, next_part(r->mem, &text));
		struct part *part = &r->parts[r->n_parts];

		if (words.n == 0)
			continue;
		*part = (struct part){ *old, r->n, words.n };
		if (!first)
			part->is.id = uuid_new();
		first = false;
		memcpy(r->words + r->n, words.rows, words.n * sizeof(struct word));
		r->n += words.n;
		r->n_parts++;
	}
}

/* Has the person changed what is to be read, and not what was heard? */
static bool
is_of_readings(const struct run *r, const size_t *match)
{
	size_t heard = 0, read = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct word *old = match[i] != SIZE_MAX ? &r->old[match[i]] : NULL;

		if (old == NULL || old->reading == NULL)
			continue;
		heard += strcmp(r->words[i].text, old->text) == 0;
		read += strcmp(r->words[i].text, old->reading) == 0;
	}
	return read > heard;
}

/* Words that are there still keep what is known of them; others are a person's. */
static void
take_over(struct run *r, const size_t *match)
{
	const bool readings = is_of_readings(r, match);
	size_t i;

	for (i = 0; i < r->n; i++) {
		struct word *w = &r->words[i];
		const char *text = w->text;

		if (match[i] != SIZE_MAX)
			*w = r->old[match[i]];
		if (match[i] != SIZE_MAX && strcmp(readings ? word_read(w) : w->text, text) == 0)
			continue;
		w->text = text;
		w->reading = NULL;
		w->source = "human";
		w->confidence = 0;
	}
}

/* The first match from there on, or n. */
static size_t
next_match(const struct run *r, const size_t *match, size_t i)
{
	while (i < r->n && match[i] == SIZE_MAX)
		i++;
	return i;
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * The time of words [i…end) of a part, which nobody has heard: that of the words in whose place they are, or what is
 * between those around them, within the paragraph that they are in as far as it has room.
 */
static int64_t
time_new(struct run *r, const struct part *p, size_t i, size_t end, int64_t at, const struct gap *gap)
{
	const int64_t length = WORD_MS * (int64_t)(end - i);
	int64_t from = larger(at, p->is.start.ms), to;

	if (gap->old < gap->old_end) {
		int64_t place = larger(from, r->old[gap->old].start.ms);

		to = smaller(gap->end, smaller(r->old[gap->old_end - 1].end.ms, p->is.end.ms));
		if (to > place) {
			transcript_time(r->words, i, end, place, to);
			return to;
		}
	}
	if (from >= gap->end)
		from = larger(at, gap->end - length);
	to = p->is.end.ms > from ? p->is.end.ms : from + length;
	to = larger(from, smaller(to, gap->end));
	transcript_time(r->words, i, end, from, to);
	return to;
}

static void
set_times(struct run *r, const size_t *match)
{
	struct gap gap = { 0 };
	int64_t at = r->before;
	size_t i, k, end, next;

	for (k = 0; k < r->n_parts; k++) {
		const struct part *p = &r->parts[k];

		for (i = p->from; i < p->from + p->n; i = end) {
			if (match[i] != SIZE_MAX) {
				at = larger(at, r->words[i].end.ms);
				gap.old = match[i] + 1;
				end = i + 1;
				continue;
			}
			next = next_match(r, match, i);
			end = next < p->from + p->n ? next : p->from + p->n;
			gap.old_end = next < r->n ? match[next] : r->n_old;
			gap.end = next < r->n ? r->words[next].start.ms : r->behind;
			at = time_new(r, p, i, end, at, &gap);
		}
	}
}

static void
begin(struct word *w, const char *what)
{
	if (w->begins == NULL || strcmp(what, "cue") == 0)
		w->begins = what;
}

/* Where subtitles and their lines begin: at the word that is in the place of the one that did. */
static void
set_beginnings(struct run *r, const size_t *match)
{
	size_t i = 0, old = 0, next, next_old, k;
	bool any = false;

	for (k = 0; k < r->n_old; k++)
		any |= r->old[k].begins != NULL;
	while (any && (i < r->n || old < r->n_old)) {
		next = next_match(r, match, i);
		next_old = next < r->n ? match[next] : r->n_old;
		for (k = old; k < next_old; k++)
			if (r->old[k].begins != NULL && (next > i || next < r->n))
				begin(&r->words[i + (k - old) * (next - i) / (next_old - old)], r->old[k].begins);
		i = next + 1;
		old = next_old + 1;
	}
	for (k = 0; any && k < r->n_parts; k++)
		r->words[r->parts[k].from].begins = "cue";
}

static void
finish(struct run *r, const size_t *match, struct list *out)
{
	size_t i;

	take_over(r, match);
	set_times(r, match);
	set_beginnings(r, match);
	for (i = 0; i < r->n_parts; i++) {
		struct paragraph *p = (struct paragraph *)out->rows + out->n++;
		struct word *w = r->words + r->parts[i].from;

		*p = r->parts[i].is;
		p->words = (struct list){ w, r->parts[i].n };
		p->start = w[0].start;
		p->end = w[p->words.n - 1].end;
		p->text = text_of(r->mem, w, p->words.n);
	}
}

/* The words of paragraphs side by side, one behind the other. */
static struct word *
words_of(struct arena *mem, const struct paragraph *p, size_t n, size_t *count)
{
	struct list *lists = arena_array(mem, n, sizeof(*lists));
	struct word *out;
	size_t i;

	for (*count = i = 0; i < n; i++) {
		lists[i] = p[i].words.n > 0 ? p[i].words : transcript_spread(mem, p[i].text, p[i].start.ms,
		    p[i].end.ms);
		*count += lists[i].n;
	}
	out = arena_array(mem, *count, sizeof(*out));
	for (*count = i = 0; i < n; *count += lists[i++].n)
		if (lists[i].n > 0)
			memcpy(out + *count, lists[i].rows, lists[i].n * sizeof(*out));
	return out;
}

/* For so many words; each paragraph has one. */
static struct run
new_run(struct arena *mem, size_t words)
{
	return (struct run){ .mem = mem, .words = arena_array(mem, words, sizeof(struct word)),
	    .parts = arena_array(mem, words + 1, sizeof(struct part)) };
}

struct revision
revision_edit(struct arena *mem, const struct list *paragraphs, const struct paragraph_change *c, size_t n,
    int64_t duration_ms)
{
	const struct paragraph *p = paragraphs->rows;
	const struct paragraph_change **of = arena_array(mem, paragraphs->n, sizeof(struct paragraph_change *));
	struct revision out = { .undo = { arena_array(mem, n, sizeof(struct hunk)), 0 } };
	size_t words = 0, i, k;

	for (i = 0; i < n; i++)
		words += c[i].text != NULL ? transcript_count(c[i].text) : 0;
	out.paragraphs.rows = arena_array(mem, paragraphs->n + words, sizeof(struct paragraph));
	for (i = 0; i < paragraphs->n; i++) {
		of[i] = change_of(c, n, p[i].id);
		if (of[i] != NULL && !differs(mem, &p[i], of[i]))
			of[i] = NULL;
	}
	for (i = 0; i < paragraphs->n; i = k) {
		struct hunk *hunk = (struct hunk *)out.undo.rows + out.undo.n;
		struct run run;

		k = i + 1;
		if (of[i] == NULL) {
			((struct paragraph *)out.paragraphs.rows)[out.paragraphs.n++] = p[i];
			continue;
		}
		for (words = transcript_count(of[i]->text); k < paragraphs->n && of[k] != NULL; k++)
			words += transcript_count(of[k]->text);
		run = new_run(mem, words);
		run.old = words_of(mem, p + i, k - i, &run.n_old);
		run.before = i > 0 ? p[i - 1].end.ms : 0;
		run.behind = k < paragraphs->n ? p[k].start.ms : duration_ms > 0 ? duration_ms : INT64_MAX;
		hunk->at = (int64_t)out.paragraphs.n;
		for (size_t m = i; m < k; m++)
			add_parts(&run, &p[m], of[m]->text);
		finish(&run, alignment_find(mem, run.words, run.n, run.old, run.n_old), &out.paragraphs);
		hunk->count = (int64_t)out.paragraphs.n - hunk->at;
		hunk->was = (struct list){ arena_array(mem, k - i, sizeof(*p)), k - i };
		memcpy(hunk->was.rows, p + i, (k - i) * sizeof(*p));
		out.undo.n++;
		out.changed += (int64_t)(k - i);
	}
	return out;
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same(const struct paragraph *a, const struct paragraph *b)
{
	const struct word *v = a->words.rows, *w = b->words.rows;
	size_t i;

	if (!uuid_equal(a->id, b->id) || !uuid_equal(a->speaker_id, b->speaker_id) || !same_text(a->speaker,
	    b->speaker) || !same_text(a->speaker_source, b->speaker_source) || strcmp(a->text,
	    b->text) != 0 || a->start.ms != b->start.ms || a->end.ms != b->end.ms ||
	    a->words.n != b->words.n)
		return false;
	for (i = 0; i < a->words.n; i++)
		if (strcmp(v[i].text, w[i].text) != 0 || v[i].start.ms != w[i].start.ms || v[i].end.ms != w[i].end.ms ||
		    v[i].confidence != w[i].confidence || !same_text(v[i].source, w[i].source) ||
		    v[i].estimated != w[i].estimated || !same_text(v[i].begins, w[i].begins) ||
		    !same_text(v[i].reading, w[i].reading))
			return false;
	return true;
}

struct revision
revision_replace(struct arena *mem, const struct list *paragraphs, const struct list *with)
{
	const struct paragraph *a = paragraphs->rows, *b = with->rows;
	struct revision out = { .paragraphs = *with };
	size_t n = paragraphs->n, m = with->n, from = 0;
	struct hunk *hunk;

	while (from < n && from < m && same(&a[from], &b[from]))
		from++;
	while (n > from && m > from && same(&a[n - 1], &b[m - 1])) {
		n--;
		m--;
	}
	if (n == from && m == from)
		return out;
	hunk = NEW(mem, struct hunk);
	*hunk = (struct hunk){ (int64_t)from, (int64_t)(m - from), { arena_array(mem, n - from, sizeof(*a)),
	    n - from } };
	if (n > from)
		memcpy(hunk->was.rows, a + from, (n - from) * sizeof(*a));
	out.undo = (struct list){ hunk, 1 };
	out.changed = (int64_t)(n - from);
	return out;
}

/* Where a part of an aligned text is: between its first and its last word that was heard. */
static size_t
place(struct run *r, const size_t *match)
{
	size_t matched = 0, i, k;

	for (k = 0; k < r->n_parts; k++) {
		struct part *p = &r->parts[k];
		bool any = false;

		for (i = p->from; i < p->from + p->n; i++) {
			if (match[i] == SIZE_MAX)
				continue;
			if (!any)
				p->is.start = r->old[match[i]].start;
			p->is.end = r->old[match[i]].end;
			any = true;
			matched++;
		}
	}
	return matched;
}

static bool
is_too_long(const struct paragraph *p)
{
	return utf8_length(p->text) > PARAGRAPH_MAX;
}

/* The paragraphs, those that are too long to be changed in parts. */
static struct list
parted(struct arena *mem, const struct list *paragraphs)
{
	const struct paragraph *p = paragraphs->rows;
	struct list out = { NULL, 0 }, parts;
	struct paragraph *to;
	size_t room = 0, i, k;

	for (i = 0; i < paragraphs->n; i++)
		room += is_too_long(&p[i]) ? p[i].words.n : 1;
	to = out.rows = arena_array(mem, room, sizeof(*to));
	for (i = 0; i < paragraphs->n; i++) {
		if (!is_too_long(&p[i])) {
			to[out.n++] = p[i];
			continue;
		}
		parts = transcript_paragraphs(mem, &(const struct segment){ .words = p[i].words }, 1);
		for (k = 0; k < parts.n; k++, out.n++) {
			const struct paragraph *part = (const struct paragraph *)parts.rows + k;

			to[out.n] = p[i];
			to[out.n].id = k == 0 ? p[i].id : part->id;
			to[out.n].start = part->start;
			to[out.n].end = part->end;
			to[out.n].text = part->text;
			to[out.n].words = part->words;
		}
	}
	return out;
}

struct revision
revision_align(struct arena *mem, const struct list *paragraphs, const struct list *heard, const char *text,
    int64_t duration_ms, size_t *matched)
{
	const struct paragraph *p = paragraphs->rows, fresh = { .id = uuid_new() };
	size_t words = text != NULL ? transcript_count(text) : 0, i;
	struct list out = { NULL, 0 };
	struct paragraph *made;
	const size_t *match;
	struct run run;

	for (i = 0; text == NULL && i < paragraphs->n; i++)
		words += transcript_count(p[i].text);
	run = new_run(mem, words);
	run.old = words_of(mem, heard->rows, heard->n, &run.n_old);
	run.behind = duration_ms > 0 ? duration_ms : INT64_MAX;
	if (text != NULL)
		add_parts(&run, &fresh, text);
	for (i = 0; text == NULL && i < paragraphs->n; i++)
		add_parts(&run, &p[i], p[i].text);
	match = alignment_find(mem, run.words, run.n, run.old, run.n_old);
	*matched = place(&run, match);
	out.rows = made = arena_array(mem, run.n_parts, sizeof(*made));
	finish(&run, match, &out);
	if (text != NULL && out.n == 1)
		out = transcript_paragraphs(mem, &(const struct segment){ .words = made[0].words }, 1);
	out = parted(mem, &out);
	made = out.rows;
	/* Asked twice, it is the same. */
	for (i = 0; text != NULL && i < out.n && i < paragraphs->n; i++)
		if (strcmp(made[i].text, p[i].text) == 0) {
			made[i].id = p[i].id;
			made[i].speaker = p[i].speaker;
			made[i].speaker_id = p[i].speaker_id;
			made[i].speaker_source = p[i].speaker_source;
		}
	return revision_replace(mem, paragraphs, &out);
}

struct list
revision_undo(struct arena *mem, const struct list *paragraphs, const struct list *undo)
{
	const struct paragraph *p = paragraphs->rows;
	const struct hunk *h = undo->rows;
	struct list out = { NULL, 0 };
	size_t room = paragraphs->n, at = 0, i;
	struct paragraph *to;

	for (i = 0; i < undo->n; i++)
		room += h[i].was.n;
	to = out.rows = arena_array(mem, room, sizeof(*to));
	for (i = 0; i < undo->n; i++) {
		while (at < (size_t)h[i].at && at < paragraphs->n)
			to[out.n++] = p[at++];
		if (h[i].was.n > 0)
			memcpy(to + out.n, h[i].was.rows, h[i].was.n * sizeof(*to));
		out.n += h[i].was.n;
		at += (size_t)h[i].count;
	}
	while (at < paragraphs->n)
		to[out.n++] = p[at++];
	return out;
}

const char *
revision_store(struct arena *mem, const struct list *undo)
{
	const struct hunk *h = undo->rows;
	struct buf out = BUF(mem);
	size_t i;

	buf_char(&out, '[');
	for (i = 0; i < undo->n; i++) {
		buf_text(&out, i > 0 ? "," : "");
		record_store(&out, &hunk_record, &h[i]);
	}
	buf_char(&out, ']');
	return buf_string(&out);
}

struct list
revision_parse(struct arena *mem, const char *json)
{
	return record_parse_list(mem, &hunk_record, json);
}
