/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stem that forms of an English word have in common: M. Porter, An algorithm for suffix stripping, 1980. */
#ifndef CORE_STEM_H
#define CORE_STEM_H

/* Of a word of a to z, in place; others are left as they are. */
void stem_english(char *word);

#endif
