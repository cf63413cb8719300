/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where sherpa-onnx lies, and what room it gets. */
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

/* Address space that AddressSanitizer reserves is not memory that is used. */
#ifdef KINOTHEK_ARENA_MALLOC
static const int64_t memory = INT64_C(1) << 46;
#else
static const int64_t memory = INT64_C(1) << 30;
#endif
enum { COPIES = 4 };				/* of weights, while the library loads them */

int64_t
speech_memory(int64_t model)
{
	return memory + COPIES * model;
}
