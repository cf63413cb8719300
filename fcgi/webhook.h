/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A webhook as it is kept, for those who answer about it and about its deliveries. */
#ifndef FCGI_WEBHOOK_H
#define FCGI_WEBHOOK_H

#include "fcgi/req.h"

struct webhook {
	struct uuid id, tenant_id, principal_id;
	const char *url, *description;
	struct strings events;
	bool is_active;
	const char *disabled_reason, *secret, *scopes, *sealed, *sealed_before;
	struct moment failing_since, rotated_at, created_at, updated_at;
	int64_t version;
};
extern const struct record webhook_record;

#endif
