/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Damaged files of all containers: what can be read is made, and what is missing is told, by the same rule. */
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

#include "media/av.h"
#include "media/mend.h"
#include "core/jail.h"

struct place { struct arena *mem; char dir[64]; };

/* Sources of 20 s, and the ways to damage them: cut them to a share, empty a share, take a tenth out. */
static const char sources[] =
    "FF='timeout 600 ffmpeg -v error -nostdin -y'\n"
    "$FF -f lavfi -i testsrc2=s=160x120:r=25:d=20 -f lavfi -i sine=440:d=20:r=48000 -c:v libx264 -preset ultrafast -g 50 "
    "-pix_fmt yuv420p -c:a aac a.mkv &&\n"
    "$FF -i a.mkv -c copy -movflags +faststart a.mp4 && $FF -i a.mkv -c copy -f mpegts a.ts && $FF -i a.mkv -c copy a.flv &&\n"
    "$FF -i a.mkv -c copy -movflags frag_keyframe+empty_moov+default_base_moof f.mp4 &&\n"
    "$FF -i a.mkv -c:v mpeg4 -g 25 -c:a libmp3lame a.avi && $FF -i a.mkv -vn -c:a libmp3lame a.mp3 && $FF -i a.mkv -vn a.wav\n"
    "$FF -i a.mkv -f lavfi -i sine=440:d=26:r=48000 -map 0:v -map 1 -c:v copy -c:a aac l.mkv\n"
    "$FF -f lavfi -i testsrc2=s=160x120:r=25:d=20 -vf \"select='lt(t,1)+gte(t,9)'\" -fps_mode vfr -c:v libx264 -preset ultrafast slow.mkv\n";
static const char ways[] =
    "size() { stat -c %s \"$1\"; }\n"
    "cut() { head -c $(($(size $1) * $2 / 100)) $1 >$O; }\n"
    "hole() { cp $1 $O; dd if=/dev/zero of=$O bs=1 seek=$(($(size $1) * $2 / 100)) count=$(($(size $1) * $3 / 100)) conv=notrunc status=none; }\n"
    "gone() { head -c $(($(size $1) * $2 / 100)) $1 >$O; tail -c +$(($(size $1) * ($2 + 10) / 100)) $1 >>$O; }\n";

static void
shell(struct place *p, const char *command)
{
	const char *script = arena_printf(p->mem, "%s/script", p->dir);
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	fprintf(f, "cd %s\n%s%s\n", p->dir, ways, command);
	assert_int_equal(fclose(f), 0);
	if (system(arena_printf(p->mem, "sh %s", script)) != 0)
		fail_msg("%s", command);
}

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	p->mem = arena_new(1 << 30);
	strcpy(p->dir, "/tmp/damage-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	shell(p, sources);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;

	assert_int_equal(system(arena_printf(p->mem, "rm -rf '%s'", p->dir)), 0);
	arena_free(p->mem);
	free(p);
	return 0;
}

struct ingest { const struct av_file *file; struct av_rendition made[2]; size_t n; struct av_damage damage;
    struct fault fault; };

static struct ingest *
ingest(struct place *p, const char *how, const char *name)
{
	struct ingest *in = NEW(p->mem, struct ingest);
	struct av_work work = { .dir = p->dir, .preset = "ultrafast", .damage = &in->damage };
	struct av_rung rungs[AV_RUNGS];
	const char *path = arena_printf(p->mem, "%s/%s", p->dir, name), *copy = arena_printf(p->mem, "%s/copy", p->dir);
	bool mended;
	size_t n = 0;

	shell(p, arena_printf(p->mem, "O=%s; %s", name, how));
	assert_true(mend_fragments(p->mem, path, copy, &mended));
	in->file = work.file = av_probe(p->mem, mended ? copy : path, &in->fault);
	if (in->file == NULL)
		return in;
	if (in->file->video != NULL)
		n = av_rungs(p->mem, in->file->video, "120", false, rungs);
	in->n = av_encode(p->mem, &work, rungs, n, true, in->made, &in->fault);
	return in;
}

struct damaged { const char *how, *name; enum reason reason; int64_t ms; size_t n_gaps; int64_t from, to; };

/* ms: what plays; -1 for any.  to -1: nobody knows, -2: any. */
static const struct damaged cases[] = {
	{ "cut a.mkv 50", "cut.mkv", 0, 10000, 1, 10000, 20000 },
	{ "cut l.mkv 50", "cut-longer-sound.mkv", 0, 10700, 1, 10700, 26000 },
	{ "cp l.mkv $O", "longer-sound.mkv", 0, 26000, 0, 0, 0 },
	{ "cut a.mp4 50", "cut.mp4", 0, 10000, 1, 10000, 20000 },
	{ "cut f.mp4 50", "cut-fragmented.mp4", 0, 10000, 1, 10000, -2 },
	{ "cut a.flv 50", "cut.flv", 0, 10000, 1, 10000, 20000 },
	{ "cut a.avi 50", "cut.avi", 0, -1, 1, 9400, 10000 },
	{ "cut a.ts 50", "cut.ts", 0, 10000, 0, 0, 0 },
	{ "cut a.mp3 50", "cut.mp3", 0, 10000, 0, 0, 0 },
	{ "hole a.mkv 40 10", "hole.mkv", 0, 20000, 1, 8000, 12000 },
	{ "hole a.mp4 40 10", "hole.mp4", 0, 20000, 1, 8000, 10000 },
	{ "hole f.mp4 42 10", "hole-fragmented.mp4", 0, 20000, 1, 8000, -2 },
	{ "hole a.ts 40 10", "hole.ts", 0, 20000, 1, 8000, 10000 },
	{ "hole a.flv 40 10", "hole.flv", 0, 20000, 1, 8000, 10000 },
	{ "hole a.avi 40 10", "hole.avi", 0, -1, 1, 17900, 20000 },
	{ "gone a.mkv 40", "gone.mkv", 0, 20000, 1, 8000, 12000 },
	{ "gone a.ts 40", "gone.ts", 0, 20000, 1, 8000, 10000 },
	{ "hole a.mkv 30 50", "half.mkv", 0, 20000, 1, 6000, 18000 },
	{ "hole a.mp4 30 50", "half.mp4", 0, 20000, 1, 6000, 16600 },
	{ "hole a.ts 30 50", "half.ts", 0, 20000, 1, 6000, 16000 },
	{ "hole f.mp4 30 50", "half-fragmented.mp4", 0, 20000, 1, 6000, -2 },
	{ "cut a.mkv 3", "start.mkv", REASON_TRUNCATED, 0, 0, 0, 0 },
	{ "cut a.mp4 3", "start.mp4", REASON_TRUNCATED, 0, 0, 0, 0 },
	{ "ffmpeg -v error -nostdin -y -i a.mkv -c copy w.mp4; cut w.mp4 60", "no-index.mp4",
	    REASON_TRUNCATED, 0, 0, 0, 0 },
	{ "cp a.mkv $O", "whole.mkv", 0, 20000, 0, 0, 0 },
	{ "cp a.mp4 $O", "whole.mp4", 0, 20000, 0, 0, 0 },
	{ "cp f.mp4 $O", "whole-fragmented.mp4", 0, 20000, 0, 0, 0 },
	{ "cp a.ts $O", "whole.ts", 0, 20000, 0, 0, 0 },
	{ "cp a.avi $O", "whole.avi", 0, 20000, 0, 0, 0 },
	{ "cp slow.mkv $O", "pictures-far-apart.mkv", 0, 20000, 0, 0, 0 },
};

static const char *
wrong(struct place *p, const struct damaged *c, const struct ingest *in)
{
	const struct av_gap *g = &in->damage.gaps[0];

	if (c->reason != REASON_NONE && in->n == 0 && in->fault.reason == c->reason)
		return NULL;
	if (in->n == 0)
		return arena_printf(p->mem, "%s: %s", reason_info(in->fault.reason)->code, in->fault.detail);
	if (c->reason != REASON_NONE)
		return "it plays";
	for (size_t i = 0; i < in->n; i++)
		if (c->ms >= 0 && llabs(in->made[i].duration_ms - c->ms) > 600)
			return arena_printf(p->mem, "%s plays %lld ms", in->made[i].name,
			    (long long)in->made[i].duration_ms);
	if (in->damage.n != c->n_gaps)
		return arena_printf(p->mem, "%zu gaps: %lld to %lld", in->damage.n, (long long)g->from_ms,
		    (long long)g->to_ms);
	if (c->n_gaps > 0 && (llabs(g->from_ms - c->from) > 600 || (c->to != -2 && llabs(g->to_ms - c->to) > 600)))
		return arena_printf(p->mem, "%lld to %lld", (long long)g->from_ms, (long long)g->to_ms);
	return NULL;
}

static void
what_can_be_read_plays_and_what_is_missing_is_told(void **state)
{
	struct place *p = *state;
	int faults = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *fault = wrong(p, &cases[i], ingest(p, cases[i].how, cases[i].name));

		if (fault != NULL) {
			print_error("%s: %s\n", cases[i].name, fault);
			faults++;
		}
	}
	assert_int_equal(faults, 0);
}

static void
be_slow(void *user)
{
	(void)user;
	usleep(700000);
}

/* The log and the moments of what is decoded are held against each other, however late somebody comes to read both. */
static void
a_gap_is_found_on_a_busy_machine_too(void **state)
{
	static const struct damaged gone = { "gone a.mkv 40", "gone.mkv", 0, 20000, 1, 8000, 12000 };
	struct place *p = *state;
	const char *fault;

	av_on_life(be_slow, NULL);
	fault = wrong(p, &gone, ingest(p, gone.how, gone.name));
	av_on_life(NULL, NULL);
	if (fault != NULL)
		fail_msg("%s", fault);
}

/* Many small holes are told as few: of 30 no client could make anything. */
static void
many_gaps_are_told_as_few(void **state)
{
	struct place *p = *state;
	const struct ingest *in = ingest(p, "cp a.ts $O; for i in $(seq 4 4 96); do dd if=/dev/zero of=$O bs=1 "
	    "seek=$(($(size a.ts) * i / 100)) count=$(($(size a.ts) * 2 / 100)) conv=notrunc status=none; done",
	    "holes.ts");

	assert_true(in->n > 0);
	assert_in_range(in->damage.n, 1, AV_GAPS);
	for (size_t i = 1; i < in->damage.n; i++)
		assert_true(in->damage.gaps[i].from_ms > in->damage.gaps[i - 1].to_ms);
}

static void
a_gap_is_told_in_words(void **state)
{
	struct place *p = *state;
	const struct av_gap picture = { 61000, 70400, true, false }, sound = { 3600000, 3661000, false, true },
	    both = { 0, 1000, true, true }, end = { 5000, -1, true, true };

	assert_string_equal(av_gap_text(p->mem, &picture), "The picture is damaged or missing from 1:01 to 1:10.");
	assert_string_equal(av_gap_text(p->mem, &sound), "The sound is damaged or missing from 1:00:00 to 1:01:01.");
	assert_string_equal(av_gap_text(p->mem, &both), "Picture and sound are damaged or missing from 0:00 to 0:01.");
	assert_string_equal(av_gap_text(p->mem, &end), "The file is cut off: it ends at 0:05.");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_read_plays_and_what_is_missing_is_told),
		cmocka_unit_test(a_gap_is_found_on_a_busy_machine_too),
		cmocka_unit_test(many_gaps_are_told_as_few),
		cmocka_unit_test(a_gap_is_told_in_words),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
