/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libsrt: its callback, its events, and the thread that waits for them. */
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <srt/access_control.h>
#include <srt/srt.h>

#include "core/livestream.h"
#include "core/log.h"
#include "core/peer.h"
#include "core/seal.h"
#include "core/text.h"
#include "fcgi/live/srt.h"

enum {
	HASH = 64, BACKLOG = 1024,
	MESSAGE = 1456, TURN = 64 << 10,
	WAITING_MAX = 64 << 20,		/* bytes of notes that nobody has taken yet */
	WAIT_MS = 250,			/* after which the thread looks whether it has to end */
	SENDS_MS = 300,			/* since something came of who is sending */
	KNOCKS = 64, KNOCK_MS = 3000,	/* those who were let in so far, and how long they may take */
	ARENA = 64 << 10,
};

/* Somebody with a key that is good, of whom libsrt finds out whether they have the pass phrase.  It does not say so. */
struct knock { char key[RTMP_KEY + 1], address[DESK_ADDRESS]; int64_t at; };

/* Somebody who was let in; at: when something came, 0: nothing yet. */
struct sender { struct sender *next; int line; char hash[HASH + 1], network[PEER_NETWORK]; int64_t at; };

struct srt {
	const struct conf *conf;
	SRTSOCKET door;
	int poll, bell;
	pthread_t thread;
	atomic_bool ends;
	struct arena *mem, *thread_mem;	/* of the callback, and of our thread */

	pthread_mutex_t lock;	/* of what follows, for moments */
	char *hashes;
	size_t n_hashes;
	struct srt_note *first, **last;
	size_t waiting;
	struct knock knocks[KNOCKS];	/* at 0: none */
	struct sender *senders;
};

static void
put_note(struct srt *s, enum srt_word word, int line, const char *key, const char *address, const uint8_t *bytes,
    size_t n)
{
	struct srt_note *note = calloc(1, sizeof(*note) + n);

	if (note == NULL)
		abort();
	note->word = word;
	note->line = line;
	note->n = n;
	snprintf(note->key, sizeof(note->key), "%s", key);
	snprintf(note->address, sizeof(note->address), "%s", address);
	if (n > 0)
		memcpy(note->bytes, bytes, n);
	pthread_mutex_lock(&s->lock);
	*s->last = note;
	s->last = &note->next;
	s->waiting += sizeof(*note) + n;
	if (write(s->bell, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0 && errno != EAGAIN)
		abort();
	pthread_mutex_unlock(&s->lock);
}

struct srt_note *
srt_take(struct srt *s)
{
	struct srt_note *note;
	uint64_t rung;

	pthread_mutex_lock(&s->lock);
	note = s->first;
	if (note != NULL) {
		s->first = note->next;
		s->waiting -= sizeof(*note) + note->n;
		if (s->first == NULL)
			s->last = &s->first;
	} else if (read(s->bell, &rung, sizeof(rung)) < 0 && errno != EAGAIN) {
		abort();
	}
	pthread_mutex_unlock(&s->lock);
	return note;
}

int
srt_fd(const struct srt *s)
{
	return s->bell;
}

static bool
is_full(struct srt *s)
{
	bool full;

	pthread_mutex_lock(&s->lock);
	full = s->waiting > WAITING_MAX;
	pthread_mutex_unlock(&s->lock);
	return full;
}

void
srt_allow(struct srt *s, const char *hashes, size_t n)
{
	char *copy = malloc(n * HASH + 1), *old;

	if (copy == NULL)
		abort();
	memcpy(copy, hashes, n * HASH);
	pthread_mutex_lock(&s->lock);
	old = s->hashes;
	s->hashes = copy;
	s->n_hashes = n;
	pthread_mutex_unlock(&s->lock);
	free(old);
}

static bool
is_allowed(struct srt *s, const char *hash)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->n_hashes && !found; i++)
		found = memcmp(s->hashes + i * HASH, hash, HASH) == 0;
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* --- who has the pass phrase */

/* Where there are too many the oldest is forgotten. */
static void
knock(struct srt *s, const char *key, const char *address)
{
	struct knock *k = s->knocks;
	size_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 1; i < KNOCKS; i++)
		if (s->knocks[i].at < k->at)
			k = &s->knocks[i];
	k->at = clock_ms();
	snprintf(k->key, sizeof(k->key), "%s", key);
	snprintf(k->address, sizeof(k->address), "%s", address);
	pthread_mutex_unlock(&s->lock);
}

/* One of them has come in. */
static void
forget_knock(struct srt *s, const char *key, const char *address)
{
	size_t i = 0;

	pthread_mutex_lock(&s->lock);
	while (i < KNOCKS && (s->knocks[i].at == 0 || strcmp(s->knocks[i].key, key) != 0 ||
	    strcmp(s->knocks[i].address, address) != 0))
		i++;
	if (i < KNOCKS)
		s->knocks[i].at = 0;
	pthread_mutex_unlock(&s->lock);
}

/* Who has not come in by now had another pass phrase, or none. */
static void
tell_knocks(struct srt *s)
{
	const int64_t until = clock_ms() - KNOCK_MS;
	struct knock late;
	size_t i;

	for (i = 0; i < KNOCKS; i++) {
		pthread_mutex_lock(&s->lock);
		late = s->knocks[i];
		if (late.at <= until)
			s->knocks[i].at = 0;
		pthread_mutex_unlock(&s->lock);
		if (late.at != 0 && late.at <= until)
			put_note(s, SRT_LOCKED, -1, late.key, late.address, NULL, 0);
	}
}

/* --- who is sending */

static void
add_sender(struct srt *s, int line, const char *hash, const char *address)
{
	struct sender *n = calloc(1, sizeof(*n));

	if (n == NULL)
		abort();
	n->line = line;
	snprintf(n->hash, sizeof(n->hash), "%s", hash);
	peer_network(address, n->network);
	pthread_mutex_lock(&s->lock);
	n->next = s->senders;
	s->senders = n;
	pthread_mutex_unlock(&s->lock);
}

static void
drop_sender(struct srt *s, int line)
{
	struct sender **at, *n;

	pthread_mutex_lock(&s->lock);
	for (at = &s->senders; *at != NULL && (*at)->line != line; at = &(*at)->next)
		;
	n = *at;
	if (n != NULL)
		*at = n->next;
	pthread_mutex_unlock(&s->lock);
	free(n);
}

static void
something_came(struct srt *s, int line)
{
	struct sender *n;

	pthread_mutex_lock(&s->lock);
	for (n = s->senders; n != NULL && n->line != line; n = n->next)
		;
	if (n != NULL)
		n->at = clock_ms();
	pthread_mutex_unlock(&s->lock);
}

/* Does somebody send with that key who is elsewhere? */
static bool
is_busy(struct srt *s, const char *hash, const char *address)
{
	const int64_t since = clock_ms() - SENDS_MS;
	char network[PEER_NETWORK];
	const struct sender *n;

	peer_network(address, network);
	pthread_mutex_lock(&s->lock);
	for (n = s->senders; n != NULL; n = n->next)
		if (n->at > since && strcmp(n->hash, hash) == 0 && strcmp(n->network, network) != 0)
			break;
	pthread_mutex_unlock(&s->lock);
	return n != NULL;
}

/* --- who may send */

/* The key in what an encoder calls the stream: "KEY", or "#!::r=KEY,m=publish", whose number sign FFmpeg 5.1 leaves as
 * it stands in an address.  False: it wants something else. */
static bool
read_name(const char *name, char key[RTMP_KEY + 1])
{
	size_t n, sign = strncmp(name, "#!::", 4) == 0 ? 4 : strncmp(name, "%23!::", 6) == 0 ? 6 : 0;
	bool publishes = true;

	key[0] = '\0';
	if (sign == 0) {
		n = strcspn(name, "?");
		snprintf(key, RTMP_KEY + 1, "%.*s", (int)(n < RTMP_KEY ? n : RTMP_KEY), name);
		return true;
	}
	for (name += sign; *name != '\0'; name += n + (name[n] == ',')) {
		n = strcspn(name, ",");
		if (strncmp(name, "r=", 2) == 0)
			snprintf(key, RTMP_KEY + 1, "%.*s", (int)(n - 2 < RTMP_KEY ? n - 2 : RTMP_KEY), name + 2);
		else if (strncmp(name, "m=", 2) == 0)
			publishes = n == 9 && strncmp(name, "m=publish", 9) == 0;
	}
	return publishes;
}

static void
address_of(const struct sockaddr *from, char address[DESK_ADDRESS])
{
	const socklen_t n = from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (getnameinfo(from, n, address, DESK_ADDRESS, NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(address, DESK_ADDRESS, "unknown");
}

/* NOTHING: whoever has the pass phrase is let in. */
enum verdict { NOTHING, UNKNOWN = SRT_REJX_NOTFOUND, BUSY = SRT_REJX_CONFLICT };

static enum verdict
against(struct srt *s, const char *key, const char *address)
{
	const char *hash = livestream_key_hash(s->mem, key);

	if (key[0] == '\0' || !is_allowed(s, hash))
		return UNKNOWN;
	return is_busy(s, hash, address) ? BUSY : NOTHING;
}

/* In the thread of libsrt that receives for the port: nothing here may wait.  libsrt itself refuses who has not the
 * pass phrase. */
static int
judge(void *user, SRTSOCKET socket, int version, const struct sockaddr *from, const char *name)
{
	struct srt *s = user;
	char key[RTMP_KEY + 1], address[DESK_ADDRESS];
	enum verdict verdict;
	const char *phrase;

	(void)version;
	if (name == NULL || !read_name(name, key)) {
		srt_setrejectreason(socket, SRT_REJX_BAD_MODE);
		return -1;
	}
	address_of(from, address);
	verdict = against(s, key, address);
	if (verdict == NOTHING) {
		knock(s, key, address);
		phrase = livestream_phrase(s->conf, s->mem, key);
		if (srt_setsockopt(socket, 0, SRTO_PASSPHRASE, phrase, (int)strlen(phrase)) != 0)
			verdict = UNKNOWN;
	} else if (!is_full(s)) {
		put_note(s, verdict == BUSY ? SRT_BUSY : SRT_REFUSED, -1, key, address, NULL, 0);
	}
	arena_reset(s->mem);
	if (verdict != NOTHING)
		srt_setrejectreason(socket, (int)verdict);
	return verdict == NOTHING ? 0 : -1;
}

/* --- what comes */

static void
let_in(struct srt *s)
{
	struct sockaddr_storage from;
	int n = sizeof(from), events = SRT_EPOLL_IN | SRT_EPOLL_ERR, size;
	char name[513] = "", key[RTMP_KEY + 1], address[DESK_ADDRESS];
	SRTSOCKET line = srt_accept(s->door, (struct sockaddr *)&from, &n);

	if (line == SRT_INVALID_SOCK)
		return;
	size = sizeof(name) - 1;
	if (srt_getsockopt(line, 0, SRTO_STREAMID, name, &size) != 0 || !read_name(name, key) || is_full(s) ||
	    srt_epoll_add_usock(s->poll, line, &events) != 0) {
		srt_close(line);
		return;
	}
	address_of((struct sockaddr *)&from, address);
	forget_knock(s, key, address);
	add_sender(s, line, livestream_key_hash(s->thread_mem, key), address);
	arena_reset(s->thread_mem);
	put_note(s, SRT_CAME, line, key, address, NULL, 0);
}

static void
hang_up(struct srt *s, SRTSOCKET line)
{
	drop_sender(s, line);
	srt_close(line);
	put_note(s, SRT_GONE, line, "", "", NULL, 0);
}

static void
receive(struct srt *s, SRTSOCKET line)
{
	static uint8_t bytes[TURN];
	size_t n = 0;
	int done = 0;

	while (TURN - n >= MESSAGE && (done = srt_recvmsg(line, (char *)bytes + n, MESSAGE)) > 0)
		n += (size_t)done;
	if (n > 0) {
		something_came(s, line);
		put_note(s, SRT_BYTES, line, "", "", bytes, n);
	}
	if (is_full(s) || (done < 0 && srt_getlasterror(NULL) != SRT_EASYNCRCV) || done == 0)
		hang_up(s, line);
}

static void *
run(void *user)
{
	struct srt *s = user;
	SRT_EPOLL_EVENT events[64];
	int n, i;

	while (!atomic_load(&s->ends)) {
		n = srt_epoll_uwait(s->poll, events, 64, WAIT_MS);
		tell_knocks(s);
		for (i = 0; i < n; i++)
			if (events[i].fd == s->door)
				let_in(s);
			else
				receive(s, events[i].fd);
	}
	return NULL;
}

void
srt_hang_up(struct srt *s, int line)
{
	drop_sender(s, line);
	srt_close(line);
}

/* --- beginning and end */

static void
log_it(void *user, int level, const char *file, int line, const char *area, const char *text)
{
	(void)user, (void)level, (void)file, (void)line;
	log_line(LOG_LEVEL_DEBUG, "live", LOG_TEXT("srt", area), LOG_TEXT("text", text));
}

static bool
bind_to(const struct srt *s, const char *address, const char **why)
{
	const struct addrinfo wish = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_DGRAM };
	const char *colon = strrchr(address, ':');
	struct addrinfo *found;
	char host[256];
	bool fine;

	if (colon == NULL) {
		*why = "it names no port";
		return false;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	if (getaddrinfo(host, colon + 1, &wish, &found) != 0) {
		*why = "there is no such address";
		return false;
	}
	fine = srt_bind(s->door, found->ai_addr, (int)found->ai_addrlen) == 0;
	if (!fine)
		*why = srt_getlasterror_str();
	freeaddrinfo(found);
	return fine;
}

static bool
listen_at(struct srt *s, const char *address, int fd, const char **why)
{
	const int yes = 1, no = 0, events = SRT_EPOLL_IN | SRT_EPOLL_ERR, key_bytes = 32;

	*why = NULL;
	s->door = srt_create_socket();
	if (s->door == SRT_INVALID_SOCK || srt_setsockopt(s->door, 0, SRTO_RCVSYN, &no, sizeof(no)) != 0 ||
	    srt_setsockopt(s->door, 0, SRTO_ENFORCEDENCRYPTION, &yes, sizeof(yes)) != 0 ||
	    srt_setsockopt(s->door, 0, SRTO_PBKEYLEN, &key_bytes, sizeof(key_bytes)) != 0 ||
	    srt_listen_callback(s->door, judge, s) != 0)
		*why = srt_getlasterror_str();
	else if (fd < 0 && !bind_to(s, address, why))
		return false;
	else if ((fd >= 0 && srt_bind_acquire(s->door, fd) != 0) || srt_listen(s->door, BACKLOG) != 0 ||
	    srt_epoll_add_usock(s->poll, s->door, &events) != 0)
		*why = srt_getlasterror_str();
	return *why == NULL;
}

struct srt *
srt_open(const struct conf *conf, const char *address, int fd, const char **why)
{
	struct srt *s = calloc(1, sizeof(*s));
	sigset_t all, before;

	if (s == NULL)
		abort();
	s->conf = conf;
	s->last = &s->first;
	s->mem = arena_new(ARENA);
	s->thread_mem = arena_new(ARENA);
	s->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&s->lock, NULL);
	/* Signals are for the thread that receives; that of libsrt begin here. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	srt_setloghandler(NULL, log_it);
	srt_startup();
	s->poll = srt_epoll_create();
	if (s->bell < 0 || s->poll < 0)
		abort();
	if (!listen_at(s, address, fd, why))
		return NULL;
	if (pthread_create(&s->thread, NULL, run, s) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s;
}

void
srt_end(struct srt *s)
{
	struct srt_note *note;
	struct sender *sender;

	atomic_store(&s->ends, true);
	pthread_join(s->thread, NULL);
	srt_close(s->door);
	srt_epoll_release(s->poll);
	srt_cleanup();
	while ((note = srt_take(s)) != NULL)
		free(note);
	while ((sender = s->senders) != NULL) {
		s->senders = sender->next;
		free(sender);
	}
	close(s->bell);
	pthread_mutex_destroy(&s->lock);
	arena_free(s->mem);
	arena_free(s->thread_mem);
	free(s->hashes);
	free(s);
}
