/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transcripts as people change them: words that stay keep the times that were heard, where they come from and how sure
 * the engine was; those that are new are a person's, and get the time that is theirs by their place.  Nothing is
 * changed in place.
 */
#ifndef MEDIA_REVISION_H
#define MEDIA_REVISION_H

#include "media/transcript.h"

/* Another text for a paragraph, unless that is NULL.  A blank line in it begins a paragraph; without a word it goes.
 * By whom it is, is the caller's affair: none, by the voices. */
struct paragraph_change { struct uuid id; const char *text; struct uuid speaker_id; int64_t given; };
extern const struct record paragraph_change_record;

/* In place of `count` paragraphs from `at` on there were these before. */
struct hunk { int64_t at, count; struct list was; };

struct revision {
	struct list paragraphs;
	struct list undo;		/* struct hunk, in order: what makes the older paragraphs of these */
	int64_t changed;		/* how many of the older paragraphs are others now, or gone */
};

/*
 * The paragraphs with other texts.  Paragraphs that stand side by side are changed as one text: a word may move from
 * one into the other and keeps its time.  Ids that no paragraph has change nothing.  duration_ms: that of the
 * recording; 0: nobody knows.
 */
struct revision revision_edit(struct arena *, const struct list *paragraphs, const struct paragraph_change *, size_t n,
    int64_t duration_ms);

/*
 * The paragraphs with the times of what was heard: words of `text`, or, where it is NULL, their own, that were heard
 * keep what is known of those; others are a person's, and get the time between.  A text with blank lines has the
 * paragraphs that it says, one without them those of a transcript, and so has what is longer than a change of a
 * paragraph may be.  matched: of how many words there is a time.
 */
struct revision revision_align(struct arena *, const struct list *paragraphs, const struct list *heard,
    const char *text, int64_t duration_ms, size_t *matched);

/* Other paragraphs in the place of all. */
struct revision revision_replace(struct arena *, const struct list *paragraphs, const struct list *with);

/* What was before: `undo` of the revision that has made the paragraphs. */
struct list revision_undo(struct arena *, const struct list *paragraphs, const struct list *undo);

/* The stored form of an undo, and back. */
const char *revision_store(struct arena *, const struct list *undo);
struct list revision_parse(struct arena *, const char *json);

/* The paragraph with the id, or NULL. */
const struct paragraph *revision_paragraph(const struct list *paragraphs, struct uuid id);

#endif
