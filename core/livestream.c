/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The states of livestreams, each change one UPDATE that names where it comes from. */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/digest.h"
#include "core/event.h"
#include "core/job.h"
#include "core/livestream.h"
#include "core/livestream_target.h"
#include "core/play.h"
#include "core/seal.h"
#include "core/store.h"

#define OPEN_SQL "('starting', 'waitingForSignal', 'live', 'interrupted')"
#define FROM_SQL "FROM livestreams t JOIN tenants n ON n.id = t.tenant_id "
#define SILENCE_MS "3000"
_Static_assert(LIVESTREAM_SILENCE_MS == 3000, "SILENCE_MS");
#define SPARE "16"
_Static_assert(LIVESTREAM_SPARE == 16, "SPARE");
#define TOLD_EVERY_MS "10000"
#define POINT_MS "60000"
/* Captions whose job has ended begin again so long after it began, unless somebody has cancelled it. */
#define CAPTIONS_AGAIN_MS "10000"
#define CAPTIONS_DUE_SQL "t.captions_language_code IS NOT NULL AND t.has_signal = 1 AND t.status IN " OPEN_SQL " AND " \
	"t.captions_at < " SQL_NOW " - " CAPTIONS_AGAIN_MS " AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.media_id = " \
	"t.media_id AND j.kind = 'live_captions' AND j.state IN ('waiting', 'ready', 'running', 'delayed', 'cancelled'))"

static const struct field livestream_fields[] = {
	FIELD(struct livestream, id, .doc = "Unique id"),
	FIELD(struct livestream, tenant_id, .doc = "The tenant"),
	FIELD(struct livestream, media_id, .doc = "The asset that it becomes"),
	FIELD(struct livestream, status, .doc = "State"),
	FIELD(struct livestream, source, .doc = "How the encoder sends"),
	FIELD(struct livestream, holder, .doc = "Node that takes it in"),
	FIELD(struct livestream, captions_language_code, .doc = "Captions are made in it"),
	FIELD(struct livestream, with_dvr, .doc = "Viewers can go back"),
	FIELD(struct livestream, has_signal, .doc = "Something comes in"),
	FIELD(struct livestream, is_awaited, .sql = "EXISTS (SELECT 1 FROM livestream_inputs i WHERE i.livestream_id = t.id AND "
	    "i.node <> t.holder AND i.beat_at >= " SQL_NOW " - " SILENCE_MS ")", .doc = "Another node has an encoder of it"),
	FIELD(struct livestream, session, .doc = "The last one"),
	FIELD(struct livestream, bitrate_max, .sql = "n.livestream_bitrate", .doc = "Of the tenant, bit/s"),
	FIELD(struct livestream, published_at, .doc = "Viewers are let in since then"),
	FIELD(struct livestream, live_at, .doc = "First pictures or sound"),
	FIELD(struct livestream, ends_at, .sql = "IF(t.live_at > 0, t.live_at + 1000 * n.livestream_duration, 0)", .doc = "How long it may last"),
	FIELD(struct livestream, beat_at, .doc = "Last sign of life of the holder"),
	FIELD(struct livestream, is_primary, .sql = "0", .doc = "Key of the first address"),
	FIELD(struct livestream, is_old_key, .sql = "0", .doc = "Key that was changed"),
};
const struct record livestream_record = RECORD("LivestreamState", struct livestream, livestream_fields);

static const struct field key_fields[] = {
	FIELD(struct livestream_key, livestream_id, .doc = "The livestream"),
	FIELD(struct livestream_key, is_primary, .doc = "Of the first address"),
	FIELD(struct livestream_key, hash, .sql = "LOWER(HEX(t.key_hash))", .doc = "SHA-256 of the key"),
};
static const struct record key_record = RECORD("LivestreamKey", struct livestream_key, key_fields);

struct input { struct uuid livestream_id; bool is_primary, is_old; };
static const struct field input_fields[] = {
	FIELD(struct input, livestream_id, .doc = "The livestream"),
	FIELD(struct input, is_primary, .doc = "Of the first address"),
	FIELD(struct input, is_old, .sql = "0", .doc = "The key was changed"),
};
static const struct record input_record = RECORD("LivestreamInputOfKey", struct input, input_fields);

const char *
livestream_key_hash(struct arena *mem, const char *key)
{
	return digest_text(mem, key, strlen(key));
}

const char *
livestream_phrase(const struct conf *conf, struct arena *mem, const char *key)
{
	return seal_proof(conf, mem, "srt pass phrase", key);
}

const char *
livestream_play_file(struct arena *mem, const struct conf *conf, struct uuid id, const char *name)
{
	char secret[PLAY_SECRET];

	return arena_printf(mem, "live/%s%s%s", play_secret(conf, id, secret), name != NULL ? "/" : "",
	    name != NULL ? name : "");
}

struct livestream *
livestream_get(struct db *db, struct uuid id)
{
	return db_row(db, &livestream_record, FROM_SQL "WHERE t.id = ?", ARGS(ID(id)));
}

struct livestream *
livestream_by_hash(struct db *db, const char *hash)
{
	struct livestream *l;
	struct input *in = db_row(db, &input_record, "FROM livestream_inputs t WHERE t.key_hash = UNHEX(?)",
	    ARGS(STR(hash)));

	if (in == NULL) {
		in = db_row(db, &input_record, "FROM livestream_inputs t WHERE t.hash_before = UNHEX(?) LIMIT 1",
		    ARGS(STR(hash)));
		if (in == NULL)
			return NULL;
		in->is_old = true;
	}
	l = livestream_get(db, in->livestream_id);
	if (l != NULL) {
		l->is_primary = in->is_primary;
		l->is_old_key = in->is_old;
	}
	return l;
}

struct livestream *
livestreams_open(struct db *db, size_t *n)
{
	return db_rows(db, &livestream_record, FROM_SQL "WHERE t.status IN ('starting', 'waitingForSignal', 'live', "
	    "'interrupted', 'finishing')", NO_ARGS, n);
}

struct livestream_key *
livestream_keys_open(struct db *db, size_t *n)
{
	return db_rows(db, &key_record, "FROM livestream_inputs t JOIN livestreams l ON l.id = t.livestream_id WHERE "
	    "l.source = 'srt' AND l.status IN " OPEN_SQL, NO_ARGS, n);
}

struct livestream_key *
livestream_keys_held(struct db *db, const char *node, size_t *n)
{
	return db_rows(db, &key_record, "FROM livestream_inputs t JOIN livestreams l ON l.id = t.livestream_id WHERE "
	    "l.holder = ? AND l.status IN " OPEN_SQL, ARGS(STR(node)), n);
}

const char *
livestream_event(struct arena *mem, struct uuid id, struct uuid media_id, const char *status)
{
	return arena_printf(mem, "{\"mediaId\":\"%s\",\"livestreamId\":\"%s\",\"status\":\"%s\"}",
	    uuid_text(mem, media_id), uuid_text(mem, id), status);
}

/* The event of a change, with the state that it is in now. */
static bool
tell(struct db *db, struct uuid id, int64_t changed)
{
	const struct livestream *l = changed > 0 ? livestream_get(db, id) : NULL;

	if (l != NULL)
		event_add_job(db, l->media_id, "livestream.updated", livestream_event(db_arena(db), id, l->media_id,
		    l->status));
	return changed > 0;
}

#define GONE_SQL "connected_at = 0, node = NULL "
#define CHANGED_SQL "version = t.version + 1, updated_at = " SQL_NOW " "

bool
livestream_ready(struct db *db, struct uuid id)
{
	return tell(db, id, db_run(db, "UPDATE livestreams t SET t.status = 'waitingForSignal', " CHANGED_SQL
	    "WHERE t.id = ? AND t.status = 'starting'", ARGS(ID(id))));
}

int64_t
livestream_claim(struct db *db, struct uuid id, const char *node)
{
	/* From left to right: what is asked for is set behind. */
	int64_t n = db_run(db, "UPDATE livestreams t SET t.session = t.session + IF(t.holder <> ?, 1 + " SPARE ", 1), "
	    "t.holder = ?, t.beat_at = " SQL_NOW ", t.status = IF(t.status = 'starting', 'waitingForSignal', "
	    "t.status), " CHANGED_SQL "WHERE t.id = ? AND t.status IN " OPEN_SQL " AND (t.holder IS NULL OR t.holder = ? "
	    "OR t.beat_at < " SQL_NOW " - ?)", ARGS(STR(node), STR(node), ID(id), STR(node), INT(LIVESTREAM_SILENCE_MS)));

	return n == 1 ? db_number(db, "SELECT session FROM livestreams WHERE id = ? AND holder = ?", ARGS(ID(id),
	    STR(node)), 0) : 0;
}

void
livestream_beat(struct db *db, const char *node)
{
	db_run(db, "UPDATE livestreams SET beat_at = " SQL_NOW " WHERE holder = ?", ARGS(STR(node)));
	db_run(db, "UPDATE livestream_inputs SET beat_at = " SQL_NOW " WHERE node = ?", ARGS(STR(node)));
}

/* Of two who do so, one finds that there is a job. */
static bool
begin_captions(struct db *db, const struct livestream *l)
{
	if (l == NULL || db_run(db, "UPDATE livestreams t SET t.captions_at = " SQL_NOW ", t.captions = 'waiting' "
	    "WHERE t.id = ? AND " CAPTIONS_DUE_SQL, ARGS(ID(l->id))) != 1)
		return false;
	job_add(db, live_captions, ((struct job_place){ .tenant_id = l->tenant_id, .media_id = l->media_id, .priority =
	    PRIORITY_FIRST }), .livestream_id = l->id);
	return true;
}

bool
livestream_signal(struct db *db, struct uuid id, const char *node, bool on)
{
	bool changed;

	if (on) {
		changed = tell(db, id, db_run(db, "UPDATE livestreams t SET t.has_signal = 1, t.interrupted_at = 0, "
		    "t.live_at = IF(t.live_at = 0, " SQL_NOW ", t.live_at), t.status = IF(t.published_at > 0, 'live', "
		    "t.status), t.beat_at = " SQL_NOW ", " CHANGED_SQL "WHERE t.id = ? AND t.holder = ? AND t.has_signal = "
		    "0 AND t.status IN ('waitingForSignal', 'interrupted')", ARGS(ID(id), STR(node))));
		if (changed)
			begin_captions(db, livestream_get(db, id));
		return changed;
	}
	return tell(db, id, db_run(db, "UPDATE livestreams t SET t.has_signal = 0, t.interrupted_at = " SQL_NOW ", "
	    "t.status = IF(t.status = 'live', 'interrupted', t.status), " CHANGED_SQL "WHERE t.id = ? AND t.holder = ? "
	    "AND t.has_signal = 1 AND t.status IN ('waitingForSignal', 'live')", ARGS(ID(id), STR(node))));
}

bool
livestream_release(struct db *db, struct uuid id, const char *node)
{
	livestream_signal(db, id, node, false);
	db_run(db, "UPDATE livestream_inputs SET " GONE_SQL "WHERE livestream_id = ? AND node = ?", ARGS(ID(id),
	    STR(node)));
	if (db_run(db, "UPDATE livestreams SET holder = NULL WHERE id = ? AND holder = ? AND status IN " OPEN_SQL,
	    ARGS(ID(id), STR(node))) != 1)
		return false;
	livestream_targets_rest(db, id);
	return true;
}

bool
livestream_died(struct db *db, struct uuid id, const char *node)
{
	db_run(db, "UPDATE livestreams SET session = session + " SPARE " WHERE id = ? AND holder = ?", ARGS(ID(id),
	    STR(node)));
	return livestream_release(db, id, node);
}

void
livestream_used(struct db *db, struct uuid id, const char *node, int64_t session)
{
	db_run(db, "UPDATE livestreams SET session = ? WHERE id = ? AND holder = ? AND session < ?", ARGS(INT(session),
	    ID(id), STR(node), INT(session)));
}

void
livestream_connected(struct db *db, struct uuid id, const char *node, bool is_primary, bool on)
{
	/* From left to right: what is asked for is set behind. */
	if (on)
		db_run(db, "UPDATE livestream_inputs SET connected_at = IF(node <=> ? AND connected_at > 0, "
		    "connected_at, " SQL_NOW "), node = ?, beat_at = " SQL_NOW " WHERE livestream_id = ? AND is_primary = ? "
		    "AND (node IS NULL OR node = ? OR beat_at < " SQL_NOW " - " SILENCE_MS ")", ARGS(STR(node), STR(node),
		    ID(id), INT(is_primary), STR(node)));
	else
		db_run(db, "UPDATE livestream_inputs SET " GONE_SQL "WHERE livestream_id = ? AND is_primary = ? AND "
		    "node = ?", ARGS(ID(id), INT(is_primary), STR(node)));
}

bool
livestream_elsewhere(struct db *db, struct uuid id, const char *node, bool is_primary)
{
	return db_number(db, "SELECT 1 FROM livestream_inputs WHERE livestream_id = ? AND is_primary = ? AND node <> ? "
	    "AND beat_at >= " SQL_NOW " - " SILENCE_MS, ARGS(ID(id), INT(is_primary), STR(node)), 0) == 1;
}

void
livestream_lacks(struct db *db, struct uuid id, const char *node, const char *reason)
{
	if (reason != NULL && !word_in(LIVESTREAM_LACKS, reason, strlen(reason)))
		abort();
	tell(db, id, db_run(db, "UPDATE livestreams SET ladder = ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND holder = ? AND NOT ladder <=> ?", ARGS(STR(reason), ID(id), STR(node), STR(reason))));
}

void
livestream_captions(struct db *db, struct uuid id, const char *how)
{
	if (!word_in(LIVESTREAM_CAPTIONS, how, strlen(how)))
		abort();
	tell(db, id, db_run(db, "UPDATE livestreams SET captions = ?, version = version + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND NOT captions <=> ?", ARGS(STR(how), ID(id), STR(how))));
}

/* OBS tries again every two seconds: those who look on are not told each time. */
void
livestream_refused(struct db *db, struct uuid id, const char *address, const char *reason)
{
	if (!word_in(LIVESTREAM_REFUSALS, reason, strlen(reason)))
		abort();
	if (db_run(db, "UPDATE livestreams SET refused_at = " SQL_NOW ", refused_address = LEFT(?, 45), refused_reason "
	    "= ?, version = version + 1 WHERE id = ?", ARGS(STR(address), STR(reason), ID(id))) == 1)
		tell(db, id, db_run(db, "UPDATE livestreams SET told_at = " SQL_NOW " WHERE id = ? AND told_at < "
		    SQL_NOW " - " TOLD_EVERY_MS, ARGS(ID(id))));
}

bool
livestream_start(struct db *db, struct uuid id)
{
	return tell(db, id, db_run(db, "UPDATE livestreams t SET t.status = 'starting', t.started_at = " SQL_NOW ", "
	    CHANGED_SQL "WHERE t.id = ? AND t.status = 'created'", ARGS(ID(id))));
}

bool
livestream_publish(struct db *db, struct uuid id)
{
	return tell(db, id, db_run(db, "UPDATE livestreams t SET t.published_at = " SQL_NOW ", t.status = "
	    "IF(t.status = 'waitingForSignal' AND t.has_signal = 1, 'live', t.status), " CHANGED_SQL "WHERE t.id = ? AND "
	    "t.published_at = 0 AND t.status IN " OPEN_SQL, ARGS(ID(id))));
}

/* Nothing will ever come of its asset. */
static void
fail_asset(struct db *db, struct uuid id)
{
	const struct livestream *l = livestream_get(db, id);

	if (l == NULL || db_run(db, "UPDATE media SET status = 'failed', revision = revision + 1, updated_at = " SQL_NOW
	    " WHERE id = ? AND status = 'processing' AND file_size = 0", ARGS(ID(l->media_id))) != 1)
		return;
	event_add_job(db, l->media_id, "media.updated", "{\"modified\":[\"status\"]}");
	event_add_job(db, l->media_id, "media.failed", NULL);
}

bool
livestream_stop(struct db *db, struct uuid id, const char *failure)
{
	bool stopped;

	if (failure != NULL && !word_in(LIVESTREAM_FAILURES, failure, strlen(failure)))
		abort();
	stopped = tell(db, id, db_run(db, "UPDATE livestreams t SET t.failure = COALESCE(?, IF(t.session = 0, 'empty', "
	    "NULL)), t.has_signal = 0, t.finished_at = " SQL_NOW ", t.status = IF(t.session = 0, 'finished', "
	    "'finishing'), " CHANGED_SQL "WHERE t.id = ? AND t.status IN ('created', 'starting', 'waitingForSignal', "
	    "'live', 'interrupted')",
	    ARGS(STR(failure), ID(id))));
	if (stopped && db_number(db, "SELECT session FROM livestreams WHERE id = ?", ARGS(ID(id)), 1) == 0)
		fail_asset(db, id);
	return stopped;
}

/* Once: of two who end it, one finds that there is a job. */
static bool
add_job(struct db *db, const struct livestream *l)
{
	const struct job_place place = { .tenant_id = l->tenant_id, .media_id = l->media_id, .id = uuid_new(),
	    .priority = PRIORITY_FIRST };

	if (db_run(db, "UPDATE livestreams SET job_id = ?, holder = NULL WHERE id = ? AND job_id IS NULL AND status = "
	    "'finishing'", ARGS(ID(place.id), ID(l->id))) != 1)
		return false;
	db_run(db, "UPDATE livestream_inputs SET " GONE_SQL "WHERE livestream_id = ?", ARGS(ID(l->id)));
	livestream_targets_rest(db, l->id);
	job_add(db, livestream, place, .livestream_id = l->id);
	return true;
}

bool
livestream_end(struct db *db, struct uuid id, const char *node)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "WHERE t.id = ? AND t.holder = ? AND "
	    "t.status = 'finishing'", ARGS(ID(id), STR(node)));

	return l != NULL && add_job(db, l);
}

bool
livestream_done(struct db *db, struct uuid id, const char *failure)
{
	if (failure == NULL)
		return tell(db, id, db_run(db, "UPDATE livestreams t SET t.status = 'finished', t.failure = "
		    "IF(t.status = 'failed', NULL, t.failure), " CHANGED_SQL "WHERE t.id = ? AND t.status IN ('finishing', "
		    "'failed')", ARGS(ID(id))));
	if (!tell(db, id, db_run(db, "UPDATE livestreams t SET t.status = 'failed', t.failure = ?, " CHANGED_SQL
	    "WHERE t.id = ? AND t.status = 'finishing'", ARGS(STR(failure), ID(id)))))
		return false;
	fail_asset(db, id);
	return true;
}

void
livestream_left_out(struct db *db, struct uuid id, const char *what)
{
	db_run(db, "UPDATE livestreams t SET t.left_out = LEFT(?, 500), " CHANGED_SQL "WHERE t.id = ? AND NOT "
	    "t.left_out <=> LEFT(?, 500)", ARGS(STR(what), ID(id), STR(what)));
}

int64_t
livestream_recorded(struct db *db, struct uuid id, int64_t bytes)
{
	const int64_t before = db_number(db, "SELECT recording_size FROM livestreams WHERE id = ? FOR UPDATE",
	    ARGS(ID(id)), bytes);

	if (bytes != before)
		db_run(db, "UPDATE livestreams SET recording_size = ? WHERE id = ?", ARGS(INT(bytes), ID(id)));
	return bytes - before;
}

void
livestream_purge(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	const struct job_place place = { .tenant_id = tenant_id, .media_id = media_id, .priority = PRIORITY_BULK };
	const char *key = store_key_live(db_arena(db), media_id, NULL);

	job_add(db, purge, place, .keys = { &key, 1 });
}

bool
livestream_recode(struct db *db, struct uuid id, struct uuid job_id)
{
	const struct livestream *l = livestream_get(db, id);
	struct job_place place = { .id = uuid_new(), .priority = PRIORITY_FIRST };

	if (l == NULL || db_run(db, "UPDATE livestreams t SET t.job_id = ? WHERE t.id = ? AND t.status IN "
	    "('finishing', 'failed') AND (t.job_id = ? OR NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = t.job_id AND j.state IN "
	    "('waiting', 'ready', 'running', 'delayed')))", ARGS(ID(place.id), ID(id), ID(job_id))) != 1)
		return false;
	place.tenant_id = l->tenant_id;
	place.media_id = l->media_id;
	job_add(db, recode, place, .livestream_id = id);
	return true;
}

bool
livestream_runs(struct db *db, struct uuid media_id)
{
	return db_number(db, "SELECT 1 FROM livestreams WHERE media_id = ? AND status IN ('starting', "
	    "'waitingForSignal', 'live', 'interrupted', 'finishing')", ARGS(ID(media_id)), 0) == 1;
}

/* The most of each minute: nobody looks at every one of them. */
static void
add_point(struct db *db, struct uuid id, const char *node)
{
	db_run(db, "INSERT INTO livestream_points (livestream_id, at, node, is_primary, rtmp_primary, rtmp_secondary, "
	    "viewers) SELECT t.livestream_id, t.told_at - t.told_at % " POINT_MS ", t.node, t.is_primary, t.rtmp_primary, "
	    "t.rtmp_secondary, t.viewers FROM livestream_nodes t WHERE t.livestream_id = ? AND t.node = ? ON DUPLICATE "
	    "KEY UPDATE is_primary = VALUES(is_primary), rtmp_primary = GREATEST(livestream_points.rtmp_primary, "
	    "VALUES(rtmp_primary)), rtmp_secondary = GREATEST(livestream_points.rtmp_secondary, "
	    "VALUES(rtmp_secondary)), viewers = GREATEST(livestream_points.viewers, VALUES(viewers))", ARGS(ID(id),
	    STR(node)));
}

void
livestream_tell(struct db *db, struct uuid id, const char *node, const struct livestream_numbers *n)
{
	const struct livestream_incoming *in = &n->incoming;

	db_run(db, "INSERT INTO livestream_nodes (livestream_id, node, is_primary, rtmp_primary, rtmp_secondary, "
	    "bytes_in, bitrate, dropped, video_codec, width, height, frame_rate, interlaced, audio_codec, sample_rate, "
	    "audio_channels, told_at) SELECT l.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, " SQL_NOW " FROM "
	    "livestreams l WHERE l.id = ? ON DUPLICATE KEY UPDATE is_primary = VALUES(is_primary), rtmp_primary = "
	    "VALUES(rtmp_primary), rtmp_secondary = VALUES(rtmp_secondary), bytes_in = VALUES(bytes_in), bitrate = "
	    "VALUES(bitrate), dropped = VALUES(dropped), video_codec = VALUES(video_codec), width = VALUES(width), height = "
	    "VALUES(height), frame_rate = VALUES(frame_rate), interlaced = VALUES(interlaced), audio_codec = "
	    "VALUES(audio_codec), sample_rate = VALUES(sample_rate), audio_channels = VALUES(audio_channels), told_at = "
	    "VALUES(told_at)", ARGS(STR(node), INT(n->is_primary), INT(n->rtmp_primary), INT(n->rtmp_secondary),
	    INT(n->bytes_in), INT(n->bitrate), INT(n->dropped), STR(in->video_codec), INT(in->width), INT(in->height),
	    REAL(in->frame_rate), INT(in->interlaced), STR(in->audio_codec), INT(in->sample_rate), INT(in->audio_channels),
	    ID(id)));
	add_point(db, id, node);
}

/* They see the input that the holder has on the air. */
void
livestream_watched(struct db *db, struct uuid media_id, const char *node, int64_t viewers, int64_t peak)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "WHERE t.media_id = ? AND t.status IN "
	    OPEN_SQL, ARGS(ID(media_id)));

	if (l == NULL)
		return;
	db_run(db, "INSERT INTO livestream_nodes (livestream_id, node, is_primary, viewers, peak, told_at) SELECT "
	    "l.id, ?, COALESCE(h.is_primary, 1), ?, ?, " SQL_NOW " FROM livestreams l LEFT JOIN livestream_nodes h ON "
	    "h.livestream_id = l.id AND h.node = l.holder WHERE l.id = ? ON DUPLICATE KEY UPDATE is_primary = "
	    "VALUES(is_primary), viewers = VALUES(viewers), peak = VALUES(peak), told_at = VALUES(told_at)",
	    ARGS(STR(node), INT(viewers), INT(peak), ID(l->id)));
	add_point(db, l->id, node);
}

/* What a dead node held: the next one may come. */
static bool
bury_holder(struct db *db)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "WHERE t.holder IS NOT NULL AND t.beat_at "
	    "< " SQL_NOW " - ? AND t.status IN " OPEN_SQL " LIMIT 1", ARGS(INT(LIVESTREAM_DEAD_MS)));

	/* Of those that another one has claimed since, too. */
	db_run(db, "UPDATE livestream_inputs SET " GONE_SQL "WHERE node IS NOT NULL AND beat_at < " SQL_NOW " - ?",
	    ARGS(INT(LIVESTREAM_DEAD_MS)));
	if (l == NULL)
		return false;
	livestream_targets_rest(db, l->id);
	/* From left to right: what is asked for is set behind. */
	tell(db, l->id, db_run(db, "UPDATE livestreams t SET t.holder = NULL, t.session = t.session + " SPARE ", "
	    "t.interrupted_at = IF(t.has_signal = 1, t.beat_at, t.interrupted_at), t.has_signal = 0, t.status = "
	    "IF(t.status = 'live', 'interrupted', t.status), " CHANGED_SQL "WHERE t.id = ? AND t.holder = ? AND t.beat_at < "
	    SQL_NOW " - ?", ARGS(ID(l->id), STR(l->holder), INT(LIVESTREAM_DEAD_MS))));
	return true;
}

static bool
end_for_holder(struct db *db, bool judges)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "WHERE t.status = 'finishing' AND "
	    "t.job_id IS NULL AND (t.holder IS NULL OR (? AND t.beat_at < " SQL_NOW " - ?)) LIMIT 1",
	    ARGS(INT(judges), INT(LIVESTREAM_DEAD_MS)));

	return l != NULL && add_job(db, l);
}

/* Its job has ended without a word, or somebody has cancelled it. */
static bool
fail_with_job(struct db *db)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "LEFT JOIN jobs j ON j.id = t.job_id "
	    "WHERE t.status = 'finishing' AND t.job_id IS NOT NULL AND (j.id IS NULL OR j.state IN ('failed', "
	    "'cancelled')) LIMIT 1", NO_ARGS);

	return l != NULL && livestream_done(db, l->id, "damaged");
}

/* One that the tenant has no room for begins as soon as there is. */
static bool
begin_on_time(struct db *db)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "JOIN media m ON m.id = t.media_id AND "
	    "m.deleted_at = 0 WHERE t.starts_at BETWEEN 1 AND " SQL_NOW " AND ((t.status = 'created' AND "
	    "(SELECT COUNT(*) FROM livestreams o WHERE o.tenant_id = n.id AND o.status IN " OPEN_SQL ") < "
	    "n.livestreams_open AND NOT EXISTS (SELECT 1 FROM tenant_usage u WHERE u.tenant_id = n.id AND n.storage_quota "
	    "<= u.storage_used)) OR (t.published_at = 0 AND t.status IN " OPEN_SQL ")) LIMIT 1", NO_ARGS);

	if (l == NULL)
		return false;
	livestream_start(db, l->id);
	return livestream_publish(db, l->id);
}

static bool
stop_overdue(struct db *db)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "WHERE t.status IN " OPEN_SQL " AND "
	    "t.live_at > 0 AND t.live_at + 1000 * n.livestream_duration < " SQL_NOW " LIMIT 1", NO_ARGS);

	if (l != NULL)
		return livestream_stop(db, l->id, "duration");
	l = db_row(db, &livestream_record, FROM_SQL "WHERE t.status IN " OPEN_SQL " AND t.has_signal = 0 AND "
	    "GREATEST(t.started_at, t.interrupted_at, t.starts_at) < " SQL_NOW " - ? LIMIT 1", ARGS(INT(LIVESTREAM_IDLE_MS)));
	return l != NULL && livestream_stop(db, l->id, "idle");
}

/* The job has failed, or its machine: what was said meanwhile stays without. */
static bool
caption_again(struct db *db)
{
	const struct livestream *l = db_row(db, &livestream_record, FROM_SQL "WHERE COALESCE(t.captions, '') NOT IN "
	    "('failed', 'off') AND " CAPTIONS_DUE_SQL " LIMIT 1", NO_ARGS);

	return begin_captions(db, l);
}

bool
livestream_tend(struct db *db, bool judges)
{
	return begin_on_time(db) || caption_again(db) || stop_overdue(db) || (judges && bury_holder(db)) ||
	    end_for_holder(db, judges) || fail_with_job(db);
}
