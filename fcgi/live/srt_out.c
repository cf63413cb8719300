/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libsrt as the one that calls. */
#include <stdlib.h>
#include <string.h>

#include <srt/srt.h>

#include "fcgi/live/srt_out.h"

enum { MESSAGE = 1316 };	/* seven packets of a transport stream */

struct srt_out { SRTSOCKET line; };

static bool
set(SRTSOCKET line, SRT_SOCKOPT option, const void *value, size_t n)
{
	return srt_setsockopt(line, 0, option, value, (int)n) == 0;
}

/* What stands in the address. */
static bool
set_up(SRTSOCKET line, const struct livestream_address *a, int ms)
{
	return set(line, SRTO_CONNTIMEO, &ms, sizeof(ms)) &&
	    (a->stream_id == NULL || set(line, SRTO_STREAMID, a->stream_id, strlen(a->stream_id))) &&
	    (a->passphrase == NULL || set(line, SRTO_PASSPHRASE, a->passphrase, strlen(a->passphrase))) &&
	    (a->key_bytes == 0 || set(line, SRTO_PBKEYLEN, &a->key_bytes, sizeof(a->key_bytes))) &&
	    (a->latency == 0 || set(line, SRTO_LATENCY, &a->latency, sizeof(a->latency)));
}

static bool
reach(SRTSOCKET line, const struct web_address *at, int port)
{
	struct sockaddr_storage where;
	const socklen_t size = web_address_socket(at, port, &where);

	return srt_connect(line, (struct sockaddr *)&where, (int)size) == 0;
}

/* Nobody there says nothing: only who refuses is known to be there. */
struct srt_out *
srt_out_open(const struct livestream_address *a, const struct web_address *at, int ms, const char **reason)
{
	struct srt_out *o = calloc(1, sizeof(*o));

	if (o == NULL)
		abort();
	srt_startup();
	o->line = srt_create_socket();
	if (o->line != SRT_INVALID_SOCK && set_up(o->line, a, ms) && reach(o->line, at, a->to.port))
		return o;
	*reason = srt_getlasterror(NULL) == SRT_ECONNREJ ? "refused" : srt_getlasterror(NULL) == SRT_ENOSERVER ?
	    "timeout" : "unreachable";
	srt_out_close(o);
	return NULL;
}

void
srt_out_close(struct srt_out *o)
{
	if (o == NULL)
		return;
	if (o->line != SRT_INVALID_SOCK)
		srt_close(o->line);
	srt_cleanup();
	free(o);
}

int
srt_out_send(struct srt_out *o, const uint8_t *bytes, size_t n, int ms)
{
	const int part = n < MESSAGE ? (int)n : MESSAGE;
	int done;

	if (!set(o->line, SRTO_SNDTIMEO, &ms, sizeof(ms)))
		return -1;
	done = srt_sendmsg(o->line, (const char *)bytes, part, -1, 1);
	if (done == part)
		return part;
	return srt_getlasterror(NULL) == SRT_ETIMEOUT ? 0 : -1;
}

bool
srt_out_is_over(const struct srt_out *o)
{
	return srt_getsockstate(o->line) != SRTS_CONNECTED;
}
