/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech voices: who speaks when in the spans. */
#include <string.h>
#include <sysexits.h>

#include "jobs/engines/diarize.h"
#include "jobs/engines/speech.h"

/* Frames that are looked at at most: longer recordings are looked at more coarsely.  ms between two turns of the same
 * voice that make them one; ms that a voice says at least, by a model: less is a cough. */
enum { FRAMES_MAX = 400000, GAP = 300, FRAME_MS = 10, LEAST_MS = 1000 };
/* Instead of the number of a voice. */
enum { NOBODY = 255, NOT_YET = 254 };

struct table {
	struct arena *mem;
	const struct span *spans;
	size_t n_spans, *frames;		/* of each span */
	struct speech speech;
	int64_t length;
};

bool
speech_frames(struct arena *mem, const struct span *spans, size_t n, struct speech *out, size_t *frames)
{
	const size_t reach = CEPSTRA_HOP / (PCM_RATE / 1000);
	struct arena *scratch = arena_new(64 << 20);
	size_t room = 0, some;
	bool fine = true;

	for (size_t i = 0; i < n; i++)
		room += (size_t)(spans[i].end - spans[i].start) / reach / out->hop + 1;
	out->at = arena_raw(mem, room * sizeof(*out->at));
	for (size_t i = 0; i < n && fine; i++) {
		const size_t bytes = (size_t)(spans[i].end - spans[i].start) * PCM_BYTES_PER_MS;
		int16_t *pcm = arena_raw(scratch, bytes);
		const struct cepstrum *c;

		fine = speech_read(pcm, bytes, spans[i].start);
		c = cepstra_of(scratch, pcm, bytes / 2, &some);
		for (size_t k = 0; k < some; k += out->hop, frames[i]++)
			out->at[out->n++] = c[k];
		arena_reset(scratch);
	}
	arena_free(scratch);
	return fine;
}

static bool
read_frames(struct table *t)
{
	const size_t reach = CEPSTRA_HOP / (PCM_RATE / 1000);
	int64_t all = 0;

	for (size_t i = 0; i < t->n_spans; i++)
		all += t->spans[i].end - t->spans[i].start;
	t->speech.hop = (size_t)all / reach / FRAMES_MAX + 1;
	t->frames = arena_array(t->mem, t->n_spans, sizeof(*t->frames));
	return speech_frames(t->mem, t->spans, t->n_spans, &t->speech, t->frames);
}

static void
tell(void *user, int percent)
{
	const struct table *t = user;

	speech_say_progress(t->mem, t->length * percent / 100, t->length);
}

static void
add_turn(struct buf *out, size_t *turns, int64_t from, int64_t to)
{
	buf_text(out, (*turns)++ > 0 ? ",{" : "{");
	speech_add_seconds(out, "start", from);
	buf_char(out, ',');
	speech_add_seconds(out, "end", to);
	buf_char(out, '}');
}

/* What is between two stretches of one voice and short is its pause. */
static void
add_turns(struct buf *out, const struct table *t, const unsigned char *voice, int who)
{
	int64_t from = -1, to = 0;
	size_t at = 0, turns = 0;

	for (size_t i = 0; i < t->n_spans; at += t->frames[i++]) {
		const int64_t hop = FRAME_MS * (int64_t)t->speech.hop;

		for (size_t k = 0; k < t->frames[i]; k++) {
			const int64_t start = t->spans[i].start + (int64_t)k * hop, end = k + 1 == t->frames[i] ?
			    t->spans[i].end : start + hop;

			if (voice[at + k] != who)
				continue;
			if (from >= 0 && start > to + GAP) {
				add_turn(out, &turns, from, to);
				from = -1;
			}
			from = from < 0 ? start : from;
			to = end;
		}
	}
	if (from >= 0)
		add_turn(out, &turns, from, to);
}

static bool
say_voice(const struct table *t, const unsigned char *voice, int who)
{
	struct buf out = BUF(t->mem);
	size_t loud = 0, all = 0;

	for (size_t i = 0; i < t->speech.n; i++) {
		all += voice[i] == who;
		loud += t->speech.loud[i] && voice[i] == who;
	}
	/* Of a model: one that was always overlaid by others. */
	if (all == 0)
		return true;
	buf_text(&out, "{\"turns\":[");
	add_turns(&out, t, voice, who);
	buf_text(&out, "],");
	speech_add_seconds(&out, "speech", (int64_t)(loud * t->speech.hop) * FRAME_MS);
	buf_text(&out, "}\n");
	return speech_say(&out);
}

/* Where each frame lies in the spans put one behind the other, ms. */
static int64_t *
times_of(const struct table *t)
{
	int64_t *out = arena_array(t->mem, t->speech.n, sizeof(*out)), before = 0;
	size_t at = 0;

	for (size_t i = 0; i < t->n_spans; before += t->spans[i].end - t->spans[i].start, i++)
		for (size_t k = 0; k < t->frames[i]; k++)
			out[at++] = before + FRAME_MS * (int64_t)(k * t->speech.hop);
	return out;
}

/* Where two speak at once, whoever began first goes on. */
static void
label(const struct table *t, const struct turns *turns, const int *number, unsigned char *voice)
{
	const int64_t *when = times_of(t);
	size_t from = 0;

	for (size_t i = 0; i < turns->n; i++) {
		while (from < t->speech.n && when[from] < turns->at[i].at.start)
			from++;
		for (size_t k = from; k < t->speech.n && when[k] < turns->at[i].at.end; k++)
			if (voice[k] == NOBODY && number[i] >= 0)
				voice[k] = (unsigned char)number[i];
	}
}

/* The number of the voice of each turn, from 0 in the order in which they are first heard, of those who say most; -1:
 * it is none of them, or says next to nothing.  Returns how many there are. */
static int
number_voices(struct arena *mem, const struct turns *turns, int *number)
{
	int voices = 0, n = 0;
	int64_t *said;
	int *as;

	for (size_t i = 0; i < turns->n; i++)
		voices = turns->at[i].voice >= voices ? turns->at[i].voice + 1 : voices;
	said = arena_array(mem, (size_t)voices, sizeof(*said));
	as = arena_array(mem, (size_t)voices, sizeof(*as));
	for (size_t i = 0; i < turns->n; i++)
		said[turns->at[i].voice] += turns->at[i].at.end - turns->at[i].at.start;
	for (int v = 0; v < voices; v++) {
		int more = 0;

		for (int other = 0; other < voices; other++)
			more += said[other] > said[v] || (other < v && said[other] == said[v]);
		as[v] = said[v] < LEAST_MS || more >= DIARIZE_VOICES ? NOBODY : NOT_YET;
	}
	for (size_t i = 0; i < turns->n; i++) {
		int *mine = &as[turns->at[i].voice];

		if (*mine == NOT_YET)
			*mine = n++;
		number[i] = *mine == NOBODY ? -1 : *mine;
	}
	return n;
}

static int
label_frames(struct table *t, char **models, unsigned char *voice, int *n)
{
	struct turns turns;
	const int status = speech_turns(t->mem, models, t->spans, t->n_spans, &turns);
	int *number;

	if (status != EX_OK)
		return status;
	number = arena_array(t->mem, turns.n, sizeof(*number));
	memset(voice, NOBODY, t->speech.n);
	*n = number_voices(t->mem, &turns, number);
	label(t, &turns, number, voice);
	return EX_OK;
}

/* Paths are absolute; spans begin with a digit. */
int
speech_voices_main(char **argv)
{
	struct table t = { .mem = arena_new(900 << 20), .length = speech_length() };
	char **models = argv[0] != NULL && argv[0][0] == '/' ? argv : NULL;
	struct span *spans;
	unsigned char *voice;
	int n = 0, status = EX_OK;

	if (t.length < 0)
		return EX_NOINPUT;
	for (int i = 0; models != NULL && i < 3; i++)
		if (*argv++ == NULL)
			return EX_USAGE;
	if (!speech_spans(t.mem, argv, t.length, &spans, &t.n_spans))
		return EX_USAGE;
	t.spans = spans;
	if (!read_frames(&t))
		return EX_NOINPUT;
	voice = arena_array(t.mem, t.speech.n + 1, 1);
	diarize_mark_loud(t.mem, &t.speech);
	if (models != NULL)
		status = label_frames(&t, models, voice, &n);
	else if (t.speech.n > 0)
		n = diarize(t.mem, &t.speech, voice, tell, &t);
	for (int who = 0; who < n && status == EX_OK; who++)
		status = say_voice(&t, voice, who) ? EX_OK : EX_IOERR;
	return status != EX_OK || speech_say_progress(t.mem, t.length, t.length) ? status : EX_IOERR;
}
