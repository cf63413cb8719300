/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The client of object stores against a peer that does as S3 does, and fails when it is told to.  With
 * KINOTHEK_TEST_S3="endpoint bucket key secret" against that store, but for the failures.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/digest.h"
#include "core/objects.h"
#include "core/sigv4.h"
#include "core/store_side.h"
#include "core/web.h"
#include "tests/objects_peer.h"

enum { LARGE = 37000001, PART = 16 << 20 };

static char home[] = "/tmp/kinothek-objects-XXXXXX";
static struct arena *mem;
static struct objects store = { NULL, NULL, OBJECTS_PEER_BUCKET, "us-east-1", OBJECTS_PEER_KEY, OBJECTS_PEER_SECRET,
    "home/" };
static bool real;

static int
file_of(const char *name, size_t n)
{
	const char *path = arena_printf(mem, "%s/%s", home, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char piece[4001];

	for (size_t at = 0; at < n; at += sizeof(piece)) {
		for (size_t i = 0; i < sizeof(piece); i++)
			piece[i] = (char)((at + i) % 251 + (at >> 16));
		assert_true(write(fd, piece, n - at < sizeof(piece) ? n - at : sizeof(piece)) > 0);
	}
	return fd;
}

static const char *
sum_of(const char *name)
{
	return digest_file(mem, arena_printf(mem, "%s/%s", home, name), NULL);
}

static void
assert_holds(const char *key, const char *text)
{
	size_t n;
	const char *bytes = objects_get(mem, &store, key, 100, &n);

	assert_non_null(bytes);
	assert_int_equal(n, strlen(text));
	assert_string_equal(bytes, text);
}

static void
what_is_written_is_read_and_what_is_deleted_is_not_there(void **state)
{
	struct object_head head;
	size_t n;

	assert_true(objects_write(&store, "a/b.vtt", "WEBVTT", 6, "text/vtt"));
	assert_holds("a/b.vtt", "WEBVTT");
	assert_true(objects_head(&store, "a/b.vtt", &head));
	assert_int_equal(head.size, 6);
	assert_null(objects_get(mem, &store, "a/b.vtt", 5, &n));
	assert_int_equal(errno, EFBIG);
	assert_non_null(objects_get(mem, &store, "a/b.vtt", 6, &n));
	assert_true(objects_write(&store, "a/empty", "", 0, "text/plain"));
	assert_true(objects_write(&store, "a/words", "<Error>", 7, "text/vtt"));
	assert_holds("a/words", "<Error>");
	assert_true(objects_delete(&store, "a/words"));
	assert_holds("a/empty", "");
	assert_true(objects_delete(&store, "a/b.vtt"));
	assert_true(objects_delete(&store, "a/b.vtt"));
	assert_false(objects_head(&store, "a/b.vtt", &head));
	assert_int_equal(errno, ENOENT);
	assert_null(objects_get(mem, &store, "a/b.vtt", 100, &n));
	assert_int_equal(errno, ENOENT);
	assert_true(objects_delete(&store, "a/empty"));
}

static void
a_large_file_goes_in_parts_and_comes_back_whole(void **state)
{
	int fd = file_of("large", LARGE);
	struct object_head head;

	assert_true(objects_put(&store, "originals/large", fd, LARGE, "video/mp4"));
	assert_true(objects_head(&store, "originals/large", &head));
	assert_int_equal(head.size, LARGE);
	assert_true(objects_fetch(&store, "originals/large", arena_printf(mem, "%s/back", home), 0));
	assert_string_equal(sum_of("back"), sum_of("large"));
	unlink(arena_printf(mem, "%s/back", home));
	assert_true(objects_delete(&store, "originals/large"));
	close(fd);
	fd = file_of("small", 1000);
	assert_true(objects_put(&store, "originals/small", fd, 1000, "video/mp4"));
	assert_false(objects_fetch(&store, "originals/small", arena_printf(mem, "%s/back", home), INT64_C(1) << 60));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(access(arena_printf(mem, "%s/back", home), F_OK), -1);
	assert_true(objects_fetch(&store, "originals/small", arena_printf(mem, "%s/back", home), 0));
	assert_string_equal(sum_of("back"), sum_of("small"));
	unlink(arena_printf(mem, "%s/back", home));
	assert_true(objects_delete(&store, "originals/small"));
	close(fd);
}

static void
a_draft_is_seen_when_it_is_published_and_never_when_it_is_dropped(void **state)
{
	int fd = file_of("draft", PART + 1);
	const struct object_draft *d = objects_draft(mem, &store, "originals/d", fd, PART + 1, "video/mp4");
	struct object_head head;
	size_t n;

	assert_non_null(d);
	assert_false(objects_head(&store, "originals/d", &head));
	assert_int_equal(errno, ENOENT);
	assert_non_null(objects_list(mem, &store, "originals/", NULL, 10, &n));
	assert_int_equal(n, 0);
	assert_true(objects_publish(&store, d));
	assert_true(objects_head(&store, "originals/d", &head));
	assert_int_equal(head.size, PART + 1);
	assert_true(objects_delete(&store, "originals/d"));
	d = objects_draft(mem, &store, "originals/d", fd, PART + 1, "video/mp4");
	assert_non_null(d);
	objects_discard(&store, d);
	assert_false(objects_publish(&store, d));
	assert_int_equal(errno, EREMOTEIO);
	assert_false(objects_head(&store, "originals/d", &head));
	close(fd);
}

enum { KILLED = 5 };

static void
drafts_of_killed_programs_are_dropped_when_they_are_old(void **state)
{
	int fd = file_of("draft", 100);
	const struct object_draft *d = NULL;

	/* More than a store tells at once. */
	for (int i = 0; i < KILLED; i++) {
		d = objects_draft(mem, &store, arena_printf(mem, "originals/killed-%d", i), fd, 100, "video/mp4");
		assert_non_null(d);
	}
	assert_int_equal(objects_tidy(&store, (struct moment){ INT64_C(1000000000000) }), 0);
	assert_int_equal(objects_tidy(&store, (struct moment){ moment_now().ms + 86400000 }), KILLED);
	assert_int_equal(objects_tidy(&store, (struct moment){ moment_now().ms + 86400000 }), 0);
	assert_false(objects_publish(&store, d));
	close(fd);
}

static void
assert_lists(const char *prefix, const char *after, size_t max, const char *wanted)
{
	struct buf b = BUF(mem);
	size_t n;
	const struct object_entry *e = objects_list(mem, &store, prefix, after, max, &n);

	assert_non_null(e);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s=%d", i > 0 ? " " : "", e[i].key, (int)e[i].size);
	assert_string_equal(buf_string(&b), wanted);
}

static void
a_list_goes_in_order_and_on_from_any_key(void **state)
{
	static const char *const keys[] = { "l/b", "l/a/x", "l/a/y/z", "l/a.b", "l/a0", "l/c", "la" };
	struct object_entry *e;
	size_t n;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_true(objects_write(&store, keys[i], "123", 3, "text/plain"));
	assert_lists("l/", NULL, 1000, "l/a.b=3 l/a/=-1 l/a0=3 l/b=3 l/c=3");
	assert_lists("l/", NULL, 2, "l/a.b=3 l/a/=-1");
	assert_lists("l/", "l/a/", 2, "l/a0=3 l/b=3");
	assert_lists("l/", "l/a.b", 2, "l/a/=-1 l/a0=3");
	assert_lists("l/", "l/b", 9, "l/c=3");
	assert_lists("l/", "l/c", 9, "");
	assert_lists("nothing/", NULL, 9, "");
	e = objects_list(mem, &store, "l/", NULL, 1, &n);
	assert_true(e[0].put_at.ms > INT64_C(1700000000000));
	assert_true(objects_delete_all(&store, "l/a/"));
	assert_lists("l/", NULL, 1000, "l/a.b=3 l/a0=3 l/b=3 l/c=3");
	assert_true(objects_delete_all(&store, "l/"));
	assert_lists("l/", NULL, 1000, "");
	assert_holds("la", "123");
	assert_true(objects_delete(&store, "la"));
}

static size_t
count(const char *prefix)
{
	size_t n;

	assert_non_null(objects_list(mem, &store, prefix, NULL, 1000, &n));
	return n;
}

/* More than a page: one that goes on where nothing goes away never ends. */
static void
what_a_store_only_says_it_has_deleted_is_not_gone(void **state)
{
	struct objects_tally *tally = objects_peer_tally();

	if (real)
		skip();
	for (int i = 0; i < 150; i++)
		assert_true(objects_write(&store, arena_printf(mem, "d/%s/%03d", i < 20 ? "goes" : "stays", i), "1", 1,
		    "text/plain"));
	for (enum objects_peer_deletes how = PEER_REFUSES; how <= PEER_LIES; how++) {
		tally->deletes = how;
		assert_false(objects_delete_all(&store, "d/"));
		assert_int_equal(errno, EREMOTEIO);
		assert_int_equal(count("d/goes/"), 0);
		assert_int_equal(count("d/stays/"), 130);
	}
	tally->deletes = PEER_DELETES;
	assert_true(objects_delete_all(&store, "d/"));
	assert_int_equal(count("d/"), 0);
	assert_true(objects_delete_all(&store, "d/"));
}

static void
of_many_objects_pages_miss_none(void **state)
{
	const char *after = NULL;
	struct object_entry *e;
	size_t n, all = 0;

	for (int i = 0; i < 257; i++)
		assert_true(objects_write(&store, arena_printf(mem, "many/%03d/x", i * 7919 % 257), "", 0,
		    "text/plain"));
	do {
		e = objects_list(mem, &store, "many/", after, 150, &n);
		for (size_t i = 0; i < n; i++)
			assert_string_equal(e[i].key, arena_printf(mem, "many/%03zu/", all++));
		after = n > 0 ? e[n - 1].key : NULL;
	} while (n == 150);
	assert_int_equal(all, 257);
	assert_true(objects_delete_all(&store, "many/"));
	assert_lists("many/", NULL, 9, "");
}

static void
open_store(void)
{
	const struct conf conf = { .data_dir = home, .store = "s3", .store_endpoint = store.endpoint,
	    .store_bucket = store.bucket, .store_region = store.region, .store_key = store.key,
	    .store_secret = store.secret, .store_prefix = store.prefix };

	assert_true(store_open(&conf));
}

static void
assert_ours(const char *prefix, const char *after, size_t max, const char *wanted)
{
	struct buf b = BUF(mem);
	size_t n;
	const struct store_entry *e = store_list(mem, prefix, after, max, &n);

	assert_non_null(e);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", e[i].key);
	assert_string_equal(buf_string(&b), wanted);
}

static bool
count_visit(void *at, const char *key, int64_t size)
{
	++*(int *)at;
	return true;
}

/* Consoles of stores make an object "originals/" as a folder, and people put files beside ours. */
static void
what_others_put_into_the_bucket_is_in_no_list_of_the_store(void **state)
{
	static const char *const keys[] = { "f/", "f/READ.ME", "f/a/", "f/a/x", "f/a/NOTES", "f/b", "f/~c", "f/d/Of/e",
	    "f/e//g", "f/e/" };
	int visited = 0;

	open_store();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_true(objects_write(&store, keys[i], "", 0, "text/plain"));
	for (int i = 0; i < 250; i++)
		assert_true(objects_write(&store, arena_printf(mem, "f/a/N%03d", i), "", 0, "text/plain"));
	assert_ours("f/", NULL, 1000, "f/a/ f/b f/d/ f/e/");
	assert_ours("f/", NULL, 1, "f/a/");
	assert_ours("f/", "f/a/", 1, "f/b");
	assert_ours("f/", "f/a/", 2, "f/b f/d/");
	assert_ours("f/a/", NULL, 1, "f/a/x");
	assert_ours("f/e/", NULL, 10, "");
	assert_true(store_side_walk(SIDE_BUCKET, "f/", count_visit, &visited));
	assert_int_equal(visited, 2);
	/* All below a key is all. */
	assert_true(store_delete(mem, "f"));
	assert_lists("f/", NULL, 9, "");
}

static void
an_address_opens_one_object_for_a_while(void **state)
{
	const struct moment now = moment_now();
	struct web_call call = { .private_hosts = strstr(store.endpoint, "://") + 3 };
	struct web_answer a;
	char *other;

	assert_true(objects_write(&store, "seen/by.vtt", "anybody", 7, "text/vtt"));
	assert_true(objects_write(&store, "seen/no.vtt", "nobody", 6, "text/vtt"));
	call.url = objects_address(mem, &store, "seen/by.vtt", "GET", NULL, now, (struct moment){ now.ms + 3600000 });
	assert_true(web_call(mem, &call, &a));
	assert_string_equal(a.body, "anybody");
	assert_string_equal(a.type, "text/vtt");
	other = arena_copy(mem, call.url);
	memcpy(strstr(other, "by.vtt"), "no.vtt", 6);
	call.url = other;
	assert_false(web_call(mem, &call, &a));
	assert_int_equal(a.status, 403);
	/* Those who ask within the same ten minutes get the same one, so that it can be cached. */
	assert_string_equal(objects_address(mem, &store, "a", "GET", NULL, (struct moment){ 600000 },
	    (struct moment){ 7200000 }), objects_address(mem, &store, "a", "GET", NULL, (struct moment){ 1199999 },
	    (struct moment){ 7200000 }));
	assert_non_null(strstr(objects_address(mem, &store, "a", "GET", NULL, now,
	    (struct moment){ now.ms + INT64_C(9) * 86400000 }),
	    "X-Amz-Expires=604800&"));
	assert_true(objects_delete_all(&store, "seen/"));
}

static void
an_address_is_for_one_method_and_may_give_a_name(void **state)
{
	const struct moment now = moment_now(), until = { now.ms + 3600000 };
	struct web_call call = { .private_hosts = strstr(store.endpoint, "://") + 3, .method = "HEAD" };
	struct objects reached = store;
	struct web_answer a;

	assert_true(objects_write(&store, "seen/by.zip", "anybody", 7, "application/zip"));
	call.url = objects_address(mem, &store, "seen/by.zip", "HEAD", "attachment; filename=\"by-name.zip\"; "
	    "filename*=UTF-8''by-name.zip", now, until);
	assert_true(web_call(mem, &call, &a));
	assert_int_equal(a.length, 7);
	assert_non_null(strstr(call.url,
	    "&response-content-disposition=attachment%3B%20filename%3D%22by-name.zip%22%3B%20filename%2A%3DUTF-8%27%27"
	    "by-name.zip&"));
	call.url = objects_address(mem, &store, "seen/by.zip", "GET", NULL, now, until);
	assert_null(strstr(call.url, "disposition"));
	assert_non_null(strstr(call.url, "&response-cache-control=private%2C%20no-cache&"));
	assert_false(web_call(mem, &call, &a));
	assert_int_equal(a.status, 403);
	reached.public_endpoint = "https://media.example";
	assert_non_null(strstr(objects_address(mem, &reached, "seen/by.zip", "GET", NULL, now, until),
	    arena_printf(mem, "https://media.example/%s/%sseen/by.zip?", store.bucket, store.prefix)));
	assert_true(objects_delete_all(&store, "seen/"));
}

static void
what_may_pass_is_tried_again(void **state)
{
	if (real)
		skip();
	assert_true(objects_write(&store, "x/busy", "done", 4, "text/plain"));
	assert_holds("x/busy", "done");
}

static void
a_lost_answer_to_the_end_of_a_draft_is_found_out(void **state)
{
	int fd = file_of("draft", 100);
	const struct object_draft *d;

	if (real)
		skip();
	d = objects_draft(mem, &store, "x/lost-answer", fd, 100, "video/mp4");
	assert_true(d != NULL && objects_publish(&store, d));
	assert_true(objects_publish(&store, d));	/* as if the answer had been lost */
	close(fd);
}

static void
what_breaks_off_goes_on_where_it_ended(void **state)
{
	int fd = file_of("whole", 5000000), before;
	struct stat st;

	if (real)
		skip();
	assert_true(objects_put(&store, "x/breaks", fd, 5000000, "video/mp4"));
	before = objects_peer_tally()->ranges;
	assert_true(objects_fetch(&store, "x/breaks", arena_printf(mem, "%s/back", home), 0));
	assert_string_equal(sum_of("back"), sum_of("whole"));
	assert_true(objects_peer_tally()->ranges - before >= 2);
	unlink(arena_printf(mem, "%s/back", home));
	/* What is another object meanwhile is fetched from its beginning. */
	assert_true(objects_put(&store, "x/breaks-changes", fd, 5000000, "video/mp4"));
	assert_true(!objects_fetch(&store, "x/breaks-changes", arena_printf(mem, "%s/back", home), 0) ||
	    strcmp(sum_of("back"), digest_text(mem, memset(arena_alloc(mem, 5000000), 'n', 5000000), 5000000)) == 0);
	assert_true(stat(arena_printf(mem, "%s/back", home), &st) != 0 || st.st_size == 5000000);
	unlink(arena_printf(mem, "%s/back", home));
	close(fd);
}

static void
a_piece_of_an_object_is_read_or_nothing_is(void **state)
{
	assert_true(objects_write(&store, "a/ten", "0123456789", 10, "text/plain"));
	assert_string_equal(objects_get_range(mem, &store, "a/ten", 0, 10), "0123456789");
	assert_string_equal(objects_get_range(mem, &store, "a/ten", 3, 4), "3456");
	assert_null(objects_get_range(mem, &store, "a/ten", 9, 2));
	assert_int_equal(errno, EREMOTEIO);
	assert_null(objects_get_range(mem, &store, "a/ten", 20, 1));
	assert_int_equal(errno, EREMOTEIO);
	assert_null(objects_get_range(mem, &store, "a/eleven", 0, 1));
	assert_int_equal(errno, ENOENT);
	if (real)
		skip();
	assert_true(objects_write(&store, "a/no-ranges", "0123456789", 10, "text/plain"));
	assert_null(objects_get_range(mem, &store, "a/no-ranges", 3, 4));
	assert_int_equal(errno, EREMOTEIO);
	assert_true(objects_write(&store, "a/no-ranges-long", "34567", 5, "text/plain"));
	assert_null(objects_get_range(mem, &store, "a/no-ranges-long", 3, 5));
}

static void
refused(const char *key, int error)
{
	struct object_head head;
	size_t n;

	assert_false(objects_write(&store, key, "x", 1, "text/plain"));
	assert_int_equal(errno, error);
	if (error == EDQUOT)
		return;
	assert_false(objects_head(&store, key, &head));
	assert_int_equal(errno, error);
	assert_null(objects_get(mem, &store, key, 9, &n));
	assert_int_equal(errno, error);
	assert_false(objects_fetch(&store, key, arena_printf(mem, "%s/none", home), 0));
	assert_int_equal(errno, error);
	assert_int_equal(access(arena_printf(mem, "%s/none", home), F_OK), -1);
}

static void
a_store_that_says_no_has_lost_nothing(void **state)
{
	const struct objects fine = store;
	struct object_head head;
	size_t n;

	if (!real) {
		refused("x/denied", EREMOTEIO);
		refused("x/full", EDQUOT);
	}
	store.secret = "wrong";
	refused("x/y", EREMOTEIO);
	store = fine;
	store.bucket = "nosuchbucket";
	assert_null(objects_list(mem, &store, "", NULL, 1, &n));
	assert_int_equal(errno, EREMOTEIO);
	assert_false(objects_write(&store, "x", "x", 1, "text/plain"));
	assert_int_equal(errno, EREMOTEIO);
	/* Answers to HEAD have no body that says it. */
	assert_false(objects_head(&store, "x", &head));
	assert_int_equal(errno, EREMOTEIO);
	assert_false(objects_fetch(&store, "x", arena_printf(mem, "%s/none", home), 0));
	assert_int_equal(errno, EREMOTEIO);
	store = fine;
}

/* Whoever answers in its place could lead us, and what we sign, to any other server. */
static void
a_store_that_sends_elsewhere_is_not_followed(void **state)
{
	static const int statuses[] = { 301, 302, 303, 307, 308 };
	struct object_head head;
	int requests;
	size_t n;

	if (real)
		skip();
	assert_true(objects_write(&store, "elsewhere", "other bytes", 11, "text/plain"));
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		const char *key = arena_printf(mem, "x/moved-%d", statuses[i]);

		requests = objects_peer_tally()->requests;
		assert_false(objects_write(&store, key, "x", 1, "text/plain"));
		assert_int_equal(errno, EREMOTEIO);
		assert_false(objects_head(&store, key, &head));
		assert_null(objects_get(mem, &store, key, 99, &n));
		assert_int_equal(errno, EREMOTEIO);
		assert_false(objects_fetch(&store, key, arena_printf(mem, "%s/none", home), 0));
		assert_int_equal(access(arena_printf(mem, "%s/none", home), F_OK), -1);
		/* Each was asked for once, and nothing else was. */
		assert_int_equal(objects_peer_tally()->requests, requests + 4);
	}
	assert_true(objects_delete_all(&store, "elsewhere"));
}

static void
a_store_that_is_away_is_told_from_one_that_has_nothing(void **state)
{
	const struct objects fine = store;
	size_t n;

	if (!real) {
		objects_peer_end();
	} else {
		store.endpoint = "http://127.0.0.1:9";
	}
	refused("x/y", EHOSTDOWN);
	assert_null(objects_list(mem, &store, "", NULL, 1, &n));
	assert_int_equal(errno, EHOSTDOWN);
	assert_int_equal(n, 0);
	store = fine;
}

static int
setup(void **state)
{
	char *told = getenv("KINOTHEK_TEST_S3");

	mem = arena_new(512 << 20);
	if (mkdtemp(home) == NULL)
		return -1;
	real = told != NULL;
	if (!real) {
		store.endpoint = objects_peer_start(mem);
		return 0;
	}
	told = arena_copy(mem, told);
	store.endpoint = strsep(&told, " ");
	store.bucket = strsep(&told, " ");
	store.key = strsep(&told, " ");
	store.secret = strsep(&told, " ");
	return store.secret != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	objects_peer_end();
	return system(arena_printf(mem, "rm -rf '%s'", home));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_and_what_is_deleted_is_not_there),
		cmocka_unit_test(a_large_file_goes_in_parts_and_comes_back_whole),
		cmocka_unit_test(a_draft_is_seen_when_it_is_published_and_never_when_it_is_dropped),
		cmocka_unit_test(drafts_of_killed_programs_are_dropped_when_they_are_old),
		cmocka_unit_test(a_list_goes_in_order_and_on_from_any_key),
		cmocka_unit_test(of_many_objects_pages_miss_none),
		cmocka_unit_test(what_a_store_only_says_it_has_deleted_is_not_gone),
		cmocka_unit_test(what_others_put_into_the_bucket_is_in_no_list_of_the_store),
		cmocka_unit_test(an_address_opens_one_object_for_a_while),
		cmocka_unit_test(an_address_is_for_one_method_and_may_give_a_name),
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(a_lost_answer_to_the_end_of_a_draft_is_found_out),
		cmocka_unit_test(what_breaks_off_goes_on_where_it_ended),
		cmocka_unit_test(a_piece_of_an_object_is_read_or_nothing_is),
		cmocka_unit_test(a_store_that_says_no_has_lost_nothing),
		cmocka_unit_test(a_store_that_sends_elsewhere_is_not_followed),
		cmocka_unit_test(a_store_that_is_away_is_told_from_one_that_has_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
