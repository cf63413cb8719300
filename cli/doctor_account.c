/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of who may read what: the account of the programs, and that of the web server. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"

/* Of Debian's web servers. */
static const char web_account[] = "www-data";

/* What the web server's account meets. */
enum sight { NO_KEY = 1, NO_MEDIA = 2, NO_API = 4, NO_UPLOAD = 8, READS_SECRETS = 16, NOT_THIS = 32 };
static int sights = -1;			/* -1: nobody could look */

static char served[4096];		/* a file that is served */

static bool
can_read(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int
first_file(const char *path, const struct stat *st, int what, struct FTW *at)
{
	if (what != FTW_F || path[at->base] == '.')
		return 0;
	strncpy(served, path, sizeof(served) - 1);
	return 1;
}

static bool
reaches(struct cli *c, const char *name)
{
	return sockets_listen(arena_printf(c->mem, "%s/%s.sock", c->conf->run_dir, name), SOCK_STREAM);
}

static _Noreturn void
look_as(struct cli *c, const struct passwd *user)
{
	const char *const *secret = c->conf->files + 1;
	int seen = 0;

	if (initgroups(user->pw_name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)
		_exit(NOT_THIS);
	seen |= can_read(c->conf->play_key_file) ? 0 : NO_KEY;
	seen |= served[0] == '\0' || can_read(served) ? 0 : NO_MEDIA;
	seen |= (reaches(c, "api") ? 0 : NO_API) | (reaches(c, "upload") ? 0 : NO_UPLOAD);
	for (; *secret != NULL; secret++)
		if (strcmp(*secret, c->conf->play_key_file) != 0 && can_read(*secret))
			seen |= READS_SECRETS;
	_exit(seen);
}

void
doctor_look_as_web(struct cli *c)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(web_account) : NULL;
	int status;
	pid_t pid;

	if (user == NULL)
		return;
	nftw(arena_printf(c->mem, "%s/play", c->conf->data_dir), first_file, 16, FTW_PHYS);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		look_as(c, user);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != NOT_THIS)
		sights = WEXITSTATUS(status);
}

struct finding
check_web_account(struct cli *c)
{
	const char *key = c->conf->play_key_file;

	if (sights < 0)
		return FOUND(OK, "not looked at: only root sees what the web server may read", NULL);
	if (sights & READS_SECRETS)
		return FOUND(FAIL, arena_printf(c->mem, "%s can read secrets beside the play key", web_account),
		    "Give the files that settings name mode 0640 and the group of the programs, and take the web server "
		    "out of that group; the play key gets the web server's.");
	if (sights & NO_KEY)
		return FOUND(doctor_port_is_open() ? FAIL : WARN, arena_printf(c->mem, "%s cannot read %s", web_account,
		    key),
		    arena_printf(c->mem, "chgrp %s %s && chmod 0440 %s: without it nothing plays.", web_account, key,
		    key));
	if (sights & NO_MEDIA)
		return FOUND(FAIL, arena_printf(c->mem, "%s cannot read %s", web_account, served),
		    "Directories of data_dir down to play/ need mode 0755, or nothing plays.");
	if (sights & (NO_API | NO_UPLOAD))
		return FOUND(WARN, arena_printf(c->mem, "%s cannot connect to %s/%s.sock", web_account,
		    c->conf->run_dir, sights & NO_API ? "api" : "upload"), "Start the service, and let the web server "
		    "write to its socket; with mod_fcgid there is none.");
	return FOUND(OK, arena_printf(c->mem, "%s reads the play key and media, no secrets, and reaches the sockets",
	    web_account), NULL);
}

/* One that this account cannot read has ended the program before. */
struct finding
check_settings(struct cli *c)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user != NULL ? user->pw_name : "this account";
	size_t n = 0;

	while (c->conf->files[n] != NULL)
		n++;
	return FOUND(OK, arena_printf(c->mem, "%s reads %zu files; what follows is as %s sees it", name, n, name),
	    NULL);
}

struct finding
check_play_key(struct cli *c)
{
	const char *file = c->conf->play_key_file;
	struct stat st;

	if (c->conf->play_key == NULL)
		return FOUND(FAIL, arena_printf(c->mem, "%s is not there", file), "Run `kinothek init`.");
	if (stat(file, &st) == 0 && (st.st_mode & 07) != 0)
		return FOUND(WARN, arena_printf(c->mem, "%s can be read by everyone", file),
		    arena_printf(c->mem, "chmod 0640 %s, with the group of the web server.", file));
	return FOUND(OK, file, NULL);
}
