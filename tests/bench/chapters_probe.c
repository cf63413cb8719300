/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chapters_probe FILE…: where chapters of what is said in each begin, in ms, a line for each.  A line of a file is a
 * word: "start end text" in ms. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "media/chapters.h"
#include "media/transcript.h"

enum { WORDS = 100000 };

static struct list
words_of(struct arena *mem, const char *file)
{
	struct paragraph *p = NEW(mem, struct paragraph);
	struct word *w = arena_array(mem, WORDS, sizeof(*w));
	FILE *f = fopen(file, "re");
	char text[256];
	int64_t start, end;

	if (f == NULL) {
		perror(file);
		exit(1);
	}
	for (; p->words.n < WORDS && fscanf(f, "%" SCNd64 " %" SCNd64 " %255s", &start, &end, text) == 3; p->words.n++)
		w[p->words.n] = (struct word){ arena_copy(mem, text), { start, true }, { end, true }, 1, "machine" };
	fclose(f);
	p->words.rows = w;
	return (struct list){ p, 1 };
}

int
main(int argc, char **argv)
{
	struct arena *mem = arena_new(256 << 20);

	for (int i = 1; i < argc; i++) {
		const struct list said = words_of(mem, argv[i]);
		const struct paragraph *p = said.rows;
		const struct word *w = p->words.rows;
		const struct stretch *s;
		const size_t n = p->words.n == 0 ? 0 : chapters_find(mem, &said, &(struct chapters_marks){ 0 },
		    w[p->words.n - 1].end.ms, &s);

		for (size_t k = 1; k < n; k++)
			printf("%s%" PRId64, k > 1 ? " " : "", s[k].start);
		putchar('\n');
		arena_reset(mem);
	}
	return 0;
}
