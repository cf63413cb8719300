/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What prints of all engines have in common. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/text.h"
#include "jobs/engines/sherpa_model.h"
#include "jobs/engines/voiceprint.h"

/* Bytes of a model's name, and letters of the digest of its file, that results hold. */
enum { NAME_MAX_BYTES = 60, DIGEST_LETTERS = 16 };

const char *
voiceprint_maker(struct arena *mem, const struct conf *conf)
{
	const struct engine_settings *set = &conf->engine[ENGINE_voiceprint];
	const char *file, *name, *digest;
	char real[PATH_MAX];
	int64_t bytes;

	if (strcmp(set->name, "sherpa") != 0)
		return "mixtures 1";
	file = sherpa_model_file(mem, set->model, &bytes);
	digest = file != NULL && realpath(file, real) != NULL ? digest_file(mem, real, NULL) : NULL;
	name = sherpa_model_name(set->model);
	/* Not the version of the library: what it makes of a sound by one model is the same in all of them, and known
	 * voices are to outlive an upgrade.  If that changes, the 1 does. */
	return arena_printf(mem, "sherpa 1, %.*s, %.*s", (int)utf8_prefix(name, NAME_MAX_BYTES), name, DIGEST_LETTERS,
	    digest != NULL ? digest : "unreadable");
}

void
voiceprint_add(struct voiceprint *to, const struct voiceprint *more)
{
	for (size_t i = 0; i < to->n && i < more->n; i++)
		to->at[i] += more->at[i];
}

const struct voiceprint *
voiceprint_from(struct arena *mem, const void *bytes, size_t size)
{
	struct voiceprint *p = NEW(mem, struct voiceprint);

	p->n = size / sizeof(*p->at);
	if (p->n == 0 || p->n > VOICEPRINT_MOST || size % sizeof(*p->at) != 0)
		return NULL;
	p->at = arena_raw(mem, size);
	memcpy(p->at, bytes, size);
	for (size_t i = 0; i < p->n; i++)
		if (!(fabsf(p->at[i]) < 1e9f))
			return NULL;
	return p;
}

double
voiceprint_cosine(const float *a, const float *b, size_t n)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < n; i++) {
		ab += (double)a[i] * b[i];
		aa += (double)a[i] * a[i];
		bb += (double)b[i] * b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}
