/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The local store: a directory whose names are ours and whose changes are on the disk before anyone is told. */
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/store.h"
#include "core/text.h"

#define KEY_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-_./"

const char *const store_tops[] = { "uploads", "originals", "play", "deleted", "work", NULL };

static char root[PATH_MAX / 2];
static int64_t kept_free;

/* Only what lies below play/ is for the web server, which may run as another user. */
static mode_t
file_mode(const char *key)
{
	return strncmp(key, "play/", 5) == 0 ? 0644 : 0600;
}

static mode_t
dir_mode(const char *key)
{
	return strncmp(key, "play", 4) == 0 ? 0755 : 0700;
}

/* Makes sure of bytes or names already written.  Special files are refused: a decoder may have left a link. */
static bool
sync_path(const char *path, mode_t type, mode_t mode)
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

/* Syncs the directory that holds the path: that makes a new name, or its absence, last. */
static bool
sync_parent(const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash == NULL || slash == parent)
		return true;
	*slash = '\0';
	return sync_path(parent, S_IFDIR, 0);
}

/* One directory below a synced parent; there already is fine. */
static bool
make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) != 0)
		return errno == EEXIST;
	return chmod(path, mode) == 0 && sync_parent(path);
}

static bool
make_parents(struct arena *mem, const char *key)
{
	char *path = arena_copy(mem, store_path(mem, key));
	char *slash = path + strlen(root);

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		if (!make_dir(path, dir_mode(key)))
			return false;
		*slash = '/';
	}
	return true;
}

bool
store_open(const struct conf *conf)
{
	char path[PATH_MAX];
	size_t i;

	if (strlen(conf->data_dir) >= sizeof(root)) {
		errno = ENAMETOOLONG;
		return false;
	}
	snprintf(root, sizeof(root), "%s", conf->data_dir);
	kept_free = conf->free_space;
	if (!make_dir(root, 0755))
		return false;
	for (i = 0; store_tops[i] != NULL; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, store_tops[i]);
		if (!make_dir(path, dir_mode(store_tops[i])))
			return false;
	}
	return true;
}

/* No segment may be empty, "." or "..". */
static bool
key_valid(const char *key)
{
	size_t n;

	if (strspn(key, KEY_CHARACTERS) != strlen(key))
		return false;
	for (;; key += n + 1) {
		n = strcspn(key, "/");
		if (n == 0 || (n == 1 && key[0] == '.') || (n == 2 && key[0] == '.' && key[1] == '.'))
			return false;
		if (key[n] == '\0')
			return true;
	}
}

const char *
store_path(struct arena *mem, const char *key)
{
	if (root[0] == '\0' || !key_valid(key)) {
		log_text(LOG_LEVEL_ERROR, "store", "%s: %s", root[0] == '\0' ? "not opened" : "not a key", key);
		abort();
	}
	return arena_printf(mem, "%s/%s", root, key);
}

/* The parents may move away between being made and being used: then they are made again. */
bool
store_put(struct arena *mem, const char *file, const char *key)
{
	const char *path = store_path(mem, key);
	int tries;

	if (!sync_path(file, S_IFREG, file_mode(key)))
		return false;
	for (tries = 0; tries < 3; tries++) {
		if (make_parents(mem, key) && rename(file, path) == 0)
			return sync_parent(path);
		if (errno != ENOENT)
			break;
	}
	return false;
}

const char *
store_twin(struct arena *mem, const char *key)
{
	return strncmp(key, "play/", 5) == 0 ? arena_printf(mem, "deleted/%s", key + 5) : NULL;
}

static bool move(const char *from, const char *to, bool replace);

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
		    move(below, target, replace);
	}
	if (dir != NULL)
		closedir(dir);
	return fine && sync_path(to, S_IFDIR, 0) && rmdir(from) == 0;
}

/* In one step where there is nothing yet, else entry by entry. */
static bool
move(const char *from, const char *to, bool replace)
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
store_move(struct arena *mem, const char *key, const char *to)
{
	const char *path = store_path(mem, key), *target = store_path(mem, to);
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT;
	return make_parents(mem, to) && move(path, target, strncmp(key, "play/", 5) == 0) && sync_parent(target) &&
	    sync_parent(path);
}

static int
remove_entry(const char *path, const struct stat *st, int what, struct FTW *at)
{
	return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

static bool
remove_tree(const char *path)
{
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT;
}

static bool
write_all(int fd, const char *bytes, size_t n)
{
	ssize_t done;

	while (n > 0) {
		done = write(fd, bytes, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

bool
store_write(struct arena *mem, const void *bytes, size_t n, const char *key)
{
	const char *file = store_path(mem, arena_printf(mem, "work/write-%s", uuid_text(mem, uuid_new())));
	bool fine;
	int fd, saved;

	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = write_all(fd, bytes, n);
	saved = errno;
	close(fd);
	errno = saved;
	if (fine && store_put(mem, file, key))
		return true;
	saved = errno;
	unlink(file);
	errno = saved;
	return false;
}

bool
store_delete(struct arena *mem, const char *key)
{
	const char *path = store_path(mem, key);
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT || errno == ENOTDIR;
	return remove_tree(path) && sync_parent(path) && lstat(path, &st) != 0 && errno == ENOENT;
}

int64_t
store_size(struct arena *mem, const char *key)
{
	struct stat st;

	return lstat(store_path(mem, key), &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

int64_t
store_free(void)
{
	struct statvfs fs;
	int64_t bytes;

	if (root[0] == '\0' || statvfs(root, &fs) != 0)
		return 0;
	bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize - kept_free;
	return bytes > 0 ? bytes : 0;
}
