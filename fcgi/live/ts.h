/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What encoders send where it is not RTMP: an MPEG transport stream (ISO/IEC 13818-1) of H.264 or HEVC, and AAC in
 * ADTS, of one program and its first track of each kind.  It is made into the tags of FLV that fcgi/live/flv.h reads,
 * so that all behind it is the same.  Packets may be missing: what they were a part of is left out.
 */
#ifndef FCGI_LIVE_TS_H
#define FCGI_LIVE_TS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts;

/* A tag, as in rtmp_calls.  ms wraps at 2^32.  False: no more of them. */
typedef bool ts_media(void *user, int type, uint32_t ms, const uint8_t *bytes, size_t n);

/* Memory of its own. */
struct ts *ts_new(ts_media *, void *user);
void ts_free(struct ts *);

/* The tracks of the program at that place, from 0, in the table of programs.  Otherwise the first. */
void ts_choose(struct ts *, size_t program);

/* Bytes as they came, cut anywhere.  NULL, or what is wrong, as a sentence that their sender may read. */
const char *ts_take(struct ts *, const uint8_t *bytes, size_t n);

/* The checksum that a section ends with (annex A); of one with it, 0. */
uint32_t ts_checksum(const uint8_t *section, size_t n);

#endif
