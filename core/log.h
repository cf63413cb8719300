/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One logfmt line on standard error: time=2026-11-20T10:26:53.123Z level=info what=request route="GET /v2/media" ms=1
 * or, by the setting log.format, the same as an object of JSON.  Pairs are (key, kind, value); values are quoted where
 * that is needed, so that no value can forge a line.  Never a body, a token, a secret or a signed URL.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

struct log_pair { const char *key; const char *text; int64_t number; };

#define LOG_TEXT(key, text) { (key), (text), 0 }	/* NULL text leaves the pair out */
#define LOG_INT(key, n) { (key), "#", (n) }

/* Lines below this level are not written. */
void log_threshold(enum log_level);
/* The same by a name of the setting log_level: debug, info, warn, error. */
void log_threshold_named(const char *);

/* Lines as the setting log.format has them: text or json. */
void log_format_named(const char *);

/* Would a line of this level be written?  Asked where its values cost something. */
bool log_wanted(enum log_level);

/* log_line(LOG_LEVEL_INFO, "request", LOG_TEXT("route", x), LOG_INT("ms", 4)); */
void log_pairs(enum log_level, const char *what, const struct log_pair *pairs, int n);
#define log_line(level, what, ...) \
	log_pairs((level), (what), (const struct log_pair[]){ __VA_ARGS__ }, \
	    (int)(sizeof((const struct log_pair[]){ __VA_ARGS__ }) / sizeof(struct log_pair)))

/* A sentence: level=error what=db text="…" */
void log_text(enum log_level, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
