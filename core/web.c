/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outgoing HTTP and mail with libcurl. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/text.h"
#include "core/web_transfer.h"

enum {
	CONNECT_SECONDS = 10, MAIL_SECONDS = 45,
	FILE_PIECE = 1 << 18,		/* bytes of a file that are read at a time */
	CONNECTIONS = 256,		/* that web_many keeps open, so that those of others do not use up our files */
	KEPT = 16,			/* handles that wait for the next call */
};

static size_t
on_body(char *bytes, size_t size, size_t n, void *user)
{
	struct web_transfer *t = user;

	t->too_large = t->body.len + size * n > t->max;
	if (t->too_large && t->call->cut)
		buf_add(&t->body, bytes, t->max - t->body.len);
	if (t->too_large)
		return 0;
	buf_add(&t->body, bytes, size * n);
	return size * n;
}

/* What call->file has now: a file that became shorter is as bad as one that cannot be read. */
static size_t
on_file(char *to, size_t size, size_t room, void *user)
{
	struct web_transfer *t = user;
	const struct web_call *call = t->call;
	size_t n = size * room;
	ssize_t got;

	if (n > call->body_size - t->sent)
		n = call->body_size - t->sent;
	if (n == 0)
		return 0;
	do {
		got = pread(call->file->fd, to, n, call->file->from + (off_t)t->sent);
	} while (got < 0 && errno == EINTR);
	if (got <= 0) {
		t->file_error = got < 0 ? errno : ENODATA;
		return CURL_READFUNC_ABORT;
	}
	t->sent += (size_t)got;
	return (size_t)got;
}

/* A connection that was kept may turn out to be gone when some was sent. */
static int
on_rewind(void *user, curl_off_t to, int whence)
{
	struct web_transfer *t = user;

	if (whence != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	t->sent = (size_t)to;
	return CURL_SEEKFUNC_OK;
}

static int
on_progress(void *user, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
	struct web_transfer *t = user;
	const struct web_call *call = t->call;

	if (call->alive == NULL || (call->stride > 0 && down + up - t->told < (curl_off_t)call->stride))
		return 0;
	t->told = down + up;
	call->alive(call->user);
	return 0;
}

static struct curl_slist *
header_list(struct arena *mem, const struct web_call *call)
{
	const char *const *headers = call->headers;
	/* Without this, larger bodies wait a second for a "100 Continue" that many servers never send. */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	for (; headers != NULL && *headers != NULL; headers++)
		list = curl_slist_append(list, *headers);
	if (call->from > 0)
		list = curl_slist_append(list, arena_printf(mem, "Range: bytes=%" PRId64 "-", call->from));
	if (call->from > 0 && call->if_range != NULL)
		list = curl_slist_append(list, arena_printf(mem, "If-Range: %s", call->if_range));
	return list;
}

static void
set_file(CURL *c, struct web_transfer *t)
{
	curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->call->body_size);
	curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, (long)FILE_PIECE);
	curl_easy_setopt(c, CURLOPT_READFUNCTION, on_file);
	curl_easy_setopt(c, CURLOPT_READDATA, t);
	curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_rewind);
	curl_easy_setopt(c, CURLOPT_SEEKDATA, t);
}

static void
set_body(CURL *c, const struct web_call *call, curl_mime **mime)
{
	const struct web_part *p;
	curl_mimepart *part;

	if (call->parts != NULL) {
		*mime = curl_mime_init(c);
		for (p = call->parts; p->name != NULL; p++) {
			part = curl_mime_addpart(*mime);
			curl_mime_name(part, p->name);
			curl_mime_data(part, p->text != NULL ? p->text : p->bytes,
			    p->text != NULL ? CURL_ZERO_TERMINATED : p->n);
			if (p->file_name != NULL)
				curl_mime_filename(part, p->file_name);
			if (p->type != NULL)
				curl_mime_type(part, p->type);
		}
		curl_easy_setopt(c, CURLOPT_MIMEPOST, *mime);
	} else if (call->body != NULL) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, call->body);
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_size);
	}
	if (call->method != NULL && strcmp(call->method, "HEAD") == 0)
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	else if (call->method != NULL)
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
}

/* Whatever name service or library did in between, only a checked address is connected to. */
static curl_socket_t
open_socket(void *target, curlsocktype purpose, struct curl_sockaddr *to)
{
	if (purpose != CURLSOCKTYPE_IPCXN || !web_target_has(target, &to->addr))
		return CURL_SOCKET_BAD;
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static void
set_limits(CURL *c, struct web_transfer *t)
{
	struct web_call *call = t->call;

	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	if (call->silence > 0) {
		curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)call->silence);
	} else {
		curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)(call->timeout > 0 ? call->timeout : 30));
	}
	if (!call->cut)
		curl_easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->max);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t->target);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
	curl_easy_setopt(c, CURLOPT_USERAGENT, WEB_AGENT);
	if (call->any_certificate) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
		curl_easy_setopt(c, CURLOPT_CERTINFO, 1L);
	}
}

enum web_end
web_transfer_end(CURLcode code, const struct web_transfer *t)
{
	if (t->too_large || code == CURLE_FILESIZE_EXCEEDED)
		return t->call->cut ? WEB_ANSWERED : WEB_TOO_LARGE;
	switch (code) {
	case CURLE_OK: return WEB_ANSWERED;
	case CURLE_COULDNT_RESOLVE_HOST: return WEB_UNRESOLVED;
	case CURLE_COULDNT_CONNECT: return WEB_UNREACHABLE;
	case CURLE_OPERATION_TIMEDOUT: return WEB_TIMEOUT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_USE_SSL_FAILED:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER: return WEB_TLS;
	default: return WEB_BROKEN;
	}
}

/* Of the server itself, which comes first. */
static const char *
certificate_of(struct arena *mem, CURL *c)
{
	struct curl_certinfo *info = NULL;
	const struct curl_slist *line;

	if (curl_easy_getinfo(c, CURLINFO_CERTINFO, &info) != CURLE_OK || info == NULL || info->num_of_certs < 1)
		return NULL;
	for (line = info->certinfo[0]; line != NULL; line = line->next)
		if (strncmp(line->data, "Cert:", 5) == 0)
			return arena_copy(mem, line->data + 5);
	return NULL;
}

/* NULL: there is none. */
static const char *
header_of(struct arena *mem, CURL *c, const char *name)
{
	struct curl_header *h;

	return curl_easy_header(c, name, 0, CURLH_HEADER, -1, &h) == CURLHE_OK ? arena_copy(mem, h->value) : NULL;
}

void
web_transfer_read(struct arena *mem, CURL *c, struct web_answer *a, const char **location)
{
	char *text = NULL;
	curl_off_t seconds = 0, length = -1;
	long status = 0;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	a->status = (int)status;
	if (curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &text) == CURLE_OK && text != NULL)
		a->type = arena_copy(mem, text);
	if (curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
		a->retry_after = seconds < 86400 ? (int)seconds : 86400;
	if (curl_easy_getinfo(c, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) == CURLE_OK)
		a->length = length;
	a->etag = header_of(mem, c, "ETag");
	a->modified = header_of(mem, c, "Last-Modified");
	a->range = header_of(mem, c, "Content-Range");
	a->disposition = header_of(mem, c, "Content-Disposition");
	a->allow_origin = header_of(mem, c, "Access-Control-Allow-Origin");
	text = NULL;
	if (curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &text) == CURLE_OK && text != NULL)
		*location = arena_copy(mem, text);
}

void
web_transfer_prepare(CURL *c, struct arena *mem, struct web_transfer *t)
{
	t->body = BUF(mem);
	t->max = t->call->max_size > 0 ? t->call->max_size : 1 << 20;
	t->resolve = web_target_pinned(mem, t->target);
	t->headers = header_list(mem, t->call);
	set_limits(c, t);
	if (t->call->file != NULL)
		set_file(c, t);
	set_body(c, t->call, &t->mime);
	curl_easy_setopt(c, CURLOPT_URL, t->target->url);
	curl_easy_setopt(c, CURLOPT_RESOLVE, t->resolve);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
}

/*
 * Handles that wait with their connections, each used by one thread at a time.  A child that was forked leaves those of
 * its parent alone: two that speak on one connection would get each other's answers.
 */
static struct {
	pthread_mutex_t lock;
	CURL *idle[KEPT];
	int n;
	pid_t owner;
} handles = { .lock = PTHREAD_MUTEX_INITIALIZER };

static CURL *
take_kept(void)
{
	CURL *c = NULL;

	pthread_mutex_lock(&handles.lock);
	if (handles.owner != getpid()) {
		handles.owner = getpid();
		handles.n = 0;
	}
	if (handles.n > 0)
		c = handles.idle[--handles.n];
	pthread_mutex_unlock(&handles.lock);
	return c;
}

static bool
give_kept(CURL *c)
{
	bool room;

	curl_easy_reset(c);
	pthread_mutex_lock(&handles.lock);
	room = handles.owner == getpid() && handles.n < KEPT;
	if (room)
		handles.idle[handles.n++] = c;
	pthread_mutex_unlock(&handles.lock);
	return room;
}

void
web_transfer_free(CURL *c, struct web_transfer *t)
{
	if (!t->call->kept || !give_kept(c))
		curl_easy_cleanup(c);
	curl_mime_free(t->mime);
	curl_slist_free_all(t->resolve);
	curl_slist_free_all(t->headers);
}

/* The handle is gone then. */
static void
finish(CURL *c, struct arena *mem, struct web_transfer *t, CURLcode code, struct web_answer *a, const char **location)
{
	a->end = web_transfer_end(code, t);
	if (a->end == WEB_ANSWERED)
		web_transfer_read(mem, c, a, location);
	a->file_error = t->file_error;
	if (t->call->any_certificate)
		a->certificate = certificate_of(mem, c);
	a->body = buf_string(&t->body);
	a->size = t->body.len;
	web_transfer_free(c, t);
}

/* One request to one checked target, to its end. */
static void
transfer(void *user, struct arena *mem, struct web_call *call, struct web_target *target, struct web_answer *a,
    const char **location)
{
	struct web_transfer t = { .call = call, .target = target };
	CURL *c = call->kept ? take_kept() : NULL;

	if (c == NULL && (c = curl_easy_init()) == NULL)
		abort();
	web_transfer_prepare(c, mem, &t);
	finish(c, mem, &t, curl_easy_perform(c), a, location);
}

static void
begin_once(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Threads that take bytes in speak to an object store, too. */
static void
begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin_once);
}

static bool
same_origin(const struct web_target *a, const struct web_target *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && strcasecmp(a->host, b->host) == 0 && a->port == b->port;
}

static enum web_end
insecure(struct arena *mem, const struct web_call *call, const struct web_target *t)
{
	return !call->secure || strcmp(t->scheme, "https") == 0 ||
	    web_target_is_allowed(mem, call->private_hosts, t) ? WEB_ANSWERED : WEB_BAD_URL;
}

bool
web_follow(struct arena *mem, const struct web_call *wanted, struct web_answer *a, web_hop *hop, void *user)
{
	struct web_call call = *wanted;
	struct web_target target, before = { 0 };
	const char *location;
	bool follows = call.redirects > 0 && call.body == NULL && call.parts == NULL &&
	    call.file == NULL;
	int left = call.redirects;

	begin();
	for (;; left--) {
		*a = (struct web_answer){ .type = "", .body = "", .length = -1 };
		location = NULL;
		if (!web_target_parse(mem, call.url, "http,https", &target)) {
			a->end = WEB_BAD_URL;
			return false;
		}
		a->end = web_target_resolve(mem, &target, call.private_hosts);
		if (a->end == WEB_ANSWERED)
			a->end = insecure(mem, &call, &target);
		if (a->end != WEB_ANSWERED)
			return false;
		if (before.host != NULL && !same_origin(&before, &target))
			call.headers = NULL;
		hop(user, mem, &call, &target, a, &location);
		if (a->end != WEB_ANSWERED || location == NULL || !follows)
			return a->end == WEB_ANSWERED && a->status >= 200 && a->status < 300;
		if (left == 0) {
			a->end = WEB_TOO_MANY_REDIRECTS;
			return false;
		}
		before = target;
		call.url = location;
	}
}

bool
web_call(struct arena *mem, const struct web_call *call, struct web_answer *a)
{
	return web_follow(mem, call, a, transfer, NULL);
}

/* A question to the name service, in a thread of its own.  Who asked may have given up: then nobody is there. */
struct lookup {
	const char *host;
	struct addrinfo *all;
	int error, done;			/* done: where it says that it has ended */
	struct ongoing *of;
};

struct ongoing {
	struct ongoing *next;
	struct arena *mem;
	struct web_call call;
	struct web_target target;
	struct web_transfer transfer;
	struct web_answer answer;
	void *whose;
	CURL *c;				/* NULL: not yet, or not any more */
	struct lookup *lookup;
	int64_t deadline;			/* ms of clock_ms() */
};

struct web_many {
	CURLM *multi;
	int said[2];				/* pipe of lookups that have ended */
	int lookups;
	struct ongoing *all, *ended;
};

struct web_many *
web_many_open(void)
{
	struct web_many *m = calloc(1, sizeof(*m));

	begin();
	if (m == NULL || pipe2(m->said, O_CLOEXEC) != 0 || fcntl(m->said[0], F_SETFL, O_NONBLOCK) != 0 ||
	    (m->multi = curl_multi_init()) == NULL ||
	    curl_multi_setopt(m->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS) != CURLM_OK)
		abort();
	return m;
}

/* Out of the list of all, into that of the ended. */
static void
end_call(struct web_many *m, struct ongoing *o, enum web_end end)
{
	struct ongoing **at = &m->all;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	o->next = m->ended;
	m->ended = o;
	o->answer.end = end;
}

static void
start_call(struct web_many *m, struct ongoing *o)
{
	int64_t left = o->deadline - clock_ms();

	if (left <= 0) {
		end_call(m, o, WEB_TIMEOUT);
		return;
	}
	o->c = curl_easy_init();
	if (o->c == NULL)
		abort();
	o->transfer = (struct web_transfer){ .call = &o->call, .target = &o->target };
	web_transfer_prepare(o->c, o->mem, &o->transfer);
	curl_easy_setopt(o->c, CURLOPT_TIMEOUT_MS, (long)left);
	curl_easy_setopt(o->c, CURLOPT_PRIVATE, o);
	if (curl_multi_add_handle(m->multi, o->c) != CURLM_OK)
		abort();
}

/* What a name service has said. */
static void
judge(struct web_many *m, struct ongoing *o, const struct addrinfo *all)
{
	enum web_end end = web_target_judge(o->mem, &o->target, o->call.private_hosts, all);

	if (end == WEB_ANSWERED)
		end = insecure(o->mem, &o->call, &o->target);
	if (end != WEB_ANSWERED)
		end_call(m, o, end);
	else
		start_call(m, o);
}

static void *
look_up(void *what)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct lookup *l = what;

	l->error = getaddrinfo(l->host, NULL, &hints, &l->all);
	while (write(l->done, &l, sizeof(l)) < 0 && errno == EINTR)
		continue;
	return NULL;
}

static void
ask(struct web_many *m, struct ongoing *o)
{
	struct lookup *l = calloc(1, sizeof(*l));
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	if (l == NULL || (l->host = strdup(o->target.host)) == NULL)
		abort();
	l->done = m->said[1];
	l->of = o;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, (size_t)256 << 10);
	error = pthread_create(&thread, &attr, look_up, l);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		free((void *)(uintptr_t)l->host);
		free(l);
		end_call(m, o, WEB_UNRESOLVED);
		return;
	}
	o->lookup = l;
	m->lookups++;
}

void
web_many_add(struct web_many *m, struct arena *mem, const struct web_call *call, void *whose)
{
	struct ongoing *o = NEW(mem, struct ongoing);
	struct addrinfo *all;

	o->mem = mem;
	o->call = *call;
	o->whose = whose;
	o->answer = (struct web_answer){ .type = "", .body = "", .length = -1 };
	o->deadline = clock_ms() + (int64_t)(call->timeout > 0 ? call->timeout : 30) * 1000;
	o->next = m->all;
	m->all = o;
	if (!web_target_parse(mem, call->url, "http,https", &o->target)) {
		end_call(m, o, WEB_BAD_URL);
	} else if ((all = web_target_numeric(o->target.host)) != NULL) {
		judge(m, o, all);
		freeaddrinfo(all);
	} else {
		ask(m, o);
	}
}

/* Lookups that have ended; those that take too long are left to themselves. */
static void
hear(struct web_many *m)
{
	struct ongoing *o, *next;
	struct lookup *l;

	while (read(m->said[0], &l, sizeof(l)) == (ssize_t)sizeof(l)) {
		m->lookups--;
		if (l->of != NULL) {
			l->of->lookup = NULL;
			if (l->error != 0)
				end_call(m, l->of, WEB_UNRESOLVED);
			else
				judge(m, l->of, l->all);
		}
		if (l->error == 0)
			freeaddrinfo(l->all);
		free((void *)(uintptr_t)l->host);
		free(l);
	}
	for (o = m->all; o != NULL; o = next) {
		next = o->next;
		if (o->lookup == NULL || o->deadline > clock_ms())
			continue;
		o->lookup->of = NULL;
		end_call(m, o, WEB_TIMEOUT);
	}
}

static void
move_on(struct web_many *m)
{
	const char *location = NULL;
	struct ongoing *o = NULL;
	enum web_end end;
	CURLMsg *message;
	CURLcode code;
	int n;

	if (curl_multi_perform(m->multi, &n) != CURLM_OK)
		abort();
	while ((message = curl_multi_info_read(m->multi, &n)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&o);
		code = message->data.result;
		curl_multi_remove_handle(m->multi, o->c);
		finish(o->c, o->mem, &o->transfer, code, &o->answer, &location);
		o->c = NULL;
		end = o->answer.end;
		end_call(m, o, end);
	}
}

void *
web_many_next(struct web_many *m, int ms, struct web_answer *a)
{
	int64_t until = clock_ms() + ms, left;
	struct curl_waitfd said = { .fd = m->said[0], .events = CURL_WAIT_POLLIN };
	struct ongoing *o;

	for (;;) {
		hear(m);
		move_on(m);
		if ((o = m->ended) != NULL) {
			m->ended = o->next;
			*a = o->answer;
			return o->whose;
		}
		left = until - clock_ms();
		if (left <= 0)
			return NULL;
		curl_multi_poll(m->multi, &said, 1, left < 500 ? (int)left : 500, NULL);
	}
}

void
web_many_close(struct web_many *m)
{
	struct pollfd said = { .fd = m->said[0], .events = POLLIN };
	const char *location;
	struct ongoing *o;

	while ((o = m->all) != NULL) {
		if (o->lookup != NULL)
			o->lookup->of = NULL;
		if (o->c != NULL) {
			curl_multi_remove_handle(m->multi, o->c);
			finish(o->c, o->mem, &o->transfer, CURLE_ABORTED_BY_CALLBACK, &o->answer, &location);
		}
		end_call(m, o, WEB_BROKEN);
	}
	while (m->lookups > 0) {
		poll(&said, 1, -1);
		hear(m);
	}
	curl_multi_cleanup(m->multi);
	close(m->said[0]);
	close(m->said[1]);
	free(m);
}

static size_t
on_read(char *to, size_t size, size_t room, void *user)
{
	const char **left = user;
	size_t n = strnlen(*left, size * room);

	memcpy(to, *left, n);
	*left += n;
	return n;
}

static void
set_letter(CURL *c, const struct web_letter *letter, const struct web_target *target, const char **left)
{
	bool plain = letter->plain || web_target_is_loopback(target);

	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(c, CURLOPT_URL, target->url);
	curl_easy_setopt(c, CURLOPT_USE_SSL, (long)(plain ? CURLUSESSL_NONE : CURLUSESSL_ALL));
	if (letter->user != NULL) {
		curl_easy_setopt(c, CURLOPT_USERNAME, letter->user);
		curl_easy_setopt(c, CURLOPT_PASSWORD, letter->password != NULL ? letter->password : "");
	}
	if (letter->to == NULL) {
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "NOOP");
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
		return;
	}
	curl_easy_setopt(c, CURLOPT_MAIL_FROM, letter->from);
	curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)strlen(letter->text));
	curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(c, CURLOPT_READDATA, left);
}

bool
web_mail(struct arena *mem, const struct web_letter *letter, struct web_answer *a)
{
	struct web_call call = { .timeout = MAIL_SECONDS, .alive = letter->alive, .user = letter->job };
	struct curl_slist *resolve, *to = NULL;
	struct web_target target;
	struct web_transfer t = { .call = &call, .target = &target, .body = BUF(mem), .max = 1 << 20 };
	const char *left = letter->text;
	CURLcode code;
	long status = 0;
	CURL *c;

	begin();
	*a = (struct web_answer){ .end = WEB_BAD_URL, .type = "", .body = "", .length = -1 };
	if (!web_target_parse(mem, letter->url, "smtp,smtps", &target) ||
	    (a->end = web_target_resolve(mem, &target, "0.0.0.0/0,::/0")) != WEB_ANSWERED)
		return false;
	if ((c = curl_easy_init()) == NULL)
		abort();
	set_limits(c, &t);
	set_letter(c, letter, &target, &left);
	if (letter->to != NULL)
		curl_easy_setopt(c, CURLOPT_MAIL_RCPT, to = curl_slist_append(NULL, letter->to));
	curl_easy_setopt(c, CURLOPT_RESOLVE, resolve = web_target_pinned(mem, &target));
	code = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	a->status = (int)status;
	a->end = code != CURLE_OPERATION_TIMEDOUT && status >= 400 ? WEB_ANSWERED : web_transfer_end(code, &t);
	curl_easy_cleanup(c);
	curl_slist_free_all(resolve);
	curl_slist_free_all(to);
	return code == CURLE_OK;
}

bool
web_is_secure(struct arena *mem, const char *url, const char *private_hosts)
{
	struct web_target t;

	if (!web_target_parse(mem, url, "http,https", &t))
		return false;
	if (strcmp(t.scheme, "https") == 0)
		return true;
	if (private_hosts != NULL)
		web_target_resolve(mem, &t, private_hosts);
	return web_target_is_allowed(mem, private_hosts, &t);
}

const char *
web_origin(struct arena *mem, const char *url)
{
	struct web_target t;
	char *origin, *c;

	if (!web_target_parse(mem, url, "http,https", &t))
		return url;
	origin = arena_printf(mem, "%s://%s:%d", t.scheme, t.host, t.port);
	for (c = origin; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	return origin;
}

const char *
web_sentence(enum web_end end)
{
	switch (end) {
	case WEB_ANSWERED: return "The server answered.";
	case WEB_BAD_URL: return "The address is not one of http or https that can be used.";
	case WEB_FORBIDDEN: return "The address does not lead to a public server.";
	case WEB_UNRESOLVED: return "The name of the server is not known.";
	case WEB_UNREACHABLE: return "The server cannot be reached.";
	case WEB_TIMEOUT: return "The server took too long.";
	case WEB_TLS: return "The server did not prove who it is.";
	case WEB_TOO_LARGE: return "The answer is too large.";
	case WEB_TOO_MANY_REDIRECTS: return "The server redirects too often.";
	case WEB_BROKEN: break;
	}
	return "The connection broke.";
}
