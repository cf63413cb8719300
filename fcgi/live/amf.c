/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AMF0 values, read within bounds and written. */
#include "fcgi/live/amf.h"
#include "media/bytes.h"

enum {
	NUMBER = 0, BOOLEAN = 1, STRING = 2, OBJECT = 3, NOTHING = 5, UNDEFINED = 6, NAMED_ARRAY = 8, END = 9,
	ARRAY = 10, DATE = 11, LONG_STRING = 12,
};

static bool
bad(struct amf *a)
{
	a->bad = true;
	a->at = a->end;
	return false;
}

static size_t
left(const struct amf *a)
{
	return (size_t)(a->end - a->at);
}

static bool
over(struct amf *a, size_t n)
{
	if (n > left(a))
		return bad(a);
	a->at += n;
	return true;
}

/* An unsigned number of n bytes. */
static bool
take(struct amf *a, unsigned n, uint64_t *x)
{
	if (left(a) < n)
		return bad(a);
	*x = bytes_big(a->at, n);
	a->at += n;
	return true;
}

static bool
comes(const struct amf *a, int type)
{
	return !a->bad && left(a) > 0 && a->at[0] == type;
}

bool
amf_number(struct amf *a, double *out)
{
	uint64_t x;

	if (!comes(a, NUMBER))
		return false;
	a->at++;
	if (!take(a, 8, &x))
		return false;
	memcpy(out, &x, sizeof(x));
	return true;
}

static bool
text(struct amf *a, char *out, size_t room)
{
	uint64_t n;

	if (!take(a, 2, &n))
		return false;
	if (n >= room || n > left(a) || memchr(a->at, '\0', n) != NULL)
		return bad(a);
	memcpy(out, a->at, n);
	out[n] = '\0';
	a->at += n;
	return true;
}

bool
amf_string(struct amf *a, char *out, size_t room)
{
	if (!comes(a, STRING))
		return false;
	a->at++;
	return text(a, out, room);
}

bool
amf_enter(struct amf *a)
{
	bool counted = comes(a, NAMED_ARRAY);

	if (!counted && !comes(a, OBJECT))
		return false;
	if (a->depth == AMF_DEPTH)
		return bad(a);
	a->depth++;
	a->at++;
	/* How many there are is said in front of them, and often wrong. */
	return !counted || over(a, 4);
}

bool
amf_key(struct amf *a, char out[AMF_TEXT])
{
	if (a->bad || !text(a, out, AMF_TEXT))
		return false;
	if (out[0] == '\0' && comes(a, END)) {
		a->at++;
		a->depth--;
		return false;
	}
	if (++a->keys > AMF_KEYS)
		return bad(a);
	return left(a) > 0 || bad(a);
}

static bool
skip_array(struct amf *a)
{
	uint64_t n;

	a->at++;
	if (!take(a, 4, &n) || a->depth == AMF_DEPTH)
		return bad(a);
	a->depth++;
	for (; n > 0; n--)
		if (++a->keys > AMF_KEYS || !amf_skip(a))
			return bad(a);
	a->depth--;
	return true;
}

/* Depth is bounded by amf_enter() and skip_array(). */
static bool
skip_object(struct amf *a)
{
	char key[AMF_TEXT];
	int depth = a->depth;

	if (!amf_enter(a))
		return false;
	while (amf_key(a, key))
		if (!amf_skip(a))
			return false;
	return !a->bad && a->depth == depth;
}

bool
amf_skip(struct amf *a)
{
	char out[AMF_TEXT];
	uint64_t n;

	if (a->bad || left(a) == 0)
		return bad(a);
	switch (a->at[0]) {
	case NUMBER:
		return over(a, 9);
	case BOOLEAN:
		return over(a, 2);
	case STRING:
		return amf_string(a, out, sizeof(out));
	case OBJECT:
	case NAMED_ARRAY:
		return skip_object(a);
	case NOTHING:
	case UNDEFINED:
		return over(a, 1);
	case ARRAY:
		return skip_array(a);
	case DATE:
		return over(a, 11);
	case LONG_STRING:
		a->at++;
		return take(a, 4, &n) && n < AMF_TEXT ? over(a, n) : bad(a);
	default:
		return bad(a);
	}
}

void
amf_put_number(struct buf *b, double x)
{
	uint64_t bits;
	int i;

	memcpy(&bits, &x, sizeof(bits));
	buf_char(b, NUMBER);
	for (i = 56; i >= 0; i -= 8)
		buf_char(b, (char)(bits >> i));
}

/* Ours are short. */
static void
put_text(struct buf *b, const char *text)
{
	size_t n = strlen(text);

	buf_char(b, (char)(n >> 8));
	buf_char(b, (char)n);
	buf_add(b, text, n);
}

void
amf_put_string(struct buf *b, const char *text)
{
	buf_char(b, STRING);
	put_text(b, text);
}

void
amf_put_null(struct buf *b)
{
	buf_char(b, NOTHING);
}

void
amf_put_begin(struct buf *b)
{
	buf_char(b, OBJECT);
}

void
amf_put_key(struct buf *b, const char *key)
{
	put_text(b, key);
}

void
amf_put_end(struct buf *b)
{
	put_text(b, "");
	buf_char(b, END);
}
