/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often an address, or a network of IPv6, tried a name's secret in vain: a bucket per pair of the two, which all
 * processes of this machine share (core/bucket.h).  It bounds the load of guessing; that nobody guesses right is the
 * work of the secret's 256 bits.  Nobody is held up by what another address does.
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
/* One that counted before it was known has not been in vain. */
void tries_succeeded(const char *address, const char *name, int64_t now_ms);

#endif
