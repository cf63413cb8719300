/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ladder.  One ffmpeg decodes once and writes every size and the sound as fragmented MP4 whose fragments are the
 * HLS segments: key frames are forced by time, so that they lie at the same instants in all sizes, also in those that a
 * later run makes.  The playlists are written from the boxes of the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/damage.h"
#include "media/fragments.h"
#include "media/playlist.h"
#include "core/scratch.h"
#include "core/text.h"

enum { FRAMES_SIDE = 4096, DAY = 24 * 3600, PROCESSORS_MAX = 8 };
#define FILE_MAX (INT64_C(64) << 30)

/* How sound is encoded.  Bits are such that with its container no form takes more than 64 kbit/s on one channel. */
struct form { int channels, rate, bits; };
static const struct form full = { 2, 48000, 128000 }, single = { 1, 48000, 56000 }, narrow = { 1, 24000, 32000 };
enum { NARROW_RATE = 16000 };		/* of the source: no more than speech */

/* What a run is asked to make. */
struct order {
	struct arena *mem;
	const struct av_work *work;
	const struct av_rung *rungs;
	size_t n;
	const struct av_audio *const *sounds;
	size_t n_sounds;
	struct form forms[AV_SOUNDS];
	int reported;
	struct damage *damage;		/* NULL: nobody asked for it */
};

/* To the nearest even number that is not above the source. */
static int
even(double x, int source)
{
	int n = (int)lround(x / 2) * 2;

	if (n > source)
		n -= 2;
	return n < 2 ? 2 : n;
}

/* 5 Mbit/s for 1080p30; less than in proportion for smaller pictures, which have more detail per pixel. */
int64_t
av_max_rate(int width, int height, struct av_ratio rate)
{
	int64_t bits = (int64_t)(5e6 * pow((double)width * height / (1920.0 * 1080.0), 0.85));

	if (rate.num > 35 * rate.den)
		bits = bits * 14 / 10;
	return bits < 100000 ? 100000 : bits;
}

/* The picture shrunk so that its short side is `side` and its long one not absurd; both even. */
static struct av_rung
rung_make(struct arena *mem, const struct av_video *v, int side, int long_limit, bool doubled)
{
	double small = v->width < v->height ? v->width : v->height, large = v->width < v->height ? v->height : v->width;
	double scale = side / small;
	struct av_rung r;

	if (scale > 1)
		scale = 1;
	if (large * scale > long_limit)
		scale = long_limit / large;
	r.width = even(v->width * scale, v->width);
	r.height = even(v->height * scale, v->height);
	r.label = arena_printf(mem, "%dp", r.width < r.height ? r.width : r.height);
	r.rate = v->out_rate;
	if (doubled)
		r.rate.num *= 2;
	r.max_rate = av_max_rate(r.width, r.height, r.rate);
	return r;
}

static int
descending(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

size_t
av_rungs(struct arena *mem, const struct av_video *v, const char *heights, bool fields, struct av_rung out[AV_RUNGS])
{
	/* Rates at which interlaced cameras run: something slower is no motion that doubling would smooth. */
	const bool doubled = fields && v->interlaced && v->out_rate.num >= 20 * v->out_rate.den &&
	    v->out_rate.num <= 31 * v->out_rate.den;
	const int small = v->width < v->height ? v->width : v->height;
	int sides[AV_RUNGS], n_sides = 0, top = 0, bottom = 0;
	size_t n = 0;

	for (const char *at = heights; at != NULL && *at != '\0' && n_sides < AV_RUNGS - 1;) {
		int side = (int)strtol(at, NULL, 10);

		if (side >= 16 && side <= 4320)
			sides[n_sides++] = side;
		at = strchr(at, ',');
		at = at != NULL ? at + 1 : NULL;
	}
	qsort(sides, (size_t)n_sides, sizeof(sides[0]), descending);
	for (int i = 0; i < n_sides; i++) {
		if (sides[i] <= small && bottom == 0)
			bottom = sides[i];
		if (sides[i] > small)
			top = sides[i];
	}
	/* Well between two sizes, or below all: its own size, or much of the picture would be lost. */
	if (bottom == 0 || (top > 0 && small * 10 > bottom * 11))
		out[n++] = rung_make(mem, v, small, FRAMES_SIDE, doubled);
	for (int i = 0; i < n_sides; i++) {
		struct av_rung r;

		if (sides[i] > small)
			continue;
		r = rung_make(mem, v, sides[i], sides[i] * 5 / 2, doubled);
		if (n == 0 || strcmp(out[n - 1].label, r.label) != 0)
			out[n++] = r;
	}
	/* The lowest is for slow lines and comes first: no time is spent on its motion if a better one follows. */
	if (doubled && n > 1) {
		const struct av_rung *low = &out[n - 1];

		out[n - 1] = rung_make(mem, v, low->width < low->height ? low->width : low->height, FRAMES_SIDE, false);
	}
	return n;
}

static bool
faster(struct av_ratio a, struct av_ratio b)
{
	return a.num * b.den > b.num * a.den;
}

/* For how long the last picture stands while the sound goes on, in ms; less than half a second nobody sees. */
static int64_t
standing(const struct av_file *f)
{
	const struct av_video *v = f->video;
	const int64_t rest = v->duration_ms > 0 ? f->duration_ms - (v->start_ms - f->start_ms + v->duration_ms) : 0;

	return f->audio != NULL && rest > 500 ? rest : 0;
}

/* The picture: deinterlaced, brought to a constant rate from 0 on, tone-mapped, and split into the sizes. */
static void
video_graph(struct order *o, struct buf *out)
{
	const struct av_file *f = o->work->file;
	const struct av_video *v = f->video;
	const struct av_ratio top = o->rungs[0].rate;

	buf_printf(out, "[0:%d]%s", v->index, o->damage != NULL ? DAMAGE_SEE : "");
	buf_text(out, av_field_filters(o->mem, v, faster(top, v->out_rate)));
	buf_printf(out, "fps=%" PRId64 "/%" PRId64 ":start_time=0,", top.num, top.den);
	if (standing(f) > 0)
		buf_printf(out, "tpad=stop_mode=clone:stop_duration=%.3f,", (double)standing(f) / 1000);
	buf_text(out, av_flat_filters(v));
	buf_text(out, av_tone_filters(o->mem, v, o->rungs[0].width, o->rungs[0].height));
	buf_printf(out, "split=%zu", o->n);
	for (size_t i = 0; i < o->n; i++)
		buf_printf(out, "[s%zu]", i);
	for (size_t i = 0; i < o->n; i++) {
		const struct av_rung *r = &o->rungs[i];

		buf_printf(out, ";[s%zu]", i);
		if (faster(top, r->rate))
			buf_printf(out, "fps=%" PRId64 "/%" PRId64 ":start_time=0,", r->rate.num, r->rate.den);
		buf_printf(out, "%s[v%zu]", av_size_filters(o->mem, v, r->width, r->height), i);
	}
}

static struct form
form_of(struct order *o, const struct av_audio *a)
{
	if (a->sample_rate > 0 && a->sample_rate <= NARROW_RATE)
		return narrow;
	return a->channels == 1 || o->work->low_sound || av_is_one_channel(o->mem, o->work->file, a) ? single : full;
}

const char *
av_sound_bits(struct arena *mem, const struct av_audio *a)
{
	const struct form *f = a->channels > 1 ? &full : a->sample_rate <= narrow.rate ? &narrow : &single;

	return arena_printf(mem, "%d", f->bits);
}

/* The channels that are wanted of those that are there: more than 8 are tracks of a recorder, not a layout. */
static const char *
mix(int from, int to)
{
	if (to == 1)
		return from == 2 ? "pan=mono|c0=0.5*c0+0.5*c1" : from > 8 ? "pan=mono|c0=c0" :
		    "aformat=channel_layouts=mono";
	return from > 8 ? "pan=stereo|c0=c0|c1=c1" : "aformat=channel_layouts=stereo";
}

/* A track of sound: gaps filled, from 0 on, as long as the picture; beside the main track, as long as all. */
static void
sound_graph(struct order *o, struct buf *out, size_t i)
{
	const struct av_file *f = o->work->file;
	const struct av_audio *a = o->sounds[i];

	if (out->len > 0)
		buf_char(out, ';');
	buf_printf(out, "[0:%d]%saresample=%d:async=1000:first_pts=0,%s", a->index,
	    o->damage != NULL ? DAMAGE_HEAR : "", o->forms[i].rate, mix(a->channels, o->forms[i].channels));
	if (f->duration_exact && (a != f->audio || (f->video != NULL && f->video->duration_ms > 0)))
		buf_printf(out, ",apad=whole_dur=%.3f", (double)f->duration_ms / 1000);
	buf_printf(out, "[a%zu]", i);
}

/* What the i-th result is called: first the sizes, then the sounds. */
static const char *
result_name(struct order *o, size_t i)
{
	const struct av_audio *a = i >= o->n ? o->sounds[i - o->n] : NULL;

	if (a == NULL)
		return o->rungs[i].label;
	if (a != o->work->file->audio)
		return arena_printf(o->mem, "track-%d", a->index);
	return o->work->low_sound ? "audio-low" : "audio";
}

static const char *
path_of(struct order *o, const char *name, const char *suffix)
{
	return arena_printf(o->mem, "%s/%s.%s", o->work->dir, name, suffix);
}

/* What every output gets: none of the source's metadata (it may tell where somebody lives), no endless recording. */
static void
output_common(struct order *o, struct av_tool *t)
{
	const struct av_file *f = o->work->file;

	av_add(t, "-map_metadata", "-1", "-map_chapters", "-1", "-max_muxing_queue_size", "4096");
	if (f->duration_exact)
		av_add(t, "-t", arena_printf(o->mem, "%.3f", (double)f->duration_ms / 1000 + 2));
	else
		av_add(t, "-t", "172800");
}

void
av_x264(struct av_tool *t, const char *preset, int64_t max_rate)
{
	av_add(t, "-c:v", "libx264", "-preset", preset != NULL ? preset : "veryfast", "-profile:v", "high", "-crf",
	    "23", "-maxrate", arena_printf(t->mem, "%" PRId64, max_rate), "-bufsize", arena_printf(t->mem, "%" PRId64,
	    2 * max_rate), "-sc_threshold", "0");
}

static void
video_output(struct order *o, struct av_tool *t, size_t i)
{
	const struct av_rung *r = &o->rungs[i];
	const int seconds = o->work->segment_seconds > 0 ? o->work->segment_seconds : 4;

	av_add(t, "-map", arena_printf(o->mem, "[v%zu]", i), "-fps_mode", "passthrough");
	av_x264(t, o->work->preset, r->max_rate);
	av_add(t, "-force_key_frames", arena_printf(o->mem, "expr:gte(t,n_forced*%d)", seconds), "-g",
	    arena_printf(o->mem, "%" PRId64, 2 * seconds * (r->rate.num / r->rate.den + 1)));
	output_common(o, t);
	av_add(t, "-f", "mp4", "-movflags", AV_FRAGMENTED, path_of(o, r->label, "mp4"));
}

static void
sound_output(struct order *o, struct av_tool *t, size_t i)
{
	const int seconds = o->work->segment_seconds > 0 ? o->work->segment_seconds : 4;

	av_add(t, "-map", arena_printf(o->mem, "[a%zu]", i), "-c:a", "aac", "-b:a", arena_printf(o->mem, "%d",
	    o->forms[i].bits));
	output_common(o, t);
	av_add(t, "-f", "mp4", "-movflags", "+default_base_moof+delay_moov+skip_trailer", "-frag_duration",
	    arena_printf(o->mem, "%d", seconds * 1000000), path_of(o, result_name(o, o->n + i), "mp4"));
}

static void
on_progress(void *user, const char *line)
{
	struct order *o = user;
	const int64_t whole = o->work->file->duration_ms;
	int64_t us;
	int percent;

	av_life(line);
	if (strncmp(line, "out_time_us=", 12) != 0 || !int_parse(line + 12, &us) || us < 0 || whole <= 0)
		return;
	percent = us / 1000 >= whole ? 99 : (int)(us / 10 / whole);
	if (percent > o->reported && o->work->progress != NULL) {
		o->reported = percent;
		o->work->progress(o->work->user, percent);
	}
}

static bool
on_line(void *user, const char *line)
{
	struct order *o = user;

	return damage_read(o->damage, line);
}

/* No file may take more than the room there is; 0 where no scratch is open: the limit of the jail. */
int64_t
av_file_limit(void)
{
	const int64_t room = scratch_free();

	return room < FILE_MAX ? room : FILE_MAX;
}

void
av_time_limits(struct jail *jail, int64_t seconds)
{
	const int64_t cpu = 7200 + seconds * 100, wall = 7200 + seconds * 50;

	jail->cpu_seconds = (int)(cpu < PROCESSORS_MAX * DAY ? cpu : PROCESSORS_MAX * DAY);
	jail->wall_seconds = (int)(wall < DAY ? wall : DAY);
}

static bool
encode(struct order *o, struct fault *fault)
{
	const struct av_file *f = o->work->file;
	struct av_tool *t = av_tool(o->mem, "ffmpeg");
	struct buf graph = BUF(o->mem);

	if (o->n > 0)
		video_graph(o, &graph);
	for (size_t i = 0; i < o->n_sounds; i++)
		sound_graph(o, &graph, i);
	/* However much of it is damaged: what becomes of that is decided at the end. */
	av_add(t, "-progress", "pipe:3", "-stats_period", "0.5", "-max_error_rate", "1");
	/* Much shrunk, nobody sees the block edges of frames that no other frame builds on. */
	if (o->n == 1 && f->video->height >= 2 * o->rungs[0].height)
		av_add(t, "-skip_loop_filter", "noref");
	av_input(t, f->path, f->container);
	av_add(t, "-filter_complex", buf_string(&graph));
	for (size_t i = 0; i < o->n; i++)
		video_output(o, t, i);
	for (size_t i = 0; i < o->n_sounds; i++)
		sound_output(o, t, i);
	if (o->damage != NULL) {
		damage_watch(o->damage, t);
		output_common(o, t);
		av_add(t, "-f", "framecrc", "pipe:2");
		t->jail.on_err = on_line;
	}
	t->jail.write_dir = o->work->dir;
	t->jail.on_progress = on_progress;
	t->jail.user = o;
	t->jail.file_size = av_file_limit();
	av_time_limits(&t->jail, f->duration_ms / 1000);
	return av_run(t, fault);
}

static bool
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	bool fine = f != NULL && fputs(text, f) >= 0;

	return (f == NULL || fclose(f) == 0) && fine;
}

static bool
broken(struct arena *mem, struct fault *fault, const char *name, const char *why)
{
	return fault_set(mem, fault, REASON_OUTPUT_INVALID, "%s did not pass its check: %s.", name, why);
}

/* The same, unless reading it met a fault of the machine. */
static bool
unreadable(struct arena *mem, struct fault *fault, const char *name, const char *why)
{
	const char *log = fault->log;

	if (fault_is_final(fault))
		broken(mem, fault, name, why);
	fault->log = log;
	return false;
}

static const char *
base_name(const char *path)
{
	return strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
}

/* Describes {dir}/{name}.mp4 from its boxes. */
static const struct fragments *
describe(struct arena *mem, const char *dir, const char *name, struct av_rendition *r)
{
	const struct fragments *f;

	*r = (struct av_rendition){ .name = name, .file = arena_printf(mem, "%s/%s.mp4", dir, name),
	    .playlist = arena_printf(mem, "%s/%s.m3u8", dir, name), .rate = { 0, 1 } };
	f = fragments_read(mem, r->file);
	if (f == NULL)
		return NULL;
	r->codecs = f->codecs;
	r->duration_ms = f->duration * 1000 / f->timescale;
	r->size = f->file_size;
	r->bit_rate = playlist_bit_rate(f);
	r->peak_rate = playlist_peak_rate(f);
	r->segments = (int)f->n;
	return f;
}

bool
av_rendition_read(struct arena *mem, const char *dir, const char *name, struct av_rendition *r, struct fault *fault)
{
	const struct av_file *seen;

	if (describe(mem, dir, name, r) == NULL)
		return broken(mem, fault, name, "no segments");
	seen = av_headers(mem, r->file, fault);
	if (seen == NULL)
		return unreadable(mem, fault, name, "it cannot be read");
	if (seen->video != NULL) {
		r->width = seen->video->width;
		r->height = seen->video->height;
		r->rate = seen->video->rate;
	}
	return true;
}

static bool
copy_range(int from, int to, int64_t offset, int64_t n)
{
	off_t at = offset;

	while (n > 0) {
		ssize_t done = copy_file_range(from, &at, to, NULL, (size_t)n, 0);
		char bytes[65536];

		if (done <= 0) {
			done = pread(from, bytes, n < (int64_t)sizeof(bytes) ? (size_t)n : sizeof(bytes), at);
			if (done <= 0 || write(to, bytes, (size_t)done) != done)
				return false;
			at += done;
		}
		n -= done;
	}
	return true;
}

/* A file of the header and one fragment, which can be decoded by itself. */
static bool
cut_fragment(const char *from, const struct fragments *f, size_t i, const char *out)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), to = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool fine = in >= 0 && to >= 0 && copy_range(in, to, 0, f->init_size) &&
	    copy_range(in, to, f->at[i].offset, f->at[i].size);

	if (in >= 0)
		close(in);
	if (to >= 0)
		close(to);
	return fine;
}

/* One of the two files that are cut from a result: its beginning, its end. */
static const char *
sample_path(struct order *o, size_t i, int part)
{
	return arena_printf(o->mem, "%s/check-%zu-%d.mp4", o->work->dir, i, part);
}

/* Decodes the first second and the last segment of all results; a complaint of a decoder is a failure.  The checksums
 * are of a frame here and there, for the pictures are large. */
static bool
decode_samples(struct order *o, const struct av_rendition *made, size_t n, const char **report, struct fault *fault)
{
	struct av_tool *t = av_tool(o->mem, "ffmpeg");

	av_add(t, "-xerror");
	for (size_t i = 0; i < n; i++) {
		const struct fragments *f;

		errno = 0;
		f = fragments_read(o->mem, made[i].file);
		if (f == NULL || !cut_fragment(made[i].file, f, 0, sample_path(o, i, 0)) ||
		    !cut_fragment(made[i].file, f, f->n - 1, sample_path(o, i, 1)))
			return fault_set(o->mem, fault, fault_reason(errno, REASON_OUTPUT_INVALID),
			    "%s could not be read again.", made[i].name);
		av_add(t, "-skip_loop_filter", "all", "-t", "1");
		av_input(t, sample_path(o, i, 0), "mov");
		av_add(t, "-skip_loop_filter", "all");
		av_input(t, sample_path(o, i, 1), "mov");
	}
	for (size_t i = 0; i < 2 * n; i++)
		av_add(t, "-map", arena_printf(o->mem, "%zu", i));
	av_add(t, "-fps_mode", "passthrough", "-filter:v", "select='not(mod(n,25))'", "-f", "framecrc", "pipe:1");
	if (!av_run(t, fault))
		return unreadable(o->mem, fault, "The result", "it does not decode");
	if (strcasestr(t->result.err, "error") != NULL || strcasestr(t->result.err, "invalid") != NULL)
		return broken(o->mem, fault, "The result", "it decodes with faults");
	*report = t->result.out;
	return true;
}

/* Is the picture of the size that was ordered, and is there something of each part? */
static bool
report_fits(struct order *o, const char *report, size_t i, struct av_rendition *r)
{
	const struct av_rung *rung = i < o->n ? &o->rungs[i] : NULL;

	for (size_t part = 2 * i; part < 2 * i + 2; part++) {
		const char *size = rung == NULL ? arena_printf(o->mem, "#media_type %zu: audio\n", part) :
		    arena_printf(o->mem, "#dimensions %zu: %dx%d\n", part, rung->width, rung->height);

		if (strstr(report, size) == NULL || strstr(report, arena_printf(o->mem, "\n%zu,", part)) == NULL)
			return false;
	}
	if (rung != NULL) {
		r->width = rung->width;
		r->height = rung->height;
		r->rate = rung->rate;
	} else {
		r->channels = o->forms[i - o->n].channels;
	}
	return (rung != NULL) == (strncmp(r->codecs, "avc1.", 5) == 0);
}

/* Reads, checks and describes the results, and writes their playlists. */
static bool
finish(struct order *o, struct av_rendition *made, size_t n, struct fault *fault)
{
	const char *report = "";
	bool fine;

	for (size_t i = 0; i < n; i++)
		if (describe(o->mem, o->work->dir, result_name(o, i), &made[i]) == NULL)
			return broken(o->mem, fault, result_name(o, i), "no segments");
	fine = decode_samples(o, made, n, &report, fault);
	for (size_t i = 0; i < 2 * n; i++)
		unlink(sample_path(o, i / 2, i % 2));
	for (size_t i = 0; fine && i < n; i++) {
		const struct fragments *f;

		errno = 0;
		f = fragments_read(o->mem, made[i].file);
		if (!report_fits(o, report, i, &made[i]))
			return broken(o->mem, fault, made[i].name, "it is not what was ordered");
		if (f == NULL || !write_text(made[i].playlist, playlist_media(o->mem, f, base_name(made[i].file))))
			return fault_of_errno(o->mem, errno, fault, "The playlist could not be written.");
	}
	return fine;
}

/* Sound is filled up to the length that the file promises, and so is a picture that is to stand.  Where the file ends
 * before that, both are made anew, no longer than what there is. */
static bool
shorten(struct order *o, const struct av_damage *damage, struct fault *fault)
{
	struct av_file shorter = *o->work->file;
	struct av_work work = *o->work;
	struct order again = { .mem = o->mem, .work = &work, .rungs = o->rungs, .sounds = o->sounds, .n_sounds = 1,
	    .forms = { o->forms[0] }, .reported = 100 };

	if (o->n == 0 || o->n_sounds == 0 || shorter.duration_ms - damage->end_ms < 500)
		return true;
	if (standing(&shorter) > 0)
		again.n = o->n;
	else if (!shorter.duration_exact)
		return true;
	shorter.duration_ms = damage->end_ms;
	work.file = &shorter;
	return encode(&again, fault);
}

/* What was made must be as long as what the file promised, or the file ends early. */
static bool
whole(struct order *o, const struct av_rendition *made, size_t n, struct fault *fault)
{
	const struct av_file *f = o->work->file;
	int64_t longest = 0, slack = f->duration_ms / 20 > 1000 ? f->duration_ms / 20 : 1000;

	/* The sound has been filled up to the promised length where that of the picture is known: it proves nothing
	 * then. */
	for (size_t i = 0; i < n; i++)
		if (made[i].duration_ms > longest && (made[i].width > 0 || f->video == NULL ||
		    f->video->duration_ms == 0))
			longest = made[i].duration_ms;
	if (o->damage == NULL && f->duration_exact && f->duration_ms - longest > slack)
		return fault_set(o->mem, fault, REASON_TRUNCATED, "Of %.1f s only %.1f s could be decoded.",
		    (double)f->duration_ms / 1000, (double)longest / 1000);
	if (f->duration_exact && longest - f->duration_ms > slack + 2000)
		return broken(o->mem, fault, "The result", "it is longer than the source");
	return true;
}

static size_t
fulfil(struct order *o, struct av_rendition *made, struct fault *fault)
{
	const size_t k = o->n + o->n_sounds;

	if (k == 0) {
		fault_set(o->mem, fault, REASON_NO_STREAMS, "The file holds neither picture nor sound.");
		return 0;
	}
	for (size_t i = 0; i < o->n_sounds; i++)
		o->forms[i] = form_of(o, o->sounds[i]);
	if (o->work->damage != NULL)
		o->damage = damage_begin(o->mem, o->work->file, o->n > 0, o->n_sounds > 0);
	if (!encode(o, fault))
		return 0;
	if (o->damage != NULL && (!damage_judge(o->damage, o->work->damage, fault) ||
	    !shorten(o, o->work->damage, fault)))
		return 0;
	return finish(o, made, k, fault) ? k : 0;
}

size_t
av_encode(struct arena *mem, const struct av_work *work, const struct av_rung *rungs, size_t n, bool sound,
    struct av_rendition *made, struct fault *fault)
{
	struct order o = { .mem = mem, .work = work, .rungs = rungs, .n = work->file->video != NULL ? n : 0,
	    .sounds = &work->file->audio, .n_sounds = sound && work->file->audio != NULL, .reported = -1 };
	const size_t k = fulfil(&o, made, fault);

	return k > 0 && whole(&o, made, k, fault) ? k : 0;
}

/* They are filled up to the length of the file, which has proved it by its picture and main track. */
size_t
av_encode_tracks(struct arena *mem, const struct av_work *work, struct av_rendition *made,
    const struct av_audio *of[AV_SOUNDS], struct fault *fault)
{
	struct order o = { .mem = mem, .work = work, .sounds = of, .reported = -1 };

	for (int i = 0; i < work->file->n_tracks; i++)
		if (work->file->tracks[i].used && &work->file->tracks[i] != work->file->audio)
			of[o.n_sounds++] = &work->file->tracks[i];
	return fulfil(&o, made, fault);
}

bool
av_download(struct arena *mem, const char *video, const char *audio, const char *out, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	char *dir = arena_copy(mem, out);
	const struct av_file *made;

	*strrchr(dir, '/') = '\0';
	av_add(t, "-progress", "pipe:3");
	if (video != NULL)
		av_input(t, video, "mov");
	if (audio != NULL)
		av_input(t, audio, "mov");
	av_add(t, "-map", "0");
	if (video != NULL && audio != NULL)
		av_add(t, "-map", "1");
	av_add(t, "-c", "copy", "-map_metadata", "-1", "-movflags", "+faststart", "-f", "mp4", out);
	t->jail.write_dir = dir;
	t->jail.file_size = av_file_limit();
	if (!av_run(t, fault))
		return false;
	made = av_headers(mem, out, fault);
	if (made == NULL)
		return unreadable(mem, fault, "The download", "it cannot be read");
	if ((made->video != NULL) != (video != NULL) || (made->audio != NULL) != (audio != NULL))
		return broken(mem, fault, "The download", "streams are missing");
	return true;
}
