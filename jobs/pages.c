/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages of a document: its text, its PDF, pictures of the first page.  Safe to run twice: each run has files of its
 * own, and rows are replaced. */
#include <inttypes.h>
#include <string.h>

#include "core/asset.h"
#include "media/document.h"
#include "media/language.h"
#include "media/sniff.h"
#include "jobs/pictures.h"
#include "jobs/step.h"

/* The PDF is downloadable: a copy of the original, or what was made of it. */
static bool
store_pdf(struct job *j, const struct asset_args *in, const struct document *d)
{
	const char *made = arena_printf(j->mem, "%s/document.pdf", j->work_dir);

	if (strcmp(d->pdf, made) != 0 && !document_copy(d->pdf, made))
		return false;
	return step_store(j, in, (const char *const[]){ "document.pdf", NULL });
}

/* Pictures of the first page. */
static struct fault
draw(struct job *j, const struct document *d, struct image_files *files)
{
	struct fault fault = d->fault;

	files->n = 0;
	if (d->preview != NULL)
		fault = image_variants(j->mem, arena_printf(j->mem, "%s/%s", j->work_dir, d->preview), "PNG",
		    j->conf->image_max_pixels, j->work_dir, files);
	if (fault.reason != REASON_NONE)
		files->n = 0;
	return fault;
}

enum outcome
pages_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const char *path;
	struct rendition_row row;
	struct image_files files;
	struct document d;
	struct fault fault;
	const char *json;
	struct sniff s;

	job_pause(j);
	path = step_sniffed(j, in, &s, &fault);
	if (path == NULL)
		return job_fault(j, &fault);
	if (!document_is(&s, path))
		return job_give_up(j, REASON_UNKNOWN_FORMAT, "The original is no document.");
	d = document_read(j->mem, path, s.format, j->conf->document_max_pages, j->work_dir);
	/* A document without a picture of its first page is still worth having, but only when it cannot be had. */
	if (d.text == NULL || (d.fault.reason != REASON_NONE && job_may_mend(j, &d.fault)))
		return job_fault(j, &d.fault);
	json = document_json(j->mem, d.text, &d.cut_at);
	if (d.cut_at > 0)
		job_warn(j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = arena_printf(j->mem,
		    "The text ends on page %" PRId64 ", which takes too long to read, or before which there is too "
		    "much of it.", d.cut_at) });
	if (d.lost > 0)
		job_warn(j, &(struct warning){ .reason = REASON_DAMAGED, .detail = arena_printf(j->mem, "Of %" PRId64
		    " pages %" PRId64 " at the end cannot be read.", d.pages + d.lost, d.lost) });
	job_progress(j, 60);
	fault = draw(j, &d, &files);
	if (fault.reason != REASON_NONE && (job_may_mend(j, &fault) || (d.pdf == NULL && files.n == 0)))
		return job_fault(j, &fault);
	if ((d.pdf != NULL && !store_pdf(j, in, &d)) || !pictures_store(j, in, &files))
		return step_not_stored(j, "The pages");
	if (!job_resume(j))
		return RETRY;
	if (d.pdf != NULL) {
		row = step_row(j, in, "pdf", "document.pdf", "application/pdf");
		row.label = "PDF";
		rendition_put(j->db, &row);
	}
	pictures_put(j, in, &files);
	db_run(j->db, "UPDATE media SET language_code = COALESCE(language_code, ?) WHERE id = ?", ARGS(
	    STR(language_guess(j->mem, d.text, strlen(d.text)).tag), ID(in->media_id)));
	if (d.pages > 0)
		db_run(j->db, "UPDATE media SET page_count = ? WHERE id = ?", ARGS(INT(d.pages), ID(in->media_id)));
	metadata_put(j->db, in->media_id, "documentContent", d.engine, json);
	asset_summarise(j->db, in->media_id, SUM_RENDITIONS);
	return DONE;
}
