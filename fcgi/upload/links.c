/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Database connections, the one used last on top. */
#include <pthread.h>
#include <stdlib.h>

#include "core/text.h"
#include "fcgi/upload/links.h"

enum { AWAY_MS = 2000 };	/* for which a database that was away is not asked for what can be left out */

struct link { struct db *db; int64_t used; };	/* ms of clock_ms() */

struct links {
	pthread_mutex_t lock;
	pthread_cond_t given;
	struct link *free;
	int n, n_free;
	int64_t away_until;
};

struct links *
links_new(const struct conf *conf, int n)
{
	struct links *l = calloc(1, sizeof(*l));

	if (l == NULL || (l->free = calloc((size_t)n, sizeof(*l->free))) == NULL)
		abort();
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->given, NULL);
	for (l->n = 0; l->n < n; l->n++) {
		l->free[l->n].db = db_open(conf, DB_JOBS);
		db_use(l->free[l->n].db, arena_new(1 << 20));
	}
	l->n_free = n;
	return l;
}

void
links_free(struct links *l)
{
	int i;

	for (i = 0; i < l->n; i++) {
		struct arena *mem = db_arena(l->free[i].db);

		db_close(l->free[i].db);
		arena_free(mem);
	}
	free(l->free);
	free(l);
}

struct db *
links_take(struct links *l)
{
	struct db *db;

	pthread_mutex_lock(&l->lock);
	while (l->n_free == 0)
		pthread_cond_wait(&l->given, &l->lock);
	db = l->free[--l->n_free].db;
	pthread_mutex_unlock(&l->lock);
	return db;
}

struct db *
links_ask(struct links *l)
{
	struct db *db = NULL;
	bool away;

	pthread_mutex_lock(&l->lock);
	/* Looked at once for both: it may be back a moment later, with none of them free. */
	while (!(away = l->away_until > clock_ms()) && l->n_free == 0)
		pthread_cond_wait(&l->given, &l->lock);
	if (!away)
		db = l->free[--l->n_free].db;
	else
		pthread_cond_signal(&l->given);		/* it may have been meant for who waits on */
	pthread_mutex_unlock(&l->lock);
	return db;
}

struct db *
links_try(struct links *l)
{
	struct db *db = NULL;

	pthread_mutex_lock(&l->lock);
	if (l->n_free > 0 && l->away_until <= clock_ms())
		db = l->free[--l->n_free].db;
	pthread_mutex_unlock(&l->lock);
	return db;
}

void
links_give(struct links *l, struct db *db)
{
	bool away = db_failure(db) == DB_LOST, fine = db_failure(db) == DB_FINE;

	db_forgive(db);
	arena_reset(db_arena(db));
	pthread_mutex_lock(&l->lock);
	l->free[l->n_free++] = (struct link){ db, clock_ms() };
	l->away_until = away ? clock_ms() + AWAY_MS : fine ? 0 : l->away_until;
	if (away)
		pthread_cond_broadcast(&l->given);
	else
		pthread_cond_signal(&l->given);
	pthread_mutex_unlock(&l->lock);
}

enum hold
links_reserve(struct links *l, const struct quota_upload *u, int64_t until, int64_t step, int64_t *granted)
{
	const int64_t least = until - *granted;
	struct db *db;
	int64_t got;
	bool failed;

	if (least <= 0)
		return HOLD_FINE;
	db = links_ask(l);
	if (db == NULL)
		return HOLD_AWAY;
	got = quota_reserve(db, u, least, least < step ? step : least);
	failed = db_failure(db) != DB_FINE;
	if (failed)
		db_rollback(db);
	links_give(l, db);
	if (got <= 0)
		return failed ? HOLD_AWAY : got == 0 ? HOLD_FULL : HOLD_OVER;
	*granted = got == INT64_MAX ? got : *granted + got;
	return HOLD_FINE;
}

void
links_rest(struct links *l, int64_t ms)
{
	int i;

	pthread_mutex_lock(&l->lock);
	for (i = 0; i < l->n_free; i++)
		if (l->free[i].used > 0 && l->free[i].used + ms <= clock_ms()) {
			db_rest(l->free[i].db);
			l->free[i].used = 0;
		}
	pthread_mutex_unlock(&l->lock);
}
