/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A transcript as a document: Office Open XML, the transitional kind that all word processors read (ISO/IEC 29500,
 * ECMA-376).  A cover, then what is said, with a time in the margin, a name where the speaker changes, and the titles
 * of chapters as headings.
 */
#ifndef MEDIA_DOCX_H
#define MEDIA_DOCX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/colour.h"
#include "core/record.h"

#define DOCX_TYPE "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

struct docx_heading { const char *title; struct position start; };

/* A picture that word processors show: image/png or image/jpeg, and its size in pixels. */
struct docx_picture { const void *bytes; size_t n; const char *mime_type; int64_t width, height; };

struct docx {
	const char *title, *description;	/* for the cover; NULL: none */
	const char *facts, *origin;		/* a line each; NULL: none */
	const char *language;			/* BCP 47 tag of what is said, which also tells where lines begin */
	const char *font;			/* name of a family */
	struct colour colour;			/* of headings and names, to be read on white */
	const struct docx_picture *logo;	/* on the cover and above each page; NULL: none */
	struct list headings;			/* struct docx_heading, in the order of time */
	const struct list *paragraphs;		/* struct paragraph */
	bool speakers;				/* with their names */
	struct moment changed_at;
};

/* The file.  Characters that XML cannot hold are left out. */
struct buf docx_write(struct arena *, const struct docx *);

#endif
