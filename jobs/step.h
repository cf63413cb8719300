/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the steps for video and sound share: where files come from and go to, and their rows. */
#ifndef JOBS_STEP_H
#define JOBS_STEP_H

#include "core/asset.h"
#include "media/av.h"
#include "media/sniff.h"
#include "jobs/run.h"

/* Ends the transaction before the slow work; from then on ffmpeg's progress tells the runner that the step is alive. */
void step_begin(struct job *);

/* For a step that has no step_begin(): asks which streams are dead, before the slow work. */
void step_dead(struct job *);

/* Reports progress of the step: what av_work calls. */
void step_progress(void *job, int percent);

/* The file as av_probe() can read it: itself, or what has been made of it in the work directory, mended (media/mend.h)
 * or as frames (media/image.h).  NULL with the fault. */
const char *step_readable(struct job *, const char *path, const struct sniff *, struct fault *);

/* The original of the asset, made readable: by its headers, and as av_probe() sees it, for whoever decodes the picture;
 * both without what is dead.  NULL with the fault. */
const struct av_file *step_headers(struct job *, const struct asset_args *, struct fault *);
const struct av_file *step_original(struct job *, const struct asset_args *, struct fault *);

/* How long the first rendition is, in ms: asked for before the work begins. */
int64_t step_shown_ms(struct job *, const struct asset_args *);

/* What encoders need to know, for results in the work directory of the job, no longer than that; 0: than the file. */
struct av_work step_work(struct job *, const struct av_file *, int64_t shown_ms);

/* A path of this machine for an object of the store.  NULL with the fault, which is worth another try. */
const char *step_fetch(struct job *, const char *key, struct fault *);

/* The same for the original, and what it is by its first bytes; a fault, too, where that can be said of nothing. */
const char *step_sniffed(struct job *, const struct asset_args *, struct sniff *, struct fault *);

/* The same for the media file of an HLS rendition, by the file that its row holds: the playlist beside it. */
const char *step_media(struct job *, const struct asset_args *, const char *playlist, struct fault *);

/* The playlist of the lowest video rendition, as its row names it, or NULL; and what such a rendition is. */
const char *step_lowest(struct job *, const struct asset_args *);
bool step_rendition(struct job *, const struct asset_args *, const char *playlist, struct av_rendition *,
    struct fault *);

/* What rows call a file of this run: "{generation}/{run}/{name}". */
const char *step_file(struct job *, const struct asset_args *, const char *name);

/* Moves files from the work directory into the store, as step_file() says; the list ends in NULL.  False with errno. */
bool step_store(struct job *, const struct asset_args *, const char *const *names);

/* What a run has put there and no row is to name goes by a job, when the transaction is committed. */
void step_unwanted(struct job *, const char *key);

/* Writes a text to a file of that name in the work directory.  False with errno. */
bool step_write(struct job *, const char *name, const char *text);

/* "{what} could not be stored.": a fault by errno. */
enum outcome step_not_stored(struct job *, const char *what);

/* A row for the file of that name of this run, with the size that step_store() has found, if that is past; the caller
 * fills in the rest and calls rendition_put(). */
struct rendition_row step_row(struct job *, const struct asset_args *, const char *kind, const char *name,
    const char *mime_type);

/* Pictures are known now: where there is a server that sees, a job asks it, in the transaction that tells of them. */
void step_labels(struct job *, const struct asset_args *);

#endif
