/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runner: nothing that happens to a job, a runner or the database loses a job. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/scratch.h"
#include "tests/jobs/runners.h"
#include "tests/objects_peer.h"

static const struct job_place anywhere;

static const char *
code(struct runners *t, struct uuid id)
{
	return column(t, id, "COALESCE(JSON_VALUE(error, '$.code'), '')");
}

static void
two_hundred_jobs_are_each_run_once_by_four_competing_runners(void **state)
{
	struct runners *t = *state;
	struct uuid ids[200];
	int i;

	/* Eight are held, so that each of the four is there and has two places of its own. */
	for (i = 0; i < 200; i++)
		ids[i] = add(t, i < 8 ? "held" : "quick", arena_printf(t->mem, "n%03d", i), anywhere);
	t->options.drain = true;
	for (i = 0; i < 4; i++)
		runner_start(t);
	for (i = 0; i < 8; i++)
		wait_for(t, ids[i], "running");
	touch(t, "go");
	for (i = 0; i < 4; i++)
		assert_int_equal(runner_wait(t, i), 0);
	for (i = 0; i < 200; i++) {
		assert_string_equal(column(t, ids[i], "state"), "succeeded");
		assert_int_equal(results(t, ids[i]), 1);
		assert_int_equal(times(t, arena_printf(t->mem, " n%03d ", i)), 1);
	}
	assert_int_equal(db_number(t->db, "SELECT COUNT(DISTINCT runner) FROM jobs", NO_ARGS, 0), 4);
}

static void
a_worker_that_was_paused_past_its_lease_writes_nothing(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	pid_t child;
	int first;

	t->conf.job_lease = 2;
	id = add(t, "held", "h", anywhere);
	first = runner_start(t);
	child = (pid_t)number_in(t, "pid-h");
	kill(t->pids[first], SIGSTOP);
	kill(child, SIGSTOP);
	touch(t, "go");
	runner_start(t);
	wait_for(t, id, "succeeded");
	assert_string_equal(column(t, id, "fence"), "2");
	kill(child, SIGCONT);
	wait_for_end(child);
	kill(t->pids[first], SIGCONT);
	assert_string_equal(column(t, id, "state"), "succeeded");
	assert_int_equal(results(t, id), 1);
	assert_int_equal(db_number(t->db, "SELECT fence FROM test_results WHERE job_id = ?", ARGS(ID(id)), 0), 2);
}

static void
what_a_paused_worker_wrote_before_is_not_committed_past_its_lease(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	pid_t child;
	int first;

	t->conf.job_lease = 2;
	id = add(t, "early", "e", anywhere);
	first = runner_start(t);
	child = (pid_t)number_in(t, "pid-e");
	kill(t->pids[first], SIGSTOP);
	kill(child, SIGSTOP);
	touch(t, "go");
	runner_start(t);
	wait_for(t, id, "succeeded");
	assert_string_equal(column(t, id, "fence"), "2");
	kill(child, SIGCONT);
	wait_for_end(child);
	kill(t->pids[first], SIGCONT);
	assert_int_equal(results(t, id), 1);
}

static void
a_crash_is_retried_and_then_failed_with_its_reason(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "crash", "c", anywhere), other = add(t, "quick", "q", anywhere);

	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "failed");
	assert_string_equal(column(t, id, "attempt"), "3");
	assert_string_equal(code(t, id), "crashed");
	assert_string_equal(column(t, id, "JSON_VALUE(error, '$.retryable')"), "1");
	assert_int_equal(times(t, "crash c "), 3);
	assert_int_equal(results(t, id), 0);
	assert_non_null(strstr(column(t, id, "log_tail"), "about to crash in attempt 3"));
	assert_string_equal(column(t, other, "state"), "succeeded");
}

static void
a_hang_is_ended_with_all_its_programs_and_retried(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "hang", "h", anywhere);
	pid_t stray;

	runner_start(t);
	stray = (pid_t)number_in(t, "stray");
	wait_for(t, id, "failed");
	assert_string_equal(code(t, id), "no_progress"); /* it was done if the stray one had ended by itself */
	assert_int_equal(times(t, "hang h "), 2);
	assert_non_null(strstr(column(t, id, "log_tail"), "talking is no progress"));
	wait_for_end(stray);
}

/* 4 s to the bucket and 4 s back, of which 2 s may pass in silence. */
static void
bytes_that_are_long_on_their_way_to_the_store_and_back_are_signs_of_life(void **state)
{
	struct runners *t = *state;
	struct uuid id;

	runners_bucket(t);
	id = add(t, "keep", "slow", anywhere);
	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "succeeded");
	assert_int_equal(times(t, "keep slow "), 1);
	objects_peer_end();
}

static void
a_store_that_takes_no_more_bytes_is_no_sign_of_life(void **state)
{
	struct runners *t = *state;
	const struct objects_tally *tally = runners_bucket(t);
	struct uuid id = add(t, "keep", "silent", anywhere);

	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "failed");
	assert_string_equal(code(t, id), "no_progress");
	assert_int_equal(times(t, "keep silent "), 2);
	/* Who is given up by the store's own patience has asked again. */
	assert_in_range(tally->requests, 0, 2);
	objects_peer_end();
}

static void
a_long_line_of_a_log_is_cut_between_characters(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "chatty", NULL, anywhere);

	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "succeeded");
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_string_equal(column(t, id, "LENGTH(log_tail)"), "1000");
}

/* The socket goes, the connection of the runner stays. */
static void
what_alone_cannot_reach_the_database_at_its_end_is_not_called_idle(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "held", "h", anywhere);
	const char *real = t->conf.db_socket;

	t->conf.db_socket = arena_printf(t->mem, "%s/socket", t->dir);
	assert_int_equal(symlink(real, t->conf.db_socket), 0);
	runner_start(t);
	number_in(t, "pid-h");
	unlink(t->conf.db_socket);
	touch(t, "go");
	wait_until(t, id, "COALESCE(JSON_VALUE(error, '$.code'), '')", "machine_busy");
	assert_int_equal(symlink(real, t->conf.db_socket), 0);
	wait_for(t, id, "succeeded");
}

static void
a_slow_job_that_reports_progress_is_left_alone(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "slow", "8000", anywhere); /* twice its idle time */
	int i, seen = 0;

	runner_start(t);
	for (i = 0; i < 6000 && seen < 1; i++) {
		usleep(20000);
		seen = atoi(column(t, id, "progress"));
	}
	assert_in_range(seen, 1, 99);
	wait_for(t, id, "succeeded");
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_string_equal(column(t, id, "progress"), "100");
}

static void
attempts_are_further_and_further_apart(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "retry", "r", anywhere);
	const struct run_options options = { .poll_ms = 0 };
	int64_t ms, least = 5000;
	int i;

	t->options.back_off_ms = 200;
	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "failed");
	assert_string_equal(code(t, id), "engine_unavailable");
	assert_string_equal(column(t, id, "JSON_VALUE(error, '$.detail')"), "No answer in attempt 4.");
	assert_int_equal(times(t, "retry r "), 4);
	assert_true(strtoll(column(t, id, "finished_at - created_at"), NULL, 10) >= 150 + 300 + 600);
	assert_int_equal(results(t, id), 0);
	for (i = 0; i < 1000; i++) {
		ms = back_off(&options, 3);
		assert_in_range(ms, 15000, 25000);
		least = ms < least || i == 0 ? ms : least;
		assert_in_range(back_off(&options, 60), 675000, 1125000);
	}
	assert_true(least < 17000);
}

static void
a_job_that_gives_up_is_not_tried_again(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "refuse", "f", anywhere);

	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "failed");
	assert_string_equal(code(t, id), "unknown_format");
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_string_equal(column(t, id, "JSON_VALID(error)"), "1");
	assert_non_null(strstr(column(t, id, "JSON_VALUE(error, '$.detail')"), " odd"));
}

static void
a_job_that_needs_too_much_memory_fails_with_that_reason(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "memory", "m", anywhere);

	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "failed");
	assert_string_equal(code(t, id), "memory_limit");
	assert_int_equal(times(t, "memory m "), 2);
}

static void
jobs_wait_for_those_they_depend_on(void **state)
{
	struct runners *t = *state;
	struct uuid a, b, c, late;

	a = add(t, "slow", "300", anywhere);
	b = add(t, "quick", "b", PLACE(.waits = WAITS({ a, true })));
	c = add(t, "quick", "c", PLACE(.waits = WAITS({ a, true }, { b, false })));
	late = add(t, "quick", "late", PLACE(.waits = WAITS({ c, true }), .delay_ms = 1500));
	assert_string_equal(column(t, b, "state"), "waiting");
	runner_drain(t);
	assert_string_equal(column(t, late, "state"), "succeeded");
	assert_string_equal(journal(t), "slow 300 1\nquick b 1\nquick c 1\nquick late 1\n");
	assert_true(strtoll(column(t, late, "started_at - created_at"), NULL, 10) >= 1500);
	assert_string_equal(column(t, add(t, "quick", "x", PLACE(.waits = WAITS({ c, true }))), "state"), "ready");
}

static void
what_needs_a_failed_job_fails_all_the_way_down_and_the_rest_runs(void **state)
{
	struct runners *t = *state;
	struct uuid bad, needs, needs_that, copes;

	bad = add(t, "refuse", "bad", anywhere);
	needs = add(t, "quick", "needs", PLACE(.waits = WAITS({ bad, true })));
	needs_that = add(t, "quick", "below", PLACE(.waits = WAITS({ needs, true })));
	copes = add(t, "quick", "copes", PLACE(.waits = WAITS({ bad, false }, { needs_that, false })));
	runner_drain(t);
	assert_string_equal(column(t, needs, "state"), "failed");
	assert_string_equal(code(t, needs), "dependency_failed");
	assert_string_equal(code(t, needs_that), "dependency_failed");
	assert_string_equal(column(t, copes, "state"), "succeeded");
	assert_string_equal(journal(t), "refuse bad 1\nquick copes 1\n");
}

static void
a_retried_job_takes_those_along_that_failed_because_of_it(void **state)
{
	struct runners *t = *state;
	struct uuid bad, needs, below;

	bad = add(t, "refuse", "bad", anywhere);
	needs = add(t, "quick", "needs", PLACE(.waits = WAITS({ bad, true })));
	below = add(t, "quick", "below", PLACE(.waits = WAITS({ needs, true })));
	runner_drain(t);
	db_run(t->db, "UPDATE jobs SET kind = 'quick' WHERE id = ?", ARGS(ID(bad)));
	db_begin(t->db);
	assert_true(job_restart(t->db, bad));
	assert_true(db_commit(t->db));
	assert_string_equal(column(t, bad, "state"), "ready");
	assert_string_equal(column(t, bad, "attempt"), "0");
	assert_string_equal(column(t, below, "state"), "waiting");
	runner_drain(t);
	assert_string_equal(column(t, below, "state"), "succeeded");
	assert_false(job_restart(t->db, bad));
}

static void
a_stopped_runner_lets_jobs_finish_in_the_time_of_grace(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "held", "h", anywhere), next;
	int n;

	t->options.grace = 300;
	n = runner_start(t);
	number_in(t, "pid-h");
	kill(t->pids[n], SIGTERM);
	wait_for_log(t, "stopping: no more claims");
	next = add(t, "quick", "next", anywhere);
	job_wake(t->conf.run_dir);
	touch(t, "go");
	assert_int_equal(runner_wait(t, n), 0);
	assert_string_equal(column(t, id, "state"), "succeeded");
	assert_string_equal(column(t, next, "state"), "ready");
}

static void
what_runs_as_long_as_the_runner_is_told_when_that_ends(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "lasting", "l", anywhere);
	int n = runner_start(t);

	number_in(t, "pid-l");
	wait_for(t, id, "running");
	kill(t->pids[n], SIGTERM);
	assert_int_equal(runner_wait(t, n), 0);
	assert_string_equal(column(t, id, "state"), "succeeded"); /* not handed back after the time of grace */
}

static void
a_stopped_runner_hands_back_what_is_not_finished(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "slow", "20000", anywhere);
	pid_t child;
	int n;

	t->options.grace = 0;
	n = runner_start(t);
	child = (pid_t)number_in(t, "pid-20000");
	wait_for(t, id, "running");
	kill(t->pids[n], SIGTERM);
	assert_int_equal(runner_wait(t, n), 0);
	assert_false(alive(child));
	assert_string_equal(column(t, id, "state"), "ready");
	assert_string_equal(column(t, id, "attempt"), "0");
	assert_int_equal(rmdir(scratch_here(t->mem)), 0); /* its scratch is gone */
}

static void
the_jobs_of_a_killed_runner_are_taken_over_at_once_on_the_same_machine(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "held", "h", anywhere);
	pid_t child;
	int n;

	t->conf.job_lease = 24 * 3600;
	n = runner_start(t);
	child = (pid_t)number_in(t, "pid-h");
	kill(t->pids[n], SIGKILL);
	assert_int_equal(runner_wait(t, n), -SIGKILL);
	wait_for_end(child);
	assert_string_equal(column(t, id, "state"), "running");
	touch(t, "go");
	runner_start(t);
	wait_for(t, id, "succeeded"); /* the lease is a day */
	assert_string_equal(column(t, id, "fence"), "2");
	assert_int_equal(results(t, id), 1);
}

static void
the_lease_of_a_runner_elsewhere_is_left_alone_until_it_ends(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "quick", "q", anywhere), worn = add(t, "quick", "worn", anywhere);
	int64_t until;

	t->conf.job_lease = 2;
	db_run(t->db,
	    "UPDATE jobs SET state = 'running', fence = IF(id = ?, 8, 3), attempt = IF(id = ?, 3, 1), runner = "
	    "'elsewhere/1/2/3', lease_until = " SQL_NOW " + 5000",
	    ARGS(ID(worn), ID(worn)));
	until = strtoll(column(t, id, "lease_until"), NULL, 10);
	runner_start(t);
	wait_for(t, id, "succeeded");
	assert_true(strtoll(column(t, id, "started_at"), NULL, 10) >= until);
	assert_string_equal(column(t, id, "attempt"), "1"); /* the death of a runner is not its fault */
	assert_string_equal(column(t, id, "fence"), "4");
	wait_for(t, worn, "failed"); /* unless it goes on and on */
	assert_string_equal(code(t, worn), "lease_lost");
}

static void
cancelling_ends_what_waits_at_once_and_what_runs_soon(void **state)
{
	struct runners *t = *state;
	struct uuid running, queued, needs, copes;
	pid_t child;

	t->conf.job_slots = 1;
	running = add(t, "slow", "20000", anywhere);
	queued = add(t, "quick", "q", anywhere);
	needs = add(t, "quick", "needs", PLACE(.waits = WAITS({ running, true })));
	copes = add(t, "quick", "copes", PLACE(.waits = WAITS({ running, false })));
	runner_start(t);
	child = (pid_t)number_in(t, "pid-20000");
	wait_for(t, running, "running");
	db_begin(t->db);
	assert_true(job_cancel(t->db, queued));
	assert_true(job_cancel(t->db, running));
	assert_true(db_commit(t->db));
	assert_true(job_added());
	job_wake(t->conf.run_dir);
	assert_string_equal(column(t, queued, "state"), "cancelled");
	wait_for(t, running, "cancelled");
	assert_string_equal(code(t, running), "cancelled");
	assert_false(alive(child));
	assert_false(job_cancel(t->db, running));
	wait_for(t, copes, "succeeded");
	assert_string_equal(code(t, needs), "dependency_failed");
	assert_int_equal(times(t, "quick q"), 0);
}

static void
draining_does_what_is_there_and_what_is_soon_due_and_ends(void **state)
{
	struct runners *t = *state;
	struct uuid soon, later, blocked;

	soon = add(t, "quick", "soon", PLACE(.delay_ms = 1200));
	later = add(t, "quick", "later", PLACE(.delay_ms = 24 * 3600 * 1000));
	blocked = add(t, "quick", "blocked", PLACE(.waits = WAITS({ later, true })));
	runner_drain(t);
	assert_string_equal(column(t, soon, "state"), "succeeded");
	assert_string_equal(column(t, later, "state"), "delayed");
	assert_string_equal(column(t, blocked, "state"), "waiting");
}

static void
a_wake_up_starts_a_job_long_before_the_next_look(void **state)
{
	struct runners *t = *state;
	struct uuid id;

	t->options.poll_ms = 24 * 3600 * 1000;
	runner_start(t);
	wait_for(t, add(t, "quick", "warm", anywhere), "succeeded");
	usleep(300000);
	id = add(t, "quick", "q", anywhere);
	job_wake(t->conf.run_dir);
	wait_for(t, id, "succeeded");
}

static void
without_a_wake_up_the_next_look_finds_the_job(void **state)
{
	struct runners *t = *state;
	struct uuid id;

	runner_start(t);
	sleep(1);
	id = add(t, "quick", "q", anywhere);
	wait_for(t, id, "succeeded");
}

static void
waking_nobody_neither_blocks_nor_fails(void **state)
{
	struct runners *t = *state;
	int i, n = runner_start(t);

	wait_for(t, add(t, "quick", "q", anywhere), "succeeded");
	kill(t->pids[n], SIGSTOP);
	for (i = 0; i < 2000; i++) /* more than its queue holds */
		job_wake(t->conf.run_dir);
	kill(t->pids[n], SIGKILL);
	runner_wait(t, n);
	job_wake(t->conf.run_dir);
	job_wake("/nowhere");
}

static void
a_job_outlives_a_lost_database(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	int n;

	t->conf.job_lease = 5;
	proxy_start(t);
	id = add(t, "held", "h", anywhere);
	n = runner_start(t);
	number_in(t, "pid-h");
	proxy_cut(t);
	wait_for_log(t, "the database is not there");
	touch(t, "go");
	sleep(3);
	assert_string_equal(column(t, id, "state"), "running");
	proxy_start(t);
	wait_for(t, id, "succeeded");
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_int_equal(times(t, "held h"), 1);
	assert_int_equal(results(t, id), 1);
	wait_for(t, add(t, "quick", "after", anywhere), "succeeded");
	kill(t->pids[n], SIGTERM);
	assert_int_equal(runner_wait(t, n), 0);
}

/* Longer than a child may be silent. */
static void
what_ends_during_an_outage_waits_for_its_end(void **state)
{
	struct runners *t = *state;
	struct uuid id;

	proxy_start(t);
	id = add(t, "held", "h", anywhere);
	runner_start(t);
	number_in(t, "pid-h");
	proxy_cut(t);
	touch(t, "go");
	sleep(6);
	assert_string_equal(column(t, id, "state"), "running");
	proxy_start(t);
	wait_for(t, id, "succeeded");
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_int_equal(times(t, "held h"), 1);
	assert_int_equal(results(t, id), 1);
}

/* The one that holds the job needs longer to come back than the other one. */
static void
after_an_outage_nobody_is_taken_for_dead_before_a_lease_is_over(void **state)
{
	struct runners *t = *state;
	struct uuid id;
	int first, i;

	t->conf.job_lease = 10;
	proxy_start(t);
	id = add(t, "held", "h", anywhere);
	first = runner_start(t);
	number_in(t, "pid-h");
	runner_start(t);
	sleep(11); /* from then on it may judge others */
	kill(t->pids[first], SIGSTOP);
	proxy_cut(t);
	wait_for_log(t, "the database is not there");
	db_run(t->db, "UPDATE jobs SET lease_until = 1", NO_ARGS);
	db_run(t->db, "UPDATE runners SET seen_at = 1", NO_ARGS);
	proxy_start(t);
	wait_for_log(t, "the database is back");
	/* When it says that it lives it has also looked for the dead. */
	for (i = 0; i < 12000 && db_number(t->db, "SELECT MAX(seen_at) FROM runners", NO_ARGS, 1) == 1; i++)
		usleep(10000);
	kill(t->pids[first], SIGCONT);
	wait_until(t, id, "lease_until > 1", "1");
	touch(t, "go");
	wait_for(t, id, "succeeded");
	assert_string_equal(column(t, id, "attempt"), "1");
	assert_string_equal(column(t, id, "fence"), "1");
	assert_int_equal(times(t, "held h"), 1);
}

static void
a_closing_transaction_cut_before_commit_is_made_again_without_the_work(void **state)
{
	struct runners *t = *state;
	struct uuid id;

	proxy_start(t);
	id = add(t, "gate", "g", anywhere);
	runner_start(t);
	number_in(t, "closing");
	proxy_cut(t);
	touch(t, "go");
	sleep(1);
	assert_int_equal(results(t, id), 0);
	proxy_start(t);
	wait_for(t, id, "succeeded");
	assert_int_equal(times(t, "gate g"), 1);
	assert_int_equal(results(t, id), 1);
}

static void
killed_connections_lose_no_job(void **state)
{
	struct runners *t = *state;
	struct uuid ids[30];
	int i, k;

	t->conf.job_slots = 4;
	for (i = 0; i < 30; i++)
		ids[i] = add(t, i % 2 ? "quick" : "slow", arena_printf(t->mem, "%d", 100 + i), anywhere);
	runner_start(t);
	runner_start(t);
	for (k = 0; k < 15; k++) {
		int64_t id = 0;

		usleep(150000);
		while ((id = db_number(t->db,
			    "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() "
			    "AND id > ? AND db = DATABASE() ORDER BY id LIMIT 1",
			    ARGS(INT(id)), 0)) != 0) {
			db_run(t->db, "KILL CONNECTION ?", ARGS(INT(id)));
			db_forgive(t->db); /* it may have ended by itself */
		}
	}
	for (i = 0; i < 30; i++) {
		wait_for(t, ids[i], "succeeded");
		assert_int_equal(results(t, ids[i]), 1);
		assert_string_equal(column(t, ids[i], "attempt"), "1");
	}
}

static void
without_a_sandbox_decoders_wait_for_another_machine_and_then_fail_with_the_reason(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "decode", "d", anywhere), plain = add(t, "quick", "q", anywhere);
	int n;

	t->options.no_sandbox = "a program could read /etc/passwd";
	n = runner_start(t);
	wait_for(t, plain, "succeeded");
	wait_until(t, id, "COALESCE(JSON_VALUE(error, '$.code'), '')", "sandbox_unavailable");
	assert_string_equal(column(t, id, "state"), "ready");
	/* Its row says so, as long as it runs. */
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM runners WHERE no_sandbox = 'a program could read "
	    "/etc/passwd' AND FIND_IN_SET('quick', kinds) > 0 AND FIND_IN_SET('decode', kinds) = 0", NO_ARGS, 0), 1);
	kill(t->pids[n], SIGTERM);
	runner_wait(t, n);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM runners WHERE no_sandbox IS NOT NULL", NO_ARGS,
	    1), 0);
	t->options.sandbox_ms = 100;
	runner_start(t);
	wait_for(t, id, "failed");
	assert_string_equal(code(t, id), "sandbox_unavailable");
	assert_int_equal(times(t, "decode"), 0);
}

static const char *
fine_again(const struct conf *conf)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/fine", conf->run_dir);
	return access(path, F_OK) == 0 ? NULL : "the probe fails";
}

static void
a_machine_that_can_isolate_after_all_takes_the_jobs_of_decoders(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "decode", "d", anywhere);

	t->conf.job_lease = 2;
	t->options.no_sandbox = "the probe failed";
	t->options.ask_again = fine_again;
	t->options.ask_ms = 200;
	runner_start(t);
	sleep(1);
	assert_string_equal(column(t, id, "state"), "ready");
	touch(t, "fine");
	wait_for(t, id, "succeeded");
}

static void
without_room_on_the_disk_a_job_waits_and_its_attempts_do_not_count(void **state)
{
	struct runners *t = *state;
	struct uuid id = add(t, "decode", "d", anywhere);
	int n;

	t->conf.free_space = INT64_C(1) << 50;
	n = runner_start(t);
	wait_for(t, id, "delayed");
	assert_string_equal(code(t, id), "no_space");
	assert_string_equal(column(t, id, "attempt"), "0");
	assert_int_equal(times(t, "decode"), 0);
	kill(t->pids[n], SIGTERM);
	runner_wait(t, n);
	t->conf.free_space = 0;
	db_run(t->db, "UPDATE jobs SET run_at = 0 WHERE id = ?", ARGS(ID(id)));
	runner_drain(t);
	assert_string_equal(column(t, id, "state"), "succeeded");
}

/* What becomes of a job whose attempt found no room at last, after so much work. */
static struct uuid
ends_without_room(struct runners *t, int64_t cpu_ms)
{
	struct uuid id = add(t, "decode", "d", anywhere);

	db_run(t->db, "UPDATE jobs SET state = 'running', attempt = 1, fence = 1 WHERE id = ?", ARGS(ID(id)));
	settle(t->db, t->mem,
	    &(struct settlement){ .row = db_row(t->db, &claimed_record, "FROM jobs t WHERE t.id = ?", ARGS(ID(id))),
		.verdict = AGAIN,
		.reason = REASON_NO_SPACE,
		.delay_ms = 50,
		.cpu_ms = cpu_ms });
	return id;
}

static void
an_attempt_that_found_room_and_took_it_all_counts(void **state)
{
	struct runners *t = *state;
	struct uuid poor = ends_without_room(t, 300), greedy = ends_without_room(t, 600000);

	assert_string_equal(column(t, poor, "attempt"), "0");
	assert_string_equal(column(t, greedy, "attempt"), "1");
	assert_string_equal(column(t, greedy, "state"), "delayed");
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM jobs WHERE run_at > " SQL_NOW " + 50000", NO_ARGS, 0),
	    2);
}

static void
a_runner_takes_only_the_kinds_it_is_told(void **state)
{
	struct runners *t = *state;
	struct uuid quick = add(t, "quick", "q", anywhere), slow = add(t, "slow", "20", anywhere);

	t->conf.job_kinds = "slow, hang";
	runner_drain(t);
	assert_string_equal(column(t, slow, "state"), "succeeded");
	assert_string_equal(column(t, quick, "state"), "ready");
}

static void
clients_see_the_steps_of_an_ingest_move(void **state)
{
	struct runners *t = *state;
	struct uuid media = world_media(t->world, "video", "Cat"), id = uuid_new();
	const char *path = arena_printf(t->mem, "/v2/media/%s", uuid_text(t->mem, media));
	struct job_place place = { .tenant_id = t->world->tenant_id, .media_id = media, .ingest_id = id, .id = id };
	struct req *r;
	int i;

	add(t, "slow", "8000", place);
	db_run(t->db, "UPDATE media SET ingest_job_id = ? WHERE id = ?", ARGS(ID(id), ID(media)));
	runner_start(t);
	for (i = 0; i < 6000; i++) {
		r = call(t->world, "GET", path, NULL);
		assert_int_equal(r->status, 200);
		if (text(t->world, r, "data.ingestJob.progress") != NULL &&
		    atoi(text(t->world, r, "data.ingestJob.progress")) >= 1)
			break;
		usleep(20000);
	}
	assert_string_equal(text(t->world, r, "data.ingestJob.status"), "running");
	assert_in_range(atoi(text(t->world, r, "data.ingestJob.progress")), 1, 99);
	wait_for(t, id, "succeeded");
	r = call(t->world, "GET", path, NULL);
	assert_string_equal(text(t->world, r, "data.ingestJob.status"), "succeeded");
	assert_string_equal(text(t->world, r, "data.ingestJob.progress"), "100");
}

static int64_t
revision(struct runners *t, struct uuid media)
{
	return db_number(t->db, "SELECT revision FROM media WHERE id = ?", ARGS(ID(media)), -1);
}

/* An ingest of the asset whose steps are `n` jobs of a kind; the first is its root. */
static void
ingest_of(struct runners *t, struct uuid media, const char *kind, const char *note, struct uuid *ids, int n)
{
	struct job_place place = { .tenant_id = t->world->tenant_id, .media_id = media, .ingest_id = uuid_new() };
	int i;

	for (i = 0; i < n; i++) {
		place.id = i == 0 ? place.ingest_id : (struct uuid){ { 0 } };
		ids[i] = add(t, kind, note, place);
	}
	db_run(t->db, "UPDATE media SET ingest_job_id = ? WHERE id = ?", ARGS(ID(ids[0]), ID(media)));
}

static void
mere_progress_reaches_the_asset_every_two_seconds_at_most(void **state)
{
	struct runners *t = *state;
	struct uuid media = world_media(t->world, "video", "Cat"), ids[4];
	int64_t before, moved = 0, last = 0, is, start = clock_ms();
	int i;

	ingest_of(t, media, "slow", "3000", ids, 4);
	before = revision(t, media);
	for (i = 0; i < 200; i++) {
		db_run(t->db, "UPDATE jobs SET progress = ? WHERE id = ?", ARGS(INT(i / 2), ID(ids[0])));
		db_begin(t->db);
		asset_progress(t->db, media);
		assert_true(db_commit(t->db));
	}
	assert_in_range(revision(t, media) - before, 1, 1 + (clock_ms() - start) / 2000);

	/* Four steps at once in two runners: each begins and ends, and the row of each job moves all the time. */
	before = revision(t, media);
	start = clock_ms();
	runner_start(t);
	runner_start(t);
	for (i = 0; i < 4; i++)
		wait_for(t, ids[i], "running");
	while (strcmp(column(t, ids[3], "state"), "running") == 0) {
		is = atoi(column(t, ids[3], "progress"));
		moved += is != last;
		last = is;
		usleep(20000);
	}
	for (i = 0; i < 4; i++)
		wait_for(t, ids[i], "succeeded");
	assert_in_range(moved, 3, 2 + (clock_ms() - start) / 500);
	assert_in_range(revision(t, media) - before, 8, 8 + 1 + (clock_ms() - start) / 2000);
}

/* "transcribe" failed for good: seen as a warning, and among the transcripts, until it is tried again. */
static void
an_optional_step_that_failed_is_a_warning_until_it_is_tried_again(void **state)
{
	struct runners *t = *state;
	struct world *w = t->world;
	struct uuid media = world_media(w, "video", "Cat"), root = uuid_new(), speech;
	const char *path = arena_printf(t->mem, "/v2/media/%s", uuid_text(t->mem, media));
	const char *list = arena_printf(t->mem, "%s/metadata/transcripts", path);
	struct job_place place = { .tenant_id = w->tenant_id, .media_id = media, .ingest_id = root, .id = root };
	struct req *r;

	db_begin(t->db);
	job_add(t->db, publish, place, .media_id = media, .generation = "g1");
	place.id = (struct uuid){ { 0 } };
	speech = job_add(t->db, transcribe, place, .media_id = media, .generation = "g1", .language_code = "en");
	db_run(t->db, "UPDATE jobs SET state = IF(kind = 'publish', 'succeeded', 'failed'), started_at = 1, "
	    "finished_at = 2, error = IF(kind = 'publish', NULL, ?) WHERE media_id = ?", ARGS(STR(job_error(t->mem,
	    REASON_LANGUAGE_UNAVAILABLE, "Not known.")), ID(media)));
	db_run(t->db, "UPDATE media SET ingest_job_id = ?, generation = ? WHERE id = ?", ARGS(ID(root),
	    STR(uuid_text(t->mem, root)), ID(media)));
	asset_summarise(t->db, media, SUM_INGEST);
	assert_true(db_commit(t->db));

	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.ingestJob.status"), "succeeded");
	assert_null(text(w, r, "data.ingestJob.error"));
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.step"), "transcript");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.code"), "language_unavailable");
	assert_string_equal(text(w, r, "data.ingestJob.warnings.0.detail"), "Not known.");
	assert_non_null(text(w, r, "data.ingestJob.warnings.0.remedy"));
	assert_null(text(w, r, "data.ingestJob.warnings.1.step"));
	assert_string_equal(text(w, call(w, "GET", arena_printf(t->mem, "%s/metadata", path), NULL), "data.status"),
	    "completed");
	r = call(w, "GET", list, NULL);
	assert_string_equal(text(w, r, "data.0.status"), "failed");
	assert_string_equal(text(w, r, "data.0.languageCode"), "en");
	assert_string_equal(text(w, r, "data.0.error.code"), "language_unavailable");
	assert_null(text(w, r, "data.1.status"));

	r = call(w, "PUT", arena_printf(t->mem, "/v2/jobs/%s/retry", uuid_text(t->mem, speech)), NULL);
	assert_int_equal(r->status, 200);
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.ingestJob.warnings"), "[ ]");
	assert_string_equal(text(w, r, "data.ingestJob.status"), "running");
	assert_string_equal(text(w, call(w, "GET", list, NULL), "data"), "[ ]");
	assert_string_equal(text(w, call(w, "GET", arena_printf(t->mem, "%s/metadata", path), NULL), "data.status"),
	    "running");
}

/* What the closing transaction of a step does, on a connection of its own. */
static pid_t
end_step(struct runners *t, struct uuid media, struct uuid id)
{
	pid_t pid = fork();
	struct db *db;

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	db_abandon(t->db);
	db = db_open(&t->conf, DB_JOBS);
	db_use(db, t->mem);
	db_begin(db);
	db_run(db, "UPDATE jobs SET state = 'succeeded', finished_at = 2 WHERE id = ?", ARGS(ID(id)));
	asset_summarise(db, media, SUM_INGEST);
	_exit(db_commit(db) ? 0 : 1);
}

static void
of_two_steps_that_end_at_the_same_moment_the_second_sums_up_both(void **state)
{
	struct runners *t = *state;
	struct uuid media = world_media(t->world, "video", "Cat"), ids[2] = { uuid_new() };
	struct job_place place = { .tenant_id = t->world->tenant_id, .media_id = media, .ingest_id = ids[0],
	    .id = ids[0] };
	int i, waiting = 0;

	add(t, "quick", "a", place);
	place.id = (struct uuid){ { 0 } };
	ids[1] = add(t, "quick", "b", place);
	db_run(t->db, "UPDATE jobs SET state = 'running', started_at = 1", NO_ARGS);
	db_run(t->db, "UPDATE media SET ingest_job_id = ? WHERE id = ?", ARGS(ID(ids[0]), ID(media)));
	/* Both come as far as they can before either may write. */
	db_begin(t->db);
	db_number(t->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(media)), 0);
	for (i = 0; i < 2; i++)
		t->pids[t->n++] = end_step(t, media, ids[i]);
	for (i = 0; i < 800 && waiting < 2; i++) {
		usleep(150000);
		waiting = world_waits(t->db);
	}
	assert_int_equal(waiting, 2);
	assert_true(db_commit(t->db));
	for (i = 0; i < 2; i++)
		assert_int_equal(runner_wait(t, i), 0);
	assert_int_equal(db_number(t->db, "SELECT COUNT(*) FROM media WHERE id = ? AND ingest_status = 'succeeded' "
	    "AND JSON_VALUE(ingest, '$.progress') = '100'", ARGS(ID(media)), 0), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runners_setup, runners_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_hundred_jobs_are_each_run_once_by_four_competing_runners),
		TEST(a_worker_that_was_paused_past_its_lease_writes_nothing),
		TEST(what_a_paused_worker_wrote_before_is_not_committed_past_its_lease),
		TEST(a_crash_is_retried_and_then_failed_with_its_reason),
		TEST(a_hang_is_ended_with_all_its_programs_and_retried),
		TEST(bytes_that_are_long_on_their_way_to_the_store_and_back_are_signs_of_life),
		TEST(a_store_that_takes_no_more_bytes_is_no_sign_of_life),
		TEST(a_long_line_of_a_log_is_cut_between_characters),
		TEST(what_alone_cannot_reach_the_database_at_its_end_is_not_called_idle),
		TEST(a_slow_job_that_reports_progress_is_left_alone),
		TEST(attempts_are_further_and_further_apart),
		TEST(a_job_that_gives_up_is_not_tried_again),
		TEST(a_job_that_needs_too_much_memory_fails_with_that_reason),
		TEST(jobs_wait_for_those_they_depend_on),
		TEST(what_needs_a_failed_job_fails_all_the_way_down_and_the_rest_runs),
		TEST(a_retried_job_takes_those_along_that_failed_because_of_it),
		TEST(a_stopped_runner_lets_jobs_finish_in_the_time_of_grace),
		TEST(what_runs_as_long_as_the_runner_is_told_when_that_ends),
		TEST(a_stopped_runner_hands_back_what_is_not_finished),
		TEST(the_jobs_of_a_killed_runner_are_taken_over_at_once_on_the_same_machine),
		TEST(the_lease_of_a_runner_elsewhere_is_left_alone_until_it_ends),
		TEST(cancelling_ends_what_waits_at_once_and_what_runs_soon),
		TEST(draining_does_what_is_there_and_what_is_soon_due_and_ends),
		TEST(a_wake_up_starts_a_job_long_before_the_next_look),
		TEST(without_a_wake_up_the_next_look_finds_the_job),
		TEST(waking_nobody_neither_blocks_nor_fails),
		TEST(a_job_outlives_a_lost_database),
		TEST(what_ends_during_an_outage_waits_for_its_end),
		TEST(after_an_outage_nobody_is_taken_for_dead_before_a_lease_is_over),
		TEST(a_closing_transaction_cut_before_commit_is_made_again_without_the_work),
		TEST(killed_connections_lose_no_job),
		TEST(without_a_sandbox_decoders_wait_for_another_machine_and_then_fail_with_the_reason),
		TEST(a_machine_that_can_isolate_after_all_takes_the_jobs_of_decoders),
		TEST(without_room_on_the_disk_a_job_waits_and_its_attempts_do_not_count),
		TEST(an_attempt_that_found_room_and_took_it_all_counts),
		TEST(a_runner_takes_only_the_kinds_it_is_told),
		TEST(clients_see_the_steps_of_an_ingest_move),
		TEST(mere_progress_reaches_the_asset_every_two_seconds_at_most),
		TEST(an_optional_step_that_failed_is_a_warning_until_it_is_tried_again),
		TEST(of_two_steps_that_end_at_the_same_moment_the_second_sums_up_both),
	};

	cmocka_set_test_filter(getenv("TEST_FILTER"));
	return cmocka_run_group_tests(tests, world_open, world_close);
}
