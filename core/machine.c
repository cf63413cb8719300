/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The name of a machine: host and PID namespace. */
#include <sys/stat.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/machine.h"

const char *
machine_name(void)
{
	static char name[90];
	char host[60] = "", *slash;
	struct stat ns;

	if (name[0] != '\0')
		return name;
	gethostname(host, sizeof(host) - 1);
	while ((slash = strchr(host, '/')) != NULL)
		*slash = '_';
	if (stat("/proc/self/ns/pid", &ns) != 0)
		ns.st_ino = 0;
	snprintf(name, sizeof(name), "%s/%llu", host, (unsigned long long)ns.st_ino);
	return name;
}
