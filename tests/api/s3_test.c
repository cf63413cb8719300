/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The object store below /storage, as clients of Amazon S3 speak to it; signed here by hand. */
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <libxml/xmlmemory.h>
#include <malloc.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "core/store.h"
#include "fcgi/upload/s3.h"
#include "fcgi/upload/s3_ahead.h"
#include "tests/world.h"

#define MP4 "\0\0\0\030ftypisom\0\0\2\0isomiso2"
#define MIB (1 << 20)
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define REGION "us-east-1"
#define XMLNS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

static struct intake here;

/* ---- a client ---- */

struct header { const char *name, *value; };
enum { HEADERS = 24 };

struct client {
	struct world *w;
	const char *id, *key, *secret, *token;
	int64_t skew;				/* s */
	bool no_token;
};

/* A request: what of it is NULL or 0 is as usual. */
struct ask {
	const char *method, *path, *query;	/* query: encoded, in order */
	const char *body;
	size_t n;
	struct header more[8];
	const char *content;			/* x-amz-content-sha256; NULL: that of the body */
	const char *secret, *wire;		/* wire: what is sent instead of body */
	size_t n_wire;
	bool cut;				/* the connection breaks behind what is sent */
	size_t enough;				/* or so many bytes of an object have come; 0: it does not */
	void (*meanwhile)(void *);		/* happens between the body and its answer, */
	int nap;				/* or in the body */
	void *user;
};

struct sending {
	struct buf given;			/* of an object, */
	size_t enough;				/* of which so many bytes are wanted; 0: all */
	struct header at[HEADERS];
	size_t n;
	const char *body;
	size_t left;
	bool cut, begun;
	void (*meanwhile)(void *);		/* once, when all of the body was read, */
	int nap;				/* or else behind its first piece; then for so many ms nothing comes */
	void *user;
};

static const char *
header_of(void *user, const char *name)
{
	const struct sending *s = user;

	for (size_t i = 0; i < s->n; i++)
		if (strcasecmp(s->at[i].name, name) == 0)
			return s->at[i].value;
	return NULL;
}

static int
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

static const char *
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

static void
signing_key(struct world *w, const char *secret, const char *day, unsigned char key[32])
{
	const char *first = arena_printf(w->mem, "AWS4%s", secret);

	mac(first, strlen(first), day, key);
	mac(key, 32, REGION, key);
	mac(key, 32, "s3", key);
	mac(key, 32, "aws4_request", key);
}

static const char *
sign_text(struct world *w, const char *secret, const char *date, const char *text)
{
	unsigned char key[32], out[32];

	signing_key(w, secret, arena_copy_n(w->mem, date, 8), key);
	mac(key, sizeof(key), text, out);
	return hex_encode(w->mem, out, sizeof(out));
}

static const char *
date_of(struct world *w, int64_t skew)
{
	time_t now = time(NULL) + skew;
	char *text = arena_alloc(w->mem, 20);
	struct tm tm;

	strftime(text, 20, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	return text;
}

static const char *
scope_of(struct world *w, const char *date)
{
	return arena_printf(w->mem, "%.8s/" REGION "/s3/aws4_request", date);
}

/* Written anew from the documentation: what it says and fcgi/upload/s3_sign.c agree, or one of them is wrong. */
static const char *
authorization(const struct client *c, const struct ask *a, const char *path, const char *date, const char *content)
{
	struct world *w = c->w;
	const char *names = c->no_token ? "host;x-amz-content-sha256;x-amz-date" :
	    "host;x-amz-content-sha256;x-amz-date;x-amz-security-token";
	const char *canonical = arena_printf(w->mem, "%s\n%s\n%s\nhost:media.example\nx-amz-content-sha256:%s\n"
	    "x-amz-date:%s\n%s\n%s\n%s", a->method, path, a->query != NULL ? a->query : "", content, date,
	    c->no_token ? "" : arena_printf(w->mem, "x-amz-security-token:%s\n", c->token), names, content);
	const char *signature = sign_text(w, a->secret != NULL ? a->secret : c->secret, date, arena_printf(w->mem,
	    "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope_of(w, date), hex_sha256(w, canonical, strlen(canonical))));

	return arena_printf(w->mem, "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s", c->key,
	    scope_of(w, date), names, signature);
}

static struct s3_call *
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
	    read_some, .give = take_given, .user = s,
	    .request_id = uuid_text(w->mem, uuid_new()), .request = { .method = a->method, .uri = a->query == NULL ?
	    path : arena_printf(w->mem, "%s?%s", path, a->query), .header = header_of, .user = s } };
	s3_run(call);
	return call;
}

static struct s3_call *
ask(const struct client *c, const struct ask *a)
{
	struct world *w = c->w;
	const char *path = a->path != NULL ? a->path : arena_printf(w->mem, "/storage/uploads/%s", c->id),
	    *content = a->content != NULL ? a->content : hex_sha256(w, a->body, a->n), *date = date_of(w, c->skew);

	return send_signed(c, a, date, authorization(c, a, path, date, content), content);
}

static const char *
body_of(const struct s3_call *c)
{
	return buf_string(&c->body);
}

/* The text of the first element of that name; NULL: there is none. */
static const char *
element(struct world *w, const struct s3_call *c, const char *name)
{
	const char *open = strstr(body_of(c), arena_printf(w->mem, "<%s>", name));

	if (open == NULL)
		return NULL;
	open += strlen(name) + 2;
	return arena_copy_n(w->mem, open, strcspn(open, "<"));
}

static void
refused(const struct client *c, const struct s3_call *call, int status, const char *code)
{
	const char *told = element(c->w, call, "Code");

	if (call->status != status || told == NULL || strcmp(told, code) != 0)
		fail_msg("%s %s: %d %s, not %d %s", call->request.method, call->request.uri, call->status,
		    body_of(call), status, code);
}

static void
fine(const struct s3_call *call)
{
	if (call->error != S3_FINE)
		fail_msg("%s %s: %d %s", call->request.method, call->request.uri, call->status, body_of(call));
}

static const char *
header_told(struct world *w, const struct s3_call *c, const char *name)
{
	const char *at = strstr(buf_string(&c->headers), arena_printf(w->mem, "%s: ", name));

	return at == NULL ? NULL : arena_copy_n(w->mem, at + strlen(name) + 2, strcspn(at + strlen(name) + 2, "\r"));
}

/* ---- an upload ---- */

static struct client
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
static char *
film(struct world *w, size_t n)
{
	static unsigned seed = 1;
	char *bytes = arena_raw(w->mem, n);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
	memcpy(bytes, MP4, n < sizeof(MP4) - 1 ? n : sizeof(MP4) - 1);
	return bytes;
}

static const char *
begin(const struct client *c)
{
	struct s3_call *r = ask(c, &(struct ask){ "POST", .query = "uploads=" });

	fine(r);
	return element(c->w, r, "UploadId");
}

static const char *
part_query(const struct client *c, int number, const char *upload)
{
	return arena_printf(c->w->mem, "partNumber=%d&uploadId=%s", number, upload);
}

/* Its ETag. */
static const char *
part(const struct client *c, const char *upload, int number, const char *bytes, size_t n)
{
	struct s3_call *r = ask(c, &(struct ask){ "PUT", .query = part_query(c, number, upload), .body = bytes, .n =
	    n });

	fine(r);
	return header_told(c->w, r, "ETag");
}

static struct s3_call *
complete(const struct client *c, const char *upload, const char *parts)
{
	const char *body = arena_printf(c->w->mem, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", parts);

	return ask(c, &(struct ask){ "POST", .query = arena_printf(c->w->mem, "uploadId=%s", upload), .body = body,
	    .n = strlen(body) });
}

static const char *
named(const struct client *c, int number, const char *etag)
{
	return arena_printf(c->w->mem, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", number, etag);
}

static const char *
status_of(const struct client *c)
{
	return text(c->w, call(c->w, "GET", arena_printf(c->w->mem, "/v2/uploads/%s", c->id), NULL), "data.status");
}

static struct uuid
uuid_of(const struct client *c)
{
	struct uuid id;

	assert_true(uuid_parse(c->id, &id));
	return id;
}

/* What is in the directory of the upload. */
static int64_t
files_of(const struct client *c)
{
	size_t n;

	store_list(c->w->mem, arena_printf(c->w->mem, "uploads/%s/", c->id), NULL, 100, &n);
	return (int64_t)n;
}

/* But what is worked out of them. */
static int64_t
parts_of(const struct client *c)
{
	const char *path = arena_printf(c->w->mem, "%s/1.ahead", store_incoming(c->w->mem, uuid_of(c)));

	return files_of(c) - (access(path, F_OK) == 0);
}

static void
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

/* ---- tests ---- */

/* Check values of the catalogue of parametrised CRC algorithms (reveng.sourceforge.io), and of FIPS 180. */
static void
checksums_are_those_of_their_standards(void **state)
{
	static const struct { const char *name, *sum; } cases[] = {
		{ "CRC32", "y/Q5Jg==" }, { "crc32c", "4waSgw==" }, { "CRC64NVME", "rosUhgp5mIg=" },
		{ "sha1", "98O8HYCOBHMq32eZZczDTKeuNEE=" }, { "SHA256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=" },
	};
	struct world *w = *state;
	struct s3_sum s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t cut = 0; cut <= 9; cut++) {
			s3_sum_begin(&s, s3_sum_find(cases[i].name));
			s3_sum_add(&s, "123456789", cut);
			s3_sum_add(&s, &"123456789"[cut], 9 - cut);
			assert_string_equal(s3_sum_text(&s, w->mem), cases[i].sum);
		}
	assert_int_equal(s3_sum_find("crc16"), S3_SUM_NONE);
}

/* "Example: GET Object" and "Example: PUT Object" of the Amazon S3 API reference, Signature Calculations for the
 * Authorization Header; the seed signature of its example of chunks. */
static void
signatures_are_those_of_the_reference(void **state)
{
	static const char secret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", key[] = "AKIAIOSFODNN7EXAMPLE";
	static const struct {
		const char *method, *uri, *signed_headers, *signature;
		struct header at[6];
	} cases[] = {
		{
			"GET", "/test.txt", "host;range;x-amz-content-sha256;x-amz-date",
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
			{ { "host", "examplebucket.s3.amazonaws.com" }, { "range", "bytes=0-9" },
			    { "x-amz-content-sha256", EMPTY_SHA256 }, { "x-amz-date", "20130524T000000Z" } },
		},
		{
			"GET", "/?lifecycle", "host;x-amz-content-sha256;x-amz-date",
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
			{ { "host", "examplebucket.s3.amazonaws.com" }, { "x-amz-content-sha256", EMPTY_SHA256 },
			    { "x-amz-date", "20130524T000000Z" } },
		},
		{
			"GET", "/?max-keys=2&prefix=J", "host;x-amz-content-sha256;x-amz-date",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
			{ { "host", "examplebucket.s3.amazonaws.com" }, { "x-amz-content-sha256", EMPTY_SHA256 },
			    { "x-amz-date", "20130524T000000Z" } },
		},
	};
	struct world *w = *state;
	struct moment then;

	assert_true(moment_parse("2013-05-24T00:00:00Z", &then));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sending s = { .n = 0 };
		struct s3_request r = { cases[i].method, cases[i].uri, header_of, &s, NULL };
		struct s3_sign sign;

		while (s.n < 6 && cases[i].at[s.n].name != NULL) {
			s.at[s.n] = cases[i].at[s.n];
			s.n++;
		}
		s.at[s.n++] = (struct header){ "authorization", arena_printf(w->mem,
		    "AWS4-HMAC-SHA256 Credential=%s/20130524/"
		    "us-east-1/s3/aws4_request, SignedHeaders=%s, Signature=%s", key, cases[i].signed_headers,
		    cases[i].signature) };
		assert_int_equal(s3_sign_read(&sign, w->mem, &r, then), S3_FINE);
		assert_string_equal(sign.access_key, key);
		assert_int_equal(s3_sign_check(&sign, w->mem, &r, secret), S3_FINE);
		assert_int_equal(s3_sign_check(&sign, w->mem, &r, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEX"),
		    S3_SIGNATURE);
		then.ms += 16 * 60000;
		assert_int_equal(s3_sign_read(&sign, w->mem, &r, then), S3_SKEWED);
		then.ms -= 16 * 60000;
	}
}

/* 66560 bytes in two chunks and the last, with what comes behind it; a bit of wire[spoilt] is turned. */
static enum s3_error
read_example(struct world *w, const char *content, const char *const signatures[4], const char *behind, size_t spoilt)
{
	struct sending s = { .at = { { "x-amz-decoded-content-length", "66560" }, { "x-amz-trailer",
	    "x-amz-checksum-crc32c" } }, .n = *behind != '\0' ? 2 : 1 };
	struct s3_request r = { "PUT", "/", header_of, &s, NULL };
	struct s3_sign sign = { .date = "20130524T000000Z", .scope = "20130524/us-east-1/s3/aws4_request",
	    .signature = signatures[0], .content = content };
	struct seat seat = { .attempt = 0 };
	struct buf wire = BUF(w->mem);
	char *a = arena_alloc(w->mem, 65536);
	enum s3_error error;
	struct s3_body b;
	const void *bytes;
	int n;

	memset(a, 'a', 65536);
	buf_printf(&wire, "10000;chunk-signature=%s\r\n", signatures[1]);
	buf_add(&wire, a, 65536);
	buf_printf(&wire, "\r\n400;chunk-signature=%s\r\n", signatures[2]);
	buf_add(&wire, a, 1024);
	buf_printf(&wire, "\r\n0;chunk-signature=%s\r\n%s\r\n", signatures[3], behind);
	if (spoilt > 0)
		wire.text[spoilt < wire.len ? spoilt : wire.len - 10] ^= 1;
	s.body = wire.text;
	s.left = wire.len;
	signing_key(w, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", sign.key);
	assert_int_equal(s3_body_begin(&b, w->mem, &sign, &r, (int64_t)wire.len, read_some, &s), S3_FINE);
	while ((n = s3_body_read(&b, &seat, &bytes)) > 0)
		continue;
	assert_true(n == 0 || b.error != S3_FINE);
	error = n == 0 ? s3_body_check(&b) : b.error;
	assert_true(error != S3_FINE || b.received == 66560);
	s3_body_end(&b);
	return error;
}

/* "Example: Object Upload to S3 in Chunks", ibidem. */
static void
chunks_are_signed_as_in_the_reference(void **state)
{
	static const char *const signatures[] = { "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
	    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
	    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
	    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9" };
	static const size_t spoilt[] = { 100, 65536 + 300, SIZE_MAX };
	const char *content = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";

	assert_int_equal(read_example(*state, content, signatures, "", 0), S3_FINE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_example(*state, content, signatures, "", spoilt[i]), S3_SIGNATURE);
}

/* "Signature calculations: Including trailing headers", ibidem; and as minio-go writes the same. */
static void
trailers_are_signed_as_in_the_reference(void **state)
{
	static const char *const signatures[] = { "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
	    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
	    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
	    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992" };
#define SIGNED "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n"
	static const struct { const char *behind; enum s3_error error; } cases[] = {
		{ "x-amz-checksum-crc32c:sOO8/Q==\r\n" SIGNED, S3_FINE },
		{ "x-amz-checksum-crc32c:sOO8/Q==\n\r\n" SIGNED, S3_FINE },
		{ "x-amz-checksum-crc32c:sOO8/Q==\r\n", S3_SIGNATURE },
		{ "x-amz-checksum-crc32c:sOO8/Q==\n\r\n\r\n" SIGNED, S3_SIGNATURE },
		{ "x-amz-checksum-crc32c:sOO9/Q==\r\n" SIGNED, S3_SIGNATURE },
		{ "x-amz-checksum-crc32:sOO8/Q==\r\n" SIGNED, S3_SIGNATURE },
		{ SIGNED, S3_SIGNATURE },
		{ "x-amz-checksum-crc32c:sOO8/Q==\r\n" SIGNED "x-amz-checksum-crc32c:sOO8/Q==\r\n", S3_BAD_CHUNK },
		{ "\r\nx-amz-checksum-crc32c:sOO8/Q==\r\n" SIGNED, S3_BAD_CHUNK },
		{ "x-amz-checksum-crc32c:sOO8/Q==\r\n" SIGNED SIGNED, S3_BAD_CHUNK },
	};
#undef SIGNED
	const char *content = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const enum s3_error error = read_example(*state, content, signatures, cases[i].behind, 0);

		if (error != cases[i].error)
			fail_msg("%s: %d instead of %d", cases[i].behind, error, cases[i].error);
	}
	assert_int_equal(read_example(*state, content, signatures, cases[0].behind, 65536 + 300), S3_SIGNATURE);
	assert_int_equal(read_example(*state, content, signatures, cases[0].behind, SIZE_MAX), S3_SIGNATURE);
}

static void
parts_come_in_any_order_and_again_and_become_the_file(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const size_t size = 11 * MIB + 17;
	char *bytes = film(w, size);
	const char *upload = begin(&c), *etag[3], *list;
	struct s3_call *r;

	etag[2] = part(&c, upload, 9, bytes + 10 * MIB, size - 10 * MIB);
	part(&c, upload, 4, bytes, 5 * MIB + 1);
	assert_string_equal(status_of(&c), "uploading");
	etag[1] = part(&c, upload, 4, bytes + 5 * MIB, 5 * MIB);
	etag[0] = part(&c, upload, 2, bytes, 5 * MIB);
	part(&c, upload, 7, "nobody names me", 15);
	assert_int_equal(parts_of(&c), 3);	/* two are of one size */
	r = ask(&c, &(struct ask){ "GET", .query = arena_printf(w->mem, "uploadId=%s", upload) });
	fine(r);
	assert_string_equal(element(w, r, "PartNumber"), "2");
	assert_string_equal(element(w, r, "NextPartNumberMarker"), "9");
	assert_string_equal(element(w, r, "IsTruncated"), "false");
	r = ask(&c, &(struct ask){ "GET", .query = arena_printf(w->mem, "max-parts=1&part-number-marker=2&uploadId=%s",
	    upload) });
	assert_string_equal(element(w, r, "PartNumber"), "4");
	assert_string_equal(element(w, r, "IsTruncated"), "true");
	/* None are asked for: a list that goes on from nowhere would be asked for again and again. */
	r = ask(&c, &(struct ask){ "GET", .query = arena_printf(w->mem, "max-parts=0&uploadId=%s", upload) });
	fine(r);
	assert_null(element(w, r, "PartNumber"));
	assert_string_equal(element(w, r, "MaxParts"), "0");
	assert_string_equal(element(w, r, "IsTruncated"), "false");
	r = ask(&c, &(struct ask){ "GET", .path = "/storage/uploads", .query = "max-uploads=0&uploads=" });
	fine(r);
	assert_null(element(w, r, "UploadId"));
	assert_string_equal(element(w, r, "MaxUploads"), "0");
	r = ask(&c, &(struct ask){ "GET", .path = "/storage/uploads", .query = "max-keys=0" });
	fine(r);
	assert_string_equal(element(w, r, "MaxKeys"), "0");
	refused(&c, ask(&c, &(struct ask){ "GET", .path = "/storage/uploads", .query = "max-keys=-1" }), 400,
	    "InvalidArgument");
	/* Nobody can look: that is no list of none, of which a client would begin anew. */
	db_run(w->db, "RENAME TABLE upload_parts TO away", NO_ARGS);
	r = ask(&c, &(struct ask){ "GET", .query = arena_printf(w->mem, "uploadId=%s", upload) });
	db_run(w->db, "RENAME TABLE away TO upload_parts", NO_ARGS);
	refused(&c, r, 500, "InternalError");
	list = arena_printf(w->mem, "%s%s%s", named(&c, 2, etag[0]), named(&c, 4, etag[1]), named(&c, 9,
	    arena_printf(w->mem, "&quot;%.32s&#34;", etag[2] + 1)));
	refused(&c, complete(&c, upload, ""), 400, "MalformedXML");
	refused(&c, complete(&c, upload, arena_printf(w->mem, "%s%s", named(&c, 4, etag[1]), named(&c, 2, etag[0]))),
	    400,
	    "InvalidPartOrder");
	refused(&c, complete(&c, upload, named(&c, 3, etag[0])), 400, "InvalidPart");
	refused(&c, complete(&c, upload, named(&c, 2, etag[1])), 400, "InvalidPart");
	refused(&c, complete(&c, upload, arena_printf(w->mem, "%s%s", named(&c, 7, arena_printf(w->mem, "%s",
	    header_told(w, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 7, upload), .body = "nobody", .n =
	    6 }),
	    "ETag"))), named(&c, 9, etag[2]))), 400, "EntityTooSmall");
	assert_string_equal(status_of(&c), "uploading");
	r = complete(&c, upload, list);
	fine(r);
	assert_string_equal(status_of(&c), "uploaded");
	holds(&c, bytes, size);
	assert_int_equal(files_of(&c), 0);
	assert_non_null(strstr(element(w, r, "ETag"), "-3"));
	assert_int_equal(db_number(w->db, "SELECT COUNT(*) FROM upload_parts WHERE upload_id = ?",
	    ARGS(ID(uuid_of(&c))),
	    -1), 0);
	/* Again it answers the same, and takes no more. */
	assert_string_equal(element(w, complete(&c, upload, list), "ETag"), element(w, r, "ETag"));
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 9, upload), .body = "late", .n = 4 }), 404,
	    "NoSuchUpload");
	r = ask(&c, &(struct ask){ .method = "HEAD" });
	fine(r);
	assert_string_equal(header_told(w, r, "Content-Length"), arena_printf(w->mem, "%zu", size));
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", c.id), "{}")->status, 200);
	assert_string_equal(status_of(&c), "completed");
}

/* How many of the parts need not be read at the end any more. */
static int64_t
ahead(const struct client *c, int parts)
{
	struct world *w = c->w;
	struct s3_part part[8];
	const struct s3_part *at[8];
	SHA256_CTX state;

	for (int i = 0; i < parts; i++) {
		part[i].file = db_text(w->db, "SELECT file FROM upload_parts WHERE upload_id = ? AND number = ?",
		    ARGS(ID(uuid_of(c)), INT(i + 1)));
		at[i] = &part[i];
	}
	return (int64_t)s3_ahead_find(w->mem, uuid_of(c), 1, at, (size_t)parts, &state);
}

/* Changes a byte of what was worked out. */
static void
spoil_ahead(const struct client *c, long offset)
{
	const char *path = arena_printf(c->w->mem, "%s/1.ahead", store_incoming(c->w->mem, uuid_of(c)));
	FILE *f = fopen(path, "r+");
	int byte;

	assert_non_null(f);
	fseek(f, offset, SEEK_SET);
	byte = fgetc(f);
	fseek(f, offset, SEEK_SET);
	fputc(byte ^ 1, f);
	fclose(f);
}

/* The hash follows the parts; what is sent again, or was torn by a crash, is worked out anew. */
static void
the_hash_of_parts_is_worked_out_ahead_and_never_wrong(void **state)
{
	struct world *w = *state;
	const size_t size = 15 * MIB + 17;
	char *bytes = film(w, size);

	for (int trial = 0; trial < 6; trial++) {
		struct client c = client_of(w, "");
		int other = -1;
		const char *upload = begin(&c), *etag[4] = { NULL };

		etag[2] = part(&c, upload, 3, bytes + 10 * MIB, 5 * MIB);
		etag[0] = part(&c, upload, 1, bytes, 5 * MIB);
		assert_int_equal(ahead(&c, 1), 1);
		etag[1] = part(&c, upload, 2, bytes + (trial == 1 || trial == 5 ? 0 : 5) * (size_t)MIB,
		    5 * MIB);
		assert_int_equal(ahead(&c, 3), 3);
		if (trial == 5) {	/* somebody is at it, and cannot hear of it */
			other = open(arena_printf(w->mem, "%s/1.ahead", store_incoming(w->mem, uuid_of(&c))), O_RDONLY);
			assert_int_equal(flock(other, LOCK_EX), 0);
			etag[1] = part(&c, upload, 2, bytes + 5 * MIB, 5 * MIB);
			assert_int_equal(ahead(&c, 3), 1);
			close(other);
		}
		if (trial == 1) {
			etag[1] = part(&c, upload, 2, bytes + 5 * MIB, 5 * MIB);
			assert_int_equal(ahead(&c, 3), 3);
		}
		if (trial == 2) {
			spoil_ahead(&c, 250);
			assert_int_equal(ahead(&c, 3), 1);
		}
		if (trial == 3)
			unlink(arena_printf(w->mem, "%s/1.ahead", store_incoming(w->mem, uuid_of(&c))));
		etag[3] = part(&c, upload, 4, bytes + 15 * MIB, 17);
		assert_int_equal(ahead(&c, 4), trial == 2 || trial == 5 ? 1 : trial == 3 ? 0 : 4);
		if (trial == 4)
			spoil_ahead(&c, 0);
		fine(complete(&c, upload, arena_printf(w->mem, "%s%s%s%s", named(&c, 1, etag[0]), named(&c, 2, etag[1]),
		    named(&c, 3, etag[2]), named(&c, 4, etag[3]))));
		holds(&c, bytes, size);
		assert_int_equal(files_of(&c), 0);
	}
}

static void
one_put_brings_the_whole_file(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, ",\"fileSize\":70001");
	char *bytes = film(w, 70001);
	struct s3_call *r;

	refused(&c, ask(&c, &(struct ask){ .method = "HEAD" }), 404, "NoSuchKey");
	refused(&c, ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 70000 }), 400, "InvalidRequest");
	refused(&c, ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 70001, .wire = bytes, .n_wire = 1000, .content =
	    "UNSIGNED-PAYLOAD" }), 400, "InvalidRequest");
	refused(&c, ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 70001, .wire = bytes, .n_wire = 1000, .cut = true,
	    .content = "UNSIGNED-PAYLOAD" }), 400, "IncompleteBody");
	assert_string_equal(status_of(&c), "waiting");
	assert_int_equal(files_of(&c), 0);
	r = ask(&c, &(struct ask){ "PUT", .query = "x-id=PutObject", .body = bytes, .n = 70001 });
	fine(r);
	assert_int_equal(strlen(header_told(w, r, "ETag")), 34);
	holds(&c, bytes, 70001);
	assert_int_equal(files_of(&c), 0);
}

/* Each kind by a header and behind chunks, right and with one bit turned. */
static void
a_turned_bit_is_noticed_by_each_checksum(void **state)
{
	static const char *const kinds[] = { "content-md5", "crc32", "crc32c", "crc64nvme", "sha1", "sha256", "hash" };
	struct world *w = *state;
	struct client c = client_of(w, "");
	const size_t n = 300001;
	char *bytes = film(w, n), *spoilt = arena_raw(w->mem, n);
	const char *upload = begin(&c);
	unsigned char md5[16];

	memcpy(spoilt, bytes, n);
	spoilt[n / 2] ^= 4;
	EVP_Digest(bytes, n, md5, NULL, EVP_md5(), NULL);
	for (int i = 0; i < 7; i++)
		for (int bad = 0; bad < 2; bad++)
			for (int trailer = 0; trailer < 2; trailer++) {
				struct ask a = { "PUT", .query = part_query(&c, i + 1, upload), .body = bytes, .n = n,
				    .wire = bad ? spoilt : bytes, .n_wire = n };
				struct buf wire = BUF(w->mem);
				char *sum = arena_alloc(w->mem, 100);
				struct s3_call *r;
				struct s3_sum s;

				if (trailer && (i == 0 || i == 6))
					continue;
				if (i == 0) {
					EVP_EncodeBlock((unsigned char *)sum, md5, sizeof(md5));
				} else if (i < 6) {
					s3_sum_begin(&s, s3_sum_find(kinds[i]));
					s3_sum_add(&s, bytes, n);
					strcpy(sum, s3_sum_text(&s, w->mem));
				}
				if (i < 6)
					a.content = trailer ? "STREAMING-UNSIGNED-PAYLOAD-TRAILER" : "UNSIGNED-PAYLOAD";
				if (trailer) {
					buf_printf(&wire, "%zx\r\n", n - 10);
					buf_add(&wire, a.wire, n - 10);
					buf_text(&wire, "\r\na\r\n");
					buf_add(&wire, a.wire + n - 10, 10);
					buf_printf(&wire, "\r\n0\r\nx-amz-checksum-%s:%s\r\n\r\n", kinds[i], sum);
					a.wire = wire.text;
					a.n_wire = wire.len;
					a.more[0] = (struct header){ "x-amz-trailer", arena_printf(w->mem,
					    "x-amz-checksum-%s", kinds[i]) };
					a.more[1] = (struct header){ "x-amz-decoded-content-length",
					    arena_printf(w->mem, "%zu", n) };
				} else if (i < 6) {
					a.more[0] = (struct header){ i == 0 ? "Content-MD5" : arena_printf(w->mem,
					    "x-amz-checksum-%s", kinds[i]), sum };
				}
				r = ask(&c, &a);
				if (!bad)
					fine(r);
				else
					refused(&c, r, 400, i == 6 ? "XAmzContentSHA256Mismatch" : "BadDigest");
			}
	/* What was refused has left nothing. */
	assert_int_equal(parts_of(&c), 7);
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 1, upload), .body = bytes, .n = n, .more =
	    { { "Content-MD5", "short==" } } }), 400, "InvalidDigest");
	assert_int_equal(parts_of(&c), 7);
}

/* A chunk, the last one and the CRC32 behind them, signed from the signature of the request on. */
static const char *
signed_chunks(const struct client *c, const char *date, const char *seed, const char *bytes, const char *sum,
    const char *signature)
{
	struct world *w = c->w;
	const char *chunk = sign_text(w, c->secret, date, arena_printf(w->mem, "AWS4-HMAC-SHA256-PAYLOAD\n%s\n%s\n%s\n"
	    EMPTY_SHA256 "\n%s", date, scope_of(w, date), seed, hex_sha256(w, bytes, strlen(bytes))));
	const char *last = sign_text(w, c->secret, date, arena_printf(w->mem, "AWS4-HMAC-SHA256-PAYLOAD\n%s\n%s\n%s\n"
	    EMPTY_SHA256 "\n" EMPTY_SHA256, date, scope_of(w, date), chunk));
	const char *trailer = arena_printf(w->mem, "x-amz-checksum-crc32:%s\n", sum);

	if (signature == NULL)
		signature = sign_text(w, c->secret, date, arena_printf(w->mem,
		    "AWS4-HMAC-SHA256-TRAILER\n%s\n%s\n%s\n%s", date, scope_of(w, date), last,
		    hex_sha256(w, trailer, strlen(trailer))));
	return arena_printf(w->mem, "%zx;chunk-signature=%s\r\n%s\r\n0;chunk-signature=%s\r\n%.*s\r\n"
	    "x-amz-trailer-signature:%s\r\n\r\n", strlen(bytes), chunk, bytes, last, (int)strlen(trailer) - 1, trailer,
	    signature);
}

/* Both at a part and at a whole file: what is wrong of it counts nothing and leaves nothing. */
static void
a_checksum_that_is_signed_is_held_against_its_signature_and_the_bytes(void **state)
{
	static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
	static const struct { const char *sum, *signature, *code; } cases[] = {
		{ "o4h5ZA==", zeros, "SignatureDoesNotMatch" }, { "o4h6ZA==", NULL, "BadDigest" },
		{ "o4h5ZA==", NULL, NULL },
	};
	struct world *w = *state;

	for (int whole = 0; whole < 2; whole++) {
		struct client c = client_of(w, "");
		struct ask put = { "PUT", .query = whole ? NULL : part_query(&c, 1, begin(&c)), .content =
		    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", .more = { { "x-amz-decoded-content-length", "21" },
		    { "x-amz-trailer", "x-amz-checksum-crc32" } } };
		const char *path = arena_printf(w->mem, "/storage/uploads/%s", c.id);

		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			const char *date = date_of(w, 0), *auth = authorization(&c, &put, path, date, put.content);
			struct s3_call *r;

			put.wire = signed_chunks(&c, date, strstr(auth, "Signature=") + strlen("Signature="),
			    "All that was said.\n\n\n", cases[i].sum, cases[i].signature);
			put.n_wire = strlen(put.wire);
			r = send_signed(&c, &put, date, auth, put.content);
			if (cases[i].code == NULL) {
				fine(r);
				continue;
			}
			refused(&c, r, cases[i].signature != NULL ? 403 : 400, cases[i].code);
			assert_int_equal(files_of(&c), 0);
			assert_int_equal(number(w, "FROM uploads t WHERE t.id = ? AND t.received_bytes = 0", ARGS(ID(
			    uuid_of(&c)))), 1);
		}
		if (whole)
			holds(&c, "All that was said.\n\n\n", 21);
		else
			assert_int_equal(parts_of(&c), 1);
	}
}

/* Who sends one takes the bytes for checked when they were accepted. */
static void
a_checksum_that_is_not_looked_at_is_refused(void **state)
{
	static const char wire[] = "5\r\nbytes\r\n0\r\nx-amz-checksum-%s:AAAAAA==\r\n\r\n";
	static const struct { const char *trailer, *sent; } cases[] = { { NULL, "crc32" },
	    { "x-amz-checksum-md4", "md4" }, { "x-amz-checksum-crc32,x-amz-checksum-sha1", "crc32" } };
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *query = part_query(&c, 1, begin(&c));

	refused(&c, ask(&c, &(struct ask){ "PUT", .query = query, .body = "bytes", .n = 5, .more = {
	    { "x-amz-checksum-crc32", "sZlDzg==" }, { "x-amz-checksum-crc32c", "AAAAAA==" } } }), 400, "InvalidRequest");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *body = arena_printf(w->mem, wire, cases[i].sent);

		refused(&c, ask(&c, &(struct ask){ "PUT", .query = query, .wire = body, .n_wire = strlen(body),
		    .content = "STREAMING-UNSIGNED-PAYLOAD-TRAILER", .more = { { "x-amz-decoded-content-length", "5" },
		    { cases[i].trailer != NULL ? "x-amz-trailer" : NULL, cases[i].trailer } } }), 400, "InvalidRequest");
	}
	assert_int_equal(files_of(&c), 0);
}

/* Foreign keys, wrong secrets, old clocks, no tokens: nothing is written. */
static void
credentials_reach_one_key_for_as_long_as_the_upload_is_open(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct client c = client_of(w, ""), second = client_of(w, ""), foreign = client_of(other, ""), bad;
	const char *mine = arena_printf(w->mem, "/storage/uploads/%s", c.id), *upload = begin(&c);
	struct ask put = { "PUT", .query = part_query(&c, 1, upload), .path = mine, .body = "bytes", .n = 5 };

	fine(ask(&c, &put));
	refused(&second, ask(&second, &put), 403, "AccessDenied");
	refused(&foreign, ask(&foreign, &put), 403, "AccessDenied");
	bad = c;
	bad.secret = second.secret;
	refused(&bad, ask(&bad, &put), 403, "SignatureDoesNotMatch");
	bad = c;
	bad.token = second.token;
	refused(&bad, ask(&bad, &put), 400, "InvalidToken");
	bad.secret = second.secret;
	refused(&bad, ask(&bad, &put), 400, "InvalidToken");
	bad = c;
	bad.no_token = true;
	refused(&bad, ask(&bad, &put), 400, "InvalidToken");
	bad = c;
	bad.key = "00000000000000000000000000000000";
	refused(&bad, ask(&bad, &put), 403, "InvalidAccessKeyId");
	bad.key = "../../../../../../../../etc/passwd";
	refused(&bad, ask(&bad, &put), 400, "AuthorizationHeaderMalformed");
	bad = c;
	bad.skew = -16 * 60;
	refused(&bad, ask(&bad, &put), 403, "RequestTimeTooSkewed");
	bad.skew = 16 * 60;
	refused(&bad, ask(&bad, &put), 403, "RequestTimeTooSkewed");
	refused(&c, send_signed(&c, &put, date_of(w, 0), NULL, EMPTY_SHA256), 403, "AccessDenied");
	refused(&c, send_signed(&c, &put, "2013", "AWS4-HMAC-SHA256 Credential=a/2013,SignedHeaders=host,Signature=b",
	    EMPTY_SHA256), 400, "AuthorizationHeaderMalformed");
	refused(&c, send_signed(&c, &put, date_of(w, 0), "AWS AKID:c2lnbmF0dXJl", EMPTY_SHA256), 400, "InvalidRequest");
	put.path = "/storage/uploads/..%2f..%2fetc";
	refused(&c, ask(&c, &put), 403, "AccessDenied");
	put.path = "/storage/others/a";
	refused(&c, ask(&c, &put), 404, "NoSuchBucket");
	put.path = mine;
	put.query = part_query(&c, 0, upload);
	refused(&c, ask(&c, &put), 400, "InvalidArgument");
	put.query = part_query(&c, 10001, upload);
	refused(&c, ask(&c, &put), 400, "InvalidArgument");
	put.query = part_query(&c, 1, arena_printf(w->mem, "%s.77", c.id));
	refused(&c, ask(&c, &put), 404, "NoSuchUpload");
	assert_int_equal(parts_of(&c), 1);
	assert_int_equal(files_of(&second) + files_of(&foreign), 0);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/cancel", c.id), NULL)->status, 200);
	put.query = part_query(&c, 1, upload);
	refused(&c, ask(&c, &put), 400, "ExpiredToken");
	db_run(w->db, "UPDATE uploads SET expires_at = 1 WHERE id = ?", ARGS(ID(uuid_of(&second))));
	refused(&second, ask(&second, &(struct ask){ "POST", .query = "uploads=" }), 400, "ExpiredToken");
}

/* It is in each address that is signed for somebody else, who may do with it what was signed and no more. */
static void
the_token_opens_nothing_without_the_secret(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 5000);
	struct sending s = { .body = bytes, .left = 5000 };
	struct put p = { .in = &here, .mem = w->mem, .id = uuid_of(&c), .ticket = c.token, .length = 5000,
	    .read = read_some, .user = &s };

	assert_int_equal(put_run(&p), ERR_FORBIDDEN);
	assert_int_equal(s.left, 5000);
	assert_string_equal(status_of(&c), "waiting");
	fine(ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 5000 }));
}

/* A signed request in an address: its time and its query count. */
static void
an_address_that_is_signed_holds_for_what_it_says(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *date = date_of(w, -300), *path = arena_printf(w->mem, "/storage/uploads/%s", c.id);
	char *bytes = film(w, 5000);

	for (int i = 0; i < 3; i++) {
		const char *query = arena_printf(w->mem,
		    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%s%%2F%s&X-Amz-Date=%s"
		    "&X-Amz-Expires=%d&X-Amz-Security-Token=%s&X-Amz-SignedHeaders=host", c.key, percent_encode(w->mem,
		    scope_of(w, date)), date, i == 0 ? 200 : 600, c.token);
		const char *canonical = arena_printf(w->mem,
		    "PUT\n%s\n%s\nhost:media.example\n\nhost\nUNSIGNED-PAYLOAD", path,
		    query);
		struct sending s = { .at = { { "host", "media.example" } }, .n = 1, .body = bytes, .left = 5000 };
		struct s3_call r = { .in = &here, .mem = w->mem, .length = 5000, .read = read_some, .user = &s,
		    .request_id = uuid_text(w->mem, uuid_new()), .request = { .method = "PUT", .header = header_of,
		    .user = &s,
		    .uri = arena_printf(w->mem, "%s?%s%s&X-Amz-Signature=%s", path, i == 1 ? "partNumber=1&" : "",
		    query,
		    sign_text(w, c.secret, date, arena_printf(w->mem, "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope_of(w,
		    date),
		    hex_sha256(w, canonical, strlen(canonical))))) } };

		s3_run(&r);
		if (i == 2)
			fine(&r);
		else
			refused(&c, &r, 403, i == 0 ? "AccessDenied" : "SignatureDoesNotMatch");
	}
	holds(&c, bytes, 5000);
}

/* As boto3 signs addresses unless it is told better. */
static void
the_signature_before_this_one_is_refused_by_its_name(void **state)
{
	static const char signature[] = "Signature=c2ln%2FbmF0dXJl%3D&Expires=4000000000";
	struct world *w = *state;
	struct client c = client_of(w, "");
	const struct { const char *query, *authorization; } cases[] = {
		{ arena_printf(w->mem, "AWSAccessKeyId=%s&%s", c.key, signature), NULL },
		{ arena_printf(w->mem, "%s&x-amz-security-token=%s&AWSAccessKeyId=%s", signature, c.token, c.key), NULL },
		{ NULL, arena_printf(w->mem, "AWS %s:c2ln/bmF0dXJl=", c.key) },
	};

	for (int i = 0; i < 3; i++) {
		struct s3_call *r = send_signed(&c, &(struct ask){ "PUT", .query = cases[i].query, .body = "bytes",
		    .n = 5 }, date_of(w, 0), cases[i].authorization, EMPTY_SHA256);

		refused(&c, r, 400, "InvalidRequest");
		assert_non_null(strstr(element(w, r, "Message"), "Signature Version 4 (AWS4-HMAC-SHA256"));
	}
	assert_string_equal(status_of(&c), "waiting");
	assert_int_equal(files_of(&c), 0);
}

/* What clients ask before they send anything, by a bucket of its own or of the endpoint. */
static void
the_one_bucket_is_told_as_clients_ask_for_it(void **state)
{
	static const struct { const char *path, *name; } at[] = { { "/storage/uploads", "uploads" },
	    { "/storage/uploads/", "uploads" }, { "/storage/", "storage" }, { "/storage", "storage" } };
	struct world *w = *state;
	struct client c = client_of(w, "");
	struct s3_call *r = ask(&c, &(struct ask){ "GET", .path = "/storage/" });

	fine(r);
	assert_non_null(strstr(body_of(r), "<ListAllMyBucketsResult" XMLNS ">"));
	assert_string_equal(element(w, r, "Name"), "uploads");
	assert_null(strstr(strstr(body_of(r), "</Bucket>") + 1, "<Bucket>"));
	assert_string_equal(element(w, r, "ID"), uuid_text(w->mem, w->client_id));
	assert_true(moment_parse(element(w, r, "CreationDate"), &(struct moment){ 0 }));
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		/* Empty: us-east-1, which is what the credentials say. */
		r = ask(&c, &(struct ask){ "GET", .path = at[i].path, .query = "location=" });
		fine(r);
		assert_non_null(strstr(body_of(r), "<LocationConstraint" XMLNS "></LocationConstraint>"));
		fine(ask(&c, &(struct ask){ "HEAD", .path = at[i].path }));
		fine(ask(&c, &(struct ask){ "PUT", .path = at[i].path }));
		r = ask(&c, &(struct ask){ "GET", .path = at[i].path, .query = "list-type=2&prefix=" });
		fine(r);
		assert_string_equal(element(w, r, "Name"), at[i].name);
		assert_string_equal(element(w, r, "KeyCount"), "0");
		refused(&c, ask(&c, &(struct ask){ "DELETE", .path = at[i].path }), 403, "AccessDenied");
		refused(&c, ask(&c, &(struct ask){ "POST", .path = at[i].path }), 501, "NotImplemented");
	}
	assert_string_equal(text(w, call(w, "GET", arena_printf(w->mem, "/v2/uploads/%s", c.id), NULL), "data.status"),
	    "waiting");
	refused(&c, ask(&c, &(struct ask){ "GET", .path = "/storage/others", .query = "location=" }), 404,
	    "NoSuchBucket");
}

/* What s3cmd asks besides, and what else there is: each is refused by a code, none is taken for a list of objects, an
 * upload or a deletion. */
static void
what_this_store_does_not_do_is_refused_by_its_code(void **state)
{
	static const char *const names[] = { "acl", "tagging", "policy", "policyStatus", "lifecycle", "cors",
	    "versioning", "versions", "website", "logging", "notification", "encryption", "requestPayment", "object-lock", "retention",
	    "legal-hold", "torrent", "restore", "select", "attributes", "replication", "accelerate", "analytics",
	    "inventory", "metrics", "ownershipControls", "publicAccessBlock", "intelligent-tiering" };
	static const char *const methods[] = { "GET", "PUT", "POST", "DELETE" };
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *upload = begin(&c);

	part(&c, upload, 1, "bytes", 5);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int m = 0; m < 4; m++) {
			struct ask a = { methods[m], .query = arena_printf(w->mem, "%s=", names[i]), .body = "bytes",
			    .n = 5 };

			refused(&c, ask(&c, &a), 501, "NotImplemented");
			a.path = "/storage/uploads";
			refused(&c, ask(&c, &a), 501, "NotImplemented");
		}
	refused(&c, ask(&c, &(struct ask){ "POST", .body = "bytes", .n = 5 }), 501, "NotImplemented");
	refused(&c, ask(&c, &(struct ask){ .method = "PATCH" }), 405, "MethodNotAllowed");
	refused(&c, ask(&c, &(struct ask){ "PUT", .body = "", .more = { { "x-amz-copy-source", "/uploads/a" } } }), 501,
	    "NotImplemented");
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 2, upload), .body = "", .more =
	    { { "x-amz-copy-source", "/uploads/a" } } }), 501, "NotImplemented");
	assert_int_equal(parts_of(&c), 1);
	assert_string_equal(status_of(&c), "uploading");
}

/* What a client may send must not take the process down with all its transfers: lists and heads have bounds. */
static void
long_lists_are_refused_and_cost_little(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *upload = begin(&c), *query = arena_printf(w->mem, "uploadId=%s", upload), *date = date_of(w, 0),
	    *path = arena_printf(w->mem, "/storage/uploads/%s", c.id);
	struct buf body = BUF(w->mem), names = BUF(w->mem);
	struct ask put = { "PUT", .query = part_query(&c, 1, upload), .body = "x", .n = 1 };
	const char *good;
	int i;

	buf_text(&body, "<CompleteMultipartUpload>");
	for (i = 1; i <= 10001; i++)
		buf_text(&body, named(&c, i, "00000000000000000000000000000000"));
	buf_text(&body, "</CompleteMultipartUpload>");
	refused(&c, ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len }), 400,
	    "MalformedXML");
	body.len -= 1 << 16;
	refused(&c, ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len }), 400,
	    "MalformedXML");
	body = BUF(w->mem);
	buf_text(&body, "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"");
	for (i = 0; i < 1000; i++)
		buf_text(&body, "bbbbbbbbbb");
	buf_text(&body, "\">]><CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>&b;&b;&b;</ETag></Part>"
	    "</CompleteMultipartUpload>");
	refused(&c, ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len }), 400,
	    "MalformedXML");
	body = BUF(w->mem);
	buf_text(&body, "<CompleteMultipartUpload><Part x=\">\"");
	for (i = 0; i < 1000; i++)
		buf_printf(&body, " x%d=\"\"", i);
	buf_printf(&body, ">%s</CompleteMultipartUpload>", named(&c, 1, "00000000000000000000000000000000") + 6);
	refused(&c, ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len }), 400,
	    "MalformedXML");
	/* In UTF-16 nobody would see what it declares. */
	good = arena_printf(w->mem, "<!DOCTYPE a []><CompleteMultipartUpload>%s</CompleteMultipartUpload>", named(&c, 1,
	    "00000000000000000000000000000000"));
	body = BUF(w->mem);
	buf_text(&body, "\xff\xfe");
	for (; *good != '\0'; good++)
		buf_add(&body, (char[]){ *good, '\0' }, 2);
	refused(&c, ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len }), 400,
	    "MalformedXML");
	good = authorization(&c, &put, path, date, hex_sha256(w, "x", 1));
	buf_printf(&names, "%.*sSignedHeaders=host", (int)(strstr(good, "SignedHeaders=") - good), good);
	for (i = 0; i < 2000; i++)
		buf_text(&names, ";authorization");
	buf_text(&names, strstr(good, ",Signature="));
	refused(&c, send_signed(&c, &put, date, buf_string(&names), hex_sha256(w, "x", 1)), 403,
	    "SignatureDoesNotMatch");
	part(&c, upload, 1, "x", 1);
}

/* What the parser holds, and the most it held. */
static size_t held, most_held;

static void *
take_more(void *before, size_t n)
{
	size_t old = before != NULL ? malloc_usable_size(before) : 0;
	void *p = realloc(before, n);

	held += (p != NULL ? malloc_usable_size(p) : 0) - old;
	most_held = held > most_held ? held : most_held;
	return p;
}

static void *
take_new(size_t n)
{
	return take_more(NULL, n);
}

static void
give_back(void *p)
{
	held -= p != NULL ? malloc_usable_size(p) : 0;
	free(p);
}

static char *
take_copy(const char *text)
{
	return strcpy(take_new(strlen(text) + 1), text);
}

/* Any number of them may come at once. */
static void
a_list_of_parts_takes_the_memory_of_its_bytes(void **state)
{
	static const char *const inner[] = { "<a/>", "<ETag/>", "<ETag>x</ETag>", "<PartNumber>1</PartNumber>", " ",
	    "&#65;",
	    "<a b='' c='' d='' e='' f='' g='' h='' i='' j='' k='' l='' m='' n='' o='' p=''/>", "<!--a-->" };
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *query = arena_printf(w->mem, "uploadId=%s", begin(&c));

	for (size_t i = 0; i < 2 * sizeof(inner) / sizeof(inner[0]); i++) {
		struct buf body = BUF(w->mem);
		bool apart = i % 2 != 0;

		buf_text(&body, "<CompleteMultipartUpload>");
		for (size_t n = 0; body.len < 2 * MIB - 200; n++)
			buf_printf(&body, "%s%s%s", apart || n == 0 ? "<Part>" : "", inner[i / 2], apart ? "</Part>" :
			    "");
		buf_printf(&body, "%s</CompleteMultipartUpload>", apart ? "" : "</Part>");
		most_held = held;
		ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len });
		if (most_held > 16 * MIB)
			fail_msg("%s, %d: %zu bytes", inner[i / 2], apart, most_held);
	}
	assert_true(most_held > 0);
}

/* Only who has a place is waited for. */
static void
a_list_of_parts_waits_for_its_turn(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *upload = begin(&c);
	struct seat all[8];

	for (int i = 0; i < 8; i++) {
		all[i] = (struct seat){ .upload_id = uuid_new(), .tenant_id = w->tenant_id, .principal_id =
		    w->client_id };
		assert_true(room_enter(here.room, &all[i]));
	}
	refused(&c, complete(&c, upload, "<Part"), 503, "SlowDown");
	for (int i = 0; i < 8; i++)
		room_leave(here.room, &all[i]);
	refused(&c, complete(&c, upload, "<Part"), 400, "MalformedXML");
}

static void
the_last_transfer_that_began_is_the_one_that_counts(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 6000);
	const char *first = begin(&c), *second, *etag = part(&c, first, 1, bytes, 6000);
	struct s3_call *r;

	r = ask(&c, &(struct ask){ "GET", .path = "/storage/uploads", .query = "uploads=" });
	assert_string_equal(element(w, r, "UploadId"), first);
	assert_string_equal(element(w, r, "Key"), c.id);
	r = ask(&c, &(struct ask){ "GET", .path = "/storage/", .query = "uploads=" });
	assert_string_equal(element(w, r, "Key"), arena_printf(w->mem, "uploads/%s", c.id));
	second = begin(&c);
	refused(&c, complete(&c, first, named(&c, 1, etag)), 404, "NoSuchUpload");
	refused(&c, complete(&c, second, named(&c, 1, etag)), 400, "InvalidPart");
	assert_int_equal(files_of(&c), 0);
	etag = part(&c, second, 1, bytes, 6000);
	r = ask(&c, &(struct ask){ "DELETE", .query = arena_printf(w->mem, "uploadId=%s", second) });
	fine(r);
	assert_int_equal(r->status, 204);
	assert_int_equal(files_of(&c), 0);
	assert_string_equal(status_of(&c), "waiting");
	refused(&c, complete(&c, second, named(&c, 1, etag)), 404, "NoSuchUpload");
	second = begin(&c);
	etag = part(&c, second, 1, bytes, 6000);
	fine(complete(&c, second, named(&c, 1, etag)));
	holds(&c, bytes, 6000);
}

static void
what_is_no_media_or_too_much_is_refused(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, ""), sized = client_of(w, ",\"fileSize\":9000");
	const char *upload = begin(&c), *etag;
	char *bytes = film(w, 9001);

	etag = part(&c, upload, 1, "#!/bin/sh\necho hello\n", 21);
	refused(&c, complete(&c, upload, named(&c, 1, etag)), 400, "InvalidRequest");
	assert_string_equal(status_of(&c), "errored");
	assert_int_equal(files_of(&c), 0);
	refused(&c, ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 9000 }), 400, "InvalidRequest");
	upload = begin(&sized);
	refused(&sized, ask(&sized, &(struct ask){ "PUT", .query = part_query(&sized, 1, upload), .body = bytes, .n =
	    9001 }),
	    400, "EntityTooLarge");
	etag = part(&sized, upload, 1, bytes, 8000);
	refused(&sized, complete(&sized, upload, named(&sized, 1, etag)), 400, "InvalidRequest");
	refused(&sized, ask(&sized, &(struct ask){ "PUT", .query = part_query(&sized, 2, upload), .body = bytes, .n =
	    1001 }),
	    400, "EntityTooLarge");
	etag = part(&sized, upload, 1, bytes, 9000);
	fine(complete(&sized, upload, named(&sized, 1, etag)));
	holds(&sized, bytes, 9000);
	refused(&c, ask(&c, &(struct ask){ "GET", .path = "/storage/uploads", .query = "acl=" }), 501,
	    "NotImplemented");
}

static void
near_its_end(void *user)
{
	const struct client *c = user;

	db_run(c->w->db, "UPDATE uploads SET expires_at = " SQL_NOW " + 60000 WHERE id = ?", ARGS(ID(uuid_of(c))));
}

static const struct buf *
given(const struct s3_call *c)
{
	return &((const struct sending *)c->user)->given;
}

static struct s3_call *
get(const struct client *c, const char *name, const char *value)
{
	return ask(c, &(struct ask){ "GET", .body = "", .more = { { name, value } } });
}

static void
what_has_arrived_is_read_by_its_client_until_it_is_an_asset(void **state)
{
	enum { SIZE = 3 * MIB + 17 };
	static const struct { const char *range; int from, n; const char *told; } ranges[] = {
		{ "bytes=0-0", 0, 1, "bytes 0-0/3145745" }, { "bytes=100-199", 100, 100, "bytes 100-199/3145745" },
		{ "bytes=1048570-1048585", 1048570, 16, "bytes 1048570-1048585/3145745" },
		{ "bytes=3145700-", 3145700, 45, "bytes 3145700-3145744/3145745" },
		{ "bytes=3145700-99999999", 3145700, 45, "bytes 3145700-3145744/3145745" },
		{ "bytes=-50", 3145695, 50, "bytes 3145695-3145744/3145745" },
		{ "bytes=-99999999", 0, SIZE, "bytes 0-3145744/3145745" },
		/* None of those that we know: all of it. */
		{ "bytes=9-5", 0, SIZE, NULL }, { "bytes=a-b", 0, SIZE, NULL }, { "bytes=1-2,4-5", 0, SIZE, NULL },
		{ "items=0-1", 0, SIZE, NULL }, { "bytes=", 0, SIZE, NULL }, { "bytes=-", 0, SIZE, NULL },
		{ "bytes=--5", 0, SIZE, NULL }, { "bytes=5", 0, SIZE, NULL },
		{ "bytes=99999999999999999999-", 0, SIZE, NULL },
	};
	struct world *w = *state;
	struct client c = client_of(w, ""), other = client_of(w, ""), foreign = client_of(world_other(w), "");
	const struct ask theirs = { "GET", .body = "", .path = arena_printf(w->mem, "/storage/uploads/%s", c.id) };
	char *bytes = film(w, SIZE);
	const char *etag;
	struct s3_call *r;

	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 404, "NoSuchKey");
	begin(&c);
	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 404, "NoSuchKey");
	r = ask(&c, &(struct ask){ "PUT", .body = bytes, .n = SIZE });
	fine(r);
	etag = header_told(w, r, "ETag");
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const char *told;

		r = get(&c, "Range", ranges[i].range);
		fine(r);
		told = header_told(w, r, "Content-Range");
		assert_int_equal(r->status, ranges[i].told != NULL ? 206 : 200);
		assert_string_equal(told != NULL ? told : "", ranges[i].told != NULL ? ranges[i].told : "");
		assert_string_equal(header_told(w, r, "Content-Length"), arena_printf(w->mem, "%d", ranges[i].n));
		assert_string_equal(header_told(w, r, "ETag"), etag);
		assert_string_equal(header_told(w, r, "Content-Type"), "application/octet-stream");
		assert_int_equal(given(r)->len, ranges[i].n);
		assert_memory_equal(given(r)->text, bytes + ranges[i].from, (size_t)ranges[i].n);
	}
	refused(&c, get(&c, "Range", "bytes=3145745-"), 416, "InvalidRange");
	refused(&c, get(&c, "Range", "bytes=-0"), 416, "InvalidRange");
	fine(get(&c, "If-Match", etag));
	refused(&c, get(&c, "If-Match", "\"00000000000000000000000000000000\""), 412, "PreconditionFailed");
	assert_int_equal(get(&c, "If-None-Match", etag)->status, 304);
	fine(get(&c, "If-None-Match", "\"00000000000000000000000000000000\""));
	/* Who goes away gets no more. */
	r = ask(&c, &(struct ask){ "GET", .body = "", .enough = 100 });
	assert_true(r->cut);
	assert_int_equal(given(r)->len, MIB);
	refused(&other, ask(&other, &theirs), 403, "AccessDenied");
	refused(&foreign, ask(&foreign, &theirs), 403, "AccessDenied");
	refused(&c, send_signed(&c, &theirs, date_of(w, 0), NULL, EMPTY_SHA256), 403, "AccessDenied");
	db_run(w->db, "UPDATE uploads SET expires_at = 1 WHERE id = ?", ARGS(ID(uuid_of(&c))));
	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 400, "ExpiredToken");
	near_its_end(&c);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", c.id), "{}")->status, 200);
	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 403, "AccessDenied");
	r = ask(&c, &(struct ask){ .method = "HEAD" });
	fine(r);
	assert_string_equal(header_told(w, r, "Content-Length"), "3145745");
}

static int64_t
purges_of(const struct client *c)
{
	return number(c->w, "FROM jobs t WHERE t.kind = 'purge' AND t.args LIKE ?", ARGS(STR(arena_printf(c->w->mem,
	    "%%originals/%s%%", c->id))));
}

static void
what_has_arrived_can_be_given_up_with_its_upload(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, ""), kept = client_of(w, "");
	const struct ask gone = { "DELETE", .body = "" };
	char *bytes = film(w, 9000);
	const char *upload = begin(&c), *etag;
	struct s3_call *r;

	/* What comes in parts is no object yet. */
	etag = part(&c, upload, 1, bytes, 9000);
	r = ask(&c, &gone);
	fine(r);
	assert_int_equal(r->status, 204);
	assert_int_equal(parts_of(&c), 1);
	fine(complete(&c, upload, named(&c, 1, etag)));
	assert_int_equal(purges_of(&c), 0);
	assert_int_equal(ask(&c, &gone)->status, 204);
	assert_string_equal(status_of(&c), "cancelled");
	assert_int_equal(purges_of(&c), 1);
	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 400, "ExpiredToken");
	refused(&c, ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 9000 }), 400, "ExpiredToken");
	refused(&c, ask(&c, &gone), 400, "ExpiredToken");
	/* An asset is deleted as such. */
	fine(ask(&kept, &(struct ask){ "PUT", .body = bytes, .n = 9000 }));
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", kept.id), "{}")->status, 200);
	refused(&kept, ask(&kept, &gone), 403, "AccessDenied");
	assert_string_equal(status_of(&kept), "completed");
	assert_int_equal(purges_of(&kept), 0);
	holds(&kept, bytes, 9000);
}

static struct s3_call *
erase(const struct client *c, const char *path, const char *keys, struct header sum)
{
	const char *body = arena_printf(c->w->mem, "<Delete" XMLNS ">%s</Delete>", keys);

	return ask(c, &(struct ask){ "POST", .path = path, .query = "delete=", .body = body, .n = strlen(body), .more =
	    { sum } });
}

/* Of many keys these credentials reach one. */
static void
of_a_list_of_keys_the_one_of_the_upload_is_given_up(void **state)
{
	static const char path[] = "/storage/uploads", *const bad[] = { "", "<Object/>", "<Object><Key>a", "<!--a-->" };
	const struct header none = { NULL, NULL };
	struct world *w = *state;
	struct client c = client_of(w, ""), other = client_of(w, ""), quiet = client_of(w, "");
	char *bytes = film(w, 9000);
	const char *both = arena_printf(w->mem, "<Object><Key>%s</Key></Object><Object><Key>%s</Key></Object>",
	    other.id, c.id);
	struct buf many = BUF(w->mem);
	struct s3_call *r;

	fine(ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 9000 }));
	fine(ask(&other, &(struct ask){ "PUT", .body = bytes, .n = 9000 }));
	fine(ask(&quiet, &(struct ask){ "PUT", .body = bytes, .n = 9000 }));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(&c, erase(&c, path, bad[i], none), 400, "MalformedXML");
	for (int i = 0; i < 1001; i++)
		buf_printf(&many, "<Object><Key>%s</Key></Object>", c.id);
	refused(&c, erase(&c, path, buf_string(&many), none), 400, "MalformedXML");
	refused(&c, erase(&c, path, both, (struct header){ "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==" }), 400,
	    "BadDigest");
	refused(&c, erase(&c, path, both, (struct header){ "x-amz-checksum-crc32", "AAAAAA==" }), 400, "BadDigest");
	assert_string_equal(status_of(&c), "uploaded");
	r = erase(&c, path, both, none);
	fine(r);
	assert_non_null(strstr(body_of(r), arena_printf(w->mem, "<Error><Key>%s</Key><Code>AccessDenied</Code>",
	    other.id)));
	assert_non_null(strstr(body_of(r), arena_printf(w->mem, "<Deleted><Key>%s</Key></Deleted>", c.id)));
	assert_string_equal(status_of(&c), "cancelled");
	assert_string_equal(status_of(&other), "uploaded");
	/* Its key as clients without a path in their endpoint call it; only what failed is told. */
	r = erase(&quiet, "/storage/", arena_printf(w->mem, "<Quiet>true</Quiet><Object><Key>uploads/%s</Key></Object>"
	    "<Object><Key>%s</Key></Object>", quiet.id, quiet.id), none);
	fine(r);
	assert_null(strstr(body_of(r), "<Deleted>"));
	assert_non_null(strstr(body_of(r), arena_printf(w->mem, "<Error><Key>%s</Key>", quiet.id)));
	assert_string_equal(status_of(&quiet), "cancelled");
}

/* A request that comes while another is answered. */
struct other { const struct client *c; struct ask ask; enum s3_error error; };

static void
send_other(void *user)
{
	struct other *o = user;

	o->error = ask(o->c, &o->ask)->error;
}

/* Who gives an upload up does not wait for what is on its way, of which nothing stays. */
static void
a_part_that_still_comes_ends_with_its_upload(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 900000);

	for (int nap = 0; nap < 2; nap++) {
		struct client c = client_of(w, ",\"fileSize\":900000");
		const char *first = begin(&c), *upload;
		struct other gives_up = { &c, { "DELETE", .query = arena_printf(w->mem, "uploadId=%s", first) },
		    S3_INTERNAL };
		struct s3_call *r;

		part(&c, first, 2, bytes, 3000);
		/* In the middle of it, and when all of it was read. */
		r = ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 1, first), .body = bytes, .n = 890000,
		    .meanwhile = send_other, .nap = nap, .user = &gives_up });
		assert_int_equal(gives_up.error, S3_FINE);
		refused(&c, r, 404, "NoSuchUpload");
		assert_true(nap == 0 || r->received < 890000);
		assert_int_equal(files_of(&c), 0);
		assert_string_equal(status_of(&c), "waiting");
		assert_int_equal(number(w, "FROM uploads t WHERE t.id = ? AND t.received_bytes = 0", ARGS(ID(uuid_of(
		    &c)))), 1);
		assert_int_equal(number(w, "FROM upload_parts t WHERE t.upload_id = ?", ARGS(ID(uuid_of(&c)))), 0);
		refused(&c, ask(&c, &gives_up.ask), 404, "NoSuchUpload");
		/* It begins anew as if nothing had been. */
		upload = begin(&c);
		fine(complete(&c, upload, named(&c, 1, part(&c, upload, 1, bytes, 900000))));
		holds(&c, bytes, 900000);
	}
}

/* Of both at once one is done: what is complete cannot be given up, and what was given up is not completed. */
static void
what_is_given_up_while_it_is_completed_is_no_file(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 9000);
	const char *upload = begin(&c), *list = arena_printf(w->mem, "<CompleteMultipartUpload>%s"
	    "</CompleteMultipartUpload>", named(&c, 1, part(&c, upload, 1, bytes, 9000)));
	struct other gives_up = { &c, { "DELETE", .query = arena_printf(w->mem, "uploadId=%s", upload) }, S3_INTERNAL };

	refused(&c, ask(&c, &(struct ask){ "POST", .query = arena_printf(w->mem, "uploadId=%s", upload), .body = list,
	    .n = strlen(list), .meanwhile = send_other, .user = &gives_up }), 404, "NoSuchUpload");
	assert_int_equal(gives_up.error, S3_FINE);
	assert_int_equal(files_of(&c), 0);
	assert_int_equal(store_size(w->mem, store_key_original(w->mem, uuid_of(&c))), -1);
	upload = begin(&c);
	fine(complete(&c, upload, named(&c, 1, part(&c, upload, 1, bytes, 9000))));
	refused(&c, ask(&c, &(struct ask){ "DELETE", .query = arena_printf(w->mem, "uploadId=%s", upload) }), 404,
	    "NoSuchUpload");
	holds(&c, bytes, 9000);
}

/* Each of them finds all the room that there is when it begins. */
static void
parts_at_the_same_moment_have_the_room_of_one(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 9000);

	for (int i = 0; i < 2; i++) {
		struct client c = client_of(w, i == 0 ? ",\"fileSize\":9000" : "");
		const char *upload = begin(&c), *quota = "UPDATE tenants SET storage_quota = 10000 + (SELECT "
		    "s.storage_used FROM tenant_usage s WHERE s.tenant_id = tenants.id) + (SELECT COALESCE(SUM(COALESCE(u.file_size, "
		    "u.received_bytes)), 0) FROM uploads u WHERE u.tenant_id = tenants.id AND u.status IN ('waiting', "
		    "'uploading', 'uploaded')) WHERE id = ?";
		struct other first = { &c, { "PUT", .query = part_query(&c, 1, upload), .body = bytes, .n = 8000 },
		    S3_INTERNAL };

		if (i == 1)
			db_run(w->db, quota, ARGS(ID(w->tenant_id)));
		refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 2, upload), .body = bytes, .n = 8000,
		    .meanwhile = send_other, .user = &first }), i == 0 ? 400 : 507, i == 0 ? "EntityTooLarge" :
		    "InsufficientStorage");
		assert_int_equal(first.error, S3_FINE);
		assert_int_equal(parts_of(&c), 1);
		/* Once more is no more. */
		part(&c, upload, 1, bytes, 9000);
		db_run(w->db, "UPDATE tenants SET storage_quota = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
	}
}

/* The file that parts of 5 MiB share. */
static ino_t
shared_by(const struct client *c)
{
	struct stat st = { .st_ino = 0 };

	stat(arena_printf(c->w->mem, "%s/1.shared.%d", store_incoming(c->w->mem, uuid_of(c)), 5 * MIB), &st);
	return st.st_ino;
}

/* Was it made of that very file, and not copied? */
static bool
lies_in(const struct client *c, ino_t file)
{
	const char *path = store_fetch(c->w->mem, store_key_original(c->w->mem, uuid_of(c)), NULL);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return file != 0 && st.st_ino == file && st.st_nlink == 1;
}

static const char *
three(const struct client *c, int first, const char *const etag[3])
{
	return arena_printf(c->w->mem, "%s%s%s", named(c, first, etag[0]), named(c, first + 1, etag[1]),
	    named(c, first + 2, etag[2]));
}

static void
parts_of_one_size_come_to_lie_where_the_file_needs_them(void **state)
{
	struct world *w = *state;
	const size_t size = 10 * MIB + 17;
	char *bytes = film(w, size), *others = film(w, 5 * MIB);
	struct ask second = { "PUT", .body = bytes + 5 * MIB, .n = 5 * MIB };

	for (int trial = 0; trial < 6; trial++) {
		const int first = trial == 5 ? 4 : 1;	/* with numbers left out they lie elsewhere */
		struct client c = client_of(w, "");
		const char *upload = begin(&c), *etag[3];
		struct other other = { &c, { "PUT", .body = others, .n = 5 * MIB }, S3_INTERNAL };
		ino_t file;

		second.query = other.ask.query = part_query(&c, first + 1, upload);
		etag[2] = part(&c, upload, first + 2, bytes + 10 * MIB, 17);
		etag[1] = part(&c, upload, first + 1, trial == 2 ? others : bytes + 5 * MIB, 5 * MIB);
		etag[0] = part(&c, upload, first, bytes, 5 * MIB);
		file = shared_by(&c);
		if (trial == 1)		/* what breaks off changes nothing of what counts */
			refused(&c, ask(&c, &(struct ask){ "PUT", .query = second.query, .body = others, .n = 5 * MIB,
			    .wire = others, .n_wire = 3 * MIB, .cut = true }), 400, "IncompleteBody");
		if (trial == 2)		/* another one counts; and again, where the first was */
			etag[1] = part(&c, upload, first + 1, bytes + 5 * MIB, 5 * MIB);
		if (trial == 3)		/* two at once, of which the last to end counts */
			etag[1] = header_told(w, ask(&c, &(struct ask){ "PUT", .query = second.query, .body =
			    second.body, .n = second.n, .meanwhile = send_other, .nap = 1, .user = &other }), "ETag");
		if (trial == 4) {	/* with one more that nobody names, it is copied */
			part(&c, upload, 4, others, 5 * MIB);
			assert_int_equal(shared_by(&c), file);
		}
		fine(complete(&c, upload, three(&c, first, etag)));
		holds(&c, bytes, size);
		assert_int_equal(files_of(&c), 0);
		assert_int_equal(lies_in(&c, file), trial < 4);
	}
}

/* Of two for an empty place one has it, and the other a file of its own. */
static void
two_that_bring_one_part_do_not_write_into_each_other(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 5 * MIB), *others = film(w, 5 * MIB);
	struct client c = client_of(w, "");
	const char *upload = begin(&c), *query = part_query(&c, 1, upload);
	struct other other = { &c, { "PUT", .query = query, .body = others, .n = 5 * MIB }, S3_INTERNAL };
	struct s3_call *r = ask(&c, &(struct ask){ "PUT", .query = query, .body = bytes, .n = 5 * MIB, .meanwhile =
	    send_other, .nap = 1, .user = &other });
	ino_t file;

	fine(r);
	assert_int_equal(other.error, S3_FINE);
	assert_int_equal(parts_of(&c), 1);	/* that of the other is gone */
	file = shared_by(&c);
	fine(complete(&c, upload, named(&c, 1, header_told(w, r, "ETag"))));
	holds(&c, bytes, 5 * MIB);
	assert_true(lies_in(&c, file));
}

static void
a_part_that_comes_while_all_is_completed_does_not_write_into_the_file(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 10 * MIB), *others = film(w, 5 * MIB);
	struct client c = client_of(w, "");
	const char *upload = begin(&c), *list, *whole;
	struct other end;

	list = arena_printf(w->mem, "%s%s", named(&c, 1, part(&c, upload, 1, bytes, 5 * MIB)), named(&c, 2,
	    part(&c, upload, 2, bytes + 5 * MIB, 5 * MIB)));
	whole = arena_printf(w->mem, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", list);
	end = (struct other){ &c, { "POST", .query = arena_printf(w->mem, "uploadId=%s", upload), .body = whole, .n =
	    strlen(whole) }, S3_INTERNAL };
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 3, upload), .body = others, .n = 5 * MIB,
	    .meanwhile = send_other, .nap = 1, .user = &end }), 404, "NoSuchUpload");
	assert_int_equal(end.error, S3_FINE);
	holds(&c, bytes, 10 * MIB);
}

/* Sent again and again, each time a little longer: what counts no more takes no room. */
static void
parts_that_were_replaced_leave_nothing(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 5 * MIB + 8);
	struct client c = client_of(w, "");
	const char *upload = begin(&c);

	for (int i = 0; i < 8; i++) {
		part(&c, upload, 1, bytes, 5 * MIB + (size_t)i);
		assert_int_equal(parts_of(&c), 1);
	}
	part(&c, upload, 2, bytes, 5 * MIB + 7);
	part(&c, upload, 2, bytes, 5 * MIB + 6);
	assert_int_equal(parts_of(&c), 2);
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 3, upload), .body = bytes, .n = 5 * MIB + 5,
	    .wire = bytes, .n_wire = 3 * MIB, .cut = true }), 400, "IncompleteBody");
	assert_int_equal(parts_of(&c), 2);
}

/* The answer to the first may be lost, so it comes again while the first is at work. */
static void
who_asks_for_what_has_just_been_done_is_told_so(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 9000);
	const char *upload = begin(&c), *list = arena_printf(w->mem, "<CompleteMultipartUpload>%s"
	    "</CompleteMultipartUpload>", named(&c, 1, part(&c, upload, 1, bytes, 9000)));
	struct other first = { &c, { "POST", .query = arena_printf(w->mem, "uploadId=%s", upload), .body = list,
	    .n = strlen(list) }, S3_INTERNAL };
	struct ask again = first.ask;

	again.meanwhile = send_other;
	again.user = &first;
	fine(ask(&c, &again));
	assert_int_equal(first.error, S3_FINE);
	holds(&c, bytes, 9000);
}

/* Both have joined their parts when the first one is placed. */
static void
of_two_files_of_an_attempt_one_is_told_that_it_counts(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 6 * MIB), *head = film(w, 6 * MIB);
	const char *upload = begin(&c), *path = arena_printf(w->mem, "%s/1.whole.x", store_incoming(w->mem,
	    uuid_of(&c)));
	struct seat seat = { .upload_id = uuid_of(&c), .tenant_id = w->tenant_id, .principal_id = w->client_id };
	struct put p = { .in = &here, .mem = w->mem, .id = uuid_of(&c), .received = 9000, .etag = "another-2" };
	unsigned char sha256[32];
	const char *etag;
	FILE *f;

	fine(complete(&c, upload, named(&c, 1, part(&c, upload, 1, bytes, 6 * MIB))));
	etag = header_told(w, ask(&c, &(struct ask){ .method = "HEAD" }), "ETag");
	assert_non_null(etag);
	assert_true(mkdir(store_incoming(w->mem, uuid_of(&c)), 0700) == 0);
	assert_non_null(f = fopen(path, "w"));
	assert_int_equal(fwrite(head, 1, 9000, f), 9000);
	assert_int_equal(fclose(f), 0);
	EVP_Digest(head, 9000, sha256, NULL, EVP_sha256(), NULL);
	assert_int_equal(put_place(&p, &seat, 1, path, sha256), ERR_UPLOAD_RECEIVED);
	EVP_Digest(bytes, 6 * MIB, sha256, NULL, EVP_sha256(), NULL);
	assert_int_equal(put_place(&p, &seat, 1, path, sha256), ERR_NONE);
	holds(&c, bytes, 6 * MIB);
	assert_string_equal(header_told(w, ask(&c, &(struct ask){ .method = "HEAD" }), "ETag"), etag);
}

static void
cancelled(void *user)
{
	const struct client *c = user;

	assert_int_equal(call(c->w, "PUT", arena_printf(c->w->mem, "/v2/uploads/%s/cancel", c->id), NULL)->status, 200);
}

/* As one of a PUT does. */
static void
bytes_on_their_way_keep_the_upload_alive_and_end_with_it(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 5 * MIB);
	struct s3_call *r;

	for (int whole = 0; whole < 2; whole++) {
		struct client c = client_of(w, "");
		struct ask put = { "PUT", .query = whole ? NULL : part_query(&c, 1, begin(&c)), .body = bytes,
		    .n = 5 * MIB, .wire = bytes, .n_wire = 1 * MIB, .cut = true, .meanwhile = near_its_end,
		    .nap = 2500, .user = &c };

		refused(&c, ask(&c, &put), 400, "IncompleteBody");
		assert_true(number(w, "FROM uploads t WHERE t.id = ? AND expires_at > " SQL_NOW " + 120000",
		    ARGS(ID(uuid_of(&c)))) == 1);
		put.wire = NULL;
		put.meanwhile = cancelled;
		r = ask(&c, &put);
		refused(&c, r, 404, "NoSuchUpload");
		assert_true(r->received < 5 * MIB);
		assert_int_equal(files_of(&c), 0);
	}
}

static int
close_all(void **state)
{
	links_free(here.links);
	room_free(here.room);
	return world_close(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(checksums_are_those_of_their_standards),
		WORLD_TEST(signatures_are_those_of_the_reference),
		WORLD_TEST(chunks_are_signed_as_in_the_reference),
		WORLD_TEST(trailers_are_signed_as_in_the_reference),
		WORLD_TEST(parts_come_in_any_order_and_again_and_become_the_file),
		WORLD_TEST(the_hash_of_parts_is_worked_out_ahead_and_never_wrong),
		WORLD_TEST(parts_of_one_size_come_to_lie_where_the_file_needs_them),
		WORLD_TEST(two_that_bring_one_part_do_not_write_into_each_other),
		WORLD_TEST(a_part_that_comes_while_all_is_completed_does_not_write_into_the_file),
		WORLD_TEST(parts_that_were_replaced_leave_nothing),
		WORLD_TEST(one_put_brings_the_whole_file),
		WORLD_TEST(a_turned_bit_is_noticed_by_each_checksum),
		WORLD_TEST(a_checksum_that_is_signed_is_held_against_its_signature_and_the_bytes),
		WORLD_TEST(a_checksum_that_is_not_looked_at_is_refused),
		WORLD_TEST(credentials_reach_one_key_for_as_long_as_the_upload_is_open),
		WORLD_TEST(the_token_opens_nothing_without_the_secret),
		WORLD_TEST(an_address_that_is_signed_holds_for_what_it_says),
		WORLD_TEST(the_signature_before_this_one_is_refused_by_its_name),
		WORLD_TEST(the_one_bucket_is_told_as_clients_ask_for_it),
		WORLD_TEST(what_this_store_does_not_do_is_refused_by_its_code),
		WORLD_TEST(long_lists_are_refused_and_cost_little),
		WORLD_TEST(a_list_of_parts_takes_the_memory_of_its_bytes),
		WORLD_TEST(a_list_of_parts_waits_for_its_turn),
		WORLD_TEST(who_asks_for_what_has_just_been_done_is_told_so),
		WORLD_TEST(of_two_files_of_an_attempt_one_is_told_that_it_counts),
		WORLD_TEST(the_last_transfer_that_began_is_the_one_that_counts),
		WORLD_TEST(a_part_that_still_comes_ends_with_its_upload),
		WORLD_TEST(what_is_given_up_while_it_is_completed_is_no_file),
		WORLD_TEST(parts_at_the_same_moment_have_the_room_of_one),
		WORLD_TEST(bytes_on_their_way_keep_the_upload_alive_and_end_with_it),
		WORLD_TEST(what_is_no_media_or_too_much_is_refused),
		WORLD_TEST(what_has_arrived_is_read_by_its_client_until_it_is_an_asset),
		WORLD_TEST(what_has_arrived_can_be_given_up_with_its_upload),
		WORLD_TEST(of_a_list_of_keys_the_one_of_the_upload_is_given_up),
	};

	xmlMemSetup(give_back, take_new, take_more, take_copy);
	return cmocka_run_group_tests(tests, world_open, close_all);
}
