/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who names an origin, and what is said to it. */
#include <string.h>
#include <strings.h>

#include "core/origin.h"

enum { LONGEST = 200 };

static size_t
host_length(const char *p)
{
	size_t n;

	if (*p == '.' || *p == '-')
		return 0;
	if (*p != '[')
		return strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789.-");
	n = 1 + strspn(p + 1, "0123456789abcdef:.");
	return p[n] == ']' ? n + 1 : 0;
}

bool
origin_is_one(const char *text)
{
	const char *p = strncmp(text, "https://", 8) == 0 ? text + 8 : strncmp(text, "http://", 7) == 0 ? text + 7 :
	    NULL;
	size_t n = p != NULL && strlen(text) <= LONGEST ? host_length(p) : 0;

	if (n == 0)
		return false;
	p += n;
	if (*p == ':' && (n = strspn(p + 1, "0123456789")) > 0 && n < 6)
		p += n + 1;
	return *p == '\0';
}

static bool
names_all(const struct conf *conf)
{
	const char *p = conf->cors_origins;

	for (; p != NULL && *p != '\0'; p += strcspn(p, ","), p += *p == ',')
		if (*p == '*')
			return true;
	return false;
}

bool
origin_of_server(const struct conf *conf, const char *origin)
{
	const char *p = conf->cors_origins;
	size_t n;

	for (; p != NULL && *p != '\0'; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		if (strlen(origin) == n && strncasecmp(p, origin, n) == 0)
			return true;
	}
	return names_all(conf);
}

bool
origin_of_tenant(struct db *db, struct uuid tenant_id, const char *origin)
{
	return db_number(db, "SELECT COUNT(*) FROM tenant_origins o WHERE o.origin = ? AND o.tenant_id = ?",
	    ARGS(STR(origin), ID(tenant_id)), 0) > 0;
}

bool
origin_of_realm(struct db *db, const char *shortcode, const char *origin)
{
	return db_number(db, "SELECT COUNT(*) FROM tenants t JOIN tenant_origins o ON o.tenant_id = t.id WHERE "
	    "t.shortcode = ? AND o.origin = ?", ARGS(STR(shortcode), STR(origin)), 0) > 0;
}

bool
origin_of_upload(struct db *db, struct uuid upload_id, const char *origin)
{
	return db_number(db, "SELECT COUNT(*) FROM uploads u JOIN tenant_origins o ON o.tenant_id = u.tenant_id WHERE "
	    "u.id = ? AND o.origin = ?", ARGS(ID(upload_id), STR(origin)), 0) > 0;
}

bool
origin_of_any(struct db *db, const char *origin)
{
	return db_number(db, "SELECT EXISTS (SELECT 1 FROM tenant_origins o WHERE o.origin = ?)", ARGS(STR(origin)),
	    0) > 0;
}

void
origin_written(struct db *db, struct uuid tenant_id)
{
	db_run(db, "DELETE FROM tenant_origins WHERE tenant_id = ?", ARGS(ID(tenant_id)));
	db_run(db, "INSERT INTO tenant_origins (origin, tenant_id) SELECT DISTINCT o.origin, t.id FROM tenants t, "
	    "JSON_TABLE(t.cors_origins, '$[*]' COLUMNS (origin VARCHAR(200) PATH '$')) o WHERE t.id = ?",
	    ARGS(ID(tenant_id)));
}

void
origin_allow(struct buf *head, const struct conf *conf, const char *origin)
{
	buf_printf(head, "Access-Control-Allow-Origin: %s\r\n"
	    "Access-Control-Expose-Headers: Allow, Content-Disposition, ETag, Idempotent-Replayed, Link, Location, "
	    "RateLimit, RateLimit-Policy, Retry-After, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, "
	    "Upload-Concat, Upload-Expires, Upload-Length, Upload-Offset, WWW-Authenticate, X-Api-Version, X-Request-Id\r\n", names_all(conf) ? "*" : origin);
}

void
origin_allow_methods(struct buf *head, const char *methods, const char *more)
{
	buf_printf(head, "Access-Control-Allow-Methods: %s\r\n"
	    "Access-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
	    "Last-Event-ID%s\r\nAccess-Control-Max-Age: 7200\r\n", methods, more);
}
