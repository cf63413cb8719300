/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See runners.h. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/scratch.h"
#include "core/store.h"
#include "tests/jobs/runners.h"
#include "tests/objects_peer.h"

enum { TRIES = 12000 }; /* of 10 ms, and what else a machine that does other things may need */

static const char *
note_of(const struct job *j)
{
	const struct no_args *in = j->in;

	return in->note == NULL ? "-" : in->note;
}

static const char *
path_of(const struct job *j, const char *name)
{
	return arena_printf(j->mem, "%s/%s", j->conf->run_dir, name);
}

static void
append_to(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}

static void
begin(struct job *j, const char *kind)
{
	append_to(path_of(j, "journal"), arena_printf(j->mem, "%s %s %d\n", kind, note_of(j), j->attempt));
	append_to(path_of(j, arena_printf(j->mem, "pid-%s", note_of(j))), arena_printf(j->mem, "%d\n", (int)getpid()));
}

static void
leave_result(struct job *j)
{
	db_run(j->db, "INSERT INTO test_results (job_id, fence) VALUES (?, ?)", ARGS(ID(j->id), INT(j->fence)));
}

static enum outcome
quick_run(struct job *j)
{
	begin(j, "quick");
	leave_result(j);
	return DONE;
}

static enum outcome
crash_run(struct job *j)
{
	begin(j, "crash");
	leave_result(j);
	job_log(j, "about to crash in attempt %d", j->attempt);
	raise(SIGSEGV);
	return DONE;
}

/* Leaves a program in a session of its own behind, as a hung decoder would. */
static enum outcome
hang_run(struct job *j)
{
	pid_t pid;

	begin(j, "hang");
	pid = fork();
	if (pid == 0) {
		setsid();
		for (;;)
			pause();
	}
	append_to(path_of(j, "stray"), arena_printf(j->mem, "%d\n", (int)pid));
	while (alive(pid)) {
		job_log(j, "talking is no progress");
		usleep(100000);
	}
	return DONE;
}

static enum outcome
retry_run(struct job *j)
{
	begin(j, "retry");
	append_to(path_of(j, "times"), arena_printf(j->mem, "%" PRId64 "\n", moment_now().ms));
	leave_result(j);
	return job_retry(j, REASON_ENGINE_UNAVAILABLE, "No answer in attempt %d.", j->attempt);
}

static enum outcome
refuse_run(struct job *j)
{
	begin(j, "refuse");
	return job_give_up(j, REASON_UNKNOWN_FORMAT, "It is \"%s\".", "\xff\xfe odd");
}

/* Works for as many milliseconds as its note says. */
static enum outcome
slow_run(struct job *j)
{
	int64_t ms = 0, i;

	job_pause(j);
	begin(j, "slow"); /* who is stopped now holds no lock */
	int_parse(note_of(j), &ms);
	for (i = 0; i < ms; i += 20) {
		usleep(20000);
		job_progress(j, (int)(i * 100 / ms));
	}
	append_to(arena_printf(j->mem, "%s/file", j->work_dir), "scratch");
	if (!job_resume(j))
		return RETRY;
	leave_result(j);
	return DONE;
}

/* Works, with no transaction open, until the file "go" is there. */
static enum outcome
held_run(struct job *j)
{
	struct stat st;

	job_pause(j);
	begin(j, "held");
	while (stat(path_of(j, "go"), &st) != 0) {
		usleep(10000);
		job_progress(j, 1);
	}
	if (!job_resume(j))
		return RETRY;
	leave_result(j);
	return DONE;
}

static enum outcome
memory_run(struct job *j)
{
	begin(j, "memory");
	while (arena_used(j->mem) > 0)
		arena_alloc(j->mem, 8 << 20);
	return DONE;
}

/* Stops in its closing transaction until the file "go" is there, at every attempt of that transaction. */
static enum outcome
gate_run(struct job *j)
{
	struct stat st;

	begin(j, "gate");
	job_pause(j);
	if (!job_resume(j))
		return RETRY;
	leave_result(j);
	append_to(path_of(j, "closing"), "x");
	while (stat(path_of(j, "go"), &st) != 0)
		usleep(10000);
	return DONE;
}

/* Writes before its first pause, to which it comes when the file "go" is there. */
static enum outcome
early_run(struct job *j)
{
	struct stat st;

	leave_result(j);
	begin(j, "early");
	while (stat(path_of(j, "go"), &st) != 0)
		usleep(10000);
	job_pause(j);
	return DONE;
}

/* A long line whose thousandth byte is within a character. */
static enum outcome
chatty_run(struct job *j)
{
	char line[1016] = "x";
	size_t i;

	for (i = 1; i + 2 < sizeof(line); i += 2)
		memcpy(line + i, "\303\251", 2);
	line[i] = '\0';
	job_log(j, "%s", line);
	return DONE;
}

/* Notes when it has started. */
static enum outcome
clock_run(struct job *j)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	append_to(path_of(j, arena_printf(j->mem, "clock-%s", note_of(j))),
	    arena_printf(j->mem, "%" PRId64 "\n", (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000));
	return DONE;
}

static enum outcome
decode_run(struct job *j)
{
	begin(j, "decode");
	return DONE;
}

/* Notes by whom each part was begun, and leaves its number as a result; as many as its note says. */
static bool
next_part(struct job *j, void *at)
{
	int64_t most = 0;
	int *part = at;

	append_to(path_of(j, "parts"), arena_printf(j->mem, "%d %d\n", ++*part, (int)getpid()));
	db_run(j->db, "INSERT INTO test_results (job_id, fence) VALUES (?, ?)", ARGS(ID(j->id), INT(*part)));
	usleep(10000);
	job_progress(j, 1);
	return int_parse(note_of(j), &most) && *part < most;
}

static enum outcome
parts_run(struct job *j)
{
	int part = 0;

	job_batches(j, next_part, &part, sizeof(part));
	return DONE;
}

static volatile sig_atomic_t told_to_end;

static void
on_term(int sig)
{
	told_to_end = sig;
}

/* Until it is told to end. */
static enum outcome
lasting_run(struct job *j)
{
	signal(SIGTERM, on_term);
	begin(j, "lasting");
	job_pause(j);
	while (told_to_end == 0)
		usleep(10000);
	return job_resume(j) ? DONE : RETRY;
}

/* Runs its note as the line of a shell in the jail. */
static enum outcome
tool_run(struct job *j)
{
	const char *const argv[] = { "sh", "-c", note_of(j), NULL };
	const struct jail jail = { .argv = argv, .in = -1 };
	struct jail_result r;
	struct fault fault;

	job_pause(j);
	if (!jail_run(j->mem, &jail, &r) && !fault_of_jail(j->mem, &jail, &r, &fault))
		return job_fault(j, &fault);
	return job_resume(j) ? DONE : RETRY;
}

/* Puts 10 MiB into the store under a key that its note names, and has it back. */
static enum outcome
keep_run(struct job *j)
{
	const char *file = arena_printf(j->mem, "%s/large", j->work_dir), *back;
	const char *key = store_key_play(j->mem, j->id, note_of(j));
	struct stat st;
	int fd;

	job_pause(j);
	begin(j, "keep");
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 10 << 20) != 0)
		abort();
	close(fd);
	if (!store_put(j->mem, file, key) || (back = store_fetch(j->mem, key, j->work_dir)) == NULL ||
	    stat(back, &st) != 0 || st.st_size != 10 << 20)
		return job_retry(j, REASON_STORAGE, NULL);
	return job_resume(j) ? DONE : RETRY;
}

#define KIND(name, attempts, idle, decodes) KIND_IN(JOB_ENCODE, name, attempts, idle, decodes)
#define KIND_IN(class, name, attempts, idle, decodes) \
	{ \
		name, class, "test", "For tests", attempts, idle, 1, true, decodes, &no_args_record \
	}
static const struct job_kind test_kinds[] = {
	KIND("quick", 3, 30, false),
	KIND("crash", 3, 30, false),
	KIND("hang", 2, 1, false),
	KIND("retry", 4, 30, false),
	KIND("refuse", 3, 30, false),
	KIND("slow", 3, 4, false),
	KIND("memory", 2, 30, false),
	KIND("gate", 2, 30, false),
	KIND("decode", 2, 30, true),
	KIND("clock", 2, 30, false),
	KIND_IN(JOB_QUICK, "brief", 3, 30, false),
	KIND("tool", 3, 30, false),
	KIND("early", 2, 30, false),
	KIND("chatty", 3, 30, false),
	KIND("parts", 3, 30, false),
	KIND_IN(JOB_NETWORK, "lasting", 3, 600, false),
	KIND("held", 3, 4, false),
	KIND("keep", 2, 2, false),
};

static struct run_kind kinds[] = {
	{ &test_kinds[0], quick_run },
	{ &test_kinds[1], crash_run },
	{ &test_kinds[2], hang_run },
	{ &test_kinds[3], retry_run },
	{ &test_kinds[4], refuse_run },
	{ &test_kinds[5], slow_run },
	{ &test_kinds[6], memory_run },
	{ &test_kinds[7], gate_run },
	{ &test_kinds[8], decode_run },
	{ &test_kinds[9], clock_run },
	{ &test_kinds[10], quick_run },
	{ &test_kinds[11], tool_run },
	{ &test_kinds[12], early_run },
	{ &test_kinds[13], chatty_run },
	{ &test_kinds[14], parts_run },
	{ &test_kinds[15], lasting_run, .lasting = true },
	{ &test_kinds[16], held_run },
	{ &test_kinds[17], keep_run },
	{ NULL, forget_run },
	{ NULL, embed_run },
	{ NULL, index_run },
	{ NULL, purge_run },
	{ NULL, serve_run },
	{ NULL, scrub_run },
	{ NULL, sweep_run },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

int
runners_setup(void **state)
{
	struct world *w = world_setup(state) == 0 ? *state : NULL;
	struct runners *t = NEW(w->mem, struct runners);
	struct arena *mem = w->mem;
	char dir[] = "/tmp/runners-XXXXXX";

	t->world = w;
	t->mem = mem;
	t->conf = *w->conf;
	assert_non_null(mkdtemp(dir));
	t->dir = arena_copy(mem, dir);
	t->conf.scratch_dir = NULL;
	t->conf.data_dir = arena_printf(mem, "%s/data", dir);
	t->conf.run_dir = arena_printf(mem, "%s/run", dir);
	mkdir(t->conf.data_dir, 0700);
	mkdir(t->conf.run_dir, 0700);
	t->conf.job_slots = 2;
	t->conf.job_lease = 60;
	/* no sweeps between */
	t->conf.job_kinds = "quick,crash,hang,retry,refuse,slow,memory,gate,decode,clock,"
	    "brief,tool,early,chatty,parts,lasting,held,keep,purge,serve";
	t->options = (struct run_options){ .grace = 20, .poll_ms = 500, .back_off_ms = 50 };
	job_kinds_add(test_kinds, sizeof(test_kinds) / sizeof(test_kinds[0]));
	kinds[KINDS - 7].kind = job_kind("forget");
	kinds[KINDS - 6].kind = job_kind("embed");
	kinds[KINDS - 5].kind = job_kind("index");
	kinds[KINDS - 4].kind = job_kind("purge");
	kinds[KINDS - 3].kind = job_kind("serve");
	kinds[KINDS - 2].kind = job_kind("scrub");
	kinds[KINDS - 1].kind = job_kind("sweep");
	t->db = db_open(&t->conf, DB_JOBS);
	db_use(t->db, mem);
	db_run(t->db, "DELETE FROM job_waits", NO_ARGS);
	db_run(t->db, "DELETE FROM jobs", NO_ARGS);
	db_run(t->db, "DROP TABLE IF EXISTS test_results", NO_ARGS);
	db_run(t->db,
	    "CREATE TABLE test_results (n BIGINT AUTO_INCREMENT PRIMARY KEY, job_id BINARY(16), fence BIGINT) "
	    "ENGINE=InnoDB",
	    NO_ARGS);
	assert_int_equal(db_failure(t->db), DB_FINE);
	assert_true(store_open(&t->conf) && scratch_open(&t->conf));
	*state = t;
	return 0;
}

int
runners_teardown(void **state)
{
	struct runners *t = *state;
	int i;

	for (i = 0; i < t->n; i++)
		if (t->pids[i] > 0) {
			kill(t->pids[i], SIGCONT);
			kill(t->pids[i], SIGKILL);
			waitpid(t->pids[i], NULL, 0);
		}
	proxy_cut(t);
	db_close(t->db);
	if (system(arena_printf(t->mem, "rm -rf %s", t->dir)) != 0)
		return 1;
	*state = t->world;
	return world_teardown(state);
}

struct objects_tally *
runners_bucket(struct runners *t)
{
	t->conf.store = "s3";
	t->conf.store_endpoint = objects_peer_start(t->mem);
	t->conf.store_bucket = OBJECTS_PEER_BUCKET;
	t->conf.store_region = "us-east-1";
	t->conf.store_key = OBJECTS_PEER_KEY;
	t->conf.store_secret = OBJECTS_PEER_SECRET;
	t->conf.store_prefix = "home/";
	assert_true(store_open(&t->conf));
	return objects_peer_tally();
}

int
runner_start(struct runners *t)
{
	int log;

	t->pids[t->n] = fork();
	assert_true(t->pids[t->n] >= 0);
	if (t->pids[t->n] == 0) {
		for (log = 1; log < NSIG; log++)
			signal(log, SIG_DFL);
		log = open(arena_printf(t->mem, "%s/log", t->dir), O_WRONLY | O_APPEND | O_CREAT, 0600);
		dup2(log, STDERR_FILENO);
		log_threshold(LOG_LEVEL_INFO);
		db_abandon(t->db);
		_exit(run_jobs(&t->conf, kinds, KINDS, &t->options));
	}
	return t->n++;
}

int
runner_wait(struct runners *t, int number)
{
	int status;

	assert_int_equal(waitpid(t->pids[number], &status, 0), t->pids[number]);
	t->pids[number] = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void
runner_drain(struct runners *t)
{
	struct run_options before = t->options;

	t->options.drain = true;
	assert_int_equal(runner_wait(t, runner_start(t)), 0);
	t->options = before;
}

struct uuid
add(struct runners *t, const char *kind, const char *note, struct job_place place)
{
	struct no_args args = { note };
	struct uuid id;

	db_begin(t->db);
	id = job_insert(t->db, kind, &no_args_record, &args, place);
	assert_true(db_commit(t->db));
	return id;
}

const char *
column(struct runners *t, struct uuid id, const char *name)
{
	const char *sql = arena_printf(t->mem, "SELECT %s FROM jobs WHERE id = ?", name), *text;

	text = db_text(t->db, sql, ARGS(ID(id)));
	assert_int_equal(db_failure(t->db), DB_FINE);
	return text == NULL ? "" : text;
}

void
wait_for(struct runners *t, struct uuid id, const char *state)
{
	wait_until(t, id, "state", state);
}

void
wait_until(struct runners *t, struct uuid id, const char *name, const char *value)
{
	const char *is = "";
	int i;

	for (i = 0; i < TRIES; i++) {
		is = column(t, id, name);
		if (strcmp(is, value) == 0)
			return;
		usleep(10000);
	}
	fail_msg("%s of the job is %s instead of %s", name, is, value);
}

void
wait_for_log(struct runners *t, const char *words)
{
	const char *path = arena_printf(t->mem, "%s/log", t->dir);
	char text[1 << 16];
	ssize_t n;
	int i, fd;

	for (i = 0; i < TRIES; i++) {
		fd = open(path, O_RDONLY);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		text[n < 0 ? 0 : n] = '\0';
		close(fd);
		if (strstr(text, words) != NULL)
			return;
		usleep(10000);
	}
	fail_msg("no runner said \"%s\"", words);
}

int64_t
results(struct runners *t, struct uuid id)
{
	return db_number(t->db, "SELECT COUNT(*) FROM test_results WHERE job_id = ?", ARGS(ID(id)), -1);
}

const char *
read_text(struct runners *t, const char *name)
{
	char *text = arena_alloc(t->mem, 1 << 16);
	int fd = open(arena_printf(t->mem, "%s/%s", t->conf.run_dir, name), O_RDONLY);

	if (fd >= 0) {
		assert_true(read(fd, text, (1 << 16) - 1) >= 0);
		close(fd);
	}
	return text;
}

const char *
journal(struct runners *t)
{
	return read_text(t, "journal");
}

int
times(struct runners *t, const char *line)
{
	const char *p = journal(t);
	int n = 0;

	while ((p = strstr(p, line)) != NULL) {
		n++;
		p += strlen(line);
	}
	return n;
}

int64_t
number_in(struct runners *t, const char *file)
{
	const char *text = "";
	int i;

	for (i = 0; i < TRIES && text[0] == '\0'; i++) {
		usleep(10000);
		text = read_text(t, file);
	}
	assert_true(text[0] != '\0');
	return strtoll(text, NULL, 10);
}

void
touch(struct runners *t, const char *file)
{
	append_to(arena_printf(t->mem, "%s/%s", t->conf.run_dir, file), "");
}

bool
exists(struct runners *t, const char *file)
{
	return access(arena_printf(t->mem, "%s/%s", t->dir, file), F_OK) == 0;
}

/* A zombie counts as dead. */
bool
alive(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	return line[0] != '\0' && strstr(line, ") Z") == NULL;
}

void
wait_for_end(pid_t pid)
{
	int i;

	for (i = 0; i < TRIES && alive(pid); i++)
		usleep(10000);
	assert_false(alive(pid));
}

static int
dial(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) != 0)
		_exit(1);
	return fd;
}

static bool
pass(int from, int to)
{
	char bytes[65536];
	ssize_t n = read(from, bytes, sizeof(bytes)), done, at;

	if (n <= 0)
		return false;
	for (at = 0; at < n; at += done) {
		done = write(to, bytes + at, (size_t)(n - at));
		if (done <= 0)
			return false;
	}
	return true;
}

/* One process per connection: cutting is killing the group. */
static _Noreturn void
proxy_run(int listening, const char *to)
{
	struct pollfd fds[2];
	int fd;

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		fd = accept(listening, NULL, NULL);
		if (fd < 0 || fork() != 0) {
			close(fd);
			continue;
		}
		close(listening);
		fds[0] = (struct pollfd){ fd, POLLIN, 0 };
		fds[1] = (struct pollfd){ dial(to), POLLIN, 0 };
		while (poll(fds, 2, -1) >= 0)
			if ((fds[0].revents != 0 && !pass(fds[0].fd, fds[1].fd)) ||
			    (fds[1].revents != 0 && !pass(fds[1].fd, fds[0].fd)))
				break;
		_exit(0);
	}
}

void
proxy_start(struct runners *t)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	static const char *database;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (database == NULL)
		database = strdup(t->conf.db_socket);
	t->conf.db_socket = arena_printf(t->mem, "%s/proxy", t->dir);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", t->conf.db_socket);
	unlink(at.sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 64), 0);
	t->proxy = fork();
	if (t->proxy == 0) {
		setpgid(0, 0);
		proxy_run(fd, database);
	}
	setpgid(t->proxy, t->proxy);
	close(fd);
}

void
proxy_cut(struct runners *t)
{
	if (t->proxy <= 0)
		return;
	kill(-t->proxy, SIGKILL);
	waitpid(t->proxy, NULL, 0);
	t->proxy = 0;
}
