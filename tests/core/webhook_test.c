/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Webhooks on the wire: signatures as Standard Webhooks has them, and when a failed message is sent again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/event.h"
#include "core/seal.h"
#include "core/webhook.h"

static const struct conf conf = { .play_key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" };

static int
open_arena(void **state)
{
	*state = arena_new(1 << 20);
	return 0;
}

static int
close_arena(void **state)
{
	arena_free(*state);
	return 0;
}

/* The example of the specification, and of its libraries' tests. */
static void
a_message_is_signed_as_the_published_example(void **state)
{
	struct arena *mem = *state;
	const struct webhook_message m = { "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}" };
	static const unsigned char key[] = { 0x31, 0xf2, 0x90, 0xf6, 0xbf, 0x06, 0x29, 0x8a, 0xab, 0x4f, 0x08, 0xd4,
	    0x3c,
	    0x3f, 0x08, 0x2c, 0xf6, 0x48, 0xa3, 0x62, 0xda, 0x2d, 0xa4, 0xb0 };

	assert_string_equal(webhook_signature(&conf, mem, seal(&conf, mem, "webhook", key, sizeof(key)), &m),
	    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
	assert_null(webhook_signature(&conf, mem, seal(&conf, mem, "mail", key, sizeof(key)), &m));
}

static void
a_secret_is_new_each_time_and_stands_nowhere_in_the_clear(void **state)
{
	struct arena *mem = *state;
	const char *a, *b, *sealed = webhook_key(&conf, mem, &a);

	webhook_key(&conf, mem, &b);
	assert_memory_equal(a, "whsec_", 6);
	assert_int_equal(strlen(a), 6 + 44);
	assert_string_not_equal(a, b);
	assert_null(strstr(sealed, a + 6));
}

static void
ten_attempts_take_three_days_and_no_two_wait_equally_long(void **state)
{
	static const int64_t least[] = { 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400 };
	int64_t wait, first;
	int i, k, differ;

	(void)state;
	for (i = 0; i < 9; i++) {
		first = webhook_wait(i + 1, 0);
		for (k = differ = 0; k < 50; k++) {
			wait = webhook_wait(i + 1, 0);
			assert_in_range(wait, least[i] * 1000, least[i] * 1100);
			differ += wait != first;
		}
		assert_true(differ > 0);
	}
	assert_int_equal(webhook_wait(10, 0), -1);
	assert_int_equal(webhook_wait(11, 60), -1);
	assert_int_equal(webhook_wait(0, 0), -1);
}

static void
who_asks_for_a_longer_wait_gets_it_for_a_day_at_most(void **state)
{
	(void)state;
	assert_in_range(webhook_wait(1, 120), 120000, 132000);
	assert_in_range(webhook_wait(2, 1), 300000, 330000);
	assert_in_range(webhook_wait(1, 1 << 30), 86400000, 95040000);
}

static void
a_receiver_has_fifteen_seconds_unless_the_settings_say_otherwise(void **state)
{
	const char *fault = NULL;

	(void)state;
	assert_int_equal(WEBHOOK_SECONDS, 15);
	assert_int_equal(conf_parse("", "a.conf", &fault)->webhook_timeout, WEBHOOK_SECONDS);
	assert_int_equal(conf_parse("webhook.timeout = 5", "a.conf", &fault)->webhook_timeout, 5);
}

/* The lists of the document, and of the events. */
static void
what_may_be_subscribed_are_the_events_that_say_so_and_pings(void **state)
{
	struct arena *mem = *state;
	struct strings usual = strings_parse(mem, WEBHOOK_DEFAULT_JSON);
	const struct event_type *t;
	size_t i, words = 1, defaults = 1;
	const char *p;

	for (i = 0; (t = event_type_at(i)) != NULL; i++) {
		assert_int_equal(word_in(WEBHOOK_EVENTS, t->name, strlen(t->name)), t->use != EVENT_STREAM);
		words += t->use != EVENT_STREAM;
		defaults += t->use == EVENT_DEFAULT;
	}
	assert_true(word_in(WEBHOOK_EVENTS, "ping", 4));
	for (p = WEBHOOK_EVENTS; (p = strchr(p, ' ')) != NULL; p++)
		words--;
	assert_int_equal(words, 1);
	assert_int_equal(usual.n, defaults);
	for (i = 1; i < usual.n; i++)
		assert_int_equal(event_type(usual.at[i])->use, EVENT_DEFAULT);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arena, close_arena)
	const struct CMUnitTest tests[] = {
		TEST(a_message_is_signed_as_the_published_example),
		TEST(a_secret_is_new_each_time_and_stands_nowhere_in_the_clear),
		TEST(ten_attempts_take_three_days_and_no_two_wait_equally_long),
		TEST(who_asks_for_a_longer_wait_gets_it_for_a_day_at_most),
		TEST(a_receiver_has_fifteen_seconds_unless_the_settings_say_otherwise),
		TEST(what_may_be_subscribed_are_the_events_that_say_so_and_pings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
