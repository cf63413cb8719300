/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of transcripts, for whoever hands them out. */
#ifndef FCGI_TRANSCRIPTS_H
#define FCGI_TRANSCRIPTS_H

#include "fcgi/req.h"
#include "media/transcript.h"

#define TRANSCRIPT_FORMS "json txt srt vtt"

/* In one of these forms; NULL: json.  speakers: with their names. */
struct buf transcript_file(struct arena *, struct transcript *, const char *form, bool speakers);

#endif
