/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whoever acts: a user, a client, a group, as a row that others wait for. */
#ifndef CORE_PRINCIPAL_H
#define CORE_PRINCIPAL_H

#include "core/db.h"

/* Until the end of the transaction.  Who counts what one principal has behind it, and adds to that, has counted what
 * another one has added at the same moment. */
void principal_hold(struct db *, struct uuid id);

#endif
