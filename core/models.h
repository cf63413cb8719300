/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Models of the servers that the operator lets others choose from: that of the settings, and those of the list beside
 * it (engine.complete.models, engine.embed.models).
 */
#ifndef CORE_MODELS_H
#define CORE_MODELS_H

#include "core/conf.h"
#include "core/db.h"
#include "core/record.h"

/* All of them, that of the settings first.  None, where there is no server. */
struct strings models_of(struct arena *, const struct engine_settings *);
/* Is it one of them?  NULL, which leaves it to the settings, always is. */
bool models_known(const struct engine_settings *, const char *model);
/* Why one that is not known may not be named: a sentence with those that may. */
const char *models_refuse(struct arena *, const struct engine_settings *);

/*
 * What makes vectors for a tenant beside the built-in engine: the model of its choice, if that is known still, or that
 * of the settings.  Both are NULL where there is no server, or the tenant wants none (MODELS_NONE).  Vectors are marked
 * with the name; those of different ones are never compared.
 */
#define MODELS_NONE "none"
struct models_embed { const char *model, *name; };
struct models_embed models_embed(struct db *, const struct conf *, struct uuid tenant_id);

#endif
