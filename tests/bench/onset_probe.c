/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When words are heard to begin: sentences are said by two of flite's voices, which know when they begin each word, and
 * transcribed by the job, as the settings are.  See tests/bench/onset.
 */
#include <flite/flite.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/jobs/sounds.h"

cst_voice *register_cmu_us_rms(const char *);
cst_voice *register_cmu_us_slt(const char *);

enum { WORDS = 2000, PAUSE_MS = 900 };

struct onset { const char *word; double ms; };
struct onsets { struct onset *at; size_t n; };

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
say(struct arena *mem, cst_voice *voice, const char *text, cst_wave *all, struct onsets *out)
{
	cst_utterance *u = flite_synth_text(text, voice);
	cst_wave *pause = new_wave();
	const double before = 1000.0 * all->num_samples / all->sample_rate;
	const cst_item *w, *first;

	for (w = relation_head(utt_relation(u, "Word")); w != NULL; w = item_next(w)) {
		first = path_to_item(w, "R:SylStructure.daughter1.daughter1.R:Segment.p");
		assert_true(out->n < WORDS);
		out->at[out->n++] = (struct onset){ arena_copy(mem, item_feat_string(w, "name")), before +
		    (first != NULL ? 1000.0 * (double)item_feat_float(first, "end") : 0) };
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

static struct onsets
heard(struct world *w, const char *file)
{
	struct job j = job_for(w, arena_printf(w->mem, "amovie=%s", file));
	struct onsets out = { arena_array(w->mem, WORDS, sizeof(struct onset)), 0 };
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
			out.at[out.n++] = (struct onset){ word[k].text, (double)word[k].start.ms };
	}
	return out;
}

static int
ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the words that were heard as they were said (their longest common subsequence): how far from each other they
 * begin, in order.  Returns how many. */
static size_t
errors(struct arena *mem, const struct onsets *said, const struct onsets *got, double *out)
{
	const size_t row = got->n + 1;
	int *d = arena_array(mem, (said->n + 1) * row, sizeof(*d));
	size_t i, k, n = 0;

	for (i = said->n; i-- > 0;)
		for (k = got->n; k-- > 0;) {
			const int *below = &d[(i + 1) * row + k], *beside = &d[i * row + k + 1];

			d[i * row + k] = strcasecmp(said->at[i].word, got->at[k].word) == 0 ? below[1] + 1 :
			    *below > *beside ? *below : *beside;
		}
	for (i = k = 0; i < said->n && k < got->n;)
		if (strcasecmp(said->at[i].word, got->at[k].word) == 0)
			out[n++] = fabs(said->at[i++].ms - got->at[k++].ms);
		else if (d[(i + 1) * row + k] >= d[i * row + k + 1])
			i++;
		else
			k++;
	qsort(out, n, sizeof(*out), ascending);
	return n;
}

static void
measure(struct world *w)
{
	cst_voice *const voices[] = { register_cmu_us_rms(NULL), register_cmu_us_slt(NULL) };
	struct onsets said = { arena_array(w->mem, WORDS, sizeof(struct onset)), 0 }, got;
	const char *file = arena_printf(w->mem, "%s/said.wav", sounds_dir());
	double *all = arena_array(w->mem, WORDS, sizeof(double));
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
	printf("figure\tspeech: when words begin, off by, median of %zu\t%.0f ms\t<= 100 ms\t%s\n", n, all[n / 2],
	    all[n / 2] <= 100 ? "pass" : "fail");
	printf("figure\t… 95 of 100 by no more than\t%.0f ms\t-\t\n", all[n * 95 / 100]);
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
