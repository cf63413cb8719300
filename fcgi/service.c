/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /healthz, /readyz, /metrics and the API document */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store.h"
#include "fcgi/req.h"

static int
healthz(struct req *r)
{
	return reply_raw(r, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

/* Ready: the database answers and is migrated, and there is room to write. */
static int
readyz(struct req *r)
{
	int64_t migrations = db_number(r->db, "SELECT COUNT(*) FROM schema_migrations", NO_ARGS, -1);

	if (migrations < 0)
		return refuse(r, ERR_UNAVAILABLE, "The database is not there or not migrated.");
	if (store_free() == 0 || store_incoming_free() == 0)
		return refuse(r, ERR_UNAVAILABLE, "The store is full.");
	return reply_raw(r, 200, "text/plain; charset=utf-8", "ready\n", 6);
}

struct state_count { const char *state; int64_t n; };
static const struct field state_count_fields[] = {
	FIELD(struct state_count, state, .doc = "State"),
	FIELD(struct state_count, n, .sql = "COUNT(*)", .doc = "Jobs"),
};
static const struct record state_count_record = RECORD("StateCount", struct state_count, state_count_fields);

/* Prometheus text; for the machine itself only. */
static int
metrics(struct req *r)
{
	struct buf b = BUF(r->mem);
	const struct state_count *rows;
	size_t n, i;

	if (!r->loopback)
		return refuse(r, ERR_FORBIDDEN, "Figures are for the machine itself only.");
	rows = db_rows(r->db, &state_count_record, "FROM jobs t GROUP BY t.state ORDER BY t.state", NO_ARGS, &n);
	buf_text(&b, "# TYPE kinothek_jobs gauge\n");
	for (i = 0; i < n; i++)
		buf_printf(&b, "kinothek_jobs{state=\"%s\"} %lld\n", rows[i].state, (long long)rows[i].n);
	buf_printf(&b, "# TYPE kinothek_media gauge\nkinothek_media %lld\n", (long long)db_number(r->db,
	    "SELECT COALESCE(SUM(media_count), 0) FROM tenant_usage", NO_ARGS, 0));
	buf_printf(&b, "# TYPE kinothek_store_free_bytes gauge\nkinothek_store_free_bytes %lld\n",
	    (long long)store_incoming_free());
	return reply_raw(r, 200, "text/plain; version=0.0.4; charset=utf-8", b.text, b.len);
}

/* Printed once: it never changes while the process lives. */
static int
openapi(struct req *r)
{
	static char *text, etag[32];
	static size_t n;

	if (text == NULL) {
		struct arena *mem = arena_new(64u << 20);

		text = strdup(openapi_print(mem, r->conf->public_url));
		arena_free(mem);
		if (text == NULL)
			abort();
		n = strlen(text);
		snprintf(etag, sizeof(etag), "%s", entity_tag(r->mem, text, n));
	}
	r->etag = etag;
	r->cache_control = "public, max-age=3600";
	if (reply_not_modified(r))
		return 304;
	return reply_raw(r, 200, "application/json", text, n);
}

const struct route service_routes[] = {
	{
		GET, "/v2/openapi.json", SCOPE_PUBLIC, openapi, NULL, NULL, "Get this document",
		.flags = NO_ENVELOPE | CONDITIONAL, .produces = "application/json", .id = "getApiDocument",
	},
	{
		GET, "/healthz", SCOPE_PUBLIC, healthz, NULL, NULL, "Say that the process lives",
		.flags = AT_ROOT | NO_ENVELOPE, .produces = "text/plain", .id = "getHealth",
	},
	{
		GET, "/readyz", SCOPE_PUBLIC, readyz, NULL, NULL, "Say whether requests can be answered",
		.flags = AT_ROOT | NO_ENVELOPE, .fails = "503", .produces = "text/plain", .id = "getReadiness",
	},
	{
		GET, "/metrics", SCOPE_PUBLIC, metrics, NULL, NULL, "Counters for monitoring, from the machine itself "
		"only",
		.flags = AT_ROOT | NO_ENVELOPE, .fails = "403", .produces = "text/plain",
	},
	{ 0 }
};
