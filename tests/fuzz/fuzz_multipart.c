/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * multipart/form-data: a content type, a line feed, a body.  The file under test is included.  A file that was found
 * lies in the body, between an empty line and the delimiter; and any bytes in a well-formed body come out as they are.
 */
#include <stdlib.h>

#include "fcgi/picture.c"
#include "tests/fuzz/fuzz.h"

static void
found(const struct req *r, const struct file *f)
{
	const char *end = r->body + r->body_size;

	if (f->bytes < r->body + 4 || f->n > (size_t)(end - f->bytes) || (size_t)(end - f->bytes) - f->n < 4 ||
	    memcmp(f->bytes - 4, "\r\n\r\n", 4) != 0 || memcmp(f->bytes + f->n, "\r\n--", 4) != 0)
		abort();
}

static void
wrapped(struct arena *mem, const void *data, size_t n)
{
	struct req r = { .mem = mem, .content_type = "multipart/form-data; boundary=\"b0\"" };
	struct buf b = BUF(mem);
	struct file f;

	if (memmem(data, n, "\r\n--b0", 6) != NULL || (n >= 4 && memcmp(data, "--b0", 4) == 0))
		return;
	buf_text(&b, "--b0\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n"
	    "--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n");
	buf_add(&b, data, n);
	buf_text(&b, "\r\n--b0--\r\n");
	r.body = buf_string(&b);
	r.body_size = b.len;
	if (!only_file(&r, &f) || f.n != n || memcmp(f.bytes, data, n) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	const char *line = n > 0 ? memchr(data, '\n', n) : NULL;
	struct req r = { 0 };
	struct file f;

	if (mem == NULL)
		mem = arena_new((size_t)64 << 20);
	if (line != NULL) {
		r.mem = mem;
		r.content_type = arena_copy_n(mem, data, (size_t)(line - (const char *)data));
		r.body = line + 1;
		r.body_size = n - (size_t)(line + 1 - (const char *)data);
		if (only_file(&r, &f))
			found(&r, &f);
	}
	wrapped(mem, data, n);
	arena_reset(mem);
	return 0;
}
