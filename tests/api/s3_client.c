/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that are signed by hand, and what comes of them. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "core/store.h"
#include "tests/api/s3_client.h"

#define MP4 "\0\0\0\030ftypisom\0\0\2\0isomiso2"

struct intake here;

const char *
header_of(void *user, const char *name)
{
	const struct sending *s = user;

	for (size_t i = 0; i < s->n; i++)
		if (strcasecmp(s->at[i].name, name) == 0)
			return s->at[i].value;
	return NULL;
}

int
read_some(void *user, const struct seat *seat, const void **bytes)
{
	struct sending *s = user;
	size_t n = s->left < 100003 ? s->left : 100003;

	*bytes = s->body;
	s->body += n;
	s->left -= n;
	if (s->meanwhile != NULL && (n == 0 || (s->nap > 0 && s->begun))) {
		void (*meanwhile)(void *) = s->meanwhile;

		s->meanwhile = NULL;
		meanwhile(s->user);
		usleep((useconds_t)s->nap * 1000);
	}
	s->begun = true;
	return seat->ended != ERR_NONE || (n == 0 && s->cut) ? -1 : (int)n;
}

static bool
take_given(void *user, const void *bytes, size_t n)
{
	struct sending *s = user;

	buf_add(&s->given, bytes, n);
	return s->enough == 0 || s->given.len < s->enough;
}

const char *
hex_sha256(struct world *w, const void *bytes, size_t n)
{
	unsigned char md[32];

	EVP_Digest(bytes, n, md, NULL, EVP_sha256(), NULL);
	return hex_encode(w->mem, md, sizeof(md));
}

static void
mac(const void *key, size_t n, const char *text, unsigned char out[32])
{
	assert_non_null(HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text, strlen(text), out, NULL));
}

void
signing_key(struct world *w, const char *secret, const char *day, unsigned char key[32])
{
	const char *first = arena_printf(w->mem, "AWS4%s", secret);

	mac(first, strlen(first), day, key);
	mac(key, 32, REGION, key);
	mac(key, 32, "s3", key);
	mac(key, 32, "aws4_request", key);
}

const char *
sign_text(struct world *w, const char *secret, const char *date, const char *text)
{
	unsigned char key[32], out[32];

	signing_key(w, secret, arena_copy_n(w->mem, date, 8), key);
	mac(key, sizeof(key), text, out);
	return hex_encode(w->mem, out, sizeof(out));
}

const char *
date_of(struct world *w, int64_t skew)
{
	time_t now = time(NULL) + skew;
	char *text = arena_alloc(w->mem, 20);
	struct tm tm;

	strftime(text, 20, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	return text;
}

const char *
scope_of(struct world *w, const char *date)
{
	return arena_printf(w->mem, "%.8s/" REGION "/s3/aws4_request", date);
}

/* Written anew from the documentation: what it says and fcgi/upload/s3_sign.c agree, or one of them is wrong. */
const char *
authorization(const struct client *c, const struct ask *a, const char *path, const char *date, const char *content)
{
	struct world *w = c->w;
	const char *names = arena_printf(w->mem, "host%s;x-amz-content-sha256;x-amz-date%s", c->signs_transfer ?
	    ";transfer-encoding" : "", c->no_token ? "" : ";x-amz-security-token");
	const char *canonical = arena_printf(w->mem, "%s\n%s\n%s\nhost:%s\n%sx-amz-content-sha256:%s\nx-amz-date:%s\n"
	    "%s\n%s\n%s", a->method, path, a->query != NULL ? a->query : "", c->host != NULL ? c->host :
	    "media.example", c->signs_transfer ? "transfer-encoding:chunked\n" : "", content, date, c->no_token ? "" :
	    arena_printf(w->mem, "x-amz-security-token:%s\n", c->token), names, content);
	const char *signature = sign_text(w, a->secret != NULL ? a->secret : c->secret, date, arena_printf(w->mem,
	    "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope_of(w, date), hex_sha256(w, canonical, strlen(canonical))));

	return arena_printf(w->mem, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s", c->key,
	    scope_of(w, date), names, signature);
}

struct s3_call *
send_signed(const struct client *c, const struct ask *a, const char *date, const char *auth, const char *content)
{
	struct world *w = c->w;
	struct sending *s = NEW(w->mem, struct sending);
	struct s3_call *call = NEW(w->mem, struct s3_call);
	const char *path = a->path != NULL ? a->path : arena_printf(w->mem, "/storage/uploads/%s", c->id);

	*s = (struct sending){ .given = BUF(w->mem), .enough = a->enough, .body = a->wire != NULL ? a->wire :
	    a->body, .left = a->wire != NULL ? a->n_wire : a->n, .cut = a->cut, .meanwhile = a->meanwhile,
	    .nap = a->nap, .user = a->user };
	s->at[s->n++] = (struct header){ "Host", "media.example" };
	s->at[s->n++] = (struct header){ "X-Amz-Date", date };
	s->at[s->n++] = (struct header){ "X-Amz-Content-Sha256", content };
	if (!c->no_token)
		s->at[s->n++] = (struct header){ "X-Amz-Security-Token", c->token };
	if (auth != NULL)
		s->at[s->n++] = (struct header){ "Authorization", auth };
	for (size_t i = 0; i < 8 && a->more[i].name != NULL; i++)
		s->at[s->n++] = a->more[i];
	/* A connection that breaks has promised all of it. */
	*call = (struct s3_call){ .in = &here, .mem = w->mem, .length = (int64_t)(a->cut ? a->n : s->left), .read =
	    read_some, .give = take_given, .user = s, .window = a->window,
	    .request_id = uuid_text(w->mem, uuid_new()), .request = { .method = a->method, .uri = a->query == NULL ?
	    path : arena_printf(w->mem, "%s?%s", path, a->query), .header = header_of, .user = s,
	    .other_host = a->other_host } };
	s3_run(call);
	return call;
}

struct s3_call *
ask(const struct client *c, const struct ask *a)
{
	struct world *w = c->w;
	const char *path = a->path != NULL ? a->path : arena_printf(w->mem, "/storage/uploads/%s", c->id),
	    *content = a->content != NULL ? a->content : hex_sha256(w, a->body, a->n), *date = date_of(w, c->skew);

	return send_signed(c, a, date, authorization(c, a, path, date, content), content);
}

const char *
body_of(const struct s3_call *c)
{
	return buf_string(&c->body);
}

/* The text of the first element of that name; NULL: there is none. */
const char *
element(struct world *w, const struct s3_call *c, const char *name)
{
	const char *open = strstr(body_of(c), arena_printf(w->mem, "<%s>", name));

	if (open == NULL)
		return NULL;
	open += strlen(name) + 2;
	return arena_copy_n(w->mem, open, strcspn(open, "<"));
}

void
refused(const struct client *c, const struct s3_call *call, int status, const char *code)
{
	const char *told = element(c->w, call, "Code");

	if (call->status != status || told == NULL || strcmp(told, code) != 0)
		fail_msg("%s %s: %d %s, not %d %s", call->request.method, call->request.uri, call->status,
		    body_of(call), status, code);
}

void
fine(const struct s3_call *call)
{
	if (call->error != S3_FINE)
		fail_msg("%s %s: %d %s", call->request.method, call->request.uri, call->status, body_of(call));
}

const char *
header_told(struct world *w, const struct s3_call *c, const char *name)
{
	const char *at = strstr(buf_string(&c->headers), arena_printf(w->mem, "%s: ", name));

	return at == NULL ? NULL : arena_copy_n(w->mem, at + strlen(name) + 2, strcspn(at + strlen(name) + 2, "\r"));
}

/* ---- an upload ---- */

struct client
client_of(struct world *w, const char *more)
{
	struct req *r = call(w, "POST", "/v2/uploads", arena_printf(w->mem, "{\"fileName\":\"a.mp4\"%s}", more));

	if (here.conf == NULL)
		here = (struct intake){ w->conf, links_new(w->conf, 2), room_new(8, 2, 2) };
	assert_int_equal(r->status, 201);
	return (struct client){ w, text(w, r, "data.id"), text(w, r, "data.input.accessKeyId"), text(w, r,
	    "data.input.secretAccessKey"), text(w, r, "data.input.sessionToken"), 0, false };
}

/* The beginning of a film and then other bytes each time. */
char *
film(struct world *w, size_t n)
{
	static unsigned seed = 1;
	char *bytes = arena_raw(w->mem, n);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
	memcpy(bytes, MP4, n < sizeof(MP4) - 1 ? n : sizeof(MP4) - 1);
	return bytes;
}

const char *
begin(const struct client *c)
{
	struct s3_call *r = ask(c, &(struct ask){ "POST", .query = "uploads=" });

	fine(r);
	return element(c->w, r, "UploadId");
}

const char *
part_query(const struct client *c, int number, const char *upload)
{
	return arena_printf(c->w->mem, "partNumber=%d&uploadId=%s", number, upload);
}

/* Its ETag. */
const char *
part(const struct client *c, const char *upload, int number, const char *bytes, size_t n)
{
	struct s3_call *r = ask(c, &(struct ask){ "PUT", .query = part_query(c, number, upload), .body = bytes, .n =
	    n });

	fine(r);
	return header_told(c->w, r, "ETag");
}

struct s3_call *
complete(const struct client *c, const char *upload, const char *parts)
{
	const char *body = arena_printf(c->w->mem, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", parts);

	return ask(c, &(struct ask){ "POST", .query = arena_printf(c->w->mem, "uploadId=%s", upload), .body = body,
	    .n = strlen(body) });
}

const char *
named(const struct client *c, int number, const char *etag)
{
	return arena_printf(c->w->mem, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", number, etag);
}

const char *
status_of(const struct client *c)
{
	return text(c->w, call(c->w, "GET", arena_printf(c->w->mem, "/v2/uploads/%s", c->id), NULL), "data.status");
}

struct uuid
uuid_of(const struct client *c)
{
	struct uuid id;

	assert_true(uuid_parse(c->id, &id));
	return id;
}

/* What is in the directory of the upload. */
int64_t
files_of(const struct client *c)
{
	size_t n;

	store_list(c->w->mem, arena_printf(c->w->mem, "uploads/%s/", c->id), NULL, 100, &n);
	return (int64_t)n;
}

/* But what is worked out of them. */
int64_t
parts_of(const struct client *c)
{
	const char *path = arena_printf(c->w->mem, "%s/1.ahead", store_incoming(c->w->mem, uuid_of(c)));

	return files_of(c) - (access(path, F_OK) == 0);
}

void
holds(const struct client *c, const char *bytes, size_t n)
{
	size_t there;
	const char *stored = store_get(c->w->mem, store_key_original(c->w->mem, uuid_of(c)), 100 * MIB, &there);

	assert_non_null(stored);
	assert_int_equal(there, n);
	assert_memory_equal(stored, bytes, n);
	assert_string_equal(text(c->w, call(c->w, "GET", arena_printf(c->w->mem, "/v2/uploads/%s", c->id), NULL),
	    "data.sha256"), hex_sha256(c->w, bytes, n));
}

void
near_its_end(void *user)
{
	const struct client *c = user;

	db_run(c->w->db, "UPDATE uploads SET expires_at = " SQL_NOW " + 60000 WHERE id = ?", ARGS(ID(uuid_of(c))));
}

void
send_other(void *user)
{
	struct other *o = user;

	o->error = ask(o->c, &o->ask)->error;
}

int
s3_client_close(void **state)
{
	links_free(here.links);
	room_free(here.room);
	return world_close(state);
}
