/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, dates and amounts of a text. */
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <unicode/ucal.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include "core/fold.h"
#include "media/entities.h"

/* Words of a name; letters of a name of a list; characters of a name of ICU; bytes of a sentence that is looked at. */
enum { NAME_WORDS = 6, NAME_LEAST = 3, NAME_BYTES = 400, ICU_NAME = 100, SENTENCE_MAX = 8000 };
/* How sure each way is.  A single word that nothing sets apart has to be heard clearly. */
static const double by_form = 0.95, by_own_list = 0.95, by_country = 0.9, by_city = 0.75, by_title = 0.7, clear = 0.8;

/* Bounded: what is matched is anybody's text, and each digit may begin a number. */
#define NUMBER "[0-9]([0-9.,'\xc2\xa0 ]{0,24}[0-9])?"
#define SCALE "( ?(thousand|million|billion|trillion|hundert|tausend|millionen|million|milliarden|milliarde|mille|millions|milliards))?"
#define MONTH "(january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|m\xc3\xa4rz|mai|juni|" \
	"juli|oktober|dezember|janvier|f\xc3\xa9vrier|mars|avril|juin|juillet|ao\xc3\xbbt|septembre|octobre|novembre|d\xc3\xa9" "cembre|enero|febrero|" \
	"marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|jan|feb|apr|jun|jul|aug|sept|sep|oct|okt|nov|dec|dez)"
#define EDGE "(^|[^[:alnum:]_.@/-])"

/* What is found is the second group.  They do not look at what a form before has found. */
static const struct { const char *category, *pattern; } forms[] = {
	{ "url", EDGE "((https?://|www\\.)[^][:space:]<>\"'()]*[[:alnum:]/])" },
	{ "email", EDGE "([[:alnum:]][[:alnum:]._%+-]{0,63}@[[:alnum:]][[:alnum:].-]*\\.[[:alpha:]]{2,24})" },
	{ "date", EDGE "([12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))([^0-9-]|$)" },
	{ "date", EDGE "((0?[1-9]|[12][0-9]|3[01])[./](0?[1-9]|1[0-2])[./][12][0-9]{3})([^0-9]|$)" },
	{ "date", EDGE "((0?[1-9]|[12][0-9]|3[01])(\\.|st|nd|rd|th)? (de |of )?" MONTH "\\.?( (de )?[12][0-9]{3})?)([^[:alnum:]]|$)" },
	{ "date", EDGE "(" MONTH "\\.? (0?[1-9]|[12][0-9]|3[01])(st|nd|rd|th)?(,? [12][0-9]{3})?)([^[:alnum:]]|$)" },
	{ "date", EDGE "(" MONTH "\\.? [12][0-9]{3})([^[:alnum:]]|$)" },
	{ "amount", EDGE "((\\$|\xe2\x82\xac|\xc2\xa3|\xc2\xa5|usd|eur|gbp|chf) ?" NUMBER SCALE ")([^[:alnum:]]|$)" },
	{ "amount", EDGE "(" NUMBER SCALE " ?(\\$|\xe2\x82\xac|\xc2\xa3|%|euros?|dollars?|pounds?|cents?|usd|eur|gbp|chf|franken|percent|prozent|"
	    "pour cent|por ciento))([^[:alnum:]]|$)" },
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]), GROUPS = 3 };

static const char *const titles[] = { "dr", "prof", "professor", "mr", "mrs", "ms", "herr", "frau", "madame",
    "monsieur", "senor", "senora", "signor", "signora", "president", "minister", NULL };
static const char *const legal[] = { "gmbh", "ag", "inc", "ltd", "llc", "corp", "corporation", "plc", "kg", "ev", "se",
    "sarl", "foundation", "stiftung", "university", "universitat", "institute", "institut", "verein", NULL };

/* A name of a list, by its words. */
struct listed { const char *words[NAME_WORDS]; size_t n; const char *category; double confidence; bool own; };

struct found { const char *key, *name, *category; double confidence; size_t at; struct place place; };

struct search {
	const struct prose *p;
	struct arena *mem;
	struct prose_reader *names;	/* of lists */
	struct listed *lists;		/* in the order of their words */
	size_t n_lists, room_lists;
	bool *used;			/* by token */
	struct found *found;
	size_t n_found, room_found;
};

static void
free_regex(void *form)
{
	regfree(form);
}

static void
note(struct search *s, size_t from, size_t to, const char *name, const char *category, double confidence)
{
	const struct token *t = s->p->tokens;
	const struct folded *f;
	struct found *more, *one;
	struct buf key = BUF(s->mem);
	double weakest = 1;
	size_t i, n;

	if (s->n_found == s->room_found) {
		s->room_found = s->room_found * 2 + 64;
		more = arena_array(s->mem, s->room_found, sizeof(*more));
		if (s->n_found > 0)
			memcpy(more, s->found, s->n_found * sizeof(*more));
		s->found = more;
	}
	for (i = from; i < to; i++) {
		s->used[i] = true;
		weakest = fmin(weakest, t[i].confidence);
	}
	f = fold_words(s->mem, name, &n);
	for (i = 0; i < n; i++)
		buf_printf(&key, "%s ", f[i].word);
	one = &s->found[s->n_found++];
	*one = (struct found){ buf_string(&key), name, category, confidence * weakest, from, t[from].place };
	one->place.end = t[to - 1].place.end;
}

/* The tokens of a sentence that stand in [from, to) of its text. */
static bool
tokens_of(const struct search *s, const struct sentence *in, size_t from, size_t to, size_t *first, size_t *last)
{
	const char *at = in->text, *t;
	size_t i, begin;

	*first = *last = in->to;
	for (i = in->from; i < in->to; i++) {
		t = strstr(at, s->p->tokens[i].text);
		if (t == NULL)
			continue;
		begin = (size_t)(t - in->text);
		at = t + strlen(s->p->tokens[i].text);
		if (begin >= to)
			break;
		if ((size_t)(at - in->text) <= from)
			continue;
		*first = *first == in->to ? i : *first;
		*last = i + 1;
	}
	return *first < in->to;
}

static void
find_forms(struct search *s, const regex_t *regex)
{
	const struct prose *p = s->p;
	size_t i, k, m, first, last;
	regmatch_t g[GROUPS];

	for (i = 0; i < p->n_sentences; i++)
		for (k = 0; k < FORMS && strlen(p->sentences[i].text) < SENTENCE_MAX; k++) {
			const char *text = p->sentences[i].text, *at = text;

			for (; regexec(&regex[k], at, GROUPS, g, at > text ? REG_NOTBOL : 0) == 0; at += g[2].rm_eo) {
				const size_t from = (size_t)(at - text) + (size_t)g[2].rm_so;
				const size_t to = (size_t)(at - text) + (size_t)g[2].rm_eo;

				if (!tokens_of(s, &p->sentences[i], from, to, &first, &last))
					continue;
				for (m = first; m < last && !s->used[m];)
					m++;
				if (m < last)
					continue;
				note(s, first, last, arena_copy_n(s->mem, text + from, to - from), forms[k].category,
				    by_form);
			}
		}
}

static bool
is_listed(const char *const *list, const char *word)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

static void
add_listed(struct search *s, const char *name, const char *category, double confidence, bool own)
{
	struct listed *more;

	if (strlen(name) < NAME_LEAST || strlen(name) > NAME_BYTES)
		return;
	if (s->n_lists == s->room_lists) {
		s->room_lists = s->room_lists * 2 + 512;
		more = arena_array(s->mem, s->room_lists, sizeof(*more));
		if (s->n_lists > 0)
			memcpy(more, s->lists, s->n_lists * sizeof(*more));
		s->lists = more;
	}
	s->lists[s->n_lists++] = (struct listed){ .category = category, .confidence = confidence, .own = own };
	/* The place of its words in the list of names is told by the number of a page. */
	prose_show(s->names, name, (struct place){ -1, -1, (int64_t)s->n_lists }, 1, true);
}

/* As the text is cut into words, so are the names; those without any, or with too many, are none. */
static void
cut_names(struct search *s)
{
	const struct prose *p = prose_end(s->names, "und");
	size_t i, k, kept = 0;

	for (i = 0; i < p->n_sentences; i++) {
		struct listed l = s->lists[p->sentences[i].place.page - 1];

		if (p->sentences[i].to - p->sentences[i].from > NAME_WORDS)
			continue;
		for (k = p->sentences[i].from; k < p->sentences[i].to; k++)
			l.words[l.n++] = p->vocables[p->tokens[k].vocable].folded;
		s->lists[kept++] = l;
	}
	s->n_lists = kept;
}

static void
add_utf16(struct search *s, const UChar *name, int32_t n, const char *category, double confidence)
{
	char out[ICU_NAME * 4];
	UErrorCode error = U_ZERO_ERROR;
	int32_t size = 0;

	u_strToUTF8(out, sizeof(out) - 1, &size, name, n, &error);
	if (U_FAILURE(error))
		return;
	out[size] = '\0';
	add_listed(s, out, category, confidence, false);
}

/* "America/Argentina/Buenos_Aires" tells of Buenos Aires. */
static void
add_zones(struct search *s)
{
	UErrorCode error = U_ZERO_ERROR;
	UEnumeration *zones = ucal_openTimeZoneIDEnumeration(UCAL_ZONE_TYPE_CANONICAL_LOCATION, NULL, NULL, &error);
	const char *id, *city;
	char *name, *c;

	while (U_SUCCESS(error) && (id = uenum_next(zones, NULL, &error)) != NULL) {
		city = strrchr(id, '/');
		if (city == NULL || strncmp(id, "Etc/", 4) == 0)
			continue;
		name = arena_copy(s->mem, city + 1);
		for (c = name; *c != '\0'; c++)
			*c = *c == '_' ? ' ' : *c;
		add_listed(s, name, "place", by_city, false);
	}
	uenum_close(zones);
}

static void
add_places(struct search *s)
{
	const char *const *country = uloc_getISOCountries();
	const char *languages[] = { "en", s->p->language };
	UChar name[ICU_NAME];
	size_t i;

	for (; *country != NULL; country++)
		for (i = 0; i < 2 && languages[i] != NULL; i++) {
			char locale[8] = "und_";
			UErrorCode error = U_ZERO_ERROR;
			int32_t n;

			strncat(locale, *country, 3);
			n = uloc_getDisplayCountry(locale, languages[i], name, ICU_NAME, &error);
			if (U_SUCCESS(error) && n > 0)
				add_utf16(s, name, n, "place", by_country);
		}
	add_zones(s);
}

static int
by_words(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	size_t i;
	int order = strcmp(x->words[0], y->words[0]);

	/* Of those that begin alike the longest first, and of the same one that of the caller. */
	if (order != 0)
		return order;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	for (i = 1; order == 0 && i < x->n; i++)
		order = strcmp(x->words[i], y->words[i]);
	return order != 0 ? order : (x->confidence < y->confidence) - (x->confidence > y->confidence);
}

static bool
stands_at(const struct search *s, const struct listed *l, size_t at)
{
	const struct token *t = s->p->tokens;
	size_t i;

	if (at + l->n > s->p->n)
		return false;
	for (i = 0; i < l->n; i++)
		if (s->used[at + i] || t[at + i].sentence != t[at].sentence || (i > 0 && t[at + i].begins && !l->own) ||
		    strcmp(s->p->vocables[t[at + i].vocable].folded, l->words[i]) != 0)
			return false;
	if (l->n > 1)
		return true;
	/* "mark", "reading": as one word in small letters a person or a city is none. */
	if (strcmp(l->category, "person") == 0 || l->confidence <= by_city)
		return s->p->has_case && prose_is_capital(&t[at]);
	return t[at].confidence > clear && (!s->p->has_case || l->own || prose_is_capital(&t[at]));
}

static void
find_listed(struct search *s)
{
	size_t i, low, high, middle;

	qsort(s->lists, s->n_lists, sizeof(*s->lists), by_words);
	for (i = 0; i < s->p->n; i++) {
		const char *folded = s->p->vocables[s->p->tokens[i].vocable].folded;

		for (low = 0, high = s->n_lists; low < high;) {
			middle = (low + high) / 2;
			if (strcmp(s->lists[middle].words[0], folded) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < s->n_lists && strcmp(s->lists[low].words[0], folded) == 0; low++)
			if (stands_at(s, &s->lists[low], i))
				break;
		if (low < s->n_lists && strcmp(s->lists[low].words[0], folded) == 0) {
			const struct listed *l = &s->lists[low];
			struct buf name = BUF(s->mem);
			size_t k;

			for (k = 0; k < l->n; k++)
				buf_printf(&name, "%s%s", k > 0 ? " " : "", s->p->tokens[i + k].text);
			note(s, i, i + l->n, buf_string(&name), l->category, l->confidence);
			i += l->n - 1;
		}
	}
}

static void
note_span(struct search *s, size_t from, size_t to, const char *category)
{
	struct buf name = BUF(s->mem);
	size_t i;

	for (i = from; i < to; i++)
		buf_printf(&name, "%s%s", i > from ? " " : "", s->p->tokens[i].text);
	note(s, from, to, buf_string(&name), category, by_title);
}

static const char *
folded_at(const struct search *s, size_t i)
{
	return s->p->vocables[s->p->tokens[i].vocable].folded;
}

static bool
may_be_of_name(const struct search *s, size_t i, size_t sentence)
{
	const struct token *t = &s->p->tokens[i];

	return i < s->p->n && !s->used[i] && t->sentence == sentence && prose_is_capital(t) &&
	    !s->p->vocables[t->vocable].common;
}

/* "Dr. Ada Lovelace", "Lovelace Engines GmbH", "University of York": where capitals tell names. */
static void
find_titled(struct search *s)
{
	const struct token *t = s->p->tokens;
	size_t i, from, to;

	for (i = 0; s->p->has_case && i < s->p->n; i++) {
		const size_t in = t[i].sentence;

		if (s->used[i] || !prose_is_capital(&t[i]))
			continue;
		if (is_listed(titles, folded_at(s, i))) {
			for (to = i + 1; to < i + 4 && may_be_of_name(s, to, in) && (to == i + 1 || !t[to].begins);)
				to++;
			if (to > i + 1)
				note_span(s, i + 1, to, "person");
		} else if (is_listed(legal, folded_at(s, i))) {
			for (from = i; from > 0 && i - from < 3 && !t[from].begins && may_be_of_name(s, from - 1, in);)
				from--;
			to = i + 1;
			if (i + 2 < s->p->n && strcmp(folded_at(s, i + 1), "of") == 0 && may_be_of_name(s, i + 2, in))
				to = i + 3;
			if (from < i || to > i + 1)
				note_span(s, from, to, "organisation");
		}
	}
}

static int
by_key(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order = strcmp(x->category, y->category);

	if (order == 0)
		order = strcmp(x->key, y->key);
	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int
by_count(const void *a, const void *b)
{
	const struct entity *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct entity
entity_of(struct arena *mem, const struct found *f, size_t n)
{
	struct entity e = { .name = f->name, .category = f->category, .count = n };
	struct place *at = arena_array(mem, n < ENTITY_INSTANCES ? n : ENTITY_INSTANCES, sizeof(*at));
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		sum += f[i].confidence;
		if (e.n < ENTITY_INSTANCES && (e.n == 0 || f[i].place.page == 0 || at[e.n - 1].page != f[i].place.page))
			at[e.n++] = f[i].place;
	}
	e.confidence = sum / (double)n;
	e.instances = at;
	return e;
}

static struct entity *
gather(struct search *s, size_t *n)
{
	struct entity *all = arena_array(s->mem, s->n_found, sizeof(*all));
	const struct found *f = s->found;
	size_t i, k;

	*n = 0;
	if (s->n_found > 0)
		qsort(s->found, s->n_found, sizeof(*s->found), by_key);
	for (i = 0; i < s->n_found; i = k) {
		for (k = i; k < s->n_found && strcmp(f[k].category, f[i].category) == 0 &&
		    strcmp(f[k].key, f[i].key) == 0;)
			k++;
		all[(*n)++] = entity_of(s->mem, &f[i], k - i);
	}
	if (*n > 0)
		qsort(all, *n, sizeof(*all), by_count);
	*n = *n < ENTITIES_MAX ? *n : ENTITIES_MAX;
	return all;
}

struct entity *
entities_find(const struct prose *p, const struct entity_name *known, size_t n_known, size_t *n)
{
	struct search s = { .p = p, .mem = p->mem, .used = arena_array(p->mem, p->n, sizeof(bool)) };
	regex_t *regex = arena_array(p->mem, FORMS, sizeof(*regex));
	size_t i;

	for (i = 0; i < FORMS; i++) {
		if (regcomp(&regex[i], forms[i].pattern, REG_EXTENDED | REG_ICASE) != 0)
			abort(); /* they are constants */
		arena_defer(p->mem, free_regex, &regex[i]);
	}
	find_forms(&s, regex);
	s.names = prose_begin(p->mem);
	for (i = 0; i < n_known; i++)
		add_listed(&s, known[i].name, known[i].category, by_own_list, true);
	add_places(&s);
	cut_names(&s);
	find_listed(&s);
	find_titled(&s);
	return gather(&s, n);
}

const char *
entities_json(struct arena *mem, const struct entity *e, size_t n)
{
	struct buf b = BUF(mem);
	size_t i, m;

	buf_text(&b, "{\"items\":[");
	for (i = 0; i < n; i++) {
		buf_text(&b, i > 0 ? ",{\"name\":" : "{\"name\":");
		buf_json(&b, e[i].name);
		buf_printf(&b, ",\"category\":\"%s\",\"confidence\":%.2f,\"count\":%zu,\"instances\":[", e[i].category,
		    e[i].confidence, e[i].count);
		for (m = 0; m < e[i].n; m++) {
			if (m > 0)
				buf_char(&b, ',');
			prose_place(&b, &e[i].instances[m]);
		}
		buf_text(&b, "]}");
	}
	buf_text(&b, "]}");
	return buf_string(&b);
}
