/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/channels and /v2/channels/{channelId}.  Deletion, members and assets are in files of their own. */
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/channel.h"

static const struct field channel_fields[] = {
	FIELD(struct channel, id, .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct channel, tenant_id, .on = SERVER | HIDDEN, .doc = "Its tenant"),
	FIELD(struct channel, name, .on = CREATE | PATCH | FILTER | SORT, .key = "by_name", .required = true, .min = 1, .max = 255,
	    .doc = "Shown to people; need not be unique"),
	FIELD(struct channel, description, .on = CREATE | PATCH | MULTILINE, .max = 5000, .doc = "Shown to people"),
	FIELD(struct channel, type, .on = SERVER | FILTER, .required = true, .one_of = "user group",
	    .doc = "user: of one person, with Viewers beside, without designs, never public; group: all others"),
	FIELD(struct channel, visibility, .on = CREATE | FILTER, .one_of = "private shared public", .preset = "\"private\"",
	    .doc = "private: for members; shared: its page and players also for everyone who has the address; public: "
	    "also for every principal of the tenant, and listed on the portal, which must be enabled"),
	FIELD(struct channel, is_default, .on = COMPUTED, .required = true, .doc = "Do uploads that name no channel go here?"),
	FIELD(struct channel, member_count, .on = COMPUTED, .required = true,
	    .doc = "Principals with a role here, a group as one; counted up to 1000, which also stands for more"),
	FIELD(struct channel, media_count, .on = COMPUTED, .required = true,
	    .doc = "Assets that are not soft-deleted; counted up to 1000, which also stands for more"),
	FIELD(struct channel, channel_design_id, .on = CREATE | PATCH, .doc = "Design of its page; null: the main one"),
	FIELD(struct channel, player_design_id, .on = CREATE | PATCH, .doc = "Design of players of its assets; null: the main one"),
	FIELD(struct channel, is_closing, .required = true, .sql = "t.closing_at > 0",
	    .doc = "Is it being deleted? Assets leave it one after the other, and its roles hold for those that are in "
	    "it still; nothing is put into it or changed any more, and at the end it is gone"),
	FIELD(struct channel, closing_to, .on = HIDDEN, .sql = "t.closing_to", .doc = "Where its assets go meanwhile"),
	FIELD(struct channel, closing_job_id, .on = HIDDEN, .sql = "t.closing_job_id", .doc = "The job that does it"),
	FIELD(struct channel, version, .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct channel, created_at, .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct channel, updated_at, .on = SERVER, .required = true, .doc = "When it was last changed"),
};
const struct record channel_record = RECORD("Channel", struct channel, channel_fields);

static const struct field channel_head_fields[] = {
	FIELD(struct channel_head, id, .doc = "Unique id"),
	FIELD(struct channel_head, type, .doc = "user or group"),
};
static const struct record channel_head_record = RECORD("ChannelHead", struct channel_head, channel_head_fields);

const struct object channel_object = {
	.path = "/v2/channels/{channelId}", .reach = REACH_CHANNEL, .record = &channel_record,
	.head = &channel_head_record, .from = "FROM channels t WHERE t.id = ?",
};

struct visibility { const char *visibility; };
static const struct field visibility_fields[] = {
	FIELD(struct visibility, visibility, .on = CREATE, .required = true, .one_of = "private shared public",
	    .doc = "Who sees the channel and its assets"),
};
static const struct record visibility_record = RECORD("ChannelVisibility", struct visibility, visibility_fields);

bool
channel_is_of_user(const char *type)
{
	return strcmp(type, "user") == 0;
}

/* What no row of the channel holds.  Bounded, whatever it holds: both counts end at CHANNEL_COUNT_MAX. */
static void
complete(struct req *r, struct channel *c, struct uuid default_id)
{
	c->is_default = uuid_equal(c->id, default_id);
	c->member_count = db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM memberships m WHERE m.channel_id = ? "
	    "LIMIT 1000) n", ARGS(ID(c->id)), 0);
	c->media_count = db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM media_channels mc JOIN media m ON "
	    "m.id = mc.media_id AND m.tenant_id = ? AND m.deleted_at = 0 WHERE mc.channel_id = ? LIMIT 1000) n",
	    ARGS(ID(c->tenant_id), ID(c->id)), 0);
}

static struct uuid
default_channel(struct req *r)
{
	const struct channel_head *d = db_row(r->db, &channel_head_record, "FROM channels t JOIN tenants n ON "
	    "n.default_channel_id = t.id WHERE n.id = ?", ARGS(ID(r->who->tenant_id)));

	return d != NULL ? d->id : (struct uuid){ { 0 } };
}

/* The counts are part of the tag: they change without the row. */
static void
show(struct req *r, struct channel *c)
{
	complete(r, c, default_channel(r));
	r->etag = arena_printf(r->mem, "\"%lld-%lld-%lld-%d\"", (long long)c->version, (long long)c->member_count,
	    (long long)c->media_count, c->is_default);
}

static int
channel_reply(struct req *r, int status, struct channel *c)
{
	if (c == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	show(r, c);
	return status == 201 ? reply_created(r, &channel_record, c, c->id) : reply(r, status, &channel_record, c);
}

int
channel_reply_closing(struct req *r, struct channel *c)
{
	enum { ASK_AGAIN_S = 5 };

	if (c == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	show(r, c);
	return reply_later(r, &channel_record, c, ASK_AGAIN_S);
}

/* Shared ones are there for who has a role; public ones for everyone. */
static int
channels_list(struct req *r)
{
	static const char all[] = "FROM channels t WHERE t.tenant_id = ?";
	static const char visible[] = "FROM channels t WHERE t.tenant_id = ? AND (t.visibility = 'public' OR t.id IN "
	    "(SELECT m.channel_id FROM " ROLE_HOLDERS_SQL " h JOIN memberships m ON m.principal_id = h.id))";
	struct uuid default_id = default_channel(r);
	struct channel *rows;
	size_t n, i;

	if (r->audience->sees_all)
		rows = db_list(r->db, &channel_record, all, ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &channel_record, visible, ARGS(ID(r->who->tenant_id), ID(r->who->id),
		    ID(r->who->id)), &r->page, &n);
	for (i = 0; i < n; i++)
		complete(r, &rows[i], default_id);
	return reply_list(r, &channel_record, rows, n);
}

/* Chosen now: the row stays as it is until the commit, so that it neither goes nor becomes a template beside this.  Who
 * holds the design waits for no channel but those that have it already, and they do not choose it. */
static void
check_design(struct req *r, const char *pointer, struct uuid id, struct uuid had, const char *type)
{
	if (!uuid_is_none(id) && !uuid_equal(id, had) && db_number(r->db, "SELECT 1 FROM designs WHERE id = ? AND "
	    "tenant_id = ? AND type = ? AND is_template = 0 LOCK IN SHARE MODE", ARGS(ID(id), ID(r->who->tenant_id),
	    STR(type)), 0) != 1)
		fault(r, pointer, "not_found", "there is no %s with this id, or it is a template", type);
}

/* now: all zero while there is none.  False: refused. */
static bool
may_be(struct req *r, const struct channel *now, const struct channel *c)
{
	check_design(r, "/channelDesignId", c->channel_design_id, now->channel_design_id, "ChannelDesign");
	check_design(r, "/playerDesignId", c->player_design_id, now->player_design_id, "PlayerDesign");
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	else if (channel_is_of_user(c->type) && (!uuid_is_none(c->channel_design_id) ||
	    !uuid_is_none(c->player_design_id) || strcmp(c->visibility, "public") == 0))
		refuse(r, ERR_USER_CHANNEL, NULL);
	return !r->refused;
}

static bool
may_be_seen(struct req *r, const char *visibility)
{
	if (strcmp(visibility, "public") != 0 || db_number(r->db, "SELECT portal_enabled FROM tenants WHERE id = ?",
	    ARGS(ID(r->who->tenant_id)), 0) == 1)
		return true;
	refuse(r, ERR_PORTAL_DISABLED, NULL);
	return false;
}

static int
channel_create(struct req *r)
{
	static const struct channel none;
	struct channel *c = r->in;

	c->id = uuid_new();
	c->tenant_id = r->who->tenant_id;
	c->type = "group";
	c->visibility = c->visibility != NULL ? c->visibility : "private";
	c->version = 1;
	c->created_at = c->updated_at = r->now;
	if (!may_be(r, &none, c) || !may_be_seen(r, c->visibility))
		return r->status;
	db_insert(r->db, "channels", &channel_record, c);
	db_run(r->db, "INSERT INTO memberships (channel_id, principal_id, role, created_at) VALUES (?, ?, "
	    "'Channel Owner', ?)", ARGS(ID(c->id), ID(r->who->id), TIME(r->now)));
	audit(r, "channel.created", c->id, NULL);
	role_changed(r->db, c->tenant_id);
	return channel_reply(r, 201, c);
}

static int
channel_get(struct req *r)
{
	return channel_reply(r, 200, r->object);
}

/* "{"modified":["name"]}"; of the visibility also what it was and is. */
static const char *
modified(struct req *r, const struct channel *would, uint64_t members)
{
	const struct channel *was = r->object;
	struct buf b = BUF(r->mem);
	size_t i;

	for (i = 0; i < channel_record.n; i++)
		if (members >> i & 1)
			buf_printf(&b, "%s\"%s\"", b.len > 0 ? "," : "", record_json_name(&channel_record,
			    &channel_record.fields[i]));
	if (members & record_bit(&channel_record, "visibility"))
		return arena_printf(r->mem, "{\"modified\":[%s],\"from\":\"%s\",\"to\":\"%s\"}", buf_string(&b),
		    was->visibility, would->visibility);
	return arena_printf(r->mem, "{\"modified\":[%s]}", buf_string(&b));
}

/* One row of the channel and one of the tenant, whatever it holds.  What says the same as before changes nothing. */
static int
change(struct req *r, const struct channel *would, uint64_t given)
{
	uint64_t changed = record_differs(r->mem, &channel_record, r->object, would, given);

	if (changed == 0)
		return channel_reply(r, 200, r->object);
	db_update(r->db, "channels", &channel_record, would, changed, would->id);
	audit(r, "channel.updated", would->id, modified(r, would, changed));
	if (changed & (record_bit(&channel_record, "name") | record_bit(&channel_record, "visibility")))
		role_changed(r->db, would->tenant_id);
	return channel_reply(r, 200, object_again(r));
}

static int
channel_patch(struct req *r)
{
	const struct channel *would = patched(r);

	return may_be(r, r->object, would) ? change(r, would, r->given) : r->status;
}

static int
channel_set_visibility(struct req *r)
{
	const struct visibility *in = r->in;
	struct channel would = *(const struct channel *)r->object;

	would.visibility = in->visibility;
	if (!may_be(r, r->object, &would) || !may_be_seen(r, would.visibility))
		return r->status;
	return change(r, &would, record_bit(&channel_record, "visibility"));
}

const struct route channels_routes[] = {
	{
		GET, "/v2/channels", SCOPE_VIEW_CHANNEL, channels_list, NULL, &channel_record,
		"List the channels in which the caller has a role, and public ones",
		.flags = LIST, .fails = "403 422",
	},
	{
		POST, "/v2/channels", SCOPE_CREATE_CONTENT, channel_create, &channel_record, &channel_record,
		"Make a channel; the caller becomes its Channel Owner",
		.flags = SOMEWHERE, .success = 201, .fails = "403 422", .codes = "portal_disabled",
	},
	{
		GET, "/v2/channels/{channelId}", SCOPE_VIEW_CHANNEL, channel_get, NULL, &channel_record,
		"Get a channel",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/channels/{channelId}", SCOPE_MANAGE_CHANNEL, channel_patch, &channel_record,
		&channel_record,
		"Change name, description and designs of a channel",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "user_channel channel_closing",
	},
	{
		METHOD_DELETE, "/v2/channels/{channelId}", SCOPE_MANAGE_CHANNEL, channel_delete,
		&channel_deletion_record, &deleted_record,
		"Delete a channel, at once or, if it holds many assets, by a job; those that are in no other one need moveTo",
		.flags = CONDITIONAL | LATER | WITH_CLOSING, .fails = "403 404 409 412 422",
		.codes = "default_channel last_channel channel_closing channel_awaits",
	},
	{
		PUT, "/v2/channels/{channelId}/visibility", SCOPE_MANAGE_SHARING_OPTIONS, channel_set_visibility,
		&visibility_record, &channel_record,
		"Decide who sees a channel",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422",
		.codes = "portal_disabled user_channel channel_closing",
		.id = "setChannelVisibility",
	},
	{ 0 }
};
