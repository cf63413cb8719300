/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What clients of the object store may do with a file that has arrived: read it, and give it up. */
#include <string.h>

#include "core/store.h"
#include "tests/api/s3_client.h"

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
	r = ask(&other, &theirs);
	refused(&other, r, 403, "AccessDenied");
	assert_non_null(strstr(body_of(r), "reach one key"));
	refused(&foreign, ask(&foreign, &theirs), 403, "AccessDenied");
	refused(&c, send_signed(&c, &theirs, date_of(w, 0), NULL, EMPTY_SHA256), 403, "AccessDenied");
	db_run(w->db, "UPDATE uploads SET expires_at = 1 WHERE id = ?", ARGS(ID(uuid_of(&c))));
	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 400, "ExpiredToken");
	near_its_end(&c);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", c.id), "{}")->status, 200);
	refused(&c, ask(&c, &(struct ask){ "GET", .body = "" }), 403, "AccessDenied");
	r = ask(&c, &(struct ask){ "PUT", .body = "bytes", .n = 5 });
	refused(&c, r, 403, "AccessDenied");
	assert_non_null(strstr(body_of(r), "The file is whole"));
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

/* <Object><Key>"…"</Key></Object>, which grows sixfold in an answer. */
static void
put_quotes(struct buf *b, size_t n)
{
	buf_text(b, "<Object><Key>");
	for (size_t i = 0; i < n; i++)
		buf_char(b, '"');
	buf_text(b, "</Key></Object>");
}

/* In the memory that a request has. */
static struct s3_call *
erase_quotes(struct client *c, const struct buf *keys)
{
	struct arena *mem = c->w->mem;
	const char *body = arena_printf(mem, "<Delete" XMLNS ">%s</Delete>", buf_string(keys));
	struct s3_call *r;

	c->w->mem = arena_new(32 << 20);
	arena_defer(mem, (void (*)(void *))arena_free, c->w->mem);
	r = ask(c, &(struct ask){ "POST", .path = "/storage/uploads", .query = "delete=", .body = body,
	    .n = strlen(body) });
	c->w->mem = mem;
	return r;
}

static void
keys_that_are_given_up_are_bounded_in_number_and_length(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	struct buf vast = BUF(w->mem), longer = BUF(w->mem), many = BUF(w->mem);
	struct s3_call *r;

	put_quotes(&vast, 2 * MIB - 200);
	refused(&c, erase_quotes(&c, &vast), 400, "MalformedXML");
	put_quotes(&longer, 1025);
	refused(&c, erase_quotes(&c, &longer), 400, "MalformedXML");
	for (int i = 0; i < 1000; i++)
		put_quotes(&many, 1024);
	r = erase_quotes(&c, &many);
	fine(r);
	assert_true(strlen(body_of(r)) > 6 * 1024 * 1000);
	assert_string_equal(status_of(&c), "waiting");
}

/* The list that this query asks for holds the key, or that common prefix instead, or nothing. */
static void
lists(const struct client *c, const char *path, const char *query, const char *key, const char *common)
{
	struct world *w = c->w;
	struct s3_call *r = ask(c, &(struct ask){ "GET", .path = path, .query = query });
	const char *prefixes = strstr(body_of(r), "<CommonPrefixes>"), *told = element(w, r, "Key"), *wanted =
	    arena_printf(w->mem, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", common != NULL ? common : "");

	fine(r);
	if (key == NULL ? told != NULL : told == NULL || strcmp(told, key) != 0)
		fail_msg("%s: %s", query, body_of(r));
	if (common == NULL ? prefixes != NULL : prefixes == NULL || strncmp(prefixes, wanted, strlen(wanted)) != 0)
		fail_msg("%s: %s", query, body_of(r));
	if (strstr(query, "list-type=2") != NULL)
		assert_string_equal(element(w, r, "KeyCount"), key != NULL || common != NULL ? "1" : "0");
	assert_string_equal(element(w, r, "IsTruncated"), "false");
	assert_null(element(w, r, "NextContinuationToken"));
}

static void
a_list_is_of_what_is_asked_for(void **state)
{
	static const char path[] = "/storage/uploads";
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *key = c.id, *below = arena_printf(w->mem, "uploads/%s", key), *half = arena_printf(w->mem, "%.9s",
	    key), *bytes = film(w, 1000);
	struct s3_call *r;

	fine(ask(&c, &(struct ask){ "PUT", .body = bytes, .n = 1000 }));
	lists(&c, path, "list-type=2", key, NULL);
	lists(&c, path, "delimiter=%2F&list-type=2", key, NULL);
	lists(&c, path, "delimiter=-&list-type=2", NULL, half);
	lists(&c, path, arena_printf(w->mem, "delimiter=-&list-type=2&prefix=%s", half), NULL, arena_printf(w->mem,
	    "%.14s", key));
	lists(&c, path, arena_printf(w->mem, "delimiter=-&list-type=2&prefix=%s", key), key, NULL);
	lists(&c, path, "delimiter=-&list-type=2&max-keys=0", NULL, NULL);
	/* Where "storage" is the bucket, it is a folder in it. */
	lists(&c, "/storage", "delimiter=%2F&list-type=2&prefix=", NULL, "uploads/");
	lists(&c, "/storage", "delimiter=%2F&encoding-type=url&list-type=2", NULL, "uploads%2F");
	lists(&c, "/storage", "encoding-type=url&list-type=2&prefix=uploads%2F", arena_printf(w->mem, "uploads%%2F%s",
	    key), NULL);
	lists(&c, "/storage", "delimiter=%2F&list-type=2&prefix=uploads%2F", below, NULL);
	/* Behind a key, in either version of the list. */
	lists(&c, path, "list-type=2&start-after=0", key, NULL);
	lists(&c, path, arena_printf(w->mem, "list-type=2&start-after=%s", key), NULL, NULL);
	lists(&c, path, arena_printf(w->mem, "continuation-token=%s&list-type=2", key), NULL, NULL);
	lists(&c, path, arena_printf(w->mem, "continuation-token=0&list-type=2&start-after=%s", key), key, NULL);
	lists(&c, path, arena_printf(w->mem, "marker=%s&prefix=", key), NULL, NULL);
	lists(&c, path, "marker=0&prefix=", key, NULL);
	lists(&c, path, arena_printf(w->mem, "delimiter=-&list-type=2&start-after=%s", half), NULL, NULL);
	/* What was asked is said again. */
	r = ask(&c, &(struct ask){ "GET", .path = path, .query = "delimiter=%26&encoding-type=url&list-type=2&"
	    "prefix=%26&start-after=%3C" });
	assert_string_equal(element(w, r, "Delimiter"), "%26");
	assert_string_equal(element(w, r, "EncodingType"), "url");
	assert_string_equal(element(w, r, "StartAfter"), "%3C");
	assert_string_equal(element(w, r, "KeyCount"), "0");
	refused(&c, ask(&c, &(struct ask){ "GET", .path = path, .query = "list-type=3" }), 400, "InvalidArgument");
	refused(&c, ask(&c, &(struct ask){ "GET", .path = path, .query = "encoding-type=utf8&list-type=2" }), 400,
	    "InvalidArgument");
}

/* By another reader than ours. */
static void
is_xml(const struct s3_call *r)
{
	FILE *f = popen("xmllint --noout - 2>&1", "we");

	assert_non_null(f);
	fwrite(r->body.text, 1, r->body.len, f);
	if (pclose(f) != 0)
		fail_msg("%s: %s", r->request.uri, body_of(r));
}

/* Every character that XML 1.0 forbids, bytes that are none, and some that it can say. */
static const struct { const char *text; bool can_be_said; } odd[] = {
	{ "%01", false }, { "%08", false }, { "%0B", false }, { "%0C", false }, { "%1F", false },
	{ "%EF%BF%BE", false }, { "a%EF%BF%BFb", false }, { "%ED%A0%80", false }, { "%FF", false }, { "%C3", false },
	{ "%C0%AF", false }, { "%F4%90%80%80", false }, { "%09", true }, { "%0A", true }, { "%0D", true }, { "%7F", true },
	{ "%C2%85", true }, { "%EF%BF%BD", true }, { "%F0%9F%8E%AC", true }, { "%F3%BF%BF%BF", true }, { "%3C%26%3E", true },
	{ "%5D%5D%3E", true },
};

static const char *
with(struct world *w, const char *query, const char *value)
{
	const char *at = strstr(query, "%s");

	return arena_printf(w->mem, "%.*s%s%s", (int)(at - query), query, value, at + 2);
}

static void
no_list_is_other_than_xml(void **state)
{
	static const char *const lists[] = { "list-type=2&prefix=%s", "delimiter=%s&list-type=2",
		"list-type=2&start-after=%s", "marker=%s&prefix=", "continuation-token=%s&list-type=2", "prefix=%s&uploads=" };
	static const char *const encoded[] = { "encoding-type=url&list-type=2&prefix=%s",
		"delimiter=%s&encoding-type=url&list-type=2", "encoding-type=url&list-type=2&start-after=%s",
		"encoding-type=url&marker=%s&prefix=" };
	static const char path[] = "/storage/uploads";
	struct world *w = *state;
	struct client c = client_of(w, "");
	struct s3_call *r;
	size_t i, k;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
			r = ask(&c, &(struct ask){ "GET", .path = path, .query = with(w, lists[k], odd[i].text) });
			is_xml(r);
			if (odd[i].can_be_said)
				fine(r);
			else
				refused(&c, r, 400, "InvalidArgument");
		}
		for (k = 0; k < sizeof(encoded) / sizeof(encoded[0]); k++) {
			r = ask(&c, &(struct ask){ "GET", .path = path, .query = with(w, encoded[k], odd[i].text) });
			is_xml(r);
			fine(r);
			if (strstr(body_of(r), odd[i].text) == NULL)
				fail_msg("%s: %s", r->request.uri, body_of(r));
		}
	}
	/* Nor is a refusal, which names what was asked. */
	is_xml(ask(&c, &(struct ask){ "GET", .path = "/storage/uploads/\x01\xff\xef\xbf\xbe" }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_has_arrived_is_read_by_its_client_until_it_is_an_asset),
		WORLD_TEST(what_has_arrived_can_be_given_up_with_its_upload),
		WORLD_TEST(of_a_list_of_keys_the_one_of_the_upload_is_given_up),
		WORLD_TEST(a_list_is_of_what_is_asked_for),
		WORLD_TEST(no_list_is_other_than_xml),
		WORLD_TEST(keys_that_are_given_up_are_bounded_in_number_and_length),
	};

	return cmocka_run_group_tests(tests, world_open, s3_client_close);
}
