/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sentences of a text that say most of what the others say, in their order and as they are: R. Mihalcea, P. Tarau:
 * TextRank, EMNLP 2004.  Sentences that were badly heard, that are too short or too long to stand alone, and lines of
 * slides are none of them.
 */
#ifndef MEDIA_SUMMARY_H
#define MEDIA_SUMMARY_H

#include "media/prose.h"

enum { SUMMARY_SENTENCES = 5, SUMMARY_BYTES = 1200 };

/* Of a text of so few sentences there is no summary: n is 0. */
const struct sentence **summary_find(const struct prose *, size_t *n);
/* {"text":"…","items":[{"text","confidence",place}…]}; "text" only where there are any: what somebody has written, or
 * NULL: the sentences. */
const char *summary_json(struct arena *, const struct sentence *const *, size_t n, const char *written);

#endif
