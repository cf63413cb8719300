/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folder of what pages load */
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/release.h"

#ifndef KINOTHEK_WEB_DIR
#define KINOTHEK_WEB_DIR "/usr/local/share/kinothek/web"
#endif

static const char *
web_dir(const struct conf *conf)
{
	return conf->web_dir != NULL ? conf->web_dir : KINOTHEK_WEB_DIR;
}

const char *
release_text(const struct conf *conf)
{
	static char text[16384];
	char name[600];
	size_t n;
	FILE *f;

	if (text[0] != '\0')
		return text;
	snprintf(name, sizeof(name), "%s/release", web_dir(conf));
	f = fopen(name, "re");
	n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f != NULL)
		fclose(f);
	if (n == 0) {
		log_text(LOG_LEVEL_ERROR, "web", "%s is not there: pages have no styles, no scripts and one language",
		    name);
		snprintf(text, sizeof(text), "none\n");
	}
	return text;
}

const char *
release_dir(const struct conf *conf)
{
	static char dir[700];
	const char *name = release_text(conf);

	snprintf(dir, sizeof(dir), "%s/%.*s", web_dir(conf), (int)strcspn(name, "\n"), name);
	return dir;
}
