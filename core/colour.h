/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Colours of sRGB, and how well one can be read on another (WCAG 2.2, relative luminance and contrast ratio). */
#ifndef CORE_COLOUR_H
#define CORE_COLOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

struct colour { uint8_t red, green, blue; };

#define COLOUR_BLACK ((struct colour){ 0, 0, 0 })
#define COLOUR_WHITE ((struct colour){ 255, 255, 255 })

/* Exactly "#rrggbb", in either case.  False: it is none, and *out is untouched. */
bool colour_parse(const char *text, struct colour *out);
/* "#rrggbb", lower case. */
const char *colour_text(struct arena *, struct colour);

/* 1 to 21. */
double colour_contrast(struct colour, struct colour);
/* Black or white, whichever can be read better on it: at least 4.58. */
struct colour colour_on(struct colour);
/* `percent` of the one in the other. */
struct colour colour_mix(struct colour, struct colour in, int percent);
/* The colour made lighter or darker, as little as does, until it has this contrast on each of the grounds, which are
 * all light or all dark; black or white where nothing does. */
struct colour colour_readable(struct colour, const struct colour *grounds, size_t n, double contrast);

#endif
