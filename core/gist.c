/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changed words have their job. */
#include <string.h>

#include "core/gist.h"
#include "core/job.h"

/* Who corrects a transcript sends one paragraph after the other. */
enum { DELAY_MS = 5000 };

struct making { struct uuid id; const char *state; };
static const struct field making_fields[] = {
	FIELD(struct making, id, .doc = "Job"),
	FIELD(struct making, state, .doc = "State"),
};
static const struct record making_record = RECORD("GistJob", struct making, making_fields);

void
gist_again(struct db *db, struct uuid tenant_id, struct uuid media_id)
{
	const struct job_place place = { .tenant_id = tenant_id, .media_id = media_id, .delay_ms = DELAY_MS };

	/* Locked, it cannot begin before this change can be seen. */
	if (db_number(db, "SELECT 1 FROM jobs WHERE media_id = ? AND kind = 'gist' AND state IN ('ready', 'delayed') "
	    "LIMIT 1 FOR UPDATE", ARGS(ID(media_id)), 0) == 0)
		job_add(db, gist, place, .media_id = media_id);
}

/* Those that have not ended, locked. */
static const struct making *
makings(struct db *db, struct uuid media_id, size_t *n)
{
	return db_rows(db, &making_record, "FROM jobs t WHERE t.media_id = ? AND t.kind = 'gist' AND t.state IN "
	    "('ready', 'delayed', 'running') FOR UPDATE", ARGS(ID(media_id)), n);
}

bool
gist_is_running(struct db *db, struct uuid media_id)
{
	size_t n, i;
	const struct making *all = makings(db, media_id, &n);

	for (i = 0; i < n; i++)
		if (strcmp(all[i].state, "running") == 0)
			return true;
	return false;
}

void
gist_cancel(struct db *db, struct uuid media_id)
{
	size_t n, i;
	const struct making *all = makings(db, media_id, &n);

	for (i = 0; i < n; i++)
		job_cancel(db, all[i].id);
}

void
gist_told(struct db *db, struct uuid tenant_id, struct uuid media_id, const char *type, const char *data)
{
	const char *member = strcmp(type, "metadata.updated") == 0 ? "\"transcripts\"" :
	    strcmp(type, "media.updated") == 0 ? "\"languageCode\"" : NULL;

	if (member != NULL && data != NULL && strstr(data, member) != NULL)
		gist_again(db, tenant_id, media_id);
}
