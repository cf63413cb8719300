/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runner's side of its children: start, listen, watch, end, judge. */
#include <sys/resource.h>
#include <sys/wait.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fault.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/scratch.h"
#include "jobs/runner.h"

enum { RESTARTS = 20, LOST_FOR_MS = 5 * 60 * 1000, PROCESSES = 32768 };

static pid_t
parent_of(pid_t pid)
{
	struct machine_process p;

	return machine_process(pid, &p) ? p.parent : 0;
}

struct process {
	pid_t pid, parent;
	bool marked;
};

static size_t
list_processes(struct process *list, size_t room)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (dir != NULL && n < room && (e = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		list[n].pid = (pid_t)atoi(e->d_name);
		list[n].parent = parent_of(list[n].pid);
		list[n].marked = false;
		n++;
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

/* Kills what descends from `top`, sessions of their own (jailed programs) included; deepest knowledge first. */
static void
kill_tree(pid_t top)
{
	struct process *list = calloc(PROCESSES, sizeof(*list));
	bool more = true;
	size_t i, k, n;

	if (list == NULL)
		abort();
	n = list_processes(list, PROCESSES);
	for (i = 0; i < n; i++)
		list[i].marked = list[i].pid == top;
	while (more) {
		more = false;
		for (i = 0; i < n; i++)
			for (k = 0; k < n && !list[i].marked; k++)
				if (list[k].marked && list[i].parent == list[k].pid)
					list[i].marked = more = true;
	}
	kill(-top, SIGKILL);
	kill(top, SIGKILL);
	for (i = 0; i < n; i++)
		if (list[i].marked && list[i].pid != top)
			kill(list[i].pid, SIGKILL);
	free(list);
}

static struct child *
child_of(struct runner *r, pid_t pid)
{
	int i;

	for (i = 0; i < r->places; i++)
		if (r->children[i].kind != NULL && r->children[i].pid == pid)
			return &r->children[i];
	return NULL;
}

/* We adopt what an ended child left running (see PR_SET_CHILD_SUBREAPER in run.c): nothing of that may go on. */
static void
kill_orphans(struct runner *r)
{
	struct process *list = calloc(PROCESSES, sizeof(*list));
	pid_t here = getpid();
	size_t i, n;

	if (list == NULL)
		abort();
	n = list_processes(list, PROCESSES);
	for (i = 0; i < n; i++)
		if (list[i].parent == here && child_of(r, list[i].pid) == NULL)
			kill_tree(list[i].pid);
	free(list);
}

static void
clear_scratch(struct runner *r, const struct child *c)
{
	if (!scratch_remove(r->mem, c->run))
		log_line(LOG_LEVEL_WARN, "job", LOG_TEXT("text", "scratch not removed"), LOG_TEXT("run", c->run));
}

/* In the new process: only its own pipe stays open. */
static _Noreturn void
be_child(struct runner *r, struct child *c, int pipe)
{
	struct start start = {
		.conf = r->conf, .db = r->db, .kind = c->kind, .row = &c->row, .pipe = pipe, .runner = getppid()
	};
	int i;

	close(r->wake);
	close(r->signals);
	for (i = 0; i < r->places; i++)
		if (r->children[i].pipe > 0)
			close(r->children[i].pipe);
	start.run = c->run;
	child_run(&start);
}

static void
launch(struct runner *r, struct child *c)
{
	int ends[2], error;

	c->seen = clock_ms();
	c->restart_at = 0;
	c->closing = false;
	clear_scratch(r, c);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
		c->pid = fork();
		error = errno;
		if (c->pid == 0)
			be_child(r, c, ends[1]);
		close(ends[1]);
		c->pipe = ends[0];
		if (c->pid > 0)
			return;
		close(ends[0]);
	} else {
		error = errno;
	}
	c->reason = fault_reason(error, REASON_BUSY);
	log_text(LOG_LEVEL_ERROR, "job", "no new process: %s", strerror(error));
	c->pid = c->pipe = 0;
	c->verdict = AGAIN;
}

struct child *
child_start(struct runner *r, const struct run_kind *kind, const struct claimed *row)
{
	struct child *c;
	int i;

	for (i = 0; r->children[i].kind != NULL; i++)
		continue;
	c = &r->children[i];
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->row = *row;
	c->row.kind = kind->kind->name;
	c->row.args.text = strdup(row->args.text);
	if (c->row.args.text == NULL)
		abort();
	snprintf(c->run, sizeof(c->run), "%s", job_run_name(r->mem, row->id, row->fence));
	c->started = clock_ms();
	launch(r, c);
	return c;
}

static void
hear(struct child *c, const struct message *m)
{
	char text[sizeof(m->text) + 1] = "";

	memcpy(text, m->text, m->n < sizeof(m->text) ? m->n : sizeof(m->text));
	if (m->what == SAY_LOG) {
		tail_add(&c->log, text); /* talking is no progress */
		return;
	}
	/* Nor is a closing transaction: one that fails is begun again and again. */
	if (m->what != SAY_CLOSING)
		c->seen = clock_ms();
	switch (m->what) {
	case SAY_PERCENT:
		c->dirty |= c->percent != m->value;
		c->percent = m->value < 100 ? m->value : 100;
		break;
	case SAY_CLOSING: c->closing = true; break;
	case SAY_WORKING: c->closing = false; break;
	case SAY_OUTCOME:
		c->outcome = m->value;
		c->reason = (enum reason)m->reason;
		snprintf(c->detail, sizeof(c->detail), "%.*s", (int)sizeof(c->detail) - 1, text);
		break;
	case SAY_SUCCEEDED: c->succeeded = true; break;
	}
}

void
child_read(struct runner *r, struct child *c)
{
	struct message m;
	ssize_t n = -1;

	while (c->pipe > 0 && (n = read(c->pipe, &m, sizeof(m))) == (ssize_t)sizeof(m))
		hear(c, &m);
	/* A pipe at its end would wake poll() again and again until the process is gone. */
	if (c->pipe > 0 && n == 0) {
		close(c->pipe);
		c->pipe = 0;
	}
}

/* The database was at fault, not the job: the same claim starts anew in a moment.  False: it has been at fault too
 * long, for this child alone. */
static bool
start_again(struct child *c, int status)
{
	int64_t now = clock_ms();

	if (c->lost_since == 0)
		c->lost_since = now;
	if (status == EXIT_AGAIN ? ++c->restarts > RESTARTS : now - c->lost_since > LOST_FOR_MS)
		return false;
	c->restart_at = now + (status == EXIT_AGAIN ? 20 + random() % 50 : 500);
	return true;
}

static void
judge_signal(struct child *c, int sig)
{
	c->verdict = AGAIN;
	c->reason = fault_of_signal(sig);
	if (c->reason == REASON_CRASHED || c->reason == REASON_INTERRUPTED)
		snprintf(c->detail, sizeof(c->detail), "The process ended by signal %d (%s).", sig, strsignal(sig));
}

static void
judge(struct runner *r, struct child *c, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (c->succeeded) {
		child_forget(r, c, "succeeded");
		return;
	}
	switch (c->ending) {
	case ENDING_IDLE:
		c->verdict = AGAIN;
		/* What had done its work and could not close it has waited for the database. */
		c->reason = c->closing ? REASON_BUSY : REASON_NO_PROGRESS;
		return;
	case ENDING_CANCEL:
		c->verdict = CANCEL;
		c->reason = REASON_CANCELLED;
		return;
	case ENDING_HAND_BACK: c->verdict = HAND_BACK; return;
	case ENDING_LEASE: code = EXIT_GONE; break;
	case ENDING_NONE: break;
	}
	if (code == EXIT_GONE) {
		child_forget(r, c, "lease_lost");
	} else if (c->outcome != 0) {
		c->verdict = c->outcome == GIVE_UP ? FAIL : AGAIN;
		if (c->reason == REASON_NONE)
			c->reason = REASON_INTERNAL;
	} else if ((code == EXIT_AGAIN || code == EXIT_LOST) && start_again(c, code)) {
		return;
	} else if (WIFSIGNALED(status)) {
		judge_signal(c, WTERMSIG(status));
	} else {
		c->verdict = AGAIN;
		c->reason = code == EXIT_AGAIN || code == EXIT_LOST ? REASON_INTERNAL : REASON_CRASHED;
	}
}

void
children_wait(struct runner *r)
{
	struct rusage u;
	struct child *c;
	bool any = false;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &u)) > 0) {
		any = true;
		c = child_of(r, pid);
		if (c == NULL)
			continue;
		child_read(r, c);
		if (c->pipe > 0)
			close(c->pipe);
		c->pid = c->pipe = 0;
		c->cpu_ms = (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
		    (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
		judge(r, c, status);
	}
	if (any)
		kill_orphans(r);
}

void
child_end(struct child *c, enum ending ending)
{
	c->ending = ending;
	c->restart_at = 0;
	if (c->pid > 0)
		kill_tree(c->pid);
}

void
children_watch(struct runner *r, int64_t now)
{
	struct child *c;
	int i;

	for (i = 0; i < r->places; i++) {
		c = &r->children[i];
		if (c->kind == NULL || c->verdict != 0)
			continue;
		if (c->pid == 0 && c->kill_at != 0)
			child_forget(r, c, "lease_lost");
		else if (c->pid == 0 && c->ending != ENDING_NONE)
			judge(r, c, 0);
		else if (c->pid == 0 && c->restart_at <= now)
			launch(r, c);
		else if (c->pid > 0 && c->ending == ENDING_NONE && c->kill_at != 0 && now >= c->kill_at)
			child_end(c, ENDING_LEASE);
		else if (c->pid > 0 && c->ending == ENDING_NONE &&
		    now - c->seen > (int64_t)c->kind->kind->idle_seconds * 1000)
			child_end(c, ENDING_IDLE);
	}
}

void
children_excuse(struct runner *r, int64_t now)
{
	int i;

	for (i = 0; i < r->places; i++) {
		r->children[i].seen = now;
		r->children[i].lost_since = 0;
	}
}

void
child_forget(struct runner *r, struct child *c, const char *state)
{
	const char *reason = c->verdict == 0 || c->verdict == HAND_BACK ? NULL : reason_info(c->reason)->code;
	char id[UUID_TEXT], tenant[UUID_TEXT], media[UUID_TEXT];

	log_line(reason == NULL ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "job", LOG_TEXT("kind", c->row.kind),
	    LOG_TEXT("id", uuid_format(c->row.id, id)), LOG_TEXT("state", state), LOG_TEXT("reason", reason),
	    LOG_TEXT("detail", c->detail[0] == '\0' ? NULL : c->detail),
	    LOG_TEXT("tenant", uuid_is_none(c->row.tenant_id) ? NULL : uuid_format(c->row.tenant_id, tenant)),
	    LOG_TEXT("media", uuid_is_none(c->row.media_id) ? NULL : uuid_format(c->row.media_id, media)),
	    LOG_INT("attempt", c->row.attempt), LOG_INT("ms", clock_ms() - c->started), LOG_INT("cpu_ms", c->cpu_ms));
	clear_scratch(r, c);
	free((void *)(uintptr_t)c->row.args.text);
	c->kind = NULL;
}
