/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v2/media/{mediaId}/jobs and /v2/jobs/{jobId} */
#include "core/asset.h"
#include "core/flow.h"
#include "core/job.h"
#include "fcgi/req.h"

/* Jobs that clear up behind an ingest are nobody's to cancel. */
const struct object job_object = {
	.path = "/v2/jobs/{jobId}", .reach = REACH_BELOW_MEDIA, .record = &job_record,
	.from = "FROM jobs t JOIN media a ON a.id = t.media_id WHERE t.id = ? AND t.kind <> 'purge'",
};

static int
jobs_list(struct req *r)
{
	struct job_row *rows;
	size_t n;

	rows = db_list(r->db, &job_record, "FROM jobs t WHERE t.media_id = ? AND t.tenant_id = ? AND t.kind <> 'purge'",
	    ARGS(ID(r->id[0]), ID(r->who->tenant_id)), &r->page, &n);
	return reply_list(r, &job_record, rows, n);
}

static int
job_changed(struct req *r, const struct job_row *j)
{
	if (!uuid_is_none(j->ingest_id))
		asset_summarise(r->db, j->media_id, SUM_INGEST);
	return reply(r, 200, &job_record, object_again(r));
}

/*
 * A step makes sense only in the ingest whose files are shown or are still being made: those of an ingest that was
 * replaced, or failed as a whole beside an older one, have been deleted.
 */
static bool
ingest_is_over(struct req *r, const struct job_row *j)
{
	if (uuid_is_none(j->ingest_id))
		return false;
	return db_number(r->db, "SELECT COUNT(*) FROM media m WHERE m.id = ? AND (m.ingest_job_id <> ? OR "
	    "(m.generation <> ? AND EXISTS (SELECT 1 FROM jobs p WHERE p.ingest_id = ? AND p.kind = 'publish' "
	    "AND p.state IN ('succeeded', 'failed', 'cancelled') AND p.id <> ?)))",
	    ARGS(ID(j->media_id), ID(j->ingest_id), STR(uuid_text(r->mem, j->ingest_id)), ID(j->ingest_id), ID(j->id)),
	    0) > 0;
}

static int
job_retry(struct req *r)
{
	const struct job_row *j = r->object;

	if (ingest_is_over(r, j))
		return refuse(r, ERR_INGEST_OVER, NULL);
	if (db_number(r->db, "SELECT COUNT(*) FROM job_waits w JOIN jobs d ON d.id = w.on_id WHERE w.job_id = ? AND "
	    "w.needed = 1 AND d.state IN ('failed', 'cancelled')", ARGS(ID(j->id)), 0) > 0)
		return refuse(r, ERR_JOB_NEEDS_ANOTHER, NULL);
	if (!flow_has_room_again(r->db, j->id))
		return refuse(r, ERR_TOO_MANY_RUNS, NULL);
	if (!job_restart(r->db, j->id))
		return refuse(r, ERR_JOB_NOT_RETRYABLE, uuid_is_none(j->replaced_by) ? NULL :
		    "Another job has taken its place.");
	return job_changed(r, j);
}

static int
job_stop(struct req *r)
{
	const struct job_row *j = r->object;

	if (!job_cancel(r->db, j->id))
		return refuse(r, ERR_JOB_ENDED, NULL);
	return job_changed(r, j);
}

const struct route jobs_routes[] = {
	{
		GET, "/v2/media/{mediaId}/jobs", SCOPE_VIEW_METADATA, jobs_list, NULL, &job_record,
		"List the jobs of an asset, newest first",
		.flags = BELOW | LIST, .fails = "403 404 422",
	},
	{
		PUT, "/v2/jobs/{jobId}/retry", SCOPE_CREATE_CONTENT, job_retry, NULL, &job_record,
		"Run a failed or cancelled job again, and what failed because of it",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412",
		.codes = "job_not_retryable job_needs_another ingest_over too_many_runs",
	},
	{
		PUT, "/v2/jobs/{jobId}/cancel", SCOPE_CREATE_CONTENT, job_stop, NULL, &job_record,
		"Cancel a job: at once when it waits, within seconds when it runs",
		.flags = ACTION | CONDITIONAL, .fails = "403 404 409 412", .codes = "job_ended",
	},
	{ 0 }
};
