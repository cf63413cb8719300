/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to an object store, and what its answers say. */
#include <openssl/evp.h>
#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/digest.h"
#include "core/disk.h"
#include "core/log.h"
#include "core/objects.h"
#include "core/sigv4.h"
#include "core/web.h"

enum {
	WORK = 96 << 20,		/* memory that one request may take */
	ANSWER_MAX = 4 << 20,		/* bytes of an answer that is no object */
	SILENCE = 60,			/* s without a byte, also while the store puts parts together */
	HURRY = 8,			/* s for all of it while a client waits */
	TRIES = 4,
	PAGE = 1000,			/* keys of one list, and of one deletion */
	PART_SIZE = 16 << 20, PARTS_MAX = 10000,
	EXPIRES_MIN = 60,
	KEY_TEXT = 1025,		/* bytes of the longest key that S3 knows, and the NUL */
};

/* One request. */
struct ask {
	const char *method, *key;	/* key: with the prefix of all; NULL: the bucket itself */
	const char *query;		/* sorted and encoded; NULL: none */
	const char *type;		/* Content-Type; NULL: none */
	const char *md5;		/* Content-MD5; NULL: none */
	const void *body;
	const struct web_file *file;
	size_t body_size;
	const char *sum;		/* of the body; NULL: it is made */
	const char *range;		/* "bytes=100-199"; NULL: all of it */
	size_t max;			/* bytes of the answer; 0: ANSWER_MAX */
	bool hurried;			/* a client waits */
	/* Of the signature. */
	const char *host, *date;
};

static const char *
host_of(struct arena *mem, const char *endpoint)
{
	const char *host = strstr(endpoint, "://") + 3, *port = strrchr(host, ':');
	const bool tls = strncmp(endpoint, "https:", 6) == 0;

	/* As it goes out: a port that needs no saying is not said. */
	if (port != NULL && strcmp(port, tls ? ":443" : ":80") == 0)
		return arena_copy_n(mem, host, (size_t)(port - host));
	return host;
}

static const char *
path_of(struct arena *mem, const struct objects *o, const char *key)
{
	return key == NULL ? arena_printf(mem, "/%s", o->bucket) : arena_printf(mem, "/%s/%s", o->bucket, key);
}

static const char *
full(struct arena *mem, const struct objects *o, const char *key)
{
	return arena_printf(mem, "%s%s", o->prefix, key);
}

static const char *
header_of(void *user, const char *name)
{
	const struct ask *a = user;

	return strcmp(name, "host") == 0 ? a->host : strcmp(name, "x-amz-date") == 0 ? a->date :
	    strcmp(name, "x-amz-content-sha256") == 0 ? a->sum : strcmp(name, "content-md5") == 0 ? a->md5 : a->type;
}

/* The headers with the signature, which holds for some minutes. */
static const char *const *
headers_of(struct arena *mem, const struct objects *o, struct ask *a, const char *uri)
{
	const char **headers = arena_array(mem, 7, sizeof(*headers)), **next = headers;
	const struct sigv4_who who = { o->key, o->secret, o->region, a->host };
	struct sigv4 s = { .method = a->method, .uri = uri, .header = header_of, .user = a, .content = a->sum };
	const struct moment now = moment_now();
	char *date = arena_alloc(mem, SIGV4_TIME);

	a->date = sigv4_time(now, date);
	s.signed_headers = arena_printf(mem, "%s%shost;x-amz-content-sha256;x-amz-date", a->md5 != NULL ?
	    "content-md5;" : "", a->type != NULL ? "content-type;" : "");
	*next++ = arena_printf(mem, "Authorization: %s", sigv4_authorization(mem, &who, s, now));
	*next++ = arena_printf(mem, "x-amz-date: %s", date);
	*next++ = arena_printf(mem, "x-amz-content-sha256: %s", a->sum);
	if (a->md5 != NULL)
		*next++ = arena_printf(mem, "Content-MD5: %s", a->md5);
	if (a->range != NULL)
		*next++ = arena_printf(mem, "Range: %s", a->range);
	/* Else the library would name a type of forms. */
	*next = a->type != NULL ? arena_printf(mem, "Content-Type: %s", a->type) : "Content-Type:";
	return headers;
}

/* What stands between <name> and </name> in the text; NULL: there is none.  Elements that we ask for have no
 * attributes, and what is in them is made of characters that need no escape. */
static const char *
element(struct arena *mem, const char *text, const char *end, const char *name)
{
	char tag[32];
	const int n = snprintf(tag, sizeof(tag), "<%s>", name);
	const char *at = memmem(text, (size_t)(end - text), tag, (size_t)n), *close;

	if (at == NULL)
		return NULL;
	at += n;
	close = memchr(at, '<', (size_t)(end - at));
	return close == NULL ? NULL : arena_copy_n(mem, at, (size_t)(close - at));
}

static const char *
code_of(struct arena *mem, const struct web_answer *a)
{
	const char *code = element(mem, a->body, a->body + a->size, "Code");

	return code != NULL && strlen(code) < 64 ? code : "";
}

/* Some stores begin to answer with 200 before they know whether it will work. */
static bool
is_error(const struct ask *q, const struct web_answer *a)
{
	/* What an object holds is no answer of the store. */
	if (strcmp(q->method, "GET") == 0 && q->key != NULL)
		return false;
	return a->status == 200 && a->size > 0 && memmem(a->body, a->size, "<Error>", 7) != NULL;
}

static int
errno_of(struct arena *mem, const struct web_answer *a)
{
	const char *code = code_of(mem, a);

	switch (a->end) {
	case WEB_ANSWERED:
		break;
	case WEB_UNRESOLVED:
	case WEB_UNREACHABLE:
		return EHOSTDOWN;
	case WEB_TIMEOUT:
		return ETIMEDOUT;
	case WEB_TOO_LARGE:
		return EFBIG;
	default:
		return EREMOTEIO;
	}
	if (a->status == 404 && strcmp(code, "NoSuchBucket") != 0)
		return ENOENT;
	if (a->status == 507 || strcmp(code, "QuotaExceeded") == 0 || strcmp(code, "XMinioStorageFull") == 0)
		return EDQUOT;
	return EREMOTEIO;
}

static bool
may_pass(const struct ask *q, const struct web_answer *a)
{
	if (a->end != WEB_ANSWERED)
		return a->file_error == 0 && a->end != WEB_BAD_URL && a->end != WEB_FORBIDDEN &&
		    a->end != WEB_TOO_LARGE;
	return a->status == 429 || a->status == 408 || (a->status >= 500 && a->status != 507) || is_error(q, a);
}

static void
tell(struct arena *mem, const struct ask *q, const struct web_answer *a)
{
	if (a->end != WEB_ANSWERED)
		log_text(LOG_LEVEL_WARN, "store", "%s %s: %s", q->method, q->key != NULL ? q->key : "the bucket",
		    a->file_error != 0 ? strerrordesc_np(a->file_error) : web_sentence(a->end));
	else
		log_text(LOG_LEVEL_WARN, "store", "%s %s: %d %s", q->method, q->key != NULL ? q->key : "the bucket",
		    a->status, code_of(mem, a));
}

static struct web_call
call_of(struct arena *mem, const struct objects *o, struct ask *q)
{
	const char *uri = arena_printf(mem, "%s%s%s", path_of(mem, o, q->key), q->query != NULL ? "?" : "",
	    q->query != NULL ? q->query : "");

	q->host = host_of(mem, o->endpoint);
	if (q->sum == NULL)
		q->sum = digest_text(mem, q->body, q->body_size);
	return (struct web_call){ .url = arena_printf(mem, "%s%s", o->endpoint, uri), .method = q->method,
		.headers = headers_of(mem, o, q, uri), .body = q->body, .file = q->file, .body_size = q->body_size,
		.alive = o->alive, .stride = OBJECTS_STRIDE, .user = o->user,
		.private_hosts = q->host, .silence = q->hurried ? 0 : SILENCE, .timeout = HURRY, .kept = true,
		.max_size = q->max > 0 ? q->max : ANSWER_MAX };
}

static void
wait_after(int tries)
{
	static const int ms[TRIES] = { 200, 1000, 3000 };
	const struct timespec nap = { ms[tries] / 1000, (long)(ms[tries] % 1000) * 1000000 };

	nanosleep(&nap, NULL);
}

static void
tell_life(const struct objects *o)
{
	if (o->alive != NULL)
		o->alive(o->user);
}

/* True when the store has done it; else errno.  What is not there is nothing to tell. */
static bool
ask(struct arena *mem, const struct objects *o, struct ask *q, struct web_answer *a)
{
	struct web_call call;
	bool done = false;
	int tries;

	for (tries = 0; !done; tries++) {
		call = call_of(mem, o, q);
		done = web_call(mem, &call, a) && !is_error(q, a);
		if (done || q->hurried || !may_pass(q, a) || tries == TRIES - 1)
			break;
		wait_after(tries);
	}
	if (done) {
		tell_life(o);
		return true;
	}
	errno = a->file_error != 0 ? a->file_error : errno_of(mem, a);
	if (errno != ENOENT && errno != EFBIG) {
		tell(mem, q, a);
		errno = a->file_error != 0 ? a->file_error : errno_of(mem, a);
	}
	return false;
}

/* A 404 without a body does not say whether the object is missing or the bucket.  errno. */
static int
missing(struct arena *mem, const struct objects *o, bool hurried)
{
	struct ask q = { .method = "GET", .hurried = hurried, .query = arena_printf(mem,
	    "list-type=2&max-keys=1&prefix=%s", percent_encode(mem, o->prefix)) };
	struct web_answer a;

	return ask(mem, o, &q, &a) ? ENOENT : errno == ENOENT ? EREMOTEIO : errno;
}

/* The same, when nothing of the answer is wanted. */
static bool
ask_only(const struct objects *o, struct ask *q)
{
	struct arena *mem = arena_new(WORK);
	struct web_answer a;
	bool fine;
	int saved;

	if (q->key != NULL)
		q->key = full(mem, o, q->key);
	fine = ask(mem, o, q, &a);
	saved = errno;
	arena_free(mem);
	errno = saved;
	return fine;
}

bool
objects_write(const struct objects *o, const char *key, const void *bytes, size_t n, const char *type)
{
	struct ask q = { .method = "PUT", .key = key, .body = n > 0 ? bytes : "", .body_size = n, .type = type };

	return ask_only(o, &q);
}

/* SHA-256 of a part of a file.  NULL with errno. */
static const char *
sum_of(struct arena *mem, const struct web_file *file, size_t n)
{
	enum { PIECE = 1 << 16 };
	unsigned char piece[PIECE], sum[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t at = 0;
	ssize_t got = 1;
	unsigned length = 0;
	int saved;

	if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
		abort();
	while (at < n) {
		got = pread(file->fd, piece, n - at < PIECE ? n - at : PIECE, file->from + (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		EVP_DigestUpdate(context, piece, (size_t)got);
		at += (size_t)got;
	}
	saved = got < 0 ? errno : ENODATA;
	EVP_DigestFinal_ex(context, sum, &length);
	EVP_MD_CTX_free(context);
	errno = saved;
	return at == n ? hex_encode(mem, sum, length) : NULL;
}

struct object_draft {
	const char *key;		/* with the prefix */
	const char *upload_id;		/* percent-encoded */
	const char *complete;		/* the list of parts */
	int64_t size;
};

static int64_t
part_size(int64_t size)
{
	const int64_t mib = 1 << 20, least = (size + PARTS_MAX - 1) / PARTS_MAX;

	return least <= PART_SIZE ? PART_SIZE : (least + mib - 1) / mib * mib;
}

/* One part; its line goes to the list. */
static bool
send_part(struct arena *mem, const struct objects *o, const struct object_draft *d, int number,
    const struct web_file *file, size_t n, struct buf *list)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "PUT", .key = d->key, .file = file, .body_size = n, .sum = sum_of(work, file, n),
	    .query = arena_printf(work, "partNumber=%d&uploadId=%s", number, d->upload_id) };
	struct web_answer a = { .etag = NULL };
	bool fine = q.sum != NULL && ask(work, o, &q, &a);
	int saved = errno;

	/* ENOENT: the store knows no such upload. */
	if (fine ? a.etag == NULL : saved == ENOENT) {
		fine = false;
		saved = EREMOTEIO;
	}
	if (fine)
		buf_printf(list, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", number, a.etag);
	arena_free(work);
	errno = saved;
	return fine;
}

static const char *
begin_draft(struct arena *mem, const struct objects *o, const char *key, const char *type)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "POST", .key = key, .query = "uploads=", .body = "", .type = type };
	struct web_answer a;
	const char *id = NULL;
	int saved;

	if (ask(work, o, &q, &a)) {
		id = element(work, a.body, a.body + a.size, "UploadId");
		errno = EREMOTEIO;
	}
	saved = errno;
	id = id != NULL ? percent_encode(mem, id) : NULL;
	arena_free(work);
	errno = saved;
	return id;
}

static bool
put_whole(const struct objects *o, const char *key, int fd, int64_t size, const char *type)
{
	struct arena *work = arena_new(WORK);
	const struct web_file file = { fd, 0 };
	struct ask q = { .method = "PUT", .key = full(work, o, key), .file = &file, .body_size = (size_t)size,
	    .type = type, .sum = sum_of(work, &file, (size_t)size) };
	struct web_answer a;
	bool fine = q.sum != NULL && ask(work, o, &q, &a);
	int saved = errno;

	arena_free(work);
	errno = saved;
	return fine;
}

bool
objects_put(const struct objects *o, const char *key, int fd, int64_t size, const char *type)
{
	struct arena *work;
	const struct object_draft *d;
	bool fine;
	int saved;

	if (size <= PART_SIZE)
		return put_whole(o, key, fd, size, type);
	work = arena_new(WORK);
	d = objects_draft(work, o, key, fd, size, type);
	fine = d != NULL && objects_publish(o, d);
	saved = errno;
	if (d != NULL && !fine)
		objects_discard(o, d);
	arena_free(work);
	errno = saved;
	return fine;
}

struct object_draft *
objects_draft(struct arena *mem, const struct objects *o, const char *key, int fd, int64_t size, const char *type)
{
	struct object_draft *d = NEW(mem, struct object_draft);
	const int64_t step = part_size(size);
	struct buf list = BUF(mem);
	int number = 1, saved;

	d->key = full(mem, o, key);
	d->size = size;
	d->upload_id = begin_draft(mem, o, d->key, type);
	if (d->upload_id == NULL)
		return NULL;
	buf_text(&list, "<CompleteMultipartUpload>");
	for (int64_t at = 0; at == 0 || at < size; at += step, number++) {
		const struct web_file file = { fd, at };

		if (send_part(mem, o, d, number, &file, (size_t)(size - at < step ? size - at : step), &list))
			continue;
		saved = errno;
		objects_discard(o, d);
		errno = saved;
		return NULL;
	}
	buf_text(&list, "</CompleteMultipartUpload>");
	d->complete = buf_string(&list);
	return d;
}

/* That a draft is not there may mean that an answer was lost: then the object is. */
bool
objects_publish(const struct objects *o, const struct object_draft *d)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "POST", .key = d->key, .query = arena_printf(work, "uploadId=%s", d->upload_id),
	    .body = d->complete, .body_size = strlen(d->complete), .type = "application/xml" };
	struct object_head head;
	struct web_answer a;
	bool fine = ask(work, o, &q, &a);
	int saved = errno;

	if (!fine && saved == ENOENT) {
		fine = objects_head(o, d->key + strlen(o->prefix), &head) && head.size == d->size;
		saved = EREMOTEIO;
	}
	arena_free(work);
	errno = saved;
	return fine;
}

bool
objects_discard(const struct objects *o, const struct object_draft *d)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "DELETE", .key = d->key, .query = arena_printf(work, "uploadId=%s", d->upload_id) };
	struct web_answer a;
	bool gone = ask(work, o, &q, &a) || errno == ENOENT;
	int saved = errno;

	arena_free(work);
	errno = saved;
	return gone;
}

static bool
ask_head(const struct objects *o, const char *key, bool hurried, struct object_head *head)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "HEAD", .key = full(work, o, key), .max = INT64_MAX, .hurried = hurried };
	struct web_answer a;
	bool fine = ask(work, o, &q, &a);
	int saved = errno;

	*head = (struct object_head){ fine ? a.length : -1, { 0 } };
	if (!fine && saved == ENOENT)
		saved = missing(work, o, hurried);
	if (fine && a.length < 0) {
		fine = false;
		saved = EREMOTEIO;
	}
	arena_free(work);
	errno = saved;
	return fine;
}

bool
objects_head(const struct objects *o, const char *key, struct object_head *head)
{
	return ask_head(o, key, false, head);
}

bool
objects_head_now(const struct objects *o, const char *key, struct object_head *head)
{
	return ask_head(o, key, true, head);
}

static char *
ask_bytes(struct arena *mem, const struct objects *o, const char *key, bool hurried, size_t max, size_t *n)
{
	struct arena *work = arena_new(TRIES * 4 * max + WORK);
	/* Errors are answers, too. */
	struct ask q = { .method = "GET", .key = full(work, o, key), .max = max > ANSWER_MAX ? max : ANSWER_MAX,
	    .hurried = hurried };
	struct web_answer a;
	char *bytes = NULL;
	int saved;

	*n = 0;
	if (ask(work, o, &q, &a)) {
		errno = EFBIG;
		if (a.size <= max) {
			bytes = arena_copy_n(mem, a.body, a.size);
			*n = a.size;
		}
	}
	saved = errno;
	arena_free(work);
	errno = saved;
	return bytes;
}

char *
objects_get(struct arena *mem, const struct objects *o, const char *key, size_t max, size_t *n)
{
	return ask_bytes(mem, o, key, false, max, n);
}

char *
objects_get_now(struct arena *mem, const struct objects *o, const char *key, size_t max, size_t *n)
{
	return ask_bytes(mem, o, key, true, max, n);
}

/* A store that knows no ranges answers with all of it. */
char *
objects_get_range(struct arena *mem, const struct objects *o, const char *key, int64_t from, size_t n)
{
	struct arena *work = arena_new(TRIES * 4 * n + WORK);
	struct ask q = { .method = "GET", .key = full(work, o, key), .max = n > ANSWER_MAX ? n : ANSWER_MAX, .range =
	    arena_printf(work, "bytes=%" PRId64 "-%" PRId64, from, from + (int64_t)n - 1) };
	struct web_answer a;
	char *bytes = NULL;
	int saved;

	if (ask(work, o, &q, &a)) {
		errno = EREMOTEIO;
		if (a.status == 206 && a.size == n)
			bytes = arena_copy_n(mem, a.body, n);
	}
	saved = errno;
	arena_free(work);
	errno = saved;
	return bytes;
}

/* What is being fetched. */
struct fetch {
	const struct objects *o;
	const char *key;
	int fd;
	int64_t spare;
	int64_t at, size;		/* size: -1 until the store has told it */
	char etag[128];			/* of the object that the bytes before are of */
};

/* All that comes of it.  False with errno: the file cannot be written, or the store is silent or breaks off. */
static bool
take_stream(struct fetch *f, struct web_stream *s)
{
	int64_t until = clock_ms() + SILENCE * 1000;
	enum web_end end;
	const void *bytes;
	size_t n;

	while (!web_stream_is_over(s, &end)) {
		n = web_stream_read(s, 1000, &bytes);
		if (n > 0) {
			if (!disk_write(f->fd, bytes, n))
				return false;
			f->at += (int64_t)n;
			until = clock_ms() + SILENCE * 1000;
		} else if (clock_ms() > until) {
			errno = ETIMEDOUT;
			return false;
		}
	}
	errno = EREMOTEIO;
	return end == WEB_ANSWERED && f->at == f->size;
}

/* Room for all of it, which nobody else gets meanwhile where the file system can say so. */
static bool
reserve(const struct fetch *f)
{
	struct statvfs fs;

	if (fstatvfs(f->fd, &fs) != 0)
		return false;
	if ((int64_t)fs.f_bavail * (int64_t)fs.f_frsize - f->spare < f->size) {
		errno = ENOSPC;
		return false;
	}
	return f->size == 0 || fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, f->size) == 0 ||
	    (errno != ENOSPC && errno != EDQUOT);
}

/* Is it what was asked for, from where it was asked for?  What is another one now begins at its beginning. */
static bool
begin_stream(struct fetch *f, const struct web_answer *a)
{
	const char *etag = a->etag != NULL ? a->etag : "";
	const bool goes_on = a->status == 206 && strcmp(f->etag, etag) == 0;

	if (a->length < 0 || (a->status != 200 && !goes_on))
		return false;
	if (!goes_on)
		f->at = 0;
	snprintf(f->etag, sizeof(f->etag), "%s", etag);
	f->size = f->at + a->length;
	if (!goes_on && (ftruncate(f->fd, 0) != 0 || !reserve(f)))
		return false;
	return lseek(f->fd, f->at, SEEK_SET) == f->at;
}

/* One attempt.  *passes: another one may do better. */
static bool
fetch_once(struct fetch *f, bool *passes)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "GET", .key = full(work, f->o, f->key) };
	struct web_call call = call_of(work, f->o, &q);
	struct web_answer a;
	struct web_stream *s;
	bool fine = false;
	int saved;

	call.method = NULL;
	call.max_size = 0;
	if (f->at > 0 && f->etag[0] != '\0') {
		call.from = f->at;
		call.if_range = f->etag;
	} else {
		f->at = 0;
	}
	s = web_stream_open(work, &call, &a);
	if (s != NULL && a.status >= 200 && a.status < 300) {
		errno = EREMOTEIO;
		fine = begin_stream(f, &a) && take_stream(f, s);
		*passes = errno == EREMOTEIO || errno == ETIMEDOUT;
	} else {
		errno = errno_of(work, &a);
		*passes = may_pass(&q, &a);
		saved = errno == ENOENT ? missing(work, f->o, false) : errno;
		errno = saved;
		if (errno != ENOENT) {
			tell(work, &q, &a);
			errno = saved;
		}
	}
	saved = errno;
	if (s != NULL)
		web_stream_close(s);
	arena_free(work);
	errno = saved;
	return fine;
}

bool
objects_fetch(const struct objects *o, const char *key, const char *path, int64_t spare)
{
	struct fetch f = { .o = o, .key = key, .spare = spare, .size = -1,
	    .fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) };
	bool fine = false, passes = true;
	int tries = 0, saved;
	int64_t before;

	if (f.fd < 0)
		return false;
	for (;;) {
		before = f.at;
		fine = fetch_once(&f, &passes);
		/* Who gets on may take as many attempts as that needs. */
		tries = f.at > before ? 0 : tries + 1;
		if (fine || !passes || tries == TRIES)
			break;
		wait_after(tries > 0 ? tries - 1 : 0);
	}
	saved = errno;
	if (close(f.fd) != 0 && fine) {
		fine = false;
		saved = errno;
	}
	if (!fine)
		unlink(path);
	errno = saved;
	return fine;
}

bool
objects_delete(const struct objects *o, const char *key)
{
	struct ask q = { .method = "DELETE", .key = key };

	return ask_only(o, &q) || errno == ENOENT;
}

/* ---- lists ---- */

struct listing {
	struct arena *mem;
	const struct objects *o;
	struct object_entry *all;
	size_t n, max;
};

static int
by_key(const void *a, const void *b)
{
	const struct object_entry *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* One element of the list; keys that do not begin as all of ours do are of others. */
static void
take_entry(struct listing *l, const char *text, const char *end, bool is_prefix)
{
	const char *key = element(l->mem, text, end, is_prefix ? "Prefix" : "Key"), *value;
	const size_t n = strlen(l->o->prefix);
	struct object_entry *e;

	if (key == NULL || strncmp(key, l->o->prefix, n) != 0 || l->n == l->max)
		return;
	e = &l->all[l->n++];
	*e = (struct object_entry){ key + n, -1, { 0 } };
	if (is_prefix)
		return;
	value = element(l->mem, text, end, "Size");
	if (value == NULL || !int_parse(value, &e->size))
		e->size = 0;
	value = element(l->mem, text, end, "LastModified");
	if (value != NULL)
		moment_parse(value, &e->put_at);
}

static void
take_entries(struct listing *l, const struct web_answer *a, const char *name, bool is_prefix)
{
	const char *open = arena_printf(l->mem, "<%s>", name), *close = arena_printf(l->mem, "</%s>", name);
	const char *at = a->body, *end = a->body + a->size, *stop;

	while ((at = memmem(at, (size_t)(end - at), open, strlen(open))) != NULL &&
	    (stop = memmem(at, (size_t)(end - at), close, strlen(close))) != NULL) {
		take_entry(l, at, stop, is_prefix);
		at = stop;
	}
}

/* One answer's worth, by name.  *more: the store has more. */
static bool
list_page(struct listing *l, const char *prefix, const char *after, bool deep, bool *more)
{
	struct arena *work = arena_new(WORK);
	const size_t before = l->n;
	struct ask q = { .method = "GET" };
	struct web_answer a;
	bool fine;
	int saved;

	q.query = arena_printf(work, "%slist-type=2&max-keys=%zu&prefix=%s%s%s", deep ? "" : "delimiter=%2F&",
	    l->max - l->n, percent_encode(work, full(work, l->o, prefix)), after != NULL ? "&start-after=" : "",
	    after != NULL ? percent_encode(work, full(work, l->o, after)) : "");
	fine = ask(work, l->o, &q, &a);
	saved = errno;
	*more = false;
	if (fine) {
		const char *cut = element(work, a.body, a.body + a.size, "IsTruncated");

		take_entries(l, &a, "Contents", false);
		take_entries(l, &a, "CommonPrefixes", true);
		*more = cut != NULL && strcmp(cut, "true") == 0 && l->n > before;
		if (l->n > before)
			qsort(&l->all[before], l->n - before, sizeof(*l->all), by_key);
	} else if (saved == ENOENT) {
		saved = EREMOTEIO;
	}
	arena_free(work);
	errno = saved;
	return fine;
}

/* What comes behind all that begin with it, since '~' is behind all characters of keys. */
static const char *
behind(struct arena *mem, const char *key)
{
	return key != NULL && key[0] != '\0' && key[strlen(key) - 1] == '/' ? arena_printf(mem, "%s~", key) : key;
}

/* Objects may be called as if they were a beginning of others. */
static const char *
behind_entry(struct arena *mem, const struct object_entry *e)
{
	return e->size < 0 ? behind(mem, e->key) : e->key;
}

struct object_entry *
objects_list(struct arena *mem, const struct objects *o, const char *prefix, const char *after, size_t max, size_t *n)
{
	struct listing l = { .mem = mem, .o = o, .max = max < PAGE ? max : PAGE };
	bool more = true;

	*n = 0;
	l.all = arena_array(mem, l.max > 0 ? l.max : 1, sizeof(*l.all));
	after = behind(mem, after);
	while (more && l.n < l.max) {
		if (!list_page(&l, prefix, after, false, &more))
			return NULL;
		after = l.n > 0 ? behind_entry(mem, &l.all[l.n - 1]) : after;
	}
	*n = l.n;
	return l.all;
}

static const char *
md5_of(struct arena *mem, const char *text, size_t n)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned length = 0;
	char *base64 = arena_alloc(mem, 2 * EVP_MAX_MD_SIZE);

	if (EVP_Digest(text, n, sum, &length, EVP_md5(), NULL) != 1)
		abort();
	EVP_EncodeBlock((unsigned char *)base64, sum, (int)length);
	return base64;
}

/* As many as one request takes. */
static bool
delete_listed(const struct objects *o, const struct listing *l)
{
	struct arena *work = arena_new(WORK);
	struct buf list = BUF(work);
	struct ask q = { .method = "POST", .query = "delete=", .type = "application/xml" };
	struct web_answer a;
	bool fine;
	int saved;

	buf_text(&list, "<Delete><Quiet>true</Quiet>");
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&list, "<Object><Key>%s%s</Key></Object>", o->prefix, l->all[i].key);
	buf_text(&list, "</Delete>");
	q.body = list.text;
	q.body_size = list.len;
	q.md5 = md5_of(work, list.text, list.len);
	fine = ask(work, o, &q, &a);
	saved = errno;
	arena_free(work);
	errno = saved;
	return fine;
}

/* The next page of what is there still.  What was the first of the page before was to be deleted with it. */
static bool
list_left(struct listing *l, const char *prefix, char *first, size_t max)
{
	bool more;

	l->n = 0;
	l->all = arena_array(l->mem, l->max, sizeof(*l->all));
	if (!list_page(l, prefix, NULL, true, &more))
		return false;
	if (l->n > 0 && strcmp(l->all[0].key, first) == 0) {
		log_text(LOG_LEVEL_WARN, "store", "%s is there after the store has said that it deleted it", first);
		errno = EREMOTEIO;
		return false;
	}
	snprintf(first, max, "%s", l->n > 0 ? l->all[0].key : "");
	return true;
}

bool
objects_delete_all(const struct objects *o, const char *prefix)
{
	struct arena *work = arena_new(WORK);
	struct listing l = { .mem = work, .o = o, .max = PAGE };
	char first[KEY_TEXT] = "";
	bool fine;
	int saved;

	do {
		arena_reset(work);
		fine = list_left(&l, prefix, first, sizeof(first)) && (l.n == 0 || delete_listed(o, &l));
		saved = errno;
	} while (fine && l.n > 0);
	arena_free(work);
	errno = saved;
	return fine;
}

/* Where a list goes on; one that says the same again would never end. */
static void
next_marks(struct arena *mem, const struct web_answer *a, const char **key_mark, const char **id_mark)
{
	const char *end = a->body + a->size, *cut = element(mem, a->body, end, "IsTruncated");
	const char *key = element(mem, a->body, end, "NextKeyMarker"), *id = element(mem, a->body, end,
	    "NextUploadIdMarker");
	const bool more = cut != NULL && strcmp(cut, "true") == 0 && key != NULL && id != NULL && (*key_mark == NULL ||
	    strcmp(key, *key_mark) != 0 || strcmp(id, *id_mark) != 0);

	*key_mark = more ? key : NULL;
	*id_mark = more ? id : NULL;
}

/* A page of drafts, behind those marks, which become those of the next one; NULL: there is none.  How many it has
 * dropped; -1 with errno. */
static int
tidy_page(const struct objects *o, struct moment before, struct arena *mem, const char **key_mark, const char **id_mark)
{
	struct arena *work = arena_new(WORK);
	struct ask q = { .method = "GET", .query = arena_printf(work, "%s%s%sprefix=%s%s%s&uploads=",
	    *key_mark != NULL ? "key-marker=" : "", *key_mark != NULL ? percent_encode(work, *key_mark) : "",
	    *key_mark != NULL ? "&" : "", percent_encode(work, o->prefix),
	    *key_mark != NULL ? "&upload-id-marker=" : "", *key_mark != NULL ? percent_encode(work, *id_mark) : "") };
	const char *at, *end, *stop, *key, *id, *begun;
	struct web_answer a;
	struct moment when;
	int n = -1, saved;

	if (ask(work, o, &q, &a)) {
		n = 0;
		end = a.body + a.size;
		for (at = a.body; (at = memmem(at, (size_t)(end - at), "<Upload>", 8)) != NULL &&
		    (stop = memmem(at, (size_t)(end - at), "</Upload>", 9)) != NULL; at = stop) {
			key = element(work, at, stop, "Key");
			id = element(work, at, stop, "UploadId");
			begun = element(work, at, stop, "Initiated");
			if (key == NULL || id == NULL || begun == NULL || !moment_parse(begun, &when) ||
			    when.ms > before.ms || strncmp(key, o->prefix, strlen(o->prefix)) != 0)
				continue;
			n += objects_discard(o, &(struct object_draft){ .key = key,
			    .upload_id = percent_encode(work, id) });
		}
		next_marks(mem, &a, key_mark, id_mark);
	}
	saved = errno;
	arena_free(work);
	errno = saved;
	return n;
}

int
objects_tidy(const struct objects *o, struct moment before)
{
	struct arena *mem = arena_new(WORK);
	const char *key_mark = NULL, *id_mark = NULL;
	int all = 0, n, saved;

	do {
		n = tidy_page(o, before, mem, &key_mark, &id_mark);
		all += n;
	} while (n >= 0 && key_mark != NULL);
	saved = errno;
	arena_free(mem);
	errno = saved;
	return n < 0 ? -1 : all;
}

/* What answers to it has a name, and is asked for again by who has kept it: then the address has to hold still. */
static const char *
parameters(struct arena *mem, const char *disposition)
{
	static const char cache[] = "response-cache-control=private%2C%20no-cache";

	return disposition == NULL ? cache : arena_printf(mem, "%s&response-content-disposition=%s", cache,
	    percent_encode(mem, disposition));
}

const char *
objects_address(struct arena *mem, const struct objects *o, const char *key, const char *method,
    const char *disposition, struct moment now, struct moment until)
{
	const char *endpoint = o->public_endpoint != NULL ? o->public_endpoint : o->endpoint;
	const struct sigv4_who who = { o->key, o->secret, o->region, host_of(mem, endpoint) };
	const int64_t from = now.ms / 1000 / OBJECTS_ROUND * OBJECTS_ROUND;
	const char *path = path_of(mem, o, full(mem, o, key));
	int64_t seconds = until.ms / 1000 - from;

	if (seconds > SIGV4_EXPIRES_MAX)
		seconds = SIGV4_EXPIRES_MAX;
	if (seconds < now.ms / 1000 - from + EXPIRES_MIN)
		seconds = now.ms / 1000 - from + EXPIRES_MIN;
	return arena_printf(mem, "%s%s?%s", endpoint, path, sigv4_presigned(mem, &who, method, path,
	    parameters(mem, disposition), (struct moment){ from * 1000 }, seconds));
}
