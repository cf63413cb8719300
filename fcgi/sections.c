/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/sections: points and stretches of time in an asset */
#include <string.h>

#include "core/asset.h"
#include "fcgi/chapter.h"
#include "fcgi/section.h"

static const struct field section_fields[] = {
	FIELD(struct section, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct section, media_id,     .on = SERVER, .required = true, .doc = "The asset"),
	FIELD(struct section, chapter_id,   .on = CREATE | PATCH | OMIT_NULL,
	    .doc = "Chapter in whose context it is; without one it belongs to the asset alone"),
	FIELD(struct section, entry_id,     .on = SERVER | OMIT_NULL, .doc = "Entry of that chapter that leads to it: then it is linked"),
	FIELD(struct section, type,         .on = CREATE | PATCH | FILTER, .required = true, .one_of = "marker timerange",
	    .doc = "marker: a point, with time; timerange: with start and end"),
	FIELD(struct section, time,         .on = CREATE | PATCH | OMIT_NULL, .doc = "Of a marker: where it is, in seconds"),
	FIELD(struct section, start,        .on = CREATE | PATCH | OMIT_NULL, .doc = "Of a timerange: where it begins, in seconds"),
	FIELD(struct section, end,          .on = CREATE | PATCH | OMIT_NULL, .doc = "Of a timerange: where it ends, in seconds"),
	FIELD(struct section, position,     .on = SORT | FILTER, .key = "by_position", .required = true,
	    .sql = "t.position", .doc = "time or start, in seconds"),
	FIELD(struct section, title,        .on = CREATE | PATCH | FILTER | OMIT_NULL, .max = 1000, .doc = "Shown to people"),
	FIELD(struct section, description,  .on = CREATE | PATCH | OMIT_NULL | MULTILINE, .max = 10000, .doc = "For people"),
	FIELD(struct section, thumbnail,    .on = COMPUTED | OMIT_NULL, .of = &thumbnail_record,
	    .doc = "The picture at its beginning, or the one set by a client; not of what entries lead to"),
	FIELD(struct section, created_at,   .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct section, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct section, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct section, revision,     .on = SERVER | HIDDEN, .doc = "Grows with each picture that a job makes"),
	FIELD(struct section, custom_thumbnail_file, .on = SERVER | HIDDEN, .doc = "Set by a client"),
	FIELD(struct section, custom_thumbnail_type, .on = SERVER | HIDDEN, .doc = "Content type"),
	FIELD(struct section, custom_thumbnail_width, .on = SERVER | HIDDEN, .doc = "Pixels"),
	FIELD(struct section, custom_thumbnail_height, .on = SERVER | HIDDEN, .doc = "Pixels"),
	FIELD(struct section, custom_thumbnail_size, .on = SERVER | HIDDEN, .doc = "Bytes"),
	FIELD(struct section, thumbnail_file, .on = SERVER | HIDDEN, .doc = "Made by a job"),
	FIELD(struct section, thumbnail_width, .on = SERVER | HIDDEN, .doc = "Pixels"),
	FIELD(struct section, thumbnail_height, .on = SERVER | HIDDEN, .doc = "Pixels"),
	FIELD(struct section, thumbnail_at, .on = SERVER | HIDDEN, .doc = "Position that it was made for"),
	FIELD(struct section, duration,     .on = HIDDEN | DETAIL, .sql = "a.duration", .doc = "Of the asset"),
	FIELD(struct section, chapter_type, .on = HIDDEN | DETAIL, .sql = "c.type", .doc = "Of its chapter"),
};
const struct record section_record = RECORD("MediaSection", struct section, section_fields);

/* The asset comes first, so that whoever changes what is below it waits there and nowhere else. */
const struct object section_object = {
	.path = "/v2/media/{mediaId}/sections/{sectionId}", .reach = REACH_BELOW_MEDIA, .record = &section_record,
	.from = "FROM media a JOIN sections t ON t.media_id = a.id LEFT JOIN chapters c ON c.id = t.chapter_id WHERE "
	    "a.id = ? AND t.id = ?",
};

struct list_query { struct uuid chapter_id; bool include_linked, include_all_chapter_sections; };
static const struct field list_query_fields[] = {
	FIELD(struct list_query, chapter_id, .on = QUERY, .doc = "Those in the context of this chapter"),
	FIELD(struct list_query, include_linked, .on = QUERY, .doc = "Also those that entries lead to"),
	FIELD(struct list_query, include_all_chapter_sections, .on = QUERY, .doc = "Also those in the context of any chapter"),
};
static const struct record list_query_record = RECORD("SectionsQuery", struct list_query, list_query_fields);

struct cut { struct position split_at; };
static const struct field cut_fields[] = {
	FIELD(struct cut, split_at, .on = CREATE, .required = true,
	    .doc = "Seconds: between start and end of a timerange, behind the time of a marker"),
};
static const struct record cut_record = RECORD("SplitMediaSection", struct cut, cut_fields);

struct halves { struct nested updated, created; };
static const struct field halves_fields[] = {
	FIELD(struct halves, updated, .required = true, .of = &section_record, .doc = "What was there: it ends at splitAt"),
	FIELD(struct halves, created, .required = true, .of = &section_record, .doc = "The rest, from splitAt on"),
};
static const struct record halves_record = RECORD("SplitMediaSectionResult", struct halves, halves_fields);

/* What an asset or chapter has to say about what comes into it. */
struct around { struct position duration; const char *chapter_type; };
static const struct field around_fields[] = {
	FIELD(struct around, duration, .sql = "t.duration", .doc = "Of the asset"),
	FIELD(struct around, chapter_type, .sql = "c.type", .doc = "Of the chapter"),
};
static const struct record around_record = RECORD("AroundSection", struct around, around_fields);

void
section_told(struct req *r, const char *type, const struct section *s)
{
	const char *of = uuid_is_none(s->chapter_id) ? "" : arena_printf(r->mem, ",\"chapterId\":\"%s\"",
	    uuid_text(r->mem, s->chapter_id));

	event(r, s->media_id, type, arena_printf(r->mem, "{\"mediaId\":\"%s\",\"sectionId\":\"%s\"%s}",
	    uuid_text(r->mem, s->media_id), uuid_text(r->mem, s->id), of));
	chapter_touched(r, s->chapter_id);
}

static void
check_position(struct req *r, const char *pointer, const char *type, struct position p, struct position duration)
{
	if (!p.set)
		fault(r, pointer, "required", "a %s wants it", type);
	else if (p.ms > duration.ms)
		fault(r, pointer, "too_large", "the asset ends at %.3f seconds", (double)duration.ms / 1000);
}

static void
check_absent(struct req *r, const char *pointer, const char *type, struct position p)
{
	if (p.set)
		fault(r, pointer, "not_allowed", "a %s has none", type);
}

void
section_check(struct req *r, const struct section *s, struct position duration)
{
	bool is_marker = strcmp(s->type, "marker") == 0;

	if (is_marker) {
		check_position(r, "/time", s->type, s->time, duration);
		check_absent(r, "/start", s->type, s->start);
		check_absent(r, "/end", s->type, s->end);
		return;
	}
	check_absent(r, "/time", s->type, s->time);
	check_position(r, "/start", s->type, s->start, duration);
	check_position(r, "/end", s->type, s->end, duration);
	if (s->start.set && s->end.set && s->end.ms <= s->start.ms)
		fault(r, "/end", "too_small", "it has to end behind its start");
}

bool
section_has_room(struct req *r, struct uuid media_id, int64_t n)
{
	if (db_number(r->db, "SELECT COUNT(*) FROM sections WHERE media_id = ?", ARGS(ID(media_id)),
	    0) + n <= SECTIONS_MAX)
		return true;
	refuse(r, ERR_TOO_MANY_SECTIONS, NULL);
	return false;
}

void
section_unlink(struct req *r, struct uuid entry_id)
{
	db_run(r->db, "UPDATE sections SET entry_id = NULL, version = version + 1, updated_at = ? WHERE entry_id = ?",
	    ARGS(TIME(r->now), ID(entry_id)));
	db_run(r->db, "UPDATE entries SET version = version + 1, updated_at = ? WHERE id = ?", ARGS(TIME(r->now),
	    ID(entry_id)));
}

static int
sections_list(struct req *r)
{
	const struct list_query *in = r->in;
	struct section *rows;
	size_t n;

	if (!uuid_is_none(in->chapter_id) && db_number(r->db, "SELECT 1 FROM chapters WHERE id = ? AND media_id = ?",
	    ARGS(ID(in->chapter_id), ID(r->id[0])), 0) != 1)
		return refuse(r, ERR_NOT_FOUND, "The asset has no such chapter.");
	if (r->page.sort == NULL)
		r->page.sort = "position";
	rows = db_list(r->db, &section_record, "FROM sections t WHERE t.media_id = ? AND (? = 1 OR t.chapter_id <=> ?) "
	    "AND (? = 1 OR t.entry_id IS NULL)", ARGS(ID(r->id[0]), INT(in->include_all_chapter_sections),
	    ID(in->chapter_id), INT(in->include_linked)), &r->page, &n);
	section_view(r, r->id[0], rows, n);
	return reply_list(r, &section_record, rows, n);
}

static int
section_reply(struct req *r, int status, struct section *s)
{
	if (s == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	section_view(r, s->media_id, s, 1);
	return reply(r, status, &section_record, s);
}

static int
section_get(struct req *r)
{
	return section_reply(r, 200, r->object);
}

/* The asset, and the chapter that a body names, which is looked for in that asset alone. */
static const struct around *
look_around(struct req *r, struct uuid chapter_id)
{
	const struct around *a = db_row(r->db, &around_record, "FROM media t LEFT JOIN chapters c ON c.media_id = t.id "
	    "AND c.id = ? WHERE t.id = ?", ARGS(ID(chapter_id), ID(r->id[0])));

	if (a == NULL)
		a = NEW(r->mem, struct around);
	if (!uuid_is_none(chapter_id) && a->chapter_type == NULL)
		fault(r, "/chapterId", "not_found", "the asset has no such chapter");
	return a;
}

static void
clear_pictures(struct section *s)
{
	s->revision = s->custom_thumbnail_size = 0;
	s->custom_thumbnail_file = s->custom_thumbnail_type = s->thumbnail_file = NULL;
	s->custom_thumbnail_width = s->custom_thumbnail_height = s->thumbnail_width = s->thumbnail_height =
	    s->thumbnail_at = (struct number){ 0, false };
}

static int
section_create(struct req *r)
{
	struct section *s = r->in;
	const struct around *a = look_around(r, s->chapter_id);

	if (!a->duration.set)
		return refuse(r, ERR_NO_DURATION, NULL);
	section_check(r, s, a->duration);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (chapter_is_closed(r, a->chapter_type) || !section_has_room(r, r->id[0], 1))
		return r->status;
	s->id = uuid_new();
	s->media_id = r->id[0];
	s->entry_id = (struct uuid){ { 0 } };
	s->position = s->time.set ? s->time : s->start;
	s->created_at = s->updated_at = r->now;
	s->version = 1;
	clear_pictures(s);
	db_insert(r->db, "sections", &section_record, s);
	section_told(r, "section.created", s);
	asset_pictures_later(r->db, r->who->tenant_id, s->media_id);
	return reply_created(r, &section_record, s, s->id);
}

/* The members of the type that it has no more go by themselves. */
static struct section *
would_be(struct req *r)
{
	struct section *s = patched(r);
	bool is_marker = strcmp(s->type, "marker") == 0;

	if (is_marker && (r->given & record_bit(&section_record, "start")) == 0)
		s->start = (struct position){ 0, false };
	if (is_marker && (r->given & record_bit(&section_record, "end")) == 0)
		s->end = (struct position){ 0, false };
	if (!is_marker && (r->given & record_bit(&section_record, "time")) == 0)
		s->time = (struct position){ 0, false };
	return s;
}

static int
section_patch(struct req *r)
{
	const struct section *now = r->object;
	struct section *s = would_be(r);
	const uint64_t all = r->given | record_bit(&section_record, "time") | record_bit(&section_record, "start") |
	    record_bit(&section_record, "end");
	const struct around *a = look_around(r, s->chapter_id);
	const uint64_t words = record_bit(&section_record, "title") | record_bit(&section_record, "description");
	uint64_t changed;

	if (chapter_is_closed(r, now->chapter_type))
		return r->status;
	section_check(r, s, now->duration);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (!uuid_equal(s->chapter_id, now->chapter_id)) {
		if (chapter_is_closed(r, a->chapter_type))
			return r->status;
		if (!uuid_is_none(now->entry_id))
			return refuse(r, ERR_SECTION_LINKED, "An entry of its chapter leads to the section: take that "
			    "link away first.");
	}
	changed = record_differs(r->mem, &section_record, now, s, all);
	if (changed != 0) {
		db_update(r->db, "sections", &section_record, s, changed, s->id);
		section_told(r, "section.updated", s);
		if ((changed & ~words) != 0)
			asset_pictures_later(r->db, r->who->tenant_id, s->media_id);
		if (!uuid_equal(s->chapter_id, now->chapter_id))
			chapter_touched(r, now->chapter_id);
	}
	return section_reply(r, 201, object_again(r));
}

static int
section_delete(struct req *r)
{
	const struct section *s = r->object;
	struct strings files;
	int64_t bytes;

	if (chapter_is_closed(r, s->chapter_type))
		return r->status;
	files = asset_section_files(r->db, s->media_id, s->id, (struct uuid){ { 0 } });
	if (!uuid_is_none(s->entry_id))
		section_unlink(r, s->entry_id);
	db_run(r->db, "DELETE FROM sections WHERE id = ? AND media_id = ?", ARGS(ID(s->id), ID(s->media_id)));
	section_told(r, "section.deleted", s);
	asset_files_gone(r->db, NULL, r->who->tenant_id, s->media_id, files);
	bytes = section_pictures_gone(r, s->media_id, s, 1);
	if (bytes > 0)
		usage_add(r->db, r->who->tenant_id, 0, -bytes);
	return reply_deleted(r, s->id, true);
}

static void
check_cut(struct req *r, const struct section *s, int64_t at)
{
	bool is_marker = strcmp(s->type, "marker") == 0;

	if (at <= s->position.ms)
		fault(r, "/splitAt", "too_small", "this has to be behind its %s", is_marker ? "time" : "start");
	else if (at >= s->end.ms && !is_marker)
		fault(r, "/splitAt", "too_large", "this has to be before its end");
	else if (at > s->duration.ms)
		fault(r, "/splitAt", "too_large", "the asset ends at %.3f seconds", (double)s->duration.ms / 1000);
}

/* An entry goes on leading to the first half. */
static int
section_split(struct req *r)
{
	const struct position at = ((const struct cut *)r->in)->split_at, none = { 0, false };
	struct section *s = r->object, *rest = NEW(r->mem, struct section);
	bool is_marker = strcmp(s->type, "marker") == 0;

	if (chapter_is_closed(r, s->chapter_type))
		return r->status;
	check_cut(r, s, at.ms);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (!section_has_room(r, s->media_id, 1))
		return r->status;
	*rest = *s;
	rest->id = uuid_new();
	rest->entry_id = (struct uuid){ { 0 } };
	rest->position = at;
	rest->time = is_marker ? at : none;
	rest->start = is_marker ? none : at;
	rest->created_at = rest->updated_at = r->now;
	rest->version = 1;
	clear_pictures(rest);
	db_insert(r->db, "sections", &section_record, rest);
	*s = (struct section){ .id = s->id, .media_id = s->media_id, .chapter_id = s->chapter_id, .type = "timerange",
	    .time = none, .start = s->position, .end = at };
	db_update(r->db, "sections", &section_record, s, record_bit(&section_record, "type") |
	    record_bit(&section_record, "time") | record_bit(&section_record, "start") |
	    record_bit(&section_record, "end"), s->id);
	section_told(r, "section.updated", s);
	section_told(r, "section.created", rest);
	asset_pictures_later(r->db, r->who->tenant_id, rest->media_id);
	r->location = arena_printf(r->mem, "/v2/media/%s/sections/%s", uuid_text(r->mem, s->media_id),
	    uuid_text(r->mem, rest->id));
	s = object_again(r);
	if (s != NULL)
		section_view(r, s->media_id, s, 1);
	return reply(r, 201, &halves_record, &(struct halves){ { s }, { rest } });
}

const struct route sections_routes[] = {
	{
		GET, "/v2/media/{mediaId}/sections", SCOPE_VIEW_CHANNEL, sections_list, &list_query_record,
		&section_record,
		"List the sections of an asset by their position; without a parameter those in no chapter's context",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		POST, "/v2/media/{mediaId}/sections", SCOPE_CREATE_CONTENT, section_create, &section_record,
		&section_record,
		"Mark a point or a stretch of time in an asset",
		.flags = BELOW, .success = 201, .fails = "403 404 409 422",
		.codes = "no_duration 422:chapter_not_editable too_many_sections",
	},
	{
		GET, "/v2/media/{mediaId}/sections/{sectionId}", SCOPE_VIEW_CHANNEL, section_get, NULL, &section_record,
		"Get a section",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/media/{mediaId}/sections/{sectionId}", SCOPE_CREATE_CONTENT, section_patch,
		&section_record, &section_record,
		"Change a section; a type wants the members that it has",
		.flags = CONDITIONAL, .success = 201, .fails = "403 404 412 422",
		.codes = "422:chapter_not_editable section_linked",
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/sections/{sectionId}", SCOPE_CREATE_CONTENT, section_delete, NULL,
		&deleted_record,
		"Delete a section; the entry that led to it stays",
		.flags = CONDITIONAL, .fails = "403 404 412", .codes = "403:chapter_not_editable",
	},
	{
		POST, "/v2/media/{mediaId}/sections/{sectionId}/split", SCOPE_CREATE_CONTENT, section_split,
		    &cut_record,
		&halves_record,
		"Split a section: what is there ends at splitAt, a new one of its type goes on from there",
		.success = 201, .fails = "403 404 409 422", .codes = "422:chapter_not_editable too_many_sections",
		.id = "splitMediaSection",
	},
	{ 0 }
};
