/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that all processes of one account on this machine share, whoever has started them: a small file in run_dir
 * that they map; in run_dir/fcgid where they may not write the former.  It begins as zeros.
 */
#ifndef CORE_SHARED_H
#define CORE_SHARED_H

#include <stddef.h>

/* NULL, and a line in the log: there is no room, or no right.  Another layout needs another name.  munmap() ends it. */
void *shared_map(const char *run_dir, const char *name, size_t size);

#endif
