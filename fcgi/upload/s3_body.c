/* SPDX-License-Identifier: GPL-3.0-or-later */
/* aws-chunked as Amazon S3 describes it ("Signature calculations for the authorization header: transferring payload in
 * multiple chunks"), read piece by piece. */
#include <ctype.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buf.h"
#include "fcgi/upload/s3_body.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SUM "x-amz-checksum-"

enum { TRAILER_MAX = 8192, SCRATCH = 64 << 10 };

static EVP_MD_CTX *
md_new(const EVP_MD *md)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (c == NULL || !EVP_DigestInit_ex(c, md, NULL))
		abort();
	return c;
}

static const char *
header(const struct s3_body *b, const char *name)
{
	return b->request->header(b->request->user, name);
}

/* Base64 of so many bytes, with its padding. */
static bool
looks_like(const char *text, size_t bytes)
{
	const size_t n = (bytes + 2) / 3 * 4, padding = (3 - bytes % 3) % 3;

	return strlen(text) == n && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") ==
	    n - padding && strspn(text + n - padding, "=") == padding;
}

/* That of a file of parts may say behind a hyphen how many they are. */
static bool
sum_looks_right(const struct s3_body *b)
{
	static const size_t bytes[] = { 0, 4, 4, 8, 20, 32 };
	const size_t n = strcspn(b->sum_said, "-");
	int64_t parts;

	return looks_like(arena_copy_n(b->mem, b->sum_said, n), bytes[b->kind]) && (b->sum_said[n] == '\0' ||
	    (int_parse(b->sum_said + n + 1, &parts) && parts > 0));
}

/* The checksum of a header, or the one that a trailer is announced to have.  What cannot be held against the bytes is
 * refused: its client takes them for checked. */
static enum s3_error
expect_sum(struct s3_body *b)
{
	const char *trailer = header(b, "x-amz-trailer");

	for (enum s3_sum_kind k = S3_SUM_CRC32; k <= S3_SUM_SHA256; k++) {
		const char *said = header(b, arena_printf(b->mem, SUM "%s", s3_sum_name(k)));

		if (said != NULL && b->kind != S3_SUM_NONE)
			return S3_ONE_SUM;
		if (said != NULL) {
			b->sum_said = said;
			b->kind = k;
		}
	}
	if (b->kind != S3_SUM_NONE)
		return b->has_trailer ? S3_ONE_SUM : sum_looks_right(b) ? S3_FINE :
		    S3_INVALID_DIGEST;
	if (b->has_trailer && trailer != NULL && strncasecmp(trailer, SUM, strlen(SUM)) == 0)
		b->kind = s3_sum_find(trailer + strlen(SUM));
	return b->has_trailer && b->kind == S3_SUM_NONE ? S3_ONE_SUM : S3_FINE;
}

/* How long the bytes are, by what the client says in front of them. */
static enum s3_error
expect_length(struct s3_body *b, int64_t length)
{
	const char *said = header(b, "x-amz-decoded-content-length");

	b->length = length;
	if (!b->chunked)
		return S3_FINE;
	if (said == NULL)
		return S3_NO_LENGTH;
	return int_parse(said, &b->length) && b->length >= 0 ? S3_FINE : S3_BAD_ARGUMENT;
}

static bool
is_hex(const char *text, size_t n)
{
	return strlen(text) == n && strspn(text, "0123456789abcdefABCDEF") == n;
}

enum s3_error
s3_body_begin(struct s3_body *b, struct arena *mem, const struct s3_sign *sign, const struct s3_request *request,
    int64_t length, int (*read)(void *user, const struct seat *, const void **bytes), void *user)
{
	enum s3_error error;

	*b = (struct s3_body){ .mem = mem, .sign = sign, .request = request, .read = read, .user = user,
	    .trailer = BUF(mem), .scratch = arena_new(SCRATCH), .md5_now = md_new(EVP_md5()) };
	snprintf(b->last_signature, sizeof(b->last_signature), "%s", sign->signature);
	if (strncmp(sign->content, "STREAMING-", 10) == 0) {
		b->chunked = true;
		b->is_signed = strncmp(sign->content, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", 34) == 0;
		b->has_trailer = strcmp(sign->content, "STREAMING-UNSIGNED-PAYLOAD-TRAILER") == 0 ||
		    strcmp(sign->content, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") == 0;
		if (!b->has_trailer && strcmp(sign->content, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") != 0)
			return S3_NOT_IMPLEMENTED;
	} else if (strcmp(sign->content, "UNSIGNED-PAYLOAD") != 0) {
		if (!is_hex(sign->content, 64))
			return S3_BAD_ARGUMENT;
		b->sha256_said = sign->content;
		b->sha256_now = md_new(EVP_sha256());
	}
	if (b->is_signed)
		b->chunk_sha256 = md_new(EVP_sha256());
	b->md5_said = header(b, "content-md5");
	if (b->md5_said != NULL && !looks_like(b->md5_said, 16))
		return S3_INVALID_DIGEST;
	error = expect_sum(b);
	s3_sum_begin(&b->sum_now, b->kind);
	return error != S3_FINE ? error : expect_length(b, length);
}

static int
wrong(struct s3_body *b, enum s3_error error)
{
	b->error = error;
	return -1;
}

/* A line without its end, as soon as all of it is there.  1: it is; 0: more has to come; -1. */
static int
take_line(struct s3_body *b)
{
	while (b->n > 0) {
		char c = *b->at++;

		b->n--;
		if (c == '\n') {
			if (b->line_n > 0 && b->line[b->line_n - 1] == '\r')
				b->line_n--;
			b->line[b->line_n] = '\0';
			b->line_n = 0;
			return 1;
		}
		if (b->line_n + 1 >= sizeof(b->line) || c == '\0')
			return wrong(b, S3_BAD_CHUNK);
		b->line[b->line_n++] = c;
	}
	return 0;
}

static bool
is_same(const char *ours, const char *theirs)
{
	return strlen(ours) == strlen(theirs) && CRYPTO_memcmp(ours, theirs, strlen(ours)) == 0;
}

/* The signature of a chunk has that of the one before in it. */
static bool
chunk_is_signed(struct s3_body *b)
{
	unsigned char sha256[32];
	const char *ours;
	bool same;

	if (!b->is_signed)
		return true;
	EVP_DigestFinal_ex(b->chunk_sha256, sha256, NULL);
	EVP_DigestInit_ex(b->chunk_sha256, EVP_sha256(), NULL);
	ours = s3_sign_text(b->sign, b->scratch, arena_printf(b->scratch, "AWS4-HMAC-SHA256-PAYLOAD\n%s\n%s\n%s\n"
	    EMPTY_SHA256 "\n%s", b->sign->date, b->sign->scope, b->last_signature, hex_encode(b->scratch, sha256,
	    sizeof(sha256))));
	same = is_same(ours, b->chunk_signature);
	memcpy(b->last_signature, b->chunk_signature, sizeof(b->last_signature));
	arena_reset(b->scratch);
	return same;
}

/* "10000;chunk-signature=ad80c730…" */
static int
read_size(struct s3_body *b)
{
	const size_t digits = strspn(b->line, "0123456789abcdefABCDEF");
	const char *signature = strstr(b->line, ";chunk-signature=");

	if (digits == 0 || digits > 15 || (b->line[digits] != '\0' && b->line[digits] != ';'))
		return wrong(b, S3_BAD_CHUNK);
	if (b->is_signed && (signature == NULL || !is_hex(signature + 17, 64)))
		return wrong(b, S3_BAD_CHUNK);
	b->left = strtoll(b->line, NULL, 16);
	if (b->left > b->length - b->received)
		return wrong(b, S3_BAD_CHUNK);
	if (b->is_signed)
		memcpy(b->chunk_signature, signature + 17, sizeof(b->chunk_signature));
	b->state = b->left > 0 ? S3_DATA : S3_TRAILER;
	return b->left > 0 || chunk_is_signed(b) ? 1 : wrong(b, S3_SIGNATURE);
}

static int
check_trailer(struct s3_body *b, const char *signature)
{
	unsigned char sha256[32];

	EVP_Digest(buf_string(&b->trailer), b->trailer.len, sha256, NULL, EVP_sha256(), NULL);
	b->trailer_is_signed = is_same(s3_sign_text(b->sign, b->mem, arena_printf(b->mem, "AWS4-HMAC-SHA256-TRAILER\n"
	    "%s\n%s\n%s\n%s", b->sign->date, b->sign->scope, b->last_signature, hex_encode(b->mem, sha256,
	    sizeof(sha256)))), signature);
	return b->trailer_is_signed ? 1 : wrong(b, S3_SIGNATURE);
}

/* minio-go has an empty line in front of the signature, too. */
static int
end_trailer(struct s3_body *b)
{
	const bool is_bare = b->is_signed && b->has_trailer && !b->trailer_is_signed;

	if (is_bare && b->trailer_has_ended)
		return wrong(b, S3_SIGNATURE);
	b->trailer_has_ended = true;
	b->state = is_bare ? S3_TRAILER : S3_END;
	return 1;
}

/* "x-amz-checksum-crc32c:wdBDMA==", "x-amz-trailer-signature:63bdd63c…", and an empty line at the end. */
static int
read_trailer(struct s3_body *b)
{
	char *colon = strchr(b->line, ':'), *p;
	const char *value;

	if (b->line[0] == '\0')
		return end_trailer(b);
	if (colon == NULL || !b->has_trailer || b->trailer_is_signed || b->trailer.len > TRAILER_MAX)
		return wrong(b, S3_BAD_CHUNK);
	for (p = b->line; p < colon; p++)
		*p = (char)tolower((unsigned char)*p);
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " ");
	if (strcmp(b->line, "x-amz-trailer-signature") == 0)
		return check_trailer(b, value);
	if (b->trailer_has_ended)
		return wrong(b, S3_BAD_CHUNK);
	buf_printf(&b->trailer, "%s:%s\n", b->line, value);
	if (strncmp(b->line, SUM, strlen(SUM)) == 0 && s3_sum_find(b->line + strlen(SUM)) == b->kind)
		b->sum_said = arena_copy(b->mem, value);
	return 1;
}

/* Behind the data of a chunk. */
static int
end_chunk(struct s3_body *b)
{
	if (b->line[0] != '\0')
		return wrong(b, S3_BAD_CHUNK);
	b->state = S3_LINE;
	return chunk_is_signed(b) ? 1 : wrong(b, S3_SIGNATURE);
}

static int
take_framing(struct s3_body *b)
{
	int n = take_line(b);

	if (n <= 0)
		return n;
	return b->state == S3_LINE ? read_size(b) : b->state == S3_DATA_END ? end_chunk(b) : read_trailer(b);
}

/* Of the chunk in hand. */
static int
take_data(struct s3_body *b, const void **bytes)
{
	size_t n = (int64_t)b->n < b->left ? b->n : (size_t)b->left;

	*bytes = b->at;
	b->at += n;
	b->n -= n;
	b->left -= (int64_t)n;
	if (b->left == 0)
		b->state = S3_DATA_END;
	return (int)n;
}

/* 1: there are bytes that were not looked at. */
static int
more(struct s3_body *b, const struct seat *seat)
{
	const void *bytes;
	int n;

	if (b->n > 0)
		return 1;
	n = b->read(b->user, seat, &bytes);
	b->at = bytes;
	b->n = n > 0 ? (size_t)n : 0;
	return n > 0 ? 1 : n;
}

static int
read_chunked(struct s3_body *b, const struct seat *seat, const void **bytes)
{
	int n;

	while ((n = more(b, seat)) > 0) {
		if (b->state == S3_DATA)
			return take_data(b, bytes);
		if (b->state == S3_END)
			return wrong(b, S3_BAD_CHUNK);
		if (take_framing(b) < 0)
			return -1;
	}
	if (n != 0 || b->state == S3_END)
		return n;
	return wrong(b, b->trailer_has_ended ? S3_SIGNATURE : S3_INCOMPLETE);
}

static int
read_plain(struct s3_body *b, const struct seat *seat, const void **bytes)
{
	int n = more(b, seat);

	if (n <= 0)
		return n;
	*bytes = b->at;
	n = (int)b->n;
	b->n = 0;
	return n;
}

int
s3_body_read(struct s3_body *b, const struct seat *seat, const void **bytes)
{
	int n = b->chunked ? read_chunked(b, seat, bytes) : read_plain(b, seat, bytes);

	if (n <= 0)
		return n;
	if (b->length >= 0 && n > b->length - b->received)
		return wrong(b, S3_BAD_ARGUMENT);
	b->received += n;
	EVP_DigestUpdate(b->md5_now, *bytes, (size_t)n);
	if (b->sha256_now != NULL)
		EVP_DigestUpdate(b->sha256_now, *bytes, (size_t)n);
	if (b->is_signed)
		EVP_DigestUpdate(b->chunk_sha256, *bytes, (size_t)n);
	s3_sum_add(&b->sum_now, *bytes, (size_t)n);
	return n;
}

enum s3_error
s3_body_check(struct s3_body *b)
{
	unsigned char md5[16], sha256[32];
	char text[32];

	if (b->length >= 0 && b->received != b->length)
		return S3_INCOMPLETE;
	EVP_DigestFinal_ex(b->md5_now, md5, NULL);
	b->md5 = hex_encode(b->mem, md5, sizeof(md5));
	EVP_EncodeBlock((unsigned char *)text, md5, sizeof(md5));
	if (b->md5_said != NULL && strcmp(text, b->md5_said) != 0)
		return S3_BAD_DIGEST;
	if (b->sha256_now != NULL) {
		EVP_DigestFinal_ex(b->sha256_now, sha256, NULL);
		if (strcasecmp(hex_encode(b->mem, sha256, sizeof(sha256)), b->sha256_said) != 0)
			return S3_BAD_HASH;
	}
	if (b->kind == S3_SUM_NONE)
		return S3_FINE;
	b->sum = s3_sum_text(&b->sum_now, b->mem);
	/* One that was announced and never came proves nothing. */
	return b->sum_said != NULL && strcmp(b->sum, b->sum_said) == 0 ? S3_FINE : S3_BAD_DIGEST;
}

void
s3_body_end(struct s3_body *b)
{
	EVP_MD_CTX_free(b->md5_now);
	EVP_MD_CTX_free(b->sha256_now);
	EVP_MD_CTX_free(b->chunk_sha256);
	s3_sum_end(&b->sum_now);
	if (b->scratch != NULL)
		arena_free(b->scratch);
	b->md5_now = b->sha256_now = b->chunk_sha256 = NULL;
	b->scratch = NULL;
}
