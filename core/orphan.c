/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that no row names.  A folder of a run stays as long as one row names a file in it: playlists name further ones.
 * Folders of other kinds than those written here are none of our business.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/filename.h"
#include "core/job.h"
#include "core/livestream.h"
#include "core/orphan.h"
#include "core/play.h"
#include "core/store.h"

enum { PAGE = 500, PAGE_MEMORY = 16 << 20 };

/* One asset. */
struct search {
	const struct orphan_search *o;
	struct arena *mem;
	struct uuid media_id;
};

bool
orphan_running(struct db *db, const char *run)
{
	struct uuid id;
	int64_t fence;

	return job_run_parse(run, &id, &fence) &&
	    db_number(db, "SELECT COUNT(*) FROM jobs WHERE id = ? AND fence = ? AND state = 'running'",
		ARGS(ID(id), INT(fence)), 1) > 0;
}

static void
drop(struct search *s, const char *key)
{
	s->o->found(s->o->at, s->mem, key);
}

/* What the store was writing when the machine or the program ended: see write_once() there. */
static bool
is_draft(const char *key)
{
	return strrchr(key, '/')[1] == '.';
}

/* A further ingest lets the addresses of the one before be good until they expire: a purge has its files. */
static bool
is_purged_later(struct search *s)
{
	return db_number(s->o->db, "SELECT COUNT(*) FROM jobs WHERE media_id = ? AND kind = 'purge' AND state IN "
	    "('waiting', 'delayed', 'ready', 'running')", ARGS(ID(s->media_id)), 1) > 0;
}

/* So do the files of a step whose job was made anew. */
static bool
was_replaced_lately(struct search *s, const char *run)
{
	struct uuid id;
	int64_t fence, at;

	if (!job_run_parse(run, &id, &fence))
		return false;
	at = db_number(s->o->db, "SELECT n.finished_at FROM jobs t JOIN jobs n ON n.id = t.replaced_by WHERE t.id = ? "
	    "AND n.state = 'succeeded'", ARGS(ID(id)), 0);
	return at > 0 && play_expiry(s->o->conf, (struct moment){ at + 60000 }) * 1000 > moment_now().ms;
}

static bool
names_in(struct search *s, const char *folder)
{
	return db_number(s->o->db, "SELECT COUNT(*) FROM renditions t JOIN media m ON m.id = t.media_id "
	    "WHERE t.media_id = ? AND t.file LIKE CONCAT(?, '/%')", ARGS(ID(s->media_id), STR(folder)), 1) > 0;
}

static bool
names_file(struct search *s, const char *file)
{
	return db_number(s->o->db, "SELECT (SELECT COUNT(*) FROM media WHERE id = ? AND (custom_thumbnail_file = ? OR "
	    "JSON_SEARCH(captions, 'one', ?) IS NOT NULL)) + (SELECT COUNT(*) FROM sections WHERE media_id = ? AND "
	    "(custom_thumbnail_file = ? OR thumbnail_file = ?)) + (SELECT COUNT(*) FROM clips WHERE media_id = ? AND "
	    "file = ?) + (SELECT COUNT(*) FROM downloads WHERE id = ? AND file = ?)", ARGS(ID(s->media_id), STR(file),
	    STR(file), ID(s->media_id), STR(file), STR(file), ID(s->media_id), STR(file), ID(s->media_id),
	    STR(file)), 1) > 0;
}

/* Whether the run has ended is asked first: if it commits between the two questions, the second one sees its row. */
static bool
is_needed(struct search *s, const char *folder, const char *run)
{
	return (run != NULL && orphan_running(s->o->db, run)) || names_in(s, folder) || is_purged_later(s) ||
	    (run != NULL && was_replaced_lately(s, run));
}

/* run: its files stay or go together; NULL: so do those of a folder of pictures or captions, each by itself. */
static void
look_into(struct search *s, const char *folder, bool together, const char *run)
{
	const char *prefix = store_key_play(s->mem, s->media_id, arena_printf(s->mem, "%s/", folder)), *after = NULL;
	const char *file;
	struct store_entry *e;
	bool needed = true, known = false;
	size_t i, n;

	do {
		e = store_list(s->mem, prefix, after, PAGE, &n);
		for (i = 0; i < n; i++) {
			after = e[i].key;
			if (e[i].size < 0 || e[i].put_at.ms > s->o->old)
				continue;
			file = arena_printf(s->mem, "%s/%s", folder, strrchr(after, '/') + 1);
			if (together && !known) {
				needed = is_needed(s, folder, run);
				known = true;
			}
			if (is_draft(after) || !(together ? needed : names_file(s, file) || is_purged_later(s)))
				drop(s, after);
			else if (s->o->kept != NULL && strcmp(folder, "custom") == 0)
				s->o->kept(s->mem, s->media_id, file);
		}
	} while (n == PAGE);
}

/* The last part of a key that ends in a slash. */
static const char *
last_part(struct arena *mem, const char *key)
{
	char *part = arena_copy_n(mem, key, strlen(key) - 1);

	return strrchr(part, '/') + 1;
}

static void
look_at_generation(struct search *s, const char *generation)
{
	const char *run, *prefix = store_key_play(s->mem, s->media_id, arena_printf(s->mem, "%s/", generation)),
	    *after = NULL;
	struct store_entry *e;
	struct uuid id;
	int64_t fence;
	size_t i, n;

	look_into(s, generation, true, NULL);
	do {
		e = store_list(s->mem, prefix, after, PAGE, &n);
		for (i = 0; i < n; i++) {
			after = e[i].key;
			if (e[i].size >= 0)
				continue;
			run = last_part(s->mem, after);
			if (job_run_parse(run, &id, &fence))
				look_into(s, arena_printf(s->mem, "%s/%s", generation, run), true, run);
		}
	} while (n == PAGE);
}

/* Of a download, whose id stands where that of an asset does: each run has a folder, and the package in it some that
 * have its name. */
static void
look_at_packages(struct search *s, const char *folder, int depth)
{
	const char *prefix = store_key_play(s->mem, s->media_id, arena_printf(s->mem, "%s/", folder)), *below;
	struct store_entry *e;
	size_t i, n;

	e = store_list(s->mem, prefix, NULL, PAGE, &n);
	for (i = 0; i < n; i++) {
		if (e[i].size >= 0)
			continue;
		below = arena_printf(s->mem, "%s/%s", folder, last_part(s->mem, e[i].key));
		look_into(s, below, false, NULL);
		if (depth > 1)
			look_at_packages(s, below, depth - 1);
	}
}

/* Is there something below the key, and all of it old?  A stream that is sent just now has young files. */
static bool
is_old(struct search *s, const char *key)
{
	const char *after = NULL;
	struct store_entry *e;
	bool old = true;
	size_t i, n;

	do {
		e = store_list(s->mem, key, after, PAGE, &n);
		for (i = 0; i < n; i++) {
			after = e[i].key;
			old = old && (e[i].size < 0 || e[i].put_at.ms <= s->o->old);
		}
	} while (n == PAGE);
	return e != NULL && old && after != NULL;
}

/* Until the asset has an original, the livestream is played from there. */
static bool
is_played_live(struct search *s)
{
	return db_number(s->o->db, "SELECT COUNT(*) FROM livestreams t JOIN media m ON m.id = t.media_id WHERE "
	    "t.media_id = ? AND m.file_size = 0", ARGS(ID(s->media_id)), 1) > 0;
}

/* What was played of a livestream, each time in a folder of its own: a purge has it, if nobody wrote there later. */
static void
look_at_played(struct search *s, const char *key)
{
	struct store_entry *e;
	size_t i, n;

	e = store_list(s->mem, arena_printf(s->mem, "%slive/", key), NULL, PAGE, &n);
	for (i = 0; i < n; i++)
		if (e[i].size < 0 && is_old(s, e[i].key) && !is_played_live(s) && !is_purged_later(s))
			drop(s, arena_copy_n(s->mem, e[i].key, strlen(e[i].key) - 1));
}

static void
look_at_asset(struct search *s, const char *key)
{
	const char *name;
	struct store_entry *e;
	struct uuid id;
	size_t i, n;

	if (!uuid_parse(last_part(s->mem, key), &s->media_id))
		return;
	e = store_list(s->mem, key, NULL, PAGE, &n);
	for (i = 0; i < n; i++) {
		if (e[i].size >= 0)
			continue;
		name = last_part(s->mem, e[i].key);
		if (strcmp(name, "custom") == 0 || strcmp(name, "captions") == 0 ||
		    strcmp(name, "sections") == 0 || strcmp(name, "clips") == 0)
			look_into(s, name, false, NULL);
		else if (strcmp(name, "zip") == 0)
			look_at_packages(s, "zip", 1 + FILENAME_FOLDERS);
		else if (strcmp(name, "live") == 0)
			look_at_played(s, key);
		else if (uuid_parse(name, &id))
			look_at_generation(s, name);
	}
}

/* Of an asset, or of an upload that may become one. */
static bool
is_original(struct search *s, struct uuid id)
{
	return db_number(s->o->db, "SELECT (SELECT COUNT(*) FROM media WHERE id = ?) + (SELECT COUNT(*) FROM uploads "
	    "WHERE id = ? AND status NOT IN ('completed', 'cancelled', 'errored', 'timedOut'))",
	    ARGS(ID(id), ID(id)), 1) > 0;
}

/* An original, or a thumbnail that lies beside it under a longer name. */
static void
look_at_original(struct search *s, const struct store_entry *e)
{
	const char *name = strrchr(e->key, '/') + 1, *dot = strchr(name, '.');
	struct uuid id;

	if (e->put_at.ms > s->o->old)
		return;
	if (is_draft(e->key)) {
		drop(s, e->key);
		return;
	}
	if (!uuid_parse(dot == NULL ? name : arena_copy_n(s->mem, name, (size_t)(dot - name)), &id))
		return;
	s->media_id = id;
	if (!(dot == NULL ? is_original(s, id) : names_file(s, arena_printf(s->mem, "custom/%s", dot + 1))) &&
	    !is_purged_later(s))
		drop(s, e->key);
}

/* A file of an asset, or a folder: a generation, a run of one. */
static bool
names_below(struct search *s, const char *file)
{
	return names_file(s, file) || db_number(s->o->db, "SELECT (SELECT COUNT(*) FROM media WHERE id = ? AND "
	    "generation = ?) + (SELECT COUNT(*) FROM renditions WHERE media_id = ? AND (file = ? OR LEFT(file, "
	    "CHAR_LENGTH(?) + 1) = CONCAT(?, '/')))", ARGS(ID(s->media_id), STR(file), ID(s->media_id), STR(file), STR(file),
	    STR(file)), 1) > 0;
}

/* What no original has is kept: of more sessions than can be put together some have stayed behind. */
static bool
is_recording(struct search *s, struct uuid media_id)
{
	return db_number(s->o->db, "SELECT COUNT(*) FROM livestreams t JOIN media m ON m.id = t.media_id WHERE "
	    "t.media_id = ? AND (m.file_size = 0 OR t.left_out IS NOT NULL OR t.session > ?)", ARGS(ID(media_id),
	    INT(LIVESTREAM_SESSIONS)), 1) > 0;
}

bool
orphan_is_named(struct db *db, struct arena *mem, const char *key)
{
	const struct orphan_search o = { .db = db };
	struct search s = { .o = &o, .mem = mem };
	const char *name = strchr(key, '/') + 1;
	const size_t n = strcspn(name, "/.");
	const char *rest = name[n] != '\0' ? name + n + 1 : NULL;

	if (!uuid_parse(arena_copy_n(mem, name, n), &s.media_id))
		return false;
	switch (key[0]) {
	case 'o':
		return rest == NULL ? is_original(&s, s.media_id) :
		    names_file(&s, arena_printf(mem, "custom/%s", rest));
	case 'u':
		return db_number(db, "SELECT COUNT(*) FROM uploads WHERE id = ? AND status NOT IN ('completed', "
		    "'cancelled', 'errored', 'timedOut')", ARGS(ID(s.media_id)), 1) > 0;
	case 'p':
		return rest != NULL ? names_below(&s, rest) : db_number(db, "SELECT (SELECT COUNT(*) FROM media "
		    "WHERE id = ?) + (SELECT COUNT(*) FROM downloads WHERE id = ?)", ARGS(ID(s.media_id),
		    ID(s.media_id)), 1) > 0;
	case 'l':
		return is_recording(&s, s.media_id);
	default:
		return false;
	}
}

/* What was recorded stays or goes together. */
static void
look_at_recording(struct search *s, const char *key)
{
	if (uuid_parse(last_part(s->mem, key), &s->media_id) && is_old(s, key) && !is_recording(s, s->media_id) &&
	    !is_purged_later(s))
		drop(s, arena_copy_n(s->mem, key, strlen(key) - 1));
}

/* The program that took the bytes may die when all is done but this.  A row that may still see a PUT is left to the
 * sweep of uploads. */
static void
look_at_incoming(struct search *s, const char *key)
{
	struct uuid id;

	if (uuid_parse(last_part(s->mem, key), &id) && db_number(s->o->db, "SELECT COUNT(*) FROM uploads WHERE id = ? "
	    "AND status <> 'completed'", ARGS(ID(id)), 1) == 0)
		drop(s, arena_copy_n(s->mem, key, strlen(key) - 1));
}

const char *const orphan_trees[] = { "play", "originals", "uploads", "live", NULL };

bool
orphan_look(const struct orphan_search *o, struct arena *mem, const char *tree, const char **after, size_t max)
{
	struct search s = { .o = o, .mem = NULL };
	struct store_entry *e;
	size_t i, n;

	e = store_list(mem, arena_printf(mem, "%s/", tree), *after, max, &n);
	if (e == NULL)
		return false;
	s.mem = arena_new(PAGE_MEMORY);
	for (i = 0; i < n; i++) {
		if (e[i].size < 0 && strcmp(tree, "uploads") == 0)
			look_at_incoming(&s, e[i].key);
		else if (e[i].size < 0 && strcmp(tree, "live") == 0)
			look_at_recording(&s, e[i].key);
		else if (e[i].size < 0)
			look_at_asset(&s, e[i].key);
		else
			look_at_original(&s, &e[i]);
		arena_reset(s.mem);
		if (o->moved != NULL)
			o->moved(o->at);
	}
	arena_free(s.mem);
	*after = n == max ? e[n - 1].key : NULL;
	return true;
}

bool
orphan_look_all(const struct orphan_search *search, struct arena *mem)
{
	const char *const *tree, *after;
	char from[STORE_KEY_MAX];

	for (tree = orphan_trees; *tree != NULL; tree++)
		for (after = NULL;;) {
			if (!orphan_look(search, mem, *tree, &after, PAGE) || db_failure(search->db) != DB_FINE)
				return false;
			if (after == NULL)
				break;
			/* The arena holds it. */
			snprintf(from, sizeof(from), "%s", after);
			after = from;
			arena_reset(mem);
		}
	return true;
}
