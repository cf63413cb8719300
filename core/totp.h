/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-time codes of apps, the second factor (RFC 6238): HMAC-SHA1, six digits, steps of 30 seconds. */
#ifndef CORE_TOTP_H
#define CORE_TOTP_H

#include <stdint.h>

#include "core/arena.h"

/* What seal() of core/seal.h keeps the secret for. */
#define TOTP_PURPOSE "totp"

enum { TOTP_SECRET = 20, TOTP_STEP_MS = 30000, TOTP_DIGITS = 6 };

/* The code of a step, counted from 1970, in `digits` decimals (up to 8). */
const char *totp_code(struct arena *, const unsigned char *secret, size_t n, int64_t step, int digits);

/* The step that the code is of: this one, the one before or after, since clocks differ, and later than `last`, which
 * was taken already.  -1: of none. */
int64_t totp_match(struct arena *, const unsigned char *secret, size_t n, const char *code, int64_t now_ms,
    int64_t last);

/* The secret for people to type: base32 in groups of four. */
const char *totp_text(struct arena *, const unsigned char *secret, size_t n);
/* For apps: "otpauth://totp/issuer:account?secret=…&issuer=…". */
const char *totp_address(struct arena *, const unsigned char *secret, size_t n, const char *issuer,
    const char *account);

#endif
