/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents of OParl, each behind a byte of 1: whatever they say, the agenda is a tree whose parents come first. */
#include <stdlib.h>
#include <string.h>

#include "core/agenda.h"
#include "tests/fuzz/fuzz.h"

static void
check(const struct agenda *a)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->at[i].parent >= (int64_t)i || a->at[i].parent < -1 ||
		    !utf8_valid(a->at[i].name, strlen(a->at[i].name)) || !utf8_line(a->at[i].name) ||
		    !utf8_line(a->at[i].number) ||
		    (*a->at[i].number == '\0' && *a->at[i].name == '\0'))
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct agenda a = { 0 };
	const uint8_t *end;
	const char *next;
	size_t part;

	if (mem == NULL)
		mem = arena_new((size_t)256 << 20);
	for (; n > 0; data += part + (part < n), n -= part + (part < n)) {
		end = memchr(data, 1, n);
		part = end != NULL ? (size_t)(end - data) : n;
		if (agenda_take(mem, &a, arena_copy_n(mem, data, part), part, &next) != NULL)
			break;
	}
	agenda_order(mem, &a);
	check(&a);
	arena_reset(mem);
	return 0;
}
