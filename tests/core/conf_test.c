/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings: what a file may say, and how it is told when it says something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/arena.h"
#include "core/conf.h"

/* The start is refused, and the sentence is this one. */
static void
refused(const char *text, const char *sentence)
{
	const char *fault = NULL;

	if (conf_parse(text, "f.conf", &fault) != NULL)
		fail_msg("accepted: %s", text);
	assert_string_equal(fault, sentence);
}

static const struct conf *
taken(const char *text)
{
	const char *fault = NULL;
	const struct conf *conf = conf_parse(text, "f.conf", &fault);

	if (conf == NULL)
		fail_msg("refused: %s", fault);
	return conf;
}

static const char *
temporary(const char *content)
{
	static char name[64];
	int fd;

	strcpy(name, "/tmp/conf_test-XXXXXX");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	return name;
}

static void
an_empty_file_gives_the_defaults(void **state)
{
	const struct conf *conf = taken("");

	assert_string_equal(conf->public_url, "http://localhost");
	assert_string_equal(conf->data_dir, "/var/lib/kinothek");
	assert_string_equal(conf->run_dir, "/run/kinothek");
	assert_string_equal(conf->db_socket, "/run/mysqld/mysqld.sock");
	assert_string_equal(conf->db_name, "kinothek");
	assert_null(conf->db_hosts);
	assert_null(conf->db_password);
	assert_null(conf->job_kinds);
	assert_int_equal(conf->db_port, 3306);
	assert_int_equal(conf->free_space, 1 << 30);
	assert_true(conf->require_https);
	assert_string_equal(conf->sandbox, "strict");
	assert_string_equal(conf->play_key_file, "/etc/kinothek/play.key");
}

static void
every_kind_of_value_is_read(void **state)
{
	const struct conf *conf =
	    taken("# a comment\r\n\r\n  public_url = https://media.example.org:8443 \t\r\n"
		  "upload.max_size=20G\nhttp.require_https = no # behind a blank\nvideo.rungs = 720, 360\n"
		  "http.trusted_proxies = 10.0.0.0/8 ::1\njob.slots = 7\nengine.transcribe = http\n"
		  "engine.transcribe.url = http://[::1]:9000/base\ncors.origins = *\njob.kinds =\n");

	assert_string_equal(conf->public_url, "https://media.example.org:8443");
	assert_int_equal(conf->upload_max_size, INT64_C(20) << 30);
	assert_false(conf->require_https);
	assert_string_equal(conf->video_rungs, "720,360");
	assert_string_equal(conf->trusted_proxies, "10.0.0.0/8,::1");
	assert_int_equal(conf->job_slots, 7);
	assert_string_equal(conf->engine[ENGINE_transcribe].url, "http://[::1]:9000/base");
}

static void
a_store_in_a_bucket_needs_to_be_named_whole(void **state)
{
	const char *secret = temporary("s3cret\n"), *all = "store = s3\nstore.endpoint = http://10.0.0.9:7480\n"
	    "store.bucket = films\nstore.key = AK\nstore.secret_file = ";
	char text[1000];
	const struct conf *conf;

	snprintf(text, sizeof(text), "%s%s\nstore.prefix = one/two/\n", all, secret);
	conf = taken(text);
	assert_string_equal(conf->store, "s3");
	assert_string_equal(conf->store_secret, "s3cret");
	assert_string_equal(conf->store_region, "us-east-1");
	assert_string_equal(conf->store_prefix, "one/two/");
	assert_string_equal(taken("")->store, "local");
	refused("store = s3", "f.conf: store = s3 needs store.endpoint, store.bucket, store.key and store.secret_file");
	refused("store = ftp", "f.conf:1: store must be one of: local s3");
	snprintf(text, sizeof(text), "%s%s\nstore.prefix = one\n", all, secret);
	refused(text, "f.conf: store.prefix must be of a-z, 0-9, -, _ and ., end in a slash, and not begin with one");
	snprintf(text, sizeof(text), "%s%s\nstore.prefix = one/../\n", all, secret);
	refused(text, "f.conf: store.prefix must be of a-z, 0-9, -, _ and ., end in a slash, and not begin with one");
	snprintf(text, sizeof(text), "%s%s\nstore.also = local\n", all, secret);
	assert_string_equal(taken(text)->store_also, "local");
	snprintf(text, sizeof(text), "%s%s\nstore.also = s3\n", all, secret);
	refused(text, "f.conf: store.also must name the other store than store does");
	refused("store.also = s3",
	    "f.conf: store.also needs store.endpoint, store.bucket, store.key and store.secret_file");
	snprintf(text, sizeof(text), "%s%s\nstore.region = a/b\n", all, secret);
	refused(text, "f.conf: store.region and store.key must not hold slashes or blanks");
	unlink(secret);
}

static void
an_unknown_key_stops_the_start_and_names_the_nearest_one(void **state)
{
	refused(
	    "\n\nvideo.rung = 720\n", "f.conf:3: there is no setting \"video.rung\"; did you mean \"video.rungs\"?");
	refused("slots = 4", "f.conf:1: there is no setting \"slots\"; did you mean \"job.slots\"?");
	refused("Public_URL = http://x", "f.conf:1: there is no setting \"Public_URL\"; did you mean \"public_url\"?");
	refused("a_wholly_different_thing = 1", "f.conf:1: there is no setting \"a_wholly_different_thing\"");
	refused("= 1", "f.conf:1: there is no setting \"\"");
}

static void
a_line_that_is_no_setting_stops_the_start(void **state)
{
	refused("[section]", "f.conf:1: expected: key = value");
	refused("job.slots 4", "f.conf:1: expected: key = value");
	refused("job.slots = 4\njob.lease = 9\njob.slots = 4\n", "f.conf:3: job.slots is set in line 1 already");
	refused("db.name = \xff\xfe", "f.conf: is not UTF-8");
}

static void
a_value_out_of_range_stops_the_start(void **state)
{
	refused("job.lease = 4", "f.conf:1: job.lease must be a whole number from 5 to 3600");
	refused("job.slots = 4x", "f.conf:1: job.slots must be a whole number from 0 to 256");
	refused("job.slots = 99999999999999999999", "f.conf:1: job.slots must be a whole number from 0 to 256");
	refused("job.slots =", "f.conf:1: job.slots needs a value");
	refused("sandbox = off", "f.conf:1: sandbox must be one of: strict degraded");
	refused("sandbox = strict degraded", "f.conf:1: sandbox must be one of: strict degraded");
	refused("http.require_https = true", "f.conf:1: http.require_https must be yes or no");
	refused("data_dir = media", "f.conf:1: data_dir must be an absolute path");
	refused("free_space = 1.5G",
	    "f.conf:1: free_space must be a number of bytes, with K, M, G or T behind it for larger units");
	refused("upload.max_size = 9999999T", "f.conf:1: upload.max_size must be from 1 to 17592186044416 bytes");
	refused("video.rungs = 720,361",
	    "f.conf:1: video.rungs cannot hold \"361\": it takes even heights from 144 to 4320, "
	    "comma-separated");
	refused("video.rungs = 2160,1440,1080,720,540,360,240,144",
	    "f.conf:1: video.rungs cannot hold more than 7 heights");
	assert_string_equal(taken("video.rungs = 1440,1080,720,540,360,240,144")->video_rungs,
	    "1440,1080,720,540,360,240,144");
	refused("http.trusted_proxies = 10.0.0.0/33",
	    "f.conf:1: http.trusted_proxies cannot hold \"10.0.0.0/33\": it takes "
	    "addresses or networks such as 10.0.0.0/8, comma-separated");
	refused("engine.complete.models = a b\"", "f.conf:1: engine.complete.models cannot hold \"b\"\": it takes "
	    "names of letters, digits and ._-:/@+, comma-separated");
	assert_string_equal(taken("engine.complete.models = org/model-7B, llama3.1:8b")->engine[ENGINE_complete].models,
	    "org/model-7B,llama3.1:8b");
	assert_string_equal(taken("engine.transcribe.others = sherpa:/srv/model")->engine[ENGINE_transcribe].others,
	    "sherpa:/srv/model");
	refused("engine.transcribe.others = sherpa", "f.conf: sherpa in engine.transcribe.others needs its model "
	    "behind it, sherpa:/directory");
	refused("engine.transcribe.others = http:large", "f.conf: http in engine.transcribe.others needs "
	    "engine.transcribe.url");
	refused("engine.transcribe.url = http://x\nengine.transcribe.others = http:", "f.conf: http in "
	    "engine.transcribe.others has a colon, and no model behind it");
	refused("engine.transcribe.url = http://x\nengine.transcribe.others = http:large,http", "f.conf: "
	    "engine.transcribe.others names http twice");
	refused("engine.transcribe.others = pocketsphinx", "f.conf: engine.transcribe.others names pocketsphinx, which "
	    "is no further engine");
	refused("engine.translate.others = http", "f.conf: engine.translate.others names http, which is no further "
	    "engine");
	refused("engine.transcribe = http", "f.conf: engine.transcribe = http needs engine.transcribe.url");
	refused("engine.complete = http", "f.conf: engine.complete = http needs engine.complete.url");
	refused("engine.embed = http", "f.conf: engine.embed = http needs engine.embed.url and engine.embed.model");
	refused("engine.embed = http\nengine.embed.url = http://x",
	    "f.conf: engine.embed = http needs engine.embed.url and engine.embed.model");
	refused("live.rtmps_listen = [::]:1936\nlive.certificate = /a.pem",
	    "f.conf: live.rtmps_listen needs live.certificate and live.certificate_key");
}

static void
the_public_address_is_an_origin_without_a_slash(void **state)
{
	static const char *const bad[] = { "ftp://x", "media.example.org", "http://", "https://:80", "http://x:0",
		"http://x:65536", "http://x:", "http:///a", "http://user@x", "http://a b", "javascript:alert(1)",
		"http://x\"y" };
	char line[100];
	const char *fault;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "public_url = %s", bad[i]);
		if (conf_parse(line, "f.conf", &fault) != NULL)
			fail_msg("accepted: %s", line);
	}
	refused("public_url = https://x/", "f.conf:1: public_url must not end in a slash");
	refused("public_url = https://x/a",
	    "f.conf:1: public_url must end behind the host or the port: no path, no question mark");
	assert_string_equal(taken("public_url = http://[::1]:8080")->public_url, "http://[::1]:8080");
}

static void
the_environment_wins_over_the_file(void **state)
{
	const char *fault = NULL;

	setenv("KINOTHEK_JOB_SLOTS", "9", 1);
	setenv("KINOTHEK_ENGINE_TRANSCRIBE_MODEL", "large", 1);
	assert_int_equal(taken("job.slots = 3")->job_slots, 9);
	assert_string_equal(taken("")->engine[ENGINE_transcribe].model, "large");
	setenv("KINOTHEK_JOB_SLOTS", "many", 1);
	assert_null(conf_parse("job.slots = 3", "f.conf", &fault));
	assert_string_equal(
	    fault, "environment variable KINOTHEK_JOB_SLOTS: job.slots must be a whole number from 0 to 256");
	unsetenv("KINOTHEK_JOB_SLOTS");
	unsetenv("KINOTHEK_ENGINE_TRANSCRIBE_MODEL");
}

static void
an_empty_variable_takes_back_what_the_file_says(void **state)
{
	struct arena *mem = arena_new(1 << 20);
	const char *file = temporary("s3cret\n");
	const struct conf *conf;

	setenv("KINOTHEK_ENGINE_TRANSCRIBE_URL", "", 1);
	setenv("KINOTHEK_DB_PASSWORD_FILE", "", 1);
	setenv("KINOTHEK_DB_HOSTS", "", 1);
	conf = taken(arena_printf(mem, "engine.transcribe.url = http://a\ndb.password_file = %s\ndb.hosts = a\n",
	    file));
	assert_null(conf->engine[ENGINE_transcribe].url);
	assert_null(conf->db_password);
	assert_null(conf->db_hosts);
	unsetenv("KINOTHEK_ENGINE_TRANSCRIBE_URL");
	unsetenv("KINOTHEK_DB_PASSWORD_FILE");
	unsetenv("KINOTHEK_DB_HOSTS");
	unlink(file);
	arena_free(mem);
}

static void
a_database_server_is_a_host_and_perhaps_a_port(void **state)
{
	assert_string_equal(taken("db.hosts = a, a.b:1 [::1], [::1]:3307 ::1")->db_hosts,
	    "a,a.b:1,[::1],[::1]:3307,::1");
	refused("db.hosts = a:b", "f.conf:1: db.hosts cannot hold \"a:b\": it takes host or host:port, "
	    "comma-separated");
	refused("db.hosts = a:65536", "f.conf:1: db.hosts cannot hold \"a:65536\": it takes host or host:port, "
	    "comma-separated");
	refused("db.hosts = [::1", "f.conf:1: db.hosts cannot hold \"[::1\": it takes host or host:port, "
	    "comma-separated");
}

static void
secrets_come_from_files(void **state)
{
	struct arena *mem = arena_new(1 << 20);
	const char *file = temporary("s3cret\nsecond line\n");

	assert_string_equal(taken(arena_printf(mem, "db.password_file = %s", file))->db_password, "s3cret");
	refused(arena_printf(mem, "play.key_file = %s", file),
	    arena_printf(mem, "f.conf:1: play.key_file names %s, which does not hold 64 hex digits", file));
	unlink(file);
	refused(arena_printf(mem, "db.password_file = %s", file),
	    arena_printf(
		mem, "f.conf:1: db.password_file names %s, which cannot be read: No such file or directory", file));
	assert_null(taken(arena_printf(mem, "play.key_file = %s", file))->play_key);
	file = temporary("\n");
	refused(arena_printf(mem, "db.password_file = %s", file),
	    arena_printf(mem, "f.conf:1: db.password_file names %s, whose first line is empty", file));
	unlink(file);
	file = temporary("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
	assert_string_equal(taken(arena_printf(mem, "play.key_file = %s", file))->play_key,
	    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
	unlink(file);
	refused("db.password_file = secret", "f.conf:1: db.password_file must be an absolute path");
	arena_free(mem);
}

static void
a_faulty_file_ends_the_program_with_78(void **state)
{
	const char *file = temporary("nonsense = 1\n");
	int status;
	pid_t child = fork();

	if (child == 0) {
		setenv("KINOTHEK_CONF", file, 1);
		fclose(stderr);
		conf_load();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 78);
	unlink(file);
}

static void
the_reference_names_every_key_once(void **state)
{
	static const char *const keys[] = { "public_url", "db.password_file", "engine.transcribe.key_file",
		"play.key_file", "http.trusted_proxies", "log_level" };
	char *text, *at, quoted[64];
	size_t n, i;
	FILE *out = open_memstream(&text, &n);

	conf_reference(out);
	fclose(out);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(quoted, sizeof(quoted), "\n| `%s` |", keys[i]);
		at = strstr(text, quoted);
		if (at == NULL)
			fail_msg("missing: %s", keys[i]);
		assert_null(strstr(at + 1, quoted));
	}
	assert_non_null(strstr(text, "`KINOTHEK_DB_PASSWORD_FILE` |"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_gives_the_defaults),
		cmocka_unit_test(every_kind_of_value_is_read),
		cmocka_unit_test(a_store_in_a_bucket_needs_to_be_named_whole),
		cmocka_unit_test(an_unknown_key_stops_the_start_and_names_the_nearest_one),
		cmocka_unit_test(a_line_that_is_no_setting_stops_the_start),
		cmocka_unit_test(a_value_out_of_range_stops_the_start),
		cmocka_unit_test(the_public_address_is_an_origin_without_a_slash),
		cmocka_unit_test(the_environment_wins_over_the_file),
		cmocka_unit_test(an_empty_variable_takes_back_what_the_file_says),
		cmocka_unit_test(a_database_server_is_a_host_and_perhaps_a_port),
		cmocka_unit_test(secrets_come_from_files),
		cmocka_unit_test(a_faulty_file_ends_the_program_with_78),
		cmocka_unit_test(the_reference_names_every_key_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
