/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/chapters/{chapterId}/entries: the lines of a table of contents, and the sections they lead to */
#include <string.h>

#include "core/job.h"
#include "fcgi/chapter.h"
#include "fcgi/outline.h"

static const struct field entry_fields[] = {
	FIELD(struct entry, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct entry, chapter_id,   .on = SERVER, .required = true, .doc = "The chapter"),
	FIELD(struct entry, title,        .on = CREATE, .required = true, .min = 1, .max = 1000, .doc = "Shown to people"),
	FIELD(struct entry, description,  .on = CREATE | OMIT_NULL | MULTILINE, .max = 10000, .doc = "For people"),
	FIELD(struct entry, sort_number,  .on = CREATE, .min = 1,
	    .doc = "Place among those with the same parent, from 1 without gaps; one that is too large, or none, "
	    "means the last"),
	FIELD(struct entry, parent_id,    .on = CREATE | OMIT_NULL, .doc = "Entry of the chapter that it stands below; none: at the top"),
	FIELD(struct entry, section,      .on = COMPUTED | OMIT_NULL, .of = &section_record, .doc = "What it leads to"),
	FIELD(struct entry, section_id,   .on = CREATE | INPUT_ONLY, .doc = "Section in the chapter's context that it leads to; null: none"),
	FIELD(struct entry, created_at,   .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct entry, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct entry, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct entry, chapter_type, .on = HIDDEN | DETAIL, .sql = "c.type", .doc = "Of the chapter"),
	FIELD(struct entry, chapter_status, .on = HIDDEN | DETAIL, .sql = JOB_IMPORT_STATUS_SQL("c"), .doc = "Of the chapter"),
};
const struct record entry_record = RECORD("Entry", struct entry, entry_fields);

#define ENTRY_FROM "FROM media a JOIN chapters c ON c.media_id = a.id JOIN entries t ON t.chapter_id = c.id WHERE a.id = ? AND " \
	"c.id = ? AND t.id = ?"

const struct object entry_object = {
	.path = "/v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}", .reach = REACH_BELOW_MEDIA,
	.record = &entry_record, .from = ENTRY_FROM,
};

/* A section of the asset beside an entry, which may lead to it: it is the entry that is of another version then. */
struct entry_section { struct uuid id, chapter_id, entry_id; const char *chapter_type; int64_t version; };
static const struct field entry_section_fields[] = {
	FIELD(struct entry_section, id, .doc = "The section"),
	FIELD(struct entry_section, chapter_id, .doc = "In whose context it is"),
	FIELD(struct entry_section, entry_id, .doc = "What leads to it"),
	FIELD(struct entry_section, chapter_type, .sql = "c.type", .doc = "Of the entry's chapter"),
	FIELD(struct entry_section, version, .sql = "e.version", .doc = "Of the entry"),
};
static const struct record entry_section_record = RECORD("EntrySection", struct entry_section, entry_section_fields);

const struct object entry_section_object = {
	.path = "/v2/media/{mediaId}/chapters/{chapterId}/entries/{entryId}/sections/{sectionId}",
	.reach = REACH_BELOW_MEDIA, .record = &entry_section_record,
	.from = "FROM media a JOIN chapters c ON c.media_id = a.id JOIN entries e ON e.chapter_id = c.id JOIN "
	    "sections t ON t.media_id = a.id WHERE a.id = ? AND c.id = ? AND e.id = ? AND t.id = ?",
};

struct bulk { struct list entries; };
static const struct field bulk_fields[] = {
	FIELD(struct bulk, entries, .on = PATCH, .required = true, .of = &entry_change_record, .min = 1, .max = 1000,
	    .doc = "Members that are left out stay as they are; all are changed, or none"),
};
static const struct record bulk_record = RECORD("BulkUpdateEntries", struct bulk, bulk_fields);

struct ok { bool ok; };
static const struct field ok_fields[] = {
	FIELD(struct ok, ok, .required = true, .doc = "true"),
};
static const struct record ok_record = RECORD("Ok", struct ok, ok_fields);

struct list
entries_of(struct req *r, struct uuid chapter_id)
{
	struct outline o = outline_load(r->db, chapter_id, 0);
	struct section *sections;
	size_t n, i;

	sections = db_rows_brief(r->db, &section_record, "FROM sections t WHERE t.chapter_id = ? AND t.entry_id IS NOT "
	    "NULL", ARGS(ID(chapter_id)), &n);
	for (i = 0; i < n; i++) {
		int64_t at = outline_find(&o, sections[i].entry_id);

		if (at >= 0)
			o.at[at].entry.section.row = &sections[i];
	}
	return outline_list(r->mem, &o);
}

/* What is told of the section changes the tag, too. */
static struct entry *
with_section(struct req *r, struct entry *e)
{
	if (e != NULL) {
		e->section.row = db_row(r->db, &section_record, SECTIONS_WHOLE "t.entry_id = ?", ARGS(ID(e->id)));
		r->etag = reply_tag(r, &entry_record, e);
	}
	return e;
}

static int
entry_reply(struct req *r, int status, struct uuid id)
{
	struct entry *e = with_section(r, db_row(r->db, &entry_record, ENTRY_FROM, ARGS(ID(r->id[0]), ID(r->id[1]),
	    ID(id))));

	if (e == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	return r->method == POST ? reply_created(r, &entry_record, e, e->id) : reply(r, status, &entry_record, e);
}

static int
entry_get(struct req *r)
{
	return reply(r, 200, &entry_record, with_section(r, r->object));
}

/* The same as one of many. */
static struct entry_change
as_change(const struct req *r)
{
	static const char *const members[] = { "title", "description", "sort_number", "parent_id", "section_id" };
	const struct entry *in = r->in;
	struct entry_change c = { in->id, in->title, in->description, in->sort_number, in->parent_id, in->section_id,
	    0 };
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (r->given & record_bit(&entry_record, members[i]))
			c.given |= (int64_t)record_bit(&entry_change_record, members[i]);
	return c;
}

static int
entry_create(struct req *r)
{
	const struct chapter_head *chapter = r->object;
	struct entry_change c = as_change(r);
	struct entry fresh = { .id = uuid_new(), .chapter_id = chapter->id, .version = 1, .created_at = r->now,
	    .updated_at = r->now };
	struct outline o;
	int64_t at;

	if (chapter_is_busy(r, chapter->type, chapter->status))
		return r->status;
	o = outline_load(r->db, chapter->id, 1);
	if (o.n >= ENTRIES_MAX)
		return refuse(r, ERR_TOO_MANY_ENTRIES, NULL);
	at = outline_add(&o, &fresh);
	if (!entries_change(r, &o, &c, &at, &(const char *){ "" }, 1))
		return r->status;
	chapter_changed(r, chapter->id);
	return entry_reply(r, 201, fresh.id);
}

static int
entry_put(struct req *r)
{
	const struct entry *e = r->object;
	struct entry_change c = as_change(r);
	struct outline o;
	int64_t at;

	if (chapter_is_busy(r, e->chapter_type, e->chapter_status))
		return r->status;
	o = outline_load(r->db, e->chapter_id, 0);
	at = outline_find(&o, e->id);
	if (!entries_change(r, &o, &c, &at, &(const char *){ "" }, 1))
		return r->status;
	chapter_changed(r, e->chapter_id);
	return entry_reply(r, 201, e->id);
}

/* Where they are; faults for those that are none of the chapter's, or named twice. */
static const int64_t *
find_all(struct req *r, const struct outline *o, const struct list *changes, const char **pointers)
{
	const struct entry_change *c = changes->rows;
	int64_t *at = arena_array(r->mem, changes->n, sizeof(*at));
	bool *seen = arena_array(r->mem, o->n + 1, sizeof(*seen));
	size_t i;

	for (i = 0; i < changes->n; i++) {
		pointers[i] = arena_printf(r->mem, "/entries/%zu", i);
		at[i] = outline_find(o, c[i].id);
		if (at[i] < 0)
			fault(r, arena_printf(r->mem, "%s/id", pointers[i]), "not_found", "the chapter has no such "
			    "entry");
		else if (seen[at[i]])
			fault(r, arena_printf(r->mem, "%s/id", pointers[i]), "duplicate", "this entry is named before");
		else
			seen[at[i]] = true;
	}
	return at;
}

static int
entries_patch(struct req *r)
{
	const struct chapter_head *chapter = r->object;
	const struct bulk *in = r->in;
	const char **pointers = arena_array(r->mem, in->entries.n + 1, sizeof(*pointers));
	const int64_t *at;
	struct outline o;

	if (chapter_is_busy(r, chapter->type, chapter->status))
		return r->status;
	o = outline_load(r->db, chapter->id, 0);
	at = find_all(r, &o, &in->entries, pointers);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (!entries_change(r, &o, in->entries.rows, at, pointers, in->entries.n))
		return r->status;
	chapter_changed(r, chapter->id);
	chapter = object_again(r);
	if (chapter == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	r->etag = arena_printf(r->mem, "\"%lld\"", (long long)chapter->version);
	return reply(r, 200, &ok_record, &(struct ok){ true });
}

static int
entry_delete(struct req *r)
{
	const struct entry *e = r->object;
	struct outline o;

	if (chapter_is_busy(r, e->chapter_type, e->chapter_status))
		return r->status;
	o = outline_load(r->db, e->chapter_id, 0);
	outline_remove(r->mem, &o, outline_find(&o, e->id));
	outline_number(r->mem, &o);
	outline_write(r, &o);
	chapter_changed(r, e->chapter_id);
	return reply_deleted(r, e->id, true);
}

/* An entry leads to one section: what it led to before it leads to no more. */
static int
entry_link(struct req *r)
{
	const struct entry_section *s = r->object;

	if (chapter_is_closed(r, s->chapter_type))
		return r->status;
	if (!uuid_equal(s->chapter_id, r->id[1]))
		return refuse(r, ERR_SECTION_ELSEWHERE, NULL);
	if (!uuid_is_none(s->entry_id) && !uuid_equal(s->entry_id, r->id[2]))
		return refuse(r, ERR_SECTION_LINKED, NULL);
	if (uuid_is_none(s->entry_id)) {
		section_unlink(r, r->id[2]);
		db_run(r->db, "UPDATE sections SET entry_id = ?, version = version + 1, updated_at = ? WHERE id = ?",
		    ARGS(ID(r->id[2]), TIME(r->now), ID(s->id)));
		chapter_changed(r, r->id[1]);
	}
	return entry_reply(r, 201, r->id[2]);
}

static int
entry_unlink(struct req *r)
{
	const struct entry_section *s = r->object;

	if (chapter_is_closed(r, s->chapter_type))
		return r->status;
	if (!uuid_equal(s->entry_id, r->id[2]))
		return refuse(r, ERR_NOT_FOUND, "The entry does not lead to this section.");
	section_unlink(r, r->id[2]);
	chapter_changed(r, r->id[1]);
	return reply_deleted(r, s->id, false);
}

#define ENTRIES "/v2/media/{mediaId}/chapters/{chapterId}/entries"

const struct route entries_routes[] = {
	{
		POST, ENTRIES, SCOPE_CREATE_CONTENT, entry_create, &entry_record, &entry_record,
		"Add an entry to a chapter; those behind it move on",
		.flags = BELOW, .success = 201, .fails = "403 404 409 422",
		.codes = "422:chapter_not_editable calculating too_many_entries",
	},
	{
		METHOD_PATCH, ENTRIES, SCOPE_CREATE_CONTENT, entries_patch, &bulk_record, &ok_record,
		"Change many entries of a chapter at once, all or none",
		.flags = BELOW | CONDITIONAL, .fails = "403 404 409 412 422",
		.codes = "403:chapter_not_editable calculating too_many_entries",
		.id = "updateMediaChapterEntries",
	},
	{
		GET, ENTRIES "/{entryId}", SCOPE_VIEW_CHANNEL, entry_get, NULL, &entry_record,
		"Get an entry of a chapter",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		PUT, ENTRIES "/{entryId}", SCOPE_CREATE_CONTENT, entry_put, &entry_record, &entry_record,
		"Change an entry, or its place; members that are left out stay as they are",
		.flags = CONDITIONAL, .success = 201, .fails = "403 404 409 412 422",
		.codes = "422:chapter_not_editable calculating too_many_entries", .id = "updateMediaChapterEntry",
	},
	{
		METHOD_DELETE, ENTRIES "/{entryId}", SCOPE_CREATE_CONTENT, entry_delete, NULL, &deleted_record,
		"Delete an entry and all below it; their sections stay",
		.flags = CONDITIONAL, .fails = "403 404 409 412", .codes = "403:chapter_not_editable calculating",
	},
	{
		PUT, ENTRIES "/{entryId}/sections/{sectionId}", SCOPE_CREATE_CONTENT, entry_link, NULL, &entry_record,
		"Have an entry lead to a section in the chapter's context, and no more to the one before",
		.flags = ACTION | CONDITIONAL, .success = 201, .fails = "403 404 412 422",
		.codes = "422:chapter_not_editable section_elsewhere section_linked", .id = "linkMediaSection",
	},
	{
		METHOD_DELETE, ENTRIES "/{entryId}/sections/{sectionId}", SCOPE_CREATE_CONTENT, entry_unlink, NULL,
		&deleted_record,
		"Have an entry lead to no section; the section itself stays",
		.flags = CONDITIONAL, .fails = "403 404 412", .codes = "403:chapter_not_editable",
		    .id = "unlinkMediaSection",
	},
	{ 0 }
};
