/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The decision about an origin, by what is known of the request when it is answered. */
#include <string.h>

#include "core/origin.h"
#include "fcgi/cors.h"

/* Of what is below /realms/ the path names the tenant. */
static bool
is_allowed(struct req *r)
{
	if (origin_of_server(r->conf, r->origin))
		return true;
	if (r->method == OPTIONS)
		return origin_of_any(r->db, r->origin);
	if (r->who != NULL)
		return origin_of_tenant(r->db, r->who->tenant_id, r->origin);
	if (r->route != NULL && r->word[0] != NULL && strncmp(r->route->path, "/realms/{", 9) == 0)
		return origin_of_realm(r->db, r->word[0], r->origin);
	return origin_of_any(r->db, r->origin);
}

void
cors_answer(struct req *r)
{
	bool ours = strncmp(r->uri, "/v2/", 4) == 0 || strncmp(r->uri, "/realms/", 8) == 0;

	if (!ours || (r->route != NULL && r->route->flags & PAGE) || (r->method == OPTIONS && r->methods == NULL))
		return;
	buf_text(&r->headers, "Vary: Origin\r\n");
	if (r->origin == NULL || !origin_is_one(r->origin) || !is_allowed(r))
		return;
	origin_allow(&r->headers, r->conf, r->origin);
	if (r->method == OPTIONS && r->request_method != NULL)
		origin_allow_methods(&r->headers, r->methods, "");
}
