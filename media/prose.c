/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words and sentences of an asset. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include "core/fnv.h"
#include "core/fold.h"
#include "core/text.h"
#include "media/prose.h"
#include "media/stop_words.h"
#include "media/transcript.h"

/* More of such words are wrong than right (engines: measured with the built-in one). */
static const double unsure = 0.3;

enum { SLOTS = 1 << 16, OWN_MEMORY = 1 << 20, PAUSE_MS = 1000, STEM_LEAST = 4 };

struct prose_reader {
	struct prose *prose;
	struct arena *own;			/* for a word */
	UBreakIterator *words, *sentences;
	size_t room, room_vocables, room_sentences;
	size_t *slots;				/* of vocables by their folded form: number + 1 */
	size_t *next;				/* those of the same slot */
	int64_t said_until;
	bool apart;				/* the next token begins */
	int64_t upper, lower;			/* words that begin so */
};

static void
grow(struct arena *mem, void **rows, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return;
	*room = *room * 2 + 256;
	more = arena_array(mem, *room, size);
	if (n > 0)
		memcpy(more, *rows, n * size);
	*rows = more;
}
#define GROW(mem, rows, n, room) do { void *grow_rows = (rows); grow((mem), &grow_rows, (n), (room), sizeof(*(rows))); \
	(rows) = grow_rows; } while (0)

static void
close_breaks(void *iterator)
{
	ubrk_close(iterator);
}

static void
free_own(void *own)
{
	arena_free(own);
}

static UBreakIterator *
breaks(struct arena *mem, UBreakIteratorType type)
{
	UErrorCode error = U_ZERO_ERROR;
	UBreakIterator *b = ubrk_open(type, "en", NULL, 0, &error);

	if (U_FAILURE(error))
		abort(); /* the library is not whole */
	arena_defer(mem, close_breaks, b);
	return b;
}

struct prose_reader *
prose_begin(struct arena *mem)
{
	struct prose_reader *r = NEW(mem, struct prose_reader);

	r->prose = NEW(mem, struct prose);
	r->prose->mem = mem;
	r->own = arena_new(OWN_MEMORY);
	arena_defer(mem, free_own, r->own);
	r->words = breaks(mem, UBRK_WORD);
	r->sentences = breaks(mem, UBRK_SENTENCE);
	r->slots = arena_array(mem, SLOTS, sizeof(*r->slots));
	return r;
}

static size_t
slot_of(const char *text)
{
	return fnv1a(FNV_EMPTY, text, strlen(text)) % SLOTS;
}

static size_t
vocable_of(struct prose_reader *r, const char *folded, const char *text)
{
	struct prose *p = r->prose;
	const size_t slot = slot_of(folded);
	size_t i, room = r->room_vocables;

	for (i = r->slots[slot]; i > 0; i = r->next[i - 1])
		if (strcmp(p->vocables[i - 1].folded, folded) == 0)
			return i - 1;
	GROW(p->mem, p->vocables, p->n_vocables, &r->room_vocables);
	GROW(p->mem, r->next, p->n_vocables, &room);
	p->vocables[p->n_vocables] = (struct vocable){ arena_copy(p->mem, folded), arena_copy(p->mem, text),
	    p->n_vocables, false };
	r->next[p->n_vocables] = r->slots[slot];
	r->slots[slot] = p->n_vocables + 1;
	return p->n_vocables++;
}

/* "don't" is one word, though the search has two.  NULL: no letter and no digit is in it. */
static const char *
folded_of(struct arena *mem, const char *text)
{
	struct buf all = BUF(mem);
	size_t n, i;
	const struct folded *f = fold_words(mem, text, &n);

	for (i = 0; i < n && all.len < FOLD_MAX; i++)
		buf_text(&all, f[i].word);
	return all.len > 0 ? buf_string(&all) : NULL;
}

static void
note_case(struct prose_reader *r, const char *text)
{
	int32_t i = 0;
	UChar32 c;

	U8_NEXT(text, i, -1, c);
	if (u_isupper(c))
		r->upper++;
	else if (u_islower(c))
		r->lower++;
}

static void
add_token(struct prose_reader *r, const char *text, size_t n, const struct place *place, double confidence)
{
	struct prose *p = r->prose;
	char own[256];
	const char *folded;
	struct token *t;

	if (p->n == PROSE_MAX || n >= sizeof(own)) {
		p->cut = p->cut || p->n == PROSE_MAX;
		r->apart = true;
		return;
	}
	memcpy(own, text, n);
	own[n] = '\0';
	arena_reset(r->own);
	folded = folded_of(r->own, own);
	if (folded == NULL || confidence <= unsure) {
		r->apart = true;
		return;
	}
	GROW(p->mem, p->tokens, p->n, &r->room);
	t = &p->tokens[p->n];
	*t = (struct token){ NULL, vocable_of(r, folded, own), p->n_sentences, confidence, *place, r->apart };
	t->text = strcmp(p->vocables[t->vocable].text, own) == 0 ? p->vocables[t->vocable].text :
	    arena_copy(p->mem, own);
	note_case(r, own);
	p->n++;
	r->apart = false;
}

/* All words between two places of a text; what is no word parts phrases, blanks do not. */
static void
add_words(struct prose_reader *r, const char *text, int32_t from, int32_t to, const struct place *place,
    double confidence)
{
	int32_t at = from, next;

	for (next = ubrk_following(r->words, from); at < to && at != UBRK_DONE; at = next, next = ubrk_next(r->words)) {
		if (next == UBRK_DONE || next > to)
			next = to;
		if (ubrk_getRuleStatus(r->words) >= UBRK_WORD_NUMBER)
			add_token(r, text + at, (size_t)(next - at), place, confidence);
		else if (strchr(" \t\n\r", text[at]) == NULL && strncmp(text + at, "-", 1) != 0)
			r->apart = true;
	}
}

static UText *
over(UBreakIterator *b, const char *text, UText *before)
{
	UErrorCode error = U_ZERO_ERROR;
	UText *t = utext_openUTF8(before, text, -1, &error);

	ubrk_setUText(b, t, &error);
	if (U_FAILURE(error))
		abort(); /* only without memory */
	return t;
}

/* The sentence that began with the token `from` ends here, unless it is empty. */
static void
end_sentence(struct prose_reader *r, size_t from, const struct sentence *s)
{
	struct prose *p = r->prose;

	r->apart = true;
	if (p->n == from || p->n_sentences == PROSE_MAX)
		return;
	GROW(p->mem, p->sentences, p->n_sentences, &r->room_sentences);
	p->sentences[p->n_sentences] = *s;
	p->sentences[p->n_sentences].from = from;
	p->sentences[p->n_sentences].to = p->n;
	if (s->reading == NULL)
		p->sentences[p->n_sentences].reading = s->text;
	p->n_sentences++;
}

/* What is said until a sentence ends. */
struct saying { struct buf text, reading; size_t from; int64_t start, end; double sum; int64_t words; };

bool
prose_is_capital(const struct token *t)
{
	int32_t i = 0;
	UChar32 c;

	U8_NEXT(t->text, i, -1, c);
	return u_isupper(c);
}

static void
end_saying(struct prose_reader *r, struct saying *s)
{
	struct sentence done = { .text = buf_string(&s->text), .reading = buf_string(&s->reading),
	    .place = { s->start, s->end, 0 } };

	if (s->words > 0) {
		done.confidence = s->sum / (double)s->words;
		end_sentence(r, s->from, &done);
	}
	*s = (struct saying){ .text = BUF(r->prose->mem), .reading = BUF(r->prose->mem), .from = r->prose->n };
}

static void
say_word(struct prose_reader *r, struct saying *s, const struct word *w, double confidence)
{
	const struct place place = { w->start.ms, w->end.ms, 0 };
	UText *t;

	if (s->words > 0 && w->start.ms - s->end > PAUSE_MS)
		r->apart = true;
	if (s->words++ == 0)
		s->start = w->start.ms;
	else if (!transcript_is_wide(w->text)) {
		buf_char(&s->text, ' ');
		buf_char(&s->reading, ' ');
	}
	s->end = w->end.ms;
	s->sum += confidence;
	buf_text(&s->text, w->text);
	buf_text(&s->reading, word_read(w));
	t = over(r->words, w->text, NULL);
	add_words(r, w->text, 0, (int32_t)strlen(w->text), &place, confidence);
	utext_close(t);
}

void
prose_say(struct prose_reader *r, const struct list *paragraphs, double confidence)
{
	const struct paragraph *p = paragraphs->rows;
	struct saying s = { .text = BUF(r->prose->mem), .reading = BUF(r->prose->mem), .from = r->prose->n };
	size_t i, k;

	for (i = 0; i < paragraphs->n; i++) {
		const struct word *w = p[i].words.rows;

		for (k = 0; k < p[i].words.n; k++) {
			say_word(r, &s, &w[k], w[k].confidence > 0 ? w[k].confidence : confidence);
			if (transcript_ends_sentence(word_read(&w[k])))
				end_saying(r, &s);
		}
		end_saying(r, &s);
	}
}

/* Lines end where the paper does: only an empty one parts. */
static char *
unwrapped(struct arena *mem, const char *text)
{
	char *out = arena_copy(mem, text), *p;

	for (p = out; *p != '\0'; p++)
		if (*p == '\r' || *p == '\t' || *p == '\f' || (*p == '\n' && p[1] != '\n' && p > out && p[-1] != '\n'))
			*p = ' ';
	return out;
}

/* Without blanks around it and with one in the place of many. */
static const char *
trimmed(struct arena *mem, const char *text, size_t n)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)text[i] > ' ')
			buf_char(&b, text[i]);
		else if (b.len > 0 && b.text[b.len - 1] != ' ')
			buf_char(&b, ' ');
	if (b.len > 0 && b.text[b.len - 1] == ' ')
		b.text[--b.len] = '\0';
	return buf_string(&b);
}

/* "a?b", "3. May" and "Dr. No" are no two sentences. */
static bool
is_end(const char *text, int32_t from, int32_t to)
{
	static const char short_forms[] = "Dr Prof Mr Mrs Ms St Nr No Art Abs ca bzw vgl vs Fr Hr Sr Sra";
	int32_t end = to, word;

	while (end > from && (unsigned char)text[end - 1] <= ' ')
		end--;
	if (end == to)
		return (unsigned char)text[to - 1] >= 0x80;
	if (end == from || text[end - 1] != '.' || memchr(text + end, '\n', (size_t)(to - end)) != NULL)
		return true;
	for (word = --end; word > from && (unsigned char)text[word - 1] > ' ';)
		word--;
	if (strspn(text + word, "0123456789") == (size_t)(end - word))
		return end - word > 2;
	return !word_in(short_forms, text + word, (size_t)(end - word));
}

void
prose_show(struct prose_reader *r, const char *text, struct place place, double confidence, bool line)
{
	struct sentence s = { .place = place, .confidence = confidence, .is_line = line };
	const char *all = unwrapped(r->prose->mem, text);
	UText *w = over(r->words, all, NULL), *t = over(r->sentences, all, NULL);
	int32_t from = 0, to;
	size_t first;

	r->apart = true;
	if (line) {
		first = r->prose->n;
		add_words(r, all, 0, (int32_t)strlen(all), &place, confidence);
		s.text = trimmed(r->prose->mem, all, strlen(all));
		end_sentence(r, first, &s);
	}
	for (to = ubrk_first(r->sentences); !line && to != UBRK_DONE; from = to) {
		to = ubrk_next(r->sentences);
		while (to > 0 && all[to] != '\0' && !is_end(all, from, to))
			to = ubrk_next(r->sentences);
		if (to == UBRK_DONE)
			break;
		first = r->prose->n;
		add_words(r, all, from, to, &place, confidence);
		s.text = trimmed(r->prose->mem, all + from, (size_t)(to - from));
		end_sentence(r, first, &s);
	}
	utext_close(w);
	utext_close(t);
}

/* Endings of words that are the same word, the longest first. */
static const struct { const char *tag, *endings; } inflections[] = {
	{ "en", "s" }, { "de", "ern en er es em e n s" }, { "fr", "es s x e" }, { "es", "es s" }, { "it", "a e i o" },
	{ "nl", "en s e" }, { "pt", "es s" }, { "sv", "arna erna orna ar er or en et na a n" },
	{ "da", "erne ene er en et e" }, { "nb", "ene er en et e a" }, { "pl", "ami ach owi em om ie a e i o u y" },
	{ "ru", "ами ями ого его ому ему ах ях ой ей ом ем ы и а я у ю е о" },
	{ "tr", "lari leri lar ler" },
};

static bool
ends_in(const char *text, size_t n, const char *ending, size_t size)
{
	return n >= size && strncmp(text + n - size, ending, size) == 0;
}

/* "servers" and "server" have the same. */
static const char *
stem_of(struct arena *mem, const char *endings, const char *folded)
{
	const size_t n = strlen(folded);
	size_t size;

	if (endings == NULL)
		return folded;
	if (strcmp(endings, "s") == 0 && ends_in(folded, n, "ies", 3) && n > 5)
		return arena_printf(mem, "%.*sy", (int)n - 3, folded);
	if (strcmp(endings, "s") == 0 && (ends_in(folded, n, "ss", 2) || ends_in(folded, n, "us", 2) ||
	    ends_in(folded, n, "is", 2)))
		return folded;
	for (; *endings != '\0'; endings += size, endings += *endings == ' ') {
		size = strcspn(endings, " ");
		if (n >= size + STEM_LEAST && ends_in(folded, n, endings, size))
			return arena_copy_n(mem, folded, n - size);
	}
	return folded;
}

struct stem { const char *text; size_t vocable; };

static int
by_stem(const void *a, const void *b)
{
	const struct stem *x = a, *y = b;
	const int order = strcmp(x->text, y->text);

	return order != 0 ? order : (x->vocable > y->vocable) - (x->vocable < y->vocable);
}

static void
find_stems(struct prose *p, const char *tag)
{
	struct stem *s = arena_array(p->mem, p->n_vocables, sizeof(*s));
	const char *endings = NULL;
	size_t i, first = 0;

	for (i = 0; tag != NULL && i < sizeof(inflections) / sizeof(inflections[0]); i++)
		if (strcmp(inflections[i].tag, tag) == 0)
			endings = inflections[i].endings;
	for (i = 0; i < p->n_vocables; i++)
		s[i] = (struct stem){ stem_of(p->mem, endings, p->vocables[i].folded), i };
	qsort(s, p->n_vocables, sizeof(*s), by_stem);
	for (i = 0; i < p->n_vocables; i++) {
		first = i > 0 && strcmp(s[i].text, s[i - 1].text) == 0 ? first : s[i].vocable;
		p->vocables[s[i].vocable].stem = first;
	}
}

/* The language with most of its common words in the text, if one of eight is any. */
static int
spoken(const struct prose *p, const struct stop_words *stop)
{
	int best = -1, place;
	size_t most = p->n / 8, hits, i;

	for (place = 0; stop_words_language(place) != NULL; place++) {
		bool *is = arena_array(p->mem, p->n_vocables, sizeof(*is));

		for (i = 0; i < p->n_vocables; i++)
			is[i] = stop_words_has(stop, place, p->vocables[i].folded);
		for (i = 0, hits = 0; i < p->n; i++)
			hits += is[p->tokens[i].vocable];
		if (hits > most) {
			most = hits;
			best = place;
		}
	}
	return best;
}

/* Numbers, single letters, and single characters of scripts that have words of one: particles, most of them. */
static bool
says_nothing(const char *folded)
{
	int32_t i = 0;
	UChar32 c;
	int letters = 0, characters = 0;

	while (folded[i] != '\0') {
		U8_NEXT(folded, i, -1, c);
		characters++;
		letters += u_isalpha(c) != 0;
	}
	return letters == 0 || characters < 2;
}

struct prose *
prose_end(struct prose_reader *r, const char *language)
{
	struct prose *p = r->prose;
	const struct stop_words *stop = stop_words_new(p->mem);
	int place = language != NULL ? stop_words_of(language) : spoken(p, stop);
	size_t i;

	p->language = language != NULL ? language : stop_words_language(place);
	p->has_case = r->lower > 0 && r->upper > 0 && r->lower * 2 >= r->upper;
	find_stems(p, stop_words_language(place));
	for (i = 0; i < p->n_vocables; i++)
		p->vocables[i].common = says_nothing(p->vocables[i].folded) ||
		    stop_words_has(stop, place, p->vocables[i].folded);
	return p;
}

void
prose_place(struct buf *out, const struct place *p)
{
	if (p->page > 0)
		buf_printf(out, "{\"page\":%" PRId64 "}", p->page);
	else if (p->start < 0)
		buf_text(out, "{}");
	else
		buf_printf(out, "{\"start\":%" PRId64 ".%03d,\"end\":%" PRId64 ".%03d}", p->start / 1000,
		    (int)(p->start % 1000), p->end / 1000, (int)(p->end % 1000));
}
