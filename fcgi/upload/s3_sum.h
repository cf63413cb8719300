/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checksums that clients of object stores send beside bytes: crc32 (RFC 1952), crc32c (RFC 3720), crc64nvme (NVM
 * Express
 * base specification 2.0, 5.2.1.3.4), sha1, sha256; and the MD5 that ETags are made of.
 */
#ifndef FCGI_UPLOAD_S3_SUM_H
#define FCGI_UPLOAD_S3_SUM_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"

enum s3_sum_kind { S3_SUM_NONE, S3_SUM_CRC32, S3_SUM_CRC32C, S3_SUM_CRC64NVME, S3_SUM_SHA1, S3_SUM_SHA256 };

/* "crc32c", as header names end, or "CRC32C", as x-amz-checksum-algorithm says; S3_SUM_NONE: none of ours. */
enum s3_sum_kind s3_sum_find(const char *name);
/* In lower case. */
const char *s3_sum_name(enum s3_sum_kind);

struct s3_sum {
	enum s3_sum_kind kind;
	uint64_t crc;
	EVP_MD_CTX *md;
};

/* s3_sum_end() gives its memory back and may be called again. */
void s3_sum_begin(struct s3_sum *, enum s3_sum_kind);
void s3_sum_add(struct s3_sum *, const void *bytes, size_t n);
/* In base64 with padding, as headers have it.  Ends it. */
const char *s3_sum_text(struct s3_sum *, struct arena *);
void s3_sum_end(struct s3_sum *);

/* Does that of all bytes follow from those of the parts? */
bool s3_sum_is_linear(enum s3_sum_kind);
/* Of bytes and n more behind them, by the sum of each, in base64. */
const char *s3_sum_behind(enum s3_sum_kind, struct arena *, const char *before, const char *behind, int64_t n);
/* Adds the bytes of a sum in base64: Amazon's COMPOSITE is the sum of the sums of the parts. */
void s3_sum_add_sum(struct s3_sum *, const char *sum);

#endif
