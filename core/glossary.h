/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words that a tenant wants its engines to expect: names, technical terms. */
#ifndef CORE_GLOSSARY_H
#define CORE_GLOSSARY_H

#include "core/db.h"
#include "core/record.h"

/* Terms; characters of each. */
enum { GLOSSARY_MAX = 10000, GLOSSARY_TERM_MAX = 100 };

/*
 * The terms of a text, one a line: without blanks around them, without empty lines, each once.  False: `fault` says
 * what is wrong, with the number of the line.
 */
bool glossary_parse(struct arena *, const char *text, size_t n, struct strings *terms, const char **fault);

/* In their order; none: there is no glossary. */
struct strings glossary_read(struct db *, struct uuid tenant_id);
/* Replaces it; no terms: deletes it. */
void glossary_write(struct db *, struct uuid tenant_id, const struct strings *terms);

#endif
