/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which languages the engine that turns speech into words knows, by the settings. */
#ifndef CORE_SPOKEN_H
#define CORE_SPOKEN_H

#include "core/arena.h"
#include "core/conf.h"
#include "core/record.h"

#define SPOKEN_TRANSLATED "translate-en"
/* Whichever it is: the engine tells. */
#define SPOKEN_ANY "auto"

/* Is it the name of the language that is spoken, rather than of none, or of another one? */
bool spoken_names(const char *language);

/* Takes a BCP 47 tag, translate-en or auto.  English may be made of a transcript, too (core/translate.h). */
bool spoken_known(const struct conf *, const char *language);

/* Those that can be asked for, in order: all that it is known to know. */
struct strings spoken_languages(struct arena *, const struct conf *);

/* Other services call them de-v2 and translate-en-v2: the name without that. */
const char *spoken_plain(struct arena *, const char *language);

/* Is the language one of a list, comma-separated, by the first part of its tag?  NULL is any. */
bool spoken_lists(const char *list, const char *language);

#endif
