/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which language a text is in, by CLD2. */
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "media/language.h"
#include "media/transcript.h"

/* Bytes of a text that are looked at; of its letters that are needed, which of an alphabet are some words; how much of
 * it has to be in one language, in a hundred. */
enum { LOOK_MAX = 64 << 10, LETTERS_MIN = 20, SHARE_MIN = 80 };

/* The library has a header for C++ alone: these are its names, which hold the types of what they take. */
unsigned cld2_summary(const char *text, int n, bool plain, unsigned language[3], int percent[3], int *looked_at,
    bool *reliable) __asm__("_ZN4CLD221DetectLanguageSummaryEPKcibPNS_8LanguageEPiS4_Pb");
const char *cld2_code(unsigned language) __asm__("_ZN4CLD212LanguageCodeENS_8LanguageE");

struct origin { const char *by, *engine; double confidence; };
static const struct field origin_fields[] = {
	FIELD(struct origin, by, .on = SERVER, .required = true, .one_of = "machine human import",
	    .doc = "machine: it was told from the text or the sound; human: who asked for it has said so; import: a "
	    "file does"),
	FIELD(struct origin, engine, .on = SERVER | OMIT_NULL, .doc = "What has told it"),
	FIELD(struct origin, confidence, .on = SERVER | OMIT_NULL, .doc = "0 to 1, where the engine gives it"),
};
const struct record language_origin_record = RECORD("LanguageOrigin", struct origin, origin_fields);

const char *
language_origin(struct arena *mem, const char *by, const char *engine, double confidence)
{
	const struct origin o = { by, engine, confidence };
	struct buf out = BUF(mem);

	record_store(&out, &language_origin_record, &o);
	return buf_string(&out);
}

/* The text without bytes that are no character: the library may read beyond such a text.  letters: bytes of letters;
 * numbers, signs and pictures are of no language. */
static struct buf
valid_of(struct arena *mem, const char *text, size_t n, size_t *letters)
{
	int32_t at = 0, from, end = (int32_t)(n < LOOK_MAX ? n : LOOK_MAX);
	struct buf out = BUF(mem);
	UChar32 c;

	*letters = 0;
	while (at < end) {
		from = at;
		U8_NEXT(text, at, end, c);
		if (c < 0)
			continue;
		buf_add(&out, text + from, (size_t)(at - from));
		if (u_isalpha(c))
			*letters += (size_t)(at - from);
	}
	return out;
}

/* What the library calls unreliable has no such share. */
struct language_guess
language_guess(struct arena *mem, const char *text, size_t n)
{
	struct language_guess none = { NULL, 0 };
	unsigned language[3];
	int percent[3], looked_at;
	bool reliable;
	size_t letters;
	struct buf valid = valid_of(mem, text, n, &letters);

	if (letters < LETTERS_MIN)
		return none;
	cld2_summary(buf_string(&valid), (int)valid.len, true, language, percent, &looked_at, &reliable);
	if (percent[0] < SHARE_MIN)
		return none;
	return (struct language_guess){ language_tag(mem, cld2_code(language[0])), percent[0] / 100.0 };
}

struct language_guess
language_guess_said(struct arena *mem, const struct list *paragraphs)
{
	const struct paragraph *p = paragraphs->rows;
	struct buf all = BUF(mem);
	size_t i;

	for (i = 0; i < paragraphs->n; i++) {
		buf_text(&all, p[i].text);
		buf_char(&all, '\n');
	}
	return language_guess(mem, buf_string(&all), all.len);
}
