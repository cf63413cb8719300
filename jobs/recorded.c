/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From names to sessions. */
#include <stdlib.h>
#include <string.h>

#include "core/store.h"
#include "jobs/recorded.h"
#include "media/recording.h"

enum { PAGE = 1000 };

/* The files of a session come one behind the other. */
static struct found *
found(struct arena *mem, struct recorded *all, int64_t session)
{
	struct found *wider;

	if (all->n > 0 && all->at[all->n - 1].session == session)
		return &all->at[all->n - 1];
	if (all->n == all->room) {
		all->room = 2 * all->room + 64;
		wider = arena_array(mem, all->room, sizeof(*wider));
		if (all->n > 0)
			memcpy(wider, all->at, all->n * sizeof(*wider));
		all->at = wider;
	}
	all->at[all->n] = (struct found){ .session = session };
	return &all->at[all->n++];
}

/* "live/{mediaId}/{session}.video.mp4" */
static void
note(struct arena *mem, struct recorded *all, const struct store_entry *e)
{
	const char *name = strrchr(e->key, '/') + 1;
	char *end;
	int64_t session = strtoll(name, &end, 10);
	int sound = strcmp(end, ".audio.mp4") == 0;
	struct found *f;

	if (session <= 0 || e->size <= 0 || (!sound && strcmp(end, ".video.mp4") != 0))
		return;
	all->bytes += e->size;
	f = found(mem, all, session);
	f->key[sound] = e->key;
	f->size[sound] = e->size;
}

static int
by_session(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->session < y->session ? -1 : x->session > y->session;
}

struct recorded *
recorded_find(struct arena *mem, struct uuid media_id)
{
	struct recorded *all = NEW(mem, struct recorded);
	const char *prefix = arena_printf(mem, "%s/", store_key_live(mem, media_id, NULL)), *after = NULL;
	struct store_entry *e;
	size_t i, n;

	do {
		e = store_list(mem, prefix, after, PAGE, &n);
		if (e == NULL)
			return NULL;
		for (i = 0; i < n; i++)
			note(mem, all, &e[i]);
		after = n > 0 ? e[n - 1].key : NULL;
	} while (n == PAGE);
	if (all->n > 0)
		qsort(all->at, all->n, sizeof(all->at[0]), by_session);
	/* The list is in the order of their names: which are the last ones is known only now. */
	for (; all->n > RECORDING_MAX; all->n--)
		all->beyond += (all->at[all->n - 1].key[0] != NULL) + (all->at[all->n - 1].key[1] != NULL);
	return all;
}
