/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XMP of files: whatever it is, words are UTF-8 of one line within their limits. */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "media/xmp.h"
#include "tests/fuzz/fuzz.h"

static void
check(const char *text)
{
	if (text != NULL && (strlen(text) > IMAGE_TEXT_MAX || !utf8_valid(text, strlen(text)) || strchr(text, '\n') !=
	    NULL))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *mem = arena_new(64 << 20);
	struct image_words w;

	xmp_read(mem, data, n, &w);
	check(w.title);
	check(w.caption);
	check(w.creator);
	check(w.rights);
	if (w.keywords.n > IMAGE_KEYWORDS)
		abort();
	for (size_t i = 0; i < w.keywords.n; i++)
		check(w.keywords.at[i]);
	arena_free(mem);
	return 0;
}
