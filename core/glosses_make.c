/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * glosses_make DIRECTORY > table: computes core/glosses.h from the data of WordNet.  A text is a set of synonyms with
 * its explanation.  How much oftener than by chance two words stand in one text (positive pointwise mutual
 * information) makes a symmetric matrix, whose largest eigenvalues are found by subspace iteration from random numbers
 * that are always the same: N. Halko, P. Martinsson, J. Tropp, SIAM Review 53, 2011.  Without WordNet an empty table.
 */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fnv.h"
#include "core/glosses.h"
#include "core/stem.h"

enum { LEAST = 3, TEXT_WORDS = 64, DIMENSION = 200, WIDTH = 224, ITERATIONS = 2, SWEEPS = 12, SLOTS = 1 << 18,
    WORDS_ROOM = 200000, TEXTS_ROOM = 200000 };
static const float PPMI_LEAST = 0.5f;

/* Eight at once: WIDTH floats are a row of LANES of them. */
typedef float lanes __attribute__((vector_size(32)));
enum { LANES = WIDTH / 8 };
typedef lanes row[LANES];

struct text { unsigned words[TEXT_WORDS]; int n; };
struct cell { unsigned column; float value; };
struct maker {
	struct gloss *word;
	unsigned *times, n_words, *slots;
	struct text *texts;
	unsigned n_texts;
	struct cell *cells;
	size_t n_cells, room, *begin;		/* the cells of a word */
};

static void *
room_for(size_t n, size_t size)
{
	void *p = aligned_alloc(64, (n * size + 63) / 64 * 64);

	if (p == NULL)
		exit(1);
	memset(p, 0, n * size);
	return p;
}

static unsigned
number_of(struct maker *m, const char *stem)
{
	unsigned at;

	for (at = fnv1a(FNV_EMPTY, stem, strlen(stem)) % SLOTS; m->slots[at] != 0; at = (at + 1) % SLOTS)
		if (strcmp(m->word[m->slots[at] - 1].stem, stem) == 0)
			return m->slots[at] - 1;
	if (m->n_words == WORDS_ROOM)
		exit(1);
	memcpy(m->word[m->n_words].stem, stem, strlen(stem) + 1);
	m->slots[at] = ++m->n_words;
	return m->n_words - 1;
}

/* Each word once. */
static void
take_word(struct maker *m, struct text *t, char *word)
{
	unsigned number;
	int i;

	if (strlen(word) < 2 || strlen(word) >= GLOSS_STEM)
		return;
	stem_english(word);
	number = number_of(m, word);
	for (i = 0; i < t->n; i++)
		if (t->words[i] == number)
			return;
	if (t->n < TEXT_WORDS)
		t->words[t->n++] = number;
}

static void
take_words(struct maker *m, struct text *t, const char *text, size_t size)
{
	char word[GLOSS_STEM + 1];
	size_t i, n = 0;

	for (i = 0; i <= size; i++) {
		if (i < size && isalpha((unsigned char)text[i])) {
			if (n < GLOSS_STEM)
				word[n++] = (char)tolower((unsigned char)text[i]);
			continue;
		}
		word[n] = '\0';
		take_word(m, t, word);
		n = 0;
	}
}

/* "00001740 03 n 01 entity 0 003 @ … | that which is perceived": numbers, how many words in base 16, and the words,
 * each with a number behind it. */
static void
take_line(struct maker *m, char *line)
{
	struct text *t = &m->texts[m->n_texts];
	char *gloss = strchr(line, '|'), *save = NULL, *word;
	int i, n = 0;

	if (line[0] == ' ' || gloss == NULL || m->n_texts == TEXTS_ROOM)
		return;
	*gloss++ = '\0';
	word = strtok_r(line, " ", &save);
	for (i = 0; i < 3 && word != NULL; i++)
		word = strtok_r(NULL, " ", &save);
	n = word != NULL ? (int)strtol(word, NULL, 16) : 0;
	for (; n > 0 && (word = strtok_r(NULL, " ", &save)) != NULL; n--) {
		take_words(m, t, word, strlen(word));
		strtok_r(NULL, " ", &save);
	}
	take_words(m, t, gloss, strlen(gloss));
	m->n_texts += t->n > 1;
	if (t->n <= 1)
		t->n = 0;
}

static bool
read_file(struct maker *m, const char *directory, const char *name)
{
	char path[4096], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/data.%s", directory, name);
	f = fopen(path, "r");
	while (f != NULL && getline(&line, &room, f) > 0)
		take_line(m, line);
	free(line);
	/* Half of it would be a table of its own. */
	if (f != NULL && ferror(f))
		exit(1);
	if (f != NULL)
		fclose(f);
	return f != NULL;
}

static int
by_stem(const void *a, const void *b)
{
	return strcmp(((const struct gloss *)a)->stem, ((const struct gloss *)b)->stem);
}

/* Words that enough texts have, by their stems; the texts say their new numbers. */
static void
settle(struct maker *m)
{
	struct gloss *kept = room_for(m->n_words, sizeof(*kept)), *found;
	unsigned *number = room_for(m->n_words, sizeof(*number)), i, n = 0;
	int k, at;

	m->times = room_for(m->n_words, sizeof(*m->times));
	for (i = 0; i < m->n_texts; i++)
		for (k = 0; k < m->texts[i].n; k++)
			m->times[m->texts[i].words[k]]++;
	for (i = 0; i < m->n_words; i++)
		if (m->times[i] >= LEAST) {
			kept[n] = m->word[i];
			kept[n++].weight = logf((float)m->n_texts / (float)m->times[i]);
		}
	qsort(kept, n, sizeof(*kept), by_stem);
	for (i = 0; i < m->n_words; i++) {
		found = bsearch(&m->word[i], kept, n, sizeof(*kept), by_stem);
		number[i] = found != NULL ? (unsigned)(found - kept) + 1 : 0;
	}
	memset(m->times, 0, m->n_words * sizeof(*m->times));
	for (i = 0; i < m->n_texts; i++) {
		struct text *t = &m->texts[i];

		for (k = at = 0; k < t->n; k++)
			if (number[t->words[k]] > 0) {
				t->words[at] = number[t->words[k]] - 1;
				m->times[t->words[at++]]++;
			}
		t->n = at;
	}
	free(number);
	free(m->word);
	m->word = kept;
	m->n_words = n;
}

static void
add_cell(struct maker *m, unsigned column, float value)
{
	if (m->n_cells == m->room) {
		m->room = m->room * 2 + 4096;
		m->cells = realloc(m->cells, m->room * sizeof(*m->cells));
		if (m->cells == NULL)
			exit(1);
	}
	m->cells[m->n_cells++] = (struct cell){ column, value };
}

/* In which texts each word is: begin[i] to begin[i + 1]. */
static unsigned *
places(const struct maker *m, size_t *begin)
{
	unsigned *all, i;
	size_t n = 0;
	int k;

	for (i = 0; i < m->n_words; i++) {
		begin[i] = n;
		n += m->times[i];
	}
	all = room_for(n + 1, sizeof(*all));
	for (i = 0; i < m->n_texts; i++)
		for (k = 0; k < m->texts[i].n; k++)
			all[begin[m->texts[i].words[k]]++] = i;
	for (i = m->n_words; i > 0; i--)
		begin[i] = begin[i - 1];
	begin[0] = 0;
	return all;
}

/* How often each word meets the i-th one, into `with`. */
static void
count_meetings(const struct maker *m, const unsigned *place, size_t n, unsigned *with)
{
	const struct text *t;
	size_t i;
	int k;

	memset(with, 0, m->n_words * sizeof(*with));
	for (i = 0; i < n; i++)
		for (t = &m->texts[place[i]], k = 0; k < t->n; k++)
			with[t->words[k]]++;
}

static void
make_matrix(struct maker *m)
{
	size_t *begin = room_for(m->n_words + 1, sizeof(*begin));
	unsigned *place = places(m, begin), *with = room_for(m->n_words, sizeof(*with)), i, k;
	double *sum = room_for(m->n_words, sizeof(*sum)), all = 0;
	float pmi;

	m->begin = room_for(m->n_words + 1, sizeof(*m->begin));
	for (i = 0; i < m->n_texts; i++)
		for (k = 0; k < (unsigned)m->texts[i].n; k++)
			sum[m->texts[i].words[k]] += m->texts[i].n - 1;
	for (i = 0; i < m->n_words; i++)
		all += sum[i];
	for (i = 0; i < m->n_words; i++) {
		m->begin[i] = m->n_cells;
		count_meetings(m, place + begin[i], begin[i + 1] - begin[i], with);
		for (k = 0; k < m->n_words; k++) {
			if (with[k] == 0 || k == i)
				continue;
			pmi = (float)log(with[k] * all / (sum[i] * sum[k]));
			if (pmi > PPMI_LEAST)
				add_cell(m, k, pmi);
		}
	}
	m->begin[m->n_words] = m->n_cells;
	free(begin);
	free(place);
	free(with);
	free(sum);
}

static float
random_part(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (float)((double)(state >> 11) / (double)(UINT64_C(1) << 53) - 0.5);
}

/* out = matrix * in */
static void
multiply(const struct maker *m, row *in, row *out)
{
	size_t i, k;
	int j;

	for (i = 0; i < m->n_words; i++) {
		row sum = { { 0 } };

		for (k = m->begin[i]; k < m->begin[i + 1]; k++) {
			const lanes *from = in[m->cells[k].column];
			const float value = m->cells[k].value;

			for (j = 0; j < LANES; j++)
				sum[j] += from[j] * value;
		}
		memcpy(out[i], sum, sizeof(sum));
	}
}

static float *
part(row *r, size_t i)
{
	return (float *)r[i];
}

/* product = a' * b, WIDTH times WIDTH. */
static void
products(row *a, row *b, size_t n, row *product)
{
	size_t i;
	int k, j;

	memset(product, 0, WIDTH * sizeof(*product));
	for (i = 0; i < n; i++)
		for (k = 0; k < WIDTH; k++) {
			const float value = part(a, i)[k];

			for (j = 0; j < LANES; j++)
				product[k][j] += b[i][j] * value;
		}
}

/* Columns of length 1 at right angles, by the Cholesky factor of their products. */
static void
straighten(row *a, size_t n)
{
	static double l[WIDTH][WIDTH];
	row *p = room_for(WIDTH, sizeof(*p));
	size_t i;
	int j, k, t;

	products(a, a, n, p);
	for (j = 0; j < WIDTH; j++)
		for (k = 0; k <= j; k++) {
			double sum = part(p, (size_t)j)[k];

			for (t = 0; t < k; t++)
				sum -= l[j][t] * l[k][t];
			l[j][k] = j == k ? sqrt(sum > 1e-9 ? sum : 1e-9) : sum / l[k][k];
		}
	for (i = 0; i < n; i++)
		for (j = 0; j < WIDTH; j++) {
			double sum = part(a, i)[j];

			for (k = 0; k < j; k++)
				sum -= l[j][k] * part(a, i)[k];
			part(a, i)[j] = (float)(sum / l[j][j]);
		}
	free(p);
}

/* Turns two rows and columns of the symmetric matrix so that they are independent. */
static void
rotate(double (*s)[WIDTH], double (*v)[WIDTH], int p, int q)
{
	double theta = (s[q][q] - s[p][p]) / (2 * s[p][q]), x, y;
	double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), d = t * c;
	int k;

	for (k = 0; k < WIDTH; k++) {
		x = s[k][p];
		y = s[k][q];
		s[k][p] = c * x - d * y;
		s[k][q] = d * x + c * y;
	}
	for (k = 0; k < WIDTH; k++) {
		x = s[p][k];
		y = s[q][k];
		s[p][k] = c * x - d * y;
		s[q][k] = d * x + c * y;
		x = v[k][p];
		y = v[k][q];
		v[k][p] = c * x - d * y;
		v[k][q] = d * x + c * y;
	}
}

static double (*eigen)[WIDTH];

static int
by_size(const void *a, const void *b)
{
	const int *x = a, *y = b;
	double p = fabs(eigen[*x][*x]), q = fabs(eigen[*y][*y]);

	return p != q ? (p < q) - (p > q) : *x - *y;
}

/* By the method of Jacobi. */
static void
solve(double (*s)[WIDTH], double (*v)[WIDTH], int *order)
{
	int i, p, q;

	for (i = 0; i < WIDTH; i++) {
		order[i] = i;
		v[i][i] = 1;
	}
	for (i = 0; i < SWEEPS; i++)
		for (p = 0; p < WIDTH; p++)
			for (q = p + 1; q < WIDTH; q++)
				if (fabs(s[p][q]) > 1e-9)
					rotate(s, v, p, q);
	eigen = s;
	qsort(order, WIDTH, sizeof(*order), by_size);
}

static void
write_word(struct gloss *g, const float *vector, int8_t *out)
{
	float length = 0, most = 1e-9f;
	int i;

	for (i = 0; i < DIMENSION; i++) {
		length += vector[i] * vector[i];
		most = fabsf(vector[i]) > most ? fabsf(vector[i]) : most;
	}
	for (i = 0; i < DIMENSION; i++)
		out[i] = (int8_t)lrintf(vector[i] / most * 127);
	g->scale = length > 0 ? most / 127 / sqrtf(length) : 0;
}

static int8_t *
find_vectors(struct maker *m)
{
	static double s[WIDTH][WIDTH], v[WIDTH][WIDTH];
	row *a = room_for(m->n_words, sizeof(*a)), *b = room_for(m->n_words, sizeof(*b)),
	    *p = room_for(WIDTH, sizeof(*p));
	int8_t *out = room_for(m->n_words, DIMENSION);
	float vector[DIMENSION];
	int order[WIDTH], k, j;
	size_t i;

	for (i = 0; i < m->n_words; i++)
		for (k = 0; k < WIDTH; k++)
			part(a, i)[k] = random_part();
	for (k = 0; k <= ITERATIONS; k++) {
		multiply(m, a, b);
		memcpy(a, b, m->n_words * sizeof(*a));
		straighten(a, m->n_words);
	}
	multiply(m, a, b);
	products(a, b, m->n_words, p);
	for (k = 0; k < WIDTH; k++)
		for (j = 0; j < WIDTH; j++)
			s[k][j] = (part(p, (size_t)k)[j] + part(p, (size_t)j)[k]) / 2;
	solve(s, v, order);
	for (i = 0; i < m->n_words; i++) {
		for (k = 0; k < DIMENSION; k++) {
			/* the first one is what all words have in common */
			const int at = order[k + 1];
			double sum = 0;

			for (j = 0; j < WIDTH; j++)
				sum += part(a, i)[j] * v[j][at];
			vector[k] = (float)(sum * sqrt(fabs(s[at][at])));
		}
		write_word(&m->word[i], vector, out + i * DIMENSION);
	}
	free(a);
	free(b);
	free(p);
	return out;
}

int
main(int argc, char **argv)
{
	static const char *const parts[] = { "noun", "verb", "adj", "adv" };
	struct maker m = { .word = room_for(WORDS_ROOM, sizeof(*m.word)), .slots = room_for(SLOTS, sizeof(*m.slots)),
		.texts = room_for(TEXTS_ROOM, sizeof(*m.texts)) };
	struct glosses_head head = { .magic = GLOSSES_MAGIC };
	int8_t *vectors = NULL;
	size_t i, n = 0;

	for (i = 0; argc == 2 && i < sizeof(parts) / sizeof(parts[0]); i++)
		n += read_file(&m, argv[1], parts[i]);
	if (n == sizeof(parts) / sizeof(parts[0])) {
		settle(&m);
		make_matrix(&m);
		vectors = find_vectors(&m);
		head = (struct glosses_head){ GLOSSES_MAGIC, m.n_words, DIMENSION, m.n_texts };
	} else {
		fprintf(stderr, "%s: WordNet (package wordnet-base) is not there: similar words are not known\n",
		    argc == 2 ? argv[1] : argv[0]);
	}
	fwrite(&head, sizeof(head), 1, stdout);
	fwrite(m.word, sizeof(*m.word), head.words, stdout);
	if (head.words > 0)
		fwrite(vectors, DIMENSION, head.words, stdout);
	free(vectors);
	free(m.begin);
	free(m.cells);
	free(m.times);
	free(m.texts);
	free(m.slots);
	free(m.word);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
