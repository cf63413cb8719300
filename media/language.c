/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Languages, by what ICU knows of them. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unicode/uldnames.h>
#include <unicode/uloc.h>
#include <unicode/ustring.h>

#include "core/text.h"
#include "media/language.h"

enum { TAG_MAX = 35, NAME_MAX = 150 };

/* The codes of ISO 639-2 that libraries prefer (B); ICU knows the others (T). */
static const struct { char bibliographic[4], tag[3]; } older[] = {
	{ "alb", "sq" }, { "arm", "hy" }, { "baq", "eu" }, { "bur", "my" }, { "chi", "zh" }, { "cze", "cs" },
	{ "dut", "nl" }, { "fre", "fr" }, { "geo", "ka" }, { "ger", "de" }, { "gre", "el" }, { "ice", "is" },
	{ "mac", "mk" }, { "mao", "mi" }, { "may", "ms" }, { "per", "fa" }, { "rum", "ro" }, { "scr", "hr" },
	{ "slo", "sk" }, { "tib", "bo" }, { "wel", "cy" },
};

/* Codes that say what a track is not, and those that everybody may use as he likes. */
static bool
names_none(const char *tag)
{
	const size_t n = strcspn(tag, "-");

	return n < 2 || n > 3 || word_in("und mis mul zxx root", tag, n) ||
	    (n == 3 && tag[0] == 'q' && tag[1] >= 'a' && tag[1] <= 't');
}

const char *
language_tag(struct arena *mem, const char *code)
{
	UErrorCode error = U_ZERO_ERROR;
	char tag[TAG_MAX + 1], locale[ULOC_FULLNAME_CAPACITY], out[ULOC_FULLNAME_CAPACITY];
	int32_t parsed;
	size_t i;

	if (code == NULL || strlen(code) > TAG_MAX)
		return NULL;
	for (i = 0; code[i] != '\0'; i++)
		tag[i] = code[i] == '_' ? '-' : (char)tolower((unsigned char)code[i]);
	tag[i] = '\0';
	for (i = 0; i < sizeof(older) / sizeof(older[0]); i++)
		if (strcmp(tag, older[i].bibliographic) == 0)
			strcpy(tag, older[i].tag);
	if (!language_valid(tag) || names_none(tag))
		return NULL;
	uloc_forLanguageTag(tag, locale, sizeof(locale), &parsed, &error);
	if (U_FAILURE(error) || (size_t)parsed != strlen(tag))
		return NULL;
	uloc_toLanguageTag(locale, out, sizeof(out), true, &error);
	return U_FAILURE(error) || strlen(out) > TAG_MAX ? NULL : arena_copy(mem, out);
}

/* Names that engines have and ICU has not, or not so. */
static const struct { const char *name, *tag; } named[] = {
	{ "myanmar", "my" }, { "nynorsk", "nn" }, { "maori", "mi" }, { "tagalog", "tl" }, { "flemish", "nl" },
	{ "moldavian", "ro" }, { "castilian", "es" },
};

const char *
language_named(struct arena *mem, const char *name)
{
	const char *const *code = uloc_getISOLanguages(), *tag = language_tag(mem, name);
	UErrorCode error;
	UChar wide[NAME_MAX];
	char own[3 * NAME_MAX + 1];
	size_t i;

	for (i = 0; tag == NULL && name != NULL && i < sizeof(named) / sizeof(named[0]); i++)
		if (strcasecmp(named[i].name, name) == 0)
			return named[i].tag;
	for (; tag == NULL && name != NULL && *code != NULL; code++) {
		error = U_ZERO_ERROR;
		u_strToUTF8(own, sizeof(own), NULL, wide, uloc_getDisplayLanguage(*code, "en", wide, NAME_MAX, &error),
		    &error);
		if (U_SUCCESS(error) && strcasecmp(own, name) == 0)
			tag = language_tag(mem, *code);
	}
	return tag;
}

const char *
language_three(const char *tag)
{
	UErrorCode error = U_ZERO_ERROR;
	char locale[ULOC_FULLNAME_CAPACITY];
	const char *three = "";
	int32_t parsed;

	uloc_forLanguageTag(tag != NULL ? tag : "", locale, sizeof(locale), &parsed, &error);
	if (U_SUCCESS(error))
		three = uloc_getISO3Language(locale);
	return *three != '\0' ? three : "und";
}

const char *
language_label(struct arena *mem, const char *tag)
{
	UDisplayContext how[] = { UDISPCTX_CAPITALIZATION_FOR_UI_LIST_OR_MENU, UDISPCTX_DIALECT_NAMES };
	UErrorCode error = U_ZERO_ERROR;
	char locale[ULOC_FULLNAME_CAPACITY], out[3 * NAME_MAX + 1];
	ULocaleDisplayNames *names;
	UChar name[NAME_MAX];
	int32_t n = 0, parsed;

	uloc_forLanguageTag(tag, locale, sizeof(locale), &parsed, &error);
	names = uldn_openForContext(locale, how, 2, &error);
	if (U_SUCCESS(error))
		n = uldn_localeDisplayName(names, locale, name, NAME_MAX, &error);
	uldn_close(names);
	u_strToUTF8(out, sizeof(out), NULL, name, n, &error);
	return arena_copy(mem, U_FAILURE(error) || n <= 0 ? tag : out);
}

bool
language_is_right_to_left(const char *tag)
{
	char locale[ULOC_FULLNAME_CAPACITY];
	UErrorCode error = U_ZERO_ERROR;

	uloc_forLanguageTag(tag, locale, sizeof(locale), NULL, &error);
	return U_SUCCESS(error) && error != U_STRING_NOT_TERMINATED_WARNING && uloc_isRightToLeft(locale);
}
