/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection by SRT (libsrt) on which a livestream is sent on: of one thread, which waits on it for moments. */
#ifndef FCGI_LIVE_SRT_OUT_H
#define FCGI_LIVE_SRT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/livestream_target.h"

struct srt_out;

/* Connects, which takes so long at most.  NULL: *reason is one of LIVESTREAM_TARGET_REASONS. */
struct srt_out *srt_out_open(const struct livestream_address *, const struct web_address *, int ms, const char
    **reason);
void srt_out_close(struct srt_out *);

/* How many bytes were taken: whole packets.  0: none, within `ms`; -1: it is over. */
int srt_out_send(struct srt_out *, const uint8_t *bytes, size_t n, int ms);
bool srt_out_is_over(const struct srt_out *);

#endif
