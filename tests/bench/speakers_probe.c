/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speakers_probe FILE.s16le…: who speaks when, "FILE start end voice" in ms.  KINOTHEK_LIBEXEC names the directory of
 * kinothek-speech. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "jobs/engines/conversation.h"

static void
progress(void *user, int percent)
{
}

static void
print(const char *file, const struct conversation *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct turn *t = c->voices[i].turns.rows;

		for (size_t k = 0; k < c->voices[i].turns.n; k++)
			printf("%s %lld %lld %zu\n", file, (long long)t[k].start.ms, (long long)t[k].end.ms, i + 1);
	}
}

int
main(int argc, char **argv)
{
	const char *fault = NULL;
	const struct conf *conf = conf_parse("", "probe", &fault);
	struct arena *mem = arena_new(512 << 20);

	if (conf == NULL) {
		fprintf(stderr, "%s\n", fault);
		return 1;
	}
	for (int i = 1; i < argc; i++) {
		struct conversation c = { .mem = mem, .conf = conf, .pcm = open(argv[i], O_RDONLY | O_CLOEXEC),
		    .progress = progress };

		c.length = lseek(c.pcm, 0, SEEK_END) / PCM_BYTES_PER_MS;
		if (engine_tell_apart(engine_chosen(conf, ENGINE_diarize), &c) != DONE) {
			fprintf(stderr, "%s: %s\n", argv[i], c.fault.detail != NULL ? c.fault.detail : "failed");
			return 1;
		}
		if (c.note != NULL)
			fprintf(stderr, "%s\n", c.note);
		print(argv[i], &c);
		close(c.pcm);
	}
	return 0;
}
