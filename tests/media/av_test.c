/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Media as people have it, made here in small, and what must become of it. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "media/fragments.h"
#include "tests/media/trial.h"

/* Writes a display matrix into the track header of an MP4, as a phone does. */
static void
turn(const char *path, const int matrix[4], int width, int height)
{
	static unsigned char bytes[65536];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	unsigned char *at = memmem(bytes, (size_t)n, "tkhd", 4), *m;
	const int full[9] = { matrix[0], matrix[1], 0, matrix[2], matrix[3], 0, width, height, 0x40000000 };

	assert_non_null(at);
	m = at + 4 + 40;
	for (int i = 0; i < 9; i++) {
		const int v = i == 2 || i == 5 || i == 8 ? full[i] : full[i] * 65536;

		for (int k = 0; k < 4; k++)
			m[4 * i + k] = (unsigned char)((unsigned)v >> (24 - 8 * k));
	}
	assert_int_equal(pwrite(fd, bytes, (size_t)n, 0), n);
	close(fd);
}

/* The quarters of the first frame, left to right, top to bottom: 'W' or '.'. */
static const char *
quarters(struct place *p, const char *path)
{
	struct jail_result r = look(p, path, "scale=2:2:flags=area,format=gray");
	char *out = arena_alloc(p->mem, 5);

	assert_true(r.out_size >= 4);
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)r.out[i] > 128 ? 'W' : '.';
	return out;
}

struct media_case {
	const char *name, *command;
	enum reason reason;		/* REASON_NONE: it must play */
	int width, height;		/* of the largest size made; 0: no picture */
	int tracks;			/* of sound in the source */
	int64_t ms;			/* -1: any */
	const char *rate;		/* of the largest size made; NULL: any */
};

static const struct media_case cases[] = {
	{ "plain.mp4", "$FF " MOVING("320x180", "25", "2") " " TONE("2") FAST "-shortest $O", 0, 320, 180, 1, 2000, "25/1" },
	{ "odd.mkv", "$FF " MOVING("320x180", "25", "1") " -vf scale=161:91,setsar=1 -c:v ffv1 -pix_fmt yuv444p $O", 0, 160, 90, 0, 1000, "25/1" },
	{ "anamorphic.mp4", "$FF " MOVING("144x112", "25", "1") " -vf setsar=16/11" FAST "$O", 0, 208, 112, 0, 1000, NULL },
	{ "absurd-aspect.mkv", "$FF " MOVING("160x90", "25", "1") " -vf setsar=1000/1" FAST "$O", 0, 160, 90, 0, 1000, NULL },
	{ "thin.mkv", "$FF " MOVING("2000x4", "25", "1") " -c:v ffv1 $O", 0, 2000, 4, 0, 1000, NULL },
	{ "dot.mkv", "$FF -f lavfi -i color=red:s=16x16:r=25:d=1,format=yuv444p,crop=1:1 -c:v ffv1 -pix_fmt yuv444p $O", 0, 2, 2, 0, 1000, NULL },
	{ "one-frame.mp4", "$FF " MOVING("160x90", "25", "1") " -frames:v 1" FAST "$O", 0, 160, 90, 0, 40, NULL },
	{ "film.mp4", "$FF " MOVING("160x90", "24000/1001", "2") FAST "$O", 0, 160, 90, 0, 2002, "24000/1001" },
	{ "ntsc.mp4", "$FF " MOVING("160x90", "30000/1001", "2") FAST "$O", 0, 160, 90, 0, 2002, "30000/1001" },
	{ "fast.mp4", "$FF " MOVING("160x90", "120", "1") FAST "$O", 0, 160, 90, 0, 1000, "60/1" },
	{ "interlaced.mpg", "$FF " MOVING("160x96", "50", "2") " -vf interlace,setfield=tff -c:v mpeg2video -flags +ilme+ildct -q:v 3 $O",
	    0, 160, 96, 0, -1, "50/1" },
	{ "ten-bit.mkv", "$FF " MOVING("160x90", "25", "1") " -c:v libx264 -preset ultrafast -pix_fmt yuv420p10le $O", 0, 160, 90, 0, 1000, NULL },
	{ "full-chroma.mkv", "$FF " MOVING("160x90", "25", "1") " -c:v libx264 -preset ultrafast -pix_fmt yuv444p $O", 0, 160, 90, 0, 1000, NULL },
	{ "alpha.mov", "$FF -f lavfi -i color=red@0.5:s=160x90:r=25:d=1,format=rgba -c:v qtrle $O", 0, 160, 90, 0, 1000, NULL },
	{ "prores.mov", "$FF " MOVING("160x90", "25", "1") " -c:v prores_ks -pix_fmt yuv422p10le $O", 0, 160, 90, 0, 1000, NULL },
	{ "vp9.webm", "$FF " MOVING("160x90", "25", "1") " " TONE("1") " -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus $O",
	    0, 160, 90, 1, -1, NULL },
	{ "old.avi", "$FF " MOVING("160x90", "25", "1") " " TONE("1") " -c:v mpeg4 -c:a libmp3lame $O", 0, 160, 90, 1, -1, NULL },
	{ "camera.mts", "$FF " MOVING("160x90", "25", "2") " " TONE("2") FAST "-c:a ac3 -f mpegts $O", 0, 160, 90, 1, -1, NULL },
	{ "six-channels.mp4", "$FF " MOVING("160x90", "25", "1") " -f lavfi -i 'sine=440:d=1,pan=5.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0'"
	    FAST "-c:a aac $O", 0, 160, 90, 1, 1000, NULL },
	{ "twelve-channels.mkv", "$FF -f lavfi -i 'aevalsrc=0.1|0.1|0|0|0|0|0|0|0|0|0|0:d=1' -c:a pcm_s16le $O", 0, 0, 0, 1, -1, NULL },
	{ "many-tracks.mkv", "$FF " MOVING("160x90", "25", "1") " " TONE("1") " -map 0 $(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do"
	    " printf ' -map 1'; done)" FAST "-c:a aac $O", 0, 160, 90, 16, -1, NULL },
	{ "sound.wav", "$FF " TONE("2") " $O", 0, 0, 0, 1, 2000, NULL },
	{ "telephone.wav", "$FF -f lavfi -i sine=440:r=8000:d=2 -c:a pcm_mulaw $O", 0, 0, 0, 1, 2000, NULL },
	{ "studio.flac", "$FF -f lavfi -i sine=440:r=192000:d=1 $O", 0, 0, 0, 1, 1000, NULL },
	{ "cover.mp3", "$FF " TONE("2") " -f lavfi -i color=blue:s=64x64:r=1:d=1 -map 0 -map 1 -frames:v 1 -c:v mjpeg -disposition:v attached_pic "
	    "-c:a libmp3lame $O", 0, 0, 0, 1, -1, NULL },
	{ "late-sound.mkv", "$FF " MOVING("160x90", "25", "3") " -itsoffset 1.5 " TONE("1") FAST "$O", 0, 160, 90, 1, 3000, NULL },
	{ "long-sound.mp4", "$FF " MOVING("160x90", "25", "1") " " TONE("4") FAST "$O", 0, 160, 90, 1, 4000, NULL },
	{ "far-start.mkv", "$FF " MOVING("160x90", "25", "1") " " TONE("1") FAST "-output_ts_offset 36000 $O", 0, 160, 90, 1, -1, NULL },
	{ "timecode.mov", "$FF " MOVING("160x90", "25", "1") " -timecode 01:00:00:00" FAST "$O", 0, 160, 90, 0, 1000, NULL },
	{ "fragmented.mp4", "$FF " MOVING("160x90", "25", "2") FAST "-movflags frag_keyframe+empty_moov $O", 0, 160, 90, 0, -1, NULL },
	{ "cut-99.mp4", "$FF " MOVING("160x90", "25", "4") FAST "-movflags faststart w.mp4; head -c $(($(stat -c %s w.mp4) * 99 / 100)) "
	    "w.mp4 >$O", 0, 160, 90, 0, -1, NULL },
	{ "cut-50.mp4", "$FF " MOVING("160x90", "25", "4") FAST "-movflags faststart w.mp4; head -c $(($(stat -c %s w.mp4) / 2)) w.mp4 >$O",
	    REASON_TRUNCATED, 0, 0, 0, 0, NULL },
	{ "cut-1.mp4", "$FF " MOVING("160x90", "25", "4") FAST "-movflags faststart w.mp4; head -c $(($(stat -c %s w.mp4) / 100)) w.mp4 >$O",
	    REASON_TRUNCATED, 0, 0, 0, 0, NULL },
	{ "no-index.mp4", "$FF " MOVING("160x90", "25", "2") FAST "w.mp4; head -c $(($(stat -c %s w.mp4) / 2)) w.mp4 >$O",
	    REASON_TRUNCATED, 0, 0, 0, 0, NULL },
	{ "empty.mp4", ": >$O", REASON_EMPTY_FILE, 0, 0, 0, 0, NULL },
	{ "playlist.mp4", "printf '#EXTM3U\\n#EXT-X-TARGETDURATION:9\\n#EXTINF:9,\\nfile:///etc/passwd\\n' >$O", REASON_FORMAT_NOT_ALLOWED,
	    0, 0, 0, 0, NULL },
	{ "concat.mp4", "printf 'ffconcat version 1.0\\nfile /etc/passwd\\n' >$O", REASON_FORMAT_NOT_ALLOWED, 0, 0, 0, 0, NULL },
	{ "page.mp4", "printf '<!DOCTYPE html><html><body>x</body></html>' >$O", REASON_FORMAT_NOT_ALLOWED, 0, 0, 0, 0, NULL },
	{ "program.mp4", "cp /usr/bin/true $O", REASON_FORMAT_NOT_ALLOWED, 0, 0, 0, 0, NULL },
	{ "noise.mp4", "head -c 100000 /dev/urandom | tr -d '\\000-\\377' >$O; head -c 50000 /bin/ls | tail -c 40000 >>$O",
	    REASON_UNKNOWN_FORMAT, 0, 0, 0, 0, NULL },
	{ "odd-codec.avi", "$FF " MOVING("160x90", "25", "1") " -c:v magicyuv -pix_fmt yuv420p $O", REASON_CODEC_NOT_ALLOWED, 0, 0, 0, 0, NULL },
	{ "subtitles-only.mkv", "printf '1\\n00:00:00,000 --> 00:00:01,000\\nx\\n' >s.srt; $FF -f srt -i s.srt $O", REASON_NO_STREAMS,
	    0, 0, 0, 0, NULL },
};

/* What is wrong with the result of a file that must play, or NULL. */
static const char *
fault_of(struct place *p, const struct media_case *c, const struct ingest *in)
{
	const struct av_rendition *r = &in->made[0];

	if (in->n_made == 0)
		return arena_printf(p->mem, "%s, %s", reason_info(in->fault.reason)->code, in->fault.detail);
	if (in->file->n_tracks != c->tracks || in->n_made != (c->width > 0) + (size_t)(c->tracks > 0))
		return arena_printf(p->mem, "%d tracks of sound, %zu results", in->file->n_tracks, in->n_made);
	if (r->width != c->width || r->height != c->height)
		return arena_printf(p->mem, "%d x %d", r->width, r->height);
	if (c->ms >= 0 && llabs(r->duration_ms - c->ms) > 60)
		return arena_printf(p->mem, "%lld ms", (long long)r->duration_ms);
	if (c->rate != NULL) {
		const char *rate = arena_printf(p->mem, "%lld/%lld", (long long)r->rate.num, (long long)r->rate.den);

		return strcmp(rate, c->rate) != 0 ? rate : NULL;
	}
	return NULL;
}

static void
every_kind_of_file_plays_or_is_refused_for_its_reason(void **state)
{
	struct place *p = *state;
	int faults = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct media_case *c = &cases[i];
		struct ingest *in = ingest(p, make(p, c->name, c->command), "1080,720,360");
		const char *fault = NULL;

		if (c->reason == REASON_NONE)
			fault = fault_of(p, c, in);
		else if (in->n_made != 0 || in->fault.reason != c->reason)
			fault = in->n_made > 0 ? "it plays" : arena_printf(p->mem, "%s, %s",
			    reason_info(in->fault.reason)->code, in->fault.detail);
		if (fault != NULL) {
			print_error("%s: %s\n", c->name, fault);
			faults++;
		}
	}
	assert_int_equal(faults, 0);
}

static void
pictures_come_out_upright(void **state)
{
	static const struct { int matrix[4], x, y; const char *quarters; int width, height, rotation; bool mirrored;
	    } turns[] = {
		{ { 1, 0, 0, 1 }, 0, 0, "W...", 160, 96, 0, false },
		{ { 0, 1, -1, 0 }, 96, 0, ".W..", 96, 160, 90, false },
		{ { -1, 0, 0, -1 }, 160, 96, "...W", 160, 96, 180, false },
		{ { 0, -1, 1, 0 }, 0, 160, "..W.", 96, 160, 270, false },
		{ { -1, 0, 0, 1 }, 160, 0, ".W..", 160, 96, 180, true },
		{ { 1, 0, 0, -1 }, 0, 96, "..W.", 160, 96, 0, true },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		const char *path = make(p, "turned.mp4", "$FF " CORNER("160x96", "1") FAST "-movflags faststart $O");
		struct fault fault;
		struct av_picture picture;
		struct ingest *in;

		turn(path, turns[i].matrix, turns[i].x, turns[i].y);
		in = ingest(p, path, "1080");
		assert_int_equal(in->n_made, 1);
		assert_int_equal(in->file->video->rotation, turns[i].rotation);
		assert_int_equal(in->file->video->mirrored, turns[i].mirrored);
		assert_int_equal(in->made[0].width, turns[i].width);
		assert_int_equal(in->made[0].height, turns[i].height);
		assert_string_equal(quarters(p, in->made[0].file), turns[i].quarters);
		assert_true(av_frame(p->mem, in->file, 0, 1280, arena_printf(p->mem, "%s/frame.jpg", p->dir), &picture,
		    &fault));
		assert_int_equal(picture.width, turns[i].width);
		assert_string_equal(quarters(p, arena_printf(p->mem, "%s/frame.jpg", p->dir)), turns[i].quarters);
	}
}

static void
sizes_are_never_above_the_source(void **state)
{
	static const struct { int width, height; const char *expected; } sources[] = {
		{ 1920, 1080, "1920x1080 1280x720 640x360 " },
		{ 1080, 1920, "1080x1920 720x1280 360x640 " },
		{ 3840, 2160, "1920x1080 1280x720 640x360 " },
		{ 1280, 720, "1280x720 640x360 " },
		{ 1920, 800, "1920x800 1728x720 864x360 " },
		{ 960, 540, "960x540 640x360 " },
		{ 320, 240, "320x240 " },
		{ 321, 241, "320x240 " },
		{ 16384, 2, "4096x2 " },
		{ 1, 1, "2x2 " },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct av_video v = { .width = sources[i].width, .height = sources[i].height, .out_rate = { 25, 1 } };
		struct av_rung rungs[AV_RUNGS];
		size_t n = av_rungs(p->mem, &v, "1080,720,360", true, rungs);
		char text[200] = "";

		for (size_t k = 0; k < n; k++)
			sprintf(text + strlen(text), "%dx%d ", rungs[k].width, rungs[k].height);
		assert_string_equal(text, sources[i].expected);
	}
}

static int64_t
extinf_us(struct place *p, const char *path)
{
	char line[512];
	FILE *f = fopen(path, "r");
	int64_t sum = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "#EXTINF:", 8) == 0)
			sum += llround(strtod(line + 8, NULL) * 1e6);
	fclose(f);
	return sum;
}

static void
segments_of_all_sizes_begin_at_the_same_instants(void **state)
{
	static const char *const rates[] = { "24000/1001", "25", "30000/1001", "60" };
	static const double seconds[] = { 10.01, 10, 10.01, 10 };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const char *path = make(p, "ladder.mkv", arena_printf(p->mem,
		    "$FF -f lavfi -i testsrc2=s=320x180:r=%s:d=10 -f lavfi -i sine=d=10" FAST " -c:a aac $O",
		    rates[i]));
		struct av_work work = { .dir = p->dir, .preset = "ultrafast" };
		struct av_rendition first[2], rest[3];
		struct av_rung rungs[AV_RUNGS];
		const struct fragments *a, *b;
		struct fault fault;

		work.file = av_probe(p->mem, path, &fault);
		assert_non_null(work.file);
		assert_int_equal(av_rungs(p->mem, work.file->video, "180,120,90", true, rungs), 3);
		assert_int_equal(av_encode(p->mem, &work, &rungs[2], 1, true, first, &fault), 2);
		assert_int_equal(av_encode(p->mem, &work, rungs, 2, false, rest, &fault), 2);
		a = fragments_read(p->mem, first[0].file);
		assert_int_equal(a->n, 3);
		for (int k = 0; k < 2; k++) {
			b = fragments_read(p->mem, rest[k].file);
			assert_int_equal(a->timescale, b->timescale);
			assert_int_equal(a->n, b->n);
			for (size_t s = 0; s < a->n; s++)
				assert_int_equal(a->at[s].duration, b->at[s].duration);
			assert_true(llabs(extinf_us(p, rest[k].playlist) - llround(seconds[i] * 1e6)) <= 45000);
			/* What the playlist says is what the file holds, to the microsecond. */
			assert_true(llabs(extinf_us(p, rest[k].playlist) - b->duration * 1000000 / b->timescale) <= 1);
		}
		/* The encoder of the sound fills its last frame and adds up to two. */
		if (llabs(extinf_us(p, first[1].playlist) - llround(seconds[i] * 1e6)) > 65000)
			fail_msg("sound of %.3f s for a picture of %.3f s", (double)extinf_us(p,
			    first[1].playlist) / 1e6, seconds[i]);
	}
}

struct beep { int64_t sample, at; };

static bool
find_beep(void *user, const char *bytes, size_t n)
{
	struct beep *b = user;

	for (size_t i = 0; i + 1 < n; i += 2, b->sample++)
		if (b->at < 0 && abs((int16_t)((unsigned char)bytes[i] | (unsigned char)bytes[i + 1] << 8)) > 2000)
			b->at = b->sample;
	return true;
}

static void
sound_stays_with_a_picture_of_varying_rate(void **state)
{
	struct place *p = *state;
	/* 10 frames a second, then 30, then 7; a flash and a tone at 5 s. */
	const char *path = make(p, "phone.mp4", "$FF -f lavfi -i "
	    "\"color=black:s=160x90:r=30:d=7,drawbox=0:0:iw:ih:white:fill:enable='between(t,5,5.5)',select='if(lt(t,2),"
	    "not(mod(n,3)),if(lt(t,4),1,not(mod(n,4))+between(t,4.99,5.01)))'\" -f lavfi -i "
	    "\"sine=1000:r=44100:d=7,volume=0:enable='not(between(t,5,5.5))'\" -fps_mode vfr -video_track_timescale "
	    "90000" FAST "-c:a aac $O");
	struct ingest *in = ingest(p, path, "1080");
	struct beep beep = { 0, -1 };
	struct av_pcm pcm = { .rate = 8000, .take = find_beep, .user = &beep };
	const struct av_file *sound, *both;
	const char *out = arena_printf(p->mem, "%s/download.mp4", p->dir);
	struct jail_result frames;
	double flash = -1;

	if (in->n_made != 2)
		fail_msg("%s", in->fault.detail);
	sound = av_probe(p->mem, in->made[1].file, &in->fault);
	assert_non_null(sound);
	assert_true(av_pcm(p->mem, sound, &pcm, &in->fault));
	frames = look(p, in->made[0].file, "scale=2:2:flags=area,format=gray");
	for (size_t i = 0; i < frames.out_size / 4 && flash < 0; i++)
		if ((unsigned char)frames.out[4 * i] > 128)
			flash = (double)i * (double)in->made[0].rate.den / (double)in->made[0].rate.num;
	assert_true(fabs(flash - 5) < 0.045);
	assert_true(fabs((double)beep.at / 8000 - 5) < 0.045);
	/* The same in one file. */
	assert_true(av_download(p->mem, in->made[0].file, in->made[1].file, out, &in->fault));
	both = av_probe(p->mem, out, &in->fault);
	assert_non_null(both);
	assert_true(llabs(both->video->start_ms - both->audio->start_ms) <= 2);
	assert_true(llabs(both->duration_ms - 7000) < 60);
}

#define AT(moments) " -vf \"setpts='" moments "/TB'\" -fps_mode passthrough"

static void
frames_that_are_far_apart_are_not_repeated_without_measure(void **state)
{
	static const struct { const char *name, *command; double rate; } files[] = {
		{ "far.mp4", "$FF " MOVING("64x36", "60", "0.5") AT("if(eq(N,29),20000,N/60)") FAST "$O", 1.8 },
		{ "far.mkv", "$FF " MOVING("64x36", "60", "0.5") AT("if(eq(N,29),20000,N/60)") FAST "$O", 1.8 },
		{ "live.mkv", "$FF " MOVING("64x36", "60", "0.5") AT("if(eq(N,29),20000,N/60)") FAST "-f matroska -live 1 $O",
		    1.8 },
		{ "still.mp4", "$FF " MOVING("64x36", "60", "1") " -f lavfi -i anullsrc=r=8000:cl=mono:d=20000 -vf trim=end_frame=1"
		    FAST "-c:a aac -b:a 8k $O", 1.8 },
		{ "slides.mkv", "$FF " MOVING("64x36", "2", "300") AT("N*5+mod(N,3)") FAST "$O", 2 },
		{ "screen.mkv", "$FF " MOVING("64x36", "30", "20") AT("N/30+floor(N/20)/7") FAST "$O", 30 },
		{ "short.mp4", "$FF " MOVING("64x36", "60", "0.5") AT("if(eq(N,29),100,N/60)") FAST "$O", 10 },
		{ "long.mkv", "$FF " MOVING("64x36", "25", "1500") FAST "$O", 25 },
	};
	struct place *p = *state;
	struct fault fault;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct av_file *f = av_probe(p->mem, make(p, files[i].name, files[i].command), &fault);
		const struct av_ratio r = f->video->out_rate;
		const double rate = (double)r.num / (double)r.den;

		if (rate > files[i].rate * 1.01 || rate < files[i].rate / 2)
			fail_msg("%s: %lld/%lld", files[i].name, (long long)r.num, (long long)r.den);
	}
}

static void
high_dynamic_range_becomes_ordinary_with_its_colours(void **state)
{
	static const char *const curves[] = { "smpte2084", "arib-std-b67" };
	struct place *p = *state;

	for (size_t i = 0; i < 2; i++) {
		const char *path = make(p, "hdr.mkv", arena_printf(p->mem,
		    "$FF -f lavfi -i color=red:s=160x90:r=25:d=1,format=yuv420p10le,"
		    "zscale=tin=bt709:min=bt709:pin=bt709:rin=tv:t=%s:m=bt2020nc:p=bt2020:npl=100 -c:v libx264 -preset "
		    "ultrafast -pix_fmt yuv420p10le -color_trc %s -color_primaries bt2020 -colorspace bt2020nc $O",
		    curves[i], curves[i]));
		struct ingest *in = ingest(p, path, "1080");
		const struct av_file *made;
		double mean[3];

		if (in->n_made != 1)
			fail_msg("%s", in->fault.detail);
		assert_true(in->file->video->hdr);
		made = av_probe(p->mem, in->made[0].file, &in->fault);
		assert_string_equal(made->video->transfer, "bt709");
		assert_string_equal(made->video->primaries, "bt709");
		assert_string_equal(made->video->pixel_format, "yuv420p");
		planes(p, in->made[0].file, mean);
		/* Red in BT.709 is 63, 102, 240; grey would be 128 in both colour planes. */
		assert_true(mean[0] > 35 && mean[0] < 110);
		assert_true(mean[1] < 122 && mean[2] > 190);
	}
}

static void
nothing_of_the_source_but_picture_and_sound_is_passed_on(void **state)
{
	struct place *p = *state;
	const char *path = make(p, "tagged.mp4", "$FF " MOVING("160x90", "25", "1") " " TONE("1")
	    " -metadata location=+48.1+011.5/ -metadata title=Secret -metadata comment=Secret -movflags "
	    "use_metadata_tags" FAST "$O");
	struct ingest *in = ingest(p, path, "1080");
	const char *out = arena_printf(p->mem, "%s/download.mp4", p->dir);

	assert_int_equal(in->n_made, 2);
	assert_true(av_download(p->mem, in->made[0].file, in->made[1].file, out, &in->fault));
	for (int i = 0; i < 3; i++) {
		const char *file = i < 2 ? in->made[i].file : out;

		assert_int_not_equal(system(arena_printf(p->mem, "grep -q -a -e Secret -e 48.1 %s", file)), 0);
	}
	assert_int_equal(system(arena_printf(p->mem, "grep -q -a Secret %s", path)), 0);
}

static void
the_chosen_track_is_the_default_one_and_its_language_is_known(void **state)
{
	struct place *p = *state;
	const char *path = make(p, "languages.mkv", "$FF " MOVING("160x90", "25", "1") " " TONE("1")
	    " -map 0 -map 1 -map 1 -map 1" FAST "-c:a aac -metadata:s:a:0 language=eng -metadata:s:a:1 language=ger "
	    "-metadata:s:a:2 language=und -disposition:a:0 0 -disposition:a:1 default -disposition:a:2 0 $O");
	struct fault fault;
	const struct av_file *f = av_probe(p->mem, path, &fault);

	assert_non_null(f);
	assert_int_equal(f->n_tracks, 3);
	assert_ptr_equal(f->audio, &f->tracks[1]);
	assert_string_equal(f->audio->language, "de");
	assert_string_equal(f->tracks[0].language, "en");
	assert_null(f->tracks[2].language);
}

static void
a_poster_is_neither_black_nor_flat(void **state)
{
	struct place *p = *state;
	const char *path = make(p, "dark.mp4", "$FF -f lavfi -i color=black:s=320x180:r=25:d=2 "
	    MOVING("320x180", "25", "2") " -filter_complex '[0][1]concat=n=2' " FAST "$O");
	const char *out = arena_printf(p->mem, "%s/poster.jpg", p->dir);
	struct av_picture picture;
	struct ingest *in = ingest(p, path, "1080");
	int64_t at;

	assert_int_equal(in->n_made, 1);
	at = av_telling_moment(p->mem, &in->made[0], &in->fault);
	assert_in_range(at, 2000, 4000);
	assert_true(av_frame(p->mem, in->file, at, 100, out, &picture, &in->fault));
	assert_int_equal(picture.width, 100);
	assert_int_equal(picture.height, 56);
	assert_true(picture.size > 500);
	/* The last frame and beyond. */
	assert_false(av_frame(p->mem, in->file, 60000, 100, out, &picture, &in->fault) && picture.size == 0);
	/* Of a long film, by its key frames. */
	in = ingest(p, make(p, "long-dark.mp4", "$FF -f lavfi -i color=black:s=64x36:r=2:d=70 "
	    MOVING("64x36", "2", "70") " -filter_complex '[0][1]concat=n=2' " FAST "$O"), "1080");
	at = av_telling_moment(p->mem, &in->made[0], &in->fault);
	assert_in_range(at, 70000, 140000);
	assert_int_equal(at % 4000, 0);
}

static void
cover_art_is_no_video_but_a_poster(void **state)
{
	struct place *p = *state;
	const char *path = make(p, "cover.m4a", "$FF " TONE("1") " -f lavfi -i color=blue:s=63x41:r=1:d=1 -map 0 -map "
	    "1 -frames:v 1 -c:v png -disposition:v attached_pic -c:a aac $O");
	struct av_picture picture;
	struct fault fault;
	const struct av_file *f = av_probe(p->mem, path, &fault);

	assert_non_null(f);
	assert_null(f->video);
	assert_true(f->cover >= 0);
	assert_true(av_cover(p->mem, f, 1280, arena_printf(p->mem, "%s/cover.jpg", p->dir), &picture, &fault));
	assert_true(picture.width >= 62 && picture.width <= 64 && picture.height >= 40 && picture.height <= 42);
}

static void
a_storyboard_has_a_tile_per_segment_and_never_more_than_a_hundred(void **state)
{
	struct place *p = *state;
	struct ingest *in = ingest(p, make(p, "board.mp4", "$FF " MOVING("320x180", "5", "50") FAST "$O"), "180");
	const char *out = arena_printf(p->mem, "%s/board.jpg", p->dir);
	struct av_storyboard b;
	struct av_work work;
	struct av_rendition again;
	struct stat st;

	assert_int_equal(in->n_made, 1);
	assert_true(av_storyboard(p->mem, &in->made[0], out, &b, &in->fault));
	assert_int_equal(b.tiles, 13);
	assert_int_equal(b.columns, 10);
	assert_int_equal(b.rows, 2);
	assert_int_equal(b.tile_width, 160);
	assert_int_equal(b.times[12], 48000);
	assert_int_equal(b.end, 50000);
	assert_int_equal(stat(out, &st), 0);
	assert_int_equal(look(p, out, "format=gray").out_size, 1600 * 180);
	/* Short segments stand for a long recording. */
	work = (struct av_work){ .file = av_probe(p->mem, make(p, "long.mp4", "$FF " MOVING("64x36", "2", "150") FAST
	    "$O"), &in->fault), .dir = p->dir, .preset = "ultrafast", .segment_seconds = 1 };
	assert_int_equal(av_rungs(p->mem, work.file->video, "180", true, in->rungs), 1);
	assert_int_equal(av_encode(p->mem, &work, in->rungs, 1, false, &again, &in->fault), 1);
	assert_int_equal(again.segments, 150);
	assert_true(av_storyboard(p->mem, &again, out, &b, &in->fault));
	assert_int_equal(b.tiles, 75);
	assert_int_equal(b.times[74], 148000);
}

static void
a_broken_rendition_is_noticed(void **state)
{
	struct place *p = *state;
	struct ingest *in = ingest(p, make(p, "good.mp4", "$FF " MOVING("160x90", "25", "2") FAST "$O"), "1080");
	struct av_rendition r;

	assert_int_equal(in->n_made, 1);
	assert_true(av_rendition_read(p->mem, p->dir, in->made[0].name, &r, &in->fault));
	assert_int_equal(truncate(in->made[0].file, in->made[0].size / 2), 0);
	assert_false(av_rendition_read(p->mem, p->dir, in->made[0].name, &r, &in->fault));
	assert_int_equal(in->fault.reason, REASON_OUTPUT_INVALID);
}

static void
overwrite(int fd, const char *bytes, const char *box, uint32_t flags, size_t at, uint32_t value)
{
	const char *found = memmem(bytes, 1 << 16, box, 4);
	const uint32_t f = htonl(flags), v = htonl(value);

	assert_non_null(found);
	assert_int_equal(pwrite(fd, &f, 4, found - bytes + 4), 4);
	assert_int_equal(pwrite(fd, &v, 4, found - bytes + (off_t)at), 4);
}

static void
fragments_that_claim_to_last_for_ages_are_refused(void **state)
{
	static const uint32_t lengths[] = { 0x80000000, 0xffffffff };
	struct place *p = *state;
	struct ingest *in = ingest(p, make(p, "good.mp4", "$FF " MOVING("160x90", "25", "9") FAST "$O"), "1080");
	char *bytes = arena_alloc(p->mem, 1 << 16);
	int fd;

	assert_non_null(fragments_read(p->mem, in->made[0].file));
	fd = open(in->made[0].file, O_RDWR);
	assert_true(pread(fd, bytes, 1 << 16, 0) > 0);
	for (size_t i = 0; i < 2; i++) {
		overwrite(fd, bytes, "tfhd", 0x8, 12, lengths[i]);
		overwrite(fd, bytes, "trun", 0, 8, UINT32_MAX);
		assert_null(fragments_read(p->mem, in->made[0].file));
	}
	close(fd);
}

static void
note_progress(void *user, int percent)
{
	int *seen = user;

	assert_true(percent > seen[0] && percent <= 99);
	seen[0] = percent;
	seen[1]++;
}

static void
progress_rises_to_the_end(void **state)
{
	struct place *p = *state;
	const char *path = make(p, "work.mp4", "$FF " MOVING("640x360", "30", "12") FAST "$O");
	int seen[2] = { -1, 0 };
	struct av_work work = { .dir = p->dir, .preset = "medium", .progress = note_progress, .user = seen };
	struct av_rendition made[2];
	struct av_rung rungs[AV_RUNGS];
	struct fault fault;

	work.file = av_probe(p->mem, path, &fault);
	assert_int_equal(av_rungs(p->mem, work.file->video, "360", true, rungs), 1);
	assert_int_equal(av_encode(p->mem, &work, rungs, 1, false, made, &fault), 1);
	assert_true(seen[0] >= 90 && seen[1] >= 2);
}

static void
a_full_disk_is_told_as_such(void **state)
{
	struct place *p = *state;
	const char *path = make(p, "in.mp4", "$FF " MOVING("320x180", "30", "3") FAST "$O");
	const char *full = arena_printf(p->mem, "%s/full", p->dir);
	struct av_work work = { .dir = full };
	struct av_rendition made[2];
	struct av_rung rungs[AV_RUNGS];
	struct fault fault;

	assert_int_equal(mkdir(full, 0700), 0);
	assert_int_equal(system(arena_printf(p->mem, "mount -t tmpfs -o size=40k none %s", full)), 0);
	work.file = av_probe(p->mem, path, &fault);
	assert_int_equal(av_rungs(p->mem, work.file->video, "360", true, rungs), 1);
	assert_int_equal(av_encode(p->mem, &work, rungs, 1, false, made, &fault), 0);
	assert_int_equal(system(arena_printf(p->mem, "umount %s", full)), 0);
	assert_int_equal(fault.reason, REASON_NO_SPACE);
}

/* cmocka's skip() prints "not ok", which counts as failed: what cannot be tried here has this in its place. */
static void
nothing(void **state)
{
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)
	struct CMUnitTest tests[] = {
		TEST(every_kind_of_file_plays_or_is_refused_for_its_reason),
		TEST(pictures_come_out_upright),
		TEST(sizes_are_never_above_the_source),
		TEST(segments_of_all_sizes_begin_at_the_same_instants),
		TEST(sound_stays_with_a_picture_of_varying_rate),
		TEST(frames_that_are_far_apart_are_not_repeated_without_measure),
		TEST(high_dynamic_range_becomes_ordinary_with_its_colours),
		TEST(nothing_of_the_source_but_picture_and_sound_is_passed_on),
		TEST(the_chosen_track_is_the_default_one_and_its_language_is_known),
		TEST(a_poster_is_neither_black_nor_flat),
		TEST(cover_art_is_no_video_but_a_poster),
		TEST(a_storyboard_has_a_tile_per_segment_and_never_more_than_a_hundred),
		TEST(a_broken_rendition_is_noticed),
		TEST(fragments_that_claim_to_last_for_ages_are_refused),
		TEST(progress_rises_to_the_end),
		TEST(a_full_disk_is_told_as_such),
	};
#undef TEST

	/* Only root can make a small disk, and not everywhere. */
	if (system("unshare -m mount -t tmpfs -o size=40k none /tmp 2>/dev/null") != 0)
		tests[sizeof(tests) / sizeof(tests[0]) - 1] = (struct CMUnitTest){
			"a_full_disk_is_told_as_such # SKIP needs a small disk", nothing, NULL, NULL, NULL };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
