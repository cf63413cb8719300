/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text on pictures by tesseract, in the jail: one run for many pictures, since its models take longer than one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/uloc.h>

#include "jobs/engines/sheet.h"

static const char *
tesseract_version(struct arena *mem, const struct conf *conf)
{
	return "tesseract 5";
}

static bool
tesseract_knows(const struct conf *conf, const char *language)
{
	return true;
}

/* Names as its models have: those of the settings, and that of the asset. */
static const char *
languages(const struct sheet *s)
{
	struct buf out = BUF(s->mem);
	const char *at = s->conf->engine[ENGINE_ocr].languages, *own = s->language != NULL ?
	    uloc_getISO3Language(s->language) : "";
	size_t n;

	for (; at != NULL && *at != '\0'; at += n, at += strspn(at, ", ")) {
		n = strcspn(at, ", ");
		buf_printf(&out, "%s%.*s", out.len > 0 ? "+" : "", (int)n, at);
	}
	if (*own != '\0' && (out.len == 0 || strstr(buf_string(&out), own) == NULL))
		buf_printf(&out, "%s%s", out.len > 0 ? "+" : "", own);
	return out.len > 0 ? buf_string(&out) : "eng";
}

/* The file that names the pictures. */
static const char *
list(struct sheet *s)
{
	const char *path = arena_printf(s->mem, "%s/pictures.txt", s->work_dir);
	FILE *f = fopen(path, "we");
	size_t i;

	for (i = 0; f != NULL && i < s->n; i++)
		fprintf(f, "%s\n", s->pictures[i]);
	if (f == NULL || ferror(f) != 0 || fclose(f) != 0) {
		fault_of_errno(s->mem, errno, &s->fault, "The list of pictures could not be written.");
		return NULL;
	}
	return path;
}

/* A row of its table: columns by their places; text is what is left. */
enum { LEVEL, PAGE, BLOCK, PARAGRAPH, LINE, WORD, LEFT, TOP, WIDTH, HEIGHT, NUMBERS };
struct row { int n[NUMBERS]; double confidence; const char *text; };

static bool
read_row(char *line, struct row *r)
{
	char *end;
	int i;

	for (i = 0; i < NUMBERS; i++, line = end + 1) {
		r->n[i] = (int)strtol(line, &end, 10);
		if (end == line || *end != '\t')
			return false;
	}
	r->confidence = strtod(line, &end) / 100;
	r->text = end + 1;
	return end != line && *end == '\t';
}

/* Words of a line, one behind the other. */
struct reading { struct sheet *s; struct sheet_line *lines; size_t n, room, picture; struct buf text; struct row last;
    double sum; int words, right, bottom; };

static void
end_line(struct reading *g)
{
	struct sheet_line l = { buf_string(&g->text), g->words > 0 ? g->sum / g->words : 0, g->last.n[LEFT],
	    g->last.n[TOP], g->right - g->last.n[LEFT], g->bottom - g->last.n[TOP] };
	struct sheet_line *more;

	if (g->words > 0 && sheet_keeps(g->s->mem, &l)) {
		if (g->n == g->room) {
			g->room = g->room == 0 ? 16 : g->room * 2;
			more = arena_array(g->s->mem, g->room, sizeof(*more));
			if (g->n > 0)
				memcpy(more, g->lines, g->n * sizeof(*more));
			g->lines = more;
		}
		g->lines[g->n++] = l;
	}
	g->text = BUF(g->s->mem);
	g->sum = g->words = 0;
}

/* All pictures before this one have been read. */
static void
go_to(struct reading *g, size_t picture)
{
	end_line(g);
	for (; g->picture < picture && g->picture < g->s->n; g->picture++) {
		g->s->seen(g->s->user, g->picture, g->lines, g->n);
		g->lines = NULL;
		g->n = g->room = 0;
	}
}

static void
add_word(struct reading *g, const struct row *r)
{
	const int right = r->n[LEFT] + r->n[WIDTH], bottom = r->n[TOP] + r->n[HEIGHT];

	if (g->words == 0) {
		g->last = *r;
		g->right = right;
		g->bottom = bottom;
	}
	/* The first word of a line from right to left is the one at the right. */
	if (r->n[LEFT] < g->last.n[LEFT])
		g->last.n[LEFT] = r->n[LEFT];
	if (r->n[TOP] < g->last.n[TOP])
		g->last.n[TOP] = r->n[TOP];
	g->right = right > g->right ? right : g->right;
	g->bottom = bottom > g->bottom ? bottom : g->bottom;
	buf_printf(&g->text, "%s%s", g->words > 0 ? " " : "", r->text);
	g->sum += r->confidence;
	g->words++;
}

static bool
same_line(const struct row *a, const struct row *b)
{
	return a->n[PAGE] == b->n[PAGE] && a->n[BLOCK] == b->n[BLOCK] && a->n[PARAGRAPH] == b->n[PARAGRAPH] &&
	    a->n[LINE] == b->n[LINE];
}

static void
read_table(struct sheet *s, const char *table)
{
	enum { WORDS = 5 };			/* the level of rows that are words */
	struct reading g = { .s = s, .text = BUF(s->mem) };
	char *copy = arena_copy(s->mem, table), *next = NULL, *line;
	struct row r;

	for (line = strtok_r(copy, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
		if (!read_row(line, &r) || r.n[LEVEL] != WORDS || r.n[PAGE] < 1 ||
		    !utf8_valid(r.text, strlen(r.text)))
			continue;
		if ((size_t)r.n[PAGE] - 1 > g.picture)
			go_to(&g, (size_t)r.n[PAGE] - 1);
		else if (g.words > 0 && !same_line(&g.last, &r))
			end_line(&g);
		add_word(&g, &r);
	}
	go_to(&g, s->n);
}

static enum outcome
tesseract_run(struct sheet *s)
{
	/* Its threads wait for each other without pause, which takes three times as long on two cores. */
	static const char *const env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "OMP_THREAD_LIMIT=1", NULL };
	const char *path = list(s);
	const char *const argv[] = { "tesseract", path, "stdout", "-l", languages(s), "--psm", "3", "tsv", NULL };
	const char **read = arena_array(s->mem, s->n + 2, sizeof(*read));
	const struct jail jail = { .argv = argv, .read = read, .in = -1, .env = env, .memory = INT64_C(2) << 30,
	    .idle_seconds = (int)s->conf->engine[ENGINE_ocr].timeout, .threads_only = true };
	struct jail_result r = { 0 };

	if (path == NULL)
		return RETRY;
	memcpy(read, s->pictures, s->n * sizeof(*read));
	read[s->n] = s->work_dir;
	jail_run(s->mem, &jail, &r);
	if (fault_of_jail(s->mem, &jail, &r, &s->fault)) {
		read_table(s, r.out);
		return DONE;
	}
	if (r.end == JAIL_MISSING)
		fault_set(s->mem, &s->fault, REASON_MODEL_MISSING, "This server has no tesseract to read pictures.");
	else if (r.end == JAIL_EXITED && strstr(r.err, "initialize tesseract") != NULL)
		fault_set(s->mem, &s->fault, REASON_MODEL_MISSING, "There is no model of tesseract for the "
		    "languages of engine.ocr.languages.");
	return reason_info(s->fault.reason)->class == CLASS_FINAL ? GIVE_UP : RETRY;
}

const struct engine engine_ocr_tesseract = {
	.family = ENGINE_ocr, .name = "tesseract", .version = tesseract_version, .knows = tesseract_knows,
	.run.ocr = tesseract_run,
};
