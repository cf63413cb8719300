/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids, times, positions, UTF-8, escapes: strict forms in, one form out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/text.h"

void
random_bytes(void *out, size_t n)
{
	unsigned char *p = out;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno != EINTR)
			abort();
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
}

struct moment
moment_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (struct moment){ (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 };
}

int64_t
clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_s(void)
{
	return clock_ms() / 1000 + 1;
}

/* RFC 9562 section 6.2, method 1: twelve bits of a counter keep ids of one millisecond in order. */
struct uuid
uuid_new(void)
{
	static int64_t last;
	static unsigned counter;
	int64_t ms = moment_now().ms;
	struct uuid u;
	int i;

	random_bytes(u.b, sizeof(u.b));
	if (ms > last) {
		last = ms;
		counter = (unsigned)(u.b[6] << 8 | u.b[7]) & 0x7ff;
	} else if (++counter > 0xfff) {
		last++;
		counter = 0;
	}
	for (i = 0; i < 6; i++)
		u.b[i] = (uint8_t)(last >> (40 - 8 * i));
	u.b[6] = (uint8_t)(0x70 | counter >> 8);
	u.b[7] = (uint8_t)counter;
	u.b[8] = (uint8_t)(0x80 | (u.b[8] & 0x3f));
	return u;
}

bool
uuid_is_none(struct uuid u)
{
	static const struct uuid none;

	return memcmp(&u, &none, sizeof(u)) == 0;
}

bool
uuid_equal(struct uuid a, struct uuid b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

int
uuid_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct uuid));
}

char *
uuid_format(struct uuid u, char out[UUID_TEXT])
{
	static const uint8_t at[16] = { 0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34 };
	static const char hex[] = "0123456789abcdef";
	int i;

	for (i = 0; i < 16; i++) {
		out[at[i]] = hex[u.b[i] >> 4];
		out[at[i] + 1] = hex[u.b[i] & 15];
	}
	out[8] = out[13] = out[18] = out[23] = '-';
	out[UUID_TEXT - 1] = '\0';
	return out;
}

const char *
uuid_text(struct arena *mem, struct uuid u)
{
	return uuid_format(u, arena_alloc(mem, UUID_TEXT));
}

static int
lower_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
uuid_parse(const char *text, struct uuid *out)
{
	struct uuid u;
	int i, high, low;
	const char *p = text;

	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *p++ != '-')
			return false;
		if ((high = lower_hex(p[0])) < 0 || (low = lower_hex(p[1])) < 0)
			return false;
		u.b[i] = (uint8_t)(high << 4 | low);
		p += 2;
	}
	if (*p != '\0')
		return false;
	*out = u;
	return true;
}

static char *
put_two(char *p, int value)
{
	*p++ = (char)('0' + value / 10);
	*p++ = (char)('0' + value % 10);
	return p;
}

/*
 * Days since 1970 as a date.  Years are counted from March, so that the leap day is the last, and in eras of 400, which
 * have 146,097 days each; from March on, five months have 153 days.
 */
static void
date_of(int64_t days, int *year, int *month, int *day)
{
	int64_t since = days + 719468, era = (since >= 0 ? since : since - 146096) / 146097;	/* of 0000-03-01 */
	int of_era = (int)(since - era * 146097);
	int years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int of_year = of_era - (365 * years + years / 4 - years / 100), from_march = (5 * of_year + 2) / 153;

	*day = of_year - (153 * from_march + 2) / 5 + 1;
	*month = from_march < 10 ? from_march + 3 : from_march - 9;
	*year = (int)(years + era * 400) + (*month <= 2);
}

char *
moment_http(struct moment m, char out[MOMENT_HTTP])
{
	const time_t at = (time_t)(m.ms / 1000);
	struct tm tm;

	strftime(out, MOMENT_HTTP, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
	return out;
}

/* By hand, and without the lock on the time zone: a list of 50 writes a hundred of them. */
char *
moment_format(struct moment m, char out[MOMENT_TEXT])
{
	int64_t days = (m.ms >= 0 ? m.ms : m.ms - 86399999) / 86400000;
	int year, month, day, ms = (int)(m.ms - days * 86400000);
	char *p = out;

	date_of(days, &year, &month, &day);
	p = put_two(put_two(p, year / 100), year % 100);
	*p++ = '-';
	p = put_two(p, month);
	*p++ = '-';
	p = put_two(p, day);
	*p++ = 'T';
	p = put_two(p, ms / 3600000);
	*p++ = ':';
	p = put_two(p, ms / 60000 % 60);
	*p++ = ':';
	p = put_two(p, ms / 1000 % 60);
	*p++ = '.';
	*p++ = (char)('0' + ms % 1000 / 100);
	p = put_two(p, ms % 100);
	memcpy(p, "Z", 2);
	return out;
}

/* Two or four digits at *p, which moves on; -1 when they are none. */
static int
digits(const char **p, int n)
{
	int value = 0;

	while (n-- > 0) {
		if (**p < '0' || **p > '9')
			return -1;
		value = value * 10 + *(*p)++ - '0';
	}
	return value;
}

static bool
literal(const char **p, const char *any)
{
	if (**p == '\0' || strchr(any, **p) == NULL)
		return false;
	(*p)++;
	return true;
}

/* "Z", "+02:00": minutes east of UTC. */
static bool
offset_parse(const char **p, int *minutes)
{
	int sign = **p == '-' ? -1 : 1, h, m;

	*minutes = 0;
	if (literal(p, "Zz"))
		return **p == '\0';
	if (!literal(p, "+-") || (h = digits(p, 2)) < 0 || h > 23 || !literal(p, ":") || (m = digits(p, 2)) < 0 ||
	    m > 59)
		return false;
	*minutes = sign * (h * 60 + m);
	return **p == '\0';
}

#define LAST_MOMENT INT64_C(253402300799999)		/* 9999-12-31T23:59:59.999Z */

bool
moment_parse(const char *text, struct moment *out)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const char *p = text;
	struct tm tm = { 0 };
	int y, mo, d, h, mi, s, minutes, ms = 0, scale = 100;
	int64_t at;

	if ((y = digits(&p, 4)) < 1970 || !literal(&p, "-") || (mo = digits(&p, 2)) < 1 || mo > 12 ||
	    !literal(&p, "-") || (d = digits(&p, 2)) < 1 || !literal(&p, "Tt ") || (h = digits(&p, 2)) < 0 || h > 23 ||
	    !literal(&p, ":") || (mi = digits(&p, 2)) < 0 || mi > 59 || !literal(&p, ":") || (s = digits(&p, 2)) < 0 ||
	    s > 60)
		return false;
	if (d > days[mo - 1] + (mo == 2 && ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0)))
		return false;
	if (literal(&p, ".")) {
		if (*p < '0' || *p > '9')
			return false;
		for (; *p >= '0' && *p <= '9'; p++, scale /= 10)
			ms += (*p - '0') * scale;
	}
	if (!offset_parse(&p, &minutes))
		return false;
	tm.tm_year = y - 1900;
	tm.tm_mon = mo - 1;
	tm.tm_mday = d;
	tm.tm_hour = h;
	tm.tm_min = mi;
	tm.tm_sec = s;
	at = ((int64_t)timegm(&tm) - minutes * 60) * 1000 + ms;
	/* an offset or a leap second leads out of the years that can be written */
	if (at < 0 || at > LAST_MOMENT)
		return false;
	out->ms = at;
	return true;
}

bool
moment_is_past(struct moment m)
{
	const int64_t day = 86400000;

	return m.ms >= 366 * day && m.ms <= moment_now().ms + day;
}

bool
position_parse(const char *text, int64_t *ms)
{
	const char *p = text;
	int64_t whole = 0;
	int part = 0, scale = 1000;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if ((whole = whole * 10 + *p - '0') > INT64_C(9007199254740))
			return false;
	if (*p == '.') {
		if (*++p < '0' || *p > '9')
			return false;
		for (; *p >= '0' && *p <= '9'; p++) {
			if (scale >= 10)
				part += (*p - '0') * (scale /= 10);
			else if (scale-- == 1)
				part += *p >= '5';
		}
	}
	if (*p != '\0')
		return false;
	*ms = whole * 1000 + part;
	return true;
}

bool
word_in(const char *list, const char *word, size_t n)
{
	size_t length;

	for (; n > 0 && list != NULL && *list != '\0'; list += length, list += strspn(list, ", ")) {
		length = strcspn(list, ", ");
		if (length == n && memcmp(list, word, n) == 0)
			return true;
	}
	return false;
}

bool
int_parse(const char *text, int64_t *out)
{
	const char *p = text + (*text == '-');
	uint64_t value = 0;

	if (*p == '\0' || (*p == '0' && (p[1] != '\0' || p != text)))
		return strcmp(text, "0") == 0 ? (*out = 0, true) : false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*p - '0'),
		    &value) || value > INT64_MAX)
			return false;
	if (*p != '\0')
		return false;
	*out = *text == '-' ? -(int64_t)value : (int64_t)value;
	return true;
}

/* RFC 3629: the number of bytes of the sequence at s, or 0. */
static size_t
utf8_step(const unsigned char *s, size_t n)
{
	static const struct { unsigned char from, to, second_from, second_to; size_t bytes; } table[] = {
		{ 0x01, 0x7f, 0, 0, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t i, k;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (s[0] < table[i].from || s[0] > table[i].to)
			continue;
		if (table[i].bytes > n)
			return 0;
		for (k = 1; k < table[i].bytes; k++)
			if (s[k] < (k == 1 ? table[i].second_from : 0x80) || s[k] > (k == 1 ? table[i].second_to :
			    0xbf))
				return 0;
		return table[i].bytes;
	}
	return 0;
}

size_t
utf8_prefix(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i = 0, step;

	while (i < n) {
		if (s[i] != 0 && s[i] < 0x80) {
			i++;
			continue;
		}
		if ((step = utf8_step(s + i, n - i)) == 0)
			return i;
		i += step;
	}
	return n;
}

bool
utf8_valid(const char *text, size_t n)
{
	return utf8_prefix(text, n) == n;
}

/* White_Space, Cc, Cf and Default_Ignorable_Code_Point of Unicode 15, and U+2800, a pattern of no dots. */
static bool
unseen(uint32_t c)
{
	static const struct { uint32_t from, to; } ranges[] = {
		{ 0x00, 0x20 }, { 0x7f, 0xa0 }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x600, 0x605 }, { 0x61c, 0x61c }, { 0x6dd, 0x6dd },
		{ 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 }, { 0x115f, 0x1160 }, { 0x1680, 0x1680 }, { 0x17b4, 0x17b5 },
		{ 0x180b, 0x180f }, { 0x2000, 0x200f }, { 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x2800, 0x2800 },
		{ 0x3000, 0x3000 }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

/* The character at *text, which is then behind it; 0 at the end. */
static uint32_t
utf8_next(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	size_t n = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4, i;
	uint32_t c = n == 1 ? *s : *s & (0x7fu >> n);

	for (i = 1; i < n && (s[i] & 0xc0) == 0x80; i++)
		c = c << 6 | (s[i] & 0x3fu);
	*text += c != 0 ? i : 0;
	return c;
}

bool
utf8_blank(const char *text)
{
	uint32_t c;

	while ((c = utf8_next(&text)) != 0)
		if (!unseen(c))
			return false;
	return true;
}

static bool
breaks_line(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

static bool
turns_line(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool
utf8_line(const char *text)
{
	uint32_t c;

	while ((c = utf8_next(&text)) != 0)
		if (breaks_line(c) || turns_line(c))
			return false;
	return true;
}

const char *
utf8_to_line(struct arena *mem, const char *text)
{
	char *out = arena_copy(mem, text), *end = out;
	const char *from = text;
	uint32_t c;

	for (; (c = utf8_next(&text)) != 0; from = text)
		if (breaks_line(c))
			*end++ = ' ';
		else if (!turns_line(c))
			end = (char *)memcpy(end, from, (size_t)(text - from)) + (text - from);
	*end = '\0';
	return out;
}

size_t
utf8_length(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static int
any_hex(char c)
{
	return lower_hex(c >= 'A' && c <= 'F' ? (char)(c + 32) : c);
}

long
percent_decode(char *text, size_t n, bool plus)
{
	size_t i, out = 0;

	for (i = 0; i < n; i++) {
		if (text[i] == '%') {
			int high = i + 2 < n ? any_hex(text[i + 1]) : -1, low = i + 2 < n ? any_hex(text[i + 2]) : -1;

			if (high < 0 || low < 0 || (high | low) == 0)
				return -1;
			text[out++] = (char)(high << 4 | low);
			i += 2;
		} else {
			text[out++] = plus && text[i] == '+' ? ' ' : text[i];
		}
	}
	return (long)out;
}

const char *
percent_encode(struct arena *mem, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	char *out = arena_alloc(mem, strlen(text) * 3 + 1), *p = out;

	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    strchr("-._~", c) != NULL) {
			*p++ = (char)c;
			continue;
		}
		*p++ = '%';
		*p++ = hex[c >> 4];
		*p++ = hex[c & 15];
	}
	*p = '\0';
	return out;
}

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *
base64url_encode(struct arena *mem, const void *bytes, size_t n)
{
	const unsigned char *s = bytes;
	char *out = arena_alloc(mem, n / 3 * 4 + 5), *p = out;
	uint32_t bits = 0;
	int have = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		bits = bits << 8 | s[i];
		for (have += 8; have >= 6; have -= 6)
			*p++ = base64url[bits >> (have - 6) & 63];
	}
	if (have > 0)
		*p++ = base64url[bits << (6 - have) & 63];
	*p = '\0';
	return out;
}

long
base64url_decode(struct arena *mem, const char *text, size_t n, unsigned char **out)
{
	unsigned char *bytes = arena_alloc(mem, n / 4 * 3 + 4);
	uint32_t bits = 0;
	int have = 0;
	long len = 0;
	size_t i;

	if (n % 4 == 1)
		return -1;
	for (i = 0; i < n; i++) {
		const char *at = text[i] == '\0' ? NULL : strchr(base64url, text[i]);

		if (at == NULL)
			return -1;
		bits = bits << 6 | (uint32_t)(at - base64url);
		have += 6;
		if (have >= 8) {
			have -= 8;
			bytes[len++] = (unsigned char)(bits >> have);
		}
	}
	if ((bits & ((1u << have) - 1)) != 0)
		return -1;
	*out = bytes;
	return len;
}

char *
hex_encode(struct arena *mem, const void *bytes, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *s = bytes;
	char *out = arena_alloc(mem, n * 2 + 1);
	size_t i;

	for (i = 0; i < n; i++) {
		out[2 * i] = hex[s[i] >> 4];
		out[2 * i + 1] = hex[s[i] & 15];
	}
	return out;
}

bool
hex_decode(const char *text, unsigned char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *high, *low;
	size_t i;

	for (i = 0; i < n; i++) {
		high = text[2 * i] == '\0' ? NULL : strchr(digits, text[2 * i]);
		low = high == NULL || text[2 * i + 1] == '\0' ? NULL : strchr(digits, text[2 * i + 1]);
		if (low == NULL)
			return false;
		out[i] = (unsigned char)((high - digits) << 4 | (low - digits));
	}
	return true;
}

bool
language_valid(const char *tag)
{
	size_t n = 0, total = strlen(tag), primary = strcspn(tag, "-");
	bool first = true;

	for (; *tag != '\0'; tag++) {
		bool letter = (*tag | 0x20) >= 'a' && (*tag | 0x20) <= 'z', digit = *tag >= '0' && *tag <= '9';

		if (*tag == '-') {
			if (n == 0)
				return false;
			n = 0;
			first = false;
		} else if ((!letter && (first || !digit)) || ++n > 8) {
			return false;
		}
	}
	return n > 0 && primary != 4 && total >= 2 && total <= 35;
}
