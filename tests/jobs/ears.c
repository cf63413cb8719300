/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sounds for engines, and what they make of them. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/jobs/ears.h"
#include "tests/world.h"

const char *ears_dir;

void
run(const char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The sound of an ffmpeg graph as a file; its extension decides the format. */
const char *
make_sound(struct arena *mem, const char *graph, const char *name)
{
	const char *file = arena_printf(mem, "%s/%s", ears_dir, name);
	const char *argv[] = { "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", graph, "-ar", "16000",
	    "-ac", "1", strstr(name, ".s16le") != NULL ? "-f" : "-map_metadata", strstr(name,
	    ".s16le") != NULL ? "s16le" : "-1", file, NULL };

	run(argv);
	return file;
}

int
samples(struct arena *mem, const char *graph)
{
	int fd = open(make_sound(mem, graph, "x.s16le"), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void
on_segment(void *user, const struct segment *s)
{
	struct ear *e = user;

	assert_true(e->n < MAX_HEARD);
	e->heard[e->n++] = engine_copy(e->h.mem, s);
}

static void
on_percent(void *user, int percent)
{
	struct ear *e = user;

	assert_in_range(percent, 0, 100);
	assert_true(percent >= e->percent);
	e->percent = percent;
}

enum outcome
hear(struct world *w, const struct engine *engine, const struct conf *conf, struct ear *e, int pcm)
{
	const char *language = e->h.language != NULL ? e->h.language : "en";
	enum outcome outcome;

	*e = (struct ear){ .h = { .mem = w->mem, .conf = conf, .pcm = pcm, .length = lseek(pcm, 0,
	    SEEK_END) / PCM_BYTES_PER_MS, .language = language, .heard = on_segment, .progress = on_percent,
	    .user = e } };
	outcome = engine_hear(engine, &e->h);
	close(pcm);
	return outcome;
}

const char *
all_text(struct arena *mem, const struct ear *e)
{
	struct buf b = BUF(mem);
	size_t i;

	for (i = 0; i < e->n; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", e->heard[i].text);
	return buf_string(&b);
}

/* Words in lower case without punctuation. */
static size_t
split(struct arena *mem, const char *text, const char **out)
{
	char *copy = arena_copy(mem, text), *p, *to;
	size_t n = 0;

	for (p = to = copy; *p != '\0'; p++)
		if (isalnum((unsigned char)*p) || *p == '\'' || *p == ' ')
			*to++ = (char)tolower((unsigned char)*p);
	*to = '\0';
	for (p = strtok_r(copy, " ", &to); p != NULL; p = strtok_r(NULL, " ", &to))
		out[n++] = p;
	return n;
}

/* Percent of wrong words: the edit distance over the length of the truth. */
int
word_error_rate(struct arena *mem, const char *truth, const char *heard)
{
	const char **a = arena_array(mem, strlen(truth) + 1, sizeof(*a)), **b = arena_array(mem, strlen(heard) + 1,
	    sizeof(*b));
	size_t n = split(mem, truth, a), m = split(mem, heard, b), i, k, diagonal, above;
	size_t *d = arena_array(mem, m + 1, sizeof(*d));

	for (k = 0; k <= m; k++)
		d[k] = k;
	for (i = 1; i <= n; i++)
		for (diagonal = d[0], d[0] = i, k = 1; k <= m; k++) {
			above = d[k];
			d[k] = diagonal + (strcmp(a[i - 1], b[k - 1]) != 0);
			if (above + 1 < d[k])
				d[k] = above + 1;
			if (d[k - 1] + 1 < d[k])
				d[k] = d[k - 1] + 1;
			diagonal = above;
		}
	return (int)(d[m] * 100 / n);
}
