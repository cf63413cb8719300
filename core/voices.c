/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of voices. */
#include "core/job.h"
#include "core/voices.h"

/* Of a voice, or none: is it gone?  With the epoch of the tenant. */
#define GONE_SQL(v) "(" v ".id IS NOT NULL AND (" v ".name IS NULL OR " v ".epoch < ?))"

struct found { struct uuid id; };
static const struct field found_fields[] = { FIELD(struct found, id, .doc = "Voice") };
static const struct record found_record = RECORD("FoundVoice", struct found, found_fields);

bool
voices_hold(struct db *db, struct uuid tenant_id)
{
	return db_number(db, "SELECT speaker_recognition FROM tenants WHERE id = ? LOCK IN SHARE MODE",
	    ARGS(ID(tenant_id)), 0) != 0;
}

static struct arg
epoch_of(struct db *db, struct uuid tenant_id)
{
	return (struct arg)INT(db_number(db, "SELECT voices_epoch FROM tenants WHERE id = ?", ARGS(ID(tenant_id)), 0));
}

static void
go_on(struct db *db, struct uuid tenant_id)
{
	job_add(db, forget, ((struct job_place){ .tenant_id = tenant_id }), .note = NULL);
}

/* The one of that name, which may be new: one of an earlier epoch is not it. */
static struct uuid
voice_of(struct db *db, struct uuid tenant_id, const char *name)
{
	const struct arg epoch = epoch_of(db, tenant_id);
	const struct found *v;

	db_run(db, "UPDATE voices SET name = NULL WHERE tenant_id = ? AND name = ? AND epoch < ?", ARGS(ID(tenant_id),
	    STR(name), epoch));
	db_run(db, "INSERT IGNORE INTO voices (id, tenant_id, name, epoch, created_at) VALUES (?, ?, ?, ?, ?)",
	    ARGS(ID(uuid_new()), ID(tenant_id), STR(name), epoch, TIME(moment_now())));
	v = db_row(db, &found_record, "FROM voices t WHERE t.tenant_id = ? AND t.name = ? LOCK IN SHARE MODE",
	    ARGS(ID(tenant_id), STR(name)));
	return v != NULL ? v->id : (struct uuid){ { 0 } };
}

/* The shortest of those that people have named go; the speaker is about to be one.  Those of other engines are no
 * measure: by its own alone it is known. */
static void
keep_few(struct db *db, struct uuid voice_id, struct uuid speaker_id)
{
	db_run(db, "DELETE p FROM voiceprints p JOIN (SELECT v.speaker_id FROM voiceprints o JOIN voiceprints v ON "
	    "v.engine = o.engine JOIN speakers s ON s.id = v.speaker_id WHERE o.speaker_id = ? AND s.voice_id = ? AND "
	    "(s.source = 'human' OR s.id = ?) ORDER BY v.speech DESC LIMIT 1000000 OFFSET ?) x ON x.speaker_id = p.speaker_id",
	    ARGS(ID(speaker_id), ID(voice_id), ID(speaker_id), INT(VOICES_PRINTS)));
}

void
voices_named(struct db *db, struct uuid tenant_id, struct uuid speaker_id, const char *label)
{
	struct uuid voice_id = { { 0 } };

	if (label != NULL && voices_hold(db, tenant_id))
		voice_id = voice_of(db, tenant_id, label);
	/* What a job has said, and a person not. */
	db_run(db, "INSERT IGNORE INTO speaker_rejections (speaker_id, voice_id) SELECT id, voice_id FROM speakers "
	    "WHERE id = ? AND source = 'machine' AND voice_id IS NOT NULL AND NOT voice_id <=> ?", ARGS(ID(speaker_id),
	    ID(voice_id)));
	db_run(db, "UPDATE speakers SET voice_id = ?, proposed_id = NULL, likeness = 0, keeps_print = IF(?, 1, "
	    "keeps_print) WHERE id = ?", ARGS(ID(voice_id), INT(label != NULL), ID(speaker_id)));
	keep_few(db, voice_id, speaker_id);
}

void
voices_reject(struct db *db, struct uuid speaker_id)
{
	db_run(db, "INSERT IGNORE INTO speaker_rejections (speaker_id, voice_id) SELECT id, voice_id FROM speakers "
	    "WHERE id = ? AND voice_id IS NOT NULL", ARGS(ID(speaker_id)));
	db_run(db, "INSERT IGNORE INTO speaker_rejections (speaker_id, voice_id) SELECT id, proposed_id FROM speakers "
	    "WHERE id = ? AND proposed_id IS NOT NULL", ARGS(ID(speaker_id)));
	db_run(db, "UPDATE speakers SET voice_id = NULL, proposed_id = NULL, likeness = 0 WHERE id = ?",
	    ARGS(ID(speaker_id)));
}

void
voices_forget(struct db *db, struct uuid tenant_id, struct uuid voice_id, bool names)
{
	db_run(db, "UPDATE voices SET name = NULL, takes_prints = 1, takes_names = ? WHERE id = ? AND tenant_id = ?",
	    ARGS(INT(names), ID(voice_id), ID(tenant_id)));
	go_on(db, tenant_id);
}

void
voices_clear(struct db *db, struct uuid tenant_id)
{
	db_run(db, "UPDATE tenants SET voices_epoch = voices_epoch + 1 WHERE id = ?", ARGS(ID(tenant_id)));
	go_on(db, tenant_id);
}

/* They are looked for without a lock: those that stay are nobody's to wait for. */
void
voices_tidy(struct db *db, struct uuid tenant_id)
{
	size_t n, i;
	int64_t gone = 0;
	const struct found *v = db_rows(db, &found_record, "FROM voices t LEFT JOIN speakers s ON s.voice_id = t.id "
	    "AND s.source = 'human' WHERE t.tenant_id = ? AND t.name IS NOT NULL AND s.id IS NULL", ARGS(ID(tenant_id)), &n);

	for (i = 0; i < n; i++)
		gone += db_run(db, "UPDATE voices v LEFT JOIN speakers s ON s.voice_id = v.id AND s.source = 'human' "
		    "SET v.name = NULL WHERE v.id = ? AND v.tenant_id = ? AND s.id IS NULL", ARGS(ID(v[i].id),
		    ID(tenant_id)));
	if (gone > 0)
		go_on(db, tenant_id);
}

bool
voices_leave(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	const struct arg media = ID(media_id), epoch = epoch_of(db, tenant_id), now = TIME(moment_now());
	const bool named = db_number(db, "SELECT 1 FROM speakers s JOIN voices v ON v.id = s.voice_id WHERE s.media_id "
	    "= ? AND v.takes_names = 1 AND s.label IS NOT NULL LIMIT 1", ARGS(media), 0) != 0;

	db_run(db, "DELETE p FROM voiceprints p JOIN speakers s ON s.id = p.speaker_id LEFT JOIN voices v ON v.id = "
	    "s.voice_id WHERE s.media_id = ? AND (p.epoch < ? OR v.takes_prints = 1)", ARGS(media, epoch));
	db_run(db, "UPDATE speakers s JOIN voices v ON v.id = s.voice_id SET s.keeps_print = IF(v.takes_prints, 0, "
	    "s.keeps_print), s.label = IF(v.takes_names, NULL, s.label), s.source = IF(v.takes_names, NULL, s.source), "
	    "s.confidence = IF(v.takes_names, 0, s.confidence), s.voice_id = NULL, s.version = s.version + 1, s.updated_at = ? "
	    "WHERE s.media_id = ? AND " GONE_SQL("v"), ARGS(now, media, epoch));
	db_run(db, "UPDATE speakers s JOIN voices v ON v.id = s.proposed_id SET s.proposed_id = NULL, s.likeness = 0, "
	    "s.version = s.version + 1, s.updated_at = ? WHERE s.media_id = ? AND " GONE_SQL("v"), ARGS(now, media, epoch));
	return named;
}

struct ids
voices_left(struct db *db, struct uuid tenant_id)
{
	const struct arg tenant = ID(tenant_id), epoch = epoch_of(db, tenant_id);
	struct ids out = { NULL, 0 };
	const struct found *m = db_rows(db, &found_record, "FROM (SELECT DISTINCT x.media_id AS id FROM ((SELECT "
	    "s.media_id FROM voices v JOIN speakers s ON s.voice_id = v.id WHERE v.tenant_id = ? AND " GONE_SQL("v")
	    " LIMIT 200) UNION ALL (SELECT s.media_id FROM voices v JOIN speakers s ON s.proposed_id = v.id WHERE v.tenant_id = ? "
	    "AND " GONE_SQL("v") " LIMIT 200) UNION ALL (SELECT s.media_id FROM voiceprints p JOIN speakers s ON s.id = "
	    "p.speaker_id WHERE p.tenant_id = ? AND p.epoch < ? LIMIT 200)) x WHERE x.media_id IS NOT NULL) t ORDER BY "
	    "t.id LIMIT ?", ARGS(tenant, epoch, tenant, epoch, tenant, epoch, INT(VOICES_BATCH)), &out.n);

	out.at = arena_array(db_arena(db), out.n + 1, sizeof(*out.at));
	for (size_t i = 0; i < out.n; i++)
		out.at[i] = m[i].id;
	return out;
}

bool
voices_delete(struct db *db, struct uuid tenant_id)
{
	size_t n, i;
	const struct found *v = db_rows(db, &found_record, "FROM voices t WHERE t.tenant_id = ? AND " GONE_SQL("t")
	    " LIMIT ?", ARGS(ID(tenant_id), epoch_of(db, tenant_id), INT(VOICES_BATCH)), &n);

	for (i = 0; i < n; i++)
		db_run(db, "DELETE FROM voices WHERE id = ? AND tenant_id = ?", ARGS(ID(v[i].id), ID(tenant_id)));
	return n > 0;
}
