/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How failures of ffmpeg are told: our own command, the machine, the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "media/av_run.h"

static struct arena *mem;
static char dir[] = "/tmp/tool-test-XXXXXX";

static int
setup(void **state)
{
	mem = arena_new(256 << 20);
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	arena_free(mem);
	return system(command);
}

static const char *
path_of(const char *name)
{
	return arena_printf(mem, "%s/%s", dir, name);
}

static enum reason
run_with(const char *const *args)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	struct fault fault;
	bool fine;

	av_add(t, "-f", "lavfi", "-i", "testsrc2=size=64x64:duration=1");
	av_add_all(t, args);
	fine = av_run(t, &fault);
	assert_int_equal(fine, fault.reason == REASON_NONE);
	return fault.reason;
}

static void
a_wrong_command_of_ours_does_not_blame_the_file(void **state)
{
	static const char *const rows[][6] = {
		{ "-no_such_option", "1", "-f", "null", "-" },
		{ "-vf", "no_such_filter", "-f", "null", "-" },
		{ "-c:v", "no_such_encoder", "-f", "null", "-" },
		{ "-f", "no_such_format", "-" },
		{ "-f", "null", "-", "-t" },
		{ "-vf", "scale=no_such=1", "-f", "null", "-" },
		{ "-bsf:v", "no_such_filter", "-f", "null", "-" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (run_with(rows[i]) != REASON_INTERNAL)
			fail_msg("row %zu", i);
	assert_int_equal(run_with((const char *const[]){ "-f", "null", "-", NULL }), REASON_NONE);
}

/* As an administrator would, who sees a program take too much; only ours. */
static void
kill_it(void *user, const char *line)
{
	char command[80];

	snprintf(command, sizeof(command), "pkill -KILL -P %d -x ffmpeg", (int)getpid());
	if (system(command) < 0)
		abort();
}

static void
a_killed_program_is_interrupted(void **state)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	struct fault fault;

	fault_memory_was_short();
	av_add(t, "-progress", "pipe:3", "-stats_period", "0.1", "-re", "-f", "lavfi", "-i", "testsrc2=size=64x64");
	av_add(t, "-t", "20", "-f", "null", "-");
	t->jail.on_progress = kill_it;
	assert_false(av_run(t, &fault));
	assert_int_equal(fault.reason, REASON_INTERRUPTED);
	assert_string_equal(fault.detail, "ffmpeg ended by signal 9 (Killed).");
}

static void
what_cannot_be_decoded_blames_the_file_and_its_log_names_no_directory(void **state)
{
	char junk[4096];
	struct fault fault;
	FILE *f = fopen(path_of("junk.mp4"), "w");

	memset(junk, 7, sizeof(junk));
	memcpy(junk, "\0\0\0\x18" "ftypmp42\0\0\0\0mp42isom", 24);
	assert_non_null(f);
	assert_int_equal(fwrite(junk, 1, sizeof(junk), f), sizeof(junk));
	assert_int_equal(fclose(f), 0);
	assert_null(av_probe(mem, path_of("junk.mp4"), &fault));
	assert_true(fault_is_final(&fault));
	assert_non_null(strstr(fault.log, "junk.mp4"));
	assert_null(strstr(fault.log, "/tmp"));
	assert_null(strstr(fault.log, "0x"));
}

static void
an_original_that_cannot_be_opened_is_no_damaged_file(void **state)
{
	struct rlimit before, none;
	struct fault fault;

	assert_null(av_probe(mem, path_of("none"), &fault));
	assert_int_equal(fault.reason, REASON_INTERNAL);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	assert_null(av_probe(mem, path_of("junk.mp4"), &fault));
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(fault.reason, REASON_BUSY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_command_of_ours_does_not_blame_the_file),
		cmocka_unit_test(a_killed_program_is_interrupted),
		cmocka_unit_test(what_cannot_be_decoded_blames_the_file_and_its_log_names_no_directory),
		cmocka_unit_test(an_original_that_cannot_be_opened_is_no_damaged_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
