/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A channel as clients see it, and what the sources of /v2/channels share. */
#ifndef FCGI_CHANNEL_H
#define FCGI_CHANNEL_H

#include "fcgi/req.h"

/* memberCount and mediaCount are counted up to this. */
enum { CHANNEL_COUNT_MAX = 1000 };

struct channel {
	struct uuid id, tenant_id;
	const char *name, *description, *type, *visibility;
	bool is_default;
	int64_t member_count, media_count;
	struct uuid channel_design_id, player_design_id;
	bool is_closing;
	struct uuid closing_to, closing_job_id;		/* core/closing.h */
	int64_t version;
	struct moment created_at, updated_at;
};
extern const struct record channel_record;

/* r->object on routes to what lies below a channel. */
struct channel_head { struct uuid id; const char *type; };

/* Is it the channel of one user, which holds less? */
bool channel_is_of_user(const char *type);

int channel_delete(struct req *);			/* channel_delete.c */
extern const struct record channel_deletion_record;
/* 202: a job deletes it.  The channel as it is until then, whose address says when it is gone. */
int channel_reply_closing(struct req *, struct channel *);

#endif
