/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine that says what texts mean. */
#include "core/embedding.h"

const char *
embedding_name(struct arena *mem, const struct conf *conf)
{
	(void)conf;	/* which has no other one to choose */
	return meaning_glosses_name(mem);
}

struct meaning
embedding_of(struct arena *mem, const struct conf *conf, const char *text)
{
	(void)conf;
	return meaning_by_glosses(mem, text);
}
