/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tries in vain, counted per address and name. */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/tries.h"

enum { SETS = 512, WAYS = 8, KEY = 16 };

/* until_ms is the moment at which all is forgiven: each try in vain moves it on. */
struct pair { unsigned char key[KEY]; int64_t until_ms; };
static struct pair pairs[SETS][WAYS];

/* The length between address and name keeps ("a", "bc") from being ("ab", "c"). */
static void
hash(const char *address, const char *name, unsigned char out[EVP_MAX_MD_SIZE])
{
	static unsigned char seed[32];
	static bool seeded;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint64_t n = strlen(address);

	if (!seeded)
		random_bytes(seed, sizeof(seed));
	seeded = true;
	if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(context, seed, sizeof(seed)) != 1 || EVP_DigestUpdate(context, &n, sizeof(n)) != 1 ||
	    EVP_DigestUpdate(context, address, n) != 1 || EVP_DigestUpdate(context, name, strlen(name)) != 1 ||
	    EVP_DigestFinal_ex(context, out, NULL) != 1)
		abort();
	EVP_MD_CTX_free(context);
}

static struct pair *
set_of(const unsigned char *key)
{
	return pairs[(key[KEY] | (unsigned)key[KEY + 1] << 8) % SETS];
}

static struct pair *
find(const unsigned char *key)
{
	struct pair *set = set_of(key);
	int i;

	for (i = 0; i < WAYS; i++)
		if (memcmp(set[i].key, key, KEY) == 0)
			return &set[i];
	return NULL;
}

int64_t
tries_wait(const char *address, const char *name, int64_t now_ms)
{
	unsigned char key[EVP_MAX_MD_SIZE];
	const struct pair *p;
	int64_t over;

	hash(address, name, key);
	p = find(key);
	over = p == NULL ? 0 : p->until_ms - now_ms - (int64_t)TRIES_FREE * TRIES_MS;
	return over > 0 ? over / 1000 + 1 : 0;
}

void
tries_failed(const char *address, const char *name, int64_t now_ms)
{
	unsigned char key[EVP_MAX_MD_SIZE];
	struct pair *p, *set;
	int i;

	hash(address, name, key);
	p = find(key);
	if (p == NULL) {
		set = p = set_of(key);
		for (i = 1; i < WAYS; i++)
			if (set[i].until_ms < p->until_ms)
				p = &set[i];
		memcpy(p->key, key, KEY);
		p->until_ms = 0;
	}
	p->until_ms = (p->until_ms > now_ms ? p->until_ms : now_ms) + TRIES_MS;
}
