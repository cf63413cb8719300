/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See place.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/media/place.h"

int
place_open(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	p->mem = arena_new(1 << 30);
	strcpy(p->dir, "/tmp/av-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	*state = p;
	return 0;
}

int
place_close(void **state)
{
	struct place *p = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	assert_int_equal(system(command), 0);
	arena_free(p->mem);
	free(p);
	return 0;
}

const char *
make(struct place *p, const char *name, const char *command)
{
	const char *path = arena_printf(p->mem, "%s/%s", p->dir, name);
	const char *line = arena_printf(p->mem, "cd %s && O=%s && FF='timeout 600 ffmpeg -v error -nostdin -y' && { %s "
	    "; }", p->dir, path, command);
	struct stat st;

	if (system(line) != 0 || stat(path, &st) != 0)
		fail_msg("cannot make %s: %s", name, command);
	return path;
}
