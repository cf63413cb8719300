/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a confined program can and cannot do, tried with real programs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/jail.h"

struct place { struct arena *mem; char dir[64], secret[96]; };

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	FILE *f;

	p->mem = arena_new(256 << 20);
	strcpy(p->dir, "/tmp/jail-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->secret, sizeof(p->secret), "%s.secret", p->dir);
	f = fopen(p->secret, "w");
	assert_non_null(f);
	fputs("secret\n", f);
	fclose(f);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;
	char command[128];

	unlink(p->secret);
	snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	assert_int_equal(system(command), 0);
	arena_free(p->mem);
	free(p);
	return 0;
}

/* Runs a line of Perl, which has every system call at hand; $ARGV[0] is the secret file, $ARGV[1] the directory. */
static struct jail_result
perl(struct place *p, struct jail jail, const char *code)
{
	const char *argv[] = { "perl", "-e", code, p->secret, p->dir, NULL };
	struct jail_result r;

	jail.argv = argv;
	jail.in = -1;
	if (jail.wall_seconds == 0)
		jail.wall_seconds = 120;
	jail_run(p->mem, &jail, &r);
	return r;
}

static void
this_machine_isolates(void **state)
{
	struct place *p = *state;
	const char *hole = jail_check(p->mem, false);

	if (hole != NULL)
		fail_msg("%s", hole);
}

static void
a_program_runs_and_its_output_and_status_come_back(void **state)
{
	struct place *p = *state;
	struct jail_result r = perl(p, (struct jail){ 0 }, "print 'out'; print STDERR 'err'; exit 7");

	assert_int_equal(r.end, JAIL_EXITED);
	assert_int_equal(r.status, 7);
	assert_string_equal(r.out, "out");
	assert_string_equal(r.err, "err");
	assert_true(r.peak_rss > 0 && r.wall_ms >= 0);
}

static void
a_missing_program_is_said_to_be_missing(void **state)
{
	struct place *p = *state;
	const char *argv[] = { "no-such-program", NULL };
	struct jail jail = { .argv = argv, .in = -1 };
	struct jail_result r;

	assert_false(jail_run(p->mem, &jail, &r));
	assert_int_equal(r.end, JAIL_MISSING);
	assert_string_equal(r.err, "no such program");
}

static void
the_environment_is_empty_and_only_four_descriptors_are_open(void **state)
{
	struct place *p = *state;
	int leak = open("/etc/passwd", O_RDONLY);	/* on purpose without O_CLOEXEC */
	struct jail_result r;

	setenv("KINOTHEK_DB_PASSWORD", "x", 1);
	r = perl(p, (struct jail){ 0 }, "print join(',', sort keys %ENV), ';'; opendir(D, '/proc/self/fd');"
	    "print join(',', sort grep { /\\d/ && $_ != fileno(D) } readdir D)");
	close(leak);
	unsetenv("KINOTHEK_DB_PASSWORD");
	assert_string_equal(r.out, "HOME,LANG,PATH;0,1,2,3");
}

#ifdef __x86_64__
/* Each must print nothing but "no". */
static void
every_escape_is_refused(void **state)
{
	static const char *const tries[] = {
		"open(F, '<', '/etc/passwd')",
		"open(F, '<', $ARGV[0])",
		"open(F, '<', \"/proc/self/root$ARGV[0]\")",
		"open(F, '<', '/proc/' . getppid() . '/environ')",
		"opendir(D, '/')",
		"opendir(D, '/proc')",
		"open(F, '>', \"$ARGV[0].new\")",
		"open(F, '>>', $ARGV[0])",
		"open(F, '>', '/usr/bin/x')",
		"open(F, '>', '/dev/shm/x')",
		"sysopen(F, $ARGV[0], 01000)",				/* O_RDONLY | O_TRUNC */
		"sysopen(F, $^X, 01000) || $! != 38",
		"truncate($ARGV[0], 0)",
		"unlink($ARGV[0])",
		"rename($ARGV[0], \"$ARGV[1]/stolen\")",
		"link($ARGV[0], \"$ARGV[1]/stolen\")",
		"symlink('/etc/passwd', \"$ARGV[1]/link\")",
		"chmod(0777, $ARGV[0])",
		"chown(1, 1, $ARGV[0])",
		"utime(1, 1, $ARGV[0])",
		"socket(S, 2, 1, 0)",
		"socket(S, 10, 2, 0)",
		"socket(S, 1, 1, 0)",
		"socketpair(A, B, 1, 1, 0)",
		"kill(0, getppid())",
		"kill(9, -1)",
		"fcntl(STDOUT, 8, getppid())",					/* F_SETOWN */
		"fcntl(STDOUT, 10, 9)",						/* F_SETSIG */
		"syscall(72, 1, 10, 9) >= 0 || $! != 38",
		"syscall(72, 1, 0x10000000a, 9) >= 0 || $! != 38",
		"syscall(72, 1, 15, pack('ii', 1, getppid())) >= 0 || $! != 38",	/* F_SETOWN_EX */
		"syscall(72, 1, 1031, 1 << 20) >= 0 || $! != 38",			/* F_SETPIPE_SZ */
		"opendir(D, '/usr/bin') && (syscall(72, fileno(D), 1026, 2) >= 0 || $! != 38)",	/* F_NOTIFY */
		"syscall(16, 1, 0x8901, pack('i', getppid())) >= 0 || $! != 38",	/* FIOSETOWN */
		"syscall(16, 1, 0x100008902, pack('i', getppid())) >= 0 || $! != 38",	/* SIOCSPGRP */
		"open(F, '<', $^X) && (syscall(16, fileno(F), 0x40086602, (my $v = pack('q', 64))) >= 0 || $! != 38)",	/* FS_IOC_SETFLAGS */
		"syscall(157, 1, 0) >= 0 || $! != 38",				/* prctl(PR_SET_PDEATHSIG) */
		"syscall(203, getppid(), 8, (my $v = pack('q', 1))) >= 0 || $! != 38",	/* sched_setaffinity */
		"syscall(101, 0, 0, 0, 0) >= 0 || $! != 38",			/* ptrace(PTRACE_TRACEME) */
		"syscall(272, 0x10000000) >= 0 || $! != 38",			/* unshare(CLONE_NEWUSER) */
		"syscall(56, 0x10000011, 0, 0, 0, 0) >= 0 || $! != 38",		/* clone(CLONE_NEWUSER | SIGCHLD) */
		"syscall(56, 0x8011, 0, 0, 0, 0) >= 0 || $! != 38",			/* clone(CLONE_PARENT | SIGCHLD) */
		"syscall(435, 0, 0) >= 0 || $! != 38",				/* clone3 */
		"syscall(165, 0, 0, 0, 0, 0) >= 0 || $! != 38",			/* mount */
		"syscall(161, 0) >= 0 || $! != 38",				/* chroot */
		"syscall(321, 0, 0, 0) >= 0 || $! != 38",				/* bpf */
		"syscall(323, 0) >= 0 || $! != 38",				/* userfaultfd */
		"syscall(425, 1, 0) >= 0 || $! != 38",				/* io_uring_setup */
		"syscall(250, 0, 0, 0, 0, 0) >= 0 || $! != 38",			/* keyctl */
		"syscall(112) >= 0 || $! != 38",					/* setsid */
		"syscall(109, 0, 0) >= 0 || $! != 38",				/* setpgid */
		"setpgrp(0, 0)",
		"syscall(302, getppid(), 7, 0, 0) >= 0 || $! != 38",		/* prlimit64 of another process */
		"syscall(29, 1, 4096, 01600) >= 0 || $! != 38",			/* shmget */
		"syscall(319, $0, 0) >= 0 || $! != 38",				/* memfd_create */
		"syscall(253) >= 0 || $! != 38",					/* inotify_init */
		"syscall(294, 0) >= 0 || $! != 38",				/* inotify_init1 */
		"syscall(452, -100, $ARGV[0], 0777, 0) >= 0 || $! != 38",		/* fchmodat2 */
	};
	struct place *p = *state;
	struct stat st;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		const char *code = arena_printf(p->mem, "print((%s) ? 'possible' : 'no')", tries[i]);
		struct jail_result r = perl(p, (struct jail){ .write_dir = p->dir }, code);

		if (r.end != JAIL_EXITED || strcmp(r.out, "no") != 0)
			fail_msg("%s: %s %s (end %d, status %d)", tries[i], r.out, r.err, r.end, r.status);
	}
	assert_int_equal(stat(p->secret, &st), 0);
	assert_int_equal(st.st_size, 7);
}

/* Those that came to Linux since pidfd_send_signal, and those that will come.  Of the two that are allowed there are
 * close_range and faccessat2. */
static void
a_call_that_no_decoder_needs_does_not_exist(void **state)
{
	struct place *p = *state;
	struct jail_result r = perl(p, (struct jail){ 0 }, "for (424 .. 1023) { next if $_ == 436 || $_ == 439;"
	    "syscall($_, -1, -1, -1, -1, -1, -1) >= 0 || $! != 38 and print \"$_ \" } print 'end'");

	assert_string_equal(r.out, "end");
}

/* The numbers of other architectures mean other calls. */
static _Noreturn void
call_as_i386(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");	/* getpid */
	_exit(result > 0 ? 0 : 1);
}

/* Some machines end whoever makes such a call, jail or not. */
static bool
takes_calls_as_i386(void)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		call_as_i386();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
calls_of_another_architecture_end_a_program(void **state)
{
	struct place *p = *state;
	char self[4096] = "";
	const char *argv[] = { self, "as i386", NULL };
	struct jail jail = { .argv = argv, .in = -1, .memory = INT64_C(1) << 60 };
	struct jail_result r = perl(p, (struct jail){ 0 }, "syscall(0x40000000 | 39); print 'possible'");

	assert_int_equal(r.end, JAIL_SIGNALLED);
	assert_int_equal(r.status, SIGSYS);
	if (!takes_calls_as_i386())
		return;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	jail_run(p->mem, &jail, &r);
	assert_int_equal(r.end, JAIL_SIGNALLED);
	assert_int_equal(r.status, SIGSYS);
}
#endif

/* cmocka's skip() prints "not ok", which counts as failed: what cannot be tried here has this in its place. */
static void
nothing(void **state)
{
}

static void
named_files_can_be_read_but_not_written(void **state)
{
	struct place *p = *state;
	const char *read[] = { p->secret, NULL };
	struct jail_result r;

	r = perl(p, (struct jail){ .read = read }, "open(F, '<', $ARGV[0]) or die; print <F>;"
	    "print open(G, '>>', $ARGV[0]) ? 'written' : 'kept'");
	assert_string_equal(r.out, "secret\nkept");
}

static void
the_work_directory_can_be_written_but_nothing_in_it_be_run(void **state)
{
	struct place *p = *state;
	struct jail_result r;

	r = perl(p, (struct jail){ .write_dir = p->dir }, "open(F, '>', 'made') or die $!; print F 'x'; close F;"
	    "mkdir 'sub' or die; rename('made', 'sub/moved') or die \"rename $!\"; print -s 'sub/moved'");
	assert_string_equal(r.out, "1");
	r = perl(p, (struct jail){ .write_dir = p->dir }, "open(F, '>', 'run'); open(G, '<', '/usr/bin/true'); local "
	    "$/;print F <G>; close F; exec('./run') or print 'refused'");
	assert_string_equal(r.out, "refused");
}

static void
a_decoder_can_start_threads_only(void **state)
{
	struct place *p = *state;
	struct jail_result r;

	r = perl(p, (struct jail){ .threads_only = true }, "my $p = fork(); print defined $p ? 'forked' : 'refused'");
	assert_string_equal(r.out, "refused");
	r = perl(p, (struct jail){ 0 }, "my $p = fork(); exit if defined $p && !$p; print defined $p ? 'forked' : "
	    "'refused'");
	assert_string_equal(r.out, "forked");
}

static void
silence_ends_a_program(void **state)
{
	struct place *p = *state;
	struct jail_result r = perl(p, (struct jail){ .idle_seconds = 1 }, "sleep 300");

	assert_int_equal(r.end, JAIL_IDLE);
	assert_true(r.wall_ms >= 900);
}

static void
output_and_progress_keep_a_program_alive_and_repetition_does_not(void **state)
{
	struct place *p = *state;
	struct jail_result r;

	r = perl(p, (struct jail){ .idle_seconds = 4 }, "$|=1; for (1..16) { print 'x'; select(undef,undef,undef,0.3) "
	    "}");
	assert_int_equal(r.end, JAIL_EXITED);
	r = perl(p, (struct jail){ .idle_seconds = 4 }, "open(P, '>&=3'); P->autoflush(1);"
	    "for (1..16) { print P \"out_time_us=$_\\n\"; select(undef,undef,undef,0.3) }");
	assert_int_equal(r.end, JAIL_EXITED);
	r = perl(p, (struct jail){ .idle_seconds = 1 }, "open(P, '>&=3'); P->autoflush(1);"
	    "for (1..200) { print P \"out_time_us=5\\nspeed=$_\\n\"; select(undef,undef,undef,0.3) }");
	assert_int_equal(r.end, JAIL_IDLE);
}

static void
a_program_that_ignores_signals_ends_at_its_wall_time(void **state)
{
	struct place *p = *state;
	struct jail_result r;

	r = perl(p, (struct jail){ .wall_seconds = 1 }, "$SIG{TERM} = $SIG{INT} = 'IGNORE'; $|=1;"
	    "for (;;) { print 'x'; select(undef,undef,undef,0.1) }");
	assert_int_equal(r.end, JAIL_WALL);
}

static void
processor_time_is_limited(void **state)
{
	struct place *p = *state;
	struct jail_result r = perl(p, (struct jail){ .cpu_seconds = 1 }, "1 while 1");

	assert_int_equal(r.end, JAIL_CPU);
}

static void
memory_and_file_size_are_limited(void **state)
{
	struct place *p = *state;
	struct jail_result r;

	r = perl(p, (struct jail){ .memory = 256 << 20 }, "my $x = 'x' x 400000000; print 'had it'");
	assert_string_equal(r.out, "");
	assert_false(r.end == JAIL_EXITED && r.status == 0);
	r = perl(p, (struct jail){ .write_dir = p->dir, .file_size = 1000 },
	    "open(F, '>', 'big'); print F 'x' x 5000; close F;");
	assert_int_equal(r.end, JAIL_SIGNALLED);
	assert_int_equal(r.status, SIGXFSZ);
}

static void
memory_that_processes_hold_together_is_limited(void **state)
{
	static const char each[] = "for (1 .. %d) { my $p = fork(); die $! unless defined $p;"
	    "if (!$p) { my $x = 'x' x (%d << 20); sleep 3; exit } } 1 while wait() > 0; print 'end'";
	struct place *p = *state;
	const struct jail jail = { .memory = 256 << 20 };
	struct jail_result r;

	/* Perl makes the text twice. */
	r = perl(p, jail, arena_printf(p->mem, each, 4, 60));
	assert_int_equal(r.end, JAIL_MEMORY);
	r = perl(p, jail, arena_printf(p->mem, each, 2, 40));
	assert_int_equal(r.end, JAIL_EXITED);
	assert_string_equal(r.out, "end");
	/* What they share is held once. */
	r = perl(p, jail, "my $x = 'x' x (60 << 20); for (1 .. 6) { my $p = fork(); if (!$p) { sleep 1; exit } }"
	    "1 while wait() > 0; print 'end'");
	assert_int_equal(r.end, JAIL_EXITED);
	assert_string_equal(r.out, "end");
}

/* How many groups of programs are in that directory. */
static int
groups_count(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += strncmp(e->d_name, "jail-", 5) == 0;
	closedir(d);
	return n;
}

static void
a_program_has_a_control_group_that_goes_with_it(void **state)
{
	struct place *p = *state;
	struct jail_result r;
	char *dir, *mark;
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	r = perl(p, (struct jail){ .threads_only = true },
	    "open(F, '<', '/proc/self/cgroup'); print grep { /^0::/ } <F>");
	dir = arena_printf(p->mem, "/sys/fs/cgroup%s", r.out + 3);
	mark = strstr(dir, arena_printf(p->mem, "/jail-%d-", (int)getpid()));
	assert_non_null(mark);
	*mark = '\0';
	assert_int_equal(groups_count(dir), 0);
	/* Nor does one stay whose maker was killed. */
	assert_int_equal(mkdir(arena_printf(p->mem, "%s/jail-%d-0", dir, (int)gone), 0755), 0);
	perl(p, (struct jail){ 0 }, "for (1 .. 50) { my $p = fork(); if (!$p) { sleep 30; exit } }");
	assert_int_equal(groups_count(dir), 0);
}

static void
a_program_killed_from_outside_is_told_from_one_that_fails(void **state)
{
	struct place *p = *state;

	assert_int_equal(perl(p, (struct jail){ 0 }, "kill 9, $$").end, JAIL_KILLED);
	assert_int_equal(perl(p, (struct jail){ 0 }, "kill 11, $$").end, JAIL_SIGNALLED);
}

static void
want_of_descriptors_passes_and_is_said_to(void **state)
{
	struct place *p = *state;
	struct rlimit before, few;
	int wants = 0, runs = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (few = before, few.rlim_cur = 5; few.rlim_cur < 40; few.rlim_cur++) {
		struct jail_result r;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		r = perl(p, (struct jail){ .threads_only = true }, "print 'ran'");
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		if (r.end != JAIL_WANT) {
			assert_int_equal(r.end, JAIL_EXITED);
			assert_string_equal(r.out, "ran");
		}
		*(r.end == JAIL_WANT ? &wants : &runs) += 1;
	}
	assert_true(wants > 10 && runs > 0);
	/* Nor is a machine that lacks them for a moment one that cannot isolate. */
	few.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_non_null(jail_check(p->mem, false));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_string_equal(perl(p, (struct jail){ 0 }, "print 'ran'").out, "ran");
}

/* Runs a function in a process of its own, which it may spoil; the exit status is how the jail ended there. */
static enum jail_end
end_apart(struct place *p, void (*spoil)(struct place *))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		spoil(p);
		_exit((int)perl(p, (struct jail){ 0 }, "print 'ran'").end);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return (enum jail_end)WEXITSTATUS(status);
}

static void
allow_no_process(struct place *p)
{
	const struct rlimit none = { 0, 0 };

	/* The limit is not for root. */
	if ((geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0)
		_exit(99);
}

static void
forbid_landlock(struct place *p)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
	    jail_check(p->mem, false) == NULL)
		_exit(99);
}

static void
forget_the_directory(struct place *p)
{
	const char *const argv[] = { "true", NULL };
	const struct jail jail = { .argv = argv, .in = -1, .write_dir = "/nonexistent" };
	struct jail_result r;

	jail_run(p->mem, &jail, &r);
	_exit((int)r.end);
}

static void
why_a_program_did_not_begin_is_told(void **state)
{
	struct place *p = *state;

	assert_int_equal(end_apart(p, allow_no_process), JAIL_WANT);
	assert_int_equal(end_apart(p, forbid_landlock), JAIL_NO_ISOLATION);
	assert_int_equal(end_apart(p, forget_the_directory), JAIL_WANT);
}

/* Is a process alive whose command line holds the text? */
static bool
alive_with(const char *mark)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool alive = false;

	assert_non_null(proc);
	while (!alive && (e = readdir(proc)) != NULL) {
		char path[300], line[4096];
		size_t n;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
		if (f == NULL)
			continue;
		n = fread(line, 1, sizeof(line), f);	/* empty for a zombie */
		alive = memmem(line, n, mark, strlen(mark)) != NULL;
		fclose(f);
	}
	closedir(proc);
	return alive;
}

/* The kernel ends what was killed a moment later. */
static bool
outlives(const char *mark)
{
	for (int i = 0; i < 6000 && alive_with(mark); i++)
		usleep(10000);
	return alive_with(mark);
}

static void
nothing_it_started_outlives_it(void **state)
{
	struct place *p = *state;
	const char *code = arena_printf(p->mem, "for (1..50) { my $p = fork(); if (!$p) { sleep 30; exit } } print "
	    "'done %s'", p->dir);
	struct jail_result r;

	/* Both when it ends by itself, leaving children that hold its pipes, and when a watchdog ends it. */
	r = perl(p, (struct jail){ 0 }, code);
	assert_int_equal(r.end, JAIL_EXITED);
	assert_true(r.wall_ms < 29000);		/* its children sleep for longer */
	assert_false(outlives(p->dir));
	r = perl(p, (struct jail){ .wall_seconds = 1 }, arena_printf(p->mem, "%s; sleep 20", code));
	assert_int_equal(r.end, JAIL_WALL);
	assert_false(outlives(p->dir));
}

static bool
enough(void *user, const char *bytes, size_t n)
{
	size_t *sum = user;

	*sum += n;
	return *sum < 100000;
}

static void
a_reader_that_has_enough_ends_the_program(void **state)
{
	struct place *p = *state;
	size_t sum = 0;
	struct jail_result r = perl(p, (struct jail){ .on_out = enough, .user = &sum }, "print 'x' x 1000 while 1");

	assert_int_equal(r.end, JAIL_STOPPED);
	assert_true(sum >= 100000);
}

static void
endless_output_is_cut_and_only_the_end_of_errors_is_kept(void **state)
{
	struct place *p = *state;
	struct jail_result r = perl(p, (struct jail){ 0 }, "print 'x' x 100000 while 1");

	assert_int_equal(r.end, JAIL_STOPPED);
	assert_true(r.out_size <= 16 << 20);
	r = perl(p, (struct jail){ 0 }, "print STDERR 'a' x 100000, 'the end'");
	assert_int_equal(strlen(r.err), 8192);
	assert_string_equal(r.err + 8192 - 7, "the end");
}

static bool
take_numbers(void *user, const char *line)
{
	int *sum = user;

	*sum += atoi(line);
	return atoi(line) > 0;
}

static void
a_line_of_errors_that_is_taken_is_not_kept(void **state)
{
	struct place *p = *state;
	int sum = 0;
	struct jail_result r = perl(p, (struct jail){ .on_err = take_numbers, .user = &sum },
	    "print STDERR \"4\\nfirst\\n3\\n\", 'a' x 2000, \"\\nno end\"");

	assert_int_equal(sum, 7);
	assert_int_equal(strlen(r.err), strlen("first\n") + 1022 + strlen("\nno end"));
	assert_memory_equal(r.err, "first\naaaa", 10);
	assert_string_equal(strrchr(r.err, 'a') + 1, "\nno end");
}

/* With fewer descriptors allowed than poll() is given, it fails. */
static bool
forbid_poll(void *user, const char *bytes, size_t n)
{
	const struct rlimit two = { 2, *(rlim_t *)user };

	return setrlimit(RLIMIT_NOFILE, &two) == 0;
}

static void
a_program_that_cannot_be_watched_has_not_succeeded(void **state)
{
	struct place *p = *state;
	struct rlimit before;
	struct jail_result r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	r = perl(p, (struct jail){ .on_out = forbid_poll, .user = &before.rlim_max },
	    "$| = 1; print 'x'; sleep 1 while 1");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r.end, JAIL_WANT);
}

static void
a_descriptor_can_be_its_standard_input(void **state)
{
	struct place *p = *state;
	const char *argv[] = { "cat", NULL };
	struct jail jail = { .argv = argv, .in = open(p->secret, O_RDONLY | O_CLOEXEC), .threads_only = true };
	struct jail_result r;

	assert_true(jail_run(p->mem, &jail, &r));
	close(jail.in);
	assert_string_equal(r.out, "secret\n");
}

int
main(int argc, char **argv)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_program_has_a_control_group_that_goes_with_it, setup, teardown),
		cmocka_unit_test_setup_teardown(this_machine_isolates, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_runs_and_its_output_and_status_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_program_is_said_to_be_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(the_environment_is_empty_and_only_four_descriptors_are_open, setup, teardown),
		cmocka_unit_test_setup_teardown(named_files_can_be_read_but_not_written, setup, teardown),
		cmocka_unit_test_setup_teardown(the_work_directory_can_be_written_but_nothing_in_it_be_run, setup, teardown),
		cmocka_unit_test_setup_teardown(a_decoder_can_start_threads_only, setup, teardown),
		cmocka_unit_test_setup_teardown(silence_ends_a_program, setup, teardown),
		cmocka_unit_test_setup_teardown(output_and_progress_keep_a_program_alive_and_repetition_does_not, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_ignores_signals_ends_at_its_wall_time, setup, teardown),
		cmocka_unit_test_setup_teardown(processor_time_is_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_and_file_size_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_that_processes_hold_together_is_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_killed_from_outside_is_told_from_one_that_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(want_of_descriptors_passes_and_is_said_to, setup, teardown),
		cmocka_unit_test_setup_teardown(why_a_program_did_not_begin_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_it_started_outlives_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_that_has_enough_ends_the_program, setup, teardown),
		cmocka_unit_test_setup_teardown(endless_output_is_cut_and_only_the_end_of_errors_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_of_errors_that_is_taken_is_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_cannot_be_watched_has_not_succeeded, setup, teardown),
		cmocka_unit_test_setup_teardown(a_descriptor_can_be_its_standard_input, setup, teardown),
#ifdef __x86_64__
		cmocka_unit_test_setup_teardown(every_escape_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_that_no_decoder_needs_does_not_exist, setup, teardown),
		cmocka_unit_test_setup_teardown(calls_of_another_architecture_end_a_program, setup, teardown),
#else
		{ "every_escape_is_refused # SKIP knows the calls of x86-64 only", nothing, NULL, NULL, NULL },
#endif
	};

#ifdef __x86_64__
	if (argc > 1)	/* in the jail */
		call_as_i386();
#endif
	/* Where there are such groups, everything here is tried in them. */
	if (!jail_delegate())
		tests[0] = (struct CMUnitTest){
			"a_program_has_a_control_group_that_goes_with_it # SKIP none is delegated", nothing, NULL, NULL, NULL };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
