/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories, trees and what makes them last. */
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"

bool
disk_make_parents(const char *root, const char *path, mode_t mode)
{
	char part[PATH_MAX];
	const char *slash = path + strlen(root);

	if (strlen(path) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return false;
	}
	while ((slash = strchr(slash + 1, '/')) != NULL) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (!disk_make_dir(part, mode))
			return false;
	}
	return true;
}

bool
disk_write(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;
	ssize_t done;

	for (; n > 0; at += done, n -= (size_t)done) {
		done = write(fd, at, n);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			return false;
	}
	return true;
}

bool
disk_sync(const char *path, mode_t type, mode_t mode)
{
	struct stat st;
	bool fine;
	int fd, saved;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	fine = fstat(fd, &st) == 0;
	if (fine && (st.st_mode & S_IFMT) != type) {
		errno = EINVAL;
		fine = false;
	}
	fine = fine && (mode == 0 || (st.st_mode & 07777) == mode || fchmod(fd, mode) == 0) && fsync(fd) == 0;
	saved = errno;
	close(fd);
	errno = saved;
	return fine;
}

bool
disk_sync_parent(const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash == NULL || slash == parent)
		return true;
	*slash = '\0';
	return disk_sync(parent, S_IFDIR, 0);
}

bool
disk_make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) != 0)
		return errno == EEXIST;
	return chmod(path, mode) == 0 && disk_sync_parent(path);
}

static int
remove_entry(const char *path, const struct stat *st, int what, struct FTW *at)
{
	return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

bool
disk_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT || errno == ENOTDIR;
	return (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) &&
	    lstat(path, &st) != 0 && errno == ENOENT;
}

static bool
move_entries(const char *from, const char *to, bool replace)
{
	DIR *dir = opendir(from);
	char below[PATH_MAX], target[PATH_MAX];
	struct dirent *e;
	bool fine = dir != NULL;

	while (fine && (e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		fine = (size_t)snprintf(below, sizeof(below), "%s/%s", from, e->d_name) < sizeof(below) &&
		    (size_t)snprintf(target, sizeof(target), "%s/%s", to, e->d_name) < sizeof(target) &&
		    disk_move(below, target, replace);
	}
	if (dir != NULL)
		closedir(dir);
	return fine && disk_sync(to, S_IFDIR, 0) && rmdir(from) == 0;
}

/* In one step where there is nothing yet, else entry by entry. */
bool
disk_move(const char *from, const char *to, bool replace)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 || errno == ENOENT)
		return true;
	if (errno == EINVAL && lstat(to, &st) != 0 && errno == ENOENT)	/* a file system without that flag */
		return rename(from, to) == 0;
	if (lstat(from, &st) != 0)
		return errno == ENOENT;
	if (S_ISDIR(st.st_mode))
		return move_entries(from, to, replace);
	return replace ? rename(from, to) == 0 : unlink(from) == 0;
}

bool
disk_put(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), saved;
	bool fine;

	if (fd < 0)
		return false;
	fine = disk_write(fd, bytes, n);
	saved = errno;
	if (close(fd) != 0 && fine)
		return false;
	errno = saved;
	return fine;
}

static bool
copy_bytes(int from, const char *to, mode_t mode)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), saved;
	ssize_t n = 0;
	bool fine;

	if (fd < 0)
		return false;
	do
		n = sendfile(fd, from, NULL, 1 << 30);
	while (n > 0 || (n < 0 && errno == EINTR));
	fine = n == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0;
	saved = errno;
	close(fd);
	errno = saved;
	return fine;
}

static bool
copy(const char *from, const char *to, mode_t mode, bool may_link)
{
	int fd = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), saved;
	char draft[PATH_MAX];
	struct stat st;
	bool fine;

	if (fd < 0)
		return false;
	snprintf(draft, sizeof(draft), "%s.draft", to);
	fine = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (!fine)
		errno = EINVAL;
	else if (unlink(draft) != 0 && errno != ENOENT)
		fine = false;
	else if (!may_link || st.st_uid != geteuid() || (st.st_mode & 07777) != mode || link(from, draft) != 0)
		fine = copy_bytes(fd, draft, mode);
	fine = fine && rename(draft, to) == 0 && disk_sync_parent(to);
	saved = errno;
	unlink(draft);			/* rename() leaves two names of one file as they are */
	close(fd);
	errno = saved;
	return fine;
}

bool
disk_copy(const char *from, const char *to, mode_t mode)
{
	return copy(from, to, mode, true);
}

bool
disk_copy_bytes(const char *from, const char *to, mode_t mode)
{
	return copy(from, to, mode, false);
}

int64_t
disk_free(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : 0;
}
