/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Either of two stores by itself. */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/scratch.h"
#include "core/store_kind.h"
#include "core/store_side.h"

enum { PAGE = 1000, PAGE_MEMORY = 16 << 20 };

static const struct store_kind *const kinds[SIDES] = { &store_local, &store_objects };

bool
store_side_parse(const char *name, enum store_side *side)
{
	*side = strcmp(name, "s3") == 0 ? SIDE_BUCKET : SIDE_LOCAL;
	return *side == SIDE_BUCKET || strcmp(name, "local") == 0;
}

enum store_side
store_side_of(struct db *db, const struct conf *conf, struct uuid tenant_id)
{
	const char *name = db_text(db, "SELECT t.store FROM tenants t WHERE t.id = ?", ARGS(ID(tenant_id)));
	enum store_side side = SIDE_LOCAL;

	store_side_parse(name != NULL ? name : conf->store != NULL ? conf->store : "local", &side);
	return side;
}

void
store_side_use(struct db *db, const struct conf *conf, struct uuid tenant_id)
{
	if (conf->store_also != NULL)
		store_both_use(uuid_is_none(tenant_id) ? NULL : kinds[store_side_of(db, conf, tenant_id)]);
}

/* One level: keys that end in a slash to below(), others to object(). */
struct level { const struct store_kind *kind; store_visit *object; bool (*below)(void *, const char *); void *at; };

static bool
look(const struct level *l, const char *prefix)
{
	struct arena *mem = arena_new(PAGE_MEMORY);
	char after[STORE_KEY_MAX] = "";
	struct store_entry *e;
	bool fine = true;
	size_t i, n;
	int saved = 0;

	do {
		e = l->kind->list(mem, prefix, after[0] != '\0' ? after : NULL, PAGE, &n);
		if (e == NULL)
			saved = errno;
		for (i = 0; i < n && fine; i++) {
			const char *key = e[i].key;
			const size_t end = strlen(key) - 1;

			errno = 0;
			if (strstr(key, "/.") != NULL)		/* a draft */
				fine = true;
			else if (key[end] == '/')
				fine = store_grows(arena_copy_n(mem, key, end)) || l->below == NULL ||
				    l->below(l->at, key);
			else if (e[i].size >= 0 && l->object != NULL)
				fine = l->object(l->at, key, e[i].size);
			saved = fine ? 0 : errno;
			snprintf(after, sizeof(after), "%s", key);
		}
		arena_reset(mem);
	} while (e != NULL && fine && n == PAGE);
	arena_free(mem);
	errno = saved;
	return e != NULL && fine;
}

struct walk { enum store_side side; store_visit *visit; void *at; };

static bool
walk_object(void *at, const char *key, int64_t size)
{
	const struct walk *w = at;

	return w->visit(w->at, key, size);
}

static bool
walk_below(void *at, const char *prefix)
{
	const struct walk *w = at;

	return look(&(struct level){ kinds[w->side], walk_object, walk_below, at }, prefix);
}

bool
store_side_walk(enum store_side side, const char *prefix, store_visit *visit, void *at)
{
	struct walk w = { side, visit, at };

	return walk_below(&w, prefix);
}

struct assets { bool (*visit)(void *at, struct uuid id); void *at; };

static bool
asset_below(void *at, const char *prefix)
{
	const struct assets *a = at;
	char text[UUID_TEXT];
	struct uuid id;

	snprintf(text, sizeof(text), "%.36s", strchr(prefix, '/') + 1);
	return !uuid_parse(text, &id) || a->visit(a->at, id);
}

bool
store_side_assets(enum store_side side, bool (*visit)(void *at, struct uuid id), void *at)
{
	struct assets a = { visit, at };

	return look(&(struct level){ kinds[side], NULL, asset_below, &a }, store_playing);
}

int64_t
store_side_size(struct arena *mem, enum store_side side, const char *key)
{
	return kinds[side]->size(mem, key);
}

/* A file that is ours now, and may be moved: another name of what lies on this machine. */
static const char *
draft_of(struct arena *mem, enum store_side side, const char *key, const char *scratch)
{
	const char *path = kinds[side]->fetch(mem, key, scratch), *draft;
	struct stat st;

	if (path == NULL || side == SIDE_BUCKET)
		return path;
	draft = arena_printf(mem, "%s/%s", scratch, uuid_text(mem, uuid_new()));
	return lstat(path, &st) == 0 && disk_copy(path, draft, st.st_mode & 07777) ? draft : NULL;
}

static void
drop(const char *path)
{
	const int saved = errno;

	unlink(path);
	errno = saved;
}

const char *
store_side_digest(struct arena *mem, enum store_side side, const char *key, const char *scratch)
{
	const char *path = kinds[side]->fetch(mem, key, scratch), *sum;

	sum = path == NULL ? NULL : digest_file(mem, path, NULL);
	if (path != NULL && side == SIDE_BUCKET)
		drop(path);
	return sum;
}

static bool
is_of_sum(struct arena *mem, const char *path, const char *sha256)
{
	const char *sum = sha256 == NULL ? NULL : digest_file(mem, path, NULL);

	if (sha256 == NULL || (sum != NULL && strcmp(sum, sha256) == 0))
		return true;
	if (sum != NULL)
		errno = EILSEQ;
	return false;
}

static bool
has_room(struct arena *mem, enum store_side from, const char *key)
{
	const int64_t size = from == SIDE_BUCKET ? store_objects.size(mem, key) : 0;

	if (size < 0)
		return false;
	errno = ENOSPC;
	return from == SIDE_LOCAL || (size < store_local.free() && size < scratch_free());
}

bool
store_side_copy(struct arena *mem, enum store_side from, const char *key, const char *sha256, const char *scratch)
{
	const enum store_side to = from == SIDE_LOCAL ? SIDE_BUCKET : SIDE_LOCAL;
	const char *draft = has_room(mem, from, key) ? draft_of(mem, from, key, scratch) : NULL;

	if (draft == NULL)
		return false;
	if (is_of_sum(mem, draft, sha256) && kinds[to]->put(mem, draft, key))
		return true;
	drop(draft);
	return false;
}

bool
store_side_delete(struct arena *mem, enum store_side side, const char *key)
{
	return kinds[side]->remove(mem, key);
}
