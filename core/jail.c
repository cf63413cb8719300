/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Foreign programs, confined.  Everything that needs memory (paths, the seccomp program, the list of readable files) is
 * made before fork(); the child only talks to the kernel until execve().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/jail.h"
#include "core/text.h"

#ifndef LIBEXEC_DIR
#define LIBEXEC_DIR "/usr/libexec/kinothek"
#endif

enum { OUT_MAX = 16 << 20, ERR_MAX = 8 << 10, LINE_MAX_BYTES = 1024, FD_RULES = 4, FD_REPORT = 5, FD_FREE = 6 };

/* Rights that the headers of older systems do not know yet; see landlock(7). */
enum { FS_TRUNCATE = 1 << 14, FS_IOCTL_DEV = 1 << 15, NET_TCP = 3, SCOPE_SOCKETS_AND_SIGNALS = 3 };
#define FS_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define FS_RUN (FS_READ | LANDLOCK_ACCESS_FS_EXECUTE)
/* No EXECUTE (what a decoder writes is never run), no devices, no symbolic links (they would fool who reads them
 * later). */
#define FS_WRITE (FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
	LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE)
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

/* Calls that answer EPERM.  Landlock does not govern the mode, owner, times or attributes of files, so those are here
 * too. */
static const char *const refused[] = {
	"socket", "connect", "bind", "listen", "accept", "accept4", "socketpair", "sendto", "sendmsg", "sendmmsg",
	"recvfrom", "recvmsg", "recvmmsg", "setsockopt", "getsockopt", "getpeername", "getsockname", "shutdown",
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd",
	"pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setsid", "setpgid",
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "unshare", "setns", "quotactl", "quotactl_fd", "swapon", "swapoff",
	"keyctl", "add_key", "request_key", "bpf", "userfaultfd", "perf_event_open", "io_uring_setup", "io_uring_enter",
	"io_uring_register", "io_setup", "fanotify_init", "fanotify_mark", "name_to_handle_at", "open_by_handle_at",
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "acct", "syslog",
	"settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname", "vhangup",
	"iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl", "personality", "setpriority", "ioprio_set",
	"sched_setparam", "sched_setscheduler", "sched_setattr", "migrate_pages", "move_pages",
	"truncate", "truncate64", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat",
	"utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
	"lremovexattr", "fremovexattr", "mknod", "mknodat", "symlink", "symlinkat",
	"shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl",
	"mq_open", "mq_unlink", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups",
};

struct filter { struct sock_filter code[2048]; unsigned short n; };

/* What the machine can do; found out once per process, inherited by fork(). */
static struct {
	bool known, landlock, seccomp, strict;
	int abi;
	struct filter filters[2];	/* [1]: threads only */
} machine;

/* A program about to run.  A probe runs a function of ours in its place. */
struct start {
	const struct jail *jail;
	const char *program;
	char *const *argv;
	char *const *env;
	void (*probe)(void);
	int fds[4], rules, report;
	pid_t parent;
};

/* A running program and what is known of it. */
struct watch {
	struct arena *mem;
	const struct jail *jail;
	struct jail_result *result;
	pid_t pid;
	int out, err, progress, pidfd;
	int64_t started, alive;
	struct buf text;
	char tail[2 * ERR_MAX];
	size_t tail_len;
	char line[LINE_MAX_BYTES];
	size_t line_len;
	char seen[3][64];		/* last frame=, total_size= and out_time_us= */
	bool stopped;
};

static bool
seccomp_refuse(scmp_filter_ctx f, int error, const char *name)
{
	int call = seccomp_syscall_resolve_name(name);

	/* A call that this architecture or library does not know cannot be made by name either. */
	return call == __NR_SCMP_ERROR || seccomp_rule_add(f, SCMP_ACT_ERRNO(error), call, 0) == 0;
}

/*
 * The kernel sends the owner of a descriptor a signal, which may be any, when there is something to read: to another
 * process of the service, too.  Of the command it sees 32 bits, and so must the rule.
 */
static bool
seccomp_refuse_owners(scmp_filter_ctx f)
{
	static const uint64_t commands[] = { F_SETOWN, F_SETOWN_EX, F_SETSIG }, requests[] = { FIOSETOWN, SIOCSPGRP };
	bool fine = true;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, commands[i])) == 0;
		fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl64), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, commands[i])) == 0;
	}
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i])) == 0;
	return fine;
}

/* Calls that are refused for some arguments only. */
static bool
seccomp_refuse_some(scmp_filter_ctx f, bool threads_only)
{
	static const unsigned long spaces[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
	    CLONE_NEWPID, CLONE_NEWNET };
	const unsigned long cut = O_ACCMODE | O_TRUNC;
	bool fine = true;

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i])) == 0;
	if (threads_only) {
		fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) == 0;
		fine &= seccomp_refuse(f, EPERM, "fork") && seccomp_refuse(f, EPERM, "vfork");
	}
	/* Their flags are in memory, which a filter cannot see: the C library falls back to clone and openat. */
	fine &= seccomp_refuse(f, ENOSYS, "clone3") && seccomp_refuse(f, ENOSYS, "openat2");
	/* Early Landlock checks a truncating open by its mode alone, so that reading would be enough to empty a
	 * file. */
	fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(open), 1,
	    SCMP_A1(SCMP_CMP_MASKED_EQ, cut, O_RDONLY | O_TRUNC)) == 0;
	fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, cut, O_RDONLY | O_TRUNC)) == 0;
	fine &= seccomp_refuse_owners(f);
	/* Limits of other processes. */
	fine &= seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0)) == 0;
	return fine;
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
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	bool fine = f != NULL;

	for (size_t i = 0; fine && i < sizeof(refused) / sizeof(refused[0]); i++)
		fine = seccomp_refuse(f, EPERM, refused[i]);
	fine = fine && seccomp_refuse_some(f, threads_only) && filter_read(f, out);
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

/* A descriptor of the rules for this program, or -1. */
static int
rules_make(const struct start *s)
{
	struct landlock_rules all = { .fs = (1 << 13) - 1 };
	size_t size = sizeof(all.fs);
	int abi = machine.abi, fd;
	bool fine = true;

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
	for (size_t i = 0; fd >= 0 && i < sizeof(base) / sizeof(base[0]); i++)
		fine &= rule_add(fd, base[i].path, base[i].rights, abi);
	for (size_t i = 0; fd >= 0 && s->jail->read != NULL && s->jail->read[i] != NULL; i++)
		fine &= rule_add(fd, s->jail->read[i], FS_READ, abi);
	if (fd >= 0 && s->jail->write_dir != NULL)
		fine &= rule_add(fd, s->jail->write_dir, FS_WRITE, abi);
	if (fd >= 0 && s->program != NULL)
		fine &= rule_add(fd, s->program, FS_RUN, abi);
	if (fd >= 0 && !fine) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * From here to child_main(): the child.  Nothing is allocated, no lock is taken.
 */

static void
child_fail(const char *stage)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "%s: error %d", stage, errno);

	if (n > 0 && write(FD_REPORT, text, (size_t)n) < 0)
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
		child_fail("setrlimit");
}

static void
child_limits(const struct jail *jail)
{
	uint64_t memory = jail->memory > 0 ? (uint64_t)jail->memory : UINT64_C(4) << 30;
	uint64_t size = jail->file_size > 0 ? (uint64_t)jail->file_size : UINT64_C(64) << 30;
	uint64_t cpu = jail->cpu_seconds > 0 ? (uint64_t)jail->cpu_seconds : 4 * 3600;

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
child_descriptors(const struct start *s)
{
	for (int i = 0; i < 4; i++)
		if (dup2(s->fds[i], i) < 0)
			_exit(127);
	if (s->rules >= 0 && dup3(s->rules, FD_RULES, O_CLOEXEC) < 0)
		_exit(127);
	if (dup3(s->report, FD_REPORT, O_CLOEXEC) < 0)
		_exit(127);
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
		child_fail("capget");
	caps[0].effective &= kept;
	caps[0].permitted &= kept;
	caps[0].inheritable = caps[1].effective = caps[1].permitted = caps[1].inheritable = 0;
	if (syscall(__NR_capset, &head, caps) != 0)
		child_fail("capset");
}

static void
child_confine(const struct start *s)
{
	const uint32_t pid = (uint32_t)getpid();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		child_fail("no_new_privs");
	child_drop_privileges();
	if (s->rules >= 0) {
		/* /proc/self means the child only here. */
		if (!rule_add(FD_RULES, "/proc/self", FS_READ, machine.abi))
			child_fail("landlock rule");
		if (syscall(__NR_landlock_restrict_self, FD_RULES, 0) != 0)
			child_fail("landlock");
		close(FD_RULES);
	}
	if (machine.seccomp && (!filter_signals(pid) || !filter_install(&machine.filters[s->jail->threads_only])))
		child_fail("seccomp");
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

static _Noreturn void
child_main(const struct start *s)
{
	sigset_t none;

	child_descriptors(s);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0)
		child_fail("setsid");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != s->parent)
		child_fail("parent");
	child_first_to_go();
	if (chdir(s->jail->write_dir != NULL ? s->jail->write_dir : "/") != 0)
		child_fail("directory");
	child_limits(s->jail);
	child_confine(s);
	if (s->probe != NULL) {
		close(FD_REPORT);
		s->probe();
		_exit(0);
	}
	execve(s->program, s->argv, s->env);
	child_fail(s->program);
	_exit(127);
}

/*
 * The parent's side.
 */

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

/* A pipe whose ends lie above those that the child renumbers. */
static bool
pipe_make(int ends[2])
{
	int low[2];

	ends[0] = ends[1] = -1;
	if (pipe2(low, O_CLOEXEC) != 0)
		return false;
	ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 16);
	ends[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 16);
	close(low[0]);
	close(low[1]);
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
take_err(struct watch *w, const char *bytes, size_t n)
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

	if (w->stopped)
		w->result->end = JAIL_STOPPED;
	else if (to_wall <= 0)
		w->result->end = JAIL_WALL;
	else if (to_idle <= 0)
		w->result->end = JAIL_IDLE;
	else
		return to_idle < to_wall ? to_idle : to_wall;
	return 0;
}

static bool
has_ended(const struct watch *w)
{
	siginfo_t info = { 0 };

	/* WNOWAIT: while it is a zombie, its process group keeps its number. */
	return waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == w->pid;
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
			w->result->end = JAIL_STOPPED;
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
			kill(-w->pid, SIGKILL);
	}
}

static void
settle(struct watch *w, bool ended)
{
	struct jail_result *r = w->result;
	struct rusage use;
	int status = 0;

	kill(-w->pid, SIGKILL);
	while (wait4(w->pid, &status, 0, &use) < 0 && errno == EINTR)
		continue;
	r->wall_ms = clock_ms() - w->started;
	r->cpu_ms = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000) +
	    (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
	r->peak_rss = use.ru_maxrss * INT64_C(1024);
	r->out = buf_string(&w->text);
	r->out_size = w->text.len;
	r->err = arena_copy_n(w->mem, w->tail_len > ERR_MAX ? w->tail + w->tail_len - ERR_MAX : w->tail,
	    w->tail_len > ERR_MAX ? ERR_MAX : w->tail_len);
	if (!ended)
		return;
	r->end = WIFEXITED(status) ? JAIL_EXITED : JAIL_SIGNALLED;
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (r->end == JAIL_SIGNALLED && (r->status == SIGXCPU ||
	    (r->status == SIGKILL && r->cpu_ms / 1000 >= (w->jail->cpu_seconds > 0 ? w->jail->cpu_seconds : 4 * 3600))))
		r->end = JAIL_CPU;
}

static bool
not_started(struct arena *mem, struct jail_result *r, const char *why)
{
	r->end = JAIL_NOT_STARTED;
	r->out = "";
	r->err = arena_copy(mem, why);
	return false;
}

/* Forks and waits for the word that the program has begun: nothing on the report pipe but its end. */
static pid_t
launch(struct start *s, int report, char fault[100])
{
	ssize_t n;
	pid_t pid;

	s->parent = getpid();
	pid = fork();
	if (pid == 0)
		child_main(s);
	close(s->report);
	s->report = -1;
	if (pid < 0) {
		snprintf(fault, 100, "fork: error %d", errno);
		return -1;
	}
	while ((n = read(report, fault, 99)) < 0 && errno == EINTR)
		continue;
	if (n <= 0)
		return pid;
	fault[n] = '\0';
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return -1;
}

static bool
run(struct arena *mem, struct start *s, struct jail_result *r)
{
	int out[2], err[2], progress[2], report[2], in = -1, all[10];
	struct watch *w = NEW(mem, struct watch);
	char fault[100] = "no descriptors left";
	bool fine, ended;

	fine = pipe_make(out);
	fine &= pipe_make(err);
	fine &= pipe_make(progress);
	fine &= pipe_make(report);
	in = s->jail->in >= 0 ? fcntl(s->jail->in, F_DUPFD_CLOEXEC, 16) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in >= 0 && in < 16) {
		int low = in;

		in = fcntl(low, F_DUPFD_CLOEXEC, 16);
		close(low);
	}
	s->rules = machine.landlock ? rules_make(s) : -1;
	if (s->rules >= 0 && s->rules < 16) {
		int low = s->rules;

		s->rules = fcntl(low, F_DUPFD_CLOEXEC, 16);
		close(low);
	}
	fine &= in >= 0 && (s->rules >= 0 || !machine.landlock);
	memcpy(s->fds, (int[]){ in, out[1], err[1], progress[1] }, sizeof(s->fds));
	s->report = report[1];
	*w = (struct watch){ .mem = mem, .jail = s->jail, .result = r, .out = out[0], .err = err[0],
	    .progress = progress[0], .pidfd = -1, .text = BUF(mem), .started = clock_ms(), .alive = clock_ms(),
	    .pid = -1 };
	if (fine)
		w->pid = launch(s, report[0], fault);
	memcpy(all, (int[]){ in, out[1], err[1], progress[1], s->rules, s->report, report[0] }, 7 * sizeof(int));
	close_all(all, 7);
	if (w->pid > 0) {
		w->pidfd = (int)syscall(__NR_pidfd_open, w->pid, 0);
		ended = watch_loop(w);
		settle(w, ended);
	}
	memcpy(all, (int[]){ w->out, w->err, w->progress, w->pidfd }, 4 * sizeof(int));
	close_all(all, 4);
	if (w->pid < 0)
		return not_started(mem, r, fault);
	return r->end == JAIL_EXITED && r->status == 0;
}

bool
jail_run(struct arena *mem, const struct jail *jail, struct jail_result *r)
{
	struct start s = { .jail = jail, .argv = (char *const *)(uintptr_t)jail->argv };

	*r = (struct jail_result){ .out = "", .err = "" };
	if (!machine.known)
		jail_check(mem, false);
	if (machine.strict && !(machine.landlock && machine.seccomp))
		return not_started(mem, r, "this machine cannot isolate programs");
	s.program = program_find(mem, jail->argv[0]);
	if (s.program == NULL)
		return not_started(mem, r, "no such program");
	s.env = environment_make(mem, jail);
	return run(mem, &s, r);
}

/* Runs confined; each line it prints names something that should have been refused. */
static void
probe(void)
{
	int fd;

#define POSSIBLE(text) do { if (write(1, text "; ", sizeof(text "; ") - 1) < 0) _exit(1); } while (0)
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		POSSIBLE("/etc/passwd can be read");
	fd = open("/var/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		POSSIBLE("/var/tmp can be written");
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		POSSIBLE("/ can be listed");
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		POSSIBLE("a network socket can be opened");
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		POSSIBLE("a local socket can be opened");
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		POSSIBLE("ptrace is possible");
	if (syscall(__NR_unshare, CLONE_NEWUSER) == 0)
		POSSIBLE("a user namespace can be made");
	if (kill(getppid(), 0) == 0)
		POSSIBLE("signals reach other processes");
	if (fcntl(1, F_SETOWN, getppid()) == 0 || fcntl(1, F_SETSIG, SIGKILL) == 0)
		POSSIBLE("signals reach other processes through descriptors");
	if (syscall(__NR_truncate, "/etc/passwd", (off_t)-1) == 0 || errno == EINVAL)
		POSSIBLE("truncate is possible");
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 || open("/usr/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0)
		POSSIBLE("what must be readable is not");
#undef POSSIBLE
}

/* Does the kernel take filters and rules at all?  Their effect is tried by the probe. */
static void
machine_ask(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	machine.abi = (int)syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	machine.landlock = machine.abi >= 1;
	machine.seccomp = syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
	    filter_make(&machine.filters[0], false) && filter_make(&machine.filters[1], true);
}

const char *
jail_check(struct arena *mem, bool degraded)
{
	const char *argv[] = { "probe", NULL };
	struct jail jail = { .argv = argv, .in = -1, .wall_seconds = 10, .threads_only = true };
	struct start s = { .jail = &jail, .probe = probe };
	struct jail_result r = { .out = "", .err = "" };
	const char *missing;
	bool ran;

	machine_ask();
	machine.known = true;
	machine.strict = !degraded;
	missing = !machine.landlock ? "Landlock is missing; " : !machine.seccomp ? "seccomp is missing; " : "";
	ran = run(mem, &s, &r);
	if (ran && r.out[0] == '\0' && missing[0] == '\0')
		return NULL;
	/* Strict mode starts nothing from now on; degraded mode does without what has failed. */
	if (!ran || !degraded)
		machine.landlock = machine.seccomp = false;
	return arena_printf(mem, "%s%s%s", missing, r.out, ran ? "" : r.err);
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
