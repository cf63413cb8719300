/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waits for a database that is away, and for how long. */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/machine.h"
#include "fcgi/live/desk.h"
#include "tests/world.h"

enum { WAIT_MS = 180 * 1000 };

/* A desk whose database is away, until come_back(). */
struct office { struct world *w; struct conf conf; struct desk *desk; struct desk_stream stream; };

static struct office *
office(struct world *w)
{
	struct office *o = arena_alloc(w->mem, sizeof(*o));
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");

	*o = (struct office){ .w = w, .conf = *w->conf };
	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &o->stream.id));
	assert_true(uuid_parse(text(w, r, "data.mediaId"), &o->stream.media_id));
	o->conf.db_socket = arena_printf(w->mem, "%s/%s", w->conf->data_dir, uuid_text(w->mem, uuid_new()));
	o->desk = desk_open(&o->conf, NULL);
	return o;
}

static void
come_back(struct office *o)
{
	assert_int_equal(symlink(o->w->conf->db_socket, o->conf.db_socket), 0);
}

static void
close_office(struct office *o)
{
	desk_close(o->desk);
	unlink(o->conf.db_socket);
}

/* The next answer of that word, about that visitor; *before: how many others came. */
static struct desk_note
answer(struct office *o, enum desk_word word, uint64_t visitor, int *before)
{
	struct pollfd p = { desk_fd(o->desk), POLLIN, 0 };
	struct desk_note *n, found;

	for (*before = 0;; ++*before) {
		while ((n = desk_take(o->desk)) == NULL)
			assert_int_equal(poll(&p, 1, WAIT_MS), 1);
		found = *n;
		free(n);
		if (found.word == word && found.visitor == visitor)
			return found;
	}
}

static void
behind_what_is_late_numbers_do_not_pile_up(void **state)
{
	struct world *w = *state;
	struct office *o = office(w);
	struct desk_note late = { .word = DESK_REFUSED, .stream = o->stream, .address = "10.0.0.1", .reason = "busy" };
	struct desk_note passing = { .word = DESK_NUMBERS, .stream = o->stream, .numbers.incoming.width = 720,
		.video_codec = "avc1.42c01f" };
	int i;

	desk_put(o->desk, &late);
	for (i = 0; i < 1000; i++)
		desk_put(o->desk, &passing);
	desk_put(o->desk, &(struct desk_note){ .word = DESK_WHOSE, .visitor = 1, .key = "nonsense" });
	/* It has served all of them. */
	assert_string_equal(answer(o, DESK_NONE, 1, &i).reason, "unavailable");
	come_back(o);
	answer(o, DESK_ROUND, 0, &i);
	assert_int_equal(number(w, "FROM livestreams WHERE id = ? AND refused_reason = 'busy'",
	    ARGS(ID(o->stream.id))), 1);
	assert_int_equal(number(w, "FROM livestream_nodes WHERE livestream_id = ?", ARGS(ID(o->stream.id))), 0);
	/* The next ones are told. */
	desk_put(o->desk, &passing);
	desk_put(o->desk, &(struct desk_note){ .word = DESK_WHOSE, .visitor = 2, .key = "nonsense" });
	assert_string_equal(answer(o, DESK_NONE, 2, &i).reason, "unknown");
	assert_int_equal(number(w, "FROM livestream_nodes WHERE livestream_id = ? AND video_codec = 'avc1.42c01f' AND "
	    "width = 720 AND audio_codec IS NULL", ARGS(ID(o->stream.id))), 1);
	close_office(o);
}

/* Whose handshakes are refused need no key to be many. */
static void
who_has_a_key_does_not_wait_for_those_without(void **state)
{
	struct world *w = *state;
	struct office *o = office(w);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), i, kept = 0, before;

	/* A database that says nothing, for as long as all of them come. */
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", o->conf.db_socket);
	assert_int_equal(bind(silent, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(silent, 64), 0);
	for (i = 0; i < 10000; i++)
		kept += desk_put(o->desk, &(struct desk_note){ .word = DESK_WHOSE, .key = "nonsense" });
	assert_true(desk_put(o->desk, &(struct desk_note){ .word = DESK_WHOSE, .visitor = 1, .key = "nonsense" }));
	close(silent);
	unlink(o->conf.db_socket);
	come_back(o);
	answer(o, DESK_NONE, 1, &before);
	assert_in_range(kept, 1, 10000 - 1);
	assert_in_range(before, 1, 40);
	close_office(o);
}

/* Is it free as soon as the desk has looked, though that holder has just said that it lives? */
static bool
is_freed(struct world *w, const char *machine, pid_t pid)
{
	struct office *o = office(w);
	bool freed;
	int i;

	db_run(w->db, "UPDATE livestreams SET status = 'live', has_signal = 1, session = 1, holder = ?, beat_at = "
	    SQL_NOW " + 60000 WHERE id = ?", ARGS(STR(arena_printf(w->mem, "%.70s:%d:1", machine, (int)pid)),
	    ID(o->stream.id)));
	come_back(o);
	answer(o, DESK_ROUND, 0, &i);
	freed = number(w, "FROM livestreams WHERE id = ? AND holder IS NULL AND status = 'interrupted'",
	    ARGS(ID(o->stream.id))) == 1;
	close_office(o);
	return freed;
}

static void
what_a_process_of_this_machine_held_is_free_when_it_has_ended(void **state)
{
	struct world *w = *state;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	/* It has ended, and nobody has asked for it yet. */
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_true(is_freed(w, machine_name(), child));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(is_freed(w, machine_name(), child));
	assert_false(is_freed(w, machine_name(), getppid()));
	assert_false(is_freed(w, "elsewhere/1", child));
}

/* The job that makes an asset of it may last for an hour. */
static void
the_end_is_told_once(void **state)
{
	struct world *w = *state;
	struct office *o = office(w), *other = office(w);
	int i, finish = 0;
	struct desk_note *n;

	db_run(w->db, "UPDATE livestreams SET status = 'finishing', session = 1 WHERE id IN (?, ?)",
	    ARGS(ID(o->stream.id), ID(other->stream.id)));
	close_office(other);
	come_back(o);
	for (i = 0; i < 3;) {
		while ((n = desk_take(o->desk)) == NULL)
			assert_int_equal(poll(&(struct pollfd){ desk_fd(o->desk), POLLIN, 0 }, 1, WAIT_MS), 1);
		finish += n->word == DESK_FINISH && uuid_equal(n->stream.id, o->stream.id);
		i += n->word == DESK_ROUND;
		free(n);
	}
	assert_int_equal(finish, 1);
	close_office(o);
}

static struct desk_note
claim(struct office *o)
{
	struct desk_note n = { .word = DESK_CLAIM, .stream = o->stream, .on = true, .is_primary = true };
	int before;

	assert_true(desk_put(o->desk, &n));
	return answer(o, DESK_CLAIM, 0, &before);
}

/* While the database is away no holder can say that it lives. */
static void
whoever_was_cut_off_takes_nobody_for_dead_at_once(void **state)
{
	struct world *w = *state;
	struct office *o = office(w);
	struct desk_note n;
	int asked = 0, before;

	db_run(w->db, "UPDATE livestreams SET status = 'live', has_signal = 1, session = 1, holder = 'elsewhere:1:1', "
	    "beat_at = " SQL_NOW " - 60000 WHERE id = ?", ARGS(ID(o->stream.id)));
	come_back(o);
	answer(o, DESK_ROUND, 0, &before);
	while ((n = claim(o)).session <= 0) {
		assert_int_equal(n.session, 0);
		assert_string_equal(n.reason, "");
		assert_true(asked++ < 1000);
		usleep(100000);
	}
	assert_true(asked > 0);
	assert_int_equal(n.session, 2);
	close_office(o);
	/* Where there is no holder, nobody is hurt. */
	o = office(w);
	db_run(w->db, "UPDATE livestreams SET status = 'interrupted', session = 1 WHERE id = ?",
	    ARGS(ID(o->stream.id)));
	come_back(o);
	answer(o, DESK_ROUND, 0, &before);
	assert_int_equal(claim(o).session, 2);
	close_office(o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(behind_what_is_late_numbers_do_not_pile_up),
		WORLD_TEST(what_a_process_of_this_machine_held_is_free_when_it_has_ended),
		WORLD_TEST(the_end_is_told_once),
		WORLD_TEST(who_has_a_key_does_not_wait_for_those_without),
		WORLD_TEST(whoever_was_cut_off_takes_nobody_for_dead_at_once),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
