/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The body of an answer that refuses: the envelope of all programs, or RFC 9457 for a client that asks for it. */
#ifndef CORE_FAILURE_H
#define CORE_FAILURE_H

#include "core/buf.h"
#include "core/errors.h"
#include "core/record.h"

/* Appends {code, errors, requestId} and the message in the shape that `accept` (NULL: none) asks for.  Returns the type
 * of that. */
const char *failure_render(struct buf *, enum error, const char *message, const struct faults *,
    const char *request_id, const char *accept);

#endif
