/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The canonical request, and what signs it. */
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"
#include "core/digest.h"
#include "core/sigv4.h"

enum { PARAMS_MAX = 64, NAMES_MAX = 64 };

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
sigv4_param(struct arena *mem, const char *uri, const char *name)
{
	struct param at[PARAMS_MAX];
	int n = params_of(mem, uri, at);

	for (int i = 0; i < n; i++)
		if (strcmp(at[i].name, name) == 0)
			return at[i].value;
	return NULL;
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
put_query(struct buf *b, struct arena *mem, const struct sigv4 *s)
{
	struct param at[PARAMS_MAX];
	int n = params_of(mem, s->uri, at);
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

static bool
put_headers(struct buf *b, struct arena *mem, const struct sigv4 *s)
{
	const char *p = s->signed_headers, *value;
	int n = 0;

	while (*p != '\0' && n++ < NAMES_MAX) {
		const char *name = arena_copy_n(mem, p, strcspn(p, ";"));

		buf_printf(b, "%s:", name);
		value = s->header(s->user, name);
		put_trimmed(b, value != NULL ? value : "");
		buf_char(b, '\n');
		p += strlen(name);
		p += *p == ';';
	}
	return *p == '\0';
}

const char *
sigv4_sign(struct arena *mem, const struct sigv4 *s, const unsigned char key[SIGV4_KEY])
{
	struct buf b = BUF(mem), text = BUF(mem);

	buf_printf(&b, "%s\n%.*s\n", s->method, (int)strcspn(s->uri, "?"), s->uri);
	if (!put_query(&b, mem, s))
		return NULL;
	buf_char(&b, '\n');
	if (!put_headers(&b, mem, s))
		return NULL;
	buf_printf(&b, "\n%s\n%s", s->signed_headers, s->content);
	buf_printf(&text, SIGV4_ALGORITHM "\n%s\n%s\n%s", s->date, s->scope, digest_text(mem, b.text, b.len));
	return sigv4_text(mem, key, buf_string(&text));
}

static void
hmac(const void *key, size_t n_key, const char *text, size_t n, unsigned char out[SIGV4_KEY])
{
	if (HMAC(EVP_sha256(), key, (int)n_key, (const unsigned char *)text, n, out, NULL) == NULL)
		abort();
}

/* From the secret by way of day, region, service and "aws4_request". */
void
sigv4_key(struct arena *mem, const char *secret, const char *scope, unsigned char key[SIGV4_KEY])
{
	const char *first = arena_printf(mem, "AWS4%s", secret), *p = scope;
	unsigned char before[SIGV4_KEY];

	hmac(first, strlen(first), p, strcspn(p, "/"), key);
	while (*(p += strcspn(p, "/")) == '/') {
		p++;
		memcpy(before, key, sizeof(before));
		hmac(before, sizeof(before), p, strcspn(p, "/"), key);
	}
	OPENSSL_cleanse(before, sizeof(before));
}

const char *
sigv4_text(struct arena *mem, const unsigned char key[SIGV4_KEY], const char *text)
{
	unsigned char out[SIGV4_KEY];

	hmac(key, SIGV4_KEY, text, strlen(text), out);
	return hex_encode(mem, out, sizeof(out));
}

char *
sigv4_time(struct moment at, char out[SIGV4_TIME])
{
	const time_t seconds = (time_t)(at.ms / 1000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(out, SIGV4_TIME, "%Y%m%dT%H%M%SZ", &tm);
	return out;
}

static const char *
scope_of(struct arena *mem, const struct sigv4_who *who, const char *date)
{
	return arena_printf(mem, "%.8s/%s/s3/aws4_request", date, who->region);
}

const char *
sigv4_authorization(struct arena *mem, const struct sigv4_who *who, struct sigv4 request, struct moment now)
{
	unsigned char key[SIGV4_KEY];
	char date[SIGV4_TIME];
	const char *signature;

	request.date = sigv4_time(now, date);
	request.scope = scope_of(mem, who, date);
	sigv4_key(mem, who->secret, request.scope, key);
	signature = sigv4_sign(mem, &request, key);
	OPENSSL_cleanse(key, sizeof(key));
	return arena_printf(mem, SIGV4_ALGORITHM " Credential=%s/%s,SignedHeaders=%s,Signature=%s", who->key,
	    request.scope, request.signed_headers, signature);
}

static const char *
only_host(void *user, const char *name)
{
	const struct sigv4_who *who = user;

	return who->host;
}

const char *
sigv4_presigned(struct arena *mem, const struct sigv4_who *who, const char *method, const char *path, const char *more,
    struct moment now, int64_t seconds)
{
	struct sigv4_who asked = *who;
	unsigned char key[SIGV4_KEY];
	char date[SIGV4_TIME];
	const char *scope = scope_of(mem, who, sigv4_time(now, date));
	/* Sorted as it has to be for who checks it. */
	const char *query = arena_printf(mem, "X-Amz-Algorithm=" SIGV4_ALGORITHM "&X-Amz-Credential=%s&X-Amz-Date=%s&"
	    "X-Amz-Expires=%" PRId64 "&X-Amz-SignedHeaders=host%s%s", percent_encode(mem, arena_printf(mem, "%s/%s",
	    who->key, scope)), date, seconds, more != NULL ? "&" : "", more != NULL ? more : "");
	struct sigv4 s = { .method = method, .uri = arena_printf(mem, "%s?%s", path, query), .signed_headers = "host",
	    .header = only_host, .user = &asked, .content = SIGV4_UNSIGNED, .date = date, .scope = scope,
	    .in_query = true };
	const char *signature;

	sigv4_key(mem, who->secret, scope, key);
	signature = sigv4_sign(mem, &s, key);
	OPENSSL_cleanse(key, sizeof(key));
	return arena_printf(mem, "%s&X-Amz-Signature=%s", query, signature);
}
