/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who changed who may do what. */
#include <stdlib.h>
#include <string.h>

#include "core/audit.h"
#include "core/event.h"

static const struct field audit_event_fields[] = {
	FIELD(struct audit_event, id,             .on = SERVER, .required = true, .doc = "Number of the event; later ones have higher ones"),
	FIELD(struct audit_event, type,           .on = SERVER | FILTER | ASCII, .required = true, .one_of = AUDIT_NAMES, .ops = "= !=",
	    .doc = "What happened"),
	FIELD(struct audit_event, principal_id,   .on = SERVER | FILTER, .doc = "Who did it; null: the command line, or nobody who is known"),
	FIELD(struct audit_event, principal_name, .on = SERVER, .sql = "p.name", .doc = "Its name today"),
	FIELD(struct audit_event, address,        .on = SERVER, .doc = "From where: an IP address, or console"),
	FIELD(struct audit_event, object_id,      .on = SERVER | FILTER,
	    .doc = "What it is about: a channel, group, user, client, design, story, meeting, tag, tenant or key"),
	FIELD(struct audit_event, data,           .on = SERVER, .required = true, .doc = "What has changed; never a secret"),
	FIELD(struct audit_event, created_at,     .on = SERVER | FILTER, .required = true, .doc = "When it happened"),
};
const struct record audit_event_record = RECORD("AuditEvent", struct audit_event, audit_event_fields);

void
audit_add(struct db *db, const struct audited *a)
{
	if (!word_in(AUDIT_NAMES, a->type, strlen(a->type)))
		abort();
	event_add(db, &(struct event_new){ .tenant_id = a->tenant_id, .is_audit = true, .object_id = a->object_id,
	    .type = a->type, .principal_id = a->principal_id, .address = a->address, .data = a->data });
}
