/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transcripts and who speaks in them. */
#ifndef MEDIA_SPEAKING_H
#define MEDIA_SPEAKING_H

#include "core/speakers.h"
#include "media/transcript.h"

/*
 * Says of each paragraph by whom it is, by the times of its words: whoever speaks longest in it, or the nearest turn
 * within two seconds.  divide: where the speaker changes within a paragraph it is parted, the first part keeps the id;
 * single words stay with those around them.  What names its speaker itself, as subtitles of people may, and what a
 * person has given to somebody is left as it is.  Speakers as speakers_of() gives them.
 */
struct list speaking_assign(struct arena *, const struct list *paragraphs, const struct list *speakers, bool divide);

/* Puts on paragraphs that have a speaker as whom it is shown, and the name. */
void speaking_name(struct list *paragraphs, const struct list *speakers);

/* The paragraphs of a transcript as people read them: with the names of its speakers. */
struct list speaking_paragraphs(struct db *, const struct conf *, const struct transcript *);

/* Speakers as people see them: with the turns of those that are parts of them, and without those and the forgotten. */
struct list speaking_shown(struct arena *, const struct list *speakers);

/* Turns of the asset have changed: all its transcripts follow, in the caller's transaction, those of a machine also by
 * parting paragraphs.  changed() is called with each that is another one now. */
void speaking_follow(struct db *, struct uuid media_id, void (*changed)(void *user, const struct transcript *),
    void *user);

/* Speakers of the asset are called otherwise: visits its transcripts that players show with names, once each, whose
 * files are to be written anew. */
void speaking_renamed(struct db *, struct uuid media_id, void (*visit)(void *user, const struct transcript *),
    void *user);

/* Stretches that follow each other within `gap` ms become one; they must be in order. */
struct list speaking_join(struct arena *, const struct list *turns, int64_t gap);
/* What of the turns is not between from and to. */
struct list speaking_without(struct arena *, const struct list *turns, int64_t from, int64_t to);
/* Both, in order, overlaps counted once. */
struct list speaking_union(struct arena *, const struct list *a, const struct list *b);
/* ms in which both speak. */
int64_t speaking_overlap(const struct list *a, const struct list *b);

#endif
