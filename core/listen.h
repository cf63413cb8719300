/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The listening unix socket of a FastCGI program and the processes that share it.
 *
 *	--socket PATH	makes the socket and becomes the master of --workers processes
 *			(--mode and --group say who may connect)
 *	socket of systemd (LISTEN_FDS), or on fd 0 with --workers: the same without making one
 *	socket on fd 0 alone (mod_fcgid, spawn-fcgi): this process serves, no master
 *
 * The master starts again what dies (slower and slower when it dies at once).  SIGTERM: every worker finishes the
 * request in its hands and ends; the socket stays whole for whoever else holds it, so a restart with an inherited
 * socket loses nothing.  SIGHUP: the master starts the program anew in its own place, same socket, same process id.
 */
#ifndef CORE_LISTEN_H
#define CORE_LISTEN_H

#include <stdbool.h>

struct listen {
	const char *path;	/* --socket */
	int mode;		/* --mode; 0: 0660 */
	const char *group;	/* --group; NULL: that of this process */
	int workers;		/* --workers */
	int otherwise;		/* workers of a master that was not told; 0: four per core */
	int grace;		/* s for requests in flight after SIGTERM; 0: as long as they take */
};

#define LISTEN_USAGE \
	"  --socket PATH   make a unix socket there and serve it with several processes\n" \
	"  --mode MODE     its permissions (0660)\n" \
	"  --group NAME    its group, that of the web server\n" \
	"  --workers N     processes (four per core)\n"

/* Takes argv[*i], and its value, if it is one of the options above.  A bad value ends the program with 64. */
bool listen_option(struct listen *, int argc, char **argv, int *i);

/*
 * Returns in each worker, with the listening socket on fd 0 and signals set; the master never returns.  Ends the
 * program with a sentence when there is no socket (64) or it cannot be made (71).  Call it before connecting to
 * anything.
 */
void listen_start(const struct listen *, char **argv);

/* Makes the socket of such options, for a program that is one process and no master.  Ends it with 71 otherwise. */
int listen_make(const struct listen *);

/*
 * For a worker: the listening socket under a descriptor of its own, which from now on blocks none of the processes that
 * share it; and one that can be read when listen_stopping() becomes true.
 */
int listen_door(void);
int listen_stop(void);
bool listen_stopping(void);

/* Raises the limit of open files as far as it may be: for a program that holds a connection for each client. */
void listen_for_many(void);

/* The web server has started this process itself, and gives it one connection at a time (mod_fcgid). */
bool listen_is_alone(void);

/* Tells systemd, if it asked to be told: "READY=1", "STOPPING=1", "STATUS=…". */
void listen_notify(const char *state);

#endif
