/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A POST that comes with an Idempotency-Key is done once (draft-ietf-httpapi-idempotency-key-header): for 24 h the same
 * request of the same principal through the same client gets the answer that the first one got.
 *
 * The row that says so, with the answer, is the last that the transaction of the change writes: whatever is killed
 * where, both are there or neither.  Who sends the same again does it all once more, finds the row there, and takes
 * everything back; so a request that comes once costs one statement, and who has lost a right since hears that, and not
 * the old answer.  Of two at once the second waits for the first, or is told that it runs.  A refusal has done nothing
 * and is not kept: the same key may be sent again when its cause is gone.  A request that is refused by what the first
 * has done (its name is taken) is answered as that was.
 *
 * The answer is sealed by a key that nobody has who has not the client's: neither the rows nor the server's key alone
 * tell the secrets that are in some of them.
 */
#ifndef FCGI_IDEMPOTENCY_H
#define FCGI_IDEMPOTENCY_H

#include "fcgi/req.h"

/* Is it a route whose answers are kept?  Not of those that need no token: who has sent it nobody could tell. */
bool idempotency_counts(const struct route *);

/* False, and refused: the header is none.  r->idempotency_key becomes the key, or NULL where it does not count. */
bool idempotency_check(struct req *);

/* The last of a transaction that is to be committed. */
enum keeping {
	KEPT,			/* commit: it is the first, or has no key, or the database has failed */
	KEPT_BEFORE,		/* rolled back: it is answered as the first was, or refused */
	KEPT_NO_MORE,		/* rolled back: the row that was in its way is gone; run it again */
};
enum keeping idempotency_keep(struct req *);
/* Behind a refusal, outside of a transaction: answers as the first was, if there was one and its rights are as then. */
void idempotency_answer(struct req *);

#endif
