/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changed words have their job. */
#include <string.h>

#include "core/gist.h"
#include "core/job.h"

/* Who corrects a transcript sends one paragraph after the other. */
enum { DELAY_MS = 5000 };

void
gist_again(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	const struct job_place place = { .tenant_id = tenant_id, .media_id = media_id, .delay_ms = DELAY_MS };

	/* Locked, it cannot begin before this change can be seen. */
	if (db_number(db, "SELECT 1 FROM jobs WHERE media_id = ? AND kind = 'gist' AND state IN ('ready', 'delayed') "
	    "LIMIT 1 FOR UPDATE", ARGS(ID(media_id)), 0) == 0)
		job_add(db, gist, place, .media_id = media_id);
}

void
gist_told(struct db *db, struct uuid tenant_id, struct uuid media_id, const char *type, const char *data)
{
	const char *member = strcmp(type, "metadata.updated") == 0 ? "\"transcripts\"" :
	    strcmp(type, "media.updated") == 0 ? "\"languageCode\"" : NULL;

	if (member != NULL && data != NULL && strstr(data, member) != NULL)
		gist_again(db, tenant_id, media_id);
}
