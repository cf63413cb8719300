/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of cues: what may stand in them, and what becomes of the rest. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/utf.h>
#include <unicode/utf8.h>

#include "core/text.h"
#include "media/cues.h"

enum { TAG_MAX = 80 };

/* Beginnings of what is kept of the markup; the rest of a tag is dropped. */
static size_t
tag_length(const char *p, const char *end)
{
	const char *q = p + 1;

	if (q < end && *q == '/')
		q++;
	if (q >= end || (!isalpha((unsigned char)*q) && !isdigit((unsigned char)*q)))
		return 0;
	while (q < end && *q != '>' && *q != '<' && *q != '\n' && q - p < TAG_MAX)
		q++;
	return q < end && *q == '>' ? (size_t)(q + 1 - p) : 0;
}

static void
add_escaped(struct buf *out, char c)
{
	if (c == '&')
		buf_text(out, "&amp;");
	else if (c == '<')
		buf_text(out, "&lt;");
	else if (c == '>')
		buf_text(out, "&gt;");
	else if (c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f))
		buf_char(out, c == '\t' ? ' ' : c);
}

/* Those that WebVTT has, which stay as they are, and those of HTML that many have. */
static const struct { const char *name, *is; bool stays; } entities[] = {
	{ "&amp;", "&", true }, { "&lt;", "<", true }, { "&gt;", ">", true }, { "&nbsp;", "\u00a0", true },
	{ "&lrm;", "\u200e", true }, { "&rlm;", "\u200f", true }, { "&quot;", "\"", false }, { "&apos;", "'", false },
};

/* "&#39;" or "&#x27;", which is put into `is`.  Returns its length; 0: it is none, or of no character that may be. */
static size_t
number_at(const char *p, const char *end, char is[5])
{
	const char *stop = memchr(p, ';', (size_t)(end - p > 10 ? 10 : end - p));
	int32_t n = 0;
	long code;
	char *rest;

	if (stop == NULL || stop - p < 3 || p[1] != '#' ||
	    (!isdigit((unsigned char)p[2]) && tolower((unsigned char)p[2]) != 'x'))
		return 0;
	code = isdigit((unsigned char)p[2]) ? strtol(p + 2, &rest, 10) : strtol(p + 3, &rest, 16);
	if (rest != stop || code < 0x20 || code == 0x7f || code > 0x10ffff || U_IS_SURROGATE(code))
		return 0;
	U8_APPEND_UNSAFE(is, n, code);
	is[n] = '\0';
	return (size_t)(stop + 1 - p);
}

static void
add_all_escaped(struct buf *out, const char *text)
{
	while (*text != '\0')
		add_escaped(out, *text++);
}

/* One of a character at p.  Returns its length, or 0. */
static size_t
add_entity(struct buf *out, const char *p, const char *end)
{
	char is[5];
	size_t n;

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		n = strlen(entities[i].name);
		if ((size_t)(end - p) < n || strncmp(p, entities[i].name, n) != 0)
			continue;
		if (entities[i].stays)
			buf_add(out, p, n);
		else
			add_all_escaped(out, entities[i].is);
		return n;
	}
	n = number_at(p, end, is);
	if (n > 0)
		add_all_escaped(out, is);
	return n;
}

static void
add_tag(struct buf *out, const char *p, size_t n)
{
	const char *name = p[1] == '/' ? p + 2 : p + 1, *end = p + n - 1;
	const char kind = (char)tolower((unsigned char)*name);
	const size_t length = (size_t)(end - name);
	const char *blank;
	size_t entity;

	if (length == 1 && (kind == 'i' || kind == 'b' || kind == 'u')) {
		buf_printf(out, "<%s%c>", p[1] == '/' ? "/" : "", kind);
	} else if (p[1] != '/' && kind == 'v' && length > 2 && (name[1] == ' ' || name[1] == '.')) {
		buf_text(out, "<v ");
		blank = memchr(name, ' ', length);
		name = blank != NULL ? blank + 1 : end;
		while (name < end) {
			entity = *name == '&' ? add_entity(out, name, end) : 0;
			name += entity;
			if (entity == 0)
				add_escaped(out, *name++);
		}
		buf_char(out, '>');
	}
}

/* Behind it.  One that is never closed is a word. */
static const char *
override_end(const char *p, const char *end)
{
	const char *stop = memchr(p, '}', (size_t)(end - p));

	while (stop == NULL && p < end && !isspace((unsigned char)*p))
		p++;
	return stop != NULL ? stop + 1 : p;
}

/* An override of ASS, "{\i1\pos(1,2)}", which some put into SRT too: italics, bold and underlining pass, and whether
 * what follows is a drawing. */
static void
add_override(struct buf *out, const char *p, const char *end, bool *drawing)
{
	for (; p < end; p++) {
		if (*p != '\\' || end - p < 3)
			continue;
		if (p[1] == 'p' && isdigit((unsigned char)p[2]))
			*drawing = p[2] != '0';
		else if ((p[1] == 'i' || p[1] == 'b' || p[1] == 'u') && (p[2] == '0' || p[2] == '1') &&
		    (p + 3 == end || p[3] == '\\'))
			buf_printf(out, "<%s%c>", p[2] == '0' ? "/" : "", p[1]);
	}
}

/* A line that would be empty would end the subtitle. */
static void
add_break(struct buf *out)
{
	while (out->len > 0 && out->text[out->len - 1] == ' ')
		out->len--;
	if (out->len > 0 && out->text[out->len - 1] != '\n')
		buf_char(out, '\n');
}

/* The character of the markup at p into the text.  Returns what is behind it. */
static const char *
add_plain(struct buf *out, const char *p)
{
	size_t i = 0;

	if (*p != '&') {
		buf_char(out, *p);
		return p + 1;
	}
	while (strncmp(p, entities[i].name, strlen(entities[i].name)) != 0)
		i++;
	buf_text(out, entities[i].is);
	return p + strlen(entities[i].name);
}

/* What one voice says, and who it is: of the many that say nothing, nothing is kept. */
struct spoken { struct buf text, name; bool named; };

/* Without the tags and with the characters that entities are of.  Returns what is behind it, which is where the next
 * one speaks. */
static const char *
plain(struct spoken *s, const char *p)
{
	const char *stop;

	s->text.len = s->name.len = 0;
	s->named = false;
	while (*p != '\0') {
		if (*p != '<') {
			p = add_plain(&s->text, p);
			continue;
		}
		if (strncmp(p, "<v ", 3) == 0 && (s->text.len > 0 || s->named))
			break;
		stop = strchr(p, '>');
		if (p[1] == 'v') {
			s->named = true;
			for (p += 3; p < stop;)
				p = add_plain(&s->name, p);
		}
		p = stop + 1;
	}
	return p;
}

/* Tags around nothing are nothing. */
static const char *
shown(struct arena *mem, const char *markup)
{
	struct spoken s = { BUF(mem), BUF(mem), false };

	for (const char *p = markup; *p != '\0';) {
		p = plain(&s, p);
		if (s.text.len > 0 && !utf8_blank(buf_string(&s.text)))
			return markup;
	}
	return "";
}

/* Who speaks, where it stands beside the text. */
static void
add_name(struct buf *out, const struct cue *c)
{
	size_t from = 0, to = c->n_name;

	while (from < to && isspace((unsigned char)c->name[from]))
		from++;
	while (to > from && isspace((unsigned char)c->name[to - 1]))
		to--;
	if (from == to)
		return;
	buf_text(out, "<v ");
	for (; from < to; from++)
		add_escaped(out, c->name[from]);
	buf_char(out, '>');
}

const char *
cue_markup(struct arena *mem, const struct cue *c)
{
	struct buf out = BUF(mem);
	const char *p = c->text, *end = p + c->n, *stop;
	bool drawing = false;
	size_t n;

	add_name(&out, c);
	while (p < end) {
		if (*p == '{' && p + 1 < end && p[1] == '\\') {
			stop = override_end(p, end);
			add_override(&out, p, stop[-1] == '}' ? stop - 1 : stop, &drawing);
			p = stop;
		} else if (drawing) {
			p++;
		} else if (*p == '<' && (n = tag_length(p, end)) > 0) {
			add_tag(&out, p, n);
			p += n;
		} else if (*p == '&' && (n = add_entity(&out, p, end)) > 0) {
			p += n;
		} else if (*p == '\\' && p + 1 < end && (p[1] == '{' || p[1] == '}')) {
			buf_char(&out, p[1]);
			p += 2;
		} else if (*p == '\\' && p + 1 < end && strchr("Nnh", p[1]) != NULL) {
			if (p[1] == 'h')
				buf_text(&out, "&nbsp;");
			else
				add_break(&out);
			p += 2;
		} else {
			if (*p == '\n' || *p == '\r')
				add_break(&out);
			add_escaped(&out, *p++);
		}
	}
	add_break(&out);
	return shown(mem, arena_copy_n(mem, buf_string(&out), out.len > 0 ? out.len - 1 : 0));
}

struct list
cue_voices(struct arena *mem, const struct cue *c)
{
	const char *p = cue_markup(mem, c);
	struct spoken s = { BUF(mem), BUF(mem), false };
	struct list out = { NULL, 0 };
	struct voice *v;
	size_t room = 1;

	for (const char *q = p; (q = strstr(q, "<v ")) != NULL; q++)
		room++;
	out.rows = v = arena_array(mem, room, sizeof(*v));
	while (*p != '\0') {
		p = plain(&s, p);
		if (s.text.len > 0 && !utf8_blank(buf_string(&s.text)))
			v[out.n++] = (struct voice){ s.named ? utf8_to_line(mem, buf_string(&s.name)) : NULL,
			    arena_copy_n(mem, s.text.text, s.text.len) };
	}
	return out;
}

void
cue_settings(struct buf *out, const struct cue *c)
{
	static const char known[] = "align line position size vertical";
	const char *p = c->settings, *end = p + c->n_settings;

	while (p < end) {
		const char *word = p, *colon;
		size_t n = 0;

		while (p < end && *p != ' ' && *p != '\t')
			p++;
		colon = memchr(word, ':', (size_t)(p - word));
		while (word + n < p && (isalnum((unsigned char)word[n]) || strchr(":%.,-", word[n]) != NULL))
			n++;
		if (colon != NULL && word + n == p && word_in(known, word, (size_t)(colon - word)))
			buf_printf(out, " %.*s", (int)n, word);
		p++;
	}
}

