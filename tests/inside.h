/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spellings of addresses that no stranger may send us to, as the host of a URL: loopback, private and link-local ones,
 * the metadata service of clouds, and what else is no host of the internet.  One list for all that goes out; programs
 * of tests/e2e read it from here (inside_hosts in lib.sh), one between each pair of quotes.
 */
#ifndef TESTS_INSIDE_H
#define TESTS_INSIDE_H

#include <stdbool.h>
#include <string.h>

#define INSIDE_HOSTS \
	"localhost", "LOCALHOST", "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1", \
	"0177.0.0.1", "017700000001", "0", "0.0.0.0", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", \
	"[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", \
	"[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]", "[fe80::1]", "[fe80::1%25lo]", "[fd00::1]", "[fc00::1]", "[ff02::1]", \
	"[100::1]", "[3fff::1]", "[5f00::1]", "169.254.169.254", "10.0.0.1", "10.255.255.255", "172.16.0.1", \
	"172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", \
	"198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"

/* What a name service has to be asked for, by whoever connects. */
static inline bool
inside_is_name(const char *host)
{
	return host[0] != '[' && host[strspn(host, "0123456789abcdefx.")] != '\0';
}

/* What is wrong with a URL of that host when it is taken: where it leads, or that it is none as others write it. */
static inline const char *
inside_code(const char *host)
{
	return strchr(host, '%') != NULL ? "format" : "address_forbidden";
}

#endif
