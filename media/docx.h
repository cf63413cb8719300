/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A transcript as a document: Office Open XML, the transitional kind that all word processors read (ISO/IEC 29500,
 * ECMA-376).  A cover, then what is said, with a time in the margin, a name where the speaker changes, and the titles
 * of chapters as headings; each of these but what is said may be left out.
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
	const char *font, *heading_font;	/* names of families; NULL: headings have the font */
	int points;				/* of what is said; all else is in proportion */
	struct colour colour, text_colour;	/* of headings and names; of all else: to be read on white */
	const char *header, *footer;		/* of each page but the cover; NULL: the title, and nothing */
	const struct docx_picture *logo;	/* on the cover and above each page; NULL: none */
	struct list headings;			/* struct docx_heading, in the order of time */
	const struct list *paragraphs;		/* struct paragraph */
	/* What it has: a cover, what stands above pages, their numbers, times, names, titles of chapters. */
	bool has_cover, has_header, has_footer, has_times, has_speakers, has_chapters;
	struct moment changed_at;
};

/* The file.  Characters that XML cannot hold are left out. */
struct buf docx_write(struct arena *, const struct docx *);

#endif
