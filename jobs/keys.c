/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks the external token server of a tenant for its keys, since a token needs newer ones.
 * Safe to run twice: what the server says last counts.
 */
#include "core/provider.h"
#include "jobs/run.h"

enum outcome
keys_run(struct job *j)
{
	const struct provider *p = provider_of_tenant(j->db, j->tenant_id);
	const char *set, *why = NULL;

	if (p == NULL)
		return DONE;
	job_pause(j);
	set = provider_fetch(j->mem, j->conf, p->jwks_uri, &why);
	if (!job_resume(j))
		return RETRY;
	if (set == NULL)
		return job_give_up(j, REASON_KEYS_UNAVAILABLE, "%s: %s", p->issuer, why);
	provider_keep_keys(j->db, p, set);
	return DONE;
}
