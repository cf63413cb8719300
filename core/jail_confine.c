/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program in the jail must not have is taken from it here: files by Landlock, calls by seccomp, and the rest by
 * limits and capabilities.  Everything that needs memory (paths, the seccomp program, the list of readable files) is
 * made before fork(); the child only talks to the kernel until execve().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/jail_confine.h"

enum { FD_RULES = 4, FD_REPORT = 5, FD_FREE = 6 };

/* Rights that the headers of older systems do not know yet; see landlock(7). */
enum { FS_TRUNCATE = 1 << 14, FS_IOCTL_DEV = 1 << 15, NET_TCP = 3, SCOPE_SOCKETS_AND_SIGNALS = 3 };
#define FS_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define FS_RUN (FS_READ | LANDLOCK_ACCESS_FS_EXECUTE)
/* No EXECUTE (what a decoder writes is never run), no devices, no symbolic links (they would fool who reads them
 * later). */
#define FS_WRITE (FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
	LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE)
/* What may be done to something that is not a directory. */
#define FS_OF_FILES ((uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV))

struct landlock_rules { uint64_t fs, net, scoped; };

static const struct base { const char *path; uint64_t rights; } base[] = {
	{ "/usr", FS_RUN }, { "/lib", FS_RUN }, { "/lib64", FS_RUN }, { "/bin", FS_RUN },
	{ "/etc/alternatives", FS_RUN }, { "/etc/ld.so.cache", FS_READ }, { "/etc/fonts", FS_READ },
	{ "/var/cache/fontconfig", FS_READ }, { "/proc/cpuinfo", FS_READ }, { "/proc/meminfo", FS_READ },
	{ "/sys/devices/system/cpu", FS_READ }, { "/dev/null", FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE },
	{ "/dev/zero", FS_READ }, { "/dev/urandom", FS_READ }, { "/dev/random", FS_READ },
};

/*
 * The calls that decoders need; every other one answers ENOSYS, those that kernels to come bring too: then the C
 * library and the programs use what came before it.  Landlock does not govern the mode, owner, times, attributes and
 * inode flags of files, so nothing that sets them is here; nor is what holds memory beside RLIMIT_AS (memfd_create),
 * what tells of others (inotify, listmount), what outlives the program (setsid, timers of others), a socket.
 */
static const char *const allowed[] = {
	"brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "msync", "mlock", "munlock",

	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek", "close", "close_range",
	"dup", "dup2", "dup3", "pipe", "pipe2", "eventfd2", "poll", "ppoll", "select", "pselect6",

	"stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"statfs", "fstatfs", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "umask", "creat", "mkdir", "mkdirat",
	"rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "ftruncate", "fallocate", "fsync",
	"fdatasync", "fadvise64",

	"execve", "exit", "exit_group", "wait4", "waitid", "futex", "set_robust_list", "set_tid_address", "rseq",
	"membarrier", "arch_prctl", "sched_yield", "sched_getaffinity", "sched_get_priority_min",
	"sched_get_priority_max", "getcpu", "kill", "tgkill", "getpid", "getppid", "gettid", "getpgrp", "getpgid",
	"getsid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "capget",
	"getrlimit", "getrusage", "times", "sysinfo", "uname", "getrandom",

	"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "alarm", "setitimer",
	"getitimer", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigpending",
	"rt_sigtimedwait", "sigaltstack", "pause", "restart_syscall",
};

/* Those it may make only if, of an argument, the bits of the mask are so.  A call whose arguments lie in memory, which
 * a filter cannot see (clone3, openat2), is not here. */
#define WHOLE UINT32_MAX	/* what the kernel reads of an int */
static const struct condition { const char *call; unsigned int argument; uint64_t mask, value; } conditions[] = {
	/* Early Landlock checks a truncating open by its mode alone: reading would be enough to empty a file. */
	{ "open", 1, O_ACCMODE | O_TRUNC, O_RDONLY }, { "open", 1, O_ACCMODE, O_WRONLY },
	{ "open", 1, O_ACCMODE, O_RDWR },
	{ "openat", 2, O_ACCMODE | O_TRUNC, O_RDONLY }, { "openat", 2, O_ACCMODE, O_WRONLY },
	{ "openat", 2, O_ACCMODE, O_RDWR },
	/* Others give a descriptor an owner, to whom the kernel sends any signal, or watch a directory. */
	{ "fcntl", 1, WHOLE, F_DUPFD }, { "fcntl", 1, WHOLE, F_DUPFD_CLOEXEC }, { "fcntl", 1, WHOLE, F_GETFD },
	{ "fcntl", 1, WHOLE, F_SETFD }, { "fcntl", 1, WHOLE, F_GETFL }, { "fcntl", 1, WHOLE, F_SETFL },
	{ "fcntl", 1, WHOLE, F_GETLK }, { "fcntl", 1, WHOLE, F_SETLK }, { "fcntl", 1, WHOLE, F_SETLKW },
	{ "ioctl", 1, WHOLE, TCGETS }, { "ioctl", 1, WHOLE, TIOCGWINSZ }, { "ioctl", 1, WHOLE, FIONREAD },
	/* Python closes its files to programs by it, and takes ENOSYS for a failure. */
	{ "ioctl", 1, WHOLE, FIOCLEX },
	/* Not the signal that ends it when its parent has ended. */
	{ "prctl", 0, WHOLE, PR_SET_NAME }, { "prctl", 0, WHOLE, PR_GET_NAME }, { "prctl", 0, WHOLE, PR_CAPBSET_READ },
	/* Its own. */
	{ "prlimit64", 0, WHOLE, 0 },
};
/* No name spaces, no child that is another's. */
#define CLONE_NOT (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
	CLONE_NEWNET | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED)
static const struct condition threads = { "clone", 0, CLONE_NOT | CLONE_THREAD, CLONE_THREAD };
static const struct condition processes[] = { { "clone", 0, CLONE_NOT, 0 }, { "fork", 0, 0, 0 }, { "vfork", 0, 0, 0 } };

static struct filter { struct sock_filter code[2048]; unsigned short n; } filters[2];	/* [1]: threads only */

/* A name that this architecture or library does not know is no call that a program could need here. */
static bool
allow(scmp_filter_ctx f, const struct condition *c)
{
	int call = seccomp_syscall_resolve_name(c->call);

	if (call == __NR_SCMP_ERROR)
		return true;
	if (c->mask == 0)
		return seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0) == 0;
	return seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
	    SCMP_CMP(c->argument, SCMP_CMP_MASKED_EQ, c->mask, c->value)) == 0;
}

/* The library writes its program to a descriptor only. */
static bool
filter_read(scmp_filter_ctx f, struct filter *out)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0 && seccomp_export_bpf(f, fd) == 0)
		n = pread(fd, out->code, sizeof(out->code), 0);
	if (fd >= 0)
		close(fd);
	out->n = n > 0 && (size_t)n < sizeof(out->code) ? (unsigned short)((size_t)n / sizeof(out->code[0])) : 0;
	return out->n > 0;
}

static bool
filter_make(struct filter *out, bool threads_only)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	bool fine = f != NULL;

	for (size_t i = 0; fine && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		fine = allow(f, &(struct condition){ .call = allowed[i] });
	for (size_t i = 0; fine && i < sizeof(conditions) / sizeof(conditions[0]); i++)
		fine = allow(f, &conditions[i]);
	if (threads_only)
		fine = fine && allow(f, &threads);
	for (size_t i = 0; fine && !threads_only && i < sizeof(processes) / sizeof(processes[0]); i++)
		fine = allow(f, &processes[i]);
	fine = fine && filter_read(f, out);
	if (f != NULL)
		seccomp_release(f);
	return fine;
}

static bool
filter_install(const struct filter *f)
{
	struct sock_fprog program = { f->n, (struct sock_filter *)(uintptr_t)f->code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Signals reach the program itself only: other processes of the service run under the same user. */
static bool
filter_signals(uint32_t pid)
{
	const struct filter f = { .code = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_kill, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, pid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	}, .n = 7 };

	return filter_install(&f);
}

static bool
rule_add(int rules, const char *path, uint64_t rights, int abi)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights };
	struct stat st;
	bool fine;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		/* what is not there needs no permission */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	if (abi < 2)
		rule.allowed_access &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < 3)
		rule.allowed_access &= ~(uint64_t)FS_TRUNCATE;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_OF_FILES;
	fine = syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
	close(rule.parent_fd);
	return fine;
}

int
jail_rules(const struct jail_start *s)
{
	struct landlock_rules all = { .fs = (1 << 13) - 1 };
	size_t size = sizeof(all.fs);
	int abi = jail_machine.abi, fd, error;
	bool fine;

	if (abi >= 2)
		all.fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		all.fs |= FS_TRUNCATE;
	if (abi >= 4) {
		all.net = NET_TCP;
		size = 2 * sizeof(uint64_t);
	}
	if (abi >= 5)
		all.fs |= FS_IOCTL_DEV;
	if (abi >= 6) {
		all.scoped = SCOPE_SOCKETS_AND_SIGNALS;
		size = sizeof(all);
	}
	fd = (int)syscall(__NR_landlock_create_ruleset, &all, size, 0);
	fine = fd >= 0;
	for (size_t i = 0; fine && i < sizeof(base) / sizeof(base[0]); i++)
		fine = rule_add(fd, base[i].path, base[i].rights, abi);
	for (size_t i = 0; fine && s->jail->read != NULL && s->jail->read[i] != NULL; i++)
		fine = rule_add(fd, s->jail->read[i], FS_READ, abi);
	if (fine && s->jail->write_dir != NULL)
		fine = rule_add(fd, s->jail->write_dir, FS_WRITE, abi);
	if (fine && s->program != NULL)
		fine = rule_add(fd, s->program, FS_RUN, abi);
	if (fine)
		return fd;
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

bool
jail_ask(struct jail_machine *m)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	m->abi = (int)syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	m->landlock = m->abi >= 1;
	m->seccomp = syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
	if (!m->seccomp)
		return true;
	errno = 0;
	m->seccomp = filter_make(&filters[0], false) && filter_make(&filters[1], true);
	return m->seccomp || !jail_want(errno);
}

bool
jail_want(int error)
{
	return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == EINTR;
}

/*
 * From here on: the child.  Nothing is allocated, no lock is taken.
 */

static int report_fd;

static void
child_fail(enum jail_end end, const char *stage)
{
	struct jail_report r = { .end = jail_want(errno) ? JAIL_WANT : end };

	snprintf(r.text, sizeof(r.text), "%s: error %d", stage, errno);
	if (write(report_fd, &r, sizeof(r)) < 0)
		_exit(126);
	_exit(127);
}

static void
child_limit(int what, uint64_t soft, uint64_t hard)
{
	struct rlimit now, limit = { soft, hard };

	if (getrlimit(what, &now) == 0 && now.rlim_max < limit.rlim_max) {
		limit.rlim_max = now.rlim_max;
		if (limit.rlim_cur > now.rlim_max)
			limit.rlim_cur = now.rlim_max;
	}
	if (setrlimit(what, &limit) != 0)
		child_fail(JAIL_NO_ISOLATION, "setrlimit");
}

static void
child_limits(const struct jail *jail)
{
	uint64_t memory = (uint64_t)(jail->memory > 0 ? jail->memory : JAIL_MEMORY_DEFAULT);
	uint64_t size = jail->file_size > 0 ? (uint64_t)jail->file_size : UINT64_C(64) << 30;
	uint64_t cpu = jail->cpu_seconds > 0 ? (uint64_t)jail->cpu_seconds : JAIL_CPU_DEFAULT;

	child_limit(RLIMIT_CORE, 0, 0);
	child_limit(RLIMIT_FSIZE, size, size);
	child_limit(RLIMIT_CPU, cpu, cpu + 2);
	child_limit(RLIMIT_NOFILE, 256, 256);
	child_limit(RLIMIT_NPROC, 4096, 4096);
	child_limit(RLIMIT_MEMLOCK, 65536, 65536);
	child_limit(RLIMIT_MSGQUEUE, 0, 0);
	child_limit(RLIMIT_AS, memory, memory);
}

static void
child_descriptors(const struct jail_start *s)
{
	for (int i = 0; i < 4; i++)
		if (dup2(s->fds[i], i) < 0)
			child_fail(JAIL_WANT, "descriptor");
	if (s->rules >= 0 && dup3(s->rules, FD_RULES, O_CLOEXEC) < 0)
		child_fail(JAIL_WANT, "descriptor");
	if (dup3(s->report, FD_REPORT, O_CLOEXEC) < 0)
		child_fail(JAIL_WANT, "descriptor");
	report_fd = FD_REPORT;
	if (syscall(__NR_close_range, FD_FREE, ~0U, 0) != 0)
		for (int fd = FD_FREE; fd < 65536; fd++)
			close(fd);
	if (s->rules < 0)
		close(FD_RULES);
}

/* Root keeps the right to read what belongs to others (Landlock still decides); every other privilege goes. */
static void
child_drop_privileges(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };
	const uint32_t kept = 1u << CAP_DAC_OVERRIDE;

	if (syscall(__NR_capget, &head, caps) != 0)
		child_fail(JAIL_NO_ISOLATION, "capget");
	caps[0].effective &= kept;
	caps[0].permitted &= kept;
	caps[0].inheritable = caps[1].effective = caps[1].permitted = caps[1].inheritable = 0;
	if (syscall(__NR_capset, &head, caps) != 0)
		child_fail(JAIL_NO_ISOLATION, "capset");
}

static void
child_confine(const struct jail_start *s)
{
	const uint32_t pid = (uint32_t)getpid();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		child_fail(JAIL_NO_ISOLATION, "no_new_privs");
	child_drop_privileges();
	if (s->rules >= 0) {
		/* /proc/self means the child only here. */
		if (!rule_add(FD_RULES, "/proc/self", FS_READ, jail_machine.abi))
			child_fail(JAIL_NO_ISOLATION, "landlock rule");
		if (syscall(__NR_landlock_restrict_self, FD_RULES, 0) != 0)
			child_fail(JAIL_NO_ISOLATION, "landlock");
		close(FD_RULES);
	}
	if (jail_machine.seccomp && (!filter_signals(pid) || !filter_install(&filters[s->jail->threads_only])))
		child_fail(JAIL_NO_ISOLATION, "seccomp");
}

/* The decoder goes first when memory runs out, not the database. */
static void
child_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "800", 3) != 3)
		errno = 0;
	close(fd);
}

_Noreturn void
jail_child(const struct jail_start *s)
{
	sigset_t none;

	report_fd = s->report;
	if (s->group >= 0 && !jail_group_enter(s->group))
		child_fail(JAIL_WANT, "control group");
	child_descriptors(s);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0)
		child_fail(JAIL_NO_ISOLATION, "setsid");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != s->parent)
		child_fail(JAIL_NO_ISOLATION, "parent");
	child_first_to_go();
	if (chdir(s->jail->write_dir != NULL ? s->jail->write_dir : "/") != 0)
		child_fail(JAIL_WANT, "directory");
	child_limits(s->jail);
	child_confine(s);
	if (s->probe != NULL) {
		close(FD_REPORT);
		s->probe();
		_exit(0);
	}
	execve(s->program, s->argv, s->env);
	child_fail(JAIL_MISSING, s->program);
	_exit(127);
}

