/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When words are heard to begin: sentences are said by two of flite's voices, which know when they begin each word, and
 * transcribed by the job, as the settings are.  See tests/bench/onset.
 */
#include <flite/flite.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "media/alignment.h"
#include "tests/jobs/sounds.h"

cst_voice *register_cmu_us_rms(const char *);
cst_voice *register_cmu_us_slt(const char *);

enum { WORDS = 2000, PAUSE_MS = 900 };

static const char *const sentences[] = {
	"today we will see how the immune system protects the body against infections and diseases",
	"thank you very much for your attention and please come back again next week",
	"the first line is the skin which keeps most of the bacteria outside",
	"the committee will meet on the second monday of each month to discuss the budget",
	"a small village near the river was built by people who had come from the north",
	"if you would like to ask a question please raise your hand and wait for the microphone",
	"the price of bread has doubled within three years and many families cannot pay for it",
};

/* Says the sentence behind what is there, and notes when its words begin. */
static void
say(struct arena *mem, cst_voice *voice, const char *text, cst_wave *all, struct list *out)
{
	cst_utterance *u = flite_synth_text(text, voice);
	cst_wave *pause = new_wave();
	const double before = 1000.0 * all->num_samples / all->sample_rate;
	const cst_item *w, *first;

	for (w = relation_head(utt_relation(u, "Word")); w != NULL; w = item_next(w)) {
		first = path_to_item(w, "R:SylStructure.daughter1.daughter1.R:Segment.p");
		assert_true(out->n < WORDS);
		((struct word *)out->rows)[out->n++] = (struct word){ .text = arena_copy(mem, item_feat_string(w,
		    "name")), .start = { (int64_t)(before + (first != NULL ? 1000.0 * (double)item_feat_float(first,
		    "end") : 0)), true } };
	}
	assert_int_equal(utt_wave(u)->sample_rate, all->sample_rate);
	concat_wave(all, utt_wave(u));
	cst_wave_resize(pause, all->sample_rate * PAUSE_MS / 1000, 1);
	pause->sample_rate = all->sample_rate;
	memset(pause->samples, 0, (size_t)pause->num_samples * sizeof(*pause->samples));
	concat_wave(all, pause);
	delete_wave(pause);
	delete_utterance(u);
}

static struct list
heard(struct world *w, const char *file)
{
	struct job j = job_for(w, arena_printf(w->mem, "amovie=%s", file));
	struct list out = { arena_array(w->mem, WORDS, sizeof(struct word)), 0 };
	const struct transcript *t;
	struct list list;

	if (run_job(&j) != DONE)
		fail_msg("%s", j.detail);
	t = db_row(w->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(j.media_id)));
	list = record_parse_list(w->mem, &paragraph_record, t->paragraphs.text);
	for (size_t i = 0; i < list.n; i++) {
		const struct paragraph *p = (const struct paragraph *)list.rows + i;
		const struct word *word = p->words.rows;

		for (size_t k = 0; k < p->words.n && out.n < WORDS; k++)
			((struct word *)out.rows)[out.n++] = word[k];
	}
	return out;
}

static int
ascending(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of the words that were heard as they were said: by how many ms they begin elsewhere, in order.  Returns how many. */
static size_t
errors(struct arena *mem, const struct list *said, const struct list *got, int64_t *out)
{
	const struct word *a = said->rows, *b = got->rows;
	const size_t *match = alignment_find(mem, a, said->n, b, got->n);
	size_t n = 0;

	for (size_t i = 0; i < said->n; i++)
		if (match[i] != SIZE_MAX)
			out[n++] = llabs(a[i].start.ms - b[match[i]].start.ms);
	qsort(out, n, sizeof(*out), ascending);
	return n;
}

static void
measure(struct world *w)
{
	cst_voice *const voices[] = { register_cmu_us_rms(NULL), register_cmu_us_slt(NULL) };
	struct list said = { arena_array(w->mem, WORDS, sizeof(struct word)), 0 }, got;
	const char *file = arena_printf(w->mem, "%s/said.wav", sounds_dir());
	int64_t *all = arena_array(w->mem, WORDS, sizeof(*all));
	cst_wave *wave = new_wave();
	size_t n, i;

	cst_wave_resize(wave, 0, 1);
	wave->sample_rate = 16000;
	for (i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		say(w->mem, voices[i % 2], sentences[i], wave, &said);
	assert_int_equal(cst_wave_save_riff(wave, file), 0);
	delete_wave(wave);
	got = heard(w, file);
	n = errors(w->mem, &said, &got, all);
	assert_true(n > said.n / 2);
	printf("figure\tspeech: when words begin, off by, median of %zu\t%" PRId64 " ms\t<= 100 ms\t%s\n", n,
	    all[n / 2], all[n / 2] <= 100 ? "pass" : "fail");
	printf("figure\t… 95 of 100 by no more than\t%" PRId64 " ms\t-\t\n", all[n * 95 / 100]);
}

int
main(void)
{
	void *state;

	flite_init();
	if (sounds_open(&state) != 0 || world_setup(&state) != 0)
		return 1;
	measure(state);
	world_teardown(&state);
	return sounds_close(&state) != 0;
}
