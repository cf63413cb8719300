/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the token server share: realms.c, tokens.c, authorize.c, logout.c. */
#ifndef FCGI_REALMS_H
#define FCGI_REALMS_H

#include "core/client.h"
#include "fcgi/req.h"

#define REALM "/realms/{tenantShortcode}"
#define PROTOCOL REALM "/protocol/openid-connect"

/* Refuses where session_realm() finds none. */
int realm_unknown(struct req *);
/* What its tokens call `iss`. */
const char *realm_issuer(struct req *);
/* 200 without envelope. */
int realm_answer(struct req *, const struct record *, const void *row);

#endif
