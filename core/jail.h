/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one way a foreign program is started: argument array, no shell, empty environment, closed descriptors, own
 * session, rlimits, no_new_privs, Landlock for files, seccomp with the calls that decoders need and no others, killed
 * as a whole when it stops making progress or holds too much.  See landlock(7), seccomp(2), cgroups(7).  jail_check()
 * runs probes at start; a machine that cannot isolate runs nothing unless the setting sandbox = degraded.
 */
#ifndef CORE_JAIL_H
#define CORE_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

struct jail {
	const char *const *argv;	/* argv[0] is searched in /usr/bin, /bin, /usr/local/bin; ends in NULL */
	/* files and directories it may read beside libraries, fonts and models; ends in NULL */
	const char *const *read;
	const char *write_dir;		/* the one directory it may write; also its working directory; NULL: none */
	int in;				/* descriptor for standard input, or -1 for /dev/null */
	const char *const *env;		/* "NAME=value", ends in NULL; NULL: only PATH, LANG, HOME */
	int64_t memory;			/* bytes: of addresses for each process, of memory for all together; 0: 4 GiB */
	int64_t file_size;		/* RLIMIT_FSIZE in bytes; 0: 64 GiB */
	int cpu_seconds;		/* 0: 4 h */
	int wall_seconds;		/* 0: 6 h */
	int idle_seconds;		/* ended after so long without output on out or a change of *progress; 0: 120 */

	/* Called with bytes of standard output as they arrive.  NULL: kept in result.out, up to 16 MiB.  False ends the
	 * program. */
	bool (*on_out)(void *user, const char *bytes, size_t n);
	/* Called for each line on the descriptor the program knows as 3 (ffmpeg -progress pipe:3). */
	void (*on_progress)(void *user, const char *line);
	/* Called for each line of standard error; of long lines the beginning.  True: it was meant for the caller, and
	 * does not stay in result.err. */
	bool (*on_err)(void *user, const char *line);
	void *user;
	bool threads_only;		/* it may start threads but no further process: decoders */
};

enum jail_end {
	JAIL_EXITED,		/* .status holds the exit status */
	JAIL_SIGNALLED,		/* .status holds the signal, which is its own doing */
	JAIL_KILLED,		/* from outside: by an administrator, or the machine was short of memory */
	JAIL_IDLE, JAIL_WALL, JAIL_CPU,
	JAIL_MEMORY,		/* its processes held more than .memory */
	JAIL_STOPPED,		/* by on_out, or for too much output */

	/* It did not begin; .err says why. */
	JAIL_MISSING,		/* no such program, or none that can be executed */
	JAIL_NO_ISOLATION,	/* not on this machine, see jail_check() */
	JAIL_WANT,		/* of processes, descriptors, memory or its directory, which may pass; also when for
				 * such a want it could not be watched and was ended */
};

struct jail_result {
	enum jail_end end;
	int status;
	const char *out;	/* standard output, ends in NUL */
	size_t out_size;
	const char *err;	/* the last 8 KiB of standard error */
	int64_t wall_ms, cpu_ms, peak_rss;	/* bytes */
};

/* Runs the program to its end.  Blocks.  True when it exited with 0. */
bool jail_run(struct arena *, const struct jail *, struct jail_result *);

/* Can this machine isolate?  Runs children that try what the sandbox must refuse: files, attributes and processes of
 * others, sockets, namespaces, memory beyond the limit, calls that are new.  NULL when all was refused, else what was
 * possible.  Remembered for jail_run(), unless it could not be found out for a want that may pass. */
const char *jail_check(struct arena *, bool degraded);

/* For a service at its start, before it forks and before jail_check().  If it has a control group of its own (version
 * 2, Delegate= of systemd), each program gets one below it with memory.max and pids.max.  False where it has none: then
 * what the processes of a program hold together is looked at five times a second. */
bool jail_delegate(void);

/* Where a helper program of ours lies: in KINOTHEK_LIBEXEC, beside the running program (a build tree), else where it
 * was installed. */
const char *jail_helper(struct arena *, const char *name);

#endif
