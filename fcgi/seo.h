/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What search engines are told of an asset: JSON-LD in the words of schema.org. */
#ifndef FCGI_SEO_H
#define FCGI_SEO_H

#include "fcgi/player.h"

/*
 * `url` and `embed_url` are those of its pages, which everybody may open: whoever asks has made sure of that.  The text
 * may stand in a <script> as it is.  The address of the picture is signed, and who comes for it after play.lifetime has
 * to ask again; so the recording is named by its page, and not by a file.
 */
const char *seo_json(struct req *, const struct player *, const char *url, const char *embed_url);

#endif
