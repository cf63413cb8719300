/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many deliveries a receiver gets at a time.  One, until it has answered quickly; then twice as many each time, and
 * one again when it was slow.  So who never answers, or takes its time, holds one place and not many.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/deliver.h"

enum { QUICK_MS = 1000, MOST = 16 };

struct pace { struct uuid tenant_id; char *receiver; int places; };

static int
compare(const void *a, const void *b)
{
	const struct pace *x = a, *y = b;
	int order = memcmp(&x->tenant_id, &y->tenant_id, sizeof(x->tenant_id));

	return order != 0 ? order : strcmp(x->receiver, y->receiver);
}

int
pace_places(void *const *paces, struct uuid tenant_id, const char *receiver)
{
	const struct pace key = { .tenant_id = tenant_id, .receiver = (char *)(uintptr_t)receiver };
	struct pace *const *found = tfind(&key, paces, compare);

	return found == NULL ? 1 : (*found)->places;
}

void
pace_learn(void **paces, const struct sending *m)
{
	struct pace *p = malloc(sizeof(*p)), **at;

	if (p == NULL || (p->receiver = strdup(m->receiver)) == NULL)
		abort();
	p->tenant_id = m->tenant_id;
	p->places = 1;
	at = tsearch(p, paces, compare);
	if (at == NULL)
		abort();
	if (*at != p) {
		free(p->receiver);
		free(p);
	}
	p = *at;
	if (m->answer.end != WEB_ANSWERED || m->ms > QUICK_MS)
		p->places = 1;
	else if (p->places < MOST)
		p->places *= 2;
}

static void
drop(void *pace)
{
	struct pace *p = pace;

	free(p->receiver);
	free(p);
}

void
pace_forget(void **paces)
{
	tdestroy(*paces, drop);
	*paces = NULL;
}
