/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A question to a language model, within what its tenant may have. */
#include <string.h>
#include <strings.h>

#include "core/allowance.h"
#include "jobs/engines/prompt.h"

struct asked { struct allowance_use use; enum allowance may; };

static bool
may(struct job *j, void *at)
{
	struct asked *a = at;

	a->may = allowance_ask(j->db, j->conf, j->tenant_id, &a->use);
	return false;
}

static bool
note(struct job *j, void *at)
{
	const struct asked *a = at;

	allowance_note(j->db, j->tenant_id, &a->use);
	return false;
}

int64_t
prompt_size(const struct prompt *p)
{
	return (int64_t)(strlen(p->rules) + strlen(p->text)) / 4;
}

bool
prompt_ask(struct job *j, struct prompt *p)
{
	const struct engine *e = engine_chosen(j->conf, ENGINE_complete);
	struct asked a = { .use = { .family = ENGINE_complete, .reserved = prompt_size(p) + p->most } };
	enum outcome outcome;

	p->fault = (struct fault){ .reason = REASON_NONE };
	p->job = j;
	if (e == NULL)
		return false;
	job_batches(j, may, &a, sizeof(a));
	if (a.may != ALLOWED) {
		p->fault = (struct fault){ .reason = REASON_ENGINE_UNAVAILABLE, .detail = allowance_sentence(a.may) };
		return false;
	}
	outcome = e->run.complete(p);
	a.use.tokens = p->tokens;
	a.use.requests = p->requests;
	/* One that refuses, or answers nonsense, is there: it costs no time. */
	a.use.failed = outcome != DONE && p->fault.reason == REASON_ENGINE_UNAVAILABLE;
	job_batches(j, note, &a, sizeof(a));
	return outcome == DONE;
}

void
prompt_say(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_char(b, (unsigned char)*text < ' ' || *text == '<' || *text == '>' ? ' ' : *text);
}

const char *
prompt_harmless(struct arena *mem, const char *at)
{
	static const char *const pairs[] = { "//", "](", "][", "]:", "![", "~~", "``" };
	struct buf b = BUF(mem);
	size_t i;

	for (; *at != '\0'; at++) {
		if (*at == '<' || *at == '>')
			buf_text(&b, *at == '<' ? "‹" : "›");
		else
			buf_char(&b, (unsigned char)*at < ' ' && *at != '\n' ? ' ' : *at);
		for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
			if (strncmp(at, pairs[i], 2) == 0)
				buf_char(&b, ' ');
		if (strncasecmp(at, "www.", 4) == 0) {
			buf_printf(&b, "%.2s ", at + 1);
			at += 3;
		}
	}
	return buf_string(&b);
}
