/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mariadb-dump and mariadb, or their older names. */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/dump.h"

/* A value of an option file, see my_print_defaults(1). */
static void
put_option(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "%s=\"", name);
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			buf_char(b, '\\');
		buf_char(b, *value);
	}
	buf_text(b, "\"\n");
}

/* A file without a name that the tool inherits.  -1: told. */
static int
make_options(const struct cli *c)
{
	struct buf b = BUF(c->mem);
	unsigned port = 0;
	const char *host = db_host(c->db, &port);
	int fd;

	if (host == NULL)
		return cli_fail_db(c), -1;
	buf_text(&b, "[client]\n");
	put_option(&b, "user", c->conf->db_user);
	if (c->conf->db_password != NULL)
		put_option(&b, "password", c->conf->db_password);
	if (host[0] == '\0') {
		put_option(&b, "socket", c->conf->db_socket);
	} else {
		put_option(&b, "host", host);
		buf_printf(&b, "port=%u\nprotocol=tcp\n", port);
	}
	buf_text(&b, "default-character-set=utf8mb4\nmax-allowed-packet=1G\n");
	fd = memfd_create("options", 0);
	if (fd < 0 || fchmod(fd, 0600) != 0 || write(fd, b.text, b.len) != (ssize_t)b.len) {
		cli_fail(c, EX_OSERR, "the settings of the database cannot be passed on: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* Who is killed takes the tool along: it would go on loading, beside the one that is started next. */
static _Noreturn void
become(const char *const *names, const char **argv, int in, int out, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(EX_OSERR);
	if ((in >= 0 && dup2(in, STDIN_FILENO) < 0) || (out >= 0 && dup2(out, STDOUT_FILENO) < 0))
		_exit(EX_OSERR);
	for (; *names != NULL; names++) {
		argv[0] = *names;
		execvp(*names, (char *const *)(uintptr_t)argv);
	}
	_exit(EX_UNAVAILABLE);
}

/* argv[1] is left for the options. */
static int
run(const struct cli *c, const char *const *names, const char **argv, int in, int out)
{
	int options = make_options(c), status = 0;
	pid_t parent = getpid(), pid;

	if (options < 0)
		return EX_UNAVAILABLE;
	argv[1] = arena_printf(c->mem, "--defaults-file=/proc/self/fd/%d", options);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(names, argv, in, out, parent);
	close(options);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EX_UNAVAILABLE)
		return cli_fail(c, EX_UNAVAILABLE, "%s is not installed; install the package mariadb-client", names[0]);
	return cli_fail(c, EX_UNAVAILABLE, "%s has failed, see above", names[0]);
}

int
dump_write(const struct cli *c, const char *path)
{
	static const char *const names[] = { "mariadb-dump", "mysqldump", NULL };
	const char *argv[] = { NULL, NULL, "--single-transaction", "--skip-lock-tables", "--quick", "--hex-blob",
		"--no-tablespaces", "--skip-dump-date", "--", c->conf->db_name, NULL };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;

	if (fd < 0)
		return cli_fail(c, EX_CANTCREAT, "%s: %s", path, strerror(errno));
	status = run(c, names, argv, -1, fd);
	if (status == 0 && fsync(fd) != 0)
		status = cli_fail(c, EX_IOERR, "%s: %s", path, strerror(errno));
	close(fd);
	return status;
}

int
dump_load(const struct cli *c, const char *path)
{
	static const char *const names[] = { "mariadb", "mysql", NULL };
	/* A line of a dump that somebody has changed could be a command for the shell of who restores it.  Clients that
	 * know no such option say so and go on. */
	/* What a client that was killed had begun ends on the server later: the next one waits for that. */
	const char *argv[] = { NULL, NULL, "--batch", "--loose-sandbox", "--loose-local-infile=0",
		"--init-command=DO GET_LOCK(CONCAT('kinothek.', MD5(DATABASE())), 300)", "--", c->conf->db_name, NULL };
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0)
		return cli_fail(c, EX_NOINPUT, "%s: %s", path, strerror(errno));
	status = run(c, names, argv, fd, -1);
	close(fd);
	return status;
}
