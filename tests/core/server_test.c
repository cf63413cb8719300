/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One worker, a child of ours, and several web servers that take their time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/listen.h"
#include "core/load.h"
#include "core/server.h"

enum { LARGE = 3 << 20, LONG_MS = 120 * 1000, IDLE_MS = 1000 };

static char dir[] = "/tmp/kinothek-server-XXXXXX", path[64];
static struct arena *mem;
static pid_t worker;
static const struct uuid one = { { 1, [15] = 1 } }, two = { { 1, [15] = 2 } };

/*
 * The worker: paths are words.  "known" has shown who it is, "no" is refused by its head, "large" gets much, "mine" is
 * the request of a tenant, which takes its turn.
 */
static const char *
word(const struct visit *v)
{
	const char *uri = fcgi_param(&v->in, mem, "REQUEST_URI");

	return uri != NULL ? uri : "";
}

static void
say(struct visit *v, const char *what, size_t zeros)
{
	struct iovec parts[] = { { arena_copy(mem, what), strlen(what) }, { arena_alloc(mem, zeros), zeros } };

	server_send(v, mem, parts, 2);
	arena_reset(mem);
}

static bool
admit(struct visit *v, void *user)
{
	v->in.body_max = 1000;
	v->known = strcmp(word(v), "known") == 0;
	if (strcmp(word(v), "no") == 0) {
		say(v, "refused", 0);
		return false;
	}
	arena_reset(mem);
	return true;
}

static bool
answer(struct visit *v, void *user)
{
	static const char *const faults[] = { [VISIT_FINE] = "fine", [VISIT_TOO_LARGE] = "too large",
		[VISIT_HEAD_TOO_LARGE] = "large head", [VISIT_TOO_SLOW] = "too slow", [VISIT_CROWDED] = "crowded",
		[VISIT_NO_TURN] = "no turn" };
	bool is_mine = strcmp(word(v), "mine") == 0;

	if (is_mine && v->fault == VISIT_FINE && !load_enter(one, v->began)) {
		v->tenant = one;
		return false;
	}
	say(v, faults[v->fault], strcmp(word(v), "large") == 0 ? LARGE : 0);
	load_leave(LOAD_QUICK_READ);
	return true;
}

/* Rung in the tests' process. */
static int bell[2] = { -1, -1 };

static void
idle(void *user)
{
	assert_int_equal(write(bell[1], "i", 1), 1);
}

/* Impatient where that is what a test is about: otherwise a busy machine would be too late for it. */
static void
serve(bool impatient)
{
	static struct listen l;
	static char *argv[] = { NULL };
	struct server s = { .waiting_max = 4, .bytes_max = 8 << 20, .head_ms = impatient ? 300 : LONG_MS,
	    .anonymous_ms = impatient ? 500 : LONG_MS, .known_ms = LONG_MS, .rate = 16384,
	    .turn_ms = impatient ? 500 : LONG_MS, .silence_ms = LONG_MS, .drain_ms = LONG_MS,
	    .drain_bytes = 1 << 20, .idle_ms = impatient ? IDLE_MS : LONG_MS, .stop_ms = LONG_MS, .admit = admit,
	    .answer = answer, .idle = idle };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	listen_start(&l, argv);
	load_open(dir);
	mem = arena_new(64 << 20);
	server_run(&s);
	arena_free(mem);
	_exit(0);
}

static int
begin(bool impatient)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	unlink(path);
	if (pipe2(bell, O_NONBLOCK | O_CLOEXEC) != 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 64) != 0)
		return -1;
	worker = fork();
	if (worker == 0) {
		dup2(fd, 0);
		close(fd);
		serve(impatient);
	}
	close(fd);
	return 0;
}

static int
setup(void **state)
{
	return begin(false);
}

static int
setup_impatient(void **state)
{
	return begin(true);
}

static int
teardown(void **state)
{
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	close(bell[0]);
	close(bell[1]);
	return 0;
}

/* The web server. */
static size_t
put(unsigned char *p, int type, const void *content, size_t n)
{
	const unsigned char header[8] = { 1, (unsigned char)type, 0, 1, (unsigned char)(n >> 8), (unsigned char)n };

	memcpy(p, header, 8);
	memcpy(p + 8, content, n);
	return 8 + n;
}

static int
dial(void)
{
	struct timeval limit = { .tv_sec = LONG_MS / 1000 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* A head, and of the body a byte or the whole. */
static int
ask(const char *what, bool whole)
{
	unsigned char b[256], pair[64] = { 11, (unsigned char)strlen(what) };
	size_t n = put(b, 1, "\0\1\0\0\0\0\0\0", 8);
	int fd = dial();

	memcpy(pair + 2, "REQUEST_URI", 11);
	memcpy(pair + 13, what, strlen(what));
	n += put(b + n, 4, pair, 13 + strlen(what));
	n += put(b + n, 4, "", 0);
	n += put(b + n, 5, "x", 1);
	if (whole)
		n += put(b + n, 5, "", 0);
	assert_int_equal(write(fd, b, n), n);
	return fd;
}

static void
end_body(int fd)
{
	assert_int_equal(write(fd, "\1\5\0\1\0\0\0\0", 8), 8);
}

/* The text of an answer, without what follows a NUL, and how long it is.  "" for a connection that just ends. */
static size_t
hear(int fd, char text[32])
{
	static unsigned char b[LARGE + 100000];
	size_t n = 0, at, length = 0, content;
	ssize_t got;

	while ((n < 16 || b[n - 15] != 3 || b[n - 11] != 8) && (got = read(fd, b + n, sizeof(b) - n)) > 0)
		n += (size_t)got;
	memset(text, 0, 32);
	for (at = 0; at + 8 <= n && b[at + 1] == 6; at += 8 + content) {
		content = (size_t)b[at + 4] << 8 | b[at + 5];
		if (length == 0)
			memcpy(text, b + at + 8, content < 31 ? content : 31);
		length += content;
	}
	close(fd);
	return length;
}

static void
expect(int fd, const char *text)
{
	char got[32];

	hear(fd, got);
	assert_string_equal(got, text);
}

/* What was asked before has come to the worker now: it takes one after the other. */
static void
until_it_is_there(void)
{
	expect(ask("quick", true), "fine");
}

static void
a_request_is_answered_while_bodies_are_on_their_way(void **state)
{
	int slow[3], i;

	for (i = 0; i < 3; i++)
		slow[i] = ask("known", false);
	for (i = 0; i < 20; i++)
		expect(ask("quick", true), "fine");
	for (i = 0; i < 3; i++) {
		end_body(slow[i]);
		expect(slow[i], "fine");
	}
}

static void
who_is_refused_hears_so_however_much_it_sends(void **state)
{
	static const char much[60000];
	static unsigned char b[65536];
	int fd = ask("no", false), i;
	size_t n = put(b, 5, much, sizeof(much));

	until_it_is_there();
	for (i = 0; i < 10; i++)
		assert_int_equal(send(fd, b, n, MSG_NOSIGNAL), n);
	expect(fd, "refused");
}

static void
a_body_that_grows_too_large_is_refused(void **state)
{
	static const char much[2000];
	unsigned char b[4096];
	int fd = ask("known", false);
	size_t n = put(b, 5, much, sizeof(much));

	assert_int_equal(write(fd, b, n), n);
	expect(fd, "too large");
}

static void
who_is_not_known_has_less_time(void **state)
{
	int nobody = ask("nobody", false), known = ask("known", false), head = dial();
	char text[32];

	assert_int_equal(write(head, "\1\1\0\1", 4), 4);
	assert_int_equal(recv(nobody, text, 8, MSG_WAITALL), 8);
	assert_int_equal(recv(head, text, 8, MSG_WAITALL), 0);
	close(nobody);
	close(head);
	end_body(known);
	expect(known, "fine");
}

static void
when_it_is_full_the_oldest_nobody_goes_first(void **state)
{
	int known = ask("known", false), first, second, third, more[4], i;

	until_it_is_there();
	usleep(2000);			/* what came in the same millisecond came together */
	first = ask("nobody", false);
	until_it_is_there();
	usleep(2000);
	second = ask("nobody", false);
	until_it_is_there();
	third = ask("known", false);
	more[0] = ask("known", false);
	expect(first, "crowded");
	more[1] = ask("known", false);
	expect(second, "crowded");
	more[2] = ask("known", false);
	expect(known, "crowded");
	end_body(third);
	expect(third, "fine");
	for (i = 0; i < 3; i++) {
		end_body(more[i]);
		expect(more[i], "fine");
	}
}

static void
an_answer_that_is_not_taken_holds_nobody(void **state)
{
	int large = ask("large", true), i;
	char text[32];

	for (i = 0; i < 20; i++)
		expect(ask("quick", true), "fine");
	assert_int_equal(hear(large, text), 4 + LARGE);
}

static void
a_client_that_goes_leaves_nothing_behind(void **state)
{
	int i;

	for (i = 0; i < 50; i++)
		close(ask(i % 2 ? "known" : "large", i % 2 == 0));
	expect(ask("quick", true), "fine");
}

static void
a_worker_that_shall_end_answers_what_it_has_begun(void **state)
{
	int known = ask("known", false), large = ask("large", true), status;
	char text[32];

	until_it_is_there();
	kill(worker, SIGTERM);
	usleep(100000);
	end_body(known);
	expect(known, "fine");
	assert_int_equal(hear(large, text), 4 + LARGE);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_int_equal(status, 0);
}

static void
a_worker_that_has_nothing_ends_at_once(void **state)
{
	int status;

	expect(ask("quick", true), "fine");
	kill(worker, SIGTERM);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_int_equal(status, 0);
}

static void
who_has_nothing_to_do_is_told_so_once(void **state)
{
	struct pollfd rings = { bell[0], POLLIN, 0 };
	char rung[8];
	int64_t asked = clock_ms(), last;
	ssize_t n;
	int i;

	for (i = 0; i < 8; i++) {
		last = asked;
		asked = clock_ms();
		expect(ask("quick", true), "fine");
		usleep(200000);
		n = read(bell[0], rung, sizeof(rung));
		assert_true(n == -1 || clock_ms() - last >= IDLE_MS); /* it was idle if we were held up for so long */
	}
	expect(ask("quick", true), "fine");
	for (i = 0; i < 2; i++) {
		assert_int_equal(poll(&rings, 1, LONG_MS), 1);
		usleep(IDLE_MS * 2500);
		assert_int_equal(read(bell[0], rung, sizeof(rung)), 1);
		expect(ask("quick", true), "fine");
	}
}

/* Another worker, which is us, answers all that the tenant may have now. */
static void
keep_busy(void)
{
	load_open(dir);
	load_enter(two, clock_ms());
	load_leave(LOAD_QUICK_READ);
	assert_true(load_enter(one, clock_ms()));
	expect(ask("quick", true), "fine");	/* so the worker is there */
}

static void
who_has_to_wait_for_a_turn_holds_nobody(void **state)
{
	int mine[2], i;

	keep_busy();
	for (i = 0; i < 2; i++)
		mine[i] = ask("mine", true);
	for (i = 0; i < 20; i++)
		expect(ask("quick", true), "fine");
	load_leave(LOAD_QUICK_READ);
	for (i = 0; i < 2; i++)
		expect(mine[i], "fine");
	load_close();
}

static void
a_turn_that_does_not_come_is_said_so(void **state)
{
	keep_busy();
	expect(ask("mine", true), "no turn");
	load_close();
}

static void
who_does_not_wait_any_more_has_no_turn(void **state)
{
	int mine, i;

	keep_busy();
	mine = ask("mine", true);
	for (i = 0; i < 20; i++) {
		close(ask("mine", true));
		usleep(10000);
	}
	load_leave(LOAD_QUICK_READ);
	expect(mine, "fine");
	load_close();
}

static void
when_it_is_full_who_came_first_has_waited_in_vain(void **state)
{
	int mine[5], i;

	keep_busy();
	for (i = 0; i < 5; i++) {
		mine[i] = ask("mine", true);
		if (i < 3)
			until_it_is_there();
		usleep(2000);
	}
	expect(mine[0], "no turn");
	load_leave(LOAD_QUICK_READ);
	for (i = 1; i < 5; i++)
		expect(mine[i], "fine");
	load_close();
}

static void
a_worker_that_shall_end_gives_turns_first(void **state)
{
	int mine, status;

	keep_busy();
	mine = ask("mine", true);
	until_it_is_there();
	kill(worker, SIGTERM);
	usleep(100000);
	load_leave(LOAD_QUICK_READ);
	expect(mine, "fine");
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_int_equal(status, 0);
	load_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_is_answered_while_bodies_are_on_their_way, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_refused_hears_so_however_much_it_sends, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_that_grows_too_large_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_not_known_has_less_time, setup_impatient, teardown),
		cmocka_unit_test_setup_teardown(when_it_is_full_the_oldest_nobody_goes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_that_is_not_taken_holds_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(a_client_that_goes_leaves_nothing_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_nothing_to_do_is_told_so_once, setup_impatient, teardown),
		cmocka_unit_test_setup_teardown(who_has_to_wait_for_a_turn_holds_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(a_turn_that_does_not_come_is_said_so, setup_impatient, teardown),
		cmocka_unit_test_setup_teardown(who_does_not_wait_any_more_has_no_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(when_it_is_full_who_came_first_has_waited_in_vain, setup, teardown),
		cmocka_unit_test_setup_teardown(a_worker_that_shall_end_gives_turns_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_worker_that_shall_end_answers_what_it_has_begun, setup, teardown),
		cmocka_unit_test_setup_teardown(a_worker_that_has_nothing_ends_at_once, setup, teardown),
	};
	int failed;

	alarm(900);
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/s.sock", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	snprintf(path, sizeof(path), "%s/workers", dir);
	unlink(path);
	rmdir(dir);
	return failed;
}
