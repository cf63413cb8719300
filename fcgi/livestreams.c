/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/livestreams: broadcasts, each of which becomes an asset that is there from the start */
#include <string.h>

#include "core/asset.h"
#include "core/livestream.h"
#include "core/play.h"
#include "core/seal.h"
#include "core/spoken.h"
#include "core/token.h"
#include "fcgi/access.h"
#include "fcgi/media.h"
#include "fcgi/uploads.h"

enum { HOUR_MS = 3600 * 1000 };
enum { WAITING_MAX = 1000, KEY_BYTES = 24, AHEAD_MS = 366 * 24 * 3600 };	/* of a tenant; AHEAD in s */

struct input { const char *source, *url, *stream_key, *passphrase; bool is_primary; struct moment connected_at; };
static const struct field input_fields[] = {
	FIELD(struct input, source,       .on = SERVER, .required = true, .one_of = "rtmp srt", .doc = "How the encoder sends"),
	FIELD(struct input, url,          .on = SERVER, .required = true, .format = "uri",
	    .doc = "Where it sends to. Of srt the stream key and the pass phrase are in it already"),
	FIELD(struct input, stream_key,   .on = SERVER, .required = true, .doc = "Whoever has it may send"),
	FIELD(struct input, passphrase,   .on = SERVER | OMIT_NULL, .doc = "Of srt: it encrypts what is sent"),
	FIELD(struct input, is_primary,   .on = SERVER, .json = "primary", .doc = "false: it takes over when the first one falls silent"),
	FIELD(struct input, connected_at, .on = SERVER | OMIT_NULL, .doc = "Since when an encoder is connected"),
};
static const struct record input_record = RECORD("LivestreamInput", struct input, input_fields);

struct playout { const char *type, *url; };
static const struct field playout_fields[] = {
	FIELD(struct playout, type, .on = SERVER, .required = true, .one_of = "hls page", .doc = "A playlist for players, or a page to watch it on"),
	FIELD(struct playout, url,  .on = SERVER, .required = true, .format = "uri", .doc = "Its address"),
};
static const struct record playout_record = RECORD("LivestreamPlayout", struct playout, playout_fields);

struct refusal { struct moment at; const char *address, *reason; };
static const struct field refusal_fields[] = {
	FIELD(struct refusal, at,      .on = SERVER, .required = true, .doc = "When"),
	FIELD(struct refusal, address, .on = SERVER, .required = true, .doc = "From where it came"),
	FIELD(struct refusal, reason,  .on = SERVER, .required = true, .one_of = LIVESTREAM_REFUSALS,
	    .doc = "application = the address that it calls has another end; oldKey = its key was changed; "
	    "passphrase = it has the key, and not its pass phrase; notStarted, over = the stream takes nothing; "
	    "busy = another one is sending; format = nothing that can be played; bitrate = more than the tenant "
	    "allows; unavailable = our fault"),
};
static const struct record refusal_record = RECORD("LivestreamRefusal", struct refusal, refusal_fields);

struct broadcast {
	struct uuid id, media_id;
	const char *name, *description, *status, *failure, *left_out, *source, *ladder;
	const char *captions_language_code, *captions;
	struct ids channel_ids;
	bool with_dvr, has_signal;
	struct strings transcript_language_codes;
	struct list inputs, playouts;
	const char *playlist_url;
	struct nested last_refusal;
	struct moment starts_at, started_at, published_at, live_at, interrupted_at, finished_at, created_at, updated_at;
	int64_t version;
	struct uuid tenant_id, principal_id, share_channel_id;
	const char *playlist_file, *refused_address, *refused_reason;
	struct moment refused_at;
};
static const struct field broadcast_fields[] = {
	FIELD(struct broadcast, id,           .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct broadcast, media_id,     .on = SERVER, .required = true, .doc = "The asset that it becomes: its name, description and channels "
	    "are those of the livestream"),
	FIELD(struct broadcast, name,         .on = CREATE | PATCH, .sql = "a.name", .required = true, .min = 1, .max = 255, .doc = "Shown to people"),
	FIELD(struct broadcast, description,  .on = CREATE | PATCH | MULTILINE, .sql = "a.description", .max = 5000, .doc = "Shown to people"),
	FIELD(struct broadcast, channel_ids,  .on = CREATE | PATCH, .sql = "a.channel_ids", .min = 1, .max = 100,
	    .doc = "Channels that it is in, as far as the caller sees them; in the body none: the default one of the "
	    "tenant"),
	FIELD(struct broadcast, source,       .on = CREATE, .one_of = "rtmp srt", .preset = "\"rtmp\"", .doc = "How the encoder sends"),
	FIELD(struct broadcast, with_dvr,     .on = CREATE | PATCH, .preset = "false", .doc = "Can viewers go back to its beginning while it lasts? "
	    "Set before it is started"),
	FIELD(struct broadcast, transcript_language_codes, .on = CREATE, .sql = "a.transcript_language_codes", .max = 10,
	    .doc = "Languages to transcribe when it is over: BCP 47 tags, translate-en, or auto; left out: those "
	    "of the tenant's settings"),
	FIELD(struct broadcast, captions_language_code, .on = CREATE | PATCH | OMIT_NULL, .min = 2, .max = 35,
	    .doc = "Language of captions that are made while it lasts: a BCP 47 tag, translate-en, or auto; null: "
	    "there are none. Set before it is started, where the server makes them"),
	FIELD(struct broadcast, starts_at,    .on = CREATE | PATCH | SORT | OMIT_NULL, .key = "by_tenant_start",
	    .doc = "When it is to begin: pages count down to it, and then it is started and published by itself"),
	FIELD(struct broadcast, status,       .on = SERVER | FILTER, .required = true, .one_of = LIVESTREAM_STATES,
	    .doc = "starting: no server has taken it yet; waitingForSignal: encoders may send, and what comes is "
	    "recorded; live: viewers see it; interrupted: nothing comes; finishing: the recording is put together; "
	    "finished: it is the asset"),
	FIELD(struct broadcast, failure,      .on = SERVER | OMIT_NULL, .one_of = LIVESTREAM_FAILURES,
	    .doc = "Why it ended: duration = it lasted as long as it may; idle = nothing came for a day; empty = "
	    "nothing was recorded; damaged = the recording cannot be read"),
	FIELD(struct broadcast, left_out,     .on = SERVER | OMIT_NULL, .max = 500,
	    .doc = "What of the recording the asset does not have, and why; all that was recorded is kept, and counts "
	    "in the quota, until the livestream or its asset is deleted for good"),
	FIELD(struct broadcast, has_signal,   .on = SERVER, .doc = "Does anything come in, be it published or not?"),
	FIELD(struct broadcast, ladder,       .on = SERVER | OMIT_NULL, .sql = "IF(t.has_signal, t.ladder, NULL)",
	    .one_of = LIVESTREAM_LACKS, .doc = "Why not all smaller pictures of it are made now: off = by the "
	    "settings; small = it needs none; busy, overloaded = the machine had no time when it began, or has none by "
	    "now; failed = FFmpeg does not work"),
	FIELD(struct broadcast, captions,     .on = SERVER | OMIT_NULL, .one_of = LIVESTREAM_CAPTIONS,
	    .doc = "How it goes with its captions: waiting = nobody makes them yet; running = they are made; behind = "
	    "a stretch was left out, since the engine is slower than the speech; unavailable = its server does not answer, "
	    "or may cost no more now; failed = the engine cannot do it; off = by the settings"),
	FIELD(struct broadcast, inputs,       .on = COMPUTED | DETAIL | OMIT_NULL, .of = &input_record,
	    .doc = "Where encoders send; for those alone who may change it, and not in lists"),
	FIELD(struct broadcast, playouts,     .on = COMPUTED, .required = true, .of = &playout_record, .doc = "Where it can be watched"),
	FIELD(struct broadcast, playlist_url, .on = COMPUTED | OMIT_NULL, .format = "uri",
	    .doc = "Signed HLS playlist, as soon as it is published and something has come; before that for those who "
	    "may change it"),
	FIELD(struct broadcast, last_refusal, .on = COMPUTED | DETAIL | OMIT_NULL, .of = &refusal_record,
	    .doc = "The last encoder that was refused; for those alone who may change it, and not in lists"),
	FIELD(struct broadcast, started_at,   .on = SERVER | OMIT_NULL, .doc = "When it was started"),
	FIELD(struct broadcast, published_at, .on = SERVER | OMIT_NULL, .doc = "When it was published"),
	FIELD(struct broadcast, live_at,      .on = SERVER | OMIT_NULL, .doc = "When pictures or sound came first; the recording begins there"),
	FIELD(struct broadcast, interrupted_at, .on = SERVER | OMIT_NULL, .doc = "Since when nothing comes"),
	FIELD(struct broadcast, finished_at,  .on = SERVER | OMIT_NULL, .doc = "When it was stopped"),
	FIELD(struct broadcast, created_at,   .on = SERVER | SORT, .key = "by_tenant_created", .required = true, .doc = "When it was made"),
	FIELD(struct broadcast, updated_at,   .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct broadcast, version,      .on = SERVER | HIDDEN, .doc = "Grows with each change"),
	FIELD(struct broadcast, tenant_id,    .on = SERVER | HIDDEN, .doc = "The tenant"),
	FIELD(struct broadcast, principal_id, .on = SERVER | HIDDEN, .doc = "Who made it"),
	FIELD(struct broadcast, share_channel_id, .on = HIDDEN, .sql = "a.share_channel_id", .doc = "Of the asset"),
	FIELD(struct broadcast, playlist_file, .on = HIDDEN, .sql = "a.playlist_file", .doc = "Of the asset, when it is ready"),
	FIELD(struct broadcast, refused_at,   .on = HIDDEN, .doc = "The last refusal"),
	FIELD(struct broadcast, refused_address, .on = HIDDEN, .doc = "From where"),
	FIELD(struct broadcast, refused_reason, .on = HIDDEN, .doc = "And why"),
};
static const struct record broadcast_record = RECORD("Livestream", struct broadcast, broadcast_fields);

#define BROADCASTS "FROM livestreams t JOIN media a ON a.id = t.media_id WHERE "
const struct object livestream_object = {
	.path = "/v2/livestreams/{livestreamId}", .reach = REACH_BELOW_MEDIA, .record = &broadcast_record,
	.from = BROADCASTS "t.id = ?",
};

struct sealed { const char *text; bool is_primary; struct moment connected_at; };
static const struct field sealed_fields[] = {
	FIELD(struct sealed, text, .sql = "t.key_sealed", .doc = "The key"),
	FIELD(struct sealed, is_primary, .doc = "Of the first address"),
	FIELD(struct sealed, connected_at, .doc = "Since when an encoder is connected"),
};
static const struct record sealed_record = RECORD("SealedStreamKey", struct sealed, sealed_fields);

static bool
is_in(const char *status, const char *states)
{
	return word_in(states, status, strlen(status));
}

static bool
may_write(struct req *r, const struct broadcast *b)
{
	return (access_by(r, &b->channel_ids) & r->who->scopes & SCOPE_BIT(SCOPE_CREATE_CONTENT)) != 0;
}

/* ":443" of the first of "host:port,…". */
static const char *
first_port(struct req *r, const char *listen)
{
	const char *colon = strrchr(arena_printf(r->mem, "%.*s", (int)strcspn(listen, ","), listen), ':');

	return colon != NULL ? colon : "";
}

/* Of what pages and clients call us by; how long it is. */
static int
public_host(const struct req *r, const char **host)
{
	*host = strstr(r->conf->public_url, "://") + 3;
	return (int)((*host)[0] == '[' ? strcspn(*host, "]") + 1 : strcspn(*host, ":"));
}

/* srt://{host} with the port that is listened at, unless the settings name another place.  NULL: no SRT is taken. */
static const char *
srt_url(struct req *r, bool is_primary)
{
	const char *host;
	const int n = public_host(r, &host);

	if (!is_primary && r->conf->live_srt_second_url != NULL)
		return r->conf->live_srt_second_url;
	if (r->conf->live_srt_url != NULL || r->conf->live_srt_listen == NULL)
		return r->conf->live_srt_url;
	return arena_printf(r->mem, "srt://%.*s%s", n, host, first_port(r, r->conf->live_srt_listen));
}

/* rtmp://{host}/live, or by TLS where that is taken, unless the settings name another place. */
static const char *
rtmp_url(struct req *r, bool is_primary)
{
	const char *url = is_primary || r->conf->live_second_url == NULL ? r->conf->live_url : r->conf->live_second_url;
	const char *host, *tls = r->conf->live_rtmps_listen;
	const int n = public_host(r, &host);

	if (url != NULL)
		return url;
	if (tls == NULL)
		return arena_printf(r->mem, "rtmp://%.*s/live", n, host);
	return arena_printf(r->mem, "rtmps://%.*s%s/live", n, host, first_port(r, tls));
}

static const char *
input_url(struct req *r, const char *source, const char *key, bool is_primary)
{
	const char *url;

	if (strcmp(source, "srt") != 0)
		return rtmp_url(r, is_primary);
	url = srt_url(r, is_primary);
	return arena_printf(r->mem, "%s?streamid=%s&passphrase=%s&pbkeylen=32", url != NULL ? url : "", key,
	    livestream_phrase(r->conf, r->mem, key));
}

/* A key that cannot be read, since the key file is another one, is left out: rotating mends it. */
static struct list
inputs_of(struct req *r, const struct broadcast *b)
{
	size_t n, i;
	const struct sealed *s = db_rows(r->db, &sealed_record, "FROM livestream_inputs t WHERE t.livestream_id = ? "
	    "ORDER BY t.is_primary DESC", ARGS(ID(b->id)), &n);
	struct input *in = arena_array(r->mem, n + 1, sizeof(*in));
	struct list list = { in, 0 };
	unsigned char *bytes;
	long size;

	for (i = 0; i < n; i++) {
		size = unseal(r->conf, r->mem, LIVESTREAM_KEY_PURPOSE, s[i].text, &bytes);
		if (size < 0)
			continue;
		in[list.n] = (struct input){ .source = b->source, .is_primary = s[i].is_primary,
		    .connected_at = s[i].connected_at,
		    .stream_key = arena_copy_n(r->mem, (const char *)bytes, (size_t)size) };
		if (strcmp(b->source, "srt") == 0)
			in[list.n].passphrase = livestream_phrase(r->conf, r->mem, in[list.n].stream_key);
		in[list.n].url = input_url(r, b->source, in[list.n].stream_key, s[i].is_primary);
		list.n++;
	}
	return list;
}

/* Pages of what is in private channels alone need a signature. */
static const char *
page_url(struct req *r, const struct broadcast *b, const struct list *channels)
{
	const struct channel_view *c = channels->rows;
	const char *id = uuid_text(r->mem, b->media_id);
	char token[PAGE_TOKEN_MAX];
	size_t i;

	for (i = 0; i < channels->n; i++)
		if (strcmp(c[i].visibility, "private") != 0)
			return arena_printf(r->mem, "%s/watch/%s", r->conf->public_url, id);
	return arena_printf(r->mem, "%s/watch/%s?t=%s", r->conf->public_url, id, page_token(r->conf, b->media_id,
	    r->now, token));
}

/* The recording, as soon as it plays; before that what is sent, to who may see it. */
static const char *
playlist_of(struct req *r, const struct broadcast *b, bool writes)
{
	if (b->playlist_file != NULL)
		return b->playlist_file;
	if (b->live_at.ms == 0 || (b->published_at.ms == 0 && !writes) || strcmp(b->status, "failed") == 0)
		return NULL;
	return livestream_play_file(r->mem, r->conf, b->id, LIVESTREAM_LOW_PLAYLIST);
}

static void
broadcast_view(struct req *r, struct broadcast *b, bool brief)
{
	const bool writes = may_write(r, b);
	const char *file = playlist_of(r, b, writes);
	const struct list channels = access_visible(r, &b->channel_ids);
	const struct channel_view *c = channels.rows;
	struct playout *p = arena_array(r->mem, 2, sizeof(*p));
	char prefix[PLAY_PREFIX_MAX];
	size_t i;

	if (file != NULL) {
		b->playlist_url = arena_printf(r->mem, "%s%s", play_prefix(r->conf, b->media_id, r->now, prefix), file);
		p[b->playouts.n++] = (struct playout){ "hls", b->playlist_url };
	}
	p[b->playouts.n++] = (struct playout){ "page", page_url(r, b, &channels) };
	b->playouts.rows = p;
	b->channel_ids = (struct ids){ arena_array(r->mem, channels.n + 1, sizeof(*b->channel_ids.at)), channels.n };
	for (i = 0; i < channels.n; i++)
		b->channel_ids.at[i] = c[i].id;
	if (b->transcript_language_codes.at == NULL)
		b->transcript_language_codes.at = arena_array(r->mem, 1, sizeof(*b->transcript_language_codes.at));
	if (brief || !writes)
		return;
	b->inputs = inputs_of(r, b);
	r->cache_control = "no-store";
	if (b->refused_at.ms != 0 && b->refused_address != NULL) {
		struct refusal *last = NEW(r->mem, struct refusal);

		*last = (struct refusal){ b->refused_at, b->refused_address, b->refused_reason };
		b->last_refusal.row = last;
	}
}

static int
broadcast_reply(struct req *r, int status, struct broadcast *b)
{
	if (b == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	broadcast_view(r, b, false);
	r->etag = reply_tag(r, &broadcast_record, b);
	return status == 201 ? reply_created(r, &broadcast_record, b, b->id) : reply(r, status, &broadcast_record, b);
}

#define SEEN BROADCASTS "t.tenant_id = ? AND a.deleted_at = 0"

static int
livestreams_list(struct req *r)
{
	struct broadcast *rows;
	size_t n, i;

	if (r->audience->everywhere & SCOPE_BIT(SCOPE_VIEW_CHANNEL))
		rows = db_list(r->db, &broadcast_record, SEEN, ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &broadcast_record, SEEN " AND EXISTS (SELECT 1 FROM media t WHERE t.id = a.id "
		    "AND " ACCESS_VIEW_SQL ")", ARGS(ID(r->who->tenant_id), ID(r->who->id), ID(r->who->id),
		    STR(role_names(r->mem, SCOPE_VIEW_CHANNEL))), &r->page, &n);
	for (i = 0; i < n; i++)
		broadcast_view(r, &rows[i], true);
	return reply_list(r, &broadcast_record, rows, n);
}

static int
livestream_get_one(struct req *r)
{
	return broadcast_reply(r, 200, r->object);
}

/* A new key for an input; of one that had another, the old one is remembered by its hash. */
static void
set_key(struct req *r, struct uuid id, bool is_primary)
{
	unsigned char bytes[KEY_BYTES];
	const char *key, *sealed;

	random_bytes(bytes, sizeof(bytes));
	key = base64url_encode(r->mem, bytes, sizeof(bytes));
	sealed = seal(r->conf, r->mem, LIVESTREAM_KEY_PURPOSE, key, strlen(key));
	db_run(r->db, "INSERT INTO livestream_inputs (livestream_id, is_primary, key_hash, key_sealed) VALUES (?, ?, "
	    "UNHEX(?), ?) ON DUPLICATE KEY UPDATE hash_before = key_hash, key_hash = VALUES(key_hash), key_sealed = "
	    "VALUES(key_sealed)", ARGS(ID(id), INT(is_primary), STR(livestream_key_hash(r->mem, key)), STR(sealed)));
}

/* The channels of a new one, each once.  False: refused. */
static bool
channels_meant(struct req *r, const struct ids *given, struct ids *out)
{
	const struct ids none = { NULL, 0 };
	struct uuid home;

	if (given->n == 0) {
		home = upload_channel(r, (struct uuid){ { 0 } }, "/channelIds");
		*out = (struct ids){ arena_array(r->mem, 1, sizeof(*out->at)), 1 };
		out->at[0] = home;
		return !r->refused;
	}
	if (!media_may_move(r, &none, given))
		return false;
	*out = media_channels_meant(r, &none, given);
	return true;
}

static void
check_start(struct req *r, struct moment at)
{
	if (at.ms != 0 && at.ms <= r->now.ms)
		fault(r, "/startsAt", "too_small", "a time to come is wanted");
	else if (at.ms > r->now.ms + AHEAD_MS * INT64_C(1000))
		fault(r, "/startsAt", "too_large", "it must not begin in more than a year");
}

/* Nobody is to find out while it lasts that there are none. */
static void
check_captions(struct req *r, struct broadcast *b)
{
	static const char member[] = "/captionsLanguageCode";
	const struct conf *conf = engines_conf(r->db, r->conf, r->who->tenant_id);

	if (b->captions_language_code == NULL)
		return;
	b->captions_language_code = spoken_plain(r->mem, b->captions_language_code);
	if (!asset_language_fits(b->captions_language_code))
		fault(r, member, "format", "a BCP 47 tag is wanted, for example en or de-CH, or translate-en");
	else if (!conf->live_captions || strcmp(conf->engine[ENGINE_transcribe].name, "none") == 0)
		fault(r, member, "not_allowed", "this server makes no captions of livestreams; its operator sets "
		    "live.captions and engine.transcribe, and the setting engines of the tenant may choose none");
	else if (!spoken_known(conf, b->captions_language_code))
		fault(r, member, "not_allowed", "the engine of this server does not know this language");
}

static void
make_asset(struct req *r, const struct broadcast *b, const struct ids *channels)
{
	const struct strings *codes = &b->transcript_language_codes;
	struct buf json = BUF(r->mem);
	size_t i;

	for (i = 0; i < codes->n; i++) {
		buf_char(&json, i > 0 ? ',' : '[');
		buf_json(&json, codes->at[i]);
	}
	buf_text(&json, codes->n > 0 ? "]" : "[]");
	db_run(r->db, "INSERT INTO media (id, tenant_id, type, name, description, language_code, "
	    "transcript_language_codes, "
	    "original_file_name, mime_type, file_size, sha256, created_by_id, created_by_name, created_at, updated_at) SELECT "
	    "?, ?, 'video', ?, ?, ?, ?, 'livestream.mp4', 'video/mp4', 0, REPEAT(CHAR(0), 32), p.id, p.name, ?, ? FROM "
	    "principals p WHERE p.id = ?", ARGS(ID(b->media_id), ID(r->who->tenant_id), STR(b->name), STR(b->description),
	    STR(codes->n > 0 && spoken_names(codes->at[0]) ? codes->at[0] : NULL),
	    STR(codes->at != NULL ? buf_string(&json) : NULL), TIME(r->now), TIME(r->now), ID(r->who->id)));
	if (media_set_channels(r, b->media_id, channels))
		asset_summarise(r->db, b->media_id, SUM_TAGS);
}

static int
livestream_create(struct req *r)
{
	struct broadcast *b = r->in;
	struct ids channels;

	if (b->source == NULL)
		b->source = "rtmp";
	if (strcmp(b->source, "srt") == 0 && srt_url(r, true) == NULL)
		fault(r, "/source", "not_allowed", "this server takes no SRT; its operator sets live.srt_listen");
	check_start(r, b->starts_at);
	check_captions(r, b);
	asset_check_languages(r, "transcriptLanguageCodes", &b->transcript_language_codes);
	asset_languages(r->db, r->who->tenant_id, &b->transcript_language_codes);
	if (!channels_meant(r, &b->channel_ids, &channels))
		return r->status;
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (db_number(r->db, "SELECT COUNT(*) FROM livestreams WHERE tenant_id = ? AND status = 'created'",
	    ARGS(ID(r->who->tenant_id)), 0) >= WAITING_MAX)
		return refuse(r, ERR_TOO_MANY_LIVESTREAMS, NULL);
	b->id = uuid_new();
	b->media_id = uuid_new();
	make_asset(r, b, &channels);
	if (r->refused)
		return r->status;
	db_run(r->db, "INSERT INTO livestreams (id, tenant_id, media_id, principal_id, source, with_dvr, "
	    "captions_language_code, starts_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ARGS(ID(b->id), ID(r->who->tenant_id),
	    ID(b->media_id), ID(r->who->id), STR(b->source), INT(b->with_dvr),
	    STR(b->captions_language_code), TIME(b->starts_at), TIME(r->now), TIME(r->now)));
	set_key(r, b->id, true);
	set_key(r, b->id, false);
	event(r, b->media_id, "media.created", arena_printf(r->mem, "{\"mediaId\":\"%s\"}", uuid_text(r->mem,
	    b->media_id)));
	b = db_row(r->db, &broadcast_record, BROADCASTS "t.id = ?", ARGS(ID(b->id)));
	usage_add(r->db, r->who->tenant_id, 1, 0);
	return broadcast_reply(r, 201, b);
}

/* Pages that show it ask anew. */
static void
tell(struct req *r, const struct broadcast *b)
{
	event(r, b->media_id, "livestream.updated", livestream_event(r->mem, b->id, b->media_id, b->status));
}

static void
check_change(struct req *r, const struct broadcast *b, struct broadcast *would, uint64_t changed)
{
	if (changed & record_bit(&broadcast_record, "captions_language_code")) {
		if (strcmp(b->status, "created") != 0)
			fault(r, "/captionsLanguageCode", "not_allowed", "it is started already");
		else
			check_captions(r, would);
	}
	if (changed & record_bit(&broadcast_record, "starts_at")) {
		if (b->published_at.ms != 0 || b->finished_at.ms != 0)
			fault(r, "/startsAt", "not_allowed", "it is published already, or over");
		else
			check_start(r, would->starts_at);
	}
	if (changed & record_bit(&broadcast_record, "with_dvr") && strcmp(b->status, "created") != 0)
		fault(r, "/withDvr", "not_allowed", "it is started already");
}

/* What is the asset's is told as a change of the asset. */
static void
change_asset(struct req *r, const struct broadcast *b, const struct broadcast *would, bool name, bool description,
    bool channels)
{
	struct buf modified = BUF(r->mem);

	if (!name && !description && !channels)
		return;
	db_run(r->db, "UPDATE media SET name = ?, description = ?, version = version + 1, updated_at = ? WHERE id = ? "
	    "AND tenant_id = ?", ARGS(STR(would->name), STR(would->description), TIME(r->now), ID(b->media_id),
	    ID(r->who->tenant_id)));
	if (name)
		buf_text(&modified, ",\"name\"");
	if (description)
		buf_text(&modified, ",\"description\"");
	if (channels)
		buf_text(&modified, ",\"channels\"");
	event(r, b->media_id, "media.updated", arena_printf(r->mem, "{\"modified\":[%s]}", buf_string(&modified) + 1));
}

static int
livestream_patch(struct req *r)
{
	const struct broadcast *b = r->object;
	struct broadcast *would = patched(r);
	const uint64_t name = record_bit(&broadcast_record, "name"), description = record_bit(&broadcast_record,
	    "description"), channels = record_bit(&broadcast_record, "channel_ids");
	const struct ids given = media_channels_without(r, &would->channel_ids, b->share_channel_id);
	uint64_t changed;

	if (r->given & channels && given.n == 0)
		fault(r, "/channelIds", "length", "name at least one channel");
	if (r->given & channels && !media_may_move(r, &b->channel_ids, &given))
		return r->status;
	if (r->given & channels)
		would->channel_ids = media_channels_meant(r, &b->channel_ids, &given);
	changed = record_differs(r->mem, &broadcast_record, b, would, r->given);
	check_change(r, b, would, changed);
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (changed == 0)
		return broadcast_reply(r, 200, r->object);
	if (changed & channels && !media_set_channels(r, b->media_id, &would->channel_ids))
		return r->status;
	change_asset(r, b, would, changed & name, changed & description, changed & channels);
	changed &= ~(name | description | channels);
	db_update(r->db, "livestreams", &broadcast_record, would, changed, b->id);
	if (changed != 0)
		tell(r, b);
	return broadcast_reply(r, 200, object_again(r));
}

/* What nothing was recorded of has no asset worth keeping. */
static int
livestream_delete(struct req *r)
{
	const struct broadcast *b = r->object;
	const bool is_bare = db_number(r->db, "SELECT file_size = 0 FROM media WHERE id = ?", ARGS(ID(b->media_id)),
	    0) == 1;
	int64_t kept, bytes;

	if (is_in(b->status, "starting waitingForSignal live interrupted finishing"))
		return refuse(r, ERR_LIVESTREAM_RUNNING, NULL);
	kept = -livestream_recorded(r->db, b->id, 0);
	db_run(r->db, "DELETE FROM livestreams WHERE id = ? AND tenant_id = ?", ARGS(ID(b->id), ID(r->who->tenant_id)));
	if (is_bare) {
		bytes = media_delete_one(r, b->media_id, &b->channel_ids, true);
		usage_add(r->db, r->who->tenant_id, -1, -bytes - kept);
	} else {
		tell(r, b);
		if (b->left_out != NULL)
			livestream_purge(r->db, b->tenant_id, b->media_id);
		usage_add(r->db, r->who->tenant_id, 0, -kept);
	}
	return reply_deleted(r, b->id, true);
}

/* Those who start at the same time do so one after the other.  False: refused. */
static bool
has_room(struct req *r)
{
	const struct arg tenant = ID(r->who->tenant_id);

	db_number(r->db, "SELECT 1 FROM tenant_usage WHERE tenant_id = ? FOR UPDATE", ARGS(tenant), 0);
	if (db_number(r->db, "SELECT COUNT(*) >= (SELECT n.livestreams_open FROM tenants n WHERE n.id = ?) FROM "
	    "livestreams WHERE tenant_id = ? AND status IN ('starting', 'waitingForSignal', 'live', 'interrupted')",
	    ARGS(tenant, tenant), 0) == 1) {
		refuse(r, ERR_TOO_MANY_LIVESTREAMS, "So many livestreams are started already. Stop one first.");
		return false;
	}
	if (db_number(r->db, "SELECT n.storage_quota IS NOT NULL AND n.storage_quota <= u.storage_used FROM tenants n "
	    "JOIN tenant_usage u ON u.tenant_id = n.id WHERE n.id = ?", ARGS(tenant), 0) == 1) {
		refuse(r, ERR_NO_SPACE, "The storage quota of the tenant has no room for a recording.");
		return false;
	}
	return true;
}

static int
livestream_started(struct req *r)
{
	const struct broadcast *b = r->object;

	if (is_in(b->status, "finishing finished failed"))
		return refuse(r, ERR_LIVESTREAM_OVER, NULL);
	if (strcmp(b->status, "created") != 0)
		return broadcast_reply(r, 200, r->object);
	if (!has_room(r))
		return r->status;
	livestream_start(r->db, b->id);
	return broadcast_reply(r, 200, object_again(r));
}

static int
livestream_published(struct req *r)
{
	const struct broadcast *b = r->object;

	if (is_in(b->status, "finishing finished failed"))
		return refuse(r, ERR_LIVESTREAM_OVER, NULL);
	if (strcmp(b->status, "created") == 0)
		return refuse(r, ERR_LIVESTREAM_NOT_STARTED, NULL);
	if (b->published_at.ms == 0)
		livestream_publish(r->db, b->id);
	return broadcast_reply(r, 200, object_again(r));
}

static int
livestream_stopped(struct req *r)
{
	const struct broadcast *b = r->object;

	livestream_stop(r->db, b->id, NULL);
	return broadcast_reply(r, 200, object_again(r));
}

static int
livestream_rotated(struct req *r)
{
	const struct broadcast *b = r->object;

	if (is_in(b->status, "finishing finished failed"))
		return refuse(r, ERR_LIVESTREAM_OVER, NULL);
	set_key(r, b->id, true);
	set_key(r, b->id, false);
	db_run(r->db, "UPDATE livestreams SET version = version + 1, updated_at = ? WHERE id = ?", ARGS(TIME(r->now),
	    ID(b->id)));
	audit(r, "livestream.rotated", b->id, NULL);
	return broadcast_reply(r, 200, object_again(r));
}

struct counts { int64_t rtmp_connections, hls_connections, hls_peak, bytes_received, bitrate, dropped_frames; };
static const struct field counts_fields[] = {
	FIELD(struct counts, rtmp_connections, .on = SERVER, .required = true, .doc = "Encoders that are connected, of whichever source"),
	FIELD(struct counts, hls_connections,  .on = SERVER, .required = true, .doc = "Players seen within ten seconds; nobody is told apart by address"),
	FIELD(struct counts, hls_peak,         .on = SERVER, .required = true, .doc = "The most players at one time"),
	FIELD(struct counts, bytes_received,   .on = SERVER, .required = true, .doc = "Since it began, by the servers that tell now"),
	FIELD(struct counts, bitrate,          .on = SERVER, .required = true, .doc = "bit/s that come in, over ten seconds"),
	FIELD(struct counts, dropped_frames,   .on = SERVER, .required = true, .doc = "Frames that were not made smaller for want of time, or fit nowhere"),
};
static const struct record counts_record = RECORD("LivestreamCounts", struct counts, counts_fields);

struct point_counts { int64_t rtmp_connections, hls_connections; };
static const struct field point_counts_fields[] = {
	FIELD(struct point_counts, rtmp_connections, .on = SERVER, .required = true, .doc = "Encoders, at most"),
	FIELD(struct point_counts, hls_connections,  .on = SERVER, .required = true, .doc = "Players, at most"),
};
static const struct record point_counts_record = RECORD("LivestreamPointCounts", struct point_counts,
    point_counts_fields);

struct point { struct moment at; struct nested primary, secondary, sum; };
static const struct field point_fields[] = {
	FIELD(struct point, at,        .on = SERVER, .required = true, .doc = "Beginning of the minute"),
	FIELD(struct point, primary,   .on = SERVER, .required = true, .of = &point_counts_record, .doc = "Of the first address"),
	FIELD(struct point, secondary, .on = SERVER, .required = true, .of = &point_counts_record, .doc = "Of the second one"),
	FIELD(struct point, sum,       .on = SERVER, .required = true, .of = &point_counts_record, .doc = "Of both"),
};
static const struct record point_record = RECORD("LivestreamPoint", struct point, point_fields);

struct period { struct moment from, to; };
static const struct field period_fields[] = {
	FIELD(struct period, from, .on = QUERY, .doc = "Points from this moment on; without it those of the last hour before the other one"),
	FIELD(struct period, to,   .on = QUERY, .doc = "And up to that one, a day later at most; without it up to now"),
};
static const struct record period_record = RECORD("LivestreamPeriod", struct period, period_fields);

static const struct field incoming_fields[] = {
	FIELD(struct livestream_incoming, video_codec,    .on = SERVER | OMIT_NULL, .doc = "By RFC 6381; absent: no pictures"),
	FIELD(struct livestream_incoming, width,          .on = SERVER, .required = true, .doc = "Pixels"),
	FIELD(struct livestream_incoming, height,         .on = SERVER, .required = true, .doc = "Pixels"),
	FIELD(struct livestream_incoming, frame_rate,     .on = SERVER, .required = true, .doc = "Pictures a second, as they came over two seconds; "
	    "0: not known yet, or none come any more"),
	FIELD(struct livestream_incoming, interlaced,     .on = SERVER, .required = true, .doc = "They may be of two half-pictures each: the first "
	    "rendition has them as they come, smaller ones whole ones"),
	FIELD(struct livestream_incoming, audio_codec,    .on = SERVER | OMIT_NULL, .doc = "By RFC 6381; absent: no sound"),
	FIELD(struct livestream_incoming, sample_rate,    .on = SERVER, .required = true, .doc = "Hz"),
	FIELD(struct livestream_incoming, audio_channels, .on = SERVER, .required = true, .doc = "Of its sound"),
};
static const struct record incoming_record = RECORD("LivestreamIncoming", struct livestream_incoming, incoming_fields);

struct statistics { struct moment from, to; struct list points; struct nested primary, secondary, sum, incoming; };
static const struct field statistics_fields[] = {
	FIELD(struct statistics, from,      .on = SERVER, .required = true, .doc = "Of the points"),
	FIELD(struct statistics, to,        .on = SERVER, .required = true, .doc = "Of the points"),
	FIELD(struct statistics, points,    .on = SERVER, .required = true, .of = &point_record, .doc = "One a minute in which a server has told "
	    "anything, kept for 30 days"),
	FIELD(struct statistics, primary,   .on = SERVER, .required = true, .of = &counts_record, .doc = "Of the first address, and of viewers who "
	    "see what comes there"),
	FIELD(struct statistics, secondary, .on = SERVER, .required = true, .of = &counts_record, .doc = "Of the second address"),
	FIELD(struct statistics, sum,       .on = SERVER, .required = true, .of = &counts_record, .doc = "Of both"),
	FIELD(struct statistics, incoming,  .on = SERVER, .of = &incoming_record, .doc = "What comes in and is on the air; null: nothing"),
};
static const struct record statistics_record = RECORD("LivestreamStatistics", struct statistics, statistics_fields);

static const struct field numbers_fields[] = {
	FIELD(struct livestream_numbers, is_primary, .doc = "Which input its viewers see"),
	FIELD(struct livestream_numbers, rtmp_primary, .doc = "Encoders"),
	FIELD(struct livestream_numbers, rtmp_secondary, .doc = "Encoders"),
	FIELD(struct livestream_numbers, viewers, .doc = "Players"),
	FIELD(struct livestream_numbers, peak, .doc = "Players"),
	FIELD(struct livestream_numbers, bytes_in, .doc = "Bytes"),
	FIELD(struct livestream_numbers, bitrate, .doc = "bit/s"),
	FIELD(struct livestream_numbers, dropped, .doc = "Frames"),
};
static const struct record numbers_record = RECORD("LivestreamNumbers", struct livestream_numbers, numbers_fields);

static void
count(struct counts *c, const struct livestream_numbers *n, int64_t encoders)
{
	c->rtmp_connections += encoders;
	if (n == NULL)
		return;
	c->hls_connections += n->viewers;
	c->hls_peak += n->peak;
	c->bytes_received += n->bytes_in;
	c->bitrate += n->bitrate;
	c->dropped_frames += n->dropped;
}

/* What nodes have told lately: primary, secondary, sum. */
static struct counts *
counts_of(struct req *r)
{
	struct counts *all = arena_array(r->mem, 3, sizeof(*all));
	const struct livestream_numbers *t;
	size_t n, i;

	t = db_rows(r->db, &numbers_record, "FROM livestream_nodes t WHERE t.livestream_id = ? AND t.told_at > "
	    SQL_NOW " - ?", ARGS(ID(r->id[0]), INT(LIVESTREAM_COUNTED_MS)), &n);
	for (i = 0; i < n; i++) {
		count(&all[0], t[i].is_primary ? &t[i] : NULL, t[i].rtmp_primary);
		count(&all[1], t[i].is_primary ? NULL : &t[i], t[i].rtmp_secondary);
		count(&all[2], &t[i], t[i].rtmp_primary + t[i].rtmp_secondary);
	}
	return all;
}

/* As its holder has told lately.  NULL: nothing. */
static struct livestream_incoming *
incoming_of(struct req *r)
{
	return db_row(r->db, &incoming_record, "FROM livestream_nodes t JOIN livestreams l "
	    "ON l.id = t.livestream_id AND l.holder = t.node WHERE t.livestream_id = ? AND t.told_at > " SQL_NOW " - ? AND "
	    "(t.video_codec IS NOT NULL OR t.audio_codec IS NOT NULL)", ARGS(ID(r->id[0]), INT(LIVESTREAM_COUNTED_MS)));
}

struct minute { struct moment at; int64_t rtmp_primary, rtmp_secondary, hls_primary, hls_secondary; };
static const struct field minute_fields[] = {
	FIELD(struct minute, at, .doc = "Its beginning"),
	FIELD(struct minute, rtmp_primary, .sql = "SUM(t.rtmp_primary)", .doc = "Encoders"),
	FIELD(struct minute, rtmp_secondary, .sql = "SUM(t.rtmp_secondary)", .doc = "Encoders"),
	FIELD(struct minute, hls_primary, .sql = "SUM(IF(t.is_primary, t.viewers, 0))", .doc = "Players"),
	FIELD(struct minute, hls_secondary, .sql = "SUM(IF(t.is_primary, 0, t.viewers))", .doc = "Players"),
};
static const struct record minute_record = RECORD("LivestreamMinute", struct minute, minute_fields);

static struct list
points_of(struct req *r, const struct period *p)
{
	size_t n, i;
	const struct minute *m = db_rows(r->db, &minute_record, "FROM livestream_points t WHERE t.livestream_id = ? "
	    "AND t.at >= ? AND t.at <= ? GROUP BY t.at ORDER BY t.at", ARGS(ID(r->id[0]), TIME(p->from), TIME(p->to)), &n);
	struct point *points = arena_array(r->mem, n + 1, sizeof(*points));
	struct point_counts *c = arena_array(r->mem, 3 * n + 1, sizeof(*c));

	for (i = 0; i < n; i++, c += 3) {
		c[0] = (struct point_counts){ m[i].rtmp_primary, m[i].hls_primary };
		c[1] = (struct point_counts){ m[i].rtmp_secondary, m[i].hls_secondary };
		c[2] = (struct point_counts){ c[0].rtmp_connections + c[1].rtmp_connections,
		    c[0].hls_connections + c[1].hls_connections };
		points[i] = (struct point){ m[i].at, { &c[0] }, { &c[1] }, { &c[2] } };
	}
	return (struct list){ points, n };
}

static int
statistics_get(struct req *r)
{
	struct period *p = r->in;
	struct counts *all;
	struct statistics s;

	if (p->to.ms == 0)
		p->to = r->now;
	if (p->from.ms == 0)
		p->from.ms = p->to.ms - HOUR_MS;
	if (p->from.ms > p->to.ms)
		fault(r, "from", "too_large", "it is behind the end");
	else if (p->to.ms - p->from.ms > 24 * HOUR_MS)
		fault(r, "from", "too_small", "a day at most is told at once");
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	all = counts_of(r);
	s = (struct statistics){ p->from, p->to, points_of(r, p), { &all[0] }, { &all[1] }, { &all[2] },
		{ incoming_of(r) } };
	r->cache_control = "no-store";
	return reply(r, 200, &statistics_record, &s);
}

static int
statistics_instance(struct req *r)
{
	static const char *const names[] = { "primary", "secondary", "sum" };
	size_t i;

	for (i = 0; i < 3; i++)
		if (strcmp(r->word[0], names[i]) == 0) {
			r->cache_control = "no-store";
			return reply(r, 200, &counts_record, &counts_of(r)[i]);
		}
	return refuse(r, ERR_NOT_FOUND, "There are the instances primary, secondary and sum.");
}

const struct route livestreams_routes[] = {
	{
		GET, "/v2/livestreams", SCOPE_VIEW_CHANNEL, livestreams_list, NULL, &broadcast_record,
		"List the livestreams the caller may see",
		.flags = LIST, .fails = "403 422",
	},
	{
		POST, "/v2/livestreams", SCOPE_CREATE_CONTENT, livestream_create, &broadcast_record, &broadcast_record,
		"Make a livestream, and the asset that it becomes",
		.flags = SOMEWHERE, .success = 201, .fails = "403 409 422",
		.codes = "no_default_channel channel_closing last_channel too_many_livestreams",
	},
	{
		GET, "/v2/livestreams/{livestreamId}", SCOPE_VIEW_CHANNEL, livestream_get_one, NULL, &broadcast_record,
		"Get a livestream",
		.flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/livestreams/{livestreamId}", SCOPE_CREATE_CONTENT, livestream_patch,
		&broadcast_record, &broadcast_record,
		"Change a livestream, and with it its asset",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "last_channel channel_closing",
	},
	{
		METHOD_DELETE, "/v2/livestreams/{livestreamId}", SCOPE_CREATE_CONTENT, livestream_delete, NULL,
		&deleted_record,
		"Delete a livestream that does not run; its asset stays, unless nothing was recorded",
		.flags = CONDITIONAL, .fails = "403 404 409 412", .codes = "livestream_running",
	},
	{
		PUT, "/v2/livestreams/{livestreamId}/start", SCOPE_CREATE_CONTENT, livestream_started, NULL,
		&broadcast_record,
		"Start a livestream: encoders may send, and what comes is recorded; one that is started stays as it is",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412 507",
		.codes = "livestream_over too_many_livestreams no_space",
		.id = "startLivestream",
	},
	{
		PUT, "/v2/livestreams/{livestreamId}/publish", SCOPE_CREATE_CONTENT, livestream_published, NULL,
		&broadcast_record,
		"Publish a livestream that is started: viewers see what comes",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412",
		.codes = "livestream_over livestream_not_started",
		.id = "publishLivestream",
	},
	{
		PUT, "/v2/livestreams/{livestreamId}/stop", SCOPE_CREATE_CONTENT, livestream_stopped, NULL,
		&broadcast_record,
		"Stop a livestream for good: what was recorded becomes its asset; one that is over stays as it is",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 412", .id = "stopLivestream",
	},
	{
		PUT, "/v2/livestreams/{livestreamId}/key", SCOPE_CREATE_CONTENT, livestream_rotated, NULL,
		&broadcast_record,
		"Make new stream keys; an encoder that sends goes on until it has to connect again",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412", .codes = "livestream_over",
		.id = "rotateLivestreamKey",
	},
	{
		GET, "/v2/livestreams/{livestreamId}/statistics", SCOPE_VIEW_CHANNEL, statistics_get, &period_record,
		&statistics_record,
		"Count the encoders and players of a livestream",
		.flags = BELOW, .fails = "403 404 422", .id = "getLivestreamStatistics",
	},
	{
		GET, "/v2/livestreams/{livestreamId}/statistics/{instance}", SCOPE_VIEW_CHANNEL, statistics_instance,
		NULL, &counts_record,
		"Count them for one address: primary, secondary, or the sum",
		.flags = BELOW, .fails = "403 404", .id = "getLivestreamStatisticsOfInstance",
	},
	{ 0 }
};
