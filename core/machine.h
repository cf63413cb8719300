/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which machine this is, for what machines that share a store or a database keep apart; and its processes. */
#ifndef CORE_MACHINE_H
#define CORE_MACHINE_H

#include <sys/types.h>

#include <stdbool.h>

/* "{host}/{pid namespace}": two containers may share the name of a host, and processes their numbers.  The same from
 * start to start of a machine; a container that starts anew is another one. */
const char *machine_name(void);

/* From /proc/{pid}/stat, see proc(5).  False: there is no such process. */
struct machine_process {
	char state;			/* 'Z': ended, but not waited for */
	pid_t parent, session;
	unsigned long long started;	/* ticks after boot: tells it from a later one of the same number */
};
bool machine_process(pid_t, struct machine_process *);

#endif
