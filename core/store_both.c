/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two stores as one, while an installation moves: see core/store_side.h. */
#include <errno.h>
#include <string.h>

#include "core/store_kind.h"

static const struct store_kind *first, *second;
static _Thread_local const struct store_kind *used;

void
store_both_open(const struct store_kind *written, const struct store_kind *also)
{
	first = written;
	second = also;
}

void
store_both_use(const struct store_kind *kind)
{
	used = kind;
}

static const struct store_kind *
written(void)
{
	return used != NULL ? used : first;
}

/* Which one is asked the next time.  An object may be on its way from the second to the first: so that is asked again
 * when neither had it.  ENOTSUP: it would have to be copied, if it is there at all. */
enum { ASKED = 3 };

static const struct store_kind *
asked(int i)
{
	return i == 1 ? second : first;
}

static bool
goes_on(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ENOTSUP;
}

static bool
put(struct arena *mem, const char *file, const char *key)
{
	return written()->put(mem, file, key);
}

static bool
put_begin(struct arena *mem, struct store_putting *p)
{
	return written()->put_begin(mem, p);
}

static bool
put_end(struct arena *mem, const struct store_putting *p)
{
	return written()->put_end(mem, p);
}

static void
put_drop(const struct store_putting *p)
{
	written()->put_drop(p);
}

static bool
write_object(struct arena *mem, const void *bytes, size_t n, const char *key)
{
	return written()->write(mem, bytes, n, key);
}

static char *
get(struct arena *mem, const char *key, size_t max, size_t *n)
{
	char *bytes = NULL;

	for (int i = 0; i < ASKED; i++)
		if ((bytes = asked(i)->get(mem, key, max, n)) != NULL || !goes_on())
			break;
	return bytes;
}

static char *
get_range(struct arena *mem, const char *key, int64_t from, size_t n)
{
	char *bytes = NULL;

	for (int i = 0; i < ASKED; i++)
		if ((bytes = asked(i)->get_range(mem, key, from, n)) != NULL || !goes_on())
			break;
	return bytes;
}

static const char *
fetch(struct arena *mem, const char *key, const char *scratch)
{
	const char *path;
	bool copies = false;

	for (int i = 0; i < ASKED; i++) {
		if ((path = asked(i)->fetch(mem, key, scratch)) != NULL || !goes_on())
			return path;
		copies = copies || errno == ENOTSUP;
	}
	errno = copies ? ENOTSUP : errno;
	return NULL;
}

static int64_t
size(struct arena *mem, const char *key)
{
	int64_t bytes = -1;

	for (int i = 0; i < ASKED; i++)
		if ((bytes = asked(i)->size(mem, key)) >= 0 || !goes_on())
			break;
	return bytes;
}

/* A copy that is on its way looks whether what it has copied is still there. */
static bool
remove_object(struct arena *mem, const char *key)
{
	return first->remove(mem, key) && second->remove(mem, key);
}

/* The beginning of both lists, in order; what is in both is told by the first. */
static struct store_entry *
list(struct arena *mem, const char *prefix, const char *after, size_t max, size_t *n)
{
	size_t n_a, n_b, a = 0, b = 0, k = 0;
	struct store_entry *of_a = first->list(mem, prefix, after, max, &n_a);
	struct store_entry *of_b = of_a == NULL ? NULL : second->list(mem, prefix, after, max, &n_b);
	struct store_entry *all;
	int order;

	*n = 0;
	if (of_a == NULL || of_b == NULL)
		return NULL;
	all = arena_array(mem, n_a + n_b + 1, sizeof(*all));
	while ((a < n_a || b < n_b) && k < max) {
		order = a == n_a ? 1 : b == n_b ? -1 : strcmp(of_a[a].key, of_b[b].key);
		all[k++] = order > 0 ? of_b[b] : of_a[a];
		a += order <= 0;
		b += order >= 0;
	}
	*n = k;
	return all;
}

/* Of what lies in a bucket nothing is within reach by itself. */
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

static int64_t
free_bytes(void)
{
	return written()->free();
}

static int
tidy(struct moment before)
{
	const int n = first->tidy(before), more = n < 0 ? -1 : second->tidy(before);

	return more < 0 ? -1 : n + more;
}

/* What web servers have not found on this machine is in the bucket, whichever is the first. */
static bool
has_now(struct arena *mem, const char *key, bool *there)
{
	return store_objects.has_now(mem, key, there);
}

static char *
get_now(struct arena *mem, const char *key, size_t max, size_t *n)
{
	return store_objects.get_now(mem, key, max, n);
}

static const char *
address(struct arena *mem, const char *key, const char *method, const char *disposition, struct moment now,
    struct moment until)
{
	return store_objects.address(mem, key, method, disposition, now, until);
}

const struct store_kind store_both = { put, put_begin, put_end, put_drop, write_object, get, get_range,
	fetch, size, remove_object, list, serve, served, free_bytes, tidy, has_now, get_now, address };
