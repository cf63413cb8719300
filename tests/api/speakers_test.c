/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speakers of assets, and their names. */
#include <string.h>

#include "core/speakers.h"
#include "core/voices.h"
#include "media/transcript.h"
#include "tests/world.h"

/* A talk of two who take turns, a paragraph each, and who they are. */
struct talk { struct uuid media_id, transcript_id, paragraphs[2], speakers[3]; };

static struct uuid
add_speaker(struct world *w, struct uuid media_id, int64_t number, int64_t start, int64_t end)
{
	struct turn turn = { { start, true }, { end, true } };
	struct speaker s = { .speaker_id = speakers_new(w->db, w->tenant_id, media_id), .number = number,
	    .turns = { &turn, 1 } };

	speakers_put(w->db, media_id, &s);
	return s.speaker_id;
}

static struct talk
add_talk(struct world *w)
{
	struct talk k = { .media_id = world_media(w, "video", "Talk"), .paragraphs = { uuid_new(), uuid_new() } };
	struct word words[] = { { "Hello", { 0, true }, { 2000, true }, 0.9, "machine" },
	    { "Goodbye.", { 5000, true }, { 6000, true }, 0.9, "machine" } };
	struct paragraph p[2];
	struct list list = { p, 2 };
	struct transcript t = { .id = uuid_new(), .media_id = k.media_id, .language_code = "en", .source = "machine",
	    .engine = "test 1", .status = "completed", .quality = "good", .captions = "automatic", .confidence = 0.9,
	    .version = 1, .created_at = moment_now(), .updated_at = moment_now() };

	for (int i = 0; i < 2; i++) {
		k.speakers[i] = add_speaker(w, k.media_id, i + 1, i * 4000, i * 4000 + 3000);
		p[i] = (struct paragraph){ .id = k.paragraphs[i], .speaker_id = k.speakers[i], .start = words[i].start,
		    .end = words[i].end, .text = words[i].text, .words = { &words[i], 1 } };
	}
	t.paragraphs.text = transcript_json(w->mem, &list);
	assert_true(db_insert(w->db, "transcripts", &transcript_record, &t));
	k.transcript_id = t.id;
	return k;
}

static struct req *
speaker(struct world *w, const char *method, struct uuid id, const char *rest, const char *body)
{
	return call(w, method, arena_printf(w->mem, "/v2/speakers/%s%s", uuid_text(w->mem, id), rest), body);
}

static struct req *
name(struct world *w, struct uuid id, const char *label)
{
	return speaker(w, "PATCH", id, "", arena_printf(w->mem, "{\"label\":\"%s\"}", label));
}

static struct req *
merge(struct world *w, struct uuid whole, struct uuid part)
{
	return speaker(w, "PUT", whole, "/merge", arena_printf(w->mem, "{\"speakerId\":\"%s\"}",
	    uuid_text(w->mem, part)));
}

static const char *
transcript_path(struct world *w, const struct talk *k)
{
	return arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, k->media_id),
	    uuid_text(w->mem, k->transcript_id));
}

static const char *
said_by(struct world *w, const struct talk *k, int paragraph)
{
	return text(w, call(w, "GET", transcript_path(w, k), NULL), arena_printf(w->mem, "data.paragraphs.%d.speaker",
	    paragraph));
}

static int64_t
jobs(struct world *w, const struct talk *k, const char *kind)
{
	return number(w, "FROM jobs t WHERE t.media_id = ? AND t.kind = ?", ARGS(ID(k->media_id), STR(kind)));
}

/* speaker: JSON. */
static struct req *
give(struct world *w, const struct talk *k, const char *speaker_id)
{
	return call(w, "PATCH", transcript_path(w, k), arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\","
	    "\"speakerId\":%s}]}", uuid_text(w->mem, k->paragraphs[0]), speaker_id));
}

static const char *
quoted(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "\"%s\"", uuid_text(w->mem, id));
}

static void
a_name_is_in_transcript_files_and_search_at_once(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);
	struct req *r = name(w, k.speakers[1], "Ann Other");

	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.name"), "Ann Other");
	assert_string_equal(text(w, r, "data.isLabelled"), "true");
	assert_string_equal(text(w, r, "data.source"), "human");
	assert_string_equal(text(w, r, "data.totalDuration"), "3.000");
	assert_string_equal(said_by(w, &k, 0), "Speaker 1");
	assert_string_equal(said_by(w, &k, 1), "Ann Other");
	r = call(w, "GET", arena_printf(w->mem, "%s/download?transcriptDownloadType=vtt", transcript_path(w, &k)),
	    NULL);
	assert_non_null(strstr(buf_string(&r->out), "<v Ann Other>Goodbye."));
	assert_int_equal(jobs(w, &k, "captions"), 1);
	assert_int_equal(number(w, "FROM search_pending t WHERE t.media_id = ?", ARGS(ID(k.media_id))), 1);
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'metadata.updated' AND t.data LIKE "
	    "'%\"speakers\"%'", ARGS(ID(k.media_id))), 1);
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/speakers", uuid_text(w->mem, k.media_id)), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_string_equal(text(w, r, "data.0.number"), "1");
	assert_string_equal(text(w, r, "data.1.number"), "2");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata?expand=speakers", uuid_text(w->mem, k.media_id)),
	    NULL);
	assert_string_equal(text(w, r, "data.speakers.items.1.label"), "Ann Other");
}

static void
the_same_name_again_changes_nothing_and_makes_no_job(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);

	name(w, k.speakers[0], "Ann");
	assert_int_equal(jobs(w, &k, "captions"), 1);
	assert_int_equal(name(w, k.speakers[0], " Ann ")->status, 200);
	assert_int_equal(jobs(w, &k, "captions"), 1);
	assert_int_equal(number(w, "FROM events t WHERE t.media_id = ? AND t.type = 'metadata.updated'",
	    ARGS(ID(k.media_id))), 1);
}

static void
names_are_one_clean_line_and_empty_is_the_number_again(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);
	struct buf b = BUF(w->mem);
	struct req *r;
	int i;

	assert_string_equal(text(w, name(w, k.speakers[0], "  Zoe\\u0308   Kr\\u00fcger "), "data.label"),
	    "Zo\xc3\xab Kr\xc3\xbcger");
	assert_int_equal(name(w, k.speakers[0], "a\\u0007b")->status, 422);
	assert_int_equal(name(w, k.speakers[0], "a\\nb")->status, 422);
	assert_int_equal(name(w, k.speakers[0], "a\\u202eb")->status, 422);
	assert_int_equal(name(w, k.speakers[0], arena_printf(w->mem, "%0101d", 0))->status, 422);
	assert_int_equal(name(w, k.speakers[0], arena_printf(w->mem, "%0100d", 0))->status, 200);
	/* Of U+0958 NFC makes two. */
	for (i = 0; i < 51; i++)
		buf_text(&b, "\u0958");
	r = name(w, k.speakers[0], buf_string(&b));
	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/label", "too_long"));
	assert_int_equal(name(w, k.speakers[0], buf_string(&b) + strlen("\u0958"))->status, 200);
	name(w, k.speakers[0], "Zo\xc3\xab Kr\xc3\xbcger");
	assert_string_equal(said_by(w, &k, 0), "Zo\xc3\xab Kr\xc3\xbcger");
	assert_null(text(w, name(w, k.speakers[0], "  "), "data.label"));
	assert_string_equal(said_by(w, &k, 0), "Speaker 1");
	name(w, k.speakers[0], "Ann");
	assert_int_equal(speaker(w, "PATCH", k.speakers[0], "", "{\"label\":null}")->status, 200);
	assert_string_equal(said_by(w, &k, 0), "Speaker 1");
}

static void
two_of_an_asset_have_two_names(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), other = add_talk(w);

	name(w, k.speakers[0], "Ann");
	assert_int_equal(name(w, k.speakers[1], "ann")->status, 409);
	assert_int_equal(name(w, other.speakers[1], "Ann")->status, 200);
}

static void
who_is_merged_and_split_again_has_all_that_it_had(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);
	const struct uuid third = add_speaker(w, k.media_id, 3, 8000, 9000);
	const char *before;
	struct req *r;

	name(w, k.speakers[1], "Bob");
	assert_int_equal(give(w, &k, quoted(w, k.speakers[1]))->status, 200);
	assert_string_equal(said_by(w, &k, 0), "Bob");
	r = call(w, "GET", transcript_path(w, &k), NULL);
	before = text(w, r, "data.paragraphs");
	merge(w, k.speakers[1], third);
	assert_int_equal(merge(w, k.speakers[0], k.speakers[1])->status, 200);
	r = call(w, "GET", transcript_path(w, &k), NULL);
	assert_string_equal(text(w, r, "data.paragraphs.0.speakerId"), uuid_text(w->mem, k.speakers[0]));
	assert_string_equal(text(w, r, "data.paragraphs.1.speaker"), "Bob");
	r = speaker(w, "GET", k.speakers[0], "", NULL);
	assert_string_equal(text(w, r, "data.totalDuration"), "7.000");
	assert_string_equal(text(w, r, "data.instances.2.start"), "8.000");
	r = call(w, "GET", arena_printf(w->mem, "/v2/media/%s/speakers", uuid_text(w->mem, k.media_id)), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "1");
	r = speaker(w, "GET", k.speakers[1], "", NULL);
	assert_string_equal(text(w, r, "data.mergedInto"), uuid_text(w->mem, k.speakers[0]));
	assert_int_equal(name(w, k.speakers[1], "Carl")->status, 409);
	assert_int_equal(speaker(w, "PUT", k.speakers[1], "/split", NULL)->status, 200);
	assert_int_equal(speaker(w, "PUT", k.speakers[1], "/split", NULL)->status, 409);
	/* With what was a part of it before. */
	r = speaker(w, "GET", third, "", NULL);
	assert_string_equal(text(w, r, "data.mergedInto"), uuid_text(w->mem, k.speakers[1]));
	assert_string_equal(text(w, speaker(w, "GET", k.speakers[0], "", NULL), "data.totalDuration"), "3.000");
	assert_int_equal(speaker(w, "PUT", third, "/split", NULL)->status, 200);
	r = call(w, "GET", transcript_path(w, &k), NULL);
	if (before != NULL)
		assert_string_equal(text(w, r, "data.paragraphs"), before);
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Bob");
	assert_string_equal(text(w, r, "data.paragraphs.0.speakerSource"), "human");
	assert_string_equal(text(w, r, "data.paragraphs.1.speakerId"), uuid_text(w->mem, k.speakers[1]));
	assert_string_equal(text(w, speaker(w, "GET", k.speakers[0], "", NULL), "data.totalDuration"), "3.000");
}

static void
only_others_of_the_same_asset_are_merged(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), other = add_talk(w);
	struct world *elsewhere = world_other(w);
	struct talk foreign = add_talk(elsewhere);
	struct req *r = merge(w, k.speakers[0], k.speakers[0]);

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/speakerId", "not_allowed"));
	assert_int_equal(merge(w, k.speakers[0], other.speakers[0])->status, 422);
	assert_int_equal(merge(w, k.speakers[0], foreign.speakers[0])->status, 422);
	assert_int_equal(merge(w, foreign.speakers[0], k.speakers[0])->status, 404);
	assert_int_equal(merge(w, k.speakers[0], k.speakers[1])->status, 200);
	assert_int_equal(merge(w, k.speakers[0], k.speakers[1])->status, 200);
	assert_int_equal(merge(w, k.speakers[1], k.speakers[0])->status, 409);
	assert_int_equal(number(w, "FROM speakers t WHERE t.media_id = ? AND t.merged_into IS NOT NULL",
	    ARGS(ID(k.media_id))), 1);
}

static void
a_paragraph_is_by_whom_a_person_says_until_that_is_taken_back(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), other = add_talk(w);
	const char *path = transcript_path(w, &k);
	struct req *r = give(w, &k, quoted(w, other.speakers[0]));

	assert_int_equal(r->status, 422);
	assert_true(has_fault(r, "/paragraphs/0/speakerId", "not_found"));
	r = give(w, &k, quoted(w, k.speakers[1]));
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Speaker 2");
	assert_string_equal(text(w, r, "data.paragraphs.0.words.0.source"), "machine");
	r = call(w, "PATCH", path, arena_printf(w->mem, "{\"paragraphs\":[{\"id\":\"%s\",\"text\":\"Hello you\"}]}",
	    uuid_text(w->mem, k.paragraphs[0])));
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Speaker 2");
	r = give(w, &k, "null");
	assert_string_equal(text(w, r, "data.paragraphs.0.speaker"), "Speaker 1");
	assert_null(text(w, r, "data.paragraphs.0.speakerSource"));
	r = call(w, "GET", arena_printf(w->mem, "%s/versions", path), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "4");
}

static void
who_is_forgotten_is_nobody(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);

	name(w, k.speakers[1], "Bob");
	assert_int_equal(speaker(w, "DELETE", k.speakers[1], "", NULL)->status, 200);
	assert_int_equal(speaker(w, "GET", k.speakers[1], "", NULL)->status, 404);
	assert_null(said_by(w, &k, 1));
	assert_null(text(w, call(w, "GET", transcript_path(w, &k), NULL), "data.paragraphs.1.speakerId"));
	assert_int_equal(number(w, "FROM speakers t WHERE t.label IS NOT NULL AND t.media_id = ?",
	    ARGS(ID(k.media_id))), 0);
	assert_int_equal(merge(w, k.speakers[0], k.speakers[1])->status, 422);
}

static void
who_may_only_look_names_nobody_and_others_see_nothing(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);
	struct uuid viewer_id;
	const char *viewer = world_member(w, "ViewMetadata CreateContent", "Viewer", &viewer_id),
	    *stranger = world_member(w, "ViewMetadata CreateContent", NULL, &viewer_id);
	const char *path = arena_printf(w->mem, "/v2/speakers/%s", uuid_text(w->mem, k.speakers[0]));

	name(w, k.speakers[0], "Ann");
	assert_string_equal(text(w, call_as(w, viewer, "GET", path, NULL), "data.name"), "Ann");
	assert_int_equal(call_as(w, viewer, "PATCH", path, "{\"label\":\"Eve\"}")->status, 403);
	assert_int_equal(call_as(w, viewer, "DELETE", path, NULL)->status, 403);
	assert_string_equal(text(w, call_as(w, viewer, "GET", "/v2/speakers", NULL), "pagination.total"), "2");
	assert_string_equal(text(w, call_as(w, stranger, "GET", "/v2/speakers", NULL), "pagination.total"), "0");
	assert_int_equal(call_as(w, stranger, "GET", path, NULL)->status, 403);
	assert_string_equal(text(w, call(world_other(w), "GET", "/v2/speakers", NULL), "pagination.total"), "0");
}

static void
opt_in(struct world *w)
{
	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings", "{\"speakerRecognition\":true}")->status,
	    200);
}

static void
add_print(struct world *w, struct uuid speaker_id)
{
	db_run(w->db, "INSERT INTO voiceprints (speaker_id, tenant_id, engine, speech, print) VALUES (?, ?, 'test', "
	    "20000, 'SECRETPRINT')", ARGS(ID(speaker_id), ID(w->tenant_id)));
}

static int64_t
of_tenant(struct world *w, const char *table)
{
	return db_number(w->db, arena_printf(w->mem, "SELECT COUNT(*) FROM %s WHERE tenant_id = ?", table),
	    ARGS(ID(w->tenant_id)), -1);
}

/* As a job does: sure, or not. */
static void
recognise(struct world *w, struct uuid speaker_id, const char *label, bool sure)
{
	db_run(w->db, arena_printf(w->mem, "UPDATE speakers s JOIN voices v ON v.tenant_id = s.tenant_id AND v.name = "
	    "? SET %s WHERE s.id = ?", sure ? "s.label = v.name, s.source = 'machine', s.confidence = 0.8, s.voice_id = v.id" :
	    "s.proposed_id = v.id, s.likeness = 0.5"), ARGS(STR(label), ID(speaker_id)));
}

/* As the job does that a voice leaves behind. */
static void
follow(struct world *w)
{
	struct ids media;

	while ((media = voices_left(w->db, w->tenant_id)).n > 0)
		for (size_t i = 0; i < media.n; i++)
			voices_leave(w->db, w->tenant_id, media.at[i]);
	while (voices_delete(w->db, w->tenant_id))
		continue;
}

static int64_t
to_forget(struct world *w)
{
	return number(w, "FROM jobs t WHERE t.tenant_id = ? AND t.kind = 'forget'", ARGS(ID(w->tenant_id)));
}

static void
what_is_proposed_is_for_who_may_say_so_and_rejected_for_good(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w);
	struct uuid id;
	const char *viewer = world_member(w, "ViewMetadata CreateContent", "Viewer", &id),
	    *path = arena_printf(w->mem, "/v2/speakers/%s", uuid_text(w->mem, later.speakers[0]));
	struct req *r;

	opt_in(w);
	name(w, k.speakers[0], "Ann");
	add_print(w, k.speakers[0]);
	assert_int_equal(speaker(w, "PUT", later.speakers[0], "/reject", NULL)->status, 409);
	recognise(w, later.speakers[0], "Ann", false);
	r = call(w, "GET", path, NULL);
	assert_string_equal(text(w, r, "data.proposal.label"), "Ann");
	assert_string_equal(text(w, r, "data.name"), "Speaker 1");
	assert_null(strstr(buf_string(&r->out), "SECRET"));
	assert_null(text(w, call_as(w, viewer, "GET", path, NULL), "data.proposal.label"));
	assert_int_equal(speaker(w, "PUT", later.speakers[0], "/reject", NULL)->status, 200);
	assert_null(text(w, call(w, "GET", path, NULL), "data.proposal.label"));
	assert_int_equal(number(w, "FROM speaker_rejections t WHERE t.speaker_id = ?", ARGS(ID(later.speakers[0]))), 1);
	recognise(w, later.speakers[1], "Ann", false);
	assert_string_equal(text(w, name(w, later.speakers[1], "Ann"), "data.mediaCount"), "2");
	assert_null(text(w, speaker(w, "GET", later.speakers[1], "", NULL), "data.proposal.label"));
	assert_int_equal(of_tenant(w, "voices"), 1);
}

static void
a_name_by_a_machine_says_so_and_is_not_given_again_once_rejected(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w);
	struct req *r;

	opt_in(w);
	name(w, k.speakers[0], "Ann");
	recognise(w, later.speakers[0], "Ann", true);
	r = speaker(w, "GET", later.speakers[0], "", NULL);
	assert_string_equal(text(w, r, "data.source"), "machine");
	assert_string_equal(text(w, r, "data.confidence"), "0.8");
	assert_string_equal(text(w, r, "data.mediaCount"), "2");
	assert_string_equal(text(w, r, "data.totalDuration"), "6.000");
	assert_string_equal(said_by(w, &later, 0), "Ann");
	assert_string_equal(text(w, name(w, later.speakers[0], "Bob"), "data.source"), "human");
	assert_int_equal(number(w, "FROM speaker_rejections t WHERE t.speaker_id = ?", ARGS(ID(later.speakers[0]))), 1);
	recognise(w, later.speakers[1], "Ann", true);
	assert_null(text(w, speaker(w, "PUT", later.speakers[1], "/reject", NULL), "data.label"));
	assert_string_equal(said_by(w, &later, 1), "Speaker 2");
}

static void
a_forgotten_voice_is_nobody_at_once_and_leaves_nothing_once_its_job_has_run(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w);
	struct req *r;

	opt_in(w);
	name(w, k.speakers[0], "Ann");
	add_print(w, k.speakers[0]);
	recognise(w, later.speakers[0], "Ann", true);
	add_print(w, later.speakers[0]);
	recognise(w, later.speakers[1], "Ann", false);
	assert_string_equal(text(w, speaker(w, "GET", later.speakers[0], "", NULL), "data.mediaCount"), "2");
	assert_int_equal(to_forget(w), 0);
	assert_int_equal(speaker(w, "DELETE", k.speakers[0], "?names=true", NULL)->status, 200);
	assert_int_equal(to_forget(w), 1);
	assert_string_equal(said_by(w, &later, 0), "Speaker 1");
	r = speaker(w, "GET", later.speakers[0], "", NULL);
	assert_null(text(w, r, "data.label"));
	assert_null(text(w, r, "data.source"));
	assert_null(text(w, r, "data.confidence"));
	assert_null(text(w, speaker(w, "GET", later.speakers[1], "", NULL), "data.proposal.label"));
	follow(w);
	assert_int_equal(of_tenant(w, "voices"), 0);
	assert_int_equal(of_tenant(w, "voiceprints"), 0);
	assert_int_equal(number(w, "FROM speakers t WHERE t.tenant_id = ? AND (t.label IS NOT NULL OR t.source IS NOT "
	    "NULL OR t.confidence <> 0 OR t.likeness <> 0)", ARGS(ID(w->tenant_id))), 0);
	assert_int_equal(number(w, "FROM speakers t WHERE t.id = ? AND t.keeps_print = 0", ARGS(ID(later.speakers[0]))),
	    1);
	assert_string_equal(said_by(w, &later, 0), "Speaker 1");
}

/* Before the job has come to its asset. */
static void
whoever_is_named_while_a_voice_goes_does_not_take_it_along(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w), last = add_talk(w);
	int64_t captions;

	opt_in(w);
	name(w, k.speakers[0], "Ann");
	recognise(w, later.speakers[0], "Ann", true);
	add_print(w, later.speakers[0]);
	name(w, last.speakers[0], "Ann");
	recognise(w, last.speakers[1], "Ann", false);
	assert_int_equal(speaker(w, "DELETE", k.speakers[0], "?names=true", NULL)->status, 200);
	captions = jobs(w, &later, "captions");
	/* Nobody of the asset has the name any more. */
	assert_int_equal(name(w, later.speakers[1], "Ann")->status, 200);
	assert_int_equal(number(w, "FROM speakers t WHERE t.id = ? AND t.label IS NULL AND t.voice_id IS NULL",
	    ARGS(ID(later.speakers[0]))), 1);
	assert_int_equal(of_tenant(w, "voiceprints"), 0);
	assert_int_equal(jobs(w, &later, "captions"), captions + 2);
	/* It is nobody's proposal. */
	assert_int_equal(speaker(w, "PUT", last.speakers[1], "/reject", NULL)->status, 409);
	follow(w);
	assert_string_equal(said_by(w, &later, 1), "Ann");
	assert_int_equal(of_tenant(w, "voices"), 1);
	assert_int_equal(number(w, "FROM speakers t JOIN voices v ON v.id = t.voice_id AND v.name = 'Ann' "
	    "WHERE t.id = ?", ARGS(ID(later.speakers[1]))), 1);
}

static void
who_is_forgotten_takes_the_voices_of_its_parts_along(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w);

	/* Named before the tenant wanted voices, and once more. */
	name(w, k.speakers[1], "Ann");
	assert_int_equal(of_tenant(w, "voices"), 0);
	opt_in(w);
	name(w, k.speakers[1], "Ann");
	assert_int_equal(of_tenant(w, "voices"), 1);
	add_print(w, k.speakers[1]);
	recognise(w, later.speakers[0], "Ann", true);
	add_print(w, later.speakers[0]);
	assert_int_equal(merge(w, k.speakers[0], k.speakers[1])->status, 200);
	assert_int_equal(speaker(w, "DELETE", k.speakers[1], "", NULL)->status, 409);
	assert_int_equal(speaker(w, "DELETE", k.speakers[0], "?names=true", NULL)->status, 200);
	follow(w);
	assert_int_equal(of_tenant(w, "voices") + of_tenant(w, "voiceprints"), 0);
	assert_string_equal(said_by(w, &later, 0), "Speaker 1");
}

static void
without_names_a_forgotten_voice_keeps_those_that_others_read(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w), last = add_talk(w);

	opt_in(w);
	name(w, k.speakers[0], "Ann");
	recognise(w, later.speakers[0], "Ann", true);
	recognise(w, last.speakers[0], "Ann", true);
	assert_int_equal(speaker(w, "DELETE", k.speakers[0], "", NULL)->status, 200);
	assert_string_equal(said_by(w, &later, 0), "Ann");
	assert_string_equal(text(w, speaker(w, "GET", later.speakers[0], "", NULL), "data.mediaCount"), "1");
	follow(w);
	assert_int_equal(of_tenant(w, "voices"), 0);
	assert_string_equal(said_by(w, &later, 0), "Ann");
}

static void
a_voice_is_forgotten_by_who_may_name_it_everywhere(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w);
	struct uuid id, channel_id;
	const char *owner = world_member(w, "ViewMetadata CreateContent", "Channel Owner", &id),
	    *path = arena_printf(w->mem, "/v2/speakers/%s", uuid_text(w->mem, k.speakers[0]));
	struct req *r = call(w, "POST", "/v2/channels", "{\"name\":\"Other\"}");

	assert_true(uuid_parse(text(w, r, "data.id"), &channel_id));
	db_run(w->db, "UPDATE media_channels SET channel_id = ? WHERE media_id = ?", ARGS(ID(channel_id),
	    ID(later.media_id)));
	opt_in(w);
	name(w, k.speakers[0], "Ann");
	name(w, later.speakers[0], "Ann");
	assert_string_equal(text(w, call_as(w, owner, "GET", path, NULL), "data.mediaCount"), "1");
	assert_int_equal(call_as(w, owner, "DELETE", path, NULL)->status, 403);
	assert_int_equal(of_tenant(w, "voices"), 1);
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
}

static void
opting_out_deletes_all_prints_of_the_tenant_and_no_others(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct talk k = add_talk(w), theirs = add_talk(other);

	opt_in(w);
	opt_in(other);
	name(w, k.speakers[0], "Ann");
	name(other, theirs.speakers[0], "Ann");
	add_print(w, k.speakers[0]);
	add_print(other, theirs.speakers[0]);
	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings", "{\"speakerRecognition\":false}")->status,
	    200);
	assert_int_equal(to_forget(w), 1);
	follow(w);
	assert_int_equal(of_tenant(w, "voices") + of_tenant(w, "voiceprints"), 0);
	assert_int_equal(of_tenant(other, "voices"), 1);
	assert_int_equal(of_tenant(other, "voiceprints"), 1);
	assert_string_equal(said_by(w, &k, 0), "Ann");
	name(w, k.speakers[1], "Bob");
	assert_int_equal(of_tenant(w, "voices"), 0);
}

static void
what_was_known_before_opting_out_is_not_known_when_the_tenant_wants_voices_again(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w), later = add_talk(w);

	opt_in(w);
	name(w, k.speakers[0], "Ann");
	add_print(w, k.speakers[0]);
	recognise(w, later.speakers[0], "Ann", false);
	add_print(w, later.speakers[1]);
	assert_int_equal(call(w, "PATCH", "/v2/tenants/current/settings", "{\"speakerRecognition\":false}")->status,
	    200);
	opt_in(w);
	assert_null(text(w, speaker(w, "GET", later.speakers[0], "", NULL), "data.proposal.label"));
	/* Another voice of the same name. */
	name(w, later.speakers[1], "Ann");
	assert_string_equal(text(w, speaker(w, "GET", later.speakers[1], "", NULL), "data.mediaCount"), "1");
	assert_int_equal(number(w, "FROM voiceprints t WHERE t.speaker_id = ?", ARGS(ID(later.speakers[1]))), 0);
	follow(w);
	assert_int_equal(of_tenant(w, "voices"), 1);
	assert_int_equal(of_tenant(w, "voiceprints"), 0);
	assert_string_equal(said_by(w, &k, 0), "Ann");
	assert_string_equal(text(w, speaker(w, "GET", later.speakers[1], "", NULL), "data.label"), "Ann");
	assert_int_equal(number(w, "FROM speakers t JOIN voices v ON v.id = t.voice_id WHERE t.id = ?",
	    ARGS(ID(later.speakers[1]))), 1);
}

static void
a_voice_stays_as_long_as_an_asset_of_it_and_keeps_few_prints(void **state)
{
	struct world *w = *state;
	struct talk k[11];
	struct req *r;

	opt_in(w);
	for (int i = 0; i < 10; i++) {
		k[i] = add_talk(w);
		add_print(w, k[i].speakers[0]);
		name(w, k[i].speakers[0], "Ann");
	}
	assert_int_equal(of_tenant(w, "voiceprints"), 8);
	/* Those of another engine have no say: otherwise its own, which are shorter, would go at once. */
	k[10] = add_talk(w);
	add_print(w, k[10].speakers[0]);
	db_run(w->db, "UPDATE voiceprints SET engine = 'new', speech = 10000 WHERE speaker_id = ?",
	    ARGS(ID(k[10].speakers[0])));
	name(w, k[10].speakers[0], "Ann");
	assert_int_equal(of_tenant(w, "voiceprints"), 9);
	for (int i = 0; i < 11; i++) {
		follow(w);
		assert_int_equal(of_tenant(w, "voices"), 1);
		r = call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s?permanent=true", uuid_text(w->mem,
		    k[i].media_id)), NULL);
		assert_int_equal(r->status, 200);
	}
	follow(w);
	assert_int_equal(of_tenant(w, "voices") + of_tenant(w, "voiceprints") + of_tenant(w, "speakers"), 0);
}

static void
a_deleted_asset_takes_its_speakers_with_it(void **state)
{
	struct world *w = *state;
	struct talk k = add_talk(w);

	assert_int_equal(number(w, "FROM speakers t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 2);
	db_run(w->db, "DELETE FROM media WHERE id = ?", ARGS(ID(k.media_id)));
	assert_int_equal(number(w, "FROM speakers t WHERE t.tenant_id = ?", ARGS(ID(w->tenant_id))), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_name_is_in_transcript_files_and_search_at_once),
		WORLD_TEST(the_same_name_again_changes_nothing_and_makes_no_job),
		WORLD_TEST(names_are_one_clean_line_and_empty_is_the_number_again),
		WORLD_TEST(two_of_an_asset_have_two_names),
		WORLD_TEST(who_is_merged_and_split_again_has_all_that_it_had),
		WORLD_TEST(only_others_of_the_same_asset_are_merged),
		WORLD_TEST(a_paragraph_is_by_whom_a_person_says_until_that_is_taken_back),
		WORLD_TEST(who_is_forgotten_is_nobody),
		WORLD_TEST(who_may_only_look_names_nobody_and_others_see_nothing),
		WORLD_TEST(what_is_proposed_is_for_who_may_say_so_and_rejected_for_good),
		WORLD_TEST(a_name_by_a_machine_says_so_and_is_not_given_again_once_rejected),
		WORLD_TEST(a_forgotten_voice_is_nobody_at_once_and_leaves_nothing_once_its_job_has_run),
		WORLD_TEST(whoever_is_named_while_a_voice_goes_does_not_take_it_along),
		WORLD_TEST(who_is_forgotten_takes_the_voices_of_its_parts_along),
		WORLD_TEST(without_names_a_forgotten_voice_keeps_those_that_others_read),
		WORLD_TEST(a_voice_is_forgotten_by_who_may_name_it_everywhere),
		WORLD_TEST(opting_out_deletes_all_prints_of_the_tenant_and_no_others),
		WORLD_TEST(what_was_known_before_opting_out_is_not_known_when_the_tenant_wants_voices_again),
		WORLD_TEST(a_voice_stays_as_long_as_an_asset_of_it_and_keeps_few_prints),
		WORLD_TEST(a_deleted_asset_takes_its_speakers_with_it),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
