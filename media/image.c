/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding and drawing with ImageMagick; runs in the jail, one picture per process, so nothing is freed at the end. */
#include <lcms2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "media/bytes.h"
#include "media/image_wand.h"
#include "media/xmp.h"

/*
 * Ours, not the system's: it is in the program, so that no missing file can open what it closes.  Coders are allowed by
 * name; everything that reads another file, runs a program, fetches an address or interprets a script is not among
 * them.
 */
static const char policy[] =
    "<policymap><policy domain='delegate' rights='none' pattern='*'/>"
    "<policy domain='filter' rights='none' pattern='*'/>"
    "<policy domain='path' rights='none' pattern='@*'/>"
    "<policy domain='path' rights='none' pattern='|*'/>"
    "<policy domain='coder' rights='none' pattern='*'/>"
    "<policy domain='coder' rights='read|write' pattern='{JPEG,PNG,WEBP,XC}'/>"
    "<policy domain='coder' rights='read' pattern='{GIF,TIFF,TIFF64,BMP,HEIC,AVIF}'/>"
    "</policymap>";

static const size_t sides[] = { 320, 640, 1600, 3200 };
#define N_SIDES (sizeof(sides) / sizeof(sides[0]))

static const char *const fonts[] = {
	"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
	"/usr/share/fonts/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf",
	"/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
	"/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
};

static void
limit(ResourceType what, MagickSizeType amount)
{
	MagickSetResourceLimit(what, amount);
}

enum reason
image_start(int64_t max_pixels)
{
	ExceptionInfo *e;
	bool closed;

	MagickWandGenesis();
	e = AcquireExceptionInfo();
	closed = SetMagickSecurityPolicy(policy, e) && !IsRightsAuthorized(CoderPolicyDomain, ReadPolicyRights,
	    "MVG") && !IsRightsAuthorized(CoderPolicyDomain, ReadPolicyRights, "SVG") &&
	    !IsRightsAuthorized(DelegatePolicyDomain, ExecutePolicyRights, "gs") &&
	    IsRightsAuthorized(CoderPolicyDomain, ReadPolicyRights, "JPEG");
	if (!closed)
		return REASON_INTERNAL;
	/* Pixels are eight bytes here.  What does not fit in memory goes to a file in the working directory. */
	limit(WidthResource, IMAGE_SIDE_MAX);
	limit(HeightResource, IMAGE_SIDE_MAX);
	limit(AreaResource, (MagickSizeType)max_pixels);
	limit(MemoryResource, UINT64_C(1) << 30);
	limit(MapResource, UINT64_C(1) << 30);
	limit(DiskResource, (MagickSizeType)max_pixels * 24);
	limit(ListLengthResource, 4);
	limit(ThreadResource, 1);
	limit(TimeResource, 600);
	return REASON_NONE;
}

/* Does a PNG, GIF or WebP file end before its end? */
static bool
is_cut_off(const unsigned char *p, size_t n, const char *coder)
{
	size_t at;

	if (strcmp(coder, "PNG") == 0) {
		for (at = 8; at + 12 <= n; at += 12 + bytes_big(p + at, 4))
			if (memcmp(p + at + 4, "IEND", 4) == 0)
				return false;
		return true;
	}
	if (strcmp(coder, "GIF") == 0)
		return n == 0 || p[n - 1] != 0x3b;
	return strcmp(coder, "WEBP") == 0 && (n < 12 || bytes_little(p + 4, 4) > n - 8);
}

static enum reason
fault_of(ExceptionType kind, const char *text)
{
	if (kind == UndefinedException)
		return REASON_NONE;
	fprintf(stderr, "%s\n", text == NULL ? "" : text);
	if (text != NULL && (strstr(text, "remature end") != NULL || strstr(text, "nsufficient image data") != NULL))
		return REASON_TRUNCATED;
	if (kind < ErrorException)	/* odd tags and the like */
		return REASON_NONE;
	return kind % 100 == ResourceLimitError % 100 ? REASON_TOO_MANY_PIXELS : REASON_DECODE_FAILED;
}

/* What went wrong.  Some of it is noted with the wand, some with the picture: of that all, since one that begins with
 * an odd byte may be cut off as well. */
static enum reason
fault(MagickWand *w)
{
	ExceptionType kind;
	const char *text = MagickGetException(w, &kind);
	enum reason reason = fault_of(kind, text);
	const Image *image = reason == REASON_NONE ? GetImageFromMagickWand(w) : NULL;
	LinkedListInfo *all = image != NULL ? image->exception.exceptions : NULL;
	size_t i;

	for (i = 0; reason == REASON_NONE && all != NULL && i < GetNumberOfElementsInLinkedList(all); i++) {
		const ExceptionInfo *e = GetValueFromLinkedList(all, i);

		reason = fault_of(e->severity, e->reason);
	}
	return reason;
}

/* The prefix forces the coder; [0] takes the first frame and leaves the others unread. */
static void
set_source(MagickWand *w, const char *coder, const char *frames)
{
	char name[64];

	snprintf(name, sizeof(name), "%s:picture[%s]", coder, frames);
	MagickSetFilename(w, name);
}

static int64_t
orientation(MagickWand *w, const char *coder)
{
	OrientationType turn = MagickGetImageOrientation(w);

	/* The reader of HEIF has turned the picture already; its EXIF still tells of the turn. */
	if (strcmp(coder, "HEIC") == 0 || strcmp(coder, "AVIF") == 0)
		return 1;
	return turn >= TopLeftOrientation && turn <= LeftBottomOrientation ? (int64_t)turn : 1;
}

static const char *
colorspace_name(ColorspaceType space)
{
	switch ((int)space) {
	case GRAYColorspace: case LinearGRAYColorspace: return "Gray";
	case CMYKColorspace: return "CMYK";
	case LabColorspace: return "Lab";
	case RGBColorspace: return "RGB";
	default: return "sRGB";
	}
}

static bool
has_profile(MagickWand *w)
{
	size_t n = 0;
	unsigned char *bytes = MagickGetImageProfile(w, "icc", &n);

	MagickRelinquishMemory(bytes);
	return n > 0;
}

/* What cameras write is bytes of no known code: as JSON it becomes UTF-8, and long values are cut.  The first that is
 * there counts: the property, what XMP says, the other property; the latter two may be NULL. */
static void
print_property(struct buf *out, MagickWand *w, const char *member, const char *property, const char *said,
    const char *other)
{
	const char *text = MagickGetImageProperty(w, property);

	if (text == NULL || *text == '\0')
		text = said;
	if ((text == NULL || *text == '\0') && other != NULL)
		text = MagickGetImageProperty(w, other);
	buf_printf(out, ",\"%s\":", member);
	if (text == NULL || *text == '\0')
		buf_text(out, "null");
	else
		buf_json_n(out, text, strnlen(text, IMAGE_TEXT_MAX));
}

/* Keywords of IPTC come with a semicolon between two. */
static void
print_keywords(struct arena *mem, struct buf *out, MagickWand *w, const struct strings *said)
{
	const char *at = MagickGetImageProperty(w, "IPTC:2:25");
	struct buf b = BUF(mem);
	size_t n, all = 0;

	for (; at != NULL && *at != '\0' && all < IMAGE_KEYWORDS; at += n + (at[n] == ';')) {
		n = strcspn(at, ";");
		if (n == 0)
			continue;
		buf_text(&b, all++ > 0 ? "," : "");
		buf_json_n(&b, at, n < IMAGE_TEXT_MAX ? n : IMAGE_TEXT_MAX);
	}
	for (size_t i = 0, own = all; own == 0 && i < said->n; i++) {
		buf_text(&b, all++ > 0 ? "," : "");
		buf_json(&b, said->at[i]);
	}
	if (all > 0)
		buf_printf(out, ",\"keywords\":[%s]", buf_string(&b));
}

/* Datasets of a mark, two numbers and a length each.  False: one is longer than what is there. */
static bool
is_whole_iptc(const unsigned char *p, size_t n)
{
	size_t at = 0, length;

	while (at < n && p[at] == 0x1c) {
		length = at + 5 <= n ? (size_t)p[at + 3] << 8 | p[at + 4] : n;
		/* Of an extended one that is the length of its length: it is not looked at any further. */
		if (at + 5 <= n && (length & 0x8000) != 0)
			return true;
		if (at + 5 + length > n)
			return false;
		at += 5 + length;
	}
	return true;
}

/* What is no XML is no profile for the library: that there is some is seen by the name before it. */
static bool
has_xmp(const void *bytes, size_t n, const char *coder)
{
	static const char name[] = "http://ns.adobe.com/xap/1.0/";

	return strcmp(coder, "JPEG") == 0 && memmem(bytes, n, name, sizeof(name)) != NULL;
}

/* What people have written into it.  What cannot be read is told, and is no reason to refuse the picture. */
static void
print_words(struct arena *mem, struct buf *out, MagickWand *w, bool xmp_is_there)
{
	struct image_words said = { .keywords = { NULL, 0 } };
	size_t n = 0, m = 0;
	unsigned char *xmp = MagickGetImageProfile(w, "xmp", &n), *iptc = MagickGetImageProfile(w, "iptc", &m);
	const bool reads = n > 0 ? xmp_read(mem, xmp, n, &said) : !xmp_is_there;
	const bool whole = m == 0 || is_whole_iptc(iptc, m);

	print_property(out, w, "title", "IPTC:2:05", said.title, NULL);
	print_property(out, w, "caption", "IPTC:2:120", said.caption, "exif:ImageDescription");
	print_property(out, w, "creator", "IPTC:2:80", said.creator, "exif:Artist");
	print_property(out, w, "rights", "IPTC:2:116", said.rights, "exif:Copyright");
	print_keywords(mem, out, w, &said.keywords);
	if (!whole || !reads)
		buf_printf(out, ",\"unread\":[%s]", reads ? "\"IPTC\"" : whole ? "\"XMP\"" : "\"IPTC\",\"XMP\"");
	MagickRelinquishMemory(xmp);
	MagickRelinquishMemory(iptc);
}

static void
put_word(struct buf *out, const char *member, const char *text)
{
	if (text == NULL)
		return;
	buf_printf(out, "%s\"%s\":", out->len > 1 ? "," : "", member);
	buf_json(out, text);
}

enum reason
image_print_xmp(const void *bytes, size_t n)
{
	struct arena *mem = arena_new(64 << 20);
	struct buf out = BUF(mem);
	struct image_words w;

	if (!xmp_read(mem, bytes, n, &w))
		return REASON_DECODE_FAILED;
	buf_char(&out, '{');
	put_word(&out, "title", w.title);
	put_word(&out, "caption", w.caption);
	put_word(&out, "creator", w.creator);
	put_word(&out, "rights", w.rights);
	for (size_t i = 0; i < w.keywords.n; i++) {
		buf_text(&out, i > 0 ? "," : out.len > 1 ? ",\"keywords\":[" : "\"keywords\":[");
		buf_json(&out, w.keywords.at[i]);
	}
	buf_text(&out, w.keywords.n > 0 ? "]}" : "}");
	fputs(buf_string(&out), stdout);
	return REASON_NONE;
}

/* Degrees, minutes and seconds, as "52/1, 31/1, 1230/100".  -1: it is no such thing. */
static double
angle(const char *text)
{
	double sum = 0, part = 1;
	long above, below;
	int i, n;

	for (i = 0; i < 3; i++, part *= 60) {
		if (text == NULL || sscanf(text, "%9ld/%9ld%n", &above, &below, &n) != 2 || above < 0 || below <= 0)
			return -1;
		sum += (double)above / (double)below / part;
		text += n;
		text += strspn(text, ", ");
	}
	return sum;
}

/* To about a centimetre; half a position, or one that is nowhere on earth, is none. */
static void
print_location(struct buf *out, MagickWand *w)
{
	const char *north = MagickGetImageProperty(w, "exif:GPSLatitudeRef");
	const char *east = MagickGetImageProperty(w, "exif:GPSLongitudeRef");
	const double latitude = angle(MagickGetImageProperty(w, "exif:GPSLatitude"));
	const double longitude = angle(MagickGetImageProperty(w, "exif:GPSLongitude"));

	if (north == NULL || strchr("NS", north[0]) == NULL || east == NULL || strchr("EW", east[0]) == NULL ||
	    north[0] == '\0' || east[0] == '\0' || latitude < 0 || latitude > 90 || longitude < 0 || longitude > 180)
		return;
	buf_printf(out, ",\"location\":{\"latitude\":%.7f,\"longitude\":%.7f}", north[0] == 'S' ? -latitude :
	    latitude, east[0] == 'W' ? -longitude : longitude);
}

enum reason
image_print_facts(const void *bytes, size_t n, const char *coder)
{
	MagickWand *w = NewMagickWand();
	struct arena *mem = arena_new(64 << 20);
	struct buf out = BUF(mem);
	enum reason reason;
	int64_t turn;
	size_t width, height;

	set_source(w, coder, "0-1");
	if (!MagickPingImageBlob(w, bytes, n) && (reason = fault(w)) != REASON_NONE)
		return reason;
	if (MagickGetNumberImages(w) == 0)
		return is_cut_off(bytes, n, coder) ? REASON_TRUNCATED : REASON_DECODE_FAILED;
	MagickSetFirstIterator(w);
	turn = orientation(w, coder);
	width = MagickGetImageWidth(w);
	height = MagickGetImageHeight(w);
	buf_printf(&out, "{\"width\":%zu,\"height\":%zu,\"orientation\":%d,\"depth\":%zu,\"colorspace\":\"%s\","
	    "\"hasAlpha\":%s,\"hasColorProfile\":%s,\"isAnimated\":%s", turn >= 5 ? height : width, turn >= 5 ? width :
	    height, (int)turn, MagickGetImageDepth(w), colorspace_name(MagickGetImageColorspace(w)),
	    MagickGetImageAlphaChannel(w) ? "true" : "false", has_profile(w) ? "true" : "false",
	    MagickGetNumberImages(w) > 1 ? "true" : "false");
	print_property(&out, w, "cameraMake", "exif:Make", NULL, NULL);
	print_property(&out, w, "cameraModel", "exif:Model", NULL, NULL);
	print_property(&out, w, "takenAt", "exif:DateTimeOriginal", NULL, NULL);
	print_property(&out, w, "takenOffset", "exif:OffsetTimeOriginal", NULL, NULL);
	print_property(&out, w, "lensModel", "exif:LensModel", NULL, NULL);
	print_words(mem, &out, w, has_xmp(bytes, n, coder));
	print_location(&out, w);
	buf_text(&out, "}\n");
	fputs(buf_string(&out), stdout);
	return REASON_NONE;
}

/* Colours as screens expect them: through the built-in profile when there is one, by formula otherwise. */
static void
to_srgb(MagickWand *w)
{
	cmsHPROFILE srgb = cmsCreate_sRGBProfile();
	cmsUInt32Number n = 0;
	void *bytes;

	if (has_profile(w) && srgb != NULL && cmsSaveProfileToMem(srgb, NULL, &n)) {
		bytes = AcquireMagickMemory(n);
		if (bytes != NULL && cmsSaveProfileToMem(srgb, bytes, &n))
			MagickProfileImage(w, "icc", bytes, n);
	}
	if (MagickGetImageColorspace(w) != GRAYColorspace)
		MagickTransformImageColorspace(w, sRGBColorspace);
	MagickSetImageDepth(w, 8);
}

/* The reader of WebP decodes whole animations.  This makes a still file of the first frame, in the same form: a canvas
 * of the frame's size and the frame's chunks. */
static const void *
webp_still(const unsigned char *p, size_t *n)
{
	static const unsigned char head[30] = "RIFF\0\0\0\0WEBPVP8X\x0a";
	size_t at = 12, size, i;
	unsigned char *still;

	if (*n < 30 || memcmp(p + 12, "VP8X", 4) != 0 || !(p[20] & 2))
		return p;
	for (; at + 8 <= *n && memcmp(p + at, "ANMF", 4) != 0; at += 8 + size + (size & 1)) {
		size = bytes_little(p + at + 4, 4);
		if (size > *n - at - 8)
			return p;
	}
	if (at + 24 > *n)
		return p;
	size = bytes_little(p + at + 4, 4);
	if (size < 16 || size > *n - at - 8)
		return p;
	still = AcquireMagickMemory(sizeof(head) + size);
	if (still == NULL)
		return p;
	memcpy(still, head, sizeof(head));
	memcpy(still + 24, p + at + 8 + 6, 6);
	memcpy(still + sizeof(head), p + at + 24, size - 16);
	if (memcmp(p + at + 24, "ALPH", size > 20 ? 4 : 0) == 0 || memcmp(p + at + 24, "VP8L", size > 20 ? 4 : 0) == 0)
		still[20] = 0x10;
	*n = sizeof(head) + size - 16;
	for (i = 0; i < 4; i++)
		still[4 + i] = (unsigned char)((*n - 8) >> 8 * i);
	return still;
}

/* Scales so that the longest side is `side`.  Averaging costs a tenth of a sharp filter. */
static bool
scale(MagickWand *w, size_t side, bool sharp)
{
	size_t width = MagickGetImageWidth(w), height = MagickGetImageHeight(w), longest = width > height ? width :
	    height;

	if (longest <= side)
		return true;
	width = (width * side + longest / 2) / longest;
	height = (height * side + longest / 2) / longest;
	width = width > 0 ? width : 1;
	height = height > 0 ? height : 1;
	return sharp ? MagickResizeImage(w, width, height, LanczosFilter, 1.0) : MagickScaleImage(w, width, height);
}

/* JPEG can be decoded at a half, a quarter or an eighth: this asks for no less than the form needs. */
static void
ask_for(MagickWand *w, const void *bytes, size_t n, int64_t side)
{
	int64_t width, height, longest;
	const char *mime_type;
	char size[48];

	if (!image_header(bytes, n, &width, &height, &mime_type))
		return;
	longest = width > height ? width : height;
	if (longest <= side)
		return;
	snprintf(size, sizeof(size), "%lldx%lld", (long long)(width * side / longest),
	    (long long)(height * side / longest));
	MagickSetOption(w, "jpeg:size", size);
}

/* Upright, sRGB, without metadata.  More than `side` is not needed, `exactly`: not wanted. */
static enum reason
to_upright(MagickWand *w, const char *coder, size_t side, bool exactly)
{
	if (orientation(w, coder) != 1 && !MagickAutoOrientImage(w))
		return fault(w);
	if (exactly && !scale(w, side, false))
		return fault(w) == REASON_NONE ? REASON_DECODE_FAILED : fault(w);
	to_srgb(w);		/* of fewer pixels, then */
	MagickStripImage(w);
	return REASON_NONE;
}

enum reason
image_read_page(MagickWand *w, const void *bytes, size_t n, const char *coder)
{
	enum reason reason;

	set_source(w, coder, "0");
	MagickReadImageBlob(w, bytes, n);
	reason = fault(w);
	if (reason == REASON_NONE && MagickGetNumberImages(w) == 0)
		reason = REASON_DECODE_FAILED;
	return reason == REASON_NONE ? to_upright(w, coder, IMAGE_PAGE_SIDE, true) : reason;
}

/* Reads one picture. */
static enum reason
read_upright(MagickWand *w, const void *bytes, size_t n, const char *coder, size_t side, bool exactly)
{
	enum reason reason;
	MagickWand *whole;

	ask_for(w, bytes, n, (int64_t)side);
	if (strcmp(coder, "WEBP") == 0)
		bytes = webp_still(bytes, &n);
	set_source(w, coder, "0");
	MagickReadImageBlob(w, bytes, n);
	reason = fault(w);
	if (MagickGetNumberImages(w) == 0 && (reason == REASON_NONE || reason == REASON_DECODE_FAILED))
		return is_cut_off(bytes, n, coder) ? REASON_TRUNCATED : REASON_DECODE_FAILED;
	if (reason != REASON_NONE)
		return reason;
	if (strcmp(coder, "GIF") == 0) {	/* its frames lie somewhere on a canvas */
		MagickSetImageBackgroundColor(w, NewPixelWand());
		whole = MagickMergeImageLayers(w, FlattenLayer);
		if (whole != NULL)
			MagickSetImage(w, whole);
	}
	MagickResetImagePage(w, "0x0+0+0");
	return to_upright(w, coder, side, exactly);
}

/* Writes one form and reads its header back: what is printed is what the file says. */
static enum reason
write_form(MagickWand *w, const char *kind, const char *name, const char *mime_type, size_t quality)
{
	int64_t width, height;
	const char *seen;

	MagickSetImageCompressionQuality(w, quality);
	if (!MagickWriteImage(w, name))
		return fault(w) == REASON_TOO_MANY_PIXELS ? REASON_TOO_MANY_PIXELS : REASON_OUTPUT_INVALID;
	name = strchr(name, ':') + 1;
	if (!image_header_file(name, &width, &height, &seen) || strcmp(seen, mime_type) != 0 ||
	    (size_t)width != MagickGetImageWidth(w) || (size_t)height != MagickGetImageHeight(w))
		return REASON_OUTPUT_INVALID;
	printf("%s %s %s %lld %lld\n", kind, name, mime_type, (long long)width, (long long)height);
	return REASON_NONE;
}

void
image_lay_on_white(MagickWand *w)
{
	PixelWand *white = NewPixelWand();

	PixelSetColor(white, "white");
	MagickSetImageBackgroundColor(w, white);
	if (MagickGetImageAlphaChannel(w))
		MagickSetImageAlphaChannel(w, RemoveAlphaChannel);
	DestroyPixelWand(white);
}

static enum reason
write_jpeg(MagickWand *w, const char *kind, const char *name)
{
	MagickWand *flat = CloneMagickWand(w);
	enum reason reason;

	image_lay_on_white(flat);
	MagickSetImageInterlaceScheme(flat, PlaneInterlace);
	MagickSetSamplingFactors(flat, 2, (double[]){ 2, 1 });
	reason = write_form(flat, kind, name, "image/jpeg", 84);
	DestroyMagickWand(flat);
	return reason;
}

/* Largest first: each form is made from the one before, which has most of the work behind it. */
enum reason
image_make_variants(const void *bytes, size_t n, const char *coder)
{
	MagickWand *w = NewMagickWand();
	enum reason reason = read_upright(w, bytes, n, coder, sides[N_SIDES - 1], false);
	size_t i, longest, side;
	char name[64];

	if (reason != REASON_NONE)
		return reason;
	longest = MagickGetImageWidth(w) > MagickGetImageHeight(w) ? MagickGetImageWidth(w) : MagickGetImageHeight(w);
	MagickSetOption(w, "webp:method", "3");
	for (i = N_SIDES; i-- > 0 && reason == REASON_NONE;) {
		if (i > 0 && sides[i - 1] >= longest)
			continue;		/* the smaller one holds all there is */
		side = sides[i] < longest ? sides[i] : longest;
		if (!scale(w, side, true))
			return fault(w) == REASON_NONE ? REASON_DECODE_FAILED : fault(w);
		snprintf(name, sizeof(name), "WEBP:%zu.webp", side);
		reason = write_form(w, "image", name, "image/webp", 80);
		snprintf(name, sizeof(name), "JPEG:%zu.jpg", side);
		if (reason == REASON_NONE)
			reason = write_jpeg(w, "image", name);
		if (reason == REASON_NONE && (sides[i] == 640 || (i == 0 && longest <= 320)))
			reason = write_jpeg(w, "poster", "JPEG:poster.jpg");
	}
	return reason;
}

/* A PNG that grew beyond what may be sent shrinks until it fits. */
enum reason
image_print_clean(const void *bytes, size_t n, const char *coder)
{
	MagickWand *w = NewMagickWand();
	enum reason reason = read_upright(w, bytes, n, coder, IMAGE_CLEAN_SIDE, true);
	size_t side = IMAGE_CLEAN_SIDE, made = 0;
	unsigned char *out;

	if (reason != REASON_NONE)
		return reason;
	MagickSetImageFormat(w, coder);
	MagickSetImageCompressionQuality(w, strcmp(coder, "PNG") == 0 ? 75 : 90);
	MagickSetImageInterlaceScheme(w, strcmp(coder, "PNG") == 0 ? NoInterlace : PlaneInterlace);
	while ((out = MagickGetImageBlob(w, &made)) != NULL && made > IMAGE_CLEAN_BYTES) {
		MagickRelinquishMemory(out);
		if (side < 100 || !scale(w, side /= 2, false))
			return REASON_OUTPUT_INVALID;
	}
	return out != NULL && fwrite(out, 1, made, stdout) == made ? REASON_NONE : REASON_OUTPUT_INVALID;
}

/* A line as it is drawn.  The blank in front keeps @ from naming a file to read. */
static const char *
printable(struct arena *mem, const char *line, size_t n)
{
	char *out = arena_alloc(mem, n + 2);
	size_t i;

	out[0] = ' ';
	for (i = 0; i < n; i++)
		out[i + 1] = (unsigned char)line[i] < 32 ? ' ' : line[i];
	return out;
}

/* Length of the next line of at most `most` characters, broken at a blank where there is one. */
static size_t
line_length(const char *text, size_t n, size_t most)
{
	size_t i, chars = 0, blank = 0;

	for (i = 0; i < n && text[i] != '\n' && text[i] != '\f'; i++) {
		if (text[i] == ' ' && i > 0)
			blank = i;
		if (((unsigned char)text[i] & 0xc0) != 0x80 && ++chars > most)
			return blank > 0 ? blank : i;
	}
	return i;
}

enum reason
image_draw_text(const char *text, size_t n)
{
	enum { WIDTH = 1240, HEIGHT = 1754, MARGIN = 100, LINE = 34, MOST = 82 };	/* A4 at 150 dpi */
	struct arena *mem = arena_new(16 << 20);
	MagickWand *w = NewMagickWand();
	DrawingWand *pen = NewDrawingWand();
	PixelWand *color = NewPixelWand();
	size_t at, length, i;
	int y = MARGIN + LINE;

	for (i = 0; i < sizeof(fonts) / sizeof(fonts[0]) && access(fonts[i], R_OK) != 0; i++)
		;
	if (i == sizeof(fonts) / sizeof(fonts[0])) {
		fputs("there is no font to draw with\n", stderr);
		return REASON_INTERNAL;
	}
	PixelSetColor(color, "white");
	MagickNewImage(w, WIDTH, HEIGHT, color);
	PixelSetColor(color, "#222222");
	DrawSetFillColor(pen, color);
	DrawSetFont(pen, fonts[i]);
	DrawSetFontSize(pen, 24);
	for (at = 0; at < n && y < HEIGHT - MARGIN; at += length, y += LINE) {
		length = line_length(text + at, n - at, MOST);
		if (length > 0)
			MagickAnnotateImage(w, pen, MARGIN, y, 0, printable(mem, text + at, length));
		if (at + length < n)
			length++;	/* the line's end, or the blank it was broken at */
	}
	MagickSetImageDepth(w, 8);
	MagickStripImage(w);
	return write_form(w, "image", "PNG:preview.png", "image/png", 75);
}
