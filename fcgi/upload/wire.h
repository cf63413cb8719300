/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One FastCGI connection of a thread that waits for it: a head, a body piece by piece, an answer. */
#ifndef FCGI_UPLOAD_WIRE_H
#define FCGI_UPLOAD_WIRE_H

#include "core/fcgi.h"
#include "fcgi/upload/room.h"

struct wire {
	int fd;
	struct fcgi in;
	bool handed;		/* the bytes in its hands were given out */
};

/* The head has come: in.state tells what it is.  False: it has not, and never will.  wire_close() follows either. */
bool wire_open(struct wire *, int fd);

/* Bytes of the body that have come, good until the next call: waits for the first.  0: that was all.  -1: the
 * connection ended in the middle, was silent for a minute, or the seat is to be given up. */
int wire_read(struct wire *, const struct seat *, const void **bytes);

/* The answer.  What the web server still sends is read for a moment: one that finds its connection gone while it sends
 * may never look at the answer. */
void wire_answer(struct wire *, struct arena *, const struct iovec *parts, size_t n);
/* The same in pieces; false: the connection is broken, or its reader has taken nothing for a minute.  One that is not
 * ended by wire_end() was cut off, as the web server will tell. */
bool wire_send(struct wire *, const void *bytes, size_t n);
void wire_end(struct wire *);
void wire_close(struct wire *);

#endif
