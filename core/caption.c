/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of captions in the row of an asset. */
#include <string.h>

#include "core/caption.h"
#include "core/job.h"
#include "core/store.h"

static const struct field caption_fields[] = {
	FIELD(struct caption, language_code, .doc = "BCP 47"),
	FIELD(struct caption, label, .doc = "In the menu of the player"),
	FIELD(struct caption, kind, .on = OMIT_NULL, .doc = "captions or subtitles"),
	FIELD(struct caption, file, .doc = "Below play/{mediaId}/"),
};
const struct record caption_record = RECORD("caption", struct caption, caption_fields);

static struct list
read_list(struct db *db, const char *json)
{
	return record_parse_list(db_arena(db), &caption_record, json);
}

const char *
caption_file(struct arena *mem, struct uuid transcript_id, const char *run)
{
	return arena_printf(mem, "captions/%s.%s.vtt", uuid_text(mem, transcript_id), run);
}

bool
caption_is_of(struct arena *mem, const char *file, struct uuid transcript_id)
{
	const char *start = arena_printf(mem, "captions/%s.", uuid_text(mem, transcript_id));

	return !uuid_is_none(transcript_id) && file != NULL && strncmp(file, start, strlen(start)) == 0;
}

bool
caption_is_listed(struct db *db, struct uuid media_id, struct uuid transcript_id)
{
	struct list list = read_list(db, db_text(db, "SELECT captions FROM media WHERE id = ?", ARGS(ID(media_id))));
	const struct caption *c = list.rows;
	size_t i;

	for (i = 0; i < list.n; i++)
		if (caption_is_of(db_arena(db), c[i].file, transcript_id))
			return true;
	return false;
}

static void
delete_later(struct db *db, struct uuid tenant_id, struct uuid media_id, const char *file, struct uuid behind)
{
	const char *key = store_key_play(db_arena(db), media_id, file);

	job_add(db, purge, ((struct job_place){ .tenant_id = tenant_id, .media_id = media_id,
	    .priority = PRIORITY_BULK, .waits = WAITS({ behind, false }) }), .keys = { &key, 1 });
}

void
caption_replace(struct db *db, struct uuid tenant_id, struct uuid media_id, struct uuid transcript_id,
    const struct caption *with)
{
	struct arena *mem = db_arena(db);
	struct list list = read_list(db, db_text(db, "SELECT captions FROM media WHERE id = ? FOR UPDATE",
	    ARGS(ID(media_id))));
	const struct caption *c = list.rows;
	const struct job_place place = { .tenant_id = tenant_id, .media_id = media_id };
	struct buf json = BUF(mem);
	struct uuid named;
	size_t i;

	named = job_add(db, master, place, .media_id = media_id);
	buf_char(&json, '[');
	for (i = 0; i < list.n; i++) {
		if (c[i].file == NULL)
			continue;
		if (caption_is_of(mem, c[i].file, transcript_id)) {
			delete_later(db, tenant_id, media_id, c[i].file, named);
			continue;
		}
		buf_text(&json, json.len > 1 ? "," : "");
		record_store(&json, &caption_record, &c[i]);
	}
	if (with != NULL) {
		buf_text(&json, json.len > 1 ? "," : "");
		record_store(&json, &caption_record, with);
	}
	buf_char(&json, ']');
	db_run(db, "UPDATE media SET captions = ?, revision = revision + 1 WHERE id = ?",
	    ARGS(STR(buf_string(&json)), ID(media_id)));
}
