/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A transport stream of an encoder, or of the FFmpeg of a ladder, cut into two anywhere, and what it is made into. */
#include <stdlib.h>

#include "fcgi/live/flv.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/setup.h"
#include "fcgi/live/ts.h"
#include "tests/fuzz/fuzz.h"

/* Every tag can be read; what decoders are set up with may be nonsense. */
static bool
on_media(void *user, int type, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct setup setup;
	struct flv f;

	(void)user, (void)ms;
	if (!(type == RTMP_VIDEO ? flv_video(bytes, n, &f) : flv_audio(bytes, n, &f)) || f.kind == FLV_NOTHING)
		abort();
	if (f.kind == FLV_SETUP)
		setup_read(&setup, f.codec, f.data, f.n);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ts *t;
	size_t cut = n > 0 ? data[n - 1] % n : 0, program;

	for (program = 0; program < 2; program++) {
		t = ts_new(on_media, NULL);
		ts_choose(t, program);
		ts_take(t, data, cut);
		ts_take(t, data + cut, n - cut);
		ts_free(t);
	}
	return 0;
}
