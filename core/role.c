/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of roles. */
#include <string.h>

#include "core/role.h"

static const struct role roles[] = {
#define ROLE_ROW(name, text, permissions) { text, permissions },
	ROLES(ROLE_ROW)
#undef ROLE_ROW
	{ NULL, 0 },
};

const struct role *
role_at(size_t i)
{
	return i + 1 < sizeof(roles) / sizeof(roles[0]) ? &roles[i] : NULL;
}

unsigned
role_permissions(const char *name)
{
	const struct role *r;
	size_t i;

	for (i = 0; name != NULL && (r = role_at(i)) != NULL; i++)
		if (strcmp(r->name, name) == 0)
			return r->permissions;
	return 0;
}

unsigned
role_numbered(int64_t number)
{
	const struct role *r = number > 0 ? role_at((size_t)number - 1) : NULL;

	return r != NULL ? r->permissions : 0;
}

const char *
role_names(struct arena *mem, enum scope scope)
{
	struct buf b = BUF(mem);
	const struct role *r;
	size_t i;

	for (i = 0; (r = role_at(i)) != NULL; i++)
		if (r->permissions & SCOPE_BIT(scope))
			buf_printf(&b, "%s%s", b.len > 0 ? "," : "", r->name);
	return buf_string(&b);
}

void
role_changed(struct db *db, struct uuid tenant_id)
{
	db_run(db, "UPDATE tenants SET access_version = access_version + 1 WHERE id = ?", ARGS(ID(tenant_id)));
}
