/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waits for a database that is away, and for how long. */
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/machine.h"
#include "core/store.h"
#include "fcgi/live/desk.h"
#include "tests/world.h"

enum { WAIT_MS = 180 * 1000 };

/* A desk whose database is away, until come_back(), and after go_away() again. */
struct office { struct world *w; struct conf conf; struct desk *desk; struct desk_stream stream; const char *keys[2]; };

/* Connections to the database that no desk has. */
static fd_set lines_of_world;
static int offices;

static bool
is_line(int fd)
{
	struct sockaddr_un to = { 0 };
	socklen_t n = sizeof(to);

	return getpeername(fd, (struct sockaddr *)&to, &n) == 0 && to.sun_family == AF_UNIX &&
	    n > sizeof(sa_family_t) && to.sun_path[0] != '\0';
}

static void
note_lines_of_world(void)
{
	int fd;

	FD_ZERO(&lines_of_world);
	for (fd = 0; fd < FD_SETSIZE; fd++)
		if (is_line(fd))
			FD_SET(fd, &lines_of_world);
}

static struct office *
office(struct world *w)
{
	struct office *o = arena_alloc(w->mem, sizeof(*o));
	struct req *r = call(w, "POST", "/v2/livestreams", "{\"name\":\"Council\"}");

	*o = (struct office){ .w = w, .conf = *w->conf };
	assert_int_equal(r->status, 201);
	assert_true(uuid_parse(text(w, r, "data.id"), &o->stream.id));
	assert_true(uuid_parse(text(w, r, "data.mediaId"), &o->stream.media_id));
	o->keys[0] = text(w, r, "data.inputs.0.streamKey");
	o->keys[1] = text(w, r, "data.inputs.1.streamKey");
	o->conf.db_socket = arena_printf(w->mem, "%s/%s", w->conf->data_dir, uuid_text(w->mem, uuid_new()));
	if (offices++ == 0)
		note_lines_of_world();
	o->desk = desk_open(&o->conf, NULL);
	return o;
}

static void
come_back(struct office *o)
{
	assert_int_equal(symlink(o->w->conf->db_socket, o->conf.db_socket), 0);
}

/* Nor does it keep the connection that it has.  Those of other desks are made anew. */
static void
go_away(struct office *o)
{
	int fd;

	assert_int_equal(unlink(o->conf.db_socket), 0);
	for (fd = 0; fd < FD_SETSIZE; fd++)
		if (is_line(fd) && !FD_ISSET(fd, &lines_of_world))
			shutdown(fd, SHUT_RDWR);
}

static void
close_office(struct office *o)
{
	desk_close(o->desk);
	offices--;
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
	freed = number(w, "FROM livestreams WHERE id = ? AND holder IS NULL AND status = 'interrupted' AND session = ?",
	    ARGS(ID(o->stream.id), INT(1 + LIVESTREAM_SPARE))) == 1;
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
	assert_int_equal(n.session, 2 + LIVESTREAM_SPARE);
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

static void
put(struct office *o, const char *what)
{
	struct world *w = o->w;
	const char *path = arena_printf(w->mem, "/v2/livestreams/%s/%s", uuid_text(w->mem, o->stream.id), what);

	assert_int_equal(call(w, "PUT", path, NULL)->status, 200);
}

/* A desk that holds a livestream, and has seen so; its session is 1. */
static struct office *
holder(struct world *w)
{
	struct office *o = office(w);
	int before;

	put(o, "start");
	come_back(o);
	assert_int_equal(claim(o).session, 1);
	answer(o, DESK_HELD, 0, &before);
	answer(o, DESK_ROUND, 0, &before);
	return o;
}

static struct desk_note
whose(struct office *o, uint64_t visitor, const char *key, enum desk_word expected)
{
	struct desk_note n = { .word = DESK_WHOSE, .visitor = visitor, .address = "10.0.0.1" };
	int before;

	snprintf(n.key, sizeof(n.key), "%s", key);
	assert_true(desk_put(o->desk, &n));
	n = answer(o, expected, visitor, &before);
	assert_true(expected != DESK_WHOSE || uuid_equal(n.stream.id, o->stream.id));
	return n;
}

/* All that is known by now has been seen. */
static void
look_twice(struct office *o)
{
	int before;

	answer(o, DESK_ROUND, 0, &before);
	answer(o, DESK_ROUND, 0, &before);
}

static void
an_encoder_of_what_is_held_comes_again_while_the_database_is_away(void **state)
{
	struct world *w = *state;
	struct office *o = holder(w), *other = office(w);
	struct desk_note n = { .word = DESK_CLAIM, .stream = o->stream, .on = false };
	int before;

	close_office(other);
	go_away(o);
	assert_true(whose(o, 1, o->keys[0], DESK_WHOSE).is_primary);
	assert_int_equal(claim(o).session, 2);
	assert_int_equal(claim(o).session, 3);
	/* The other input waits, as ever. */
	assert_false(whose(o, 2, o->keys[1], DESK_WHOSE).is_primary);
	assert_true(desk_put(o->desk, &n));
	n = answer(o, DESK_CLAIM, 0, &before);
	assert_int_equal(n.session, 0);
	assert_string_equal(n.reason, "");
	assert_string_equal(whose(o, 3, "nonsense", DESK_NONE).reason, "unavailable");
	assert_string_equal(whose(o, 4, other->keys[0], DESK_NONE).reason, "unavailable");
	/* The numbers are its own, and those behind them are free. */
	come_back(o);
	assert_int_equal(claim(o).session, 4);
	look_twice(o);
	assert_int_equal(number(w, "FROM livestreams WHERE id = ? AND session = 4 AND holder IS NOT NULL",
	    ARGS(ID(o->stream.id))), 1);
	/* Nobody was sent away. */
	assert_int_equal(number(w, "FROM livestreams WHERE id = ? AND refused_at > 0", ARGS(ID(o->stream.id))), 0);
	close_office(o);
}

static void
no_more_than_the_spare_sessions_begin_without_the_database(void **state)
{
	struct world *w = *state;
	struct office *o = holder(w);
	int i;

	go_away(o);
	for (i = 0; i < LIVESTREAM_SPARE; i++)
		assert_int_equal(claim(o).session, 2 + i);
	assert_int_equal(claim(o).session, -1);
	/* Whoever takes it from this node begins behind them. */
	db_run(w->db, "UPDATE livestreams SET beat_at = " SQL_NOW " - 60000 WHERE id = ?", ARGS(ID(o->stream.id)));
	assert_int_equal(livestream_claim(w->db, o->stream.id, "elsewhere:1:1"), 2 + LIVESTREAM_SPARE);
	come_back(o);
	look_twice(o);
	assert_int_equal(number(w, "FROM livestreams WHERE id = ? AND session = ?", ARGS(ID(o->stream.id),
	    INT(2 + LIVESTREAM_SPARE))), 1);
	close_office(o);
}

static void
what_ended_before_the_database_went_is_not_let_in(void **state)
{
	struct world *w = *state;
	struct office *o = holder(w), *stopped = holder(w), *released = holder(w);

	put(o, "key");
	put(stopped, "stop");
	look_twice(o);
	look_twice(stopped);
	go_away(o);
	go_away(stopped);
	go_away(released);
	assert_string_equal(whose(o, 1, o->keys[0], DESK_NONE).reason, "unavailable");
	assert_string_equal(whose(stopped, 1, stopped->keys[0], DESK_NONE).reason, "unavailable");
	/* The node has given it up itself, which nobody could be told. */
	whose(released, 1, released->keys[0], DESK_WHOSE);
	assert_true(desk_put(released->desk, &(struct desk_note){ .word = DESK_RELEASE, .stream = released->stream }));
	assert_string_equal(whose(released, 2, released->keys[0], DESK_NONE).reason, "unavailable");
	assert_int_equal(claim(released).session, -1);
	come_back(o);
	come_back(stopped);
	come_back(released);
	close_office(o);
	close_office(stopped);
	close_office(released);
}

static void
who_was_let_in_meanwhile_is_asked_after(void **state)
{
	struct world *w = *state;
	struct office *o = holder(w);
	int before;

	go_away(o);
	whose(o, 1, o->keys[0], DESK_WHOSE);
	put(o, "key");
	come_back(o);
	assert_string_equal(answer(o, DESK_NONE, 1, &before).reason, "oldKey");
	assert_int_equal(number(w, "FROM livestreams WHERE id = ? AND refused_reason = 'oldKey' AND refused_address = "
	    "'10.0.0.1'", ARGS(ID(o->stream.id))), 1);
	close_office(o);
}

/* The database is away for this node alone. */
static void
what_another_node_has_begun_to_take_in_is_lost(void **state)
{
	struct world *w = *state;
	struct office *o = holder(w);
	const char *kept = store_growing(w->mem, store_key_live(w->mem, o->stream.media_id, NULL));
	int before;

	go_away(o);
	fclose(fopen(arena_printf(w->mem, "%s/%d.video.mp4", kept, 1 + LIVESTREAM_SPARE), "we"));
	assert_int_equal(claim(o).session, 2);
	fclose(fopen(arena_printf(w->mem, "%s/%d.video.mp4", kept, 2 + LIVESTREAM_SPARE), "we"));
	assert_true(uuid_equal(answer(o, DESK_LOST, 0, &before).stream.id, o->stream.id));
	assert_int_equal(claim(o).session, -1);
	assert_string_equal(whose(o, 1, o->keys[0], DESK_NONE).reason, "unavailable");
	come_back(o);
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
		WORLD_TEST(an_encoder_of_what_is_held_comes_again_while_the_database_is_away),
		WORLD_TEST(no_more_than_the_spare_sessions_begin_without_the_database),
		WORLD_TEST(what_ended_before_the_database_went_is_not_let_in),
		WORLD_TEST(who_was_let_in_meanwhile_is_asked_after),
		WORLD_TEST(what_another_node_has_begun_to_take_in_is_lost),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
