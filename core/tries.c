/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tries in vain, counted per address and name. */
#include <stdio.h>
#include <string.h>

#include "core/bucket.h"
#include "core/peer.h"
#include "core/tries.h"

static const struct bucket tries = { "tries", TRIES_FREE + 1, (int64_t)(TRIES_FREE + 1) * TRIES_MS };

/* The length between address and name keeps ("a", "bc") from being ("ab", "c"). */
static const char *
owner(char *out, size_t n, const char *address, const char *name)
{
	char network[PEER_NETWORK];

	peer_network(address, network);
	snprintf(out, n, "%zu %s%s", strlen(network), network, name);
	return out;
}

int64_t
tries_wait(const char *address, const char *name, int64_t now_ms)
{
	char text[1024];
	struct level level;

	bucket_look(&tries, owner(text, sizeof(text), address, name), now_ms, &level);
	return level.one_in > 0 ? level.one_in / 1000 + 1 : 0;
}

void
tries_failed(const char *address, const char *name, int64_t now_ms)
{
	char text[1024];

	bucket_owe(&tries, owner(text, sizeof(text), address, name), now_ms);
}

void
tries_succeeded(const char *address, const char *name, int64_t now_ms)
{
	char text[1024];

	bucket_give(&tries, owner(text, sizeof(text), address, name), now_ms);
}
