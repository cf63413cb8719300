/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures and checksums of the object store: who may send what, and which bytes are those that were sent. */
#include <string.h>

#include "tests/api/s3_client.h"

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

static const char *
sum_of(struct world *w, const char *kind, const char *bytes, size_t n)
{
	struct s3_sum s;

	s3_sum_begin(&s, s3_sum_find(kind));
	s3_sum_add(&s, bytes, n);
	return s3_sum_text(&s, w->mem);
}

static struct s3_call *
complete_with(const struct client *c, const char *upload, const char *list, const char *kind, const char *sum)
{
	return ask(c, &(struct ask){ "POST", .query = arena_printf(c->w->mem, "uploadId=%s", upload), .body = list,
	    .n = strlen(list), .more = { { arena_printf(c->w->mem, "x-amz-checksum-%s", kind), sum } } });
}

/* Of all bytes where that can be, or of the sums of the parts; what is not right changes nothing. */
static void
the_checksum_of_a_file_follows_from_those_of_its_parts(void **state)
{
	static const struct { const char *kind, *element; bool linear; } kinds[] = { { "crc32", "CRC32", true },
	    { "crc32c", "CRC32C", true }, { "crc64nvme", "CRC64NVME", true }, { "sha1", "SHA1", false },
	    { "sha256", "SHA256", false } };
	struct world *w = *state;
	const size_t sizes[] = { 5 << 20, (5 << 20) + 77, 3 };
	char *bytes = film(w, 11 << 20);

	for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *kind = kinds[i / 2].kind, *upload, *list = "<CompleteMultipartUpload>", *right;
		const char *first = NULL;
		const char *header = arena_printf(w->mem, "x-amz-checksum-%s", kind);
		struct client c = client_of(w, "");
		struct s3_sum sums;
		size_t at = 0;

		upload = begin(&c);
		s3_sum_begin(&sums, s3_sum_find(kind));
		for (int k = 0; k < 3; at += sizes[k++]) {
			const char *sum = sum_of(w, kind, bytes + at, sizes[k]);
			struct s3_call *r = ask(&c, &(struct ask){ "PUT", .query = part_query(&c, k + 1, upload),
			    .body = bytes + at, .n = sizes[k], .more = { { header, sum } } });

			fine(r);
			first = k == 0 ? header_told(w, r, "ETag") : first;
			s3_sum_add_sum(&sums, sum);
			list = arena_printf(w->mem, "%s<Part><PartNumber>%d</PartNumber><ETag>%s</ETag><Checksum%s>%s"
			    "</Checksum%s></Part>", list, k + 1, header_told(w, r, "ETag"), kinds[i / 2].element, sum,
			    kinds[i / 2].element);
		}
		list = arena_printf(w->mem, "%s</CompleteMultipartUpload>", list);
		right = arena_printf(w->mem, "%s-3", s3_sum_text(&sums, w->mem));
		if (kinds[i / 2].linear && i % 2 == 0)
			right = sum_of(w, kind, bytes, at);
		s3_sum_end(&sums);
		refused(&c, complete_with(&c, upload, list, kind, sum_of(w, kind, bytes, at - 1)), 400, "BadDigest");
		refused(&c, complete_with(&c, upload, list, kind, arena_printf(w->mem, "%.*s-2",
		    (int)strcspn(right, "-"), right)), 400, "BadDigest");
		refused(&c, complete_with(&c, upload, list, "crc32", "AAAA-x"), 400, "InvalidDigest");
		if (strcmp(kind, "crc32") != 0)
			refused(&c, complete_with(&c, upload, list, "crc32", "AAAAAA=="), 400, "InvalidRequest");
		refused(&c, complete(&c, upload, arena_printf(w->mem, "<Part><PartNumber>1</PartNumber><ETag>%s</ETag>"
		    "<Checksum%s>%s</Checksum%s><ChecksumType>COMPOSITE</ChecksumType></Part>", first, kinds[i / 2].element, sum_of(w, kind, bytes, 1),
		    kinds[i / 2].element)), 400, "InvalidPart");
		assert_string_equal(status_of(&c), "uploading");
		fine(complete_with(&c, upload, list, kind, right));
		holds(&c, bytes, at);
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

/* Web servers keep Transfer-Encoding for themselves. */
static void
a_signed_header_that_the_web_server_has_kept_is_what_it_answers_to(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *bytes = film(w, 1000);
	struct ask put = { "PUT", .body = bytes, .n = 1000 }, said = put;

	c.signs_transfer = true;
	fine(ask(&c, &put));
	holds(&c, bytes, 1000);
	/* One that did arrive is held against what was signed. */
	c = client_of(w, "");
	c.signs_transfer = true;
	said.more[0] = (struct header){ "Transfer-Encoding", "identity" };
	refused(&c, ask(&c, &said), 403, "SignatureDoesNotMatch");
	said.more[0] = (struct header){ "Transfer-Encoding", "chunked" };
	fine(ask(&c, &said));
}

/* A proxy in front of ours that asks for another host: the client has signed the one of public_url. */
static void
a_host_that_a_proxy_has_rewritten_is_the_one_of_the_public_address_and_no_other(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *bytes = film(w, 1000);
	struct ask put = { "PUT", .body = bytes, .n = 1000, .other_host = "public.example:8443" };

	c.host = "elsewhere.example";
	refused(&c, ask(&c, &put), 403, "SignatureDoesNotMatch");
	assert_int_equal(files_of(&c), 0);
	c.host = "public.example:8443";
	fine(ask(&c, &put));
	holds(&c, bytes, 1000);
	c = client_of(w, "");
	c.host = "public.example:8443";
	put.other_host = NULL;
	refused(&c, ask(&c, &put), 403, "SignatureDoesNotMatch");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(checksums_are_those_of_their_standards),
		WORLD_TEST(signatures_are_those_of_the_reference),
		WORLD_TEST(chunks_are_signed_as_in_the_reference),
		WORLD_TEST(trailers_are_signed_as_in_the_reference),
		WORLD_TEST(a_turned_bit_is_noticed_by_each_checksum),
		WORLD_TEST(a_checksum_that_is_signed_is_held_against_its_signature_and_the_bytes),
		WORLD_TEST(a_checksum_that_is_not_looked_at_is_refused),
		WORLD_TEST(the_checksum_of_a_file_follows_from_those_of_its_parts),
		WORLD_TEST(credentials_reach_one_key_for_as_long_as_the_upload_is_open),
		WORLD_TEST(the_token_opens_nothing_without_the_secret),
		WORLD_TEST(an_address_that_is_signed_holds_for_what_it_says),
		WORLD_TEST(the_signature_before_this_one_is_refused_by_its_name),
		WORLD_TEST(a_signed_header_that_the_web_server_has_kept_is_what_it_answers_to),
		WORLD_TEST(a_host_that_a_proxy_has_rewritten_is_the_one_of_the_public_address_and_no_other),
	};

	return cmocka_run_group_tests(tests, world_open, s3_client_close);
}
