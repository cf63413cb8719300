/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Languages as files name them, and as people do. */
#ifndef MEDIA_LANGUAGE_H
#define MEDIA_LANGUAGE_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/record.h"

/* The BCP 47 tag for what a file says: ISO 639 codes of two or three letters, or a tag, with _ or -: "ger" and "deu"
 * are "de".  NULL for what names no language: und, mis, mul, zxx, the private qaa to qtz, and what is no code at
 * all. */
const char *language_tag(struct arena *, const char *code);

/* The same, or for a name in English, whatever its case: "german" is "de". */
const char *language_named(struct arena *, const char *name);

/* The three letters of ISO 639-2 that containers want: "deu"; "und" where there are none. */
const char *language_three(const char *tag);

/* Is it written from right to left? */
bool language_is_right_to_left(const char *tag);

/* The language that a text is in, as it is told from its letters and words; share: of the text that is in it, 0 to 1.
 * A tag that is NULL: it cannot be told, since there is too little text, or too much of it is in others. */
struct language_guess { const char *tag; double share; };
#define LANGUAGE_GUESSER "CLD2"
#define LANGUAGE_UNKNOWN "und"
struct language_guess language_guess(struct arena *, const char *text, size_t n);
/* The same of struct paragraph. */
struct language_guess language_guess_said(struct arena *, const struct list *paragraphs);

/* Who says which language it is, as answers tell it: by is machine, human or import.  engine: what has told it; NULL
 * and 0 where there is none. */
extern const struct record language_origin_record;
/* Its stored form. */
const char *language_origin(struct arena *, const char *by, const char *engine, double confidence);

/* The name of the language in itself, as a menu shows it: "Deutsch", "Français".  The tag where there is none. */
const char *language_label(struct arena *, const char *tag);

#endif
