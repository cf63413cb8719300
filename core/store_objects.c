/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The store in a bucket of an object store: keys are what they are.  Nothing in a bucket can be read without a
 * signature, so nothing of it lies within anybody's reach by itself, and who delivers asks the rows each time; what a
 * livestream has grown on this machine does.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/objects.h"
#include "core/store_kind.h"

enum { LIST_MAX = 1000 };	/* what one answer may tell */

static struct objects bucket;
static int64_t kept_free;

static void
on_life(void *user)
{
	store_alive();
}

void
store_objects_open(const struct conf *conf)
{
	bucket = (struct objects){ conf->store_endpoint, conf->store_public_endpoint, conf->store_bucket,
		conf->store_region, conf->store_key, conf->store_secret,
		conf->store_prefix != NULL ? conf->store_prefix : "", .alive = on_life };
	kept_free = conf->free_space;
}

/* A file of this machine.  -1 with errno. */
static int
open_file(const char *file, int64_t *size)
{
	int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), saved;
	struct stat st;

	if (fd < 0)
		return -1;
	saved = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
	*size = (int64_t)st.st_size;
	if (saved == 0)
		return fd;
	close(fd);
	errno = saved;
	return -1;
}

static bool
put(struct arena *mem, const char *file, const char *key)
{
	int64_t size;
	int fd = open_file(file, &size), saved;
	bool fine = fd >= 0 && objects_put(&bucket, key, fd, size, store_type(key));

	saved = errno;
	if (fd >= 0)
		close(fd);
	if (fine)
		unlink(file);
	errno = saved;
	return fine;
}

static bool
put_begin(struct arena *mem, struct store_putting *p)
{
	int64_t size;
	int fd = open_file(p->file, &size), saved;

	p->draft = fd < 0 ? NULL : objects_draft(mem, &bucket, p->key, fd, size, store_type(p->key));
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return p->draft != NULL;
}

static bool
put_end(struct arena *mem, const struct store_putting *p)
{
	if (!objects_publish(&bucket, p->draft))
		return false;
	unlink(p->file);
	return true;
}

static void
put_drop(const struct store_putting *p)
{
	objects_discard(&bucket, p->draft);
}

static bool
write_bytes(struct arena *mem, const void *bytes, size_t n, const char *key)
{
	return objects_write(&bucket, key, bytes, n, store_type(key));
}

static char *
get(struct arena *mem, const char *key, size_t max, size_t *n)
{
	return objects_get(mem, &bucket, key, max, n);
}

static char *
get_range(struct arena *mem, const char *key, int64_t from, size_t n)
{
	return objects_get_range(mem, &bucket, key, from, n);
}

/* Below its key, so that files of one folder lie in one, and once for a job, since what a key holds never changes. */
static const char *
fetch(struct arena *mem, const char *key, const char *scratch)
{
	const char *path, *draft;
	struct stat st;

	if (scratch == NULL) {
		errno = ENOTSUP;
		return NULL;
	}
	path = arena_printf(mem, "%s/%s", scratch, key);
	/* Under a name of its own: that of the key may have all the bytes that a name can have. */
	draft = arena_printf(mem, "%.*s/.%s", (int)(strrchr(path, '/') - path), path, uuid_text(mem, uuid_new()));
	if (lstat(path, &st) == 0)
		return path;
	return disk_make_parents(scratch, path, 0700) && objects_fetch(&bucket, key, draft, kept_free) &&
	    rename(draft, path) == 0 ? path : NULL;
}

static int64_t
size(struct arena *mem, const char *key)
{
	struct object_head head;

	return objects_head(&bucket, key, &head) ? head.size : -1;
}

static bool
remove_object(struct arena *mem, const char *key)
{
	return objects_delete(&bucket, key) && objects_delete_all(&bucket, arena_printf(mem, "%s/", key));
}

/* A name that ends in a slash is a folder of other programs when it is an object, and a beginning of keys otherwise. */
static bool
is_ours(struct arena *mem, const struct object_entry *e)
{
	return store_is_key(e->size < 0 ? arena_copy_n(mem, e->key, strlen(e->key) - 1) : e->key);
}

/* One more than are wanted: a page of a single one could be a folder, behind whose name nothing of it would be looked
 * for. */
static struct store_entry *
list(struct arena *mem, const char *prefix, const char *after, size_t max, size_t *n)
{
	const size_t asked = max < LIST_MAX ? max + 1 : LIST_MAX;
	struct store_entry *all = arena_array(mem, asked, sizeof(*all));
	const struct object_entry *found;
	size_t i, k;

	*n = 0;
	do {
		found = objects_list(mem, &bucket, prefix, after, asked, &k);
		for (i = 0; found != NULL && i < k && *n < max; i++)
			if (is_ours(mem, &found[i]))
				all[(*n)++] = (struct store_entry){ found[i].key, found[i].size, found[i].put_at };
		after = k > 0 ? found[k - 1].key : after;
	} while (found != NULL && k == asked && *n < max);
	*n = found != NULL ? *n : 0;
	return found != NULL ? all : NULL;
}

static bool
serve(struct arena *mem, struct uuid media_id, bool served)
{
	return store_local.serve(mem, media_id, served);
}

static bool
served(struct arena *mem, struct uuid media_id)
{
	return store_local.served(mem, media_id);
}

/* Nobody can tell: a quota of the bucket shows itself when it is reached (EDQUOT). */
static int64_t
free_bytes(void)
{
	return INT64_MAX;
}

static int
tidy(struct moment before)
{
	return objects_tidy(&bucket, before);
}

static bool
has_now(struct arena *mem, const char *key, bool *there)
{
	struct object_head head;

	*there = objects_head_now(&bucket, key, &head);
	return *there || errno == ENOENT;
}

static char *
get_now(struct arena *mem, const char *key, size_t max, size_t *n)
{
	return objects_get_now(mem, &bucket, key, max, n);
}

static const char *
address(struct arena *mem, const char *key, const char *method, const char *disposition, struct moment now,
    struct moment until)
{
	return objects_address(mem, &bucket, key, method, disposition, now, until);
}

const struct store_kind store_objects = { put, put_begin, put_end, put_drop, write_bytes, get, get_range,
	fetch, size, remove_object, list, serve, served, free_bytes, tidy, has_now, get_now, address };
