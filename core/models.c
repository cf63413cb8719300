/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which models there are to choose from, and which one a tenant has chosen. */
#include <string.h>

#include "core/meaning.h"
#include "core/models.h"

struct strings
models_of(struct arena *mem, const struct engine_settings *set)
{
	const char *at = set->models != NULL ? set->models : "";
	struct strings all = { arena_array(mem, strlen(at) + 3, sizeof(*all.at)), 0 };
	size_t n;

	if (strcmp(set->name, "none") == 0)
		return all;
	if (set->model != NULL)
		all.at[all.n++] = set->model;
	for (; *at != '\0'; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (set->model == NULL || strlen(set->model) != n || strncmp(at, set->model, n) != 0)
			all.at[all.n++] = arena_copy_n(mem, at, n);
	}
	return all;
}

bool
models_known(const struct engine_settings *set, const char *model)
{
	if (model == NULL)
		return true;
	return strcmp(set->name, "none") != 0 && ((set->model != NULL && strcmp(set->model, model) == 0) ||
	    word_in(set->models, model, strlen(model)));
}

const char *
models_refuse(struct arena *mem, const struct engine_settings *set)
{
	const struct strings all = models_of(mem, set);
	struct buf b = BUF(mem);
	size_t i;

	if (all.n == 0)
		return "there are no models that may be named here";
	buf_text(&b, "this is none of the models that may be named:");
	for (i = 0; i < all.n; i++)
		buf_printf(&b, "%s %s", i > 0 ? "," : "", all.at[i]);
	return buf_string(&b);
}

struct models_embed
models_embed(struct db *db, const struct conf *conf, struct uuid tenant_id)
{
	const struct engine_settings *set = &conf->engine[ENGINE_embed];
	struct models_embed out = { NULL, NULL };
	const char *chosen;

	if (set->name == NULL || strcmp(set->name, "none") == 0 || set->model == NULL)
		return out;
	chosen = db_text(db, "SELECT embed_model FROM tenants WHERE id = ?", ARGS(ID(tenant_id)));
	if (chosen != NULL && strcmp(chosen, MODELS_NONE) == 0)
		return out;
	out.model = chosen != NULL && models_known(set, chosen) ? chosen : set->model;
	out.name = meaning_served_name(db_arena(db), out.model);
	return out;
}
