/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracks and chapters of a file: which of them are used, what people read of them, and their JSON. */
#include <stdlib.h>
#include <string.h>

#include "media/av_run.h"
#include "media/language.h"
#include "core/text.h"

/* The names of one kind of tracks, which no two of a menu may share (RFC 8216 section 4.3.4.1.1). */
struct menu {
	struct arena *mem;
	const char *unnamed, *clear;		/* of a track that says nothing of itself; of one for who hears badly */
	const char *labels[AV_SUBTITLES];
	int n;
};

/* Bytes of the character at p, which is valid UTF-8. */
static size_t
character(const char *p)
{
	const unsigned char c = (unsigned char)*p;

	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Controls, ends of lines and what turns the direction of all that follows: U+0000 to 001F, 007F to 009F, 2028 to 202E,
 * 2066 to 2069, FEFF. */
static bool
is_control(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	if (u[0] < 0x80)
		return u[0] <= ' ' || u[0] == 0x7f;
	return (u[0] == 0xc2 && u[1] < 0xa0) || (u[0] == 0xe2 && ((u[1] == 0x80 && u[2] >= 0xa8 && u[2] <= 0xae) ||
	    (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9))) || (u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf);
}

const char *
av_line(struct arena *mem, const char *text, size_t most)
{
	struct buf out = BUF(mem);
	bool blank = false;
	size_t n = 0;

	if (text == NULL || !utf8_valid(text, strlen(text)) || utf8_blank(text))
		return NULL;
	for (; *text != '\0' && n < most; text += character(text)) {
		if (is_control(text)) {
			blank = true;
			continue;
		}
		if (blank && out.len > 0) {
			if (++n == most)
				break;
			buf_char(&out, ' ');
		}
		blank = false;
		buf_add(&out, text, character(text));
		n++;
	}
	return buf_string(&out);
}

static bool
is_taken(const struct menu *m, const char *label)
{
	for (int i = 0; i < m->n; i++)
		if (strcmp(m->labels[i], label) == 0)
			return true;
	return false;
}

/* The name with what is behind it, as long as a label may be. */
static const char *
labelled(struct menu *m, const char *name, const char *behind)
{
	return arena_printf(m->mem, "%s%s", av_line(m->mem, name, AV_LABEL - utf8_length(behind)), behind);
}

static const char *
role_of(const struct menu *m, int roles)
{
	if (roles & AV_COMMENTARY)
		return " (commentary)";
	if (roles & AV_DESCRIBES)
		return " (audio description)";
	if (roles & AV_CLEAR)
		return m->clear;
	return roles & AV_FORCED ? " (forced)" : "";
}

/* By its language, else by its title; of two alike the title tells them apart, else a number. */
static const char *
label(struct menu *m, const char *language, const char *title, int roles)
{
	const char *name = language != NULL ? language_label(m->mem, language) : title != NULL ? title : m->unnamed;
	const char *out = labelled(m, name, role_of(m, roles));

	if (is_taken(m, out) && title != NULL && strcmp(title, name) != 0)
		out = labelled(m, arena_printf(m->mem, "%s \u2013 %s", name, title), role_of(m, roles));
	for (int i = 2; is_taken(m, out); i++)
		out = labelled(m, name, arena_printf(m->mem, "%s %d", role_of(m, roles), i));
	m->labels[m->n++] = out;
	return out;
}

void
av_choose_sounds(struct arena *mem, struct av_audio *a, int n, const struct av_audio *main)
{
	struct menu m = { .mem = mem, .unnamed = "Audio", .clear = " (clear speech)" };

	for (int i = 0; i < n; i++)
		if (&a[i] == main)
			a[i].label = label(&m, a[i].language, a[i].title, a[i].roles);
	for (int i = 0; i < n; i++) {
		if (!a[i].used || &a[i] == main)
			continue;
		a[i].used = m.n < AV_SOUNDS;
		if (a[i].used)
			a[i].label = label(&m, a[i].language, a[i].title, a[i].roles);
	}
}

void
av_choose_subtitles(struct arena *mem, struct av_subtitle *s, int n)
{
	struct menu m = { .mem = mem, .unnamed = "Subtitles", .clear = " (for the hard of hearing)" };

	for (int i = 0; i < n; i++) {
		s[i].used = s[i].used && m.n < AV_SUBTITLES;
		if (s[i].used)
			s[i].label = label(&m, s[i].language, s[i].title, s[i].roles);
	}
}

/* Tracks of one kind that are not used: those beyond what an asset has, and those that are not read, with the codec of
 * the first. */
struct unused { int all, many, unread; const char *codec; };

static void
count_unused(struct unused *u, bool used, bool readable, const char *codec)
{
	u->all++;
	if (used)
		return;
	if (readable)
		u->many++;
	else if (u->unread++ == 0)
		u->codec = codec != NULL ? codec : "unknown";
}

static size_t
tell_unused(struct arena *mem, const struct unused *u, const char *what, int most, const char **sentences)
{
	size_t n = 0;

	if (u->many > 0)
		sentences[n++] = arena_printf(mem, "Tracks of %s that are left out: %d of %d, as an asset has %d at "
		    "most.", what, u->many, u->all, most);
	if (u->unread > 0)
		sentences[n++] = arena_printf(mem, "Tracks of %s that cannot be read: %d of %d, for example %s.", what,
		    u->unread, u->all, u->codec);
	return n;
}

size_t
av_left_out(struct arena *mem, const struct av_file *f, const char *sentences[AV_LEFT_OUT])
{
	struct unused sound = { 0 }, text = { 0 };
	size_t n;

	for (int i = 0; i < f->n_tracks; i++)
		count_unused(&sound, f->tracks[i].used || av_is_dead(f, f->tracks[i].index),
		    av_decodes(f->tracks[i].codec) && f->tracks[i].channels > 0, f->tracks[i].codec);
	for (int i = 0; i < f->n_subtitles; i++)
		count_unused(&text, f->subtitles[i].used, av_is_text(f->subtitles[i].codec), f->subtitles[i].codec);
	n = tell_unused(mem, &sound, "sound", AV_SOUNDS, sentences);
	return n + tell_unused(mem, &text, "subtitles", AV_SUBTITLES, sentences + n);
}

static int
by_start(const void *a, const void *b)
{
	const struct av_chapter *x = a, *y = b;

	if (x->start_ms != y->start_ms)
		return x->start_ms < y->start_ms ? -1 : 1;
	return x->end_ms < y->end_ms ? -1 : x->end_ms > y->end_ms;
}

size_t
av_order_chapters(struct av_chapter *c, size_t n, int64_t length_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (c[i].start_ms < 0)
			c[i].start_ms = 0;
		if (length_ms > 0 && c[i].end_ms > length_ms)
			c[i].end_ms = length_ms;
		if (c[i].end_ms < c[i].start_ms)
			c[i].end_ms = c[i].start_ms;
		if (length_ms <= 0 || c[i].start_ms < length_ms)
			c[kept++] = c[i];
	}
	qsort(c, kept, sizeof(*c), by_start);
	return kept;
}

const char *
av_roles(struct arena *mem, int roles)
{
	static const char *const words[] = { "commentary", "describesVideo", "hearingImpaired", "dub", "original",
	    "forced" };
	struct buf out = BUF(mem);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (roles & 1 << i)
			buf_printf(&out, "%s%s", out.len > 0 ? " " : "", words[i]);
	return out.len > 0 ? buf_string(&out) : NULL;
}

/* What both kinds of tracks say of themselves; the object stays open. */
static void
json_track(struct buf *out, const char *codec, const char *language, const char *title, int roles)
{
	buf_text(out, out->text[out->len - 1] == '[' ? "{\"codec\":" : ",{\"codec\":");
	buf_json(out, codec);
	buf_text(out, ",\"languageCode\":");
	buf_json(out, language);
	buf_text(out, ",\"title\":");
	buf_json(out, title);
	buf_text(out, ",\"roles\":");
	buf_json(out, av_roles(out->mem, roles));
}

void
av_tracks_json(struct buf *out, const struct av_file *f)
{
	buf_text(out, ",\"audio\":[");
	for (int i = 0; i < f->n_tracks; i++) {
		const struct av_audio *a = &f->tracks[i];

		json_track(out, a->codec, a->language, a->title, a->roles);
		buf_printf(out, ",\"channels\":%d,\"sampleRate\":%d,\"used\":%s,\"alternate\":%s}", a->channels,
		    a->sample_rate, a->used ? "true" : "false", a->used && a != f->audio ? "true" : "false");
	}
	buf_text(out, "],\"subtitles\":[");
	for (int i = 0; i < f->n_subtitles; i++) {
		const struct av_subtitle *s = &f->subtitles[i];

		json_track(out, s->codec, s->language, s->title, s->roles);
		buf_printf(out, ",\"used\":%s}", s->used ? "true" : "false");
	}
	buf_text(out, "],\"chapters\":[");
	for (size_t i = 0; i < f->n_chapters; i++) {
		const struct av_chapter *c = &f->chapters[i];

		buf_printf(out, "%s{\"start\":%.3f,\"end\":%.3f,\"title\":", i > 0 ? "," : "",
		    (double)c->start_ms / 1000, (double)c->end_ms / 1000);
		buf_json(out, c->title);
		buf_char(out, '}');
	}
	buf_char(out, ']');
}
