/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/player: what the watch and embed pages need */
#include <string.h>

#include "core/asset.h"
#include "core/caption.h"
#include "core/livestream.h"
#include "core/play.h"
#include "fcgi/asset_view.h"
#include "fcgi/player.h"
#include "fcgi/say.h"

struct player_query { const char *t; };
static const struct field player_query_fields[] = {
	FIELD(struct player_query, t, .on = QUERY, .max = 100, .doc = "Token of a signed watch or embed address. "
	    "Without it: assets in shared and public channels alone, whatever access token is sent"),
};
static const struct record player_query_record = RECORD("PlayerQuery", struct player_query, player_query_fields);

static const struct field player_caption_fields[] = {
	FIELD(struct player_caption, language_code, .on = SERVER | OMIT_NULL, .doc = "BCP 47 tag, where it is known"),
	FIELD(struct player_caption, label,         .on = SERVER, .required = true, .doc = "Shown in the player's menu"),
	FIELD(struct player_caption, kind,          .on = SERVER, .required = true, .one_of = "captions subtitles",
	    .doc = "captions: of all that is to be heard; subtitles: of what is said"),
	FIELD(struct player_caption, url,           .on = SERVER, .required = true, .format = "uri", .doc = "Signed WebVTT"),
	FIELD(struct player_caption, source,        .on = SERVER | OMIT_NULL, .one_of = "machine human import", .doc = "Where the transcript comes from"),
	FIELD(struct player_caption, quality,       .on = SERVER | OMIT_NULL, .one_of = "good draft unreliable", .doc = "Of the transcript"),
	FIELD(struct player_caption, engine,        .on = SERVER | OMIT_NULL, .doc = "Name and version of what made the transcript"),
};
const struct record player_caption_record = RECORD("Caption", struct player_caption, player_caption_fields);

enum { CHAPTERS_SHOWN = 500 };

static const struct field player_chapter_fields[] = {
	FIELD(struct player_chapter, title, .on = SERVER, .required = true, .sql = "e.title", .doc = "Of the entry"),
	FIELD(struct player_chapter, start, .on = SERVER, .required = true, .sql = "t.position", .doc = "Seconds"),
};
static const struct record player_chapter_record = RECORD("PlayerChapter", struct player_chapter,
    player_chapter_fields);

/* Of a transcript: who answers for its words. */
struct origin { struct uuid id; const char *source, *quality, *engine; };
static const struct field origin_fields[] = {
	FIELD(struct origin, id, .doc = "Of the transcript"),
	FIELD(struct origin, source, .doc = "Where it comes from"),
	FIELD(struct origin, quality, .doc = "How far it can be believed"),
	FIELD(struct origin, engine, .doc = "What made it"),
};
static const struct record origin_record = RECORD("origin", struct origin, origin_fields);

static const struct field player_live_fields[] = {
	FIELD(struct player_live, id,        .on = HIDDEN, .doc = "Of the livestream"),
	FIELD(struct player_live, status,    .on = SERVER, .required = true, .one_of = LIVESTREAM_STATES, .doc = "Of the livestream"),
	FIELD(struct player_live, with_dvr,  .on = SERVER, .doc = "Can viewers go back to its beginning?"),
	FIELD(struct player_live, starts_at, .on = SERVER | OMIT_NULL, .doc = "When it is to begin, as announced"),
	FIELD(struct player_live, published_at, .on = HIDDEN, .doc = "Viewers are let in since then"),
	FIELD(struct player_live, live_at,   .on = HIDDEN, .doc = "First pictures or sound"),
};
static const struct record player_live_record = RECORD("PlayerLive", struct player_live, player_live_fields);

static const struct field player_fields[] = {
	FIELD(struct player, id,          .on = SERVER, .required = true, .doc = "Asset"),
	FIELD(struct player, name,        .on = SERVER, .required = true, .doc = "Its name"),
	FIELD(struct player, description, .on = SERVER | OMIT_NULL, .doc = "Shown to people"),
	FIELD(struct player, type,        .on = SERVER, .required = true, .one_of = "video audio image document", .doc = "What it is"),
	FIELD(struct player, status,      .on = SERVER, .required = true, .one_of = "processing ready failed", .doc = "Whether it can be played"),
	FIELD(struct player, mime_type,   .on = SERVER, .required = true, .doc = "Of the original"),
	FIELD(struct player, language_code, .on = SERVER | HIDDEN, .doc = "BCP 47 tag of what is spoken"),
	FIELD(struct player, progress,    .on = SERVER, .max = 100, .doc = "Percent of the ingest"),
	FIELD(struct player, is_complete, .on = SERVER, .required = true, .doc = "No ingest is adding to it any more?"),
	FIELD(struct player, duration,    .doc = "Seconds"),
	FIELD(struct player, created_at,  .on = SERVER | HIDDEN, .doc = "When it was made"),
	FIELD(struct player, page_count,  .on = OMIT_NULL, .doc = "Of a document"),
	FIELD(struct player, playlist_url,       .format = "uri", .doc = "Signed HLS playlist"),
	FIELD(struct player, poster_url,         .format = "uri", .doc = "Signed picture"),
	FIELD(struct player, poster_width,  .on = OMIT_NULL, .doc = "Pixels"),
	FIELD(struct player, poster_height, .on = OMIT_NULL, .doc = "Pixels"),
	FIELD(struct player, storyboard_url,     .format = "uri", .doc = "Signed sprite"),
	FIELD(struct player, storyboard_vtt_url, .format = "uri", .doc = "Signed WebVTT of the sprite"),
	FIELD(struct player, waveform_url,       .format = "uri", .doc = "Signed peaks"),
	FIELD(struct player, captions,   .on = SERVER, .of = &player_caption_record, .doc = "Subtitles"),
	FIELD(struct player, chapters,   .on = SERVER | OMIT_NULL, .of = &player_chapter_record,
	    .doc = "Where the entries of its newest chapter of people lead to, or else of the autogenerated one"),
	FIELD(struct player, live,       .on = SERVER | OMIT_NULL, .of = &player_live_record,
	    .doc = "Of an asset that a livestream is still to become: playlistUrl is what is sent, as soon as it is "
	    "published"),
	FIELD(struct player, renditions, .on = SERVER, .required = true, .of = &rendition_record, .format = "array", .doc = "Other forms"),
};
const struct record player_record = RECORD("Player", struct player, player_fields);

/* Who answers for the words of captions; those of a file say nothing of it. */
static void
add_origin(struct arena *mem, struct player_caption *t, const char *file, const struct origin *o, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (caption_is_of(mem, file, o[i].id)) {
			t->source = o[i].source;
			t->quality = o[i].quality;
			t->engine = o[i].engine;
		}
}

/* What a transcript has made says so beside one of the file of the same name. */
static const char *
distinct_label(struct req *r, const struct list *own, const char *label)
{
	const struct caption *c = own->rows;

	for (size_t i = 0; i < own->n; i++)
		if (strcmp(c[i].label, label) == 0)
			return r->route->flags & PAGE ? arena_printf(r->mem, say(r, "%s (transcript)"), label) :
			    arena_printf(r->mem, "%s (transcript)", label);
	return label;
}

/* Those of the file come first. */
static struct list
captions_of(struct req *r, const struct media *m)
{
	const struct list own = record_parse_list(r->mem, &caption_record, m->subtitles.text),
	    heard = record_parse_list(r->mem, &caption_record, m->captions.text);
	struct player_caption *t = arena_array(r->mem, own.n + heard.n, sizeof(*t));
	const struct origin *o = NULL;
	char prefix[PLAY_PREFIX_MAX];
	size_t n = 0, i;

	play_prefix(r->conf, m->id, r->now, prefix);
	if (heard.n > 0)
		o = db_rows(r->db, &origin_record, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(m->id)), &n);
	for (i = 0; i < own.n + heard.n; i++) {
		const struct caption *c = i < own.n ? (const struct caption *)own.rows + i :
		    (const struct caption *)heard.rows + (i - own.n);

		t[i] = (struct player_caption){ .language_code = c->language_code,
		    .kind = i < own.n ? c->kind : "captions",
		    .label = i < own.n ? c->label : distinct_label(r, &own, c->label),
		    .url = arena_printf(r->mem, "%s%s", prefix, c->file) };
		if (i >= own.n)
			add_origin(r->mem, &t[i], c->file, o, n);
	}
	return (struct list){ t, own.n + heard.n };
}

struct list
player_chapters(struct db *db, struct uuid media_id)
{
	struct list out = { NULL, 0 };

	out.rows = db_rows(db, &player_chapter_record, "FROM sections t JOIN entries e ON e.id = t.entry_id WHERE "
	    "t.chapter_id = (SELECT c.id FROM chapters c WHERE c.media_id = ? AND EXISTS (SELECT 1 FROM sections x "
	    "WHERE x.chapter_id = c.id AND x.entry_id IS NOT NULL) ORDER BY c.type = 'autogenerated', c.id DESC LIMIT "
	    "1) ORDER BY t.position, t.id LIMIT ?", ARGS(ID(media_id), INT(CHAPTERS_SHOWN)), &out.n);
	return out.n > 1 ? out : (struct list){ NULL, 0 };
}

/* An asset that is playing gets further forms for a while. */
static bool
is_complete(const struct ingest_summary *ingest)
{
	return ingest == NULL || (strcmp(ingest->status, "queued") != 0 && strcmp(ingest->status, "running") != 0);
}

/* What is sent plays until the recording does. */
static void
add_live(struct req *r, struct player *p)
{
	struct player_live *live = db_row(r->db, &player_live_record, "FROM livestreams t WHERE t.media_id = ?",
	    ARGS(ID(p->id)));
	char prefix[PLAY_PREFIX_MAX];

	if (live == NULL || strcmp(p->status, "failed") == 0)
		return;
	p->live.row = live;
	p->is_complete = false;
	if (live->published_at.ms != 0 && live->live_at.ms != 0)
		p->playlist_url = arena_printf(r->mem, "%s%s", play_prefix(r->conf, p->id, r->now, prefix),
		    livestream_play_file(r->mem, r->conf, live->id, LIVESTREAM_LOW_PLAYLIST));
}

static struct player *
view(struct req *r, struct media *m)
{
	const struct storyboard *storyboard;
	const struct ingest_summary *ingest;
	const struct thumbnail *poster;
	struct player *out = NEW(r->mem, struct player);

	asset_view(r, m, false);
	r->etag = NULL;
	storyboard = record_parse(r->mem, &storyboard_record, m->storyboard.text);
	ingest = record_parse(r->mem, &ingest_record, m->ingest_job.text);
	poster = record_parse(r->mem, &thumbnail_record, m->thumbnail.text);
	*out = (struct player){ .id = m->id, .name = m->name, .description = m->description, .type = m->type,
	    .status = m->status, .mime_type = m->mime_type, .language_code = m->language_code,
	    .progress = ingest != NULL ? ingest->progress : 0, .is_complete = is_complete(ingest),
	    .duration = m->duration, .created_at = m->created_at,
	    .page_count = m->page_count,
	    .playlist_url = m->playlist_url, .waveform_url = m->waveform_url, .captions = captions_of(r, m),
	    .chapters = m->duration.set ? player_chapters(r->db, m->id) : (struct list){ NULL, 0 },
	    .renditions = m->renditions };
	if (m->playlist_file == NULL && strcmp(m->type, "video") == 0)
		add_live(r, out);
	if (poster != NULL) {
		out->poster_url = poster->url;
		out->poster_width = (struct number){ poster->width, true };
		out->poster_height = (struct number){ poster->height, true };
	}
	if (storyboard != NULL) {
		out->storyboard_url = storyboard->image_url;
		out->storyboard_vtt_url = storyboard->vtt_url;
	}
	return out;
}

struct player *
player_find(struct req *r, const char *token)
{
	bool opened = token != NULL && page_opens(r->conf, token, r->id[0], r->now);
	struct media *m = db_row(r->db, &media_record, "FROM media t WHERE t.id = ? AND t.deleted_at = 0 AND (? OR "
	    "EXISTS (SELECT 1 FROM media_channels mc JOIN channels c ON c.id = mc.channel_id WHERE mc.media_id = t.id "
	    "AND c.visibility <> 'private'))", ARGS(ID(r->id[0]), INT(opened)));

	if (m != NULL)
		return view(r, m);
	refuse(r, token != NULL && !opened ? ERR_FORBIDDEN : ERR_NOT_FOUND,
	    token != NULL && !opened ? "This address is not valid, or not any more." : NULL);
	return NULL;
}

struct player *
player_of(struct req *r, struct uuid media_id)
{
	struct media *m = db_row(r->db, &media_record, "FROM media t WHERE t.id = ? AND t.deleted_at = 0",
	    ARGS(ID(media_id)));

	return m != NULL ? view(r, m) : NULL;
}

static int
media_player(struct req *r)
{
	const struct player_query *in = r->in;
	const struct player *p = player_find(r, in->t);
	struct buf b = BUF(r->mem);

	if (p == NULL)
		return r->status;
	record_render(&b, &player_record, p, false);
	r->etag = entity_tag(r->mem, b.text, b.len);
	return reply_json(r, 200, b.text);
}

const struct route player_routes[] = {
	{
		GET, "/v2/media/{mediaId}/player", SCOPE_PUBLIC, media_player, &player_query_record, &player_record,
		"Get what a player page needs",
		.flags = NO_OBJECT | CONDITIONAL, .fails = "403 404",
	},
	{ 0 }
};
