/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Media of an asset whose files lie in a bucket, for who has a signed address (core/play.h): what web servers hand on
 * when they find no such file on their disk.  It is here, and not in kinothek-api, because a bucket may take its time.
 *
 * A file is given by the bucket itself: the answer is a redirect to an address of it that is signed for this file, by
 * GET or by HEAD, and works as long as the signed address does, for play.lifetime from now at most.  Texts (playlists,
 * captions, what pages read by script) are answered here: they are small, and a page may not read those of another
 * origin.  So a playlist is as it was written, and what it names are relative signed addresses, each asked for here and
 * redirected.  The other way, addresses of the bucket in the playlist, would save that request of some milliseconds per
 * segment, but make each line of it 500 bytes long, and let who has it go on for hours when the asset is deleted; with
 * this one, hls.js, Safari and FFmpeg follow the redirect with their Range, and it ends with the next segment.
 *
 * Who may: whoever the signature is good for, while the asset is not deleted, or the download is there; one that is
 * neither gets the same 404 as a file that is not.  The bucket is asked whether it has the file, where one is asked for
 * from its beginning: who asks for more of it has had that.  A bucket that is away is a 503, never a 404.
 *
 * So many ask the bucket at a time, and whoever comes then waits, for as long as the bucket itself may take: one that
 * is silent gets no thousand connections, and long texts do not take the memory of the process.
 */
#ifndef FCGI_UPLOAD_DELIVERY_H
#define FCGI_UPLOAD_DELIVERY_H

#include "core/errors.h"
#include "fcgi/upload/put.h"

struct delivery {
	/* What was asked. */
	const struct intake *in;
	struct arena *mem;
	const char *method, *uri;	/* GET or HEAD; as it was sent */
	const char *range;		/* the header Range; NULL: none */

	/* The answer. */
	const char *location;		/* it is a redirect there; NULL: a text */
	const char *text, *type;
	size_t size;
	const char *cache_control;
	const char *etag, *disposition;	/* of a text; the bucket says the latter of a file */
};

#define DELIVERY_PATH "/play/"

enum { DELIVERY_ASKING = 64 };

enum error delivery_run(struct delivery *);

#endif
