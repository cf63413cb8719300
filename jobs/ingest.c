/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first step of an ingest: what is this file, and what is to be made of it?  Writes what it finds to the asset,
 * then adds the other steps, as core/plan.c has them.  Safe to run twice: the steps are added in the transaction
 * that ends it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/asset.h"
#include "core/plan.h"
#include "media/av.h"
#include "media/document.h"
#include "media/image.h"
#include "media/sniff.h"
#include "core/scratch.h"
#include "core/store.h"
#include "jobs/kept.h"
#include "jobs/step.h"

#define LONGEST_MS (INT64_C(12) * 3600 * 1000)

struct asset {
	struct uuid id;
	int64_t file_size;
};
static const struct field asset_fields[] = {
	FIELD(struct asset, id, .doc = "Asset"),
	FIELD(struct asset, file_size, .doc = "Bytes"),
};
static const struct record asset_record = RECORD("IngestAsset", struct asset, asset_fields);

struct names { const char *name, *original_file_name; };
static const struct field names_fields[] = {
	FIELD(struct names, name, .doc = "Of the asset"),
	FIELD(struct names, original_file_name, .doc = "Of its file"),
};
static const struct record names_record = RECORD("IngestNames", struct names, names_fields);

/* What was found out, before any of it is written. */
struct finding {
	struct sniff sniff;
	const char *type, *mime_type, *path;
	const struct av_file *av;
	struct image_facts *image;
	int64_t pages;
	const char *words;		/* what a PDF says of itself, see document_xmp(); NULL: nothing */
	struct fault fault;
};

static void
probe_av(struct job *j, struct finding *f)
{
	const char *path = step_readable(j, f->path, &f->sniff, &f->fault);
	const struct av_file *av = path != NULL ? av_probe(j->mem, path, &f->fault) : NULL;
	struct av_dead dead;

	if (av == NULL || !av_find_dead(j->mem, av, &dead, &f->fault))
		return;
	f->av = dead.n > 0 ? av_without(j->mem, av, &dead) : av;
	f->fault.reason = REASON_NONE;
	if (f->av->duration_ms > LONGEST_MS)
		fault_set(j->mem, &f->fault, REASON_TOO_LONG, "It is longer than 12 hours.");
	f->type = f->av->video != NULL ? "video" : "audio";
	f->mime_type = sniff_mime_type(&f->sniff, f->av->video != NULL);
}

/* A picture that moves plays, so it is a video.  One whose frames cannot be read is a picture still. */
static void
probe_animation(struct job *j, struct finding *f)
{
	probe_av(j, f);
	if (f->av == NULL && fault_is_final(&f->fault))
		f->fault = (struct fault){ .reason = REASON_NONE };
	else if (f->av != NULL && f->av->shortened)
		job_warn(j, &(struct warning){ .reason = REASON_SHORTENED, .from = { IMAGE_MOVES_MS, true } });
}

/* The file is shown all the same. */
static void
warn_unread(struct job *j, const char *what)
{
	job_warn(j, &(struct warning){ .reason = REASON_DAMAGED, .detail = arena_printf(j->mem, "What is written "
	    "into the file about it (%s) is damaged, and could not be read.", what) });
}

/* What a PDF says of itself is no reason to refuse it, but one to try again where that may help. */
static void
read_words(struct job *j, struct finding *f)
{
	const struct fault fault = document_xmp(j->mem, f->path, &f->words);

	if (fault.reason == REASON_DECODE_FAILED)
		warn_unread(j, "XMP");
	else if (fault.reason == REASON_SANDBOX || (fault.reason != REASON_NONE && job_may_mend(j, &fault)))
		f->fault = fault;
	else if (fault.reason != REASON_NONE)
		job_warn(j, &(struct warning){ .reason = fault.reason, .detail = "What is written into the file about "
		    "it (XMP) could not be read." });
}

static void
look(struct job *j, struct finding *f)
{
	f->sniff = sniff_file(f->path);
	if (f->sniff.reason != REASON_NONE) {
		sniff_fault(j->mem, &f->sniff, &f->fault);
		return;
	}
	f->type = f->sniff.type;
	f->mime_type = f->sniff.mime_type;
	if (document_is(&f->sniff, f->path)) {
		f->type = "document";
		f->fault = document_probe(j->mem, f->path, f->sniff.format, j->conf->document_max_pages, &f->pages);
		if (f->fault.reason == REASON_NONE && strcmp(f->sniff.format, "pdf") == 0)
			read_words(j, f);
	} else if (strcmp(f->type, "image") == 0) {
		f->fault = image_probe(j->mem, f->path, f->sniff.format, j->conf->image_max_pixels, &f->image);
		for (size_t i = 0; f->image != NULL && i < f->image->unread.n; i++)
			warn_unread(j, f->image->unread.at[i]);
		if (f->fault.reason == REASON_NONE && image_moves_file(f->path))
			probe_animation(j, f);
	} else {
		probe_av(j, f);
	}
}

/* Technical facts, for metadata "file". */
static const char *
facts(struct job *j, const struct finding *f, const struct asset *a)
{
	struct buf out = BUF(j->mem);

	buf_text(&out, "{\"mimeType\":");
	buf_json(&out, f->mime_type);
	buf_printf(&out, ",\"fileSize\":%" PRId64 ",", a->file_size);
	if (f->av != NULL)
		buf_text(&out, av_json(j->mem, f->av) + 1);
	else if (f->image != NULL) {
		struct buf image = BUF(j->mem);

		record_render(&image, &image_facts_record, f->image, false);
		buf_text(&out, buf_string(&image) + 1);
	} else {
		buf_printf(&out, "\"format\":\"%s\",\"pageCount\":", f->sniff.format);
		buf_text(&out, f->pages > 0 ? arena_printf(j->mem, "%" PRId64, f->pages) : "null");
		buf_printf(&out, "%s}", f->words != NULL ? f->words : "");
	}
	return buf_string(&out);
}

static struct arg
or_null(int64_t n)
{
	return n > 0 ? INT(n) : STR(NULL);
}

/* When it was recorded, or 0.  "2026:11:20 10:26:53" of a camera that tells no offset is taken for UTC. */
static int64_t
recorded(struct job *j, const struct finding *f)
{
	struct moment at;
	char *text;
	const char *offset;

	if (f->av != NULL)
		return f->av->recorded_ms;
	if (f->image == NULL || f->image->taken_at == NULL || strlen(f->image->taken_at) != 19)
		return 0;
	offset = f->image->taken_offset;
	text = arena_printf(j->mem, "%s%s", f->image->taken_at, offset != NULL && strlen(offset) == 6 ? offset : "Z");
	text[4] = text[7] = '-';
	if (!moment_parse(text, &at))
		text = arena_printf(j->mem, "%.19sZ", text);
	return moment_parse(text, &at) && moment_is_past(at) ? at.ms : 0;
}

/* The title that the file itself has is better than the name of the file, and than nothing; never than what people have
 * written. */
static void
name_by_title(struct job *j, const struct finding *f, struct uuid media_id)
{
	const struct names *n;

	if (f->av == NULL || f->av->title == NULL)
		return;
	n = db_row(j->db, &names_record, "FROM media t WHERE t.id = ? FOR UPDATE", ARGS(ID(media_id)));
	if (n != NULL && (utf8_blank(n->name) || strcmp(n->name, asset_name_from(j->mem, n->original_file_name)) == 0))
		db_run(j->db, "UPDATE media SET name = ? WHERE id = ?", ARGS(STR(utf8_to_line(j->mem,
		    f->av->title)), ID(media_id)));
}

static void
write_finding(struct job *j, const struct finding *f, const struct asset *a)
{
	const struct av_video *v = f->av != NULL ? f->av->video : NULL;
	const char *language = f->av != NULL && f->av->audio != NULL ? f->av->audio->language : NULL;
	int64_t width = v != NULL ? v->width : f->image != NULL ? f->image->width : 0;
	int64_t height = v != NULL ? v->height : f->image != NULL ? f->image->height : 0;
	double rate = v != NULL ? av_frame_rate(v->rate) : 0;

	db_run(j->db, "UPDATE media SET type = ?, mime_type = ?, duration = ?, width = ?, height = ?, frame_rate = ?, "
	    "page_count = ?, recorded_at = ?, language_code = COALESCE(language_code, ?), revision = revision + 1 "
	    "WHERE id = ?", ARGS(STR(f->type), STR(f->mime_type), or_null(f->av != NULL ? f->av->duration_ms : 0),
	    or_null(width), or_null(height), rate > 0 ? REAL(rate) : STR(NULL), or_null(f->pages), INT(recorded(j, f)),
	    STR(language), ID(a->id)));
	name_by_title(j, f, a->id);
	metadata_put(j->db, a->id, "file", f->av != NULL ? "ffprobe" : "kinothek", facts(j, f, a));
}

/* Of what was recorded or the file has, what the asset will not have. */
static void
tell_left_out(struct job *j, const struct av_file *f)
{
	const char *kept = db_text(j->db, "SELECT left_out FROM livestreams WHERE media_id = ?", ARGS(ID(j->media_id)));
	const char *sentences[AV_LEFT_OUT];
	size_t n = f != NULL ? av_left_out(j->mem, f, sentences) : 0, i;

	if (kept != NULL)
		job_warn(j, &(struct warning){ .reason = REASON_NOT_WHOLE, .detail = kept });
	for (i = 0; i < n; i++)
		job_warn(j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = sentences[i] });
	for (int k = 0; f != NULL && k < f->dead.n; k++)
		job_warn(j, &(struct warning){ .reason = REASON_DAMAGED, .detail = av_dead_text(j->mem, f, k),
		    .from = { 0, true }, .to = { f->duration_ms, f->duration_ms > 0 } });
}

enum outcome
ingest_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct asset *a = db_row(j->db, &asset_record, "FROM media t WHERE t.id = ?", ARGS(ID(in->media_id)));
	struct finding f = { 0 };
	struct kept kept;

	if (a == NULL)
		return job_give_up(j, REASON_ASSET_GONE, "The asset was deleted meanwhile.");
	kept_find(j, &kept);
	job_pause(j);
	/* Renditions, the download and scratch files together take up to two and a half times the original. */
	errno = 0;
	if (store_free() < a->file_size / 2 * 5 || scratch_free() < a->file_size / 2 * 5)
		return job_retry(j, fault_reason(errno, REASON_NO_SPACE), "There is no room for what would be made of "
		    "it.");
	f.path = step_fetch(j, store_key_original(j->mem, in->media_id), &f.fault);
	if (f.path == NULL)
		return job_fault(j, &f.fault);
	look(j, &f);
	if (f.fault.reason != REASON_NONE)
		return job_fault(j, &f.fault);
	if (!kept_write(j, &kept, &f.fault))
		return job_fault(j, &f.fault);
	if (!job_resume(j))
		return RETRY;
	kept_name(j, &kept);
	write_finding(j, &f, a);
	tell_left_out(j, f.av);
	plan_ingest(j->db, j->conf, in->media_id, j->ingest_id, in->generation);
	asset_summarise(j->db, in->media_id, SUM_INGEST);
	return DONE;
}
