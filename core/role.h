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

/* The names, for `known` of a field. */
#define ROLE_WORD(name, text, permissions) "|" text
#define ROLE_WORDS (&(ROLES(ROLE_WORD))[1])

struct role { const char *name; unsigned permissions; };
/* All roles from the weakest to the strongest; NULL behind the last. */
const struct role *role_at(size_t i);
/* Of the number that SQL gives a role (m.role + 0), from 1; 0 for 0. */
unsigned role_numbered(int64_t number);
/* Permissions of a name; 0 for NULL and for names that are none. */
unsigned role_permissions(const char *name);
/* The names of the roles that give the permission, with commas between: for FIND_IN_SET(m.role, ?). */
const char *role_names(struct arena *, enum scope);

/*
 * The ids under which a principal has roles, its own and those of its groups, as a table with the column id: whoever
 * asks for the roles of a caller joins memberships with this, so that groups are never forgotten.  Several rows may
 * tell of one channel: the strongest role counts.  Binds: ID(principal) twice.
 */
#define ROLE_HOLDERS_SQL "(SELECT p.id FROM principals p WHERE p.id = ? UNION ALL SELECT g.group_id FROM " \
	"group_members g WHERE g.principal_id = ?)"

/* Roles of principals, members of groups, visibility, names or the set of channels of a tenant have changed: to be
 * called in the transaction that changes them.  What processes know of the channels (fcgi/access.h) is read anew. */
void role_changed(struct db *, struct uuid tenant_id);

#endif
