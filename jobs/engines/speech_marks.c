/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech marks: what stands behind each of the words, by a model of sherpa-onnx. */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "core/text.h"
#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/speech.h"

enum { WORDS_MAX = 1 << 20, LEAST = 2 };

/* As models write them, mostly of full width. */
static const struct { const char *text; char mark; } marks[] = {
	{ ".", '.' }, { "?", '?' }, { ",", ',' }, { "!", '.' }, { ";", ',' }, { "\u3002", '.' }, { "\uff1f", '?' },
	{ "\uff0c", ',' }, { "\u3001", ',' }, { "\uff01", '.' }, { "\uff1b", ',' }, { "\u061f", '?' },
	{ "\u060c", ',' },
};

struct words { const char **at; char *marks; size_t n; };

/* The mark that a text begins with, and its bytes; 0: none. */
static char
mark_at(const char *text, size_t *n)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		*n = strlen(marks[i].text);
		if (strncmp(text, marks[i].text, *n) == 0)
			return marks[i].mark;
	}
	return '\0';
}

/* Behind a word in what the model has made of it, which may have put blanks and marks into it; NULL: it is not
 * there. */
static const char *
behind(const char *text, const char *word)
{
	size_t n;

	while (*word != '\0') {
		if (*text == *word) {
			text++;
			word++;
		} else if (*text == ' ') {
			text++;
		} else if (mark_at(text, &n) != '\0') {
			text += n;
		} else {
			return NULL;
		}
	}
	return text;
}

/* Marks of the words from one on, as far as the text goes, which may leave out the last.  Returns the one that it
 * leaves to another text. */
static size_t
take(struct words *w, size_t from, const char *text)
{
	size_t n, i = from;
	char mark;

	for (; i < w->n && (text = behind(text, w->at[i])) != NULL; i++) {
		mark = mark_at(text, &n);
		w->marks[i] = mark != '\0' ? mark : ' ';
	}
	return i;
}

static bool
read_words(struct arena *mem, struct words *w)
{
	char line[SPEECH_WORD_MAX];

	w->at = arena_array(mem, WORDS_MAX + 1, sizeof(*w->at));
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (w->n == WORDS_MAX)
			return false;
		w->at[w->n++] = arena_copy(mem, line);
	}
	w->marks = arena_raw(mem, w->n + 1);
	return true;
}

static const char *
text_from(struct arena *mem, const struct words *w, size_t from)
{
	struct buf b = BUF(mem);

	for (; from < w->n; from++)
		buf_printf(&b, "%s%s", b.len > 0 ? " " : "", w->at[from]);
	return buf_string(&b);
}

/* All words: those that the model leaves out are asked for again, as long as it takes some each time. */
static int
mark_all(struct arena *scratch, const struct sherpa *so, const void *model, struct words *w)
{
	for (size_t from = 0, next; from < w->n; from = next) {
		const char *text = so->punctuate(model, text_from(scratch, w, from));

		if (text == NULL)
			return EX_DATAERR;
		next = take(w, from, text);
		so->punctuated_free(text);
		arena_reset(scratch);
		if (next == w->n)
			break;
		if (next < from + LEAST) {
			fprintf(stderr, "the model has changed a word\n");
			return EX_DATAERR;
		}
	}
	return EX_OK;
}

int
speech_marks_main(char **argv)
{
	struct arena *mem = arena_new(128 << 20);
	const struct sherpa_punctuation_config config = { argv[1], 1, 0, "cpu" };
	struct words w = { .n = 0 };
	const void *model;
	struct sherpa so;
	const char *fault = sherpa_open(&so, argv[0]);
	int status;

	if (fault != NULL) {
		fprintf(stderr, "%s\n", fault);
		return EX_UNAVAILABLE;
	}
	if (!read_words(mem, &w))
		return EX_USAGE;
	model = so.punctuation_new(&config);
	status = model != NULL ? mark_all(arena_new(64 << 20), &so, model, &w) : EX_DATAERR;
	for (size_t i = 0; i < w.n && status == EX_OK; i++)
		status = printf("%c\n", w.marks[i]) == 2 ? EX_OK : EX_IOERR;
	return status;
}
