/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pictures, in three parts:
 * image_header.c, image_moves.c and image_tiff.c read headers, decode nothing and need no library: for every program.
 * image_jail.c starts kinothek-image in the jail and reads its answers: for the jobs, and for thumbnails in the API.
 * image.c decodes and draws with ImageMagick, image_frames.c with libwebp: linked into kinothek-image alone.
 */
#ifndef MEDIA_IMAGE_H
#define MEDIA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"
#include "core/fault.h"
#include "core/record.h"

/* Longest side of what is read, in either direction, whatever the setting image.max_pixels says. */
#define IMAGE_SIDE_MAX 65000

/* Width and height as stored (before any turn that EXIF asks for), and the media type ("image/png"), of the JPEG, PNG,
 * GIF, WebP, TIFF, BMP, HEIC or AVIF file in memory.  False: none of these, or its header is cut off or impossible. */
bool image_header(const void *bytes, size_t n, int64_t *width, int64_t *height, const char **mime_type);
/* The PNG without chunks that say nothing of how it looks: packed text may be a thousand times as long as the file. */
const void *image_bare_png(struct arena *, const void *bytes, size_t *n);
bool image_header_file(const char *path, int64_t *width, int64_t *height, const char **mime_type);

/* The file in memory, of which only the parts that are looked at are read: for munmap(), with *n.  NULL and 0: it could
 * not be opened, or is empty. */
void *image_map(const char *path, size_t *n);

/* Has it more than one frame, to be shown one after the other?  GIF, PNG, WebP, AVIF. */
bool image_moves(const void *bytes, size_t n);
bool image_moves_file(const char *path);

/* Of an animation, so much is shown: ms, frames. */
enum { IMAGE_MOVES_MS = 60000, IMAGE_FRAMES_MAX = 3000 };

/* An animated WebP as animated PNG, {dir}/frames.png; of what is longer, a little more than is shown. */
struct fault image_frames(struct arena *, const char *path, int64_t max_pixels, const char *dir);

/* Pages of a TIFF, at most `max` of them: reduced pictures and masks are none.  Returns how many; 0: no TIFF. */
struct image_page { uint64_t directory; int64_t width, height; };	/* directory: where it lies in the file */
size_t image_pages(const void *bytes, size_t n, struct image_page *, size_t max);
size_t image_pages_file(const char *path, struct image_page *, size_t max);
/* Makes it the first page of the file in memory: readers would walk through all others to get there. */
void image_page_first(void *bytes, size_t n, const struct image_page *);

/* All pages of a TIFF as dir/document.pdf, the long side of each at most IMAGE_PAGE_SIDE. */
enum { IMAGE_PAGE_SIDE = 2400, IMAGE_PAGES_MAX = 10000 };
struct fault image_pdf(struct arena *, const char *path, const char *coder, int64_t max_pixels, const char *dir);

/* What is known of a picture without decoding it; the record is the JSON of metadata "file". */
struct image_facts {
	int64_t width, height;			/* upright */
	int64_t orientation;			/* EXIF, 1 to 8; 1 when it says nothing or nonsense */
	int64_t depth;				/* bits per sample */
	const char *colorspace;			/* "sRGB", "Gray", "CMYK", … */
	bool has_alpha, has_color_profile, is_animated;
	const char *camera_make, *camera_model, *taken_at;	/* from EXIF; NULL: not said */
	const char *taken_offset;		/* "+02:00", as EXIF has it; NULL: not said */
	const char *lens_model;
	const char *title, *caption, *creator, *rights;	/* from IPTC, or else XMP, or else EXIF */
	struct strings keywords;		/* from IPTC, or else XMP; none: at == NULL */
	struct nested location;			/* struct image_location, from EXIF */
	/* "IPTC", "XMP", which are there and cannot be read to their end; not part of the metadata; at == NULL: none */
	struct strings unread;
};
/* What people have written about it, of XMP alone. */
struct image_words { const char *title, *caption, *creator, *rights; struct strings keywords; };
struct image_location { double latitude, longitude; };	/* degrees; south and west are negative */
/* Bytes of one text of a camera or of people that is kept. */
enum { IMAGE_TEXT_MAX = 500, IMAGE_KEYWORDS = 100 };
extern const struct record image_facts_record;

/* Looks at the picture with the coder of sniff.h.  REASON_NONE and *facts, or why not.  More than max_pixels, or a side
 * beyond IMAGE_SIDE_MAX, is REASON_TOO_MANY_PIXELS before anything is decoded. */
struct fault image_probe(struct arena *, const char *path, const char *coder, int64_t max_pixels,
    struct image_facts **facts);

/* Members of JSON, each with a comma before it, for what XMP says that stands in a file of another kind.
 * REASON_DECODE_FAILED: it cannot be read. */
struct fault image_xmp(struct arena *, const void *bytes, size_t n, const char **members);

/* A file that was made, in the directory it was asked into. */
struct image_file { const char *name, *kind, *mime_type; int64_t width, height; };	/* kind: "image", "poster" */
struct image_files { struct image_file at[16]; size_t n; };

/* Makes upright sRGB forms without metadata in `dir`: longest side 320, 640, 1600 and 3200 (never above the
 * original's), each as WebP (keeps transparency) and JPEG (laid on white), and a poster of at most 640.  The first
 * frame of an animation.  Every file has been read back. */
struct fault image_variants(struct arena *, const char *path, const char *coder, int64_t max_pixels, const char *dir,
    struct image_files *);

/*
 * A client's picture made anew: decoded to its end, upright, sRGB, without anything that was not drawn, its long side
 * at most IMAGE_CLEAN_SIDE.  PNG stays PNG and JPEG
 * JPEG; others are refused.  For a process that somebody waits for: it takes at most
 * IMAGE_CLEAN_SECONDS, and nothing but memory.
 */
enum { IMAGE_CLEAN_SIDE = 3840, IMAGE_CLEAN_SECONDS = 5, IMAGE_CLEAN_PIXELS = 50000000, IMAGE_CLEAN_BYTES = 10 << 20 };
struct image_clean { const char *bytes; size_t n; int64_t width, height; const char *mime_type; };
struct fault image_clean(struct arena *, const struct conf *, const void *bytes, size_t n, struct image_clean *);

/* Draws the first lines of a text (UTF-8) as a page, dir/preview.png. */
struct fault image_text(struct arena *, const char *text, const char *dir);

/* Runs kinothek-image with these arguments: the file as standard input, `dir` (or NULL) to write to.  Its standard
 * output comes back in *out. */
struct fault image_helper(struct arena *, const char *const *args, const char *path, const char *dir, const char **out);

/* Its exit status, unless that is 0: this plus the reason.  A library that ends the program says something else. */
enum { IMAGE_EXIT = 90 };

/* For kinothek-image alone; all of them work on `bytes`, write to the working directory and print to standard
 * output. */
enum reason image_start(int64_t max_pixels);
enum reason image_print_facts(const void *bytes, size_t n, const char *coder);
enum reason image_make_frames(const void *bytes, size_t n);
enum reason image_make_pdf(void *bytes, size_t n, const char *coder, int64_t max_pixels);
enum reason image_make_variants(const void *bytes, size_t n, const char *coder);
enum reason image_draw_text(const char *text, size_t n);
enum reason image_print_xmp(const void *bytes, size_t n);
enum reason image_print_clean(const void *bytes, size_t n, const char *coder);

#endif
