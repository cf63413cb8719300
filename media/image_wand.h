/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What media/image*.c share that draw with ImageMagick.  Nobody else includes this. */
#ifndef MEDIA_IMAGE_WAND_H
#define MEDIA_IMAGE_WAND_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"	/* its header for OpenCL */
#include <wand/MagickWand.h>
#pragma GCC diagnostic pop

#include "media/image.h"

/* Reads the first page: upright, sRGB, without metadata, its long side at most IMAGE_PAGE_SIDE. */
enum reason image_read_page(MagickWand *, const void *bytes, size_t n, const char *coder);

void image_lay_on_white(MagickWand *);

#endif
