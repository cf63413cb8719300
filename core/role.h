/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Roles in a channel and the permissions that each gives: the one table that the API, the command line, SQL and the
 * document are made from.  Columns of ROLES: name, text on the wire and in memberships.role, permissions.
 *
 * A SuperAdmin holds every permission everywhere.  In a public channel every principal of the tenant holds ROLE_PUBLIC.
 */
#ifndef CORE_ROLE_H
#define CORE_ROLE_H

#include "core/arena.h"
#include "core/token.h"

#define ROLES(R) \
	R(VIEWER,		"Viewer",		SCOPE_BIT(SCOPE_VIEW_CHANNEL) | SCOPE_BIT(SCOPE_VIEW_METADATA)) \
	R(CONTRIBUTOR,		"Contributor",		ROLE_VIEWER | SCOPE_BIT(SCOPE_CREATE_CONTENT)) \
	R(PUBLISHER,		"Publisher",		ROLE_CONTRIBUTOR | SCOPE_BIT(SCOPE_MANAGE_SHARING_OPTIONS)) \
	R(CHANNEL_OWNER,	"Channel Owner",	ROLE_PUBLISHER | SCOPE_BIT(SCOPE_MANAGE_CHANNEL))

/* ROLE_VIEWER … are sets of SCOPE_BIT()s. */
enum {
#define ROLE_ENUM(name, text, permissions) ROLE_##name = permissions,
	ROLES(ROLE_ENUM)
#undef ROLE_ENUM
	ROLE_PUBLIC = ROLE_VIEWER,
	ROLE_ALL = ROLE_CHANNEL_OWNER,
};

struct role { const char *name; unsigned permissions; };
/* All roles from the weakest to the strongest; NULL behind the last. */
const struct role *role_at(size_t i);
/* Permissions of a name; 0 for NULL and for names that are none. */
unsigned role_permissions(const char *name);
/* The names of the roles that give the permission, with commas between: for FIND_IN_SET(m.role, ?). */
const char *role_names(struct arena *, enum scope);

/* Roles of principals, visibility, names or the set of channels of a tenant have changed: to be called in the
 * transaction that changes them.  What processes know of the tenant's channels (fcgi/access.h) is read anew. */
void role_changed(struct db *, struct uuid tenant_id);

#endif
