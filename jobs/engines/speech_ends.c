/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech ends: where sentences end among words, by the language model of pocketsphinx. */
#include <sphinxbase/err.h>
#include <sphinxbase/ngram_model.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "jobs/engines/speech.h"

enum { WORDS_MAX = 1 << 20 };

struct model { ngram_model_t *words; logmath_t *logs; int32 begin, end; };

/* The logarithm of how likely a word is behind the one or two before it; -1: there is none such. */
static double
likely(const struct model *m, int32 word, int32 before, int32 earlier)
{
	int32 history[2] = { before, earlier }, used;
	const int32 n = before < 0 ? 0 : earlier < 0 ? 1 : 2;

	return word < 0 ? 0 : logmath_log_to_ln(m->logs, ngram_ng_score(m->words, word, history, n, &used));
}

/* Words as numbers of the model, -1 before the first and behind the last two. */
static int32 *
read_words(struct arena *mem, const struct model *m, size_t *n)
{
	int32 *out = arena_array(mem, WORDS_MAX + 3, sizeof(*out));
	char line[SPEECH_WORD_MAX];

	out[0] = -1;
	for (*n = 0; *n < WORDS_MAX && fgets(line, sizeof(line), stdin) != NULL;) {
		line[strcspn(line, "\n")] = '\0';
		out[++*n] = ngram_wid(m->words, line);
	}
	out[*n + 1] = out[*n + 2] = -1;
	return out + 1;
}

int
speech_ends_main(const char *dir)
{
	struct arena *mem = arena_new(64 << 20);
	struct model m = { .logs = logmath_init(1.0001, 0, 0) };
	int32 *w;
	size_t n;

	err_set_logfp(NULL);
	m.words = ngram_model_read(NULL, arena_printf(mem, "%s/en-us.lm.bin", dir), NGRAM_AUTO, m.logs);
	if (m.words == NULL) {
		fprintf(stderr, "no speech model in %s\n", dir);
		return EX_CONFIG;
	}
	m.begin = ngram_wid(m.words, "<s>");
	m.end = ngram_wid(m.words, "</s>");
	w = read_words(mem, &m, &n);
	/* The words that follow decide as much as those before: a sentence seldom begins with "of". */
	for (size_t i = 0; i + 1 < n; i++)
		printf("%.3f\n", likely(&m, m.end, w[i], i > 0 ? w[i - 1] : -1) + likely(&m, w[i + 1], m.begin, -1) +
		    likely(&m, w[i + 2], w[i + 1], m.begin) - likely(&m, w[i + 1], w[i], i > 0 ? w[i - 1] : -1) -
		    likely(&m, w[i + 2], w[i + 1], w[i]));
	return fflush(stdout) != 0 || ferror(stdout) ? EX_IOERR : EX_OK;
}
