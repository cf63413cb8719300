/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where sherpa-onnx lies, and what a model for it consists of. */
#include <string.h>
#include <unistd.h>

#include "core/jail.h"
#include "jobs/engines/sherpa_model.h"

const char *
sherpa_dir(struct arena *mem, const struct conf *conf)
{
	const char *helper = jail_helper(mem, "kinothek-speech"), *dir = conf->engine_library;

	if (dir == NULL)
		dir = arena_printf(mem, "%.*s/speech", (int)(strrchr(helper, '/') - helper), helper);
	return access(arena_printf(mem, "%s/libsherpa-onnx-c-api.so", dir), R_OK) == 0 ? dir : NULL;
}
