/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is calling, and was it by HTTPS: what forwarding headers say counts only when a trusted proxy sent them. */
#ifndef CORE_PEER_H
#define CORE_PEER_H

#include <stdbool.h>

#include "core/arena.h"

struct peer {
	const char *address;	/* never NULL; "" when unknown */
	bool https, loopback;
};

/* All texts as the web server gave them, NULL where there is none.  `trusted` is conf.trusted_proxies. */
struct peer peer_find(struct arena *, const char *trusted, const char *remote_addr, const char *https,
    const char *forwarded_for, const char *forwarded_proto);

enum { PEER_NETWORK = 46 };

/* Whom an address stands for: itself, or of IPv6 the network of 64 bits, all of which is one customer's.  What is no
 * address stays as it is. */
void peer_network(const char *address, char out[PEER_NETWORK]);

#endif
