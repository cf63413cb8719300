/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XMP, as it is read: nothing is kept of it but words.  See xmp.h. */
#include <libxml/xmlreader.h>
#include <string.h>

#include "core/text.h"
#include "media/xml.h"
#include "media/xmp.h"

/* Of all; of a tag, which holds properties as attributes; of the names of somebody. */
enum { BYTES = 1 << 20, TAG = 64 << 10, CREATORS = 10 };

#define DUBLIN_CORE "http://purl.org/dc/elements/1.1/"
#define RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

enum property { NONE, TITLE, DESCRIPTION, CREATOR, RIGHTS, SUBJECT };
static const struct { const char *name; enum property is; } properties[] = { { "title", TITLE },
	{ "description", DESCRIPTION }, { "creator", CREATOR }, { "rights", RIGHTS }, { "subject", SUBJECT } };

struct xmp {
	struct arena *mem;
	struct image_words *words;
	enum property in;		/* which of them is open, and how deep */
	int depth;
	bool is_default;		/* of the languages of a text the one that counts */
	size_t creators;
};

static bool
is_in(xmlTextReaderPtr r, const char *space)
{
	const xmlChar *uri = xmlTextReaderConstNamespaceUri(r);

	return uri != NULL && strcmp((const char *)uri, space) == 0;
}

static enum property
property_of(xmlTextReaderPtr r)
{
	const char *name = (const char *)xmlTextReaderConstLocalName(r);

	for (size_t i = 0; is_in(r, DUBLIN_CORE) && i < sizeof(properties) / sizeof(properties[0]); i++)
		if (strcmp(name, properties[i].name) == 0)
			return properties[i].is;
	return NONE;
}

static void
add(struct xmp *x, const char *text)
{
	struct image_words *w = x->words;
	const char **is = x->in == TITLE ? &w->title : x->in == DESCRIPTION ? &w->caption : x->in == RIGHTS ?
	    &w->rights : &w->creator;

	text = utf8_to_line(x->mem, text);
	text = arena_copy_n(x->mem, text, utf8_prefix(text, IMAGE_TEXT_MAX));
	if (utf8_blank(text))
		return;
	if (x->in == SUBJECT) {
		if (w->keywords.n < IMAGE_KEYWORDS)
			w->keywords.at[w->keywords.n++] = text;
	} else if (x->in == CREATOR && *is != NULL) {
		text = arena_printf(x->mem, "%s, %s", *is, text);
		if (++x->creators < CREATORS && strlen(text) <= IMAGE_TEXT_MAX)
			*is = text;
	} else if (*is == NULL || x->is_default) {
		*is = text;
	}
}

static void
see(struct xmp *x, xmlTextReaderPtr r)
{
	const int type = xmlTextReaderNodeType(r);
	xmlChar *language;

	if (type == XML_READER_TYPE_ELEMENT && x->in == NONE) {
		x->in = xmlTextReaderIsEmptyElement(r) == 1 ? NONE : property_of(r);
		x->depth = xmlTextReaderDepth(r);
		x->is_default = false;
	} else if (type == XML_READER_TYPE_ELEMENT && is_in(r, RDF)) {
		language = xmlTextReaderXmlLang(r);
		x->is_default = language != NULL && strcmp((const char *)language, "x-default") == 0;
		xmlFree(language);
	} else if (type == XML_READER_TYPE_END_ELEMENT && x->in != NONE && xmlTextReaderDepth(r) == x->depth) {
		x->in = NONE;
	} else if (x->in != NONE && (type == XML_READER_TYPE_TEXT || type == XML_READER_TYPE_CDATA)) {
		add(x, (const char *)xmlTextReaderConstValue(r));
	}
}

bool
xmp_read(struct arena *mem, const void *bytes, size_t n, struct image_words *words)
{
	struct xmp x = { .mem = mem, .words = words };
	xmlTextReaderPtr r;
	const char *text;
	int got;

	*words = (struct image_words){ .keywords = { arena_array(mem, IMAGE_KEYWORDS, sizeof(char *)), 0 } };
	/* Room to grow lies behind it, of blanks or of nothing. */
	while (n > 0 && ((const char *)bytes)[n - 1] != '>')
		n--;
	if (n == 0 || n > BYTES || !utf8_valid(bytes, n))
		return false;
	text = arena_copy_n(mem, bytes, n);
	if (strlen(text) != n || xml_costly(text, TAG) != NULL)
		return false;
	r = xmlReaderForMemory(text, (int)n, NULL, "UTF-8", XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
	    XML_PARSE_COMPACT);
	if (r == NULL)
		return false;
	while ((got = xmlTextReaderRead(r)) == 1)
		see(&x, r);
	xmlFreeTextReader(r);
	return got == 0;
}
