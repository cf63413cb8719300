/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports: fcgi/imports.c takes them, jobs/import.c fetches. */
#ifndef CORE_IMPORT_H
#define CORE_IMPORT_H

#include "core/arena.h"
#include "core/conf.h"
#include "core/web_refusal.h"

enum {
	IMPORT_DAYS = 30,		/* that one can be asked for */
	IMPORT_MIN_RATE = 1024,		/* bytes a second: less, for import.silence, is as good as nothing */
};

/* May it be fetched: http or https, without a user name, no private address?  Where a name leads is judged
 * when it is. */
struct web_refusal import_refuse_url(const struct conf *, struct arena *, const char *url);

#endif
