/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The audit as SuperAdmins read it.  That all changes stand in it is for the tests of what changes. */
#include <string.h>

#include "core/audit.h"
#include "tests/world.h"

static void
add(struct world *w, const char *type, struct uuid object_id, struct uuid principal_id)
{
	struct audited a = { w->tenant_id, principal_id, object_id, "192.0.2.7", type, "{\"role\":\"Viewer\"}" };

	audit_add(w->db, &a);
}

static struct req *
listed(struct world *w, const char *query)
{
	struct req *r = call(w, "GET", arena_printf(w->mem, "/v2/audit?%s", query), NULL);

	assert_int_equal(r->status, 200);
	return r;
}

static void
an_event_tells_who_did_what_to_what_from_where_and_when(void **state)
{
	struct world *w = *state;
	struct req *r;

	add(w, "member.added", w->channel_id, w->client_id);
	r = listed(w, "");
	assert_string_equal(text(w, r, "data.0.type"), "member.added");
	assert_string_equal(text(w, r, "data.0.principalId"), uuid_text(w->mem, w->client_id));
	assert_string_equal(text(w, r, "data.0.principalName"), "Admin");
	assert_string_equal(text(w, r, "data.0.objectId"), uuid_text(w->mem, w->channel_id));
	assert_string_equal(text(w, r, "data.0.address"), "192.0.2.7");
	assert_string_equal(text(w, r, "data.0.data.role"), "Viewer");
	assert_non_null(text(w, r, "data.0.createdAt"));
}

static void
it_holds_what_is_for_auditors_of_this_tenant_and_no_more(void **state)
{
	struct world *w = *state, *other = world_other(w);
	const char *media = uuid_text(w->mem, world_media(w, "video", "Cat"));
	struct req *r;

	r = call(w, "PATCH", arena_printf(w->mem, "/v2/media/%s", media), "{\"name\":\"Dog\"}");
	assert_int_equal(r->status, 200);
	add(other, "member.added", other->channel_id, other->client_id);
	assert_string_equal(text(w, listed(w, ""), "pagination.total"), "0");
	add(w, "member.removed", w->channel_id, (struct uuid){ { 0 } });
	r = listed(w, "");
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_null(text(w, r, "data.0.principalId"));
	assert_null(text(w, r, "data.0.principalName"));
}

static void
it_is_filtered_by_type_who_what_and_when(void **state)
{
	struct world *w = *state;
	struct uuid one = uuid_new(), two = uuid_new(), member;
	char before[MOMENT_TEXT], after[MOMENT_TEXT];
	const char *const none[] = { "createdAt%3C=2020-01-01T00:00:00Z", "type=client.created" };
	struct req *r;
	size_t i;

	world_member(w, "ViewChannel", NULL, &member);
	add(w, "member.added", one, w->client_id);
	add(w, "channel.deleted", two, member);
	moment_format((struct moment){ moment_now().ms - 60000 }, before);
	moment_format((struct moment){ moment_now().ms + 60000 }, after);
	r = listed(w, "filter=type=channel.deleted");
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.objectId"), uuid_text(w->mem, two));
	r = listed(w, arena_printf(w->mem, "filter=objectId=%s", uuid_text(w->mem, one)));
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.type"), "member.added");
	r = listed(w, arena_printf(w->mem, "filter=principalId=%s", uuid_text(w->mem, member)));
	assert_string_equal(text(w, r, "pagination.total"), "1");
	assert_string_equal(text(w, r, "data.0.principalName"), "Member");
	r = listed(w, arena_printf(w->mem, "filter=createdAt%%3E=%s%%2BcreatedAt%%3C=%s", before, after));
	assert_string_equal(text(w, r, "pagination.total"), "2");
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_string_equal(text(w, listed(w, arena_printf(w->mem, "filter=%s", none[i])), "pagination.total"),
		    "0");
	assert_int_equal(call(w, "GET", "/v2/audit?filter=type=nothing", NULL)->status, 422);
}

/* By number and by cursor: each event once, the newest first. */
static void
pages_hold_every_event_once(void **state)
{
	struct world *w = *state;
	const char *after = NULL;
	struct uuid ids[7];
	struct req *r;
	int i;

	for (i = 0; i < 7; i++)
		add(w, "tag.renamed", ids[i] = uuid_new(), w->client_id);
	for (i = 6; i >= 0; i--) {
		r = listed(w, after != NULL ? arena_printf(w->mem, "perpage=1&after=%s", after) : "perpage=1");
		assert_string_equal(text(w, r, "data.0.objectId"), uuid_text(w->mem, ids[i]));
		assert_string_equal(text(w, r, "pagination.total"), "7");
		after = text(w, r, "pagination.next");
		r = listed(w, arena_printf(w->mem, "perpage=1&page=%d", 6 - i));
		assert_string_equal(text(w, r, "data.0.objectId"), uuid_text(w->mem, ids[i]));
	}
	assert_null(after);
	assert_int_equal(call(w, "GET", "/v2/audit?after=x", NULL)->status, 422);
}

static void
the_principal_of_what_a_request_changes_is_its_caller_and_the_address_its_own(void **state)
{
	struct world *w = *state;
	struct req *r = NEW(w->mem, struct req), *seen;

	r->mem = w->mem;
	r->db = w->db;
	r->client = "2001:db8::7";
	r->who = NEW(w->mem, struct principal);
	r->who->id = w->client_id;
	r->who->tenant_id = w->tenant_id;
	audit(r, "channel.updated", w->channel_id, NULL);
	seen = listed(w, "");
	assert_string_equal(text(w, seen, "data.0.principalName"), "Admin");
	assert_string_equal(text(w, seen, "data.0.address"), "2001:db8::7");
	assert_string_equal(text(w, seen, "data.0.data"), "{ }");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_event_tells_who_did_what_to_what_from_where_and_when),
		WORLD_TEST(it_holds_what_is_for_auditors_of_this_tenant_and_no_more),
		WORLD_TEST(it_is_filtered_by_type_who_what_and_when),
		WORLD_TEST(pages_hold_every_event_once),
		WORLD_TEST(the_principal_of_what_a_request_changes_is_its_caller_and_the_address_its_own),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
