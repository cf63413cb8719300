/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine of the family `embed` that the settings choose: for what is said and for what is looked for alike, since
 * only vectors of one engine are compared. */
#ifndef CORE_EMBEDDING_H
#define CORE_EMBEDDING_H

#include "core/conf.h"
#include "core/meaning.h"

/* Its name and version, which are kept with its vectors. */
const char *embedding_name(struct arena *, const struct conf *);
/* What a text means. */
struct meaning embedding_of(struct arena *, const struct conf *, const char *text);

#endif
