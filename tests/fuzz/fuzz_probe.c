/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What ffprobe says of a file, its JSON and its lines of moments, and how far ffmpeg says it is.  They have read a
 * stranger's file, so nothing of it is believed.  The files under test are included, since they start those themselves.
 */
#include "media/encode.c"
#include "media/probe.c"
#include "media/rates.c"
#include "tests/fuzz/fuzz.h"

static void
accepted(struct arena *mem, const struct av_file *f)
{
	const struct av_video *v = f->video;
	const char *json = av_json(mem, f);
	int i;

	if (!json_valid(mem, json, strlen(json)))
		abort();
	if (f->duration_ms < 0 || f->n_tracks > TRACKS_MAX || (f->audio == NULL && v == NULL))
		abort();
	if (f->audio != NULL && (f->audio < f->tracks || f->audio >= f->tracks + f->n_tracks ||
	    f->audio->channels <= 0))
		abort();
	for (i = 0; i < f->n_tracks; i++)
		if (f->tracks[i].language != NULL && strlen(f->tracks[i].language) > 35)
			abort();
	if (v != NULL && ((int64_t)v->coded_width * v->coded_height > PIXELS_MAX ||
	    (f->audio == NULL && (v->width <= 0 || v->height <= 0)) ||
	    v->width > SIDE_MAX * 8 || v->height > SIDE_MAX * 8 || v->rotation % 90 != 0 || v->rotation < 0 ||
	    v->rotation > 270 || v->out_rate.num <= 0 || v->out_rate.den <= 0 || av_value(v->out_rate) > 61 ||
	    v->rate.num <= 0))
		abort();
}

static void
moments(const uint8_t *data, size_t n)
{
	struct census whole = { 0 }, pieces = { 0 };
	size_t step = n > 0 ? data[0] % 7 + 1 : 1, i;

	take_moments(&whole, (const char *)data, n);
	for (i = 0; i < n; i += step)
		take_moments(&pieces, (const char *)data + i, step < n - i ? step : n - i);
	if (whole.frames != pieces.frames || whole.last != pieces.last || !isfinite(whole.last) || whole.last < 0)
		abort();
}

static void
on_percent(void *user, int percent)
{
	int *last = user;

	if (percent <= *last || percent > 99)
		abort();
	*last = percent;
}

static void
progress(char *text)
{
	const struct av_file file = { .duration_ms = 90000 };
	int last = 0;
	const struct av_work work = { .file = &file, .progress = on_percent, .user = &last };
	struct order order = { .work = &work };
	const char *line;

	while ((line = strsep(&text, "\n")) != NULL)
		on_progress(&order, line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct fault fault = { 0 };
	const struct probe *p;
	struct av_file *f;

	if (mem == NULL)
		mem = arena_new((size_t)256 << 20);
	p = record_parse(mem, &probe_record, arena_copy_n(mem, data, n));
	if (p != NULL) {
		f = file_of(mem, "/dev/null", p);
		if (acceptable(mem, p, f, &fault))
			accepted(mem, f);
		else if (fault.reason == REASON_NONE || fault.detail == NULL || !utf8_valid(fault.detail,
		    strlen(fault.detail)))
			abort();
	}
	moments(data, n);
	progress(arena_copy_n(mem, data, n));
	arena_reset(mem);
	return 0;
}
