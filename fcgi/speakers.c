/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/speakers: who is heard in assets, and what people call them */
#include <string.h>

#include "core/voices.h"
#include "core/job.h"
#include "media/label.h"
#include "media/speaking.h"
#include "fcgi/access.h"

enum { LABEL_MAX = 100 };		/* characters, which NFC may make more */

struct heard {
	struct uuid id, media_id, merged_into, voice_id, proposed_id;
	int64_t number, media_count;
	const char *label, *source, *name;
	bool is_labelled;
	double confidence, likeness;
	struct nested proposal;
	struct ids channel_ids;
	struct position total_duration;
	struct list instances;
	struct moment created_at, updated_at;
	int64_t version;
};
struct proposal { const char *label; double confidence; };
static const struct field proposal_fields[] = {
	FIELD(struct proposal, label, .on = SERVER, .required = true, .doc = "Who it may be"),
	FIELD(struct proposal, confidence, .on = SERVER, .required = true, .doc = "How alike the voices are, 0 to 1"),
};
static const struct record proposal_record = RECORD("SpeakerProposal", struct proposal, proposal_fields);

static const struct field heard_fields[] = {
	FIELD(struct heard, id,             .on = SERVER, .required = true, .doc = "Unique id"),
	FIELD(struct heard, media_id,       .on = SERVER, .required = true, .sql = "h.media_id", .doc = "The asset in which it is heard"),
	FIELD(struct heard, number,         .on = SERVER, .required = true, .sql = "h.number", .doc = "From 1, by who is heard first; it stays"),
	FIELD(struct heard, label,          .on = PATCH, .max = LABEL_MAX,
	    .doc = "Who it is, once somebody has said so; null or empty: nobody has, and it is called by its number"),
	FIELD(struct heard, is_labelled,    .on = COMPUTED, .required = true, .doc = "Has it a label?"),
	FIELD(struct heard, name,           .on = COMPUTED, .required = true, .doc = "What people read: the label, or Speaker and the number"),
	FIELD(struct heard, source,         .on = SERVER | OMIT_NULL, .one_of = "human machine",
	    .doc = "Who has said who it is: machine is by a voice that was labelled before"),
	FIELD(struct heard, confidence,     .on = SERVER | OMIT_NULL, .doc = "Of machine: how alike the voices are, 0 to 1"),
	FIELD(struct heard, proposal,       .on = COMPUTED | OMIT_NULL, .of = &proposal_record,
	    .doc = "Who it may be, by a voice that was labelled before, for those who may say so: label it, or "
	    "reject this"),
	FIELD(struct heard, merged_into,    .on = SERVER | OMIT_NULL, .doc = "The speaker that it is a part of"),
	FIELD(struct heard, media_count,    .on = COMPUTED, .required = true, .doc = "In how many assets it is heard"),
	FIELD(struct heard, total_duration, .on = COMPUTED, .required = true, .doc = "How long it speaks, in seconds"),
	FIELD(struct heard, instances,      .on = COMPUTED | DETAIL, .required = true, .of = &turn_record, .doc = "When it speaks"),
	FIELD(struct heard, created_at,     .on = SERVER | SORT, .required = true, .doc = "When it was first heard"),
	FIELD(struct heard, updated_at,     .on = SERVER, .required = true, .doc = "Last change"),
	FIELD(struct heard, voice_id,       .on = SERVER | HIDDEN, .doc = "Whose voice it is"),
	FIELD(struct heard, proposed_id,    .on = SERVER | HIDDEN, .doc = "Whose it may be"),
	FIELD(struct heard, likeness,       .on = SERVER | HIDDEN, .doc = "To that one"),
	FIELD(struct heard, channel_ids,    .on = SERVER | HIDDEN,
	    .sql = "(SELECT b.channel_ids FROM media b WHERE b.id = h.media_id)", .doc = "Where its asset is"),
	FIELD(struct heard, version,        .on = SERVER | HIDDEN, .doc = "Grows with each change"),
};
static const struct record heard_record = RECORD("Speaker", struct heard, heard_fields);

#define SHOWN "t.forgotten_at = 0"

const struct object speaker_object = {
	.path = "/v2/speakers/{speakerId}", .reach = REACH_BELOW_MEDIA, .record = &heard_record,
	.from = "FROM speakers t JOIN media_speakers h ON h.speaker_id = t.id JOIN media a ON a.id = h.media_id WHERE "
	    "t.id = ? AND " SHOWN,
};

struct merge { struct uuid speaker_id; };
static const struct field merge_fields[] = {
	FIELD(struct merge, speaker_id, .on = CREATE, .required = true, .doc = "The speaker of the same asset that becomes a part of this one"),
};
static const struct record merge_record = RECORD("SpeakerMerge", struct merge, merge_fields);

struct forgetting { bool names; };
static const struct field forgetting_fields[] = {
	FIELD(struct forgetting, names, .on = QUERY,
	    .doc = "Take the name away also in all other assets in which the voice is known: it is shown and "
	    "found no more at once, and files of subtitles follow"),
};
static const struct record forgetting_record = RECORD("SpeakerForgetting", struct forgetting, forgetting_fields);

/* What is proposed is voice material: it is for those alone who may act on it. */
static void
add_proposal(struct req *r, struct heard *h)
{
	struct proposal *p = NEW(r->mem, struct proposal);

	if (uuid_is_none(h->proposed_id) || (access_by(r, &h->channel_ids) & r->who->scopes &
	    SCOPE_BIT(SCOPE_CREATE_CONTENT)) == 0)
		return;
	p->confidence = h->likeness;
	p->label = db_text(r->db, "SELECT v.name FROM voices v WHERE v.id = ? AND v.tenant_id = ? AND "
	    VOICES_KNOWN_SQL, ARGS(ID(h->proposed_id), ID(r->who->tenant_id)));
	if (p->label != NULL)
		h->proposal.row = p;
}

/* In other assets that the caller sees. */
#define OF_VOICE "FROM speakers s JOIN voices v ON v.id = s.voice_id AND " VOICES_KNOWN_SQL " JOIN media_speakers h " \
	"ON h.speaker_id = s.id JOIN media t ON t.id = h.media_id AND t.deleted_at = 0 WHERE s.voice_id = ? AND s.tenant_id " \
	"= ? AND s.forgotten_at = 0 AND h.media_id <> ?"

static int64_t
elsewhere(struct req *r, const struct heard *h, const char *const sql[2])
{
	if (uuid_is_none(h->voice_id))
		return 0;
	if (r->audience->everywhere & SCOPE_BIT(SCOPE_VIEW_METADATA))
		return db_number(r->db, sql[0], ARGS(ID(h->voice_id), ID(r->who->tenant_id), ID(h->media_id)), 0);
	return db_number(r->db, sql[1], ARGS(ID(h->voice_id), ID(r->who->tenant_id), ID(h->media_id), ID(r->who->id),
	    ID(r->who->id), STR(role_names(r->mem, SCOPE_VIEW_METADATA))), 0);
}

static void
count(struct req *r, struct heard *h)
{
#define BOTH(what) { "SELECT " what " " OF_VOICE, "SELECT " what " " OF_VOICE " AND " ACCESS_VIEW_SQL }
	static const char *const assets[2] = BOTH("COUNT(DISTINCT h.media_id)"), *const ms[2] =
	    BOTH("COALESCE(SUM(h.duration), 0)");
#undef BOTH

	h->media_count = 1 + elsewhere(r, h, assets);
	h->total_duration.ms += elsewhere(r, h, ms);
}

/* The speakers of its asset tell what no column does. */
static void
complete(struct req *r, struct heard *h, const struct list *all)
{
	const struct list shown = speaking_shown(r->mem, all);
	const struct speaker *own = speakers_find(all, h->id), *s = speakers_find(&shown, h->id);

	if (s == NULL)
		s = own;
	if (own == NULL || own->source == NULL) {
		h->source = NULL;
		h->confidence = 0;
	}
	h->label = own != NULL ? speakers_label(all, own) : NULL;
	h->is_labelled = h->label != NULL;
	h->name = h->is_labelled ? h->label : arena_printf(r->mem, "Speaker %lld", (long long)h->number);
	h->total_duration = (struct position){ s != NULL ? s->duration.ms : 0, true };
	count(r, h);
	add_proposal(r, h);
	if (s != NULL)
		h->instances = s->turns;
}

static int
heard_list(struct req *r, struct heard *rows, size_t n)
{
	struct list all = { NULL, 0 };

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !uuid_equal(rows[i].media_id, rows[i - 1].media_id))
			all = speakers_of(r->db, NULL, rows[i].media_id, "en");
		complete(r, &rows[i], &all);
	}
	return reply_list(r, &heard_record, rows, n);
}

static int
media_speakers_list(struct req *r)
{
	struct heard *rows;
	size_t n;

	if (r->page.sort == NULL)
		r->page.sort = "createdAt";
	rows = db_list(r->db, &heard_record, "FROM media_speakers h JOIN speakers t ON t.id = h.speaker_id AND " SHOWN
	    " AND t.merged_into IS NULL WHERE h.media_id = ?", ARGS(ID(r->id[0])), &r->page, &n);
	return heard_list(r, rows, n);
}

#define ALL "FROM speakers t JOIN media_speakers h ON h.speaker_id = t.id WHERE t.tenant_id = ? AND " SHOWN " AND " \
	"t.merged_into IS NULL AND EXISTS (SELECT 1 FROM media t WHERE t.id = h.media_id AND t.deleted_at = 0"

static int
speakers_list(struct req *r)
{
	struct heard *rows;
	size_t n;

	if (r->audience->everywhere & SCOPE_BIT(SCOPE_VIEW_METADATA))
		rows = db_list(r->db, &heard_record, ALL ")", ARGS(ID(r->who->tenant_id)), &r->page, &n);
	else
		rows = db_list(r->db, &heard_record, ALL " AND " ACCESS_VIEW_SQL ")", ARGS(ID(r->who->tenant_id),
		    ID(r->who->id), ID(r->who->id), STR(role_names(r->mem, SCOPE_VIEW_METADATA))), &r->page, &n);
	return heard_list(r, rows, n);
}

static int
speaker_reply(struct req *r, struct heard *h)
{
	struct list all;

	if (h == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	all = speakers_of(r->db, NULL, h->media_id, "en");
	complete(r, h, &all);
	r->etag = reply_tag(r, &heard_record, h);
	return reply(r, 200, &heard_record, h);
}

static int
speaker_get(struct req *r)
{
	return speaker_reply(r, r->object);
}

static void
write_anew(void *user, const struct transcript *t)
{
	struct req *r = user;
	struct job_place place = { .tenant_id = r->who->tenant_id, .media_id = t->media_id,
	    .priority = PRIORITY_FIRST };

	job_add(r->db, captions, place, .media_id = t->media_id, .transcript_id = t->id);
}

/* Who speaks in the asset has another name now. */
static void
tell(struct req *r, struct uuid media_id)
{
	speaking_renamed(r->db, media_id, write_anew, r);
	event(r, media_id, "metadata.updated", arena_printf(r->mem, "{\"mediaId\":\"%s\",\"kind\":\"speakers\"}",
	    uuid_text(r->mem, media_id)));
}

/* What is to be changed, without voices that a job has not taken from its asset yet. */
static struct heard *
without_gone(struct req *r)
{
	const struct heard *h = r->object;

	if (voices_leave(r->db, r->who->tenant_id, h->media_id))
		tell(r, h->media_id);
	return object_again(r);
}

/* Nobody else changes speakers of the asset, whose row is locked; but older ones may have, since this began. */
static struct list
locked(struct req *r, struct uuid media_id)
{
	db_number(r->db, "SELECT COUNT(*) FROM speakers WHERE media_id = ? FOR UPDATE", ARGS(ID(media_id)), 0);
	return speakers_of(r->db, NULL, media_id, "en");
}

/* Is it another one's, in the asset? */
static bool
is_taken(struct req *r, const struct heard *h, const char *label)
{
	return label != NULL && db_number(r->db, "SELECT 1 FROM speakers WHERE media_id = ? AND label = ? AND id <> ? "
	    "AND forgotten_at = 0 AND (merged_into IS NULL OR merged_into <> ?) LIMIT 1 FOR UPDATE",
	    ARGS(ID(h->media_id), STR(label), ID(h->id), ID(h->id)), 0) != 0;
}

static bool
is_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int
speaker_patch(struct req *r)
{
	const struct heard *in = r->in;
	struct heard *h = without_gone(r);
	const char *label = in->label != NULL ? label_clean(r->mem, in->label) : NULL;

	if (h == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (label != NULL && utf8_blank(label))
		label = NULL;
	if (label != NULL && utf8_length(label) > LABEL_MAX) {
		fault(r, "/label", "too_long", "at most %d characters", LABEL_MAX);
		return refuse(r, ERR_INVALID, NULL);
	}
	if ((r->given & record_bit(&heard_record, "label")) == 0)
		return speaker_reply(r, h);
	if (!uuid_is_none(h->merged_into))
		return refuse(r, ERR_SPEAKER_MERGED, NULL);
	if (is_taken(r, h, label))
		return refuse(r, ERR_NAME_TAKEN, "Another speaker of the asset has this name: merge the two, or "
		    "give each a name of its own.");
	if (is_same(h->label, label) && (label == NULL || (is_same(h->source, "human") &&
	    (!uuid_is_none(h->voice_id) || !voices_hold(r->db, r->who->tenant_id)))))
		return speaker_reply(r, h);
	voices_named(r->db, r->who->tenant_id, h->id, label);
	db_run(r->db, "UPDATE speakers SET label = ?, source = ?, confidence = 0, version = version + 1, "
	    "updated_at = ? WHERE id = ?", ARGS(STR(label), STR(label != NULL ? "human" : NULL), TIME(r->now), ID(h->id)));
	voices_tidy(r->db, r->who->tenant_id);
	if (!is_same(h->label, label))
		tell(r, h->media_id);
	return speaker_reply(r, object_again(r));
}

/* The name that a job has given goes, too. */
static int
speaker_reject(struct req *r)
{
	const struct heard *h = without_gone(r);
	const bool named = h != NULL && is_same(h->source, "machine");

	if (h == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (!named && uuid_is_none(h->proposed_id))
		return refuse(r, ERR_SPEAKER_KNOWN, NULL);
	voices_reject(r->db, h->id);
	db_run(r->db, "UPDATE speakers SET label = IF(source = 'machine', NULL, label), confidence = 0, source = "
	    "NULLIF(source, 'machine'), version = version + 1, updated_at = ? WHERE id = ?", ARGS(TIME(r->now),
	    ID(h->id)));
	if (named)
		tell(r, h->media_id);
	return speaker_reply(r, object_again(r));
}

static void
put_into(struct req *r, struct uuid id, struct uuid whole_id)
{
	db_run(r->db, "UPDATE speakers SET merged_into = ?, version = version + 1, updated_at = ? WHERE id = ?",
	    ARGS(ID(whole_id), TIME(r->now), ID(id)));
}

/* It keeps its turns, its name and the paragraphs that people have said are by it: it is shown as another one. */
static int
speaker_merge(struct req *r)
{
	const struct merge *in = r->in;
	const struct heard *h = r->object;
	const struct list all = locked(r, h->media_id);
	const struct speaker *part = speakers_find(&all, in->speaker_id), *whole = speakers_find(&all, h->id), *s =
	    all.rows;

	if (part == NULL || part->forgotten_at.ms != 0)
		fault(r, "/speakerId", "not_found", "the asset has no such speaker");
	else if (part == whole)
		fault(r, "/speakerId", "not_allowed", "nobody is a part of itself");
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (whole != NULL && uuid_equal(part->merged_into, whole->speaker_id))
		return speaker_reply(r, r->object);
	if (whole == NULL || !uuid_is_none(whole->merged_into) || !uuid_is_none(part->merged_into))
		return refuse(r, ERR_SPEAKER_MERGED, NULL);
	put_into(r, part->speaker_id, whole->speaker_id);
	db_run(r->db, "UPDATE speakers SET part_of = merged_into WHERE id = ?", ARGS(ID(part->speaker_id)));
	for (size_t i = 0; i < all.n; i++)
		if (uuid_equal(s[i].merged_into, part->speaker_id))
			put_into(r, s[i].speaker_id, whole->speaker_id);
	put_into(r, whole->speaker_id, (struct uuid){ { 0 } });
	tell(r, h->media_id);
	return speaker_reply(r, object_again(r));
}

/* Those that were parts of it before come along, and so do theirs. */
static void
bring_parts(struct req *r, const struct list *all, struct uuid id, struct uuid from, struct uuid to)
{
	struct speaker *s = all->rows;

	for (size_t i = 0; i < all->n; i++)
		if (uuid_equal(s[i].part_of, id) && uuid_equal(s[i].merged_into, from)) {
			put_into(r, s[i].speaker_id, to);
			s[i].merged_into = to;
			bring_parts(r, all, s[i].speaker_id, from, to);
		}
}

/* It has again what it had. */
static int
speaker_split(struct req *r)
{
	const struct heard *h = r->object;
	const struct uuid whole_id = h->merged_into;
	const struct list all = locked(r, h->media_id);

	if (uuid_is_none(whole_id))
		return refuse(r, ERR_SPEAKER_WHOLE, NULL);
	put_into(r, h->id, (struct uuid){ { 0 } });
	db_run(r->db, "UPDATE speakers SET part_of = NULL WHERE id = ?", ARGS(ID(h->id)));
	bring_parts(r, &all, h->id, whole_id, h->id);
	/* A job that takes the two for one does not do so again. */
	db_run(r->db, "INSERT IGNORE INTO speaker_rejections (speaker_id, voice_id) SELECT ?, voice_id FROM speakers "
	    "WHERE id = ? AND source = 'machine' AND voice_id IS NOT NULL", ARGS(ID(h->id), ID(whole_id)));
	db_run(r->db, "UPDATE speakers SET version = version + 1, updated_at = ? WHERE id = ?", ARGS(TIME(r->now),
	    ID(whole_id)));
	tell(r, h->media_id);
	return speaker_reply(r, object_again(r));
}

struct known { struct uuid voice_id; };
static const struct field known_fields[] = { FIELD(struct known, voice_id, .doc = "Of a speaker or a part of it") };
static const struct record known_record = RECORD("KnownVoice", struct known, known_fields);

/* May the caller say in all assets of the voice who it is? */
static bool
may_forget(struct req *r, struct uuid voice_id)
{
	if (r->who->is_super_admin || r->audience->everywhere & SCOPE_BIT(SCOPE_CREATE_CONTENT))
		return true;
	if (db_number(r->db, "SELECT COUNT(*) FROM speakers s JOIN media t ON t.id = s.media_id WHERE s.tenant_id = ? "
	    "AND s.voice_id = ? AND NOT " ACCESS_ROLE_SQL, ARGS(ID(r->who->tenant_id), ID(voice_id), ID(r->who->id),
	    ID(r->who->id), STR(role_names(r->mem, SCOPE_CREATE_CONTENT))), 1) == 0)
		return true;
	refuse(r, ERR_FORBIDDEN, "The voice is known in assets where you do not have the permission CreateContent: who "
	    "has it everywhere forgets the voice; you may take the label away here.");
	return false;
}

/* Its parts are the same person.  A job that names speakers waits, or finds nothing any more. */
static int
speaker_delete(struct req *r)
{
	const struct forgetting *in = r->in;
	const struct heard *h = without_gone(r);
	const struct known *voices;
	size_t n, i;

	if (h == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (!uuid_is_none(h->merged_into))
		return refuse(r, ERR_SPEAKER_MERGED, NULL);
	db_number(r->db, "SELECT 1 FROM tenants WHERE id = ? FOR UPDATE", ARGS(ID(r->who->tenant_id)), 0);
	voices = db_rows(r->db, &known_record, "FROM speakers t WHERE (t.id = ? OR t.merged_into = ?) AND t.tenant_id "
	    "= ? AND t.voice_id IS NOT NULL GROUP BY t.voice_id", ARGS(ID(h->id), ID(h->id), ID(r->who->tenant_id)), &n);
	for (i = 0; i < n; i++)
		if (!may_forget(r, voices[i].voice_id))
			return r->status;
	for (i = 0; i < n; i++)
		voices_forget(r->db, r->who->tenant_id, voices[i].voice_id, in->names);
	voices_leave(r->db, r->who->tenant_id, h->media_id);
	db_run(r->db, "DELETE p FROM voiceprints p JOIN speakers s ON s.id = p.speaker_id WHERE (s.id = ? OR "
	    "s.merged_into = ?) AND s.tenant_id = ?", ARGS(ID(h->id), ID(h->id), ID(r->who->tenant_id)));
	db_run(r->db, "UPDATE speakers SET label = NULL, source = NULL, confidence = 0, forgotten_at = ?, version = "
	    "version + 1, updated_at = ? WHERE (id = ? OR merged_into = ?) AND tenant_id = ?", ARGS(TIME(r->now),
	    TIME(r->now), ID(h->id), ID(h->id), ID(r->who->tenant_id)));
	voices_tidy(r->db, r->who->tenant_id);
	tell(r, h->media_id);
	return reply_deleted(r, h->id, true);
}

const struct route speakers_routes[] = {
	{
		GET, "/v2/media/{mediaId}/speakers", SCOPE_VIEW_METADATA, media_speakers_list, NULL, &heard_record,
		"List who is heard in an asset, where voices are told apart, the first to be heard first",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		GET, "/v2/speakers", SCOPE_VIEW_METADATA, speakers_list, NULL, &heard_record,
		"List who is heard in assets that the caller sees", .flags = LIST, .fails = "422",
	},
	{
		GET, "/v2/speakers/{speakerId}", SCOPE_VIEW_METADATA, speaker_get, NULL, &heard_record,
		"Get who is heard in an asset", .flags = CONDITIONAL, .fails = "403 404",
	},
	{
		METHOD_PATCH, "/v2/speakers/{speakerId}", SCOPE_CREATE_CONTENT, speaker_patch, &heard_record,
		&heard_record,
		"Say who it is: transcripts, subtitles and search have the name at once",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "name_taken speaker_merged",
	},
	{
		METHOD_DELETE, "/v2/speakers/{speakerId}", SCOPE_CREATE_CONTENT, speaker_delete, &forgetting_record,
		&deleted_record,
		"Forget a speaker and its voice: what it says stays, by nobody, and it is not known again in other assets",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "speaker_merged",
	},
	{
		PUT, "/v2/speakers/{speakerId}/merge", SCOPE_CREATE_CONTENT, speaker_merge, &merge_record,
		&heard_record,
		"Make another speaker of the same asset a part of this one, as it is the same person",
		.flags = CONDITIONAL, .fails = "403 404 409 412 422", .codes = "speaker_merged",
	},
	{
		PUT, "/v2/speakers/{speakerId}/split", SCOPE_CREATE_CONTENT, speaker_split, NULL, &heard_record,
		"Part a speaker from the one that it was merged into; it has again what it had",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412", .codes = "speaker_not_merged",
	},
	{
		PUT, "/v2/speakers/{speakerId}/reject", SCOPE_CREATE_CONTENT, speaker_reject, NULL, &heard_record,
		"Say that a speaker is not who it is proposed to be, or was named by a job, which does not say so again",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412", .codes = "speaker_not_proposed",
	},
	{ 0 }
};
