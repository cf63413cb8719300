/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accounts and sessions as rows, and the cookies that lead to them. */
#include <string.h>

#include "fcgi/session.h"
#include "tests/world.h"

static struct uuid
make_user(struct world *w, const char *login)
{
	struct user u = { .id = uuid_new(), .tenant_id = w->tenant_id, .login = login, .name = "Anna" };

	assert_true(user_add(w->db, &u));
	return u.id;
}

/* A request below the realm, with that cookie. */
static struct req *
below(struct world *w, const char *cookie)
{
	struct req *r = NEW(w->mem, struct req);

	*r = (struct req){ .mem = w->mem, .db = w->db, .conf = w->conf, .cookie = cookie, .client = "192.0.2.1" };
	r->word[0] = w->shortcode;
	r->headers = BUF(w->mem);
	return r;
}

/* "name=value" of the cookie that the answer sets. */
static const char *
set_cookie(struct world *w, const struct req *r)
{
	const char *line = header(w, r, "Set-Cookie");

	assert_non_null(line);
	return arena_copy_n(w->mem, line, strcspn(line, ";"));
}

static const char *
sign_in(struct world *w, struct uuid user_id, bool pending)
{
	struct req *r = below(w, NULL);

	session_begin(r, &(struct session_start){ .user_id = user_id, .is_pending = pending, .address = "192.0.2.1" });
	return set_cookie(w, r);
}

static void
a_name_is_one_account_however_it_is_written(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct user u = { .id = uuid_new(), .tenant_id = w->tenant_id, .name = "Anna" };
	static const char *const same[] = { "J\xc3\xbcrgen@Example.org", "j\xc3\xbcrgen@example.ORG",
	    "ju\xcc\x88rgen@example.org", "\xef\xbd\x8a\xc3\xbcrgen@example.org" };
	static const char *const none[] = { "", " ", "a b", "a\t", "a\xe2\x80\x8b", "a\xe2\x80\xae", "\xff", "a\x01" };
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		db_begin(w->db);
		u.login = same[i];
		u.id = uuid_new();
		assert_int_equal(user_add(w->db, &u), i == 0);
		if (i == 0)
			db_commit(w->db);
		else
			db_rollback(w->db);
		assert_non_null(user_by_login(w->db, w->shortcode, same[i]));
	}
	assert_null(user_by_login(w->db, w->shortcode, "jurgen@example.org"));
	assert_null(user_by_login(w->db, other->shortcode, same[0]));
	u.tenant_id = other->tenant_id;
	u.id = uuid_new();
	assert_true(user_add(w->db, &u));
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(user_key(w->mem, none[i]));
	assert_null(user_key(w->mem, arena_printf(w->mem, "%0256d", 1)));
	assert_non_null(user_key(w->mem, arena_printf(w->mem, "%0255d", 1)));
}

static void
a_cookie_leads_to_its_user_in_its_realm_alone(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id = make_user(w, "anna");
	const char *cookie = sign_in(w, id, false), *value = strchr(cookie, '=') + 1;
	const struct session *s = session_find(below(w, cookie));

	assert_non_null(s);
	assert_true(uuid_equal(s->user_id, id));
	assert_string_equal(s->login, "anna");
	assert_string_equal(s->address, "192.0.2.1");
	assert_non_null(session_find(below(w, arena_printf(w->mem, "a=b; %s; c=d", cookie))));
	assert_null(session_find(below(other, cookie)));
	assert_null(session_find(below(w, NULL)));
	assert_null(session_find(below(w, arena_printf(w->mem, "kinothek-session=%sx", value))));
	assert_null(session_find(below(w, arena_printf(w->mem, "x%s", cookie))));
	assert_null(session_find(below(w, "kinothek-session=")));
	assert_null(session_find(below(w, "kinothek-session=\xff\xfe")));
	/* What lies in the database opens nothing. */
	assert_int_equal(number(w, "FROM sessions WHERE token_hash = ?", ARGS(STR(value))), 0);
}

static void
the_cookie_is_for_the_realm_and_no_script(void **state)
{
	struct world *w = *state;
	struct req *r = below(w, NULL);
	struct session_start start = { .user_id = make_user(w, "anna"), .address = "" };
	const char *line;

	session_begin(r, &start);
	line = header(w, r, "Set-Cookie");
	assert_non_null(strstr(line, arena_printf(w->mem, "; Path=/realms/%s/;", w->shortcode)));
	assert_non_null(strstr(line, "; HttpOnly; SameSite=Lax"));
	assert_null(strstr(line, "Secure"));
	r = below(w, NULL);
	r->https = true;
	session_begin(r, &start);
	line = header(w, r, "Set-Cookie");
	assert_memory_equal(line, "__Secure-kinothek-session=", 26);
	assert_non_null(strstr(line, "; SameSite=Lax; Secure"));
	r = below(w, arena_copy_n(w->mem, line + 9, strcspn(line + 9, ";")));
	r->https = true;
	assert_null(session_find(r));
}

static void
a_session_ends_by_sign_out_time_and_the_end_of_its_account(void **state)
{
	struct world *w = *state;
	struct uuid id = make_user(w, "anna"), none = { { 0 } };
	const char *cookie = sign_in(w, id, false), *second = sign_in(w, id, false), *third = sign_in(w, id, false);
	struct req *r = below(w, cookie);

	session_end(r);
	assert_non_null(strstr(header(w, r, "Set-Cookie"), "Max-Age=0"));
	assert_null(session_find(below(w, cookie)));
	assert_non_null(session_find(below(w, second)));
	db_run(w->db, "UPDATE users SET disabled_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_null(session_find(below(w, second)));
	db_run(w->db, "UPDATE users SET disabled_at = 0 WHERE id = ?", ARGS(ID(id)));
	db_run(w->db, "UPDATE sessions SET used_at = used_at - 7200001 WHERE user_id = ?", ARGS(ID(id)));
	assert_null(session_find(below(w, second)));
	db_run(w->db, "UPDATE sessions SET used_at = used_at + 7000000 WHERE user_id = ?", ARGS(ID(id)));
	assert_non_null(session_find(below(w, second)));	/* which notes the use */
	assert_int_equal(number(w, "FROM sessions WHERE user_id = ? AND used_at > ?", ARGS(ID(id),
	    INT(moment_now().ms - 10000))), 1);
	db_run(w->db, "UPDATE sessions SET expires_at = ? WHERE user_id = ?", ARGS(TIME(moment_now()), ID(id)));
	assert_null(session_find(below(w, second)));
	assert_null(session_find(below(w, third)));

	cookie = sign_in(w, id, false);
	user_set_password(w->db, id, "x", none);
	assert_null(session_find(below(w, cookie)));
	cookie = sign_in(w, id, false);
	second = sign_in(w, id, false);
	user_set_password(w->db, id, "x", session_find(below(w, second))->id);
	assert_null(session_find(below(w, cookie)));
	assert_non_null(session_find(below(w, second)));
	assert_true(user_set_disabled(w->db, id, true));
	assert_true(user_set_disabled(w->db, id, false));
	assert_null(session_find(below(w, second)));
}

static void
who_still_owes_the_code_is_nobody(void **state)
{
	struct world *w = *state;
	struct uuid id = make_user(w, "anna");
	const char *cookie = sign_in(w, id, true);

	assert_null(session_find(below(w, cookie)));
	assert_non_null(session_pending(below(w, cookie)));
	assert_null(session_pending(below(w, sign_in(w, id, false))));
	db_run(w->db, "UPDATE sessions SET expires_at = expires_at - 300000 WHERE user_id = ?", ARGS(ID(id)));
	assert_null(session_pending(below(w, cookie)));
}

static void
signing_in_again_ends_the_session_before_and_clears_up(void **state)
{
	struct world *w = *state;
	struct uuid id = make_user(w, "anna");
	struct req *r = below(w, sign_in(w, id, false));
	int i;

	session_begin(r, &(struct session_start){ .user_id = id, .address = "" });
	assert_null(session_find(r));
	assert_int_equal(number(w, "FROM sessions WHERE user_id = ?", ARGS(ID(id))), 1);
	for (i = 0; i < SESSIONS_MAX + 5; i++)
		sign_in(w, id, false);
	assert_int_equal(number(w, "FROM sessions WHERE user_id = ?", ARGS(ID(id))), SESSIONS_MAX);
}

static void
an_invitation_is_for_its_realm_and_ends(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid id = make_user(w, "anna"), none = { { 0 } };
	const char *first = invitation_add(w->db, id), *token = invitation_add(w->db, id);

	assert_null(invitation_find(w->db, w->shortcode, first));
	assert_non_null(invitation_find(w->db, w->shortcode, token));
	assert_null(invitation_find(w->db, other->shortcode, token));
	db_run(w->db, "UPDATE invitations SET expires_at = ? WHERE user_id = ?", ARGS(TIME(moment_now()), ID(id)));
	assert_null(invitation_find(w->db, w->shortcode, token));
	assert_false(invitation_use(w->db, token));
	token = invitation_add(w->db, id);
	assert_true(invitation_use(w->db, token));
	assert_false(invitation_use(w->db, token));
	assert_null(invitation_find(w->db, w->shortcode, token));
	token = invitation_add(w->db, id);
	user_set_password(w->db, id, "x", none);
	assert_null(invitation_find(w->db, w->shortcode, token));
	token = invitation_add(w->db, id);
	db_run(w->db, "UPDATE users SET disabled_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_null(invitation_find(w->db, w->shortcode, token));
}

static void
who_opens_an_invitation_that_was_mailed_reads_there(void **state)
{
	struct world *w = *state;
	struct user u = { .id = uuid_new(), .tenant_id = w->tenant_id, .login = "anna", .name = "Anna",
		.email = "anna@example.org" };
	const char *token, *void_by_now;

	assert_true(user_add(w->db, &u));
	token = invitation_add(w->db, u.id);
	assert_true(invitation_use(w->db, token));
	assert_int_equal(number(w, "FROM users WHERE id = ? AND email_proven_at > 0", ARGS(ID(u.id))), 0);
	void_by_now = invitation_add(w->db, u.id);
	invitation_mailed(w->db, void_by_now);
	token = invitation_add(w->db, u.id);
	assert_false(invitation_use(w->db, void_by_now));
	assert_true(invitation_use(w->db, token));
	assert_int_equal(number(w, "FROM users WHERE id = ? AND email_proven_at > 0", ARGS(ID(u.id))), 0);
	token = invitation_add(w->db, u.id);
	invitation_mailed(w->db, token);
	assert_true(invitation_use(w->db, token));
	assert_int_equal(number(w, "FROM users WHERE id = ? AND email_proven_at > 0", ARGS(ID(u.id))), 1);
}

static void
a_form_of_another_browser_session_or_site_is_not_ours(void **state)
{
	struct world *w = *state;
	struct req *r = below(w, NULL);
	const char *token = form_token(r), *cookie = set_cookie(w, r), *other;

	r = below(w, NULL);
	other = form_token(r);
	r = below(w, cookie);
	assert_true(form_is_ours(r, token));
	assert_false(form_is_ours(r, other));
	assert_false(form_is_ours(r, NULL));
	assert_false(form_is_ours(r, ""));
	assert_false(form_is_ours(below(w, NULL), token));
	assert_false(form_is_ours(below(w, "kinothek-form="), token));
	assert_false(form_is_ours(below(w, arena_printf(w->mem, "%s; %s", cookie,
	    sign_in(w, make_user(w, "anna"), false))), token));
	r->fetch_site = "cross-site";
	assert_false(form_is_ours(r, token));
	r->fetch_site = "same-site";
	assert_false(form_is_ours(r, token));
	r->fetch_site = "same-origin";
	r->origin = "https://evil.example";
	assert_false(form_is_ours(r, token));
	r->origin = "null";
	assert_false(form_is_ours(r, token));
	r->origin = w->conf->public_url;
	assert_true(form_is_ours(r, token));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_name_is_one_account_however_it_is_written),
		WORLD_TEST(a_cookie_leads_to_its_user_in_its_realm_alone),
		WORLD_TEST(the_cookie_is_for_the_realm_and_no_script),
		WORLD_TEST(a_session_ends_by_sign_out_time_and_the_end_of_its_account),
		WORLD_TEST(who_still_owes_the_code_is_nobody),
		WORLD_TEST(signing_in_again_ends_the_session_before_and_clears_up),
		WORLD_TEST(an_invitation_is_for_its_realm_and_ends),
		WORLD_TEST(who_opens_an_invitation_that_was_mailed_reads_there),
		WORLD_TEST(a_form_of_another_browser_session_or_site_is_not_ours),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
