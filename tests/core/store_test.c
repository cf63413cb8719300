/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core/store.c against a real directory. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/store.h"

static char home[] = "/tmp/kinothek-store-XXXXXX";
static struct arena *mem;

static const char *
at(const char *name)
{
	return arena_printf(mem, "%s/%s", home, name);
}

static const char *
file_of(const char *name, const char *text)
{
	const char *path = at(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void
assert_holds(const char *key, const char *text)
{
	char bytes[100] = "";
	FILE *f = fopen(store_path(mem, key), "r");

	assert_non_null(f);
	bytes[fread(bytes, 1, sizeof(bytes) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(bytes, text);
}

static int
mode_of(const char *key)
{
	struct stat st;

	assert_int_equal(stat(store_path(mem, key), &st), 0);
	return st.st_mode & 0777;
}

static void
a_file_that_is_put_lies_at_its_key_and_nowhere_else(void **state)
{
	const char *file = file_of("work/a", "one");

	assert_true(store_put(mem, file, "originals/a"));
	assert_holds("originals/a", "one");
	assert_int_equal(store_size(mem, "originals/a"), 3);
	assert_int_equal(access(file, F_OK), -1);
	assert_true(store_put(mem, file_of("work/a", "two!"), "originals/a"));
	assert_holds("originals/a", "two!");
}

static void
only_what_is_below_play_can_be_read_by_the_web_server(void **state)
{
	mode_t old = umask(077);

	assert_true(store_put(mem, file_of("work/a", "x"), "play/m/g/a.mp4"));
	assert_true(store_put(mem, file_of("work/b", "x"), "originals/b"));
	umask(old);
	assert_int_equal(mode_of("play"), 0755);
	assert_int_equal(mode_of("play/m"), 0755);
	assert_int_equal(mode_of("play/m/g"), 0755);
	assert_int_equal(mode_of("play/m/g/a.mp4"), 0644);
	assert_int_equal(mode_of("originals"), 0700);
	assert_int_equal(mode_of("originals/b"), 0600);
	assert_int_equal(mode_of("uploads"), 0700);
	assert_int_equal(mode_of("work"), 0700);
}

static void
a_link_is_never_put(void **state)
{
	assert_int_equal(symlink("/etc/passwd", at("work/link")), 0);
	assert_false(store_put(mem, at("work/link"), "play/m/passwd"));
	assert_int_equal(store_size(mem, "play/m/passwd"), -1);
}

static void
bytes_are_written_whole_and_leave_no_scratch(void **state)
{
	assert_true(store_write(mem, "#EXTM3U\n", 8, "play/m/master.m3u8"));
	assert_holds("play/m/master.m3u8", "#EXTM3U\n");
	assert_int_equal(mode_of("play/m/master.m3u8"), 0644);
	assert_true(store_delete(mem, "work"));
	assert_int_equal(mkdir(at("work"), 0700), 0);
	assert_true(store_write(mem, "", 0, "play/m/empty"));
	assert_int_equal(store_size(mem, "play/m/empty"), 0);
	assert_int_equal(rmdir(at("work")), 0);
	assert_int_equal(mkdir(at("work"), 0700), 0);
}

static void
a_tree_is_deleted_and_deleting_nothing_is_fine(void **state)
{
	assert_true(store_write(mem, "x", 1, "play/gone/g/one"));
	assert_true(store_write(mem, "x", 1, "play/gone/two"));
	assert_true(store_delete(mem, "play/gone"));
	assert_int_equal(access(at("play/gone"), F_OK), -1);
	assert_true(store_delete(mem, "play/gone"));
	assert_true(store_delete(mem, "play/gone/below/nothing"));
	assert_int_equal(store_size(mem, "play/gone"), -1);
	assert_int_equal(store_size(mem, "play"), -1);
}

static void
a_tree_moves_as_a_whole_and_into_another_with_the_newer_files(void **state)
{
	assert_true(store_move(mem, "play/t", "deleted/t"));		/* nothing to move */
	assert_true(store_write(mem, "old", 3, "play/t/g/one"));
	assert_true(store_write(mem, "old", 3, "play/t/g/two"));
	assert_true(store_move(mem, "play/t", "deleted/t"));
	assert_int_equal(access(at("play/t"), F_OK), -1);
	assert_holds("deleted/t/g/one", "old");
	/* What was written meanwhile is newer, in whichever direction. */
	assert_true(store_write(mem, "new", 3, "play/t/g/one"));
	assert_true(store_write(mem, "new", 3, "play/t/h/three"));
	assert_true(store_move(mem, "play/t", "deleted/t"));
	assert_int_equal(access(at("play/t"), F_OK), -1);
	assert_holds("deleted/t/g/one", "new");
	assert_holds("deleted/t/g/two", "old");
	assert_holds("deleted/t/h/three", "new");
	assert_true(store_write(mem, "newest", 6, "play/t/g/two"));
	assert_true(store_move(mem, "deleted/t", "play/t"));
	assert_int_equal(access(at("deleted/t"), F_OK), -1);
	assert_holds("play/t/g/one", "new");
	assert_holds("play/t/g/two", "newest");
	assert_holds("play/t/h/three", "new");
	assert_int_equal(mode_of("deleted"), 0700);
	assert_string_equal(store_twin(mem, "play/t/g"), "deleted/t/g");
	assert_null(store_twin(mem, "originals/t"));
}

/* A file size limit stands for the full disk: the write fails in the same place. */
static void
a_failed_write_is_reported_and_leaves_nothing(void **state)
{
	char *big = arena_alloc(mem, 1 << 20);
	int status;
	pid_t child = fork();

	if (child == 0) {
		const struct rlimit limit = { 65536, 65536 };

		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
			_exit(9);
		_exit(store_write(mem, big, 1 << 20, "play/m/big") ? 1 : errno == EFBIG ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(store_size(mem, "play/m/big"), -1);
	assert_int_equal(rmdir(at("work")), 0);
	assert_int_equal(mkdir(at("work"), 0700), 0);
}

static void
a_key_that_is_not_ours_ends_the_program(void **state)
{
	static const char *const bad[] = { "", "/", "a//b", "/a", "a/", ".", "..", "a/../b", "a/./b", "../a", "A",
	    "a b", "a\\b", "a%2e", "\xc3\xa4", "a\nb" };
	size_t i;
	int status;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pid_t child = fork();

		if (child == 0) {
			signal(SIGABRT, SIG_DFL);
			close(2);
			store_path(mem, bad[i]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	assert_string_equal(store_path(mem, "play/a.b/..c/d_e-1") + strlen(home), "/play/a.b/..c/d_e-1");
}

static void
free_space_leaves_what_the_operator_keeps(void **state)
{
	struct conf conf = { .data_dir = home };
	int64_t all;

	assert_true(store_open(&conf));
	all = store_free();
	assert_true(all > 0);
	conf.free_space = 1 << 30;
	assert_true(store_open(&conf));
	assert_true(store_free() <= all - (1 << 29));
	conf.free_space = INT64_C(1) << 60;
	assert_true(store_open(&conf));
	assert_int_equal(store_free(), 0);
}

static int
setup(void **state)
{
	struct conf conf = { .data_dir = home };

	mem = arena_new(64 << 20);
	return mkdtemp(home) != NULL && store_open(&conf) ? 0 : -1;
}

static int
teardown(void **state)
{
	char command[100];

	arena_free(mem);
	snprintf(command, sizeof(command), "rm -rf %s", home);
	return system(command);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_put_lies_at_its_key_and_nowhere_else),
		cmocka_unit_test(only_what_is_below_play_can_be_read_by_the_web_server),
		cmocka_unit_test(a_link_is_never_put),
		cmocka_unit_test(bytes_are_written_whole_and_leave_no_scratch),
		cmocka_unit_test(a_tree_is_deleted_and_deleting_nothing_is_fine),
		cmocka_unit_test(a_tree_moves_as_a_whole_and_into_another_with_the_newer_files),
		cmocka_unit_test(a_failed_write_is_reported_and_leaves_nothing),
		cmocka_unit_test(a_key_that_is_not_ours_ends_the_program),
		cmocka_unit_test(free_space_leaves_what_the_operator_keeps),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
