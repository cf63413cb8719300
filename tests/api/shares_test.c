/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharing by a link: whose it is, what it opens and what it does not, and what ends it. */
#include <string.h>

#include "core/asset.h"
#include "core/role.h"
#include "core/seal.h"
#include "core/tries.h"
#include "tests/world.h"

#define PUT_INTO "{\"channelIds\":["
#define SHARERS "ViewChannel CreateContent ManageSharingOptions ManageChannel"

static const char *
to(struct world *w, struct uuid media_id, const char *below)
{
	return arena_printf(w->mem, "/v2/media/%s%s", uuid_text(w->mem, media_id), below);
}

/* A film with two files and captions. */
static struct uuid
make_film(struct world *w, const char *name)
{
	static const char *const files[][4] = { { "mp4", "720p", "video/mp4", "g1/r/film.mp4" }, { "poster",
	    "poster.jpg", "image/jpeg", "g1/r/poster.jpg" } };
	struct uuid id = world_media(w, "video", name);
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		rendition_put(w->db, &(struct rendition_row){ .media_id = id, .generation = "g1", .kind = files[i][0],
		    .label = files[i][1], .mime_type = files[i][2], .file = files[i][3], .width = { 1280, true },
		    .height = { 720, true }, .file_size = 2500000 });
	asset_summarise(w->db, id, SUM_RENDITIONS);
	db_run(w->db, "UPDATE media SET captions = '[{\"languageCode\":\"de\",\"label\":\"Deutsch\","
	    "\"file\":\"captions/a.vtt\"}]' WHERE id = ?", ARGS(ID(id)));
	assert_int_equal(db_failure(w->db), DB_FINE);
	return id;
}

/* The path of the link, "/s/…". */
static const char *
share_as(struct world *w, const char *token, struct uuid id, const char *options)
{
	const struct req *r = call_as(w, token, "PUT", to(w, id, "/share"), options);
	const char *link = text(w, r, "data.shareLink");
	size_t n = strlen(w->conf->public_url);

	if (r->status != 200)
		fail_msg("%d %s", r->status, buf_string(&((struct req *)(uintptr_t)r)->out));
	assert_memory_equal(link, w->conf->public_url, n);
	assert_int_equal(strlen(link + n), 3 + 43);
	return link + n;
}

static const char *
share(struct world *w, struct uuid id)
{
	return share_as(w, w->token, id, NULL);
}

static struct req *
visit(struct world *w, const char *path)
{
	return call_as(w, NULL, "GET", path, NULL);
}

static bool
says(const struct req *r, const char *text_)
{
	return strstr(buf_string(&((struct req *)(uintptr_t)r)->out), text_) != NULL;
}

static void
refused(struct world *w, const struct req *r, int status, const char *code)
{
	if (r->status != status || strcmp(text(w, r, "data.code"), code) != 0)
		fail_msg("%d %s instead of %d %s", r->status, buf_string(&((struct req *)(uintptr_t)r)->out), status,
		    code);
}

static const char *
channel_of(struct world *w, struct uuid id)
{
	return db_text(w->db, "SELECT LOWER(HEX(share_channel_id)) FROM media WHERE id = ?", ARGS(ID(id)));
}

/* All refusals are the same to the last byte, so nobody learns that there was something. */
static void
opens_nothing(struct world *w, const char *path)
{
	const struct req *r = visit(w, path), *never = visit(w, "/s/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");

	assert_int_equal(r->status, 404);
	assert_int_equal(never->status, 404);
	assert_string_equal(buf_string(&((struct req *)(uintptr_t)r)->out),
	    buf_string(&((struct req *)(uintptr_t)never)->out));
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(header(w, r, "X-Robots-Tag"), "noindex, nofollow");
	assert_null(header(w, r, "Set-Cookie"));
}

static void
opens(struct world *w, const char *path)
{
	const struct req *r = visit(w, path);

	assert_int_equal(r->status, 200);
	assert_true(says(r, "<video"));
}

/* Two lines that lead somewhere. */
static void
add_chapter(struct world *w, struct uuid media_id)
{
	struct uuid chapter_id = uuid_new(), entry_id;
	int i;

	db_run(w->db, "UPDATE media SET duration = 60000 WHERE id = ?", ARGS(ID(media_id)));
	db_run(w->db, "INSERT INTO chapters (id, media_id, type, name, created_at, updated_at) VALUES (?, ?, "
	    "'usergenerated', 'Agenda', 1, 1)", ARGS(ID(chapter_id), ID(media_id)));
	for (i = 1; i <= 2; i++) {
		entry_id = uuid_new();
		db_run(w->db, "INSERT INTO entries (id, chapter_id, sort_number, title, created_at, updated_at) VALUES "
		    "(?, ?, ?, 'Greeting', 1, 1)", ARGS(ID(entry_id), ID(chapter_id), INT(i)));
		db_run(w->db, "INSERT INTO sections (id, media_id, type, start, end, chapter_id, entry_id, created_at, "
		    "updated_at) VALUES (?, ?, 'timerange', ?, 20000, ?, ?, 1, 1)", ARGS(ID(uuid_new()), ID(media_id),
		    INT(1000 * i), ID(chapter_id), ID(entry_id)));
	}
	assert_int_equal(db_failure(w->db), DB_FINE);
}

static void
a_link_shows_the_asset_alone_to_anybody(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const struct req *r;

	add_chapter(w, id);
	assert_true(says(visit(w, arena_printf(w->mem, "/watch/%s%s", uuid_text(w->mem, id), strchr(text(w, call(w,
	    "GET", to(w, id, ""), NULL), "data.embed.watchUrl"), '?'))), "Greeting"));
	r = visit(w, share(w, id));
	assert_false(says(r, "Greeting"));

	assert_int_equal(r->status, 200);
	assert_true(says(r, "Cat \xe2\x80\x93 Kinothek</title>"));
	assert_true(says(r, "/g1/r/film.mp4"));
	assert_true(says(r, "/captions/a.vtt"));
	assert_true(says(r, "/g1/r/poster.jpg"));
	assert_true(says(r, "property=\"og:title\" content=\"Cat\""));
	assert_true(says(r, "name=\"robots\" content=\"noindex\""));
	assert_string_equal(r->cache_control, "no-store");
	assert_string_equal(header(w, r, "X-Robots-Tag"), "noindex, nofollow");
	assert_string_equal(header(w, r, "Referrer-Policy"), "no-referrer");
	assert_false(says(r, "id=\"downloads\"") || says(r, "id=\"places\"") || says(r, "id=\"share\"") ||
	    says(r, "canonical") || says(r, "/watch/") || says(r, "/embed/") || says(r, "Share_"));
	r = NEW(w->mem, struct req);
	((struct req *)(uintptr_t)r)->accept_language = "de";
	call_req(w, (struct req *)(uintptr_t)r, NULL, "GET", share(w, id), NULL);
	assert_true(says(r, "<html lang=\"de\""));
	assert_true(says(r, "Untertitel: Deutsch"));
}

static void
sharing_opens_no_other_address(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), other = make_film(w, "Dog");
	const char *link = share(w, id), *secret = link + 3, *one = uuid_text(w->mem, id);
	const char *paths[] = { arena_printf(w->mem, "/watch/%s", one), arena_printf(w->mem, "/embed/%s", one),
	    arena_printf(w->mem, "/v2/media/%s/player", one), arena_printf(w->mem, "/watch/%s?t=%s", one, secret),
	    arena_printf(w->mem, "/v2/media/%s/player?t=%s", one, secret), arena_printf(w->mem,
	    "/watch/events?media=%s",
	    one), arena_printf(w->mem, "/watch/events?media=%s~%s", one, secret), arena_printf(w->mem, "/c/%s", one),
	    arena_printf(w->mem, "/s/%s", one), arena_printf(w->mem, "/watch/%s?t=%s", uuid_text(w->mem, other),
	    secret) };
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (visit(w, paths[i])->status != 404 && visit(w, paths[i])->status != 403)
			fail_msg("%s: %d", paths[i], visit(w, paths[i])->status);
	assert_int_equal(call_as(w, secret, "GET", to(w, id, ""), NULL)->status, 401);
	assert_false(says(visit(w, "/"), "Cat"));
	assert_false(says(visit(w, link), uuid_text(w->mem, other)));
}

static void
the_same_again_answers_the_same_link_and_changes_nothing(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *link = share(w, id), *channel = channel_of(w, id);
	int64_t version = db_number(w->db, "SELECT version FROM media WHERE id = ?", ARGS(ID(id)), 0);
	int64_t events = number(w, "FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id)));

	assert_string_equal(share(w, id), link);
	assert_string_equal(share_as(w, w->token, id, "{}"), link);
	assert_string_equal(channel_of(w, id), channel);
	assert_int_equal(number(w, "FROM shares WHERE media_id = ?", ARGS(ID(id))), 1);
	assert_int_equal(number(w, "FROM events WHERE tenant_id = ?", ARGS(ID(w->tenant_id))), events);
	assert_int_equal(db_number(w->db, "SELECT version FROM media WHERE id = ?", ARGS(ID(id)), 0), version);
	assert_int_equal(number(w, "FROM events WHERE media_id = ? AND type = 'media.updated' AND data = "
	    "'{\"modified\":[\"channels\"]}'", ARGS(ID(id))), 1);
	assert_int_equal(number(w, "FROM events WHERE object_id = ? AND type = 'share.created'", ARGS(ID(id))), 1);
}

static void
the_secret_of_a_link_stands_nowhere(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *secret = share_as(w, w->token, id, "{\"passPhrase\":\"correct horse\"}") + 3;

	assert_int_equal(number(w, "FROM shares WHERE secret_hash = UNHEX(SHA2(?, 256))", ARGS(STR(secret))), 1);
	assert_int_equal(number(w, "FROM shares WHERE secret_hash = ? OR id = ? OR pass_phrase_hash LIKE '%horse%'",
	    ARGS(STR(secret), STR(secret))), 0);
	assert_int_equal(number(w, "FROM events WHERE INSTR(data, ?) > 0 OR INSTR(data, 'horse') > 0",
	    ARGS(STR(secret))), 0);
}

static void
each_caller_has_a_link_of_its_own(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), ann_id, bob_id;
	const char *ann = world_member(w, SHARERS, "Publisher", &ann_id), *bob = world_member(w, SHARERS, "Publisher",
	    &bob_id), *first, *second, *channel;

	refused(w, call_as(w, ann, "DELETE", to(w, id, "/share/revoke"), NULL), 422, "not_shared");
	first = share_as(w, ann, id, NULL);
	channel = channel_of(w, id);
	refused(w, call_as(w, bob, "DELETE", to(w, id, "/share/revoke"), NULL), 403, "shared_by_others");
	second = share_as(w, bob, id, NULL);
	assert_string_not_equal(first, second);
	assert_string_equal(channel_of(w, id), channel);
	assert_int_equal(call_as(w, ann, "DELETE", to(w, id, "/share/revoke"), NULL)->status, 204);
	opens_nothing(w, first);
	opens(w, second);
	assert_string_equal(channel_of(w, id), channel);
	refused(w, call_as(w, ann, "DELETE", to(w, id, "/share/revoke"), NULL), 403, "shared_by_others");
	assert_int_equal(call_as(w, bob, "DELETE", to(w, id, "/share/revoke"), NULL)->status, 204);
	opens_nothing(w, second);
	assert_null(channel_of(w, id));
	assert_string_not_equal(share_as(w, ann, id, NULL), first);
	opens_nothing(w, first);
	assert_int_equal(number(w, "FROM events WHERE object_id = ? AND type = 'share.revoked' AND principal_id IN "
	    "(?, ?)", ARGS(ID(id), ID(ann_id), ID(bob_id))), 2);
	assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(id))), 1);
}

static void
the_background_channel_is_one_of_the_asset_for_who_shares_it(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), ann_id;
	const char *ann = world_member(w, SHARERS, "Publisher", &ann_id), *channel, *etag;
	const struct req *r;

	etag = call_as(w, ann, "GET", to(w, id, ""), NULL)->etag;
	r = call_as(w, ann, "PUT", to(w, id, "/share"), NULL);
	assert_string_not_equal(r->etag, etag);
	etag = r->etag;
	r = call_as(w, ann, "GET", to(w, id, ""), NULL);
	assert_string_equal(r->etag, etag);
	assert_string_equal(text(w, r, "data.channels.1.name"), arena_printf(w->mem, "Share_%s", uuid_text(w->mem,
	    id)));
	assert_string_equal(text(w, r, "data.channels.1.visibility"), "shared");
	channel = text(w, r, "data.channels.1.id");
	assert_true(says(call_as(w, ann, "GET", "/v2/media", NULL), channel));
	/* Pages of the asset itself are opened by it no more than before. */
	assert_non_null(strstr(text(w, r, "data.embed.watchUrl"), "?t="));
	r = call(w, "GET", to(w, id, ""), NULL);
	assert_null(text(w, r, "data.channels.1"));
	assert_false(says(call(w, "GET", "/v2/channels", NULL), "Share_"));
	assert_false(says(call_as(w, ann, "GET", "/v2/channels", NULL), "Share_"));
	assert_int_equal(call_as(w, ann, "DELETE", to(w, id, "/share/revoke"), NULL)->status, 204);
	assert_null(text(w, call_as(w, ann, "GET", to(w, id, ""), NULL), "data.channels.1"));
}

static void
the_background_channel_is_named_deleted_and_chosen_by_nobody(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), other = make_film(w, "Dog");
	const char *channel, *at, *both, *link = share(w, id), *home = uuid_text(w->mem, w->channel_id);

	channel = text(w, call(w, "GET", to(w, id, ""), NULL), "data.channels.1.id");
	at = arena_printf(w->mem, "/v2/channels/%s", channel);
	assert_int_equal(call(w, "GET", at, NULL)->status, 404);
	assert_int_equal(call(w, "PATCH", at, "{\"name\":\"Mine\"}")->status, 404);
	assert_int_equal(call(w, "DELETE", at, NULL)->status, 404);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/visibility", at),
	    "{\"visibility\":\"public\"}")->status,
	    404);
	assert_int_equal(call(w, "PUT", arena_printf(w->mem, "%s/media/%s", at, uuid_text(w->mem, other)),
	    NULL)->status,
	    404);
	assert_int_equal(call(w, "DELETE", arena_printf(w->mem, "%s/media/%s", at, uuid_text(w->mem, id)),
	    NULL)->status,
	    404);
	assert_int_equal(call_as(w, NULL, "GET", arena_printf(w->mem, "/c/%s", channel), NULL)->status, 404);
	both = arena_printf(w->mem, PUT_INTO "\"%s\",\"%s\"]}", home, channel);
	assert_int_equal(call(w, "PATCH", to(w, other, ""), both)->status, 422);
	/* What was read is sent back. */
	assert_int_equal(call(w, "PATCH", to(w, id, ""), both)->status, 200);
	both = arena_printf(w->mem, PUT_INTO "\"%s\"]}", home);
	assert_int_equal(call(w, "PATCH", to(w, id, ""), both)->status, 200);
	both = arena_printf(w->mem, PUT_INTO "\"%s\"]}", channel);
	refused(w, call(w, "PATCH", to(w, id, ""), both), 409, "last_channel");
	opens(w, link);
	assert_int_equal(number(w, "FROM media_channels WHERE media_id = ?", ARGS(ID(id))), 1);
}

/* Nobody shows a token at a visit: what the last one said counts, for a month. */
static void
a_link_of_a_super_admin_by_a_provider_opens_as_long_as_its_tokens_say_so(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), ann_id;
	const char *ann = world_member(w, SHARERS, "Publisher", &ann_id), *link = share_as(w, ann, id, NULL);
	static const int64_t days[] = { 0, 29, 31, -1 };
	size_t i;

	world_role(w, w->channel_id, ann_id, NULL);
	opens_nothing(w, link);
	db_run(w->db, "INSERT INTO provider_users (id, tenant_id, subject_hash, issuer, sub, created_at) VALUES "
	    "(?, ?, UNHEX(SHA2('ann', 256)), 'https://login.example', 'ann', 1)", ARGS(ID(ann_id), ID(w->tenant_id)));
	opens_nothing(w, link);
	for (i = 0; i < 4; i++) {
		db_run(w->db, "UPDATE provider_users SET super_admin_at = IF(? < 0, 0, " SQL_NOW " - ? * 86400000) "
		    "WHERE id = ?", ARGS(INT(days[i]), INT(days[i]), ID(ann_id)));
		(i < 2 ? opens : opens_nothing)(w, link);
	}
}

/* Not a role: it is judged by the channels of the asset, at every visit. */
static void
a_link_ends_when_who_made_it_may_share_no_more(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), ann_id;
	const char *ann = world_member(w, SHARERS, "Publisher", &ann_id), *link = share_as(w, ann, id, NULL);

	opens(w, link);
	world_role(w, w->channel_id, ann_id, "Contributor");
	opens_nothing(w, link);
	assert_int_equal(call_as(w, ann, "PUT", to(w, id, "/share"), NULL)->status, 403);
	world_role(w, w->channel_id, ann_id, NULL);
	opens_nothing(w, link);
	assert_int_equal(call_as(w, ann, "GET", to(w, id, ""), NULL)->status, 403);
	world_role(w, w->channel_id, ann_id, "Channel Owner");
	opens(w, link);
	db_run(w->db, "UPDATE clients SET scopes = 'ViewChannel' WHERE id = ?", ARGS(ID(ann_id)));
	opens_nothing(w, link);
	db_run(w->db, "UPDATE clients SET scopes = ?, revoked_at = 1 WHERE id = ?", ARGS(STR(SHARERS), ID(ann_id)));
	opens_nothing(w, link);
	db_run(w->db, "UPDATE clients SET revoked_at = 0 WHERE id = ?", ARGS(ID(ann_id)));
	opens(w, link);
}

static void
a_link_ends_when_the_account_of_who_made_it_is_disabled(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), ann_id;
	const char *link = share_as(w, world_member(w, SHARERS, "Publisher", &ann_id), id, NULL);

	/* What was a client becomes a person. */
	db_run(w->db, "DELETE FROM clients WHERE id = ?", ARGS(ID(ann_id)));
	opens_nothing(w, link);
	db_run(w->db, "INSERT INTO users (id, tenant_id, login, login_key, created_at, updated_at) VALUES (?, ?, "
	    "'ann', 'ann', 1, 1)",
	    ARGS(ID(ann_id), ID(w->tenant_id)));
	assert_int_equal(db_failure(w->db), DB_FINE);
	opens(w, link);
	db_run(w->db, "UPDATE users SET disabled_at = 1 WHERE id = ?", ARGS(ID(ann_id)));
	opens_nothing(w, link);
}

static void
a_link_is_as_deleted_as_its_asset(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *link = share(w, id);

	assert_int_equal(call(w, "DELETE", to(w, id, ""), NULL)->status, 200);
	opens_nothing(w, link);
	assert_int_equal(call(w, "PUT", to(w, id, "/share"), NULL)->status, 404);
	assert_int_equal(call(w, "PUT", to(w, id, "/recover"), NULL)->status, 200);
	opens(w, link);
	assert_int_equal(call(w, "DELETE", to(w, id, "?permanent=true"), NULL)->status, 200);
	opens_nothing(w, link);
	assert_int_equal(number(w, "FROM shares WHERE media_id = ?", ARGS(ID(id))), 0);
}

/* Nobody who had it for a while gets it back. */
static void
a_link_ends_in_time_and_is_replaced_by_another(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *link = share_as(w, w->token, id, "{\"expiresAt\":\"2999-01-01T00:00:00Z\"}"), *next;
	const struct req *r;

	opens(w, link);
	r = call(w, "PUT", to(w, id, "/share"), NULL);
	assert_string_equal(text(w, r, "data.expiresAt"), "2999-01-01T00:00:00.000Z");
	db_run(w->db, "UPDATE shares SET expires_at = 1 WHERE media_id = ?", ARGS(ID(id)));
	opens_nothing(w, link);
	next = share(w, id);
	assert_string_not_equal(next, link);
	opens(w, next);
	opens_nothing(w, link);
	assert_int_equal(number(w, "FROM shares WHERE media_id = ? AND expires_at = 0", ARGS(ID(id))), 1);
	assert_true(has_fault(call(w, "PUT", to(w, id, "/share"), "{\"expiresAt\":\"2001-01-01T00:00:00Z\"}"),
	    "/expiresAt", "too_small"));
	assert_true(has_fault(call(w, "PUT", to(w, id, "/share"), "{\"expiresAt\":\"1970-01-01T00:00:00Z\"}"),
	    "/expiresAt", "too_small"));
	assert_string_equal(share_as(w, w->token, id, "{\"expiresAt\":\"2999-01-01T00:00:00Z\"}"), next);
	assert_string_equal(share_as(w, w->token, id, "{\"expiresAt\":null}"), next);
	assert_null(text(w, call(w, "PUT", to(w, id, "/share"), NULL), "data.expiresAt"));
}

/* A form with this pass phrase. */
static struct req *
enter(struct world *w, const char *path, const char *pass_phrase)
{
	struct req *r = NEW(w->mem, struct req);

	r->content_type = "application/x-www-form-urlencoded";
	return call_req(w, r, NULL, "POST", path, arena_printf(w->mem, "passPhrase=%s", pass_phrase));
}

static struct req *
with_cookie(struct world *w, const char *path, const char *cookie)
{
	struct req *r = NEW(w->mem, struct req);

	r->cookie = cookie;
	return call_req(w, r, NULL, "GET", path, NULL);
}

/* "name=value" of what the answer sets. */
static const char *
cookie_of(struct world *w, const struct req *r)
{
	const char *line = header(w, r, "Set-Cookie");

	assert_non_null(line);
	return arena_copy_n(w->mem, line, strcspn(line, ";"));
}

static void
behind_a_pass_phrase_nothing_is_said_without_it(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *link = share_as(w, w->token, id, "{\"passPhrase\":\"correct horse\"}"), *cookie;
	const struct req *r = visit(w, link);

	assert_int_equal(r->status, 200);
	assert_true(says(r, "<form method=\"post\"") && says(r, "type=\"password\""));
	assert_false(says(r, "Cat") || says(r, "og:") || says(r, "/play/") || says(r, uuid_text(w->mem, id)));
	assert_non_null(strstr(header(w, r, "Content-Security-Policy"), "form-action 'self'"));
	assert_string_equal(r->cache_control, "no-store");
	r = enter(w, link, "wrong+horse");
	assert_int_equal(r->status, 403);
	assert_false(says(r, "Cat"));
	assert_null(header(w, r, "Set-Cookie"));
	assert_int_equal(enter(w, link, "")->status, 403);
	assert_int_equal(call_as(w, NULL, "POST", link, "{\"passPhrase\":\"correct horse\"}")->status, 403);
	r = enter(w, link, "correct+horse");
	assert_int_equal(r->status, 303);
	assert_string_equal(r->location, link);
	assert_non_null(strstr(header(w, r, "Set-Cookie"), arena_printf(w->mem, "; Path=%s; ", link)));
	assert_non_null(strstr(header(w, r, "Set-Cookie"), "; HttpOnly; SameSite=Lax"));
	cookie = cookie_of(w, r);
	r = with_cookie(w, link, cookie);
	assert_true(says(r, "<video") && says(r, "Cat"));
	assert_false(says(r, "og:"));
	assert_non_null(strstr(header(w, r, "Content-Security-Policy"), "form-action 'none'"));
	assert_false(says(visit(w, link), "<video"));
}

/* As it is made for who has shown the pass phrase of the link. */
static const char *
cookie_until(struct world *w, struct uuid media_id, int64_t until)
{
	const char *of = db_text(w->db, "SELECT CONCAT(LOWER(INSERT(INSERT(INSERT(INSERT(HEX(id), 9, 0, '-'), 14, 0, "
	    "'-'), "
	    "19, 0, '-'), 24, 0, '-')), ' ', ?, ' ', pass_phrase_hash) FROM shares WHERE media_id = ?", ARGS(INT(until),
	    ID(media_id)));

	return arena_printf(w->mem, "kinothek-share=%lld.%s", (long long)until, seal_proof(w->conf, w->mem,
	    "share opened", of));
}

static void
a_cookie_is_good_for_its_link_its_pass_phrase_and_its_time(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), other = make_film(w, "Dog");
	static const char options[] = "{\"passPhrase\":\"correct horse\"}";
	const char *link = share_as(w, w->token, id, options), *elsewhere = share_as(w, w->token, other, options);
	const char *cookie = cookie_of(w, enter(w, link, "correct+horse")), *dot = strchr(cookie, '.');
	const char *later = arena_printf(w->mem, "kinothek-share=9999999999%s", dot);

	assert_true(says(with_cookie(w, link, cookie), "<video"));
	assert_false(says(with_cookie(w, elsewhere, cookie), "<video"));
	assert_false(says(with_cookie(w, link, later), "<video"));
	assert_false(says(with_cookie(w, link, "kinothek-share="), "<video"));
	assert_true(says(with_cookie(w, link, cookie_until(w, id, 9999999999)), "<video"));
	assert_false(says(with_cookie(w, link, cookie_until(w, id, 1000000000)), "<video"));
	assert_string_equal(share_as(w, w->token, id, "{\"passPhrase\":\"another horse\"}"), link);
	assert_false(says(with_cookie(w, link, cookie), "<video"));
	assert_int_equal(enter(w, link, "correct+horse")->status, 403);
	assert_string_equal(share_as(w, w->token, id, "{\"passPhrase\":null}"), link);
	assert_true(says(visit(w, link), "<video"));
	assert_int_equal(enter(w, link, "whatever")->status, 303);
	assert_int_equal(call(w, "DELETE", to(w, id, "/share/revoke"), NULL)->status, 204);
	assert_int_equal(with_cookie(w, link, cookie)->status, 404);
	assert_int_equal(enter(w, link, "another+horse")->status, 404);
	assert_int_equal(number(w, "FROM events WHERE object_id = ? AND type = 'share.updated'", ARGS(ID(id))), 2);
}

static void
pass_phrases_are_not_guessed_for_ever(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat"), other = make_film(w, "Dog");
	static const char options[] = "{\"passPhrase\":\"correct horse\"}";
	const char *link = share_as(w, w->token, id, options), *elsewhere = share_as(w, w->token, other, options);
	const struct req *r;
	int i;

	/* A class behind one address that knows it. */
	for (i = 0; i < 2 * TRIES_FREE; i++)
		assert_int_equal(enter(w, elsewhere, "correct+horse")->status, 303);
	/* Those that are forgiven meanwhile come on top. */
	for (i = 0; (r = enter(w, link, "wrong+horse"))->status == 403; i++)
		assert_true(i < 100 * TRIES_FREE);
	assert_true(i >= TRIES_FREE);
	assert_int_equal(r->status, 429);
	assert_true(r->retry_after > 0);
	assert_int_equal(enter(w, elsewhere, "correct+horse")->status, 303);
}

static void
what_cannot_be_shared_says_why(void **state)
{
	struct world *w = *state;
	struct uuid id = make_film(w, "Cat");
	const char *at = to(w, id, "/share");

	assert_true(has_fault(call(w, "PUT", at, "{\"passPhrase\":\"short\"}"), "/passPhrase", "too_short"));
	assert_true(has_fault(call(w, "PUT", at, "{\"shareLink\":\"x\"}"), "/shareLink", "read_only"));
	db_run(w->db, "UPDATE media SET status = 'processing' WHERE id = ?", ARGS(ID(id)));
	refused(w, call(w, "PUT", at, NULL), 422, "not_ready");
	assert_int_equal(number(w, "FROM shares WHERE media_id = ?", ARGS(ID(id))), 0);
	assert_null(channel_of(w, id));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_link_shows_the_asset_alone_to_anybody),
		WORLD_TEST(sharing_opens_no_other_address),
		WORLD_TEST(the_same_again_answers_the_same_link_and_changes_nothing),
		WORLD_TEST(the_secret_of_a_link_stands_nowhere),
		WORLD_TEST(each_caller_has_a_link_of_its_own),
		WORLD_TEST(the_background_channel_is_one_of_the_asset_for_who_shares_it),
		WORLD_TEST(the_background_channel_is_named_deleted_and_chosen_by_nobody),
		WORLD_TEST(a_link_of_a_super_admin_by_a_provider_opens_as_long_as_its_tokens_say_so),
		WORLD_TEST(a_link_ends_when_who_made_it_may_share_no_more),
		WORLD_TEST(a_link_ends_when_the_account_of_who_made_it_is_disabled),
		WORLD_TEST(a_link_is_as_deleted_as_its_asset),
		WORLD_TEST(a_link_ends_in_time_and_is_replaced_by_another),
		WORLD_TEST(behind_a_pass_phrase_nothing_is_said_without_it),
		WORLD_TEST(a_cookie_is_good_for_its_link_its_pass_phrase_and_its_time),
		WORLD_TEST(pass_phrases_are_not_guessed_for_ever),
		WORLD_TEST(what_cannot_be_shared_says_why),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
