/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What engines of all families have in common: which one it is, and how a server is asked. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/engines/engine.h"

enum { SERVED_NAME_MAX = 100 };		/* bytes */

const struct engine *
engine_chosen(const struct conf *conf, enum engine_family family)
{
	static const struct engine *const all[] = {
#define ENGINE_ADDRESS(family, name) &engine_##family##_##name,
		ENGINES(ENGINE_ADDRESS)
#undef ENGINE_ADDRESS
	};
	size_t i;

	if (strcmp(conf->engine[family].name, "none") == 0)
		return NULL;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->family == family && strcmp(all[i]->name, conf->engine[family].name) == 0)
			return all[i];
	abort(); /* the settings take no other name */
}

const struct engine *
engine_for(struct job *j, enum engine_family family)
{
	static const char *const names[] = {
#define ENGINE_NAME(family, task, doc) [ENGINE_##family] = #family,
		ENGINE_FAMILIES(ENGINE_NAME)
#undef ENGINE_NAME
	};

	if (j->conf->engine[family].gone)
		job_warn(j, &(struct warning){ .reason = REASON_ENGINE_REFUSED, .detail = arena_printf(j->mem, "The "
		    "setting engines.%s of the tenant names one that the operator does not offer any more, so this was "
		    "left out.", names[family]) });
	return engine_chosen(j->conf, family);
}

bool
engine_may_pass(const struct web_answer *a)
{
	if (a->end == WEB_ANSWERED)
		return a->status == 408 || a->status == 425 || a->status == 429 || a->status >= 500;
	return a->end == WEB_UNRESOLVED || a->end == WEB_UNREACHABLE || a->end == WEB_TIMEOUT || a->end == WEB_BROKEN;
}

static void
pause_for(const struct web_call *call, int seconds)
{
	for (; seconds > 0; seconds--) {
		call->alive(call->user);
		sleep(1);
	}
}

int
engine_ask(struct arena *mem, const struct conf *conf, const struct engine *e, int tries, struct web_call *call,
    struct web_answer *a)
{
	int try, seconds;

	call->private_hosts = conf->engine_private_hosts;
	call->timeout = (int)conf->engine[e->family].timeout;
	call->max_size = e->limits.answer;
	for (try = 1; !web_call(mem, call, a); try++) {
		if (try >= tries || !engine_may_pass(a))
			return try;
		seconds = a->retry_after > 0 ? a->retry_after : 1 << (try - 1);
		pause_for(call, seconds < e->limits.wait ? seconds : e->limits.wait);
	}
	return try;
}

const char *
engine_served_name(struct arena *mem, const char *model)
{
	return arena_printf(mem, "%.*s by HTTP", (int)utf8_prefix(model, SERVED_NAME_MAX), model);
}

const char *
engine_endpoint(struct arena *mem, const char *url, const char *leaf)
{
	const char *path = strstr(url, "://");
	size_t n = strlen(url);

	path = path == NULL ? NULL : strchr(path + 3, '/');
	while (n > 0 && url[n - 1] == '/')
		n--;
	if (path == NULL || path >= url + n)
		return arena_printf(mem, "%.*s/v1/%s", (int)n, url, leaf);
	if (n > 3 && strncmp(url + n - 3, "/v1", 3) == 0)
		return arena_printf(mem, "%.*s/%s", (int)n, url, leaf);
	return url;
}

enum outcome
engine_unanswered(struct arena *mem, const struct web_answer *a, const char *server, const char *result,
    struct fault *fault)
{
	const char *why;
	bool passes = engine_may_pass(a);

	if (a->end == WEB_ANSWERED && a->status == 200)
		why = arena_printf(mem, "The %s answered something that is no %s.", server, result);
	else if (a->end == WEB_ANSWERED)
		why = arena_printf(mem, passes ? "The %s is busy or broken (status %d)." :
		    "The %s refused the request (status %d).", server, a->status);
	else
		why = web_sentence(a->end);
	*fault = (struct fault){ .reason = passes ? REASON_ENGINE_UNAVAILABLE : REASON_ENGINE_REFUSED, .detail = why };
	return fault_is_final(fault) ? GIVE_UP : RETRY;
}

struct asked { struct allowance_use use; enum allowance may; };

static bool
ask_allowance(struct job *j, void *at)
{
	struct asked *a = at;

	a->may = allowance_ask(j->db, j->conf, j->tenant_id, &a->use);
	return false;
}

bool
engine_may_cost(struct job *j, struct allowance_use *use, struct fault *fault)
{
	struct asked a = { .use = *use };

	job_batches(j, ask_allowance, &a, sizeof(a));
	*use = a.use;
	if (a.may == ALLOWED)
		return true;
	*fault = (struct fault){ .reason = REASON_ENGINE_UNAVAILABLE, .detail = allowance_sentence(a.may) };
	return false;
}

static bool
note_allowance(struct job *j, void *at)
{
	allowance_note(j->db, j->tenant_id, at);
	return false;
}

void
engine_cost(struct job *j, const struct allowance_use *use)
{
	struct allowance_use noted = *use;

	job_batches(j, note_allowance, &noted, sizeof(noted));
}
