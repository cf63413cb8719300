/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys that sign tokens: read, kept, made anew, shown to the world. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#include "core/buf.h"
#include "core/key.h"
#include "core/log.h"
#include "core/record.h"

enum {
	KEYS_FRESH = 60,		/* s until the keys are read again */
	KEYS_AGAIN = 10,		/* s between two readings for the sake of an unknown kid */
	KEY_SETTLE = 90,		/* s until a new key signs */
	/* s a retired key verifies beyond the longest lifetime: settling, caches, clocks */
	KEY_MARGIN = 300,
	KEYS = 16,
};

struct key_row { struct uuid id; const char *private_pem; struct moment created_at; };
static const struct field key_fields[] = {
	FIELD(struct key_row, id, .on = SERVER, .doc = "kid"),
	FIELD(struct key_row, private_pem, .on = SERVER, .doc = "PKCS#8"),
	FIELD(struct key_row, created_at, .on = SERVER, .doc = "Since when it is there"),
};
static const struct record key_record = RECORD("SigningKey", struct key_row, key_fields);

static struct {
	struct key at[KEYS];		/* newest first */
	size_t n;
	int64_t read_at, again_at;	/* s of the monotonic clock; 0: never */
} keys;

static EVP_PKEY *
key_read(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

	BIO_free(bio);
	if (key != NULL && !EVP_PKEY_is_a(key, "RSA")) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	ERR_clear_error();
	return key;
}

/* The key of that id, taken out of the old set, or parsed. */
static EVP_PKEY *
key_take(struct key *old, size_t n, const struct key_row *row)
{
	EVP_PKEY *key;
	size_t i;
	char kid[UUID_TEXT];

	for (i = 0; i < n; i++)
		if (uuid_equal(old[i].id, row->id)) {
			key = old[i].pkey;
			old[i].pkey = NULL;
			return key;
		}
	key = key_read(row->private_pem);
	if (key == NULL)
		log_line(LOG_LEVEL_ERROR, "signing key cannot be read", LOG_TEXT("kid", uuid_format(row->id, kid)));
	return key;
}

/* Keys whose last tokens may still be live.  When the database is away, the old set stays. */
static void
keys_read(struct db *db)
{
	struct key old[KEYS];
	struct key_row *rows;
	size_t n, i, n_old = keys.n;

	rows = db_rows(db, &key_record, "FROM signing_keys t WHERE t.retired_at = 0 OR t.retired_at + "
	    "((SELECT COALESCE(MAX(token_lifetime), 0) FROM tenants) + ?) * 1000 > " SQL_NOW
	    " ORDER BY t.created_at DESC, t.id DESC LIMIT 16", ARGS(INT(KEY_MARGIN)), &n);
	if (db_failure(db) != DB_FINE)
		return;
	memcpy(old, keys.at, sizeof(old));
	keys.n = 0;
	for (i = 0; i < n && i < KEYS; i++) {
		EVP_PKEY *key = key_take(old, n_old, &rows[i]);

		if (key != NULL)
			keys.at[keys.n++] = (struct key){ rows[i].id, key, rows[i].created_at.ms / 1000 };
	}
	for (i = 0; i < n_old; i++)
		EVP_PKEY_free(old[i].pkey);
	keys.read_at = clock_s();
}

static void
keys_freshen(struct db *db)
{
	if (keys.read_at == 0 || keys.n == 0 || clock_s() - keys.read_at >= KEYS_FRESH)
		keys_read(db);
}

static EVP_PKEY *
key_find(struct uuid kid)
{
	size_t i;

	for (i = 0; i < keys.n; i++)
		if (uuid_equal(keys.at[i].id, kid))
			return keys.at[i].pkey;
	return NULL;
}

/* A kid we do not know may be a new one; a flood of invented ones costs one query in ten seconds. */
EVP_PKEY *
key_of(struct db *db, struct uuid kid)
{
	EVP_PKEY *key;

	keys_freshen(db);
	key = key_find(kid);
	if (key != NULL || (keys.again_at != 0 && clock_s() - keys.again_at < KEYS_AGAIN))
		return key;
	keys.again_at = clock_s();
	keys_read(db);
	return key_find(kid);
}

/* The newest that every process has had time to read, else the oldest. */
const struct key *
key_signer(struct db *db)
{
	size_t i;

	keys_freshen(db);
	for (i = 0; i < keys.n; i++)
		if (keys.at[i].created + KEY_SETTLE <= moment_now().ms / 1000)
			return &keys.at[i];
	return keys.n == 0 ? NULL : &keys.at[keys.n - 1];
}

bool
key_ready(struct db *db)
{
	keys_freshen(db);
	return keys.n > 0;
}

static const char *
key_new_pem(struct arena *mem)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	BIO *bio = BIO_new(BIO_s_mem());
	char *text, *pem;
	long n;

	if (key == NULL || bio == NULL || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		abort();
	n = BIO_get_mem_data(bio, &text);
	pem = arena_copy_n(mem, text, (size_t)n);
	OPENSSL_cleanse(text, (size_t)n);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return pem;
}

const char *
key_rotate(struct db *db, struct arena *mem)
{
	struct key_row row = { uuid_new(), key_new_pem(mem), moment_now() };

	db_run(db, "DELETE FROM signing_keys WHERE retired_at > 0 AND retired_at + "
	    "((SELECT COALESCE(MAX(token_lifetime), 0) FROM tenants) + ?) * 1000 <= " SQL_NOW, ARGS(INT(KEY_MARGIN)));
	db_run(db, "UPDATE signing_keys SET retired_at = ? WHERE retired_at = 0", ARGS(TIME(row.created_at)));
	db_insert(db, "signing_keys", &key_record, &row);
	keys.read_at = 0;
	return uuid_text(mem, row.id);
}

static const char *
key_part(struct arena *mem, EVP_PKEY *key, const char *name)
{
	BIGNUM *number = NULL;
	unsigned char bytes[1024];
	int n;

	if (EVP_PKEY_get_bn_param(key, name, &number) != 1 || BN_num_bytes(number) > (int)sizeof(bytes))
		abort();
	n = BN_bn2bin(number, bytes);
	BN_free(number);
	return base64url_encode(mem, bytes, (size_t)n);
}

const char *
key_jwks(struct db *db, struct arena *mem)
{
	struct buf out = BUF(mem);
	char kid[UUID_TEXT];
	size_t i;

	keys_freshen(db);
	buf_text(&out, "{\"keys\":[");
	for (i = 0; i < keys.n; i++)
		buf_printf(&out, "%s{\"kid\":\"%s\",\"kty\":\"RSA\",\"alg\":\"RS256\",\"use\":\"sig\",\"n\":\"%s\","
		    "\"e\":\"%s\"}", i == 0 ? "" : ",", uuid_format(keys.at[i].id, kid), key_part(mem, keys.at[i].pkey,
		    OSSL_PKEY_PARAM_RSA_N), key_part(mem, keys.at[i].pkey, OSSL_PKEY_PARAM_RSA_E));
	buf_text(&out, "]}");
	return buf_string(&out);
}

void
key_forget(void)
{
	size_t i;

	for (i = 0; i < keys.n; i++)
		EVP_PKEY_free(keys.at[i].pkey);
	memset(&keys, 0, sizeof(keys));
}
