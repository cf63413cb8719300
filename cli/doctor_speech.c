/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of what turns speech into words. */
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"

struct finding
check_speech(struct cli *c)
{
	const struct engine_settings *set = &c->conf->engine[ENGINE_transcribe];
	const char *model = set->model;

	if (strcmp(set->name, "http") == 0)
		return FOUND(OK, set->url, NULL);
	if (model == NULL)
		model = SPEECH_MODEL;
	if (access(arena_printf(c->mem, "%s/en-us.lm.bin", model), R_OK) != 0)
		return FOUND(WARN, arena_printf(c->mem, "there is no model in %s", model),
		    "Install the package pocketsphinx-en-us, or set engine.transcribe = http.");
	return FOUND(OK, "built-in engine with its model (clean English only)", NULL);
}
