/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core/play.c: what a signed address opens, and what it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/play.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define CAT "0199a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1"
#define DOG "0199a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b2"

static const struct conf conf = { .public_url = "https://tube.example", .play_key = KEY, .play_lifetime = 3600 };
static const struct moment now = { INT64_C(1790000000123) };

/* The path of an address for CAT with `rest` behind the token and the slash. */
static char *
path_with(const char *rest)
{
	static char path[PLAY_PREFIX_MAX + 200];
	char prefix[PLAY_PREFIX_MAX];
	struct uuid cat;

	assert_true(uuid_parse(CAT, &cat));
	play_prefix(&conf, cat, now, prefix);
	*strstr(prefix, CAT) = '\0';
	snprintf(path, sizeof(path), "%s%s", prefix + strlen(conf.public_url), rest);
	return path;
}

static enum play
check(const char *path)
{
	struct uuid id;
	const char *file;

	return play_check(&conf, path, now, &id, &file);
}

/* Computed with openssl dgst -sha256 -mac HMAC -macopt hexkey:… */
static void
the_signature_is_the_documented_one(void **state)
{
	char prefix[PLAY_PREFIX_MAX];
	struct uuid cat;

	assert_true(uuid_parse(CAT, &cat));
	assert_string_equal(play_prefix(&conf, cat, now, prefix), "https://tube.example/play/1790004000."
	    "7609141b9d8f30dfe58e8ccd7d35461c88526e1323acefa2edb9daf4918cefc7/" CAT "/");
}

static void
an_address_opens_the_files_of_its_asset(void **state)
{
	struct uuid id;
	const char *file;
	char text[UUID_TEXT];

	assert_int_equal(play_check(&conf, path_with(CAT "/g1/720p/seg_00001.m4s?download=1"), now, &id, &file),
	    PLAY_FINE);
	assert_string_equal(uuid_format(id, text), CAT);
	assert_string_equal(file, "g1/720p/seg_00001.m4s?download=1");
	assert_int_equal(check(path_with(CAT "/master.m3u8")), PLAY_FINE);
	assert_int_equal(check(path_with(CAT "/a..b/-c_/d...ts")), PLAY_FINE);
}

/* With a good token for one asset, ten spellings of the way to another one (and some more). */
static void
no_spelling_of_a_path_leads_out_of_the_asset(void **state)
{
	static const char *const spellings[] = {
		CAT "/../" DOG "/a.ts", CAT "/%2e%2e/" DOG "/a.ts", CAT "/..%2f" DOG "/a.ts", CAT "/%2e%2e%2f" DOG
		    "/a.ts",
		CAT "/.%2e/" DOG "/a.ts", CAT "/%252e%252e/" DOG "/a.ts", CAT "/..%5c" DOG "/a.ts", CAT "/..\\" DOG
		    "/a.ts",
		CAT "//../" DOG "/a.ts", CAT "/./../" DOG "/a.ts",
		CAT "/..;/" DOG "/a.ts", CAT "/%c0%ae%c0%ae/" DOG "/a.ts", CAT "/a/%00/../../" DOG "/a.ts", CAT
		    "%2fa.ts",
		CAT "/", CAT "/a/", CAT "//a.ts", CAT "/.", CAT "/..", CAT "/a/..", CAT "/a%2ets", CAT "/a b", CAT
		    "/A.ts",
		CAT "/.a/b.ts", CAT "/a/.b.ts", CAT "/..a.ts", CAT "/a", CAT "/a.ts/b", CAT "/a.", CAT "/a.t-s", CAT
		    "/a?b.ts",
		CAT, CAT "?/a.ts", DOG "/a.ts", "../" DOG "/a.ts", "./" CAT "/a.ts", "/" CAT "/a.ts", "",
	};
	size_t i;

	for (i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		if (check(path_with(spellings[i])) != PLAY_REFUSED)
			fail_msg("let through: %s", spellings[i]);
}

static void
a_changed_token_is_refused(void **state)
{
	char *path, *dot;
	size_t i;

	for (i = 0; i < 64; i++) {
		path = path_with(CAT "/a.ts");
		dot = strchr(path, '.');
		dot[1 + i] = dot[1 + i] == 'a' ? 'b' : 'a';
		assert_int_equal(check(path), PLAY_REFUSED);
	}
	path = path_with(CAT "/a.ts");
	path[6]++;
	assert_int_equal(check(path), PLAY_REFUSED);
	path = path_with(CAT "/a.ts");
	strchr(path, '.')[1] = 'F';
	assert_int_equal(check(path), PLAY_REFUSED);
	assert_int_equal(check("/play/"), PLAY_REFUSED);
	assert_int_equal(check("/play/1."), PLAY_REFUSED);
	assert_int_equal(check("/play/1790004000./" CAT "/a.ts"), PLAY_REFUSED);
	assert_int_equal(check("/play/-1.00/" CAT "/a.ts"), PLAY_REFUSED);
	assert_int_equal(check("/pla"), PLAY_REFUSED);
}

static void
another_key_signs_differently(void **state)
{
	struct conf other = conf;
	struct uuid id;
	const char *file, *path = path_with(CAT "/a.ts");

	other.play_key = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
	assert_int_equal(play_check(&other, path, now, &id, &file), PLAY_REFUSED);
	assert_int_equal(check(path), PLAY_FINE);
}

static void
an_address_ends_at_a_full_ten_minutes_after_its_lifetime(void **state)
{
	const char *file, *path = path_with(CAT "/a.ts");
	struct uuid id;

	assert_int_equal(play_check(&conf, path, (struct moment){ INT64_C(1790004000999) }, &id, &file), PLAY_FINE);
	assert_int_equal(play_check(&conf, path, (struct moment){ INT64_C(1790004001000) }, &id, &file), PLAY_EXPIRED);
}

/* Printed, not asserted: machines differ. */
static void
signing_takes_about_a_microsecond(void **state)
{
	char prefix[PLAY_PREFIX_MAX];
	struct uuid id = uuid_new();
	struct timespec a, b;
	int i;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (i = 0; i < 20000; i++)
		play_prefix(&conf, id, now, prefix);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	print_message("play_prefix: %.2f us\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 +
	    (double)(b.tv_nsec - a.tv_nsec)) / 2e7);
}

static void
the_token_of_a_page_opens_no_file_and_that_of_a_file_no_page(void **state)
{
	char page[PAGE_TOKEN_MAX], prefix[PLAY_PREFIX_MAX], path[PLAY_PREFIX_MAX];
	const char *token, *file;
	struct uuid id, cat;

	assert_true(uuid_parse(CAT, &cat));
	page_token(&conf, cat, now, page);
	assert_true(page_opens(&conf, page, cat, now));
	assert_false(page_opens(&conf, page, (struct uuid){ { 1 } }, now));
	assert_true(page_opens(&conf, page, cat, (struct moment){ play_expiry(&conf, now) * 1000 }));
	assert_false(page_opens(&conf, page, cat, (struct moment){ play_expiry(&conf, now) * 1000 + 1000 }));
	snprintf(path, sizeof(path), "/play/%s/" CAT "/a.m4s", page);
	assert_int_equal(play_check(&conf, path, now, &id, &file), PLAY_REFUSED);
	token = strstr(play_prefix(&conf, cat, now, prefix), "/play/") + 6;
	snprintf(page, sizeof(page), "%.*s", (int)strcspn(token, "/"), token);
	assert_false(page_opens(&conf, page, cat, now));
	assert_false(page_opens(&conf, "", cat, now));
	assert_false(page_opens(&conf, "1790004000", cat, now));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_token_of_a_page_opens_no_file_and_that_of_a_file_no_page),
		cmocka_unit_test(the_signature_is_the_documented_one),
		cmocka_unit_test(an_address_opens_the_files_of_its_asset),
		cmocka_unit_test(no_spelling_of_a_path_leads_out_of_the_asset),
		cmocka_unit_test(a_changed_token_is_refused),
		cmocka_unit_test(another_key_signs_differently),
		cmocka_unit_test(an_address_ends_at_a_full_ten_minutes_after_its_lifetime),
		cmocka_unit_test(signing_takes_about_a_microsecond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
