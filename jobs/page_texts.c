/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pages of a document without a text of their own, as scanners make them: they are drawn and read as pictures, beside
 * what `pages` has found.  Safe to run twice: the row is replaced.
 */
#include <inttypes.h>
#include <string.h>

#include "core/store.h"
#include "media/document.h"
#include "media/language.h"
#include "jobs/engines/sheet.h"
#include "jobs/step.h"

/* Read in one run; ms after which no further run begins; pages that are named when they cannot be read. */
enum { BATCH = 10, READ_MS = 1800 * 1000, NAMED = 20 };

struct content {
	struct json pages;
	const char *engine;
	int64_t page_count, cut_at, made_at;
	const char *file, *language_code;
};
static const struct field content_fields[] = {
	FIELD(struct content, pages, .sql = "JSON_EXTRACT(t.data, '$.pages')", .doc = "What is known of them"),
	FIELD(struct content, engine, .sql = "SUBSTRING_INDEX(t.engine, ',', 1)", .doc = "What has found their own texts"),
	FIELD(struct content, page_count, .sql = "COALESCE(m.page_count, 0)", .doc = "How many there are"),
	FIELD(struct content, cut_at, .sql = "CAST(COALESCE(JSON_VALUE(t.data, '$.cutAt'), 0) AS SIGNED)",
	    .doc = "The first of them whose own text is not known; 0: none"),
	FIELD(struct content, made_at, .sql = "t.updated_at", .doc = "When that was found"),
	FIELD(struct content, file, .sql = "r.file", .doc = "The PDF; NULL: there is none"),
	FIELD(struct content, language_code, .sql = "m.language_code", .doc = "BCP 47 tag"),
};
static const struct record content_record = RECORD("PagesContent", struct content, content_fields);

struct reading {
	struct job *j;
	const struct content *is;
	const char *version;			/* of the engine */
	struct document_page *pages;		/* by number, from 0; those without a text have none yet */
	const int64_t *of;			/* numbers of the pictures of a run */
	int64_t last;				/* page of those that may be read */
	int64_t to_read, read, undrawn, failed;
	struct fault why;			/* of the last that failed */
	struct buf text;			/* of all that was read */
};

/* Lines of a page, as sure as they are in the mean of their letters. */
static void
seen(void *user, size_t picture, const struct sheet_line *l, size_t n)
{
	struct reading *r = user;
	struct document_page *p = &r->pages[r->of[picture] - 1];
	struct buf text = BUF(r->j->mem);
	double sum = 0, letters = 0;

	for (size_t i = 0; i < n; i++) {
		buf_printf(&text, "%s%s", i > 0 ? "\n" : "", l[i].text);
		sum += l[i].confidence * (double)strlen(l[i].text);
		letters += (double)strlen(l[i].text);
	}
	if (letters > 0)
		*p = (struct document_page){ r->of[picture], buf_string(&text), r->version, sum / letters };
	if (letters > 0 && r->text.len < DOCUMENT_TEXT_MAX)
		buf_printf(&r->text, "%s\n", p->text);
	r->read++;
}

static void
missed(void *user, size_t picture, const struct fault *fault)
{
	struct reading *r = user;

	r->why = *fault;
	if (++r->failed <= NAMED)
		job_warn(r->j, &(struct warning){ .reason = fault->reason, .detail = arena_printf(r->j->mem,
		    "Page %" PRId64 " could not be read as a picture.", r->of[picture]) });
}

/* Pictures of the next pages that have no text, from *page on.  What the machine lacks ends it; of a page that cannot
 * be drawn only that page is missing. */
static bool
draw(struct reading *r, const char *pdf, int64_t *page, int64_t most, const char **path, int64_t *of, size_t *n,
    struct fault *fault)
{
	for (*n = 0; *page <= r->last && *n < (size_t)most; ++*page) {
		const char *name = arena_printf(r->j->mem, "page%zu.jpg", *n);

		if (r->pages[*page - 1].text != NULL)
			continue;
		*fault = document_draw(r->j->mem, pdf, *page, r->j->work_dir, name);
		if (fault->reason == REASON_NONE) {
			path[*n] = arena_printf(r->j->mem, "%s/%s", r->j->work_dir, name);
			of[(*n)++] = *page;
		} else if (reason_info(fault->reason)->class == CLASS_PASSING) {
			return false;
		} else {
			r->undrawn++;
		}
	}
	*fault = (struct fault){ REASON_NONE, NULL, NULL };
	return true;
}

/* *page is the first that was not looked at, at the end. */
static enum outcome
read_pages(struct reading *r, const struct engine *e, const char *pdf, int64_t *page)
{
	const int64_t most = r->to_read < r->j->conf->document_read_pages ? r->to_read :
	    r->j->conf->document_read_pages, until = clock_ms() + READ_MS;
	struct fault fault;

	for (*page = 1; r->read + r->undrawn + r->failed < most && *page <= r->last && clock_ms() < until;) {
		const int64_t left = most - r->read - r->undrawn - r->failed;
		const char *path[BATCH];
		int64_t of[BATCH];
		struct sheet sheet = { .mem = r->j->mem, .conf = r->j->conf, .pictures = path,
		    .language = r->is->language_code, .work_dir = r->j->work_dir, .seen = seen, .missed = missed,
		    .user = r, .until = until };

		r->of = of;
		if (!draw(r, pdf, page, left < BATCH ? left : BATCH, path, of, &sheet.n, &fault))
			return job_fault(r->j, &fault);
		if (!sheet_read(e, &sheet))
			return job_fault(r->j, &sheet.fault);
		if (sheet.looked_at < sheet.n)
			*page = of[sheet.looked_at];
		job_progress(r->j, (int)(100 * (r->read + r->undrawn + r->failed) / most));
	}
	/* Where none at all can be read, it is not the fault of one. */
	return r->read == 0 && r->failed > 0 ? job_fault(r->j, &r->why) : DONE;
}

/* What `pages` knows, by number. */
static void
lay_out(struct reading *r)
{
	const struct list known = record_parse_list(r->j->mem, &document_page_record, r->is->pages.text);
	const struct document_page *p = known.rows;

	r->pages = arena_array(r->j->mem, (size_t)r->is->page_count, sizeof(*r->pages));
	/* Pages behind may have a text of their own, which nobody knows. */
	r->last = r->is->cut_at > 0 && r->is->cut_at <= r->is->page_count ? r->is->cut_at - 1 : r->is->page_count;
	r->to_read = r->last;
	for (size_t i = 0; i < known.n; i++)
		if (p[i].page >= 1 && p[i].page <= r->is->page_count && p[i].text != NULL &&
		    r->pages[p[i].page - 1].text == NULL) {
			r->pages[p[i].page - 1] = p[i];
			r->to_read -= p[i].page <= r->last;
		}
}

/* What is missing is told. */
static void
tell(struct reading *r, int64_t page)
{
	const int64_t left = r->to_read - r->read - r->undrawn - r->failed;

	if (left > 0)
		job_warn(r->j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = arena_printf(r->j->mem,
		    "Of %" PRId64 " pages without a text of their own %" PRId64 " were read as pictures, those before "
		    "page %" PRId64 ".", r->to_read, r->read, page) });
	if (r->failed > NAMED)
		job_warn(r->j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = arena_printf(r->j->mem,
		    "%" PRId64 " more pages could not be read as pictures.", r->failed - NAMED) });
	if (r->undrawn > 0)
		job_warn(r->j, &(struct warning){ .reason = REASON_DAMAGED, .detail = arena_printf(r->j->mem,
		    "Of %" PRId64 " pages without a text of their own %" PRId64 " cannot be drawn, and so not be read.",
		    r->to_read, r->undrawn) });
}

static void
put(struct reading *r, const struct asset_args *in)
{
	int64_t cut_at = r->is->cut_at;
	const char *json;
	size_t n = 0;

	/* Deleted meanwhile, or made anew, which has a job of its own. */
	if (db_number(r->j->db, "SELECT COUNT(*) FROM metadata WHERE media_id = ? AND kind = 'documentContent' AND "
	    "updated_at = ?", ARGS(ID(in->media_id), INT(r->is->made_at)), 0) == 0)
		return;
	for (int64_t i = 0; i < r->is->page_count; i++)
		if (r->pages[i].text != NULL)
			r->pages[n++] = r->pages[i];
	json = document_pages_json(r->j->mem, r->pages, n, &cut_at);
	if (cut_at != r->is->cut_at)
		job_warn(r->j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = arena_printf(r->j->mem,
		    "The text ends on page %" PRId64 ", before which there is too much of it.", cut_at) });
	db_run(r->j->db, "UPDATE media SET language_code = COALESCE(language_code, ?) WHERE id = ?", ARGS(
	    STR(language_guess(r->j->mem, buf_string(&r->text), r->text.len).tag), ID(in->media_id)));
	metadata_put(r->j->db, in->media_id, "documentContent", arena_printf(r->j->mem, "%s, %s", r->is->engine,
	    r->version), json);
}

enum outcome
page_texts_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct engine *e = engine_for(j, ENGINE_ocr);
	struct reading r = { .j = j, .text = BUF(j->mem) };
	enum outcome outcome;
	struct fault fault;
	const char *pdf;
	int64_t page;

	if (e == NULL)
		return DONE;
	r.version = e->version(j->mem, j->conf);
	r.is = db_row(j->db, &content_record, "FROM media m JOIN metadata t ON t.media_id = m.id AND t.kind = "
	    "'documentContent' LEFT JOIN renditions r ON r.media_id = m.id AND r.generation = ? AND r.kind = 'pdf' WHERE "
	    "m.id = ? LIMIT 1", ARGS(STR(in->generation), ID(in->media_id)));
	if (r.is == NULL || r.is->file == NULL || r.is->page_count <= 0)
		return DONE;
	lay_out(&r);
	if (r.to_read == 0)
		return DONE;
	job_pause(j);
	pdf = step_fetch(j, store_key_play(j->mem, in->media_id, r.is->file), &fault);
	if (pdf == NULL)
		return job_fault(j, &fault);
	outcome = read_pages(&r, e, pdf, &page);
	if (outcome != DONE)
		return outcome;
	tell(&r, page);
	if (!job_resume(j))
		return RETRY;
	if (r.read > 0)
		put(&r, in);
	return DONE;
}
