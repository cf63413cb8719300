/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole database as a file of SQL, by the tools of its server: as one moment of it, while others work.  They run as
 * they are, without a shell and outside of the jail: they see our own data alone, and need the server.  Settings and
 * password reach them in memory that only they inherit, never in arguments or in the environment.
 */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include "cli/cli.h"

/* An exit status; what went wrong is told already. */
int dump_write(const struct cli *, const char *path);
int dump_load(const struct cli *, const char *path);

#endif
