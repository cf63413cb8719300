/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packages: asked for, packed, opened by another program, and gone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "core/archive.h"
#include "core/filename.h"
#include "core/store.h"
#include "jobs/orphans.h"
#include "jobs/package.h"
#include "tests/jobs/intake.h"

static const char film[] = "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=320x180:r=25:d=2 -f lavfi -i "
    "sine=440:r=48000:d=2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -f mp4 \"$f\"";

static void
go(struct world *w)
{
	struct conf conf = *w->conf;

	conf.job_kinds = "download";
	drain(w, &conf);
}

static struct req *
ask(struct world *w, const char *token, const char *body)
{
	return call_as(w, token, "POST", "/v2/downloads", body);
}

/* The address of one that was made. */
static const char *
made(struct world *w, const char *token, const char *body)
{
	struct req *r = ask(w, token, body);

	if (r->status != 201)
		fail_msg("%s: %s", body, buf_string(&r->out));
	assert_string_equal(text(w, r, "data.status"), "preparing");
	assert_null(text(w, r, "data.files.0.url"));
	return arena_printf(w->mem, "/v2/downloads/%s", text(w, r, "data.id"));
}

/* The file of the download behind that address. */
static const char *
key_of(struct world *w, const char *at)
{
	const char *file = db_text(w->db, "SELECT file FROM downloads WHERE id = UNHEX(REPLACE(?, '-', ''))",
	    ARGS(STR(strrchr(at, '/') + 1)));
	struct uuid id;

	assert_non_null(file);
	assert_true(uuid_parse(strrchr(at, '/') + 1, &id));
	return store_key_play(w->mem, id, file);
}

/* On this machine. */
static const char *
path_of(struct world *w, const char *at)
{
	return world_file(w->mem, key_of(w, at));
}

/* "name size method" of each member, as Python reads them, which checks all sums. */
static const char *
members(struct world *w, const char *path)
{
	static char told[8192];
	FILE *f = popen(arena_printf(w->mem, "python3 -c 'import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert "
	    "z.testzip() "
	    "is None\nprint(\"|\".join(f\"{m.filename} {m.file_size} {m.compress_type}\" for m in z.infolist()))' '%s'", path),
	    "r");
	size_t n;

	assert_non_null(f);
	n = fread(told, 1, sizeof(told) - 1, f);
	told[n] = '\0';
	assert_int_equal(pclose(f), 0);
	told[strcspn(told, "\n")] = '\0';
	return told;
}

/* As unzip shows them. */
static const char *
unzipped(struct world *w, const char *path)
{
	FILE *f = popen(arena_printf(w->mem, "LC_ALL=C.UTF-8 unzip -Z1 '%s' | tr '\\n' '|'", path), "r");
	char *told = arena_alloc(w->mem, 8192);

	assert_non_null(f);
	told[fread(told, 1, 8191, f)] = '\0';
	assert_int_equal(pclose(f), 0);
	return told;
}

static const char *
bodies(struct world *w, const char *title, const char *rest)
{
	return arena_printf(w->mem, "{\"title\":\"%s\",%s}", title, rest);
}

static void
names_are_safe_everywhere_and_none_comes_twice(void **state)
{
	static const struct { const char *text, *ending, *name; } cases[] = {
		{ "Talk", "mp4", "Talk.mp4" }, { "talk", "MP4", "talk (2).MP4" }, { "../../etc/passwd", NULL, "_.._etc_passwd" },
		{ "a\\b:c*d?e\"f<g>h|i", "txt", "a_b_c_d_e_f_g_h_i.txt" }, { "con", "mp4", "_con.mp4" }, { "LPT1", NULL, "_LPT1" },
		{ " ... ", "mp4", "file.mp4" }, { "a\nb\rc", NULL, "a b c" }, { "Überblick 😀", "pdf", "Überblick 😀.pdf" },
		{ "\xe2\x80\xae" "4pm.exe", NULL, "4pm.exe" }, { "end. .", NULL, "end" }, { "", NULL, "file" },
		{ "Nul .x", "mp4", "_Nul .x.mp4" }, { "COM¹", "mp4", "_COM¹.mp4" }, { "conin$", NULL, "_conin$" },
		{ "COM12", NULL, "COM12" }, { "\xe2\x80\x8b\xe2\x80\x8b", "mp4", "file (2).mp4" },
		/* The same in another case, and with its dots as a letter of their own. */
		{ "ÜBERBLICK 😀", "PDF", "ÜBERBLICK 😀 (2).PDF" },
		{ "U\xcc\x88" "berblick 😀", "pdf", "U\xcc\x88" "berblick 😀 (3).pdf" },
		{ "Uberblick 😀", "pdf", "Uberblick 😀.pdf" },
	};
	struct world *w = *state;
	struct package p = { NULL, 0, 0 };
	char *long_name = arena_alloc(w->mem, 401);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = package_name(w->mem, &p, cases[i].text, cases[i].ending);

		assert_string_equal(name, cases[i].name);
		package_add(w->mem, &p, (struct package_entry){ name, "x", true });
	}
	memset(long_name, 'a', 400);
	assert_int_equal(strlen(package_name(w->mem, &p, long_name, "mp4")), 255);
	assert_string_equal(package_name(w->mem, &p, long_name, "de.vtt") + 248, ".de.vtt");
	/* A family of four is one character of 25 bytes. */
	for (size_t i = 0; i < 16; i++)
		memcpy(long_name + 25 * i, "👨\u200d👩\u200d👧\u200d👦", 25);
	long_name[400] = '\0';
	assert_int_equal(strlen(package_name(w->mem, &p, long_name, "mp4")), 254);
	memset(long_name, 'a', 248);
	memcpy(long_name + 248, "e\u0301\u0323", 6);
	assert_int_equal(strlen(package_name(w->mem, &p, long_name, "jsonl")), 254);
	long_name[399] = '\0';
	/* But what is longer by itself than a name is cut between code points. */
	for (size_t i = 1; i < 399; i += 2)
		memcpy(long_name + i, "\u0301", 2);
	assert_int_equal(strlen(package_name(w->mem, &p, long_name, "mp4")), 255);
	/* Most file systems take 255 bytes; of Chinese that is fewer characters, and none is cut. */
	for (size_t i = 0; i < 133; i++)
		memcpy(long_name + 3 * i, "会", 3);
	for (size_t i = 0; i < 12; i++) {
		const char *name = package_name(w->mem, &p, long_name, "jsonl");

		assert_true(strlen(name) <= 255);
		assert_non_null(strstr(name, i == 0 ? "会.jsonl" : "会 ("));
		package_add(w->mem, &p, (struct package_entry){ name, "x", true });
	}
}

/* As many assets as a package takes, which people often call the same: what each try needs must not stay. */
static void
hundreds_of_one_name_take_little_memory(void **state)
{
	struct world *w = *state;
	struct arena *mem = arena_new((size_t)64 << 20);
	struct package p = { NULL, 0, 0 };
	const char *name = NULL;
	char text[201] = "";

	memset(text, 'a', 200);
	for (int i = 0; i < 500; i++) {
		name = package_name(mem, &p, text, "mp4");
		package_add(mem, &p, (struct package_entry){ name, "x", false });
	}
	assert_string_equal(name, arena_printf(w->mem, "%s (500).mp4", text));
	arena_free(mem);
}

/* The address of a package has its name, and what is told to who saves it is the same from a disk and from a bucket. */
static void
a_package_is_called_by_its_title_in_any_script(void **state)
{
	static const struct { const char *title, *key, *told; } cases[] = {
		{ "Bürgerversammlung 2026", "/_42_c3_bcrgerversammlung_202026/buergerversammlung-2026.zip",
		    "%42%c3%bcrgerversammlung%202026" },
		{ "../a\"; b=c", "/__2e/a-b-c.zip", NULL },
		{ "会議", "/_e4_bc_9a_e8_ad_b0/download.zip", "%e4%bc%9a%e8%ad%b0" },
		{ "con", "/_5fcon/con.zip", "%5fcon" }, { " . ", "/file/download.zip", "file" },
		{ "\xe2\x80\xae" "gpj", "/gpj/gpj.zip", "gpj" },
	};
	struct world *w = *state;
	char *title = arena_alloc(w->mem, 600);
	const char *key, *told;
	long n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		key = filename_package(w->mem, "play/x/zip/y.1", cases[i].title);
		if (cases[i].told == NULL) {
			assert_null(strpbrk(key + strlen("play/x/zip/y.1/"), " \";\\="));
			continue;
		}
		assert_string_equal(key + strlen("play/x/zip/y.1"), cases[i].key);
		told = arena_printf(w->mem, "attachment; filename=\"%s\"; filename*=UTF-8''%s.zip",
		    strrchr(key, '/') + 1, cases[i].told);
		assert_string_equal(filename_of_package(w->mem, key), told);
	}
	/* Cut between two characters, so that what is left is a text, and its row and the folders of a disk have room
	 * for it. */
	for (int i = 0; i < 4; i++) {
		memset(title, 'a', (size_t)i);
		for (size_t k = 0; k < 100; k++)
			memcpy(title + i + 3 * k, "会", 3);
		title[i + 300] = '\0';
		key = filename_package(w->mem, arena_printf(w->mem, "zip/%s.%lld", uuid_text(w->mem, w->tenant_id),
		    (long long)INT64_MAX), title);
		assert_true(strlen(key) <= 900);
		for (const char *c = key; *c != '\0'; c += strcspn(c, "/") + (strchr(c, '/') != NULL))
			assert_true(strcspn(c, "/") <= 255);
		told = strstr(filename_of_package(w->mem, key), "''") + 2;
		n = percent_decode(title = arena_copy(w->mem, told), strlen(told), false);
		assert_true(n >= 253 && n <= 255 && utf8_valid(title, (size_t)n));
		title = arena_alloc(w->mem, 600);
	}
	assert_string_equal(filename_of_package(w->mem, "play/x/zip/y.1/annual-report.zip"),
	    "attachment; filename=\"annual-report.zip\"; filename*=UTF-8''annual-report.zip");
	assert_null(filename_of_package(w->mem, "play/x/g/y.1/360p.mp4"));
}

/* What is shown is saved only if its address says so, and then under no name that leaves a folder or a line. */
static void
a_file_is_saved_under_the_name_that_its_address_asks_for(void **state)
{
	struct world *w = *state;
	static const char key[] = "play/x/g/y.1/360p.mp4";
	static const char *const refused[] = { "", "?", "?download", "?download=", "?x=1&download=a", "?download=a/b",
	    "?download=a%2fb", "?download=a%5Cb", "?download=a%0d%0ab", "?download=a%7f", "?download=a\"b",
	    "?download=a;b", "?download=a%", "?download=a%4", "?download=a%zz", "?download=a&b=c", "?download=a\r\nB:c",
	    "?download=\xc3\xa4", "?download=a%E2%2F" };
	const char *ask = filename_ask(w->mem, "B\xc3\xbcrger; \"a\"/../\r\n50% b_c.mp4", "/g/360p.mp4");
	char *title = arena_alloc(w->mem, 1001);

	assert_string_equal(ask, "?download=B%C3%BCrger%3B%20_a__.._%20%2050%25%20b_c.mp4");
	assert_string_equal(filename_of_address(w->mem, key, arena_printf(w->mem, "/play/x/360p.mp4%s", ask)),
	    "attachment; filename=\"360p.mp4\"; filename*=UTF-8''B%C3%BCrger%3B%20_a__.._%20%2050%25%20b_c.mp4.mp4");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_null(filename_of_address(w->mem, key, arena_printf(w->mem, "/play/x/360p.mp4%s", refused[i])));
	/* The longest that we ask for is taken, and nothing longer. */
	for (size_t i = 0; i < 500; i++)
		memcpy(title + 2 * i, "ä", 2);
	title[1000] = '\0';
	ask = filename_ask(w->mem, title, "360p.mp4");
	assert_int_equal(strlen(ask), strlen(FILENAME_ASKED) + (255 - 5) * 3);
	assert_non_null(filename_of_address(w->mem, key, ask));
	assert_null(filename_of_address(w->mem, key, arena_printf(w->mem, "%saaaaaaaaaaaaaaaa", ask)));
	assert_string_equal(filename_of_address(w->mem, "play/x/zip/y.1/of-may.zip", "?download=other"),
	    filename_of_package(w->mem, "play/x/zip/y.1/of-may.zip"));
}

static const char *
file_of(struct world *w, const char *name, size_t n)
{
	const char *path = arena_printf(w->mem, "%s/%s", w->conf->data_dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		fputc((int)(i * i >> 3 & 0xff), f);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void
told_percent(void *user, int percent)
{
	(void)user;
	assert_in_range(percent, 0, 100);
}

static void
told(void *user, int64_t bytes)
{
	*(int64_t *)user = bytes;
}

/* As of four gigabytes, or of four bytes and so for all: by what Python and libzip say of them. */
static void
archives_are_read_by_others_whatever_their_size(void **state)
{
	static const int64_t narrow[] = { UINT32_MAX, 500000, 4 };
	struct world *w = *state;
	const char *large = file_of(w, "large", 600001), *empty = file_of(w, "empty", 0), *path = file_of(w, "zip", 9);
	int64_t bytes = -1;
	zip_t *z;

	for (size_t i = 0; i < 3; i++) {
		struct archive a = { .taken = told, .user = &bytes, .narrow = narrow[i] };

		assert_true(archive_begin(&a, w->mem, path));
		assert_true(archive_add(&a, "groß.mp4", large, false));
		assert_true(archive_add(&a, "empty", empty, false));
		assert_true(archive_add(&a, "a.txt", large, true));
		assert_true(archive_add(&a, "b.txt", empty, true));
		assert_true(archive_end(&a));
		assert_int_equal(bytes, 2 * 600001);
		assert_string_equal(members(w, path), "groß.mp4 600001 0|empty 0 0|a.txt 600001 8|b.txt 0 8");
		assert_string_equal(unzipped(w, path), "groß.mp4|empty|a.txt|b.txt|");
		z = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, NULL);
		assert_non_null(z);
		assert_int_equal(zip_get_num_entries(z, 0), 4);
		zip_discard(z);
	}
}

static void
what_cannot_be_read_or_written_is_told(void **state)
{
	struct world *w = *state;
	struct package p = { NULL, 0, 0 };
	struct archive a = { .narrow = UINT32_MAX };
	struct fault fault;

	assert_false(archive_begin(&a, w->mem, w->conf->data_dir));
	assert_int_equal(errno, EISDIR);
	assert_true(archive_begin(&a, w->mem, file_of(w, "zip", 0)));
	assert_false(archive_add(&a, "a", w->conf->data_dir, false));
	assert_int_equal(errno, EISDIR);
	assert_true(archive_begin(&a, w->mem, "/dev/full"));
	assert_false(archive_add(&a, "a", file_of(w, "large", 1000), false));
	assert_int_equal(errno, ENOSPC);
	package_add(w->mem, &p, (struct package_entry){ "a.mp4", file_of(w, "a", 10), false });
	package_add(w->mem, &p, (struct package_entry){ "b.mp4", "/nowhere", false });
	assert_false(package_write(w->mem, &p, file_of(w, "zip", 0), told_percent, NULL, &fault));
	assert_int_not_equal(fault.reason, REASON_NONE);
	assert_int_equal(package_bytes(&p), 10);
}

static void
what_is_selected_is_packed_as_its_maker_may_have_it(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film)), viewer_id;
	const char *viewer = world_member(w, "ViewChannel ViewMetadata", "Viewer", &viewer_id), *id = uuid_text(w->mem,
	    media),
	    *whole, *seen, *narrow, *path, *key, *rendition, *url;
	int64_t original = store_size(w->mem, store_key_original(w->mem, media)), until;
	struct req *r;

	drain(w, w->conf);
	assert_int_equal(call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", id),
	    "{\"name\":\"../Talk: 1/2\"}")->status, 200);
	rendition = db_text(w->db, "SELECT LOWER(CONCAT_WS('-', SUBSTR(HEX(id), 1, 8), SUBSTR(HEX(id), 9, 4), "
	    "SUBSTR(HEX(id), 13, "
	    "4), SUBSTR(HEX(id), 17, 4), SUBSTR(HEX(id), 21))) FROM renditions WHERE media_id = ? AND kind = 'mp4' ORDER BY "
	    "file_size DESC LIMIT 1", ARGS(ID(media)));
	assert_non_null(rendition);
	whole = made(w, w->token, bodies(w, "Council: 23 Nov.", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"],"
	    "\"selectedRenditionIds\":[\"%s\"]", id, rendition)));
	seen = made(w, viewer, bodies(w, "Für mich", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"]", id)));
	/* How far it is, is told while it is packed. */
	db_run(w->db, "UPDATE jobs SET progress = 42 WHERE id = (SELECT job_id FROM downloads WHERE id = "
	    "UNHEX(REPLACE(?, '-', '')))", ARGS(STR(strrchr(whole, '/') + 1)));
	assert_string_equal(text(w, call(w, "GET", whole, NULL), "data.progress"), "42");
	go(w);
	r = call(w, "GET", whole, NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_null(text(w, r, "data.progress"));
	assert_string_equal(text(w, r, "data.files.0.mimeType"), "application/zip");
	url = text(w, r, "data.files.0.url");
	assert_non_null(strstr(url, "/_43ouncil_5f_2023_20_4eov/council-23-nov.zip"));
	/* The address holds as long as the download, and no longer. */
	until = db_number(w->db, "SELECT MAX(FLOOR(expires / 1000)) FROM downloads WHERE title = "
	    "'Council: 23 Nov.' AND file IS NOT NULL AND tenant_id = ?", ARGS(ID(w->tenant_id)), 0);
	assert_true(until > moment_now().ms / 1000 + 6 * 86400);
	assert_non_null(strstr(url, arena_printf(w->mem, "/play/%lld.", (long long)until)));
	path = members(w, path_of(w, whole));
	assert_non_null(strstr(path, arena_printf(w->mem, "_Talk_ 1_2.mp4 %lld 0|", (long long)original)));
	assert_non_null(strstr(path, "_Talk_ 1_2 - "));
	/* Who only looks gets what there is to see. */
	path = members(w, path_of(w, seen));
	assert_null(strstr(path, "|"));
	assert_null(strstr(path, arena_printf(w->mem, " %lld ", (long long)original)));
	/* Nor does a token that may only look get more, whoever has it. */
	narrow = world_member(w, "ViewChannel", "Contributor", &viewer_id);
	seen = made(w, narrow, bodies(w, "Für mich", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"]", id)));
	db_run(w->db, "UPDATE clients SET scopes = 'ViewChannel CreateContent' WHERE id = ?", ARGS(ID(viewer_id)));
	go(w);
	assert_null(strstr(members(w, path_of(w, seen)), arena_printf(w->mem, " %lld ", (long long)original)));
	/* Nobody else's. */
	assert_int_equal(call_as(w, viewer, "GET", whole, NULL)->status, 404);
	assert_int_equal(call_as(w, viewer, "DELETE", whole, NULL)->status, 404);
	assert_int_equal(call_as(w, world_other(w)->token, "GET", whole, NULL)->status, 404);
	/* It goes with its file. */
	key = key_of(w, whole);
	assert_int_equal(call(w, "DELETE", whole, NULL)->status, 200);
	drain(w, w->conf);
	assert_int_equal(store_size(w->mem, key), -1);
	assert_true(store_size(w->mem, key_of(w, seen)) > 0);
}

static void
what_may_not_be_had_is_not_there(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid foreign = world_media(other, "video", "Theirs"), mine = world_media(w, "video", "Mine");
	const char *stranger = world_member(w, "ViewChannel", NULL, NULL), *id = uuid_text(w->mem, mine);
	const struct { const char *token, *body, *pointer, *code; } bad[] = {
		{ w->token, "{\"title\":\"a\"}", "/selectedMediaIds", "required" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\",\"%s\"]", id, uuid_text(w->mem,
		    foreign))), "/selectedMediaIds/1", "not_found" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\",\"%s\"]", id, id)),
		    "/selectedMediaIds/1", "duplicate" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedRenditionIds\":[\"%s\",\"%s\"]", id, id)),
		    "/selectedRenditionIds/1", "duplicate" },
		{ stranger, bodies(w, "a", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"]", id)), "/selectedMediaIds/0",
		    "not_found" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedRenditionIds\":[\"%s\"]", id)),
		    "/selectedRenditionIds/0", "not_found" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedTranscripts\":[{\"id\":\"%s\"}]", id)),
		    "/selectedTranscripts/0", "not_found" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\",\"%s\"]", id, id)),
		    "/selectedMediaIds/1", "duplicate" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedRenditionIds\":[\"%s\",\"%s\"]", id, id)),
		    "/selectedRenditionIds/1", "duplicate" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedTranscripts\":[{\"id\":\"%s\"},{\"id\":\"%s\","
		    "\"format\":\"json\"}]", id, id)), "/selectedTranscripts/1", "duplicate" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"],\"expires\":\"2020-01-01T00:00:00Z\"",
		    id)), "/expires", "too_small" },
		{ w->token, bodies(w, "a", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"],\"expires\":\"2999-01-01T00:00:00Z\"",
		    id)), "/expires", "too_large" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct req *r = ask(w, bad[i].token, bad[i].body);

		if (r->status != 422 || !has_fault(r, bad[i].pointer, bad[i].code))
			fail_msg("%zu, %s: %s", i, bad[i].pointer, buf_string(&r->out));
	}
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'download' AND state = 'ready'", NO_ARGS), 0);
}

/* Transcripts want a permission of their own; what goes in between is left out, and all of it is a failure. */
static void
rights_that_went_are_asked_for_when_it_is_packed(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), other, viewer_id, blind_id, transcript = uuid_new();
	const char *viewer = world_member(w, "ViewChannel ViewMetadata", "Viewer", &viewer_id), *blind = world_member(w,
	    "ViewChannel", "Viewer", &blind_id), *body = bodies(w, "Words", arena_printf(w->mem, "\"selectedTranscripts\":[{\"id\":"
	    "\"%s\",\"format\":\"srt\"},{\"id\":\"%s\",\"format\":\"txt\"}]", uuid_text(w->mem, transcript), uuid_text(w->mem,
	    transcript))), *at;
	struct req *r;

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "version, "
	    "created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'none', 'completed', ?, 1, 1, 1)", ARGS(ID(transcript),
	    ID(media), STR("[{\"id\":\"01900000-0000-7000-8000-000000000000\",\"start\":0.0,\"end\":1.0,\"text\":\"Hello there.\","
	    "\"words\":[]}]")));
	r = ask(w, blind, body);
	assert_true(has_fault(r, "/selectedTranscripts/0", "not_allowed"));
	at = made(w, viewer, body);
	go(w);
	assert_non_null(strstr(members(w, path_of(w, at)), "Cat.en.srt"));
	assert_non_null(strstr(members(w, path_of(w, at)), "Cat.en.txt"));
	assert_int_equal(number(w, "FROM downloads WHERE title = 'Words' AND left_out_count = 0 AND status = 'ready'",
	    NO_ARGS), 1);
	/* What has gone is told. */
	other = world_media(w, "image", "Dog");
	at = made(w, w->token, bodies(w, "Both", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"],"
	    "\"selectedTranscripts\":[{\"id\":\"%s\"}]", uuid_text(w->mem, other), uuid_text(w->mem, transcript))));
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE id = ?", ARGS(ID(other)));
	go(w);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.status"), "ready");
	assert_string_equal(text(w, r, "data.leftOutCount"), "1");
	at = made(w, viewer, body);
	world_role(w, w->channel_id, viewer_id, NULL);
	go(w);
	r = call_as(w, viewer, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.status"), "failed");
	assert_non_null(strstr(text(w, r, "data.error"), "Nothing of it"));
	at = made(w, blind, bodies(w, "Cat", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"]", uuid_text(w->mem,
	    media))));
	assert_int_equal(db_run(w->db, "UPDATE clients SET revoked_at = 1 WHERE id = ?", ARGS(ID(blind_id))), 1);
	go(w);
	r = call(w, "GET", at, NULL);
	assert_string_equal(text(w, r, "data.status"), "failed");
	assert_non_null(strstr(text(w, r, "data.error"), "disabled"));
}

/* One after the other: all of them would not fit into the memory of a job. */
static void
many_long_transcripts_are_packed_in_the_memory_of_one(void **state)
{
	enum { MIB = 1 << 20, LONG = 8 * MIB, MANY = 40 };
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Long"), transcript = uuid_new();
	const char *at, *id = uuid_text(w->mem, transcript);
	struct buf all = BUF(w->mem);

	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "version, created_at, updated_at) VALUES (?, ?, 'en', 'machine', 'none', 'completed', CONCAT('[{\"id\":\"01900000-0000-"
	    "7000-8000-000000000000\",\"start\":0.0,\"end\":1.0,\"text\":\"', REPEAT('a', ?), '\",\"words\":[]}]'), 1, "
	    "1, 1)", ARGS(ID(transcript), ID(media), INT(LONG)));
	at = made(w, w->token, bodies(w, "Words", arena_printf(w->mem, "\"selectedTranscripts\":[{\"id\":\"%s\"}]",
	    id)));
	for (int i = 0; i < MANY; i++)
		buf_printf(&all, "%s{\"id\":\"%s\",\"format\":\"%s\"}", i == 0 ? "[" : ",", id, i % 2 == 0 ?
		    "docx" : "json");
	buf_text(&all, "]");
	db_run(w->db, "UPDATE downloads SET selected_transcripts = ? WHERE id = UNHEX(REPLACE(?, '-', ''))",
	    ARGS(STR(buf_string(&all)), STR(strrchr(at, '/') + 1)));
	go(w);
	assert_string_equal(text(w, call(w, "GET", at, NULL), "data.status"), "ready");
	assert_non_null(strstr(members(w, path_of(w, at)), "Long (20).en.json"));
	assert_non_null(strstr(members(w, path_of(w, at)), "Long (20).en.docx"));
}

static void
its_file_is_kept_as_long_as_its_row(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, film));
	struct conf conf = *w->conf;
	const char *at, *key;

	drain(w, w->conf);
	at = made(w, w->token, bodies(w, "All", arena_printf(w->mem, "\"selectedMediaIds\":[\"%s\"]", uuid_text(w->mem,
	    media))));
	go(w);
	key = key_of(w, at);
	db_run(w->db, "UPDATE downloads SET expires = 1 WHERE id = UNHEX(REPLACE(?, '-', ''))", ARGS(STR(strrchr(at,
	    '/') + 1)));
	job_add(w->db, sweep, (struct job_place){ .priority = PRIORITY_FIRST }, .note = "");
	conf.job_kinds = "sweep";
	drain(w, &conf);
	assert_int_equal(call(w, "GET", at, NULL)->status, 404);
	assert_true(store_size(w->mem, key) > 0);	/* an address may have been handed out just now */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(names_are_safe_everywhere_and_none_comes_twice),
		WORLD_TEST(hundreds_of_one_name_take_little_memory),
		WORLD_TEST(a_package_is_called_by_its_title_in_any_script),
		WORLD_TEST(a_file_is_saved_under_the_name_that_its_address_asks_for),
		WORLD_TEST(archives_are_read_by_others_whatever_their_size),
		WORLD_TEST(what_cannot_be_read_or_written_is_told),
		WORLD_TEST(what_is_selected_is_packed_as_its_maker_may_have_it),
		WORLD_TEST(what_may_not_be_had_is_not_there),
		WORLD_TEST(rights_that_went_are_asked_for_when_it_is_packed),
		WORLD_TEST(many_long_transcripts_are_packed_in_the_memory_of_one),
		WORLD_TEST(its_file_is_kept_as_long_as_its_row),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
