/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Video and sound: the only place that knows ffmpeg and ffprobe.  Both run through jail_run() with forced input format,
 * lists of allowed demuxers, protocols and decoders.  All calls block; none touches the database.
 *
 *	struct fault fault;
 *	const struct av_file *f = av_probe(mem, path, &fault);
 *	if (f == NULL)
 *		return job_fault(j, &fault);
 */
#ifndef MEDIA_AV_H
#define MEDIA_AV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/fault.h"

struct av_ratio { int64_t num, den; };			/* 0/1 = unknown */

struct av_video {
	int index;					/* of the stream in the file */
	const char *codec, *pixel_format;
	int coded_width, coded_height;
	int width, height;				/* as seen: upright, square pixels */
	int rotation;					/* clockwise turn that makes it upright: 0, 90, 180, 270 */
	bool mirrored, interlaced, hdr, full_range;
	struct av_ratio rate;				/* on average, as the file claims unless it is absurd */
	struct av_ratio lowest_rate;			/* that fits all time stamps, as the file claims */
	struct av_ratio out_rate;			/* constant rate of what we make of it */
	const char *parity;				/* of interlaced pictures: "tff", "bff", "auto" */
	double white, peak;				/* of HDR: cd/m² that become white; the brightest, in whites */
	int64_t start_ms, duration_ms;			/* duration 0 = unknown */
	int64_t frames;					/* by the index; 0 = unknown */
	const char *transfer, *primaries, *matrix;	/* as ffprobe names them; NULL: not said */
};

/* What a track is for, by the words of av_roles(). */
enum { AV_COMMENTARY = 1, AV_DESCRIBES = 2, AV_CLEAR = 4, AV_DUB = 8, AV_ORIGINAL = 16, AV_FORCED = 32 };

struct av_audio {
	int index;
	const char *codec, *profile;			/* as ffprobe names them; profile NULL: not said */
	const char *language, *title;			/* language as BCP 47 where it is known, else NULL */
	int channels, sample_rate, roles;
	bool is_default;
	bool used;					/* it becomes a rendition: AV_SOUNDS of them at most */
	const char *label;				/* of one that is used: in menus, no two alike */
	int64_t start_ms, duration_ms;
};

struct av_subtitle {
	int index;
	const char *codec, *language, *title;
	int roles;
	bool is_default;
	bool used;					/* text: AV_SUBTITLES of them at most */
	const char *label;
};
enum { AV_SOUNDS = 8, AV_SUBTITLES = 32, AV_LABEL = 40, AV_CHAPTERS = 10000 };

struct av_chapter { int64_t start_ms, end_ms; const char *title; };	/* title may be NULL */

/* Streams of a file of which nothing can be decoded, beside others that play. */
struct av_dead { int n, index[AV_SOUNDS + 2]; };

struct av_file {
	const char *path;
	const char *container;				/* demuxer: "mov", "matroska", … */
	int64_t duration_ms, start_ms, bit_rate, size;
	int64_t recorded_ms;				/* since 1970 UTC, as its maker wrote into it; 0: not said */
	bool duration_exact;				/* from an index or header, not guessed from the bit rate */
	bool shortened;					/* an animation that is longer than what is shown of it */
	const struct av_video *video;			/* NULL: none.  Cover art never is video */
	const char *title;				/* as its maker wrote into it; NULL: none */
	const struct av_audio *audio;			/* the chosen track, NULL: none */
	const struct av_audio *tracks;			/* all tracks of sound */
	const struct av_subtitle *subtitles;
	const struct av_chapter *chapters;		/* by their beginnings, not past the end; they may overlap */
	size_t n_chapters;
	int n_tracks, n_video, n_subtitles, n_data;
	struct av_dead dead;				/* what is not among the above: see av_without() */
	int cover;					/* stream of the cover art, or -1 */
};

/* Called whenever a running ffmpeg moves on, a few times a second: the sign of life of long work.  One per process;
 * NULL: none. */
void av_on_life(void (*call)(void *user), void *user);

/* What the headers of a file say: video, sound, or a GIF, PNG or AVIF that moves.  NULL when it holds neither picture
 * nor sound that we decode. */
const struct av_file *av_headers(struct arena *, const char *path, struct fault *);

/* The same, and what only frames tell: whoever decodes the picture needs it, and seconds of a processor. */
const struct av_file *av_probe(struct arena *, const char *path, struct fault *);

/* Which of picture and sounds are dead, of several; none when all are.  False with the fault when it cannot be told. */
bool av_find_dead(struct arena *, const struct av_file *, struct av_dead *, struct fault *);

/* The file as if they were not there: without video, or with another main track of sound. */
const struct av_file *av_without(struct arena *, const struct av_file *, const struct av_dead *);

/* "Nothing of the picture can be read.": the i-th of them. */
const char *av_dead_text(struct arena *, const struct av_file *, int i);

/* Frames per second for people: 29.97, 23.976.  0 = unknown. */
double av_frame_rate(struct av_ratio);

/* The facts as JSON, for metadata and tests. */
const char *av_json(struct arena *, const struct av_file *);

/* Tracks that the file has and nobody will hear or read, in sentences for people; returns how many there are. */
enum { AV_LEFT_OUT = 4 };
size_t av_left_out(struct arena *, const struct av_file *, const char *sentences[AV_LEFT_OUT]);

/* Names of the roles, with blanks between: "commentary dub"; NULL for none. */
const char *av_roles(struct arena *, int roles);

/* One size to be made.  The number in the label is the short side: "360p", also of an upright picture. */
struct av_rung { int width, height; const char *label; int64_t max_rate; struct av_ratio rate; };
enum { AV_RUNGS = CONF_HEIGHTS + 1 };	/* the size of the original may come on top */

/* The sizes for this picture, largest first: those of `heights` ("1080,720,360") that are not above the source, the
 * source's own size when it lies well between two of them or below all.  fields: of interlaced video, each field
 * becomes a frame, but in the lowest of several sizes. */
size_t av_rungs(struct arena *, const struct av_video *, const char *heights, bool fields,
    struct av_rung out[AV_RUNGS]);

/*
 * What of a file cannot be read, in its own time.  Found while it is decoded, by one rule for all containers: where
 * moments are missing and the reader or a decoder complains, and where it ends before what it promised.  Gaps closer
 * than a second are one; of more than AV_GAPS, neighbours are joined.
 */
enum { AV_GAPS = 8 };
struct av_gap { int64_t from_ms, to_ms; bool picture, sound; };	/* to_ms -1: to an end that nobody knows */
struct av_damage { struct av_gap gaps[AV_GAPS]; size_t n; int64_t end_ms; };	/* end_ms: of what was decoded */

struct av_work {
	const struct av_file *file;
	const char *dir;				/* where results are written; names are ours */
	const char *preset;				/* of x264; NULL: veryfast */
	int segment_seconds;				/* 0: 4 */
	bool low_sound;					/* sound for slow lines: one channel, at most 64 kbit/s */
	void (*progress)(void *user, int percent);	/* may be NULL */
	void *user;
	/* Filled in: what can be read is made, and it fails only when that is less than a second.  NULL: what is made
	 * must be as long as the file says. */
	struct av_damage *damage;
};

/* A checked HLS rendition: {name}.mp4 (CMAF) and {name}.m3u8 (byte ranges of it). */
struct av_rendition {
	const char *name;				/* "360p", "audio", "audio-low" */
	const char *file, *playlist;			/* full paths */
	int width, height;				/* 0 for sound */
	int channels;					/* 0 for pictures */
	struct av_ratio rate;
	const char *codecs;				/* RFC 6381, read from the file */
	int64_t duration_ms, size;
	int64_t bit_rate, peak_rate;			/* on average; of the largest segment */
	int segments;
};

/* "Picture and sound are missing from 1:02 to 1:10." */
const char *av_gap_text(struct arena *, const struct av_gap *);

/* Encodes the rungs in one decode, and the sound as a rendition of its own.  made has room for n + 1 (sound last).
 * Each result has been probed and its first and last second decoded.  Returns how many were made, 0 = failed. */
size_t av_encode(struct arena *, const struct av_work *, const struct av_rung *, size_t n, bool sound,
    struct av_rendition *made, struct fault *);

/* Encodes all other tracks of sound that are used, in one run: made[i] is what became of of[i].  Checked like those.
 * Returns how many were made, 0 = failed. */
size_t av_encode_tracks(struct arena *, const struct av_work *, struct av_rendition *made,
    const struct av_audio *of[AV_SOUNDS], struct fault *);

/* Takes subtitles out of the file as they are, in whatever encoding: SRT, ASS or WebVTT by their codec, in one run. */
bool av_subtitles(struct arena *, const struct av_file *, const char *dir, const struct av_subtitle *const *of,
    size_t n, struct fault *);
/* Where it has put one of them. */
const char *av_subtitle_path(struct arena *, const char *dir, const struct av_subtitle *);

/* Puts a video and a sound rendition (either may be NULL) into one MP4 whose index is at its beginning. */
bool av_download(struct arena *, const char *video, const char *audio, const char *out, struct fault *);

/* Looks at a rendition that is there: {dir}/{name}.mp4 and .m3u8. */
bool av_rendition_read(struct arena *, const char *dir, const char *name, struct av_rendition *, struct fault *);

/* One picture as JPEG, tone-mapped and upright, within a square of `limit` pixels: the frame at a position, or (cover)
 * the cover art. */
struct av_picture { int width, height; int64_t size, at_ms; };
bool av_frame(struct arena *, const struct av_file *, int64_t at_ms, int limit, const char *out, struct av_picture *,
    struct fault *);
bool av_cover(struct arena *, const struct av_file *, int limit, const char *out, struct av_picture *,
    struct fault *);

/* The first frame of a stretch that is not dark: every one of the first second, then those that can be jumped to.
 * False with the fault where all are. */
bool av_lit_frame(struct arena *, const struct av_file *, int64_t from_ms, int64_t to_ms, int limit, const char *out,
    struct av_picture *, struct fault *);

/* The position of a frame that is neither black nor flat, by the lowest rendition: the original costs many times that.
 * -1 with the fault. */
int64_t av_telling_moment(struct arena *, const struct av_rendition *, struct fault *);

/* Tiles of every nth keyframe in one JPEG, at most 100; `times` gets the position of each tile. */
struct av_storyboard { int tile_width, tile_height, columns, rows, tiles; const int64_t *times; int64_t end, size; };
bool av_storyboard(struct arena *, const struct av_rendition *, const char *out, struct av_storyboard *,
    struct fault *);

/* Where the picture becomes another and stays so, as slides do, in ms: by the key frames of the lowest rendition. */
bool av_changes(struct arena *, const struct av_rendition *, const int64_t **at, size_t *n, struct fault *);

/* The sound as 16-bit little-endian mono at `rate` Hz, in pieces, until `take` says false.  from_ms and length_ms (0:
 * to the end) cut it. */
struct av_pcm {
	int rate;
	int64_t from_ms, length_ms;
	bool (*take)(void *user, const char *bytes, size_t n);
	void *user;
};
bool av_pcm(struct arena *, const struct av_file *, const struct av_pcm *, struct fault *);

#endif
