/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core/store.c against a real directory. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
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
	size_t n;
	const char *bytes = store_get(mem, key, 100, &n);

	assert_non_null(bytes);
	assert_int_equal(n, strlen(text));
	assert_string_equal(bytes, text);
}

static int
mode_of(const char *key)
{
	struct stat st;

	assert_int_equal(stat(at(key), &st), 0);
	return st.st_mode & 0777;
}

static void
a_file_that_is_put_lies_at_its_key_and_nowhere_else(void **state)
{
	const char *file = file_of("a", "one");

	assert_true(store_put(mem, file, "originals/a"));
	assert_holds("originals/a", "one");
	assert_int_equal(store_size(mem, "originals/a"), 3);
	assert_int_equal(access(file, F_OK), -1);
	assert_true(store_put(mem, file_of("a", "two!"), "originals/a"));
	assert_holds("originals/a", "two!");
}

static void
only_what_is_below_play_can_be_read_by_the_web_server(void **state)
{
	mode_t old = umask(077);

	assert_true(store_put(mem, file_of("a", "x"), "play/m/g/a.mp4"));
	assert_true(store_put(mem, file_of("b", "x"), "originals/b"));
	umask(old);
	assert_int_equal(mode_of("play"), 0755);
	assert_int_equal(mode_of("play/m"), 0755);
	assert_int_equal(mode_of("play/m/g"), 0755);
	assert_int_equal(mode_of("play/m/g/a.mp4"), 0644);
	assert_int_equal(mode_of("originals"), 0700);
	assert_int_equal(mode_of("originals/b"), 0600);
	assert_int_equal(mode_of("uploads"), 0700);
	assert_int_equal(mode_of("deleted"), 0700);
}

static void
a_link_is_never_put(void **state)
{
	assert_int_equal(symlink("/etc/passwd", at("link")), 0);
	assert_false(store_put(mem, at("link"), "play/m/passwd"));
	assert_int_equal(store_size(mem, "play/m/passwd"), -1);
}

/* Nothing but what is named lies there. */
static void
assert_alone(const char *dir, const char *name)
{
	DIR *d = opendir(at(dir));
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			assert_string_equal(e->d_name, name);
	closedir(d);
}

static void
bytes_are_written_whole_and_leave_no_draft(void **state)
{
	assert_true(store_write(mem, "#EXTM3U\n", 8, "play/w/master.m3u8"));
	assert_holds("play/w/master.m3u8", "#EXTM3U\n");
	assert_int_equal(mode_of("play/w/master.m3u8"), 0644);
	assert_alone("play/w", "master.m3u8");
	assert_true(store_write(mem, "", 0, "play/e/empty"));
	assert_holds("play/e/empty", "");
}

static void
a_small_object_is_read_and_a_large_one_refused(void **state)
{
	size_t n;

	assert_true(store_write(mem, "1234", 4, "play/s/four"));
	assert_string_equal(store_get(mem, "play/s/four", 4, &n), "1234");
	assert_null(store_get(mem, "play/s/four", 3, &n));
	assert_int_equal(errno, EFBIG);
	assert_null(store_get(mem, "play/s/none", 4, &n));
	assert_int_equal(errno, ENOENT);
	assert_null(store_fetch(mem, "play/s/none", home));
}

static void
a_piece_of_an_object_is_read_whole_or_not_at_all(void **state)
{
	assert_true(store_write(mem, "0123456789", 10, "play/s/ten"));
	assert_string_equal(store_get_range(mem, "play/s/ten", 0, 10), "0123456789");
	assert_string_equal(store_get_range(mem, "play/s/ten", 3, 4), "3456");
	assert_string_equal(store_get_range(mem, "play/s/ten", 9, 1), "9");
	assert_null(store_get_range(mem, "play/s/ten", 9, 2));
	assert_true(errno != 0 && errno != ENOENT);
	assert_null(store_get_range(mem, "play/s/ten", 20, 1));
	assert_true(errno != 0 && errno != ENOENT);
	assert_null(store_get_range(mem, "play/s/none", 0, 1));
	assert_int_equal(errno, ENOENT);
}

static void
count_life(void *user)
{
	++*(int *)user;
}

/* Scratch on another disk: /dev/shm is one. */
static void
a_file_of_another_file_system_is_copied(void **state)
{
	static char far[] = "/dev/shm/kinothek-store-XXXXXX";
	const size_t size = (9 << 20) + 7;
	char *bytes = arena_alloc(mem, size), *back;
	struct stat there, here;
	int fd = mkstemp(far), lives = 0;
	size_t n;

	random_bytes(bytes, size);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	assert_int_equal(stat(far, &there), 0);
	assert_int_equal(stat(home, &here), 0);
	if (there.st_dev == here.st_dev)
		skip();
	store_on_life(count_life, &lives);
	assert_true(store_put(mem, far, "play/x/g/big.mp4"));
	store_on_life(NULL, NULL);
	assert_int_equal(lives, size / STORE_STRIDE + 1);
	back = store_get(mem, "play/x/g/big.mp4", size, &n);
	assert_non_null(back);
	assert_true(n == size && memcmp(bytes, back, size) == 0);
	assert_int_equal(mode_of("play/x/g/big.mp4"), 0644);
	assert_int_equal(access(far, F_OK), -1);
	assert_alone("play/x/g", "big.mp4");
}

/* What comes of it while a row is held is a name. */
static void
a_file_of_another_file_system_is_copied_before_its_name_is_there(void **state)
{
	static char far[] = "/dev/shm/kinothek-store-XXXXXX";
	int fd = mkstemp(far), lives = 0;
	struct store_putting p;
	struct stat there, here;

	assert_int_equal(ftruncate(fd, 9 << 20), 0);
	assert_int_equal(fstat(fd, &there), 0);
	close(fd);
	assert_int_equal(stat(home, &here), 0);
	if (there.st_dev == here.st_dev)
		skip();
	assert_true(store_put_begin(mem, far, "play/y/far", &p));
	assert_int_equal(store_size(mem, "play/y/far"), -1);
	store_put_drop(&p);
	assert_alone("play/y", "");
	assert_true(store_put_begin(mem, far, "play/y/far", &p));
	store_on_life(count_life, &lives);
	assert_true(store_put_end(mem, &p));
	store_on_life(NULL, NULL);
	assert_int_equal(lives, 0);
	assert_int_equal(store_size(mem, "play/y/far"), 9 << 20);
	assert_int_equal(access(far, F_OK), -1);
	assert_alone("play/y", "far");
}

static void
a_copy_that_fails_leaves_the_file_and_no_draft(void **state)
{
	static char far[] = "/dev/shm/kinothek-store-XXXXXX";
	int fd = mkstemp(far), status;
	pid_t child;

	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	close(fd);
	child = fork();
	if (child == 0) {
		const struct rlimit limit = { 65536, 65536 };

		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
			_exit(9);
		_exit(store_put(mem, far, "play/f/big") ? 1 : errno == EFBIG ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(store_size(mem, "play/f/big"), -1);
	assert_alone("play/f", "");
	assert_int_equal(unlink(far), 0);
}

static void
all_below_a_key_is_deleted_and_deleting_nothing_is_fine(void **state)
{
	assert_true(store_write(mem, "x", 1, "play/gone/g/one"));
	assert_true(store_write(mem, "x", 1, "play/gone/g/h/two"));
	assert_true(store_write(mem, "x", 1, "play/gone/g1/three"));
	assert_true(store_delete(mem, "play/gone/g"));
	assert_int_equal(store_size(mem, "play/gone/g/one"), -1);
	assert_int_equal(store_size(mem, "play/gone/g1/three"), 1);
	/* Keys know no directories: none is left empty. */
	assert_true(store_delete(mem, "play/gone/g1/three"));
	assert_int_equal(access(at("play/gone"), F_OK), -1);
	assert_int_equal(access(at("play"), F_OK), 0);
	assert_true(store_delete(mem, "play/gone"));
	assert_true(store_delete(mem, "play/gone/below/nothing"));
	assert_int_equal(store_size(mem, "play"), -1);
}

static void
assert_lists(const char *prefix, const char *after, size_t max, const char *expected)
{
	char text[400] = "";
	size_t n, i;
	const struct store_entry *e = store_list(mem, prefix, after, max, &n);

	for (i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%d ", e[i].key, (int)e[i].size);
	assert_string_equal(text, expected);
}

static void
a_list_goes_in_order_and_on_from_any_key(void **state)
{
	struct uuid id = uuid_new();
	const char *key = store_key_play(mem, id, NULL), *inside = arena_printf(mem, "%s/", key);
	struct store_entry *e;
	size_t n;

	assert_lists("play/nothing/", NULL, 10, "");
	assert_true(store_write(mem, "1", 1, "play/l/b"));
	assert_true(store_write(mem, "22", 2, "play/l/a/x"));
	assert_true(store_write(mem, "333", 3, "play/l/a.b"));
	assert_true(store_write(mem, "", 0, "play/l/c"));
	assert_lists("play/l/", NULL, 10, "play/l/a.b=3 play/l/a/=-1 play/l/b=1 play/l/c=0 ");
	assert_lists("play/l/", NULL, 2, "play/l/a.b=3 play/l/a/=-1 ");
	assert_lists("play/l/", "play/l/a/", 10, "play/l/b=1 play/l/c=0 ");
	assert_lists("play/l/", "play/l/c", 10, "");
	assert_lists("play/l/a/", NULL, 10, "play/l/a/x=2 ");
	e = store_list(mem, "play/l/", "play/l/a/", 1, &n);
	assert_true(llabs(e[0].put_at.ms - moment_now().ms) < 5000);
	/* Out of reach is no other place. */
	assert_true(store_write(mem, "1", 1, arena_printf(mem, "%sone", inside)));
	assert_true(store_serve(mem, id, false));
	assert_true(store_write(mem, "22", 2, arena_printf(mem, "%stwo", inside)));
	assert_lists(inside, NULL, 10, arena_printf(mem, "%sone=1 %stwo=2 ", inside, inside));
}

static void
of_many_objects_pages_miss_none(void **state)
{
	const char *after = NULL;
	struct store_entry *e;
	int i, pages = 0;
	size_t n, k, all = 0;

	for (i = 0; i < 257; i++)
		assert_true(store_write(mem, "", 0, arena_printf(mem, "originals/many-%d", i * 7919 % 257)));
	do {
		e = store_list(mem, "originals/", after, 50, &n);
		for (k = 0; k < n; k++) {
			assert_true(after == NULL || strcmp(after, e[k].key) < 0);
			after = e[k].key;
			all += strncmp(after, "originals/many-", 15) == 0;
		}
		pages++;
	} while (n == 50);
	assert_int_equal(all, 257);
	assert_int_equal(pages, 6);
}

static void
what_is_put_out_of_reach_keeps_its_keys_and_newer_files_stay(void **state)
{
	struct uuid id = uuid_new();
	const char *one = store_key_play(mem, id, "g/one"), *two = store_key_play(mem, id, "g/two"),
	    *three = store_key_play(mem, id, "h/three");

	assert_true(store_serve(mem, id, false));		/* nothing to move */
	assert_false(store_served(mem, id));
	assert_true(store_write(mem, "old", 3, one));
	assert_true(store_write(mem, "old", 3, two));
	assert_true(store_served(mem, id));
	assert_true(store_serve(mem, id, false));
	assert_false(store_served(mem, id));
	assert_int_equal(access(at(one), F_OK), -1);
	assert_holds(one, "old");
	assert_int_equal(store_size(mem, two), 3);
	assert_non_null(store_fetch(mem, two, NULL));
	/* What was written meanwhile is newer, in whichever direction. */
	assert_true(store_write(mem, "new!", 4, one));
	assert_true(store_write(mem, "new!", 4, three));
	assert_true(store_serve(mem, id, false));
	assert_holds(one, "new!");
	assert_holds(two, "old");
	assert_holds(three, "new!");
	assert_true(store_write(mem, "newest", 6, two));
	assert_true(store_serve(mem, id, true));
	assert_int_equal(access(at(one), F_OK), 0);
	assert_holds(one, "new!");
	assert_holds(two, "newest");
	assert_holds(three, "new!");
	assert_int_equal(mode_of("deleted"), 0700);
	/* Deleting finds it wherever it is. */
	assert_true(store_serve(mem, id, false));
	assert_true(store_write(mem, "x", 1, one));
	assert_true(store_delete(mem, store_key_play(mem, id, NULL)));
	assert_null(store_fetch(mem, one, NULL));
	assert_null(store_fetch(mem, two, NULL));
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
		_exit(store_write(mem, big, 1 << 20, "play/b/big") ? 1 : errno == EFBIG ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(store_size(mem, "play/b/big"), -1);
	assert_alone("play/b", "");
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
			store_size(mem, bad[i]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	assert_int_equal(store_size(mem, "play/a.b/..c/d_e-1"), -1);
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

static void
what_grows_may_take_half_of_it(void **state)
{
	struct conf conf = { .data_dir = home };

	assert_true(store_open(&conf));
	/* More than there is, and its half is not. */
	conf.free_space = store_incoming_free() / 2 * 3;
	assert_true(store_open(&conf));
	assert_int_equal(store_incoming_free(), 0);
	assert_true(store_growing_free() > 0);
	conf.free_space = INT64_C(1) << 60;
	assert_true(store_open(&conf));
	assert_int_equal(store_growing_free(), 0);
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
		cmocka_unit_test(bytes_are_written_whole_and_leave_no_draft),
		cmocka_unit_test(a_small_object_is_read_and_a_large_one_refused),
		cmocka_unit_test(a_piece_of_an_object_is_read_whole_or_not_at_all),
		cmocka_unit_test(a_file_of_another_file_system_is_copied),
		cmocka_unit_test(a_file_of_another_file_system_is_copied_before_its_name_is_there),
		cmocka_unit_test(a_copy_that_fails_leaves_the_file_and_no_draft),
		cmocka_unit_test(all_below_a_key_is_deleted_and_deleting_nothing_is_fine),
		cmocka_unit_test(a_list_goes_in_order_and_on_from_any_key),
		cmocka_unit_test(of_many_objects_pages_miss_none),
		cmocka_unit_test(what_is_put_out_of_reach_keeps_its_keys_and_newer_files_stay),
		cmocka_unit_test(a_failed_write_is_reported_and_leaves_nothing),
		cmocka_unit_test(a_key_that_is_not_ours_ends_the_program),
		cmocka_unit_test(free_space_leaves_what_the_operator_keeps),
		cmocka_unit_test(what_grows_may_take_half_of_it),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
