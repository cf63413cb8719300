/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who listens on the sockets of this machine. */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

bool
sockets_listen(const char *path, int type)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	bool fine;
	int fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return false;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	fine = fd >= 0 && (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return fine;
}

bool
sockets_runner(const struct cli *c)
{
	bool listens = false;
	glob_t g;
	size_t i;

	if (glob(arena_printf(c->mem, "%s/runner-*.sock", c->conf->run_dir), 0, NULL, &g) == 0)
		for (i = 0; i < g.gl_pathc && !listens; i++)
			listens = sockets_listen(g.gl_pathv[i], SOCK_DGRAM);
	globfree(&g);
	return listens;
}
