/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passwords of people, kept as yescrypt by libcrypt (crypt(5)).  What is typed is first brought to NFKC, as NIST SP
 * 800-63B section 5.1.1.2 says, so that it fits however a keyboard composes its letters.
 *
 * A hash takes tens of milliseconds and 16 MiB on purpose: call it outside of transactions, and bound how often one
 * address can cause it (core/tries.h).
 */
#ifndef CORE_PASSWORD_H
#define CORE_PASSWORD_H

#include <stdbool.h>

#include "core/arena.h"

enum {
	PASSWORD_MIN = 8,		/* characters */
	PASSWORD_MAX = 1000,		/* bytes, as typed and in NFKC; a longer one is refused before any work */
};

enum password_fault { PASSWORD_FINE, PASSWORD_SHORT, PASSWORD_LONG, PASSWORD_NOT_TEXT };
enum password_fault password_check(struct arena *, const char *password);

/* The form in which it is kept.  Only for one that is fine. */
const char *password_hash(struct arena *, const char *password);

/* NULL hash, of nobody: false after the same work. */
bool password_matches(struct arena *, const char *hash, const char *password);

#endif
