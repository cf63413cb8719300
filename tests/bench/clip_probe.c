/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clip_probe DIR MINUTES: clips of a film that is {dir}/minute.mp4 and minute.m4a so many times. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "media/clip.h"
#include "media/fragments.h"

enum { CLIPS = 5, LENGTH_MS = 30000 };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Bytes that this process and its children so far have read. */
static int64_t
bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	int64_t n = 0;

	if (f == NULL || fscanf(f, "rchar: %" SCNd64, &n) != 1)
		exit(1);
	fclose(f);
	return n;
}

static int64_t
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

static char *
bytes_at(FILE *f, int64_t offset, int64_t n)
{
	char *bytes = malloc((size_t)n);

	if (bytes == NULL || fseeko(f, offset, SEEK_SET) != 0 || fread(bytes, 1, (size_t)n, f) != (size_t)n)
		exit(1);
	return bytes;
}

/* The fragments of a file over and over, each in its time. */
static const char *
repeat(struct arena *mem, const char *dir, const char *name, const char *as, long times)
{
	const char *path = arena_printf(mem, "%s/%s", dir, name), *out = arena_printf(mem, "%s/%s", dir, as);
	const struct fragments *f = fragments_read(mem, path);
	FILE *from = fopen(path, "re"), *to = fopen(out, "we");
	int64_t at = 0;
	char *bytes;

	if (f == NULL || from == NULL || to == NULL)
		exit(1);
	bytes = bytes_at(from, 0, f->init_size);
	fwrite(bytes, 1, (size_t)f->init_size, to);
	free(bytes);
	for (long i = 0; i < times; i++)
		for (size_t k = 0; k < f->n; k++) {
			bytes = bytes_at(from, f->at[k].offset, f->at[k].size);
			if (!fragment_move((unsigned char *)bytes, (size_t)f->at[k].size, at) ||
			    fwrite(bytes, 1, (size_t)f->at[k].size, to) != (size_t)f->at[k].size)
				exit(1);
			free(bytes);
			at += f->at[k].duration;
		}
	fclose(from);
	if (fclose(to) != 0)
		exit(1);
	return out;
}

/* Encoding of two groups by hand. */
static double
by_hand(struct arena *mem, const char *dir)
{
	double began = now();

	if (system(arena_printf(mem, "cd %s && ffmpeg -v error -nostdin -y -t 8 -i minute.mp4 -c:v libx264 -preset "
	    "veryfast -profile:v high -crf 23 -maxrate 2509063 -bufsize 5018126 -sc_threshold 0 -g 9999 -f mp4 hand.mp4", dir)) != 0)
		exit(1);
	return now() - began;
}

static int
by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int
main(int argc, char **argv)
{
	struct arena *mem = arena_new(1 << 30);
	double took[CLIPS], hand[CLIPS], share = 0, wanted;
	struct fault fault;
	int64_t all;

	if (argc != 3)
		return 64;
	const long minutes = strtol(argv[2], NULL, 10);
	struct clip c = { .video = repeat(mem, argv[1], "minute.mp4", "film.mp4", minutes), .sound = repeat(mem,
	    argv[1], "minute.m4a", "film.m4a", minutes), .dir = argv[1] };

	all = size_of(c.video) + size_of(c.sound);
	srandom((unsigned)time(NULL));
	for (int i = 0; i < CLIPS; i++) {
		int64_t before = bytes_read();
		double began = now();

		c.from_ms = random() % (minutes * 60000 - LENGTH_MS);
		c.to_ms = c.from_ms + LENGTH_MS;
		if (!clip_make(mem, &c, "clip.mp4", &fault)) {
			fprintf(stderr, "clip_probe: %s\n", fault.detail);
			return 1;
		}
		took[i] = now() - began;
		share += (double)(bytes_read() - before) / (double)all / CLIPS;
		hand[i] = by_hand(mem, argv[1]);
		printf("# from %.3f s: %.2f s, %d groups copied, %d encoded\n", (double)c.from_ms / 1000, took[i],
		    c.copied, c.encoded);
	}
	qsort(took, CLIPS, sizeof(*took), by_size);
	qsort(hand, CLIPS, sizeof(*hand), by_size);
	wanted = took[CLIPS / 2] - hand[CLIPS / 2];
	printf("figure\tclip of 30 s: seconds beside those of encoding two groups\t%.2f\t<= 1.50\t%s\n", wanted,
	    wanted <= 1.5 ? "pass" : "fail");
	printf("figure\tclip of 30 s: bytes read / bytes of the film\t%.3f\t<= 0.05\t%s\n", share, share <= 0.05 ?
	    "pass" : "fail");
	arena_free(mem);
	return 0;
}
