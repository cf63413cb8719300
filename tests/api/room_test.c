/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who gets a place among the transfers of a process, and who works next. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fcgi/upload/room.h"

enum { PLACES = 6 };

static struct seat seats[64];

static struct uuid
name(int n)
{
	return (struct uuid){ { (uint8_t)n } };
}

/* A newcomer, with an upload of its own. */
static bool
come(struct room *r, struct seat *s, int tenant, int principal)
{
	static int n;

	n++;
	*s = (struct seat){ .tenant_id = name(tenant), .principal_id = name(principal),
	    .upload_id = { { (uint8_t)n, (uint8_t)(n >> 8), 1 } } };
	return room_enter(r, s);
}

static int
ended(const struct seat *s, int n)
{
	int i, count = 0;

	for (i = 0; i < n; i++)
		count += s[i].ended != ERR_NONE;
	return count;
}

static void
one_tenant_may_fill_what_nobody_else_wants(void **state)
{
	struct room *r = room_new(PLACES, 1, 1);
	int i;

	for (i = 0; i < PLACES; i++)
		assert_true(come(r, &seats[i], 1, 1));
	assert_false(come(r, &seats[PLACES], 1, 1));
	assert_int_equal(ended(seats, PLACES), 0);
	room_leave(r, &seats[2]);
	assert_true(come(r, &seats[2], 1, 1));
	for (i = 0; i < PLACES; i++)
		room_leave(r, &seats[i]);
	assert_int_equal(room_taken(r), 0);
	room_free(r);
}

static void
tenants_come_to_have_the_same_whoever_came_first(void **state)
{
	struct room *r = room_new(PLACES, 1, 1);
	int i;

	for (i = 0; i < PLACES; i++) {
		assert_true(come(r, &seats[i], 1, 1));
		seats[i].received = i == 4 ? 5 : 1000;
	}
	assert_true(come(r, &seats[6], 2, 2));
	assert_int_equal(seats[4].ended, ERR_TOO_BUSY);
	assert_int_equal(ended(seats, PLACES), 1);
	assert_true(come(r, &seats[7], 2, 2));
	assert_true(come(r, &seats[8], 2, 3));
	assert_int_equal(ended(seats, 9), 3);
	assert_false(come(r, &seats[9], 2, 2));
	assert_false(come(r, &seats[9], 1, 1));
	assert_true(come(r, &seats[9], 3, 1));
	assert_int_equal(room_taken(r), PLACES);
	/* 3, 2 and 1: nobody gains by another change. */
	assert_false(come(r, &seats[10], 1, 1));
	assert_false(come(r, &seats[10], 2, 2));
	assert_int_equal(ended(seats, 10), 4);
	for (i = 0; i < 10; i++)
		room_leave(r, &seats[i]);
	room_free(r);
}

static void
within_a_tenant_principals_do(void **state)
{
	struct room *r = room_new(PLACES, 1, 1);
	int i;

	for (i = 0; i < PLACES; i++)
		assert_true(come(r, &seats[i], 1, i < 5 ? 1 : 2));
	assert_true(come(r, &seats[6], 1, 2));
	assert_true(come(r, &seats[7], 1, 3));
	assert_int_equal(ended(seats, 5), 2);
	assert_int_equal(ended(seats + 5, 3), 0);
	for (i = 0; i < 8; i++)
		room_leave(r, &seats[i]);
	room_free(r);
}

static void
a_later_put_takes_the_place_of_the_earlier_one(void **state)
{
	struct room *r = room_new(1, 1, 1);
	struct seat other;

	assert_true(come(r, &seats[0], 1, 1));
	room_supersede(r, &seats[0], 4);
	seats[1] = (struct seat){ .tenant_id = name(1), .principal_id = name(1), .upload_id = seats[0].upload_id };
	assert_true(room_enter(r, &seats[1]));
	assert_int_equal(seats[0].ended, ERR_UPLOAD_SUPERSEDED);
	room_supersede(r, &seats[1], 5);
	assert_int_equal(seats[1].ended, ERR_NONE);
	assert_false(come(r, &other, 1, 1));
	room_leave(r, &seats[0]);
	room_leave(r, &seats[1]);
	room_free(r);
	r = room_new(3, 1, 1);
	assert_true(come(r, &seats[0], 1, 1));
	assert_true(come(r, &seats[2], 1, 1));
	room_supersede(r, &seats[0], 4);
	room_supersede(r, &seats[2], 1);
	seats[1] = (struct seat){ .tenant_id = name(1), .principal_id = name(1), .upload_id = seats[0].upload_id };
	assert_true(room_enter(r, &seats[1]));
	assert_int_equal(seats[0].ended, ERR_NONE);
	room_supersede(r, &seats[1], 5);
	assert_int_equal(seats[0].ended, ERR_UPLOAD_SUPERSEDED);
	assert_int_equal(seats[2].ended, ERR_NONE);
	room_leave(r, &seats[0]);
	room_leave(r, &seats[1]);
	room_leave(r, &seats[2]);
	room_free(r);
}

/* Or those of a client, each sent again when another has ended it, would never end. */
static void
parts_of_an_upload_do_not_take_the_places_of_each_other(void **state)
{
	struct room *r = room_new(2, 1, 1);

	for (int i = 0; i < 3; i++) {
		seats[i] = (struct seat){ .tenant_id = name(1), .principal_id = name(1), .upload_id = name(9),
		    .beside = true };
		assert_int_equal(room_enter(r, &seats[i]), i < 2);
	}
	assert_int_equal(ended(seats, 2), 0);
	assert_true(come(r, &seats[2], 2, 2));
	assert_int_equal(ended(seats, 2), 1);
	for (int i = 0; i < 3; i++)
		room_leave(r, &seats[i]);
	room_free(r);
}

/* Threads that want a turn all the time, and count what they got while all of them did. */
struct worker {
	struct room *room;
	int tenant, principal, size;
	bool idle;			/* in the first half, whose turns are `early` */
	int turns, early;
	pthread_t thread;
	atomic_bool *half, *stop;
};

static void *
work(void *user)
{
	struct worker *k = user;
	struct seat s;

	s = (struct seat){ .tenant_id = name(k->tenant), .principal_id = name(k->principal) };
	room_enter(k->room, &s);
	while (k->idle && !*k->half)
		usleep(1000);
	while (!*k->stop) {
		room_turn(k->room, &s, TURN_WRITE);
		usleep(100);
		k->turns++;
		k->early += !*k->half;
		room_turn_over(k->room, &s, TURN_WRITE, k->size);
	}
	room_leave(k->room, &s);
	return NULL;
}

static void
run_workers(struct worker *k, int n, int microseconds)
{
	struct room *r = room_new(64, 1, 1);
	atomic_bool half = false, stop = false;
	int i;

	for (i = 0; i < n; i++) {
		k[i].room = r;
		k[i].half = &half;
		k[i].stop = &stop;
		pthread_create(&k[i].thread, NULL, work, &k[i]);
	}
	usleep((useconds_t)microseconds / 2);
	half = true;
	usleep((useconds_t)microseconds / 2);
	stop = true;
	for (i = 0; i < n; i++)
		pthread_join(k[i].thread, NULL);
	room_free(r);
}

/* Who does not come to run cannot take its turn, and on a busy machine some do not for a while: so one of some tries
 * has to be fair.  Without an order of turns none is. */
static bool
is_fair_once(bool (*fair)(void))
{
	int tries;

	for (tries = 0; tries < 10; tries++)
		if (fair())
			return true;
	return false;
}

static bool
ten_beside_one(void)
{
	struct worker k[11] = { { .tenant = 2, .principal = 1, .size = 30000 } };
	int i, theirs = 0;

	for (i = 1; i < 11; i++)
		k[i] = (struct worker){ .tenant = 1, .principal = i, .size = 30000 };
	run_workers(k, 11, 600000);
	for (i = 1; i < 11; i++)
		theirs += k[i].turns;
	return k[0].turns * 10 > theirs * 8;
}

static void
ten_transfers_of_a_tenant_get_no_more_done_than_one_of_another(void **state)
{
	assert_true(is_fair_once(ten_beside_one));
}

static bool
five_beside_one(void)
{
	struct worker k[6] = { { .tenant = 1, .principal = 9, .size = 30000 } };
	int i, theirs = 0;

	for (i = 1; i < 6; i++)
		k[i] = (struct worker){ .tenant = 1, .principal = 1, .size = 30000 };
	run_workers(k, 6, 400000);
	for (i = 1; i < 6; i++)
		theirs += k[i].turns;
	return k[0].turns * 10 > theirs * 8;
}

static void
nor_those_of_a_principal_within_its_tenant(void **state)
{
	assert_true(is_fair_once(five_beside_one));
}

static bool
small_ones_beside_large_ones(void)
{
	struct worker k[4];
	int i, small, large;

	for (i = 0; i < 4; i++)
		k[i] = (struct worker){ .tenant = i % 2, .principal = 1, .size = i % 2 ? 4096 : 28672 };
	run_workers(k, 4, 400000);
	small = k[1].turns + k[3].turns;
	large = k[0].turns + k[2].turns;
	return small >= large * 3 && small <= large * 5;
}

static void
turns_are_shared_by_bytes(void **state)
{
	assert_true(is_fair_once(small_ones_beside_large_ones));
}

static bool
one_that_was_idle(void)
{
	struct worker k[2] = { { .tenant = 1, .principal = 1, .size = 30000 },
	    { .tenant = 2, .principal = 2, .size = 30000, .idle = true } };

	run_workers(k, 2, 800000);
	return k[1].turns > 100 && (k[0].turns - k[0].early) * 10 > k[1].turns * 8;
}

static void
who_was_idle_saves_nothing_up(void **state)
{
	assert_true(is_fair_once(one_that_was_idle));
}

static void
a_tenant_has_a_quarter_of_the_long_lists_at_most(void **state)
{
	enum { OWN = ROOM_LISTS / 4 };
	struct room *r = room_new(64, 1, 1);
	int i;

	for (i = 0; i < ROOM_LISTS; i++) {
		assert_true(come(r, &seats[i], 1 + i / OWN, 1));
		assert_true(room_take_list(r, &seats[i]));
		if (i % OWN == OWN - 1) {
			assert_true(come(r, &seats[40], 1 + i / OWN, 2));
			assert_false(room_take_list(r, &seats[40]));
			room_leave(r, &seats[40]);
		}
	}
	assert_true(come(r, &seats[40], 9, 1));
	assert_false(room_take_list(r, &seats[40]));
	room_give_list(r, &seats[3]);
	assert_true(room_take_list(r, &seats[40]));
	assert_false(room_take_list(r, &seats[3]));
	room_leave(r, &seats[40]);
	assert_true(room_take_list(r, &seats[3]));
	for (i = 0; i < ROOM_LISTS; i++)
		room_leave(r, &seats[i]);
	room_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_tenant_may_fill_what_nobody_else_wants),
		cmocka_unit_test(tenants_come_to_have_the_same_whoever_came_first),
		cmocka_unit_test(within_a_tenant_principals_do),
		cmocka_unit_test(a_later_put_takes_the_place_of_the_earlier_one),
		cmocka_unit_test(parts_of_an_upload_do_not_take_the_places_of_each_other),
		cmocka_unit_test(ten_transfers_of_a_tenant_get_no_more_done_than_one_of_another),
		cmocka_unit_test(nor_those_of_a_principal_within_its_tenant),
		cmocka_unit_test(turns_are_shared_by_bytes),
		cmocka_unit_test(who_was_idle_saves_nothing_up),
		cmocka_unit_test(a_tenant_has_a_quarter_of_the_long_lists_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
