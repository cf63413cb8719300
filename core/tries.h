/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often an address tried a name's secret in vain: a leaky bucket per pair of the two, in this process.  It bounds
 * the load of guessing; that nobody guesses right is the work of the secret's 256 bits.
 *
 * Nobody is held up by what another address does.  Pairs are told apart by a keyed hash, so that nobody can choose
 * which ones share a place; where there is no place left, the pair with the fewest tries is forgotten.
 */
#ifndef CORE_TRIES_H
#define CORE_TRIES_H

#include <stdint.h>

enum {
	TRIES_FREE = 30,	/* in vain, one after the other, before the pair has to wait */
	TRIES_MS = 2000,	/* one is forgiven after so long */
};

/* Seconds until the pair may try again; 0: now. */
int64_t tries_wait(const char *address, const char *name, int64_t now_ms);
void tries_failed(const char *address, const char *name, int64_t now_ms);

#endif
