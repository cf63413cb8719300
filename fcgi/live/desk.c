/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread between the receiver and the database. */
#include <sys/eventfd.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/job.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/store.h"
#include "fcgi/live/desk.h"
#include "fcgi/live/memory.h"
#include "fcgi/live/srt.h"

enum {
	ARENA = 64 << 20,
	CLOSE_MS = 5000,
	NOTES_MAX = 65536,	/* that wait for the database; then numbers and refusals are left out */
	NOBODY_MAX = 32,	/* then nobody asks for who was refused already: to be so costs nothing */
	TRUSTED_MAX = 1000,
};

struct queue { struct desk_note *first, **last; size_t n; };

struct desk {
	const struct conf *conf;
	struct srt *srt;
	struct db *db;
	struct arena *mem;
	char node[DESK_NODE];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	int bell;
	bool ends;
	struct queue in, out;
	struct queue late;	/* of the thread alone: what the database did not take */
	struct queue trusted;	/* DESK_WHOSE of those whom what is remembered has let in */
	struct memory memory;
	int64_t beat_at, end_at;
	int64_t beaten_at, steady_since;	/* the last sign of life; since when none of them was late */
	bool overtakes;		/* what was claimed last had another holder */
	struct uuid *finishing;	/* that were told to end, as long as they do */
	size_t n_finishing;
};

static void
queue_add(struct queue *q, struct desk_note *n)
{
	n->next = NULL;
	*(q->n > 0 ? q->last : &q->first) = n;
	q->last = &n->next;
	q->n++;
}

static struct desk_note *
queue_take(struct queue *q)
{
	struct desk_note *n = q->n > 0 ? q->first : NULL;

	if (n != NULL) {
		q->first = n->next;
		q->n--;
	}
	return n;
}

static struct desk_note *
copy(const struct desk_note *n)
{
	struct desk_note *to = malloc(sizeof(*to));

	if (to == NULL)
		abort();
	return memcpy(to, n, sizeof(*to));
}

/* An encoder by SRT that was refused without being asked after: no visitor waits for the answer. */
static bool
is_for_nobody(const struct desk_note *n)
{
	return n->word == DESK_WHOSE && n->visitor == 0;
}

/* The next one says it anew. */
static bool
is_passing(const struct desk_note *n)
{
	return n->word == DESK_NUMBERS || n->word == DESK_WATCHED || (n->word == DESK_TARGET_TOLD && !n->on);
}

bool
desk_put(struct desk *d, const struct desk_note *n)
{
	bool must = !is_passing(n) && !is_for_nobody(n) && n->word != DESK_REFUSED, taken;

	pthread_mutex_lock(&d->lock);
	taken = must || d->in.n < (is_for_nobody(n) ? NOBODY_MAX : NOTES_MAX);
	if (taken) {
		queue_add(&d->in, copy(n));
		pthread_cond_signal(&d->more);
	}
	pthread_mutex_unlock(&d->lock);
	return taken;
}

struct desk_note *
desk_take(struct desk *d)
{
	struct desk_note *n;
	uint64_t rung;

	pthread_mutex_lock(&d->lock);
	n = queue_take(&d->out);
	if (n == NULL && read(d->bell, &rung, sizeof(rung)) < 0 && errno != EAGAIN)
		abort();
	pthread_mutex_unlock(&d->lock);
	return n;
}

int
desk_fd(const struct desk *d)
{
	return d->bell;
}

static void
answer(struct desk *d, struct desk_note *n)
{
	pthread_mutex_lock(&d->lock);
	queue_add(&d->out, n);
	if (write(d->bell, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0 && errno != EAGAIN)
		abort();
	pthread_mutex_unlock(&d->lock);
}

static struct desk_stream
stream_of(const struct livestream *s)
{
	return (struct desk_stream){ s->id, s->media_id, s->with_dvr, s->bitrate_max };
}

static void
answer_word(struct desk *d, enum desk_word word, const struct livestream *s)
{
	struct desk_note n = { .word = word };

	if (s != NULL) {
		n.stream = stream_of(s);
		n.on = s->is_awaited;
	}
	answer(d, copy(&n));
}

/* Why an encoder with a key of that stream may not send; NULL: it may. */
static const char *
against(const struct livestream *s)
{
	if (strcmp(s->status, "created") == 0)
		return "notStarted";
	if (word_in("finishing finished failed", s->status, strlen(s->status)))
		return "over";
	return s->is_old_key ? "oldKey" : NULL;
}

static void
whose(struct desk *d, struct desk_note *n)
{
	struct livestream *s = livestream_by_hash(d->db, n->key);
	const char *known = n->reason[0] != '\0' ? n->reason : NULL, *reason = s != NULL ? against(s) : "unknown";

	if (reason == NULL)
		reason = known;
	if (s != NULL)
		n->stream = stream_of(s);
	if (reason != NULL) {
		n->word = DESK_NONE;
		if (reason != known)
			snprintf(n->reason, sizeof(n->reason), "%s", reason);
	}
	if (reason != NULL && s != NULL)
		livestream_refused(d->db, s->id, n->address, reason);
	else
		n->is_primary = s != NULL && s->is_primary;
}

static void
claim(struct desk *d, struct desk_note *n)
{
	const struct livestream *s = livestream_get(d->db, n->stream.id);
	const char *reason = s != NULL ? against(s) : "over";

	if (reason == NULL && livestream_elsewhere(d->db, n->stream.id, d->node, n->is_primary))
		reason = "busy";
	n->session = reason == NULL && n->on ? livestream_claim(d->db, n->stream.id, d->node) : 0;
	d->overtakes = n->session > 0 && s->holder != NULL && strcmp(s->holder, d->node) != 0;
	snprintf(n->reason, sizeof(n->reason), "%s", reason != NULL ? reason : "");
}

static void
tell(struct desk *d, const struct desk_note *n)
{
	struct livestream_numbers all = n->numbers;

	all.incoming.video_codec = n->video_codec[0] != '\0' ? n->video_codec : NULL;
	all.incoming.audio_codec = n->audio_codec[0] != '\0' ? n->audio_codec : NULL;
	livestream_tell(d->db, n->stream.id, d->node, &all);
}

static void
told(struct desk *d, const struct desk_note *n)
{
	switch (n->word) {
	case DESK_SIGNAL:
		livestream_signal(d->db, n->stream.id, d->node, n->on);
		break;
	case DESK_RELEASE:
		livestream_release(d->db, n->stream.id, d->node);
		break;
	case DESK_END:
		livestream_end(d->db, n->stream.id, d->node);
		break;
	case DESK_USED:
		livestream_used(d->db, n->stream.id, d->node, n->session);
		break;
	case DESK_CONNECTED:
		livestream_connected(d->db, n->stream.id, d->node, n->is_primary, n->on);
		break;
	case DESK_REFUSED:
		livestream_refused(d->db, n->stream.id, n->address, n->reason);
		break;
	case DESK_LACKS:
		livestream_lacks(d->db, n->stream.id, d->node, n->reason[0] != '\0' ? n->reason : NULL);
		break;
	case DESK_NUMBERS:
		tell(d, n);
		break;
	case DESK_WATCHED:
		livestream_watched(d->db, n->stream.media_id, d->node, n->numbers.viewers, n->numbers.peak);
		break;
	case DESK_TARGET_TOLD:
		livestream_target_tell(d->db, n->stream.id, n->target, d->node, &n->news);
		break;
	default:
		break;
	}
}

/* A server that stood still, or was away, took no sign of life of the holder, either: who could not give one in time
 * lately takes nobody else for dead. */
static bool
is_hasty(const struct desk *d, int64_t began)
{
	const int64_t now = clock_ms();

	return d->overtakes && (now - began > LIVESTREAM_BEAT_MS || now - d->beaten_at > LIVESTREAM_SILENCE_MS ||
	    now - d->steady_since < LIVESTREAM_SILENCE_MS);
}

/* One transaction.  True: it is certain; else the note is what it was. */
static bool
settle(struct desk *d, struct desk_note *n)
{
	const struct desk_note before = *n;
	const int64_t began = clock_ms();
	bool fine, hasty;

	d->overtakes = false;
	db_begin(d->db);
	if (n->word == DESK_WHOSE)
		whose(d, n);
	else if (n->word == DESK_CLAIM)
		claim(d, n);
	else
		told(d, n);
	hasty = db_failure(d->db) == DB_FINE && is_hasty(d, began);
	fine = db_failure(d->db) == DB_FINE && !hasty && db_commit(d->db);
	if (!fine)
		db_rollback(d->db);
	if (!fine && !hasty)
		*n = before;
	if (hasty)
		n->session = 0;		/* not yet */
	if (job_added())
		job_wake(d->conf->run_dir);
	arena_reset(d->mem);
	return fine || hasty;
}

/* It was not told. */
static void
keep(struct desk *d, struct desk_note *n)
{
	if (is_passing(n))
		free(n);
	else
		queue_add(&d->late, n);
}

/* Our fault is not mended by saying it again. */
static void
serve_late(struct desk *d)
{
	struct desk_note *n;

	while (d->late.n > 0) {
		if (!settle(d, d->late.first) && db_failure(d->db) != DB_BROKEN)
			return;
		n = queue_take(&d->late);
		free(n);
	}
}

/* --- while the database is away */

/* Has another node begun to take it in?  Numbers behind those that are spared are of none but another one. */
static bool
is_taken(struct desk *d, const struct remembered *r)
{
	const char *kept = store_growing(d->mem, store_key_live(d->mem, r->what.media_id, NULL));
	DIR *dir = kept != NULL ? opendir(kept) : NULL;
	const struct dirent *e = NULL;

	while (dir != NULL && (e = readdir(dir)) != NULL && strtoll(e->d_name, NULL, 10) <= r->spare)
		;
	if (dir != NULL)
		closedir(dir);
	arena_reset(d->mem);
	return e != NULL;
}

/* Then it is ours no more, and the database is told so. */
static bool
is_lost(struct desk *d, const struct remembered *r)
{
	struct desk_note n = { .word = DESK_LOST, .stream = r->what };

	if (!is_taken(d, r))
		return false;
	memory_forget(&d->memory, n.stream.id);
	answer(d, copy(&n));
	n.word = DESK_RELEASE;
	queue_add(&d->late, copy(&n));
	return true;
}

static void
refuse(struct desk_note *n)
{
	n->word = DESK_NONE;
	snprintf(n->reason, sizeof(n->reason), "unavailable");
}

/* By what is remembered. */
static void
recall_key(struct desk *d, struct desk_note *n)
{
	const struct remembered *r = memory_of_key(&d->memory, n->key, &n->is_primary);

	if (r == NULL || n->visitor == 0 || db_failure(d->db) == DB_BROKEN || d->trusted.n >= TRUSTED_MAX ||
	    is_lost(d, r)) {
		refuse(n);
		return;
	}
	queue_add(&d->trusted, copy(n));
	n->stream = r->what;
}

static void
recall_claim(struct desk *d, struct desk_note *n)
{
	struct remembered *r = memory_find(&d->memory, n->stream.id);

	if (r == NULL || db_failure(d->db) == DB_BROKEN || (n->on && r->session == r->spare) || is_lost(d, r)) {
		n->session = -1;
		return;
	}
	n->session = n->on ? ++r->session : 0;
	if (n->on)
		queue_add(&d->late, copy(&(struct desk_note){ .word = DESK_USED, .stream = r->what,
		    .session = r->session }));
}

/* Those whom what is remembered has let in: would the database have, too? */
static void
ask_anew(struct desk *d)
{
	struct desk_note *n;
	bool fine;

	while (d->trusted.n > 0) {
		fine = settle(d, d->trusted.first);
		if (!fine && db_failure(d->db) != DB_BROKEN)
			return;
		n = queue_take(&d->trusted);
		if (!fine)
			refuse(n);
		if (n->word == DESK_NONE)
			answer(d, n);
		else
			free(n);
	}
}

/* --- notes */

static void
ask(struct desk *d, struct desk_note *n)
{
	/* Not before what is late: it may say that we had given up this very stream. */
	if (n->word == DESK_CLAIM && d->late.n > 0)
		serve_late(d);
	if ((n->word == DESK_CLAIM && d->late.n > 0) || !(settle(d, n) || settle(d, n))) {
		(n->word == DESK_CLAIM ? recall_claim : recall_key)(d, n);
	} else if (n->word == DESK_CLAIM && n->session > 0) {
		memory_claimed(&d->memory, n->stream.id, n->session);
	}
	answer(d, n);
}

static void
serve(struct desk *d, struct desk_note *n)
{
	if (n->word == DESK_RELEASE || n->word == DESK_END)
		memory_forget(&d->memory, n->stream.id);
	if (n->word == DESK_WHOSE) {
		snprintf(n->key, sizeof(n->key), "%s", livestream_key_hash(d->mem, n->key));
		arena_reset(d->mem);
	}
	if (n->word == DESK_WHOSE || n->word == DESK_CLAIM)
		ask(d, n);
	else if (d->late.n == 0 && settle(d, n))
		free(n);
	else
		keep(d, n);
}

static bool
is_ours(const struct desk *d, const struct livestream *s)
{
	return s->holder != NULL && strcmp(s->holder, d->node) == 0;
}

/* Was it a process of this machine that has ended?  Then nobody has to wait until its silence shows that.  A number
 * that another process has by now tells nothing, and that a process cannot be looked at says nothing of its end. */
static bool
has_died_here(const struct desk *d, const char *holder)
{
	const size_t n = strcspn(d->node, ":");
	struct machine_process p;
	pid_t pid;

	if (strncmp(holder, d->node, n + 1) != 0)
		return false;
	pid = (pid_t)atoi(holder + n + 1);
	if (pid > 0 && kill(pid, 0) == -1 && errno == ESRCH)
		return true;
	return machine_process(pid, &p) && (p.state == 'Z' || p.state == 'X');
}

static bool
was_finishing(const struct desk *d, struct uuid id)
{
	size_t i = 0;

	while (i < d->n_finishing && !uuid_equal(d->finishing[i], id))
		i++;
	return i < d->n_finishing;
}

/* Once is enough for each: its job may take an hour. */
static void
note_finishing(struct desk *d, const struct livestream *all, size_t n)
{
	size_t i, found = 0;

	d->finishing = realloc(d->finishing, (n + 1) * sizeof(*d->finishing));
	if (d->finishing == NULL)
		abort();
	for (i = 0; i < n; i++)
		if (strcmp(all[i].status, "finishing") == 0 && (all[i].holder == NULL || is_ours(d, &all[i])))
			d->finishing[found++] = all[i].id;
	d->n_finishing = found;
}

static void
look_at(struct desk *d, const struct livestream *s)
{
	bool finishing = strcmp(s->status, "finishing") == 0;

	if (s->holder != NULL && !is_ours(d, s) && has_died_here(d, s->holder))
		livestream_died(d->db, s->id, s->holder);
	if (strcmp(s->status, "starting") == 0)
		livestream_ready(d->db, s->id);
	if (finishing && (s->holder == NULL || is_ours(d, s)) && !was_finishing(d, s->id))
		answer_word(d, DESK_FINISH, s);
	if (is_ours(d, s))
		answer_word(d, DESK_HELD, s);
	if (!finishing && s->ends_at.ms != 0 && moment_now().ms > s->ends_at.ms)
		livestream_stop(d->db, s->id, "duration");
}

/* What is ours, and may go on without the database.  As long as that has not been told of all, it may not be: then
 * nobody is let in by what was known before, either. */
static void
remember(struct desk *d, const struct livestream *all, size_t n)
{
	size_t n_keys = 0, found = 0, i;
	const struct livestream_key *keys = livestream_keys_held(d->db, d->node, &n_keys);
	struct remembered *at, *r;

	if (db_failure(d->db) != DB_FINE)
		return;
	if (d->late.n > 0) {
		memory_forget_keys(&d->memory);
		return;
	}
	at = calloc(n + 1, sizeof(*at));
	if (at == NULL)
		abort();
	for (i = 0; i < n; i++)
		if (is_ours(d, &all[i]) && strcmp(all[i].status, "finishing") != 0)
			at[found++] = (struct remembered){ .what = stream_of(&all[i]), .session = all[i].session,
				.spare = all[i].session + LIVESTREAM_SPARE };
	memory_replace(&d->memory, at, found);
	for (i = 0; i < n_keys; i++)
		if ((r = memory_find(&d->memory, keys[i].livestream_id)) != NULL)
			snprintf(r->hashes[keys[i].is_primary], sizeof(*r->hashes), "%s", keys[i].hash);
}

/* Where what is ours is sent on to. */
static void
name_targets(struct desk *d)
{
	size_t n = 0, i;
	const struct livestream_target *t = livestream_targets_of(d->db, d->conf, d->node, &n);
	struct desk_note note = { .word = DESK_TARGET };

	for (i = 0; i < n && db_failure(d->db) == DB_FINE; i++) {
		note.stream.id = t[i].livestream_id;
		note.target = t[i].id;
		snprintf(note.url, sizeof(note.url), "%s", t[i].url);
		answer(d, copy(&note));
	}
}

/* Which keys are good where nobody may ask. */
static void
tell_keys(struct desk *d)
{
	struct buf b = BUF(d->mem);
	struct livestream_key *keys;
	size_t n = 0, i;

	if (d->srt == NULL)
		return;
	keys = livestream_keys_open(d->db, &n);
	for (i = 0; i < n; i++)
		buf_add(&b, keys[i].hash, strlen(keys[i].hash));
	if (db_failure(d->db) == DB_FINE)
		srt_allow(d->srt, buf_string(&b), n);
}

/* We live. */
static bool
beat(struct desk *d)
{
	bool fine;

	db_begin(d->db);
	livestream_beat(d->db, d->node);
	fine = db_failure(d->db) == DB_FINE && db_commit(d->db);
	if (!fine)
		db_rollback(d->db);
	arena_reset(d->mem);
	return fine;
}

static void
note_beat(struct desk *d, bool alive)
{
	const int64_t now = clock_ms();

	if (!alive)
		return;
	if (d->beaten_at == 0 || now - d->beaten_at > LIVESTREAM_SILENCE_MS)
		d->steady_since = now;
	d->beaten_at = now;
}

/* What has become of the streams. */
static void
look(struct desk *d)
{
	struct livestream *all;
	size_t n = 0, i;
	bool fine;

	db_begin(d->db);
	all = livestreams_open(d->db, &n);
	for (i = 0; i < n && db_failure(d->db) == DB_FINE; i++)
		look_at(d, &all[i]);
	if (db_failure(d->db) == DB_FINE) {
		note_finishing(d, all, n);
		remember(d, all, n);
	}
	name_targets(d);
	tell_keys(d);
	fine = db_failure(d->db) == DB_FINE && db_commit(d->db);
	if (fine)
		answer_word(d, DESK_ROUND, NULL);
	else
		db_rollback(d->db);
	arena_reset(d->mem);
}

/* The same as far as files tell. */
static void
look_at_files(struct desk *d)
{
	size_t i;

	for (i = d->memory.n; i-- > 0;)
		is_lost(d, &d->memory.at[i]);
}

/* Until there is a note, or it is time to say that we live. */
static struct desk_note *
wait_for_note(struct desk *d, bool *ends)
{
	int64_t ms = d->beat_at - clock_ms();
	struct desk_note *n;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ms = ms > 0 ? ms : 0;
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&d->lock);
	while (d->in.n == 0 && !d->ends)
		if (pthread_cond_timedwait(&d->more, &d->lock, &until) == ETIMEDOUT)
			break;
	n = queue_take(&d->in);
	*ends = d->ends && n == NULL;
	pthread_mutex_unlock(&d->lock);
	return n;
}

static void *
run(void *user)
{
	struct desk *d = user;
	struct desk_note *n;
	bool ends = false, alive;

	d->mem = arena_new(ARENA);
	d->db = db_open(d->conf, DB_JOBS);
	db_use(d->db, d->mem);
	while (!ends || (d->late.n > 0 && clock_ms() < d->end_at)) {
		n = wait_for_note(d, &ends);
		if (n != NULL)
			serve(d, n);
		if (n == NULL && ends)
			usleep(50000);
		if (clock_ms() < d->beat_at)
			continue;
		/* First, since what is late may take longer than we are waited for. */
		alive = beat(d);
		note_beat(d, alive);
		serve_late(d);
		if (alive) {
			look(d);
			ask_anew(d);
		} else {
			look_at_files(d);
		}
		d->beat_at = clock_ms() + LIVESTREAM_BEAT_MS;
	}
	db_close(d->db);
	arena_free(d->mem);
	return NULL;
}

struct desk *
desk_open(const struct conf *conf, struct srt *srt)
{
	struct desk *d = calloc(1, sizeof(*d));
	pthread_condattr_t attr;
	sigset_t all, before;

	if (d == NULL)
		abort();
	d->conf = conf;
	d->srt = srt;
	snprintf(d->node, sizeof(d->node), "%.70s:%d:%" PRId64, machine_name(), getpid(), moment_now().ms);
	d->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->end_at = INT64_MAX;
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->more, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the thread that receives. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (d->bell < 0 || pthread_create(&d->thread, NULL, run, d) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return d;
}

static void
queue_free(struct queue *q)
{
	struct desk_note *n;

	while ((n = queue_take(q)) != NULL)
		free(n);
}

void
desk_close(struct desk *d)
{
	pthread_mutex_lock(&d->lock);
	d->ends = true;
	d->end_at = clock_ms() + CLOSE_MS;
	pthread_cond_signal(&d->more);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	queue_free(&d->in);
	queue_free(&d->late);
	queue_free(&d->out);
	queue_free(&d->trusted);
	free(d->memory.at);
	free(d->finishing);
	close(d->bell);
	pthread_cond_destroy(&d->more);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
