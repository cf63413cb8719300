/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The envelope of answers, refusals, ETags and conditions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/asset.h"
#include "core/audit.h"
#include "core/event.h"
#include "core/failure.h"
#include "core/fnv.h"
#include "core/log.h"
#include "core/reasons.h"
#include "fcgi/req.h"

static void
begin_answer(struct req *r, int status, const char *type)
{
	r->status = status;
	r->answer_type = type;
	r->out = BUF(r->mem);
}

static int64_t
int_member(const struct record *record, const void *row, const char *name)
{
	const struct field *f = record_field(record, name);

	return f != NULL && f->kind == KIND_INT ? *(const int64_t *)((const char *)row + f->offset) : 0;
}

/* "version-revision": clients' changes, then jobs' changes. */
static void
set_etag(struct req *r, const struct record *record, const void *row)
{
	int64_t version = int_member(record, row, "version"), revision = int_member(record, row, "revision");

	if (r->etag == NULL && version > 0)
		r->etag = revision > 0 ? arena_printf(r->mem, "\"%lld-%lld\"", (long long)version,
		    (long long)revision) : arena_printf(r->mem, "\"%lld\"", (long long)version);
}

/* Is the tag in a list of entity tags?  Weak ones count (RFC 9110 section 13.1.2). */
static bool
tag_listed(const char *list, const char *tag)
{
	size_t n = strlen(tag);

	if (strcmp(list, "*") == 0)
		return true;
	while (*list != '\0') {
		list += strspn(list, " \t,");
		if (strncmp(list, "W/", 2) == 0)
			list += 2;
		if (strncmp(list, tag, n) == 0 && strchr(" \t,", list[n]) != NULL)
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

/* Is it a tag of this version?  What follows the number tells jobs' changes and addresses, which spoil no change. */
static bool
tag_is_of(const char *tag, int64_t version)
{
	char *end;

	if (*tag != '"' || tag[1] < '1' || tag[1] > '9')
		return false;
	return strtoll(tag + 1, &end, 10) == version && (*end == '-' || *end == '"');
}

bool
precondition(struct req *r, int64_t version)
{
	const char *p = r->if_match;
	bool quoted = false;

	if (p == NULL || strcmp(p, "*") == 0)
		return true;
	while (*p != '\0') {
		p += strspn(p, " \t,");
		if (tag_is_of(p, version))
			return true;
		quoted |= *p == '"';
		p += strcspn(p, ",");
	}
	refuse(r, ERR_CHANGED, quoted ? NULL : "If-Match wants an entity tag in double quotes, as the ETag of an "
	    "answer has it.");
	return false;
}

const char *
entity_tag(struct arena *mem, const void *bytes, size_t n)
{
	return arena_printf(mem, "\"%016" PRIx64 "\"", fnv1a(FNV_EMPTY, bytes, n));
}

const char *
reply_tag(struct req *r, const struct record *record, const void *row)
{
	struct buf b = BUF(r->mem);

	record_render(&b, record, row, false);
	return arena_printf(r->mem, "\"%lld-%.12s\"", (long long)int_member(record, row, "version"),
	    entity_tag(r->mem, buf_string(&b), b.len) + 1);
}

bool
reply_not_modified(struct req *r)
{
	if (r->method != GET || r->etag == NULL || r->if_none_match == NULL || !tag_listed(r->if_none_match, r->etag))
		return false;
	begin_answer(r, 304, NULL);
	return true;
}

/* Without a row a statement has failed, which the dispatcher then says, or the object went away in between. */
int
reply(struct req *r, int status, const struct record *record, const void *row)
{
	if (row == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	set_etag(r, record, row);
	if (reply_not_modified(r))
		return 304;
	begin_answer(r, status, "application/json");
	buf_text(&r->out, "{\"status\":\"success\",\"data\":");
	record_render(&r->out, record, row, false);
	buf_char(&r->out, '}');
	return status;
}

int
reply_created(struct req *r, const struct record *record, const void *row, struct uuid id)
{
	r->location = arena_printf(r->mem, "%.*s/%s", (int)strcspn(r->uri, "?"), r->uri, uuid_text(r->mem, id));
	return reply(r, 201, record, row);
}

int
reply_later(struct req *r, const struct record *record, const void *row, int seconds)
{
	if ((r->route->flags & LATER) == 0)
		abort();
	r->location = arena_copy_n(r->mem, r->uri, strcspn(r->uri, "?"));
	r->retry_after = seconds;
	return reply(r, 202, record, row);
}

struct deleted { struct strings deleted; bool permanent; };
static const struct field deleted_fields[] = {
	FIELD(struct deleted, deleted,   .on = SERVER, .required = true, .doc = "Ids"),
	FIELD(struct deleted, permanent, .on = SERVER, .doc = "Removed for good?"),
};
const struct record deleted_record = RECORD("Deleted", struct deleted, deleted_fields);

int
reply_deleted_all(struct req *r, const struct uuid *ids, size_t n, bool permanent)
{
	const char **texts = arena_array(r->mem, n + 1, sizeof(*texts));
	struct deleted out = { { texts, n }, permanent };
	size_t i;

	for (i = 0; i < n; i++)
		texts[i] = uuid_text(r->mem, ids[i]);
	r->etag = NULL;
	return reply(r, 200, &deleted_record, &out);
}

int
reply_deleted(struct req *r, struct uuid id, bool permanent)
{
	return reply_deleted_all(r, &id, 1, permanent);
}

void
event(struct req *r, struct uuid media_id, const char *type, const char *data)
{
	event_add(r->db, &(struct event_new){ .tenant_id = r->who->tenant_id, .media_id = media_id, .type = type,
	    .principal_id = r->who->id, .data = data });
}

void
audit(struct req *r, const char *type, struct uuid object_id, const char *data)
{
	struct audited a = { r->who->tenant_id, r->who->id, object_id, r->client, type, data };

	audit_add(r->db, &a);
}

void
event_modified(struct req *r, struct uuid media_id, const struct record *record, uint64_t members)
{
	struct buf b = BUF(r->mem);
	size_t i;

	for (i = 0; i < record->n; i++)
		if (members >> i & 1)
			buf_printf(&b, "%s\"%s\"", b.len > 0 ? "," : "", record_json_name(record, &record->fields[i]));
	event(r, media_id, "media.updated", arena_printf(r->mem, "{\"modified\":[%s]}", buf_string(&b)));
}

int
reply_json(struct req *r, int status, const char *json)
{
	if (reply_not_modified(r))
		return 304;
	begin_answer(r, status, "application/json");
	buf_text(&r->out, "{\"status\":\"success\",\"data\":");
	buf_text(&r->out, json);
	buf_char(&r->out, '}');
	return status;
}

int
reply_raw(struct req *r, int status, const char *type, const void *bytes, size_t n)
{
	begin_answer(r, status, type);
	buf_add(&r->out, bytes, n);
	return status;
}

int
reply_none(struct req *r)
{
	begin_answer(r, 204, NULL);
	return 204;
}

/* The address of the list itself with another page; every other parameter is kept. */
static void
page_link(struct req *r, struct buf *b, const char *rel, int64_t page, const char *after)
{
	const char *query = strchr(r->uri, '?');
	size_t path = strcspn(r->uri, "?");

	buf_printf(b, "%s<%s%.*s?", b->len > 0 ? ", " : "", r->conf->public_url, (int)path, r->uri);
	for (query = query != NULL ? query + 1 : ""; *query != '\0'; query += *query == '&') {
		size_t n = strcspn(query, "&"), name = strcspn(query, "=&");
		const char *skip[] = { "page", "pagenumber", "after" };
		bool keep = n > 0;
		size_t i;

		for (i = 0; i < 3; i++)
			keep &= strlen(skip[i]) != name || strncasecmp(query, skip[i], name) != 0;
		if (keep) {
			buf_add(b, query, n);
			buf_char(b, '&');
		}
		query += n;
	}
	buf_printf(b, "page=%lld", (long long)page);
	if (after != NULL)
		buf_printf(b, "&after=%s", percent_encode(r->mem, after));
	buf_printf(b, ">; rel=\"%s\"", rel);
}

/* Behind the end the previous page is the last that is known to have something on it.  Apache makes a 500 of an answer
 * with a longer line than 8,190 bytes: then the next page is all that is named, if it can be. */
static void
page_links(struct req *r, size_t n)
{
	enum { LINKS_MAX = 8000 };
	struct page *p = &r->page;
	struct buf b = BUF(r->mem);
	int64_t last = p->total > 0 ? (p->total - 1) / p->perpage : 0;
	bool behind = p->page > last && (p->total_exact || n == 0);

	page_link(r, &b, "first", 0, NULL);
	if (p->page > 0)
		page_link(r, &b, "prev", behind ? last : p->page - 1, NULL);
	if (p->next != NULL)
		page_link(r, &b, "next", p->page + 1, p->next);
	if (p->total_exact)
		page_link(r, &b, "last", last, NULL);
	if (b.len > LINKS_MAX) {
		b = BUF(r->mem);
		if (p->next != NULL)
			page_link(r, &b, "next", p->page + 1, p->next);
	}
	if (b.len > 0 && b.len <= LINKS_MAX)
		buf_printf(&r->headers, "Link: %s\r\n", buf_string(&b));
}

size_t
page_cut(struct req *r, size_t total, size_t *n)
{
	struct page *p = &r->page;
	size_t first = (size_t)(p->page * p->perpage) < total ? (size_t)(p->page * p->perpage) : total;

	if (p->sort != NULL || p->filter != NULL || p->after != NULL) {
		p->fault = p->sort != NULL ? "sort" : p->filter != NULL ? "filter" : "after";
		p->fault_detail = "this list does not take it: it is whole, and in an order of its own";
	}
	p->total = (int64_t)total;
	p->total_exact = true;
	*n = total - first < (size_t)p->perpage ? total - first : (size_t)p->perpage;
	return first;
}

int
reply_list(struct req *r, const struct record *record, const void *rows, size_t n)
{
	struct page *p = &r->page;
	size_t i;

	if (p->fault != NULL) {
		fault(r, p->fault, "not_allowed", "%s", p->fault_detail);
		return refuse(r, ERR_INVALID, NULL);
	}
	begin_answer(r, 200, "application/json");
	buf_room(&r->out, 2048 * (n + 1));
	buf_text(&r->out, "{\"status\":\"success\",\"data\":[");
	for (i = 0; i < n; i++) {
		if (i > 0)
			buf_char(&r->out, ',');
		record_render(&r->out, record, (const char *)rows + i * record->size, true);
	}
	buf_printf(&r->out, "],\"pagination\":{\"page\":%lld,\"perpage\":%lld,\"total\":%lld,\"totalExact\":%s,",
	    (long long)p->page, (long long)p->perpage, (long long)p->total, p->total_exact ? "true" : "false");
	buf_text(&r->out, "\"next\":");
	buf_json(&r->out, p->next);
	buf_text(&r->out, "}}");
	page_links(r, n);
	return 200;
}

void
fault(struct req *r, const char *pointer, const char *code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fault_add(&r->faults, r->mem, pointer, code, "%s", arena_vprintf(r->mem, format, args));
	va_end(args);
}

bool
fault_address(struct req *r, const char *pointer, struct web_refusal no)
{
	if (no.why != NULL)
		fault(r, pointer, no.is_forbidden ? reason_info(REASON_ADDRESS_FORBIDDEN)->code : "format", "%s",
		    no.why);
	return no.why != NULL;
}

struct oauth_error { const char *error, *error_description; };
static const struct field oauth_error_fields[] = {
	FIELD(struct oauth_error, error, .required = true, .one_of = "invalid_request invalid_client invalid_grant invalid_scope "
	    "invalid_token insufficient_scope unsupported_grant_type unsupported_token_type access_denied "
	    "temporarily_unavailable server_error",
	    .doc = "What a program branches on"),
	FIELD(struct oauth_error, error_description, .json = "error_description", .required = true, .doc = "What a person reads"),
};
const struct record oauth_error_record = RECORD("OAuthError", struct oauth_error, oauth_error_fields);

int
refuse_oauth(struct req *r, int status, const char *error, const char *description)
{
	struct oauth_error out = { error, description };

	begin_answer(r, status, "application/json");
	r->refused = true;
	r->cache_control = "no-store";
	record_render(&r->out, &oauth_error_record, &out, false);
	return status;
}

static const char *
oauth_word(int status)
{
	switch (status) {
	case 401: return "invalid_client";
	case 403: return "access_denied";
	case 429: case 503: return "temporarily_unavailable";
	default: return status < 500 ? "invalid_request" : "server_error";
	}
}

/* "There is no asset with this id, or no job with this id in it." */
static const char *
absent(struct req *r)
{
	struct buf b = BUF(r->mem);
	const char *p = r->route != NULL ? r->route->path : "";

	while ((p = strchr(p, '{')) != NULL) {
		size_t n = strcspn(++p, "}");

		if (n < 3 || memcmp(p + n - 2, "Id", 2) != 0)
			continue;
		buf_text(&b, b.len ? ", or it has no " : strchr(p, '{') != NULL ? "There is no such " : "There is no ");
		if (n == 7 && memcmp(p, "mediaId", 7) == 0)
			buf_text(&b, "asset");
		else
			buf_add(&b, p, n - 2);
		if (strchr(p, '{') == NULL)
			buf_text(&b, " with this id");
	}
	buf_char(&b, '.');
	return b.len > 1 ? buf_string(&b) : error_info(ERR_NOT_FOUND)->text;
}

/* The first fault; for more there is the list. */
static const char *
first_fault(struct req *r, const char *before)
{
	const struct input_fault *f = &r->faults.at[0];
	const char *more = r->faults.n > 1 ? arena_printf(r->mem, "; and %d more", r->faults.n - 1) : "";

	return arena_printf(r->mem, "%s%s%s%s%s.", before, f->pointer, *f->pointer != '\0' ? ": " : "", f->detail,
	    more);
}

/* The sentence for an error that was refused without one. */
static const char *
sentence(struct req *r, enum error error)
{
	const char *text = error_info(error)->text, *produces;

	switch (error) {
	case ERR_INVALID:
		return r->faults.n > 0 ? first_fault(r, "") : text;
	case ERR_BAD_JSON:
		return r->faults.n > 0 ? first_fault(r, "The body is not well-formed JSON: ") : text;
	case ERR_NOT_FOUND:
		return absent(r);
	case ERR_UNAUTHORIZED:
		return r->authorization == NULL ? "Send a token: Authorization: Bearer …" :
		    strncasecmp(r->authorization, "Bearer ", 7) != 0 ? "Send the token as Authorization: Bearer …, not "
		    "otherwise." : "This token was not made here, has been altered, or its client is revoked. Get a "
		    "new one.";
	case ERR_NOT_ACCEPTABLE:
		produces = r->route != NULL ? r->route->produces : NULL;
		return arena_printf(r->mem, "This is answered as %s; Accept allows none of it.",
		    produces != NULL ? produces : "application/json");
	default:
		return text;
	}
}

/* What a client needs to know to get in (RFC 6750 section 3). */
static void
add_challenge(struct req *r, enum error error)
{
	if (error == ERR_MISSING_SCOPE)
		buf_printf(&r->headers, "WWW-Authenticate: Bearer realm=\"kinothek\", error=\"insufficient_scope\", "
		    "scope=\"%s\"\r\n", scope_name(r->route->scope));
	else if (error_info(error)->status == 401)
		buf_printf(&r->headers, "WWW-Authenticate: Bearer realm=\"kinothek\"%s\r\n",
		    r->authorization != NULL ? ", error=\"invalid_token\"" : "");
}

int
refuse(struct req *r, enum error error, const char *format, ...)
{
	const struct error_info *e = error_info(error);
	const char *message;
	va_list args;

	if (format != NULL) {
		va_start(args, format);
		message = arena_vprintf(r->mem, format, args);
		va_end(args);
	} else {
		message = sentence(r, error);
	}
	begin_answer(r, e->status, "application/json");
	r->refused = true;
	r->error = error;
	r->etag = r->location = r->disposition = NULL;
	r->cache_control = "no-store";
	if (e->status == 503 || e->status == 429)
		r->retry_after = r->retry_after ? r->retry_after : 2;
	add_challenge(r, error);
	if (r->route != NULL && r->route->flags & OAUTH)
		return refuse_oauth(r, e->status, oauth_word(e->status), message);
	if (r->route != NULL && r->route->flags & PAGE)
		return refuse_page(r, error);
	r->answer_type = failure_render(&r->out, error, message, &r->faults, r->request_id, r->accept);
	return e->status;
}
