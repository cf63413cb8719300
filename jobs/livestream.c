/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A livestream that is over becomes the original of its asset, whose ingest then begins as that of an upload.  Where
 * some of it has to be encoded anew for that, which takes as long as other encodes do, the job recode does it all in
 * one of their places.  Safe to run twice: what is recorded stays until the asset has all of it, the original gets
 * its name while the row of the asset is held, and who finds that it has one leaves it alone.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/livestream.h"
#include "core/scratch.h"
#include "core/store.h"
#include "jobs/recorded.h"
#include "jobs/step.h"
#include "media/recording.h"

enum { ROOM = 64 << 20 };		/* bytes, for an index and what else is small */

struct broadcast { struct uuid media_id; const char *status; int64_t file_size, recording_size; };
static const struct field broadcast_fields[] = {
	FIELD(struct broadcast, media_id, .doc = "The asset"),
	FIELD(struct broadcast, status, .doc = "State"),
	FIELD(struct broadcast, file_size, .sql = "m.file_size", .doc = "Of the original; 0: there is none yet"),
	FIELD(struct broadcast, recording_size, .doc = "What has been counted of what was recorded"),
};
static const struct record broadcast_record = RECORD("Broadcast", struct broadcast, broadcast_fields);
#define BROADCAST_FROM "FROM livestreams t JOIN media m ON m.id = t.media_id WHERE t.id = ?"

/* Paths of all that was recorded, for ffmpeg.  NULL with the fault. */
static struct recording *
fetch(struct job *j, const struct recorded *all, int64_t *size, struct fault *fault)
{
	struct recording *r = arena_array(j->mem, all->n + 1, sizeof(*r));
	const char **path[2];
	size_t i;
	int k;

	*size = 0;
	for (i = 0; i < all->n; i++) {
		path[0] = &r[i].picture;
		path[1] = &r[i].sound;
		for (k = 0; k < 2; k++) {
			if (all->at[i].key[k] == NULL)
				continue;
			*path[k] = step_fetch(j, all->at[i].key[k], fault);
			if (*path[k] == NULL)
				return NULL;
			r[i].size += all->at[i].size[k];
		}
		*size += r[i].size;
	}
	return r;
}

/* From here on it counts, whatever becomes of this run.  With the original it has been counted. */
static bool
count(struct job *j, void *at)
{
	const struct livestream_args *in = j->in;
	const int64_t *bytes = at;
	const struct broadcast *b = db_row(j->db, &broadcast_record, BROADCAST_FROM " FOR UPDATE",
	    ARGS(ID(in->livestream_id)));
	const int64_t more = b == NULL || b->file_size > 0 ? 0 : livestream_recorded(j->db, in->livestream_id, *bytes);

	if (more != 0)
		usage_add(j->db, j->tenant_id, 0, more);
	return false;
}

/* left_out: what of the recording is not in it, in a sentence; NULL: nothing.  recorded: bytes that lie beside it. */
struct original {
	struct uuid media_id;
	const char *sha256, *left_out;
	int64_t size, recorded;
	struct store_putting putting;
	struct { bool done; int reason; } *placed;	/* it stays so if the transaction fails; errno, 0: none */
};

/* The asset has it, unless another run was quicker.  Who is paused on the way here writes nothing later: the row is
 * what each of them holds while the bytes appear. */
static bool
hand_over(struct job *j, void *at)
{
	const struct livestream_args *in = j->in;
	const struct original *o = at;
	const struct broadcast *b = db_row(j->db, &broadcast_record, BROADCAST_FROM " FOR UPDATE",
	    ARGS(ID(in->livestream_id)));
	const char *live = "live";

	if (b == NULL || b->file_size > 0)
		return false;
	if (!o->placed->done && !store_put_end(j->mem, &o->putting)) {
		o->placed->reason = errno;
		return false;
	}
	o->placed->done = true;
	db_run(j->db, "UPDATE media SET file_size = ?, sha256 = UNHEX(?), verified_at = " SQL_NOW ", examined_at = "
	    SQL_NOW ", status = 'processing', revision = revision + 1, updated_at = " SQL_NOW " WHERE id = ?",
	    ARGS(INT(o->size), STR(o->sha256), ID(o->media_id)));
	ingest_start(j->db, j->tenant_id, o->media_id);
	livestream_left_out(j->db, in->livestream_id, o->left_out);
	livestream_done(j->db, in->livestream_id, NULL);
	if (o->left_out == NULL)
		livestream_purge(j->db, j->tenant_id, o->media_id);
	asset_files_gone(j->db, j->conf, j->tenant_id, o->media_id, (struct strings){ &live, 1 });
	usage_add(j->db, j->tenant_id, 0, o->size + livestream_recorded(j->db, in->livestream_id, o->left_out == NULL ?
	    0 : o->recorded));
	return false;
}

/* Nothing came, or nothing that can be read: that is no fault of the job. */
static enum outcome
nothing(struct job *j, const struct livestream_args *in, const char *failure)
{
	if (!job_resume(j))
		return RETRY;
	job_log(j, "nothing to keep: %s", failure);
	livestream_done(j->db, in->livestream_id, failure);
	return DONE;
}

/* Encodes are many; places of those who copy are few. */
static enum outcome
pass_on(struct job *j, const struct livestream_args *in)
{
	if (!job_resume(j))
		return RETRY;
	if (livestream_recode(j->db, in->livestream_id, j->id))
		job_log(j, "stretches have several codecs: the job recode goes on");
	return DONE;
}

static bool
fails(void *job, const struct fault *fault)
{
	return job_may_mend(job, fault);
}

/* What is not in the file that was made.  NULL: nothing. */
static const char *
left_out_of(struct job *j, const struct recording_work *w, size_t beyond)
{
	const struct reason_info *why = reason_info(w->why.reason);

	if (beyond > 0)
		return arena_printf(j->mem, "%zu files are of more than %d sessions.", beyond, RECORDING_MAX);
	if (w->left_out + w->cut == 0)
		return NULL;
	return arena_printf(j->mem, "Of %zu stretches of the recording %zu could not be put together as a whole: %s",
	    w->n, w->left_out + w->cut, w->why.detail != NULL ? w->why.detail : why->remedy);
}

static void
hashed(void *job, size_t bytes)
{
	(void)bytes;
	job_progress(job, 100);
}

static enum outcome
keep(struct job *j, const char *out, struct original *o)
{
	const char *key = store_key_original(j->mem, o->media_id);
	const struct digest_pace alive = { hashed, j, false };
	struct stat st;

	o->sha256 = digest_file(j->mem, out, &alive);
	if (o->sha256 == NULL || stat(out, &st) != 0 || !store_put_begin(j->mem, out, key, &o->putting))
		return step_not_stored(j, "The recording");
	o->size = st.st_size;
	o->placed = arena_alloc(j->mem, sizeof(*o->placed));
	job_batches(j, hand_over, o, sizeof(*o));
	if (!o->placed->done)
		store_put_drop(&o->putting);
	errno = o->placed->reason;
	return errno == 0 ? DONE : step_not_stored(j, "The recording");
}

static enum outcome
make(struct job *j, bool encodes)
{
	const struct livestream_args *in = j->in;
	const struct broadcast *b = db_row(j->db, &broadcast_record, BROADCAST_FROM, ARGS(ID(in->livestream_id)));
	struct recording_work w = { .dir = j->work_dir, .preset = j->conf->video_preset, .may_encode = encodes,
	    .fails = fails, .progress = step_progress, .user = j };
	struct original o = { 0 };
	const struct recorded *all;
	struct fault fault = { 0 };
	int64_t size;

	if (b == NULL || b->file_size > 0 || (strcmp(b->status, "finishing") != 0 && strcmp(b->status, "failed") != 0))
		return DONE;
	step_begin(j);
	all = recorded_find(j->mem, b->media_id);
	if (all == NULL)
		return step_not_stored(j, "The list of what was recorded");
	if (all->n == 0)
		return nothing(j, in, "empty");
	o.recorded = all->bytes;
	if (o.recorded != b->recording_size)
		job_batches(j, count, &o.recorded, sizeof(o.recorded));
	w.n = all->n;
	w.of = fetch(j, all, &size, &fault);
	if (w.of == NULL)
		return job_fault(j, &fault);
	errno = 0;
	/* What is encoded may be larger than it was. */
	if (scratch_free() < (encodes ? 4 : 2) * size + ROOM || store_free() < (encodes ? 2 : 1) * size + ROOM)
		return job_retry(j, fault_reason(errno, REASON_NO_SPACE), "There is no room to put the recording "
		    "together.");
	if (!recording_join(j->mem, &w, "original.mp4", &fault))
		return fault.reason == REASON_NO_STREAMS ? nothing(j, in, "damaged") : job_fault(j, &fault);
	if (w.must_encode)
		return pass_on(j, in);
	o.media_id = b->media_id;
	o.left_out = left_out_of(j, &w, all->beyond);
	if (o.left_out != NULL)
		job_log(j, "%s", o.left_out);
	return keep(j, arena_printf(j->mem, "%s/original.mp4", j->work_dir), &o);
}

enum outcome
livestream_run(struct job *j)
{
	return make(j, false);
}

enum outcome
recode_run(struct job *j)
{
	return make(j, true);
}
