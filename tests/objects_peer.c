/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store that tests talk to, one request at a time. */
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/digest.h"
#include "core/sigv4.h"
#include "tests/objects_peer.h"

enum { REQUEST_MAX = 40 << 20, OBJECTS = 3000, SLOW_PIECE = 1 << 18, SLOW_MS = 100 };

#define BUCKET OBJECTS_PEER_BUCKET

static pid_t peer;
static struct objects_tally *tally;

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

static bool
is_slow(const char *head)
{
	const char *slow = strstr(head, "/slow");

	return slow != NULL && slow < head + strcspn(head, "\r");
}

static void
answer(const struct visit *v, const char *status, const char *more, const void *bytes, size_t n)
{
	dprintf(v->fd, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", status, n, more);
	while (n > 0) {
		const bool slow = is_slow(v->uri);
		ssize_t done = write(v->fd, bytes, slow && n > SLOW_PIECE ? SLOW_PIECE : n);

		if (done <= 0)
			return;
		if (slow)
			usleep(SLOW_MS * 1000);
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
	sigv4_key(v->mem, OBJECTS_PEER_SECRET, s.scope, key);
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

static bool
is_kept(const char *key)
{
	return tally->deletes != PEER_DELETES && strstr(key, "/stays") != NULL;
}

static void
delete_listed(const struct visit *v)
{
	const char *at = v->body, *key;
	struct buf b = BUF(v->mem);

	if (header((void *)(uintptr_t)v, "content-md5") == NULL) {
		say(v, "400 X", "MissingContentMD5");
		return;
	}
	buf_text(&b, "<DeleteResult>");
	while ((at = strstr(at, "<Key>")) != NULL) {
		at += 5;
		key = arena_copy_n(v->mem, at, strcspn(at, "<"));
		if (!is_kept(key))
			drop(find(key));
		else if (tally->deletes == PEER_REFUSES)
			buf_printf(&b, "<Error><Key>%s</Key><Code>AccessDenied</Code></Error>", key);
	}
	buf_text(&b, "</DeleteResult>");
	answer(v, "200 OK", "", b.text, b.len);
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
	else if (key != NULL && strstr(key, "/moved-") != NULL)
		answer(v, arena_printf(v->mem, "%.3s X", strstr(key, "/moved-") + 7), "Location: /" BUCKET
		    "/elsewhere\r\n", "", 0);
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
		const bool kept = is_kept(key);

		if (!kept)
			drop(o);
		if (kept && tally->deletes == PEER_REFUSES)
			say(v, "403 X", "AccessDenied");
		else
			answer(v, "204 X", "", "", 0);
	} else if (o == NULL)
		say(v, "404 X", "NoSuchKey");
	else
		give(v, o);
}

/* The next bytes of a request, as quickly as its key says. */
static ssize_t
receive(int fd, const char *head, char *to, size_t n)
{
	struct pollfd gone = { .fd = fd, .events = POLLRDHUP };

	if (head != NULL && strstr(head, "/silent") != NULL && strncmp(head, "PUT", 3) == 0) {
		poll(&gone, 1, -1);
		return 0;
	}
	if (head == NULL || !is_slow(head))
		return read(fd, to, n);
	usleep(SLOW_MS * 1000);
	return read(fd, to, n < SLOW_PIECE ? n : SLOW_PIECE);
}

/* One request, whole.  False: there was none. */
static bool
take(struct visit *v, char *room)
{
	size_t n = 0, wanted = 0;
	char *end = NULL;
	const char *length;
	ssize_t got;

	while ((end == NULL || n < wanted) && n < REQUEST_MAX &&
	    (got = receive(v->fd, end != NULL ? room : NULL, room + n, REQUEST_MAX - n)) > 0) {
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

const char *
objects_peer_start(struct arena *mem)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int window = SLOW_PIECE;
	socklen_t size = sizeof(at);

	objects_peer_end();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(tally != MAP_FAILED);
	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)) == 0 && listen(fd, 16) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at, &size) == 0);
	peer = fork();
	if (peer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		run_peer(fd);
	}
	close(fd);
	return arena_printf(mem, "http://127.0.0.1:%d", ntohs(at.sin_port));
}

void
objects_peer_end(void)
{
	if (peer <= 0)
		return;
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	peer = 0;
}

struct objects_tally *
objects_peer_tally(void)
{
	return tally;
}
