/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speech to text: the sound as samples, the engine, what is believable of its words, a transcript with captions.
 * Safe to run twice: the transcript of the same language is replaced in one transaction, files have names of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/asset.h"
#include "media/av.h"
#include "core/store.h"
#include "jobs/engines/engine.h"
#include "jobs/step.h"

/*
 * Mean confidences of the built-in engine.  Clean English has 0.5 to 0.9; noise, music and other languages 0.2 to 0.3.
 * Below UTTERANCE a stretch is a guess and left out; below GATE all of it is.
 */
#define UTTERANCE 0.25
#define GATE 0.40
#define POOR 0.55

enum { PCM_SHARE = 10 };		/* percent of the progress */

/* A phrase of up to so many words, so often in a row, was never said. */
enum { PHRASE_MAX = 6, REPEATS_MAX = 4 };

/* What the job needs to know of the asset, and what it changes. */
struct subject { const char *language_code; struct json captions; };
static const struct field subject_fields[] = {
	FIELD(struct subject, language_code, .doc = "Tag of what is said"),
	FIELD(struct subject, captions, .doc = "List of struct caption"),
};
static const struct record subject_record = RECORD("subject", struct subject, subject_fields);

struct caption { const char *language_code, *label, *file; };
static const struct field caption_fields[] = {
	FIELD(struct caption, language_code, .doc = "BCP 47"),
	FIELD(struct caption, label, .doc = "In the menu of the player"),
	FIELD(struct caption, file, .doc = "Below play/{mediaId}/"),
};
static const struct record caption_record = RECORD("caption", struct caption, caption_fields);

struct older { struct uuid id; const char *source, *status; };
static const struct field older_fields[] = {
	FIELD(struct older, id, .doc = "Of the transcript"),
	FIELD(struct older, source, .doc = "Who made it"),
	FIELD(struct older, status, .doc = "State"),
};
static const struct record older_record = RECORD("older", struct older, older_fields);

/* All that was heard so far. */
struct notes {
	struct job *job;
	struct segment *segments;
	size_t n, room;
	int pcm;
	int64_t length, bytes;			/* ms of the recording; bytes of samples so far */
	int error;				/* errno of the first failed write */
	bool guesses;				/* something was left out because it was a guess */
};

enum outcome
engine_fail(struct hearing *h, enum reason reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	h->fault = (struct fault){ .reason = reason, .detail = arena_vprintf(h->mem, format, args) };
	va_end(args);
	return fault_is_final(&h->fault) ? GIVE_UP : RETRY;
}

struct segment
engine_copy(struct arena *mem, const struct segment *from)
{
	struct segment to = *from;
	struct word *w = arena_array(mem, from->words.n, sizeof(*w));
	size_t i;

	for (i = 0; i < from->words.n; i++) {
		w[i] = ((const struct word *)from->words.rows)[i];
		w[i].text = arena_copy(mem, w[i].text);
		w[i].source = "machine";
	}
	to.text = arena_copy(mem, from->text);
	to.words.rows = w;
	return to;
}

/* Of the words that have one; 0 when none has. */
static double
mean_confidence(const struct segment *s, size_t n)
{
	double sum = 0;
	size_t count = 0, i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < s[i].words.n; k++) {
			const struct word *w = (const struct word *)s[i].words.rows + k;

			sum += w->confidence;
			count += w->confidence > 0;
		}
	return count == 0 ? 0 : sum / (double)count;
}

/* How many times the phrase of `size` words at `at` is said in a row. */
static size_t
repeats(const struct word *w, size_t n, size_t at, size_t size)
{
	size_t times = 1, i;

	for (;; times++)
		for (i = 0; i < size; i++)
			if (at + (times + 1) * size > n || strcasecmp(w[at + i].text, w[at + times * size +
			    i].text) != 0)
				return times;
}

/* Engines that hear nothing tell the same thing over and over: such runs go.  What was said before and after stays. */
static void
drop_repetition(struct segment *s)
{
	struct word *w = s->words.rows;
	size_t kept = 0, at = 0, size, times = 1;

	while (at < s->words.n) {
		for (size = 1; size <= PHRASE_MAX; size++)
			if ((times = repeats(w, s->words.n, at, size)) > REPEATS_MAX)
				break;
		if (size <= PHRASE_MAX)
			at += times * size;
		else
			w[kept++] = w[at++];
	}
	s->words.n = kept;
}

/* The same sentence again and again, as separate utterances. */
static bool
said_before(const struct notes *n, const char *text)
{
	size_t i;

	if (n->n < REPEATS_MAX)
		return false;
	for (i = n->n - REPEATS_MAX; i < n->n; i++)
		if (strcasecmp(n->segments[i].text, text) != 0)
			return false;
	return true;
}

static void
note_segment(void *user, const struct segment *heard)
{
	struct notes *n = user;
	struct segment s = engine_copy(n->job->mem, heard), *more;
	double confidence;

	drop_repetition(&s);
	confidence = mean_confidence(&s, 1);
	if (s.words.n == 0 || said_before(n, s.text))
		return;
	if (confidence > 0 && confidence < UTTERANCE) {
		n->guesses = true;
		return;
	}
	if (n->n == n->room) {
		n->room = n->room == 0 ? 64 : n->room * 2;
		more = arena_array(n->job->mem, n->room, sizeof(*more));
		if (n->n > 0)
			memcpy(more, n->segments, n->n * sizeof(*more));
		n->segments = more;
	}
	n->segments[n->n++] = s;
}

static void
note_progress(void *user, int percent)
{
	struct notes *n = user;

	job_progress(n->job, PCM_SHARE + percent * (100 - PCM_SHARE) / 100);
}

static bool
write_samples(void *user, const char *bytes, size_t size)
{
	struct notes *n = user;
	ssize_t done;

	while (size > 0) {
		done = write(n->pcm, bytes, size);
		if (done < 0) {
			n->error = errno;
			return false;
		}
		bytes += done;
		size -= (size_t)done;
		n->bytes += done;
	}
	if (n->length > 0)
		job_progress(n->job, (int)(n->bytes / PCM_BYTES_PER_MS * PCM_SHARE / n->length));
	return true;
}

/* The sound as samples in a file that has no name: it is gone with the process. */
static enum outcome
make_samples(struct job *j, struct notes *n)
{
	struct av_pcm wanted = { .rate = PCM_RATE, .take = write_samples, .user = n };
	const char *name = arena_printf(j->mem, "%s/speech.s16le", j->work_dir);
	const struct av_file *file;
	struct fault fault;
	const char *path = step_fetch(j, store_key_original(j->mem, j->media_id), &fault);

	if (path == NULL)
		return job_fault(j, &fault);
	if ((file = av_probe(j->mem, path, &fault)) == NULL)
		return job_fault(j, &fault);
	if (file->audio == NULL)
		return job_give_up(j, REASON_NO_STREAMS, "There is no sound in it.");
	n->length = file->duration_ms;
	n->pcm = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (n->pcm < 0)
		return step_not_stored(j, "The samples");
	unlink(name);
	if (av_pcm(j->mem, file, &wanted, &fault) && n->error == 0)
		return DONE;
	if (n->error != 0) {
		errno = n->error;
		return step_not_stored(j, "The samples");
	}
	return job_fault(j, &fault);
}

/* Captions are called {transcriptId}.{fence}.vtt. */
static bool
is_caption_of(struct job *j, const char *file, const struct uuid *transcript_id)
{
	const char *start = transcript_id == NULL ? NULL : arena_printf(j->mem, "captions/%s.", uuid_text(j->mem,
	    *transcript_id));

	return start != NULL && strncmp(file, start, strlen(start)) == 0;
}

static void
delete_later(struct job *j, const char *file)
{
	const char *key = store_key_play(j->mem, j->media_id, file);

	job_add(j->db, purge, ((struct job_place){ .tenant_id = j->tenant_id, .media_id = j->media_id,
	    .priority = PRIORITY_BULK }), .keys = { &key, 1 });
}

/* Puts the captions of the transcript into the list of the asset, in the place of its predecessor's, whose file
 * goes. */
static void
update_media(struct job *j, const struct transcript *t, const char *file, const struct uuid *old)
{
	const struct subject *media = db_row(j->db, &subject_record, "FROM media t WHERE t.id = ? FOR UPDATE",
	    ARGS(ID(j->media_id)));
	struct list list = record_parse_list(j->mem, &caption_record, media == NULL ? NULL : media->captions.text);
	const struct caption *c = list.rows;
	const char *spoken;
	struct caption new = { transcript_language(t->language_code), transcript_label(j->mem, t->language_code),
	    file };
	struct buf json = BUF(j->mem);
	size_t i;

	buf_char(&json, '[');
	for (i = 0; i < list.n; i++) {
		if (c[i].file == NULL)
			continue;
		if (is_caption_of(j, c[i].file, old)) {
			delete_later(j, c[i].file);
			continue;
		}
		buf_text(&json, json.len > 1 ? "," : "");
		record_store(&json, &caption_record, &c[i]);
	}
	if (file != NULL) {
		buf_text(&json, json.len > 1 ? "," : "");
		record_store(&json, &caption_record, &new);
	}
	buf_char(&json, ']');
	/* A translation says nothing of the language that is spoken, and silence neither. */
	spoken = t->no_speech || strcmp(t->language_code, "translate-en") == 0 ? NULL : t->language_code;
	db_run(j->db, "UPDATE media SET captions = ?, language_code = COALESCE(language_code, ?), revision = revision "
	    "+ 1 WHERE id = ?", ARGS(STR(buf_string(&json)), STR(spoken), ID(j->media_id)));
}

/* Everything in one transaction: the row instead of the older one, the captions, the event, the end of the old file. */
static enum outcome
store_transcript(struct job *j, struct transcript *t, const struct list *paragraphs)
{
	struct buf vtt = BUF(j->mem);
	const char *file = NULL;
	const struct older *old;

	if (!t->no_speech) {
		file = arena_printf(j->mem, "captions/%s.%" PRId64 ".vtt", uuid_text(j->mem, t->id), j->fence);
		transcript_write(&vtt, TRANSCRIPT_VTT, paragraphs, true);
		if (!store_write(j->mem, vtt.text, vtt.len, store_key_play(j->mem, j->media_id, file)))
			return step_not_stored(j, "The captions");
	}
	if (!job_resume(j))
		return RETRY;
	old = db_row(j->db, &older_record, "FROM transcripts t WHERE t.media_id = ? AND t.language_code = ? FOR UPDATE",
	    ARGS(ID(j->media_id), STR(t->language_code)));
	if (old != NULL)
		db_run(j->db, "DELETE FROM transcripts WHERE id = ?", ARGS(ID(old->id)));
	db_insert(j->db, "transcripts", &transcript_record, t);
	update_media(j, t, file, old == NULL ? NULL : &old->id);
	event_add(j->db, j->tenant_id, j->media_id, "metadata.updated", (struct uuid){ { 0 } },
	    arena_printf(j->mem, "{\"mediaId\":\"%s\",\"kind\":\"transcripts\"}", uuid_text(j->mem, j->media_id)));
	return DONE;
}

/* From what was heard to the row, or the reason why there is none. */
static enum outcome
conclude(struct job *j, const struct engine *engine, const struct hearing *h, const struct notes *n)
{
	struct transcript t = { .id = uuid_new(), .media_id = j->media_id, .language_code = h->language,
	    .source = "machine", .engine = engine->version(j->mem, j->conf), .status = "completed", .version = 1,
	    .created_at = moment_now() };
	struct list paragraphs = transcript_paragraphs(j->mem, n->segments, n->n);

	t.confidence = mean_confidence(n->segments, n->n);
	t.no_speech = paragraphs.n == 0 && !n->guesses;
	if (engine->confidences && !t.no_speech && t.confidence < GATE)
		return job_give_up(j, REASON_NOT_INTELLIGIBLE, "The built-in engine did not understand what is said.");
	if (t.confidence > 0)
		t.quality = t.confidence < POOR ? "poor" : "good";
	t.paragraphs.text = transcript_json(j->mem, &paragraphs);
	t.updated_at = t.created_at;
	job_log(j, "%s: %zu utterances, mean confidence %.2f", t.engine, n->n, t.confidence);
	return store_transcript(j, &t, &paragraphs);
}

/*
 * What the same engine has heard in another asset of the tenant that is the same file, byte by byte, is what it would
 * hear again; any of them will do.  Not what was changed since, nor who speaks: people of the other asset's channels
 * may have said that.
 */
static const struct transcript *
heard_before(struct job *j, const struct engine *engine, const char *language)
{
	return db_row(j->db, &transcript_record, "FROM transcripts t JOIN media m ON m.id = t.media_id JOIN media mine "
	    "ON mine.tenant_id = m.tenant_id AND mine.sha256 = m.sha256 AND mine.file_size = m.file_size WHERE "
	    "mine.id = ? AND m.id <> mine.id AND m.deleted_at = 0 AND t.language_code = ? AND t.engine = ? AND "
	    "t.source = 'machine' AND t.status = 'completed' AND t.version = 1 LIMIT 1", ARGS(ID(j->media_id),
	    STR(language), STR(engine->version(j->mem, j->conf))));
}

static enum outcome
copy(struct job *j, const struct transcript *from)
{
	struct transcript t = *from;
	struct list paragraphs = record_parse_list(j->mem, &paragraph_record, from->paragraphs.text);
	struct paragraph *p = paragraphs.rows;
	size_t i;

	t.id = uuid_new();
	t.media_id = j->media_id;
	t.created_at = t.updated_at = moment_now();
	for (i = 0; i < paragraphs.n; i++)
		p[i] = (struct paragraph){ .id = uuid_new(), .start = p[i].start, .end = p[i].end, .text = p[i].text,
		    .words = p[i].words };
	t.paragraphs.text = transcript_json(j->mem, &paragraphs);
	/* Not that it is a copy: that there is the same file elsewhere is not for all who see this asset. */
	job_log(j, "%s: %zu paragraphs, mean confidence %.2f", t.engine, paragraphs.n, t.confidence);
	return store_transcript(j, &t, &paragraphs);
}

enum outcome
transcribe_run(struct job *j)
{
	const struct transcribe_args *in = j->in;
	const struct engine *engine = engine_chosen(j->conf, ENGINE_transcribe);
	struct notes n = { .job = j, .pcm = -1 };
	struct hearing h = { .mem = j->mem, .conf = j->conf, .heard = note_segment, .progress = note_progress,
	    .user = &n };
	const struct subject *media = db_row(j->db, &subject_record, "FROM media t WHERE t.id = ?",
	    ARGS(ID(j->media_id)));
	const struct transcript *before;
	const struct older *old;
	enum outcome outcome;

	if (media == NULL)
		return job_give_up(j, REASON_ASSET_GONE, "The asset is not there any more.");
	h.language = in->language_code != NULL ? in->language_code :
	    media->language_code != NULL ? media->language_code : "en";
	old = db_row(j->db, &older_record, "FROM transcripts t WHERE t.media_id = ? AND t.language_code = ?",
	    ARGS(ID(j->media_id), STR(h.language)));
	/* People's words are never replaced, and a machine's only when that is asked for. */
	if (old != NULL && strcmp(old->status, "completed") == 0 && (strcmp(old->source, "machine") != 0 || !in->anew))
		return DONE;
	if (!engine->knows(j->conf, h.language))
		return job_give_up(j, REASON_LANGUAGE_UNAVAILABLE, "The engine does not know the language %s.",
		    h.language);
	before = in->anew ? NULL : heard_before(j, engine, h.language);
	job_pause(j);
	if (before != NULL)
		return copy(j, before);
	outcome = make_samples(j, &n);
	if (outcome != DONE)
		return outcome;
	h.pcm = n.pcm;
	h.length = n.length = n.bytes / PCM_BYTES_PER_MS;
	outcome = engine_hear(engine, &h);
	close(n.pcm);
	if (h.note != NULL)
		job_log(j, "%s", h.note);
	if (outcome == DONE)
		return conclude(j, engine, &h, &n);
	return job_fault(j, &h.fault);
}
