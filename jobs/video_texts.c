/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text on slides and screens: where the lowest rendition stands still, the original is looked at and read.  Safe to run
 * twice: the row is replaced.
 */
#include <stdio.h>
#include <string.h>

#include "media/watch.h"
#include "jobs/screen_texts.h"
#include "jobs/step.h"

/* Of one asset; read in one run; pixels of the long side, of which more says no more; ms after which no further run
 * begins; stills that are named when they cannot be read. */
enum { STILLS_MAX = 600, BATCH = 20, LONG_SIDE = 1280, READ_MS = 1800 * 1000, NAMED = 20 };

struct screen {
	struct job *j;
	const struct watched *stills;		/* of the pictures of the run */
	struct av_picture size;
	struct screen_texts *texts;
	size_t read, failed;
	struct fault why;			/* of the last that failed */
};

static void
seen(void *user, size_t picture, const struct sheet_line *lines, size_t n)
{
	struct screen *s = user;

	screen_texts_add(s->texts, s->stills[picture].from, s->stills[picture].to, lines, n, s->size.width,
	    s->size.height);
	s->read++;
}

static void
missed(void *user, size_t picture, const struct fault *fault)
{
	struct screen *s = user;
	const struct watched *at = &s->stills[picture];

	s->why = *fault;
	if (++s->failed <= NAMED)
		job_warn(s->j, &(struct warning){ .reason = fault->reason, .detail = "What stands on the screen there "
		    "could not be read.", .from = { at->from, true }, .to = { at->to, true } });
}

/* Pictures of the stills; one that cannot be decoded is left out, as its moment is in the renditions.  Returns how many
 * there are. */
static size_t
take_pictures(struct screen *s, const struct av_file *f, const struct watched *stills, size_t n, const char **path,
    struct watched *of)
{
	struct fault fault;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		path[k] = arena_printf(s->j->mem, "%s/still%zu.jpg", s->j->work_dir, k);
		if (av_frame(s->j->mem, f, stills[i].at, LONG_SIDE, path[k], &s->size, &fault))
			of[k++] = stills[i];
		else
			job_log(s->j, "no picture at %lld ms: %s", (long long)stills[i].at, fault.detail != NULL ?
			    fault.detail : "");
	}
	return k;
}

/* What is missing is told. */
static void
tell(struct screen *s, const struct watch *w, size_t done)
{
	if (done < w->n)
		job_warn(s->j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = "What stands on the screen from "
		    "there on was not read: what is before it took too long.", .from = { w->at[done].from, true } });
	if (s->failed > NAMED)
		job_warn(s->j, &(struct warning){ .reason = REASON_LEFT_OUT, .detail = arena_printf(s->j->mem,
		    "At %zu more places it could not be read.", s->failed - NAMED) });
}

static enum outcome
read_all(struct screen *s, const struct engine *e, const struct av_file *f, const struct watch *w, const char *language)
{
	const int64_t until = clock_ms() + READ_MS;
	struct job *j = s->j;
	size_t done, n;

	for (done = 0; done < w->n && clock_ms() < until; done += n) {
		struct watched of[BATCH];
		const char *path[BATCH];
		struct sheet sheet = { .mem = j->mem, .conf = j->conf, .pictures = path, .language = language,
		    .work_dir = j->work_dir, .seen = seen, .missed = missed, .user = s, .until = until };

		n = w->n - done < BATCH ? w->n - done : BATCH;
		s->stills = of;
		sheet.n = take_pictures(s, f, w->at + done, n, path, of);
		if (!sheet_read(e, &sheet))
			return job_fault(j, &sheet.fault);
		while (sheet.looked_at < sheet.n && n > 0 && w->at[done + n - 1].from >= of[sheet.looked_at].from)
			n--;
		step_progress(j, (int)(20 + 80 * (done + n) / w->n));
	}
	/* Where none at all can be read, it is not the fault of one. */
	if (s->read == 0 && s->failed > 0)
		return job_fault(j, &s->why);
	tell(s, w, done);
	return DONE;
}

enum outcome
video_texts_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const struct engine *e = engine_for(j, ENGINE_ocr);
	const char *lowest = step_lowest(j, in), *language = db_text(j->db, "SELECT language_code FROM media t WHERE "
	    "t.id = ?", ARGS(ID(in->media_id)));
	struct screen s = { .j = j, .texts = screen_texts_new(j->mem) };
	const struct av_file *f;
	struct av_rendition r;
	enum outcome outcome;
	struct fault fault;
	struct watch w;

	if (e == NULL)
		return DONE;
	if (lowest == NULL)
		return job_retry(j, REASON_INTERNAL, "The first rendition is missing.");
	step_begin(j);
	if (!step_rendition(j, in, lowest, &r, &fault) || !watch_stills(j->mem, &r, STILLS_MAX, &w, &fault) ||
	    (f = step_original(j, in, &fault)) == NULL)
		return job_fault(j, &fault);
	step_progress(j, 20);
	outcome = read_all(&s, e, f, &w, language);
	if (outcome != DONE)
		return outcome;
	if (!job_resume(j))
		return RETRY;
	metadata_put(j->db, in->media_id, "videoTexts", e->version(j->mem, j->conf), screen_texts_json(s.texts));
	return DONE;
}
