/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One FastCGI connection as its application sees it: bytes go in as they come, a request comes out.
 * FastCGI Specification, Document Version 1.0 (29 April 1996); numbers below are its sections.
 *
 *	char *to = fcgi_room(&f, &n);		read() or recv() up to n bytes there
 *	state = fcgi_feed(&f, got);
 *	send what is in f.reply, if f.reply_n	answers to questions about the application itself
 *
 *	FCGI_NEEDS_MORE		the head is not there yet
 *	FCGI_HEAD_COMPLETE	role and parameters are there, of the body f.body_n bytes
 *	FCGI_WHOLE		the body has ended as well (an authorizer has none, 6.3)
 *	FCGI_TOO_LARGE		the body is longer than f.body_max: no more of it is kept
 *	FCGI_HEAD_TOO_LARGE	there are more parameters than FCGI_PARAMS_MAX bytes: what came first is kept
 *	FCGI_BROKEN		end the connection: aborted, a role that we do not play, or not FastCGI
 *
 * It knows no socket and no clock: the caller decides how long to wait and how much to take.  Records may be cut
 * anywhere (3.3).  One request at a time: a second one that begins meanwhile is refused with FCGI_CANT_MPX_CONN (5.5)
 * and its records are skipped.  FCGI_GET_VALUES and unknown management records are answered (4.1, 4.2).  Parameters
 * take FCGI_PARAMS_MAX bytes at most.  Memory is the reader's own and grows with what is kept: fcgi_free() ends it.  A
 * body may be any length for a caller that takes it in pieces and drops each before it feeds the next.
 */
#ifndef CORE_FCGI_H
#define CORE_FCGI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/arena.h"

enum { FCGI_PARAMS_MAX = 65536 };

enum fcgi_state { FCGI_NEEDS_MORE, FCGI_HEAD_COMPLETE, FCGI_WHOLE, FCGI_TOO_LARGE, FCGI_HEAD_TOO_LARGE, FCGI_BROKEN };
enum fcgi_role { FCGI_NO_ROLE, FCGI_RESPONDER, FCGI_AUTHORIZER };	/* 6.2, 6.3 */

struct fcgi {
	enum fcgi_state state;
	enum fcgi_role role;
	unsigned id;			/* of the request */
	size_t body_max, body_n;	/* body_max may be changed between two calls */
	unsigned char reply[128];
	size_t reply_n;			/* set to 0 when sent */

	/* Its own.  bytes: parameters, then the body, then from `at` to `end` what was not looked at yet. */
	unsigned char *bytes;
	size_t room, params_n, at, end;
	size_t left, padding;		/* of the record in hand, */
	unsigned type;			/* whose content goes there; 0: nowhere */
};

/* A reader for the next connection.  Starts from a zeroed struct, or one that has served: its memory is used again. */
void fcgi_begin(struct fcgi *);
void fcgi_free(struct fcgi *);

/* Where the next bytes go, *n of them at most; never 0. */
void *fcgi_room(struct fcgi *, size_t *n);
/* `n` bytes were put there.  Nothing behind the end of the request is looked at. */
enum fcgi_state fcgi_feed(struct fcgi *, size_t n);

/* From FCGI_HEAD_COMPLETE on: the value of a parameter, copied; the first of several.  NULL: not there, or a NUL is in
 * it. */
const char *fcgi_param(const struct fcgi *, struct arena *, const char *name);
/* The body so far, f->body_n bytes.  When the request is whole or too large a NUL follows, and no more may be fed. */
const char *fcgi_body(struct fcgi *);

/* Forgets the body so far, for who takes it as it comes: f->body_n is 0 and counts what comes next. */
void fcgi_drop_body(struct fcgi *);

/* Bytes that its memory takes. */
size_t fcgi_size(const struct fcgi *);

/*
 * A whole answer as records: the parts one after the other as FCGI_STDOUT, its end and FCGI_END_REQUEST (5.3, 5.5).
 * The vectors point into the parts.
 */
struct iovec *fcgi_answer(struct arena *, const struct fcgi *, const struct iovec *parts, size_t n, size_t *vectors);

/* An answer that comes in pieces: what stands before one of n bytes, at most FCGI_PIECE_MAX; and behind the last. */
enum { FCGI_HEADER = 8, FCGI_PIECE_MAX = 65528 };
void fcgi_piece(unsigned char head[FCGI_HEADER], unsigned id, size_t n);
void fcgi_last(unsigned char tail[3 * FCGI_HEADER], unsigned id);

#endif
