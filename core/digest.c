/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 of files. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/text.h"

enum { PIECE = 1 << 20 };

static const char *
digest_end(struct arena *mem, EVP_MD_CTX *context)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_DigestFinal_ex(context, sum, &n) != 1)
		abort();
	EVP_MD_CTX_free(context);
	return hex_encode(mem, sum, n);
}

static EVP_MD_CTX *
digest_begin(void)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
		abort();
	return context;
}

const char *
digest_text(struct arena *mem, const char *text, size_t n)
{
	EVP_MD_CTX *context = digest_begin();

	if (EVP_DigestUpdate(context, text, n) != 1)
		abort();
	return digest_end(mem, context);
}

/* False with errno. */
static bool
add_file(EVP_MD_CTX *context, int fd, char *piece, const struct digest_pace *pace)
{
	const bool from_disk = pace != NULL && pace->from_disk;
	off_t at = 0;
	ssize_t n;

	for (;;) {
		if (from_disk)
			posix_fadvise(fd, at, PIECE, POSIX_FADV_DONTNEED);
		n = read(fd, piece, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		if (EVP_DigestUpdate(context, piece, (size_t)n) != 1)
			abort();
		if (from_disk)
			posix_fadvise(fd, at, n, POSIX_FADV_DONTNEED);
		if (pace != NULL)
			pace->read(pace->at, (size_t)n);
		at += n;
	}
}

const char *
digest_file(struct arena *mem, const char *path, const struct digest_pace *pace)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), saved;
	EVP_MD_CTX *context;
	char *piece;
	bool whole;

	if (fd < 0)
		return NULL;
	context = digest_begin();
	/* Of this call, for there may be others at once; not of the arena, which may be of thousands of files. */
	piece = malloc(PIECE);
	whole = piece != NULL && add_file(context, fd, piece, pace);
	saved = errno;
	free(piece);
	close(fd);
	if (whole)
		return digest_end(mem, context);
	EVP_MD_CTX_free(context);
	errno = saved;
	return NULL;
}
