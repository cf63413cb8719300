/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What files are called that people save: free text in any script that no system, shell or header takes amiss. */
#ifndef CORE_FILENAME_H
#define CORE_FILENAME_H

#include <stdbool.h>

#include "core/arena.h"

enum { FILENAME_BYTES = 255 };	/* of UTF-8, with its ending: more is taken by no system in use */

/*
 * One line without separators, controls, what turns the direction of a text, names of devices, and dots or blanks at
 * either end; of so many bytes at most, cut between what readers take for characters.  "file" where nothing of it can
 * be seen.  For valid UTF-8.
 */
const char *filename_safe(struct arena *, const char *text, size_t bytes);

/* The same for two names that are one somewhere: by case, or by how letters with marks are written. */
const char *filename_key(struct arena *, const char *name);

/* Of a-z, 0-9 and '-', for addresses and what reads nothing else: "buergerversammlung-2026".  "download" where nothing
 * of it is left. */
const char *filename_plain(struct arena *, const char *text);

/*
 * A package lies under "{folder}/{its name}/{its plain name}.zip", in which '_' and two hex digits stand for each byte
 * that is none of a-z, 0-9 and '-', and '/' for nothing: a long name is of several folders, since each has 255 bytes at
 * most.  So web servers, which know nothing but its address, can call it by its name: httpd-conf/ says the same as
 * filename_of_package(), with '%' for '_'.
 */
const char *filename_package(struct arena *, const char *folder, const char *title);
enum { FILENAME_FOLDERS = 4 };	/* at most */

/* Content-Disposition (RFC 6266) for what lies there; NULL: it is no package, and shown. */
const char *filename_of_package(struct arena *, const char *key);

/*
 * What follows the address of a file that is to be saved instead of shown: the name without an ending, which is that
 * of the file, in characters that need no escape and %XX for the rest.  Whoever has the address may choose it, so web
 * servers and the next function take it only if it holds no separator and no control character.
 */
#define FILENAME_ASKED "?download="
enum { FILENAME_ASKED_MAX = 765 };	/* as many as 255 bytes can be */
/* The query for a file under that title. */
const char *filename_ask(struct arena *, const char *title, const char *file);
/* Content-Disposition for what lies there and was asked for by that address: the package's own, or what the address
 * asks for. */
const char *filename_of_address(struct arena *, const char *key, const char *address);

#endif
