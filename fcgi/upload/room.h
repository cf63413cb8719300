/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who sends to this process, and whose turn it is.
 *
 * There are so many places.  When all are taken, a newcomer gets that of another if this makes things fairer: of the
 * tenant that holds most, when it holds at least two more than the newcomer's; or, within the newcomer's tenant, of the
 * principal that does.  There the one goes that has brought least.  So one tenant may fill all places while nobody else
 * wants them.  A later PUT of an upload ends the earlier one at once.
 *
 * Work that loads processors and disk is done by so many at a time.  The next is of the tenant for whom least was done
 * lately, in bytes, and there of the principal for whom least was done.
 *
 * All calls may come from any thread; a seat is its transfer's own.
 */
#ifndef FCGI_UPLOAD_ROOM_H
#define FCGI_UPLOAD_ROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/errors.h"
#include "core/text.h"

enum turn { TURN_WRITE, TURN_SYNC, TURNS };

struct party;

struct seat {
	struct uuid upload_id, tenant_id, principal_id;
	bool beside;			/* others of its upload, as parts are: it ends none to have their place */
	atomic_llong received;		/* bytes */
	atomic_int ended;		/* enum error: why it has to go, which SEAT_SIGNAL tells its thread */

	/* The room's own. */
	int64_t attempt;		/* 0: not claimed yet */
	struct seat *next, *next_waiting;
	struct party *tenant, *principal;
	pthread_t thread;
	pthread_cond_t granted;
	bool has_turn, has_list;
};

/* Blocked in threads that send and receive, but while they wait for the connection (ppoll): it is never lost. */
#define SEAT_SIGNAL SIGUSR2

/* `writers` and `syncers` may do such work at a time.  room_free() ends it when nobody is in it. */
struct room *room_new(int places, int writers, int syncers);
void room_free(struct room *);

/* Takes a place for the calling thread.  False: there is none. */
bool room_enter(struct room *, struct seat *);
void room_leave(struct room *, struct seat *);

/* The seat's transfer is this attempt at its upload: earlier ones end.  A seat that is not taken only ends them. */
void room_supersede(struct room *, struct seat *, int64_t attempt);

/* Places that are taken. */
int room_taken(struct room *);

/* Bytes that those who are in it have brought for an upload. */
int64_t room_received(struct room *, struct uuid upload_id);

/* For a long list, which is kept in memory until it was read: few at a time have one, and no tenant more than a quarter
 * of them.  False: it has to come later. */
enum { ROOM_LISTS = 32 };
bool room_take_list(struct room *, struct seat *);
void room_give_list(struct room *, struct seat *);

/* Waits for a turn; then it is over, and `bytes` were moved. */
void room_turn(struct room *, struct seat *, enum turn);
void room_turn_over(struct room *, struct seat *, enum turn, int64_t bytes);

#endif
