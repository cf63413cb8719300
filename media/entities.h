/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who and what is named in a text: by the form of what is written (addresses, dates, amounts, titles and legal forms
 * of names), and by lists: names that the caller knows, countries, cities that time zones are called after.  Where a
 * text does not tell names from other words by capitals, names are taken from lists alone, and one word only where it
 * was clearly heard.
 */
#ifndef MEDIA_ENTITIES_H
#define MEDIA_ENTITIES_H

#include "media/prose.h"

#define ENTITY_CATEGORIES "person organisation place date amount email url term"
enum { ENTITIES_MAX = 500, ENTITY_INSTANCES = 200 };

/* A name that the caller knows: valid UTF-8. */
struct entity_name { const char *name, *category; };

struct entity {
	const char *name;		/* as it stands where it comes first */
	const char *category;		/* one of ENTITY_CATEGORIES */
	double confidence;		/* that it is there and is that: mean of its places */
	size_t count;
	const struct place *instances;	/* the first of them, in order */
	size_t n;
};

/* The most frequent first. */
struct entity *entities_find(const struct prose *, const struct entity_name *known, size_t n_known, size_t *n);
/* {"items":[…]} */
const char *entities_json(struct arena *, const struct entity *, size_t n);

#endif
