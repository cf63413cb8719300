/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By libzip, which reads each file once and writes beside the archive until it is whole. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <zip.h>

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

struct listener { void (*progress)(void *user, int percent); void *user; };

static void
on_progress(zip_t *z, double share, void *user)
{
	const struct listener *l = user;

	(void)z;
	l->progress(l->user, (int)(share * 100));
}

static bool
add(zip_t *z, const struct package_entry *e)
{
	zip_source_t *source = zip_source_file(z, e->path, 0, -1);
	zip_int64_t at;

	if (source == NULL)
		return false;
	at = zip_file_add(z, e->name, source, ZIP_FL_ENC_UTF_8);
	if (at < 0) {
		zip_source_free(source);
		return false;
	}
	return zip_set_file_compression(z, (zip_uint64_t)at, e->is_text ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) == 0;
}

static bool
failed(struct arena *mem, struct fault *fault, int error)
{
	return fault_of_errno(mem, error != 0 ? error : EIO, fault, "The package could not be written.");
}

bool
package_write(struct arena *mem, const struct package *p, const char *path, void (*progress)(void *user, int percent),
    void *user, struct fault *fault)
{
	struct listener l = { progress, user };
	int error;
	zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &error);
	bool fine = z != NULL;

	if (z == NULL)
		return failed(mem, fault, errno);
	zip_register_progress_callback_with_state(z, 0.01, on_progress, NULL, &l);
	for (size_t i = 0; i < p->n && fine; i++)
		fine = add(z, &p->at[i]);
	errno = 0;
	if (fine && zip_close(z) == 0)
		return true;
	error = zip_error_code_system(zip_get_error(z));
	zip_discard(z);
	return failed(mem, fault, error);
}
