/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text on a picture, by the largest form of it that is shown.  Safe to run twice: the row is replaced. */
#include <string.h>

#include "core/store.h"
#include "jobs/screen_texts.h"
#include "jobs/step.h"

struct form { const char *file; int64_t width, height; };
static const struct field form_fields[] = {
	FIELD(struct form, file, .doc = "As the row has it"),
	FIELD(struct form, width, .doc = "Pixels"),
	FIELD(struct form, height, .doc = "Pixels"),
};
static const struct record form_record = RECORD("ReadForm", struct form, form_fields);

struct texts { const struct form *of; struct buf items; };

static void
seen(void *user, size_t picture, const struct sheet_line *l, size_t n)
{
	struct texts *t = user;
	size_t i;

	for (i = 0; i < n; i++) {
		buf_text(&t->items, t->items.len > 0 ? ",{\"text\":" : "{\"text\":");
		buf_json(&t->items, l[i].text);
		buf_printf(&t->items, ",\"confidence\":%.2f,\"box\":", l[i].confidence);
		screen_texts_box(&t->items, &l[i], (int)t->of->width, (int)t->of->height);
		buf_char(&t->items, '}');
	}
}

enum outcome
image_texts_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct engine *e = engine_for(j, ENGINE_ocr);
	const char *language = db_text(j->db, "SELECT language_code FROM media t WHERE t.id = ?",
	    ARGS(ID(in->media_id)));
	const struct form *form = db_row(j->db, &form_record, "FROM renditions t WHERE t.media_id = ? AND "
	    "t.generation = ? AND t.kind = 'image' ORDER BY t.width * t.height DESC LIMIT 1", ARGS(ID(in->media_id),
	    STR(in->generation)));
	struct texts t = { form, BUF(j->mem) };
	struct sheet sheet = { .mem = j->mem, .conf = j->conf, .n = 1, .language = language, .work_dir = j->work_dir,
	    .seen = seen, .user = &t };
	struct fault fault;
	const char *path;

	if (e == NULL) {
		step_labels(j, in);
		return DONE;
	}
	if (form == NULL)
		return job_retry(j, REASON_INTERNAL, "The forms of the picture are missing.");
	job_pause(j);
	path = step_fetch(j, store_key_play(j->mem, in->media_id, form->file), &fault);
	if (path == NULL)
		return job_fault(j, &fault);
	sheet.pictures = &path;
	if (e->run.ocr(&sheet) != DONE)
		return job_fault(j, &sheet.fault);
	if (!job_resume(j))
		return RETRY;
	metadata_put(j->db, in->media_id, "imageTexts", e->version(j->mem, j->conf), arena_printf(j->mem,
	    "{\"items\":[%s]}", buf_string(&t.items)));
	step_labels(j, in);
	return DONE;
}
