/* SPDX-License-Identifier: GPL-3.0-or-later */
/* .mo files: a head, a table of originals in their order, one of translations, the texts. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/catalogue.h"
#include "core/log.h"
#include "core/release.h"

#define MAGIC 0x950412de

struct head { uint32_t magic, revision, n, originals, translations; };
struct place { uint32_t len, at; };

struct catalogue {
	const char *bytes;
	size_t size;
	uint32_t n;
	const struct place *originals, *translations;
};

/* Is every text of the table inside the file, with its NUL? */
static bool
is_whole(const struct catalogue *c, uint32_t at, uint32_t n)
{
	const struct place *p;

	if (at % sizeof(uint32_t) != 0 || at > c->size || n > (c->size - at) / sizeof(*p))
		return false;
	p = (const struct place *)(const void *)(c->bytes + at);
	for (; n > 0; n--, p++)
		if (p->at >= c->size || p->len >= c->size - p->at || c->bytes[p->at + p->len] != '\0')
			return false;
	return true;
}

static const struct catalogue *
use(const char *bytes, size_t size)
{
	const struct head *head = (const struct head *)(const void *)bytes;
	struct catalogue *c = calloc(1, sizeof(*c));

	if (c == NULL)
		abort();
	*c = (struct catalogue){ .bytes = bytes, .size = size, .n = head->n };
	if (head->magic == MAGIC && is_whole(c, head->originals, c->n) && is_whole(c, head->translations, c->n)) {
		c->originals = (const struct place *)(const void *)(bytes + head->originals);
		c->translations = (const struct place *)(const void *)(bytes + head->translations);
		return c;
	}
	free(c);
	errno = EBADMSG;
	return NULL;
}

const struct catalogue *
catalogue_read(const char *path)
{
	const struct catalogue *c = NULL;
	struct stat st;
	void *bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (size_t)st.st_size < sizeof(struct head)) {
		errno = EBADMSG;
	} else if ((bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED) {
		if ((c = use(bytes, (size_t)st.st_size)) == NULL)
			munmap(bytes, (size_t)st.st_size);
	}
	close(fd);
	return c;
}

/* NULL: it has none. */
static const struct place *
find(const struct catalogue *c, const char *text)
{
	uint32_t low = 0, high = c != NULL ? c->n : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(text, c->bytes + c->originals[middle].at);

		if (order == 0)
			return c->translations[middle].len > 0 ? &c->translations[middle] : NULL;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const char *
catalogue_text(const struct catalogue *c, const char *text)
{
	const struct place *found = *text != '\0' ? find(c, text) : NULL;	/* "" is the head of the file */

	return found != NULL ? c->bytes + found->at : text;
}

/* The forms stand behind one another, each with its NUL. */
const char *
catalogue_plural(const struct catalogue *c, const char *one, const char *many, int64_t n)
{
	const struct place *found = find(c, one);
	const char *first = found != NULL ? c->bytes + found->at : NULL;

	if (found == NULL || strlen(first) == found->len)
		return n == 1 ? one : many;
	return n == 1 ? first : first + strlen(first) + 1;
}

const struct catalogue *
catalogue_of(const struct conf *conf, const char *tag)
{
	static struct kept { const char *tag; bool is_read; const struct catalogue *texts; } all[] = {
#define LANGUAGE_ROW(tag, name) { #tag, false, NULL },
		LANGUAGES(LANGUAGE_ROW)
#undef LANGUAGE_ROW
	};
	char path[800];
	size_t i;

	for (i = 1; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].tag, tag) != 0)
			continue;
		if (all[i].is_read)
			return all[i].texts;
		all[i].is_read = true;
		snprintf(path, sizeof(path), "%s/%s.mo", release_dir(conf), tag);
		all[i].texts = catalogue_read(path);
		if (all[i].texts == NULL)
			log_text(LOG_LEVEL_ERROR, "web", "%s cannot be read (%s): pages are in English", path,
			    strerror(errno));
		return all[i].texts;
	}
	return NULL;
}
