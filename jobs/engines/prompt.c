/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A question to a language model, within what its tenant may have. */
#include <string.h>
#include <strings.h>

#include "jobs/engines/prompt.h"

/* What a picture costs, more or less; a server that counts tells better. */
enum { PICTURE_TOKENS = 1000 };

int64_t
prompt_size(const struct prompt *p)
{
	return (int64_t)(strlen(p->rules) + strlen(p->text)) / 4 + (int64_t)p->n_pictures * PICTURE_TOKENS;
}

bool
prompt_ask(struct job *j, struct prompt *p)
{
	const enum engine_family family = p->n_pictures > 0 ? ENGINE_vision : ENGINE_complete;
	const struct engine *e = engine_chosen(j->conf, family);
	struct allowance_use use = { .family = family, .reserved = prompt_size(p) + p->most };
	enum outcome outcome;

	p->fault = (struct fault){ .reason = REASON_NONE };
	p->job = j;
	if (e == NULL)
		return false;
	if (!engine_may_cost(j, &use, &p->fault))
		return false;
	outcome = family == ENGINE_vision ? e->run.vision(p) : e->run.complete(p);
	use.tokens = p->tokens;
	use.requests = p->requests;
	/* One that refuses, or answers nonsense, is there: it costs no time. */
	use.failed = outcome != DONE && p->fault.reason == REASON_ENGINE_UNAVAILABLE;
	engine_cost(j, &use);
	return outcome == DONE;
}

void
prompt_say(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_char(b, (unsigned char)*text < ' ' || *text == '<' || *text == '>' ? ' ' : *text);
}

size_t
prompt_room(const struct conf *conf)
{
	return (size_t)conf->engine[ENGINE_complete].window * 4 * 2 / 3;
}

bool
prompt_say_all(struct buf *b, const char *const *texts, size_t n, size_t most)
{
	size_t all = 0, said = 0, step, i;

	for (i = 0; i < n; i++)
		all += strlen(texts[i]) + 1;
	step = (all + most - 1) / most;
	for (i = 0; i < n && (said += strlen(texts[i]) + 1) <= most; i += step) {
		prompt_say(b, texts[i]);
		buf_char(b, '\n');
	}
	return all <= most;
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
