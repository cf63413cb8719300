/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/designs: how channels, players and exported documents look */
#include <string.h>
#include <strings.h>

#include "core/colour.h"
#include "fcgi/theme.h"

#define FONTS "system humanist grotesque rounded serif mono"
#define DOCUMENT_PARTS "cover header footer timeCodes speakers chapters"

static const struct field properties_fields[] = {
	FIELD(struct design_properties, brand_color, .on = CREATE | OMIT_NULL, .max = 7,
	    .doc = "#rrggbb: buttons, links and what is chosen; of a PlayerDesign its bars and buttons. "
	    "ChannelDesign, PlayerDesign"),
	FIELD(struct design_properties, header_color, .on = CREATE | OMIT_NULL, .max = 7,
	    .doc = "#rrggbb: behind the head of pages; of a DocxExportDesign its headings. ChannelDesign, "
	    "DocxExportDesign"),
	FIELD(struct design_properties, background_color, .on = CREATE | OMIT_NULL, .max = 7,
	    .doc = "#rrggbb: beside the picture; made darker until white can be read on it. PlayerDesign"),
	FIELD(struct design_properties, font, .on = CREATE | OMIT_NULL, .one_of = FONTS,
	    .doc = "A family that is there on each system. ChannelDesign, DocxExportDesign"),
	FIELD(struct design_properties, font_file, .on = CREATE | OMIT_NULL, .min = 1, .max = 64,
	    .doc = "Name of a resource, WOFF2, that comes before the font; no matter while there is none. "
	    "ChannelDesign"),
	FIELD(struct design_properties, logo, .on = CREATE | OMIT_NULL, .min = 1, .max = 64,
	    .doc = "Name of a resource, a picture; no matter while there is none. ChannelDesign, "
	    "DocxExportDesign, which shows PNG and JPEG"),
	FIELD(struct design_properties, radius, .on = CREATE | OMIT_NULL, .max = 24,
	    .doc = "Pixels: how round corners are, 0 to 24. ChannelDesign, PlayerDesign"),
	FIELD(struct design_properties, text_color, .on = CREATE | OMIT_NULL, .max = 7,
	    .doc = "#rrggbb: what is said; made darker until it can be read on white. DocxExportDesign"),
	FIELD(struct design_properties, heading_font, .on = CREATE | OMIT_NULL, .one_of = FONTS,
	    .doc = "Of the title and the headings, where it is not the font. DocxExportDesign"),
	FIELD(struct design_properties, font_size, .on = CREATE | OMIT_NULL, .min = 8, .max = 20,
	    .doc = "Points of what is said, 8 to 20; all else grows with it. DocxExportDesign"),
	FIELD(struct design_properties, header_text, .on = CREATE | OMIT_NULL, .min = 1, .max = 200,
	    .doc = "Above each page but the cover, instead of the title. DocxExportDesign"),
	FIELD(struct design_properties, footer_text, .on = CREATE | OMIT_NULL, .min = 1, .max = 200,
	    .doc = "Below each page but the cover, beside its number. DocxExportDesign"),
	FIELD(struct design_properties, omit, .on = CREATE | OMIT_NULL, .max = 6, .one_of = DOCUMENT_PARTS,
	    .doc = "Parts that are left out. DocxExportDesign"),
};
static const struct record properties_record = RECORD("DesignProperties", struct design_properties, properties_fields);

static const struct field resource_fields[] = {
	FIELD(struct design_resource, name,      .on = SERVER, .required = true, .doc = "What properties call it"),
	FIELD(struct design_resource, mime_type, .on = SERVER, .required = true, .doc = "By content"),
	FIELD(struct design_resource, url,       .on = COMPUTED, .format = "uri", .doc = "Where anyone gets it"),
	FIELD(struct design_resource, size,      .on = SERVER, .required = true, .doc = "Bytes"),
	FIELD(struct design_resource, width,     .on = SERVER | OMIT_NULL, .doc = "Pixels of a picture"),
	FIELD(struct design_resource, height,    .on = SERVER | OMIT_NULL, .doc = "Pixels of a picture"),
	FIELD(struct design_resource, hash,      .on = SERVER, .required = true, .doc = "Changes with the bytes"),
};
const struct record design_resource_record = RECORD("DesignResource", struct design_resource, resource_fields);

static const struct field contrast_fields[] = {
	FIELD(struct design_contrast, property,    .on = SERVER, .required = true, .doc = "Name of the property"),
	FIELD(struct design_contrast, on,          .on = SERVER, .required = true, .doc = "What is written on it: black or white"),
	FIELD(struct design_contrast, on_ratio,    .on = SERVER, .required = true, .doc = "Contrast of that, 1 to 21"),
	FIELD(struct design_contrast, light_text,  .on = SERVER, .required = true, .doc = "As text on light pages, made darker until it has 4.5"),
	FIELD(struct design_contrast, light_ratio, .on = SERVER, .required = true, .doc = "Contrast of that"),
	FIELD(struct design_contrast, dark_text,   .on = SERVER, .required = true, .doc = "As text on dark pages, made lighter until it has 4.5"),
	FIELD(struct design_contrast, dark_ratio,  .on = SERVER, .required = true, .doc = "Contrast of that"),
};
static const struct record contrast_record = RECORD("DesignContrast", struct design_contrast, contrast_fields);

static const struct field design_fields[] = {
	FIELD(struct design, id,          .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct design, type,        .on = CREATE | FILTER, .required = true, .one_of = "ChannelDesign PlayerDesign DocxExportDesign",
	    .doc = "What it is the design of"),
	FIELD(struct design, name,        .on = CREATE | PATCH | FILTER | SORT, .key = "by_name", .required = true, .min = 1, .max = 255,
	    .doc = "Shown to people"),
	FIELD(struct design, is_main,     .on = CREATE | PATCH | FILTER, .preset = "false",
	    .doc = "Used where nothing else is chosen. One of each type is: setting it takes it from the one that "
	    "was. SuperAdmins alone"),
	FIELD(struct design, is_template, .on = CREATE | PATCH | FILTER, .preset = "false",
	    .doc = "To be copied, not used: never main, and of no channel. SuperAdmins alone"),
	FIELD(struct design, properties,  .on = CREATE | PATCH, .required = true, .of = &properties_record,
	    .doc = "All of them at once: what is left out is as Kinothek itself looks"),
	FIELD(struct design, resources,   .on = SERVER, .required = true, .of = &design_resource_record, .doc = "Its files"),
	FIELD(struct design, contrast,    .on = COMPUTED | DETAIL, .required = true, .of = &contrast_record, .doc = "What its colours become; not in lists"),
	FIELD(struct design, theme_url,   .on = COMPUTED | OMIT_NULL, .format = "uri", .doc = "Its sheet, as pages link it; none of a DocxExportDesign"),
	FIELD(struct design, created_at,  .on = SERVER | FILTER, .required = true, .doc = "When it was made"),
	FIELD(struct design, updated_at,  .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct design, version,     .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct design, tenant_id,   .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct design, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
};
const struct record design_record = RECORD("Design", struct design, design_fields);

const struct object design_object = {
	.path = "/v2/designs/{designId}", .reach = REACH_SHARED, .record = &design_record,
	.from = "FROM designs t WHERE t.id = ?",
};

bool
design_resource_name(const char *name)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	    all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(name);

	return n > 0 && n <= 64 && strchr(first, name[0]) != NULL && strspn(name, all) == n &&
	    (n < 4 || strcasecmp(name + n - 4, ".css") != 0);
}

const struct design_resource *
design_resource(const struct design *d, const char *name)
{
	const struct design_resource *file = d->resources.rows;
	size_t i;

	for (i = 0; i < d->resources.n; i++)
		if (strcmp(file[i].name, name) == 0)
			return &file[i];
	return NULL;
}

void
design_view(struct req *r, struct design *d)
{
	struct design_resource *file = d->resources.rows;
	size_t i;

	if (d->properties.row == NULL)
		d->properties.row = NEW(r->mem, struct design_properties);
	for (i = 0; i < d->resources.n; i++)
		file[i].url = arena_printf(r->mem, "%s%s", r->conf->public_url,
		    theme_resource_address(r->mem, d->id, &file[i]));
	if (strcmp(d->type, "DocxExportDesign") != 0)
		d->theme_url = arena_printf(r->mem, "%s%s", r->conf->public_url, theme_address(r->mem, d));
	d->contrast = theme_contrast(r->mem, d);
}

static int
design_reply(struct req *r, int status, struct design *d)
{
	if (d == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	design_view(r, d);
	return status == 201 ? reply_created(r, &design_record, d, d->id) : reply(r, status, &design_record, d);
}

static int
designs_list(struct req *r)
{
	struct design *rows;
	size_t n, i;

	rows = db_list(r->db, &design_record, "FROM designs t WHERE t.tenant_id = ?", ARGS(ID(r->who->tenant_id)),
	    &r->page,
	    &n);
	for (i = 0; i < n; i++)
		design_view(r, &rows[i]);
	return reply_list(r, &design_record, rows, n);
}

static int
design_get(struct req *r)
{
	return design_reply(r, 200, r->object);
}

/* Which properties a type has, by their JSON names. */
static const char *
properties_of(const char *type)
{
	return strcmp(type, "ChannelDesign") == 0 ? "brandColor headerColor font fontFile logo radius" :
	    strcmp(type, "PlayerDesign") == 0 ? "brandColor backgroundColor radius" :
	    "headerColor textColor font headingFont fontSize logo headerText footerText omit";
}

static bool
is_given(const struct field *f, const struct design_properties *p)
{
	const void *at = (const char *)p + f->offset;

	return f->kind == KIND_NUMBER ? ((const struct number *)at)->set : f->kind == KIND_STRINGS ?
	    ((const struct strings *)at)->at != NULL : *(const char *const *)at != NULL;
}

static void
check_properties(struct req *r, const char *type, const struct design_properties *p)
{
	struct colour c;
	size_t i;

	for (i = 0; i < properties_record.n; i++) {
		const struct field *f = &properties_record.fields[i];
		const char *name = record_json_name(&properties_record, f), *value,
		    *pointer = arena_printf(r->mem, "/properties/%s", name);

		if (!is_given(f, p))
			continue;
		if (!word_in(properties_of(type), name, strlen(name)))
			fault(r, pointer, "not_allowed", "a %s has no %s; it has: %s", type, name, properties_of(type));
		else if (strcmp(f->name, "font_file") == 0 || strcmp(f->name, "logo") == 0) {
			value = *(const char *const *)(const void *)((const char *)p + f->offset);
			if (!design_resource_name(value))
				fault(r, pointer, "format", "the name of a resource is wanted: letters, digits, . _ "
				    "and -");
		} else if (strstr(f->name, "_color") != NULL) {
			value = *(const char *const *)(const void *)((const char *)p + f->offset);
			if (!colour_parse(value, &c))
				fault(r, pointer, "format", "a colour is wanted, for example #1a73e8");
		}
	}
}

/* What only SuperAdmins decide, and what does not go together.  False: refused. */
static bool
may_be(struct req *r, const struct design *now, const struct design *d)
{
	bool was_main = now != NULL && now->is_main, was_template = now != NULL && now->is_template;

	if (!r->who->is_super_admin && (d->is_main != was_main || d->is_template || was_template)) {
		refuse(r, ERR_FORBIDDEN, "Only SuperAdmins choose the main design, and make or change templates.");
		return false;
	}
	if (d->is_main && d->is_template)
		fault(r, "/isMain", "not_allowed", "a template is copied, not used: it cannot be the main design");
	check_properties(r, d->type, d->properties.row);
	if (r->faults.n == 0)
		return true;
	refuse(r, ERR_INVALID, NULL);
	return false;
}

/* Two that choose at the same time do so one after the other: by a row that neither of them holds a part of already. */
static void
take_main_from(struct req *r, const char *type, struct uuid but)
{
	db_number(r->db, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE", ARGS(ID(r->who->tenant_id)), 0);
	db_run(r->db, "UPDATE designs SET is_main = 0, version = version + 1, updated_at = ? WHERE tenant_id = ? AND "
	    "main_type = ? AND id <> ?", ARGS(TIME(r->now), ID(r->who->tenant_id), STR(type), ID(but)));
}

static const char *
audit_data(struct req *r, const struct design *d)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, "{\"name\":");
	buf_json(&b, d->name);
	buf_printf(&b, ",\"type\":\"%s\",\"isMain\":%s,\"isTemplate\":%s}", d->type, d->is_main ? "true" : "false",
	    d->is_template ? "true" : "false");
	return buf_string(&b);
}

static bool
has_room(struct req *r)
{
	if (db_number(r->db, "SELECT COUNT(*) FROM designs WHERE tenant_id = ?", ARGS(ID(r->who->tenant_id)), 0) <
	    DESIGNS_MAX)
		return true;
	refuse(r, ERR_TOO_MANY_DESIGNS, NULL);
	return false;
}

static int
design_add(struct req *r, struct design *d)
{
	d->id = uuid_new();
	d->tenant_id = r->who->tenant_id;
	d->principal_id = r->who->id;
	d->created_at = d->updated_at = r->now;
	d->version = 1;
	if (d->is_main)
		take_main_from(r, d->type, d->id);
	db_insert(r->db, "designs", &design_record, d);
	audit(r, "design.created", d->id, audit_data(r, d));
	return design_reply(r, 201, d);
}

static int
design_create(struct req *r)
{
	struct design *d = r->in;

	if (!may_be(r, NULL, d) || !has_room(r))
		return r->status;
	d->resources = (struct list){ NULL, 0 };
	return design_add(r, d);
}

/* How many channels have it: no more come while its row is locked. */
static int64_t
users_of(struct req *r, const struct design *d)
{
	return db_number(r->db, "SELECT COUNT(*) FROM channels WHERE tenant_id = ? AND (channel_design_id = ? OR "
	    "player_design_id = ?)", ARGS(ID(r->who->tenant_id), ID(d->id), ID(d->id)), 0);
}

static int
design_patch(struct req *r)
{
	const struct design *now = r->object;
	struct design *would = patched(r);

	if (!may_be(r, now, would))
		return r->status;
	if (would->is_template && !now->is_template && users_of(r, now) > 0)
		return refuse(r, ERR_DESIGN_IN_USE, NULL);
	if (record_differs(r->mem, &design_record, now, would, r->given) == 0)
		return design_reply(r, 200, r->object);
	if (would->is_main && !now->is_main)
		take_main_from(r, now->type, now->id);
	db_update(r->db, "designs", &design_record, would, r->given, now->id);
	audit(r, "design.updated", now->id, audit_data(r, would));
	return design_reply(r, 200, object_again(r));
}

struct design_deletion { bool detach; };
static const struct field deletion_fields[] = {
	FIELD(struct design_deletion, detach, .on = QUERY, .doc = "Let channels that use it fall back to the main design, instead of refusing"),
};
static const struct record deletion_record = RECORD("DesignDeletion", struct design_deletion, deletion_fields);

struct design_user { struct uuid id; };
static const struct field user_fields[] = { FIELD(struct design_user, id, .doc = "Channel") };
static const struct record user_record = RECORD("DesignUser", struct design_user, user_fields);

/* One by one: a search would wait for channels that wait for this design. */
static void
detach(struct req *r, const struct design *d)
{
	const struct design_user *rows;
	size_t n, i;

	rows = db_rows(r->db, &user_record, "FROM channels t WHERE t.tenant_id = ? AND (t.channel_design_id = ? OR "
	    "t.player_design_id = ?) ORDER BY t.id", ARGS(ID(r->who->tenant_id), ID(d->id), ID(d->id)), &n);
	for (i = 0; i < n; i++)
		db_run(r->db, "UPDATE channels SET channel_design_id = NULLIF(channel_design_id, ?), "
		    "player_design_id = NULLIF(player_design_id, ?), version = version + 1, updated_at = ? WHERE id = ?", ARGS(ID(d->id),
		    ID(d->id), TIME(r->now), ID(rows[i].id)));
}

/* Its row is locked: a channel that chooses it at this moment has chosen it, or finds it gone. */
static int
design_delete(struct req *r)
{
	const struct design_deletion *in = r->in;
	const struct design *d = r->object;
	int64_t users;

	if (!may_be(r, d, d))
		return r->status;
	users = users_of(r, d);
	if (users > 0 && !in->detach)
		return refuse(r, ERR_DESIGN_IN_USE, "%lld channels use this design. Give them another one, or send "
		    "?detach=true: then they fall back to the main design.", (long long)users);
	if (users > 0)
		detach(r, d);
	db_run(r->db, "DELETE FROM designs WHERE id = ? AND tenant_id = ?", ARGS(ID(d->id), ID(r->who->tenant_id)));
	audit(r, "design.deleted", d->id, audit_data(r, d));
	return reply_deleted(r, d->id, true);
}

struct design_copy { const char *name; };
static const struct field copy_fields[] = {
	FIELD(struct design_copy, name, .on = CREATE, .min = 1, .max = 255, .doc = "Name of the copy; left out: that of the design"),
};
static const struct record copy_record = RECORD("DesignCopy", struct design_copy, copy_fields);

/* With its files; neither main nor a template. */
static int
design_copied(struct req *r)
{
	const struct design_copy *in = r->in;
	const struct design *from = r->object;
	struct design *d = NEW(r->mem, struct design);
	int status;

	if (!has_room(r))
		return r->status;
	*d = *from;
	d->is_main = d->is_template = false;
	d->name = in->name != NULL ? in->name : from->name;
	status = design_add(r, d);
	db_run(r->db, "INSERT INTO design_resources (design_id, name, bytes) SELECT ?, name, bytes FROM "
	    "design_resources WHERE design_id = ?", ARGS(ID(d->id), ID(from->id)));
	r->location = arena_printf(r->mem, "/v2/designs/%s", uuid_text(r->mem, d->id));
	return status;
}

const struct route designs_routes[] = {
	{
		GET, "/v2/designs", SCOPE_VIEW_CHANNEL, designs_list, NULL, &design_record,
		    "List the designs of the tenant",
		.flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/designs", SCOPE_CREATE_CONTENT, design_create, &design_record, &design_record,
		    "Make a design",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422", .codes = "too_many_designs",
	},
	{
		GET, "/v2/designs/{designId}", SCOPE_VIEW_CHANNEL, design_get, NULL, &design_record, "Get a design",
		.flags = CONDITIONAL, .fails = "404",
	},
	{
		METHOD_PATCH, "/v2/designs/{designId}", SCOPE_CREATE_CONTENT, design_patch, &design_record,
		    &design_record,
		"Change a design; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "design_in_use",
	},
	{
		METHOD_DELETE, "/v2/designs/{designId}", SCOPE_CREATE_CONTENT, design_delete, &deletion_record,
		&deleted_record, "Delete a design; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "design_in_use",
	},
	{
		POST, "/v2/designs/{designId}/copy", SCOPE_CREATE_CONTENT, design_copied, &copy_record, &design_record,
		"Copy a design with its files; the copy is the caller's own",
		.flags = OPTIONAL_BODY, .success = 201, .fails = "403 404 409 422", .codes = "too_many_designs",
		.id = "copyDesign",
	},
	{ 0 }
};
