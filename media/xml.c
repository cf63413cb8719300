/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tags, and what may hold anything. */
#include <string.h>

#include "media/xml.h"

/* Behind the tag, comment or whatever begins here.  NULL: see xml_costly(). */
static const char *
behind(const char *at, size_t tag_max)
{
	static const struct { const char *begin, *end; } free_text[] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" },
	    { "<?", "?>" } };
	const char *p = at;
	char quote = '\0';

	for (size_t i = 0; i < sizeof(free_text) / sizeof(free_text[0]); i++)
		if (strncmp(at, free_text[i].begin, strlen(free_text[i].begin)) == 0) {
			p = strstr(at, free_text[i].end);
			return p != NULL ? p : at + strlen(at);
		}
	if (at[1] == '!')
		return NULL;
	for (; *p != '\0' && (quote != '\0' || *p != '>'); p++) {
		if ((size_t)(p - at) > tag_max)
			return NULL;
		if (*p == quote)
			quote = '\0';
		else if (quote == '\0' && (*p == '"' || *p == '\''))
			quote = *p;
	}
	return p;
}

const char *
xml_costly(const char *text, size_t tag_max)
{
	const char *at = text, *tag;

	while ((tag = strchr(at, '<')) != NULL) {
		at = behind(tag, tag_max);
		if (at == NULL)
			return tag;
	}
	return NULL;
}
