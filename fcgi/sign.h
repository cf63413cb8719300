/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pages on which people sign in and keep their account: what signin.c, invitations.c and account.c share. */
#ifndef FCGI_SIGN_H
#define FCGI_SIGN_H

#include "fcgi/page.h"
#include "fcgi/session.h"

/* Rows of route tables. */
#define SIGN_ROW(method, at, run, doc) method, "/realms/{tenantShortcode}" at, SCOPE_PUBLIC, run, NULL, NULL, doc, \
	.query = &sign_query_record, .produces = "text/html"
#define SIGN_GET(at, run, doc) { SIGN_ROW(GET, at, run, doc), .flags = AT_ROOT | NO_ENVELOPE | PAGE, .fails = "404" }
#define SIGN_POST(at, run, doc) { SIGN_ROW(POST, at, run, doc), .flags = AT_ROOT | NO_ENVELOPE | PAGE | RAW_BODY, \
	.fails = "400 403 404 429", .consumes = "application/x-www-form-urlencoded" }

/* Everything that one of the forms sends; NULL: it has no such field. */
struct sent { const char *csrf, *action, *login, *password, *code, *fresh, *again, *session; };
/* Of a POST: NULL when it is refused already, with a page; a form that is not ours too. */
const struct sent *sign_sent(struct req *);

/* The page that is being written, and what is wrong with what was sent: where it is (id of a field, or NULL) and what,
 * or NULL. */
struct sign { struct shown p; const char *at, *wrong, *token; };
void sign_open(struct sign *, struct req *, const char *title);
/* id NULL: the name */
struct input { const char *name, *label, *type, *autocomplete, *value, *hint, *id; };
/* The sentence of what is wrong, if anything is. */
void sign_wrong(struct sign *);
/* A form that posts to this path; sign_close() ends it with its button. */
void sign_form(struct sign *, const char *path);
void sign_hidden(struct sign *, const char *name, const char *value);
void sign_input(struct sign *, const struct input *);
void sign_close(struct sign *, const char *button);
int sign_send(struct sign *, int status);

/* A page of one sentence. */
int sign_say(struct req *, int status, const char *title, const char *text);
/* Goes on to a path of ours that may lead elsewhere: not by 303, which form-action would have to allow (CSP 3). */
int sign_go(struct req *, const char *title, const char *path);
/* To a page of ours, by 303. */
int sign_redirect(struct req *, const char *path);
/* "/realms/demo" and the rest. */
const char *sign_path(struct req *, const char *rest);

/* ?return= of the address, if it leads to the authorization endpoint or the account of this realm; else the account. */
struct sign_query { const char *back, *done; };
extern const struct record sign_query_record;
const char *sign_target(struct req *);
/* A path with that target. */
const char *sign_with_target(struct req *, const char *rest);

/* The user has shown a password that fits: begins a session, or asks for the code first.  In a transaction. */
int sign_enter(struct req *, const struct user *, bool has_code);
/* One more try in vain, in a transaction that has locked the user. */
void sign_failed(struct req *, const struct user *);
/* Nobody gets in while that is false, whatever is sent. */
bool sign_is_open(const struct req *, const struct user *);

/* For aside(): hashes what was sent.  A user of NULL is nobody, after the same work. */
struct tried { const struct user *user; bool matches; const char *fresh; };
/* Takes `fresh` as the new password, where that is sent and fine. */
void *sign_try(struct req *, const struct user *, const struct sent *);
/* False, and refused: this address has caused too many of them. */
bool sign_may_try(struct req *);
/* NULL: the two fit together as a new password; else what is wrong, and *at which field. */
const char *sign_password_wrong(struct req *, const struct sent *, const char **at);

/* The code that was sent fits, and is spent now. */
bool sign_code_fits(struct req *, const struct user *, const char *code);

/* data: JSON, or NULL */
void sign_audit(struct req *, const struct user *, const char *type, const char *data);

#endif
