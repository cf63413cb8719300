/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What pages say, in the language of whoever reads them.  Texts stand in the sources in English, and their translations
 * in po/, which script/texts gathers them for; tests/check-texts notices what lacks one.
 */
#ifndef FCGI_SAY_H
#define FCGI_SAY_H

#include "core/catalogue.h"
#include "fcgi/req.h"

/* The tag: ?lang= of the address, else what Accept-Language likes best, else "en".  Whoever asks sends SAY_VARY. */
const char *say_language(struct req *);
#define SAY_VARY "Vary: Accept-Language\r\n"
/* The tag in ?lang= of the address, or NULL: links that stay on the site carry it on. */
const char *say_chosen(const struct req *);

/* From now on in the language of that tag, if it is one that we speak; NULL is none. */
void say_in(struct req *, const char *tag);

const char *say(struct req *, const char *text) __attribute__((format_arg(2)));
/* The form for n things: say_n(r, "%d page", "%d pages", n). */
const char *say_n(struct req *, const char *one, const char *many, int64_t n)
    __attribute__((format_arg(2), format_arg(3)));
/* "2.5", "2,5": that many digits behind the point. */
const char *say_decimal(struct req *, double, int digits);
/* The day in UTC: "Nov 22, 2026", "22.11.2026". */
const char *say_date(struct req *, struct moment);

#endif
