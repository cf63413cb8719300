/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CGI variables into a request, an answer into CGI's lines. */
#include <string.h>
#include <sys/socket.h>

#include "core/peer.h"
#include "fcgi/cgi.h"

#define SPOOLED 65536	/* bytes of an answer from which on lighttpd writes it to a file first */

/* What was declared, or -1. */
int64_t
cgi_length(const struct fcgi *f, struct arena *mem)
{
	const char *text = fcgi_param(f, mem, "CONTENT_LENGTH");
	int64_t n;

	return text && int_parse(text, &n) && n >= 0 ? n : -1;
}

/* Of the path only REQUEST_URI is the same behind every server. */
struct req *
cgi_head(const struct fcgi *f, const struct conf *conf, struct db *db, struct arena *mem)
{
	struct req *r = NEW(mem, struct req);
	struct peer peer = peer_find(mem, conf->trusted_proxies, fcgi_param(f, mem, "REMOTE_ADDR"),
	    fcgi_param(f, mem, "HTTPS"), fcgi_param(f, mem, "HTTP_X_FORWARDED_FOR"),
	    fcgi_param(f, mem, "HTTP_X_FORWARDED_PROTO"));

	r->mem = mem;
	r->db = db;
	r->conf = conf;
	r->client_fd = -1;
	r->came = clock_ms();
	r->method_name = fcgi_param(f, mem, "REQUEST_METHOD");
	r->uri = fcgi_param(f, mem, "REQUEST_URI");
	r->content_type = fcgi_param(f, mem, "CONTENT_TYPE");
	r->accept = fcgi_param(f, mem, "HTTP_ACCEPT");
	r->authorization = fcgi_param(f, mem, "HTTP_AUTHORIZATION");
	r->if_match = fcgi_param(f, mem, "HTTP_IF_MATCH");
	r->if_none_match = fcgi_param(f, mem, "HTTP_IF_NONE_MATCH");
	r->origin = fcgi_param(f, mem, "HTTP_ORIGIN");
	r->idempotency_key = fcgi_param(f, mem, "HTTP_IDEMPOTENCY_KEY");
	r->request_method = fcgi_param(f, mem, "HTTP_ACCESS_CONTROL_REQUEST_METHOD");
	r->cookie = fcgi_param(f, mem, "HTTP_COOKIE");
	r->fetch_site = fcgi_param(f, mem, "HTTP_SEC_FETCH_SITE");
	r->user_agent = fcgi_param(f, mem, "HTTP_USER_AGENT");
	r->accept_language = fcgi_param(f, mem, "HTTP_ACCEPT_LANGUAGE");
	r->last_event_id = fcgi_param(f, mem, "HTTP_LAST_EVENT_ID");
	r->content_range = fcgi_param(f, mem, "HTTP_CONTENT_RANGE");
	r->client = peer.address;
	r->https = peer.https;
	r->loopback = peer.loopback;
	if (!r->method_name)
		r->method_name = "";
	if (!r->uri)
		r->uri = "";
	return r;
}

struct req *
cgi_visit(const struct visit *v, const struct conf *conf, struct db *db, struct arena *mem)
{
	struct req *r = cgi_head(&v->in, conf, db, mem);

	r->client_fd = v->fd;
	r->came = v->began;
	return r;
}

/* A client that dies, or lies about the length, sends another number of bytes than it declared. */
void
cgi_body(struct req *r, struct visit *v)
{
	static const enum error errors[] = { [VISIT_TOO_LARGE] = ERR_TOO_LARGE,
		[VISIT_HEAD_TOO_LARGE] = ERR_HEAD_TOO_LARGE, [VISIT_TOO_SLOW] = ERR_TOO_SLOW,
		[VISIT_CROWDED] = ERR_TOO_BUSY, [VISIT_NO_TURN] = ERR_NONE };
	int64_t declared = cgi_length(&v->in, r->mem);

	r->body = fcgi_body(&v->in);
	r->body_size = v->in.body_n;
	r->body_error = errors[v->fault];
	if (!r->body_error && declared >= 0 && (size_t)declared != r->body_size)
		r->body_error = ERR_INCOMPLETE_BODY;
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
 * lighttpd spools what it finds waiting for it beyond SPOOLED bytes, at the price of the whole request.  With less room
 * in the socket it never finds so much.  Of a longer answer it would take many turns: that one had better be spooled.
 */
static void
narrow(int fd, size_t n)
{
	int room = SPOOLED / 2;		/* the kernel doubles it */

	if (n > SPOOLED - 4096 && n < SPOOLED * 2)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

struct buf
cgi_answer_head(const struct req *r, bool whole)
{
	struct buf head = BUF(r->mem);
	bool bodiless = r->status == 204 || r->status == 304;

	buf_printf(&head, "Status: %d\r\n", r->status);
	add_header(&head, "X-Request-Id", r->request_id);
	add_header(&head, "X-Api-Version", API_VERSION);
	if (!bodiless)
		add_header(&head, "Content-Type", r->answer_type);
	if (!bodiless && whole)
		buf_printf(&head, "Content-Length: %zu\r\n", r->out.len);
	add_header(&head, "ETag", r->etag);
	add_header(&head, "Location", r->location);
	add_header(&head, "Cache-Control", r->cache_control);
	add_header(&head, "Content-Disposition", r->disposition);
	if (r->retry_after)
		buf_printf(&head, "Retry-After: %d\r\n", r->retry_after);
	add_header(&head, "X-Content-Type-Options", "nosniff");
	buf_add(&head, r->headers.text, r->headers.len);
	buf_text(&head, "\r\n");
	return head;
}

void
cgi_answer(struct visit *v, struct req *r)
{
	struct buf head = cgi_answer_head(r, true);
	bool bodiless = r->status == 204 || r->status == 304;
	struct iovec parts[2];

	narrow(v->fd, r->out.len);
	parts[0] = (struct iovec){ head.text, head.len };
	parts[1] = (struct iovec){ r->out.text, r->out.len };
	server_send(v, r->mem, parts, bodiless || !strcmp(r->method_name, "HEAD") ? 1 : 2);
}
