/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that are given again while nothing of the tenant has changed. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/play.h"
#include "fcgi/kept.h"

enum { SLOTS = 128, BUDGET = 1 << 20, LARGEST = BUDGET / 8 };

struct kept {
	uint64_t asked;			/* hash of what was asked last, kept or not */
	struct uuid principal_id;
	bool is_super_admin;
	struct stamp stamp;
	unsigned connection;		/* that the stamp was read by */
	int64_t expiry;			/* of the addresses in it, s since 1970 */
	char *uri, *etag, *headers, *body;	/* uri begins the block that holds them all; NULL: nothing kept */
	size_t n, size;			/* bytes of the body; of the block */
};

static struct kept slots[SLOTS];
static size_t total, hand;

static const struct field stamp_fields[] = {
	FIELD(struct stamp, changes, .doc = "Of roles, channels and totals"),
	FIELD(struct stamp, edits, .doc = "Of assets"),
};
static const struct record stamp_record = RECORD("Stamp", struct stamp, stamp_fields);

/* FNV-1a. */
static uint64_t
hash(const struct req *r)
{
	uint64_t h = 0xcbf29ce484222325;
	const unsigned char *p;
	size_t i;

	for (p = (const unsigned char *)r->uri; *p != '\0'; p++)
		h = (h ^ *p) * 0x100000001b3;
	for (i = 0; i < sizeof(r->who->id.b); i++)
		h = (h ^ r->who->id.b[i]) * 0x100000001b3;
	return h;
}

static void
drop(struct kept *k)
{
	free(k->uri);
	k->uri = NULL;
	total -= k->size;
	k->size = 0;
}

void
kept_forget(void)
{
	size_t i;

	for (i = 0; i < SLOTS; i++) {
		drop(&slots[i]);
		slots[i].asked = 0;
	}
}

size_t
kept_size(void)
{
	return total;
}

static bool
is_for(const struct kept *k, const struct req *r)
{
	return k->uri != NULL && uuid_equal(k->principal_id, r->who->id) && k->is_super_admin == r->who->is_super_admin &&
	    strcmp(k->uri, r->uri) == 0;
}

bool
kept_holds(struct req *r, const struct stamp *stamp)
{
	const struct stamp *now = db_row(r->db, &stamp_record, "FROM tenant_usage t WHERE t.tenant_id = ?",
	    ARGS(ID(r->who->tenant_id)));

	return now != NULL && now->changes == stamp->changes && now->edits == stamp->edits;
}

bool
kept_answer(struct req *r)
{
	struct kept *k = &slots[hash(r) % SLOTS];

	if (!is_for(k, r))
		return false;
	if (k->expiry != play_expiry(r->conf, r->now) || !kept_holds(r, &k->stamp) ||
	    k->connection != db_connections(r->db)) {
		drop(k);
		return false;
	}
	r->etag = k->etag;
	r->stamp = k->stamp;
	if (reply_not_modified(r))
		return true;
	reply_raw(r, 200, "application/json", NULL, 0);
	r->out = (struct buf){ r->mem, k->body, k->n, k->n + 1 };
	buf_text(&r->headers, k->headers);
	return true;
}

/* Copies with the NUL. */
static char *
append(char **end, const char *text, size_t n)
{
	char *at = *end;

	memcpy(at, text, n);
	at[n] = '\0';
	*end += n + 1;
	return at;
}

static void
fill(struct kept *k, const struct req *r, size_t size)
{
	const char *headers = buf_string(&r->headers) + r->own_headers;
	char *end = malloc(size);

	if (end == NULL)
		return;
	*k = (struct kept){ .asked = k->asked, .principal_id = r->who->id, .is_super_admin = r->who->is_super_admin,
	    .stamp = r->stamp, .connection = db_connections(r->db), .expiry = play_expiry(r->conf, r->now), .n = r->out.len, .size = size };
	k->uri = append(&end, r->uri, strlen(r->uri));
	k->etag = r->etag != NULL ? append(&end, r->etag, strlen(r->etag)) : NULL;
	k->headers = append(&end, headers, strlen(headers));
	k->body = append(&end, r->out.text, r->out.len);
	total += size;
}

void
kept_keep(struct req *r)
{
	uint64_t h = hash(r);
	struct kept *k = &slots[h % SLOTS];
	size_t size = strlen(r->uri) + r->headers.len + r->out.len + (r->etag != NULL ? strlen(r->etag) : 0) + 4;
	bool again = k->asked == h;

	k->asked = h;
	if (!again || r->status != 200 || !r->stamped || size > LARGEST)
		return;
	drop(k);
	for (; total + size > BUDGET; hand = (hand + 1) % SLOTS)
		drop(&slots[hand]);
	fill(k, r, size);
}
