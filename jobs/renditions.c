/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What players get.  first_rendition makes the lowest size and the sound, with a playlist of that one, so that an asset
 * is playable soon; renditions makes the other sizes in one decode, the sound for slow lines, a playlist of all of them
 * and the download.  Decoding twice costs about a tenth of the whole, and for that the film plays in a quarter of the
 * time: one process makes all sizes at the pace of the largest.  Both are safe to run twice: each run has files of its
 * own, and rows are replaced.
 */
#include <inttypes.h>
#include <string.h>

#include "media/language.h"
#include "media/playlist.h"
#include "core/store.h"
#include "jobs/master.h"

enum { ROWS = 2 * AV_RUNGS + 4, DOWNLOAD_SIDE = 1080 };

/* Files that a step has made, on their way into the store and the table. */
struct made {
	struct job *j;
	const struct asset_args *in;
	const char *names[2 * ROWS];
	size_t n_names;
	struct rendition_row rows[ROWS];
	size_t n_rows;
};

static void
add_name(struct made *m, const char *name)
{
	m->names[m->n_names++] = name;
}

static struct rendition_row *
add_row(struct made *m, const char *kind, const char *label, const char *name, const char *mime_type)
{
	struct rendition_row *row = &m->rows[m->n_rows++];

	*row = step_row(m->j, m->in, kind, name, mime_type);
	row->label = label;
	return row;
}

/* An HLS rendition: the row names its playlist and weighs its media file. */
static void
add_rendition(struct made *m, const struct av_rendition *r)
{
	const char *playlist = arena_printf(m->j->mem, "%s.m3u8", r->name);
	const bool sound = r->width == 0;
	struct rendition_row *row;

	add_name(m, arena_printf(m->j->mem, "%s.mp4", r->name));
	add_name(m, playlist);
	row = add_row(m, !sound ? "hls" : strcmp(r->name, "audio") == 0 ? "audio" : "low",
	    sound ? arena_printf(m->j->mem, "%" PRId64 " kbit/s", (r->bit_rate + 500) / 1000) : r->name, playlist,
	    PLAYLIST_TYPE);
	row->width = row->height = (struct number){ 0, false };
	if (sound) {
		row->channels = (struct number){ r->channels, true };
	} else {
		row->width = (struct number){ r->width, true };
		row->height = (struct number){ r->height, true };
		row->frame_rate = av_frame_rate(r->rate);
	}
	row->bitrate = (struct number){ r->bit_rate, true };
	row->peak_bitrate = (struct number){ r->peak_rate, true };
	row->codecs = r->codecs;
	row->file_size = r->size;
}

/* Makes the one-file form; its row follows when its size is known. */
static bool
make_download(struct made *m, const char *video, const char *audio, const char *name, struct fault *fault)
{
	if (!av_download(m->j->mem, video, audio, arena_printf(m->j->mem, "%s/%s", m->j->work_dir, name), fault))
		return false;
	add_name(m, name);
	return true;
}

/* The sound for slow lines, from that which is there, unless that one is slow enough. */
static bool
add_low_sound(struct made *m, const struct av_work *work, const char *sound, struct fault *fault)
{
	struct av_work low = { .dir = work->dir, .segment_seconds = work->segment_seconds, .low_sound = true };
	struct av_rendition made;

	low.file = av_headers(m->j->mem, sound, fault);
	if (low.file == NULL)
		return false;
	if (low.file->audio == NULL || low.file->audio->channels == 1)
		return true;
	if (av_encode(m->j->mem, &low, NULL, 0, true, &made, fault) == 0)
		return false;
	add_rendition(m, &made);
	return true;
}

static bool
store_all(struct made *m)
{
	m->names[m->n_names] = NULL;
	return step_store(m->j, m->in, m->names);
}

static enum outcome
write_rows(struct made *m, int64_t duration_ms)
{
	if (!job_resume(m->j))
		return RETRY;
	master_lock(m->j, m->in);
	for (size_t i = 0; i < m->n_rows; i++)
		rendition_put(m->j->db, &m->rows[i]);
	/* What has been decoded is the truth where the container only guessed. */
	if (duration_ms > 0)
		db_run(m->j->db, "UPDATE media SET duration = ? WHERE id = ? AND (duration IS NULL OR ABS(duration "
		    "- ?) > 500)", ARGS(INT(duration_ms), ID(m->in->media_id), INT(duration_ms)));
	return master_write(m->j, m->in);
}

static const char *
language_of(struct job *j, const struct asset_args *in)
{
	return db_text(j->db, "SELECT language_code FROM media WHERE id = ?", ARGS(ID(in->media_id)));
}

/* Where the file does not tell the language, its uploader may; beside other tracks the file's own names stay, which are
 * distinct. */
static void
name_sound(struct made *m, const struct av_file *f, const char *language)
{
	struct rendition_row *row = &m->rows[m->n_rows - 1];
	const struct av_audio *a = f->audio;

	row->language_code = a->language != NULL ? a->language : language;
	row->track_name = a->language == NULL && language != NULL && f->n_tracks == 1 ?
	    language_label(m->j->mem, language) : a->label;
	row->roles = av_roles(m->j->mem, a->roles);
}

static int64_t
longest(const struct av_rendition *made, size_t n)
{
	int64_t ms = 0;

	for (size_t i = 0; i < n; i++)
		if (made[i].duration_ms > ms)
			ms = made[i].duration_ms;
	return ms;
}

static void
warn_of(struct job *j, const struct av_damage *damage)
{
	for (size_t i = 0; i < damage->n; i++) {
		const struct av_gap *g = &damage->gaps[i];

		job_warn(j, &(struct warning){ .reason = REASON_DAMAGED, .detail = av_gap_text(j->mem, g),
		    .from = { g->from_ms, true }, .to = { g->to_ms, g->to_ms >= 0 } });
	}
}

enum outcome
first_rendition_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const char *language = language_of(j, in);
	struct made m = { .j = j, .in = in };
	struct av_rendition made[2];
	struct av_rung rungs[AV_RUNGS];
	struct av_damage damage;
	const struct av_file *f;
	struct fault fault;
	struct av_work work;
	size_t n = 0, k;

	step_begin(j);
	f = step_original(j, in, &fault);
	if (f == NULL)
		return job_fault(j, &fault);
	work = step_work(j, f, 0);
	work.damage = &damage;
	if (f->video != NULL)
		n = av_rungs(j->mem, f->video, j->conf->video_rungs, j->conf->video_fields, rungs);
	k = av_encode(j->mem, &work, n > 0 ? &rungs[n - 1] : NULL, n > 0, true, made, &fault);
	if (k == 0)
		return job_fault(j, &fault);
	for (size_t i = 0; i < k; i++)
		add_rendition(&m, &made[i]);
	if (f->audio != NULL)
		name_sound(&m, f, language);
	/* Sound alone has no further step that would make its download. */
	if (n == 0 && (!make_download(&m, NULL, made[0].file, "sound.m4a", &fault) ||
	    !add_low_sound(&m, &work, made[0].file, &fault)))
		return job_fault(j, &fault);
	if (!store_all(&m))
		return step_not_stored(j, "The renditions");
	if (n == 0) {
		struct rendition_row *row = add_row(&m, "audio", "M4A", "sound.m4a", "audio/mp4");

		row->bitrate = (struct number){ made[0].bit_rate, true };
		row->codecs = made[0].codecs;
	}
	warn_of(j, &damage);
	return write_rows(&m, longest(made, k));
}

static int64_t
short_side(const struct rendition_row *r)
{
	return r->width.n < r->height.n ? r->width.n : r->height.n;
}

/* The largest size that is still handy to download, else the smallest there is. */
static const struct rendition_row *
best_for_download(const struct made *m)
{
	const struct rendition_row *best = NULL;

	for (size_t i = 0; i < m->n_rows; i++) {
		const struct rendition_row *r = &m->rows[i];
		const bool handy = short_side(r) <= DOWNLOAD_SIDE;

		if (strcmp(r->kind, "hls") != 0)
			continue;
		if (best == NULL || (short_side(best) > DOWNLOAD_SIDE ? short_side(r) < short_side(best) :
		    handy && short_side(r) > short_side(best)))
			best = r;
	}
	return best;
}

/* The sound that the earlier step has stored; *sound is NULL where there is none. */
static bool
find_sound(struct made *m, const struct rendition_row *rows, size_t n, const char **sound, struct fault *fault)
{
	*sound = NULL;
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].kind, "audio") == 0 && strcmp(rows[i].mime_type, PLAYLIST_TYPE) == 0)
			return (*sound = step_media(m->j, m->in, rows[i].file, fault)) != NULL;
	return true;
}

/* The video just made, or stored by an earlier step, with the sound. */
static bool
download(struct made *m, const struct rendition_row *video, bool fresh, const char *sound, struct fault *fault)
{
	const char *picture = fresh ? arena_printf(m->j->mem, "%s/%s.mp4", m->j->work_dir, video->label) :
	    step_media(m->j, m->in, video->file, fault);

	return picture != NULL && make_download(m, picture, sound, "download.mp4", fault);
}

/* The rows of the earlier step, so that one master names everything. */
static void
add_earlier(struct made *m, const struct rendition_row *rows, size_t n)
{
	for (size_t i = 0; i < n && m->n_rows < ROWS; i++) {
		bool again = false;

		if (strcmp(rows[i].kind, "hls") != 0 && (strcmp(rows[i].kind, "audio") != 0 ||
		    strcmp(rows[i].mime_type, PLAYLIST_TYPE) != 0))
			continue;
		for (size_t k = 0; k < m->n_rows; k++)
			again |= strcmp(m->rows[k].kind, rows[i].kind) == 0 &&
			    strcmp(m->rows[k].label, rows[i].label) == 0;
		if (!again)
			m->rows[m->n_rows++] = rows[i];
	}
}

enum outcome
renditions_run(struct job *j)
{
	const struct asset_args *in = j->in;
	const int64_t shown_ms = step_shown_ms(j, in);
	struct made m = { .j = j, .in = in };
	struct av_rendition made[AV_RUNGS + 1];
	struct av_rung rungs[AV_RUNGS];
	const struct rendition_row *earlier, *found;
	struct rendition_row best, *row;
	const char *sound;
	const struct av_file *f;
	struct fault fault;
	struct av_work work;
	size_t n_earlier, n, fresh, k = 0;

	earlier = db_rows(j->db, &rendition_row_record, "FROM renditions t WHERE t.media_id = ? AND t.generation = ? "
	    "ORDER BY t.height DESC, t.file", ARGS(ID(in->media_id), STR(in->generation)), &n_earlier);
	step_begin(j);
	f = step_original(j, in, &fault);
	if (f == NULL)
		return job_fault(j, &fault);
	if (f->video == NULL)
		return DONE;
	work = step_work(j, f, shown_ms);
	n = av_rungs(j->mem, f->video, j->conf->video_rungs, j->conf->video_fields, rungs);
	if (n > 1 && (k = av_encode(j->mem, &work, rungs, n - 1, false, made, &fault)) == 0)
		return job_fault(j, &fault);
	for (size_t i = 0; i < k; i++)
		add_rendition(&m, &made[i]);
	if (!find_sound(&m, earlier, n_earlier, &sound, &fault) ||
	    (sound != NULL && !add_low_sound(&m, &work, sound, &fault)))
		return job_fault(j, &fault);
	fresh = m.n_rows;
	add_earlier(&m, earlier, n_earlier);
	found = best_for_download(&m);
	if (found == NULL)
		return job_retry(j, REASON_INTERNAL, "The first rendition is missing.");
	best = *found;
	if (!download(&m, found, found < m.rows + fresh, sound, &fault))
		return job_fault(j, &fault);
	if (!store_all(&m))
		return step_not_stored(j, "The renditions");
	m.n_rows = fresh;		/* the others are in the table already */
	row = add_row(&m, "mp4", best.label, "download.mp4", "video/mp4");
	row->width = best.width;
	row->height = best.height;
	row->frame_rate = best.frame_rate;
	row->codecs = best.codecs;
	return write_rows(&m, 0);
}
