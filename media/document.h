/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Documents: pages, text and a picture of the first page.  PDF goes to poppler's programs, office files to LibreOffice
 * where it is installed, else their text is read directly; all of it in the jail.
 */
#ifndef MEDIA_DOCUMENT_H
#define MEDIA_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/fault.h"
#include "core/record.h"
#include "media/sniff.h"

/* Bytes of text of one document that are kept; what follows is left out. */
#define DOCUMENT_TEXT_MAX (7 << 20)

struct document {
	/* REASON_NONE; why it could not be read; or, where there is a text, why what could be drawn of it is missing */
	struct fault fault;
	int64_t pages;			/* 0: it has none of its own (a text) */
	int64_t lost;			/* more of them, behind these, that could not be read */
	const char *text;		/* UTF-8, pages ended by form feeds; NULL: it could not be read */
	/* the first page whose text is not whole, since it took too long or was too much; 0: there is none */
	int64_t cut_at;
	const char *preview;		/* file name of a PNG of the first page in the directory, or NULL */
	/* full path of the PDF: the file itself, or what LibreOffice made of it; or NULL */
	const char *pdf;
	const char *engine;		/* "poppler", "libreoffice", "kinothek" */
};

/* Is it a document?  A TIFF of several pages is one, too. */
bool document_is(const struct sniff *, const char *path);

/* Pictures of pages with more than so many pixels are refused. */
#define DOCUMENT_PIXELS 100000000

/* Reads the file of the format that sniff.h told.  `dir` takes what is made. */
struct document document_read(struct arena *, const char *path, const char *format, int64_t max_pages, const char *dir);

/* Where LibreOffice is installed, or NULL. */
const char *document_libreoffice(void);

/* Pages without reading them: 0 where the format does not say.  What `ingest` asks. */
struct fault document_probe(struct arena *, const char *path, const char *format, int64_t max_pages, int64_t *pages);

/* What a PDF says about itself as XMP, as members of JSON, each with a comma before it (see image_xmp(), also
 * for what cannot be read). */
struct fault document_xmp(struct arena *, const char *pdf, const char **members);

/* A picture of a page of a PDF, grey and large enough to be read, as a JPEG of that name in `dir`. */
struct fault document_draw(struct arena *, const char *pdf, int64_t page, const char *dir, const char *name);

/* A page that has a text: its own, or what an engine has read on a picture of it, and how sure that is. */
struct document_page { int64_t page; const char *text, *engine; double confidence; };
extern const struct record document_page_record;

/* {"pages":[{"page":1,"text":"…"},{"page":2,"text":"…","engine":"tesseract 5","confidence":0.93},…],"cutAt":9}; cutAt
 * as in struct document, left out where it is 0; *cut_at becomes the page where there is no more room. */
const char *document_pages_json(struct arena *, const struct document_page *, size_t n, int64_t *cut_at);

/* {"pages":[{"page":1,"text":"…"},…],"cutAt":9}: empty pages are left out, numbers stay.  Text without form feeds is
 * cut into pages of about 3,000 characters at line ends.  *cut_at as above. */
const char *document_json(struct arena *, const char *text, int64_t *cut_at);

/* A copy, never a link: what a jailed program may write to must not be the original.  False with errno. */
bool document_copy(const char *from, const char *to);

/* Any bytes as UTF-8: by byte order mark, as UTF-8 where they are, else as windows-1252.  NULL: no converter. */
const char *document_utf8(struct arena *, const char *bytes, size_t n);

#endif
