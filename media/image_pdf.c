/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pages of a TIFF as a PDF of JPEG pictures.  Runs in the jail. */
#include <stdio.h>
#include <string.h>

#include "media/image_wand.h"

/* A PDF that is being written: objects 1 (catalogue) and 2 (pages), then page, picture and drawing of each page. */
struct pdf { FILE *f; long at[3 * IMAGE_PAGES_MAX + 3]; int objects, pages; };

static void
pdf_object(struct pdf *p, int number)
{
	p->at[number] = ftell(p->f);
	fprintf(p->f, "%d 0 obj\n", number);
	p->objects = number > p->objects ? number : p->objects;
}

/* At the resolution that the picture names, if that is one of a scanner or fax; it may have been scaled since. */
static double
points_per_pixel(MagickWand *w, const struct image_page *source)
{
	const int64_t long_side = source->width > source->height ? source->width : source->height;
	const size_t now = MagickGetImageWidth(w) > MagickGetImageHeight(w) ? MagickGetImageWidth(w) :
	    MagickGetImageHeight(w);
	double x = 0, y = 0;

	MagickGetImageResolution(w, &x, &y);
	if (MagickGetImageUnits(w) == PixelsPerCentimeterResolution)
		x *= 2.54;
	return 72 / (x >= 50 && x <= 2400 ? x : 150) * (double)long_side / (double)now;
}

/* As many components as its frame header says. */
static bool
is_gray(const unsigned char *jpeg, size_t n)
{
	for (size_t at = 2; at + 10 <= n && jpeg[at] == 0xff; at += 2 + ((size_t)jpeg[at + 2] << 8 | jpeg[at + 3]))
		if (jpeg[at + 1] >= 0xc0 && jpeg[at + 1] <= 0xc2)
			return jpeg[at + 9] == 1;
	return false;
}

static bool
pdf_page(struct pdf *p, MagickWand *w, double points)
{
	const double width = (double)MagickGetImageWidth(w) * points, height = (double)MagickGetImageHeight(w) * points;
	const int page = 3 + 3 * p->pages;
	char draw[100];
	unsigned char *jpeg;
	size_t n;

	/* The name by which it was read would choose the format. */
	MagickSetFilename(w, "JPEG:page");
	MagickSetImageFilename(w, "JPEG:page");
	if (!MagickSetImageFormat(w, "JPEG"))
		return false;
	MagickSetImageCompressionQuality(w, 84);
	jpeg = MagickGetImageBlob(w, &n);
	if (jpeg == NULL)
		return false;
	pdf_object(p, page);
	fprintf(p->f, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.2f %.2f]/Resources<</XObject<</P %d 0 R>>>>/Contents "
	    "%d 0 R>>\nendobj\n", width, height, page + 1, page + 2);
	pdf_object(p, page + 1);
	fprintf(p->f, "<</Type/XObject/Subtype/Image/Width %zu/Height %zu/BitsPerComponent 8/ColorSpace/%s/Filter/"
	    "DCTDecode/Length %zu>>stream\n", MagickGetImageWidth(w), MagickGetImageHeight(w),
	    is_gray(jpeg, n) ? "DeviceGray" : "DeviceRGB", n);
	fwrite(jpeg, 1, n, p->f);
	MagickRelinquishMemory(jpeg);
	fputs("\nendstream\nendobj\n", p->f);
	snprintf(draw, sizeof(draw), "%.2f 0 0 %.2f 0 0 cm /P Do", width, height);
	pdf_object(p, page + 2);
	fprintf(p->f, "<</Length %zu>>stream\n%s\nendstream\nendobj\n", strlen(draw), draw);
	p->pages++;
	return true;
}

static bool
pdf_end(struct pdf *p)
{
	long table;

	pdf_object(p, 1);
	fputs("<</Type/Catalog/Pages 2 0 R>>\nendobj\n", p->f);
	pdf_object(p, 2);
	fprintf(p->f, "<</Type/Pages/Count %d/Kids[", p->pages);
	for (int i = 0; i < p->pages; i++)
		fprintf(p->f, "%d 0 R ", 3 + 3 * i);
	fputs("]>>\nendobj\n", p->f);
	table = ftell(p->f);
	fprintf(p->f, "xref\n0 %d\n0000000000 65535 f \n", p->objects + 1);
	for (int i = 1; i <= p->objects; i++)
		fprintf(p->f, "%010ld 00000 n \n", p->at[i]);
	fprintf(p->f, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%ld\n%%%%EOF\n", p->objects + 1, table);
	return ferror(p->f) == 0 && fclose(p->f) == 0;
}

/* One page at a time is in memory.  A page that cannot be read ends the document, if there is one before it. */
enum reason
image_make_pdf(void *bytes, size_t n, const char *coder, int64_t max_pixels)
{
	static struct image_page pages[IMAGE_PAGES_MAX];
	static struct pdf p;
	const size_t count = image_pages(bytes, n, pages, IMAGE_PAGES_MAX);
	enum reason reason = REASON_NONE;

	p.f = fopen("document.pdf", "we");
	if (p.f == NULL || count == 0)
		return p.f == NULL ? REASON_INTERNAL : REASON_DECODE_FAILED;
	fputs("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", p.f);
	for (size_t i = 0; i < count && reason == REASON_NONE; i++) {
		MagickWand *w = NewMagickWand();

		if (pages[i].width * pages[i].height > max_pixels)
			return REASON_TOO_MANY_PIXELS;
		image_page_first(bytes, n, &pages[i]);
		reason = image_read_page(w, bytes, n, coder);
		if (reason == REASON_NONE) {
			image_lay_on_white(w);
			if (!pdf_page(&p, w, points_per_pixel(w, &pages[i])))
				reason = REASON_OUTPUT_INVALID;
		}
		DestroyMagickWand(w);
	}
	if (p.pages == 0)
		return reason;
	return pdf_end(&p) ? REASON_NONE : REASON_INTERNAL;
}
