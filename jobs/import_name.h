/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file is called that comes from an address. */
#ifndef JOBS_IMPORT_NAME_H
#define JOBS_IMPORT_NAME_H

#include "core/arena.h"

/*
 * By the Content-Disposition of its answer (RFC 6266; NULL: none), filename* before filename, else by the last part of
 * the path of its address; one line, without directories, 255 characters at most.  "file" where neither says anything.
 */
const char *import_name(struct arena *, const char *disposition, const char *url);

/* The same of what somebody calls it, in UTF-8. */
const char *import_name_of(struct arena *, const char *text);

#endif
