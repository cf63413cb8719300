/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request to kinothek-upload and its answer. */
#ifndef FCGI_UPLOAD_CALL_H
#define FCGI_UPLOAD_CALL_H

#include "fcgi/upload/put.h"

/* Answers what comes on the connection, logs it, and closes it.  `id` names the request. */
void call_serve(const struct intake *, int fd, struct uuid id);

#endif
