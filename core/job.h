/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kinds of work and their arguments: the contract between the programs that ask (job_add) and the runner.
 * Columns of JOB_KINDS: kind; class; attempts; seconds without progress before it is ended; step name shown to users;
 * weight in the progress of the whole; whether the ingest fails with it; whether it opens files that clients have made,
 * and so needs the sandbox; sentence.
 *
 * Each class has places of its own on a machine (job.slots), so that what is quick never waits behind what is slow.
 * Tenants take turns in each class: who has the fewest jobs of it running is next.  While one tenant has all its places
 * and another one waits, there is a place more for the other one.
 */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db.h"
#include "core/reasons.h"
#include "core/record.h"
#include "core/text.h"

#define JOB_KINDS(K) \
	K(ingest,		QUICK,   3, 120, "probe",		2,  true,  true,  "Probe the file and plan the other steps") \
	K(first_rendition,	ENCODE,  3, 120, "firstRendition",	15, true,  true,  "Encode the lowest rung and the sound, so that it plays early") \
	K(renditions,		ENCODE,  3, 120, "renditions",		60, true,  true,  "Encode the other rungs in one decode, and the download") \
	K(tracks,		ENCODE,  3, 120, "audioTracks",		5,  false, true,  "Encode the other tracks of sound, in one decode") \
	K(subtitles,		ANALYSE, 3, 120, "subtitles",		1,  false, true,  "Take the subtitles out of the file") \
	K(thumbnail,		QUICK,   3, 120, "thumbnail",		3,  false, true,  "Choose and render the poster") \
	K(storyboard,		ANALYSE, 2, 120, "storyboard",		3,  false, true,  "Render the preview sprite of the seek bar") \
	K(waveform,		ANALYSE, 2, 120, "waveform",		1,  false, true,  "Measure the peaks of the sound") \
	K(variants,		ENCODE,  3, 120, "variants",		40, true,  true,  "Render upright, smaller forms of a picture") \
	K(pages,		ENCODE,  3, 300, "pages",		40, true,  true,  "Count, preview and read the pages of a document") \
	K(page_texts,		ANALYSE, 3, 600, "pageTexts",		20, false, true,  "Read the pages of a document that have no text of their own") \
	K(transcribe,		ANALYSE, 3, 600, "transcript",		15, false, true,  "Turn speech into words with times") \
	K(speakers,		ANALYSE, 3, 600, "speakers",		3,  false, true,  "Tell voices apart, and say by whom each paragraph is") \
	K(scenes,		ANALYSE, 3, 120, "scenes",		1,  false, true,  "Find where the camera is another") \
	K(video_texts,		ANALYSE, 3, 600, "videoTexts",		3,  false, true,  "Read what stands on slides and screens") \
	K(image_texts,		ANALYSE, 3, 600, "imageTexts",		3,  false, true,  "Read what stands on a picture") \
	K(chapters,		ANALYSE, 3, 300, "chapters",		2,  false, true,  "Part the recording where something else begins") \
	K(keywords,		ANALYSE, 3, 300, "keywords",		1,  false, false, "Find the words that tell an asset from others") \
	K(entities,		ANALYSE, 3, 300, "entities",		1,  false, false, "Find who and what is named in an asset") \
	K(summary,		ANALYSE, 3, 300, "summary",		1,  false, false, "Find the sentences that say what an asset says") \
	K(labels,		NETWORK, 3, 300, "labels",		0,  false, true,  "Have a server say what pictures show") \
	K(gist,			ANALYSE, 3, 300, "gist",		0,  false, false, "Find anew what an asset is about, since its words have changed") \
	K(agenda,		NETWORK, 4, 120, "agenda",		0,  false, false, "Fill a chapter or a meeting with an agenda of another server") \
	K(section_thumbnails,	ANALYSE, 3, 300, "sectionThumbnails",	0,  false, true,  "Render where sections begin") \
	K(clip,			QUICK,   3, 120, "clip",		0,  false, true,  "Cut a section into a file of its own") \
	K(livestream,		TRANSFER, 5, 300, "livestream",		0,  true,  true,  "Make an asset of what was recorded of a livestream") \
	K(recode,		ENCODE,  5, 300, "livestream",		0,  true,  true,  "Make that asset where some of it has to be encoded anew") \
	K(live_captions,	LIVE,    3, 120, "liveCaptions",	0,  true,  true,  "Write down what is said in a livestream while it lasts") \
	K(download,		ENCODE,  3, 300, "download",		0,  true,  false, "Pack files into one to take away") \
	K(captions,		QUICK,   5, 60,  "captions",		0,  true,  false, "Write the captions of a transcript that a person wants shown") \
	K(master,		QUICK,   5, 60,  "master",		0,  true,  false, "Name the captions of an asset in its playlist") \
	K(publish,		QUICK,   5, 60,  "publish",		1,  true,  false, "Swap in the new generation and drop the old one") \
	K(serve,		QUICK,   9, 60,  "serve",		0,  true,  false, "Move the files of an asset to where they are served, or away") \
	K(index,		QUICK,   5, 120, "index",		0,  true,  false, "Make findable what an asset is called and what is said in it") \
	K(embed,		NETWORK, 5, 120, "embed",		0,  true,  false, "Find out what the texts of an asset mean") \
	K(reembed,		QUICK,   5, 120, "reembed",		0,  true,  false, "Have the model that a tenant has chosen look at its assets") \
	K(question,		NETWORK, 1, 90,  "question",		0,  true,  false, "Have a server say what is meant by something that is looked for") \
	K(chat,			NETWORK, 2, 120, "chat",		0,  true,  false, "Have a language model answer a question about what assets say") \
	K(flow,			NETWORK, 2, 300, "flow",		0,  true,  false, "Run a flow over an asset, by a language model") \
	K(retag,		QUICK,   9, 120, "retag",		0,  true,  false, "Show the new name of a tag on its assets, or take it from them") \
	K(forget,		QUICK,   9, 120, "forget",		0,  true,  false, "Take voices that are known no more from those who are them") \
	K(closing,		QUICK,   9, 120, "closing",		0,  true,  false, "Empty a channel that is being deleted, and delete it") \
	K(mail,			NETWORK, 9, 60,  "mail",		0,  true,  false, "Send an invitation to the address of its user") \
	K(deliver,		NETWORK, 3, 60,  "deliver",		0,  true,  false, "Send events to webhooks, as long as there are any") \
	K(purge,		QUICK,   9, 120, "purge",		0,  true,  false, "Delete the files of something that is gone, and check") \
	K(import,		TRANSFER, 5, 900, "import",		0,  true,  false, "Fetch a file from an address and make it an asset") \
	K(keys,			NETWORK, 1, 60,  "keys",		0,  true,  false, "Ask an external token server for its keys") \
	K(scrub,		NETWORK, 2, 300, "scrub",		0,  true,  false, "Read originals again, slowly, and compare them with what came") \
	K(sweep,		QUICK,   2, 120, "sweep",		0,  true,  false, "Expire uploads and clear what crashes left behind")

/* Most kinds work on one asset: its generation is the folder that the step writes to. */
struct asset_args { struct uuid media_id; const char *generation; };
struct transcribe_args { struct uuid media_id; const char *generation; const char *language_code; bool anew; };
struct captions_args { struct uuid media_id, transcript_id; };
struct master_args { struct uuid media_id; };
struct section_thumbnails_args { struct uuid media_id; };
struct clip_args { struct uuid section_id; const char *source; int64_t start, end; };
struct download_args { struct uuid download_id; };
struct import_args { struct uuid file_id; };
struct livestream_args { struct uuid livestream_id; };
/* Of the ids one is none. */
struct agenda_args { struct uuid chapter_id, meeting_id; const char *url; bool is_named; };
/* Not the asset of the row jobs: what it moves is nobody's to see, cancel or wait for. */
struct serve_args { struct uuid media_id; };
struct index_args { struct uuid media_id; };
struct embed_args { struct uuid media_id; };
struct question_args { const char *engine, *digest; };
struct gist_args { struct uuid media_id; };
struct chat_args { struct uuid message_id; };
struct flow_args { struct uuid run_id; };
struct retag_args { struct uuid tag_id; };
/* Who deletes the channel, and from where: its events and the audit say so. */
struct closing_args { struct uuid channel_id, principal_id; const char *address; };
/* The secret of an invitation, by seal() for MAIL_PURPOSE: whoever reads the table cannot use it. */
struct mail_args { const char *sealed; };
#define MAIL_PURPOSE "mail"
/* Keys of the store to delete, each with all that lies below it. */
struct purge_args { struct strings keys; };
struct no_args { const char *note; };

#define ingest_args asset_args
#define first_rendition_args asset_args
#define renditions_args asset_args
#define tracks_args asset_args
#define subtitles_args asset_args
#define thumbnail_args asset_args
#define storyboard_args asset_args
#define waveform_args asset_args
#define variants_args asset_args
#define pages_args asset_args
#define page_texts_args asset_args
#define speakers_args asset_args
#define scenes_args asset_args
#define video_texts_args asset_args
#define image_texts_args asset_args
#define labels_args asset_args
#define chapters_args asset_args
#define keywords_args asset_args
#define entities_args asset_args
#define summary_args asset_args
#define publish_args asset_args
#define recode_args livestream_args
#define live_captions_args livestream_args
#define deliver_args no_args
#define forget_args no_args
#define reembed_args no_args
#define keys_args no_args
#define scrub_args no_args
#define sweep_args no_args

/* A run of a job, "{jobId}.{fence}": no other run has that name, also of the same job.  It names the scratch of the
 * run, and stands in every key of the store that it writes. */
const char *job_run_name(struct arena *, struct uuid id, int64_t fence);
bool job_run_parse(const char *name, struct uuid *id, int64_t *fence);

enum job_class { JOB_ENCODE, JOB_ANALYSE, JOB_QUICK, JOB_NETWORK, JOB_TRANSFER, JOB_LIVE, JOB_CLASSES };

/* Of one tenant, the lower number runs first: each point is half a minute, so that nothing waits for ever. */
enum priority { PRIORITY_FIRST = 10, PRIORITY_NORMAL = 50, PRIORITY_BULK = 80 };

/* needed: if that one fails, this one fails too.  A wait on none is no wait. */
struct job_wait { struct uuid on; bool needed; };
struct job_waits { const struct job_wait *at; size_t n; };
#define WAITS(...) { (const struct job_wait[]){ __VA_ARGS__ }, \
	sizeof((const struct job_wait[]){ __VA_ARGS__ }) / sizeof(struct job_wait) }

/* Where a job belongs.  All may be none. */
struct job_place {
	struct uuid tenant_id, media_id;
	struct uuid ingest_id;			/* the root job this is a step of */
	int priority;				/* 0 = PRIORITY_NORMAL */
	int64_t delay_ms;
	struct job_waits waits;			/* for any number of others; see WAITS() */
	struct uuid id;				/* none: made here */
};

struct job_kind { const char *name; enum job_class class; const char *step, *doc;
    int attempts, idle_seconds, weight; bool needed, decodes; const struct record *args; };
/* The row of JOB_KINDS, or NULL. */
const struct job_kind *job_kind(const char *name);
/* Further kinds beside JOB_KINDS, for a program that brings its own (tests).  The array must stay. */
void job_kinds_add(const struct job_kind *, size_t n);

/* Adds the row in the caller's transaction.  Returns its id.  Use job_add(), which checks the argument type. */
struct uuid job_insert(struct db *, const char *kind, const struct record *, const void *args, struct job_place);
/* Of a row with status and import_job_id: an import whose job was cancelled, or is gone, has ended with it. */
#define JOB_IMPORT_STATUS_SQL(t) "IF(" t ".status <> 'calculating' OR " t ".import_job_id IS NULL, " t ".status, COALESCE((SELECT " \
	"IF(j.state IN ('ready', 'running', 'delayed'), 'calculating', 'failed') FROM jobs j WHERE j.id = " t ".import_job_id), " \
	"'failed'))"
/* Of such a row that has an error: why it has failed. */
#define JOB_IMPORT_ERROR_SQL "IF(t.status <> 'calculating' OR t.import_job_id IS NULL, t.error, COALESCE((SELECT IF(j.state IN " \
	"('ready', 'running', 'delayed'), NULL, IF(j.state = 'cancelled', 'The import was cancelled.', 'The import has failed.')) " \
	"FROM jobs j WHERE j.id = t.import_job_id), IF(EXISTS (SELECT 1 FROM jobs j WHERE j.id = t.import_job_id), NULL, " \
	"'The import has failed.')))"
#define job_add(db, kind, place, ...) \
	job_insert((db), #kind, &kind##_args_record, &(struct kind##_args){ __VA_ARGS__ }, (place))

extern const struct record asset_args_record, transcribe_args_record, captions_args_record, master_args_record,
    agenda_args_record, clip_args_record, download_args_record, import_args_record, livestream_args_record,
    section_thumbnails_args_record, serve_args_record, index_args_record, embed_args_record, question_args_record,
    gist_args_record,
    chat_args_record, flow_args_record, retag_args_record, closing_args_record, mail_args_record, purge_args_record,
    no_args_record;
#define ingest_args_record asset_args_record
#define first_rendition_args_record asset_args_record
#define renditions_args_record asset_args_record
#define tracks_args_record asset_args_record
#define subtitles_args_record asset_args_record
#define thumbnail_args_record asset_args_record
#define storyboard_args_record asset_args_record
#define waveform_args_record asset_args_record
#define variants_args_record asset_args_record
#define pages_args_record asset_args_record
#define page_texts_args_record asset_args_record
#define speakers_args_record asset_args_record
#define scenes_args_record asset_args_record
#define video_texts_args_record asset_args_record
#define image_texts_args_record asset_args_record
#define labels_args_record asset_args_record
#define chapters_args_record asset_args_record
#define keywords_args_record asset_args_record
#define entities_args_record asset_args_record
#define summary_args_record asset_args_record
#define publish_args_record asset_args_record
#define recode_args_record livestream_args_record
#define live_captions_args_record livestream_args_record
#define deliver_args_record no_args_record
#define forget_args_record no_args_record
#define reembed_args_record no_args_record
#define keys_args_record no_args_record
#define scrub_args_record no_args_record
#define sweep_args_record no_args_record

/* Wakes the runners of this machine by datagram; called after COMMIT, never inside.  Never blocks, never fails. */
void job_wake(const char *run_dir);
/* Did this connection add a job since the last call?  The dispatcher wakes the runners then. */
bool job_added(void);

/* Has it ended, whatever came of it? */
bool job_is_final(const char *state);

/* Looks at the jobs that wait for this one, whose state has just become final: they become ready (or delayed), or fail
 * with dependency_failed, and so on down.  Same transaction. */
void job_settled(struct db *, struct uuid id);

/* Lets one waiting job go, or fail, if what it waits for allows it.  True when its state has changed. */
bool job_release(struct db *, struct uuid id);

/* A failed or cancelled job starts anew, and what failed only because of it waits again.  False: it is in another
 * state, or another job has been added in its place. */
bool job_restart(struct db *, struct uuid id);

/* What waits or is queued is cancelled; what runs is asked to end.  False: it has ended already. */
bool job_cancel(struct db *, struct uuid id);

/* The error column: {code, detail, remedy, retryable}.  NULL detail: the remedy says it all. */
const char *job_error(struct arena *, enum reason, const char *detail);

/* Why a job failed, as clients see it: code, detail, remedy, retryable. */
struct job_error { const char *code, *detail, *remedy; bool retryable; };
extern const struct record job_error_record;

/* What a step that succeeded has to tell, as it is kept on its row. */
struct job_warning { const char *code, *detail; struct position from, to; };
extern const struct record job_warning_record;

/* A job as clients see it (GET /v2/media/{mediaId}/jobs). */
extern const struct record job_record;
struct job_row {
	struct uuid id, tenant_id, media_id, ingest_id, replaced_by;
	/* waiting · delayed · queued · running · succeeded · failed · cancelled */
	const char *kind, *status;
	int64_t progress, attempt, max_attempts;
	struct nested error;			/* struct job_error */
	const char *log_tail;
	struct moment created_at, started_at, finished_at, updated_at;
	int64_t version;
};

#endif
