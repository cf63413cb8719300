/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The picture of something that a page lists */
#include <string.h>

#include "fcgi/page.h"

enum { SEEN_AT_ONCE = 4 };

/* Of what has no picture, such as sound, what it is. */
static void
put_sign(struct shown *p, const char *type)
{
	static const struct { const char *type, *path; } signs[] = {
		{ "audio", "M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-2.5-2.5A2.5 2.5 0 0 1 9 18zM19 16a2.5 2.5 0 1 1-2.5-2.5A2.5 2.5 0 0 1 19 16z" },
		{ "video", "M4 5h16v14H4zM10 9v6l5-3z" },
		{ "image", "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01" },
		{ "document", "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6" },
	};
	size_t i;

	for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (type == NULL || strcmp(signs[i].type, type) != 0)
			continue;
		html_el(&p->h, "svg");
		html_attr(&p->h, "class", "card-sign");
		html_attr(&p->h, "viewBox", "0 0 24 24");
		html_attr(&p->h, "aria-hidden", "true");
		html_el(&p->h, "path");
		html_attr(&p->h, "d", signs[i].path);
		html_end(&p->h);
		html_end(&p->h);
	}
}

void
page_picture(struct shown *p, const struct thumbnail *t, const char *type, size_t place)
{
	html_el(&p->h, "div");
	html_attr(&p->h, "class", "card-picture");
	if (t != NULL) {
		html_leaf(&p->h, "img");
		html_url(&p->h, "src", page_local(p, t->url));
		html_attr(&p->h, "alt", "");
		html_int(&p->h, "width", t->width);
		html_int(&p->h, "height", t->height);
		if (place >= SEEN_AT_ONCE) {
			html_attr(&p->h, "loading", "lazy");
			html_attr(&p->h, "decoding", "async");
		}
	} else
		put_sign(p, type);
}
