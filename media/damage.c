/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a file cannot be read: moments of decoded frames and samples against what the file says; see av.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "media/damage.h"

/* ms.  GAP: shorter ones nobody notices.  LEAD: recordings of broadcasts begin anywhere, so the first picture may come
 * late.  NEAR: frames that the decoder still held when it complained.  SHORT: of a file that ends early, with a
 * complaint. */
enum { GAP = 150, LEAD = 3000, NEAR = 3000, SHORT = 500, JOIN = 1000, LEAST = 1000, RAW = 256 };

/* Picture or sound, as it comes out of its decoder. */
struct track {
	bool there;
	int64_t num, den;			/* of its clock */
	int64_t begin, end, length, frame;	/* ms; length: without gaps; frame: the latest one */
	int64_t blamed;				/* where it was at the last complaint; -1: there was none */
	int64_t promised;			/* end by the file's index; 0: not said */
};

struct damage {
	struct arena *mem;
	const struct av_file *file;
	struct track tracks[2];			/* picture, sound */
	struct av_gap raw[RAW];
	size_t n_raw;
	bool cut;				/* a reader said that the file ends too early */
};
enum { PICTURE, SOUND };

/* What readers and decoders say of bytes that are not as they should be. */
static const char *const complaints[] = { "corrupt", "rror while decoding", "partial file", "ended prematurely",
    "first byte of an EBML", "exceeds containing", "resync", "Packet mismatch", "nvalid data", "Invalid NAL",
    "Invalid timestamps", "concealing", "runcated", "Header missing", "invalid frame" };
static const char *const ends[] = { "partial file", "ended prematurely" };

static int64_t
promise(const struct av_file *f, int64_t start_ms, int64_t duration_ms)
{
	if (!f->duration_exact)
		return 0;
	return duration_ms > 0 ? start_ms - f->start_ms + duration_ms : f->duration_ms;
}

struct damage *
damage_begin(struct arena *mem, const struct av_file *f, bool picture, bool sound)
{
	struct damage *d = NEW(mem, struct damage);

	d->mem = mem;
	d->file = f;
	d->tracks[PICTURE] = d->tracks[SOUND] = (struct track){ .num = 1, .den = 1000, .begin = -1, .blamed = -1 };
	if (picture) {
		d->tracks[PICTURE].there = true;
		d->tracks[PICTURE].promised = promise(f, f->video->start_ms, f->video->duration_ms);
	}
	if (sound) {
		d->tracks[SOUND].there = true;
		d->tracks[SOUND].promised = promise(f, f->audio->start_ms, f->audio->duration_ms);
	}
	return d;
}

/* Frames come as they are decoded: what the log says meanwhile happened there. */
void
damage_watch(struct damage *d, struct av_tool *t)
{
	av_add(t, "-v", "repeat+warning");
	if (d->tracks[PICTURE].there)
		av_add(t, "-map", "[moments]", "-c:v", "rawvideo", "-fps_mode", "passthrough");
	if (d->tracks[SOUND].there)
		av_add(t, "-map", "[sounds]", "-c:a", "pcm_s16le");
	av_add(t, "-max_interleave_delta", "1", "-flush_packets", "1");
}

static void
add_gap(struct damage *d, int k, int64_t from, int64_t to)
{
	struct av_gap *last = d->n_raw > 0 ? &d->raw[d->n_raw - 1] : NULL;

	if (last != NULL && (d->n_raw == RAW || (from - last->to_ms < JOIN && from >= last->from_ms))) {
		last->to_ms = to > last->to_ms ? to : last->to_ms;
		last->picture |= k == PICTURE;
		last->sound |= k == SOUND;
		return;
	}
	d->raw[d->n_raw++] = (struct av_gap){ from, to, k == PICTURE, k == SOUND };
}

/* Was there a complaint about what lies before this moment of the track? */
static bool
is_blamed(const struct track *t, int64_t from)
{
	const int64_t held = 12 * t->frame > NEAR ? 12 * t->frame : NEAR;

	return t->blamed >= 0 && t->blamed >= from - held;
}

static void
take_frame(struct damage *d, int k, int64_t pts, int64_t duration)
{
	struct track *t = &d->tracks[k];
	const int64_t at = pts * 1000 * t->num / t->den;

	if (t->begin < 0) {
		t->begin = t->end = at > 0 ? at : 0;
		if (at > LEAD && is_blamed(t, 0))
			add_gap(d, k, 0, at);
	} else if (at - t->end > GAP && at - t->end > 2 * t->frame && is_blamed(t, t->end)) {
		add_gap(d, k, t->end, at);
	}
	t->frame = duration * 1000 * t->num / t->den;
	t->length += t->frame;
	if (at + t->frame > t->end)
		t->end = at + t->frame;
}

/* The log of another thread may have begun its line: "[h264 @ 0x55e5] 0, 7, 7, 1, ...". */
static bool
take_line(struct damage *d, const char *line)
{
	int64_t dts, pts, duration, num, den;
	int stream;

	for (const char *at; *line == '[' && (at = strstr(line, "] ")) != NULL;)
		line = at + 2;
	if (sscanf(line, "#tb %d: %" SCNd64 "/%" SCNd64, &stream, &num, &den) == 3 && num > 0 && den > 0) {
		stream = d->tracks[PICTURE].there ? stream : SOUND;
		if (stream == PICTURE || stream == SOUND) {
			d->tracks[stream].num = num;
			d->tracks[stream].den = den;
		}
		return true;
	}
	if (sscanf(line, "%d, %" SCNd64 ", %" SCNd64 ", %" SCNd64, &stream, &dts, &pts, &duration) != 4)
		return *line == '#';
	stream = d->tracks[PICTURE].there ? stream : SOUND;
	if ((stream == PICTURE || stream == SOUND) && llabs(pts) < INT64_C(1) << 52 && duration >= 0 &&
	    duration < INT64_C(1) << 40)
		take_frame(d, stream, pts, duration);
	return true;
}

static void
take_complaint(struct damage *d, const char *line)
{
	struct track *picture = &d->tracks[PICTURE];
	bool meant = false;
	const char *at;

	for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++)
		meant |= strstr(line, complaints[i]) != NULL;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		d->cut |= strstr(line, ends[i]) != NULL;
	if (!meant)
		return;
	for (int k = 0; k < 2; k++)
		d->tracks[k].blamed = d->tracks[k].end;
	/* The frame comes, but with holes. */
	at = strstr(line, "corrupt decoded frame in stream ");
	if (at != NULL && picture->begin >= 0 && picture->there &&
	    atoi(at + strlen("corrupt decoded frame in stream ")) == d->file->video->index)
		add_gap(d, PICTURE, picture->end, picture->end + picture->frame);
}

bool
damage_read(struct damage *d, const char *line)
{
	if (take_line(d, line))
		return true;
	take_complaint(d, line);
	return false;
}

/* What is missing at the ends: of one track, when the other one goes on, and of the file. */
static void
judge_ends(struct damage *d, int64_t end)
{
	const struct av_file *f = d->file;
	const int64_t slack = f->duration_ms / 20 > 1000 ? f->duration_ms / 20 : 1000;
	int64_t promised = 0;
	bool blamed = d->cut;

	for (int k = 0; k < 2; k++) {
		const struct track *t = &d->tracks[k];
		const int64_t wanted = t->promised < end ? t->promised : end;

		if (!t->there)
			continue;
		blamed |= is_blamed(t, t->end);
		promised = t->promised > promised ? t->promised : promised;
		if (wanted - t->end > SHORT && is_blamed(t, t->end))
			add_gap(d, k, t->end, wanted);
	}
	if (promised > f->duration_ms)
		promised = f->duration_ms;
	if (promised - end > (blamed ? SHORT : slack))
		d->raw[d->n_raw < RAW ? d->n_raw++ : RAW - 1] = (struct av_gap){ end, promised,
		    d->tracks[PICTURE].there, d->tracks[SOUND].there };
	else if (d->cut && promised <= end)
		d->raw[d->n_raw < RAW ? d->n_raw++ : RAW - 1] = (struct av_gap){ end, -1, d->tracks[PICTURE].there,
		    d->tracks[SOUND].there };
}

static int
by_begin(const void *a, const void *b)
{
	const struct av_gap *x = a, *y = b;

	return (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

/* Joins what lies closer than `distance`. */
static size_t
join(struct av_gap *g, size_t n, int64_t distance)
{
	size_t k = 0;

	for (size_t i = 1; i < n; i++) {
		if (g[k].to_ms < 0 || g[i].from_ms - g[k].to_ms < distance) {
			if (g[k].to_ms >= 0 && (g[i].to_ms < 0 || g[i].to_ms > g[k].to_ms))
				g[k].to_ms = g[i].to_ms;
			g[k].picture |= g[i].picture;
			g[k].sound |= g[i].sound;
		} else {
			g[++k] = g[i];
		}
	}
	return n > 0 ? k + 1 : 0;
}

bool
damage_judge(struct damage *d, struct av_damage *out, struct fault *fault)
{
	int64_t most = 0, end = 0;
	bool any = false;
	size_t n;

	for (int k = 0; k < 2; k++) {
		any |= d->tracks[k].begin >= 0;
		end = d->tracks[k].end > end ? d->tracks[k].end : end;
		most = d->tracks[k].length > most ? d->tracks[k].length : most;
	}
	if (!any)
		return fault_set(d->mem, fault, REASON_DECODE_FAILED, "Nothing of it could be decoded.");
	judge_ends(d, end);
	*out = (struct av_damage){ .end_ms = end };
	qsort(d->raw, d->n_raw, sizeof(d->raw[0]), by_begin);
	n = join(d->raw, d->n_raw, JOIN);
	for (size_t i = d->n_raw = 0; i < n; i++)
		if (d->raw[i].to_ms < 0 || d->raw[i].to_ms - d->raw[i].from_ms > GAP)
			d->raw[d->n_raw++] = d->raw[i];
	n = d->n_raw;
	for (int64_t distance = 2 * JOIN; n > AV_GAPS; distance *= 2)
		n = join(d->raw, n, distance);
	memcpy(out->gaps, d->raw, n * sizeof(d->raw[0]));
	out->n = n;
	if (n > 0 && most < LEAST)
		return fault_set(d->mem, fault, REASON_TRUNCATED, "Of %.1f s only %.1f s could be decoded.",
		    (double)d->file->duration_ms / 1000, (double)most / 1000);
	return true;
}

static const char *
clock_text(struct arena *mem, int64_t ms)
{
	const int64_t s = (ms + 500) / 1000;

	if (s >= 3600)
		return arena_printf(mem, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60, s % 60);
	return arena_printf(mem, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
}

const char *
av_gap_text(struct arena *mem, const struct av_gap *g)
{
	const char *what = !g->sound ? "The picture is" : !g->picture ? "The sound is" : "Picture and sound are";

	if (g->to_ms < 0)
		return arena_printf(mem, "The file is cut off: it ends at %s.", clock_text(mem, g->from_ms));
	return arena_printf(mem, "%s damaged or missing from %s to %s.", what, clock_text(mem, g->from_ms),
	    clock_text(mem, g->to_ms));
}
