/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captions and thumbnails, put back from what they were made of.  Safe to run twice: captions have a name for each run,
 * and a thumbnail has the same bytes under the same name, whoever copies it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/asset.h"
#include "core/caption.h"
#include "core/play.h"
#include "core/store.h"
#include "jobs/kept.h"
#include "media/speaking.h"

enum { THUMBNAIL_MAX = 64 << 20, CAPTIONS_MAX = 100 };

struct subject { struct json captions; };
static const struct field subject_fields[] = {
	FIELD(struct subject, captions, .doc = "What the row names"),
};
static const struct record subject_record = RECORD("KeptSubject", struct subject, subject_fields);

/* Captions are called captions/{transcriptId}.….vtt.  NULL: that transcript is gone. */
static const struct transcript *
spoken_in(struct job *j, const char *file)
{
	const char *name = strrchr(file, '/');
	struct uuid id;

	if (name == NULL || !uuid_parse(arena_copy_n(j->mem, name + 1, strcspn(name + 1, ".")), &id))
		return NULL;
	return db_row(j->db, &transcript_record, "FROM transcripts t WHERE t.id = ? AND t.media_id = ? AND t.status = "
	    "'completed'", ARGS(ID(id), ID(j->media_id)));
}

void
kept_find(struct job *j, struct kept *k)
{
	const struct subject *s = db_row(j->db, &subject_record, "FROM media t WHERE t.id = ?", ARGS(ID(j->media_id)));
	struct list named = record_parse_list(j->mem, &caption_record, s == NULL ? NULL : s->captions.text);
	const struct caption *c = named.rows;
	size_t i;

	*k = (struct kept){ .captions = arena_array(j->mem, named.n, sizeof(*k->captions)),
	    .thumbnails = asset_pictures(j->db, j->media_id) };
	for (i = 0; i < named.n && k->n < CAPTIONS_MAX; i++) {
		const struct transcript *t = c[i].file == NULL ? NULL : spoken_in(j, c[i].file);
		struct buf vtt = BUF(j->mem);
		struct list paragraphs;

		if (t == NULL)
			continue;
		paragraphs = speaking_paragraphs(j->db, j->conf, t);
		transcript_write(&vtt, TRANSCRIPT_VTT, &paragraphs, NULL, true);
		k->captions[k->n++] = (struct kept_caption){ c[i].file, buf_string(&vtt),
		    caption_file(j->mem, t->id, job_run_name(j->mem, j->id, j->fence)) };
	}
}

bool
kept_thumbnail(struct arena *mem, struct uuid media_id, const char *file)
{
	const char *kept = store_key_thumbnail(mem, media_id, file), *served = store_key_play(mem, media_id, file);
	bool is_kept, is_served;
	const char *bytes;
	size_t n;

	if (!store_has(mem, kept, &is_kept) || !store_has(mem, served, &is_served))
		return false;
	if (is_kept == is_served)
		return true;
	bytes = store_get(mem, is_kept ? kept : served, THUMBNAIL_MAX, &n);
	return bytes != NULL && store_write(mem, bytes, n, is_kept ? served : kept);
}

bool
kept_write(struct job *j, struct kept *k, struct fault *fault)
{
	bool fine = true;
	size_t i;

	for (i = 0; fine && i < k->thumbnails.n; i++)
		fine = kept_thumbnail(j->mem, j->media_id, k->thumbnails.at[i]);
	for (i = 0; fine && i < k->n; i++)
		fine = store_write(j->mem, k->captions[i].vtt, strlen(k->captions[i].vtt),
		    store_key_play(j->mem, j->media_id, k->captions[i].written));
	return fine || fault_of_errno(j->mem, errno, fault, "The captions or the thumbnail could not be stored.");
}

/* In the text of the column, so that whatever else is written of them stays.  A transcript that was made anew since has
 * captions of its own: then the sweep takes ours away. */
void
kept_name(struct job *j, const struct kept *k)
{
	const struct moment now = moment_now();
	const int64_t expired = play_expiry(j->conf, (struct moment){ now.ms + 60000 }) * 1000 - now.ms;
	struct job_place place = { .tenant_id = j->tenant_id, .media_id = j->media_id, .priority = PRIORITY_BULK,
	    .delay_ms = expired };
	const struct kept_caption *c;
	const char *key;

	for (c = k->captions; c < k->captions + k->n; c++) {
		if (db_run(j->db, "UPDATE media SET captions = REPLACE(captions, ?, ?), revision = revision + 1 WHERE "
		    "id = ? AND LOCATE(?, captions) > 0", ARGS(STR(c->file), STR(c->written), ID(j->media_id),
		    STR(c->file))) != 1)
			continue;
		key = store_key_play(j->mem, j->media_id, c->file);
		job_add(j->db, purge, place, .keys = { &key, 1 });
	}
}
