/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kinothek-api: FastCGI requests in, answers out. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bucket.h"
#include "core/listen.h"
#include "core/load.h"
#include "core/log.h"
#include "core/play.h"
#include "core/store.h"
#include "fcgi/cgi.h"
#include "fcgi/verdict.h"

#define ARENA_LIMIT (256u << 20)
#define LARGE 131072	/* bytes of what goes back to the system when it is freed: long answers that wait for slow readers */
#define SMALL_BODY 16384	/* bytes that nobody is asked about */
#define GRACE 30	/* s for requests in flight after SIGTERM */

struct api {
	const struct conf *conf;
	struct db *db;
	struct arena *mem;
};

/*
 * An upload that still waits for its file, with a ticket that fits, and no more bytes than it may have: a server that
 * spools asks before it takes them.
 */
static bool
opens(const struct api *a, const char *upload_id, const char *ticket, int64_t length)
{
	struct uuid id;

	if (length > a->conf->upload_max_size || !uuid_parse(upload_id, &id))
		return false;
	db_use(a->db, a->mem);
	db_forgive(a->db);
	return db_number(a->db, "SELECT COUNT(*) FROM uploads WHERE id = ? AND ticket_hash = UNHEX(SHA2(?, 256)) AND "
	    "status IN ('waiting', 'uploading') AND expires_at > ? AND (file_size IS NULL OR file_size >= ?)",
	    ARGS(ID(id), STR(ticket), TIME(moment_now()), INT(length)), 0) > 0;
}

/* Nothing to speak of is spooled: kinothek-upload refuses it by itself. */
static bool
is_small(const struct api *a, const struct fcgi *in, int64_t length)
{
	return length < 0 ? fcgi_param(in, a->mem, "HTTP_TRANSFER_ENCODING") == NULL : length <= SMALL_BODY;
}

static bool
ticket_fits(const struct api *a, const struct fcgi *in, const char *uri, int64_t length)
{
	const bool tus = !strncmp(uri, "/upload/tus", 11);
	const char *ticket = strstr(uri, "?ticket="), *id = strrchr(arena_copy_n(a->mem, uri, strcspn(uri, "?")),
	    '/') + 1;

	if (tus && is_small(a, in, length))
		return true;
	return ticket && opens(a, id, arena_copy_n(a->mem, ticket + 8, strcspn(ticket + 8, "&")), length);
}

/* Whoever signs a request to the object store names its upload and its session token, in headers or in the address. */
static bool
token_fits(const struct api *a, const struct fcgi *in, const char *uri, int64_t length)
{
	const char *from = fcgi_param(in, a->mem, "HTTP_AUTHORIZATION"), *token = fcgi_param(in, a->mem,
	    "HTTP_X_AMZ_SECURITY_TOKEN"), *key, *p;
	char id[UUID_TEXT];

	if (is_small(a, in, length))
		return true;
	if (token == NULL && (p = strstr(uri, "X-Amz-Security-Token=")) != NULL)
		token = arena_copy_n(a->mem, p + 21, strcspn(p + 21, "&"));
	key = strstr(from != NULL ? from : uri, "Credential=");
	if (token == NULL || key == NULL || strlen(key += 11) < 32)
		return false;
	snprintf(id, sizeof(id), "%.8s-%.4s-%.4s-%.4s-%.12s", key, key + 8, key + 12, key + 16, key + 20);
	/* chunks have sizes and signatures besides */
	return opens(a, id, token, length - length / 8 - SMALL_BODY);
}

/* A web server asks whether it may send a file, or receive one. */
static void
answer_authorizer(const struct api *a, struct visit *v)
{
	static char answers[][24] = {
		[PLAY_FINE] = "Status: 200\r\n\r\n",
		[PLAY_REFUSED] = "Status: 403\r\n\r\n",
		[PLAY_EXPIRED] = "Status: 410\r\n\r\n",
	};
	const char *uri = fcgi_param(&v->in, a->mem, "REQUEST_URI"), *file;
	const char *method = fcgi_param(&v->in, a->mem, "REQUEST_METHOD");
	enum play p = PLAY_REFUSED;
	struct uuid media_id;

	if (uri && !strncmp(uri, "/upload/", 8))
		p = ticket_fits(a, &v->in, uri, cgi_length(&v->in, a->mem)) ? PLAY_FINE : PLAY_REFUSED;
	else if (uri && !strncmp(uri, "/storage", 8))
		p = token_fits(a, &v->in, uri, cgi_length(&v->in, a->mem)) ? PLAY_FINE : PLAY_REFUSED;
	else if (uri && method && (!strcmp(method, "GET") || !strcmp(method, "HEAD") || !strcmp(method, "OPTIONS")))
		p = play_check(a->conf, uri, moment_now(), &media_id, &file);
	server_send(v, a->mem, &(struct iovec){ answers[p], strlen(answers[p]) }, 1);
}

static bool
admit(struct visit *v, void *user)
{
	const struct api *a = user;
	struct req *r = cgi_visit(v, a->conf, a->db, a->mem);
	int64_t declared = cgi_length(&v->in, a->mem);
	bool yes;

	r->body_size = declared < 0 ? 0 : (size_t)declared;
	yes = api_admit(r, &v->in.body_max);
	v->counted = r->counted;
	v->known = yes && r->who != NULL;
	if (!yes)
		cgi_answer(v, r);
	arena_reset(a->mem);
	return yes;
}

/* A process that the web server can give nobody else meanwhile had better not begin to wait when few are left. */
static bool
may_wait(const struct visit *v)
{
	return v->fault == VISIT_FINE && !(listen_is_alone() && load_is_crowded());
}

static bool
answer(struct visit *v, void *user)
{
	const struct api *a = user;
	bool done = true;
	struct req *r;

	if (v->in.role == FCGI_AUTHORIZER && v->fault == VISIT_FINE) {
		answer_authorizer(a, v);
	} else {
		r = cgi_visit(v, a->conf, a->db, a->mem);
		cgi_body(r, v);
		r->may_wait = may_wait(v);
		r->has_waited = v->fault == VISIT_NO_TURN;
		r->counted = v->counted;
		done = api_run(r) != 0;
		v->counted = r->counted;
		if (done)
			cgi_answer(v, r);
		else
			v->tenant = r->who->tenant_id;
	}
	arena_reset(a->mem);
	return done;
}

static void
idle(void *user)
{
	const struct api *a = user;

	db_rest(a->db);
}

static void
usage(FILE *to)
{
	fputs("usage: kinothek-api --socket PATH [--workers N] [--mode MODE]\n"
	    "       kinothek-api --openapi | --access | --settings | --version | --help\n"
	    "\n"
	    "Answers the HTTP interface of Kinothek by FastCGI.\n"
	    "\n" LISTEN_USAGE
	    "  --openapi       print the API document\n"
	    "  --access        print who may do what\n"
	    "  --settings      print the reference of the settings\n"
	    "\n"
	    "Without --socket it serves the listening socket on fd 0, as mod_fcgid and spawn-fcgi hand it over.\n"
	    "KINOTHEK_CONF names the file of settings.\n", to);
}

static void
print_openapi(void)
{
	struct arena *mem = arena_new(ARENA_LIMIT);

	fputs(openapi_print(mem, NULL), stdout);
	arena_free(mem);
}

static void
print_access(void)
{
	struct arena *mem = arena_new(ARENA_LIMIT);

	fputs(verdict_print(mem), stdout);
	arena_free(mem);
}

/* True when the option was a question that is answered now. */
static bool
print_something(const char *option)
{
	if (!strcmp(option, "--openapi"))
		print_openapi();
	else if (!strcmp(option, "--access"))
		print_access();
	else if (!strcmp(option, "--settings"))
		conf_reference(stdout);
	else if (!strcmp(option, "--version"))
		puts("kinothek-api " VERSION);
	else if (!strcmp(option, "--help"))
		usage(stdout);
	else
		return false;
	return true;
}

int
main(int argc, char **argv)
{
	static struct listen l = { .grace = GRACE };
	struct api a;
	struct server s = {
		.waiting_max = 256, .bytes_max = 32u << 20,
		.head_ms = 2000, .anonymous_ms = 2000,
		.known_ms = 10000, .rate = 16384, .turn_ms = 5000,
		.silence_ms = 10000,
		/* longer than web servers wait for a byte of a client, and more than any route takes */
		.drain_ms = 25000, .drain_bytes = 12u << 20,
		.idle_ms = 60000, .stop_ms = GRACE * 1000 / 2,
		.admit = admit, .answer = answer, .idle = idle, .user = &a,
	};
	int i;

	for (i = 1; i < argc; i++) {
		if (print_something(argv[i]))
			return fflush(stdout) || ferror(stdout);
		if (!listen_option(&l, argc, argv, &i)) {
			usage(stderr);
			return 64;
		}
	}
	api_check();
	a.conf = conf_load();
	log_threshold_named(a.conf->log_level);
	log_format_named(a.conf->log_format);
	if (!store_open(a.conf)) {
		perror(a.conf->data_dir);
		return 71;
	}
	mallopt(M_MMAP_THRESHOLD, LARGE);
	listen_start(&l, argv);
	load_open(a.conf->run_dir);
	bucket_open(a.conf->run_dir);
	a.mem = arena_new(ARENA_LIMIT);
	a.db = db_open(a.conf, DB_API);
	db_use(a.db, a.mem);
	server_run(&s);
	load_close();
	bucket_close();
	db_close(a.db);
	arena_free(a.mem);
	return 0;
}
