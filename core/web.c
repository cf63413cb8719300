/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outgoing HTTP with libcurl, and the check of where it goes. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/buf.h"
#include "core/text.h"
#include "core/web.h"

enum { MAX_ADDRESSES = 16, MAX_URL = 8192, CONNECT_SECONDS = 10 };

struct address { int family; unsigned char b[16]; };

/* Where a call goes: all parts come from one parser, the one that connects. */
struct target {
	const char *url, *host, *scheme;	/* host as it is resolved, without brackets */
	int port;
	struct address at[MAX_ADDRESSES];
	size_t n;
};

struct transfer {
	struct web_call *call;
	struct target *target;
	struct buf body;
	size_t max;
	bool too_large;
};

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
in_network(const struct address *a, int family, const unsigned char *net, int prefix)
{
	int whole = prefix / 8, rest = prefix % 8;

	if (a->family != family || memcmp(a->b, net, (size_t)whole) != 0)
		return false;
	return rest == 0 || ((a->b[whole] ^ net[whole]) >> (8 - rest)) == 0;
}

static bool
in_any(const struct address *a, const struct network *list, size_t n)
{
	unsigned char net[16];
	size_t i;

	for (i = 0; i < n; i++)
		if (inet_pton(a->family, list[i].text, net) == 1 && in_network(a, a->family, net, list[i].prefix))
			return true;
	return false;
}

static bool
is_global(const struct address *a)
{
	static const unsigned char nat64[16] = { 0, 0x64, 0xff, 0x9b };
	struct address inner = { .family = AF_INET };

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
address_of(const struct sockaddr *from, struct address *out)
{
	*out = (struct address){ .family = from->sa_family };
	if (from->sa_family == AF_INET)
		memcpy(out->b, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	else if (from->sa_family == AF_INET6)
		memcpy(out->b, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
	else
		return false;
	return true;
}

static bool
same(const struct address *a, const struct address *b)
{
	return a->family == b->family && memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

/* A public address of this very machine leads back to us as much as 127.0.0.1 does. */
static bool
is_own(const struct address *a)
{
	struct ifaddrs *all, *i;
	struct address own;
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
entry_allows(struct arena *mem, const char *entry, const struct target *t, const struct address *a)
{
	char *host = arena_copy(mem, entry), *slash, *colon;
	struct address net = { .family = a->family };
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
is_allowed(struct arena *mem, const char *list, const struct target *t, const struct address *a)
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

static const char *
url_part(struct arena *mem, CURLU *u, CURLUPart part, unsigned flags)
{
	char *text = NULL;
	const char *copy;

	if (curl_url_get(u, part, &text, flags) != CURLUE_OK)
		return NULL;
	copy = arena_copy(mem, text);
	curl_free(text);
	return copy;
}

/* ASCII alone, as RFC 3986 has it: names that only look like others must come in their xn-- form. */
static bool
url_is_clean(const char *url)
{
	size_t n = strlen(url), i;

	for (i = 0; i < n; i++)
		if (url[i] <= ' ' || url[i] >= 0x7f || url[i] == '\\')
			return false;
	return n > 0 && n <= MAX_URL;
}

/* Takes the URL apart. */
static bool
target_parse(struct arena *mem, const char *url, struct target *t)
{
	CURLU *u = curl_url();
	const char *port;
	char *host;
	bool fine = u != NULL && url_is_clean(url) && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK;

	*t = (struct target){ .url = url };
	if (fine) {
		t->scheme = url_part(mem, u, CURLUPART_SCHEME, 0);
		port = url_part(mem, u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
		t->port = port == NULL ? 0 : atoi(port);
		t->host = host = arena_copy(mem, url_part(mem, u, CURLUPART_HOST, 0));
		fine = t->scheme != NULL && host != NULL && host[0] != '\0' && t->port > 0 && t->port < 65536 &&
		    (strcmp(t->scheme, "http") == 0 || strcmp(t->scheme, "https") == 0) &&
		    url_part(mem, u, CURLUPART_USER, 0) == NULL && url_part(mem, u, CURLUPART_PASSWORD, 0) == NULL &&
		    strchr(host, '%') == NULL;
		if (fine && host[0] == '[') {
			host[strlen(host) - 1] = '\0';
			t->host = host + 1;
		}
	}
	curl_url_cleanup(u);
	return fine;
}

/* Finds and judges the addresses.  One that is not global spoils all: names with two faces are a trick. */
static enum web_end
target_resolve(struct arena *mem, struct target *t, const char *private_hosts)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *all, *i;
	enum web_end end = WEB_ANSWERED;
	struct address a;

	if (getaddrinfo(t->host, NULL, &hints, &all) != 0)
		return WEB_UNRESOLVED;
	for (i = all; i != NULL && t->n < MAX_ADDRESSES; i = i->ai_next) {
		if (!address_of(i->ai_addr, &a))
			continue;
		if (!is_allowed(mem, private_hosts, t, &a) &&
		    (!is_global(&a) || is_own(&a) || !port_is_for_web(t->port)))
			end = WEB_FORBIDDEN;
		t->at[t->n++] = a;
	}
	freeaddrinfo(all);
	return t->n == 0 ? WEB_UNRESOLVED : end;
}

static size_t
on_body(char *bytes, size_t size, size_t n, void *user)
{
	struct transfer *t = user;

	t->too_large = t->body.len + size * n > t->max;
	if (t->too_large)
		return 0;
	buf_add(&t->body, bytes, size * n);
	return size * n;
}

/* The last word: whatever name service or library did in between, only a checked address is connected to. */
static curl_socket_t
on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
	const struct target *t = user;
	struct address a;
	size_t i;

	if (purpose != CURLSOCKTYPE_IPCXN || !address_of(&to->addr, &a))
		return CURL_SOCKET_BAD;
	for (i = 0; i < t->n; i++)
		if (same(&a, &t->at[i]))
			return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	return CURL_SOCKET_BAD;
}

static int
on_progress(void *user, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
	const struct web_call *call = user;

	if (call->alive != NULL)
		call->alive(call->user);
	return 0;
}

/* "host:port:address,address": the library asks no name server again. */
static struct curl_slist *
pinned(struct arena *mem, const struct target *t)
{
	struct buf line = BUF(mem);
	char text[INET6_ADDRSTRLEN];
	size_t i;

	buf_printf(&line, "%s:%d:", t->host, t->port);
	for (i = 0; i < t->n; i++)
		buf_printf(&line, t->at[i].family == AF_INET6 ? "%s[%s]" : "%s%s", i > 0 ? "," : "",
		    inet_ntop(t->at[i].family, t->at[i].b, text, sizeof(text)));
	return curl_slist_append(NULL, buf_string(&line));
}

static struct curl_slist *
header_list(const char *const *headers)
{
	/* Without this, larger bodies wait a second for a "100 Continue" that many servers never send. */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	for (; headers != NULL && *headers != NULL; headers++)
		list = curl_slist_append(list, *headers);
	return list;
}

static void
set_body(CURL *c, const struct web_call *call, curl_mime **mime)
{
	const struct web_part *p;
	curl_mimepart *part;

	if (call->parts != NULL) {
		*mime = curl_mime_init(c);
		for (p = call->parts; p->name != NULL; p++) {
			part = curl_mime_addpart(*mime);
			curl_mime_name(part, p->name);
			curl_mime_data(part, p->text != NULL ? p->text : p->bytes,
			    p->text != NULL ? CURL_ZERO_TERMINATED : p->n);
			if (p->file_name != NULL)
				curl_mime_filename(part, p->file_name);
			if (p->type != NULL)
				curl_mime_type(part, p->type);
		}
		curl_easy_setopt(c, CURLOPT_MIMEPOST, *mime);
	} else if (call->body != NULL) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, call->body);
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_size);
	}
	if (call->method != NULL && strcmp(call->method, "HEAD") == 0)
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	else if (call->method != NULL)
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
}

static void
set_limits(CURL *c, struct transfer *t)
{
	struct web_call *call = t->call;

	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)(call->timeout > 0 ? call->timeout : 30));
	curl_easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->max);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t->target);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, call);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "Kinothek");
	if (call->any_certificate) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
		curl_easy_setopt(c, CURLOPT_CERTINFO, 1L);
	}
}

static enum web_end
end_of(CURLcode code, const struct transfer *t)
{
	if (t->too_large || code == CURLE_FILESIZE_EXCEEDED)
		return WEB_TOO_LARGE;
	switch (code) {
	case CURLE_OK: return WEB_ANSWERED;
	case CURLE_COULDNT_RESOLVE_HOST: return WEB_UNRESOLVED;
	case CURLE_COULDNT_CONNECT: return WEB_UNREACHABLE;
	case CURLE_OPERATION_TIMEDOUT: return WEB_TIMEOUT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER: return WEB_TLS;
	default: return WEB_BROKEN;
	}
}

/* Of the server itself, which comes first. */
static const char *
certificate_of(struct arena *mem, CURL *c)
{
	struct curl_certinfo *info = NULL;
	const struct curl_slist *line;

	if (curl_easy_getinfo(c, CURLINFO_CERTINFO, &info) != CURLE_OK || info == NULL || info->num_of_certs < 1)
		return NULL;
	for (line = info->certinfo[0]; line != NULL; line = line->next)
		if (strncmp(line->data, "Cert:", 5) == 0)
			return arena_copy(mem, line->data + 5);
	return NULL;
}

static void
read_answer(struct arena *mem, CURL *c, struct web_answer *a, const char **location)
{
	char *text = NULL;
	curl_off_t seconds = 0;
	long status = 0;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	a->status = (int)status;
	if (curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &text) == CURLE_OK && text != NULL)
		a->type = arena_copy(mem, text);
	if (curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
		a->retry_after = seconds < 86400 ? (int)seconds : 86400;
	text = NULL;
	if (curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &text) == CURLE_OK && text != NULL)
		*location = arena_copy(mem, text);
}

/* One request to one checked target.  *location is where the answer redirects to, or NULL. */
static void
transfer(struct arena *mem, struct web_call *call, struct target *target, struct web_answer *a, const char **location)
{
	struct transfer t = { call, target, BUF(mem), call->max_size > 0 ? call->max_size : 1 << 20, false };
	struct curl_slist *resolve = pinned(mem, target), *headers = header_list(call->headers);
	curl_mime *mime = NULL;
	CURL *c = curl_easy_init();

	if (c == NULL)
		abort();
	set_limits(c, &t);
	set_body(c, call, &mime);
	curl_easy_setopt(c, CURLOPT_URL, target->url);
	curl_easy_setopt(c, CURLOPT_RESOLVE, resolve);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	a->end = end_of(curl_easy_perform(c), &t);
	if (a->end == WEB_ANSWERED)
		read_answer(mem, c, a, location);
	if (call->any_certificate)
		a->certificate = certificate_of(mem, c);
	a->body = buf_string(&t.body);
	a->size = t.body.len;
	curl_easy_cleanup(c);
	curl_mime_free(mime);
	curl_slist_free_all(resolve);
	curl_slist_free_all(headers);
}

static bool
same_origin(const struct target *a, const struct target *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcasecmp(a->host, b->host) == 0 && a->port == b->port;
}

bool
web_call(struct arena *mem, const struct web_call *wanted, struct web_answer *a)
{
	static bool begun;
	struct web_call call = *wanted;
	struct target target, before = { 0 };
	const char *location;
	bool follows = call.redirects > 0 && call.body == NULL && call.parts == NULL;
	int left = call.redirects;

	if (!begun)
		curl_global_init(CURL_GLOBAL_DEFAULT);
	begun = true;
	for (;; left--) {
		*a = (struct web_answer){ .type = "", .body = "" };
		location = NULL;
		if (!target_parse(mem, call.url, &target)) {
			a->end = WEB_BAD_URL;
			return false;
		}
		a->end = target_resolve(mem, &target, call.private_hosts);
		if (a->end != WEB_ANSWERED)
			return false;
		if (before.host != NULL && !same_origin(&before, &target))
			call.headers = NULL;
		transfer(mem, &call, &target, a, &location);
		if (a->end != WEB_ANSWERED || location == NULL || !follows)
			return a->end == WEB_ANSWERED && a->status >= 200 && a->status < 300;
		if (left == 0) {
			a->end = WEB_TOO_MANY_REDIRECTS;
			return false;
		}
		before = target;
		call.url = location;
	}
}

const char *
web_sentence(enum web_end end)
{
	switch (end) {
	case WEB_ANSWERED: return "The server answered.";
	case WEB_BAD_URL: return "The address is not one of http or https that can be used.";
	case WEB_FORBIDDEN: return "The address does not lead to a public server.";
	case WEB_UNRESOLVED: return "The name of the server is not known.";
	case WEB_UNREACHABLE: return "The server cannot be reached.";
	case WEB_TIMEOUT: return "The server took too long.";
	case WEB_TLS: return "The server did not prove who it is.";
	case WEB_TOO_LARGE: return "The answer is too large.";
	case WEB_TOO_MANY_REDIRECTS: return "The server redirects too often.";
	case WEB_BROKEN: break;
	}
	return "The connection broke.";
}
