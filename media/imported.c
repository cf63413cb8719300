/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts out of subtitles that people have made: what each shows, and for how long, stays together. */
#include <string.h>

#include "core/text.h"
#include "media/cues.h"
#include "media/transcript.h"

/* What begins within so many milliseconds is shown at once, one below the other. */
enum { AT_ONCE = 500 };

/* What is said, each with who says it. */
struct said { struct arena *mem; struct segment *at; const char **speakers; size_t n, room, words; };

static void *
grown(struct arena *mem, const void *old, size_t n, size_t room, size_t size)
{
	void *more = arena_array(mem, room, size);

	if (n > 0)
		memcpy(more, old, n * size);
	return more;
}

/* Those [from, to) are shown at once: each gets a share of the time, by its length, since people read one after the
 * other. */
static void
share(struct cue *at, size_t from, size_t to, int64_t end)
{
	int64_t start = at[from].start, total = 0, done = 0;

	for (size_t i = from; i < to; i++)
		total += (int64_t)at[i].n + 1;
	for (size_t i = from; i < to; i++) {
		at[i].start = start + (end - start) * done / total;
		done += (int64_t)at[i].n + 1;
		at[i].end = start + (end - start) * done / total;
	}
}

/* One after the other; what does not overlap keeps its times. */
static void
part(struct cues *all)
{
	struct cue *at = all->at;
	size_t i, k;

	for (i = 0; i < all->n; i = k) {
		int64_t end = at[i].end;

		for (k = i + 1; k < all->n && at[k].start < end && at[k].start - at[i].start < AT_ONCE; k++)
			end = at[k].end > end ? at[k].end : end;
		if (k < all->n && at[k].start < end) {
			cues_repaired(all, CUES_together, at[k].line);
			end = at[k].start;
		}
		for (size_t j = i + 1; j < k; j++)
			cues_repaired(all, CUES_together, at[j].line);
		share(at, i, k, end);
	}
}

/* The words of its lines, one behind the other. */
static struct list
joined(struct said *s, const struct list *lines, size_t n)
{
	struct list out = { NULL, 0 };
	struct word *all;
	size_t i, k, total = 0;

	for (i = 0; i < n; i++)
		total += lines[i].n;
	out.rows = all = arena_array(s->mem, total, sizeof(*all));
	for (i = 0; i < n; i++)
		for (k = 0; k < lines[i].n; k++) {
			all[out.n] = ((const struct word *)lines[i].rows)[k];
			all[out.n].source = "import";
			all[out.n].begins = k > 0 ? NULL : out.n == 0 ? "cue" : "line";
			out.n++;
		}
	s->words += total;
	return out;
}

/* One of the voices of a cue, in the time that is its share. */
static void
add_voice(struct said *s, const struct voice *v, int64_t start, int64_t end)
{
	struct segment to = { { start, true }, { end, true }, v->text, { NULL, 0 } };
	const int64_t total = (int64_t)strlen(v->text) + 1;
	const char *p;
	struct list *lines;
	size_t n_lines = 1;

	for (p = v->text; (p = strchr(p, '\n')) != NULL; p++)
		n_lines++;
	lines = arena_array(s->mem, n_lines, sizeof(*lines));
	n_lines = 0;
	for (p = v->text; *p != '\0';) {
		const size_t n = strcspn(p, "\n");
		const int64_t from = p - v->text, until = from + (int64_t)n + 1;

		lines[n_lines++] = transcript_spread(s->mem, arena_copy_n(s->mem, p, n),
		    start + (end - start) * from / total, start + (end - start) * until / total);
		p += n + (p[n] == '\n');
	}
	to.words = joined(s, lines, n_lines);
	if (s->n == s->room) {
		s->room = s->room * 2 + 64;
		s->at = grown(s->mem, s->at, s->n, s->room, sizeof(*s->at));
		s->speakers = grown(s->mem, s->speakers, s->n, s->room, sizeof(*s->speakers));
	}
	s->speakers[s->n] = v->speaker;
	s->at[s->n++] = to;
}

static void
add_cue(struct said *s, const struct cue *c)
{
	const struct list voices = cue_voices(s->mem, c);
	const struct voice *v = voices.rows;
	int64_t total = 0, done = 0;

	for (size_t i = 0; i < voices.n; i++)
		total += (int64_t)strlen(v[i].text);
	for (size_t i = 0; i < voices.n; i++) {
		const int64_t start = c->start + (c->end - c->start) * done / total;

		done += (int64_t)strlen(v[i].text);
		add_voice(s, &v[i], start, c->start + (c->end - c->start) * done / total);
	}
}

static bool
same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* No paragraph has two speakers. */
static struct list
paragraphs_of(const struct said *s)
{
	struct list out = { NULL, 0 };
	size_t from, to, room = 0;

	for (from = 0; from < s->n; from = to) {
		struct list some;
		struct paragraph *p;

		for (to = from + 1; to < s->n && same(s->speakers[from], s->speakers[to]); to++)
			;
		some = transcript_paragraphs(s->mem, s->at + from, to - from);
		p = some.rows;
		for (size_t i = 0; i < some.n; i++)
			p[i].speaker = s->speakers[from];
		if (out.n + some.n > room) {
			room = (out.n + some.n) * 2;
			out.rows = grown(s->mem, out.rows, out.n, room, sizeof(*p));
		}
		if (some.n > 0)
			memcpy((struct paragraph *)out.rows + out.n, p, some.n * sizeof(*p));
		out.n += some.n;
	}
	return out;
}

bool
transcript_imported(struct arena *mem, struct cues *all, size_t most, struct list *paragraphs)
{
	struct said s = { .mem = mem };

	part(all);
	for (size_t i = 0; i < all->n; i++) {
		add_cue(&s, &all->at[i]);
		if (s.words > most)
			return false;
	}
	*paragraphs = paragraphs_of(&s);
	return true;
}
