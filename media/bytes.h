/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers in files of either byte order, of n bytes, 8 at most.  Whoever calls has seen that they are there. */
#ifndef MEDIA_BYTES_H
#define MEDIA_BYTES_H

#include <stdint.h>

static inline uint64_t
bytes_big(const unsigned char *p, unsigned n)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < n; i++)
		x = x << 8 | p[i];
	return x;
}

static inline uint64_t
bytes_little(const unsigned char *p, unsigned n)
{
	uint64_t x = 0;

	while (n > 0)
		x = x << 8 | p[--n];
	return x;
}

#endif
