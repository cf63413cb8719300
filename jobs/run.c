/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop of the runner: when to look, claim, keep house, settle, stop. */
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fault.h"
#include "core/listen.h"
#include "core/livestream.h"
#include "core/log.h"
#include "core/scratch.h"
#include "core/store.h"
#include "jobs/runner.h"

enum {
	POLL_MS = 2000,
	BEAT_MAX = 5000,
	KEEP_MAX = 10000,
	LAST_WORDS = 10000,
	DRAIN_DOWN = 30000,
	SOON_MS = 600 * 1000,
	NETWORK_SLOTS = 8,
	TRANSFER_SLOTS = 4
};

struct loop {
	struct runner r;
	struct claims *claims;
	char socket[108];
	int64_t next_look, next_beat, next_keep, next_due, next_notify; /* on clock_ms() */
	int64_t down_since, down_until, stop_at;
	bool down, stopping, ended; /* ended: the grace of SIGTERM is over */
};

/* Sockets of runners that are gone would collect for ever. */
static void
remove_stale_sockets(const char *run_dir)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct dirent *e;
	DIR *dir = opendir(run_dir);
	int fd;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, "runner-", 7) != 0 ||
		    (size_t)snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", run_dir, e->d_name) >=
			sizeof(to.sun_path))
			continue;
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 && errno == ECONNREFUSED)
			unlink(to.sun_path);
		if (fd >= 0)
			close(fd);
	}
	if (dir != NULL)
		closedir(dir);
}

static bool
open_socket(struct loop *l)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint32_t tail;

	remove_stale_sockets(l->r.conf->run_dir);
	random_bytes(&tail, sizeof(tail));
	if ((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s/runner-%d-%08x.sock", l->r.conf->run_dir,
		(int)getpid(), tail) >= sizeof(at.sun_path)) {
		log_text(LOG_LEVEL_ERROR, "jobs", "the path of run_dir is too long");
		return false;
	}
	l->r.wake = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->r.wake < 0 || bind(l->r.wake, (const struct sockaddr *)&at, sizeof(at)) != 0) {
		log_text(LOG_LEVEL_ERROR, "jobs", "cannot make %s: %s", at.sun_path, strerror(errno));
		return false;
	}
	snprintf(l->socket, sizeof(l->socket), "%s", at.sun_path);
	return true;
}

static void
open_signals(struct loop *l)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	l->r.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->r.signals < 0)
		abort();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool
is_idle(const struct runner *r)
{
	int i;

	for (i = 0; i < r->places; i++)
		if (r->children[i].kind != NULL)
			return false;
	return true;
}

/* What it said may be what the database does not take.  False: that was not it. */
static bool
drop_words(struct child *c)
{
	bool any = c->log.n > 0 || c->detail[0] != '\0';

	c->log.n = 0;
	c->detail[0] = '\0';
	return any;
}

static void
settle_children(struct loop *l)
{
	struct runner *r = &l->r;
	struct child *c;
	const char *state;
	int i;

	for (i = 0; i < r->places; i++) {
		c = &r->children[i];
		if (c->kind == NULL || c->verdict == 0)
			continue;
		state = settle(r->db, r->mem,
		    &(struct settlement){ .row = &c->row,
			.verdict = c->verdict,
			.reason = c->reason,
			.detail = c->detail[0] == '\0' ? NULL : c->detail,
			.log_tail = c->log.n > 0 ? c->log.text : NULL,
			.delay_ms = back_off(r->options, c->row.attempt),
			.cpu_ms = c->cpu_ms });
		if (db_failure(r->db) == DB_AGAIN || (db_failure(r->db) == DB_BROKEN && drop_words(c))) {
			db_forgive(r->db); /* the others, and claims, need not wait for it */
			continue;
		}
		if (db_failure(r->db) == DB_LOST)
			return;
		if (db_failure(r->db) == DB_BROKEN) {
			db_forgive(r->db);
			state = "not_settled"; /* lease_reap() has the row */
		}
		child_forget(r, c, state == NULL ? "settled_elsewhere" : state);
		l->next_due = 0;
	}
}

static void
keep_house(struct loop *l)
{
	lease_reap(&l->r);
	settle_waiting(l->r.db);
	claims_refuse(l->claims);
	presence_tell(&l->r, l->claims);
	if (!l->stopping && word_in(claims_kinds(l->claims), "sweep", strlen("sweep")))
		settle_sweep(l->r.db);
	if (!l->stopping && word_in(claims_kinds(l->claims), "livestream", strlen("livestream")))
		settle_livestreams(l->r.db, lease_may_judge_nodes(&l->r));
	if (!l->stopping && word_in(claims_kinds(l->claims), "scrub", strlen("scrub")))
		settle_scrub(l->r.db, l->r.conf);
	if (!l->stopping && word_in(claims_kinds(l->claims), "deliver", strlen("deliver")))
		settle_webhooks(l->r.db);
}

/* Delayed jobs become ready on time, not only at the next look.  True when some did. */
static bool
promote(struct loop *l, int64_t now)
{
	int64_t due, ready = settle_delayed(l->r.db);

	due = db_number(
	    l->r.db, "SELECT MIN(run_at) - " SQL_NOW " FROM jobs WHERE state = 'delayed'", NO_ARGS, INT32_MAX);
	l->next_due = now + (due < 1 ? 1 : due);
	return ready > 0;
}

/* Nothing that this or any runner could still do in the next minutes? */
static bool
drained(struct loop *l)
{
	if (!is_idle(&l->r))
		return false;
	return db_number(l->r.db,
		   "SELECT COUNT(*) FROM jobs WHERE (state = 'ready' OR (state = 'delayed' AND run_at < " SQL_NOW
		   " + ?)) AND FIND_IN_SET(kind, ?) > 0",
		   ARGS(INT(SOON_MS), STR(claims_kinds(l->claims))), 1) == 0 &&
	    db_number(l->r.db, "SELECT COUNT(*) FROM jobs WHERE state = 'running'", NO_ARGS, 1) == 0 &&
	    db_number(l->r.db,
		"SELECT COUNT(*) FROM jobs t WHERE t.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM job_waits w "
		"JOIN jobs j ON j.id = w.on_id WHERE w.job_id = t.id AND j.state NOT IN ('succeeded', 'failed', "
		"'cancelled'))", NO_ARGS, 1) == 0;
}

/* Who called has added something; when only a job of ours has ended, there is a place for what was there. */
static void
look_for_work(struct loop *l, int64_t now, bool called)
{
	bool anew = called || now >= l->next_look;

	l->next_look = now + (l->r.options->poll_ms ? l->r.options->poll_ms : POLL_MS);
	if (!l->stopping)
		claims_take(l->claims, anew);
	if (promote(l, now) && !l->stopping)
		claims_take(l->claims, true);
}

/* All that needs the database.  Its failure is looked at once, at the end. */
static void
work(struct loop *l, int64_t now, bool called, bool ended)
{
	struct runner *r = &l->r;
	bool look = called || ended || now >= l->next_look || now >= l->next_due;

	if (now < l->down_until)
		return;
	lease_contact(r, now);
	if (now >= l->next_beat) {
		lease_beat(r);
		l->next_beat =
		    now + (r->conf->job_lease * 1000 / 4 < BEAT_MAX ? r->conf->job_lease * 1000 / 4 : BEAT_MAX);
	}
	/* A server that does not answer costs seconds each time, and db_begin() would dial again and again. */
	if (db_failure(r->db) != DB_LOST)
		settle_children(l);
	if (db_failure(r->db) == DB_LOST)
		return;
	if (now >= l->next_keep) {
		keep_house(l);
		l->next_keep = now + (r->conf->job_lease * 500 < KEEP_MAX ? r->conf->job_lease * 500 : KEEP_MAX);
		look = true;
	}
	if (look) {
		look_for_work(l, now, called);
		if (called)
			lease_cancelled(r);
	}
	progress_flush(r, now);
}

static void
look_at_failure(struct loop *l, int64_t now)
{
	struct db *db = l->r.db;

	if (now < l->down_until)
		return;
	if (db_failure(db) == DB_LOST || db_failure(db) == DB_BROKEN) {
		if (!l->down)
			log_line(LOG_LEVEL_ERROR, "jobs",
			    LOG_TEXT("text", "the database is not there; running jobs go on"),
			    LOG_TEXT("error", db_error(db)));
		if (!l->down)
			l->down_since = now;
		l->down = true;
		l->down_until = now + 500;
		l->r.contact_since = now;
		if (db_failure(db) == DB_LOST)
			children_excuse(&l->r, clock_ms());
		l->next_beat = l->next_look = 0;
	} else if (l->down) {
		l->down = false;
		log_text(LOG_LEVEL_INFO, "jobs", "the database is back");
	}
	db_forgive(db);
}

static void
tell_lasting(const struct runner *r)
{
	int i;

	for (i = 0; i < r->places; i++)
		if (r->children[i].kind != NULL && r->children[i].kind->lasting && r->children[i].pid > 0)
			kill(r->children[i].pid, SIGTERM);
}

static bool
read_signals(struct loop *l, int64_t now)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(l->r.signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			ended = true;
			continue;
		}
		l->stop_at = l->stopping ? now : now + (int64_t)l->r.options->grace * 1000;
		if (!l->stopping) {
			listen_notify("STOPPING=1");
			log_text(LOG_LEVEL_INFO, "jobs", "stopping: no more claims, running jobs have %d s",
			    l->r.options->grace);
		}
		l->stopping = true;
		tell_lasting(&l->r);
	}
	if (ended)
		children_wait(&l->r);
	return ended;
}

/* After the grace, what still runs is ended and handed back.  True when all is done. */
static bool
stop(struct loop *l, int64_t now)
{
	struct runner *r = &l->r;
	int i;

	if (is_idle(r))
		return true;
	if (now < l->stop_at)
		return false;
	for (i = 0; i < r->places && !l->ended; i++)
		if (r->children[i].kind != NULL && r->children[i].verdict == 0)
			child_end(&r->children[i], ENDING_HAND_BACK);
	l->ended = true;
	/* Without a database the leases stay; the next runner here sees that we are gone. */
	return now >= l->stop_at + LAST_WORDS;
}

static void
sooner(int64_t *at, int64_t other)
{
	if (other < *at)
		*at = other;
}

static int
wait_ms(const struct loop *l, int64_t now)
{
	int64_t at = l->next_look;
	const struct child *c;
	int i;

	sooner(&at, l->next_beat);
	sooner(&at, l->next_keep);
	sooner(&at, l->next_due);
	sooner(&at, l->next_notify);
	for (i = 0; i < l->r.places; i++) {
		c = &l->r.children[i];
		if (c->kind == NULL)
			continue;
		if (c->verdict != 0)
			sooner(&at, now + 50);
		else if (c->pid == 0)
			sooner(&at, c->restart_at);
		else
			sooner(&at, progress_due(c));
		/* One that was ended is waited for: it may hang in the kernel. */
		if (c->verdict != 0 || (c->pid > 0 && c->ending != ENDING_NONE))
			continue;
		if (c->kill_at != 0)
			sooner(&at, c->kill_at);
		sooner(&at, c->seen + (int64_t)c->kind->kind->idle_seconds * 1000 + 1);
	}
	if (l->down && at < l->down_until)
		at = l->down_until;
	if (l->stopping && !l->ended)
		sooner(&at, l->stop_at);
	return at <= now ? 0 : at - now > 5000 ? 5000 : (int)(at - now);
}

/* Sleeps until something happens.  True when somebody has called for us. */
static bool
pause_loop(struct loop *l, int64_t now)
{
	struct pollfd fds[PLACES_MAX + 2] = { { l->r.wake, POLLIN, 0 }, { l->r.signals, POLLIN, 0 } };
	struct runner *r = &l->r;
	char byte[16];
	bool woken = false;
	int i, n = 2;

	for (i = 0; i < r->places; i++)
		if (r->children[i].kind != NULL && r->children[i].pipe > 0)
			fds[n++] = (struct pollfd){ r->children[i].pipe, POLLIN, 0 };
	if (poll(fds, (nfds_t)n, wait_ms(l, now)) < 0 && errno != EINTR)
		abort();
	for (i = 0; i < r->places; i++)
		child_read(r, &r->children[i]);
	while (recv(r->wake, byte, sizeof(byte), 0) >= 0)
		woken = true;
	return woken;
}

static void
notify_alive(struct loop *l, int64_t now)
{
	const char *interval = getenv("WATCHDOG_USEC");
	int64_t us = 0;

	l->next_notify = INT64_MAX;
	if (interval == NULL || !int_parse(interval, &us) || us < 1000)
		return;
	listen_notify("WATCHDOG=1");
	l->next_notify = now + us / 3000;
}

static int
loop(struct loop *l)
{
	bool called = true, ended;
	int64_t now;

	for (;;) {
		now = clock_ms();
		arena_reset(l->r.mem);
		db_use(l->r.db, l->r.mem);
		if (now >= l->next_notify)
			notify_alive(l, now);
		ended = read_signals(l, now);
		children_watch(&l->r, now);
		work(l, now, called, ended);
		look_at_failure(l, now);
		if (job_added())
			job_wake(l->r.conf->run_dir);
		if (l->stopping && stop(l, now))
			return 0;
		if (l->r.options->drain && l->down && now - l->down_since > DRAIN_DOWN &&
		    is_idle(&l->r))
			return 75;
		if (l->r.options->drain && !l->down && !l->stopping && drained(l))
			return 0;
		called = pause_loop(l, clock_ms());
	}
}

/*
 * How many jobs of a class run here at once.  Each has a place more, for who waits while one tenant has all of them:
 * see core/job.h.
 */
static void
set_slots(struct runner *r)
{
	int n = r->conf->job_slots > 0 ? (int)r->conf->job_slots : (int)sysconf(_SC_NPROCESSORS_ONLN);
	int i;

	if (n > SLOTS_MAX)
		n = SLOTS_MAX;
	r->slots[JOB_ENCODE] = n;
	r->slots[JOB_ANALYSE] = n / 2 > 0 ? n / 2 : 1;
	r->slots[JOB_QUICK] = n > 2 ? n : 2;
	r->slots[JOB_NETWORK] = NETWORK_SLOTS;
	r->slots[JOB_TRANSFER] = TRANSFER_SLOTS;
	r->slots[JOB_LIVE] = r->slots[JOB_QUICK];
	for (i = 0; i < JOB_CLASSES; i++)
		r->places += r->slots[i] + 1;
}

int
run_jobs(const struct conf *conf, const struct run_kind *kinds, size_t n, const struct run_options *options)
{
	struct loop *l = calloc(1, sizeof(*l));
	int status;

	if (l == NULL)
		abort();
	l->r.conf = conf;
	l->r.options = options;
	l->r.kinds = kinds;
	l->r.n_kinds = n;
	set_slots(&l->r);
	fault_memory_was_short();
	l->r.mem = arena_new((size_t)64 << 20);
	l->r.db = db_open(conf, DB_JOBS);
	l->claims = claims_open(&l->r);
	open_signals(l);
	if (!store_open(conf) || !scratch_open(conf) || !open_socket(l))
		return 71;
	srandom((unsigned)getpid() ^ (unsigned)clock_ms());
	log_line(LOG_LEVEL_INFO, "jobs", LOG_TEXT("text", "ready"), LOG_INT("slots", l->r.slots[JOB_ENCODE]),
	    LOG_TEXT("kinds", claims_kinds(l->claims)));
	listen_notify("READY=1");
	status = loop(l);
	unlink(l->socket);
	presence_end(&l->r);
	db_close(l->r.db);
	arena_free(l->r.mem);
	claims_close(l->claims);
	free(l);
	return status;
}
