/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all processes of a program hold together: the limits of setrlimit() count each by itself.  Where systemd has
 * delegated a control group (version 2), the kernel counts; elsewhere jail.c asks jail_holds_more() every while.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "core/jail_confine.h"
#include "core/machine.h"

#define GROUPS "/sys/fs/cgroup"
#define GROUP_PREFIX "jail-"
enum { TASKS_MAX = 2048, REMOVE_TRIES = 200 };

/* Reads what there is of a small file; "" when there is none. */
static void
peek(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* The kernel takes or refuses what is written to its files as a whole. */
static bool
put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	bool fine = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return fine;
}

static bool
put_number(int dir, const char *name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	return put(dir, name, text);
}

/* Where in the file system our own group is; false where groups of version 2 do not rule here. */
static bool
own_group(char *path, size_t size)
{
	char text[4096], *line;
	struct statfs fs;

	peek(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (line == NULL)
		return false;
	line = strchr(line, '/');
	line[strcspn(line, "\n")] = '\0';
	return strstr(line, "..") == NULL && (size_t)snprintf(path, size, GROUPS "%s", line) < size &&
	    statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* A group that has groups below it may hold no process itself, so ours goes into one of them. */
static bool
divide(int dir)
{
	char controllers[512];

	peek(dir, "cgroup.controllers", controllers, sizeof(controllers));
	if (strstr(controllers, "memory") == NULL || strstr(controllers, "pids") == NULL)
		return false;
	if (mkdirat(dir, "service", 0755) != 0 && errno != EEXIST)
		return false;
	if (put(dir, "service/cgroup.procs", "0") && put(dir, "cgroup.subtree_control", "+memory +pids"))
		return true;
	put(dir, "cgroup.procs", "0");
	unlinkat(dir, "service", AT_REMOVEDIR);
	return false;
}

bool
jail_delegate(void)
{
	char path[sizeof(jail_machine.groups)];
	int dir;
	bool fine;

	if (!own_group(path, sizeof(path)))
		return false;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fine = dir >= 0 && divide(dir);
	if (dir >= 0)
		close(dir);
	if (fine)
		memcpy(jail_machine.groups, path, sizeof(path));
	return fine;
}

/* Groups whose maker was killed before it could remove them. */
static void
sweep(void)
{
	DIR *all = opendir(jail_machine.groups);
	struct dirent *e;

	while (all != NULL && (e = readdir(all)) != NULL) {
		pid_t maker = strncmp(e->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)) == 0 ?
		    (pid_t)atoi(e->d_name + strlen(GROUP_PREFIX)) : 0;

		if (maker > 0 && kill(maker, 0) != 0 && errno == ESRCH)
			unlinkat(dirfd(all), e->d_name, AT_REMOVEDIR);
	}
	if (all != NULL)
		closedir(all);
}

struct jail_group
jail_group_make(int64_t memory)
{
	static atomic_uint made;
	struct jail_group g = { .fd = -1 };
	int fd;

	if (jail_machine.groups[0] == '\0')
		return g;
	sweep();
	snprintf(g.path, sizeof(g.path), "%s/" GROUP_PREFIX "%d-%u", jail_machine.groups, (int)getpid(), made++);
	if (mkdir(g.path, 0755) != 0)
		return g;
	fd = open(g.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g.fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, JAIL_FD_FIRST);
	if (fd >= 0)
		close(fd);
	/* A kernel that does not count swap has no such file. */
	if (g.fd >= 0 && put_number(g.fd, "memory.max", memory) && put(g.fd, "memory.oom.group", "1") &&
	    (put(g.fd, "memory.swap.max", "0") || errno == ENOENT) && put_number(g.fd, "pids.max", TASKS_MAX))
		return g;
	jail_group_remove(&g);
	rmdir(g.path);
	return g;
}

bool
jail_group_enter(int fd)
{
	return put(fd, "cgroup.procs", "0");
}

void
jail_group_kill(const struct jail_group *g)
{
	if (g->fd >= 0)
		put(g->fd, "cgroup.kill", "1");
}

bool
jail_group_overflowed(const struct jail_group *g)
{
	char events[512];
	const char *kills;

	if (g->fd < 0)
		return false;
	peek(g->fd, "memory.events", events, sizeof(events));
	kills = strstr(events, "oom_kill ");
	return kills != NULL && strtoll(kills + 9, NULL, 10) > 0;
}

/* The kernel ends what was killed a moment later. */
void
jail_group_remove(struct jail_group *g)
{
	const struct timespec moment = { .tv_nsec = 5 * 1000 * 1000 };

	if (g->fd < 0)
		return;
	close(g->fd);
	g->fd = -1;
	for (int i = 0; rmdir(g->path) != 0 && errno == EBUSY && i < REMOVE_TRIES; i++)
		nanosleep(&moment, NULL);
}

/* The sum of the lines of a file of /proc that begin with one of these words, in bytes. */
static int64_t
process_sum(const char *pid, const char *name, const char *const words[3])
{
	char path[64], text[8192];
	int64_t sum = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	peek(AT_FDCWD, path, text, sizeof(text));
	for (int i = 0; i < 3; i++) {
		const char *line = strstr(text, words[i]);

		if (line != NULL)
			sum += strtoll(line + strlen(words[i]), NULL, 10) * 1024;
	}
	return sum;
}

/* Its memory that no file stands behind.  Exactly: of what several processes share, each its part. */
static int64_t
process_holds(const char *pid, bool exactly)
{
	static const char *const parts[] = { "\nPss_Anon:", "\nPss_Shmem:", "\nSwapPss:" },
		*const wholes[] = { "\nRssAnon:", "\nRssShmem:", "\nVmSwap:" };
	int64_t sum = exactly ? process_sum(pid, "smaps_rollup", parts) : 0;

	return sum > 0 ? sum : process_sum(pid, "status", wholes);
}

static pid_t
session_of(const char *pid)
{
	struct machine_process p;

	return machine_process((pid_t)atoi(pid), &p) ? p.session : -1;
}

static int64_t
session_holds(pid_t session, bool exactly)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int64_t sum = 0;

	while (proc != NULL && (e = readdir(proc)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) && session_of(e->d_name) == session)
			sum += process_holds(e->d_name, exactly);
	if (proc != NULL)
		closedir(proc);
	return sum;
}

bool
jail_holds_more(pid_t session, int64_t bytes)
{
	/* To count exactly takes the kernel a walk through all of it. */
	return session_holds(session, false) > bytes && session_holds(session, true) > bytes;
}
