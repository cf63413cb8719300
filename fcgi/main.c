/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-api: FastCGI requests in, answers out. */
#include <fastcgi.h>
#include <fcgiapp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/listen.h"
#include "core/log.h"
#include "core/peer.h"
#include "core/play.h"
#include "core/store.h"
#include "fcgi/req.h"

#define ARENA_LIMIT (256u << 20)
#define BODY_DEFAULT (1u << 20)
#define SILENCE 10	/* s without a byte from the web server */
#define BODY_MS 10000	/* that a body may take, and a second more for each so many bytes: */
#define BODY_RATE 16384
#define SPOOLED 65536	/* bytes of an answer from which on lighttpd writes it to a file first */
#define GRACE 30	/* s for requests in flight after SIGTERM */

struct server {
	const struct conf *conf;
	struct db *db;
	struct arena *mem;
	size_t max_body;	/* the largest that any route takes */
};

/* Where the body of a request comes from. */
struct incoming {
	FCGX_Request *f;
	size_t max;		/* bytes that any route takes */
	bool whole;		/* read to its end */
};

static size_t
largest_body(void)
{
	const struct route *route;
	size_t i, max = BODY_DEFAULT;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		if (route->max_body > max)
			max = route->max_body;
	return max;
}

/* What was declared, or -1. */
static int64_t
declared_length(FCGX_Request *f)
{
	const char *text = FCGX_GetParam("CONTENT_LENGTH", f->envp);
	int64_t n;

	return text && int_parse(text, &n) && n >= 0 ? n : -1;
}

/* Waits for a byte, then takes what else has come.  0 at the end. */
static int
receive(FCGX_Stream *in, char *chunk, int room)
{
	int c = FCGX_GetChar(in), n = (int)(in->stop - in->rdNext);

	if (c < 0)
		return 0;
	chunk[0] = (char)c;
	if (n > room - 1)
		n = room - 1;
	return 1 + (n > 0 ? FCGX_GetStr(chunk + 1, n, in) : 0);
}

/*
 * Called when the caller is known to be allowed to send one: who has no token holds no worker with a slow body.  It is whole
 * only if libfcgi saw its end and it is as long as declared: a client that dies ends it early.
 */
static void
read_body(struct req *r)
{
	struct incoming *from = r->source;
	FCGX_Stream *in = from->f->in;
	int64_t declared = declared_length(from->f), began = moment_now().ms;
	struct buf body = BUF(r->mem);
	char chunk[16384];
	int n;

	if (declared > (int64_t)from->max) {
		r->body_size = (size_t)declared;
		r->body_error = ERR_TOO_LARGE;
		return;
	}
	while ((n = receive(in, chunk, sizeof chunk)) > 0) {
		buf_add(&body, chunk, (size_t)n);
		if (body.len > from->max || moment_now().ms - began > BODY_MS + (int64_t)body.len * 1000 / BODY_RATE)
			break;
	}
	r->body = buf_string(&body);
	r->body_size = body.len;
	if (body.len > from->max)
		r->body_error = ERR_TOO_LARGE;
	else if (n > 0 || FCGX_GetError(in) || (declared >= 0 && (size_t)declared != body.len))
		r->body_error = ERR_INCOMPLETE_BODY;
	from->whole = r->body_error == ERR_NONE;
}

/* CGI variables as a struct req.  Of the path only REQUEST_URI is the same behind every server. */
static struct req *
read_request(const struct server *s, struct incoming *from)
{
	FCGX_Request *f = from->f;
	struct req *r = NEW(s->mem, struct req);
	struct peer peer = peer_find(s->mem, s->conf->trusted_proxies, FCGX_GetParam("REMOTE_ADDR", f->envp),
	    FCGX_GetParam("HTTPS", f->envp), FCGX_GetParam("HTTP_X_FORWARDED_FOR", f->envp),
	    FCGX_GetParam("HTTP_X_FORWARDED_PROTO", f->envp));

	r->mem = s->mem;
	r->db = s->db;
	r->conf = s->conf;
	r->method_name = FCGX_GetParam("REQUEST_METHOD", f->envp);
	r->uri = FCGX_GetParam("REQUEST_URI", f->envp);
	r->content_type = FCGX_GetParam("CONTENT_TYPE", f->envp);
	r->accept = FCGX_GetParam("HTTP_ACCEPT", f->envp);
	r->authorization = FCGX_GetParam("HTTP_AUTHORIZATION", f->envp);
	r->if_match = FCGX_GetParam("HTTP_IF_MATCH", f->envp);
	r->if_none_match = FCGX_GetParam("HTTP_IF_NONE_MATCH", f->envp);
	r->origin = FCGX_GetParam("HTTP_ORIGIN", f->envp);
	r->request_method = FCGX_GetParam("HTTP_ACCESS_CONTROL_REQUEST_METHOD", f->envp);
	r->content_range = FCGX_GetParam("HTTP_CONTENT_RANGE", f->envp);
	r->client = peer.address;
	r->https = peer.https;
	r->loopback = peer.loopback;
	r->headers = BUF(s->mem);
	r->out = BUF(s->mem);
	if (!r->method_name)
		r->method_name = "";
	if (!r->uri)
		r->uri = "";
	r->source = from;
	r->read_body = read_body;
	return r;
}

/* A value that could begin another line is left out. */
static void
add_header(struct buf *head, const char *name, const char *value)
{
	const unsigned char *c;

	if (!value)
		return;
	for (c = (const unsigned char *)value; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			return;
	buf_text(head, name);
	buf_text(head, ": ");
	buf_text(head, value);
	buf_text(head, "\r\n");
}

/*
 * lighttpd spools what it finds waiting for it beyond SPOOLED bytes, at the price of the whole request.  With less room in
 * the socket it never finds so much.  An answer that fits into neither would hold this worker until a slow client has
 * taken it: that one had better be spooled.
 */
static void
narrow(int fd, size_t n)
{
	int room = SPOOLED / 2;		/* the kernel doubles it */

	if (n > SPOOLED - 4096 && n < SPOOLED * 2)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

static void
write_answer(FCGX_Request *f, struct req *r)
{
	struct buf head = BUF(r->mem);
	bool bodiless = r->status == 204 || r->status == 304;

	buf_printf(&head, "Status: %d\r\n", r->status);
	add_header(&head, "X-Request-Id", r->request_id);
	add_header(&head, "X-Api-Version", API_VERSION);
	if (!bodiless) {
		add_header(&head, "Content-Type", r->answer_type);
		buf_printf(&head, "Content-Length: %zu\r\n", r->out.len);
	}
	add_header(&head, "ETag", r->etag);
	add_header(&head, "Location", r->location);
	add_header(&head, "Cache-Control", r->cache_control);
	add_header(&head, "Content-Disposition", r->disposition);
	if (r->retry_after)
		buf_printf(&head, "Retry-After: %d\r\n", r->retry_after);
	add_header(&head, "X-Content-Type-Options", "nosniff");
	buf_text(&head, buf_string(&r->headers));
	buf_text(&head, "\r\n");
	narrow(f->ipcFd, r->out.len);
	FCGX_PutStr(head.text, (int)head.len, f->out);
	if (!bodiless && strcmp(r->method_name, "HEAD"))
		FCGX_PutStr(buf_string(&r->out), (int)r->out.len, f->out);
}

/* A web server asks whether it may send a file. */
static void
answer_authorizer(const struct server *s, FCGX_Request *f)
{
	static const char *const answers[] = {
		[PLAY_FINE] = "Status: 200\r\n\r\n",
		[PLAY_REFUSED] = "Status: 403\r\n\r\n",
		[PLAY_EXPIRED] = "Status: 410\r\n\r\n",
	};
	const char *uri = FCGX_GetParam("REQUEST_URI", f->envp), *method = FCGX_GetParam("REQUEST_METHOD", f->envp), *file;
	enum play p = PLAY_REFUSED;
	struct uuid media_id;

	if (uri && method && (!strcmp(method, "GET") || !strcmp(method, "HEAD") || !strcmp(method, "OPTIONS")))
		p = play_check(s->conf, uri, moment_now(), &media_id, &file);
	FCGX_PutS(answers[p], f->out);
}

/*
 * libfcgi ends a connection by waiting until the web server has closed its side, which costs a switch of processes for
 * every request.  That protects answers on TCP; on a unix socket what was written stays readable after close(), provided
 * that nothing unread is left on our side: so not for a body that was cut off.
 */
static void
finish(FCGX_Request *f, bool read_whole)
{
	f->keepConnection = read_whole;
	FCGX_Finish_r(f);
	if (f->ipcFd >= 0)
		close(f->ipcFd);
	f->ipcFd = -1;
}

static void
serve(struct server *s)
{
	struct incoming from;
	FCGX_Request f;
	struct req *r;
	int fd;

	FCGX_Init();
	FCGX_InitRequest(&f, -1, FCGI_FAIL_ACCEPT_ON_INTR);
	while ((fd = listen_accept(SILENCE)) >= 0) {
		f.ipcFd = fd;
		f.keepConnection = 1;
		if (FCGX_Accept_r(&f) < 0)
			continue;
		from = (struct incoming){ .f = &f, .max = s->max_body };
		if (f.role == FCGI_AUTHORIZER) {
			answer_authorizer(s, &f);
		} else {
			r = read_request(s, &from);
			api_run(r);
			write_answer(&f, r);
		}
		finish(&f, from.whole);
		arena_reset(s->mem);
	}
}

static void
usage(FILE *to)
{
	fputs("usage: kinothek-api --socket PATH [--workers N] [--mode MODE]\n"
	    "       kinothek-api --openapi | --settings | --version | --help\n"
	    "\n"
	    "Answers the HTTP interface of Kinothek by FastCGI.\n"
	    "\n" LISTEN_USAGE
	    "  --openapi       print the API document\n"
	    "  --settings      print the reference of the settings\n"
	    "\n"
	    "Without --socket it serves the listening socket on fd 0, as mod_fcgid and spawn-fcgi hand it over.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

static void
print_openapi(void)
{
	struct arena *mem = arena_new(ARENA_LIMIT);

	fputs(openapi_print(mem, NULL), stdout);
	arena_free(mem);
}

/* True when the option was a question that is answered now. */
static bool
print_something(const char *option)
{
	if (!strcmp(option, "--openapi"))
		print_openapi();
	else if (!strcmp(option, "--settings"))
		conf_reference(stdout);
	else if (!strcmp(option, "--version"))
		puts("kinothek-api " VERSION);
	else if (!strcmp(option, "--help"))
		usage(stdout);
	else
		return false;
	return true;
}

int
main(int argc, char **argv)
{
	static struct listen l = { .grace = GRACE };
	struct server s;
	int i;

	for (i = 1; i < argc; i++) {
		if (print_something(argv[i]))
			return fflush(stdout) || ferror(stdout);
		if (!listen_option(&l, argc, argv, &i)) {
			usage(stderr);
			return 64;
		}
	}
	api_check();
	s.conf = conf_load();
	log_threshold_named(s.conf->log_level);
	if (!store_open(s.conf)) {
		perror(s.conf->data_dir);
		return 71;
	}
	listen_start(&l, argv);
	s.max_body = largest_body();
	s.mem = arena_new(ARENA_LIMIT);
	s.db = db_open(s.conf, DB_API);
	db_use(s.db, s.mem);
	serve(&s);
	db_close(s.db);
	arena_free(s.mem);
	return 0;
}
