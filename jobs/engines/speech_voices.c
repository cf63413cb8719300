/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-speech voices: who speaks when in the spans, and a print of each voice. */
#include <stdio.h>
#include <sysexits.h>

#include "core/text.h"
#include "jobs/engines/diarize.h"
#include "jobs/engines/speech.h"
#include "jobs/engines/voiceprint.h"

/* Frames that are looked at at most: longer recordings are looked at more coarsely.  Frames of voice that a print
 * needs, and that it takes at most.  ms between two turns of the same voice that make them one. */
enum { FRAMES_MAX = 400000, PRINT_LEAST = 500, PRINT_MOST = 30000, GAP = 300, FRAME_MS = 10 };

struct table {
	struct arena *mem;
	const struct span *spans;
	size_t n_spans, *frames;		/* of each span */
	struct speech speech;
	int64_t length;
};

static bool
read_frames(struct table *t)
{
	const size_t reach = CEPSTRA_HOP / (PCM_RATE / 1000);
	struct arena *scratch = arena_new(64 << 20);
	size_t room = 0, n;
	int64_t all = 0;
	bool fine = true;

	for (size_t i = 0; i < t->n_spans; i++)
		all += t->spans[i].end - t->spans[i].start;
	t->speech.hop = (size_t)all / reach / FRAMES_MAX + 1;
	for (size_t i = 0; i < t->n_spans; i++)
		room += (size_t)(t->spans[i].end - t->spans[i].start) / reach / t->speech.hop + 1;
	t->speech.at = arena_raw(t->mem, room * sizeof(*t->speech.at));
	t->frames = arena_array(t->mem, t->n_spans, sizeof(*t->frames));
	for (size_t i = 0; i < t->n_spans && fine; i++) {
		const size_t bytes = (size_t)(t->spans[i].end - t->spans[i].start) * PCM_BYTES_PER_MS;
		int16_t *pcm = arena_raw(scratch, bytes);
		const struct cepstrum *c;

		fine = speech_read(pcm, bytes, t->spans[i].start);
		c = cepstra_of(scratch, pcm, bytes / 2, &n);
		for (size_t k = 0; k < n; k += t->speech.hop, t->frames[i]++)
			t->speech.at[t->speech.n++] = c[k];
		arena_reset(scratch);
	}
	arena_free(scratch);
	return fine;
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

static const char *
print_of(const struct table *t, const struct voiceprint_model *model, const unsigned char *voice, int who, size_t *loud)
{
	const struct cepstrum **frames = arena_array(t->mem, t->speech.n, sizeof(*frames));
	struct voiceprint print;
	size_t n = 0;

	*loud = 0;
	for (size_t i = 0; i < t->speech.n; i++)
		if (t->speech.loud[i] && voice[i] == who) {
			++*loud;
			if (n < PRINT_MOST)
				frames[n++] = &t->speech.at[i];
		}
	if (model == NULL || n < PRINT_LEAST)
		return NULL;
	voiceprint_of(model, frames, n, &print);
	return base64url_encode(t->mem, &print, sizeof(print));
}

static bool
say_voice(const struct table *t, const struct voiceprint_model *model, const unsigned char *voice, int who)
{
	struct buf out = BUF(t->mem);
	size_t loud;
	const char *print = print_of(t, model, voice, who, &loud);

	buf_text(&out, "{\"turns\":[");
	add_turns(&out, t, voice, who);
	buf_text(&out, "],");
	speech_add_seconds(&out, "speech", (int64_t)(loud * t->speech.hop) * FRAME_MS);
	if (print != NULL) {
		buf_text(&out, ",\"print\":");
		buf_json(&out, print);
	}
	buf_text(&out, "}\n");
	return speech_say(&out);
}

int
speech_voices_main(const char *model, char **argv)
{
	struct table t = { .mem = arena_new(900 << 20), .length = speech_length() };
	const struct voiceprint_model *prints;
	struct span *spans;
	unsigned char *voice;
	int n;

	if (t.length < 0)
		return EX_NOINPUT;
	if (!speech_spans(t.mem, argv, t.length, &spans, &t.n_spans))
		return EX_USAGE;
	t.spans = spans;
	if (!read_frames(&t))
		return EX_NOINPUT;
	voice = arena_array(t.mem, t.speech.n + 1, 1);
	diarize_mark_loud(t.mem, &t.speech);
	n = t.speech.n > 0 ? diarize(t.mem, &t.speech, voice, tell, &t) : 0;
	prints = voiceprint_model(t.mem, model);
	for (int who = 0; who < n; who++)
		if (!say_voice(&t, prints, voice, who))
			return EX_IOERR;
	return speech_say_progress(t.mem, t.length, t.length) ? EX_OK : EX_IOERR;
}
