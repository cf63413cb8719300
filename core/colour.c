/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Colours, and how well one can be read on another. */
#include <math.h>
#include <string.h>

#include "core/colour.h"

/* -1: none. */
static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
colour_parse(const char *text, struct colour *out)
{
	int d[6], i;

	if (strlen(text) != 7 || text[0] != '#')
		return false;
	for (i = 0; i < 6; i++)
		if ((d[i] = digit(text[i + 1])) < 0)
			return false;
	*out = (struct colour){ (uint8_t)(d[0] * 16 + d[1]), (uint8_t)(d[2] * 16 + d[3]), (uint8_t)(d[4] * 16 + d[5]) };
	return true;
}

const char *
colour_text(struct arena *mem, struct colour c)
{
	return arena_printf(mem, "#%02x%02x%02x", c.red, c.green, c.blue);
}

static double
linear(uint8_t part)
{
	double x = part / 255.0;

	return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

static double
luminance(struct colour c)
{
	return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

double
colour_contrast(struct colour a, struct colour b)
{
	double x = luminance(a), y = luminance(b);

	return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

struct colour
colour_on(struct colour c)
{
	return colour_contrast(c, COLOUR_BLACK) > colour_contrast(c, COLOUR_WHITE) ? COLOUR_BLACK : COLOUR_WHITE;
}

static uint8_t
mix(uint8_t a, uint8_t b, int percent)
{
	return (uint8_t)((a * percent + b * (100 - percent) + 50) / 100);
}

struct colour
colour_mix(struct colour c, struct colour in, int percent)
{
	return (struct colour){ mix(c.red, in.red, percent), mix(c.green, in.green, percent), mix(c.blue, in.blue,
	    percent) };
}

static bool
reads_on_all(struct colour c, const struct colour *grounds, size_t n, double contrast)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (colour_contrast(c, grounds[i]) < contrast)
			return false;
	return true;
}

struct colour
colour_readable(struct colour c, const struct colour *grounds, size_t n, double contrast)
{
	struct colour end = n > 0 ? colour_on(grounds[0]) : c, out = c;
	int percent;

	for (percent = 100; percent > 0 && !reads_on_all(out, grounds, n, contrast); percent--)
		out = colour_mix(c, end, percent - 1);
	return out;
}
