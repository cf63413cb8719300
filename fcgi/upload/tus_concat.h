/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uploads by tus that are made of others: tus 1.0.0, extension concatenation. */
#ifndef FCGI_UPLOAD_TUS_CONCAT_H
#define FCGI_UPLOAD_TUS_CONCAT_H

#include "fcgi/upload/put.h"

#define TUS_FINAL "final;"

struct tus_concat {
	struct put *part;		/* as they were found, in order */
	int *held;			/* of each: see partial_hold() */
	size_t n;
	struct uuid tenant_id;		/* whose all are */
	int64_t size;			/* bytes of all */
	enum error gone;		/* one of them was given up: the upload may have been made before */
};

/* The parts behind "final;", with blanks between their addresses: each with a ticket that fits, and all here.  Of
 * finals of the same parts at once one has them, and the others ERR_UPLOAD_LOCKED.  Of the put are `in` and `mem`; it
 * gets a sentence of what is wrong.  tus_concat_end() follows, whatever it answers. */
enum error tus_concat_find(struct tus_concat *, struct put *, const char *said);

/* Lets go of the parts. */
void tus_concat_end(struct tus_concat *);

/* Makes the upload put->id of them, which are cancelled then, if it has not arrived before; it has, or has no bytes.
 * Safe to be killed anywhere: who asks for the same goes on. */
enum error tus_concat(const struct tus_concat *, struct put *);

#endif
