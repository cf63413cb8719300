/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/livestreams/{livestreamId}/targets: other services that a livestream is sent on to */
#include <string.h>

#include "core/livestream.h"
#include "core/livestream_target.h"
#include "core/seal.h"
#include "fcgi/req.h"

struct target {
	struct uuid id, livestream_id;
	const char *title, *url, *status, *reason, *sealed;
	bool enabled;
	struct moment since, retry_at, created_at, updated_at;
	int64_t bytes_sent, dropped_frames, version;
};
static const struct field target_fields[] = {
	FIELD(struct target, id,            .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct target, livestream_id, .on = SERVER, .required = true, .doc = "The livestream"),
	FIELD(struct target, title,         .on = CREATE | PATCH, .required = true, .min = 1, .max = 255, .doc = "Shown to people"),
	FIELD(struct target, url,           .on = CREATE | PATCH, .required = true, .min = 1, .max = LIVESTREAM_TARGET_URL, .format = "uri",
	    .doc = "Address of a public server with the stream key that it has given behind the last slash: rtmp:// or "
	    "rtmps://; or srt://host:port, with streamid, passphrase, pbkeylen and latency (ms) behind a question "
	    "mark. It is kept encrypted, and answers have *** instead of the key"),
	FIELD(struct target, enabled,       .on = CREATE | PATCH, .preset = "true", .doc = "false: nothing is sent"),
	FIELD(struct target, status,        .on = SERVER, .required = true, .one_of = LIVESTREAM_TARGET_STATES, .sql = "IF(t.enabled, t.status, 'off')",
	    .doc = "waiting: nothing is published, or nothing comes in; sending; failed: it is tried again at "
	    "retryAt; off: it is not enabled"),
	FIELD(struct target, reason,        .on = SERVER | OMIT_NULL, .one_of = LIVESTREAM_TARGET_REASONS, .sql = "IF(t.enabled, t.reason, NULL)",
	    .doc = "Why it has failed: forbidden = not a public server; unresolved = no such host; unreachable; "
	    "timeout; tls = it did not prove who it is; refused = it does not take this key; closed = it has hung up; stalled = "
	    "it has stopped to read; format = it takes no such pictures or sound; sealed = its address was kept with "
	    "another key than this installation has, and is to be told anew"),
	FIELD(struct target, since,         .on = SERVER, .required = true, .doc = "When it came to be so"),
	FIELD(struct target, retry_at,      .on = SERVER | OMIT_NULL, .sql = "IF(t.enabled, t.retry_at, 0)", .doc = "When it is tried again"),
	FIELD(struct target, bytes_sent,    .on = SERVER, .doc = "Pictures and sound that were sent to it"),
	FIELD(struct target, dropped_frames, .on = SERVER, .doc = "Frames that it was too slow for"),
	FIELD(struct target, created_at,    .on = SERVER, .required = true, .doc = "When it was made"),
	FIELD(struct target, updated_at,    .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct target, sealed,        .on = SERVER | HIDDEN, .doc = "The whole address"),
	FIELD(struct target, version,       .on = SERVER | HIDDEN, .doc = "Grows with each change"),
};
static const struct record target_record = RECORD("LivestreamTarget", struct target, target_fields);

#define TARGETS "FROM livestream_targets t JOIN livestreams l ON l.id = t.livestream_id JOIN media a ON a.id = " \
	"l.media_id WHERE "
const struct object livestream_target_object = {
	.path = "/v2/livestreams/{livestreamId}/targets/{targetId}", .reach = REACH_BELOW_MEDIA,
	.record = &target_record,
	.from = TARGETS "l.id = ? AND t.id = ?",
};

/* Pages that show it ask anew. */
static void
tell(struct req *r)
{
	const struct livestream *l = livestream_get(r->db, r->id[0]);

	if (l != NULL)
		event(r, l->media_id, "livestream.updated", livestream_event(r->mem, l->id, l->media_id, l->status));
}

static int
target_reply(struct req *r, int status, struct target *t)
{
	if (t == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	r->etag = reply_tag(r, &target_record, t);
	return status == 201 ? reply_created(r, &target_record, t, t->id) : reply(r, status, &target_record, t);
}

static int
targets_list(struct req *r)
{
	size_t n;
	struct target *rows = db_list(r->db, &target_record, "FROM livestream_targets t WHERE t.livestream_id = ?",
	    ARGS(ID(r->id[0])), &r->page, &n);

	return reply_list(r, &target_record, rows, n);
}

static int
target_get(struct req *r)
{
	return target_reply(r, 200, r->object);
}

/* What is kept of an address.  False: refused. */
static bool
seal_address(struct req *r, struct target *t)
{
	if (fault_address(r, "/url", livestream_address_refuse(r->conf, r->mem, t->url))) {
		refuse(r, ERR_INVALID, NULL);
		return false;
	}
	t->sealed = seal(r->conf, r->mem, LIVESTREAM_TARGET_PURPOSE, t->url, strlen(t->url));
	t->url = livestream_address_shown(r->mem, t->url);
	return true;
}

/* The livestream is locked: those who make one at the same time do so one after the other. */
static int
target_create(struct req *r)
{
	const struct livestream *l = livestream_get(r->db, r->id[0]);
	struct target *t = r->in;

	if (l != NULL && word_in("finishing finished failed", l->status, strlen(l->status)))
		return refuse(r, ERR_LIVESTREAM_OVER, NULL);
	if (!seal_address(r, t))
		return r->status;
	if (db_number(r->db, "SELECT COUNT(*) FROM livestream_targets WHERE livestream_id = ?", ARGS(ID(r->id[0])),
	    0) >= LIVESTREAM_TARGETS)
		return refuse(r, ERR_TOO_MANY_TARGETS, NULL);
	if ((r->given & record_bit(&target_record, "enabled")) == 0)
		t->enabled = true;
	t->id = uuid_new();
	db_run(r->db, "INSERT INTO livestream_targets (id, livestream_id, title, url, sealed, enabled, since, "
	    "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(t->id), ID(r->id[0]), STR(t->title), STR(t->url),
	    STR(t->sealed), INT(t->enabled), TIME(r->now), TIME(r->now), TIME(r->now)));
	audit(r, "livestream.target", t->id, NULL);
	tell(r);
	return target_reply(r, 201, db_row(r->db, &target_record, TARGETS "t.id = ?", ARGS(ID(t->id))));
}

/* Who sends back what was shown has not changed the address. */
static int
target_patch(struct req *r)
{
	const struct target *t = r->object;
	struct target *would = patched(r);
	const uint64_t url = record_bit(&target_record, "url"), enabled = record_bit(&target_record, "enabled");
	uint64_t changed = record_differs(r->mem, &target_record, t, would, r->given);

	if (changed & url) {
		if (!seal_address(r, would))
			return r->status;
		changed |= record_bit(&target_record, "sealed");
		audit(r, "livestream.target", t->id, NULL);
	}
	if (changed == 0)
		return target_reply(r, 200, r->object);
	db_update(r->db, "livestream_targets", &target_record, would, changed, t->id);
	if (changed & (url | enabled))
		db_run(r->db, "UPDATE livestream_targets SET status = 'waiting', reason = NULL, retry_at = 0, since "
		    "= ? WHERE id = ?", ARGS(TIME(r->now), ID(t->id)));
	tell(r);
	return target_reply(r, 200, object_again(r));
}

static int
target_delete(struct req *r)
{
	const struct target *t = r->object;

	db_run(r->db, "DELETE FROM livestream_targets WHERE id = ? AND livestream_id = ?", ARGS(ID(t->id),
	    ID(r->id[0])));
	audit(r, "livestream.targetRemoved", t->id, NULL);
	tell(r);
	return reply_deleted(r, t->id, true);
}

const struct route livestream_targets_routes[] = {
	{
		GET, "/v2/livestreams/{livestreamId}/targets", SCOPE_CREATE_CONTENT, targets_list, NULL, &target_record,
		"List where a livestream is sent on to",
		.flags = LIST | BELOW, .fails = "403 404 422",
	},
	{
		POST, "/v2/livestreams/{livestreamId}/targets", SCOPE_CREATE_CONTENT, target_create, &target_record,
		&target_record,
		"Send a livestream on to another service, as long as it is published and something comes in",
		.flags = BELOW, .success = 201, .fails = "403 404 409 422", .codes = "livestream_over too_many_targets",
	},
	{
		GET, "/v2/livestreams/{livestreamId}/targets/{targetId}", SCOPE_CREATE_CONTENT, target_get, NULL,
		&target_record,
		"Get a target of a livestream, and how it goes",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/livestreams/{livestreamId}/targets/{targetId}", SCOPE_CREATE_CONTENT, target_patch,
		&target_record, &target_record,
		"Change a target of a livestream; another address is used within seconds",
		.flags = CONDITIONAL, .fails = "403 404 412 422",
	},
	{
		METHOD_DELETE, "/v2/livestreams/{livestreamId}/targets/{targetId}", SCOPE_CREATE_CONTENT, target_delete,
		NULL, &deleted_record,
		"Send a livestream no longer to this target",
		.flags = CONDITIONAL, .fails = "403 404 412",
	},
	{ 0 }
};
