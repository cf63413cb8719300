/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Outgoing HTTP and mail, and the only files that know libcurl.  For HTTP, a stranger may have chosen the address, so:
 * http and https only, no user names, every address of the host must be global (or allowed by the administrator), the
 * connection goes to an address that was checked, each redirect is checked anew, no proxy from the environment, limits
 * on time and size.
 */
#ifndef CORE_WEB_H
#define CORE_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

#define WEB_AGENT "Kinothek"			/* who we say we are */

/* One part of a multipart/form-data body. */
struct web_part {
	const char *name;
	const char *text;			/* a plain field; NULL: bytes */
	const void *bytes;
	size_t n;
	const char *file_name, *type;		/* of bytes */
};

/* Bytes of an open file from there on, which are read as they are sent. */
struct web_file { int fd; int64_t from; };

struct web_call {
	const char *url;
	const char *method;			/* NULL: POST with parts or body, else GET */
	const char *const *headers;		/* "Name: value", ends in NULL; not sent on to another host */
	int64_t from;				/* not the whole, but from this byte on; 0: the whole */
	const char *if_range;			/* and that only if it is this still: an ETag, or Last-Modified */
	const void *body;
	size_t body_size;
	const struct web_part *parts;		/* instead of body; ends in one without name */
	const struct web_file *file;		/* instead of body, body_size bytes of it, by PUT */
	/* Blank- or comma-separated: host, host:port, address, address/prefix.  These may be private and on any
	 * port. */
	const char *private_hosts;
	int timeout;				/* s for everything; 0: 30 */
	int silence;				/* instead of it: s in which no byte comes or goes; 0: any */
	size_t max_size;			/* bytes of the answer; 0: 1 MiB */
	int redirects;				/* how many are followed; only for calls without body */
	void (*alive)(void *user);		/* called about once a second meanwhile */
	size_t stride;				/* of bytes that come or go, each time; 0: by time */
	void *user;
	bool any_certificate;			/* also one that is not valid: the caller looks at it */
	bool secure;				/* http to private_hosts alone; with any other it is WEB_BAD_URL */
	bool cut;				/* what is longer than max_size is no fault, and not read */
	bool whole_head;			/* of web_stream_open(): the answer has .head */
	bool kept;				/* of web_call(): its connection waits for the next one */
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
	const char *etag;			/* as it was sent; NULL: none */
	int64_t length;				/* that the server has told, of HEAD too; -1: none */
	const char *modified;			/* Last-Modified, as it was sent; NULL: none */
	const char *range, *disposition;	/* Content-Range, Content-Disposition; NULL: none */
	const char *allow_origin;		/* Access-Control-Allow-Origin; NULL: none */
	const char *head;			/* all lines of it, "Name: value\r\n" each; NULL: not asked for */
	const char *body;			/* ends in NUL */
	size_t size;
	int retry_after;			/* s; 0 = not said */
	int file_error;				/* errno of call->file, which could not be read; 0: it could */
	const char *certificate;		/* of the server, PEM, for any_certificate; NULL: none */
};

/* Blocks.  True when the server answered with 2xx. */
bool web_call(struct arena *, const struct web_call *, struct web_answer *);

/*
 * An answer that is read as it comes, for what is too large to be kept: by the same rules, and redirects are followed.
 * call->timeout is for its head alone, how long a body may be silent is the reader's affair; max_size, if there is any,
 * is for the whole of it.  What is not read is not fetched: some hundred kilobytes of it wait here at most.
 */
struct web_stream;
/* Blocks until the head is there; then a->end is WEB_ANSWERED, whatever the status.  NULL: there is none. */
struct web_stream *web_stream_open(struct arena *, const struct web_call *, struct web_answer *);
/* Waits for `ms` at most.  Bytes, which are good until the next call; 0: none have come yet, or this was the last. */
size_t web_stream_read(struct web_stream *, int ms, const void **bytes);
/* Is it over?  *end: WEB_ANSWERED when all that the server has announced is here. */
bool web_stream_is_over(const struct web_stream *, enum web_end *end);
void web_stream_close(struct web_stream *);

/*
 * Many calls at once in one process, with the same rules; redirects are not followed.  Names are asked for in threads
 * of their own, so that a name service which does not answer holds up one call alone, and connections are kept for the
 * next call to the same host.
 */
struct web_many;
struct web_many *web_many_open(void);
/* Begins one.  All that the call names, and the arena, stay until its end was told. */
void web_many_add(struct web_many *, struct arena *, const struct web_call *, void *whose);
/* Whose call has ended, and how; waits for `ms` at most.  NULL: none has. */
void *web_many_next(struct web_many *, int ms, struct web_answer *);
/* Breaks off what goes on.  Waits for name services that were asked. */
void web_many_close(struct web_many *);

/*
 * A letter to one recipient.  The administrator has named the server, so it may have any address and port.  smtp://
 * goes over to TLS before anything is said, unless all addresses of the host are those of this machine's loopback.
 */
struct web_letter {
	const char *url;			/* smtp:// or smtps:// */
	bool plain;				/* smtp:// without TLS wherever it leads */
	const char *user, *password;		/* NULL: none */
	const char *from, *to;			/* mail_is_address(); to NULL: only see whether the server lets us in */
	const char *text;			/* mail_text() */
	void (*alive)(void *job);		/* called about once a second meanwhile */
	void *job;
};

/* Blocks, for 45 s at most.  True when the server has taken it.  Else .end is WEB_ANSWERED when the server has said no,
 * and .status its code (4xx: not now; 530 to 538: not to us; other 5xx: never); or it was not to be spoken to. */
bool web_mail(struct arena *, const struct web_letter *, struct web_answer *);

/* Is the URL one of https, or of http to a host of the list? */
bool web_is_secure(struct arena *, const char *url, const char *private_hosts);
/* Scheme, host and port, the same for all spellings of them.  URLs that do not fit are their own. */
const char *web_origin(struct arena *, const char *url);

/* One sentence for users: without address, host or path. */
const char *web_sentence(enum web_end);

#endif
