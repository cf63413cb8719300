/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger of originals. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/ledger.h"
#include "core/store.h"

enum { DAY_MS = 24 * 3600 * 1000 };

struct due { struct uuid id; const char *sha256; int64_t file_size; struct moment examined_at; };
static const struct field due_fields[] = {
	FIELD(struct due, id, .doc = "Asset"),
	FIELD(struct due, sha256, .sql = "LOWER(HEX(t.sha256))", .doc = "Of the original as it came"),
	FIELD(struct due, file_size, .doc = "Its bytes"),
	FIELD(struct due, examined_at, .doc = "When it was last looked at"),
};
static const struct record due_record = RECORD("DueOriginal", struct due, due_fields);

/* A store that is not mounted, or of another installation, looks as if all were missing. */
static bool
store_is_there(struct arena *mem, const char *key)
{
	size_t n = 0;

	store_list(mem, arena_copy_n(mem, key, (size_t)(strchr(key, '/') + 1 - key)), NULL, 1, &n);
	return n > 0;
}

/* A copy that was made to be read: who looks at thousands has no room for all of them. */
static void
forget(const char *path, const char *scratch)
{
	if (scratch != NULL && strncmp(path, scratch, strlen(scratch)) == 0)
		unlink(path);
}

enum examined
ledger_examine(struct arena *mem, const struct original *o, const char *scratch, const struct digest_pace *pace)
{
	const char *key = store_key_original(mem, o->media_id), *path, *sha256;
	const int64_t size = store_size(mem, key);

	if (size < 0 && errno == ENOENT && store_is_there(mem, key))
		return EXAMINED_MISSING;
	if (size < 0)
		return errno == EIO ? EXAMINED_UNREADABLE : EXAMINED_UNKNOWN;
	if (size != o->file_size)
		return EXAMINED_CHANGED;
	path = store_fetch(mem, key, scratch);
	sha256 = path == NULL ? NULL : digest_file(mem, path, pace);
	if (sha256 == NULL)
		return errno == EIO ? EXAMINED_UNREADABLE : EXAMINED_UNKNOWN;
	forget(path, scratch);
	return strcmp(sha256, o->sha256) == 0 ? EXAMINED_INTACT : EXAMINED_CHANGED;
}

void
ledger_note(struct db *db, const struct original *o, enum examined found)
{
	static const char *const words[] = { [EXAMINED_MISSING] = "missing", [EXAMINED_CHANGED] = "changed",
		[EXAMINED_UNREADABLE] = "unreadable" };

	if (found == EXAMINED_UNKNOWN)
		return;
	if (found == EXAMINED_INTACT)
		db_run(db, "UPDATE media SET verified_at = " SQL_NOW ", examined_at = " SQL_NOW ", damage = NULL "
		    "WHERE id = ?", ARGS(ID(o->media_id)));
	else
		db_run(db, "UPDATE media SET examined_at = " SQL_NOW ", damage = ? WHERE id = ?",
		    ARGS(STR(words[found]), ID(o->media_id)));
}

#define FROM_BEHIND(which) "FROM media t WHERE t.damage IS " which " AND t.file_size > 0 AND t.examined_at < ? AND (t.examined_at > ? OR " \
	"(t.examined_at = ? AND t.id > ?)) ORDER BY t.examined_at, t.id LIMIT 1"

bool
ledger_next(struct db *db, const struct conf *conf, struct ledger_place *at, struct original *out)
{
	const int64_t now = moment_now().ms;
	const struct due *d = NULL;

	if (conf->scrub_days == 0)
		return false;
	if (!at->undamaged) {
		d = db_row(db, &due_record, FROM_BEHIND("NOT NULL"), ARGS(INT(now - DAY_MS), TIME(at->examined_at),
		    TIME(at->examined_at), BYTES(at->media_id.b, sizeof(at->media_id.b))));
		if (d == NULL)
			*at = (struct ledger_place){ .undamaged = true };
	}
	if (d == NULL && db_failure(db) == DB_FINE)
		d = db_row(db, &due_record, FROM_BEHIND("NULL"), ARGS(INT(now - conf->scrub_days * DAY_MS),
		    TIME(at->examined_at), TIME(at->examined_at), BYTES(at->media_id.b, sizeof(at->media_id.b))));
	if (d == NULL)
		return false;
	at->examined_at = d->examined_at;
	at->media_id = d->id;
	*out = (struct original){ d->id, d->sha256, d->file_size };
	return true;
}
