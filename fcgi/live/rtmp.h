/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Either side of one RTMP connection: handshake, chunks, messages and the commands of a publisher (Adobe's Real Time
 * Messaging Protocol, 2012, as FFmpeg, GStreamer and OBS speak it).  It knows no socket: bytes go in by rtmp_take(),
 * what is to be sent waits in rtmp_out().  What a connection may hold is bounded, before a publisher is granted more
 * tightly than afterwards.
 */
#ifndef FCGI_LIVE_RTMP_H
#define FCGI_LIVE_RTMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RTMP_AUDIO = 8, RTMP_VIDEO = 9, RTMP_DATA = 18 };
enum { RTMP_KEY = 128 };		/* characters of a stream key at most */

struct rtmp;

struct rtmp_calls {
	/* Somebody wants to publish; the key is cut at "?".  rtmp_grant() or rtmp_refuse() answer, now or later. */
	void (*publish)(void *user, const char *app, const char *key);
	/* A whole message of a granted publisher.  ms wraps at 2^32.  The bytes are there during the call.  False: no
	 * more of them. */
	bool (*media)(void *user, int type, uint32_t ms, const uint8_t *bytes, size_t n);
	/* It has said that it ends. */
	void (*unpublish)(void *user);
};

/* Memory of its own; freed by rtmp_free(). */
struct rtmp *rtmp_new(const struct rtmp_calls *, void *user);
void rtmp_free(struct rtmp *);

/* The side that publishes, from the handshake on: to that application, whose whole address is url, with that key.  At
 * RTMP_PUBLISHES the other side has granted it; RTMP_OVER before that: it has refused. */
struct rtmp *rtmp_push(const char *app, const char *url, const char *key);
/* A message of audio, video or data. */
void rtmp_put(struct rtmp *, int type, uint32_t ms, const uint8_t *bytes, size_t n);
/* Says that nothing more comes. */
void rtmp_end(struct rtmp *);

/* Bytes as they came.  NULL, or what is wrong with them, after which nothing more is taken. */
const char *rtmp_take(struct rtmp *, const uint8_t *bytes, size_t n);

/* The answer to publish().  The description of a refusal is all that its sender may get to read. */
void rtmp_grant(struct rtmp *);
void rtmp_refuse(struct rtmp *, const char *description);

/* Tells a granted publisher that it is over. */
void rtmp_bye(struct rtmp *, const char *description);

/* What is to be sent, and that so much of it was. */
size_t rtmp_out(const struct rtmp *, const uint8_t **bytes);
void rtmp_sent(struct rtmp *, size_t n);

/* How far it has come. */
enum rtmp_stage { RTMP_SHAKES, RTMP_CONNECTS, RTMP_ASKS, RTMP_PUBLISHES, RTMP_OVER };
enum rtmp_stage rtmp_stage(const struct rtmp *);

#endif
