/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A neural model of the operator's, on this machine: sherpa-onnx inside kinothek-speech.  A model is as much a
 * stranger's file as the sound is, and a damaged one ends the process that reads it.
 */
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

#include "core/spoken.h"
#include "jobs/engines/sherpa.h"
#include "jobs/engines/sherpa_library.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/worker.h"

/* A large Whisper takes several times as long as the sound on one slow core. */
enum { CPU_FACTOR = 20, LIBRARY_EXIT = 255 };

static const char *
sherpa_version(struct arena *mem, const struct conf *conf)
{
	const struct engine_settings *set = &conf->engine[ENGINE_transcribe];

	return arena_printf(mem, "sherpa-onnx " SHERPA_VERSION ", %s, %s", set->type, sherpa_model_name(set->model));
}

/* What the library does when it does not like a model: abort(), or exit with a status of its own. */
void
sherpa_explain(struct hearing *h, const struct jail_result *r, const char *model)
{
	if (r->end == JAIL_EXITED && r->status == EX_UNAVAILABLE)
		fault_set(h->mem, &h->fault, REASON_MODEL_MISSING, SHERPA_UNUSABLE);
	else if (r->end == JAIL_EXITED && r->status == EX_CONFIG)
		fault_set(h->mem, &h->fault, REASON_MODEL_MISSING, "Files of the %s are missing.", model);
	else if (strstr(r->err, "bad_alloc") != NULL || strstr(r->err, "Failed to allocate memory") != NULL)
		h->fault.reason = REASON_MEMORY_LIMIT;
	else if ((r->end == JAIL_EXITED && (r->status == EX_DATAERR || r->status == LIBRARY_EXIT)) ||
	    (r->end == JAIL_SIGNALLED && (r->status == SIGABRT || r->status == SIGSEGV)))
		h->fault = (struct fault){ .reason = REASON_MODEL_UNUSABLE, .log = h->fault.log,
		    .detail = arena_printf(h->mem, "The %s cannot be used.", model) };
}

static void
explain(struct hearing *h, const struct jail_result *r)
{
	sherpa_explain(h, r, "speech model");
}

static enum outcome
sherpa_run(struct hearing *h)
{
	const struct engine_settings *set = &h->conf->engine[ENGINE_transcribe];
	const char *library = sherpa_dir(h->mem, h->conf), *files[SHERPA_PARTS], *missing;
	const char *args[] = { "sherpa", library, set->type, set->model, h->language, NULL };
	const char *read[] = { library, set->model, NULL };
	struct worker w = { .args = args, .read = read, .cpu_factor = CPU_FACTOR, .align = true,
	    .explain = explain };
	int64_t bytes;

	if (library == NULL)
		return engine_fail(h, REASON_MODEL_MISSING, SHERPA_ABSENT);
	missing = sherpa_model_files(h->mem, sherpa_type_find(set->type), set->model, files, &bytes);
	if (missing != NULL)
		return engine_fail(h, REASON_MODEL_MISSING, "Files of the speech model are missing: %s.", missing);
	w.memory = speech_memory(bytes);
	return worker_hear(h, &w);
}

const struct engine engine_transcribe_sherpa = {
	.family = ENGINE_transcribe, .name = "sherpa", .version = sherpa_version, .knows = spoken_known,
	.run.transcribe = sherpa_run,
};
