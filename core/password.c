/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passwords: their text, their hash. */
#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include "core/password.h"
#include "core/text.h"

/* Of yescrypt, its own default: 16 MiB, and 30 to 80 ms on the machines of these years. */
enum { COST = 5, SHA512 = 64 };

/* In NFKC; NULL: too long, or no text. */
static const char *
normal(struct arena *mem, const char *password)
{
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *form = unorm2_getNFKCInstance(&error);
	UChar wide[PASSWORD_MAX], plain[PASSWORD_MAX];
	char *out = arena_alloc(mem, PASSWORD_MAX + 1);
	int32_t n, m;

	if (strlen(password) > PASSWORD_MAX || !utf8_valid(password, strlen(password)))
		return NULL;
	u_strFromUTF8(wide, PASSWORD_MAX, &n, password, -1, &error);
	m = unorm2_normalize(form, wide, n, plain, PASSWORD_MAX, &error);
	u_strToUTF8(out, PASSWORD_MAX + 1, NULL, plain, m, &error);
	OPENSSL_cleanse(wide, sizeof(wide));
	OPENSSL_cleanse(plain, sizeof(plain));
	return U_FAILURE(error) ? NULL : out;
}

enum password_fault
password_check(struct arena *mem, const char *password)
{
	const char *text;

	if (strlen(password) > PASSWORD_MAX)
		return PASSWORD_LONG;
	if (!utf8_valid(password, strlen(password)))
		return PASSWORD_NOT_TEXT;
	text = normal(mem, password);
	return text == NULL ? PASSWORD_LONG : utf8_length(text) < PASSWORD_MIN ? PASSWORD_SHORT : PASSWORD_FINE;
}

/* crypt() takes at most 512 bytes: it gets the SHA-512 of what was typed, as text without NUL. */
static const char *
crypted(struct arena *mem, const char *text, const char *setting)
{
	struct crypt_data *data = arena_alloc(mem, sizeof(*data));
	unsigned char digest[SHA512];
	const char *out;
	unsigned n;

	if (EVP_Digest(text, strlen(text), digest, &n, EVP_sha512(), NULL) != 1)
		abort();
	out = crypt_rn(base64url_encode(mem, digest, n), setting, data, sizeof(*data));
	OPENSSL_cleanse(digest, sizeof(digest));
	return out;
}

const char *
password_hash(struct arena *mem, const char *password)
{
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];
	const char *text = normal(mem, password), *hash;

	if (text == NULL || crypt_gensalt_rn("$y$", COST, NULL, 0, setting, sizeof(setting)) == NULL)
		abort();
	hash = crypted(mem, text, setting);
	if (hash == NULL)
		abort();
	return hash;
}

bool
password_matches(struct arena *mem, const char *hash, const char *password)
{
	/* A hash of the same cost, of a password that nobody has. */
	static const char nobody[] = "$y$j9T$0000000000000000000000$0000000000000000000000000000000000000000000.";
	const char *text = normal(mem, password), *found;

	if (text == NULL)
		return false;
	found = crypted(mem, text, hash != NULL ? hash : nobody);
	return hash != NULL && found != NULL && strlen(found) == strlen(hash) &&
	    CRYPTO_memcmp(found, hash, strlen(hash)) == 0;
}
