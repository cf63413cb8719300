/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages of a TIFF: its chain of directories; classic TIFF and BigTIFF differ in the width of counts and offsets alone.
 * Every offset is checked against the end, and a chain that bites itself ends there. */
#include <string.h>
#include <sys/mman.h>

#include "media/bytes.h"
#include "media/image.h"

enum { TAG_KIND = 254, TAG_WIDTH = 256, TAG_HEIGHT = 257, KIND_REDUCED = 1, KIND_MASK = 4, TAGS_MAX = 4096 };

struct tiff { const unsigned char *p; size_t n; bool little, big; };

/* A number of `size` bytes; 0 beyond the end. */
static uint64_t
get(const struct tiff *t, uint64_t at, unsigned size)
{
	if (at > t->n || t->n - at < size)
		return 0;
	return t->little ? bytes_little(t->p + at, size) : bytes_big(t->p + at, size);
}

/* Reads a directory; *at becomes where the next one is, 0: nowhere.  Is it a page? */
static bool
read_directory(const struct tiff *t, uint64_t *at, struct image_page *page)
{
	const unsigned step = t->big ? 20 : 12;
	const uint64_t count = get(t, *at, t->big ? 8 : 2), first = *at + (t->big ? 8 : 2);
	uint64_t kind = 0;

	*at = 0;
	if (count == 0 || count > TAGS_MAX || first + count * step > t->n)
		return false;
	page->width = page->height = 0;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t tag = first + i * step, value = tag + (t->big ? 12 : 8);
		const uint64_t type = get(t, tag + 2, 2);
		const int64_t n = (int64_t)(get(t, value, type == 3 ? 2 : type == 16 ? 8 : 4) & INT32_MAX);

		switch (get(t, tag, 2)) {
		case TAG_KIND: kind = (uint64_t)n; break;
		case TAG_WIDTH: page->width = n; break;
		case TAG_HEIGHT: page->height = n; break;
		}
	}
	*at = get(t, first + count * step, t->big ? 8 : 4);
	return (kind & (KIND_REDUCED | KIND_MASK)) == 0;
}

/* Not all makers of pyramids say what their smaller copies are. */
static bool
is_half(const struct image_page *page, const struct image_page *before)
{
	return page->width == before->width / 2 && page->height == before->height / 2;
}

size_t
image_pages(const void *bytes, size_t n, struct image_page *pages, size_t max)
{
	struct tiff t = { bytes, n, false, false };
	struct image_page before = { 0 };
	uint64_t at, seen[64];
	size_t found = 0, i = 0, marks = 0;

	if (n < 16 || (memcmp(bytes, "II", 2) != 0 && memcmp(bytes, "MM", 2) != 0))
		return 0;
	t.little = t.p[0] == 'I';
	t.big = get(&t, 2, 2) == 43;
	/* A loop meets one of the directories noted at growing distances again. */
	for (at = t.big ? get(&t, 8, 8) : get(&t, 4, 4); at != 0 && at < n && found < max; i++) {
		struct image_page page = { .directory = at };

		for (size_t k = 0; k < marks; k++)
			if (seen[k] == at)
				return found;
		if ((i & (i - 1)) == 0 && marks < sizeof(seen) / sizeof(seen[0]))
			seen[marks++] = at;
		if (i > 2 * max)
			break;
		if (read_directory(&t, &at, &page) && !is_half(&page, &before))
			pages[found++] = page;
		before = page;
	}
	return found;
}

void
image_page_first(void *bytes, size_t n, const struct image_page *page)
{
	unsigned char *p = bytes;
	const bool little = p[0] == 'I', big = p[2] + p[3] == 43;
	const unsigned size = big ? 8 : 4;

	for (unsigned i = 0; i < size && 2 * size <= n; i++)
		p[size + i] = (unsigned char)(page->directory >> 8 * (little ? i : size - 1 - i));
}

size_t
image_pages_file(const char *path, struct image_page *pages, size_t max)
{
	size_t n, found;
	void *map = image_map(path, &n);

	found = image_pages(map, n, pages, max);
	munmap(map, n);
	return found;
}
