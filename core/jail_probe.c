/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jail_check(): processes of ours, confined as decoders are, try what must be refused. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/jail_confine.h"

/* Newer than the headers of some systems. */
enum { CALL_STATMOUNT = 457, CALL_LISTMOUNT = 458, CALL_SETXATTRAT = 463, CALL_FILE_SETATTR = 469 };
enum { TRIES = 5, TRY_MS = 200, HOLD_MS = 2000, WANTING = 75 };
static const size_t MIB = 1 << 20;

static void
say(const char *what)
{
	if (write(1, what, strlen(what)) < 0 || write(1, "; ", 2) < 0)
		_exit(1);
}

/* The kernel knows no such call, or looked at the arguments, which are wrong. */
static bool
answered(long result)
{
	return result >= 0 || (errno != ENOSYS && errno != EPERM);
}

/* Not by fork(): whoever asks may have threads. */
static bool
forks(unsigned long flags)
{
	const long pid = syscall(__NR_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static void
try_files(void)
{
	const int usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };

	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0)
		say("/etc/passwd can be read");
	if (open("/var/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) >= 0 ||
	    open("/dev/shm", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) >= 0)
		say("/var/tmp or /dev/shm can be written");
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		say("/ can be listed");
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 || usr < 0)
		say("what must be readable is not");
	if (answered(syscall(__NR_truncate, "/etc/passwd", (off_t)-1)))
		say("truncate is possible");
	if (answered(syscall(__NR_fchmodat, -1, "", 0)) || answered(syscall(__NR_fchmod, -1, 0)) ||
	    answered(syscall(__NR_fchownat, -1, "", -1, -1, 0)) || answered(syscall(__NR_utimensat, usr, NULL, now, 0)))
		say("mode, owner or times of files can be set");
	if (answered(syscall(CALL_SETXATTRAT, -1, "", 0, "", NULL, 0)) ||
	    answered(syscall(__NR_fsetxattr, -1, "", "", 0, 0)) ||
	    answered(syscall(CALL_FILE_SETATTR, -1, "", NULL, 0, 0)) || answered(ioctl(usr, FS_IOC_SETFLAGS, NULL)))
		say("attributes of files can be set");
	close(usr);
}

static void
try_others(void)
{
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		say("a network socket can be opened");
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		say("a local socket can be opened");
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		say("ptrace is possible");
	if (kill(getppid(), 0) == 0)
		say("signals reach other processes");
	if (fcntl(1, F_SETOWN, getppid()) == 0 || fcntl(1, F_SETSIG, SIGKILL) == 0)
		say("signals reach other processes through descriptors");
	if (answered(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)))
		say("it can outlive its parent");
	if (forks(CLONE_NEWUSER) || syscall(__NR_unshare, CLONE_NEWUSER) == 0)
		say("a user namespace can be made");
}

static void
try_kernel(void)
{
	if (answered(syscall(__NR_memfd_create, "", 0)))
		say("memory can be held in descriptors");
	if (answered(inotify_init1(0)))
		say("files can be watched");
	if (answered(syscall(CALL_LISTMOUNT, NULL, NULL, 0, 0)) ||
	    answered(syscall(CALL_STATMOUNT, NULL, NULL, 0, 0)) ||
	    answered(syscall(__NR_mount, NULL, NULL, NULL, 0, NULL)))
		say("mounts can be listed or made");
	if (answered(syscall(__NR_io_uring_setup, 1, NULL)))
		say("io_uring is possible");
	if (answered(syscall(__NR_bpf, 0, NULL, 0)))
		say("bpf is possible");
	if (answered(syscall(__NR_keyctl, 0, 0, 0, 0, 0)))
		say("keyctl is possible");
}

/* Each line it prints names something that should have been refused. */
static void
probe(void)
{
	try_files();
	try_others();
	try_kernel();
	if (forks(0))
		say("a decoder can start processes");
}

/* Two processes hold more than they may together, neither too much by itself. */
static void
probe_memory(void)
{
	const struct timespec hold = { .tv_sec = HOLD_MS / 1000 };
	const long child = syscall(__NR_clone, SIGCHLD, 0, 0, 0, 0);
	char *bytes = mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (child < 0 || bytes == MAP_FAILED)
		_exit(jail_want(errno) ? WANTING : 1);
	memset(bytes, 1, 12 * MIB);
	nanosleep(&hold, NULL);
	say("more memory can be held than is allowed");
}

static struct jail_result
run(struct arena *mem, void (*function)(void), int64_t together, bool threads_only)
{
	static const char *const argv[] = { "probe", NULL };
	const struct jail jail = { .argv = argv, .in = -1, .wall_seconds = 10, .threads_only = threads_only,
	    .memory = INT64_C(1) << 60 };
	struct jail_start s = { .jail = &jail, .probe = function, .together = together };
	struct jail_result r = { .out = "", .err = "" };

	jail_execute(mem, &s, &r);
	return r;
}

/* What was possible; NULL when nothing was.  .end tells whether it ran at all. */
static const char *
try_all(struct arena *mem, enum jail_end *end)
{
	struct jail_result r;
	const char *possible;

	*end = JAIL_WANT;
	if (!jail_ask(&jail_machine))
		return "no descriptors left";
	r = run(mem, probe, JAIL_MEMORY_DEFAULT, true);
	possible = r.out;
	*end = r.end;
	if (r.end != JAIL_EXITED || r.status != 0)
		return arena_printf(mem, "%s%s", r.out, r.err[0] != '\0' ? r.err : "the probe failed");
	r = run(mem, probe_memory, (int64_t)(16 * MIB), false);
	*end = r.end == JAIL_MEMORY ? JAIL_EXITED : r.end == JAIL_EXITED && r.status == WANTING ? JAIL_WANT : r.end;
	if (r.end != JAIL_MEMORY)
		possible = arena_printf(mem, "%s%s%s", possible,
		    r.out[0] == '\0' ? "the probe of memory failed" : r.out, r.err);
	return possible[0] == '\0' ? NULL : possible;
}

/* The probe has not ended by itself: that tells nothing of the machine. */
static bool
may_pass(enum jail_end end)
{
	return end == JAIL_WANT || end == JAIL_KILLED || end == JAIL_IDLE || end == JAIL_WALL;
}

const char *
jail_check(struct arena *mem, bool degraded)
{
	const struct timespec pause = { .tv_nsec = TRY_MS * 1000 * 1000L };
	struct jail_machine *m = &jail_machine;
	const char *missing, *possible;
	enum jail_end end;

	m->degraded = degraded;
	possible = try_all(mem, &end);
	for (int i = 1; i < TRIES && may_pass(end); i++) {
		nanosleep(&pause, NULL);
		possible = try_all(mem, &end);
	}
	m->known = !may_pass(end);
	missing = !m->landlock ? "Landlock is missing; " : !m->seccomp ? "seccomp is missing; " : "";
	if (possible == NULL && missing[0] == '\0')
		return NULL;
	/* Strict mode starts nothing from now on; degraded mode does without what has failed. */
	if (m->known && (end != JAIL_EXITED || !degraded))
		m->landlock = m->seccomp = false;
	return arena_printf(mem, "%s%s", missing, possible == NULL ? "" : possible);
}
