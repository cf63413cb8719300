/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which web pages of other origins may read an answer (https://fetch.spec.whatwg.org/#http-cors-protocol).  A preflight
 * is answered for every origin that the setting or any tenant names, since nobody has said yet whose it is; so are
 * refusals of requests that nobody is known by.  Everything else is for origins of its own tenant, and of the setting.
 * Pages for people have none of it.
 */
#ifndef FCGI_CORS_H
#define FCGI_CORS_H

#include "fcgi/req.h"

/* Adds the header lines to an answer that is whole otherwise, outside of its transaction. */
void cors_answer(struct req *);

#endif
