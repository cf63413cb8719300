/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The connections of one FastCGI worker.  One request is answered at a time, and none is waited for: a worker takes
 * only what is there as a whole.  A request whose body is still on its way, an answer that the web server does not take
 * yet, and the rest of a body that was refused, are connections put aside in a poll set beside the listening socket.
 * So a client that is slow holds some memory for a while, and never a worker.  So does a request whose turn it is not
 * (core/load.h): it waits in the set until it is.
 *
 * The set is bounded in number, bytes and time.  When it is full the connection that has been there longest is answered
 * and dropped: first those that only drain, then those of nobody known, those that wait for a turn, then the others.
 *
 * A refused body is still read for a while (drained): a web server that finds its connection gone while it sends may
 * never look at the answer.
 */
#ifndef CORE_SERVER_H
#define CORE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/fcgi.h"
#include "core/text.h"

enum visit_fault { VISIT_FINE, VISIT_TOO_LARGE, VISIT_HEAD_TOO_LARGE, VISIT_TOO_SLOW, VISIT_CROWDED, VISIT_NO_TURN };
enum visit_stage { VISIT_READS, VISIT_WAITS, VISIT_WRITES, VISIT_DRAINS };

/* One connection with its one request. */
struct visit {
	struct fcgi in;			/* head complete, whole, or too large */
	int fd;
	enum visit_fault fault;		/* why it is answered before it is whole, or its turn */
	bool known;			/* set by admit(), besides in.body_max: the sender has shown who it is */
	bool counted;			/* kept between admit() and each answer() */
	struct uuid tenant;		/* set by answer() when it is not its turn */
	int64_t began;			/* ms of clock_ms() */

	/* The server's own. */
	enum visit_stage stage;
	bool judged;			/* admit() has said yes */
	int place;			/* in the set, -1: not there */
	unsigned events;		/* that are waited for */
	int64_t head_there, deadline;	/* ms */
	unsigned char *rest;		/* of the answer */
	size_t rest_at, rest_n, drained;
};

struct server {
	int waiting_max;		/* connections put aside */
	size_t bytes_max;		/* and what they may hold in all */
	int head_ms;			/* for the head, which web servers send at once */
	int anonymous_ms;		/* for the body of a sender who is not known */
	int known_ms, rate;		/* of one who is: and a second more for each `rate` bytes */
	int turn_ms;			/* until its turn comes */
	int silence_ms;			/* without the web server taking anything of an answer */
	int drain_ms;
	size_t drain_bytes;
	int idle_ms;			/* without anything to do until idle() is called, once */
	int stop_ms;			/* for all that is there when the worker is asked to end */

	/* The head is there, the body is not: true to wait for it.  False: it is answered already. */
	bool (*admit)(struct visit *, void *user);
	/* Answers by server_send().  False: it is not its turn, which it has not to wait for with a fault. */
	bool (*answer)(struct visit *, void *user);
	void (*idle)(void *user);	/* or NULL */
	/* or NULL: looks after what was taken by server_take(), at each turn and when beside_fd can be read.  Returns
	 * the ms after which it wants to be called at the latest, -1: it need not */
	int (*beside)(void *user);
	int beside_fd;
	void *user;

	/* Its own. */
	int beside_ms;
	int epoll, door, n, look_ms;	/* until somebody may have a turn; -1: nobody waits for one */
	int64_t idle_at;		/* ms; far away once it was called */
	int64_t stop_at;		/* ms; far away until the worker shall end */
	struct visit **waiting, *spare;
	struct epoll_event *happened;
	int happened_n;
};

/* Serves the listening socket of core/listen.h.  Returns when the worker shall end and everything is answered. */
void server_run(struct server *);

/* In answer(): the connection is the caller's from now on, which answers and closes it. */
int server_take(struct server *, struct visit *);

/* Answers with the parts, one after the other.  They need not outlive the call. */
void server_send(struct visit *, struct arena *, const struct iovec *parts, size_t n);

#endif
