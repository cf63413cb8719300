/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The object store below /storage, as clients of Amazon S3 speak to it. */
#include <pthread.h>
#include <string.h>

#include "core/store.h"
#include "fcgi/upload/partial.h"
#include "tests/api/s3_client.h"

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

static void
send_two(void *user)
{
	struct other *o = user;

	send_other(&o[0]);
	send_other(&o[1]);
}

/* Each is read when the next one comes; a short one finds room among them. */
static void
long_lists_come_few_at_a_time(void **state)
{
	enum { OWN = ROOM_LISTS / 4 };
	struct world *w = *state;
	struct client c = client_of(w, "");
	struct room *before = here.room;
	char *bytes = film(w, 9000);
	const char *upload = begin(&c), *query = arena_printf(w->mem, "uploadId=%s", upload);
	const char *brief = arena_printf(w->mem, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", named(&c, 1,
	    part(&c, upload, 1, bytes, 9000)));
	const char *list = arena_printf(w->mem, "%40000s%s", "", brief);
	struct other o[OWN + 2];

	for (int i = 0; i < OWN + 2; i++) {
		o[i] = (struct other){ &c, { "POST", .query = query, .body = i <= OWN ? list : brief }, S3_INTERNAL };
		o[i].ask.n = strlen(o[i].ask.body);
		if (i < OWN) {
			o[i].ask.meanwhile = i == OWN - 1 ? send_two : send_other;
			o[i].ask.user = &o[i + 1];
		}
	}
	here.room = room_new(ROOM_LISTS, 2, 2);
	send_other(&o[0]);
	for (int i = 0; i < OWN + 2; i++)
		assert_int_equal(o[i].error, i == OWN ? S3_SLOW_DOWN : S3_FINE);
	send_other(&o[OWN]);
	assert_int_equal(o[OWN].error, S3_FINE);
	room_free(here.room);
	here.room = before;
	holds(&c, bytes, 9000);
}

static void
nothing(void *user)
{
	(void)user;
}

static void
a_list_that_drips_is_given_up(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 9000);
	const char *upload = begin(&c);
	struct ask slow = { "POST", .query = arena_printf(w->mem, "uploadId=%s", upload), .body = arena_printf(w->mem,
	    "%150000s<CompleteMultipartUpload>%s</CompleteMultipartUpload>", "", named(&c, 1, part(&c, upload, 1,
	    bytes, 9000))), .meanwhile = nothing, .nap = 50, .window = 20 };

	slow.n = strlen(slow.body);
	refused(&c, ask(&c, &slow), 400, "IncompleteBody");
	assert_string_equal(status_of(&c), "uploading");
	slow.window = 3600000;
	fine(ask(&c, &slow));
	holds(&c, bytes, 9000);
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

/* One of several that say at the same moment that all is there; it has an arena of its own. */
struct rival { struct world w; struct client c; struct ask ask; struct s3_call *answer; pthread_barrier_t *gate; };

static void *
complete_beside(void *user)
{
	struct rival *r = user;

	pthread_barrier_wait(r->gate);
	r->answer = ask(&r->c, &r->ask);
	return NULL;
}

static void
who_completes_at_the_same_moment_gets_the_same_answer_and_one_asset(void **state)
{
	enum { RIVALS = 4, ROUNDS = 8 };
	struct world *w = *state;
	char *bytes = film(w, 9000);

	for (int round = 0; round < ROUNDS; round++) {
		struct client c = client_of(w, "");
		const char *upload = begin(&c), *list = arena_printf(w->mem, "<CompleteMultipartUpload>%s"
		    "</CompleteMultipartUpload>", named(&c, 1, part(&c, upload, 1, bytes, 9000))), *media[2];
		struct rival rival[RIVALS];
		pthread_t thread[RIVALS];
		pthread_barrier_t gate;
		int i;

		pthread_barrier_init(&gate, NULL, RIVALS);
		for (i = 0; i < RIVALS; i++) {
			rival[i] = (struct rival){ .w = *w, .c = c, .ask = { "POST", .query = arena_printf(w->mem,
			    "uploadId=%s", upload), .body = list, .n = strlen(list) }, .gate = &gate };
			rival[i].w.mem = arena_new(4 << 20);
			rival[i].c.w = &rival[i].w;
			assert_int_equal(pthread_create(&thread[i], NULL, complete_beside, &rival[i]), 0);
		}
		for (i = 0; i < RIVALS; i++)
			pthread_join(thread[i], NULL);
		for (i = 0; i < RIVALS; i++) {
			fine(rival[i].answer);
			assert_string_equal(body_of(rival[i].answer), body_of(rival[0].answer));
		}
		holds(&c, bytes, 9000);
		for (i = 0; i < 2; i++)
			media[i] = text(w, call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", c.id), "{}"),
			    "data.mediaId");
		assert_string_equal(media[0], media[1]);
		assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), round + 1);
		for (i = 0; i < RIVALS; i++)
			arena_free(rival[i].w.mem);
		pthread_barrier_destroy(&gate);
	}
}

/* Whatever it says: where a part belongs is said by its number. */
static void
a_part_of_a_body_is_none(void **state)
{
	static const char *const ranges[] = { "bytes 0-9/10", "bytes 5-3/10", "bytes 0-9/*", "0-9/10", "x",
	    "bytes 0-9223372036854775808/*", "" };
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *upload = begin(&c);

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 1, upload), .body = "0123456789",
		    .n = 10, .more = { { "Content-Range", ranges[i] } } }), 400, "InvalidRequest");
		refused(&c, ask(&c, &(struct ask){ "PUT", .body = "0123456789", .n = 10, .more = { { "Content-Range",
		    ranges[i] } } }), 400, "InvalidRequest");
	}
	assert_int_equal(parts_of(&c), 0);
	assert_string_equal(status_of(&c), "uploading");
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

static void
cancelled_and_purged(void *user)
{
	const struct client *c = user;

	cancelled(user);
	partial_forget(c->w->mem, uuid_of(c), INT64_MAX);
}

static void
a_file_that_goes_with_its_upload_behind_its_last_byte_is_no_fault_of_ours(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");

	refused(&c, ask(&c, &(struct ask){ "PUT", .body = film(w, 9000), .n = 9000, .meanwhile = cancelled_and_purged,
	    .user = &c }), 404, "NoSuchUpload");
	assert_int_equal(files_of(&c), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(parts_come_in_any_order_and_again_and_become_the_file),
		WORLD_TEST(one_put_brings_the_whole_file),
		WORLD_TEST(the_one_bucket_is_told_as_clients_ask_for_it),
		WORLD_TEST(what_this_store_does_not_do_is_refused_by_its_code),
		WORLD_TEST(long_lists_are_refused_and_cost_little),
		WORLD_TEST(who_asks_for_what_has_just_been_done_is_told_so),
		WORLD_TEST(who_completes_at_the_same_moment_gets_the_same_answer_and_one_asset),
		WORLD_TEST(a_part_of_a_body_is_none),
		WORLD_TEST(the_last_transfer_that_began_is_the_one_that_counts),
		WORLD_TEST(a_part_that_still_comes_ends_with_its_upload),
		WORLD_TEST(long_lists_come_few_at_a_time),
		WORLD_TEST(a_list_that_drips_is_given_up),
		WORLD_TEST(what_is_given_up_while_it_is_completed_is_no_file),
		WORLD_TEST(bytes_on_their_way_keep_the_upload_alive_and_end_with_it),
		WORLD_TEST(a_file_that_goes_with_its_upload_behind_its_last_byte_is_no_fault_of_ours),
		WORLD_TEST(what_is_no_media_or_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, world_open, s3_client_close);
}
