/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels: one spelling for one look. */
#include <stdlib.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include "media/label.h"

static int32_t
squeeze(UChar *text, int32_t n)
{
	int32_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (!u_isUWhiteSpace(text[i]))
			text[kept++] = text[i];
		else if (kept > 0 && text[kept - 1] != ' ')
			text[kept++] = ' ';
	return kept > 0 && text[kept - 1] == ' ' ? kept - 1 : kept;
}

/* Of each character NFC makes three at most (UAX #15), and of a UTF-16 unit UTF-8 three bytes. */
const char *
label_clean(struct arena *mem, const char *text)
{
	int32_t room = (int32_t)strlen(text) + 1, n = 0;
	UChar *in = arena_array(mem, (size_t)room, sizeof(*in)), *out = arena_array(mem, (size_t)room * 3,
	    sizeof(*out));
	char *clean = arena_alloc(mem, (size_t)room * 9 + 1);
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *nfc = unorm2_getNFCInstance(&error);

	u_strFromUTF8(in, room, &n, text, -1, &error);
	n = unorm2_normalize(nfc, in, n, out, room * 3, &error);
	n = squeeze(out, U_SUCCESS(error) ? n : 0);
	u_strToUTF8(clean, room * 9, NULL, out, n, &error);
	if (U_FAILURE(error))
		abort();
	return clean;
}
