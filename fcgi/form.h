/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms: bodies of application/x-www-form-urlencoded. */
#ifndef FCGI_FORM_H
#define FCGI_FORM_H

#include "fcgi/req.h"

/* Is the body one? */
bool form_is(const struct req *);
/* A new struct of the record, whose fields are all texts; what it does not know is passed over.  NULL: a broken escape,
 * not UTF-8, or a field that is there twice. */
void *form_read(struct req *, const struct record *);
/* Undoes the encoding in place.  False: a broken escape, or not UTF-8. */
bool form_decode(char *text);

#endif
