/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTML, piece by piece, each escaped for the place where it stands; nothing else writes markup.
 *
 *	html_el(h, "a");
 *	html_url(h, "href", address);
 *	html_attr(h, "class", "card");
 *	html_text(h, name);
 *	html_end(h);
 *
 * Names of elements and attributes are literals.  What is built in the wrong order (an attribute behind text, an end
 * too many, an element left open) or in the wrong place (an address by html_attr(), text in a script) ends the process:
 * it is wrong for everybody, and the first test of the page finds it.
 *
 * Values are UTF-8; a byte that is none, a control character but tab and the ends of lines, and a noncharacter become
 * U+FFFD.  NULL is an empty text.
 */
#ifndef CORE_HTML_H
#define CORE_HTML_H

#include <stdbool.h>

#include "core/buf.h"

enum { HTML_DEPTH = 24 };

struct html {
	struct buf out;
	const char *open[HTML_DEPTH];		/* names */
	int depth;
	bool in_tag;				/* attributes may follow */
};

/* With the doctype written. */
struct html html_new(struct arena *);
/* The document; everything must be closed. */
struct buf html_done(struct html *);

#define html_el(h, name) html_el_((h), "" name)
#define html_leaf(h, name) html_leaf_((h), "" name)
#define html_attr(h, name, value) html_attr_((h), "" name, (value))
#define html_flag(h, name) html_flag_((h), "" name)
#define html_text_el(h, name, class, text) html_text_el_((h), "" name, (class), (text))
#define html_url(h, name, address) html_url_((h), "" name, (address))

/* Opens an element; html_end() closes the last one. */
void html_el_(struct html *, const char *name);
void html_end(struct html *);
/* An element that has no end: meta, link, img, … */
void html_leaf_(struct html *, const char *name);

/* Of the element just opened.  Not for addresses, styles, handlers and documents within documents. */
void html_attr_(struct html *, const char *name, const char *value);
void html_int(struct html *, const char *name, int64_t value);
/* One without a value: hidden, controls, … */
void html_flag_(struct html *, const char *name);
/* Takes http, https, mailto and relative addresses; of any other it writes "about:invalid#". */
void html_url_(struct html *, const char *name, const char *address);

/* Not in a script or style. */
void html_text(struct html *, const char *text);
/* An element that holds a text alone, with a class unless that is NULL. */
void html_text_el_(struct html *, const char *name, const char *class, const char *text);
/* JSON as it may stand in a <script>: the same in other letters. */
void html_json_text(struct buf *, const char *json);
/* A <script> of data, with an id unless that is NULL.  `json` is well-formed JSON. */
void html_json(struct html *, const char *type, const char *id, const char *json);

#endif
