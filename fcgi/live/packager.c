/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recording and segments.  What a segment holds has just been written to the recording, from which the kernel copies
 * it: no segment is ever in memory.
 */
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/livestream.h"
#include "core/store.h"
#include "fcgi/live/flush.h"
#include "fcgi/live/packager.h"

enum {
	SEGMENT_MS = 1950,	/* frames of 30 a second end at 1.967 or 2.000 s */
	TARGET_MIN = 2,		/* s */
	TARGET_MAX = 11,	/* x264, and so OBS, has a key frame every 250 frames by itself: 10.4 s of 24 each */
	TARGET_SLACK_MS = 400,	/* what rounds to the target is no longer than it */
	ROUNDS_MS = 499,	/* the most that does */
	MISSED_MS = 1000,	/* that pictures are waited for; sound that is ahead of them by more is a leap */
	PART_MS = 500,		/* on a grid that begins with the segment, to the nearest frame */
	ROUGH = 2,		/* segments in a row whose frames last too long for parts; then there are none */
	BATCH = 4,		/* frames of sound in a fragment: each alone would be a third larger */
	TEXTS = 64 << 20,	/* bytes of the playlists of a day */
	HEAD = 1024,
	LATE_MS = 100,	/* by which a rung may begin behind its segment */
	BEHIND = 3,	/* segments that a rung may be, before they are gaps */
	BUSY_MS = 20000,	/* until a machine that was busy is asked again */
	FRAME = CMAF_VIDEO_SCALE / 30, SCALE_MS = CMAF_VIDEO_SCALE / 1000,
};
#define ASKED INT64_MAX

struct track {
	struct setup setup;
	struct live_list list;
	bool on;
	int fd;				/* of the recording, -1: none */
	off_t end, from, part_from;	/* of the recording, of the segment that grows, of its part */
	uint32_t fragments;
	int64_t began, until, part_began;	/* of the segment; units */
	bool alone;			/* the part begins with a key frame */
	bool keyed;			/* the segment begins with a key frame */
	bool rough;			/* the segment has no more parts: a frame has lasted for too long */
	int roughs;			/* segments in a row that were */
	int64_t peak;			/* bit/s of the segment that had the most */
	bool breaks;			/* the next segment does */
	int64_t lasts;			/* of pictures: the last frame; units */
	int64_t number;			/* of a rung: of the segment that grows, 0: none */
	bool lame;			/* and its segment lacks its beginning */
};

struct packager {
	char *play, *kept;
	struct arena *mem;		/* of one playlist at a time */
	int64_t session, changes;
	struct moment zero;
	struct track video, audio;
	const struct conf *conf;	/* NULL: there are no rungs */
	struct track rungs[LADDER_RUNGS];
	struct ladder *ladder;
	int64_t dropped;		/* by those that have ended */
	int64_t ask_at;			/* whether there is one, by clock_ms(); ASKED: no more in this session */
	const char *lack;
	size_t climbed;			/* rungs of the master playlist that is there, as bits */
	char captions[256];		/* what it says of captions; "": there are none */
	int64_t master_peak;		/* that the master playlist was written for; 0: not at all in this session */

	struct cmaf_frame batch[BATCH];
	size_t batch_n, batch_bytes, batch_room;
	int64_t batch_at;
	uint8_t *batched;
};

static void *
sure(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

static int64_t
ms_of(const struct track *t, int64_t units)
{
	return units * 1000 / cmaf_scale(&t->setup);
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* --- files */

static bool
write_whole(int fd, struct iovec *v, int n)
{
	ssize_t done;

	while (n > 0) {
		done = writev(fd, v, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return true;
}

static bool
copy_whole(int to, int from, off_t at, off_t end)
{
	ssize_t done = 1;

	while (at < end && (done > 0 || (done < 0 && errno == EINTR)))
		done = sendfile(to, from, &at, (size_t)(end - at));
	if (at < end && done == 0)
		errno = EIO;
	return at == end;
}

/* A file that players may ask for is there as a whole or not at all: it is made under a name that nobody asks for. */
struct draft { char draft[PATH_MAX], path[PATH_MAX]; int fd; };

static bool
draft_open(const struct packager *p, const char *name, struct draft *d)
{
	snprintf(d->draft, sizeof(d->draft), "%s/.draft", p->play);
	snprintf(d->path, sizeof(d->path), "%s/%s", p->play, name);
	d->fd = open(d->draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return d->fd >= 0;
}

static bool
draft_close(struct draft *d, bool fine)
{
	int saved;

	fine = fine && fchmod(d->fd, 0644) == 0;
	fine = close(d->fd) == 0 && fine;
	fine = fine && rename(d->draft, d->path) == 0;
	saved = errno;
	if (!fine)
		unlink(d->draft);
	errno = saved;
	return fine;
}

static bool
write_file(const struct packager *p, const char *name, const struct buf *b)
{
	struct iovec v = { b->text, b->len };
	struct draft d = { .fd = -1 };

	return draft_open(p, name, &d) && draft_close(&d, write_whole(d.fd, &v, 1));
}

/* --- playlists */

static bool
write_list(struct packager *p, const struct track *t)
{
	struct buf b = BUF(p->mem);
	char name[32];
	bool fine;

	snprintf(name, sizeof(name), "%s.m3u8", t->list.word);
	list_write(&t->list, &b);
	fine = write_file(p, name, &b);
	arena_reset(p->mem);
	return fine;
}

/* Those that can be played, as bits. */
static size_t
climbed(const struct packager *p)
{
	const char *why;
	size_t bits = 0, i;

	for (i = 0; p->ladder != NULL && i < LADDER_RUNGS; i++)
		if (p->rungs[i].peak > 0 && ladder_makes(p->ladder, i, &why))
			bits |= (size_t)1 << i;
	return bits;
}

static const char *
captions_of(const struct packager *p)
{
	return p->captions[0] != '\0' ? ",SUBTITLES=\"captions\"" : "";
}

static void
write_rungs(const struct packager *p, struct buf *b)
{
	const int64_t sound = p->audio.on ? p->audio.peak : 0;
	const struct track *t;
	size_t i;

	for (i = 0; i < LADDER_RUNGS; i++) {
		t = &p->rungs[i];
		if ((p->climbed & (size_t)1 << i) == 0)
			continue;
		buf_printf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%" PRId64 ",RESOLUTION=%ux%u,CODECS=\"%s%s%s\"%s%s\n"
		    "%s.m3u8\n", (t->peak + sound) * 5 / 4, t->setup.width, t->setup.height, t->setup.codecs, p->audio.on ? "," : "",
		    p->audio.on ? p->audio.setup.codecs : "", p->audio.on ? ",AUDIO=\"audio\"" : "", captions_of(p),
		    t->list.word);
	}
}

/* The playlist of all. */
static void
write_all(const struct packager *p, struct buf *b)
{
	const struct setup *v = &p->video.setup, *a = &p->audio.setup;
	const bool both = p->video.on && p->audio.on;

	buf_text(b, "#EXTM3U\n#EXT-X-VERSION:7\n");
	if (both)
		buf_printf(b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"audio\",DEFAULT=YES,AUTOSELECT=YES,"
		    "CHANNELS=\"%u\",URI=\"audio.m3u8\"\n", a->channels);
	if (p->captions[0] != '\0')
		buf_printf(b, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"captions\",%s,DEFAULT=NO,AUTOSELECT=YES,"
		    "FORCED=NO,URI=\"" LIVESTREAM_CAPTIONS_LIST "\"\n", p->captions);
	buf_printf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%" PRId64, p->master_peak);
	if (p->video.on)
		buf_printf(b, ",RESOLUTION=%ux%u", v->width, v->height);
	buf_printf(b, ",CODECS=\"%s%s%s\"%s%s\n%s.m3u8\n", p->video.on ? v->codecs : "", both ? "," : "",
	    p->audio.on ? a->codecs : "", both ? ",AUDIO=\"audio\"" : "", captions_of(p),
	    p->video.on ? "video" : "audio");
	write_rungs(p, b);
}

/* Has somebody begun to make captions since the last time? */
static bool
captions_came(struct packager *p)
{
	char path[PATH_MAX];
	ssize_t n = 0;
	int fd;

	if (p->captions[0] != '\0')
		return false;
	snprintf(path, sizeof(path), "%s/" LIVESTREAM_CAPTIONS_TAG, p->play);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, p->captions, sizeof(p->captions) - 1);
		close(fd);
	}
	p->captions[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* A quarter above the largest segment so far.  Players that have read it once do not ask again. */
static bool
write_master(struct packager *p)
{
	int64_t peak = (p->video.on ? p->video.peak : 0) + (p->audio.on ? p->audio.peak : 0);
	struct buf b = BUF(p->mem);
	bool fine;

	if (!captions_came(p) && p->master_peak >= peak && p->climbed == climbed(p))
		return true;
	if (p->master_peak < peak)
		p->master_peak = peak + peak / 4;
	p->climbed = climbed(p);
	write_all(p, &b);
	fine = write_file(p, LIVESTREAM_PLAYLIST, &b);
	arena_reset(p->mem);
	return fine;
}

/* --- segments */

/* Players may still ask for what has just left the list: what goes is the one some places before it. */
static void
retire(const struct packager *p, const struct track *t, int64_t number)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%" PRId64 ".%s.m4s", p->play, number, t->list.word);
	unlink(path);
}

/* For the first segment: those behind it that last as long are not to be cut before their end. */
static void
aim(struct live_list *l, int64_t ms)
{
	l->target = (ms - TARGET_SLACK_MS + 999) / 1000;
	if (l->target < TARGET_MIN)
		l->target = TARGET_MIN;
	if (l->target > TARGET_MAX)
		l->target = TARGET_MAX;
}

/* A stretch of the recording becomes a file of its own. */
static bool
write_stretch(const struct packager *p, const struct track *t, const char *name, off_t from)
{
	struct draft d = { .fd = -1 };

	return draft_open(p, name, &d) && draft_close(&d, copy_whole(d.fd, t->fd, from, t->end));
}

static void
retire_parts(const struct packager *p, const struct track *t, const struct parts *gone)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < gone->n; i++) {
		snprintf(path, sizeof(path), "%s/%" PRId64 ".%" PRId64 ".%zu.%s.m4s", p->play, gone->number,
		    gone->session, i, t->list.word);
		unlink(path);
	}
}

/* Of a segment whose end the last session could not write. */
static void
forget_parts(const struct packager *p, struct track *t)
{
	struct parts gone;

	if (list_forget_parts(&t->list, &gone))
		retire_parts(p, t, &gone);
}

/* The same since the last part.  Where frames last so long that one alone is too much for a part, the segment has none
 * any more. */
static bool
close_part(struct packager *p, struct track *t)
{
	const struct entry e = { p->session, list_next(&t->list), 0, { p->zero.ms + ms_of(t, t->began) }, t->breaks };
	const struct part part = { ms_of(t, t->until) - ms_of(t, t->part_began), t->alone };
	const size_t place = list_parts(&t->list, e.number);
	struct parts gone;
	char name[80];

	t->rough |= part.ms > LIST_PART_MS || place == LIST_PARTS;
	if (t->end == t->part_from || t->rough || t->list.whole)
		return true;
	snprintf(name, sizeof(name), "%" PRId64 ".%" PRId64 ".%zu.%s.m4s", e.number, e.session, place, t->list.word);
	if (!write_stretch(p, t, name, t->part_from))
		return false;
	if (list_add_part(&t->list, &e, &part, &gone))
		retire_parts(p, t, &gone);
	t->part_from = t->end;
	p->changes++;
	return true;
}

/* The last picture before a gap may stand for longer than the playlist promises: the rest of that is in no segment. */
static int64_t
length(const struct packager *p, const struct track *t)
{
	const int64_t ms = ms_of(t, t->until) - ms_of(t, t->began), most = t->list.target * 1000 + TARGET_SLACK_MS;

	return t != &p->audio && t->list.target > 0 && ms > most ? most : ms;
}

/* What the recording has got since the last one becomes the next segment. */
static bool
close_segment(struct packager *p, struct track *t)
{
	struct entry e = { p->session, list_next(&t->list), length(p, t),
		{ p->zero.ms + ms_of(t, t->began) }, t->breaks }, gone;
	char name[64];
	int64_t bits = (t->end - t->from) * 8;

	if (t->end == t->from)
		return true;
	snprintf(name, sizeof(name), "%" PRId64 ".%s.m4s", e.number, t->list.word);
	if (!close_part(p, t) || !write_stretch(p, t, name, t->from))
		return false;
	/* The first segment of sound that began later than the pictures is shorter than others will be. */
	if (t->list.target == 0) {
		aim(&t->list, e.ms);
		if (t == &p->audio && p->video.on)
			t->list.target = later(t->list.target, p->video.list.target);
	}
	if (e.ms > 200 && bits * 1000 / e.ms > t->peak)
		t->peak = bits * 1000 / e.ms;
	if (list_add(&t->list, &e, &gone))
		retire(p, t, gone.number - 3);
	/* One gap in the pictures is none of its ways. */
	t->roughs = t->rough ? t->roughs + 1 : 0;
	t->list.whole |= t->roughs >= ROUGH;
	t->rough = t->breaks = false;
	t->from = t->part_from = t->end;
	p->changes++;
	flush_later(t->fd);
	return write_list(p, t);
}

static bool
write_fragment(struct track *t, int64_t at, const struct cmaf_frame *f, size_t n, const uint8_t *bytes, size_t size)
{
	char room[HEAD];
	struct buf head = BUF_OVER(room);
	struct iovec v[2];

	cmaf_fragment(&head, ++t->fragments, at, f, n);
	v[0] = (struct iovec){ head.text, head.len };
	v[1] = (struct iovec){ (void *)(uintptr_t)bytes, size };
	if (!write_whole(t->fd, v, 2))
		return false;
	if (t->end == t->from) {
		t->began = at;
		t->keyed = f->key;
	}
	if (t->end == t->part_from) {
		t->part_began = at;
		t->alone = f->key;
	}
	t->end += (off_t)(head.len + size);
	return true;
}

static bool
write_batch(struct packager *p)
{
	bool fine = p->batch_n == 0 ||
	    write_fragment(&p->audio, p->batch_at, p->batch, p->batch_n, p->batched, p->batch_bytes);

	p->batch_n = p->batch_bytes = 0;
	return fine;
}

/* --- smaller pictures */

/* Is the part, before a frame that lasts so long?  None is longer than the playlist promises. */
static bool
is_part_due(const struct track *t, int64_t at, int64_t lasts)
{
	int64_t ms = ms_of(t, at) - ms_of(t, t->began), grid = PART_MS *
	    (int64_t)(list_parts(&t->list, list_next(&t->list)) + 1);

	if (t->end == t->part_from)
		return false;
	return ms + ms_of(t, lasts) / 2 >= grid || ms_of(t, at + lasts) - ms_of(t, t->part_began) > LIST_PART_MS;
}

/* A segment as its rung has it. */
static bool
add_rung(struct packager *p, struct track *t, const struct entry *e)
{
	struct entry gone;

	if (t->list.n == 0)
		t->list.breaks_before = p->video.list.breaks_before;
	t->list.target = p->video.list.target;
	if (list_add(&t->list, e, &gone))
		retire(p, t, gone.number - 3);
	p->changes++;
	return write_list(p, t);
}

/* What is not there of those before that number is a gap. */
static bool
fill(struct packager *p, struct track *t, int64_t number)
{
	const struct live_list *l = &p->video.list;
	struct entry e;
	size_t i;

	if (t->list.n > 0 && l->n > 0 && list_next(&t->list) < l->at[0].number)
		t->list.n = 0;
	for (i = 0; i < l->n; i++) {
		e = l->at[i];
		e.gap = true;
		if (e.number >= number || (t->list.n > 0 && e.number < list_next(&t->list)))
			continue;
		if (!add_rung(p, t, &e))
			return false;
	}
	return true;
}

static const struct entry *
entry_of(const struct live_list *l, int64_t number)
{
	return l->n > 0 && number >= l->at[0].number && number <= l->at[l->n - 1].number ?
	    &l->at[number - l->at[0].number] : NULL;
}

/* Nothing of it is kept: the file begins anew with each segment. */
static bool
empty(struct track *t)
{
	t->end = t->from = t->part_from = 0;
	t->number = 0;
	return ftruncate(t->fd, 0) == 0 && lseek(t->fd, 0, SEEK_SET) == 0;
}

static bool
close_rung(struct packager *p, struct track *t)
{
	const struct entry *like = entry_of(&p->video.list, t->number);
	const int64_t bits = (t->end - t->from) * 8;
	struct entry e;
	char name[64];

	if (t->number == 0)
		return true;
	if (like == NULL || list_next(&t->list) != t->number)
		return empty(t);
	e = *like;
	e.gap = t->lame;
	snprintf(name, sizeof(name), "%" PRId64 ".%s.m4s", e.number, t->list.word);
	if (!e.gap && !(close_part(p, t) && write_stretch(p, t, name, t->from)))
		return false;
	if (!e.gap && e.ms > 200 && bits * 1000 / e.ms > t->peak)
		t->peak = bits * 1000 / e.ms;
	return add_rung(p, t, &e) && empty(t) && write_master(p);
}

/* Which segment of the session a time lies in, as an entry that has its beginning; .number is 0 before all. */
static struct entry
segment_at(const struct packager *p, int64_t at)
{
	const struct live_list *l = &p->video.list;
	struct entry e = { p->session, list_next(l), 0, { p->zero.ms + ms_of(&p->video, p->video.began) },
		p->video.breaks, false };
	const int64_t when = p->zero.ms + at * 1000 / CMAF_VIDEO_SCALE;
	size_t i = l->n;

	if (p->video.end != p->video.from && when >= e.at.ms)
		return e;
	while (i > 0 && l->at[i - 1].session == p->session && l->at[i - 1].at.ms > when)
		i--;
	return i > 0 && l->at[i - 1].session == p->session ? l->at[i - 1] : (struct entry){ 0 };
}

/* The same setup comes from each FFmpeg of a session. */
static bool
begin_rung(struct packager *p, struct track *t, const struct ladder_frame *f)
{
	char name[64], path[PATH_MAX];
	struct buf b = BUF(p->mem);
	bool fine;

	if (t->on || setup_read(&t->setup, FLV_AVC, f->bytes, f->n) != NULL)
		return true;
	snprintf(path, sizeof(path), "%s/.%s", p->play, t->list.word);
	t->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (t->fd < 0)
		return false;
	unlink(path);
	t->on = true;
	forget_parts(p, t);
	t->fragments = 0;
	t->peak = t->number = 0;
	t->lasts = p->video.lasts;
	t->list.ended = false;
	cmaf_init(&b, &t->setup);
	snprintf(name, sizeof(name), "%" PRId64 ".%s.mp4", p->session, t->list.word);
	fine = write_file(p, name, &b) && empty(t);
	arena_reset(p->mem);
	return fine;
}

/* Begins the segment that a frame lies in.  True with t->number 0: it is too late for it. */
static bool
begin_segment(struct packager *p, struct track *t, const struct entry *e, const struct ladder_frame *f)
{
	if (!close_rung(p, t) || !fill(p, t, e->number))
		return false;
	if (t->list.n > 0 && list_next(&t->list) != e->number)
		return true;
	if (t->list.n == 0)
		t->list.first = e->number;
	t->number = e->number;
	t->breaks = e->breaks;
	t->lame = !f->key || f->at * 1000 / CMAF_VIDEO_SCALE - (e->at.ms - p->zero.ms) > LATE_MS;
	t->rough = t->lame;
	t->list.whole = p->video.list.whole;
	return true;
}

static bool
take_rung(struct packager *p, const struct ladder_frame *f)
{
	struct track *t = &p->rungs[f->rung];
	struct cmaf_frame frame = { .shift = f->shift, .size = (uint32_t)f->n, .key = f->key };
	struct entry e;

	if (f->is_setup)
		return begin_rung(p, t, f);
	e = segment_at(p, f->at + (f->key ? LATE_MS : 1) * SCALE_MS);
	if (!t->on || e.number == 0 || f->at < 0)
		return true;
	if (t->number != 0 && f->at > t->until - t->lasts && f->at - (t->until - t->lasts) < FRAME * 8)
		t->lasts = f->at - (t->until - t->lasts);
	if (e.number != t->number && !begin_segment(p, t, &e, f))
		return false;
	if (t->number == 0 || (t->end != t->from && f->at < t->until - t->lasts))
		return true;
	if (is_part_due(t, f->at, t->lasts)) {
		t->until = f->at;
		if (!close_part(p, t))
			return false;
	}
	frame.duration = t->lasts;
	t->until = f->at + t->lasts;
	return write_fragment(t, f->at, &frame, 1, f->bytes, f->n);
}

bool
packager_look(struct packager *p)
{
	struct ladder_frame *f;
	const char *why;
	bool fine = true;
	size_t i;

	while (fine && p->ladder != NULL && (f = ladder_take(p->ladder)) != NULL) {
		fine = take_rung(p, f);
		free(f);
	}
	if (p->ladder != NULL)
		p->lack = NULL;
	for (i = 0; i < LADDER_RUNGS && p->ladder != NULL; i++)
		if (!ladder_makes(p->ladder, i, &why) && strcmp(why, "small") != 0) {
			p->lack = why;
			p->rungs[i].peak = 0;	/* not offered again before there is something of it */
		}
	return fine && (p->ladder == NULL || p->climbed == climbed(p) || write_master(p));
}

/* What has been late for too long is a gap, so that nobody waits for it. */
static bool
pass_by(struct packager *p, int64_t behind)
{
	bool fine = true;
	size_t i;

	for (i = 0; i < LADDER_RUNGS && fine; i++)
		if (p->rungs[i].list.n > 0)
			fine = fill(p, &p->rungs[i], list_next(&p->video.list) - behind);
	return fine;
}

/* When it is known how many bits come.  What keeps a machine busy may end before the livestream does. */
static void
climb(struct packager *p, int64_t bits)
{
	const int64_t now = clock_ms();

	if (p->conf == NULL || now < p->ask_at || !p->video.on || bits == 0)
		return;
	p->lack = ladder_start(p->conf, &p->video.setup, bits, &p->ladder);
	p->ask_at = p->lack != NULL && strcmp(p->lack, "busy") == 0 ? now + BUSY_MS : ASKED;
}

void
packager_climb(struct packager *p, const struct conf *conf)
{
	p->conf = conf;
}

const char *
packager_lack(const struct packager *p)
{
	return p->lack;
}

int64_t
packager_dropped(const struct packager *p)
{
	return p->dropped + (p->ladder != NULL ? ladder_dropped(p->ladder) : 0);
}

/* All tracks end together. */
static bool
close_segments(struct packager *p)
{
	if (store_growing_free() == 0) {
		errno = ENOSPC;
		return false;
	}
	if (!((!p->video.on || close_segment(p, &p->video)) &&
	    (!p->audio.on || (write_batch(p) && close_segment(p, &p->audio))) && write_master(p)))
		return false;
	climb(p, p->video.peak);
	return pass_by(p, BEHIND);
}

/* How long its segments may be, ms. */
static int64_t
promised(const struct track *t)
{
	return (t->list.target > 0 ? t->list.target : TARGET_MAX) * 1000;
}

/* Is it time, before a frame that is decoded then?  A segment that had to begin without a key frame ends at the next
 * one. */
static bool
is_due(const struct track *t, int64_t at, bool key)
{
	int64_t ms = ms_of(t, at) - ms_of(t, t->began);

	if (t->end == t->from)
		return false;
	if (key && (ms >= SEGMENT_MS || !t->keyed))
		return true;
	return ms >= promised(t) + TARGET_SLACK_MS;
}

/* Segments end with those of the pictures, though these may be late: have they stopped, as the sound tells by then? */
static bool
have_stopped(const struct track *t, int64_t ms)
{
	return t->end != t->from && ms - ms_of(t, t->began) >= promised(t) + TARGET_SLACK_MS + MISSED_MS;
}

/* Would sound that goes on until then be longer than its playlist has promised? */
static bool
is_full(const struct track *t, int64_t until)
{
	return t->end != t->from && ms_of(t, until) - ms_of(t, t->began) > promised(t) + ROUNDS_MS;
}

/* Without the pictures of that time, which have not come. */
static bool
close_sound(struct packager *p)
{
	if (store_growing_free() == 0) {
		errno = ENOSPC;
		return false;
	}
	return write_batch(p) && close_segment(p, &p->audio);
}

/* Behind a gap it has ended where it did. */
static void
go_until(struct track *t, int64_t at)
{
	if (at - t->until < CMAF_VIDEO_SCALE)
		t->until = at;
}

bool
packager_video(struct packager *p, int64_t at, const struct cmaf_frame *f, const uint8_t *bytes)
{
	struct track *t = &p->video;

	if (is_due(t, at, f->key)) {
		go_until(t, at);
		if (!close_segments(p))
			return false;
	} else if (is_part_due(t, at, f->duration)) {
		go_until(t, at);
		if (!close_part(p, t))
			return false;
	}
	t->until = at + f->duration;
	t->lasts = f->duration;
	if (!write_fragment(t, at, f, 1, bytes, f->size))
		return false;
	if (p->ladder != NULL)
		ladder_put(p->ladder, at, f, bytes);
	return packager_look(p);
}

static bool
goes_on(const struct packager *p, int64_t at)
{
	return p->batch_n > 0 && p->audio.until == at;
}

bool
packager_audio(struct packager *p, int64_t at, const struct cmaf_frame *f, const uint8_t *bytes)
{
	struct track *t = &p->audio;

	/* Behind a gap the segment that it lies in begins with what waits, and is to end before the gap. */
	if (p->batch_n > 0 && !goes_on(p, at) && !write_batch(p))
		return false;
	if (p->video.on ? have_stopped(&p->video, ms_of(t, at)) : is_due(t, at, true)) {
		if (!close_segments(p))
			return false;
	} else if (p->video.on && is_full(t, at + f->duration) && !close_sound(p)) {
		return false;
	}
	if (is_part_due(t, at, f->duration) && !(write_batch(p) && close_part(p, t)))
		return false;
	if (p->batch_n == BATCH && !write_batch(p))
		return false;
	if (p->batch_n == 0)
		p->batch_at = at;
	if (p->batch_bytes + f->size > p->batch_room) {
		p->batch_room = p->batch_bytes + f->size + 1024;
		p->batched = sure(realloc(p->batched, p->batch_room));
	}
	memcpy(p->batched + p->batch_bytes, bytes, f->size);
	p->batch[p->batch_n++] = *f;
	p->batch_bytes += f->size;
	t->until = at + f->duration;
	return true;
}

/* --- sessions */

static bool
begin_track(struct packager *p, struct track *t, const struct setup *s)
{
	char path[PATH_MAX], name[64];
	struct buf b = BUF(p->mem);
	struct iovec v;
	bool fine;

	t->on = s != NULL;
	if (!t->on)
		return true;
	t->setup = *s;
	forget_parts(p, t);
	t->breaks = t->list.n > 0 || t->list.first > 0;
	t->fragments = 0;
	t->peak = 0;
	cmaf_init(&b, s);
	v = (struct iovec){ b.text, b.len };
	snprintf(name, sizeof(name), "%" PRId64 ".%s.mp4", p->session, t->list.word);
	snprintf(path, sizeof(path), "%s/%s", p->kept, name);
	t->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	t->end = t->from = t->part_from = (off_t)b.len;
	fine = t->fd >= 0 && write_whole(t->fd, &v, 1) && write_file(p, name, &b);
	arena_reset(p->mem);
	return fine;
}

static void
end_track(struct track *t)
{
	if (t->fd >= 0) {
		flush_later(t->fd);
		close(t->fd);
	}
	t->fd = -1;
	t->on = false;
}

/* When what is listed has ended.  What begins anew may have been kept since before that, and clocks go back; those of a
 * playlist do not. */
static int64_t
listed_until(const struct live_list *l)
{
	return l->n > 0 ? l->at[l->n - 1].at.ms + l->at[l->n - 1].ms : 0;
}

bool
packager_begin(struct packager *p, int64_t session, const struct setup *video, const struct setup *audio,
    struct moment then)
{
	const struct setup *before = &p->video.setup;
	const bool same = video != NULL && video->width == before->width && video->height == before->height;
	const int64_t bits = same ? p->video.peak : 0;

	if (!packager_pause(p))
		return false;
	p->session = session;
	p->zero.ms = later(then.ms, later(listed_until(&p->video.list), listed_until(&p->audio.list)));
	p->master_peak = 0;
	p->video.list.ended = p->audio.list.ended = p->video.list.whole = p->audio.list.whole = false;
	p->video.roughs = p->audio.roughs = 0;
	p->video.rough = p->audio.rough = false;
	if (!begin_track(p, &p->video, video) || !begin_track(p, &p->audio, audio))
		return false;
	/* An encoder that comes again sends what it did: no rung is to lack the first segment. */
	climb(p, bits);
	return true;
}

bool
packager_cut(struct packager *p)
{
	return (!p->video.on && !p->audio.on) || close_segments(p);
}

bool
packager_pause(struct packager *p)
{
	bool fine = packager_cut(p);
	int saved = errno;
	size_t i;

	p->dropped = packager_dropped(p);
	ladder_end(p->ladder);
	p->ladder = NULL;
	p->ask_at = 0;
	p->lack = NULL;
	p->climbed = 0;
	fine = pass_by(p, 0) && fine;
	/* What could not be cut is recorded all the same, and is no part of the next session. */
	if (p->audio.on)
		write_batch(p);
	for (i = 0; i < LADDER_RUNGS; i++)
		end_track(&p->rungs[i]);
	end_track(&p->video);
	end_track(&p->audio);
	errno = saved;
	return fine;
}

static bool
end_list(struct packager *p, struct track *t)
{
	bool before = t->list.ended;

	t->list.ended = true;
	p->changes++;
	return before || t->list.n == 0 || write_list(p, t);
}

bool
packager_finish(struct packager *p)
{
	bool fine = packager_pause(p);
	size_t i;

	for (i = 0; i < LADDER_RUNGS; i++)
		fine = end_list(p, &p->rungs[i]) && fine;
	return end_list(p, &p->video) && end_list(p, &p->audio) && fine;
}

int64_t
packager_changes(const struct packager *p)
{
	return p->changes;
}

const struct live_list *
packager_list(const struct packager *p, bool audio)
{
	return audio ? &p->audio.list : &p->video.list;
}

const struct live_list *
packager_list_named(const struct packager *p, const char *word)
{
	size_t i;

	for (i = 0; i < LADDER_RUNGS; i++)
		if (strcmp(word, p->rungs[i].list.word) == 0)
			return &p->rungs[i].list;
	return strcmp(word, "audio") == 0 ? &p->audio.list : strcmp(word, "video") == 0 ? &p->video.list : NULL;
}

static void
read_list(const struct packager *p, struct track *t)
{
	char path[PATH_MAX], *text = NULL;
	FILE *f;
	size_t room = 0;

	snprintf(path, sizeof(path), "%s/%s.m3u8", p->play, t->list.word);
	f = fopen(path, "re");
	if (f != NULL && getdelim(&text, &room, '\0', f) > 0)
		list_read(&t->list, text);
	free(text);
	if (f != NULL)
		fclose(f);
}

struct packager *
packager_open(const char *play, const char *kept, bool keeps_all)
{
	struct packager *p = sure(calloc(1, sizeof(*p)));
	size_t i;

	p->play = sure(strdup(play));
	p->kept = sure(strdup(kept));
	p->mem = arena_new(TEXTS);
	p->video.list = (struct live_list){ .word = "video", .keeps_all = keeps_all };
	p->audio.list = (struct live_list){ .word = "audio", .keeps_all = keeps_all };
	p->video.fd = p->audio.fd = -1;
	read_list(p, &p->video);
	read_list(p, &p->audio);
	for (i = 0; i < LADDER_RUNGS; i++) {
		p->rungs[i].list = (struct live_list){ .word = ladder_word(i), .keeps_all = keeps_all };
		p->rungs[i].fd = -1;
		read_list(p, &p->rungs[i]);
	}
	return p;
}

void
packager_free(struct packager *p)
{
	size_t i;

	if (p == NULL)
		return;
	ladder_end(p->ladder);
	for (i = 0; i < LADDER_RUNGS; i++) {
		end_track(&p->rungs[i]);
		list_free(&p->rungs[i].list);
	}
	end_track(&p->video);
	end_track(&p->audio);
	list_free(&p->video.list);
	list_free(&p->audio.list);
	arena_free(p->mem);
	free(p->batched);
	free(p->play);
	free(p->kept);
	free(p);
}
