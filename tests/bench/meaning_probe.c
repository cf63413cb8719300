/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * meaning_probe FILE: lines of a question, a tab and a passage that answers it in other words.  Prints for how many of
 * the questions the engine that is built in finds that passage first among all of them, and among the first five, and
 * the words that both have in common; with -v each question that it does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "core/meaning.h"
#include "core/stem.h"

enum { PAIRS = 1000, MEMORY = 64 << 20 };

struct pair { const char *asked, *said; struct meaning question, passage; };

static size_t
read_pairs(struct arena *mem, const char *path, struct pair *p)
{
	char *line = NULL, *tab;
	size_t room = 0, n = 0;
	FILE *f = fopen(path, "r");

	while (f != NULL && n < PAIRS && getline(&line, &room, f) > 0) {
		tab = strchr(line, '\t');
		if (tab == NULL)
			continue;
		p[n].asked = arena_copy_n(mem, line, (size_t)(tab - line));
		p[n].said = arena_copy_n(mem, tab + 1, strcspn(tab + 1, "\n"));
		p[n].question = meaning_by_glosses(mem, p[n].asked);
		p[n].passage = meaning_by_glosses(mem, p[n].said);
		n++;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return n;
}

/* How many passages are nearer to the question than its own. */
static size_t
rank(const struct pair *p, size_t n, size_t i, size_t *first)
{
	double own = meaning_cosine(&p[i].question, &p[i].passage), best = own, at;
	size_t k, nearer = 0;

	*first = i;
	for (k = 0; k < n; k++) {
		at = meaning_cosine(&p[i].question, &p[k].passage);
		nearer += k != i && at >= own;
		if (at > best) {
			best = at;
			*first = k;
		}
	}
	return nearer;
}

int
main(int argc, char **argv)
{
	static struct pair pairs[PAIRS];
	struct arena *mem = arena_new(MEMORY);
	size_t n, i, first, nearer, one = 0, five = 0;

	if (argc < 2)
		return 64;
	n = read_pairs(mem, argv[argc - 1], pairs);
	for (i = 0; i < n; i++) {
		nearer = rank(pairs, n, i, &first);
		one += nearer == 0;
		five += nearer < 5;
		if (nearer > 0 && strcmp(argv[1], "-v") == 0)
			printf("%zu  %s  ->  %s\n", nearer, pairs[i].asked, pairs[first].said);
	}
	printf("%zu questions: R@1 %.2f, R@5 %.2f (%s)\n", n, n > 0 ? (double)one / (double)n : 0,
	    n > 0 ? (double)five / (double)n : 0, meaning_glosses_name(mem));
	arena_free(mem);
	return n > 0 ? 0 : 1;
}
