/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LD_PRELOAD: the load of the machine is what stands in the file that LOADAVG names. */
#include <stdio.h>
#include <stdlib.h>

int
getloadavg(double *loads, int n)
{
	const char *path = getenv("LOADAVG");
	FILE *f = path == NULL || n < 1 ? NULL : fopen(path, "re");
	int got = f == NULL ? -1 : fscanf(f, "%lf", loads);

	if (f != NULL)
		fclose(f);
	return got == 1 ? 1 : -1;
}
