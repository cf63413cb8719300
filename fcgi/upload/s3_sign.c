/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The canonical request, and what signs it. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"
#include "fcgi/upload/s3_sign.h"

enum { SKEW_MS = 15 * 60 * 1000, EXPIRES_MAX = 7 * 24 * 3600, PARAMS_MAX = 64, NAMES_MAX = 64 };

#define ALGORITHM "AWS4-HMAC-SHA256"

struct param { const char *name, *value; };

static const char *
decoded(struct arena *mem, const char *text, size_t n)
{
	char *copy = arena_copy_n(mem, text, n);
	long length = percent_decode(copy, n, false);

	if (length < 0)
		return arena_copy_n(mem, text, n);
	copy[length] = '\0';
	return copy;
}

/* Of the query.  -1: there are too many. */
static int
params_of(struct arena *mem, const char *uri, struct param at[PARAMS_MAX])
{
	const char *p = strchr(uri, '?');
	int n = 0;

	while (p != NULL && *p != '\0') {
		size_t length = strcspn(++p, "&"), name = strcspn(p, "=&");

		if (length > 0) {
			if (n == PARAMS_MAX)
				return -1;
			at[n++] = (struct param){ decoded(mem, p, name), name < length ? decoded(mem, p + name + 1,
			    length - name - 1) : "" };
		}
		p += length;
	}
	return n;
}

const char *
s3_query(struct arena *mem, const char *uri, const char *name)
{
	struct param at[PARAMS_MAX];
	int n = params_of(mem, uri, at);

	for (int i = 0; i < n; i++)
		if (strcmp(at[i].name, name) == 0)
			return at[i].value;
	return NULL;
}

/* "20130524T000000Z" */
static bool
read_time(const char *text, int64_t *ms)
{
	struct tm tm = { 0 };
	char end;

	if (text == NULL || strlen(text) != 16 || sscanf(text, "%4d%2d%2dT%2d%2d%2d%c", &tm.tm_year, &tm.tm_mon,
	    &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &end) != 7 || end != 'Z')
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

/* "AKID/20130524/us-east-1/s3/aws4_request": the key, and the rest, whose day is that of the request. */
static bool
read_credential(struct s3_sign *s, struct arena *mem, const char *text)
{
	const char *slash = text != NULL ? strchr(text, '/') : NULL;

	if (slash == NULL || slash == text)
		return false;
	s->access_key = arena_copy_n(mem, text, (size_t)(slash - text));
	s->scope = slash + 1;
	return strlen(s->scope) > 24 && strlen(s->scope) < 100 && strncmp(s->scope, s->date, 8) == 0 &&
	    s->scope[8] == '/' && strcmp(s->scope + strlen(s->scope) - 16, "/s3/aws4_request") == 0;
}

/* A member of the Authorization header, between commas with or without blanks. */
static const char *
member(struct arena *mem, const char *text, const char *name)
{
	const size_t n = strlen(name);

	while (*text != '\0') {
		text += strspn(text, ", ");
		if (strncmp(text, name, n) == 0 && text[n] == '=')
			return arena_copy_n(mem, text + n + 1, strcspn(text + n + 1, ", "));
		text += strcspn(text, ",");
	}
	return NULL;
}

static enum s3_error
read_header(struct s3_sign *s, struct arena *mem, const struct s3_request *r, const char *authorization)
{
	if (strncmp(authorization, "AWS ", 4) == 0)
		return S3_OLD_SIGNATURE;
	if (strncmp(authorization, ALGORITHM " ", sizeof(ALGORITHM)) != 0)
		return S3_BAD_AUTHORIZATION;
	authorization += sizeof(ALGORITHM);
	s->date = r->header(r->user, "x-amz-date");
	s->token = r->header(r->user, "x-amz-security-token");
	s->content = r->header(r->user, "x-amz-content-sha256");
	s->signed_headers = member(mem, authorization, "SignedHeaders");
	s->signature = member(mem, authorization, "Signature");
	if (s->date == NULL || s->content == NULL || s->signed_headers == NULL || s->signature == NULL ||
	    !read_credential(s, mem, member(mem, authorization, "Credential")))
		return S3_BAD_AUTHORIZATION;
	return S3_FINE;
}

static enum s3_error
read_query(struct s3_sign *s, struct arena *mem, const struct s3_request *r)
{
	const char *algorithm = s3_query(mem, r->uri, "X-Amz-Algorithm");

	if (s3_query(mem, r->uri, "AWSAccessKeyId") != NULL)
		return S3_OLD_SIGNATURE;
	if (algorithm == NULL)
		return S3_NO_CREDENTIALS;
	s->in_query = true;
	s->date = s3_query(mem, r->uri, "X-Amz-Date");
	s->token = s3_query(mem, r->uri, "X-Amz-Security-Token");
	s->content = r->header(r->user, "x-amz-content-sha256");
	if (s->content == NULL)
		s->content = "UNSIGNED-PAYLOAD";
	s->signed_headers = s3_query(mem, r->uri, "X-Amz-SignedHeaders");
	s->signature = s3_query(mem, r->uri, "X-Amz-Signature");
	if (strcmp(algorithm, ALGORITHM) != 0 || s->date == NULL || s->signed_headers == NULL ||
	    s->signature == NULL || !read_credential(s, mem, s3_query(mem, r->uri, "X-Amz-Credential")))
		return S3_BAD_AUTHORIZATION;
	return S3_FINE;
}

static enum s3_error
check_time(const struct s3_sign *s, struct arena *mem, const struct s3_request *r, struct moment now)
{
	int64_t at, expires;

	if (!read_time(s->date, &at))
		return S3_BAD_AUTHORIZATION;
	if (!s->in_query)
		return now.ms - at > SKEW_MS || at - now.ms > SKEW_MS ? S3_SKEWED : S3_FINE;
	if (s3_query(mem, r->uri, "X-Amz-Expires") == NULL || !int_parse(s3_query(mem, r->uri, "X-Amz-Expires"),
	    &expires) || expires < 1 || expires > EXPIRES_MAX)
		return S3_BAD_AUTHORIZATION;
	return at - now.ms > SKEW_MS ? S3_SKEWED : now.ms > at + expires * 1000 ? S3_ADDRESS_EXPIRED : S3_FINE;
}

enum s3_error
s3_sign_read(struct s3_sign *s, struct arena *mem, const struct s3_request *r, struct moment now)
{
	const char *authorization = r->header(r->user, "authorization");
	enum s3_error error;

	*s = (struct s3_sign){ 0 };
	error = authorization != NULL ? read_header(s, mem, r, authorization) : read_query(s, mem, r);
	return error != S3_FINE ? error : check_time(s, mem, r, now);
}

static const char *
sha256_hex(struct arena *mem, const void *bytes, size_t n)
{
	unsigned char sha256[32];

	EVP_Digest(bytes, n, sha256, NULL, EVP_sha256(), NULL);
	return hex_encode(mem, sha256, sizeof(sha256));
}

static void
hmac(const void *key, size_t n_key, const char *text, size_t n, unsigned char out[32])
{
	if (HMAC(EVP_sha256(), key, (int)n_key, (const unsigned char *)text, n, out, NULL) == NULL)
		abort();
}

/* By name, then by value, as they are encoded. */
static int
by_name(const void *a, const void *b)
{
	const struct param *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : strcmp(x->value, y->value);
}

static bool
put_query(struct buf *b, struct arena *mem, const struct s3_sign *s, const char *uri)
{
	struct param at[PARAMS_MAX];
	int n = params_of(mem, uri, at);
	bool first = true;

	for (int i = 0; i < n; i++)
		at[i] = (struct param){ percent_encode(mem, at[i].name), percent_encode(mem, at[i].value) };
	if (n > 0)
		qsort(at, (size_t)n, sizeof(at[0]), by_name);
	for (int i = 0; i < n; i++) {
		if (s->in_query && strcmp(at[i].name, "X-Amz-Signature") == 0)
			continue;
		buf_printf(b, "%s%s=%s", first ? "" : "&", at[i].name, at[i].value);
		first = false;
	}
	return n >= 0;
}

/* Blanks around it go, and of several in a row one stays. */
static void
put_trimmed(struct buf *b, const char *value)
{
	value += strspn(value, " \t");
	while (*value != '\0') {
		size_t word = strcspn(value, " \t"), blank = strspn(value + word, " \t");

		buf_add(b, value, word);
		value += word + blank;
		if (blank > 0 && *value != '\0')
			buf_char(b, ' ');
	}
}

static const char *
value_of(const struct s3_request *r, const char *name, const char *host)
{
	const char *value = strcmp(name, "host") == 0 ? host : r->header(r->user, name);

	if (value == NULL && strcmp(name, "transfer-encoding") == 0)
		return "chunked";
	if (value == NULL && strcmp(name, "expect") == 0)
		return "100-continue";
	return value != NULL ? value : "";
}

/* False: it does not sign what it has to. */
static bool
put_headers(struct buf *b, struct arena *mem, const struct s3_sign *s, const struct s3_request *r, const char *host)
{
	const char *p = s->signed_headers;
	bool has_host = false, has_token = s->in_query || s->token == NULL;
	int n = 0;

	while (*p != '\0' && n++ < NAMES_MAX) {
		const char *name = arena_copy_n(mem, p, strcspn(p, ";"));

		has_host |= strcmp(name, "host") == 0;
		has_token |= strcmp(name, "x-amz-security-token") == 0;
		buf_printf(b, "%s:", name);
		put_trimmed(b, value_of(r, name, host));
		buf_char(b, '\n');
		p += strlen(name);
		p += *p == ';';
	}
	return has_host && has_token && *p == '\0';
}

static bool
fits(struct s3_sign *s, struct arena *mem, const struct s3_request *r, const char *host)
{
	struct buf b = BUF(mem), text = BUF(mem);
	const char *ours;

	buf_printf(&b, "%s\n%.*s\n", r->method, (int)strcspn(r->uri, "?"), r->uri);
	if (!put_query(&b, mem, s, r->uri))
		return false;
	buf_char(&b, '\n');
	if (!put_headers(&b, mem, s, r, host))
		return false;
	buf_printf(&b, "\n%s\n%s", s->signed_headers, s->content);
	buf_printf(&text, ALGORITHM "\n%s\n%s\n%s", s->date, s->scope, sha256_hex(mem, b.text, b.len));
	ours = s3_sign_text(s, mem, buf_string(&text));
	return strlen(ours) == strlen(s->signature) && CRYPTO_memcmp(ours, s->signature, strlen(ours)) == 0;
}

/* From the secret by way of day, region, service and "aws4_request". */
static void
make_key(struct s3_sign *s, struct arena *mem, const char *secret)
{
	const char *first = arena_printf(mem, "AWS4%s", secret), *p = s->scope;
	unsigned char key[32];

	hmac(first, strlen(first), p, strcspn(p, "/"), key);
	while (*(p += strcspn(p, "/")) == '/') {
		p++;
		hmac(key, sizeof(key), p, strcspn(p, "/"), s->key);
		memcpy(key, s->key, sizeof(key));
	}
	OPENSSL_cleanse(key, sizeof(key));
}

enum s3_error
s3_sign_check(struct s3_sign *s, struct arena *mem, const struct s3_request *r, const char *secret)
{
	const char *host = r->header(r->user, "host");

	make_key(s, mem, secret);
	if ((host != NULL && fits(s, mem, r, host)) || (r->other_host != NULL && fits(s, mem, r, r->other_host)))
		return S3_FINE;
	return S3_SIGNATURE;
}

const char *
s3_sign_text(const struct s3_sign *s, struct arena *mem, const char *text)
{
	unsigned char out[32];

	hmac(s->key, sizeof(s->key), text, strlen(text), out);
	return hex_encode(mem, out, sizeof(out));
}
