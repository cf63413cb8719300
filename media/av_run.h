/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How media/av*.c start ffmpeg and ffprobe.  Nobody else includes this. */
#ifndef MEDIA_AV_RUN_H
#define MEDIA_AV_RUN_H

#include "media/av.h"
#include "core/buf.h"
#include "core/jail.h"

struct av_tool {
	struct arena *mem;
	const char *argv[512], *read[40];
	size_t n, n_read;
	bool probing;			/* tracks that will not be decoded may be there */
	struct jail jail;
	struct jail_result result;
};

/* "ffmpeg" or "ffprobe" with what every run gets. */
struct av_tool *av_tool(struct arena *, const char *program);

void av_add_all(struct av_tool *, const char *const *args);
#define av_add(tool, ...) av_add_all((tool), (const char *const[]){ __VA_ARGS__, NULL })

/* Adds the lists of what is allowed, the demuxer and the input itself, which becomes readable. */
void av_input(struct av_tool *, const char *path, const char *container);

/* A WebVTT file of ours as a further input of ffmpeg. */
void av_captions_input(struct av_tool *, const char *path);

/* Encoding as all renditions are: the picture but for where its key frames are, for a rate as av_max_rate() gives it
 * (bits/s); bits/s of sound that is such a rendition; the most that a file may take, in bytes; and how long it may
 * take for so many seconds of video. */
#define AV_FRAGMENTED "+frag_keyframe+default_base_moof+delay_moov+skip_trailer"
void av_x264(struct av_tool *, const char *preset, int64_t max_rate);
int64_t av_max_rate(int width, int height, struct av_ratio rate);
const char *av_sound_bits(struct arena *, const struct av_audio *);
int64_t av_file_limit(void);
void av_time_limits(struct jail *, int64_t seconds);

/* For whoever has its own .on_progress: passes the line on to av_on_life(). */
void av_life(const char *line);

/* Runs it.  A failure is told in the fault: by what the machine did, then by what it wrote of the file. */
bool av_run(struct av_tool *, struct fault *);

/* Is the decoder of this codec on the list? */
bool av_decodes(const char *codec);
/* Is it one of subtitles that are text? */
bool av_is_text(const char *codec);

/* A text of a file as one line of `most` characters at most, without what controls a terminal or a menu; NULL when
 * there is nothing to be seen in it. */
const char *av_line(struct arena *, const char *text, size_t most);

/* Decides which tracks are used and how they are called, `main` first. */
void av_choose_sounds(struct arena *, struct av_audio *, int n, const struct av_audio *main);
void av_choose_subtitles(struct arena *, struct av_subtitle *, int n);
/* Brings chapters into order and into 0 to length_ms (0: no end); returns how many are left. */
size_t av_order_chapters(struct av_chapter *, size_t n, int64_t length_ms);

/* Members "audio", "subtitles" and "chapters" of av_json(), with their commas. */
void av_tracks_json(struct buf *, const struct av_file *);

double av_value(struct av_ratio);
/* What ffprobe prints; 0 of what is absurd, and of NULL. */
double av_seconds(const char *);

/* The rate that we make of those that the file claims. */
void av_settle_rates(struct av_video *);

/* What headers leave out or lie about, of the video that the file has: rates and the length of an animation by counting
 * frames, where those cannot be true; fields and the light of HDR by frames here and there.  False only for a fault of
 * the machine. */
bool av_count(struct arena *, struct av_file *, struct av_video *, struct fault *);
bool av_look(struct arena *, const struct av_file *, struct av_video *, struct fault *);

bool av_is_dead(const struct av_file *, int stream);

/* Is what has two channels the same on both, as far as a few moments tell?  False where they are silent. */
bool av_is_one_channel(struct arena *, const struct av_file *, const struct av_audio *);

/* Filters that make whole frames of fields: one of two, or (doubled) one of each. */
const char *av_field_filters(struct arena *, const struct av_video *, bool doubled);

/* Of a demuxer that reads pictures which move; no more than IMAGE_MOVES_MS of them is read. */
bool av_is_animation(const char *container);

/* Lays a picture with transparent parts on white; "" for all others.  At a constant rate, then no frame is lost. */
const char *av_flat_filters(const struct av_video *);

/* Filters that bring a picture to a size: upright is done by ffmpeg; tone-mapping, square pixels, range and tags by
 * these. */
const char *av_tone_filters(struct arena *, const struct av_video *, int width, int height);
const char *av_size_filters(struct arena *, const struct av_video *, int width, int height);

#endif
