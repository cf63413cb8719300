/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/metadata/seo: an asset in the words of schema.org */
#include <inttypes.h>
#include <string.h>

#include "core/html.h"
#include "fcgi/asset_view.h"
#include "fcgi/seo.h"

struct clip { const char *type, *name; struct position start_offset, end_offset; const char *url; };
static const struct field clip_fields[] = {
	FIELD(struct clip, type, .json = "@type", .required = true, .one_of = "Clip", .doc = "Class of schema.org"),
	FIELD(struct clip, name, .required = true, .doc = "Title of the entry"),
	FIELD(struct clip, start_offset, .required = true, .doc = "Seconds"),
	FIELD(struct clip, end_offset, .on = OMIT_NULL, .doc = "Seconds: where the next one begins, or all ends"),
	FIELD(struct clip, url, .required = true, .format = "uri", .doc = "Where its page plays it from there"),
};
static const struct record clip_record = RECORD("SeoClip", struct clip, clip_fields);

struct seo {
	const char *context, *type, *name, *description, *url, *embed_url, *thumbnail_url, *encoding_format, *duration,
	    *in_language;
	struct moment upload_date, date_created;
	struct list has_part;
};
static const struct field seo_fields[] = {
	FIELD(struct seo, context, .json = "@context", .required = true, .one_of = "https://schema.org",
	    .doc = "What the words mean"),
	FIELD(struct seo, type, .json = "@type", .required = true,
	    .one_of = "VideoObject AudioObject ImageObject DigitalDocument", .doc = "Class of schema.org"),
	FIELD(struct seo, name, .required = true, .doc = "Of the asset"),
	FIELD(struct seo, description, .on = OMIT_NULL, .doc = "Shown to people"),
	FIELD(struct seo, thumbnail_url, .on = OMIT_NULL, .format = "uri",
	    .doc = "Signed picture: the address ends, and is told anew each time"),
	FIELD(struct seo, url, .required = true, .format = "uri", .doc = "Its page"),
	FIELD(struct seo, embed_url, .on = OMIT_NULL, .format = "uri", .doc = "Its player, for other pages"),
	FIELD(struct seo, encoding_format, .required = true, .doc = "MIME type of the original"),
	FIELD(struct seo, duration, .on = OMIT_NULL, .doc = "ISO 8601, in whole seconds: PT1H2M3S"),
	FIELD(struct seo, in_language, .on = OMIT_NULL, .doc = "BCP 47 tag of what is spoken, where it is known"),
	FIELD(struct seo, upload_date, .on = OMIT_NULL, .doc = "When a media file came"),
	FIELD(struct seo, date_created, .on = OMIT_NULL, .doc = "When a document came"),
	FIELD(struct seo, has_part, .on = OMIT_NULL, .of = &clip_record,
	    .doc = "Where its table of contents leads to: entries with sections, in order of time"),
};
static const struct record seo_record = RECORD("SeoMetadata", struct seo, seo_fields);

static const char *
class_of(const char *type)
{
	static const struct { const char *type, *class; } classes[] = { { "video", "VideoObject" },
	    { "audio", "AudioObject" }, { "image", "ImageObject" } };

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcmp(classes[i].type, type) == 0)
			return classes[i].class;
	return "DigitalDocument";
}

static const char *
duration_text(struct arena *mem, struct position duration)
{
	int64_t s = (duration.ms + 500) / 1000;

	return duration.set ? arena_printf(mem, "PT%" PRId64 "H%" PRId64 "M%" PRId64 "S", s / 3600, s / 60 % 60,
	    s % 60) : NULL;
}

/* Of entries that lead to the same moment the first is taken: a clip has a length. */
static struct list
clips_of(struct req *r, const struct player *p, const char *url)
{
	const struct player_chapter *c = p->chapters.rows;
	struct clip *out = arena_array(r->mem, p->chapters.n, sizeof(*out));
	size_t n = 0, i;

	for (i = 0; i < p->chapters.n; i++) {
		struct position start = c[i].start;

		if ((n > 0 && start.ms <= out[n - 1].start_offset.ms) || (p->duration.set && start.ms >=
		    p->duration.ms))
			continue;
		if (n > 0)
			out[n - 1].end_offset = start;
		out[n++] = (struct clip){ .type = "Clip", .name = c[i].title, .start_offset = start,
		    .end_offset = p->duration, .url = arena_printf(r->mem, "%s#t=%" PRId64 ".%03d", url,
		    start.ms / 1000, (int)(start.ms % 1000)) };
	}
	return (struct list){ n > 0 ? out : NULL, n };
}

const char *
seo_json(struct req *r, const struct player *p, const char *url, const char *embed_url)
{
	bool is_media = strcmp(p->type, "document") != 0;
	struct seo out = { .context = "https://schema.org", .type = class_of(p->type), .name = p->name,
	    .description = p->description, .url = url, .embed_url = is_media ? embed_url : NULL,
	    .thumbnail_url = p->poster_url, .encoding_format = p->mime_type,
	    .duration = duration_text(r->mem, p->duration), .in_language = p->language_code,
	    .has_part = clips_of(r, p, url) };
	struct buf plain = BUF(r->mem), inert = BUF(r->mem);

	*(is_media ? &out.upload_date : &out.date_created) = p->created_at;
	record_render(&plain, &seo_record, &out, false);
	html_json_text(&inert, buf_string(&plain));
	return buf_string(&inert);
}

/* Others than its members come to it. */
static bool
has_page(struct req *r, struct uuid media_id)
{
	return db_number(r->db, "SELECT 1 FROM media_channels mc JOIN channels c ON c.id = mc.channel_id WHERE "
	    "mc.media_id = ? AND c.visibility <> 'private' LIMIT 1", ARGS(ID(media_id)), 0) == 1;
}

static int
seo_get(struct req *r)
{
	const struct player *p = player_of(r, r->id[0]);
	const char *id = uuid_text(r->mem, r->id[0]), *json;

	if (p == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (!has_page(r, p->id))
		return refuse(r, ERR_NO_PAGE, NULL);
	if (strcmp(p->status, "ready") != 0)
		return refuse(r, ERR_NOT_READY, NULL);
	json = seo_json(r, p, arena_printf(r->mem, "%s/watch/%s", r->conf->public_url, id),
	    arena_printf(r->mem, "%s/embed/%s", r->conf->public_url, id));
	r->etag = entity_tag(r->mem, json, strlen(json));
	if (reply_not_modified(r))
		return r->status;
	return reply_raw(r, 200, "application/ld+json", json, strlen(json));
}

const struct route seo_routes[] = {
	{
		GET, "/v2/media/{mediaId}/metadata/seo", SCOPE_VIEW_METADATA, seo_get, NULL, &seo_record,
		"Get what search engines are told of an asset in a shared or public channel: JSON-LD of schema.org, "
		"which may stand in a script element as it is",
		.flags = BELOW | CONDITIONAL | NO_ENVELOPE, .fails = "403 404 422", .codes = "no_page not_ready",
		.produces = "application/ld+json", .id = "getMediaSeoMetadata",
	},
	{ 0 }
};
