/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the table of routes: the next one of a kind, the path to what world_object() has made, a body that would do. */
#ifndef TESTS_WALK_H
#define TESTS_WALK_H

#include "fcgi/access.h"
#include "fcgi/operation.h"
#include "tests/world.h"

/* The path with every id filled in, and every other placeholder by the world's shortcode. */
const char *walk_filled(struct world *, const struct route *, const char *id);
/* The path with the ids of a made object. */
const char *walk_to(struct world *, const struct route *, const struct made *);

/* A new object that the route leads to, where it has one. */
struct made walk_object(struct world *, const struct route *);
/* The route with the ids of the object and the body of the table in world.c, or {}. */
struct req *walk_try(struct world *, const struct route *, const struct made *, const char *token);

/* NULL: there is none. */
const struct route *walk_route(enum method, const char *path);
/* How many ids it has. */
int walk_ids(const struct made *);

/* Fails the test, naming the route, unless the status is that one. */
void walk_expect(const struct route *, const struct req *, int status, const char *why);

#endif
