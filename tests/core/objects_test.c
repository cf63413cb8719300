/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The client of object stores against a peer that checks every signature and sum, keeps objects as S3 does, and fails
 * when its key says so.  With KINOTHEK_TEST_S3="endpoint bucket key secret" against that store, but for the failures.
 */
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/digest.h"
#include "core/objects.h"
#include "core/sigv4.h"
#include "core/store_side.h"
#include "core/web.h"

enum { REQUEST_MAX = 40 << 20, OBJECTS = 3000, LARGE = 37000001, PART = 16 << 20 };

#define BUCKET "film"
#define SECRET "not/a+secret"

static char home[] = "/tmp/kinothek-objects-XXXXXX";
static struct arena *mem;
static struct objects store = { NULL, NULL, BUCKET, "us-east-1", "kinothek", SECRET, "home/" };
static bool real;
static pid_t peer;

/* What the test asks about afterwards. */
static struct tally { int requests, refused, ranges, uploads; char type[100]; } *tally;

/* ---- the peer ---- */

struct object { char key[200], type[64]; char *bytes; size_t n; bool is_part, is_upload; };
static struct object objects[OBJECTS];
static size_t n_objects;
static int failures;

struct visit {
	int fd;
	struct arena *mem;
	char *method, *uri, *head, *body;
	size_t n;
};

static const char *
header(void *user, const char *name)
{
	const struct visit *v = user;
	const size_t n = strlen(name);

	for (const char *at = strstr(v->head, "\r\n"); at != NULL; at = strstr(at, "\r\n")) {
		at += 2;
		if (strncasecmp(at, name, n) == 0 && at[n] == ':')
			return arena_copy_n(v->mem, at + n + 2, strcspn(at + n + 2, "\r"));
	}
	return NULL;
}

static void
answer(const struct visit *v, const char *status, const char *more, const void *bytes, size_t n)
{
	dprintf(v->fd, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", status, n, more);
	while (n > 0) {
		ssize_t done = write(v->fd, bytes, n);

		if (done <= 0)
			return;
		bytes = (const char *)bytes + done;
		n -= (size_t)done;
	}
}

static void
say(const struct visit *v, const char *status, const char *code)
{
	const char *xml = arena_printf(v->mem, "<?xml version=\"1.0\"?><Error><Code>%s</Code></Error>", code);

	answer(v, status, "", xml, strcmp(v->method, "HEAD") == 0 ? 0 : strlen(xml));
}

static struct object *
find(const char *key)
{
	for (size_t i = 0; i < n_objects; i++)
		if (strcmp(objects[i].key, key) == 0)
			return &objects[i];
	return NULL;
}

static struct object *
keep(const char *key, const void *bytes, size_t n, const char *type)
{
	struct object *o = find(key);

	if (o == NULL)
		o = &objects[n_objects++];
	*o = (struct object){ 0 };
	snprintf(o->key, sizeof(o->key), "%s", key);
	snprintf(o->type, sizeof(o->type), "%s", type != NULL ? type : "");
	o->bytes = malloc(n + 1);
	memcpy(o->bytes, bytes, n);
	o->n = n;
	return o;
}

static void
drop(struct object *o)
{
	if (o != NULL)
		*o = objects[--n_objects];
}

/* In the header, or in the query of an address. */
static bool
is_signed(const struct visit *v)
{
	const char *authorization = header((void *)(uintptr_t)v, "authorization"), *sum, *algorithm, *names, *given;
	struct sigv4 s = { .method = v->method, .uri = v->uri, .header = header, .user = (void *)(uintptr_t)v };
	unsigned char key[SIGV4_KEY];

	if (authorization != NULL) {
		s.date = header(s.user, "x-amz-date");
		s.content = sum = header(s.user, "x-amz-content-sha256");
		names = strstr(authorization, "SignedHeaders=") + 14;
		s.signed_headers = arena_copy_n(v->mem, names, strcspn(names, ","));
		given = strstr(authorization, "Signature=") + 10;
		if (strcmp(sum, digest_text(v->mem, v->body, v->n)) != 0)
			return false;
	} else {
		algorithm = sigv4_param(v->mem, v->uri, "X-Amz-Algorithm");
		if (algorithm == NULL || (strcmp(v->method, "GET") != 0 && strcmp(v->method, "HEAD") != 0))
			return false;
		s.in_query = true;
		s.date = sigv4_param(v->mem, v->uri, "X-Amz-Date");
		s.content = SIGV4_UNSIGNED;
		s.signed_headers = sigv4_param(v->mem, v->uri, "X-Amz-SignedHeaders");
		given = sigv4_param(v->mem, v->uri, "X-Amz-Signature");
	}
	s.scope = arena_printf(v->mem, "%.8s/us-east-1/s3/aws4_request", s.date);
	sigv4_key(v->mem, SECRET, s.scope, key);
	return strcmp(sigv4_sign(v->mem, &s, key), given) == 0;
}

static void
give(const struct visit *v, const struct object *o)
{
	const char *range = header((void *)(uintptr_t)v, "range"), *same = header((void *)(uintptr_t)v, "if-range");
	const char *etag = arena_printf(v->mem, "\"%.32s\"", digest_text(v->mem, o->bytes, o->n));
	size_t from = range != NULL && same != NULL && strcmp(same, etag) == 0 ? strtoul(range + 6, NULL, 10) : 0, last;
	const char *more = arena_printf(v->mem, "ETag: %s\r\nContent-Type: %s\r\n", etag, o->type);

	if (strcmp(v->method, "HEAD") == 0) {
		dprintf(v->fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n", o->n, more);
		return;
	}
	if (range != NULL && same == NULL && strstr(o->key, "/no-ranges") == NULL) {
		assert_int_equal(sscanf(range, "bytes=%zu-%zu", &from, &last), 2);
		last = last < o->n ? last + 1 : o->n;
		answer(v, from < last ? "206 X" : "416 X", more, o->bytes + from, from < last ? last - from : 0);
		return;
	}
	/* Breaks off in the middle, each time further on; one changes meanwhile. */
	if (strstr(o->key, "/breaks") != NULL && from < 3 * (o->n / 4)) {
		dprintf(v->fd, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n", from > 0 ? "206 X" : "200 OK",
		    o->n - from, more);
		if (write(v->fd, o->bytes + from, o->n / 4) > 0 && strstr(o->key, "/breaks-changes") != NULL)
			memset(o->bytes, 'n', o->n);
		tally->ranges += from > 0;
		return;
	}
	tally->ranges += from > 0;
	answer(v, from > 0 ? "206 X" : "200 OK", more, o->bytes + from, o->n - from);
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct object *)a)->key, ((const struct object *)b)->key);
}

/* As S3 has it; a page has 100 at most, so that lists have to go on. */
static void
list(const struct visit *v)
{
	const char *prefix = sigv4_param(v->mem, v->uri, "prefix"), *after = sigv4_param(v->mem, v->uri, "start-after");
	const bool flat = sigv4_param(v->mem, v->uri, "delimiter") == NULL;
	size_t max = strtoul(sigv4_param(v->mem, v->uri, "max-keys"), NULL, 10), n = 0, length = strlen(prefix);
	const char *last = "", *slash, *end = "false";
	struct buf b = BUF(v->mem);

	if (max > 100)
		max = 100;
	qsort(objects, n_objects, sizeof(objects[0]), by_key);
	buf_text(&b, "<ListBucketResult>");
	for (size_t i = 0; i < n_objects; i++) {
		const struct object *o = &objects[i];

		if (strncmp(o->key, prefix, length) != 0 || o->is_part || o->is_upload ||
		    (after != NULL && strcmp(o->key, after) <= 0))
			continue;
		slash = flat ? NULL : strchr(o->key + length, '/');
		if (slash != NULL && strncmp(last, o->key, (size_t)(slash + 1 - o->key)) == 0)
			continue;
		if (n++ == max) {
			end = "true";
			break;
		}
		last = o->key;
		if (slash != NULL)
			buf_printf(&b, "<CommonPrefixes><Prefix>%.*s</Prefix></CommonPrefixes>",
			    (int)(slash + 1 - o->key), o->key);
		else
			buf_printf(&b, "<Contents><Key>%s</Key><LastModified>2026-11-25T10:00:00.000Z</LastModified>"
			    "<Size>%zu</Size></Contents>", o->key, o->n);
	}
	buf_printf(&b, "<IsTruncated>%s</IsTruncated></ListBucketResult>", end);
	answer(v, "200 OK", "", b.text, b.len);
}

/* Parts are objects called "{key}?{number}". */
static void
assemble(const struct visit *v, const char *key)
{
	char *bytes = malloc(REQUEST_MAX), type[64];
	size_t n = 0;
	int number = 0;

	snprintf(type, sizeof(type), "%s", find(arena_printf(v->mem, "%s?", key))->type);
	for (const char *at = v->body; (at = strstr(at, "<PartNumber>")) != NULL; at++) {
		struct object *o = find(arena_printf(v->mem, "%s?%d", key, ++number));

		memcpy(bytes + n, o->bytes, o->n);
		n += o->n;
		drop(o);
	}
	drop(find(arena_printf(v->mem, "%s?", key)));
	keep(key, bytes, n, type);
	free(bytes);
	answer(v, "200 OK", "", "<CompleteMultipartUploadResult/>", 32);
}

static void
delete_listed(const struct visit *v)
{
	const char *at = v->body;

	if (header((void *)(uintptr_t)v, "content-md5") == NULL) {
		say(v, "400 X", "MissingContentMD5");
		return;
	}
	while ((at = strstr(at, "<Key>")) != NULL) {
		at += 5;
		drop(find(arena_copy_n(v->mem, at, strcspn(at, "<"))));
	}
	answer(v, "200 OK", "", "<DeleteResult></DeleteResult>", 29);
}

/* A page has 2. */
static void
uploads(const struct visit *v)
{
	const char *mark = sigv4_param(v->mem, v->uri, "key-marker"), *key = "";
	struct buf b = BUF(v->mem);
	int n = 0;

	buf_text(&b, "<ListMultipartUploadsResult>");
	qsort(objects, n_objects, sizeof(*objects), by_key);
	for (size_t i = 0; i < n_objects && n < 3; i++) {
		if (!objects[i].is_upload)
			continue;
		key = n < 2 ? arena_copy_n(v->mem, objects[i].key, strcspn(objects[i].key, "?")) : key;
		if ((mark != NULL && strcmp(key, mark) <= 0) || ++n > 2)
			continue;
		buf_printf(&b, "<Upload><Key>%s</Key><UploadId>u/1=</UploadId><Initiated>2026-11-25T10:00:00.000Z"
		    "</Initiated></Upload>", key);
	}
	buf_printf(&b, "<IsTruncated>%s</IsTruncated><NextKeyMarker>%s</NextKeyMarker><NextUploadIdMarker>u/1="
	    "</NextUploadIdMarker></ListMultipartUploadsResult>", n > 2 ? "true" : "false", key);
	answer(v, "200 OK", "", b.text, b.len);
}

static void
multipart(const struct visit *v, const char *key, const char *number)
{
	if (number != NULL) {
		keep(arena_printf(v->mem, "%s?%s", key, number), v->body, v->n, NULL)->is_part = true;
		answer(v, "200 OK", arena_printf(v->mem, "ETag: \"part %s\"\r\n", number), "", 0);
	} else if (strcmp(v->method, "POST") == 0) {
		assemble(v, key);
		if (strstr(key, "/lost-answer") != NULL && failures++ == 0)
			return;
	} else {
		for (int i = 1; i < 10; i++)
			drop(find(arena_printf(v->mem, "%s?%d", key, i)));
		drop(find(arena_printf(v->mem, "%s?", key)));
		answer(v, "204 X", "", "", 0);
	}
}

static void
serve(struct visit *v)
{
	char *key = arena_copy_n(v->mem, v->uri, strcspn(v->uri, "?"));
	const char *upload = sigv4_param(v->mem, v->uri, "uploadId");
	struct object *o;

	tally->requests++;
	if (!is_signed(v)) {
		tally->refused++;
		say(v, "403 X", "SignatureDoesNotMatch");
		return;
	}
	key = strncmp(key, "/" BUCKET "/", 6) == 0 ? key + 6 : NULL;
	o = key != NULL ? find(key) : NULL;
	if (strncmp(v->uri, "/" BUCKET, 5) != 0)
		say(v, "404 X", "NoSuchBucket");
	else if (key != NULL && strstr(key, "/busy") != NULL && failures++ < 2)
		say(v, "503 X", "SlowDown");
	else if (key != NULL && strstr(key, "/denied") != NULL)
		say(v, "403 X", "AccessDenied");
	else if (key != NULL && strstr(key, "/full") != NULL)
		say(v, "403 X", "QuotaExceeded");
	else if (key == NULL && sigv4_param(v->mem, v->uri, "delete") != NULL)
		delete_listed(v);
	else if (key == NULL && sigv4_param(v->mem, v->uri, "uploads") != NULL)
		uploads(v);
	else if (key == NULL)
		list(v);
	else if (sigv4_param(v->mem, v->uri, "uploads") != NULL) {
		keep(arena_printf(v->mem, "%s?", key), "", 0, header(v, "content-type"))->is_upload = true;
		tally->uploads++;
		answer(v, "200 OK", "", "<X><UploadId>u/1=</UploadId></X>", 32);
	} else if (upload != NULL && (strcmp(upload, "u/1=") != 0 || find(arena_printf(v->mem, "%s?", key)) == NULL))
		say(v, "404 X", "NoSuchUpload");
	else if (upload != NULL)
		multipart(v, key, sigv4_param(v->mem, v->uri, "partNumber"));
	else if (strcmp(v->method, "PUT") == 0) {
		keep(key, v->body, v->n, header(v, "content-type"));
		answer(v, "200 OK", "", "", 0);
	} else if (strcmp(v->method, "DELETE") == 0) {
		drop(o);
		answer(v, "204 X", "", "", 0);
	} else if (o == NULL)
		say(v, "404 X", "NoSuchKey");
	else
		give(v, o);
}

/* One request, whole.  False: there was none. */
static bool
take(struct visit *v, char *room)
{
	size_t n = 0, wanted = 0;
	char *end = NULL;
	const char *length;
	ssize_t got;

	while ((end == NULL || n < wanted) && n < REQUEST_MAX && (got = read(v->fd, room + n, REQUEST_MAX - n)) > 0) {
		n += (size_t)got;
		room[n] = '\0';
		if (end == NULL && (end = strstr(room, "\r\n\r\n")) != NULL) {
			length = strcasestr(room, "\r\nContent-Length:");
			wanted = (size_t)(end + 4 - room) + (length != NULL && length < end ? strtoul(length + 17, NULL,
			    10) : 0);
		}
	}
	if (end == NULL)
		return false;
	*end = '\0';
	v->body = end + 4;
	v->n = n - (size_t)(v->body - room);
	v->head = room;
	v->method = arena_copy_n(v->mem, room, strcspn(room, " "));
	v->uri = arena_copy_n(v->mem, room + strlen(v->method) + 1, strcspn(room + strlen(v->method) + 1, " "));
	return true;
}

static void __attribute__((noreturn))
run_peer(int listener)
{
	char *room = malloc(REQUEST_MAX + 1);

	for (;;) {
		struct visit v = { .fd = accept(listener, NULL, NULL), .mem = arena_new(64 << 20) };

		if (v.fd < 0)
			_exit(0);
		if (take(&v, room))
			serve(&v);
		close(v.fd);
		arena_free(v.mem);
	}
}

static void
start_peer(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(at);

	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, 16) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at, &size) == 0);
	store.endpoint = arena_printf(mem, "http://127.0.0.1:%d", ntohs(at.sin_port));
	peer = fork();
	if (peer == 0) {
		signal(SIGPIPE, SIG_IGN);
		run_peer(fd);
	}
	close(fd);
}

/* ---- the tests ---- */

static int
file_of(const char *name, size_t n)
{
	const char *path = arena_printf(mem, "%s/%s", home, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char piece[4001];

	for (size_t at = 0; at < n; at += sizeof(piece)) {
		for (size_t i = 0; i < sizeof(piece); i++)
			piece[i] = (char)((at + i) % 251 + (at >> 16));
		assert_true(write(fd, piece, n - at < sizeof(piece) ? n - at : sizeof(piece)) > 0);
	}
	return fd;
}

static const char *
sum_of(const char *name)
{
	return digest_file(mem, arena_printf(mem, "%s/%s", home, name), NULL);
}

static void
assert_holds(const char *key, const char *text)
{
	size_t n;
	const char *bytes = objects_get(mem, &store, key, 100, &n);

	assert_non_null(bytes);
	assert_int_equal(n, strlen(text));
	assert_string_equal(bytes, text);
}

static void
what_is_written_is_read_and_what_is_deleted_is_not_there(void **state)
{
	struct object_head head;
	size_t n;

	assert_true(objects_write(&store, "a/b.vtt", "WEBVTT", 6, "text/vtt"));
	assert_holds("a/b.vtt", "WEBVTT");
	assert_true(objects_head(&store, "a/b.vtt", &head));
	assert_int_equal(head.size, 6);
	assert_null(objects_get(mem, &store, "a/b.vtt", 5, &n));
	assert_int_equal(errno, EFBIG);
	assert_non_null(objects_get(mem, &store, "a/b.vtt", 6, &n));
	assert_true(objects_write(&store, "a/empty", "", 0, "text/plain"));
	assert_true(objects_write(&store, "a/words", "<Error>", 7, "text/vtt"));
	assert_holds("a/words", "<Error>");
	assert_true(objects_delete(&store, "a/words"));
	assert_holds("a/empty", "");
	assert_true(objects_delete(&store, "a/b.vtt"));
	assert_true(objects_delete(&store, "a/b.vtt"));
	assert_false(objects_head(&store, "a/b.vtt", &head));
	assert_int_equal(errno, ENOENT);
	assert_null(objects_get(mem, &store, "a/b.vtt", 100, &n));
	assert_int_equal(errno, ENOENT);
	assert_true(objects_delete(&store, "a/empty"));
}

static void
a_large_file_goes_in_parts_and_comes_back_whole(void **state)
{
	int fd = file_of("large", LARGE);
	struct object_head head;

	assert_true(objects_put(&store, "originals/large", fd, LARGE, "video/mp4"));
	assert_true(objects_head(&store, "originals/large", &head));
	assert_int_equal(head.size, LARGE);
	assert_true(objects_fetch(&store, "originals/large", arena_printf(mem, "%s/back", home), 0));
	assert_string_equal(sum_of("back"), sum_of("large"));
	unlink(arena_printf(mem, "%s/back", home));
	assert_true(objects_delete(&store, "originals/large"));
	close(fd);
	fd = file_of("small", 1000);
	assert_true(objects_put(&store, "originals/small", fd, 1000, "video/mp4"));
	assert_false(objects_fetch(&store, "originals/small", arena_printf(mem, "%s/back", home), INT64_C(1) << 60));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(access(arena_printf(mem, "%s/back", home), F_OK), -1);
	assert_true(objects_fetch(&store, "originals/small", arena_printf(mem, "%s/back", home), 0));
	assert_string_equal(sum_of("back"), sum_of("small"));
	unlink(arena_printf(mem, "%s/back", home));
	assert_true(objects_delete(&store, "originals/small"));
	close(fd);
}

static void
a_draft_is_seen_when_it_is_published_and_never_when_it_is_dropped(void **state)
{
	int fd = file_of("draft", PART + 1);
	const struct object_draft *d = objects_draft(mem, &store, "originals/d", fd, PART + 1, "video/mp4");
	struct object_head head;
	size_t n;

	assert_non_null(d);
	assert_false(objects_head(&store, "originals/d", &head));
	assert_int_equal(errno, ENOENT);
	assert_non_null(objects_list(mem, &store, "originals/", NULL, 10, &n));
	assert_int_equal(n, 0);
	assert_true(objects_publish(&store, d));
	assert_true(objects_head(&store, "originals/d", &head));
	assert_int_equal(head.size, PART + 1);
	assert_true(objects_delete(&store, "originals/d"));
	d = objects_draft(mem, &store, "originals/d", fd, PART + 1, "video/mp4");
	assert_non_null(d);
	objects_discard(&store, d);
	assert_false(objects_publish(&store, d));
	assert_int_equal(errno, EREMOTEIO);
	assert_false(objects_head(&store, "originals/d", &head));
	close(fd);
}

enum { KILLED = 5 };

static void
drafts_of_killed_programs_are_dropped_when_they_are_old(void **state)
{
	int fd = file_of("draft", 100);
	const struct object_draft *d = NULL;

	/* More than a store tells at once. */
	for (int i = 0; i < KILLED; i++) {
		d = objects_draft(mem, &store, arena_printf(mem, "originals/killed-%d", i), fd, 100, "video/mp4");
		assert_non_null(d);
	}
	assert_int_equal(objects_tidy(&store, (struct moment){ INT64_C(1000000000000) }), 0);
	assert_int_equal(objects_tidy(&store, (struct moment){ moment_now().ms + 86400000 }), KILLED);
	assert_int_equal(objects_tidy(&store, (struct moment){ moment_now().ms + 86400000 }), 0);
	assert_false(objects_publish(&store, d));
	close(fd);
}

static void
assert_lists(const char *prefix, const char *after, size_t max, const char *wanted)
{
	struct buf b = BUF(mem);
	size_t n;
	const struct object_entry *e = objects_list(mem, &store, prefix, after, max, &n);

	assert_non_null(e);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s=%d", i > 0 ? " " : "", e[i].key, (int)e[i].size);
	assert_string_equal(buf_string(&b), wanted);
}

static void
a_list_goes_in_order_and_on_from_any_key(void **state)
{
	static const char *const keys[] = { "l/b", "l/a/x", "l/a/y/z", "l/a.b", "l/a0", "l/c", "la" };
	struct object_entry *e;
	size_t n;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_true(objects_write(&store, keys[i], "123", 3, "text/plain"));
	assert_lists("l/", NULL, 1000, "l/a.b=3 l/a/=-1 l/a0=3 l/b=3 l/c=3");
	assert_lists("l/", NULL, 2, "l/a.b=3 l/a/=-1");
	assert_lists("l/", "l/a/", 2, "l/a0=3 l/b=3");
	assert_lists("l/", "l/a.b", 2, "l/a/=-1 l/a0=3");
	assert_lists("l/", "l/b", 9, "l/c=3");
	assert_lists("l/", "l/c", 9, "");
	assert_lists("nothing/", NULL, 9, "");
	e = objects_list(mem, &store, "l/", NULL, 1, &n);
	assert_true(e[0].put_at.ms > INT64_C(1700000000000));
	assert_true(objects_delete_all(&store, "l/a/"));
	assert_lists("l/", NULL, 1000, "l/a.b=3 l/a0=3 l/b=3 l/c=3");
	assert_true(objects_delete_all(&store, "l/"));
	assert_lists("l/", NULL, 1000, "");
	assert_holds("la", "123");
	assert_true(objects_delete(&store, "la"));
}

static void
of_many_objects_pages_miss_none(void **state)
{
	const char *after = NULL;
	struct object_entry *e;
	size_t n, all = 0;

	for (int i = 0; i < 257; i++)
		assert_true(objects_write(&store, arena_printf(mem, "many/%03d/x", i * 7919 % 257), "", 0,
		    "text/plain"));
	do {
		e = objects_list(mem, &store, "many/", after, 150, &n);
		for (size_t i = 0; i < n; i++)
			assert_string_equal(e[i].key, arena_printf(mem, "many/%03zu/", all++));
		after = n > 0 ? e[n - 1].key : NULL;
	} while (n == 150);
	assert_int_equal(all, 257);
	assert_true(objects_delete_all(&store, "many/"));
	assert_lists("many/", NULL, 9, "");
}

static void
open_store(void)
{
	const struct conf conf = { .data_dir = home, .store = "s3", .store_endpoint = store.endpoint,
	    .store_bucket = store.bucket, .store_region = store.region, .store_key = store.key,
	    .store_secret = store.secret, .store_prefix = store.prefix };

	assert_true(store_open(&conf));
}

static void
assert_ours(const char *prefix, const char *after, size_t max, const char *wanted)
{
	struct buf b = BUF(mem);
	size_t n;
	const struct store_entry *e = store_list(mem, prefix, after, max, &n);

	assert_non_null(e);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", e[i].key);
	assert_string_equal(buf_string(&b), wanted);
}

static bool
count_visit(void *at, const char *key, int64_t size)
{
	++*(int *)at;
	return true;
}

/* Consoles of stores make an object "originals/" as a folder, and people put files beside ours. */
static void
what_others_put_into_the_bucket_is_in_no_list_of_the_store(void **state)
{
	static const char *const keys[] = { "f/", "f/READ.ME", "f/a/", "f/a/x", "f/a/NOTES", "f/b", "f/~c", "f/d/Of/e",
	    "f/e//g", "f/e/" };
	int visited = 0;

	open_store();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_true(objects_write(&store, keys[i], "", 0, "text/plain"));
	for (int i = 0; i < 250; i++)
		assert_true(objects_write(&store, arena_printf(mem, "f/a/N%03d", i), "", 0, "text/plain"));
	assert_ours("f/", NULL, 1000, "f/a/ f/b f/d/ f/e/");
	assert_ours("f/", NULL, 1, "f/a/");
	assert_ours("f/", "f/a/", 1, "f/b");
	assert_ours("f/", "f/a/", 2, "f/b f/d/");
	assert_ours("f/a/", NULL, 1, "f/a/x");
	assert_ours("f/e/", NULL, 10, "");
	assert_true(store_side_walk(SIDE_BUCKET, "f/", count_visit, &visited));
	assert_int_equal(visited, 2);
	/* All below a key is all. */
	assert_true(store_delete(mem, "f"));
	assert_lists("f/", NULL, 9, "");
}

static void
an_address_opens_one_object_for_a_while(void **state)
{
	const struct moment now = moment_now();
	struct web_call call = { .private_hosts = strstr(store.endpoint, "://") + 3 };
	struct web_answer a;
	char *other;

	assert_true(objects_write(&store, "seen/by.vtt", "anybody", 7, "text/vtt"));
	assert_true(objects_write(&store, "seen/no.vtt", "nobody", 6, "text/vtt"));
	call.url = objects_address(mem, &store, "seen/by.vtt", "GET", NULL, now, (struct moment){ now.ms + 3600000 });
	assert_true(web_call(mem, &call, &a));
	assert_string_equal(a.body, "anybody");
	assert_string_equal(a.type, "text/vtt");
	other = arena_copy(mem, call.url);
	memcpy(strstr(other, "by.vtt"), "no.vtt", 6);
	call.url = other;
	assert_false(web_call(mem, &call, &a));
	assert_int_equal(a.status, 403);
	/* Those who ask within the same ten minutes get the same one, so that it can be cached. */
	assert_string_equal(objects_address(mem, &store, "a", "GET", NULL, (struct moment){ 600000 },
	    (struct moment){ 7200000 }), objects_address(mem, &store, "a", "GET", NULL, (struct moment){ 1199999 },
	    (struct moment){ 7200000 }));
	assert_non_null(strstr(objects_address(mem, &store, "a", "GET", NULL, now,
	    (struct moment){ now.ms + INT64_C(9) * 86400000 }),
	    "X-Amz-Expires=604800&"));
	assert_true(objects_delete_all(&store, "seen/"));
}

static void
an_address_is_for_one_method_and_may_give_a_name(void **state)
{
	const struct moment now = moment_now(), until = { now.ms + 3600000 };
	struct web_call call = { .private_hosts = strstr(store.endpoint, "://") + 3, .method = "HEAD" };
	struct objects reached = store;
	struct web_answer a;

	assert_true(objects_write(&store, "seen/by.zip", "anybody", 7, "application/zip"));
	call.url = objects_address(mem, &store, "seen/by.zip", "HEAD", "by-name.zip", now, until);
	assert_true(web_call(mem, &call, &a));
	assert_int_equal(a.length, 7);
	assert_non_null(strstr(call.url,
	    "&response-content-disposition=attachment%3B%20filename%3D%22by-name.zip%22%3B%20filename%2A%3DUTF-8%27%27"
	    "by-name.zip&"));
	call.url = objects_address(mem, &store, "seen/by.zip", "GET", NULL, now, until);
	assert_null(strstr(call.url, "disposition"));
	assert_non_null(strstr(call.url, "&response-cache-control=private%2C%20no-cache&"));
	assert_false(web_call(mem, &call, &a));
	assert_int_equal(a.status, 403);
	reached.public_endpoint = "https://media.example";
	assert_non_null(strstr(objects_address(mem, &reached, "seen/by.zip", "GET", NULL, now, until),
	    arena_printf(mem, "https://media.example/%s/%sseen/by.zip?", store.bucket, store.prefix)));
	assert_true(objects_delete_all(&store, "seen/"));
}

static void
what_may_pass_is_tried_again(void **state)
{
	if (real)
		skip();
	assert_true(objects_write(&store, "x/busy", "done", 4, "text/plain"));
	assert_holds("x/busy", "done");
}

static void
a_lost_answer_to_the_end_of_a_draft_is_found_out(void **state)
{
	int fd = file_of("draft", 100);
	const struct object_draft *d;

	if (real)
		skip();
	d = objects_draft(mem, &store, "x/lost-answer", fd, 100, "video/mp4");
	assert_true(d != NULL && objects_publish(&store, d));
	assert_true(objects_publish(&store, d));	/* as if the answer had been lost */
	close(fd);
}

static void
what_breaks_off_goes_on_where_it_ended(void **state)
{
	int fd = file_of("whole", 5000000), before;
	struct stat st;

	if (real)
		skip();
	assert_true(objects_put(&store, "x/breaks", fd, 5000000, "video/mp4"));
	before = tally->ranges;
	assert_true(objects_fetch(&store, "x/breaks", arena_printf(mem, "%s/back", home), 0));
	assert_string_equal(sum_of("back"), sum_of("whole"));
	assert_true(tally->ranges - before >= 2);
	unlink(arena_printf(mem, "%s/back", home));
	/* What is another object meanwhile is fetched from its beginning. */
	assert_true(objects_put(&store, "x/breaks-changes", fd, 5000000, "video/mp4"));
	assert_true(!objects_fetch(&store, "x/breaks-changes", arena_printf(mem, "%s/back", home), 0) ||
	    strcmp(sum_of("back"), digest_text(mem, memset(arena_alloc(mem, 5000000), 'n', 5000000), 5000000)) == 0);
	assert_true(stat(arena_printf(mem, "%s/back", home), &st) != 0 || st.st_size == 5000000);
	unlink(arena_printf(mem, "%s/back", home));
	close(fd);
}

static void
a_piece_of_an_object_is_read_or_nothing_is(void **state)
{
	assert_true(objects_write(&store, "a/ten", "0123456789", 10, "text/plain"));
	assert_string_equal(objects_get_range(mem, &store, "a/ten", 0, 10), "0123456789");
	assert_string_equal(objects_get_range(mem, &store, "a/ten", 3, 4), "3456");
	assert_null(objects_get_range(mem, &store, "a/ten", 9, 2));
	assert_int_equal(errno, EREMOTEIO);
	assert_null(objects_get_range(mem, &store, "a/ten", 20, 1));
	assert_int_equal(errno, EREMOTEIO);
	assert_null(objects_get_range(mem, &store, "a/eleven", 0, 1));
	assert_int_equal(errno, ENOENT);
	if (real)
		skip();
	assert_true(objects_write(&store, "a/no-ranges", "0123456789", 10, "text/plain"));
	assert_null(objects_get_range(mem, &store, "a/no-ranges", 3, 4));
	assert_int_equal(errno, EREMOTEIO);
	assert_true(objects_write(&store, "a/no-ranges-long", "34567", 5, "text/plain"));
	assert_null(objects_get_range(mem, &store, "a/no-ranges-long", 3, 5));
}

static void
refused(const char *key, int error)
{
	struct object_head head;
	size_t n;

	assert_false(objects_write(&store, key, "x", 1, "text/plain"));
	assert_int_equal(errno, error);
	if (error == EDQUOT)
		return;
	assert_false(objects_head(&store, key, &head));
	assert_int_equal(errno, error);
	assert_null(objects_get(mem, &store, key, 9, &n));
	assert_int_equal(errno, error);
	assert_false(objects_fetch(&store, key, arena_printf(mem, "%s/none", home), 0));
	assert_int_equal(errno, error);
	assert_int_equal(access(arena_printf(mem, "%s/none", home), F_OK), -1);
}

static void
a_store_that_says_no_has_lost_nothing(void **state)
{
	const struct objects fine = store;
	struct object_head head;
	size_t n;

	if (!real) {
		refused("x/denied", EREMOTEIO);
		refused("x/full", EDQUOT);
	}
	store.secret = "wrong";
	refused("x/y", EREMOTEIO);
	store = fine;
	store.bucket = "nosuchbucket";
	assert_null(objects_list(mem, &store, "", NULL, 1, &n));
	assert_int_equal(errno, EREMOTEIO);
	assert_false(objects_write(&store, "x", "x", 1, "text/plain"));
	assert_int_equal(errno, EREMOTEIO);
	/* Answers to HEAD have no body that says it. */
	assert_false(objects_head(&store, "x", &head));
	assert_int_equal(errno, EREMOTEIO);
	assert_false(objects_fetch(&store, "x", arena_printf(mem, "%s/none", home), 0));
	assert_int_equal(errno, EREMOTEIO);
	store = fine;
}

static void
a_store_that_is_away_is_told_from_one_that_has_nothing(void **state)
{
	const struct objects fine = store;
	size_t n;

	if (!real) {
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
		peer = 0;
	} else {
		store.endpoint = "http://127.0.0.1:9";
	}
	refused("x/y", EHOSTDOWN);
	assert_null(objects_list(mem, &store, "", NULL, 1, &n));
	assert_int_equal(errno, EHOSTDOWN);
	assert_int_equal(n, 0);
	store = fine;
}

static int
setup(void **state)
{
	char *told = getenv("KINOTHEK_TEST_S3");

	mem = arena_new(512 << 20);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED || mkdtemp(home) == NULL)
		return -1;
	real = told != NULL;
	if (!real) {
		start_peer();
		return 0;
	}
	told = arena_copy(mem, told);
	store.endpoint = strsep(&told, " ");
	store.bucket = strsep(&told, " ");
	store.key = strsep(&told, " ");
	store.secret = strsep(&told, " ");
	return store.secret != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	if (peer > 0) {
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
	}
	return system(arena_printf(mem, "rm -rf '%s'", home));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_and_what_is_deleted_is_not_there),
		cmocka_unit_test(a_large_file_goes_in_parts_and_comes_back_whole),
		cmocka_unit_test(a_draft_is_seen_when_it_is_published_and_never_when_it_is_dropped),
		cmocka_unit_test(drafts_of_killed_programs_are_dropped_when_they_are_old),
		cmocka_unit_test(a_list_goes_in_order_and_on_from_any_key),
		cmocka_unit_test(of_many_objects_pages_miss_none),
		cmocka_unit_test(what_others_put_into_the_bucket_is_in_no_list_of_the_store),
		cmocka_unit_test(an_address_opens_one_object_for_a_while),
		cmocka_unit_test(an_address_is_for_one_method_and_may_give_a_name),
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(a_lost_answer_to_the_end_of_a_draft_is_found_out),
		cmocka_unit_test(what_breaks_off_goes_on_where_it_ended),
		cmocka_unit_test(a_piece_of_an_object_is_read_or_nothing_is),
		cmocka_unit_test(a_store_that_says_no_has_lost_nothing),
		cmocka_unit_test(a_store_that_is_away_is_told_from_one_that_has_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
