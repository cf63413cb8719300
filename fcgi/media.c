/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media and /v2/media/{mediaId} */
#include <string.h>

#include "core/asset.h"
#include "core/job.h"
#include "core/play.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"

struct media_patch {
	const char *name, *description, *language_code;
	struct strings tags, channel_ids;
};
static const struct field media_patch_fields[] = {
	FIELD(struct media_patch, name,          .on = PATCH, .required = true, .min = 1, .max = 255, .doc = "Shown to people"),
	FIELD(struct media_patch, description,   .on = PATCH, .max = 5000, .doc = "Shown to people"),
	FIELD(struct media_patch, language_code, .on = PATCH, .min = 2, .max = 35, .doc = "BCP 47 tag of what is said"),
	FIELD(struct media_patch, tags,          .on = PATCH | COMPUTED, .required = true, .max = 100, .item_max = 100, .doc = "All its labels, made where they are new"),
	FIELD(struct media_patch, channel_ids,   .on = PATCH | COMPUTED, .required = true, .min = 1, .max = 100, .doc = "All its channels, at least one"),
};
static const struct record media_patch_record = RECORD("MediaPatch", struct media_patch, media_patch_fields);

struct context { struct uuid channel_id; };
static const struct field context_fields[] = {
	FIELD(struct context, channel_id, .on = QUERY, .doc = "Channel in whose context it is shown: one that it is in"),
};
static const struct record context_record = RECORD("MediaContext", struct context, context_fields);

struct deletion { bool permanent; };
static const struct field deletion_fields[] = {
	FIELD(struct deletion, permanent, .on = QUERY, .doc = "Remove it from storage for good"),
};
static const struct record deletion_record = RECORD("Deletion", struct deletion, deletion_fields);

struct deleted { struct strings deleted; bool permanent; };
static const struct field deleted_fields[] = {
	FIELD(struct deleted, deleted,   .on = SERVER, .required = true, .doc = "Ids"),
	FIELD(struct deleted, permanent, .on = SERVER, .doc = "Removed from storage for good?"),
};
static const struct record deleted_record = RECORD("Deleted", struct deleted, deleted_fields);

struct permission { const char *name; struct strings channel_ids; };
static const struct field permission_fields[] = {
	FIELD(struct permission, name,        .on = SERVER, .required = true, .doc = "ViewChannel, ViewMetadata, CreateContent, ManageSharingOptions or ManageChannel"),
	FIELD(struct permission, channel_ids, .on = SERVER, .required = true, .doc = "Channels that give it; empty for a SuperAdmin"),
};
static const struct record permission_record = RECORD("Permission", struct permission, permission_fields);

struct player_query { const char *t; };
static const struct field player_query_fields[] = {
	FIELD(struct player_query, t, .on = QUERY, .max = 100, .doc = "Token of a signed watch or embed address"),
};
static const struct record player_query_record = RECORD("PlayerQuery", struct player_query, player_query_fields);

struct usage { int64_t media_count, changes; };
static const struct field usage_fields[] = {
	FIELD(struct usage, media_count, .doc = "Assets that are not soft-deleted"),
	FIELD(struct usage, changes, .doc = "Grows when totals may have changed"),
};
static const struct record usage_record = RECORD("Usage", struct usage, usage_fields);

/* What this process has counted: holds for a principal while the tenant's `changes` stays. */
static struct total { struct uuid principal_id; unsigned connection; int64_t changes, total; } totals[256];

static struct total *
total_of(struct uuid principal_id)
{
	return &totals[(principal_id.b[14] << 8 | principal_id.b[15]) % (sizeof(totals) / sizeof(totals[0]))];
}

#define LIVE MEDIA_FROM("") "WHERE t.tenant_id = ? AND t.deleted_at = 0"
#define DELETED MEDIA_FROM("") "WHERE t.tenant_id = ? AND t.deleted_at > 0"
/* Newest first: left alone, MariaDB walks the primary key, through the assets of all other tenants. */
#define NEWEST MEDIA_FROM("FORCE INDEX (by_id) ") "WHERE t.tenant_id = ? AND t.deleted_at = 0"
#define IN_CHANNELS " AND EXISTS (SELECT 1 FROM media_channels mc WHERE mc.media_id = t.id AND mc.channel_id IN (?, ?, ?, ?, ?, ?, ?, ?))"
enum { FEW = 8 };

/* Who sees all needs no condition; who sees few channels names them; otherwise SQL looks for them row by row. */
static struct media *
visible(struct req *r, const struct audience *a, size_t *n)
{
	static const char *const all[] = { NEWEST, LIVE };
	static const char *const few[] = { NEWEST IN_CHANNELS, LIVE IN_CHANNELS };
	static const char *const many[] = { NEWEST " AND " ACCESS_VIEW_SQL, LIVE " AND " ACCESS_VIEW_SQL };
	int which = r->page.sort != NULL || r->page.filter != NULL, i;
	struct arg args[FEW + 2];

	if (a->sees_all)
		return db_list(r->db, &media_record, all[which], ARGS(ID(r->who->tenant_id)), &r->page, n);
	if (a->too_many || a->n > FEW)
		return db_list(r->db, &media_record, many[which], ARGS(ID(r->who->tenant_id), ID(r->who->id)), &r->page, n);
	args[0] = ID(r->who->tenant_id);
	args[FEW + 1].kind = ARG_END;
	for (i = 0; i < FEW; i++)
		args[i + 1] = ID(a->n > 0 ? a->at[(size_t)i % a->n].channel_id : (struct uuid){ { 0 } });
	return db_list(r->db, &media_record, few[which], args, &r->page, n);
}

/* Soft-deleted assets are there for those who may recover them. */
static struct media *
recoverable(struct req *r, const struct audience *a, size_t *n)
{
	if (a->everywhere & SCOPE_BIT(SCOPE_CREATE_CONTENT))
		return db_list(r->db, &media_record, DELETED, ARGS(ID(r->who->tenant_id)), &r->page, n);
	return db_list(r->db, &media_record, DELETED " AND " ACCESS_CREATE_SQL, ARGS(ID(r->who->tenant_id), ID(r->who->id)),
	    &r->page, n);
}

/* The number of changes that the rows were read with; an empty page does not tell it. */
static struct usage
usage_of(struct req *r, const struct media *m, size_t n)
{
	const struct usage *u;

	if (n > 0)
		return (struct usage){ m[0].media_count, m[0].changes };
	u = db_row(r->db, &usage_record, "FROM tenant_usage t WHERE t.tenant_id = ?", ARGS(ID(r->who->tenant_id)));
	return u != NULL ? *u : (struct usage){ 0, 0 };
}

/*
 * Counting 100,000 assets would cost a hundred times the page.  The total of an unfiltered list stands in the usage row for
 * those who see all; others' are counted again only after something has changed.
 *
 * The page is read with what this process last knew of the caller; its rows say whether that still holds.  If not, it is
 * read once more.
 */
static int
media_list(struct req *r)
{
	const char *filter = r->page.filter;
	bool deleted = db_filters_for(filter, "status", "softDeleted");
	const struct audience *a = access_last(r);
	struct total *t = total_of(r->who->id);
	struct media *m;
	struct usage u;
	size_t n, i;
	int tries = 0;

	do {
		if (tries > 0)
			a = access_audience(r, u.changes);
		r->page.total = filter != NULL ? -1 : a->sees_all ? 0 :
		    uuid_equal(t->principal_id, r->who->id) && t->connection == a->connection && t->changes == a->changes ? t->total : -1;
		m = deleted ? recoverable(r, a, &n) : visible(r, a, &n);
		u = usage_of(r, m, n);
	} while (!r->who->is_super_admin && u.changes != a->changes && db_failure(r->db) == DB_FINE && ++tries < 3);
	r->stamped = n > 0 && (r->who->is_super_admin || u.changes == a->changes);
	if (r->stamped)
		r->stamp = (struct stamp){ m[0].changes, m[0].edits };
	if (filter == NULL && a->sees_all)
		r->page.total = u.media_count;
	else if (filter == NULL && r->page.fault == NULL && db_failure(r->db) == DB_FINE)
		*t = (struct total){ r->who->id, a->connection, a->changes, r->page.total };
	for (i = 0; i < n; i++)
		asset_view(r, &m[i], true);
	return reply_list(r, &media_record, m, n);
}

static int
media_get(struct req *r)
{
	const struct context *in = r->in;
	struct media *m = asset_load(r, r->id[0]);

	if (m != NULL && !uuid_is_none(in->channel_id) && strstr(m->channels.text, uuid_text(r->mem, in->channel_id)) == NULL)
		return refuse(r, ERR_NOT_FOUND, "The asset is not in this channel.");
	return asset_reply(r, 200, m);
}

static void
set_tags(struct req *r, struct uuid media_id, const struct strings *tags)
{
	size_t i;

	db_run(r->db, "DELETE FROM media_tags WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < tags->n; i++) {
		db_run(r->db, "INSERT INTO tags (id, tenant_id, name, created_at) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE id = id",
		    ARGS(ID(uuid_new()), ID(r->who->tenant_id), STR(tags->at[i]), TIME(r->now)));
		db_run(r->db, "INSERT INTO media_tags (media_id, tag_id) SELECT ?, id FROM tags WHERE tenant_id = ? AND name_key = LOWER(?) "
		    "ON DUPLICATE KEY UPDATE tag_id = tag_id", ARGS(ID(media_id), ID(r->who->tenant_id), STR(tags->at[i])));
	}
	asset_summarise(r->db, media_id, SUM_TAGS);
}

struct only_id { struct uuid id; };
static const struct field only_id_fields[] = { FIELD(struct only_id, id, .doc = "A job, or a channel") };
static const struct record only_id_record = RECORD("OnlyId", struct only_id, only_id_fields);

static bool
is_listed(const struct strings *ids, struct uuid id)
{
	struct uuid each;
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (uuid_parse(ids->at[i], &each) && uuid_equal(each, id))
			return true;
	return false;
}

/* Taking it out of a channel needs as much there as putting it in. */
static bool
may_take_out(struct req *r, struct uuid media_id, const struct strings *ids)
{
	const struct only_id *rows;
	size_t n, i;

	rows = db_rows(r->db, &only_id_record, "FROM (SELECT channel_id AS id FROM media_channels WHERE media_id = ?) t",
	    ARGS(ID(media_id)), &n);
	for (i = 0; i < n; i++)
		if (!is_listed(ids, rows[i].id) && !access_channel(r, rows[i].id, SCOPE_CREATE_CONTENT))
			return false;
	return true;
}

/* Putting an asset into a channel needs CreateContent there; the channels it is in already may stay.  False when refused;
 * channels that are not there are faults. */
static bool
may_put_into(struct req *r, struct uuid media_id, const struct strings *ids)
{
	struct uuid id;
	size_t i;

	for (i = 0; i < ids->n; i++) {
		if (!uuid_parse(ids->at[i], &id) || db_number(r->db, "SELECT 1 FROM channels WHERE id = ? AND tenant_id = ?",
		    ARGS(ID(id), ID(r->who->tenant_id)), 0) != 1)
			fault(r, arena_printf(r->mem, "/channelIds/%zu", i), "not_found", "there is no such channel");
		else if (db_number(r->db, "SELECT 1 FROM media_channels WHERE media_id = ? AND channel_id = ?",
		    ARGS(ID(media_id), ID(id)), 0) != 1 && !access_channel(r, id, SCOPE_CREATE_CONTENT))
			return false;
	}
	return true;
}

static void
set_channels(struct req *r, struct uuid media_id, const struct strings *ids)
{
	struct uuid id;
	size_t i;

	db_run(r->db, "DELETE FROM media_channels WHERE media_id = ?", ARGS(ID(media_id)));
	for (i = 0; i < ids->n; i++)
		if (uuid_parse(ids->at[i], &id))
			db_run(r->db, "INSERT INTO media_channels (media_id, channel_id, created_at) VALUES (?, ?, ?) "
			    "ON DUPLICATE KEY UPDATE channel_id = channel_id", ARGS(ID(media_id), ID(id), TIME(r->now)));
	asset_summarise(r->db, media_id, SUM_CHANNELS);
	audience_changed(r->db, r->who->tenant_id);
}

static const char *
modified(struct req *r)
{
	struct buf b = BUF(r->mem);
	size_t i;

	buf_text(&b, "{\"modified\":[");
	for (i = 0; i < media_patch_record.n; i++)
		if (r->given >> i & 1)
			buf_printf(&b, "%s\"%s\"", b.text[b.len - 1] == '[' ? "" : ",",
			    record_json_name(&media_patch_record, &media_patch_fields[i]));
	buf_text(&b, "]}");
	return buf_string(&b);
}

static int
media_patch(struct req *r)
{
	struct media_patch *in = r->in;
	bool channels = (r->given & record_bit(&media_patch_record, "channel_ids")) != 0;

	if (!access_media(r, r->id[0], SCOPE_CREATE_CONTENT, false))
		return r->status;
	if (in->language_code != NULL && !language_valid(in->language_code))
		fault(r, "/languageCode", "format", "a BCP 47 tag is wanted, for example en or de-CH");
	if (channels && !(may_take_out(r, r->id[0], &in->channel_ids) && may_put_into(r, r->id[0], &in->channel_ids)))
		return r->status;
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (r->given != 0) {
		db_update(r->db, "media", &media_patch_record, in, r->given, r->id[0]);
		asset_changed(r->db, r->id[0]);
	}
	if (r->given & record_bit(&media_patch_record, "tags"))
		set_tags(r, r->id[0], &in->tags);
	if (channels)
		set_channels(r, r->id[0], &in->channel_ids);
	if (r->given != 0)
		event_add(r->db, r->who->tenant_id, r->id[0], "media.updated", r->who->id, modified(r));
	return asset_reply(r, 200, asset_load(r, r->id[0]));
}

/* Rows go at once; the files go by a job that waits for the steps that run, and looks itself whether more have begun. */
static void
delete_for_good(struct req *r, struct uuid media_id)
{
	const struct media *m = db_row(r->db, &media_record, ASSET_FROM, ARGS(ID(media_id), ID(r->who->tenant_id)));
	struct job_place place = { .tenant_id = r->who->tenant_id, .media_id = media_id, .priority = PRIORITY_BULK };
	const char **keys = arena_array(r->mem, 2, sizeof(*keys));
	const struct only_id *jobs;
	size_t n, i;

	if (m == NULL)
		return;
	keys[0] = arena_printf(r->mem, "originals/%s", uuid_text(r->mem, media_id));
	keys[1] = arena_printf(r->mem, "play/%s", uuid_text(r->mem, media_id));
	jobs = db_rows(r->db, &only_id_record, "FROM jobs t WHERE t.media_id = ? AND t.state = 'running'", ARGS(ID(media_id)), &n);
	for (i = 0; i < n && i < 7; i++)
		place.waits[i] = (struct job_wait){ jobs[i].id, false };
	db_run(r->db, "UPDATE jobs SET cancel_requested = 1 WHERE media_id = ? AND state = 'running'", ARGS(ID(media_id)));
	db_run(r->db, "DELETE FROM jobs WHERE media_id = ? AND state <> 'running'", ARGS(ID(media_id)));
	if (db_run(r->db, "DELETE FROM media WHERE id = ? AND tenant_id = ?", ARGS(ID(media_id), ID(r->who->tenant_id))) != 1)
		return;
	usage_add(r->db, r->who->tenant_id, m->deleted_at.ms == 0 ? -1 : 0, -m->file_size);
	job_add(r->db, purge, place, .keys = { keys, 2 });
}

static int
media_delete(struct req *r)
{
	const struct deletion *in = r->in;
	struct deleted out = { .permanent = in->permanent };
	const char *id = uuid_text(r->mem, r->id[0]);

	if (!access_media(r, r->id[0], SCOPE_CREATE_CONTENT, true))
		return r->status;
	if (in->permanent)
		delete_for_good(r, r->id[0]);
	else if (db_run(r->db, "UPDATE media SET deleted_at = ?, version = version + 1, updated_at = ? WHERE id = ? AND "
	    "tenant_id = ? AND deleted_at = 0", ARGS(TIME(r->now), TIME(r->now), ID(r->id[0]), ID(r->who->tenant_id))) == 0)
		return refuse(r, ERR_CONFLICT, "The asset is soft-deleted already.");
	else
		usage_add(r->db, r->who->tenant_id, -1, 0);
	event_add(r->db, r->who->tenant_id, r->id[0], "media.deleted", r->who->id, arena_printf(r->mem,
	    "{\"mediaId\":\"%s\",\"permanent\":%s}", id, in->permanent ? "true" : "false"));
	out.deleted = (struct strings){ &id, 1 };
	return reply(r, 200, &deleted_record, &out);
}

static int
media_recover(struct req *r)
{
	if (!access_media(r, r->id[0], SCOPE_CREATE_CONTENT, true))
		return r->status;
	if (db_run(r->db, "UPDATE media SET deleted_at = 0, version = version + 1, updated_at = ? WHERE id = ? AND tenant_id = ? "
	    "AND deleted_at > 0", ARGS(TIME(r->now), ID(r->id[0]), ID(r->who->tenant_id))) == 0)
		return refuse(r, ERR_INVALID, "The asset is not soft-deleted.");
	usage_add(r->db, r->who->tenant_id, 1, 0);
	event_add(r->db, r->who->tenant_id, r->id[0], "media.restored", r->who->id, "{}");
	return asset_reply(r, 200, asset_load(r, r->id[0]));
}

/* The row is locked first, so that two requests at once start one ingest. */
static int
media_ingest(struct req *r)
{
	const char *status;

	if (!access_media(r, r->id[0], SCOPE_CREATE_CONTENT, false))
		return r->status;
	status = db_text(r->db, "SELECT ingest_status FROM media WHERE id = ? FOR UPDATE", ARGS(ID(r->id[0])));
	if (status == NULL || strcmp(status, "queued") == 0 || strcmp(status, "running") == 0)
		return refuse(r, ERR_INVALID, "An ingest of this asset is %s.", status != NULL ? status : "unknown");
	ingest_start(r->db, r->who->tenant_id, r->id[0]);
	return asset_reply(r, 200, asset_load(r, r->id[0]));
}

struct grant_row { const char *role; struct uuid channel_id; bool is_public; };
static const struct field grant_row_fields[] = {
	FIELD(struct grant_row, role, .sql = "m.role", .doc = "Role"),
	FIELD(struct grant_row, channel_id, .doc = "Channel"),
	FIELD(struct grant_row, is_public, .sql = "c.visibility = 'public'", .doc = "Public"),
};
static const struct record grant_row_record = RECORD("GrantRow", struct grant_row, grant_row_fields);

static unsigned
role_bits(const struct grant_row *g)
{
	static const struct { const char *role; unsigned bits; } roles[] = {
		{ "Viewer", 6 }, { "Contributor", 14 }, { "Publisher", 30 }, { "Channel Owner", 62 },
	};
	size_t i;

	for (i = 0; g->role != NULL && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(g->role, roles[i].role) == 0)
			return roles[i].bits;
	return g->is_public ? 6 : 0;
}

static int
media_permissions(struct req *r)
{
	struct permission *all = arena_array(r->mem, 5, sizeof(*all));
	const struct grant_row *rows;
	size_t n, i, count = 0;
	enum scope s;

	if (!access_media(r, r->id[0], SCOPE_VIEW_CHANNEL, true))
		return r->status;
	rows = db_rows(r->db, &grant_row_record, "FROM media_channels t JOIN channels c ON c.id = t.channel_id LEFT JOIN "
	    "memberships m ON m.channel_id = c.id AND m.principal_id = ? WHERE t.media_id = ?",
	    ARGS(ID(r->who->id), ID(r->id[0])), &n);
	for (s = SCOPE_VIEW_CHANNEL; s <= SCOPE_MANAGE_CHANNEL; s++) {
		struct permission *p = &all[count];

		p->name = scope_name(s);
		p->channel_ids = (struct strings){ arena_array(r->mem, n + 1, sizeof(char *)), 0 };
		for (i = 0; i < n && !r->who->is_super_admin; i++)
			if (role_bits(&rows[i]) & SCOPE_BIT(s))
				p->channel_ids.at[p->channel_ids.n++] = uuid_text(r->mem, rows[i].channel_id);
		count += p->channel_ids.n > 0 || r->who->is_super_admin;
	}
	all += page_cut(r, count, &n);
	return reply_list(r, &permission_record, all, n);
}

struct caption { const char *language_code, *label, *file, *url; };
static const struct field caption_fields[] = {
	FIELD(struct caption, language_code, .on = SERVER, .required = true, .doc = "BCP 47 tag"),
	FIELD(struct caption, label,         .on = SERVER, .required = true, .doc = "Shown in the player's menu"),
	FIELD(struct caption, file,          .on = SERVER | HIDDEN, .doc = "File"),
	FIELD(struct caption, url,           .on = SERVER, .required = true, .format = "uri", .doc = "Signed WebVTT"),
};
static const struct record caption_record = RECORD("Caption", struct caption, caption_fields);

struct player {
	struct uuid id;
	const char *name, *type, *status, *mime_type;
	int64_t progress;
	struct position duration;
	struct number page_count;
	const char *playlist_url, *poster_url, *storyboard_url, *storyboard_vtt_url, *waveform_url;
	struct list captions;
	struct json renditions;
};
static const struct field player_fields[] = {
	FIELD(struct player, id,          .on = SERVER, .required = true, .doc = "Asset"),
	FIELD(struct player, name,        .on = SERVER, .required = true, .doc = "Its name"),
	FIELD(struct player, type,        .on = SERVER, .required = true, .one_of = "video audio image document", .doc = "What it is"),
	FIELD(struct player, status,      .on = SERVER, .required = true, .one_of = "processing ready failed", .doc = "Whether it can be played"),
	FIELD(struct player, mime_type,   .on = SERVER, .required = true, .doc = "Of the original"),
	FIELD(struct player, progress,    .on = SERVER, .max = 100, .doc = "Percent of the ingest"),
	FIELD(struct player, duration,    .doc = "Seconds"),
	FIELD(struct player, page_count,  .on = OMIT_NULL, .doc = "Of a document"),
	FIELD(struct player, playlist_url,       .format = "uri", .doc = "Signed HLS playlist"),
	FIELD(struct player, poster_url,         .format = "uri", .doc = "Signed picture"),
	FIELD(struct player, storyboard_url,     .format = "uri", .doc = "Signed sprite"),
	FIELD(struct player, storyboard_vtt_url, .format = "uri", .doc = "Signed WebVTT of the sprite"),
	FIELD(struct player, waveform_url,       .format = "uri", .doc = "Signed peaks"),
	FIELD(struct player, captions,   .on = SERVER, .of = &caption_record, .doc = "Subtitles"),
	FIELD(struct player, renditions, .on = SERVER, .of = &rendition_record, .format = "array", .doc = "Other forms"),
};
static const struct record player_record = RECORD("Player", struct player, player_fields);

static struct list
captions_of(struct req *r, const struct media *m)
{
	struct list list = record_parse_list(r->mem, &caption_record, m->captions.text);
	struct caption *c = list.rows;
	char prefix[PLAY_PREFIX_MAX];
	size_t i;

	play_prefix(r->conf, m->id, r->now, prefix);
	for (i = 0; i < list.n; i++)
		c[i].url = arena_printf(r->mem, "%s%s", prefix, c[i].file);
	return list;
}

/* What the watch and embed pages need.  Without a token only for assets in a public or shared channel. */
static int
media_player(struct req *r)
{
	const struct player_query *in = r->in;
	bool opened = in->t != NULL && page_opens(r->conf, in->t, r->id[0], r->now);
	struct media *m = db_row(r->db, &media_record, MEDIA_FROM("") "WHERE t.id = ? AND t.deleted_at = 0 AND (? OR EXISTS (SELECT 1 "
	    "FROM media_channels mc JOIN channels c ON c.id = mc.channel_id WHERE mc.media_id = t.id AND "
	    "c.visibility <> 'private'))", ARGS(ID(r->id[0]), INT(opened)));
	const struct thumbnail *poster;
	const struct storyboard *storyboard;
	const struct ingest_summary *ingest;
	struct player out;

	if (m == NULL)
		return refuse(r, in->t != NULL && !opened ? ERR_FORBIDDEN : ERR_NOT_FOUND,
		    in->t != NULL && !opened ? "This address is not valid, or not any more." : NULL);
	asset_view(r, m, false);
	r->etag = NULL;
	poster = record_parse(r->mem, &thumbnail_record, m->thumbnail.text);
	storyboard = record_parse(r->mem, &storyboard_record, m->storyboard.text);
	ingest = record_parse(r->mem, &ingest_record, m->ingest_job.text);
	out = (struct player){ .id = m->id, .name = m->name, .type = m->type, .status = m->status, .mime_type = m->mime_type,
	    .progress = ingest != NULL ? ingest->progress : 0, .duration = m->duration, .page_count = m->page_count,
	    .playlist_url = m->playlist_url, .poster_url = poster != NULL ? poster->url : NULL,
	    .waveform_url = m->waveform_url, .captions = captions_of(r, m), .renditions = m->renditions };
	if (storyboard != NULL) {
		out.storyboard_url = storyboard->image_url;
		out.storyboard_vtt_url = storyboard->vtt_url;
	}
	return reply(r, 200, &player_record, &out);
}

const struct route media_routes[] = {
	{ GET, "/v2/media", SCOPE_VIEW_CHANNEL, media_list, NULL, &media_record, "List the assets the caller may see", .flags = LIST | KEPT, .fails = "403 422" },
	{ GET, "/v2/media/{mediaId}", SCOPE_VIEW_CHANNEL, media_get, &context_record, &media_record, "Get an asset", .flags = CONDITIONAL | KEPT, .fails = "403 404 422" },
	{ METHOD_PATCH, "/v2/media/{mediaId}", SCOPE_CREATE_CONTENT, media_patch, &media_patch_record, &media_record, "Change basic properties of an asset", .flags = CONDITIONAL, .fails = "403 404 412 422" },
	{ METHOD_DELETE, "/v2/media/{mediaId}", SCOPE_CREATE_CONTENT, media_delete, &deletion_record, &deleted_record, "Delete an asset, softly unless permanent", .flags = CONDITIONAL, .fails = "403 404 409 412" },
	{ PUT, "/v2/media/{mediaId}/recover", SCOPE_CREATE_CONTENT, media_recover, NULL, &media_record, "Recover a soft-deleted asset", .flags = ACTION | CONDITIONAL, .fails = "403 404 412 422" },
	{ PUT, "/v2/media/{mediaId}/ingest", SCOPE_CREATE_CONTENT, media_ingest, NULL, &media_record, "Ingest an asset again", .flags = ACTION | CONDITIONAL, .fails = "403 404 412 422" },
	{ GET, "/v2/media/{mediaId}/permissions", SCOPE_ANY_TOKEN, media_permissions, NULL, &permission_record, "List what the caller may do with an asset", .flags = LIST, .fails = "403 404" },
	{ GET, "/v2/media/{mediaId}/player", SCOPE_PUBLIC, media_player, &player_query_record, &player_record, "Get what a player page needs", .fails = "403 404" },
	{ 0 }
};
