/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HLS playlists as text. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "media/playlist.h"
#include "core/text.h"

/* Length of a segment as presented: priming that players drop belongs to no segment. */
static int64_t
presented(const struct fragments *f, size_t i)
{
	int64_t d = f->at[i].duration - (i == 0 ? f->skip : 0);

	return d > 0 ? d : 0;
}

/* EXT-X-TARGETDURATION: that of the longest segment, in whole seconds. */
static int64_t
target(const struct fragments *f)
{
	int64_t longest = 0;

	for (size_t i = 0; i < f->n; i++)
		if (presented(f, i) > longest)
			longest = presented(f, i);
	return longest > 0 ? (int64_t)fmax(1, round((double)longest / (double)f->timescale)) : 1;
}

const char *
playlist_media(struct arena *mem, const struct fragments *f, const char *file)
{
	struct buf out = BUF(mem);
	int64_t position = 0, said = 0;

	buf_printf(&out, "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%" PRId64 "\n#EXT-X-MEDIA-SEQUENCE:0\n"
	    "#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"%s\",BYTERANGE=\"%" PRId64
	    "@0\"\n", target(f), file, f->init_size);
	for (size_t i = 0; i < f->n; i++) {
		int64_t us;

		/* Each length is the difference of rounded positions, so that rounding never adds up. */
		position += presented(f, i);
		us = (int64_t)llround((double)position * 1e6 / (double)f->timescale);
		buf_printf(&out, "#EXTINF:%" PRId64 ".%06" PRId64 ",\n#EXT-X-BYTERANGE:%" PRId64 "@%" PRId64 "\n%s\n",
		    (us - said) / 1000000, (us - said) % 1000000, f->at[i].size, f->at[i].offset, file);
		said = us;
	}
	buf_text(&out, "#EXT-X-ENDLIST\n");
	return buf_string(&out);
}

const char *
playlist_text(struct arena *mem, const char *file, int64_t duration_ms)
{
	const int64_t ms = duration_ms > 0 ? duration_ms : 1;

	return arena_printf(mem,
	    "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%" PRId64 "\n#EXT-X-MEDIA-SEQUENCE:0\n"
	    "#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:%" PRId64 ".%03" PRId64 ",\n%s\n#EXT-X-ENDLIST\n", (ms + 999) / 1000,
	    ms / 1000, ms % 1000, file);
}

int64_t
playlist_bit_rate(const struct fragments *f)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < f->n; i++)
		bytes += f->at[i].size;
	return f->duration > 0 ? (int64_t)((double)bytes * 8 * (double)f->timescale / (double)f->duration) : 0;
}

/* RFC 8216 section 4.1: of all neighbours that together last half to one and a half target durations.  So a last crumb
 * of a segment counts with the one before it. */
int64_t
playlist_peak_rate(const struct fragments *f)
{
	const int64_t unit = target(f) * f->timescale;
	double peak = (double)playlist_bit_rate(f);

	for (size_t i = 0; i < f->n; i++) {
		int64_t bytes = 0, length = 0;

		for (size_t k = i; k < f->n && (length += presented(f, k)) * 2 <= unit * 3; k++) {
			bytes += f->at[k].size;
			if (length > 0 && length * 2 >= unit)
				peak = fmax(peak, (double)bytes * 8 * (double)f->timescale / (double)length);
		}
	}
	return (int64_t)ceil(peak);
}

/* The address of a file as another one names it. */
static const char *
relative(struct arena *mem, const char *from, const char *to)
{
	struct buf out = BUF(mem);
	size_t i, common = 0;

	for (i = 0; from[i] == to[i] && from[i] != '\0'; i++)
		if (from[i] == '/')
			common = i + 1;
	for (from += common; (from = strchr(from, '/')) != NULL; from++)
		buf_text(&out, "../");
	buf_text(&out, to + common);
	return buf_string(&out);
}

static bool
is_sound(const struct rendition_row *r)
{
	return strcmp(r->kind, "audio") == 0 && strcmp(r->mime_type, PLAYLIST_TYPE) == 0;
}

/* Pointers to the rows of sizes, the smallest bit rate first. */
static int
by_rate(const void *a, const void *b)
{
	const struct rendition_row *x = *(const struct rendition_row *const *)a,
	    *y = *(const struct rendition_row *const *)b;

	return x->peak_bitrate.n < y->peak_bitrate.n ? -1 : x->peak_bitrate.n > y->peak_bitrate.n;
}

/* An attribute in quotes can hold neither quotes nor line ends. */
static const char *
attribute(struct arena *mem, const char *text)
{
	char *copy = arena_copy(mem, text);

	for (char *p = copy; *p != '\0'; p++)
		if (*p == '"' || (unsigned char)*p < ' ')
			*p = ' ';
	return copy;
}

/* Never below the average, whatever a row says. */
static int64_t
peak_of(const struct rendition_row *r)
{
	return r->peak_bitrate.n > r->bitrate.n ? r->peak_bitrate.n : r->bitrate.n;
}

static bool
has_role(const struct rendition_row *r, const char *role)
{
	return r->roles != NULL && word_in(r->roles, role, strlen(role));
}

static void
text_attribute(struct buf *out, const char *name, const char *text)
{
	if (text != NULL)
		buf_printf(out, ",%s=\"%s\"", name, attribute(out->mem, text));
}

/* A commentary is never chosen for who just understands its language. */
static void
sound_line(struct buf *out, const struct rendition_row *r, bool is_default, const char *file)
{
	buf_text(out, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\"");
	text_attribute(out, "NAME", r->track_name != NULL ? r->track_name : "Audio");
	text_attribute(out, "LANGUAGE", r->language_code);
	buf_printf(out, ",DEFAULT=%s,AUTOSELECT=%s", is_default ? "YES" : "NO",
	    is_default || !has_role(r, "commentary") ? "YES" : "NO");
	text_attribute(out, "CHARACTERISTICS", has_role(r, "describesVideo") ? "public.accessibility.describes-video" :
	    has_role(r, "hearingImpaired") ? "public.accessibility.enhances-speech-intelligibility" : NULL);
	buf_printf(out, ",CHANNELS=\"%" PRId64 "\",URI=\"%s\"\n", r->channels.set ? r->channels.n : 2,
	    relative(out->mem, file, r->file));
}

/* They are shown when somebody wants them; by themselves only those of what else nobody would understand. */
static void
subtitles_line(struct buf *out, const struct rendition_row *r, const char *file)
{
	const char *address = relative(out->mem, file, r->file);

	buf_text(out, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\"");
	text_attribute(out, "NAME", r->track_name);
	text_attribute(out, "LANGUAGE", r->language_code);
	buf_printf(out, ",DEFAULT=NO,AUTOSELECT=YES,FORCED=%s", has_role(r, "forced") ? "YES" : "NO");
	text_attribute(out, "CHARACTERISTICS", has_role(r, "hearingImpaired") ?
	    "public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound" : NULL);
	buf_printf(out, ",URI=\"%.*s.m3u8\"\n", (int)(strrchr(address, '.') - address), address);
}

/* What of it the streams have to tell. */
struct master { const struct rendition_row *sound; int64_t sound_rate, sound_peak; bool group, subtitles;
    const char *file; };

/* The codecs of all that a player needs for it (RFC 8216 section 4.3.4.2), or nothing: half of them would be a lie. */
static void
stream_line(struct buf *out, const struct rendition_row *r, const struct master *m)
{
	const struct rendition_row *sound = r != m->sound ? m->sound : NULL;

	buf_printf(out, "#EXT-X-STREAM-INF:BANDWIDTH=%" PRId64 ",AVERAGE-BANDWIDTH=%" PRId64,
	    sound != NULL ? peak_of(r) + m->sound_peak : peak_of(r) > m->sound_peak ? peak_of(r) : m->sound_peak,
	    r->bitrate.n + (sound != NULL ? m->sound_rate : 0));
	if (r->codecs != NULL && (sound == NULL || sound->codecs != NULL))
		buf_printf(out, ",CODECS=\"%s%s%s\"", r->codecs, sound != NULL ? "," : "",
		    sound != NULL ? sound->codecs : "");
	if (r->width.set && r->height.set)
		buf_printf(out, ",RESOLUTION=%" PRId64 "x%" PRId64, r->width.n, r->height.n);
	if (r->frame_rate > 0)
		buf_printf(out, ",FRAME-RATE=%.3f", r->frame_rate);
	buf_printf(out, "%s%s\n%s\n", m->group ? ",AUDIO=\"audio\"" : "", m->subtitles ? ",SUBTITLES=\"subtitles\"" :
	    "",
	    relative(out->mem, m->file, r->file));
}

/* The main sound stands first, then its tracks as the file has them; whichever plays, the rates told are enough. */
static void
sound_group(struct buf *out, const struct rendition_row *rows, size_t n, struct master *m)
{
	sound_line(out, m->sound, true, m->file);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].kind, "track") != 0)
			continue;
		sound_line(out, &rows[i], false, m->file);
		if (rows[i].bitrate.n > m->sound_rate)
			m->sound_rate = rows[i].bitrate.n;
		if (peak_of(&rows[i]) > m->sound_peak)
			m->sound_peak = peak_of(&rows[i]);
	}
}

const char *
playlist_master(struct arena *mem, const struct rendition_row *rows, size_t n, const char *file)
{
	const struct rendition_row **sizes = arena_array(mem, n, sizeof(*sizes)), *low = NULL;
	struct master m = { .file = file };
	struct buf out = BUF(mem);
	size_t k = 0, tracks = 0;

	for (size_t i = 0; i < n; i++) {
		tracks += strcmp(rows[i].kind, "track") == 0;
		m.subtitles |= strcmp(rows[i].kind, "subtitles") == 0;
		if (strcmp(rows[i].kind, "hls") == 0)
			sizes[k++] = &rows[i];
		else if (is_sound(&rows[i]) && (m.sound == NULL || peak_of(&rows[i]) > peak_of(m.sound)))
			m.sound = &rows[i];
		else if (strcmp(rows[i].kind, "low") == 0)
			low = &rows[i];
	}
	qsort(sizes, k, sizeof(*sizes), by_rate);
	/* One channel is slow enough; what has no size of picture is for lines that carry none, and never the first. */
	if (low == NULL && k > 0 && m.sound != NULL && m.sound->channels.n == 1)
		low = m.sound;
	buf_text(&out, "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n");
	if (m.sound != NULL) {
		m.sound_rate = m.sound->bitrate.n;
		m.sound_peak = peak_of(m.sound);
		m.group = k + tracks > 0;
	}
	if (m.group)
		sound_group(&out, rows, n, &m);
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].kind, "subtitles") == 0)
			subtitles_line(&out, &rows[i], file);
	for (size_t i = 0; i < k; i++)
		stream_line(&out, sizes[i], &m);
	if (k == 0 && m.sound != NULL)
		stream_line(&out, m.sound, &m);
	if (low != NULL)
		stream_line(&out, low, &(const struct master){ .sound = low, .subtitles = m.subtitles,
		    .file = file });
	return buf_string(&out);
}
