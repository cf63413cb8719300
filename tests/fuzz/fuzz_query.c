/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Query strings: cut into pairs, percent-decoded and decoded into the parameters of a list. */
#include <string.h>

#include "fcgi/req.h"
#include "tests/fuzz/fuzz.h"

struct find {
	const char *text;
	struct strings fields;
	struct number from, to;
	struct uuid channel_id;
	bool permanent;
};
static const struct field find_fields[] = {
	FIELD(struct find, text, .on = QUERY, .max = 100, .doc = "Text"),
	FIELD(struct find, fields, .on = QUERY, .one_of = "name tag transcript", .max = 3, .doc = "Where"),
	FIELD(struct find, from, .on = QUERY, .doc = "From"),
	FIELD(struct find, to, .on = QUERY, .doc = "To"),
	FIELD(struct find, channel_id, .on = QUERY, .doc = "Channel"),
	FIELD(struct find, permanent, .on = QUERY, .doc = "Flag"),
};
static const struct record find_record = RECORD("Find", struct find, find_fields);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct pair pairs[64];
	struct faults faults = { 0 };
	char *text, *part, *value;
	size_t count = 0;
	uint64_t given;
	long length;
	void *row;

	if (mem == NULL)
		mem = arena_new((size_t)64 << 20);
	text = arena_copy_n(mem, data, n);
	while ((part = strsep(&text, "&")) != NULL && count < 64) {
		value = strchr(part, '=');
		if (value != NULL)
			*value++ = '\0';
		if ((length = percent_decode(part, strlen(part), true)) < 0)
			break;
		part[length] = '\0';
		if (value != NULL && (length = percent_decode(value, strlen(value), true)) < 0)
			break;
		if (value != NULL)
			value[length] = '\0';
		pairs[count++] = (struct pair){ part, value == NULL ? "" : value };
	}
	if (record_decode_query(mem, &find_record, pairs, count, &row, &given, &faults) == DECODED) {
		struct buf out = BUF(mem);

		record_render(&out, &find_record, row, false);
	}
	arena_reset(mem);
	return 0;
}
