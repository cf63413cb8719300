/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Users, clients and groups as whoever gives them roles sees them. */
#ifndef FCGI_PRINCIPAL_H
#define FCGI_PRINCIPAL_H

#include "fcgi/req.h"

struct principal_view {
	struct uuid id;
	const char *name, *kind;
	bool is_super_admin;
	struct moment created_at;
};
extern const struct record principal_record;

#endif
