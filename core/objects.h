/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A client of an object store that speaks S3: what core/store.h needs of one, and no more.  Every request is signed in
 * its header with the sum of its body, so that what arrives is what was sent; buckets are named in the path; nothing
 * comes behind a body.  All servers take that.
 *
 * Each of them blocks, may be called by several threads, and tries for some seconds what may pass.  A failure is told
 * as errno, and what the store said about it is logged:
 *
 *	ENOENT			there is no such object
 *	EDQUOT			the store has no room for it
 *	EFBIG			it is larger than the caller wants
 *	EHOSTDOWN, ETIMEDOUT	the store cannot be reached, or says nothing
 *	EREMOTEIO		it answers with errors, or knows neither bucket nor key: whatever it is, nothing of it
 *				lies in the file (REASON_STORAGE, see core/fault.h)
 */
#ifndef CORE_OBJECTS_H
#define CORE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

/* Which bucket, where, and as whom. */
struct objects {
	const char *endpoint;			/* scheme://host[:port] */
	const char *public_endpoint;		/* the same for everybody else; NULL: endpoint */
	const char *bucket, *region, *key, *secret;
	const char *prefix;			/* before all keys, "" or with a slash at its end */
	/* Each time OBJECTS_STRIDE bytes have gone or come, and after each answer; NULL: nobody wants to know. */
	void (*alive)(void *user);
	void *user;
};
enum { OBJECTS_STRIDE = 1 << 20 };

struct object_head { int64_t size; struct moment put_at; };

/* Bytes of memory, or all of an open file, as one object.  type: Content-Type that it is given out with. */
bool objects_put(const struct objects *, const char *key, int fd, int64_t size, const char *type);
bool objects_write(const struct objects *, const char *key, const void *bytes, size_t n, const char *type);

/*
 * A file in two steps: its bytes are sent, which takes as long as it takes; then the object appears, as a whole, which
 * is one short request.  Until then nobody sees anything of it.
 */
struct object_draft;
struct object_draft *objects_draft(struct arena *, const struct objects *, const char *key, int fd, int64_t size,
    const char *type);
bool objects_publish(const struct objects *, const struct object_draft *);
/* Nothing is left of it, also when there was nothing.  Else false with errno. */
bool objects_discard(const struct objects *, const struct object_draft *);

/* Drops drafts whose programs were killed, that were begun before then.  How many; -1 with errno. */
int objects_tidy(const struct objects *, struct moment before);

bool objects_head(const struct objects *, const char *key, struct object_head *);

/* All bytes of it, and a NUL that does not count. */
char *objects_get(struct arena *, const struct objects *, const char *key, size_t max, size_t *n);

/* So many of them from there on, n > 0, and a NUL behind them.  EREMOTEIO, too: it ends before. */
char *objects_get_range(struct arena *, const struct objects *, const char *key, int64_t from, size_t n);

/* Into a new file at the path, if so many bytes stay free there: else ENOSPC before any comes.  What breaks off goes on
 * where it ended, as long as it is the same object.  On failure nothing is left there. */
bool objects_fetch(const struct objects *, const char *key, const char *path, int64_t spare);

/* True when there is no such object any more. */
bool objects_delete(const struct objects *, const char *key);
/* The same of all whose keys begin with the prefix, by a list of them in the end: what a store says is not believed. */
bool objects_delete_all(const struct objects *, const char *prefix);

/*
 * What lies directly below a prefix that ends in a slash or is empty, by name: objects, and beginnings of keys that end
 * in a slash (their size is -1).  At most max, behind the key `after`; NULL: from the first on.  NULL with errno: it
 * cannot be told.
 */
struct object_entry { const char *key; int64_t size; struct moment put_at; };
struct object_entry *objects_list(struct arena *, const struct objects *, const char *prefix, const char *after,
    size_t max, size_t *n);

/* For a question that a client waits for: a failure is told after the first attempt, and after a few seconds. */
bool objects_head_now(const struct objects *, const char *key, struct object_head *);
char *objects_get_now(struct arena *, const struct objects *, const char *key, size_t max, size_t *n);

/*
 * An address that gives the object to anybody who GETs it (HEADs it, if that is the method) until then: a week from now
 * at most, a minute at least.  Those who ask within the same OBJECTS_ROUND seconds for the same get the same address,
 * which caches know.  disposition: Content-Disposition of it, core/filename.h; NULL: none.
 */
enum { OBJECTS_ROUND = 600 };
const char *objects_address(struct arena *, const struct objects *, const char *key, const char *method,
    const char *disposition, struct moment now, struct moment until);

#endif
