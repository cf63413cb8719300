/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AMF0, the notation in which RTMP says its commands (Action Message Format, 2006).  Values are read one after the
 * other from bytes that a stranger sent: at most AMF_DEPTH objects in one another, AMF_KEYS members in all, texts of
 * AMF_TEXT bytes.  What goes beyond, is cut off or of a kind not known makes all further calls say false.
 */
#ifndef FCGI_LIVE_AMF_H
#define FCGI_LIVE_AMF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

enum { AMF_DEPTH = 8, AMF_KEYS = 128, AMF_TEXT = 1024 };

struct amf {
	const uint8_t *at, *end;
	int keys, depth;	/* met, entered */
	bool bad;
};

#define AMF(bytes, n) ((struct amf){ (bytes), (bytes) + (n), 0, 0, false })

/* The next value, if it is of that kind; else it stays where it is.  Texts end in NUL and hold none; one that does not
 * fit is bad. */
bool amf_number(struct amf *, double *);
bool amf_string(struct amf *, char *out, size_t room);

/* Over the next value, whatever it is. */
bool amf_skip(struct amf *);

/* Into the next value, an object or an array with names; then one name after the other, each followed by its value.
 * amf_key() is false behind the last one, where reading goes on behind the object. */
bool amf_enter(struct amf *);
bool amf_key(struct amf *, char out[AMF_TEXT]);

void amf_put_number(struct buf *, double);
void amf_put_string(struct buf *, const char *);
void amf_put_null(struct buf *);
void amf_put_begin(struct buf *);
void amf_put_key(struct buf *, const char *);
void amf_put_end(struct buf *);

#endif
