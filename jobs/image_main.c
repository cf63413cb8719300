/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-image: reads one stranger's picture or office file.  Started in the jail only, see media/image.h; the file
 * is standard input, what it makes goes to the working directory or standard output, what it finds out to standard
 * output.  The exit status is IMAGE_EXIT and the number of the reason, 0 when all went well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "media/image.h"
#include "media/office.h"
#include "core/text.h"

#define TEXT_MAX (7u << 20)

static const char usage[] =
    "usage: kinothek-image probe|variants|frames|pages|clean|xmp MAX-PIXELS CODER <picture\n"
    "       kinothek-image text MAX-PIXELS <text\n"
    "       kinothek-image office FORMAT <file\n"
    "       kinothek-image pdf PLACE-OF-LIBREOFFICE FORMAT <file\n";

static enum reason
office(const void *bytes, size_t n, const char *format)
{
	struct buf text = BUF(arena_new(512u << 20));
	enum reason reason = office_text(bytes, n, format, TEXT_MAX, &text);

	if (reason == REASON_NONE)
		fwrite(buf_string(&text), 1, text.len, stdout);
	return reason;
}

static enum reason
picture(void *bytes, size_t n, int argc, char **argv)
{
	int64_t max_pixels;
	enum reason reason;

	if (!int_parse(argv[2], &max_pixels) || max_pixels < 1)
		return REASON_INTERNAL;
	reason = image_start(max_pixels);
	if (reason != REASON_NONE)
		return reason;
	if (strcmp(argv[1], "text") == 0)
		return image_draw_text(bytes, n);
	if (strcmp(argv[1], "frames") == 0)
		return image_make_frames(bytes, n);
	if (strcmp(argv[1], "pages") == 0)
		return image_make_pdf(bytes, n, argv[3], max_pixels);
	if (strcmp(argv[1], "clean") == 0)
		return image_print_clean(bytes, n, argv[3]);
	return strcmp(argv[1], "probe") == 0 ? image_print_facts(bytes, n, argv[3]) : image_make_variants(bytes, n,
	    argv[3]);
}

static enum reason
work(int argc, char **argv)
{
	struct stat st;
	void *bytes;

	if (fstat(0, &st) == -1 || !S_ISREG(st.st_mode))
		return REASON_INTERNAL;
	if (st.st_size == 0)
		return REASON_EMPTY_FILE;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, 0);
	if (bytes == MAP_FAILED)
		return REASON_MEMORY_LIMIT;
	if (strcmp(argv[1], "office") == 0)
		return office(bytes, (size_t)st.st_size, argv[2]);
	if (strcmp(argv[1], "xmp") == 0)
		return image_print_xmp(bytes, (size_t)st.st_size);
	if (strcmp(argv[1], "pdf") == 0)
		return office_pdf(argv[2], argv[3]);
	return picture(bytes, (size_t)st.st_size, argc, argv);
}

int
main(int argc, char **argv)
{
	enum reason reason;

	if (argc < 3 || (argc < 4 && strcmp(argv[1], "text") != 0 && strcmp(argv[1], "office") != 0)) {
		fputs(usage, stderr);
		return EX_USAGE;
	}
	reason = work(argc, argv);
	if (fflush(stdout) != 0)
		reason = REASON_INTERNAL;
	_exit(reason == REASON_NONE ? 0 : IMAGE_EXIT + (int)reason);	/* everything goes at once with the process */
}
