/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads around a short queue. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cli/store_crew.h"

enum { QUEUE = 32, ITEM_MEMORY = 256 << 20 };

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	struct crew_item queue[QUEUE];
	size_t first, n, busy, threads;
	bool over;
	crew_work *work;
	void *at;
	pthread_t thread[CREW_MAX];
};

static void *
run(void *arg)
{
	struct crew *c = arg;
	struct arena *mem = arena_new(ITEM_MEMORY);
	struct crew_item item;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->n == 0 && !c->over)
			pthread_cond_wait(&c->given, &c->lock);
		if (c->n == 0)
			break;
		item = c->queue[c->first];
		c->first = (c->first + 1) % QUEUE;
		c->n--;
		c->busy++;
		pthread_mutex_unlock(&c->lock);
		c->work(c->at, mem, &item);
		arena_reset(mem);
		pthread_mutex_lock(&c->lock);
		c->busy--;
		pthread_cond_broadcast(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	arena_free(mem);
	return NULL;
}

struct crew *
crew_start(struct arena *mem, size_t threads, crew_work *work, void *at)
{
	struct crew *c = NEW(mem, struct crew);

	c->work = work;
	c->at = at;
	if (pthread_mutex_init(&c->lock, NULL) != 0 || pthread_cond_init(&c->given, NULL) != 0 ||
	    pthread_cond_init(&c->done, NULL) != 0)
		abort();
	while (c->threads < threads && c->threads < CREW_MAX &&
	    pthread_create(&c->thread[c->threads], NULL, run, c) == 0)
		c->threads++;
	/* Not even one: the machine has no room. */
	if (c->threads == 0)
		abort();
	return c;
}

void
crew_give(struct crew *c, const struct crew_item *item)
{
	pthread_mutex_lock(&c->lock);
	while (c->n == QUEUE)
		pthread_cond_wait(&c->done, &c->lock);
	c->queue[(c->first + c->n++) % QUEUE] = *item;
	pthread_cond_signal(&c->given);
	pthread_mutex_unlock(&c->lock);
}

void
crew_wait(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->n > 0 || c->busy > 0)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void
crew_end(struct crew *c)
{
	size_t i;

	crew_wait(c);
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_broadcast(&c->given);
	pthread_mutex_unlock(&c->lock);
	for (i = 0; i < c->threads; i++)
		pthread_join(c->thread[i], NULL);
}
