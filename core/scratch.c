/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scratch directories of this machine, and what other machines have left. */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/scratch.h"

enum { IDLE_S = 24 * 3600 };

static char root[PATH_MAX / 4], here[128];
static int64_t kept_free;

const char *
scratch_root(const struct conf *conf)
{
	if (conf->scratch_dir != NULL)
		snprintf(root, sizeof(root), "%s", conf->scratch_dir);
	else
		snprintf(root, sizeof(root), "%s/work", conf->data_dir);
	return root;
}

bool
scratch_open(const struct conf *conf)
{
	char *p, path[PATH_MAX];

	snprintf(here, sizeof(here), "%s", machine_name());
	for (p = here; *p != '\0'; p++)
		if (*p == '/' || (p == here && *p == '.'))
			*p = '_';
	kept_free = conf->free_space;
	snprintf(path, sizeof(path), "%s/%s", scratch_root(conf), here);
	return disk_make_dir(root, 0700) && disk_make_dir(path, 0700);
}

static const char *
path_of(struct arena *mem, const char *machine, const char *name)
{
	if (here[0] == '\0' || name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) {
		log_text(LOG_LEVEL_ERROR, "scratch", "%s: %s", here[0] == '\0' ? "not opened" : "not a name", name);
		abort();
	}
	return arena_printf(mem, "%s/%s/%s", root, machine, name);
}

const char *
scratch_here(struct arena *mem)
{
	return arena_printf(mem, "%s/%s", root, here);
}

const char *
scratch_path(struct arena *mem, const char *name)
{
	return path_of(mem, here, name);
}

/* Our place goes when a machine that shares the directory takes us for gone: then it is made again. */
bool
scratch_make(struct arena *mem, const char *name)
{
	const char *path = scratch_path(mem, name);
	int tries;

	for (tries = 0; tries < 3; tries++) {
		if (mkdir(path, 0700) == 0)
			return true;
		if (errno != ENOENT || !disk_make_dir(scratch_here(mem), 0700))
			break;
	}
	return false;
}

bool
scratch_remove(struct arena *mem, const char *name)
{
	return disk_remove(scratch_path(mem, name));
}

int64_t
scratch_free(void)
{
	int64_t bytes = here[0] == '\0' ? 0 : disk_free(root) - kept_free;

	return bytes > 0 ? bytes : 0;
}

/* Names of directories in one, as a list that ends in NULL. */
static const char **
names_in(struct arena *mem, const char *path, size_t *n)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	const char **names = NULL, **more;
	size_t room = 0;

	for (*n = 0; dir != NULL && (e = readdir(dir)) != NULL;) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (*n == room) {
			room = room == 0 ? 64 : 2 * room;
			more = arena_array(mem, room, sizeof(*more));
			if (*n > 0)
				memcpy(more, names, *n * sizeof(*more));
			names = more;
		}
		names[(*n)++] = arena_copy(mem, e->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	return names;
}

struct scratch_dir *
scratch_list(struct arena *mem, size_t *n)
{
	size_t machines, i, k, m, room = 0;
	const char **machine = names_in(mem, root, &machines), **names;
	struct scratch_dir *all = NULL, *more;
	struct stat st;

	for (*n = 0, i = 0; i < machines; i++) {
		names = names_in(mem, arena_printf(mem, "%s/%s", root, machine[i]), &m);
		if (*n + m > room) {
			room = 2 * (*n + m);
			more = arena_array(mem, room, sizeof(*more));
			if (*n > 0)
				memcpy(more, all, *n * sizeof(*more));
			all = more;
		}
		for (k = 0; k < m; k++)
			if (lstat(path_of(mem, machine[i], names[k]), &st) == 0 && S_ISDIR(st.st_mode))
				all[(*n)++] = (struct scratch_dir){ machine[i], names[k], strcmp(machine[i], here) == 0,
				    { (int64_t)st.st_mtime * 1000 } };
	}
	return all;
}

bool
scratch_drop(struct arena *mem, const struct scratch_dir *d)
{
	const char *place = arena_printf(mem, "%s/%s", root, d->machine);
	struct stat st;
	bool idle = !d->ours && lstat(place, &st) == 0 && st.st_mtime < moment_now().ms / 1000 - IDLE_S;

	if (!disk_remove(path_of(mem, d->machine, d->name)))
		return false;
	if (idle)
		rmdir(place);		/* unless there is more in it */
	return true;
}
