/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pages load, as script/web has put it: a folder that is called by its contents. */
#ifndef CORE_RELEASE_H
#define CORE_RELEASE_H

#include "core/conf.h"

/* The file `release` of web_dir: the name of the folder, then for each entry a line of the modules that it imports,
 * itself first.  Read once: an upgrade starts this program anew. */
const char *release_text(const struct conf *);
/* "{web_dir}/r-0123456789ab" of this machine, in static storage until the next call. */
const char *release_dir(const struct conf *);

#endif
