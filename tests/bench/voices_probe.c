/* SPDX-License-Identifier: GPL-3.0-or-later */
/* voices_probe FILE.s16le…: how alike the one who speaks most in each is to that of each other, "likeness FILE FILE",
 * and "speech FILE ms"; what naming asks for is printed first.  KINOTHEK_LIBEXEC names the directory of
 * kinothek-speech. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "jobs/engines/conversation.h"
#include "jobs/recognition.h"

static void
progress(void *user, int percent)
{
}

/* Of one person, whatever the engine takes for others: as a person would have merged them. */
static const struct told *
heard(struct arena *mem, const struct conf *conf, const char *file)
{
	struct conversation c = { .mem = mem, .conf = conf, .pcm = open(file, O_RDONLY | O_CLOEXEC),
	    .progress = progress };
	const struct told *best = NULL;

	c.length = lseek(c.pcm, 0, SEEK_END) / PCM_BYTES_PER_MS;
	if (engine_tell_apart(engine_chosen(conf, ENGINE_diarize), &c) != DONE ||
	    engine_chosen(conf, ENGINE_voiceprint)->run.voiceprint(&c) != DONE)
		fprintf(stderr, "%s: %s\n", file, c.fault.detail != NULL ? c.fault.detail : "failed");
	close(c.pcm);
	for (size_t i = 0; i < c.n; i++)
		if (c.voices[i].print != NULL && (best == NULL || c.voices[i].speech > best->speech))
			best = &c.voices[i];
	return best;
}

int
main(int argc, char **argv)
{
	const char *fault = NULL;
	const struct conf *conf = conf_parse("", "probe", &fault);
	struct arena *mem = arena_new((size_t)1 << 30);
	const struct told **all = arena_array(mem, (size_t)argc, sizeof(struct told *));
	const struct engine *prints;

	if (conf == NULL) {
		fprintf(stderr, "%s\n", fault);
		return 1;
	}
	prints = engine_chosen(conf, ENGINE_voiceprint);
	printf("same %.3f\napart %.3f\n", recognition_limits(conf, prints).same, RECOGNITION_APART);
	for (int i = 1; i < argc; i++) {
		all[i] = heard(mem, conf, argv[i]);
		printf("speech %s %lld\n", argv[i], all[i] != NULL ? (long long)all[i]->speech : 0);
		for (int k = 1; k < i && all[i] != NULL; k++)
			if (all[k] != NULL)
				printf("likeness %s %s %.4f\n", argv[k], argv[i], prints->likeness.of(all[k]->print->at,
				    all[i]->print->at, all[i]->print->n));
	}
	return 0;
}
