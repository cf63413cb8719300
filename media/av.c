/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting ffmpeg and ffprobe safely, and telling their failures apart. */
#include <stdlib.h>
#include <string.h>

#include "media/av_run.h"
#include "core/text.h"
#include "media/image.h"

/* Containers of media only: nothing that names other files (hls, concat, dash, sdp, image2) or is a script. */
static const char formats[] =
    "mov,matroska,webm,mpegts,mpeg,avi,flv,ogg,wav,w64,flac,mp3,aac,ac3,eac3,asf,mxf,aiff,amr,au,caf,dv,ape,wv,tta,gif,apng";

/* Decoders by their names in ffmpeg, which for most are those of the codecs. */
static const char decoders[] = "h264,hevc,av1,libdav1d,vp8,vp9,vp6,vp6f,vp6a,mpeg1video,mpeg2video,mpegvideo,mpeg4,"
    "msmpeg4v1,msmpeg4v2,msmpeg4,msmpeg4v3,h261,h263,h263i,h263p,flv,flv1,wmv1,wmv2,wmv3,vc1,theora,mjpeg,mjpegb,"
    "prores,dnxhd,ffv1,huffyuv,ffvhuff,utvideo,rawvideo,v210,v308,v408,v410,qtrle,rpza,svq1,svq3,cinepak,dvvideo,cfhd,"
    "png,gif,apng,bmp,aac,aac_latm,mp3,mp3float,mp2,mp2float,mp1,mp1float,ac3,eac3,dca,dts,truehd,mlp,flac,alac,vorbis,opus,"
    "wmav1,wmav2,wmapro,wmalossless,wmavoice,amrnb,amrwb,amr_nb,amr_wb,gsm,gsm_ms,speex,libspeex,nellymoser,ape,"
    "wavpack,tta,adpcm_ima_wav,adpcm_ima_qt,adpcm_ms,adpcm_swf,adpcm_yamaha,g722,adpcm_g722,g726,adpcm_g726,dvaudio,"
    "s302m,pcm_alaw,pcm_mulaw,pcm_bluray,pcm_dvd,pcm_s8,pcm_u8,pcm_s16le,pcm_s16be,pcm_u16le,pcm_u16be,pcm_s24le,"
    "pcm_s24be,pcm_u24le,pcm_u24be,pcm_s32le,pcm_s32be,pcm_u32le,pcm_u32be,pcm_s64le,pcm_s64be,pcm_f32le,pcm_f32be,"
    "pcm_f64le,pcm_f64be,pcm_s16le_planar,pcm_s16be_planar,pcm_s24le_planar,pcm_s32le_planar,pcm_s8_planar";

/* Subtitles are described and copied, and hardly ever decoded: ffprobe opens the decoder of each track all the same. */
enum { SUBTITLES_BYTES = 64 << 20 };
#define SUBTITLES ",subrip,srt,ass,ssa,mov_text,webvtt,text,dvbsub,dvdsub,pgssub,xsub,cc_dec,libzvbi_teletextdec"

static struct { void (*call)(void *user); void *user; } life;

void
av_on_life(void (*call)(void *user), void *user)
{
	life.call = call;
	life.user = user;
}

/* Each report holds one such line; a stuck program is found out by the jail, which compares them. */
void
av_life(const char *line)
{
	if (life.call != NULL && strncmp(line, "out_time_us=", 12) == 0)
		life.call(life.user);
}

static void
on_progress(void *user, const char *line)
{
	av_life(line);
}

bool
av_decodes(const char *codec)
{
	size_t n = codec != NULL ? strlen(codec) : 0;

	for (const char *at = decoders; n > 0 && (at = strstr(at, codec)) != NULL; at += n)
		if ((at == decoders || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

static bool
is_one_of(const char *text, const char *list)
{
	return text != NULL && word_in(list, text, strlen(text));
}

bool
av_is_text(const char *codec)
{
	return is_one_of(codec, "subrip srt ass ssa mov_text webvtt text");
}

bool
av_is_animation(const char *container)
{
	return container != NULL && (strcmp(container, "gif") == 0 || strcmp(container, "apng") == 0);
}

void
av_add_all(struct av_tool *t, const char *const *args)
{
	for (; *args != NULL; args++) {
		if (t->n + 1 >= sizeof(t->argv) / sizeof(t->argv[0]))
			abort();
		t->argv[t->n++] = *args;
	}
}

struct av_tool *
av_tool(struct arena *mem, const char *program)
{
	struct av_tool *t = NEW(mem, struct av_tool);

	t->mem = mem;
	t->jail = (struct jail){ .argv = t->argv, .read = t->read, .in = -1, .memory = INT64_C(8) << 30,
	    .on_progress = on_progress, .threads_only = true };
	av_add(t, program, "-hide_banner", "-v", "error");
	if (strcmp(program, "ffmpeg") == 0)
		av_add(t, "-nostdin", "-y");
	return t;
}

void
av_input(struct av_tool *t, const char *path, const char *container)
{
	av_add(t, "-protocol_whitelist", "file,pipe", "-format_whitelist", formats, "-codec_whitelist",
	    t->probing ? arena_printf(t->mem, "%s" SUBTITLES, decoders) : decoders);
	/* A hole in a broadcast stays a hole, up to ten minutes: by itself ffmpeg takes ten seconds for a new clock. */
	if (container != NULL && strncmp(container, "mpeg", 4) == 0 && strcmp(t->argv[0], "ffmpeg") == 0)
		av_add(t, "-dts_delta_threshold", "600");
	/* As of GIF, and in browsers: a frame that would hardly be seen stays for a tenth of a second. */
	if (container != NULL && strcmp(container, "apng") == 0)
		av_add(t, "-max_fps", "90", "-default_fps", "10");
	if (av_is_animation(container) && strcmp(t->argv[0], "ffmpeg") == 0)
		av_add(t, "-t", arena_printf(t->mem, "%d", IMAGE_MOVES_MS / 1000));
	if (container != NULL)
		av_add(t, "-f", container);
	av_add(t, "-i", arena_printf(t->mem, "file:%s", path));
	if (t->n_read + 1 >= sizeof(t->read) / sizeof(t->read[0]))
		abort();
	t->read[t->n_read++] = path;
}

void
av_captions_input(struct av_tool *t, const char *path)
{
	av_add(t, "-protocol_whitelist", "file,pipe", "-format_whitelist", "webvtt", "-codec_whitelist", "webvtt", "-f",
	    "webvtt", "-i", arena_printf(t->mem, "file:%s", path));
	if (t->n_read + 1 >= sizeof(t->read) / sizeof(t->read[0]))
		abort();
	t->read[t->n_read++] = path;
}

/* What ffmpeg says of our command or of the file, and what it means.  The first match counts. */
static const struct { const char *text; enum reason reason; const char *detail; } sayings[] = {
#define OUR_COMMAND(text) { text, REASON_INTERNAL, "ffmpeg did not understand its own command." }
	OUR_COMMAND("Unrecognized option"),
	OUR_COMMAND("Option not found"),
	OUR_COMMAND("Missing argument for option"),
	OUR_COMMAND("Error splitting the argument list"),
	OUR_COMMAND("No such filter"),
	OUR_COMMAND("ilter not found"),
	OUR_COMMAND("Unknown encoder"),
	OUR_COMMAND("Encoder not found"),
	OUR_COMMAND("Unknown input format"),
	OUR_COMMAND("Requested output format"),
#undef OUR_COMMAND
	{ "Codec (", REASON_CODEC_NOT_ALLOWED, "A codec in this file is not on the list." },
	{ "not on whitelist", REASON_FORMAT_NOT_ALLOWED, "This container is not on the list." },
	{ "moov atom not found", REASON_TRUNCATED, "The index of the file is missing: it is cut off." },
	{ "partial file", REASON_TRUNCATED, "The file is cut off." },
	{ "EBML header parsing failed", REASON_TRUNCATED, "The header of the file is damaged." },
	{ "End of file", REASON_TRUNCATED, "The file is cut off." },
	{ "Picture size", REASON_TOO_MANY_PIXELS, "The picture is larger than can be decoded." },
	{ "", REASON_DECODE_FAILED, "The content could not be decoded." },
};

bool
av_run(struct av_tool *t, struct fault *fault)
{
	size_t i = 0;

	jail_run(t->mem, &t->jail, &t->result);
	if (fault_of_jail(t->mem, &t->jail, &t->result, fault))
		return true;
	if (t->result.end != JAIL_EXITED || fault->reason != REASON_CRASHED)
		return false;
	while (strstr(t->result.err, sayings[i].text) == NULL)
		i++;
	fault->reason = sayings[i].reason;
	fault->detail = sayings[i].detail;
	return false;
}

const char *
av_flat_filters(const struct av_video *v)
{
	static const char *const clear[] = { "bgra", "rgba", "argb", "abgr", "rgba64", "bgra64", "gbrap", "pal8", "ya8",
	    "ya16", "yuva" };

	for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++)
		if (strncmp(v->pixel_format, clear[i], strlen(clear[i])) == 0)
			return "format=gbrap,split[clear][below];[below]lutrgb=r=255:g=255:b=255:a=255[white];"
			    "[white][clear]overlay=format=gbrp,";
	return "";
}

bool
av_pcm(struct arena *mem, const struct av_file *file, const struct av_pcm *pcm, struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");

	if (file->audio == NULL)
		return fault_set(mem, fault, REASON_NO_STREAMS, "The file has no sound.");
	/* However much of it is damaged: what there is has been published. */
	av_add(t, "-progress", "pipe:3", "-max_error_rate", "1");
	if (pcm->from_ms > 0)
		av_add(t, "-ss", arena_printf(mem, "%.3f", (double)pcm->from_ms / 1000));
	av_input(t, file->path, file->container);
	if (pcm->length_ms > 0)
		av_add(t, "-t", arena_printf(mem, "%.3f", (double)pcm->length_ms / 1000));
	av_add(t, "-map", arena_printf(mem, "0:%d", file->audio->index), "-af",
	    pcm->from_ms > 0 ? "aresample=async=1" : "aresample=async=1:first_pts=0", "-ac", "1", "-ar",
	    arena_printf(mem, "%d", pcm->rate), "-f", "s16le", "pipe:1");
	t->jail.on_out = pcm->take;
	t->jail.user = pcm->user;
	t->jail.wall_seconds = 3600 + (int)(file->duration_ms / 1000);
	return av_run(t, fault) || (t->result.end == JAIL_STOPPED);
}

const char *
av_subtitle_path(struct arena *mem, const char *dir, const struct av_subtitle *s)
{
	return arena_printf(mem, "%s/subtitles-%d.txt", dir, s->index);
}

/* Copied, so that no decoder trips over an encoding; that of MP4 has its texts in boxes, which are always UTF-8.  Of a
 * film with few words, the picture shows that there is progress. */
bool
av_subtitles(struct arena *mem, const struct av_file *file, const char *dir, const struct av_subtitle *const *of,
    size_t n,
    struct fault *fault)
{
	struct av_tool *t = av_tool(mem, "ffmpeg");
	const int main = file->video != NULL ? file->video->index : file->audio->index;

	av_add(t, "-progress", "pipe:3");
	t->probing = true;
	av_input(t, file->path, file->container);
	av_add(t, "-map", arena_printf(mem, "0:%d", main), "-c", "copy", "-f", "null", "pipe:1");
	for (size_t i = 0; i < n; i++) {
		const char *codec = of[i]->codec, *form = is_one_of(codec, "ass ssa") ? "ass" :
		    is_one_of(codec, "webvtt") ? "webvtt" : "srt";

		av_add(t, "-map", arena_printf(mem, "0:%d", of[i]->index), "-c:s", is_one_of(codec, "mov_text") ?
		    "srt" :
		    "copy", "-f", form, av_subtitle_path(mem, dir, of[i]));
	}
	t->jail.write_dir = dir;
	t->jail.file_size = SUBTITLES_BYTES;
	t->jail.wall_seconds = 7200;
	return av_run(t, fault);
}
