/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sign-in as browsers meet it: forms, cookies, codes, invitations, the account. */
#include <string.h>

#include "core/password.h"
#include "core/seal.h"
#include "core/totp.h"
#include "core/user.h"
#include "tests/world.h"

#define AUTH "/protocol/openid-connect/auth"
static const char password[] = "correct horse";
static const unsigned char secret[] = "12345678901234567890";

/* A browser: its address, and the cookies it keeps. */
struct browser { struct world *w; const char *address, *form, *session; };

static struct browser
browser_new(struct world *w)
{
	static int count;

	count++;
	return (struct browser){ w, arena_printf(w->mem, "198.51.%d.%d", count / 250, count % 250), NULL, NULL };
}

static void
keep_cookies(struct browser *b, const struct req *r)
{
	const char *p = buf_string(&r->headers);

	for (; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n') {
		const char **at = strncmp(p, "Set-Cookie: kinothek-form=", 26) == 0 ? &b->form :
		    strncmp(p, "Set-Cookie: kinothek-session=", 29) == 0 ? &b->session : NULL;

		if (at != NULL)
			*at = arena_copy_n(b->w->mem, p + 12, strcspn(p + 12, ";"));
	}
}

static const char *
at(struct world *w, const char *path)
{
	return arena_printf(w->mem, "/realms/%s%s", w->shortcode, path);
}

/* One request, as kinothek-api reads it; the world's own would come from one address. */
static struct req *
browse(struct browser *b, const char *method, const char *path, const char *body)
{
	struct world *w = b->w;
	struct req *r = NEW(w->mem, struct req);

	*r = (struct req){ .mem = w->mem, .db = w->db, .conf = w->conf, .client = b->address, .client_fd = -1,
		.method_name = method, .uri = at(w, path), .loopback = true, .user_agent = "Tester/1.0" };
	r->cookie = arena_printf(w->mem, "%s; %s", b->form != NULL ? b->form : "",
	    b->session != NULL ? b->session : "");
	if (body != NULL) {
		r->body = body;
		r->body_size = strlen(body);
		r->content_type = "application/x-www-form-urlencoded";
	}
	api_run(r);
	keep_cookies(b, r);
	return r;
}

static bool
shows(const struct req *r, const char *text)
{
	return strstr(buf_string(&r->out), text) != NULL;
}

/* The hidden field of the page at that path. */
static const char *
csrf(struct browser *b, const char *path)
{
	static const char name[] = "name=\"csrf\" value=\"";
	const char *p = strstr(buf_string(&browse(b, "GET", path, NULL)->out), name);

	return p == NULL ? "" : arena_copy_n(b->w->mem, p + strlen(name), strcspn(p + strlen(name), "\""));
}

static struct req *
post(struct browser *b, const char *path, const char *fields)
{
	return browse(b, "POST", path, arena_printf(b->w->mem, "csrf=%s&%s", csrf(b, path), fields));
}

static struct req *
sign_in(struct browser *b, const char *login, const char *with)
{
	return post(b, "/login", arena_printf(b->w->mem, "login=%s&password=%s", percent_encode(b->w->mem, login),
	    percent_encode(b->w->mem, with)));
}

static struct uuid
make_user(struct world *w, const char *login)
{
	static const char *hash;
	static char kept[400];
	struct user u = { .id = uuid_new(), .tenant_id = w->tenant_id, .login = login, .name = "Anna <A>" };
	struct uuid none = { { 0 } };

	if (hash == NULL) {
		strncpy(kept, password_hash(w->mem, password), sizeof(kept) - 1);
		hash = kept;
	}
	assert_true(user_add(w->db, &u));
	user_set_password(w->db, u.id, hash, none);
	return u.id;
}

static void
enrol(struct world *w, struct uuid id)
{
	db_run(w->db, "UPDATE users SET totp_sealed = ?, totp_at = 1 WHERE id = ?",
	    ARGS(STR(seal(w->conf, w->mem, TOTP_PURPOSE, secret, 20)), ID(id)));
}

static const char *
code_of(struct world *w, int64_t away)
{
	return totp_code(w->mem, secret, 20, moment_now().ms / TOTP_STEP_MS + away, TOTP_DIGITS);
}

static int64_t
audited(struct world *w, struct uuid id, const char *type)
{
	return number(w, "FROM events WHERE is_audit = 1 AND tenant_id = ? AND object_id = ? AND type = ?",
	    ARGS(ID(w->tenant_id), ID(id), STR(type)));
}

static void
pages_keep_the_language_that_was_chosen_and_the_look_of_the_tenant(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w);
	struct uuid design = world_object(w, &design_object).ids[0];
	struct req *r;

	make_user(w, "anna");
	r = browse(&b, "GET", "/login", NULL);
	assert_true(shows(r, "lang=\"en\"") && shows(r, "href=\"?lang=de\"") && !shows(r, "/theme/"));
	db_run(w->db, "UPDATE designs SET is_main = 1 WHERE id = ?", ARGS(ID(design)));
	r = browse(&b, "GET", "/login?lang=de&return=https%3A%2F%2Fevil.example%2F", NULL);
	assert_true(shows(r, "lang=\"de\"") && shows(r, "href=\"?lang=en\""));
	assert_true(shows(r, arena_printf(w->mem, "href=\"/theme/%s/", uuid_text(w->mem, design))));
	assert_true(shows(r, "&amp;lang=de\"") && !shows(r, "evil"));
	r = browse(&b, "GET", arena_printf(w->mem, "/login?lang=de&return=%s",
	    percent_encode(w->mem, at(w, "/account"))), NULL);
	assert_true(shows(r, "href=\"?lang=en&amp;return=%2Frealms%2F"));
	r = post(&b, "/login?lang=de", "login=anna&password=wrong");
	assert_true(r->status == 403 && shows(r, "lang=\"de\""));
	r = post(&b, "/login?lang=de", "login=anna&password=correct+horse");
	assert_non_null(strstr(buf_string(&r->headers), "/account?lang=de\r\n"));
	assert_true(shows(browse(&b, "GET", "/account?lang=de", NULL), "lang=\"de\""));
	r = post(&b, "/sign-out?lang=de", "");
	assert_string_equal(r->location, at(w, "/sign-out?lang=de"));
}

static void
the_right_password_signs_in_and_leads_on(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w);
	struct uuid id = make_user(w, "anna");
	struct req *r = sign_in(&b, "Anna", password);

	assert_int_equal(r->status, 200);
	assert_string_equal(header(w, r, "Refresh"), arena_printf(w->mem, "0;url=%s", at(w, "/account")));
	assert_string_equal(r->cache_control, "no-store");
	r = browse(&b, "GET", "/account", NULL);
	assert_int_equal(r->status, 200);
	assert_true(shows(r, "Anna &lt;A&gt; (anna)"));
	assert_true(shows(r, "This browser"));
	assert_int_equal(audited(w, id, "user.signedIn"), 1);
	assert_int_equal(number(w, "FROM channels WHERE user_id = ? AND type = 'user'", ARGS(ID(id))), 1);
	assert_int_equal(browse(&(struct browser){ w, "::1", NULL, NULL }, "GET", "/account", NULL)->status, 303);
}

static void
every_refusal_looks_alike(void **state)
{
	struct world *w = *state, *other = world_other(w);
	struct uuid locked, disabled, none;
	const char *pages[6];
	struct browser b;
	struct req *r;
	size_t i;

	make_user(w, "anna");
	make_user(other, "berta");
	locked = make_user(w, "carla");
	db_run(w->db, "UPDATE users SET locked_until = ? WHERE id = ?", ARGS(INT(moment_now().ms + 60000), ID(locked)));
	disabled = make_user(w, "dora");
	db_run(w->db, "UPDATE users SET disabled_at = 1 WHERE id = ?", ARGS(ID(disabled)));
	none = make_user(w, "emma");
	db_run(w->db, "UPDATE users SET password_hash = NULL WHERE id = ?", ARGS(ID(none)));
	for (i = 0; i < 6; i++) {
		const char *login = (const char *[]){ "anna", "berta", "carla", "dora", "emma", "nobody here" }[i];
		char *page, *p;

		b = browser_new(w);
		r = sign_in(&b, login, i == 0 ? "wrong horse" : password);
		assert_int_equal(r->status, 403);
		assert_null(b.session);
		page = arena_copy(w->mem, buf_string(&r->out));
		assert_non_null(p = strstr(page, arena_printf(w->mem, "value=\"%s\"", login)));
		memmove(p, p + strlen(login) + 8, strlen(p + strlen(login) + 8) + 1);
		p = strstr(page, "name=\"csrf\" value=\"") + 19;
		memset(p, 'x', strcspn(p, "\""));
		pages[i] = page;
		assert_string_equal(pages[i], pages[0]);
		assert_true(shows(r, "href=\"#login\""));
		assert_true(shows(r, "role=\"alert\""));
	}
}

static void
an_account_waits_longer_after_each_wrong_try(void **state)
{
	struct world *w = *state;
	struct uuid id = make_user(w, "anna");
	int64_t before, wait = 0, i;
	struct browser b;

	for (i = 0; i < TRIES_UNTIL_LOCKED + 6; i++) {
		b = browser_new(w);
		before = moment_now().ms;
		assert_int_equal(sign_in(&b, "anna", "wrong horse")->status, 403);
		wait = db_number(w->db, "SELECT locked_until FROM users WHERE id = ?", ARGS(ID(id)), 0) - before;
		assert_int_equal(wait > 0, i + 1 >= TRIES_UNTIL_LOCKED);
		if (i + 1 == TRIES_UNTIL_LOCKED)
			assert_in_range(wait, 29000, 40000);
		if (i + 1 == TRIES_UNTIL_LOCKED + 1)
			assert_in_range(wait, 59000, 70000);
		b = browser_new(w);
		if (wait > 0)
			assert_int_equal(sign_in(&b, "anna", password)->status, 403);
		db_run(w->db, "UPDATE users SET locked_until = 0 WHERE id = ?", ARGS(ID(id)));
	}
	assert_in_range(wait, 890000, 910000);
	assert_int_equal(audited(w, id, "user.locked"), 7);
	b = browser_new(w);
	assert_int_equal(sign_in(&b, "anna", password)->status, 200);
	assert_int_equal(db_number(w->db, "SELECT failed_tries FROM users WHERE id = ?", ARGS(ID(id)), -1), 0);
}

static void
one_address_cannot_keep_us_hashing(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w);
	struct req *r = NULL;
	int i;

	make_user(w, "anna");
	for (i = 0; i < 40 && (r == NULL || r->status == 403); i++)
		r = sign_in(&b, arena_printf(w->mem, "nobody%d", i), "wrong horse");
	assert_int_equal(r->status, 429);
	assert_true(i > 25 && r->retry_after >= 1);
	assert_true(shows(r, "Too many tries"));
	assert_int_equal(sign_in(&b, "anna", password)->status, 429);
	b = browser_new(w);
	assert_int_equal(sign_in(&b, "anna", password)->status, 200);
}

static void
a_form_that_is_not_ours_is_refused(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w), thief = browser_new(w);
	const char *fields = arena_printf(w->mem, "login=anna&password=%s", percent_encode(w->mem, password));
	const char *stolen = csrf(&thief, "/login");
	struct req *r;

	make_user(w, "anna");
	csrf(&b, "/login");
	r = browse(&b, "POST", "/login", fields);
	assert_int_equal(r->status, 403);
	assert_true(shows(r, "This form has expired"));
	r = browse(&b, "POST", "/login", arena_printf(w->mem, "csrf=%s&%s", stolen, fields));
	assert_int_equal(r->status, 403);
	assert_null(b.session);
	b.form = NULL;
	assert_int_equal(browse(&b, "POST", "/login", arena_printf(w->mem, "csrf=%s&%s", stolen, fields))->status, 403);
	assert_int_equal(sign_in(&b, "anna", password)->status, 200);
	assert_int_equal(browse(&b, "POST", "/sign-out", "")->status, 403);
	assert_int_equal(browse(&b, "POST", "/account", "action=end")->status, 403);
	assert_int_equal(browse(&b, "GET", "/account", NULL)->status, 200);
}

static void
only_paths_of_the_realm_are_gone_on_to(void **state)
{
	struct world *w = *state;
	const char *fine[] = { at(w, AUTH "?client_id=x&redirect_uri=https%3A%2F%2Fe.example%2F&state=a%0d%0ab"),
	    at(w, AUTH), at(w, "/account?done=x") };
	const char *evil[] = { "https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example",
	    "/%2f%2fevil", "/", "javascript:alert(1)", at(w, AUTH "x"), at(w, AUTH "/../../../x"), at(w, "/accounts"), at(w, "/login"),
	    at(w, AUTH "?a=\r\nX-Evil: 1"), at(w, AUTH "?a=\tb"), at(w, AUTH "?\\"), at(w, AUTH "#x"),
	    at(w, "/account@evil"),
	    "/realms/other" AUTH, "/realms/other/account", at(w, AUTH "?\xc3\xa4"), "" };
	struct browser b;
	struct req *r;
	size_t i;

	make_user(w, "anna");
	for (i = 0; i < 3; i++) {
		b = browser_new(w);
		r = post(&b, arena_printf(w->mem, "/login?return=%s", percent_encode(w->mem, fine[i])),
		    "login=anna&password=correct%20horse");
		assert_int_equal(r->status, 200);
		assert_string_equal(header(w, r, "Refresh"), arena_printf(w->mem, "0;url=%s", fine[i]));
	}
	for (i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
		b = browser_new(w);
		r = post(&b, arena_printf(w->mem, "/login?return=%s", percent_encode(w->mem, evil[i])),
		    "login=anna&password=correct+horse");
		assert_int_equal(r->status, 200);
		assert_string_equal(header(w, r, "Refresh"), arena_printf(w->mem, "0;url=%s", at(w, "/account")));
		assert_false(shows(r, "evil"));
	}
}

static void
odd_passwords_do_no_harm(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w);
	char *big = arena_alloc(w->mem, (1 << 20) + 1), *mid = arena_alloc(w->mem, 12001);
	struct req *r;

	make_user(w, "anna");
	memset(big, 'x', 1 << 20);
	memset(mid, 'x', 12000);
	assert_int_equal(sign_in(&b, "anna", big)->status, 413);
	assert_int_equal(sign_in(&b, "anna", mid)->status, 403);
	assert_int_equal(sign_in(&b, "anna", "")->status, 403);
	assert_int_equal(sign_in(&b, mid, password)->status, 403);
	assert_int_equal(post(&b, "/login", "login=anna&password=a%00b")->status, 400);
	assert_int_equal(post(&b, "/login", "login=anna&password=%ff")->status, 400);
	assert_int_equal(post(&b, "/login", "login=anna&password=a&password=b")->status, 400);
	assert_int_equal(post(&b, "/login", "login=anna")->status, 403);
	r = sign_in(&b, "<script>alert(1)</script>", "x");
	assert_false(shows(r, "<script>alert"));
	assert_int_equal(browse(&b, "POST", "/login", "{}")->status, 403);
	b.w = world_other(w);
	b.w->shortcode = "nosuch";
	assert_int_equal(browse(&b, "GET", "/login", NULL)->status, 404);
	assert_int_equal(browse(&b, "POST", "/login", "login=anna")->status, 404);
}

static void
pages_let_nothing_in_and_nobody_around(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w);
	struct req *r = browse(&b, "GET", "/login", NULL);
	const char *policy = header(w, r, "Content-Security-Policy");

	assert_int_equal(r->status, 200);
	assert_non_null(strstr(policy, "default-src 'none'"));
	assert_non_null(strstr(policy, "form-action 'self'"));
	assert_non_null(strstr(policy, "frame-ancestors 'none'"));
	assert_null(strstr(policy, "unsafe"));
	assert_string_equal(header(w, r, "Referrer-Policy"), "same-origin");
	assert_string_equal(r->cache_control, "no-store");
	assert_true(shows(r, "autocomplete=\"username\""));
	assert_true(shows(r, "autocomplete=\"current-password\""));
}

static void
the_second_factor_is_asked_for_and_good_once(void **state)
{
	struct world *w = *state;
	struct uuid id = make_user(w, "anna");
	struct browser b = browser_new(w), second = browser_new(w);
	const char *code;
	struct req *r;

	enrol(w, id);
	r = post(&b, arena_printf(w->mem, "/login?return=%s", percent_encode(w->mem, at(w, AUTH "?x=1"))),
	    "login=anna&password=correct+horse");
	assert_int_equal(r->status, 303);
	assert_string_equal(r->location, arena_printf(w->mem, "%s?return=%s", at(w, "/login/code"),
	    percent_encode(w->mem, at(w, AUTH "?x=1"))));
	assert_int_equal(browse(&b, "GET", "/account", NULL)->status, 303);
	assert_int_equal(audited(w, id, "user.signedIn"), 0);
	assert_int_equal(post(&b, "/login/code", "code=000000")->status, 403);
	assert_int_equal(post(&b, "/login/code", "code=")->status, 403);
	assert_int_equal(post(&b, "/login/code", arena_printf(w->mem, "code=%s", code_of(w, -2)))->status, 403);
	code = code_of(w, -1);
	r = post(&b, strchr(r->location, '?') == NULL ? "" : r->location + strlen(at(w, "")),
	    arena_printf(w->mem, "code=%.3s+%s", code, code + 3));
	assert_int_equal(r->status, 200);
	assert_string_equal(header(w, r, "Refresh"), arena_printf(w->mem, "0;url=%s", at(w, AUTH "?x=1")));
	assert_int_equal(browse(&b, "GET", "/account", NULL)->status, 200);
	assert_int_equal(number(w, "FROM sessions WHERE user_id = ? AND has_code = 1", ARGS(ID(id))), 1);
	assert_int_equal(audited(w, id, "user.signedIn"), 1);

	sign_in(&second, "anna", password);
	assert_int_equal(post(&second, "/login/code", arena_printf(w->mem, "code=%s", code))->status, 403);
	assert_int_equal(post(&second, "/login/code", arena_printf(w->mem, "code=%s", code_of(w, 0)))->status, 200);
}

/* Whoever knows the password does not get more tries by showing it again. */
static void
codes_cannot_be_guessed(void **state)
{
	struct world *w = *state;
	struct uuid id = make_user(w, "anna");
	struct browser b;
	int i;

	enrol(w, id);
	for (i = 0; i < TRIES_UNTIL_LOCKED; i++) {
		b = browser_new(w);
		assert_int_equal(sign_in(&b, "anna", password)->status, 303);
		assert_int_equal(post(&b, "/login/code", "code=abcdef")->status, 403);
	}
	assert_int_equal(post(&b, "/login/code", arena_printf(w->mem, "code=%s", code_of(w, 0)))->status, 403);
	assert_int_equal(audited(w, id, "user.locked"), 1);
	b = browser_new(w);
	assert_int_equal(sign_in(&b, "anna", password)->status, 403);
	assert_int_equal(browse(&b, "GET", "/login/code", NULL)->status, 303);
}

static void
an_invitation_sets_the_password_once(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w), thief = browser_new(w), late = browser_new(w);
	struct uuid id = make_user(w, "anna");
	const char *path = arena_printf(w->mem, "/invitations/%s", invitation_add(w->db, id));
	const char *token = csrf(&late, path);
	struct req *r;

	db_run(w->db, "UPDATE users SET password_hash = NULL WHERE id = ?", ARGS(ID(id)));
	r = browse(&b, "GET", path, NULL);
	assert_int_equal(r->status, 200);
	assert_string_equal(header(w, r, "Referrer-Policy"), "same-origin");
	assert_true(shows(r, "value=\"anna\""));
	assert_true(shows(r, "autocomplete=\"new-password\""));
	assert_int_equal(post(&b, path, "fresh=short&again=short")->status, 403);
	assert_int_equal(post(&b, path, "fresh=longenough&again=longenougH")->status, 403);
	assert_int_equal(browse(&b, "POST", path, "fresh=longenough&again=longenough")->status, 403);
	assert_int_equal(post(&b, path, "fresh=longenough&again=longenough")->status, 200);
	assert_int_equal(browse(&b, "GET", "/account", NULL)->status, 200);
	assert_int_equal(audited(w, id, "user.password"), 1);
	assert_int_equal(browse(&thief, "GET", path, NULL)->status, 404);
	r = browse(&late, "POST", path,
	    arena_printf(w->mem, "csrf=%s&fresh=another-one&again=another-one", token));
	assert_int_equal(r->status, 404);
	assert_int_equal(sign_in(&thief, "anna", "another-one")->status, 403);
	assert_int_equal(sign_in(&thief, "anna", "longenough")->status, 200);
	assert_int_equal(browse(&thief, "GET", "/invitations/xyz", NULL)->status, 404);
}

static void
a_password_is_changed_by_who_knows_it(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w), other = browser_new(w);
	struct uuid id = make_user(w, "anna");
	struct req *r;

	sign_in(&b, "anna", password);
	sign_in(&other, "anna", password);
	r = post(&b, "/account", "action=password&password=wrong&fresh=newer+horse&again=newer+horse");
	assert_int_equal(r->status, 403);
	assert_true(shows(r, "href=\"#password\""));
	r = post(&b, "/account", "action=password&password=correct+horse&fresh=newer+horse&again=newer+hors");
	assert_int_equal(r->status, 403);
	assert_true(shows(r, "href=\"#again\""));
	assert_int_equal(post(&b, "/account", "action=nonsense")->status, 403);
	assert_int_equal(browse(&other, "GET", "/account", NULL)->status, 200);
	r = post(&b, "/account", "action=password&password=correct+horse&fresh=newer+horse&again=newer+horse");
	assert_int_equal(r->status, 303);
	assert_true(shows(browse(&b, "GET", "/account?done=password", NULL), "is changed"));
	assert_int_equal(browse(&other, "GET", "/account", NULL)->status, 303);
	assert_int_equal(sign_in(&other, "anna", password)->status, 403);
	assert_int_equal(sign_in(&other, "anna", "newer horse")->status, 200);
	assert_int_equal(audited(w, id, "user.password"), 1);
}

static void
codes_are_enrolled_by_a_code_and_removed_by_the_password(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w);
	struct uuid id = make_user(w, "anna");
	const char *sealed;
	unsigned char *raw;
	struct req *r;
	long n;

	sign_in(&b, "anna", password);
	assert_int_equal(post(&b, "/account", "action=codes&password=wrong")->status, 403);
	assert_null(user_by_id(w->db, id)->totp_sealed);
	assert_int_equal(post(&b, "/account", "action=codes&password=correct+horse")->status, 303);
	r = browse(&b, "GET", "/account", NULL);
	assert_true(shows(r, "otpauth://totp/Kinothek%20"));
	sealed = user_by_id(w->db, id)->totp_sealed;
	n = unseal(w->conf, w->mem, TOTP_PURPOSE, sealed, &raw);
	assert_int_equal(n, TOTP_SECRET);
	assert_true(shows(r, totp_text(w->mem, raw, (size_t)n)));
	assert_int_equal(post(&b, "/account", "action=confirm&code=abcdef")->status, 403);
	assert_int_equal(sign_in(&(struct browser){ w, "192.0.2.9", NULL, NULL }, "anna", password)->status, 200);
	r = post(&b, "/account", arena_printf(w->mem, "action=confirm&code=%s",
	    totp_code(w->mem, raw, (size_t)n, moment_now().ms / TOTP_STEP_MS, 6)));
	assert_int_equal(r->status, 303);
	assert_int_equal(sign_in(&(struct browser){ w, "192.0.2.9", NULL, NULL }, "anna", password)->status, 303);
	assert_false(shows(browse(&b, "GET", "/account", NULL), "otpauth:"));
	post(&b, "/account", "action=codes&password=correct+horse");
	assert_string_equal(user_by_id(w->db, id)->totp_sealed, sealed);
	assert_int_equal(post(&b, "/account", "action=remove&password=wrong")->status, 403);
	assert_int_equal(post(&b, "/account", "action=remove&password=correct+horse")->status, 303);
	assert_int_equal(sign_in(&(struct browser){ w, "192.0.2.9", NULL, NULL }, "anna", password)->status, 200);
	assert_int_equal(audited(w, id, "user.codes"), 2);
	assert_string_equal(db_text(w->db, "SELECT GROUP_CONCAT(data ORDER BY id) FROM events WHERE object_id = ? AND "
	    "type = 'user.codes'", ARGS(ID(id))), "{\"on\":true},{\"on\":false}");
}

static void
sessions_are_ended_by_their_user_alone(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w), phone = browser_new(w), berta = browser_new(w);
	struct uuid anna = make_user(w, "anna");
	const char *id;
	size_t n;

	make_user(w, "berta");
	sign_in(&b, "anna", password);
	sign_in(&phone, "anna", password);
	sign_in(&berta, "berta", password);
	id = arena_printf(w->mem, "action=end&session=%s",
	    uuid_text(w->mem, session_list(w->db, anna, &n)[0].id));
	post(&berta, "/account", id);
	assert_int_equal(browse(&phone, "GET", "/account", NULL)->status, 200);
	assert_int_equal(post(&b, "/account", id)->status, 303);
	assert_int_equal(browse(&phone, "GET", "/account", NULL)->status, 303);
	assert_int_equal(browse(&b, "GET", "/account", NULL)->status, 200);
	assert_int_equal(post(&b, "/sign-out", "")->status, 303);
	assert_int_equal(browse(&b, "GET", "/account", NULL)->status, 303);
	assert_int_equal(audited(w, anna, "user.signedOut"), 2);
	assert_int_equal(browse(&berta, "GET", "/account", NULL)->status, 200);
}

static void
a_stolen_session_ends_with_the_account(void **state)
{
	struct world *w = *state;
	struct browser b = browser_new(w), thief = browser_new(w);
	struct uuid id = make_user(w, "anna");

	sign_in(&b, "anna", password);
	thief.form = b.form;
	thief.session = b.session;
	assert_int_equal(browse(&thief, "GET", "/account", NULL)->status, 200);
	db_run(w->db, "UPDATE users SET disabled_at = 1 WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(browse(&thief, "GET", "/account", NULL)->status, 303);
	assert_int_equal(post(&thief, "/account", "action=codes&password=correct+horse")->status, 403);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(pages_keep_the_language_that_was_chosen_and_the_look_of_the_tenant),
		WORLD_TEST(the_right_password_signs_in_and_leads_on),
		WORLD_TEST(every_refusal_looks_alike),
		WORLD_TEST(an_account_waits_longer_after_each_wrong_try),
		WORLD_TEST(one_address_cannot_keep_us_hashing),
		WORLD_TEST(a_form_that_is_not_ours_is_refused),
		WORLD_TEST(only_paths_of_the_realm_are_gone_on_to),
		WORLD_TEST(odd_passwords_do_no_harm),
		WORLD_TEST(pages_let_nothing_in_and_nobody_around),
		WORLD_TEST(the_second_factor_is_asked_for_and_good_once),
		WORLD_TEST(codes_cannot_be_guessed),
		WORLD_TEST(an_invitation_sets_the_password_once),
		WORLD_TEST(a_password_is_changed_by_who_knows_it),
		WORLD_TEST(codes_are_enrolled_by_a_code_and_removed_by_the_password),
		WORLD_TEST(sessions_are_ended_by_their_user_alone),
		WORLD_TEST(a_stolen_session_ends_with_the_account),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
