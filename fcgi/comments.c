/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/comments: what those who see an asset write about it */
#include "fcgi/asset_view.h"

enum { COMMENTS_MAX = 10000, TEXT_MAX = 5000 };		/* of an asset; characters */

struct comment {
	struct uuid id, media_id, parent_id, principal_id;
	const char *text, *author_name;
	struct position time;
	struct nested author;
	int64_t version;
	struct moment created_at, updated_at;
	struct position duration;		/* of the asset; not in lists */
};
static const struct field comment_fields[] = {
	FIELD(struct comment, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct comment, media_id,     .on = SERVER, .required = true, .doc = "The asset"),
	FIELD(struct comment, parent_id,    .on = CREATE | FILTER | OMIT_NULL,
	    .doc = "Comment that it answers; an answer can be answered, and no more"),
	FIELD(struct comment, text,         .on = CREATE | MULTILINE, .required = true, .min = 1, .max = TEXT_MAX, .doc = "What is said"),
	FIELD(struct comment, time,         .on = CREATE | SORT | OMIT_NULL, .key = "by_time",
	    .doc = "Where in the asset, in seconds; without it, it is about all of it"),
	FIELD(struct comment, author,       .on = COMPUTED, .required = true, .of = &reference_record, .doc = "Who wrote it"),
	FIELD(struct comment, created_at,   .on = SERVER, .required = true, .doc = "When it was written"),
	FIELD(struct comment, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct comment, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct comment, principal_id, .on = SERVER | HIDDEN, .doc = "Who wrote it"),
	FIELD(struct comment, author_name,  .on = HIDDEN, .sql = "(SELECT p.name FROM principals p WHERE p.id = t.principal_id)",
	    .doc = "Its name"),
	FIELD(struct comment, duration,     .on = HIDDEN | DETAIL, .sql = "a.duration", .doc = "Of the asset"),
};
static const struct record comment_record = RECORD("MediaComment", struct comment, comment_fields);

const struct object comment_object = {
	.path = "/v2/media/{mediaId}/comments/{commentId}", .reach = REACH_AUTHOR, .record = &comment_record,
	.from = "FROM media a JOIN comments t ON t.media_id = a.id WHERE a.id = ? AND t.id = ?",
};

struct change { const char *text; struct position time; };
static const struct field change_fields[] = {
	FIELD(struct change, text, .on = CREATE | MULTILINE, .min = 1, .max = TEXT_MAX, .doc = "What is said"),
	FIELD(struct change, time, .on = CREATE, .doc = "Where in the asset, in seconds; null: it is about all of it"),
};
static const struct record change_record = RECORD("UpdateMediaComment", struct change, change_fields);

/* What a comment answers. */
struct answered { struct uuid parent_id, grandparent_id; };
static const struct field answered_fields[] = {
	FIELD(struct answered, parent_id, .doc = "What that answers"),
	FIELD(struct answered, grandparent_id, .sql = "g.parent_id", .doc = "What that one does"),
};
static const struct record answered_record = RECORD("AnsweredComment", struct answered, answered_fields);

static void
tell(struct req *r, const char *type, const struct comment *c)
{
	event(r, c->media_id, type, arena_printf(r->mem, "{\"mediaId\":\"%s\",\"commentId\":\"%s\"}", uuid_text(r->mem,
	    c->media_id), uuid_text(r->mem, c->id)));
}

static void
name_author(struct req *r, struct comment *c)
{
	struct reference *author = NEW(r->mem, struct reference);

	*author = (struct reference){ c->principal_id, c->author_name };
	c->author.row = author;
}

static void
check_time(struct req *r, struct position time, struct position duration)
{
	if (time.set && !duration.set)
		fault(r, "/time", "not_allowed", "the asset does not play");
	else if (time.set && time.ms > duration.ms)
		fault(r, "/time", "too_large", "the asset ends at %.3f seconds", (double)duration.ms / 1000);
}

/* Of the same asset; and conversations stay so flat that a page can show them. */
static void
check_parent(struct req *r, struct uuid parent_id)
{
	const struct answered *a;

	if (uuid_is_none(parent_id))
		return;
	a = db_row(r->db, &answered_record, "FROM comments t LEFT JOIN comments g ON g.id = t.parent_id WHERE t.id = ? "
	    "AND t.media_id = ?", ARGS(ID(parent_id), ID(r->id[0])));
	if (a == NULL)
		fault(r, "/parentId", "not_found", "the asset has no such comment");
	else if (!uuid_is_none(a->grandparent_id))
		fault(r, "/parentId", "not_allowed", "this is an answer to an answer: answer what it answers");
}

static struct position
duration_of(struct req *r)
{
	int64_t ms = db_number(r->db, "SELECT COALESCE(duration, -1) FROM media WHERE id = ?", ARGS(ID(r->id[0])), -1);

	return (struct position){ ms, ms >= 0 };
}

static int
comments_list(struct req *r)
{
	struct comment *rows;
	size_t n, i;

	if (r->page.sort == NULL)
		r->page.sort = "time";
	rows = db_list(r->db, &comment_record, "FROM comments t WHERE t.media_id = ?", ARGS(ID(r->id[0])), &r->page,
	    &n);
	for (i = 0; i < n; i++)
		name_author(r, &rows[i]);
	return reply_list(r, &comment_record, rows, n);
}

static int
comment_get(struct req *r)
{
	name_author(r, r->object);
	return reply(r, 200, &comment_record, r->object);
}

/* The asset is locked: what is answered cannot go meanwhile. */
static int
comment_create(struct req *r)
{
	struct comment *c = r->in;

	check_time(r, c->time, duration_of(r));
	check_parent(r, c->parent_id);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (db_number(r->db, "SELECT COUNT(*) FROM comments WHERE media_id = ?", ARGS(ID(r->id[0])), 0) >= COMMENTS_MAX)
		return refuse(r, ERR_TOO_MANY_COMMENTS, NULL);
	c->id = uuid_new();
	c->media_id = r->id[0];
	c->principal_id = r->who->id;
	c->author_name = r->who->name;
	c->created_at = c->updated_at = r->now;
	c->version = 1;
	db_insert(r->db, "comments", &comment_record, c);
	tell(r, "comment.created", c);
	name_author(r, c);
	return reply_created(r, &comment_record, c, c->id);
}

/* What is not given stays. */
static int
comment_put(struct req *r)
{
	const struct change *in = r->in;
	const struct comment *now = r->object;
	struct comment then = *now;
	uint64_t text = record_bit(&comment_record, "text"), time = record_bit(&comment_record, "time"), changed;

	if (r->given & record_bit(&change_record, "text"))
		then.text = in->text;
	if (r->given & record_bit(&change_record, "time"))
		then.time = in->time;
	if (then.text == NULL)
		fault(r, "/text", "required", "this may not be null");
	check_time(r, then.time, now->duration);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	changed = record_differs(r->mem, &comment_record, now, &then, text | time);
	if (changed != 0) {
		db_update(r->db, "comments", &comment_record, &then, changed, now->id);
		tell(r, "comment.updated", now);
	}
	if (object_again(r) == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	return comment_get(r);
}

/* Its answers go by the foreign key. */
static int
comment_delete(struct req *r)
{
	const struct comment *c = r->object;

	db_run(r->db, "DELETE FROM comments WHERE id = ? AND media_id = ?", ARGS(ID(c->id), ID(c->media_id)));
	tell(r, "comment.deleted", c);
	return reply_deleted(r, c->id, true);
}

const struct route comments_routes[] = {
	{
		GET, "/v2/media/{mediaId}/comments", SCOPE_ANY_TOKEN, comments_list, NULL, &comment_record,
		"List the comments on an asset: first those about all of it, then by their time",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		POST, "/v2/media/{mediaId}/comments", SCOPE_ANY_TOKEN, comment_create, &comment_record, &comment_record,
		"Comment on an asset, on a moment of it, or answer a comment",
		.flags = BELOW | FOR_VIEWERS, .success = 201, .fails = "403 404 409 422", .codes = "too_many_comments",
	},
	{
		GET, "/v2/media/{mediaId}/comments/{commentId}", SCOPE_ANY_TOKEN, comment_get, NULL, &comment_record,
		"Get a comment",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		PUT, "/v2/media/{mediaId}/comments/{commentId}", SCOPE_ANY_TOKEN, comment_put, &change_record,
		&comment_record,
		"Change a comment; what is not given stays",
		.flags = CONDITIONAL, .fails = "403 404 412 422", .id = "updateMediaComment",
	},
	{
		METHOD_DELETE, "/v2/media/{mediaId}/comments/{commentId}", SCOPE_ANY_TOKEN, comment_delete, NULL,
		&deleted_record,
		"Delete a comment, and with it all that answers it",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
