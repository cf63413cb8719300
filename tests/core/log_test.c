/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of the log: one each, with time and objects, and nothing that could be mistaken or must not be there. */
#include <sys/mman.h>

#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/world.h"

static int lines, usual;

/* From here to told() standard error is kept. */
static void
listen_to(void)
{
	lines = memfd_create("log", 0);
	usual = dup(STDERR_FILENO);
	assert_true(lines >= 0 && usual >= 0);
	assert_int_equal(dup2(lines, STDERR_FILENO), STDERR_FILENO);
	log_threshold(LOG_LEVEL_INFO);
}

static const char *
told(void)
{
	static char text[65536];
	ssize_t n = pread(lines, text, sizeof(text) - 1, 0);

	log_format_named("text");
	log_threshold(LOG_LEVEL_ERROR);
	dup2(usual, STDERR_FILENO);
	close(usual);
	close(lines);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static int
count(const char *text, char what)
{
	int n = 0;

	for (; *text != '\0'; text++)
		n += *text == what;
	return n;
}

static void
a_line_begins_with_the_time_and_cannot_be_forged(void **state)
{
	const char *line;
	struct moment at;

	listen_to();
	log_line(LOG_LEVEL_WARN, "test", LOG_TEXT("a", "plain"), LOG_TEXT("b", "x\nlevel=error what=\"y\""),
	    LOG_TEXT("c", NULL), LOG_INT("n", -4), LOG_TEXT("d", ""));
	line = told();
	assert_int_equal(strncmp(line, "time=", 5), 0);
	((char *)(uintptr_t)line)[29] = '\0';
	assert_true(moment_parse(line + 5, &at));
	assert_string_equal(line + 30, "level=warn what=test a=plain b=\"x\\x0alevel=error what=\\\"y\\\"\" n=-4 "
	    "d=\"\"\n");
}

static void
as_json_each_line_is_one_object(void **state)
{
	const char *line, *rest;

	listen_to();
	log_format_named("json");
	log_line(LOG_LEVEL_INFO, "test", LOG_TEXT("a", "x\n\"\\\x7f"), LOG_TEXT("b", "gr\xc3\xbc\xc3\x9f"),
	    LOG_TEXT("c", "not \xff utf-8"), LOG_INT("n", 12));
	line = told();
	rest = strstr(line, ",\"level\"");
	assert_int_equal(strncmp(line, "{\"time\":\"2", 10), 0);
	assert_non_null(rest);
	assert_string_equal(rest, ",\"level\":\"info\",\"what\":\"test\","
	    "\"a\":\"x\\u000a\\\"\\\\\\u007f\",\"b\":\"gr\xc3\xbc\xc3\x9f\","
	    "\"c\":\"not ? utf-8\",\"n\":12}\n");
}

static void
a_value_that_is_too_long_is_shortened_and_the_line_stays_whole(void **state)
{
	char much[9000];
	const char *line;

	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = '\0';
	listen_to();
	log_format_named("json");
	log_line(LOG_LEVEL_INFO, "test", LOG_TEXT("a", much), LOG_TEXT("b", "end"));
	line = told();
	assert_int_equal(count(line, '\n'), 1);
	assert_non_null(strstr(line, "xxx...\",\"b\":\"end\"}\n"));
}

static void
a_request_is_told_with_its_route_its_objects_and_no_token(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *line, *path;

	path = arena_printf(w->mem, "/v2/media/%s?secret=yes", uuid_text(w->mem, id));
	listen_to();
	call(w, "GET", path, NULL);
	line = told();
	assert_non_null(strstr(line, "route=\"GET /v2/media/{mediaId}\""));
	assert_non_null(strstr(line, arena_printf(w->mem, " media=%s ", uuid_text(w->mem, id))));
	assert_non_null(strstr(line, arena_printf(w->mem, " tenant=%s ", uuid_text(w->mem, w->tenant_id))));
	assert_null(strstr(line, w->token));
	assert_null(strstr(line, "secret"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_line_begins_with_the_time_and_cannot_be_forged),
		WORLD_TEST(as_json_each_line_is_one_object),
		WORLD_TEST(a_value_that_is_too_long_is_shortened_and_the_line_stays_whole),
		WORLD_TEST(a_request_is_told_with_its_route_its_objects_and_no_token),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
