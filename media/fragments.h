/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the segments lie in a fragmented MP4 (CMAF), and how long each lasts: the truth behind playlists.
 * ISO/IEC 14496-12.  One track per file; a fragment is a moof with its mdat.
 */
#ifndef MEDIA_FRAGMENTS_H
#define MEDIA_FRAGMENTS_H

#include <stdint.h>

#include "core/arena.h"

struct fragment { int64_t offset, size, duration; };	/* bytes; units of the time scale */

struct fragments {
	const struct fragment *at;
	size_t n;
	int64_t timescale;
	int64_t init_size;		/* bytes before the first fragment: ftyp and moov */
	int64_t skip;			/* what the edit list cuts off the first fragment: priming of the encoder */
	int64_t duration;		/* of all, without skip */
	int64_t file_size;
	const char *codecs;		/* RFC 6381: "avc1.64001f" or "mp4a.40.2" */
};

/* NULL when the file is not such an MP4. */
const struct fragments *fragments_read(struct arena *, const char *path);

#endif
