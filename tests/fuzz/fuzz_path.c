/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of signed addresses, and the small texts of requests: ids, times, positions, base64url. */
#include <stdlib.h>
#include <string.h>

#include "core/play.h"
#include "core/text.h"
#include "tests/fuzz/fuzz.h"

static const struct conf conf = {
	.public_url = "http://localhost",
	.play_key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
	.play_lifetime = 3600,
};

static void
texts(struct arena *mem, const char *text, size_t n)
{
	char out[MOMENT_TEXT], id[UUID_TEXT];
	struct moment moment, again;
	unsigned char *bytes;
	struct uuid uuid;
	int64_t number;

	if (uuid_parse(text, &uuid) && strcmp(uuid_format(uuid, id), text) != 0)
		abort();
	if (moment_parse(text, &moment) && (!moment_parse(moment_format(moment, out), &again) || again.ms != moment.ms))
		abort();
	position_parse(text, &number);
	int_parse(text, &number);
	base64url_decode(mem, text, n, &bytes);
	if (utf8_valid(text, n))
		utf8_length(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct uuid media_id;
	const char *file;
	char *text;

	if (mem == NULL)
		mem = arena_new((size_t)64 << 20);
	text = arena_copy_n(mem, data, n);
	if (play_check(&conf, text, (struct moment){ 0 }, &media_id, &file) == PLAY_FINE &&
	    strstr(file, "..") != NULL && (strstr(file, "/../") != NULL || strncmp(file, "../", 3) == 0))
		abort();
	texts(mem, text, strlen(text));
	percent_decode(text, strlen(text), false);
	arena_reset(mem);
	return 0;
}
