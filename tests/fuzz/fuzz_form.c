/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms and HTTP Basic at the token endpoint.  The file under test is included: what it reads is nobody else's affair.
 * What was taken is UTF-8, and encoded again it is taken as the same. */
#include <stdlib.h>

#include "fcgi/tokens.c"
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

static struct form *
read_form(struct arena *mem, const void *body, size_t n)
{
	struct req r = { .mem = mem, .body = body, .body_size = n };

	return form_read(&r, &form_record);
}

static const char **
field_at(struct form *form, size_t i)
{
	return (const char **)(void *)((char *)form + form_fields[i].offset);
}

static void
form_again(struct arena *mem, struct form *form)
{
	struct buf b = BUF(mem);
	struct form *again;
	size_t i;

	for (i = 0; i < form_record.n; i++)
		if (*field_at(form, i) != NULL)
			buf_printf(&b, "&%s=%s", record_json_name(&form_record, &form_fields[i]),
			    percent_encode(mem, *field_at(form, i)));
	again = read_form(mem, buf_string(&b), b.len);
	if (again == NULL)
		abort();
	for (i = 0; i < form_record.n; i++)
		same(*field_at(form, i), *field_at(again, i));
}

static void
basic_again(struct arena *mem, const struct credentials *by)
{
	const char *text = arena_printf(mem, "%s:%s", percent_encode(mem, by->client_id),
	    percent_encode(mem, by->client_secret));
	struct credentials again = { NULL, NULL };

	if (!basic_parse(mem, arena_printf(mem, "basic %s", standard_base64(mem, text)), &again))
		abort();
	same(by->client_id, again.client_id);
	same(by->client_secret, again.client_secret);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct arena *mem;
	struct credentials basic = { NULL, NULL }, plain = basic;
	struct form *form;
	struct req r = { .content_type = NULL };

	if (mem == NULL)
		mem = arena_new((size_t)64 << 20);
	form = read_form(mem, data, n);
	if (form != NULL)
		form_again(mem, form);
	r.content_type = arena_copy_n(mem, data, n);
	if (basic_parse(mem, r.content_type, &basic))
		basic_again(mem, &basic);
	if (basic_parse(mem, arena_printf(mem, "Basic %s", standard_base64(mem, r.content_type)), &plain))
		basic_again(mem, &plain);
	if (form_is(&r) && strncasecmp(r.content_type, "application/x-www-form-urlencoded", 33) != 0)
		abort();
	arena_reset(mem);
	return 0;
}
