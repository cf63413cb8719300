/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times both ways of making a ladder from {dir}/clip.mp4 in one run. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "media/av.h"
#include "core/buf.h"

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Processor time of all children so far. */
static double
spent(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec +
	    u.ru_stime.tv_usec) / 1e6;
}

static void
must(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "ladder_probe: %s\n", what);
	exit(1);
}

static void
figure(const char *what, double measured, double bar)
{
	printf("figure\t%s\t%.2f\t<= %.2f\t%s\n", what, measured, bar, measured <= bar ? "pass" : "fail");
}

/* The same sizes, rates, segments and files; the HLS muxer writes the playlists. */
static double
by_hand(struct arena *mem, const char *dir)
{
	static const struct { int height, rate; } sizes[] = { { 1080, 5000000 }, { 720, 2509000 }, { 360, 772000 } };
	struct buf command = BUF(mem);
	double start = now();

	mkdir(arena_printf(mem, "%s/hand", dir), 0700);
	buf_printf(&command, "cd %s/hand && ffmpeg -v error -nostdin -y -i ../clip.mp4 -filter_complex "
	    "'[0:v]split=3[a][b][c];[a]scale=1920:1080[v0];[b]scale=1280:720[v1];[c]scale=640:360[v2]'", dir);
	for (int i = 0; i < 3; i++)
		buf_printf(&command, " -map '[v%d]' -c:v libx264 -preset veryfast -profile:v high -pix_fmt yuv420p "
		    "-crf 23 -maxrate %d -bufsize %d -sc_threshold 0 -g 240 -force_key_frames 'expr:gte(t,n_forced*4)' "
		    "-f hls -hls_time 4 -hls_segment_type fmp4 -hls_playlist_type vod -hls_flags "
		    "single_file+independent_segments -hls_segment_filename %dp.mp4 %dp.m3u8", i, sizes[i].rate,
		    2 * sizes[i].rate, sizes[i].height, sizes[i].height);
	buf_text(&command, " -map 0:a -c:a aac -b:a 128000 -ac 2 -f hls -hls_time 4 -hls_segment_type fmp4 "
	    "-hls_playlist_type vod -hls_flags single_file -hls_segment_filename audio.mp4 audio.m3u8 && ffmpeg -v "
	    "error -nostdin -y -i 1080p.mp4 -i audio.mp4 -c copy -movflags +faststart download.mp4");
	must(system(buf_string(&command)) == 0, "the ladder by hand failed");
	return now() - start;
}

static bool
pass_over(void *user, const char *bytes, size_t n)
{
	return true;
}

/* What the other steps do that read the first rendition, but for speech. */
static void
look_at(struct arena *mem, const struct av_file *f, const struct av_rendition low[2], const char *out)
{
	const struct av_pcm pcm = { .rate = 8000, .take = pass_over };
	struct av_storyboard board;
	struct av_rendition again;
	struct av_picture picture;
	struct fault fault;

	must(av_rendition_read(mem, out, low[0].name, &again, &fault), "the first rendition was refused");
	must(av_frame(mem, f, av_telling_moment(mem, &again, &fault), 1280, arena_printf(mem, "%s/poster.jpg", out),
	    &picture, &fault), "the poster failed");
	must(av_storyboard(mem, &again, arena_printf(mem, "%s/storyboard.jpg", out), &board, &fault),
	    "the storyboard failed");
	must(av_pcm(mem, av_probe(mem, low[1].file, &fault), &pcm, &fault), "the waveform failed");
}

/* What the jobs first_rendition and renditions do beside the database.  *first: seconds until it plays. */
static double
by_us(struct arena *mem, const char *dir, double *first)
{
	const char *out = arena_printf(mem, "%s/ours", dir), *clip = arena_printf(mem, "%s/clip.mp4", dir);
	struct av_work work = { .dir = out, .preset = "veryfast", .segment_seconds = 4 }, slow = { .dir = out,
	    .segment_seconds = 4, .low_sound = true };
	struct av_rendition made[AV_RUNGS + 1], low[2], slow_made;
	struct av_rung rungs[AV_RUNGS];
	struct fault fault;
	double start = now(), whole;
	size_t n;

	mkdir(out, 0700);
	av_probe(mem, clip, &fault);			/* as the job ingest does */
	work.file = av_probe(mem, clip, &fault);
	must(work.file != NULL && work.file->video != NULL, "the clip was refused");
	n = av_rungs(mem, work.file->video, "1080,720,360", true, rungs);
	must(n == 3 && av_encode(mem, &work, &rungs[2], 1, true, low, &fault) == 2, "the first rendition failed");
	*first = now() - start;
	work.file = av_probe(mem, clip, &fault);
	must(av_encode(mem, &work, rungs, 2, false, made, &fault) == 2, "the renditions failed");
	slow.file = av_probe(mem, low[1].file, &fault);
	must(low[1].channels == 1 || av_encode(mem, &slow, NULL, 0, true, &slow_made, &fault) == 1,
	    "the sound for slow lines failed");
	must(av_download(mem, made[0].file, low[1].file, arena_printf(mem, "%s/download.mp4", out), &fault),
	    "the download failed");
	whole = now() - start;
	look_at(mem, work.file, low, out);
	return whole;
}

int
main(int argc, char **argv)
{
	struct arena *mem = arena_new(512 << 20);
	double hand, ours, first, cpu, cpu_ours;

	must(argc == 2, "usage: ladder_probe DIRECTORY");
	hand = by_hand(mem, argv[1]);
	cpu = spent();
	ours = by_us(mem, argv[1], &first);
	cpu_ours = spent() - cpu;
	fprintf(stderr, "by hand %.1f s (%.1f CPU-s), ours %.1f s (%.1f CPU-s), of which first %.1f s\n", hand, cpu,
	    ours, cpu_ours, first);
	figure("ladder: all renditions, wall against one ffmpeg by hand", ours / hand, 1.15);
	figure("ladder: all that is made but speech, CPU against one ffmpeg by hand", cpu_ours / cpu, 1.20);
	figure("ladder: time until it plays, share of the whole", first / ours, 0.30);
	arena_free(mem);
	return 0;
}
