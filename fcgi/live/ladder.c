/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread runs one FFmpeg after the other and reads what it writes, a transport stream with a program for each rung;
 * another one writes to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/jail.h"
#include "core/log.h"
#include "core/text.h"
#include "fcgi/live/backlog.h"
#include "fcgi/live/ladder.h"
#include "fcgi/live/rtmp.h"
#include "fcgi/live/ts.h"

enum {
	SMALL = 480, SMALL_BITS = 1500000,	/* lines and bit/s of a source that is small enough by itself */
	WAITS_BYTES = 16 << 20, WAITS_MS = 2000,
	OUT_MAX = 16 << 20,			/* bytes that wait to be taken */
	WINDOW_MS = 30000,			/* over which what was dropped is counted */
	TRIES = 5, PROVEN_MS = 60000,
	AGAIN_MS = 60000, AGAIN_MAX_MS = 30 * 60000,	/* until a rung that was too much is tried again */
	LIFE_S = 20 * 3600,	/* of one FFmpeg; times of a transport stream have room for 26 h */
	STEP_MS = 100,
	SCALE_MS = CMAF_VIDEO_SCALE / 1000,
	ARENA = 32 << 20, TEXT = 600,
};
/* Its test has no time to wait. */
#ifdef KINOTHEK_LADDER_HURRIES
enum { BACK_OFF_MS = 10, IDLE_S = 1 };
#else
enum { BACK_OFF_MS = 1000, IDLE_S = 10 };
#endif
#define MEMORY (INT64_C(2) << 30)
#define FREE_CORES 0.6

static const struct { const char *word; unsigned lines; int kbits; } rungs[LADDER_RUNGS] = {
	{ "720p", 720, 2500 },
	{ "360p", 360, 700 },
};

struct ladder {
	pthread_mutex_t lock;
	int holders;
	struct setup setup;
	size_t least, first;		/* the largest rung that there may be, and that is made */
	int64_t again_at, again_ms;	/* when the one before the first is tried; 0: never */
	bool yields;			/* not while the machine is busy */
	const char *why;		/* those before it are not; NULL: they are no smaller than the source */
	bool ends;

	struct backlog in;
	int64_t dropped;		/* of what came, but for what .in counts */
	bool gathers;			/* an FFmpeg runs that takes what comes, or will when something comes */
	bool starves;			/* the last one has ended since nothing came */
	int64_t put_at;			/* when something came last, by clock_ms() */
	bool delays;			/* .delay is known */
	int32_t delay;			/* units, from decoding to showing, of the first key frame */
	int64_t counted_at, frames;	/* since then */

	struct ladder_frame *out, **last;
	size_t out_bytes;

	/* Of one FFmpeg. */
	unsigned run;
	int64_t zero;			/* units: of its first frame */
	bool over;			/* it is to end, */
	bool changes;			/* so that another one makes more rungs or less */
	int to;				/* what it reads */
	struct ts *ts[LADDER_RUNGS];
	size_t made, of;		/* rungs; whose bytes are read */
};

const char *
ladder_word(size_t rung)
{
	return rungs[rung].word;
}

static unsigned
lines_of(const struct setup *s)
{
	return s->width < s->height ? s->width : s->height;
}

/* Cores that nothing runs on, by what the machine says of the last minute. */
static double
free_cores(void)
{
	double load;

	if (getloadavg(&load, 1) != 1)
		return 0;
	return (double)sysconf(_SC_NPROCESSORS_ONLN) - load;
}

/* --- what comes out */

static void
give(struct ladder *l, struct ladder_frame *f)
{
	bool room;

	pthread_mutex_lock(&l->lock);
	room = !l->ends && !l->over && l->out_bytes + f->n <= OUT_MAX;
	if (room) {
		f->next = NULL;
		*(l->out != NULL ? l->last : &l->out) = f;
		l->last = &f->next;
		l->out_bytes += f->n;
	}
	/* One that nobody takes any more, or that writes more than it was asked for. */
	l->over |= !room;
	pthread_mutex_unlock(&l->lock);
	if (!room)
		free(f);
}

/* Times come with those that a transport stream may have had before: see fcgi/live/ts.c.  They are those of showing; a
 * key frame is decoded when the one that it was made of is. */
static bool
on_tag(void *user, int type, uint32_t ms, const uint8_t *bytes, size_t n)
{
	const int64_t before = (INT64_C(1) << 33) / SCALE_MS;
	struct ladder *l = user;
	struct ladder_frame *f;
	struct flv v;

	if (type != RTMP_VIDEO || !flv_video(bytes, n, &v) || v.kind == FLV_NOTHING)
		return true;
	f = malloc(sizeof(*f) + v.n);
	if (f == NULL)
		abort();
	*f = (struct ladder_frame){ .rung = l->of, .is_setup = v.kind == FLV_SETUP, .key = v.key,
		.at = l->zero - l->delay + (int64_t)(int32_t)(ms - (uint32_t)before) * SCALE_MS, .shift = l->delay,
		.n = v.n };
	memcpy(f->bytes, v.data, v.n);
	give(l, f);
	return true;
}

static bool
on_out(void *user, const char *bytes, size_t n)
{
	struct ladder *l = user;
	bool fine = true;
	size_t i;

	for (i = 0; i < l->made && fine; i++) {
		l->of = LADDER_RUNGS - l->made + i;
		fine = ts_take(l->ts[i], (const uint8_t *)bytes, n) == NULL;
	}
	pthread_mutex_lock(&l->lock);
	fine = fine && !l->over && !l->ends;
	pthread_mutex_unlock(&l->lock);
	return fine;
}

struct ladder_frame *
ladder_take(struct ladder *l)
{
	struct ladder_frame *f;

	pthread_mutex_lock(&l->lock);
	f = l->out;
	if (f != NULL) {
		l->out = f->next;
		l->out_bytes -= f->n;
	}
	pthread_mutex_unlock(&l->lock);
	return f;
}

/* --- what goes in */

/* In the place of those of a message of RTMP. */
struct head { int64_t at; struct cmaf_frame frame; };

/* What was too much for the machine may not be so any more: one rung more, from a new FFmpeg. */
static void
try_again(struct ladder *l, int64_t now)
{
	if (l->first == l->least || l->again_at == 0 || now < l->again_at)
		return;
	l->again_at = now + AGAIN_MS;
	if (l->yields && free_cores() < FREE_CORES)
		return;
	l->first--;
	if (l->first == l->least)
		l->why = NULL;
	l->again_ms = 2 * l->again_ms < AGAIN_MAX_MS ? 2 * l->again_ms : AGAIN_MAX_MS;
	l->again_at = now + l->again_ms;
	l->over = l->changes = true;
}

static void
count_anew(struct ladder *l, int64_t now)
{
	l->dropped += l->in.dropped;
	l->counted_at = now;
	l->frames = l->in.dropped = 0;
}

/* Too much was dropped: one rung less, from a new FFmpeg. */
static void
judge(struct ladder *l, int64_t now)
{
	if (now - l->counted_at < WINDOW_MS)
		return;
	if (l->in.dropped * 10 > l->frames && l->first < LADDER_RUNGS) {
		l->first++;
		l->why = "overloaded";
		l->over = l->changes = true;
		l->again_at = now + l->again_ms;
	}
	count_anew(l, now);
}

void
ladder_put(struct ladder *l, int64_t decode_time, const struct cmaf_frame *frame, const uint8_t *bytes)
{
	const struct head head = { decode_time, *frame };
	uint8_t *whole = malloc(sizeof(head) + frame->size);
	struct frame *f;

	if (whole == NULL)
		abort();
	memcpy(whole, &head, sizeof(head));
	memcpy(whole + sizeof(head), bytes, frame->size);
	f = frame_new(RTMP_VIDEO, frame->key ? FRAME_KEY : FRAME_OTHER, decode_time / SCALE_MS, whole,
	    sizeof(head) + frame->size);
	free(whole);
	pthread_mutex_lock(&l->lock);
	l->put_at = clock_ms();
	if (!l->delays && frame->key) {
		l->delays = true;
		l->delay = frame->shift;
	}
	if (l->gathers) {
		l->frames++;
		backlog_put(&l->in, f);
		judge(l, clock_ms());
	}
	try_again(l, clock_ms());
	pthread_mutex_unlock(&l->lock);
	frame_drop(f);
}

/* The next frame, when it comes.  NULL: that FFmpeg ends. */
static struct frame *
wait_for_frame(struct ladder *l)
{
	struct frame *f = NULL;
	bool ends;

	for (;;) {
		pthread_mutex_lock(&l->lock);
		ends = l->ends || l->over;
		if (!ends)
			f = backlog_take(&l->in);
		pthread_mutex_unlock(&l->lock);
		if (f != NULL || ends)
			return f;
		poll(NULL, 0, 10);
	}
}

static bool
is_over(struct ladder *l)
{
	bool over;

	pthread_mutex_lock(&l->lock);
	over = l->ends || l->over;
	pthread_mutex_unlock(&l->lock);
	return over;
}

/* Waits for who reads no longer than that one is to run. */
static bool
write_all(struct ladder *l, const void *bytes, size_t n)
{
	struct pollfd p = { l->to, POLLOUT, 0 };
	const char *at = bytes;
	ssize_t done;

	while (n > 0) {
		if (is_over(l))
			return false;
		if (poll(&p, 1, STEP_MS) <= 0)
			continue;
		done = write(l->to, at, n);
		if (done < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		at += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static bool
write_frame(struct ladder *l, const struct frame *f, uint32_t number)
{
	struct head head;
	char room[TEXT];
	struct buf b = BUF_OVER(room);

	memcpy(&head, f->bytes, sizeof(head));
	if (number == 1)
		l->zero = head.at;
	cmaf_fragment(&b, number, head.at - l->zero, &head.frame, 1);
	return write_all(l, b.text, b.len) && write_all(l, f->bytes + sizeof(head), f->n - sizeof(head));
}

static void *
feed(void *user)
{
	struct ladder *l = user;
	struct arena *mem = arena_new(ARENA);
	struct buf init = BUF(mem);
	uint32_t number = 0;
	bool fine;
	struct frame *f;

	cmaf_init(&init, &l->setup);
	fine = write_all(l, init.text, init.len);
	while (fine && (f = wait_for_frame(l)) != NULL) {
		fine = write_frame(l, f, ++number);
		frame_drop(f);
	}
	close(l->to);
	arena_free(mem);
	return NULL;
}

/* --- FFmpeg */

static void
sizes(const struct setup *s, unsigned lines, unsigned *w, unsigned *h)
{
	const unsigned shorter = lines_of(s);

	*w = (s->width * lines / shorter + 1) & ~1u;
	*h = (s->height * lines / shorter + 1) & ~1u;
}

/* Of two half-pictures one whole, and no more than 60 of them a second (times are of whole ms); none that segments
 * begin with is left out. */
#define WHOLE "bwdif=mode=send_frame:deint=interlaced,"
#define CALM "select='isnan(prev_selected_t)+key+gte(t-prev_selected_t,0.0155)',"

/* What is smallest is scaled from what is larger, which costs less. */
static const char *
filters(struct arena *mem, const struct ladder *l)
{
	struct buf b = BUF(mem);
	unsigned w, h;
	size_t i;

	buf_printf(&b, "[0:v]%s%s", CALM, l->setup.interlaced ? WHOLE : "");
	for (i = LADDER_RUNGS - l->made; i < LADDER_RUNGS; i++) {
		sizes(&l->setup, rungs[i].lines, &w, &h);
		buf_printf(&b, "scale=%u:%u:flags=bilinear,format=yuv420p", w, h);
		if (i + 1 < LADDER_RUNGS)
			buf_printf(&b, ",split=2[r%zu][s];[s]", i);
		else
			buf_printf(&b, "[r%zu]", i);
	}
	return buf_string(&b);
}

/* Each key frame of the source is one here, so that segments begin together.  Without frames that refer to later ones
 * none is decoded before its time. */
static const char *const *
arguments(struct arena *mem, const struct ladder *l)
{
	static const char *const before[] = { "ffmpeg", "-v", "error", "-nostdin", "-copyts", "-probesize", "500000",
		"-analyzeduration", "500000", "-threads", "2", "-f", "mov", "-i", "pipe:0", "-filter_complex" };
	static const char *const behind[] = { "-c:v", "libx264", "-preset", "superfast", "-bf", "0", "-g", "600",
		"-sc_threshold", "0", "-force_key_frames", "source", "-forced-idr", "1", "-threads", "2", "-fps_mode",
		"passthrough", "-enc_time_base", "1:90000", "-f", "mpegts", "-muxdelay", "0", "-muxpreload", "0",
		"-mpegts_copyts", "1", "-flush_packets", "1" };
	const size_t n = sizeof(before) / sizeof(*before), m = sizeof(behind) / sizeof(*behind);
	const char **argv = arena_array(mem, n + m + 4 + 10 * LADDER_RUNGS, sizeof(*argv));
	size_t at = n, i, k;

	memcpy(argv, before, sizeof(before));
	argv[at++] = filters(mem, l);
	for (i = LADDER_RUNGS - l->made; i < LADDER_RUNGS; i++) {
		argv[at++] = "-map";
		argv[at++] = arena_printf(mem, "[r%zu]", i);
	}
	memcpy(argv + at, behind, sizeof(behind));
	at += m;
	for (k = 0; k < l->made; k++) {
		i = LADDER_RUNGS - l->made + k;
		argv[at++] = arena_printf(mem, "-b:v:%zu", k);
		argv[at++] = arena_printf(mem, "%dk", rungs[i].kbits);
		argv[at++] = arena_printf(mem, "-maxrate:v:%zu", k);
		argv[at++] = arena_printf(mem, "%dk", rungs[i].kbits * 11 / 10);
		argv[at++] = arena_printf(mem, "-bufsize:v:%zu", k);
		argv[at++] = arena_printf(mem, "%dk", rungs[i].kbits);
		argv[at++] = "-program";
		argv[at++] = arena_printf(mem, "program_num=%zu:st=%zu", k + 1, k);
	}
	argv[at++] = "pipe:1";
	argv[at] = NULL;
	return argv;
}

static void
prepare(struct ladder *l)
{
	size_t i;

	for (i = 0; i < l->made; i++) {
		l->ts[i] = ts_new(on_tag, l);
		ts_choose(l->ts[i], i);
	}
	pthread_mutex_lock(&l->lock);
	count_anew(l, clock_ms());
	/* Its number of rungs may have changed since it was asked for. */
	l->over = l->changes = l->made != LADDER_RUNGS - l->first;
	l->gathers = true;
	l->starves = false;
	pthread_mutex_unlock(&l->lock);
}

static void
clean(struct ladder *l)
{
	size_t i;

	for (i = 0; i < l->made; i++)
		ts_free(l->ts[i]);
	pthread_mutex_lock(&l->lock);
	l->gathers = l->starves;
	backlog_clear(&l->in);
	pthread_mutex_unlock(&l->lock);
}

/* One FFmpeg from its beginning to its end.  True: that was meant. */
static bool
run_one(struct ladder *l, struct arena *mem)
{
	struct jail jail = { .argv = arguments(mem, l), .memory = MEMORY, .cpu_seconds = 2 * LIFE_S,
		.wall_seconds = LIFE_S, .idle_seconds = IDLE_S, .on_out = on_out, .user = l, .threads_only = true };
	struct jail_result r;
	pthread_t feeder;
	bool meant, strange;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	l->to = ends[1];
	fcntl(l->to, F_SETFL, O_NONBLOCK);
	jail.in = ends[0];
	prepare(l);
	if (pthread_create(&feeder, NULL, feed, l) != 0) {
		/* No room for one more thread now. */
		close(ends[0]);
		close(ends[1]);
		clean(l);
		return false;
	}
	jail_run(mem, &jail, &r);
	pthread_mutex_lock(&l->lock);
	/* Encoders go on with sound alone, for as long as they like. */
	l->starves = r.end == JAIL_IDLE && clock_ms() - l->put_at > IDLE_S * 1000 / 2;
	meant = l->changes || l->starves;
	strange = !meant && !l->over && !l->ends;
	l->over = true;
	pthread_mutex_unlock(&l->lock);
	if (strange)
		log_line(LOG_LEVEL_WARN, "live", LOG_TEXT("text", "the ladder's FFmpeg has ended"),
		    LOG_TEXT("error", r.err));
	close(ends[0]);
	pthread_join(feeder, NULL);
	clean(l);
	return meant;
}

static void
let_go(struct ladder *l)
{
	struct ladder_frame *f;
	bool last;

	pthread_mutex_lock(&l->lock);
	last = --l->holders == 0;
	pthread_mutex_unlock(&l->lock);
	if (!last)
		return;
	while ((f = ladder_take(l)) != NULL)
		free(f);
	backlog_free(&l->in);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* How many rungs the next FFmpeg makes: when there is one, since all may have been too much, and something to make it
 * of.  0: there is none any more. */
static size_t
wanted(struct ladder *l)
{
	size_t n;
	bool ends;

	for (;;) {
		pthread_mutex_lock(&l->lock);
		ends = l->ends;
		n = ends || (l->starves && l->in.n == 0) ? 0 : LADDER_RUNGS - l->first;
		pthread_mutex_unlock(&l->lock);
		if (n > 0 || ends)
			return n;
		poll(NULL, 0, STEP_MS);
	}
}

static bool
has_ended(struct ladder *l)
{
	bool ends;

	pthread_mutex_lock(&l->lock);
	ends = l->ends;
	pthread_mutex_unlock(&l->lock);
	return ends;
}

static void *
run(void *user)
{
	struct ladder *l = user;
	struct arena *mem = arena_new(ARENA);
	int64_t began;
	int tries = 0, ms;
	bool meant;

	while ((l->made = wanted(l)) > 0 && tries < TRIES) {
		began = clock_ms();
		meant = run_one(l, mem);
		arena_reset(mem);
		tries = clock_ms() - began > PROVEN_MS ? 0 : tries + !meant;
		for (ms = BACK_OFF_MS << tries; ms > 0 && !has_ended(l); ms -= STEP_MS)
			poll(NULL, 0, STEP_MS);
	}
	pthread_mutex_lock(&l->lock);
	if (l->first < LADDER_RUNGS)
		l->why = "failed";
	l->first = LADDER_RUNGS;
	l->again_at = 0;
	pthread_mutex_unlock(&l->lock);
	arena_free(mem);
	let_go(l);
	return NULL;
}

/* --- from outside */

/* NULL: there is no room for one more thread now. */
static struct ladder *
make(const struct setup *s, size_t first, bool yields)
{
	struct ladder *l = calloc(1, sizeof(*l));
	sigset_t all, before;
	pthread_t thread;
	bool fine;

	if (l == NULL)
		abort();
	pthread_mutex_init(&l->lock, NULL);
	l->holders = 2;
	l->setup = *s;
	l->least = l->first = first;
	l->again_ms = AGAIN_MS;
	l->yields = yields;
	l->in.bytes_max = WAITS_BYTES;
	l->in.ms_max = WAITS_MS;
	l->gathers = true;
	/* Signals are for the thread that receives. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	fine = pthread_create(&thread, NULL, run, l) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (fine) {
		pthread_detach(thread);
		return l;
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

const char *
ladder_start(const struct conf *conf, const struct setup *s, int64_t bits, struct ladder **out)
{
	const bool is_auto = strcmp(conf->live_ladder, "auto") == 0;
	/* Of what not every browser plays, or shows as it is, there is H.264, however small it is and whatever else
	 * runs. */
	const bool plays = s->codec == FLV_AVC && !s->interlaced;
	size_t first = 0;

	*out = NULL;
	if (strcmp(conf->live_ladder, "no") == 0)
		return "off";
	while (first < LADDER_RUNGS && lines_of(s) < rungs[first].lines + plays)
		first++;
	if (first == LADDER_RUNGS || (is_auto && plays && (lines_of(s) <= SMALL || bits <= SMALL_BITS)))
		return "small";
	if (is_auto && plays && free_cores() < FREE_CORES)
		return "busy";
	*out = make(s, first, is_auto && plays);
	return *out != NULL ? NULL : "busy";
}

void
ladder_end(struct ladder *l)
{
	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	l->ends = true;
	pthread_mutex_unlock(&l->lock);
	let_go(l);
}

int64_t
ladder_dropped(struct ladder *l)
{
	int64_t n;

	pthread_mutex_lock(&l->lock);
	n = l->dropped + l->in.dropped;
	pthread_mutex_unlock(&l->lock);
	return n;
}

size_t
ladder_waits(struct ladder *l)
{
	size_t n;

	pthread_mutex_lock(&l->lock);
	n = l->in.n;
	pthread_mutex_unlock(&l->lock);
	return n;
}

bool
ladder_makes(struct ladder *l, size_t rung, const char **why)
{
	bool makes;

	pthread_mutex_lock(&l->lock);
	makes = rung >= l->first;
	*why = makes ? NULL : l->why != NULL ? l->why : "small";
	pthread_mutex_unlock(&l->lock);
	return makes;
}
