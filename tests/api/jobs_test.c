/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs as a client sees them. */
#include <string.h>

#include "core/asset.h"
#include "core/job.h"
#include "tests/world.h"

static const char *
of_media(struct world *w, struct uuid id)
{
	return arena_printf(w->mem, "/v2/media/%s/jobs", uuid_text(w->mem, id));
}

static const char *
to(struct world *w, struct uuid id, const char *action)
{
	return arena_printf(w->mem, "/v2/jobs/%s/%s", uuid_text(w->mem, id), action);
}

static struct uuid
add(struct world *w, struct uuid media, struct uuid ingest, struct job_wait wait)
{
	struct job_place place = {
		.tenant_id = w->tenant_id, .media_id = media, .ingest_id = ingest, .waits = WAITS(wait)
	};

	return job_add(w->db, thumbnail, place, .media_id = media, .generation = "g");
}

static void
fail_job(struct world *w, struct uuid id)
{
	db_run(w->db, "UPDATE jobs SET state = 'failed', attempt = 3, finished_at = 5, error = ? WHERE id = ?",
	    ARGS(STR(job_error(w->mem, REASON_DECODE_FAILED, "Frame 7 is broken.")), ID(id)));
	job_settled(w->db, id);
}

static const struct job_wait nothing;

static void
jobs_of_an_asset_are_listed_newest_first_with_their_reason(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), first = add(w, media, (struct uuid){ { 0 } }, nothing),
		    second;
	struct req *r;

	second = add(w, media, (struct uuid){ { 0 } }, (struct job_wait){ first, true });
	fail_job(w, first);
	r = call(w, "GET", of_media(w, media), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "pagination.total"), "2");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, second));
	assert_string_equal(text(w, r, "data.0.error.code"), "dependency_failed");
	assert_string_equal(text(w, r, "data.1.kind"), "thumbnail");
	assert_string_equal(text(w, r, "data.1.status"), "failed");
	assert_string_equal(text(w, r, "data.1.error.code"), "decode_failed");
	assert_string_equal(text(w, r, "data.1.error.detail"), "Frame 7 is broken.");
	assert_non_null(text(w, r, "data.1.error.remedy"));
	assert_string_equal(text(w, r, "data.1.maxAttempts"), "3");
	assert_null(text(w, r, "data.1.startedAt"));
	r = call(w, "GET", arena_printf(w->mem, "%s?filter=kind=pages", of_media(w, media)), NULL);
	assert_string_equal(text(w, r, "pagination.total"), "0");
}

static void
a_job_that_is_ready_is_called_queued(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), id = add(w, media, (struct uuid){ { 0 } }, nothing);
	struct req *r = call(w, "GET", arena_printf(w->mem, "%s?filter=status=queued", of_media(w, media)), NULL);

	assert_string_equal(text(w, r, "data.0.status"), "queued");
	assert_string_equal(text(w, r, "data.0.id"), uuid_text(w->mem, id));
}

static void
only_failed_and_cancelled_jobs_can_be_retried(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), id = add(w, media, (struct uuid){ { 0 } }, nothing), needs;
	struct req *r;

	needs = add(w, media, (struct uuid){ { 0 } }, (struct job_wait){ id, true });
	assert_int_equal(call(w, "PUT", to(w, id, "retry"), NULL)->status, 409);
	fail_job(w, id);
	assert_int_equal(call(w, "PUT", to(w, needs, "retry"), NULL)->status, 409);
	r = call(w, "PUT", to(w, id, "retry"), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "queued");
	assert_string_equal(text(w, r, "data.attempt"), "0");
	assert_null(text(w, r, "data.error.code"));
	assert_int_equal(
	    number(w, "FROM jobs t WHERE t.id = ? AND t.state = 'waiting' AND t.error IS NULL", ARGS(ID(needs))), 1);
	assert_int_equal(call(w, "PUT", to(w, id, "retry"), NULL)->status, 409);
}

static void
a_step_of_a_replaced_ingest_cannot_be_retried(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), root = uuid_new(), newer = uuid_new(), id;

	id = add(w, media, root, nothing);
	fail_job(w, id);
	db_run(w->db, "UPDATE media SET ingest_job_id = ?, generation = ? WHERE id = ?",
	    ARGS(ID(newer), STR(uuid_text(w->mem, newer)), ID(media)));
	assert_int_equal(call(w, "PUT", to(w, id, "retry"), NULL)->status, 409);
	db_run(w->db, "UPDATE media SET ingest_job_id = ?, generation = ? WHERE id = ?",
	    ARGS(ID(root), STR(uuid_text(w->mem, root)), ID(media)));
	assert_int_equal(call(w, "PUT", to(w, id, "retry"), NULL)->status, 200);
}

static void
cancelling_a_queued_job_is_final_and_a_running_one_is_asked(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat"), queued = add(w, media, (struct uuid){ { 0 } }, nothing),
		    running;
	struct req *r;

	running = add(w, media, (struct uuid){ { 0 } }, nothing);
	db_run(w->db, "UPDATE jobs SET state = 'running', fence = 1 WHERE id = ?", ARGS(ID(running)));
	job_added();
	r = call(w, "PUT", to(w, queued, "cancel"), NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(text(w, r, "data.status"), "cancelled");
	assert_non_null(text(w, r, "data.finishedAt"));
	assert_int_equal(call(w, "PUT", to(w, queued, "cancel"), NULL)->status, 409);
	r = call(w, "PUT", to(w, running, "cancel"), NULL);
	assert_string_equal(text(w, r, "data.status"), "running");
	assert_int_equal(number(w, "FROM jobs t WHERE t.id = ? AND t.cancel_requested = 1", ARGS(ID(running))), 1);
	assert_int_equal(call(w, "PUT", to(w, queued, "retry"), NULL)->status, 200);
}

static void
jobs_of_others_are_not_there_and_viewers_change_nothing(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid media = world_media(w, "video", "Cat"), id = add(w, media, (struct uuid){ { 0 } }, nothing);
	const char *viewer = world_member(w, "ViewMetadata CreateContent", "Viewer", NULL);
	struct uuid house = job_add(w->db, sweep, ((struct job_place){ { { 0 } } }), .note = NULL);

	assert_int_equal(call(other, "GET", of_media(w, media), NULL)->status, 404);
	assert_int_equal(call(other, "PUT", to(w, id, "cancel"), NULL)->status, 404);
	assert_int_equal(call(other, "PUT", to(w, id, "retry"), NULL)->status, 404);
	assert_int_equal(call(w, "PUT", to(w, house, "cancel"), NULL)->status, 404);
	assert_int_equal(call_as(w, viewer, "GET", of_media(w, media), NULL)->status, 200);
	assert_int_equal(call_as(w, viewer, "PUT", to(w, id, "cancel"), NULL)->status, 403);
	assert_int_equal(number(w, "FROM jobs t WHERE t.id = ? AND t.state = 'ready'", ARGS(ID(id))), 1);
}

static void
files_of_a_deleted_asset_go_when_the_last_of_its_steps_has_ended(void **state)
{
	struct world *w = *state;
	struct uuid media = world_media(w, "video", "Cat");
	struct req *r;
	size_t i;

	for (i = 0; i < 12; i++)
		add(w, media, (struct uuid){ { 0 } }, nothing);
	db_run(w->db, "UPDATE jobs SET state = 'running' WHERE media_id = ?", ARGS(ID(media)));
	r = call(w, "DELETE", arena_printf(w->mem, "/v2/media/%s?permanent=true", uuid_text(w->mem, media)), NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(number(w, "FROM job_waits t JOIN jobs j ON j.id = t.job_id WHERE j.media_id = ? AND j.kind = "
	    "'purge' AND j.state = 'waiting'", ARGS(ID(media))), 12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(jobs_of_an_asset_are_listed_newest_first_with_their_reason),
		WORLD_TEST(a_job_that_is_ready_is_called_queued),
		WORLD_TEST(only_failed_and_cancelled_jobs_can_be_retried),
		WORLD_TEST(a_step_of_a_replaced_ingest_cannot_be_retried),
		WORLD_TEST(cancelling_a_queued_job_is_final_and_a_running_one_is_asked),
		WORLD_TEST(jobs_of_others_are_not_there_and_viewers_change_nothing),
		WORLD_TEST(files_of_a_deleted_asset_go_when_the_last_of_its_steps_has_ended),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
