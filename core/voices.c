/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of voices. */
#include "core/voices.h"

struct found { struct uuid id; };
static const struct field found_fields[] = { FIELD(struct found, id, .doc = "Voice") };
static const struct record found_record = RECORD("FoundVoice", struct found, found_fields);

bool
voices_hold(struct db *db, struct uuid tenant_id)
{
	return db_number(db, "SELECT speaker_recognition FROM tenants WHERE id = ? LOCK IN SHARE MODE",
	    ARGS(ID(tenant_id)), 0) != 0;
}

/* The one of that name, which may be new. */
static struct uuid
voice_of(struct db *db, struct uuid tenant_id, const char *name)
{
	const struct found *v;

	db_run(db, "INSERT IGNORE INTO voices (id, tenant_id, name, created_at) VALUES (?, ?, ?, ?)",
	    ARGS(ID(uuid_new()), ID(tenant_id), STR(name), TIME(moment_now())));
	v = db_row(db, &found_record, "FROM voices t WHERE t.tenant_id = ? AND t.name = ? LOCK IN SHARE MODE",
	    ARGS(ID(tenant_id), STR(name)));
	return v != NULL ? v->id : (struct uuid){ { 0 } };
}

/* The shortest of those that people have named go; the speaker is about to be one. */
static void
keep_few(struct db *db, struct uuid voice_id, struct uuid speaker_id)
{
	db_run(db, "DELETE p FROM voiceprints p JOIN (SELECT v.speaker_id FROM voiceprints v JOIN speakers s ON s.id = "
	    "v.speaker_id WHERE s.voice_id = ? AND (s.source = 'human' OR s.id = ?) ORDER BY v.speech DESC LIMIT "
	    "1000000 OFFSET ?) x ON x.speaker_id = p.speaker_id", ARGS(ID(voice_id), ID(speaker_id),
	    INT(VOICES_PRINTS)));
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
	db_run(db, "DELETE p FROM voiceprints p JOIN speakers s ON s.id = p.speaker_id WHERE p.tenant_id = ? AND "
	    "s.voice_id = ?", ARGS(ID(tenant_id), ID(voice_id)));
	db_run(db, "UPDATE speakers SET keeps_print = 0, version = version + 1 WHERE tenant_id = ? AND voice_id = ?",
	    ARGS(ID(tenant_id), ID(voice_id)));
	if (names)
		db_run(db, "UPDATE speakers SET label = NULL, source = NULL, confidence = 0 WHERE tenant_id = ? AND "
		    "voice_id = ?", ARGS(ID(tenant_id), ID(voice_id)));
	/* Those that were it are nobody's now, by the foreign keys. */
	db_run(db, "DELETE FROM voices WHERE id = ? AND tenant_id = ?", ARGS(ID(voice_id), ID(tenant_id)));
}

void
voices_clear(struct db *db, struct uuid tenant_id)
{
	db_run(db, "DELETE FROM voiceprints WHERE tenant_id = ?", ARGS(ID(tenant_id)));
	db_run(db, "DELETE FROM voices WHERE tenant_id = ?", ARGS(ID(tenant_id)));
	db_run(db, "UPDATE speakers SET likeness = 0 WHERE tenant_id = ? AND likeness <> 0", ARGS(ID(tenant_id)));
}

/* They are looked for without a lock: those that stay are nobody's to wait for. */
void
voices_tidy(struct db *db, struct uuid tenant_id)
{
	size_t n, i;
	const struct found *v = db_rows(db, &found_record, "FROM voices t LEFT JOIN speakers s ON s.voice_id = t.id "
	    "AND s.source = 'human' WHERE t.tenant_id = ? AND s.id IS NULL", ARGS(ID(tenant_id)), &n);

	for (i = 0; i < n; i++)
		db_run(db, "DELETE v FROM voices v LEFT JOIN speakers s ON s.voice_id = v.id AND s.source = 'human' "
		    "WHERE v.id = ? AND v.tenant_id = ? AND s.id IS NULL", ARGS(ID(v[i].id), ID(tenant_id)));
}
