/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SHA-256 of a file in parts, worked out while they come, so that nothing is left of it when the file is complete.
 *
 * Beside the parts lies uploads/{uploadId}/{attempt}.ahead: of each part of the unbroken row from number 1 on,
 * its file and the state of the hash behind it.  It is a help and no more: what it says counts as far as its
 * files are those that the file is made of, and the rest is read again.  So a part that is sent again, which
 * has another file, a process that was killed, and a machine that lost what was not synced cost time and
 * nothing else.
 */
#ifndef FCGI_UPLOAD_S3_AHEAD_H
#define FCGI_UPLOAD_S3_AHEAD_H

#include "fcgi/upload/hash.h"
#include "fcgi/upload/s3_visit.h"

/* Goes on with what has come, for a while, unless another one is at it.  `number`: of the part that has just come. */
void s3_ahead_go_on(struct s3 *, int64_t attempt, int64_t number);

/* How many of these parts, from the first on, are in *state; 0: none, and it is that of nothing. */
size_t s3_ahead_find(struct arena *, struct uuid upload_id, int64_t attempt, const struct s3_part *const *, size_t n,
    SHA256_CTX *state);

#endif
