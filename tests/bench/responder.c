/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As fcgi/main.c does it: the same limits, the same room in the socket. */
#include <stdlib.h>
#include <sys/socket.h>

#include "core/buf.h"
#include "core/listen.h"
#include "core/server.h"
#include "tests/bench/responder.h"

struct responder { struct arena *mem; void (*fill)(const char *uri, struct answer *); };

static bool
admit(struct visit *v, void *user)
{
	(void)v;
	(void)user;
	return true;
}

static bool
respond(struct visit *v, void *user)
{
	struct responder *me = user;
	const char *uri = fcgi_param(&v->in, me->mem, "REQUEST_URI");
	struct answer answer = { .type = "text/plain" };
	struct buf head = BUF(me->mem);
	int room = 32768;

	me->fill(uri != NULL ? uri : "", &answer);
	buf_printf(&head, "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n", answer.type, answer.n);
	if (answer.n > 61440 && answer.n < 131072)	/* lighttpd would write it to a file else */
		setsockopt(v->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	server_send(v, me->mem, (struct iovec[]){ { head.text, head.len }, { (void *)(uintptr_t)answer.body,
	    answer.n } }, 2);
	arena_reset(me->mem);
	return true;
}

void
responder_run(char **argv, const char *socket, int workers, void (*begin)(void),
    void (*answer)(const char *uri, struct answer *))
{
	static struct listen l;
	struct responder me = { .fill = answer };
	struct server s = {
		.waiting_max = 256, .bytes_max = 32u << 20, .head_ms = 10000, .anonymous_ms = 2000, .known_ms = 10000,
		.rate = 16384,
		.silence_ms = 10000, .drain_ms = 2000, .drain_bytes = 1u << 20, .stop_ms = 5000,
		.admit = admit, .answer = respond, .user = &me,
	};

	l = (struct listen){ .path = socket, .mode = 0666, .workers = workers, .grace = 5 };
	listen_start(&l, argv);
	me.mem = arena_new(16u << 20);
	begin();
	server_run(&s);
}
