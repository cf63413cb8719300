/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One request: find the route, authenticate, decode, run in a transaction, commit, answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/job.h"
#include "core/load.h"
#include "core/log.h"
#include "fcgi/access.h"
#include "fcgi/cors.h"
#include "fcgi/idempotency.h"
#include "fcgi/limits.h"
#include "fcgi/operation.h"

enum { MAX_SEGMENTS = 12, MAX_PAIRS = 64, TRIES = 10, TRY_MS = 2000, MAX_BODY = 1 << 20, MAX_PUBLIC_BODY = 16384 };

static const struct field page_fields[] = {
	FIELD(struct page_query, page,        .on = QUERY, .max = 1000000, .preset = "0", .doc = "Page, from 0"),
	FIELD(struct page_query, page_number, .on = QUERY, .max = 1000000, .doc = "The same as page"),
	FIELD(struct page_query, perpage,     .on = QUERY, .min = 1, .max = 50, .preset = "10", .doc = "Items on a page"),
	FIELD(struct page_query, sort,        .on = QUERY, .max = 100, .doc = "One property, with :desc for the other way; without it as the summary says, or "
	    "else newest first"),
	FIELD(struct page_query, filter,      .on = QUERY, .max = 2000, .doc = "property=value, several joined by + (sent as %2B); operators = != >= <= ~"),
	FIELD(struct page_query, after,       .on = QUERY, .max = 4000, .doc = "Cursor of the next page: pagination.next, or the Link header"),
};
const struct record page_record = RECORD("Page", struct page_query, page_fields);

#define RESOURCE_ROW(name) name##_routes,
static const struct route *const resources[] = { RESOURCES(RESOURCE_ROW) };
#undef RESOURCE_ROW

const struct route *
api_route(size_t i)
{
	static const struct route *all[512];
	size_t k, n, count = 0;

	if (all[0] == NULL)
		for (k = 0; k < sizeof(resources) / sizeof(resources[0]); k++)
			for (n = 0; resources[k][n].path != NULL && count < 511; n++)
				all[count++] = &resources[k][n];
	return i < 512 ? all[i] : NULL;
}

const struct route *
api_route_of(enum method method, const char *path)
{
	const struct route *route;
	size_t i;

	for (i = 0; (route = api_route(i)) != NULL; i++)
		if (route->method == method && strcmp(route->path, path) == 0)
			return route;
	abort();
}

static void
broken_route(const struct route *route, const char *why)
{
	fprintf(stderr, "level=error what=route path=\"%s\" text=\"%s\"\n", route->path, why);
	abort();
}

bool
route_writes(const struct route *route)
{
	return (route->method != GET || route->flags & WRITES) && (route->flags & READS_ONLY) == 0;
}

static void
check_route(const struct route *route)
{
	if (route->scope == SCOPE_UNSET)
		broken_route(route, "no scope");
	if (route->run == NULL || route->doc == NULL || route->method == 0)
		broken_route(route, "no handler, method or doc");
	if ((route->flags & AT_ROOT) == 0 && strncmp(route->path, "/v2/", 4) != 0)
		broken_route(route, "not below /v2");
	if (route->flags & AT_ROOT && route->scope != SCOPE_PUBLIC)
		broken_route(route, "AT_ROOT looks at no token: SCOPE_PUBLIC alone fits");
	if (route->flags & PAGE && ((route->flags & AT_ROOT) == 0 || (route->method != GET && route->method != POST)))
		broken_route(route, "PAGE is for GET and POST, AT_ROOT");
	if (route->flags & SUPER_ADMIN && route->scope == SCOPE_PUBLIC)
		broken_route(route, "SUPER_ADMIN, and open to who has no token");
	if (route->flags & SOMEWHERE && (scope_name(route->scope) == NULL || (object_of(route) != NULL &&
	    object_of(route)->reach != REACH_TENANT)))
		broken_route(route, "SOMEWHERE is for scopes that are permissions, and what is all the tenant's");
	if (route->flags & READS_ONLY && route->method != POST)
		broken_route(route, "READS_ONLY is for POST");
	if ((route->method == POST || route->method == PUT || route->method == METHOD_PATCH) && route->in == NULL &&
	    (route->flags & (RAW_BODY | ACTION)) == 0)
		broken_route(route, "takes a body but says not which");
	if (!operation_codes_fit(route))
		broken_route(route, "one of its codes has a status that is not among its fails");
}

void
api_check(void)
{
	const struct route *route;
	size_t i;

	record_check(&page_record);
	for (i = 0; (route = api_route(i)) != NULL; i++) {
		check_route(route);
		if (route->in != NULL)
			record_check(route->in);
		if (route->out != NULL)
			record_check(route->out);
		if (route->query != NULL)
			record_check(route->query);
		object_check(route);
	}
}

/* The path in decoded segments.  False for empty, "." and ".." ones, broken escapes and NUL. */
static bool
split(struct req *r, char **segments, int *n)
{
	size_t len = strcspn(r->uri, "?#");
	char *path = arena_copy_n(r->mem, r->uri, len), *p = path;

	*n = 0;
	if (*p != '/')
		return false;
	if (p[1] == '\0')
		return true;
	while (*p == '/') {
		char *segment = ++p;
		long decoded;

		p += strcspn(p, "/");
		if (*n == MAX_SEGMENTS || (decoded = percent_decode(segment, (size_t)(p - segment), false)) <= 0)
			return false;
		segments[*n] = arena_copy_n(r->mem, segment, (size_t)decoded);
		if (strcmp(segments[*n], ".") == 0 || strcmp(segments[*n], "..") == 0 ||
		    !utf8_valid(segments[*n], strlen(segments[*n])))
			return false;
		++*n;
	}
	return true;
}

/* Does the pattern fit the segments?  Fills ids and words.  An id that is none does not fit: 404, and *odd_id. */
static bool
fits(struct req *r, const char *pattern, char **segments, int n, bool *odd_id)
{
	int i, ids = 0, words = 0;

	*odd_id = false;
	if (n == 0)
		return strcmp(pattern, "/") == 0;
	for (i = 0; i < n; i++) {
		size_t len = strcspn(++pattern, "/");

		if (*pattern != '{') {
			if (strlen(segments[i]) != len || memcmp(segments[i], pattern, len) != 0)
				break;
		} else if (len > 4 && memcmp(pattern + len - 3, "Id}", 3) == 0) {
			*odd_id |= !uuid_parse(segments[i], &r->id[ids++]);
		} else {
			r->word[words++] = segments[i];
		}
		pattern += len;
		if (*pattern == '\0' && i == n - 1)
			return !*odd_id;
		if (*pattern == '\0')
			break;
	}
	*odd_id = false;
	return false;
}

const char *
method_name(enum method method)
{
	static const char *const names[] = { "", [GET] = "GET", [HEAD] = "HEAD", [POST] = "POST", [PUT] = "PUT",
	    [METHOD_PATCH] = "PATCH", [METHOD_DELETE] = "DELETE", [OPTIONS] = "OPTIONS" };

	return names[method];
}

/* 0: none that we know. */
static enum method
method_of(const char *name)
{
	enum method m = OPTIONS;

	while (m > 0 && strcmp(method_name(m), name) != 0)
		m--;
	return m;
}

/* The route of path and method.  Otherwise refuses with 404, or 405 with Allow, or answers OPTIONS. */
static const struct route *
find(struct req *r)
{
	char *segments[MAX_SEGMENTS];
	const struct route *route;
	struct buf allow = BUF(r->mem);
	bool odd_id, page = false;
	size_t i;
	int n;

	r->method = method_of(r->method_name);
	if (!split(r, segments, &n)) {
		refuse(r, ERR_PATH_NOT_FOUND, NULL);
		return NULL;
	}
	for (i = 0; (route = api_route(i)) != NULL; i++) {
		if (!fits(r, route->path, segments, n, &odd_id)) {
			r->route = odd_id ? route : r->route;
			continue;
		}
		if (route->method == r->method || (route->method == GET && r->method == HEAD)) {
			r->method = route->method;
			r->kind = object_of(route);
			return route;
		}
		buf_printf(&allow, "%s%s", allow.len ? ", " : "", method_name(route->method));
		if (route->method == GET)
			buf_text(&allow, ", HEAD");
		page |= (route->flags & PAGE) != 0;
	}
	if (allow.len == 0) {
		refuse(r, r->route != NULL ? ERR_NOT_FOUND : ERR_PATH_NOT_FOUND, NULL);
		return NULL;
	}
	buf_printf(&r->headers, "Allow: %s, OPTIONS\r\n", buf_string(&allow));
	r->methods = page ? NULL : buf_string(&allow);
	if (r->method == OPTIONS)
		reply_none(r);
	else
		refuse(r, ERR_METHOD_NOT_ALLOWED, "This path takes %s.", buf_string(&allow));
	return NULL;
}

/* True when the accepted types leave room for the type; parameters and q=0 are looked at, order is not. */
static bool
accepts(const char *accept, const char *type)
{
	size_t main = strcspn(type, "/") + 1;
	const char *p;

	if (accept == NULL || *accept == '\0')
		return true;
	for (p = accept; *p != '\0'; p += *p == ',') {
		size_t n, len;

		p += strspn(p, " \t");
		len = strcspn(p, ",");
		n = strcspn(p, ",; \t");
		if (memmem(p, len, "q=0", 3) != NULL && memmem(p, len, "q=0.", 4) == NULL) {
			p += len;
			continue;
		}
		if ((n == 3 && memcmp(p, "*/*", 3) == 0) || (n == strlen(type) && strncasecmp(p, type, n) == 0) ||
		    (n == main + 1 && strncasecmp(p, type, main) == 0 && p[main] == '*'))
			return true;
		p += len;
	}
	return false;
}

static bool
acceptable(struct req *r)
{
	const char *p = r->route->produces != NULL ? r->route->produces : "application/json application/problem+json";
	char type[128];

	while (*p != '\0') {
		size_t n = strcspn(p, " ");

		snprintf(type, sizeof(type), "%.*s", (int)n, p);
		if (accepts(r->accept, type))
			return true;
		p += n;
		p += strspn(p, " ");
	}
	refuse(r, ERR_NOT_ACCEPTABLE, NULL);
	return false;
}

/* A verified principal with the route's scope, or refused.  Public routes take a token if there is a good one. */
static bool
authenticate(struct req *r)
{
	struct principal *who = NEW(r->mem, struct principal);
	enum token_fault fault_ = TOKEN_BAD;
	const char *p = r->authorization;

	if (r->route->flags & AT_ROOT && r->route->scope == SCOPE_PUBLIC)
		return true;
	who->address = r->client;
	if (p != NULL && strncasecmp(p, "Bearer ", 7) == 0)
		fault_ = token_verify(r->db, r->conf, r->mem, p + 7 + strspn(p + 7, " "), who);
	if (fault_ == TOKEN_FINE)
		r->who = who;
	if (r->route->scope == SCOPE_PUBLIC)
		return true;
	if (fault_ == TOKEN_NO_DB || fault_ == TOKEN_NO_KEYS)
		refuse(r, ERR_UNAVAILABLE, fault_ == TOKEN_NO_DB ? NULL : "The server that makes tokens is away.");
	else if (fault_ != TOKEN_FINE)
		refuse(r, fault_ == TOKEN_EXPIRED ? ERR_TOKEN_EXPIRED : ERR_UNAUTHORIZED, NULL);
	else if (r->route->scope != SCOPE_ANY_TOKEN && (who->scopes & SCOPE_BIT(r->route->scope)) == 0)
		refuse(r, ERR_MISSING_SCOPE, "The token lacks the scope %s.", scope_name(r->route->scope));
	else if (r->route->flags & SUPER_ADMIN && !who->is_super_admin)
		refuse(r, ERR_FORBIDDEN, "Only SuperAdmins may do this.");
	else
		return true;
	return false;
}

static size_t
read_pairs(struct req *r, struct pair *pairs)
{
	const char *query = strchr(r->uri, '?');
	char *p, *next;
	size_t n = 0;

	for (p = query != NULL ? arena_copy(r->mem, query + 1) : NULL; p != NULL && *p != '\0'; p = next) {
		char *value, *end = p + strcspn(p, "&#");
		long name_n, value_n;

		next = *end == '&' ? end + 1 : end + strlen(end);
		*end = '\0';
		if (end == p)
			continue;
		value = strchr(p, '=');
		value = value != NULL ? (*value = '\0', value + 1) : end;
		name_n = percent_decode(p, strlen(p), true);
		value_n = percent_decode(value, strlen(value), true);
		if (name_n < 0 || value_n < 0 || n == MAX_PAIRS) {
			if (n == MAX_PAIRS)
				fault(r, "", "too_many", "the query may have at most %d parameters", MAX_PAIRS);
			else
				fault(r, "", "format", "the query holds a broken escape: %%25 stands for %%");
			return n;
		}
		p[name_n] = value[value_n] = '\0';
		if (!utf8_valid(p, (size_t)name_n) || !utf8_valid(value, (size_t)value_n))
			fault(r, "", "format", "the query is not UTF-8");
		else
			pairs[n++] = (struct pair){ p, value };
	}
	return n;
}

static bool
has_parameter(const struct record *record, const char *name)
{
	size_t i;

	for (i = 0; record != NULL && i < record->n; i++)
		if (strcasecmp(record_json_name(record, &record->fields[i]), name) == 0)
			return true;
	return false;
}

static void
take_page(struct req *r, const struct pair *pairs, size_t n)
{
	struct page_query *q;
	void *row;
	uint64_t given = 0;

	record_decode_query(r->mem, &page_record, pairs, n, &row, &given, &r->faults);
	q = row;
	if (given & record_bit(&page_record, "page") && given & record_bit(&page_record, "page_number") &&
	    q->page != q->page_number)
		fault(r, "pageNumber", "not_allowed", "page says otherwise: send one of the two");
	r->page = (struct page){ .page = given & record_bit(&page_record, "page_number") ? q->page_number : q->page,
	    .perpage = given & record_bit(&page_record, "perpage") ? q->perpage : 10, .sort = q->sort,
	    .filter = q->filter, .after = q->after, .total = -1 };
}

/* Says what there is instead of a parameter that is not. */
static void
name_parameters(struct req *r, const struct record *own)
{
	const struct record *records[] = { own, r->route->flags & LIST ? &page_record : NULL };
	struct buf b = BUF(r->mem);
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; records[i] != NULL && k < records[i]->n; k++)
			if (records[i]->fields[k].on & QUERY)
				buf_printf(&b, "%s%s", b.len ? ", " : "", record_json_name(records[i],
				    &records[i]->fields[k]));
	for (i = 0; i < (size_t)r->faults.n && i < sizeof(r->faults.at) / sizeof(r->faults.at[0]); i++)
		if (strcmp(r->faults.at[i].code, "unknown") == 0)
			r->faults.at[i].detail = arena_printf(r->mem, "there is no such parameter; %s%s", b.len ?
			    "there are: " : "none is taken here", buf_string(&b));
}

/* Page parameters go to the page, the rest to the record of the query. */
static void
decode_query(struct req *r)
{
	static const struct record none = { .name = "None", .size = 1, .fields = page_fields, .n = 0 };
	const struct record *record = r->route->query != NULL ? r->route->query :
	    operation_takes_json(r->route) || r->route->flags & RAW_BODY ? NULL : r->route->in;
	struct pair pairs[MAX_PAIRS], page[MAX_PAIRS], own[MAX_PAIRS];
	size_t n = read_pairs(r, pairs), i, n_page = 0, n_own = 0;
	void *row = NULL;

	for (i = 0; i < n; i++) {
		if (r->route->flags & LIST && has_parameter(&page_record, pairs[i].name))
			page[n_page++] = pairs[i];
		else if ((r->route->flags & PAGE) == 0 || has_parameter(record, pairs[i].name))
			own[n_own++] = pairs[i];
	}
	if (r->route->flags & LIST)
		take_page(r, page, n_page);
	record_decode_query(r->mem, record != NULL ? record : &none, own, n_own, &row, r->route->query != NULL ? NULL :
	    &r->given, &r->faults);
	if (r->faults.n > 0)
		name_parameters(r, record);
	if (r->route->query != NULL)
		r->query = row;
	else
		r->in = row;
}

static bool
is_json(const char *type)
{
	return type != NULL && strncasecmp(type, "application/json", 16) == 0 && strchr("; \t", type[16]) != NULL;
}

/* Of an empty object no harm is done: some clients send one with every request. */
static bool
no_body(struct req *r)
{
	if (r->body_size == 0 || (r->body_size == 2 && memcmp(r->body, "{}", 2) == 0))
		return true;
	if (r->route->in != NULL && record_field(r->route->in, "permanent") != NULL)
		refuse(r, ERR_UNEXPECTED_BODY, "This operation takes no body; for good: send ?permanent=true.");
	else
		refuse(r, ERR_UNEXPECTED_BODY, NULL);
	return false;
}

/* Who has no token gets few bytes taken. */
static size_t
max_body(const struct route *route)
{
	size_t max = route->max_body ? route->max_body : MAX_BODY;

	return route->scope == SCOPE_PUBLIC && max > MAX_PUBLIC_BODY ? MAX_PUBLIC_BODY : max;
}

static bool
small_enough(struct req *r)
{
	size_t max = max_body(r->route);

	if (r->body_size <= max && r->body_error != ERR_TOO_LARGE)
		return true;
	refuse(r, ERR_TOO_LARGE, "The body may have at most %zu bytes.", max);
	return false;
}

/* A bare array becomes the first member of the object. */
static void
unfold(struct req *r)
{
	struct buf b = BUF(r->mem);
	size_t at = 0;

	while (at < r->body_size && strchr(" \t\r\n", r->body[at]) != NULL && r->body[at] != '\0')
		at++;
	if (at == r->body_size || r->body[at] != '[')
		return;
	buf_printf(&b, "{\"%s\":", record_json_name(r->route->in, &r->route->in->fields[0]));
	buf_add(&b, r->body, r->body_size);
	buf_char(&b, '}');
	r->body = b.text;
	r->body_size = b.len;
}

/* False when refused. */
static bool
decode_body(struct req *r)
{
	unsigned on = r->route->method == METHOD_PATCH ? PATCH : CREATE;
	enum decoded got;

	if (!small_enough(r))
		return false;
	if (r->body_error != ERR_NONE) {
		refuse(r, r->body_error, NULL);
		return false;
	}
	if (r->route->flags & RAW_BODY)
		return true;
	if (!operation_takes_json(r->route))
		return no_body(r);
	if (r->body_size == 0 && r->route->flags & OPTIONAL_BODY) {
		r->in = arena_alloc(r->mem, r->route->in->size);
		return true;
	}
	if (r->body_size > 0 && !is_json(r->content_type)) {
		refuse(r, ERR_UNSUPPORTED_TYPE, "Send application/json; this says Content-Type %.100s.",
		    r->content_type != NULL && *r->content_type != '\0' ? r->content_type : "nothing");
		return false;
	}
	if (r->body_size == 0) {
		refuse(r, ERR_BAD_JSON, "The body is missing: send a JSON object.");
		return false;
	}
	if (r->route->flags & BARE)
		unfold(r);
	got = record_decode(r->mem, r->route->in, on, r->body != NULL ? r->body : "", r->body_size, &r->in, &r->given,
	    &r->faults);
	if (got == NOT_JSON)
		refuse(r, ERR_BAD_JSON, NULL);
	else if (r->route->out != NULL)
		faults_read_only(&r->faults, r->route->out);
	return got != NOT_JSON;
}

static bool
decode(struct req *r)
{
	decode_query(r);
	if (!decode_body(r))
		return false;
	r->input_faults = r->faults.n;
	return true;
}

/* What a handler may have set is put back before it runs again. */
static void
clear_answer(struct req *r)
{
	r->status = 0;
	r->refused = false;
	r->etag = r->location = r->disposition = r->cache_control = r->answer_type = NULL;
	r->retry_after = 0;
	r->headers = BUF(r->mem);
	r->out = BUF(r->mem);
	r->faults.n = r->input_faults;
	r->committed = NULL;
}

/* The object, then the input, whose faults are nobody's business who may not do this, then the handler.  False: what is
 * known of the caller's channels is too old, nothing was done. */
static bool
load_and_run(struct req *r)
{
	enum access access = object_load(r);

	if (access == ACCESS_FINE && db_failure(r->db) == DB_FINE) {
		if (r->faults.n > 0)
			refuse(r, ERR_INVALID, NULL);
		else if (r->asks_only)
			r->status = 200;
		else
			r->route->run(r);
	}
	return access != ACCESS_OLD || db_failure(r->db) != DB_FINE;
}

enum outcome { DONE, OLD_AUDIENCE, AGAIN };

static enum outcome
commit(struct req *r)
{
	enum keeping keeping = idempotency_keep(r);

	if (keeping == KEPT && db_commit(r->db) && r->committed != NULL)
		r->committed(r);
	return keeping == KEPT_NO_MORE ? AGAIN : DONE;
}

static enum outcome
end_transaction(struct req *r, bool fresh)
{
	if (fresh && !r->refused && r->work == NULL)
		return commit(r);
	db_rollback(r->db);
	if (fresh && r->refused)
		idempotency_answer(r);
	return fresh ? DONE : OLD_AUDIENCE;
}

/* All of it in one transaction, if it writes. */
static enum outcome
run_once(struct req *r)
{
	struct page page = r->page;
	enum outcome outcome;
	bool fresh;

	clear_answer(r);
	if (r->who != NULL)
		r->audience = access_last(r);
	if (route_writes(r->route))
		db_begin(r->db);
	fresh = load_and_run(r);
	outcome = fresh ? DONE : OLD_AUDIENCE;
	if (route_writes(r->route) && db_failure(r->db) == DB_FINE)
		outcome = end_transaction(r, fresh);
	if (db_failure(r->db) == DB_FINE)
		return outcome;
	if (route_writes(r->route))
		db_rollback(r->db);
	r->page = page;
	return db_failure(r->db) == DB_AGAIN ? AGAIN : DONE;
}

/* Whoever was in the way may be gone after a moment; two that were in each other's way had better not wait equally
 * long.  A wait for a lock takes a second by itself: then a worker tries once more, not for ever. */
static bool
try_again(struct req *r, int64_t began, int tries)
{
	unsigned char chance;

	if (moment_now().ms - began > TRY_MS)
		return false;
	db_forgive(r->db);
	random_bytes(&chance, 1);
	usleep((useconds_t)(tries * (2000 + chance * 32)));
	return true;
}

/* Until it is done; what is left then is the database's failure, or an answer. */
static void
run_until_done(struct req *r)
{
	int64_t began = moment_now().ms;
	enum outcome outcome;
	int tries = 0;

	while ((outcome = run_once(r)) != DONE && ++tries < TRIES) {
		if (outcome == OLD_AUDIENCE)
			access_read(r);
		else if (!try_again(r, began, tries))
			return;
	}
	if (outcome == OLD_AUDIENCE)
		refuse(r, ERR_UNAVAILABLE, "Roles are changing right now; try again.");
}

static void
refuse_by_db(struct req *r)
{
	static const enum error errors[] = { [DB_AGAIN] = ERR_UNAVAILABLE, [DB_LOST] = ERR_UNAVAILABLE,
	    [DB_LIMIT] = ERR_TOO_EXPENSIVE, [DB_BROKEN] = ERR_INTERNAL };
	enum db_failure failure = db_failure(r->db);

	if (failure == DB_AGAIN || failure == DB_LOST)
		log_line(LOG_LEVEL_WARN, "db", LOG_INT("errno", db_errno(r->db)), LOG_TEXT("error", db_error(r->db)));
	refuse(r, errors[failure], NULL);
	if (failure != DB_LOST)		/* which nobody asks once more for this request */
		db_forgive(r->db);
}

int
aside(struct req *r, void *(*work)(struct req *))
{
	r->work = work;
	return 0;
}

/* While a statement runs, somebody looks whether its client still waits. */
static void
watch(struct req *r)
{
	db_watch(r->db, r->client_fd > 0 ? r->client_fd : -1);
}

/* What a handler has put aside, which no alarm disturbs; then the handler once more. */
static void
run_aside(struct req *r)
{
	void *(*work)(struct req *) = r->work;

	r->work = NULL;
	if (work == NULL || db_failure(r->db) != DB_FINE)
		return;
	clear_answer(r);
	db_watch(r->db, -1);
	r->made = work(r);
	watch(r);
	if (r->made != NULL)
		run_until_done(r);
	if (r->unmade != NULL && db_failure(r->db) == DB_FINE && r->refused)
		r->unmade(r);
}

static void
run(struct req *r)
{
	watch(r);
	run_until_done(r);
	run_aside(r);
	db_watch(r->db, -1);
	if (db_failure(r->db) != DB_FINE) {
		refuse_by_db(r);
	} else if (r->status == 0) {
		log_text(LOG_LEVEL_ERROR, "route", "no answer from %s", r->route->path);
		refuse(r, ERR_INTERNAL, NULL);
	}
	if (job_added())
		job_wake(r->conf->run_dir);
}

/* The i-th id of the path, under the name of its object: mediaId is media. */
static struct log_pair
id_pair(struct req *r, int i)
{
	const char *p = r->route != NULL ? r->route->path : "", *end;
	int at = 0;

	for (; (p = strchr(p, '{')) != NULL; p = end) {
		end = strchr(p, '}');
		if (strncmp(end - 2, "Id", 2) == 0 && at++ == i && !uuid_is_none(r->id[i]))
			return (struct log_pair)LOG_TEXT(arena_copy_n(r->mem, p + 1, (size_t)(end - p) - 3),
			    uuid_text(r->mem, r->id[i]));
	}
	return (struct log_pair)LOG_TEXT("id", NULL);
}

static void
log_request(struct req *r)
{
	const char *route;

	if (!log_wanted(LOG_LEVEL_INFO))
		return;
	route = r->route != NULL ? arena_printf(r->mem, "%s %s", method_name(r->method), r->route->path) : "none";
	log_line(LOG_LEVEL_INFO, "request", LOG_TEXT("req", r->request_id), LOG_TEXT("route", route), id_pair(r, 0),
	    id_pair(r, 1), id_pair(r, 2), id_pair(r, 3),
	    LOG_TEXT("tenant", r->who != NULL ? uuid_text(r->mem, r->who->tenant_id) : NULL),
	    LOG_TEXT("user", r->who != NULL ? uuid_text(r->mem, r->who->id) : NULL), LOG_TEXT("client", r->client),
	    LOG_INT("status", r->status), LOG_INT("bytes", (int64_t)r->out.len), LOG_INT("ms",
	    moment_now().ms - r->now.ms), LOG_INT("since", r->came > 0 ? clock_ms() - r->came : 0));
}

static bool
is_whole(struct req *r)
{
	if (r->content_range == NULL || r->route->method == GET)
		return true;
	refuse(r, ERR_CONTENT_RANGE, NULL);
	return false;
}

/* One tenant does not get all workers.  False: it waits. */
static bool
run_in_turn(struct req *r)
{
	if (r->who == NULL || (!r->has_waited && load_enter(r->who->tenant_id, r->came))) {
		run(r);
		load_leave(route_writes(r->route) ? LOAD_QUICK_WRITE : LOAD_QUICK_READ);
		return true;
	}
	if (r->may_wait)
		return false;
	r->retry_after = 1;
	refuse(r, ERR_TOO_BUSY, "Too many slow requests of yours are running. Wait for them, send fewer at a time, or "
	    "make them cheaper: fewer conditions in a filter, smaller pages.");
	return true;
}

static bool
is_secure(struct req *r)
{
	if (!r->conf->require_https || r->https || r->loopback)
		return true;
	refuse(r, ERR_HTTPS_REQUIRED, NULL);
	return false;
}

/* What can be decided without the body.  False when it is answered by that. */
static bool
begin(struct req *r)
{
	bool fine;

	db_use(r->db, r->mem);
	db_forgive(r->db);
	r->now = moment_now();
	uuid_format(uuid_new(), r->request_id);
	r->headers = BUF(r->mem);
	r->out = BUF(r->mem);
	/* nothing that is known of it is sure, or nobody can say whose it is */
	if (r->body_error == ERR_HEAD_TOO_LARGE || r->body_error == ERR_UNAVAILABLE) {
		refuse(r, r->body_error, NULL);
		return false;
	}
	r->route = find(r);
	fine = r->route != NULL && is_secure(r) && acceptable(r) && authenticate(r) && is_whole(r) &&
	    idempotency_check(r);
	return limits_take(r) && fine;		/* what is refused counts, too */
}

static void
end(struct req *r)
{
	if (r->cache_control == NULL)
		r->cache_control = "private, no-cache";
	cors_answer(r);
	limits_answer(r);
	db_forgive(r->db);
	limits_share(r);
	if (!r->asks_only)
		log_request(r);
}

bool
api_admit(struct req *r, size_t *max)
{
	if (begin(r) && small_enough(r)) {
		*max = max_body(r->route);
		return true;
	}
	end(r);
	return false;
}

int
api_run(struct req *r)
{
	if (begin(r) && decode(r) && !run_in_turn(r))
		return 0;
	end(r);
	return r->status;
}
