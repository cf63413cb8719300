/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two shapes of a refusal. */
#include <string.h>

#include "core/failure.h"

static void
put_faults(struct buf *out, const struct faults *faults)
{
	int i, n = faults->n < 32 ? faults->n : 32;

	buf_text(out, "\"errors\":[");
	for (i = 0; i < n; i++) {
		buf_text(out, i > 0 ? ",{\"pointer\":" : "{\"pointer\":");
		buf_json(out, faults->at[i].pointer);
		buf_text(out, ",\"code\":");
		buf_json(out, faults->at[i].code);
		buf_text(out, ",\"detail\":");
		buf_json(out, faults->at[i].detail);
		buf_char(out, '}');
	}
	buf_char(out, ']');
}

static bool
wants_problem(const char *accept)
{
	const char *problem = accept != NULL ? strstr(accept, "application/problem+json") : NULL;
	const char *json = accept != NULL ? strstr(accept, "application/json") : NULL;

	return problem != NULL && (json == NULL || problem < json);
}

const char *
failure_render(struct buf *out, enum error error, const char *message, const struct faults *faults,
    const char *request_id, const char *accept)
{
	const struct error_info *e = error_info(error);
	bool problem = wants_problem(accept);

	if (problem) {
		buf_text(out, "{\"type\":\"about:blank\",\"title\":");
		buf_json(out, e->text);
		buf_printf(out, ",\"status\":%d,\"detail\":", e->status);
	} else {
		buf_printf(out, "{\"status\":\"%s\",\"message\":", e->status >= 500 ? "error" : "fail");
	}
	buf_json(out, message);
	buf_printf(out, ",\"data\":{\"code\":\"%s\",", e->code);
	put_faults(out, faults);
	buf_printf(out, ",\"requestId\":\"%s\"}}", request_id);
	return problem ? "application/problem+json" : "application/json";
}
