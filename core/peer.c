/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caller's address behind trusted proxies. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/peer.h"
#include "core/text.h"

struct address { unsigned char b[16]; };	/* IPv4 as ::ffff:a.b.c.d */

static bool
address_parse(const char *text, size_t n, struct address *a)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char copy[INET6_ADDRSTRLEN];

	if (n == 0 || n >= sizeof copy)
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (inet_pton(AF_INET6, copy, a->b) == 1)
		return true;
	memcpy(a->b, mapped, sizeof mapped);
	return inet_pton(AF_INET, copy, a->b + 12) == 1;
}

static bool
in_network(const struct address *a, const struct address *network, int64_t bits)
{
	int64_t whole = bits / 8, rest = bits % 8;

	if (memcmp(a->b, network->b, (size_t)whole))
		return false;
	return !rest || !((a->b[whole] ^ network->b[whole]) >> (8 - rest));
}

static bool
is_loopback(const struct address *a)
{
	static const struct address v6 = { { [15] = 1 } };
	static const struct address v4 = { { [10] = 0xff, [11] = 0xff, [12] = 127 } };

	return in_network(a, &v6, 128) || in_network(a, &v4, 104);
}

/* One item of the list: an address or a network. */
static bool
item_covers(const char *item, size_t n, const struct address *a)
{
	const char *slash = memchr(item, '/', n);
	size_t length = slash ? (size_t)(slash - item) : n;
	struct address network;
	int64_t bits = 128;
	char digits[4] = "";

	if (!address_parse(item, length, &network))
		return false;
	if (slash && n - length - 1 < sizeof digits) {
		memcpy(digits, slash + 1, n - length - 1);
		if (!int_parse(digits, &bits))
			return false;
		if (!memchr(item, ':', length))
			bits += 96;
	}
	return bits >= 0 && bits <= 128 && in_network(a, &network, bits);
}

static bool
is_trusted(const char *list, const struct address *a)
{
	size_t n;

	for (; list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (item_covers(list, n, a))
			return true;
	}
	return false;
}

/* The last item of a comma-separated header, without blanks; *n becomes what is in front of it. */
static const char *
last_item(const char *text, size_t *n, size_t *length)
{
	size_t start, end = *n;

	while (end && strchr(" \t", text[end - 1]))
		end--;
	for (start = end; start && text[start - 1] != ','; start--)
		;
	*n = start ? start - 1 : 0;
	while (start < end && strchr(" \t", text[start]))
		start++;
	*length = end - start;
	return text + start;
}

/* Walks back from the nearest proxy to the first address that is not one of ours. */
static void
walk_back(struct arena *mem, const char *trusted, const char *chain, struct peer *p, struct address *a)
{
	size_t n = strlen(chain), length;
	const char *item;

	while (n && is_trusted(trusted, a)) {
		item = last_item(chain, &n, &length);
		/* "unknown": then it is nobody we know, least of all ourselves */
		if (!address_parse(item, length, a)) {
			p->address = "";
			memset(a, 0, sizeof *a);
			return;
		}
		p->address = arena_copy_n(mem, item, length);
	}
}

void
peer_network(const char *address, char out[PEER_NETWORK])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct address a;

	if (!address_parse(address, strlen(address), &a)) {
		snprintf(out, PEER_NETWORK, "%.40s", address);
	} else if (memcmp(a.b, mapped, sizeof(mapped)) == 0) {
		inet_ntop(AF_INET, a.b + 12, out, PEER_NETWORK);
	} else {
		memset(a.b + 8, 0, 8);
		inet_ntop(AF_INET6, a.b, out, PEER_NETWORK);
	}
}

struct peer
peer_find(struct arena *mem, const char *trusted, const char *remote_addr, const char *https,
    const char *forwarded_for, const char *forwarded_proto)
{
	struct peer p = { .address = remote_addr ? remote_addr : "" };
	struct address a;
	const char *proto;
	size_t n, length;

	p.https = https && (!strcasecmp(https, "on") || !strcmp(https, "1"));
	if (!address_parse(p.address, strlen(p.address), &a))
		return p;
	if (is_trusted(trusted, &a)) {
		if (forwarded_proto) {
			n = strlen(forwarded_proto);
			proto = last_item(forwarded_proto, &n, &length);
			p.https = length == 5 && !strncasecmp(proto, "https", 5);
		}
		if (forwarded_for)
			walk_back(mem, trusted, forwarded_for, &p, &a);
	}
	p.loopback = is_loopback(&a) && (forwarded_for || !forwarded_proto || !is_trusted(trusted, &a));
	return p;
}
