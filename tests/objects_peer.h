/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An object store of another process that checks every signature and sum, keeps objects as S3 does, and fails when the
 * key says so: "/busy", "/denied", "/full", "/moved-307", "/breaks", "/no-ranges", "/lost-answer"; "/stays" it
 * deletes as its tally says.  "/slow" it takes and gives at 2.5 MB/s, of "/silent" it takes the beginning and then
 * nothing more.
 */
#ifndef TESTS_OBJECTS_PEER_H
#define TESTS_OBJECTS_PEER_H

#include <stdbool.h>

#define OBJECTS_PEER_BUCKET "film"
#define OBJECTS_PEER_KEY "kinothek"
#define OBJECTS_PEER_SECRET "not/a+secret"

struct arena;

/* Deletes what it is asked to; answers 403, and for a list what of it was denied; says that it did, and does not. */
enum objects_peer_deletes { PEER_DELETES, PEER_REFUSES, PEER_LIES };

/* In memory that both share: what the test asks about afterwards, and what it wants. */
struct objects_tally {
	int requests, refused, ranges, uploads;
	_Atomic enum objects_peer_deletes deletes;
};

/* Its endpoint.  One at a time; objects_peer_end() does nothing when there is none. */
const char *objects_peer_start(struct arena *);
void objects_peer_end(void);
struct objects_tally *objects_peer_tally(void);

#endif
