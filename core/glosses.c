/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of word vectors that the build has made. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/fnv.h"
#include "core/glosses.h"

/* The file stands in the build directory, which the compiler is started in. */
__asm__(".section .rodata\n"
    ".balign 64\n"
    ".global glosses_table\n"
    "glosses_table:\n"
    ".incbin \"core/glosses.table\"\n"
    ".previous\n");
extern const unsigned char glosses_table[];

/* Without its words when the build found no WordNet. */
static const struct glosses_head *
head(void)
{
	return (const void *)glosses_table;
}

static const struct gloss *
words(void)
{
	return (const void *)(glosses_table + sizeof(struct glosses_head));
}

size_t
glosses_dimension(void)
{
	return head()->magic == GLOSSES_MAGIC && head()->words > 0 ? head()->dimension : 0;
}

float
glosses_rarest(void)
{
	return glosses_dimension() > 0 ? logf((float)head()->texts) : 1;
}

const struct gloss *
gloss_of(const char *stem)
{
	size_t from = 0, to = glosses_dimension() > 0 ? head()->words : 0, middle;
	int order;

	while (from < to) {
		middle = from + (to - from) / 2;
		order = strncmp(stem, words()[middle].stem, GLOSS_STEM);
		if (order == 0)
			return &words()[middle];
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

const int8_t *
gloss_vector(const struct gloss *g)
{
	return (const int8_t *)(words() + head()->words) + (size_t)(g - words()) * head()->dimension;
}

const char *
glosses_name(void)
{
	static char name[17];
	const size_t size = sizeof(struct glosses_head) + (size_t)head()->words * (sizeof(struct gloss) +
	    head()->dimension);

	if (name[0] != '\0')
		return name;
	if (glosses_dimension() == 0)
		return "none";
	snprintf(name, sizeof(name), "%016llx", (unsigned long long)fnv1a(FNV_EMPTY, glosses_table, size));
	return name;
}
