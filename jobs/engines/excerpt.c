/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts for a server that finds out what they mean, within what their tenant may have. */
#include <string.h>

#include "jobs/engines/excerpt.h"

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
	struct allowance_use use = { .family = ENGINE_embed, .reserved = excerpt_size(x) };
	enum outcome outcome;

	x->fault = (struct fault){ .reason = REASON_NONE };
	x->job = j;
	if (e == NULL)
		return false;
	if (!engine_may_cost(j, &use, &x->fault))
		return false;
	outcome = e->run.embed(x);
	use.tokens = x->tokens;
	use.requests = x->requests;
	use.failed = outcome != DONE && x->fault.reason == REASON_ENGINE_UNAVAILABLE;
	engine_cost(j, &use);
	return outcome == DONE;
}
