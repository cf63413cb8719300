/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pieces are fragmented MP4: the beginning of a media file and some of its fragments, as they are or at another time.
 * ffmpeg reads pieces and never a whole rendition.  Frames come at a constant rate, and each fragment is one closed
 * group of pictures: av_encode() sees to that.  Where a decoder would have to be set up anew between copied and encoded
 * groups, all of the clip is encoded.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/text.h"
#include "media/av_run.h"
#include "media/clip.h"
#include "media/fragments.h"
#include "media/language.h"
#include "media/subtitles.h"

/* A group of less frames is not reordered; its decoder runs ahead less than that of others. */
enum { REORDERED = 3, PIECE_MAX = 64 << 20, BEFORE_MS = 200, AFTER_MS = 100 };

/* Fragments `first` up to but not `end` of a file; at: when the first one is decoded, -1: as it is. */
struct piece { const char *path; const struct fragments *f; size_t first, end; int64_t at; };

/* What is cut: frames `from` up to but not `to`, of which each lasts `unit`. */
struct cut {
	struct arena *mem;
	struct clip *clip;
	const struct fragments *f;
	int64_t unit, from, to;
	struct av_ratio rate;
};

static const char *
path_in(struct arena *mem, const struct clip *c, const char *name)
{
	return arena_printf(mem, "%s/%s", c->dir, name);
}

static void
progress(const struct clip *c, int percent)
{
	if (c->progress != NULL)
		c->progress(c->user, percent);
}

static bool
read_all(int fd, unsigned char *bytes, size_t n, int64_t offset)
{
	while (n > 0) {
		ssize_t k = pread(fd, bytes, n, offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			errno = k == 0 ? EIO : errno;
			return false;
		}
		bytes += k;
		offset += k;
		n -= (size_t)k;
	}
	return true;
}

/* Copies bytes of one file to the end of another; with a time, of one fragment. */
static bool
copy_bytes(int from, int64_t offset, int64_t n, int to, int64_t at)
{
	unsigned char *bytes;
	bool fine;

	errno = EFBIG;
	if (n <= 0 || n > PIECE_MAX || (bytes = malloc((size_t)n)) == NULL)
		return false;
	fine = read_all(from, bytes, (size_t)n, offset);
	if (fine && at >= 0 && !fragment_move(bytes, (size_t)n, at)) {
		errno = EINVAL;
		fine = false;
	}
	fine = fine && disk_write(to, bytes, (size_t)n);
	free(bytes);
	return fine;
}

static bool
append(const struct piece *p, int to)
{
	int from = open(p->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), saved;
	int64_t at = p->at;
	bool fine = from >= 0;

	for (size_t i = p->first; fine && i < p->end; i++) {
		fine = copy_bytes(from, p->f->at[i].offset, p->f->at[i].size, to, at);
		at += at >= 0 ? p->f->at[i].duration : 0;
	}
	saved = errno;
	if (from >= 0)
		close(from);
	errno = saved;
	return fine;
}

/* The beginning of the first piece's file, and the fragments of all. */
static bool
join(const struct piece *pieces, size_t n, const char *out)
{
	int from = open(pieces->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), saved,
	    to = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool fine = from >= 0 && to >= 0 && copy_bytes(from, 0, pieces->f->init_size, to, -1);

	for (size_t i = 0; fine && i < n; i++)
		fine = append(&pieces[i], to);
	saved = errno;
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) != 0 && fine) {
		saved = errno;
		fine = false;
	}
	errno = saved;
	return fine;
}

static bool
not_written(struct arena *mem, struct fault *fault)
{
	return fault_of_errno(mem, errno, fault, "A part of the clip could not be written.");
}

/* The fragment in which a time lies, in units, and when it begins. */
static size_t
fragment_at(const struct fragments *f, int64_t time, int64_t *begin)
{
	size_t i = 0;

	*begin = 0;
	while (i + 1 < f->n && *begin + f->at[i].duration <= time)
		*begin += f->at[i++].duration;
	return i;
}

/* Frames `skip` up to but not `end` of some groups, as one group of its own. */
static bool
encode_frames(struct cut *c, size_t first, size_t last, int64_t skip, int64_t end, const char *name,
    struct fault *fault)
{
	const struct piece source = { c->clip->video, c->f, first, last + 1, -1 };
	const char *in = path_in(c->mem, c->clip, "source.mp4");
	struct av_tool *t = av_tool(c->mem, "ffmpeg");
	const struct av_file *seen;

	if (!join(&source, 1, in))
		return not_written(c->mem, fault);
	seen = av_headers(c->mem, in, fault);
	if (seen == NULL)
		return false;
	if (seen->video == NULL)
		return fault_set(c->mem, fault, REASON_OUTPUT_INVALID, "The rendition has no picture.");
	av_add(t, "-progress", "pipe:3");
	av_input(t, in, "mov");
	av_add(t, "-map", "0:v", "-vf", arena_printf(c->mem, "trim=start_frame=%" PRId64 ":end_frame=%" PRId64
	    ",setpts=PTS-STARTPTS", skip, end), "-fps_mode", "passthrough");
	av_x264(t, c->clip->preset, av_max_rate(seen->video->width, seen->video->height, c->rate));
	av_add(t, "-g", "9999", "-map_metadata", "-1", "-map_chapters", "-1", "-video_track_timescale",
	    arena_printf(c->mem, "%" PRId64, c->f->timescale), "-f", "mp4", "-movflags",
	    AV_FRAGMENTED, path_in(c->mem, c->clip, name));
	t->jail.write_dir = c->clip->dir;
	t->jail.file_size = av_file_limit();
	t->jail.wall_seconds = 3600 + (int)((end - skip) / 10);
	c->clip->encoded += (int)(last - first + 1);
	return av_run(t, fault);
}

/* What was encoded, where it has as many frames as were asked for, at the same rate. */
static const struct fragments *
encoded(struct cut *c, const char *name, int64_t frames)
{
	const struct fragments *f = fragments_read(c->mem, path_in(c->mem, c->clip, name));
	int64_t samples = 0;

	for (size_t i = 0; f != NULL && i < f->n; i++)
		samples += f->at[i].samples;
	return f != NULL && samples == frames && f->duration == frames * c->unit && f->timescale == c->f->timescale ?
	    f : NULL;
}

/* Can it stand beside copied groups? */
static bool
fits(const struct cut *c, const struct fragments *f)
{
	return f != NULL && f->n == 1 && f->setup != NULL && c->f->setup != NULL && strcmp(f->setup, c->f->setup) == 0;
}

/* The plan: groups `head` up to but not `first` and from `end` on are encoded, those between copied. */
struct plan { size_t head, first, end, tail; int64_t head_begin, first_begin, end_begin; };

static struct plan
plan_of(struct cut *c)
{
	struct plan p;
	int64_t begin;

	p.head = p.first = fragment_at(c->f, c->from * c->unit, &p.head_begin);
	p.first_begin = p.head_begin;
	if (c->from * c->unit > p.head_begin)
		p.first_begin += c->f->at[p.first++].duration;
	/* So few frames would have to be decoded before they are there. */
	if (p.first > p.head && p.first < c->f->n && p.first_begin - c->from * c->unit < REORDERED * c->unit)
		p.first_begin += c->f->at[p.first++].duration;
	p.tail = fragment_at(c->f, (c->to - 1) * c->unit, &begin);
	p.end = p.tail;
	p.end_begin = begin;
	if (begin + c->f->at[p.end].duration <= c->to * c->unit)
		p.end_begin += c->f->at[p.end++].duration;
	return p;
}

/* The groups between, and the edges around them.  False without a fault: it must be encoded as a whole. */
static bool
copy_between(struct cut *c, const struct plan *p, const char *out, struct fault *fault)
{
	struct piece pieces[3];
	const struct fragments *edge;
	size_t n = 0;
	int64_t frames;

	fault->reason = REASON_NONE;
	pieces[n++] = (struct piece){ c->clip->video, c->f, p->first, p->end, p->first_begin - c->from * c->unit };
	if (p->first > p->head) {
		frames = p->first_begin / c->unit - c->from;
		if (!encode_frames(c, p->head, p->first - 1, c->from - p->head_begin / c->unit,
		    p->first_begin / c->unit - p->head_begin / c->unit, "head.mp4", fault))
			return false;
		edge = encoded(c, "head.mp4", frames);
		if (!fits(c, edge) || edge->delay != c->f->delay)
			return false;
		pieces[1] = pieces[0];
		pieces[0] = (struct piece){ path_in(c->mem, c->clip, "head.mp4"), edge, 0, 1, 0 };
		n++;
	}
	if (p->tail >= p->end) {
		frames = c->to - p->end_begin / c->unit;
		if (!encode_frames(c, p->tail, p->tail, 0, frames, "tail.mp4", fault))
			return false;
		edge = encoded(c, "tail.mp4", frames);
		if (!fits(c, edge) || edge->delay > c->f->delay)
			return false;
		/* Shown when it is its turn, however little its decoder runs ahead. */
		pieces[n++] = (struct piece){ path_in(c->mem, c->clip, "tail.mp4"), edge, 0, 1,
		    p->end_begin - c->from * c->unit + c->f->delay - edge->delay };
	}
	if (!join(pieces, n, out))
		return not_written(c->mem, fault);
	c->clip->copied = (int)(p->end - p->first);
	return true;
}

/* The picture as a piece of its own. */
static bool
make_picture(struct cut *c, struct fault *fault)
{
	const struct plan p = plan_of(c);
	const char *out = path_in(c->mem, c->clip, "picture.mp4");

	if (p.first < p.end) {
		if (copy_between(c, &p, out, fault))
			return true;
		if (fault->reason != REASON_NONE)
			return false;
		c->clip->encoded = 0;
	}
	if (!encode_frames(c, p.head, p.tail, c->from - p.head_begin / c->unit, c->to - p.head_begin / c->unit,
	    "picture.mp4", fault))
		return false;
	return encoded(c, "picture.mp4", c->to - c->from) != NULL ||
	    fault_set(c->mem, fault, REASON_OUTPUT_INVALID, "The clip has not the frames that it should have.");
}

static int64_t
nearest(int64_t ms, struct av_ratio rate)
{
	return (ms * rate.num + 500 * rate.den) / (1000 * rate.den);
}

/* Reads what there is of the picture, and which frames are meant. */
static bool
begin_picture(struct cut *c, struct fault *fault)
{
	int64_t frames;

	errno = 0;
	c->f = fragments_read(c->mem, c->clip->video);
	if (c->f == NULL)
		return fault_of_errno(c->mem, errno, fault, "The picture of the asset could not be read.");
	c->unit = c->f->at[0].samples > 0 ? c->f->at[0].duration / c->f->at[0].samples : 0;
	for (size_t i = 0; c->unit > 0 && i + 1 < c->f->n; i++)
		if (c->f->at[i].duration != c->f->at[i].samples * c->unit)
			c->unit = 0;
	if (c->unit <= 0)
		return fault_set(c->mem, fault, REASON_OUTPUT_INVALID, "The rendition has no constant rate.");
	c->rate = (struct av_ratio){ c->f->timescale, c->unit };
	frames = c->f->duration / c->unit;
	c->from = nearest(c->clip->from_ms, c->rate);
	c->to = nearest(c->clip->to_ms, c->rate);
	if (c->to > frames)
		c->to = frames;
	if (c->to <= c->from)
		c->to = c->from + 1;
	if (c->from >= frames)
		return fault_set(c->mem, fault, REASON_NO_STREAMS, "The picture of the recording ends before that.");
	return true;
}

/* Cut at the sample, from a bit before: a decoder has to swing in. */
static bool
make_sound(struct arena *mem, struct clip *c, double from, double length, const char *name, struct fault *fault)
{
	const char *in = path_in(mem, c, "source-sound.mp4");
	struct piece p = { .path = c->sound, .at = -1 };
	const struct av_file *seen;
	struct av_tool *t;
	int64_t begin;

	errno = 0;
	p.f = fragments_read(mem, c->sound);
	if (p.f == NULL)
		return fault_of_errno(mem, errno, fault, "The sound of the asset could not be read.");
	p.first = fragment_at(p.f, (int64_t)((from - BEFORE_MS / 1000.0) * (double)p.f->timescale) + p.f->skip, &begin);
	p.end = fragment_at(p.f, (int64_t)((from + length + AFTER_MS / 1000.0) * (double)p.f->timescale) + p.f->skip,
	    &begin) + 1;
	if (!join(&p, 1, in))
		return not_written(mem, fault);
	seen = av_headers(mem, in, fault);
	if (seen == NULL)
		return false;
	if (seen->audio == NULL)
		return fault_set(mem, fault, REASON_OUTPUT_INVALID, "The rendition has no sound.");
	t = av_tool(mem, "ffmpeg");
	av_add(t, "-progress", "pipe:3", "-copyts");
	av_input(t, in, "mov");
	av_add(t, "-map", "0:a", "-af", arena_printf(mem, "atrim=start=%.6f:end=%.6f,asetpts=PTS-STARTPTS,"
	    "apad=whole_dur=%.6f", from, from + length, length), "-c:a", "aac", "-b:a",
	    av_sound_bits(mem, seen->audio), "-map_metadata", "-1", "-map_chapters", "-1", "-movflags",
	    "+faststart", "-f", "mp4", path_in(mem, c, name));
	t->jail.write_dir = c->dir;
	t->jail.file_size = av_file_limit();
	t->jail.wall_seconds = 3600 + (int)length;
	return av_run(t, fault);
}

/* Those cues that are to be heard in it, at its own times.  Returns how many files there are. */
static size_t
write_captions(struct arena *mem, const struct clip *c, int64_t from_ms, int64_t to_ms, const char **path,
    const struct clip_captions **of, bool *fine)
{
	size_t n = 0;

	*fine = true;
	for (size_t i = 0; *fine && i < c->n_captions; i++) {
		struct buf out = BUF(mem);
		FILE *f;

		if (subtitles_cut(&out, c->captions[i].vtt, c->captions[i].n, from_ms, to_ms) == 0)
			continue;
		of[n] = &c->captions[i];
		path[n] = path_in(mem, c, arena_printf(mem, "captions-%zu.vtt", n));
		f = fopen(path[n++], "we");
		*fine = f != NULL && fputs(buf_string(&out), f) >= 0;
		if (f != NULL && fclose(f) != 0)
			*fine = false;
	}
	return n;
}

/* All in one file. */
static bool
pack(struct arena *mem, const struct clip *c, const char *picture, const char *sound, int64_t from_ms, int64_t to_ms,
    const char *out, struct fault *fault)
{
	const char *path[CLIP_CAPTIONS];
	const struct clip_captions *of[CLIP_CAPTIONS];
	struct av_tool *t = av_tool(mem, "ffmpeg");
	size_t n, input = 0;
	bool fine;

	n = write_captions(mem, c, from_ms, to_ms, path, of, &fine);
	if (!fine)
		return not_written(mem, fault);
	av_add(t, "-progress", "pipe:3");
	if (picture != NULL)
		av_input(t, picture, "mov");
	if (sound != NULL)
		av_input(t, sound, "mov");
	for (size_t i = 0; i < n; i++)
		av_captions_input(t, path[i]);
	if (picture != NULL)
		av_add(t, "-map", arena_printf(mem, "%zu", input++));
	if (sound != NULL)
		av_add(t, "-map", arena_printf(mem, "%zu", input++));
	for (size_t i = 0; i < n; i++)
		av_add(t, "-map", arena_printf(mem, "%zu", input++), arena_printf(mem, "-metadata:s:s:%zu", i),
		    arena_printf(mem, "language=%s", language_three(of[i]->language)),
		    arena_printf(mem, "-metadata:s:s:%zu", i), arena_printf(mem, "handler_name=%s", of[i]->label));
	av_add(t, "-c", "copy", "-c:s", "mov_text", "-map_metadata", "-1", "-movflags", "+faststart", "-f", "mp4", out);
	t->jail.write_dir = c->dir;
	t->jail.file_size = av_file_limit();
	return av_run(t, fault);
}

static bool
check(struct arena *mem, struct clip *c, const char *out, int64_t frames, double length, struct fault *fault)
{
	const struct av_file *made = av_headers(mem, out, fault);

	if (made == NULL)
		return false;
	if ((made->video != NULL) != (c->video != NULL) || (made->audio != NULL) != (c->sound != NULL) ||
	    (c->video != NULL && made->video->frames != frames) ||
	    llabs(made->duration_ms - (int64_t)(length * 1000)) > 100)
		return fault_set(mem, fault, REASON_OUTPUT_INVALID, "The clip did not pass its check: %" PRId64 " of "
		    "%" PRId64 " frames, %.3f of %.3f s.", c->video != NULL ? made->video->frames : 0, frames,
		    (double)made->duration_ms / 1000, length);
	c->duration_ms = made->duration_ms;
	c->size = made->size;
	return true;
}

bool
clip_make(struct arena *mem, struct clip *c, const char *name, struct fault *fault)
{
	struct cut cut = { .mem = mem, .clip = c };
	double from = (double)c->from_ms / 1000, length = (double)(c->to_ms - c->from_ms) / 1000;
	const char *picture = NULL, *sound = NULL;

	c->copied = c->encoded = 0;
	if (c->video != NULL) {
		if (!begin_picture(&cut, fault) || !make_picture(&cut, fault))
			return false;
		picture = path_in(mem, c, "picture.mp4");
		from = (double)(cut.from * cut.unit) / (double)cut.f->timescale;
		length = (double)((cut.to - cut.from) * cut.unit) / (double)cut.f->timescale;
		progress(c, 50);
	}
	if (c->sound != NULL) {
		sound = path_in(mem, c, "sound.mp4");
		if (!make_sound(mem, c, from, length, "sound.mp4", fault))
			return false;
		progress(c, 75);
	}
	if (!pack(mem, c, picture, sound, (int64_t)(from * 1000), (int64_t)((from + length) * 1000), path_in(mem, c,
	    name), fault) || !check(mem, c, path_in(mem, c, name), cut.to - cut.from, length, fault))
		return false;
	progress(c, 95);
	return true;
}
