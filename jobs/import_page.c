/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/import.h"
#include "core/jail.h"
#include "core/record.h"
#include "core/text.h"
#include "core/web.h"
#include "jobs/import_page.h"

enum {
	STREAMS = 8,			/* open at a time */
	REQUESTS = 50000,		/* pieces of two seconds of a day, and what finds them */
	LINE_MAX = 4 << 20,		/* bytes of a message; some platforms take long bodies */
	MESSAGES = 64 << 20,		/* memory for one message */
	TICK_MS = 1000,			/* between signs of life */
	DEAF_MS = 10000,		/* for which it may leave an answer unread */
	IDLE_SECONDS = 600,		/* two streams of hours become one file meanwhile */
};

struct stream {
	struct web_stream *web;
	struct arena *mem;
	const char *bytes;		/* that have come and it has not read yet */
	size_t n;
	int64_t waited, came;		/* ms for so many bytes */
};

struct said {
	const char *op, *method, *url, *body, *file, *name, *why, *detail;
	struct strings headers;
	int64_t stream, most, percent;
};
static const struct field said_fields[] = {
	FIELD(struct said, op, .on = CREATE, .required = true, .doc = "What it wants"),
	FIELD(struct said, method, .on = CREATE, .doc = "Of a request"),
	FIELD(struct said, url, .on = CREATE, .max = 65535, .doc = "Of a request"),
	FIELD(struct said, headers, .on = CREATE, .max = 100, .item_max = 65535, .doc = "Of a request"),
	FIELD(struct said, body, .on = CREATE, .max = LINE_MAX, .doc = "Of a request, in base64url"),
	FIELD(struct said, stream, .on = CREATE, .doc = "Which answer it goes on to read, or has read"),
	FIELD(struct said, most, .on = CREATE, .doc = "Bytes that it has room for"),
	FIELD(struct said, percent, .on = CREATE, .doc = "Of the film that has come"),
	FIELD(struct said, file, .on = CREATE, .max = 300, .doc = "The film, in its directory"),
	FIELD(struct said, name, .on = CREATE, .max = 4000, .doc = "Of the film"),
	FIELD(struct said, why, .on = CREATE, .max = 100, .doc = "There is none"),
	FIELD(struct said, detail, .on = CREATE, .max = 4000, .doc = "What yt-dlp says of it"),
};
static const struct record said_record = RECORD("PageSaid", struct said, said_fields);

struct answer { int64_t stream, status, n; const char *head, *error; };
static const struct field answer_fields[] = {
	FIELD(struct answer, stream, .doc = "The answer's number"),
	FIELD(struct answer, status, .doc = "Of HTTP"),
	FIELD(struct answer, head, .doc = "Its lines"),
	FIELD(struct answer, n, .doc = "Bytes that follow"),
	FIELD(struct answer, error, .on = OMIT_NULL, .doc = "Why there is no answer"),
};
static const struct record answer_record = RECORD("PageAnswer", struct answer, answer_fields);

struct task { const char *url; int64_t most; };
static const struct field task_fields[] = {
	FIELD(struct task, url, .doc = "Of the page"),
	FIELD(struct task, most, .doc = "Bytes that the film may have"),
};
static const struct record task_record = RECORD("PageTask", struct task, task_fields);

struct talk {
	const struct page_call *call;
	struct arena *mem, *message;	/* message: of one, reset behind it */
	struct buf line;
	int to;				/* its standard input */
	struct stream streams[STREAMS];
	int64_t requests, received, most;	/* most: bytes of all answers together */
	bool confused, forbidden;	/* forbidden: it was led to where nobody may go */
	int percent;			/* of the film */
	const char *broke;		/* why the latest answer did, or NULL */
	const char *file, *name, *why, *detail;	/* of its last word */
};

/* All of it, or it is not read. */
static bool
put(struct talk *t, const char *bytes, size_t n)
{
	struct pollfd p = { .fd = t->to, .events = POLLOUT };
	ssize_t sent;

	while (n > 0) {
		sent = write(t->to, bytes, n);
		if (sent > 0) {
			bytes += sent;
			n -= (size_t)sent;
		} else if (errno != EAGAIN && errno != EINTR) {
			return false;
		} else if (poll(&p, 1, DEAF_MS) == 0) {
			return false;
		}
	}
	return true;
}

static bool
reply(struct talk *t, const struct record *record, const void *row, const void *bytes, size_t n)
{
	struct buf out = BUF(t->message);

	record_store(&out, record, row);
	buf_add(&out, "\n", 1);
	buf_add(&out, bytes, n);
	return put(t, out.text, out.len);
}

static void
drop(struct stream *s)
{
	if (s->web != NULL)
		web_stream_close(s->web);
	if (s->mem != NULL)
		arena_free(s->mem);
	*s = (struct stream){ 0 };
}

static bool
open_stream(struct talk *t, const struct said *said)
{
	struct web_call call = { .url = said->url, .method = said->method, .private_hosts = t->call->private_hosts,
	    .timeout = t->call->silence, .whole_head = true };
	struct answer a = { 0 };
	struct web_answer web;
	struct stream *s = NULL;
	const char **headers;
	unsigned char *body;
	long n;

	for (int i = 0; i < STREAMS && s == NULL; i++)
		if (t->streams[i].mem == NULL) {
			s = &t->streams[i];
			a.stream = i;
		}
	if (s == NULL || said->url == NULL || said->method == NULL || t->requests++ >= REQUESTS)
		return false;
	s->mem = arena_new(MESSAGES);
	call.url = arena_copy(s->mem, said->url);
	call.method = strcmp(said->method, "GET") == 0 ? NULL : arena_copy(s->mem, said->method);
	headers = arena_array(s->mem, said->headers.n + 1, sizeof(*headers));
	for (size_t i = 0; i < said->headers.n; i++)
		headers[i] = arena_copy(s->mem, said->headers.at[i]);
	call.headers = headers;
	if (said->body != NULL) {
		if ((n = base64url_decode(s->mem, said->body, strlen(said->body), &body)) < 0)
			return false;
		call.body = body;
		call.body_size = (size_t)n;
	}
	s->web = web_stream_open(s->mem, &call, &web);
	a.status = web.status;
	a.head = web.head;
	if (s->web == NULL)
		a.error = web_sentence(web.end);
	t->forbidden |= web.end == WEB_FORBIDDEN || web.end == WEB_BAD_URL;
	if (!reply(t, &answer_record, &a, "", 0))
		return false;
	if (s->web == NULL)
		drop(s);
	return true;
}

static void
tell_progress(struct talk *t, int64_t percent)
{
	t->percent = percent >= 0 && percent < 100 ? (int)percent : 99;
	t->call->progress(t->call->user, t->percent);
}

/* Waits for what comes next, with signs of life.  Why nothing does, or too little; NULL: it does, or this was all. */
static const char *
refill(struct talk *t, struct stream *s)
{
	const int64_t begun = clock_ms(), longest = (int64_t)t->call->silence * 1000;
	enum web_end end = WEB_TIMEOUT;
	bool over;

	do {
		tell_progress(t, t->percent);
		s->n = web_stream_read(s->web, TICK_MS, (const void **)&s->bytes);
		over = web_stream_is_over(s->web, &end);
	} while (s->n == 0 && !over && clock_ms() - begun < longest);
	t->received += (int64_t)s->n;
	s->came += (int64_t)s->n;
	s->waited += clock_ms() - begun;
	if (s->n == 0 && over)
		return end == WEB_ANSWERED ? NULL : web_sentence(end);
	if (s->n == 0 || (s->waited >= longest && s->came < s->waited * IMPORT_MIN_RATE / 1000)) {
		s->n = 0;
		return web_sentence(WEB_TIMEOUT);
	}
	if (s->waited >= longest)
		s->waited = s->came = 0;
	return NULL;
}

static bool
read_stream(struct talk *t, const struct said *said)
{
	struct stream *s = said->stream >= 0 && said->stream < STREAMS ? &t->streams[said->stream] : NULL;
	struct answer a = { .stream = said->stream };
	const char *bytes;

	if (s == NULL || s->web == NULL || said->most <= 0)
		return false;
	if (s->n == 0)
		a.error = t->broke = refill(t, s);
	a.n = said->most < (int64_t)s->n ? said->most : (int64_t)s->n;
	bytes = s->bytes;
	s->bytes += a.n;
	s->n -= (size_t)a.n;
	return t->received <= t->most && reply(t, &answer_record, &a, bytes, (size_t)a.n);
}

/* They may be signed, and this is read by others, too. */
static const char *
without_addresses(struct arena *mem, const char *text)
{
	struct buf out = BUF(mem);
	size_t n;

	for (; *text != '\0'; text += n) {
		n = *text == ' ' ? strspn(text, " ") : strcspn(text, " ");
		if (memmem(text, n, "://", 3) != NULL)
			buf_text(&out, "…");
		else
			buf_add(&out, text, n);
	}
	return buf_string(&out);
}

/* False: it says what nobody would who means well. */
static bool
take_line(struct talk *t, const char *line, size_t n)
{
	uint64_t given;
	const struct said *said = record_decode_foreign(t->message, &said_record, line, n, &given);

	if (said == NULL)
		return false;
	if (strcmp(said->op, "open") == 0)
		return open_stream(t, said);
	if (strcmp(said->op, "read") == 0)
		return read_stream(t, said);
	if (strcmp(said->op, "close") == 0 && said->stream >= 0 && said->stream < STREAMS)
		drop(&t->streams[said->stream]);
	else if (strcmp(said->op, "progress") == 0)
		tell_progress(t, said->percent);
	else if (t->file != NULL || t->why != NULL)
		return false;	/* it has said its last word */
	else if (strcmp(said->op, "done") == 0 && said->file != NULL && said->name != NULL) {
		t->file = arena_copy(t->mem, said->file);
		t->name = arena_copy(t->mem, said->name);
	} else if (strcmp(said->op, "failed") == 0 && said->why != NULL) {
		t->why = arena_copy(t->mem, said->why);
		t->detail = said->detail != NULL ? without_addresses(t->mem, utf8_to_line(t->message, said->detail)) :
		    NULL;
	} else
		return false;
	return true;
}

static bool
take_bytes(void *user, const char *bytes, size_t n)
{
	struct talk *t = user;
	const char *end;

	while (!t->confused && (end = memchr(bytes, '\n', n)) != NULL) {
		buf_add(&t->line, bytes, (size_t)(end - bytes));
		t->confused = !take_line(t, buf_string(&t->line), t->line.len);
		arena_reset(t->message);
		t->line.len = 0;
		n -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	if (!t->confused)
		buf_add(&t->line, bytes, n);
	t->confused |= t->line.len > LINE_MAX;
	return !t->confused;
}

/* What it has left, if that is one file and it is called as we have called it. */
static bool
take_film(struct talk *t, struct page_film *film, struct fault *fault)
{
	struct stat st;
	const char *path = arena_printf(t->mem, "%s/%s", t->call->dir, t->file);

	if (strncmp(t->file, "film.", 5) != 0 || strchr(t->file, '/') != NULL)
		return fault_set(t->mem, fault, REASON_OUTPUT_INVALID, "yt-dlp gave an answer that makes no sense.");
	film->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (film->fd < 0)
		return fault_of_errno(t->mem, errno, fault, "yt-dlp has left no film.");
	if (fstat(film->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
		close(film->fd);
		return fault_set(t->mem, fault, REASON_OUTPUT_INVALID, "yt-dlp has left no film.");
	}
	film->size = st.st_size;
	film->name = t->name;
	return true;
}

static bool
told(struct talk *t, const char *why, struct fault *fault)
{
	static const struct { const char *why; enum reason reason; const char *sentence; } all[] = {
		{ "missing", REASON_SOURCE_IS_PAGE, NULL },
		{ "none", REASON_SOURCE_IS_PAGE, NULL },
		{ "several", REASON_SOURCE_IS_PAGE, "The page has several films: import the address of one of them." },
		{ "live", REASON_SOURCE_REFUSED, "The film on the page is a livestream that has not ended." },
		{ "too_large", REASON_FILE_TOO_LARGE, NULL },
		{ "unavailable", REASON_SOURCE_UNAVAILABLE, NULL },
		{ "refused", REASON_SOURCE_REFUSED, NULL },
	};

	if (t->forbidden && (strcmp(why, "unavailable") == 0 || strcmp(why, "refused") == 0))
		return fault_set(t->mem, fault, REASON_ADDRESS_FORBIDDEN, "%s", web_sentence(WEB_FORBIDDEN));
	if (t->broke != NULL && strcmp(why, "unavailable") == 0)
		return fault_set(t->mem, fault, REASON_SOURCE_UNAVAILABLE, "%s", t->broke);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(why, all[i].why) != 0)
			continue;
		if (all[i].sentence == NULL && t->detail != NULL && *t->detail != '\0')
			return fault_set(t->mem, fault, all[i].reason, "yt-dlp says: %s", t->detail);
		fault_set(t->mem, fault, all[i].reason, "%s", all[i].sentence != NULL ? all[i].sentence : "");
		fault->detail = all[i].sentence;
		return false;
	}
	return fault_set(t->mem, fault, REASON_OUTPUT_INVALID, "yt-dlp gave an answer that makes no sense.");
}

bool
page_fetch(struct arena *mem, const struct page_call *call, struct page_film *film, struct fault *fault)
{
	const char *const argv[] = { "python3", "-S", "-E", jail_helper(mem, "kinothek-page"), NULL };
	const char *const read[] = { argv[3], "/etc/ssl/openssl.cnf", NULL };
	const struct task task = { call->url, call->max_size };
	struct talk t = { .call = call, .mem = mem, .line = BUF(mem),
	    .most = call->max_size + call->max_size / 4 + MESSAGES };
	struct jail jail = { .argv = argv, .read = read, .write_dir = call->dir, .file_size = call->max_size,
	    .wall_seconds = call->seconds, .idle_seconds = IDLE_SECONDS, .on_out = take_bytes, .user = &t };
	struct jail_result r = { 0 };
	int ends[2];
	bool fine;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return fault_of_errno(mem, errno, fault, "The search for a film could not begin.");
	t.message = arena_new(MESSAGES);
	t.to = ends[1];
	jail.in = ends[0];
	/* An address is shorter than what a pipe holds. */
	fine = fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 && reply(&t, &task_record, &task, "", 0) &&
	    jail_run(mem, &jail, &r);
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < STREAMS; i++)
		drop(&t.streams[i]);
	arena_free(t.message);
	if (t.why != NULL)
		return told(&t, t.why, fault);
	if (t.received > t.most)
		return fault_set(mem, fault, REASON_FILE_TOO_LARGE, "More came than the film may have bytes.");
	if (t.confused)
		return fault_set(mem, fault, REASON_OUTPUT_INVALID, "yt-dlp gave an answer that makes no sense.");
	if (!fine)
		return r.end == JAIL_MISSING ? told(&t, "missing", fault) : fault_of_jail(mem, &jail, &r, fault);
	if (t.file == NULL)
		return fault_set(mem, fault, REASON_OUTPUT_INVALID, "yt-dlp ended without a word.");
	return take_film(&t, film, fault);
}
