/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The OpenAPI 3.1 document, printed from the routes and their records */
#include <string.h>

#include "core/role.h"
#include "fcgi/openapi.h"
#include "fcgi/operation.h"

static const struct { const char *name, *doc; } tags[] = {
	{ "media", "Assets: videos, sounds, pictures and documents, and what belongs to one of them" },
	{ "uploads", "Files on their way in: announce one, send its bytes, complete it" },
	{ "downloads", "Files packed into one to take away" },
	{ "designs", "How channels, players and exported documents look" },
	{ "jobs", "The work that makes assets playable" },
	{ "audit", "Who changed who may do what, when, and from where" },
	{ "channels", "What assets are in, and who may do what with them" },
	{ "principals", "Who can be given a role: users, clients and groups" },
	{ "groups", "Users and clients that have their roles together" },
	{ "tags", "Labels of assets" },
	{ "tenants", "Settings of the tenant, and the words its engines should expect" },
	{ "tokens", "Access tokens of a tenant, and the keys that check them" },
	{ "events", "What has changed, as a stream or as a list" },
	{ "webhooks", "Addresses that are told what has changed, and what they have answered" },
	{ "service", "The service itself: this document, and what monitoring asks" },
};

void
openapi_separate(struct document *d)
{
	char last = d->b.len > 0 ? d->b.text[d->b.len - 1] : '\0';

	if (last != '{' && last != '[' && last != ',')
		buf_char(&d->b, ',');
}

static void
put_description(struct document *d, const struct route *route)
{
	struct buf b = BUF(d->mem);
	const char *p = route->codes != NULL ? route->codes : "";
	int e;

	buf_printf(&b, "%s.", route->doc);
	if (route->flags & TAKES_TOKEN)
		buf_text(&b, " Needs a token with the scope `openid`.");
	else if (route->scope == SCOPE_PUBLIC)
		buf_text(&b, " Needs no token.");
	else if (route->scope == SCOPE_ANY_TOKEN)
		buf_text(&b, " Needs a token of any scope.");
	else
		buf_printf(&b, " Needs a token with the scope `%s`.", scope_name(route->scope));
	if (route->flags & SUPER_ADMIN)
		buf_text(&b, " For SuperAdmins alone.");
	if (route->flags & SOMEWHERE)
		buf_text(&b, " For those alone who have that permission in a channel.");
	if (route->max_body != 0)
		buf_printf(&b, " The body may have at most %zu bytes.", route->max_body);
	for (; *p != '\0'; p += strcspn(p, " "), p += strspn(p, " "))
		for (e = 0; e < ERR_COUNT; e++) {
			const struct error_info *info = error_info((enum error)e);

			if (operation_names(p, strcspn(p, " "), (enum error)e))
				buf_printf(&b, "\n- %d `%s`: %s", info->status, info->code, info->text);
		}
	buf_text(&d->b, ",\"description\":");
	buf_json(&d->b, buf_string(&b));
}

static void
put_operation(struct document *d, const struct route *route)
{
	static const char *const methods[] = { "", "get", "head", "post", "put", "patch", "delete", "options" };

	d->route = route;
	openapi_separate(d);
	buf_printf(&d->b, "\"%s\":{\"summary\":", methods[route->method]);
	buf_json(&d->b, route->doc);
	put_description(d, route);
	buf_printf(&d->b, ",\"operationId\":\"%s\",\"tags\":[\"%s\"]", operation_id(d->mem, route),
	    operation_tag(d->mem, route));
	if (route->flags & TAKES_TOKEN)
		buf_text(&d->b, ",\"security\":[{\"oauth\":[\"openid\"]}]");
	else if (route->scope == SCOPE_PUBLIC)
		buf_text(&d->b, ",\"security\":[]");
	else
		buf_printf(&d->b, ",\"security\":[{\"oauth\":[%s%s%s]}]", route->scope == SCOPE_ANY_TOKEN ? "" : "\"",
		    route->scope == SCOPE_ANY_TOKEN ? "" : scope_name(route->scope),
		    route->scope == SCOPE_ANY_TOKEN ? "" : "\"");
	openapi_parameters(d, route);
	openapi_body(d, route);
	buf_text(&d->b, ",\"responses\":{");
	openapi_successes(d, route);
	openapi_failures(d, route);
	buf_text(&d->b, "}}");
}

/* Routes of one path stand together, wherever they are in the tables. */
static void
put_paths(struct document *d)
{
	const struct route *route, *other;
	size_t i, k;

	for (i = 0; (route = api_route(i)) != NULL; i++) {
		bool seen = false;

		for (k = 0; k < i; k++)
			seen |= strcmp(api_route(k)->path, route->path) == 0;
		if (seen || route->flags & PAGE)
			continue;
		openapi_separate(d);
		buf_printf(&d->b, "\"%s\":{", route->path);
		for (k = i; (other = api_route(k)) != NULL; k++)
			if (strcmp(other->path, route->path) == 0)
				put_operation(d, other);
		buf_char(&d->b, '}');
	}
}

/* Every tag that a route has, with what is said of it. */
static void
put_tags(struct document *d)
{
	const struct route *route;
	size_t i, k;

	buf_text(&d->b, "\"tags\":[");
	for (i = 0; (route = api_route(i)) != NULL; i++) {
		const char *tag = operation_tag(d->mem, route), *doc = NULL;
		bool seen = false;

		for (k = 0; k < i; k++)
			seen |= strcmp(operation_tag(d->mem, api_route(k)), tag) == 0;
		if (seen)
			continue;
		for (k = 0; k < sizeof(tags) / sizeof(tags[0]); k++)
			doc = strcmp(tags[k].name, tag) == 0 ? tags[k].doc : doc;
		openapi_separate(d);
		buf_printf(&d->b, "{\"name\":\"%s\",\"description\":", tag);
		buf_json(&d->b, doc != NULL ? doc : arena_printf(d->mem, "What is below /v2/%s", tag));
		buf_char(&d->b, '}');
	}
	buf_char(&d->b, ']');
}

static void
put_scopes(struct document *d)
{
	enum scope s;

	buf_text(&d->b, "\"scopes\":{");
	for (s = SCOPE_UNSET + 1; scope_name(s) != NULL; s++) {
		openapi_separate(d);
		buf_printf(&d->b, "\"%s\":\"The permission %s: in a channel, of %s\"", scope_name(s), scope_name(s),
		    role_names(d->mem, s));
	}
}

#define REALM "/realms/TENANT/protocol/openid-connect"
static void
put_security(struct document *d)
{
	buf_text(&d->b, ",\"securitySchemes\":{\"oauth\":{\"type\":\"oauth2\",\"description\":\"Of a tenant, whose "
	    "shortcode stands for TENANT: a client for itself, or for a person who has signed in. Discovery is at "
	    "/realms/TENANT/.well-known/openid-configuration\",\"flows\":{\"clientCredentials\":{"
	    "\"tokenUrl\":\"" REALM "/token\",");
	put_scopes(d);
	buf_text(&d->b, "}},\"authorizationCode\":{\"authorizationUrl\":\"" REALM "/auth\",\"tokenUrl\":\"" REALM
	    "/token\",\"refreshUrl\":\"" REALM "/token\",");
	put_scopes(d);
	buf_text(&d->b, ",\"openid\":\"Who the person is\",\"profile\":\"Name of the person\","
	    "\"email\":\"Address of the person\",\"offline_access\":\"A refresh token\"}}}}}");
}

/* Puts line breaks and indents around what has no structure of its own, so that a change shows in review. */
static const char *
indented(struct arena *mem, const char *json)
{
	struct buf b = BUF(mem);
	bool in_string = false;
	int depth = 0;

	for (; *json != '\0'; json++) {
		bool opens = *json == '{' || *json == '[', closes = *json == '}' || *json == ']';

		if (*json == '"' && json[-1] != '\\')
			in_string = !in_string;
		if (!in_string && closes && json[-1] != '{' && json[-1] != '[')
			buf_printf(&b, "\n%*s", 2 * --depth, "");
		else if (!in_string && closes)
			depth--;
		buf_char(&b, *json);
		if (!in_string && opens) {
			depth++;
			if (json[1] != '}' && json[1] != ']')
				buf_printf(&b, "\n%*s", 2 * depth, "");
		} else if (!in_string && *json == ',') {
			buf_printf(&b, "\n%*s", 2 * depth, "");
		} else if (!in_string && *json == ':') {
			buf_char(&b, ' ');
		}
	}
	buf_char(&b, '\n');
	return buf_string(&b);
}

const char *
openapi_print(struct arena *mem, const char *server)
{
	struct document *d = NEW(mem, struct document);

	d->mem = mem;
	d->b = BUF(mem);
	buf_text(&d->b, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Kinothek\",\"version\":\"" API_VERSION
	    "\",\"summary\":\"Self-hosted media asset service\",\"description\":\"Takes in videos, sounds, pictures "
	    "and documents, makes them playable, writes down what is said in them, and serves all of it.\\n\\nAnswers "
	    "have the form `{status, data}`, lists also `pagination`. They may have further members in later versions; "
	    "bodies may have no others than those listed. A refusal names a `data.code`, every fault of the input and "
	    "the id of the request; `Accept: application/problem+json` gets it as RFC 9457 has "
	    "it. What the web server in front refuses by itself (413 of a body, 431 of a head, 503 while the service is down) has "
	    "this form too; there the id is the web server's own, or empty where it could not read the head.\",\"contact\":{\"name\":\"Whoever runs this "
	    "installation\"},\"license\":{\"name\":\"GPL-3.0-or-later\",\"identifier\":\"GPL-3.0-or-later\"}},"
	    "\"servers\":[{\"url\":\"{origin}\",\"description\":\"This "
	    "installation\",\"variables\":{\"origin\":{\"description\":\"The setting public_url\",\"default\":");
	buf_json(&d->b, server != NULL ? server : "http://localhost");
	buf_text(&d->b, "}}}],");
	put_tags(d);
	buf_text(&d->b, ",\"paths\":{");
	put_paths(d);
	buf_char(&d->b, '}');
	openapi_webhooks(d);
	buf_text(&d->b, ",\"components\":{");
	openapi_schemas(d);
	openapi_responses(d);
	put_security(d);
	buf_text(&d->b, "}}");
	return indented(mem, buf_string(&d->b));
}
