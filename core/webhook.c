/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets, signatures and waits of webhooks. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "core/seal.h"
#include "core/web.h"
#include "core/webhook.h"

#define PURPOSE "webhook"

enum { KEY = 32, MAC = 32, TEXT = 48 };		/* TEXT: 32 bytes in Base64, and more */

static const char *
base64(struct arena *mem, const unsigned char *bytes, int n)
{
	char *text = arena_alloc(mem, TEXT);

	if (EVP_EncodeBlock((unsigned char *)text, bytes, n) >= TEXT)
		abort();
	return text;
}

struct web_refusal
webhook_refuse_url(const struct conf *conf, struct arena *mem, const char *url)
{
	return web_refuse(mem, url, conf->webhook_private_hosts, true);
}

const char *
webhook_key(const struct conf *conf, struct arena *mem, const char **secret)
{
	unsigned char key[KEY];

	random_bytes(key, sizeof(key));
	*secret = arena_printf(mem, "whsec_%s", base64(mem, key, KEY));
	return seal(conf, mem, PURPOSE, key, sizeof(key));
}

const char *
webhook_signature(const struct conf *conf, struct arena *mem, const char *sealed, const struct webhook_message *m)
{
	const char *text = arena_printf(mem, "%s.%lld.%s", m->id, (long long)m->timestamp, m->body);
	unsigned char *key, mac[MAC];
	long n = unseal(conf, mem, PURPOSE, sealed, &key);
	unsigned size = 0;

	if (n < 0)
		return NULL;
	if (HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text, strlen(text), mac, &size) == NULL || size !=
	    MAC)
		abort();
	return arena_printf(mem, "v1,%s", base64(mem, mac, MAC));
}

int64_t
webhook_wait(int64_t attempt, int retry_after)
{
	static const int64_t seconds[WEBHOOK_ATTEMPTS] = { 0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600,
	    14 * 3600, 20 * 3600, 24 * 3600 };
	int64_t wait, asked = retry_after < 24 * 3600 ? retry_after : 24 * 3600;
	uint32_t chance;

	if (attempt < 1 || attempt >= WEBHOOK_ATTEMPTS)
		return -1;
	wait = (seconds[attempt] > asked ? seconds[attempt] : asked) * 1000;
	random_bytes(&chance, sizeof(chance));
	return wait + (int64_t)(chance % (uint32_t)(wait / 10 + 1));
}

void
webhook_ping(struct db *db, struct uuid tenant_id, struct uuid webhook_id, struct uuid principal_id)
{
	struct moment now = moment_now();

	if (db_number(db, "SELECT 1 FROM webhook_deliveries WHERE webhook_id = ? AND status = 'waiting' AND event = "
	    "'ping' LIMIT 1", ARGS(ID(webhook_id)), 0) == 0)
		db_run(db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event, status, "
		    "next_attempt_at, created_at, updated_at) VALUES (?, ?, ?, ?, 'ping', 'waiting', " SQL_NOW
		    ", ?, ?)",
		    ARGS(ID(uuid_new()), ID(tenant_id), ID(webhook_id), ID(principal_id), TIME(now), TIME(now)));
	webhook_work(db);
}

void
webhook_work(struct db *db)
{
	if (db_number(db, "SELECT 1 FROM jobs WHERE tenant_id IS NULL AND state IN ('ready', 'running', 'delayed') AND "
	    "kind = 'deliver' LIMIT 1", NO_ARGS, 0) == 0)
		job_add(db, deliver, (struct job_place){ .priority = PRIORITY_FIRST }, .note = "");
}
