/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the object store: where they lie, what is worked out of them before all are there, and lists of them. */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <libxml/xmlmemory.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store.h"
#include "fcgi/upload/partial.h"
#include "fcgi/upload/s3_ahead.h"
#include "tests/api/s3_client.h"

/* How many of the parts need not be read at the end any more. */
static int64_t
ahead(const struct client *c, int parts)
{
	struct world *w = c->w;
	struct s3_part part[8];
	const struct s3_part *at[8];
	SHA256_CTX state;

	for (int i = 0; i < parts; i++) {
		part[i].file = db_text(w->db, "SELECT file FROM upload_parts WHERE upload_id = ? AND number = ?",
		    ARGS(ID(uuid_of(c)), INT(i + 1)));
		at[i] = &part[i];
	}
	return (int64_t)s3_ahead_find(w->mem, uuid_of(c), 1, at, (size_t)parts, &state);
}

/* Changes a byte of what was worked out. */
static void
spoil_ahead(const struct client *c, long offset)
{
	const char *path = arena_printf(c->w->mem, "%s/1.ahead", store_incoming(c->w->mem, uuid_of(c)));
	FILE *f = fopen(path, "r+");
	int byte;

	assert_non_null(f);
	fseek(f, offset, SEEK_SET);
	byte = fgetc(f);
	fseek(f, offset, SEEK_SET);
	fputc(byte ^ 1, f);
	fclose(f);
}

/* The hash follows the parts; what is sent again, or was torn by a crash, is worked out anew. */
static void
the_hash_of_parts_is_worked_out_ahead_and_never_wrong(void **state)
{
	struct world *w = *state;
	const size_t size = 15 * MIB + 17;
	char *bytes = film(w, size);

	for (int trial = 0; trial < 6; trial++) {
		struct client c = client_of(w, "");
		int other = -1;
		const char *upload = begin(&c), *etag[4] = { NULL };

		etag[2] = part(&c, upload, 3, bytes + 10 * MIB, 5 * MIB);
		etag[0] = part(&c, upload, 1, bytes, 5 * MIB);
		assert_int_equal(ahead(&c, 1), 1);
		etag[1] = part(&c, upload, 2, bytes + (trial == 1 || trial == 5 ? 0 : 5) * (size_t)MIB,
		    5 * MIB);
		assert_int_equal(ahead(&c, 3), 3);
		if (trial == 5) {	/* somebody is at it, and cannot hear of it */
			other = open(arena_printf(w->mem, "%s/1.ahead", store_incoming(w->mem, uuid_of(&c))), O_RDONLY);
			assert_int_equal(flock(other, LOCK_EX), 0);
			etag[1] = part(&c, upload, 2, bytes + 5 * MIB, 5 * MIB);
			assert_int_equal(ahead(&c, 3), 1);
			close(other);
		}
		if (trial == 1) {
			etag[1] = part(&c, upload, 2, bytes + 5 * MIB, 5 * MIB);
			assert_int_equal(ahead(&c, 3), 3);
		}
		if (trial == 2) {
			spoil_ahead(&c, 250);
			assert_int_equal(ahead(&c, 3), 1);
		}
		if (trial == 3)
			unlink(arena_printf(w->mem, "%s/1.ahead", store_incoming(w->mem, uuid_of(&c))));
		etag[3] = part(&c, upload, 4, bytes + 15 * MIB, 17);
		assert_int_equal(ahead(&c, 4), trial == 2 || trial == 5 ? 1 : trial == 3 ? 0 : 4);
		if (trial == 4)
			spoil_ahead(&c, 0);
		fine(complete(&c, upload, arena_printf(w->mem, "%s%s%s%s", named(&c, 1, etag[0]), named(&c, 2, etag[1]),
		    named(&c, 3, etag[2]), named(&c, 4, etag[3]))));
		holds(&c, bytes, size);
		assert_int_equal(files_of(&c), 0);
	}
}

/* What the parser holds, and the most it held. */
static size_t held, most_held;

static void *
take_more(void *before, size_t n)
{
	size_t old = before != NULL ? malloc_usable_size(before) : 0;
	void *p = realloc(before, n);

	held += (p != NULL ? malloc_usable_size(p) : 0) - old;
	most_held = held > most_held ? held : most_held;
	return p;
}

static void *
take_new(size_t n)
{
	return take_more(NULL, n);
}

static void
give_back(void *p)
{
	held -= p != NULL ? malloc_usable_size(p) : 0;
	free(p);
}

static char *
take_copy(const char *text)
{
	return strcpy(take_new(strlen(text) + 1), text);
}

/* Any number of them may come at once. */
static void
a_list_of_parts_takes_the_memory_of_its_bytes(void **state)
{
	static const char *const inner[] = { "<a/>", "<ETag/>", "<ETag>x</ETag>", "<PartNumber>1</PartNumber>", " ",
	    "&#65;",
	    "<a b='' c='' d='' e='' f='' g='' h='' i='' j='' k='' l='' m='' n='' o='' p=''/>", "<!--a-->" };
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *query = arena_printf(w->mem, "uploadId=%s", begin(&c));

	for (size_t i = 0; i < 2 * sizeof(inner) / sizeof(inner[0]); i++) {
		struct buf body = BUF(w->mem);
		bool apart = i % 2 != 0;

		buf_text(&body, "<CompleteMultipartUpload>");
		for (size_t n = 0; body.len < 2 * MIB - 200; n++)
			buf_printf(&body, "%s%s%s", apart || n == 0 ? "<Part>" : "", inner[i / 2], apart ? "</Part>" :
			    "");
		buf_printf(&body, "%s</CompleteMultipartUpload>", apart ? "" : "</Part>");
		most_held = held;
		ask(&c, &(struct ask){ "POST", .query = query, .body = body.text, .n = body.len });
		if (most_held > 16 * MIB)
			fail_msg("%s, %d: %zu bytes", inner[i / 2], apart, most_held);
	}
	assert_true(most_held > 0);
}

/* Only who has a place is waited for. */
static void
a_list_of_parts_waits_for_its_turn(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *upload = begin(&c);
	struct seat all[8];

	for (int i = 0; i < 8; i++) {
		all[i] = (struct seat){ .upload_id = uuid_new(), .tenant_id = w->tenant_id, .principal_id =
		    w->client_id };
		assert_true(room_enter(here.room, &all[i]));
	}
	refused(&c, complete(&c, upload, "<Part"), 503, "SlowDown");
	for (int i = 0; i < 8; i++)
		room_leave(here.room, &all[i]);
	refused(&c, complete(&c, upload, "<Part"), 400, "MalformedXML");
}

/* By the size of the file, when they have come; by the quota, before they come. */
static void
parts_at_the_same_moment_have_the_room_of_one(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 9000);
	const struct s3_call *second;

	for (int i = 0; i < 2; i++) {
		struct client c = client_of(w, i == 0 ? ",\"fileSize\":9000" : "");
		const char *upload = begin(&c), *quota = "UPDATE tenants SET storage_quota = 10000 + (SELECT "
		    "s.storage_used FROM tenant_usage s WHERE s.tenant_id = tenants.id) + (SELECT COALESCE(SUM(COALESCE(u.file_size, "
		    "u.received_bytes)), 0) FROM uploads u WHERE u.tenant_id = tenants.id AND u.status IN ('waiting', "
		    "'uploading', 'uploaded')) WHERE id = ?";
		struct other first = { &c, { "PUT", .query = part_query(&c, 1, upload), .body = bytes, .n = 8000 },
		    S3_INTERNAL };

		if (i == 1)
			db_run(w->db, quota, ARGS(ID(w->tenant_id)));
		second = ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 2, upload), .body = bytes, .n = 8000,
		    .meanwhile = send_other, .user = &first });
		if (i == 0)
			refused(&c, second, 400, "EntityTooLarge");
		else
			fine(second);
		assert_int_equal(first.error, i == 0 ? S3_FINE : S3_NO_SPACE);
		assert_int_equal(parts_of(&c), 1);
		/* Once more is no more, and the other one can never come beside it. */
		part(&c, upload, 1 + i, bytes, 9000);
		if (i == 1)
			refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 1, upload), .body = bytes,
			    .n = 8000 }), 507, "InsufficientStorage");
		assert_int_equal(db_number(w->db, "SELECT reserved_bytes FROM uploads WHERE id = ?", ARGS(ID(uuid_of(
		    &c))), -1), i == 0 ? 0 : 9000);
		db_run(w->db, "UPDATE tenants SET storage_quota = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
	}
}

/* Its descriptors are closed, and its row says what it had reserved.  Others of its kind are still at work, or not. */
static void
what_a_killed_program_has_reserved_is_given_back_when_the_next_part_comes(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 9000);
	struct client c = client_of(w, "");
	const char *upload = begin(&c);
	int other;

	part(&c, upload, 1, bytes, 1000);
	db_run(w->db, "UPDATE tenants SET storage_quota = 10000 + (SELECT s.storage_used FROM tenant_usage s WHERE "
	    "s.tenant_id = tenants.id) + (SELECT COALESCE(SUM(COALESCE(u.file_size, u.received_bytes)), 0) FROM uploads u WHERE "
	    "u.tenant_id = tenants.id AND u.id <> ? AND u.status IN ('waiting', 'uploading', 'uploaded')) WHERE id = ?",
	    ARGS(ID(uuid_of(&c)), ID(w->tenant_id)));
	db_run(w->db, "UPDATE uploads SET reserved_bytes = 9000 WHERE id = ?", ARGS(ID(uuid_of(&c))));
	other = open(store_incoming(w->mem, uuid_of(&c)), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(other, LOCK_SH), 0);
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 2, upload), .body = bytes, .n = 8000 }), 507,
	    "InsufficientStorage");
	close(other);
	part(&c, upload, 2, bytes, 8000);
	assert_int_equal(db_number(w->db, "SELECT reserved_bytes FROM uploads WHERE id = ?", ARGS(ID(uuid_of(&c))),
	    -1), 9000);
	assert_int_equal(db_number(w->db, "SELECT received_bytes FROM uploads WHERE id = ?", ARGS(ID(uuid_of(&c))),
	    -1), 9000);
	db_run(w->db, "UPDATE tenants SET storage_quota = NULL WHERE id = ?", ARGS(ID(w->tenant_id)));
}

struct late { const char *folder; struct uuid id; int held; bool has_waited, is_held; };

/* Does a thread of this program wait for a lock of a folder? */
static bool
somebody_waits(void)
{
	FILE *f = fopen("/proc/locks", "r");
	char line[256], pid[24];
	bool waits = false;

	snprintf(pid, sizeof(pid), " %d ", (int)getpid());
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		waits = waits || (strstr(line, "-> FLOCK") != NULL && strstr(line, pid) != NULL);
	assert_non_null(f);
	fclose(f);
	return waits;
}

/* The attempt before this one ends while a part waits to hold the folder. */
static void *
end_late(void *user)
{
	struct late *l = user;
	struct arena *mem = arena_new(1 << 20);

	for (int i = 0; i < 60000 && !l->has_waited; i++) {
		usleep(1000);
		l->has_waited = somebody_waits();
	}
	partial_forget(mem, l->id, 1);
	close(l->held);
	arena_free(mem);
	return NULL;
}

static void
look_who_holds(void *user)
{
	struct late *l = user;
	const int folder = open(l->folder, O_RDONLY | O_DIRECTORY);

	l->is_held = flock(folder, LOCK_EX | LOCK_NB) != 0;
	close(folder);
}

static void
the_folder_that_a_part_holds_stays_when_an_earlier_attempt_ends(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	const char *upload = begin(&c);
	struct late late = { .folder = store_incoming(w->mem, uuid_of(&c)), .id = uuid_of(&c) };
	pthread_t thread;

	assert_int_equal(mkdir(late.folder, 0700), 0);
	late.held = open(late.folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(late.held, LOCK_EX), 0);
	assert_int_equal(pthread_create(&thread, NULL, end_late, &late), 0);
	fine(ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 1, upload), .body = film(w, 1000), .n = 1000,
	    .meanwhile = look_who_holds, .user = &late }));
	pthread_join(thread, NULL);
	assert_true(late.has_waited);
	assert_true(late.is_held);
}

/* The file that parts of 5 MiB share. */
static ino_t
shared_by(const struct client *c)
{
	struct stat st = { .st_ino = 0 };

	stat(arena_printf(c->w->mem, "%s/1.shared.%d", store_incoming(c->w->mem, uuid_of(c)), 5 * MIB), &st);
	return st.st_ino;
}

/* Was it made of that very file, and not copied? */
static bool
lies_in(const struct client *c, ino_t file)
{
	const char *path = store_fetch(c->w->mem, store_key_original(c->w->mem, uuid_of(c)), NULL);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return file != 0 && st.st_ino == file && st.st_nlink == 1;
}

static const char *
three(const struct client *c, int first, const char *const etag[3])
{
	return arena_printf(c->w->mem, "%s%s%s", named(c, first, etag[0]), named(c, first + 1, etag[1]),
	    named(c, first + 2, etag[2]));
}

static void
parts_of_one_size_come_to_lie_where_the_file_needs_them(void **state)
{
	struct world *w = *state;
	const size_t size = 10 * MIB + 17;
	char *bytes = film(w, size), *others = film(w, 5 * MIB);
	struct ask second = { "PUT", .body = bytes + 5 * MIB, .n = 5 * MIB };

	for (int trial = 0; trial < 6; trial++) {
		const int first = trial == 5 ? 4 : 1;	/* with numbers left out they lie elsewhere */
		struct client c = client_of(w, "");
		const char *upload = begin(&c), *etag[3];
		struct other other = { &c, { "PUT", .body = others, .n = 5 * MIB }, S3_INTERNAL };
		ino_t file;

		second.query = other.ask.query = part_query(&c, first + 1, upload);
		etag[2] = part(&c, upload, first + 2, bytes + 10 * MIB, 17);
		etag[1] = part(&c, upload, first + 1, trial == 2 ? others : bytes + 5 * MIB, 5 * MIB);
		etag[0] = part(&c, upload, first, bytes, 5 * MIB);
		file = shared_by(&c);
		if (trial == 1)		/* what breaks off changes nothing of what counts */
			refused(&c, ask(&c, &(struct ask){ "PUT", .query = second.query, .body = others, .n = 5 * MIB,
			    .wire = others, .n_wire = 3 * MIB, .cut = true }), 400, "IncompleteBody");
		if (trial == 2)		/* another one counts; and again, where the first was */
			etag[1] = part(&c, upload, first + 1, bytes + 5 * MIB, 5 * MIB);
		if (trial == 3)		/* two at once, of which the last to end counts */
			etag[1] = header_told(w, ask(&c, &(struct ask){ "PUT", .query = second.query, .body =
			    second.body, .n = second.n, .meanwhile = send_other, .nap = 1, .user = &other }), "ETag");
		if (trial == 4) {	/* with one more that nobody names, it is copied */
			part(&c, upload, 4, others, 5 * MIB);
			assert_int_equal(shared_by(&c), file);
		}
		fine(complete(&c, upload, three(&c, first, etag)));
		holds(&c, bytes, size);
		assert_int_equal(files_of(&c), 0);
		assert_true(world_in_bucket() || lies_in(&c, file) == (trial < 4));
	}
}

struct again {
	struct client own;			/* of the thread that completes: memory of its own */
	struct ask ask;
	const char *folder, *shared, *upload, *list;
	struct seat seat;			/* has the turns of all writers */
	blkcnt_t blocks;
	struct s3_call *answer;
	pthread_t completes, lets_go;
};

static void *
complete_beside(void *arg)
{
	struct again *a = arg;

	a->answer = ask(&a->own, &a->ask);
	return NULL;
}

/* When the place of the part that was replaced is empty. */
static void *
let_go(void *arg)
{
	struct again *a = arg;
	struct stat st;

	for (int i = 0; i < 60000 && stat(a->shared, &st) == 0 && st.st_blocks >= a->blocks; i++)
		usleep(1000);
	room_turn_over(here.room, &a->seat, TURN_WRITE, 0);
	room_turn_over(here.room, &a->seat, TURN_WRITE, 0);
	return NULL;
}

static bool
is_joining(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool found = false;

	assert_non_null(dir);
	while ((e = readdir(dir)) != NULL)
		found = found || strncmp(e->d_name, "1.whole.", 8) == 0;
	closedir(dir);
	return found;
}

/* It knows where the parts lie, and waits for its turn to read them. */
static void
begin_to_join(void *user)
{
	struct again *a = user;
	struct stat st;
	int tries;

	room_turn(here.room, &a->seat, TURN_WRITE);
	room_turn(here.room, &a->seat, TURN_WRITE);
	assert_int_equal(stat(a->shared, &st), 0);
	a->blocks = st.st_blocks;
	assert_int_equal(pthread_create(&a->completes, NULL, complete_beside, a), 0);
	for (tries = 0; tries < 60000 && !is_joining(a->folder); tries++)
		usleep(1000);
	assert_true(tries < 60000);
	assert_int_equal(pthread_create(&a->lets_go, NULL, let_go, a), 0);
}

/* Each is whole but for its end when the next one comes; then the last but one has its row first. */
static void
parts_on_their_way_have_twice_the_room_of_the_file(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, ",\"fileSize\":6291456");
	const char *upload = begin(&c);
	char *bytes = film(w, 5 * MIB);
	struct other part[5];

	for (int i = 4; i >= 0; i--) {
		part[i] = (struct other){ &c, { "PUT", .query = part_query(&c, i + 1, upload), .body = bytes, .n =
		    5 * MIB }, S3_INTERNAL };
		if (i < 4) {
			part[i].ask.meanwhile = send_other;
			part[i].ask.user = &part[i + 1];
		}
	}
	send_other(&part[0]);
	assert_int_equal(part[4].error, S3_SLOW_DOWN);
	assert_int_equal(part[3].error, S3_FINE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(part[i].error, S3_TOO_LARGE);
	/* Those that are gone count no more. */
	part[3].ask.meanwhile = NULL;
	send_other(&part[3]);
	assert_int_equal(part[3].error, S3_FINE);
}

/* Three parts that lie in one file with one that nobody names, so that they are copied, and who is to join them. */
static void
bring_three(struct again *a, struct world *own, const struct client *c, const char *bytes)
{
	struct world *w = c->w;
	const char *etag[3];

	*own = *w;
	own->mem = arena_new(32 << 20);
	*a = (struct again){ .own = *c, .folder = store_incoming(w->mem, uuid_of(c)), .seat = { .upload_id = uuid_new(),
	    .tenant_id = w->tenant_id, .principal_id = w->client_id, .beside = true } };
	a->own.w = own;
	a->shared = arena_printf(w->mem, "%s/1.shared.%d", a->folder, 5 * MIB);
	a->upload = begin(c);
	for (int i = 0; i < 3; i++)
		etag[i] = part(c, a->upload, i + 1, bytes + i * 5 * MIB, 5 * MIB);
	part(c, a->upload, 4, film(w, 5 * MIB), 5 * MIB);
	a->list = three(c, 1, etag);
	a->ask = (struct ask){ "POST", .query = arena_printf(w->mem, "uploadId=%s", a->upload), .body =
	    arena_printf(w->mem, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", a->list) };
	a->ask.n = strlen(a->ask.body);
	assert_true(room_enter(here.room, &a->seat));
}

static void
wait_for_join(struct again *a)
{
	pthread_join(a->lets_go, NULL);
	pthread_join(a->completes, NULL);
	room_leave(here.room, &a->seat);
}

static void
a_part_that_is_sent_again_while_all_is_joined_leaves_no_hole(void **state)
{
	struct world *w = *state, own;
	char *bytes = film(w, 15 * MIB);
	struct client c = client_of(w, "");
	struct again a;

	bring_three(&a, &own, &c, bytes);
	fine(ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 2, a.upload), .body = bytes + 5 * MIB, .n = 5 * MIB,
	    .meanwhile = begin_to_join, .user = &a }));
	wait_for_join(&a);
	refused(&c, a.answer, 500, "InternalError");
	fine(complete(&c, a.upload, a.list));
	holds(&c, bytes, 15 * MIB);
	arena_free(own.mem);
}

/* It is no fault of ours that they are gone. */
static void
parts_that_go_while_all_is_joined_are_told_as_what_took_them(void **state)
{
	struct world *w = *state, own;
	char *bytes = film(w, 15 * MIB);
	struct client c = client_of(w, "");
	struct again a;

	bring_three(&a, &own, &c, bytes);
	fine(ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 2, a.upload), .body = film(w, 5 * MIB), .n = 5 * MIB,
	    .meanwhile = begin_to_join, .user = &a }));
	wait_for_join(&a);
	refused(&c, a.answer, 400, "InvalidPart");
	arena_free(own.mem);
	for (int anew = 0; anew < 2; anew++) {
		c = client_of(w, "");
		bring_three(&a, &own, &c, bytes);
		begin_to_join(&a);
		if (anew)
			begin(&c);
		else
			assert_int_equal(ask(&c, &(struct ask){ "DELETE", .query = a.ask.query })->status, 204);
		wait_for_join(&a);
		refused(&c, a.answer, 404, "NoSuchUpload");
		arena_free(own.mem);
	}
}

/* Of two for an empty place one has it, and the other a file of its own. */
static void
two_that_bring_one_part_do_not_write_into_each_other(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 5 * MIB), *others = film(w, 5 * MIB);
	struct client c = client_of(w, "");
	const char *upload = begin(&c), *query = part_query(&c, 1, upload);
	struct other other = { &c, { "PUT", .query = query, .body = others, .n = 5 * MIB }, S3_INTERNAL };
	struct s3_call *r = ask(&c, &(struct ask){ "PUT", .query = query, .body = bytes, .n = 5 * MIB, .meanwhile =
	    send_other, .nap = 1, .user = &other });
	ino_t file;

	fine(r);
	assert_int_equal(other.error, S3_FINE);
	assert_int_equal(parts_of(&c), 1);	/* that of the other is gone */
	file = shared_by(&c);
	fine(complete(&c, upload, named(&c, 1, header_told(w, r, "ETag"))));
	holds(&c, bytes, 5 * MIB);
	assert_true(world_in_bucket() || lies_in(&c, file));
}

static void
a_part_that_comes_while_all_is_completed_does_not_write_into_the_file(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 10 * MIB), *others = film(w, 5 * MIB);
	struct client c = client_of(w, "");
	const char *upload = begin(&c), *list, *whole;
	struct other end;

	list = arena_printf(w->mem, "%s%s", named(&c, 1, part(&c, upload, 1, bytes, 5 * MIB)), named(&c, 2,
	    part(&c, upload, 2, bytes + 5 * MIB, 5 * MIB)));
	whole = arena_printf(w->mem, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>", list);
	end = (struct other){ &c, { "POST", .query = arena_printf(w->mem, "uploadId=%s", upload), .body = whole, .n =
	    strlen(whole) }, S3_INTERNAL };
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 3, upload), .body = others, .n = 5 * MIB,
	    .meanwhile = send_other, .nap = 1, .user = &end }), 404, "NoSuchUpload");
	assert_int_equal(end.error, S3_FINE);
	holds(&c, bytes, 10 * MIB);
}

/* Sent again and again, each time a little longer: what counts no more takes no room. */
static void
parts_that_were_replaced_leave_nothing(void **state)
{
	struct world *w = *state;
	char *bytes = film(w, 5 * MIB + 8);
	struct client c = client_of(w, "");
	const char *upload = begin(&c);

	for (int i = 0; i < 8; i++) {
		part(&c, upload, 1, bytes, 5 * MIB + (size_t)i);
		assert_int_equal(parts_of(&c), 1);
	}
	part(&c, upload, 2, bytes, 5 * MIB + 7);
	part(&c, upload, 2, bytes, 5 * MIB + 6);
	assert_int_equal(parts_of(&c), 2);
	refused(&c, ask(&c, &(struct ask){ "PUT", .query = part_query(&c, 3, upload), .body = bytes, .n = 5 * MIB + 5,
	    .wire = bytes, .n_wire = 3 * MIB, .cut = true }), 400, "IncompleteBody");
	assert_int_equal(parts_of(&c), 2);
}

/* Both have joined their parts when the first one is placed. */
static void
of_two_files_of_an_attempt_one_is_told_that_it_counts(void **state)
{
	struct world *w = *state;
	struct client c = client_of(w, "");
	char *bytes = film(w, 6 * MIB), *head = film(w, 6 * MIB);
	const char *upload = begin(&c), *path = arena_printf(w->mem, "%s/1.whole.x", store_incoming(w->mem,
	    uuid_of(&c)));
	struct seat seat = { .upload_id = uuid_of(&c), .tenant_id = w->tenant_id, .principal_id = w->client_id };
	struct put p = { .in = &here, .mem = w->mem, .id = uuid_of(&c), .received = 9000, .etag = "another-2" };
	unsigned char sha256[32];
	const char *etag;
	FILE *f;

	fine(complete(&c, upload, named(&c, 1, part(&c, upload, 1, bytes, 6 * MIB))));
	etag = header_told(w, ask(&c, &(struct ask){ .method = "HEAD" }), "ETag");
	assert_non_null(etag);
	assert_true(mkdir(store_incoming(w->mem, uuid_of(&c)), 0700) == 0);
	assert_non_null(f = fopen(path, "w"));
	assert_int_equal(fwrite(head, 1, 9000, f), 9000);
	assert_int_equal(fclose(f), 0);
	EVP_Digest(head, 9000, sha256, NULL, EVP_sha256(), NULL);
	assert_int_equal(put_place(&p, &seat, 1, path, sha256), ERR_UPLOAD_RECEIVED);
	EVP_Digest(bytes, 6 * MIB, sha256, NULL, EVP_sha256(), NULL);
	assert_int_equal(put_place(&p, &seat, 1, path, sha256), ERR_NONE);
	holds(&c, bytes, 6 * MIB);
	assert_string_equal(header_told(w, ask(&c, &(struct ask){ .method = "HEAD" }), "ETag"), etag);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_hash_of_parts_is_worked_out_ahead_and_never_wrong),
		WORLD_TEST(parts_of_one_size_come_to_lie_where_the_file_needs_them),
		WORLD_TEST(parts_on_their_way_have_twice_the_room_of_the_file),
		WORLD_TEST(a_part_that_is_sent_again_while_all_is_joined_leaves_no_hole),
		WORLD_TEST(parts_that_go_while_all_is_joined_are_told_as_what_took_them),
		WORLD_TEST(two_that_bring_one_part_do_not_write_into_each_other),
		WORLD_TEST(a_part_that_comes_while_all_is_completed_does_not_write_into_the_file),
		WORLD_TEST(parts_that_were_replaced_leave_nothing),
		WORLD_TEST(a_list_of_parts_takes_the_memory_of_its_bytes),
		WORLD_TEST(a_list_of_parts_waits_for_its_turn),
		WORLD_TEST(of_two_files_of_an_attempt_one_is_told_that_it_counts),
		WORLD_TEST(parts_at_the_same_moment_have_the_room_of_one),
		WORLD_TEST(what_a_killed_program_has_reserved_is_given_back_when_the_next_part_comes),
		WORLD_TEST(the_folder_that_a_part_holds_stays_when_an_earlier_attempt_ends),
	};

	xmlMemSetup(give_back, take_new, take_more, take_copy);
	return cmocka_run_group_tests(tests, world_open, s3_client_close);
}
