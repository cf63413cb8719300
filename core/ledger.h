/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger of originals, which nobody can make again.  The row of an asset holds the SHA-256 of the bytes as they
 * came (media.sha256), when they were last found to be these (verified_at), when they were last looked at, with
 * whatever result (examined_at), and what was found then (damage).  The scrub of the runner and `kinothek verify
 * --hashes` write it; doctor and verify tell what it says.
 */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H

#include "core/db.h"
#include "core/digest.h"

/* UNKNOWN: nobody can say now, for instance because the store is not there at all; with errno. */
enum examined { EXAMINED_INTACT, EXAMINED_MISSING, EXAMINED_CHANGED, EXAMINED_UNREADABLE, EXAMINED_UNKNOWN };

struct original { struct uuid media_id; const char *sha256; int64_t file_size; };

/* Looks at the size and reads all bytes; scratch as of store_fetch(), of which nothing is left there. */
enum examined ledger_examine(struct arena *, const struct original *, const char *scratch,
    const struct digest_pace *);

/* Writes down what was found; UNKNOWN leaves everything as it was.  An asset that is gone meanwhile has no row. */
void ledger_note(struct db *, const struct original *, enum examined);

/* The next one whose turn it is by scrub.days, behind *at of the call before, at first {0}: those that were found
 * damaged first, a day after they were last looked at, for somebody may have brought them back.  False: there is
 * none. */
struct ledger_place { struct moment examined_at; struct uuid media_id; bool undamaged; };
bool ledger_next(struct db *, const struct conf *, struct ledger_place *at, struct original *);

#endif
