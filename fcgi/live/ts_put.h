/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The other way round than fcgi/live/ts.h: makes an MPEG transport stream of tags of FLV, of H.264 and AAC, in one
 * program.  Its tables are said again in front of each key frame, and a few times a second.
 */
#ifndef FCGI_LIVE_TS_PUT_H
#define FCGI_LIVE_TS_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_put;

/* Memory of its own. */
struct ts_put *ts_put_new(void);
void ts_put_free(struct ts_put *);

/* A message of audio or video with its time, ms.  False: it holds another codec. */
bool ts_put_tag(struct ts_put *, int kind, uint32_t ms, const uint8_t *bytes, size_t n);

/* Whole packets that wait, and that so many bytes of them are gone. */
size_t ts_put_out(const struct ts_put *, const uint8_t **bytes);
void ts_put_sent(struct ts_put *, size_t n);

#endif
