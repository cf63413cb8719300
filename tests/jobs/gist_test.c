/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What assets are about: made of real media by their ingest, and anew when people change the words. */
#include <stdlib.h>
#include <string.h>

#include "core/asset.h"
#include "core/glossary.h"
#include "core/plan.h"
#include "media/transcript.h"
#include "jobs/run.h"
#include "jobs/words.h"
#include "tests/jobs/intake.h"

/* A talk whose words are known, by a voice that the built-in engine understands. */
#define TALK "The immune system protects the body. White blood cells find bacteria and viruses. An antibody binds to a virus. " \
	"The immune system remembers each virus. A vaccine shows the immune system a harmless virus. " \
	"Then the blood cells make more antibodies. Bacteria need other antibodies."
#define SPEECH "ffmpeg -v error -nostdin -y -f lavfi -i \"flite=text='" TALK "':voice=rms\" -c:a flac -f flac \"$f\""

static struct req *
metadata(struct world *w, struct uuid media)
{
	return call(w, "GET", arena_printf(w->mem, "/v2/media/%s/metadata?expand=keywords,entities,summarySentences",
	    uuid_text(w->mem, media)), NULL);
}

/* The place of a keyword in the answer; -1: it is not there. */
static int
rank(struct world *w, struct req *r, const char *kind, const char *name)
{
	const char *found;
	int i;

	for (i = 0; (found = text(w, r, arena_printf(w->mem, "data.%s.items.%d.name", kind, i))) != NULL; i++)
		if (strcmp(found, name) == 0)
			return i;
	return -1;
}

static const char *
item(struct world *w, struct req *r, const char *kind, int i, const char *member)
{
	return text(w, r, arena_printf(w->mem, "data.%s.items.%d.%s", kind, i, member));
}

static struct uuid
heard(struct world *w, const char *command)
{
	struct conf conf = *w->conf;
	struct uuid media = take_in(w, make(w, command));

	conf.job_kinds = "ingest,first_rendition,transcribe,keywords,entities,summary,publish";
	drain(w, &conf);
	return media;
}

static void
the_keywords_of_a_talk_are_what_it_is_about(void **state)
{
	static const char *terms[] = { "white blood cells", "walrus" }, *others[] = { "vaccine" };
	struct world *w = *state;
	struct uuid media;
	struct req *r;
	int i;

	glossary_write(w->db, w->tenant_id, &(struct strings){ terms, 2 });
	glossary_write(w->db, world_other(w)->tenant_id, &(struct strings){ others, 1 });
	media = heard(w, SPEECH);
	r = metadata(w, media);
	i = rank(w, r, "keywords", "immune system");

	if (i < 0 || i > 2)
		fail_msg("%s", buf_string(&r->out));
	assert_int_equal(rank(w, r, "keywords", "the"), -1);
	assert_int_equal(rank(w, r, "keywords", "immune"), -1);
	assert_in_range(rank(w, r, "keywords", "virus"), 0, 5);
	assert_in_range(rank(w, r, "keywords", "bacteria"), 0, 8);
	assert_string_equal(text(w, r, "data.keywords.engine"), "kinothek keywords 1, en-us.lm.bin");
	/* "The immune system" is what it begins with. */
	assert_true(strtod(item(w, r, "keywords", i, "instances.0.start"), NULL) < 1.0);
	assert_true(strtod(item(w, r, "keywords", i, "instances.0.end"), NULL) < 2.0);
	assert_true(strtod(item(w, r, "keywords", i, "confidence"), NULL) > 0.5);
	assert_string_equal(text(w, r, "data.keywords.items.0.score"), "1.000");
	/* The words of the tenant, and of no other one. */
	assert_int_equal(rank(w, r, "entities", "white blood cells"), 0);
	assert_string_equal(item(w, r, "entities", 0, "category"), "term");
	assert_true(strtod(item(w, r, "entities", 0, "instances.0.start"), NULL) > 1.0);
	assert_int_equal(rank(w, r, "entities", "vaccine"), -1);
	assert_int_equal(rank(w, r, "entities", "walrus"), -1);
	assert_string_equal(text(w, r, "data.entities.engine"), "kinothek entities 1");
}

static void
the_keywords_of_a_document_have_its_pages(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, "i=0; while [ $i -lt 60 ]; do echo 'Der Leuchtturm steht auf der Insel. "
	    "Ein Leuchtturm hat einen W\xc3\xa4rter, und alle Leucht\xc3\xbcrme leuchten.'; echo; i=$((i+1)); done > \"$f\"; "
	    "echo 'Die Sturmflut kam. Nach der Sturmflut war alles anders.' >> \"$f\""));
	struct req *r;
	int i;

	drain(w, w->conf);
	r = metadata(w, media);
	i = rank(w, r, "keywords", "Leuchtturm");
	if (i != 0)
		fail_msg("%s", buf_string(&r->out));
	assert_string_equal(item(w, r, "keywords", i, "instances.0.page"), "1");
	assert_string_equal(item(w, r, "keywords", i, "instances.1.page"), "2");
	assert_null(item(w, r, "keywords", i, "instances.0.start"));
	assert_int_equal(rank(w, r, "keywords", "einen"), -1);
	assert_string_equal(text(w, r, "data.keywords.engine"), "kinothek keywords 1, words of the tenant");
}

/* Whatever its words look like: somebody may have said so. */
static void
the_words_of_a_document_are_in_the_language_of_the_asset(void **state)
{
	struct world *w = *state;
	const struct uuid media = world_media(w, "document", "Paper");
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .tenant_id = w->tenant_id, .media_id = media };

	metadata_put(w->db, media, "documentContent", "x", "{\"pages\":[{\"page\":1,\"text\":\"The train is at the "
	    "station, and it is late.\"}]}");
	assert_string_equal(words_read(&j, media).prose->language, "en");
	db_run(w->db, "UPDATE media SET language_code = 'fr' WHERE id = ?", ARGS(ID(media)));
	assert_string_equal(words_read(&j, media).prose->language, "fr");
}

/* A recording with a transcript that says so. */
static struct uuid
transcribed(struct world *w, const char *words, const char *quality, struct uuid *transcript)
{
	struct uuid media = world_media(w, "audio", "Talk");
	struct transcript t = { .id = uuid_new(), .media_id = media, .language_code = "en", .source = "machine",
	    .engine = "test", .status = "completed", .quality = quality, .captions = "automatic", .version = 1,
	    .created_at = moment_now(), .updated_at = moment_now() };
	struct segment s = { .start = { 0, true }, .end = { 60000, true }, .text = words };
	struct list paragraphs;

	s.words = transcript_spread(w->mem, words, 0, 60000);
	paragraphs = transcript_paragraphs(w->mem, &s, 1);
	t.paragraphs.text = transcript_json(w->mem, &paragraphs);
	db_run(w->db, "UPDATE media SET language_code = 'en', duration = 60000 WHERE id = ?", ARGS(ID(media)));
	db_insert(w->db, "transcripts", &transcript_record, &t);
	*transcript = t.id;
	return media;
}

static int64_t
waiting(struct world *w, struct uuid media)
{
	return number(w, "FROM jobs WHERE kind = 'gist' AND state IN ('ready', 'delayed') AND media_id = ?",
	    ARGS(ID(media)));
}

static void
follow(struct world *w, struct uuid media)
{
	struct conf conf = *w->conf;

	conf.job_kinds = "gist";
	db_run(w->db, "UPDATE jobs SET run_at = 0, state = 'ready' WHERE kind = 'gist' AND state = 'delayed' AND "
	    "media_id = ?", ARGS(ID(media)));
	drain(w, &conf);
	assert_int_equal(waiting(w, media), 0);
}

static void
what_a_document_names_and_says_has_its_pages(void **state)
{
	struct world *w = *state;
	struct uuid media = take_in(w, make(w, "cat >\"$f\" <<'E'\n"
	    "The harbour fleet of the island catches herring in the bay. Herring from the bay is salted on the island. "
	    "My cousin bought a bicycle in Lisbon on 3 May 2024. The fleet sails from the harbour when herring comes "
	    "into the bay. Every family on the island lives from herring and the fleet. It rained in Portugal all "
	    "night. Dr. Ada Lovelace wrote to ada@example.org for $1,200. The harbour was built for the herring fleet "
	    "of the island. Somebody painted this door green.\nE"));
	struct req *r;
	const char *summary;

	drain(w, w->conf);
	r = metadata(w, media);
	assert_string_equal(item(w, r, "entities", rank(w, r, "entities", "Lisbon"), "category"), "place");
	assert_string_equal(item(w, r, "entities", rank(w, r, "entities", "Portugal"), "instances.0.page"), "1");
	assert_string_equal(item(w, r, "entities", rank(w, r, "entities", "Ada Lovelace"), "category"), "person");
	assert_string_equal(item(w, r, "entities", rank(w, r, "entities", "ada@example.org"), "category"), "email");
	assert_string_equal(item(w, r, "entities", rank(w, r, "entities", "$1,200"), "category"), "amount");
	assert_string_equal(item(w, r, "entities", rank(w, r, "entities", "3 May 2024"), "category"), "date");
	assert_string_equal(text(w, r, "data.entities.count"), "6");
	summary = text(w, r, "data.summary");
	if (summary == NULL || strstr(summary, "herring") == NULL)
		fail_msg("%s", buf_string(&r->out));
	assert_non_null(strstr(summary, item(w, r, "summarySentences", 0, "text")));
	assert_string_equal(item(w, r, "summarySentences", 0, "page"), "1");
	assert_string_equal(text(w, r, "data.summarySentences.engine"), "kinothek summary 1, TextRank");
}

static void
they_follow_what_a_person_changes(void **state)
{
	struct world *w = *state;
	struct uuid transcript, media = transcribed(w, "Kettle kettle kettle on the stove.", "good", &transcript);
	const char *path = arena_printf(w->mem, "/v2/media/%s/subtitles?languageCode=en", uuid_text(w->mem, media));
	struct req *r, *said;

	assert_int_equal(waiting(w, media), 0);
	r = call(w, "POST", path, "1\n00:00:01,000 --> 00:00:02,500\nLamp lamp lamp.\n\n");
	assert_int_equal(r->status, 201);
	said = call(w, "POST", path, "1\n00:00:01,000 --> 00:00:04,000\nLantern lantern lantern on the shelf.\n\n");
	assert_int_equal(said->status, 201);
	assert_int_equal(waiting(w, media), 1);
	follow(w, media);
	r = metadata(w, media);
	assert_int_equal(rank(w, r, "keywords", "lantern"), 0);
	assert_string_equal(item(w, r, "keywords", 0, "count"), "3");
	assert_string_equal(item(w, r, "keywords", 0, "confidence"), "1.00");
	assert_int_equal(rank(w, r, "keywords", "kettle"), -1);
	assert_int_equal(rank(w, r, "keywords", "lamp"), -1);
	assert_string_equal(text(w, r, "data.entities.engine"), "kinothek entities 1");
	assert_null(text(w, r, "data.summary"));
	path = arena_printf(w->mem, "/v2/media/%s/metadata/transcripts/%s", uuid_text(w->mem, media), text(w, said,
	    "data.id"));
	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(waiting(w, media), 1);
	follow(w, media);
	assert_string_equal(text(w, metadata(w, media), "data.keywords.count"), "0");
}

static void
what_is_deleted_stays_so_until_words_change_again(void **state)
{
	struct world *w = *state;
	struct uuid transcript, media = transcribed(w, "Kettle kettle kettle on the stove.", "good", &transcript);
	const char *path = arena_printf(w->mem, "/v2/media/%s/metadata", uuid_text(w->mem, media));
	const char *words = arena_printf(w->mem, "/v2/media/%s/subtitles?languageCode=de", uuid_text(w->mem, media));
	struct req *r;

	assert_int_equal(call(w, "POST", words, "1\n00:00:01,000 --> 00:00:04,000\nLampe Lampe.\n\n")->status, 201);
	follow(w, media);
	assert_int_equal(rank(w, metadata(w, media), "keywords", "kettle"), 0);
	assert_int_equal(call(w, "POST", words, "1\n00:00:01,000 --> 00:00:04,000\nTisch Tisch.\n\n")->status, 201);
	assert_int_equal(waiting(w, media), 1);

	/* While it is made, what is deleted would come back. */
	db_run(w->db, "UPDATE jobs SET state = 'running' WHERE media_id = ? AND kind = 'gist' AND state = 'delayed'",
	    ARGS(ID(media)));
	r = call(w, "DELETE", path, NULL);
	assert_int_equal(r->status, 422);
	assert_string_equal(text(w, r, "data.code"), "ingest_running");
	assert_int_equal(rank(w, metadata(w, media), "keywords", "kettle"), 0);
	db_run(w->db, "UPDATE jobs SET state = 'delayed' WHERE media_id = ? AND kind = 'gist' AND state = 'running'",
	    ARGS(ID(media)));

	assert_int_equal(call(w, "DELETE", path, NULL)->status, 200);
	assert_int_equal(waiting(w, media), 0);
	follow(w, media);
	assert_string_equal(text(w, metadata(w, media), "data.keywords.count"), "0");
	assert_null(text(w, metadata(w, media), "data.keywords.engine"));

	assert_int_equal(call(w, "POST", words, "1\n00:00:01,000 --> 00:00:04,000\nTisch Tisch.\n\n")->status, 201);
	assert_int_equal(waiting(w, media), 1);
}

static void
nothing_is_made_of_words_that_have_changed_meanwhile(void **state)
{
	struct world *w = *state;
	struct uuid transcript, media = transcribed(w, "Kettle kettle kettle on the stove.", "good", &transcript);
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .tenant_id = w->tenant_id, .media_id = media };
	struct words words;

	db_begin(w->db);
	words = words_read(&j, media);
	db_run(w->db, "UPDATE transcripts SET version = version + 1 WHERE id = ?", ARGS(ID(transcript)));
	assert_true(db_commit(w->db));
	assert_true(words_put(&j, media, &words, "keywords", "test", "{\"items\":[1]}"));
	assert_true(db_commit(w->db));
	assert_string_equal(text(w, metadata(w, media), "data.keywords.count"), "0");
	assert_int_equal(waiting(w, media), 1);
	words = words_read(&j, media);
	assert_true(words_put(&j, media, &words, "keywords", "test", "{\"items\":[1]}"));
	assert_true(db_commit(w->db));
	assert_string_equal(text(w, metadata(w, media), "data.keywords.count"), "1");
}

static void
nonsense_has_no_keywords(void **state)
{
	struct world *w = *state;
	struct uuid transcript, media = transcribed(w, "Walrus walrus walrus.", "unreliable", &transcript);
	struct asset_args in = { media, "g" };
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .tenant_id = w->tenant_id, .media_id = media,
	    .in = &in };

	db_begin(w->db);
	assert_int_equal(keywords_run(&j), DONE);
	assert_true(db_commit(w->db));
	assert_string_equal(text(w, metadata(w, media), "data.keywords.count"), "0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_keywords_of_a_talk_are_what_it_is_about),
		WORLD_TEST(the_keywords_of_a_document_have_its_pages),
		WORLD_TEST(the_words_of_a_document_are_in_the_language_of_the_asset),
		WORLD_TEST(what_a_document_names_and_says_has_its_pages),
		WORLD_TEST(they_follow_what_a_person_changes),
		WORLD_TEST(what_is_deleted_stays_so_until_words_change_again),
		WORLD_TEST(nothing_is_made_of_words_that_have_changed_meanwhile),
		WORLD_TEST(nonsense_has_no_keywords),
	};

	return cmocka_run_group_tests(tests, intake_open, world_close);
}
