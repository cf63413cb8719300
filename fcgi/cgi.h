/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between a connection of core/server.h and a request of fcgi/req.h: for the programs that answer by api_run(). */
#ifndef FCGI_CGI_H
#define FCGI_CGI_H

#include "core/server.h"
#include "fcgi/req.h"

/* The request as its head tells it, without the body: one that has just come, and whose client nobody watches. */
struct req *cgi_head(const struct fcgi *, const struct conf *, struct db *, struct arena *);
/* The same of a visit. */
struct req *cgi_visit(const struct visit *, const struct conf *, struct db *, struct arena *);
/* The body, and what is wrong with it. */
void cgi_body(struct req *, struct visit *);
/* Bytes of the body that were declared, or -1. */
int64_t cgi_length(const struct fcgi *, struct arena *);

/* The head of the answer; whole: its length is known. */
struct buf cgi_answer_head(const struct req *, bool whole);
/* All of it. */
void cgi_answer(struct visit *, struct req *);

#endif
