/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External token servers: their rows, and what this process knows of their keys. */
#include <openssl/evp.h>
#include <string.h>

#include "core/job.h"
#include "core/provider.h"

enum {
	PLACES = 256,
	FRESH = 60,			/* s until the row is read again */
	AGAIN = 2,			/* s between two readings for the sake of a key */
	KEYS_FRESH = 600,		/* s until keys are asked for again */
	KEYS_GOOD = 86400,		/* s that keys are good for while nobody answers */
	ANSWERED = 2 * PROVIDER_SECONDS,	/* s until a question has had its answer, or gets none */
	ASK_AGAIN = 60000,		/* ms between two calls to a provider, by all processes */
	ROOM = 1 << 20,
};

static const struct field provider_fields[] = {
	FIELD(struct provider, tenant_id, .on = SERVER, .doc = "The tenant"),
	FIELD(struct provider, shortcode, .sql = "n.shortcode", .json = "tenantShortcode", .doc = "Its name in addresses"),
	FIELD(struct provider, issuer, .on = SERVER, .doc = "As in its tokens"),
	FIELD(struct provider, jwks_uri, .on = SERVER, .doc = "Where its keys are"),
	FIELD(struct provider, audiences, .on = SERVER, .doc = "Tokens must be for one of them"),
	FIELD(struct provider, clients, .on = SERVER, .doc = "Clients whose tokens are taken; none: of all"),
	FIELD(struct provider, roles_claim, .on = SERVER, .doc = "Claim that holds roles"),
	FIELD(struct provider, name_claim, .on = SERVER, .doc = "Claim that holds the name"),
	FIELD(struct provider, age, .on = HIDDEN, .sql = SQL_NOW " - t.read_at", .doc = "ms since keys were read"),
	FIELD(struct provider, asked_age, .on = HIDDEN, .sql = SQL_NOW " - t.asked_at", .doc = "ms since they were asked for"),
	FIELD(struct provider, read_at, .on = SERVER, .json = "keysReadAt", .doc = "When keys were read"),
	FIELD(struct provider, asked_at, .on = SERVER, .json = "keysAskedAt", .doc = "When they were asked for last"),
};
const struct record provider_record = RECORD("TenantProvider", struct provider, provider_fields);

/* What this process knows of one issuer. */
static struct place {
	struct arena *mem;		/* of what is here; NULL: nothing */
	const struct provider *row;
	int64_t looked_at, tried_at;	/* s of the monotonic clock */
	struct jwt_key keys[PROVIDER_KEYS];
	size_t n;
} places[PLACES];

/* Printable ASCII: SQL cannot compare a column of ASCII with anything else, and takes "a " for "a". */
static bool
is_plain(const char *text)
{
	const char *c;

	for (c = text; *c > ' ' && *c < 0x7f; c++)
		continue;
	return *c == '\0' && c > text && c - text <= 512;
}

const struct provider *
provider_of_tenant(struct db *db, struct uuid tenant_id)
{
	return db_row(db, &provider_record, "FROM tenant_providers t JOIN tenants n ON n.id = t.tenant_id WHERE "
	    "t.tenant_id = ?", ARGS(ID(tenant_id)));
}

void
provider_keep_keys(struct db *db, const struct provider *p, const char *key_set)
{
	db_run(db, "UPDATE tenant_providers SET key_set = ?, read_at = " SQL_NOW " WHERE tenant_id = ? AND jwks_uri = "
	    "?", ARGS(STR(key_set), ID(p->tenant_id), STR(p->jwks_uri)));
}

const struct provider *
provider_of(struct db *db, const char *shortcode)
{
	return !is_plain(shortcode) ? NULL : db_row(db, &provider_record, "FROM tenant_providers t JOIN tenants n ON "
	    "n.id = t.tenant_id WHERE n.shortcode = ?", ARGS(STR(shortcode)));
}

/* Places. */

static void
place_empty(struct place *p)
{
	jwt_keys_free(p->keys, p->n);
	if (p->mem != NULL)
		arena_free(p->mem);
	*p = (struct place){ .mem = NULL };
}

/* The keys of the row, out of the old place if they are the same still. */
static void
place_keys(struct db *db, struct place *p, struct place *old)
{
	const char *set;
	size_t i;

	if (old->mem != NULL && old->row->read_at.ms == p->row->read_at.ms &&
	    uuid_equal(old->row->tenant_id, p->row->tenant_id)) {
		memcpy(p->keys, old->keys, sizeof(p->keys));
		p->n = old->n;
		old->n = 0;
	} else {
		set = db_text(db, "SELECT key_set FROM tenant_providers WHERE tenant_id = ?",
		    ARGS(ID(p->row->tenant_id)));
		p->n = set == NULL ? 0 : jwt_keys(db_arena(db), set, p->keys, PROVIDER_KEYS);
	}
	for (i = 0; i < p->n; i++)
		p->keys[i].kid = arena_copy(p->mem, p->keys[i].kid);
}

/* False: there is no such issuer, or failed; what the place holds of another one stays then. */
static bool
place_read(struct db *db, struct place *p, const char *issuer)
{
	struct place fresh = { .mem = arena_new(ROOM), .looked_at = clock_s() };
	bool ours = p->mem != NULL && strcmp(p->row->issuer, issuer) == 0;
	struct arena *mem = db_arena(db);

	if (ours)
		fresh.tried_at = p->tried_at;
	db_use(db, fresh.mem);
	fresh.row = db_row(db, &provider_record, "FROM tenant_providers t JOIN tenants n ON n.id = t.tenant_id WHERE "
	    "t.issuer = ?", ARGS(STR(issuer)));
	db_use(db, mem);
	if (fresh.row != NULL && strcmp(fresh.row->issuer, issuer) == 0)
		place_keys(db, &fresh, p);
	else
		fresh.row = NULL;
	if (fresh.row == NULL || db_failure(db) != DB_FINE) {
		if (ours && db_failure(db) == DB_FINE)
			place_empty(p);
		place_empty(&fresh);
		return false;
	}
	place_empty(p);
	*p = fresh;
	return true;
}

/* NULL: there is no such issuer, or failed. */
static struct place *
place_of(struct db *db, const char *issuer)
{
	struct place *p;
	unsigned hash = 0;
	const char *c;

	if (!is_plain(issuer))
		return NULL;
	for (c = issuer; *c != '\0'; c++)
		hash = hash * 31 + (unsigned char)*c;
	p = &places[hash % PLACES];
	if (p->mem != NULL && strcmp(p->row->issuer, issuer) == 0 && clock_s() - p->looked_at < FRESH)
		return p;
	return place_read(db, p, issuer) ? p : NULL;
}

/* s since the keys were read by any process. */
static int64_t
keys_age(const struct place *p)
{
	return p->row->age / 1000 + clock_s() - p->looked_at;
}

static bool
signed_by(const struct place *p, const struct jwt *t)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (strcmp(p->keys[i].kid, t->kid) == 0)
			return keys_age(p) < KEYS_GOOD && jwt_signed_by(t, &p->keys[i]);
	return false;
}

/* Is it for this process to ask the provider?  Of all that find a key missing, one may in a minute. */
static bool
take_turn(struct db *db, const struct provider *row)
{
	return db_run(db, "UPDATE tenant_providers SET asked_at = " SQL_NOW " WHERE tenant_id = ? AND asked_at <= "
	    SQL_NOW " - ?", ARGS(ID(row->tenant_id), INT(ASK_AGAIN))) == 1;
}

/* Looks for newer keys in the database, and has them asked for if it is our turn. */
static void
place_renew(struct db *db, struct place *p)
{
	const char *issuer = arena_copy(db_arena(db), p->row->issuer);

	if (p->tried_at != 0 && clock_s() - p->tried_at < AGAIN)
		return;
	p->tried_at = clock_s();
	if (take_turn(db, p->row))
		job_add(db, keys, ((struct job_place){ .tenant_id = p->row->tenant_id }), .note = NULL);
	place_read(db, p, issuer);
}

/* Nobody can tell of a key while the question is open, nor when there has been no answer for too long. */
static enum token_fault
unsigned_token(const struct place *p)
{
	bool open = p->row->read_at.ms < p->row->asked_at.ms &&
	    p->row->asked_age / 1000 + clock_s() - p->looked_at < ANSWERED;

	return open || keys_age(p) >= KEYS_GOOD ? TOKEN_NO_KEYS : TOKEN_BAD;
}

enum token_fault
provider_verify(struct db *db, const struct jwt *t, const char *issuer, struct principal *who)
{
	struct place *p;

	if (db_in_transaction(db))
		return TOKEN_BAD;
	p = place_of(db, issuer);
	if (p != NULL && (keys_age(p) >= KEYS_FRESH || !signed_by(p, t)))
		place_renew(db, p);
	if (db_failure(db) != DB_FINE)
		return TOKEN_NO_DB;
	if (p == NULL || p->row == NULL)
		return TOKEN_BAD;
	if (!signed_by(p, t))
		return unsigned_token(p);
	return provider_claims(db, p->row, t, who);
}

void
provider_forget(void)
{
	size_t i;

	for (i = 0; i < PLACES; i++)
		place_empty(&places[i]);
}
