/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Media playlists of livestreams, written and read back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/list.h"

/* Times stand at every eighth segment and behind breaks: the list of a long day is asked for every two seconds. */
enum { TIMED = 8 };

void
list_free(struct list *l)
{
	free(l->at);
	l->at = NULL;
	l->n = l->room = 0;
}

int64_t
list_next(const struct list *l)
{
	return l->n > 0 ? l->at[l->n - 1].number + 1 : l->first > 0 ? l->first : 1;
}

static void
add(struct list *l, const struct entry *e)
{
	if (l->n == l->room) {
		l->room = l->room > 0 ? 2 * l->room : 16;
		l->at = realloc(l->at, l->room * sizeof(*l->at));
		if (l->at == NULL)
			abort();
	}
	if (l->n == 0)
		l->first = e->number;
	l->at[l->n++] = *e;
}

bool
list_add(struct list *l, const struct entry *e, struct entry *gone)
{
	add(l, e);
	if (l->keeps_all || l->n <= LIST_WINDOW)
		return false;
	*gone = l->at[0];
	memmove(l->at, l->at + 1, --l->n * sizeof(*l->at));
	l->first = l->at[0].number;
	/* The mark of the first one goes with the one before it. */
	if (l->at[0].breaks) {
		l->breaks_before++;
		l->at[0].breaks = false;
	}
	return true;
}

static void
write_entry(const struct list *l, size_t i, struct buf *b)
{
	const struct entry *e = &l->at[i];
	char at[MOMENT_TEXT];

	if (e->breaks)
		buf_text(b, "#EXT-X-DISCONTINUITY\n");
	if (i == 0 || e->session != e[-1].session)
		buf_printf(b, "#EXT-X-MAP:URI=\"%" PRId64 ".%s.mp4\"\n", e->session, l->word);
	if (i == 0 || e->breaks || e->number % TIMED == 0)
		buf_printf(b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", moment_format(e->at, at));
	buf_printf(b, "#EXTINF:%" PRId64 ".%03d,\n%" PRId64 ".%s.m4s\n", e->ms / 1000, (int)(e->ms % 1000), e->number,
	    l->word);
}

void
list_write(const struct list *l, struct buf *b)
{
	size_t i;

	buf_printf(b, "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%" PRId64 "\n", l->target);
	buf_printf(b, "#EXT-X-MEDIA-SEQUENCE:%" PRId64 "\n", l->first);
	if (l->keeps_all)
		buf_text(b, "#EXT-X-PLAYLIST-TYPE:EVENT\n");
	else
		buf_printf(b, "#EXT-X-DISCONTINUITY-SEQUENCE:%" PRId64 "\n", l->breaks_before);
	for (i = 0; i < l->n; i++)
		write_entry(l, i, b);
	if (l->ended)
		buf_text(b, "#EXT-X-ENDLIST\n");
}

static bool
says(const char *line, const char *tag, const char **value)
{
	size_t n = strlen(tag);

	*value = line + n;
	return strncmp(line, tag, n) == 0;
}

/* The line of an address, before which all that belongs to it has stood. */
static void
take_address(struct list *l, const char *line, struct entry *e)
{
	if (sscanf(line, "%" SCNd64 ".", &e->number) != 1)
		return;
	add(l, e);
	*e = (struct entry){ .session = e->session, .at = { e->at.ms + e->ms } };
}

static void
take_line(struct list *l, const char *line, struct entry *e)
{
	int64_t s = 0, ms = 0;
	const char *value;

	if (says(line, "#EXT-X-TARGETDURATION:", &value))
		l->target = strtoll(value, NULL, 10);
	else if (says(line, "#EXT-X-DISCONTINUITY-SEQUENCE:", &value))
		l->breaks_before = strtoll(value, NULL, 10);
	else if (says(line, "#EXT-X-DISCONTINUITY", &value))
		e->breaks = true;
	else if (says(line, "#EXT-X-MAP:URI=\"", &value))
		e->session = strtoll(value, NULL, 10);
	else if (says(line, "#EXT-X-PROGRAM-DATE-TIME:", &value))
		moment_parse(value, &e->at);
	else if (says(line, "#EXTINF:", &value) && sscanf(value, "%" SCNd64 ".%3" SCNd64, &s, &ms) == 2)
		e->ms = s * 1000 + ms;
	else if (says(line, "#EXT-X-ENDLIST", &value))
		l->ended = true;
	else if (line[0] != '#')
		take_address(l, line, e);
}

void
list_read(struct list *l, const char *text)
{
	struct entry e = { 0 };
	char line[256];
	size_t n;

	for (; *text != '\0'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1), text);
		take_line(l, line, &e);
	}
}
