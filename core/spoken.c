/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Languages of the engines of the family transcribe. */
#include <string.h>
#include <strings.h>

#include "core/spoken.h"
#include "core/text.h"
#include "core/translate.h"

/* What Whisper was trained on, which is more than other models know. */
static const char *const widely[] = { "af", "am", "ar", "as", "az", "ba", "be", "bg", "bn", "bo", "br", "bs", "ca",
	"cs", "cy", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi", "fo", "fr", "gl", "gu", "ha", "haw", "he", "hi",
	"hr", "ht", "hu", "hy", "id", "is", "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "la", "lb", "ln", "lo",
	"lt", "lv", "mg", "mi", "mk", "ml", "mn", "mr", "ms", "mt", "my", "ne", "nl", "nn", "no", "oc", "pa", "pl",
	"ps", "pt", "ro", "ru", "sa", "sd", "si", "sk", "sl", "sn", "so", "sq", "sr", "su", "sv", "sw", "ta", "te",
	"tg", "th", "tk", "tl", "tr", "tt", "uk", "ur", "uz", "vi", "yi", "yo", "yue", "zh" };
enum { WIDELY = sizeof(widely) / sizeof(widely[0]) };

static bool
is_engine(const struct conf *conf, const char *name)
{
	return strcmp(conf->engine[ENGINE_transcribe].name, name) == 0;
}

static bool
is_translated(const char *language)
{
	return strcmp(language, SPOKEN_TRANSLATED) == 0;
}

/* A model that knows German knows that of Switzerland. */
bool
spoken_lists(const char *list, const char *language)
{
	size_t n = strcspn(language, "-_"), m;

	if (list == NULL)
		return true;
	for (; *list != '\0'; list += m + (list[m] == ',')) {
		m = strcspn(list, ",");
		if (strcspn(list, "-_,") == n && strncasecmp(list, language, n) == 0)
			return true;
	}
	return false;
}

static bool
is_any(const char *language)
{
	return strcasecmp(language, SPOKEN_ANY) == 0;
}

bool
spoken_names(const char *language)
{
	return strncmp(language, "translate-", 10) != 0 && !is_any(language);
}

bool
spoken_known(const struct conf *conf, const char *language)
{
	const struct engine_settings *set = &conf->engine[ENGINE_transcribe];

	if (is_engine(conf, "none"))
		return false;
	if (is_engine(conf, "pocketsphinx"))
		return strcasecmp(language, "en") == 0 || strncasecmp(language, "en-", 3) == 0;
	if (is_engine(conf, "http"))
		return true;
	if (is_any(language))
		return false;
	if (is_translated(language))
		return strcmp(set->type, "whisper") == 0;
	return spoken_lists(set->languages, language);
}

struct strings
spoken_languages(struct arena *mem, const struct conf *conf)
{
	const char *list = is_engine(conf, "sherpa") ? conf->engine[ENGINE_transcribe].languages : NULL;
	const size_t room = WIDELY + 2 + (list != NULL ? strlen(list) : 0);
	struct strings out = { arena_array(mem, room, sizeof(const char *)), 0 };
	size_t i, m;

	for (i = 0; list == NULL && i < WIDELY; i++)
		if (spoken_known(conf, widely[i]))
			out.at[out.n++] = widely[i];
	for (; list != NULL && *list != '\0'; list += m + (list[m] == ',')) {
		m = strcspn(list, ",");
		if (m > 0)
			out.at[out.n++] = arena_copy_n(mem, list, m);
	}
	if (spoken_known(conf, SPOKEN_TRANSLATED) || translate_any(conf))
		out.at[out.n++] = SPOKEN_TRANSLATED;
	if (spoken_known(conf, SPOKEN_ANY))
		out.at[out.n++] = SPOKEN_ANY;
	return out;
}

const char *
spoken_plain(struct arena *mem, const char *language)
{
	size_t n = strlen(language);

	return n > 3 && strcasecmp(language + n - 3, "-v2") == 0 ? arena_copy_n(mem, language, n - 3) : language;
}
