/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts for a server that finds out what they mean, within what their tenant may have. */
#include <string.h>

#include "core/allowance.h"
#include "jobs/engines/excerpt.h"

struct asked { struct allowance_use use; enum allowance may; };

static bool
may(struct job *j, void *at)
{
	struct asked *a = at;

	a->may = allowance_ask(j->db, j->conf, j->tenant_id, &a->use);
	return false;
}

static bool
note(struct job *j, void *at)
{
	const struct asked *a = at;

	allowance_note(j->db, j->tenant_id, &a->use);
	return false;
}

int64_t
excerpt_size(const struct excerpt *x)
{
	int64_t size = 0;
	size_t i;

	for (i = 0; i < x->n; i++)
		size += (int64_t)strlen(x->texts[i]) / 3 + 1;
	return size;
}

bool
excerpt_ask(struct job *j, struct excerpt *x)
{
	const struct engine *e = engine_chosen(j->conf, ENGINE_embed);
	struct asked a = { .use = { .family = ENGINE_embed, .reserved = excerpt_size(x) } };
	enum outcome outcome;

	x->fault = (struct fault){ .reason = REASON_NONE };
	x->job = j;
	if (e == NULL)
		return false;
	job_batches(j, may, &a, sizeof(a));
	if (a.may != ALLOWED) {
		x->fault = (struct fault){ .reason = REASON_ENGINE_UNAVAILABLE, .detail = allowance_sentence(a.may) };
		return false;
	}
	outcome = e->run.embed(x);
	a.use.tokens = x->tokens;
	a.use.requests = x->requests;
	a.use.failed = outcome != DONE && x->fault.reason == REASON_ENGINE_UNAVAILABLE;
	job_batches(j, note, &a, sizeof(a));
	return outcome == DONE;
}
