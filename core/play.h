/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signed addresses of deliverable files: {public_url}/play/{expiry}.{hmac}/{mediaId}/{file}
 * The signature is HMAC-SHA256(play key, "{expiry}/{mediaId}/") in lower-case hex; relative addresses inside a playlist
 * inherit it.  Expiry is in seconds since 1970 and rounded up to a full ten minutes, so that addresses stay cacheable.
 */
#ifndef CORE_PLAY_H
#define CORE_PLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/conf.h"
#include "core/text.h"

#define PLAY_PREFIX_MAX 512

/* "{public_url}/play/{expiry}.{hmac}/{mediaId}/" into out.  Returns out. */
char *play_prefix(const struct conf *, struct uuid media_id, struct moment now, char out[PLAY_PREFIX_MAX]);
/* The same of what has an end of its own, s since 1970. */
char *play_prefix_until(const struct conf *, struct uuid, int64_t expiry, char out[PLAY_PREFIX_MAX]);

/* Whoever has one address of an asset has its whole folder.  What is for fewer people lies below it in a folder that
 * nobody can guess: 16 hex digits, always the same for an id.  Returns out. */
enum { PLAY_SECRET = 17 };
char *play_secret(const struct conf *, struct uuid, char out[PLAY_SECRET]);
/* Is it the same?  The time that takes does not tell where they differ. */
bool play_secret_is(const char secret[PLAY_SECRET], const char given[PLAY_SECRET]);

/* "{expiry}.{hmac}" that opens the watch and embed pages of an asset.  It is signed for pages alone: what a page gets
 * to play cannot be made into a new page.  Returns out. */
enum { PAGE_TOKEN_MAX = 80 };
char *page_token(const struct conf *, struct uuid media_id, struct moment now, char out[PAGE_TOKEN_MAX]);
bool page_opens(const struct conf *, const char *token, struct uuid media_id, struct moment now);

/* The expiry that addresses made at that time carry, s since 1970. */
int64_t play_expiry(const struct conf *, struct moment now);

enum play { PLAY_FINE, PLAY_REFUSED, PLAY_EXPIRED };

/*
 * Checks a raw request path (before any decoding; cut at ?).  An expiry has ten digits.  A file is made of segments of
 * a-z 0-9 - _ and dots, none empty, none with a dot in front, the last with an extension; escapes are none of these.
 * httpd-conf/play.lua and play-apache.lua say the same, which fuzz_play sees to.  *file points behind "{mediaId}/".
 */
enum play play_check(const struct conf *, const char *path, struct moment now, struct uuid *media_id,
    const char **file);

#endif
