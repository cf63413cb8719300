/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A neural model of the operator's for punctuation: kinothek-speech in the jail puts marks between words. */
#include <string.h>

#include "core/spoken.h"
#include "jobs/engines/sentences.h"
#include "jobs/engines/sherpa.h"
#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/sherpa_model.h"

/* s: an hour of speech takes one or two. */
enum { SECONDS = 600 };

static const char *
marks_version(struct arena *mem, const struct conf *conf)
{
	return arena_printf(mem, "sherpa-onnx " SHERPA_VERSION ", %s",
	    sherpa_model_name(conf->engine[ENGINE_punctuate].model));
}

static bool
marks_known(const struct conf *conf, const char *language)
{
	return spoken_lists(conf->engine[ENGINE_punctuate].languages, language);
}

static enum outcome
fail(struct sentences *s, const struct fault *fault)
{
	s->marks = NULL;
	s->fault = *fault;
	return fault_is_final(fault) ? GIVE_UP : RETRY;
}

/* A mark in each line, and a line for each word. */
static bool
take(struct sentences *s, const struct jail_result *r)
{
	if (r->out_size != 2 * s->n)
		return false;
	s->marks = arena_raw(s->mem, s->n + 1);
	for (size_t i = 0; i < s->n; i++) {
		s->marks[i] = r->out[2 * i];
		if (strchr(" .,?", s->marks[i]) == NULL || s->marks[i] == '\0' || r->out[2 * i + 1] != '\n')
			return false;
	}
	return true;
}

static enum outcome
marks_run(struct sentences *s)
{
	const char *library = sherpa_dir(s->mem, s->conf);
	int64_t bytes = 0;
	const char *model = sherpa_model_file(s->mem, s->conf->engine[ENGINE_punctuate].model, &bytes);
	const char *argv[] = { jail_helper(s->mem, "kinothek-speech"), "marks", library, model, NULL };
	const char *read[] = { library, model, NULL };
	const struct jail jail = { .argv = argv, .read = read, .in = s->words, .memory = speech_memory(bytes),
	    .cpu_seconds = SECONDS, .wall_seconds = SECONDS, .idle_seconds = SECONDS, .threads_only = true };
	struct hearing h = { .mem = s->mem };
	struct jail_result r;

	if (library == NULL || model == NULL) {
		fault_set(s->mem, &h.fault, REASON_MODEL_MISSING, library == NULL ? SHERPA_ABSENT :
		    "The punctuation model is missing.");
	} else if (!jail_run(s->mem, &jail, &r)) {
		fault_of_jail(s->mem, &jail, &r, &h.fault);
		sherpa_explain(&h, &r, "punctuation model");
	} else if (!take(s, &r)) {
		fault_set(s->mem, &h.fault, REASON_OUTPUT_INVALID,
		    "The speech program gave an answer that makes no sense.");
	} else {
		return DONE;
	}
	return fail(s, &h.fault);
}

const struct engine engine_punctuate_sherpa = {
	.family = ENGINE_punctuate, .name = "sherpa", .version = marks_version, .knows = marks_known,
	.run.punctuate = marks_run,
};
