/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes of tables and of names of versions.  Whoever chooses the bytes can make two alike: nothing is trusted by
 * them. */
#ifndef CORE_FNV_H
#define CORE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_EMPTY UINT64_C(0xcbf29ce484222325)

/* FNV-1a of 64 bits (draft-eastlake-fnv-17): of `n` bytes that follow those whose hash is `h`; FNV_EMPTY: there are
 * none. */
static inline uint64_t
fnv1a(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	for (; n > 0; n--, at++)
		h = (h ^ *at) * UINT64_C(0x100000001b3);
	return h;
}

#endif
