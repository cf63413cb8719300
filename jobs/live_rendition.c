/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows the list of pictures, or of sound where that is all there is. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/livestream.h"
#include "jobs/live_rendition.h"
#include "jobs/live_sound.h"

enum {
	MEMORY = 64 << 20, TEXT_MAX = 16 << 20,
	KEPT = 3,			/* files behind those that are listed, as of pictures */
	READ_MIN = 2500, READ_MAX = 7000, PER_BYTE = 60,	/* ms that a reader wants from when it comes */
	CLOCK = 90,			/* of MPEG-TS, per ms; a time has 33 bits */
};

void
live_rendition_begin(struct live_rendition *r, const char *dir, const char *tag, bool keeps_all)
{
	*r = (struct live_rendition){ .dir = dir, .tag = tag, .keeps_all = keeps_all, .mem = arena_new(MEMORY) };
}

static void
drop(struct live_rendition *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free((char *)(uintptr_t)r->waiting[i].cue.text);
	r->n -= n;
	memmove(r->waiting, r->waiting + n, r->n * sizeof(r->waiting[0]));
}

void
live_rendition_end(struct live_rendition *r)
{
	drop(r, r->n);
	arena_free(r->mem);
}

void
live_rendition_add(struct live_rendition *r, int64_t session, const struct transcript_cue *c)
{
	if (r->n == LIVE_RENDITION_CUES)
		drop(r, 1);
	r->waiting[r->n].session = session;
	r->waiting[r->n].cue = *c;
	r->waiting[r->n].cue.text = strdup(c->text);
	if (r->waiting[r->n++].cue.text == NULL)
		abort();
}

static const char *
path_of(const struct live_rendition *r, const char *name)
{
	return arena_printf(r->mem, "%s/%s", r->dir, name);
}

/* The whole file, or NULL. */
static const char *
read_text(const struct live_rendition *r, const char *name)
{
	const int fd = open(path_of(r, name), O_RDONLY | O_CLOEXEC);
	const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	char *text = NULL;

	if (size >= 0 && size < TEXT_MAX) {
		text = arena_alloc(r->mem, (size_t)size + 1);
		text[size] = '\0';
		if (pread(fd, text, (size_t)size, 0) != size)
			text = NULL;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* As a whole or not at all, for whoever looks. */
static bool
write_text(const struct live_rendition *r, const char *name, const struct buf *b)
{
	const char *draft = path_of(r, ".captions.draft");
	const int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool fine = fd >= 0 && fchmod(fd, 0644) == 0 && write(fd, b->text, b->len) == (ssize_t)b->len;
	int saved;

	fine = (fd < 0 || close(fd) == 0) && fine && rename(draft, path_of(r, name)) == 0;
	saved = errno;
	if (!fine && fd >= 0)
		unlink(draft);
	errno = saved;
	return fine;
}

/* The list of pictures, or of sound alone: of two the one that goes on. */
static bool
read_list(const struct live_rendition *r, struct live_list *l)
{
	struct live_list sound = { .word = "audio" };
	const char *video = read_text(r, "video.m3u8"), *audio = read_text(r, "audio.m3u8");

	*l = (struct live_list){ .word = "video" };
	if (video != NULL)
		list_read(l, video);
	if (audio != NULL)
		list_read(&sound, audio);
	if (sound.n > 0 && (l->n == 0 || sound.at[sound.n - 1].session > l->at[l->n - 1].session)) {
		list_free(l);
		*l = sound;
		return true;
	}
	list_free(&sound);
	return l->n > 0;
}

/* When the segment begins, in ms of its session.  -1: nobody knows. */
static int64_t
begins(const struct live_rendition *r, const struct live_list *l, const struct entry *e)
{
	const char *segment = path_of(r, arena_printf(r->mem, "%" PRId64 ".%s.m4s", e->number, l->word));
	const char *init = path_of(r, arena_printf(r->mem, "%" PRId64 ".%s.mp4", e->session, l->word));
	const int64_t scale = live_sound_scale(init), time = live_sound_time(segment);

	return scale > 0 && time >= 0 ? time * 1000 / scale : -1;
}

/* From when it was said until who gets it now can have read it.  What another session has left comes at the
 * beginning. */
static void
write_cue(struct buf *b, const struct entry *e, int64_t at, int64_t session, struct transcript_cue c)
{
	int64_t reads = (int64_t)strlen(c.text) * PER_BYTE;

	reads = e->ms + (reads < READ_MIN ? READ_MIN : reads > READ_MAX ? READ_MAX : reads);
	if (session != e->session)
		c.start = c.end = at;
	if (c.end < at + reads)
		c.end = at + reads;
	transcript_write_cue(b, &c);
}

/* The times of cues are those of the session; this says where they lie on the time line of the segments, by a moment of
 * this one, since players take a map to zero for none. */
static void
write_map(struct buf *b, int64_t at)
{
	buf_printf(b, "X-TIMESTAMP-MAP=MPEGTS:%" PRId64 ",LOCAL:%02d:%02d:%02d.%03d\n",
	    (at * CLOCK) & ((INT64_C(1) << 33) - 1), (int)(at / 3600000), (int)(at / 60000 % 60), (int)(at / 1000 % 60),
	    (int)(at % 1000));
}

/* last: what waits goes into it. */
static bool
write_segment(struct live_rendition *r, const struct live_list *l, const struct entry *e, bool last)
{
	const int64_t at = begins(r, l, e);
	const size_t n = last && at >= 0 ? r->n : 0;
	struct buf b = BUF(r->mem);
	size_t i;

	buf_text(&b, "WEBVTT\n");
	if (at >= 0)
		write_map(&b, at);
	buf_char(&b, '\n');
	for (i = 0; i < n; i++)
		write_cue(&b, e, at, r->waiting[i].session, r->waiting[i].cue);
	if (!write_text(r, arena_printf(r->mem, "%" PRId64 ".captions.vtt", e->number), &b))
		return false;
	drop(r, n);
	return true;
}

/* What is listed no more. */
static void
retire(struct live_rendition *r, int64_t first)
{
	if (r->dropped == 0)
		r->dropped = first > LIST_WINDOW + KEPT ? first - LIST_WINDOW - KEPT - 1 : 0;
	for (; r->dropped < first - KEPT - 1; r->dropped++)
		unlink(path_of(r, arena_printf(r->mem, "%" PRId64 ".captions.vtt", r->dropped + 1)));
}

static bool
write_list(struct live_rendition *r, struct live_list *l)
{
	struct buf b = BUF(r->mem);

	l->word = "captions";
	l->is_text = true;
	l->keeps_all = r->keeps_all;
	list_write(l, &b);
	if (!write_text(r, LIVESTREAM_CAPTIONS_LIST, &b))
		return false;
	if (!r->keeps_all)
		retire(r, l->first);
	return true;
}

/* Of what a run before this one has written nothing is written again: players may have it. */
static bool
is_there(const struct live_rendition *r, int64_t number)
{
	return number <= r->written ||
	    access(path_of(r, arena_printf(r->mem, "%" PRId64 ".captions.vtt", number)), F_OK) == 0;
}

static bool
follow(struct live_rendition *r, struct live_list *l, bool more)
{
	const bool ended = l->ended && !more;
	bool fine = true;
	size_t i;

	if (l->ended && more) {
		l->ended = false;
		l->n -= l->at[l->n - 1].number > r->written;
	}
	if (l->n == 0 || (l->at[l->n - 1].number == r->written && r->ended == ended))
		return true;
	for (i = 0; fine && i < l->n; i++) {
		if (!is_there(r, l->at[i].number))
			fine = write_segment(r, l, &l->at[i], i + 1 == l->n);
		if (i % 256 == 0)
			arena_reset(r->mem);
	}
	fine = fine && write_list(r, l);
	if (fine) {
		r->written = l->at[l->n - 1].number;
		r->ended = ended;
	}
	return fine;
}

/* Lists of hours are long, and who follows them looks several times a second: is there anything new?  Each is another
 * file whenever it changes. */
static bool
has_news(struct live_rendition *r, bool more)
{
	static const char *const lists[] = { "video.m3u8", "audio.m3u8" };
	bool news = r->more != more;
	struct stat st;
	size_t i;

	for (i = 0; i < 2; i++) {
		if (stat(path_of(r, lists[i]), &st) != 0)
			st = (struct stat){ 0 };
		news = news || st.st_ino != r->read[i].file || st.st_mtim.tv_sec != r->read[i].changed.tv_sec ||
		    st.st_mtim.tv_nsec != r->read[i].changed.tv_nsec;
		r->read[i].file = st.st_ino;
		r->read[i].changed = st.st_mtim;
	}
	r->more = more;
	return news;
}

/* At once: players read the playlist of all but once. */
static bool
name_it(struct live_rendition *r)
{
	struct buf b = BUF(r->mem);

	buf_text(&b, r->tag);
	r->named = r->named || write_text(r, LIVESTREAM_CAPTIONS_TAG, &b);
	return r->named;
}

bool
live_rendition_follow(struct live_rendition *r, bool more)
{
	struct live_list l;
	bool fine = access(r->dir, W_OK) == 0 && name_it(r);
	int saved;

	if (fine && has_news(r, more) && read_list(r, &l)) {
		fine = follow(r, &l, more);
		saved = errno;
		list_free(&l);
		/* What the disk did not take is tried again. */
		r->more = fine ? more : !more;
		errno = saved;
	}
	arena_reset(r->mem);
	return fine;
}
