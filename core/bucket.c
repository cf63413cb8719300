/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of buckets: the generic cell rate algorithm on atomic numbers. */
#include <openssl/evp.h>
#include <sys/mman.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/bucket.h"
#include "core/shared.h"
#include "core/text.h"

enum { SETS = 4096, WAYS = 8 };

/* full_at in µs since 1970; in the past: it is full.  Of `taken`, µs, others have not heard since told_at, ms. */
struct place { _Atomic uint64_t owner; _Atomic int64_t full_at, taken, told_at; };
struct table { _Atomic uint64_t seed[2]; struct place places[SETS][WAYS]; };

static struct table alone, *table = &alone;

void
bucket_open(const char *run_dir)
{
	struct table *shared = table == &alone ? shared_map(run_dir, "rates", sizeof(*table)) : NULL;

	if (shared != NULL)
		table = shared;
}

void
bucket_close(void)
{
	if (table != &alone)
		munmap(table, sizeof(*table));
	table = &alone;
}

/* Whoever comes first chooses it for all. */
static uint64_t
seed(int i)
{
	uint64_t none = 0, fresh;

	if (table->seed[i] == 0) {
		random_bytes(&fresh, sizeof(fresh));
		atomic_compare_exchange_strong(&table->seed[i], &none, fresh | 1);
	}
	return table->seed[i];
}

/* Fetched once: that alone is slow. */
static EVP_MAC_CTX *
siphash(void)
{
	static EVP_MAC_CTX *made;

	if (made == NULL) {
		EVP_MAC *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);

		made = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
		EVP_MAC_free(mac);
		if (made == NULL)
			abort();
	}
	return made;
}

/* Kind and owner, each with its NUL, so that none is the beginning of another, as two words. */
static void
hash(const struct bucket *b, const char *owner, uint64_t out[2])
{
	uint64_t key[2] = { seed(0), seed(1) };
	EVP_MAC_CTX *c = siphash();
	size_t n = 0;

	if (EVP_MAC_init(c, (const unsigned char *)key, sizeof(key), NULL) != 1 ||
	    EVP_MAC_update(c, (const unsigned char *)b->kind, strlen(b->kind) + 1) != 1 ||
	    EVP_MAC_update(c, (const unsigned char *)owner, strlen(owner) + 1) != 1 ||
	    EVP_MAC_final(c, (unsigned char *)out, &n, 2 * sizeof(*out)) != 1 || n != 2 * sizeof(*out))
		abort();
	out[0] |= 1;			/* 0: nobody's place */
}

static struct place *
find(struct place *set, uint64_t owner)
{
	int i;

	for (i = 0; i < WAYS; i++)
		if (set[i].owner == owner)
			return &set[i];
	return NULL;
}

static struct place *
place_of(const struct bucket *b, const char *owner, int64_t now, bool make)
{
	uint64_t own[2], before;
	struct place *set, *p;
	int64_t full_at;
	int i;

	hash(b, owner, own);
	set = table->places[own[1] % SETS];
	while ((p = find(set, own[0])) == NULL && make) {
		for (p = set, i = 1; i < WAYS; i++)
			if (set[i].full_at < p->full_at)
				p = &set[i];
		before = p->owner;
		full_at = p->full_at;
		if (!atomic_compare_exchange_strong(&p->owner, &before, own[0]))
			continue;
		p->taken = 0;
		p->told_at = 0;
		if (full_at > now)
			atomic_compare_exchange_strong(&p->full_at, &full_at, 0);
	}
	return p;
}

static int64_t
cost(const struct bucket *b)
{
	return b->window * 1000 > b->quota ? b->window * 1000 / b->quota : 1;
}

/* More than can be owed was written by a clock that has been put back since: then the bucket is empty, no more. */
static int64_t
debt(const struct bucket *b, int64_t full_at, int64_t now)
{
	int64_t all = bucket_all(b);

	return full_at <= now ? 0 : full_at - now > 2 * all ? all : full_at - now;
}

int64_t
bucket_all(const struct bucket *b)
{
	return cost(b) * b->quota;
}

/* A clock that has been put back makes it due. */
static bool
is_due(const struct place *p, int64_t now)
{
	int64_t since = now / 1000 - p->told_at;

	return since < 0 || since >= BUCKET_TELL_MS;
}

static void
tell(const struct bucket *b, const struct place *p, int64_t now, int64_t owed, struct level *level)
{
	int64_t all = bucket_all(b), over = owed + cost(b) - all;

	level->left = owed < all ? (all - owed) / cost(b) : 0;
	level->full_in = (owed + 999) / 1000;
	level->one_in = over > 0 ? (over + 999) / 1000 : 0;
	level->due = owed >= all / 4 && p != NULL && p->taken > 0 && is_due(p, now);
}

/* Up to so much may be owed behind it.  False: it would be more. */
static bool
move(const struct bucket *b, const char *owner, int64_t now, int64_t most, struct level *level)
{
	struct place *p = place_of(b, owner, now, true);
	int64_t full_at = p->full_at, owed;
	bool fits;

	do {
		owed = debt(b, full_at, now);
		fits = owed + cost(b) <= most;
		owed += fits ? cost(b) : 0;
	} while (!atomic_compare_exchange_weak(&p->full_at, &full_at, now + owed));
	if (fits)
		p->taken += cost(b);
	tell(b, p, now, owed, level);
	return fits;
}

bool
bucket_take(const struct bucket *b, const char *owner, int64_t now_ms, struct level *level)
{
	return move(b, owner, now_ms * 1000, bucket_all(b), level);
}

void
bucket_owe(const struct bucket *b, const char *owner, int64_t now_ms)
{
	struct level level;

	move(b, owner, now_ms * 1000, 2 * bucket_all(b), &level);
}

void
bucket_give(const struct bucket *b, const char *owner, int64_t now_ms)
{
	struct place *p = place_of(b, owner, now_ms * 1000, false);
	int64_t full_at, owed, now = now_ms * 1000;

	if (p == NULL)
		return;
	full_at = p->full_at;
	do
		owed = debt(b, full_at, now);
	while (!atomic_compare_exchange_weak(&p->full_at, &full_at, owed > cost(b) ? now + owed - cost(b) : now));
	p->taken -= cost(b) < p->taken ? cost(b) : p->taken;
}

void
bucket_look(const struct bucket *b, const char *owner, int64_t now_ms, struct level *level)
{
	struct place *p = place_of(b, owner, now_ms * 1000, false);

	tell(b, p, now_ms * 1000, p == NULL ? 0 : debt(b, p->full_at, now_ms * 1000), level);
}

int64_t
bucket_untold(const struct bucket *b, const char *owner, int64_t now_ms)
{
	struct place *p = place_of(b, owner, now_ms * 1000, false);
	int64_t told_at;

	if (p == NULL)
		return 0;
	told_at = p->told_at;
	if (!is_due(p, now_ms * 1000) || !atomic_compare_exchange_strong(&p->told_at, &told_at, now_ms))
		return 0;
	return p->taken < bucket_all(b) ? p->taken : bucket_all(b);
}

void
bucket_told(const struct bucket *b, const char *owner, int64_t now_ms, int64_t heard, int64_t owed)
{
	struct place *p = place_of(b, owner, now_ms * 1000, true);
	int64_t full_at = p->full_at, now = now_ms * 1000, here;

	p->taken -= heard < p->taken ? heard : p->taken;
	do
		here = debt(b, full_at, now);
	while (here < owed && !atomic_compare_exchange_weak(&p->full_at, &full_at, now + owed));
}
