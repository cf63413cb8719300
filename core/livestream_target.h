/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a livestream is sent on to while viewers are let in: addresses of other services.  An address holds the stream
 * key that the service has given, so it is sealed in its row and shown to nobody again.
 *
 * The node that holds the livestream sends, and tells how it goes.  Whoever else has it afterwards begins anew.
 */
#ifndef CORE_LIVESTREAM_TARGET_H
#define CORE_LIVESTREAM_TARGET_H

#include "core/db.h"
#include "core/web_target.h"

enum {
	LIVESTREAM_TARGETS = 8,			/* of a livestream */
	LIVESTREAM_TARGET_URL = 600,		/* bytes */
	LIVESTREAM_TARGET_APP = 120,
};
#define LIVESTREAM_TARGET_PURPOSE "livestream target"
#define LIVESTREAM_TARGET_STATES "waiting sending failed off"
/* Why it has failed: its address is none of a public server; there is no such host; it does not answer, or not in time;
 * it did not prove who it is; it takes nothing with this key; it has hung up; it has stopped to read; it does not know
 * such pictures or sound; its address cannot be unsealed. */
#define LIVESTREAM_TARGET_REASONS "forbidden unresolved unreachable timeout tls refused closed stalled format sealed"

/* An address taken apart. */
struct livestream_address {
	struct web_target to;
	const char *key;		/* behind the last slash; of SRT: what is behind the question mark */
	const char *app;		/* of RTMP: what is in front of that slash */
	const char *stream_id, *passphrase;	/* of SRT; NULL: none */
	int latency, key_bytes;		/* ms; 0: as the library has it */
};
/* NULL; or what is wrong with the way it is written. */
const char *livestream_address_read(struct arena *, const char *url, struct livestream_address *);
/* May it be sent to, as far as can be told without asking a name service? */
struct web_refusal livestream_address_refuse(const struct conf *, struct arena *, const char *url);
/* The same without what is secret in it. */
const char *livestream_address_shown(struct arena *, const char *url);

/* To which a node sends now.  One whose address cannot be unsealed is none of them, and its row says so. */
struct livestream_target { struct uuid id, livestream_id; const char *url, *sealed, *reason; };
struct livestream_target *livestream_targets_of(struct db *, const struct conf *, const char *node, size_t *n);

/* What the node tells: status and reason as they are, bytes and frames since it has told them last. */
struct livestream_target_news {
	bool sends, fails;			/* neither: it waits */
	char reason[16];
	int64_t retry_ms;			/* until it is tried again; 0: it is not to be */
	int64_t bytes, dropped;
};
void livestream_target_tell(struct db *, struct uuid livestream_id, struct uuid id, const char *node,
    const struct livestream_target_news *);
/* Nobody sends any more for now. */
void livestream_targets_rest(struct db *, struct uuid livestream_id);

#endif
