/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of a connection: the same request comes out whether they come at once or one after the other, and whether its
 * body is kept or taken in pieces. */
#include <stdlib.h>
#include <string.h>

#include "core/fcgi.h"
#include "tests/fuzz/fuzz.h"

static enum fcgi_state
feed(struct fcgi *f, const uint8_t *data, size_t n, size_t step)
{
	size_t room;

	f->body_max = 4096;
	while (n > 0 && f->state <= FCGI_HEAD_COMPLETE) {
		void *to = fcgi_room(f, &room);

		room = room < n ? room : n;
		room = room < step ? room : step;
		memcpy(to, data, room);
		fcgi_feed(f, room);
		data += room;
		n -= room;
	}
	return f->state;
}

/* Takes the body as it comes; its bytes are in *body then. */
static enum fcgi_state
stream(struct fcgi *f, const uint8_t *data, size_t n, size_t step, uint8_t *body, size_t *body_n)
{
	size_t room;

	while (n > 0 && f->state <= FCGI_HEAD_COMPLETE) {
		void *to = fcgi_room(f, &room);

		room = room < n ? room : n;
		room = room < step ? room : step;
		memcpy(to, data, room);
		fcgi_feed(f, room);
		memcpy(body + *body_n, fcgi_body(f), f->body_n);
		*body_n += f->body_n;
		fcgi_drop_body(f);
		data += room;
		n -= room;
	}
	return f->state;
}

static void
same_stream(const struct fcgi *kept, const char *kept_body, const uint8_t *data, size_t n)
{
	struct fcgi passing = { .id = 0 };
	uint8_t *body = malloc(n + 1);
	size_t body_n = 0;

	fcgi_begin(&passing);
	if (stream(&passing, data, n, n > 1 ? data[1] % 11 + 1 : 1, body, &body_n) != kept->state &&
	    kept->state != FCGI_TOO_LARGE)
		abort();
	if (kept->state == FCGI_WHOLE && (body_n != kept->body_n || memcmp(body, kept_body, body_n) != 0))
		abort();
	fcgi_free(&passing);
	free(body);
}

static void
same_param(struct arena *mem, const struct fcgi *a, const struct fcgi *b, const char *name)
{
	const char *x = fcgi_param(a, mem, name), *y = fcgi_param(b, mem, name);

	if ((x == NULL) != (y == NULL) || (x != NULL && strcmp(x, y) != 0))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct fcgi whole = { .id = 0 }, pieces = { .id = 0 };
	struct iovec part = { (void *)(uintptr_t)data, n };
	size_t vectors;

	if (mem == NULL)
		mem = arena_new((size_t)256 << 20);
	fcgi_begin(&whole);
	fcgi_begin(&pieces);
	if (feed(&whole, data, n, n) != feed(&pieces, data, n, n > 0 ? data[0] % 7 + 1 : 1))
		abort();
	if (whole.role != pieces.role || whole.id != pieces.id || whole.reply_n != pieces.reply_n)
		abort();
	if (whole.state >= FCGI_HEAD_COMPLETE && whole.state != FCGI_BROKEN) {
		same_param(mem, &whole, &pieces, "REQUEST_URI");
		same_param(mem, &whole, &pieces, "A");
	}
	if (whole.state == FCGI_WHOLE && (whole.body_n > 4096 || strlen(fcgi_body(&whole)) > whole.body_n ||
	    whole.body_n != pieces.body_n || memcmp(fcgi_body(&whole), fcgi_body(&pieces), whole.body_n) != 0))
		abort();
	same_stream(&whole, fcgi_body(&whole), data, n);
	fcgi_answer(mem, &whole, &part, 1, &vectors);
	fcgi_free(&whole);
	fcgi_free(&pieces);
	arena_reset(mem);
	return 0;
}
