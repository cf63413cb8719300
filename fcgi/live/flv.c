/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FLV and Enhanced RTMP: the few bytes in front of each frame. */
#include <string.h>

#include "fcgi/live/amf.h"
#include "fcgi/live/flv.h"
#include "media/bytes.h"

/* Codecs and kinds of frames of FLV; packets of Enhanced RTMP. */
enum { AVC = 7, AAC = 10, ENHANCED_AUDIO = 9 };
enum { KEY_FRAME = 1, COMMAND_FRAME = 5 };
enum { START = 0, FRAMES = 1, FRAMES_UNSHIFTED = 3, MULTITRACK_AUDIO = 5, MULTITRACK_VIDEO = 6 };

struct reading { const uint8_t *at; size_t n; };

static bool
take(struct reading *in, unsigned n, uint32_t *x)
{
	if (in->n < n)
		return false;
	*x = (uint32_t)bytes_big(in->at, n);
	in->at += n;
	in->n -= n;
	return true;
}

static int32_t
signed_24(uint32_t x)
{
	return (x & 0x800000) != 0 ? (int32_t)x - 0x1000000 : (int32_t)x;
}

static enum flv_codec
codec_of(uint32_t letters)
{
	static const struct { char name[5]; enum flv_codec codec; } known[] = {
		{ "avc1", FLV_AVC }, { "hvc1", FLV_HEVC }, { "av01", FLV_AV1 }, { "mp4a", FLV_AAC },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (bytes_big((const unsigned char *)known[i].name, 4) == letters)
			return known[i].codec;
	return FLV_OTHER_CODEC;
}

/* Behind the first byte; type is its low half.  One message may hold several tracks: those are left alone. */
static bool
enhanced(struct reading *in, uint32_t type, uint32_t multitrack, struct flv *f)
{
	uint32_t x = 0, letters, track = 0;
	bool several = type == multitrack;

	if (several && !take(in, 1, &x))
		return false;
	if (several)
		type = x & 15;
	if (x >> 4 != 0)
		return true;
	if (!take(in, 4, &letters) || (several && !take(in, 1, &track)))
		return false;
	f->codec = codec_of(letters);
	if (track != 0 || (type != START && type != FRAMES && type != FRAMES_UNSHIFTED))
		return true;
	if (type == FRAMES && (f->codec == FLV_AVC || f->codec == FLV_HEVC)) {
		if (!take(in, 3, &x))
			return false;
		f->shift = signed_24(x);
	}
	f->kind = type == START ? FLV_SETUP : FLV_FRAME;
	return true;
}

static bool
finish(const struct reading *in, struct flv *f)
{
	f->data = in->at;
	f->n = in->n;
	if (f->n == 0)
		f->kind = FLV_NOTHING;
	return true;
}

bool
flv_video(const uint8_t *bytes, size_t n, struct flv *f)
{
	struct reading in = { bytes, n };
	uint32_t first, type, shift, frame;

	*f = (struct flv){ .kind = FLV_NOTHING };
	if (!take(&in, 1, &first))
		return true;
	frame = first >> 4 & 7;
	f->key = frame == KEY_FRAME;
	if (frame == COMMAND_FRAME)
		return true;
	if (first >> 7 != 0) {
		if (!enhanced(&in, first & 15, MULTITRACK_VIDEO, f))
			return false;
		return finish(&in, f);
	}
	if ((first & 15) != AVC) {
		f->kind = FLV_FRAME;
		return finish(&in, f);
	}
	f->codec = FLV_AVC;
	if (!take(&in, 1, &type) || !take(&in, 3, &shift))
		return false;
	f->shift = type == 1 ? signed_24(shift) : 0;
	f->kind = type == 0 ? FLV_SETUP : type == 1 ? FLV_FRAME : FLV_NOTHING;
	return finish(&in, f);
}

bool
flv_audio(const uint8_t *bytes, size_t n, struct flv *f)
{
	struct reading in = { bytes, n };
	uint32_t first, type;

	*f = (struct flv){ .kind = FLV_NOTHING, .key = true };
	if (!take(&in, 1, &first))
		return true;
	if (first >> 4 == ENHANCED_AUDIO)
		return enhanced(&in, first & 15, MULTITRACK_AUDIO, f) && finish(&in, f);
	if (first >> 4 != AAC) {
		f->kind = FLV_FRAME;
		return finish(&in, f);
	}
	f->codec = FLV_AAC;
	if (!take(&in, 1, &type))
		return false;
	f->kind = type == 0 ? FLV_SETUP : type == 1 ? FLV_FRAME : FLV_NOTHING;
	return finish(&in, f);
}

bool
flv_metadata(const uint8_t *bytes, size_t n, struct flv_metadata *m)
{
	struct amf a = AMF(bytes, n);
	char name[AMF_TEXT];

	*m = (struct flv_metadata){ false, false };
	if (!amf_string(&a, name, sizeof(name)))
		return false;
	if (strcmp(name, "@setDataFrame") == 0 && !amf_string(&a, name, sizeof(name)))
		return false;
	if (strcmp(name, "onMetaData") != 0 || !amf_enter(&a))
		return false;
	while (amf_key(&a, name)) {
		m->audio = m->audio || strcmp(name, "audiocodecid") == 0;
		m->video = m->video || strcmp(name, "videocodecid") == 0;
		amf_skip(&a);
	}
	return !a.bad;
}
