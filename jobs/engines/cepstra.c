/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mel cepstra as sphinxbase makes them of speech for the model en-us. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "jobs/engines/cepstra.h"

enum { FFT = 512, BINS = FFT / 2 + 1, BANDS = 25, RATE = 16000, LIFTER = 22 };
#define LOWEST 130.0
#define HIGHEST 6800.0
#define PREEMPHASIS 0.97f
#define PI 3.14159265358979323846

struct tables {
	float window[CEPSTRA_WINDOW], cosine[CEPSTRA][BANDS], filter[BANDS][BINS];
	int from[BANDS], to[BANDS];
	float complex turn[FFT / 2];
	int reversed[FFT];
};

static double
mel(double hertz)
{
	return 2595 * log10(1 + hertz / 700);
}

static double
hertz(double at)
{
	return 700 * (pow(10, at / 2595) - 1);
}

/* Triangles whose corners lie on bins, each of area one. */
static void
make_filter(struct tables *t, int band)
{
	const double step = (mel(HIGHEST) - mel(LOWEST)) / (BANDS + 1), width = (double)RATE / FFT;
	double corner[3];

	for (int i = 0; i < 3; i++)
		corner[i] = round(hertz(mel(LOWEST) + step * (band + i)) / width) * width;
	t->from[band] = BINS;
	t->to[band] = 0;
	for (int b = 0; b < BINS; b++) {
		const double f = b * width, up = (f - corner[0]) / (corner[1] - corner[0]),
		    down = (corner[2] - f) / (corner[2] - corner[1]), height = fmin(up, down);

		if (height <= 0)
			continue;
		t->filter[band][b] = (float)(height * 2 / (corner[2] - corner[0]));
		t->from[band] = b < t->from[band] ? b : t->from[band];
		t->to[band] = b + 1;
	}
}

static struct tables *
make_tables(struct arena *mem)
{
	struct tables *t = NEW(mem, struct tables);

	for (int i = 0; i < CEPSTRA_WINDOW; i++)
		t->window[i] = (float)(0.54 - 0.46 * cos(2 * PI * i / (CEPSTRA_WINDOW - 1)));
	for (int i = 0; i < CEPSTRA; i++)
		for (int b = 0; b < BANDS; b++)
			t->cosine[i][b] = (float)(sqrt(i == 0 ? 1.0 / BANDS : 2.0 / BANDS) * cos(PI * i * (b + 0.5) /
			    BANDS));
	for (int b = 0; b < BANDS; b++)
		make_filter(t, b);
	for (int i = 0; i < FFT / 2; i++)
		t->turn[i] = (float)cos(2 * PI * i / FFT) - (float)sin(2 * PI * i / FFT) * (float complex)I;
	for (int i = 0, r = 0; i < FFT; i++) {
		int bit = FFT / 2;

		t->reversed[i] = r;
		for (; bit > 0 && (r & bit) != 0; bit /= 2)
			r ^= bit;
		r |= bit;
	}
	return t;
}

static void
transform(const struct tables *t, float complex *x)
{
	for (int size = 2; size <= FFT; size *= 2)
		for (int from = 0; from < FFT; from += size)
			for (int k = 0; k < size / 2; k++) {
				float complex *one = &x[from + k], *other = one + size / 2;
				const float complex a = *one, b = *other * t->turn[k * (FFT / size)];

				*one = a + b;
				*other = a - b;
			}
}

static void
frame(const struct tables *t, const int16_t *s, float before, struct cepstrum *out)
{
	float complex x[FFT] = { 0 };
	float power[BINS], level[BANDS];

	for (int i = 0; i < CEPSTRA_WINDOW; i++)
		x[t->reversed[i]] = (s[i] - PREEMPHASIS * (i > 0 ? s[i - 1] : before)) * t->window[i];
	transform(t, x);
	for (int b = 0; b < BINS; b++)
		power[b] = crealf(x[b]) * crealf(x[b]) + cimagf(x[b]) * cimagf(x[b]);
	for (int k = 0; k < BANDS; k++) {
		float sum = 0;

		for (int b = t->from[k]; b < t->to[k]; b++)
			sum += power[b] * t->filter[k][b];
		level[k] = logf(sum + 1e-4f);
	}
	for (int i = 0; i < CEPSTRA; i++) {
		float sum = 0;

		for (int k = 0; k < BANDS; k++)
			sum += level[k] * t->cosine[i][k];
		out->c[i] = sum;
	}
}

struct cepstrum *
cepstra_of(struct arena *mem, const int16_t *samples, size_t length, size_t *n)
{
	const struct tables *t = make_tables(mem);
	struct cepstrum *out;

	*n = length < CEPSTRA_WINDOW ? 0 : (length - CEPSTRA_WINDOW) / CEPSTRA_HOP + 1;
	out = arena_raw(mem, *n * sizeof(*out));
	for (size_t i = 0; i < *n; i++) {
		const int16_t *s = samples + i * CEPSTRA_HOP;

		frame(t, s, i > 0 ? s[-1] : 0, &out[i]);
	}
	return out;
}

float
cepstra_lift(int i)
{
	return (float)(1 + LIFTER / 2.0 * sin(i * PI / LIFTER));
}
