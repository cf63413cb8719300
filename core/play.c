/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed play addresses: HMAC-SHA256 over expiry and asset. */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/log.h"
#include "core/play.h"

#define SIGNATURE_TEXT 65		/* 64 hex digits and the NUL */
#define ROUND_TO 600			/* s */
#define EXPIRY_TEXT 11			/* 10 digits, until the year 2286, and the NUL */
#define EXTENSION_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789"
#define FILE_CHARACTERS EXTENSION_CHARACTERS "-_."

static void __attribute__((noreturn))
broken(const char *what)
{
	log_text(LOG_LEVEL_ERROR, "play", "%s", what);
	abort();
}

/* The keyed state is made once: a list of 50 assets signs 50 times. */
static EVP_MAC_CTX *
keyed(const char *hex_key)
{
	static EVP_MAC_CTX *ctx;
	static char known[129], digest[] = "SHA256";
	OSSL_PARAM params[2];
	EVP_MAC *mac;
	unsigned char *key;
	long n = 0;

	if (ctx != NULL && strcmp(known, hex_key) == 0)
		return ctx;
	key = OPENSSL_hexstr2buf(hex_key, &n);
	mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	if (key == NULL || n < 32 || strlen(hex_key) >= sizeof(known) || mac == NULL)
		broken("the play key is not 64 hex digits");
	params[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0);
	params[1] = OSSL_PARAM_construct_end();
	EVP_MAC_CTX_free(ctx);
	ctx = EVP_MAC_CTX_new(mac);
	EVP_MAC_free(mac);
	if (ctx == NULL || !EVP_MAC_init(ctx, key, (size_t)n, params))
		broken("HMAC-SHA256 is not available");
	OPENSSL_clear_free(key, (size_t)n);
	snprintf(known, sizeof(known), "%s", hex_key);
	return ctx;
}

static void
sign(const struct conf *conf, const char *message, size_t n, char out[SIGNATURE_TEXT])
{
	/* One state for all threads, which each has for a moment. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	EVP_MAC_CTX *ctx;
	unsigned char mac[32];
	size_t i, size = 0;

	pthread_mutex_lock(&lock);
	ctx = keyed(conf->play_key);
	/* No key here: the state goes back to where the key was taken in. */
	if (!EVP_MAC_init(ctx, NULL, 0, NULL) || !EVP_MAC_update(ctx, (const unsigned char *)message, n) ||
	    !EVP_MAC_final(ctx, mac, &size, sizeof(mac)) || size != sizeof(mac))
		broken("HMAC-SHA256 failed");
	pthread_mutex_unlock(&lock);
	for (i = 0; i < sizeof(mac); i++) {
		out[2 * i] = "0123456789abcdef"[mac[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[mac[i] & 15];
	}
	out[2 * sizeof(mac)] = '\0';
}

int64_t
play_expiry(const struct conf *conf, struct moment now)
{
	int64_t expiry = now.ms / 1000 + conf->play_lifetime;

	return expiry + (ROUND_TO - expiry % ROUND_TO) % ROUND_TO;
}

char *
play_prefix(const struct conf *conf, struct uuid media_id, struct moment now, char out[PLAY_PREFIX_MAX])
{
	return play_prefix_until(conf, media_id, play_expiry(conf, now), out);
}

/* By hand: a list of 50 has 50 of them. */
char *
play_prefix_until(const struct conf *conf, struct uuid media_id, int64_t expiry, char out[PLAY_PREFIX_MAX])
{
	char id[UUID_TEXT], message[80], signature[SIGNATURE_TEXT];
	struct buf m = BUF_OVER(message), b = { NULL, out, 0, PLAY_PREFIX_MAX };

	if (strlen(conf->public_url) + sizeof(message) + sizeof(signature) + sizeof("/play/.") > PLAY_PREFIX_MAX)
		broken("public_url is too long");
	uuid_format(media_id, id);
	buf_int(&m, expiry);
	buf_char(&m, '/');
	buf_add(&m, id, UUID_TEXT - 1);
	buf_char(&m, '/');
	sign(conf, message, m.len, signature);
	buf_text(&b, conf->public_url);
	buf_text(&b, "/play/");
	buf_int(&b, expiry);
	buf_char(&b, '.');
	buf_add(&b, signature, SIGNATURE_TEXT - 1);
	buf_char(&b, '/');
	buf_add(&b, id, UUID_TEXT - 1);
	buf_char(&b, '/');
	return out;
}

char *
play_secret(const struct conf *conf, struct uuid id, char out[PLAY_SECRET])
{
	char message[80], signature[SIGNATURE_TEXT];
	int n = snprintf(message, sizeof(message), "secret/%s", uuid_format(id, signature));

	sign(conf, message, (size_t)n, signature);
	snprintf(out, PLAY_SECRET, "%.16s", signature);
	return out;
}

bool
play_secret_is(const char secret[PLAY_SECRET], const char given[PLAY_SECRET])
{
	return CRYPTO_memcmp(secret, given, PLAY_SECRET) == 0;
}

static void
sign_page(const struct conf *conf, int64_t expiry, struct uuid media_id, char out[SIGNATURE_TEXT])
{
	char id[UUID_TEXT], message[96];
	int n = snprintf(message, sizeof(message), "%" PRId64 "/%s/page", expiry, uuid_format(media_id, id));

	sign(conf, message, (size_t)n, out);
}

char *
page_token(const struct conf *conf, struct uuid media_id, struct moment now, char out[PAGE_TOKEN_MAX])
{
	int64_t expiry = play_expiry(conf, now);
	char signature[SIGNATURE_TEXT];

	sign_page(conf, expiry, media_id, signature);
	snprintf(out, PAGE_TOKEN_MAX, "%" PRId64 ".%s", expiry, signature);
	return out;
}

bool
page_opens(const struct conf *conf, const char *token, struct uuid media_id, struct moment now)
{
	size_t digits = strspn(token, "0123456789");
	char signature[SIGNATURE_TEXT];
	int64_t expiry;

	if (digits == 0 || digits > 12 || strlen(token) != digits + SIGNATURE_TEXT || token[digits] != '.')
		return false;
	expiry = strtoll(token, NULL, 10);
	sign_page(conf, expiry, media_id, signature);
	return CRYPTO_memcmp(signature, token + digits + 1, SIGNATURE_TEXT - 1) == 0 && expiry >= now.ms / 1000;
}

static bool
has_extension(const char *name, size_t n)
{
	const char *dot = memrchr(name, '.', n);
	size_t letters = dot != NULL ? strspn(dot + 1, EXTENSION_CHARACTERS) : 0;

	return letters > 0 && dot[1] >= 'a' && dot + 1 + letters == name + n;
}

/* Our names hold no character that would need an escape, so every escape is an attempt at something else. */
static bool
file_valid(const char *file)
{
	size_t n;

	for (;; file += n + 1) {
		n = strspn(file, FILE_CHARACTERS);
		if (n == 0 || file[0] == '.')
			return false;
		if (file[n] == '\0' || file[n] == '?')
			return has_extension(file, n);
		if (file[n] != '/')
			return false;
	}
}

enum play
play_check(const struct conf *conf, const char *path, struct moment now, struct uuid *media_id, const char **file)
{
	char id[UUID_TEXT], message[80], signature[SIGNATURE_TEXT];
	const char *expiry = path + 6, *given;
	size_t digits;
	int n;

	if (strncmp(path, "/play/", 6) != 0)
		return PLAY_REFUSED;
	digits = strspn(expiry, "0123456789");
	if (digits != EXPIRY_TEXT - 1 || expiry[digits] != '.')
		return PLAY_REFUSED;
	given = expiry + digits + 1;
	if (strspn(given, "0123456789abcdef") != 64 || given[64] != '/')
		return PLAY_REFUSED;
	snprintf(id, sizeof(id), "%s", given + 65);
	if (!uuid_parse(id, media_id) || given[65 + 36] != '/' || !file_valid(given + 65 + 37))
		return PLAY_REFUSED;
	n = snprintf(message, sizeof(message), "%.*s/%s/", (int)digits, expiry, id);
	sign(conf, message, (size_t)n, signature);
	if (CRYPTO_memcmp(signature, given, 64) != 0)
		return PLAY_REFUSED;
	*file = given + 65 + 37;
	return strtoll(expiry, NULL, 10) < now.ms / 1000 ? PLAY_EXPIRED : PLAY_FINE;
}
