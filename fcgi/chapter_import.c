/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/chapters/imports: the agenda of a meeting, from a server of OParl */
#include "core/job.h"
#include "fcgi/chapter.h"

struct import { const char *url, *name; };
static const struct field import_fields[] = {
	FIELD(struct import, url,  .on = CREATE, .required = true, .min = 1, .max = 2000, .format = "uri",
	    .doc = "Of an OParl Meeting, of its list of agenda items, or of one of them; http or https"),
	FIELD(struct import, name, .on = CREATE, .min = 1, .max = 255, .doc = "Of the chapter; none: that of the meeting"),
};
static const struct record import_record = RECORD("ImportMediaChapter", struct import, import_fields);

/* Other servers are asked by a job, which judges where a name leads. */
static int
chapter_import(struct req *r)
{
	const struct import *in = r->in;
	struct chapter *c = NEW(r->mem, struct chapter);
	struct job_place place = { .tenant_id = r->who->tenant_id, .media_id = r->id[0], .priority = PRIORITY_FIRST,
	    .id = uuid_new() };

	if (fault_address(r, "/url", web_refuse(r->mem, in->url, r->conf->oparl_private_hosts, false)))
		return refuse(r, ERR_INVALID, NULL);
	if (!chapter_has_room(r))
		return r->status;
	c->name = in->name != NULL ? in->name : "OParl";
	c->status = "calculating";
	chapter_insert(r, c);
	db_run(r->db, "UPDATE chapters SET status = 'calculating', import_job_id = ? WHERE id = ?", ARGS(ID(place.id),
	    ID(c->id)));
	job_add(r->db, agenda, place, .chapter_id = c->id, .url = in->url, .is_named = in->name != NULL);
	r->location = arena_printf(r->mem, "/v2/media/%s/chapters/%s", uuid_text(r->mem, c->media_id), uuid_text(r->mem,
	    c->id));
	return reply(r, 201, &chapter_record, c);
}

const struct route chapter_import_routes[] = {
	{
		POST, "/v2/media/{mediaId}/chapters/imports", SCOPE_CREATE_CONTENT, chapter_import, &import_record,
		&chapter_record,
		"Make a chapter of the agenda of a meeting, as a server of OParl 1.0 or 1.1 tells it; a job fills it",
		.flags = BELOW, .success = 201, .fails = "403 404 409 422", .codes = "too_many_chapters",
		.id = "importMediaChapter",
	},
	{ 0 }
};
