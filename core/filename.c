/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of files. */
#include <unicode/ubrk.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buf.h"
#include "core/filename.h"
#include "core/fold.h"
#include "core/text.h"

/* Characters: of the plain name, and of a folder that has a part of the other, which is 753 at most. */
enum { PLAIN_MAX = 30, FOLDER_MAX = 240 };
#define ENDING ".zip"

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

/* Where a text of so many bytes at most ends.  A letter under a heap of marks is cut all the same. */
static size_t
end_of(const char *text, size_t n, size_t most)
{
	UErrorCode error = U_ZERO_ERROR;
	UText utf8 = UTEXT_INITIALIZER;
	UBreakIterator *characters;
	int32_t end;

	if (n <= most)
		return n;
	utext_openUTF8(&utf8, text, (int64_t)n, &error);
	characters = ubrk_open(UBRK_CHARACTER, "en", NULL, 0, &error);
	ubrk_setUText(characters, &utf8, &error);
	if (U_FAILURE(error))
		abort();
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	end = (int32_t)most;
	if (!ubrk_isBoundary(characters, end))
		end = ubrk_preceding(characters, (int32_t)most);
	ubrk_close(characters);
	utext_close(&utf8);
	return end > 0 ? (size_t)end : most;
}

static void
cut(struct buf *b, size_t bytes)
{
	if (b->len == 0)
		return;
	b->len = end_of(b->text, b->len, bytes);
	while (b->len > 0 && (b->text[b->len - 1] == '.' || b->text[b->len - 1] == ' '))
		b->len--;
	b->text[b->len] = '\0';
}

const char *
filename_safe(struct arena *mem, const char *text, size_t bytes)
{
	struct buf b = BUF(mem), device = BUF(mem);

	text = utf8_to_line(mem, text);
	for (text += strspn(text, ". "); *text != '\0'; text++)
		buf_char(&b, strchr("/\\:*?\"<>|", *text) != NULL ? '_' : *text);
	cut(&b, bytes);
	if (b.len == 0 || utf8_blank(b.text))
		return "file";
	if (!is_device(b.text))
		return b.text;
	buf_printf(&device, "_%s", b.text);
	cut(&device, bytes);
	return device.text;
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
	const char *name = filename_safe(mem, title, FILENAME_BYTES - strlen(ENDING));
	struct buf b = BUF(mem);
	size_t from = 0;

	for (const char *c = name; *c != '\0'; c++) {
		if (b.len - from > FOLDER_MAX) {
			buf_char(&b, '/');
			from = b.len;
		}
		if (isascii(*c) && (islower(*c) || isdigit(*c) || *c == '-'))
			buf_char(&b, *c);
		else
			buf_printf(&b, "_%02x", (unsigned char)*c);
	}
	return arena_printf(mem, "%s/%s/%s" ENDING, folder, buf_string(&b), filename_plain(mem, title));
}

const char *
filename_of_package(struct arena *mem, const char *key)
{
	const char *plain = strrchr(key, '/'), *from, *ending = plain != NULL ? strrchr(plain, '.') : NULL;
	struct buf b = BUF(mem);
	int n;

	if (ending == NULL || strcmp(ending, ENDING) != 0)
		return NULL;
	n = (int)(ending - ++plain);
	/* Behind the folder of the run, whose name has a dot, and in which those of before lie. */
	for (from = plain - 1; from > key && *from != '.'; from--)
		continue;
	from += strcspn(from, "/") + 1;
	if (from >= plain)
		buf_add(&b, plain, (size_t)n);
	else
		for (; from < plain - 1; from++)
			if (*from != '/')
				buf_char(&b, *from == '_' ? '%' : *from);
	return arena_printf(mem, "attachment; filename=\"%.*s.zip\"; filename*=UTF-8''%s.zip", n, plain,
	    buf_string(&b));
}

const char *
filename_ask(struct arena *mem, const char *title, const char *file)
{
	const char *ending = strrchr(file, '.');
	const size_t taken = ending != NULL ? strlen(ending) : 0;

	return arena_printf(mem, FILENAME_ASKED "%s", percent_encode(mem, filename_safe(mem, title, FILENAME_BYTES -
	    taken)));
}

static bool
is_askable(const char *name)
{
	const char *c;

	for (c = name; *c != '\0'; c++) {
		if (*c != '%') {
			if (!isascii(*c) || (!isalnum(*c) && strchr("._~-", *c) == NULL))
				return false;
			continue;
		}
		if (c[1] < '2' || !isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2]) ||
		    strncasecmp(c + 1, "2f", 2) == 0 || strncasecmp(c + 1, "5c", 2) == 0 ||
		    strncasecmp(c + 1, "7f", 2) == 0)
			return false;
		c += 2;
	}
	return c > name && c - name <= FILENAME_ASKED_MAX;
}

const char *
filename_of_address(struct arena *mem, const char *key, const char *address)
{
	const char *query = strchr(address, '?'), *file = strrchr(key, '/'), *package = filename_of_package(mem, key);
	const char *ending = file != NULL ? strrchr(file, '.') : NULL;

	if (package != NULL || query == NULL || ending == NULL || strncmp(query, FILENAME_ASKED,
	    strlen(FILENAME_ASKED)) != 0 || !is_askable(query + strlen(FILENAME_ASKED)))
		return package;
	return arena_printf(mem, "attachment; filename=\"%s\"; filename*=UTF-8''%s%s", file + 1, query +
	    strlen(FILENAME_ASKED), ending);
}
