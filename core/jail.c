/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Foreign programs are started, watched and ended.  What they may do is decided in jail_confine.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/jail_confine.h"
#include "core/text.h"

#ifndef LIBEXEC_DIR
#define LIBEXEC_DIR "/usr/libexec/kinothek"
#endif

enum {
	OUT_MAX = 16 << 20, ERR_MAX = 8 << 10, LINE_MAX_BYTES = 1024,
	/* The first looks at its memory are close together: what is too much often comes at once. */
	LOOK_FIRST_MS = 10, LOOK_MS = 200,
};

struct jail_machine jail_machine;

/* A running program and what is known of it. */
struct watch {
	struct arena *mem;
	const struct jail *jail;
	struct jail_result *result;
	pid_t pid;
	int out, err, progress, pidfd;
	struct jail_group group;
	int64_t together;		/* bytes that it may hold; 0: somebody else sees to it */
	int64_t started, alive, look, looks_apart;	/* .look: when its memory is looked at next */
	struct buf text;
	char tail[2 * ERR_MAX];
	size_t tail_len;
	char line[LINE_MAX_BYTES];
	size_t line_len;
	char err_line[1024];		/* for on_err */
	size_t err_len;
	char seen[3][64];		/* last frame=, total_size= and out_time_us= */
	bool stopped;
};

static const char *
program_find(struct arena *mem, const char *name)
{
	static const char *const dirs[] = { "/usr/bin", "/bin", "/usr/local/bin" };

	if (strchr(name, '/') != NULL)
		return access(name, X_OK) == 0 ? name : NULL;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		const char *path = arena_printf(mem, "%s/%s", dirs[i], name);

		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static char *const *
environment_make(struct arena *mem, const struct jail *jail)
{
	char **env = arena_array(mem, 4, sizeof(*env));

	if (jail->env != NULL)
		return (char *const *)(uintptr_t)jail->env;
	env[0] = arena_copy(mem, "PATH=/usr/bin:/bin");
	env[1] = arena_copy(mem, "LANG=C.UTF-8");
	env[2] = arena_printf(mem, "HOME=%s", jail->write_dir != NULL ? jail->write_dir : "/nonexistent");
	return env;
}

/* Moves a descriptor above those that the child renumbers. */
static int
lift(int fd)
{
	int high = fd;

	if (fd >= 0 && fd < JAIL_FD_FIRST) {
		high = fcntl(fd, F_DUPFD_CLOEXEC, JAIL_FD_FIRST);
		close(fd);
	}
	return high;
}

static bool
pipe_make(int ends[2])
{
	int low[2];

	ends[0] = ends[1] = -1;
	if (pipe2(low, O_CLOEXEC) != 0)
		return false;
	ends[0] = lift(low[0]);
	ends[1] = lift(low[1]);
	return ends[0] >= 0 && ends[1] >= 0;
}

static void
close_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* frame=, total_size= and out_time_us= are signs of life when they change; speed and the like change by themselves. */
static bool
line_is_life(struct watch *w, const char *line)
{
	static const char *const keys[] = { "frame=", "total_size=", "out_time_us=" };

	for (size_t i = 0; i < 3; i++) {
		if (strncmp(line, keys[i], strlen(keys[i])) != 0)
			continue;
		if (strncmp(w->seen[i], line, sizeof(w->seen[i]) - 1) == 0)
			return false;
		snprintf(w->seen[i], sizeof(w->seen[i]), "%.63s", line);
		return true;
	}
	return strchr(line, '=') == NULL;
}

static void
take_progress(struct watch *w, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			if (w->line_len < sizeof(w->line) - 1)
				w->line[w->line_len++] = bytes[i];
			continue;
		}
		w->line[w->line_len] = '\0';
		w->line_len = 0;
		if (line_is_life(w, w->line))
			w->alive = clock_ms();
		if (w->jail->on_progress != NULL)
			w->jail->on_progress(w->jail->user, w->line);
	}
}

static void
take_out(struct watch *w, const char *bytes, size_t n)
{
	w->alive = clock_ms();
	if (w->jail->on_out != NULL) {
		w->stopped |= !w->jail->on_out(w->jail->user, bytes, n);
		return;
	}
	if (w->text.len + n > OUT_MAX)
		w->stopped = true;
	else
		buf_add(&w->text, bytes, n);
}

static void
keep_err(struct watch *w, const char *bytes, size_t n)
{
	while (n > 0) {
		size_t part = n < ERR_MAX ? n : ERR_MAX;

		if (w->tail_len + part > sizeof(w->tail)) {
			memmove(w->tail, w->tail + w->tail_len - ERR_MAX, ERR_MAX);
			w->tail_len = ERR_MAX;
		}
		memcpy(w->tail + w->tail_len, bytes, part);
		w->tail_len += part;
		bytes += part;
		n -= part;
	}
}

static void
take_err(struct watch *w, const char *bytes, size_t n)
{
	if (w->jail->on_err == NULL) {
		keep_err(w, bytes, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			if (w->err_len < sizeof(w->err_line) - 2)
				w->err_line[w->err_len++] = bytes[i];
			continue;
		}
		w->err_line[w->err_len] = '\0';
		if (w->jail->on_err(w->jail->user, w->err_line)) {
			w->alive = clock_ms();
		} else {
			w->err_line[w->err_len++] = '\n';
			keep_err(w, w->err_line, w->err_len);
		}
		w->err_len = 0;
	}
}

/* One read; closes the descriptor at the end of the stream. */
static void
drain(struct watch *w, int *fd, void (*take)(struct watch *, const char *, size_t))
{
	char bytes[65536];
	ssize_t n = read(*fd, bytes, sizeof(bytes));

	if (n > 0)
		take(w, bytes, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		close(*fd);
		*fd = -1;
	}
}

/* Milliseconds until a watchdog bites; 0 when one does, noted in the result. */
static int64_t
patience(struct watch *w)
{
	const int64_t now = clock_ms();
	const int idle = w->jail->idle_seconds > 0 ? w->jail->idle_seconds : 120;
	const int wall = w->jail->wall_seconds > 0 ? w->jail->wall_seconds : 6 * 3600;
	const int64_t to_idle = w->alive + idle * INT64_C(1000) - now, to_wall = w->started +
	    wall * INT64_C(1000) - now;
	int64_t left = to_idle < to_wall ? to_idle : to_wall;

	if (w->stopped)
		w->result->end = JAIL_STOPPED;
	else if (to_wall <= 0)
		w->result->end = JAIL_WALL;
	else if (to_idle <= 0)
		w->result->end = JAIL_IDLE;
	else if (w->together > 0 && now >= w->look && jail_holds_more(w->pid, w->together))
		w->result->end = JAIL_MEMORY;
	else {
		if (now >= w->look) {
			w->look = now + w->looks_apart;
			w->looks_apart = 2 * w->looks_apart < LOOK_MS ? 2 * w->looks_apart : LOOK_MS;
		}
		return w->together > 0 && w->look - now < left ? w->look - now : left;
	}
	return 0;
}

static bool
has_ended(const struct watch *w)
{
	siginfo_t info = { 0 };

	/* WNOWAIT: while it is a zombie, its process group keeps its number. */
	return waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == w->pid;
}

static void
kill_all(const struct watch *w)
{
	kill(-w->pid, SIGKILL);
	jail_group_kill(&w->group);
}

/* Reads what comes until the program has ended or a watchdog bites.  True when it ended by itself. */
static bool
watch_loop(struct watch *w)
{
	for (bool gone = false;;) {
		struct pollfd p[] = { { w->out, POLLIN, 0 }, { w->err, POLLIN, 0 }, { w->progress, POLLIN, 0 },
		    { w->pidfd, POLLIN, 0 } };
		int64_t left = patience(w);

		if (left == 0)
			return false;
		if (w->pidfd < 0 && left > 50)
			left = 50;
		if (poll(p, 4, (int)(left < 60000 ? left : 60000)) < 0 && errno != EINTR) {
			w->result->end = JAIL_WANT;
			return false;
		}
		if (p[0].revents != 0)
			drain(w, &w->out, take_out);
		if (p[1].revents != 0)
			drain(w, &w->err, take_err);
		if (p[2].revents != 0)
			drain(w, &w->progress, take_progress);
		if (gone && (p[0].revents | p[1].revents | p[2].revents) == 0)
			return true;
		/* What it wrote last is still in the pipes; processes it left behind would keep them open. */
		if (!gone && (gone = has_ended(w)))
			kill_all(w);
	}
}

static void
settle(struct watch *w, bool ended)
{
	struct jail_result *r = w->result;
	const int cpu = w->jail->cpu_seconds > 0 ? w->jail->cpu_seconds : JAIL_CPU_DEFAULT;
	struct rusage use;
	int status = 0;

	kill_all(w);
	while (wait4(w->pid, &status, 0, &use) < 0 && errno == EINTR)
		continue;
	r->wall_ms = clock_ms() - w->started;
	r->cpu_ms = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000) +
	    (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
	r->peak_rss = use.ru_maxrss * INT64_C(1024);
	r->out = buf_string(&w->text);
	r->out_size = w->text.len;
	keep_err(w, w->err_line, w->err_len);
	r->err = arena_copy_n(w->mem, w->tail_len > ERR_MAX ? w->tail + w->tail_len - ERR_MAX : w->tail,
	    w->tail_len > ERR_MAX ? ERR_MAX : w->tail_len);
	if (!ended)
		return;
	r->end = WIFEXITED(status) ? JAIL_EXITED : JAIL_SIGNALLED;
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (r->end == JAIL_SIGNALLED && r->status == SIGKILL)
		r->end = jail_group_overflowed(&w->group) ? JAIL_MEMORY :
		    r->cpu_ms / 1000 >= cpu ? JAIL_CPU : JAIL_KILLED;
	if (r->end == JAIL_SIGNALLED && r->status == SIGXCPU)
		r->end = JAIL_CPU;
}

static bool
not_started(struct arena *mem, struct jail_result *r, enum jail_end end, const char *why)
{
	r->end = end;
	r->out = "";
	r->err = arena_copy(mem, why);
	return false;
}

/* fork(), straight into the control group where the kernel and its filters let us; else the child goes there itself. */
static pid_t
fork_into(struct jail_start *s)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)s->group };
	pid_t pid = s->group < 0 ? -1 : (pid_t)syscall(__NR_clone3, &args, sizeof(args));

	if (pid == 0)
		s->group = -1;
	return pid >= 0 ? pid : fork();
}

/* Forks and waits for the word that the program has begun: nothing on the report pipe but its end. */
static pid_t
launch(struct jail_start *s, int report, struct jail_report *fault)
{
	ssize_t n;
	pid_t pid;

	s->parent = getpid();
	pid = fork_into(s);
	if (pid == 0)
		jail_child(s);
	if (pid < 0)
		snprintf(fault->text, sizeof(fault->text), "fork: error %d", errno);
	close(s->report);
	s->report = -1;
	if (pid < 0)
		return -1;
	while ((n = read(report, fault, sizeof(*fault))) < 0 && errno == EINTR)
		continue;
	if (n <= 0)
		return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return -1;
}

/* Opens what the child gets; `ours` are the ends that stay here: out, err, progress, report. */
static bool
prepare(struct jail_start *s, int ours[4], struct jail_report *fault)
{
	int ends[2];
	bool fine = true;

	for (int i = 0; i < 4; i++) {
		fine &= pipe_make(ends);
		ours[i] = ends[0];
		*(i < 3 ? &s->fds[i + 1] : &s->report) = ends[1];
	}
	s->fds[0] = s->jail->in >= 0 ? fcntl(s->jail->in, F_DUPFD_CLOEXEC, JAIL_FD_FIRST) :
	    lift(open("/dev/null", O_RDONLY | O_CLOEXEC));
	*fault = (struct jail_report){ JAIL_WANT, "no descriptors left" };
	if (!fine || s->fds[0] < 0)
		return false;
	s->rules = jail_machine.landlock ? lift(jail_rules(s)) : -1;
	if (s->rules >= 0 || !jail_machine.landlock)
		return true;
	fault->end = jail_want(errno) ? JAIL_WANT : JAIL_NO_ISOLATION;
	snprintf(fault->text, sizeof(fault->text), "landlock: error %d", errno);
	return false;
}

bool
jail_execute(struct arena *mem, struct jail_start *s, struct jail_result *r)
{
	/* A program of one process has its limit from setrlimit(). */
	const bool alone = s->jail->threads_only && jail_machine.seccomp;
	struct jail_group group = { .fd = -1 };
	struct jail_report fault;
	struct watch *w = NEW(mem, struct watch);
	int ours[4];

	s->rules = s->report = s->group = -1;
	*w = (struct watch){ .mem = mem, .jail = s->jail, .result = r, .pid = -1, .pidfd = -1, .text = BUF(mem),
	    .started = clock_ms(), .alive = clock_ms(), .looks_apart = LOOK_FIRST_MS };
	if (prepare(s, ours, &fault)) {
		group = jail_group_make(s->together);
		s->group = group.fd;
		w->pid = launch(s, ours[3], &fault);
	}
	w->out = ours[0], w->err = ours[1], w->progress = ours[2], w->group = group;
	close_all((int[]){ s->fds[0], s->fds[1], s->fds[2], s->fds[3], s->rules, s->report, ours[3] }, 7);
	if (w->pid > 0) {
		w->pidfd = (int)syscall(__NR_pidfd_open, w->pid, 0);
		w->together = alone || group.fd >= 0 ? 0 : s->together;
		settle(w, watch_loop(w));
	}
	close_all((int[]){ w->out, w->err, w->progress, w->pidfd }, 4);
	jail_group_remove(&group);
	if (w->pid < 0)
		return not_started(mem, r, fault.end, fault.text);
	return r->end == JAIL_EXITED && r->status == 0;
}

bool
jail_run(struct arena *mem, const struct jail *jail, struct jail_result *r)
{
	struct jail_start s = { .jail = jail, .argv = (char *const *)(uintptr_t)jail->argv,
	    .together = jail->memory > 0 ? jail->memory : JAIL_MEMORY_DEFAULT };
	const char *fault = NULL;

	*r = (struct jail_result){ .out = "", .err = "" };
	if (!jail_machine.known)
		fault = jail_check(mem, jail_machine.degraded);
	if (!jail_machine.known)
		return not_started(mem, r, JAIL_WANT, fault);
	if (!jail_machine.degraded && !(jail_machine.landlock && jail_machine.seccomp))
		return not_started(mem, r, JAIL_NO_ISOLATION, "this machine cannot isolate programs");
	s.program = program_find(mem, jail->argv[0]);
	if (s.program == NULL)
		return not_started(mem, r, JAIL_MISSING, "no such program");
	s.env = environment_make(mem, jail);
	return jail_execute(mem, &s, r);
}

const char *
jail_helper(struct arena *mem, const char *name)
{
	const char *dir = getenv("KINOTHEK_LIBEXEC"), *path;
	char self[4096];
	ssize_t n;

	if (dir != NULL && *dir == '/')
		return arena_printf(mem, "%s/%s", dir, name);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		path = arena_printf(mem, "%s/%s", self, name);
		if (access(path, X_OK) == 0)
			return path;
	}
	return arena_printf(mem, LIBEXEC_DIR "/%s", name);
}
