/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening socket, prefork master, signals. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/listen.h"
#include "core/log.h"
#include "core/text.h"

#define BACKLOG 1024		/* with a short one lighttpd answers 500 at once */
#define WORKERS_MAX 1024
#define YOUNG_MS 2000		/* a worker that dies before this age delays the next one */
#define LEAVE_MS 3000		/* for the workers of a master that was killed */
#define DELAY_MS 100
#define DELAY_MAX_MS 5000
#define AGAIN "KINOTHEK_LISTEN_AGAIN"	/* set for the program that SIGHUP starts in our place */

struct master {
	const struct listen *options;
	char **argv;
	int workers;
	pid_t pid[WORKERS_MAX];
	int64_t born[WORKERS_MAX];
	int64_t not_before;	/* no new worker earlier than this */
	int64_t delay;
	int64_t kill_at;	/* 0: not stopping, or no limit */
	bool stopping;
};

static volatile sig_atomic_t stopping;
static bool alone;
static int nothing = -1;	/* /dev/null */
static int bell = -1;		/* an eventfd, for who asked for one */

static void __attribute__((noreturn, format(printf, 2, 3)))
stop_program(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static int
option_number(const char *name, const char *text, int base, int max)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, base);
	if (errno || end == text || *end || n < 1 || n > max)
		stop_program(64, "%s takes a number from 1 to %d, not \"%s\"", name, max, text);
	return (int)n;
}

bool
listen_option(struct listen *l, int argc, char **argv, int *i)
{
	const char *name = argv[*i], *value;

	if (strcmp(name, "--socket") && strcmp(name, "--mode") && strcmp(name, "--group") && strcmp(name, "--workers"))
		return false;
	if (*i + 1 >= argc)
		stop_program(64, "%s needs a value", name);
	value = argv[++*i];
	if (!strcmp(name, "--socket"))
		l->path = value;
	else if (!strcmp(name, "--group"))
		l->group = value;
	else if (!strcmp(name, "--mode"))
		l->mode = option_number(name, value, 8, 0777);
	else
		l->workers = option_number(name, value, 10, WORKERS_MAX);
	return true;
}

/* Only a unix socket will do: over TCP anyone could claim to be the web server. */
static bool
is_listening(int fd)
{
	int domain = 0, listening = 0;
	socklen_t n = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) || domain != AF_UNIX)
		return false;
	n = sizeof(int);
	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) && listening;
}

static bool
systemd_socket(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

	if (!pid || !n || atoi(pid) != getpid() || atoi(n) < 1 || !is_listening(3))
		return false;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	dup2(3, 0);
	close(3);
	return true;
}

static void
fill_address(struct sockaddr_un *a, const char *path)
{
	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof a->sun_path)
		stop_program(71, "%s: longer than the %zu characters of a socket path", path, sizeof a->sun_path - 1);
	memcpy(a->sun_path, path, strlen(path));
}

/* The workers of a killed master go within moments: only who listens for longer is somebody else. */
static bool
wait_for_quiet(const struct sockaddr_un *a)
{
	const struct timespec nap = { .tv_nsec = 50 * 1000000 };
	int64_t until = clock_ms() + LEAVE_MS;
	bool heard;

	do {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		heard = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof *a) || errno == EAGAIN);
		if (fd >= 0)
			close(fd);
	} while (heard && clock_ms() < until && !nanosleep(&nap, NULL));
	return !heard;
}

/* -1: as it is. */
static gid_t
group_of(const struct listen *l)
{
	const struct group *g = l->group ? getgrnam(l->group) : NULL;

	if (l->group && !g)
		stop_program(71, "%s: there is no group %s", l->path, l->group);
	return g ? g->gr_gid : (gid_t)-1;
}

/* The units of systemd forbid chown(): nobody needs it who names no group, or where a directory with the set-group-ID
 * bit has given it already. */
static bool
give_to(const char *name, gid_t group)
{
	struct stat st;

	return group == (gid_t)-1 || (!stat(name, &st) && st.st_gid == group) || !chown(name, (uid_t)-1, group);
}

/* Made under another name and moved into place, so that the path always leads to a socket that listens. */
int
listen_make(const struct listen *l)
{
	struct sockaddr_un a, made;
	char name[sizeof a.sun_path + 16];
	gid_t group = group_of(l);
	int fd;

	fill_address(&a, l->path);
	if (!wait_for_quiet(&a))
		stop_program(71, "%s: another process is listening there", l->path);

	snprintf(name, sizeof name, "%s.%d", l->path, (int)getpid());
	fill_address(&made, name);
	unlink(name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&made, sizeof made) || !give_to(name, group) ||
	    chmod(name, l->mode ? l->mode : 0660) || listen(fd, BACKLOG) || rename(name, l->path)) {
		int e = errno;

		unlink(name);
		stop_program(71, "%s: %s", l->path, strerror(e));
	}
	return fd;
}

static void
make_socket(const struct listen *l)
{
	int fd = listen_make(l);

	dup2(fd, 0);
	if (fd)
		close(fd);
	else
		fcntl(0, F_SETFD, 0);
}

void
listen_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof a.sun_path || (*path != '/' && *path != '@'))
		return;
	memcpy(a.sun_path, path, n);
	if (*path == '@')	/* the abstract namespace */
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

/* The listening socket leaves this process's hands but for the door, where the bell wakes who waits.  What a request is
 * doing just goes on. */
static void
on_stop(int sig)
{
	int e = errno;

	stopping = 1;
	dup2(nothing, 0);
	if (bell >= 0)
		eventfd_write(bell, 1);
	errno = e;
}

static void
worker_signals(void)
{
	struct sigaction stop = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	sigset_t none;

	if (nothing < 0)
		nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGUSR1, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void
listen_for_many(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

int
listen_stop(void)
{
	if (bell < 0)
		bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return bell;
}

bool
listen_stopping(void)
{
	return stopping;
}

bool
listen_is_alone(void)
{
	return alone;
}

int
listen_door(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 3), flags = fcntl(fd, F_GETFL);

	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -1 : fd;
}

/* True in the child. */
static bool
start_worker(struct master *m, int slot)
{
	pid_t master = getpid(), pid = fork();

	if (pid < 0) {
		log_text(LOG_LEVEL_ERROR, "listen", "cannot start a worker: %s", strerror(errno));
		m->not_before = clock_ms() + DELAY_MAX_MS;
		return false;
	}
	if (pid) {
		m->pid[slot] = pid;
		m->born[slot] = clock_ms();
		return false;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	worker_signals();
	signal(SIGHUP, SIG_IGN);
	if (getppid() != master)
		_exit(0);
	return true;
}

static void
worker_ended(struct master *m, pid_t pid, int status)
{
	int64_t now = clock_ms();
	int i;

	for (i = 0; i < m->workers && m->pid[i] != pid; i++)
		;
	if (i == m->workers)	/* a worker from before SIGHUP */
		return;
	m->pid[i] = 0;
	if (m->stopping)
		return;
	if (WIFSIGNALED(status))
		log_text(LOG_LEVEL_ERROR, "listen", "worker %d was ended by signal %d", (int)pid, WTERMSIG(status));
	else
		log_text(LOG_LEVEL_WARN, "listen", "worker %d ended with %d", (int)pid, WEXITSTATUS(status));
	if (now - m->born[i] >= YOUNG_MS) {
		m->delay = 0;
		return;
	}
	m->delay = m->delay ? m->delay * 2 : DELAY_MS;
	if (m->delay > DELAY_MAX_MS)
		m->delay = DELAY_MAX_MS;
	if (m->not_before < now + m->delay)
		m->not_before = now + m->delay;
}

/* Collects what has ended.  True when no child is left. */
static bool
collect(struct master *m)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		worker_ended(m, pid, status);
	return pid < 0 && errno == ECHILD;
}

static void
tell_workers(const struct master *m, int sig)
{
	int i;

	for (i = 0; i < m->workers; i++)
		if (m->pid[i])
			kill(m->pid[i], sig);
}

static void
stop_workers(struct master *m)
{
	if (m->stopping) {	/* asked twice: now */
		tell_workers(m, SIGKILL);
		return;
	}
	listen_notify("STOPPING=1");
	m->stopping = true;
	m->kill_at = m->options->grace ? clock_ms() + m->options->grace * INT64_C(1000) : 0;
	if (m->options->path)
		unlink(m->options->path);
	dup2(nothing, 0);
	tell_workers(m, SIGTERM);
}

/* The workers finish what they have; what comes meanwhile waits in the socket for the new ones. */
static void
start_again(struct master *m)
{
	int i;

	log_text(LOG_LEVEL_INFO, "listen", "starting again");
	tell_workers(m, SIGTERM);
	setenv(AGAIN, "1", 1);
	execvp(m->argv[0], m->argv);
	log_text(LOG_LEVEL_ERROR, "listen", "%s: %s", m->argv[0], strerror(errno));
	unsetenv(AGAIN);
	for (i = 0; i < m->workers; i++)
		m->pid[i] = 0;
}

/* Waits for a signal, or until there is something to do. */
static int
wait_signal(const struct master *m, const sigset_t *set, bool hungry)
{
	int64_t now = clock_ms(), ms = 60000;

	if (hungry)
		ms = m->not_before - now;
	else if (m->kill_at)
		ms = m->kill_at - now;
	if (ms < 1)
		ms = 1;
	return sigtimedwait(set, NULL, &(struct timespec){ ms / 1000, ms % 1000 * 1000000 });
}

/* Starts what is missing.  True in a new worker; *hungry: some are still missing. */
static bool
fill_slots(struct master *m, bool *hungry)
{
	int i;

	*hungry = false;
	for (i = 0; i < m->workers && !m->stopping; i++) {
		if (m->pid[i])
			continue;
		if (clock_ms() < m->not_before)
			*hungry = true;
		else if (start_worker(m, i))
			return true;
		else
			*hungry |= !m->pid[i];
	}
	return false;
}

/* Returns in workers only. */
static void
run_master(struct master *m)
{
	sigset_t set;
	bool hungry, ready = false;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (;;) {
		if (fill_slots(m, &hungry))
			return;
		if (!ready)
			listen_notify("READY=1");
		ready = true;
		switch (wait_signal(m, &set, hungry)) {
		case SIGTERM:
		case SIGINT:
			stop_workers(m);
			break;
		case SIGHUP:
			if (!m->stopping)
				start_again(m);
		}
		if (collect(m) && m->stopping)
			exit(0);
		if (m->kill_at && clock_ms() >= m->kill_at)
			tell_workers(m, SIGKILL);
	}
}

void
listen_start(const struct listen *l, char **argv)
{
	static struct master m;
	bool again = getenv(AGAIN) != NULL;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int otherwise = l->otherwise ? l->otherwise : (int)(cores > 0 ? cores * 4 : 4);

	unsetenv(AGAIN);
	if (again && is_listening(0))
		;
	else if (l->path)
		make_socket(l);
	else if (!systemd_socket()) {
		if (!is_listening(0))
			stop_program(64, "no socket to serve: give --socket PATH, or a listening unix socket on fd 0");
		if (!l->workers) {
			alone = true;
			worker_signals();
			return;
		}
	}
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	m.options = l;
	m.argv = argv;
	m.workers = l->workers ? l->workers : otherwise;
	if (m.workers > WORKERS_MAX)
		m.workers = WORKERS_MAX;
	run_master(&m);
}
