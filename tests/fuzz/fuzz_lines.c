/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the programs say that have read a stranger's file: kinothek-image its facts and the files it made,
 * kinothek-speech its segments and spans; and what the child of a job tells the runner.  The files under test are
 * included, since they start those programs themselves.
 */
#include "media/image_jail.c"
#include "jobs/engines/worker.c"
#include "jobs/runner.h"
#include "tests/fuzz/fuzz.h"

enum { LENGTH = 60000 };

static void
image_answers(struct arena *mem, const char *text)
{
	struct image_files files;
	struct image_facts *facts;
	struct fault fault;
	size_t i;

	if (read_facts(mem, text, &facts).reason == REASON_NONE && (facts->width < 1 || facts->width > IMAGE_SIDE_MAX ||
	    facts->height < 1 || facts->height > IMAGE_SIDE_MAX))
		abort();
	fault = read_files(mem, text, arena_printf(mem, "%s/tests/fuzz/fuzz_file.corpus",
	    getenv("KINOTHEK_SRC") != NULL ? getenv("KINOTHEK_SRC") : "."), &files);
	if (fault.reason != REASON_NONE)
		return;
	for (i = 0; i < files.n; i++)
		if (files.n > 16 || strchr(files.at[i].name, '/') != NULL || files.at[i].name[0] == '.' ||
		    files.at[i].width < 1 || files.at[i].height < 1 || strncmp(files.at[i].mime_type, "image/", 6) != 0)
			abort();
}

struct said { struct arena *mem; struct segment at[64]; size_t n, heard; int percent; };

static void
on_heard(void *user, const struct segment *s)
{
	struct said *said = user;
	const struct word *w = s->words.rows;
	size_t i;

	for (i = 0; i < s->words.n; i++)
		if (w[i].start.ms < 0 || w[i].end.ms < w[i].start.ms)
			abort();
	if (s->start.ms < 0 || s->end.ms < s->start.ms || s->end.ms > LENGTH)
		abort();
	said->heard++;
	if (said->n < sizeof(said->at) / sizeof(said->at[0]))
		said->at[said->n++] = engine_copy(said->mem, s);
}

static void
on_percent(void *user, int percent)
{
	if (percent < 0 || percent > 100)
		abort();
	((struct said *)user)->percent = percent;
}

static struct said
listen_to(struct arena *mem, struct arena *scratch, const uint8_t *data, size_t n, size_t step)
{
	struct said said = { .mem = mem };
	struct hearing hearing = { .mem = mem, .length = LENGTH, .heard = on_heard, .progress = on_percent,
	    .user = &said };
	struct listener l = { .hearing = &hearing, .scratch = scratch, .line = BUF(mem), .take = take_segment };
	size_t i;

	for (i = 0; i < n && take_bytes(&l, (const char *)data + i, step < n - i ? step : n - i); i += step)
		continue;
	return said;
}

static void
speech(struct arena *mem, struct arena *scratch, const uint8_t *data, size_t n)
{
	struct said whole = listen_to(mem, scratch, data, n, n > 0 ? n : 1);
	struct said pieces = listen_to(mem, scratch, data, n, n > 0 ? data[n - 1] % 31 + 1 : 1);
	struct list paragraphs;
	const struct paragraph *p;
	int64_t end = 0;
	size_t i;

	if (whole.heard != pieces.heard || whole.percent != pieces.percent)
		abort();
	paragraphs = transcript_paragraphs(mem, whole.at, whole.n);
	for (i = 0, p = paragraphs.rows; i < paragraphs.n; end = p[i++].end.ms)
		if (p[i].start.ms < end || p[i].end.ms < p[i].start.ms)
			abort();
	if (!json_valid(mem, transcript_json(mem, &paragraphs), strlen(transcript_json(mem, &paragraphs))))
		abort();
}

/* In order, without overlap, within the recording. */
static void
spans(struct arena *mem, struct arena *scratch, const uint8_t *data, size_t n)
{
	struct said said = { .mem = mem };
	struct hearing hearing = { .mem = mem, .length = LENGTH, .heard = on_heard, .progress = on_percent,
	    .user = &said };
	struct listener l = { .hearing = &hearing, .scratch = scratch, .line = BUF(mem), .found = BUF(mem),
	    .take = take_span };
	const struct span *s;
	int64_t end = 0;

	take_bytes(&l, (const char *)data, n);
	if (said.heard != 0 || said.percent != 0)
		abort();
	for (s = (const void *)l.found.text; s != NULL && s < (const struct span *)(const void *)(l.found.text +
	    l.found.len); end = s++->end)
		if (s->start < end || s->end <= s->start || s->end > LENGTH)
			abort();
}

/* Each message in one write, as a child does it. */
static void
messages(const uint8_t *data, size_t n)
{
	static struct runner runner;
	struct child child = { .percent = 0 };
	struct message m;
	int ends[2], i;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	child.pipe = ends[0];
	for (i = 0; n > 6 && i < 8; i++) {
		size_t most = n - 6 < data[0] ? n - 6 : data[0];

		memset(&m, 'x', sizeof(m));
		memcpy(&m, data, 6);
		m.what %= 9;
		memcpy(m.text, data + 6, most);
		if (write(ends[1], &m, sizeof(m)) != sizeof(m))
			abort();
		data += 6 + most;
		n -= 6 + most;
	}
	close(ends[1]);
	child_read(&runner, &child);
	if (child.pipe != 0 || child.percent < 0 || child.percent > 100 || child.log.n >= sizeof(child.log.text) ||
	    strlen(child.log.text) > child.log.n || memchr(child.detail, '\0', sizeof(child.detail)) == NULL ||
	    reason_info(child.reason)->code == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem, *scratch;

	if (mem == NULL) {
		mem = arena_new((size_t)256 << 20);
		scratch = arena_new(SCRATCH);
	}
	image_answers(mem, arena_copy_n(mem, data, n));
	speech(mem, scratch, data, n);
	spans(mem, scratch, data, n);
	messages(data, n);
	arena_reset(scratch);
	arena_reset(mem);
	return 0;
}
