/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short texts that are told apart by what people see of them. */
#ifndef MEDIA_LABEL_H
#define MEDIA_LABEL_H

#include "core/arena.h"

/* The text (UTF-8) in NFC, so that one look has one spelling; without blanks at its ends, and one space where there are
 * some within. */
const char *label_clean(struct arena *, const char *text);

#endif
