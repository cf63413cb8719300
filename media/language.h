/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Languages as files name them, and as people do. */
#ifndef MEDIA_LANGUAGE_H
#define MEDIA_LANGUAGE_H

#include <stdbool.h>

#include "core/arena.h"

/* The BCP 47 tag for what a file says: ISO 639 codes of two or three letters, or a tag, with _ or -: "ger" and "deu"
 * are "de".  NULL for what names no language: und, mis, mul, zxx, the private qaa to qtz, and what is no code at
 * all. */
const char *language_tag(struct arena *, const char *code);

/* The three letters of ISO 639-2 that containers want: "deu"; "und" where there are none. */
const char *language_three(const char *tag);

/* Is it written from right to left? */
bool language_is_right_to_left(const char *tag);

/* The name of the language in itself, as a menu shows it: "Deutsch", "Français".  The tag where there is none. */
const char *language_label(struct arena *, const char *tag);

#endif
