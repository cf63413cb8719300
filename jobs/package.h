/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files packed into one: a ZIP archive as all systems open it, with 64-bit sizes where they are needed. */
#ifndef JOBS_PACKAGE_H
#define JOBS_PACKAGE_H

#include "core/arena.h"
#include "core/fault.h"

/* A file of this machine, which stays until it is written. */
struct package_entry {
	const char *name;		/* package_name() */
	const char *path;
	bool is_text;
	const char *key;		/* filename_key() of the name: by package_add() */
};

struct package {
	struct package_entry *at;
	size_t n, room;
};

/* filename_safe() and an ending ("mp4", "de.vtt", NULL: none), of 255 bytes in all, and no other of the package by its
 * filename_key(). */
const char *package_name(struct arena *, const struct package *, const char *text, const char *ending);
void package_add(struct arena *, struct package *, struct package_entry);

/* Of all its files. */
int64_t package_bytes(const struct package *);

/* Media is stored as it is, text is deflated.  `progress` is told from 0 to 100.  False with the fault. */
bool package_write(struct arena *, const struct package *, const char *path, void (*progress)(void *user, int percent),
    void *user, struct fault *);

#endif
