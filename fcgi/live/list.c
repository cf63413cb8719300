/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Media playlists of livestreams, written and read back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/list.h"

/* Times stand at every eighth segment and behind breaks: the list of a long day is asked for every two seconds. */
enum { TIMED = 8 };

/* Who waits plays so far behind the edge, and may leave out what is older than so many targets. */
enum { HOLD_BACK_MS = 3 * LIST_PART_MS, SKIPS_TARGETS = 6 };

void
list_free(struct live_list *l)
{
	free(l->at);
	l->at = NULL;
	l->n = l->room = 0;
}

int64_t
list_next(const struct live_list *l)
{
	return l->n > 0 ? l->at[l->n - 1].number + 1 : l->first > 0 ? l->first : 1;
}

static void
add(struct live_list *l, const struct entry *e)
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
list_add(struct live_list *l, const struct entry *e, struct entry *gone)
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

size_t
list_parts(const struct live_list *l, int64_t number)
{
	const struct parts *p = &l->parts[number % LIST_KEPT];

	return p->number == number ? p->n : 0;
}

bool
list_add_part(struct live_list *l, const struct entry *growing, const struct part *part, struct parts *gone)
{
	struct parts *p = &l->parts[growing->number % LIST_KEPT];
	bool leaves = p->number != growing->number && p->n > 0;

	*gone = *p;
	if (p->number != growing->number)
		*p = (struct parts){ .number = growing->number, .session = growing->session };
	if (p->n < LIST_PARTS)
		p->at[p->n++] = *part;
	l->growing = *growing;
	return leaves;
}

bool
list_forget_parts(struct live_list *l, struct parts *gone)
{
	struct parts *p = &l->parts[list_next(l) % LIST_KEPT];

	if (list_parts(l, list_next(l)) == 0)
		return false;
	*gone = *p;
	*p = (struct parts){ 0 };
	return true;
}

enum list_turn
list_turn(const struct live_list *l, int64_t number, int64_t place)
{
	const int64_t next = list_next(l);

	/* Behind the last part of a segment comes the first one of the next. */
	if (number == next - 1 && place >= 0 && l->parts[number % LIST_KEPT].number == number &&
	    place >= (int64_t)list_parts(l, number)) {
		number = next;
		place = 0;
	}
	if (number > next + 1 || place >= LIST_PARTS)
		return LIST_NEVER;
	if (l->ended || number < next)
		return LIST_NOW;
	return number == next && place >= 0 && place < (int64_t)list_parts(l, number) ? LIST_NOW : LIST_LATER;
}

static void
write_entry(const struct live_list *l, const struct entry *e, bool first, struct buf *b)
{
	char at[MOMENT_TEXT];

	if (e->breaks)
		buf_text(b, "#EXT-X-DISCONTINUITY\n");
	if (!e->gap && !l->is_text && (first || (e != &l->growing && (e[-1].gap || e->session != e[-1].session))))
		buf_printf(b, "#EXT-X-MAP:URI=\"%" PRId64 ".%s.mp4\"\n", e->session, l->word);
	if (first || e->breaks || e->number % TIMED == 0)
		buf_printf(b, "#EXT-X-PROGRAM-DATE-TIME:%s\n", moment_format(e->at, at));
}

static void
write_segment(const struct live_list *l, const struct entry *e, struct buf *b)
{
	if (e->gap)
		buf_text(b, "#EXT-X-GAP\n");
	buf_printf(b, "#EXTINF:%" PRId64 ".%03d,\n%" PRId64 ".%s.%s\n", e->ms / 1000, (int)(e->ms % 1000), e->number,
	    l->word, l->is_text ? "vtt" : "m4s");
}

static void
write_head(const struct live_list *l, struct buf *b)
{
	buf_printf(b, "#EXT-X-MEDIA-SEQUENCE:%" PRId64 "\n", l->first);
	if (l->keeps_all)
		buf_text(b, "#EXT-X-PLAYLIST-TYPE:EVENT\n");
	else
		buf_printf(b, "#EXT-X-DISCONTINUITY-SEQUENCE:%" PRId64 "\n", l->breaks_before);
}

void
list_write(const struct live_list *l, struct buf *b)
{
	size_t i;

	buf_printf(b, "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%" PRId64 "\n", l->target);
	write_head(l, b);
	for (i = 0; i < l->n; i++) {
		write_entry(l, &l->at[i], i == 0, b);
		write_segment(l, &l->at[i], b);
	}
	if (l->ended)
		buf_text(b, "#EXT-X-ENDLIST\n");
}

static void
write_parts(const struct live_list *l, int64_t number, struct buf *b)
{
	const struct parts *p = &l->parts[number % LIST_KEPT];
	size_t i, n = list_parts(l, number);

	for (i = 0; i < n; i++)
		buf_printf(b, "#EXT-X-PART:DURATION=%" PRId64 ".%03d,URI=\"%" PRId64 ".%" PRId64 ".%zu.%s.m4s\"%s\n",
		    p->at[i].ms / 1000, (int)(p->at[i].ms % 1000), number, p->session, i, l->word,
		    p->at[i].alone ? ",INDEPENDENT=YES" : "");
}

/* How many at the beginning are known to who has a text that is not old. */
static size_t
known(const struct live_list *l)
{
	int64_t ms = 0;
	size_t i = l->n;

	while (i > 0 && ms < SKIPS_TARGETS * l->target * 1000)
		ms += l->at[--i].ms;
	return i;
}

/* What grows, and what is to come. */
static void
write_edge(const struct live_list *l, const struct live_list *reports, struct buf *b)
{
	const int64_t next = list_next(l);
	const struct entry *last = l->n > 0 ? &l->at[l->n - 1] : NULL;
	int64_t number, session = last != NULL ? last->session : 0;
	bool grows;

	if (list_parts(l, next) > 0 && l->growing.number == next) {
		session = l->growing.session;
		write_entry(l, &l->growing, last == NULL || last->gap || last->session != l->growing.session, b);
		write_parts(l, next, b);
	}
	buf_printf(b, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"%" PRId64 ".%" PRId64 ".%zu.%s.m4s\"\n", next, session,
	    list_parts(l, next), l->word);
	if (reports == NULL || reports->n == 0)
		return;
	grows = list_parts(reports, list_next(reports)) > 0;
	number = list_next(reports) - !grows;
	buf_printf(b, "#EXT-X-RENDITION-REPORT:URI=\"low-%s.m3u8\",LAST-MSN=%" PRId64, reports->word, number);
	if (list_parts(reports, number) > 0)
		buf_printf(b, ",LAST-PART=%zu", list_parts(reports, number) - 1);
	buf_char(b, '\n');
}

void
list_write_low(const struct live_list *l, const struct live_list *reports, bool skips, struct buf *b)
{
	const bool parts = !l->whole && !l->ended;
	const size_t from = skips && l->keeps_all ? known(l) : 0;
	size_t i;

	buf_printf(b, "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:%" PRId64 "\n", l->target);
	if (!l->ended)
		buf_text(b, "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES");
	if (parts)
		buf_printf(b, ",PART-HOLD-BACK=%d.%03d", HOLD_BACK_MS / 1000, HOLD_BACK_MS % 1000);
	if (l->keeps_all && !l->ended)
		buf_printf(b, ",CAN-SKIP-UNTIL=%" PRId64, SKIPS_TARGETS * l->target);
	if (!l->ended)
		buf_char(b, '\n');
	if (parts)
		buf_printf(b, "#EXT-X-PART-INF:PART-TARGET=%d.%03d\n", LIST_PART_MS / 1000, LIST_PART_MS % 1000);
	write_head(l, b);
	if (from > 0)
		buf_printf(b, "#EXT-X-SKIP:SKIPPED-SEGMENTS=%zu\n", from);
	for (i = from; i < l->n; i++) {
		write_entry(l, &l->at[i], i == from, b);
		if (parts && i + LIST_SHOWN >= l->n)
			write_parts(l, l->at[i].number, b);
		write_segment(l, &l->at[i], b);
	}
	if (parts)
		write_edge(l, reports, b);
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
take_address(struct live_list *l, const char *line, struct entry *e)
{
	if (sscanf(line, "%" SCNd64 ".", &e->number) != 1)
		return;
	add(l, e);
	*e = (struct entry){ .session = e->session, .at = { e->at.ms + e->ms } };
}

static void
take_line(struct live_list *l, const char *line, struct entry *e)
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
	else if (says(line, "#EXT-X-GAP", &value))
		e->gap = true;
	else if (says(line, "#EXT-X-ENDLIST", &value))
		l->ended = true;
	else if (line[0] != '#')
		take_address(l, line, e);
}

void
list_read(struct live_list *l, const char *text)
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
