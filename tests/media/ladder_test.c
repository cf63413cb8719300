/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ladder: sizes, rates, light and sound of what is made of a film. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/media/trial.h"

/* Grey of 100, 75, 50 and 25 per cent, and black. */
#define STEPS "if(lt(X,100),255,if(lt(X,200),191,if(lt(X,300),128,if(lt(X,400),64,0))))"

/* The brightness of the bars in the first frame, 0 to 255. */
static void
bars(struct place *p, const char *path, int grey[5])
{
	struct jail_result r = look(p, path, "scale=500:96:in_range=tv:out_range=pc,format=gray");

	assert_true(r.out_size >= 500 * 96);
	for (int i = 0; i < 5; i++)
		grey[i] = (unsigned char)r.out[48 * 500 + 50 + 100 * i];
}

/* An ordinary picture, its white at so many cd/m², coded by the curve. */
static const char *
hdr_bars(struct place *p, const char *curve, int white, const char *steps)
{
	return make(p, "bars.mkv", arena_printf(p->mem, "$FF -f lavfi -i \"color=black:s=500x96:r=25:d=1,format=gbrp,"
	    "geq=r='%s':g='%s':b='%s',zscale=tin=bt709:min=gbr:pin=bt709:rin=pc:t=%s:m=bt2020nc:p=bt2020:r=tv:"
	    "npl=%d,format=yuv420p10le\" -c:v libx264 -preset ultrafast -crf 4 -color_trc %s -color_primaries bt2020 "
	    "-colorspace bt2020nc $O", steps, steps, steps, curve, white, curve));
}

static void
high_dynamic_range_is_as_bright_as_the_ordinary_picture(void **state)
{
	static const char *const curves[] = { "smpte2084", "arib-std-b67" };
	static const int whites[] = { 100, 203 }, wanted[5] = { 235, 190, 128, 64, 0 };
	struct place *p = *state;

	for (size_t i = 0; i < 4; i++) {
		struct ingest *in = ingest(p, hdr_bars(p, curves[i / 2], whites[i % 2], STEPS), "1080");
		const char *poster = arena_printf(p->mem, "%s/poster.jpg", p->dir);
		struct av_picture picture;
		int grey[5];

		if (in->n_made != 1)
			fail_msg("%s", in->fault.detail);
		bars(p, in->made[0].file, grey);
		for (int k = 0; k < 5; k++)
			if (abs(grey[k] - wanted[k]) > 10)
				fail_msg("%s, white of %d: bar %d is %d", curves[i / 2], whites[i % 2], k, grey[k]);
		assert_true(av_frame(p->mem, in->file, 0, 1280, poster, &picture, &in->fault));
		assert_in_range((unsigned char)look(p, poster, "format=gray").out[48 * 500 + 150], 180, 200);
	}
}

static void
highlights_are_kept_apart_and_do_not_darken_the_rest(void **state)
{
	struct place *p = *state;
	/* The first bar has 1000 cd/m², the second 203, the others are of an ordinary picture. */
	const char *path = make(p, "lights.mkv", "$FF -f lavfi -i \"color=black:s=500x96:r=25:d=1,format=yuv420p10le,"
	    "geq=lum='if(lt(X,100),723,if(lt(X,200),573,if(lt(X,300),519,64)))':cb=512:cr=512\" -c:v libx264 -preset "
	    "ultrafast -crf 4 -color_trc smpte2084 -color_primaries bt2020 -colorspace bt2020nc -color_range tv $O");
	struct ingest *in = ingest(p, path, "1080");
	int grey[5];

	if (in->n_made != 1)
		fail_msg("%s", in->fault.detail);
	assert_true(in->file->video->white > 200 && in->file->video->peak > 4);
	bars(p, in->made[0].file, grey);
	assert_true(grey[0] > 240 && grey[0] - grey[1] > 15 && grey[1] > 200 && abs(grey[2] - 190) <= 10);
}

/* A bar that goes from left to right, a step in each of 50 fields a second, as MPEG-2. */
#define BAR(rate, made) "$FF -f lavfi -i \"color=black:s=64x576:r=" rate ":d=0.9,geq=lum='if(between(X,N,N+15),235,16)':cb=128:" \
	"cr=128" made "\" -c:v mpeg2video -q:v 2 "

/* Where the bar is in each frame.  Returns how often it did not go on to the right. */
static int
halts(struct place *p, const char *path, int *frames)
{
	struct jail_result r = look(p, path, "scale=64:1:flags=area,format=gray");
	double before = -1;
	int n = 0;

	*frames = (int)(r.out_size / 64);
	for (int i = 0; i < *frames; i++) {
		double sum = 0, moment = 0;

		for (int x = 0; x < 64; x++) {
			sum += (unsigned char)r.out[64 * i + x] - 16;
			moment += x * ((unsigned char)r.out[64 * i + x] - 16);
		}
		n += moment / sum < before + 0.3;
		before = moment / sum;
	}
	return n;
}

static void
fields_become_frames_in_their_order_whatever_the_header_says(void **state)
{
	static const struct { const char *name, *command; bool interlaced; int rate; } files[] = {
		{ "true.mpg", BAR("50", ",interlace=scan=tff,setfield=tff") "-flags +ilme+ildct $O", true, 50 },
		{ "bottom.mpg", BAR("50", ",interlace=scan=bff,setfield=bff") "-flags +ilme+ildct $O", true, 50 },
		{ "swapped.mpg", BAR("50", ",interlace=scan=bff,setfield=tff") "-flags +ilme+ildct $O", true, 50 },
		{ "hidden.mpg", BAR("50", ",interlace=scan=tff,setfield=prog") "$O", true, 50 },
		{ "whole.mpg", BAR("25", ",setfield=prog") "$O", false, 25 },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct ingest *in = ingest(p, make(p, files[i].name, files[i].command), "1080");
		int frames, stops;

		if (in->n_made != 1)
			fail_msg("%s: %s", files[i].name, in->fault.detail);
		assert_int_equal(in->file->video->interlaced, files[i].interlaced);
		stops = halts(p, in->made[0].file, &frames);
		/* The last field has no successor. */
		if (stops > 1 || abs(frames - files[i].rate * 9 / 10) > 2 || (int)av_frame_rate(in->made[0].rate) !=
		    files[i].rate)
			fail_msg("%s: %d of %d frames do not go on", files[i].name, stops, frames);
	}
}

static void
whole_frames_that_claim_to_be_fields_are_left_alone(void **state)
{
	struct place *p = *state;
	struct fault fault;
	const struct av_file *f = av_probe(p->mem, make(p, "segmented.mpg", "$FF " MOVING("720x576", "25", "2")
	    " -vf setfield=tff -c:v mpeg2video -flags +ilme+ildct -q:v 3 $O"), &fault);

	assert_non_null(f);
	assert_false(f->video->interlaced);
}

static void
only_upper_sizes_are_doubled_and_none_where_the_setting_says_no(void **state)
{
	struct place *p = *state;
	struct av_video v = { .width = 1920, .height = 1080, .interlaced = true, .out_rate = { 25, 1 } };
	struct av_rung rungs[AV_RUNGS], low;

	assert_int_equal(av_rungs(p->mem, &v, "1080,720,360", true, rungs), 3);
	assert_true(rungs[0].rate.num == 50 && rungs[1].rate.num == 50 && rungs[2].rate.num == 25);
	low = rungs[2];
	assert_int_equal(av_rungs(p->mem, &v, "1080,720,360", false, rungs), 3);
	assert_true(rungs[0].rate.num == 25 && rungs[1].rate.num == 25 && rungs[2].rate.num == 25);
	assert_true(rungs[2].max_rate == low.max_rate && rungs[2].width == low.width);
	v.interlaced = false;
	assert_int_equal(av_rungs(p->mem, &v, "1080,720,360", true, rungs), 3);
	assert_int_equal(rungs[0].rate.num, 25);
	/* The fields of a picture that comes twice a second are no motion. */
	v.interlaced = true;
	v.out_rate.num = 2;
	assert_int_equal(av_rungs(p->mem, &v, "1080", true, rungs), 1);
	assert_int_equal(rungs[0].rate.num, 2);
}

static void
sizes_of_both_rates_come_from_one_decode(void **state)
{
	struct place *p = *state;
	struct ingest *in = ingest(p, make(p, "true.mpg", BAR("50", ",interlace=scan=tff,setfield=tff")
	    "-flags +ilme+ildct $O"), "64,32");
	int frames;

	assert_int_equal(in->n_made, 2);
	assert_int_equal(halts(p, in->made[0].file, &frames) <= 1 ? frames / 4 : 0, 11);
	assert_int_equal(halts(p, in->made[1].file, &frames) <= 1 ? frames / 4 : 0, 5);
}

static void
upright_films_are_named_by_their_short_side(void **state)
{
	struct place *p = *state;
	struct av_video v = { .width = 1080, .height = 1920, .out_rate = { 30, 1 } };
	struct av_rung rungs[AV_RUNGS];

	assert_int_equal(av_rungs(p->mem, &v, "1080,720,360", true, rungs), 3);
	assert_string_equal(rungs[0].label, "1080p");
	assert_int_equal(rungs[0].height, 1920);
	assert_string_equal(rungs[1].label, "720p");
	assert_string_equal(rungs[2].label, "360p");
	assert_int_equal(rungs[2].width, 360);
}

static void
rates_are_numbers_that_people_know(void **state)
{
	static const struct { const char *name, *command; double rate, made; } files[] = {
		{ "ntsc.mkv", "$FF " MOVING("64x36", "30000/1001", "3") FAST "$O", 29.97, 29.97 },
		{ "ntsc.mp4", "$FF " MOVING("64x36", "30000/1001", "3") FAST "-video_track_timescale 1000 $O", 29.97, 29.97 },
		{ "film.mkv", "$FF " MOVING("64x36", "24000/1001", "3") FAST "$O", 23.976, 23.976 },
		{ "pal.mov", "$FF " MOVING("64x36", "25", "3") FAST "$O", 25, 25 },
		/* A clock of milliseconds as a rate: the frames themselves are 25 a second. */
		{ "clock.mkv", "$FF " MOVING("64x36", "25", "4") FAST "w.mkv; LC_ALL=C sed "
		    "'s/\\x23\\xe3\\x83\\x84\\x02\\x62\\x5a\\x00/\\x23\\xe3\\x83\\x84\\x00\\x0f\\x42\\x40/' w.mkv >$O", 25, 25 },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct ingest *in = ingest(p, make(p, files[i].name, files[i].command), "1080");

		if (in->n_made != 1)
			fail_msg("%s: %s", files[i].name, in->fault.detail);
		if (av_frame_rate(in->file->video->rate) != files[i].rate || av_frame_rate(in->made[0].rate) !=
		    files[i].made)
			fail_msg("%s: %.5f, made %.5f", files[i].name, av_frame_rate(in->file->video->rate),
			    av_frame_rate(in->made[0].rate));
	}
}

struct level { double most; };

static bool
take_level(void *user, const char *bytes, size_t n)
{
	struct level *l = user;

	for (size_t i = 0; i + 1 < n; i += 2)
		l->most = fmax(l->most, abs((int16_t)((unsigned char)bytes[i] | (unsigned char)bytes[i + 1] << 8)));
	return true;
}

#define NOISE(left, right, rate) "$FF -f lavfi -i \"anoisesrc=d=20:a=0.5:r=" rate ",pan=stereo|c0=" left "|c1=" right "\" "

static void
speech_takes_one_channel_and_no_more_than_64_kbit(void **state)
{
	static const struct { const char *name, *command; int channels; int64_t most; } files[] = {
		{ "one.wav", "$FF -f lavfi -i anoisesrc=d=20:a=0.5:r=48000 $O", 1, 64000 },
		{ "telephone.wav", "$FF -f lavfi -i anoisesrc=d=20:a=0.5:r=8000 -c:a pcm_mulaw $O", 1, 40000 },
		{ "parties.wav", NOISE("c0", "0.2*c0", "16000") "$O", 1, 40000 },
		{ "same.wav", NOISE("c0", "c0", "48000") "$O", 1, 64000 },
		{ "same.mp3", NOISE("c0", "c0", "44100") "-b:a 128k $O", 1, 64000 },
		{ "two.wav", NOISE("c0", "0.9*c0", "48000") "$O", 2, 140000 },
		/* All but the end is silent: nothing is known of its channels. */
		{ "late.wav", "$FF -f lavfi -i aevalsrc=\"if(gt(t\\,19.5)\\,sin(3000*t)\\,0)|0:d=20:s=48000\" $O", 2, 140000 },
		{ "six.wav", "$FF -f lavfi -i 'anoisesrc=d=20:a=0.5:r=48000,pan=5.1|c0=c0|c1=c0|c2=c0|c3=c0|c4=c0|c5=c0' $O", 2, 140000 },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct ingest *in = ingest(p, make(p, files[i].name, files[i].command), "1080");
		struct level level = { 0 };
		const struct av_pcm pcm = { .rate = 8000, .take = take_level, .user = &level };
		const struct av_file *made;

		if (in->n_made != 1)
			fail_msg("%s: %s", files[i].name, in->fault.detail);
		made = av_probe(p->mem, in->made[0].file, &in->fault);
		if (in->made[0].channels != files[i].channels || made->audio->channels != files[i].channels ||
		    in->made[0].peak_rate > files[i].most)
			fail_msg("%s: %d channels, %lld bit/s", files[i].name, made->audio->channels,
			    (long long)in->made[0].peak_rate);
		/* As loud as it was. */
		assert_true(av_pcm(p->mem, made, &pcm, &in->fault) && level.most > 4000);
	}
}

static void
sound_for_slow_lines_is_as_long_as_the_other(void **state)
{
	struct place *p = *state;
	struct ingest *in = ingest(p, make(p, "two.wav", NOISE("c0", "0.5*c0", "48000") "$O"), "1080");
	struct av_work work = { .dir = p->dir, .low_sound = true };
	struct av_rendition low;

	assert_int_equal(in->n_made, 1);
	work.file = av_probe(p->mem, in->made[0].file, &in->fault);
	assert_int_equal(av_encode(p->mem, &work, NULL, 0, true, &low, &in->fault), 1);
	assert_string_equal(low.name, "audio-low");
	assert_int_equal(low.channels, 1);
	assert_in_range(low.peak_rate, 48000, 64000);
	assert_in_range(low.duration_ms, in->made[0].duration_ms - 50, in->made[0].duration_ms + 50);
	assert_int_equal(low.segments, in->made[0].segments);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)
	const struct CMUnitTest tests[] = {
		TEST(high_dynamic_range_is_as_bright_as_the_ordinary_picture),
		TEST(highlights_are_kept_apart_and_do_not_darken_the_rest),
		TEST(fields_become_frames_in_their_order_whatever_the_header_says),
		TEST(whole_frames_that_claim_to_be_fields_are_left_alone),
		TEST(only_upper_sizes_are_doubled_and_none_where_the_setting_says_no),
		TEST(sizes_of_both_rates_come_from_one_decode),
		TEST(upright_films_are_named_by_their_short_side),
		TEST(rates_are_numbers_that_people_know),
		TEST(speech_takes_one_channel_and_no_more_than_64_kbit),
		TEST(sound_for_slow_lines_is_as_long_as_the_other),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
