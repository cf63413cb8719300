/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and queries of viewers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/livestream.h"
#include "fcgi/live/ask.h"

static bool
takes_number(const char **p, int64_t *out)
{
	size_t digits = strspn(*p, "0123456789");

	*out = strtoll(*p, NULL, 10);
	*p += digits;
	return digits > 0 && digits <= 12;
}

static const char *const words[ASK_LISTS] = { "video", "audio", "720p", "360p" };

static bool
takes_word(const char **p, struct ask *a)
{
	enum ask_list list;
	size_t n;

	for (list = 0; list < ASK_LISTS; list++) {
		n = strlen(words[list]);
		if (strncmp(*p, words[list], n) != 0)
			continue;
		a->list = list;
		a->word = words[list];
		*p += n;
		return true;
	}
	return false;
}

static bool
read_name(struct ask *a, const char *name)
{
	const char *p = name, *low = strncmp(name, "low-", 4) == 0 ? name + 4 : NULL;
	int64_t session;

	a->list = ASK_VIDEO;
	a->word = words[ASK_VIDEO];
	a->number = a->place = -1;
	if (strcmp(name, LIVESTREAM_LOW_PLAYLIST) == 0)
		a->what = ASK_MASTER;
	else if (low != NULL && takes_word(&low, a) && strcmp(low, ".m3u8") == 0)
		a->what = ASK_LIST;
	else if (takes_number(&p, &a->number) && *p++ == '.' && takes_number(&p, &session) && *p++ == '.' &&
	    takes_number(&p, &a->place) && *p++ == '.' && takes_word(&p, a) && strcmp(p, ".m4s") == 0)
		a->what = ASK_PART;
	else
		return false;
	return true;
}

bool
ask_file(struct ask *a, const char *file)
{
	const size_t n = strcspn(file, "?"), folder = PLAY_SECRET - 1;

	if (strncmp(file, "live/", 5) != 0 || n < 5 + folder + 2 || file[5 + folder] != '/' ||
	    n - 5 - folder - 1 >= sizeof(a->name) || memchr(file + 5, '/', folder) != NULL)
		return false;
	snprintf(a->folder, sizeof(a->folder), "%.16s", file + 5);
	snprintf(a->name, sizeof(a->name), "%.*s", (int)(n - 5 - folder - 1), file + 5 + folder + 1);
	return read_name(a, a->name);
}

/* Another one is nobody's. */
static uint64_t
read_viewer(const char *text, size_t n)
{
	unsigned char bytes[8];
	uint64_t number = 0;
	size_t i;

	if (n != 2 * sizeof(bytes) || !hex_decode(text, bytes, sizeof(bytes)))
		return 0;
	for (i = 0; i < sizeof(bytes); i++)
		number = number << 8 | bytes[i];
	return number;
}

/* The value of a member, if it has that name.  NULL: another one has. */
static const char *
value_of(const char *member, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(member, name, n) == 0 && member[n] == '=' ? member + n + 1 : NULL;
}

bool
ask_query(struct ask *a, const char *file)
{
	const char *at = strchrnul(file, '?'), *end, *p;

	if (a->what != ASK_LIST)
		return true;
	for (at += *at != '\0'; *at != '\0'; at = end + (*end != '\0')) {
		end = strchrnul(at, '&');
		if (value_of(at, "_HLS_skip") != NULL)
			a->skips = true;
		else if ((p = value_of(at, "s")) != NULL)
			a->viewer = read_viewer(p, (size_t)(end - p));
		else if ((p = value_of(at, "_HLS_msn")) != NULL && (!takes_number(&p, &a->number) || p != end))
			return false;
		else if ((p = value_of(at, "_HLS_part")) != NULL && (!takes_number(&p, &a->place) || p != end))
			return false;
	}
	return a->place < 0 || a->number >= 0;
}
