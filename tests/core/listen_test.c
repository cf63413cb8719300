/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The prefork master, with a server of one line: this program itself, called with --serve. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/listen.h"

static char dir[] = "/tmp/kinothek-listen-XXXXXX", path[64];

/* Answers "<pid>\n" after the milliseconds it was asked to wait; "die" kills it. */
static int
serve(int argc, char **argv)
{
	static struct listen l = { .grace = 5, .otherwise = 3 };
	char text[16] = "";
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int fd, i;

	for (i = 2; i < argc; i++)
		if (!listen_option(&l, argc, argv, &i))
			return 64;
	listen_start(&l, argv);
	p[0].fd = listen_door();
	p[1].fd = listen_stop();
	while (!listen_stopping()) {
		ssize_t n;

		poll(p, 2, -1);
		fd = accept(p[0].fd, NULL, NULL);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof text - 1);
		if (n > 0 && !strncmp(text, "die", 3))
			raise(SIGKILL);
		if (atoi(text) > 0 && write(fd, "+", 1) != 1)
			abort();
		usleep((useconds_t)atoi(text) * 1000);
		dprintf(fd, "%d\n", (int)getpid());
		close(fd);
	}
	return 0;
}

/* As systemd hands it over: on fd 3, with words about it in the environment. */
static void
hand_over(int sock)
{
	char number[16];

	snprintf(number, sizeof number, "%d", (int)getpid());
	dup2(sock, 3);
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", "1", 1);
}

/* As in a unit of systemd. */
static void
forbid_chown(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_chown
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chown, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lchown, 3, 0),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchown, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchownat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(126);
}

static bool forbidden;

static pid_t
start_with(int in, bool systemd, char *const *options)
{
	char *argv[12] = { (char *)(uintptr_t)"/proc/self/exe", (char *)(uintptr_t)"--serve" };
	pid_t pid;
	int i;

	for (i = 0; options[i]; i++)
		argv[i + 2] = options[i];
	pid = fork();
	if (!pid) {
		int log = open("/dev/null", O_WRONLY);

		dup2(log, 2);
		if (forbidden)
			forbid_chown();
		if (systemd)
			hand_over(in);
		else if (in > 0)
			dup2(in, 0);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static pid_t
start(int in, char *const *options)
{
	return start_with(in, false, options);
}

static pid_t
start_forbidden(char *const *options)
{
	pid_t pid;

	forbidden = true;
	pid = start(0, options);
	forbidden = false;
	return pid;
}
#define OPTIONS(...) ((char *const[]){ __VA_ARGS__, NULL })
#define O(text) ((char *)(uintptr_t)(text))

static int
dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), i;

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	for (i = 0; i < 12000; i++) {
		if (!connect(fd, (struct sockaddr *)&a, sizeof a))
			return fd;
		usleep(10000);
	}
	return -1;
}

/* Sends the word without waiting for the answer; with milliseconds in it, until a worker has begun with it. */
static int
ask(const char *word)
{
	int fd = dial();
	char plus;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, word, strlen(word)), strlen(word));
	if (atoi(word) > 0)
		assert_int_equal(read(fd, &plus, 1), 1);
	return fd;
}

static int
answer(int fd)
{
	char text[16] = "";
	ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	return n > 0 ? atoi(text) : -1;
}

static int
ended(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
listening_socket(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 64), 0);
	return fd;
}

static void
a_worker_that_dies_is_replaced(void **state)
{
	pid_t master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1"), O("--mode"), O("600")));
	int first = answer(ask("0")), i, second = -1;
	struct stat st;

	assert_true(first > 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	for (i = 0; i < 3; i++) {
		assert_int_equal(answer(ask("die")), -1);
		second = answer(ask("0"));
		assert_true(second > 0);
	}
	assert_int_not_equal(first, second);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	assert_int_equal(access(path, F_OK), -1);
}

/* One that this process may give away, and not the one that a new file has anyway where there is another. */
static const struct group *
some_group(void)
{
	gid_t mine[64];
	int i, n = getgroups(64, mine);

	for (i = 0; geteuid() != 0 && i < n; i++)
		if (mine[i] != getegid() && getgrgid(mine[i]))
			return getgrgid(mine[i]);
	return geteuid() == 0 ? getgrnam("daemon") : getgrgid(getegid());
}

static void
the_socket_is_of_the_group_that_was_named(void **state)
{
	const struct group *g = some_group();
	pid_t master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1"), O("--group"), g->gr_name));
	struct stat st;

	assert_true(answer(ask("0")) > 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, g->gr_gid);
	assert_int_equal(st.st_mode & 0777, 0660);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	assert_int_equal(ended(start(0, OPTIONS(O("--socket"), path, O("--group"), O("no-such-group")))), 71);
	assert_int_equal(access(path, F_OK), -1);
}

static void
who_may_give_nothing_away_makes_a_socket_all_the_same(void **state)
{
	const struct group *g = some_group();
	struct stat st;
	pid_t master;

	master = start_forbidden(OPTIONS(O("--socket"), path, O("--workers"), O("1")));
	assert_true(answer(ask("0")) > 0);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	if (g->gr_gid != getegid())
		assert_int_equal(ended(start_forbidden(OPTIONS(O("--socket"), path, O("--group"), g->gr_name))), 71);
	/* The directory gives it. */
	assert_int_equal(chown(dir, (uid_t)-1, g->gr_gid), 0);
	assert_int_equal(chmod(dir, 02700), 0);
	master = start_forbidden(OPTIONS(O("--socket"), path, O("--workers"), O("1"), O("--group"), g->gr_name));
	assert_true(answer(ask("0")) > 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, g->gr_gid);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	assert_int_equal(chown(dir, (uid_t)-1, getegid()), 0);
	assert_int_equal(chmod(dir, 0700), 0);
}

static void
sigterm_lets_the_request_in_hand_finish(void **state)
{
	pid_t master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("2")));
	int fd = ask("400");

	kill(master, SIGTERM);
	assert_true(answer(fd) > 0);
	assert_int_equal(ended(master), 0);
}

static void
sighup_starts_anew_and_loses_no_request(void **state)
{
	pid_t master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("2")));
	int before = answer(ask("0")), slow, i, n = 0;

	for (i = 0; i < 5; i++) {
		slow = ask("100");
		kill(master, SIGHUP);
		for (n = 0; n < 40; n++)
			assert_true(answer(ask("0")) > 0);
		assert_true(answer(slow) > 0);
	}
	assert_int_not_equal(before, answer(ask("0")));
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
}

static void
a_request_waits_in_an_inherited_socket_while_the_servers_change(void **state)
{
	int sock = listening_socket(), fd;
	pid_t master = start(sock, OPTIONS(O("--workers"), O("2")));

	assert_true(answer(ask("0")) > 0);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	fd = ask("0");
	master = start(sock, OPTIONS(O("--workers"), O("2")));
	assert_true(answer(fd) > 0);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	close(sock);
	unlink(path);
}

static void
a_socket_on_fd_0_is_served_without_a_master(void **state)
{
	int sock = listening_socket();
	pid_t pid = start(sock, (char *const[]){ NULL });

	assert_int_equal(answer(ask("0")), pid);
	usleep(50000);		/* idle: nothing but the signal can wake it */
	kill(pid, SIGTERM);
	assert_int_equal(ended(pid), 0);
	close(sock);
	unlink(path);
}

static void
a_socket_of_systemd_is_served_also_after_sighup(void **state)
{
	int sock = listening_socket(), first;
	pid_t master = start_with(sock, true, OPTIONS(O("--workers"), O("1")));

	first = answer(ask("0"));
	assert_true(first > 0);
	kill(master, SIGHUP);
	usleep(100000);
	assert_true(answer(ask("0")) > 0);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	assert_int_equal(access(path, F_OK), 0);	/* it is not ours to remove */
	close(sock);
	unlink(path);
}

/* Three that are at work at the same time, and nobody else for who comes then. */
static void
three_workers(pid_t pid[4])
{
	int fd[4], i, tries = 0;

	do {
		for (i = 0; i < 4; i++)
			fd[i] = ask(i < 3 ? "1000" : "0");
		for (i = 0; i < 4; i++) {
			pid[i] = answer(fd[i]);
			assert_true(pid[i] > 0);
		}
	} while ((pid[0] == pid[1] || pid[1] == pid[2] || pid[0] == pid[2]) && ++tries < 20);
	assert_in_range(tries, 0, 19); /* a second try: one had been done before the next came */
	assert_true(pid[3] == pid[0] || pid[3] == pid[1] || pid[3] == pid[2]);
}

static void
the_workers_of_a_master_that_was_not_told_are_as_many_after_sighup(void **state)
{
	int sock = listening_socket();
	pid_t master = start_with(sock, true, (char *const[]){ NULL }), pid[4];
	int i;

	three_workers(pid);
	kill(master, SIGHUP);
	for (i = 0; i < 3; i++)
		while (kill(pid[i], 0) == 0)
			usleep(10000);
	three_workers(pid);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
	close(sock);
	unlink(path);
}

static void
a_socket_in_use_is_not_taken(void **state)
{
	pid_t first = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1"))), second;

	assert_true(answer(ask("0")) > 0);
	second = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1")));
	assert_int_equal(ended(second), 71);
	assert_true(answer(ask("0")) > 0);
	kill(first, SIGTERM);
	assert_int_equal(ended(first), 0);
}

/* As the workers of a killed master do. */
static void
who_listens_only_for_a_moment_longer_is_waited_for(void **state)
{
	int old = listening_socket();
	pid_t master;

	fcntl(old, F_SETFD, FD_CLOEXEC);
	master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1")));
	usleep(300000);
	assert_int_equal(waitpid(master, NULL, WNOHANG), 0);
	close(old);
	usleep(200000);
	assert_true(answer(ask("0")) > 0);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
}

static void
wrong_options_end_with_a_usage_error(void **state)
{
	int null = open("/dev/null", O_RDONLY);

	assert_int_equal(ended(start(null, (char *const[]){ NULL })), 64);
	assert_int_equal(ended(start(null, OPTIONS(O("--workers"), O("0")))), 64);
	assert_int_equal(ended(start(null, OPTIONS(O("--workers"), O("2x")))), 64);
	assert_int_equal(ended(start(null, OPTIONS(O("--socket")))), 64);
	assert_int_equal(ended(start(null, OPTIONS(O("--mode"), O("999"), O("--socket"), path))), 64);
	close(null);
}

static void
a_stale_socket_file_is_replaced(void **state)
{
	pid_t master;

	close(listening_socket());
	master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1")));
	assert_true(answer(ask("0")) > 0);
	kill(master, SIGTERM);
	assert_int_equal(ended(master), 0);
}

static void
systemd_is_told(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[32] = "";
	pid_t master;

	snprintf(a.sun_path, sizeof a.sun_path, "%s/notify", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	master = start(0, OPTIONS(O("--socket"), path, O("--workers"), O("1")));
	assert_true(recv(fd, text, sizeof text - 1, 0) > 0);
	assert_string_equal(text, "READY=1");
	assert_true(answer(ask("0")) > 0);
	kill(master, SIGTERM);
	memset(text, 0, sizeof text);
	assert_true(recv(fd, text, sizeof text - 1, 0) > 0);
	assert_string_equal(text, "STOPPING=1");
	assert_int_equal(ended(master), 0);
	unsetenv("NOTIFY_SOCKET");
	unlink(a.sun_path);
	close(fd);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_that_dies_is_replaced),
		cmocka_unit_test(the_socket_is_of_the_group_that_was_named),
		cmocka_unit_test(who_may_give_nothing_away_makes_a_socket_all_the_same),
		cmocka_unit_test(sigterm_lets_the_request_in_hand_finish),
		cmocka_unit_test(sighup_starts_anew_and_loses_no_request),
		cmocka_unit_test(a_request_waits_in_an_inherited_socket_while_the_servers_change),
		cmocka_unit_test(a_socket_on_fd_0_is_served_without_a_master),
		cmocka_unit_test(a_socket_of_systemd_is_served_also_after_sighup),
		cmocka_unit_test(the_workers_of_a_master_that_was_not_told_are_as_many_after_sighup),
		cmocka_unit_test(a_socket_in_use_is_not_taken),
		cmocka_unit_test(who_listens_only_for_a_moment_longer_is_waited_for),
		cmocka_unit_test(wrong_options_end_with_a_usage_error),
		cmocka_unit_test(a_stale_socket_file_is_replaced),
		cmocka_unit_test(systemd_is_told),
	};
	int failed;

	if (argc > 1 && !strcmp(argv[1], "--serve"))
		return serve(argc, argv);
	alarm(900);
	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof path, "%s/s.sock", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
