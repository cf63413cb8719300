/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An encoder's connection behind its handshake: chunks, messages, tags and what decoders are set up with. */
#include <stdlib.h>

#include "fcgi/live/flv.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/setup.h"
#include "tests/fuzz/fuzz.h"

static void
on_publish(void *user, const char *app, const char *key)
{
	(void)app, (void)key;
	rtmp_grant(*(struct rtmp **)user);
}

static bool
on_media(void *user, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct flv_metadata metadata;
	struct setup setup;
	struct flv f;

	(void)user, (void)ms;
	if (kind == RTMP_DATA) {
		flv_metadata(bytes, n, &metadata);
		return true;
	}
	if (!(kind == RTMP_VIDEO ? flv_video(bytes, n, &f) : flv_audio(bytes, n, &f)))
		return false;
	if (f.kind != FLV_NOTHING && (f.n == 0 || f.data < bytes || f.data + f.n != bytes + n))
		abort();
	if (f.kind == FLV_SETUP && setup_read(&setup, f.codec, f.data, f.n) == NULL &&
	    (setup.codec == FLV_AAC ? setup.rate == 0 || setup.channels == 0 : setup.width == 0 || setup.height == 0))
		abort();
	return true;
}

static void
on_unpublish(void *user)
{
	(void)user;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct rtmp_calls calls = { on_publish, on_media, on_unpublish };
	static const uint8_t shake[1 + 2 * 1536] = { 3 };
	struct rtmp *r = rtmp_new(&calls, &r);
	const uint8_t *out;

	rtmp_take(r, shake, sizeof(shake));
	rtmp_take(r, data, n / 2);
	rtmp_sent(r, rtmp_out(r, &out) / 2);
	rtmp_take(r, data + n / 2, n - n / 2);
	rtmp_free(r);
	/* And from the other side: what a server answers that we send to. */
	r = rtmp_push("live", "rtmp://live.example.org/live", "key");
	rtmp_take(r, shake, sizeof(shake));
	rtmp_take(r, data, n / 2);
	rtmp_put(r, RTMP_VIDEO, 0, data, n);
	rtmp_sent(r, rtmp_out(r, &out) / 2);
	rtmp_take(r, data + n / 2, n - n / 2);
	rtmp_end(r);
	rtmp_free(r);
	return 0;
}
