/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of strangers, as far as they are read outside the sandbox: type by content, the sizes in picture headers, and
 * PNG without what says nothing. */
#include <stdlib.h>
#include <string.h>

#include "media/image.h"
#include "media/sniff.h"
#include "tests/fuzz/fuzz.h"

static void
picture(struct arena *mem, const uint8_t *data, size_t n)
{
	int64_t width, height, bare_width, bare_height;
	const char *type, *bare_type;
	const void *bare;
	size_t bare_n = n, twice_n;

	if (!image_header(data, n, &width, &height, &type))
		return;
	if (width <= 0 || height <= 0 || strncmp(type, "image/", 6) != 0)
		abort();
	/* No field of these is wider. */
	if ((strcmp(type, "image/webp") == 0 && (width > 1 << 24 || height > 1 << 24)) ||
	    ((strcmp(type, "image/jpeg") == 0 || strcmp(type, "image/gif") == 0) && (width > 65535 || height > 65535)))
		abort();
	if (strcmp(type, "image/png") != 0)
		return;
	bare = image_bare_png(mem, data, &bare_n);
	twice_n = bare_n;
	if (bare_n > n || memcmp(bare, image_bare_png(mem, bare, &twice_n), bare_n) != 0 || twice_n != bare_n)
		abort();
	if (image_header(bare, bare_n, &bare_width, &bare_height, &bare_type) && (bare_width != width ||
	    bare_height != height))
		abort();
}

/* Frames and pages are looked for in whatever is called a picture. */
static void
frames_and_pages(const uint8_t *data, size_t n)
{
	struct image_page pages[20];
	size_t found = image_pages(data, n, pages, 20);

	if (found > 20)
		abort();
	for (size_t i = 0; i < found; i++)
		if (pages[i].directory >= n || pages[i].width < 0 || pages[i].height < 0)
			abort();
	image_moves(data, n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct sniff sniff = sniff_bytes(data, n);

	if (mem == NULL)
		mem = arena_new((size_t)256 << 20);
	sniff_mime_type(&sniff, true);
	sniff_mime_type(&sniff, false);
	picture(mem, data, n);
	frames_and_pages(data, n);
	arena_reset(mem);
	return 0;
}
