/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why something could not be done, in one form for all that start programs or touch files, and the one place that knows
 * what the ends of jail.h and errno mean.  A caller that knows its program better says more where the reason is
 * REASON_CRASHED after JAIL_EXITED: the program ran to an end of its own, and nothing of the machine was in its way.
 *
 *	if (jail_run(mem, &jail, &r))
 *		return true;
 *	return fault_of_jail(mem, &jail, &r, fault);
 */
#ifndef CORE_FAULT_H
#define CORE_FAULT_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/jail.h"
#include "core/reasons.h"

struct fault {
	enum reason reason;	/* REASON_NONE: all went well */
	const char *detail;	/* one sentence for the user, without paths; NULL: the remedy of the reason says it */
	/* Lines for the log of the job: how the program ended and what it wrote last, without paths and controls; or
	 * NULL */
	const char *log;
};

/* Sets it without a log.  False, so that it can be returned. */
bool fault_set(struct arena *, struct fault *, enum reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * From the end of a program.  True, and REASON_NONE, when it exited with 0 and complains of no disk.  Where its words
 * or its end may mean a broken storage as well as a broken file, the storage is asked: that takes up to half a minute.
 */
bool fault_of_jail(struct arena *, const struct jail *, const struct jail_result *, struct fault *);

/* From errno of our own work, whose number goes to the log: a fault of the machine by the table, else internal.
 * False. */
bool fault_of_errno(struct arena *, int error, struct fault *, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What errno says about the machine, or `otherwise` when it says nothing about it. */
enum reason fault_reason(int error, enum reason otherwise);

/* Of a process that this signal has ended. */
enum reason fault_of_signal(int signal);

/* Has the kernel killed anything for want of memory since the last call, in this process or in that which forked it?
 * fault_of_signal() asks it about SIGKILL; whoever begins to watch asks once before. */
bool fault_memory_was_short(void);

/* Does it lie in the file, so that another attempt would end in the same way? */
bool fault_is_final(const struct fault *);

#endif
