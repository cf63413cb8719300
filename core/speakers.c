/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of who speaks in an asset. */
#include <string.h>

#include "core/catalogue.h"
#include "core/speakers.h"

static const struct field turn_fields[] = {
	FIELD(struct turn, start, .required = true, .doc = "Seconds from the beginning of the recording"),
	FIELD(struct turn, end, .required = true, .doc = "Seconds from the beginning of the recording"),
};
const struct record turn_record = RECORD("Turn", struct turn, turn_fields);

/* A name by a voice that is forgotten with its names is none, though it stands there still (core/voices.h). */
#define SHOWN_SQL(column) "IF(v.id IS NULL, " column ", NULL)"

static const struct field speaker_fields[] = {
	FIELD(struct speaker, speaker_id, .doc = "Voice"),
	FIELD(struct speaker, number, .doc = "In the asset"),
	FIELD(struct speaker, duration, .doc = "Of all turns"),
	FIELD(struct speaker, turns, .of = &turn_record, .doc = "When"),
	FIELD(struct speaker, label, .sql = SHOWN_SQL("s.label"), .doc = "Its own name"),
	FIELD(struct speaker, source, .sql = SHOWN_SQL("s.source"), .doc = "Who has said so"),
	FIELD(struct speaker, merged_into, .sql = "s.merged_into", .doc = "What it is a part of"),
	FIELD(struct speaker, part_of, .sql = "s.part_of", .doc = "What it was merged with"),
	FIELD(struct speaker, forgotten_at, .sql = "s.forgotten_at", .doc = "Not shown since then"),
	FIELD(struct speaker, shown_id, .on = COMPUTED, .doc = "As whom it is shown"),
	FIELD(struct speaker, name, .on = COMPUTED, .doc = "Shown to people"),
};
static const struct record speaker_record = RECORD("SpeakerRow", struct speaker, speaker_fields);

static const char *
word_for(const struct conf *conf, struct arena *mem, const char *language_code)
{
	const char *tag = arena_copy_n(mem, language_code, strcspn(language_code, "-_"));

	return conf == NULL || strcmp(language_code, "translate-en") == 0 ? "Speaker" :
	    catalogue_text(catalogue_of(conf, tag), "Speaker");
}

const struct speaker *
speakers_find(const struct list *all, struct uuid id)
{
	const struct speaker *s = all->rows;

	for (size_t i = 0; i < all->n; i++)
		if (uuid_equal(s[i].speaker_id, id))
			return &s[i];
	return NULL;
}

const char *
speakers_label(const struct list *all, const struct speaker *whole)
{
	const struct speaker *s = all->rows;

	for (size_t i = 0; i < all->n && whole->label == NULL; i++)
		if (uuid_equal(s[i].merged_into, whole->speaker_id) && s[i].label != NULL)
			return s[i].label;
	return whole->label;
}

bool
speakers_touched(struct db *db, struct uuid media_id, const struct list *all, const struct speaker *s)
{
	const struct speaker *other = all->rows;

	for (size_t i = 0; i < all->n; i++)
		if (uuid_equal(other[i].merged_into, s->speaker_id))
			return true;
	return s->forgotten_at.ms != 0 || !uuid_is_none(s->merged_into) || (s->source != NULL && strcmp(s->source,
	    "human") == 0) || db_number(db, "SELECT 1 FROM transcripts t JOIN JSON_TABLE(t.paragraphs, '$[*]' COLUMNS "
	    "(id VARCHAR(36) PATH '$.speakerId', source VARCHAR(10) PATH '$.speakerSource')) j WHERE t.media_id = ? AND "
	    "j.id = ? AND j.source = 'human' LIMIT 1", ARGS(ID(media_id), STR(uuid_text(db_arena(db), s->speaker_id))),
	    0) != 0;
}

struct list
speakers_of(struct db *db, const struct conf *conf, struct uuid media_id, const char *language_code)
{
	struct list out = { NULL, 0 };
	const struct speaker *whole;
	struct speaker *s;
	size_t shown = 0, i;

	out.rows = s = db_rows(db, &speaker_record, "FROM media_speakers t JOIN media m ON m.id = t.media_id JOIN "
	    "speakers s ON s.id = t.speaker_id AND s.tenant_id = m.tenant_id LEFT JOIN voices v ON v.id = s.voice_id AND "
	    "v.takes_names = 1 WHERE t.media_id = ? ORDER BY t.number",
	    ARGS(ID(media_id)), &out.n);
	for (i = 0; i < out.n; i++)
		shown += uuid_is_none(s[i].merged_into) && s[i].forgotten_at.ms == 0;
	for (i = 0; i < out.n; i++) {
		whole = uuid_is_none(s[i].merged_into) ? &s[i] : speakers_find(&out, s[i].merged_into);
		if (whole == NULL || whole->forgotten_at.ms != 0)
			continue;
		s[i].shown_id = whole->speaker_id;
		s[i].name = speakers_label(&out, whole);
		if (s[i].name == NULL && shown > 1)
			s[i].name = arena_printf(db_arena(db), "%s %lld", word_for(conf, db_arena(db), language_code),
			    (long long)whole->number);
	}
	return out;
}

void
speakers_put(struct db *db, struct uuid media_id, const struct speaker *s)
{
	const struct turn *t = s->turns.rows;
	struct buf turns = BUF(db_arena(db));
	int64_t sum = 0;

	for (size_t i = 0; i < s->turns.n; i++)
		sum += t[i].end.ms - t[i].start.ms;
	record_value(&turns, record_field(&speaker_record, "turns"), s);
	db_run(db, "INSERT INTO media_speakers (media_id, speaker_id, number, duration, turns) VALUES (?, ?, ?, ?, ?) "
	    "ON DUPLICATE KEY UPDATE duration = VALUES(duration), turns = VALUES(turns)", ARGS(ID(media_id),
	    ID(s->speaker_id), INT(s->number), INT(sum), STR(buf_string(&turns))));
}

struct uuid
speakers_new(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	const struct uuid id = uuid_new();
	const struct arg now = TIME(moment_now());

	db_run(db, "INSERT INTO speakers (id, tenant_id, media_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
	    ARGS(ID(id), ID(tenant_id), ID(media_id), now, now));
	return id;
}

void
speakers_drop(struct db *db, struct uuid speaker_id)
{
	db_run(db, "DELETE FROM speakers WHERE id = ?", ARGS(ID(speaker_id)));
}
