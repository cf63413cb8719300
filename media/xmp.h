/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people have written into a file about it, as XMP (ISO 16684-1): title, description, creator, rights, subject of
 * Dublin Core.  For kinothek-image, which runs in the jail. */
#ifndef MEDIA_XMP_H
#define MEDIA_XMP_H

#include <stdbool.h>

#include "media/image.h"

/* False, and what came before it: it is cut off, no XML, or more than there ever is.  No entity is expanded but those
 * of XML itself, and nothing outside of it is read. */
bool xmp_read(struct arena *, const void *bytes, size_t n, struct image_words *);

#endif
