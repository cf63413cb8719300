/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fragmented MP4: fragments come out in order, behind the head, within the file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "media/fragments.h"
#include "tests/fuzz/fuzz.h"

static void
checked(const struct fragments *f, size_t n)
{
	int64_t end = f->init_size;
	size_t i;

	if (f->file_size != (int64_t)n || f->n == 0 || f->timescale <= 0 || f->init_size <= 0 || f->duration < 0 ||
	    f->skip < 0 || (strncmp(f->codecs, "avc1.", 5) != 0 && strncmp(f->codecs, "mp4a.40.", 8) != 0))
		abort();
	for (i = 0; i < f->n; i++) {
		const struct fragment *p = &f->at[i];

		if (p->offset < end || p->size < 8 || p->size > f->file_size - p->offset || p->duration < 0)
			abort();
		end = p->offset + p->size;
	}
}

/* In memory where there is room for files: fragments_read() takes no symbolic link such as those in /proc/self/fd. */
static char path[] = "/dev/shm/kinothek-fuzz.XXXXXX";

static void
remove_file(void)
{
	unlink(path);
}

static int
make_file(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		fd = mkstemp(strcpy(path, "/tmp/kinothek-fuzz.XXXXXX"));
	if (fd < 0 || atexit(remove_file) != 0)
		abort();
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	static int fd;
	const struct fragments *found;

	if (mem == NULL) {
		mem = arena_new((size_t)256 << 20);
		fd = make_file();
	}
	if (ftruncate(fd, 0) != 0 || pwrite(fd, data, n, 0) != (ssize_t)n)
		abort();
	found = fragments_read(mem, path);
	if (found != NULL)
		checked(found, n);
	if (fragment_time(data, n) < -1 || fragment_scale(data, n) < 0)
		abort();
	arena_reset(mem);
	return 0;
}
