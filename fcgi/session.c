/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cookies of a realm: who is signed in, and which forms are ours. */
#include <string.h>

#include "core/authorization.h"
#include "core/seal.h"
#include "core/text.h"
#include "fcgi/session.h"

static const char session_name[] = "kinothek-session", form_name[] = "kinothek-form", form_purpose[] = "form";

/* Over HTTPS a browser takes a cookie of this name from HTTPS alone. */
static const char *
full_name(struct req *r, const char *name)
{
	return r->https ? arena_printf(r->mem, "__Secure-%s", name) : name;
}

/* The first is the one with the longest path: ours. */
const char *
cookie_find(struct req *r, const char *name)
{
	const char *p = r->cookie;
	size_t n = strlen(name);

	for (; p != NULL && *p != '\0'; p += strcspn(p, ";"), p += *p == ';') {
		p += strspn(p, " \t");
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			return arena_copy_n(r->mem, p + n + 1, strcspn(p + n + 1, "; \t"));
	}
	return NULL;
}

static void
cookie_set(struct req *r, const char *name, const char *value)
{
	buf_printf(&r->headers, "Set-Cookie: %s=%s; Path=/realms/%s/; HttpOnly; SameSite=Lax%s%s\r\n",
	    full_name(r, name), value, r->word[0], r->https ? "; Secure" : "", *value == '\0' ? "; Max-Age=0" : "");
}

/* SQL takes "demo " for "demo", and cannot compare a column of ASCII with anything else. */
const char *
session_realm(struct req *r)
{
	const char *shortcode = r->word[0][strspn(r->word[0], "abcdefghijklmnopqrstuvwxyz0123456789-_")] != '\0' ?
	    NULL : db_text(r->db, "SELECT n.shortcode FROM tenants n WHERE n.shortcode = ? AND "
	    "NOT EXISTS (SELECT 1 FROM tenant_providers p WHERE p.tenant_id = n.id)", ARGS(STR(r->word[0])));

	return shortcode != NULL && strcmp(shortcode, r->word[0]) == 0 ? shortcode : NULL;
}

static const struct session *
find(struct req *r, bool pending)
{
	const char *token = cookie_find(r, full_name(r, session_name));
	const char *realm = token != NULL ? session_realm(r) : NULL;
	const struct session *s = realm != NULL && utf8_valid(token, strlen(token)) ?
	    session_by_token(r->db, realm, token) : NULL;

	return s != NULL && s->is_pending == pending ? s : NULL;
}

const struct session *
session_find(struct req *r)
{
	return find(r, false);
}

const struct session *
session_pending(struct req *r)
{
	return find(r, true);
}

static void
remove_last(struct req *r)
{
	const struct session *s = find(r, false);

	if (s == NULL)
		s = find(r, true);
	if (s != NULL)
		session_remove(r->db, s->user_id, s->id);
}

/* Who proves once more who it is keeps what it has signed in to. */
void
session_begin(struct req *r, const struct session_start *s)
{
	const struct session *last = find(r, false);
	struct uuid id;

	if (last == NULL)
		last = find(r, true);
	remove_last(r);
	cookie_set(r, session_name, session_add(r->db, s, &id));
	if (last != NULL && uuid_equal(last->user_id, s->user_id))
		authorization_follow(r->db, last->id, id);
}

void
session_end(struct req *r)
{
	remove_last(r);
	cookie_set(r, session_name, "");
}

/* Bound to the session, too: who knows the one cookie of a browser does not know both. */
static const char *
proof(struct req *r, const char *secret)
{
	const char *token = cookie_find(r, full_name(r, session_name));

	return seal_proof(r->conf, r->mem, form_purpose,
	    arena_printf(r->mem, "%s %s %s", r->word[0], secret, token != NULL ? token : ""));
}

const char *
form_token(struct req *r)
{
	const char *secret = cookie_find(r, full_name(r, form_name));
	unsigned char bytes[16];

	if (secret == NULL || *secret == '\0') {
		random_bytes(bytes, sizeof(bytes));
		secret = base64url_encode(r->mem, bytes, sizeof(bytes));
		cookie_set(r, form_name, secret);
	}
	return proof(r, secret);
}

/* What browsers say of where a form comes from; what old ones leave out is no fault. */
static bool
is_same_site(struct req *r)
{
	if (r->fetch_site != NULL && strcmp(r->fetch_site, "same-origin") != 0)
		return false;
	return r->origin == NULL || strcmp(r->origin, r->conf->public_url) == 0;
}

bool
form_is_ours(struct req *r, const char *token)
{
	const char *secret = cookie_find(r, full_name(r, form_name));

	return is_same_site(r) && token != NULL && secret != NULL && *secret != '\0' &&
	    seal_same(token, proof(r, secret));
}
