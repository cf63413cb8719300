/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subtitles from the forms that containers hold to WebVTT. */
#include "core/text.h"
#include "media/subtitles.h"

void
subtitles_time(struct buf *out, int64_t ms)
{
	buf_printf(out, "%02d:%02d:%02d.%03d", (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60),
	    (int)(ms % 1000));
}

/* Those that are shown from `from` up to `to`, in times from there on. */
static size_t
write_between(struct buf *out, enum subtitles_form form, const char *bytes, size_t n, int64_t from, int64_t to)
{
	struct cues all = { .mem = out->mem };
	size_t written = 0;

	cues_read(&all, form, bytes, n);
	for (size_t i = 0; i < all.n; i++) {
		const struct cue *c = &all.at[i];
		const char *text;

		if ((from > 0 && c->end <= from) || c->start >= to)
			continue;
		text = cue_markup(out->mem, c);
		if (*text == '\0')
			continue;
		buf_text(out, written++ == 0 ? "WEBVTT\n\n" : "");
		subtitles_time(out, c->start > from ? c->start - from : 0);
		buf_text(out, " --> ");
		subtitles_time(out, (c->end < to ? c->end : to) - from);
		if (form == SUBTITLES_VTT)
			cue_settings(out, c);
		buf_printf(out, "\n%s\n\n", text);
	}
	return written;
}

size_t
subtitles_write(struct buf *out, enum subtitles_form form, const char *bytes, size_t n)
{
	return write_between(out, form, bytes, n, 0, INT64_MAX);
}

size_t
subtitles_cut(struct buf *out, const char *bytes, size_t n, int64_t from_ms, int64_t to_ms)
{
	return write_between(out, SUBTITLES_VTT, bytes, n, from_ms, to_ms);
}
