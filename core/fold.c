/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words as the search compares them. */
#include <stdbool.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include "core/fold.h"

enum { WIDE = 64, DIAERESIS = 0x308 };

struct folding {
	struct arena *mem;
	const UNormalizer2 *fold, *apart;
	struct folded *at;
	size_t n, room;
	/* the word that is being read, in both forms */
	char word[FOLD_MAX + 1], other[FOLD_MAX + 1];
	size_t len, other_len, from;
	bool has_umlaut;
};

static void
put(char *out, size_t *len, UChar32 c)
{
	int32_t more = 0;
	uint8_t bytes[4];

	U8_APPEND_UNSAFE(bytes, more, c);
	if (*len + (size_t)more > FOLD_MAX)
		return;
	memcpy(out + *len, bytes, (size_t)more);
	*len += (size_t)more;
	out[*len] = '\0';
}

static bool
ends_in_vowel(const struct folding *f)
{
	return f->len > 0 && strchr("aou", f->word[f->len - 1]) != NULL;
}

/* Letters that no decomposition takes apart. */
static const char *
plain(UChar32 c)
{
	switch (c) {
	case 0xe6: return "ae";
	case 0x153: return "oe";
	case 0xf8: return "o";
	case 0x142: return "l";
	case 0x111: return "d";
	case 0x131: return "i";
	default: return NULL;
	}
}

static void
add_part(struct folding *f, UChar32 c)
{
	const char *p = plain(c);

	if (c == DIAERESIS && ends_in_vowel(f)) {
		put(f->other, &f->other_len, 'e');
		f->has_umlaut = true;
	} else if (p != NULL)
		for (; *p != '\0'; p++) {
			put(f->word, &f->len, *p);
			put(f->other, &f->other_len, *p);
		}
	else if (u_isalnum(c)) {
		c = u_charDigitValue(c) >= 0 ? '0' + u_charDigitValue(c) : c;
		put(f->word, &f->len, c);
		put(f->other, &f->other_len, c);
	}
}

static void
add(struct folding *f, UChar32 c)
{
	UErrorCode error = U_ZERO_ERROR;
	UChar in[2], folded[WIDE], parts[WIDE];
	int32_t n = 0, m, i = 0;

	if (c < 0x80) {
		add_part(f, c >= 'A' && c <= 'Z' ? c + 32 : c);
		return;
	}
	U16_APPEND_UNSAFE(in, n, c);
	m = unorm2_normalize(f->fold, in, n, folded, WIDE, &error);
	m = unorm2_normalize(f->apart, folded, m, parts, WIDE, &error);
	while (U_SUCCESS(error) && i < m) {
		U16_NEXT(parts, i, m, c);
		add_part(f, c);
	}
}

static void
end(struct folding *f, size_t to)
{
	struct folded *more;

	if (f->len > 0) {
		if (f->n == f->room) {
			more = arena_array(f->mem, f->room * 2 + 16, sizeof(*more));
			if (f->n > 0)
				memcpy(more, f->at, f->n * sizeof(*more));
			f->at = more;
			f->room = f->room * 2 + 16;
		}
		f->at[f->n++] = (struct folded){ arena_copy(f->mem, f->word),
		    f->has_umlaut ? arena_copy(f->mem, f->other) : NULL, f->from, to };
	}
	f->len = f->other_len = 0;
	f->has_umlaut = false;
}

static bool
is_unspaced(UChar32 c)
{
	UErrorCode error = U_ZERO_ERROR;
	UScriptCode script;

	if (c < 0xe00)
		return false;
	script = uscript_getScript(c, &error);
	return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ||
	    script == USCRIPT_THAI || script == USCRIPT_LAO || script == USCRIPT_KHMER || script == USCRIPT_MYANMAR;
}

/* Behind the marks that make ka into ga, where they are characters of their own, of either width. */
static int32_t
behind_voicing(const char *text, int32_t at, int32_t n)
{
	int32_t to = at;
	UChar32 c;

	while (to < n) {
		U8_NEXT(text, to, n, c);
		if (c != 0x3099 && c != 0x309a && c != 0xff9e && c != 0xff9f)
			break;
		at = to;
	}
	return at;
}

/* A character of such a script at `from`: the pair that begins with it, and it alone where none follows. */
static void
pair(struct folding *f, const char *text, int32_t from, int32_t n, UChar32 c)
{
	int32_t at = from, to;
	UChar32 next;

	U8_FWD_1(text, at, n);
	f->from = (size_t)from;
	add(f, c);
	to = at = behind_voicing(text, at, n);
	if (at < n) {
		U8_NEXT(text, at, n, next);
		if (is_unspaced(next) && u_isalnum(next)) {
			add(f, next);
			to = behind_voicing(text, at, n);
		}
	}
	end(f, (size_t)to);
}

static bool
is_part(UChar32 c)
{
	return u_isalnum(c) || u_getCombiningClass(c) > 0 || u_charType(c) == U_NON_SPACING_MARK;
}

struct folded *
fold_words(struct arena *mem, const char *text, size_t *n)
{
	UErrorCode error = U_ZERO_ERROR;
	struct folding f = { .mem = mem, .fold = unorm2_getNFKCCasefoldInstance(&error),
	    .apart = unorm2_getNFDInstance(&error) };
	int32_t size = (int32_t)strlen(text), at = 0, before;
	bool inside = false;
	UChar32 c;

	while (at < size) {
		before = at;
		U8_NEXT(text, at, size, c);
		if (is_unspaced(c) && u_isalnum(c)) {
			end(&f, (size_t)before);
			pair(&f, text, before, size, c);
			inside = false;
		} else if (is_part(c)) {
			if (!inside)
				f.from = (size_t)before;
			inside = true;
			add(&f, c);
		} else if (u_charType(c) != U_FORMAT_CHAR) {
			end(&f, (size_t)before);
			inside = false;
		}
	}
	end(&f, (size_t)size);
	*n = f.n;
	return f.at;
}
