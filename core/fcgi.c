/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of FastCGI 1.0, read and written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fcgi.h"

/* Record types and other numbers of section 8. */
enum {
	BEGIN_REQUEST = 1, ABORT_REQUEST, END_REQUEST, PARAMS, STDIN, STDOUT, GET_VALUES = 9, GET_VALUES_RESULT,
	    UNKNOWN_TYPE
};
enum { REQUEST_COMPLETE, CANT_MPX_CONN, UNKNOWN_ROLE = 3 };

enum {
	HEADER = 8,
	SMALL = 1024,		/* content of the longest record that is looked at as a whole */
	READ = 16384,		/* bytes to make room for */
	KEEP = 65536,		/* memory of a connection that the next one takes over */
	RECORD = 65528,		/* content of the longest record that we write */
};

static unsigned
two(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static unsigned char *
put_header(unsigned char *p, unsigned type, unsigned id, size_t content)
{
	const unsigned char header[HEADER] = { 1, (unsigned char)type, (unsigned char)(id >> 8), (unsigned char)id,
	    (unsigned char)(content >> 8), (unsigned char)content };

	memcpy(p, header, sizeof(header));
	return p + sizeof(header);
}

static unsigned char *
put_end(unsigned char *p, unsigned id, unsigned status)
{
	p = put_header(p, END_REQUEST, id, 8);
	memset(p, 0, 8);
	p[4] = (unsigned char)status;
	return p + 8;
}

void
fcgi_begin(struct fcgi *f)
{
	if (f->room > KEEP)
		fcgi_free(f);
	*f = (struct fcgi){ .body_max = SIZE_MAX, .bytes = f->bytes, .room = f->room };
}

void
fcgi_free(struct fcgi *f)
{
	free(f->bytes);
	f->bytes = NULL;
	f->room = f->params_n = f->body_n = f->at = f->end = 0;
}

size_t
fcgi_size(const struct fcgi *f)
{
	return f->room;
}

/* One byte is left over for the NUL behind a body. */
void *
fcgi_room(struct fcgi *f, size_t *n)
{
	if (f->room < f->end + READ / 2 + 1) {
		f->room = f->room * 2 > f->end + READ ? f->room * 2 : f->end + READ;
		f->bytes = realloc(f->bytes, f->room);
		if (f->bytes == NULL) {
			fputs("level=error what=fcgi text=\"out of memory\"\n", stderr);
			abort();
		}
	}
	*n = f->room - f->end - 1;
	return f->bytes + f->end;
}

/* The length of a name or a value: one byte, or four (3.4).  False when it is cut off. */
static bool
take_length(const unsigned char **p, const unsigned char *end, size_t *n)
{
	if (*p == end)
		return false;
	if (**p < 0x80) {
		*n = *(*p)++;
		return true;
	}
	if (end - *p < 4)
		return false;
	*n = (size_t)(two(*p) & 0x7fff) << 16 | two(*p + 2);
	*p += 4;
	return true;
}

struct pair { const unsigned char *name, *value; size_t name_n, value_n; };

static bool
take_pair(const unsigned char **p, const unsigned char *end, struct pair *pair)
{
	if (!take_length(p, end, &pair->name_n) || !take_length(p, end, &pair->value_n))
		return false;
	if (pair->name_n > (size_t)(end - *p) || pair->value_n > (size_t)(end - *p) - pair->name_n)
		return false;
	pair->name = *p;
	pair->value = *p + pair->name_n;
	*p += pair->name_n + pair->value_n;
	return true;
}

static bool
params_sound(const struct fcgi *f)
{
	const unsigned char *p = f->bytes, *end = p + f->params_n;
	struct pair pair;

	while (p < end)
		if (!take_pair(&p, end, &pair))
			return false;
	return true;
}

const char *
fcgi_param(const struct fcgi *f, struct arena *mem, const char *name)
{
	const unsigned char *p = f->bytes, *end = p + f->params_n;
	size_t n = strlen(name);
	struct pair pair;

	while (p < end && take_pair(&p, end, &pair)) {
		if (pair.name_n != n || memcmp(pair.name, name, n) != 0)
			continue;
		if (memchr(pair.value, '\0', pair.value_n) != NULL)
			return NULL;
		return arena_copy_n(mem, pair.value, pair.value_n);
	}
	return NULL;
}

const char *
fcgi_body(struct fcgi *f)
{
	if (f->bytes == NULL)
		return "";
	if (f->state == FCGI_WHOLE || f->state == FCGI_TOO_LARGE)
		f->bytes[f->params_n + f->body_n] = '\0';
	return (char *)f->bytes + f->params_n;
}

void
fcgi_drop_body(struct fcgi *f)
{
	if (f->body_n == 0)
		return;
	memmove(f->bytes + f->params_n, f->bytes + f->at, f->end - f->at);
	f->end -= f->at - f->params_n;
	f->at = f->params_n;
	f->body_n = 0;
}

/* Room for one more reply, or NULL: who asks so much and does not listen is no web server. */
static unsigned char *
reply_room(struct fcgi *f, size_t n)
{
	unsigned char *p = f->reply + f->reply_n;

	if (sizeof(f->reply) - f->reply_n < n)
		return NULL;
	f->reply_n += n;
	return p;
}

static bool
reply_end(struct fcgi *f, unsigned id, unsigned status)
{
	unsigned char *p = reply_room(f, 2 * HEADER);

	if (p != NULL)
		put_end(p, id, status);
	return p != NULL;
}

/* "One connection, one request, no multiplexing", whichever of them was asked for (4.1). */
static bool
reply_values(struct fcgi *f, const unsigned char *p, size_t n)
{
	static const struct { const char *name; char value; } known[] = { { "FCGI_MAX_CONNS", '1' },
	    { "FCGI_MAX_REQS", '1' }, { "FCGI_MPXS_CONNS", '0' } };
	const unsigned char *end = p + n;
	unsigned char text[64], *to = text;
	struct pair pair;
	size_t i;

	while (p < end) {
		if (!take_pair(&p, end, &pair))
			return false;
		for (i = 0; i < 3; i++) {
			size_t length = strlen(known[i].name);

			if (length != pair.name_n || memcmp(known[i].name, pair.name, length) != 0 ||
			    to + length + 3 > text + sizeof(text))
				continue;
			*to++ = (unsigned char)length;
			*to++ = 1;
			to = (unsigned char *)memcpy(to, known[i].name, length) + length;
			*to++ = (unsigned char)known[i].value;
		}
	}
	n = (size_t)(to - text);
	to = reply_room(f, HEADER + n);
	if (to != NULL)
		memcpy(put_header(to, GET_VALUES_RESULT, 0, n), text, n);
	return to != NULL;
}

static bool
reply_unknown(struct fcgi *f, unsigned type)
{
	unsigned char *p = reply_room(f, 2 * HEADER);

	if (p == NULL)
		return false;
	p = put_header(p, UNKNOWN_TYPE, 0, 8);
	memset(p, 0, 8);
	p[0] = (unsigned char)type;
	return true;
}

/* False: a role that we do not play, or a second request. */
static bool
take_begin(struct fcgi *f, unsigned id, const unsigned char *content, size_t n)
{
	if (n != 8 || f->id == id)
		return false;
	if (f->id != 0)
		return reply_end(f, id, CANT_MPX_CONN);
	if (two(content) != FCGI_RESPONDER && two(content) != FCGI_AUTHORIZER) {
		reply_end(f, id, UNKNOWN_ROLE);
		return false;
	}
	f->id = id;
	f->role = two(content) == FCGI_RESPONDER ? FCGI_RESPONDER : FCGI_AUTHORIZER;
	return true;
}

/* A record that is there as a whole.  False ends the connection. */
static bool
take_small(struct fcgi *f, unsigned type, unsigned id, const unsigned char *content, size_t n)
{
	if (id == 0)
		return type == GET_VALUES ? reply_values(f, content, n) : reply_unknown(f, type);
	if (type == BEGIN_REQUEST)
		return take_begin(f, id, content, n);
	if (type == ABORT_REQUEST && id == f->id)
		reply_end(f, id, REQUEST_COMPLETE);
	return false;
}

/* A record of a stream begins; an empty one is its end (3.3). */
static void
take_stream(struct fcgi *f, unsigned type, size_t n)
{
	bool in_head = f->state == FCGI_NEEDS_MORE;

	f->type = type;
	if (type != (in_head ? PARAMS : STDIN))
		f->state = FCGI_BROKEN;
	else if (n > 0)
		return;
	else if (!in_head)
		f->state = FCGI_WHOLE;
	else if (!params_sound(f))
		f->state = FCGI_BROKEN;
	else
		f->state = f->role == FCGI_AUTHORIZER ? FCGI_WHOLE : FCGI_HEAD_COMPLETE;
}

/* Takes what has come of the content of the record in hand. */
static void
keep(struct fcgi *f)
{
	size_t n = f->end - f->at < f->left ? f->end - f->at : f->left;
	size_t *kept = f->type == PARAMS ? &f->params_n : &f->body_n;

	if (f->type == PARAMS && n > FCGI_PARAMS_MAX - f->params_n)
		f->state = FCGI_HEAD_TOO_LARGE;
	else if (f->type == STDIN && f->body_n + n > f->body_max)
		f->state = FCGI_TOO_LARGE;
	else if (f->type != 0) {
		memmove(f->bytes + f->params_n + f->body_n, f->bytes + f->at, n);
		*kept += n;
	}
	f->at += n;
	f->left -= n;
}

/* The next record.  False when too little of it is there, or the connection has to end. */
static bool
take_record(struct fcgi *f)
{
	const unsigned char *p = f->bytes + f->at;
	unsigned type, id;
	size_t n;

	if (f->end - f->at < HEADER)
		return false;
	type = p[1];
	id = two(p + 2);
	n = two(p + 4);
	if (p[0] != 1) {
		f->state = FCGI_BROKEN;
	} else if (id != 0 && (type == PARAMS || type == STDIN || (id != f->id && type != BEGIN_REQUEST))) {
		f->left = n;
		f->padding = p[6];
		f->type = 0;
		f->at += HEADER;
		if (id == f->id)
			take_stream(f, type, n);
	} else if (n > SMALL) {
		f->state = FCGI_BROKEN;
	} else if (f->end - f->at < HEADER + n + p[6]) {
		return false;
	} else {
		f->at += HEADER + n + p[6];
		if (!take_small(f, type, id, p + HEADER, n))
			f->state = FCGI_BROKEN;
	}
	return true;
}

static void
skip_padding(struct fcgi *f)
{
	size_t n = f->end - f->at < f->padding ? f->end - f->at : f->padding;

	f->at += n;
	f->padding -= n;
}

enum fcgi_state
fcgi_feed(struct fcgi *f, size_t n)
{
	size_t kept;

	f->end += n;
	while (f->state <= FCGI_HEAD_COMPLETE) {
		if (f->left > 0)
			keep(f);
		if (f->left == 0 && f->padding > 0)
			skip_padding(f);
		if (f->left > 0 || f->padding > 0)
			break;
		if (f->state <= FCGI_HEAD_COMPLETE && !take_record(f))
			break;
	}
	kept = f->params_n + f->body_n;
	memmove(f->bytes + kept, f->bytes + f->at, f->end - f->at);
	f->end -= f->at - kept;
	f->at = kept;
	return f->state;
}

/* Adds `n` bytes of the parts from `at` on.  Returns how many vectors that took. */
static size_t
add_parts(struct iovec *v, const struct iovec *parts, size_t at, size_t n)
{
	size_t count = 0;

	for (; at >= parts->iov_len; parts++)
		at -= parts->iov_len;
	for (; n > 0; parts++, at = 0) {
		size_t take = parts->iov_len - at < n ? parts->iov_len - at : n;

		if (take == 0)
			continue;
		v[count++] = (struct iovec){ (char *)parts->iov_base + at, take };
		n -= take;
	}
	return count;
}

struct iovec *
fcgi_answer(struct arena *mem, const struct fcgi *f, const struct iovec *parts, size_t n, size_t *vectors)
{
	size_t total = 0, at, records, count = 0, i;
	unsigned char *p;
	struct iovec *v;

	for (i = 0; i < n; i++)
		total += parts[i].iov_len;
	records = total / RECORD + 1;
	p = arena_raw(mem, (records + 3) * HEADER);
	v = arena_raw(mem, (2 * records + n + 1) * sizeof(*v));
	for (at = 0; at < total; at += RECORD) {
		size_t content = total - at < RECORD ? total - at : RECORD;

		v[count++] = (struct iovec){ p, HEADER };
		p = put_header(p, STDOUT, f->id, content);
		count += add_parts(v + count, parts, at, content);
	}
	v[count] = (struct iovec){ p, 3 * HEADER };
	p = put_header(p, STDOUT, f->id, 0);
	put_end(p, f->id, REQUEST_COMPLETE);
	*vectors = count + 1;
	return v;
}

void
fcgi_piece(unsigned char head[FCGI_HEADER], unsigned id, size_t n)
{
	put_header(head, STDOUT, id, n);
}

void
fcgi_last(unsigned char tail[3 * FCGI_HEADER], unsigned id)
{
	put_end(put_header(tail, STDOUT, id, 0), id, REQUEST_COMPLETE);
}
