/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of Apertium; see translate.h. */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/translate.h"

#define PROGRAM "/usr/bin/apertium"
#define MODES "/usr/share/apertium/modes/"

/* What Debian has into English; older pairs are called by two letters. */
static const struct { const char *language, *modes[2]; } pairs[] = {
	{ "es", { "spa-eng", "es-en" } },
	{ "ca", { "cat-eng", "ca-en" } },
	{ "gl", { "gl-en", "glg-eng" } },
	{ "eu", { "eu-en", "eus-eng" } },
	{ "eo", { "eo-en", "epo-eng" } },
	{ "is", { "isl-eng", "is-en" } },
	{ "mk", { "mkd-eng", "mk-en" } },
	{ "hr", { "hbs-eng", "sh-en" } },
	{ "bs", { "hbs-eng", "sh-en" } },
	{ "sr", { "hbs-eng", "sh-en" } },
	{ "sh", { "hbs-eng", "sh-en" } },
};

static const char *
installed(struct arena *mem, size_t pair)
{
	for (size_t i = 0; i < 2; i++)
		if (access(arena_printf(mem, MODES "%s.mode", pairs[pair].modes[i]), R_OK) == 0)
			return pairs[pair].modes[i];
	return NULL;
}

static bool
is_wanted(const struct conf *conf)
{
	return strcmp(conf->engine[ENGINE_translate].name, "apertium") == 0 && access(PROGRAM, X_OK) == 0;
}

const char *
translate_mode(struct arena *mem, const struct conf *conf, const char *language)
{
	const size_t n = strcspn(language, "-_");

	if (!is_wanted(conf))
		return NULL;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strlen(pairs[i].language) == n && strncasecmp(pairs[i].language, language, n) == 0)
			return installed(mem, i);
	return NULL;
}

bool
translate_any(const struct conf *conf)
{
	struct arena *mem = arena_new(1 << 16);
	const bool wanted = is_wanted(conf);
	bool any = false;

	for (size_t i = 0; wanted && !any && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		any = installed(mem, i) != NULL;
	arena_free(mem);
	return any;
}
