/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures: the examples of "Authenticating Requests (AWS Signature Version 4)", Amazon S3 API reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/sigv4.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sigv4_who example = { "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "us-east-1",
	"examplebucket.s3.amazonaws.com" };
static const struct moment then = { INT64_C(1369353600000) };	/* 2013-05-24T00:00:00Z */
static struct arena *mem;

struct header { const char *name, *value; };

static const char *
header(void *user, const char *name)
{
	const struct header *h = user;

	for (; h->name != NULL; h++)
		if (strcmp(h->name, name) == 0)
			return h->value;
	return NULL;
}

static void
assert_signed(const char *method, const char *uri, const char *names, const char *content, struct header *headers,
    const char *signature)
{
	const struct sigv4 s = { .method = method, .uri = uri, .signed_headers = names, .header = header, .user =
	    headers,
	    .content = content };
	const char *line = sigv4_authorization(mem, &example, s, then);

	assert_string_equal(line, arena_printf(mem,
	    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
	    "aws4_request,SignedHeaders=%s,Signature=%s", names, signature));
}

static void
the_examples_of_the_documents_come_out(void **state)
{
	struct header get[] = { { "host", example.host }, { "range", "bytes=0-9" }, { "x-amz-content-sha256", EMPTY },
		{ "x-amz-date", "20130524T000000Z" }, { 0 } };
	struct header put[] = { { "date", "Fri, 24 May 2013 00:00:00 GMT" }, { "host", example.host },
		{ "x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072" },
		{ "x-amz-date", "20130524T000000Z" }, { "x-amz-storage-class", "REDUCED_REDUNDANCY" }, { 0 } };

	assert_signed("GET", "/test.txt", "host;range;x-amz-content-sha256;x-amz-date", EMPTY, get,
	    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	assert_signed("PUT", "/test%24file.text", "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
	    put[2].value, put, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
	assert_signed("GET", "/?lifecycle", "host;x-amz-content-sha256;x-amz-date", EMPTY, get,
	    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
	/* Whatever the order in which they are sent, parameters are signed in that of their names. */
	assert_signed("GET", "/?prefix=J&max-keys=2", "host;x-amz-content-sha256;x-amz-date", EMPTY, get,
	    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static void
an_address_carries_its_signature(void **state)
{
	assert_string_equal(sigv4_presigned(mem, &example, "GET", "/test.txt", NULL, then, 86400),
	    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&"
	    "X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&"
	    "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

static void
a_query_without_end_is_not_signed(void **state)
{
	unsigned char key[SIGV4_KEY] = { 0 };
	char *uri = arena_copy(mem, "/?");
	struct sigv4 s = { .method = "GET", .signed_headers = "", .content = EMPTY, .date = "", .scope = "" };

	for (int i = 0; i < 64; i++)
		uri = arena_printf(mem, "%s&a%d=1", uri, i);
	s.uri = uri;
	assert_non_null(sigv4_sign(mem, &s, key));
	s.uri = arena_printf(mem, "%s&z=1", uri);
	assert_null(sigv4_sign(mem, &s, key));
}

static int
setup(void **state)
{
	mem = arena_new(4 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(mem);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_the_documents_come_out),
		cmocka_unit_test(an_address_carries_its_signature),
		cmocka_unit_test(a_query_without_end_is_not_signed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
