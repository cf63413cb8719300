/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop of kinothek-live. */
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/store.h"
#include "fcgi/live/broadcast.h"
#include "fcgi/live/flush.h"
#include "fcgi/live/hall.h"
#include "fcgi/live/relay.h"
#include "fcgi/live/srt.h"
#include "fcgi/live/station.h"
#include "fcgi/live/tls.h"
#include "fcgi/live/visitor.h"

enum {
	TICK_MS = 250,
	SHAKE_MS = 5000, ASK_MS = 10000,	/* after it has connected */
	SILENCE_MS = 30000,			/* of who publishes; then the connection is closed */
	STILL_SENDS_MS = 500,			/* after somebody else has come to the same input */
	LOOK_MS = 2000,				/* from one look at the files of the certificate to the next */
	FAREWELL_MS = 2000,			/* that targets have to be told of the end */
	EVENTS = 64,
	PATHS = 1 << 20,
};

struct station {
	const struct conf *conf;
	struct desk *desk;
	int epoll;
	struct visitor *visitors;
	struct broadcast *broadcasts;
	struct hall *hall;		/* NULL: no viewer comes here */
	struct tls *tls;
	struct srt *srt;		/* NULL: none */
	int64_t tick_at, look_at;
};

/* --- who is there */

static struct visitor *
visitor_of(const struct station *s, uint64_t id)
{
	struct visitor *v;

	for (v = s->visitors; v != NULL; v = v->next)
		if (v->id == id && !v->gone)
			return v;
	return NULL;
}

static struct broadcast *
broadcast_of(const struct station *s, struct uuid id)
{
	struct broadcast *b;

	for (b = s->broadcasts; b != NULL; b = b->next)
		if (uuid_equal(b->what.id, id) && !b->gone)
			return b;
	return NULL;
}

static struct broadcast *
broadcast_for(struct station *s, const struct desk_stream *what)
{
	struct broadcast *b = broadcast_of(s, what->id);

	if (b == NULL) {
		b = broadcast_new(s->conf, s->desk, what);
		b->next = s->broadcasts;
		s->broadcasts = b;
	}
	return b;
}

static void
drop(struct visitor *v)
{
	if (v->gone)
		return;
	if (v->stream != NULL)
		broadcast_leave(v->stream, v);
	v->gone = true;
}

/* What has happened may still name them until all of it was looked at, and broadcasts name who sends to them. */
static void
sweep(struct station *s)
{
	struct visitor **v = &s->visitors, *old;
	struct broadcast **b = &s->broadcasts, *over;

	while ((over = *b) != NULL) {
		if (!over->gone) {
			b = &over->next;
			continue;
		}
		*b = over->next;
		broadcast_free(over);
	}
	while ((old = *v) != NULL) {
		if (!old->gone) {
			v = &old->next;
			continue;
		}
		*v = old->next;
		visitor_free(old);
	}
}

/* --- what encoders say */

static void
refuse(struct station *s, struct visitor *v, const char *reason, const char *description)
{
	struct desk_note n = { .word = DESK_REFUSED, .stream = v->whose };

	log_line(LOG_LEVEL_INFO, "live", LOG_TEXT("from", v->address), LOG_TEXT("refused", reason));
	if (!uuid_is_none(v->whose.id)) {
		snprintf(n.address, sizeof(n.address), "%s", v->address);
		snprintf(n.reason, sizeof(n.reason), "%s", reason);
		desk_put(s->desk, &n);
	}
	visitor_refuse(v, description);
	if (!visitor_flush(v))
		drop(v);
}

/* Encoders call the path of the address so. */
static const char *
application(const struct conf *conf)
{
	const char *host = conf->live_url != NULL ? strstr(conf->live_url, "://") : NULL;
	const char *path = host != NULL ? strchr(host + 3, '/') : NULL;

	return path != NULL && path[1] != '\0' ? path + 1 : "live";
}

static void
on_publish(void *user, const char *app, const char *key)
{
	struct visitor *v = user;
	struct station *s = v->station;
	struct desk_note n = { .word = DESK_WHOSE };
	char text[400];

	snprintf(n.key, sizeof(n.key), "%s", key);
	snprintf(n.address, sizeof(n.address), "%s", v->address);
	if (strcmp(app, application(s->conf)) == 0) {
		v->stage = VISITOR_ASKS;
		v->asked_at = clock_ms();
		n.visitor = v->id;
		desk_put(s->desk, &n);
		return;
	}
	/* The key may be good: whose it is can read why nothing comes. */
	snprintf(n.reason, sizeof(n.reason), "application");
	desk_put(s->desk, &n);
	snprintf(text, sizeof(text), "The address of the service ends in /%s.", application(s->conf));
	refuse(s, v, n.reason, text);
}

static bool
on_media(void *user, int kind, uint32_t ms, const uint8_t *bytes, size_t n)
{
	struct visitor *v = user;

	return v->stream != NULL && broadcast_media(v->stream, v, kind, ms, bytes, n);
}

static void
on_unpublish(void *user)
{
	struct visitor *v = user;

	if (v->stream != NULL)
		broadcast_leave(v->stream, v);
	visitor_refuse(v, "Unpublished.");
}

static const struct rtmp_calls calls = { on_publish, on_media, on_unpublish };

/* --- who finds a place */

static bool
is_stranger(const struct visitor *v)
{
	return !v->gone && !v->granted;
}

/* Is there a place for one more from there?  Who has an IPv6 address has 2^64 of them.  Where all are taken, who has
 * been silent for the longest leaves: encoders say their key at once, and those who never do keep none of them out. */
static bool
has_place(const struct station *s, const char *address)
{
	char network[PEER_NETWORK];
	struct visitor *v, *oldest = NULL;
	int all = 0, same = 0;

	peer_network(address, network);
	for (v = s->visitors; v != NULL; v = v->next)
		if (is_stranger(v)) {
			all++;
			same += strcmp(v->network, network) == 0;
			/* The last one came first. */
			oldest = v->stage == VISITOR_TALKS ? v : oldest;
		}
	if (same >= STATION_OF_ADDRESS || (all >= STATION_STRANGERS && oldest == NULL))
		return false;
	if (all >= STATION_STRANGERS)
		drop(oldest);
	return true;
}

/* --- what comes by SRT */

static struct visitor *
visitor_on(const struct station *s, int line)
{
	struct visitor *v;

	for (v = s->visitors; v != NULL; v = v->next)
		if (v->srt != NULL && v->line == line && !v->gone)
			return v;
	return NULL;
}

/* Whose key it is decides the database, as for others.  Of one that was refused it keeps the reason. */
static void
ask_for(struct station *s, const struct srt_note *note)
{
	struct desk_note n = { .word = DESK_WHOSE };
	struct visitor *v;

	if (note->word == SRT_CAME && !has_place(s, note->address)) {
		srt_hang_up(s->srt, note->line);
		return;
	}
	if (note->word == SRT_CAME) {
		v = visitor_new_line(s, s->srt, note->line, note->address, on_media);
		v->next = s->visitors;
		s->visitors = v;
		n.visitor = v->id;
	} else if (note->word == SRT_LOCKED) {
		snprintf(n.reason, sizeof(n.reason), "passphrase");
	} else if (note->word == SRT_BUSY) {
		snprintf(n.reason, sizeof(n.reason), "busy");
	}
	snprintf(n.key, sizeof(n.key), "%s", note->key);
	snprintf(n.address, sizeof(n.address), "%s", note->address);
	if (desk_put(s->desk, &n) && note->word != SRT_CAME)
		log_line(LOG_LEVEL_INFO, "live", LOG_TEXT("from", note->address), LOG_TEXT("refused", "srt"));
}

static void
take_line(struct station *s, struct visitor *v, const struct srt_note *note)
{
	const char *fault = visitor_take(v, note->bytes, note->n);

	/* Who was sent away for another reason has left already. */
	if (fault == NULL || v->stream == NULL)
		return;
	broadcast_leave(v->stream, v);
	refuse(s, v, "format", fault);
}

static void
listen_to_lines(struct station *s)
{
	struct srt_note *note;
	struct visitor *v;

	while ((note = srt_take(s->srt)) != NULL) {
		v = note->line != 0 ? visitor_on(s, note->line) : NULL;
		if (note->word == SRT_BYTES && v != NULL)
			take_line(s, v, note);
		else if (note->word == SRT_GONE && v != NULL)
			drop(v);
		else if (note->word != SRT_BYTES && note->word != SRT_GONE)
			ask_for(s, note);
		free(note);
	}
}

/* --- what the desk says */

static const char *
sentence(const char *reason)
{
	static const struct { const char *reason, *text; } known[] = {
		{ "unknown", "There is no livestream with this stream key." },
		{ "notStarted", "This livestream has not been started." },
		{ "over", "This livestream has ended." },
		{ "oldKey", "This stream key was replaced by a new one." },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].reason, reason) == 0)
			return known[i].text;
	return "The service cannot reach its database. Try again.";
}

/* Who came before on the same input keeps it as long as it sends; one that is silent makes room for who comes.  True:
 * it is settled. */
static bool
settle_place(struct station *s, struct visitor *v, int64_t now)
{
	struct broadcast *b = broadcast_for(s, &v->whose);
	struct visitor *before = b->inputs[v->is_primary ? 0 : 1];

	if (before == NULL || now - before->sent_at >= BROADCAST_SILENCE_MS) {
		if (before != NULL) {
			drop(before);
			shutdown(before->fd, SHUT_RDWR);
		}
		broadcast_enter(b, v);
		return true;
	}
	if (before->sent_at < v->asked_at + STILL_SENDS_MS)
		return false;
	refuse(s, v, "busy", "Another encoder is sending to this livestream.");
	return true;
}

/* What has begun may go on where nothing else may begin. */
static bool
has_room(const struct station *s, struct uuid id)
{
	const struct broadcast *b = broadcast_of(s, id);

	return b != NULL && b->packager != NULL ? store_growing_free() > 0 : store_incoming_free() > 0;
}

static void
key_known(struct station *s, const struct desk_note *n)
{
	struct visitor *v = visitor_of(s, n->visitor);

	if (v == NULL || v->stage == VISITOR_LEAVES)
		return;
	if (n->word == DESK_NONE) {
		if (v->stream != NULL)
			broadcast_leave(v->stream, v);
		/* The desk has noted it where the stream is known. */
		refuse(s, v, n->reason, sentence(n->reason));
		return;
	}
	if (v->stage != VISITOR_ASKS)
		return;
	v->whose = n->stream;
	v->is_primary = n->is_primary;
	if (!has_room(s, v->whose.id)) {
		refuse(s, v, "unavailable", BROADCAST_NO_ROOM);
		return;
	}
	v->stage = VISITOR_WAITS;
	settle_place(s, v, clock_ms());
}

static void
claimed(struct station *s, const struct desk_note *n)
{
	struct broadcast *b = broadcast_of(s, n->stream.id);

	if (b != NULL)
		broadcast_claimed(b, n);
	else if (n->session > 0)
		desk_put(s->desk, &(struct desk_note){ .word = DESK_RELEASE, .stream = n->stream });
}

/* One that nobody here takes in may have been left by another process, whose viewers wait for its end. */
static void
finish(struct station *s, const struct desk_note *n)
{
	struct broadcast *b = broadcast_of(s, n->stream.id);
	struct arena *mem;
	const char *file;

	if (b == NULL || b->packager == NULL) {
		mem = arena_new(PATHS);
		file = livestream_play_file(mem, s->conf, n->stream.id, LIVESTREAM_PLAYLIST);
		if (store_size(mem, store_key_play(mem, n->stream.media_id, file)) >= 0) {
			b = broadcast_for(s, &n->stream);
			broadcast_open(b);
		}
		arena_free(mem);
	}
	if (b != NULL)
		broadcast_finish(b);
	else
		desk_put(s->desk, &(struct desk_note){ .word = DESK_END, .stream = n->stream });
}

static void
round_ends(struct station *s)
{
	struct broadcast *b;

	for (b = s->broadcasts; b != NULL; b = b->next) {
		if (b->held && !b->seen && !b->gone)
			broadcast_lose(b);
		b->seen = false;
		simulcast_named_all(b->simulcast);
	}
}

static void
listen_to_desk(struct station *s)
{
	struct desk_note *n;
	struct broadcast *b;

	while ((n = desk_take(s->desk)) != NULL) {
		b = n->word == DESK_HELD || n->word == DESK_TARGET || n->word == DESK_LOST ?
		    broadcast_of(s, n->stream.id) : NULL;
		if (b != NULL && n->word == DESK_TARGET)
			simulcast_want(b->simulcast, n->target, n->url);
		else if (b != NULL && n->word == DESK_LOST)
			broadcast_lose(b);
		else if (b != NULL)
			broadcast_held(b, n->on);
		else if (n->word == DESK_WHOSE || n->word == DESK_NONE)
			key_known(s, n);
		else if (n->word == DESK_CLAIM)
			claimed(s, n);
		else if (n->word == DESK_FINISH)
			finish(s, n);
		else if (n->word == DESK_ROUND)
			round_ends(s);
		free(n);
	}
}

/* --- doors and clocks */

static void
open_door(struct station *s, const struct door *door)
{
	struct sockaddr_storage from;
	socklen_t n = sizeof(from);
	char address[DESK_ADDRESS];
	int fd = accept4(door->fd, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct tls_line *tls = NULL;
	struct visitor *v;

	if (fd < 0)
		return;
	if (getnameinfo((struct sockaddr *)&from, n, address, sizeof(address), NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(address, sizeof(address), "unknown");
	if (!has_place(s, address) || (door->by_tls && (tls = tls_line(s->tls, fd)) == NULL)) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	v = visitor_new(s, fd, tls, s->epoll, address, &calls);
	v->next = s->visitors;
	s->visitors = v;
}

static void
look_at_clock(struct station *s, struct visitor *v, int64_t now)
{
	if (v->stage == VISITOR_TALKS && now - v->came_at >= (rtmp_stage(v->rtmp) == RTMP_SHAKES ? SHAKE_MS : ASK_MS))
		drop(v);
	else if (v->stage == VISITOR_WAITS)
		settle_place(s, v, now);
	else if (v->stage == VISITOR_LEAVES && now >= v->leave_at)
		drop(v);
	else if (v->stage == VISITOR_SENDS && v->granted && now - v->sent_at >= SILENCE_MS)
		drop(v);
}

static void
tick(struct station *s)
{
	int64_t now = clock_ms();
	struct visitor *v;
	struct broadcast *b;

	if (now < s->tick_at)
		return;
	s->tick_at = now + TICK_MS;
	if (now >= s->look_at) {
		s->look_at = now + LOOK_MS;
		tls_look(s->tls, false);
	}
	for (v = s->visitors; v != NULL; v = v->next)
		if (!v->gone)
			look_at_clock(s, v, now);
	for (b = s->broadcasts; b != NULL; b = b->next)
		if (!b->gone)
			broadcast_tick(b, now);
}

static void
watch(struct station *s, int fd, const void *what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = (void *)(uintptr_t)what };

	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		abort();
}

/* False: the end. */
static bool
hear_signal(struct station *s, int signals)
{
	struct signalfd_siginfo said;

	if (read(signals, &said, sizeof(said)) != sizeof(said))
		return true;
	if (said.ssi_signo != SIGHUP)
		return false;
	tls_look(s->tls, true);
	return true;
}

/* What can be read is a door, the desk, the hall, a signal, or a visitor: its address tells.  False: the end. */
static bool
happened(struct station *s, const struct epoll_event *e, const struct door *doors, size_t n, const int *signals)
{
	const struct door *door = e->data.ptr;
	struct visitor *v = e->data.ptr;

	if (e->data.ptr == signals)
		return hear_signal(s, *signals);
	if (e->data.ptr == s->desk)
		listen_to_desk(s);
	else if (s->srt != NULL && e->data.ptr == s->srt)
		listen_to_lines(s);
	else if (e->data.ptr == s->hall)
		hall_attend(s->hall);
	else if (door >= doors && door < doors + n)
		open_door(s, door);
	else if (!v->gone && !visitor_attend(v, e->events))
		drop(v);
	return true;
}

static void
close_all(struct station *s)
{
	struct visitor *v;
	struct broadcast *b;

	for (b = s->broadcasts; b != NULL; b = b->next)
		if (!b->gone)
			broadcast_release(b);
	for (v = s->visitors; v != NULL; v = v->next)
		v->gone = true;
	sweep(s);
}

void
station_run(const struct conf *conf, const struct door *doors, size_t n, struct srt *srt, int viewers,
    int signals)
{
	struct station s = { .conf = conf, .srt = srt, .desk = desk_open(conf, srt),
		.epoll = epoll_create1(EPOLL_CLOEXEC) };
	struct epoll_event events[EVENTS];
	bool goes_on = true;
	size_t i;
	int found, j;

	if (s.epoll < 0)
		abort();
	s.tls = tls_open(conf);
	for (i = 0; i < n; i++)
		watch(&s, doors[i].fd, &doors[i]);
	watch(&s, signals, &signals);
	watch(&s, desk_fd(s.desk), s.desk);
	if (srt != NULL)
		watch(&s, srt_fd(srt), srt);
	if (viewers >= 0) {
		s.hall = hall_open(conf, viewers, s.desk, &s.broadcasts);
		watch(&s, hall_fd(s.hall), s.hall);
	}
	while (goes_on) {
		found = epoll_wait(s.epoll, events, EVENTS, TICK_MS);
		for (j = 0; j < found; j++)
			goes_on = happened(&s, &events[j], doors, n, &signals) && goes_on;
		tick(&s);
		if (s.hall != NULL)
			hall_tell(s.hall, clock_ms());
		sweep(&s);
	}
	if (s.hall != NULL)
		hall_close(s.hall);
	close_all(&s);
	desk_close(s.desk);
	relay_wait_for_all(FAREWELL_MS);
	if (srt != NULL)
		srt_end(srt);
	flush_end();
	tls_close(s.tls);
	close(s.epoll);
}
