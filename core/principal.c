/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The row of a principal. */
#include "core/principal.h"

void
principal_hold(struct db *db, struct uuid id)
{
	db_number(db, "SELECT COUNT(*) FROM principals WHERE id = ? FOR UPDATE", ARGS(ID(id)), 0);
}
