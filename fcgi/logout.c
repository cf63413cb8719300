/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where clients send users to sign out (OpenID Connect RP-Initiated Logout 1.0) */
#include <string.h>

#include "core/audit.h"
#include "fcgi/form.h"
#include "fcgi/realms.h"
#include "fcgi/say.h"
#include "fcgi/sign.h"

enum { FORM_MAX = 16384 };

/* csrf: of our own page, which asks the user. */
struct query { const char *id_token_hint, *client_id, *post_logout_redirect_uri, *state, *csrf; };
static const struct field query_fields[] = {
	FIELD(struct query, id_token_hint, .on = QUERY, .json = "id_token_hint", .doc = "Who is to be signed out"),
	FIELD(struct query, client_id, .on = QUERY, .json = "client_id", .doc = "Who sends the user"),
	FIELD(struct query, post_logout_redirect_uri, .on = QUERY, .json = "post_logout_redirect_uri",
	    .doc = "Where the user goes back to"),
	FIELD(struct query, state, .on = QUERY, .doc = "Given back"),
	FIELD(struct query, csrf, .on = QUERY, .doc = "Of our own page"),
};
static const struct record query_record = RECORD("LogoutQuery", struct query, query_fields);

static const char path[] = "/protocol/openid-connect/logout";

struct leave { struct query q; const char *back; bool hinted; struct hinted hint; };

static bool
is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

/* Where the user goes afterwards, NULL for nowhere.  False: refused, and nothing is done. */
static bool
take(struct req *r, struct leave *l)
{
	const struct query *q = &l->q;
	const struct client *c = NULL;
	const char *client_id = is_given(q->client_id) ? q->client_id : NULL;

	l->hinted = is_given(q->id_token_hint) &&
	    token_hinted(r->db, r->conf, r->word[0], q->id_token_hint, &l->hint);
	if (l->hinted && client_id == NULL)
		client_id = l->hint.client_id;
	if (!l->hinted || strcmp(client_id, l->hint.client_id) == 0)
		c = client_id != NULL ? client_find(r->db, r->word[0], client_id) : NULL;
	if (!is_given(q->post_logout_redirect_uri))
		return true;
	if (c == NULL || c->revoked_at.ms != 0 || !client_logs_out_to(c, q->post_logout_redirect_uri)) {
		sign_say(r, 400, N_("The application gave a wrong address"),
		    N_("It asked to sign you out and to send you to an address that is not registered for it."));
		return false;
	}
	l->back = q->post_logout_redirect_uri;
	if (is_given(q->state))
		l->back = arena_printf(r->mem, "%s%cstate=%s", l->back, strchr(l->back, '?') != NULL ? '&' : '?',
		    percent_encode(r->mem, q->state));
	return true;
}

/* Where nobody proves that the user wants it, the user is asked: a picture in a strange page must sign nobody out. */
static int
confirm(struct req *r, const struct leave *l)
{
	struct sign s = { .at = NULL };
	size_t i;

	sign_open(&s, r, N_("Sign out"));
	sign_form(&s, sign_path(r, path));
	for (i = 0; i < query_record.n - 1; i++) {
		const char *value = *(const char *const *)(const void *)((const char *)&l->q + query_fields[i].offset);

		if (is_given(value))
			sign_hidden(&s, record_json_name(&query_record, &query_fields[i]), value);
	}
	sign_close(&s, N_("Sign out"));
	return sign_send(&s, 200);
}

static void
end(struct req *r, const struct session *s)
{
	sign_audit(r, &(struct user){ .id = s->user_id, .tenant_id = s->tenant_id }, "user.signedOut", NULL);
	session_end(r);
}

static int
done(struct req *r, const struct leave *l)
{
	return l->back != NULL ? sign_redirect(r, l->back) : sign_redirect(r, sign_path(r, "/sign-out"));
}

static int
logout(struct req *r)
{
	struct leave l = { .q = *(const struct query *)r->in };
	const struct session *s;

	if (session_realm(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (!take(r, &l))
		return r->status;
	s = session_find(r);
	if (s != NULL && (!l.hinted || !uuid_equal(l.hint.user_id, s->user_id)))
		return confirm(r, &l);
	if (s != NULL)
		end(r, s);
	return done(r, &l);
}

static const char *
query_again(struct arena *mem, const struct query *q)
{
	const char *const values[] = { q->id_token_hint, q->client_id, q->post_logout_redirect_uri, q->state };
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (is_given(values[i]))
			buf_printf(&b, "%c%s=%s", b.len > 0 ? '&' : '?', record_json_name(&query_record,
			    &query_fields[i]),
			    percent_encode(mem, values[i]));
	return buf_string(&b);
}

/* Of our page, or of a client, whose form brings no cookie: what it asks for by address does. */
static int
logout_form(struct req *r)
{
	const struct query *q = form_is(r) ? form_read(r, &query_record) : NULL;
	const struct session *s;
	struct leave l;

	if (session_realm(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (q == NULL)
		return sign_say(r, 400, N_("This address is incomplete"), N_("The application sent a malformed form."));
	if (!form_is_ours(r, q->csrf))
		return sign_redirect(r, arena_printf(r->mem, "%s%s", sign_path(r, path), query_again(r->mem, q)));
	l = (struct leave){ .q = *q };
	if (!take(r, &l))
		return r->status;
	s = session_find(r);
	if (s != NULL)
		end(r, s);
	return l.back != NULL ? sign_go(r, N_("You are signed out"), l.back) : done(r, &l);
}

const struct route logout_routes[] = {
	{
		GET, PROTOCOL "/logout", SCOPE_PUBLIC, logout, &query_record, NULL, "Sign a user out for a client",
		.flags = AT_ROOT | NO_ENVELOPE | PAGE | WRITES, .fails = "400 404", .produces = "text/html",
	},
	{
		POST, PROTOCOL "/logout", SCOPE_PUBLIC, logout_form, NULL, NULL, "Sign a user out",
		.flags = AT_ROOT | NO_ENVELOPE | PAGE | RAW_BODY, .fails = "400 404", .produces = "text/html",
		.consumes = "application/x-www-form-urlencoded", .max_body = FORM_MAX,
	},
	{ 0 }
};
