/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of requests: whatever comes is taken or refused, and what was taken renders and reads back as the same
 * bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "tests/fuzz/fuzz.h"

struct inner { const char *text; int64_t n; };
static const struct field inner_fields[] = {
	FIELD(struct inner, text, .on = CREATE | PATCH, .required = true, .max = 40, .doc = "Text"),
	FIELD(struct inner, n, .on = CREATE | PATCH, .min = -5, .max = 5, .doc = "Number"),
};
static const struct record inner_record = RECORD("Inner", struct inner, inner_fields);

struct outer {
	const char *name, *word;
	int64_t count;
	bool is_open;
	double real;
	struct number number;
	struct uuid id;
	struct moment at;
	struct position position;
	struct strings tags;
	struct json raw;
	struct nested one;
	struct list many;
};
static const struct field outer_fields[] = {
	FIELD(struct outer, name, .on = CREATE | PATCH, .required = true, .min = 1, .max = 20, .doc = "Name"),
	FIELD(struct outer, word, .on = CREATE | PATCH, .one_of = "red green blue", .doc = "Word"),
	FIELD(struct outer, count, .on = CREATE | PATCH, .min = 1, .max = 50, .doc = "Count"),
	FIELD(struct outer, is_open, .on = CREATE | PATCH, .doc = "Flag"),
	FIELD(struct outer, real, .on = CREATE | PATCH, .doc = "Real"),
	FIELD(struct outer, number, .on = CREATE | PATCH, .doc = "Number or null"),
	FIELD(struct outer, id, .on = CREATE | PATCH, .doc = "Id"),
	FIELD(struct outer, at, .on = CREATE | PATCH, .doc = "Time"),
	FIELD(struct outer, position, .on = CREATE | PATCH, .doc = "Position"),
	FIELD(struct outer, tags, .on = CREATE | PATCH, .max = 5, .doc = "Tags"),
	FIELD(struct outer, raw, .on = CREATE | PATCH, .doc = "Anything"),
	FIELD(struct outer, one, .on = CREATE | PATCH, .of = &inner_record, .doc = "A record"),
	FIELD(struct outer, many, .on = CREATE | PATCH, .max = 4, .of = &inner_record, .doc = "Records"),
};
static const struct record outer_record = RECORD("Outer", struct outer, outer_fields);

static void
taken(struct arena *mem, const void *row)
{
	struct buf first = BUF(mem), second = BUF(mem), sent = BUF(mem);
	void *again;

	record_render(&sent, &outer_record, row, false);
	if (!json_valid(mem, buf_string(&sent), sent.len))
		abort();
	record_store(&first, &outer_record, row);
	again = record_parse(mem, &outer_record, buf_string(&first));
	if (again == NULL)
		abort();
	record_store(&second, &outer_record, again);
	if (strcmp(buf_string(&first), buf_string(&second)) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const unsigned ways[] = { CREATE, PATCH };
	static struct arena *mem;
	struct faults faults;
	uint64_t given;
	void *row;
	size_t i;

	if (mem == NULL)
		mem = arena_new((size_t)256 << 20);
	for (i = 0; i < 2; i++) {
		memset(&faults, 0, sizeof(faults));
		if (record_decode(mem, &outer_record, ways[i], (const char *)data, n, &row, &given, &faults) == DECODED)
			taken(mem, row);
	}
	arena_reset(mem);
	return 0;
}
