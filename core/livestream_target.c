/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses that livestreams are sent on to, and how it goes. */
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/event.h"
#include "core/livestream.h"
#include "core/livestream_target.h"
#include "core/seal.h"

static const struct field target_fields[] = {
	FIELD(struct livestream_target, id, .doc = "Unique id"),
	FIELD(struct livestream_target, livestream_id, .doc = "The livestream"),
	FIELD(struct livestream_target, sealed, .doc = "Its address"),
	FIELD(struct livestream_target, reason, .doc = "Why it has failed"),
};
static const struct record target_record = RECORD("LivestreamTargetSealed", struct livestream_target, target_fields);

static const char *
decoded(struct arena *mem, const char *text, size_t n)
{
	char *out = arena_copy_n(mem, text, n);
	const long size = percent_decode(out, n, false);

	if (size <= 0)
		return NULL;
	out[size] = '\0';
	return out;
}

static bool
read_option(struct livestream_address *a, const char *name, const char *value)
{
	int64_t number = 0;
	const size_t n = strlen(value);
	const bool is_number = int_parse(value, &number);

	if (strcmp(name, "streamid") == 0) {
		a->stream_id = value;
		return n > 0 && n <= 512;
	}
	if (strcmp(name, "passphrase") == 0) {
		a->passphrase = value;
		return n >= 10 && n <= 79;
	}
	if (strcmp(name, "pbkeylen") == 0) {
		a->key_bytes = (int)number;
		return is_number && (number == 16 || number == 24 || number == 32);
	}
	if (strcmp(name, "latency") == 0) {
		a->latency = (int)number;
		return is_number && number >= 20 && number <= 8000;
	}
	return strcmp(name, "mode") == 0 && strcmp(value, "caller") == 0;
}

/* "srt://host:port?streamid=…&passphrase=…", as programs of libsrt take it. */
static bool
read_srt(struct arena *mem, const char *url, struct livestream_address *a)
{
	const char *rest = strstr(url, "://") + 3, *value;
	size_t n, name;

	rest += strcspn(rest, "/?");
	rest += *rest == '/';
	if (*rest != '\0' && *rest != '?')
		return false;
	rest += *rest == '?';
	a->key = rest;
	for (; *rest != '\0'; rest += n + (rest[n] == '&')) {
		n = strcspn(rest, "&");
		name = strcspn(rest, "=&");
		value = name < n ? decoded(mem, rest + name + 1, n - name - 1) : NULL;
		if (value == NULL || !read_option(a, arena_copy_n(mem, rest, name), value))
			return false;
	}
	return true;
}

static const char *
read_rtmp(struct arena *mem, const char *url, struct livestream_address *a)
{
	static const char example[] = "an application and a key have to follow its host, as in "
	    "rtmps://live.example.org/app/KEY";
	const char *path = strchr(strstr(url, "://") + 3, '/'), *end;

	if (path == NULL)
		return example;
	for (end = path + strcspn(path, "?"); end > path && *end != '/'; end--)
		continue;
	if (end == path || end - path - 1 > LIVESTREAM_TARGET_APP || strspn(end, "/?") == strlen(end) || end[1] == '?')
		return example;
	a->app = arena_copy_n(mem, path + 1, (size_t)(end - path - 1));
	a->key = end + 1;
	return NULL;
}

/* Encoders ask for an address and a key, and join them by a slash: what is behind the last one is the key, with any
 * parameters that it has. */
const char *
livestream_address_read(struct arena *mem, const char *url, struct livestream_address *a)
{
	const char *wrong;

	*a = (struct livestream_address){ .app = NULL };
	wrong = web_target_read(mem, url, "rtmp rtmps srt", &a->to);
	if (wrong != NULL)
		return wrong;
	if (strlen(url) > LIVESTREAM_TARGET_URL || strchr(url, '#') != NULL)
		return "it is too long, or holds a #";
	if (strcmp(a->to.scheme, "srt") != 0)
		return read_rtmp(mem, url, a);
	return read_srt(mem, url, a) ? NULL : "options of SRT alone may follow its port, as in "
	    "srt://live.example.org:9000?streamid=KEY";
}

struct web_refusal
livestream_address_refuse(const struct conf *conf, struct arena *mem, const char *url)
{
	struct livestream_address a;
	const char *wrong = livestream_address_read(mem, url, &a);

	if (wrong != NULL)
		return (struct web_refusal){ .why = wrong };
	return web_target_refuse(mem, &a.to, conf->live_private_hosts);
}

const char *
livestream_address_shown(struct arena *mem, const char *url)
{
	struct livestream_address a;

	if (livestream_address_read(mem, url, &a) != NULL)
		return "***";
	return arena_printf(mem, "%.*s%s", (int)(a.key - url), url, *a.key != '\0' ? "***" : "");
}

static const char *
status_of(const struct livestream_target_news *n)
{
	return n->sends ? "sending" : n->fails ? "failed" : "waiting";
}

/* A new state is told to those who look on; one that fails again and again is not another one each time. */
void
livestream_target_tell(struct db *db, struct uuid livestream_id, struct uuid id, const char *node,
    const struct livestream_target_news *n)
{
	const char *status = status_of(n), *reason = n->fails ? n->reason : NULL;
	const struct livestream *l;
	bool changed;

	if (reason != NULL && !word_in(LIVESTREAM_TARGET_REASONS, reason, strlen(reason)))
		abort();
	changed = db_number(db, "SELECT t.status <> ? OR NOT (t.reason <=> ?) FROM livestream_targets t WHERE t.id = ?",
	    ARGS(STR(status), STR(reason), ID(id)), 0) == 1;
	if (db_run(db, "UPDATE livestream_targets t JOIN livestreams l ON l.id = t.livestream_id SET t.since = "
	    "IF(t.status = ?, t.since, " SQL_NOW "), t.status = ?, t.reason = ?, t.retry_at = IF(? > 0, " SQL_NOW " + ?, 0), "
	    "t.bytes_sent = t.bytes_sent + ?, t.dropped_frames = t.dropped_frames + ? WHERE t.id = ? AND l.id = ? AND l.holder = ?",
	    ARGS(STR(status), STR(status), STR(reason), INT(n->retry_ms), INT(n->retry_ms), INT(n->bytes), INT(n->dropped),
	    ID(id), ID(livestream_id), STR(node))) != 1 || !changed)
		return;
	l = livestream_get(db, livestream_id);
	if (l != NULL)
		event_add_job(db, l->media_id, "livestream.updated", livestream_event(db_arena(db), l->id, l->media_id,
		    l->status));
}

struct livestream_target *
livestream_targets_of(struct db *db, const struct conf *conf, const char *node, size_t *n)
{
	size_t all, i;
	struct livestream_target *t = db_rows(db, &target_record, "FROM livestream_targets t JOIN livestreams l ON "
	    "l.id = t.livestream_id WHERE l.holder = ? AND l.published_at > 0 AND l.status IN ('waitingForSignal', "
	    "'live', 'interrupted') AND t.enabled = 1", ARGS(STR(node)), &all);
	const struct livestream_target_news sealed = { .fails = true, .reason = "sealed" };
	unsigned char *bytes;
	long size;

	*n = 0;
	for (i = 0; i < all; i++) {
		size = unseal(conf, db_arena(db), LIVESTREAM_TARGET_PURPOSE, t[i].sealed, &bytes);
		if (size < 0 && (t[i].reason == NULL || strcmp(t[i].reason, sealed.reason) != 0))
			livestream_target_tell(db, t[i].livestream_id, t[i].id, node, &sealed);
		if (size < 0)
			continue;
		t[*n] = t[i];
		t[(*n)++].url = arena_copy_n(db_arena(db), (const char *)bytes, (size_t)size);
	}
	return t;
}

void
livestream_targets_rest(struct db *db, struct uuid livestream_id)
{
	db_run(db, "UPDATE livestream_targets SET status = 'waiting', reason = NULL, retry_at = 0, since = " SQL_NOW
	    " WHERE livestream_id = ? AND status <> 'waiting'", ARGS(ID(livestream_id)));
}
