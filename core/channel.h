/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The channel that each user has. */
#ifndef CORE_CHANNEL_H
#define CORE_CHANNEL_H

#include "core/db.h"

/*
 * The channel of type user of a principal, which is made with its first sign-in or the first upload that it completes:
 * of its name, private, with it as the one owner.  None for those that are no users.  To be called inside a
 * transaction, before usage_add(); at the same time for the same user in two of them, one is made.  address: of the
 * audit.
 */
struct uuid channel_of_user(struct db *, struct uuid tenant_id, struct uuid principal_id, const char *address);

#endif
