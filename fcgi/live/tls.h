/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TLS in front of a connection of an encoder.  The certificate is looked at again whenever its files are others: who is
 * connected goes on with the one before, and so does everybody when the new one cannot be used.
 */
#ifndef FCGI_LIVE_TLS_H
#define FCGI_LIVE_TLS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "core/conf.h"

struct tls;		/* of the program */
struct tls_line;	/* of one connection */

/* Memory of its own. */
struct tls *tls_open(const struct conf *);
void tls_close(struct tls *);

/* Reads the certificate if its files have changed since, or whatever they are. */
void tls_look(struct tls *, bool whatever);

/* NULL: there is no certificate. */
struct tls_line *tls_line(struct tls *, int fd);
/* The other side: to a server that proves to be that host, by an authority that the machine trusts. */
struct tls_line *tls_call(int fd, const char *host);
void tls_hang_up(struct tls_line *);

/* As recv() and send() that do not wait.  -1 with EAGAIN: not now, maybe since something is to be sent first.  -1
 * otherwise: over, and tls_fault() says why if the client was to blame, else NULL. */
ssize_t tls_take(struct tls_line *, void *bytes, size_t n);
ssize_t tls_send(struct tls_line *, const void *bytes, size_t n);
bool tls_wants_to_send(const struct tls_line *);
const char *tls_fault(const struct tls_line *);

#endif
