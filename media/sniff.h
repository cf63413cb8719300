/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a file is, by its content alone: its name and the header a client sent are never looked at.
 *
 *	struct sniff s = sniff_file(path);
 *	if (s.reason != REASON_NONE)
 *		…refuse, reason_info(s.reason) says why
 *
 * Nothing is decoded or inflated and no library is asked, so any program may call it.  Containers that may hold picture
 * or sound (MP4, Matroska, Ogg, ASF, MPEG-TS) give a provisional type; the probe of `ingest` decides (see `either`).
 */
#ifndef MEDIA_SNIFF_H
#define MEDIA_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fault.h"

struct sniff {
	enum reason reason;		/* REASON_NONE; or why it is refused, and then the rest is NULL */
	const char *type;		/* "video", "audio", "image" or "document": media.type, uploads.media_type */
	const char *mime_type;
	/* The reader to force: an ffmpeg demuxer ("mov"), an ImageMagick coder ("JPEG"), or a kind of document ("pdf",
	 * "docx", "xlsx", "pptx", "odt", "ods", "odp", "doc", "xls", "ppt", "rtf", "txt"). */
	const char *format;
	bool either;			/* the container may be sound alone or hold pictures: ask the probe */
};

/* Reads at most some hundred KiB at places the format names.  A file that cannot be opened or read is
 * REASON_INTERNAL with errno. */
struct sniff sniff_file(const char *path);
struct sniff sniff_fd(int fd);
/* Of a file that still comes, of which there are n bytes: refused when nothing that may follow could change that. */
struct sniff sniff_begun(int fd, int64_t n);

/* The same as a fault, straight after: errno says why a file could not be read. */
void sniff_fault(struct arena *, const struct sniff *, struct fault *);

/* The same for a whole file in memory. */
struct sniff sniff_bytes(const void *bytes, size_t n);

/* The type for clients once the probe has told whether an `either` container holds pictures that move. */
const char *sniff_mime_type(const struct sniff *, bool has_video);

#endif
