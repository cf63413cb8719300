/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From prints of an asset to names that people gave in others. */
#include <string.h>

#include "core/voices.h"
#include "jobs/recognition.h"

/* Prints that are compared at most: those of the most speech. */
enum { KNOWN_MAX = 4000 };

struct known { struct uuid voice_id; const char *name, *print; };
static const struct field known_fields[] = {
	FIELD(struct known, voice_id, .sql = "v.id", .doc = "The voice"),
	FIELD(struct known, name, .sql = "v.name", .doc = "As people have named it"),
	FIELD(struct known, print, .sql = "LOWER(HEX(t.print))", .doc = "How it sounds in an asset"),
};
static const struct record known_record = RECORD("KnownVoice", struct known, known_fields);

/* What is known of a speaker that nobody has named. */
struct open { struct uuid speaker_id; bool keeps_print; };
static const struct field open_fields[] = {
	FIELD(struct open, speaker_id, .sql = "t.id", .doc = "Speaker"),
	FIELD(struct open, keeps_print, .doc = "May its print be kept?"),
};
static const struct record open_record = RECORD("OpenSpeaker", struct open, open_fields);

/* The voice that a speaker is most like, and how much so to the next one. */
struct match { const struct recognised *who; const struct known *voice; double likeness, next; };

/* Those who are known, and how they are compared. */
struct comparison {
	struct recognition limits;
	double (*likeness)(const float *, const float *, size_t n);
	const struct known *known;
	const struct voiceprint **prints;
	size_t n;
};

struct recognition
recognition_limits(const struct conf *conf, const struct engine *e)
{
	const struct engine_settings *set = &conf->engine[ENGINE_voiceprint];

	return (struct recognition){ set->same > 0 ? (double)set->same / 100 : e->likeness.same,
	    set->maybe > 0 ? (double)set->maybe / 100 : e->likeness.maybe };
}

static const struct voiceprint *
print_of(struct arena *mem, const char *hex)
{
	const size_t size = strlen(hex) / 2;
	unsigned char *bytes = arena_raw(mem, size + 1);

	return hex_decode(hex, bytes, size) ? voiceprint_from(mem, bytes, size) : NULL;
}

static void
keep(struct job *j, const char *maker, const struct recognised *r)
{
	db_run(j->db, "INSERT INTO voiceprints (speaker_id, tenant_id, engine, speech, print, epoch) SELECT s.id, "
	    "s.tenant_id, ?, ?, ?, n.voices_epoch FROM speakers s JOIN tenants n ON n.id = s.tenant_id WHERE s.id = ? AND "
	    "s.keeps_print = 1 AND s.forgotten_at = 0 ON DUPLICATE KEY UPDATE engine = VALUES(engine), speech = "
	    "VALUES(speech), print = VALUES(print), epoch = VALUES(epoch)",
	    ARGS(STR(maker), INT(r->speech), BYTES(r->print->at, r->print->n * sizeof(float)), ID(r->speaker_id)));
}

static bool
is_rejected(struct job *j, struct uuid speaker_id, struct uuid voice_id)
{
	return db_number(j->db, "SELECT 1 FROM speaker_rejections WHERE speaker_id = ? AND voice_id = ?",
	    ARGS(ID(speaker_id), ID(voice_id)), 0) != 0;
}

/* Prints of the same maker and of as much speech as is learned from, of people whom others have named elsewhere. */
static struct known *
known_voices(struct job *j, const char *maker, size_t *n)
{
	return db_rows(j->db, &known_record, "FROM voiceprints t JOIN speakers s ON s.id = t.speaker_id AND s.source = "
	    "'human' AND s.forgotten_at = 0 JOIN voices v ON v.id = s.voice_id AND v.tenant_id = t.tenant_id AND "
	    VOICES_KNOWN_SQL " WHERE t.tenant_id = ? AND t.epoch = v.epoch AND t.engine = ? AND t.speech >= ? AND "
	    "s.media_id <> ? ORDER BY t.speech DESC LIMIT ?",
	    ARGS(ID(j->tenant_id), STR(maker), INT(VOICES_LEARN), ID(j->media_id), INT(KNOWN_MAX)), n);
}

static struct match
best_of(struct job *j, const struct recognised *r, const struct comparison *c)
{
	const struct known *known = c->known;
	struct match best = { r, NULL, 0, 0 };

	for (size_t i = 0; i < c->n; i++) {
		const struct voiceprint *print = c->prints[i];
		const double likeness = print != NULL && print->n == r->print->n ?
		    c->likeness(r->print->at, print->at, print->n) : 0;
		const bool same = best.voice != NULL && uuid_equal(best.voice->voice_id, known[i].voice_id);

		/* Of most prints nobody needs to know. */
		if (!(likeness >= c->limits.maybe) || (likeness <= best.likeness && (same || likeness <= best.next)) ||
		    is_rejected(j, r->speaker_id, known[i].voice_id))
			continue;
		if (likeness > best.likeness)
			best = (struct match){ r, &known[i], likeness, same ? best.next : best.likeness };
		else if (!same && likeness > best.next)
			best.next = likeness;
	}
	return best;
}

static void
propose(struct job *j, const struct match *m)
{
	db_run(j->db, "UPDATE speakers SET proposed_id = ?, likeness = ?, version = version + 1, updated_at = ? WHERE "
	    "id = ?", ARGS(ID(m->voice->voice_id), REAL(m->likeness), TIME(moment_now()), ID(m->who->speaker_id)));
}

/* Where a person has given the name to another one of the asset, a person decides. */
static bool
name(struct job *j, const struct match *m)
{
	const struct arg now = TIME(moment_now());

	if (db_run(j->db, "UPDATE speakers p JOIN (SELECT id FROM speakers WHERE media_id = ? AND source = 'machine' "
	    "AND voice_id = ? AND merged_into IS NULL AND id <> ?) w SET p.merged_into = w.id, p.version = p.version + 1, "
	    "p.updated_at = ? WHERE p.id = ?", ARGS(ID(j->media_id), ID(m->voice->voice_id), ID(m->who->speaker_id), now,
	    ID(m->who->speaker_id))) > 0)
		return true;
	if (db_number(j->db, "SELECT 1 FROM speakers WHERE media_id = ? AND label = ? AND id <> ? LIMIT 1",
	    ARGS(ID(j->media_id), STR(m->voice->name), ID(m->who->speaker_id)), 0) != 0) {
		propose(j, m);
		return false;
	}
	db_run(j->db, "UPDATE speakers SET label = ?, source = 'machine', confidence = ?, voice_id = ?, proposed_id = "
	    "NULL, likeness = 0, version = version + 1, updated_at = ? WHERE id = ?", ARGS(STR(m->voice->name),
	    REAL(m->likeness), ID(m->voice->voice_id), now, ID(m->who->speaker_id)));
	return true;
}

static bool
is_open(const struct open *open, size_t n, struct uuid id)
{
	for (size_t i = 0; i < n; i++)
		if (uuid_equal(open[i].speaker_id, id))
			return open[i].keeps_print;
	return false;
}

static bool
is_sure(const struct match *m, const struct recognition *limits)
{
	return m->likeness >= limits->same && m->likeness - m->next >= RECOGNITION_APART && m->who->speech >=
	    VOICES_LEARN;
}

static struct comparison
comparison_of(struct job *j, const struct engine *e, const char *maker)
{
	struct comparison c = { .limits = recognition_limits(j->conf, e), .likeness = e->likeness.of };

	c.known = known_voices(j, maker, &c.n);
	c.prints = arena_array(j->mem, c.n, sizeof(struct voiceprint *));
	for (size_t i = 0; i < c.n; i++)
		c.prints[i] = print_of(j->mem, c.known[i].print);
	return c;
}

bool
recognition_run(struct job *j, const struct engine *e, const char *maker, const struct recognised *all, size_t n)
{
	struct match *matches = arena_array(j->mem, n, sizeof(*matches)), *best;
	const struct comparison c = comparison_of(j, e, maker);
	const struct open *open;
	size_t n_open, i, left;
	bool any = false;

	open = db_rows(j->db, &open_record, "FROM speakers t WHERE t.media_id = ? AND t.source IS NULL AND "
	    "t.merged_into IS NULL AND t.forgotten_at = 0 AND NOT EXISTS (SELECT 1 FROM speakers x WHERE x.merged_into = t.id)",
	    ARGS(ID(j->media_id)), &n_open);
	for (i = left = 0; i < n; i++) {
		if (all[i].print == NULL || all[i].speech < RECOGNITION_SPEECH)
			continue;
		keep(j, maker, &all[i]);
		if (is_open(open, n_open, all[i].speaker_id))
			matches[left++] = best_of(j, &all[i], &c);
	}
	for (; left > 0; *best = matches[--left]) {
		for (best = matches, i = 1; i < left; i++)
			if (matches[i].likeness > best->likeness)
				best = &matches[i];
		if (best->voice == NULL)
			continue;
		if (is_sure(best, &c.limits))
			any |= name(j, best);
		else
			propose(j, best);
	}
	return any;
}
