/* SPDX-License-Identifier: GPL-3.0-or-later */
/* QR codes (ISO/IEC 18004) as paths of SVG: each module is a square of one unit. */
#ifndef CORE_QR_H
#define CORE_QR_H

#include "core/arena.h"

enum { QR_QUIET = 4 };		/* modules around it that stay light; not in the path */

/* The dark modules, from 0,0; *size: how many a side has.  NULL: the text is too long. */
const char *qr_path(struct arena *, const char *text, int *size);

#endif
