/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speech_probe SPEECH NONSENSE [MOST]: transcribes every recording of two directories by the job, as the settings are,
 * and by the engine itself with nothing before or behind it, and counts words.  See tests/bench/speech.
 */
#include <ctype.h>
#include <dirent.h>
#include <pocketsphinx.h>
#include <sphinxbase/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "media/quality.h"
#include "tests/jobs/sounds.h"

/* Words in lower case. */
struct words { const char **at; size_t n; };

enum { NAMING = 6 };

enum grade { GOOD, DRAFT, UNRELIABLE, GRADES };
static const char *const grades[] = { "good", "draft", "unreliable" };

static struct {
	size_t files[GRADES], shown[GRADES], right[GRADES], said, wrong, wrong_by_hand, wrong_named, kept, recordings;
	size_t nonsense, nonsense_shown;
} sums;

static struct words
words_of(struct arena *mem, const char *text)
{
	struct words w = { arena_array(mem, strlen(text) + 1, sizeof(char *)), 0 };
	char *copy = arena_copy(mem, text), *p, *to, *save;

	for (p = to = copy; *p != '\0'; p++)
		if (isalnum((unsigned char)*p) || *p == '\'')
			*to++ = (char)tolower((unsigned char)*p);
		else if (*p == ' ' || *p == '-')
			*to++ = ' ';
	*to = '\0';
	for (p = strtok_r(copy, " ", &save); p != NULL; p = strtok_r(NULL, " ", &save))
		w.at[w.n++] = p;
	return w;
}

/* The edit distance; is_right[k]: the k-th heard word is one that was said. */
static size_t
compare(struct arena *mem, const struct words *said, const struct words *heard, bool *is_right)
{
	size_t row = heard->n + 1, i, k, cost, *d = arena_array(mem, (said->n + 1) * row, sizeof(*d));

	for (i = 0; i <= said->n; i++)
		for (k = 0; k <= heard->n; k++) {
			if (i == 0 || k == 0) {
				d[i * row + k] = i + k;
				continue;
			}
			cost = d[(i - 1) * row + k - 1] + (strcmp(said->at[i - 1], heard->at[k - 1]) != 0);
			if (d[(i - 1) * row + k] + 1 < cost)
				cost = d[(i - 1) * row + k] + 1;
			if (d[i * row + k - 1] + 1 < cost)
				cost = d[i * row + k - 1] + 1;
			d[i * row + k] = cost;
		}
	for (i = said->n, k = heard->n; i > 0 && k > 0;) {
		bool same = strcmp(said->at[i - 1], heard->at[k - 1]) == 0;

		if (d[i * row + k] == d[(i - 1) * row + k - 1] + !same) {
			is_right[k - 1] = same;
			i--;
			k--;
		} else if (d[i * row + k] == d[(i - 1) * row + k] + 1)
			i--;
		else
			k--;
	}
	return d[said->n * row + heard->n];
}

/* The engine with its own settings, the whole recording at once. */
static struct words
by_hand(struct arena *mem, ps_decoder_t *ps, const char *graph)
{
	int fd = samples(mem, graph);
	size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
	int16_t *pcm = arena_alloc(mem, bytes + 2);
	const char *text;

	assert_true(pread(fd, pcm, bytes, 0) == (ssize_t)bytes);
	close(fd);
	assert_true(ps_start_utt(ps) == 0 && ps_process_raw(ps, pcm, bytes / 2, FALSE, TRUE) >= 0 &&
	    ps_end_utt(ps) == 0);
	text = ps_get_hyp(ps, NULL);
	return words_of(mem, text != NULL ? text : "");
}

/* What the job has made of it, and whether players show it. */
static const struct transcript *
transcribe(struct world *w, const char *graph, const char *title, bool *shown)
{
	struct job j = job_for(w, graph);

	db_run(w->db, "UPDATE media SET name = ? WHERE id = ?", ARGS(STR(title), ID(j.media_id)));
	if (run_job(&j) != DONE)
		fail_msg("%s: %s", graph, j.detail);
	*shown = db_number(w->db, "SELECT JSON_LENGTH(captions) FROM media WHERE id = ?", ARGS(ID(j.media_id)), 0) > 0;
	return db_row(w->db, &transcript_record, "FROM transcripts t WHERE t.media_id = ?", ARGS(ID(j.media_id)));
}

static enum grade
grade_of(const struct transcript *t)
{
	enum grade g = GOOD;

	while (g < UNRELIABLE && (t->quality == NULL || strcmp(t->quality, grades[g]) != 0))
		g++;
	return g;
}

/* Its words, and which of them captions hide. */
static struct words
heard_words(struct arena *mem, const struct transcript *t, bool *hidden)
{
	struct list list = record_parse_list(mem, &paragraph_record, t->paragraphs.text);
	const struct paragraph *p = list.rows;
	struct words out = { arena_array(mem, strlen(t->paragraphs.text), sizeof(char *)), 0 };
	size_t i, k;

	for (i = 0; i < list.n; i++)
		for (k = 0; k < p[i].words.n; k++) {
			const struct word *w = (const struct word *)p[i].words.rows + k;

			hidden[out.n] = quality_hides(w);
			out.at[out.n++] = w->text;
		}
	return out;
}

/* As favourable as a title can be. */
static const char *
subject(struct arena *mem, const struct words *said)
{
	struct buf b = BUF(mem);

	buf_char(&b, 'x');
	for (size_t i = 0; i < said->n; i++)
		if (strlen(said->at[i]) >= NAMING)
			buf_printf(&b, " %s", said->at[i]);
	return buf_string(&b);
}

static size_t
wrong_when_named(struct world *w, const char *graph, const struct words *said)
{
	bool shown, *hidden;
	const struct transcript *t;
	struct words heard;

	db_run(w->db, "DELETE FROM transcripts", NO_ARGS);	/* or it would be copied */
	t = transcribe(w, graph, subject(w->mem, said), &shown);

	hidden = arena_array(w->mem, strlen(t->paragraphs.text), sizeof(bool));
	heard = heard_words(w->mem, t, hidden);
	return compare(w->mem, said, &heard, arena_array(w->mem, heard.n, sizeof(bool)));
}

/* As one calls a recording by its file. */
static const char *
called(struct arena *mem, const char *file)
{
	char *name = arena_copy_n(mem, file, strcspn(file, "."));

	for (char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p))
			*p = ' ';
	return name;
}

static void
measure(struct world *w, ps_decoder_t *ps, const char *file, const char *text, const char *name)
{
	const char *graph = arena_printf(w->mem, "amovie=%s", file);
	struct words said = words_of(w->mem, text), heard, hand;
	bool is_shown, *hidden, *right;
	const struct transcript *t = transcribe(w, graph, called(w->mem, name), &is_shown);
	enum grade g = grade_of(t);
	size_t wrong, wrong_by_hand, shown = 0, right_shown = 0, i;

	hidden = arena_array(w->mem, strlen(t->paragraphs.text), sizeof(bool));
	heard = heard_words(w->mem, t, hidden);
	right = arena_array(w->mem, heard.n, sizeof(bool));
	wrong = compare(w->mem, &said, &heard, right);
	hand = by_hand(w->mem, ps, graph);
	wrong_by_hand = compare(w->mem, &said, &hand, arena_array(w->mem, hand.n, sizeof(bool)));
	for (i = 0; i < heard.n; i++) {
		shown += is_shown && !hidden[i];
		right_shown += is_shown && !hidden[i] && right[i];
	}
	sums.recordings++;
	sums.kept += heard.n > 0;
	sums.files[g]++;
	sums.shown[g] += shown;
	sums.right[g] += right_shown;
	sums.said += said.n;
	sums.wrong += wrong;
	sums.wrong_by_hand += wrong_by_hand;
	sums.wrong_named += wrong_when_named(w, graph, &said);
	printf("# %-40.40s %-10s %.2f  said %3zu  wrong %3zu  by hand %3zu  shown %3zu  right %3zu\n", name,
	    t->quality != NULL ? t->quality : "-", t->confidence, said.n, wrong, wrong_by_hand, shown, right_shown);
}

static void
every_recording(void **state, const char *dir)
{
	struct world *w = *state;
	FILE *f = fopen(arena_printf(w->mem, "%s/transcripts.tsv", dir), "re");
	cmd_ln_t *config = cmd_ln_init(NULL, ps_args(), TRUE, "-hmm", SPEECH_MODEL "/en-us", "-lm",
	    SPEECH_MODEL "/en-us.lm.bin", "-dict", SPEECH_MODEL "/cmudict-en-us.dict", NULL);
	ps_decoder_t *ps = ps_init(config);
	char line[65536], *tab;

	assert_non_null(f);
	assert_non_null(ps);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		tab = strchr(line, '\t');
		assert_non_null(tab);
		*tab = '\0';
		measure(w, ps, arena_printf(w->mem, "%s/%s", dir, line), tab + 1, arena_copy(w->mem, line));
	}
	fclose(f);
	ps_free(ps);
	cmd_ln_free_r(config);
}

static void
all_nonsense(void **state, const char *dir)
{
	struct world *w = *state;
	const struct transcript *t;
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), i;
	bool shown;

	for (i = 0; i < n; i++) {
		if (names[i]->d_name[0] == '.')
			continue;
		t = transcribe(w, arena_printf(w->mem, "amovie=%s/%s", dir, names[i]->d_name), "x", &shown);
		sums.nonsense++;
		sums.nonsense_shown += shown;
		printf("# %-40.40s %-10s %.2f%s\n", names[i]->d_name, t->no_speech ? "no speech" : t->quality,
		    t->confidence, shown ? "  SHOWN" : "");
	}
}

static void
figure(const char *what, double value, const char *bar, bool fine)
{
	printf("figure\t%s\t%.3f\t%s\t%s\n", what, value, bar, bar[0] == '-' ? "" : fine ? "pass" : "fail");
}

static double
share(size_t part, size_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

static void
print_figures(const char *most)
{
	double error = share(sums.wrong, sums.said), ratio = share(sums.wrong, sums.wrong_by_hand),
	    named = share(sums.wrong_named, sums.wrong_by_hand), good = share(sums.right[GOOD], sums.shown[GOOD]),
	    draft = share(sums.right[DRAFT], sums.shown[DRAFT]);

	figure("speech: recordings whose transcript is kept", share(sums.kept, sums.recordings), "-", true);
	figure("speech: words wrong, of those said", error, most != NULL ? most : "-", most == NULL ||
	    error <= strtod(most + 2, NULL));
	figure("speech: words wrong, by those of the engine by hand", ratio, "<= 1.00", ratio <= 1);
	figure("… where the title has the long words of what is said", named, "<= 0.80", sums.wrong_by_hand == 0 ||
	    named <= 0.8);
	figure("speech: recordings that are good", share(sums.files[GOOD], sums.recordings), "-", true);
	figure("speech: recordings that are drafts", share(sums.files[DRAFT], sums.recordings), "-", true);
	figure("speech: words right, of those shown of good ones", good, ">= 0.80",
	    sums.shown[GOOD] == 0 || good >= 0.8);
	figure("speech: words right, of those shown of drafts", draft, ">= 0.65",
	    sums.shown[DRAFT] == 0 || draft >= 0.65);
	printf("figure\tspeech: nonsense shown, of %zu\t%zu\t0\t%s\n", sums.nonsense, sums.nonsense_shown,
	    sums.nonsense_shown == 0 ? "pass" : "fail");
}

int
main(int argc, char **argv)
{
	void *state;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: speech_probe SPEECH NONSENSE [MOST]\n");
		return 64;
	}
	err_set_logfp(NULL);
	if (sounds_open(&state) != 0 || world_setup(&state) != 0)
		return 1;
	every_recording(&state, argv[1]);
	all_nonsense(&state, argv[2]);
	print_figures(argc == 4 ? argv[3] : NULL);
	world_teardown(&state);
	return sounds_close(&state) != 0;
}
