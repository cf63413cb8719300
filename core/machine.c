/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The name of a machine: host and PID namespace; what the kernel tells of a process. */
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

/* The name of the program stands in parentheses and may hold anything. */
bool
machine_process(pid_t pid, struct machine_process *out)
{
	char path[64], line[1024], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	p = fgets(line, sizeof(line), f);
	fclose(f);
	p = p == NULL ? NULL : strrchr(line, ')');
	return p != NULL && sscanf(p, ") %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
	    &out->state, &out->parent, &out->session, &out->started) == 4;
}
