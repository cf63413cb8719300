/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Without a fuzzer: every file of the corpus, every prefix of a short one, and a few hundred changes of it that are
 * always the same (FUZZ_MUTANTS of each file, if that says how many).  A crash is the failure.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { SHORT = 4096 };

/* Exactly as long as the input, so that the sanitizer sees a read behind its end. */
static void
once(const unsigned char *bytes, size_t n)
{
	unsigned char *copy = malloc(n > 0 ? n : 1);

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static unsigned
below(unsigned limit)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 32) % limit;
}

/* One byte is another one, or some bytes are gone, or there twice.  Returns the new length. */
static unsigned
change(unsigned char *bytes, unsigned n)
{
	static const unsigned char telling[] = "/.$?%&=+-~:;\"'{}[]<>\r\n \0 09afAZ\x7f\x80\xc3\xff";
	unsigned at = below(n), some = 1 + below(n - at < 16 ? n - at : 16);

	switch (below(5)) {
	case 0: bytes[at] = (unsigned char)below(256); return n;
	case 1: bytes[at] = telling[below(sizeof(telling))]; return n;
	case 2: bytes[at] = bytes[below(n)]; return n;
	case 3: memmove(bytes + at, bytes + at + some, n - at - some); return n > some ? n - some : n;
	default: memmove(bytes + at + some, bytes + at, n - at); return n + some;
	}
}

static void
replay_changed(const unsigned char *bytes, unsigned n)
{
	static unsigned char copy[SHORT + 4 * 16];
	const char *most = getenv("FUZZ_MUTANTS");
	long i, count = most != NULL ? atol(most) : 300;
	unsigned length, k;

	for (i = 0; i < count; i++) {
		memcpy(copy, bytes, n);
		for (length = n, k = 1 + below(4); k > 0; k--)
			length = change(copy, length);
		once(copy, length);
	}
}

static void
replay(const char *path)
{
	static unsigned char bytes[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n, i;

	if (f == NULL)
		abort();
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	once(bytes, n);
	for (i = 0; n <= SHORT && i < n; i++)
		once(bytes, i);
	if (n > 0 && n <= SHORT)
		replay_changed(bytes, (unsigned)n);
}

int
main(int argc, char **argv)
{
	const char *src = getenv("KINOTHEK_SRC"), *name = strrchr(argv[0], '/');
	char dir[4096], path[8192];
	struct dirent *e;
	int count = 0;
	DIR *d;

	name = name == NULL ? argv[0] : name + 1;
	snprintf(dir, sizeof(dir), "%s/tests/fuzz/%s.corpus", src == NULL ? "." : src, name);
	if ((d = opendir(dir)) == NULL) {
		printf("Bail out! no %s\n", dir);
		return 1;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		replay(path);
		printf("ok %d - %s survives %s\n", ++count, name, e->d_name);
	}
	closedir(d);
	printf("1..%d\n", count);
	return count > 0 ? 0 : 1;
}
