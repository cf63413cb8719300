/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each stretch becomes a file with both tracks, since their times can be compared in there alone; then all are read as
 * one.  ffmpeg's reader of lists takes H.264 out of its boxes, so that each key frame brings its own parameter sets
 * along, and a picture of another size can go on in the same track; of HEVC they are put there before, and AV1 has them
 * there by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "media/av_run.h"
#include "media/recording.h"

enum {
	INDEX_ROOM = 256 << 20,			/* bytes of an index, at most */
	THREADS = 4,				/* of x264: what it writes depends on their number */
	SHORT_MS = 1000				/* what may be missing of a stretch that was encoded, at its edges */
};

/* What was made of one. */
struct stretch { const char *name; const struct av_file *f; };

/* mixed: not all have it, or in several codecs or forms. */
struct form { bool exists, mixed; };

/* What all stretches are to have. */
struct target {
	struct form picture, sound;
	bool brings_setup;			/* HEVC: parameter sets stand before each key frame */
	const struct av_video *video;		/* of stretches without a picture */
	const struct av_audio *audio;		/* its form */
	bool copied;				/* where mixed: what has that form already */
};

/* A step with a stretch, and how far all encoding is. */
struct work {
	struct arena *mem;
	struct recording_work *w;
	struct target to;
	int64_t whole_ms, done_ms, this_ms;
};

static const char *
path_in(const struct work *k, const char *name)
{
	return arena_printf(k->mem, "%s/%s", k->w->dir, name);
}

static void
limit(struct av_tool *t, const char *dir, int64_t size)
{
	t->jail.write_dir = dir;
	t->jail.file_size = size + size / 10 + INDEX_ROOM;
	t->jail.idle_seconds = 600;		/* the index comes to the beginning without a word */
}

/* -copyts: by itself ffmpeg lets each input begin at zero, and picture and sound would no longer fit. */
static bool
join_tracks(const struct work *k, const struct recording *r, const char *out, struct fault *fault)
{
	struct av_tool *t = av_tool(k->mem, "ffmpeg");
	const char *only = r->picture != NULL ? "0:v:0" : "0:a:0";

	av_add(t, "-progress", "pipe:3", "-copyts");
	if (r->picture != NULL)
		av_input(t, r->picture, "mov");
	if (r->sound != NULL)
		av_input(t, r->sound, "mov");
	av_add(t, "-map", only);
	if (r->picture != NULL && r->sound != NULL)
		av_add(t, "-map", "1:a:0");
	av_add(t, "-c", "copy", "-map_metadata", "-1", "-fflags", "+bitexact", "-avoid_negative_ts", "make_zero",
	    "-video_track_timescale", "90000", "-movflags", "+faststart", "-f", "mp4", path_in(k, out));
	limit(t, k->w->dir, r->size);
	return av_run(t, fault);
}

static bool
same(const char *a, const char *b)
{
	return a != NULL && b != NULL ? strcmp(a, b) == 0 : a == b;
}

static bool
is_h264(const struct av_video *v)
{
	return v != NULL && same(v->codec, "h264");
}

/* Does sound of the one go on in the track of the other? */
static bool
goes_on(const struct av_audio *a, const struct av_audio *b)
{
	return same(a->codec, b->codec) && same(a->profile, b->profile) && a->channels == b->channels &&
	    a->sample_rate == b->sample_rate;
}

static bool
is_encodable(const struct av_audio *a)
{
	return same(a->codec, "aac") && same(a->profile, "LC");
}

/* Of all sound in the form of that one, how long it lasts. */
static int64_t
lasts(const struct stretch *s, size_t n, const struct av_audio *a)
{
	int64_t ms = 0;

	for (size_t i = 0; i < n; i++)
		if (s[i].f->audio != NULL && goes_on(a, s[i].f->audio))
			ms += s[i].f->duration_ms;
	return ms;
}

static void
choose_sound(struct target *to, const struct stretch *s, size_t n)
{
	int64_t most = 0, ms;

	for (size_t i = 0; to->sound.mixed && i < n; i++) {
		const struct av_audio *a = s[i].f->audio;

		if (a == NULL || !is_encodable(a) || (ms = lasts(s, n, a)) <= most)
			continue;
		most = ms;
		to->audio = a;
		to->copied = true;
	}
}

static struct target
choose(const struct stretch *s, size_t n)
{
	struct target to = { 0 };
	size_t pictures = 0, sounds = 0;

	for (size_t i = 0; i < n; i++) {
		const struct av_video *v = s[i].f->video;
		const struct av_audio *a = s[i].f->audio;

		pictures += v != NULL;
		sounds += a != NULL;
		to.video = to.video != NULL ? to.video : v;
		to.audio = to.audio != NULL ? to.audio : a;
		to.picture.mixed |= v != NULL && !same(v->codec, to.video->codec);
		to.sound.mixed |= a != NULL && !goes_on(to.audio, a);
	}
	to.picture.exists = pictures > 0;
	to.sound.exists = sounds > 0;
	to.picture.mixed |= pictures > 0 && pictures < n;
	to.sound.mixed |= sounds > 0 && sounds < n;
	to.brings_setup = n > 1 && to.picture.exists && !to.picture.mixed && same(to.video->codec, "hevc");
	choose_sound(&to, s, n);
	return to;
}

static bool
encodes_picture(const struct target *to, const struct av_file *f)
{
	return to->picture.mixed && !is_h264(f->video);
}

static bool
encodes_sound(const struct target *to, const struct av_file *f)
{
	return to->sound.mixed && (f->audio == NULL || !to->copied || !goes_on(to->audio, f->audio));
}

static bool
encodes(const struct target *to, const struct av_file *f)
{
	return encodes_picture(to, f) || encodes_sound(to, f);
}

static int
even(int n)
{
	return n < 2 ? 2 : n - n % 2;
}

/* A picture at its own times; black where there is none. */
static void
picture_graph(const struct work *k, struct buf *out, const struct av_file *f)
{
	const struct av_video *v = f->video != NULL ? f->video : k->to.video;
	const int width = even(v->width), height = even(v->height);

	if (f->video != NULL)
		buf_printf(out, "[0:%d]%s%s%s[picture]", v->index, av_field_filters(k->mem, v, false),
		    av_tone_filters(k->mem, v, width, height), av_size_filters(k->mem, v, width, height));
	else
		buf_printf(out, "color=black:s=%dx%d:r=%" PRId64 "/%" PRId64 ":d=%.3f,format=yuv420p[picture]", width,
		    height, v->out_rate.num, v->out_rate.den, (double)f->duration_ms / 1000);
}

/* What is missing within is silent, so that its clock stays that of the picture. */
static void
sound_graph(const struct work *k, struct buf *out, const struct av_file *f)
{
	if (out->len > 0)
		buf_char(out, ';');
	if (f->audio != NULL)
		buf_printf(out, "[0:%d]aresample=%d:async=1000[sound]", f->audio->index, k->to.audio->sample_rate);
	else
		buf_printf(out, "anullsrc=r=%d:cl=stereo,atrim=duration=%.3f[sound]", k->to.audio->sample_rate,
		    (double)f->duration_ms / 1000);
}

/* Finer than what is made for players, since that is made of it. */
static void
picture_output(const struct work *k, struct av_tool *t, const struct av_file *f)
{
	const struct av_video *v = f->video != NULL ? f->video : k->to.video;
	const struct av_ratio rate = v->out_rate;

	if (!encodes_picture(&k->to, f)) {
		av_add(t, "-map", arena_printf(k->mem, "0:%d", v->index), "-c:v", "copy");
		if (k->to.brings_setup)
			av_add(t, "-bsf:v", "hevc_mp4toannexb", "-tag:v", "hev1");
		return;
	}
	av_add(t, "-map", "[picture]", "-fps_mode", "passthrough");
	av_x264(t, k->w->preset, 2 * av_max_rate(v->width, v->height, rate));
	av_add(t, "-crf", "18", "-threads", arena_printf(k->mem, "%d", THREADS), "-g", arena_printf(k->mem, "%" PRId64,
	    2 * (rate.num / rate.den + 1)));
}

static void
sound_output(const struct work *k, struct av_tool *t, const struct av_file *f)
{
	const int channels = k->to.audio->channels;

	if (encodes_sound(&k->to, f))
		av_add(t, "-map", "[sound]", "-c:a", "aac", "-ac", arena_printf(k->mem, "%d", channels), "-b:a",
		    arena_printf(k->mem, "%d", 80000 * channels));
	else
		av_add(t, "-map", arena_printf(k->mem, "0:%d", f->audio->index), "-c:a", "copy");
}

static void
on_progress(void *user, const char *line)
{
	struct work *k = user;
	int64_t us, ms;

	av_life(line);
	if (strncmp(line, "out_time_us=", 12) != 0 || !int_parse(line + 12, &us) || us < 0 || k->whole_ms <= 0 ||
	    k->w->progress == NULL)
		return;
	ms = k->done_ms + (us / 1000 < k->this_ms ? us / 1000 : k->this_ms);
	k->w->progress(k->w->user, (int)(ms * 100 / k->whole_ms));
}

/* A stretch as all are to be. */
static bool
fit(struct work *k, const struct av_file *f, const char *out, struct fault *fault)
{
	struct av_tool *t = av_tool(k->mem, "ffmpeg");
	struct buf graph = BUF(k->mem);

	/* However much of it is damaged: what became of that is looked at. */
	av_add(t, "-progress", "pipe:3", "-stats_period", "0.5", "-max_error_rate", "1", "-copyts");
	av_input(t, f->path, "mov");
	if (encodes_picture(&k->to, f))
		picture_graph(k, &graph, f);
	if (encodes_sound(&k->to, f))
		sound_graph(k, &graph, f);
	if (graph.len > 0)
		av_add(t, "-filter_complex", buf_string(&graph));
	if (k->to.video != NULL)
		picture_output(k, t, f);
	if (k->to.audio != NULL)
		sound_output(k, t, f);
	av_add(t, "-map_metadata", "-1", "-fflags", "+bitexact", "-flags", "+bitexact", "-max_muxing_queue_size",
	    "4096",
	    "-avoid_negative_ts", "make_zero", "-video_track_timescale", "90000", "-movflags", "+faststart", "-f", "mp4",
	    path_in(k, out));
	limit(t, k->w->dir, f->size);
	if (encodes(&k->to, f)) {
		t->jail.on_progress = on_progress;
		t->jail.user = k;
		t->jail.file_size = av_file_limit();
		av_time_limits(&t->jail, f->duration_ms / 1000);
	}
	return av_run(t, fault);
}

/* What was made of a stretch.  NULL with the fault: not both tracks, which no other stretch could stand behind. */
static const struct av_file *
fitted(struct work *k, const struct av_file *f, const char *name, struct fault *fault)
{
	const struct av_file *made;

	if (encodes_picture(&k->to, f) && f->video != NULL)
		f = av_probe(k->mem, f->path, fault);
	if (f == NULL || !fit(k, f, name, fault))
		return NULL;
	made = av_headers(k->mem, path_in(k, name), fault);
	if (made == NULL ? fault->reason != REASON_NO_STREAMS : (k->to.video != NULL) == (made->video != NULL) &&
	    (k->to.audio != NULL) == (made->audio != NULL))
		return made;
	fault_set(k->mem, fault, REASON_DECODE_FAILED, "Nothing of a stretch could be decoded.");
	return NULL;
}

/* Is all that the one has in what was made of it?  Pictures are as many, but for what cannot be shown at an edge. */
static bool
is_whole(const struct av_file *f, const struct av_file *made)
{
	const struct av_video *v = f->video;
	const int64_t missing = v != NULL ? v->frames - made->video->frames : 0;

	return made->duration_ms >= f->duration_ms - SHORT_MS && (missing <= 0 ||
	    missing * v->out_rate.den * 1000 < SHORT_MS * v->out_rate.num);
}

/* One stretch is at fault.  True: it is left out, or not whole; false: so is all. */
static bool
passes(struct work *k, const struct fault *fault, size_t *count)
{
	struct recording_work *w = k->w;

	if (w->fails != NULL ? w->fails(w->user, fault) : !fault_is_final(fault))
		return false;
	if (w->left_out + w->cut == 0)
		w->why = *fault;
	++*count;
	return true;
}

/* The next ones, of which each takes the place of what it was made of. */
static bool
fit_all(struct work *k, struct stretch *s, size_t *n, struct fault *fault)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		const char *name = arena_printf(k->mem, "fitting-%zu.mp4", i);
		const struct av_file *f = s[i].f, *made;

		k->this_ms = encodes(&k->to, f) ? f->duration_ms : 0;
		if (k->this_ms == 0 && !k->to.brings_setup) {
			s[kept++] = s[i];
			continue;
		}
		made = fitted(k, f, name, fault);
		remove(path_in(k, s[i].name));
		k->done_ms += k->this_ms;
		if (made == NULL) {
			remove(path_in(k, name));
			if (!passes(k, fault, &k->w->left_out))
				return false;
			continue;
		}
		if (!is_whole(f, made)) {
			fault_set(k->mem, fault, REASON_DECODE_FAILED, "Not all of a stretch could be decoded.");
			if (!passes(k, fault, &k->w->cut))
				return false;
		}
		s[kept++] = (struct stretch){ name, made };
	}
	*n = kept;
	return true;
}

static bool
write_list(const struct work *k, const char *path, const struct stretch *s, size_t n, struct fault *fault)
{
	FILE *f = fopen(path, "we");
	bool fine = f != NULL;

	for (size_t i = 0; fine && i < n; i++)
		fine = fprintf(f, "file %s\n", s[i].name) > 0;
	if (f != NULL && fclose(f) != 0)
		fine = false;
	return fine || fault_of_errno(k->mem, errno, fault, "A part of the recording could not be written.");
}

static bool
join_stretches(const struct work *k, const struct stretch *s, size_t n, const char *out, struct fault *fault)
{
	const char *list = path_in(k, "stretches.txt");
	struct av_tool *t = av_tool(k->mem, "ffmpeg");
	int64_t size = 0;

	if (!write_list(k, list, s, n, fault))
		return false;
	for (size_t i = 0; i < n; i++)
		size += s[i].f->size;
	av_add(t, "-progress", "pipe:3", "-protocol_whitelist", "file", "-format_whitelist", "concat,mov", "-safe", "0",
	    "-f", "concat", "-i", arena_printf(k->mem, "file:%s", list), "-map", "0", "-c", "copy", "-map_metadata", "-1",
	    "-fflags", "+bitexact", "-movflags", "+faststart", "-f", "mp4", path_in(k, out));
	limit(t, k->w->dir, size);
	return av_run(t, fault);
}

/* Is all of them in it?  Nothing was decoded, so no picture may be missing. */
static bool
holds_all(const struct work *k, const struct stretch *s, size_t n, const char *name, struct fault *fault)
{
	const struct av_file *made = av_headers(k->mem, path_in(k, name), fault);
	int64_t frames = 0, ms = 0;

	if (made == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		frames += s[i].f->video != NULL ? s[i].f->video->frames : 0;
		ms += s[i].f->duration_ms;
	}
	return ((k->to.video == NULL || (made->video != NULL && made->video->frames == frames)) &&
	    (k->to.audio == NULL || made->audio != NULL) && made->duration_ms >= ms - SHORT_MS) ||
	    fault_set(k->mem, fault, REASON_OUTPUT_INVALID, "What was put together is shorter than its parts.");
}

/* Those that can be read, with both tracks in one file. */
static bool
read_all(struct work *k, struct stretch *s, size_t *n, struct fault *fault)
{
	const struct recording_work *w = k->w;

	*n = 0;
	for (size_t i = 0; i < w->n && i < RECORDING_MAX; i++) {
		const char *name = arena_printf(k->mem, "stretch-%zu.mp4", i);
		const bool joined = join_tracks(k, &w->of[i], name, fault);
		const struct av_file *f = joined ? av_headers(k->mem, path_in(k, name), fault) : NULL;

		if (f != NULL) {
			s[(*n)++] = (struct stretch){ name, f };
			continue;
		}
		remove(path_in(k, name));
		/* It had begun, and its node died: nothing came. */
		if (joined && fault->reason == REASON_NO_STREAMS)
			continue;
		if (!passes(k, fault, &k->w->left_out))
			return false;
	}
	return true;
}

static bool
rename_to(const struct work *k, const char *from, const char *to, struct fault *fault)
{
	return rename(path_in(k, from), path_in(k, to)) == 0 ||
	    fault_of_errno(k->mem, errno, fault, "The recording could not be written.");
}

bool
recording_join(struct arena *mem, struct recording_work *w, const char *name, struct fault *fault)
{
	struct stretch *s = arena_array(mem, w->n + 1, sizeof(*s));
	struct work k = { .mem = mem, .w = w };
	size_t n, i;

	w->must_encode = false;
	w->left_out = w->cut = 0;
	if (!read_all(&k, s, &n, fault))
		return false;
	k.to = choose(s, n);
	for (i = 0; i < n; i++)
		k.whole_ms += encodes(&k.to, s[i].f) ? s[i].f->duration_ms : 0;
	w->must_encode = k.whole_ms > 0 && !w->may_encode;
	if (w->must_encode)
		return true;
	if (!fit_all(&k, s, &n, fault))
		return false;
	if (n == 0)
		return fault_set(mem, fault, REASON_NO_STREAMS, "Nothing that can be read was recorded.");
	if (n == 1)
		return rename_to(&k, s[0].name, name, fault);
	if (!join_stretches(&k, s, n, name, fault))
		return false;
	return holds_all(&k, s, n, name, fault) || passes(&k, fault, &w->cut);
}
