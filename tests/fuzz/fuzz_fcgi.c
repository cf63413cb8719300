/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of a connection: the same request comes out whether they come at once or one after the other. */
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
	fcgi_answer(mem, &whole, &part, 1, &vectors);
	fcgi_free(&whole);
	fcgi_free(&pieces);
	arena_reset(mem);
	return 0;
}
