/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places and turns.  Turns are start-time fair queueing in two steps, tenants and their principals: who has done
 * nothing for a while begins where the others are now, and saves nothing up.
 */
#include <signal.h>
#include <stdlib.h>

#include "core/log.h"
#include "fcgi/upload/room.h"

enum { TURN_COST = 4096 };	/* bytes that a turn counts for besides those it moved */

/* The room itself, a tenant in it, or a principal of a tenant. */
struct party {
	struct party *next, *of;
	struct uuid id;
	int seats;			/* of those that need not go, */
	int all;			/* and of all */
	int busy[TURNS];		/* seats that have a turn or wait for one */
	int64_t moved[TURNS];		/* bytes */
	int64_t clock[TURNS];		/* what its latest member had moved when it got its turn */
};

struct room {
	pthread_mutex_t lock;
	int places;
	struct party root, *parties;
	struct seat *seats;
	struct seat *waiting[TURNS];	/* in order of arrival */
	int free[TURNS];
};

static void
on_signal(int sig)
{
	(void)sig;
}

struct room *
room_new(int places, int writers, int syncers)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct room *r = calloc(1, sizeof(*r));

	if (r == NULL)
		abort();
	pthread_mutex_init(&r->lock, NULL);
	r->places = places;
	r->free[TURN_WRITE] = writers;
	r->free[TURN_SYNC] = syncers;
	sigaction(SEAT_SIGNAL, &act, NULL);
	return r;
}

void
room_free(struct room *r)
{
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct party *
find_party(const struct room *r, const struct party *of, struct uuid id)
{
	struct party *p;

	for (p = r->parties; p != NULL; p = p->next)
		if (p->of == of && uuid_equal(p->id, id))
			return p;
	return NULL;
}

static struct party *
join_party(struct room *r, struct party *of, struct uuid id)
{
	struct party *p = find_party(r, of, id);

	if (p == NULL) {
		p = calloc(1, sizeof(*p));
		if (p == NULL) {
			log_text(LOG_LEVEL_ERROR, "upload", "out of memory");
			abort();
		}
		*p = (struct party){ .next = r->parties, .of = of, .id = id };
		r->parties = p;
	}
	p->seats++;
	p->all++;
	return p;
}

static void
leave_party(struct room *r, struct party *p)
{
	struct party **at;

	if (--p->all > 0)
		return;
	for (at = &r->parties; *at != p; at = &(*at)->next)
		continue;
	*at = p->next;
	free(p);
}

/* The seat does not count any more: its transfer goes, or is told to. */
static void
uncount(struct room *r, struct seat *s)
{
	s->tenant->seats--;
	s->principal->seats--;
	r->root.seats--;
}

static void
end_seat(struct room *r, struct seat *s, enum error why)
{
	uncount(r, s);
	atomic_store(&s->ended, (int)why);
	pthread_kill(s->thread, SEAT_SIGNAL);
}

static struct party *
largest(const struct room *r, const struct party *of)
{
	struct party *p, *most = NULL;

	for (p = r->parties; p != NULL; p = p->next)
		if (p->of == of && (most == NULL || p->seats > most->seats))
			most = p;
	return most;
}

/* The principal that has to give up a place for a newcomer, or NULL. */
static struct party *
who_gives(const struct room *r, const struct seat *s)
{
	struct party *mine = find_party(r, &r->root, s->tenant_id), *most = largest(r, &r->root), *own;

	if (most != NULL && most->seats >= (mine != NULL ? mine->seats : 0) + 2)
		return largest(r, most);
	if (mine == NULL)
		return NULL;
	own = find_party(r, mine, s->principal_id);
	most = largest(r, mine);
	return most->seats >= (own != NULL ? own->seats : 0) + 2 ? most : NULL;
}

/* Of the same upload, which it supersedes; else of who has most. */
static bool
make_place(struct room *r, const struct seat *newcomer)
{
	const struct party *from = who_gives(r, newcomer);
	struct seat *s, *least = NULL;

	for (s = r->seats; s != NULL; s = s->next)
		if (!newcomer->beside && s->ended == ERR_NONE && uuid_equal(s->upload_id, newcomer->upload_id)) {
			end_seat(r, s, ERR_UPLOAD_SUPERSEDED);
			return true;
		}
	for (s = r->seats; from != NULL && s != NULL; s = s->next)
		if (s->principal == from && s->ended == ERR_NONE && (least == NULL || s->received < least->received))
			least = s;
	if (least != NULL)
		end_seat(r, least, ERR_TOO_BUSY);
	return least != NULL;
}

bool
room_enter(struct room *r, struct seat *s)
{
	bool there;

	pthread_mutex_lock(&r->lock);
	there = r->root.seats < r->places || make_place(r, s);
	if (there) {
		r->root.seats++;
		s->tenant = join_party(r, &r->root, s->tenant_id);
		s->principal = join_party(r, s->tenant, s->principal_id);
		s->thread = pthread_self();
		pthread_cond_init(&s->granted, NULL);
		s->next = r->seats;
		r->seats = s;
	}
	pthread_mutex_unlock(&r->lock);
	return there;
}

void
room_leave(struct room *r, struct seat *s)
{
	struct seat **at;

	pthread_mutex_lock(&r->lock);
	for (at = &r->seats; *at != s; at = &(*at)->next)
		continue;
	*at = s->next;
	if (s->ended == ERR_NONE)
		uncount(r, s);
	leave_party(r, s->principal);
	leave_party(r, s->tenant);
	pthread_mutex_unlock(&r->lock);
	pthread_cond_destroy(&s->granted);
}

void
room_supersede(struct room *r, struct seat *mine, int64_t attempt)
{
	struct seat *s;

	pthread_mutex_lock(&r->lock);
	mine->attempt = attempt;
	for (s = r->seats; s != NULL; s = s->next)
		if (s->attempt > 0 && s->attempt < attempt && s->ended == ERR_NONE &&
		    uuid_equal(s->upload_id, mine->upload_id))
			end_seat(r, s, ERR_UPLOAD_SUPERSEDED);
	pthread_mutex_unlock(&r->lock);
}

int
room_taken(struct room *r)
{
	int n;

	pthread_mutex_lock(&r->lock);
	n = r->root.seats;
	pthread_mutex_unlock(&r->lock);
	return n;
}

int64_t
room_received(struct room *r, struct uuid upload_id)
{
	const struct seat *s;
	int64_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (s = r->seats; s != NULL; s = s->next)
		if (uuid_equal(s->upload_id, upload_id))
			n += atomic_load(&s->received);
	pthread_mutex_unlock(&r->lock);
	return n;
}

bool
room_take_list(struct room *r, struct seat *mine)
{
	const struct seat *s;
	int all = 0, own = 0;

	pthread_mutex_lock(&r->lock);
	for (s = r->seats; s != NULL; s = s->next) {
		all += s->has_list;
		own += s->has_list && s->tenant == mine->tenant;
	}
	mine->has_list = all < ROOM_LISTS && own < ROOM_LISTS / 4;
	pthread_mutex_unlock(&r->lock);
	return mine->has_list;
}

void
room_give_list(struct room *r, struct seat *mine)
{
	pthread_mutex_lock(&r->lock);
	mine->has_list = false;
	pthread_mutex_unlock(&r->lock);
}

static void
begin_work(struct party *p, enum turn turn)
{
	if (p->busy[turn]++ == 0 && p->moved[turn] < p->of->clock[turn])
		p->moved[turn] = p->of->clock[turn];
}

static void
grant(struct seat *s, enum turn turn)
{
	s->tenant->of->clock[turn] = s->tenant->moved[turn];
	s->tenant->clock[turn] = s->principal->moved[turn];
	s->has_turn = true;
}

static bool
goes_before(const struct seat *a, const struct seat *b, enum turn turn)
{
	if (a->tenant != b->tenant)
		return a->tenant->moved[turn] < b->tenant->moved[turn];
	return a->principal->moved[turn] < b->principal->moved[turn];
}

static void
grant_next(struct room *r, enum turn turn)
{
	struct seat **at, **next = &r->waiting[turn], *s;

	for (at = next; *at != NULL; at = &(*at)->next_waiting)
		if (goes_before(*at, *next, turn))
			next = at;
	s = *next;
	*next = s->next_waiting;
	grant(s, turn);
	pthread_cond_signal(&s->granted);
}

void
room_turn(struct room *r, struct seat *s, enum turn turn)
{
	struct seat **at;

	pthread_mutex_lock(&r->lock);
	begin_work(s->tenant, turn);
	begin_work(s->principal, turn);
	s->has_turn = false;
	if (r->free[turn] > 0) {
		r->free[turn]--;
		grant(s, turn);
	} else {
		for (at = &r->waiting[turn]; *at != NULL; at = &(*at)->next_waiting)
			continue;
		s->next_waiting = NULL;
		*at = s;
	}
	while (!s->has_turn)
		pthread_cond_wait(&s->granted, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

void
room_turn_over(struct room *r, struct seat *s, enum turn turn, int64_t bytes)
{
	pthread_mutex_lock(&r->lock);
	s->tenant->moved[turn] += bytes + TURN_COST;
	s->principal->moved[turn] += bytes + TURN_COST;
	s->tenant->busy[turn]--;
	s->principal->busy[turn]--;
	if (r->waiting[turn] != NULL)
		grant_next(r, turn);
	else
		r->free[turn]++;
	pthread_mutex_unlock(&r->lock);
}
