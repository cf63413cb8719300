/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one way a foreign program is started: argument array, no shell, empty environment, closed descriptors, own
 * session, rlimits, no_new_privs, Landlock, seccomp without sockets, killed as a whole when it stops making progress.
 * See landlock(7), seccomp(2).  jail_check() runs a probe at start; a machine that cannot isolate runs nothing unless
 * the setting sandbox = degraded.
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
	int64_t memory;			/* RLIMIT_AS in bytes; 0: 4 GiB */
	int64_t file_size;		/* RLIMIT_FSIZE in bytes; 0: 64 GiB */
	int cpu_seconds;		/* 0: 4 h */
	int wall_seconds;		/* 0: 6 h */
	int idle_seconds;		/* ended after so long without output on out or a change of *progress; 0: 120 */

	/* Called with bytes of standard output as they arrive.  NULL: kept in result.out, up to 16 MiB.  False ends the
	 * program. */
	bool (*on_out)(void *user, const char *bytes, size_t n);
	/* Called for each line on the descriptor the program knows as 3 (ffmpeg -progress pipe:3). */
	void (*on_progress)(void *user, const char *line);
	void *user;
	bool threads_only;		/* it may start threads but no further process: decoders */
};

enum jail_end {
	JAIL_EXITED,		/* .status holds the exit status */
	JAIL_SIGNALLED,		/* .status holds the signal */
	JAIL_IDLE, JAIL_WALL, JAIL_CPU, JAIL_STOPPED,	/* ended by a watchdog, or by on_out */
	JAIL_NOT_STARTED,	/* no such program, no isolation, no descriptors */
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

/* Can this machine isolate?  Runs a child that tries what the sandbox must refuse (read /etc/passwd, write outside,
 * open a socket, ptrace).  NULL when all was refused, else what was possible.  Remembered for jail_run(). */
const char *jail_check(struct arena *, bool degraded);

/* Where a helper program of ours lies: in KINOTHEK_LIBEXEC, beside the running program (a build tree), else where it
 * was installed. */
const char *jail_helper(struct arena *, const char *name);

#endif
