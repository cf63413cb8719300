/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of what a backup holds, and sums of it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/manifest.h"
#include "core/buf.h"
#include "core/disk.h"

static const char first_line[] = "kinothek-backup 1\n";
static const int64_t LARGEST = INT64_C(1) << 32;

void
manifest_add(struct arena *mem, struct manifest *m, const struct manifest_file *file)
{
	struct manifest_file *more;

	if (m->n_files == m->room) {
		m->room = m->room == 0 ? 256 : m->room * 2;
		more = arena_array(mem, m->room, sizeof(*more));
		if (m->n_files > 0)
			memcpy(more, m->files, m->n_files * sizeof(*more));
		m->files = more;
	}
	m->files[m->n_files++] = *file;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct manifest_file *)a)->path, ((const struct manifest_file *)b)->path);
}

void
manifest_sort(struct manifest *m)
{
	if (m->n_files > 0)
		qsort(m->files, m->n_files, sizeof(*m->files), by_path);
}

const struct manifest_file *
manifest_find(const struct manifest *m, const char *path)
{
	const struct manifest_file key = { .path = path };

	return m->n_files == 0 ? NULL : bsearch(&key, m->files, m->n_files, sizeof(*m->files), by_path);
}

bool
manifest_write(struct arena *mem, const struct manifest *m, const char *dir)
{
	const char *path = arena_printf(mem, "%s/manifest", dir), *draft = arena_printf(mem, "%s.draft", path);
	struct buf b = BUF(mem);
	char made[MOMENT_TEXT];
	bool fine;
	size_t i;
	int fd;

	buf_printf(&b, "%sid %s\nmade %s\nschema %" PRId64 "\n", first_line, uuid_text(mem, m->id),
	    moment_format(m->made_at, made), m->schema);
	for (i = 0; i < m->n_tenants; i++)
		buf_printf(&b, "tenant %s %s\n", uuid_text(mem, m->tenants[i].id), m->tenants[i].shortcode);
	for (i = 0; i < m->n_files; i++)
		buf_printf(&b, "file %s %" PRId64 " %s\n", m->files[i].sha256, m->files[i].size, m->files[i].path);
	buf_printf(&b, "end %s\n", digest_text(mem, b.text, b.len));
	fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = disk_write(fd, b.text, b.len) && fsync(fd) == 0;
	close(fd);
	return fine && rename(draft, path) == 0 && disk_sync_parent(path);
}

/* Below the directory, wherever that is: no way up, no hidden name. */
static bool
is_path(const char *path)
{
	size_t n;

	for (;; path += n + 1) {
		n = strcspn(path, "/");
		if (n == 0 || path[0] == '.')
			return false;
		if (path[n] == '\0')
			return true;
	}
}

static bool
is_hash(const char *word)
{
	return strlen(word) == DIGEST_TEXT - 1 && strspn(word, "0123456789abcdef") == DIGEST_TEXT - 1;
}

static bool
read_file_line(struct arena *mem, struct manifest *m, char *line)
{
	const char *sha256 = strsep(&line, " "), *size = strsep(&line, " ");
	struct manifest_file file = { .path = line, .sha256 = sha256 };

	if (size == NULL || line == NULL || !is_hash(sha256) || !int_parse(size, &file.size) || file.size < 0 ||
	    !is_path(line) || (m->n_files > 0 && strcmp(m->files[m->n_files - 1].path, line) >= 0))
		return false;
	manifest_add(mem, m, &file);
	return true;
}

static bool
read_tenant_line(struct arena *mem, struct manifest *m, char *line)
{
	const char *id = strsep(&line, " ");
	struct manifest_tenant *more = arena_array(mem, m->n_tenants + 1, sizeof(*more));

	if (line == NULL || !uuid_parse(id, &more[m->n_tenants].id))
		return false;
	more[m->n_tenants].shortcode = line;
	if (m->n_tenants > 0)
		memcpy(more, m->tenants, m->n_tenants * sizeof(*more));
	m->tenants = more;
	m->n_tenants++;
	return true;
}

static bool
read_line(struct arena *mem, struct manifest *m, char *line)
{
	const char *word = strsep(&line, " ");

	if (line == NULL)
		return false;
	if (strcmp(word, "file") == 0)
		return read_file_line(mem, m, line);
	if (strcmp(word, "tenant") == 0)
		return read_tenant_line(mem, m, line);
	if (strcmp(word, "id") == 0)
		return uuid_parse(line, &m->id);
	if (strcmp(word, "made") == 0)
		return moment_parse(line, &m->made_at);
	return strcmp(word, "schema") == 0 && int_parse(line, &m->schema);
}

/* The whole text, up to its last line. */
static struct manifest *
parse(struct arena *mem, char *text, size_t n)
{
	struct manifest *m = NEW(mem, struct manifest);
	char *line, *last;

	if (n < sizeof(first_line) || strlen(text) != n || text[n - 1] != '\n')
		return NULL;
	text[n - 1] = '\0';
	last = strrchr(text, '\n');
	if (last == NULL || strncmp(last + 1, "end ", 4) != 0 ||
	    strcmp(last + 5, digest_text(mem, text, (size_t)(last + 1 - text))) != 0)
		return NULL;
	*last = '\0';
	text += sizeof(first_line) - 1;
	while ((line = strsep(&text, "\n")) != NULL)
		if (!read_line(mem, m, line))
			return NULL;
	return uuid_is_none(m->id) || m->schema == 0 ? NULL : m;
}

struct manifest *
manifest_read(struct arena *mem, const char *dir, const char **fault)
{
	const char *path = arena_printf(mem, "%s/manifest", dir);
	FILE *f = fopen(path, "re");
	struct manifest *m = NULL;
	int64_t size = -1;
	char *text;

	if (f != NULL && fseeko(f, 0, SEEK_END) == 0)
		size = ftello(f);
	if (size < 0 || size > LARGEST || fseeko(f, 0, SEEK_SET) != 0) {
		*fault = arena_printf(mem, "%s: %s; a backup that was cut off has none", path, strerror(errno));
	} else {
		text = arena_alloc(mem, (size_t)size + 1);
		size = (int64_t)fread(text, 1, (size_t)size, f);
		if (strncmp(text, "kinothek-backup ", 16) == 0 && strncmp(text, first_line, strlen(first_line)) != 0)
			*fault = arena_printf(mem, "%s is of a later version; use a newer program", path);
		else if ((m = parse(mem, text, (size_t)size)) == NULL)
			*fault = arena_printf(mem, "%s is cut off or was changed", path);
	}
	if (f != NULL)
		fclose(f);
	return m;
}
