/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What backup, restore and rebuild share: how far they are, and paths of a backup. */
#ifndef CLI_BACKUP_H
#define CLI_BACKUP_H

#include "cli/cli.h"

/* On standard error, every other second and at the end: "copying: 12 of 340 files, 1.2 GiB". */
struct progress { const char *what; size_t n, all; int64_t bytes, said_at; };
void backup_progress(const struct cli *, struct progress *, int64_t bytes);

/* Does a file of the backup belong to the store, and is so called as it is there? */
bool backup_is_stored(const char *path);

/* One at a time works with a directory.  A descriptor that holds it, or -1: told. */
int backup_lock(const struct cli *, const char *dir);

#endif
