/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/uploads as a client sees it, and what kinothek-upload does with the bytes in between. */
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/role.h"
#include "core/store.h"
#include "fcgi/upload/partial.h"
#include "fcgi/upload/put.h"
#include "tests/world.h"

#define MP4 "\0\0\0\030ftypisom\0\0\2\0isomiso2"
#define CLIP MP4 "some more bytes of a film"
#define CLIP_SIZE ((int64_t)sizeof(CLIP) - 1)

/* A body as it comes from a connection. */
struct body { const char *bytes; int64_t size, at; bool broken; unsigned nap; void (*between)(void *); void *user; };

/* One process, and another. */
static struct intake here, there;

static int
body_read(void *user, const struct seat *seat, const void **bytes)
{
	struct body *b = user;
	int64_t left = b->size - b->at;
	int n = left < 7 ? (int)left : 7;

	if (b->at > 0 && b->between != NULL) {
		b->between(b->user);
		b->between = NULL;
	}
	if (b->nap > 0)
		usleep(b->nap * 1000);
	*bytes = b->bytes + b->at;
	b->at += n;
	return seat->ended != ERR_NONE || (n == 0 && b->broken) ? -1 : n;
}

static const struct intake *
process(struct world *w, struct intake *in)
{
	if (in->conf == NULL)
		*in = (struct intake){ w->conf, links_new(w->conf, 1), room_new(4, 1, 1) };
	return in;
}

static int
close_all(void **state)
{
	struct intake *each[] = { &here, &there };
	int i;

	for (i = 0; i < 2; i++) {
		links_free(each[i]->links);
		room_free(each[i]->room);
	}
	return world_close(state);
}

static const char *
path_of(struct world *w, const char *id, const char *rest)
{
	return arena_printf(w->mem, "/v2/uploads/%s%s", id, rest);
}

static const char *
new_upload_as(struct world *w, const char *token, const char *body)
{
	struct req *r = call_as(w, token, "POST", "/v2/uploads", arena_printf(w->mem, "{\"type\":\"put\",%s", body +
	    1));

	assert_int_equal(r->status, 201);
	return arena_printf(w->mem, "%s %s", text(w, r, "data.id"), strstr(text(w, r, "data.input.url"), "?ticket=") +
	    8);
}

/* "id ticket" of a new upload; id() and send() take it apart. */
static const char *
new_upload(struct world *w)
{
	return new_upload_as(w, w->token, "{\"fileName\":\"Holiday.mp4\"}");
}

static const char *
id_of(struct world *w, const char *upload)
{
	return arena_copy_n(w->mem, upload, UUID_TEXT - 1);
}

static struct uuid
uuid_of(struct world *w, const char *upload)
{
	struct uuid id;

	assert_true(uuid_parse(id_of(w, upload), &id));
	return id;
}

static struct put *
send_to(struct world *w, struct intake *in, const char *upload, struct body *b, int64_t length)
{
	struct put *p = NEW(w->mem, struct put);

	*p = (struct put){ .in = process(w, in), .mem = w->mem, .id = uuid_of(w, upload), .ticket = upload + UUID_TEXT,
	    .length = length, .window = b->nap > 0 ? 60 : 0, .read = body_read, .user = b };
	put_run(p);
	return p;
}

static struct put *
send_body(struct world *w, const char *upload, struct body *b, int64_t length)
{
	return send_to(w, &here, upload, b, length);
}

static enum error
send_bytes(struct world *w, const char *upload, const char *bytes, int64_t size)
{
	struct body b = { .bytes = bytes, .size = size };

	return send_body(w, upload, &b, size)->error;
}

static const char *
uploaded(struct world *w)
{
	const char *upload = new_upload(w);

	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	return upload;
}

/* What POST /v2/uploads answers for a file of that size; 0: it is not said. */
static int
opened(struct world *w, const char *token, int size)
{
	const char *body = arena_printf(w->mem, "{\"fileName\":\"a\",\"fileSize\":%d}", size);

	return call_as(w, token, "POST", "/v2/uploads", size == 0 ? "{\"fileName\":\"a\"}" : body)->status;
}

static const char *
status_of(struct world *w, const char *upload)
{
	return text(w, call(w, "GET", path_of(w, id_of(w, upload), ""), NULL), "data.status");
}

static struct req *
complete(struct world *w, const char *upload, const char *body)
{
	return call(w, "PUT", path_of(w, id_of(w, upload), "/complete"), body);
}

static const char *
original(struct world *w, const char *upload)
{
	return arena_printf(w->mem, "originals/%s", id_of(w, upload));
}

/* Nothing that was being received is left. */
static void
assert_no_parts(struct world *w, const char *upload)
{
	assert_int_equal(access(store_incoming(w->mem, uuid_of(w, upload)), F_OK), -1);
}

static void
languages_that_nobody_names_are_those_of_the_tenant(void **state)
{
	static const struct { const char *body, *codes; } all[] = {
		{ "{\"fileName\":\"a.mp4\"}", "[ \"de\", \"translate-en\" ]" },
		{ "{\"fileName\":\"a.mp4\",\"transcriptLanguageCodes\":[\"fr\"]}", "[ \"fr\" ]" },
		{ "{\"fileName\":\"a.mp4\",\"transcriptLanguageCodes\":[]}", "[ ]" },
	};
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/uploads", all[0].body);

	assert_int_equal(r->status, 201);
	assert_null(text(w, r, "data.transcriptLanguageCodes.0"));
	r = call(w, "PATCH", "/v2/tenants/current/settings", "{\"transcriptionLanguages\":[\"de\",\"translate-en\"]}");
	assert_int_equal(r->status, 200);
	for (size_t i = 0; i < 3; i++) {
		r = call(w, "POST", "/v2/uploads", all[i].body);
		assert_string_equal(text(w, r, "data.transcriptLanguageCodes"), all[i].codes);
	}
}

static void
an_upload_says_where_its_bytes_go(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"a.mp4\",\"type\":\"put\",\"fileSize\":12,"
	    "\"transcriptLanguageCodes\":[\"de\",\"translate-en\"]}");

	assert_int_equal(r->status, 201);
	assert_string_equal(text(w, r, "data.status"), "waiting");
	assert_string_equal(text(w, r, "data.type"), "put");
	assert_string_equal(text(w, r, "data.fileSize"), "12");
	assert_string_equal(text(w, r, "data.receivedBytes"), "0");
	assert_string_equal(text(w, r, "data.input.method"), "PUT");
	assert_string_equal(text(w, r, "data.transcriptLanguageCodes.1"), "translate-en");
	assert_null(text(w, r, "data.mediaId"));
	assert_non_null(text(w, r, "data.expiresAt"));
	assert_int_equal(strncmp(text(w, r, "data.input.url"), w->conf->public_url, strlen(w->conf->public_url)), 0);
	assert_int_equal(strlen(strstr(text(w, r, "data.input.url"), "?ticket=")), 8 + 43);
	r = call(w, "GET", path_of(w, text(w, r, "data.id"), ""), NULL);
	assert_int_equal(r->status, 200);
	assert_null(text(w, r, "data.input"));
	assert_null(text(w, r, "data.ticketHash"));
	assert_null(text(w, r, "data.principalId"));
}

static void
every_odd_file_name_is_only_a_label(void **state)
{
	static const char *const names[] = { "../../etc/passwd", "..%2f..%2fx", "con", "-rf", "....", ".",
	    "a b\xe2\x80\xaegpj.exe", "a\r\nb.mp4", "\xf0\x9f\x8e\xac.mp4", "<script>", "'; DROP TABLE uploads; --",
	    "\\\\host\\share", "%00",
	    /* Letters of other alphabets that look like ours, all that turns the direction, what cannot be seen. */
	    "p\xd0\xb0ypal.com.mp4", "\xef\xbd\x8d\xef\xbd\x90.mp4", "\xe2\x80\x8f\xd7\xa9.mp4",
	    "a\xe2\x81\xa7" "b\xe2\x81\xa9.mp4", "a\xd8\x9c.mp4", "\xe2\x80\x8b\xef\xbb\xbf.mp4",
	    "..\xef\xbc\x8f..\xef\xbc\x8fx", "a/../../b.mp4" };
	struct world *w = *state;
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct buf body = BUF(w->mem);
		const char *upload;

		buf_text(&body, "{\"fileName\":");
		buf_json(&body, names[i]);
		buf_char(&body, '}');
		upload = new_upload_as(w, w->token, buf_string(&body));
		assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
		assert_int_equal(store_size(w->mem, original(w, upload)), CLIP_SIZE);
		r = complete(w, upload, "{}");
		assert_int_equal(r->status, 200);
		assert_string_equal(text(w, r, "data.fileName"), names[i]);
		assert_true(utf8_line(text(w, call(w, "GET", arena_printf(w->mem, "/v2/media/%s", text(w, r,
		    "data.mediaId")), NULL), "data.name")));
	}
}

/* Longer than a file system takes, in characters and in bytes. */
static void
a_long_file_name_is_a_label_too(void **state)
{
	static const char *const letters[] = { "x", "\xc3\xa4", "\xf0\x9f\x8e\xac" };
	static const int counts[] = { 255, 256, 1024 };
	struct world *w = *state;
	struct req *r;

	for (int i = 0; i < 9; i++) {
		struct buf name = BUF(w->mem);
		const char *upload;

		for (int n = 0; n < counts[i / 3]; n++)
			buf_text(&name, letters[i % 3]);
		upload = new_upload_as(w, w->token, arena_printf(w->mem, "{\"fileName\":\"%s\"}", buf_string(&name)));
		assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
		r = complete(w, upload, "{}");
		assert_int_equal(r->status, 200);
		assert_string_equal(text(w, r, "data.fileName"), buf_string(&name));
	}
}

/* What no text of JSON can be, and what other languages would take for more than a member. */
static void
a_body_that_is_no_upload_changes_nothing(void **state)
{
	static const struct { const char *body; int status; const char *pointer; } cases[] = {
		{ "{\"fileName\":\"a\",\"__proto__\":{\"type\":\"put\"}}", 422, "/__proto__" },
		{ "{\"fileName\":\"a\",\"constructor\":{\"prototype\":{}}}", 422, "/constructor" },
		{ "{\"__proto__\":{\"fileName\":\"a\"}}", 422, "/__proto__" },
		{ "{\"fileName\":{\"__proto__\":\"a\"}}", 422, "/fileName" },
		{ "{\"fileName\":[\"a\"]}", 422, "/fileName" },
		{ "{\"fileName\":\"a\\u0000.mp4\"}", 400, NULL },
		{ "{\"fileName\":\"\\ud800.mp4\"}", 400, NULL },
		{ "{\"fileName\":\"\xff.mp4\"}", 400, NULL },
		{ "{\"fileName\":\"a\",\"fileName\":\"b\"}", 400, NULL },
	};
	enum { DEEP = 10000 };
	static const char *const ends[][2] = { { "[", "]" }, { "{\"a\":", "}" } };
	struct world *w = *state;
	struct req *r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = call(w, "POST", "/v2/uploads", cases[i].body);
		if (r->status != cases[i].status)
			fail_msg("%s: %d %s", cases[i].body, r->status, buf_string(&r->out));
		if (cases[i].pointer != NULL)
			assert_non_null(strstr(buf_string(&r->out), cases[i].pointer));
	}
	for (int i = 0; i < 4; i++) {
		struct buf body = BUF(w->mem);

		buf_text(&body, "{\"fileName\":\"a\",\"transcriptLanguageCodes\":");
		for (int n = 0; n < DEEP; n++)
			buf_text(&body, ends[i % 2][0]);
		buf_text(&body, "1");
		for (int n = 0; i < 2 && n < DEEP; n++)
			buf_text(&body, ends[i % 2][1]);
		buf_text(&body, "}");
		assert_int_equal(call(w, "POST", "/v2/uploads", buf_string(&body))->status, 400);
	}
	assert_int_equal(number(w, "FROM uploads t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

static void
faults_of_a_new_upload_are_named(void **state)
{
	static const struct { const char *body, *pointer, *code; } cases[] = {
		{ "{}", "/fileName", "required" },
		{ "{\"fileName\":\"\"}", "/fileName", "too_short" },
		{ "{\"fileName\":null}", "/fileName", "required" },
		{ "{\"fileName\":\" \\u00a0\\u200b\\u3000\"}", "/fileName", "blank" },
		{ "{\"fileName\":\"a\",\"fileSize\":0}", "/fileSize", "too_small" },
		{ "{\"fileName\":\"a\",\"fileSize\":-1}", "/fileSize", "too_small" },
		{ "{\"fileName\":\"a\",\"fileSize\":1.5}", "/fileSize", "type" },
		{ "{\"fileName\":\"a\",\"type\":\"ftp\"}", "/type", "not_allowed" },
		{ "{\"fileName\":\"a\",\"status\":\"uploaded\"}", "/status", "read_only" },
		{ "{\"fileName\":\"a\",\"mediaId\":null}", "/mediaId", "read_only" },
		{ "{\"fileName\":\"a\",\"transcriptLanguageCodes\":[\"en\",\"../x\"]}", "/transcriptLanguageCodes/1", "format" },
		{ "{\"fileName\":\"a\",\"transcriptLanguageCodes\":[\"en\",\"EN\"]}", "/transcriptLanguageCodes/1", "duplicate" },
	};
	struct world *w = *state;
	char *long_name = arena_alloc(w->mem, 1026);
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = call(w, "POST", "/v2/uploads", cases[i].body);
		assert_int_equal(r->status, 422);
		if (!has_fault(r, cases[i].pointer, cases[i].code))
			fail_msg("%s: no %s at %s: %s", cases[i].body, cases[i].code, cases[i].pointer,
			    buf_string(&r->out));
	}
	memset(long_name, 'x', 1025);
	r = call(w, "POST", "/v2/uploads", arena_printf(w->mem, "{\"fileName\":\"%s\"}", long_name));
	assert_true(has_fault(r, "/fileName", "too_long"));
	r = call(w, "POST", "/v2/uploads", arena_printf(w->mem, "{\"fileName\":\"%s\"}", long_name + 1));
	assert_int_equal(r->status, 201);
	assert_int_equal(number(w, "FROM uploads t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

static void
every_fault_of_a_new_upload_is_named_at_once(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"\",\"type\":\"ftp\","
	    "\"fileSize\":0,\"mediaId\":null}");
	const long long more = w->conf->upload_max_size + 1;

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/fileName", "too_short"));
	assert_true(has_fault(r, "/type", "not_allowed"));
	assert_true(has_fault(r, "/fileSize", "too_small"));
	assert_true(has_fault(r, "/mediaId", "read_only"));
	assert_int_equal(r->faults.n, 4);
	r = call(w, "POST", "/v2/uploads", arena_printf(w->mem, "{\"fileName\":\"a\",\"fileSize\":%lld,"
	    "\"transcriptLanguageCodes\":[\"../x\"]}", more));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/fileSize", "too_large"));
	assert_true(has_fault(r, "/transcriptLanguageCodes/0", "format"));
	/* Alone it is what no body could be mended to. */
	r = call(w, "POST", "/v2/uploads", arena_printf(w->mem, "{\"fileName\":\"a\",\"fileSize\":%lld}", more));
	assert_int_equal(r->status, 413);
	assert_string_equal(text(w, r, "data.errors.0.pointer"), "/fileSize");
	assert_string_equal(text(w, r, "data.errors.0.code"), "too_large");
}

/* That is what comes when nothing is said. */
static void
multipart_answers_credentials_of_one_key(void **state)
{
	struct world *w = *state;
	static const char *const bodies[] = { "{\"fileName\":\"a\"}", "{\"fileName\":\"a\",\"type\":\"multipart\"}",
	    "{\"fileName\":\"a\",\"type\":\"multipart\",\"fileSize\":1000000000}" };
	struct req *r;
	size_t i;

	for (i = 0; i < 3; i++) {
		r = call(w, "POST", "/v2/uploads", bodies[i]);
		assert_int_equal(r->status, 201);
		assert_string_equal(text(w, r, "data.type"), "multipart");
		assert_null(text(w, r, "data.input.url"));
		assert_string_equal(text(w, r, "data.input.key"), text(w, r, "data.id"));
		assert_string_equal(text(w, r, "data.input.bucket"), "uploads");
		assert_non_null(strstr(text(w, r, "data.input.endpoint"), "/storage"));
		assert_int_equal(strlen(text(w, r, "data.input.accessKeyId")), 32);
		/* in whole MiB, and 10,000 of them are enough */
		assert_int_equal(atoll(text(w, r, "data.input.partSize")) % (1 << 20), 0);
		assert_true(atoll(text(w, r, "data.input.partSize")) * 10000 >= (i == 2 ? 1000000000 :
		    w->conf->upload_max_size));
		assert_string_not_equal(text(w, r, "data.input.secretAccessKey"), text(w, r,
		    "data.input.sessionToken"));
		r = call(w, "GET", arena_printf(w->mem, "/v2/uploads/%s", text(w, r, "data.id")), NULL);
		assert_null(text(w, r, "data.input.key"));
	}
}

static void
a_file_above_the_limit_or_the_room_is_refused_when_announced(void **state)
{
	struct world *w = *state;
	struct req *r = call(w, "POST", "/v2/uploads", arena_printf(w->mem, "{\"fileName\":\"a\",\"fileSize\":%lld}",
	    (long long)w->conf->upload_max_size + 1));

	assert_int_equal(r->status, 413);
	db_run(w->db, "UPDATE tenants SET storage_quota = 100 WHERE id = ?", ARGS(ID(w->tenant_id)));
	r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"a\",\"fileSize\":101}");
	assert_int_equal(r->status, 507);
	assert_string_equal(text(w, r, "data.code"), "no_space");
	assert_int_equal(call(w, "POST", "/v2/uploads", "{\"fileName\":\"a\",\"fileSize\":60}")->status, 201);
	assert_int_equal(call(w, "POST", "/v2/uploads", "{\"fileName\":\"b\",\"fileSize\":60}")->status, 507);
	assert_int_equal(call(w, "POST", "/v2/uploads", "{\"fileName\":\"b\",\"fileSize\":40}")->status, 201);
}

static void
a_file_that_breaks_the_quota_is_refused_when_completed(void **state)
{
	struct world *w = *state;
	const char *upload = uploaded(w);

	db_run(w->db, "UPDATE tenants SET storage_quota = ? WHERE id = ?", ARGS(INT(CLIP_SIZE - 1), ID(w->tenant_id)));
	assert_int_equal(complete(w, upload, "{}")->status, 507);
	assert_string_equal(status_of(w, upload), "uploaded");
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
	db_run(w->db, "UPDATE tenants SET storage_quota = ? WHERE id = ?", ARGS(INT(CLIP_SIZE), ID(w->tenant_id)));
	assert_int_equal(complete(w, upload, "{}")->status, 200);
}

static void
a_disk_without_room_is_said_before_anything_is_sent(void **state)
{
	struct world *w = *state;
	struct conf full = *w->conf;
	struct req *r;

	full.free_space = INT64_C(1) << 60;
	assert_true(store_open(&full));
	r = call(w, "POST", "/v2/uploads", "{\"fileName\":\"a\"}");
	assert_true(store_open(w->conf));
	assert_int_equal(r->status, 507);
	assert_string_equal(text(w, r, "status"), "error");
}

static void
completing_makes_the_asset_and_starts_its_ingest(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload_as(w, w->token, "{\"fileName\":\"My holiday.mp4\","
	    "\"transcriptLanguageCodes\":[\"translate-en\",\"de\"]}");
	struct uuid id = uuid_of(w, upload);
	struct req *r;

	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	assert_string_equal(status_of(w, upload), "uploaded");
	r = complete(w, upload, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "completed");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s", text(w, r, "data.mediaId")), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.name"), "My holiday");
	assert_string_equal(text(w, r, "data.originalFileName"), "My holiday.mp4");
	assert_string_equal(text(w, r, "data.type"), "video");
	assert_string_equal(text(w, r, "data.mimeType"), "video/mp4");
	assert_string_equal(text(w, r, "data.status"), "processing");
	assert_string_equal(text(w, r, "data.languageCode"), "de");
	assert_string_equal(text(w, r, "data.ingestJob.status"), "queued");
	assert_string_equal(text(w, r, "data.channels.0.id"), uuid_text(w->mem, w->channel_id));
	assert_int_equal(store_size(w->mem, arena_printf(w->mem, "originals/%s", text(w, r, "data.id"))), CLIP_SIZE);
	assert_int_equal(number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'ingest'", ARGS(ID(id))), 1);
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'media.created'", ARGS(ID(id))), 1);
	assert_int_equal(number(w, "FROM tenant_usage t WHERE t.tenant_id = ? AND t.media_count = 1 AND "
	    "t.storage_used = ?", ARGS(ID(w->tenant_id), INT(CLIP_SIZE))), 1);
}

static void
completing_twice_answers_the_same_asset(void **state)
{
	struct world *w = *state;
	const char *upload = uploaded(w);
	struct req *first = complete(w, upload, "{\"name\":\"One\"}"), *second = complete(w, upload,
	    "{\"name\":\"Two\"}");

	assert_int_equal(second->status, 200);
	assert_string_equal(text(w, second, "data.mediaId"), text(w, first, "data.mediaId"));
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ? AND t.name = 'One'", ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ? AND t.kind = 'ingest'",
	    ARGS(ID(w->tenant_id))), 1);
	assert_int_equal(number(w, "FROM events t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 1);
}

static void
an_upload_is_completed_only_when_its_bytes_are_there(void **state)
{
	static const struct { const char *state; int status; const char *code; } cases[] = {
		{ "waiting", 409, "upload_not_received" }, { "uploading", 409, "upload_not_received" },
		{ "cancelled", 409, "upload_cancelled" }, { "errored", 409, "upload_refused" }, { "timedOut", 410, "upload_expired" },
	};
	struct world *w = *state;
	const char *upload = uploaded(w);
	struct req *r;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		db_run(w->db, "UPDATE uploads SET status = ? WHERE id = ?", ARGS(STR(cases[i].state),
		    ID(uuid_of(w, upload))));
		r = complete(w, upload, "{}");
		assert_int_equal(r->status, cases[i].status);
		assert_string_equal(text(w, r, "data.code"), cases[i].code);
	}
	/* Parts may all be there, and nobody has said so: there is no input.url for them. */
	db_run(w->db, "UPDATE uploads SET status = 'uploading', type = 'multipart' WHERE id = ?", ARGS(ID(uuid_of(w,
	    upload))));
	assert_non_null(strstr(text(w, complete(w, upload, "{}"), "message"), "CompleteMultipartUpload"));
	db_run(w->db, "UPDATE uploads SET status = 'uploaded', expires_at = 1 WHERE id = ?",
	    ARGS(ID(uuid_of(w, upload))));
	assert_int_equal(complete(w, upload, "{}")->status, 410);
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

static void
no_tenant_and_no_principal_opens_uploads_without_end(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct conf few = *w->conf;
	const char *second = world_member(w, "CreateContent", "Channel Owner", NULL), *upload;
	const char *third = world_member(w, "CreateContent", "Channel Owner", NULL);

	few.upload_open_max = 4;
	w->conf = other->conf = &few;
	assert_int_equal(opened(w, w->token, 0), 201);
	upload = new_upload(w);
	assert_int_equal(opened(w, w->token, 0), 429);
	assert_int_equal(opened(w, second, 0), 201);
	assert_int_equal(opened(w, second, 0), 201);
	assert_int_equal(opened(w, third, 0), 429);
	assert_int_equal(opened(other, other->token, 0), 201);
	assert_int_equal(call(w, "PUT", path_of(w, id_of(w, upload), "/cancel"), NULL)->status, 200);
	assert_int_equal(opened(w, third, 0), 201);
}

static void
nor_promises_bytes_without_end(void **state)
{
	struct world *w = *state;
	struct conf little = *w->conf;
	const char *second = world_member(w, "CreateContent", "Channel Owner", NULL);
	const char *third = world_member(w, "CreateContent", "Channel Owner", NULL);

	little.upload_reserved_max = 1000;
	w->conf = &little;
	assert_int_equal(opened(w, w->token, 400), 201);
	assert_int_equal(opened(w, w->token, 101), 507);
	assert_int_equal(opened(w, w->token, 100), 201);
	assert_int_equal(opened(w, second, 450), 201);
	assert_int_equal(opened(w, third, 51), 507);
	assert_int_equal(opened(w, third, 50), 201);
	w = world_other(w);
	w->conf = &little;
	assert_int_equal(opened(w, w->token, 1500), 201);
	assert_int_equal(opened(w, w->token, 1), 507);
}

static void
an_asset_goes_only_into_a_channel_its_uploader_may_put_into(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid who;
	const char *viewer = world_member(w, "ViewChannel CreateContent", "Viewer", NULL);
	const char *demoted = world_member(w, "ViewChannel CreateContent", "Contributor", &who);
	const char *contributor = world_member(w, "ViewChannel CreateContent", "Contributor", NULL);
	const char *upload = new_upload_as(w, demoted, "{\"fileName\":\"a.mp4\"}");
	struct req *r;

	assert_int_equal(call_as(w, viewer, "POST", "/v2/uploads", "{\"fileName\":\"a.mp4\"}")->status, 403);
	db_run(w->db, "UPDATE memberships SET role = 'Viewer' WHERE principal_id = ?", ARGS(ID(who)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	assert_int_equal(call_as(w, demoted, "PUT", path_of(w, id_of(w, upload), "/complete"), "{}")->status, 403);
	r = call_as(w, demoted, "PUT", path_of(w, id_of(w, upload), "/complete"), arena_printf(w->mem,
	    "{\"channelId\":\"%s\"}", uuid_text(w->mem, other->channel_id)));
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.errors.0.pointer"), "/channelId");
	assert_string_equal(status_of(w, upload), "uploaded");

	upload = new_upload_as(w, contributor, "{\"fileName\":\"a.mp4\"}");
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	r = call_as(w, contributor, "PUT", path_of(w, id_of(w, upload), "/complete"), arena_printf(w->mem,
	    "{\"channelId\":\"%s\",\"name\":\"Mine\"}", uuid_text(w->mem, w->channel_id)));
	assert_int_equal(r->status, 200);
}

static void
a_tenant_that_wants_no_duplicates_gets_none(void **state)
{
	struct world *w = *state;
	struct uuid hidden = uuid_new();
	const char *first, *second;
	struct req *r;

	first = text(w, complete(w, uploaded(w), "{}"), "data.mediaId");
	second = uploaded(w);
	db_run(w->db, "UPDATE tenants SET duplicate_check = 1 WHERE id = ?", ARGS(ID(w->tenant_id)));
	r = complete(w, second, "{}");
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "duplicate_file");
	assert_non_null(strstr(text(w, r, "message"), first));
	assert_string_equal(status_of(w, second), "uploaded");
	assert_int_equal(number(w, "FROM tenant_usage t WHERE t.tenant_id = ? AND t.media_count = 1",
	    ARGS(ID(w->tenant_id))), 1);
	db_run(w->db, "UPDATE principals SET is_super_admin = 0 WHERE id = ?", ARGS(ID(w->client_id)));
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, created_at, updated_at) VALUES (?, ?, "
	    "'Hidden', 'private', 1, 1)", ARGS(ID(hidden), ID(w->tenant_id)));
	db_run(w->db, "UPDATE media SET channel_ids = ? WHERE tenant_id = ?", ARGS(ID(hidden), ID(w->tenant_id)));
	role_changed(w->db, w->tenant_id);
	token_forget();
	r = complete(w, second, "{}");
	assert_int_equal(r->status, 409);
	assert_null(strstr(text(w, r, "message"), first));	/* who may not see it hears no more */
	db_run(w->db, "UPDATE media SET deleted_at = 1 WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));
	assert_int_equal(complete(w, second, "{}")->status, 200);
}

static void
the_same_file_twice_is_two_assets(void **state)
{
	struct world *w = *state;
	const char *first = text(w, complete(w, uploaded(w), "{}"), "data.mediaId");
	const char *second = text(w, complete(w, uploaded(w), "{}"), "data.mediaId");

	assert_string_not_equal(first, second);
}

/* What one has tells the other nothing, and neither takes anything from the other. */
static void
the_same_file_of_two_principals_is_two_uploads_and_two_assets(void **state)
{
	struct world *w = *state;
	const char *who[2], *upload[2], *path[2], *media[2];
	struct req *r;
	int i;

	for (i = 0; i < 2; i++) {
		who[i] = world_member(w, "CreateContent ViewChannel DeleteContent", "Channel Owner", NULL);
		upload[i] = new_upload_as(w, who[i], "{\"fileName\":\"Holiday.mp4\"}");
		path[i] = path_of(w, id_of(w, upload[i]), "");
		assert_int_equal(send_bytes(w, upload[i], CLIP, CLIP_SIZE), ERR_NONE);
	}
	assert_string_not_equal(upload[0], upload[1]);
	for (i = 0; i < 2; i++) {
		r = call_as(w, who[i], "GET", path[i], NULL);
		assert_int_equal(r->status, 200);
		assert_null(strstr(buf_string(&r->out), id_of(w, upload[1 - i])));
		assert_int_equal(call_as(w, who[i], "GET", path[1 - i], NULL)->status, 404);
		r = call_as(w, who[i], "PUT", path_of(w, id_of(w, upload[i]), "/complete"), "{}");
		assert_int_equal(r->status, 200);
		media[i] = text(w, r, "data.mediaId");
		assert_null(strstr(buf_string(&r->out), id_of(w, upload[1 - i])));
	}
	assert_string_not_equal(media[0], media[1]);
	assert_int_equal(number(w, "FROM media t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 2);
	assert_int_equal(call_as(w, who[0], "DELETE", path[0], NULL)->status, 200);
	assert_int_equal(store_size(w->mem, original(w, upload[1])), CLIP_SIZE);
	assert_int_equal(call_as(w, who[1], "GET", path[1], NULL)->status, 200);
}

static void
uploads_of_others_are_not_there(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *mine = world_member(w, "CreateContent", "Publisher", NULL);
	const char *theirs = world_member(w, "CreateContent", "Publisher", NULL);
	const char *upload = new_upload_as(w, mine, "{\"fileName\":\"mine.mp4\"}");
	const char *path = path_of(w, id_of(w, upload), "");

	assert_int_equal(call_as(w, mine, "GET", path, NULL)->status, 200);
	assert_int_equal(call_as(w, theirs, "GET", path, NULL)->status, 404);
	assert_int_equal(call_as(w, other->token, "GET", path, NULL)->status, 404);
	assert_int_equal(call_as(w, theirs, "PUT", path_of(w, id_of(w, upload), "/cancel"), NULL)->status, 404);
	assert_int_equal(call_as(w, theirs, "PUT", path_of(w, id_of(w, upload), "/complete"), "{}")->status, 404);
	assert_int_equal(call_as(w, theirs, "DELETE", path, NULL)->status, 404);
	assert_int_equal(call(w, "GET", path, NULL)->status, 200);

	assert_string_equal(text(w, call_as(w, mine, "GET", "/v2/uploads", NULL), "pagination.total"), "1");
	assert_string_equal(text(w, call_as(w, theirs, "GET", "/v2/uploads", NULL), "pagination.total"), "0");
	new_upload(w);
	assert_string_equal(text(w, call(w, "GET", "/v2/uploads", NULL), "pagination.total"), "2");
	assert_string_equal(text(w, call_as(w, other->token, "GET", "/v2/uploads", NULL), "pagination.total"), "0");
}

static void
the_list_is_filtered_and_sorted(void **state)
{
	struct world *w = *state;
	struct req *r;

	new_upload_as(w, w->token, "{\"fileName\":\"b.mp4\"}");
	new_upload_as(w, w->token, "{\"fileName\":\"a.mp4\"}");
	complete(w, uploaded(w), "{}");
	r = call(w, "GET", "/v2/uploads?filter=status=waiting&sort=createdAt:asc", NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_string_equal(text(w, r, "data.0.fileName"), "b.mp4");
	r = call(w, "GET", "/v2/uploads?filter=fileName~b.m", NULL);
	assert_string_equal(text(w, r, "data.0.fileName"), "b.mp4");
	assert_int_equal(call(w, "GET", "/v2/uploads?filter=ticketHash=1", NULL)->status, 422);
	assert_int_equal(call(w, "GET", "/v2/uploads?sort=principalId", NULL)->status, 422);
}

static void
a_cancelled_upload_takes_no_bytes_and_drops_those_it_has(void **state)
{
	struct world *w = *state;
	const char *upload = uploaded(w);
	struct req *r = call(w, "PUT", path_of(w, id_of(w, upload), "/cancel"), NULL);

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "cancelled");
	assert_int_equal(number(w, "FROM jobs t WHERE t.tenant_id = ? AND t.kind = 'purge' AND t.args LIKE ?",
	    ARGS(ID(w->tenant_id), STR(arena_printf(w->mem, "%%originals/%s%%", id_of(w, upload))))), 1);
	assert_int_equal(call(w, "PUT", path_of(w, id_of(w, upload), "/cancel"), NULL)->status, 200);
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_UPLOAD_CANCELLED);
	upload = uploaded(w);
	complete(w, upload, "{}");
	r = call(w, "PUT", path_of(w, id_of(w, upload), "/cancel"), NULL);
	assert_int_equal(r->status, 409);
	assert_string_equal(text(w, r, "data.code"), "upload_completed");
}

static void
only_a_completed_upload_is_deleted_and_its_asset_stays(void **state)
{
	struct world *w = *state;
	const char *upload = uploaded(w), *media;

	assert_int_equal(call(w, "DELETE", path_of(w, id_of(w, upload), ""), NULL)->status, 409);
	media = text(w, complete(w, upload, "{}"), "data.mediaId");
	assert_int_equal(call(w, "DELETE", path_of(w, id_of(w, upload), ""), NULL)->status, 200);
	assert_int_equal(call(w, "GET", path_of(w, id_of(w, upload), ""), NULL)->status, 404);
	assert_int_equal(call(w, "GET", arena_printf(w->mem, "/v2/media/%s", media), NULL)->status, 200);
	assert_int_equal(store_size(w->mem, original(w, upload)), CLIP_SIZE);
}

static void
only_the_ticket_opens_an_upload_and_only_until_the_file_is_there(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w), *second = new_upload(w);
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE };
	struct put p = { .in = process(w, &here), .mem = w->mem, .id = uuid_of(w, upload), .length = CLIP_SIZE,
	    .read = body_read, .user = &b };

	assert_int_equal(put_run(&p), ERR_FORBIDDEN);
	p.ticket = "";
	assert_int_equal(put_run(&p), ERR_FORBIDDEN);
	p.ticket = second + UUID_TEXT;
	assert_int_equal(put_run(&p), ERR_FORBIDDEN);
	p.id = uuid_new();
	assert_int_equal(put_run(&p), ERR_FORBIDDEN);
	assert_int_equal(b.at, 0);
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	assert_int_equal(send_bytes(w, upload, "other", 5), ERR_UPLOAD_RECEIVED);
	assert_int_equal(store_size(w->mem, original(w, upload)), CLIP_SIZE);
}

static void
a_body_that_is_not_whole_is_no_file_and_may_be_sent_again(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload_as(w, w->token, arena_printf(w->mem, "{\"fileName\":\"a\",\"fileSize\":%lld}",
	    (long long)CLIP_SIZE));
	struct body broken = { .bytes = CLIP, .size = CLIP_SIZE, .broken = true }, cut = { .bytes = CLIP, .size = 10 };
	struct body longer = { .bytes = CLIP "x", .size = CLIP_SIZE + 1 };

	assert_int_equal(send_body(w, upload, &broken, CLIP_SIZE)->error, ERR_INCOMPLETE_BODY);
	assert_int_equal(send_body(w, upload, &cut, CLIP_SIZE)->error, ERR_INCOMPLETE_BODY);
	cut.at = 0;
	assert_int_equal(send_body(w, upload, &cut, -1)->error, ERR_INCOMPLETE_BODY);
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE - 1), ERR_INCOMPLETE_BODY);
	assert_int_equal(send_bytes(w, upload, CLIP "x", CLIP_SIZE + 1), ERR_TOO_LARGE);
	assert_int_equal(send_body(w, upload, &longer, -1)->error, ERR_TOO_LARGE);
	assert_string_equal(status_of(w, upload), "waiting");
	assert_int_equal(store_size(w->mem, original(w, upload)), -1);
	assert_no_parts(w, upload);
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	assert_no_parts(w, upload);
}

static int64_t
received(struct world *w, const char *upload)
{
	return db_number(w->db, "SELECT received_bytes FROM uploads WHERE id = ?", ARGS(ID(uuid_of(w, upload))), -1);
}

static void
what_a_broken_connection_has_brought_stays_and_counts(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct body broken = { .bytes = CLIP, .size = 21, .broken = true };
	struct partial rest;

	assert_int_equal(send_body(w, upload, &broken, CLIP_SIZE)->error, ERR_INCOMPLETE_BODY);
	assert_string_equal(status_of(w, upload), "waiting");
	assert_int_equal(received(w, upload), 21);
	assert_true(partial_resume(&rest, w->mem, uuid_of(w, upload), 2));
	assert_int_equal(rest.offset, 21);
	assert_true(partial_keep(&rest));
	db_run(w->db, "UPDATE uploads SET attempt = 2 WHERE id = ?", ARGS(ID(uuid_of(w, upload))));
	assert_int_equal(send_bytes(w, upload, "#EXTM3U", 7), ERR_UNSUPPORTED_TYPE);
	assert_no_parts(w, upload);
}

struct rival { struct world *w; const char *upload; struct intake *process; enum error error; };

static void
rival_sends(void *user)
{
	struct rival *v = user;
	struct body b = { .bytes = CLIP "!", .size = CLIP_SIZE + 1 };

	v->error = send_to(v->w, v->process, v->upload, &b, b.size)->error;
}

static void
a_later_transfer_ends_the_earlier_one_of_its_process_at_once(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct rival rival = { w, upload, &here, ERR_INTERNAL };
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE, .between = rival_sends, .user = &rival };

	assert_int_equal(send_body(w, upload, &b, CLIP_SIZE)->error, ERR_UPLOAD_SUPERSEDED);
	assert_int_equal(rival.error, ERR_NONE);
	assert_true(b.at < CLIP_SIZE);
	assert_int_equal(store_size(w->mem, original(w, upload)), CLIP_SIZE + 1);
	assert_no_parts(w, upload);
}

static void
of_two_transfers_at_once_the_later_one_counts(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct rival rival = { w, upload, &there, ERR_INTERNAL };
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE, .between = rival_sends, .user = &rival };
	struct put *p = send_body(w, upload, &b, CLIP_SIZE);

	assert_int_equal(rival.error, ERR_NONE);
	assert_int_equal(p->error, ERR_UPLOAD_RECEIVED);
	assert_int_equal(store_size(w->mem, original(w, upload)), CLIP_SIZE + 1);
	assert_string_equal(status_of(w, upload), "uploaded");
	assert_string_equal(text(w, call(w, "GET", path_of(w, id_of(w, upload), ""), NULL), "data.receivedBytes"),
	    arena_printf(w->mem, "%lld", (long long)CLIP_SIZE + 1));
	assert_no_parts(w, upload);
}

/* As it is while a bucket takes the file, for longer than a proxy waits, which then sends all of it again. */
static void
one_that_is_on_its_way_into_the_store_is_not_taken_over(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	const struct uuid id = uuid_of(w, upload);
	int fd;

	assert_int_equal(mkdir(store_incoming(w->mem, id), 0700), 0);
	fd = open(arena_printf(w->mem, "%s/1", store_incoming(w->mem, id)), O_CREAT | O_RDWR, 0600);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	db_run(w->db, "UPDATE uploads SET status = 'uploading', attempt = 1, sha256 = UNHEX(REPEAT('ab', 32)) WHERE "
	    "id = ?", ARGS(ID(id)));
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_UPLOAD_LOCKED);
	assert_int_equal(db_number(w->db, "SELECT attempt FROM uploads WHERE id = ?", ARGS(ID(id)), -1), 1);
	/* Its process was killed. */
	close(fd);
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	assert_no_parts(w, upload);
}

static void
make_part(struct world *w, const char *upload, const char *name)
{
	FILE *f = fopen(arena_printf(w->mem, "%s/%s", store_incoming(w->mem, uuid_of(w, upload)), name), "w");

	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
}

static void
a_transfer_deletes_the_files_of_earlier_ones_but_not_of_a_later_one(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	const char *dir = store_key_upload(w->mem, uuid_of(w, upload));

	assert_int_equal(mkdir(store_incoming(w->mem, uuid_of(w, upload)), 0700), 0);
	db_run(w->db, "UPDATE uploads SET attempt = 8 WHERE id = ?", ARGS(ID(uuid_of(w, upload))));
	make_part(w, upload, "8");
	make_part(w, upload, "10");
	assert_int_equal(send_bytes(w, upload, CLIP, CLIP_SIZE), ERR_NONE);
	assert_int_equal(store_size(w->mem, arena_printf(w->mem, "%s/8", dir)), -1);
	assert_int_equal(store_size(w->mem, arena_printf(w->mem, "%s/10", dir)), 0);
}

static void
quota(struct world *w, int64_t bytes)
{
	db_run(w->db, "UPDATE tenants SET storage_quota = ? WHERE id = ?", ARGS(INT(bytes), ID(w->tenant_id)));
}

static void
a_body_above_what_the_quota_leaves_is_refused_before_its_first_byte(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w), *declared = new_upload_as(w, w->token,
	    "{\"fileName\":\"a\",\"fileSize\":10}");
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE };

	quota(w, CLIP_SIZE + 9);
	assert_int_equal(send_body(w, upload, &b, CLIP_SIZE)->error, ERR_NO_SPACE);
	assert_int_equal(b.at, 0);
	assert_string_equal(status_of(w, upload), "waiting");
	assert_no_parts(w, upload);
	quota(w, 9);
	assert_int_equal(send_bytes(w, declared, CLIP, 10), ERR_NO_SPACE);
	quota(w, 0);
	assert_int_equal(send_body(w, upload, &b, -1)->error, ERR_NO_SPACE);
	assert_int_equal(b.at, 0);
	quota(w, CLIP_SIZE + 10);
	assert_int_equal(send_body(w, upload, &b, CLIP_SIZE)->error, ERR_NONE);
}

static void
a_body_of_unknown_length_ends_where_the_quota_does(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE };

	quota(w, CLIP_SIZE - 1);
	assert_int_equal(send_body(w, upload, &b, -1)->error, ERR_NO_SPACE);
	assert_string_equal(status_of(w, upload), "waiting");
	assert_no_parts(w, upload);
	quota(w, 20);
	b.at = 0;
	assert_int_equal(send_body(w, upload, &b, -1)->error, ERR_NO_SPACE);
	assert_int_equal(b.at, 21);
	quota(w, CLIP_SIZE);
	b.at = 0;
	assert_int_equal(send_body(w, upload, &b, -1)->error, ERR_NONE);
}

static void
transfers_at_once_do_not_pass_the_quota_together(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct rival rival = { w, new_upload(w), &there, ERR_INTERNAL };
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE, .between = rival_sends, .user = &rival };

	quota(w, 2 * CLIP_SIZE);
	assert_int_equal(send_body(w, upload, &b, CLIP_SIZE)->error, ERR_NONE);
	assert_int_equal(rival.error, ERR_NO_SPACE);
	assert_string_equal(status_of(w, rival.upload), "waiting");
	assert_int_equal(store_size(w->mem, original(w, rival.upload)), -1);
	assert_int_equal(number(w, "FROM uploads t WHERE t.reserved_bytes <> 0 AND t.tenant_id = ?",
	    ARGS(ID(w->tenant_id))), 0);
}

/* Transfers that begin one within the other, each before the next piece of the one around it. */
enum { CROWD = 8, CROWD_SIZE = 700, CROWD_QUOTA = 2000 };
struct crowd { struct world *w; const char *upload[CROWD]; enum error error[CROWD]; int n; int64_t most; };

static void
weigh(struct crowd *c)
{
	int64_t bytes = 0, placed;
	struct stat st;

	for (int i = 0; i < c->n; i++) {
		const struct uuid id = uuid_of(c->w, c->upload[i]);

		placed = store_size(c->w->mem, store_key_original(c->w->mem, id));
		bytes += placed > 0 ? placed : stat(arena_printf(c->w->mem, "%s/1", store_incoming(c->w->mem, id)),
		    &st) == 0 ? st.st_size : 0;
	}
	c->most = bytes > c->most ? bytes : c->most;
}

struct member { struct body b; struct crowd *c; };
static int crowd_read(void *user, const struct seat *seat, const void **bytes);

static void
another_sends(void *user)
{
	static const char film[CROWD_SIZE] = MP4;
	struct crowd *c = user;
	struct member m = { { .bytes = film, .size = CROWD_SIZE, .between = c->n + 1 < CROWD ? another_sends : NULL,
	    .user = c }, c };
	const int i = c->n++;
	struct put p = { .in = process(c->w, i % 2 == 0 ? &here : &there), .mem = c->w->mem, .length = -1, .user = &m,
	    .id = uuid_of(c->w, c->upload[i]), .ticket = c->upload[i] + UUID_TEXT, .read = crowd_read };

	c->error[i] = put_run(&p);
	weigh(c);
}

static int
crowd_read(void *user, const struct seat *seat, const void **bytes)
{
	struct member *m = user;

	weigh(m->c);
	return body_read(&m->b, seat, bytes);
}

static void
of_any_number_of_bodies_of_unknown_length_no_byte_passes_the_quota(void **state)
{
	struct world *w = *state;
	struct crowd c = { .w = w };
	int i, whole = 0;

	for (i = 0; i < CROWD; i++)
		c.upload[i] = new_upload(w);
	quota(w, CROWD_QUOTA);
	another_sends(&c);
	for (i = 0; i < CROWD; i++) {
		whole += c.error[i] == ERR_NONE;
		assert_true(c.error[i] == ERR_NONE || c.error[i] == ERR_NO_SPACE);
	}
	assert_in_range(whole, 1, CROWD_QUOTA / CROWD_SIZE);
	assert_in_range(c.most, 1, CROWD_QUOTA);
	/* What was kept for those that did not come is there again. */
	for (i = 0; i < CROWD && c.error[i] == ERR_NONE; i++)
		;
	db_run(w->db, "UPDATE uploads SET status = 'cancelled' WHERE tenant_id = ? AND status = 'uploaded'",
	    ARGS(ID(w->tenant_id)));
	quota(w, CLIP_SIZE);
	assert_int_equal(send_body(w, c.upload[i], &(struct body){ .bytes = CLIP, .size = CLIP_SIZE }, -1)->error,
	    ERR_NONE);
}

struct look { struct world *w; const char *upload; int64_t blocks; };

static void
look_at_blocks(void *user)
{
	struct look *l = user;
	struct stat st;

	assert_int_equal(stat(arena_printf(l->w->mem, "%s/1", store_incoming(l->w->mem, uuid_of(l->w, l->upload))),
	    &st), 0);
	l->blocks = (int64_t)st.st_blocks * 512;
}

static void
disk_is_kept_for_declared_bytes_alone(void **state)
{
	enum { LENGTH = 16 << 20 };
	struct world *w = *state;
	struct look look = { w, new_upload(w), 0 };
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE, .between = look_at_blocks, .user = &look };

	assert_int_equal(send_body(w, look.upload, &b, LENGTH)->error, ERR_INCOMPLETE_BODY);
	assert_true(look.blocks < LENGTH);
	look.upload = new_upload_as(w, w->token, arena_printf(w->mem, "{\"fileName\":\"a\",\"fileSize\":%d}", LENGTH));
	b.at = 0;
	b.between = look_at_blocks;
	assert_int_equal(send_body(w, look.upload, &b, LENGTH)->error, ERR_INCOMPLETE_BODY);
	assert_true(look.blocks >= LENGTH);
}

static void
a_body_that_only_trickles_is_given_up(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE, .nap = 20 };
	struct put *p = send_body(w, upload, &b, CLIP_SIZE);

	assert_int_equal(p->error, ERR_INCOMPLETE_BODY);
	assert_non_null(strstr(p->detail, "too slowly"));
	assert_true(b.at < CLIP_SIZE);
	assert_string_equal(status_of(w, upload), "waiting");
}

static void
rival_cancels(void *user)
{
	struct rival *v = user;

	assert_int_equal(call(v->w, "PUT", path_of(v->w, id_of(v->w, v->upload), "/cancel"), NULL)->status, 200);
}

static void
a_transfer_that_is_cancelled_meanwhile_stores_nothing(void **state)
{
	struct world *w = *state;
	const char *upload = new_upload(w);
	struct rival rival = { w, upload, NULL, ERR_NONE };
	struct body b = { .bytes = CLIP, .size = CLIP_SIZE, .between = rival_cancels, .user = &rival };

	assert_int_equal(send_body(w, upload, &b, CLIP_SIZE)->error, ERR_UPLOAD_CANCELLED);
	assert_string_equal(status_of(w, upload), "cancelled");
	assert_int_equal(store_size(w->mem, original(w, upload)), -1);
	assert_no_parts(w, upload);
}

static void
content_that_is_no_medium_ends_the_upload_with_a_reason(void **state)
{
	static const struct { const char *bytes; enum error error; const char *code; } cases[] = {
		{ "", ERR_INVALID, "empty_file" },
		{ "#EXTM3U\n/etc/passwd\n", ERR_UNSUPPORTED_TYPE, "format_not_allowed" },
		{ "<svg xmlns='http://www.w3.org/2000/svg'/>", ERR_UNSUPPORTED_TYPE, "format_not_allowed" },
		{ "\177ELF\2\1\1", ERR_UNSUPPORTED_TYPE, "format_not_allowed" },
		{ "\1\2\3", ERR_UNSUPPORTED_TYPE, "unknown_format" },
	};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *upload = new_upload(w);
		struct put *again;
		struct req *r;

		assert_int_equal(send_bytes(w, upload, cases[i].bytes, (int64_t)strlen(cases[i].bytes)),
		    cases[i].error);
		r = call(w, "GET", path_of(w, id_of(w, upload), ""), NULL);
		assert_string_equal(text(w, r, "data.status"), "errored");
		assert_string_equal(text(w, r, "data.error.code"), cases[i].code);
		assert_non_null(text(w, r, "data.error.remedy"));
		again = send_body(w, upload, &(struct body){ .bytes = CLIP, .size = CLIP_SIZE }, CLIP_SIZE);
		assert_int_equal(again->error, ERR_UPLOAD_REFUSED);
		assert_non_null(strstr(again->detail, "reate a new upload"));
		assert_string_equal(reason_info(again->reason)->code, cases[i].code);
		r = complete(w, upload, "{}");
		assert_int_equal(r->status, 409);
		assert_string_equal(text(w, r, "message"), again->detail);
		assert_string_equal(text(w, r, "data.errors.0.code"), cases[i].code);
		assert_int_equal(call(w, "PUT", path_of(w, id_of(w, upload), "/cancel"), NULL)->status, 409);
		assert_int_equal(store_size(w->mem, original(w, upload)), -1);
		assert_no_parts(w, upload);
	}
}

/* Ten gigabytes of zeros as a film: nobody waits for them. */
static void
what_can_be_no_medium_any_more_is_refused_before_the_rest_comes(void **state)
{
	enum { SENT = 1 << 20 };
	const int64_t promised = INT64_C(10) << 30;
	struct world *w = *state;
	const char *upload = new_upload_as(w, w->token, "{\"fileName\":\"a.mp4\"}");
	struct body b = { .bytes = arena_alloc(w->mem, SENT), .size = SENT };
	struct put *p = send_body(w, upload, &b, promised);
	struct req *r;

	assert_int_equal(p->error, ERR_UNSUPPORTED_TYPE);
	assert_in_range(b.at, 64 << 10, 256 << 10);
	r = call(w, "GET", path_of(w, id_of(w, upload), ""), NULL);
	assert_string_equal(text(w, r, "data.status"), "errored");
	assert_string_equal(text(w, r, "data.error.code"), "unknown_format");
	assert_no_parts(w, upload);
	/* A film that is as empty goes on. */
	upload = new_upload(w);
	b = (struct body){ .bytes = memcpy(arena_alloc(w->mem, SENT), MP4, sizeof(MP4) - 1), .size = SENT };
	assert_int_equal(send_body(w, upload, &b, SENT)->error, ERR_NONE);
}

static void
if_match_guards_an_upload(void **state)
{
	struct world *w = *state;
	const char *upload = uploaded(w);
	struct req *r = NEW(w->mem, struct req);

	r->if_match = "\"999\"";
	assert_int_equal(call_req(w, r, w->token, "PUT", path_of(w, id_of(w, upload), "/complete"), "{}")->status, 412);
	r = NEW(w->mem, struct req);
	r->if_match = call(w, "GET", path_of(w, id_of(w, upload), ""), NULL)->etag;
	assert_int_equal(call_req(w, r, w->token, "PUT", path_of(w, id_of(w, upload), "/complete"), "{}")->status, 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_upload_says_where_its_bytes_go),
		WORLD_TEST(languages_that_nobody_names_are_those_of_the_tenant),
		WORLD_TEST(every_odd_file_name_is_only_a_label),
		WORLD_TEST(a_long_file_name_is_a_label_too),
		WORLD_TEST(a_body_that_is_no_upload_changes_nothing),
		WORLD_TEST(faults_of_a_new_upload_are_named),
		WORLD_TEST(every_fault_of_a_new_upload_is_named_at_once),
		WORLD_TEST(multipart_answers_credentials_of_one_key),
		WORLD_TEST(a_file_above_the_limit_or_the_room_is_refused_when_announced),
		WORLD_TEST(a_file_that_breaks_the_quota_is_refused_when_completed),
		WORLD_TEST(a_disk_without_room_is_said_before_anything_is_sent),
		WORLD_TEST(completing_makes_the_asset_and_starts_its_ingest),
		WORLD_TEST(completing_twice_answers_the_same_asset),
		WORLD_TEST(an_upload_is_completed_only_when_its_bytes_are_there),
		WORLD_TEST(no_tenant_and_no_principal_opens_uploads_without_end),
		WORLD_TEST(nor_promises_bytes_without_end),
		WORLD_TEST(an_asset_goes_only_into_a_channel_its_uploader_may_put_into),
		WORLD_TEST(a_tenant_that_wants_no_duplicates_gets_none),
		WORLD_TEST(the_same_file_twice_is_two_assets),
		WORLD_TEST(the_same_file_of_two_principals_is_two_uploads_and_two_assets),
		WORLD_TEST(uploads_of_others_are_not_there),
		WORLD_TEST(the_list_is_filtered_and_sorted),
		WORLD_TEST(a_cancelled_upload_takes_no_bytes_and_drops_those_it_has),
		WORLD_TEST(only_a_completed_upload_is_deleted_and_its_asset_stays),
		WORLD_TEST(only_the_ticket_opens_an_upload_and_only_until_the_file_is_there),
		WORLD_TEST(a_body_that_is_not_whole_is_no_file_and_may_be_sent_again),
		WORLD_TEST(what_a_broken_connection_has_brought_stays_and_counts),
		WORLD_TEST(a_later_transfer_ends_the_earlier_one_of_its_process_at_once),
		WORLD_TEST(of_two_transfers_at_once_the_later_one_counts),
		WORLD_TEST(one_that_is_on_its_way_into_the_store_is_not_taken_over),
		WORLD_TEST(a_transfer_deletes_the_files_of_earlier_ones_but_not_of_a_later_one),
		WORLD_TEST(a_body_above_what_the_quota_leaves_is_refused_before_its_first_byte),
		WORLD_TEST(a_body_of_unknown_length_ends_where_the_quota_does),
		WORLD_TEST(transfers_at_once_do_not_pass_the_quota_together),
		WORLD_TEST(of_any_number_of_bodies_of_unknown_length_no_byte_passes_the_quota),
		WORLD_TEST(disk_is_kept_for_declared_bytes_alone),
		WORLD_TEST(a_body_that_only_trickles_is_given_up),
		WORLD_TEST(a_transfer_that_is_cancelled_meanwhile_stores_nothing),
		WORLD_TEST(content_that_is_no_medium_ends_the_upload_with_a_reason),
		WORLD_TEST(what_can_be_no_medium_any_more_is_refused_before_the_rest_comes),
		WORLD_TEST(if_match_guards_an_upload),
	};

	return cmocka_run_group_tests(tests, world_open, close_all);
}
