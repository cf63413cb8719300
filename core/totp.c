/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RFC 6238, and RFC 4648 base32. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/text.h"
#include "core/totp.h"

const char *
totp_code(struct arena *mem, const unsigned char *secret, size_t n, int64_t step, int digits)
{
	unsigned char counter[8], mac[EVP_MAX_MD_SIZE];
	uint32_t number, most = 1;
	unsigned size = 0;
	int i;

	for (i = 0; i < 8; i++)
		counter[i] = (unsigned char)((uint64_t)step >> (56 - 8 * i));
	if (HMAC(EVP_sha1(), secret, (int)n, counter, sizeof(counter), mac, &size) == NULL || size != 20)
		abort();
	memcpy(counter, mac + (mac[19] & 15), 4);
	number = (uint32_t)(counter[0] & 127) << 24 | (uint32_t)counter[1] << 16 | (uint32_t)counter[2] << 8 |
	    counter[3];
	for (i = 0; i < digits; i++)
		most *= 10;
	return arena_printf(mem, "%0*u", digits, number % most);
}

int64_t
totp_match(struct arena *mem, const unsigned char *secret, size_t n, const char *code, int64_t now_ms, int64_t last)
{
	int64_t now = now_ms / TOTP_STEP_MS, step, found = -1;

	if (strlen(code) != TOTP_DIGITS)
		return -1;
	for (step = now - 1; step <= now + 1; step++)
		if (CRYPTO_memcmp(totp_code(mem, secret, n, step, TOTP_DIGITS), code, TOTP_DIGITS) == 0 && step > last)
			found = step;
	return found;
}

static const char *
base32(struct arena *mem, const unsigned char *bytes, size_t n, bool in_groups)
{
	struct buf b = BUF(mem);
	size_t i, bits = n * 8;

	for (i = 0; i < bits; i += 5) {
		unsigned two = (unsigned)bytes[i / 8] << 8 | (i / 8 + 1 < n ? bytes[i / 8 + 1] : 0);

		if (in_groups && i > 0 && i % 20 == 0)
			buf_char(&b, ' ');
		buf_char(&b, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[two >> (11 - i % 8) & 31]);
	}
	return buf_string(&b);
}

const char *
totp_text(struct arena *mem, const unsigned char *secret, size_t n)
{
	return base32(mem, secret, n, true);
}

const char *
totp_address(struct arena *mem, const unsigned char *secret, size_t n, const char *issuer, const char *account)
{
	const char *name = percent_encode(mem, issuer);

	return arena_printf(mem, "otpauth://totp/%s:%s?secret=%s&issuer=%s", name, percent_encode(mem, account),
	    base32(mem, secret, n, false), name);
}
