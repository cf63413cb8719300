/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Office files: their text, read straight from ZIP and XML, and PDF of them.  For kinothek-image, which runs in the
 * jail. */
#ifndef MEDIA_OFFICE_H
#define MEDIA_OFFICE_H

#include <stddef.h>

#include "core/buf.h"
#include "core/reasons.h"

/* Appends the text of a docx, pptx, xlsx, odt, odp or ods file to *text, UTF-8, pages (slides, sheets) ended by form
 * feeds. No entity is expanded, no DTD is taken, nothing outside the file is read; at most `most` bytes of text come
 * out. */
enum reason office_text(const void *bytes, size_t n, const char *format, size_t most, struct buf *text);

/* Makes document.pdf of document.{format} in the working directory, with the LibreOffice that is installed at `place`.
 * REASON_CONVERTER_MISSING: we were built without it; REASON_INTERNAL: it is there, but does not start. */
enum reason office_pdf(const char *place, const char *format);

#endif
