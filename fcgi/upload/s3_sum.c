/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cyclic redundancy checks eight bytes at a time (Intel's slicing-by-8), of any width up to 64 bits. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fcgi/upload/s3_sum.h"

enum { SLICES = 8 };

/* The polynomials with their bits turned round, since the lowest bit of a byte comes first. */
#define CRC32 0xedb88320u
#define CRC32C 0x82f63b78u
#define CRC64NVME 0x9a6c9329ac4bc9b5u

/* The lowest power of x stands highest: this is 1. */
#define TOP32 0x80000000u
#define TOP64 0x8000000000000000u

static uint64_t crc32_table[SLICES][256], crc32c_table[SLICES][256], crc64_table[SLICES][256];

static const char *const names[] = { NULL, "crc32", "crc32c", "crc64nvme", "sha1", "sha256" };

static void
make_table(uint64_t table[SLICES][256], uint64_t polynomial)
{
	for (unsigned i = 0; i < 256; i++) {
		uint64_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
		table[0][i] = crc;
	}
	for (unsigned k = 1; k < SLICES; k++)
		for (unsigned i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

static void
make_tables(void)
{
	make_table(crc32_table, CRC32);
	make_table(crc32c_table, CRC32C);
	make_table(crc64_table, CRC64NVME);
}

static uint64_t
crc_add(uint64_t table[SLICES][256], uint64_t crc, const unsigned char *p, size_t n)
{
	for (; n >= SLICES; p += SLICES, n -= SLICES) {
		uint64_t next = 0;

		for (int i = 0; i < SLICES; i++)
			next ^= table[SLICES - 1 - i][(p[i] ^ crc >> 8 * i) & 0xff];
		crc = next;
	}
	while (n-- > 0)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return crc;
}

enum s3_sum_kind
s3_sum_find(const char *name)
{
	for (enum s3_sum_kind k = S3_SUM_CRC32; k <= S3_SUM_SHA256; k++)
		if (strcasecmp(name, names[k]) == 0)
			return k;
	return S3_SUM_NONE;
}

const char *
s3_sum_name(enum s3_sum_kind kind)
{
	return names[kind];
}

void
s3_sum_begin(struct s3_sum *s, enum s3_sum_kind kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_tables);
	*s = (struct s3_sum){ .kind = kind };
	if (kind == S3_SUM_CRC32 || kind == S3_SUM_CRC32C)
		s->crc = 0xffffffffu;
	else if (kind == S3_SUM_CRC64NVME)
		s->crc = ~(uint64_t)0;
	else if (kind == S3_SUM_SHA1 || kind == S3_SUM_SHA256)
		if ((s->md = EVP_MD_CTX_new()) == NULL || !EVP_DigestInit_ex(s->md, kind == S3_SUM_SHA1 ? EVP_sha1() :
		    EVP_sha256(), NULL))
			abort();
}

void
s3_sum_add(struct s3_sum *s, const void *bytes, size_t n)
{
	switch (s->kind) {
	case S3_SUM_NONE: break;
	case S3_SUM_CRC32: s->crc = crc_add(crc32_table, s->crc, bytes, n); break;
	case S3_SUM_CRC32C: s->crc = crc_add(crc32c_table, s->crc, bytes, n); break;
	case S3_SUM_CRC64NVME: s->crc = crc_add(crc64_table, s->crc, bytes, n); break;
	case S3_SUM_SHA1: case S3_SUM_SHA256: EVP_DigestUpdate(s->md, bytes, n); break;
	}
}

/* The highest byte first. */
static size_t
crc_bytes(const struct s3_sum *s, unsigned char out[8])
{
	const size_t n = s->kind == S3_SUM_CRC64NVME ? 8 : 4;

	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)(~s->crc >> 8 * (n - 1 - i));
	return n;
}

const char *
s3_sum_text(struct s3_sum *s, struct arena *mem)
{
	unsigned char value[EVP_MAX_MD_SIZE];
	char *text = arena_alloc(mem, EVP_MAX_MD_SIZE * 2);
	unsigned n = 0;

	if (s->md != NULL)
		EVP_DigestFinal_ex(s->md, value, &n);
	else
		n = (unsigned)crc_bytes(s, value);
	EVP_EncodeBlock((unsigned char *)text, value, (int)n);
	s3_sum_end(s);
	return text;
}

void
s3_sum_end(struct s3_sum *s)
{
	EVP_MD_CTX_free(s->md);
	s->md = NULL;
}

/* ---- of bytes that were looked at apart ---- */

/* Of two polynomials, by that of the check. */
static uint64_t
multiply(uint64_t a, uint64_t b, uint64_t polynomial, uint64_t top)
{
	uint64_t product = 0;

	for (; top != 0 && a != 0; top >>= 1) {
		if (a & top)
			product ^= b;
		a &= ~top;
		b = b >> 1 ^ (b & 1 ? polynomial : 0);
	}
	return product;
}

/* What the sum of bytes becomes when n zeros follow: x to the power of 8 n times it (as crc32_combine() of zlib). */
static uint64_t
behind_zeros(uint64_t sum, int64_t n, uint64_t polynomial, uint64_t top)
{
	uint64_t power = top >> 8;

	for (; n > 0; n >>= 1) {
		if (n & 1)
			sum = multiply(sum, power, polynomial, top);
		power = multiply(power, power, polynomial, top);
	}
	return sum;
}

/* The bytes of a sum; how many they are. */
static int
read_sum(const char *text, unsigned char bytes[48])
{
	int n = strlen(text) <= 64 ? EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)strlen(text)) : 0;

	for (size_t i = strlen(text); n > 0 && text[i - 1] == '='; i--)
		n--;
	return n < 0 ? 0 : n;
}

static uint64_t
read_crc(const char *text)
{
	unsigned char bytes[48];
	int n = read_sum(text, bytes);
	uint64_t crc = 0;

	for (int i = 0; i < n; i++)
		crc = crc << 8 | bytes[i];
	return crc;
}

bool
s3_sum_is_linear(enum s3_sum_kind kind)
{
	return kind == S3_SUM_CRC32 || kind == S3_SUM_CRC32C || kind == S3_SUM_CRC64NVME;
}

const char *
s3_sum_behind(enum s3_sum_kind kind, struct arena *mem, const char *before, const char *behind, int64_t n)
{
	const uint64_t polynomial = kind == S3_SUM_CRC32 ? CRC32 : kind == S3_SUM_CRC32C ? CRC32C : CRC64NVME;
	struct s3_sum s = { .kind = kind };

	s.crc = ~(behind_zeros(read_crc(before), n, polynomial, kind == S3_SUM_CRC64NVME ? TOP64 : TOP32) ^
	    read_crc(behind));
	return s3_sum_text(&s, mem);
}

void
s3_sum_add_sum(struct s3_sum *s, const char *sum)
{
	unsigned char bytes[48];

	s3_sum_add(s, bytes, (size_t)read_sum(sum, bytes));
}
