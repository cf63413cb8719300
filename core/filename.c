/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of files. */
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/buf.h"
#include "core/filename.h"
#include "core/fold.h"
#include "core/text.h"

/* Characters of a key: its row takes 255, of which the folder of a run has 80 at most. */
enum { PLAIN_MAX = 30, ESCAPED_MAX = 135 };

/* Windows takes these for devices, whatever ending they have, and blanks before it. */
static bool
is_device(const char *name)
{
	static const char *const devices[] = { "con", "prn", "aux", "nul", "conin$", "conout$" };
	static const char *const digits[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³" };
	size_t n = strcspn(name, "."), i;

	while (n > 0 && name[n - 1] == ' ')
		n--;
	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (n == strlen(devices[i]) && strncasecmp(name, devices[i], n) == 0)
			return true;
	if (n < 4 || (strncasecmp(name, "com", 3) != 0 && strncasecmp(name, "lpt", 3) != 0))
		return false;
	for (i = 0; i < sizeof(digits) / sizeof(digits[0]); i++)
		if (n - 3 == strlen(digits[i]) && strncmp(name + 3, digits[i], n - 3) == 0)
			return true;
	return false;
}

const char *
filename_safe(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	size_t characters = 0;

	text = utf8_to_line(mem, text);
	text += strspn(text, ". ");
	for (; *text != '\0'; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80 &&
		    (++characters > FILENAME_CHARACTERS || b.len > FILENAME_BYTES - 4))
			break;
		buf_char(&b, strchr("/\\:*?\"<>|", *text) != NULL ? '_' : *text);
	}
	while (b.len > 0 && (b.text[b.len - 1] == '.' || b.text[b.len - 1] == ' '))
		b.text[--b.len] = '\0';
	if (b.len == 0 || utf8_blank(buf_string(&b)))
		return "file";
	return is_device(b.text) ? arena_printf(mem, "_%s", b.text) : b.text;
}

const char *
filename_key(struct arena *mem, const char *name)
{
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *form = unorm2_getNFKCCasefoldInstance(&error);
	const int32_t room = 18 * (int32_t)strlen(name) + 1;	/* a character may become so many */
	UChar *wide = arena_array(mem, (size_t)room, sizeof(*wide)), *folded = arena_array(mem, (size_t)room,
	    sizeof(*folded));
	char *key = arena_alloc(mem, 3 * (size_t)room);
	int32_t n, m;

	u_strFromUTF8(wide, room, &n, name, -1, &error);
	m = unorm2_normalize(form, wide, n, folded, room, &error);
	u_strToUTF8(key, 3 * room, NULL, folded, m, &error);
	return U_FAILURE(error) ? name : key;
}

const char *
filename_plain(struct arena *mem, const char *text)
{
	struct buf b = BUF(mem);
	struct folded *words;
	size_t n, i;

	words = fold_words(mem, text, &n);
	for (i = 0; i < n && b.len < PLAIN_MAX; i++) {
		if (b.len > 0 && b.text[b.len - 1] != '-')
			buf_char(&b, '-');
		for (const char *c = words[i].other != NULL ? words[i].other : words[i].word; *c != '\0' && b.len <
		    PLAIN_MAX; c++)
			if (isascii(*c) && (islower(*c) || isdigit(*c)))
				buf_char(&b, *c);
	}
	while (b.len > 0 && b.text[b.len - 1] == '-')
		b.text[--b.len] = '\0';
	return b.len > 0 ? b.text : "download";
}

const char *
filename_package(struct arena *mem, const char *folder, const char *title)
{
	const char *name = filename_safe(mem, title);
	struct buf b = BUF(mem);
	size_t whole = 0;

	for (const char *c = name; *c != '\0' && b.len <= ESCAPED_MAX; c++) {
		if (((unsigned char)*c & 0xc0) != 0x80)
			whole = b.len;
		if (isascii(*c) && (islower(*c) || isdigit(*c) || *c == '-'))
			buf_char(&b, *c);
		else
			buf_printf(&b, "_%02x", (unsigned char)*c);
	}
	/* The last character may be cut in two. */
	if (b.len > ESCAPED_MAX)
		b.text[b.len = whole] = '\0';
	return arena_printf(mem, "%s/%s/%s.zip", folder, buf_string(&b), filename_plain(mem, title));
}

const char *
filename_of_package(struct arena *mem, const char *key)
{
	const char *plain = strrchr(key, '/'), *from, *ending = plain != NULL ? strrchr(plain, '.') : NULL;
	struct buf b = BUF(mem);
	int n;

	if (ending == NULL || strcmp(ending, ".zip") != 0)
		return NULL;
	n = (int)(ending - ++plain);
	for (from = plain - 1; from > key && from[-1] != '/'; from--)
		continue;
	/* Those of before lie in the folder of their run, whose name has a dot. */
	if (memchr(from, '.', (size_t)(plain - from)) != NULL)
		buf_add(&b, plain, (size_t)n);
	else
		for (; from < plain - 1; from++)
			buf_char(&b, *from == '_' ? '%' : *from);
	return arena_printf(mem, "attachment; filename=\"%.*s.zip\"; filename*=UTF-8''%s.zip", n, plain,
	    buf_string(&b));
}
