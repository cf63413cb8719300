/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check of where outgoing requests go.  Without libcurl, which kinothek-api does not load. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/buf.h"
#include "core/text.h"
#include "core/web_target.h"

enum { MAX_URL = 8192 };

struct network { const char *text; int prefix; };

/* RFC 6890 and its registry: special-purpose blocks, of which none is a host of the internet. */
static const struct network special4[] = {
	{ "0.0.0.0", 8 }, { "10.0.0.0", 8 }, { "100.64.0.0", 10 }, { "127.0.0.0", 8 }, { "169.254.0.0", 16 },
	{ "172.16.0.0", 12 }, { "192.0.0.0", 24 }, { "192.0.2.0", 24 }, { "192.88.99.0", 24 }, { "192.168.0.0", 16 },
	{ "198.18.0.0", 15 }, { "198.51.100.0", 24 }, { "203.0.113.0", 24 }, { "224.0.0.0", 3 },
};
/* Within 2000::/3, the only block that is given out; everything else is refused. */
static const struct network special6[] = {
	{ "2001::", 23 }, { "2001:db8::", 32 }, { "2002::", 16 }, { "3fff::", 20 },
};

static bool
in_network(const struct web_address *a, int family, const unsigned char *net, int prefix)
{
	int whole = prefix / 8, rest = prefix % 8;

	if (a->family != family || memcmp(a->b, net, (size_t)whole) != 0)
		return false;
	return rest == 0 || ((a->b[whole] ^ net[whole]) >> (8 - rest)) == 0;
}

static bool
in_any(const struct web_address *a, const struct network *list, size_t n)
{
	unsigned char net[16];
	size_t i;

	for (i = 0; i < n; i++)
		if (inet_pton(a->family, list[i].text, net) == 1 && in_network(a, a->family, net, list[i].prefix))
			return true;
	return false;
}

static bool
is_global(const struct web_address *a)
{
	static const unsigned char nat64[16] = { 0, 0x64, 0xff, 0x9b };
	struct web_address inner = { .family = AF_INET };

	if (a->family == AF_INET)
		return !in_any(a, special4, sizeof(special4) / sizeof(special4[0]));
	if (in_network(a, AF_INET6, nat64, 96)) {
		memcpy(inner.b, a->b + 12, 4);
		return is_global(&inner);
	}
	return a->family == AF_INET6 && (a->b[0] & 0xe0) == 0x20 &&
	    !in_any(a, special6, sizeof(special6) / sizeof(special6[0]));
}

static bool
address_of(const struct sockaddr *from, struct web_address *out)
{
	*out = (struct web_address){ .family = from->sa_family };
	if (from->sa_family == AF_INET)
		memcpy(out->b, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	else if (from->sa_family == AF_INET6)
		memcpy(out->b, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
	else
		return false;
	return true;
}

static bool
same(const struct web_address *a, const struct web_address *b)
{
	return a->family == b->family && memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

/* A public address of this very machine leads back to us as much as 127.0.0.1 does. */
static bool
is_own(const struct web_address *a)
{
	struct ifaddrs *all, *i;
	struct web_address own;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return true;			/* what cannot be ruled out is refused */
	for (i = all; i != NULL && !found; i = i->ifa_next)
		found = i->ifa_addr != NULL && address_of(i->ifa_addr, &own) && same(a, &own);
	freeifaddrs(all);
	return found;
}

/* Does one entry of the allow-list ("host", "host:port", "address", "address/prefix", "[v6]:port") cover the target? */
static bool
entry_allows(struct arena *mem, const char *entry, const struct web_target *t, const struct web_address *a)
{
	char *host = arena_copy(mem, entry), *slash, *colon;
	struct web_address net = { .family = a->family };
	int64_t number;
	int prefix = a->family == AF_INET ? 32 : 128;

	colon = strrchr(host, ':');
	if (host[0] == '[' && (slash = strchr(host, ']')) != NULL) {
		colon = slash[1] == ':' ? slash + 1 : NULL;
		*slash = '\0';
		host++;
	} else if (colon != NULL && strchr(host, ':') != colon) {
		colon = NULL;				/* IPv6 without brackets */
	}
	if (colon != NULL) {
		if (!int_parse(colon + 1, &number) || number != t->port)
			return false;
		*colon = '\0';
	}
	if (strcasecmp(host, t->host) == 0)
		return true;
	if ((slash = strchr(host, '/')) != NULL) {
		if (!int_parse(slash + 1, &number) || number < 0 || number > prefix)
			return false;
		prefix = (int)number;
		*slash = '\0';
	}
	return inet_pton(a->family, host, net.b) == 1 && in_network(a, a->family, net.b, prefix);
}

static bool
is_allowed(struct arena *mem, const char *list, const struct web_target *t, const struct web_address *a)
{
	size_t n;

	if (list == NULL)
		return false;
	for (list += strspn(list, ", \t"); *list != '\0'; list += n + strspn(list + n, ", \t")) {
		n = strcspn(list, ", \t");
		if (entry_allows(mem, arena_copy_n(mem, list, n), t, a))
			return true;
	}
	return false;
}

/* Services that a request could be made to speak to by accident or malice. */
static bool
port_is_for_web(int port)
{
	static const int other[] = { 1433, 1521, 2049, 2375, 2379, 3306, 3389, 5432, 5900, 6000, 6379, 9042, 9200,
	    9300, 11211, 27017 };
	size_t i;

	if (port < 1024)
		return port == 80 || port == 443;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (port == other[i])
			return false;
	return true;
}

/* ASCII alone, as RFC 3986 has it: names that only look like others must come in their xn-- form.  Two slashes before
 * the host: libcurl takes one or three for them, others do not. */
bool
web_target_is_clean(const char *url)
{
	const char *host = strstr(url, "://");
	size_t n = strlen(url), i;

	for (i = 0; i < n; i++)
		if (url[i] <= ' ' || url[i] >= 0x7f || url[i] == '\\')
			return false;
	return host != NULL && host[3] != '/' && n <= MAX_URL;
}

enum web_end
web_target_judge(struct arena *mem, struct web_target *t, const char *private_hosts, const struct addrinfo *all)
{
	enum web_end end = WEB_ANSWERED;
	const struct addrinfo *i;
	struct web_address a;

	for (i = all; i != NULL && t->n < WEB_MAX_ADDRESSES; i = i->ai_next) {
		if (!address_of(i->ai_addr, &a))
			continue;
		if (!is_allowed(mem, private_hosts, t, &a) &&
		    (!is_global(&a) || is_own(&a) || !port_is_for_web(t->port)))
			end = WEB_FORBIDDEN;
		t->at[t->n++] = a;
	}
	return t->n == 0 ? WEB_UNRESOLVED : end;
}

enum web_end
web_target_resolve(struct arena *mem, struct web_target *t, const char *private_hosts)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *all;
	enum web_end end;

	if (getaddrinfo(t->host, NULL, &hints, &all) != 0)
		return WEB_UNRESOLVED;
	end = web_target_judge(mem, t, private_hosts, all);
	freeaddrinfo(all);
	return end;
}

bool
web_target_is_loopback(const struct web_target *t)
{
	static const struct network four = { "127.0.0.0", 8 }, six = { "::1", 128 };
	size_t i;

	for (i = 0; i < t->n; i++)
		if (!in_any(&t->at[i], t->at[i].family == AF_INET ? &four : &six, 1))
			return false;
	return t->n > 0;
}

bool
web_target_is_allowed(struct arena *mem, const char *private_hosts, const struct web_target *t)
{
	size_t i;

	for (i = 0; i < t->n && is_allowed(mem, private_hosts, t, &t->at[i]); i++)
		continue;
	return t->n > 0 && i == t->n;
}

socklen_t
web_address_socket(const struct web_address *a, int port, struct sockaddr_storage *out)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

	if (a->family == AF_INET) {
		memcpy(&four.sin_addr, a->b, 4);
		memcpy(out, &four, sizeof(four));
		return sizeof(four);
	}
	memcpy(&six.sin6_addr, a->b, 16);
	memcpy(out, &six, sizeof(six));
	return sizeof(six);
}

bool
web_target_has(const struct web_target *t, const struct sockaddr *to)
{
	struct web_address a;
	size_t i;

	for (i = 0; address_of(to, &a) && i < t->n; i++)
		if (same(&a, &t->at[i]))
			return true;
	return false;
}

struct addrinfo *
web_target_numeric(const char *host)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_NUMERICHOST };
	struct addrinfo *all;

	return getaddrinfo(host, NULL, &hints, &all) == 0 ? all : NULL;
}

/* "host", "[v6]", and ":port" behind either. */
static const char *
read_host(struct arena *mem, const char *text, struct web_target *t)
{
	char *host = arena_copy_n(mem, text, strcspn(text, "/?#")), *end;
	int64_t port = t->port;

	if (strchr(host, '@') != NULL)
		return "it may have no user name";
	if (strchr(host, '%') != NULL || strchr("+-", host[0]) != NULL)
		return "it names no host";
	end = host[0] == '[' ? strchr(host++, ']') : host + strcspn(host, ":");
	if (end == NULL || end == host)
		return "it names no host";
	if (*end == ']')
		*end++ = '\0';
	if (*end != ':' && *end != '\0')
		return "it names no host";
	if (*end == ':' && end[1] != '\0' && !int_parse(end + 1, &port))
		port = 0;
	*end = '\0';
	t->host = host;
	t->port = (int)port;
	return port < 1 || port > 65535 ? "its port has to be a number from 1 to 65535" : NULL;
}

const char *
web_target_read(struct arena *mem, const char *url, const char *schemes, struct web_target *t)
{
	static const struct { const char *name; int port; } known[] = {
		{ "http", 80 }, { "https", 443 }, { "rtmp", 1935 }, { "rtmps", 443 }, { "srt", 0 },
	};
	const size_t n = strcspn(url, ":"), all = sizeof(known) / sizeof(known[0]);
	size_t i;

	for (i = 0; i < all && (strlen(known[i].name) != n || strncasecmp(url, known[i].name, n) != 0); i++)
		continue;
	if (i == all || !word_in(schemes, known[i].name, n))
		return arena_printf(mem, "its scheme has to be one of these: %s", schemes);
	if (strncmp(url + n, "://", 3) != 0 || url[n + 3] == '/')
		return "two slashes and a host have to follow its scheme";
	if (!web_target_is_clean(url))
		return "it may hold visible characters of ASCII alone, without backslashes";
	*t = (struct web_target){ .url = url, .scheme = known[i].name, .port = known[i].port };
	return read_host(mem, url + n + 3, t);
}

struct web_refusal
web_target_refuse(struct arena *mem, struct web_target *t, const char *private_hosts)
{
	struct addrinfo *all = web_target_numeric(t->host);
	struct web_refusal no = { .why = NULL };

	if (all == NULL)
		return no;
	if (web_target_judge(mem, t, private_hosts, all) != WEB_ANSWERED)
		no = (struct web_refusal){ "it has to lead to a public server, and no port of another service", true };
	freeaddrinfo(all);
	return no;
}

struct web_refusal
web_refuse(struct arena *mem, const char *url, const char *private_hosts, bool secure)
{
	struct web_refusal no = { .why = NULL };
	struct web_target t;

	no.why = web_target_read(mem, url, "http https", &t);
	if (no.why == NULL)
		no = web_target_refuse(mem, &t, private_hosts);
	if (no.why == NULL && secure && strcmp(t.scheme, "https") != 0 && (t.n > 0 ? !web_target_is_allowed(mem,
	    private_hosts, &t) : private_hosts == NULL))
		no.why = "it has to begin with https://";
	return no;
}
