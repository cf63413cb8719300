/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures that clients send for an asset or a section of it: routes with RAW_BODY, PICTURE_TYPES and PICTURE_MAX. */
#ifndef FCGI_PICTURE_H
#define FCGI_PICTURE_H

#include "fcgi/req.h"
#include "media/image.h"

enum { PICTURE_MAX = 10 << 20 };		/* bytes of the body */
#define PICTURE_TYPES "image/jpeg image/png multipart/form-data"

struct picture {
	struct image_clean clean;
	const char *name;		/* the file as rows name it; NULL: there is none */
};

/* For aside(): a struct picture of the body, or of the one file in it, decoded and drawn anew: what cameras and people
 * write beside the pixels, places among it, is not shown.  It lies in the store, under the name of the request, for
 * the asset that the path begins with, before a row names it, and goes again when the request is refused.  NULL:
 * refused. */
void *picture_take(struct req *);

/* Behind usage_add(): does the quota hold `more` bytes?  False: refused. */
bool picture_fits(struct req *, int64_t more);

#endif
