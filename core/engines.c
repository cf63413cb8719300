/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which engines there are to choose from, and which of them a tenant has chosen; see engines.h. */
#include <string.h>

#include "core/conf.h"
#include "core/db.h"
#include "core/engines.h"

static const char none[] = "none";

/* What a tenant has chosen, by family; all NULL: what the settings say. */
#define MEMBER(family) const char *family;
struct chosen { CHOSEN_FAMILIES(MEMBER) const char *shortcode; };
#undef MEMBER
static const struct field chosen_fields[] = {
#define COLUMN(family) FIELD(struct chosen, family, .sql = "JSON_VALUE(t.engines, '$." #family "')", .doc = "Engine"),
	CHOSEN_FAMILIES(COLUMN)
#undef COLUMN
	FIELD(struct chosen, shortcode, .doc = "Of the tenant"),
};
static const struct record chosen_record = RECORD("ChosenEngines", struct chosen, chosen_fields);

static const struct { const char *name; enum engine_family family; size_t offset; } families[] = {
#define ROW(family) { #family, ENGINE_##family, offsetof(struct chosen, family) },
	CHOSEN_FAMILIES(ROW)
#undef ROW
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static const struct { enum engine_family family; const char *name; } engines[] = {
#define ROW(family, name) { ENGINE_##family, #name },
	ENGINES(ROW)
#undef ROW
};

static const char *
in(const struct chosen *c, size_t i)
{
	return *(const char *const *)(const void *)((const char *)c + families[i].offset);
}

/* The next item of engine.<family>.others, and its model behind a colon; NULL: there is none.  *at moves on. */
static const char *
next_other(const char **at, size_t *n, const char **model, size_t *model_n)
{
	const char *item = *at;
	const size_t length = item != NULL ? strcspn(item, ",") : 0;

	if (length == 0)
		return NULL;
	*n = strcspn(item, ":,");
	*model = *n < length ? item + *n + 1 : NULL;
	*model_n = *n < length ? length - *n - 1 : 0;
	*at = item + length + (item[length] == ',');
	return item;
}

/* The item of others with this name. */
static bool
find_other(const struct engine_settings *set, const char *name, const char **model, size_t *model_n)
{
	const char *at = set->others, *item;
	size_t n;

	while ((item = next_other(&at, &n, model, model_n)) != NULL)
		if (strlen(name) == n && strncmp(item, name, n) == 0)
			return true;
	return false;
}

struct strings
engines_of(struct arena *mem, const struct engine_settings *set)
{
	const char *at = set->others, *item, *model;
	struct strings all = { arena_array(mem, (at != NULL ? strlen(at) : 0) + 3, sizeof(*all.at)), 0 };
	size_t n, model_n;

	if (strcmp(set->name, none) != 0)
		all.at[all.n++] = set->name;
	while ((item = next_other(&at, &n, &model, &model_n)) != NULL)
		all.at[all.n++] = arena_copy_n(mem, item, n);
	all.at[all.n++] = none;
	return all;
}

bool
engines_known(const struct engine_settings *set, const char *name)
{
	const char *model;
	size_t n;

	return name == NULL || strcmp(name, none) == 0 || strcmp(name, set->name) == 0 ||
	    find_other(set, name, &model, &n);
}

struct engine_settings
engines_chosen(struct arena *mem, const struct engine_settings *set, const char *name)
{
	struct engine_settings own = *set;
	const char *model;
	size_t n;

	if (strcmp(name, set->name) == 0)
		return own;
	if (!find_other(set, name, &model, &n)) {
		own.gone = strcmp(name, none) != 0;
		own.name = none;
		return own;
	}
	/* The model of the settings is that of their engine, if they have one. */
	if (model != NULL)
		own.model = arena_copy_n(mem, model, n);
	else if (strcmp(set->name, none) != 0)
		own.model = NULL;
	own.name = arena_copy(mem, name);
	own.same = own.maybe = 0;	/* engines differ in them */
	return own;
}

static bool
is_engine(enum engine_family family, const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (engines[i].family == family && strlen(engines[i].name) == n &&
		    strncmp(engines[i].name, name, n) == 0)
			return true;
	return false;
}

/* Is there one before `item` in others that has its name? */
static bool
is_named_before(const struct engine_settings *set, const char *item, size_t n)
{
	const char *at = set->others, *before, *model;
	size_t before_n, model_n;

	while ((before = next_other(&at, &before_n, &model, &model_n)) != NULL && before != item)
		if (before_n == n && strncmp(before, item, n) == 0)
			return true;
	return false;
}

const char *
engines_wrong(struct arena *mem, const struct conf *conf)
{
	for (size_t i = 0; i < FAMILIES; i++) {
		const struct engine_settings *set = &conf->engine[families[i].family];
		const char *at = set->others, *item, *model;
		size_t n, model_n;

		while ((item = next_other(&at, &n, &model, &model_n)) != NULL) {
			const char *name = arena_copy_n(mem, item, n);
			const struct engine_settings would = engines_chosen(mem, set, name);

			if (!is_engine(families[i].family, item, n) ||
			    (strlen(set->name) == n && strncmp(set->name, item, n) == 0))
				return arena_printf(mem, "engine.%s.others names %.*s, which is no further engine",
				    families[i].name, (int)n, item);
			if (model != NULL && model_n == 0)
				return arena_printf(mem, "%s in engine.%s.others has a colon, and no model behind it",
				    name, families[i].name);
			if (is_named_before(set, item, n))
				return arena_printf(mem, "engine.%s.others names %s twice", families[i].name, name);
			if (strcmp(would.name, "http") == 0 && set->url == NULL)
				return arena_printf(mem, "http in engine.%s.others needs engine.%s.url",
				    families[i].name, families[i].name);
			if (strcmp(would.name, "sherpa") == 0 && (would.model == NULL || would.model[0] != '/'))
				return arena_printf(mem, "sherpa in engine.%s.others needs its model behind it, "
				    "sherpa:/directory", families[i].name);
		}
	}
	return NULL;
}

const struct conf *
engines_conf(struct db *db, const struct conf *conf, struct uuid tenant_id)
{
	const struct chosen *c = uuid_is_none(tenant_id) ? NULL : db_row(db, &chosen_record, "FROM tenants t WHERE "
	    "t.id = ? AND t.engines IS NOT NULL", ARGS(ID(tenant_id)));
	struct engine_settings *set;
	struct conf *own;

	if (c == NULL)
		return conf;
	own = NEW(db_arena(db), struct conf);
	*own = *conf;
	for (size_t i = 0; i < FAMILIES; i++) {
		set = &own->engine[families[i].family];
		if (in(c, i) != NULL)
			*set = engines_chosen(db_arena(db), set, in(c, i));
	}
	return own;
}

const char *
engines_gone(struct db *db, const struct conf *conf)
{
	struct buf b = BUF(db_arena(db));
	const struct chosen *all;
	size_t n;

	all = db_rows(db, &chosen_record, "FROM tenants t WHERE t.engines IS NOT NULL ORDER BY t.shortcode", NO_ARGS,
	    &n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < FAMILIES; k++)
			if (!engines_known(&conf->engine[families[k].family], in(&all[i], k)))
				buf_printf(&b, "%s%s: %s = %s", b.len > 0 ? ", " : "", all[i].shortcode,
				    families[k].name, in(&all[i], k));
	return b.len > 0 ? buf_string(&b) : NULL;
}
