/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What external token servers send: the first line is a set of keys, the second and the third are head and claims of a
 * token, which is signed as such a server would.  This file stands where the database would; its user is there already.
 */
#include <stdlib.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "core/audit.h"
#include "core/channel.h"
#include "core/provider.h"
#include "tests/fuzz/fuzz.h"

struct db { struct arena *mem; };
struct user { struct uuid id; const char *name; struct moment disabled_at; };

static const char *audiences[] = { "media" };
static const struct provider provider = { .shortcode = "demo", .issuer = "https://login.example.org",
	.audiences = { audiences, 1 }, .roles_claim = "realm_access.roles", .name_claim = "name" };

struct arena *db_arena(struct db *db) { return db->mem; }
enum db_failure db_failure(const struct db *db) { return DB_FINE; }
int64_t db_run(struct db *db, const char *sql, const struct arg *args) { return 1; }
void db_use(struct db *db, struct arena *mem) { abort(); }
const char *db_text(struct db *db, const char *sql, const struct arg *args) { abort(); }
void *db_rows(struct db *db, const struct record *r, const char *from, const struct arg *a, size_t *n) { abort(); }
bool db_insert(struct db *db, const char *table, const struct record *r, const void *row) { abort(); }
int64_t db_number(struct db *db, const char *sql, const struct arg *args, int64_t otherwise) { abort(); }
void db_begin(struct db *db) { abort(); }
bool db_commit(struct db *db) { abort(); }
void db_rollback(struct db *db) { abort(); }
bool db_in_transaction(const struct db *db) { return false; }
void db_forgive(struct db *db) { }
void audit_add(struct db *db, const struct audited *a) { abort(); }

struct uuid
channel_of_user(struct db *db, struct uuid tenant_id, struct uuid principal_id, const char *address)
{
	abort();
}

void *
db_row(struct db *db, const struct record *r, const char *from, const struct arg *args)
{
	struct user *u = arena_alloc(db->mem, r->size);

	u->id.b[0] = 1;
	u->name = "Anna";
	return u;
}

static void
keys(struct arena *mem, const char *json)
{
	struct jwt_key all[4];
	size_t n = jwt_keys(mem, json, all, 4), i;

	for (i = 0; i < n; i++) {
		if (all[i].pkey == NULL || all[i].algs == 0 || all[i].kid[0] == '\0' ||
		    EVP_PKEY_get_bits(all[i].pkey) > 8192)
			abort();
		EVP_PKEY_free(all[i].pkey);
	}
}

static void
token(struct db *db, struct jwt_key *key, const char *head, const char *claims)
{
	const char *text = arena_printf(db->mem, "%s.%s", base64url_encode(db->mem, head, strlen(head)),
	    base64url_encode(db->mem, claims, strlen(claims)));
	struct principal who = { .address = "192.0.2.7" };
	unsigned char signature[512] = { 0 };
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t n = sizeof(signature);
	struct jwt t;

	if (context == NULL || EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key->pkey) != 1 ||
	    EVP_DigestSign(context, signature, &n, (const unsigned char *)text, strlen(text)) != 1)
		abort();
	EVP_MD_CTX_free(context);
	if (!jwt_parse(db->mem, arena_printf(db->mem, "%s.%s", text, base64url_encode(db->mem, signature, n)), &t))
		return;
	if (!jwt_signed_by(&t, key) && t.alg == JWT_RS256)
		abort();
	jwt_issuer(db->mem, &t);
	if (provider_claims(db, &provider, &t, &who) != TOKEN_FINE)
		return;
	if (strstr(claims, "media") == NULL && strchr(claims, '\\') == NULL)
		abort();
	if (!json_valid(db->mem, claims, strlen(claims)) || utf8_length(who.name) > 255 || who.name[0] == '\0' ||
	    who.expires + 60 < moment_now().ms / 1000 || uuid_is_none(who.id) || (who.is_super_admin &&
	    strstr(claims, "SuperAdmin") == NULL && strchr(claims, '\\') == NULL))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct jwt_key key = { .algs = JWT_RS256 };
	static struct db db;
	char *rest;
	const char *set, *head;

	if (db.mem == NULL) {
		db.mem = arena_new((size_t)64 << 20);
		key.pkey = EVP_RSA_gen(1024);
		if (key.pkey == NULL)
			abort();
	}
	rest = arena_copy_n(db.mem, data, n);
	set = strsep(&rest, "\n");
	keys(db.mem, set);
	head = rest == NULL ? NULL : strsep(&rest, "\n");
	if (rest != NULL && strlen(head) > 0 && strlen(rest) > 0)
		token(&db, &key, head, rest);
	arena_reset(db.mem);
	return 0;
}
