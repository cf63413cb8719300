/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every end of a program and every errno as a reason: what lies in the machine never blames the file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/fault.h"

static struct arena *mem;
static const char *const argv[] = { "/usr/libexec/a/program", NULL };

static int
setup(void **state)
{
	mem = arena_new(64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	arena_free(mem);
	return 0;
}

static struct fault
of(struct jail jail, enum jail_end end, int status, const char *err)
{
	const struct jail_result r = { .end = end, .status = status, .out = "", .err = err, .wall_ms = 1500 };
	struct fault fault;
	bool fine;

	jail.argv = argv;
	if (jail.in == 0)
		jail.in = -1;
	fine = fault_of_jail(mem, &jail, &r, &fault);
	assert_int_equal(fine, fault.reason == REASON_NONE);
	return fault;
}

static void
each_end_of_a_program_has_its_reason(void **state)
{
	static const struct { enum jail_end end; int status; const char *err; enum reason reason; } rows[] = {
		{ JAIL_EXITED, 0, "", REASON_NONE },
		{ JAIL_EXITED, 1, "", REASON_CRASHED },
		{ JAIL_EXITED, 1, "Invalid data found when processing input", REASON_CRASHED },
		{ JAIL_EXITED, EX_USAGE, "usage: program FILE", REASON_INTERNAL },
		{ JAIL_EXITED, 1, "x: No space left on device", REASON_NO_SPACE },
		{ JAIL_EXITED, 0, "x: No space left on device", REASON_NO_SPACE },
		{ JAIL_EXITED, 1, "x: Disk quota exceeded", REASON_NO_SPACE },
		{ JAIL_EXITED, 1, "x: Read-only file system", REASON_STORAGE },
		{ JAIL_EXITED, 1, "x: Stale file handle", REASON_STORAGE },
		{ JAIL_EXITED, 0, "x: Stale file handle", REASON_STORAGE },
		{ JAIL_EXITED, 1, "x: Transport endpoint is not connected", REASON_STORAGE },
		{ JAIL_EXITED, 1, "x: Too many open files in system", REASON_BUSY },
		{ JAIL_EXITED, 1, "x: Cannot allocate memory", REASON_MEMORY_LIMIT },
		{ JAIL_EXITED, 0, "x: Cannot allocate memory", REASON_NONE },
		{ JAIL_KILLED, SIGKILL, "", REASON_INTERRUPTED },
		{ JAIL_MEMORY, 0, "", REASON_MEMORY_LIMIT },
		{ JAIL_SIGNALLED, SIGTERM, "", REASON_INTERRUPTED },
		{ JAIL_SIGNALLED, SIGINT, "", REASON_INTERRUPTED },
		{ JAIL_SIGNALLED, SIGHUP, "", REASON_INTERRUPTED },
		{ JAIL_SIGNALLED, SIGSEGV, "", REASON_CRASHED },
		{ JAIL_SIGNALLED, SIGABRT, "", REASON_CRASHED },
		{ JAIL_SIGNALLED, SIGFPE, "", REASON_CRASHED },
		{ JAIL_SIGNALLED, SIGILL, "", REASON_CRASHED },
		{ JAIL_SIGNALLED, SIGBUS, "", REASON_CRASHED },
		{ JAIL_SIGNALLED, SIGABRT, "what():  std::bad_alloc", REASON_MEMORY_LIMIT },
		{ JAIL_SIGNALLED, SIGXCPU, "", REASON_TIME_LIMIT },
		{ JAIL_SIGNALLED, SIGXFSZ, "", REASON_NO_SPACE },
		{ JAIL_IDLE, 0, "", REASON_NO_PROGRESS },
		{ JAIL_WALL, 0, "", REASON_TIME_LIMIT },
		{ JAIL_CPU, 0, "", REASON_TIME_LIMIT },
		{ JAIL_STOPPED, 0, "", REASON_OUTPUT_INVALID },
		{ JAIL_NO_ISOLATION, 0, "this machine cannot isolate programs", REASON_SANDBOX },
		{ JAIL_NO_ISOLATION, 0, "landlock: error 1", REASON_SANDBOX },
		{ JAIL_MISSING, 0, "no such program", REASON_PROGRAM_MISSING },
		{ JAIL_WANT, 0, "no descriptors left", REASON_BUSY },
		{ JAIL_WANT, 0, "fork: error 11", REASON_BUSY },		/* EAGAIN */
		{ JAIL_WANT, 0, "fork: error 12", REASON_BUSY },		/* ENOMEM */
		{ JAIL_WANT, 0, "directory: error 116", REASON_STORAGE },	/* ESTALE */
		{ JAIL_WANT, 0, "directory: error 5", REASON_STORAGE },	/* EIO */
	};
	struct fault fault;
	size_t i;

	fault_memory_was_short();
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fault = of((struct jail){ .in = -1 }, rows[i].end, rows[i].status, rows[i].err);
		if (fault.reason != rows[i].reason)
			fail_msg("row %zu is %s", i, reason_info(fault.reason)->code);
		assert_true((fault.log != NULL) == (fault.reason != REASON_NONE));
	}
}

/* An asset may be soft-deleted, and recovered, while a step works on it. */
static void
a_file_that_has_moved_away_is_no_fault_of_the_file(void **state)
{
	const char *const gone[] = { "/nonexistent/film.mp4", NULL }, *const there[] = { "/dev/null", NULL };
	const char said[] = "film.mp4: No such file or directory";

	assert_int_equal(of((struct jail){ .in = -1, .read = gone }, JAIL_EXITED, 1, said).reason, REASON_INTERRUPTED);
	assert_int_equal(of((struct jail){ .in = -1, .read = there }, JAIL_EXITED, 1, said).reason, REASON_CRASHED);
	/* Not all that it may read need be there. */
	assert_int_equal(of((struct jail){ .in = -1, .read = gone }, JAIL_EXITED, 1, "bad").reason, REASON_CRASHED);
}

static void
each_errno_of_the_machine_has_its_reason_and_the_others_are_ours(void **state)
{
	static const struct { int error; enum reason reason; } rows[] = {
		{ ENOSPC, REASON_NO_SPACE }, { EDQUOT, REASON_NO_SPACE }, { EROFS, REASON_STORAGE },
		{ EIO, REASON_STORAGE }, { ESTALE, REASON_STORAGE }, { ENOTCONN, REASON_STORAGE },
		{ ETIMEDOUT, REASON_STORAGE }, { EAGAIN, REASON_BUSY }, { EMFILE, REASON_BUSY },
		{ ENFILE, REASON_BUSY }, { ENOMEM, REASON_BUSY }, { ENOENT, REASON_INTERNAL },
		{ EACCES, REASON_INTERNAL }, { EBADF, REASON_INTERNAL }, { 0, REASON_INTERNAL },
	};
	struct fault fault;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(fault_of_errno(mem, rows[i].error, &fault, "%s could not be stored.", "The poster"));
		if (fault.reason != rows[i].reason)
			fail_msg("%s is %s", strerrorname_np(rows[i].error), reason_info(fault.reason)->code);
		assert_string_equal(fault.detail, "The poster could not be stored.");
	}
	assert_int_equal(fault_reason(ENOENT, REASON_OUTPUT_INVALID), REASON_OUTPUT_INVALID);
}

/* What cannot be read gives EIO here as a broken disk does. */
static void
words_that_may_mean_the_file_are_believed_when_the_storage_says_the_same(void **state)
{
	static const char *const unreadable[] = { "/proc/self/mem", NULL }, *const fine[] = { "/etc/hostname", NULL };
	const char *words = "file:/etc/hostname: Input/output error";
	int bad = open("/proc/self/mem", O_RDONLY), good = open("/etc/hostname", O_RDONLY);

	assert_true(bad >= 0 && good >= 0);
	assert_int_equal(of((struct jail){ .read = unreadable }, JAIL_EXITED, 1, words).reason, REASON_STORAGE);
	assert_int_equal(of((struct jail){ .read = unreadable }, JAIL_EXITED, 0, words).reason, REASON_STORAGE);
	assert_int_equal(of((struct jail){ .read = fine }, JAIL_EXITED, 1, words).reason, REASON_CRASHED);
	assert_int_equal(of((struct jail){ .read = fine }, JAIL_EXITED, 0, words).reason, REASON_NONE);
	assert_int_equal(of((struct jail){ .in = bad }, JAIL_SIGNALLED, SIGBUS, "").reason, REASON_STORAGE);
	assert_int_equal(of((struct jail){ .in = good }, JAIL_SIGNALLED, SIGBUS, "").reason, REASON_CRASHED);
	assert_int_equal(of((struct jail){ .write_dir = "/proc" }, JAIL_EXITED, 1, words).reason, REASON_CRASHED);
	close(bad);
	close(good);
}

static void
the_log_tells_how_it_ended_and_what_it_said_last_but_no_path(void **state)
{
	static const char *const read[] = { "/srv/my data/originals/0192", NULL };
	const struct jail jail = { .read = read, .write_dir = "/srv/my data/work/7" };
	char *many = arena_alloc(mem, 8193);
	struct fault fault;
	size_t i;

	fault = of(jail, JAIL_SIGNALLED, SIGSEGV,
	    "[mov,mp4 @ 0x55d0c1] moov\tnot found\r\nfile:/srv/my data/originals/0192: bad\n"
	    "'/usr/lib/x/libz.so' /srv/my data/work/7/360p.mp4 /srv/my data/work/7 1/2 a/b\x1b[31m\n");
	assert_string_equal(fault.log, "program ended by signal 11 (Segmentation fault) after 1.5 s (0.0 s of the "
	    "processor, 0 MiB)\n[mov,mp4] moov not found \nfile:0192: bad\n'libz.so' 360p.mp4  1/2 a/b [31m\n");
	assert_string_equal(fault.detail, "program ended by signal 11 (Segmentation fault).");
	for (i = 0; i < 8192; i++)
		many[i] = i % 64 == 63 ? '\n' : (char)('a' + i / 64 % 26);
	many[8192] = '\0';
	fault = of(jail, JAIL_EXITED, 1, many);
	assert_in_range(strlen(fault.log), 900, 1200);
	assert_memory_equal(fault.log + strlen(fault.log) - 64, many + 8128, 64);
	assert_true(strchr(fault.log, '\n')[1] == strchr(fault.log, '\n')[63]);
}

/* A class each, and none by accident: what passes must not be final, what is final must blame the file or the
 * request. */
static void
what_lies_in_the_machine_passes(void **state)
{
	static const enum reason passing[] = { REASON_NO_SPACE, REASON_INTERRUPTED, REASON_STORAGE, REASON_BUSY,
	    REASON_PROGRAM_MISSING };
	struct fault fault = { .reason = REASON_TRUNCATED };
	size_t i;

	for (i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		assert_int_equal(reason_info(passing[i])->class, CLASS_PASSING);
	assert_int_equal(reason_info(REASON_NO_PROGRESS)->class, CLASS_TWICE);
	assert_int_equal(reason_info(REASON_TIME_LIMIT)->class, CLASS_TWICE);
	assert_int_equal(reason_info(REASON_CRASHED)->class, CLASS_COUNTED);
	assert_true(fault_is_final(&fault));
	fault.reason = REASON_CRASHED;
	assert_false(fault_is_final(&fault));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_of_a_program_has_its_reason),
		cmocka_unit_test(a_file_that_has_moved_away_is_no_fault_of_the_file),
		cmocka_unit_test(each_errno_of_the_machine_has_its_reason_and_the_others_are_ours),
		cmocka_unit_test(words_that_may_mean_the_file_are_believed_when_the_storage_says_the_same),
		cmocka_unit_test(the_log_tells_how_it_ended_and_what_it_said_last_but_no_path),
		cmocka_unit_test(what_lies_in_the_machine_passes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
