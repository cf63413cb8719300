/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /realms/{tenantShortcode}/login and sign-out: name and password, then the code of the second factor */
#include <string.h>

#include "fcgi/sign.h"

/* The same for a name that nobody has, a wrong password, and an account that waits or is disabled. */
#define WRONG_PASSWORD N_("Name and password do not fit. After several tries in vain an account waits for some minutes.")
#define WRONG_CODE N_("The code does not fit. Wait for the next one; after several tries in vain an account waits for some minutes.")

static int
login_page(struct req *r, int status, const char *login, const char *wrong)
{
	struct sign s = { .at = wrong != NULL ? "login" : NULL, .wrong = wrong };

	sign_open(&s, r, N_("Sign in"));
	sign_form(&s, sign_with_target(r, "/login"));
	sign_input(&s, &(struct input){ "login", N_("Name"), "text", "username", login, NULL });
	sign_input(&s, &(struct input){ "password", N_("Password"), "password", "current-password", NULL, NULL });
	sign_close(&s, N_("Sign in"));
	return sign_send(&s, status);
}

static int
login_get(struct req *r)
{
	return session_realm(r) == NULL ? refuse(r, ERR_NOT_FOUND, NULL) : login_page(r, 200, NULL, NULL);
}

static void *
try_login(struct req *r)
{
	const struct sent *s = sign_sent(r);

	return s == NULL ? NULL : sign_try(r, user_by_login(r->db, r->word[0], s->login), s);
}

/* Of several tries at once each sees those before, since the row is locked; a password that was changed meanwhile does
 * not fit any more. */
static int
login_tried(struct req *r, const struct sent *s, const struct tried *t)
{
	const struct user *u = t->user != NULL ? user_lock(r->db, t->user->id) : NULL;
	bool open = sign_is_open(r, u);

	if (open && t->matches && strcmp(u->password_hash, t->user->password_hash) == 0)
		return sign_enter(r, u, false);
	if (open)
		sign_failed(r, u);
	return login_page(r, 403, s->login, WRONG_PASSWORD);
}

static int
login_post(struct req *r)
{
	const struct sent *s = sign_sent(r);

	if (s == NULL)
		return r->status;
	if (s->login == NULL || s->password == NULL)
		return login_page(r, 403, s->login, WRONG_PASSWORD);
	if (r->made != NULL)
		return login_tried(r, s, r->made);
	return sign_may_try(r) ? aside(r, try_login) : r->status;
}

static int
code_page(struct req *r, int status, const char *wrong)
{
	struct sign s = { .at = wrong != NULL ? "code" : NULL, .wrong = wrong };

	sign_open(&s, r, N_("Second step"));
	sign_form(&s, sign_with_target(r, "/login/code"));
	sign_input(&s, &(struct input){ "code", N_("Code of your app"), "text", "one-time-code", NULL,
	    N_("Six digits") });
	sign_close(&s, N_("Go on"));
	return sign_send(&s, status);
}

static int
code_get(struct req *r)
{
	if (session_realm(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	return session_pending(r) == NULL ? sign_redirect(r, sign_with_target(r, "/login")) : code_page(r, 200, NULL);
}

static int
code_post(struct req *r)
{
	const struct sent *s = sign_sent(r);
	const struct session *pending = s != NULL ? session_pending(r) : NULL;
	const struct user *u = pending != NULL ? user_lock(r->db, pending->user_id) : NULL;

	if (s == NULL)
		return r->status;
	if (pending == NULL)
		return sign_redirect(r, sign_with_target(r, "/login"));
	if (sign_is_open(r, u) && sign_code_fits(r, u, s->code))
		return sign_enter(r, u, true);
	if (sign_is_open(r, u))
		sign_failed(r, u);
	return code_page(r, 403, WRONG_CODE);
}

static int
sign_out_get(struct req *r)
{
	struct sign s = { .at = NULL };

	if (session_realm(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (session_find(r) == NULL)
		return sign_say(r, 200, N_("You are signed out"), N_("Close the browser if others use it, too."));
	sign_open(&s, r, N_("Sign out"));
	sign_form(&s, sign_path(r, "/sign-out"));
	sign_close(&s, N_("Sign out"));
	return sign_send(&s, 200);
}

static int
sign_out_post(struct req *r)
{
	const struct session *session;

	if (sign_sent(r) == NULL)
		return r->status;
	session = session_find(r);
	if (session != NULL)
		sign_audit(r, &(struct user){ .id = session->user_id, .tenant_id = session->tenant_id },
		    "user.signedOut", NULL);
	session_end(r);
	return sign_redirect(r, sign_path(r, "/sign-out"));
}

const struct route signin_routes[] = {
	SIGN_GET("/login", login_get, "Ask for name and password"),
	SIGN_POST("/login", login_post, "Sign in"),
	SIGN_GET("/login/code", code_get, "Ask for the code of the second factor"),
	SIGN_POST("/login/code", code_post, "Sign in with the code"),
	SIGN_GET("/sign-out", sign_out_get, "Ask whether to sign out"),
	SIGN_POST("/sign-out", sign_out_post, "Sign out"),
	{ 0 }
};
