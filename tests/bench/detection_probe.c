/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * detection_probe FILE.s16le…: the spans that engines are given, "FILE start end" in ms, and a line about what detected
 * them.  KINOTHEK_LIBEXEC names the directory of kinothek-speech.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "jobs/engines/engine.h"

static enum outcome
print(struct hearing *h)
{
	for (size_t i = 0; i < h->n_spans; i++)
		printf("%s %lld %lld\n", (const char *)h->user, (long long)h->spans[i].start,
		    (long long)h->spans[i].end);
	return DONE;
}

static void
progress(void *user, int percent)
{
}

int
main(int argc, char **argv)
{
	static const struct engine printer = { .run.transcribe = print };
	const char *fault = NULL;
	const struct conf *conf = conf_parse("", "probe", &fault);
	struct arena *mem = arena_new(512 << 20);

	if (conf == NULL) {
		fprintf(stderr, "%s\n", fault);
		return 1;
	}
	for (int i = 1; i < argc; i++) {
		struct hearing h = { .mem = mem, .conf = conf, .pcm = open(argv[i], O_RDONLY | O_CLOEXEC),
		    .language = "en", .progress = progress, .user = argv[i] };

		h.length = lseek(h.pcm, 0, SEEK_END) / PCM_BYTES_PER_MS;
		if (engine_hear(&printer, &h) != DONE) {
			fprintf(stderr, "%s: %s\n", argv[i], h.fault.detail);
			return 1;
		}
		if (h.note != NULL)
			fprintf(stderr, "%s\n", h.note);
		close(h.pcm);
		arena_reset(mem);
	}
	return 0;
}
