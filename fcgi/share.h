/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shares of assets by a link, of whoever may: shares.c makes and ends them, share_page.c is what a link opens.
 *
 * All who share an asset own one background channel, Share_{mediaId}.  It is media.share_channel_id and its owners are
 * the rows of shares: it is none of the table channels, since it gives no role, holds no other asset, and nobody names,
 * lists or deletes it; so an asset always is in another channel, too.
 *
 * A link ends with a secret that follows from the id of its share and play.key_file, so that it can be told again
 * though the database knows its hash alone.
 */
#ifndef FCGI_SHARE_H
#define FCGI_SHARE_H

#include "fcgi/req.h"

enum { SHARE_SECRET = 43 };		/* characters of base64url */

/* What the link of the share of this id ends with. */
const char *share_secret(struct req *, struct uuid id);

#endif
