/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Without a fuzzer: every file of the corpus, and every prefix of a short one, once.  A crash is the failure. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

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
	for (i = 0; n <= 4096 && i < n; i++)
		once(bytes, i);
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
