/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The audit: who changed who may do what, when, and from where.  An event like any other (its number is the same),
 * about an object that is no asset, written in the transaction of the change: what was rolled back was never there, and
 * what was done stands in it.  Handlers say audit() of fcgi/req.h, the command line cli_audit() of cli/cli.h.
 */
#ifndef CORE_AUDIT_H
#define CORE_AUDIT_H

#include "core/db.h"
#include "core/record.h"

/* Types, "channel.created" and the like: they are listed once, for the document and the filter. */
#define AUDITS(A) \
	A("channel.created") A("channel.updated") A("channel.closing") A("channel.deleted") \
	A("member.added") A("member.updated") A("member.removed") \
	A("group.created") A("group.updated") A("group.deleted") A("group.joined") A("group.left") \
	A("user.created") A("user.disabled") A("user.enabled") A("user.password") A("user.locked") \
	A("user.unlocked") A("user.invited") A("user.codes") \
	A("user.signedIn") A("user.signedOut") A("tokens.revoked") \
	A("client.created") A("client.updated") A("client.revoked") A("client.rotated") \
	A("provider.set") A("provider.removed") \
	A("share.created") A("share.updated") A("share.revoked") \
	A("design.created") A("design.updated") A("design.deleted") \
	A("flow.created") A("flow.updated") A("flow.deleted") A("flow.started") \
	A("story.created") A("story.updated") A("story.deleted") \
	A("meeting.created") A("meeting.updated") A("meeting.deleted") \
	A("livestream.rotated") A("livestream.target") A("livestream.targetRemoved") \
	A("webhook.created") A("webhook.updated") A("webhook.rotated") A("webhook.disabled") A("webhook.deleted") \
	A("tag.renamed") A("tag.deleted") \
	A("tenant.created") A("tenant.settings") A("key.rotated")
/* All of them, separated by blanks. */
#define AUDIT_WORD(word) " " word
#define AUDIT_NAMES (&(AUDITS(AUDIT_WORD))[1])

/* principal_id: none for the command line; address: an IP address, "console", or "" when unknown; data: JSON, NULL for
 * none; never a secret.  A type that is not listed stops the program. */
struct audited { struct uuid tenant_id, principal_id, object_id; const char *address, *type, *data; };
void audit_add(struct db *, const struct audited *);

/* One as it is read: by AUDIT_FROM, which binds the tenant; id is the number of the event. */
struct audit_event {
	int64_t id;
	const char *type, *principal_name, *address;
	struct uuid principal_id, object_id;
	struct json data;
	struct moment created_at;
};
extern const struct record audit_event_record;
#define AUDIT_FROM "FROM events t LEFT JOIN principals p ON p.id = t.principal_id WHERE t.tenant_id = ? AND t.is_audit = 1"

#endif
