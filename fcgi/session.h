/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who is signed in, in the browser that asks: by a cookie of the realm, which no other path, script or site sees.
 * Routes below /realms/{tenantShortcode} alone use it, and r->word[0] is that shortcode; the interface takes tokens and
 * looks at no cookie.
 *
 * Forms that change something carry form_token(), which nobody else's page can know, and are refused by form_is_ours()
 * when they come from another site.
 */
#ifndef FCGI_SESSION_H
#define FCGI_SESSION_H

#include "core/user.h"
#include "fcgi/req.h"

/* Of the realm that the path names.  NULL: nobody is signed in, or a session has ended: by time, by sign-out, because
 * the user was disabled or the password set.  One that still waits for the second factor is nobody. */
const struct session *session_find(struct req *);
/* That one. */
const struct session *session_pending(struct req *);

/* Begins one, and sets the cookie; the one before ends.  In a transaction. */
void session_begin(struct req *, const struct session_start *);
/* Ends it, and takes the cookie back. */
void session_end(struct req *);

/* The shortcode of the path if there is such a tenant, and its tokens are made here; else NULL. */
const char *session_realm(struct req *);

/* For a hidden field of the form; sets the cookie that it belongs to.  Call it before the page is sent. */
const char *form_token(struct req *);
/* Is it of this browser, from a page of ours? */
bool form_is_ours(struct req *, const char *token);

/* A cookie of the request, or NULL. */
const char *cookie_find(struct req *, const char *name);

#endif
