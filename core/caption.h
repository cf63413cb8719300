/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The captions of an asset that players get: two lists in its row, of transcripts (captions) and of what its file has
 * brought (subtitles), and the files below play/{mediaId}/.  Those of a transcript are called
 * captions/{transcriptId}.{run}.vtt, so that the name tells whose they are.
 */
#ifndef CORE_CAPTION_H
#define CORE_CAPTION_H

#include "core/db.h"
#include "core/record.h"

/* kind: captions, for who hears badly, too, or subtitles; NULL: captions. */
struct caption { const char *language_code, *label, *kind, *file; };
extern const struct record caption_record;

/* `run` is a text that no other run has. */
const char *caption_file(struct arena *, struct uuid transcript_id, const char *run);
bool caption_is_of(struct arena *, const char *file, struct uuid transcript_id);

/* Are there captions of the transcript in the list? */
bool caption_is_listed(struct db *, struct uuid media_id, struct uuid transcript_id);

/* In the caller's transaction, with the row locked: takes the captions of the transcript out of the list; puts `with`
 * in their place unless it is NULL.  A none id takes nothing out.  Jobs make the playlist of the asset follow, and
 * delete the files when it names them no more. */
void caption_replace(struct db *, struct uuid tenant_id, struct uuid media_id, struct uuid transcript_id,
    const struct caption *with);

#endif
