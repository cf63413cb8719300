/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/search/ranges: between what the length, size and age of what a search finds lie, for the sliders of a page */
#include <stdlib.h>
#include <string.h>

#include "fcgi/search_query.h"

enum { BUCKETS = 10, PROPERTIES = 3 };

static const struct field limits_fields[] = { SEARCH_LIMITS(QUERY) };
static const struct record limits_record = RECORD("SearchRangesQuery", struct search_limits, limits_fields);

struct range_bucket { struct json from, to; int64_t count; };
static const struct field bucket_fields[] = {
	FIELD(struct range_bucket, from, .required = true, .doc = "From this on, as min"),
	FIELD(struct range_bucket, to, .required = true, .doc = "Up to the next bucket; of the last one, as max"),
	FIELD(struct range_bucket, count, .required = true, .doc = "Assets there"),
};
static const struct record bucket_record = RECORD("SearchRangeBucket", struct range_bucket, bucket_fields);

struct range {
	const char *property;
	struct json min, max;
	struct list buckets;
};
static const struct field range_fields[] = {
	FIELD(struct range, property, .required = true, .one_of = "duration fileSize createdAt",
	    .doc = "What of an asset: limit it by durationFrom and durationTo, fileSizeFrom …"),
	FIELD(struct range, min, .required = true, .doc = "The least of what is found: seconds, bytes, or a time"),
	FIELD(struct range, max, .required = true, .doc = "The most"),
	FIELD(struct range, buckets, .required = true, .of = &bucket_record, .doc = "Ten parts at most of the same width, of which the last may be narrower"),
};
static const struct record range_record = RECORD("SearchRange", struct range, range_fields);

struct measured { struct position duration; int64_t file_size; struct moment created_at; };
static const struct field measured_fields[] = {
	FIELD(struct measured, duration, .doc = "Of an asset"), FIELD(struct measured, file_size, .doc = "Its bytes"),
	FIELD(struct measured, created_at, .doc = "When it was made"),
};
static const struct record measured_record = RECORD("Measured", struct measured, measured_fields);

/* The value of a property, or -1. */
static int64_t
value_of(const struct measured *m, size_t property)
{
	switch (property) {
	case 0: return m->duration.set ? m->duration.ms : -1;
	case 1: return m->file_size;
	default: return m->created_at.ms;
	}
}

static struct json
shown(struct req *r, size_t property, int64_t value)
{
	char text[MOMENT_TEXT];

	switch (property) {
	case 0: return (struct json){ arena_printf(r->mem, "%.3f", (double)value / 1000) };
	case 1: return (struct json){ arena_printf(r->mem, "%lld", (long long)value) };
	default: return (struct json){ arena_printf(r->mem, "\"%s\"", moment_format((struct moment){ value }, text)) };
	}
}

static int
by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Of sorted values.  The bounds are whole, so that what a client sends back finds what was counted. */
static struct range
range_of(struct req *r, size_t property, const int64_t *v, size_t n)
{
	static const char *const names[PROPERTIES] = { "duration", "fileSize", "createdAt" };
	const int64_t min = v[0], max = v[n - 1], width = (max - min) / BUCKETS + 1;
	struct range_bucket *b = arena_array(r->mem, BUCKETS, sizeof(*b));
	struct range out = { names[property], shown(r, property, min), shown(r, property, max), { b, 0 } };
	int64_t from, to;
	size_t at = 0;

	for (from = min; from <= max; from = to) {
		to = from + width;
		b->from = shown(r, property, from);
		b->to = shown(r, property, to < max ? to : max);
		for (; at < n && v[at] < to; at++)
			b->count++;
		out.buckets.n++;
		b++;
	}
	return out;
}

static int
search_ranges(struct req *r)
{
	const struct search_limits *in = r->in;
	struct search_query q = { 0 };
	struct range *all = arena_array(r->mem, PROPERTIES, sizeof(*all));
	const struct measured *m;
	struct search_hit *h = NULL;
	size_t n = 0, i, k, p, found = 0, here;
	int64_t *v;
	bool exact = true;

	search_check(r, "", in);
	if (r->page.sort != NULL)
		fault(r, "sort", "not_allowed", "there is one order");
	if (r->faults.n > 0)
		return refuse(r, ERR_INVALID, NULL);
	if (in->text != NULL)
		search_parse(r->mem, in->text, &q);
	if (in->type == NULL || strcmp(in->type, "channel") != 0)
		h = search_match(r, &q, in, search_layers_of(r, in), &n, &exact);
	m = db_rows(r->db, &measured_record, "FROM " SEARCH_IDS " STRAIGHT_JOIN media t ON t.id = UNHEX(i.id) AND "
	    "t.tenant_id = ?", ARGS(STR(search_ids_json(r->mem, h, n)), ID(r->who->tenant_id)), &n);
	v = arena_array(r->mem, n + 1, sizeof(*v));
	for (p = 0; p < PROPERTIES; p++) {
		for (i = k = 0; i < n; i++)
			if ((v[k] = value_of(&m[i], p)) >= 0)
				k++;
		if (k == 0)
			continue;
		qsort(v, k, sizeof(*v), by_value);
		all[found++] = range_of(r, p, v, k);
	}
	r->page.filter = NULL;		/* taken */
	p = page_cut(r, found, &here);
	r->page.total_exact = exact;
	return reply_list(r, &range_record, all + p, here);
}

const struct route search_ranges_routes[] = {
	{
		GET, "/v2/search/ranges", SCOPE_VIEW_CHANNEL, search_ranges, &limits_record, &range_record,
		"Get between what the length, size and age of the assets lie that a search finds, at most 10,000 of them",
		.flags = LIST, .fails = "422", .id = "listSearchRanges", .filtered = &media_record,
	},
	{ 0 }
};
