/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request to one checked target, and the way from one to the next.  For web*.c alone. */
#ifndef CORE_WEB_TRANSFER_H
#define CORE_WEB_TRANSFER_H

#include <curl/curl.h>

#include "core/buf.h"
#include "core/web_target.h"

struct web_transfer {
	struct web_call *call;
	struct web_target *target;
	struct buf body;
	size_t max;
	bool too_large;
	size_t sent;				/* of call->file */
	curl_off_t told;			/* bytes of which call->alive knows */
	int file_error;
	struct curl_slist *resolve, *headers;
	curl_mime *mime;
};

/* All that call and target say goes to the handle. */
void web_transfer_prepare(CURL *, struct arena *, struct web_transfer *);
/* What the library's end means. */
enum web_end web_transfer_end(CURLcode, const struct web_transfer *);
/* The head of an answer.  *location: where it redirects to; unchanged: nowhere. */
void web_transfer_read(struct arena *, CURL *, struct web_answer *, const char **location);
/* The handle is gone then. */
void web_transfer_free(CURL *, struct web_transfer *);

/* Asks one target, up to the end or to the head of the answer. */
typedef void web_hop(void *user, struct arena *, struct web_call *, struct web_target *, struct web_answer *,
    const char **location);
/* Judges each target, asks it by `hop`, and goes on where its answer redirects to, as often as the call wants it.  True
 * when the last one has answered with 2xx. */
bool web_follow(struct arena *, const struct web_call *, struct web_answer *, web_hop *, void *user);

#endif
