/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys, and the kind of store that the settings name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/db.h"
#include "core/log.h"
#include "core/store_kind.h"

const char store_lasting[] = "originals/";
const char store_playing[] = "play/";

static const struct store_kind *kind;
static struct { void (*call)(void *user); void *user; } life;

static const struct store_kind *
kind_named(const struct conf *conf, const char *name)
{
	if (name == NULL || strcmp(name, "s3") != 0)
		return &store_local;
	store_objects_open(conf);
	return &store_objects;
}

bool
store_open(const struct conf *conf)
{
	if (!store_local_open(conf))
		return false;
	kind = kind_named(conf, conf->store);
	if (conf->store_also != NULL) {
		store_both_open(kind, kind_named(conf, conf->store_also));
		kind = &store_both;
	}
	return true;
}

void
store_on_life(void (*call)(void *user), void *user)
{
	life.call = call;
	life.user = user;
}

void
store_alive(void)
{
	if (life.call != NULL)
		life.call(life.user);
}

const char *
store_key_upload(struct arena *mem, struct uuid upload_id)
{
	return arena_printf(mem, "uploads/%s", uuid_text(mem, upload_id));
}

const char *
store_key_original(struct arena *mem, struct uuid media_id)
{
	return arena_printf(mem, "originals/%s", uuid_text(mem, media_id));
}

const char *
store_key_thumbnail(struct arena *mem, struct uuid media_id, const char *file)
{
	return arena_printf(mem, "originals/%s.%s", uuid_text(mem, media_id), strrchr(file, '/') + 1);
}

const char *
store_key_play(struct arena *mem, struct uuid media_id, const char *file)
{
	return arena_printf(mem, "play/%s%s%s", uuid_text(mem, media_id), file != NULL ? "/" : "",
	    file != NULL ? file : "");
}

const char *
store_key_live(struct arena *mem, struct uuid media_id, const char *file)
{
	return arena_printf(mem, "live/%s%s%s", uuid_text(mem, media_id), file != NULL ? "/" : "",
	    file != NULL ? file : "");
}

/* As web servers call what they send from a disk. */
const char *
store_type(const char *key)
{
	static const struct { const char *ending, *type; } types[] = {
		{ "m3u8", "application/vnd.apple.mpegurl" }, { "mp4", "video/mp4" }, { "m4s", "video/iso.segment" },
		{ "m4a", "audio/mp4" }, { "mp3", "audio/mpeg" }, { "ts", "video/mp2t" }, { "webm", "video/webm" },
		{ "vtt", "text/vtt; charset=utf-8" }, { "srt", "application/x-subrip" }, { "json", "application/json" },
		{ "jpg", "image/jpeg" }, { "jpeg", "image/jpeg" }, { "png", "image/png" }, { "webp", "image/webp" },
		{ "avif", "image/avif" }, { "gif", "image/gif" }, { "pdf", "application/pdf" },
		{ "zip", "application/zip" }, { "txt", "text/plain; charset=utf-8" },
	};
	const char *name = strrchr(key, '/'), *dot = strrchr(name != NULL ? name : key, '.');

	for (size_t i = 0; dot != NULL && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(dot + 1, types[i].ending) == 0)
			return types[i].type;
	return "application/octet-stream";
}

/* No segment may be empty, "." or "..". */
bool
store_is_key(const char *key)
{
	size_t n = strlen(key);

	if (n >= STORE_KEY_MAX || strspn(key, KEY_CHARACTERS) != n)
		return false;
	for (;; key += n + 1) {
		n = strcspn(key, "/");
		if (n == 0 || (n == 1 && key[0] == '.') || (n == 2 && key[0] == '.' && key[1] == '.'))
			return false;
		if (key[n] == '\0')
			return true;
	}
}

/* Is it, or does it lie below, that folder? */
static bool
is_below(const char *key, const char *folder)
{
	const size_t n = strlen(folder);

	return strncmp(key, folder, n) == 0 && (key[n] == '/' || key[n] == '\0');
}

bool
store_grows(const char *key)
{
	return is_below(key, "uploads") || is_below(key, "live") ||
	    (strncmp(key, "play/", 5) == 0 && strlen(key) > 5 + UUID_TEXT && is_below(key + 5 + UUID_TEXT, "live"));
}

/* Who has it.  What arrives does so on this machine, wherever it goes then.  A key that is not ours is a fault of
 * ours; n: its characters. */
static const struct store_kind *
kind_of(const char *key, size_t n)
{
	char text[STORE_KEY_MAX];

	snprintf(text, sizeof(text), "%.*s", (int)n, key);
	if (kind == NULL || n >= sizeof(text) || !store_is_key(text)) {
		log_text(LOG_LEVEL_ERROR, "store", "%s: %s", kind == NULL ? "not opened" : "not a key", key);
		abort();
	}
	return store_grows(text) ? &store_local : kind;
}

static const struct store_kind *
of(const char *key)
{
	return kind_of(key, strlen(key));
}

/* Whoever waits for the rows would wait for the bucket, too. */
static void
unheld(const char *key)
{
	if (db_holds_rows()) {
		log_text(LOG_LEVEL_ERROR, "store", "%s is asked for while a transaction holds rows", key);
#ifdef __SANITIZE_ADDRESS__
		abort();
#endif
	}
}

static const struct store_kind *
of_unheld(const char *key)
{
	unheld(key);
	return of(key);
}

bool
store_put(struct arena *mem, const char *file, const char *key)
{
	return of_unheld(key)->put(mem, file, key);
}

bool
store_put_begin(struct arena *mem, const char *file, const char *key, struct store_putting *p)
{
	*p = (struct store_putting){ .file = file, .key = key };
	return of_unheld(key)->put_begin(mem, p);
}

bool
store_put_end(struct arena *mem, const struct store_putting *p)
{
	return of(p->key)->put_end(mem, p);
}

void
store_put_drop(const struct store_putting *p)
{
	of(p->key)->put_drop(p);
}

bool
store_write(struct arena *mem, const void *bytes, size_t n, const char *key)
{
	return of_unheld(key)->write(mem, bytes, n, key);
}

char *
store_get(struct arena *mem, const char *key, size_t max, size_t *n)
{
	return of_unheld(key)->get(mem, key, max, n);
}

char *
store_get_range(struct arena *mem, const char *key, int64_t from, size_t n)
{
	return of_unheld(key)->get_range(mem, key, from, n);
}

const char *
store_fetch(struct arena *mem, const char *key, const char *scratch)
{
	return of_unheld(key)->fetch(mem, key, scratch);
}

int64_t
store_size(struct arena *mem, const char *key)
{
	return of_unheld(key)->size(mem, key);
}

bool
store_has(struct arena *mem, const char *key, bool *there)
{
	*there = store_size(mem, key) >= 0;
	return *there || errno == ENOENT || errno == ENOTDIR;
}

bool
store_has_now(struct arena *mem, const char *key, bool *there)
{
	*there = false;
	return of(key)->has_now == NULL || of(key)->has_now(mem, key, there);
}

char *
store_get_now(struct arena *mem, const char *key, size_t max, size_t *n)
{
	*n = 0;
	errno = ENOENT;
	return of(key)->get_now != NULL ? of(key)->get_now(mem, key, max, n) : NULL;
}

const char *
store_address(struct arena *mem, const char *key, const char *method, const char *disposition, struct moment now,
    struct moment until)
{
	errno = ENOENT;
	return of(key)->address != NULL ? of(key)->address(mem, key, method, disposition, now, until) : NULL;
}

const char *
store_origin(const struct conf *conf)
{
	if ((conf->store == NULL || strcmp(conf->store, "s3") != 0) && conf->store_also == NULL)
		return NULL;
	return conf->store_public_endpoint != NULL ? conf->store_public_endpoint : conf->store_endpoint;
}

bool
store_delete(struct arena *mem, const char *key)
{
	/* What grew below it lies here, wherever the rest does. */
	return of_unheld(key)->remove(mem, key) && (kind == &store_local || store_local.remove(mem, key));
}

struct store_entry *
store_list(struct arena *mem, const char *prefix, const char *after, size_t max, size_t *n)
{
	unheld(prefix);
	return kind_of(prefix, strlen(prefix) - 1)->list(mem, prefix, after, max, n);
}

bool
store_serve(struct arena *mem, struct uuid media_id, bool served)
{
	return kind->serve(mem, media_id, served);
}

bool
store_served(struct arena *mem, struct uuid media_id)
{
	return kind->served(mem, media_id);
}

int
store_tidy(struct moment before)
{
	return kind->tidy(before);
}

bool
store_probe(struct arena *mem)
{
	const char *key = arena_printf(mem, "probe/%s", uuid_text(mem, uuid_new()));
	const char *bytes;
	size_t n;
	int saved;

	if (!store_write(mem, key, strlen(key), key))
		return false;
	bytes = store_get(mem, key, strlen(key), &n);
	if (bytes != NULL && strcmp(bytes, key) != 0) {
		bytes = NULL;
		errno = EREMOTEIO;
	}
	saved = errno;
	if (!store_delete(mem, key))
		return false;
	errno = saved;
	return bytes != NULL;
}

const char *
store_incoming(struct arena *mem, struct uuid upload_id)
{
	return store_local_path(mem, store_key_upload(mem, upload_id));
}

int64_t
store_incoming_free(void)
{
	return store_local.free();
}

int64_t
store_growing_free(void)
{
	return store_local_left();
}

int64_t
store_free(void)
{
	return kind == NULL ? 0 : kind->free();
}
