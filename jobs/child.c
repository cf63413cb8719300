/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the forked child of one job: its surroundings, its transactions, and what it tells the runner. */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/log.h"
#include "core/scratch.h"
#include "core/store_side.h"
#include "jobs/runner.h"

enum { RETRIES_AGAIN = 20, TAIL_LINE = 1000, BATCH_MEMORY = 64 << 20, LIFE_MS = 100 };

/* Outside of a runner (a test that calls a kind by hand) pipe is 0 and there are no checkpoints. */
static struct {
	int pipe;
	pid_t runner;
	const char *kind;
	struct db *db; /* once it is ours */
	struct tail log;
	int64_t cpu_ms; /* of the processes before this one */
	int percent;
	bool open, gone; /* in a transaction; the lease was lost */
} self;

#ifdef KINOTHEK_CRASH_POINTS
void
crash_point(const char *name)
{
	const char *at = getenv("KINOTHEK_CRASH_AT"), *kind;
	size_t n = strlen(name);
	bool runner;

	if (at == NULL)
		return;
	runner = strncmp(at, "runner:", 7) == 0;
	at += runner ? 7 : 0;
	kind = at + n;
	if (strncmp(at, name, n) != 0 || (*kind != '\0' && *kind != '@') ||
	    (*kind == '@' && (self.kind == NULL || strcmp(kind + 1, self.kind) != 0)))
		return;
	if (runner && self.runner > 0)
		kill(self.runner, SIGKILL);
	kill(getpid(), SIGKILL);
}
#endif

void
tail_add(struct tail *t, const char *line)
{
	size_t n = strlen(line), drop;
	char *end;

	if (n > TAIL_LINE)
		for (n = TAIL_LINE; n > 0 && ((unsigned char)line[n] & 0xc0) == 0x80;)
			n--; /* not within a character: the database would not take it */
	while (t->n + n + 2 > sizeof(t->text)) {
		end = memchr(t->text, '\n', t->n);
		drop = end == NULL ? t->n : (size_t)(end - t->text) + 1;
		t->n -= drop;
		memmove(t->text, t->text + drop, t->n);
	}
	memcpy(t->text + t->n, line, n);
	t->n += n;
	t->text[t->n++] = '\n';
	t->text[t->n] = '\0';
}

/* Progress may be lost when the runner is busy; what decides the job may not. */
static void
say(int what, int value, enum reason reason, const char *text, bool must)
{
	struct message m = { .what = (uint8_t)what, .value = (uint8_t)value, .reason = (uint16_t)reason };
	struct pollfd p = { .fd = self.pipe, .events = POLLOUT };
	size_t n = text == NULL ? 0 : strlen(text);

	if (self.pipe == 0)
		return;
	m.n = (uint16_t)(n < sizeof(m.text) ? n : sizeof(m.text) - 1);
	if (m.n > 0)
		memcpy(m.text, text, m.n);
	while (write(self.pipe, &m, sizeof(m)) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || !must || poll(&p, 1, -1) < 0)
			return;
	}
}

static void
say_memory_limit(void)
{
	say(SAY_OUTCOME, RETRY, REASON_MEMORY_LIMIT, NULL, true);
}

static int64_t
rusage_ms(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	    (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static int64_t
cpu_so_far(void)
{
	return self.cpu_ms + rusage_ms(RUSAGE_SELF) + rusage_ms(RUSAGE_CHILDREN);
}

/* The end of the process.  Its connection ends with a word: a server takes note of those that end without. */
static _Noreturn void
leave(int status)
{
	db_close(self.db);
	_exit(status);
}

/* Dies with the process that made it: a runner that is killed leaves nobody behind. */
static void
die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_GONE);
}

/* Ends the process when the transaction failed: whoever made the last checkpoint begins it again. */
static void
leave_if_failed(struct job *j)
{
	switch (db_failure(j->db)) {
	case DB_FINE: return;
	case DB_AGAIN: case DB_LIMIT: leave(EXIT_AGAIN);
	case DB_LOST: leave(EXIT_LOST);
	case DB_BROKEN: break;
	}
	say(SAY_OUTCOME, RETRY, REASON_INTERNAL, NULL, true);
	leave(0);
}

/* Ends this process as the one below it ended. */
static _Noreturn void
end_like(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

/*
 * The work before a closing transaction may have taken an hour, and a deadlock or a lost server at COMMIT must not cost
 * it. So the process forks here: the copy writes and commits; this one, with all its results in memory, only waits, and
 * makes another copy if the database was at fault.  However long it is away: nobody could use the slot meanwhile.  When
 * only this process cannot reach it, the runner sees no sign of life.
 */
static void
checkpoint(struct job *j)
{
	int64_t cpu;
	pid_t here = getpid(), pid;
	int status, tries = 0;

	db_rest(j->db); /* the copy has one of its own */
	for (;;) {
		cpu = cpu_so_far();
		pid = fork();
		if (pid < 0) {
			say(SAY_OUTCOME, RETRY, fault_reason(errno, REASON_BUSY), NULL, true);
			leave(0);
		}
		if (pid == 0) {
			die_with(here);
			self.cpu_ms = cpu;
			db_abandon(j->db);
			return;
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		if (!WIFEXITED(status) || (WEXITSTATUS(status) != EXIT_AGAIN && WEXITSTATUS(status) != EXIT_LOST))
			end_like(status);
		if (WEXITSTATUS(status) == EXIT_LOST) {
			usleep(500000);
			continue;
		}
		if (++tries > RETRIES_AGAIN) {
			say(SAY_OUTCOME, RETRY, REASON_INTERNAL, NULL, true);
			leave(0);
		}
		say(SAY_ALIVE, 0, REASON_NONE, NULL, false);
		usleep((useconds_t)(10000 + random() % 50000));
	}
}

/* Locks our row: while it is locked nobody can take the job away. */
static bool
lease_is_ours(struct job *j)
{
	const char *state;

	state = db_text(
	    j->db, "SELECT state FROM jobs WHERE id = ? AND fence = ? FOR UPDATE", ARGS(ID(j->id), INT(j->fence)));
	leave_if_failed(j);
	if (state != NULL && strcmp(state, "succeeded") == 0) {
		say(SAY_SUCCEEDED, 0, REASON_NONE, NULL, true); /* a COMMIT whose answer was lost */
		leave(0);
	}
	return state != NULL && strcmp(state, "running") == 0;
}

static void
commit(struct job *j)
{
	if (!db_commit(j->db)) {
		leave_if_failed(j);
		leave(EXIT_LOST);
	}
	self.open = false;
	if (self.pipe != 0 && job_added())
		job_wake(j->conf->run_dir);
}

void
job_pause(struct job *j)
{
	if (self.pipe == 0) {
		db_commit(j->db);
		return;
	}
	if (!self.open)
		return;
	leave_if_failed(j);
	if (!lease_is_ours(j))
		leave(EXIT_GONE);
	crash_point("pausing");
	commit(j);
	db_rest(j->db); /* nobody holds a connection for an hour of encoding, or is killed with one */
	say(SAY_WORKING, 0, REASON_NONE, NULL, false);
	crash_point("paused");
}

bool
job_resume(struct job *j)
{
	if (self.pipe == 0) {
		db_begin(j->db);
		return true;
	}
	if (self.open)
		return true;
	crash_point("before_resume");
	checkpoint(j);
	say(SAY_CLOSING, 0, REASON_NONE, NULL, false);
	db_begin(j->db);
	self.open = true;
	self.gone = !lease_is_ours(j);
	crash_point("resumed");
	return !self.gone;
}

/* False: the part is to be begun again.  Our row is locked for the commit alone, so that progress reaches it. */
static bool
batch_committed(struct job *j, int *tries)
{
	const char *state = self.pipe == 0 ? "running" : db_text(j->db, "SELECT state FROM jobs WHERE id = ? AND "
	    "fence = ? FOR UPDATE", ARGS(ID(j->id), INT(j->fence)));
	enum db_failure failure = db_failure(j->db);

	if (failure == DB_FINE && (state == NULL || strcmp(state, "running") != 0))
		leave(EXIT_GONE);
	if (failure == DB_FINE && db_commit(j->db)) {
		crash_point("batch");
		say(SAY_WORKING, 0, REASON_NONE, NULL, false);
		*tries = 0;
		return true;
	}
	failure = db_failure(j->db);
	db_rollback(j->db);
	if (failure == DB_BROKEN || (failure != DB_LOST && ++*tries > RETRIES_AGAIN)) {
		say(SAY_OUTCOME, RETRY, REASON_INTERNAL, NULL, true);
		leave(0);
	}
	if (failure == DB_LOST) {
		say(SAY_CLOSING, 0, REASON_NONE, NULL, false); /* it waits for the database, see judge() */
		usleep(500000);
	} else {
		usleep((useconds_t)(10000 + random() % 50000));
	}
	return false;
}

void
job_batches(struct job *j, bool (*batch)(struct job *, void *at), void *at, size_t size)
{
	struct arena *mem = j->mem, *own = arena_new(BATCH_MEMORY);
	void *was = arena_alloc(mem, size);
	int tries = 0;
	bool more;

	job_pause(j);
	j->mem = own;
	db_use(j->db, own);
	do {
		memcpy(was, at, size);
		db_begin(j->db);
		more = batch(j, at);
		if (!batch_committed(j, &tries)) {
			memcpy(at, was, size);
			more = true;
		}
		arena_reset(own);
	} while (more);
	j->mem = mem;
	db_use(j->db, mem);
	db_rest(j->db);
	arena_free(own);
}

void
job_progress(struct job *j, int percent)
{
	static int64_t last;
	int64_t now = clock_ms();

	percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
	if (last != 0 && now - last < LIFE_MS)
		return;
	last = now;
	self.percent = percent;
	say(SAY_PERCENT, percent, REASON_NONE, NULL, false);
}

void
job_log(struct job *j, const char *format, ...)
{
	char line[1024], *s;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* A cut may have gone through a character, and a program's output may hold anything. */
	for (s = line; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20)
			*s = ' ';
	while (s > line && !utf8_valid(line, (size_t)(s - line)) && s > line + sizeof(line) - 5)
		*--s = '\0';
	if (!utf8_valid(line, strlen(line)))
		for (s = line; *s != '\0'; s++)
			if ((unsigned char)*s >= 0x80)
				*s = '?';
	tail_add(&self.log, line);
	say(SAY_LOG, 0, REASON_NONE, line, false);
}

static enum outcome __attribute__((format(printf, 4, 0)))
end_with(struct job *j, enum outcome outcome, enum reason reason, const char *format, va_list args)
{
	j->reason = reason;
	j->detail = format == NULL ? NULL : arena_vprintf(j->mem, format, args);
	return outcome;
}

enum outcome
job_give_up(struct job *j, enum reason reason, const char *format, ...)
{
	va_list args;
	enum outcome outcome;

	va_start(args, format);
	outcome = end_with(j, GIVE_UP, reason, format, args);
	va_end(args);
	return outcome;
}

enum outcome
job_retry(struct job *j, enum reason reason, const char *format, ...)
{
	va_list args;
	enum outcome outcome;

	va_start(args, format);
	outcome = end_with(j, RETRY, reason, format, args);
	va_end(args);
	return outcome;
}

static void
log_lines(struct job *j, const char *text)
{
	size_t n;

	for (; text != NULL && *text != '\0'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n > 0)
			job_log(j, "%.*s", (int)n, text);
	}
}

enum outcome
job_fault(struct job *j, const struct fault *fault)
{
	log_lines(j, fault->log);
	j->reason = fault->reason == REASON_NONE ? REASON_INTERNAL : fault->reason;
	j->detail = fault->detail;
	return fault_is_final(fault) ? GIVE_UP : RETRY;
}

void
job_warn(struct job *j, const struct warning *w)
{
	const struct reason_info *info = reason_info(w->reason);
	const struct job_warning told = { info->code, w->detail != NULL ? w->detail : info->remedy, w->from, w->to };
	struct buf one = BUF(j->mem);

	record_store(&one, &job_warning_record, &told);
	j->warnings = j->warnings == NULL ? arena_printf(j->mem, "[%s]", buf_string(&one)) :
	    arena_printf(j->mem, "%.*s,%s]", (int)strlen(j->warnings) - 1, j->warnings, buf_string(&one));
}

bool
job_may_mend(struct job *j, const struct fault *fault)
{
	const enum reason_class class = reason_info(fault->reason)->class;
	const int most = class == CLASS_TWICE && j->max_attempts > 2 ? 2 : j->max_attempts;

	if (class == CLASS_PASSING || (class != CLASS_FINAL && j->attempt < most))
		return true;
	log_lines(j, fault->log);
	return false;
}

/* The result of the job and its final state become visible in one transaction, or neither does. */
static void
succeed(struct job *j)
{
	if (!self.open && !job_resume(j))
		leave(EXIT_GONE);
	if (db_run(j->db,
		"UPDATE jobs SET state = 'succeeded', progress = 100, error = NULL, warnings = ?, log_tail = ?, "
		"cpu_ms = ?, lease_until = 0, finished_at = " SQL_NOW " WHERE id = ? AND fence = ? AND state = 'running'",
		ARGS(STR(j->warnings), STR(self.log.n > 0 ? self.log.text : NULL), INT(cpu_so_far()), ID(j->id), INT(j->fence))) == 0)
		leave(EXIT_GONE);
	job_settled(j->db, j->id);
	settle_files(j->db, j->tenant_id, j->media_id);
	if (!uuid_is_none(j->media_id) && !uuid_is_none(j->ingest_id))
		asset_summarise(j->db, j->media_id, SUM_INGEST);
	leave_if_failed(j);
	crash_point("before_commit");
	commit(j);
	crash_point("after_commit");
	say(SAY_SUCCEEDED, 0, REASON_NONE, NULL, true);
}

/* The sanitizers reserve terabytes of addresses. */
static void
limit_address_space(void)
{
#ifndef KINOTHEK_ARENA_MALLOC
	const struct rlimit memory = { 4ll << 30, 4ll << 30 };

	setrlimit(RLIMIT_AS, &memory);
#endif
}

static void
surroundings(const struct start *s)
{
	const struct rlimit none = { 0, 0 }, files = { 1024, 1024 };
	sigset_t empty;
	int i;

	for (i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN); /* a service manager may send it to all; the runner decides */
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	setsid();
	die_with(s->runner);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_NOFILE, &files);
	limit_address_space();
	/* Requests come first on a machine that does both, and what somebody waits for before an analysis. */
	if (nice(s->kind->kind->class == JOB_ANALYSE ? 15 : 10) < 0)
		errno = 0;
	srandom((unsigned)getpid());
}

/* Its own memory, connection and row: what a kind gets. */
static struct job *
job_make(const struct start *s)
{
	struct arena *mem = arena_new((size_t)512 << 20);
	struct job *j = NEW(mem, struct job);

	j->mem = mem;
	j->conf = s->conf;
	j->id = s->row->id;
	j->tenant_id = s->row->tenant_id;
	j->media_id = s->row->media_id;
	j->ingest_id = s->row->ingest_id;
	j->fence = s->row->fence;
	j->attempt = (int)s->row->attempt;
	j->max_attempts = (int)s->row->max_attempts;
	j->work_dir = scratch_path(mem, s->run);
	j->in = record_parse(mem, s->kind->kind->args, s->row->args.text);
	db_abandon(s->db);
	j->db = self.db = s->db;
	db_use(j->db, mem);
	return j;
}

/* Without room the work would be for nothing; deleting needs none.  REASON_NONE: it can begin. */
static enum reason
make_room(struct arena *mem, const struct start *s)
{
	errno = 0;
	if (s->kind->kind->decodes && (store_free() == 0 || scratch_free() == 0))
		return fault_reason(errno, REASON_NO_SPACE);
	return scratch_make(mem, s->run) ? REASON_NONE : fault_reason(errno, REASON_INTERNAL);
}

/* Bytes that go to the store or come from it may take an hour. */
static void
on_store(void *user)
{
	static int64_t last;
	const int64_t now = clock_ms();

	if (now - last < LIFE_MS)
		return;
	last = now;
	say(SAY_ALIVE, 0, REASON_NONE, NULL, false);
}

_Noreturn void
child_run(const struct start *s)
{
	enum outcome outcome;
	enum reason reason;
	struct job *j;

	self.pipe = s->pipe;
	self.runner = s->runner;
	self.kind = s->kind->kind->name;
	surroundings(s);
	fault_memory_was_short();
	arena_exhausted = say_memory_limit;
	store_on_life(on_store, NULL);
	crash_point("started");
	j = job_make(s);
	if (j->in == NULL) {
		say(SAY_OUTCOME, GIVE_UP, REASON_INTERNAL, NULL, true);
		leave(0);
	}
	reason = make_room(j->mem, s);
	if (reason != REASON_NONE) {
		say(SAY_OUTCOME, RETRY, reason, NULL, true);
		leave(0);
	}
	store_side_use(j->db, j->conf, j->tenant_id);
	db_begin(j->db);
	self.open = true;
	j->conf = engines_conf(j->db, j->conf, j->tenant_id);
	outcome = s->kind->run(j);
	leave_if_failed(j);
	if (self.gone)
		leave(EXIT_GONE);
	if (outcome == DONE) {
		succeed(j);
	} else {
		db_rollback(j->db);
		say(SAY_OUTCOME, outcome == GIVE_UP ? GIVE_UP : RETRY, j->reason, j->detail, true);
	}
	leave(0);
}
