/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/meetings: what was met about, beside the recordings of it */
#include <string.h>
#include <strings.h>

#include "core/job.h"
#include "core/role.h"
#include "fcgi/access.h"
#include "fcgi/mentions.h"

enum { MEETINGS_MAX = 10000, AGENDA_MAX = 500, MEDIA_MAX = 20 };	/* of a tenant, meeting, meeting */

struct item { const char *number, *name; bool is_public; struct uuid entry_id; };
static const struct field item_fields[] = {
	FIELD(struct item, number,    .on = CREATE, .required = true, .min = 1, .max = 32, .doc = "As it is written: 3.1 or Ö 4"),
	FIELD(struct item, name,      .on = CREATE, .required = true, .min = 1, .max = 1000, .doc = "Shown to people"),
	FIELD(struct item, is_public, .on = CREATE, .required = true, .json = "public", .doc = "Was it held in public?"),
	FIELD(struct item, entry_id,  .on = CREATE | OMIT_NULL,
	    .doc = "Entry of a chapter of one of the meeting's assets; left out when that is gone or may not be seen"),
};
static const struct record item_record = RECORD("MeetingAgendaItem", struct item, item_fields);

struct meeting {
	struct uuid id;
	const char *name, *status, *error, *location, *organization, *oparl_url;
	struct moment starts_at, ends_at;
	struct list agenda;			/* struct item */
	struct ids media_ids;
	struct moment created_at, updated_at;
	int64_t version;
	struct uuid tenant_id, principal_id;
};
static const struct field meeting_fields[] = {
	FIELD(struct meeting, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct meeting, name,         .on = CREATE | PATCH | FILTER | SORT, .key = "by_name", .required = true, .min = 1, .max = 255,
	    .doc = "Shown to people"),
	FIELD(struct meeting, status,       .on = SERVER, .required = true, .one_of = "ready calculating failed", .sql = JOB_IMPORT_STATUS_SQL("t"),
	    .doc = "calculating: a job fills it from another server"),
	FIELD(struct meeting, error,        .on = SERVER | OMIT_NULL, .sql = JOB_IMPORT_ERROR_SQL, .doc = "Why an import has failed"),
	FIELD(struct meeting, starts_at,    .on = CREATE | PATCH | FILTER | SORT, .key = "by_start", .required = true, .doc = "When it begins"),
	FIELD(struct meeting, ends_at,      .on = CREATE | PATCH | OMIT_NULL, .doc = "When it ends"),
	FIELD(struct meeting, location,     .on = CREATE | PATCH | OMIT_NULL, .max = 1000, .doc = "Where it is held"),
	FIELD(struct meeting, organization, .on = CREATE | PATCH | OMIT_NULL, .max = 1000, .doc = "Who meets"),
	FIELD(struct meeting, oparl_url,    .on = CREATE | PATCH | OMIT_NULL, .max = 2048, .format = "uri",
	    .doc = "Its address as an OParl Meeting, of http or https"),
	FIELD(struct meeting, agenda,       .on = CREATE | PATCH | DETAIL, .max = AGENDA_MAX, .of = &item_record,
	    .doc = "What is talked about, in order; not in lists"),
	FIELD(struct meeting, media_ids,    .on = CREATE | PATCH, .max = MEDIA_MAX,
	    .doc = "Its recordings and papers. Those that the caller may not see are left out; who may see none of "
	    "them does not see the meeting"),
	FIELD(struct meeting, created_at,   .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct meeting, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct meeting, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct meeting, tenant_id,    .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct meeting, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
};
static const struct record meeting_record = RECORD("Meeting", struct meeting, meeting_fields);

struct import { const char *url, *name; struct ids media_ids; };
static const struct field import_fields[] = {
	FIELD(struct import, url,       .on = CREATE, .required = true, .min = 1, .max = 2000, .format = "uri",
	    .doc = "Of an OParl Meeting; http or https"),
	FIELD(struct import, name,      .on = CREATE, .min = 1, .max = 255, .doc = "Of the meeting; none: that which it has there"),
	FIELD(struct import, media_ids, .on = CREATE, .max = MEDIA_MAX, .doc = "Its recordings and papers"),
};
static const struct record import_record = RECORD("ImportMeeting", struct import, import_fields);

const struct object meeting_object = {
	.path = "/v2/meetings/{meetingId}", .reach = REACH_MENTIONS, .record = &meeting_record,
	.from = "FROM meetings t WHERE t.id = ?",
};

/* An entry that an agenda names, of an asset that the meeting refers to. */
struct named { struct uuid id, media_id; };
static const struct field named_fields[] = {
	FIELD(struct named, id, .doc = "Entry"),
	FIELD(struct named, media_id, .sql = "c.media_id", .doc = "Asset of its chapter"),
};
static const struct record named_record = RECORD("MeetingEntry", struct named, named_fields);

/* Those of its assets that the caller sees, in their order. */
static void
show_assets(struct req *r, const struct list *seen, struct meeting *m)
{
	struct ids shown = { arena_array(r->mem, m->media_ids.n + 1, sizeof(*shown.at)), 0 };
	size_t i;

	for (i = 0; i < m->media_ids.n; i++)
		if (mention_in(seen, m->id, m->media_ids.at[i]) != NULL)
			shown.at[shown.n++] = m->media_ids.at[i];
	m->media_ids = shown;
}

/* Which items have an entry in one of these assets: one statement for all of them. */
static bool *
has_entry(struct req *r, const struct list *seen, const struct meeting *m)
{
	const struct item *item = m->agenda.rows;
	bool *has = arena_array(r->mem, m->agenda.n + 1, sizeof(*has));
	struct uuid *ids = arena_array(r->mem, m->agenda.n + 1, sizeof(*ids));
	const struct named *found;
	size_t wanted = 0, n, i, k;

	for (i = 0; i < m->agenda.n; i++)
		if (!uuid_is_none(item[i].entry_id))
			ids[wanted++] = item[i].entry_id;
	if (wanted == 0)
		return has;
	found = db_rows(r->db, &named_record, "FROM " MENTIONED_IDS " STRAIGHT_JOIN entries t ON t.id = UNHEX(j.id) "
	    "JOIN chapters c ON c.id = t.chapter_id JOIN mentions x ON x.media_id = c.media_id AND x.object_id = ?",
	    ARGS(STR(mentions_json(r->mem, ids, wanted)), ID(m->id)), &n);
	for (i = 0; i < m->agenda.n; i++)
		for (k = 0; k < n && !has[i]; k++)
			has[i] = uuid_equal(found[k].id, item[i].entry_id) && mention_in(seen, m->id,
			    found[k].media_id) != NULL;
	return has;
}

static void
meeting_view(struct req *r, struct meeting *m)
{
	struct list seen = mentions_of(r, &m->id, 1);
	const bool *has = has_entry(r, &seen, m);
	struct item *item = m->agenda.rows;
	size_t i;

	show_assets(r, &seen, m);
	for (i = 0; i < m->agenda.n; i++)
		if (!has[i])
			item[i].entry_id = (struct uuid){ { 0 } };
	r->etag = reply_tag(r, &meeting_record, m);
}

static int
meeting_reply(struct req *r, int status, struct meeting *m)
{
	if (m == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	meeting_view(r, m);
	return status == 201 ? reply_created(r, &meeting_record, m, m->id) : reply(r, status, &meeting_record, m);
}

static int
meetings_list(struct req *r)
{
	static const struct mention_lists from = MENTION_LISTS("meetings");
	struct meeting *rows;
	struct uuid *ids;
	struct list seen;
	size_t n, i;

	if (r->page.sort == NULL)
		r->page.sort = "startsAt:desc";
	rows = mentions_list(r, &meeting_record, &from, &n);
	ids = arena_array(r->mem, n + 1, sizeof(*ids));
	for (i = 0; i < n; i++)
		ids[i] = rows[i].id;
	seen = mentions_of(r, ids, n);
	for (i = 0; i < n; i++)
		show_assets(r, &seen, &rows[i]);
	return reply_list(r, &meeting_record, rows, n);
}

static int
meeting_get(struct req *r)
{
	return meeting_reply(r, 200, r->object);
}

/* What the caller may not see is not there. */
static void
check_assets(struct req *r, const struct list *seen, const struct meeting *m)
{
	const struct uuid *id = m->media_ids.at;
	size_t i, k;

	for (i = 0; i < m->media_ids.n; i++) {
		const char *pointer = arena_printf(r->mem, "/mediaIds/%zu", i);

		if (mention_in(seen, m->id, id[i]) == NULL)
			fault(r, pointer, "not_found", "there is no such asset");
		for (k = 0; k < i && !uuid_equal(id[k], id[i]); k++)
			;
		if (k < i)
			fault(r, pointer, "duplicate", "this asset is in the list already");
	}
}

static void
check_agenda(struct req *r, const struct list *seen, const struct meeting *m)
{
	const struct item *item = m->agenda.rows;
	const bool *has = has_entry(r, seen, m);
	size_t i;

	for (i = 0; i < m->agenda.n; i++)
		if (!uuid_is_none(item[i].entry_id) && !has[i])
			fault(r, arena_printf(r->mem, "/agenda/%zu/entryId", i), "not_found",
			    "no chapter of the meeting's assets has such an entry");
}

/* A link for people, which nobody here follows: a server of the own network is fine. */
static void
check_link(struct req *r, const char *url)
{
	if (url != NULL && strncasecmp(url, "https://", 8) != 0 && strncasecmp(url, "http://", 7) != 0)
		fault(r, "/oparlUrl", "format", "an address of http or https is wanted");
}

/* Sets what it refers to, and looks at that as the caller may; `given` are the members that are new.  False: it is
 * refused. */
static bool
is_fine(struct req *r, const struct meeting *m, uint64_t given)
{
	struct list seen;

	if (m->ends_at.ms != 0 && m->ends_at.ms < m->starts_at.ms)
		fault(r, "/endsAt", "too_small", "it must not end before it begins");
	check_link(r, m->oparl_url);
	if (given & record_bit(&meeting_record, "media_ids"))
		mentions_set(r, m->id, m->media_ids.at, m->media_ids.n);
	seen = mentions_of(r, &m->id, 1);
	if (given & record_bit(&meeting_record, "media_ids"))
		check_assets(r, &seen, m);
	if (given & record_bit(&meeting_record, "agenda"))
		check_agenda(r, &seen, m);
	if (r->faults.n == 0)
		return true;
	refuse(r, ERR_INVALID, NULL);
	return false;
}

static const char *
audit_data(struct req *r, const struct meeting *m)
{
	struct buf b = BUF(r->mem);
	char at[MOMENT_TEXT];

	buf_text(&b, "{\"name\":");
	buf_json(&b, m->name);
	buf_printf(&b, ",\"startsAt\":\"%s\"}", moment_format(m->starts_at, at));
	return buf_string(&b);
}

/* False: it is refused. */
static bool
insert(struct req *r, struct meeting *m)
{
	if (db_number(r->db, "SELECT COUNT(*) FROM meetings WHERE tenant_id = ?", ARGS(ID(r->who->tenant_id)), 0) >=
	    MEETINGS_MAX) {
		refuse(r, ERR_TOO_MANY_MEETINGS, NULL);
		return false;
	}
	m->id = uuid_new();
	if (!is_fine(r, m, ~(uint64_t)0))
		return false;
	m->status = "ready";
	m->tenant_id = r->who->tenant_id;
	m->principal_id = r->who->id;
	m->created_at = m->updated_at = r->now;
	m->version = 1;
	db_insert(r->db, "meetings", &meeting_record, m);
	audit(r, "meeting.created", m->id, audit_data(r, m));
	return true;
}

static int
meeting_create(struct req *r)
{
	return insert(r, r->in) ? meeting_reply(r, 201, r->in) : r->status;
}

/* Other servers are asked by a job, which judges where a name leads.  The same meeting once more is another one:
 * nobody's changes are lost. */
static int
meeting_import(struct req *r)
{
	const struct import *in = r->in;
	struct meeting *m = NEW(r->mem, struct meeting);
	const struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_FIRST, .id = uuid_new() };

	if (fault_address(r, "/url", web_refuse(r->mem, in->url, r->conf->oparl_private_hosts, false)))
		return refuse(r, ERR_INVALID, NULL);
	*m = (struct meeting){ .name = in->name != NULL ? in->name : "OParl", .starts_at = r->now, .oparl_url = in->url,
	    .media_ids = in->media_ids };
	if (!insert(r, m))
		return r->status;
	m->status = "calculating";
	db_run(r->db, "UPDATE meetings SET status = 'calculating', import_job_id = ? WHERE id = ?", ARGS(ID(place.id),
	    ID(m->id)));
	job_add(r->db, agenda, place, .meeting_id = m->id, .url = in->url, .is_named = in->name != NULL);
	r->location = arena_printf(r->mem, "/v2/meetings/%s", uuid_text(r->mem, m->id));
	meeting_view(r, m);
	return reply(r, 201, &meeting_record, m);
}

static int
meeting_patch(struct req *r)
{
	const struct meeting *now = r->object;
	struct meeting *m = patched(r);
	uint64_t changed;

	if (strcmp(now->status, "calculating") == 0)
		return refuse(r, ERR_CALCULATING, NULL);
	if (!is_fine(r, m, r->given))
		return r->status;
	changed = record_differs(r->mem, &meeting_record, now, m, r->given);
	if (changed != 0) {
		db_update(r->db, "meetings", &meeting_record, m, changed, m->id);
		audit(r, "meeting.updated", m->id, audit_data(r, m));
	}
	return meeting_reply(r, 200, object_again(r));
}

static int
meeting_delete(struct req *r)
{
	const struct meeting *m = r->object;

	mentions_clear(r, m->id);
	db_run(r->db, "DELETE FROM meetings WHERE id = ? AND tenant_id = ?", ARGS(ID(m->id), ID(r->who->tenant_id)));
	audit(r, "meeting.deleted", m->id, audit_data(r, m));
	return reply_deleted(r, m->id, true);
}

const struct route meetings_routes[] = {
	{
		GET, "/v2/meetings", SCOPE_VIEW_CHANNEL, meetings_list, NULL, &meeting_record,
		"List the meetings that the caller made, or of which it may see an asset, the latest first",
		.flags = LIST, .fails = "422",
	},
	{
		POST, "/v2/meetings", SCOPE_CREATE_CONTENT, meeting_create, &meeting_record, &meeting_record,
		"Make a meeting; without assets only who made it and SuperAdmins see it",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422", .codes = "too_many_meetings",
	},
	{
		POST, "/v2/meetings/imports", SCOPE_CREATE_CONTENT, meeting_import, &import_record, &meeting_record,
		"Make a meeting as a server of OParl 1.0 or 1.1 tells it, with its agenda; a job fills it",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422", .codes = "too_many_meetings",
		.id = "importMeeting",
	},
	{
		GET, "/v2/meetings/{meetingId}", SCOPE_VIEW_CHANNEL, meeting_get, NULL, &meeting_record,
		"Get a meeting, as far as the caller may see its assets",
		.flags = CONDITIONAL, .fails = "404",
	},
	{
		METHOD_PATCH, "/v2/meetings/{meetingId}", SCOPE_CREATE_CONTENT, meeting_patch, &meeting_record,
		&meeting_record,
		"Change a meeting; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "calculating",
	},
	{
		METHOD_DELETE, "/v2/meetings/{meetingId}", SCOPE_CREATE_CONTENT, meeting_delete, NULL, &deleted_record,
		"Delete a meeting, not its assets; its creator and SuperAdmins may",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
