/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See reading.h: marks are asked of a model, else the ends of English sentences of the language model, in the jail. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/jail.h"
#include "jobs/engines/sentences.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/speech.h"
#include "jobs/reading.h"
#include "media/reading.h"

enum { SECONDS = 300 };

/* One word in each line; -1 with errno. */
static int
write_words(struct job *j, struct word *const *w, size_t n)
{
	const char *path = arena_printf(j->mem, "%s/words.txt", j->work_dir);
	struct buf b = BUF(j->mem);

	for (size_t i = 0; i < n; i++, buf_char(&b, '\n')) {
		const size_t length = utf8_prefix(w[i]->text, SPEECH_WORD_MAX - 2);

		for (size_t k = 0; k < length; k++) {
			const char c = w[i]->text[k];

			buf_char(&b, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
		}
	}
	return disk_put(path, buf_string(&b), b.len) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* A number for each word but the last, as the model has them in small letters; NULL: they cannot be had. */
static const double *
ends_of(struct job *j, const struct list *paragraphs)
{
	const char *const argv[] = { jail_helper(j->mem, "kinothek-speech"), "ends", SPEECH_MODEL, NULL };
	const char *const read[] = { SPEECH_MODEL, NULL };
	struct jail jail = { .argv = argv, .read = read, .memory = speech_memory(0), .cpu_seconds = SECONDS,
	    .wall_seconds = SECONDS, .idle_seconds = SECONDS, .threads_only = true };
	struct jail_result r = { 0 };
	const char *line;
	char *end = NULL;
	double *out;
	size_t n, i;
	struct word *const *w = reading_words(j->mem, paragraphs, &n);

	out = arena_array(j->mem, n, sizeof(*out));
	jail.in = write_words(j, w, n);
	if (jail.in < 0 || !jail_run(j->mem, &jail, &r)) {
		job_log(j, "sentences end at pauses alone: %s", r.err != NULL ? r.err : "words cannot be handed over");
		r.out = NULL;
	}
	if (jail.in >= 0)
		close(jail.in);
	for (i = 0, line = r.out; line != NULL && i + 1 < n; i++, line = end + 1) {
		out[i] = strtod(line, &end);
		if (end == line || *end != '\n')
			return NULL;
	}
	return line != NULL && *line == '\0' ? out : NULL;
}

/* By the engine that the operator has for the language.  NULL: there is none, or it has failed. */
static const char *
marks_of(struct job *j, const struct list *paragraphs, const struct engine *e)
{
	struct sentences s = { .mem = j->mem, .conf = j->conf };
	struct word *const *w = reading_words(j->mem, paragraphs, &s.n);

	s.words = write_words(j, w, s.n);
	if (s.words < 0)
		return NULL;
	if (e->run.punctuate(&s) != DONE)
		job_warn(j, &(struct warning){ .reason = s.fault.reason, .detail = arena_printf(j->mem, "Punctuation "
		    "was put in by rules: %s", s.fault.detail != NULL ? s.fault.detail :
		    reason_info(s.fault.reason)->code) });
	close(s.words);
	return s.marks;
}

const char *
reading_make(struct job *j, const struct list *paragraphs, const char *language, const struct hints *hints)
{
	const struct engine *e = engine_chosen(j->conf, ENGINE_punctuate);
	const bool english = strncmp(language, "en", 2) == 0 && strchr("-_", language[2]) != NULL;
	struct reading_hints h = { .language = language };

	if (!reading_is_plain(paragraphs))
		return NULL;
	if (hints != NULL) {
		h.texts = hints->texts;
		h.terms = hints->terms;
	}
	if (e != NULL && e->knows(j->conf, language))
		h.marks = marks_of(j, paragraphs, e);
	if (english) {
		h.ends = h.marks == NULL ? ends_of(j, paragraphs) : NULL;
		h.common = frequency_open(j->mem, SPEECH_MODEL "/en-us.lm.bin");
	}
	reading_restore(j->mem, paragraphs, &h);
	return h.marks != NULL ? e->version(j->mem, j->conf) : NULL;
}
