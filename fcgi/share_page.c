/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /s/{secret}: what a share opens, to anybody: the asset alone.  Whoever shares it is judged anew each time, so a link
 * ends with its time, with the share, and with the right to share.
 */
#include <stdlib.h>
#include <string.h>

#include "core/password.h"
#include "core/seal.h"
#include "core/tries.h"
#include "fcgi/form.h"
#include "fcgi/seen.h"
#include "fcgi/share.h"
#include "fcgi/sign.h"

enum { REMEMBERED_S = 12 * 3600 };

#define ROBOTS "X-Robots-Tag: noindex, nofollow\r\n"

/* A share that has not ended, and who shares. */
struct link {
	struct uuid id, media_id, principal_id, tenant_id;
	const char *pass_phrase_hash, *shortcode, *name, *client_scopes;
	int64_t is_super_admin;
};
static const struct field link_fields[] = {
	FIELD(struct link, id, .doc = "Of the share"),
	FIELD(struct link, media_id, .doc = "The asset"),
	FIELD(struct link, principal_id, .doc = "Who shares it"),
	FIELD(struct link, tenant_id, .sql = "p.tenant_id", .doc = "Its tenant"),
	FIELD(struct link, pass_phrase_hash, .doc = "NULL: it asks for nothing"),
	FIELD(struct link, shortcode, .sql = "n.shortcode", .doc = "Of the tenant"),
	FIELD(struct link, name, .sql = "p.name", .doc = "Of who shares it"),
	FIELD(struct link, client_scopes, .sql = "c.scopes", .doc = "If that is a client"),
	FIELD(struct link, is_super_admin, .sql = SEEN_SUPER_ADMIN, .doc = "Who shares it"),
};
static const struct record link_record = RECORD("Link", struct link, link_fields);

struct opening { const char *pass_phrase; };
static const struct field opening_fields[] = { FIELD(struct opening, pass_phrase, .doc = "As it was typed") };
static const struct record opening_record = RECORD("Opening", struct opening, opening_fields);

static const struct route *
sharing(void)
{
	const struct route *route = shares_routes;

	while (route->method != PUT)
		route++;
	return route;
}

/* As the operation that shares would be judged now. */
static bool
may_still_share(struct req *r, const struct link *l)
{
	struct principal who = { .id = l->principal_id, .tenant_id = l->tenant_id, .shortcode = l->shortcode,
	    .name = l->name, .is_super_admin = l->is_super_admin, .scopes = ~0u };

	if (l->client_scopes != NULL)
		who.scopes = scope_bits(l->client_scopes);
	return seen_may(seen_by(r->mem, r->db, r->conf, &who), l->media_id, sharing());
}

/* NULL: the address opens nothing, for whatever reason; all of them are answered alike. */
static const struct link *
find(struct req *r)
{
	const char *secret = r->word[0];
	const struct link *l;

	buf_text(&r->headers, ROBOTS);
	r->cache_control = "no-store";
	if (strlen(secret) != SHARE_SECRET || !utf8_valid(secret, SHARE_SECRET))
		return NULL;
	l = db_row(r->db, &link_record, "FROM shares t JOIN principals p ON p.id = t.principal_id JOIN tenants n ON "
	    "n.id = p.tenant_id " SEEN_JOIN " WHERE t.secret_hash = UNHEX(SHA2(?, 256)) AND (t.expires_at = 0 OR "
	    "t.expires_at > ?) AND " SEEN_LIVE, ARGS(STR(secret), TIME(r->now)));
	return l != NULL && may_still_share(r, l) ? l : NULL;
}

static const char *
path_of(struct req *r)
{
	return arena_printf(r->mem, "/s/%s", r->word[0]);
}

/* ---- the pass phrase ---- */

static const char *
cookie_name(const struct req *r)
{
	return r->https ? "__Secure-kinothek-share" : "kinothek-share";
}

/* That the browser has shown this pass phrase of this link, until then. */
static const char *
proof(struct req *r, const struct link *l, int64_t until)
{
	return arena_printf(r->mem, "%lld.%s", (long long)until, seal_proof(r->conf, r->mem, "share opened",
	    arena_printf(r->mem, "%s %lld %s", uuid_text(r->mem, l->id), (long long)until, l->pass_phrase_hash)));
}

static bool
has_shown(struct req *r, const struct link *l)
{
	const char *cookie = cookie_find(r, cookie_name(r));
	int64_t until = cookie != NULL ? strtoll(cookie, NULL, 10) : 0;

	return l->pass_phrase_hash == NULL || (until > r->now.ms / 1000 && seal_same(cookie, proof(r, l, until)));
}

static void
put_form(struct shown *p)
{
	struct sign *s = (struct sign *)(void *)p;	/* its first member */

	html_el(&p->h, "h1");
	html_attr(&p->h, "id", "title");
	html_int(&p->h, "tabindex", -1);
	html_text(&p->h, say(p->r, "A pass phrase is needed"));
	html_end(&p->h);
	sign_wrong(s);
	html_el(&p->h, "form");
	html_attr(&p->h, "method", "post");
	html_url(&p->h, "action", page_link(p, path_of(p->r)));
	sign_input(s, &(struct input){ .name = "passPhrase", .label = N_("Pass phrase"), .type = "password",
	    .autocomplete = "off", .hint = N_("Whoever sent you the link knows it.") });
	sign_close(s, N_("Open"));
}

/* The page says nothing of what is behind it. */
static int
ask(struct req *r, int status, const char *wrong)
{
	struct sign s = { .at = wrong != NULL ? "passPhrase" : NULL, .wrong = wrong };

	s.p = (struct shown){ .r = r, .kind = "sign", .entry = "theme.js", .content = put_form, .has_form = true,
	    .is_link = true, .title = wrong != NULL ? arena_printf(r->mem, say(r, "Error: %s"),
	    say(r, "A pass phrase is needed")) : say(r, "A pass phrase is needed") };
	return page_send(&s.p, status);
}

/* With the hash that it was held against; NULL: it does not fit. */
struct attempt { const char *hash; };

static void *
try_pass_phrase(struct req *r)
{
	const struct link *l = find(r);
	const struct opening *in = form_is(r) ? form_read(r, &opening_record) : NULL;
	const char *hash = l != NULL ? l->pass_phrase_hash : NULL;
	struct attempt *t = NEW(r->mem, struct attempt);

	if (password_matches(r->mem, hash, in != NULL && in->pass_phrase != NULL ? in->pass_phrase : ""))
		t->hash = hash;
	return t;
}

static const char *
address(const struct req *r)
{
	return r->client != NULL ? r->client : "";
}

static const char *
tried(struct req *r, const struct link *l)
{
	return arena_printf(r->mem, "share %s", uuid_text(r->mem, l->id));
}

/* Each try counts before it is known to be in vain, so that many at once are no way round. */
static bool
may_try(struct req *r, const struct link *l)
{
	int64_t wait = tries_wait(address(r), tried(r, l), r->now.ms);

	if (wait == 0) {
		tries_failed(address(r), tried(r, l), r->now.ms);
		return true;
	}
	r->refused = true;
	r->retry_after = (int)wait;
	ask(r, 429, arena_printf(r->mem, say(r, "Too many tries. Wait %d seconds, then try again."), (int)wait));
	return false;
}

static int
go_on(struct req *r)
{
	struct shown p = { .r = r };

	r->location = page_link(&p, path_of(r));
	return reply_raw(r, 303, "text/plain", "", 0);
}

static int
share_open(struct req *r)
{
	const struct link *l = find(r);
	const struct attempt *t = r->made;
	int64_t until = r->now.ms / 1000 + REMEMBERED_S;

	if (l == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	if (l->pass_phrase_hash == NULL)
		return go_on(r);
	if (t == NULL)
		return may_try(r, l) ? aside(r, try_pass_phrase) : r->status;
	if (t->hash == NULL || strcmp(t->hash, l->pass_phrase_hash) != 0)
		return ask(r, 403, N_("This is not the pass phrase."));
	tries_succeeded(address(r), tried(r, l), r->now.ms);
	buf_printf(&r->headers, "Set-Cookie: %s=%s; Path=%s; Max-Age=%d; HttpOnly; SameSite=Lax%s\r\n", cookie_name(r),
	    proof(r, l, until), path_of(r), REMEMBERED_S, r->https ? "; Secure" : "");
	return go_on(r);
}

/* ---- the asset ---- */

/* What a preview of the link may say; behind a pass phrase nothing. */
static int
share_show(struct req *r)
{
	const struct link *l = find(r);
	struct player *asset;
	struct shown p = { .r = r, .kind = "watch", .is_link = true };

	if (l != NULL && !has_shown(r, l))
		return ask(r, 200, NULL);
	asset = l != NULL ? player_of(r, l->media_id) : NULL;
	if (asset == NULL)
		return refuse(r, ERR_NOT_FOUND, NULL);
	asset->chapters = (struct list){ NULL, 0 };	/* what people wrote about it is not shared with it */
	page_asset(&p, asset);
	p.look = theme_of_media(r, asset->id, (struct uuid){ { 0 } }, true);
	if (l->pass_phrase_hash != NULL)
		p.head = NULL;
	return page_send(&p, 200);
}

const struct route share_page_routes[] = {
	{
		GET, "/s/{secret}", SCOPE_PUBLIC, share_show, NULL, NULL, "Show what is shared by a link",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | PAGE, .fails = "404", .produces = "text/html",
	},
	{
		POST, "/s/{secret}", SCOPE_PUBLIC, share_open, NULL, NULL, "Open a shared link by its pass phrase",
		.flags = AT_ROOT | NO_ENVELOPE | NO_OBJECT | PAGE | RAW_BODY | READS_ONLY, .fails = "400 403 404 429",
		.produces = "text/html", .consumes = "application/x-www-form-urlencoded", .max_body = 16384,
	},
	{ 0 }
};
