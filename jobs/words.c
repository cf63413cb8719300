/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of an asset, from the rows that steps before have made. */
#include <string.h>

#include "core/asset.h"
#include "core/gist.h"
#include "media/transcript.h"
#include "jobs/words.h"

/* Of engines that give words no confidence: as sure as those that do are in the mean, where nothing is wrong. */
static const double ungraded = 0.7;
enum { INSTANCES_MAX = 20 };		/* of a line that comes and goes */

struct said { const char *language_code, *source; struct json paragraphs; };
static const struct field said_fields[] = {
	FIELD(struct said, language_code, .doc = "Tag"),
	FIELD(struct said, source, .doc = "Who made it"),
	FIELD(struct said, paragraphs, .doc = "The text"),
};
static const struct record said_record = RECORD("WordsSaid", struct said, said_fields);

struct shown { struct position start, end; };
static const struct field shown_fields[] = {
	FIELD(struct shown, start, .doc = "s"),
	FIELD(struct shown, end, .doc = "s"),
};
static const struct record shown_record = RECORD("WordsInstance", struct shown, shown_fields);

struct item { const char *text; int64_t page; double confidence; struct list instances; };
static const struct field item_fields[] = {
	FIELD(struct item, text, .doc = "As it was read"),
	FIELD(struct item, page, .doc = "Of a document"),
	FIELD(struct item, confidence, .doc = "0 to 1"),
	FIELD(struct item, instances, .of = &shown_record, .doc = "When it was seen"),
};
static const struct record item_record = RECORD("WordsItem", struct item, item_fields);

/* In the language that is spoken, if there is one. */
static const struct said *
read_said(struct job *j, struct uuid media_id, struct prose_reader *r)
{
	const struct said *s = db_row(j->db, &said_record, "FROM transcripts t JOIN media m ON m.id = t.media_id WHERE "
	    "m.id = ? AND t.status = 'completed' AND t.no_speech = 0 AND NOT t.quality <=> 'unreliable' ORDER BY "
	    "t.language_code <=> m.language_code DESC, t.language_code LIKE 'translate%', t.id LIMIT 1", ARGS(ID(media_id)));
	struct list paragraphs;

	if (s == NULL)
		return NULL;
	paragraphs = record_parse_list(j->mem, &paragraph_record, s->paragraphs.text);
	prose_say(r, &paragraphs, strcmp(s->source, "machine") == 0 ? ungraded : 1);
	return s;
}

static void
show(struct prose_reader *r, const struct item *item, double confidence)
{
	const struct shown *at = item->instances.rows;
	size_t i;

	for (i = 0; i < item->instances.n && i < INSTANCES_MAX; i++)
		prose_show(r, item->text, (struct place){ at[i].start.ms, at[i].end.ms, 0 }, confidence, true);
	if (item->instances.n == 0)
		prose_show(r, item->text, (struct place){ -1, -1, item->page }, confidence, item->page == 0);
}

static void
read_shown(struct job *j, struct uuid media_id, struct prose_reader *r, const char *kind, const char *member)
{
	const char *all = db_text(j->db, "SELECT JSON_EXTRACT(data, ?) FROM metadata WHERE media_id = ? AND kind = ?",
	    ARGS(STR(member), ID(media_id), STR(kind)));
	const struct list items = all != NULL ? record_parse_list(j->mem, &item_record, all) :
	    (struct list){ NULL, 0 };
	const struct item *item = items.rows;
	size_t i;

	for (i = 0; i < items.n; i++)
		if (item[i].text != NULL)
			show(r, &item[i], item[i].confidence > 0 ? item[i].confidence : 1);
}

/* Whatever is read here changes it. */
static const char *
stamp(struct job *j, struct uuid media_id)
{
	return db_text(j->db, "SELECT CONCAT(COALESCE(m.language_code, ''), ' ', (SELECT CONCAT(COUNT(*), ' ', "
	    "BIT_XOR(CRC32(t.id)), ' ', COALESCE(SUM(t.version), 0), ' ', COALESCE(SUM(t.updated_at), 0)) FROM "
	    "transcripts t WHERE t.media_id = m.id), ' ', (SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(d.updated_at), "
	    "0)) FROM metadata d WHERE d.media_id = m.id AND d.kind IN ('videoTexts', 'imageTexts', "
	    "'documentContent'))) FROM media m WHERE m.id = ?", ARGS(ID(media_id)));
}

struct words
words_read(struct job *j, struct uuid media_id)
{
	struct prose_reader *r = prose_begin(j->mem);
	struct words w = { .stamp = stamp(j, media_id) };
	const struct said *s = read_said(j, media_id, r);

	read_shown(j, media_id, r, "videoTexts", "$.items");
	read_shown(j, media_id, r, "imageTexts", "$.items");
	read_shown(j, media_id, r, "documentContent", "$.pages");
	w.prose = prose_end(r, s != NULL ? transcript_language(s->language_code) : db_text(j->db, "SELECT "
	    "language_code FROM media t WHERE t.id = ? AND t.type = 'document'", ARGS(ID(media_id))));
	if (w.prose->cut)
		job_log(j, "it has more words than are looked at: only the first %d are", PROSE_MAX);
	return w;
}

bool
words_put(struct job *j, struct uuid media_id, const struct words *w, const char *kind, const char *engine,
    const char *data)
{
	const char *now;

	if (!job_resume(j))
		return false;
	/* As all that changes what hangs on an asset: in turn. */
	db_number(j->db, "SELECT 1 FROM media WHERE id = ? FOR UPDATE", ARGS(ID(media_id)), 0);
	now = stamp(j, media_id);
	if (now == NULL || w->stamp == NULL)
		return true;
	if (strcmp(now, w->stamp) == 0)
		metadata_put(j->db, media_id, kind, engine, data);
	else
		gist_again(j->db, j->tenant_id, media_id);
	return true;
}
