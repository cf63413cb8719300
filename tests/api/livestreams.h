/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Livestreams for tests of the interface, in any of their states, as clients, nodes and the runner bring them there. */
#ifndef TESTS_API_LIVESTREAMS_H
#define TESTS_API_LIVESTREAMS_H

#include <string.h>

#include "core/livestream.h"
#include "tests/world.h"

#define NODE "ingest-1:42"
#define OTHER "ingest-2:43"

static inline struct uuid
id_of(struct world *w, struct req *r, const char *path)
{
	struct uuid id;

	assert_non_null(text(w, r, path));
	assert_true(uuid_parse(text(w, r, path), &id));
	return id;
}

static inline struct req *
created(struct world *w, const char *body)
{
	struct req *r = call(w, "POST", "/v2/livestreams", body);

	if (r->status != 201)
		print_message("%s\n", buf_string(&r->out));
	assert_int_equal(r->status, 201);
	return r;
}

static inline struct uuid
made(struct world *w)
{
	return id_of(w, created(w, "{\"name\":\"Council\"}"), "data.id");
}

static inline const char *
path(struct world *w, struct uuid id, const char *rest)
{
	return arena_printf(w->mem, "/v2/livestreams/%s%s", uuid_text(w->mem, id), rest);
}

static inline int
put(struct world *w, struct uuid id, const char *action)
{
	return call(w, "PUT", path(w, id, action), NULL)->status;
}

static inline const char *
status(struct world *w, struct uuid id)
{
	return text(w, call(w, "GET", path(w, id, ""), NULL), "data.status");
}

static inline const char *
member(struct world *w, struct uuid id, const char *name)
{
	return text(w, call(w, "GET", path(w, id, ""), NULL), arena_printf(w->mem, "data.%s", name));
}

/* Of one that is started. */
static inline struct uuid
started(struct world *w)
{
	struct uuid id = made(w);

	assert_int_equal(put(w, id, "/start"), 200);
	assert_true(livestream_ready(w->db, id));
	return id;
}

/* Of one that viewers see. */
static inline struct uuid
live(struct world *w)
{
	struct uuid id = started(w);

	assert_int_equal(put(w, id, "/publish"), 200);
	assert_int_equal(livestream_claim(w->db, id, NODE), 1);
	assert_true(livestream_signal(w->db, id, NODE, true));
	assert_string_equal(status(w, id), "live");
	return id;
}

static inline void
later(struct world *w, const char *column, struct uuid id, int64_t ms)
{
	struct arg args[] = { INT(ms), ID(id), { .kind = ARG_END } };

	if (strcmp(column, "beat_at") == 0)
		db_run(w->db, "UPDATE livestreams t JOIN livestream_inputs i ON i.livestream_id = t.id SET i.beat_at = "
		    "t.beat_at - ?, t.beat_at = t.beat_at - ? WHERE t.id = ?", ARGS(INT(ms), INT(ms), ID(id)));
	else if (strcmp(column, "live_at") == 0)
		db_run(w->db, "UPDATE livestreams SET live_at = live_at - ? WHERE id = ?", args);
	else if (strcmp(column, "starts_at") == 0)
		db_run(w->db, "UPDATE livestreams SET starts_at = starts_at - ? WHERE id = ?", args);
	else
		db_run(w->db, "UPDATE livestreams SET started_at = started_at - ?, interrupted_at = 0 WHERE id = ?",
		    args);
}

/* As the runner does. */
static inline void
tend_as(struct world *w, bool judges)
{
	int i;

	for (i = 0; i < 20 && livestream_tend(w->db, judges); i++)
		;
	assert_true(i < 20);
}

static inline void
tend(struct world *w)
{
	tend_as(w, true);
}

static inline int64_t
told(struct world *w, struct uuid id, const char *what)
{
	return number(w, "FROM events WHERE type = 'livestream.updated' AND JSON_VALUE(data, '$.livestreamId') = ? AND "
	    "JSON_VALUE(data, '$.status') = ?", ARGS(STR(uuid_text(w->mem, id)), STR(what)));
}

static inline struct uuid
media_of(struct world *w, struct uuid id)
{
	return id_of(w, call(w, "GET", path(w, id, ""), NULL), "data.mediaId");
}

static inline int64_t
jobs(struct world *w, struct uuid id)
{
	return number(w, "FROM jobs WHERE kind = 'livestream' AND JSON_VALUE(args, '$.livestreamId') = ?",
	    ARGS(STR(uuid_text(w->mem, id))));
}

static inline const char *
in_time(struct world *w, int64_t ms)
{
	char at[MOMENT_TEXT];

	return arena_copy(w->mem, moment_format((struct moment){ moment_now().ms + ms }, at));
}

#endif
