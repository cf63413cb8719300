/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Designs as pages load them: a sheet of custom properties and faces of fonts alone, all of it written by C from values
 * that were checked, at an address that changes with what is in it.  A page links it behind its own sheets, with
 * `style-src 'self'`, `font-src 'self'` and `img-src 'self'`.
 *
 * A sheet sets --brand, --on-brand (black or white), --brand-text and --brand-soft (for light and dark), --header,
 * --on-header, --font, --radius; --play, --on-play, --stage and --stage-radius of the player.  kinothek.css says what
 * holds without one.
 */
#ifndef FCGI_THEME_H
#define FCGI_THEME_H

#include "fcgi/design.h"

/* Addresses without a host.  logo_url: NULL when there is none; its size in pixels.  name: of the design. */
struct theme { const char *url, *name, *logo_url; int64_t logo_width, logo_height; };

/* Of a design; NULL: there is none of that id.  theme_url() is its address alone. */
const struct theme *theme_of(struct req *, struct uuid design_id);
const char *theme_url(struct req *, struct uuid design_id);

/* What pages of a channel look like: its own design, else the main one; and those of a tenant.  NULL: as Kinothek
 * itself. */
const struct theme *theme_of_channel(struct req *, struct uuid channel_id);
const struct theme *theme_of_tenant(struct req *, struct uuid tenant_id);
/* Of the tenant of that name in addresses, which is there. */
const struct theme *theme_of_realm(struct req *, const char *shortcode);

/*
 * What the page of an asset looks like.  In the context of a channel that it is in, or of none, as that; in no context
 * as its channels, if one design is all that they have; else as the main designs.  Private channels count for who has
 * the token of a signed address (`opened`).  One statement, and a second one where there are designs.
 */
struct look { const struct theme *page, *player; };
struct look theme_of_media(struct req *, struct uuid media_id, struct uuid channel_id, bool opened);

/* The design of players in the channel; NULL: none. */
struct design *theme_player_of(struct req *, struct uuid channel_id);

/* The sheet, and what it is known by. */
struct sheet { const char *css, *hash; };
struct sheet theme_sheet(struct arena *, const struct design *);
const char *theme_address(struct arena *, const struct design *);
const char *theme_resource_address(struct arena *, struct uuid design_id, const struct design_resource *);
/* The facts of the colours: design_contrast, contiguous. */
struct list theme_contrast(struct arena *, const struct design *);

#endif
