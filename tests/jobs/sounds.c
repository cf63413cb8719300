/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server of engines, and jobs over recordings: what tests of speech share. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/jail.h"
#include "core/store.h"
#include "core/web.h"
#include "jobs/engines/engine.h"
#include "tests/jobs/sounds.h"

static struct { pid_t pid; int port; const char *dir; } peer;

const struct conf *
with_peer(struct world *w, const char *path)
{
	struct conf *c = NEW(w->mem, struct conf);

	*c = *w->conf;
	c->engine[ENGINE_transcribe].name = "http";
	c->engine[ENGINE_transcribe].url = arena_printf(w->mem, "http://127.0.0.1:%d%s", peer.port, path);
	c->engine[ENGINE_transcribe].key = "secret";
	c->engine[ENGINE_transcribe].model = "test-model";
	c->engine[ENGINE_transcribe].timeout = 60;
	c->engine[ENGINE_complete] = c->engine[ENGINE_embed] = c->engine[ENGINE_transcribe];
	c->engine[ENGINE_complete].window = w->conf->engine[ENGINE_complete].window;
	c->engine_private_hosts = arena_printf(w->mem, "127.0.0.1:%d", peer.port);
	return c;
}

const char *
peer_log(struct world *w, const char *method)
{
	struct web_call call = { .url = arena_printf(w->mem, "http://127.0.0.1:%d/log", peer.port), .method = method,
	    .private_hosts = "127.0.0.1" };
	struct web_answer a;

	assert_true(web_call(w->mem, &call, &a));
	return a.body;
}

int
occurrences(const char *text, const char *part)
{
	int n = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		n++;
	return n;
}

struct job
job_for(struct world *w, const char *graph)
{
	struct transcribe_args *in = NEW(w->mem, struct transcribe_args);
	struct job j = { .mem = w->mem, .db = w->db, .conf = w->conf, .in = in, .id = uuid_new(),
	    .tenant_id = w->tenant_id, .media_id = world_media(w, "audio", "Lecture"), .attempt = 1 };
	const char *file = make_sound(w->mem, graph, "x.wav");

	in->media_id = j.media_id;
	db_run(w->db, "UPDATE media SET sha256 = UNHEX(SHA2(?, 256)) WHERE id = ?", ARGS(STR(graph), ID(j.media_id)));
	assert_true(store_put(w->mem, file, arena_printf(w->mem, "originals/%s", uuid_text(w->mem, j.media_id))));
	j.work_dir = arena_printf(w->mem, "%s/work", peer.dir);
	run((const char *[]){ "mkdir", "-p", j.work_dir, NULL });
	return j;
}

enum outcome
run_job(struct job *j)
{
	enum outcome outcome;

	db_begin(j->db);
	outcome = transcribe_run(j);
	if (outcome == DONE)
		assert_true(db_commit(j->db));
	else
		db_rollback(j->db);
	return outcome;
}

/* The worker lies beside this program, or where KINOTHEK_LIBEXEC says. */
const char *
sounds_dir(void)
{
	return peer.dir;
}

int
sounds_open(void **state)
{
	static char dir[] = "/tmp/sounds.XXXXXX";
	const char *source = getenv("KINOTHEK_SRC");
	struct arena *mem = arena_new(1 << 20);
	int out[2];
	FILE *f;

	if (world_open(state) != 0 || mkdtemp(dir) == NULL || pipe(out) != 0)
		return -1;
	peer.dir = ears_dir = dir;
	peer.pid = fork();
	if (peer.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execlp("node", "node", arena_printf(mem, "%s/tests/e2e/openai-peer", source != NULL ? source : "."),
		    jail_helper(mem, "kinothek-speech"), "/usr/share/pocketsphinx/model/en-us", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	if (f == NULL || fscanf(f, "%d", &peer.port) != 1)
		return -1;
	fclose(f);
	arena_free(mem);
	return 0;
}

int
sounds_close(void **state)
{
	pid_t pid = fork();

	kill(peer.pid, SIGKILL);
	waitpid(peer.pid, NULL, 0);
	if (pid == 0) {
		execlp("rm", "rm", "-rf", peer.dir, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	return world_close(state);
}
