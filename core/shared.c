/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that processes map together. */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/shared.h"

/* It ends whoever reads what is no longer there: so nobody else may make it shorter. */
static bool
is_ours(int fd, size_t size)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || fchmod(fd, 0600)) {
		errno = EACCES;
		return false;
	}
	return st.st_size >= (off_t)size || !ftruncate(fd, (off_t)size);
}

static void *
map(const char *run_dir, const char *below, const char *name, size_t size)
{
	char path[4096];
	void *p = MAP_FAILED;
	int fd, e;

	snprintf(path, sizeof(path), "%s/%s%s", run_dir, below, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd >= 0 && is_ours(fd, size))
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	e = errno;
	if (fd >= 0)
		close(fd);
	errno = e;
	return p == MAP_FAILED ? NULL : p;
}

/* Programs that Apache starts itself may write nowhere but in fcgid/. */
void *
shared_map(const char *run_dir, const char *name, size_t size)
{
	void *p = map(run_dir, "", name, size);
	int e = errno;

	if (p == NULL && (e == EACCES || e == EPERM))
		p = map(run_dir, "fcgid/", name, size);
	if (p == NULL)
		log_text(LOG_LEVEL_WARN, "shared", "%s/%s: %s", run_dir, name, strerror(e));
	return p;
}
