/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may do an operation, as it follows from the row of its route: for the document of access, and for the test that
 * sends every operation in every role and holds the answers against it.  What decides when a request comes is
 * fcgi/object.c and fcgi/access.c, which ask nobody here.
 */
#ifndef FCGI_VERDICT_H
#define FCGI_VERDICT_H

#include "fcgi/req.h"

struct caller {
	bool has_token;			/* a good one, that is */
	unsigned scopes;		/* of the token: SCOPE_BIT()s */
	bool is_super_admin, is_owner;	/* is_owner: the principal has made the object */
	bool is_foreign;		/* it is of another tenant than the object */
	unsigned here, somewhere;	/* permissions by channels of the object, by any channel */
};

/* Is the object, or the asset it belongs to, soft-deleted? */
enum state { LIVE, SOFT_DELETED };

/* 0: it is done, as far as input and state let; else the status of the refusal. */
int verdict_of(const struct route *, const struct caller *, enum state);

/* In words, for the document and the test: "CreateContent in a channel of the asset".  In the arena. */
const char *verdict_words(struct arena *, const struct route *);

/* docs/access.md */
const char *verdict_print(struct arena *);

#endif
