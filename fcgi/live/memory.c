/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A few livestreams, looked through one after the other. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/live/memory.h"

struct remembered *
memory_find(const struct memory *m, struct uuid id)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (uuid_equal(m->at[i].what.id, id))
			return &m->at[i];
	return NULL;
}

struct remembered *
memory_of_key(const struct memory *m, const char *hash, bool *is_primary)
{
	size_t i;

	for (i = 0; i < 2 * m->n; i++) {
		*is_primary = i % 2 == 1;
		if (hash[0] != '\0' && strcmp(m->at[i / 2].hashes[i % 2], hash) == 0)
			return &m->at[i / 2];
	}
	return NULL;
}

void
memory_replace(struct memory *m, struct remembered *at, size_t n)
{
	const struct remembered *before;
	size_t i;

	/* The database may not have been told of all numbers yet. */
	for (i = 0; i < n; i++) {
		before = memory_find(m, at[i].what.id);
		if (before != NULL && before->session > at[i].session)
			at[i].session = before->session;
	}
	free(m->at);
	*m = (struct memory){ at, n };
}

void
memory_forget(struct memory *m, struct uuid id)
{
	struct remembered *r = memory_find(m, id);

	if (r != NULL)
		*r = m->at[--m->n];
}

void
memory_forget_keys(const struct memory *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		memset(m->at[i].hashes, 0, sizeof(m->at[i].hashes));
}

void
memory_claimed(const struct memory *m, struct uuid id, int64_t session)
{
	struct remembered *r = memory_find(m, id);

	if (r != NULL) {
		r->session = session;
		r->spare = session + LIVESTREAM_SPARE;
	}
}
