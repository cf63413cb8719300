/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TTML, as it is parsed: nothing is kept of a file but its cues. */
#include <ctype.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <pthread.h>
#include <string.h>

#include "core/text.h"
#include "media/ttml.h"
#include "media/xml.h"

/* Elements in each other; bytes of a tag; styles, and agents, that are looked at; bytes of a name. */
enum { DEPTH = 64, TAG = 8192, NAMED = 256, NAME = 60 };

/* How a text looks. */
enum { ITALIC = 1, BOLD = 2, UNDERLINED = 4, UNSEEN = 8 };
static const struct { const char *attribute, *on, *off; unsigned look; } looks[] = {
	{ "fontStyle", "italic oblique", "normal", ITALIC },
	{ "fontWeight", "bold", "normal", BOLD },
	{ "textDecoration", "underline", "none noUnderline", UNDERLINED },
	{ "display", "none", "auto", UNSEEN },
	{ "visibility", "hidden", "visible", UNSEEN },
};

/* A style: what it turns on and off; an agent: what he is called. */
struct named { const char *id, *name; unsigned on, off; };
struct names { struct named at[NAMED]; size_t n; };

/* The text of a cue that is open.  look, speaker: of what it ends with. */
struct draft { struct buf text; unsigned look; const char *speaker; char last; bool seen; size_t line; };

/* An element that is open, with what those in it have of it.  Times are of the recording; end INT64_MAX: not said.  at:
 * where in it the next one begins, where they follow each other. */
struct level {
	int64_t begin, end, at;
	bool times, timed;		/* it says some; it or what is around it does */
	bool follows, keeps_blanks;
	unsigned look;
	const char *speaker;
	struct draft *draft;		/* that its text goes into; NULL: it has none */
	bool begins_draft;
};

struct ttml {
	struct cues *all;
	xmlParserCtxtPtr parser;
	struct level level[DEPTH];
	int depth;			/* of the level that is open */
	int skipping;			/* elements that are none of ours, in each other */
	struct names styles, agents;
	struct buf name;		/* of the agent that is open */
	bool naming;
	double rate, multiplier, ticks;	/* frames per second; what makes them the real ones; 0: not said */
	bool smpte;
};

struct attributes { struct arena *mem; const xmlChar **at; int n; };

/* NULL: there is none.  Spaces of names are passed over: there have been several. */
static const char *
attribute(const struct attributes *a, const char *name)
{
	for (int i = 0; i < a->n; i++)
		if (strcmp((const char *)a->at[5 * i], name) == 0)
			return arena_copy_n(a->mem, (const char *)a->at[5 * i + 3],
			    (size_t)(a->at[5 * i + 4] - a->at[5 * i + 3]));
	return NULL;
}

static void
refuse(struct ttml *t, const char *why)
{
	if (t->all->refused == NULL) {
		t->all->refused = why;
		t->all->refused_line = (size_t)xmlSAX2GetLineNumber(t->parser);
	}
	xmlStopParser(t->parser);
}

static double
number_at(const char **p)
{
	double n = 0, unit = 1;

	for (; isdigit((unsigned char)**p); (*p)++)
		n = n < 1e9 ? n * 10 + (**p - '0') : n;
	if (**p == '.')
		for (++*p; isdigit((unsigned char)**p); (*p)++)
			n += (**p - '0') * (unit /= 10);
	return n;
}

/* Frames that there are of a second. */
static double
frames(const struct ttml *t)
{
	return (t->rate > 0 ? t->rate : 30) * (t->multiplier > 0 ? t->multiplier : 1);
}

/* "01:02:03.4", "01:02:03:12". */
static bool
clock_of(const struct ttml *t, const char *p, double hours, double *seconds)
{
	double minutes = number_at(&p);

	if (*p++ != ':' || !isdigit((unsigned char)*p))
		return false;
	*seconds = hours * 3600 + minutes * 60 + number_at(&p);
	/* It counts frames as if they were so many a second. */
	if (t->smpte && t->multiplier > 0)
		*seconds /= t->multiplier;
	if (*p == ':' && isdigit((unsigned char)p[1])) {
		p++;
		*seconds += number_at(&p) / frames(t);
	}
	return *p == '\0';
}

/* A clock time, or "12.5s". */
static bool
time_of(const struct ttml *t, const char *p, int64_t *ms)
{
	const double ticks = t->ticks > 0 ? t->ticks : t->rate > 0 ? frames(t) : 1;
	const struct { const char *unit; double seconds; } units[] = { { "h", 3600 }, { "m", 60 }, { "s", 1 },
	    { "ms", .001 }, { "f", 1 / frames(t) }, { "t", 1 / ticks } };
	double n, seconds = -1;

	p += strspn(p, " \t\r\n");
	if (!isdigit((unsigned char)*p))
		return false;
	n = number_at(&p);
	if (*p == ':') {
		if (!isdigit((unsigned char)p[1]) || !clock_of(t, p + 1, n, &seconds))
			return false;
	} else {
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (strcmp(p, units[i].unit) == 0)
				seconds = n * units[i].seconds;
	}
	if (seconds < 0)
		return false;
	*ms = seconds > 1e9 ? INT64_C(1000000000000) : (int64_t)(seconds * 1000 + .5);
	return true;
}

/* The attribute's time; false: it is there and cannot be read.  *ms stays as it is where it is not there. */
static bool
time_attribute(const struct ttml *t, const struct attributes *a, const char *name, struct level *l, int64_t *ms)
{
	const char *text = attribute(a, name);

	l->timed |= text != NULL;
	l->times |= text != NULL;
	return text == NULL || time_of(t, text, ms);
}

/* From when to when, in what is around it. */
static bool
set_times(const struct ttml *t, const struct attributes *a, struct level *around, struct level *l)
{
	const int64_t base = around->follows ? around->at : around->begin;
	int64_t begin = 0, end = -1, length = -1;

	l->times = false;
	if (!time_attribute(t, a, "begin", l, &begin) || !time_attribute(t, a, "end", l, &end) ||
	    !time_attribute(t, a, "dur", l, &length))
		return false;
	l->begin = base + begin;
	l->end = around->end;
	if (end >= 0 && base + end < l->end)
		l->end = base + end;
	if (length >= 0 && l->begin + length < l->end)
		l->end = l->begin + length;
	l->at = l->begin;
	if (l->end < INT64_MAX)
		around->at = l->end;
	return true;
}

static const struct named *
find(const struct names *names, const char *id, size_t n)
{
	for (size_t i = 0; i < names->n; i++)
		if (strlen(names->at[i].id) == n && memcmp(names->at[i].id, id, n) == 0)
			return &names->at[i];
	return NULL;
}

/* A new one.  Of too many the last is overwritten. */
static struct named *
name_one(struct names *names, const char *id)
{
	struct named *one = &names->at[names->n < NAMED ? names->n++ : NAMED - 1];

	*one = (struct named){ .id = id != NULL ? id : "" };
	return one;
}

/* By styles that are named, then by attributes of its own. */
static unsigned
look_of(const struct ttml *t, const struct attributes *a, unsigned look, unsigned *off)
{
	const char *ids = attribute(a, "style"), *value;
	const struct named *style;
	size_t n, i;

	for (; ids != NULL && *(ids += strspn(ids, " ")) != '\0'; ids += n) {
		n = strcspn(ids, " ");
		style = find(&t->styles, ids, n);
		look = style != NULL ? (look & ~style->off) | style->on : look;
		*off = style != NULL ? (*off & ~style->on) | style->off : *off;
	}
	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		value = attribute(a, looks[i].attribute);
		if (value == NULL)
			continue;
		if (word_in(looks[i].on, value, strlen(value))) {
			look |= looks[i].look;
			*off &= ~looks[i].look;
		} else if (word_in(looks[i].off, value, strlen(value))) {
			look &= ~looks[i].look;
			*off |= looks[i].look;
		}
	}
	return look;
}

/* What the root says of times. */
static void
begin_file(struct ttml *t, const struct attributes *a)
{
	const char *rate = attribute(a, "frameRate"), *multiplier = attribute(a, "frameRateMultiplier"),
	    *ticks = attribute(a, "tickRate"), *base = attribute(a, "timeBase");
	double over;

	t->all->language = attribute(a, "lang");
	t->rate = rate != NULL ? number_at(&rate) : 0;
	t->ticks = ticks != NULL ? number_at(&ticks) : 0;
	t->smpte = base != NULL && strcmp(base, "smpte") == 0;
	if (multiplier == NULL)
		return;
	over = number_at(&multiplier);
	multiplier += strcspn(multiplier, "0123456789");
	t->multiplier = number_at(&multiplier);
	t->multiplier = over > 0 && t->multiplier > 0 ? over / t->multiplier : 0;
}

/* The tags of WebVTT that lead from one look to another. */
static void
add_look(struct draft *d, unsigned look)
{
	static const char tags[] = "ibu";

	if (((look ^ d->look) & (ITALIC | BOLD | UNDERLINED)) == 0)
		return;
	for (int i = 2; i >= 0; i--)
		if (d->look & (1u << i))
			buf_printf(&d->text, "</%c>", tags[i]);
	for (int i = 0; i < 3; i++)
		if (look & (1u << i))
			buf_printf(&d->text, "<%c>", tags[i]);
	d->look = look;
}

/* As markup of a cue has it, where a backslash and a brace may begin something. */
static void
add_character(struct buf *b, char c)
{
	if (c == '&' || c == '<' || c == '>')
		buf_text(b, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
	else if (c == '\\' || c == '{')
		buf_text(b, c == '{' ? "&#123;" : "&#92;");
	else
		buf_char(b, c);
}

static void
add_speaker(struct draft *d, const char *name)
{
	int escapes = 3;	/* a tag ends by then */

	if (name == NULL || name == d->speaker)
		return;
	add_look(d, 0);
	buf_text(&d->text, "<v ");
	for (const char *p = name; *p != '\0'; p++)
		if (strchr("<>&\\{", *p) == NULL || escapes-- > 0)
			add_character(&d->text, *p);
		else
			buf_char(&d->text, ' ');
	buf_char(&d->text, '>');
	d->speaker = name;
}

static void
add_break(struct draft *d)
{
	if (d != NULL && d->last != '\0')
		buf_char(&d->text, d->last = '\n');
}

static void
on_characters(void *user, const xmlChar *text, int n)
{
	struct ttml *t = user;
	const struct level *l = &t->level[t->depth];
	struct draft *d = l->draft;

	if (t->naming && t->skipping == 0)
		buf_add(&t->name, text, t->name.len < NAME ? (size_t)n : 0);
	if (d == NULL || t->skipping > 0 || (l->look & UNSEEN))
		return;
	for (int i = 0; i < n; i++) {
		const char c = (char)text[i];

		if (strchr(" \t\r\n", c) == NULL) {
			add_speaker(d, l->speaker);
			add_look(d, l->look);
			add_character(&d->text, d->last = c);
			d->seen = true;
		} else if (l->keeps_blanks && c == '\n') {
			add_break(d);
		} else if (l->keeps_blanks || (d->last != '\0' && d->last != ' ' && d->last != '\n')) {
			buf_char(&d->text, d->last = ' ');
		}
	}
}

static void
begin_draft(struct ttml *t, struct level *l)
{
	l->draft = NEW(t->all->mem, struct draft);
	l->draft->text = BUF(t->all->mem);
	l->draft->line = (size_t)xmlSAX2GetLineNumber(t->parser);
	l->begins_draft = true;
}

/* What nobody sees needs no times. */
static void
end_draft(struct ttml *t, const struct level *l)
{
	struct draft *d = l->draft;

	if (!d->seen)
		return;
	add_look(d, 0);
	if (!l->timed)
		cues_repaired(t->all, CUES_times, d->line);
	else
		cues_add(t->all, (struct cue){ .start = l->begin, .end = l->end < INT64_MAX ? l->end : l->begin,
		    .text = buf_string(&d->text), .n = d->text.len, .settings = "", .line = d->line });
}

static bool
is_content(const char *name)
{
	static const char content[] = "tt body div p span";

	return word_in(content, name, strlen(name));
}

/* An element with times. */
static void
begin_content(struct ttml *t, const char *name, const struct attributes *a)
{
	const char *agent = attribute(a, "agent"), *space = attribute(a, "space"),
	    *order = attribute(a, "timeContainer");
	struct level *around = &t->level[t->depth], *l;
	const struct named *said;
	unsigned off = 0;

	if (t->depth + 1 == DEPTH) {
		refuse(t, "its elements lie too deep in each other");
		return;
	}
	l = &t->level[++t->depth];
	*l = *around;
	l->begins_draft = false;
	l->follows = order != NULL && strcmp(order, "seq") == 0;
	if (strcmp(name, "tt") == 0)
		begin_file(t, a);
	else if (!set_times(t, a, around, l)) {
		cues_repaired(t->all, CUES_times, (size_t)xmlSAX2GetLineNumber(t->parser));
		l->look |= UNSEEN;
	}
	l->look = look_of(t, a, l->look, &off);
	if (space != NULL)
		l->keeps_blanks = strcmp(space, "preserve") == 0;
	said = agent != NULL ? find(&t->agents, agent, strcspn(agent, " ")) : NULL;
	if (said != NULL && said->name != NULL)
		l->speaker = said->name;
	if (strcmp(name, "p") == 0 || (strcmp(name, "span") == 0 && l->times && around->draft != NULL))
		begin_draft(t, l);
}

static void
on_start(void *user, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri, int n_spaces,
    const xmlChar **spaces, int n, int n_default, const xmlChar **all)
{
	static const char around[] = "head styling metadata";
	struct ttml *t = user;
	const struct attributes a = { t->all->mem, all, n };
	const char *name = (const char *)local;

	if (t->skipping > 0) {
		if (++t->skipping > DEPTH)
			refuse(t, "its elements lie too deep in each other");
	} else if (t->depth == 0 && strcmp(name, "tt") != 0) {
		refuse(t, "it is XML, but no TTML: its outermost element is not tt");
	} else if (is_content(name)) {
		begin_content(t, name, &a);
	} else if (strcmp(name, "br") == 0) {
		add_break(t->level[t->depth].draft);
	} else if (strcmp(name, "style") == 0) {
		struct named *style = name_one(&t->styles, attribute(&a, "id"));

		style->on = look_of(t, &a, 0, &style->off);
	} else if (strcmp(name, "agent") == 0) {
		name_one(&t->agents, attribute(&a, "id"));
	} else if (strcmp(name, "name") == 0 && t->agents.n > 0) {
		t->name.len = 0;
		t->naming = true;
	} else if (!word_in(around, name, strlen(name)) || t->level[t->depth].draft != NULL) {
		t->skipping = 1;
	}
}

/* One line, which fits into a tag. */
static void
end_name(struct ttml *t)
{
	const char *name = buf_string(&t->name);

	t->naming = false;
	name = utf8_to_line(t->all->mem, arena_copy_n(t->all->mem, name, utf8_prefix(name, strnlen(name, NAME))));
	name += strspn(name, " ");
	t->agents.at[t->agents.n - 1].name = utf8_blank(name) ? NULL : name;
}

static void
on_end(void *user, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri)
{
	struct ttml *t = user;
	const char *name = (const char *)local;

	if (t->skipping > 0) {
		t->skipping--;
	} else if (is_content(name)) {
		if (t->level[t->depth].begins_draft)
			end_draft(t, &t->level[t->depth]);
		t->depth--;
	} else if (t->naming && strcmp(name, "name") == 0) {
		end_name(t);
	}
}

static void
on_declaration(void *user, const xmlChar *name, const xmlChar *id, const xmlChar *system)
{
	refuse(user, "declarations are not taken");
}

static void
parse(struct ttml *t, const char *text, size_t n)
{
	xmlSAXHandler sax = { .initialized = XML_SAX2_MAGIC, .startElementNs = on_start, .endElementNs = on_end,
	    .characters = on_characters, .ignorableWhitespace = on_characters, .cdataBlock = on_characters,
	    .internalSubset = on_declaration };

	t->parser = xmlCreatePushParserCtxt(&sax, t, NULL, 0, NULL);
	if (t->parser == NULL)
		return;
	/* Whatever it says of its encoding: it has been converted. */
	xmlCtxtUseOptions(t->parser, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_IGNORE_ENC);
	if ((xmlParseChunk(t->parser, text, (int)n, 1) != 0 || !t->parser->wellFormed) && t->all->refused == NULL) {
		t->all->refused = "the XML is broken here";
		t->all->refused_line = t->parser->lastError.line > 0 ? (size_t)t->parser->lastError.line : 1;
	}
	xmlFreeParserCtxt(t->parser);
}

void
ttml_read(struct cues *all, const char *text, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ttml *t = NEW(all->mem, struct ttml);
	const char *costly = xml_costly(text, TAG);

	if (costly != NULL) {
		all->refused = "declarations, and tags of that length, are not taken";
		all->refused_line = 1;
		for (; (text = memchr(text, '\n', (size_t)(costly - text))) != NULL; text++)
			all->refused_line++;
		return;
	}
	pthread_once(&once, xmlInitParser);
	t->all = all;
	t->name = BUF(all->mem);
	t->level[0].end = INT64_MAX;
	parse(t, text, n);
	if (all->refused != NULL)
		all->n = 0;
}
