/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /watch/events: pages are told that what they show has changed, as long as anybody may see it, and nothing else. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/play.h"
#include "core/role.h"
#include "tests/api/listeners.h"

static void
show(struct world *w, const char *visibility)
{
	db_run(w->db, "UPDATE tenants SET portal_enabled = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	db_run(w->db, "UPDATE channels SET visibility = ? WHERE id = ?", ARGS(STR(visibility), ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
}

static struct req *
list(struct world *w, const char *query)
{
	return call_as(w, NULL, "GET", arena_printf(w->mem, "/watch/events?%s", query), NULL);
}

static const char *
of(struct world *w, const char *kind, struct uuid id)
{
	return arena_printf(w->mem, "%s=%s", kind, uuid_text(w->mem, id));
}

static const char *
next(struct world *w, const struct req *r)
{
	const char *at = strstr(buf_string(&((struct req *)(uintptr_t)r)->out), "\"next\":");

	assert_int_equal(r->status, 200);
	assert_non_null(at);
	return arena_copy_n(w->mem, at + 7, strspn(at + 7, "0123456789"));
}

static bool
says(struct req *r, const char *text_)
{
	assert_int_equal(r->status, 200);
	return strstr(buf_string(&r->out), text_) != NULL;
}

static void
who_may_open_no_page_of_it_follows_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	char token[PAGE_TOKEN_MAX];

	show(w, "private");
	assert_int_equal(list(w, of(w, "media", id))->status, 404);
	assert_int_equal(list(w, of(w, "channel", w->channel_id))->status, 404);
	assert_int_equal(list(w, arena_printf(w->mem, "%s~1.abc", of(w, "media", id)))->status, 404);
	page_token(w->conf, id, moment_now(), token);
	assert_int_equal(list(w, arena_printf(w->mem, "%s~%s", of(w, "media", id), token))->status, 200);
	show(w, "shared");
	assert_int_equal(list(w, of(w, "media", id))->status, 200);
	assert_int_equal(list(w, of(w, "channel", w->channel_id))->status, 200);
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(list(w, of(w, "media", id))->status, 404);
	assert_int_equal(list(w, "media=none,x~y")->status, 404);
	assert_int_equal(list(w, "")->status, 404);
}

/* By who has no token. */
static void
no_more_than_a_hundred_are_looked_for(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct buf many = BUF(w->mem), channels = BUF(w->mem);
	int i;

	show(w, "shared");
	for (i = 0; i < 100; i++) {
		buf_printf(&many, "%s%s", i == 0 ? "media=" : ",", uuid_text(w->mem, uuid_new()));
		buf_printf(&channels, "%s%s", i == 0 ? "channel=" : ",", uuid_text(w->mem, uuid_new()));
	}
	assert_int_equal(list(w, arena_printf(w->mem, "%s&media=%s", buf_string(&channels), uuid_text(w->mem,
	    id)))->status, 200);
	buf_printf(&many, ",%s", uuid_text(w->mem, id));
	buf_printf(&channels, ",%s", uuid_text(w->mem, w->channel_id));
	assert_int_equal(list(w, buf_string(&many))->status, 404);
	assert_int_equal(list(w, buf_string(&channels))->status, 404);
}

static void
a_list_names_what_has_changed_behind_a_number_or_since_a_page_was_asked_for(void **state)
{
	struct world *w = *state;
	struct uuid one = world_media(w, "video", "One"), two = world_media(w, "video", "Two");
	const char *both = arena_printf(w->mem, "media=%s,%s&channel=%s", uuid_text(w->mem, one),
	    uuid_text(w->mem, two), uuid_text(w->mem, w->channel_id)), *first;

	show(w, "shared");
	event_add_job(w->db, two, "media.ready", NULL);
	an_hour_passes(w);
	first = next(w, list(w, both));
	assert_true(says(list(w, both), "\"changed\":[]"));
	assert_true(says(list(w, arena_printf(w->mem, "%s&after=%s", both, first)), "\"changed\":[]"));
	event_add_job(w->db, one, "media.updated", "{\"modified\":[\"name\"]}");
	assert_true(says(list(w, arena_printf(w->mem, "%s&age=60000", both)), uuid_text(w->mem, one)));
	an_hour_passes(w);
	assert_true(says(list(w, arena_printf(w->mem, "%s&age=60000", both)), "\"changed\":[]"));
	assert_true(says(list(w, arena_printf(w->mem, "%s&after=%s", both, first)), arena_printf(w->mem,
	    "\"changed\":[{\"mediaId\":\"%s\"},{\"channelId\":\"%s\"}]", uuid_text(w->mem, one),
	    uuid_text(w->mem, w->channel_id))));
	/* a number that nobody knows: all that is kept */
	assert_true(says(list(w, arena_printf(w->mem, "%s&after=9007199254740991", both)), uuid_text(w->mem, two)));
}

static int
open_page(struct world *w, struct streams *s, const char *query)
{
	return listener_open(w, s, (struct listener){ .uri = arena_printf(w->mem, "/watch/events?%s", query) });
}

static void
a_page_is_told_that_something_has_changed_and_nothing_of_it(void **state)
{
	struct world *w = *state;
	struct uuid one = world_media(w, "video", "One"), two = world_media(w, "video", "Two");
	struct streams *s = streams_new(w->conf, w->db, arena_new(16 << 20));
	const char *told;
	int page, shelf;

	show(w, "shared");
	an_hour_passes(w);
	page = open_page(w, s, of(w, "media", one));
	shelf = open_page(w, s, of(w, "channel", w->channel_id));
	listener_hears(w, s, page, "event: position");
	event_add_job(w->db, two, "media.updated", "{\"modified\":[\"name\"]}");
	told = listener_hears(w, s, shelf, "event: changed");
	assert_non_null(strstr(told, arena_printf(w->mem, "data: {\"channelId\":\"%s\"}", uuid_text(w->mem,
	    w->channel_id))));
	event_add_job(w->db, one, "media.updated", "{\"modified\":[\"name\"]}");
	told = listener_hears(w, s, page, "event: changed");
	assert_non_null(strstr(told, arena_printf(w->mem, "data: {\"mediaId\":\"%s\"}\n", uuid_text(w->mem, one))));
	assert_null(strstr(told, "modified"));
	assert_null(strstr(told, "media.updated"));
	streams_free(s);
	db_use(w->db, w->mem);
	close(page);
	close(shelf);
}

static void
that_it_can_be_seen_no_more_is_the_last_that_a_page_is_told(void **state)
{
	struct world *w = *state;
	struct uuid one = world_media(w, "video", "One"), two = world_media(w, "video", "Two");
	struct streams *s = streams_new(w->conf, w->db, arena_new(16 << 20));
	const char *told;
	int page;

	show(w, "shared");
	page = open_page(w, s, arena_printf(w->mem, "media=%s,%s", uuid_text(w->mem, one), uuid_text(w->mem, two)));
	listener_hears(w, s, page, "event: position");
	call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, one)), NULL);
	listener_hears(w, s, page, uuid_text(w->mem, one));
	event_add_job(w->db, one, "media.updated", "{\"modified\":[\"name\"]}");
	event_add_job(w->db, two, "media.updated", "{\"modified\":[\"name\"]}");
	told = listener_hears(w, s, page, uuid_text(w->mem, two));
	assert_null(strstr(told, uuid_text(w->mem, one)));
	show(w, "private");
	event_add_job(w->db, two, "media.updated", "{\"modified\":[\"name\"]}");
	listener_hears(w, s, page, uuid_text(w->mem, two));
	event_add_job(w->db, two, "media.updated", "{\"modified\":[\"name\"]}");
	show(w, "shared");
	event_add_job(w->db, two, "media.updated", "{\"modified\":[\"name\"]}");
	streams_attend(s);
	streams_free(s);
	db_use(w->db, w->mem);
	told = arena_alloc(w->mem, 4096);
	assert_true(recv(page, (char *)(uintptr_t)told, 4095, 0) > 0);		/* that it ends */
	assert_null(strstr(told, uuid_text(w->mem, two)));
	close(page);
}

static void
a_channel_is_told_that_an_asset_left_it(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams_new(w->conf, w->db, arena_new(16 << 20));
	const char *other = text(w, call(w, "POST", "/v2/channels", "{\"name\":\"Other\"}"), "data.id");
	struct req *r;
	int shelf;

	show(w, "public");
	assert_non_null(other);
	r = call(w, "PUT", arena_printf(w->mem, "/v2/channels/%s/media/%s", other, uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	shelf = open_page(w, s, of(w, "channel", w->channel_id));
	listener_hears(w, s, shelf, "event: position");
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/channels/%s/media/%s", uuid_text(w->mem, w->channel_id),
	    uuid_text(w->mem, id)), NULL);
	assert_int_equal(r->status, 200);
	listener_hears(w, s, shelf, "event: changed");
	streams_free(s);
	db_use(w->db, w->mem);
	close(shelf);
}

/* Where an asset is, and which channels have a page. */
static void
what_pages_are_told_is_asked_for_once_for_all_of_them(void **state)
{
	enum { PAGES = 30, SHELVES = 4, EVENTS = 20, FEW = 20 };
	static const char count[] = "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.SESSION_STATUS "
	    "WHERE VARIABLE_NAME = 'QUESTIONS'";
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams_new(w->conf, w->db, arena_new(16 << 20));
	struct buf shown = BUF(w->mem);
	int64_t before;
	int fds[PAGES], i;

	buf_printf(&shown, "media=%s&channel=%s", uuid_text(w->mem, id), uuid_text(w->mem, w->channel_id));
	for (i = 1; i < SHELVES; i++)
		buf_printf(&shown, ",%s", text(w, call(w, "POST", "/v2/channels", arena_printf(w->mem,
		    "{\"name\":\"Shelf %d\"}", i)), "data.id"));
	db_run(w->db, "UPDATE channels SET visibility = 'shared' WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	for (i = 0; i < PAGES; i++)
		fds[i] = open_page(w, s, buf_string(&shown));
	streams_attend(s);
	for (i = 0; i < EVENTS; i++)
		event_add_job(w->db, id, "media.updated", "{\"modified\":[\"channels\"]}");
	before = db_number(w->db, count, NO_ARGS, -1);
	clock_goes_on(1000);
	streams_attend(s);
	db_use(w->db, w->mem);
	assert_in_range(db_number(w->db, count, NO_ARGS, -1) - before, 1, FEW);
	for (i = 0; i < PAGES; i++) {
		listener_hears(w, s, fds[i], strrchr(buf_string(&shown), ',') + 1);
		close(fds[i]);
	}
	streams_free(s);
	db_use(w->db, w->mem);
	clock_set_back();
}

static void
a_list_that_waits_from_now_on_names_what_it_waited_for(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "One");
	struct streams *s = streams_new(w->conf, w->db, arena_new(16 << 20));
	int fd;

	show(w, "shared");
	fd = listener_waits(w, s, (struct listener){ .uri = arena_printf(w->mem, "/watch/events?wait=25&%s", of(w,
	    "media", id)) });
	event_add_job(w->db, id, "media.updated", "{\"modified\":[\"name\"]}");
	assert_non_null(strstr(listener_hears(w, s, fd, "\"next\":"), uuid_text(w->mem, id)));
	streams_free(s);
	db_use(w->db, w->mem);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(who_may_open_no_page_of_it_follows_nothing),
		WORLD_TEST(no_more_than_a_hundred_are_looked_for),
		WORLD_TEST(a_list_names_what_has_changed_behind_a_number_or_since_a_page_was_asked_for),
		WORLD_TEST(a_page_is_told_that_something_has_changed_and_nothing_of_it),
		WORLD_TEST(that_it_can_be_seen_no_more_is_the_last_that_a_page_is_told),
		WORLD_TEST(a_channel_is_told_that_an_asset_left_it),
		WORLD_TEST(what_pages_are_told_is_asked_for_once_for_all_of_them),
		WORLD_TEST(a_list_that_waits_from_now_on_names_what_it_waited_for),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
