/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bearer tokens: the input as it is, which nobody can have signed, or, with a line feed in it, a head and claims that
 * are signed with our key.  The file under test is included, so that it knows the key; this file stands where the
 * database would, with one client.
 */
#include <stdlib.h>

#include "core/key.c"
#include "core/token.c"
#include "tests/fuzz/fuzz.h"

#define CLIENT "0199c2e0-0000-7000-8000-000000000001"
#define KID "0199c2e0-0000-7000-8000-000000000002"

struct db { struct arena *mem; };

static const struct conf conf = { .public_url = "http://localhost" };

struct arena *db_arena(struct db *db) { return db->mem; }
enum db_failure db_failure(const struct db *db) { return DB_FINE; }
int64_t db_run(struct db *db, const char *sql, const struct arg *args) { abort(); }
bool db_insert(struct db *db, const char *table, const struct record *r, const void *row) { abort(); }
int64_t db_number(struct db *db, const char *sql, const struct arg *args, int64_t otherwise) { abort(); }

/* Those of external servers are up to fuzz_provider. */
const struct provider *provider_of(struct db *db, const char *shortcode) { return NULL; }
void provider_forget(void) { }

enum token_fault
provider_verify(struct db *db, const struct jwt *t, const char *issuer, struct principal *who)
{
	return TOKEN_BAD;
}

/* For the sake of a kid that is unknown the keys are read again, and then the one there is would be gone. */
void *
db_rows(struct db *db, const struct record *r, const char *from, const struct arg *args, size_t *n)
{
	struct key_row *row = NEW(db->mem, struct key_row);

	if (!uuid_parse(KID, &row->id))
		abort();
	*n = 1;
	return row;
}

void *
db_row(struct db *db, const struct record *r, const char *from, const struct arg *args)
{
	struct client *c = NEW(db->mem, struct client);
	char id[UUID_TEXT];

	if (r != &client_record || strcmp(uuid_format(args[0].id, id), CLIENT) != 0 ||
	    strcmp(args[1].text, "demo") != 0)
		return NULL;
	*c = (struct client){ .id = args[0].id, .shortcode = "demo", .name = "Bot", .scopes = "ViewChannel" };
	return c;
}

static enum token_fault
verify(struct db *db, const char *token, struct principal *who)
{
	memset(memories, 0, sizeof(memories));
	return token_verify(db, &conf, db->mem, token, who);
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=";

/* With another letter in any place it is another token. */
static void
changed(struct db *db, const char *token, size_t at, char letter)
{
	char *other = arena_copy(db->mem, token);
	struct principal who = { .scopes = 0 };

	other[at] = letter;
	if (letter != token[at] && verify(db, other, &who) == TOKEN_FINE)
		abort();
}

/* The lowest bit of the last letter is no part of the signature. */
static void
changed_anywhere(struct db *db, const char *token, size_t seed)
{
	size_t n = strlen(token);

	changed(db, token, seed % n, letters[seed / 7 % (sizeof(letters) - 1)]);
	changed(db, token, n - 1, letters[(strchr(letters, token[n - 1]) - letters) ^ 1]);
}

static void
signed_by_us(struct db *db, const char *head, size_t head_n, const char *claims, size_t claims_n)
{
	const char *text = arena_printf(db->mem, "%s.%s", base64url_encode(db->mem, head, head_n),
	    base64url_encode(db->mem, claims, claims_n)), *token;
	int64_t now = moment_now().ms / 1000;
	struct principal who = { .scopes = ~0u }, again = { .scopes = 0 };
	char id[UUID_TEXT];

	token = arena_printf(db->mem, "%s.%s", text, sign(db->mem, keys.at[0].pkey, text));
	if (verify(db, token, &who) != TOKEN_FINE)
		return;
	if (strcmp(uuid_format(who.id, id), CLIENT) != 0 || (who.scopes & ~SCOPE_BIT(SCOPE_VIEW_CHANNEL)) != 0 ||
	    who.is_super_admin || who.expires + LEEWAY < now || memmem(head, head_n, KID, 36) == NULL ||
	    !json_valid(db->mem, head, head_n) || !json_valid(db->mem, claims, claims_n))
		abort();
	/* Once more, from memory. */
	if (token_verify(db, &conf, db->mem, token, &again) != TOKEN_FINE || !uuid_equal(again.id, who.id) ||
	    again.scopes != who.scopes || strcmp(again.shortcode, "demo") != 0)
		abort();
	changed_anywhere(db, token, head_n * 31 + (unsigned char)claims[claims_n / 2] * 101u + claims_n * 17);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct db db;
	const char *claims = n > 0 ? memchr(data, '\n', n) : NULL;
	struct principal who = { .scopes = 0 };

	if (db.mem == NULL) {
		db.mem = arena_new((size_t)64 << 20);
		keys.at[0].pkey = EVP_RSA_gen(1024);
		keys.n = 1;
		if (keys.at[0].pkey == NULL || !uuid_parse(KID, &keys.at[0].id))
			abort();
	}
	keys.read_at = clock_s();
	keys.again_at = 0;
	if (verify(&db, arena_copy_n(db.mem, data, n), &who) == TOKEN_FINE)
		abort();
	if (claims != NULL)
		signed_by_us(&db, (const char *)data, (size_t)(claims - (const char *)data), claims + 1,
		    n - (size_t)(claims + 1 - (const char *)data));
	arena_reset(db.mem);
	return 0;
}
