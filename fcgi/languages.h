/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A language as answers name it. */
#ifndef FCGI_LANGUAGES_H
#define FCGI_LANGUAGES_H

#include "fcgi/req.h"

struct language { const char *code, *name, *engine; bool is_translation; };
/* Of rows t of transcripts: without the name. */
extern const struct record language_record;

/* A page of them, with their names. */
int languages_reply(struct req *, struct language *, size_t n);

#endif
