/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What files may be called, and all of them in one archive. */
#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "core/archive.h"
#include "core/buf.h"
#include "core/filename.h"
#include "jobs/package.h"

enum { TRIES_MEMORY = 8 << 20 };	/* of two for each doubling of what is called the same */

static bool
is_taken(struct arena *mem, const struct package *p, const char *name)
{
	const char *key = filename_key(mem, name);

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->at[i].key, key) == 0)
			return true;
	return false;
}

static const char *
numbered(struct arena *mem, const char *text, const char *ending, int n)
{
	struct buf rest = BUF(mem);

	if (n > 1)
		buf_printf(&rest, " (%d)", n);
	if (ending != NULL)
		buf_printf(&rest, ".%s", ending);
	return arena_printf(mem, "%s%s", filename_safe(mem, text, FILENAME_BYTES - rest.len), buf_string(&rest));
}

/* Hundreds may be called the same, and what a try needs is much more than a name. */
const char *
package_name(struct arena *mem, const struct package *p, const char *text, const char *ending)
{
	struct arena *own = arena_new(TRIES_MEMORY);
	const char *name;
	int taken = 0, free = 1, n;

	for (; is_taken(own, p, numbered(own, text, ending, free)); free *= 2)
		taken = free;
	while (free - taken > 1) {
		n = taken + (free - taken) / 2;
		if (is_taken(own, p, numbered(own, text, ending, n)))
			taken = n;
		else
			free = n;
	}
	name = numbered(mem, text, ending, free);
	arena_free(own);
	return name;
}

void
package_add(struct arena *mem, struct package *p, struct package_entry e)
{
	if (p->n == p->room) {
		struct package_entry *at = arena_array(mem, p->room = p->room * 2 + 16, sizeof(*at));

		if (p->n > 0)
			memcpy(at, p->at, p->n * sizeof(*at));
		p->at = at;
	}
	e.key = filename_key(mem, e.name);
	p->at[p->n++] = e;
}

int64_t
package_bytes(const struct package *p)
{
	int64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < p->n; i++)
		bytes += stat(p->at[i].path, &st) == 0 ? st.st_size : 0;
	return bytes;
}

struct listener { void (*progress)(void *user, int percent); void *user; int64_t bytes; int told; };

static void
on_taken(void *user, int64_t bytes)
{
	struct listener *l = user;
	const int percent = l->bytes > 0 && bytes < l->bytes ? (int)(bytes * 100 / l->bytes) : 100;

	if (percent > l->told)
		l->progress(l->user, l->told = percent);
}

bool
package_write(struct arena *mem, const struct package *p, const char *path, void (*progress)(void *user, int percent),
    void *user, struct fault *fault)
{
	struct listener l = { progress, user, package_bytes(p), -1 };
	struct archive a = { .taken = on_taken, .user = &l, .narrow = UINT32_MAX };
	bool fine = archive_begin(&a, mem, path);

	for (size_t i = 0; i < p->n && fine; i++)
		fine = archive_add(&a, p->at[i].name, p->at[i].path, p->at[i].is_text);
	if (fine && archive_end(&a))
		return true;
	return fault_of_errno(mem, errno, fault, "The package could not be written.");
}
