/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /realms/{tenantShortcode}/account: password, second factor and sessions of whoever is signed in */
#include <string.h>

#include "core/qr.h"
#include "core/seal.h"
#include "core/totp.h"
#include "fcgi/sign.h"

#define SECRET_TEXT N_("Let the app read this picture, or give it the secret by hand, and enter the code that it shows. Nobody else may see it.")
#define CODES_TEXT N_("An app on your phone shows codes that are asked for besides the password. Who learns the password alone does not get in.")
#define WRONG_PASSWORD N_("The password does not fit. After several tries in vain an account waits for some minutes.")

static void
heading(struct sign *s, const char *text)
{
	html_text_el(&s->p.h, "h2", NULL, say(s->p.r, text));
}

static void
put_done(struct sign *s)
{
	static const struct { const char *word, *text; } done[] = {
		{ "password", N_("The password is changed, and everybody else who used the old one is signed out.") },
		{ "codes", N_("Codes of your app are asked for from now on.") },
		{ "no-codes", N_("No codes are asked for any more.") },
		{ "session", N_("That session has ended.") },
	};
	const struct sign_query *q = s->p.r->query;
	size_t i;

	for (i = 0; i < sizeof(done) / sizeof(done[0]); i++)
		if (q != NULL && q->done != NULL && strcmp(q->done, done[i].word) == 0) {
			html_el(&s->p.h, "p");
			html_attr(&s->p.h, "class", "done");
			html_attr(&s->p.h, "role", "status");
			html_text(&s->p.h, say(s->p.r, done[i].text));
			html_end(&s->p.h);
		}
}

static void
put_password(struct sign *s)
{
	heading(s, N_("Password"));
	sign_form(s, sign_path(s->p.r, "/account"));
	sign_hidden(s, "action", "password");
	sign_input(s, &(struct input){ "password", N_("Password as it is"), "password", "current-password", NULL, NULL,
	    NULL });
	sign_input(s, &(struct input){ "fresh", N_("New password"), "password", "new-password", NULL,
	    N_("At least 8 characters"), NULL });
	sign_input(s, &(struct input){ "again", N_("The same once more"), "password", "new-password", NULL, NULL,
	    NULL });
	sign_close(s, N_("Change the password"));
}

/* Dark on light in every colour of the page, as cameras want it. */
static void
put_qr(struct sign *s, const char *address)
{
	struct html *h = &s->p.h;
	int size;
	const char *path = qr_path(s->p.r->mem, address, &size);

	if (path == NULL)
		return;
	html_el(h, "svg");
	html_attr(h, "class", "qr");
	html_attr(h, "role", "img");
	html_attr(h, "aria-label", say(s->p.r, "QR code of the address"));
	html_attr(h, "viewBox", arena_printf(s->p.r->mem, "-%d -%d %d %d", QR_QUIET, QR_QUIET, size + 2 * QR_QUIET,
	    size + 2 * QR_QUIET));
	html_attr(h, "shape-rendering", "crispEdges");
	html_el(h, "path");
	html_attr(h, "fill", "#fff");
	html_attr(h, "d", arena_printf(s->p.r->mem, "M-%d-%dh%dv%dh-%dz", QR_QUIET, QR_QUIET, size + 2 * QR_QUIET,
	    size + 2 * QR_QUIET, size + 2 * QR_QUIET));
	html_end(h);
	html_el(h, "path");
	html_attr(h, "d", path);
	html_end(h);
	html_end(h);
}

static void
put_secret(struct sign *s, const struct user *u)
{
	struct req *r = s->p.r;
	unsigned char *secret;
	long n = unseal(r->conf, r->mem, TOTP_PURPOSE, u->totp_sealed, &secret);
	const char *address;

	if (n < 0)
		return;
	address = totp_address(r->mem, secret, (size_t)n, arena_printf(r->mem, "Kinothek %s", u->shortcode), u->login);
	html_text_el(&s->p.h, "p", NULL, say(r, SECRET_TEXT));
	put_qr(s, address);
	html_el(&s->p.h, "dl");
	html_text_el(&s->p.h, "dt", NULL, say(r, "Secret"));
	html_el(&s->p.h, "dd");
	html_text_el(&s->p.h, "code", "secret", totp_text(r->mem, secret, (size_t)n));
	html_end(&s->p.h);
	html_text_el(&s->p.h, "dt", NULL, say(r, "Address"));
	html_el(&s->p.h, "dd");
	html_text_el(&s->p.h, "code", "address", address);
	html_end(&s->p.h);
	html_end(&s->p.h);
	sign_form(s, sign_path(r, "/account"));
	sign_hidden(s, "action", "confirm");
	sign_input(s, &(struct input){ "code", N_("Code of your app"), "text", "one-time-code", NULL,
	    N_("Six digits"), NULL });
	sign_close(s, N_("Ask for codes from now on"));
}

static void
put_codes(struct sign *s, const struct user *u)
{
	bool on = u->totp_at.ms != 0;

	heading(s, N_("Second factor"));
	if (!on && u->totp_sealed != NULL)
		put_secret(s, u);
	html_text_el(&s->p.h, "p", NULL, on ? say(s->p.r, "Besides the password a code of your app is asked for.") :
	    say(s->p.r, CODES_TEXT));
	sign_form(s, sign_path(s->p.r, "/account"));
	sign_hidden(s, "action", on ? "remove" : "codes");
	sign_input(s, &(struct input){ "password", N_("Password"), "password", "current-password", NULL, NULL,
	    "codes-password" });
	sign_close(s, on ? N_("Ask for no codes any more") : N_("Make a secret for an app"));
}

static void
put_session(struct sign *s, const struct session *session, bool is_this)
{
	struct req *r = s->p.r;
	char began[MOMENT_TEXT];

	html_el(&s->p.h, "li");
	html_text_el(&s->p.h, "strong", NULL, is_this ? say(r, "This browser") : *session->agent != '\0' ?
	    session->agent : say(r, "Unknown browser"));
	html_text(&s->p.h, arena_printf(r->mem, " %s, ", *session->address != '\0' ? session->address : "?"));
	moment_format(session->created_at, began);
	html_el(&s->p.h, "time");
	html_attr(&s->p.h, "datetime", began);
	began[10] = ' ';
	began[16] = '\0';
	html_text(&s->p.h, began);
	html_end(&s->p.h);
	html_text(&s->p.h, " UTC ");
	if (!is_this) {
		sign_form(s, sign_path(r, "/account"));
		sign_hidden(s, "action", "end");
		sign_hidden(s, "session", uuid_text(r->mem, session->id));
		sign_close(s, N_("End"));
	}
	html_end(&s->p.h);
}

static void
put_sessions(struct sign *s, const struct session *this)
{
	const struct session *all;
	size_t i, n;

	heading(s, N_("Where you are signed in"));
	all = session_list(s->p.r->db, this->user_id, &n);
	html_el(&s->p.h, "ul");
	html_attr(&s->p.h, "class", "sessions");
	for (i = 0; i < n; i++)
		put_session(s, &all[i], uuid_equal(all[i].id, this->id));
	html_end(&s->p.h);
	sign_form(s, sign_path(s->p.r, "/sign-out"));
	sign_close(s, N_("Sign out here"));
}

static int
account_page(struct req *r, const struct session *session, int status, const char *at, const char *wrong)
{
	const struct user *u = user_by_id(r->db, session->user_id);
	struct sign s = { .at = at, .wrong = wrong };

	if (u == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	sign_open(&s, r, N_("Your account"));
	put_done(&s);
	html_text_el(&s.p.h, "p", NULL, arena_printf(r->mem, "%s (%s)", u->name, u->login));
	put_password(&s);
	put_codes(&s, u);
	put_sessions(&s, session);
	return sign_send(&s, status);
}

static int
account_get(struct req *r)
{
	const struct session *session;

	if (session_realm(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	session = session_find(r);
	return session == NULL ? sign_redirect(r, sign_with_target(r, "/login")) :
	    account_page(r, session, 200, NULL, NULL);
}

static int
done(struct req *r, const char *word)
{
	return sign_redirect(r, sign_path(r, arena_printf(r->mem, "/account?done=%s", word)));
}

/* What wants the password once more: whoever finds an open browser changes nothing for good. */
static void *
try_password(struct req *r)
{
	const struct sent *s = sign_sent(r);
	const struct session *session = s != NULL ? session_find(r) : NULL;

	return session == NULL ? NULL : sign_try(r, user_by_id(r->db, session->user_id), s);
}

static int
change_password(struct req *r, const struct session *session, const struct user *u, const struct tried *t)
{
	user_set_password(r->db, u->id, t->fresh, session->id);
	sign_audit(r, u, "user.password", NULL);
	return done(r, "password");
}

static int
make_codes(struct req *r, const struct user *u)
{
	unsigned char secret[TOTP_SECRET];

	random_bytes(secret, sizeof(secret));
	db_run(r->db, "UPDATE users SET totp_sealed = ?, totp_step = 0 WHERE id = ? AND totp_at = 0",
	    ARGS(STR(seal(r->conf, r->mem, TOTP_PURPOSE, secret, sizeof(secret))), ID(u->id)));
	return sign_redirect(r, sign_path(r, "/account"));
}

static int
with_password(struct req *r, const struct session *session, const struct sent *s)
{
	const struct tried *t = r->made;
	const struct user *u = user_lock(r->db, session->user_id);
	bool open = sign_is_open(r, u), change = strcmp(s->action, "password") == 0;

	if (!open || !t->matches || strcmp(u->password_hash, t->user->password_hash) != 0) {
		if (open)
			sign_failed(r, u);
		return account_page(r, session, 403, change ? "password" : "codes-password", WRONG_PASSWORD);
	}
	if (u->totp_at.ms == 0)
		user_unlock(r->db, u->id);
	if (change)
		return change_password(r, session, u, t);
	if (strcmp(s->action, "codes") == 0)
		return make_codes(r, u);
	user_remove_codes(r->db, u->id);
	sign_audit(r, u, "user.codes", "{\"on\":false}");
	return done(r, "no-codes");
}

static int
confirm(struct req *r, const struct session *session, const struct sent *s)
{
	const struct user *u = user_lock(r->db, session->user_id);

	if (u == NULL || u->totp_at.ms != 0 || !sign_code_fits(r, u, s->code))
		return account_page(r, session, 403, "code",
		    N_("The code does not fit. Is the clock of your phone right?"));
	db_run(r->db, "UPDATE users SET totp_at = ? WHERE id = ?", ARGS(TIME(r->now), ID(u->id)));
	sign_audit(r, u, "user.codes", "{\"on\":true}");
	return done(r, "codes");
}

static int
end_session(struct req *r, const struct session *session, const struct sent *s)
{
	struct user u = { .id = session->user_id, .tenant_id = session->tenant_id };
	struct uuid id;

	if (s->session != NULL && uuid_parse(s->session, &id) && session_remove(r->db, u.id, id))
		sign_audit(r, &u, "user.signedOut", NULL);
	return done(r, "session");
}

static int
account_post(struct req *r)
{
	const struct sent *s = sign_sent(r);
	const struct session *session = s != NULL ? session_find(r) : NULL;
	const char *at, *wrong;

	if (s == NULL)
		return r->status;
	if (session == NULL)
		return sign_redirect(r, sign_with_target(r, "/login"));
	if (s->action != NULL && strcmp(s->action, "confirm") == 0)
		return confirm(r, session, s);
	if (s->action != NULL && strcmp(s->action, "end") == 0)
		return end_session(r, session, s);
	if (s->action == NULL || !word_in("password,codes,remove", s->action, strlen(s->action)))
		return account_page(r, session, 403, NULL, N_("This page has no such form"));
	if (strcmp(s->action, "password") == 0 && (wrong = sign_password_wrong(r, s, &at)) != NULL)
		return account_page(r, session, 403, at, wrong);
	if (r->made != NULL)
		return with_password(r, session, s);
	return sign_may_try(r) ? aside(r, try_password) : r->status;
}

const struct route account_routes[] = {
	SIGN_GET("/account", account_get, "Show the account of who is signed in"),
	SIGN_POST("/account", account_post, "Change it"),
	{ 0 }
};
