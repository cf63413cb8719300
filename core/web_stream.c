/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that are read as they come.  What comes while nobody reads stays with the server: the transfer pauses. */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/web_transfer.h"

enum { ROOM = 1 << 18, HEAD_SECONDS = 30, NAP_MS = 500 };

struct web_stream {
	CURLM *multi;
	CURL *c;			/* NULL: none yet */
	struct web_call call;
	struct web_target target;
	struct web_transfer transfer;
	int64_t deadline;		/* ms of clock_ms(), for the head of the last answer */
	int64_t received;
	bool has_head, paused, over, too_large;
	enum web_end end;
	size_t n;
	char bytes[ROOM];
};

static size_t
on_bytes(char *bytes, size_t size, size_t n, void *user)
{
	struct web_stream *s = user;

	n *= size;
	if (n > sizeof(s->bytes) - s->n) {
		s->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	s->received += (int64_t)n;
	s->too_large = s->call.max_size > 0 && s->received > (int64_t)s->call.max_size;
	if (s->too_large)
		return 0;
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
	return n;
}

static const char *
head_of(struct arena *mem, CURL *c)
{
	struct curl_header *h = NULL;
	struct buf lines = BUF(mem);

	while ((h = curl_easy_nextheader(c, CURLH_HEADER, -1, h)) != NULL)
		buf_printf(&lines, "%s: %s\r\n", h->name, h->value);
	return buf_string(&lines);
}

/* The empty line behind a head; what says "100 Continue" is none. */
static size_t
on_head(char *line, size_t size, size_t n, void *user)
{
	struct web_stream *s = user;
	long status = 0;

	if (size * n > 0 && (line[0] == '\r' || line[0] == '\n')) {
		curl_easy_getinfo(s->c, CURLINFO_RESPONSE_CODE, &status);
		s->has_head = status >= 200;
	}
	return size * n;
}

static void
drop(struct web_stream *s)
{
	if (s->c == NULL)
		return;
	curl_multi_remove_handle(s->multi, s->c);
	web_transfer_free(s->c, &s->transfer);
	s->c = NULL;
}

static void
move(struct web_stream *s)
{
	CURLMsg *message;
	int n;

	if (curl_multi_perform(s->multi, &n) != CURLM_OK)
		abort();
	while ((message = curl_multi_info_read(s->multi, &n)) != NULL)
		if (message->msg == CURLMSG_DONE) {
			s->over = true;
			s->end = s->too_large ? WEB_TOO_LARGE : web_transfer_end(message->data.result, &s->transfer);
		}
}

/* Until the head of an answer is there.  What came with it of a body that redirects is dropped by the next one. */
static void
open_hop(void *user, struct arena *mem, struct web_call *call, struct web_target *target, struct web_answer *a,
    const char **location)
{
	struct web_stream *s = user;
	int64_t left;

	drop(s);
	s->call = *call;
	s->target = *target;
	s->transfer = (struct web_transfer){ .call = &s->call, .target = &s->target };
	s->has_head = s->paused = s->over = s->too_large = false;
	s->received = 0;
	s->n = 0;
	if ((s->c = curl_easy_init()) == NULL)
		abort();
	web_transfer_prepare(s->c, mem, &s->transfer);
	curl_easy_setopt(s->c, CURLOPT_TIMEOUT, 0L);
	curl_easy_setopt(s->c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)call->max_size);
	curl_easy_setopt(s->c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(s->c, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(s->c, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(s->c, CURLOPT_HEADERDATA, s);
	if (curl_multi_add_handle(s->multi, s->c) != CURLM_OK)
		abort();
	for (move(s); !s->has_head && !s->over; move(s)) {
		left = s->deadline - clock_ms();
		if (left <= 0) {
			a->end = WEB_TIMEOUT;
			return;
		}
		curl_multi_poll(s->multi, NULL, 0, left < NAP_MS ? (int)left : NAP_MS, NULL);
	}
	a->end = s->over ? s->end : WEB_ANSWERED;
	if (s->has_head && a->end != WEB_TOO_LARGE)
		a->end = WEB_ANSWERED;	/* that the body broke is for who reads it */
	if (a->end != WEB_ANSWERED)
		return;
	web_transfer_read(mem, s->c, a, location);
	if (call->whole_head)
		a->head = head_of(mem, s->c);
}

struct web_stream *
web_stream_open(struct arena *mem, const struct web_call *call, struct web_answer *a)
{
	struct web_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if ((s->multi = curl_multi_init()) == NULL)
		abort();
	s->deadline = clock_ms() + (int64_t)(call->timeout > 0 ? call->timeout : HEAD_SECONDS) * 1000;
	web_follow(mem, call, a, open_hop, s);
	if (a->end == WEB_ANSWERED)
		return s;
	web_stream_close(s);
	return NULL;
}

size_t
web_stream_read(struct web_stream *s, int ms, const void **bytes)
{
	const int64_t until = clock_ms() + ms;
	int64_t left;
	size_t n;

	for (;;) {
		if (s->n == 0 && s->paused) {
			s->paused = false;
			curl_easy_pause(s->c, CURLPAUSE_CONT);
		}
		if (s->n == 0 && !s->over)
			move(s);
		left = until - clock_ms();
		if (s->n > 0 || s->over || left <= 0)
			break;
		curl_multi_poll(s->multi, NULL, 0, left < NAP_MS ? (int)left : NAP_MS, NULL);
	}
	*bytes = s->bytes;
	n = s->n;
	s->n = 0;
	return n;
}

bool
web_stream_is_over(const struct web_stream *s, enum web_end *end)
{
	*end = s->end;
	return s->over && s->n == 0;
}

void
web_stream_close(struct web_stream *s)
{
	drop(s);
	curl_multi_cleanup(s->multi);
	free(s);
}
