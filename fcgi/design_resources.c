/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/designs/{designId}/resources/{name}: logos and fonts, kept in the database */
#include <string.h>

#include "fcgi/theme.h"
#include "media/image.h"

enum { SIDE_MAX = 4096, PIXELS_MAX = 8 << 20, FONT_BYTES_MAX = 8 << 20 };

static uint32_t
word_at(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The head of a WOFF2 (W3C, section 4.1); browsers check the rest.  It may not unpack to more than fonts have. */
static bool
is_font(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint32_t flavor;

	if (n < 48 || memcmp(p, "wOF2", 4) != 0 || word_at(p + 8) != n || (p[12] == 0 && p[13] == 0) ||
	    word_at(p + 16) > FONT_BYTES_MAX || word_at(p + 20) > n)
		return false;
	flavor = word_at(p + 4);
	return flavor == 0x00010000 || flavor == 0x4f54544f || flavor == 0x74727565;
}

/* Skips blanks and a mark of UTF-8. */
static bool
is_markup(const void *bytes, size_t n)
{
	const char *p = bytes, *end = p + n;

	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (p < end && strchr(" \t\r\n", *p) != NULL && *p != '\0')
		p++;
	return p < end && *p == '<';
}

/* What it is, by its content.  NULL: refused. */
static struct design_resource *
examine(struct req *r)
{
	struct design_resource *file = NEW(r->mem, struct design_resource);
	int64_t width, height;

	*file = (struct design_resource){ .name = r->word[0], .size = (int64_t)r->body_size };
	if (!design_resource_name(file->name))
		fault(r, "name", "format", "letters, digits, . _ and - are wanted, at most 64, a letter or digit "
		    "first, and no .css at the end");
	if (is_font(r->body, r->body_size)) {
		file->mime_type = "font/woff2";
	} else if (is_markup(r->body, r->body_size)) {
		fault(r, "", "format", "SVG is not taken, since it may hold programs: send the picture as PNG or WebP");
	} else if (!image_header(r->body, r->body_size, &width, &height, &file->mime_type) ||
	    !word_in("image/png image/jpeg image/webp", file->mime_type, strlen(file->mime_type))) {
		fault(r, "", "format", "a PNG, JPEG or WebP picture or a WOFF2 font is wanted");
	} else if (width > SIDE_MAX || height > SIDE_MAX || width * height > PIXELS_MAX) {
		fault(r, "", "too_large", "the picture may have at most %d pixels, and %d on a side", PIXELS_MAX,
		    SIDE_MAX);
	} else if (image_moves(r->body, r->body_size)) {
		fault(r, "", "format", "a picture that does not move is wanted");
	} else {
		file->width = (struct number){ width, true };
		file->height = (struct number){ height, true };
	}
	if (r->faults.n == 0)
		return file;
	refuse(r, ERR_INVALID, NULL);
	return NULL;
}

/* Templates are for SuperAdmins. */
static bool
may_change(struct req *r, const struct design *d)
{
	if (!d->is_template || r->who->is_super_admin)
		return true;
	refuse(r, ERR_FORBIDDEN, "Only SuperAdmins change templates.");
	return false;
}

/* The others in their order, then this one, unless it is NULL. */
static int
save(struct req *r, const struct design *d, const char *name, const struct design_resource *file)
{
	const struct design_resource *old = d->resources.rows;
	struct design_resource *files = arena_array(r->mem, d->resources.n + 1, sizeof(*files));
	struct design *changed = NEW(r->mem, struct design);
	size_t n = 0, i;

	for (i = 0; i < d->resources.n; i++)
		if (strcmp(old[i].name, name) != 0)
			files[n++] = old[i];
	if (file != NULL && n >= DESIGN_RESOURCES_MAX)
		return refuse(r, ERR_TOO_MANY_RESOURCES, NULL);
	if (file != NULL)
		files[n++] = *file;
	*changed = *d;
	changed->resources = (struct list){ files, n };
	db_update(r->db, "designs", &design_record, changed, record_bit(&design_record, "resources"), d->id);
	audit(r, "design.updated", d->id, arena_printf(r->mem, "{\"resource\":\"%s\",\"deleted\":%s}", name,
	    file == NULL ? "true" : "false"));
	return 0;
}

static int
resource_put(struct req *r)
{
	const struct design *d = r->object;
	struct design_resource *file;
	struct design *now;

	if (!may_change(r, d) || (file = examine(r)) == NULL)
		return r->status;
	file->hash = arena_copy_n(r->mem, entity_tag(r->mem, r->body, r->body_size) + 1, 16);
	if (save(r, d, file->name, file) != 0)
		return r->status;
	db_run(r->db, "INSERT INTO design_resources (design_id, name, bytes) VALUES (?, ?, ?) ON DUPLICATE KEY "
	    "UPDATE bytes = VALUES(bytes)", ARGS(ID(d->id), STR(file->name), BYTES(r->body, r->body_size)));
	now = object_again(r);
	if (now != NULL)
		design_view(r, now);
	return reply(r, 200, &design_record, now);
}

static int
resource_delete(struct req *r)
{
	const struct design *d = r->object;
	const char *name = r->word[0];

	if (!may_change(r, d))
		return r->status;
	if (design_resource(d, name) == NULL)
		return refuse(r, ERR_NOT_FOUND, "The design has no resource of this name.");
	save(r, d, name, NULL);
	db_run(r->db, "DELETE FROM design_resources WHERE design_id = ? AND name = ?", ARGS(ID(d->id), STR(name)));
	return reply_deleted(r, d->id, true);
}

const struct route design_resources_routes[] = {
	{
		PUT, "/v2/designs/{designId}/resources/{name}", SCOPE_CREATE_CONTENT, resource_put, NULL,
		    &design_record,
		"Put a picture (PNG, JPEG, WebP) or a font (WOFF2) into a design",
		.flags = RAW_BODY | CONDITIONAL, .fails = "403 404 409 412 413 422", .codes = "too_many_resources",
		.consumes = "image/png image/jpeg image/webp font/woff2", .max_body = DESIGN_RESOURCE_BYTES,
	},
	{
		METHOD_DELETE, "/v2/designs/{designId}/resources/{name}", SCOPE_CREATE_CONTENT, resource_delete, NULL,
		&deleted_record, "Remove a file from a design",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
