/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The object of a path: loaded with what decides about access, in one query, and judged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/mentions.h"

#define OBJECT_ROW(name) &name##_object,
static const struct object *const objects[] = { OBJECTS(OBJECT_ROW) };
#undef OBJECT_ROW

enum { MAX_LOADS = 128, MAX_IDS = sizeof(((struct req *)0)->id) / sizeof(struct uuid) };

/* What decides.  Members that a reach does not need stay empty. */
struct facts {
	struct uuid owner_id;
	struct ids channel_ids, beside;
	struct moment deleted_at, closing_at;
	int64_t access_version;
};

#define VERSION_SQL(tenant) "(SELECT n.access_version FROM tenants n WHERE n.id = " tenant ")"
/* The version comes last: a locking query goes without. */
static const struct field media_facts[] = {
	FIELD(struct facts, channel_ids,    .sql = "t.channel_ids", .doc = "Where it is"),
	FIELD(struct facts, deleted_at,     .sql = "t.deleted_at",  .doc = "Soft-deleted then"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("t.tenant_id"), .doc = "Of the tenant"),
};
static const struct field below_media_facts[] = {
	FIELD(struct facts, channel_ids,    .sql = "a.channel_ids", .doc = "Where its asset is"),
	FIELD(struct facts, deleted_at,     .sql = "a.deleted_at",  .doc = "Its asset was soft-deleted then"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("a.tenant_id"), .doc = "Of the tenant"),
};
static const struct field author_facts[] = {
	FIELD(struct facts, owner_id,       .sql = "t.principal_id", .doc = "Who wrote it"),
	FIELD(struct facts, channel_ids,    .sql = "a.channel_ids", .doc = "Where its asset is"),
	FIELD(struct facts, deleted_at,     .sql = "a.deleted_at",  .doc = "Its asset was soft-deleted then"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("a.tenant_id"), .doc = "Of the tenant"),
};
static const struct field owner_facts[] = {
	FIELD(struct facts, owner_id,       .sql = "t.principal_id", .doc = "Who made it"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("t.tenant_id"), .doc = "Of the tenant"),
};

static const struct field channel_facts[] = {
	FIELD(struct facts, channel_ids,    .sql = "t.id", .doc = "Itself"),
	FIELD(struct facts, closing_at,     .sql = "t.closing_at", .doc = "It is being deleted since then"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("t.tenant_id"), .doc = "Of the tenant"),
};
static const struct field below_channel_facts[] = {
	FIELD(struct facts, channel_ids,    .sql = "c.id", .doc = "Its channel"),
	FIELD(struct facts, closing_at,     .sql = "c.closing_at", .doc = "That is being deleted since then"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("c.tenant_id"), .doc = "Of the tenant"),
};
static const struct field beside_channel_facts[] = {
	FIELD(struct facts, channel_ids,    .sql = "t.channel_ids", .doc = "Where the asset is"),
	FIELD(struct facts, beside,         .sql = "c.id",          .doc = "The channel of the path"),
	FIELD(struct facts, closing_at,     .sql = "c.closing_at",  .doc = "That is being deleted since then"),
	FIELD(struct facts, deleted_at,     .sql = "t.deleted_at",  .doc = "Soft-deleted then"),
	FIELD(struct facts, access_version, .sql = VERSION_SQL("t.tenant_id"), .doc = "Of the tenant"),
};
static const struct field tenant_facts[] = {
	FIELD(struct facts, access_version, .sql = VERSION_SQL("t.tenant_id"), .doc = "Of the tenant"),
};

static const struct way { const struct field *fields; size_t n; const char *read, *lock; } ways[] = {
#define WAY(facts, alias) { facts, sizeof(facts) / sizeof((facts)[0]), " AND " alias ".tenant_id = ?", \
	" AND " alias ".tenant_id = ? FOR UPDATE" }
	[REACH_MEDIA] = WAY(media_facts, "t"),
	[REACH_BELOW_MEDIA] = WAY(below_media_facts, "a"),
	[REACH_AUTHOR] = WAY(author_facts, "a"),
	[REACH_OWNER] = WAY(owner_facts, "t"),
	[REACH_PRIVATE] = WAY(owner_facts, "t"),
	[REACH_SHARED] = WAY(owner_facts, "t"),
	[REACH_MENTIONS] = WAY(owner_facts, "t"),
	[REACH_CHANNEL] = WAY(channel_facts, "t"),
	[REACH_BELOW_CHANNEL] = WAY(below_channel_facts, "c"),
	[REACH_BESIDE_CHANNEL] = WAY(beside_channel_facts, "t"),
	[REACH_TENANT] = WAY(tenant_facts, "t"),
#undef WAY
};

/* The record of a row that begins with the facts and goes on with the object.  Made once and kept. */
static const struct record *
joined(const struct object *o, const struct record *record, bool locks)
{
	static struct load { const struct object *object; const struct record *record; bool locks; struct record joined;
	    } loads[MAX_LOADS];
	const struct way *way = &ways[o->reach];
	struct field *fields;
	struct load *l;
	size_t n, i;

	for (l = loads; l->object != NULL; l++)
		if (l->object == o && l->record == record && l->locks == locks)
			return &l->joined;
	if (l == &loads[MAX_LOADS - 1])
		abort();
	n = way->n - (locks ? 1 : 0);
	fields = calloc(n + record->n, sizeof(*fields));
	if (fields == NULL)
		abort();
	memcpy(fields, way->fields, n * sizeof(*fields));
	memcpy(fields + n, record->fields, record->n * sizeof(*fields));
	for (i = n; i < n + record->n; i++)
		fields[i].offset += sizeof(struct facts);
	*l = (struct load){ o, record, locks, { record->name, sizeof(struct facts) + record->size, fields, n +
	    record->n } };
	return &l->joined;
}

const struct object *
object_of(const struct route *route)
{
	const char *end = NULL, *p;
	size_t i;

	for (p = route->path; (p = strstr(p, "Id}")) != NULL; p += 3)
		end = p + 3;
	for (i = 0; end != NULL && i < sizeof(objects) / sizeof(objects[0]); i++)
		if (strncmp(objects[i]->path, route->path, (size_t)(end - route->path)) == 0 &&
		    objects[i]->path[end - route->path] == '\0')
			return objects[i];
	return NULL;
}

static size_t
count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

static void
broken(const char *path, const char *why)
{
	fprintf(stderr, "level=error what=route path=\"%s\" text=\"%s\"\n", path, why);
	abort();
}

static const struct record *
wanted(const struct object *o, const struct route *route)
{
	return route->flags & BELOW && o->head != NULL ? o->head : o->record;
}

/* Who may only look, or is nobody, changes nothing of an asset; what is one's own is another matter. */
static bool
looks_only(const struct route *route, const struct object *o)
{
	enum scope scope = route->scope;

	if (o->reach == REACH_OWNER || o->reach == REACH_PRIVATE || o->reach == REACH_AUTHOR || route->flags &
	    FOR_VIEWERS)
		return false;
	return scope == SCOPE_PUBLIC || scope == SCOPE_ANY_TOKEN || scope == SCOPE_VIEW_CHANNEL ||
	    scope == SCOPE_VIEW_METADATA;
}

/* A channel that is being deleted, and what is in it, is not changed any more. */
static bool
keeps_out(const struct route *route)
{
	return route_writes(route) && (route->flags & WITH_CLOSING) == 0;
}

static void
check_route(const struct route *route, const struct object *o)
{
	bool has_version = record_field(wanted(o, route), "version") != NULL;

	if (route->scope == SCOPE_PUBLIC && (route->flags & NO_OBJECT) == 0)
		broken(route->path, "nobody is there to judge the object by: NO_OBJECT");
	if (route_writes(route) && looks_only(route, o))
		broken(route->path, "writes, but its scope is one for looking, and neither FOR_VIEWERS nor its reach "
		    "allows that");
	if ((route->flags & NO_OBJECT) != 0 || !route_writes(route))
		return;
	if ((o->reach == REACH_CHANNEL || o->reach == REACH_BELOW_CHANNEL || o->reach == REACH_BESIDE_CHANNEL) &&
	    keeps_out(route) && !word_in(route->codes, "channel_closing", strlen("channel_closing")))
		broken(route->path, "channel_closing is not among its codes, nor WITH_CLOSING among its flags");
	if (route->flags & CONDITIONAL && !has_version)
		broken(route->path, "CONDITIONAL, but the object has no version");
	if (route->flags & BESIDE && (route->flags & FOR_VIEWERS) == 0)
		broken(route->path, "is written beside the object, but not for those who see it");
	if (route->method != POST && (route->flags & (CONDITIONAL | BESIDE)) == 0 && has_version)
		broken(route->path, "the object has a version, but the route is not CONDITIONAL");
	if (route->method == POST && (route->flags & BELOW) != 0 && (route->flags & WITH_DELETED) != 0)
		broken(route->path, "makes something below a soft-deleted asset");
}

void
object_check(const struct route *route)
{
	const struct object *o = object_of(route);

	if (count_of(route->path, "Id}") > MAX_IDS)
		broken(route->path, "more ids than r->id holds");
	if (strstr(route->path, "Id}") == NULL)
		return;
	if (o == NULL && (route->flags & NO_OBJECT) == 0)
		broken(route->path, "its last id is no object of OBJECTS; the flag NO_OBJECT says so if that is meant");
	if (o == NULL)
		return;
	if (o->reach == REACH_TENANT && route_writes(route) && (route->flags & SUPER_ADMIN) == 0)
		broken(route->path, "writes what is the tenant's, and is not for SuperAdmins alone");
	if (o->reach == REACH_MENTIONS && count_of(o->path, "Id}") != 1)
		broken(o->path, "what mentions assets is below nothing");
	if (o->reach == 0 || o->record == NULL || count_of(o->from, "?") != count_of(o->path, "Id}"))
		broken(o->path, "the object has no reach, no record, or not a ? for each id");
	if ((size_t)o->reach >= sizeof(ways) / sizeof(ways[0]) || ways[o->reach].fields == NULL)
		broken(o->path, "its reach has no row in ways[], nor perhaps a case in judge()");
	record_check(o->record);
	if (o->head != NULL)
		record_check(o->head);
	check_route(route, o);
}

static const struct facts *
fetch(struct req *r, const struct record *record, bool locks)
{
	struct arg args[MAX_IDS + 2];
	size_t n = count_of(r->kind->path, "Id}"), i;

	for (i = 0; i < n && i < MAX_IDS; i++)
		args[i] = ID(r->id[i]);
	args[i++] = ID(r->who->tenant_id);
	args[i].kind = ARG_END;
	return db_row_suffix(r->db, joined(r->kind, record, locks), r->kind->from,
	    locks ? ways[r->kind->reach].lock : ways[r->kind->reach].read, args);
}

void *
object_again(struct req *r)
{
	const struct facts *f = fetch(r, wanted(r->kind, r->route), false);

	r->object = f != NULL ? (void *)(uintptr_t)(f + 1) : NULL;
	return r->object;
}

void *
patched(struct req *r)
{
	return record_overlay(r->mem, wanted(r->kind, r->route), r->object, r->in, r->given);
}

/*
 * A locking query may have waited: asked after it, the number is at least as new as the row.  Who writes keeps it from
 * moving until its commit, so that nothing is committed by a role that was taken away before; such requests do not wait
 * for each other.
 */
static int64_t
version_now(struct req *r)
{
	if (db_in_transaction(r->db))
		return db_number(r->db, "SELECT access_version FROM tenants WHERE id = ? LOCK IN SHARE MODE",
		    ARGS(ID(r->who->tenant_id)), -2);
	return db_number(r->db, "SELECT access_version FROM tenants WHERE id = ?", ARGS(ID(r->who->tenant_id)), -2);
}

static enum access
no_object(struct req *r)
{
	refuse(r, ERR_NOT_FOUND, NULL);
	return ACCESS_REFUSED;
}

/* Said to those alone who may recover it. */
static enum access
soft_deleted(struct req *r)
{
	if (strncmp(r->kind->path, "/v2/media/", 10) != 0 && r->kind->reach != REACH_BESIDE_CHANNEL) {
		refuse(r, ERR_NOT_FOUND, "Its asset is soft-deleted; recover it first.");
		return ACCESS_REFUSED;
	}
	refuse(r, ERR_NOT_FOUND, "The asset is soft-deleted; recover it first (PUT /v2/media/%s/recover).",
	    uuid_text(r->mem, r->id[r->kind->reach == REACH_BESIDE_CHANNEL ? 1 : 0]));
	return ACCESS_REFUSED;
}

/* All of the tenant look at it, and copy it. */
static enum access
judge_shared(struct req *r, const struct facts *f)
{
	if (r->kind->reach == REACH_TENANT || !route_writes(r->route) || r->route->flags & FOR_VIEWERS)
		return ACCESS_FINE;
	if (r->method != POST && !r->who->is_super_admin && !uuid_equal(f->owner_id, r->who->id)) {
		refuse(r, ERR_FORBIDDEN, "Only who made it and SuperAdmins may change it.");
		return ACCESS_REFUSED;
	}
	return access_somewhere(r, r->route->scope) ? ACCESS_FINE : ACCESS_REFUSED;
}

/* Who sees nothing that it refers to is not told that it is there. */
static enum access
judge_mentions(struct req *r, const struct facts *f)
{
	if (!mentions_mine(r, f->owner_id)) {
		if (!mentions_show(r, r->id[0]))
			return no_object(r);
		if (route_writes(r->route)) {
			refuse(r, ERR_FORBIDDEN, "Only who made it and SuperAdmins may change it.");
			return ACCESS_REFUSED;
		}
	}
	return !route_writes(r->route) || access_somewhere(r, r->route->scope) ? ACCESS_FINE : ACCESS_REFUSED;
}

static enum access
judge(struct req *r, const struct facts *f)
{
	enum scope scope = r->route->scope == SCOPE_ANY_TOKEN ? SCOPE_VIEW_CHANNEL : r->route->scope;
	unsigned permissions;

	if (r->kind->reach == REACH_OWNER)
		return r->who->is_super_admin || uuid_equal(f->owner_id, r->who->id) ? ACCESS_FINE : no_object(r);
	if (r->kind->reach == REACH_PRIVATE)
		return uuid_equal(f->owner_id, r->who->id) ? ACCESS_FINE : no_object(r);
	if (r->kind->reach == REACH_SHARED || r->kind->reach == REACH_TENANT)
		return judge_shared(r, f);
	if (r->kind->reach == REACH_MENTIONS)
		return judge_mentions(r, f);
	permissions = access_by(r, &f->channel_ids);
	if (f->deleted_at.ms != 0 && (r->route->flags & WITH_DELETED) == 0)
		return permissions & SCOPE_BIT(SCOPE_CREATE_CONTENT) ? soft_deleted(r) : no_object(r);
	if (!access_granted(r, permissions, scope) ||
	    (f->deleted_at.ms != 0 && !access_granted(r, permissions & r->who->scopes, SCOPE_CREATE_CONTENT)))
		return ACCESS_REFUSED;
	if (r->kind->reach == REACH_BESIDE_CHANNEL && !access_granted(r, access_by(r, &f->beside), scope))
		return ACCESS_REFUSED;
	if (r->kind->reach == REACH_AUTHOR && route_writes(r->route) && !uuid_equal(f->owner_id, r->who->id) &&
	    (permissions & SCOPE_BIT(SCOPE_MANAGE_CHANNEL)) == 0) {
		refuse(r, ERR_FORBIDDEN, "Only who wrote it, Channel Owners of its asset and SuperAdmins may change "
		    "it.");
		return ACCESS_REFUSED;
	}
	if (f->closing_at.ms != 0 && keeps_out(r->route)) {
		refuse(r, ERR_CHANNEL_CLOSING, NULL);
		return ACCESS_REFUSED;
	}
	return ACCESS_FINE;
}

/* Of a route without an object the audience alone is looked at. */
static enum access
load_nothing(struct req *r)
{
	if ((r->route->flags & OWN_AUDIENCE) == 0 && r->audience->version != version_now(r))
		return ACCESS_OLD;
	if (r->route->flags & SOMEWHERE && !access_somewhere(r, r->route->scope))
		return ACCESS_REFUSED;
	return ACCESS_FINE;
}

static int64_t
version_of(const struct req *r)
{
	const struct field *version = record_field(wanted(r->kind, r->route), "version");

	return *(const int64_t *)((const char *)r->object + version->offset);
}

enum access
object_load(struct req *r)
{
	bool locks = db_in_transaction(r->db) && (r->route->flags & BESIDE) == 0;
	const struct facts *f;
	enum access access;

	r->object = NULL;
	if (r->route->flags & NO_OBJECT)
		return ACCESS_FINE;
	if (r->who == NULL && r->kind != NULL)
		abort();
	if (r->who == NULL)
		return ACCESS_FINE;
	if (r->kind == NULL)
		return load_nothing(r);
	if (r->route->flags & SOMEWHERE && (access = load_nothing(r)) != ACCESS_FINE)
		return access;
	f = fetch(r, wanted(r->kind, r->route), locks);
	if (db_failure(r->db) != DB_FINE)
		return ACCESS_REFUSED;
	if (f == NULL)
		return no_object(r);
	if (r->audience->version != (locks ? version_now(r) : f->access_version))
		return ACCESS_OLD;
	access = judge(r, f);
	if (access != ACCESS_FINE)
		return access;
	r->object = (void *)(uintptr_t)(f + 1);
	if (locks && r->route->flags & CONDITIONAL && !precondition(r, version_of(r)))
		return ACCESS_REFUSED;
	return ACCESS_FINE;
}
