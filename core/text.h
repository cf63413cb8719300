/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small types that appear in every table, and their text forms: ids, times, positions in media. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"

/* RFC 9562 UUID.  All zero means "none" and is null in SQL and JSON. */
struct uuid { uint8_t b[16]; };

/* A point in time, milliseconds since 1970 UTC.  0 means "never" and is null in SQL and JSON. */
struct moment { int64_t ms; };

/* A position in, or length of, media.  Seconds with three decimals on the wire. */
struct position { int64_t ms; bool set; };

#define UUID_TEXT 37		/* 36 characters and the NUL */
#define MOMENT_TEXT 25		/* "2026-11-20T10:26:53.123Z" and the NUL */
#define MOMENT_HTTP 30		/* "Fri, 20 Nov 2026 10:26:53 GMT" and the NUL */

/* A version 7 UUID: time-ordered, the rest random from the kernel; later ids of one process sort after earlier ones. */
struct uuid uuid_new(void);
bool uuid_is_none(struct uuid);
bool uuid_equal(struct uuid, struct uuid);
/* Of two struct uuid, byte by byte: for qsort() and bsearch(). */
int uuid_order(const void *, const void *);
/* Lower case, 36 characters.  Returns out. */
char *uuid_format(struct uuid, char out[UUID_TEXT]);
/* The same in an arena. */
const char *uuid_text(struct arena *, struct uuid);
/* Exactly 36 characters, hyphens in place, lower-case hex: anything else is false and *out is untouched. */
bool uuid_parse(const char *text, struct uuid *out);

struct moment moment_now(void);
/* Milliseconds on a clock that nobody sets: for how long something takes, not for when it was. */
int64_t clock_ms(void);
/* Seconds of that clock, never 0. */
int64_t clock_s(void);
/* RFC 3339 in UTC with milliseconds and Z.  Returns out. */
char *moment_format(struct moment, char out[MOMENT_TEXT]);
/* As headers of HTTP have it.  Returns out. */
char *moment_http(struct moment, char out[MOMENT_HTTP]);
/* RFC 3339 with Z or an offset, seconds or fractions of a second. */
bool moment_parse(const char *text, struct moment *out);
/* Can a recording be of that time?  Clocks that were never set say 1904 or 1970, and wrong ones a time to come. */
bool moment_is_past(struct moment);

/* "12.345" as milliseconds, rounded; refuses negative numbers, exponents and anything after the number. */
bool position_parse(const char *text, int64_t *ms);

/* Whole well-formed UTF-8 without NUL (RFC 3629: no surrogates, no over-long forms)? */
bool utf8_valid(const char *text, size_t n);
/* The bytes before the first that is none. */
size_t utf8_prefix(const char *text, size_t n);
/* Nothing that can be seen: empty, or white space, controls, format characters and fillers alone?  For valid UTF-8. */
bool utf8_blank(const char *text);
/* One line, which reads as it is written: no controls, no breaks of lines, and nothing that turns the direction of what
 * stands beside it (UAX #9: embeddings, overrides, isolates; marks are fine)?  For valid UTF-8. */
bool utf8_line(const char *text);
/* What others have named, as such a line: blanks for controls and breaks of lines, the rest that is none left out. */
const char *utf8_to_line(struct arena *, const char *text);
/* Characters (code points) of valid UTF-8. */
size_t utf8_length(const char *text);

/* A BCP 47 tag in its common shape: 2 to 35 ASCII characters, letters first, parts of up to 8 letters and digits,
 * the first not of 4, which no language has (RFC 5646, 2.2.1). */
bool language_valid(const char *tag);

/* Percent-decodes in place up to n bytes; `plus` turns + into a space (forms and queries).  Returns the new length, or
 * -1 for a broken escape or an escaped NUL. */
long percent_decode(char *text, size_t n, bool plus);
/* Escapes all but RFC 3986 unreserved characters. */
const char *percent_encode(struct arena *, const char *text);

/* Base64url without padding (RFC 4648 section 5).  Decoding is strict: no padding, no other bytes, zero tail bits;
 * returns the number of bytes, or -1. */
char *base64url_encode(struct arena *, const void *bytes, size_t n);
long base64url_decode(struct arena *, const char *text, size_t n, unsigned char **out);

/* Lower-case hex of n bytes. */
char *hex_encode(struct arena *, const void *bytes, size_t n);
/* n bytes of that.  False: there is something else among the first 2 n characters. */
bool hex_decode(const char *text, unsigned char *out, size_t n);

/* n bytes from the kernel's generator; ends the process if there is none. */
void random_bytes(void *out, size_t n);

/* Is the word of n characters in the list?  Blanks or commas stand between its words; NULL is an empty one. */
bool word_in(const char *list, const char *word, size_t n);

/* A decimal integer without sign tricks, white space or overflow. */
bool int_parse(const char *text, int64_t *out);

#endif
