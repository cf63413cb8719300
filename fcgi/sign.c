/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the pages for signing in do alike: their look, their forms, where they lead. */
#include <string.h>

#include "fcgi/form.h"
#include "fcgi/sign.h"

/* Nothing of a page for passwords comes from elsewhere or goes elsewhere, and nobody shows it in a page of his.  It
 * fetches the catalogue of its language. */
#define HEADERS "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
	"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\nReferrer-Policy: same-origin\r\n" \
	"Permissions-Policy: camera=(), microphone=(), geolocation=(), payment=()\r\n"

enum { TARGET_MAX = 8000 };

static const struct field sent_fields[] = {
	FIELD(struct sent, csrf, .doc = "Of the page"),
	FIELD(struct sent, action, .doc = "Which of its forms"),
	FIELD(struct sent, login, .doc = "Name"),
	FIELD(struct sent, password, .doc = "As it is"),
	FIELD(struct sent, code, .doc = "Of the second factor"),
	FIELD(struct sent, fresh, .doc = "As it shall be"),
	FIELD(struct sent, again, .doc = "The same once more"),
	FIELD(struct sent, session, .doc = "Id"),
};
static const struct record sent_record = RECORD("Sent", struct sent, sent_fields);

static const struct field sign_query_fields[] = {
	FIELD(struct sign_query, back, .on = QUERY, .json = "return", .max = TARGET_MAX, .doc = "Where to go on to"),
	FIELD(struct sign_query, done, .on = QUERY, .doc = "What has just been done"),
};
const struct record sign_query_record = RECORD("SignQuery", struct sign_query, sign_query_fields);

/* The path itself, or the path and a query. */
static bool
leads_to(const char *target, const char *path)
{
	size_t n = strlen(path);

	return strncmp(target, path, n) == 0 && (target[n] == '\0' || target[n] == '?');
}

/* Browsers read a backslash as a slash and leave out controls, so an address with one is none; what stands behind the
 * question mark is the endpoint's own to judge. */
static bool
is_target(struct req *r, const char *target)
{
	const char *p;

	for (p = target; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == '\\' || *p == '#')
			return false;
	return leads_to(target, sign_path(r, "/protocol/openid-connect/auth")) ||
	    leads_to(target, sign_path(r, "/account"));
}

/* "&return=…", or nothing where that leads elsewhere. */
static const char *
sign_return(struct req *r)
{
	const struct sign_query *q = r->query;

	return q->back != NULL && is_target(r, q->back) ? arena_printf(r->mem, "&return=%s",
	    percent_encode(r->mem, q->back)) : "";
}

/* The language that was chosen stays on the pages of the realm; the protocol has no such parameter. */
static const char *
in_language(struct req *r, const char *path)
{
	struct shown p = { .r = r };

	return *path == '/' && strstr(path, "/protocol/") == NULL ? page_link(&p, path) : path;
}

const struct sent *
sign_sent(struct req *r)
{
	const struct sent *s = form_is(r) ? form_read(r, &sent_record) : NULL;

	if (session_realm(r) == NULL) {
		refuse(r, ERR_NOT_FOUND, NULL);
		return NULL;
	}
	if (s != NULL && form_is_ours(r, s->csrf))
		return s;
	r->refused = true;
	sign_say(r, s != NULL ? 403 : 400, N_("This form has expired"),
	    N_("Open the page anew and try again. Your browser must take cookies of this site."));
	return NULL;
}

void
sign_wrong(struct sign *s)
{
	struct html *h = &s->p.h;

	if (s->wrong == NULL)
		return;
	html_el(h, "div");
	html_attr(h, "class", "wrong");
	html_attr(h, "role", "alert");
	html_el(h, "p");
	if (s->at != NULL) {
		html_el(h, "a");
		html_url(h, "href", arena_printf(s->p.r->mem, "#%s", s->at));
	}
	html_text(h, say(s->p.r, s->wrong));
	if (s->at != NULL)
		html_end(h);
	html_end(h);
	html_end(h);
}

void
sign_open(struct sign *s, struct req *r, const char *title)
{
	const char *realm = session_realm(r);
	struct html *h = &s->p.h;

	s->p.r = r;
	s->p.kind = "sign";
	s->p.query = r->query != NULL ? sign_return(r) : NULL;
	s->p.look.page = realm != NULL ? theme_of_realm(r, realm) : NULL;
	s->p.entry = "theme.js";
	s->p.title = s->wrong != NULL ? arena_printf(r->mem, say(r, "Error: %s"), say(r, title)) :
	    say(r, title);
	s->token = form_token(r);
	*h = html_new(r->mem);
	html_el(h, "html");
	html_attr(h, "lang", say_language(r));
	html_attr(h, "data-page", s->p.kind);
	page_head(&s->p);
	html_el(h, "body");
	page_top(&s->p);
	html_el(h, "main");
	html_attr(h, "class", "sign");
	html_text_el(h, "h1", NULL, say(r, title));
	sign_wrong(s);
}

void
sign_hidden(struct sign *s, const char *name, const char *value)
{
	html_leaf(&s->p.h, "input");
	html_attr(&s->p.h, "type", "hidden");
	html_attr(&s->p.h, "name", name);
	html_attr(&s->p.h, "value", value);
}

void
sign_form(struct sign *s, const char *path)
{
	html_el(&s->p.h, "form");
	html_attr(&s->p.h, "method", "post");
	html_url(&s->p.h, "action", in_language(s->p.r, path));
	sign_hidden(s, "csrf", s->token);
}

void
sign_input(struct sign *s, const struct input *in)
{
	struct html *h = &s->p.h;
	const char *id = in->id != NULL ? in->id : in->name;
	const char *hint = in->hint != NULL ? arena_printf(s->p.r->mem, "%s-hint", id) : NULL;

	html_el(h, "p");
	html_el(h, "label");
	html_attr(h, "for", id);
	html_text(h, say(s->p.r, in->label));
	html_end(h);
	html_leaf(h, "input");
	html_attr(h, "id", id);
	html_attr(h, "name", in->name);
	html_attr(h, "type", in->type);
	html_attr(h, "autocomplete", in->autocomplete);
	html_attr(h, "autocapitalize", "none");
	html_attr(h, "spellcheck", "false");
	html_flag(h, "required");
	if (strcmp(in->autocomplete, "one-time-code") == 0)
		html_attr(h, "inputmode", "numeric");
	if (in->value != NULL)
		html_attr(h, "value", in->value);
	if (hint != NULL)
		html_attr(h, "aria-describedby", hint);
	if (s->at != NULL && strcmp(s->at, id) == 0)
		html_attr(h, "aria-invalid", "true");
	if (hint != NULL) {
		html_el(h, "span");
		html_attr(h, "id", hint);
		html_attr(h, "class", "hint");
		html_text(h, say(s->p.r, in->hint));
		html_end(h);
	}
	html_end(h);
}

void
sign_close(struct sign *s, const char *button)
{
	html_el(&s->p.h, "button");
	html_attr(&s->p.h, "type", "submit");
	html_text(&s->p.h, say(s->p.r, button));
	html_end(&s->p.h);
	html_end(&s->p.h);
}

int
sign_send(struct sign *s, int status)
{
	struct req *r = s->p.r;
	struct buf out;

	html_end(&s->p.h);		/* main */
	page_scripts(&s->p);
	html_end(&s->p.h);
	html_end(&s->p.h);
	out = html_done(&s->p.h);
	r->cache_control = "no-store";
	buf_text(&r->headers, HEADERS SAY_VARY);
	return reply_raw(r, status, "text/html; charset=utf-8", out.text, out.len);
}

int
sign_say(struct req *r, int status, const char *title, const char *text)
{
	struct sign s = { .at = NULL };

	sign_open(&s, r, title);
	html_text_el(&s.p.h, "p", NULL, say(r, text));
	return sign_send(&s, status);
}

int
sign_go(struct req *r, const char *title, const char *path)
{
	struct sign s = { .at = NULL };

	path = in_language(r, path);
	buf_printf(&r->headers, "Refresh: 0;url=%s\r\n", path);
	sign_open(&s, r, title);
	html_el(&s.p.h, "p");
	html_el(&s.p.h, "a");
	html_url(&s.p.h, "href", path);
	html_text(&s.p.h, say(r, "Go on"));
	html_end(&s.p.h);
	html_end(&s.p.h);
	return sign_send(&s, 200);
}

int
sign_redirect(struct req *r, const char *path)
{
	r->location = in_language(r, path);
	r->cache_control = "no-store";
	return reply_raw(r, 303, "text/plain", "", 0);
}

const char *
sign_path(struct req *r, const char *rest)
{
	return arena_printf(r->mem, "/realms/%s%s", r->word[0], rest);
}

const char *
sign_target(struct req *r)
{
	const struct sign_query *q = r->query;

	return q != NULL && q->back != NULL && is_target(r, q->back) ? q->back : sign_path(r, "/account");
}

const char *
sign_with_target(struct req *r, const char *rest)
{
	return arena_printf(r->mem, "%s?return=%s", sign_path(r, rest), percent_encode(r->mem, sign_target(r)));
}
