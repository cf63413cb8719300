/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a token tells of its user (OpenID Connect Core section 5.3) */
#include <string.h>
#include <strings.h>

#include "core/authorization.h"
#include "fcgi/realms.h"
#include "fcgi/session.h"

struct person { const char *sub, *name, *preferred_username, *email; bool email_verified; };
static const struct field person_fields[] = {
	FIELD(struct person, sub, .required = true, .format = "uuid", .doc = "The user"),
	FIELD(struct person, name, .on = OMIT_NULL, .doc = "Shown to people, with the scope profile"),
	FIELD(struct person, preferred_username, .on = OMIT_NULL, .json = "preferred_username",
	    .doc = "Signs in by it, with the scope profile"),
	FIELD(struct person, email, .on = OMIT_NULL, .format = "email", .doc = "With the scope email, where it is known"),
	FIELD(struct person, email_verified, .on = OMIT_NULL, .json = "email_verified",
	    .doc = "With email: an invitation that was mailed there was opened"),
};
static const struct record person_record = RECORD("UserInfo", struct person, person_fields);

static int
wrong_token(struct req *r)
{
	buf_printf(&r->headers, "WWW-Authenticate: Bearer realm=\"kinothek\"%s\r\n",
	    r->authorization != NULL ? ", error=\"invalid_token\"" : "");
	return refuse_oauth(r, 401, "invalid_token", "Send a token of this realm: Authorization: Bearer …");
}

static int
too_little(struct req *r)
{
	buf_text(&r->headers, "WWW-Authenticate: Bearer realm=\"kinothek\", error=\"insufficient_scope\", "
	    "scope=\"openid\"\r\n");
	return refuse_oauth(r, 403, "insufficient_scope", "The token is of no user, or lacks the scope openid.");
}

static int
userinfo(struct req *r)
{
	const char *p = r->authorization != NULL ? r->authorization : "";
	const struct authorization *a;
	struct buf b = BUF(r->mem);
	struct principal who = { .address = r->client };

	if (session_realm(r) == NULL)
		return realm_unknown(r);
	if (strncasecmp(p, "Bearer ", 7) != 0 || token_verify(r->db, r->conf, r->mem, p + 7 + strspn(p + 7, " "),
	    &who) != TOKEN_FINE || strcmp(who.shortcode, r->word[0]) != 0)
		return wrong_token(r);
	if (uuid_is_none(who.authorization_id) || (who.tells & TELLS_ID) == 0)
		return too_little(r);
	a = authorization_find(r->db, r->word[0], who.authorization_id);
	if (a == NULL)
		return wrong_token(r);
	buf_printf(&b, "{\"sub\":\"%s\"", uuid_text(r->mem, a->user_id));
	token_person(&b, a, who.tells);
	buf_char(&b, '}');
	r->cache_control = "no-store";
	return reply_raw(r, 200, "application/json", buf_string(&b), b.len);
}

#define ROUTE PROTOCOL "/userinfo", SCOPE_PUBLIC, userinfo, NULL, &person_record
#define FLAGS AT_ROOT | NO_ENVELOPE | OAUTH | TAKES_TOKEN
const struct route userinfo_routes[] = {
	{
		GET, ROUTE, "Read who the user of a token is",
		.flags = FLAGS, .fails = "401 403 404", .produces = "application/json", .id = "getUserInfo",
	},
	{
		POST, ROUTE, "Read who the user of a token is, as GET does",
		.flags = FLAGS | RAW_BODY | OPTIONAL_BODY | READS_ONLY, .fails = "401 403 404",
		.produces = "application/json",
		.consumes = "application/x-www-form-urlencoded", .id = "getUserInfoByPost",
	},
	{ 0 }
};
