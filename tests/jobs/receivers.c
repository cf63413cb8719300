/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Receivers of webhooks, good and bad. */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jobs/receivers.h"

struct ears *ears;
struct uuid cat;
int receiver_port, silent_port, canary_port;
static pid_t receiver_pid, silent_pid, canary_pid;

static int
listen_on(int *number)
{
	struct sockaddr_in at = { .sin_family = AF_INET };	/* all of 127.0.0.0/8: receivers without number */
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, 512) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) != 0)
		abort();
	*number = ntohs(at.sin_port);
	return fd;
}

static void
copy_header(const char *head, const char *name, char *out, size_t room)
{
	const char *at = strcasestr(head, name);

	if (at != NULL)
		snprintf(out, room, "%.*s", (int)strcspn(at + strlen(name), "\r"), at + strlen(name));
}

/* What it does follows from the path.  False: the connection is over. */
static bool
answer(int fd, const char *path)
{
	static char junk[65536];

	if (strncmp(path, "/fail", 5) == 0 || (strncmp(path, "/astray", 7) == 0 && times_heard(path) == 1))
		dprintf(fd, "HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\nOh no");
	else if (strncmp(path, "/gone", 5) == 0)
		dprintf(fd, "HTTP/1.1 410 X\r\nContent-Length: 0\r\n\r\n");
	else if (strncmp(path, "/busy", 5) == 0)
		dprintf(fd, "HTTP/1.1 429 X\r\nRetry-After: 1000\r\nContent-Length: 0\r\n\r\n");
	else if (strncmp(path, "/redirect", 9) == 0 || (strncmp(path, "/astray", 7) == 0 && times_heard(path) > 1))
		dprintf(fd, "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n",
		    canary_port);
	else if (strncmp(path, "/round", 6) == 0)
		dprintf(fd, "HTTP/1.1 302 X\r\nLocation: /round\r\nContent-Length: 0\r\n\r\n");
	else if (strncmp(path, "/cut", 4) == 0)
		dprintf(fd, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nshort");
	else if (strncmp(path, "/huge", 5) == 0) {
		dprintf(fd, "HTTP/1.1 200 X\r\nContent-Length: 1073741824\r\n\r\n");
		memset(junk, 'z', sizeof(junk));
		while (write(fd, junk, sizeof(junk)) > 0)
			continue;
	} else if (strncmp(path, "/silent", 7) == 0 || (strncmp(path, "/once", 5) == 0 && ears->silent == 0)) {
		ears->silent++;
		pause();
	} else {
		dprintf(fd, "HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n");
		return true;
	}
	return strncmp(path, "/cut", 4) != 0 && strncmp(path, "/huge", 5) != 0;
}

static _Noreturn void
serve(int fd)
{
	static char text[1 << 20];
	struct sockaddr_in here;
	socklen_t size = sizeof(here);
	size_t n = 0, whole;
	struct heard *h;
	char *end, *length;
	ssize_t got;

	if (getsockname(fd, (struct sockaddr *)&here, &size) != 0)
		abort();
	for (;;) {
		text[n] = '\0';
		end = strstr(text, "\r\n\r\n");
		length = strcasestr(text, "\r\nContent-Length:");
		whole = end == NULL ? sizeof(text) : (size_t)(end + 4 - text) + (length != NULL ? strtoul(length + 17,
		    NULL, 10) : 0);
		if (n < whole) {
			got = read(fd, text + n, sizeof(text) - 1 - n);
			if (got <= 0)
				_exit(0);
			n += (size_t)got;
			continue;
		}
		h = &ears->at[ears->n++ % HEARD];
		memset(h, 0, sizeof(*h));
		snprintf(h->body, sizeof(h->body), "%.*s", (int)(text + whole - end - 4), end + 4);
		*end = '\0';
		inet_ntop(AF_INET, &here.sin_addr, h->at, sizeof(h->at));
		snprintf(h->head, sizeof(h->head), "%.1000s", text);
		sscanf(text, "%*s %39s", h->path);
		copy_header(text, "\r\nwebhook-id: ", h->id, sizeof(h->id));
		copy_header(text, "\r\nwebhook-timestamp: ", h->timestamp, sizeof(h->timestamp));
		copy_header(text, "\r\nwebhook-signature: ", h->signature, sizeof(h->signature));
		if (!answer(fd, h->path))
			_exit(0);
		memmove(text, text + whole, n - whole);
		n -= whole;
	}
}

static pid_t
receiver_start(int listening, bool is_canary)
{
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	setpgid(0, 0);
	for (;;) {
		fd = accept(listening, NULL, NULL);
		if (fd >= 0 && is_canary)
			ears->canary++;
		else if (fd >= 0 && fork() == 0)
			serve(fd);
		if (fd >= 0)
			close(fd);
	}
}

int
receivers_open(void **state)
{
	int fds[3], i;

	ears = mmap(NULL, sizeof(*ears), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ears == MAP_FAILED)
		return -1;
	fds[0] = listen_on(&receiver_port);
	fds[1] = listen_on(&canary_port);
	fds[2] = listen_on(&silent_port);
	receiver_pid = receiver_start(fds[0], false);
	canary_pid = receiver_start(fds[1], true);
	silent_pid = receiver_start(fds[2], false);
	for (i = 0; i < 3; i++)
		close(fds[i]);
	deliver_only_due(0);
	return world_open(state);
}

int
receivers_close(void **state)
{
	kill(-receiver_pid, SIGKILL);
	kill(-silent_pid, SIGKILL);
	kill(canary_pid, SIGKILL);
	return world_close(state);
}

int
receivers_setup(void **state)
{
	struct world *w;
	struct conf *conf;

	if (world_setup(state) != 0)
		return -1;
	w = *state;
	conf = NEW(w->mem, struct conf);
	*conf = *w->conf;
	conf->webhook_private_hosts = arena_printf(w->mem, "127.0.0.1:%d,127.0.0.0/8:%d", receiver_port, silent_port);
	conf->webhook_timeout = 3600;		/* no test waits for the end of one */
	w->conf = conf;
	cat = world_media(w, "video", "Cat");
	db_run(w->db, "DELETE FROM webhook_deliveries", NO_ARGS);
	db_run(w->db, "UPDATE webhooks SET is_active = 0", NO_ARGS);
	db_run(w->db, "UPDATE webhook_progress SET settled = COALESCE((SELECT MAX(id) FROM events), 0)", NO_ARGS);
	ears->n = 0;
	ears->canary = 0;
	ears->silent = 0;
	return 0;
}

/* All that is due goes out. */
void
deliver_due(struct world *w)
{
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .id = uuid_new(), .attempt = 1, .max_attempts =
	    3 };

	db_begin(w->db);
	assert_int_equal(deliver_run(&j), DONE);
	if (!db_commit(w->db))
		fail_msg("%d %s", db_failure(w->db), db_error(w->db));
	db_use(w->db, w->mem);
}

/* A webhook that has its first ping behind it. */
const char *
hook(struct world *w, const char *token, const char *where, const char *events)
{
	struct req *r = call_as(w, token, "POST", "/v2/webhooks", arena_printf(w->mem,
	    "{\"url\":\"http://127.0.0.1:%d%s\"%s%s}", receiver_port, where, events != NULL ? ",\"events\":" : "", events !=
	    NULL ?
	    events : ""));

	assert_int_equal(r->status, 201);
	db_run(w->db, "UPDATE webhook_deliveries SET status = 'succeeded'", NO_ARGS);
	return text(w, r, "data.id");
}

/* An event. */
void
rename_cat(struct world *w)
{
	static int n;
	const char *path = arena_printf(w->mem, "/v2/media/%s", uuid_text(w->mem, cat)), *body;

	body = arena_printf(w->mem, "{\"name\":\"Cat %d\"}", ++n);
	assert_int_equal(call(w, "PATCH", path, body)->status, 200);
}

/* The i-th that was heard at a path, from 0. */
const struct heard *
heard(const char *where, int i)
{
	int k;

	for (k = 0; k < ears->n && k < HEARD; k++)
		if (strcmp(ears->at[k].path, where) == 0 && i-- == 0)
			return &ears->at[k];
	return NULL;
}

int
times_heard(const char *where)
{
	int n = 0;

	while (heard(where, n) != NULL)
		n++;
	return n;
}

const char *
member(struct world *w, const struct heard *h, const char *at)
{
	struct req r = { .out = BUF(w->mem) };

	buf_text(&r.out, h->body);
	return text(w, &r, at);
}

/* A column of the one delivery of an event. */
const char *
delivery(struct world *w, const char *name)
{
	return db_text(w->db, arena_printf(w->mem, "SELECT %s FROM webhook_deliveries WHERE event <> 'ping' ORDER BY "
	    "id DESC LIMIT 1", name), NO_ARGS);
}

/* So many webhooks, each of a receiver that never answers, with so many pings due a while ago. */
void
silent_hooks(struct world *w, int n, int pings)
{
	struct moment now = moment_now();
	const char *url, *sealed, *secret;
	struct uuid id;
	int i, k;

	sealed = webhook_key(w->conf, w->mem, &secret);
	db_begin(w->db);
	for (i = 0; i < n; i++) {
		id = uuid_new();
		url = arena_printf(w->mem, "http://127.1.%d.%d:%d/silent", i / 200, i % 200 + 1, silent_port);
		db_run(w->db, "INSERT INTO webhooks (id, tenant_id, principal_id, scopes, url, events, sealed, "
		    "created_at, updated_at) VALUES (?, ?, ?, 'ViewChannel', ?, '[\"ping\"]', ?, ?, ?)", ARGS(ID(id), ID(w->tenant_id),
		    ID(w->client_id), STR(url), STR(sealed), TIME(now), TIME(now)));
		for (k = 0; k < pings; k++)
			db_run(w->db, "INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, principal_id, event, "
			    "status, next_attempt_at, created_at, updated_at) VALUES (?, ?, ?, ?, 'ping', 'waiting', 1, ?, "
			    "?)", ARGS(ID(uuid_new()), ID(w->tenant_id), ID(id), ID(w->client_id), TIME(now), TIME(now)));
	}
	if (!db_commit(w->db))
		fail_msg("%s", db_error(w->db));
}

/* All that has a place begins.  Returns how many. */
int
begin_all(struct deliveries *d)
{
	struct sending *m, *next;
	int n = 0, round;

	while ((m = queue_choose(d)) != NULL) {
		for (round = 0; m != NULL; m = next, n++) {
			next = m->next;
			db_begin(d->db);
			assert_true(queue_take(d, m));
			assert_true(db_commit(d->db));
			m->next = d->going;
			d->going = m;
			d->n_going++;
			assert_in_range(++round, 1, 64);
		}
	}
	return n;
}

void
end_all(struct deliveries *d)
{
	struct sending *m;

	while ((m = d->going) != NULL) {
		d->going = m->next;
		arena_free(m->mem);
	}
	d->n_going = 0;
	pace_forget(&d->paces);
}

/* In a process of its own. */
pid_t
begin_run(struct world *w)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	db_abandon(w->db);
	deliver_due(w);
	_exit(0);
}

/* Until something is so, for minutes; the process goes on meanwhile. */
void
wait_while(pid_t pid, bool (*so)(void *), void *what)
{
	int64_t end = clock_ms() + 300000;
	int status;

	while (!so(what) && clock_ms() < end) {
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		usleep(10000);
	}
	assert_true(so(what));
}

void
end_run(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}
