/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The local store: a directory whose names are ours and whose changes are on the disk before anyone is told.  What is
 * out of reach lies below deleted/ instead of play/, where the web server does not look.
 */
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/store_kind.h"

enum { LIST_MAX = 1000, TRIES = 5, SYNC_APART = 64 << 20 };

const char *const store_tops[] = { "uploads", "originals", "play", "deleted", "live", NULL };

static char root[PATH_MAX / 2];
static int64_t kept_free;

static bool
is_play(const char *key)
{
	return strncmp(key, "play/", 5) == 0;
}

/* Only what lies below play/ is for the web server, which may run as another user. */
static mode_t
file_mode(const char *key)
{
	return is_play(key) ? 0644 : 0600;
}

static mode_t
dir_mode(const char *key)
{
	return strncmp(key, "play", 4) == 0 ? 0755 : 0700;
}

bool
store_local_open(const struct conf *conf)
{
	char path[PATH_MAX];
	size_t i;

	if (strlen(conf->data_dir) >= sizeof(root)) {
		errno = ENAMETOOLONG;
		return false;
	}
	snprintf(root, sizeof(root), "%s", conf->data_dir);
	kept_free = conf->free_space;
	if (!disk_make_dir(root, 0755))
		return false;
	for (i = 0; store_tops[i] != NULL; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, store_tops[i]);
		if (!disk_make_dir(path, dir_mode(store_tops[i])))
			return false;
	}
	return true;
}

static const char *
path_of(struct arena *mem, const char *key)
{
	return arena_printf(mem, "%s/%s", root, key);
}

/* Where it lies while it is out of reach; NULL: that cannot be. */
static const char *
hidden_path(struct arena *mem, const char *key)
{
	return is_play(key) ? arena_printf(mem, "%s/deleted/%s", root, key + 5) : NULL;
}

/* Where it lies now, and what is known of it.  NULL with errno. */
static const char *
find(struct arena *mem, const char *key, struct stat *st)
{
	const char *path = path_of(mem, key), *hidden = hidden_path(mem, key);

	if (lstat(path, st) == 0)
		return path;
	if (hidden == NULL || (errno != ENOENT && errno != ENOTDIR))
		return NULL;
	return lstat(hidden, st) == 0 ? hidden : NULL;
}

static bool
make_parents(const char *path)
{
	return disk_make_parents(root, path, dir_mode(path + strlen(root) + 1));
}

/* What an object is made of: bytes in memory, or those of a file. */
struct source {
	const char *bytes;
	size_t n;
	int fd;		/* -1: the former */
};

/* What the system has taken but not written would have to be waited for in silence at the end. */
static bool
fill(int to, const struct source *s)
{
	off_t at = 0, synced = 0;
	ssize_t done;

	do {
		done = s->fd >= 0 ? sendfile(to, s->fd, &at, STORE_STRIDE) : s->n > (size_t)at ?
		    write(to, s->bytes + at, s->n - (size_t)at) : 0;
		if (done > 0 && s->fd < 0)
			at += done;
		if (at - synced >= SYNC_APART) {
			if (fdatasync(to) != 0)
				return false;
			synced = at;
		}
		if (done > 0)
			store_alive();
	} while (done > 0 || (done < 0 && errno == EINTR));
	return done == 0;
}

/* A name that nobody asks for, in the same directory: there it lies until all of it is there. */
static const char *
draft_of(struct arena *mem, const char *path)
{
	return arena_printf(mem, "%.*s/.%s", (int)(strrchr(path, '/') - path), path, uuid_text(mem, uuid_new()));
}

static bool
write_draft(const struct source *s, const char *draft, mode_t mode)
{
	int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), saved;
	bool fine;

	if (fd < 0)
		return false;
	fine = fill(fd, s) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
	saved = errno;
	close(fd);
	if (!fine)
		unlink(draft);
	errno = saved;
	return fine;
}

static bool
write_once(struct arena *mem, const struct source *s, const char *path, mode_t mode)
{
	const char *draft = draft_of(mem, path);
	int saved;

	if (!write_draft(s, draft, mode))
		return false;
	if (rename(draft, path) == 0)
		return disk_sync_parent(path);
	saved = errno;
	unlink(draft);
	errno = saved;
	return false;
}

/* Directories go when they are empty, and an asset's when it is served no more: then they are made again. */
static bool
write_new(struct arena *mem, const struct source *s, const char *key)
{
	const char *path = path_of(mem, key);
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (make_parents(path) && write_once(mem, s, path, file_mode(key)))
			return true;
		if (errno != ENOENT)
			break;
	}
	return false;
}

static bool
write_object(struct arena *mem, const void *bytes, size_t n, const char *key)
{
	return write_new(mem, &(struct source){ bytes, n, -1 }, key);
}

/* Scratch may lie on another file system. */
static bool
copy_in(struct arena *mem, const char *file, const char *key)
{
	struct source s = { .fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) };
	bool fine = s.fd >= 0 && write_new(mem, &s, key);
	int saved = errno;

	if (s.fd >= 0)
		close(s.fd);
	if (fine)
		unlink(file);
	errno = saved;
	return fine;
}

static bool
put(struct arena *mem, const char *file, const char *key)
{
	const char *path = path_of(mem, key);
	int tries;

	/* The age of an object counts from here. */
	if (utimensat(AT_FDCWD, file, NULL, AT_SYMLINK_NOFOLLOW) != 0 || !disk_sync(file, S_IFREG, file_mode(key)))
		return false;
	for (tries = 0; tries < TRIES; tries++) {
		if (make_parents(path) && rename(file, path) == 0)
			return disk_sync_parent(path);
		if (errno == EXDEV)
			return copy_in(mem, file, key);
		if (errno != ENOENT)
			break;
	}
	return false;
}

/* A new name is short work where the file lies on the file system of the key.  A second name tells: two mounts of one
 * file system have one device, and a file is not renamed from one to the other. */
static bool
put_begin(struct arena *mem, struct store_putting *p)
{
	const char *path = path_of(mem, p->key), *draft = draft_of(mem, path);
	struct source s = { .fd = -1 };
	int saved;

	if (!make_parents(path))
		return false;
	if (link(p->file, draft) == 0)
		return unlink(draft) == 0;
	if (errno != EXDEV)
		return true;
	s.fd = open(p->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	p->copy = s.fd >= 0 && write_draft(&s, draft, file_mode(p->key)) ? draft : NULL;
	saved = errno;
	if (s.fd >= 0)
		close(s.fd);
	errno = saved;
	return p->copy != NULL;
}

static bool
put_end(struct arena *mem, const struct store_putting *p)
{
	if (!put(mem, p->copy != NULL ? p->copy : p->file, p->key))
		return false;
	if (p->copy != NULL)
		unlink(p->file);
	return true;
}

static void
put_drop(const struct store_putting *p)
{
	if (p->copy != NULL)
		unlink(p->copy);
}

static char *
get(struct arena *mem, const char *key, size_t max, size_t *n)
{
	struct stat st;
	const char *path = find(mem, key, &st);
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *bytes = NULL;
	ssize_t done = -1;

	*n = 0;
	if (fd < 0)
		return NULL;
	if ((uint64_t)st.st_size > max)
		errno = EFBIG;
	else {
		bytes = arena_alloc(mem, (size_t)st.st_size + 1);
		while (*n < (size_t)st.st_size && ((done = read(fd, bytes + *n, (size_t)st.st_size - *n)) > 0 ||
		    (done < 0 && errno == EINTR)))
			*n += done > 0 ? (size_t)done : 0;
		if (*n < (size_t)st.st_size) {
			errno = done == 0 ? EIO : errno;	/* 0: it has become shorter */
			bytes = NULL;
		}
	}
	close(fd);
	return bytes;
}

static char *
get_range(struct arena *mem, const char *key, int64_t from, size_t n)
{
	struct stat st;
	const char *path = find(mem, key, &st);
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *bytes;
	size_t at = 0;
	ssize_t done;

	if (fd < 0)
		return NULL;
	bytes = arena_raw(mem, n + 1);
	bytes[n] = '\0';
	errno = 0;
	while (at < n && ((done = pread(fd, bytes + at, n - at, from + (int64_t)at)) > 0 ||
	    (done < 0 && errno == EINTR)))
		at += done > 0 ? (size_t)done : 0;
	close(fd);
	if (at < n && errno == 0)
		errno = EIO;		/* it has become shorter */
	return at < n ? NULL : bytes;
}

static const char *
fetch(struct arena *mem, const char *key, const char *scratch)
{
	struct stat st;

	return find(mem, key, &st);
}

static int64_t
size(struct arena *mem, const char *key)
{
	struct stat st;

	if (find(mem, key, &st) == NULL)
		return -1;
	if (S_ISREG(st.st_mode))
		return st.st_size;
	errno = ENOENT;
	return -1;
}

/* Directories above that are empty now go too: keys know of none. */
static bool
remove_at(const char *path)
{
	char above[PATH_MAX];
	size_t top = strlen(root) + 1 + strcspn(path + strlen(root) + 1, "/");
	struct stat st;
	char *slash;

	if (lstat(path, &st) != 0)
		return errno == ENOENT || errno == ENOTDIR;
	if (!disk_remove(path))
		return false;
	snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/')) != NULL && (size_t)(slash - above) > top) {
		*slash = '\0';
		if (rmdir(above) != 0 && errno != ENOENT)
			return disk_sync(above, S_IFDIR, 0) || errno == ENOENT;
	}
	return disk_sync_parent(above);
}

static bool
remove_object(struct arena *mem, const char *key)
{
	const char *path = path_of(mem, key), *hidden = hidden_path(mem, key);

	struct stat st;

	if (!remove_at(path) || (hidden != NULL && !remove_at(hidden)))
		return false;
	/* It may have moved from the one to the other just then. */
	if (find(mem, key, &st) == NULL)
		return true;
	errno = EAGAIN;
	return false;
}

/* The first of a long list, in order. */
struct listing {
	struct arena *mem;
	const char *prefix, *after;
	struct store_entry *all;
	size_t n, max;
};

/* A name that is there already comes from the other directory. */
static void
list_add(struct listing *l, const char *key)
{
	size_t low = 0, high = l->n, middle;
	int order;

	if (l->n == l->max && strcmp(key, l->all[l->max - 1].key) > 0)
		return;
	while (low < high) {
		middle = low + (high - low) / 2;
		order = strcmp(l->all[middle].key, key);
		if (order == 0)
			return;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (l->n < l->max)
		l->n++;
	memmove(&l->all[low + 1], &l->all[low], (l->n - 1 - low) * sizeof(*l->all));
	l->all[low] = (struct store_entry){ arena_copy(l->mem, key), -1, { 0 } };
}

/* One of the two directories that a prefix may mean.  False with errno when it cannot be read; one that is not there is
 * empty. */
static bool
list_dir(struct listing *l, const char *path)
{
	char key[PATH_MAX];
	DIR *dir = opendir(path);
	struct dirent *e;
	struct stat st;
	bool is_dir;
	int saved;

	if (dir == NULL)
		return errno == ENOENT || errno == ENOTDIR;
	while ((errno = 0, e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    strspn(e->d_name, KEY_CHARACTERS) != strlen(e->d_name))
			continue;
		is_dir = e->d_type == DT_DIR;
		if (e->d_type == DT_UNKNOWN)
			is_dir = fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
		snprintf(key, sizeof(key), "%s%s%s", l->prefix, e->d_name, is_dir ? "/" : "");
		if (l->after == NULL || strcmp(key, l->after) > 0)
			list_add(l, key);
	}
	saved = errno;
	closedir(dir);
	errno = saved;
	return saved == 0;
}

static struct store_entry *
list(struct arena *mem, const char *prefix, const char *after, size_t max, size_t *n)
{
	struct listing l = { .mem = mem, .prefix = prefix, .after = after, .max = max < LIST_MAX ? max : LIST_MAX };
	const char *hidden = hidden_path(mem, prefix);
	struct stat st;
	size_t i;

	l.all = arena_array(mem, l.max, sizeof(*l.all));
	*n = 0;
	if (!list_dir(&l, path_of(mem, arena_copy_n(mem, prefix, strlen(prefix) - 1))) ||
	    (hidden != NULL && !list_dir(&l, hidden)))
		return NULL;
	for (i = 0; i < l.n; i++)
		if (l.all[i].key[strlen(l.all[i].key) - 1] != '/' && find(mem, l.all[i].key, &st) != NULL) {
			l.all[i].size = st.st_size;
			l.all[i].put_at.ms = (int64_t)st.st_mtime * 1000;
		}
	*n = l.n;
	return l.all;
}

static bool
serve(struct arena *mem, struct uuid media_id, bool served)
{
	const char *key = store_key_play(mem, media_id, NULL), *shown = path_of(mem, key);
	const char *hidden = hidden_path(mem, key), *from = served ? hidden : shown, *to = served ? shown : hidden;
	struct stat st;

	if (lstat(from, &st) != 0)
		return errno == ENOENT;
	/* What is within reach is the newer one. */
	return disk_move(from, to, !served) && disk_sync_parent(to) && disk_sync_parent(from);
}

static bool
served(struct arena *mem, struct uuid media_id)
{
	struct stat st;

	return lstat(path_of(mem, store_key_play(mem, media_id, NULL)), &st) == 0;
}

const char *
store_growing(struct arena *mem, const char *key)
{
	const char *path = path_of(mem, key);

	return make_parents(arena_printf(mem, "%s/.", path)) ? path : NULL;
}

const char *
store_local_path(struct arena *mem, const char *key)
{
	return path_of(mem, key);
}

static int64_t
free_beside(int64_t kept)
{
	int64_t bytes = root[0] == '\0' ? 0 : disk_free(root) - kept;

	return bytes > 0 ? bytes : 0;
}

static int64_t
free_bytes(void)
{
	return free_beside(kept_free);
}

int64_t
store_local_left(void)
{
	return free_beside(kept_free / 2);
}

/* Drafts have names that are found as all names are that no row has. */
static int
tidy(struct moment before)
{
	return 0;
}

const struct store_kind store_local = { put, put_begin, put_end, put_drop, write_object, get, get_range,
	fetch, size, remove_object, list, serve, served, free_bytes, tidy };
