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
