/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deleting a channel.  Its assets go to another one, or stay where else they are; one that is soft-deleted and in no
 * other channel goes to the default one, where it can be recovered.  A channel of few assets is gone with the answer;
 * one of more is closing, and a job does it: core/closing.h.
 */
#include "core/closing.h"
#include "core/job.h"
#include "core/role.h"
#include "fcgi/access.h"
#include "fcgi/channel.h"

struct channel_deletion { struct uuid move_to; };
static const struct field channel_deletion_fields[] = {
	FIELD(struct channel_deletion, move_to, .on = QUERY, .doc = "Channel that its assets go to"),
};
const struct record channel_deletion_record = RECORD("ChannelDeletion", struct channel_deletion,
    channel_deletion_fields);

struct home { struct uuid default_channel_id; };
static const struct field home_fields[] = { FIELD(struct home, default_channel_id, .doc = "Of the tenant") };
static const struct record home_record = RECORD("Home", struct home, home_fields);

/* The channel that the caller means by moveTo.  False: refused. */
static bool
may_move_to(struct req *r, struct uuid to)
{
	if (uuid_is_none(to))
		return true;
	if (uuid_equal(to, r->id[0]))
		fault(r, "moveTo", "not_allowed", "another channel is wanted");
	else if (access_visible(r, &(struct ids){ &to, 1 }).n == 0)
		fault(r, "moveTo", "not_found", "there is no such channel");
	if (r->faults.n > 0)
		refuse(r, ERR_INVALID, NULL);
	return !r->refused && access_into(r, to);
}

/* Does the channel stay for now?  Then it is refused. */
static bool
stays(struct req *r, const struct channel *c, struct uuid home)
{
	if (uuid_equal(home, c->id))
		refuse(r, ERR_DEFAULT_CHANNEL, NULL);
	else if (db_number(r->db, "SELECT 1 FROM channels WHERE tenant_id = ? AND closing_at > 0 AND closing_to = ? "
	    "LIMIT 1", ARGS(ID(c->tenant_id), ID(c->id)), 0) == 1)
		refuse(r, ERR_CHANNEL_AWAITS, NULL);
	return r->refused;
}

static int
refuse_alone(struct req *r, int64_t alone)
{
	return refuse(r, ERR_LAST_CHANNEL, "%lld%s assets are in this channel alone: say where they go by "
	    "moveTo=channelId.", (long long)alone, alone < CHANNEL_COUNT_MAX ? "" : " or more");
}

/* Those that are in no other channel that stays, of a channel of few assets, which are held: live ones, or soft-deleted
 * ones, too. */
static int64_t
alone_of_few(struct req *r, bool deleted)
{
	return db_number(r->db, "SELECT COUNT(*) FROM media_channels x JOIN media t ON t.id = x.media_id WHERE "
	    "x.channel_id = ? AND (t.deleted_at = 0 OR ?) AND NOT EXISTS (SELECT 1 FROM media_channels mc JOIN "
	    "channels c ON c.id = mc.channel_id AND c.closing_at = 0 WHERE mc.media_id = x.media_id AND "
	    "mc.channel_id <> x.channel_id)", ARGS(ID(r->id[0]), INT(deleted)), 0);
}

/* Live ones of any number, by an index, up to CHANNEL_COUNT_MAX. */
static int64_t
alone_of_many(struct req *r)
{
	return db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM media t WHERE t.channel_ids = ? AND t.deleted_at "
	    "= 0 LIMIT ?) n", ARGS(ID(r->id[0]), INT(CHANNEL_COUNT_MAX)), 0);
}

static bool
holds_many(struct req *r)
{
	return db_number(r->db, "SELECT COUNT(*) FROM (SELECT 1 FROM media_channels WHERE channel_id = ? LIMIT ?) n",
	    ARGS(ID(r->id[0]), INT(CLOSING_BATCH + 1)), 0) > CLOSING_BATCH;
}

static int
delete_now(struct req *r, const struct closing *c)
{
	struct uuid last;
	int64_t alone;

	if (closing_hold(r->db, c->channel_id, &last) > 0) {
		alone = uuid_is_none(c->to) ? alone_of_few(r, uuid_is_none(c->home)) : 0;
		if (alone > 0)
			return refuse_alone(r, alone);
		closing_let_go(r->db, c, last);
	}
	closing_end(r->db, c);
	return reply_deleted(r, c->channel_id, true);
}

static void
start(struct req *r, struct uuid channel_id)
{
	struct job_place place = { .tenant_id = r->who->tenant_id, .priority = PRIORITY_BULK };
	struct uuid job_id = job_add(r->db, closing, place, .channel_id = channel_id, .principal_id = r->who->id,
	    .address = r->client);

	db_run(r->db, "UPDATE channels SET closing_job_id = ? WHERE id = ?", ARGS(ID(job_id), ID(channel_id)));
}

/*
 * An asset that were in two channels without moveTo, both closing, would have none at last: so there is one at a time.
 * role_changed() comes first: it waits for all requests that were judged before, so that nobody takes an asset out of
 * another channel between the count and the commit.
 */
static int
delete_later(struct req *r, const struct closing *c)
{
	int64_t alone;

	role_changed(r->db, c->tenant_id);
	if (uuid_is_none(c->to)) {
		if (uuid_is_none(c->home))
			return refuse(r, ERR_LAST_CHANNEL, "The tenant has no default channel: say where assets go by "
			    "moveTo=channelId.");
		if ((alone = alone_of_many(r)) > 0)
			return refuse_alone(r, alone);
		if (db_number(r->db, "SELECT 1 FROM channels WHERE tenant_id = ? AND closing_at > 0 AND closing_to IS "
		    "NULL LIMIT 1", ARGS(ID(c->tenant_id)), 0) == 1)
			return refuse(r, ERR_CHANNEL_CLOSING, "Another channel of many assets is being deleted without "
			    "moveTo: try again when that is gone, or say where assets go.");
	}
	db_run(r->db, "UPDATE channels SET closing_at = ?, closing_to = ?, version = version + 1, updated_at = ? WHERE "
	    "id = ?", ARGS(TIME(r->now), ID(c->to), TIME(r->now), ID(c->channel_id)));
	start(r, c->channel_id);
	audit(r, "channel.closing", c->channel_id, uuid_is_none(c->to) ? NULL : arena_printf(r->mem,
	    "{\"moveTo\":\"%s\"}", uuid_text(r->mem, c->to)));
	return channel_reply_closing(r, object_again(r));
}

/* The same again is answered the same; should the job have failed, another one begins. */
static int
delete_still(struct req *r, struct channel *c, struct uuid to)
{
	const char *state = db_text(r->db, "SELECT state FROM jobs WHERE id = ?", ARGS(ID(c->closing_job_id)));

	if (!uuid_equal(to, c->closing_to))
		return refuse(r, ERR_CHANNEL_CLOSING, "The channel is being deleted already, by another moveTo.");
	if (state == NULL || job_is_final(state))
		start(r, c->id);
	return channel_reply_closing(r, c);
}

int
channel_delete(struct req *r)
{
	const struct channel_deletion *in = r->in;
	struct channel *c = r->object;
	const struct home *home = db_row(r->db, &home_record, "FROM tenants t WHERE t.id = ?", ARGS(ID(c->tenant_id)));
	struct closing closing = { c->tenant_id, c->id, r->who->id, r->client, in->move_to, { { 0 } } };

	if (c->is_closing)
		return delete_still(r, c, in->move_to);
	if (home != NULL)
		closing.home = home->default_channel_id;
	if (stays(r, c, closing.home) || !may_move_to(r, in->move_to))
		return r->status;
	return holds_many(r) ? delete_later(r, &closing) : delete_now(r, &closing);
}
