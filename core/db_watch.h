/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between db.c and db_watch.c only: ends a statement whose client has gone, by an alarm clock. */
#ifndef CORE_DB_WATCH_H
#define CORE_DB_WATCH_H

#include <stdint.h>

enum watch_cut { CUT_NONE, CUT_GONE, CUT_LATE };

/*
 * From now on every WATCH_MS, and from the second statement on without a system call: when `client` was closed by the
 * other side, or `longest` ms have gone by since the first call, the socket `server` is shut down, so that whoever
 * reads from it gets an error.  One at a time in a process, which must not use SIGALRM otherwise.
 */
void watch_begin(int client, int server, int64_t longest);
/* The socket is let alone until the next watch_begin(). */
void watch_spare(void);
void watch_end(void);
/* What was done since the first watch_begin(). */
enum watch_cut watch_cut(void);

enum { WATCH_MS = 200 };

#endif
