/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outgoing requests: nothing that is not public is ever connected to, and no server can hold us or fill us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int name_service(const char *, const char *, const struct addrinfo *, struct addrinfo **);
static void *new_handle(void);
#define getaddrinfo name_service
#define curl_easy_init new_handle
#include "core/web_target.c"
#include "core/web_url.c"
#include "core/web.c"
#include "core/web_stream.c"
#include "tests/inside.h"
#undef getaddrinfo
#undef curl_easy_init
CURL *curl_easy_init(void);

enum { MEM = 64 << 20 };

static int asked, turned, slow[2];
static const char *trusted;		/* who signs certificates, instead of those of the system */

static void *
new_handle(void)
{
	CURL *c = curl_easy_init();

	if (trusted != NULL)
		curl_easy_setopt(c, CURLOPT_CAINFO, trusted);
	return c;
}

/* Names that a name server of an attacker would answer; all others are asked for truly. */
static int
name_service(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **all)
{
	struct addrinfo *more;
	int error;

	if ((hints->ai_flags & AI_NUMERICHOST) != 0)	/* asks nobody */
		return getaddrinfo(host, service, hints, all);
	asked++;
	if (strcmp(host, "slow.example") == 0) {
		char byte;

		return read(slow[0], &byte, 1) == 1 ? EAI_AGAIN : EAI_FAIL;
	}
	/* Another answer each time: who asks once more is led inside. */
	if (strcmp(host, "turning.example") == 0)
		return getaddrinfo(turned++ == 0 ? "192.88.98.1" : "127.0.0.1", service, hints, all);
	if (strstr(host, "inside.example") != NULL)
		return getaddrinfo("127.0.0.1", service, hints, all);
	if (strcmp(host, "public.example") == 0)
		return getaddrinfo("93.184.216.34", service, hints, all);
	if (strcmp(host, "two-faces.example") != 0)
		return strstr(host, ".example") != NULL ? EAI_NONAME : getaddrinfo(host, service, hints, all);
	error = getaddrinfo("93.184.216.34", service, hints, all);
	if (error == 0 && (error = getaddrinfo("127.0.0.1", service, hints, &more)) == 0)
		(*all)->ai_next = more;
	return error;
}

static int
listen_on(int family, int *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *name = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t size = family == AF_INET ? sizeof(four) : sizeof(six);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	four.sin_port = six.sin6_port = htons((uint16_t)*port);
	if (fd < 0 || bind(fd, name, size) != 0 || listen(fd, 16) != 0 || getsockname(fd, name, &size) != 0)
		return -1;
	*port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	return fd;
}

struct world {
	struct arena *mem;
	int canary[2], canary_port;		/* IPv4 and IPv6, one port */
	int port;				/* of the peer */
	pid_t peer;
	const char *allowed;
};

/* Reads a request whole; returns its bytes. */
static size_t
read_request(int fd, char *text, size_t room)
{
	size_t n = 0, wanted = 0;
	char *end, *length;
	ssize_t got;

	while (n < room - 1 && (got = read(fd, text + n, room - 1 - n)) > 0) {
		n += (size_t)got;
		text[n] = '\0';
		if ((end = strstr(text, "\r\n\r\n")) == NULL)
			continue;
		length = strcasestr(text, "\r\nContent-Length:");
		wanted = (size_t)(end + 4 - text) + (length != NULL ? strtoul(length + 17, NULL, 10) : 0);
		if (n >= wanted)
			break;
	}
	return n;
}

static void
say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

enum { LARGE = 3 << 20 };

static char
large_byte(size_t i)
{
	return (char)(i % 251);
}

/* As servers of files do: a part, if it is the part of what they have. */
static void
serve_large(int fd, const char *request)
{
	const char *range = strcasestr(request, "\r\nRange: bytes=");
	const char *same = strcasestr(request, "\r\nIf-Range: \"one\"");
	size_t from = range != NULL && same != NULL ? strtoul(range + 15, NULL, 10) : 0, i, n;
	char piece[4096];

	dprintf(fd, "HTTP/1.1 %s\r\nETag: \"one\"\r\nLast-Modified: Tue, 24 Nov 2026 10:00:00 GMT\r\n"
	    "Content-Type: video/mp4\r\n"
	    "Content-Disposition: attachment; filename=a.mp4\r\nContent-Length: %zu\r\n", from > 0 ? "206 X" : "200 X",
	    LARGE - from);
	if (from > 0)
		dprintf(fd, "Content-Range: bytes %zu-%d/%d\r\n", from, LARGE - 1, LARGE);
	say(fd, "\r\n");
	for (i = from; i < LARGE; i += n) {
		for (n = 0; n < sizeof(piece) && i + n < LARGE; n++)
			piece[n] = large_byte(i + n);
		if (write(fd, piece, n) != (ssize_t)n)
			_exit(1);
	}
}

/* One request to the peer; the path says what it does. */
static void
serve(int fd, int canary_port)
{
	static char request[1 << 20];
	size_t n = read_request(fd, request, sizeof(request));
	int status, i;

	if (sscanf(request, "%*s /redirect/%d", &status) == 1)
		dprintf(fd, "HTTP/1.1 %d X\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", status,
		    canary_port);
	else if (strstr(request, " /to-file ") != NULL)
		say(fd, "HTTP/1.1 302 X\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n");
	else if (strstr(request, " /round ") != NULL)
		say(fd, "HTTP/1.1 302 X\r\nLocation: /round\r\nContent-Length: 0\r\n\r\n");
	else if (strstr(request, " /away ") != NULL)
		dprintf(fd, "HTTP/1.1 302 X\r\nLocation: http://localhost:%.5s/echo\r\nContent-Length: 0\r\n\r\n",
		    strchr(strcasestr(request, "\r\nHost:") + 7, ':') + 1);
	else if (strstr(request, " /large ") != NULL)
		serve_large(fd, request);
	else if (strstr(request, " /large-away ") != NULL)
		dprintf(fd, "HTTP/1.1 302 X\r\nLocation: http://localhost:%.5s/large\r\nContent-Length: 4\r\n\r\nBody",
		    strchr(strcasestr(request, "\r\nHost:") + 7, ':') + 1);
	else if (strstr(request, " /near ") != NULL)
		say(fd, "HTTP/1.1 302 X\r\nLocation: echo\r\nContent-Length: 0\r\n\r\n");
	else if (strstr(request, " /echo ") != NULL) {
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/x-echo\r\nContent-Length: %zu\r\n\r\n", n);
		if (write(fd, request, n) < 0)
			_exit(1);
	} else if (strstr(request, " /endless ") != NULL) {
		say(fd, "HTTP/1.1 200 OK\r\n\r\n");
		while (write(fd, request, sizeof(request)) > 0)
			;
	} else if (strstr(request, " /silent ") != NULL) {
		while (read(fd, request, sizeof(request)) > 0)
			;
	} else if (strstr(request, " /kept ") != NULL) {
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		while (read(fd, request, sizeof(request)) > 0)
			;
	} else if (strstr(request, " /liar ") != NULL)
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nshort");
	else if (strstr(request, " /short ") != NULL)
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
	else if (strstr(request, " /drip ") != NULL) {
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
		for (i = 0; i < 100 && write(fd, "x", 1) == 1; i++)
			usleep(300000);
	} else if (strstr(request, " /bomb ") != NULL)
		say(fd, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b..");
	else if (strstr(request, " /busy ") != NULL)
		say(fd, "HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
	else if (strstr(request, " /garbage ") != NULL)
		say(fd, "\x16\x03 no http at all\r\n\r\n");
	else
		say(fd, "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n");
}

static void
peer_main(int listener, int canary_port)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0) {
			usleep(2000);
			continue;
		}
		if (fork() == 0) {
			close(listener);
			serve(fd, canary_port);
			_exit(0);
		}
		close(fd);
	}
}

static int
world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int listener;

	w->mem = arena_new(MEM);
	w->canary[0] = listen_on(AF_INET, &w->canary_port);
	w->canary[1] = listen_on(AF_INET6, &w->canary_port);
	listener = listen_on(AF_INET, &w->port);
	w->allowed = arena_printf(w->mem, "other.lan, 127.0.0.1:%d", w->port);
	w->peer = fork();
	if (w->peer == 0)
		peer_main(listener, w->canary_port);
	close(listener);
	asked = 0;
	*state = w;
	return w->canary[0] < 0 || w->peer < 0 ? -1 : 0;
}

static int
world_close(void **state)
{
	struct world *w = *state;

	kill(w->peer, SIGKILL);
	waitpid(w->peer, NULL, 0);
	close(w->canary[0]);
	if (w->canary[1] >= 0)
		close(w->canary[1]);
	arena_free(w->mem);
	free(w);
	return 0;
}

/* Connections that somebody made to what must not be reached. */
static int
connections(const struct world *w)
{
	int n = 0, i, fd;

	for (i = 0; i < 2; i++)
		while (w->canary[i] >= 0 && (fd = accept(w->canary[i], NULL, NULL)) >= 0) {
			close(fd);
			n++;
		}
	return n;
}

static struct web_answer
get_within(const struct world *w, const char *path, int redirects, int seconds)
{
	struct web_call call = { .url = arena_printf(w->mem, "http://127.0.0.1:%d%s", w->port, path),
	    .private_hosts = w->allowed, .timeout = seconds, .max_size = 100000, .redirects = redirects };
	struct web_answer a;

	web_call(w->mem, &call, &a);
	return a;
}

static struct web_answer
get(const struct world *w, const char *path, int redirects)
{
	return get_within(w, path, redirects, 60);
}

static const char *const hosts[] = { INSIDE_HOSTS, "inside.example", "two-faces.example" };

static void
every_spelling_of_a_private_address_is_refused(void **state)
{
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct web_call call = { .url = arena_printf(w->mem, "http://%s:%d/", hosts[i], w->canary_port),
		    .timeout = 60 };
		struct web_answer a;

		assert_false(web_call(w->mem, &call, &a));
		if (a.end != WEB_FORBIDDEN)
			print_message("%s: %s\n", hosts[i], web_sentence(a.end));
		assert_int_equal(a.end, WEB_FORBIDDEN);
		assert_int_equal(a.size, 0);
	}
	assert_int_equal(connections(w), 0);
}

static void *
name_of(const char *name)
{
	return (void *)(uintptr_t)name;
}

static bool
may_go(struct world *w, const char *url, const char *private_hosts)
{
	return web_refuse(w->mem, url, private_hosts, true).why == NULL;
}

static void
addresses_without_a_name_are_judged_before_anything_is_sent(void **state)
{
	struct world *w = *state;
	const char *host;
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		host = hosts[i];
		if (inside_is_name(host))
			continue;
		if (may_go(w, arena_printf(w->mem, "https://%s/", host), "10.9.9.9"))
			fail_msg("%s", host);
	}
	assert_true(may_go(w, "https://name.example/", NULL));
	assert_false(may_go(w, "http://name.example/", NULL));
	assert_true(may_go(w, "https://8.8.8.8/", NULL));
	assert_false(may_go(w, "http://8.8.8.8/", "10.9.9.9"));
	assert_true(may_go(w, "http://10.9.9.9/", "10.9.9.9"));
	assert_int_equal(asked, 0);
}

/* What is refused early knows less of URLs than the library that connects: whom it names, it names alike, and what it
 * takes, the library takes. */
static void
a_url_names_the_same_host_to_the_early_check_and_to_the_library(void **state)
{
	static const char *const urls[] = {
		"https://a.example/", "HTTPS://A.example:8443/x:y@z?q#f", "http://a.example?x", "https://a.example#@b",
		"https://[2001:db8::1]/", "https://[2001:db8::1]:444/", "https://[::1", "https://[::1]x/", "https:///x",
		"https://u@a.example/", "https://u:p@a.example/", "https://a.example:", "https://a.example:0/",
		"https://a.example:65536/", "https://a.example:x/", "https://a.example:80:90/", "https://", "https://:80/",
		"https:/a.example/", "ftp://a.example/", "https://a%2eexample/", "https://a.example\\@b/", "//a.example/",
		"a.example", "https://-a/", "https://+a/", "https://a b/", "https://\xc3\xa4.example/", "",
	};
	struct world *w = *state;
	struct web_target early, late;
	size_t i;

	for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		if (web_target_read(w->mem, urls[i], "http https", &early) != NULL)
			continue;
		assert_true(web_target_parse(w->mem, urls[i], "http,https", &late));
		assert_int_equal(strcasecmp(early.host, late.host), 0);
		assert_int_equal(early.port, late.port);
	}
	assert_true(web_target_read(w->mem, urls[1], "http https", &early) == NULL && early.port == 8443);
	assert_true(web_target_read(w->mem, urls[5], "http https", &early) == NULL && early.port == 444);
	assert_non_null(web_target_read(w->mem, "https://u@127.0.0.1/", "http https", &early));
}

static void
spellings_of_one_server_have_one_origin(void **state)
{
	struct world *w = *state;

	assert_string_equal(web_origin(w->mem, "https://A.example/x?y"), "https://a.example:443");
	assert_string_equal(web_origin(w->mem, "HTTPS://a.example:443#z"), "https://a.example:443");
	assert_string_equal(web_origin(w->mem, "http://0x7f.1:80/"), "http://127.0.0.1:80");
}

/* Connections that are kept for later use no file that a new one needs. */
static void
no_more_connections_are_kept_than_there_is_room_for(void **state)
{
	struct world *w = *state;
	struct web_many *m = web_many_open();
	struct web_answer a;
	int silent = 80, kept = 300, i, open = 0;

	for (i = 0; i < silent + kept; i++) {
		struct web_call call = { .url = arena_printf(w->mem, "http://n%d.inside.example:%d/%s", i, w->port, i <
		    silent ? "silent" : "kept"), .private_hosts = "127.0.0.1", .timeout = 3600 };

		web_many_add(m, w->mem, &call, name_of("one"));
		if (i < silent)
			continue;
		assert_non_null(web_many_next(m, 120000, &a));
		assert_int_equal(a.status, 200);
	}
	for (i = 0; i < 1024; i++)
		open += fcntl(i, F_GETFD) >= 0;
	assert_in_range(open, 200, CONNECTIONS + 40);
	web_many_close(m);
}

static void
many_at_once_are_refused_like_one(void **state)
{
	struct world *w = *state;
	const size_t n = sizeof(hosts) / sizeof(hosts[0]);
	struct web_many *m = web_many_open();
	struct web_answer a;
	const char *host;
	size_t i, ended = 0;

	for (i = 0; i < n; i++) {
		struct web_call call = { .url = arena_printf(w->mem, "http://%s:%d/", hosts[i], w->canary_port),
		    .timeout = 20 };

		web_many_add(m, w->mem, &call, name_of(hosts[i]));
	}
	while (ended < n && (host = web_many_next(m, 30000, &a)) != NULL) {
		if (a.end != WEB_FORBIDDEN)
			print_message("%s: %s\n", host, web_sentence(a.end));
		assert_int_equal(a.end, WEB_FORBIDDEN);
		ended++;
	}
	assert_int_equal(ended, n);
	web_many_close(m);
	assert_int_equal(connections(w), 0);
}

/* None is led elsewhere by a redirect, nor by a name that means something else when it is asked again. */
static void
many_at_once_go_where_they_were_judged_to_go(void **state)
{
	struct world *w = *state;
	struct web_many *m = web_many_open();
	struct web_call call = { .url = arena_printf(w->mem, "http://127.0.0.1:%d/redirect/307", w->port),
	    .private_hosts = w->allowed, .timeout = 20, .redirects = 5 };
	struct web_answer a;

	web_many_add(m, w->mem, &call, name_of("redirect"));
	assert_string_equal(web_many_next(m, 30000, &a), "redirect");
	assert_int_equal(a.status, 307);
	call = (struct web_call){ .url = arena_printf(w->mem, "http://turning.example:%d/", w->canary_port), .timeout
	    = 1 };
	web_many_add(m, w->mem, &call, name_of("first"));
	assert_string_equal(web_many_next(m, 30000, &a), "first");
	assert_true(a.end == WEB_UNREACHABLE || a.end == WEB_TIMEOUT);
	call.timeout = 60;			/* it is not its time that ends it */
	web_many_add(m, w->mem, &call, name_of("second"));
	assert_string_equal(web_many_next(m, 30000, &a), "second");
	assert_int_equal(a.end, WEB_FORBIDDEN);
	assert_int_equal(turned, 2);
	web_many_close(m);
	assert_int_equal(connections(w), 0);
}

static void
a_name_service_that_does_not_answer_holds_up_its_own_call_alone(void **state)
{
	struct world *w = *state;
	struct web_many *m = web_many_open();
	struct web_call slow_one = { .url = "http://slow.example/", .timeout = 600 }, call = {
	    .url = arena_printf(w->mem, "http://127.0.0.1:%d/echo", w->port), .private_hosts = w->allowed, .timeout =
	    20,
	    .body = "{}", .body_size = 2, .secure = true };
	struct web_answer a;

	assert_int_equal(pipe(slow), 0);
	web_many_add(m, w->mem, &slow_one, name_of("slow"));
	web_many_add(m, w->mem, &call, name_of("quick"));
	assert_string_equal(web_many_next(m, 30000, &a), "quick");
	assert_int_equal(a.status, 200);
	assert_memory_equal(a.body, "POST /echo", 10);
	assert_int_equal(write(slow[1], "x", 1), 1);
	assert_string_equal(web_many_next(m, 30000, &a), "slow");
	assert_int_equal(a.end, WEB_UNRESOLVED);
	call.private_hosts = NULL;
	call.url = "http://public.example/";
	web_many_add(m, w->mem, &call, name_of("open"));
	assert_string_equal(web_many_next(m, 30000, &a), "open");
	assert_int_equal(a.end, WEB_BAD_URL);
	web_many_close(m);
	close(slow[0]);
	close(slow[1]);
}

/* The question for its address counts; what else goes on does not. */
static void
each_of_many_ends_when_its_own_time_is_over(void **state)
{
	struct world *w = *state;
	struct web_many *m = web_many_open();
	struct web_call patient = { .url = arena_printf(w->mem, "http://127.0.0.1:%d/silent", w->port), .private_hosts =
	    w->allowed, .timeout = 3600 }, drip = patient, nameless = patient;
	struct web_answer a;

	drip.url = arena_printf(w->mem, "http://127.0.0.1:%d/drip", w->port);
	nameless.url = "http://slow.example/";
	drip.timeout = nameless.timeout = 1;
	assert_int_equal(pipe(slow), 0);
	web_many_add(m, w->mem, &patient, name_of("patient"));
	web_many_add(m, w->mem, &nameless, name_of("nameless"));
	assert_string_equal(web_many_next(m, 120000, &a), "nameless");
	assert_int_equal(a.end, WEB_TIMEOUT);
	web_many_add(m, w->mem, &drip, name_of("drip"));
	assert_string_equal(web_many_next(m, 120000, &a), "drip");
	assert_int_equal(a.end, WEB_TIMEOUT);
	assert_null(web_many_next(m, 0, &a));
	assert_int_equal(write(slow[1], "x", 1), 1);
	web_many_close(m);
	close(slow[0]);
	close(slow[1]);
}

static void
only_plain_http_addresses_are_taken(void **state)
{
	struct world *w = *state;
	static const char *const urls[] = { "", "/", "//", "127.0.0.1", "localhost:%d/", "file:///etc/passwd",
	    "gopher://127.0.0.1:%d/_x",
		"dict://127.0.0.1:%d/d", "ftp://127.0.0.1:%d/", "rtsp://127.0.0.1:%d/", "data:text/plain,x",
		"htt://127.0.0.1:%d/", "http:", "http://", "http://:%d/", "http://good@127.0.0.1:%d/",
		"http://a:b@127.0.0.1:%d/", "http://127.0.0.1:%d\\@good/", "http://127.0.0.1:%d/\r\nX: y",
		"http://127.0.0.1 :%d/", " http://127.0.0.1:%d/", "http://127.0.0.1:%d/\x7f", "http://127.0.0.1:0/",
		"http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://[::1/", "http://m\u00fcller.example:%d/",
		"http://\u2460\u2461\u2466.0.0.1:%d/", "http://\xff\xfe/", "javascript:alert(1)", "unix:///run/x",
		"ws://127.0.0.1:%d/", "http:/127.0.0.1:%d/", "http:127.0.0.1:%d", "http:///127.0.0.1:%d/",
		"http://-localhost:%d/", "http://+localhost:%d/" };
	char url[200];
	size_t i;

	for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct web_call call = { .url = url, .timeout = 2, .private_hosts = "127.0.0.1 localhost" };
		struct web_answer a;
		const char *at = strstr(urls[i], "%d");

		snprintf(url, sizeof(url), "%.*s", at == NULL ? (int)strlen(urls[i]) : (int)(at - urls[i]), urls[i]);
		if (at != NULL)
			snprintf(url + strlen(url), sizeof(url) - strlen(url), "%d%s", w->canary_port, at + 2);
		web_call(w->mem, &call, &a);
		if (a.end != WEB_BAD_URL)
			print_message("%s: %s\n", url, web_sentence(a.end));
		assert_int_equal(a.end, WEB_BAD_URL);
	}
	assert_int_equal(connections(w), 0);
}

static void
what_follows_a_hash_is_no_host(void **state)
{
	struct world *w = *state;
	struct web_call call = { .url = arena_printf(w->mem, "http://nowhere.example#@127.0.0.1:%d/", w->canary_port),
	    .timeout = 60 };
	struct web_answer a;

	web_call(w->mem, &call, &a);
	assert_int_equal(a.end, WEB_UNRESOLVED);
	call.url = arena_printf(w->mem, "http://localhost.:%d/", w->canary_port);
	web_call(w->mem, &call, &a);
	assert_int_not_equal(a.end, WEB_ANSWERED);
	call.url = arena_printf(w->mem, "http://127.0.0.1.:%d/", w->canary_port);
	web_call(w->mem, &call, &a);
	assert_int_not_equal(a.end, WEB_ANSWERED);
	assert_int_equal(connections(w), 0);
}

static void
ports_of_other_services_are_refused(void **state)
{
	struct world *w = *state;
	static const int ports[] = { 1, 22, 25, 53, 110, 445, 3306, 5432, 6379, 11211, 27017 };
	size_t i;

	for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		struct web_call call = { .url = arena_printf(w->mem, "http://public.example:%d/", ports[i]),
		    .timeout = 60 };
		struct web_answer a;

		web_call(w->mem, &call, &a);
		assert_int_equal(a.end, WEB_FORBIDDEN);
	}
	assert_true(port_is_for_web(80) && port_is_for_web(443) && port_is_for_web(8080) && port_is_for_web(8443));
}

static void
public_addresses_are_known_from_others(void **state)
{
	static const struct { const char *text; bool global; } examples[] = {
		{ "8.8.8.8", true }, { "93.184.216.34", true }, { "172.15.255.255", true }, { "172.32.0.0", true },
		{ "100.63.255.255", true }, { "100.128.0.0", true }, { "192.0.1.0", true }, { "223.255.255.255", true },
		{ "198.17.255.255", true }, { "198.20.0.0", true }, { "169.253.0.1", true }, { "126.255.255.255", true },
		{ "224.0.0.0", false }, { "2606:2800:220:1:248:1893:25c8:1946", true }, { "2a00:1450::1", true },
		{ "2001:200::1", true }, { "2001:1ff::1", false }, { "64:ff9b::8.8.8.8", true }, { "64:ff9b::10.0.0.1", false },
		{ "64:ff9b::1:808:808", false }, { "1fff::1", false }, { "4000::1", false }, { "2003::1", true },
	};
	struct web_address a;
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		a = (struct web_address){ .family = strchr(examples[i].text, ':') != NULL ? AF_INET6 : AF_INET };
		assert_int_equal(inet_pton(a.family, examples[i].text, a.b), 1);
		if (is_global(&a) != examples[i].global)
			print_message("%s\n", examples[i].text);
		assert_int_equal(is_global(&a), examples[i].global);
	}
}

static void
addresses_of_this_machine_are_its_own(void **state)
{
	struct ifaddrs *all, *i;
	struct web_address a;
	int n = 0;

	assert_int_equal(getifaddrs(&all), 0);
	for (i = all; i != NULL; i = i->ifa_next)
		if (i->ifa_addr != NULL && address_of(i->ifa_addr, &a)) {
			assert_true(is_own(&a));
			n++;
		}
	freeifaddrs(all);
	assert_true(n > 0);
	a = (struct web_address){ .family = AF_INET, .b = { 8, 8, 8, 8 } };
	assert_false(is_own(&a));
}

static void
where_the_own_addresses_cannot_be_listed_every_address_counts_as_own(void **state)
{
	const struct web_address a = { .family = AF_INET, .b = { 8, 8, 8, 8 } };
	struct world *w = *state;
	struct sockaddr_storage at;
	struct addrinfo info = { .ai_addr = (struct sockaddr *)&at, .ai_addrlen = web_address_socket(&a, 443, &at) };
	struct web_target t = { .host = "8.8.8.8", .port = 443 };
	enum web_end end, allowed;
	struct rlimit before, none;
	bool own;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	own = is_own(&a);
	end = web_target_judge(w->mem, &t, NULL, &info);
	allowed = web_target_judge(w->mem, &t, "8.8.8.8", &info);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(own);
	/* So nobody is sent there, but where the settings name it. */
	assert_int_equal(end, WEB_FORBIDDEN);
	assert_int_equal(allowed, WEB_ANSWERED);
	assert_int_equal(web_target_judge(w->mem, &t, NULL, &info), WEB_ANSWERED);
}

static void
the_allow_list_opens_exactly_what_it_names(void **state)
{
	struct world *w = *state;
	struct web_target t = { .host = "engine.lan", .port = 9000 };
	struct web_address ten = { .family = AF_INET, .b = { 10, 1, 2, 3 } }, one = { .family = AF_INET6,
	    .b = { [15] = 1 } };

	assert_true(is_allowed(w->mem, "engine.lan", &t, &ten));
	assert_true(is_allowed(w->mem, "a, ENGINE.lan:9000", &t, &ten));
	assert_true(is_allowed(w->mem, "10.0.0.0/8", &t, &ten));
	assert_true(is_allowed(w->mem, "10.1.2.3:9000", &t, &ten));
	assert_true(is_allowed(w->mem, "::1", &t, &one));
	assert_true(is_allowed(w->mem, "[::1]:9000", &t, &one));
	assert_false(is_allowed(w->mem, NULL, &t, &ten));
	assert_false(is_allowed(w->mem, " , ,", &t, &ten));
	assert_false(is_allowed(w->mem, "engine.lan:9001", &t, &ten));
	assert_false(is_allowed(w->mem, "lan, engine, .lan, engine.lan.evil", &t, &ten));
	assert_false(is_allowed(w->mem, "10.1.2.0/25:9001, 10.1.3.0/24, 10.0.0.0/33, 10.0.0.0/-1, 10.0.0.0/x", &t,
	    &ten));
	assert_false(is_allowed(w->mem, "[::1]:9001, ::2, 10.0.0.0/8", &t, &one));
}

static void
redirects_are_checked_like_the_first_address(void **state)
{
	struct world *w = *state;
	static const int statuses[] = { 301, 302, 303, 307, 308 };
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct web_answer a = get(w, arena_printf(w->mem, "/redirect/%d", statuses[i]), 5);

		assert_int_equal(a.end, WEB_FORBIDDEN);
		a = get(w, arena_printf(w->mem, "/redirect/%d", statuses[i]), 0);
		assert_int_equal(a.end, WEB_ANSWERED);
		assert_int_equal(a.status, statuses[i]);
	}
	assert_int_equal(get(w, "/to-file", 5).end, WEB_BAD_URL);
	assert_int_equal(get(w, "/round", 5).end, WEB_TOO_MANY_REDIRECTS);
	assert_int_equal(get(w, "/near", 1).status, 200);
	assert_int_equal(connections(w), 0);
}

static void
secrets_do_not_follow_to_another_host(void **state)
{
	struct world *w = *state;
	const char *headers[] = { "Authorization: Bearer secret", NULL };
	struct web_call call = { .headers = headers, .redirects = 2, .private_hosts = "localhost 127.0.0.1",
	    .timeout = 60 };
	struct web_answer a;

	call.url = arena_printf(w->mem, "http://127.0.0.1:%d/near", w->port);
	assert_true(web_call(w->mem, &call, &a));
	assert_non_null(strstr(a.body, "Bearer secret"));
	call.url = arena_printf(w->mem, "http://127.0.0.1:%d/away", w->port);
	assert_true(web_call(w->mem, &call, &a));
	assert_non_null(strstr(a.body, "Host: localhost"));
	assert_null(strstr(a.body, "secret"));
}

static void
a_name_is_asked_for_once_and_only_what_was_checked_is_connected(void **state)
{
	struct world *w = *state;
	struct curl_sockaddr to = { .family = AF_INET, .socktype = SOCK_STREAM };
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&to.addr;
	struct web_target t = { .n = 1, .at = { { .family = AF_INET, .b = { 93, 184, 216, 34 } } } };
	struct web_call call = { .url = arena_printf(w->mem, "http://inside.example:%d/echo", w->port),
	    .private_hosts = "inside.example", .timeout = 60 };
	struct web_answer a;

	assert_true(web_call(w->mem, &call, &a));
	assert_int_equal(asked, 1);
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(open_socket(&t, CURLSOCKTYPE_IPCXN, &to), CURL_SOCKET_BAD);
}

static void
answers_that_do_not_end_are_cut(void **state)
{
	struct world *w = *state;
	struct web_answer a = get(w, "/endless", 0);

	assert_int_equal(a.end, WEB_TOO_LARGE);
	assert_true(a.size <= 100000);
	assert_int_equal(get(w, "/liar", 0).end, WEB_TOO_LARGE);
	assert_int_equal(get(w, "/short", 0).end, WEB_BROKEN);
	assert_int_equal(get_within(w, "/drip", 0, 3).end, WEB_TIMEOUT);
	assert_int_equal(get(w, "/garbage", 0).end, WEB_BROKEN);
	a = get(w, "/bomb", 0);
	assert_int_equal(a.size, 4);
}

static struct web_stream *
open_stream(const struct world *w, const char *path, const struct web_call *more, struct web_answer *a)
{
	struct web_call call = *more;

	call.url = arena_printf(w->mem, "http://127.0.0.1:%d%s", w->port, path);
	call.private_hosts = arena_printf(w->mem, "%s, localhost:%d", w->allowed, w->port);
	call.redirects = 3;
	return web_stream_open(w->mem, &call, a);
}

/* Reads to the end, and holds it against what a large answer is from there on; returns how much has come. */
static size_t
read_large(struct web_stream *s, size_t from, enum web_end *end)
{
	const void *bytes;
	size_t all = 0, n, i;

	while ((n = web_stream_read(s, 100, &bytes)) > 0 || !web_stream_is_over(s, end)) {
		for (i = 0; i < n && ((const char *)bytes)[i] == large_byte(from + all + i);)
			i++;
		assert_int_equal(i, n);
		all += n;
	}
	return all;
}

static void
a_large_answer_is_read_as_it_comes(void **state)
{
	struct world *w = *state;
	struct web_answer a;
	enum web_end end;
	struct web_stream *s = open_stream(w, "/large", &(struct web_call){ .timeout = 60 }, &a);

	assert_non_null(s);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.etag, "\"one\"");
	assert_string_equal(a.modified, "Tue, 24 Nov 2026 10:00:00 GMT");
	assert_string_equal(a.disposition, "attachment; filename=a.mp4");
	assert_string_equal(a.type, "video/mp4");
	assert_int_equal(a.length, LARGE);
	assert_null(a.range);
	usleep(200000);		/* more comes than there is room for */
	assert_int_equal(read_large(s, 0, &end), LARGE);
	assert_int_equal(end, WEB_ANSWERED);
	web_stream_close(s);
}

static void
an_answer_goes_on_where_it_broke_off_if_it_is_the_same(void **state)
{
	struct world *w = *state;
	struct web_call call = { .timeout = 60, .from = 1000001, .if_range = "\"one\"" };
	struct web_answer a;
	enum web_end end;
	struct web_stream *s = open_stream(w, "/large-away", &call, &a);

	assert_non_null(s);
	assert_int_equal(a.status, 206);
	assert_string_equal(a.range, arena_printf(w->mem, "bytes 1000001-%d/%d", LARGE - 1, LARGE));
	assert_int_equal(read_large(s, 1000001, &end), LARGE - 1000001);
	assert_int_equal(end, WEB_ANSWERED);
	web_stream_close(s);
	call.if_range = "\"two\"";
	s = open_stream(w, "/large", &call, &a);
	assert_non_null(s);
	assert_int_equal(a.status, 200);
	assert_int_equal(read_large(s, 0, &end), LARGE);
	web_stream_close(s);
}

static void
an_answer_that_breaks_is_told_from_one_that_ends(void **state)
{
	struct world *w = *state;
	struct web_call call = { .timeout = 60 };
	struct web_answer a;
	const void *bytes;
	enum web_end end;
	size_t all = 0, n;
	struct web_stream *s = open_stream(w, "/short", &call, &a);

	assert_non_null(s);
	assert_int_equal(a.length, 100);
	while ((n = web_stream_read(s, 100, &bytes)) > 0 || !web_stream_is_over(s, &end))
		all += n;
	assert_int_equal(all, 5);
	assert_int_equal(end, WEB_BROKEN);
	web_stream_close(s);
	s = open_stream(w, "/drip", &call, &a);		/* one that is slow is waited for no longer than is wanted */
	assert_non_null(s);
	while (web_stream_read(s, 10, &bytes) > 0)
		continue;
	assert_false(web_stream_is_over(s, &end));
	web_stream_close(s);
	call.max_size = LARGE - 1;
	assert_null(open_stream(w, "/large", &call, &a));
	assert_int_equal(a.end, WEB_TOO_LARGE);
	s = open_stream(w, "/endless", &call, &a);
	assert_non_null(s);
	for (all = 0; (n = web_stream_read(s, 100, &bytes)) > 0 || !web_stream_is_over(s, &end);)
		all += n;
	assert_int_equal(end, WEB_TOO_LARGE);
	assert_true(all < LARGE);
	web_stream_close(s);
}

static void
what_is_read_as_it_comes_goes_by_the_same_rules(void **state)
{
	struct world *w = *state;
	struct web_call call = { .timeout = 60 };
	struct web_answer a;

	assert_null(open_stream(w, "/redirect/302", &call, &a));
	assert_int_equal(a.end, WEB_FORBIDDEN);
	assert_null(open_stream(w, "/to-file", &call, &a));
	assert_int_equal(a.end, WEB_BAD_URL);
	assert_null(open_stream(w, "/round", &call, &a));
	assert_int_equal(a.end, WEB_TOO_MANY_REDIRECTS);
	assert_null(open_stream(w, "/garbage", &call, &a));
	assert_int_equal(a.end, WEB_BROKEN);
	call.timeout = 1;
	assert_null(open_stream(w, "/silent", &call, &a));
	assert_int_equal(a.end, WEB_TIMEOUT);
	assert_int_equal(connections(w), 0);
}

static void
statuses_and_waits_are_told(void **state)
{
	struct world *w = *state;
	struct web_answer a = get(w, "/busy", 0);

	assert_int_equal(a.status, 429);
	assert_int_equal(a.retry_after, 7);
	assert_int_equal(get(w, "/nothing", 0).status, 404);
	a = get(w, "/echo", 0);
	assert_string_equal(a.type, "text/x-echo");
	kill(w->peer, SIGKILL);
	waitpid(w->peer, NULL, 0);
	assert_int_equal(get(w, "/echo", 0).end, WEB_UNREACHABLE);
}

static void
forms_arrive_whole(void **state)
{
	struct world *w = *state;
	char *bytes = arena_alloc(w->mem, 300000);
	struct web_part parts[] = {
		{ .name = "file", .bytes = bytes, .n = 300000, .file_name = "audio.wav", .type = "audio/wav" },
		{ .name = "timestamp_granularities[]", .text = "word" }, { 0 },
	};
	struct web_call call = { .url = arena_printf(w->mem, "http://127.0.0.1:%d/echo", w->port), .parts = parts,
	    .private_hosts = w->allowed, .timeout = 60 };
	struct web_answer a;

	memset(bytes, 'z', 300000);
	assert_true(web_call(w->mem, &call, &a));
	assert_true(a.size > 300000);
	assert_memory_equal(a.body, "POST /echo HTTP/1.1\r\n", 21);
	assert_non_null(strstr(a.body, "name=\"timestamp_granularities[]\"\r\n\r\nword\r\n"));
	assert_non_null(strstr(a.body, "filename=\"audio.wav\"\r\nContent-Type: audio/wav"));
	assert_null(strstr(a.body, "100-continue"));
}

static void
a_proxy_in_the_environment_is_ignored(void **state)
{
	struct world *w = *state;
	const char *canary = arena_printf(w->mem, "http://127.0.0.1:%d", w->canary_port);

	setenv("http_proxy", canary, 1);
	setenv("all_proxy", canary, 1);
	assert_int_equal(get(w, "/echo", 0).status, 200);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	assert_int_equal(connections(w), 0);
}

/* How a call to localhost ends where a server has the certificate of that name. */
static enum web_end
greeted_with(struct world *w, const char *dir, const char *name)
{
	struct web_answer a = { .end = WEB_UNREACHABLE };
	struct web_call call = { .private_hosts = "localhost", .timeout = 60 };
	int port = 0, probe = listen_on(AF_INET, &port), i;
	pid_t server;

	close(probe);
	server = fork();
	if (server == 0) {
		if (chdir(dir) == 0)
			execlp("openssl", "openssl", "s_server", "-quiet", "-www", "-accept",
			    arena_printf(w->mem, "127.0.0.1:%d", port), "-key", arena_printf(w->mem, "%s.key", name),
			    "-cert", arena_printf(w->mem, "%s.pem", name), (char *)NULL);
		_exit(127);
	}
	call.url = arena_printf(w->mem, "https://localhost:%d/", port);
	for (i = 0; i < 600 && a.end == WEB_UNREACHABLE; i++) {
		usleep(100000);
		web_call(w->mem, &call, &a);
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return a.end;
}

static void
servers_that_cannot_prove_their_name_are_left(void **state)
{
	/* Of one that others trust, and of one that nobody knows; a name, an alternative name, and days. */
	static const char certificates[] = "cd %s && one() { openssl req -newkey rsa:2048 -nodes -subj /CN=localhost "
	    "-keyout $1.key -out $1.csr && echo subjectAltName=DNS:$2 >$1.ext && openssl x509 -req -in $1.csr -CA ca.pem "
	    "-CAkey ca.key -CAcreateserial -days $3 -extfile $1.ext -out $1.pem; } && for i in ca self; do "
	    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout $i.key -out $i.pem || exit; done && "
	    "one right localhost 2 && one other elsewhere.example 2 && one expired localhost -1";
	struct world *w = *state;
	char dir[] = "/tmp/web_test.XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(system(arena_printf(w->mem, "(%s) 2>%s/said", arena_printf(w->mem, certificates, dir),
	    dir)), 0);
	trusted = arena_printf(w->mem, "%s/ca.pem", dir);
	assert_int_equal(greeted_with(w, dir, "right"), WEB_ANSWERED);
	assert_int_equal(greeted_with(w, dir, "other"), WEB_TLS);
	assert_int_equal(greeted_with(w, dir, "expired"), WEB_TLS);
	assert_int_equal(greeted_with(w, dir, "self"), WEB_TLS);
	trusted = NULL;
	assert_int_equal(greeted_with(w, dir, "right"), WEB_TLS);
	assert_int_equal(system(arena_printf(w->mem, "rm -r %s", dir)), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_spelling_of_a_private_address_is_refused),
		TEST(many_at_once_are_refused_like_one),
		TEST(addresses_without_a_name_are_judged_before_anything_is_sent),
		TEST(a_url_names_the_same_host_to_the_early_check_and_to_the_library),
		TEST(spellings_of_one_server_have_one_origin),
		TEST(no_more_connections_are_kept_than_there_is_room_for),
		TEST(many_at_once_go_where_they_were_judged_to_go),
		TEST(a_name_service_that_does_not_answer_holds_up_its_own_call_alone),
		TEST(each_of_many_ends_when_its_own_time_is_over),
		TEST(only_plain_http_addresses_are_taken),
		TEST(what_follows_a_hash_is_no_host),
		TEST(ports_of_other_services_are_refused),
		TEST(public_addresses_are_known_from_others),
		TEST(addresses_of_this_machine_are_its_own),
		TEST(where_the_own_addresses_cannot_be_listed_every_address_counts_as_own),
		TEST(the_allow_list_opens_exactly_what_it_names),
		TEST(redirects_are_checked_like_the_first_address),
		TEST(secrets_do_not_follow_to_another_host),
		TEST(a_name_is_asked_for_once_and_only_what_was_checked_is_connected),
		TEST(answers_that_do_not_end_are_cut),
		TEST(a_large_answer_is_read_as_it_comes),
		TEST(an_answer_goes_on_where_it_broke_off_if_it_is_the_same),
		TEST(an_answer_that_breaks_is_told_from_one_that_ends),
		TEST(what_is_read_as_it_comes_goes_by_the_same_rules),
		TEST(statuses_and_waits_are_told),
		TEST(forms_arrive_whole),
		TEST(a_proxy_in_the_environment_is_ignored),
		TEST(servers_that_cannot_prove_their_name_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
