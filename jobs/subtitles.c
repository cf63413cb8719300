/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Subtitles that the file brings along, as WebVTT beside it.  The file is read once for all of them; one that cannot be
 * read costs the others nothing.  Safe to run twice: each run has files of its own, and rows are replaced.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/asset.h"
#include "jobs/master.h"
#include "media/playlist.h"
#include "media/subtitles.h"

/* Bytes of what a track is read from, far above the words of the longest film; and of all that is made of it. */
enum { FILE_MOST = 8 << 20, WORK_MOST = 400 << 20 };

/* Those that are worked on, and what came of them. */
struct work {
	struct job *j;
	const struct asset_args *in;
	const struct av_file *file;
	const struct av_subtitle *of[AV_SUBTITLES];
	size_t n, made;
	const char *names[2 * AV_SUBTITLES + 1];
};

/* All at once; when that fails because of the file, each alone, and false only if the machine is at fault. */
static bool
extract(struct work *w, struct fault *fault)
{
	size_t i;

	if (av_subtitles(w->j->mem, w->file, w->j->work_dir, w->of, w->n, fault))
		return true;
	for (i = 0; w->n > 1 && i < w->n && fault_is_final(fault); i++)
		if (!av_subtitles(w->j->mem, w->file, w->j->work_dir, &w->of[i], 1, fault))
			job_log(w->j, "subtitles %s: %s", w->of[i]->label, fault->detail);
	return fault_is_final(fault);
}

/* The whole of what ffmpeg has taken out of the file; NULL when there is none of it. */
static const char *
read_text(struct work *w, struct arena *mem, const struct av_subtitle *s, size_t *size)
{
	FILE *f = fopen(av_subtitle_path(w->j->mem, w->j->work_dir, s), "re");
	struct stat st;
	char *text = NULL;

	if (f == NULL)
		return NULL;
	if (fstat(fileno(f), &st) == 0 && st.st_size > 0 && st.st_size <= FILE_MOST) {
		text = arena_alloc(mem, (size_t)st.st_size);
		*size = fread(text, 1, (size_t)st.st_size, f);
	}
	fclose(f);
	return text;
}

static enum subtitles_form
form_of(const struct av_subtitle *s)
{
	if (strcmp(s->codec, "webvtt") == 0)
		return SUBTITLES_VTT;
	return strcmp(s->codec, "ass") == 0 || strcmp(s->codec, "ssa") == 0 ? SUBTITLES_ASS : SUBTITLES_SRT;
}

static const char *
name_of(struct work *w, const struct av_subtitle *s, const char *suffix)
{
	return arena_printf(w->j->mem, "subtitles-%d.%s", s->index, suffix);
}

enum result { MADE, EMPTY, FAILED };

/* Writes one as WebVTT, with its playlist; FAILED with errno. */
static enum result
make_one(struct work *w, struct arena *mem, const struct av_subtitle *s, const char *vtt, const char *list)
{
	size_t size = 0;
	const char *text = read_text(w, mem, s, &size);
	struct buf out = BUF(mem);

	if (text == NULL || subtitles_write(&out, form_of(s), text, size) == 0)
		return EMPTY;
	return step_write(w->j, vtt, buf_string(&out)) &&
	    step_write(w->j, list, playlist_text(mem, vtt, w->file->duration_ms)) ? MADE : FAILED;
}

/* All of them, in the work directory; those without a word are left out.  Each has memory of its own: many large ones
 * would be more than a job may have.  False with errno. */
static bool
make(struct work *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct av_subtitle *s = w->of[i];
		const char *vtt = name_of(w, s, "vtt"), *list = name_of(w, s, "m3u8");
		struct arena *mem = arena_new(WORK_MOST);
		const enum result result = make_one(w, mem, s, vtt, list);
		const int saved = errno;

		arena_free(mem);
		errno = saved;
		if (result == FAILED)
			return false;
		if (result == EMPTY) {
			job_log(w->j, "subtitles %s: nothing to read", s->label);
			continue;
		}
		w->names[2 * w->made] = vtt;
		w->names[2 * w->made + 1] = list;
		w->of[w->made++] = s;
	}
	return true;
}

static enum outcome
write_rows(struct work *w)
{
	size_t i;

	master_lock(w->j, w->in);
	for (i = 0; i < w->made; i++) {
		const struct av_subtitle *s = w->of[i];
		struct rendition_row row = step_row(w->j, w->in, "subtitles", w->names[2 * i], "text/vtt");

		row.label = row.track_name = s->label;
		row.language_code = s->language;
		row.roles = av_roles(w->j->mem, s->roles);
		rendition_put(w->j->db, &row);
	}
	return master_write(w->j, w->in);
}

enum outcome
subtitles_run(struct job *j)
{
	struct work w = { .j = j, .in = j->in };
	struct fault fault;
	int i;

	step_begin(j);
	w.file = step_headers(j, w.in, &fault);
	if (w.file == NULL)
		return job_fault(j, &fault);
	for (i = 0; i < w.file->n_subtitles; i++)
		if (w.file->subtitles[i].used)
			w.of[w.n++] = &w.file->subtitles[i];
	if (!extract(&w, &fault))
		return job_fault(j, &fault);
	if (!make(&w) || !step_store(j, w.in, w.names))
		return step_not_stored(j, "The subtitles");
	if (w.made == 0)
		return job_give_up(j, REASON_DECODE_FAILED, "There is no word in the subtitles of the file.");
	return job_resume(j) ? write_rows(&w) : RETRY;
}
