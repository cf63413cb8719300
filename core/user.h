/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * People with a password of this server: accounts, sessions, invitations, as rows.  A user is a principal of kind
 * 'user'; nothing here decides what it may do.  Names are found by their key (NFKC, case folded), so that no two
 * accounts of a tenant differ by case or by forms of the same letters alone.
 *
 * Secrets of sessions and invitations are random and kept as SHA-256.
 */
#ifndef CORE_USER_H
#define CORE_USER_H

#include "core/db.h"

enum {
	SESSION_IDLE_MS = 2 * 3600 * 1000,	/* without a request of the browser */
	SESSION_MS = 12 * 3600 * 1000,		/* at the longest */
	SESSION_PENDING_MS = 5 * 60 * 1000,	/* for the code of the second factor */
	SESSIONS_MAX = 50,			/* of a user; the oldest go */
	INVITATION_MS = 7 * 24 * 3600 * 1000,
	TRIES_UNTIL_LOCKED = 5,
};

struct user {
	struct uuid id, tenant_id;
	const char *shortcode;			/* of the tenant */
	const char *login, *name, *email;	/* email may be NULL */
	bool is_super_admin;
	const char *password_hash;		/* NULL: none is set, nobody can sign in */
	const char *totp_sealed;		/* NULL: none */
	struct moment totp_at;			/* 0: not confirmed, no code is asked for */
	int64_t totp_step, failed_tries;
	struct moment locked_until, disabled_at, created_at;
};
extern const struct record user_record;

/* What a login name is found by.  NULL: it is none, 1 to 255 characters of UTF-8 without blanks and controls. */
const char *user_key(struct arena *, const char *login);

/* NULL: not there.  Disabled and locked ones are. */
const struct user *user_by_login(struct db *, const char *shortcode, const char *login);
const struct user *user_by_id(struct db *, struct uuid id);
/* In a transaction: the row is the caller's until its end. */
const struct user *user_lock(struct db *, struct uuid id);

/* A principal of kind user alone: id, tenant_id, name, is_super_admin are taken.  Who signs in elsewhere has no
 * account. */
void user_principal(struct db *, const struct user *);

/* A new account, without password, and its principal: id, tenant_id, login, name, email, is_super_admin are taken.
 * False: the name is taken or none at all. */
bool user_add(struct db *, const struct user *);

/* Ends all sessions but `kept` (none: all), and takes back invitations. */
void user_set_password(struct db *, struct uuid id, const char *hash, struct uuid kept);
/* False: there is no such user.  Its sessions, invitations and authorizations end with it, and are not there again when
 * it is enabled. */
bool user_set_disabled(struct db *, struct uuid id, bool disabled);
/* One more wrong try.  True: the account is locked by it, for twice as long each time, 15 minutes at most. */
bool user_failed(struct db *, const struct user *);
void user_unlock(struct db *, struct uuid id);
/* No second factor any more. */
void user_remove_codes(struct db *, struct uuid id);

/* The address's secret; earlier invitations of the user are void. */
const char *invitation_add(struct db *, struct uuid user_id);
/* The address that it opens. */
const char *invitation_url(struct arena *, const char *public_url, const char *shortcode, const char *token);
/* When it ends; 0: there is none. */
struct moment invitation_end(struct db *, const char *token);
/* Whom it invites; NULL: used, expired, of another tenant, never there, or the user is disabled. */
const struct user *invitation_find(struct db *, const char *shortcode, const char *token);
/* A mail server has taken it for the address of its user. */
void invitation_mailed(struct db *, const char *token);
/* It is used now.  False: it was, or has ended.  Of one that was mailed it is proved that the user reads there. */
bool invitation_use(struct db *, const char *token);

struct session {
	struct uuid id, user_id, tenant_id;
	const char *login, *name, *email;
	bool is_super_admin, is_pending, has_code;
	const char *address, *agent;
	struct moment created_at, used_at, expires_at;	/* created_at: when the user proved who it is */
};
extern const struct record session_record;

/* The cookie's secret. */
struct session_start { struct uuid user_id; bool is_pending, has_code; const char *address, *agent; };
const char *session_add(struct db *, const struct session_start *, struct uuid *id);
/* One that has not ended, of a user of that tenant who is not disabled; pending ones too.  Notes the use. */
const struct session *session_by_token(struct db *, const char *shortcode, const char *token);
/* All of a user that have not ended, newest first. */
const struct session *session_list(struct db *, struct uuid user_id, size_t *n);
/* False: the user has no such session. */
bool session_remove(struct db *, struct uuid user_id, struct uuid id);

#endif
