/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Outgoing HTTP, and the only file that knows libcurl.  A stranger may have chosen the address, so: http and https
 * only, no user names, every address of the host must be global (or allowed by the administrator), the connection goes
 * to an address that was checked, each redirect is checked anew, no proxy from the environment, limits on time and
 * size.
 */
#ifndef CORE_WEB_H
#define CORE_WEB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"

/* One part of a multipart/form-data body. */
struct web_part {
	const char *name;
	const char *text;			/* a plain field; NULL: bytes */
	const void *bytes;
	size_t n;
	const char *file_name, *type;		/* of bytes */
};

struct web_call {
	const char *url;
	const char *method;			/* NULL: POST with parts or body, else GET */
	const char *const *headers;		/* "Name: value", ends in NULL; not sent on to another host */
	const void *body;
	size_t body_size;
	const struct web_part *parts;		/* instead of body; ends in one without name */
	/* Blank- or comma-separated: host, host:port, address, address/prefix.  These may be private and on any
	 * port. */
	const char *private_hosts;
	int timeout;				/* s for everything; 0: 30 */
	size_t max_size;			/* bytes of the answer; 0: 1 MiB */
	int redirects;				/* how many are followed; only for calls without body */
	void (*alive)(void *user);		/* called about once a second meanwhile */
	void *user;
	bool any_certificate;			/* also one that is not valid: the caller looks at it */
};

enum web_end {
	WEB_ANSWERED,		/* .status holds what the server said, whatever it is */
	WEB_BAD_URL,		/* not http or https, user name, control characters, … */
	WEB_FORBIDDEN,		/* a target that is not global, or a port of another service */
	WEB_UNRESOLVED, WEB_UNREACHABLE, WEB_TIMEOUT, WEB_TLS, WEB_TOO_LARGE, WEB_TOO_MANY_REDIRECTS, WEB_BROKEN,
};

struct web_answer {
	enum web_end end;
	int status;
	const char *type;			/* Content-Type, or "" */
	const char *body;			/* ends in NUL */
	size_t size;
	int retry_after;			/* s; 0 = not said */
	const char *certificate;		/* of the server, PEM, for any_certificate; NULL: none */
};

/* Blocks.  True when the server answered with 2xx. */
bool web_call(struct arena *, const struct web_call *, struct web_answer *);

/* One sentence for users: without address, host or path. */
const char *web_sentence(enum web_end);

#endif
