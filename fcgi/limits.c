/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which buckets a request takes from. */
#include "core/bucket.h"
#include "core/peer.h"
#include "fcgi/limits.h"

enum { WINDOW = 60 };		/* s */

static int
seconds(int64_t ms)
{
	return (int)((ms + 999) / 1000);
}

/* 0: there is no limit. */
static bool
take(struct req *r, const char *kind, int64_t quota, const char *owner)
{
	struct bucket b = { kind, quota, WINDOW * 1000 };
	struct level level;
	bool fits = true;

	if (quota == 0)
		return true;
	if (r->counted)
		bucket_look(&b, owner, r->now.ms, &level);
	else
		fits = bucket_take(&b, owner, r->now.ms, &level);
	buf_printf(&r->limits, "%s\"%s\";r=%lld;t=%d", r->limits.len > 0 ? ", " : "", kind, (long long)level.left,
	    seconds(level.full_in));
	buf_printf(&r->policies, "%s\"%s\";q=%lld;w=%d", r->policies.len > 0 ? ", " : "", kind, (long long)quota,
	    WINDOW);
	if (level.due && r->n_drained < LIMITS_OF_ONE)
		r->drained[r->n_drained++] = (struct drained){ b, arena_copy(r->mem, owner) };
	if (!fits && seconds(level.one_in) > r->retry_after)
		r->retry_after = seconds(level.one_in);
	return fits;
}

static bool
take_of_principal(struct req *r)
{
	const struct conf *c = r->conf;
	const struct principal *who = r->who;

	if (uuid_equal(who->id, who->client_id))
		return take(r, "client", c->limit_client, uuid_text(r->mem, who->id));
	return take(r, "user", c->limit_user, uuid_text(r->mem, who->id)) &&
	    (uuid_is_none(who->client_id) || take(r, "client", c->limit_client, uuid_text(r->mem, who->client_id)));
}

static bool
take_of_address(struct req *r)
{
	bool sends = r->route != NULL && r->route->method == POST && r->route->scope == SCOPE_PUBLIC;
	char network[PEER_NETWORK];

	peer_network(r->client != NULL ? r->client : "", network);
	if (sends && r->route->flags & OAUTH)
		return take(r, "token", r->conf->limit_token, network);
	if (sends && r->route->flags & PAGE)
		return take(r, "signin", r->conf->limit_signin, network);
	return take(r, "address", r->conf->limit_address, network);
}

bool
limits_take(struct req *r)
{
	bool fits;

	r->limits = r->policies = BUF(r->mem);
	r->n_drained = 0;
	if (r->loopback && !r->conf->limit_local)
		return true;
	fits = r->who != NULL ? take_of_principal(r) : take_of_address(r);
	r->counted = true;
	if (!fits) {
		r->headers = BUF(r->mem);
		refuse(r, ERR_TOO_MANY_REQUESTS, NULL);
	}
	return fits;
}

void
limits_answer(struct req *r)
{
	if (r->limits.len > 0)
		buf_printf(&r->headers, "RateLimit-Policy: %s\r\nRateLimit: %s\r\n", buf_string(&r->policies),
		    buf_string(&r->limits));
}

/* By its hash: the table need not know whose address it is. */
#define BUCKET "UNHEX(LEFT(SHA2(?, 256), 32))"

static void
share(struct req *r, const struct drained *d)
{
	const char *name = arena_printf(r->mem, "%s %s", d->bucket.kind, d->owner);
	int64_t all = bucket_all(&d->bucket), taken = bucket_untold(&d->bucket, d->owner, r->now.ms), owed;

	if (taken == 0)
		return;
	db_run(r->db, "INSERT INTO buckets (id, full_at) VALUES (" BUCKET ", " SQL_NOW " * 1000 + ?) ON DUPLICATE KEY "
	    "UPDATE full_at = LEAST(GREATEST(full_at, " SQL_NOW " * 1000) + ?, " SQL_NOW " * 1000 + ?)",
	    ARGS(STR(name), INT(taken), INT(taken), INT(all)));
	owed = db_number(r->db, "SELECT full_at - " SQL_NOW " * 1000 FROM buckets WHERE id = " BUCKET,
	    ARGS(STR(name)), 0);
	if (db_failure(r->db) == DB_FINE)
		bucket_told(&d->bucket, d->owner, r->now.ms, taken, owed < all ? owed : all);
	db_forgive(r->db);
}

void
limits_share(struct req *r)
{
	int i;

	for (i = 0; i < r->n_drained; i++)
		share(r, &r->drained[i]);
	r->n_drained = 0;
}
