/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An asset as clients see it: members made of columns and signed addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "core/play.h"
#include "core/spoken.h"
#include "fcgi/access.h"
#include "fcgi/asset_view.h"
#include "fcgi/theme.h"

struct embed { const char *url, *watch_url, *html; struct nested player_design; };

static const struct field embed_fields[] = {
	FIELD(struct embed, url,       .on = SERVER, .required = true, .format = "uri", .doc = "Page for an iframe"),
	FIELD(struct embed, watch_url, .on = SERVER, .required = true, .format = "uri", .doc = "Page to watch it on"),
	FIELD(struct embed, html,      .on = SERVER, .required = true, .doc = "The iframe, ready to paste"),
	FIELD(struct embed, player_design, .on = SERVER | OMIT_NULL, .of = &design_record,
	    .doc = "Of the channel asked for by channelId, or the main one: the pages of these addresses show it"),
};
static const struct record embed_record = RECORD("Embed", struct embed, embed_fields);

static const struct field reference_fields[] = {
	FIELD(struct reference, id,   .on = SERVER, .required = true, .doc = "Principal"),
	FIELD(struct reference, name, .on = SERVER, .required = true, .doc = "Its name"),
};
const struct record reference_record = RECORD("PrincipalReference", struct reference, reference_fields);

static const struct field media_fields[] = {
	FIELD(struct media, id,            .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct media, type,          .on = SERVER | FILTER, .required = true, .one_of = "video audio image document",
	    .doc = "By content, not by name"),
	FIELD(struct media, name,          .on = PATCH | FILTER | SORT, .key = "by_name", .required = true, .min = 1, .max = 255,
	    .doc = "Shown to people"),
	FIELD(struct media, description,   .on = PATCH | MULTILINE, .max = 5000, .doc = "Shown to people"),
	FIELD(struct media, status,        .on = SERVER | FILTER, .required = true, .one_of = "processing ready failed softDeleted",
	    .where = "t.deleted_at = 0 AND t.status = ? OR t.deleted_at > 0 AND 'softDeleted' = ?",
	    .doc = "ready: it can be played; the ingest may still add to it"),
	FIELD(struct media, original_file_name, .on = SERVER, .required = true, .doc = "As the client named it; a label only"),
	FIELD(struct media, mime_type,     .on = SERVER, .required = true, .doc = "By content"),
	FIELD(struct media, file_size,     .on = SERVER | FILTER | SORT, .key = "by_file_size", .doc = "Bytes of the original"),
	FIELD(struct media, duration,      .on = FILTER | SORT, .key = "by_duration", .doc = "Seconds"),
	FIELD(struct media, width,         .doc = "Pixels, upright"),
	FIELD(struct media, height,        .doc = "Pixels, upright"),
	FIELD(struct media, page_count,    .on = OMIT_NULL, .doc = "Of a document"),
	FIELD(struct media, frame_rate,    .on = OMIT_NULL, .doc = "Frames per second on average"),
	FIELD(struct media, language_code, .on = PATCH | FILTER | ASCII, .min = 2, .max = 35, .doc = "Of words or text, BCP 47"),
	FIELD(struct media, playlist_url,  .on = COMPUTED, .format = "uri",
	    .doc = "Signed HLS playlist; null until the first rendition is there. The address is good for some hours "
	    "(the setting play.lifetime, 6 h) and no longer for who loses the role: it is then not renewed"),
	FIELD(struct media, thumbnail,     .of = &thumbnail_record, .doc = "Poster, or the picture set by a client"),
	FIELD(struct media, storyboard,    .of = &storyboard_record, .doc = "Preview pictures of the seek bar"),
	FIELD(struct media, waveform_url,  .on = COMPUTED, .format = "uri", .doc = "Peaks of the sound, JSON"),
	FIELD(struct media, embed,         .on = COMPUTED | DETAIL, .required = true, .of = &embed_record, .doc = "Ways to show it; not in lists"),
	FIELD(struct media, ingest_job,    .sql = "t.ingest", .of = &ingest_record, .doc = "The latest ingest"),
	FIELD(struct media, renditions,    .on = DETAIL, .required = true, .of = &rendition_record, .format = "array",
	    .doc = "Playable and downloadable forms; not in lists"),
	FIELD(struct media, channels,      .on = COMPUTED, .required = true, .of = &channel_view_record,
	    .doc = "Channels it is in that the caller may see; for who shares it also the background channel "
	    "Share_{mediaId}, which is none of /v2/channels and stays whatever channelIds says"),
	FIELD(struct media, tags,          .on = PATCH | FILTER, .required = true, .max = 100, .item_max = 100, .format = "strings",
	    .ops = "= !=", .where = "EXISTS (SELECT 1 FROM tags g JOIN media_tags mt ON mt.tag_id = g.id WHERE "
	    "g.tenant_id = t.tenant_id AND g.name_key = LOWER(?) AND g.gone_at = 0 AND mt.media_id = t.id)",
	    .doc = "Labels, made where they are new. After a tag was renamed or deleted, a job changes its assets "
	    "one after the other; a filter knows at once"),
	FIELD(struct media, created_by,    .on = COMPUTED, .of = &reference_record, .doc = "Who uploaded it, by its name of then"),
	FIELD(struct media, recorded_at,   .on = SERVER | OMIT_NULL,
	    .doc = "When it was recorded, as its file says; a time without a zone is taken for UTC"),
	FIELD(struct media, deleted_at,    .on = SERVER | OMIT_NULL, .doc = "When it was soft-deleted"),
	FIELD(struct media, created_at,    .on = SERVER | FILTER | SORT, .key = "by_created_at", .required = true, .doc = "When it was made"),
	FIELD(struct media, updated_at,    .on = SERVER | SORT, .key = "by_updated_at", .required = true, .doc = "Last change by a client"),
	FIELD(struct media, version,       .on = SERVER | HIDDEN, .doc = "Grows with each change by a client"),
	FIELD(struct media, channel_id,    .on = INPUT_ONLY | FILTER, .where = "EXISTS (SELECT 1 FROM media_channels mc WHERE "
	    "mc.media_id = t.id AND mc.channel_id = ?)", .doc = "For filter: assets of a channel"),
	FIELD(struct media, channel_ids,   .on = PATCH | HIDDEN, .required = true, .min = 1, .max = 100,
	    .doc = "All its channels, at least one"),
	FIELD(struct media, playlist_file,   .on = SERVER | HIDDEN, .doc = "File"),
	FIELD(struct media, waveform_file,   .on = SERVER | HIDDEN, .doc = "File"),
	FIELD(struct media, ingest_steps,    .on = SERVER | HIDDEN | DETAIL, .doc = "ingestJob.steps"),
	FIELD(struct media, captions,        .on = SERVER | HIDDEN | DETAIL, .doc = "Caption files"),
	FIELD(struct media, subtitles,       .on = SERVER | HIDDEN | DETAIL, .doc = "Caption files that the file had"),
	FIELD(struct media, created_by_id,   .on = SERVER | HIDDEN, .doc = "Principal"),
	FIELD(struct media, created_by_name, .on = SERVER | HIDDEN, .doc = "Its name"),
	FIELD(struct media, revision,        .on = SERVER | HIDDEN, .doc = "Grows with each change by a job"),
	FIELD(struct media, share_channel_id, .on = SERVER | HIDDEN, .doc = "See shares"),
	FIELD(struct media, access_version,  .on = SERVER | HIDDEN | LISTED, .sql = "n.access_version", .doc = "Of the tenant"),
	FIELD(struct media, media_count,     .on = SERVER | HIDDEN | LISTED, .sql = "u.media_count", .doc = "Of the tenant"),
};
const struct record media_record = RECORD("Media", struct media, media_fields);

static const struct field media_head_fields[] = {
	FIELD(struct media_head, id, .doc = "Unique id"),
	FIELD(struct media_head, channel_ids, .doc = "Where it is"),
	FIELD(struct media_head, type, .doc = "What it is"),
	FIELD(struct media_head, name, .doc = "Shown to people"),
	FIELD(struct media_head, ingest_status, .doc = "Of the latest ingest as a whole"),
	FIELD(struct media_head, duration, .doc = "Seconds"),
	FIELD(struct media_head, version, .doc = "Changes by clients"),
	FIELD(struct media_head, revision, .doc = "Changes by jobs"),
};
static const struct record media_head_record = RECORD("MediaHead", struct media_head, media_head_fields);

const struct object media_object = {
	.path = "/v2/media/{mediaId}", .reach = REACH_MEDIA, .record = &media_record, .head = &media_head_record,
	/* So told, the database does not look at the ten keys that begin with the tenant. */
	.from = "FROM media t FORCE INDEX (PRIMARY) WHERE t.id = ?",
};

static const char *
address(struct req *r, const char *prefix, const char *file)
{
	struct buf b = BUF(r->mem);

	if (file == NULL)
		return NULL;
	buf_text(&b, prefix);
	buf_text(&b, file);
	return buf_string(&b);
}

/* Anyone may open the pages of an asset in a public or shared channel; others need a signed address. */
static bool
is_open(const struct media *m)
{
	const struct channel_view *c = m->channels.rows;
	size_t i;

	for (i = 0; i < m->channels.n; i++)
		if (strcmp(c[i].visibility, "private") != 0 && !uuid_equal(c[i].id, m->share_channel_id))
			return true;
	return false;
}

/* What follows the address of a page: the token that opens it, the channel that it is shown in. */
static const char *
page_query(struct req *r, const struct media *m, struct uuid channel_id)
{
	const char *channel = uuid_is_none(channel_id) ? "" : arena_printf(r->mem, "?channelId=%s", uuid_text(r->mem,
	    channel_id));
	char signed_for[PAGE_TOKEN_MAX];

	if (is_open(m))
		return channel;
	return arena_printf(r->mem, "%s%ct=%s", channel, *channel == '\0' ? '?' : '&', page_token(r->conf, m->id,
	    r->now,
	    signed_for));
}

static struct embed *
embed_of(struct req *r, const struct media *m, struct uuid channel_id)
{
	struct embed *e = NEW(r->mem, struct embed);
	const char *id = uuid_text(r->mem, m->id), *query = page_query(r, m, channel_id);

	e->url = arena_printf(r->mem, "%s/embed/%s%s", r->conf->public_url, id, query);
	e->watch_url = arena_printf(r->mem, "%s/watch/%s%s", r->conf->public_url, id, query);
	e->html = arena_printf(r->mem, "<iframe src=\"%s\" width=\"640\" height=\"360\" allow=\"fullscreen; "
	    "picture-in-picture\" style=\"border:0\"></iframe>", e->url);
	return e;
}

/* Behind those that give roles: the background channel, for who is an owner of it. */
static void
add_share_channel(struct req *r, struct media *m)
{
	struct channel_view *all;

	if (uuid_is_none(m->share_channel_id) || db_number(r->db, "SELECT 1 FROM shares WHERE media_id = ? AND "
	    "principal_id = ?", ARGS(ID(m->id), ID(r->who->id)), 0) != 1)
		return;
	all = arena_array(r->mem, m->channels.n + 1, sizeof(*all));
	if (m->channels.n > 0)
		memcpy(all, m->channels.rows, m->channels.n * sizeof(*all));
	all[m->channels.n] = (struct channel_view){ .id = m->share_channel_id, .visibility = "shared",
	    .name = arena_printf(r->mem, "Share_%s", uuid_text(r->mem, m->id)) };
	m->channels = (struct list){ all, m->channels.n + 1 };
}

/* The text with the signed prefix in place of each mark. */
static const char *
with_prefix(struct req *r, const char *json, const char *prefix)
{
	struct buf b = BUF(r->mem);
	const char *at;

	if (json == NULL)
		return NULL;
	while ((at = strstr(json, PLAY_MARK)) != NULL) {
		buf_add(&b, json, (size_t)(at - json));
		buf_text(&b, prefix);
		json = at + strlen(PLAY_MARK);
	}
	buf_text(&b, json);
	return buf_string(&b);
}

/* The word is not chosen in SQL, where that costs as much as the rest of the row.  Files are not served meanwhile. */
static void
hide_files(struct media *m)
{
	m->status = "softDeleted";
	m->playlist_file = m->waveform_file = NULL;
	m->storyboard.text = m->renditions.text = NULL;
}

struct thumbnail *
asset_thumbnail(struct req *r, struct uuid media_id, struct json column)
{
	char prefix[PLAY_PREFIX_MAX];

	play_prefix(r->conf, media_id, r->now, prefix);
	return record_parse(r->mem, &thumbnail_record, with_prefix(r, column.text, prefix));
}

void
asset_view(struct req *r, struct media *m, bool brief)
{
	char prefix[PLAY_PREFIX_MAX];
	struct reference *by;

	if (m->deleted_at.ms != 0)
		hide_files(m);
	play_prefix(r->conf, m->id, r->now, prefix);
	m->playlist_url = address(r, prefix, m->playlist_file);
	m->waveform_url = address(r, prefix, m->waveform_file);
	m->thumbnail.text = with_prefix(r, m->thumbnail.text, prefix);
	m->storyboard.text = with_prefix(r, m->storyboard.text, prefix);
	if (!uuid_is_none(m->created_by_id) && m->created_by_name != NULL) {
		by = NEW(r->mem, struct reference);
		*by = (struct reference){ m->created_by_id, m->created_by_name };
		m->created_by.row = by;
	}
	if (r->audience != NULL) {
		m->channels = access_visible(r, &m->channel_ids);
		add_share_channel(r, m);
	}
	if (m->tags.text == NULL)
		m->tags.text = "[]";
	if (brief)
		return;
	m->renditions.text = m->renditions.text != NULL ? with_prefix(r, m->renditions.text, prefix) : "[]";
	m->embed.row = embed_of(r, m, (struct uuid){ { 0 } });
	if (m->ingest_job.text != NULL && m->ingest_steps.text != NULL)
		m->ingest_job.text = arena_printf(r->mem, "%.*s,\"steps\":%s}", (int)strlen(m->ingest_job.text) - 1,
		    m->ingest_job.text, m->ingest_steps.text);
	r->etag = arena_printf(r->mem, "\"%lld-%lld-%lld-%.6s\"", (long long)m->version, (long long)m->revision,
	    r->audience != NULL ? (long long)r->audience->version : 0, strchr(strstr(prefix, "/play/"), '.') + 1);
}

int
asset_reply(struct req *r, bool again)
{
	struct media *m = again ? object_again(r) : r->object;

	if (m == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	asset_view(r, m, false);
	return reply(r, 200, &media_record, m);
}

int
asset_reply_in(struct req *r, struct uuid channel_id)
{
	struct media *m = r->object;
	struct design *d = theme_player_of(r, channel_id);
	struct embed *e;

	asset_view(r, m, false);
	m->embed.row = e = embed_of(r, m, channel_id);
	if (d != NULL) {
		design_view(r, d);
		e->player_design.row = d;
		r->etag = arena_printf(r->mem, "%.*s-%s.%lld\"", (int)strlen(r->etag) - 1, r->etag,
		    uuid_text(r->mem, d->id), (long long)d->version);
	}
	return reply(r, 200, &media_record, m);
}

bool
asset_is_seen_in(struct req *r, const struct ids *channel_ids, struct uuid channel_id)
{
	struct list seen = access_visible(r, channel_ids);
	size_t i;

	for (i = 0; i < seen.n; i++)
		if (uuid_equal(((const struct channel_view *)seen.rows)[i].id, channel_id))
			return true;
	return false;
}

bool
asset_language_fits(const char *code)
{
	return strcmp(code, SPOKEN_TRANSLATED) == 0 || strcasecmp(code, SPOKEN_ANY) == 0 || language_valid(code);
}

void
asset_check_languages(struct req *r, const char *member, const struct strings *codes)
{
	size_t i, k;

	for (i = 0; i < codes->n; i++) {
		const char *pointer = arena_printf(r->mem, "/%s/%zu", member, i);

		codes->at[i] = spoken_plain(r->mem, codes->at[i]);
		if (!asset_language_fits(codes->at[i]))
			fault(r, pointer, "format", "a BCP 47 tag is wanted, for example en or de-CH, or translate-en");
		for (k = 0; k < i; k++)
			if (strcasecmp(codes->at[i], codes->at[k]) == 0)
				fault(r, pointer, "duplicate", "this language is in the list already");
	}
}
