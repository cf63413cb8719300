/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-upload: PUT /upload/{uploadId}?ticket=… by FastCGI. */
#include <fastcgi.h>
#include <fcgiapp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/listen.h"
#include "core/log.h"
#include "core/peer.h"
#include "core/store.h"
#include "core/version.h"
#include "fcgi/upload/put.h"

#define ARENA_LIMIT (8u << 20)
#define SILENCE 60	/* s without a byte, then the connection is cut */
#define PACE 60000	/* ms over which the pace of a body is measured */
#define PATIENCE 1000	/* ms to wait for more bytes when there are some */
#define GRACE 600	/* s for transfers in flight after SIGTERM */
#define WORKERS 32	/* one transfer each; slow ones wait in theirs */
#define TICKET_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

struct server {
	const struct conf *conf;
	struct db *db;
	struct arena *mem;
};

/* One request and its answer. */
struct call {
	const struct server *s;
	FCGX_Request *f;
	const char *method;
	struct put put;
	char id[UUID_TEXT], request_id[UUID_TEXT];
	int status;
	int64_t started;	/* ms */
};

static const char *
param(const struct call *c, const char *name)
{
	return FCGX_GetParam(name, c->f->envp);
}

/* Of the path only REQUEST_URI is the same behind every server.  Nothing in our addresses needs an escape. */
static bool
read_address(struct call *c)
{
	const char *uri = param(c, "REQUEST_URI"), *ticket;

	if (uri == NULL || strncmp(uri, "/upload/", 8) != 0)
		return false;
	snprintf(c->id, sizeof(c->id), "%s", uri + 8);
	uri += 8 + strlen(c->id);
	if (!uuid_parse(c->id, &c->put.id) || (*uri != '\0' && *uri != '?'))
		return false;
	for (ticket = uri; *ticket != '\0'; ticket += strcspn(ticket, "&")) {
		ticket++;
		if (strncmp(ticket, "ticket=", 7) == 0) {
			c->put.ticket = arena_copy_n(c->s->mem, ticket + 7, strspn(ticket + 7, TICKET_CHARACTERS));
			break;
		}
	}
	return true;
}

/* Without a length, only a chunked body tells its end; a server that buffers it declares one. */
static enum error
read_length(struct call *c)
{
	const char *length = param(c, "CONTENT_LENGTH"), *coding = param(c, "HTTP_TRANSFER_ENCODING");

	c->put.length = -1;
	if (length != NULL && *length != '\0')
		return int_parse(length, &c->put.length) && c->put.length >= 0 ? ERR_NONE : ERR_BAD_REQUEST;
	return coding != NULL && strcmp(coding, "chunked") == 0 ? ERR_NONE : ERR_LENGTH_REQUIRED;
}

/*
 * FCGX_GetStr returns with n bytes or at the end, however long that takes.  So we take the byte that libfcgi waits for
 * and those that came with it, and more of them while the patience lasts: fewer writes.
 */
static int
read_bytes(void *user, char *bytes, int n)
{
	struct call *c = user;
	FCGX_Stream *in = c->f->in;
	int64_t until = moment_now().ms + PATIENCE;
	int byte, there, got = 0;

	do {
		byte = FCGX_GetChar(in);
		if (byte == EOF)
			break;
		bytes[got++] = (char)byte;
		there = (int)(in->stop - in->rdNext);
		got += FCGX_GetStr(bytes + got, there < n - got ? there : n - got, in);
	} while (got < n && moment_now().ms < until);
	return got;
}

/* libfcgi saw the record that ends the body: a connection that broke, or was silent for too long, leaves an error. */
static bool
read_whole(void *user)
{
	struct call *c = user;

	return FCGX_GetError(c->f->in) == 0;
}

static bool
is_secure(const struct call *c)
{
	struct peer peer;

	if (!c->s->conf->require_https)
		return true;
	peer = peer_find(c->s->mem, c->s->conf->trusted_proxies, param(c, "REMOTE_ADDR"), param(c, "HTTPS"),
	    param(c, "HTTP_X_FORWARDED_FOR"), param(c, "HTTP_X_FORWARDED_PROTO"));
	return peer.https || peer.loopback;
}

static enum error
run(struct call *c)
{
	enum error error;

	if (!is_secure(c))
		return ERR_HTTPS_REQUIRED;
	if (!read_address(c))
		return ERR_NOT_FOUND;
	if (strcmp(c->method, "OPTIONS") == 0)
		return ERR_NONE;
	if (strcmp(c->method, "PUT") != 0)
		return ERR_METHOD_NOT_ALLOWED;
	error = param(c, "HTTP_CONTENT_RANGE") != NULL ? ERR_CONTENT_RANGE : read_length(c);
	if (error != ERR_NONE)
		return error;
	c->put.read = read_bytes;
	c->put.whole = read_whole;
	c->put.user = c;
	return put_run(&c->put);
}

/* The origin as sent, if web pages of it may call us; else NULL. */
static const char *
allowed_origin(const struct call *c)
{
	const char *origin = param(c, "HTTP_ORIGIN"), *list = c->s->conf->cors_origins;
	size_t n;

	for (; origin != NULL && list != NULL && *list != '\0'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if ((n == 1 && *list == '*') || (strlen(origin) == n && strncmp(list, origin, n) == 0))
			return origin[strcspn(origin, "\r\n")] == '\0' ? origin : NULL;
	}
	return NULL;
}

static void
put_cors(const struct call *c, struct buf *head)
{
	const char *origin = allowed_origin(c);

	if (c->s->conf->cors_origins != NULL)
		buf_text(head, "Vary: Origin\r\n");
	if (origin == NULL)
		return;
	buf_printf(head, "Access-Control-Allow-Origin: %s\r\nAccess-Control-Expose-Headers: X-Request-Id\r\n", origin);
	if (strcmp(c->method, "OPTIONS") == 0)
		buf_text(head, "Access-Control-Allow-Methods: PUT\r\nAccess-Control-Allow-Headers: Authorization, "
		    "Content-Type\r\nAccess-Control-Max-Age: 7200\r\n");
}

static void
put_success(const struct call *c, struct buf *out)
{
	const struct put *p = &c->put;

	buf_printf(out, "{\"status\":\"success\",\"data\":{\"id\":\"%s\",\"status\":\"uploaded\",\"receivedBytes\":",
	    c->id);
	buf_int(out, p->received);
	buf_text(out, ",\"mimeType\":");
	buf_json(out, p->mime_type);
	buf_text(out, ",\"sha256\":");
	buf_json(out, p->sha256);
	buf_text(out, "}}");
}

/* The envelope of the API; a refused content adds the code of its reason. */
static void
put_failure(const struct call *c, struct buf *out, const struct error_info *info)
{
	const struct put *p = &c->put;

	buf_printf(out, "{\"status\":\"%s\",\"message\":", info->status < 500 ? "fail" : "error");
	buf_json(out, p->detail != NULL ? p->detail : info->text);
	buf_printf(out, ",\"data\":{\"code\":\"%s\",\"errors\":[", info->code);
	if (p->reason != REASON_NONE) {
		buf_printf(out, "{\"pointer\":\"\",\"code\":\"%s\",\"detail\":", reason_info(p->reason)->code);
		buf_json(out, reason_info(p->reason)->remedy);
		buf_char(out, '}');
	}
	buf_printf(out, "],\"requestId\":\"%s\"}}", c->request_id);
}

static void
answer(struct call *c, enum error error)
{
	const struct error_info *info = error_info(error);
	struct buf head = BUF(c->s->mem), out = BUF(c->s->mem);

	c->status = error != ERR_NONE ? info->status : strcmp(c->method, "OPTIONS") == 0 ? 204 : 200;
	if (error != ERR_NONE)
		put_failure(c, &out, info);
	else if (c->status == 200)
		put_success(c, &out);
	buf_printf(&head, "Status: %d\r\nX-Request-Id: %s\r\nX-Api-Version: %s\r\nCache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n", c->status, c->request_id, API_VERSION);
	put_cors(c, &head);
	if (c->status == 204 || c->status == 405)
		buf_text(&head, "Allow: PUT, OPTIONS\r\n");
	if (c->status == 503)
		buf_text(&head, "Retry-After: 5\r\n");
	if (c->status != 204)
		buf_printf(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n", out.len);
	buf_text(&head, "\r\n");
	FCGX_PutStr(head.text, (int)head.len, c->f->out);
	if (out.len > 0 && strcmp(c->method, "HEAD") != 0)
		FCGX_PutStr(out.text, (int)out.len, c->f->out);
}

/* Never the query: it holds the ticket. */
static void
log_call(const struct call *c, enum error error)
{
	enum log_level level = c->status >= 500 ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;

	log_line(level, "request", LOG_TEXT("req", c->request_id), LOG_TEXT("method", c->method),
	    LOG_TEXT("route", "/upload/{uploadId}"), LOG_TEXT("upload", c->id[0] != '\0' ? c->id : NULL),
	    LOG_INT("status", c->status), LOG_TEXT("code", error != ERR_NONE ? error_info(error)->code : NULL),
	    LOG_TEXT("reason", c->put.reason != REASON_NONE ? reason_info(c->put.reason)->code : NULL),
	    LOG_INT("bytes", c->put.received), LOG_INT("ms", moment_now().ms - c->started));
}

/* A read that has a time limit is not begun again after a signal, so signals wait until the request is done. */
static int
next_connection(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	fd = listen_accept(SILENCE);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return fd;
}

static void
serve(struct server *s)
{
	FCGX_Request f;
	enum error error;
	int fd;

	FCGX_Init();
	FCGX_InitRequest(&f, -1, FCGI_FAIL_ACCEPT_ON_INTR);
	while ((fd = next_connection()) >= 0) {
		f.ipcFd = fd;
		f.keepConnection = 1;
		if (FCGX_Accept_r(&f) < 0)
			continue;
		f.keepConnection = 0;	/* so that the rest of a refused body is not waited for */
		struct call c = { .s = s, .f = &f, .started = moment_now().ms,
		    .put = { .mem = s->mem, .db = s->db, .conf = s->conf, .window = PACE } };

		c.method = param(&c, "REQUEST_METHOD");
		if (c.method == NULL)
			c.method = "";
		uuid_format(uuid_new(), c.request_id);
		error = run(&c);
		answer(&c, error);
		log_call(&c, error);
		FCGX_Finish_r(&f);
		db_use(s->db, s->mem);
		db_rest(s->db);		/* the next transfer may be hours away, and its worker is one of many */
		arena_reset(s->mem);
	}
}

static void
usage(FILE *to)
{
	fputs("usage: kinothek-upload --socket PATH [--workers N] [--mode MODE]\n"
	    "       kinothek-upload --version | --help\n"
	    "\n"
	    "Receives the bytes of uploads by FastCGI.\n"
	    "\n"
	    "  --socket PATH   make a unix socket there and serve it with several processes\n"
	    "  --mode MODE     its permissions (0660)\n"
	    "  --workers N     processes, each for one transfer at a time (32)\n"
	    "\n"
	    "Without --socket it serves the listening socket on fd 0, as mod_fcgid and spawn-fcgi hand it over.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

int
main(int argc, char **argv)
{
	static struct listen l = { .grace = GRACE, .otherwise = WORKERS };
	struct server s;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--version") == 0)
			return puts("kinothek-upload " VERSION) == EOF;
		if (strcmp(argv[i], "--help") == 0) {
			usage(stdout);
			return 0;
		}
		if (!listen_option(&l, argc, argv, &i)) {
			usage(stderr);
			return 64;
		}
	}
	s.conf = conf_load();
	log_threshold_named(s.conf->log_level);
	if (!store_open(s.conf)) {
		fprintf(stderr, "kinothek-upload: %s: cannot be used as data_dir: %m\n", s.conf->data_dir);
		return 71;
	}
	listen_start(&l, argv);
	s.mem = arena_new(ARENA_LIMIT);
	s.db = db_open(s.conf, DB_JOBS);
	db_use(s.db, s.mem);
	serve(&s);
	db_close(s.db);
	arena_free(s.mem);
	return 0;
}
