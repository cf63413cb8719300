/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the schema is, for those who bring it in and those who check it; whose the installation is. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "cli/cli.h"

/* The programs run as this user when packages or the units of httpd-conf/ start them, and Debian's web servers as that
 * group. */
#define ACCOUNT "kinothek"
#define WEB_GROUP "www-data"

const char *schema_dir(const struct cli *);

#endif
