/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/thumbnail: pictures from outside, decoded by the built kinothek-image in the jail. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/store.h"
#include "tests/world.h"

struct picture { const char *bytes; size_t n; };

/* What a command writes to its standard output. */
static struct picture
made(struct world *w, const char *command)
{
	enum { ROOM = 12 << 20 };
	char *bytes = arena_alloc(w->mem, ROOM);
	FILE *f = popen(command, "r");
	struct picture p;

	assert_non_null(f);
	p = (struct picture){ bytes, fread(bytes, 1, ROOM, f) };
	assert_int_equal(pclose(f), 0);
	assert_true(p.n > 0 && p.n < ROOM);
	return p;
}

/* A JPEG of 300 x 200 that says where it was taken, and that it lies on its side. */
static struct picture
told(struct world *w)
{
	static const char exif[] = "\xff\xe1\0\x50" "Exif\0\0" "II*\0\x08\0\0\0\x02\0"
	    "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0" "\x25\x88\x04\0\x01\0\0\0\x26\0\0\0" "\0\0\0\0"
	    "\x01\0" "\x1c\0\x07\0\x0c\0\0\0\x38\0\0\0" "\0\0\0\0" "SECRETPLACE\0" "\0\0\0\0";
	struct picture p = made(w, "/usr/bin/convert -size 300x200 plasma:red-blue -set comment SECRETNAME -quality 90 "
	    "jpeg:-");
	char *bytes = arena_alloc(w->mem, p.n + 82);

	_Static_assert(sizeof(exif) - 1 >= 82, "as long as it says");
	memcpy(bytes, p.bytes, 2);
	memcpy(bytes + 2, exif, 82);
	memcpy(bytes + 84, p.bytes + 2, p.n - 2);
	return (struct picture){ bytes, p.n + 82 };
}

static const char *
path_of(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "/v2/media/%s/thumbnail", uuid_text(w->mem, id));
}

static struct req *
put_as(struct world *w, const char *token, struct uuid id, struct picture p)
{
	struct req *r = NEW(w->mem, struct req);

	r->content_type = "image/jpeg";
	r->body_size = p.n;
	return call_req(w, r, token, "PUT", path_of(w, id), p.bytes);
}

static struct req *
put(struct world *w, struct uuid id, struct picture p)
{
	return put_as(w, w->token, id, p);
}

/* The file of the picture that was set. */
static struct picture
stored(struct world *w, struct uuid id)
{
	const char *name = db_text(w->db, "SELECT custom_thumbnail_file FROM media WHERE id = ?", ARGS(ID(id)));
	const char *key = store_key_play(w->mem, id, name);
	struct picture p = { arena_alloc(w->mem, (size_t)store_size(w->mem, key)), (size_t)store_size(w->mem, key) };
	int fd = open(world_file(w->mem, key), O_RDONLY);

	assert_int_equal(read(fd, (char *)(uintptr_t)p.bytes, p.n), p.n);
	close(fd);
	return p;
}

static bool
holds(struct picture p, const char *what)
{
	return memmem(p.bytes, p.n, what, strlen(what)) != NULL;
}

static int64_t
used(struct world *w)
{
	return db_number(w->db, "SELECT storage_used FROM tenant_usage WHERE tenant_id = ?", ARGS(ID(w->tenant_id)),
	    -1);
}

static int
files(struct world *w, struct uuid id)
{
	size_t n;

	store_list(w->mem, store_key_play(w->mem, id, "custom/"), NULL, 100, &n);
	return (int)n;
}

/* What is backed up is below originals/; both go with the asset. */
static void
a_thumbnail_is_kept_with_the_original(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *file, *kept;
	char *bytes;
	size_t n;

	assert_int_equal(put(w, id, made(w, "/usr/bin/convert -size 2x3 xc:red png:-"))->status, 200);
	file = db_text(w->db, "SELECT custom_thumbnail_file FROM media WHERE id = ?", ARGS(ID(id)));
	kept = store_key_thumbnail(w->mem, id, file);
	bytes = store_get(w->mem, kept, 10000, &n);
	assert_non_null(bytes);
	assert_int_equal(n, stored(w, id).n);
	assert_memory_equal(bytes, stored(w, id).bytes, n);
	assert_int_equal(put(w, id, made(w, "/usr/bin/convert -size 3x3 xc:red png:-"))->status, 200);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'purge' AND args LIKE CONCAT('%', ?, '%')",
	    ARGS(STR(kept))), 1);
	kept = store_key_thumbnail(w->mem, id, db_text(w->db, "SELECT custom_thumbnail_file FROM media WHERE id = ?",
	    ARGS(ID(id))));
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s?permanent=true", uuid_text(w->mem, id)),
	    NULL)->status, 200);
	assert_int_equal(number(w, "FROM jobs WHERE kind = 'purge' AND args LIKE CONCAT('%', ?, '%')",
	    ARGS(STR(kept))), 1);
}

static void
a_thumbnail_is_typed_by_content_and_gives_way_to_the_generated_one(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct rendition_row poster = { .media_id = id, .generation = "g1", .kind = "poster", .label = "Poster",
	    .width = { 1280, true }, .height = { 720, true }, .mime_type = "image/jpeg", .file = "g1/poster.jpg" };
	struct req *r;

	assert_int_equal(call(w, "GET", path_of(w, id), NULL)->status, 404);
	rendition_put(w->db, &poster);
	asset_summarise(w->db, id, SUM_RENDITIONS);
	assert_string_equal(text(w, call(w, "GET", path_of(w, id), NULL), "data.width"), "1280");
	r = put(w, id, made(w, "/usr/bin/convert -size 2x3 xc:red png:-"));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.mimeType"), "image/png");
	assert_string_equal(text(w, r, "data.height"), "3");
	r = call(w, "GET", path_of(w, id), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.width"), "2");
	assert_int_equal(call(w, "DELETE", path_of(w, id), NULL)->status, 200);
	r = call(w, "GET", path_of(w, id), NULL);
	assert_string_equal(text(w, r, "data.width"), "1280");
	assert_non_null(strstr(text(w, r, "data.url"), "/g1/poster.jpg"));
	assert_int_equal(call(w, "DELETE", path_of(w, id), NULL)->status, 404);
}

static void
nothing_but_the_picture_is_kept_and_it_stands_upright(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture p = told(w);
	struct req *r;

	assert_true(holds(p, "SECRETPLACE") && holds(p, "SECRETNAME"));
	r = put(w, id, p);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.mimeType"), "image/jpeg");
	assert_string_equal(text(w, r, "data.width"), "200");
	assert_string_equal(text(w, r, "data.height"), "300");
	p = stored(w, id);
	assert_false(holds(p, "SECRET") || holds(p, "Exif") || holds(p, "\xff\xfe"));
	p = made(w, "/usr/bin/convert -size 30x20 xc:red -set Title SECRETNAME -set comment SECRETNAME -density 300 "
	    "png:-");
	assert_true(holds(p, "tEXt"));
	assert_int_equal(put(w, id, p)->status, 200);
	p = stored(w, id);
	assert_false(holds(p, "SECRET") || holds(p, "tEXt") || holds(p, "zTXt") || holds(p, "iTXt") ||
	    holds(p, "eXIf"));
}

static void
a_large_picture_is_scaled_and_the_answer_says_how_large_it_is(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct req *r = put(w, id, made(w, "/usr/bin/convert -size 6000x1000 -depth 8 gradient:red-blue png:-"));

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.width"), "3840");
	assert_string_equal(text(w, r, "data.height"), "640");
	assert_string_equal(text(w, r, "data.mimeType"), "image/png");
}

static void
expect_fault(struct world *w, struct uuid id, struct picture p, const char *code)
{
	struct req *r = put(w, id, p);

	if (r->status != 422 || !has_fault(r, "", code))
		fail_msg("no %s, but %d %s", code, r->status, buf_string(&r->out));
}

/* A JPEG with four bytes before the scan that belong to nothing: decoders only warn of them.  Its first n bytes. */
static struct picture
with_odd_bytes(struct world *w, struct picture p, size_t n)
{
	char *bytes = arena_alloc(w->mem, p.n + 4), *scan;

	memcpy(bytes, p.bytes, p.n);
	scan = memmem(bytes, p.n, "\xff\xda\0\x0c", 4);
	assert_non_null(scan);
	memmove(scan + 4, scan, p.n - (size_t)(scan - bytes));
	memcpy(scan, "ABCD", 4);
	return (struct picture){ bytes, n < p.n ? n : n + 4 };
}

static void
what_does_not_decode_to_its_end_is_refused_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture whole[] = { told(w), made(w, "/usr/bin/convert -size 200x200 plasma: png:-") };
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 1; k < 10; k += 2)
			expect_fault(w, id, (struct picture){ whole[i].bytes, whole[i].n * k / 10 + 100 }, "damaged");
	expect_fault(w, id, (struct picture){ whole[0].bytes, whole[0].n - 2 }, "damaged");
	expect_fault(w, id, with_odd_bytes(w, whole[0], whole[0].n / 2), "damaged");
	assert_int_equal(put(w, id, with_odd_bytes(w, whole[0], whole[0].n))->status, 200);
	assert_int_equal(call(w, "DELETE", path_of(w, id), NULL)->status, 200);
	expect_fault(w, id, (struct picture){ "<svg/>", 6 }, "format");
	expect_fault(w, id, made(w, "/usr/bin/convert -size 20x20 xc:red gif:-"), "format");
	expect_fault(w, id, (struct picture){ "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x40\0\0\0\x40\0\x08\x02\0\0\0\0\0\0\0",
	    33 }, "too_large");
	assert_int_equal(files(w, id), 1);		/* the one that was good, which a job purges */
	assert_int_equal(used(w), 1000);
}

static void
access_is_decided_before_a_picture_is_looked_at(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id = world_media(w, "video", "Cat");
	const char *viewer = world_member(w, "ViewChannel CreateContent", "Viewer", NULL);

	assert_int_equal(put(other, id, (struct picture){ "x", 1 })->status, 404);
	assert_int_equal(put_as(w, viewer, id, (struct picture){ "x", 1 })->status, 403);
}

static void
a_thumbnail_counts_in_the_quota_as_long_as_it_is_there(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat"), second = world_media(w, "video", "Dog");
	struct picture large = made(w, "/usr/bin/convert -size 300x300 plasma:red-blue png:-");
	struct picture small = made(w, "/usr/bin/convert -size 20x20 xc:red png:-");
	int64_t size;

	assert_int_equal(put(w, id, large)->status, 200);
	size = (int64_t)stored(w, id).n;
	assert_int_equal(used(w), 2000 + size);
	assert_int_equal(put(w, id, small)->status, 200);
	assert_int_equal(used(w), 2000 + (int64_t)stored(w, id).n);
	assert_int_equal(call(w, "DELETE", path_of(w, id), NULL)->status, 200);
	assert_int_equal(used(w), 2000);

	db_run(w->db, "UPDATE tenants SET storage_quota = ? WHERE id = ?", ARGS(INT(2000 + size - 1),
	    ID(w->tenant_id)));
	assert_int_equal(put(w, id, large)->status, 507);
	assert_int_equal(used(w), 2000);
	assert_int_equal(files(w, id), 2);		/* the two before, which a job purges */
	db_run(w->db, "UPDATE tenants SET storage_quota = ? WHERE id = ?", ARGS(INT(2000 + size), ID(w->tenant_id)));
	assert_int_equal(put(w, id, large)->status, 200);
	assert_int_equal(put(w, second, small)->status, 507);
	/* A smaller one in its place always has room. */
	db_run(w->db, "UPDATE tenants SET storage_quota = 10 WHERE id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(put(w, id, small)->status, 200);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s?permanent=true", uuid_text(w->mem, id)),
	    NULL)->status, 200);
	assert_int_equal(used(w), 1000);
}

static void
without_a_sandbox_no_picture_is_taken(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *before = arena_copy(w->mem, getenv("KINOTHEK_LIBEXEC"));
	struct req *r;

	setenv("KINOTHEK_LIBEXEC", "/nowhere", 1);
	r = put(w, id, made(w, "/usr/bin/convert -size 20x20 xc:red png:-"));
	setenv("KINOTHEK_LIBEXEC", before, 1);
	assert_int_equal(r->status, 503);
	assert_non_null(strstr(text(w, r, "message"), "cannot decode pictures safely"));
	assert_int_equal(files(w, id), 0);
}

static void
a_decoder_that_was_killed_blames_no_picture(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	const char *before = arena_copy(w->mem, getenv("KINOTHEK_LIBEXEC"));
	char dir[] = "/tmp/thumbnails-XXXXXX";
	struct req *r;
	int fd;

	assert_non_null(mkdtemp(dir));
	fd = open(arena_printf(w->mem, "%s/kinothek-image", dir), O_WRONLY | O_CREAT, 0700);
	assert_true(write(fd, "#!/bin/sh\nkill -KILL $$\n", 24) == 24);
	close(fd);
	setenv("KINOTHEK_LIBEXEC", dir, 1);
	r = put(w, id, made(w, "/usr/bin/convert -size 20x20 xc:red png:-"));
	setenv("KINOTHEK_LIBEXEC", before, 1);
	assert_int_equal(system(arena_printf(w->mem, "rm -rf %s", dir)), 0);
	assert_int_equal(r->status, 503);
	assert_int_equal(files(w, id), 0);
}

static void
few_pictures_are_decoded_at_once(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture small = made(w, "/usr/bin/convert -size 20x20 xc:red png:-");
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(arena_printf(w->mem, "%s/decoders", w->conf->run_dir), O_RDWR | O_CREAT, 0600);
	struct req *r;

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	r = put(w, id, small);
	assert_int_equal(r->status, 503);
	assert_int_equal(r->retry_after, 2);
	close(fd);
	assert_int_equal(put(w, id, small)->status, 200);
}

static void
a_tenant_decodes_one_picture_at_a_time(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture small = made(w, "/usr/bin/convert -size 20x20 xc:red png:-");
	struct flock tenants = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 };
	int fd = open(arena_printf(w->mem, "%s/decoders", w->conf->run_dir), O_RDWR | O_CREAT, 0600);

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &tenants), 0);
	assert_int_equal(put(w, id, small)->status, 503);	/* both decoders are free */
	tenants.l_type = F_UNLCK;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &tenants), 0);
	tenants = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &tenants), 0);
	assert_int_equal(put(w, id, small)->status, 200);	/* one is */
	close(fd);
}

static void
who_waits_for_a_decoder_waits_for_a_second_though_the_client_is_watched(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture small = made(w, "/usr/bin/convert -size 20x20 xc:red png:-");
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct req *r = NEW(w->mem, struct req);
	int fd = open(arena_printf(w->mem, "%s/decoders", w->conf->run_dir), O_RDWR | O_CREAT, 0600), client[2];
	int64_t began;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	r->content_type = "image/png";
	r->body_size = small.n;
	r->client_fd = client[0];
	began = clock_ms();
	assert_int_equal(call_req(w, r, w->token, "PUT", path_of(w, id), small.bytes)->status, 503);
	assert_true(clock_ms() - began >= 1000);
	close(fd);
	close(client[0]);
	close(client[1]);
}

/* That this process and those that it waited for have used: what others do meanwhile is not in it. */
static int64_t
cpu_ms(void)
{
	struct rusage u[2];

	getrusage(RUSAGE_SELF, &u[0]);
	getrusage(RUSAGE_CHILDREN, &u[1]);
	return (u[0].ru_utime.tv_sec + u[0].ru_stime.tv_sec + u[1].ru_utime.tv_sec + u[1].ru_stime.tv_sec) * 1000 +
	    (u[0].ru_utime.tv_usec + u[0].ru_stime.tv_usec + u[1].ru_utime.tv_usec + u[1].ru_stime.tv_usec) / 1000;
}

/* Eight gigabytes of text, packed into as many megabytes. */
static void
text_in_a_picture_costs_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture p = made(w, "/usr/bin/convert -size 10x10 xc:red png:- | python3 -c '"
	    "import sys, zlib, struct\n"
	    "png = sys.stdin.buffer.read()\n"
	    "text = b\"zTXta\\0\\0\" + zlib.compress(bytes(8000000), 9)\n"
	    "chunk = struct.pack(\">I\", len(text) - 4) + text + struct.pack(\">I\", zlib.crc32(text))\n"
	    "sys.stdout.buffer.write(png[:33] + chunk * 1000 + png[33:])\n'");
	int64_t before = cpu_ms();

	assert_true(p.n > 4 << 20 && p.n < 10 << 20);
	assert_int_equal(put(w, id, p)->status, 200);
	assert_true(cpu_ms() - before < 2000);
	assert_false(holds(stored(w, id), "zTXt"));
}

static void
of_a_form_exactly_one_file_is_taken(void **state)
{
	struct world *w = *state;
	struct uuid id = world_media(w, "video", "Cat");
	struct picture p = made(w, "/usr/bin/convert -size 20x20 xc:red png:-");
	struct buf body = BUF(w->mem);
	struct req *r = NEW(w->mem, struct req);

	buf_text(&body, "--xyz\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n"
	    "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n");
	buf_add(&body, p.bytes, p.n);
	buf_text(&body, "--xyz is a delimiter at the beginning of a line alone\r\n--xyz--\r\n");
	r->content_type = "multipart/form-data; boundary=xyz";
	r->body_size = body.len;
	assert_int_equal(call_req(w, r, w->token, "PUT", path_of(w, id), body.text)->status, 200);
	r = NEW(w->mem, struct req);
	r->content_type = "multipart/form-data; boundary=abc";
	r->body_size = body.len;
	assert_int_equal(call_req(w, r, w->token, "PUT", path_of(w, id), body.text)->status, 422);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_thumbnail_is_kept_with_the_original),
		WORLD_TEST(a_thumbnail_is_typed_by_content_and_gives_way_to_the_generated_one),
		WORLD_TEST(nothing_but_the_picture_is_kept_and_it_stands_upright),
		WORLD_TEST(a_large_picture_is_scaled_and_the_answer_says_how_large_it_is),
		WORLD_TEST(what_does_not_decode_to_its_end_is_refused_and_leaves_nothing),
		WORLD_TEST(access_is_decided_before_a_picture_is_looked_at),
		WORLD_TEST(a_thumbnail_counts_in_the_quota_as_long_as_it_is_there),
		WORLD_TEST(without_a_sandbox_no_picture_is_taken),
		WORLD_TEST(a_decoder_that_was_killed_blames_no_picture),
		WORLD_TEST(few_pictures_are_decoded_at_once),
		WORLD_TEST(a_tenant_decodes_one_picture_at_a_time),
		WORLD_TEST(who_waits_for_a_decoder_waits_for_a_second_though_the_client_is_watched),
		WORLD_TEST(text_in_a_picture_costs_nothing),
		WORLD_TEST(of_a_form_exactly_one_file_is_taken),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
