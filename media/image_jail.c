/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts kinothek-image in the jail.  Its answers come from a process that has read a stranger's file: all are
 * checked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/disk.h"
#include "media/image.h"
#include "core/jail.h"
#include "core/scratch.h"

/* Address space that AddressSanitizer reserves is not memory that is used. */
#ifdef KINOTHEK_ARENA_MALLOC
#define MEMORY (INT64_C(1) << 46)
#else
#define MEMORY (INT64_C(4) << 30)
#endif

#define FILE_MAX (INT64_C(64) << 30)

/* Where Debian's LibreOffice keeps its settings; what is not there is left out. */
static const char *const readable[] = { "/etc/libreoffice", "/var/lib/libreoffice", "/var/spool/libreoffice", NULL };

static const struct field image_location_fields[] = {
	FIELD(struct image_location, latitude, .required = true, .doc = "Degrees, south is negative"),
	FIELD(struct image_location, longitude, .required = true, .doc = "Degrees, west is negative"),
};
static const struct record image_location_record = RECORD("ImageLocation", struct image_location,
    image_location_fields);

static const struct field image_facts_fields[] = {
	FIELD(struct image_facts, width, .min = 1, .max = IMAGE_SIDE_MAX, .doc = "Pixels, upright"),
	FIELD(struct image_facts, height, .min = 1, .max = IMAGE_SIDE_MAX, .doc = "Pixels, upright"),
	FIELD(struct image_facts, orientation, .min = 1, .max = 8, .doc = "EXIF orientation"),
	FIELD(struct image_facts, depth, .doc = "Bits per sample"),
	FIELD(struct image_facts, colorspace, .max = 20, .doc = "sRGB, Gray, CMYK, Lab or RGB"),
	FIELD(struct image_facts, has_alpha, .doc = "Has transparency"),
	FIELD(struct image_facts, has_color_profile, .doc = "Carries an ICC profile"),
	FIELD(struct image_facts, is_animated, .doc = "Has more than one frame or page"),
	FIELD(struct image_facts, camera_make, .max = IMAGE_TEXT_MAX, .doc = "From EXIF"),
	FIELD(struct image_facts, camera_model, .max = IMAGE_TEXT_MAX, .doc = "From EXIF"),
	FIELD(struct image_facts, taken_at, .max = IMAGE_TEXT_MAX, .doc = "From EXIF, in the camera's time"),
	FIELD(struct image_facts, taken_offset, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "What the camera's time is ahead of UTC"),
	FIELD(struct image_facts, lens_model, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "From EXIF"),
	FIELD(struct image_facts, title, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "From IPTC or XMP"),
	FIELD(struct image_facts, caption, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "From IPTC, XMP or EXIF"),
	FIELD(struct image_facts, creator, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "From IPTC, XMP or EXIF"),
	FIELD(struct image_facts, rights, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "From IPTC, XMP or EXIF"),
	FIELD(struct image_facts, keywords, .max = IMAGE_KEYWORDS, .on = OMIT_NULL, .doc = "From IPTC or XMP"),
	FIELD(struct image_facts, location, .on = OMIT_NULL, .of = &image_location_record, .doc = "Where it was taken, from EXIF"),
	FIELD(struct image_facts, unread, .on = HIDDEN, .doc = "What of that cannot be read"),
};
const struct record image_facts_record = RECORD("ImageFacts", struct image_facts, image_facts_fields);

static const struct field image_words_fields[] = {
	FIELD(struct image_words, title, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "Title"),
	FIELD(struct image_words, caption, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "Description"),
	FIELD(struct image_words, creator, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "Who has made it"),
	FIELD(struct image_words, rights, .max = IMAGE_TEXT_MAX, .on = OMIT_NULL, .doc = "Whose it is"),
	FIELD(struct image_words, keywords, .max = IMAGE_KEYWORDS, .on = OMIT_NULL, .doc = "What it is about"),
};
static const struct record image_words_record = RECORD("ImageWords", struct image_words, image_words_fields);

static struct fault
fault_by(enum reason reason)
{
	return (struct fault){ .reason = reason };
}

static struct fault
run(struct arena *mem, const char *const *args, int in, const char *dir, int seconds, struct jail_result *result)
{
	const char *argv[8] = { jail_helper(mem, "kinothek-image") }, *const env[] = { "PATH=/usr/bin:/bin",
	    "LANG=C.UTF-8", dir == NULL ? "HOME=/nonexistent" : arena_printf(mem, "HOME=%s", dir),
	    dir == NULL ? "MAGICK_TMPDIR=/nonexistent" : arena_printf(mem, "MAGICK_TMPDIR=%s", dir),
	    "OMP_NUM_THREADS=1", "SAL_USE_VCLPLUGIN=svp", dir == NULL ? "TMPDIR=/nonexistent" :
	    arena_printf(mem, "TMPDIR=%s", dir), NULL };
	/* 0 where no scratch is open: the limit of the jail. */
	const int64_t room = scratch_free();
	const struct jail jail = { .argv = argv, .read = readable, .write_dir = dir, .env = env, .in = in,
	    .cpu_seconds = seconds, .wall_seconds = seconds, .idle_seconds = seconds, .memory = MEMORY,
	    .file_size = room < FILE_MAX ? room : FILE_MAX, .threads_only = true };
	struct fault fault;
	size_t i;

	for (i = 0; i < 6 && args[i] != NULL; i++)
		argv[i + 1] = args[i];
	if (jail_run(mem, &jail, result))
		return fault_by(REASON_NONE);
	fault_of_jail(mem, &jail, result, &fault);
	if (result->end == JAIL_EXITED && fault.reason == REASON_CRASHED && result->status > IMAGE_EXIT &&
	    result->status < IMAGE_EXIT + REASON_COUNT) {
		fault.reason = (enum reason)(result->status - IMAGE_EXIT);
		fault.detail = NULL;
	}
	return fault;
}

struct fault
image_helper(struct arena *mem, const char *const *args, const char *path, const char *dir, const char **out)
{
	struct jail_result result = { 0 };
	struct fault fault;
	int in = open(path, O_RDONLY | O_CLOEXEC);

	*out = NULL;
	if (in == -1) {
		fault_of_errno(mem, errno, &fault, "The file could not be read.");
		return fault;
	}
	fault = run(mem, args, in, dir, 600, &result);
	close(in);
	*out = result.out;
	return fault;
}

/* Refuses by the header what would be too much to decode. */
static enum reason
check_size(const char *path, int64_t max_pixels)
{
	int64_t width, height;
	const char *mime_type;

	if (!image_header_file(path, &width, &height, &mime_type))
		return REASON_TRUNCATED;
	if (width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX || width * height > max_pixels)
		return REASON_TOO_MANY_PIXELS;
	return REASON_NONE;
}

static struct fault
read_facts(struct arena *mem, const char *out, struct image_facts **facts)
{
	*facts = out == NULL ? NULL : record_parse(mem, &image_facts_record, out);
	return fault_by(*facts == NULL || (*facts)->width < 1 || (*facts)->height < 1 ||
	    (*facts)->width > IMAGE_SIDE_MAX || (*facts)->height > IMAGE_SIDE_MAX ? REASON_OUTPUT_INVALID :
	    REASON_NONE);
}

struct fault
image_probe(struct arena *mem, const char *path, const char *coder, int64_t max_pixels, struct image_facts **facts)
{
	const char *pixels = arena_printf(mem, "%" PRId64, max_pixels), *out;
	struct fault fault = fault_by(check_size(path, max_pixels));

	*facts = NULL;
	if (fault.reason == REASON_NONE)
		fault = image_helper(mem, (const char *const[]){ "probe", pixels, coder, NULL }, path, NULL, &out);
	return fault.reason == REASON_NONE ? read_facts(mem, out, facts) : fault;
}

/* The bytes as a file that has no name. */
static int
file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("picture", MFD_CLOEXEC);

	if (fd != -1 && write(fd, bytes, n) != (ssize_t)n) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct fault
image_xmp(struct arena *mem, const void *bytes, size_t n, const char **members)
{
	const char *const args[] = { "xmp", "1", "XMP", NULL };
	struct jail_result result = { 0 };
	const struct image_words *w;
	struct buf json = BUF(mem);
	struct fault fault;
	int in = file_of(bytes, n);

	*members = "";
	if (in == -1) {
		fault_of_errno(mem, errno, &fault, "What is written into the file about it could not be kept in "
		    "memory.");
		return fault;
	}
	fault = run(mem, args, in, NULL, 60, &result);
	close(in);
	if (fault.reason != REASON_NONE)
		return fault;
	w = record_parse(mem, &image_words_record, result.out);
	if (w == NULL)
		return fault_by(REASON_OUTPUT_INVALID);
	record_render(&json, &image_words_record, w, false);
	if (json.len > 2)
		*members = arena_printf(mem, ",%.*s", (int)json.len - 2, json.text + 1);
	return fault;
}

/* "kind name type width height": the name is one of ours, and the file is what the line says. */
static bool
parse_file(struct arena *mem, const char *line, const char *dir, struct image_file *f)
{
	char kind[8], name[32], type[16];
	int64_t width, height;
	const char *seen;

	if (sscanf(line, "%7s %31s %15s %" SCNd64 " %" SCNd64, kind, name, type, &width, &height) != 5)
		return false;
	if (name[0] == '.' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.")] != '\0')
		return false;
	*f = (struct image_file){ arena_copy(mem, name), strcmp(kind, "poster") == 0 ? "poster" : "image" };
	if (!image_header_file(arena_printf(mem, "%s/%s", dir, name), &f->width, &f->height, &seen))
		return false;
	f->mime_type = seen;
	return f->width == width && f->height == height && strcmp(seen, type) == 0;
}

static struct fault
read_files(struct arena *mem, const char *out, const char *dir, struct image_files *files)
{
	const char *line;

	files->n = 0;
	for (line = out; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
		if (strchr(line, '\n') == NULL || files->n == sizeof(files->at) / sizeof(files->at[0]) ||
		    !parse_file(mem, line, dir, &files->at[files->n]))
			return fault_by(REASON_OUTPUT_INVALID);
		files->n++;
	}
	return fault_by(files->n > 0 ? REASON_NONE : REASON_OUTPUT_INVALID);
}

struct fault
image_variants(struct arena *mem, const char *path, const char *coder, int64_t max_pixels, const char *dir,
    struct image_files *files)
{
	const char *pixels = arena_printf(mem, "%" PRId64, max_pixels), *out;
	struct fault fault = fault_by(check_size(path, max_pixels));

	files->n = 0;
	if (fault.reason == REASON_NONE)
		fault = image_helper(mem, (const char *const[]){ "variants", pixels, coder, NULL }, path, dir, &out);
	return fault.reason == REASON_NONE ? read_files(mem, out, dir, files) : fault;
}

struct fault
image_frames(struct arena *mem, const char *path, int64_t max_pixels, const char *dir)
{
	const char *pixels = arena_printf(mem, "%" PRId64, max_pixels), *out;
	struct fault fault = fault_by(check_size(path, max_pixels));

	return fault.reason != REASON_NONE ? fault :
	    image_helper(mem, (const char *const[]){ "frames", pixels, "WEBP", NULL }, path, dir, &out);
}

struct fault
image_pdf(struct arena *mem, const char *path, const char *coder, int64_t max_pixels, const char *dir)
{
	const char *pixels = arena_printf(mem, "%" PRId64, max_pixels), *out;

	return image_helper(mem, (const char *const[]){ "pages", pixels, coder, NULL }, path, dir, &out);
}

struct fault
image_clean(struct arena *mem, const struct conf *conf, const void *bytes, size_t n, struct image_clean *out)
{
	static bool asked;	/* the machine, once per process */
	const int64_t most = conf->image_max_pixels < IMAGE_CLEAN_PIXELS ? conf->image_max_pixels : IMAGE_CLEAN_PIXELS;
	struct jail_result result = { 0 };
	const char *type, *coder;
	int64_t width, height;
	struct fault fault;
	int in;

	if (!image_header(bytes, n, &width, &height, &type))
		return fault_by(REASON_TRUNCATED);
	coder = strcmp(type, "image/png") == 0 ? "PNG" : strcmp(type, "image/jpeg") == 0 ? "JPEG" : NULL;
	if (coder == NULL)
		return fault_by(REASON_FORMAT_NOT_ALLOWED);
	if (width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX || width * height > most)
		return fault_by(REASON_TOO_MANY_PIXELS);
	if (!asked)
		jail_check(mem, strcmp(conf->sandbox, "degraded") == 0);
	asked = true;
	if (strcmp(coder, "PNG") == 0)
		bytes = image_bare_png(mem, bytes, &n);
	in = file_of(bytes, n);
	if (in == -1) {
		fault_of_errno(mem, errno, &fault, "The picture could not be kept in memory.");
		return fault;
	}
	fault = run(mem, (const char *const[]){ "clean", arena_printf(mem, "%" PRId64, most), coder, NULL }, in, NULL,
	    IMAGE_CLEAN_SECONDS, &result);
	close(in);
	if (fault.reason != REASON_NONE)
		return fault;
	*out = (struct image_clean){ .bytes = result.out, .n = result.out_size };
	if (!image_header(out->bytes, out->n, &out->width, &out->height, &out->mime_type) ||
	    strcmp(out->mime_type, type) != 0 || out->width > IMAGE_CLEAN_SIDE || out->height > IMAGE_CLEAN_SIDE ||
	    out->n > IMAGE_CLEAN_BYTES)
		return fault_by(REASON_OUTPUT_INVALID);
	return fault;
}

struct fault
image_text(struct arena *mem, const char *text, const char *dir)
{
	const char *path = arena_printf(mem, "%s/preview.txt", dir), *out, *seen;
	int64_t width, height;
	struct fault fault;

	if (!disk_put(path, text, strnlen(text, 16384))) {
		fault_of_errno(mem, errno, &fault, "The text could not be stored.");
		return fault;
	}
	fault = image_helper(mem, (const char *const[]){ "text", "10000000", NULL }, path, dir, &out);
	if (fault.reason == REASON_NONE && !image_header_file(arena_printf(mem, "%s/preview.png", dir), &width, &height,
	    &seen))
		return fault_by(REASON_OUTPUT_INVALID);
	return fault;
}
