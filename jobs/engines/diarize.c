/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Agglomeration after Ajmera and Wooters: begin with more voices than there are, each a mixture of Gaussians; part the
 * frames anew among them by the best path; join the two that one mixture of as many Gaussians describes best, as long
 * as it describes them better than the two do.  No threshold is needed, since the number of parameters stays.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "jobs/engines/diarize.h"

/* Of cepstra 1 to DIM.  Times in frames of 10 ms. */
enum { DIM = 19, FIRST = 5, GAUSSIANS_MAX = FIRST * DIARIZE_VOICES, ROUNDS = 5, SHORTEST = 250, LAST_SHORTEST = 80 };
/* Voices to begin with: one for so many frames of voice. */
enum { PER_VOICE = 500 };
/* Whoever says less is taken for one of the others: these frames or this share, or these frames and this share. */
enum { LEAST = 300, FEW = 1000 };
#define LEAST_SHARE 0.02f
#define FEW_SHARE 0.10f
#define VARIANCE_LEAST 0.05f
/* Of cepstrum 0, which is five times the mean of the logs of 25 bands: 30 dB. */
#define LOUD_BELOW 34.5f

struct gaussian { float weight, mean[DIM], inverse[DIM], constant; };
struct mixture { struct gaussian at[GAUSSIANS_MAX]; int n; double fit; bool used; };

struct work {
	struct arena *mem;
	const struct speech *speech;
	unsigned char *voice;
	struct mixture *voices;
	int n;				/* voices at the beginning */
	size_t *some;			/* room for a list of frames */
	double *sum, *best;		/* [frame][voice], [frame]: logs of likelihoods up to there */
	size_t *from;			/* where the stretch begins that ends there on the best path */
	unsigned char *who;		/* and who speaks in it */
};

static float
likelihood(const struct gaussian *g, const float *x)
{
	float sum = 0, d;

	for (int i = 0; i < DIM; i++) {
		d = x[i] - g->mean[i];
		sum += d * d * g->inverse[i];
	}
	return g->constant - 0.5f * sum;
}

static void
finish_gaussian(struct gaussian *g, const float *floor_of)
{
	float logs = 0;

	for (int i = 0; i < DIM; i++) {
		float variance = g->inverse[i] < floor_of[i] ? floor_of[i] : g->inverse[i];

		logs += logf(variance);
		g->inverse[i] = 1 / variance;
	}
	g->constant = logf(g->weight) - 0.5f * (logs + DIM * 1.8378771f);
}

/* The log of the sum; share[k] becomes that of Gaussian k. */
static float
shares(const struct mixture *m, const float *x, float *share)
{
	float best = -INFINITY, sum = FLT_MIN;

	for (int k = 0; k < m->n; k++) {
		share[k] = likelihood(&m->at[k], x);
		best = share[k] > best ? share[k] : best;
	}
	for (int k = 0; k < m->n; k++) {
		share[k] = share[k] < best - 20 ? 0 : expf(share[k] - best);
		sum += share[k];
	}
	for (int k = 0; k < m->n; k++)
		share[k] /= sum;
	return best + logf(sum);
}

static const float *
frame(const struct work *w, size_t i)
{
	return w->speech->at[i].c + 1;
}

/* Variances below a share of that of all the frames are noise of the estimate. */
static void
floors(const struct work *w, const size_t *at, size_t n, float *out)
{
	double sum[DIM] = { 0 }, squares[DIM] = { 0 };

	for (size_t k = 0; k < n; k++)
		for (int i = 0; i < DIM; i++) {
			const float x = frame(w, at[k])[i];

			sum[i] += x;
			squares[i] += x * x;
		}
	for (int i = 0; i < DIM; i++) {
		const double mean = sum[i] / (double)n;

		out[i] = fmaxf((float)(squares[i] / (double)n - mean * mean) * VARIANCE_LEAST, 1e-4f);
	}
}

/* One round of expectation and maximisation over the frames. */
static void
learn(const struct work *w, struct mixture *m, const size_t *at, size_t n, const float *floor_of)
{
	double weight[GAUSSIANS_MAX] = { 0 }, sum[GAUSSIANS_MAX][DIM], squares[GAUSSIANS_MAX][DIM];
	float share[GAUSSIANS_MAX];

	memset(sum, 0, (size_t)m->n * sizeof(*sum));
	memset(squares, 0, (size_t)m->n * sizeof(*squares));
	m->fit = 0;
	for (size_t j = 0; j < n; j++) {
		const float *x = frame(w, at[j]);

		m->fit += shares(m, x, share);
		for (int k = 0; k < m->n; k++) {
			if (share[k] < 1e-4f)
				continue;
			weight[k] += share[k];
			for (int i = 0; i < DIM; i++) {
				sum[k][i] += share[k] * x[i];
				squares[k][i] += share[k] * x[i] * x[i];
			}
		}
	}
	for (int k = 0; k < m->n; k++) {
		struct gaussian *g = &m->at[k];

		g->weight = fmaxf((float)(weight[k] / (double)n), 1e-6f);
		for (int i = 0; i < DIM && weight[k] > 1; i++) {
			g->mean[i] = (float)(sum[k][i] / weight[k]);
			g->inverse[i] = (float)(squares[k][i] / weight[k]) - g->mean[i] * g->mean[i];
		}
		for (int i = 0; i < DIM && weight[k] <= 1; i++)
			g->inverse[i] = 1 / g->inverse[i];
		finish_gaussian(g, floor_of);
	}
}

/* How well it describes the frames. */
static double
fit(const struct work *w, const struct mixture *m, const size_t *at, size_t n)
{
	float share[GAUSSIANS_MAX];
	double sum = 0;

	for (size_t j = 0; j < n; j++)
		sum += shares(m, frame(w, at[j]), share);
	return sum;
}

/* Gaussians around frames that are spread evenly over all of them. */
static void
begin_mixture(const struct work *w, struct mixture *m, const size_t *at, size_t n)
{
	float floor_of[DIM];

	floors(w, at, n, floor_of);
	m->n = FIRST;
	m->used = true;
	for (int k = 0; k < FIRST; k++) {
		struct gaussian *g = &m->at[k];

		g->weight = 1.0f / FIRST;
		memcpy(g->mean, frame(w, at[(2 * (size_t)k + 1) * n / (2 * FIRST)]), sizeof(g->mean));
		for (int i = 0; i < DIM; i++)
			g->inverse[i] = floor_of[i] / VARIANCE_LEAST;
		finish_gaussian(g, floor_of);
	}
	for (int r = 0; r < ROUNDS; r++)
		learn(w, m, at, n, floor_of);
}

/* The loud frames of one voice, or of two. */
static size_t
frames_of(const struct work *w, int a, int b, size_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < w->speech->n; i++)
		if (w->speech->loud[i] && (w->voice[i] == a || w->voice[i] == b))
			out[n++] = i;
	return n;
}

static void
relearn(struct work *w, int rounds)
{
	float floor_of[DIM];

	for (int v = 0; v < w->n; v++) {
		struct mixture *m = &w->voices[v];
		size_t n;

		if (!m->used)
			continue;
		n = frames_of(w, v, v, w->some);
		if (n < 2 * FIRST) {
			m->used = false;
			continue;
		}
		floors(w, w->some, n, floor_of);
		for (int r = 0; r < rounds; r++)
			learn(w, m, w->some, n, floor_of);
		m->fit = fit(w, m, w->some, n);
	}
}

/* How likely each voice has said all that was said up to each frame. */
static void
judge(struct work *w)
{
	const size_t k = (size_t)w->n;
	float share[GAUSSIANS_MAX];

	for (size_t i = 0; i < w->speech->n; i++)
		for (size_t v = 0; v < k; v++)
			w->sum[(i + 1) * k + v] = w->sum[i * k + v] + (!w->speech->loud[i] || !w->voices[v].used ? 0 :
			    (double)shares(&w->voices[v], frame(w, i), share));
}

/* The best path on which nobody speaks for less than `shortest` frames of 10 ms. */
static void
resegment(struct work *w, size_t shortest)
{
	const size_t n = w->speech->n, k = (size_t)w->n;
	double open[DIARIZE_VOICES];
	size_t since[DIARIZE_VOICES] = { 0 };

	judge(w);
	shortest = shortest / w->speech->hop > 0 ? shortest / w->speech->hop : 1;
	shortest = shortest > n ? n : shortest;
	for (size_t v = 0; v < k; v++)
		open[v] = -INFINITY;
	w->best[0] = 0;
	for (size_t i = 1; i <= n; i++) {
		const size_t start = i - shortest;

		w->best[i] = -INFINITY;
		if (i < shortest)
			continue;
		for (size_t v = 0; v < k; v++) {
			if (!w->voices[v].used)
				continue;
			/* open: the best that can be had where a stretch of this voice begins at `start` or before. */
			if (w->best[start] - w->sum[start * k + v] > open[v]) {
				open[v] = w->best[start] - w->sum[start * k + v];
				since[v] = start;
			}
			if (open[v] + w->sum[i * k + v] > w->best[i]) {
				w->best[i] = open[v] + w->sum[i * k + v];
				w->from[i] = since[v];
				w->who[i] = (unsigned char)v;
			}
		}
	}
	for (size_t i = n; i > 0; i = w->from[i])
		memset(w->voice + w->from[i], w->who[i], i - w->from[i]);
}

/* What one mixture of as many Gaussians describes better than the two do, in *both; 0: worse. */
static double
gain(const struct work *w, int a, int b, struct mixture *both)
{
	const struct mixture *x = &w->voices[a], *y = &w->voices[b];
	const size_t n = frames_of(w, a, b, w->some), mine = frames_of(w, a, a, w->some);
	const float share = (float)mine / (float)n;
	float floor_of[DIM];
	double found;

	if (x->n + y->n > GAUSSIANS_MAX)
		return 0;
	frames_of(w, a, b, w->some);
	floors(w, w->some, n, floor_of);
	both->n = x->n + y->n;
	both->used = true;
	for (int k = 0; k < both->n; k++) {
		const bool first = k < x->n;
		struct gaussian *g = &both->at[k];

		*g = first ? x->at[k] : y->at[k - x->n];
		g->constant += logf(first ? share : 1 - share);
		g->weight *= first ? share : 1 - share;
	}
	for (int r = 0; r < ROUNDS; r++)
		learn(w, both, w->some, n, floor_of);
	found = fit(w, both, w->some, n) - x->fit - y->fit;
	both->fit = x->fit + y->fit + found;
	return found > 0 ? found : 0;
}

/* False: no two are better as one. */
static bool
join_best(struct work *w, struct mixture *both, struct mixture *best)
{
	double most = 0, found;
	int from = -1, into = -1;

	for (int a = 0; a < w->n; a++)
		for (int b = a + 1; b < w->n; b++) {
			if (!w->voices[a].used || !w->voices[b].used)
				continue;
			found = gain(w, a, b, both);
			if (found <= most)
				continue;
			most = found;
			into = a;
			from = b;
			*best = *both;
		}
	if (into < 0)
		return false;
	w->voices[into] = *best;
	w->voices[from].used = false;
	for (size_t i = 0; i < w->speech->n; i++)
		w->voice[i] = w->voice[i] == from ? (unsigned char)into : w->voice[i];
	return true;
}

/* Whoever says next to nothing is no voice of its own. */
static bool
drop_least(struct work *w)
{
	size_t said[DIARIZE_VOICES] = { 0 }, all = 0, least = SIZE_MAX;
	int voices = 0, who = -1;

	for (size_t i = 0; i < w->speech->n; i++)
		if (w->speech->loud[i]) {
			said[w->voice[i]]++;
			all++;
		}
	for (int v = 0; v < w->n; v++) {
		if (!w->voices[v].used)
			continue;
		voices++;
		if (said[v] < least) {
			least = said[v];
			who = v;
		}
	}
	said[who < 0 ? 0 : who] *= w->speech->hop;
	if (voices < 2 || (said[who] >= LEAST && (float)least >= LEAST_SHARE * (float)all &&
	    (said[who] >= FEW || (float)least >= FEW_SHARE * (float)all)))
		return false;
	w->voices[who].used = false;
	return true;
}

/* In the order in which they are first heard. */
static int
number_voices(struct work *w)
{
	int number[DIARIZE_VOICES], n = 0;

	for (int v = 0; v < DIARIZE_VOICES; v++)
		number[v] = -1;
	for (size_t i = 0; i < w->speech->n; i++) {
		if (number[w->voice[i]] < 0)
			number[w->voice[i]] = n++;
		w->voice[i] = (unsigned char)number[w->voice[i]];
	}
	return n;
}

static struct work
begin(struct arena *mem, const struct speech *speech, unsigned char *voice)
{
	struct work w = { .mem = mem, .speech = speech, .voice = voice };
	size_t loud = 0, seen = 0;

	for (size_t i = 0; i < speech->n; i++)
		loud += speech->loud[i];
	w.n = (int)(loud * speech->hop / PER_VOICE);
	w.n = w.n < 1 ? 1 : w.n > DIARIZE_VOICES ? DIARIZE_VOICES : w.n;
	w.some = arena_array(mem, speech->n, sizeof(*w.some));
	w.sum = arena_array(mem, (speech->n + 1) * (size_t)w.n, sizeof(*w.sum));
	w.best = arena_array(mem, speech->n + 1, sizeof(*w.best));
	w.from = arena_array(mem, speech->n + 1, sizeof(*w.from));
	w.who = arena_array(mem, speech->n + 1, 1);
	w.voices = arena_array(mem, DIARIZE_VOICES, sizeof(*w.voices));
	for (size_t i = 0; i < speech->n; i++) {
		voice[i] = (unsigned char)(seen * (size_t)w.n / (loud + 1));
		seen += speech->loud[i];
	}
	return w;
}

int
diarize(struct arena *mem, const struct speech *speech, unsigned char *voice, void (*tell)(void *user, int percent),
    void *user)
{
	struct work w = begin(mem, speech, voice);
	struct mixture *both = arena_array(mem, 2, sizeof(*both));
	int rounds = 0;

	for (int v = 0; v < w.n; v++) {
		const size_t n = frames_of(&w, v, v, w.some);

		if (n >= (size_t)2 * FIRST)
			begin_mixture(&w, &w.voices[v], w.some, n);
	}
	do {
		for (int r = 0; r < 2; r++) {
			resegment(&w, SHORTEST);
			relearn(&w, ROUNDS);
		}
		tell(user, 100 * rounds++ / (w.n + 1));
	} while (join_best(&w, both, both + 1));
	resegment(&w, SHORTEST);
	while (drop_least(&w)) {
		resegment(&w, SHORTEST);
		relearn(&w, 1);
	}
	resegment(&w, LAST_SHORTEST);
	return number_voices(&w);
}

void
diarize_mark_loud(struct arena *mem, struct speech *s)
{
	/* Surroundings of 10 s. */
	const size_t reach = 1000 / s->hop;
	float loudest = -INFINITY;

	s->loud = arena_array(mem, s->n + 1, sizeof(*s->loud));
	for (size_t i = 0; i < s->n; i++) {
		if (i % reach == 0) {
			loudest = -INFINITY;
			for (size_t k = i > reach ? i - reach : 0; k < s->n && k < i + 2 * reach; k++)
				loudest = s->at[k].c[0] > loudest ? s->at[k].c[0] : loudest;
		}
		s->loud[i] = s->at[i].c[0] > loudest - LOUD_BELOW;
	}
}
