/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers of GET routes that are flagged KEPT, kept per process.
 *
 * An answer is given again while the tenant's counters (tenant_usage.changes and .edits) stay, which one short query
 * tells: every transaction that changes an asset, a role or a channel moves them.  It also ends when the addresses in it
 * would be signed for a later time.  What is asked once is not kept, only what is asked for again.
 *
 * A handler of such a route puts the counters that its row was read with into r->stamp; without them nothing is kept.
 */
#ifndef FCGI_KEPT_H
#define FCGI_KEPT_H

#include "fcgi/req.h"

/* Answers from what is kept.  False: the handler has to run. */
bool kept_answer(struct req *);

/* To be called with the handler's answer. */
void kept_keep(struct req *);

/* Are these the counters of the caller's tenant now? */
bool kept_holds(struct req *, const struct stamp *);

/* Forgets everything. */
void kept_forget(void);
/* Bytes that are kept now. */
size_t kept_size(void);

#endif
