/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose delivery is next, and how many at a time: no receiver and no tenant holds up another one. */
#include <string.h>

#include "tests/jobs/receivers.h"

static bool
is_heard(void *where)
{
	return times_heard(where) > 0;
}

/* Until somebody is heard at a path, while who is silent goes on being so. */
static void
run_until_heard(struct world *w, const char *where)
{
	pid_t pid = begin_run(w);

	wait_while(pid, is_heard, (void *)(uintptr_t)where);
	end_run(pid);
	assert_int_equal(times_heard(where), 1);
}

/* What is due to the silent ones came first, and none of it ever ends. */
static void
receivers_that_never_answer_delay_no_other_one_of_their_tenant(void **state)
{
	struct world *w = *state;

	hook(w, w->token, "/ok", NULL);
	silent_hooks(w, 20, 20);
	rename_cat(w);
	run_until_heard(w, "/ok");
}

static void
nor_those_of_another_tenant(void **state)
{
	struct world *w = *state;
	int i;

	hook(w, w->token, "/ok", NULL);
	for (i = 0; i < 8; i++)
		silent_hooks(world_other(w), 20, 4);
	rename_cat(w);
	run_until_heard(w, "/ok");
}

static void
nor_those_that_have_failed_before(void **state)
{
	struct world *w = *state;

	hook(w, w->token, "/ok", NULL);
	silent_hooks(w, 80, 1);
	silent_hooks(world_other(w), 80, 1);
	db_run(w->db, "UPDATE webhooks SET failing_since = " SQL_NOW " WHERE url LIKE '%silent'", NO_ARGS);
	rename_cat(w);
	run_until_heard(w, "/ok");
}

/* A server that takes webhooks of many is slow to one of them. */
static void
one_server_may_be_slow_for_one_tenant_and_quick_for_another(void **state)
{
	struct world *w = *state, *other = world_other(w);

	hook(w, w->token, "/ok", NULL);
	silent_hooks(other, 1, 40);
	db_run(w->db, "UPDATE webhooks SET url = ? WHERE tenant_id = ?", ARGS(STR(arena_printf(w->mem,
	    "http://127.0.0.1:%d/silent-here", receiver_port)), ID(other->tenant_id)));
	rename_cat(w);
	run_until_heard(w, "/ok");
	assert_in_range(times_heard("/silent-here"), 0, 1);
}

static void
a_tenant_with_many_webhooks_is_not_served_before_one_with_few(void **state)
{
	struct world *w = *state, *other = world_other(w);
	int i;

	hook(w, w->token, "/few", NULL);
	silent_hooks(other, 1200, 1);
	db_run(w->db, "UPDATE webhooks SET url = ? WHERE tenant_id = ?", ARGS(STR(arena_printf(w->mem,
	    "http://127.0.0.1:%d/many", receiver_port)), ID(other->tenant_id)));
	rename_cat(w);
	deliver_due(w);
	assert_int_equal(times_heard("/many"), 1200);
	assert_int_equal(times_heard("/few"), 1);
	for (i = 0; strcmp(ears->at[i].path, "/few") != 0; i++)
		continue;
	assert_in_range(i, 0, 200);
}

/* Something of a tenant is on its way. */
static void
goes_already(struct deliveries *d, struct uuid tenant_id)
{
	struct arena *mem = arena_new(1 << 16);
	struct sending *m = NEW(mem, struct sending);

	*m = (struct sending){ .next = d->going, .mem = mem, .tenant_id = tenant_id, .receiver = "" };
	d->going = m;
	d->n_going++;
}

/* How many of a tenant are chosen when there is a choice once. */
static int
chosen_of(struct deliveries *d, struct uuid tenant_id)
{
	struct sending *m, *next;
	int n = 0;

	for (m = queue_choose(d); m != NULL; m = next) {
		next = m->next;
		n += uuid_equal(m->tenant_id, tenant_id);
		arena_free(m->mem);
	}
	return n;
}

static void
the_first_of_each_tenant_comes_before_any_second(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };

	silent_hooks(world_other(w), 100, 1);
	silent_hooks(world_other(w), 100, 1);
	silent_hooks(w, 1, 1);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 2 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(chosen_of(&d, w->tenant_id), 1);
}

static void
of_these_those_whose_tenants_have_less_on_their_way(void **state)
{
	struct world *w = *state, *other;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	int i;

	for (i = 0; i < 70; i++) {
		other = world_other(w);
		silent_hooks(other, 1, 1);
		goes_already(&d, other->tenant_id);
	}
	silent_hooks(w, 1, 1);
	db_run(w->db, "UPDATE webhook_deliveries SET next_attempt_at = 2 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(chosen_of(&d, w->tenant_id), 1);
	end_all(&d);
}

static void
webhooks_that_do_well_come_before_those_that_fail(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	int i;

	for (i = 0; i < 8; i++)
		silent_hooks(world_other(w), 20, 1);
	db_run(w->db, "UPDATE webhooks SET failing_since = 1 WHERE is_active = 1", NO_ARGS);
	silent_hooks(w, 60, 1);
	assert_in_range(chosen_of(&d, w->tenant_id), 50, 60);
}

static void
a_tenant_has_a_quarter_of_what_is_left_and_one_that_comes_has_a_place(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	int i;

	silent_hooks(w, 100, 1);
	assert_in_range(begin_all(&d), 50, 64);
	assert_int_equal(begin_all(&d), 0);
	for (i = 0; i < 8; i++)
		silent_hooks(world_other(w), 100, 1);
	assert_in_range(begin_all(&d), 8 * 16, 8 * 51);
	silent_hooks(world_other(w), 1, 1);
	assert_int_equal(begin_all(&d), 1);
	assert_in_range(d.n_going, 1, 255);
	end_all(&d);
}

/* A quarter of them is none. */
static void
the_last_places_are_for_tenants_that_have_none(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	int i;

	for (i = 0; i < 253; i++)
		goes_already(&d, uuid_new());
	silent_hooks(w, 3, 1);
	assert_int_equal(begin_all(&d), 1);
	for (i = 0; i < 3; i++)
		silent_hooks(world_other(w), 1, 1);
	assert_int_equal(begin_all(&d), 2);
	end_all(&d);
}

static void
webhooks_that_fail_have_a_place_each_and_leave_their_tenant_as_many(void **state)
{
	struct world *w = *state;
	const char *failing = "UPDATE webhooks SET failing_since = 1, url = REPLACE(url, '127.1.', '127.2.') WHERE "
	    "tenant_id = ?";
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };

	silent_hooks(w, 10, 5);
	db_run(w->db, failing, ARGS(ID(w->tenant_id)));
	assert_int_equal(begin_all(&d), 10);
	silent_hooks(w, 100, 1);
	db_run(w->db, failing, ARGS(ID(w->tenant_id)));
	assert_in_range(begin_all(&d), 10, 32 - 10);
	silent_hooks(w, 10, 5);
	assert_int_equal(begin_all(&d), 10);
	end_all(&d);
}

/* So long a call took, and ended so. */
static void
learn(struct deliveries *d, struct world *w, const char *receiver, enum web_end end, int64_t ms)
{
	pace_learn(&d->paces, &(struct sending){ .tenant_id = w->tenant_id, .receiver = receiver, .answer.end = end,
	    .ms = ms });
}

static void
a_receiver_earns_its_places_by_being_quick_and_loses_them_at_once(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	const char *one = "http://one.example:80", *two = "http://two.example:80";
	int places;

	for (places = 1; places <= 16; places *= 2) {
		assert_int_equal(pace_places(&d.paces, w->tenant_id, one), places);
		learn(&d, w, one, WEB_ANSWERED, 1000);
	}
	assert_int_equal(pace_places(&d.paces, w->tenant_id, one), 16);
	assert_int_equal(pace_places(&d.paces, w->tenant_id, two), 1);
	assert_int_equal(pace_places(&d.paces, other->tenant_id, one), 1);
	learn(&d, w, one, WEB_ANSWERED, 1001);
	assert_int_equal(pace_places(&d.paces, w->tenant_id, one), 1);
	learn(&d, w, one, WEB_ANSWERED, 0);
	assert_int_equal(pace_places(&d.paces, w->tenant_id, one), 2);
	learn(&d, w, one, WEB_BROKEN, 0);
	assert_int_equal(pace_places(&d.paces, w->tenant_id, one), 1);
	end_all(&d);
}

/* Two webhooks of one server. */
static void
a_receiver_gets_as_many_at_a_time_as_it_has_places(void **state)
{
	struct world *w = *state;
	struct deliveries d = { .db = w->db, .conf = w->conf, .mem = w->mem };
	const char *receiver = "http://127.1.0.1:80";

	silent_hooks(w, 2, 20);
	db_run(w->db, "UPDATE webhooks SET url = 'http://127.1.0.1/silent' WHERE tenant_id = ?",
	    ARGS(ID(w->tenant_id)));
	assert_int_equal(begin_all(&d), 1);
	learn(&d, w, receiver, WEB_ANSWERED, 0);
	learn(&d, w, receiver, WEB_ANSWERED, 0);
	assert_int_equal(begin_all(&d), 3);
	end_all(&d);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, receivers_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(receivers_that_never_answer_delay_no_other_one_of_their_tenant),
		TEST(nor_those_of_another_tenant),
		TEST(nor_those_that_have_failed_before),
		TEST(one_server_may_be_slow_for_one_tenant_and_quick_for_another),
		TEST(a_tenant_with_many_webhooks_is_not_served_before_one_with_few),
		TEST(the_first_of_each_tenant_comes_before_any_second),
		TEST(of_these_those_whose_tenants_have_less_on_their_way),
		TEST(webhooks_that_do_well_come_before_those_that_fail),
		TEST(a_tenant_has_a_quarter_of_what_is_left_and_one_that_comes_has_a_place),
		TEST(the_last_places_are_for_tenants_that_have_none),
		TEST(webhooks_that_fail_have_a_place_each_and_leave_their_tenant_as_many),
		TEST(a_receiver_earns_its_places_by_being_quick_and_loses_them_at_once),
		TEST(a_receiver_gets_as_many_at_a_time_as_it_has_places),
	};

	return cmocka_run_group_tests(tests, receivers_open, receivers_close);
}
