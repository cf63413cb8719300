/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who proves who it is, how often it may try, and what is noted of it. */
#include <string.h>

#include "core/audit.h"
#include "core/channel.h"
#include "core/password.h"
#include "core/seal.h"
#include "core/totp.h"
#include "core/tries.h"
#include "fcgi/sign.h"

/* A name that no client of the token endpoint has. */
static const char hashing[] = "password";

void
sign_audit(struct req *r, const struct user *u, const char *type, const char *data)
{
	const char *address = r->client != NULL ? r->client : "";

	audit_add(r->db, &(struct audited){ u->tenant_id, u->id, u->id, address, type, data });
}

bool
sign_may_try(struct req *r)
{
	const char *address = r->client != NULL ? r->client : "";
	int64_t wait = tries_wait(address, hashing, r->now.ms);

	if (wait == 0) {
		tries_failed(address, hashing, r->now.ms);
		return true;
	}
	r->refused = true;
	r->retry_after = (int)wait;
	sign_say(r, 429, N_("Too many tries"),
	    arena_printf(r->mem, say(r, "Wait %d seconds, then try again."), (int)wait));
	return false;
}

void *
sign_try(struct req *r, const struct user *u, const struct sent *s)
{
	struct tried *t = NEW(r->mem, struct tried);
	const char *at;

	t->user = u;
	t->matches = s->password != NULL &&
	    password_matches(r->mem, u != NULL ? u->password_hash : NULL, s->password);
	if (s->fresh != NULL && sign_password_wrong(r, s, &at) == NULL)
		t->fresh = password_hash(r->mem, s->fresh);
	return db_failure(r->db) == DB_FINE ? t : NULL;
}

bool
sign_is_open(const struct req *r, const struct user *u)
{
	return u != NULL && u->disabled_at.ms == 0 && u->password_hash != NULL && u->locked_until.ms <= r->now.ms;
}

void
sign_failed(struct req *r, const struct user *u)
{
	if (user_failed(r->db, u))
		sign_audit(r, u, "user.locked", NULL);
}

const char *
sign_password_wrong(struct req *r, const struct sent *s, const char **at)
{
	*at = "fresh";
	switch (s->fresh != NULL ? password_check(r->mem, s->fresh) : PASSWORD_SHORT) {
	case PASSWORD_SHORT:
		return arena_printf(r->mem, say(r, "The new password needs at least %d characters"), PASSWORD_MIN);
	case PASSWORD_LONG:
		return arena_printf(r->mem, say(r, "The new password may have at most %d bytes"), PASSWORD_MAX);
	case PASSWORD_NOT_TEXT:
		return N_("The new password is no text");
	case PASSWORD_FINE:
		break;
	}
	*at = "again";
	return s->again == NULL || strcmp(s->fresh, s->again) != 0 ? N_("The two new passwords differ") : NULL;
}

int
sign_enter(struct req *r, const struct user *u, bool has_code)
{
	bool pending = u->totp_at.ms != 0 && !has_code;
	struct session_start start = { u->id, pending, has_code, r->client != NULL ? r->client : "", r->user_agent };

	session_begin(r, &start);
	if (pending)
		return sign_redirect(r, sign_with_target(r, "/login/code"));
	user_unlock(r->db, u->id);
	sign_audit(r, u, "user.signedIn", NULL);
	channel_of_user(r->db, u->tenant_id, u->id, start.address);
	return sign_go(r, N_("You are signed in"), sign_target(r));
}

/* Blanks are how apps show a code. */
bool
sign_code_fits(struct req *r, const struct user *u, const char *code)
{
	unsigned char *secret;
	long n = u->totp_sealed != NULL ? unseal(r->conf, r->mem, TOTP_PURPOSE, u->totp_sealed, &secret) : -1;
	char plain[16];
	size_t i = 0;
	int64_t step;

	for (; code != NULL && *code != '\0' && i < sizeof(plain) - 1; code++)
		if (*code != ' ')
			plain[i++] = *code;
	plain[i] = '\0';
	step = n > 0 ? totp_match(r->mem, secret, (size_t)n, plain, r->now.ms, u->totp_step) : -1;
	return step > 0 && db_run(r->db, "UPDATE users SET totp_step = ? WHERE id = ? AND totp_step < ?",
	    ARGS(INT(step), ID(u->id), INT(step))) == 1;
}
