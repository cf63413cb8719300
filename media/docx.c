/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a document as text, and the archive of them.  Lengths are in twips: twentieths of a point. */
#include <inttypes.h>
#include <string.h>

#include "core/archive.h"
#include "media/docx.h"
#include "media/language.h"
#include "media/transcript.h"

enum {
	MARGIN = 1134,				/* 2 cm: the times beside the text */
	USUAL_POINTS = 11,			/* of what is said, when other sizes are as they are written below */
	EMU_PER_MM = 36000,
	COVER_LOGO = 24, HEAD_LOGO = 9,		/* mm high */
	LOGO_WIDTH = 70,			/* mm at most */
};

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define WORDS "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" " \
    "xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\" " \
    "xmlns:wp=\"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing\" " \
    "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" " \
    "xmlns:pic=\"http://schemas.openxmlformats.org/drawingml/2006/picture\""
#define OFFICE "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

/* Characters that XML 1.0 cannot hold (section 2.2) are left out; line ends become blanks. */
static void
add_text(struct buf *b, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
		if (*p == '\n' || *p == '\r' || *p == '\t')
			buf_char(b, ' ');
		else if (*p < ' ')
			continue;
		else if (p[0] == 0xef && p[1] == 0xbf && (p[2] == 0xbe || p[2] == 0xbf))
			p += 2;
		else if (*p == '<' || *p == '>' || *p == '&' || *p == '"')
			buf_text(b, *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : *p == '&' ? "&amp;" : "&quot;");
		else
			buf_char(b, (char)*p);
	}
}

/* style: of the characters; NULL: those of the paragraph. */
static void
add_run(struct buf *b, const char *style, const char *text)
{
	buf_text(b, "<w:r>");
	if (style != NULL)
		buf_printf(b, "<w:rPr><w:rStyle w:val=\"%s\"/></w:rPr>", style);
	buf_text(b, "<w:t xml:space=\"preserve\">");
	add_text(b, text);
	buf_text(b, "</w:t></w:r>");
}

static void
add_paragraph(struct buf *b, const char *style, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	buf_printf(b, "<w:p><w:pPr><w:pStyle w:val=\"%s\"/></w:pPr>", style);
	add_run(b, NULL, text);
	buf_text(b, "</w:p>\n");
}

/* In the hours that the recording has. */
static void
add_time(struct buf *b, int64_t ms, bool hours)
{
	const int64_t s = ms / 1000;

	buf_text(b, "<w:r><w:rPr><w:rStyle w:val=\"Time\"/></w:rPr><w:t>");
	if (hours)
		buf_printf(b, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
	else
		buf_printf(b, "%" PRId64 ":%02d", s / 60, (int)(s % 60));
	buf_text(b, "</w:t></w:r><w:r><w:tab/></w:r>");
}

/* As wide as it is high, but for a long one, which has to fit. */
static void
add_logo(struct buf *b, const struct docx_picture *logo, const char *name, int id, int64_t height_mm)
{
	int64_t high = height_mm * EMU_PER_MM, wide = high * logo->width / logo->height;

	if (wide > (int64_t)LOGO_WIDTH * EMU_PER_MM) {
		wide = (int64_t)LOGO_WIDTH * EMU_PER_MM;
		high = wide * logo->height / logo->width;
	}
	high = high > 0 ? high : 1;
	wide = wide > 0 ? wide : 1;
	buf_printf(b, "<w:r><w:drawing><wp:inline distT=\"0\" distB=\"0\" distL=\"0\" distR=\"0\"><wp:extent "
	    "cx=\"%" PRId64 "\" cy=\"%" PRId64 "\"/><wp:docPr id=\"%d\" name=\"%s\" descr=\"\"/><a:graphic><a:graphicData "
	    "uri=\"http://schemas.openxmlformats.org/drawingml/2006/picture\"><pic:pic><pic:nvPicPr><pic:cNvPr id=\"%d\" "
	    "name=\"%s\"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed=\"logo\"/><a:stretch><a:fillRect/>"
	    "</a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x=\"0\" y=\"0\"/><a:ext cx=\"%" PRId64 "\" cy=\"%" PRId64
	    "\"/></a:xfrm><a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData>"
	    "</a:graphic></wp:inline></w:drawing></w:r>", wide, high, id, name, id, name, wide, high);
}

static void
add_cover(struct buf *b, const struct docx *d)
{
	if (!d->has_cover)
		return;
	if (d->logo != NULL) {
		buf_text(b, "<w:p>");
		add_logo(b, d->logo, "logo", 1, COVER_LOGO);
		buf_text(b, "</w:p>\n");
	}
	add_paragraph(b, "Title", d->title);
	add_paragraph(b, "Subtitle", d->facts);
	add_paragraph(b, "Subtitle", d->origin);
	add_paragraph(b, "Normal", d->description);
	buf_text(b, "<w:p><w:r><w:br w:type=\"page\"/></w:r></w:p>\n");
}

/* Before the paragraph that has more of its words behind the moment than before it. */
static size_t
add_headings(struct buf *b, const struct docx *d, size_t from, int64_t until_ms)
{
	const struct docx_heading *h = d->headings.rows;

	for (; d->has_chapters && from < d->headings.n && h[from].start.ms <= until_ms; from++)
		add_paragraph(b, "Heading1", h[from].title);
	return from;
}

static void
add_words(struct buf *b, const struct docx *d)
{
	const struct paragraph *p = d->paragraphs->rows;
	const char *speaking = NULL;
	const bool hours = d->paragraphs->n > 0 && p[d->paragraphs->n - 1].end.ms >= 3600000;
	size_t heading = 0, before;

	for (size_t i = 0; i < d->paragraphs->n; i++) {
		before = heading;
		heading = add_headings(b, d, heading, (p[i].start.ms + p[i].end.ms) / 2);
		buf_text(b, "<w:p><w:pPr><w:pStyle w:val=\"Said\"/></w:pPr>");
		if (d->has_times)
			add_time(b, p[i].start.ms, hours);
		if (d->has_speakers && p[i].speaker != NULL && (before != heading || speaking == NULL ||
		    strcmp(speaking, p[i].speaker) != 0)) {
			add_run(b, "Speaker", p[i].speaker);
			buf_text(b, "<w:r><w:br/></w:r>");
		}
		speaking = p[i].speaker;
		add_run(b, NULL, transcript_reading(b->mem, &p[i]));
		buf_text(b, "</w:p>\n");
	}
	add_headings(b, d, heading, INT64_MAX);
}

static struct buf
document(struct arena *mem, const struct docx *d)
{
	struct buf b = BUF(mem);

	buf_text(&b, HEAD "<w:document " WORDS "><w:body>\n");
	add_cover(&b, d);
	add_words(&b, d);
	buf_text(&b, "<w:sectPr>");
	if (d->has_header)
		buf_text(&b, "<w:headerReference w:type=\"default\" r:id=\"header\"/>");
	if (d->has_footer)
		buf_text(&b, "<w:footerReference w:type=\"default\" r:id=\"footer\"/>");
	buf_printf(&b, "<w:pgSz w:w=\"11906\" w:h=\"16838\"/><w:pgMar w:top=\"1701\" w:right=\"1418\" "
	    "w:bottom=\"1418\" w:left=\"1418\" w:header=\"709\" w:footer=\"709\" w:gutter=\"0\"/>%s%s</w:sectPr></w:body></w:document>\n",
	    d->has_cover ? "<w:titlePg/>" : "", language_is_right_to_left(d->language) ? "<w:bidi/>" : "");
	return b;
}

static void
add_style(struct buf *b, const char *type, const char *id, const char *rest)
{
	buf_printf(b, "<w:style w:type=\"%s\"%s w:styleId=\"%s\"><w:name w:val=\"%s\"/>%s</w:style>\n", type,
	    strcmp(id, "Normal") == 0 ? " w:default=\"1\"" : "", id, strcmp(id, "Heading1") == 0 ? "heading 1" :
	    id, rest);
}

#define ON_NORMAL "<w:basedOn w:val=\"Normal\"/>"

/* Half points, in proportion to what is said. */
static const char *
size(struct arena *mem, const struct docx *d, int usual)
{
	const int n = (usual * d->points + USUAL_POINTS / 2) / USUAL_POINTS;

	return arena_printf(mem, "<w:sz w:val=\"%d\"/><w:szCs w:val=\"%d\"/>", n, n);
}

static const char *
font(struct arena *mem, const char *family)
{
	return family == NULL ? "" : arena_printf(mem, "<w:rFonts w:ascii=\"%s\" w:hAnsi=\"%s\" w:cs=\"%s\"/>", family,
	    family, family);
}

static const char *
colour(struct arena *mem, struct colour c)
{
	return arena_printf(mem, "<w:color w:val=\"%s\"/>", colour_text(mem, c) + 1);
}

/* Title and headings: bold, in the design's colour. */
static const char *
strong(struct arena *mem, const struct docx *d, int usual)
{
	return arena_printf(mem, "<w:rPr>%s<w:b/><w:bCs/>%s%s</w:rPr>", font(mem, d->heading_font),
	    colour(mem, d->colour), size(mem, d, usual));
}

static void
add_defaults(struct buf *b, struct arena *mem, const struct docx *d)
{
	const char *tag = d->language;
	const bool right = language_is_right_to_left(tag);

	buf_printf(b, "<w:docDefaults><w:rPrDefault><w:rPr>%s%s%s<w:lang w:val=\"%s\" w:eastAsia=\"%s\" "
	    "w:bidi=\"%s\"/>%s</w:rPr></w:rPrDefault><w:pPrDefault><w:pPr>%s<w:spacing w:after=\"120\" w:line=\"288\" w:lineRule=\"auto\"/>"
	    "</w:pPr></w:pPrDefault></w:docDefaults>\n", font(mem, d->font), colour(mem, d->text_colour),
	    size(mem, d, 22), tag, tag, tag, right ? "<w:rtl/>" : "", right ? "<w:bidi/>" : "");
}

static struct buf
styles(struct arena *mem, const struct docx *d)
{
	struct buf b = BUF(mem);

	buf_text(&b, HEAD "<w:styles " WORDS ">");
	add_defaults(&b, mem, d);
	add_style(&b, "paragraph", "Normal", "<w:qFormat/>");
	add_style(&b, "paragraph", "Title", arena_printf(mem, ON_NORMAL "<w:qFormat/><w:pPr><w:spacing "
	    "w:before=\"2400\" w:after=\"240\" w:line=\"240\" w:lineRule=\"auto\"/></w:pPr>%s", strong(mem, d, 56)));
	add_style(&b, "paragraph", "Subtitle", arena_printf(mem, ON_NORMAL "<w:qFormat/><w:rPr><w:color "
	    "w:val=\"595959\"/>%s</w:rPr>", size(mem, d, 24)));
	add_style(&b, "paragraph", "Heading1", arena_printf(mem, ON_NORMAL "<w:next w:val=\"Said\"/><w:qFormat/><w:pPr>"
	    "<w:keepNext/><w:keepLines/><w:spacing w:before=\"360\" w:after=\"120\"/><w:outlineLvl w:val=\"0\"/>"
	    "</w:pPr>%s", strong(mem, d, 30)));
	add_style(&b, "paragraph", "Said", !d->has_times ? ON_NORMAL "<w:qFormat/>" : arena_printf(mem, ON_NORMAL
	    "<w:qFormat/><w:pPr><w:tabs><w:tab w:val=\"left\" w:pos=\"%d\"/></w:tabs><w:ind w:left=\"%d\" "
	    "w:hanging=\"%d\"/></w:pPr>", MARGIN, MARGIN, MARGIN));
	add_style(&b, "character", "Time", arena_printf(mem, "<w:rPr><w:color w:val=\"6B6B6B\"/>%s</w:rPr>",
	    size(mem, d, 18)));
	add_style(&b, "character", "Speaker", arena_printf(mem, "<w:rPr><w:b/><w:bCs/>%s</w:rPr>",
	    colour(mem, d->colour)));
	add_style(&b, "paragraph", "Edge", arena_printf(mem, ON_NORMAL "<w:pPr><w:tabs><w:tab w:val=\"right\" "
	    "w:pos=\"9070\"/></w:tabs><w:spacing w:after=\"0\"/></w:pPr><w:rPr><w:color w:val=\"595959\"/>%s</w:rPr>",
	    size(mem, d, 18)));
	buf_text(&b, "</w:styles>\n");
	return b;
}

/* Not on the cover: its own head and foot are empty. */
static struct buf
header(struct arena *mem, const struct docx *d)
{
	struct buf b = BUF(mem);

	buf_text(&b, HEAD "<w:hdr " WORDS "><w:p><w:pPr><w:pStyle w:val=\"Edge\"/></w:pPr>");
	if (d->logo != NULL) {
		add_logo(&b, d->logo, "logo", 2, HEAD_LOGO);
		buf_text(&b, "<w:r><w:tab/></w:r>");
	}
	add_run(&b, NULL, d->header != NULL ? d->header : d->title);
	buf_text(&b, "</w:p></w:hdr>\n");
	return b;
}

static struct buf
footer(struct arena *mem, const struct docx *d)
{
	struct buf b = BUF(mem);

	buf_text(&b, HEAD "<w:ftr " WORDS "><w:p><w:pPr><w:pStyle w:val=\"Edge\"/></w:pPr>");
	if (d->footer != NULL)
		add_run(&b, NULL, d->footer);
	buf_text(&b, "<w:r><w:tab/></w:r><w:fldSimple "
	    "w:instr=\" PAGE \"><w:r><w:t>1</w:t></w:r></w:fldSimple><w:r><w:t xml:space=\"preserve\"> / </w:t></w:r>"
	    "<w:fldSimple w:instr=\" NUMPAGES \"><w:r><w:t>1</w:t></w:r></w:fldSimple></w:p></w:ftr>\n");
	return b;
}

static struct buf
properties(struct arena *mem, const struct docx *d)
{
	char at[MOMENT_TEXT];
	struct buf b = BUF(mem);

	moment_format(d->changed_at, at);
	buf_text(&b, HEAD "<cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/"
	    "core-properties\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:dcterms=\"http://purl.org/dc/terms/\" "
	    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><dc:title>");
	add_text(&b, d->title);
	buf_printf(&b, "</dc:title><dc:language>%s</dc:language><dcterms:modified xsi:type=\"dcterms:W3CDTF\">%.19sZ"
	    "</dcterms:modified></cp:coreProperties>\n", d->language, at);
	return b;
}

static const char *
logo_name(const struct docx *d)
{
	return strcmp(d->logo->mime_type, "image/png") == 0 ? "logo.png" : "logo.jpeg";
}

struct relation { const char *id, *type, *target; };

static void
add_relations(struct archive *a, const struct docx *d, const char *name, const struct relation *relations, size_t n)
{
	struct buf b = BUF(a->out.mem);

	buf_text(&b, HEAD "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">");
	for (size_t i = 0; i < n; i++)
		if (relations[i].target != NULL)
			buf_printf(&b, "<Relationship Id=\"%s\" Type=\"%s\" Target=\"%s\"/>", relations[i].id,
			    relations[i].type, relations[i].target);
	buf_text(&b, "</Relationships>\n");
	archive_add_bytes(a, name, b.text, b.len, d->changed_at.ms / 1000, true);
}

static const char types[] = HEAD "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"
    "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
    "<Default Extension=\"xml\" ContentType=\"application/xml\"/><Default Extension=\"png\" ContentType=\"image/png\"/>"
    "<Default Extension=\"jpeg\" ContentType=\"image/jpeg\"/>"
    "<Override PartName=\"/word/document.xml\" ContentType=\"" DOCX_TYPE ".main+xml\"/>"
    "<Override PartName=\"/word/styles.xml\" "
    "ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml\"/>"
    "<Override PartName=\"/word/header.xml\" "
    "ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml\"/>"
    "<Override PartName=\"/word/footer.xml\" "
    "ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml\"/>"
    "<Override PartName=\"/docProps/core.xml\" "
    "ContentType=\"application/vnd.openxmlformats-package.core-properties+xml\"/></Types>\n";

/* In memory nothing fails. */
static void
add_part(struct archive *a, const struct docx *d, const char *name, struct buf part)
{
	archive_add_bytes(a, name, part.text, part.len, d->changed_at.ms / 1000, true);
}

struct buf
docx_write(struct arena *mem, const struct docx *d)
{
	const char *logo = d->logo != NULL ? arena_printf(mem, "media/%s", logo_name(d)) : NULL;
	const struct relation package[] = { { "document", OFFICE "officeDocument", "word/document.xml" },
	    { "core", "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties",
	    "docProps/core.xml" } };
	const struct relation parts[] = { { "styles", OFFICE "styles", "styles.xml" },
	    { "header", OFFICE "header", "header.xml" }, { "footer", OFFICE "footer", "footer.xml" },
	    { "logo", OFFICE "image", logo } };
	struct archive a = { .narrow = UINT32_MAX };

	archive_begin(&a, mem, NULL);
	archive_add_bytes(&a, "[Content_Types].xml", types, sizeof(types) - 1, d->changed_at.ms / 1000, true);
	add_relations(&a, d, "_rels/.rels", package, 2);
	add_part(&a, d, "docProps/core.xml", properties(mem, d));
	add_part(&a, d, "word/document.xml", document(mem, d));
	add_relations(&a, d, "word/_rels/document.xml.rels", parts, 4);
	add_part(&a, d, "word/styles.xml", styles(mem, d));
	add_part(&a, d, "word/header.xml", header(mem, d));
	add_part(&a, d, "word/footer.xml", footer(mem, d));
	if (logo != NULL) {
		add_relations(&a, d, "word/_rels/header.xml.rels", &parts[3], 1);
		archive_add_bytes(&a, arena_printf(mem, "word/%s", logo), d->logo->bytes, d->logo->n,
		    d->changed_at.ms / 1000, false);
	}
	archive_end(&a);
	return a.out;
}
