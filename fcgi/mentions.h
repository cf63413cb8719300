/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What refers to assets without being part of one: a story, a meeting.  It is there for those who see one of its
 * assets, and says no more of the others than if they were not there (REACH_MENTIONS).
 */
#ifndef FCGI_MENTIONS_H
#define FCGI_MENTIONS_H

#include "fcgi/req.h"

/* An asset that the caller may see, soft-deleted ones never, and what refers to it. */
struct mention { struct uuid object_id, media_id; struct position duration; };

/* All mentions in these objects of assets that the caller may see: one statement. */
struct list mentions_of(struct req *, const struct uuid *object_ids, size_t n);
/* Of assets that anybody may watch: those that are in a channel which is not private. */
struct list mentions_open(struct req *, struct uuid object_id);
/* Is the asset among the mentions in that object?  NULL: it is not. */
const struct mention *mention_in(const struct list *, struct uuid object_id, struct uuid media_id);
/* Does the caller see any asset that the object refers to? */
bool mentions_show(struct req *, struct uuid object_id);
/* Puts those of the assets that are the tenant's in the place of what the object referred to. */
void mentions_set(struct req *, struct uuid object_id, const struct uuid *media_ids, size_t n);
/* The object is gone. */
void mentions_clear(struct req *, struct uuid object_id);

/* The caller made it, or is a SuperAdmin: such are told of what they cannot see that it is missing. */
bool mentions_mine(const struct req *, struct uuid principal_id);

/* A page of what the caller may see of a table with tenant_id and principal_id: its own, and what shows an asset. */
struct mention_lists { const char *all, *open, *some; };
#define MENTION_LISTS(table) { "FROM " table " t WHERE t.tenant_id = ?", \
	"FROM " table " t WHERE t.tenant_id = ? AND (t.principal_id = ? OR t.id IN (" MENTIONING_SQL "))", \
	"FROM " table " t WHERE t.tenant_id = ? AND (t.principal_id = ? OR t.id IN (" MENTIONING_SQL " AND " \
	ACCESS_VIEW_SQL "))" }
/* Of the tenant's live assets.  Binds: ID(tenant). */
#define MENTIONING_SQL "SELECT x.object_id FROM mentions x JOIN media t ON t.id = x.media_id WHERE t.tenant_id = ? AND " \
	"t.deleted_at = 0"
void *mentions_list(struct req *, const struct record *, const struct mention_lists *, size_t *n);

/* Ids as a JSON array of hexadecimal texts, for JSON_TABLE. */
const char *mentions_json(struct arena *, const struct uuid *, size_t n);
#define MENTIONED_IDS "JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(32) PATH '$')) j"

#endif
