/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a confined program can and cannot do, tried with real programs. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
		jail.wall_seconds = 20;
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
	assert_int_equal(r.end, JAIL_NOT_STARTED);
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
		"syscall(72, 1, 10, 9) >= 0 || $! != 1",
		"syscall(72, 1, 0x10000000a, 9) >= 0 || $! != 1",
		"syscall(72, 1, 15, pack('ii', 1, getppid())) >= 0 || $! != 1",	/* F_SETOWN_EX */
		"syscall(16, 1, 0x8901, pack('i', getppid())) >= 0 || $! != 1",	/* FIOSETOWN */
		"syscall(16, 1, 0x100008902, pack('i', getppid())) >= 0 || $! != 1",	/* SIOCSPGRP */
		"syscall(101, 0, 0, 0, 0) >= 0 || $! != 1",			/* ptrace(PTRACE_TRACEME) */
		"syscall(272, 0x10000000) >= 0 || $! != 1",			/* unshare(CLONE_NEWUSER) */
		"syscall(56, 0x10000011, 0, 0, 0, 0) >= 0 || $! != 1",		/* clone(CLONE_NEWUSER | SIGCHLD) */
		"syscall(435, 0, 0) >= 0 || $! != 38",				/* clone3 */
		"syscall(165, 0, 0, 0, 0, 0) >= 0 || $! != 1",		/* mount */
		"syscall(161, 0) >= 0 || $! != 1",				/* chroot */
		"syscall(321, 0, 0, 0) >= 0 || $! != 1",				/* bpf */
		"syscall(323, 0) >= 0 || $! != 1",					/* userfaultfd */
		"syscall(425, 1, 0) >= 0 || $! != 1",				/* io_uring_setup */
		"syscall(250, 0, 0, 0, 0, 0) >= 0 || $! != 1",			/* keyctl */
		"syscall(112) >= 0 || $! != 1",					/* setsid */
		"syscall(109, 0, 0) >= 0 || $! != 1",				/* setpgid */
		"setpgrp(0, 0)",
		"syscall(302, getppid(), 7, 0, 0) >= 0 || $! != 1",		/* prlimit64 of another process */
		"syscall(29, 1, 4096, 01600) >= 0 || $! != 1",			/* shmget */
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
	struct jail_result r = perl(p, (struct jail){ .idle_seconds = 1 }, "sleep 15");

	assert_int_equal(r.end, JAIL_IDLE);
	assert_true(r.wall_ms >= 900 && r.wall_ms < 5000);
}

static void
output_and_progress_keep_a_program_alive_and_repetition_does_not(void **state)
{
	struct place *p = *state;
	struct jail_result r;

	r = perl(p, (struct jail){ .idle_seconds = 1 }, "$|=1; for (1..6) { print 'x'; select(undef,undef,undef,0.3) "
	    "}");
	assert_int_equal(r.end, JAIL_EXITED);
	r = perl(p, (struct jail){ .idle_seconds = 1 }, "open(P, '>&=3'); P->autoflush(1);"
	    "for (1..6) { print P \"out_time_us=$_\\n\"; select(undef,undef,undef,0.3) }");
	assert_int_equal(r.end, JAIL_EXITED);
	r = perl(p, (struct jail){ .idle_seconds = 1 }, "open(P, '>&=3'); P->autoflush(1);"
	    "for (1..20) { print P \"out_time_us=5\\nspeed=$_\\n\"; select(undef,undef,undef,0.3) }");
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
	assert_true(r.wall_ms < 5000);
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
	for (int i = 0; i < 100 && alive_with(mark); i++)
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
	assert_true(r.wall_ms < 5000);
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
	assert_int_equal(r.end, JAIL_STOPPED);
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

/* cmocka's skip() prints "not ok", which counts as failed: what cannot be tried here has this in its place. */
static void
nothing(void **state)
{
}

int
main(void)
{
	struct CMUnitTest tests[] = {
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
		cmocka_unit_test_setup_teardown(nothing_it_started_outlives_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_that_has_enough_ends_the_program, setup, teardown),
		cmocka_unit_test_setup_teardown(endless_output_is_cut_and_only_the_end_of_errors_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_cannot_be_watched_has_not_succeeded, setup, teardown),
		cmocka_unit_test_setup_teardown(a_descriptor_can_be_its_standard_input, setup, teardown),
		cmocka_unit_test_setup_teardown(every_escape_is_refused, setup, teardown),
	};

	if (SYS_ptrace != 101)
		tests[sizeof(tests) / sizeof(tests[0]) - 1] = (struct CMUnitTest){
			"every_escape_is_refused # SKIP knows the calls of x86-64 only", nothing, NULL, NULL, NULL };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
