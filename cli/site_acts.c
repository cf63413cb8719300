/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the steps of kinothek setup do to the machine: files, directories, programs. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/site.h"
#include "core/disk.h"

enum { FILE_MAX = 1 << 20 };

int
site_fail(const struct site *s, int status, const char *advice, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail(s->c, status, "setup, %s: %s", s->step, arena_vprintf(s->mem, format, args));
	va_end(args);
	if (advice != NULL)
		fprintf(stderr, "  -> %s\n", advice);
	return status;
}

void
site_say(const struct site *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("%-12s %s\n", s->step, arena_vprintf(s->mem, format, args));
	va_end(args);
	fflush(stdout);
}

char *
site_read(struct site *s, const char *path)
{
	char *text = arena_alloc(s->mem, FILE_MAX + 1);
	FILE *f = fopen(path, "re");
	size_t n;

	if (f == NULL)
		return NULL;
	n = fread(text, 1, FILE_MAX, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

static bool
holds(struct site *s, const struct site_file *f)
{
	const char *text = site_read(s, f->path);

	return text != NULL && strlen(text) == f->n && memcmp(text, f->bytes, f->n) == 0;
}

bool
site_put(struct site *s, const struct site_file *f)
{
	const char *draft = arena_printf(s->mem, "%s.new", f->path);
	bool fine;
	int fd;

	if (holds(s, f))
		return s->dry || (chown(f->path, f->uid, f->gid) == 0 && chmod(f->path, f->mode) == 0);
	if (s->dry) {
		site_say(s, "would write %s", f->path);
		return true;
	}
	unlink(draft);
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = write(fd, f->bytes, f->n) == (ssize_t)f->n && fchown(fd, f->uid, f->gid) == 0 &&
	    fchmod(fd, f->mode) == 0 && fsync(fd) == 0;
	close(fd);
	s->changed = true;
	return fine && rename(draft, f->path) == 0 && disk_sync_parent(f->path);
}

bool
site_make_dir(struct site *s, const char *path, uid_t uid, gid_t gid, mode_t mode)
{
	if (s->dry && access(path, F_OK) != 0)
		site_say(s, "would make %s", path);
	if (s->dry)
		return true;
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return false;
	return lchown(path, uid, gid) == 0 && chmod(path, mode) == 0;
}

/* In the child. */
static void __attribute__((noreturn)) become(const char *const *argv, int out, int err)
{
	int nothing = open("/dev/null", O_RDWR);

	dup2(nothing, 0);
	dup2(out, 1);
	dup2(err, 2);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* The last line that is not empty. */
static const char *
last_line(struct arena *mem, char *text)
{
	size_t n = strlen(text);
	const char *begin;

	while (n > 0 && strchr(" \n\r", text[n - 1]) != NULL)
		text[--n] = '\0';
	begin = strrchr(text, '\n');
	return arena_copy(mem, begin == NULL ? text : begin + 1);
}

/* out: -1 = it is read with the errors. */
static int
run(struct site *s, const char *const *argv, int out)
{
	char text[8192] = "";
	size_t n = 0;
	int pipes[2], status;
	ssize_t got;
	pid_t pid;

	fflush(stdout);
	if (pipe2(pipes, O_CLOEXEC) != 0 || (pid = fork()) < 0)
		return 126;
	if (pid == 0)
		become(argv, out < 0 ? pipes[1] : out, pipes[1]);
	close(pipes[1]);
	while ((got = read(pipes[0], text + n, sizeof(text) - 1 - n)) > 0 || (got < 0 && errno == EINTR)) {
		n += got > 0 ? (size_t)got : 0;
		if (n > sizeof(text) / 2) { /* only the end matters */
			memmove(text, text + n - 1024, 1024);
			n = 1024;
		}
	}
	close(pipes[0]);
	text[n] = '\0';
	s->said = last_line(s->mem, text);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
site_ask(struct site *s, const char *const *argv)
{
	return run(s, argv, -1);
}

int
site_run(struct site *s, const char *const *argv)
{
	struct buf b = BUF(s->mem);
	size_t i;

	if (!s->dry)
		return run(s, argv, -1);
	for (i = 0; argv[i] != NULL; i++)
		buf_printf(&b, " %s", argv[i]);
	site_say(s, "would run%s", buf_string(&b));
	s->said = "";
	return 0;
}

int
site_kinothek(struct site *s, int out, const char *const *arg)
{
	const char *argv[12] = { "/proc/self/exe" };
	size_t i;

	for (i = 0; i < 10 && arg[i] != NULL; i++)
		argv[i + 1] = arg[i];
	return run(s, argv, out);
}

bool
site_has_systemd(const struct site *s)
{
	return s->start && access("/run/systemd/system", F_OK) == 0;
}
