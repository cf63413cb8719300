/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The doors of kinothek-upload: CGI variables in, bytes into put.c, tus.c or s3.c, an answer out. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/failure.h"
#include "core/log.h"
#include "core/origin.h"
#include "core/peer.h"
#include "core/version.h"
#include "fcgi/cgi.h"
#include "fcgi/upload/announce.h"
#include "fcgi/upload/call.h"
#include "fcgi/upload/delivery.h"
#include "fcgi/upload/s3.h"
#include "fcgi/upload/tus.h"
#include "fcgi/upload/wire.h"

#define ARENA_LIMIT (32u << 20)	/* a list of 10,000 parts takes a third of it */
#define PACE 60000	/* ms over which the pace of a body is measured */
#define TICKET_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* One request and its answer. */
struct call {
	const struct intake *in;
	struct arena *mem;
	struct wire wire;
	const char *method, *path;	/* of the door; NULL: none has that address */
	struct put put;
	struct s3_call *s3;		/* NULL: it is not for the object store */
	bool begun;			/* its answer goes out already */
	struct delivery *given;		/* NULL: no media are asked for, or they are refused */
	struct req *made;		/* its answer is ours; NULL: it is our own */
	struct buf lines;		/* of the head, besides */
	char id[UUID_TEXT], request_id[UUID_TEXT];
	struct buf answer;		/* of success */
	int status;
	int64_t started;		/* ms */
};

struct door {
	const char *method, *path;	/* which ends in the id of an upload, if any */
	enum error (*run)(struct call *);
};
static const struct door doors[];

static const char *
param(const struct call *c, const char *name)
{
	return fcgi_param(&c->wire.in, c->mem, name);
}

/* The id behind `prefix`, and the ticket. */
static bool
read_address(struct call *c, const char *uri, size_t prefix)
{
	const char *ticket;

	uri += prefix;
	snprintf(c->id, sizeof(c->id), "%s", uri);
	uri += strlen(c->id);
	if (!uuid_parse(c->id, &c->put.id) || (*uri != '\0' && *uri != '?'))
		return false;
	for (ticket = uri; *ticket != '\0'; ticket += strcspn(ticket, "&")) {
		ticket++;
		if (strncmp(ticket, "ticket=", 7) == 0) {
			c->put.ticket = arena_copy_n(c->mem, ticket + 7, strspn(ticket + 7, TICKET_CHARACTERS));
			break;
		}
	}
	return true;
}

/* Part of a body is none, whatever else says where it belongs (RFC 9110 section 14.5).
 * Without a length, only a chunked body tells its end; a server that buffers it declares one. */
static enum error
read_length(struct call *c)
{
	const char *length = param(c, "CONTENT_LENGTH"), *coding = param(c, "HTTP_TRANSFER_ENCODING");

	c->put.length = -1;
	if (param(c, "HTTP_CONTENT_RANGE") != NULL)
		return ERR_CONTENT_RANGE;
	if (length != NULL && *length != '\0')
		return int_parse(length, &c->put.length) && c->put.length >= 0 ? ERR_NONE : ERR_BAD_REQUEST;
	return coding != NULL && strcmp(coding, "chunked") == 0 ? ERR_NONE : ERR_LENGTH_REQUIRED;
}

static int
read_body(void *user, const struct seat *seat, const void **bytes)
{
	struct call *c = user;

	return wire_read(&c->wire, seat, bytes);
}

static void
put_success(struct call *c)
{
	struct buf *out = &c->answer;

	buf_printf(out, "{\"status\":\"success\",\"data\":{\"id\":\"%s\",\"status\":\"uploaded\",\"receivedBytes\":",
	    c->id);
	buf_int(out, c->put.received);
	buf_text(out, ",\"mimeType\":");
	buf_json(out, c->put.mime_type);
	buf_text(out, ",\"sha256\":");
	buf_json(out, c->put.sha256);
	buf_text(out, "}}");
}

/* The whole file in one body. */
static enum error
upload_put(struct call *c)
{
	enum error error = read_length(c);

	c->put.window = PACE;
	c->put.read = read_body;
	c->put.user = c;
	if (error == ERR_NONE)
		error = put_run(&c->put);
	if (error == ERR_NONE)
		put_success(c);
	return error;
}

/* ---- tus ---- */

/* "x-amz-date" as the web server calls it. */
static const char *
header(void *user, const char *name)
{
	const struct call *c = user;
	const bool is_bare = strcmp(name, "content-type") == 0 || strcmp(name, "content-length") == 0;
	char *text = arena_printf(c->mem, "%s%s", is_bare ? "" : "HTTP_", name);

	for (char *p = text; *p != '\0'; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return param(c, text);
}

static struct req *
ask_interface(void *user, const char *json, const struct upload_tus *tus)
{
	const struct call *c = user;

	return announce(c->in, &c->wire.in, c->mem, json, tus);
}

/* A body that nobody declares is none, but where one has to be. */
static enum error
run_tus(struct call *c, enum error (*run)(struct tus *))
{
	struct tus t = { .put = c->put, .header = header, .read = read_body, .announce = ask_interface, .user = c,
	    .headers = c->lines };
	enum error error = read_length(c);

	t.put.window = PACE;
	t.length = c->put.length;
	if (error == ERR_LENGTH_REQUIRED && run != tus_patch) {
		error = ERR_NONE;
		t.length = 0;
	}
	if (error == ERR_NONE)
		error = run(&t);
	c->put = t.put;
	c->lines = t.headers;
	c->made = t.made;
	return error;
}

static enum error
upload_tus_create(struct call *c)
{
	enum error error = run_tus(c, tus_create);

	snprintf(c->id, sizeof(c->id), "%s", uuid_is_none(c->put.id) ? "" : uuid_text(c->mem, c->put.id));
	return error;
}

static enum error
upload_tus_head(struct call *c)
{
	return run_tus(c, tus_head);
}

static enum error
upload_tus_patch(struct call *c)
{
	return run_tus(c, tus_patch);
}

static enum error
upload_tus_delete(struct call *c)
{
	return run_tus(c, tus_delete);
}

static bool
is_tus(const char *path)
{
	return path != NULL && strncmp(path, TUS_PATH, strlen(TUS_PATH)) == 0 &&
	    strchr("/?", path[strlen(TUS_PATH)]) != NULL;
}

/* What browsers and proxies let through may be a POST alone. */
static void
read_override(struct call *c)
{
	const char *method = param(c, "HTTP_X_HTTP_METHOD_OVERRIDE"), *uri = param(c, "REQUEST_URI");

	if (method != NULL && uri != NULL && strcmp(c->method, "POST") == 0 && strncmp(uri, TUS_PATH "/",
	    strlen(TUS_PATH "/")) == 0)
		c->method = method;
}

/* ---- the object store ---- */

/* A host of our own that a client in front of a proxy may have signed. */
static const char *
public_host(const struct call *c)
{
	const char *host = strstr(c->in->conf->public_url, "://");

	return host != NULL ? arena_copy_n(c->mem, host + 3, strcspn(host + 3, "/")) : NULL;
}

/* S3_CALLS are the methods of the object store, whose paths are not doors. */
#define S3_CALLS "DELETE, GET, HEAD, POST, PUT"
#define S3_HEADERS ", Content-MD5, X-Amz-Acl, X-Amz-Checksum-Algorithm, X-Amz-Checksum-Crc32, X-Amz-Checksum-Crc32c, " \
	"X-Amz-Checksum-Crc64nvme, X-Amz-Checksum-Sha1, X-Amz-Checksum-Sha256, X-Amz-Content-Sha256, X-Amz-Date, " \
	"X-Amz-Decoded-Content-Length, X-Amz-Sdk-Checksum-Algorithm, X-Amz-Security-Token, X-Amz-Trailer, X-Amz-User-Agent, " \
	"Amz-Sdk-Invocation-Id, Amz-Sdk-Request"

static bool give_object(void *user, const void *bytes, size_t n);

static void
object_store(struct call *c, const char *uri)
{
	c->s3 = NEW(c->mem, struct s3_call);
	*c->s3 = (struct s3_call){ .in = c->in, .mem = c->mem, .read = read_body, .give = give_object, .user = c,
	    .length = -1, .window = PACE, .request_id = c->request_id, .request = { .method = c->method, .uri = uri,
	    .header = header, .user = c, .other_host = public_host(c) } };
	c->path = "/storage";
	if (strcmp(c->method, "OPTIONS") == 0)
		return;
	if (read_length(c) == ERR_NONE)
		c->s3->length = c->put.length;
	s3_run(c->s3);
	c->put.id = c->s3->upload_id;
	c->put.received = c->s3->received;
	c->put.reason = c->s3->reason;
	snprintf(c->id, sizeof(c->id), "%s", uuid_is_none(c->put.id) ? "" : uuid_text(c->mem, c->put.id));
}

/* ---- media ---- */

/* Other origins are let in by the web server, as they are to files on its disk. */
static enum error
play(struct call *c, const char *uri)
{
	struct delivery *d = NEW(c->mem, struct delivery);
	enum error error;

	*d = (struct delivery){ .in = c->in, .mem = c->mem, .method = c->method, .uri = uri,
	    .range = param(c, "HTTP_RANGE") };
	c->path = DELIVERY_PATH;
	if (strcmp(c->method, "OPTIONS") == 0)
		return ERR_NONE;
	if (strcmp(c->method, "GET") != 0 && strcmp(c->method, "HEAD") != 0)
		return ERR_METHOD_NOT_ALLOWED;
	error = delivery_run(d);
	c->given = error == ERR_NONE ? d : NULL;
	return error;
}

/* Is it that of the door, which ends in an id or at once? */
static bool
is_address(struct call *c, const char *uri, const char *path)
{
	const size_t prefix = strcspn(path, "{");

	if (uri == NULL || strncmp(uri, path, prefix) != 0)
		return false;
	return path[prefix] == '{' ? read_address(c, uri, prefix) : uri[prefix] == '\0' || uri[prefix] == '?';
}

/* ---- one request ---- */

/* What is behind every server the same is REQUEST_URI.  Nothing in our addresses needs an escape. */
static enum error
find_door(struct call *c, const struct door **door)
{
	const char *uri = param(c, "REQUEST_URI");
	const struct door *d;

	*door = NULL;
	for (d = doors; d->method != NULL; d++) {
		if (c->path != NULL ? strcmp(c->path, d->path) != 0 : !is_address(c, uri, d->path))
			continue;
		c->path = d->path;
		if (strcmp(c->method, d->method) == 0)
			*door = d;
	}
	return c->path == NULL ? ERR_NOT_FOUND : *door == NULL ? ERR_METHOD_NOT_ALLOWED : ERR_NONE;
}

static bool
is_secure(const struct call *c)
{
	struct peer peer;

	if (!c->in->conf->require_https)
		return true;
	peer = peer_find(c->mem, c->in->conf->trusted_proxies, param(c, "REMOTE_ADDR"), param(c, "HTTPS"),
	    param(c, "HTTP_X_FORWARDED_FOR"), param(c, "HTTP_X_FORWARDED_PROTO"));
	return peer.https || peer.loopback;
}

static enum error
run(struct call *c)
{
	const char *uri = param(c, "REQUEST_URI");
	const struct door *door;
	enum error error;

	if (is_tus(uri))
		tus_begin(&c->lines);
	if (c->wire.in.state == FCGI_HEAD_TOO_LARGE)
		return ERR_HEAD_TOO_LARGE;
	if (!is_secure(c))
		return ERR_HTTPS_REQUIRED;
	if (s3_is_address(uri)) {
		object_store(c, uri);
		return ERR_NONE;
	}
	if (uri != NULL && strncmp(uri, DELIVERY_PATH, strlen(DELIVERY_PATH)) == 0)
		return play(c, uri);
	read_override(c);
	error = find_door(c, &door);
	if (error == ERR_METHOD_NOT_ALLOWED && strcmp(c->method, "OPTIONS") == 0) {
		if (is_tus(c->path))
			tus_describe(&c->lines, c->in->conf);
		return ERR_NONE;
	}
	return error == ERR_NONE ? door->run(c) : error;
}

static bool
is_media(const struct call *c)
{
	return c->path != NULL && strcmp(c->path, DELIVERY_PATH) == 0;
}

/* "PUT, HEAD": what the path takes. */
static const char *
methods(const struct call *c)
{
	struct buf b = BUF(c->mem);
	const struct door *d;

	if (c->s3 != NULL)
		return S3_CALLS;
	if (is_media(c))
		return "GET, HEAD";
	for (d = doors; d->method != NULL; d++)
		if (c->path != NULL && strcmp(d->path, c->path) == 0)
			buf_printf(&b, "%s%s", b.len > 0 ? ", " : "", d->method);
	return buf_string(&b);
}

/* A preflight has no ticket: that any tenant names the origin is enough, as it is for an upload that is not there. */
static bool
is_allowed(const struct call *c, const char *origin)
{
	bool any = strcmp(c->method, "OPTIONS") == 0 || c->path == NULL || uuid_is_none(c->put.id), yes;
	struct db *db;

	if (origin_of_server(c->in->conf, origin))
		return true;
	if ((db = links_ask(c->in->links)) == NULL)
		return false;
	yes = any ? origin_of_any(db, origin) : origin_of_upload(db, c->put.id, origin);
	links_give(c->in->links, db);
	return yes;
}

static void
put_cors(const struct call *c, struct buf *head)
{
	const char *origin = param(c, "HTTP_ORIGIN");

	if (is_media(c))
		return;
	buf_text(head, "Vary: Origin\r\n");
	if (origin == NULL || !origin_is_one(origin) || !is_allowed(c, origin))
		return;
	origin_allow(head, c->in->conf, origin);
	if (strcmp(c->method, "OPTIONS") == 0 && c->status == 204)
		origin_allow_methods(head, methods(c), c->s3 != NULL ? S3_HEADERS : is_tus(c->path) ? TUS_HEADERS : "");
}

/* A refused content adds the code of its reason. */
static const char *
put_failure(struct call *c, enum error error)
{
	const struct put *p = &c->put;
	struct faults faults = { .n = 0 };

	c->answer = BUF(c->mem);
	if (p->reason != REASON_NONE)
		fault_add(&faults, c->mem, "", reason_info(p->reason)->code, "%s", reason_info(p->reason)->remedy);
	return failure_render(&c->answer, error, p->detail != NULL ? p->detail : error_info(error)->text, &faults,
	    c->request_id, param(c, "HTTP_ACCEPT"));
}

static struct buf
head_of_object(struct call *c)
{
	struct buf head = BUF(c->mem);
	const struct s3_call *s3 = c->s3;

	c->status = strcmp(c->method, "OPTIONS") == 0 ? 204 : s3->status;
	buf_printf(&head, "Status: %d\r\nX-Amz-Request-Id: %s\r\nX-Request-Id: %s\r\nCache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n", c->status, c->request_id, c->request_id);
	put_cors(c, &head);
	if (c->status == 204 || c->status == 405)
		buf_printf(&head, "Allow: %s, OPTIONS\r\n", methods(c));
	if (c->status == 503)
		buf_text(&head, "Retry-After: 5\r\n");
	if (s3->headers.len > 0)
		buf_text(&head, buf_string(&s3->headers));
	return head;
}

/* Behind its head, whose length whoever gives has told. */
static bool
give_object(void *user, const void *bytes, size_t n)
{
	struct call *c = user;
	struct buf head;

	if (!c->begun) {
		c->begun = true;
		head = head_of_object(c);
		buf_text(&head, "\r\n");
		if (!wire_send(&c->wire, head.text, head.len))
			return false;
	}
	return wire_send(&c->wire, bytes, n);
}

/* Lengths of HEAD are told by what answers it. */
static void
answer_object(struct call *c)
{
	struct buf head = head_of_object(c);
	const struct s3_call *s3 = c->s3;
	const bool is_head = strcmp(c->method, "HEAD") == 0, is_bare = is_head || c->status == 204 || c->status == 304;
	struct iovec parts[2];

	if (c->begun) {
		if (!s3->cut)
			wire_end(&c->wire);
		return;
	}
	if (!is_bare)
		buf_printf(&head, "Content-Length: %zu\r\n", s3->body.len);
	buf_text(&head, "\r\n");
	parts[0] = (struct iovec){ head.text, head.len };
	parts[1] = (struct iovec){ s3->body.text, s3->body.len };
	wire_answer(&c->wire, c->mem, parts, is_bare ? 1 : 2);
}

static void
answer_given(struct call *c)
{
	struct buf head = BUF(c->mem);
	const struct delivery *d = c->given;
	const bool is_redirect = d->location != NULL;
	const char *known = param(c, "HTTP_IF_NONE_MATCH");
	const bool is_known = d->etag != NULL && known != NULL && strstr(known, d->etag) != NULL;
	struct iovec parts[2];

	c->status = is_redirect ? 302 : is_known ? 304 : 200;
	buf_printf(&head, "Status: %d\r\nX-Request-Id: %s\r\nX-Api-Version: %s\r\nCache-Control: %s\r\n"
	    "X-Content-Type-Options: nosniff\r\n", c->status, c->request_id, API_VERSION, d->cache_control);
	if (!is_known)
		buf_printf(&head, "Content-Length: %zu\r\n", d->size);
	if (d->etag != NULL)
		buf_printf(&head, "ETag: %s\r\n", d->etag);
	if (d->disposition != NULL)
		buf_printf(&head, "Content-Disposition: %s\r\n", d->disposition);
	buf_printf(&head, is_redirect ? "Location: %s\r\n\r\n" : "Content-Type: %s\r\n\r\n", is_redirect ?
	    d->location : d->type);
	parts[0] = (struct iovec){ head.text, head.len };
	parts[1] = (struct iovec){ (void *)d->text, d->size };
	wire_answer(&c->wire, c->mem, parts, is_redirect || is_known || strcmp(c->method, "HEAD") == 0 ? 1 : 2);
}

static void
answer(struct call *c, enum error error)
{
	struct buf head = BUF(c->mem);
	const char *type = error != ERR_NONE ? put_failure(c, error) : "application/json";
	struct iovec parts[2];

	c->status = error != ERR_NONE ? error_info(error)->status : c->answer.len > 0 ? 200 : 204;
	buf_printf(&head, "Status: %d\r\nX-Request-Id: %s\r\nX-Api-Version: %s\r\nCache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n", c->status, c->request_id, API_VERSION);
	put_cors(c, &head);
	if (strcmp(c->method, "OPTIONS") == 0 || c->status == 405)
		buf_printf(&head, "Allow: %s, OPTIONS\r\n", methods(c));
	if (c->status == 503)
		buf_text(&head, "Retry-After: 5\r\n");
	if (c->status != 204)
		buf_printf(&head, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, c->answer.len);
	buf_add(&head, c->lines.text, c->lines.len);
	buf_text(&head, "\r\n");
	parts[0] = (struct iovec){ head.text, head.len };
	parts[1] = (struct iovec){ c->answer.text, c->answer.len };
	wire_answer(&c->wire, c->mem, parts, strcmp(c->method, "HEAD") == 0 ? 1 : 2);
}

/* What the interface answered, as if it had been asked itself. */
static void
answer_made(struct call *c)
{
	struct req *r = c->made;
	struct buf head;
	struct iovec parts[2];

	c->status = r->status;
	buf_add(&r->headers, c->lines.text, c->lines.len);
	head = cgi_answer_head(r, true);
	parts[0] = (struct iovec){ head.text, head.len };
	parts[1] = (struct iovec){ r->out.text, r->out.len };
	wire_answer(&c->wire, c->mem, parts, 2);
}

/* Never the query: it holds the ticket. */
static void
log_call(const struct call *c, enum error error)
{
	enum log_level level = c->status >= 500 ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;

	log_line(level, "request", LOG_TEXT("req", c->request_id), LOG_TEXT("method", c->method),
	    LOG_TEXT("route", c->path), LOG_TEXT("upload", c->path != NULL ? c->id : NULL),
	    LOG_INT("status", c->status), LOG_TEXT("code", error != ERR_NONE ? error_info(error)->code : c->s3 != NULL ?
	    s3_error_info(c->s3->error)->code : NULL),
	    LOG_TEXT("reason", c->put.reason != REASON_NONE ? reason_info(c->put.reason)->code : NULL),
	    LOG_INT("bytes", c->put.received), LOG_INT("ms", clock_ms() - c->started));
}

void
call_serve(const struct intake *in, int fd, struct uuid id)
{
	struct arena *mem = arena_new(ARENA_LIMIT);
	struct call c = { .in = in, .mem = mem, .answer = BUF(mem), .lines = BUF(mem), .put = { .in = in, .mem = mem },
	    .started = clock_ms() };
	enum error error;

	uuid_format(id, c.request_id);
	if (wire_open(&c.wire, fd)) {
		c.method = param(&c, "REQUEST_METHOD");
		if (c.method == NULL)
			c.method = "";
		error = run(&c);
		if (c.s3 != NULL)
			answer_object(&c);
		else if (c.given != NULL)
			answer_given(&c);
		else if (c.made != NULL)
			answer_made(&c);
		else
			answer(&c, error);
		log_call(&c, error);
	}
	wire_close(&c.wire);
	arena_free(mem);
}

static const struct door doors[] = {
	{ "PUT", "/upload/{uploadId}", upload_put },
	{ "POST", TUS_PATH, upload_tus_create },
	{ "HEAD", TUS_PATH "/{uploadId}", upload_tus_head },
	{ "PATCH", TUS_PATH "/{uploadId}", upload_tus_patch },
	{ "DELETE", TUS_PATH "/{uploadId}", upload_tus_delete },
	{ 0 }
};
