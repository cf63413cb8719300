/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /realms/{tenantShortcode}/invitations/{token}: who has the address sets the first password, or a new one */
#include "fcgi/sign.h"

static const struct user *
invited(struct req *r)
{
	return session_realm(r) == NULL ? NULL : invitation_find(r->db, r->word[0], r->word[1]);
}

static int
no_invitation(struct req *r)
{
	r->refused = true;
	return sign_say(r, 404, N_("This invitation is no longer good"),
	    N_("It was used already, or is too old. Ask whoever sent it to you for a new one."));
}

static int
invitation_page(struct req *r, const struct user *u, int status, const char *at, const char *wrong)
{
	struct sign s = { .at = at, .wrong = wrong };

	sign_open(&s, r, N_("Choose a password"));
	sign_form(&s, sign_path(r, arena_printf(r->mem, "/invitations/%s", percent_encode(r->mem, r->word[1]))));
	/* So that the browser keeps both together. */
	sign_input(&s, &(struct input){ "login", N_("Your name here"), "text", "username", u->login, NULL, NULL });
	sign_input(&s, &(struct input){ "fresh", N_("Password"), "password", "new-password", NULL,
	    N_("At least 8 characters"), NULL });
	sign_input(&s, &(struct input){ "again", N_("The same once more"), "password", "new-password", NULL, NULL,
	    NULL });
	sign_close(&s, N_("Set the password"));
	return sign_send(&s, status);
}

static int
invitation_get(struct req *r)
{
	const struct user *u = invited(r);

	return u == NULL ? no_invitation(r) : invitation_page(r, u, 200, NULL, NULL);
}

static void *
hash_password(struct req *r)
{
	const struct sent *s = sign_sent(r);

	return s == NULL ? NULL : sign_try(r, NULL, s);
}

static int
set_password(struct req *r, struct uuid id, const struct tried *t)
{
	const struct user *u = user_lock(r->db, id);
	struct uuid none = { { 0 } };

	if (u == NULL || u->disabled_at.ms != 0 || !invitation_use(r->db, r->word[1]))
		return no_invitation(r);
	user_set_password(r->db, id, t->fresh, none);
	sign_audit(r, u, "user.password", NULL);
	return sign_enter(r, u, false);
}

static int
invitation_post(struct req *r)
{
	const struct sent *s = sign_sent(r);
	const struct user *u = s != NULL ? invited(r) : NULL;
	const char *at, *wrong;

	if (s == NULL)
		return r->status;
	if (u == NULL)
		return no_invitation(r);
	if ((wrong = sign_password_wrong(r, s, &at)) != NULL)
		return invitation_page(r, u, 403, at, wrong);
	if (r->made != NULL)
		return set_password(r, u->id, r->made);
	return sign_may_try(r) ? aside(r, hash_password) : r->status;
}

const struct route invitations_routes[] = {
	SIGN_GET("/invitations/{token}", invitation_get, "Ask for the first password"),
	SIGN_POST("/invitations/{token}", invitation_post, "Set the first password"),
	{ 0 }
};
