/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fragments that are there as a whole are copied behind what the recording begins with, and FFmpeg reads that.  The
 * fragment before them goes along, since a decoder of sound needs what was before, and what it gives is left out.  Each
 * piece is put where its own time says, so that nothing drifts in hours, and what is missing is silence.
 */
#include <sys/sendfile.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/live_sound.h"
#include "media/av.h"
#include "media/bytes.h"
#include "media/fragments.h"

enum {
	SAMPLES_PER_MS = PCM_RATE / 1000,
	ROOM = LIVE_SOUND_WINDOW_MS * SAMPLES_PER_MS,
	HEAD = 4096,				/* bytes in which the time of a fragment stands */
	INIT_MAX = 64 << 10,
	EDGE_MS = 2000,
};

/* --- boxes */

struct box { off_t at, size; char type[5]; };

/* The box that is there as a whole. */
static bool
read_box(int fd, off_t at, off_t end, struct box *b)
{
	unsigned char head[8];

	if (at + 8 > end || pread(fd, head, sizeof(head), at) != (ssize_t)sizeof(head))
		return false;
	*b = (struct box){ .at = at, .size = (off_t)bytes_big(head, 4) };
	memcpy(b->type, head + 4, 4);
	return b->size >= 8 && at + b->size <= end;
}

static int64_t
time_of(int fd, const struct box *moof)
{
	unsigned char bytes[HEAD];

	if (moof->size > HEAD || pread(fd, bytes, (size_t)moof->size, moof->at) != (ssize_t)moof->size)
		return -1;
	return fragment_time(bytes, (size_t)moof->size);
}

static int64_t
scale_of(int fd, off_t size)
{
	unsigned char bytes[INIT_MAX];

	if (size > INIT_MAX || pread(fd, bytes, (size_t)size, 0) != (ssize_t)size)
		return 0;
	return fragment_scale(bytes, (size_t)size);
}

/* The number of what is read of a file. */
static int64_t
ask(const char *path, int64_t (*what)(int fd, off_t size), int64_t none)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t answer;

	if (fd < 0)
		return none;
	answer = what(fd, lseek(fd, 0, SEEK_END));
	close(fd);
	return answer;
}

static int64_t
first_time(int fd, off_t size)
{
	struct box b = { 0 };
	off_t at = 0;

	while (read_box(fd, at, size, &b) && strcmp(b.type, "moof") != 0)
		at += b.size;
	return strcmp(b.type, "moof") == 0 ? time_of(fd, &b) : -1;
}

int64_t
live_sound_time(const char *path)
{
	return ask(path, first_time, -1);
}

int64_t
live_sound_scale(const char *path)
{
	return ask(path, scale_of, 0);
}

/* --- the recording */

/* The next fragment that is there as a whole. */
struct piece { off_t at, end; int64_t ms; };

static bool
next_piece(const struct live_sound *s, off_t at, off_t size, struct piece *p)
{
	struct box moof, mdat;
	int64_t time;

	if (!read_box(s->fd, at, size, &moof) || strcmp(moof.type, "moof") != 0 ||
	    !read_box(s->fd, at + moof.size, size, &mdat))
		return false;
	time = time_of(s->fd, &moof);
	*p = (struct piece){ at, mdat.at + mdat.size, time < 0 ? -1 : time * 1000 / s->scale };
	return p->ms >= 0;
}

void
live_sound_begin(struct live_sound *s, const char *file)
{
	*s = (struct live_sound){ .file = file, .fd = -1, .window = malloc(ROOM * sizeof(*s->window)) };
	if (s->window == NULL)
		abort();
}

void
live_sound_end(struct live_sound *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->window);
	unlink(s->file);
}

/* Goes on at a fragment, and forgets what was before it. */
static void
leap(struct live_sound *s, const struct piece *p)
{
	s->before = s->at = p->at;
	s->until = s->heard = s->from = p->ms;
	s->n = 0;
}

/* Up to the last of what there is; where the last fragments of so many ms begin. */
static bool
look(struct live_sound *s, off_t from, int64_t last_ms, struct piece *begin)
{
	const off_t size = lseek(s->fd, 0, SEEK_END);
	struct piece p, first = { -1, from, 0 };
	off_t at;

	for (at = from; next_piece(s, at, size, &p); at = p.end) {
		s->came = p.ms;
		if (first.at < 0)
			first = p;
	}
	if (first.at < 0)
		return false;
	for (*begin = p = first; next_piece(s, p.at, size, &p) && p.ms < s->came - last_ms; p.at = p.end)
		*begin = p;
	return true;
}

bool
live_sound_open(struct live_sound *s, const char *path, bool edge)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	struct live_sound old = *s;
	struct piece p;
	struct box b;

	s->fd = fd;
	for (s->init = 0; fd >= 0 && read_box(fd, s->init, size, &b) && strcmp(b.type, "moof") != 0;)
		s->init += b.size;
	s->scale = fd >= 0 && s->init > 0 ? scale_of(fd, s->init) : 0;
	if (s->scale <= 0 || !look(s, s->init, edge ? EDGE_MS : INT64_MAX / 2, &p)) {
		if (fd >= 0)
			close(fd);
		*s = old;
		return false;
	}
	if (old.fd >= 0)
		close(old.fd);
	leap(s, &p);
	return true;
}

/* --- samples */

struct taking { struct live_sound *s; int64_t skip; size_t odd; char half; };

/* Makes room: the oldest go. */
static void
shift(struct live_sound *s, size_t more)
{
	size_t gone = s->n + more > ROOM ? s->n + more - ROOM : 0;

	if (gone == 0)
		return;
	/* Whole milliseconds go, since the window begins with one. */
	gone += (SAMPLES_PER_MS - gone % SAMPLES_PER_MS) % SAMPLES_PER_MS;
	s->n = gone < s->n ? s->n - gone : 0;
	memmove(s->window, s->window + gone, s->n * sizeof(*s->window));
	s->from += (int64_t)(gone / SAMPLES_PER_MS);
}

static void
add(struct live_sound *s, const int16_t *samples, size_t n)
{
	shift(s, n);
	if (samples != NULL)
		memcpy(s->window + s->n, samples, n * sizeof(*samples));
	else
		memset(s->window + s->n, 0, n * sizeof(*samples));
	s->n += n;
}

static bool
take(void *user, const char *bytes, size_t size)
{
	struct taking *t = user;
	int16_t block[4096];
	size_t n;

	while (size > 0) {
		n = size + t->odd < sizeof(block) ? size + t->odd : sizeof(block);
		memcpy(block, &t->half, t->odd);
		memcpy((char *)block + t->odd, bytes, n - t->odd);
		bytes += n - t->odd;
		size -= n - t->odd;
		t->odd = n % 2;
		t->half = t->odd > 0 ? ((char *)block)[n - 1] : 0;
		n /= 2;
		if (t->skip >= (int64_t)n) {
			t->skip -= (int64_t)n;
			continue;
		}
		add(t->s, block + t->skip, n - (size_t)t->skip);
		t->skip = 0;
	}
	return true;
}

static bool
copy(int to, int from, off_t at, off_t end)
{
	ssize_t done = 1;

	while (at < end && done > 0)
		done = sendfile(to, from, &at, (size_t)(end - at));
	return at == end;
}

/* What the recording begins with, and fragments of it. */
static bool
write_piece(const struct live_sound *s, off_t from, off_t end)
{
	const int fd = open(s->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool fine = fd >= 0 && copy(fd, s->fd, 0, s->init) && copy(fd, s->fd, from, end);

	return (fd < 0 || close(fd) == 0) && fine;
}

/* So that the next sample is the one of that time. */
static void
go_to(struct live_sound *s, int64_t ms)
{
	const int64_t end = s->from + (int64_t)(s->n / SAMPLES_PER_MS);

	if (ms > end && ms - end < LIVE_SOUND_WINDOW_MS) {
		add(s, NULL, (size_t)(ms - end) * SAMPLES_PER_MS);
	} else if (ms > end) {
		s->from = s->heard = ms;
		s->n = 0;
	} else if (ms >= s->from) {
		s->n = (size_t)(ms - s->from) * SAMPLES_PER_MS;
	}
}

bool
live_sound_take(struct arena *mem, struct live_sound *s, int64_t least, struct fault *fault)
{
	static const struct av_audio audio = { .index = 0 };
	const struct av_file file = { .path = s->file, .container = "mov", .audio = &audio };
	struct taking t = { .s = s };
	const struct av_pcm wanted = { .rate = PCM_RATE, .take = take, .user = &t };
	struct piece first = { .at = -1 }, p, edge;
	off_t size, at, last = s->at;
	int64_t lead = 0;

	if (s->fd < 0 || !look(s, s->at, EDGE_MS, &edge))
		return true;
	if (s->came - s->heard > LIVE_SOUND_BEHIND_MS) {
		s->left_out += edge.ms - s->heard;
		leap(s, &edge);
	}
	if (s->came - s->until < least)
		return true;
	size = lseek(s->fd, 0, SEEK_END);
	for (at = s->at; next_piece(s, at, size, &p); at = p.end) {
		if (first.at < 0)
			first = p;
		last = p.at;
	}
	if (first.at < 0)
		return true;
	if (s->before < s->at && next_piece(s, s->before, size, &p))
		lead = first.ms - p.ms;
	if (!write_piece(s, s->before, at))
		return fault_of_errno(mem, errno, fault, "The sound could not be written.");
	go_to(s, first.ms);
	t.skip = lead * SAMPLES_PER_MS;
	s->before = last;
	s->at = at;
	/* What cannot be decoded is silence. */
	s->until = s->came;
	return av_pcm(mem, &file, &wanted, fault);
}

bool
live_sound_next(struct arena *mem, struct live_sound *s, bool over, struct span *out)
{
	const int64_t heard = s->heard > s->from ? s->heard : s->from;
	const bool found = vad_next(mem, s->window, s->n, heard - s->from, LIVE_SOUND_STRETCH_MS, over, out);

	out->start += s->from;
	out->end += s->from;
	s->heard = found ? out->end : out->start > heard ? out->start : heard;
	return found;
}

const int16_t *
live_sound_samples(const struct live_sound *s, struct span span, size_t *n)
{
	*n = (size_t)(span.end - span.start) * SAMPLES_PER_MS;
	return s->window + (span.start - s->from) * SAMPLES_PER_MS;
}
