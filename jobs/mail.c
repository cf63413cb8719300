/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends an invitation to the address of its user.  One that is used, void or over by now is not sent.  Safe to run
 * twice: a letter that is sent once more has the same Message-ID, by which mailboxes know it again, and the same link.
 */
#include "core/buf.h"
#include "core/catalogue.h"
#include "core/mail.h"
#include "core/seal.h"
#include "core/user.h"
#include "core/web.h"
#include "jobs/run.h"

static void
alive(void *user)
{
	job_progress(user, 50);
}

/* Paragraphs of a letter, and the language they are said in. */
struct letter { const struct catalogue *texts; const char *tenant, *login, *url, *end; };

static void
put_invitation(struct buf *b, const struct letter *l)
{
	buf_printf(b, catalogue_text(l->texts, "%s has an account for you: %s"), l->tenant, l->login);
	buf_text(b, "\n\n");
	buf_printf(b, catalogue_text(l->texts, "Set your password here. The link works once, until %s UTC:"), l->end);
	buf_printf(b, "\n\n%s\n\n%s\n", l->url,
	    catalogue_text(l->texts, "If you expected no invitation, ignore this letter."));
}

/* In all languages, one below the other, since nothing is known of the reader's; the first is that of the sources. */
static void
put_all(struct arena *mem, const struct conf *conf, struct mail *m, struct letter *l)
{
	static const char *const tags[] = {
#define LANGUAGE_TAG(tag, name) #tag,
		LANGUAGES(LANGUAGE_TAG)
#undef LANGUAGE_TAG
	};
	struct buf subject = BUF(mem), body = BUF(mem);
	size_t i;

	buf_printf(&subject, "%s:", l->tenant);
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		l->texts = catalogue_of(conf, tags[i]);
		if (i > 0 && l->texts == NULL)
			continue;
		buf_printf(&subject, "%s %s", i > 0 ? " \xe2\x80\x93" : "", catalogue_text(l->texts, "Invitation"));
		buf_text(&body, i > 0 ? "\n-- \n\n" : "");
		put_invitation(&body, l);
	}
	m->subject = buf_string(&subject);
	m->body = buf_string(&body);
}

static const char *
letter_for(struct job *j, const struct user *u, const char *tenant, const char *token)
{
	struct mail m = { .id = j->id, .date = moment_now(), .from_name = tenant, .from = j->conf->smtp_from,
	    .to_name = u->name, .to = u->email };
	struct letter l = { .tenant = tenant, .login = u->login,
	    .url = invitation_url(j->mem, j->conf->public_url, u->shortcode, token) };
	char end[MOMENT_TEXT];

	moment_format(invitation_end(j->db, token), end);
	l.end = arena_printf(j->mem, "%.10s %.5s", end, end + 11);
	put_all(j->mem, j->conf, &m, &l);
	return mail_text(j->mem, &m);
}

/* Neither the link nor what the server says of the address goes into the log. */
static enum outcome
send_letter(struct job *j, const char *to, const char *text, const char *token)
{
	const struct conf *conf = j->conf;
	const struct web_letter letter = { .url = conf->smtp_url, .plain = conf->smtp_plain, .user = conf->smtp_user,
	    .password = conf->smtp_password, .from = conf->smtp_from, .to = to, .text = text,
	    .alive = alive, .job = j };
	struct web_answer a;
	bool sent = web_mail(j->mem, &letter, &a);

	if (!job_resume(j))
		return RETRY;
	if (sent) {
		invitation_mailed(j->db, token);
		return DONE;
	}
	if (a.end != WEB_ANSWERED)
		return job_retry(j, REASON_MAIL_UNAVAILABLE, "%s", web_sentence(a.end));
	/* A wrong password (530 to 538) is mended in the settings, and says nothing of the letter. */
	if (a.status >= 500 && a.status / 10 != 53)
		return job_give_up(j, REASON_MAIL_REFUSED, "The mail server refused it with code %d.", a.status);
	return job_retry(j, REASON_MAIL_UNAVAILABLE, "The mail server answered with code %d.", a.status);
}

enum outcome
mail_run(struct job *j)
{
	const struct mail_args *in = j->in;
	const char *tenant, *shortcode, *text, *token;
	unsigned char *bytes;
	const struct user *u;
	long n = unseal(j->conf, j->mem, MAIL_PURPOSE, in->sealed, &bytes);

	if (n < 0)
		return job_give_up(j, REASON_INTERNAL, "The key that the invitation was sealed with is gone.");
	if (j->conf->smtp_url == NULL)
		return job_retry(j, REASON_MAIL_UNAVAILABLE, "This machine has no mail server in its settings.");
	token = arena_copy_n(j->mem, (const char *)bytes, (size_t)n);
	tenant = db_text(j->db, "SELECT name FROM tenants WHERE id = ?", ARGS(ID(j->tenant_id)));
	shortcode = db_text(j->db, "SELECT shortcode FROM tenants WHERE id = ?", ARGS(ID(j->tenant_id)));
	u = tenant == NULL || shortcode == NULL ? NULL : invitation_find(j->db, shortcode, token);
	if (u == NULL || u->email == NULL || !mail_is_address(u->email)) {
		job_log(j, "the invitation is not valid any more, or its user has no address");
		return DONE;
	}
	text = letter_for(j, u, tenant, token);
	job_pause(j);
	return send_letter(j, u->email, text, token);
}
