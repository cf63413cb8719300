/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of transcripts, for whoever hands them out. */
#ifndef FCGI_TRANSCRIPTS_H
#define FCGI_TRANSCRIPTS_H

#include "fcgi/design.h"
#include "media/revision.h"

#define TRANSCRIPT_FORMS "json txt srt vtt ttml ass docx"
#define TRANSCRIPT_TTML_TYPE "application/ttml+xml"
#define TRANSCRIPT_ASS_TYPE "text/x-ssa"
#define SUBTITLE_TYPES "text/vtt application/x-subrip " TRANSCRIPT_TTML_TYPE " " TRANSCRIPT_ASS_TYPE

/* form: one of these, NULL: json.  speakers: with their names.  design: a DocxExportDesign; NULL: the main one of the
 * tenant, or as Kinothek itself looks. */
struct transcript_order { const char *form; bool speakers; const struct design *design; };

struct buf transcript_file(struct db *, const struct conf *, struct transcript *, const struct transcript_order *);
/* What transcript_file() does for docx. */
struct buf transcript_docx(struct db *, const struct conf *, const struct transcript *,
    const struct transcript_order *);
/* Answers with that file, to be kept under the name of the asset of the path. */
int transcript_send(struct req *, struct transcript *, const struct transcript_order *);

/* A transcript of the asset of the path has other words, or is to be shown or hidden: its captions follow, and it is
 * told. */
void transcript_changed(struct req *, const struct transcript *);
/* Of what is stored of a transcript's words: below what a database takes in one packet by default. */
enum { TRANSCRIPT_BYTES = 15 << 20 };
/* What one request may bring: their times are worked out in the memory that it has. */
enum { TRANSCRIPT_WORDS = 100000 };

/* Gives the row `old` the members of `t`, of which it fills in all that the paragraphs of the revision say.  False,
 * with a fault, and nothing is written: they are too long. */
bool transcript_revise(struct req *, const struct transcript *old, struct transcript *t, const struct revision *);

/* Keeps what is needed to have the older words again, behind the change of the row; origin: a word of the history. */
void transcript_keep(struct req *, const struct transcript *old, const struct revision *, const char *origin,
    int64_t restored_version);

/* What the words of a transcript decide of its row, as record_bit()s. */
uint64_t transcript_members(void);

/* Answers with the transcript, and the names of its speakers.  NULL: it has gone meanwhile, or the database has. */
int transcript_reply(struct req *, struct transcript *);

/* The transcript and its captions go, and that is told. */
void transcript_remove(struct req *, struct uuid id);

#endif
