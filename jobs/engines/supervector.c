/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Supervectors after Campbell: means that a voice would have, by its frames and ten of all speech for each Gaussian. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "jobs/engines/supervector.h"

enum { G = SUPERVECTOR_GAUSSIANS, D = SUPERVECTOR_DIM, ROUNDS = 12, FILE_MAX = 16 << 20, MAGIC = 0x11223344 };
#define RELEVANCE 10.0f

struct supervector_model { float weight[G], mean[G][D], deviation[G][D], constant[G]; };

/* Means or variances of the first stream of features, without the one that follows loudness. */
struct parameters { float (*at)[D]; size_t n; };

/* A file of sphinx: lines up to "endhdr", a mark of the order of bytes, numbers of codebooks, streams and Gaussians,
 * the length of each stream, how many floats there are, and those. */
static bool
parse(struct arena *mem, const char *bytes, size_t size, struct parameters *out)
{
	const char *end = memmem(bytes, size, "endhdr\n", 7), *floats;
	int32_t head[4], length[8], count, all = 0;
	size_t left;

	if (end == NULL)
		return false;
	end += 7;
	left = size - (size_t)(end - bytes);
	if (left < sizeof(head))
		return false;
	memcpy(head, end, sizeof(head));
	if (head[0] != MAGIC || head[1] < 1 || head[1] > 10000 || head[2] < 1 || head[2] > 8 || head[3] < 1 ||
	    head[3] > 4096 || left < sizeof(head) + ((size_t)head[2] + 1) * 4)
		return false;
	memcpy(length, end + sizeof(head), (size_t)head[2] * 4);
	memcpy(&count, end + sizeof(head) + (size_t)head[2] * 4, 4);
	floats = end + sizeof(head) + ((size_t)head[2] + 1) * 4;
	for (int i = 0; i < head[2]; i++) {
		if (length[i] < 1 || length[i] > 1000)
			return false;
		all += length[i];
	}
	if (length[0] <= D || (int64_t)head[1] * head[3] * all != count ||
	    (int64_t)count * 4 > (int64_t)size - (floats - bytes))
		return false;
	out->n = (size_t)head[1] * (size_t)head[3];
	out->at = arena_array(mem, out->n, sizeof(*out->at));
	for (size_t i = 0; i < out->n; i++)
		memcpy(out->at[i], floats + 4 * ((i / (size_t)head[3]) * (size_t)(head[3] * all) + i % (size_t)head[3] *
		    (size_t)length[0] + 1), sizeof(*out->at));
	return true;
}

static bool
read_parameters(struct arena *mem, const char *path, struct parameters *out)
{
	FILE *f = fopen(path, "re");
	char *bytes;
	size_t n;

	if (f == NULL)
		return false;
	bytes = arena_raw(mem, FILE_MAX);
	n = fread(bytes, 1, FILE_MAX, f);
	fclose(f);
	return parse(mem, bytes, n, out);
}

/* Squared, in deviations; or something larger than least, which is all that is asked of what is further away. */
static float
distance(const struct supervector_model *m, size_t g, const float *x, float least)
{
	float sum = 0;

	for (int i = 0; i < D && sum <= least; i++)
		sum += (x[i] - m->mean[g][i]) * (x[i] - m->mean[g][i]) / (m->deviation[g][i] * m->deviation[g][i]);
	return sum;
}

/* It mostly is the one of the round before. */
static size_t
nearest(const struct supervector_model *m, const float *x, size_t before)
{
	float least = distance(m, before, x, INFINITY), sum;
	size_t best = before;

	for (size_t g = 0; g < G; g++) {
		sum = distance(m, g, x, least);
		if (sum < least || (sum == least && g < best)) {
			least = sum;
			best = g;
		}
	}
	return best;
}

/* The many Gaussians of the acoustic model as few: k-means, in deviations of them all, then the moments of each
 * group. */
static void
gather(struct arena *mem, struct supervector_model *m, const struct parameters *means,
    const struct parameters *variances)
{
	size_t *group = arena_array(mem, means->n, sizeof(*group)), count[G];
	double sum[G][D], squares[G][D];

	for (size_t g = 0; g < G; g++)
		memcpy(m->mean[g], means->at[(2 * g + 1) * means->n / (2 * G)], sizeof(m->mean[g]));
	for (int i = 0; i < D; i++) {
		double s = 0, q = 0;

		for (size_t k = 0; k < means->n; k++) {
			s += means->at[k][i];
			q += means->at[k][i] * means->at[k][i];
		}
		for (size_t g = 0; g < G; g++)
			m->deviation[g][i] = (float)sqrt(q / (double)means->n - s / (double)means->n * s /
			    (double)means->n + 1e-6);
	}
	for (int round = 0; round < ROUNDS; round++) {
		memset(count, 0, sizeof(count));
		memset(sum, 0, sizeof(sum));
		memset(squares, 0, sizeof(squares));
		for (size_t k = 0; k < means->n; k++) {
			group[k] = nearest(m, means->at[k], group[k]);
			count[group[k]]++;
			for (int i = 0; i < D; i++) {
				const float x = means->at[k][i];

				sum[group[k]][i] += x;
				squares[group[k]][i] += x * x + variances->at[k][i];
			}
		}
		for (size_t g = 0; g < G; g++)
			for (int i = 0; i < D && count[g] > 0; i++)
				m->mean[g][i] = (float)(sum[g][i] / (double)count[g]);
	}
	for (size_t g = 0; g < G; g++) {
		float logs = 0;

		m->weight[g] = ((float)count[g] + 0.5f) / ((float)means->n + 0.5f * G);
		for (int i = 0; i < D; i++) {
			if (count[g] > 0)
				m->deviation[g][i] = (float)sqrt(fmax(squares[g][i] / (double)count[g] -
				    (double)m->mean[g][i] * m->mean[g][i], 1e-4));
			logs += logf(m->deviation[g][i]);
		}
		m->constant[g] = logf(m->weight[g]) - logs;
	}
}

const struct supervector_model *
supervector_model(struct arena *mem, const char *dir)
{
	struct supervector_model *m = NEW(mem, struct supervector_model);
	struct parameters means, variances;

	if (!read_parameters(mem, arena_printf(mem, "%s/en-us/means", dir), &means) ||
	    !read_parameters(mem, arena_printf(mem, "%s/en-us/variances", dir), &variances) || means.n != variances.n ||
	    means.n < G)
		return NULL;
	gather(mem, m, &means, &variances);
	return m;
}

/* As the acoustic model has its features: without the recording's own colour. */
static void
centre(const struct cepstrum *const *frames, size_t n, float *mean)
{
	for (int i = 0; i < D; i++) {
		double sum = 0;

		for (size_t k = 0; k < n; k++)
			sum += frames[k]->c[i + 1];
		mean[i] = (float)(sum / (double)n);
	}
}

void
supervector_of(const struct supervector_model *m, const struct cepstrum *const *frames, size_t n,
    struct supervector *out)
{
	float mean[D], x[D], share[G];

	*out = (struct supervector){ .n = { 0 } };
	if (n == 0)
		return;
	centre(frames, n, mean);
	for (size_t k = 0; k < n; k++) {
		float best = -INFINITY, all = 0;

		for (int i = 0; i < D; i++)
			x[i] = (frames[k]->c[i + 1] - mean[i]) * cepstra_lift(i + 1);
		for (size_t g = 0; g < G; g++) {
			float sum = 0;

			for (int i = 0; i < D; i++) {
				const float d = (x[i] - m->mean[g][i]) / m->deviation[g][i];

				sum += d * d;
			}
			share[g] = m->constant[g] - 0.5f * sum;
			best = share[g] > best ? share[g] : best;
		}
		for (size_t g = 0; g < G; g++) {
			share[g] = share[g] < best - 12 ? 0 : expf(share[g] - best);
			all += share[g];
		}
		for (size_t g = 0; g < G; g++) {
			const float p = share[g] / all;

			if (p < 1e-3f)
				continue;
			out->n[g] += p;
			for (int i = 0; i < D; i++)
				out->sum[g][i] += p * sqrtf(m->weight[g]) * (x[i] - m->mean[g][i]) / m->deviation[g][i];
		}
	}
}

double
supervector_likeness(const float *one, const float *other, size_t n)
{
	const struct supervector *a = (const struct supervector *)(const void *)one;
	const struct supervector *b = (const struct supervector *)(const void *)other;
	double ab = 0, aa = 0, bb = 0;

	if (n * sizeof(*one) != sizeof(*a))
		return 0;
	for (size_t g = 0; g < G; g++) {
		if (!(a->n[g] >= 0 && b->n[g] >= 0))
			return 0;
		for (int i = 0; i < D; i++) {
			const double x = a->sum[g][i] / (a->n[g] + RELEVANCE), y = b->sum[g][i] / (b->n[g] + RELEVANCE);

			ab += x * y;
			aa += x * x;
			bb += y * y;
		}
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}
