/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Receives the bytes of one upload.  Knows nothing of FastCGI: bytes come from a function that waits for them. */
#ifndef FCGI_UPLOAD_PUT_H
#define FCGI_UPLOAD_PUT_H

#include "core/conf.h"
#include "core/errors.h"
#include "core/reasons.h"
#include "fcgi/upload/links.h"
#include "fcgi/upload/room.h"

struct s3_part;

/* What all transfers of a process share. */
struct intake {
	const struct conf *conf;
	struct links *links;
	struct room *room;
};

struct put {
	/* What was asked. */
	const struct intake *in;
	struct arena *mem;
	struct uuid id;			/* of the upload */
	const char *ticket;		/* as in input.url; NULL when there was none */
	bool is_import;			/* a job of ours fetches it: there is no ticket */
	int64_t length;			/* of the body; -1: not known before its end */
	/* ms; a client slower than 1 KiB/s over so long is given up; 0: any pace will do */
	int64_t window;
	/* The body goes on behind so many bytes of earlier ones, and need not be the last; -1: it is the whole file. */
	int64_t offset;
	/* Asked at the end of a body that goes on: are these the bytes that were sent?  If not, they go.  NULL: yes. */
	bool (*verify)(void *user);
	/* At least one byte, soon after it has come, good until the next call; 0 at the end of the body; -1 when its
	 * connection ends or is silent, or the seat's `ended` says that this transfer has to go. */
	int (*read)(void *user, const struct seat *, const void **bytes);
	void *user;

	/* What became of it. */
	enum error error;		/* ERR_NONE: received, and the row says so */
	enum reason reason;		/* why the content was refused, when it was */
	const char *detail;		/* one sentence, NULL: that of the error */
	int64_t received;		/* of the file, with what had come before */
	int64_t size;			/* that it is to have; 0: nobody said so */
	int64_t attempt;		/* its number */
	struct uuid tenant_id;		/* whose it is, when a body goes on */
	bool is_partial;		/* it becomes part of another upload */
	const char *upload_concat;	/* of which others it was made; NULL: of none */
	const char *upload_metadata;	/* what its client said of it when it was made; NULL: nothing */
	struct moment expires_at;	/* then what a body went on with is dropped */
	const char *sha256, *mime_type;	/* of a whole file; NULL: there is more to come */
	const char *etag;		/* of what put_place() places; NULL: none */
};

/*
 * Checks ticket and state, takes the bytes into a file of their own, looks at what they are, and puts them where the
 * original of the asset lies.  Each PUT of an upload has a number that grows, and only the latest one may finish: a
 * client whose connection broke need not wait until this end has noticed.  What a connection that broke has brought
 * stays (fcgi/upload/partial.h), though a PUT begins anew.  Returns p->error.
 */
enum error put_run(struct put *p);

/*
 * Is all of it here, and on its way into the store, which may be a bucket and take longer than a client or a proxy
 * waits?  Nobody takes over then: ERR_UPLOAD_LOCKED.  sha256: of its row.  When that process is killed, somebody may.
 */
bool put_is_settling(struct arena *, struct uuid upload_id, const char *sha256);

/*
 * The same for a body that goes on, behind p->offset bytes; with no read() it takes none, and p->received tells from
 * where on a body may go on.  An attempt that still runs is ended by this one, which goes on behind its bytes.
 */
enum error put_go_on(struct put *p);

/* All of a file that is to go on, of these parts, one behind the other (fcgi/upload/s3_part.h). */
enum error put_join(struct put *p, const struct s3_part *const *, size_t n);

/* Gives up what has arrived, or what has not, in a transaction of its own.  False: it is in another state, or the
 * database has failed, and db_rollback() follows. */
bool put_drop(struct db *, struct arena *, struct uuid id, struct uuid tenant_id, bool arrived);

/* Gives an upload up, as PUT /v2/uploads/{uploadId}/cancel does, for who has its ticket. */
enum error put_cancel(struct put *p);

/* The end of it, for bytes that have come in another way and are in this file, on the disk, p->received of them:
 * looks at what they are, and puts the file where the original of the asset lies.  seat: whose they are.  Of two files
 * of an attempt one is placed, and the other refused unless it is the same.  Returns p->error. */
enum error put_place(struct put *p, const struct seat *, int64_t attempt, const char *path,
    const unsigned char sha256[32]);

#endif
