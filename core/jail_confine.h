/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the parts of core/jail.c share.  jail.c starts a program and watches it, jail_confine.c takes from the child
 * what it must not have, jail_memory.c counts and bounds what its processes hold together, jail_probe.c tries all that.
 */
#ifndef CORE_JAIL_CONFINE_H
#define CORE_JAIL_CONFINE_H

#include <sys/types.h>

#include "core/jail.h"

enum {
	JAIL_FD_FIRST = 16,		/* descriptors of the parent lie above the ones that the child renumbers */
	JAIL_CPU_DEFAULT = 4 * 3600,	/* s */
};
#define JAIL_MEMORY_DEFAULT (INT64_C(4) << 30)

/* What the machine can do; found out once per process, inherited by fork(). */
struct jail_machine {
	bool known, landlock, seccomp, degraded;
	int abi;		/* of Landlock */
	char groups[512];	/* directory of the control groups, "" where none is delegated; see jail_delegate() */
};
extern struct jail_machine jail_machine;

/* A program about to run.  A probe runs a function of ours in its place. */
struct jail_start {
	const struct jail *jail;
	const char *program;
	char *const *argv, *const *env;
	void (*probe)(void);
	int64_t together;	/* bytes that all its processes may hold */
	int fds[4], rules, report, group;
	pid_t parent;
};

/* What the child says on .report when it cannot begin; nothing else is ever written there. */
struct jail_report {
	enum jail_end end;
	char text[100];
};

/* jail.c.  Runs it to its end, as jail_run() does. */
bool jail_execute(struct arena *, struct jail_start *, struct jail_result *);

/* jail_confine.c.  Does this kernel take rules and filters at all?  Their effect is tried by jail_probe.c.  False when
 * it could not be found out for a want that may pass. */
bool jail_ask(struct jail_machine *);
/* A descriptor of the Landlock rules for this program; -1 with errno. */
int jail_rules(const struct jail_start *);
_Noreturn void jail_child(const struct jail_start *);
/* A want that passes: of processes, descriptors or memory. */
bool jail_want(int error);

/* jail_memory.c.  A control group for a program and its descriptor, where groups are delegated. */
struct jail_group { char path[600]; int fd; };
/* .fd is -1 where there is none. */
struct jail_group jail_group_make(int64_t memory);
/* Puts the calling process in, which takes the kernel 10 ms: jail_child() does where clone3(), which takes none, is
 * refused (RestrictNamespaces= of systemd).  False with errno. */
bool jail_group_enter(int fd);
void jail_group_kill(const struct jail_group *);
/* Was something in it ended because all held too much? */
bool jail_group_overflowed(const struct jail_group *);
void jail_group_remove(struct jail_group *);
/* Do the processes of the session hold more than so many bytes? */
bool jail_holds_more(pid_t session, int64_t bytes);

#endif
