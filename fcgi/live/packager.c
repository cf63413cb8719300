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
	TARGET_MIN = 2, TARGET_MAX = 6,	/* s */
	TARGET_SLACK_MS = 400,	/* what rounds to the target is no longer than it */
	PART_MS = 500,		/* on a grid that begins with the segment, to the nearest frame */
	ROUGH = 2,		/* segments in a row whose frames last too long for parts; then there are none */
	BATCH = 4,		/* frames of sound in a fragment: each alone would be a third larger */
	TEXTS = 64 << 20,	/* bytes of the playlists of a day */
	HEAD = 1024,
};

struct track {
	struct setup setup;
	struct live_list list;
	bool on;
	int fd;				/* of the recording, -1: none */
	off_t end, from, part_from;	/* of the recording, of the segment that grows, of its part */
	uint32_t fragments;
	int64_t began, until, part_began;	/* of the segment; units */
	bool alone;			/* the part begins with a key frame */
	bool rough;			/* the segment has no more parts: a frame has lasted for too long */
	int roughs;			/* segments in a row that were */
	int64_t peak;			/* bit/s of the segment that had the most */
	bool breaks;			/* the next segment does */
};

struct packager {
	char *play, *kept;
	struct arena *mem;		/* of one playlist at a time */
	int64_t session, changes;
	struct moment zero;
	struct track video, audio;
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
	buf_printf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%" PRId64, p->master_peak);
	if (p->video.on)
		buf_printf(b, ",RESOLUTION=%ux%u", v->width, v->height);
	buf_printf(b, ",CODECS=\"%s%s%s\"%s\n%s.m3u8\n", p->video.on ? v->codecs : "", both ? "," : "",
	    p->audio.on ? a->codecs : "", both ? ",AUDIO=\"audio\"" : "", p->video.on ? "video" : "audio");
}

/* A quarter above the largest segment so far.  Players that have read it once do not ask again. */
static bool
write_master(struct packager *p)
{
	int64_t peak = (p->video.on ? p->video.peak : 0) + (p->audio.on ? p->audio.peak : 0);
	struct buf b = BUF(p->mem);
	bool fine;

	if (p->master_peak >= peak)
		return true;
	p->master_peak = peak + peak / 4;
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

static void
aim(struct live_list *l, int64_t ms)
{
	l->target = (ms + 500) / 1000;
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

/* What the recording has got since the last one becomes the next segment. */
static bool
close_segment(struct packager *p, struct track *t)
{
	struct entry e = { p->session, list_next(&t->list), ms_of(t, t->until) - ms_of(t, t->began),
		{ p->zero.ms + ms_of(t, t->began) }, t->breaks }, gone;
	char name[64];
	int64_t bits = (t->end - t->from) * 8;

	if (t->end == t->from)
		return true;
	snprintf(name, sizeof(name), "%" PRId64 ".%s.m4s", e.number, t->list.word);
	if (!close_part(p, t) || !write_stretch(p, t, name, t->from))
		return false;
	if (t->list.target == 0)
		aim(&t->list, e.ms);
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
	if (t->end == t->from)
		t->began = at;
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

/* All tracks end together. */
static bool
close_segments(struct packager *p)
{
	if (store_incoming_free() == 0) {
		errno = ENOSPC;
		return false;
	}
	return (!p->video.on || close_segment(p, &p->video)) &&
	    (!p->audio.on || (write_batch(p) && close_segment(p, &p->audio))) && write_master(p);
}

/* Is it time, before a frame that is decoded then? */
static bool
is_due(const struct track *t, int64_t at, bool key)
{
	int64_t ms = ms_of(t, at) - ms_of(t, t->began);

	if (t->end == t->from)
		return false;
	if (key && ms >= SEGMENT_MS)
		return true;
	return ms >= (t->list.target > 0 ? t->list.target : TARGET_MAX) * 1000 + TARGET_SLACK_MS;
}

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
	return write_fragment(t, at, f, 1, bytes, f->size);
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

	/* Pictures that have stopped are waited for a second longer than a segment may last. */
	if (is_due(t, p->video.on ? at - t->setup.rate : at, !p->video.on) && !close_segments(p))
		return false;
	if (is_part_due(t, at, f->duration) && !(write_batch(p) && close_part(p, t)))
		return false;
	if ((p->batch_n == BATCH || !goes_on(p, at)) && !write_batch(p))
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

bool
packager_begin(struct packager *p, int64_t session, const struct setup *video, const struct setup *audio,
    struct moment now)
{
	if (!packager_pause(p))
		return false;
	p->session = session;
	p->zero = now;
	p->master_peak = 0;
	p->video.list.ended = p->audio.list.ended = p->video.list.whole = p->audio.list.whole = false;
	p->video.roughs = p->audio.roughs = 0;
	p->video.rough = p->audio.rough = false;
	return begin_track(p, &p->video, video) && begin_track(p, &p->audio, audio);
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

	p->play = sure(strdup(play));
	p->kept = sure(strdup(kept));
	p->mem = arena_new(TEXTS);
	p->video.list = (struct live_list){ .word = "video", .keeps_all = keeps_all };
	p->audio.list = (struct live_list){ .word = "audio", .keeps_all = keeps_all };
	p->video.fd = p->audio.fd = -1;
	read_list(p, &p->video);
	read_list(p, &p->audio);
	return p;
}

void
packager_free(struct packager *p)
{
	if (p == NULL)
		return;
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
