/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External token servers: what they say of themselves, and their keys.  For jobs and the command line alone. */
#include <string.h>

#include "core/provider.h"
#include "core/web.h"

bool
provider_may_ask(struct arena *mem, const struct conf *conf, const char *url)
{
	return web_is_secure(mem, url, conf->provider_private_hosts);
}

static bool
ask(struct arena *mem, const struct conf *conf, const char *url, struct web_answer *a, const char **why)
{
	static const char *const headers[] = { "Accept: application/json", NULL };
	struct web_call call = { .url = url, .headers = headers, .private_hosts = conf->provider_private_hosts,
		.timeout = PROVIDER_SECONDS, .max_size = PROVIDER_SET_MAX };

	if (!provider_may_ask(mem, conf, url)) {
		*why = "The address is not one of https, nor of a host that provider.private_hosts names.";
		return false;
	}
	if (web_call(mem, &call, a) && a->status == 200)
		return true;
	*why = a->end != WEB_ANSWERED ? web_sentence(a->end) : arena_printf(mem, "The server answered with %d.",
	    a->status);
	return false;
}

struct discovery { const char *issuer, *jwks_uri; };
static const struct field discovery_fields[] = {
	FIELD(struct discovery, issuer, .on = CREATE, .required = true, .doc = "Who it is"),
	FIELD(struct discovery, jwks_uri, .on = CREATE, .required = true, .json = "jwks_uri", .max = 1024,
	    .doc = "Where keys are"),
};
static const struct record discovery_record = RECORD("Discovery", struct discovery, discovery_fields);

const char *
provider_discover(struct arena *mem, const struct conf *conf, const char *issuer, const char **why)
{
	const struct discovery *found;
	struct web_answer a;
	uint64_t given;
	size_t n = strlen(issuer);

	n -= n > 0 && issuer[n - 1] == '/';
	if (!ask(mem, conf, arena_printf(mem, "%.*s/.well-known/openid-configuration", (int)n, issuer), &a, why))
		return NULL;
	found = record_decode_foreign(mem, &discovery_record, a.body, a.size, &given);
	*why = "The server does not describe itself as OpenID Connect Discovery has it.";
	if (found == NULL)
		return NULL;
	*why = arena_printf(mem, "The server calls itself %.512s.", found->issuer);
	return strcmp(found->issuer, issuer) == 0 ? found->jwks_uri : NULL;
}

const char *
provider_fetch(struct arena *mem, const struct conf *conf, const char *jwks_uri, const char **why)
{
	struct jwt_key keys[PROVIDER_KEYS];
	struct web_answer a;
	size_t n;

	if (!ask(mem, conf, jwks_uri, &a, why))
		return NULL;
	n = strlen(a.body) == a.size ? jwt_keys(mem, a.body, keys, PROVIDER_KEYS) : 0;
	jwt_keys_free(keys, n);
	*why = "The server has no key that fits: RSA of 2048 bits or more, or P-256, with a kid.";
	return n > 0 ? a.body : NULL;
}
