/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of subtitles: whatever they hold, cues are in order and end after they begin, and what is written of them reads
 * as the same ones. */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "media/language.h"
#include "media/subtitles.h"
#include "tests/fuzz/fuzz.h"

static void
check_voices(struct arena *mem, const struct cue *c)
{
	const struct list voices = cue_voices(mem, c);
	const struct voice *v = voices.rows;

	if ((voices.n == 0) != (*cue_markup(mem, c) == '\0'))
		abort();
	for (size_t i = 0; i < voices.n; i++)
		if (!utf8_valid(v[i].text, strlen(v[i].text)) || utf8_blank(v[i].text) ||
		    (v[i].speaker != NULL && !utf8_line(v[i].speaker)))
			abort();
}

static void
check(struct arena *mem, const struct cues *all)
{
	if (all->n > all->found || all->n > CUES_MAX)
		abort();
	for (size_t i = 0; i < all->n; i++) {
		if (all->at[i].start < 0 || all->at[i].end <= all->at[i].start ||
		    (i > 0 && all->at[i].start < all->at[i - 1].start))
			abort();
		check_voices(mem, &all->at[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct cues all, again;
	struct buf out;
	size_t written;

	if (mem == NULL)
		mem = arena_new((size_t)512 << 20);
	all = again = (struct cues){ .mem = mem };
	out = BUF(mem);
	cues_read_any(&all, (const char *)data, n);
	check(mem, &all);
	written = subtitles_write(&out, all.form, (const char *)data, n);
	if (written > 0) {
		if (!utf8_valid(out.text, out.len))
			abort();
		cues_read_any(&again, out.text, out.len);
		if (again.form != SUBTITLES_VTT || again.n != written)
			abort();
		check(mem, &again);
	}
	language_guess(mem, (const char *)data, n);
	arena_reset(mem);
	return 0;
}
