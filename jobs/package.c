/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What files may be called, and all of them in one archive. */
#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/archive.h"
#include "core/buf.h"
#include "core/text.h"
#include "jobs/package.h"

enum { NAME_CHARACTERS = 100, NAME_BYTES = 230 };	/* 25 are left for number and ending */

/* Windows takes these for devices, whatever ending they have. */
static bool
is_device(const char *name, size_t n)
{
	static const char *const devices[] = { "con", "prn", "aux", "nul" };

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (n == 3 && strncasecmp(name, devices[i], n) == 0)
			return true;
	return n == 4 && (strncasecmp(name, "com", 3) == 0 || strncasecmp(name, "lpt", 3) == 0) &&
	    isdigit((unsigned char)name[3]);
}

static const char *
safe(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	size_t characters = 0;

	text = utf8_to_line(mem, text);
	text += strspn(text, ". ");
	for (; *text != '\0'; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80 && (++characters > NAME_CHARACTERS || b.len > NAME_BYTES - 4))
			break;
		buf_char(&b, strchr("/\\:*?\"<>|", *text) != NULL ? '_' : *text);
	}
	while (b.len > 0 && (b.text[b.len - 1] == '.' || b.text[b.len - 1] == ' '))
		b.text[--b.len] = '\0';
	if (b.len == 0)
		return "file";
	return is_device(b.text, strcspn(b.text, ".")) ? arena_printf(mem, "_%s", b.text) : b.text;
}

static bool
is_taken(const struct package *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcasecmp(p->at[i].name, name) == 0)
			return true;
	return false;
}

const char *
package_name(struct arena *mem, const struct package *p, const char *text, const char *ending)
{
	const char *stem = safe(mem, text), *dot = ending != NULL ? "." : "", *name;
	int n = 1;

	if (ending == NULL)
		ending = "";
	name = arena_printf(mem, "%s%s%s", stem, dot, ending);
	while (is_taken(p, name))
		name = arena_printf(mem, "%s (%d)%s%s", stem, ++n, dot, ending);
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
