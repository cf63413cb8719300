/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each event is sent once, whoever dies meanwhile, and what is written at a time has a bound. */
#include <sys/wait.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/jobs/receivers.h"

/* Of many webhooks that are to be stopped, some at a time: who is sent to waits for none of it. */
static void
what_waits_for_webhooks_that_are_gone_ends(void **state)
{
	struct world *w = *state;

	silent_hooks(w, 100, 20);
	db_run(w->db, "DELETE FROM webhooks WHERE tenant_id = ? LIMIT 50", ARGS(ID(w->tenant_id)));
	db_run(w->db, "UPDATE webhooks SET is_active = 0 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	deliver_due(w);
	assert_int_equal(ears->silent, 0);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'waiting'", NO_ARGS), 0);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'failed'", NO_ARGS), 1000);
	assert_int_equal(number(w, "FROM webhook_deliveries", NO_ARGS), 1000);
}

static void
what_a_dead_runner_had_is_sent_again_with_the_same_id(void **state)
{
	struct world *w = *state;

	hook(w, w->token, "/ok", NULL);
	rename_cat(w);
	deliver_due(w);
	db_run(w->db, "UPDATE webhook_deliveries SET status = 'sending', next_attempt_at = " SQL_NOW
	    " + 600000 WHERE event <> 'ping'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(times_heard("/ok"), 1);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'sending'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(times_heard("/ok"), 2);
	assert_string_equal(heard("/ok", 0)->id, heard("/ok", 1)->id);
	assert_string_equal(delivery(w, "attempt"), "2");
}

/* What is told again, since nobody noted that it was, is in the log already. */
static void
events_that_are_read_again_are_sent_once(void **state)
{
	struct world *w = *state;
	int64_t settled = db_number(w->db, "SELECT settled FROM webhook_progress", NO_ARGS, 0);

	hook(w, w->token, "/ok", NULL);
	rename_cat(w);
	deliver_due(w);
	db_run(w->db, "UPDATE webhook_progress SET settled = ?", ARGS(INT(settled)));
	deliver_due(w);
	assert_int_equal(times_heard("/ok"), 1);
}

/* More rows than are written at a time. */
static void
each_of_many_events_is_sent_to_each_of_many_webhooks(void **state)
{
	struct world *w = *state;
	int i;

	silent_hooks(w, 150, 0);
	db_run(w->db, "UPDATE webhooks SET url = ?, events = '[\"media.updated\"]' WHERE tenant_id = ?",
	    ARGS(STR(arena_printf(w->mem, "http://127.0.0.1:%d/each", receiver_port)), ID(w->tenant_id)));
	for (i = 0; i < 20; i++)
		rename_cat(w);
	deliver_due(w);
	assert_int_equal(ears->n, 3000);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'succeeded' AND attempt = 1", NO_ARGS),
	    3000);
	assert_int_equal(number(w, "FROM webhook_progress p JOIN (SELECT MAX(id) AS id FROM events) e ON p.settled <> "
	    "e.id", NO_ARGS), 0);
}

/* Or it would be read again by each job to come, and sent again when the log has forgotten it. */
static void
what_was_read_is_settled_though_a_number_before_it_never_comes(void **state)
{
	struct world *w = *state;
	int64_t last, end = clock_ms() + 300000;
	struct fan *f = fan_open();
	bool more;

	hook(w, w->token, "/ok", NULL);
	db_begin(w->db);
	event_add(w->db, &(struct event_new){ .tenant_id = w->tenant_id, .media_id = cat, .type = "media.updated" });
	db_rollback(w->db);
	rename_cat(w);
	last = db_number(w->db, "SELECT MAX(id) FROM events", NO_ARGS, 0);
	do {
		fan_out(f, w->db, w->mem, &more);
		usleep(50000);
	} while (db_number(w->db, "SELECT settled FROM webhook_progress", NO_ARGS, 0) < last && clock_ms() < end);
	fan_close(f);
	assert_int_equal(db_number(w->db, "SELECT settled FROM webhook_progress", NO_ARGS, 0), last);
}

/* More of them than are looked at in a round, all due before it. */
static void
webhooks_that_are_gone_take_no_place_of_one_that_is_sent_to(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	struct arg tenant = ID(w->tenant_id), by = ID(w->client_id);
	struct uuid id;
	int i;

	assert_true(uuid_parse(hook(w, w->token, "/ok", NULL), &id));
	db_begin(w->db);
	for (i = 0; i <= 1100; i++)
		db_run(w->db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event, status, "
		    "next_attempt_at, created_at, updated_at) VALUES (?, ?, ?, ?, 'ping', 'waiting', ?, 1, 1)",
		    ARGS(ID(uuid_new()), tenant, ID(i == 1100 ? id : uuid_new()), by, INT(1 + (i == 1100))));
	assert_true(db_commit(w->db));
	assert_int_equal(begin_all(&d), 1);
	assert_true(uuid_equal(d.going->webhook_id, id));
	end_all(&d);
}

/* As many that are switched off, or of owners who may not sign in: they end by and by, behind one that fails, too. */
static void
nor_do_those_that_are_inactive_or_whose_owners_are(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	struct world *others[2] = { world_other(w), world_other(w) };
	struct sending *m;
	struct uuid id;
	int i;

	assert_true(uuid_parse(hook(w, w->token, "/ok", NULL), &id));
	db_run(w->db, "UPDATE webhooks SET failing_since = " SQL_NOW " WHERE id = ?", ARGS(ID(id)));
	for (i = 0; i < 2; i++)
		silent_hooks(others[i], 1001, 1);
	db_run(w->db, "UPDATE webhooks SET is_active = 0 WHERE tenant_id = ?", ARGS(ID(others[0]->tenant_id)));
	db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(others[1]->client_id)));
	db_run(w->db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event, status, "
	    "next_attempt_at, created_at, updated_at) VALUES (?, ?, ?, ?, 'ping', 'waiting', ?, 1, 1)",
	    ARGS(ID(uuid_new()), ID(w->tenant_id), ID(id), ID(w->client_id), INT(moment_now().ms - 1)));
	m = queue_choose(&d);
	assert_true(m != NULL && uuid_equal(m->webhook_id, id));
	arena_free(m->mem);
}

static void
two_runners_send_each_event_once(void **state)
{
	struct world *w = *state;
	pid_t pids[2];
	int i, k, status;

	hook(w, w->token, "/ok", NULL);
	for (i = 0; i < 200; i++)
		rename_cat(w);
	for (i = 0; i < 2; i++)
		if ((pids[i] = fork()) == 0) {
			db_abandon(w->db);
			deliver_due(w);
			_exit(0);
		}
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(times_heard("/ok"), 200);
	for (i = 0; i < 200; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(heard("/ok", i)->id, heard("/ok", k)->id);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'succeeded' AND attempt = 1", NO_ARGS), 200);
}

static void
each_call_has_its_limits(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };

	silent_hooks(w, 1, 1);
	assert_int_equal(begin_all(&d), 1);
	assert_int_equal(d.going->call.timeout, w->conf->webhook_timeout);
	assert_string_equal(d.going->call.private_hosts, w->conf->webhook_private_hosts);
	assert_in_range(d.going->call.max_size, 2048, 65536);
	assert_true(d.going->call.cut && d.going->call.secure && !d.going->call.any_certificate);
	assert_int_equal(d.going->call.redirects, 0);
	end_all(&d);
}

/* Somebody else may have it when its time is over, and a while more. */
static void
what_is_on_its_way_is_left_alone_for_longer_than_a_call_may_take(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };

	silent_hooks(w, 1, 1);
	assert_int_equal(begin_all(&d), 1);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'sending' AND next_attempt_at > " SQL_NOW
	    " + 3600000 AND next_attempt_at <= " SQL_NOW " + 3615000", NO_ARGS), 1);
	end_all(&d);
}

static void
a_runner_that_was_given_up_settles_nothing(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem }, later = d, late = d;
	struct sending *m;

	silent_hooks(w, 1, 1);
	m = queue_choose(&late);
	assert_int_equal(begin_all(&d), 1);
	assert_false(queue_take(&late, m));
	queue_reap(w->db);
	assert_int_equal(begin_all(&later), 0);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'sending'", NO_ARGS);
	queue_reap(w->db);
	assert_false(queue_take(&late, m));
	arena_free(m->mem);
	assert_int_equal(begin_all(&later), 1);
	d.going->answer = (struct web_answer){ .end = WEB_ANSWERED, .status = 200, .body = "" };
	queue_settle(&d, d.going);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'sending' AND attempt = 2", NO_ARGS), 1);
	later.going->answer = (struct web_answer){ .end = WEB_TIMEOUT, .body = "" };
	queue_settle(&later, later.going);
	queue_settle(&d, d.going);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'failed' AND attempt = 2", NO_ARGS), 1);
	end_all(&d);
	end_all(&later);
}

static void
what_ends_late_has_ended_unless_it_was_begun_again(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem }, later = d;
	struct sending *m;

	silent_hooks(w, 1, 1);
	assert_int_equal(begin_all(&d), 1);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'sending'", NO_ARGS);
	queue_reap(w->db);
	m = queue_choose(&later);
	d.going->answer = (struct web_answer){ .end = WEB_ANSWERED, .status = 200, .body = "" };
	queue_settle(&d, d.going);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'succeeded' AND attempt = 1", NO_ARGS), 1);
	assert_false(queue_take(&later, m));
	arena_free(m->mem);
	assert_int_equal(begin_all(&later), 0);
	end_all(&d);
}

static bool
is_silent(void *what)
{
	(void)what;
	return ears->silent > 0;
}

/* And what was sent stands in the log already. */
static void
what_a_killed_runner_was_at_is_sent_again_with_the_same_id(void **state)
{
	struct world *w = *state;
	pid_t pid;

	hook(w, w->token, "/once", NULL);
	rename_cat(w);
	pid = begin_run(w);
	wait_while(pid, is_silent, NULL);
	end_run(pid);
	assert_string_equal(delivery(w, "status"), "sending");
	assert_string_equal(delivery(w, "request_body"), heard("/once", 0)->body);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'sending'", NO_ARGS);
	deliver_due(w);
	assert_int_equal(times_heard("/once"), 2);
	assert_string_equal(heard("/once", 0)->id, heard("/once", 1)->id);
	assert_string_equal(delivery(w, "status"), "succeeded");
	assert_string_equal(delivery(w, "attempt"), "2");
}

static bool
is_followed(void *world)
{
	struct world *w = world;

	return number(w, "FROM jobs WHERE kind = 'deliver' AND state = 'ready'", NO_ARGS) > 0;
}

/* It lasts for so long; when that was not enough to send anything, it gets more. */
static void
another_job_takes_over_before_the_last_answer_has_come(void **state)
{
	struct world *w = *state;
	int64_t ms;
	int status;
	pid_t pid = 0;

	silent_hooks(w, 1, 1);
	for (ms = 200; ears->silent == 0 && ms < 200000; ms *= 2) {
		db_run(w->db, "DELETE FROM jobs WHERE kind = 'deliver'", NO_ARGS);
		pid = fork();
		if (pid == 0) {
			deliver_for(ms);
			db_abandon(w->db);
			deliver_due(w);
			_exit(0);
		}
		while (ears->silent == 0 && waitpid(pid, &status, WNOHANG) == 0)
			usleep(10000);
	}
	wait_while(pid, is_followed, w);
	end_run(pid);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'deliver'", NO_ARGS), 1);
}

static void
so_many_rows_are_written_at_a_time(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	struct fan *f = fan_open();
	int64_t n;
	bool more;
	int i;

	silent_hooks(w, 150, 0);
	db_run(w->db, "UPDATE webhooks SET events = '[\"media.updated\"]' WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)));
	for (i = 0; i < 20; i++)
		rename_cat(w);
	do
		fan_out(f, w->db, w->mem, &more);
	while ((n = number(w, "FROM webhook_deliveries", NO_ARGS)) == 0);
	assert_in_range(n, 150, 2149);
	assert_true(more);
	while (more)
		fan_out(f, w->db, w->mem, &more);
	fan_close(f);
	assert_int_equal(number(w, "FROM webhook_deliveries WHERE status = 'waiting'", NO_ARGS), 3000);
	db_run(w->db, "UPDATE webhooks SET is_active = 0 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(begin_all(&d), 0);
	assert_in_range(number(w, "FROM webhook_deliveries WHERE status = 'failed'", NO_ARGS), 20, 1000);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, receivers_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_waits_for_webhooks_that_are_gone_ends),
		TEST(what_a_dead_runner_had_is_sent_again_with_the_same_id),
		TEST(events_that_are_read_again_are_sent_once),
		TEST(each_of_many_events_is_sent_to_each_of_many_webhooks),
		TEST(what_was_read_is_settled_though_a_number_before_it_never_comes),
		TEST(webhooks_that_are_gone_take_no_place_of_one_that_is_sent_to),
		TEST(nor_do_those_that_are_inactive_or_whose_owners_are),
		TEST(two_runners_send_each_event_once),
		TEST(each_call_has_its_limits),
		TEST(what_is_on_its_way_is_left_alone_for_longer_than_a_call_may_take),
		TEST(a_runner_that_was_given_up_settles_nothing),
		TEST(what_ends_late_has_ended_unless_it_was_begun_again),
		TEST(what_a_killed_runner_was_at_is_sent_again_with_the_same_id),
		TEST(another_job_takes_over_before_the_last_answer_has_come),
		TEST(so_many_rows_are_written_at_a_time),
	};

	return cmocka_run_group_tests(tests, receivers_open, receivers_close);
}
