/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One setting: a row of the table in core/conf.c, and how its value is read.  For core/conf.c alone. */
#ifndef CORE_SETTING_H
#define CORE_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/conf.h"

enum setting_type {
	AS_TEXT,	/* max is the length */
	AS_PATH,	/* absolute */
	AS_INT,
	AS_SIZE,	/* bytes, with K, M, G or T */
	AS_BOOL,	/* yes or no */
	AS_CHOICE,	/* one of .choices */
	AS_ORIGIN,	/* scheme://host[:port] */
	AS_URL,		/* the same with a path */
	AS_SMTP,	/* smtp:// or smtps://, host[:port] */
	AS_LIST,	/* items that .item takes; kept with commas and without blanks */
	AS_SECRET,	/* the name of a file whose first line is the value */
	AS_PLAY_KEY,	/* the same; absent is left to the caller, the name is kept too */
};

struct setting {
	const char *key;
	enum setting_type type;
	size_t offset;
	const char *otherwise;		/* NULL: nothing, and the member stays NULL */
	int64_t min, max;
	const char *choices;		/* of AS_CHOICE, blank-separated; else what the reference says about values */
	bool (*item)(const char *);	/* of AS_LIST */
	const char *doc;
};

struct reading {
	struct conf *conf;
	const char *name;		/* of the file */
	int line;			/* 0: not in a file */
	const char *variable;		/* of the environment, when that is where the value comes from */
	const char *fault;
};

/* Where values live: as long as the program. */
struct arena *setting_mem(void);

/* Reads a value into the member of in->conf.  False: in->fault says what is wrong, and where. */
bool setting_set(struct reading *, const struct setting *, const char *value);

/* Notes a fault, of a setting or, with NULL, of several.  Returns false. */
bool setting_fail(struct reading *, const struct setting *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A file that settings come from, for conf->files. */
void setting_note_file(struct conf *, const char *file);

/* Items of AS_LIST: a word such as a host or a language; a model, as servers call it; a host with a port or without; an
 * even height; an origin, or "*"; an address or a network. */
bool setting_any(const char *);
bool setting_model(const char *);
bool setting_server(const char *);
bool setting_rung(const char *);
bool setting_origin(const char *);
bool setting_network(const char *);

#endif
