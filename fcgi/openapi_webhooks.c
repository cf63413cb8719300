/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of the API document: what receivers of webhooks are sent; jobs/deliver_queue.c sends it */
#include <ctype.h>
#include <string.h>

#include "core/event.h"
#include "core/livestream.h"
#include "core/webhook.h"
#include "fcgi/asset_view.h"
#include "fcgi/openapi.h"

/* An asset once more, as something that is sent: generated programs leave out of a request what is read-only. */
static struct record snapshot;

/* The member `data`, as seen_event() and a ping tell it. */
struct told {
	struct json media;
	struct uuid media_id, upload_id, webhook_id, chapter_id, section_id, comment_id, livestream_id, flow_id, run_id;
	struct strings modified;
	bool permanent;
	const char *kind, *code, *status, *output;
};
#define MEDIA FIELD(struct told, media, .required = true, .of = &snapshot, \
	.doc = "The asset as who made the webhook may read it when this is sent")
#define MEDIA_ID FIELD(struct told, media_id, .required = true, .doc = "The asset")
static const struct field asset_fields[] = { MEDIA };
static const struct field created_fields[] = { MEDIA, MEDIA_ID };
static const struct field updated_fields[] = {
	MEDIA, FIELD(struct told, modified, .required = true, .doc = "Names of the members that have changed"),
};
static const struct field deleted_fields[] = {
	MEDIA_ID, FIELD(struct told, permanent, .required = true, .doc = "false: it can be recovered"),
};
static const struct field metadata_fields[] = {
	MEDIA_ID,
	FIELD(struct told, kind, .required = true, .doc = "What was derived: transcripts, documentContent, …"),
};
static const struct field chapter_fields[] = {
	MEDIA_ID, FIELD(struct told, chapter_id, .required = true, .doc = "The chapter"),
};
static const struct field section_fields[] = {
	MEDIA_ID, FIELD(struct told, section_id, .required = true, .doc = "The section"),
	FIELD(struct told, chapter_id, .on = OMIT_NULL, .doc = "The chapter in whose context it is"),
};
static const struct field comment_fields[] = {
	MEDIA_ID, FIELD(struct told, comment_id, .required = true, .doc = "The comment"),
};
static const struct field livestream_fields[] = {
	MEDIA_ID, FIELD(struct told, livestream_id, .required = true, .doc = "The livestream"),
	FIELD(struct told, status, .required = true, .one_of = LIVESTREAM_STATES, .doc = "Its state then"),
};
static const struct field run_fields[] = {
	MEDIA_ID, FIELD(struct told, flow_id, .required = true, .doc = "The flow"),
	FIELD(struct told, run_id, .required = true, .doc = "The run"),
	FIELD(struct told, status, .required = true, .one_of = "succeeded failed", .doc = "What has become of it"),
	FIELD(struct told, output, .on = OMIT_NULL, .doc = "The last answer; left out where there is none, or the run is deleted"),
};
static const struct field refused_fields[] = {
	FIELD(struct told, upload_id, .required = true, .doc = "The upload"),
	FIELD(struct told, code, .required = true, .doc = "Why, as its error.code"),
};
static const struct field ping_fields[] = { FIELD(struct told, webhook_id, .required = true, .doc = "The webhook") };
static const struct record asset_told = RECORD("MediaEventData", struct told, asset_fields);
static const struct record created_told = RECORD("MediaCreatedEventData", struct told, created_fields);
static const struct record updated_told = RECORD("MediaUpdatedEventData", struct told, updated_fields);
static const struct record deleted_told = RECORD("MediaDeletedEventData", struct told, deleted_fields);
static const struct record metadata_told = RECORD("MetadataUpdatedEventData", struct told, metadata_fields);
static const struct record chapter_told = RECORD("ChapterEventData", struct told, chapter_fields);
static const struct record section_told = RECORD("SectionEventData", struct told, section_fields);
static const struct record comment_told = RECORD("CommentEventData", struct told, comment_fields);
static const struct record livestream_told = RECORD("LivestreamEventData", struct told, livestream_fields);
static const struct record run_told = RECORD("FlowRunEventData", struct told, run_fields);
static const struct record refused_told = RECORD("UploadFailedEventData", struct told, refused_fields);
static const struct record ping_told = RECORD("PingEventData", struct told, ping_fields);

static const struct { const char *type; const struct record *data; } payloads[] = {
	{ "media.created", &created_told }, { "media.updated", &updated_told }, { "media.deleted", &deleted_told },
	{ "media.restored", &asset_told }, { "media.ready", &asset_told }, { "media.failed", &asset_told },
	{ "chapter.created", &chapter_told }, { "chapter.updated", &chapter_told }, { "chapter.deleted", &chapter_told },
	{ "section.created", &section_told }, { "section.updated", &section_told }, { "section.deleted", &section_told },
	{ "comment.created", &comment_told }, { "comment.updated", &comment_told }, { "comment.deleted", &comment_told },
	{ "livestream.updated", &livestream_told }, { "flowRun.finished", &run_told },
	{ "metadata.updated", &metadata_told }, { "upload.failed", &refused_told }, { "ping", &ping_told },
};

/* Of types that are not named above: they are about an asset. */
static const struct field other_fields[] = { MEDIA_ID };
static const struct record other_told = RECORD("OtherEventData", struct told, other_fields);

static const struct record *
payload(const char *type)
{
	size_t i;

	for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
		if (strcmp(payloads[i].type, type) == 0)
			return payloads[i].data;
	return &other_told;
}

static void
put_header(struct document *d, const char *name, const char *doc)
{
	openapi_separate(d);
	buf_printf(&d->b, "{\"name\":\"%s\",\"in\":\"header\",\"required\":true,\"schema\":{\"type\":\"string\"},"
	    "\"description\":", name);
	buf_json(&d->b, doc);
	buf_char(&d->b, '}');
}

static void
put_message(struct document *d, const char *type)
{
	buf_text(&d->b, "\"requestBody\":{\"required\":true,\"content\":{\"application/json\":{\"schema\":{"
	    "\"type\":\"object\",\"required\":[\"type\",\"timestamp\",\"data\"],\"properties\":{\"type\":{"
	    "\"type\":\"string\",\"const\":");
	buf_json(&d->b, type);
	buf_text(&d->b, "},\"timestamp\":{\"type\":\"string\",\"format\":\"date-time\",\"description\":\"When it "
	    "happened\"},\"data\":");
	openapi_ref(d, payload(type), 0);
	buf_text(&d->b, "}}");
	openapi_example_put(d, type, "application/json", true);
	buf_text(&d->b, "}}},");
}

/* "receiveMediaCreated" */
static void
put_name(struct document *d, const char *type)
{
	bool upper = true;

	buf_text(&d->b, ",\"operationId\":\"receive");
	for (; *type != '\0'; type++) {
		if (*type != '.')
			buf_char(&d->b, upper ? (char)toupper((unsigned char)*type) : *type);
		upper = *type == '.';
	}
	buf_char(&d->b, '"');
}

static void
put_webhook(struct document *d, const char *type, const char *doc)
{
	openapi_separate(d);
	buf_printf(&d->b, "\"%s\":{\"post\":{\"summary\":", type);
	buf_json(&d->b, doc);
	put_name(d, type);
	buf_text(&d->b, ",\"description\":\"Sent by Standard Webhooks to the address of a webhook that names the type "
	    "among its `events`. It may come more than once, with the same `webhook-id`, and not in the order of what happened.\","
	    "\"tags\":[\"webhooks\"],\"security\":[],\"parameters\":[");
	put_header(d, "webhook-id", "The same in every attempt: the number of the event, or of a ping its name");
	put_header(d, "webhook-timestamp", "When this attempt was made: seconds since 1970");
	put_header(d, "webhook-signature", "Of each secret that holds, separated by blanks: v1, a comma, and the "
	    "Base64 of the HMAC-SHA256 of id, timestamp and body with dots between them");
	buf_text(&d->b, "],");
	put_message(d, type);
	buf_printf(&d->b, "\"responses\":{\"2XX\":{\"description\":\"It has arrived, within %d seconds\"},\"410\":{"
	    "\"description\":\"Nothing is to be sent any more: the webhook is disabled\"},\"default\":{\"description\":"
	    "\"It is tried again, %d times in all, after Retry-After where that is sent. Redirects are not "
	    "followed\"}}}}", WEBHOOK_SECONDS, WEBHOOK_ATTEMPTS);
}

void
openapi_webhooks(struct document *d)
{
	const struct event_type *t;
	size_t i;

	snapshot = media_record;
	snapshot.name = "MediaSnapshot";
	buf_text(&d->b, ",\"webhooks\":{");
	put_webhook(d, "ping", "A webhook was made or changed, or somebody asked for it: `webhookId`");
	for (i = 0; (t = event_type_at(i)) != NULL; i++)
		if (t->use != EVENT_STREAM)
			put_webhook(d, t->name, t->doc);
	buf_char(&d->b, '}');
}
