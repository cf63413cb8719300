/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may do which operation. */
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/verdict.h"

/* The permission that its scope stands for. */
static enum scope
permission_of(const struct route *route)
{
	return route->scope == SCOPE_ANY_TOKEN ? SCOPE_VIEW_CHANNEL : route->scope;
}

static int
by_permission(const struct route *route, const struct caller *c, unsigned permissions, enum state state)
{
	unsigned all = c->is_super_admin ? ROLE_ALL : permissions, recovers = SCOPE_BIT(SCOPE_CREATE_CONTENT);

	if (state == SOFT_DELETED && (route->flags & WITH_DELETED) == 0)
		return 404;
	if (state == SOFT_DELETED && (all & c->scopes & recovers) == 0)
		return 403;
	return all & SCOPE_BIT(permission_of(route)) ? 0 : 403;
}

/* All look at it and, where the permission is theirs somewhere, copy it. */
static int
by_maker(const struct route *route, const struct caller *c)
{
	if (!route_writes(route) || route->flags & FOR_VIEWERS || c->is_super_admin)
		return 0;
	if (route->method != POST && !c->is_owner)
		return 403;
	return c->somewhere & SCOPE_BIT(route->scope) ? 0 : 403;
}

/* All who see the asset read it. */
static int
by_author(const struct route *route, const struct caller *c, enum state state)
{
	int status = by_permission(route, c, c->here, state);

	if (status != 0 || !route_writes(route) || c->is_super_admin || c->is_owner)
		return status;
	return c->here & SCOPE_BIT(SCOPE_MANAGE_CHANNEL) ? 0 : 403;
}

/* As the assets that it refers to decide; who made it has no need of them. */
static int
by_mentions(const struct route *route, const struct caller *c)
{
	if (!c->is_super_admin && !c->is_owner && (c->here & SCOPE_BIT(SCOPE_VIEW_CHANNEL)) == 0)
		return 404;
	return by_maker(route, c);
}

static int
by_object(const struct route *route, const struct object *o, const struct caller *c, enum state state)
{
	if (c->is_foreign)
		return 404;
	switch (o->reach) {
	case REACH_AUTHOR:
		return by_author(route, c, state);
	case REACH_MEDIA: case REACH_BELOW_MEDIA: case REACH_CHANNEL: case REACH_BELOW_CHANNEL:
	case REACH_BESIDE_CHANNEL:
		return by_permission(route, c, c->here, state);
	case REACH_OWNER:
		return c->is_super_admin || c->is_owner ? 0 : 404;
	case REACH_PRIVATE:
		return c->is_owner ? 0 : 404;
	case REACH_SHARED:
		return by_maker(route, c);
	case REACH_MENTIONS:
		return by_mentions(route, c);
	case REACH_TENANT:
		return 0;
	}
	return 404;
}

int
verdict_of(const struct route *route, const struct caller *c, enum state state)
{
	const struct object *o = object_of(route);

	if (route->scope == SCOPE_PUBLIC)
		return 0;
	if (!c->has_token)
		return 401;
	if (route->scope != SCOPE_ANY_TOKEN && (c->scopes & SCOPE_BIT(route->scope)) == 0)
		return 403;
	if (route->flags & SUPER_ADMIN && !c->is_super_admin)
		return 403;
	if (route->flags & SOMEWHERE && !c->is_super_admin && (c->somewhere & SCOPE_BIT(route->scope)) == 0)
		return 403;
	return o == NULL || route->flags & NO_OBJECT ? 0 : by_object(route, o, c, state);
}

static const char *
of_object(const struct route *route)
{
	const struct object *o = object_of(route);

	if (o == NULL || route->flags & NO_OBJECT)
		return route->flags & LIST && (route->flags & SUPER_ADMIN) == 0 ? ", of what the caller may see" : "";
	switch (o->reach) {
	case REACH_MEDIA: case REACH_BELOW_MEDIA:
		return route->flags & WITH_DELETED ? ", in a channel of the asset, which may be soft-deleted" :
		    ", in a channel of the asset";
	case REACH_AUTHOR:
		return !route_writes(route) ? ", in a channel of the asset" :
		    ", in a channel of the asset, who wrote it, a Channel Owner or a SuperAdmin";
	case REACH_CHANNEL: case REACH_BELOW_CHANNEL:
		return ", in the channel";
	case REACH_BESIDE_CHANNEL:
		return ", in the channel, and in one of the asset";
	case REACH_OWNER:
		return ", who made it, or a SuperAdmin";
	case REACH_PRIVATE:
		return ", who made it";
	case REACH_SHARED:
		return !route_writes(route) || route->flags & FOR_VIEWERS ? "" : route->method == POST ? ", somewhere" :
		    ", somewhere, who made it, or a SuperAdmin";
	case REACH_MENTIONS:
		return !route_writes(route) ? ", in a channel of an asset of it, who made it, or a SuperAdmin" :
		    ", somewhere, who made it, or a SuperAdmin";
	case REACH_TENANT:
		return "";
	}
	return "";
}

const char *
verdict_words(struct arena *mem, const struct route *route)
{
	const struct object *o = (route->flags & NO_OBJECT) == 0 ? object_of(route) : NULL;
	const char *scope = scope_name(route->scope);

	if (scope == NULL)
		scope = o != NULL && o->reach != REACH_OWNER ? "any token, ViewChannel" : "any token";
	if (route->scope == SCOPE_PUBLIC)
		return route->flags & NO_OBJECT ? "anybody, by the channel's visibility or a key" : "anybody";
	return arena_printf(mem, "%s%s%s%s", scope, route->flags & SOMEWHERE ?
	    ", somewhere" : "", route->flags & SUPER_ADMIN ? ", SuperAdmin" : "", of_object(route));
}

static const char *
cell(const struct route *route, const struct caller *c)
{
	switch (verdict_of(route, c, LIVE)) {
	case 401: return "401";
	case 403: return "403";
	case 404: return "404";
	default: return c->is_foreign && route->scope != SCOPE_PUBLIC ? "of its own" : "yes";
	}
}

static void
put_row(struct buf *b, const struct route *route)
{
	const struct caller nobody = { 0 }, powerless = { .has_token = true, .is_super_admin = true },
	    without = { .has_token = true, .scopes = ~0u }, foreign = { .has_token = true, .scopes = ~0u,
	    .is_super_admin = true, .is_foreign = true }, super = { .has_token = true, .scopes = ~0u,
	    .is_super_admin = true };
	const struct role *role;
	size_t i;

	buf_printf(b, "| `%s %s` | %s | %s | %s | %s | %s |", method_name(route->method), route->path,
	    verdict_words(b->mem, route), cell(route, &nobody), cell(route, &powerless), cell(route, &foreign),
	    cell(route, &without));
	for (i = 0; (role = role_at(i)) != NULL; i++) {
		const struct caller member = { .has_token = true, .scopes = ~0u, .here = role->permissions,
		    .somewhere = role->permissions };

		buf_printf(b, " %s |", cell(route, &member));
	}
	buf_printf(b, " %s |\n", cell(route, &super));
}

const char *
verdict_print(struct arena *mem)
{
	struct buf b = BUF(mem);
	const struct route *route;
	const struct role *role;
	size_t i;

	buf_text(&b, "# Who may do what\n\nMade from the table of routes by `kinothek-api --access`; "
	    "`tests/matrix_test.c` sends every operation in every role\nand holds the answers against it.\n\nThe token must have the scope, and "
	    "the caller the permission of the same name by a role in a channel that the object is in,\nits own role or "
	    "that of a group. A `public` channel gives ViewChannel and ViewMetadata to all of its tenant. *Somewhere*\n"
	    "means in any channel of the tenant. What is another tenant's is not there: 404. **yes** means that input and "
	    "state may still\nrefuse; roles that were taken away end at once. A channel that is being deleted (`isClosing`) gives its roles and visibility "
	    "to the assets\nthat are in it still, and refuses what would change it: 409. The columns behind \"No role\" are "
	    "callers with that role, whose token has all scopes.\n\n| Operation | Who | No token | Token without the "
	    "scope | SuperAdmin of another tenant | No role |");
	for (i = 0; (role = role_at(i)) != NULL; i++)
		buf_printf(&b, " %s |", role->name);
	buf_text(&b, " SuperAdmin |\n|---|---|---|---|---|---|");
	for (i = 0; role_at(i) != NULL; i++)
		buf_text(&b, "---|");
	buf_text(&b, "---|\n");
	for (i = 0; (route = api_route(i)) != NULL; i++)
		put_row(&b, route);
	return buf_string(&b);
}
