/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of an asset that both the API and the jobs change. */
#ifndef CORE_ASSET_H
#define CORE_ASSET_H

#include "core/db.h"
#include "core/record.h"

/*
 * One file that an ingest has made.  Kinds hls, mp4, audio, image and pdf are renditions that clients see, and so is
 * low, the sound alone for slow lines, which they see as hls: a stream to choose from the playlist, and track, sound
 * beside the one that plays by itself; playlist, poster, storyboard, waveform and subtitles fill members of their own
 * (playlistUrl, thumbnail, storyboard, waveformUrl, captions of the player).
 * Rows of the generation named in media.generation are what clients get; a re-ingest writes rows of a new generation,
 * which `publish` swaps in at once.
 */
struct rendition_row {
	struct uuid id, media_id;
	const char *generation, *kind, *label;
	struct number width, height, bitrate, peak_bitrate;	/* pixels; bit/s */
	double frame_rate;
	struct number channels;		/* of sound */
	const char *codecs, *mime_type;
	const char *language_code, *track_name, *roles;		/* of tracks, may be NULL; roles by av_roles() */
	int64_t file_size;
	const char *file;		/* "{generation}/{run}/{name}", see store_key_play() */
	struct moment created_at;
};
extern const struct record rendition_row_record;

/* Members of an asset as clients see them. */
struct ingest_step { const char *name, *status; int64_t progress; struct moment started_at, finished_at;
    struct json error; };
struct ingest_warning { const char *step, *code, *detail, *remedy; struct position from, to; };
struct ingest_summary {
	struct uuid id;
	const char *status;
	int64_t progress, attempt;
	struct moment started_at, finished_at;
	struct json error;
	struct list warnings, steps;
};
struct thumbnail { const char *url; int64_t width, height; const char *mime_type; };
struct storyboard { const char *image_url, *vtt_url; };
extern const struct record job_error_record;	/* of errors in members of an asset; see job.h */
extern const struct record rendition_record, ingest_record, ingest_step_record, thumbnail_record, storyboard_record;

/* Addresses in the summing columns begin with this; the API puts the signed prefix of the asset in its place. */
#define PLAY_MARK "{play}"

/* Inserts the row, or replaces the one of the same kind, label and type: of a step that runs again, or the playlist of
 * an earlier step.  Fills id and created_at. */
void rendition_put(struct db *, struct rendition_row *);

/* What to make anew in the row of the asset, from the tables it sums up. */
enum { SUM_INGEST = 1, SUM_RENDITIONS = 2, SUM_CHANNELS = 4, SUM_TAGS = 8, SUM_TOLD = 16 };

/* Rewrites the summing columns, so that one row answers a request.  SUM_RENDITIONS also makes the asset ready as soon
 * as its published generation holds a playlist, image or pdf; SUM_INGEST derives ingest_status, the steps and their
 * progress from the jobs alone, names as warnings the optional steps that failed, also in the place of what they
 * should have made, and what steps that succeeded have to tell, and makes an asset failed whose first ingest failed.
 * By a job: revision grows; by a client, version does (db_update has done that).  Call it in the transaction that
 * changed the rows it sums up.  The first two write the events of what has changed in them (core/event.h), unless
 * SUM_TOLD: who calls it does; the others never do. */
void asset_summarise(struct db *, struct uuid media_id, unsigned what);
/* What SUM_TAGS sets in a row of media, where many are to be set by one statement. */
#define ASSET_SUM_TAGS_SQL "tags = COALESCE((SELECT CONCAT('[', GROUP_CONCAT(JSON_QUOTE(g.name) ORDER BY g.name, " \
	"g.name_key SEPARATOR ','), ']') FROM media_tags mt JOIN tags g ON g.id = mt.tag_id AND g.gone_at = 0 WHERE " \
	"mt.media_id = media.id), '[]')"

/* As SUM_INGEST, for mere progress: nothing when the asset was summed up less than two seconds ago, by whomever.  For a
 * transaction of its own. */
void asset_progress(struct db *, struct uuid media_id);

/* Sets derived data of one kind ("file", "documentContent", …), JSON, and the engine that made it; and tells. */
void metadata_put(struct db *, struct uuid media_id, const char *kind, const char *engine, const char *data);
/* The event alone, of a job: derived data of the kind has changed. */
void metadata_changed(struct db *, struct uuid media_id, const char *kind);

/* Adds to the tenant's running totals.  The row is one for all of the tenant: only what creates or deletes calls it,
 * last in its transaction, so that it is held for moments. */
void usage_add(struct db *, struct uuid tenant_id, int64_t media, int64_t bytes);

/*
 * The files of an asset follow its row: within reach of who holds an address, or, when it is soft-deleted or gone, out
 * of reach (store_serve).  This moves them, in a transaction, by the row as it is then, and keeps the
 * row locked until the end: of two that move, the later one sees the later row.  False with errno.  Whoever changes
 * deleted_at calls asset_serve_later() in the same transaction, a job that does it, and does it itself as soon as that
 * is committed.
 */
bool asset_serve(struct db *, struct uuid media_id);
void asset_serve_later(struct db *, struct uuid tenant_id, struct uuid media_id);

/* Files of the pictures that clients have set for it and its sections, which lie beside its original, too. */
struct strings asset_pictures(struct db *, struct uuid media_id);
/* Files that jobs have made for a section, or for all sections of a chapter (the other id is none), and that no other
 * section has: pictures and clips. */
struct strings asset_section_files(struct db *, struct uuid media_id, struct uuid section_id, struct uuid chapter_id);
/* Such files, which no row names any more, are deleted by a job: at once, or (conf) when the addresses that may lead to
 * them have expired. */
void asset_files_gone(struct db *, const struct conf *, struct uuid tenant_id, struct uuid media_id, struct strings);
/* A job makes pictures of sections whose position has none; one that waits already does these, too. */
void asset_pictures_later(struct db *, struct uuid tenant_id, struct uuid media_id);

/* What is deleted, by whom (none: its time is over), and the channels in which it was. */
struct asset_deletion {
	struct uuid tenant_id, media_id, principal_id;
	struct ids channel_ids;
	bool permanent;
	struct moment at;
};
/* Deletes an asset whose row is locked, softly or for good, and tells it.  Of what goes for good the rows go at once,
 * the files by a job that waits for the steps that run, and looks itself whether more have begun.  Returns the bytes
 * that it took, for usage_add(), which is the last of all. */
int64_t asset_delete(struct db *, const struct asset_deletion *);

/* Bytes of an asset that count in the quota of its tenant: the original, and the thumbnails that clients
 * have set for it and its sections. */
int64_t asset_bytes(struct db *, struct uuid media_id);

/* The name of an asset whose uploader gave none: that of its file without the ending, cut to what a name may have. */
const char *asset_name_from(struct arena *, const char *file_name);

/* Languages to transcribe: where nobody has said any (at == NULL), those of the tenant's settings, if it has some. */
void asset_languages(struct db *, struct uuid tenant_id, struct strings *);

/* Starts an ingest: makes the root job and the generation name (the job's id), sets media.ingest_*.  Returns the
 * job. */
struct uuid ingest_start(struct db *, struct uuid tenant_id, struct uuid media_id);

#endif
