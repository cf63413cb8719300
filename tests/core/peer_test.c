/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who calls: forwarding headers count only from trusted proxies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/peer.h"

struct example {
	const char *trusted, *remote, *https, *forwarded_for, *proto;
	const char *address;
	bool is_https, is_loopback;
};

static void
check(const struct example *examples, size_t n)
{
	struct arena *mem = arena_new(1 << 20);
	size_t i;

	for (i = 0; i < n; i++) {
		const struct example *e = &examples[i];
		struct peer p = peer_find(mem, e->trusted, e->remote, e->https, e->forwarded_for, e->proto);

		if (p.https != e->is_https || p.loopback != e->is_loopback)
			print_message("example %zu\n", i);
		assert_string_equal(p.address, e->address);
		assert_int_equal(p.https, e->is_https);
		assert_int_equal(p.loopback, e->is_loopback);
	}
	arena_free(mem);
}
#define CHECK(examples) check(examples, sizeof(examples) / sizeof *(examples))

static void
headers_of_strangers_are_ignored(void **state)
{
	const struct example examples[] = {
		{ NULL, "203.0.113.5", NULL, "127.0.0.1", "https", "203.0.113.5", false, false },
		{ "10.0.0.0/8", "11.0.0.1", NULL, "127.0.0.1", "https", "11.0.0.1", false, false },
		{ "10.0.0.1", "10.0.0.2", NULL, "127.0.0.1", "https", "10.0.0.2", false, false },
		{ NULL, "127.0.0.1", NULL, "8.8.8.8", "https", "127.0.0.1", false, true },
		{ NULL, NULL, NULL, "127.0.0.1", "https", "", false, false },
	};

	CHECK(examples);
}

static void
the_web_servers_own_word_on_https_counts(void **state)
{
	const struct example examples[] = {
		{ NULL, "203.0.113.5", "on", NULL, NULL, "203.0.113.5", true, false },
		{ NULL, "203.0.113.5", "off", NULL, NULL, "203.0.113.5", false, false },
		{ NULL, "::1", NULL, NULL, NULL, "::1", false, true },
		{ NULL, "127.9.9.9", NULL, NULL, NULL, "127.9.9.9", false, true },
		{ NULL, "::ffff:127.0.0.1", NULL, NULL, NULL, "::ffff:127.0.0.1", false, true },
		{ NULL, "128.0.0.1", NULL, NULL, NULL, "128.0.0.1", false, false },
	};

	CHECK(examples);
}

static void
trusted_proxies_are_walked_back_to_the_first_stranger(void **state)
{
	const struct example examples[] = {
		{ "10.0.0.1", "10.0.0.1", NULL, "203.0.113.5", "https", "203.0.113.5", true, false },
		{ "10.0.0.0/8", "10.9.9.9", NULL, "127.0.0.1, 203.0.113.5, 10.1.1.1", "http, https", "203.0.113.5", true, false },
		{ "10.0.0.0/8,fd00::/8", "fd00::1", NULL, "203.0.113.5,10.1.1.1", "HTTPS", "203.0.113.5", true, false },
		{ "10.0.0.1", "10.0.0.1", "on", "203.0.113.5", "http", "203.0.113.5", false, false },
		{ "10.0.0.1", "10.0.0.1", NULL, "unknown", "https", "", true, false },
		{ "10.0.0.1", "10.0.0.1", NULL, "203.0.113.5, ", "https", "", true, false },
		{ "127.0.0.1", "127.0.0.1", NULL, "203.0.113.5", NULL, "203.0.113.5", false, false },
		{ "127.0.0.1", "127.0.0.1", NULL, "127.0.0.1", NULL, "127.0.0.1", false, true },
		{ "127.0.0.1", "127.0.0.1", NULL, NULL, "http", "127.0.0.1", false, false },
		{ "10.0.0.1/32", "10.0.0.1", NULL, "8.8.8.8", NULL, "8.8.8.8", false, false },
		{ "0.0.0.0/0", "1.2.3.4", NULL, "5.6.7.8", "https", "5.6.7.8", true, false },
		{ "::/0", "1.2.3.4", NULL, "5.6.7.8", "https", "5.6.7.8", true, false },
		{ "192.168.0.0/20", "192.168.16.1", NULL, "5.6.7.8", "https", "192.168.16.1", false, false },
		{ "192.168.0.0/20", "192.168.15.1", NULL, "5.6.7.8", "https", "5.6.7.8", true, false },
	};

	CHECK(examples);
}

static void
an_address_stands_for_its_network(void **state)
{
	static const char *const examples[][2] = {
		{ "203.0.113.5", "203.0.113.5" }, { "::ffff:203.0.113.5", "203.0.113.5" }, { "", "" }, { "odd", "odd" },
		{ "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::" }, { "2001:DB8:1:2::9", "2001:db8:1:2::" }, { "::1", "::" },
		{ "2001:db8:1:3::9", "2001:db8:1:3::" },
	};
	char out[PEER_NETWORK];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		peer_network(examples[i][0], out);
		assert_string_equal(out, examples[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_of_strangers_are_ignored),
		cmocka_unit_test(the_web_servers_own_word_on_https_counts),
		cmocka_unit_test(an_address_stands_for_its_network),
		cmocka_unit_test(trusted_proxies_are_walked_back_to_the_first_stranger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
