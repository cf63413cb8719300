/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fixture of world.h. */
#include <json-c/json.h>
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/asset.h"
#include "core/client.h"
#include "core/job.h"
#include "core/key.h"
#include "core/log.h"
#include "core/migrate.h"
#include "core/role.h"
#include "core/scratch.h"
#include "core/speakers.h"
#include "core/meaning.h"
#include "core/excerpts.h"
#include "core/search_index.h"
#include "core/store.h"
#include "fcgi/operation.h"
#include "tests/world.h"

#ifndef KINOTHEK_TEST_SCHEMA
#define KINOTHEK_TEST_SCHEMA "schema"
#endif

static struct {
	struct arena *mem;
	const struct conf *conf;
	struct db *db;
	char dir[64];
} ground;

static const char *
schema_dir(void)
{
	const char *dir = getenv("KINOTHEK_TEST_SCHEMA");

	return dir != NULL ? dir : KINOTHEK_TEST_SCHEMA;
}

static const char *
web_dir(void)
{
	const char *dir = getenv("KINOTHEK_TEST_WEB");

	return dir != NULL ? dir : "/nowhere";
}

static void
quiet(const struct migration *m)
{
	(void)m;
}

bool
world_in_bucket(void)
{
	return getenv("KINOTHEK_TEST_S3") != NULL;
}

int
world_waits(struct db *db)
{
	return (int)db_number(db, "SELECT COUNT(*) FROM information_schema.innodb_trx x JOIN "
	    "information_schema.processlist p ON p.id = x.trx_mysql_thread_id AND p.db = DATABASE() "
	    "WHERE x.trx_state = 'LOCK WAIT'", NO_ARGS, 0);
}

const char *
world_file(struct arena *mem, const char *key)
{
	const char *scratch = arena_printf(mem, "%s/fetched", ground.dir);

	mkdir(scratch, 0700);
	return store_fetch(mem, key, scratch);
}

void
world_put_back(struct arena *mem, const char *key, const char *file)
{
	size_t n = 0;
	struct stat st;
	char *bytes;
	FILE *f;

	if (!world_in_bucket())
		return;
	assert_int_equal(stat(file, &st), 0);
	bytes = arena_alloc(mem, (size_t)st.st_size + 1);
	f = fopen(file, "r");
	assert_non_null(f);
	n = fread(bytes, 1, (size_t)st.st_size, f);
	fclose(f);
	assert_true(store_write(mem, bytes, n, key));
}

void
world_fetch(struct arena *mem, const char *prefix)
{
	const struct store_entry *e;
	size_t n, i;

	if (!world_in_bucket())
		return;
	e = store_list(mem, prefix, NULL, 1000, &n);
	for (i = 0; i < n; i++)
		if (e[i].size < 0)
			world_fetch(mem, e[i].key);
		else
			assert_non_null(world_file(mem, e[i].key));
}

/* The lines that put the store into the bucket of KINOTHEK_TEST_S3="endpoint bucket key secret", below a prefix of this
 * program's own; without it none, and the store is a directory. */
static const char *
bucket_lines(void)
{
	const char *secret = arena_printf(ground.mem, "%s/store.secret", ground.dir);
	char endpoint[256], bucket[64], key[128], word[128];
	FILE *f;

	if (!world_in_bucket())
		return "";
	assert_int_equal(sscanf(getenv("KINOTHEK_TEST_S3"), "%255s %63s %127s %127s", endpoint, bucket, key, word), 4);
	f = fopen(secret, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", word);
	fclose(f);
	return arena_printf(ground.mem, "store = s3\nstore.endpoint = %s\nstore.bucket = %s\nstore.key = %s\n"
	    "store.secret_file = %s\nstore.prefix = test-%d/\n", endpoint, bucket, key, secret, (int)getpid());
}

static const struct conf *
make_conf(const char *socket, const char *name)
{
	const char *fault = NULL, *key = arena_printf(ground.mem, "%s/play.key", ground.dir);
	const struct conf *conf;
	FILE *f = fopen(key, "w");

	assert_non_null(f);
	fputs("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n", f);
	fclose(f);
	conf = conf_parse(arena_printf(ground.mem, "public_url = http://127.0.0.1:8080\ndata_dir = %s/data\nrun_dir = "
	    "%s/run\ndb.socket = %s\ndb.user = root\ndb.name = %s\nplay.key_file = %s\nhttp.require_https = "
	    "no\nfree_space = 1048576\nweb_dir = %s\n%s", ground.dir, ground.dir, socket, name, key, web_dir(),
	    bucket_lines()), "test", &fault);
	if (conf == NULL)
		fail_msg("%s", fault);
	return conf;
}

int
world_open(void **state)
{
	const char *socket = getenv("KINOTHEK_TEST_SOCKET"), *name, *fault;
	struct migrations m;

	if (socket == NULL) {
		fprintf(stderr, "run this under tests/with-db\n");
		return -1;
	}
	log_threshold(LOG_LEVEL_ERROR);
	api_check();
	ground.mem = arena_new((size_t)1 << 30);
	snprintf(ground.dir, sizeof(ground.dir), "/tmp/kinothek-test.XXXXXX");
	if (mkdtemp(ground.dir) == NULL)
		return -1;
	name = arena_printf(ground.mem, "kinothek_test_%d", (int)getpid());
	ground.db = db_open(make_conf(socket, "information_schema"), DB_ADMIN);
	db_use(ground.db, ground.mem);
	fault = db_script(ground.db, arena_printf(ground.mem, "CREATE DATABASE %s CHARACTER SET utf8mb4 COLLATE "
	    "utf8mb4_unicode_520_ci", name));
	db_close(ground.db);
	if (fault != NULL)
		return -1;
	ground.conf = make_conf(socket, name);
	ground.db = db_open(ground.conf, DB_ADMIN);
	fault = migrate_run(ground.db, ground.mem, schema_dir(), quiet, &m);
	db_close(ground.db);
	ground.db = db_open(ground.conf, DB_API);
	db_use(ground.db, ground.mem);
	if (fault != NULL) {
		fprintf(stderr, "%s\n", fault);
		return -1;
	}
	db_begin(ground.db);
	key_rotate(ground.db, ground.mem);
	db_commit(ground.db);
	*state = NULL;
	return mkdir(ground.conf->run_dir, 0700) == 0 && store_open(ground.conf) && scratch_open(ground.conf) ? 0 : -1;
}

int
world_close(void **state)
{
	(void)state;
	db_close(ground.db);
	ground.db = ground.conf != NULL ? db_open(ground.conf, DB_ADMIN) : NULL;
	if (ground.db != NULL)
		db_script(ground.db, arena_printf(ground.mem, "DROP DATABASE IF EXISTS %s", ground.conf->db_name));
	db_close(ground.db);
	if (ground.dir[0] != '\0' && system(arena_printf(ground.mem, "rm -rf %s", ground.dir)) != 0)
		fprintf(stderr, "%s is left behind\n", ground.dir);
	arena_free(ground.mem);
	token_forget();
	return 0;
}

/* A client with its principal, and its token. */
static const char *
make_client(struct world *w, const char *name, const char *scopes, bool super_admin, const char *role, struct uuid *id)
{
	const char *secret = secret_new(w->mem);
	const struct grant *grant;
	struct arg now = TIME(moment_now());

	*id = uuid_new();
	db_run(w->db, "INSERT INTO principals (id, tenant_id, kind, name, is_super_admin, created_at) VALUES (?, ?, "
	    "'client', ?, ?, ?)", ARGS(ID(*id), ID(w->tenant_id), STR(name), INT(super_admin), now));
	db_run(w->db, "INSERT INTO clients (id, tenant_id, secret_hash, scopes, created_at, updated_at) VALUES "
	    "(?, ?, ?, ?, ?, ?)", ARGS(ID(*id), ID(w->tenant_id), STR(secret_hash(w->mem, secret)), STR(scopes), now,
	    now));
	if (role != NULL)
		db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES "
		    "(?, ?, ?, ?)", ARGS(ID(w->channel_id), ID(*id), STR(role), now));
	w->secret = secret;
	grant = token_grant(w->db, w->conf, w->mem, (struct asked){ w->shortcode, uuid_text(w->mem, *id), secret });
	assert_int_equal(db_failure(w->db), DB_FINE);
	assert_non_null(grant);
	return grant->access_token;
}

static void
make_tenant(struct world *w)
{
	static int count;
	struct arg now = TIME(moment_now());

	w->tenant_id = uuid_new();
	w->channel_id = uuid_new();
	w->shortcode = arena_printf(w->mem, "t%d", ++count);
	db_run(w->db, "INSERT INTO tenants (id, shortcode, name, default_channel_id, created_at, updated_at) VALUES "
	    "(?, ?, ?, ?, ?, ?)", ARGS(ID(w->tenant_id), STR(w->shortcode), STR("Tenant"), ID(w->channel_id), now,
	    now));
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, "
	    "'Default', ?, ?)", ARGS(ID(w->channel_id), ID(w->tenant_id), now, now));
	db_run(w->db, "INSERT INTO tenant_usage (tenant_id) VALUES (?)", ARGS(ID(w->tenant_id)));
	w->token = make_client(w, "Admin", "ViewChannel ViewMetadata CreateContent ManageSharingOptions ManageChannel",
	    true, "Channel Owner", &w->client_id);
}

int
world_setup(void **state)
{
	struct arena *mem = arena_new((size_t)512 << 20);
	struct world *w = NEW(mem, struct world);

	w->mem = mem;
	w->conf = ground.conf;
	w->db = ground.db;
	db_use(w->db, mem);
	db_forgive(w->db);
	make_tenant(w);
	*state = w;
	return 0;
}

/* What a test has written to an audit holds no secret, nor anything that is called one. */
static void
check_audit(struct world *w)
{
	const char *told = db_text(w->db, "SELECT CONCAT(type, ' ', data) FROM events WHERE is_audit = 1 AND (data "
	    "LIKE '%kts\\_%' OR data LIKE '%eyJ%' OR data LIKE '%$%$%' OR data REGEXP "
	    "'\"[a-z]*(secret|password|token|hash)[a-z]*\" *:') LIMIT 1", NO_ARGS);

	if (told != NULL)
		fail_msg("the audit holds a secret: %s", told);
}

int
world_teardown(void **state)
{
	struct world *w = *state;

	db_rollback(w->db);
	db_forgive(w->db);
	check_audit(w);
	db_use(w->db, ground.mem);
	arena_free(w->mem);
	return 0;
}

struct world *
world_other(struct world *w)
{
	struct world *other = NEW(w->mem, struct world);

	*other = *w;
	make_tenant(other);
	return other;
}

const char *
world_member(struct world *w, const char *scopes, const char *role, struct uuid *id)
{
	struct uuid own;
	const char *kept = w->secret, *token = make_client(w, "Member", scopes, false, role, id != NULL ? id : &own);

	w->secret = kept;
	return token;
}

void
world_role(struct world *w, struct uuid channel_id, struct uuid principal_id, const char *role)
{
	db_run(w->db, "DELETE FROM memberships WHERE channel_id = ? AND principal_id = ?", ARGS(ID(channel_id),
	    ID(principal_id)));
	if (role != NULL)
		db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, version, created_at) VALUES "
		    "(?, ?, ?, 7, 1)", ARGS(ID(channel_id), ID(principal_id), STR(role)));
	role_changed(w->db, w->tenant_id);
	assert_int_equal(db_failure(w->db), DB_FINE);
}

/* Which routes were answered well: tests/check-routes reads it after all tests. */
static void
note_route(struct world *w, const struct req *r)
{
	const char *file = getenv("KINOTHEK_ROUTES_SEEN");
	FILE *f = file != NULL && r->route != NULL && r->status >= 200 && r->status < 300 ? fopen(file, "a") : NULL;

	if (f == NULL)
		return;
	fputs(arena_printf(w->mem, "%s %s\n", method_name(r->route->method), r->route->path), f);
	fclose(f);
}

/* The document says how an operation answers when all is well: it must be true. */
static void
check_success(const struct req *r)
{
	int success = r->route == NULL ? 0 : r->route->success != 0 ? r->route->success : 200;

	if (r->route != NULL && r->status == 202 && r->route->flags & LATER)
		return;
	if (r->route != NULL && r->status >= 200 && r->status < 300 && r->status != success)
		fail_msg("%s %s answers %d and says %d", method_name(r->route->method), r->route->path, r->status,
		    success);
}

/* It says how it may refuse, too. */
static void
check_refusal(struct world *w, const struct req *r)
{
	const char *code = r->route == NULL || r->status < 400 || r->route->flags & OAUTH ? NULL :
	    text(w, r, "data.code");
	int e;

	if (code == NULL)
		return;
	for (e = 0; e < ERR_COUNT; e++)
		if (strcmp(error_info((enum error)e)->code, code) == 0 && operation_refuses(r->route, (enum error)e))
			return;
	fail_msg("%s %s is not known to answer with %s", method_name(r->route->method), r->route->path, code);
}

struct req *
call_req(struct world *w, struct req *r, const char *token, const char *method, const char *uri, const char *body)
{
	r->method_name = method;
	r->uri = uri;
	r->authorization = token != NULL ? arena_printf(w->mem, "Bearer %s", token) : r->authorization;
	if (body != NULL) {
		r->body = body;
		r->body_size = r->body_size ? r->body_size : strlen(body);
		r->content_type = r->content_type != NULL ? r->content_type : "application/json";
	}
	r->mem = w->mem;
	r->db = w->db;
	r->conf = w->conf;
	r->client_fd = r->client_fd > 0 ? r->client_fd : -1;
	r->client = "127.0.0.1";
	r->loopback = true;
	api_run(r);
	note_route(w, r);
	check_success(r);
	check_refusal(w, r);
	return r;
}

struct req *
call_as(struct world *w, const char *token, const char *method, const char *uri, const char *body)
{
	return call_req(w, NEW(w->mem, struct req), token, method, uri, body);
}

struct req *
call(struct world *w, const char *method, const char *uri, const char *body)
{
	return call_as(w, w->token, method, uri, body);
}

const char *
text(struct world *w, const struct req *r, const char *path)
{
	json_object *tree = json_tokener_parse(buf_string(&r->out)), *at = tree;
	const char *found;

	while (at != NULL && *path != '\0') {
		char name[100];
		size_t n = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		if (json_object_is_type(at, json_type_array))
			at = json_object_array_get_idx(at, (size_t)atol(name));
		else if (!json_object_object_get_ex(at, name, &at))
			at = NULL;
		path += n + (path[n] == '.');
	}
	found = at == NULL ? NULL : arena_copy(w->mem, json_object_get_string(at));
	json_object_put(tree);
	return found;
}

const char *
header(struct world *w, const struct req *r, const char *name)
{
	const char *p = buf_string(&r->headers);
	size_t n = strlen(name);

	while (*p != '\0') {
		if (strncasecmp(p, name, n) == 0 && p[n] == ':')
			return arena_copy_n(w->mem, p + n + 2, strcspn(p + n + 2, "\r"));
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return NULL;
}

bool
has_fault(const struct req *r, const char *pointer, const char *code)
{
	int i;

	for (i = 0; i < r->faults.n && i < 32; i++)
		if (strcmp(r->faults.at[i].pointer, pointer) == 0 && strcmp(r->faults.at[i].code, code) == 0)
			return true;
	return false;
}

void
world_quota(struct world *w, int64_t left)
{
	db_run(w->db, "UPDATE tenants t JOIN tenant_usage u ON u.tenant_id = t.id SET t.storage_quota = "
	    "u.storage_used + ? WHERE t.id = ?", ARGS(INT(left), ID(w->tenant_id)));
}

int64_t
number(struct world *w, const char *from, const struct arg *args)
{
	return db_number(w->db, arena_printf(w->mem, "SELECT COUNT(*) %s", from), args, -1);
}

struct uuid
world_media(struct world *w, const char *type, const char *name)
{
	struct uuid id = uuid_new();
	struct arg now = TIME(moment_now());

	db_run(w->db, "INSERT INTO media (id, tenant_id, type, name, status, original_file_name, mime_type, file_size, "
	    "sha256, verified_at, examined_at, generation, created_by_id, created_by_name, created_at, updated_at) VALUES "
	    "(?, ?, ?, ?, 'ready', 'x.mp4', 'video/mp4', 1000, ?, ?, ?, 'g1', ?, 'Admin', ?, ?)", ARGS(ID(id),
	    ID(w->tenant_id), STR(type), STR(name), BYTES("0123456789abcdef0123456789abcdef", 32), now, now,
	    ID(w->client_id), now, now));
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, ?)",
	    ARGS(ID(id), ID(w->channel_id), now));
	db_run(w->db, "UPDATE media SET ingest_status = 'succeeded' WHERE id = ?", ARGS(ID(id)));
	usage_add(w->db, w->tenant_id, 1, 1000);
	asset_summarise(w->db, id, SUM_CHANNELS | SUM_TAGS | SUM_RENDITIONS | SUM_TOLD);
	assert_int_equal(db_failure(w->db), DB_FINE);
	return id;
}

struct uuid
world_speaker(struct world *w, struct uuid media_id, int number, const char *label, int64_t from)
{
	struct turn turn = { { from, true }, { from + 3000, true } };
	const struct speaker s = { .speaker_id = speakers_new(w->db, w->tenant_id, media_id), .number = number,
	    .turns = { &turn, 1 } };

	speakers_put(w->db, media_id, &s);
	db_run(w->db, "UPDATE speakers SET label = ? WHERE id = ?", ARGS(STR(label), ID(s.speaker_id)));
	return s.speaker_id;
}

void
world_index(struct world *w, struct uuid media_id)
{
	struct search_index x;

	search_index_begin(&x, media_id);
	db_begin(w->db);
	while (search_index_some(w->db, &x))
		assert_int_equal(db_failure(w->db), DB_FINE);
	assert_true(db_commit(w->db));
	search_index_end(&x);
}

void
world_embed(struct world *w, struct uuid media_id)
{
	const char *engine = meaning_glosses_name(w->mem);
	const struct excerpt_layer *l = NULL;
	struct meaning m;
	int64_t run;
	size_t i;

	world_index(w, media_id);
	db_begin(w->db);
	run = excerpts_begin(w->db, media_id);
	while ((l = excerpts_next(w->db, w->mem, media_id, engine, l != NULL ? l->layer : 0)) != NULL) {
		for (i = 0; i < l->n; i++) {
			m = meaning_by_glosses(w->mem, l->at[i].text);
			assert_true(excerpts_put(w->db, media_id, run, engine, l, i, &m, 1));
		}
		assert_true(excerpts_end(w->db, media_id, run, engine, l));
	}
	assert_true(db_commit(w->db));
}

/* Each statement doubles them. */
void
world_fill(struct world *w, struct uuid channel_id, int64_t n)
{
	struct uuid first = world_media(w, "video", "Cat");
	int64_t there;

	db_run(w->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(first)));
	db_run(w->db, "UPDATE media SET channel_ids = ? WHERE id = ?", ARGS(ID(channel_id), ID(first)));
	for (there = 1; there < n; there *= 2)
		db_run(w->db, "INSERT INTO media (id, tenant_id, type, name, status, original_file_name, mime_type, "
		    "file_size, sha256, created_at, updated_at, channel_ids) SELECT UNHEX(REPLACE(UUID(), '-', '')), "
		    "tenant_id, type, name, status, original_file_name, mime_type, file_size, sha256, created_at, "
		    "updated_at, channel_ids FROM media WHERE channel_ids = ? LIMIT ?", ARGS(ID(channel_id),
		    INT(there * 2 <= n ? there : n - there)));
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) SELECT id, ?, created_at FROM "
	    "media WHERE channel_ids = ?", ARGS(ID(channel_id), ID(channel_id)));
	usage_add(w->db, w->tenant_id, n - 1, (n - 1) * 1000);
	assert_int_equal(db_failure(w->db), DB_FINE);
	assert_int_equal(number(w, "FROM media_channels WHERE channel_id = ?", ARGS(ID(channel_id))), n);
}

static void
version_seven(struct world *w, const char *table, struct uuid id)
{
	db_run(w->db, arena_printf(w->mem, "UPDATE %s SET version = 7 WHERE id = ?", table), ARGS(ID(id)));
}

static void
make_media(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = m->media_id = world_media(w, "video", "Cat");
	version_seven(w, "media", m->ids[0]);
}

/* An asset has one transcript of a language. */
static void
make_transcript(struct world *w, struct made *m, const struct made *beside)
{
	m->ids[0] = m->media_id = beside != NULL ? beside->media_id : world_media(w, "video", "Cat");
	m->ids[1] = uuid_new();
	db_run(w->db, "INSERT INTO transcripts (id, media_id, language_code, source, engine, status, paragraphs, "
	    "version, created_at, updated_at) VALUES (?, ?, ?, 'human', 'none', 'ready', '[]', 7, 1, 1)",
	    ARGS(ID(m->ids[1]), ID(m->ids[0]), STR(beside != NULL ? "de" : "en")));
}

/* The transcript that they are made of. */
static void
make_subtitle(struct world *w, struct made *m, const struct made *beside)
{
	make_transcript(w, m, beside);
	db_run(w->db, "UPDATE transcripts SET status = 'completed' WHERE id = ?", ARGS(ID(m->ids[1])));
}

/* Who says nothing. */
static void
make_speaker(struct world *w, struct made *m, const struct made *beside)
{
	m->media_id = beside != NULL ? beside->media_id : world_media(w, "video", "Cat");
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO speakers (id, tenant_id, media_id, version, created_at, updated_at) VALUES (?, ?, "
	    "?, 7, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(m->media_id)));
	db_run(w->db, "INSERT INTO media_speakers (media_id, speaker_id, number, duration, turns) SELECT ?, ?, "
	    "COUNT(*) + 1, 0, '[]' FROM media_speakers WHERE media_id = ?", ARGS(ID(m->media_id), ID(m->ids[0]),
	    ID(m->media_id)));
}

static void
make_upload(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO uploads (id, tenant_id, principal_id, principal_name, file_name, type, status, "
	    "sha256, mime_type, media_type, expires_at, version, created_at, updated_at) VALUES (?, ?, ?, 'Admin', "
	    "'a.mp4', 'put', 'uploaded', ?, 'video/mp4', 'video', ?, 7, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id),
	    ID(w->client_id), BYTES("0123456789abcdef0123456789abcdef", 32), INT(moment_now().ms + 3600000)));
}

/* Its version is made of fence and progress. */
static void
make_job(struct world *w, struct made *m, const struct made *beside)
{
	struct job_place place = { .tenant_id = w->tenant_id };

	place.media_id = m->media_id = beside != NULL ? beside->media_id : world_media(w, "video", "Cat");
	m->ids[0] = job_add(w->db, waveform, place, .media_id = place.media_id, .generation = "g1");
	db_run(w->db, "UPDATE jobs SET progress = 7 WHERE id = ?", ARGS(ID(m->ids[0])));
}

static void
make_design(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO designs (id, tenant_id, type, name, properties, principal_id, version, created_at, "
	    "updated_at) VALUES (?, ?, 'ChannelDesign', 'Blue', '{\"brandColor\":\"#1a73e8\"}', ?, 7, 1, 1)",
	    ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(w->client_id)));
}

/* As visible as the world's channel, and everybody has the same role in it. */
static void
make_channel(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = m->channel_id = uuid_new();
	db_run(w->db, "INSERT INTO channels (id, tenant_id, name, visibility, version, created_at, updated_at) SELECT "
	    "?, tenant_id, 'Cats', visibility, 7, 1, 1 FROM channels WHERE id = ?", ARGS(ID(m->ids[0]),
	    ID(w->channel_id)));
	db_run(w->db, "INSERT INTO memberships (channel_id, principal_id, role, version, created_at) SELECT ?, "
	    "principal_id, role, 7, 1 FROM memberships WHERE channel_id = ?", ARGS(ID(m->ids[0]), ID(w->channel_id)));
	role_changed(w->db, w->tenant_id);
}

/* A new user of the tenant. */
static struct uuid
make_user(struct world *w)
{
	struct uuid id = uuid_new();

	db_run(w->db, "INSERT INTO principals (id, tenant_id, kind, name, created_at) VALUES (?, ?, 'user', 'Ann', 1)",
	    ARGS(ID(id), ID(w->tenant_id)));
	return id;
}

static void
make_member(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_channel(w, m, NULL);
	else
		m->ids[0] = m->channel_id = beside->ids[0];
	m->ids[1] = make_user(w);
	world_role(w, m->ids[0], m->ids[1], "Viewer");
}

/* The asset is in the world's channel, too. */
static void
make_channel_asset(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_channel(w, m, NULL);
	else
		m->ids[0] = m->channel_id = beside->ids[0];
	m->ids[1] = m->media_id = world_media(w, "video", "Cat");
	db_run(w->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, 1)",
	    ARGS(ID(m->ids[1]), ID(m->ids[0])));
	asset_summarise(w->db, m->ids[1], SUM_CHANNELS);
	version_seven(w, "media", m->ids[1]);
}

static void
make_group(struct world *w, struct made *m, const struct made *beside)
{
	static int count;
	const char *name = arena_printf(w->mem, "Group %d", ++count);

	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO principals (id, tenant_id, kind, name, created_at) VALUES (?, ?, 'group', ?, 1)",
	    ARGS(ID(m->ids[0]), ID(w->tenant_id), STR(name)));
	db_run(w->db, "INSERT INTO principal_groups (id, tenant_id, name, version, created_at, updated_at) VALUES (?, "
	    "?, ?, 7, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id), STR(name)));
}

static void
make_group_member(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_group(w, m, NULL);
	else
		m->ids[0] = beside->ids[0];
	m->ids[1] = make_user(w);
	db_run(w->db, "INSERT INTO group_members (group_id, principal_id, created_at) VALUES (?, ?, 1)",
	    ARGS(ID(m->ids[0]), ID(m->ids[1])));
}

static void
make_tag(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO tags (id, tenant_id, name, version, created_at, updated_at) VALUES (?, ?, ?, 7, "
	    "1, 1)",
	    ARGS(ID(m->ids[0]), ID(w->tenant_id), STR(uuid_text(w->mem, m->ids[0]))));
}

static void
make_webhook(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO webhooks (id, tenant_id, principal_id, scopes, url, events, sealed, version, "
	    "created_at, "
	    "updated_at) VALUES (?, ?, ?, 'ViewChannel', 'https://receiver.example/', '[\"ping\"]', 'x', 7, 1, 1)",
	    ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(w->client_id)));
}

/* Its version is made of attempts and status. */
static void
make_delivery(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_webhook(w, m, NULL);
	else
		m->ids[0] = beside->ids[0];
	m->ids[1] = uuid_new();
	db_run(w->db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event, status, "
	    "attempt, created_at, updated_at) VALUES (?, ?, ?, ?, 'ping', 'succeeded', 1, 1, 1)", ARGS(ID(m->ids[1]),
	    ID(w->tenant_id),
	    ID(m->ids[0]), ID(w->client_id)));
}

/* Of an asset that plays for a minute. */
static void
make_section(struct world *w, struct made *m, const struct made *beside)
{
	m->ids[0] = m->media_id = beside != NULL ? beside->media_id : world_media(w, "video", "Cat");
	m->ids[1] = uuid_new();
	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(m->ids[0])));
	db_run(w->db, "INSERT INTO sections (id, media_id, type, start, end, version, created_at, updated_at) VALUES "
	    "(?, ?, 'timerange', 1000, 2000, 7, 1, 1)", ARGS(ID(m->ids[1]), ID(m->ids[0])));
}

static void
make_chapter(struct world *w, struct made *m, const struct made *beside)
{
	m->ids[0] = m->media_id = beside != NULL ? beside->media_id : world_media(w, "video", "Cat");
	m->ids[1] = uuid_new();
	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(m->ids[0])));
	db_run(w->db, "INSERT INTO chapters (id, media_id, type, name, version, created_at, updated_at) VALUES (?, ?, "
	    "'usergenerated', 'Agenda', 7, 1, 1)", ARGS(ID(m->ids[1]), ID(m->ids[0])));
}

/* The first of its chapter: so nothing that becomes of what is there before it moves it. */
static void
make_entry(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_chapter(w, m, NULL);
	else
		*m = *beside;
	m->ids[2] = uuid_new();
	db_run(w->db, "UPDATE entries SET sort_number = sort_number + 1 WHERE chapter_id = ?", ARGS(ID(m->ids[1])));
	db_run(w->db, "INSERT INTO entries (id, chapter_id, sort_number, title, version, created_at, updated_at) "
	    "VALUES (?, ?, 1, 'Opening', 7, 1, 1)", ARGS(ID(m->ids[2]), ID(m->ids[1])));
}

/* The entry leads to it, but not to the one beside it. */
static void
make_entry_section(struct world *w, struct made *m, const struct made *beside)
{
	struct made section;

	if (beside == NULL || uuid_is_none(beside->ids[2]))
		make_entry(w, m, beside);
	else
		*m = *beside;
	make_section(w, &section, m);
	db_run(w->db, "UPDATE sections SET chapter_id = ?, entry_id = ? WHERE id = ?", ARGS(ID(m->ids[1]),
	    beside == NULL ?
	    ID(m->ids[2]) : STR(NULL), ID(section.ids[1])));
	m->ids[3] = section.ids[1];
}

static void
make_comment(struct world *w, struct made *m, const struct made *beside)
{
	m->ids[0] = m->media_id = beside != NULL ? beside->media_id : world_media(w, "video", "Cat");
	m->ids[1] = uuid_new();
	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(m->ids[0])));
	db_run(w->db, "INSERT INTO comments (id, media_id, principal_id, text, version, created_at, updated_at) VALUES "
	    "(?, ?, ?, 'Well said', 7, 1, 1)", ARGS(ID(m->ids[1]), ID(m->ids[0]), ID(w->client_id)));
}

/* An asset that plays for a minute. */
static struct uuid
make_playing(struct world *w)
{
	struct uuid id = world_media(w, "video", "Cat");

	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(id)));
	return id;
}

static void
make_story(struct world *w, struct made *m, const struct made *beside)
{
	m->ids[0] = uuid_new();
	m->media_id = beside != NULL ? beside->media_id : make_playing(w);
	db_run(w->db, "INSERT INTO stories (id, tenant_id, principal_id, name, kind, scenes, start_scene_id, version, "
	    "created_at, updated_at) VALUES (?, ?, ?, 'Cats', 'static', ?, 'a', 7, 1, 1)", ARGS(ID(m->ids[0]),
	    ID(w->tenant_id), ID(w->client_id), STR(arena_printf(w->mem, "[{\"id\":\"a\",\"mediaId\":\"%s\","
	    "\"start\":1.000,\"end\":2.000,\"choices\":[]}]", uuid_text(w->mem, m->media_id)))));
	db_run(w->db, "INSERT INTO mentions (object_id, media_id) VALUES (?, ?)", ARGS(ID(m->ids[0]),
	    ID(m->media_id)));
}

static void
make_meeting(struct world *w, struct made *m, const struct made *beside)
{
	m->ids[0] = uuid_new();
	m->media_id = beside != NULL ? beside->media_id : make_playing(w);
	db_run(w->db, "INSERT INTO meetings (id, tenant_id, principal_id, name, starts_at, agenda, media_ids, version, "
	    "created_at, updated_at) VALUES (?, ?, ?, 'Council of Cats', 1, '[]', ?, 7, 1, 1)", ARGS(ID(m->ids[0]),
	    ID(w->tenant_id), ID(w->client_id), ID(m->media_id)));
	db_run(w->db, "INSERT INTO mentions (object_id, media_id) VALUES (?, ?)", ARGS(ID(m->ids[0]),
	    ID(m->media_id)));
}

static void
make_import(struct world *w, struct made *m, const struct made *beside)
{
	const struct job_place place = { .tenant_id = w->tenant_id, .delay_ms = 86400000 };
	struct uuid file_id = uuid_new(), job_id = job_add(w->db, import, place, .file_id = file_id);

	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO imports (id, tenant_id, principal_id, principal_name, scopes, channel_id, version, "
	    "created_at, "
	    "updated_at) VALUES (?, ?, ?, 'Test', '', ?, 7, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(w->client_id),
	    ID(w->channel_id)));
	db_run(w->db, "INSERT INTO import_files (id, import_id, position, url, name, job_id) VALUES (?, ?, 0, "
	    "'https://media.example.org/cat.mp4', 'Cat', ?)", ARGS(ID(file_id), ID(m->ids[0]), ID(job_id)));
}

static void
make_download(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO downloads (id, tenant_id, principal_id, title, status, error, expires, version, "
	    "created_at, "
	    "updated_at) VALUES (?, ?, ?, 'Cats', 'failed', 'None', " SQL_NOW " + 86400000, 7, 1, 1)", ARGS(ID(m->ids[0]),
	    ID(w->tenant_id), ID(w->client_id)));
}

static void
make_preset(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO search_presets (id, tenant_id, principal_id, name, query, version, created_at, "
	    "updated_at) VALUES (?, ?, ?, 'Cats', '{\"text\":\"cat\"}', 7, 1, 1)", ARGS(ID(m->ids[0]),
	    ID(w->tenant_id), ID(w->client_id)));
}

static void
make_flow(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO flows (id, tenant_id, principal_id, name, steps, target, version, created_at, "
	    "updated_at) VALUES (?, ?, ?, 'In short', '[{\"name\":\"short\",\"prompt\":\"Say it in short.\",\"inputs\":[\"transcript\"]}]', "
	    "'{\"kind\":\"none\",\"overwrite\":false}', 7, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(w->client_id)));
}

static void
make_flow_run(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_flow(w, m, NULL);
	else
		*m = *beside;
	m->ids[1] = uuid_new();
	db_run(w->db, "INSERT INTO flow_runs (id, tenant_id, flow_id, media_id, principal_id, scopes, status, asked, "
	    "target, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, '', 'failed', '[]', '{\"kind\":\"none\",\"overwrite\":false}', "
	    "7, 1, 1)", ARGS(ID(m->ids[1]), ID(w->tenant_id), ID(m->ids[0]), ID(world_media(w, "video", "Cat")),
	    ID(w->client_id)));
}

/* Its version is made of its own, 3, and that it is overdue. */
static void
make_chat(struct world *w, struct made *m, const struct made *beside)
{
	struct uuid message = uuid_new();

	(void)beside;
	m->ids[0] = uuid_new();
	db_run(w->db, "INSERT INTO chats (id, tenant_id, principal_id, message_id, version, created_at, updated_at) "
	    "VALUES (?, ?, ?, ?, 3, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(w->client_id), ID(message)));
	db_run(w->db, "INSERT INTO chat_messages (id, chat_id, prompt, status, answer, engine, context, created_at) "
	    "VALUES (?, ?, 'Cats?', 'answering', '', 'x', '[]', 1)", ARGS(ID(message), ID(m->ids[0])));
}

/* Its asset is its own alone. */
static void
make_livestream(struct world *w, struct made *m, const struct made *beside)
{
	(void)beside;
	m->ids[0] = uuid_new();
	m->media_id = world_media(w, "video", "Council live");
	db_run(w->db, "INSERT INTO livestreams (id, tenant_id, media_id, principal_id, source, version, created_at, "
	    "updated_at) "
	    "VALUES (?, ?, ?, ?, 'rtmp', 7, 1, 1)", ARGS(ID(m->ids[0]), ID(w->tenant_id), ID(m->media_id), ID(w->client_id)));
}

static void
make_livestream_target(struct world *w, struct made *m, const struct made *beside)
{
	if (beside == NULL)
		make_livestream(w, m, NULL);
	else
		*m = *beside;
	m->ids[1] = uuid_new();
	db_run(w->db, "INSERT INTO livestream_targets (id, livestream_id, title, url, sealed, since, version, "
	    "created_at, "
	    "updated_at) VALUES (?, ?, 'Elsewhere', 'rtmp://live.example.org/app/***', '', 1, 7, 1, 1)", ARGS(ID(m->ids[1]),
	    ID(m->ids[0])));
}

static const struct maker {
	const struct object *object;
	void (*make)(struct world *, struct made *, const struct made *beside);
	const char *create, *patch;	/* bodies; %s: the id of a new user, */
	struct uuid (*of)(struct world *);	/* or of what this makes */
	const char *deletable;		/* an UPDATE of the row with this id; NULL: it is */
} makers[] = {
	{ &media_object, make_media, .patch = "{\"name\":\"Dog\"}" },
	{ &transcript_object, make_transcript, .patch = "{\"captions\":\"withheld\"}" },
	{ &subtitle_object, make_subtitle },
	{ &speaker_object, make_speaker, .patch = "{\"label\":\"Ann\"}" },
	{
		&upload_object, make_upload, .create = "{\"fileName\":\"a.mp4\"}",
		.deletable = "UPDATE uploads SET status = 'completed', media_id = id WHERE id = ?",
	},
	{ &job_object, make_job },
	{ &tag_object, make_tag, .create = "{\"name\":\"New\"}", .patch = "{\"name\":\"Other\"}" },
	{
		&design_object, make_design, .patch = "{\"name\":\"Green\"}",
		.create = "{\"type\":\"PlayerDesign\",\"name\":\"Red\",\"properties\":{\"radius\":4}}",
	},
	{
		&channel_object, make_channel, .create = "{\"name\":\"Cats\"}",
		.patch = "{\"name\":\"Dogs\",\"description\":null}",
	},
	{ &member_object, make_member, .create = "{\"principalId\":\"%s\",\"role\":\"Publisher\"}" },
	{ &channel_asset_object, make_channel_asset },
	{ &group_object, make_group, .create = "{\"name\":\"Editors\"}", .patch = "{\"name\":\"Authors\"}" },
	{ &group_member_object, make_group_member },
	{
		&webhook_object, make_webhook, .create = "{\"url\":\"https://receiver.example/in\"}",
		.patch = "{\"description\":\"For the archive\"}",
	},
	{ &delivery_object, make_delivery },
	{
		&section_object, make_section, .create = "{\"type\":\"marker\",\"time\":1.5}",
		.patch = "{\"title\":\"Opening\"}",
	},
	{ &chapter_object, make_chapter, .create = "{\"name\":\"Agenda\"}" },
	{ &entry_object, make_entry, .create = "{\"title\":\"Opening\"}" },
	{ &entry_section_object, make_entry_section },
	{ &comment_object, make_comment, .create = "{\"text\":\"Who is this?\",\"time\":1.5}" },
	{
		&story_object, make_story, .of = make_playing,
		.create = "{\"name\":\"A day\",\"kind\":\"static\",\"scenes\":[{\"id\":\"a\",\"mediaId\":\"%s\","
		    "\"start\":0,\"end\":5}],\"startSceneId\":\"a\"}",
	},
	{
		&meeting_object, make_meeting, .patch = "{\"location\":\"Town hall\"}",
		.create = "{\"name\":\"Council\",\"startsAt\":\"2026-11-20T18:00:00Z\"}",
	},
	{
		&import_object, make_import,
		.create = "{\"files\":[{\"url\":\"https://media.example.org/cat.mp4\",\"name\":\"Cat\"}]}",
	},
	{
		&livestream_object, make_livestream, .create = "{\"name\":\"Council\"}", .patch =
		    "{\"description\":\"Of cats\"}",
	},
	{
		&livestream_target_object, make_livestream_target, .patch = "{\"title\":\"There\"}",
		.create = "{\"title\":\"Elsewhere\",\"url\":\"rtmps://live.example.org/app/key\"}",
	},
	{
		&download_object, make_download, .of = make_playing,
		.create = "{\"title\":\"All\",\"selectedMediaIds\":[\"%s\"]}",
	},
	{ &chat_object, make_chat, .create = "{\"prompt\":\"What do dogs do?\"}" },
	{
		&flow_object, make_flow,
		.create = "{\"name\":\"In short\",\"steps\":[{\"name\":\"short\",\"prompt\":\"Say it in short.\","
		    "\"inputs\":[\"transcript\"]}],\"target\":{\"kind\":\"none\"}}",
	},
	{ &flow_run_object, make_flow_run, .of = make_playing, .create = "{\"mediaId\":\"%s\"}" },
	{ &preset_object, make_preset, .create = "{\"name\":\"Dogs\",\"query\":{\"text\":\"dog\"}}" },
};

static const struct maker *
maker_of(const struct object *o)
{
	size_t i;

	for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (makers[i].object == o)
			return &makers[i];
	fail_msg("tests/world.c cannot make what %s leads to", o->path);
	return NULL;
}

struct made
world_object_beside(struct world *w, const struct object *o, const struct made *beside)
{
	struct made m = { 0 };

	maker_of(o)->make(w, &m, beside);
	assert_int_equal(db_failure(w->db), DB_FINE);
	return m;
}

struct made
world_object(struct world *w, const struct object *o)
{
	return world_object_beside(w, o, NULL);
}

const char *
world_body(struct world *w, const struct object *o, enum method method)
{
	const char *body = method == METHOD_PATCH ? maker_of(o)->patch : maker_of(o)->create, *at;

	if (body == NULL || (at = strstr(body, "%s")) == NULL)
		return body;
	return arena_printf(w->mem, "%.*s%s%s", (int)(at - body), body, uuid_text(w->mem, maker_of(o)->of != NULL ?
	    maker_of(o)->of(w) : make_user(w)), at + 2);
}

void
world_deletable(struct world *w, const struct object *o, const struct made *m)
{
	int last = 0, i;

	for (i = 1; i < 4; i++)
		last = uuid_is_none(m->ids[i]) ? last : i;
	if (maker_of(o)->deletable != NULL)
		db_run(w->db, maker_of(o)->deletable, ARGS(ID(m->ids[last])));
	assert_int_equal(db_failure(w->db), DB_FINE);
}

int64_t
world_rows_read_by(struct world *w, void (*work)(struct world *, const char *), const char *with)
{
	static const char sql[] = "SELECT CAST(SUM(variable_value) AS SIGNED) FROM information_schema.session_status "
	    "WHERE variable_name IN ('HANDLER_READ_KEY', 'HANDLER_READ_NEXT', 'HANDLER_READ_PREV', "
	    "'HANDLER_READ_FIRST', 'HANDLER_READ_RND', 'HANDLER_READ_RND_NEXT', 'HANDLER_ICP_ATTEMPTS')";
	int64_t before = db_number(w->db, sql, NO_ARGS, 0), own = db_number(w->db, sql, NO_ARGS, 0) - before;

	before = db_number(w->db, sql, NO_ARGS, 0);
	work(w, with);
	return db_number(w->db, sql, NO_ARGS, 0) - before - own;
}

static void
get(struct world *w, const char *uri)
{
	assert_int_equal(call(w, "GET", uri, NULL)->status, 200);
}

int64_t
world_rows_read(struct world *w, const char *uri)
{
	return world_rows_read_by(w, get, uri);
}

int64_t
world_statements(struct world *w)
{
	return db_number(w->db, "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = "
	    "'COM_STMT_EXECUTE'", NO_ARGS, 0);
}
