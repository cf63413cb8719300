/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a media file holds: ffprobe's JSON into struct av_file, and the choice of the streams that count. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "media/av_run.h"
#include "media/language.h"
#include "core/record.h"
#include "media/image.h"
#include "media/sniff.h"

enum { TRACKS_MAX = 64, TITLE_MAX = 255, PIXELS_MAX = 40000000, SIDE_MAX = 16384 };

/* The members of ffprobe's output that are read; it prints numbers that may be unknown as strings. */
struct side_data { int64_t rotation, dv_profile; const char *displaymatrix; };
static const struct field side_data_fields[] = {
	FIELD(struct side_data, rotation, .doc = "Counter-clockwise, degrees"),
	FIELD(struct side_data, dv_profile, .json = "dv_profile", .doc = "Of Dolby Vision"),
	FIELD(struct side_data, displaymatrix, .doc = "Three rows of three fixed-point numbers"),
};
static const struct record side_data_record = RECORD("SideData", struct side_data, side_data_fields);

struct disposition { int64_t is_default, attached_pic, timed_thumbnails, comment, visual_impaired, hearing_impaired,
    dub, original, forced; };
static const struct field disposition_fields[] = {
	FIELD(struct disposition, is_default, .json = "default", .doc = "Chosen by the author"),
	FIELD(struct disposition, attached_pic, .json = "attached_pic", .doc = "Cover art"),
	FIELD(struct disposition, timed_thumbnails, .json = "timed_thumbnails", .doc = "Pictures of a seek bar"),
	FIELD(struct disposition, comment, .doc = "Commentary"),
	FIELD(struct disposition, visual_impaired, .json = "visual_impaired", .doc = "Describes the picture"),
	FIELD(struct disposition, hearing_impaired, .json = "hearing_impaired", .doc = "For who hears badly"),
	FIELD(struct disposition, dub, .doc = "In another language than the original"),
	FIELD(struct disposition, original, .doc = "In the language of the original"),
	FIELD(struct disposition, forced, .doc = "For what is said in another language than all the rest"),
};
static const struct record disposition_record = RECORD("Disposition", struct disposition, disposition_fields);

struct tags { const char *language, *title, *upper_title, *duration; };
static const struct field tags_fields[] = {
	FIELD(struct tags, language, .doc = "ISO 639-2"),
	FIELD(struct tags, title, .doc = "For people"),
	FIELD(struct tags, upper_title, .json = "TITLE", .doc = "The same, as Ogg has it: there, of the file"),
	FIELD(struct tags, duration, .json = "DURATION", .doc = "HH:MM:SS, of Matroska"),
};
static const struct record tags_record = RECORD("Tags", struct tags, tags_fields);

struct stream {
	int64_t index, width, height, channels;
	const char *codec_name, *profile, *codec_type, *codec_tag_string, *pix_fmt, *sample_aspect_ratio, *field_order;
	const char *color_transfer, *color_primaries, *color_space, *color_range, *r_frame_rate, *avg_frame_rate,
	    *start_time, *duration;
	const char *sample_rate, *nb_frames;
	struct nested disposition, tags;
	struct list side_data_list;
};
static const struct field stream_fields[] = {
	FIELD(struct stream, index, .doc = "Number"),
	FIELD(struct stream, width, .doc = "Pixels"),
	FIELD(struct stream, height, .doc = "Pixels"),
	FIELD(struct stream, channels, .doc = "Of sound"),
	FIELD(struct stream, codec_name, .json = "codec_name", .doc = "Codec"),
	FIELD(struct stream, profile, .doc = "Of the codec"),
	FIELD(struct stream, codec_type, .json = "codec_type", .doc = "video, audio, subtitle, data, attachment"),
	FIELD(struct stream, codec_tag_string, .json = "codec_tag_string", .doc = "Code in the container"),
	FIELD(struct stream, pix_fmt, .json = "pix_fmt", .doc = "Pixel format"),
	FIELD(struct stream, sample_aspect_ratio, .json = "sample_aspect_ratio", .doc = "w:h of a pixel"),
	FIELD(struct stream, field_order, .json = "field_order", .doc = "progressive or two letters"),
	FIELD(struct stream, color_transfer, .json = "color_transfer", .doc = "Transfer"),
	FIELD(struct stream, color_primaries, .json = "color_primaries", .doc = "Primaries"),
	FIELD(struct stream, color_space, .json = "color_space", .doc = "Matrix"),
	FIELD(struct stream, color_range, .json = "color_range", .doc = "tv or pc"),
	FIELD(struct stream, r_frame_rate, .json = "r_frame_rate", .doc = "Lowest rate that fits all time stamps"),
	FIELD(struct stream, avg_frame_rate, .json = "avg_frame_rate", .doc = "Frames over duration"),
	FIELD(struct stream, start_time, .json = "start_time", .doc = "Seconds"),
	FIELD(struct stream, duration, .doc = "Seconds"),
	FIELD(struct stream, sample_rate, .json = "sample_rate", .doc = "Hz"),
	FIELD(struct stream, nb_frames, .json = "nb_frames", .doc = "Count, where the index knows it"),
	FIELD(struct stream, disposition, .of = &disposition_record, .doc = "What it is meant for"),
	FIELD(struct stream, tags, .of = &tags_record, .doc = "Labels"),
	FIELD(struct stream, side_data_list, .json = "side_data_list", .of = &side_data_record, .doc = "Rotation and the like"),
};
static const struct record stream_record = RECORD("Stream", struct stream, stream_fields);

struct format_tags { const char *creation_time, *quicktime_date, *date, *title, *upper_title; };
static const struct field format_tags_fields[] = {
	FIELD(struct format_tags, creation_time, .json = "creation_time", .doc = "RFC 3339; of a wave file, the time alone"),
	FIELD(struct format_tags, quicktime_date, .json = "com.apple.quicktime.creationdate", .doc = "ISO 8601, where it was"),
	FIELD(struct format_tags, date, .doc = "A year, a date, or all of it"),
	FIELD(struct format_tags, title, .doc = "For people"),
	FIELD(struct format_tags, upper_title, .json = "TITLE", .doc = "The same, as FLAC has it"),
};
static const struct record format_tags_record = RECORD("FormatTags", struct format_tags, format_tags_fields);

struct format { const char *format_name, *duration, *start_time, *bit_rate; struct nested tags; };
static const struct field format_fields[] = {
	FIELD(struct format, format_name, .json = "format_name", .doc = "Demuxer, its other names behind commas"),
	FIELD(struct format, duration, .doc = "Seconds"),
	FIELD(struct format, start_time, .json = "start_time", .doc = "Seconds"),
	FIELD(struct format, bit_rate, .json = "bit_rate", .doc = "bit/s"),
	FIELD(struct format, tags, .of = &format_tags_record, .doc = "What its maker wrote into it"),
};
static const struct record format_record = RECORD("Format", struct format, format_fields);

struct chapter_tags { const char *title; };
static const struct field chapter_tags_fields[] = {
	FIELD(struct chapter_tags, title, .doc = "For people"),
};
static const struct record chapter_tags_record = RECORD("ChapterTags", struct chapter_tags, chapter_tags_fields);

struct chapter { const char *start_time, *end_time; struct nested tags; };
static const struct field chapter_fields[] = {
	FIELD(struct chapter, start_time, .json = "start_time", .doc = "Seconds"),
	FIELD(struct chapter, end_time, .json = "end_time", .doc = "Seconds"),
	FIELD(struct chapter, tags, .of = &chapter_tags_record, .doc = "Labels"),
};
static const struct record chapter_record = RECORD("Chapter", struct chapter, chapter_fields);

struct probe { struct list streams, chapters; struct nested format; };
static const struct field probe_fields[] = {
	FIELD(struct probe, streams, .of = &stream_record, .doc = "All streams"),
	FIELD(struct probe, chapters, .of = &chapter_record, .doc = "Parts that have names"),
	FIELD(struct probe, format, .of = &format_record, .doc = "The container"),
};
static const struct record probe_record = RECORD("Probe", struct probe, probe_fields);

static const char entries[] =
    "format=format_name,duration,start_time,bit_rate:format_tags=creation_time,com.apple.quicktime.creationdate,date,title:"
    "chapter=start_time,end_time:chapter_tags=title:stream=index,width,height,channels,"
    "codec_name,profile,codec_type,codec_tag_string,pix_fmt,sample_aspect_ratio,field_order,color_transfer,color_primaries,"
    "color_space,color_range,r_frame_rate,avg_frame_rate,start_time,duration,sample_rate,"
    "nb_frames:stream_tags=language,title,DURATION:stream_disposition=default,attached_pic,timed_thumbnails,comment,"
    "visual_impaired,hearing_impaired,dub,original,forced:stream_side_data=side_data_type,rotation,displaymatrix,dv_profile";

/* What is absurd counts as unknown. */
double
av_seconds(const char *text)
{
	double s = text != NULL ? strtod(text, NULL) : 0;

	return isfinite(s) && fabs(s) < 1e9 ? s : 0;
}

static int64_t
ms_of(const char *text)
{
	return llround(av_seconds(text) * 1000);
}

static int
count_of(int64_t n)
{
	return n >= 0 && n <= INT_MAX ? (int)n : 0;
}

/* A stream's length: its own, or the DURATION tag that Matroska keeps. */
static int64_t
stream_ms(const struct stream *s)
{
	const struct tags *tags = s->tags.row;
	int hours, minutes;
	double seconds;

	if (s->duration != NULL)
		return ms_of(s->duration);
	if (tags != NULL && tags->duration != NULL &&
	    sscanf(tags->duration, "%9d:%9d:%lf", &hours, &minutes, &seconds) == 3 && hours >= 0 && hours < 10000 &&
	    minutes >= 0 && minutes < 60 && seconds >= 0 && seconds < 61)
		/* It counts from the beginning of the file. */
		return (hours * INT64_C(60) + minutes) * 60000 + llround(seconds * 1000) - ms_of(s->start_time);
	return 0;
}

static struct av_ratio
ratio_of(const char *text, char separator)
{
	struct av_ratio r = { 0, 1 };
	char *end;

	if (text == NULL)
		return r;
	errno = 0;
	r.num = strtoll(text, &end, 10);
	if (*end == separator)
		r.den = strtoll(end + 1, NULL, 10);
	if (errno != 0 || r.num <= 0 || r.den <= 0 || r.num > INT_MAX || r.den > INT_MAX)
		r = (struct av_ratio){ 0, 1 };
	return r;
}

/* Turn and mirror from the display matrix: a b / c d, rows as ffprobe prints them. */
static void
orientation(const struct stream *s, struct av_video *v)
{
	const struct side_data *side = s->side_data_list.rows;
	long a, b, c, d;

	for (size_t i = 0; i < s->side_data_list.n; i++) {
		const char *m = side[i].displaymatrix, *row2;

		if (m == NULL || (m = strchr(m, ':')) == NULL || (row2 = strchr(m + 1, ':')) == NULL)
			continue;
		if (sscanf(m + 1, "%ld %ld", &a, &b) != 2 || sscanf(row2 + 1, "%ld %ld", &c, &d) != 2)
			continue;
		v->rotation = (int)(((-side[i].rotation % 360 + 360) % 360 + 45) / 90 * 90 % 360);
		v->mirrored = (double)a * (double)d - (double)b * (double)c < 0;
	}
}

static void
display_size(const struct stream *s, struct av_video *v)
{
	struct av_ratio aspect = ratio_of(s->sample_aspect_ratio, ':');
	double width = v->coded_width, height = v->coded_height;

	/* Square pixels keep the larger side of the pixel, so that no detail is lost; absurd ratios are mistakes. */
	if (aspect.num > 0 && av_value(aspect) <= 8 && av_value(aspect) >= 0.125) {
		if (av_value(aspect) >= 1)
			width *= av_value(aspect);
		else
			height /= av_value(aspect);
	}
	if (v->rotation == 90 || v->rotation == 270) {
		double swap = width;

		width = height;
		height = swap;
	}
	v->width = (int)lround(width);
	v->height = (int)lround(height);
}

static bool
is_one_of(const char *text, const char *list)
{
	return text != NULL && word_in(list, text, strlen(text));
}

static struct av_video *
video_of(struct arena *mem, const struct stream *s)
{
	struct av_video *v = NEW(mem, struct av_video);

	v->index = count_of(s->index);
	v->codec = s->codec_name;
	v->pixel_format = s->pix_fmt != NULL ? s->pix_fmt : "";
	v->coded_width = count_of(s->width);
	v->coded_height = count_of(s->height);
	v->transfer = s->color_transfer;
	v->primaries = s->color_primaries;
	v->matrix = s->color_space;
	v->full_range = s->color_range != NULL && strcmp(s->color_range, "pc") == 0;
	v->hdr = is_one_of(s->color_transfer, "smpte2084 arib-std-b67");
	v->interlaced = is_one_of(s->field_order, "tt bb tb bt");
	v->parity = "auto";
	v->lowest_rate = ratio_of(s->r_frame_rate, '/');
	v->rate = ratio_of(s->avg_frame_rate, '/');
	v->frames = s->nb_frames != NULL ? count_of(strtoll(s->nb_frames, NULL, 10)) : 0;
	if (v->rate.num == 0)
		v->rate = v->lowest_rate;
	av_settle_rates(v);
	v->start_ms = ms_of(s->start_time);
	v->duration_ms = stream_ms(s);
	orientation(s, v);
	display_size(s, v);
	return v;
}

static int
roles_of(const struct disposition *d)
{
	if (d == NULL)
		return 0;
	return (d->comment ? AV_COMMENTARY : 0) | (d->visual_impaired ? AV_DESCRIBES : 0) |
	    (d->hearing_impaired ? AV_CLEAR : 0) | (d->dub ? AV_DUB : 0) | (d->original ? AV_ORIGINAL : 0) |
	    (d->forced ? AV_FORCED : 0);
}

static const char *
language_of(struct arena *mem, const struct tags *tags)
{
	return tags != NULL ? language_tag(mem, tags->language) : NULL;
}

static const char *
title_of(struct arena *mem, const struct tags *tags)
{
	return tags != NULL ? av_line(mem, tags->title, TITLE_MAX) : NULL;
}

static struct av_audio
audio_of(struct arena *mem, const struct stream *s)
{
	const struct disposition *d = s->disposition.row;
	const struct tags *tags = s->tags.row;

	return (struct av_audio){ .index = count_of(s->index), .codec = s->codec_name, .profile = s->profile,
	    .language = language_of(mem, tags), .title = title_of(mem, tags), .channels = count_of(s->channels),
	    .roles = roles_of(d), .used = av_decodes(s->codec_name) && s->channels > 0,
	    .sample_rate = s->sample_rate != NULL ? atoi(s->sample_rate) : 0, .is_default = d != NULL && d->is_default,
	    .start_ms = ms_of(s->start_time), .duration_ms = stream_ms(s) };
}

static struct av_subtitle
subtitle_of(struct arena *mem, const struct stream *s)
{
	const struct disposition *d = s->disposition.row;
	const struct tags *tags = s->tags.row;

	return (struct av_subtitle){ .index = count_of(s->index), .codec = s->codec_name,
	    .language = language_of(mem, tags), .title = title_of(mem, tags), .roles = roles_of(d),
	    .is_default = d != NULL && d->is_default, .used = av_is_text(s->codec_name) };
}

/* How good a choice a stream is; below 0: none at all. */
static int64_t
rank_video(const struct stream *s)
{
	const struct disposition *d = s->disposition.row;

	if (d != NULL && (d->attached_pic || d->timed_thumbnails))
		return -1;
	return (int64_t)count_of(s->width) * count_of(s->height) + (d != NULL && d->is_default ? INT64_C(1) << 40 : 0);
}

static int
rank_audio(const struct stream *s)
{
	const struct disposition *d = s->disposition.row;

	if (!av_decodes(s->codec_name) || count_of(s->channels) == 0)
		return 0;
	return d == NULL ? 1 : 1 + (d->is_default != 0) + 2 * !(d->comment || d->visual_impaired);
}

/* Picks video, sound and cover art, and counts the rest. */
static void
choose(struct arena *mem, const struct probe *p, struct av_file *f)
{
	const struct stream *s = p->streams.rows, *video = NULL;
	struct av_audio *tracks = arena_array(mem, TRACKS_MAX, sizeof(*tracks));
	struct av_subtitle *subtitles = arena_array(mem, p->streams.n, sizeof(*subtitles));
	int best = 0;

	f->tracks = tracks;
	f->subtitles = subtitles;
	for (size_t i = 0; i < p->streams.n; i++) {
		const char *type = s[i].codec_type != NULL ? s[i].codec_type : "";
		const struct disposition *d = s[i].disposition.row;

		if (strcmp(type, "video") == 0 && rank_video(&s[i]) >= 0) {
			f->n_video++;
			if (video == NULL || rank_video(&s[i]) > rank_video(video))
				video = &s[i];
		} else if (strcmp(type, "video") == 0 && d != NULL && d->attached_pic && f->cover < 0) {
			f->cover = count_of(s[i].index);
		} else if (strcmp(type, "audio") == 0 && f->n_tracks < TRACKS_MAX) {
			tracks[f->n_tracks] = audio_of(mem, &s[i]);
			if (rank_audio(&s[i]) > best) {
				best = rank_audio(&s[i]);
				f->audio = &tracks[f->n_tracks];
			}
			f->n_tracks++;
		} else if (strcmp(type, "subtitle") == 0) {
			subtitles[f->n_subtitles++] = subtitle_of(mem, &s[i]);
		} else if (strcmp(type, "video") != 0) {
			f->n_data++;
		}
	}
	if (video != NULL)
		f->video = video_of(mem, video);
	av_choose_sounds(mem, tracks, f->n_tracks, f->audio);
	av_choose_subtitles(mem, subtitles, f->n_subtitles);
}

/* Their clock is that of the pictures. */
static void
take_chapters(struct arena *mem, const struct probe *p, struct av_file *f)
{
	const struct chapter *c = p->chapters.rows;
	const size_t n = p->chapters.n < AV_CHAPTERS ? p->chapters.n : AV_CHAPTERS;
	struct av_chapter *out = arena_array(mem, n, sizeof(*out));

	for (size_t i = 0; i < n; i++) {
		const struct chapter_tags *tags = c[i].tags.row;

		out[i] = (struct av_chapter){ ms_of(c[i].start_time) - f->start_ms,
		    ms_of(c[i].end_time) - f->start_ms, tags != NULL ? av_line(mem, tags->title, TITLE_MAX) : NULL };
	}
	f->chapters = out;
	f->n_chapters = av_order_chapters(out, n, f->duration_ms);
}

/* The title of the file.  Ogg has no other place for it than its streams. */
static const char *
file_title(struct arena *mem, const struct probe *p, const struct av_file *f)
{
	const struct format *format = p->format.row;
	const struct format_tags *tags = format != NULL ? format->tags.row : NULL;
	const struct stream *s = p->streams.rows;
	const struct tags *own;

	if (tags != NULL && (tags->title != NULL || tags->upper_title != NULL))
		return av_line(mem, tags->title != NULL ? tags->title : tags->upper_title, TITLE_MAX);
	if (!is_one_of(f->container, "ogg") || p->streams.n == 0 || (own = s[0].tags.row) == NULL)
		return NULL;
	return av_line(mem, own->title != NULL ? own->title : own->upper_title, TITLE_MAX);
}

/* A stream is protected when its code in the container says so. */
static bool
is_encrypted(const struct probe *p)
{
	const struct stream *s = p->streams.rows;

	for (size_t i = 0; i < p->streams.n; i++)
		if (is_one_of(s[i].codec_tag_string, "encv enca drms drmi"))
			return true;
	return false;
}

static bool
is_untranslatable(const struct probe *p)
{
	const struct stream *s = p->streams.rows;

	for (size_t i = 0; i < p->streams.n; i++) {
		const struct side_data *side = s[i].side_data_list.rows;

		for (size_t k = 0; k < s[i].side_data_list.n; k++)
			if (side[k].dv_profile == 5)
				return true;
	}
	return false;
}

static bool
acceptable(struct arena *mem, const struct probe *p, const struct av_file *f, struct fault *fault)
{
	const struct av_video *v = f->video;

	if (is_encrypted(p))
		return fault_set(mem, fault, REASON_ENCRYPTED, "The file is protected.");
	if (v == NULL && f->n_tracks == 0)
		return fault_set(mem, fault, REASON_NO_STREAMS, "The file holds neither picture nor sound.");
	if (v != NULL && !av_decodes(v->codec))
		return fault_set(mem, fault, REASON_CODEC_NOT_ALLOWED, "The video codec %s is not on the list.",
		    v->codec != NULL ? v->codec : "(unknown)");
	if (f->n_tracks > 0 && f->audio == NULL)
		return fault_set(mem, fault, REASON_CODEC_NOT_ALLOWED, "The audio codec %s is not on the list.",
		    f->tracks[0].codec != NULL ? f->tracks[0].codec : "(unknown)");
	if (is_untranslatable(p))
		return fault_set(mem, fault, REASON_CODEC_NOT_ALLOWED,
		    "Dolby Vision profile 5 has colours that cannot be read.");
	if (v != NULL && f->audio == NULL && (v->coded_width <= 0 || v->coded_height <= 0))
		return fault_set(mem, fault, REASON_TRUNCATED, "The size of the picture is not in the file: it is cut "
		    "off.");
	if (v != NULL && ((int64_t)v->coded_width * v->coded_height > PIXELS_MAX || v->coded_width > SIDE_MAX ||
	    v->coded_height > SIDE_MAX))
		return fault_set(mem, fault, REASON_TOO_MANY_PIXELS, "The picture has %d x %d pixels.", v->coded_width,
		    v->coded_height);
	return true;
}

/* Only these keep the length in an index or header; others guess it from the first frames. */
static bool
tells_length(const char *container, const struct av_file *f)
{
	return is_one_of(container, "mov matroska avi wav w64 flac aiff caf mxf asf ogg flv") && f->duration_ms > 0;
}

/* QuickTime leaves the colon out of the zone: "2024-05-01T12:00:00+0200". */
static int64_t
moment_of(struct arena *mem, const char *text)
{
	const size_t n = text != NULL ? strlen(text) : 0;
	struct moment at;

	if (n > 5 && (text[n - 5] == '+' || text[n - 5] == '-') && strspn(text + n - 4, "0123456789") == 4)
		text = arena_printf(mem, "%.*s:%s", (int)n - 2, text, text + n - 2);
	return n > 0 && moment_parse(text, &at) && moment_is_past(at) ? at.ms : 0;
}

/* When it was recorded, by the first that can be true: what a camera says of the place where it was, the creation of
 * the file, a date that is whole.  A wave file keeps day and time apart. */
static int64_t
recorded(struct arena *mem, const struct format_tags *t)
{
	int64_t ms;

	if (t == NULL)
		return 0;
	if ((ms = moment_of(mem, t->quicktime_date)) == 0 && (ms = moment_of(mem, t->creation_time)) == 0 &&
	    (ms = moment_of(mem, t->date)) == 0 && t->date != NULL && t->creation_time != NULL)
		ms = moment_of(mem, arena_printf(mem, "%.10sT%.8sZ", t->date, t->creation_time));
	return ms;
}

static struct av_file *
file_of(struct arena *mem, const char *path, const struct probe *p)
{
	struct av_file *f = NEW(mem, struct av_file);
	const struct format *format = p->format.row;
	struct stat st;

	f->path = arena_copy(mem, path);
	f->cover = -1;
	if (format != NULL) {
		const char *name = format->format_name != NULL ? format->format_name : "";

		f->container = arena_copy_n(mem, name, strcspn(name, ","));
		f->duration_ms = ms_of(format->duration);
		f->start_ms = ms_of(format->start_time);
		f->recorded_ms = recorded(mem, format->tags.row);
		f->bit_rate = format->bit_rate != NULL ? strtoll(format->bit_rate, NULL, 10) : 0;
	}
	f->size = stat(path, &st) == 0 ? st.st_size : 0;
	choose(mem, p, f);
	/* Streams that are not used (subtitles, data) may be longer than what is seen and heard. */
	if (f->duration_ms > 0 && (f->video != NULL || f->audio != NULL)) {
		int64_t v = f->video != NULL && f->video->duration_ms > 0 ?
		    f->video->start_ms + f->video->duration_ms - f->start_ms : 0;
		int64_t a = f->audio != NULL && f->audio->duration_ms > 0 ?
		    f->audio->start_ms + f->audio->duration_ms - f->start_ms : 0;
		bool known = (f->video == NULL || v > 0) && (f->audio == NULL || a > 0);

		if (known && (v > a ? v : a) < f->duration_ms)
			f->duration_ms = v > a ? v : a;
	}
	if (f->duration_ms <= 0)	/* sequences of pictures have a length as a stream alone */
		f->duration_ms = f->video != NULL && f->video->duration_ms > 0 ? f->video->duration_ms : 0;
	take_chapters(mem, p, f);
	f->title = file_title(mem, p, f);
	f->duration_exact = f->container != NULL && tells_length(f->container, f);
	return f;
}

/* The demuxer to force, or NULL. */
static const char *
reader_of(const struct sniff *what, const char *path)
{
	static const char *const moving[][2] = { { "GIF", "gif" }, { "PNG", "apng" }, { "AVIF", "mov" } };

	if (strcmp(what->type, "video") == 0 || strcmp(what->type, "audio") == 0)
		return what->format;
	for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++)
		if (strcmp(what->format, moving[i][0]) == 0 && image_moves_file(path))
			return moving[i][1];
	return NULL;
}

/* What the headers say, NULL with the fault. */
static struct av_file *
read_headers(struct arena *mem, const char *path, struct fault *fault)
{
	struct sniff what = sniff_file(path);
	struct av_tool *t = av_tool(mem, "ffprobe");
	const struct probe *p;
	const char *reader;
	struct av_file *f;

	if (what.reason != REASON_NONE) {
		sniff_fault(mem, &what, fault);
		return NULL;
	}
	reader = reader_of(&what, path);
	if (reader == NULL) {
		fault_set(mem, fault, REASON_UNKNOWN_FORMAT, "The content is neither video nor sound.");
		return NULL;
	}
	av_add(t, "-of", "json", "-show_entries", entries, "-probesize", "50M", "-analyzeduration", "20M");
	t->probing = true;
	av_input(t, path, reader);
	t->jail.wall_seconds = 120;
	if (!av_run(t, fault))
		return NULL;
	p = record_parse(mem, &probe_record, t->result.out);
	if (p == NULL) {
		fault_set(mem, fault, REASON_INTERNAL, "The description of the file could not be read.");
		return NULL;
	}
	f = file_of(mem, path, p);
	return acceptable(mem, p, f, fault) ? f : NULL;
}

const struct av_file *
av_headers(struct arena *mem, const char *path, struct fault *fault)
{
	return read_headers(mem, path, fault);
}

const struct av_file *
av_probe(struct arena *mem, const char *path, struct fault *fault)
{
	struct av_file *f = read_headers(mem, path, fault);
	struct av_video *v;

	if (f == NULL || f->video == NULL)
		return f;
	v = arena_raw(mem, sizeof(*v));
	*v = *f->video;
	f->video = v;
	return av_count(mem, f, v, fault) && av_look(mem, f, v, fault) ? f : NULL;
}

static void
json_video(struct buf *out, const struct av_video *v)
{
	buf_text(out, "{\"codec\":");
	buf_json(out, v->codec);
	buf_text(out, ",\"pixelFormat\":");
	buf_json(out, v->pixel_format);
	buf_printf(out, ",\"codedWidth\":%d,\"codedHeight\":%d,\"width\":%d,\"height\":%d,\"rotation\":%d,"
	    "\"mirrored\":%s,\"interlaced\":%s,\"hdr\":%s,\"frameRate\":\"%lld/%lld\",\"transfer\":", v->coded_width,
	    v->coded_height, v->width, v->height, v->rotation, v->mirrored ? "true" : "false", v->interlaced ? "true" :
	    "false", v->hdr ? "true" : "false", (long long)v->rate.num, (long long)v->rate.den);
	buf_json(out, v->transfer);
	buf_text(out, ",\"primaries\":");
	buf_json(out, v->primaries);
	buf_char(out, '}');
}

const char *
av_json(struct arena *mem, const struct av_file *f)
{
	struct buf out = BUF(mem);

	buf_text(&out, "{\"container\":");
	buf_json(&out, f->container);
	buf_printf(&out, ",\"duration\":%.3f,\"bitrate\":%lld,\"video\":", (double)f->duration_ms / 1000,
	    (long long)f->bit_rate);
	if (f->video != NULL)
		json_video(&out, f->video);
	else
		buf_text(&out, "null");
	buf_text(&out, ",\"unreadable\":[");
	for (int i = 0; i < f->dead.n; i++)
		buf_printf(&out, "%s%d", i > 0 ? "," : "", f->dead.index[i]);
	buf_text(&out, "],\"title\":");
	buf_json(&out, f->title);
	av_tracks_json(&out, f);
	buf_printf(&out, ",\"videoTracks\":%d,\"subtitleTracks\":%d,\"otherTracks\":%d,\"coverArt\":%s}", f->n_video,
	    f->n_subtitles, f->n_data, f->cover >= 0 ? "true" : "false");
	return buf_string(&out);
}
