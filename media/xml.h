/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is looked at before a stranger's XML goes to a parser. */
#ifndef MEDIA_XML_H
#define MEDIA_XML_H

#include <stddef.h>

/* Where the first thing stands that a parser pays dearly for, in a text of UTF-8: a declaration, with its entities, or
 * a tag of more bytes than that, full of attributes.  NULL: there is none. */
const char *xml_costly(const char *text, size_t tag_max);

#endif
