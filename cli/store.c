/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek store: moves what exists from one of two stores to the other, while all goes on.  Programs read both
 * (core/store_side.h), so nothing is held, and each command may be killed anywhere and run again:
 *
 *	copy	an object is there as a whole or not at all, and a key is written once, so what is there in its
 *		size is passed over; nothing is ever overwritten
 *	verify	reads both
 *	clear	deletes what was just read on both sides and is the same
 *
 * What no row names stays where it is, for the sweep; a run that failed below an asset goes along, for the sweep, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/backup.h"
#include "cli/consistency.h"
#include "cli/store_crew.h"
#include "core/asset.h"
#include "core/scratch.h"
#include "core/store_side.h"

enum { PAGE = 200, PAGE_MEMORY = 64 << 20, SAY_MS = 2000, PARALLEL = 4 };

enum act { COUNT, COPY, VERIFY, CLEAR };

/* What is told of an object. */
enum finding { MISSING, DIFFERS, CHANGED_HERE, CHANGED_THERE, UNREADABLE, FINDINGS };
static const struct { const char *state, *text; } findings[FINDINGS] = {
	[MISSING] = { "missing", "is not there yet: copy it" },
	[DIFFERS] = { "differs", "something else lies there under its key, and is not overwritten: see which is "
	    "right, and remove the other" },
	[CHANGED_HERE] = { "damaged", "is not what was uploaded (SHA-256): bring it back from a backup" },
	[CHANGED_THERE] = { "damagedThere", "what lies there is not what was uploaded (SHA-256): remove it there, and "
	    "copy again" },
	[UNREADABLE] = { "unreadable", "cannot be read here: bring it back from a backup" },
};

struct moving {
	struct cli *c;
	struct arena *mem;		/* of an asset, of the thread that walks */
	enum store_side from, to;
	const char *to_name, *from_name;
	struct uuid tenant_id;		/* none: all */
	enum act act;
	bool brings;			/* VERIFY copies what is missing, too */
	size_t parallel;
	int64_t rate;			/* bytes a second; 0: any */
	const char *scratch;
	struct crew *crew;
	const char *sha256;		/* of the asset that is walked; NULL: not known */
	size_t unnamed;
	int64_t all, all_bytes;		/* that were counted before */
	/* Of all threads. */
	pthread_mutex_t lock;
	int64_t began, said_at;
	int64_t looked, looked_bytes, done, done_bytes, moved_bytes, vanished;
	size_t found, listed;
	int fault;			/* errno of a store; then the rest is left */
	char fault_key[STORE_KEY_MAX];
	bool fault_there;
};

/* ---- one object ---- */

static void
tell(struct moving *m, const char *key, enum finding f)
{
	pthread_mutex_lock(&m->lock);
	m->found++;
	if (m->c->json)
		printf("%s{\"key\":\"%s\",\"state\":\"%s\"}", m->listed++ == 0 ? "" : ",", key, findings[f].state);
	else
		printf("%s: %s\n", key, findings[f].text);
	pthread_mutex_unlock(&m->lock);
}

static bool
is_absent(void)
{
	return errno == ENOENT || errno == ENOTDIR;
}

/* A store that is away, or full: the first one is told at the end. */
static void
fail(struct moving *m, const char *key, bool there)
{
	const int fault = errno != 0 ? errno : EIO;

	pthread_mutex_lock(&m->lock);
	if (m->fault == 0) {
		m->fault = fault;
		m->fault_there = there;
		snprintf(m->fault_key, sizeof(m->fault_key), "%s", key);
	}
	pthread_mutex_unlock(&m->lock);
}

static bool
has_failed(struct moving *m)
{
	bool failed;

	pthread_mutex_lock(&m->lock);
	failed = m->fault != 0;
	pthread_mutex_unlock(&m->lock);
	return failed;
}

/* Deleted while it was looked at: not a finding.  Else errno is as before. */
static bool
is_gone(struct moving *m, struct arena *mem, const char *key)
{
	const int saved = errno;
	const bool gone = store_side_size(mem, m->from, key) < 0 && is_absent();

	if (gone) {
		pthread_mutex_lock(&m->lock);
		m->vanished++;
		pthread_mutex_unlock(&m->lock);
	}
	errno = saved;
	return gone;
}

static void
note_done(struct moving *m, int64_t bytes)
{
	pthread_mutex_lock(&m->lock);
	m->done++;
	m->done_bytes += bytes;
	pthread_mutex_unlock(&m->lock);
}

/* Who deletes an asset deletes it in both; what was on its way then comes after that. */
static void
look_back(struct moving *m, struct arena *mem, const struct crew_item *o)
{
	if (!is_gone(m, mem, o->key)) {
		if (m->act == COPY)
			note_done(m, o->size);
	} else if (!store_side_delete(mem, m->to, o->key))
		fail(m, o->key, true);
}

/* Whose failure is that of a copy? */
static bool
is_of_target(const struct moving *m, int error)
{
	const bool remote = error == EHOSTDOWN || error == ETIMEDOUT || error == EREMOTEIO;

	return error == EDQUOT || remote == (m->to == SIDE_BUCKET);
}

/* Were bytes moved? */
static bool
copy(struct moving *m, struct arena *mem, const struct crew_item *o)
{
	const int64_t there = store_side_size(mem, m->to, o->key);

	if (there >= 0 && there != o->size && !is_gone(m, mem, o->key))
		tell(m, o->key, DIFFERS);
	if (there >= 0)
		return false;
	if (!is_absent()) {
		fail(m, o->key, true);
		return false;
	}
	if (store_side_copy(mem, m->from, o->key, o->sha256[0] != '\0' ? o->sha256 : NULL, m->scratch)) {
		look_back(m, mem, o);
		return true;
	}
	if (!is_gone(m, mem, o->key)) {
		if (errno == EILSEQ)
			tell(m, o->key, CHANGED_HERE);
		else if (errno == EIO)
			tell(m, o->key, UNREADABLE);
		else
			fail(m, o->key, is_of_target(m, errno));
	}
	return false;
}

/* Is it the same on both sides, and what was uploaded?  False: told, or gone. */
static bool
is_same(struct moving *m, struct arena *mem, const struct crew_item *o)
{
	const int64_t size = store_side_size(mem, m->to, o->key);
	const char *here, *there;

	if (size < 0 && !is_absent())
		fail(m, o->key, true);
	else if (size < 0 && !is_gone(m, mem, o->key))
		tell(m, o->key, MISSING);
	else if (size >= 0 && size != o->size && !is_gone(m, mem, o->key))
		tell(m, o->key, DIFFERS);
	if (size != o->size)
		return false;
	here = store_side_digest(mem, m->from, o->key, m->scratch);
	if (here == NULL) {
		if (is_gone(m, mem, o->key))
			return false;
		if (errno == EIO)
			tell(m, o->key, UNREADABLE);
		else
			fail(m, o->key, false);
		return false;
	}
	there = store_side_digest(mem, m->to, o->key, m->scratch);
	if (there == NULL) {
		if (!is_gone(m, mem, o->key))
			fail(m, o->key, true);
		return false;
	}
	if (strcmp(here, there) == 0 && (o->sha256[0] == '\0' || strcmp(here, o->sha256) == 0))
		return true;
	if (o->sha256[0] != '\0' && strcmp(here, o->sha256) != 0)
		tell(m, o->key, CHANGED_HERE);
	if (o->sha256[0] != '\0' && strcmp(there, o->sha256) != 0)
		tell(m, o->key, CHANGED_THERE);
	if (o->sha256[0] == '\0')
		tell(m, o->key, DIFFERS);
	return false;
}

static void
compare(struct moving *m, struct arena *mem, const struct crew_item *o)
{
	/* What has come since the copy, where the other store is still written to. */
	if (m->brings && store_side_size(mem, m->to, o->key) < 0 && is_absent())
		copy(m, mem, o);
	if (!is_same(m, mem, o))
		return;
	if (m->act == CLEAR && !store_side_delete(mem, m->from, o->key))
		fail(m, o->key, false);
	else
		note_done(m, o->size);
}

/* ---- how far it is ---- */

static void
say(struct moving *m)
{
	static const char *const words[] = { [COPY] = "copying", [VERIFY] = "comparing", [CLEAR] = "clearing" };
	const int64_t now = clock_ms(), ms = now - m->began + 1;
	struct arena *mem;

	if (m->c->json || now - m->said_at < SAY_MS)
		return;
	m->said_at = now;
	mem = arena_new(1 << 20);
	fprintf(stderr, "%s: %" PRId64 " of %" PRId64 " objects, %s of %s, %s/s", words[m->act], m->looked, m->all,
	    cli_bytes(mem, m->looked_bytes), cli_bytes(mem, m->all_bytes), cli_bytes(mem, m->moved_bytes * 1000 / ms));
	if (m->looked > 0 && m->all > m->looked)
		fprintf(stderr, ", %" PRId64 " min left", (m->all_bytes - m->looked_bytes) / (m->looked_bytes / ms +
		    1) / 60000 + 1);
	fputc('\n', stderr);
	arena_free(mem);
}

/* Those who have read bytes sleep until so many are due. */
static void
slow_down(struct moving *m, int64_t moved)
{
	const int64_t until = m->rate == 0 ? 0 : m->began + moved * 1000 / m->rate;

	for (int64_t ms; (ms = until - clock_ms()) > 0 && !has_failed(m);) {
		ms = ms < 1000 ? ms : 1000;
		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	}
}

static void
work(void *at, struct arena *mem, const struct crew_item *o)
{
	struct moving *m = at;
	int64_t bytes;
	bool moved = true;

	if (has_failed(m))
		return;
	if (m->act == COPY)
		moved = copy(m, mem, o);
	else
		compare(m, mem, o);
	pthread_mutex_lock(&m->lock);
	m->looked++;
	m->looked_bytes += o->size;
	m->moved_bytes += moved ? o->size : 0;
	bytes = m->moved_bytes;
	say(m);
	pthread_mutex_unlock(&m->lock);
	slow_down(m, bytes);
}

/* ---- all objects ---- */

struct owner { const char *sha256; bool is_deleted; };
static const struct field owner_fields[] = {
	FIELD(struct owner, sha256, .sql = "LOWER(HEX(t.sha256))", .doc = "Of the original as it came"),
	FIELD(struct owner, is_deleted, .sql = "t.deleted_at > 0", .doc = "It can be recovered"),
};
static const struct record owner_record = RECORD("MovedAsset", struct owner, owner_fields);

/* An asset, or an upload or download under whose id something lies.  NULL: nobody's, of another tenant, or the database
 * has failed. */
static const struct owner *
owner_of(struct moving *m, struct uuid id)
{
	const struct uuid t = m->tenant_id;
	struct owner *o = db_row(m->c->db, &owner_record, "FROM media t WHERE t.id = ? AND t.tenant_id = COALESCE(?, "
	    "t.tenant_id)", ARGS(ID(id), ID(t)));

	if (o == NULL && db_number(m->c->db, "SELECT (SELECT COUNT(*) FROM uploads WHERE id = ? AND tenant_id = "
	    "COALESCE(?, tenant_id) AND status NOT IN ('completed', 'cancelled', 'errored', 'timedOut')) + (SELECT "
	    "COUNT(*) FROM downloads WHERE id = ? AND tenant_id = COALESCE(?, tenant_id))",
	    ARGS(ID(id), ID(t), ID(id), ID(t)), 0) > 0)
		o = NEW(m->mem, struct owner);
	m->unnamed += o == NULL && m->act != COUNT;
	return o;
}

static bool
goes_on(struct moving *m)
{
	return !has_failed(m) && db_failure(m->c->db) == DB_FINE;
}

static bool
give(void *at, const char *key, int64_t size)
{
	struct moving *m = at;
	struct crew_item item = { .size = size };

	if (m->act == COUNT) {
		m->all++;
		m->all_bytes += size;
		return true;
	}
	snprintf(item.key, sizeof(item.key), "%s", key);
	snprintf(item.sha256, sizeof(item.sha256), "%s", m->sha256 != NULL ? m->sha256 : "");
	crew_give(m->crew, &item);
	return goes_on(m);
}

/* An original, or a thumbnail that lies beside it under a longer name. */
static bool
give_original(void *at, const char *key, int64_t size)
{
	struct moving *m = at;
	const char *name = strrchr(key, '/') + 1;
	const struct owner *o;
	char text[UUID_TEXT];
	struct uuid id;
	bool fine = true;

	snprintf(text, sizeof(text), "%s", name);
	if (!uuid_parse(text, &id) || (name[UUID_TEXT - 1] != '\0' && name[UUID_TEXT - 1] != '.'))
		return true;
	o = owner_of(m, id);
	m->sha256 = o != NULL && name[UUID_TEXT - 1] == '\0' ? o->sha256 : NULL;
	if (o != NULL)
		fine = give(m, key, size);
	m->sha256 = NULL;
	arena_reset(m->mem);
	return fine && goes_on(m);
}

static int
serve(struct cli *c, void *id)
{
	return asset_serve(c->db, *(struct uuid *)id) ? 0 : EX_IOERR;
}

static bool
give_asset(void *at, struct uuid id)
{
	struct moving *m = at;
	const struct owner *o = owner_of(m, id);
	const bool hidden = o != NULL && o->is_deleted && m->to == SIDE_LOCAL &&
	    (m->act == COPY || (m->act == VERIFY && m->brings));
	bool fine = o == NULL || store_side_walk(m->from, arena_printf(m->mem, "%s/", store_key_play(m->mem, id, NULL)),
	    give, m);
	const int saved = errno;

	/* What comes to this machine comes to where web servers look. */
	if (hidden) {
		crew_wait(m->crew);
		fine = fine && cli_transaction(m->c, serve, &id) == 0;
	}
	arena_reset(m->mem);
	errno = saved;
	return fine && goes_on(m);
}

struct deleted { struct uuid id; };
static const struct field deleted_fields[] = { FIELD(struct deleted, id, .doc = "Unique id") };
static const struct record deleted_record = RECORD("HiddenAsset", struct deleted, deleted_fields);

/* Those that were deleted while they were copied. */
static int
hide_deleted(struct moving *m)
{
	const struct deleted *a;
	struct uuid after = { { 0 } };
	int status = 0;
	size_t i, n;

	do {
		a = db_rows(m->c->db, &deleted_record, "FROM media t WHERE t.id > ? AND t.deleted_at > 0 ORDER BY t.id "
		    "LIMIT ?", ARGS(BYTES(after.b, sizeof(after.b)), INT(PAGE)), &n);
		for (i = 0; i < n && status == 0; i++)
			if (store_served(m->mem, a[i].id)) {
				after = a[i].id;
				status = cli_transaction(m->c, serve, &after);
			}
		if (n > 0)
			after = a[n - 1].id;
		arena_reset(m->mem);
	} while (status == 0 && n == PAGE);
	return status != 0 ? status : db_failure(m->c->db) != DB_FINE ? cli_fail_db(m->c) : 0;
}

static bool
walk(struct moving *m, enum act act)
{
	bool fine;

	m->act = act;
	m->began = m->said_at = clock_ms();
	if (act != COUNT)
		m->crew = crew_start(m->c->mem, m->parallel, work, m);
	errno = 0;
	fine = store_side_walk(m->from, store_lasting, give_original, m) &&
	    store_side_assets(m->from, give_asset, m);
	if (!fine && goes_on(m) && errno != 0)
		fail(m, "its list", false);
	if (act != COUNT)
		crew_end(m->crew);
	return fine && goes_on(m);
}

static int
tell_fault(const struct moving *m)
{
	const bool full = m->fault == ENOSPC || m->fault == EDQUOT;

	if (m->fault == 0)
		return db_failure(m->c->db) != DB_FINE ? cli_fail_db(m->c) : EX_IOERR;
	return cli_fail(m->c, full ? EX_CANTCREAT : EX_IOERR, "the store %s %s: %s: %s. What is done stays; run it "
	    "again.", m->fault_there ? m->to_name : m->from_name, full ? "has no room" : "cannot be used",
	    m->fault_key, strerror(m->fault));
}

static int
act(struct moving *m, enum act what)
{
	m->all = m->all_bytes = m->looked = m->looked_bytes = m->moved_bytes = m->done = m->done_bytes = 0;
	m->unnamed = 0;
	if (!walk(m, COUNT) || !walk(m, what))
		return tell_fault(m);
	return (what == COPY || m->brings) && m->to == SIDE_LOCAL ? hide_deleted(m) : 0;
}

/* ---- the commands ---- */

static int
parse_number(struct cli *c, const char *name, int64_t max, int64_t *out)
{
	const char *text = cli_option(c, name);

	if (text == NULL || (int_parse(text, out) && *out >= 1 && *out <= max))
		return 0;
	return cli_fail(c, EX_USAGE, "--%s must be 1 to %" PRId64, name, max);
}

static int
begin(struct cli *c, struct moving *m)
{
	const char *to = cli_option(c, "to"), *tenant = cli_option(c, "tenant");
	int64_t parallel = PARALLEL;
	int status;

	*m = (struct moving){ .c = c, .to_name = to };
	if (to == NULL || !store_side_parse(to, &m->to))
		return cli_fail(c, EX_USAGE, "--to local or --to s3 says where objects go");
	m->from = m->to == SIDE_LOCAL ? SIDE_BUCKET : SIDE_LOCAL;
	m->from_name = m->to == SIDE_LOCAL ? "s3" : "local";
	if ((status = parse_number(c, "parallel", CREW_MAX, &parallel)) != 0 ||
	    (status = parse_number(c, "rate", INT64_C(1) << 50, &m->rate)) != 0)
		return status;
	m->parallel = (size_t)parallel;
	if (c->conf->store_also == NULL)
		return cli_fail(c, EX_CONFIG, "there is one store: write store.also = %s into the settings of every "
		    "machine, and restart its services", strcmp(c->conf->store, "s3") == 0 ? "local" : "s3");
	if (tenant != NULL && (status = tenant_find(c, tenant, &m->tenant_id)) != 0)
		return status;
	if (!store_open(c->conf))
		return cli_fail(c, EX_NOINPUT, "data_dir %s: %s", c->conf->data_dir, strerror(errno));
	return 0;
}

/* Of those that were killed: this is the only one at work. */
static void
clear_scratch(struct cli *c)
{
	size_t i, n;
	const struct scratch_dir *d = scratch_list(c->mem, &n);

	for (i = 0; i < n; i++)
		if (d[i].ours && strncmp(d[i].name, "store-", 6) == 0)
			scratch_drop(c->mem, &d[i]);
}

/* With one of these commands at work at a time, for two could each clear what the other has just seen. */
static int
with_scratch(struct moving *m, int (*run)(struct moving *))
{
	struct cli *c = m->c;
	const char *name = arena_printf(c->mem, "store-%s", uuid_text(c->mem, uuid_new()));
	const int lock = backup_lock(c, c->conf->data_dir);
	int status;

	if (lock < 0)
		return EX_TEMPFAIL;
	if (scratch_open(c->conf))
		clear_scratch(c);
	if (!scratch_open(c->conf) || !scratch_make(c->mem, name)) {
		close(lock);
		return cli_fail(c, EX_CANTCREAT, "%s: %s", scratch_root(c->conf), strerror(errno));
	}
	m->scratch = scratch_path(c->mem, name);
	m->mem = arena_new(PAGE_MEMORY);
	pthread_mutex_init(&m->lock, NULL);
	db_use(c->db, m->mem);
	if (c->json)
		fputs("{\"found\":[", stdout);
	status = run(m);
	if (c->json)
		printf("],\"objects\":%" PRId64 ",\"done\":%" PRId64 ",\"bytes\":%" PRId64 ",\"deletedMeanwhile\":%"
		    PRId64 ",\"unnamed\":%zu,\"status\":%d}\n", m->looked, m->done, m->done_bytes, m->vanished,
		    m->unnamed, status);
	db_use(c->db, c->mem);
	pthread_mutex_destroy(&m->lock);
	arena_free(m->mem);
	scratch_remove(c->mem, name);
	close(lock);
	return status;
}

static void
print_sum(const struct moving *m, const char *what)
{
	if (!m->c->json)
		printf("%" PRId64 " objects in %s: %" PRId64 " %s, %s; %" PRId64 " were deleted meanwhile; %zu that no "
		    "row names%s stay; %zu findings\n", m->looked, m->from_name, m->done, what, cli_bytes(m->c->mem,
		    m->done_bytes), m->vanished, m->unnamed, uuid_is_none(m->tenant_id) ? "" : " or that are of others",
		    m->found);
}

static int
run_copy(struct moving *m)
{
	const int status = act(m, COPY);

	print_sum(m, "copied");
	return status != 0 ? status : m->found > 0 ? 1 : 0;
}

static void
row_found(void *at, struct arena *mem, const struct lack *lack)
{
	struct moving *m = at;

	(void)mem;
	m->found++;
	if (m->c->json)
		printf("%s{\"key\":\"%s %s\",\"state\":\"lacking\"}", m->listed++ == 0 ? "" : ",", lack->table,
		    lack->id);
	else
		printf("%s %s: %s\n    -> %s\n", lack->table, lack->id, lack->text, lack->remedy);
}

/* What rows name and neither store has shows itself here alone. */
static int
run_verify(struct moving *m)
{
	int status = act(m, VERIFY);

	if (status == 0 && uuid_is_none(m->tenant_id))
		status = consistency_lacks(m->c, m->mem, row_found, m);
	db_use(m->c->db, m->mem);
	print_sum(m, "are the same");
	return status != 0 ? status : m->found > 0 ? 1 : 0;
}

static int
run_clear(struct moving *m)
{
	const int status = act(m, CLEAR);

	print_sum(m, "deleted there");
	return status != 0 ? status : m->found > 0 ? 1 : 0;
}

/* What is written for the tenant from now on; for all: what single ones were set to ends. */
static int
set_side(struct cli *c, void *at)
{
	const struct moving *m = at;
	const struct uuid t = m->tenant_id;

	db_run(c->db, "UPDATE tenants SET store = ? WHERE id = COALESCE(?, id) AND NOT (store <=> ?)",
	    ARGS(STR(uuid_is_none(t) ? NULL : m->to_name), ID(t), STR(uuid_is_none(t) ? NULL : m->to_name)));
	return 0;
}

static void
say_tenant(const struct moving *m, bool was_there)
{
	const char *shortcode = cli_option(m->c, "tenant");

	if (was_there)
		printf("All of it is in %s.\n    kinothek store clear --to %s --tenant %s\ndeletes what lies in %s, or "
		    "leave it.  Both stores have to be named as long as other tenants are in %s.\n", m->to_name,
		    m->to_name, shortcode, m->from_name, m->from_name);
	else
		printf("What is written for %s goes to %s from now on.  Run this again when the uploads and jobs that "
		    "run now are over, for what they write.\n", shortcode, m->to_name);
}

static void
say_all(const struct moving *m)
{
	if (strcmp(m->c->conf->store, m->to_name) == 0)
		printf("All of it is in %s.  When the services of every machine run with store = %s:\n"
		    "    kinothek store clear --to %s\ndeletes what lies in %s, or leave it; then take store.also out "
		    "of the settings of every machine, and restart its services.\n", m->to_name, m->to_name, m->to_name,
		    m->from_name);
	else
		printf("Now write into the settings of every machine, in any order, and restart its services:\n"
		    "    store = %s\n    store.also = %s\nThen run this again, for what was written meanwhile.\n",
		    m->to_name, m->from_name);
}

static int
run_switch(struct moving *m)
{
	const bool one = !uuid_is_none(m->tenant_id), was_there = one &&
	    store_side_of(m->c->db, m->c->conf, m->tenant_id) == m->to;
	int status = run_copy(m);

	m->brings = true;
	if (status == 0)
		status = run_verify(m);
	if (status != 0)
		return m->found == 0 ? status : cli_fail(m->c, 1, "nothing may be switched before these are mended");
	status = cli_transaction(m->c, set_side, m);
	if (status != 0 || m->c->json)
		return status;
	if (one)
		say_tenant(m, was_there);
	else
		say_all(m);
	return 0;
}

static int
command(struct cli *c, int (*run)(struct moving *))
{
	struct moving m;
	const int status = begin(c, &m);

	return status != 0 ? status : with_scratch(&m, run);
}

int
store_copy(struct cli *c)
{
	return command(c, run_copy);
}

int
store_verify(struct cli *c)
{
	return command(c, run_verify);
}

int
store_switch(struct cli *c)
{
	return command(c, run_switch);
}

int
store_clear(struct cli *c)
{
	struct moving m;
	const int status = begin(c, &m);
	enum store_side side = m.to;
	int64_t n = 0;

	if (status != 0)
		return status;
	if (uuid_is_none(m.tenant_id))
		store_side_parse(c->conf->store, &side);
	else
		side = store_side_of(c->db, c->conf, m.tenant_id);
	if (uuid_is_none(m.tenant_id))
		n = db_number(c->db, "SELECT COUNT(*) FROM tenants t WHERE t.store <> ?", ARGS(STR(m.to_name)), 0);
	if (db_failure(c->db) != DB_FINE)
		return cli_fail_db(c);
	if (n > 0)
		return cli_fail(c, EX_CONFIG, "%" PRId64 " of the tenants still write to %s: run `kinothek store "
		    "switch --to %s --tenant SHORTCODE` for each first", n, m.from_name, m.to_name);
	if (side != m.to)
		return cli_fail(c, EX_CONFIG, "%s is written to: run `kinothek store switch --to %s` first",
		    m.from_name, m.to_name);
	return with_scratch(&m, run_clear);
}
