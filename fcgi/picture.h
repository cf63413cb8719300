/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures that clients send for an asset or a section of it: routes with RAW_BODY, PICTURE_TYPES and PICTURE_MAX. */
#ifndef FCGI_PICTURE_H
#define FCGI_PICTURE_H

#include "fcgi/req.h"
#include "media/image.h"

enum { PICTURE_MAX = 10 << 20 };		/* bytes of the body */
#define PICTURE_TYPES "image/jpeg image/png multipart/form-data"

/* For aside(): a struct image_clean of the body, or of the one file in it, decoded and drawn anew: what cameras and
 * people write beside the pixels, places among it, is not shown.  NULL: refused. */
void *picture_clean(struct req *);

/* Writes it under the name of the request, for the asset that the path begins with, before a row names it: one that
 * fails leaves no half file, and one that runs again no second.  The file as rows name it; NULL: refused. */
const char *picture_write(struct req *, const struct image_clean *);

/* Behind usage_add(): does the quota hold `more` bytes?  False: refused, and the file is gone. */
bool picture_fits(struct req *, const char *name, int64_t more);

#endif
