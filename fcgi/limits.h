/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many requests a minute somebody may send (core/bucket.h), by the settings limit.…: a user and its client each
 * have a bucket, and an address (of IPv6: its network of 64 bits) has one for what comes without a good token; what
 * asks for tokens, and forms that people sign in with, have buckets of their own there.  So nobody pays for what a
 * neighbour behind the same address does in vain.  Answers tell what is left (draft-ietf-httpapi-ratelimit-headers).
 *
 * Requests of this machine do not count unless limit.local says so: they are its own programs, or come from a proxy
 * that http.trusted_proxies does not name, and then all of them from one address.
 *
 * Each machine counts exactly for itself.  A bucket that is a quarter empty is compared with that of the other machines
 * through the table buckets, every five seconds: so whoever spreads his requests over n of them gets at most
 * (n - 1) / 4 of a minute's more, and what five seconds bring, and nobody's few requests write anything.
 */
#ifndef FCGI_LIMITS_H
#define FCGI_LIMITS_H

#include "fcgi/req.h"

/* Takes one of each of its buckets, or only looks at them when r->counted says that it was counted before.  False, and
 * refused instead of what was said before: there was none. */
bool limits_take(struct req *);
/* Adds what was found to the header lines of the answer. */
void limits_answer(struct req *);
/* Behind the transaction of the request: tells other machines what is due.  What the database refuses is told later. */
void limits_share(struct req *);

#endif
