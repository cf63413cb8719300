/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Case and punctuation for reading; see reading.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/uchar.h>
#include <unicode/udat.h>
#include <unicode/uloc.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include "core/fnv.h"
#include "media/reading.h"

/* Bounds, in ms, of the pause that speaks neither for nor against the end of a sentence where words are looked at: that
 * than which twelve of thirteen are shorter, since some people, and all machines, hardly pause.  One that is an end
 * where nobody looks at words. */
enum { PAUSE_EVEN_LEAST = 40, PAUSE_EVEN_MOST = 250, EVEN_OF = 13, PAUSE_ALONE = 600 };
/* Words of which some would have a mark; bytes of a form; forms that are known, and as many free places; words of a
 * name. */
enum { WORDS_FEW = 12, FORM_MAX = 100, FORMS = 1 << 15, TERM_WORDS = 6 };
/* What a pause adds at least and at most, and for each doubling of it; from where on a sentence ends. */
static const double pause_least = -2.5, pause_most = 4.5, pause_doubled = 1.5, end_least = -0.5;
/* A comma before a word of the language, behind a pause of so many ms. */
static const struct { const char *language, *words; int pause; } commas[] = {
	{ "en", "but because although though whereas unless which", 120 },
	{ "de", "aber sondern weil dass obwohl damit w\u00e4hrend sodass", 0 },
};

/* A question begins with one word of each. */
static const struct { const char *language, *first, *second; } questions[] = {
	{ "en", "what who where when why how which", "is are was were do does did can could will would should has have" },
	{ "en", "is are was were do does did can could will would should has have", "i you he she it we they there" },
	{ "de", "was wer wie wo wann warum wieso weshalb", "ist sind war waren hat haben kann k\u00f6nnen macht wird werden" },
	{ "de", "ist sind war hat haben kann k\u00f6nnen wird", "ich du er sie es wir man das" },
};

/* A name of several words, as it is written and small; another one that begins alike. */
struct name { const char *form[TERM_WORDS], *low[TERM_WORDS]; size_t n; const struct name *next; };
/* A word as people write it, by how it is written small.  lowers: how often it was seen so. */
struct form { const char *low, *form; int uppers, lowers; const struct name *names; };

struct restoring {
	struct arena *mem;
	const struct reading_hints *hints;
	const char *language;			/* ISO 639 */
	struct word **w;
	const char **low;			/* each as it is written small */
	bool *ends;				/* a sentence ends behind it */
	size_t n;
	struct form *forms;			/* FORMS, hashed */
	size_t n_forms;
};

static bool
has_word(const char *list, const char *word)
{
	const size_t n = strlen(word);

	for (; *list != '\0'; list += strspn(list, " ")) {
		const size_t m = strcspn(list, " ");

		if (m == n && memcmp(list, word, n) == 0)
			return true;
		list += m;
	}
	return false;
}

static const char *
small(struct arena *mem, const char *word, const char *language)
{
	UChar wide[FORM_MAX], low[FORM_MAX];
	char out[FORM_MAX * 3 + 1];
	UErrorCode error = U_ZERO_ERROR;
	int32_t n;

	u_strFromUTF8(wide, FORM_MAX, &n, word, -1, &error);
	n = u_strToLower(low, FORM_MAX, wide, n, language, &error);
	u_strToUTF8(out, sizeof(out), NULL, low, n, &error);
	return U_SUCCESS(error) ? arena_copy(mem, out) : word;
}

/* With its first letter large. */
static const char *
large(struct arena *mem, const char *word, const char *language)
{
	UChar wide[FORM_MAX], high[FORM_MAX];
	char out[FORM_MAX * 3 + 1];
	UErrorCode error = U_ZERO_ERROR;
	int32_t i = 0, n, bytes;
	UChar32 c;

	while (word[i] != '\0') {
		const int32_t at = i;

		U8_NEXT((const uint8_t *)word, i, -1, c);
		if (c < 0 || !u_isalnum(c))
			continue;
		u_strFromUTF8(wide, FORM_MAX, &n, word + at, i - at, &error);
		n = u_strToUpper(high, FORM_MAX, wide, n, language, &error);
		u_strToUTF8(out, sizeof(out), &bytes, high, n, &error);
		return U_FAILURE(error) ? word : arena_printf(mem, "%.*s%.*s%s", (int)at, word, (int)bytes, out,
		    word + i);
	}
	return word;
}

/* Letters of a word: large, small. */
static void
count_cases(const char *word, size_t *uppers, size_t *lowers)
{
	int32_t i = 0;
	UChar32 c;

	while (word[i] != '\0') {
		U8_NEXT((const uint8_t *)word, i, -1, c);
		*uppers += c >= 0 && u_isupper(c);
		*lowers += c >= 0 && u_islower(c);
	}
}

static bool
ends_in_mark(const char *word)
{
	const size_t n = strlen(word);

	return transcript_ends_sentence(word) || (n > 0 && strchr(",;:", word[n - 1]) != NULL) ||
	    (n >= 3 && (strcmp(word + n - 3, "\u0964") == 0 || strcmp(word + n - 3, "\u3001") == 0 ||
	    strcmp(word + n - 3, "\uff0c") == 0));
}

bool
reading_is_plain(const struct list *paragraphs)
{
	const struct paragraph *p = paragraphs->rows;
	size_t uppers = 0, lowers = 0, words = 0;

	for (size_t i = 0; i < paragraphs->n; i++) {
		const struct word *w = p[i].words.rows;

		for (size_t k = 0; k < p[i].words.n; k++, words++) {
			if (ends_in_mark(w[k].text))
				return false;
			count_cases(w[k].text, &uppers, &lowers);
		}
	}
	/* Of a few words an engine may have had no cause for a mark. */
	return words >= (uppers == 0 ? 3 : WORDS_FEW) && (uppers == 0 || lowers == 0);
}

struct word **
reading_words(struct arena *mem, const struct list *paragraphs, size_t *n)
{
	const struct paragraph *p = paragraphs->rows;
	struct word **out;

	*n = 0;
	for (size_t i = 0; i < paragraphs->n; i++)
		*n += p[i].words.n;
	out = arena_array(mem, *n, sizeof(struct word *));
	*n = 0;
	for (size_t i = 0; i < paragraphs->n; i++)
		for (size_t k = 0; k < p[i].words.n; k++)
			out[(*n)++] = (struct word *)p[i].words.rows + k;
	return out;
}

static struct form *
find_form(struct restoring *r, const char *low, bool add)
{
	size_t at = fnv1a(FNV_EMPTY, low, strlen(low)) & (FORMS - 1);

	for (; r->forms[at].low != NULL; at = (at + 1) & (FORMS - 1))
		if (strcmp(r->forms[at].low, low) == 0)
			return &r->forms[at];
	if (!add || r->n_forms == FORMS / 2)
		return NULL;
	r->n_forms++;
	r->forms[at].low = low;
	return &r->forms[at];
}

/* A text, word by word; begins: a sentence or a line begins with the word. */
struct scan { struct arena *mem; const char *rest; bool begins, next_begins; };

/* The next word without the marks around it, or NULL. */
static const char *
next_word(struct scan *s)
{
	const char *p = s->rest, *end;

	for (; *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'; p++)
		s->next_begins = s->next_begins || *p == '\n';
	if (*p == '\0')
		return NULL;
	s->rest = end = p + strcspn(p, " \t\r\n");
	s->begins = s->next_begins || strchr("\"'([{<*-", *p) != NULL;
	s->next_begins = strchr(".!?:", end[-1]) != NULL;
	p += strspn(p, "\"'([{<*-");
	while (end > p && strchr("\"')]}>.,;:!?*-", end[-1]) != NULL)
		end--;
	return end > p && end - p < FORM_MAX ? arena_copy_n(s->mem, p, (size_t)(end - p)) : "";
}

/* Is it one of those in which words are large because they stand in a title? */
static bool
is_title(struct restoring *r, const char *text)
{
	struct scan s = { r->mem, text, false, true };
	size_t large_ones = 0, small_ones = 0;
	const char *word;

	while ((word = next_word(&s)) != NULL) {
		size_t uppers = 0, lowers = 0;

		count_cases(word, &uppers, &lowers);
		if (!s.begins && strlen(word) > 3) {
			large_ones += uppers > 0;
			small_ones += uppers == 0;
		}
	}
	return large_ones > small_ones;
}

/* What a text tells of how its words are written. */
static void
learn(struct restoring *r, const char *text)
{
	const bool title = strcmp(r->language, "de") != 0 && is_title(r, text);
	struct scan s = { r->mem, text, false, true };
	const char *word;

	while ((word = next_word(&s)) != NULL) {
		const char *low = small(r->mem, word, r->language);
		size_t uppers = 0, lowers = 0;
		struct form *f = *word != '\0' ? find_form(r, low, true) : NULL;
		const bool rare = title && r->hints->common != NULL && frequency_of(r->hints->common, low) == 0;

		if (f == NULL)
			continue;
		count_cases(word, &uppers, &lowers);
		if (uppers == 0) {
			f->lowers++;
		} else if ((uppers > 1 && lowers > 0) || (!s.begins && (!title || rare))) {
			f->form = word;
			f->uppers++;
		}
	}
}

/* A name of several words, found by its first. */
static void
know_all(struct restoring *r, const char *name)
{
	struct name *n = NEW(r->mem, struct name);
	struct form *first;

	for (; *name != '\0'; name += strspn(name, " ")) {
		const size_t bytes = strcspn(name, " ");

		if (n->n == TERM_WORDS)
			return;
		n->form[n->n] = arena_copy_n(r->mem, name, bytes);
		n->low[n->n] = small(r->mem, n->form[n->n], r->language);
		n->n++;
		name += bytes;
	}
	first = n->n == 0 ? NULL : find_form(r, n->low[0], true);
	if (first == NULL)
		return;
	n->next = first->names;
	first->names = n;
}

static void
know(struct restoring *r, const char *name)
{
	const char *low = small(r->mem, name, r->language);
	struct form *f;

	if (strcmp(low, name) == 0 || *name == '\0')
		return;
	if (strchr(name, ' ') != NULL) {
		know_all(r, name);
	} else if ((f = find_form(r, low, true)) != NULL) {
		f->form = name;
		f->uppers = 1;
		f->lowers = 0;
	}
}

/* Names of days and months, as the language writes them; what is another word, too, is left as it was heard. */
static void
know_calendar(struct restoring *r)
{
	static const UDateFormatSymbolType kinds[] = { UDAT_WEEKDAYS, UDAT_MONTHS };
	UErrorCode error = U_ZERO_ERROR;
	UDateFormat *format = udat_open(UDAT_LONG, UDAT_LONG, r->language, NULL, 0, NULL, 0, &error);

	for (size_t k = 0; U_SUCCESS(error) && k < 2; k++)
		for (int32_t i = 0; i < udat_countSymbols(format, kinds[k]); i++) {
			UChar wide[FORM_MAX];
			char name[FORM_MAX * 3 + 1];
			UErrorCode bad = U_ZERO_ERROR;
			int32_t n = udat_getSymbols(format, kinds[k], i, wide, FORM_MAX, &bad);

			u_strToUTF8(name, sizeof(name), NULL, wide, n, &bad);
			if (U_SUCCESS(bad) && !has_word("May March", name))
				know(r, arena_copy(r->mem, name));
		}
	if (format != NULL)
		udat_close(format);
}

static void
know_countries(struct restoring *r)
{
	for (const char *const *c = uloc_getISOCountries(); *c != NULL; c++) {
		UErrorCode error = U_ZERO_ERROR;
		UChar wide[FORM_MAX];
		char name[FORM_MAX * 3 + 1];
		int32_t n = uloc_getDisplayCountry(arena_printf(r->mem, "und_%s", *c), r->language, wide, FORM_MAX,
		    &error);

		u_strToUTF8(name, sizeof(name), NULL, wide, n, &error);
		if (U_SUCCESS(error))
			know(r, arena_copy(r->mem, name));
	}
}

static int64_t
pause_behind(const struct restoring *r, size_t i)
{
	const int64_t ms = r->w[i + 1]->start.ms - r->w[i]->end.ms;

	return ms > 0 ? ms : 0;
}

static int
by_length(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t
even_pause(struct restoring *r)
{
	int64_t *all = arena_array(r->mem, r->n, sizeof(*all)), even;

	for (size_t i = 0; i + 1 < r->n; i++)
		all[i] = pause_behind(r, i);
	if (r->n < 2)
		return PAUSE_EVEN_MOST;
	qsort(all, r->n - 1, sizeof(*all), by_length);
	even = all[(r->n - 1) * (EVEN_OF - 1) / EVEN_OF];
	return even < PAUSE_EVEN_LEAST ? PAUSE_EVEN_LEAST : even > PAUSE_EVEN_MOST ? PAUSE_EVEN_MOST : even;
}

static double
weight_of_pause(int64_t ms, int64_t even)
{
	const double w = ms == 0 ? pause_least : pause_doubled * log2((double)ms / (double)even);

	return w < pause_least ? pause_least : w > pause_most ? pause_most : w;
}

static void
find_ends(struct restoring *r)
{
	const int64_t even = even_pause(r);
	const char *marks = r->hints->marks;

	for (size_t i = 0; marks != NULL && i + 1 < r->n; i++)
		r->ends[i] = marks[i] == '.' || marks[i] == '?';
	for (size_t i = 0; marks == NULL && i + 1 < r->n; i++)
		r->ends[i] = r->hints->ends != NULL ? r->hints->ends[i] + weight_of_pause(pause_behind(r, i), even) >
		    end_least : pause_behind(r, i) >= PAUSE_ALONE;
	if (r->n > 0)
		r->ends[r->n - 1] = true;
}

static bool
asks(const struct restoring *r, size_t first, size_t last)
{
	for (size_t i = 0; last > first && i < sizeof(questions) / sizeof(questions[0]); i++)
		if (strcmp(questions[i].language, r->language) == 0 && has_word(questions[i].first, r->low[first]) &&
		    has_word(questions[i].second, r->low[first + 1]))
			return true;
	return false;
}

/* Is it written with marks of full width? */
static bool
is_full(const char *language)
{
	return strcmp(language, "zh") == 0 || strcmp(language, "ja") == 0;
}

/* What stands behind the word at the end of the sentence that began at `first`. */
static const char *
end_mark(const struct restoring *r, size_t first, size_t last)
{
	const char *marks = r->hints->marks;
	const bool question = marks != NULL ? marks[last] == '?' : asks(r, first, last);
	static const char *const stroke[] = { "hi", "mr", "ne", "bn", "pa" };

	if (is_full(r->language))
		return question ? "\uff1f" : "\u3002";
	for (size_t i = 0; i < sizeof(stroke) / sizeof(stroke[0]); i++)
		if (strcmp(r->language, stroke[i]) == 0)
			return question ? "?" : "\u0964";
	return strcmp(r->language, "th") == 0 ? "" : question ? "?" : ".";
}

static bool
wants_comma(const struct restoring *r, size_t before)
{
	if (r->hints->marks != NULL)
		return r->hints->marks[before] == ',';
	for (size_t i = 0; i < sizeof(commas) / sizeof(commas[0]); i++)
		if (strcmp(commas[i].language, r->language) == 0 && pause_behind(r, before) >= commas[i].pause &&
		    has_word(commas[i].words, r->low[before + 1]))
			return true;
	return false;
}

/* "i" and "i'm" are large in English wherever they stand. */
static bool
is_i(const struct restoring *r, const char *low)
{
	return strcmp(r->language, "en") == 0 && has_word("i i'm i'd i've i'll", low);
}

/* How a word is written in the middle of a sentence. */
static const char *
written(struct restoring *r, size_t i)
{
	const struct form *f = find_form(r, r->low[i], false);
	const char *stem;

	if (is_i(r, r->low[i]))
		return large(r->mem, r->low[i], r->language);
	/* The genitive of a name. */
	if (f == NULL && strlen(r->low[i]) > 3 && strcmp(r->low[i] + strlen(r->low[i]) - 2, "'s") == 0) {
		stem = arena_copy_n(r->mem, r->low[i], strlen(r->low[i]) - 2);
		f = find_form(r, stem, false);
		if (f != NULL && f->uppers > 0 && f->lowers == 0)
			return arena_printf(r->mem, "%s's", f->form);
	}
	return f != NULL && f->uppers > 0 && f->lowers == 0 ? f->form : r->low[i];
}

/* The longest name of several words that begins there, or NULL. */
static const struct name *
name_at(struct restoring *r, size_t at)
{
	const struct form *f = find_form(r, r->low[at], false);
	const struct name *best = NULL, *n;
	size_t k;

	for (n = f != NULL ? f->names : NULL; n != NULL; n = n->next) {
		for (k = 0; k < n->n && at + k < r->n && strcmp(n->low[k], r->low[at + k]) == 0; k++)
			;
		if (k == n->n && (best == NULL || n->n > best->n))
			best = n;
	}
	return best;
}

static void
write_words(struct restoring *r)
{
	const struct name *name = NULL;
	size_t first = 0, done = 0;

	for (size_t i = 0; i < r->n; i++) {
		const char *text;

		if (name == NULL || done == name->n) {
			name = name_at(r, i);
			done = 0;
		}
		text = name != NULL ? name->form[done++] : written(r, i);
		/* A name that begins small, as of a product, begins small everywhere. */
		if (i == first && strcmp(text, r->low[i]) == 0)
			text = large(r->mem, text, r->language);
		if (r->ends[i])
			text = arena_printf(r->mem, "%s%s", text, end_mark(r, first, i));
		else if (wants_comma(r, i))
			text = arena_printf(r->mem, "%s%s", text, is_full(r->language) ? "\uff0c" : ",");
		if (r->ends[i])
			first = i + 1;
		r->w[i]->reading = strcmp(text, r->w[i]->text) != 0 ? text : NULL;
	}
}

void
reading_restore(struct arena *mem, const struct list *paragraphs, const struct reading_hints *hints)
{
	struct restoring r = { .mem = mem, .hints = hints, .language = arena_copy_n(mem, hints->language,
	    strcspn(hints->language, "-_")) };

	r.w = reading_words(mem, paragraphs, &r.n);
	r.low = arena_array(mem, r.n, sizeof(*r.low));
	r.ends = arena_array(mem, r.n, sizeof(*r.ends));
	r.forms = arena_array(mem, FORMS, sizeof(*r.forms));
	for (size_t i = 0; i < r.n; i++)
		r.low[i] = small(mem, r.w[i]->text, r.language);
	for (size_t i = 0; i < hints->texts.n; i++)
		learn(&r, hints->texts.at[i]);
	know_calendar(&r);
	know_countries(&r);
	for (size_t i = 0; i < hints->terms.n; i++)
		know(&r, hints->terms.at[i]);
	find_ends(&r);
	write_words(&r);
}
