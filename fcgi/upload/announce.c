/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface within kinothek-upload, with a connection to the database of its own. */
#include <pthread.h>
#include <string.h>

#include "fcgi/cgi.h"
#include "fcgi/upload/announce.h"

static struct {
	pthread_mutex_t lock;
	struct db *db;
	int64_t used;			/* ms of clock_ms(); 0: it rests */
} desk = { PTHREAD_MUTEX_INITIALIZER, NULL, 0 };

struct req *
announce(const struct intake *in, const struct fcgi *head, struct arena *mem, const char *json,
    const struct upload_tus *tus)
{
	struct req *r = cgi_head(head, in->conf, NULL, mem);

	r->method_name = "POST";
	r->uri = "/v2/uploads";
	r->content_type = "application/json";
	r->cookie = NULL;
	r->tus = tus;
	r->body = json;
	r->body_size = strlen(json);
	pthread_mutex_lock(&desk.lock);
	if (desk.db == NULL)
		desk.db = db_open(in->conf, DB_API);
	r->db = desk.db;
	api_run(r);
	r->db = NULL;
	desk.used = clock_ms();
	pthread_mutex_unlock(&desk.lock);
	return r;
}

void
announce_rest(int64_t ms)
{
	if (pthread_mutex_trylock(&desk.lock) != 0)
		return;
	if (desk.used > 0 && desk.used + ms <= clock_ms()) {
		db_rest(desk.db);
		desk.used = 0;
	}
	pthread_mutex_unlock(&desk.lock);
}

void
announce_end(void)
{
	if (desk.db != NULL)
		db_close(desk.db);
	desk.db = NULL;
}
