/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request says of its signature, and whether it holds. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/sigv4.h"
#include "fcgi/upload/s3_sign.h"

enum { SKEW_MS = 15 * 60 * 1000 };

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
	if (strncmp(authorization, SIGV4_ALGORITHM " ", sizeof(SIGV4_ALGORITHM)) != 0)
		return S3_BAD_AUTHORIZATION;
	authorization += sizeof(SIGV4_ALGORITHM);
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
	const char *algorithm = sigv4_param(mem, r->uri, "X-Amz-Algorithm");

	if (sigv4_param(mem, r->uri, "AWSAccessKeyId") != NULL)
		return S3_OLD_SIGNATURE;
	if (algorithm == NULL)
		return S3_NO_CREDENTIALS;
	s->in_query = true;
	s->date = sigv4_param(mem, r->uri, "X-Amz-Date");
	s->token = sigv4_param(mem, r->uri, "X-Amz-Security-Token");
	s->content = r->header(r->user, "x-amz-content-sha256");
	if (s->content == NULL)
		s->content = SIGV4_UNSIGNED;
	s->signed_headers = sigv4_param(mem, r->uri, "X-Amz-SignedHeaders");
	s->signature = sigv4_param(mem, r->uri, "X-Amz-Signature");
	if (strcmp(algorithm, SIGV4_ALGORITHM) != 0 || s->date == NULL || s->signed_headers == NULL ||
	    s->signature == NULL || !read_credential(s, mem, sigv4_param(mem, r->uri, "X-Amz-Credential")))
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
	if (sigv4_param(mem, r->uri, "X-Amz-Expires") == NULL || !int_parse(sigv4_param(mem, r->uri, "X-Amz-Expires"),
	    &expires) || expires < 1 || expires > SIGV4_EXPIRES_MAX)
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

/* A request as one of the two hosts that the client may have asked for. */
struct asked { const struct s3_request *r; const char *host; };

static const char *
value_of(void *user, const char *name)
{
	const struct asked *a = user;
	const char *value = strcmp(name, "host") == 0 ? a->host : a->r->header(a->r->user, name);

	if (value == NULL && strcmp(name, "transfer-encoding") == 0)
		return "chunked";
	if (value == NULL && strcmp(name, "expect") == 0)
		return "100-continue";
	return value;
}

static bool
signs(const struct s3_sign *s, const char *header)
{
	const size_t n = strlen(header);
	const char *p;

	for (p = s->signed_headers; *p != '\0'; p += strcspn(p, ";"), p += *p == ';')
		if (strcspn(p, ";") == n && strncmp(p, header, n) == 0)
			return true;
	return false;
}

static bool
fits(struct s3_sign *s, struct arena *mem, const struct s3_request *r, const char *host)
{
	struct asked asked = { r, host };
	const struct sigv4 request = { .method = r->method, .uri = r->uri, .signed_headers = s->signed_headers,
	    .header = value_of, .user = &asked, .content = s->content, .date = s->date, .scope = s->scope,
	    .in_query = s->in_query };
	const char *ours;

	if (!signs(s, "host") || (!s->in_query && s->token != NULL && !signs(s, "x-amz-security-token")))
		return false;
	ours = sigv4_sign(mem, &request, s->key);
	return ours != NULL && strlen(ours) == strlen(s->signature) &&
	    CRYPTO_memcmp(ours, s->signature, strlen(ours)) == 0;
}

enum s3_error
s3_sign_check(struct s3_sign *s, struct arena *mem, const struct s3_request *r, const char *secret)
{
	const char *host = r->header(r->user, "host");

	sigv4_key(mem, secret, s->scope, s->key);
	if ((host != NULL && fits(s, mem, r, host)) || (r->other_host != NULL && fits(s, mem, r, r->other_host)))
		return S3_FINE;
	return S3_SIGNATURE;
}

const char *
s3_sign_text(const struct s3_sign *s, struct arena *mem, const char *text)
{
	return sigv4_text(mem, s->key, text);
}
