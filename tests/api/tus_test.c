/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uploads by tus 1.0.0: each header as the protocol says it, and the bytes as they lie there. */
#include <sys/file.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "core/store.h"
#include "fcgi/upload/tus.h"
#include "fcgi/upload/tus_concat.h"
#include "tests/world.h"

#define MP4 "\0\0\0\030ftypisom\0\0\2\0isomiso2"
#define MIB (1 << 20)

static struct intake here;

/* ---- a client ---- */

struct line { const char *name, *value; };

/* A request: what of it is NULL or 0 is not there. */
struct ask {
	struct line lines[8];
	const char *body;
	size_t n;
	bool bytes;			/* its content type says so */
	bool cut;			/* the connection breaks behind the body */
	const char *version;
	const char *token, *key;	/* key: Idempotency-Key */
};

/* An upload, as its client knows it. */
struct client { struct world *w; const char *id, *ticket, *address; };

struct sending { struct world *w; const struct ask *ask; const char *at; size_t left; };

static const char *
header_of(void *user, const char *name)
{
	const struct sending *s = user;
	const char *version = s->ask->version != NULL ? s->ask->version : "1.0.0";

	if (strcmp(name, "tus-resumable") == 0)
		return *version != '\0' ? version : NULL;
	if (strcmp(name, "content-type") == 0)
		return s->ask->bytes ? "application/offset+octet-stream" : NULL;
	for (size_t i = 0; i < 8 && s->ask->lines[i].name != NULL; i++)
		if (strcasecmp(s->ask->lines[i].name, name) == 0)
			return s->ask->lines[i].value;
	return NULL;
}

static int
read_some(void *user, const struct seat *seat, const void **bytes)
{
	struct sending *s = user;
	size_t n = s->left < 100003 ? s->left : 100003;

	*bytes = s->at;
	s->at += n;
	s->left -= n;
	return seat->ended != ERR_NONE || (n == 0 && s->ask->cut) ? -1 : (int)n;
}

static struct req *
announce(void *user, const char *json, const struct upload_tus *tus)
{
	const struct sending *s = user;
	struct req *r = NEW(s->w->mem, struct req);

	r->tus = tus;
	r->idempotency_key = s->ask->key;
	return call_req(s->w, r, s->ask->token != NULL ? s->ask->token : s->w->token, "POST", "/v2/uploads", json);
}

static struct tus *
tus_new(struct world *w, const struct ask *a)
{
	struct tus *t = NEW(w->mem, struct tus);
	struct sending *s = NEW(w->mem, struct sending);

	if (here.conf == NULL)
		here = (struct intake){ w->conf, links_new(w->conf, 2), room_new(8, 2, 2) };
	*s = (struct sending){ w, a, a->body, a->n };
	*t = (struct tus){ .put = { .in = &here, .mem = w->mem }, .header = header_of, .read = read_some,
	    .announce = announce, .user = s, .length = a->cut ? -1 : (int64_t)a->n, .headers = BUF(w->mem) };
	return t;
}

static struct tus *
ask(const struct client *c, enum error (*run)(struct tus *), const struct ask *a, enum error expected)
{
	struct tus *t = tus_new(c->w, a);
	enum error error;

	assert_true(uuid_parse(c->id, &t->put.id));
	t->put.ticket = c->ticket;
	error = run(t);
	if (error != expected)
		fail_msg("%s, not %s", error_info(error)->code, error_info(expected)->code);
	return t;
}

/* Of what was told; NULL: it was not. */
static const char *
told(struct world *w, const struct tus *t, const char *name)
{
	const char *at = strstr(buf_string(&t->headers), arena_printf(w->mem, "%s: ", name));

	return at == NULL ? NULL : arena_copy_n(w->mem, at + strlen(name) + 2, strcspn(at + strlen(name) + 2, "\r"));
}

static struct client
client_at(struct world *w, const char *address)
{
	struct client c = { .w = w, .address = address, .ticket = strstr(address, "?ticket=") + 8 };

	assert_int_equal(strncmp(address, w->conf->public_url, strlen(w->conf->public_url)), 0);
	c.id = arena_copy_n(w->mem, strstr(address, TUS_PATH "/") + strlen(TUS_PATH "/"), UUID_TEXT - 1);
	return c;
}

static struct tus *
create(struct world *w, const struct ask *a, enum error expected)
{
	struct tus *t = tus_new(w, a);
	enum error error = tus_create(t);

	if (error != expected)
		fail_msg("%s, not %s", error_info(error)->code, error_info(expected)->code);
	return t;
}

static struct client
client_of(struct world *w, const struct ask *a)
{
	struct tus *t = create(w, a, ERR_NONE);

	assert_int_equal(t->made->status, 201);
	assert_int_equal(t->made->out.len, 0);
	return client_at(w, t->made->location);
}

static struct client
client_for(struct world *w, size_t n)
{
	return client_of(w, &(struct ask){ .lines = { { "Upload-Length", arena_printf(w->mem, "%zu", n) },
	    { "Upload-Metadata", "filename YS5tcDQ=" } } });
}

static struct tus *
bring(const struct client *c, size_t offset, const char *bytes, size_t n, enum error expected)
{
	return ask(c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", arena_printf(c->w->mem, "%zu", offset) }
	    },
	    .body = bytes, .n = n, .bytes = true }, expected);
}

static void
is_at(const struct client *c, size_t offset)
{
	struct tus *t = ask(c, tus_head, &(struct ask){ .n = 0 }, ERR_NONE);

	assert_string_equal(told(c->w, t, "Upload-Offset"), arena_printf(c->w->mem, "%zu", offset));
}

static const char *
status_of(const struct client *c)
{
	return text(c->w, call(c->w, "GET", arena_printf(c->w->mem, "/v2/uploads/%s", c->id), NULL), "data.status");
}

/* The beginning of a film and then other bytes each time. */
static char *
film(struct world *w, size_t n)
{
	static unsigned seed = 1;
	char *bytes = arena_raw(w->mem, n);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
	memcpy(bytes, MP4, n < sizeof(MP4) - 1 ? n : sizeof(MP4) - 1);
	return bytes;
}

static void
holds(const struct client *c, const char *bytes, size_t n)
{
	struct uuid id;
	size_t there;
	const char *stored;
	unsigned char md[32];

	assert_true(uuid_parse(c->id, &id));
	stored = store_get(c->w->mem, store_key_original(c->w->mem, id), 100 * MIB, &there);
	assert_non_null(stored);
	assert_int_equal(there, n);
	assert_memory_equal(stored, bytes, n);
	EVP_Digest(bytes, n, md, NULL, EVP_sha256(), NULL);
	assert_string_equal(text(c->w, call(c->w, "GET", arena_printf(c->w->mem, "/v2/uploads/%s", c->id), NULL),
	    "data.sha256"), hex_encode(c->w->mem, md, sizeof(md)));
	assert_string_equal(status_of(c), "uploaded");
	assert_int_equal(store_list(c->w->mem, arena_printf(c->w->mem, "uploads/%s/", c->id), NULL, 100, &there) ==
	    NULL ? 0 :
	    there, 0);
}

static const char *
base64(struct world *w, const void *bytes, size_t n)
{
	char *text = arena_alloc(w->mem, n * 2 + 8);

	EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
	return text;
}

/* ---- tests ---- */

static void
one_is_made_by_who_may_and_says_where_it_goes(void **state)
{
	struct world *w = *state;
	const struct line length = { "Upload-Length", "1000" };
	struct client c = client_of(w, &(struct ask){ .lines = { length, { "Upload-Metadata",
	    "filetype dmlkZW8vbXA0,filename w6QubXA0, transcriptLanguageCodes ZGUsZW4=,empty" } } });
	struct req *r = call(w, "GET", arena_printf(w->mem, "/v2/uploads/%s", c.id), NULL);
	struct tus *t;

	assert_string_equal(text(w, r, "data.fileName"), "ä.mp4");
	assert_string_equal(text(w, r, "data.type"), "tus");
	assert_string_equal(text(w, r, "data.fileSize"), "1000");
	assert_string_equal(text(w, r, "data.transcriptLanguageCodes.1"), "en");
	t = ask(&c, tus_head, &(struct ask){ .n = 0 }, ERR_NONE);
	assert_string_equal(told(w, t, "Upload-Offset"), "0");
	assert_string_equal(told(w, t, "Upload-Length"), "1000");
	assert_string_equal(told(w, t, "Upload-Metadata"),
	    "filetype dmlkZW8vbXA0,filename w6QubXA0, transcriptLanguageCodes ZGUsZW4=,empty");
	assert_non_null(strstr(told(w, t, "Upload-Expires"), " GMT"));
	t = create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename YS5tcDQ=" } } }, ERR_NONE);
	assert_non_null(strstr(told(w, t, "Upload-Expires"), " GMT"));
	t = create(w, &(struct ask){ .lines = { length }, .token = "nobody" }, ERR_NONE);
	assert_int_equal(t->made->status, 401);
	t = create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename YS5tcDQ=" } }, .token =
	    world_member(w, "ViewContent", NULL, NULL) }, ERR_NONE);
	assert_int_equal(t->made->status, 403);
	t = create(w, &(struct ask){ .lines = { length } }, ERR_NONE);
	assert_true(has_fault(t->made, "/fileName", "required"));
	t = create(w, &(struct ask){ .lines = { { "Upload-Length", "0" }, { "Upload-Metadata", "filename YS5tcDQ=" } }
	    },
	    ERR_NONE);
	assert_int_equal(t->made->status, 422);
	create(w, &(struct ask){ .lines = { { "Upload-Defer-Length", "1" } } }, ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { { "Upload-Length", "-1" } } }, ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename %%%" } } }, ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename /w==" } } }, ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename YQBi" } } }, ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename YQ==,\303\244" } } },
	    ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename YQ==,name YQ==, filename Yg==" } } },
	    ERR_BAD_REQUEST);
	create(w, &(struct ask){ .lines = { length, { "Upload-Metadata", "filename YQ==,file YQ==,filenames Yg==" } } },
	    ERR_NONE);
	create(w, &(struct ask){ .lines = { length, { "Upload-Concat", "other" } } }, ERR_BAD_REQUEST);
	assert_int_equal(call(w, "POST", "/v2/uploads", "{\"fileName\":\"a\",\"type\":\"tus\"}")->status, 422);
	r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"a\",\"type\":\"tus\",\"fileSize\":9}");
	c = client_at(w, text(w, r, "data.input.url"));
	is_at(&c, 0);
}

static void
a_version_that_we_do_not_speak_is_told_which(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 1000);
	struct tus *t = ask(&c, tus_head, &(struct ask){ .version = "" }, ERR_TUS_VERSION);
	struct buf all = BUF(w->mem);

	assert_string_equal(told(w, t, "Tus-Version"), "1.0.0");
	assert_null(told(w, t, "Upload-Offset"));
	ask(&c, tus_patch, &(struct ask){ .version = "0.2.2", .bytes = true }, ERR_TUS_VERSION);
	ask(&c, tus_delete, &(struct ask){ .version = "2.0.0" }, ERR_TUS_VERSION);
	create(w, &(struct ask){ .version = "" }, ERR_TUS_VERSION);
	tus_describe(&all, w->conf);
	assert_non_null(strstr(buf_string(&all), "Tus-Extension: creation,creation-with-upload,"));
	is_at(&c, 0);
}

static void
bytes_go_on_where_they_broke(void **state)
{
	struct world *w = *state;
	const size_t n = 3 * MIB + 17;
	struct client c = client_for(w, n);
	const char *bytes = film(w, n);
	struct tus *t;

	t = ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "0" } }, .body = bytes, .n = MIB, .bytes =
	    true,
	    .cut = true }, ERR_INCOMPLETE_BODY);
	assert_null(told(w, t, "Upload-Offset"));
	is_at(&c, MIB);
	bring(&c, MIB + 1, bytes + MIB + 1, 5, ERR_UPLOAD_OFFSET);
	bring(&c, 0, bytes, 5, ERR_UPLOAD_OFFSET);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "1048576" } }, .body = bytes, .n = 5 },
	    ERR_UNSUPPORTED_TYPE);
	ask(&c, tus_patch, &(struct ask){ .body = bytes, .n = 5, .bytes = true }, ERR_BAD_REQUEST);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "-1" } }, .bytes = true }, ERR_BAD_REQUEST);
	bring(&c, MIB, bytes + MIB, n - MIB + 1, ERR_TOO_LARGE);
	bring(&c, n + 1, bytes, 0, ERR_TOO_LARGE);
	is_at(&c, MIB);
	t = bring(&c, MIB, bytes + MIB, MIB, ERR_NONE);
	assert_string_equal(told(w, t, "Upload-Offset"), "2097152");
	assert_string_equal(status_of(&c), "waiting");
	t = bring(&c, 2 * MIB, bytes + 2 * MIB, n - 2 * MIB, ERR_NONE);
	assert_string_equal(told(w, t, "Upload-Offset"), arena_printf(w->mem, "%zu", n));
	holds(&c, bytes, n);
	is_at(&c, n);
	bring(&c, n, bytes, 0, ERR_UPLOAD_RECEIVED);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", c.id), NULL)->status, 200);
	is_at(&c, n);
}

/* A chunked body does not say where it ends: what is too much of it is refused when it comes. */
static void
a_body_that_is_too_long_costs_nothing_that_came_before(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 3000);
	const char *bytes = film(w, 9000);

	struct tus *t;

	bring(&c, 0, bytes, 1000, ERR_NONE);
	t = tus_new(w, &(struct ask){ .lines = { { "Upload-Offset", "1000" } }, .body = bytes, .n = 5, .bytes = true });
	assert_true(uuid_parse(c.id, &t->put.id));
	t->put.ticket = c.ticket;
	t->length = INT64_MAX;
	assert_int_equal(tus_patch(t), ERR_TOO_LARGE);
	is_at(&c, 1000);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "1000" } }, .body = bytes, .n = 2001, .bytes =
	    true,
	    .cut = true }, ERR_TOO_LARGE);
	is_at(&c, 1000);
	bring(&c, 1000, bytes + 1000, 2000, ERR_NONE);
	holds(&c, bytes, 3000);
}

static void
bytes_with_another_checksum_are_thrown_away(void **state)
{
	static const char *kinds[] = { "sha1", "md5", "sha256" };
	struct world *w = *state;
	struct client c = client_for(w, 400000);
	const char *bytes = film(w, 400000), *sum;
	const uint32_t crc = (uint32_t)crc32(0, (const unsigned char *)bytes + 300000, 50000);
	unsigned char md[32];
	unsigned n;
	size_t i;

	for (i = 0; i < 3; i++) {
		EVP_Digest(bytes + i * 100000, 100000, md, &n, EVP_get_digestbyname(kinds[i]), NULL);
		sum = arena_printf(w->mem, "%s %s", kinds[i], base64(w, md, n));
		ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", arena_printf(w->mem, "%zu",
		    i * 100000) },
		    { "Upload-Checksum", sum } }, .body = bytes + i * 100000 + 1, .n = 100000, .bytes = true }, ERR_CHECKSUM);
		is_at(&c, i * 100000);
		ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", arena_printf(w->mem, "%zu",
		    i * 100000) },
		    { "Upload-Checksum", sum } }, .body = bytes + i * 100000, .n = 100000, .bytes = true }, ERR_NONE);
		is_at(&c, (i + 1) * 100000);
	}
	sum = arena_printf(w->mem, "crc32 %s", base64(w, (unsigned char[4]){ crc >> 24, crc >> 16, crc >> 8, crc }, 4));
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "300000" }, { "Upload-Checksum", sum } },
	    .body = bytes + 300001, .n = 50000, .bytes = true }, ERR_CHECKSUM);
	is_at(&c, 300000);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "300000" }, { "Upload-Checksum", sum } },
	    .body = bytes + 300000, .n = 50000, .bytes = true }, ERR_NONE);
	is_at(&c, 350000);
	/* nothing of a body counts that broke before its checksum could be held against it */
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "350000" }, { "Upload-Checksum",
	    "crc32 AAAAAA==" } },
	    .body = bytes + 350000, .n = 50000, .bytes = true, .cut = true }, ERR_INCOMPLETE_BODY);
	is_at(&c, 350000);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "350000" }, { "Upload-Checksum", "crc64 AAAA" }
	    },
	    .body = bytes, .n = 1, .bytes = true }, ERR_BAD_REQUEST);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "350000" }, { "Upload-Checksum", "sha1" } },
	    .body = bytes, .n = 1, .bytes = true }, ERR_BAD_REQUEST);
	bring(&c, 350000, bytes + 350000, 50000, ERR_NONE);
	holds(&c, bytes, 400000);
}

static void
one_with_its_bytes_is_made_in_one_request(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 5000);
	const struct line lines[] = { { "Upload-Length", "5000" }, { "Upload-Metadata", "name YS5tcDQ=" } };
	struct tus *t = create(w, &(struct ask){ .lines = { lines[0], lines[1] }, .body = bytes, .n = 5000, .bytes =
	    true },
	    ERR_NONE);
	struct client c = client_at(w, t->made->location);

	assert_string_equal(told(w, t, "Upload-Offset"), "5000");
	holds(&c, bytes, 5000);
	t = create(w, &(struct ask){ .lines = { lines[0], lines[1] }, .body = bytes, .n = 2000, .bytes = true },
	    ERR_NONE);
	c = client_at(w, t->made->location);
	assert_string_equal(told(w, t, "Upload-Offset"), "2000");
	bring(&c, 2000, bytes + 2000, 3000, ERR_NONE);
	holds(&c, bytes, 5000);
	t = create(w, &(struct ask){ .lines = { lines[0], lines[1] }, .body = "#!/bin/sh\n", .n = 10, .bytes = true },
	    ERR_NONE);
	c = client_at(w, t->made->location);
	is_at(&c, 10);
}

static void
one_that_is_given_up_or_foreign_takes_nothing(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 1000), other = client_for(w, 1000), put = c;
	const char *bytes = film(w, 1000);
	struct req *r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"a\",\"type\":\"put\",\"fileSize\":1000}");
	struct tus *as_one;

	bring(&c, 0, bytes, 500, ERR_NONE);
	other.ticket = c.ticket;
	bring(&other, 0, bytes, 500, ERR_FORBIDDEN);
	ask(&other, tus_head, &(struct ask){ .n = 0 }, ERR_FORBIDDEN);
	ask(&other, tus_delete, &(struct ask){ .n = 0 }, ERR_FORBIDDEN);
	put.id = text(w, r, "data.id");
	put.ticket = strstr(text(w, r, "data.input.url"), "?ticket=") + 8;
	bring(&put, 0, bytes, 500, ERR_FORBIDDEN);
	ask(&put, tus_delete, &(struct ask){ .n = 0 }, ERR_FORBIDDEN);
	is_at(&c, 500);
	as_one = tus_new(w, &(struct ask){ .body = bytes, .n = 1000 });
	assert_true(uuid_parse(c.id, &as_one->put.id));
	as_one->put.ticket = c.ticket;
	assert_int_equal(put_run(&as_one->put), ERR_FORBIDDEN);
	is_at(&c, 500);
	ask(&c, tus_delete, &(struct ask){ .n = 0 }, ERR_NONE);
	assert_string_equal(status_of(&c), "cancelled");
	ask(&c, tus_head, &(struct ask){ .n = 0 }, ERR_UPLOAD_GONE);
	bring(&c, 500, bytes + 500, 500, ERR_UPLOAD_GONE);
	ask(&c, tus_delete, &(struct ask){ .n = 0 }, ERR_UPLOAD_GONE);
}

static void
one_past_its_time_is_gone(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 1000);
	const char *bytes = film(w, 1000);

	bring(&c, 0, bytes, 500, ERR_NONE);
	db_run(w->db, "UPDATE uploads SET expires_at = 1 WHERE id = UNHEX(REPLACE(?, '-', ''))", ARGS(STR(c.id)));
	ask(&c, tus_head, &(struct ask){ .n = 0 }, ERR_UPLOAD_EXPIRED);
	bring(&c, 500, bytes + 500, 500, ERR_UPLOAD_EXPIRED);
	ask(&c, tus_delete, &(struct ask){ .n = 0 }, ERR_UPLOAD_EXPIRED);
	assert_int_equal(error_info(ERR_UPLOAD_EXPIRED)->status, 410);
}

/* A PATCH on a thread of its own, which comes while another one brings bytes. */
struct rival { struct tus *t; pthread_t thread; enum error error; };

static void *
run_rival(void *user)
{
	struct rival *r = user;

	r->error = tus_patch(r->t);
	return NULL;
}

/* One piece, and no more before the rival has ended this one. */
static int
read_and_wait(void *user, const struct seat *seat, const void **bytes)
{
	static char piece[1000];
	struct rival *r = user;

	if (r->thread == 0) {
		assert_int_equal(pthread_create(&r->thread, NULL, run_rival, r), 0);
		memcpy(piece, MP4, sizeof(MP4) - 1);
		*bytes = piece;
		return sizeof(piece);
	}
	for (int i = 0; seat->ended == ERR_NONE && i < 30000; i++)
		usleep(1000);
	return -1;
}

static void
of_two_at_once_the_later_one_goes_on_behind_the_first(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 400000);
	struct ask second = { .lines = { { "Upload-Offset", "0" } }, .body = film(w, 5), .n = 5, .bytes = true };
	struct rival r = { tus_new(w, &second), 0, ERR_NONE };
	struct arena *own = arena_new(1 << 20);
	struct tus *first = tus_new(w, &(struct ask){ .n = 0 });

	assert_true(uuid_parse(c.id, &r.t->put.id));
	r.t->put.ticket = first->put.ticket = c.ticket;
	r.t->put.mem = r.t->headers.mem = own;
	first->put.id = r.t->put.id;
	first->put.read = read_and_wait;
	first->put.user = &r;
	first->put.length = 400000;
	assert_int_equal(put_go_on(&first->put), ERR_UPLOAD_SUPERSEDED);
	pthread_join(r.thread, NULL);
	assert_int_equal(r.error, ERR_UPLOAD_OFFSET);
	assert_int_equal(error_info(r.error)->status, 409);
	arena_free(own);
	is_at(&c, 1000);
}

static void *
give_up(void *arg)
{
	struct rival *r = arg;

	r->error = tus_delete(r->t);
	return NULL;
}

static int64_t
purges_of(const struct client *c)
{
	return db_number(c->w->db, "SELECT COUNT(*) FROM jobs WHERE kind = 'purge' AND args LIKE ?",
	    ARGS(STR(arena_printf(c->w->mem, "%%%s%%", c->id))), 0);
}

/* Its last bytes are settled by who holds the row, for which the DELETE waits. */
static void
one_that_has_arrived_before_it_is_given_up_stays_and_says_so(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 1000);
	struct rival r = { tus_new(w, &(struct ask){ .n = 0 }), 0, ERR_NONE };
	struct db *settles = db_open(w->conf, DB_API);
	struct arena *own = arena_new(1 << 20);
	int tries;

	bring(&c, 0, film(w, 1000), 500, ERR_NONE);
	assert_true(uuid_parse(c.id, &r.t->put.id));
	r.t->put.ticket = c.ticket;
	r.t->put.mem = r.t->headers.mem = own;
	db_use(settles, w->mem);
	db_begin(settles);
	assert_int_equal(db_number(settles, "SELECT COUNT(*) FROM uploads WHERE id = ? FOR UPDATE",
	    ARGS(ID(r.t->put.id)), 0), 1);
	assert_int_equal(pthread_create(&r.thread, NULL, give_up, &r), 0);
	for (tries = 0; tries < 800 && world_waits(w->db) == 0; tries++)
		usleep(150000);
	assert_true(tries < 800);
	assert_int_equal(db_run(settles, "UPDATE uploads SET status = 'uploaded' WHERE id = ?", ARGS(ID(r.t->put.id))),
	    1);
	assert_true(db_commit(settles));
	pthread_join(r.thread, NULL);
	assert_int_equal(error_info(r.error)->status, 409);
	assert_string_equal(status_of(&c), "uploaded");
	assert_int_equal(purges_of(&c), 0);
	db_close(settles);
	arena_free(own);
}

struct lost { struct world *w; struct uuid id; int calls; };

/* The line is lost at the moment when the upload is given up, whose files are deleted before ours is closed. */
static int
read_and_lose(void *user, const struct seat *seat, const void **bytes)
{
	static char piece[1000];
	struct lost *l = user;

	(void)seat;
	if (l->calls++ > 0) {
		assert_int_equal(db_run(l->w->db, "UPDATE uploads SET status = 'cancelled' WHERE id = ?",
		    ARGS(ID(l->id))), 1);
		return -1;
	}
	memcpy(piece, MP4, sizeof(MP4) - 1);
	*bytes = piece;
	return sizeof(piece);
}

static void
nothing_stays_of_one_that_is_given_up_while_its_line_is_lost(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 400000);
	struct tus *t = tus_new(w, &(struct ask){ .n = 0 });
	struct lost l = { .w = w };

	assert_true(uuid_parse(c.id, &l.id));
	t->put.id = l.id;
	t->put.ticket = c.ticket;
	t->put.read = read_and_lose;
	t->put.user = &l;
	t->put.length = 400000;
	assert_int_not_equal(put_go_on(&t->put), ERR_NONE);
	assert_int_equal(l.calls, 2);
	assert_int_equal(access(store_incoming(w->mem, l.id), F_OK), -1);
}

/* As it is while a bucket takes the file, for longer than a proxy or a client waits.  Any other answer to HEAD makes
 * the client for browsers throw all away and begin another upload. */
static void
one_that_is_on_its_way_into_the_store_is_not_taken_over(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 1000);
	const char *bytes = film(w, 1000);
	struct uuid id;
	int64_t attempt;
	int fd;

	bring(&c, 0, bytes, 999, ERR_NONE);
	assert_true(uuid_parse(c.id, &id));
	attempt = db_number(w->db, "SELECT attempt FROM uploads WHERE id = ?", ARGS(ID(id)), -1);
	fd = open(arena_printf(w->mem, "%s/%lld", store_incoming(w->mem, id), (long long)attempt), O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	db_run(w->db, "UPDATE uploads SET status = 'uploading', sha256 = UNHEX(REPEAT('ab', 32)) WHERE id = ?",
	    ARGS(ID(id)));
	ask(&c, tus_head, &(struct ask){ .n = 0 }, ERR_UPLOAD_LOCKED);
	bring(&c, 1000, bytes, 0, ERR_UPLOAD_LOCKED);
	assert_int_equal(db_number(w->db, "SELECT attempt FROM uploads WHERE id = ?", ARGS(ID(id)), -1), attempt);
	assert_int_equal(error_info(ERR_UPLOAD_LOCKED)->status, 423);
	/* Its process was killed: what it had is there. */
	close(fd);
	is_at(&c, 999);
	bring(&c, 999, bytes + 999, 1, ERR_NONE);
	holds(&c, bytes, 1000);
}

static void
what_is_no_media_is_refused_when_it_is_whole(void **state)
{
	struct world *w = *state;
	struct client c = client_for(w, 21);
	struct tus *t = bring(&c, 0, "#!/bin/sh\necho hello\n", 21, ERR_UNSUPPORTED_TYPE);

	assert_int_not_equal(t->put.reason, REASON_NONE);
	assert_string_equal(status_of(&c), "errored");
	ask(&c, tus_head, &(struct ask){ .n = 0 }, ERR_UPLOAD_REFUSED);
}

static struct client
partial_of(struct world *w, const char *bytes, size_t n)
{
	struct client c = client_of(w, &(struct ask){ .lines = { { "Upload-Length", arena_printf(w->mem, "%zu", n) },
	    { "Upload-Concat", "partial" } } });

	bring(&c, 0, bytes, n, ERR_NONE);
	return c;
}

static struct ask
final(struct world *w, const char *addresses)
{
	return (struct ask){ .lines = { { "Upload-Concat", arena_printf(w->mem, "final;%s", addresses) },
	    { "Upload-Metadata", "filename YS5tcDQ=" } } };
}

/* Bytes that may be taken back tell nothing, and those of a part are no beginning. */
static void
what_can_be_no_media_any_more_is_refused_before_it_is_whole(void **state)
{
	enum { SENT = 300000 };
	struct world *w = *state;
	const char *zeros = arena_alloc(w->mem, SENT);
	struct client c = client_for(w, (size_t)10 << 30);
	struct tus *t;

	t = bring(&c, 0, zeros, SENT, ERR_UNSUPPORTED_TYPE);
	assert_in_range(t->put.received, 64 << 10, SENT - 1);
	assert_string_equal(status_of(&c), "errored");
	bring(&c, 0, zeros, SENT, ERR_UPLOAD_REFUSED);
	c = client_for(w, (size_t)10 << 30);
	ask(&c, tus_patch, &(struct ask){ .lines = { { "Upload-Offset", "0" }, { "Upload-Checksum",
	    "crc32 AAAAAA==" } }, .body = zeros, .n = SENT, .bytes = true }, ERR_CHECKSUM);
	is_at(&c, 0);
	c = client_of(w, &(struct ask){ .lines = { { "Upload-Length", "1000000" }, { "Upload-Concat", "partial" } } });
	bring(&c, 0, zeros, SENT, ERR_NONE);
	is_at(&c, SENT);
}

static void
parts_that_came_beside_each_other_become_one(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 2 * MIB);
	struct client a = partial_of(w, bytes, MIB + 5), b = partial_of(w, bytes + MIB + 5, MIB - 5), whole, half,
	    alone;
	struct ask all = final(w, arena_printf(w->mem, "%s %s", a.address, b.address)), again;
	struct tus *t = ask(&a, tus_head, &(struct ask){ .n = 0 }, ERR_NONE);

	assert_string_equal(told(w, t, "Upload-Concat"), "partial");
	assert_string_equal(status_of(&b), "waiting");
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", a.id), NULL)->status, 409);
	whole = client_of(w, &all);
	holds(&whole, bytes, 2 * MIB);
	assert_string_equal(status_of(&a), "cancelled");
	assert_string_equal(status_of(&b), "cancelled");
	is_at(&whole, 2 * MIB);
	/* It says again what it is made of, and takes nothing of its own. */
	t = ask(&whole, tus_head, &(struct ask){ .n = 0 }, ERR_NONE);
	assert_string_equal(told(w, t, "Upload-Concat"), all.lines[0].value);
	bring(&whole, 2 * MIB, bytes, 0, ERR_FORBIDDEN);
	bring(&whole, 0, bytes, 5, ERR_FORBIDDEN);
	holds(&whole, bytes, 2 * MIB);
	again = final(w, arena_printf(w->mem, "%s %s", b.address, a.address));
	create(w, &again, ERR_UPLOAD_CANCELLED);
	half = client_of(w, &(struct ask){ .lines = { { "Upload-Length", "10" }, { "Upload-Concat", "partial" } } });
	again = final(w, half.address);
	create(w, &again, ERR_UPLOAD_NOT_RECEIVED);
	alone = client_for(w, 1000);
	again = final(w, alone.address);
	create(w, &again, ERR_FORBIDDEN);
	again = final(w, arena_printf(w->mem, "%.*s", (int)strcspn(half.address, "?"), half.address));
	create(w, &again, ERR_BAD_REQUEST);
	again = final(w, "");
	create(w, &again, ERR_BAD_REQUEST);
	again = final(w, arena_printf(w->mem, "%s\r\nX: y", half.address));
	create(w, &again, ERR_BAD_REQUEST);
	again = final(w, arena_printf(w->mem, "%8000s", half.address));
	create(w, &again, ERR_BAD_REQUEST);
	half = partial_of(w, "#!/bin/sh\necho hello\n", 21);
	again = final(w, half.address);
	create(w, &again, ERR_UNSUPPORTED_TYPE);
	half = partial_of(w, bytes, 5000);
	again = final(w, arena_printf(w->mem, "%s %s", half.address, half.address));
	create(w, &again, ERR_BAD_REQUEST);
	again = final(w, half.address);
	whole = client_of(w, &again);
	holds(&whole, bytes, 5000);
}

static int64_t
count(struct world *w)
{
	return db_number(w->db, "SELECT COUNT(*) FROM uploads WHERE tenant_id = ?", ARGS(ID(w->tenant_id)), -1);
}

static void
who_asks_again_for_one_of_the_same_parts_gets_the_same(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 9000);
	struct client a = partial_of(w, bytes, 4000), b = partial_of(w, bytes + 4000, 5000), whole, same;
	struct ask all = final(w, arena_printf(w->mem, "%s %s", a.address, b.address)), foreign = all;
	const int64_t before = count(w);

	whole = client_of(w, &all);
	same = client_of(w, &all);
	assert_string_equal(same.id, whole.id);
	is_at(&same, 9000);
	ask(&whole, tus_head, &(struct ask){ .n = 0 }, ERR_FORBIDDEN);
	holds(&same, bytes, 9000);
	/* Nor does it matter that it is an asset by now. */
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "/v2/uploads/%s/complete", whole.id), NULL)->status, 200);
	same = client_of(w, &all);
	assert_string_equal(same.id, whole.id);
	assert_int_equal(count(w), before + 1);
	/* Of nobody else. */
	foreign.token = world_member(w, "CreateContent", "Channel Owner", NULL);
	create(w, &foreign, ERR_UPLOAD_CANCELLED);
}

static void
of_finals_of_the_same_parts_at_once_one_has_them(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 9000);
	struct client a = partial_of(w, bytes, 4000), b = partial_of(w, bytes + 4000, 5000), whole;
	struct ask all = final(w, arena_printf(w->mem, "%s %s", a.address, b.address));
	struct put first = { .in = &here, .mem = w->mem };
	struct tus_concat c;

	assert_int_equal(tus_concat_find(&c, &first, all.lines[0].value), ERR_NONE);
	create(w, &all, ERR_UPLOAD_LOCKED);
	ask(&b, tus_head, &(struct ask){ .n = 0 }, ERR_UPLOAD_LOCKED);
	/* The first one finds all as it was. */
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(access(arena_printf(w->mem, "%s/%lld", store_incoming(w->mem, c.part[i].id),
		    (long long)c.part[i].attempt), R_OK), 0);
	tus_concat_end(&c);
	whole = client_of(w, &all);
	holds(&whole, bytes, 9000);
}

static void
joining_parts_counts_their_bytes_once(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 9000);
	struct client a = partial_of(w, bytes, 4000), b = partial_of(w, bytes + 4000, 5000), whole;
	struct ask all = final(w, arena_printf(w->mem, "%s %s", a.address, b.address)), more = { .lines = {
	    { "Upload-Length", "1" }, { "Upload-Metadata", "filename YS5tcDQ=" } } };

	db_run(w->db, "UPDATE tenants SET storage_quota = COALESCE((SELECT s.storage_used FROM tenant_usage s WHERE "
	    "s.tenant_id = tenants.id), 0) + (SELECT SUM(u.file_size) FROM uploads u WHERE u.tenant_id = tenants.id AND u.status IN "
	    "('waiting', 'uploading', 'uploaded')) WHERE id = ?", ARGS(ID(w->tenant_id)));
	whole = client_of(w, &all);
	holds(&whole, bytes, 9000);
	/* There is room for no more. */
	assert_int_equal(create(w, &more, ERR_NONE)->made->status, 507);
	db_run(w->db, "UPDATE tenants SET storage_quota = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
}

/* Who has the tickets of two tenants could fill the one with what the quota of the other has counted. */
static void
parts_of_another_tenant_become_no_file(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *bytes = film(w, 9000);
	struct client a = partial_of(other, bytes, 9000), b = partial_of(w, bytes, 4000),
	    c = partial_of(w, bytes + 4000, 5000), whole;
	struct ask foreign = final(w, a.address), mixed = final(w, arena_printf(w->mem, "%s %s", b.address, a.address)),
	    ours = final(w, arena_printf(w->mem, "%s %s", b.address, c.address)), theirs = final(other, a.address);
	const int64_t before = count(w);

	assert_int_equal(create(w, &foreign, ERR_NONE)->made->status, 403);
	create(w, &mixed, ERR_FORBIDDEN);
	assert_int_equal(count(w), before);
	whole = client_of(w, &ours);
	holds(&whole, bytes, 9000);
	whole = client_of(other, &theirs);
	holds(&whole, bytes, 9000);
}

static void
a_key_is_for_one_kind_of_upload_and_for_no_others_parts(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 9000), *more = film(w, 9000);
	struct ask plain = { .key = "tus", .lines = { { "Upload-Length", "4000" },
	    { "Upload-Metadata", "filename YS5tcDQ=" } } }, part = plain, said = plain, all;
	struct client first = client_of(w, &plain), a, b, whole, other;

	assert_string_equal(client_of(w, &plain).id, first.id);
	part.lines[2] = (struct line){ "Upload-Concat", "partial" };
	assert_int_equal(create(w, &part, ERR_NONE)->made->status, 422);
	said.lines[1].value = "filename YS5tcDQ=,note YQ==";
	assert_int_equal(create(w, &said, ERR_NONE)->made->status, 422);
	a = partial_of(w, bytes, 4000), b = partial_of(w, bytes + 4000, 5000);
	all = final(w, arena_printf(w->mem, "%s %s", a.address, b.address));
	all.key = "final";
	whole = client_of(w, &all);
	other = client_of(w, &all);
	assert_string_equal(other.id, whole.id);
	a = partial_of(w, more, 4000), b = partial_of(w, more + 4000, 5000);
	all = final(w, arena_printf(w->mem, "%s %s", a.address, b.address));
	all.key = "final";
	other = client_of(w, &all);
	assert_string_not_equal(other.id, whole.id);
	holds(&whole, bytes, 9000);
	holds(&other, more, 9000);
}

/* The connection broke in the body of a creation, or before its answer. */
static void
who_creates_once_more_with_a_body_is_told_where_to_go_on(void **state)
{
	struct world *w = *state;
	const char *bytes = film(w, 400000);
	struct ask all = { .key = "bytes", .lines = { { "Upload-Length", "400000" },
	    { "Upload-Metadata", "filename YS5tcDQ=" } }, .body = bytes, .n = 400000, .bytes = true }, half = all;
	const int64_t before = count(w);
	struct client c;
	struct tus *t;

	half.n = 150000;
	half.cut = true;
	t = create(w, &half, ERR_INCOMPLETE_BODY);
	c = client_at(w, told(w, t, "Location"));
	t = create(w, &all, ERR_NONE);
	assert_int_equal(t->made->status, 201);
	assert_string_equal(t->made->location, c.address);
	assert_string_equal(header(w, t->made, "Idempotent-Replayed"), "true");
	assert_string_equal(told(w, t, "Upload-Offset"), "150000");
	assert_non_null(told(w, t, "Upload-Expires"));
	bring(&c, 150000, bytes + 150000, 250000, ERR_NONE);
	holds(&c, bytes, 400000);
	t = create(w, &all, ERR_NONE);
	assert_string_equal(t->made->location, c.address);
	assert_string_equal(told(w, t, "Upload-Offset"), "400000");
	assert_int_equal(count(w), before + 1);
	/* What is gone is nowhere. */
	half.key = "cancelled";
	c = client_at(w, told(w, create(w, &half, ERR_INCOMPLETE_BODY), "Location"));
	ask(&c, tus_delete, &(struct ask){ .n = 0 }, ERR_NONE);
	t = create(w, &half, ERR_UPLOAD_GONE);
	assert_null(told(w, t, "Location"));
	/* A body that is another one than its checksum says leaves the upload as it was made. */
	all.key = "sum";
	all.lines[2] = (struct line){ "Upload-Checksum", "crc32 AAAAAA==" };
	c = client_at(w, told(w, create(w, &all, ERR_CHECKSUM), "Location"));
	is_at(&c, 0);
}

static int
close_all(void **state)
{
	links_free(here.links);
	room_free(here.room);
	return world_close(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(one_is_made_by_who_may_and_says_where_it_goes),
		WORLD_TEST(a_version_that_we_do_not_speak_is_told_which),
		WORLD_TEST(bytes_go_on_where_they_broke),
		WORLD_TEST(a_body_that_is_too_long_costs_nothing_that_came_before),
		WORLD_TEST(bytes_with_another_checksum_are_thrown_away),
		WORLD_TEST(one_with_its_bytes_is_made_in_one_request),
		WORLD_TEST(one_that_is_given_up_or_foreign_takes_nothing),
		WORLD_TEST(one_past_its_time_is_gone),
		WORLD_TEST(of_two_at_once_the_later_one_goes_on_behind_the_first),
		WORLD_TEST(one_that_has_arrived_before_it_is_given_up_stays_and_says_so),
		WORLD_TEST(nothing_stays_of_one_that_is_given_up_while_its_line_is_lost),
		WORLD_TEST(one_that_is_on_its_way_into_the_store_is_not_taken_over),
		WORLD_TEST(what_is_no_media_is_refused_when_it_is_whole),
		WORLD_TEST(what_can_be_no_media_any_more_is_refused_before_it_is_whole),
		WORLD_TEST(parts_that_came_beside_each_other_become_one),
		WORLD_TEST(who_asks_again_for_one_of_the_same_parts_gets_the_same),
		WORLD_TEST(of_finals_of_the_same_parts_at_once_one_has_them),
		WORLD_TEST(joining_parts_counts_their_bytes_once),
		WORLD_TEST(parts_of_another_tenant_become_no_file),
		WORLD_TEST(a_key_is_for_one_kind_of_upload_and_for_no_others_parts),
		WORLD_TEST(who_creates_once_more_with_a_body_is_told_where_to_go_on),
	};

	return cmocka_run_group_tests(tests, world_open, close_all);
}
