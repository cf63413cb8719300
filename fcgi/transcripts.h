/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of transcripts, for whoever hands them out. */
#ifndef FCGI_TRANSCRIPTS_H
#define FCGI_TRANSCRIPTS_H

#include "fcgi/design.h"
#include "media/transcript.h"

#define TRANSCRIPT_FORMS "json txt srt vtt docx"

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
/* The transcript and its captions go, and that is told. */
void transcript_remove(struct req *, struct uuid id);

#endif
