/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms and HTTP Basic at the token endpoint.  The file under test is included: what it reads is nobody else's affair.
 * What was taken is UTF-8, and encoded again it is taken as the same. */
#include <stdlib.h>

#include "fcgi/realms.c"
#include "tests/fuzz/fuzz.h"

static const char *
standard_base64(struct arena *mem, const char *text)
{
	char *out = base64url_encode(mem, text, strlen(text)), *p;

	for (p = out; *p != '\0'; p++)
		*p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
	return arena_printf(mem, "%s%.*s", out, (int)(-strlen(out) & 3), "==");
}

static void
same(const char *a, const char *b)
{
	if ((a == NULL) != (b == NULL) || (a != NULL && (strcmp(a, b) != 0 || !utf8_valid(a, strlen(a)))))
		abort();
}

static void
pair(struct buf *b, const char *name, const char *value)
{
	if (value != NULL)
		buf_printf(b, "&%s=%s", name, percent_encode(b->mem, value));
}

static void
form_again(struct arena *mem, const struct form *form)
{
	struct form again = { NULL, NULL, NULL, NULL };
	struct buf b = BUF(mem);

	pair(&b, "grant_type", form->grant_type);
	pair(&b, "client_id", form->client_id);
	pair(&b, "client_secret", form->client_secret);
	pair(&b, "scope", form->scope);
	if (!form_parse(mem, buf_string(&b), b.len, &again))
		abort();
	same(form->grant_type, again.grant_type);
	same(form->client_id, again.client_id);
	same(form->client_secret, again.client_secret);
	same(form->scope, again.scope);
}

static void
basic_again(struct arena *mem, const struct form *form)
{
	const char *text = arena_printf(mem, "%s:%s", percent_encode(mem, form->client_id),
	    percent_encode(mem, form->client_secret));
	struct form again = { NULL, NULL, NULL, NULL };

	if (!basic_parse(mem, arena_printf(mem, "basic %s", standard_base64(mem, text)), &again))
		abort();
	same(form->client_id, again.client_id);
	same(form->client_secret, again.client_secret);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct form form = { NULL, NULL, NULL, NULL }, basic = form, plain = form;
	const char *text;

	if (mem == NULL)
		mem = arena_new((size_t)64 << 20);
	text = arena_copy_n(mem, data, n);
	if (form_parse(mem, (const char *)data, n, &form))
		form_again(mem, &form);
	if (basic_parse(mem, text, &basic))
		basic_again(mem, &basic);
	if (basic_parse(mem, arena_printf(mem, "Basic %s", standard_base64(mem, text)), &plain))
		basic_again(mem, &plain);
	if (is_form(text) && strncasecmp(text, "application/x-www-form-urlencoded", 33) != 0)
		abort();
	arena_reset(mem);
	return 0;
}
