/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is looked for in words, and its vector by the server of engine.embed.  Who answers a request asks no server: it
 * leaves the question here for the job `question`, and finds the vector here.  The text is kept no longer than that.
 */
#ifndef CORE_QUESTION_H
#define CORE_QUESTION_H

#include "core/db.h"
#include "core/meaning.h"

/* Of a tenant; days that they are kept; how many may be waited for at a time, so that most workers never wait. */
enum { QUESTIONS_MAX = 2000, QUESTION_DAYS = 30, QUESTION_WAITERS = 4 };

/* n is 0: it is not there. */
struct meaning question_meaning(struct db *, struct arena *, struct uuid tenant_id, const char *engine,
    const char *text);
/* Has it asked for, in the caller's transaction.  True: it may be worth a short wait. */
bool question_ask(struct db *, struct uuid tenant_id, const char *engine, const char *text);

#endif
