/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a test finds around it: a database of its own, migrated; a store below /tmp; per test a fresh tenant with its
 * default channel, a SuperAdmin client and a token.  Isolation comes from the fresh tenant, not from cleaning up.
 * Runs under tests/with-db.
 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/db.h"
#include "fcgi/req.h"

struct world {
	struct arena *mem;		/* of the test */
	const struct conf *conf;
	struct db *db;
	struct uuid tenant_id, client_id, channel_id;
	const char *shortcode, *secret;
	const char *token;		/* of the SuperAdmin, all scopes */
};

/* For cmocka_run_group_tests(…, world_open, world_close): the database and the store, once per program. */
int world_open(void **state);
int world_close(void **state);

/* With KINOTHEK_TEST_S3 the store lies in a bucket: what a test does to its files by hand cannot be done then. */
bool world_in_bucket(void);

/* A path under which the object can be read; NULL: it is not there. */
const char *world_file(struct arena *, const char *key);
/* Of a file that a test has changed there; in a directory it is the object itself. */
void world_put_back(struct arena *, const char *key, const char *file);
/* All below a prefix that ends in a slash, so that what world_file() gives has its neighbours beside it. */
void world_fetch(struct arena *, const char *prefix);

/* For cmocka_unit_test_setup_teardown(test, world_setup, world_teardown); or WORLD_TEST(test). */
int world_setup(void **state);
int world_teardown(void **state);
#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

/* Another tenant beside the world's own. */
struct world *world_other(struct world *);

/* A table of the numbers 0 to 9 in its column d: many rows at once, without a look at what takes long. */
#define TEN_SQL "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL " \
	"SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"

/* A principal of the tenant with a token of these scopes ("ViewChannel CreateContent"), and a role in the channel
 * unless that is NULL.  Returns the token. */
const char *world_member(struct world *, const char *scopes, const char *role, struct uuid *id);

/* One request through api_run(): routing, token, scope, decoding, transaction, rendering.  body may be NULL. */
struct req *call(struct world *, const char *method, const char *uri, const char *body);
struct req *call_as(struct world *, const char *token, const char *method, const char *uri, const char *body);
/* Anything set in *r beforehand is kept. */
struct req *call_req(struct world *, struct req *r, const char *token, const char *method, const char *uri,
    const char *body);

/* A member of the answer by path ("data.ingestJob.status", "data.0.id") as text; numbers and booleans too; NULL if
 * absent or null. */
const char *text(struct world *, const struct req *, const char *path);
/* The value of a header line that the answer adds, or NULL. */
const char *header(struct world *, const struct req *, const char *name);
/* Does the answer list a fault of this code at this pointer? */
bool has_fault(const struct req *, const char *pointer, const char *code);

/* Gives a principal the role in a channel of the tenant, instead of what it had; NULL: takes it away. */
void world_role(struct world *, struct uuid channel_id, struct uuid principal_id, const char *role);

/* Gives the tenant a quota that leaves so many bytes beside what is stored. */
void world_quota(struct world *, int64_t left);

/* Rows that `from` names. */
int64_t number(struct world *, const char *from, const struct arg *);

/*
 * The ids that a path with an object asks for, in its order, of objects that are really there, and the asset that it is
 * or belongs to, or the channel.  Its owner is the world's SuperAdmin, and the version of the last one is 7.  Fails the
 * test for an object that it cannot make: add it to the table in world.c.
 */
struct made { struct uuid ids[4], media_id, channel_id; };
struct made world_object(struct world *, const struct object *);
/* Another one below the same parent. */
struct made world_object_beside(struct world *, const struct object *, const struct made *);
/* A body that POST or PATCH takes and that changes something; NULL: the table in world.c has none. */
const char *world_body(struct world *, const struct object *, enum method);
/* Brings it to where DELETE takes it. */
void world_deletable(struct world *, const struct object *, const struct made *);

/* A ready asset of the world's tenant in its channel, without files. */
struct uuid world_media(struct world *, const char *type, const char *name);
/* Somebody who is heard in it for three seconds from there on, ms.  label: the name, or NULL. */
struct uuid world_speaker(struct world *, struct uuid media_id, int number, const char *label, int64_t from);
/* What of it can be searched is made anew, in one transaction. */
void world_index(struct world *, struct uuid media_id);
/* The same, and finds out what its texts mean, as the job embed does. */
void world_embed(struct world *, struct uuid media_id);
/* As many of them in that channel alone, by few statements. */
void world_fill(struct world *, struct uuid channel_id, int64_t n);

/* Rows that the server looked at for one GET, which must answer 200. */
int64_t world_rows_read(struct world *, const char *uri);
/* And for whatever this function does. */
int64_t world_rows_read_by(struct world *, void (*)(struct world *, const char *), const char *);
/* So many prepared statements its connection has run, with this one. */
int64_t world_statements(struct world *);

/* How many transactions wait for rows that others hold.  The server tells of waits anew a tenth of a second after it
 * was asked last. */
int world_waits(struct db *);

#endif
