/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes that stay where they are when their process does not. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store.h"
#include "fcgi/upload/partial.h"
#include "tests/world.h"

enum { PIECE = 1000, PIECES = 40 };

static unsigned char bytes[PIECES * PIECE];

static void
fill(void)
{
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 31 + i / 251);
}

/* Takes the rest of the bytes and looks at what came of all of them. */
static void
finish_from(struct world *w, struct partial *p)
{
	unsigned char wanted[32], sha256[32], *there = arena_alloc(w->mem, sizeof(bytes));
	FILE *f;

	assert_true(partial_write(p, bytes + p->offset, sizeof(bytes) - (size_t)p->offset));
	assert_true(partial_finish(p, sha256));
	EVP_Digest(bytes, sizeof(bytes), wanted, NULL, EVP_sha256(), NULL);
	assert_memory_equal(sha256, wanted, 32);
	f = fopen(p->path, "r");
	assert_int_equal(fread(there, 1, sizeof(bytes), f), sizeof(bytes));
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	assert_memory_equal(there, bytes, sizeof(bytes));
	partial_drop(p);
}

static void
kept_bytes_go_on_in_a_later_attempt(void **state)
{
	struct world *w = *state;
	struct uuid id = uuid_new();
	struct partial p;
	int i;

	fill();
	assert_true(partial_resume(&p, w->mem, id, 1));
	assert_int_equal(p.offset, 0);
	for (i = 1; i < PIECES; i++) {
		assert_true(partial_write(&p, bytes + p.offset, PIECE));
		assert_true(partial_keep(&p));
		assert_true(partial_held(w->mem, id) >= p.offset);
		assert_true(partial_resume(&p, w->mem, id, i + 1));
		assert_int_equal(p.offset, i * PIECE);
	}
	finish_from(w, &p);
	assert_int_equal(access(p.dir, F_OK), -1);
	assert_int_equal(partial_held(w->mem, id), 0);
}

/* Until it is killed: some bytes are kept, `kept` says how many for certain, and some that follow are lost. */
static void __attribute__((noreturn))
write_on(struct uuid id, atomic_llong *kept)
{
	struct arena *mem = arena_new(1 << 20);
	int64_t attempt;
	struct partial p;

	for (attempt = 1;; attempt++) {
		if (!partial_resume(&p, mem, id, attempt) || p.offset == sizeof(bytes) ||
		    !partial_write(&p, bytes + p.offset, PIECE / 2))
			_exit(1);
		if (attempt % 3 != 0) {
			if (!partial_keep(&p))
				_exit(1);
			atomic_store(kept, p.offset);
		}
		if (attempt % 3 == 0)
			close(p.fd);
		arena_reset(mem);
	}
}

static void
a_process_that_is_killed_anywhere_loses_no_byte_that_was_synced(void **state)
{
	struct world *w = *state;
	struct partial p;
	int64_t last = 0;
	int i, went_on = 0;
	atomic_llong *kept = mmap(NULL, sizeof(*kept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(kept != MAP_FAILED);
	fill();
	/* As often as it takes until one has come some way before it was killed. */
	for (i = 0; i < 30 || (went_on == 0 && i < 1000); i++) {
		struct uuid id = uuid_new();
		pid_t pid;
		int status;

		atomic_store(kept, 0);
		pid = fork();

		if (pid == 0)
			write_on(id, kept);
		usleep((useconds_t)(i * 700 + 500));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_true(partial_resume(&p, w->mem, id, 1000));
		assert_int_equal(p.offset % (PIECE / 2), 0);
		assert_true(p.offset >= *kept);
		went_on += p.offset > 0 && p.offset != last;
		last = p.offset;
		finish_from(w, &p);
	}
	assert_true(went_on > 0);
}

/* Until the clock of the file system says that something was written. */
static void
spoil(const char *path, int64_t at)
{
	int fd = open(path, O_WRONLY);
	struct stat before, now;

	assert_int_equal(fstat(fd, &before), 0);
	do {
		assert_int_equal(pwrite(fd, "?", 1, at), 1);
		assert_int_equal(fstat(fd, &now), 0);
	} while (now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
	close(fd);
}

static void
bytes_that_are_not_what_was_synced_come_again(void **state)
{
	struct world *w = *state;
	struct uuid id = uuid_new();
	struct partial p;
	int64_t attempt;

	fill();
	for (attempt = 1; attempt <= 7; attempt += 2) {
		assert_true(partial_new(&p, w->mem, id, attempt));
		assert_true(partial_write(&p, bytes, 3 * PIECE));
		assert_true(partial_keep(&p));
		if (attempt == 1)
			spoil(p.path, PIECE);
		else if (attempt == 3)
			assert_int_equal(truncate(p.path, PIECE), 0);
		else if (attempt == 5)
			spoil(p.synced_path, 3);
		else
			assert_int_equal(unlink(p.synced_path), 0);
		assert_true(partial_resume(&p, w->mem, id, attempt + 1));
		assert_int_equal(p.offset, 0);
		partial_write(&p, bytes, PIECE);
		assert_true(partial_keep(&p));
	}
	assert_true(partial_resume(&p, w->mem, id, 9));
	assert_int_equal(p.offset, PIECE);
	finish_from(w, &p);
}

/* Bytes that this thread has read, of whatever. */
static int64_t
bytes_read(void)
{
	FILE *f = fopen("/proc/thread-self/io", "r");
	long long n = -1;

	assert_int_equal(fscanf(f, "rchar: %lld", &n), 1);
	fclose(f);
	return n;
}

static void
what_was_kept_is_not_read_again_unless_it_has_changed(void **state)
{
	enum { SIZE = 8 << 20 };
	struct world *w = *state;
	struct uuid id = uuid_new();
	unsigned char *film = arena_alloc(w->mem, SIZE), wanted[32], sha256[32];
	struct partial p;
	int64_t before;

	for (size_t i = 0; i < SIZE; i++)
		film[i] = (unsigned char)(i * 31 + i / 251);
	EVP_Digest(film, SIZE, wanted, NULL, EVP_sha256(), NULL);
	assert_true(partial_new(&p, w->mem, id, 1));
	for (int attempt = 2; attempt <= 5; attempt++) {
		assert_true(partial_write(&p, film + p.offset, SIZE / 4 - 100));
		assert_true(partial_keep(&p));
		if (attempt == 4)	/* of the state alone: the line before it holds */
			spoil(p.synced_path, 120);
		if (attempt == 5)
			spoil(p.path, SIZE / 2);
		before = bytes_read();
		assert_true(partial_resume(&p, w->mem, id, attempt));
		assert_int_equal(p.offset, attempt == 5 ? 0 : (attempt - 1) * (SIZE / 4 - 100));
		if (attempt < 4)
			assert_true(bytes_read() - before < SIZE / 8);
		else
			assert_true(bytes_read() - before >= (attempt - 1) * (SIZE / 4 - 100));
	}
	for (int attempt = 6; attempt <= 7; attempt++) {
		assert_true(partial_write(&p, film + p.offset, SIZE / 2));
		assert_true(partial_keep(&p));
		assert_true(partial_resume(&p, w->mem, id, attempt));
	}
	assert_int_equal(p.offset, SIZE);
	assert_true(partial_finish(&p, sha256));
	assert_memory_equal(sha256, wanted, 32);
	partial_drop(&p);
}

static void
bytes_behind_the_last_sync_are_forgotten(void **state)
{
	struct world *w = *state;
	struct uuid id = uuid_new();
	unsigned char sha256[32];
	struct partial p;
	struct stat st;

	fill();
	assert_true(partial_new(&p, w->mem, id, 1));
	assert_true(partial_write(&p, bytes, PIECE));
	assert_true(partial_keep(&p));
	assert_true(partial_resume(&p, w->mem, id, 2));
	assert_true(partial_write(&p, "lost", 4));
	close(p.fd);
	assert_true(partial_resume(&p, w->mem, id, 3));
	assert_int_equal(p.offset, PIECE);
	assert_true(partial_finish(&p, sha256));
	assert_int_equal(fstat(p.fd, &st), 0);
	assert_int_equal(st.st_size, PIECE);
	partial_drop(&p);
}

static void
two_never_write_to_one_file(void **state)
{
	struct world *w = *state;
	struct uuid id = uuid_new();
	struct partial first, second;

	fill();
	assert_true(partial_new(&first, w->mem, id, 1));
	assert_true(partial_write(&first, bytes, PIECE));
	assert_false(partial_resume(&second, w->mem, id, 2));
	partial_drop(&second);
	assert_true(partial_keep(&first));
	assert_true(partial_resume(&second, w->mem, id, 2));
	assert_int_equal(second.offset, PIECE);
	finish_from(w, &second);
}

static void
room_that_was_reserved_goes_back_with_what_did_not_come(void **state)
{
	enum { SIZE = 4 << 20 };
	struct world *w = *state;
	struct uuid id = uuid_new();
	struct partial p;

	fill();
	assert_true(partial_new(&p, w->mem, id, 1));
	assert_true(partial_reserve(&p, SIZE));
	assert_true(partial_held(w->mem, id) >= SIZE);
	assert_true(partial_write(&p, bytes, PIECE));
	assert_true(partial_keep(&p));
	assert_true(partial_held(w->mem, id) < SIZE / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(kept_bytes_go_on_in_a_later_attempt),
		WORLD_TEST(a_process_that_is_killed_anywhere_loses_no_byte_that_was_synced),
		WORLD_TEST(bytes_that_are_not_what_was_synced_come_again),
		WORLD_TEST(what_was_kept_is_not_read_again_unless_it_has_changed),
		WORLD_TEST(bytes_behind_the_last_sync_are_forgotten),
		WORLD_TEST(two_never_write_to_one_file),
		WORLD_TEST(room_that_was_reserved_goes_back_with_what_did_not_come),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
