/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The language of a page, and what is said in it */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/udat.h>
#include <unicode/unum.h>
#include <unicode/ustring.h>

#include "core/catalogue.h"
#include "fcgi/say.h"

enum { DAY_MAX = 64 };

/* The format is made when it is first needed. */
static struct language {
	const char *tag;
	UDateFormat *date;
} languages[] = {
#define LANGUAGE_ROW(tag, name) { #tag, NULL },
	LANGUAGES(LANGUAGE_ROW)
#undef LANGUAGE_ROW
};
enum { N_LANGUAGES = sizeof(languages) / sizeof(languages[0]) };

/* That of a tag such as "de-AT", without regard to case; NULL: we do not speak it. */
static struct language *
language_of(const char *tag, size_t n)
{
	size_t i, main = 0;

	while (main < n && tag[main] != '-')
		main++;
	for (i = 0; i < N_LANGUAGES; i++)
		if (strlen(languages[i].tag) == main && strncasecmp(languages[i].tag, tag, main) == 0)
			return &languages[i];
	return NULL;
}

const char *
say_chosen(const struct req *r)
{
	const char *p = strchr(r->uri, '?');
	const struct language *l;

	for (; p != NULL && *p != '#'; p = strchr(p, '&'))
		if (strncmp(++p, "lang=", 5) == 0)
			return (l = language_of(p + 5, strcspn(p + 5, "&#"))) != NULL ? l->tag : NULL;
	return NULL;
}

/* RFC 9110 section 12.5.4: the one of highest weight, of equals the first. */
static struct language *
accepted(const char *list)
{
	struct language *best = NULL, *l;
	double weight, most = 0;

	for (; list != NULL && *list != '\0'; list += *list == ',') {
		size_t n = strcspn(list += strspn(list, " \t"), ",; \t"), all = strcspn(list, ",");
		const char *q = memmem(list, all, "q=", 2);

		weight = q != NULL ? atof(q + 2) : 1;
		if ((l = language_of(list, n)) != NULL && weight > most) {
			best = l;
			most = weight;
		}
		list += all;
	}
	return best != NULL ? best : &languages[0];
}

static struct language *
language(struct req *r)
{
	const char *chosen;

	if (r->language == NULL) {
		chosen = say_chosen(r);
		r->language = chosen != NULL ? chosen : accepted(r->accept_language)->tag;
	}
	return language_of(r->language, strlen(r->language));
}

const char *
say_language(struct req *r)
{
	return language(r)->tag;
}

void
say_in(struct req *r, const char *tag)
{
	const struct language *l = tag != NULL ? language_of(tag, strlen(tag)) : NULL;

	if (l != NULL)
		r->language = l->tag;
}

static const struct catalogue *
texts(struct req *r)
{
	return catalogue_of(r->conf, language(r)->tag);
}

const char *
say(struct req *r, const char *text)
{
	return catalogue_text(texts(r), text);
}

const char *
say_n(struct req *r, const char *one, const char *many, int64_t n)
{
	return catalogue_plural(texts(r), one, many, n);
}

static const char *
from_utf16(struct req *r, const UChar *text)
{
	UErrorCode error = U_ZERO_ERROR;
	char *out = arena_alloc(r->mem, DAY_MAX * 4);

	u_strToUTF8(out, DAY_MAX * 4, NULL, text, -1, &error);
	return U_FAILURE(error) ? "" : out;
}

const char *
say_decimal(struct req *r, double x, int digits)
{
	UErrorCode error = U_ZERO_ERROR;
	UNumberFormat *format = unum_open(UNUM_DECIMAL, NULL, 0, say_language(r), NULL, &error);
	UChar out[DAY_MAX] = { 0 };

	if (U_FAILURE(error))
		return arena_printf(r->mem, "%.*f", digits, x);
	unum_setAttribute(format, UNUM_FRACTION_DIGITS, digits);
	unum_formatDouble(format, x, out, DAY_MAX - 1, NULL, &error);
	unum_close(format);
	return from_utf16(r, out);
}

const char *
say_date(struct req *r, struct moment when)
{
	static const UChar utc[] = { 'U', 'T', 'C', 0 };
	UErrorCode error = U_ZERO_ERROR;
	struct language *l = language(r);
	UChar out[DAY_MAX] = { 0 };

	if (l->date == NULL)
		l->date = udat_open(UDAT_NONE, UDAT_MEDIUM, l->tag, utc, -1, NULL, 0, &error);
	if (l->date != NULL)
		udat_format(l->date, (UDate)when.ms, out, DAY_MAX - 1, NULL, &error);
	return from_utf16(r, out);
}
