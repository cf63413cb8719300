/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts in another language: a .mo file, as msgfmt makes it, looked up by the English text. */
#ifndef CORE_CATALOGUE_H
#define CORE_CATALOGUE_H

#include <stdint.h>

#include "core/conf.h"

/* Tag and own name of each language that pages and letters speak.  English is what the sources are written in. */
#define LANGUAGES(L) L(en, "English") L(de, "Deutsch")
/* A text in a table, which is looked up later. */
#define N_(text) text

struct catalogue;

/* Kept until the program ends.  NULL, with errno: not there, or (EBADMSG) not a whole one of this machine's order. */
const struct catalogue *catalogue_read(const char *path);

/* That of one of the languages, read when it is first wanted; NULL of English, and of one that cannot be read, which
 * is logged. */
const struct catalogue *catalogue_of(const struct conf *, const char *tag);

/* The translation, or the text itself: also of NULL, and of a text that the catalogue has not. */
const char *catalogue_text(const struct catalogue *, const char *text) __attribute__((format_arg(2)));
/* The form for n things, by the rule of English and German: one is one, all else are many. */
const char *catalogue_plural(const struct catalogue *, const char *one, const char *many, int64_t n)
    __attribute__((format_arg(2), format_arg(3)));

#endif
