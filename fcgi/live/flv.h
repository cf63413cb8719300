/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies in an audio, video or data message: the tags of FLV (Adobe, 2010) and of Enhanced RTMP (Veovera, 2024),
 * which names codecs by four letters.  Of several tracks the first is taken.
 */
#ifndef FCGI_LIVE_FLV_H
#define FCGI_LIVE_FLV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flv_codec { FLV_OTHER_CODEC, FLV_AVC, FLV_HEVC, FLV_AV1, FLV_AAC };
enum flv_kind {
	FLV_SETUP,	/* what a decoder is set up with: avcC, hvcC, av1C, AudioSpecificConfig */
	FLV_FRAME,
	FLV_NOTHING,	/* an end, a command, a further track: to be passed over */
};

struct flv {
	enum flv_kind kind;
	enum flv_codec codec;
	bool key;		/* a frame that can be decoded by itself */
	int32_t shift;		/* ms from decoding to showing */
	const uint8_t *data;	/* in the message */
	size_t n;
};

/* False: cut off. */
bool flv_video(const uint8_t *, size_t n, struct flv *);
bool flv_audio(const uint8_t *, size_t n, struct flv *);

/* What the metadata announces.  False: a message of another kind. */
struct flv_metadata { bool audio, video; };
bool flv_metadata(const uint8_t *, size_t n, struct flv_metadata *);

#endif
