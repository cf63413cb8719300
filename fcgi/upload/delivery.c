/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What signed addresses lead to in a bucket. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/filename.h"
#include "core/objects.h"
#include "core/play.h"
#include "core/store.h"
#include "fcgi/req.h"
#include "fcgi/upload/delivery.h"

enum {
	FILE_MAX = 960,			/* characters of a file that could be ours */
	TEXT_MAX = 2 << 20,		/* bytes of a text that is answered here */
	PATIENCE = 8,			/* s */
};

/* Of those that ask the bucket. */
static sem_t places;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_places(void)
{
	sem_init(&places, 0, DELIVERY_ASKING);
}

/* False: there was none for as long as the bucket itself may take. */
static bool
take_place(void)
{
	struct timespec until;
	int failed;

	pthread_once(&once, make_places);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	do
		failed = sem_timedwait(&places, &until);
	while (failed != 0 && errno == EINTR);
	return failed == 0;
}

/* What a signed address names, and until when, s since 1970. */
struct wanted { struct uuid id; const char *file, *key; int64_t expiry; };

static bool
is_text(const char *type)
{
	return strncmp(type, "text/", 5) == 0 || strcmp(type, "application/json") == 0 ||
	    strcmp(type, "application/vnd.apple.mpegurl") == 0 || strcmp(type, "application/x-subrip") == 0;
}

/* The rows decide each time.  An id is that of an asset or of a download, of which the latter has one file. */
static enum error
judge(struct delivery *d, const struct wanted *w, struct moment now)
{
	struct db *db = links_ask(d->in->links);
	bool open, failed;

	if (db == NULL)
		return ERR_UNAVAILABLE;
	open = db_number(db, "SELECT COUNT(*) FROM media WHERE id = ? AND deleted_at = 0", ARGS(ID(w->id)), 0) > 0 ||
	    db_number(db, "SELECT COUNT(*) FROM downloads WHERE id = ? AND status = 'ready' AND expires > ? AND "
		"file = ?", ARGS(ID(w->id), TIME(now), STR(w->file)), 0) > 0;
	failed = db_failure(db) != DB_FINE;
	links_give(d->in->links, db);
	return failed ? ERR_UNAVAILABLE : open ? ERR_NONE : ERR_NOT_FOUND;
}

/* Who asks for what is farther in has asked for its beginning before. */
static bool
is_beginning(const char *range)
{
	return range == NULL || strncmp(range, "bytes=0-", 8) == 0;
}

static enum error
redirect(struct delivery *d, const struct wanted *w, struct moment now)
{
	const int64_t s = now.ms / 1000, window = s / OBJECTS_ROUND * OBJECTS_ROUND;
	const int64_t most = window + d->in->conf->play_lifetime, until = w->expiry < most ? w->expiry : most;
	const int64_t turn = window + OBJECTS_ROUND, fresh = (turn < until ? turn : until) - s;
	bool there = true;

	if (is_beginning(d->range) && !store_has_now(d->mem, w->key, &there))
		return ERR_UNAVAILABLE;
	if (there)
		d->location = store_address(d->mem, w->key, d->method, filename_of_address(d->mem, w->key, d->uri),
		    now, (struct moment){ until * 1000 });
	d->cache_control = arena_printf(d->mem, "private, max-age=%" PRId64, fresh);
	return d->location != NULL ? ERR_NONE : ERR_NOT_FOUND;
}

/* As web servers say it of files on their disk. */
static enum error
tell(struct delivery *d, const struct wanted *w)
{
	d->text = store_get_now(d->mem, w->key, TEXT_MAX, &d->size);
	if (d->text == NULL)
		return errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
	d->type = store_type(w->key);
	d->disposition = filename_of_address(d->mem, w->key, d->uri);
	d->etag = entity_tag(d->mem, d->text, d->size);
	d->cache_control = strncmp(w->file, "captions/", 9) == 0 ? "private, no-cache" :
	    "private, max-age=86400, immutable";
	return ERR_NONE;
}

enum error
delivery_run(struct delivery *d)
{
	const struct moment now = moment_now();
	struct wanted w = { 0 };
	const enum play play = play_check(d->in->conf, d->uri, now, &w.id, &w.file);
	enum error error;

	if (play != PLAY_FINE)
		return play == PLAY_EXPIRED ? ERR_ADDRESS_EXPIRED : ERR_FORBIDDEN;
	w.file = arena_copy_n(d->mem, w.file, strcspn(w.file, "?"));
	if (strlen(w.file) > FILE_MAX)
		return ERR_NOT_FOUND;
	w.key = store_key_play(d->mem, w.id, w.file);
	w.expiry = strtoll(d->uri + strlen(DELIVERY_PATH), NULL, 10);
	error = judge(d, &w, now);
	if (error != ERR_NONE)
		return error;
	if (!take_place())
		return ERR_UNAVAILABLE;
	errno = 0;
	error = is_text(store_type(w.key)) ? tell(d, &w) : redirect(d, &w, now);
	/* A text too long for us to tell. */
	if (error == ERR_UNAVAILABLE && errno == EFBIG)
		error = redirect(d, &w, now);
	sem_post(&places);
	return error;
}
