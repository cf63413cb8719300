/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts are uploads of their own, asked for as HEAD does, and joined as those of clients of object stores are. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/upload/partial.h"
#include "fcgi/upload/s3_part.h"
#include "fcgi/upload/tus.h"
#include "fcgi/upload/tus_concat.h"

enum {
	SAID_MAX = 8000,	/* bytes; HEAD says it again, and Apache takes no longer lines */
	PARTS_MAX = 100,	/* more have no room in it; each is read once, to be sure of it */
};

/* "…/upload/tus/{uploadId}?ticket=…" */
static bool
read_address(struct put *part, const char *address)
{
	const char *at = strstr(address, TUS_PATH "/");
	char id[UUID_TEXT];

	if (at == NULL)
		return false;
	at += strlen(TUS_PATH "/");
	snprintf(id, sizeof(id), "%s", at);
	at += strlen(id);
	if (!uuid_parse(id, &part->id) || strncmp(at, "?ticket=", 8) != 0)
		return false;
	part->ticket = at + 8;
	return true;
}

static bool
is_there_already(const struct tus_concat *c, struct uuid id)
{
	for (size_t i = 0; i < c->n; i++)
		if (uuid_equal(c->part[i].id, id))
			return true;
	return false;
}

/* The next one.  Asked for twice, its file would have the number of the second time alone. */
static enum error
find_part(const struct tus_concat *c, struct put *part, struct put *p, const char *address)
{
	const bool fine = read_address(part, address) && !is_there_already(c, part->id);
	enum error error = fine ? put_go_on(part) : ERR_BAD_REQUEST;

	p->detail = part->detail;
	if (error == ERR_BAD_REQUEST)
		p->detail = "Behind \"final;\" there are to be addresses of uploads, each once, as they were given.";
	if (error == ERR_NONE && !part->is_partial) {
		p->detail = "An upload that was not made with \"Upload-Concat: partial\" cannot become part of "
		    "another one.";
		return ERR_FORBIDDEN;
	}
	return error == ERR_NONE && part->received < part->size ? ERR_UPLOAD_NOT_RECEIVED : error;
}

/* The next one, and nobody takes it until tus_concat_end(). */
static enum error
take_part(struct tus_concat *c, struct put *p, const char *address)
{
	struct put *part = &c->part[c->n];
	enum error error;

	*part = (struct put){ .in = p->in, .mem = p->mem };
	error = find_part(c, part, p, address);
	if (error == ERR_NONE && !uuid_is_none(c->tenant_id) && !uuid_equal(c->tenant_id, part->tenant_id))
		error = ERR_FORBIDDEN;
	c->held[c->n++] = error == ERR_NONE ? partial_hold(p->mem, part->id, part->attempt) : -1;
	if (error == ERR_UPLOAD_CANCELLED || error == ERR_UPLOAD_EXPIRED) {
		c->gone = error;
		return ERR_NONE;
	}
	c->tenant_id = part->tenant_id;
	c->size += part->size;
	return error == ERR_NONE && c->held[c->n - 1] < 0 ? ERR_UPLOAD_LOCKED : error;
}

/* No address of ours holds what a header may not. */
static bool
is_fit(const char *said)
{
	const char *p = said;

	while (*p >= ' ' && *p <= '~')
		p++;
	return *p == '\0' && p - said <= SAID_MAX;
}

enum error
tus_concat_find(struct tus_concat *c, struct put *p, const char *said)
{
	const char *addresses = said + strlen(TUS_FINAL);
	enum error error = ERR_NONE;
	size_t n;

	*c = (struct tus_concat){ .n = 0 };
	if (!is_fit(said)) {
		p->detail = "Upload-Concat may have 8000 characters here, of ASCII. Bring the file in fewer parts.";
		return ERR_BAD_REQUEST;
	}
	*c = (struct tus_concat){ .part = arena_array(p->mem, PARTS_MAX, sizeof(*c->part)),
	    .held = arena_array(p->mem, PARTS_MAX, sizeof(*c->held)) };
	for (; error == ERR_NONE && *(addresses += strspn(addresses, " ")) != '\0'; addresses += n) {
		n = strcspn(addresses, " ");
		if (c->n == PARTS_MAX)
			return ERR_BAD_REQUEST;
		error = take_part(c, p, arena_copy_n(p->mem, addresses, n));
	}
	return error == ERR_NONE && c->n == 0 ? ERR_BAD_REQUEST : error;
}

void
tus_concat_end(struct tus_concat *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->held[i] >= 0)
			close(c->held[i]);
}

enum error
tus_concat(const struct tus_concat *c, struct put *p)
{
	struct s3_part *part = arena_array(p->mem, c->n, sizeof(*part));
	const struct s3_part **parts = arena_array(p->mem, c->n, sizeof(*parts));
	enum error error;
	size_t i;

	for (i = 0; i < c->n; i++) {
		part[i] = (struct s3_part){ .number = (int64_t)i + 1, .size = c->part[i].size, .file =
		    arena_printf(p->mem,
		    "../%s/%" PRId64, uuid_text(p->mem, c->part[i].id), c->part[i].attempt) };
		parts[i] = &part[i];
	}
	error = put_join(p, parts, c->n);
	if (error != ERR_NONE && p->reason == REASON_NONE) {
		struct put lost = { .in = p->in, .mem = p->mem, .id = p->id, .ticket = p->ticket };

		put_cancel(&lost);
	}
	for (i = 0; i < c->n && error == ERR_NONE; i++)
		put_cancel(&c->part[i]);
	return error;
}
