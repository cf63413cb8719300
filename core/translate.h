/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which languages this machine can put into English by itself: those of the pairs of Apertium that are installed. */
#ifndef CORE_TRANSLATE_H
#define CORE_TRANSLATE_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/conf.h"

/* What Apertium calls the translation from a language (BCP 47) into English, "spa-eng"; NULL: there is none, or the
 * settings want none. */
const char *translate_mode(struct arena *, const struct conf *, const char *language);

/* Is there any? */
bool translate_any(const struct conf *);

#endif
