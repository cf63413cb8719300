/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Livestreams: what the interface, the programs that take them in (nodes) and the runner know of one together, and the
 * only functions that change its state.
 *
 *	created → starting → waitingForSignal → live ⇄ interrupted → finishing → finished | failed
 *
 *	start	(a client, or starts_at)	created → starting
 *	ready	(a node)			starting → waitingForSignal
 *	signal	(the node that holds it)	waitingForSignal, interrupted → live, as soon as it is published; live →
 *						interrupted.  What is not published yet stays waitingForSignal.
 *	stop	(a client, or a limit)		all of these → finishing; created, which has nothing to end, → finished
 *	end	(the node that holds it, or the runner for one that died)	adds the job that makes the asset
 *	done	(that job)			finishing → finished, or failed when nothing was recorded
 *
 * One that is to have captions while it lasts gets a job that makes them with the first signal, and another one when
 * that has ended before it.
 *
 * Every change is one UPDATE that names the state it comes from, so that of two who change it one finds it changed, and
 * writes the event livestream.updated in the same transaction.  Functions that write want a transaction of the caller;
 * they return false when the state was another one, which is no failure.
 *
 * A node holds a stream as long as it takes it in: it claims it when an encoder has come with a good key, and says
 * each second that it lives.  It may claim one whose holder was silent for LIVESTREAM_SILENCE_MS, if its own signs of
 * life were in time for as long, and releases at once what a process of its own machine held that has ended.  An
 * encoder that comes to another node on the other input waits there: that node claims the stream again and again, and
 * the holder releases it when nothing comes to itself any more.  All that a node writes names it as the holder; who
 * has lost a stream finds that out by a false, and drops the encoder and its files.
 *
 * Files: the output for viewers lies below play/{mediaId}/, in livestream_play_file(), and players reach it by the
 * signed addresses of the asset (core/play.h).  Since these open all of the asset, its folder has a name that nobody
 * can guess: who sees the asset sees nothing of what is sent before it is published.  The recording lies below
 * live/{mediaId}/, in store_key_live(): "{session}.video.mp4" and "{session}.audio.mp4", of which either may be
 * missing, each a fragmented MP4 that grows, with its time (tfdt) counted from one zero for both.  Each claim gets a
 * session of its own; a node claims once more when codec, size or sound of what comes change.  LIVESTREAM_SPARE numbers
 * behind the last one are for sessions that its holder begins while it cannot ask the database (fcgi/live/memory.h):
 * whoever takes the stream from it passes over them.  What is on the disk when the node dies is what is recorded.  It
 * is deleted when the asset has all of it (media/recording.h); of what it has not, all stays there until the livestream
 * or its asset is deleted for good, and left_out says why.  It counts in the quota of the tenant, by recording_size,
 * from when the job that makes the asset has looked at it.
 */
#ifndef CORE_LIVESTREAM_H
#define CORE_LIVESTREAM_H

#include "core/db.h"

enum {
	LIVESTREAM_BEAT_MS = 1000,	/* between two signs of life */
	LIVESTREAM_SILENCE_MS = 3000,	/* then another one may claim it */
	LIVESTREAM_DEAD_MS = 10000,	/* then the runner does what its holder would */
	LIVESTREAM_COUNTED_MS = 15000,	/* statistics that are older count no more */
	LIVESTREAM_POINT_DAYS = 30,	/* that what was counted is kept, by the minute */
	LIVESTREAM_IDLE_MS = 24 * 3600 * 1000,	/* without a signal; then it is stopped */
	LIVESTREAM_SPARE = 16,		/* numbers of sessions that a holder may use by itself */
	LIVESTREAM_SESSIONS = 2000,	/* that can be put together; files of further ones are left where they are */
};
/* The second one is no file: it leads to parts that can be waited for, where the web server can hold who does, and is
 * the same as the first elsewhere. */
#define LIVESTREAM_PLAYLIST "master.m3u8"
#define LIVESTREAM_LOW_PLAYLIST "low.m3u8"
/* Beside them: the list of captions, and the file with its name and language for the playlist of all, where there are
 * such. */
#define LIVESTREAM_CAPTIONS_LIST "captions.m3u8"
#define LIVESTREAM_CAPTIONS_TAG ".captions"
#define LIVESTREAM_KEY_PURPOSE "stream key"

#define LIVESTREAM_STATES "created starting waitingForSignal live interrupted finishing finished failed"
/* Why an encoder was refused: it calls an address that has another end; its key was changed; it has the key and not
 * its pass phrase; the stream is not started, or over; another encoder is sending; no such format; more bits than the
 * tenant allows; our machine has no room or no database. */
#define LIVESTREAM_REFUSALS "application oldKey passphrase notStarted over busy format bitrate unavailable"
/* Why not all smaller pictures of it are made: nobody wants them; the source is small; the machine has no time, when it
 * began or by now; FFmpeg does not work. */
#define LIVESTREAM_LACKS "off small busy overloaded failed"
/* How it goes with its captions: no job has begun; they are made; a stretch was left out, since the engine is slower
 * than the speech; its server does not answer, or may cost no more today; it cannot do it; the settings have none. */
#define LIVESTREAM_CAPTIONS "waiting running behind unavailable failed off"
/* Why it ended without a client: it lasted as long as it may, nothing came for a day, nothing was recorded, or the
 * recording cannot be read. */
#define LIVESTREAM_FAILURES "duration idle empty damaged"

/* As a node sees it. */
struct livestream {
	struct uuid id, tenant_id, media_id;
	const char *status, *source, *holder;	/* holder: NULL, nobody takes it in */
	const char *captions_language_code;	/* NULL: it has none */
	bool with_dvr, has_signal;
	bool is_awaited;			/* an encoder is connected to another node than its holder */
	int64_t session;
	int64_t bitrate_max;			/* bit/s */
	struct moment published_at, live_at;
	struct moment ends_at;			/* it may last so long; never before there was a signal */
	struct moment beat_at;
	bool is_primary, is_old_key;		/* of livestream_by_hash() alone */
};
extern const struct record livestream_record;

/* The stream of a key, in whatever state, and of a key that was changed (is_old_key), by livestream_key_hash() of it.
 * NULL: no stream has it. */
struct livestream *livestream_by_hash(struct db *, const char *hash);
/* All that are neither created nor over: those that are finishing, too. */
struct livestream *livestreams_open(struct db *, size_t *n);
/* One by its id. */
struct livestream *livestream_get(struct db *, struct uuid id);

/* The keys of those that are open and sent by SRT, for programs that may not ask the database while they judge one. */
struct livestream_key { struct uuid livestream_id; bool is_primary; const char *hash; };	/* 64 hex digits */
struct livestream_key *livestream_keys_open(struct db *, size_t *n);
/* Those of all that are open and held by the node. */
struct livestream_key *livestream_keys_held(struct db *, const char *node, size_t *n);
/* SHA-256 of a key in lower-case hex. */
const char *livestream_key_hash(struct arena *, const char *key);
/* The pass phrase of SRT that belongs to a key.  It follows from the key of the settings, and lies nowhere. */
const char *livestream_phrase(const struct conf *, struct arena *, const char *key);

/* "live/{play_secret()}/{name}", below play/{mediaId}/; name NULL: the folder.  LIVESTREAM_PLAYLIST names its playlist
 * of all. */
const char *livestream_play_file(struct arena *, const struct conf *, struct uuid id, const char *name);

/* What the event livestream.updated says, in JSON. */
const char *livestream_event(struct arena *, struct uuid id, struct uuid media_id, const char *status);

/* A node is there that would take it in. */
bool livestream_ready(struct db *, struct uuid id);
/* The node takes it in from now on.  Returns its session, from 1; 0: another one does, or it is not open.  Its own
 * stream it may claim again. */
int64_t livestream_claim(struct db *, struct uuid id, const char *node);
/* The node lives: all that it holds, and all encoders that are connected to it.  Outside of the time of SQL_NOW
 * nothing decides. */
void livestream_beat(struct db *, const char *node);
/* What comes begins, or was silent for LIVESTREAM_SILENCE_MS. */
bool livestream_signal(struct db *, struct uuid id, const char *node, bool on);
/* Nothing will come any more for now: interrupted, and any node may claim it. */
bool livestream_release(struct db *, struct uuid id, const char *node);
/* The same of a node that has died. */
bool livestream_died(struct db *, struct uuid id, const char *node);
/* The node has begun sessions by itself, up to that number. */
void livestream_used(struct db *, struct uuid id, const char *node, int64_t session);
/* It is finishing, and the node has closed all files: the job may begin. */
bool livestream_end(struct db *, struct uuid id, const char *node);
/* An encoder is connected to this input at the node, be it the holder or not, or no longer.  Of two nodes that is true
 * of the first one, as long as that lives. */
void livestream_connected(struct db *, struct uuid id, const char *node, bool is_primary, bool on);
/* Is that so at another node? */
bool livestream_elsewhere(struct db *, struct uuid id, const char *node, bool is_primary);
/* One of LIVESTREAM_LACKS, of what the node holds; NULL: none of them. */
void livestream_lacks(struct db *, struct uuid id, const char *node, const char *reason);
/* By the job: one of LIVESTREAM_CAPTIONS. */
void livestream_captions(struct db *, struct uuid id, const char *how);
/* An encoder was refused.  At most every ten seconds this is told by an event. */
void livestream_refused(struct db *, struct uuid id, const char *address, const char *reason);

/* By clients, limits and the runner. */
bool livestream_start(struct db *, struct uuid id);
bool livestream_publish(struct db *, struct uuid id);
/* failure: NULL, or one of LIVESTREAM_FAILURES. */
bool livestream_stop(struct db *, struct uuid id, const char *failure);

/* By the job: the asset has its original, or (failure) never gets one. */
bool livestream_done(struct db *, struct uuid id, const char *failure);
/* By that job, before it is done: what of the recording the asset does not have, in a sentence, and is kept therefore.
 * NULL: it has all. */
void livestream_left_out(struct db *, struct uuid id, const char *what);
/* So many bytes of what was recorded lie beside the original.  How many more than before, for usage_add(). */
int64_t livestream_recorded(struct db *, struct uuid id, int64_t bytes);
/* All that was recorded goes, as soon as no row keeps it. */
void livestream_purge(struct db *, struct uuid tenant_id, struct uuid media_id);
/* By the job livestream, whose id that is: the job recode does its work.  False: another job does. */
bool livestream_recode(struct db *, struct uuid id, struct uuid job_id);

/* Is there a livestream that is started and still to become this asset? */
bool livestream_runs(struct db *, struct uuid media_id);

/* What comes in and is on the air.  Codecs by RFC 6381; NULL: no such track. */
struct livestream_incoming {
	const char *video_codec, *audio_codec;
	int64_t width, height;			/* pixels */
	double frame_rate;			/* pictures a second, as they come; 0: not known yet, or none come */
	bool interlaced;			/* they may be of two half-pictures each */
	int64_t sample_rate, audio_channels;	/* Hz */
};

/* What a node tells every five seconds; it replaces what it has told before. */
struct livestream_numbers {
	bool is_primary;			/* which input its viewers see */
	int64_t rtmp_primary, rtmp_secondary;	/* encoders connected */
	int64_t viewers, peak;			/* by livestream_watched() alone */
	int64_t bytes_in, bitrate, dropped;	/* bytes since it began; bit/s; frames */
	struct livestream_incoming incoming;
};
void livestream_tell(struct db *, struct uuid id, const char *node, const struct livestream_numbers *);
/* How many watch by a node, whoever takes the stream in; as often. */
void livestream_watched(struct db *, struct uuid media_id, const char *node, int64_t viewers, int64_t peak);

/*
 * The runner's regular work, a stream each time it is called in a transaction of its own: begins what was to begin,
 * and captions whose job has ended, stops what has lasted too long or waited for a day, makes interrupted what a dead
 * node held, and ends for it what is finishing.  True: there may be more.  judges: who calls has reached the database
 * for more than LIVESTREAM_DEAD_MS.  Who has not takes nobody for dead: in an outage no node could say that it lives.
 */
bool livestream_tend(struct db *, bool judges);

#endif
