/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared table of what workers are busy with.  Nothing is locked: a count that is off by one does no harm. */
#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/load.h"
#include "core/shared.h"

enum {
	SLOTS = 512,
	DEBTS = 256,
	MOST = 4,		/* all but one of so many workers for a tenant, */
	SHARE = 8,		/* one of so many for one in debt */
	LONGEST = 120000,	/* ms; what seems to run for longer belongs to a process that was killed */
	WAIT_LONGEST = 10000,	/* and so does what seems to wait for longer */
	DEBT_FREE = 250,	/* ms that do not count yet */
	DEBT_MAX = 1000,
	PAY = 4,		/* goes down by one of so many ms */
	RECENT = 60000,		/* ms for which a tenant that has asked is taken for one that may ask again */
	NOTED = 1000,		/* ms after which that is written down anew */
};

struct slot {
	alignas(64) _Atomic int32_t pid;	/* 0: free */
	_Atomic int64_t since;			/* ms; 0: idle */
	_Atomic uint64_t tenant;
	_Atomic int64_t waits_since;		/* when what has waited longest here came, ms; 0: nothing waits */
	_Atomic uint64_t waits_tenant;
};

/* Of one tenant.  Of two that share a place the last one's: the other one is taken for free of debt. */
struct debt {
	_Atomic uint64_t tenant;
	_Atomic int64_t ms, at;
};

/* Who has asked last, and who before that one. */
struct asker {
	_Atomic uint64_t tenant;
	_Atomic int64_t at;
};

/* Another layout needs another name of the file. */
struct load {
	_Atomic int32_t used;			/* slots from here on were never taken */
	struct asker askers[2];
	struct slot slots[SLOTS];
	struct debt debts[DEBTS];
};

static struct load *load;
static struct slot *own;

/* Ids begin with a time and end at random. */
static uint64_t
key(const struct uuid *id)
{
	uint64_t half[2];

	memcpy(half, id, sizeof(half));
	return half[0] ^ half[1];
}

static void
take_slot(int i)
{
	int32_t n = load->used;

	own = &load->slots[i];
	own->since = own->waits_since = 0;
	while (n <= i && !atomic_compare_exchange_weak(&load->used, &n, i + 1))
		continue;
}

void
load_open(const char *run_dir)
{
	int i;

	if (load == NULL)
		load = shared_map(run_dir, "workers", sizeof(*load));
	if (own != NULL && own->pid != (int32_t)getpid())	/* our parent's */
		own = NULL;
	for (i = 0; load != NULL && i < SLOTS; i++) {
		_Atomic int32_t *at = &load->slots[i].pid;
		int32_t pid = *at;

		if (pid != 0 && kill(pid, 0) && errno == ESRCH && atomic_compare_exchange_strong(at, &pid, 0))
			pid = 0;
		if (own == NULL && pid == (int32_t)getpid())	/* of one that had our number */
			take_slot(i);
		if (own == NULL && pid == 0 && atomic_compare_exchange_strong(at, &pid, (int32_t)getpid()))
			take_slot(i);
	}
}

void
load_close(void)
{
	if (own != NULL)
		own->pid = 0;
	if (load != NULL)
		munmap(load, sizeof(*load));
	own = NULL;
	load = NULL;
}

static int64_t
debt_now(const struct debt *d, int64_t now, int share)
{
	int64_t paid = (now - d->at) * share / PAY;

	return now < d->at || paid > d->ms ? 0 : d->ms - paid;
}

static void
add_debt(uint64_t tenant, int64_t now, int64_t ms, int share)
{
	struct debt *d = &load->debts[tenant % DEBTS];
	int64_t sum = (d->tenant == tenant ? debt_now(d, now, share) : 0) + ms;

	d->tenant = tenant;
	d->ms = sum < DEBT_MAX ? sum : DEBT_MAX;
	d->at = now;
}

/* One of so many, and at least one. */
static int
part_of(int workers, int many)
{
	return workers / many > 1 ? workers / many : 1;
}

/* True when another tenant has asked lately.  Of two places that hold the last two tenants one is always another's. */
static bool
has_neighbours(uint64_t tenant, int64_t now)
{
	struct asker *a = load->askers, *own_place = a[0].tenant == tenant ? a : a[1].tenant == tenant ? a + 1 :
	    a[0].at < a[1].at ? a : a + 1;
	const struct asker *other = own_place == a ? a + 1 : a;

	if (own_place->tenant != tenant || now - own_place->at > NOTED) {
		own_place->tenant = tenant;
		own_place->at = now;
	}
	return other->at > 0 && other->tenant != tenant && now - other->at < RECENT;
}

/* What the processes do: of all, or of one tenant. */
struct count { int workers, free, runs; bool waits; };

/* Who answers a request cannot begin what waits there, and keeps nobody from being served elsewhere. */
static struct count
count(uint64_t tenant, int64_t now, int64_t came)
{
	int i, used = load->used < SLOTS ? load->used : SLOTS;
	struct count c = { 0 };

	for (i = 0; i < used; i++) {
		const struct slot *s = &load->slots[i];
		int64_t since = s->since, waits_since = s->waits_since;
		bool runs = since != 0 && now - since < LONGEST;
		bool waits = waits_since != 0 && now - waits_since < WAIT_LONGEST;

		if (s->pid == 0)
			continue;
		c.workers++;
		c.free += !runs && !waits;
		c.runs += runs && s->tenant == tenant;
		c.waits |= !runs && waits && waits_since < came && s->waits_tenant == tenant;
	}
	return c;
}

static bool
is_turn(uint64_t tenant, int64_t now, int64_t came)
{
	const struct debt *d = &load->debts[tenant % DEBTS];
	struct count c = count(tenant, now, came);
	int share = part_of(c.workers, SHARE), most = c.workers - part_of(c.workers, MOST);

	if (d->tenant == tenant && debt_now(d, now, share) > DEBT_FREE)
		most = share;
	return c.runs < (most > 1 ? most : 1) && !c.waits;
}

bool
load_is_turn(struct uuid tenant_id, int64_t came)
{
	uint64_t tenant = key(&tenant_id);
	int64_t now = clock_ms();

	return own == NULL || !has_neighbours(tenant, now) || is_turn(tenant, now, came);
}

bool
load_enter(struct uuid tenant_id, int64_t came)
{
	if (!load_is_turn(tenant_id, came))
		return false;
	if (own != NULL) {
		own->tenant = key(&tenant_id);
		own->since = clock_ms();
	}
	return true;
}

void
load_leave(int quick)
{
	int64_t since = own == NULL ? 0 : own->since, now;

	if (since == 0)
		return;
	own->since = 0;
	now = clock_ms();
	if (now - since > quick)
		add_debt(own->tenant, now, now - since - quick, part_of(count(0, now, 0).workers, SHARE));
}

void
load_wait(struct uuid tenant_id, int64_t came)
{
	if (own == NULL)
		return;
	own->waits_since = 0;
	own->waits_tenant = key(&tenant_id);
	own->waits_since = came;
}

bool
load_is_crowded(void)
{
	struct count c;

	if (own == NULL)
		return false;
	c = count(0, clock_ms(), 0);
	return c.free * 2 < c.workers;
}
