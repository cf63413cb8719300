/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an answer refers to, and the answer that quotes it. */
#include <stdlib.h>
#include <string.h>

#include "core/chat.h"

enum { QUOTED = 3 };

static const struct field place_fields[] = {
	FIELD(struct chat_place, start_time, .on = OMIT_NULL, .doc = "When it is said, in seconds"),
	FIELD(struct chat_place, end_time, .on = OMIT_NULL, .doc = "Until when"),
	FIELD(struct chat_place, page, .on = OMIT_NULL, .doc = "Of a document, from 1"),
};
static const struct record place_record = RECORD("ChatPlace", struct chat_place, place_fields);

static const struct field part_fields[] = {
	FIELD(struct chat_part, text, .required = true, .doc = "What is said there, as it is"),
	FIELD(struct chat_part, metadata, .required = true, .of = &place_record, .doc = "Where"),
	FIELD(struct chat_part, ref, .required = true, .doc = "Its number: the answer has it in brackets, [1]"),
};
static const struct record part_record = RECORD("ChatPart", struct chat_part, part_fields);

static const struct field presentation_fields[] = {
	FIELD(struct chat_presentation, name, .required = true, .doc = "What the asset was called when it was asked"),
	FIELD(struct chat_presentation, type, .required = true, .doc = "Its type"),
};
static const struct record presentation_record = RECORD("ChatPresentation", struct chat_presentation,
    presentation_fields);

static const struct field context_fields[] = {
	FIELD(struct chat_context, media_id, .required = true, .doc = "The asset"),
	FIELD(struct chat_context, parts, .required = true, .of = &part_record, .doc = "What it says about that"),
	FIELD(struct chat_context, presentation, .required = true, .of = &presentation_record, .doc = "How to show it"),
};
const struct record chat_context_record = RECORD("ChatContext", struct chat_context, context_fields);

static const struct chat_part *
part_of(const struct list *context, int ref)
{
	const struct chat_context *c = context->rows;
	size_t i, k;

	for (i = 0; i < context->n; i++)
		for (k = 0; k < c[i].parts.n; k++)
			if (atoi(((const struct chat_part *)c[i].parts.rows)[k].ref) == ref)
				return &((const struct chat_part *)c[i].parts.rows)[k];
	return NULL;
}

const char *
chat_quoted(struct arena *mem, const struct list *context)
{
	const struct chat_part *p;
	struct buf b = BUF(mem);
	int ref;

	for (ref = 1; ref <= QUOTED && (p = part_of(context, ref)) != NULL; ref++)
		buf_printf(&b, "%s\"%s\" [%d]", ref > 1 ? "\n\n" : "", p->text, ref);
	return buf_string(&b);
}

const char *
chat_context_json(struct arena *mem, const struct list *context)
{
	const char *rows = context->rows;
	struct buf b = BUF(mem);
	size_t i;

	buf_char(&b, '[');
	for (i = 0; i < context->n; i++) {
		buf_text(&b, i > 0 ? "," : "");
		record_store(&b, &chat_context_record, rows + i * chat_context_record.size);
	}
	buf_char(&b, ']');
	return buf_string(&b);
}
