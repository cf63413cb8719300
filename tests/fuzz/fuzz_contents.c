/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of contents of language models: whatever they say, parts follow each other within the recording. */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "media/contents.h"
#include "tests/fuzz/fuzz.h"

enum { DURATION = 5400000 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	const struct stretch *s;
	const char *text;
	size_t parts, i;

	if (mem == NULL)
		mem = arena_new((size_t)256 << 20);
	text = arena_copy_n(mem, data, n);
	if (utf8_valid(text, strlen(text)) && contents_read(mem, text, DURATION, &s, &parts) == NULL)
		for (i = 0; i < parts; i++)
			if (s[i].start < 0 || s[i].start >= s[i].end || s[i].end > DURATION || !utf8_line(s[i].title) ||
			    utf8_blank(s[i].title) || utf8_length(s[i].title) > CONTENTS_TITLE_MAX ||
			    (i > 0 && s[i].start != s[i - 1].end))
				abort();
	arena_reset(mem);
	return 0;
}
