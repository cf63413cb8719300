/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an outgoing request goes: the address taken apart, and each address of its host judged.  For web*.c, and
 * for livestreams that are sent on (core/livestream_target.c, fcgi/live/relay.c), alone. */
#ifndef CORE_WEB_TARGET_H
#define CORE_WEB_TARGET_H

#include <netdb.h>

#include "core/web.h"
#include "core/web_refusal.h"

enum { WEB_MAX_ADDRESSES = 16 };

struct web_address { int family; unsigned char b[16]; };
/* As connect() takes it; its length. */
socklen_t web_address_socket(const struct web_address *, int port, struct sockaddr_storage *);

/* All parts come from one parser, the one that connects. */
struct web_target {
	const char *url, *host, *scheme;	/* host as it is resolved, without brackets */
	int port;
	struct web_address at[WEB_MAX_ADDRESSES];
	size_t n;
};

/* Takes the URL apart.  False: it is none of these schemes (blank-separated), or there is more in it than should be. */
bool web_target_parse(struct arena *, const char *url, const char *schemes, struct web_target *);
/* The same without that library, for whoever connects by other means: of http, https, rtmp, rtmps and srt.  NULL; or
 * what is wrong with the way it is written, for whoever has written it. */
const char *web_target_read(struct arena *, const char *url, const char *schemes, struct web_target *);
/* Notes and judges what a name service has said.  One that is not global spoils all: names with two faces are a
 * trick. */
enum web_end web_target_judge(struct arena *, struct web_target *, const char *private_hosts, const struct addrinfo *);
/* Is it refused for what its host says by itself?  A name is judged when it is asked for. */
struct web_refusal web_target_refuse(struct arena *, struct web_target *, const char *private_hosts);
/* The same, and asks it: blocks. */
enum web_end web_target_resolve(struct arena *, struct web_target *, const char *private_hosts);
/* Has the administrator allowed all of its addresses? */
bool web_target_is_allowed(struct arena *, const char *private_hosts, const struct web_target *);
bool web_target_is_loopback(const struct web_target *);
/* Is it one of the addresses that were judged? */
bool web_target_has(const struct web_target *, const struct sockaddr *);
/* ASCII alone, as RFC 3986 has it, and two slashes before the host. */
bool web_target_is_clean(const char *url);
/* What the host says by itself, without asking anybody; freeaddrinfo().  NULL: it is a name. */
struct addrinfo *web_target_numeric(const char *host);
/* "host:port:address,address" for CURLOPT_RESOLVE: the library asks no name server again. */
struct curl_slist *web_target_pinned(struct arena *, const struct web_target *);

#endif
