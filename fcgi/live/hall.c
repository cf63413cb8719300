/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of viewers, and what is told to all who wait for the same. */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/failure.h"
#include "core/fcgi.h"
#include "core/fnv.h"
#include "core/peer.h"
#include "core/play.h"
#include "core/store.h"
#include "core/version.h"
#include "fcgi/live/ask.h"
#include "fcgi/live/hall.h"
#include "fcgi/live/viewers.h"

enum {
	EVENTS = 64, BACKLOG = 4096,
	OTHERS = 512,			/* descriptors that are not for viewers */
	NEWCOMERS = 1024,		/* whose request is not there as a whole, or whose answer is on its way */
	ASK_MS = 5000, TAKE_MS = 30000,	/* for a request; without anything of the answer being taken */
	LOOK_MS = 250,
	COUNT_MS = 4000,		/* what is told is known everywhere within ten seconds */
	TARGETS = 3,			/* so many of them is what a player waits for */
	TARGET_S = 6,			/* where it is not known */
	MEMORY = 128 << 20,
	FILE_MAX = 64 << 20,
	PEERS = 4096,
	LISTS = 4 * ASK_LISTS,		/* kinds: each list, what is older left out or not, with a body or without */
};

/* An answer in the records of FastCGI, of all who get the same at that moment. */
struct telling {
	int readers;
	unsigned id;
	struct ask of;
	bool head_only;
	int64_t changes;		/* packager_changes() of a list */
	size_t n;
	unsigned char *bytes;
};

enum stage { READS, WAITS, WRITES };
struct guest {
	struct guest *before, *next, *next_gone;
	int fd;
	bool gone;
	enum stage stage;
	unsigned peer;			/* where it is counted while it waits */
	int64_t until;			/* ms of clock_ms() */
	struct fcgi in;
	bool head_only, plain;		/* plain: nobody waits there */
	struct ask ask;
	struct telling *telling;
	size_t sent;
};

/* Who watches a livestream. */
struct room {
	struct room *next;
	struct uuid media_id;
	struct viewers viewers;
	int64_t told, peak;
};

struct hall {
	const struct conf *conf;
	struct desk *desk;
	struct broadcast *const *broadcasts;
	struct room *rooms;
	int epoll, door;
	struct guest *guests, *gone;
	bool is_full;			/* no descriptor is left for a newcomer */
	int64_t n, waiting, look_at, count_at, places;	/* places: for those who wait */
	int64_t share;			/* and those of one address: else one alone could keep all others out */
	int64_t of_peer[PEERS];		/* that wait, by what a hash makes of their address */
	uint64_t salt;
	struct telling *shown;		/* the last file, as long as it holds */
	struct telling *lists[LISTS];	/* the last one of each kind, which holds until the list changes */
	struct arena *mem;		/* of one answer */
};

/* --- answers */

static void
telling_free(struct telling *p)
{
	if (p == NULL || --p->readers > 0)
		return;
	free(p->bytes);
	free(p);
}

/* In pieces, and their end. */
static struct telling *
telling_make(const struct guest *g, const struct buf *head, const void *body, size_t n)
{
	struct telling *p = calloc(1, sizeof(*p));
	const size_t all = head->len + (g->head_only ? 0 : n), pieces = all / FCGI_PIECE_MAX + 1;
	size_t at, size;
	unsigned char *to;
	char *text = malloc(all + 1);

	if (p == NULL || text == NULL)
		abort();
	memcpy(text, head->text, head->len);
	if (all > head->len)
		memcpy(text + head->len, body, n);
	to = p->bytes = malloc(all + pieces * FCGI_HEADER + 3 * FCGI_HEADER);
	if (to == NULL)
		abort();
	for (at = 0; at < all; at += size) {
		size = all - at < FCGI_PIECE_MAX ? all - at : FCGI_PIECE_MAX;
		fcgi_piece(to, g->in.id, size);
		memcpy(to + FCGI_HEADER, text + at, size);
		to += FCGI_HEADER + size;
	}
	fcgi_last(to, g->in.id);
	p->n = (size_t)(to - p->bytes) + 3 * FCGI_HEADER;
	p->readers = 1;
	p->id = g->in.id;
	p->of = g->ask;
	p->head_only = g->head_only;
	free(text);
	return p;
}

static void
stage(struct hall *h, struct guest *g, enum stage next, int64_t until)
{
	const int more = (next == WAITS) - (g->stage == WAITS);

	h->waiting += more;
	h->of_peer[g->peer] += more;
	g->stage = next;
	g->until = until;
}

static void
leave(struct hall *h, struct guest *g)
{
	if (g->gone)
		return;
	stage(h, g, WRITES, 0);
	g->gone = true;
	g->next_gone = h->gone;
	h->gone = g;
}

static void
watch(const struct hall *h, int fd, void *what, unsigned events, int how)
{
	struct epoll_event e = { .events = events, .data.ptr = what };

	if (epoll_ctl(h->epoll, how, fd, &e) != 0)
		abort();
}

/* What the connection takes now. */
static void
send_some(struct hall *h, struct guest *g)
{
	ssize_t done = 1;

	while (g->sent < g->telling->n && done > 0) {
		done = send(g->fd, g->telling->bytes + g->sent, g->telling->n - g->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (done > 0) {
			g->sent += (size_t)done;
			g->until = clock_ms() + TAKE_MS;
		} else if (errno == EINTR) {
			done = 1;
		} else if (errno != EAGAIN) {
			leave(h, g);
			return;
		}
	}
	if (g->sent == g->telling->n)
		leave(h, g);
	else
		watch(h, g->fd, g, EPOLLOUT, EPOLL_CTL_MOD);
}

static void
give(struct hall *h, struct guest *g, struct telling *p)
{
	g->telling = p;
	stage(h, g, WRITES, clock_ms() + TAKE_MS);
	send_some(h, g);
}

static void
forget(struct hall *h)
{
	telling_free(h->shown);
	h->shown = NULL;
}

/* Parts are as they are, lists are of a moment.  at: where it is kept for those who ask for the same. */
static struct telling *
give_bytes(struct hall *h, struct guest *g, struct telling **at, const char *type, const void *bytes, size_t n)
{
	struct buf head = BUF(h->mem);

	buf_printf(&head, "Status: 200\r\nContent-Type: %s\r\nCache-Control: %s\r\nContent-Length: %zu\r\n\r\n", type,
	    g->ask.what == ASK_PART ? "private, max-age=86400, immutable" : "no-store", n);
	telling_free(*at);
	*at = telling_make(g, &head, bytes, n);
	(*at)->readers++;
	give(h, g, *at);
	return *at;
}

static void
refuse(struct hall *h, struct guest *g, int status, enum error error, const char *message)
{
	static const struct faults none;
	char id[UUID_TEXT];
	struct buf head = BUF(h->mem), body = BUF(h->mem);
	const char *type;

	uuid_format(uuid_new(), id);
	type = failure_render(&body, error, message != NULL ? message : error_info(error)->text, &none, id,
	    fcgi_param(&g->in, h->mem, "HTTP_ACCEPT"));
	buf_printf(&head, "Status: %d\r\nX-Request-Id: %s\r\nX-Api-Version: %s\r\nCache-Control: no-store\r\n"
	    "Content-Type: %s\r\nContent-Length: %zu\r\n%s\r\n", status, id, API_VERSION, type, body.len,
	    status == 503 ? "Retry-After: 1\r\n" : "");
	give(h, g, telling_make(g, &head, body.text, body.len));
}

/* A browser asks whether it may ask: the web server says so. */
static void
give_nothing(struct hall *h, struct guest *g)
{
	struct buf head = BUF(h->mem);

	buf_text(&head, "Status: 204\r\nCache-Control: no-store\r\n\r\n");
	give(h, g, telling_make(g, &head, NULL, 0));
}

/* --- what is asked for */

static struct broadcast *
broadcast_into(const struct hall *h, struct uuid media_id)
{
	struct broadcast *b;

	for (b = *h->broadcasts; b != NULL; b = b->next)
		if (!b->gone && (b->held || b->packager != NULL) && uuid_equal(b->what.media_id, media_id))
			return b;
	return NULL;
}

/* The one that takes in what it asks for here. */
static struct broadcast *
broadcast_of(const struct hall *h, const struct ask *a)
{
	struct broadcast *b = broadcast_into(h, a->media_id);

	return b != NULL && play_secret_is(b->secret, a->folder) ? b : NULL;
}

/* What somebody got before, while that was the same. */
static bool
give_shown(struct hall *h, struct guest *g, struct telling *p, int64_t changes)
{
	if (p == NULL || p->id != g->in.id || p->changes != changes || p->head_only != g->head_only ||
	    p->of.skips != g->ask.skips || !uuid_equal(p->of.media_id, g->ask.media_id) ||
	    strcmp(p->of.folder, g->ask.folder) != 0 || strcmp(p->of.name, g->ask.name) != 0)
		return false;
	p->readers++;
	give(h, g, p);
	return true;
}

/* False: there is no such file. */
static bool
give_file(struct hall *h, struct guest *g, const char *name)
{
	const char *key = store_key_play(h->mem, g->ask.media_id, arena_printf(h->mem, "live/%s/%s", g->ask.folder,
	    name));
	const char *bytes;
	size_t n;

	if (give_shown(h, g, h->shown, 0))
		return true;
	bytes = store_get(h->mem, key, FILE_MAX, &n);
	if (bytes != NULL)
		give_bytes(h, g, &h->shown, store_type(key), bytes, n);
	return bytes != NULL;
}

/* Of captions nobody waits for what comes next. */
static bool
is_captions(const char *address, const char *end)
{
	const size_t n = sizeof(LIVESTREAM_CAPTIONS_LIST) - 1;

	return (size_t)(end - address) > n && memcmp(address, LIVESTREAM_CAPTIONS_LIST, n) == 0 && address[n] == '"';
}

/* The same playlist with the addresses of lists that this process answers, and the number of a new viewer in each. */
static void
lead(struct buf *out, const char *text)
{
	const char *name, *end;
	char behind[24];

	snprintf(behind, sizeof(behind), "?s=%016" PRIx64, viewers_number());
	for (; *text != '\0'; text = end + (*end != '\0')) {
		end = strchrnul(text, '\n');
		name = text[0] != '#' ? text : memmem(text, (size_t)(end - text), "URI=\"", 5);
		if (name == NULL || name == end || (name != text && is_captions(name + 5, end))) {
			buf_printf(out, "%.*s\n", (int)(end - text), text);
			continue;
		}
		name += name != text ? 5 : 0;
		buf_printf(out, "%.*slow-", (int)(name - text), text);
		for (; *name != '"' && name < end; name++)
			buf_char(out, *name);
		buf_printf(out, "%s%.*s\n", behind, (int)(end - name), name);
	}
}

/* False: there is none yet. */
static bool
give_master(struct hall *h, struct guest *g)
{
	const char *key = store_key_play(h->mem, g->ask.media_id, arena_printf(h->mem, "live/%s/%s", g->ask.folder,
	    LIVESTREAM_PLAYLIST));
	struct buf text = BUF(h->mem);
	const char *plain;
	size_t n;

	plain = store_get(h->mem, key, FILE_MAX, &n);
	if (plain == NULL)
		return false;
	lead(&text, plain);
	give_bytes(h, g, &h->shown, store_type(key), text.text, text.len);
	/* Nobody else gets these numbers. */
	forget(h);
	return true;
}

static void
give_list(struct hall *h, struct guest *g, const struct broadcast *b)
{
	const struct ask *a = &g->ask;
	const struct live_list *l = packager_list_named(b->packager, a->word);
	const int64_t changes = packager_changes(b->packager);
	struct telling **at = &h->lists[(unsigned)a->list << 2 | (unsigned)a->skips << 1 | g->head_only];
	struct buf text = BUF(h->mem);

	if (give_shown(h, g, *at, changes))
		return;
	list_write_low(l, packager_list(b->packager, a->list != ASK_AUDIO), a->skips, &text);
	give_bytes(h, g, at, store_type(LIVESTREAM_PLAYLIST), text.text, text.len)->changes = changes;
}

static enum list_turn
turn_of(const struct ask *a, const struct broadcast *b)
{
	const struct live_list *l = packager_list_named(b->packager, a->word);

	if (a->what == ASK_LIST && l->n == 0)
		return LIST_LATER;
	return a->what == ASK_LIST && a->number < 0 ? LIST_NOW : list_turn(l, a->number, a->place);
}

/* It watches: there is such a livestream. */
static void
see(struct hall *h, const struct ask *a)
{
	struct room *r;

	if (a->what != ASK_LIST || a->viewer == 0)
		return;
	for (r = h->rooms; r != NULL && !uuid_equal(r->media_id, a->media_id);)
		r = r->next;
	if (r == NULL) {
		r = calloc(1, sizeof(*r));
		if (r == NULL)
			abort();
		r->media_id = a->media_id;
		r->next = h->rooms;
		h->rooms = r;
	}
	viewers_see(&r->viewers, a->viewer, clock_ms());
}

/* What is not taken in here, is what lies there.  False: nothing. */
static bool
give_what_lies_there(struct hall *h, struct guest *g)
{
	if (g->ask.what != ASK_LIST)
		return give_file(h, g, g->ask.name);
	if (!give_file(h, g, arena_printf(h->mem, "%s.m3u8", g->ask.word)))
		return false;
	see(h, &g->ask);
	return true;
}

/* True: it has its answer. */
static bool
serve(struct hall *h, struct guest *g, const struct broadcast *b)
{
	const struct ask *a = &g->ask;
	enum list_turn turn;

	if (a->what == ASK_MASTER)
		return give_master(h, g);
	if (b == NULL || b->packager == NULL || g->plain)
		return give_what_lies_there(h, g);
	see(h, a);
	turn = turn_of(a, b);
	if (turn == LIST_NEVER && a->what == ASK_LIST)
		refuse(h, g, 400, ERR_BAD_REQUEST, "What is asked for lies too far ahead.");
	else if (turn == LIST_NOW && a->what == ASK_LIST)
		give_list(h, g, b);
	else if (turn != LIST_LATER && !give_file(h, g, a->name))
		refuse(h, g, 404, ERR_NOT_FOUND, NULL);
	return turn != LIST_LATER;
}

static int64_t
patience_ms(const struct ask *a, const struct broadcast *b)
{
	int64_t target = b->packager != NULL ? packager_list_named(b->packager, a->word)->target : 0;

	return TARGETS * 1000 * (target > 0 ? target : TARGET_S);
}

/* Answers, or lets it wait. */
static void
attend_to(struct hall *h, struct guest *g)
{
	struct broadcast *b = broadcast_of(h, &g->ask);

	if (serve(h, g, b))
		return;
	if (b == NULL || g->plain)
		refuse(h, g, 404, ERR_NOT_FOUND, NULL);
	else if (g->stage != WAITS && (h->waiting >= h->places || h->of_peer[g->peer] >= h->share))
		refuse(h, g, 503, ERR_TOO_BUSY, NULL);
	else if (g->stage != WAITS)
		stage(h, g, WAITS, clock_ms() + patience_ms(&g->ask, b));
}

/* Two addresses that meet there share what one may have. */
static unsigned
peer_of(const struct hall *h, const struct guest *g)
{
	const struct peer peer = peer_find(h->mem, h->conf->trusted_proxies, fcgi_param(&g->in, h->mem, "REMOTE_ADDR"),
	    NULL, fcgi_param(&g->in, h->mem, "HTTP_X_FORWARDED_FOR"), NULL);
	char network[PEER_NETWORK];

	peer_network(peer.address, network);
	return (unsigned)(fnv1a(h->salt, network, strlen(network)) >> 32) % PEERS;
}

/* Whoever has no good address gets nothing, and waits for nothing. */
static void
judge(struct hall *h, struct guest *g)
{
	const char *method = fcgi_param(&g->in, h->mem, "REQUEST_METHOD"), *file = NULL;
	const char *uri = fcgi_param(&g->in, h->mem, "REQUEST_URI");
	const char *waits = fcgi_param(&g->in, h->mem, "KINOTHEK_WAITS");
	enum play play = uri == NULL ? PLAY_REFUSED : play_check(h->conf, uri, moment_now(), &g->ask.media_id, &file);

	g->peer = peer_of(h, g);
	g->plain = waits != NULL && strcmp(waits, "no") == 0;
	g->head_only = method != NULL && strcmp(method, "HEAD") == 0;
	if (method != NULL && strcmp(method, "OPTIONS") == 0)
		give_nothing(h, g);
	else if (method == NULL || (!g->head_only && strcmp(method, "GET") != 0))
		refuse(h, g, 405, ERR_METHOD_NOT_ALLOWED, NULL);
	else if (play == PLAY_EXPIRED)
		refuse(h, g, 410, ERR_ADDRESS_EXPIRED, NULL);
	else if (play == PLAY_REFUSED)
		refuse(h, g, 403, ERR_FORBIDDEN, NULL);
	else if (!ask_file(&g->ask, file))
		refuse(h, g, 404, ERR_NOT_FOUND, NULL);
	else if (!ask_query(&g->ask, file))
		refuse(h, g, 400, ERR_BAD_REQUEST, "_HLS_msn and _HLS_part are numbers, the latter with the former.");
	else
		attend_to(h, g);
}

/* --- connections */

static void
read_some(struct hall *h, struct guest *g)
{
	size_t room;
	void *to = fcgi_room(&g->in, &room);
	ssize_t n = recv(g->fd, to, room, MSG_DONTWAIT);
	enum fcgi_state state;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	state = n > 0 ? fcgi_feed(&g->in, (size_t)n) : FCGI_BROKEN;
	if (g->in.reply_n > 0 && send(g->fd, g->in.reply, g->in.reply_n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		state = FCGI_BROKEN;
	g->in.reply_n = 0;
	if (state == FCGI_BROKEN) {
		leave(h, g);
	} else if (state != FCGI_NEEDS_MORE && state != FCGI_HEAD_COMPLETE) {
		judge(h, g);
		/* Thousands may wait. */
		fcgi_free(&g->in);
		arena_reset(h->mem);
	}
}

static void
happened(struct hall *h, struct guest *g, unsigned events)
{
	char more[256];
	ssize_t n;

	if (g->gone)
		return;
	if (g->stage == READS) {
		read_some(h, g);
	} else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
		leave(h, g);
	} else if (g->stage == WRITES) {
		send_some(h, g);
	} else {
		/* Nothing more is wanted of it but its end. */
		n = recv(g->fd, more, sizeof(more), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			leave(h, g);
	}
}

static void
open_door(struct hall *h)
{
	int fd, i;
	struct guest *g;

	for (i = 0; i < EVENTS; i++) {
		fd = accept4(h->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
			/* Until somebody has left. */
			watch(h, h->door, h, 0, EPOLL_CTL_MOD);
			h->is_full = true;
		}
		if (fd < 0)
			return;
		if (h->n - h->waiting >= NEWCOMERS) {
			close(fd);
			continue;
		}
		g = calloc(1, sizeof(*g));
		if (g == NULL)
			abort();
		g->fd = fd;
		g->stage = READS;
		g->until = clock_ms() + ASK_MS;
		fcgi_begin(&g->in);
		g->next = h->guests;
		if (g->next != NULL)
			g->next->before = g;
		h->guests = g;
		h->n++;
		watch(h, fd, g, EPOLLIN, EPOLL_CTL_ADD);
		/* A web server asks at once. */
		read_some(h, g);
	}
}

/* What has happened, and who goes through all of them, may name who has gone meanwhile. */
static void
sweep(struct hall *h)
{
	struct guest *g;

	while ((g = h->gone) != NULL) {
		h->gone = g->next_gone;
		*(g->before != NULL ? &g->before->next : &h->guests) = g->next;
		if (g->next != NULL)
			g->next->before = g->before;
		/* A program that is just being started may hold it, too: closing it alone ends nothing. */
		epoll_ctl(h->epoll, EPOLL_CTL_DEL, g->fd, NULL);
		close(g->fd);
		fcgi_free(&g->in);
		telling_free(g->telling);
		free(g);
		h->n--;
		if (h->is_full)
			watch(h, h->door, h, EPOLLIN, EPOLL_CTL_MOD);
		h->is_full = false;
	}
}

void
hall_attend(struct hall *h)
{
	struct epoll_event events[EVENTS];
	int n, i;

	/* What is left is told again: encoders have their turn in between. */
	n = epoll_wait(h->epoll, events, EVENTS, 0);
	for (i = 0; i < n; i++)
		if (events[i].data.ptr == h)
			open_door(h);
		else
			happened(h, events[i].data.ptr, events[i].events);
	sweep(h);
	forget(h);
}

static void
tell(struct hall *h, const struct broadcast *b)
{
	struct guest *g;

	for (g = h->guests; g != NULL; g = g->next)
		if (!g->gone && g->stage == WAITS && uuid_equal(g->ask.media_id, b->what.media_id)) {
			attend_to(h, g);
			arena_reset(h->mem);
		}
	forget(h);
}

static void
look(struct hall *h, int64_t now)
{
	struct guest *g;

	for (g = h->guests; g != NULL; g = g->next) {
		if (g->gone)
			continue;
		if (g->stage == WAITS && broadcast_of(h, &g->ask) == NULL)
			attend_to(h, g);
		else if (g->stage == WAITS && now >= g->until)
			refuse(h, g, 503, ERR_UNAVAILABLE, NULL);
		else if (now >= g->until)
			leave(h, g);
		arena_reset(h->mem);
	}
	forget(h);
}

/* One that has been empty for a while is told of no more.  Who waits is here. */
static void
count(struct hall *h, int64_t now)
{
	struct desk_note n = { .word = DESK_WATCHED };
	struct room **at = &h->rooms, *r;
	struct guest *g;

	for (g = h->guests; g != NULL; g = g->next)
		if (!g->gone && g->stage == WAITS)
			see(h, &g->ask);
	while ((r = *at) != NULL) {
		n.stream.media_id = r->media_id;
		n.numbers.viewers = (int64_t)viewers_count(&r->viewers, now);
		r->peak = r->peak > n.numbers.viewers ? r->peak : n.numbers.viewers;
		n.numbers.peak = r->peak;
		if (n.numbers.viewers == 0 && r->told == 0 && broadcast_into(h, r->media_id) == NULL) {
			*at = r->next;
			viewers_free(&r->viewers);
			free(r);
			continue;
		}
		r->told = n.numbers.viewers;
		if (h->desk != NULL)
			desk_put(h->desk, &n);
		at = &r->next;
	}
}

void
hall_tell(struct hall *h, int64_t now)
{
	struct broadcast *b;

	for (b = *h->broadcasts; b != NULL; b = b->next) {
		if (b->gone || b->packager == NULL || b->shown == packager_changes(b->packager))
			continue;
		b->shown = packager_changes(b->packager);
		tell(h, b);
	}
	if (now >= h->look_at) {
		h->look_at = now + LOOK_MS;
		look(h, now);
	}
	if (now >= h->count_at) {
		h->count_at = now + COUNT_MS;
		count(h, now);
	}
	sweep(h);
}

int
hall_fd(const struct hall *h)
{
	return h->epoll;
}

struct hall *
hall_open(const struct conf *conf, int door, struct desk *desk, struct broadcast *const *broadcasts)
{
	struct hall *h = calloc(1, sizeof(*h));
	struct rlimit files;

	if (h == NULL)
		abort();
	h->conf = conf;
	h->door = door;
	/* All who were told something come back at once. */
	if (fcntl(door, F_SETFL, O_NONBLOCK) != 0 || listen(door, BACKLOG) != 0)
		abort();
	h->desk = desk;
	h->broadcasts = broadcasts;
	/* Others need descriptors, too: encoders, files. */
	getrlimit(RLIMIT_NOFILE, &files);
	h->places = files.rlim_cur == RLIM_INFINITY ? INT64_MAX : (int64_t)files.rlim_cur - NEWCOMERS - OTHERS;
	h->places = h->places < conf->live_waiters ? h->places : conf->live_waiters;
	h->share = (h->places + 1) / 2;
	h->salt = viewers_number();
	h->mem = arena_new(MEMORY);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0)
		abort();
	watch(h, door, h, EPOLLIN, EPOLL_CTL_ADD);
	return h;
}

void
hall_close(struct hall *h)
{
	struct guest *g;
	struct room *r;

	for (g = h->guests; g != NULL; g = g->next)
		leave(h, g);
	sweep(h);
	forget(h);
	while ((r = h->rooms) != NULL) {
		h->rooms = r->next;
		viewers_free(&r->viewers);
		free(r);
	}
	for (size_t i = 0; i < LISTS; i++)
		telling_free(h->lists[i]);
	close(h->epoll);
	arena_free(h->mem);
	free(h);
}
