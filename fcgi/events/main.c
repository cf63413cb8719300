/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kinothek-events: keeps streams of events and of answers open, by FastCGI.
 *
 * A request is answered by the same dispatcher as in kinothek-api.  What becomes a stream, or a list that waits, leaves
 * core/server.h and goes to fcgi/events/streams.h: one process, no thread and no request to the database for each.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bucket.h"
#include "core/listen.h"
#include "core/log.h"
#include "core/store.h"
#include "core/text.h"
#include "fcgi/cgi.h"
#include "fcgi/events/streams.h"

#define ARENA_LIMIT (256u << 20)
#define GRACE 30	/* s for requests in flight after SIGTERM */

struct program {
	const struct conf *conf;
	struct db *db;
	struct arena *mem, *streams_mem;
	struct server server;
	struct streams *streams;
};

static bool
admit(struct visit *v, void *user)
{
	struct program *p = user;
	struct req *r = cgi_visit(v, p->conf, p->db, p->mem);
	bool yes;

	ticket_take(r, false);
	yes = api_admit(r, &v->in.body_max);
	v->counted = r->counted;
	v->known = yes && r->who != NULL;
	if (!yes)
		cgi_answer(v, r);
	arena_reset(p->mem);
	return yes;
}

static bool
wants_stream(const struct req *r)
{
	return strcmp(r->method_name, "GET") == 0 && r->accept != NULL &&
	    strcasestr(r->accept, "text/event-stream") != NULL;
}

static bool
answer(struct visit *v, void *user)
{
	struct program *p = user;
	struct req *r = cgi_visit(v, p->conf, p->db, p->mem);
	struct subscription what = { .reader = streams_reader(p->streams), .wants_stream = wants_stream(r),
	    .has_room = streams_room, .of = p->streams, .may_wait = strcmp(r->method_name, "GET") == 0 };

	cgi_body(r, v);
	if (what.reader != NULL)
		r->subscription = &what;
	r->counted = v->counted;
	ticket_take(r, true);
	api_run(r);
	if (r->status != 200 || (!what.streams && what.wait_ms == 0) || !streams_room(p->streams, r))
		cgi_answer(v, r);
	else
		streams_add(p->streams, server_take(&p->server, v), v->in.id, r);
	arena_reset(p->mem);
	return true;
}

static int
beside(void *user)
{
	struct program *p = user;

	return streams_attend(p->streams);
}

static void
idle(void *user)
{
	struct program *p = user;

	if (streams_attend(p->streams) < 0)
		db_rest(p->db);
}

static void
usage(FILE *to)
{
	fputs("usage: kinothek-events --socket PATH [--workers N] [--mode MODE]\n"
	    "       kinothek-events --version | --help\n"
	    "\n"
	    "Keeps streams of events open, by FastCGI.\n"
	    "\n"
	    "  --socket PATH   make a unix socket there and serve it\n"
	    "  --mode MODE     its permissions (0660)\n"
	    "  --workers N     processes (1)\n"
	    "\n"
	    "Without --socket it serves the listening socket on fd 0, as systemd and spawn-fcgi hand it over.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

static void
serve(struct program *p)
{
	p->server = (struct server){
		.waiting_max = 256, .bytes_max = 32u << 20, .head_ms = 2000, .anonymous_ms = 2000, .known_ms = 10000,
		.rate = 16384, .turn_ms = 5000, .silence_ms = 10000, .drain_ms = 25000, .drain_bytes = 12u << 20,
		.idle_ms = 60000, .stop_ms = GRACE * 1000 / 2,
		.admit = admit, .answer = answer, .idle = idle, .beside = beside, .user = p,
	};

	p->mem = arena_new(ARENA_LIMIT);
	p->streams_mem = arena_new(ARENA_LIMIT);
	p->db = db_open(p->conf, DB_API);
	db_use(p->db, p->mem);
	p->streams = streams_new(p->conf, p->db, p->streams_mem);
	p->server.beside_fd = streams_fd(p->streams);
	server_run(&p->server);
	streams_free(p->streams);
	db_close(p->db);
	arena_free(p->streams_mem);
	arena_free(p->mem);
}

int
main(int argc, char **argv)
{
	static struct listen l = { .grace = GRACE, .otherwise = 1 };
	struct program p = { 0 };
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--version") == 0)
			return puts("kinothek-events " VERSION) == EOF;
		if (strcmp(argv[i], "--help") == 0) {
			usage(stdout);
			return 0;
		}
		if (!listen_option(&l, argc, argv, &i)) {
			usage(stderr);
			return 64;
		}
	}
	api_check();
	p.conf = conf_load();
	log_threshold_named(p.conf->log_level);
	log_format_named(p.conf->log_format);
	if (!store_open(p.conf)) {
		fprintf(stderr, "kinothek-events: %s: cannot be used as data_dir: %m\n", p.conf->data_dir);
		return 71;
	}
	listen_start(&l, argv);
	listen_for_many();
	bucket_open(p.conf->run_dir);
	serve(&p);
	return 0;
}
