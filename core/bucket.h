/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Token buckets that all processes of this machine share: how much somebody may do, at once and in the long run.
 *
 * A bucket is one number, the moment at which it will be full again, and taking from it moves that on by
 * compare-and-swap.  So two never take the same token, nothing is locked, and a process that is killed anywhere leaves
 * nothing behind.  A full one takes no memory: where all places of a set are taken, the bucket that is full first makes
 * room for a new one.  Owners are told apart by a keyed hash, so that nobody can choose who shares a set.
 *
 * They stand in run_dir/rates (core/shared.h), and outlive the processes.  Without that file each process counts for
 * itself.  Other machines have buckets of their own, and hear of the emptier ones through the database every few
 * seconds: whoever finds one due tells what was taken here since, and what is owed everywhere is owed here, too.
 */
#ifndef CORE_BUCKET_H
#define CORE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

enum { BUCKET_TELL_MS = 5000 };

struct bucket {
	const char *kind;		/* buckets of two kinds have nothing in common */
	int64_t quota, window;		/* holds so many, and fills in so many ms */
};

struct level {
	int64_t left;			/* tokens that are there */
	int64_t full_in, one_in;	/* ms until all are, or one is; 0: now */
	bool due;			/* a quarter is gone, and other machines have not heard lately */
};

/* Called once at start; before it this process counts for itself. */
void bucket_open(const char *run_dir);
void bucket_close(void);

/* Takes one, if there is one.  *level is what it finds then. */
bool bucket_take(const struct bucket *, const char *owner, int64_t now_ms, struct level *);
/* Takes one whether there is one or not: up to one more bucket is owed. */
void bucket_owe(const struct bucket *, const char *owner, int64_t now_ms);
/* Puts one back that has turned out not to count. */
void bucket_give(const struct bucket *, const char *owner, int64_t now_ms);
void bucket_look(const struct bucket *, const char *owner, int64_t now_ms, struct level *);

/* What it holds, in µs of filling. */
int64_t bucket_all(const struct bucket *);
/* Of a level that was due: µs of filling taken here that others have not heard of.  0: somebody else tells it. */
int64_t bucket_untold(const struct bucket *, const char *owner, int64_t now_ms);
/* They have heard of so much, and know of so much in all, with it. */
void bucket_told(const struct bucket *, const char *owner, int64_t now_ms, int64_t heard, int64_t owed);

#endif
