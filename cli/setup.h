/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the schema is, for those who bring it in and those who check it. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "cli/cli.h"

const char *schema_dir(const struct cli *);

#endif
